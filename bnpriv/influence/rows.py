"""What every attribute tells about some protected ones: rows of numbers, one column for each attribute."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import final

import numpy as np

from bnpriv.bound import FloatArray
from bnpriv.influence.base import influence_of
from bnpriv.influence.maximum import impossible_secrets
from bnpriv.networks.base import Network
from bnpriv.secrets.declared import Declared, pairs_of


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class InfluenceRows:
    """What every attribute tells about some protected ones.

    Parameters
    ----------
    protected : tuple of str
        Those that have a pair of secrets.
    values : ndarray of shape (protected, attributes)
        Upper bounds in nats; NaN where an attribute meets itself, and in the rows of `refused`.
    refused : mapping from str to str
        For attributes none of whose pairs of secrets is possible, why nothing is said about them.
    dropped : mapping from str to list of str
        For the other rows, the pairs that are no constraint under a model.
    """

    protected: tuple[str, ...]
    values: FloatArray
    refused: Mapping[str, str] = field(default_factory=dict[str, str])
    dropped: Mapping[str, list[str]] = field(default_factory=dict[str, list[str]])


def rows_one_by_one(network: Network, chosen: Mapping[str, Declared | None]) -> InfluenceRows:
    """The rows from the influence of every single attribute: of every kind that knows no faster way.

    Raises
    ------
    SecretError
        If the secrets do not fit.
    SizeError
        If a table would pass the limit and no cheaper bound holds.
    """
    names = network.attributes
    paired = {name: pairs_of(network, name, given) for name, given in chosen.items()}
    rows: dict[str, list[float]] = {}
    refused: dict[str, str] = {}
    dropped: dict[str, list[str]] = {}
    for protected, ordered in paired.items():
        if not ordered:
            continue
        alone = influence_of(network, (), protected, ordered)
        possible = alone.pair is not None
        rows[protected] = [
            float(influence_of(network, (name,), protected, ordered)) if possible and name != protected else np.nan
            for name in names
        ]
        if not possible:
            refused[protected] = str(impossible_secrets(protected))
        elif alone.dropped:
            dropped[protected] = [f"{pair} in model {model}" for pair, model in alone.dropped]
    values = np.array(list(rows.values()), dtype=np.float64).reshape(len(rows), len(names))
    return InfluenceRows(protected=tuple(rows), values=values, refused=refused, dropped=dropped)
