"""Model classes: several networks on one graph or on several, and what needs exact tables."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import cast

import numpy as np
from numpy.typing import ArrayLike

from bnpriv.bound import FloatArray
from bnpriv.checks import listing, type_text
from bnpriv.core.columns import State
from bnpriv.core.networks.base import ImportReport, Level, Network, level_of, require_network
from bnpriv.core.networks.declared import declared_tables
from bnpriv.core.networks.discrete import DiscreteNetwork, of_tables
from bnpriv.core.networks.factors import LogTable
from bnpriv.core.networks.graph import Parents
from bnpriv.errors import NetworkError
from bnpriv.kind import kind_of
from bnpriv.services import service

# --------------------------------------------------------------------------------------------------
# Networks from computed weights, and the refusal of networks without exact tables.
# --------------------------------------------------------------------------------------------------


def from_weights(
    tables: Mapping[str, ArrayLike],
    *,
    states: Mapping[str, Sequence[State]],
    parents: Parents | None = None,
    level: Level = "parameters",
) -> DiscreteNetwork:
    """A network whose columns are known up to a factor each, as computed weights are.

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
    """A network, if its tables are exact, which `what` needs.

    Raises
    ------
    NetworkError
        If it is given by intervals, or is of another kind.
    """
    require_network(network)  # a class of networks names a kind too
    if kind_of(network).exact_tables:
        return cast(DiscreteNetwork, network)
    raise no_tables(network, what)


def no_tables(network: Network, what: str) -> NetworkError:
    """The refusal of `what` for a network without exact tables, of whatever kind.

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


# --------------------------------------------------------------------------------------------------
# Joining networks into one model class: attributes and states are matched by name.
# --------------------------------------------------------------------------------------------------

_REMEDY = "Models of one class speak of the same attributes, with the same states."


def model_class(networks: Sequence[DiscreteNetwork], *, labels: Sequence[str] = ()) -> DiscreteNetwork:
    """Join networks of the same attributes into one model class Theta, whatever their graphs.

    Parameters
    ----------
    networks : sequence of DiscreteNetwork
        At least one; each brings all its models, in this order.
    labels : sequence of str, optional
        What messages call the networks, for example their files; "network 0", "network 1", ... by default.

    Returns
    -------
    DiscreteNetwork
        With states in the order of the first network. Of one graph, a table on which all agree is kept once, and
        networks with the same numbers throughout are one model. Of several graphs, each model keeps its own: ``parts``
        has them, and ``graph`` is one whose separations hold in all of them.

    Raises
    ------
    NetworkError
        If there is no network, or they differ in level, attributes or states; the message names the first difference;
        or if one is given by intervals, or holds draws from a posterior beside others.

    Examples
    --------
    >>> states = {"income": ["low", "high"]}
    >>> first = DiscreteNetwork.from_tables({"income": [0.6, 0.4]}, states=states)
    >>> second = DiscreteNetwork.from_tables({"income": [0.1, 0.9]}, states={"income": ["high", "low"]})
    >>> model_class([first, second]).probabilities("income").round(3).tolist()
    [[0.6, 0.4], [0.9, 0.1]]

    Two experts, two graphs:

    >>> states = {"smokes": [0, 1], "ill": [0, 1]}
    >>> apart = DiscreteNetwork.from_tables({"smokes": [0.7, 0.3], "ill": [0.8, 0.2]}, states=states)
    >>> tables = {"smokes": [0.7, 0.3], "ill": [[0.9, 0.6], [0.1, 0.4]]}
    >>> joined = DiscreteNetwork.from_tables(tables, states=states, parents={"ill": ["smokes"]})
    >>> model_class([apart, joined])
    GraphsNetwork(attributes=2, graphs=2, models=2, level='parameters')
    """
    if not isinstance(networks, Iterable):
        raise NetworkError(
            "a model class is made of several networks",
            found=type_text(networks),
            remedy="Pass a list: model_class([one, other]).",
        )
    if not networks:
        raise NetworkError("a model class needs a network", found="none", remedy="Give at least one.")
    for network in networks:
        require_discrete(network, "a model class of several networks")
    names = [labels[k] if k < len(labels) else f"network {k}" for k in range(len(networks))]
    first = networks[0]
    if len(networks) == 1:
        return first  # draws of a posterior stay known as such
    drawn = [label for label, network in zip(names, networks, strict=True) if network.posterior_draws is not None]
    if drawn:  # what lies above the draws, and from which table they were learned, is said of them alone
        raise NetworkError(
            "models drawn from a posterior must stay a model class of their own",
            found=f"draws in {listing(drawn)}, beside others",
            remedy="Calibrate for each class, and use the larger noise.",
        )
    for network, label in zip(networks[1:], names[1:], strict=True):
        _check_same(first, network, names[0], label)
    # the laws of columns may differ between models: declare them in the framework
    reading = replace(
        first.reading,
        laws={},
        identity=" ".join(network.reading.identity for network in networks).strip(),
        level_assumed=any(network.reading.level_assumed for network in networks),
        latent=frozenset().union(*(network.reading.latent for network in networks)),
        notes=tuple(dict.fromkeys(note for network in networks for note in network.reading.notes)),
    )
    several = groupby(
        (part for network in networks for part in network.parts), lambda part: frozenset(part.graph.edges)
    )
    parts = [_of_one_graph(first, list(alike), reading) for _, alike in several]
    return parts[0] if len(parts) == 1 else cast(DiscreteNetwork, service("network.of_graphs")(parts))


def _of_one_graph(
    first: DiscreteNetwork, networks: Sequence[DiscreteNetwork], reading: ImportReport
) -> DiscreteNetwork:
    """Networks of one graph as one, with states in the order of `first`."""
    tables = {name: _joined(first, networks, name) for name in networks[0].attributes}
    models = max(table.values.shape[0] for table in tables.values())
    return DiscreteNetwork(
        graph=networks[0].graph, states=first.states, tables=tables, level=first.level, models=models, reading=reading
    )


def _check_same(first: DiscreteNetwork, other: DiscreteNetwork, known: str, label: str) -> None:
    if other.level != first.level:
        raise NetworkError(
            f"all networks must be of one level, {first.level!r} as in {known}",
            found=f"level {other.level!r} in {label}",
            remedy="Declare what a node means in the same way for all.",
        )
    if {name: set(above) for name, above in first.reading.columns.items()} != {
        name: set(above) for name, above in other.reading.columns.items()
    }:
        raise NetworkError(
            f"all networks must have the columns of {known}, driven by the same attributes",
            found=f"others in {label}",
            remedy=_REMEDY,
        )
    missing = [name for name in first.attributes if name not in other.states]
    strange = [name for name in other.attributes if name not in first.states]
    if missing or strange:
        lacks, adds = f"without {listing(missing)}" if missing else "", f"with {listing(strange)}" if strange else ""
        raise NetworkError(
            f"all networks must have the attributes of {known}",
            found=f"{label} {' and '.join(filter(None, (lacks, adds)))}",
            remedy=_REMEDY,
        )
    for name in first.attributes:
        if set(map(state_key, first.states[name])) != set(map(state_key, other.states[name])):
            raise NetworkError(
                f"{name!r} must have the same states in all networks, {listing(first.states[name])} as in {known}",
                found=f"{listing(other.states[name])} in {label}",
                remedy="Name the states alike; their order is free.",
            )


def _joined(first: DiscreteNetwork, networks: Sequence[DiscreteNetwork], name: str) -> LogTable:
    """Stack one attribute's tables of all models, or keep one where all are the same."""
    axes = networks[0].tables[name].axes
    held = [(network, network.tables[name]) for network in networks]
    stacked = np.concatenate([_aligned(network, table, axes, first) for network, table in held])
    # files are written from what was declared, if all of it is known
    declared = [
        _aligned(network, replace(table, values=table.weights), axes, first)
        for network, table in held
        if table.weights is not None
    ]
    weights = np.concatenate(declared) if len(declared) == len(held) else None
    if bool(np.all(stacked == stacked[:1])):
        stacked, weights = stacked[:1], None if weights is None else weights[:1]
    return LogTable(axes=axes, values=stacked, error=max(table.error for _, table in held), weights=weights)


def _aligned(network: DiscreteNetwork, table: LogTable, axes: Sequence[str], first: DiscreteNetwork) -> FloatArray:
    """The values of a table for all models of its network, with axes and states in the order of `first`."""
    values = table.aligned(axes)
    for position, axis in enumerate(axes):
        here = [state_key(state) for state in network.states[axis]]
        values = np.take(values, [here.index(state_key(state)) for state in first.states[axis]], axis=position + 1)
    return np.broadcast_to(values, (network.models, *values.shape[1:]))


def state_key(state: State) -> tuple[str, str]:
    """A key that tells 1, 1.0, True and "1" apart, which are equal or print alike."""
    return type(state).__name__, repr(state)
