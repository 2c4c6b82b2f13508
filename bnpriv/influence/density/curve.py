"""Privacy losses by quadrature: the law of the log ratio of the observed parameters given two secrets."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import final

import numpy as np

from bnpriv.bound import FloatArray
from bnpriv.errors import SizeError
from bnpriv.influence.density.agreement import compared, monte_carlo_check
from bnpriv.influence.density.axes import Axis, steps
from bnpriv.influence.density.lattice import QuadratureGrid
from bnpriv.influence.density.part import FACTOR, DensityPart
from bnpriv.influence.density.refine import LOOSE, impossible, parts_of, points_at, vanishing
from bnpriv.influence.losses import MOST_LOSSES, Losses, gathered

FINEST = {1: 2**13, 2: 2**9, 3: 2**6}
"""Points of every axis that is seen, by the number of axes; `FEWEST_CURVE_POINTS` for more."""

FEWEST_CURVE_POINTS = 24

FIRST = {1: 192, 2: 40, 3: 16}
"""Points of every such axis at which densities are computed at the first level; `FEWEST_FIRST` for more."""

FEWEST_FIRST = 8

CURVE_LEVELS = 12

PROBES = (0.0, 0.125, 0.25, 0.5, 1.0, 2.0, 4.0)
"""Levels of the privacy curve that are compared between two grids."""

CURVE_DRAW_TOLERANCE = 1e-3
"""By how much log densities may differ from what draws show before the difference counts."""

CURVE_TOLERANCE = 3e-7
"""Change of the curve at which what is not seen is taken for finely enough cut."""

RoughDensities = dict[tuple[tuple[str, ...], int, int], tuple[FloatArray, FloatArray]]
"""Log densities given either secret: of what is seen, by the points of what is integrated out and of what is seen."""


@final
@dataclass(frozen=True, kw_only=True)
class LossCurve:
    """The losses of a frontier for one pair of secrets.

    Parameters
    ----------
    losses : Losses
        In both directions. What the grid lost, and by how much the curve moved last, count as fully telling.
    change : float
        By how much the privacy curve moved last.
    settled : bool
        Whether finer grids of what is not seen moved it no more.
    """

    losses: Losses
    change: float
    settled: bool


def curve_of(grid: QuadratureGrid, border: Sequence[str], start: int = 0) -> LossCurve:
    """The losses of a frontier for the pair of a grid.

    Parameters
    ----------
    grid : QuadratureGrid
    border : sequence of str
    start : int
        The level of the first grids.

    Raises
    ------
    SizeError
        If a table would be too large.
    NetworkError
        If a density that is needed is missing.
    """
    if impossible(grid):
        nothing = np.zeros((1, 2, 1))
        losses = Losses(ratios=nothing, masses=nothing, possible=np.zeros((1, 2), dtype=np.bool_))
        return LossCurve(losses=losses, change=0.0, settled=True)
    axes = max(1, sum(grid.parameter(name).states is None for name in border))
    finest, first = FINEST.get(axes, FEWEST_CURVE_POINTS), FIRST.get(axes, FEWEST_FIRST)

    known = RoughDensities()  # of one grid each: the finest one is looked at twice

    def at(level: int, finer: int = 0, width: int = finest) -> Losses:
        return _losses(grid, border, points_at(level), min(round(first * FACTOR**finer), width), width, known)

    # one after the other: what is integrated out, what is seen, and where losses are added up
    first_level, gap = _shown(grid, border, start)
    if gap > LOOSE:
        return LossCurve(losses=_everything(), change=1.0, settled=False)
    level, change, losses = _until_stable(at, first_level)
    change += math.expm1(gap) if gap > CURVE_DRAW_TOLERANCE else 0.0  # a share of the mass of the cells

    def finer_at(step: int) -> Losses:
        return at(level, step) if step != 0 else losses

    finer, second, losses = _until_stable(finer_at, 0)
    third = _moved(losses, at(level, finer, finest // 2))
    total = min(1.0, change + second + third)
    return LossCurve(losses=_with_lost(losses, total), change=total, settled=max(change, second) <= CURVE_TOLERANCE)


def _shown(grid: QuadratureGrid, border: Sequence[str], start: int) -> tuple[int, float]:
    """The first level from `start` on whose grids hold what draws show, and what they miss of it."""
    parts = compared(grid, tuple(parts_of(grid, border, points_at(0))))
    level, gap = start, math.inf
    for finer in range(start, CURVE_LEVELS):
        try:
            gap, level = monte_carlo_check(parts, points_at(finer), grid.base).gap, finer
        except SizeError:
            if start == 0 and finer == 0:
                raise
            break
        if gap <= CURVE_DRAW_TOLERANCE:
            break
    return (0, monte_carlo_check(parts, points_at(0), grid.base).gap) if math.isinf(gap) and start else (level, gap)


def _everything() -> Losses:
    return Losses(
        ratios=np.full((1, 2, 1), np.inf), masses=np.ones((1, 2, 1)), possible=np.ones((1, 2), dtype=np.bool_)
    )


def _until_stable(at: Callable[[int], Losses], start: int) -> tuple[int, float, Losses]:
    """The step at which losses moved no more, by how much they moved last, and the losses.

    If the first step is too large the walk starts at 0.
    """
    try:
        step, losses = start, at(start)
    except SizeError:
        if start == 0:
            raise
        step, losses = 0, at(0)
    change = 1.0
    while change > CURVE_TOLERANCE and step + 1 < max(CURVE_LEVELS, start + 2):
        try:
            finer = at(step + 1)
        except SizeError:
            change = _moved(at(step - 1), losses) if change == 1.0 else change
            break
        step, change, losses = step + 1, _moved(losses, finer), finer
    return step, change, losses


def _moved(before: Losses, after: Losses) -> float:
    return max(float(np.max(np.abs(before.excess(level) - after.excess(level)))) for level in PROBES)


def _losses(
    grid: QuadratureGrid, border: Sequence[str], points: int, seen: int, finest: int, known: RoughDensities
) -> Losses:
    """The losses on the finest grid, from densities on grids of fewer points."""
    if vanishing(grid, points, grid.base):
        return _everything()
    first = second = np.zeros(1)
    for names in parts_of(grid, border, points):
        part = DensityPart(grid=grid, names=names, points=points, depth=grid.base)
        one, other = _densities(part, seen, finest, known)
        if 2 * first.size * one.size > MOST_LOSSES:
            raise SizeError(
                f"the losses of a pair may have at most {MOST_LOSSES:,} cells",
                found=f"{2 * first.size * one.size:,}",
                remedy="Query fewer columns at once, or ask for delta = 0.",
            )
        first, second = np.add.outer(first, one).ravel(), np.add.outer(second, other).ravel()
    above, below = np.stack((first, second)), np.stack((second, first))
    with np.errstate(invalid="ignore", over="ignore"):
        ratios = np.where(np.isneginf(above), 0.0, above - below)
        masses = np.exp(above)
    possible = np.ones((1, 2), dtype=np.bool_)
    return gathered(Losses(ratios=ratios[np.newaxis], masses=masses[np.newaxis], possible=possible))


def _densities(part: DensityPart, seen: int, finest: int, known: RoughDensities) -> tuple[FloatArray, FloatArray]:
    """The log probabilities of the cells of the finest grid given either secret."""
    rough = [_axis(part, name, seen) for name in part.names]
    fine = [_axis(part, name, finest) for name in part.names]
    key = part.names, part.points, seen
    if key not in known:
        known[key] = part.densities([replace(axis, log_weights=np.zeros(axis.points)) for axis in rough])
    found = known[key]
    if not all(bool(np.all(np.isfinite(logs))) for logs in found):
        # an edge of a support: nothing smooth to interpolate
        fine = [_axis(part, name, seen) for name in part.names]
        rough = fine
    weights = sum(
        (axis.log_weights.reshape([-1 if j == k else 1 for j in range(len(fine))]) for k, axis in enumerate(fine)),
        np.zeros(1),
    )
    first, second = (_interpolated(logs, rough, fine) + weights for logs in found)
    return first.ravel(), second.ravel()


def _axis(part: DensityPart, name: str, points: int) -> Axis:
    grid = part.grid
    if grid.parameter(name).states is not None:
        return grid.axis(name, points, part.depth)
    return steps(grid.scale(name), *grid.reach(name, part.depth), points)


def _interpolated(logs: FloatArray, rough: Sequence[Axis], fine: Sequence[Axis]) -> FloatArray:
    """Return values on finer axes by cubic splines along one axis after the other."""
    from scipy.interpolate import CubicSpline

    for k, (before, after) in enumerate(zip(rough, fine, strict=True)):
        if before.points != after.points:
            logs = np.asarray(CubicSpline(before.coordinates, logs, axis=k)(after.coordinates))
    return logs


def _with_lost(losses: Losses, change: float) -> Losses:
    """The losses with one more cell, which tells everything, for what the grid lost and what is not known."""
    lost: FloatArray = np.maximum(0.0, 1.0 - losses.masses.sum(axis=2, keepdims=True)) + change
    return replace(
        losses,
        ratios=np.concatenate((losses.ratios, np.full(lost.shape, np.inf)), axis=2),
        masses=np.concatenate((losses.masses, np.minimum(lost, 1.0)), axis=2),
    )
