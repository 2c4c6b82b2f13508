"""What orders beyond all that are tried, and powers near 0, can add to concentrated views of the privacy loss."""

from __future__ import annotations

import math

import numpy as np

from bnpriv.bound import Bound, FloatArray
from bnpriv.divergences.cells import LossCells
from bnpriv.divergences.gaussian_cells import farthest_order
from bnpriv.divergences.views import losses
from bnpriv.laws.atoms import Atoms

LEAST_NEAR = 1e-5
"""Least power times spread of the loss below which its variance bounds."""


def beyond_orders(cells: LossCells, laws: tuple[Atoms, Atoms], scale: float | None, xi: float, order: float) -> float:
    """Return what Renyi divergences of at least an order, less xi and divided by theirs, are at most.

    Parameters
    ----------
    cells : LossCells
    laws : (Atoms, Atoms)
    scale : float or None
        Standard deviation of Gaussian noise; None where the loss is bounded.
    xi : float
        At least 0.
    order : float
        Above 1.
    """
    if scale is not None:
        return farthest_order(*laws, scale, order)
    return max(0.0, float(np.max(cells.most)) - xi) / order


def moments_beyond(cells: LossCells, laws: tuple[Atoms, Atoms], scale: float | None, power: float) -> float:
    """Return an upper bound of log E exp(power times the loss) for a power of size above 1.

    Its ratio to the square of the power falls as the size of the power grows.

    Parameters
    ----------
    cells, laws, scale
        As of `beyond_orders`.
    power : float
        Above 1 or below -1.
    """
    if scale is None:
        return max(0.0, float(np.max(power * cells.most)), float(np.max(power * cells.least)))
    if power > 0:
        return power * (1 + power) * farthest_order(*laws, scale, 1 + power)
    return -power * (-power - 1) * farthest_order(laws[1], laws[0], scale, -power)


def near_zero(cells: LossCells, mean: Bound) -> tuple[float, float]:
    """Return a power, and the largest variance of the loss under laws tilted by powers of at most that size.

    Parameters
    ----------
    cells : LossCells
    mean : Bound
        Of the loss.

    Returns
    -------
    (float, float)
        Infinite variance if the loss is infinite with some probability.
    """
    tailed = cells.bounded if cells.tails else np.ones(cells.first.shape, dtype=bool)
    masses, ends = np.exp(cells.first[tailed]), (cells.least[tailed], cells.most[tailed])
    spread = float(ends[1].max() - ends[0].min())
    if not math.isfinite(spread):
        return 1.0, math.inf
    centre = (mean.lower + mean.upper) / 2
    variance = float(masses @ np.max([(end - centre) ** 2 for end in ends], axis=0))
    # a larger power makes more of the variance, a smaller one more of the error of the mean
    lost = math.sqrt((mean.upper - mean.lower) * spread / variance) if variance > 0 else 0.0
    near = min(1.0, max(LEAST_NEAR, float(np.cbrt(cells.rounding)), lost))
    power = min(1.0, near / max(spread, 1e-300))
    for tail in cells.tails:
        # x^2 is at most 2 exp(|x|)
        for sign in (1.0, -1.0):
            most = tail.log_moment(np.array([sign, sign + power, sign - power]), up=True).max()
            variance += 2 * math.exp(min(700.0, float(most) + abs(centre)))
    return power, variance * math.exp(2 * power * spread) * (1 + 4 * cells.rounding)


def with_error(cells: LossCells, powers: FloatArray, *, up: bool) -> FloatArray:
    """Return bounds of log moments by power, with the error of masses: little of the moment where that is near 0.

    Parameters
    ----------
    cells : LossCells
    powers : ndarray of shape (m,)
    up : bool
        Whether the bounds are upper ones.
    """
    sizes, x = np.abs(powers), cells.rounding
    with np.errstate(invalid="ignore"):
        error = x * np.minimum(1 + 2 * sizes, 6 * sizes * (1 + sizes) * cells.largest_size) + 4 * x * x * sizes
    return cells.moments(powers, up=up) + (error if up else -error)


def without_largest(cells: LossCells, share: float) -> LossCells:
    """Return two laws given an event: all but outputs with the largest losses, of some probability under the first law.

    Parameters
    ----------
    cells : LossCells
    share : float
        That probability; of the last output that goes, a part may stay. Outputs with a loss below 0 all stay, so that
        under the second law the event is no less likely.
    """
    first, second = cells.outer
    loss = losses(first, second)
    order = np.argsort(-loss, kind="stable")
    first, second, loss = first[order], second[order], loss[order]
    masses = np.exp(first)
    before = np.cumsum(masses) - masses
    room = share * (1 - cells.rounding) - before
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        gone = np.where(masses > 0, np.clip(room / masses, 0.0, 1.0), 1.0)
        gone = np.where(loss > 0, gone, 0.0)
        kept: list[FloatArray] = [logs + np.log1p(-gone) for logs in (first, second)]
    kept = [np.where(gone == 1, -np.inf, logs) for logs in kept]
    sums = [np.logaddexp.reduce(logs) for logs in kept]
    return LossCells.of_masses(kept[0] - sums[0], kept[1] - sums[1], 2 * cells.rounding)
