"""Laws known by independent draws, and how much such draws may miss (docs/claims/draws.md)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from bnpriv import checks
from bnpriv.bound import UNIT_ROUNDOFF, FloatArray, up
from bnpriv.core.distributions import Atoms, check_atoms, numbers, refused
from bnpriv.errors import LawError, ParameterError

MOST_SIDES = 2**40
"""The most cells along each axis of the grid on which draws are gathered."""


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Draws:
    """Independent draws from the law of an answer.

    Parameters
    ----------
    values : array of shape (N,) or (N, d)
        In the unit of the answer.
    seed : int
        Where they came from.
    share : float
        Which share of all draws they are; below 1 where only those with a secret were kept.

    Raises
    ------
    LawError
        If there is no draw, or a number is not finite.

    Examples
    --------
    >>> from bnpriv.laws import Draws
    >>> draws = Draws([3, 1, 3, 3], seed=0)
    >>> draws, draws.empirical().probabilities.round(12)
    (Draws(size=4, dimension=1, seed=0), array([0.25, 0.75]))
    """

    values: FloatArray
    seed: int
    share: float

    def __init__(self, values: ArrayLike, *, seed: int, share: float = 1.0) -> None:
        found = numbers("draws", values) + 0.0  # a copy, and -0.0 becomes 0.0
        if found.ndim not in (1, 2) or found.size == 0:
            raise refused("draws must have shape (N,) or (N, d)", f"shape {found.shape}", "Pass at least one draw.")
        if found.ndim == 2 and found.shape[1] == 1:
            found = found[:, 0]
        found.flags.writeable = False
        vars(self).update(values=found, seed=checks.whole("seed", seed, least=0, error=LawError), share=share)

    @property
    def size(self) -> int:
        """The number of draws N."""
        return len(self.values)

    @property
    def dimension(self) -> int:
        """The dimension of a draw."""
        return 1 if self.values.ndim == 1 else self.values.shape[1]

    def counts(self) -> tuple[FloatArray, FloatArray]:
        """The different draws, of shape (K, d), and their multiplicities, of shape (K,)."""
        points, counts = np.unique(self.values, axis=0, return_counts=True)
        return points.reshape(len(points), self.dimension), counts.astype(np.float64)

    def empirical(self) -> Atoms:
        """The empirical law: every draw has the same mass."""
        points, counts = self.counts()
        check_atoms(len(points))
        return Atoms(points, counts / self.size)

    def __repr__(self) -> str:
        return f"Draws(size={self.size}, dimension={self.dimension}, seed={self.seed})"


@dataclass(frozen=True, kw_only=True, eq=False)
class Gathered:
    """The empirical laws of two sets of draws, with nearby draws gathered at their mean.

    Parameters
    ----------
    first, second : Atoms
    moved : float
        The two moves of a draw of each law together are at most so long, in the 1-norm, and each at most half of it.
    variance : float
        Mean square of the move of a draw, in the law where it is larger.
    drift : float
        How far rounding may have taken a mean off the draws that it stands for.
    """

    first: Atoms
    second: Atoms
    moved: float = 0.0
    variance: float = 0.0
    drift: float = 0.0


def gathered(first: Draws, second: Draws, most: int) -> Gathered:
    """The empirical laws of two sets of draws, with at most `most` atoms each.

    Parameters
    ----------
    first, second : Draws
        Of one dimension.
    most : int
        Where both have at most so many different draws they stay as they are; otherwise the range of all draws is cut
        into equal cells, of which at most so many hold draws of one law, and these are gathered at their mean.

    Returns
    -------
    Gathered

    Examples
    --------
    >>> from bnpriv.laws import Draws
    >>> found = gathered(Draws([0, 1, 8, 9], seed=0), Draws([0, 2, 8, 8], seed=1), 2)
    >>> found.first.support, found.second.support, round(found.moved, 6), round(found.variance, 6)
    (array([0.5, 8.5]), array([1., 8.]), 2.0, 0.5)
    """
    counted = [draws.counts() for draws in (first, second)]
    if max(len(points) for points, _ in counted) <= most:
        return Gathered(first=first.empirical(), second=second.empirical())
    return _gathered(counted, most)


def gathered_again(laws: Gathered, draws: int, most: int) -> Gathered:
    """The empirical laws of so many draws on the line, gathered once more to at most `most` atoms each.

    Moves add up, and so do their mean squares, because gathered draws stand at their mean.

    Examples
    --------
    >>> from bnpriv.laws import Draws
    >>> fine = gathered(Draws([0, 1, 8, 9], seed=0), Draws([0, 2, 8, 8], seed=1), 3)
    >>> coarse = gathered_again(fine, 4, 1)
    >>> len(fine.first.support), coarse.first.support, round(coarse.moved, 6), round(coarse.variance, 6)
    (3, array([4.5]), 10.0, 16.25)
    """
    if max(len(law.points) for law in (laws.first, laws.second)) <= most:
        return laws
    # the masses are multiples of 1 / draws
    counted = [(law.points, np.rint(law.probabilities * draws)) for law in (laws.first, laws.second)]
    found = _gathered(counted, most)
    return Gathered(
        first=found.first,
        second=found.second,
        moved=up(laws.moved + found.moved),
        variance=up(laws.variance + found.variance + laws.drift * found.moved),
        drift=up(laws.drift + found.drift),
    )


def _gathered(counted: list[tuple[FloatArray, FloatArray]], most: int) -> Gathered:
    """Gather weighted points on the finest grid that leaves at most `most` atoms in each law."""
    both = np.concatenate([points for points, _ in counted])
    low, width = both.min(axis=0), np.ptp(both, axis=0)
    sides = _finest(counted, low, width, most)
    means = [_means(points, counts, low, width, sides) for points, counts in counted]
    most_met = max(len(points) for points, _ in counted)
    drift = 2 * UNIT_ROUNDOFF * (most_met + 8) * float(np.abs(both).sum(axis=1).max())
    (first, far, variance), (second, farther, wider) = means
    far = max(far, farther)
    variance = up(max(variance, wider) + 2 * drift * (far + drift))
    # twice the farthest move: each of the two draws that are compared may have moved
    return Gathered(first=first, second=second, moved=up(2 * (far + drift)), variance=variance, drift=drift)


def _finest(counted: list[tuple[FloatArray, FloatArray]], low: FloatArray, width: FloatArray, most: int) -> int:
    """The number of cells along each axis for which each law occupies at most `most` of them.

    It is the largest such power of two, or one of seven numbers between it and the next.
    """

    def fits(sides: int) -> bool:
        return all(len(np.unique(_places(points, low, width, sides), axis=0)) <= most for points, _ in counted)

    sides = 1
    while sides < MOST_SIDES and fits(2 * sides):
        sides *= 2
    for step in (sides // 2, sides // 4, sides // 8):
        if step and fits(sides + step):
            sides += step
    return sides


def _places(points: FloatArray, low: FloatArray, width: FloatArray, sides: int) -> FloatArray:
    """The grid cell of each point, with so many cells along each axis."""
    return np.minimum(np.floor((points - low) / np.where(width > 0, width, 1.0) * sides), sides - 1)


def _means(
    points: FloatArray, counts: FloatArray, low: FloatArray, width: FloatArray, sides: int
) -> tuple[Atoms, float, float]:
    """The law of the means of the points in each cell, and the farthest and the mean square move to them."""
    above = points - low
    _, inverse = np.unique(_places(points, low, width, sides), axis=0, return_inverse=True)
    cell = inverse.ravel()
    met = np.bincount(cell, counts)
    means = np.stack([np.bincount(cell, counts * axis) / met for axis in above.T], axis=1)
    moves = np.abs(above - means[cell]).sum(axis=1)
    total = float(counts.sum())
    return Atoms(means + low, met / total), float(moves.max()), float(counts @ moves**2) / total


def missed(draws: int, miss: float, ratio: float = 1.0) -> float:
    """How much a comparison of two empirical laws may fall short of that of the true laws.

    Parameters
    ----------
    draws : int
        Independent draws of each law.
    miss : float
        The probability with which it may fall short by more.
    ratio : float
        The excess that is compared is ``f(T) - ratio * g(T)``, at its largest over sets T; at least 1.

    Returns
    -------
    float
        The better of the bounds of Hoeffding and Bernstein, rounded up.

    Notes
    -----
    docs/claims/draws.md. It is a bound for the one set T at which the true excess is largest, so that no number of
    cells, pairs or scales enters.

    Examples
    --------
    >>> round(missed(1_000_000, 0.05), 6)
    0.001731
    """
    if not (draws >= 1 and 0 < miss < 1 and 1 <= ratio < math.inf):
        raise ParameterError(
            "draws must be at least 1, the probability between 0 and 1, the ratio at least 1",
            found=f"{draws}, {miss:g} and {ratio:g}",
            remedy="Correct them.",
        )
    nats = -math.log(miss)
    # two bounds for one fixed set of outputs, Hoeffding's and Bernstein's: the lesser holds
    hoeffding = math.sqrt((1 + ratio**2) * nats / (2 * draws))
    variance = (1 + ratio) ** 2 / 8 if ratio <= 3 else ratio - 1
    step = ratio * nats / (3 * draws)
    bernstein = step + math.sqrt(step**2 + 2 * variance * nats / draws)
    return up(min(hoeffding, bernstein), 16)
