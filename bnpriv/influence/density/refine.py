"""Max-influence by quadrature: finer and wider grids until the value does not move."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import final

import numpy as np

from bnpriv.errors import SizeError
from bnpriv.influence.base import GridLevel
from bnpriv.influence.density.agreement import MonteCarloCheck, compared, monte_carlo_check
from bnpriv.influence.density.lattice import DEEPEST, QuadratureGrid, sided
from bnpriv.influence.density.part import FACTOR, Coordinates, DensityPart
from bnpriv.influence.density.supremum import STUBBORN, GridScan, Supremum, grid_scans
from bnpriv.influence.ratios import independent_parts
from bnpriv.networks.density import Parameter
from bnpriv.secrets.values import IntervalPair

FEWEST_POINTS = 16
GRID_LEVELS = 14
"""Grids have `FEWEST_POINTS` points per axis, then `FACTOR` times as many at every level."""

LEAST_LEVELS = 3
"""Levels that are looked at before a value is believed."""

GRID_TOLERANCE = 1e-7
"""Change between two levels at which a value is taken for stable."""

LOST = 1e-5
"""How much of a density grids may lose without more being asked of the value."""

COARSE = 1e-4
"""By how much log densities at the supremum may differ from those on the grids of the level before."""

MUCH_COARSE = 1e-2
"""The same where it is asked whether a small growth is more than chance."""

MUCH_LOST = 1e-3
"""Grids that lose more than this are too coarse to tell growth from chance."""

GRID_DRAW_TOLERANCE = 1e-6
"""What draws show beyond a grid and is less than this is no more than the grid's own error."""

SLIGHT = 1e-3
"""The same as a share of the value."""

MOST_REPEATS = 4
"""A value that is stable for so many levels, while grids lose too much, is not looked at further."""

LOOSE = 0.05
"""What moves by more than this in the last levels has no value at all."""


@final
@dataclass(frozen=True, kw_only=True)
class Refinement:
    """What refinement led to for one pair of secrets.

    Parameters
    ----------
    value : float
        The influence with its last change added; infinite where it grows on or did not settle; -inf where a secret has
        probability zero.
    change : float
        The last change.
    settled : bool
        Whether the value is stable, or known to grow without end.
    reason : str
        In words how it ended.
    history : tuple of GridLevel
    """

    value: float
    change: float
    settled: bool
    reason: str
    history: tuple[GridLevel, ...] = ()


def refined(grid: QuadratureGrid, border: Sequence[str]) -> Refinement:
    """The max-influence of a frontier for the pair of a grid, both directions.

    Raises
    ------
    SizeError
        If not even the first grids fit.
    NetworkError
        If a density that is needed is missing.
    """
    if impossible(grid):
        return Refinement(value=-math.inf, change=0.0, settled=True, reason="A secret has probability zero.")
    if not grid.reaches:
        reason = "Grids do not reach to where the parameters above it are, given a secret so far from what is probable."
        return Refinement(value=math.inf, change=math.inf, settled=False, reason=reason)
    history: list[GridLevel] = []
    suprema: list[Supremum] = []
    both: dict[bool, Supremum] = {}
    shown = compared(grid, tuple(parts_of(grid, border, FEWEST_POINTS)))
    places: list[Coordinates] = []
    for level in range(GRID_LEVELS):
        points, depth = points_at(level), depth_at(grid, level, suprema)
        try:
            both = _both(grid, border, points, depth, both, places)
            lost = grid.lost(_summed(grid, border), points, depth)
        except SizeError:
            if not history:
                raise
            break
        suprema.append(_larger(both))
        history.append(_level(points, depth, lost, suprema))
        found = _conclusion(history, suprema)
        if found is not None and math.isinf(found.value):
            return found
        still = suprema[-1].coarse <= COARSE and all(
            s.change <= _tolerance(suprema[-1]) for s in history[-MOST_REPEATS:]
        )
        if found is not None or still:
            agreed = monte_carlo_check(shown, points, depth, suprema[-1].value)
            places += agreed.higher
            if _agrees(agreed, suprema[-1].value):
                return _with_draws(found or _unsettled(history, suprema[-1]), agreed)
    found = _unsettled(history, suprema[-1])
    if math.isinf(found.value):
        return found
    return _with_draws(found, monte_carlo_check(shown, history[-1].points, history[-1].depth, suprema[-1].value))


def _agrees(agreed: MonteCarloCheck, value: float) -> bool:
    """Whether draws show next to nothing that a grid does not."""
    return agreed.gap <= max(COARSE, SLIGHT * value) and not agreed.higher


def _with_draws(found: Refinement, agreed: MonteCarloCheck) -> Refinement:
    """Add to a value what draws show that the grids miss; where that is much there is no value at all."""
    missed = 2 * agreed.gap if agreed.gap > max(GRID_DRAW_TOLERANCE, SLIGHT * found.value) else 0.0
    if _agrees(agreed, found.value):
        return replace(found, value=found.value + missed, change=found.change + missed)
    value = found.value + missed if agreed.gap <= LOOSE and not agreed.higher else math.inf
    reason = "Not settled: forward draws show what lies between the points of every grid."
    return replace(found, value=value, change=max(found.change, missed), settled=False, reason=reason)


def _level(points: int, depth: float, lost: float, suprema: Sequence[Supremum]) -> GridLevel:
    value, before = suprema[-1].value, suprema[-2].value if len(suprema) > 1 else math.inf
    change = abs(value - before) if math.isfinite(value) and math.isfinite(before) else math.inf
    return GridLevel(points=points, depth=depth, influence=value, change=change, lost=lost)


def _conclusion(history: Sequence[GridLevel], suprema: Sequence[Supremum]) -> Refinement | None:
    """The end of a refinement if it has one."""
    supremum, step = suprema[-1], history[-1]
    if len(history) < LEAST_LEVELS:
        return None
    clear = step.lost <= MUCH_LOST and (supremum.coarse <= MUCH_COARSE or not step.change <= LOOSE)
    if clear and ((supremum.endless and suprema[-2].endless) or _faster(history)):
        return _endless(history, supremum)
    # more lost mass takes more levels
    levels = LEAST_LEVELS if step.lost > LOST else 1
    still = all(each.change <= _tolerance(supremum) for each in history[-levels:])
    if still and step.lost <= MUCH_LOST and supremum.coarse <= COARSE and supremum.rest <= _tolerance(supremum):
        value = supremum.value + step.change
        return Refinement(value=value, change=step.change, settled=True, reason="Stable.", history=tuple(history))
    return None


def _tolerance(supremum: Supremum) -> float:
    return GRID_TOLERANCE * (1 + abs(supremum.value))


def points_at(level: int) -> int:
    """The points per axis at a level."""
    return round(FEWEST_POINTS * FACTOR**level)


def depth_at(grid: QuadratureGrid, level: int, suprema: Sequence[Supremum]) -> float:
    """How far down the axes reach at a level.

    First they reach ever deeper, to find out whether ratios grow; if they do not, fewer points go where no supremum is.
    """
    last = suprema[-LEAST_LEVELS:]
    if level > LEAST_LEVELS and all(
        not supremum.endless and supremum.rest <= GRID_TOLERANCE / 10 and supremum.depth <= grid.base
        for supremum in last
    ):
        return 2 * grid.base
    return min(grid.base * 2.0**level, max(DEEPEST, grid.base))


def outside(parameter: Parameter, pair: IntervalPair) -> Refinement | None:
    """That a pair is no constraint if one of its secrets lies outside the support, or None."""
    for side in (pair.first, pair.second):
        states = parameter.states
        empty = side.high < parameter.lower or side.low > parameter.upper
        if empty or (states is not None and not any(side.low <= state <= side.high for state in states)):
            return Refinement(value=-math.inf, change=0.0, settled=True, reason=f"{side} has probability zero.")
    return None


def impossible(grid: QuadratureGrid) -> bool:
    """Whether a secret surely has probability zero: by the support, or by the density of a root at a value."""
    parameter = grid.parameter(grid.protected)
    if outside(parameter, grid.pair) is not None:
        return True
    if parameter.parents:
        return False  # a sum over a grid may miss what is narrow
    sides = grid.sides(FEWEST_POINTS)
    totals = sided(grid.prior(FEWEST_POINTS, grid.base), sides)
    return any(side.points == 1 and np.isneginf(total) for side, total in zip(sides, totals, strict=True))


def vanishing(grid: QuadratureGrid, points: int, depth: float) -> bool:
    """Whether nothing is left of a secret on a grid, so that it says nothing."""
    return any(bool(np.isneginf(total)) for total in sided(grid.prior(points, depth), grid.sides(points)))


def _both(
    grid: QuadratureGrid,
    border: Sequence[str],
    points: int,
    depth: float,
    before: Mapping[bool, Supremum],
    beside: Sequence[Coordinates],
) -> dict[bool, Supremum]:
    """The suprema of both directions, from where they were at the level `before` and the places `beside`."""
    if vanishing(grid, points, depth):
        return {False: Supremum(value=math.inf)}
    ways: dict[bool, list[GridScan]] = {False: [], True: []}
    for k, names in enumerate(parts_of(grid, border, points)):
        part = DensityPart(grid=grid, names=names, points=points, depth=depth)
        for look in grid_scans(
            part, [*(supremum.places[k] for supremum in before.values() if supremum.places), *beside]
        ):
            ways[look.reverse].append(look)
    order = sorted(ways, key=lambda way: -sum(scan.value for scan in ways[way]))
    found: dict[bool, Supremum] = {}
    for way in order:
        # what cannot well become the larger direction is not searched
        reach = sum(scan.value + scan.slack for scan in ways[way])
        search = all(reach >= supremum.value for supremum in found.values())
        suprema = [scan.supremum(search=search) for scan in ways[way]]
        found[way] = sum(suprema[1:], suprema[0])
    return found


def _larger(found: Mapping[bool, Supremum]) -> Supremum:
    """The larger of both directions; an endless one is."""
    suprema = sorted(found.values(), key=lambda supremum: -supremum.value)
    return next((supremum for supremum in suprema if supremum.endless), suprema[0])


def parts_of(grid: QuadratureGrid, border: Sequence[str], points: int) -> list[tuple[str, ...]]:
    """The parts of a frontier whose log ratios add."""
    if all(side.points == 1 for side in grid.sides(points)):
        return independent_parts(grid.network.graph, grid.protected, border)
    return [tuple(border)]


def _summed(grid: QuadratureGrid, border: Sequence[str]) -> frozenset[str]:
    """The parameters that are integrated out somewhere."""
    graph, protected = grid.network.graph, grid.protected
    found = graph.ancestral((protected,))
    for names in parts_of(grid, border, FEWEST_POINTS):
        found |= graph.ancestral((protected, *names)) - set(names)
    return found - {protected}


def _faster(history: Sequence[GridLevel]) -> bool:
    """Whether the value grew with every doubling of the depth, and no less each time."""
    wider = [step for k, step in enumerate(history) if k == 0 or step.depth > history[k - 1].depth]
    gains = [after.influence - before.influence for before, after in itertools.pairwise(wider)]
    if len(gains) < LEAST_LEVELS or len(wider) < len(history) or not all(gain > LOOSE for gain in gains):
        return False
    return all(after >= STUBBORN * before for before, after in itertools.pairwise(gains))


def _endless(history: Sequence[GridLevel], supremum: Supremum) -> Refinement:
    last = history[-1].influence
    where = "one point is approached" if supremum.spike else "the range widens"
    how = f"It was {last:.4g} nats on the finest grid, and seems to grow on as {where}."
    if math.isinf(last):
        how = "One of the secrets rules out what is possible under the other."
    return Refinement(value=math.inf, change=math.inf, settled=True, reason=how, history=tuple(history))


def _unsettled(history: Sequence[GridLevel], supremum: Supremum) -> Refinement:
    """Where the value never became stable: with small last changes it is still a value, with large ones infinite."""
    last = history[-LEAST_LEVELS:]
    changes = [step.change for step in last if step is not history[0]] or [math.inf]
    change = max(supremum.rest, supremum.coarse, history[-1].lost, *changes)
    known = change <= LOOSE and not supremum.endless
    value = max(step.influence for step in last) + change if known else math.inf
    reason = "Finer grids still change it" + (f" by up to {change:.2g} nats." if change < math.inf else ".")
    return Refinement(value=value, change=change, settled=False, reason=reason, history=tuple(history))
