"""The largest log ratio of what is seen given two secrets: a look over the whole range, then a climb."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from bnpriv.factors import FloatArray
from bnpriv.quadrature.axes import Axis, bare, listed
from bnpriv.quadrature.lattice import Lattice, sided

PLACES = {1: 49, 2: 25, 3: 13}
"""Points of every axis of a first look by the number of axes; `FEWEST` for more."""

FEWEST = 7

WINDOW = np.linspace(-1.0, 1.0, 9)
"""Where a climb looks around the best point, in steps."""

MOST_ROUNDS = 40

ENOUGH = 1e-10
"""A climb ends when two rounds in a row gain less."""

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
    gain : float
        What the outer half of the range adds where the largest ratio lies there.
    """

    value: float
    growing: bool = False
    spike: bool = False
    gain: float = 0.0

    @property
    def endless(self) -> bool:
        """Return whether there is no largest ratio."""
        return self.growing or self.spike

    def __add__(self, other: Top) -> Top:
        return Top(
            value=self.value + other.value,
            growing=self.growing or other.growing,
            spike=self.spike or other.spike,
            gain=max(self.gain, other.gain),
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
        places = PLACES.get(len(self.names), FEWEST)
        axes = [self.lattice.explored(name, places, self.depth) for name in self.names]
        ratios = self.ratios(axes)
        best = np.unravel_index(int(np.argmax(ratios)), ratios.shape)
        value = float(ratios[best])
        if not math.isfinite(value):
            return Top(value=value, growing=value > 0)
        start = [axis.coordinates[k] for axis, k in zip(axes, best, strict=True)]
        climbed, end = self._climb(axes, start, value)
        growing, gain = self._at_edge(axes, ratios, end)
        return Top(value=climbed, growing=growing, spike=self._on_spike(axes, end), gain=gain)

    def ratios(self, axes: Sequence[Axis]) -> FloatArray:
        """Return the log ratios at points of what is seen; -inf where it is impossible under the first secret."""
        lattice, special = self.lattice, dict(zip(self.names, axes, strict=True))
        joint = lattice.joint((lattice.protected, *self.names), self.points, self.depth, special)
        sides = lattice.sides(self.points)
        tops = sided(lattice.prior(self.points, self.depth), sides)
        first, second = (logs - top for logs, top in zip(sided(joint, sides), tops, strict=True))
        above, below = (second, first) if self.reverse else (first, second)
        with np.errstate(invalid="ignore"):
            return np.where(np.isneginf(above), -np.inf, above - below)

    def _climb(self, axes: Sequence[Axis], start: Sequence[float], value: float) -> tuple[float, tuple[float, ...]]:
        """Return the value at the top near a point, and where it is."""
        here = [float(t) for t in start]
        steps = [self._first_step(name, axis, t) for name, axis, t in zip(self.names, axes, here, strict=True)]
        gains: list[float] = []
        for _ in range(MOST_ROUNDS):
            around = [self._around(k, axes[k], here[k], steps[k]) for k in range(len(here))]
            ratios = self.ratios(around)
            best = np.unravel_index(int(np.argmax(ratios)), ratios.shape)
            gains.append(max(0.0, float(ratios[best]) - value))
            value = max(value, float(ratios[best]))
            for k, axis in enumerate(around):
                moved = abs(axis.coordinates[best[k]] - here[k])
                here[k] = float(axis.coordinates[best[k]])
                steps[k] = steps[k] if moved >= 0.9 * steps[k] else steps[k] / 4
            if not math.isfinite(value) or (len(gains) > 2 and max(gains[-2:]) < ENOUGH):
                break
        return value, tuple(here)

    def _first_step(self, name: str, axis: Axis, t: float) -> float:
        if self.lattice.parameter(name).states is not None:
            return 0.0
        k = int(np.searchsorted(axis.coordinates, t))
        near = axis.coordinates[max(k - 1, 0) : k + 2]
        return float(np.max(np.diff(near)))

    def _around(self, k: int, axis: Axis, here: float, step: float) -> Axis:
        """Return points around the best one; of finitely many states that state alone."""
        name = self.names[k]
        if self.lattice.parameter(name).states is not None:
            place = int(here)
            return listed(axis.values[place : place + 1], np.array([here]))
        t = np.clip(here + step * WINDOW, axis.coordinates[0], axis.coordinates[-1])
        return bare(self.lattice.scale(name), np.unique(np.append(t, here)))

    def _on_spike(self, axes: Sequence[Axis], end: Sequence[float]) -> bool:
        """Return whether the ratio grows on as the top is approached along one of the axes."""
        top = [self._around(k, axes[k], end[k], 0.0) for k in range(len(end))]
        for k, name in enumerate(self.names):
            if self.lattice.parameter(name).states is not None:
                continue
            t = np.concatenate((end[k] - NEARER, end[k] + NEARER))
            t = np.clip(t, axes[k].coordinates[0], axes[k].coordinates[-1])
            around = [*top[:k], bare(self.lattice.scale(name), t), *top[k + 1 :]]
            far, near, nearest = self.ratios(around).reshape(2, -1).max(axis=0)
            if np.isfinite(far) and nearest - near > max(GROWTH, SPIKE * (near - far)):
                return True
        return False

    def _at_edge(self, axes: Sequence[Axis], ratios: FloatArray, end: Sequence[float]) -> tuple[bool, float]:
        """Return whether the ratio grows on beyond the range, and what the outer half of the range adds."""
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
            if gain > most:
                most = gain
            growing = growing or (gain > GROWTH and gain >= STUBBORN * before)
        return growing, most
