"""Parameters without draws below those of a posterior, in a secret however rare: points weighed by their density."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from bnpriv.bound import FloatArray
from bnpriv.networks.density import DensityNetwork
from bnpriv.networks.parameter_draws import ParameterDraws, RowNumbers, weighted_rows, weighted_size
from bnpriv.secrets.values import Interval

PARTS = 32
"""Equal parts of a secret, in each of which one point is tried for every draw of the posterior."""


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class RareDraws:
    """Points of a secret, each with the draw of the posterior that it goes with, and how probable it is.

    Parameters
    ----------
    rows : ndarray of shape (points,)
    values : ndarray of shape (points,)
    weights : ndarray of shape (points,)
    draws : int
        Of the posterior, of which each goes with `PARTS` points.
    """

    rows: RowNumbers
    values: FloatArray
    weights: FloatArray
    draws: int

    def taken(self, count: int, random: np.random.Generator) -> RowNumbers:
        """Return so many of the points, each as often as its weight asks for."""
        return weighted_rows(np.arange(len(self.rows)), self.weights, count, random)

    @property
    def size(self) -> float:
        """Return how many draws of equal weight they are worth: of the posterior, or of points if those are fewer."""
        return min(weighted_size(self.by_draw), weighted_size(self.weights))

    @property
    def by_draw(self) -> FloatArray:
        """Return the weight of the points of each draw of the posterior."""
        return self.weights.reshape(self.draws, -1).sum(axis=1)


def rare_draws(
    network: DensityNetwork, drawn: ParameterDraws, name: str, side: Interval, seed: int
) -> RareDraws | None:
    """Return them, or None where the parameter has draws, finitely many values or no density below what has draws."""
    parameter = network.parameters[name]
    density = parameter.log_density
    above = drawn.parameters.issuperset(parameter.parents)
    if name in drawn.values or density is None or parameter.states is not None or not above or side.low == side.high:
        return None
    known: dict[tuple[str, Interval, int], RareDraws] = network.kept.table("rare")
    key = (name, side, seed)
    if key not in known:
        random = np.random.default_rng(seed)
        shares = (np.arange(PARTS) + random.random((drawn.draws, PARTS))) / PARTS
        values = np.clip(side.low + shares * (side.high - side.low), side.low, side.high).reshape(-1)
        rows = np.repeat(np.arange(drawn.draws), PARTS)
        logs = density(values, *(drawn.values[parent][rows] for parent in parameter.parents))
        if drawn.log_weights is not None:
            logs = logs + drawn.log_weights[rows]
        largest = float(np.max(logs))
        weights = np.exp(logs - largest) if np.isfinite(largest) else np.zeros(len(logs))
        known.clear()  # of one secret at a time: they are large
        known[key] = RareDraws(rows=rows, values=values, weights=weights, draws=drawn.draws)
    return known[key]
