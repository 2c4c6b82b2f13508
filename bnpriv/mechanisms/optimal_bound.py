"""A lower bound of the error that every channel has: the Lagrange function of its program, rounded down.

docs/claims/optimal.md.
"""

from __future__ import annotations

import math

import numpy as np

from bnpriv.bound import UNIT_ROUNDOFF, FloatArray, down
from bnpriv.mechanisms.optimal_laws import LawTable

OUTPUTS_AT_ONCE = 256
"""Outputs that are looked at together."""

USUAL_MARGIN = 2.0
"""Twice the rounding of the sums is taken off: that much is proved on every other machine too, once being enough."""


def lower_bound(
    table: LawTable,
    losses: FloatArray,
    priors: FloatArray,
    epsilon: float,
    delta: float,
    prices: FloatArray,
    shares: FloatArray,
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
    prices : ndarray of shape (2 J, M)
        Of the constraint of every ordered pair of laws at every output; whatever they are, they prove a bound.
    shares : ndarray of shape (S,)
        Weights of the priors.
    margin : float
        How many times the rounding of the sums is taken off, at least 1.

    Returns
    -------
    float
        At least 0.
    """
    ratio = math.exp(epsilon) * (1 + 16 * UNIT_ROUNDOFF)
    prices, shares = np.maximum(prices, 0.0), np.maximum(shares, 0.0)
    # for each law and output what it costs that the law must not be too large, and that it must not be too small
    not_above, not_below = (np.zeros((len(table.masses), prices.shape[1])) for _ in range(2))
    np.add.at(not_above, table.ways[:, 0], prices)
    np.add.at(not_below, table.ways[:, 1], prices)
    total = float(np.sum(shares))
    shares = shares / total * (1 - 8 * len(shares) * UNIT_ROUNDOFF) if total > 0 else shares
    mean = shares @ priors
    # sums of L terms, products and differences round by their sizes; priors are sums of laws
    rounding = (2 * len(table.masses) + len(priors) + 32) * UNIT_ROUNDOFF
    least = np.full(table.size, math.inf)
    for start in range(0, losses.shape[1], OUTPUTS_AT_ONCE):
        block = slice(start, start + OUTPUTS_AT_ONCE)
        cost = mean[:, np.newaxis] * losses[:, block]
        above, below = table.masses.T @ not_above[:, block], ratio * (table.masses.T @ not_below[:, block])
        errors = table.errors[:, np.newaxis]
        off = table.masses.T @ (errors * not_above[:, block])
        off += ratio * (table.masses.T @ (errors * not_below[:, block]))
        off += rounding * (cost + above + below) + float(np.max(table.errors)) * cost
        least = np.minimum(least, np.min(cost + above - below - margin * off, axis=1))
    # what one unit of delta is worth: the largest price of every ordered pair at any output
    excess = math.fsum(np.max(prices, axis=1).tolist()) * (1 + 4 * UNIT_ROUNDOFF)
    found = math.fsum(least.tolist()) - delta * excess * (1 + 4 * UNIT_ROUNDOFF)
    return max(0.0, down(found - 4 * UNIT_ROUNDOFF * math.fsum(np.abs(least).tolist())))
