"""What columns tell about a parameter of a network of densities."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from bnpriv import checks
from bnpriv.bound import FloatArray
from bnpriv.core.influence.base import (
    MOST_LOSSES,
    Influence,
    Losses,
    PureLosses,
    asked_columns,
    gathered,
    plain_text,
    private_shifts,
)
from bnpriv.core.influence.finite import joint_law
from bnpriv.core.networks.discrete import DiscreteNetwork
from bnpriv.core.noise import ContinuousNoise
from bnpriv.core.secrets import IntervalPair, SecretPair, side_text
from bnpriv.errors import BnprivError, Refusal, SizeError
from bnpriv.kinds.density.grid import Axis, QuadratureGrid, bare, sided, steps, without_density
from bnpriv.kinds.density.network import DensityNetwork
from bnpriv.kinds.density.refine import (
    LOOSE,
    Refinement,
    compared,
    impossible,
    monte_carlo_check,
    outside,
    parts_of,
    points_at,
    refined,
    vanishing,
)
from bnpriv.kinds.density.supremum import FACTOR, DensityPart
from bnpriv.render.figures import TwoCurves
from bnpriv.text import number_text

# --------------------------------------------------------------------------------------------------
# The law of one parameter given each of two secrets, to be drawn.
# --------------------------------------------------------------------------------------------------


def two_conditionals(influence: Influence, name: str) -> TwoCurves:
    """The law of an attribute of a network of tables given each of the two secrets that are told apart best."""
    network, pair = cast(DiscreteNetwork, influence.network), cast(SecretPair, influence.pair)
    protected, model = influence.protected, influence.model
    joint = joint_law(network, (protected, name))
    logs = joint.values[min(model, len(joint.values) - 1)]
    sides: list[list[float]] = []
    for secret in (pair.first, pair.second):
        inside = np.array([state in secret for state in network.states[protected]])
        law = np.exp(logs[inside]).sum(axis=0)
        sides.append((law / law.sum()).tolist())
    labels = [str(state) for state in network.states[name]]
    return TwoCurves(
        values=[float(k) for k in range(len(labels))],
        first=sides[0],
        second=sides[1],
        finite=True,
        names=(f"{protected}: {side_text(pair.first)}", f"{protected}: {side_text(pair.second)}"),
        title=f"{name} given two secrets",
        desc=overlap_text(name, str(pair)),
        labels=labels,
    )


def overlap_text(name: str, pair: str) -> str:
    """Return what such a drawing shows."""
    return f"The distribution of {name} given {pair}: the more the two overlap, the less it tells."


# --------------------------------------------------------------------------------------------------
# The law of one parameter given each of two secrets, to be drawn.
# --------------------------------------------------------------------------------------------------

CONDITIONAL_LEVELS = (4, 2, 0)
"""Levels of the grids of the integrated parameters; the first one that fits is taken."""

TAIL = 5e-4
"""Mass beyond either end of what is drawn, at least."""

LOWEST_PLOTTED_DENSITY = 5e-3
"""Densities that are lower than this, relative to the highest, are not drawn."""

ACROSS = 400


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


# --------------------------------------------------------------------------------------------------
# Privacy losses by quadrature: the law of the log ratio of the observed parameters given two secrets.
# --------------------------------------------------------------------------------------------------

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

IDLE_STEPS = 3
"""Where so many steps move the curve by more than half of what the step before them did, it does not settle."""

RoughDensities = dict[tuple[tuple[str, ...], int, int], tuple[FloatArray, FloatArray]]
"""Log densities given either secret: of what is seen, by the points of what is integrated out and of what is seen."""


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

    finer, second, losses = _until_stable(finer_at, 0, max(change, CURVE_TOLERANCE))
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


def _until_stable(
    at: Callable[[int], Losses], start: int, tolerance: float = CURVE_TOLERANCE
) -> tuple[int, float, Losses]:
    """The step at which losses moved no more, by how much they moved last, and the losses.

    If the first step is too large the walk starts at 0. It ends too where several steps in a row moved them about as
    much, which finer grids, each far larger than the one before, would go on doing.
    """
    try:
        step, losses = start, at(start)
    except SizeError:
        if start == 0:
            raise
        step, losses = 0, at(0)
    changes = [1.0]
    while changes[-1] > tolerance and step + 1 < max(CURVE_LEVELS, start + 2):
        try:
            finer = at(step + 1)
        except SizeError:
            changes = [_moved(at(step - 1), losses)] if len(changes) == 1 else changes
            break
        changes.append(_moved(losses, finer))
        step, losses = step + 1, finer
        if len(changes) > IDLE_STEPS + 1 and min(changes[-IDLE_STEPS:]) > changes[-IDLE_STEPS - 1] / 2:
            return step, max(changes[-IDLE_STEPS - 1 :]), losses
    return step, changes[-1], losses


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


# --------------------------------------------------------------------------------------------------
# What columns tell about a parameter of a network of densities: max-influence and privacy curve by quadrature.
#
# Grids are made finer and wider until the value is stable, and it is an estimate: what lies between the points of
# every grid is not bounded. Where the graph separates the columns from the parameter it is 0, and exact.
# docs/claims/quadrature.md says what is proved and what is an estimate.
# --------------------------------------------------------------------------------------------------


MOST_LATTICES = 4
"""Grids that are kept with a network; each may hold large tables."""

MOST_TOLD = 64
"""Influences and curves that are kept with a grid, so that the next report need not find them again; each is small."""

OF_DRAWS = Refusal(
    required="a bound of what columns tell needs the distribution of every parameter",
    found="draws of a posterior, which say nothing of values that were not drawn",
    remedy="Use a mechanism that compares distributions of the answer, such as TightMechanism, or ColumnMechanism.",
)

SEPARATED = Refinement(value=0.0, change=0.0, settled=True, reason="The graph separates the columns from it.")
"""What is found where nothing is told."""


@dataclass(frozen=True, kw_only=True, eq=False)
class DensityLosses:
    """The privacy losses of every pair, from their law on grids and from their largest value.

    Parameters
    ----------
    values : ndarray of shape (1, pairs)
        As `Influence.values`.
    curves : tuple of Curve
        One for every pair; none where the largest value is all that is known.
    """

    values: FloatArray
    curves: tuple[LossCurve, ...] = ()

    def excess(self, epsilon: float, law: ContinuousNoise = "laplace", shift: FloatArray | float = 0.0) -> FloatArray:
        """Return the hockey-stick divergence of the columns together with a noisy number, as `Losses.excess` does.

        Returns
        -------
        ndarray of shape (1, pairs)
            The larger one of both directions, with the last change of the curve added; 0 where a pair is no constraint.
        """
        told = PureLosses(self.values).excess(epsilon, law, shift)
        if not self.curves:
            return told
        moved = np.broadcast_to(np.asarray(shift, dtype=np.float64), self.values.shape)
        both = [
            curve.losses.excess(epsilon, law, moved[:, k : k + 1]).max(axis=1) for k, curve in enumerate(self.curves)
        ]
        return np.where(np.isneginf(self.values), 0.0, np.minimum(np.stack(both, axis=1), told))

    def shifts(self, epsilon: float, delta: float, law: ContinuousNoise) -> FloatArray:
        """Return the largest shift, in scales of the noise, that keeps every pair (epsilon, delta)-private.

        Returns
        -------
        ndarray of shape (1, pairs)
            Rounded down; -inf where the columns alone tell too much, inf where a pair is no constraint.
        """
        low = private_shifts(self.excess, self.values.shape, epsilon, delta, law)
        return np.where(np.isneginf(self.values), np.inf, low)


def density_losses(influence: Influence) -> DensityLosses:
    """The privacy losses of every pair.

    Raises
    ------
    SizeError
        If a table would be too large.
    """
    found, lattices = influence.details
    curves = (
        _curve(lattice, influence.frontier, max(0, len(each.history) - 3))
        for lattice, each in zip(lattices, found, strict=False)
    )
    return DensityLosses(values=influence.values, curves=tuple(curves))


def explain_refinement(influence: Influence) -> str:
    """What was found for every pair, with the steps of the refinement."""
    lines = [f"{plain_text(influence)[:-1]} ({influence.kind})."]
    for pair, found in zip(influence.pairs, influence.details[0], strict=True):
        told = f"{number_text(found.value)}." if influence.unknown is None else "not known:"
        lines.append(f"{pair}: {told} {found.reason}")
        lines += [f"  {step}" for step in found.history]
    return "\n".join(lines)


def density_conditional(influence: Influence, column: str) -> TwoCurves:
    """The law of one column given each of the two secrets that are told apart best.

    Raises
    ------
    SizeError
        If a table would be too large.
    """
    worst = int(np.argmax(influence.values[0]))
    found, pair = conditional(influence.details[1][worst], column), influence.pairs[worst]
    return TwoCurves(
        values=found.values.tolist(),
        first=found.first.tolist(),
        second=found.second.tolist(),
        finite=found.finite,
        names=(f"{influence.protected}: {pair.first}", f"{influence.protected}: {pair.second}"),
        title=f"{column} given two secrets",
        desc=overlap_text(column, str(pair)),
    )


def density_influence(
    network: DensityNetwork, columns: Iterable[str], protected: str, pairs: Sequence[IntervalPair]
) -> Influence:
    """The influence from refined grids; infinite where a density is missing, with the reason."""
    asked = asked_columns(network, columns, protected)
    border = network.graph.frontier(protected, asked)
    if border and network.drawn is not None:
        return _unknown(network, asked, protected, pairs, OF_DRAWS, f"{OF_DRAWS.required}; found {OF_DRAWS.found}.")
    missing = without_density(network, (protected, *border)) if border else ()
    if missing:
        why = Refusal(
            required="what columns tell needs the density of every parameter between them and the secret",
            found=f"none for {checks.listing(missing)}",
            remedy="Declare the model with scalar parameters that have densities, or ask about other columns.",
        )
        reason = f"No density is known for {checks.listing(missing)}, so that nothing bounds what the columns tell."
        return _unknown(network, asked, protected, pairs, why, reason)
    lattices: tuple[QuadratureGrid, ...] = ()
    if border:
        lattices = tuple(_lattice(network, protected, pair) for pair in pairs)
        found = tuple(_settled(lattice, border) for lattice in lattices)
    else:
        found = tuple(outside(network.parameters[protected], pair) or SEPARATED for pair in pairs)
    return _influence(network, asked, protected, pairs, found, lattices)


def _unknown(
    network: DensityNetwork,
    columns: frozenset[str],
    protected: str,
    pairs: Sequence[IntervalPair],
    why: Refusal,
    reason: str,
) -> Influence:
    nothing = Refinement(value=np.inf, change=np.inf, settled=False, reason=reason)
    found = tuple(outside(network.parameters[protected], pair) or nothing for pair in pairs)
    return _influence(network, columns, protected, pairs, found, (), why)


def _influence(
    network: DensityNetwork,
    columns: frozenset[str],
    protected: str,
    pairs: Sequence[IntervalPair],
    found: tuple[Refinement, ...],
    lattices: tuple[QuadratureGrid, ...],
    unknown: Refusal | None = None,
) -> Influence:
    """Return the influence that a refinement led to; a value is the larger one of both directions."""
    border = network.graph.frontier(protected, columns)
    values = np.tile([[each.value for each in found]], (network.models, 1))
    values.flags.writeable = False
    worst = int(np.argmax(values[0]))
    ended = found[worst]
    return Influence(
        columns=columns,
        protected=protected,
        frontier=border,
        pairs=tuple(pairs),
        values=values,
        error=max((each.change for each in found if np.isfinite(each.value)), default=0.0),
        kind="estimate" if border else "exact",
        pair=None if bool(np.isneginf(values).all()) else pairs[worst],
        model=0,
        network=network,
        details=(found, lattices),
        history=tuple(each.history for each in found),
        settled=all(each.settled for each in found),
        how=_how(ended, unknown) if border else "exact, by the graph",
        unknown=unknown,
    )


def _how(ended: Refinement, unknown: Refusal | None) -> str:
    """Return in words how an influence was found."""
    if unknown is not None:
        return f"not known: {ended.reason}"
    return f"{'an estimate' if ended.settled else 'an estimate that did not settle'}. {ended.reason}"


def _lattice(network: DensityNetwork, protected: str, pair: IntervalPair) -> QuadratureGrid:
    """Return the grids for a pair, which all columns of a report share; the network keeps the latest."""
    key = protected, pair
    return network.kept.latest("lattices", key, MOST_LATTICES, lambda: QuadratureGrid(network, protected, pair))


def _settled(lattice: QuadratureGrid, border: tuple[str, ...]) -> Refinement:
    """Return what refinement leads to for a frontier; the grids keep the latest."""
    return lattice.kept.latest("told", border, MOST_TOLD, lambda: refined(lattice, border))


def _curve(lattice: QuadratureGrid, border: tuple[str, ...], start: int) -> LossCurve:
    """Return the losses of a frontier; the grids keep the latest."""
    return lattice.kept.latest("curves", (border, start), MOST_TOLD, lambda: curve_of(lattice, border, start=start))


def unlimited_influence(
    network: DensityNetwork, border: tuple[str, ...], protected: str, pairs: Sequence[IntervalPair], most_work: int
) -> tuple[Influence, int]:
    """An influence, infinite where it cannot be computed; grids have limits of their own, and no cells are counted."""
    try:
        return density_influence(network, border, protected, pairs), 0
    except BnprivError as error:
        # an influence without bound where it cannot be computed
        # the remedies of tables do not help a grid
        reason = f"{error.required}; found {error.found}." if isinstance(error, SizeError) else str(error)
        return _unknown(network, frozenset(border), protected, pairs, Refusal.of(error), reason), 0
