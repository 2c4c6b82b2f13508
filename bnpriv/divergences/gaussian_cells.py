"""The sets of outputs of two laws on the line with Gaussian noise: short steps, and a tail on either side.

The slope of the log of a density is the mean of the atom given the output, less the output, over the variance. The mean
rises with the output, so the two ends of a step bound the loss on it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from bnpriv.bound import UNIT_ROUNDOFF, FloatArray
from bnpriv.divergences.approximation import CELL_MASS_ERROR, LOG_RATIO_ERROR
from bnpriv.divergences.cells import LossCells
from bnpriv.divergences.gaussian_mixture import NormalMixture
from bnpriv.errors import SizeError
from bnpriv.laws.atoms import Atoms
from bnpriv.laws.base import log_sum_exp

LOSS_REACH = 12.0
"""Standard deviations beyond the outer atoms; tails lie further out."""

FINEST_STEPS, COARSEST_STEPS = 256, 8
"""Steps per standard deviation: as many as the number of atoms allows."""

MOST_LOSS_TERMS = 2**20
"""Steps times atoms."""


def gaussian_cells(first: Atoms, second: Atoms, scale: float) -> LossCells:
    """Return the sets of outputs with Gaussian noise.

    Parameters
    ----------
    first, second : Atoms
        On the line.
    scale : float
        Standard deviation, above 0.

    Raises
    ------
    SizeError
        If there are too many atoms, or atoms too far apart for the noise.
    """
    origin = float(min(first.support[0], second.support[0]))
    # in deviations, from the first atom on: far from 0 doubles are too coarse
    mixtures = [NormalMixture((law.support - origin) / scale, law.logs, 1.0) for law in (first, second)]
    low = -LOSS_REACH
    high = max(float(law.means[-1]) for law in mixtures) + LOSS_REACH
    atoms = first.size + second.size
    steps = min(float(FINEST_STEPS), MOST_LOSS_TERMS / ((high - low) * atoms))
    if not steps >= COARSEST_STEPS:
        raise SizeError(
            f"a privacy loss with Gaussian noise may take at most {MOST_LOSS_TERMS:,} terms",
            found=f"{(high - low) * COARSEST_STEPS * atoms:.3g} for {atoms:,} atoms",
            remedy="Use Laplace noise.",
        )
    ends = np.linspace(low, high, math.ceil((high - low) * steps) + 1)
    logs, means = zip(*(law.log_density(ends) for law in mixtures), strict=True)
    loss = logs[0] - logs[1]
    # a place is rounded by little of itself, which moves the normal law around it
    moved = 2 * UNIT_ROUNDOFF * (high - low) ** 2
    error = LOG_RATIO_ERROR * (1 + np.abs(logs[0]) + np.abs(logs[1])) + moved
    width = np.diff(ends)
    slack = LOG_RATIO_ERROR * (1 + np.abs(means[0]) + np.abs(means[1]))
    most = (means[0][1:] - means[1][:-1] + slack[1:]) * width
    least = (means[0][:-1] - means[1][1:] - slack[1:]) * width
    up, down = np.maximum(most, 0.0), np.minimum(least, 0.0)
    masses = [log_masses(law, ends) for law in mixtures]
    tails = tuple(_tail(mixtures, ends[k], loss[k], error[k], right=k != 0) for k in (0, -1))
    return LossCells(
        # the loss at the ends of all steps bounds the tails on one side where their slope has one sign
        low=np.concatenate(
            [[tails[0].low], np.maximum(loss[:-1] - error[:-1] + down, loss[1:] - error[1:] - up), [tails[1].low]]
        ),
        high=np.concatenate(
            [[tails[0].high], np.minimum(loss[:-1] + error[:-1] + up, loss[1:] + error[1:] - down), [tails[1].high]]
        ),
        first=masses[0],
        second=masses[1],
        error=max(first.error, second.error) + CELL_MASS_ERROR + moved,
        tails=tails,
    )


def farthest_order(first: Atoms, second: Atoms, scale: float, order: float) -> float:
    """Return what Renyi divergences of at least an order, divided by theirs, are at most.

    Parameters
    ----------
    first, second : Atoms
        On the line.
    scale : float
        Standard deviation.
    order : float
        Above 1.

    Notes
    -----
    docs/claims/curves.md: every atom is compared with that atom of the other law that serves best.
    """
    worst = -math.inf
    per_block = max(1, MOST_LOSS_TERMS // second.size)
    for start in range(0, first.size, per_block):
        far = (first.support[start : start + per_block, None] - second.support) / scale
        worst = max(worst, float(np.max(np.min(far**2 / 2 - second.logs / order, axis=1))))
    return worst * (1 + 2.0**-40)


def log_masses(mixture: NormalMixture, ends: FloatArray) -> FloatArray:
    """Return the logs of the masses below the first end, between neighbouring ones, and above the last.

    Parameters
    ----------
    mixture : NormalMixture
        Of variance 1.
    ends : ndarray of shape (K,)
        Increasing.
    """
    from scipy.special import log_ndtr

    z = ends[:, None] - mixture.means
    below, above = np.asarray(log_ndtr(z)), np.asarray(log_ndtr(-z))
    # on the side of an atom where both tails are small
    upper = z[:-1] + z[1:] > 0
    far, near = np.where(upper, above[:-1], below[1:]), np.where(upper, above[1:], below[:-1])
    with np.errstate(divide="ignore"):
        inside = far + np.log(-np.expm1(np.minimum(near - far, 0.0)))
    rows = np.concatenate([below[:1], inside, above[-1:]])
    return log_sum_exp(rows + mixture.logs, 1)


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class GaussianTail:
    """All outputs beyond an end, where the loss may grow or fall without bound, but no faster than a straight line.

    Parameters
    ----------
    means, logs : ndarray of shape (k,)
        Atoms of the first law, measured outwards from the end in standard deviations, and their log masses.
    low, high : float
        Bounds of the loss on the tail; infinite if it has none.
    start : (float, float)
        Bounds of the loss at the end.
    slopes : (float, float)
        Bounds of its slope outwards, per standard deviation.
    """

    means: FloatArray
    logs: FloatArray
    low: float
    high: float
    start: tuple[float, float]
    slopes: tuple[float, float]

    def log_moment(self, powers: FloatArray, *, up: bool) -> FloatArray:
        """Return bounds of the log of the mean of exp(power times the loss) on the tail, under the first law."""
        from scipy.special import log_ndtr

        larger = (powers > 0) == up
        start, slope = (np.where(larger, ends[1], ends[0]) for ends in (self.start, self.slopes))
        tilt = (powers * slope)[:, None]
        logs = self.logs + tilt * self.means + tilt**2 / 2 + np.asarray(log_ndtr(self.means + tilt))
        error = LOG_RATIO_ERROR * (
            1 + np.abs(powers * start) + np.max(np.abs(tilt * self.means), axis=1) + tilt[:, 0] ** 2
        )
        return powers * start + log_sum_exp(logs, 1) + (error if up else -error)


def _tail(mixtures: list[NormalMixture], end: float, loss: float, error: float, *, right: bool) -> GaussianTail:
    sign = 1.0 if right else -1.0
    first, second = (np.sort(sign * law.means) for law in mixtures)
    _, centres = zip(*(law.log_density(np.array([end])) for law in mixtures), strict=True)
    slack = LOG_RATIO_ERROR * (1 + abs(float(centres[0][0])) + abs(float(centres[1][0])))
    # given outputs further out, the atom is further out, and at most the outermost
    slopes = (
        sign * float(centres[0][0]) - float(second[-1]) - slack,
        float(first[-1]) - sign * float(centres[1][0]) + slack,
    )
    start = (loss - error, loss + error)
    return GaussianTail(
        means=sign * (mixtures[0].means - end),
        logs=mixtures[0].logs,
        low=start[0] if slopes[0] >= 0 else -math.inf,
        high=start[1] if slopes[1] <= 0 else math.inf,
        start=start,
        slopes=slopes,
    )
