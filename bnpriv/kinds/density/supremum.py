"""The supremum of the log ratio of what is observed given two secrets, over the whole range."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from bnpriv.bound import FloatArray
from bnpriv.kinds.density.grid import Axis, QuadratureGrid, bare, listed, sided

# --------------------------------------------------------------------------------------------------
# Log densities of parameters that are seen together, given either secret of a pair.
# --------------------------------------------------------------------------------------------------

FACTOR = 1.4
"""Grids have so many times as many points at every level."""

SCAN_POINTS = {1: 49, 2: 25, 3: 13}
"""Points of every axis of a first scan by the number of axes; `FEWEST_SCAN_POINTS` for more."""

FEWEST_SCAN_POINTS = 7

MOST_SCANNED_CELLS = 2**21
"""Cells of a first scan, if `FEWEST_SCAN_POINTS` points allow it."""

BESIDE = 1e-3
"""Where to look beside the suprema of the level before, in the coordinate."""

Coordinates = tuple[float, ...]
"""Coordinates of a point of the observed parameters."""


@dataclass(frozen=True, kw_only=True)
class DensityPart:
    """Parameters that are seen together, at one level of a grid.

    Parameters
    ----------
    grid : QuadratureGrid
    names : tuple of str
    points : int
        Of every axis in integrals.
    depth : float
        How far down the axes reach.
    """

    grid: QuadratureGrid
    names: tuple[str, ...]
    points: int
    depth: float

    @cached_property
    def within(self) -> int:
        """Largest number of integration points per grid point of the observed parameters."""
        network, seen = self.grid.network, {self.grid.protected, *self.names}
        families = [{name, *network.graph.parents[name]} for name in network.graph.ancestral(seen)]
        hidden = [family - seen for family in families if family.intersection(self.names)]
        axes = (math.prod(self.grid.axis(n, self.points, self.depth).points for n in family) for family in hidden)
        return max(axes, default=1)

    @property
    def large(self) -> bool:
        """Whether few points can be looked at at once."""
        return self.within > MOST_SCANNED_CELLS / 16

    @property
    def continuous(self) -> tuple[int, ...]:
        """The positions of the parameters that are not of finitely many states."""
        return tuple(k for k, name in enumerate(self.names) if self.grid.parameter(name).states is None)

    def axes(self, places: Sequence[Coordinates] = ()) -> list[Axis]:
        """The points of a first scan: over the whole range, where draws are, and about `places`."""
        most = SCAN_POINTS.get(len(self.names), FEWEST_SCAN_POINTS)
        number = max(FEWEST_SCAN_POINTS, min(most, int((MOST_SCANNED_CELLS / self.within) ** (1 / len(self.names)))))
        axes = [self.grid.explored(name, number, self.depth) for name in self.names]
        for k in self.continuous:
            near = np.array([place[k] + step for place in places for step in (-BESIDE, 0.0, BESIDE)])
            axes[k] = self.around(k, np.concatenate((axes[k].coordinates, near)), axes[k])
        return axes

    def around(self, k: int, coordinates: FloatArray, axis: Axis) -> Axis:
        """Points of one parameter within an axis; of finitely many states the first one alone."""
        if k not in self.continuous:
            place = round(float(coordinates[0]))
            return listed(axis.values[place : place + 1], np.array([float(place)]))
        low, high = axis.coordinates[0], axis.coordinates[-1]
        return bare(self.grid.scale(self.names[k]), np.unique(np.clip(coordinates, low, high)))

    def at(self, place: Coordinates, axes: Sequence[Axis]) -> list[Axis]:
        """The axes of a single point."""
        return [self.around(k, np.array([t]), axes[k]) for k, t in enumerate(place)]

    def densities(self, axes: Sequence[Axis]) -> tuple[FloatArray, FloatArray]:
        """The log densities of the observed parameters given the first and the second secret."""
        grid, special = self.grid, dict(zip(self.names, axes, strict=True))
        joint = grid.joint((grid.protected, *self.names), self.points, self.depth, special)
        first, second = sided(joint, grid.sides(self.points))
        return first - self.tops[0], second - self.tops[1]

    @cached_property
    def tops(self) -> tuple[FloatArray, FloatArray]:
        """The log probabilities, or densities, of the secrets."""
        return sided(self.grid.prior(self.points, self.depth), self.grid.sides(self.points))

    def coarse(self, axes: Sequence[Axis]) -> float:
        """By how much the logs behind the densities change if integrals are cut less finely."""
        coarser = replace(self, points=max(3, round(self.points / FACTOR)))
        both = [*zip(self.densities(axes), coarser.densities(axes), strict=True)]
        both += zip(self.tops, coarser.tops, strict=True)
        with np.errstate(invalid="ignore"):
            return max(float(np.max(np.abs(fine - rough))) for fine, rough in both)


def log_ratios(densities: tuple[FloatArray, FloatArray], *, reverse: bool) -> FloatArray:
    """Return log ratios of densities; -inf where an observation is impossible under the secret that comes first."""
    first, second = densities
    above, below = (second, first) if reverse else (first, second)
    with np.errstate(invalid="ignore"):
        return np.where(np.isneginf(above), -np.inf, above - below)


# --------------------------------------------------------------------------------------------------
# The supremum of the log ratio of what is observed given two secrets: a grid over the whole range, then a search.
# --------------------------------------------------------------------------------------------------

WINDOWS = np.linspace(-1.0, 1.0, 9), np.linspace(-1.0, 1.0, 5)
"""Where a search looks around the best point, in steps, if tables are small, and if they are large."""

MOST_ROUNDS = 40

FLAT = 1e-9
"""A search ends when the points beside the best one are lower by no more than this."""

IDLE_ROUNDS = 8
"""A search ends when so many rounds in a row gain nothing, as where the best point is an edge."""

STUBBORN = 0.7
"""A gain that shrinks by no more than this factor from one doubling of a range to the next has no limit."""

GROWTH = 1e-4
"""The least gain that counts as growth."""

NEARER: FloatArray = 10.0 ** -np.arange(4.0, 13.0, 4.0)
"""Distances from the largest ratio, in the coordinate, at which a spike is told from a rounded maximum."""

SPIKE = 0.4
"""A gain from one such distance to the next that shrinks by no more than this factor has no limit."""


@dataclass(frozen=True, kw_only=True)
class Supremum:
    """The largest log ratio that was found at one level.

    Parameters
    ----------
    value : float
    growing : bool
        Whether the ratio grows on as a range widens.
    spike : bool
        Whether it grows on as the point is approached where the largest was found.
    rest : float
        What may lie beyond the range, if gains go on shrinking as they did.
    coarse : float
        By how much the logs of both densities at the largest ratio change if integrals are cut less finely.
    depth : float
        How far down the largest ratio is.
    places : tuple of tuple of float
        For every part of a frontier where the largest ratio is.
    """

    value: float
    growing: bool = False
    spike: bool = False
    rest: float = 0.0
    coarse: float = 0.0
    depth: float = 0.0
    places: tuple[Coordinates, ...] = ()

    @property
    def endless(self) -> bool:
        """Whether there is no largest ratio."""
        return self.growing or self.spike

    def __add__(self, other: Supremum) -> Supremum:
        return Supremum(
            value=math.inf if math.inf in (self.value, other.value) else self.value + other.value,
            growing=self.growing or other.growing,
            spike=self.spike or other.spike,
            rest=max(self.rest, other.rest),
            coarse=max(self.coarse, other.coarse),
            depth=max(self.depth, other.depth),
            places=(*self.places, *other.places),
        )


@dataclass(frozen=True, kw_only=True)
class GridScan:
    """A scan of the whole range of one part, in one direction of a pair.

    Parameters
    ----------
    part : Part
    axes : list of Axis
    ratios : ndarray
        The log ratios at the points of the axes.
    reverse : bool
        Whether the second secret comes first.
    """

    part: DensityPart
    axes: Sequence[Axis]
    ratios: FloatArray
    reverse: bool

    @property
    def best(self) -> tuple[int, ...]:
        """Where the largest ratio is."""
        return tuple(int(k) for k in np.unravel_index(int(np.argmax(self.ratios)), self.ratios.shape))

    @property
    def value(self) -> float:
        """The largest ratio."""
        return float(self.ratios[self.best])

    @property
    def slack(self) -> float:
        """Estimate how much more a search may find."""
        return 2 * drop(self.ratios, self.best) if math.isfinite(self.value) else 0.0

    def supremum(self, *, search: bool = True) -> Supremum:
        """The largest ratio near the largest ratio, searched for if that is asked."""
        place = tuple(float(axis.coordinates[k]) for axis, k in zip(self.axes, self.best, strict=True))
        value, growing = self.value, self.growing()
        if not math.isfinite(value):
            return Supremum(value=value, growing=value > 0, places=(place,))
        if not search or growing:
            return Supremum(value=value, growing=growing, places=(place,))
        value, place = self._search(place)
        depth = max((float(self._depth(k, np.array([place[k]]))[0]) for k in self.part.continuous), default=0.0)
        before, gain = self._gains(value) if depth > self.part.depth / 2 else (0.0, 0.0)
        return Supremum(
            value=value,
            growing=_grows(before, gain),
            spike=self._spike(place),
            rest=max(_beyond(before, gain), self._rest(place)),
            coarse=self.part.coarse(self.part.at(place, self.axes)),
            depth=depth,
            places=(place,),
        )

    def _depth(self, k: int, coordinates: FloatArray) -> FloatArray:
        return self.part.grid.depth_at(self.part.names[k], coordinates)

    def _at(self, axes: Sequence[Axis]) -> FloatArray:
        return log_ratios(self.part.densities(axes), reverse=self.reverse)

    def _search(self, start: Coordinates) -> tuple[float, Coordinates]:
        """The value at the largest ratio near a point, and where it is."""
        value, here, idle = self.value, list(start), 0
        steps = [self._first_step(k, t) for k, t in enumerate(here)]
        window = WINDOWS[self.part.large]
        for _ in range(MOST_ROUNDS):
            around = [
                self.part.around(k, t + step * window, self.axes[k])
                for k, (t, step) in enumerate(zip(here, steps, strict=True))
            ]
            ratios = self._at(around)
            best = tuple(int(k) for k in np.unravel_index(int(np.argmax(ratios)), ratios.shape))
            idle = 0 if ratios[best] > value else idle + 1
            value = max(value, float(ratios[best]))
            for k, axis in enumerate(around):
                far = abs(axis.coordinates[best[k]] - here[k]) >= 0.9 * steps[k]
                here[k] = float(axis.coordinates[best[k]])
                steps[k] *= 2.0 if far else window[1] - window[0]
            if not math.isfinite(value) or idle == IDLE_ROUNDS or drop(ratios, best) < FLAT:
                break
        return value, tuple(here)

    def _first_step(self, k: int, t: float) -> float:
        if k not in self.part.continuous:
            return 0.0
        known = self.axes[k].coordinates
        place = int(np.searchsorted(known, t))
        return float(np.min(np.diff(known[max(place - 1, 0) : place + 2])))

    def _spike(self, place: Coordinates) -> bool:
        """Whether the ratio grows on as the largest ratio is approached along one of the axes."""
        best = self.part.at(place, self.axes)
        for k in self.part.continuous:
            low, high = self.axes[k].coordinates[0], self.axes[k].coordinates[-1]
            t = np.clip([place[k] - NEARER, place[k] + NEARER], low, high).ravel()
            values = dict(zip(*self._along(k, t, best), strict=True))
            far, near, nearest = np.max([[values[x] for x in row] for row in t.reshape(2, -1)], axis=0)
            if np.isfinite(far) and nearest - near > max(GROWTH, SPIKE * (near - far)):
                return True
        return False

    def _along(self, k: int, t: FloatArray, best: Sequence[Axis]) -> tuple[list[float], list[float]]:
        """Return coordinates of one parameter, and the ratios there with the others fixed."""
        line = self.part.around(k, t, self.axes[k])
        ratios = self._at([*best[:k], line, *best[k + 1 :]])
        return line.coordinates.tolist(), ratios.ravel().tolist()

    def growing(self) -> bool:
        """Whether the ratio grows on beyond one of the ends of a range."""
        return any(_grows(*self._end_gains(k, upper=upper)) for k in self.part.continuous for upper in (False, True))

    def _rest(self, place: Coordinates) -> float:
        """What may lie beyond the ends that the largest ratio is near to."""
        most = 0.0
        for k in self.part.continuous:
            t = self.axes[k].coordinates
            for upper in (False, True):
                end, here = self._depth(k, np.array([t[-1 if upper else 0], place[k]]))
                outside = place[k] > np.median(t) if upper else place[k] < np.median(t)
                if outside and here > end / 2:
                    most = max(most, _beyond(*self._end_gains(k, upper=upper)))
        return most

    def _gains(self, value: float) -> tuple[float, float]:
        """What doubling the depth to its half, and to the whole, adds to the largest, `value`."""
        quarter, half = (self._largest_within(share * self.part.depth) for share in (0.25, 0.5))
        return (half - quarter, value - half) if math.isfinite(half - quarter) else (0.0, 0.0)

    def _largest_within(self, depth: float) -> float:
        """The largest ratio of where no parameter is deeper."""
        keep = [
            np.flatnonzero(self._depth(k, axis.coordinates) <= depth)
            if k in self.part.continuous
            else range(axis.points)
            for k, axis in enumerate(self.axes)
        ]
        if not all(len(places) for places in keep):
            return -math.inf
        axes = [
            self.part.around(k, axis.coordinates[keep[k]], axis) if k in self.part.continuous else axis
            for k, axis in enumerate(self.axes)
        ]
        scan = replace(self, axes=axes, ratios=self.ratios[np.ix_(*keep)])
        if not math.isfinite(scan.value):
            return scan.value
        start = tuple(float(axis.coordinates[k]) for axis, k in zip(axes, scan.best, strict=True))
        return scan._search(start)[0]

    def _end_gains(self, k: int, *, upper: bool) -> tuple[float, float]:
        """The same for one end of the range of one parameter, per doubling of the depth there."""
        depths = self._depth(k, self.axes[k].coordinates)
        along = np.max(self.ratios, axis=tuple(j for j in range(self.ratios.ndim) if j != k))
        if upper:
            depths, along = depths[::-1], along[::-1]
        half, quarter = (int(np.argmin(np.abs(depths - depths[0] / n)[: depths.size // 2 + 1])) for n in (2, 4))
        if not 0 < half < quarter or not np.all(np.isfinite(along[[0, half, quarter]])) or depths[quarter] <= 0:
            return 0.0, 0.0
        gain = (along[0] - along[half]) / math.log2(depths[0] / depths[half])
        before = (along[half] - along[quarter]) / math.log2(depths[half] / depths[quarter])
        return float(before), float(gain)


def _grows(before: float, gain: float) -> bool:
    """Whether gains from doubling a depth hardly shrink."""
    return gain > GROWTH and gain >= STUBBORN * before


def _beyond(before: float, gain: float) -> float:
    """What further doublings of the depth may add if gains shrink a little less from one to the next."""
    if gain <= 0:
        return 0.0
    shrinks = (min(gain / before, STUBBORN) + STUBBORN) / 2 if before > 0 else STUBBORN
    return gain * shrinks / (1 - shrinks)


def grid_scans(part: DensityPart, places: Sequence[Coordinates] = ()) -> tuple[GridScan, GridScan]:
    """A scan in either direction."""
    axes = part.axes(places)
    densities = part.densities(axes)
    first, second = (
        GridScan(part=part, axes=axes, ratios=log_ratios(densities, reverse=reverse), reverse=reverse)
        for reverse in (False, True)
    )
    return first, second


def drop(ratios: FloatArray, best: tuple[int, ...]) -> float:
    """By how much the points beside the best one are lower, at most.

    Examples
    --------
    >>> drop(np.array([1.0, 4.0, 2.0]), (1,))
    3.0
    """
    beside = [np.take(ratios, [max(k - 1, 0), min(k + 1, ratios.shape[j] - 1)], axis=j) for j, k in enumerate(best)]
    rows = [near[(*best[:j], slice(None), *best[j + 1 :])] for j, near in enumerate(beside)]
    return float(ratios[best] - min(float(np.min(row)) for row in rows))
