"""Transport in space: bottleneck transport by maximum flows over sorted distances."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import reduce
from itertools import product

import numpy as np
from numpy.typing import NDArray

from bnpriv.bound import UNIT_ROUNDOFF, Bound, FloatArray, down, up
from bnpriv.core.distributions import Atoms
from bnpriv.core.transport.line import FLOW, Cuts, Line, Slack, Tails, bracket, slack
from bnpriv.errors import SizeError
from bnpriv.text import rough_text

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
