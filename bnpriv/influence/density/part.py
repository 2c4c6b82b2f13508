"""Log densities of parameters that are seen together, given either secret of a pair."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import final

import numpy as np

from bnpriv.bound import FloatArray
from bnpriv.influence.density.axes import Axis, bare, listed
from bnpriv.influence.density.lattice import QuadratureGrid, sided

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


@final
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
