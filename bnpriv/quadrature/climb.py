"""The largest log ratio of what is seen given two secrets: a look over the whole range, then a climb."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import final

import numpy as np

from bnpriv.factors import FloatArray
from bnpriv.quadrature.axes import Axis, bare, listed
from bnpriv.quadrature.lattice import Lattice, sided

PLACES = {1: 49, 2: 25, 3: 13}
"""Points of every axis of a first look by the number of axes; `FEWEST` for more."""

FEWEST = 7

LOOKED_AT = 2**21
"""Cells of a first look, if `FEWEST` points allow it."""

WINDOWS = np.linspace(-1.0, 1.0, 9), np.linspace(-1.0, 1.0, 5)
"""Where a climb looks around the best point, in steps, if tables are small, and if they are large."""

FACTOR = 1.4
"""Grids have so many times as many points at every level."""

MOST_ROUNDS = 40

FLAT = 1e-9
"""A climb ends when the points beside the best one are lower by no more than this."""

IDLE_ROUNDS = 8
"""A climb ends when so many rounds in a row gain nothing, as where the best point is an edge."""

STUBBORN = 0.7
"""A gain that shrinks by no more than this factor from one doubling of a range to the next has no limit."""

NEARER: FloatArray = 10.0 ** -np.arange(4.0, 13.0, 4.0)
"""Distances from a top, in the coordinate, at which a spike is told from a rounded top."""

SPIKE = 0.4
"""A gain from one such distance to the next that shrinks by no more than this factor has no limit."""

GROWTH = 1e-4
"""The least gain of the outer half of a range that counts as growth."""


@final
@dataclass(frozen=True, kw_only=True)
class Top:
    """The largest log ratio that was found at one level.

    Parameters
    ----------
    value : float
    growing : bool
        Whether it grows on as the range widens.
    spike : bool
        Whether it grows on as the point is approached where it was found.
    rest : float
        What may lie beyond the range, if gains go on shrinking as they did.
    coarse : float
        By how much the logs of both densities at the top change if integrals are cut less finely.
    """

    value: float
    growing: bool = False
    spike: bool = False
    rest: float = 0.0
    coarse: float = 0.0

    @property
    def endless(self) -> bool:
        """Return whether there is no largest ratio."""
        return self.growing or self.spike

    def __add__(self, other: Top) -> Top:
        return Top(
            value=self.value + other.value,
            growing=self.growing or other.growing,
            spike=self.spike or other.spike,
            rest=max(self.rest, other.rest),
            coarse=max(self.coarse, other.coarse),
        )


@final
@dataclass(frozen=True, kw_only=True)
class Part:
    """Parameters that are seen together, at one level of a lattice.

    Parameters
    ----------
    lattice : Lattice
    names : tuple of str
    points : int
        Of every axis in integrals.
    depth : float
        How far down the axes reach.
    reverse : bool
        Whether the second secret comes first.
    """

    lattice: Lattice
    names: tuple[str, ...]
    points: int
    depth: float
    reverse: bool

    def top(self) -> Top:
        """Return the largest log ratio."""
        most = PLACES.get(len(self.names), FEWEST)
        places = max(FEWEST, min(most, int((LOOKED_AT / self._within) ** (1 / len(self.names)))))
        axes = [self.lattice.explored(name, places, self.depth) for name in self.names]
        ratios = self.ratios(axes)
        best = np.unravel_index(int(np.argmax(ratios)), ratios.shape)
        value = float(ratios[best])
        if not math.isfinite(value):
            return Top(value=value, growing=value > 0)
        start = [axis.coordinates[k] for axis, k in zip(axes, best, strict=True)]
        climbed, end = self._climb(axes, start, value)
        growing, rest = self._at_edge(axes, ratios, end)
        spike = self._on_spike(axes, end)
        return Top(value=climbed, growing=growing, spike=spike, rest=rest, coarse=self._coarse(axes, end))

    @cached_property
    def _within(self) -> int:
        """Return how many points of what is integrated out a point of what is seen hangs together with, at most."""
        network, seen = self.lattice.network, {self.lattice.protected, *self.names}
        families = [{name, *network.graph.parents[name]} for name in network.graph.ancestral(seen)]
        hidden = [family - seen for family in families if family.intersection(self.names)]
        axes = (math.prod(self.lattice.axis(n, self.points, self.depth).points for n in family) for family in hidden)
        return max(axes, default=1)

    def ratios(self, axes: Sequence[Axis]) -> FloatArray:
        """Return the log ratios at points of what is seen; -inf where it is impossible under the first secret."""
        first, second = self._densities(axes)
        above, below = (second, first) if self.reverse else (first, second)
        with np.errstate(invalid="ignore"):
            return np.where(np.isneginf(above), -np.inf, above - below)

    def _densities(self, axes: Sequence[Axis]) -> tuple[FloatArray, FloatArray]:
        """Return the log densities of what is seen given the first and the second secret."""
        lattice, special = self.lattice, dict(zip(self.names, axes, strict=True))
        joint = lattice.joint((lattice.protected, *self.names), self.points, self.depth, special)
        sides = lattice.sides(self.points)
        tops = sided(lattice.prior(self.points, self.depth), sides)
        first, second = (logs - top for logs, top in zip(sided(joint, sides), tops, strict=True))
        return first, second

    def _coarse(self, axes: Sequence[Axis], end: Sequence[float]) -> float:
        """Return by how much the log densities at a point change if integrals are cut less finely."""
        top = [self._around(k, axes[k], np.array([end[k]])) for k in range(len(end))]
        coarser = replace(self, points=max(3, round(self.points / FACTOR)))
        both = zip(self._densities(top), coarser._densities(top), strict=True)
        with np.errstate(invalid="ignore"):
            return max(float(np.max(np.abs(fine - coarse))) for fine, coarse in both)

    def _climb(self, axes: Sequence[Axis], start: Sequence[float], value: float) -> tuple[float, tuple[float, ...]]:
        """Return the value at the top near a point, and where it is."""
        here = [float(t) for t in start]
        steps = [self._first_step(name, axis, t) for name, axis, t in zip(self.names, axes, here, strict=True)]
        window = WINDOWS[self._within > LOOKED_AT / 16]
        idle = 0
        for _ in range(MOST_ROUNDS):
            around = [self._around(k, axes[k], here[k] + steps[k] * window) for k in range(len(here))]
            ratios = self.ratios(around)
            best = tuple(int(k) for k in np.unravel_index(int(np.argmax(ratios)), ratios.shape))
            idle = 0 if ratios[best] > value else idle + 1
            value = max(value, float(ratios[best]))
            for k, axis in enumerate(around):
                moved = abs(axis.coordinates[best[k]] - here[k])
                here[k] = float(axis.coordinates[best[k]])
                steps[k] = steps[k] if moved >= 0.9 * steps[k] else steps[k] * (window[1] - window[0])
            if not math.isfinite(value) or idle == IDLE_ROUNDS or _drop(ratios, best) < FLAT:
                break
        return value, tuple(here)

    def _first_step(self, name: str, axis: Axis, t: float) -> float:
        if self.lattice.parameter(name).states is not None:
            return 0.0
        k = int(np.searchsorted(axis.coordinates, t))
        near = axis.coordinates[max(k - 1, 0) : k + 2]
        return float(np.max(np.diff(near)))

    def _around(self, k: int, axis: Axis, coordinates: FloatArray) -> Axis:
        """Return points around the best one, which is in their middle; of finitely many states that state alone."""
        name = self.names[k]
        if self.lattice.parameter(name).states is not None:
            place = round(float(coordinates[0]))
            return listed(axis.values[place : place + 1], np.array([float(place)]))
        return bare(
            self.lattice.scale(name), np.unique(np.clip(coordinates, axis.coordinates[0], axis.coordinates[-1]))
        )

    def _on_spike(self, axes: Sequence[Axis], end: Sequence[float]) -> bool:
        """Return whether the ratio grows on as the top is approached along one of the axes."""
        top = [self._around(k, axes[k], np.array([end[k]])) for k in range(len(end))]
        for k, name in enumerate(self.names):
            if self.lattice.parameter(name).states is not None:
                continue
            t = np.clip([end[k] - NEARER, end[k] + NEARER], axes[k].coordinates[0], axes[k].coordinates[-1]).ravel()
            around = [*top[:k], bare(self.lattice.scale(name), t), *top[k + 1 :]]
            far, near, nearest = self.ratios(around).reshape(2, -1).max(axis=0)
            if np.isfinite(far) and nearest - near > max(GROWTH, SPIKE * (near - far)):
                return True
        return False

    def _at_edge(self, axes: Sequence[Axis], ratios: FloatArray, end: Sequence[float]) -> tuple[bool, float]:
        """Return whether the ratio grows on beyond the range, and what may lie there if it does not."""
        growing, most = False, 0.0
        for k, (name, axis) in enumerate(zip(self.names, axes, strict=True)):
            if self.lattice.parameter(name).states is not None:
                continue
            depths = self.lattice.depth_at(name, axis.coordinates)
            here = float(self.lattice.depth_at(name, np.array([end[k]]))[0])
            side = depths[0] if end[k] - axis.coordinates[0] < axis.coordinates[-1] - end[k] else depths[-1]
            side = min(float(side), self.depth)
            if here <= side / 2:
                continue
            along = np.max(ratios, axis=tuple(j for j in range(len(axes)) if j != k))
            quarter, half, whole = (
                float(np.max(along[depths <= share * side], initial=-np.inf)) for share in (0.25, 0.5, 1)
            )
            before, gain = half - quarter, whole - half
            shrinks = gain / before if before > gain else STUBBORN
            most = max(most, gain * shrinks / (1 - shrinks))
            growing = growing or (gain > GROWTH and gain >= STUBBORN * before)
        return growing, most


def _drop(ratios: FloatArray, best: tuple[int, ...]) -> float:
    """Return by how much the points beside the best one are lower, at most."""
    beside = [np.take(ratios, [max(k - 1, 0), min(k + 1, ratios.shape[j] - 1)], axis=j) for j, k in enumerate(best)]
    rows = [near[(*best[:j], slice(None), *best[j + 1 :])] for j, near in enumerate(beside)]
    return float(ratios[best] - min(float(np.min(row)) for row in rows))
