"""The law of one parameter given each of two secrets, to be drawn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from bnpriv.bound import FloatArray
from bnpriv.errors import SizeError
from bnpriv.influence.density.axes import bare
from bnpriv.influence.density.lattice import QuadratureGrid, sided
from bnpriv.influence.density.refine import points_at

CONDITIONAL_LEVELS = (4, 2, 0)
"""Levels of the grids of the integrated parameters; the first one that fits is taken."""

TAIL = 5e-4
"""Mass beyond either end of what is drawn, at least."""

LOWEST_PLOTTED_DENSITY = 5e-3
"""Densities that are lower than this, relative to the highest, are not drawn."""

ACROSS = 400


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class ConditionalDensities:
    """What is drawn of a parameter given two secrets.

    Parameters
    ----------
    values : ndarray of shape (points,)
    first, second : ndarray of shape (points,)
        Densities, or masses if the parameter has finitely many values.
    finite : bool
    """

    values: FloatArray
    first: FloatArray
    second: FloatArray
    finite: bool


def conditional(grid: QuadratureGrid, name: str) -> ConditionalDensities:
    """The law of a parameter given the two secrets of a grid, where it has all but little of its mass.

    Raises
    ------
    SizeError
        If a table would be too large.
    """
    for level in CONDITIONAL_LEVELS[:-1]:
        try:
            return _conditional(grid, name, points_at(level))
        except SizeError:
            continue
    return _conditional(grid, name, points_at(CONDITIONAL_LEVELS[-1]))


def _conditional(grid: QuadratureGrid, name: str, points: int) -> ConditionalDensities:
    if grid.parameter(name).states is not None:
        axis = grid.axis(name, points, grid.base)
        first, second = _given(grid, name, axis.coordinates, points)
        return ConditionalDensities(values=axis.values, first=first, second=second, finite=True)
    coarse = np.linspace(*grid.reach(name, grid.base), 4 * ACROSS)
    scale = grid.scale(name)
    densities = np.stack(_given(grid, name, coarse, points))
    low, high = _worth_drawing(densities, densities * np.exp(scale.log_slope(coarse)))
    ends = scale.values(coarse[[low, high]])
    fine = np.unique(scale.coordinates(np.linspace(float(ends[0]), float(ends[1]), ACROSS)))
    first, second = _given(grid, name, fine, points)
    return ConditionalDensities(values=scale.values(fine), first=first, second=second, finite=False)


def _worth_drawing(densities: FloatArray, masses: FloatArray) -> tuple[int, int]:
    """Between which places most of the mass lies, far thin tails left out; a peak in a tail sets no scale."""
    shares = np.cumsum(masses, axis=1) / masses.sum(axis=1, keepdims=True)
    inner = (shares > TAIL) & (shares < 1 - TAIL)
    height = np.max(densities, where=inner, initial=0.0)
    places = np.flatnonzero(np.any(inner & (densities > LOWEST_PLOTTED_DENSITY * height), axis=0))
    return (int(places[0]), int(places[-1])) if places.size > 1 else (0, masses.shape[1] - 1)


def _given(grid: QuadratureGrid, name: str, coordinates: FloatArray, points: int) -> tuple[FloatArray, FloatArray]:
    """The densities of a parameter at coordinates of it given both secrets."""
    finite = grid.parameter(name).states is not None
    depth = grid.base
    special = {} if finite else {name: bare(grid.scale(name), coordinates)}
    joint = grid.joint((grid.protected, name), points, depth, special)
    sides = grid.sides(points)
    tops = sided(grid.prior(points, depth), sides)
    first, second = (np.exp(logs - top) for logs, top in zip(sided(joint, sides), tops, strict=True))
    return first, second
