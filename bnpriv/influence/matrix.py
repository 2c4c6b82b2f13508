"""What every attribute of a network tells about every other one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from bnpriv.checks import type_text
from bnpriv.errors import SecretError
from bnpriv.influence.base import impossible_secrets, influence_of
from bnpriv.networks.base import Network
from bnpriv.networks.foreign import require_network
from bnpriv.secrets.declared import Declared, pairs_of

if TYPE_CHECKING:
    import pandas as pd


def influence_matrix(network: Network, pairs: Mapping[str, Declared] | None = None) -> pd.DataFrame:
    """Return the influence of every attribute on every other one.

    Parameters
    ----------
    network : network
        Of any kind: one or several models, or all within intervals.
    pairs : mapping from str to SecretPairs, Apart or IntervalPairs, optional
        The protected attributes with their pairs of secrets; by default every attribute with all pairs of its states.

    Returns
    -------
    pandas.DataFrame
        Row = protected attribute, column = attribute that is seen; upper bounds in nats. NaN on the diagonal, and in
        the whole row of an attribute none of whose pairs is possible: ``attrs["refused"]`` has the reason by
        attribute. ``attrs["dropped"]`` has the pairs of the other rows that are no constraint under a model.

    Raises
    ------
    NetworkError
        If a name is unknown.
    SecretError
        If the secrets do not fit, or an attribute that may be any number has none.
    SizeError
        If a table would pass the limit and no cheaper bound holds.

    Examples
    --------
    >>> from bnpriv.networks import DiscreteNetwork
    >>> network = DiscreteNetwork.from_tables(
    ...     {"income": [0.5, 0.5], "sat": [[0.8, 0.2], [0.2, 0.8]]},
    ...     states={"income": ["low", "high"], "sat": ["low", "high"]},
    ...     parents={"sat": ["income"]},
    ... )
    >>> influence_matrix(network).round(3).to_dict("index")
    {'income': {'income': nan, 'sat': 1.386}, 'sat': {'income': 1.386, 'sat': nan}}
    """
    import pandas as pd

    require_network(network)
    if pairs is not None and not isinstance(pairs, Mapping):
        raise SecretError(
            "pairs is a mapping from protected attributes to their pairs of secrets",
            found=type_text(pairs),
            remedy='Write pairs={"income": None} for all pairs of one attribute.',
        )
    names = network.attributes
    chosen = {
        network.require(name): pairs_of(network, name, None if pairs is None else pairs[name])
        for name in (names if pairs is None else pairs)
    }
    cells: dict[str, list[float]] = {}
    refused: dict[str, str] = {}
    dropped: dict[str, list[str]] = {}
    for protected, ordered in chosen.items():
        if not ordered:
            continue
        alone = influence_of(network, (), protected, ordered)
        possible = alone.pair is not None
        cells[protected] = [
            float(influence_of(network, (name,), protected, ordered)) if possible and name != protected else np.nan
            for name in names
        ]
        if not possible:
            refused[protected] = str(impossible_secrets(protected))
        elif alone.dropped:
            dropped[protected] = [f"{pair} in model {model}" for pair, model in alone.dropped]
    frame = pd.DataFrame.from_dict(cells, orient="index", columns=list(names))
    frame.attrs.update(refused=refused, dropped=dropped)
    return frame
