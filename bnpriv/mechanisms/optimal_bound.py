"""A lower bound of the error that every channel has: the Lagrange function of its program, rounded down.

docs/claims/optimal.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from bnpriv.bound import UNIT_ROUNDOFF, FloatArray, down
from bnpriv.mechanisms.optimal_laws import LawTable

OUTPUTS_AT_ONCE = 256
"""Outputs that are looked at together."""

USUAL_MARGIN = 2.0
"""Twice the rounding of the sums is taken off: that much is proved on every other machine too, once being enough."""


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class Multipliers:
    """Prices of the constraints of a program; whatever they are, they prove a lower bound.

    Parameters
    ----------
    above : ndarray of shape (L, M)
        For each law and output the sum of the prices of the constraints in which the law must not be too large.
    below : ndarray of shape (L, M)
        The same for those in which it must not be too small.
    excess : float
        The sum, over all ordered pairs of laws, of the largest price at any output: what one unit of delta is worth.
    shares : ndarray of shape (S,)
        Weights of the priors.
    """

    above: FloatArray
    below: FloatArray
    excess: float
    shares: FloatArray

    @classmethod
    def of(cls, table: LawTable, prices: FloatArray, shares: FloatArray) -> Multipliers:
        """Gather prices of shape (2 J, M), one for every ordered pair of laws and output."""
        prices = np.maximum(prices, 0.0)
        above, below = (np.zeros((len(table.masses), prices.shape[1])) for _ in range(2))
        np.add.at(above, table.ways[:, 0], prices)
        np.add.at(below, table.ways[:, 1], prices)
        shares = np.maximum(shares, 0.0)
        total = float(np.sum(shares))
        return cls(
            above=above,
            below=below,
            excess=math.fsum(np.max(prices, axis=1).tolist()) * (1 + 4 * UNIT_ROUNDOFF),
            shares=shares / total * (1 - 8 * len(shares) * UNIT_ROUNDOFF) if total > 0 else shares,
        )


def lower_bound(
    table: LawTable,
    losses: FloatArray,
    priors: FloatArray,
    epsilon: float,
    delta: float,
    prices: Multipliers,
    margin: float = USUAL_MARGIN,
) -> float:
    """Return an error that no channel with these outputs is below, for any laws within the errors of the table.

    Parameters
    ----------
    table : LawTable
    losses : ndarray of shape (K, M)
        What each output costs for each answer.
    priors : ndarray of shape (S, K)
        The error is the largest of the means under these.
    epsilon, delta : float
    prices : Multipliers
    margin : float
        How many times the rounding of the sums is taken off, at least 1.

    Returns
    -------
    float
        At least 0.
    """
    ratio = math.exp(epsilon) * (1 + 16 * UNIT_ROUNDOFF)
    mean = prices.shares @ priors
    # sums of L terms, products and differences round by their sizes; priors are sums of laws
    rounding = (2 * len(table.masses) + len(priors) + 32) * UNIT_ROUNDOFF
    least = np.full(table.size, math.inf)
    for start in range(0, losses.shape[1], OUTPUTS_AT_ONCE):
        block = slice(start, start + OUTPUTS_AT_ONCE)
        cost = mean[:, np.newaxis] * losses[:, block]
        above, below = table.masses.T @ prices.above[:, block], ratio * (table.masses.T @ prices.below[:, block])
        errors = table.errors[:, np.newaxis]
        off = table.masses.T @ (errors * prices.above[:, block])
        off += ratio * (table.masses.T @ (errors * prices.below[:, block]))
        off += rounding * (cost + above + below) + float(np.max(table.errors)) * cost
        least = np.minimum(least, np.min(cost + above - below - margin * off, axis=1))
    found = math.fsum(least.tolist()) - delta * prices.excess * (1 + 4 * UNIT_ROUNDOFF)
    return max(0.0, down(found - 4 * UNIT_ROUNDOFF * math.fsum(np.abs(least).tolist())))
