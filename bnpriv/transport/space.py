"""Transport in space: bottleneck transport by maximum flows over the sorted distances, between cheap bounds."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from itertools import product
from typing import final

import numpy as np

from bnpriv.bound import UNIT_ROUNDOFF, Bound, down, up
from bnpriv.errors import SizeError
from bnpriv.laws.atoms import Atoms
from bnpriv.laws.base import FloatArray
from bnpriv.render.text import rough_text
from bnpriv.transport.flow import Flow, flags, reach_bits
from bnpriv.transport.line import Cuts, Line, Tails, bracket
from bnpriv.transport.tolerance import Slack, slack, whole

MOST_DISTANCES = 2**24
"""Largest matrix of distances that is ever allocated: 128 MiB."""

SHIFT = 690.0
"""Masses in a flow are multiplied by e^690, near the upper end of doubles, so that those down to 1e-600 are seen."""

LEAST_LOG_MASS = -1390.0
"""Log of the least mass in a flow: smaller ones are raised to it as demands, and may be lost as supplies."""

DISTANCE_ULPS = 16
"""Units in the last place by which a rounded distance is widened."""

MOST_SIGNS = 6
"""Diagonal projections are taken in up to this many dimensions: there are 2^(d-1)."""


def check_pairs(f: Atoms, g: Atoms) -> None:
    """Refuse two laws in space whose distances are too many to be computed; laws on a line are never too large.

    Raises
    ------
    SizeError
        If there are too many pairs of atoms.
    """
    if f.dimension > 1 and f.size * g.size > MOST_DISTANCES:
        raise SizeError(
            f"two laws in space may have at most {rough_text(MOST_DISTANCES)} pairs of atoms",
            found=rough_text(f.size * g.size),
            remedy="Round the answer to a coarser grid, or merge atoms.",
        )


@final
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
        """Compute the distances and first bounds.

        Raises
        ------
        SizeError
            If there are too many pairs of atoms.
        """
        check_pairs(f, g)
        allowed = slack(f, g)
        distances = lengths((a[:, None] - b[None, :] for a, b in zip(f.points.T, g.points.T, strict=True)), norm)
        low, high = projected(f, g, norm, allowed.band)
        nearest = max(float(np.max(np.min(distances, axis=axis))) for axis in (0, 1))
        top = float(np.max(distances))
        low, high = min(max(low, nearest), top), min(high, top)
        rounding = 0 if norm != 2 and whole(f, g) else DISTANCE_ULPS
        return cls(f=f, g=g, distances=distances, low=low, high=high, slack=allowed, rounding=rounding)

    @property
    def deep(self) -> bool:
        """Return whether some masses are too small to be seen as supplies."""
        return min(float(np.min(law.logs)) for law in (self.f, self.g)) < LEAST_LOG_MASS

    def least_width(self, delta: float) -> Bound:
        """Return the least width within which all but `delta` of each law can be moved inside the other."""
        allowance = self.slack.allowance(delta) * math.exp(SHIFT)
        low = self._nearest(delta) if delta else self.low
        width, sure, flow = _search(self.distances, _flow(self.f, self.g, self.slack), low, self.high, allowance)
        start = flow.reversed(_flow(self.g, self.f, self.slack), self.slack.factor)
        width, also_sure, _ = _search(self.distances.T, start, width, self.high, allowance)
        if self.deep or not (sure and also_sure):
            return Bound(down(low, self.rounding), up(width, self.rounding), "certified")
        return Bound(down(width, self.rounding), up(width, self.rounding))

    def _nearest(self, delta: float) -> float:
        """Return the least width at which no more than `delta` has nothing in reach."""
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
    """Search the distances from `low` to `high`, which passes; what flowed within a smaller width is kept.

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
            last = max(first, int(np.searchsorted(widths, np.max(distances[attempt.pairs()], initial=0.0))))
        else:
            flow = attempt
            opens = _opening(distances, attempt, cut, allowance)
            sure = sure and opens is not None
            first = min(last, max(trial + 1, int(np.searchsorted(widths, opens or 0.0))))
    return float(widths[last]), sure, best or flow


def _opening(distances: FloatArray, flow: Flow, cut: tuple[int, int], allowance: float) -> float | None:
    """Return the width at which a cut opens, None if rounding may have made it."""
    demands, supplies = (flags(bits, size) for bits, size in zip(cut, distances.shape, strict=True))
    asked, there = float(np.sum(flow.need[demands])), float(np.sum(flow.room[supplies]))
    if not asked * (1 - UNIT_ROUNDOFF * (len(demands) + len(supplies))) > there + allowance:
        return None
    return float(np.min(distances[np.ix_(demands, ~supplies)], initial=math.inf))


def lengths(steps: Iterable[FloatArray], norm: float) -> FloatArray:
    """Return the norms of vectors given by their coordinates, one array each; a few units of rounding."""
    sizes = (np.abs(step) for step in steps)
    if norm == 1:
        return reduce(np.add, sizes)
    return reduce(np.hypot if norm == 2 else np.maximum, sizes)


def projected(f: Atoms, g: Atoms, norm: float, band: float) -> tuple[float, float]:
    """Bound the distance by projections that lengthen no vector: from below on the line, from above by couplings."""
    size = max(float(np.max(np.abs(law.points))) for law in (f, g))
    low, high = 0.0, math.inf
    for direction in _directions(f.dimension, norm):
        x, y = f.points @ direction, g.points @ direction
        left, right = np.argsort(x, kind="stable"), np.argsort(y, kind="stable")
        line_f, line_g = Line(x=x[left], logs=f.logs[left]), Line(x=y[right], logs=g.logs[right])
        # Rounding of the projections, d products and sums each; the entries of a direction are at most 1.
        rounding = 8 * f.dimension * UNIT_ROUNDOFF * size * f.dimension
        low = max(low, bracket(line_f, line_g, band)[0] - rounding)
        high = min(high, _coupled(f.points[left], g.points[right], Tails.of(line_f.logs, line_g.logs).cuts(band), norm))
    return low, max(low, high)


def _coupled(x: FloatArray, y: FloatArray, found: Cuts, norm: float) -> float:
    """Return the farthest that mass moves if atoms are coupled in the order given."""
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
    """Return vectors v with |<v, x>| at most the norm of x: the axes, and in few dimensions all diagonals."""
    axes = list(np.eye(d))
    if d > MOST_SIGNS:
        return axes
    size = 1.0 if norm == 1 else math.sqrt(d) if norm == 2 else float(d)
    signs = (np.array([1.0, *rest]) for rest in product((1.0, -1.0), repeat=d - 1))
    return axes + [sign / size for sign in signs]
