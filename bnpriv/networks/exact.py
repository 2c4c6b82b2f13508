"""Networks of exact tables: from weights that were computed, and what needs one."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import cast

from numpy.typing import ArrayLike

from bnpriv.errors import NetworkError
from bnpriv.kind import kind_of
from bnpriv.networks.base import Level, Network, level_of
from bnpriv.networks.declared import declared_tables
from bnpriv.networks.discrete import DiscreteNetwork, of_tables
from bnpriv.networks.foreign import require_network
from bnpriv.networks.graph import Parents
from bnpriv.tables.schema import State


def from_weights(
    tables: Mapping[str, ArrayLike],
    *,
    states: Mapping[str, Sequence[State]],
    parents: Parents | None = None,
    level: Level = "parameters",
) -> DiscreteNetwork:
    """Return the network whose columns are known up to a factor each: for weights that were computed, not declared.

    Parameters
    ----------
    tables : mapping from str to array
        As of `DiscreteNetwork.from_tables`, but a column may have any sum above 0.
    states, parents, level
        As of `DiscreteNetwork.from_tables`.

    Returns
    -------
    DiscreteNetwork

    Raises
    ------
    NetworkError
        As from `DiscreteNetwork.from_tables`; or if a column is all zeros.

    Examples
    --------
    >>> from_weights({"coin": [3, 1]}, states={"coin": ["head", "tail"]}).probabilities("coin").round(9).tolist()
    [[0.75, 0.25]]
    """
    return of_tables(declared_tables(tables, states, parents, math.inf), level_of(level))


def require_discrete(network: Network, what: str) -> DiscreteNetwork:
    """Return a network if its tables are exact, which `what` needs.

    Raises
    ------
    NetworkError
        If it is given by intervals, or is of another kind.
    """
    if kind_of(network).exact_tables:
        return cast(DiscreteNetwork, network)
    raise no_tables(network, what)


def no_tables(network: Network, what: str) -> NetworkError:
    """Return why `what` cannot be done with a network that is no `DiscreteNetwork`, of whatever kind it is.

    Raises
    ------
    NetworkError
        If it is no network.
    """
    require_network(network)
    if kind_of(network).by_intervals:
        return NetworkError(
            f"{what} needs exact tables",
            found="an interval for every probability",
            remedy="Choose one model within the intervals, for example network.middle().",
        )
    if not network.states:
        return NetworkError(
            f"{what} needs a network whose attributes have finitely many states",
            found=network.kind_text,
            remedy="Use MarkovQuiltMechanism and influence_report, or declare the parameters in steps.",
        )
    if network.level == "records":
        return NetworkError(
            f"{what} needs records that are independent draws from tables of their columns",
            found=network.kind_text,
            remedy="Declare how the columns depend on each other by DiscreteNetwork.from_tables.",
        )
    return NetworkError(
        f"{what} needs the probability of every state, in tables",
        found=f"{network.kind_text}, of which none are known",
        remedy="Use MarkovQuiltMechanism and influence_report, or declare it by DiscreteNetwork.from_tables.",
    )
