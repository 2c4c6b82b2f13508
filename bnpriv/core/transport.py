"""How far mass must move to turn one law into another: the infinity-Wasserstein distance, and (W, delta)-closeness."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property, reduce
from itertools import pairwise, product
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from bnpriv import checks
from bnpriv.bound import UNIT_ROUNDOFF, Bound, FloatArray, down, up
from bnpriv.core.distributions import Atoms, ExactLaw, Normal
from bnpriv.errors import LawError, ParameterError, SizeError
from bnpriv.text import rough_text

# --------------------------------------------------------------------------------------------------
# Transport on the line, and the mass differences that rounding may cause.
# --------------------------------------------------------------------------------------------------

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
    >>> from bnpriv.core.transport import tolerance
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


# --------------------------------------------------------------------------------------------------
# Maximum flow from demands to supplies by blocking flows on layers (Dinic), with sets of atoms as bits.
# --------------------------------------------------------------------------------------------------

DUST = 1e-15
"""The remainder of a demand or supply counts as nothing below this share of it."""

ROUNDS = 16
"""The most times that rounding is cleaned up before a flow is given up."""


@dataclass(kw_only=True, eq=False)
class Flow:
    """A flow from supplies to demands; it grows while more pairs come within reach.

    Parameters
    ----------
    need : ndarray of shape (K,)
        The demands.
    room : ndarray of shape (L,)
        The supplies.
    amounts : list of dict from int to float
        For every supply what it gives to each demand.
    """

    need: FloatArray
    room: FloatArray
    amounts: list[dict[int, float]]
    _wants: list[float] = field(init=False)
    _spare: list[float] = field(init=False)
    _givers: list[int] = field(init=False)

    def __post_init__(self) -> None:
        self._settle()

    @classmethod
    def empty(cls, need: FloatArray, room: FloatArray) -> Flow:
        """The empty flow."""
        return cls(need=need, room=room, amounts=[{} for _ in room])

    def copy(self) -> Flow:
        """An independent copy."""
        return Flow(need=self.need, room=self.room, amounts=[dict(given) for given in self.amounts])

    def reversed(self, empty: Flow, factor: float) -> Flow:
        """The flow times `factor` with the two sides exchanged, for the demands and supplies of `empty`."""
        amounts: list[dict[int, float]] = [{} for _ in empty.room]
        for j, given in enumerate(self.amounts):
            for i, amount in given.items():
                amounts[i][j] = amount * factor
        return Flow(need=empty.need, room=empty.room, amounts=amounts)

    def pairs(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """The demands and the supplies of all pairs with a positive flow."""
        found = [(i, j) for j, given in enumerate(self.amounts) for i in given]
        both = np.array(found, dtype=np.intp).reshape(-1, 2)
        return both[:, 0], both[:, 1]

    def served(self) -> tuple[FloatArray, FloatArray]:
        """What each demand gets and each supply gives, summed anew."""
        got = [0.0] * len(self.need)
        for row in self.amounts:
            for i, amount in row.items():
                got[i] += amount
        return np.array(got), np.array([sum(row.values()) for row in self.amounts], dtype=np.float64)

    def fill(self, reach: list[int], allowance: float) -> tuple[int, int] | None:
        """Send as much as `reach` permits: for every demand the supplies in reach, as bits.

        Returns
        -------
        None
            If at most `allowance` of the demands is left over.
        (demands, supplies)
            Otherwise a cut, as bits: demands that reach these supplies only, and ask for more than they have; empty
            if rounding hides which it is.
        """
        # sums of many amounts drift by rounding: they are added anew, and the flow goes on if that matters
        for _ in range(ROUNDS):
            cut = self._saturate(reach, allowance)
            got, given = self.served()
            over = given - self.room > FLOW * self.room
            left = float(np.sum(np.maximum(self.need - got, 0.0), where=self.need - got > FLOW * self.need))
            if not np.any(over) and (cut is not None or left <= allowance):
                return cut
            self._settle()
        # given up: an empty cut never proves that a width is too small
        return 0, 0

    def _settle(self) -> None:
        """Recompute open demands and supplies from the amounts, without accumulated rounding."""
        for j in np.flatnonzero(self.served()[1] > self.room).tolist():
            shrink = float(self.room[j]) / sum(self.amounts[j].values()) * (1 - DUST)
            self.amounts[j] = {i: amount * shrink for i, amount in self.amounts[j].items()}
        got, given = self.served()
        self._wants = np.where(self.need - got > DUST * self.need, self.need - got, 0.0).tolist()
        self._spare = np.where(self.room - given > DUST * self.room, self.room - given, 0.0).tolist()
        self._givers = [sum(1 << i for i in row) for row in self.amounts]

    def _saturate(self, reach: list[int], allowance: float) -> tuple[int, int] | None:
        while True:
            sources = _bits([want > 0 for want in self._wants])
            if not sources or (allowance and sum(self._wants) <= allowance):
                return None
            free = _bits([spare > 0 for spare in self._spare])
            layers, cut = self._layers(reach, sources, free)
            if cut is not None:
                return cut
            for source in _members(sources):
                while self._wants[source] > 0 and self._send(reach, layers, source):
                    pass

    def _layers(
        self, reach: list[int], sources: int, free: int
    ) -> tuple[list[tuple[int, int]], tuple[int, int] | None]:
        """Layers of paths from open demands, along pairs in reach and back along flow, to a spare supply."""
        layers: list[tuple[int, int]] = []
        demands, supplies, front = sources, 0, sources
        while front:
            new = 0
            for i in _members(front):
                new |= reach[i]
            new &= ~supplies
            if new & free:
                return [*layers, (front, new & free)], None
            layers.append((front, new))
            supplies |= new
            back = 0
            for j in _members(new):
                back |= self._givers[j]
            front = back & ~demands
            demands |= front
        return layers, (demands, supplies)

    def _send(self, reach: list[int], layers: list[tuple[int, int]], source: int) -> bool:
        """Send along one path through the layers; nodes that lead nowhere are removed from them."""
        depth, path = 0, [source]
        while path:
            demands, supplies = layers[depth]
            i = path[-1]
            ahead = reach[i] & supplies
            if not ahead:
                layers[depth] = demands & ~(1 << i), supplies
                path = path[:-2]
                depth -= 1
                continue
            j = _lowest(ahead)
            if depth == len(layers) - 1:
                self._push([*path, j])
                if not self._spare[j]:
                    layers[depth] = demands, supplies & ~(1 << j)
                return True
            back = self._givers[j] & layers[depth + 1][0]
            if not back:
                layers[depth] = demands, supplies & ~(1 << j)
                continue
            path += [j, _lowest(back)]
            depth += 1
        return False

    def _push(self, path: list[int]) -> None:
        """Send what fits along a path: every next demand gives up what the one before it gets."""
        returns = list(zip(path[1:-1:2], path[2::2], strict=True))
        amount = min(self._wants[path[0]], self._spare[path[-1]], *(self.amounts[j][i] for j, i in returns))
        for i, j in zip(path[::2], path[1::2], strict=True):
            self.amounts[j][i] = self.amounts[j].get(i, 0.0) + amount
            self._givers[j] |= 1 << i
        for j, i in returns:
            self.amounts[j][i] -= amount
            if self.amounts[j][i] <= 0:
                del self.amounts[j][i]
                self._givers[j] &= ~(1 << i)
        self._wants[path[0]] = _rest(self._wants[path[0]], amount, float(self.need[path[0]]))
        self._spare[path[-1]] = _rest(self._spare[path[-1]], amount, float(self.room[path[-1]]))


def _rest(value: float, amount: float, whole: float) -> float:
    return value - amount if value - amount > DUST * whole else 0.0


def _lowest(bits: int) -> int:
    return (bits & -bits).bit_length() - 1


def _members(bits: int) -> list[int]:
    found: list[int] = []
    while bits:
        low = bits & -bits
        found.append(low.bit_length() - 1)
        bits ^= low
    return found


def _bits(flags: list[bool]) -> int:
    return int("".join("1" if flag else "0" for flag in reversed(flags)), 2)


def reach_bits(near: NDArray[np.bool_]) -> list[int]:
    """The rows of a Boolean matrix as bits of integers, column 0 lowest."""
    packed = np.packbits(near, axis=1, bitorder="little")
    return [int.from_bytes(row.tobytes(), "little") for row in packed]


def flags(bits: int, size: int) -> NDArray[np.bool_]:
    """A set given as bits of an integer, as an array of `size` flags."""
    raw = np.frombuffer(bits.to_bytes(-(-size // 8), "little"), dtype=np.uint8)
    return np.unpackbits(raw, count=size, bitorder="little").astype(np.bool_)


# --------------------------------------------------------------------------------------------------
# Bottleneck transport in space: a search over the sorted distances, between cheap bounds.
# --------------------------------------------------------------------------------------------------

MOST_DISTANCES = 2**24
"""The largest matrix of distances that is allocated: 128 MiB."""

SHIFT = 690.0
"""Masses in a flow are multiplied by e^690, near the largest double, so that those down to 1e-600 count."""

LEAST_LOG_MASS = -1390.0
"""Log of the least mass in a flow: smaller ones are raised to it as demands, and may be lost as supplies."""

DISTANCE_ULPS = 16
"""Units in the last place by which a rounded distance is widened."""

MOST_SIGNS = 6
"""Diagonal projections are used in up to this many dimensions: there are 2^(d-1) of them."""


def check_pairs(f: Atoms, g: Atoms) -> None:
    """Refuse two laws in space with too many pairs of atoms; laws on a line are never too large.

    Raises
    ------
    SizeError
        If there are too many pairs of atoms.
    """
    if f.dimension > 1 and f.size * g.size > MOST_DISTANCES:
        raise SizeError(
            f"two distributions in space may have at most {rough_text(MOST_DISTANCES)} pairs of atoms",
            found=rough_text(f.size * g.size),
            remedy="Round the answer to a coarser grid, or merge atoms.",
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class Space:
    """Two laws in space, with all distances between their atoms.

    Parameters
    ----------
    f, g : Atoms
        The laws.
    distances : ndarray of shape (f.size, g.size)
        Between the atoms of the two.
    low, high : float
        The infinity-Wasserstein distance lies between them.
    slack : Slack
        Tolerance for masses.
    rounding : int
        Units in the last place by which a distance is widened.
    """

    f: Atoms
    g: Atoms
    distances: FloatArray
    low: float
    high: float
    slack: Slack
    rounding: int

    @classmethod
    def of(cls, f: Atoms, g: Atoms, norm: float) -> Space:
        """Compute the distances of two laws, and first bounds on the width.

        Raises
        ------
        SizeError
            If there are too many pairs of atoms.
        """
        check_pairs(f, g)
        allowed = slack(f, g)
        distances = lengths((a[:, None] - b[None, :] for a, b in zip(f.points.T, g.points.T, strict=True)), norm)
        low, high = projected(f, g, norm, allowed.band)
        # every atom must move at least to its nearest partner
        nearest = max(float(np.max(np.min(distances, axis=axis))) for axis in (0, 1))
        top = float(np.max(distances))
        low, high = min(max(low, nearest), top), min(high, top)
        rounding = 0 if norm != 2 and (f.whole and g.whole) else DISTANCE_ULPS
        return cls(f=f, g=g, distances=distances, low=low, high=high, slack=allowed, rounding=rounding)

    @property
    def deep(self) -> bool:
        """Whether some masses are too small to be seen as supplies."""
        return min(float(np.min(law.logs)) for law in (self.f, self.g)) < LEAST_LOG_MASS

    def least_width(self, delta: float) -> Bound:
        """The least width within which all but `delta` of each law can be moved into the other."""
        allowance = self.slack.allowance(delta) * math.exp(SHIFT)
        low = self._nearest(delta) if delta else self.low
        width, sure, flow = _search(self.distances, _flow(self.f, self.g, self.slack), low, self.high, allowance)
        start = flow.reversed(_flow(self.g, self.f, self.slack), self.slack.factor)
        width, also_sure, _ = _search(self.distances.T, start, width, self.high, allowance)
        # raising demands and losing supplies only lengthens the way, so that the width stays an upper bound
        if self.deep or not (sure and also_sure):
            return Bound(down(low, self.rounding), up(width, self.rounding), "certified")
        return Bound(down(width, self.rounding), up(width, self.rounding))

    def _nearest(self, delta: float) -> float:
        """The least width at which at most `delta` has nothing in reach."""
        widths = [0.0]
        for law, axis in ((self.f, 1), (self.g, 0)):
            nearest = np.min(self.distances, axis=axis)
            order = np.argsort(-nearest)
            beyond = np.cumsum(law.probabilities[order]) * self.slack.factor
            spared = int(np.count_nonzero(beyond <= self.slack.allowance(delta)))
            widths += [float(nearest[order[spared]])] if spared < law.size else []
        return min(max(widths), self.high)


def _flow(source: Atoms, target: Atoms, slack: Slack) -> Flow:
    need = np.exp(np.maximum(source.logs, LEAST_LOG_MASS) + math.log(slack.factor) + SHIFT)
    return Flow.empty(need, np.exp(target.logs + SHIFT))


def _search(distances: FloatArray, flow: Flow, low: float, high: float, allowance: float) -> tuple[float, bool, Flow]:
    """Search the distances from `low` to `high`, which passes; the flow within a smaller width is kept.

    Found are the least width that passes, whether all smaller ones were seen to fail, and a flow within it.
    """
    cut = flow.fill(reach_bits(distances <= low), allowance)
    if cut is None or low >= high:
        return low, True, flow
    opens = _opening(distances, flow, cut, allowance)
    low, sure, best = opens or math.nextafter(low, high), opens is not None, None
    widths = np.unique(np.append(distances[(distances >= low) & (distances < high)], high))
    first, last = 0, len(widths) - 1
    while first < last:
        trial = (first + last) // 2
        attempt = flow.copy()
        cut = attempt.fill(reach_bits(distances <= widths[trial]), allowance)
        if cut is None:
            best = attempt
            # pairs farther apart than those in use are not needed
            last = max(first, int(np.searchsorted(widths, np.max(distances[attempt.pairs()], initial=0.0))))
        else:
            flow = attempt
            opens = _opening(distances, attempt, cut, allowance)
            sure = sure and opens is not None
            first = min(last, max(trial + 1, int(np.searchsorted(widths, opens or 0.0))))
    return float(widths[last]), sure, best or flow


def _opening(distances: FloatArray, flow: Flow, cut: tuple[int, int], allowance: float) -> float | None:
    """The width at which a cut opens, or None if rounding may have made the cut."""
    demands, supplies = (flags(bits, size) for bits, size in zip(cut, distances.shape, strict=True))
    asked, there = float(np.sum(flow.need[demands])), float(np.sum(flow.room[supplies]))
    # by weak duality a cut proves that the width is too small, but only by more than the rounding of its two sums
    if not asked * (1 - UNIT_ROUNDOFF * (len(demands) + len(supplies))) > there + allowance:
        return None
    return float(np.min(distances[np.ix_(demands, ~supplies)], initial=math.inf))


def lengths(steps: Iterable[FloatArray], norm: float) -> FloatArray:
    """The norms of vectors that are given by their coordinates, one array each; a few units of rounding."""
    sizes = (np.abs(step) for step in steps)
    if norm == 1:
        return reduce(np.add, sizes)
    return reduce(np.hypot if norm == 2 else np.maximum, sizes)


def projected(f: Atoms, g: Atoms, norm: float, band: float) -> tuple[float, float]:
    """Bounds on the distance by projections that lengthen no vector: from below on the line, above by couplings."""
    size = max(float(np.max(np.abs(law.points))) for law in (f, g))
    low, high = 0.0, math.inf
    for direction in _directions(f.dimension, norm):
        x, y = f.points @ direction, g.points @ direction
        left, right = np.argsort(x, kind="stable"), np.argsort(y, kind="stable")
        line_f, line_g = Line(x=x[left], logs=f.logs[left]), Line(x=y[right], logs=g.logs[right])
        # Rounding of the projections, d products and sums each; the entries of a direction are at most 1.
        rounding = 8 * f.dimension * UNIT_ROUNDOFF * size * f.dimension
        low = max(low, bracket(line_f, line_g, band)[0] - rounding)
        high = min(high, _coupled(f.points[left], g.points[right], Tails.of(line_f, line_g).cuts(band), norm))
    return low, max(low, high)


def _coupled(x: FloatArray, y: FloatArray, found: Cuts, norm: float) -> float:
    """The farthest move if atoms are coupled in the order given."""
    fewest, most = found
    first = np.concatenate([[0], fewest])
    count = np.concatenate([most, [len(y) - 1]]) - first + 1
    if int(np.sum(count)) > 4 * (len(x) + len(y)):  # many atoms tied: take the box around all
        both = np.concatenate([x, y])
        return float(lengths(list(np.ptp(both, axis=0)[:, None]), norm)[0])
    i = np.repeat(np.arange(len(x)), count)
    j = np.arange(len(i)) + np.repeat(first - np.cumsum(count) + count, count)
    return float(np.max(lengths((x[i] - y[j]).T, norm)))


def _directions(d: int, norm: float) -> list[FloatArray]:
    """Vectors v with |<v, x>| at most the norm of x: the axes, and in few dimensions all diagonals."""
    axes = list(np.eye(d))
    if d > MOST_SIGNS:
        return axes
    size = 1.0 if norm == 1 else math.sqrt(d) if norm == 2 else float(d)
    signs = (np.array([1.0, *rest]) for rest in product((1.0, -1.0), repeat=d - 1))
    return axes + [sign / size for sign in signs]


# --------------------------------------------------------------------------------------------------
# The infinity-Wasserstein distance of two laws, and cheap bounds on it.
# --------------------------------------------------------------------------------------------------


def w_infinity(f: ExactLaw, g: ExactLaw, norm: float = 1) -> Bound:
    """The infinity-Wasserstein distance: the least W such that no mass need move by more than W.

    It is the least W for which all of `f` but a part of `tolerance(f, g)` can be moved inside `g` by at most W, and the
    other way round. Every atom counts, however small its mass; rounding of masses does not.

    Parameters
    ----------
    f, g : Atoms or Normal
        Two laws of one kind and dimension.
    norm : {1, 2, math.inf}
        Measures how far a vector moves: 1 for Laplace noise, 2 for Gaussian noise.

    Returns
    -------
    Bound
        In the unit of the atoms. `upper` holds for the true laws with the tolerance of `tolerance`, `lower` without
        one. Infinite for normal laws whose covariances differ.

    Raises
    ------
    LawError
        If the laws are not of one kind and dimension.
    SizeError
        If two laws in space have too many pairs of atoms.

    Notes
    -----
    docs/claims/transport.md. Song, Wang, Chaudhuri, "Pufferfish Privacy Mechanisms for Correlated Data" (SIGMOD 2017),
    definition 3.1.

    Examples
    --------
    >>> from bnpriv.laws import Atoms
    >>> from bnpriv.core.transport import w_infinity
    >>> w_infinity(Atoms([1, 2, 100], [0.6, 0.2, 0.2]), Atoms([1, 2, 3, 100], [0.4, 0.3, 0.2, 0.1]))
    Bound(lower=97.0, upper=97.0, kind='exact')
    """
    check_laws(f, g, norm)
    if isinstance(f, Normal) or isinstance(g, Normal):
        return _of_normals(f, g, norm)
    if f.dimension > 1:
        return Space.of(f, g, norm).least_width(0.0)
    return distance_bound(least_width(on_line(f), on_line(g), slack(f, g)), f, g)


def w_infinity_bounds(f: ExactLaw, g: ExactLaw, norm: float = 1) -> Bound:
    """Cheap bounds on `w_infinity`: a pair whose upper bound is below another's lower one need not be solved.

    Parameters
    ----------
    f, g : Atoms or Normal
        Two laws of one kind and dimension.
    norm : {1, 2, math.inf}
        Measures how far a vector moves.

    Returns
    -------
    Bound
        From the quantiles on the line, usually tight; in space from projections, with quantile couplings above. The
        cost is that of sorting.

    Raises
    ------
    LawError
        If the laws are not of one kind and dimension.

    Examples
    --------
    >>> from bnpriv.laws import Atoms
    >>> from bnpriv.core.transport import w_infinity_bounds
    >>> w_infinity_bounds(Atoms([0, 1], [0.5, 0.5]), Atoms([0, 5], [0.4, 0.6])).lower
    5.0
    """
    check_laws(f, g, norm)
    if isinstance(f, Normal) or isinstance(g, Normal):
        return _of_normals(f, g, norm)
    if f.dimension > 1:
        low, high = projected(f, g, norm, slack(f, g).band)
        return Bound(low, up(high, DISTANCE_ULPS), "certified")
    ends = bracket(on_line(f), on_line(g), slack(f, g).band)
    bounds = [distance_bound(end, f, g) for end in ends]
    return Bound(bounds[0].lower, bounds[1].upper, "exact" if ends[0] == ends[1] else "certified")


def check_laws(f: ExactLaw, g: ExactLaw, norm: float) -> None:
    """Refuse laws that cannot be compared, and norms other than 1, 2 and infinity."""
    if norm not in (1, 2, math.inf):
        raise ParameterError("norm must be 1, 2 or math.inf", found=repr(norm), remedy="Pass 1 for Laplace noise.")
    if isinstance(f, Normal) != isinstance(g, Normal) or f.dimension != g.dimension:
        raise LawError(
            "the two distributions must be of one kind and dimension",
            found=f"{type(f).__name__} in dimension {f.dimension}, {type(g).__name__} in dimension {g.dimension}",
            remedy="Compare distributions of one query's answer.",
        )


_LINES: WeakKeyDictionary[Atoms, Line] = WeakKeyDictionary()


def on_line(law: Atoms) -> Line:
    """A law of dimension 1 as its positions and log masses, kept as long as the law is."""
    if law not in _LINES:
        _LINES[law] = Line(x=law.support, logs=law.logs)
    return _LINES[law]


def distance_bound(width: float, f: Atoms, g: Atoms) -> Bound:
    """A difference of two positions with its rounding, which integers do not have."""
    return Bound(width, width) if f.whole and g.whole else Bound(down(width, 1), up(width, 1))


def length(vector: FloatArray, norm: float) -> Bound:
    """The norm of a vector with its rounding."""
    sizes = [abs(float(entry)) for entry in vector]
    value = math.fsum(sizes) if norm == 1 else math.hypot(*sizes) if norm == 2 else max(sizes)
    return Bound(down(value), up(value))


def _of_normals(f: ExactLaw, g: ExactLaw, norm: float) -> Bound:
    """The distance of normal laws: that of the means for equal covariances, else infinite."""
    assert isinstance(f, Normal)
    assert isinstance(g, Normal)
    return length(g.mean - f.mean, norm) if np.array_equal(f.covariance, g.covariance) else Bound(math.inf, math.inf)


# --------------------------------------------------------------------------------------------------
# Closeness with delta: all but delta of the mass moves at most W.
# --------------------------------------------------------------------------------------------------

QUANTILE = 1e-12
"""Relative margin on normal quantiles and eigenvalues, far above the error of their computation."""


def closeness(f: ExactLaw, g: ExactLaw, delta: float, norm: float = 1) -> Bound:
    """The least W for which two laws are (W, delta)-close: all but `delta` of the mass moves at most W.

    Parameters
    ----------
    f, g : Atoms or Normal
        Two laws of one kind and dimension.
    delta : float
        At least 0, below 1; 0 gives `w_infinity`. The laws' tolerance comes on top, see `tolerance`.
    norm : {1, 2, math.inf}
        Measures how far a vector moves.

    Returns
    -------
    Bound
        In the unit of the atoms; "certified" rather than "exact" for most normal laws.

    Raises
    ------
    LawError
        If the laws are not of one kind and dimension.
    ParameterError
        If delta is out of range.
    SizeError
        If two laws in space have too many pairs of atoms.

    Notes
    -----
    docs/claims/transport.md. Chen, Ohrimenko, "Protecting Global Properties of Datasets with Distribution Privacy
    Mechanisms" (AISTATS 2023), definition 3.2.

    Examples
    --------
    >>> from bnpriv.laws import Atoms
    >>> from bnpriv.core.transport import closeness
    >>> closeness(Atoms([1, 2, 100], [0.6, 0.2, 0.2]), Atoms([1, 2, 3, 100], [0.4, 0.3, 0.2, 0.1]), 0.1)
    Bound(lower=1.0, upper=1.0, kind='exact')
    """
    delta = checks.delta(delta)
    if not delta:
        return w_infinity(f, g, norm)
    check_laws(f, g, norm)
    if isinstance(f, Normal) or isinstance(g, Normal):
        return _closeness_of_normals(f, g, delta, norm)
    if f.dimension > 1:
        return Space.of(f, g, norm).least_width(delta)
    return distance_bound(least_close_width(on_line(f), on_line(g), slack(f, g), delta), f, g)


def bounded_closeness(f: ExactLaw, g: ExactLaw, delta: float, norm: float = 1) -> Bound:
    """A W for which two laws are (W, delta)-close, from how concentrated each is about its mean.

    If each law is within c of its mean except with probability delta / 2, then W is the distance of the means plus 2 c,
    or here plus the sum of the two laws' own c.

    Parameters
    ----------
    f, g : Atoms or Normal
        Two laws of one dimension.
    delta : float
        Above 0, below 1.
    norm : {1, 2, math.inf}
        Measures how far a vector moves.

    Returns
    -------
    Bound
        "certified": `upper` is such a W, not the least.

    Raises
    ------
    LawError
        If the laws are not of one kind and dimension.
    ParameterError
        If delta is out of range.

    Notes
    -----
    docs/claims/transport.md. Chen, Ohrimenko (AISTATS 2023), theorem 3.3.

    Examples
    --------
    >>> from bnpriv.laws import ExactLaw, Normal
    >>> from bnpriv.core.transport import bounded_closeness
    >>> round(float(bounded_closeness(Normal(0, 1), Normal(3, 4), 0.001)), 3)
    13.442
    """
    delta = checks.delta(delta)
    check_laws(f, g, norm)
    if not delta:
        raise ParameterError("bounded closeness needs delta above 0", found="0", remedy="Use w_infinity.")
    gap = float(length(g.mean - f.mean, norm))
    return Bound(0.0, up(gap + _radius(f, delta / 2, norm) + _radius(g, delta / 2, norm)), "certified")


def _radius(law: ExactLaw, delta: float, norm: float) -> float:
    """The radius about its mean that a law leaves with probability at most `delta`, rounded up."""
    if isinstance(law, Normal):
        # the smaller of two radii: from the coordinates one by one, and from the largest eigenvalue
        from scipy.special import chdtri, ndtri

        d = law.dimension
        deviations = np.sqrt(np.diag(law.covariance))
        # a union bound over the d coordinates: each gets delta / d, half of it on either side
        each = float(length(deviations, norm)) * -float(ndtri(delta / (2 * d)))
        top = float(np.max(np.linalg.eigvalsh(law.covariance))) * (1 + d * QUANTILE)
        ball = math.sqrt(max(top, 0.0) * float(chdtri(d, delta))) * (math.sqrt(d) if norm == 1 else 1.0)
        return min(each, ball) * (1 + QUANTILE)
    distances = lengths((law.points - law.mean).T, norm)
    order = np.argsort(-distances)
    # rounded up, so that no tail is taken for smaller than it is
    beyond = np.cumsum(law.probabilities[order]) * (1 + 2 * slack(law, law).rounding)
    spared = int(np.count_nonzero(beyond <= delta))
    return up(float(distances[order[spared]]), 8) if spared < law.size else 0.0


def _closeness_of_normals(f: ExactLaw, g: ExactLaw, delta: float, norm: float) -> Bound:
    """The closeness of normal laws: the best of the gap of the means, part of it, and two radii."""
    assert isinstance(f, Normal)
    assert isinstance(g, Normal)
    gap = length(g.mean - f.mean, norm)
    bounded = bounded_closeness(f, g, delta, norm).upper
    if not np.array_equal(f.covariance, g.covariance):
        return Bound(0.0, min(bounded, _stretched(f, g, delta)), "certified")
    part = _part(f, g, delta)
    low, high = (min(1.0, max(0.0, part + error)) for error in (-QUANTILE, QUANTILE))
    if f.dimension == 1:
        return Bound(down(gap.lower * low), min(gap.upper, up(gap.upper * high)))
    return Bound(0.0, min(bounded, gap.upper, up(gap.upper * high)), "certified")


def _part(f: Normal, g: Normal, delta: float) -> float:
    """The part of the gap to be moved so that the rest is a total variation of delta; may be negative.

    On the line it is exact, otherwise too large, never too small.
    """
    from scipy.special import erfinv

    d = f.dimension
    values = np.linalg.eigvalsh(f.covariance)
    least = float(values[0]) - (d * QUANTILE * float(values[-1]) if d > 1 else 0.0)
    apart = float(length(g.mean - f.mean, 2))
    if not (least > 0 and apart > 0):
        return 1.0
    return 1 - 2 * math.sqrt(2) * float(erfinv(delta)) * math.sqrt(least) / apart


def _stretched(f: Normal, g: Normal, delta: float) -> float:
    """The distance moved, but for delta, when one normal law on the line is stretched into the other."""
    from scipy.special import ndtri

    if f.dimension > 1:
        return math.inf
    spread = abs(math.sqrt(float(f.covariance[0, 0])) - math.sqrt(float(g.covariance[0, 0])))
    # a difference of two roots is rounded relative to their size, which is added
    root = math.sqrt(max(float(f.covariance[0, 0]), float(g.covariance[0, 0])))
    reach = -float(ndtri(delta / 2)) * (spread + QUANTILE * root) * (1 + QUANTILE)
    return up(abs(float(g.mean[0] - f.mean[0])) + reach)
