"""Transport on the line, and the mass differences that rounding may cause."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from bnpriv.bound import UNIT_ROUNDOFF, FloatArray
from bnpriv.core.distributions import Atoms, Normal

# --------------------------------------------------------------------------------------------------
# The relative difference of masses that distances ignore, because rounding may have caused it.
# --------------------------------------------------------------------------------------------------

MASS_TOLERANCE = 1e-12
"""Relative difference of masses that is always ignored; rounding and the errors of the laws come on top."""

FLOW = 1e-13
"""Relative accuracy with which a flow in space must meet the masses."""


@dataclass(frozen=True, kw_only=True)
class Slack:
    """How far a comparison of masses of two laws may be off, on a log scale.

    Parameters
    ----------
    rounding : float
        True masses and those compared differ by at most a factor of exp(rounding), f and g taken together.
    """

    rounding: float

    @property
    def factor(self) -> float:
        """The part of one law that must fit inside the other: so much that rounding alone cannot prevent it."""
        return math.exp(-(MASS_TOLERANCE + self.rounding))

    @property
    def band(self) -> float:
        """An upper bound on -log(1 - u): where that part is found to fit, 1 - u of the true law fits."""
        return MASS_TOLERANCE + 2 * self.rounding

    def allowance(self, delta: float) -> float:
        """How much of the part may be left over where `delta` of the law may be."""
        return delta * (1 + MASS_TOLERANCE + self.rounding)


def slack(f: Atoms, g: Atoms) -> Slack:
    """The slack of a comparison: the laws' own errors, exp and log, and one rounding per atom."""
    steps = 4 * (f.size + g.size) + 16 * (f.largest_log + g.largest_log) + 256
    flow = 4 * FLOW if f.dimension > 1 else 0.0
    return Slack(rounding=f.error + g.error + UNIT_ROUNDOFF * steps + flow)


def tolerance(f: Atoms | Normal, g: Atoms | Normal) -> float:
    """The mass u that distances ignore: a distance W between `f` and `g` moves 1 - u of either law into the other.

    A mechanism that turns W into epsilon has to add ``-log(1 - u)`` to epsilon; one that uses (W, delta)-closeness also
    has to multiply delta by ``(1 + u) / (1 - u)``.

    Parameters
    ----------
    f, g : Atoms or Normal
        The two laws.

    Returns
    -------
    float
        About 1e-12 for short laws; 0 for normal laws.

    Examples
    --------
    >>> from bnpriv.laws import Atoms
    >>> from bnpriv.core.transport.line import tolerance
    >>> tolerance(Atoms([0, 1], [0.5, 0.5]), Atoms([0, 1], [0.4, 0.6])) < 2e-12
    True
    """
    if isinstance(f, Normal) or isinstance(g, Normal):
        return 0.0
    return -math.expm1(-slack(f, g).band)


# --------------------------------------------------------------------------------------------------
# Transport on the line: a bracket from all quantiles at once, then a greedy pass where ties leave it open.
# --------------------------------------------------------------------------------------------------

IndexArray = NDArray[np.intp]

LOG_LEVEL_STEP = 600.0
"""Masses are held as numbers from e^-600 to 1 times a power of e^600, so that none underflows."""

Test = Callable[[float], tuple[bool, float]]
"""Whether a width is enough, with the largest distance then moved or a lower bound on any that is."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Line:
    """A law on the line: sorted positions, which may repeat, and log masses; their sums are kept for other pairs."""

    x: FloatArray
    logs: FloatArray

    @cached_property
    def below(self) -> FloatArray:
        """The log masses up to each position."""
        return running_sums(self.logs)

    @cached_property
    def above(self) -> FloatArray:
        """The log masses from each position on, the last one first."""
        return running_sums(self.logs[::-1])


Cuts = tuple[IndexArray, IndexArray]
"""The least and the greatest number of atoms of g that lie below each cut of f, in mass.

Cut c = 1, ..., len(f) - 1 stands at index c - 1; it parts atom c - 1 of f from atom c."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Tails:
    """The running sums of two laws: from the left up to the middle of the first, from the right beyond it.

    Parameters
    ----------
    low, high : ndarray
        Log masses of f below its cuts up to the middle, and above those beyond it, the last cut first.
    below, above : ndarray
        Log masses of g below its cuts, and above them, the last cut first.
    """

    low: FloatArray
    high: FloatArray
    below: FloatArray
    above: FloatArray

    @classmethod
    def of(cls, f: Line, g: Line) -> Tails:
        """The running sums of two laws."""
        # each tail is summed from its own end: summed past the middle its small masses would drown in rounding
        below_f, above_f = f.below[:-1], f.above[:-1]
        half = int(np.count_nonzero(below_f <= above_f[::-1]))
        return cls(low=below_f[:half], high=above_f[: len(above_f) - half], below=g.below[:-1], above=g.above[:-1])

    def cuts(self, band: float) -> Cuts:
        """Compare the tails of two laws; logs that differ by at most `band` may be equal."""
        fewest, most = _counts(self.below, self.low, band)
        fewest_above, most_above = _counts(self.above, self.high, band)
        return (
            np.concatenate([fewest, len(self.below) - most_above[::-1]]),
            np.concatenate([most, len(self.below) - fewest_above[::-1]]),
        )

    def gaps(self, cut: IndexArray, k: IndexArray) -> FloatArray:
        """The differences of the logs of the tails at cuts `cut` of f and cuts `k` of g."""
        below = cut <= len(self.low)
        last = len(self.low) + len(self.high)
        return np.abs(
            np.concatenate(
                [
                    self.low[cut[below] - 1] - self.below[k[below] - 1],
                    self.high[last - cut[~below]] - self.above[len(self.above) - k[~below]],
                ]
            )
        )


def _counts(tails: FloatArray, values: FloatArray, band: float) -> tuple[IndexArray, IndexArray]:
    """For each value, the number of sorted `tails` that are surely below it, and that may be at most it."""
    fewest = np.searchsorted(tails, values - band, "left")
    most = fewest.copy()
    open_ = np.flatnonzero(np.append(tails, math.inf)[fewest] <= values + band)
    most[open_] = np.searchsorted(tails, values[open_] + band, "right")
    return fewest, most


def running_sums(logs: FloatArray) -> FloatArray:
    """The logs of sums from the left, in windows within which no sum that counts can underflow."""
    if np.min(logs) > -LOG_LEVEL_STEP / 2:
        return np.log(np.cumsum(np.exp(logs)))
    windows = np.ceil(np.maximum.accumulate(logs) / LOG_LEVEL_STEP)
    starts = [0, *(np.flatnonzero(np.diff(windows)) + 1).tolist(), len(logs)]
    sums = np.empty_like(logs)
    before = -math.inf
    for start, end in pairwise(starts):
        shift = float(windows[start]) * LOG_LEVEL_STEP
        masses = np.exp(logs[start:end] - shift)
        masses[0] += math.exp(before - shift)
        np.log(np.cumsum(masses), out=sums[start:end])
        sums[start:end] += shift
        before = float(sums[end - 1])
    return np.maximum.accumulate(sums)


def bracket(f: Line, g: Line, band: float) -> tuple[float, float]:
    """Widths that enclose the infinity-Wasserstein distance; equal unless a tie of masses decides."""
    return _widths(f, g, Tails.of(f, g).cuts(band))


def _widths(f: Line, g: Line, found: Cuts) -> tuple[float, float]:
    ends = max(abs(float(f.x[0] - g.x[0])), abs(float(f.x[-1] - g.x[-1])))

    def width(right: IndexArray, left: IndexArray) -> float:
        moves = g.x[right] - f.x[:-1], f.x[1:] - g.x[left]
        return max(ends, *(float(np.max(move, initial=0.0)) for move in moves))

    fewest, most = found
    return width(fewest, most), width(most, fewest)


def least_width(f: Line, g: Line, slack: Slack) -> float:
    """The least width within which each law, up to the tolerance, can be moved into the other."""
    tails = Tails.of(f, g)
    wide = tails.cuts(CLEAR * slack.band)
    low, high = _widths(f, g, wide)
    # equal masses rank by rank make moving each atom to its rank a plan that is possible
    one_by_one = _one_by_one(f, g) if low < high else math.inf
    if low == high or one_by_one <= low or settled(f, g, slack, tails, wide):
        return low
    low, high = _widths(f, g, tails.cuts(slack.band))
    high = max(low, min(high, one_by_one))
    return both_ways(f, g, low, high, slack.factor, 0.0)


def _one_by_one(f: Line, g: Line) -> float:
    """The farthest move if each atom goes to the one of the same rank, provided that the masses agree."""
    same = len(f.x) == len(g.x) and float(np.max(np.abs(f.logs - g.logs))) <= MASS_TOLERANCE
    return float(np.max(np.abs(f.x - g.x))) if same else math.inf


CLEAR = 4.0
"""Tails that differ by more than so many bands keep their order when masses between two ties are compared."""


def settled(f: Line, g: Line, slack: Slack, tails: Tails, found: Cuts) -> bool:
    """Whether the lower end of the bracket is surely enough: all ties may count as exact at once.

    Ties cut both laws into stretches. If each stretch has the same mass in both, but for the tolerance, and all other
    tails differ clearly, the quantiles within the stretches move nothing further than the lower end of the bracket.
    """
    if min(float(np.min(f.logs)), float(np.min(g.logs))) < -LOG_LEVEL_STEP / 2:
        return False
    fewest, most = found
    ties = np.flatnonzero(most > fewest)
    k = most[ties]
    if bool(np.any(k - fewest[ties] > 1)) or bool(np.any(np.diff(k) <= 0)):
        return False
    if bool(np.any(tails.gaps(ties + 1, k) > slack.band)):
        return False
    first = np.add.reduceat(np.exp(f.logs), np.append(0, ties + 1))
    second = np.add.reduceat(np.exp(g.logs), np.append(0, k))
    return bool(np.all(np.abs(np.log(first / second)) <= -math.log(slack.factor)))


def least_close_width(f: Line, g: Line, slack: Slack, delta: float) -> float:
    """The least width within which all but `delta` of each law can be moved into the other."""
    high = bracket(f, g, slack.band)[1]
    allowance = slack.allowance(delta)
    back_f, back_g = (Line(x=-law.x[::-1], logs=law.logs[::-1]) for law in (f, g))
    pairs = ((f, g), (g, f), (back_f, back_g), (back_g, back_f))
    low = max(_tails_but(source, target, slack.band, allowance) for source, target in pairs)
    return both_ways(f, g, min(low, high), high, slack.factor, allowance)


def _tails_but(source: Line, target: Line, band: float, allowance: float) -> float:
    """The least distance to the right that all but an allowance of each lower tail must move."""
    need = np.exp(source.below - 2 * band) - allowance
    some = np.flatnonzero(need > 0)
    j = np.searchsorted(np.exp(target.below), need[some])
    inside = j < len(target.x)
    return float(np.max(target.x[j[inside]] - source.x[some[inside]], initial=0.0))


def both_ways(f: Line, g: Line, low: float, high: float, factor: float, allowance: float) -> float:
    """The least width between `low` and `high` that is enough from `f` to `g` and from `g` to `f`."""
    for source, target in ((f, g), (g, f)):
        if low < high:
            low = search(_greedy(source, target, factor, allowance), low, high)
    return low


def search(test: Test, low: float, high: float) -> float:
    """The least width that passes a test, between `low` and `high`; `high` is known to pass."""
    passed, value = test(low)
    if passed:
        return low
    # a failed test gives a width below which none is enough: the search goes on from there
    low, turn = value, 0
    while low < high:
        turn += 1
        # the lower end itself every third time: it is often the answer, and ends the search
        width = low if turn % 3 == 0 else _between(low, high)
        passed, value = test(width)
        low, high = (low, max(low, value)) if passed else (value, high)
    return high


def _between(low: float, high: float) -> float:
    middle = math.sqrt(low) * math.sqrt(high) if 0 < 4 * low < high else low + (high - low) / 2
    return middle if low <= middle < high else low


def _greedy(source: Line, target: Line, factor: float, allowance: float) -> Test:
    demand = _levelled(source.x, source.logs + math.log(factor))
    supply = _levelled(target.x, target.logs)
    return lambda width: _fits(demand, supply, width, allowance)


Levelled = tuple[list[float], list[float], list[float]]
"""Positions, masses and levels: the true mass is mass * exp(LOG_LEVEL_STEP * level)."""


def _levelled(x: FloatArray, logs: FloatArray) -> Levelled:
    levels = np.ceil(np.minimum(logs, 0.0) / LOG_LEVEL_STEP)
    return x.tolist(), np.exp(logs - levels * LOG_LEVEL_STEP).tolist(), levels.tolist()


def _fits(demand: Levelled, supply: Levelled, width: float, allowance: float) -> tuple[bool, float]:
    """Serve the demands from the left, each from the leftmost supply in reach, and add up what is left over.

    Returns
    -------
    (True, distance)
        No more than `allowance` is left over; nothing was moved further than `distance`.
    (False, distance)
        More is left over, and so it is for every width below `distance`.
    """
    ys, rooms, levels = supply
    j, last = 0, len(ys)
    room, level = rooms[0], levels[0]
    lost, moved, left, more = 0.0, 0.0, math.inf, math.inf
    # leftmost first is optimal on the line: what is passed over now is out of reach for every later demand
    for x, need, scale in zip(*demand, strict=True):
        while j < last:
            gap = ys[j] - x
            if gap > width:
                break
            if gap < -width:
                left = -gap
            elif room:
                moved = max(moved, gap, -gap)
                if scale != level:
                    # two masses expressed at the higher of their levels; two levels down a mass counts as nothing
                    ratio = math.exp(-LOG_LEVEL_STEP) if abs(scale - level) == 1 else 0.0
                    need, room, scale = (need, room * ratio, scale) if scale > level else (need * ratio, room, level)
                    level = scale
                if need <= room:
                    room -= need
                    need = 0.0
                    break
                need -= room
            j += 1
            if j < last:
                room, level = rooms[j], levels[j]
        if need:
            lost += need * math.exp(scale * LOG_LEVEL_STEP)
            more = min(more, left, ys[j] - x if j < last else math.inf)
            if not allowance or lost > allowance:
                return False, more
    return True, moved
