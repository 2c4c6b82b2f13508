"""Max-influence by quadrature: finer and wider grids until the value does not move, checked by draws."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from bnpriv.bound import FloatArray
from bnpriv.core.distributions import log_sum_exp
from bnpriv.core.influence.base import GridLevel
from bnpriv.core.influence.finite import independent_parts
from bnpriv.core.secrets import Interval, IntervalPair
from bnpriv.errors import SizeError
from bnpriv.kinds.density.grid import DEEPEST, Axis, QuadratureGrid, bare, listed, log_density, sided, steps
from bnpriv.kinds.density.network import Parameter
from bnpriv.kinds.density.supremum import FACTOR, STUBBORN, Coordinates, DensityPart, GridScan, Supremum, grid_scans

# --------------------------------------------------------------------------------------------------
# Forward draws of what lies behind a set of parameters that is seen, given a secret, and points worth a look.
# --------------------------------------------------------------------------------------------------

FORWARD_DRAWS = 2**12
"""Forward draws under each secret."""

ENOUGH = 64
"""How many draws inside an interval stand for it."""

NODES = 16
"""Values of an interval that stand for it if draws are too rare there."""

SHUFFLES = 3
"""How often hidden values are permuted among the draws, to measure how much the observed ones depend on them."""

ParameterValues = Mapping[str, FloatArray]
"""Values of parameters by name, in arrays that broadcast."""


@dataclass(frozen=True, kw_only=True, eq=False)
class WeightedDraws:
    """Draws of everything that the observed parameters depend on.

    Parameters
    ----------
    values : mapping from str to ndarray of shape (rows,)
        Of all parameters that matter.
    log_weights : ndarray of shape (rows,)
        The sum of their exponentials over `total` is the probability, or density, of the secret.
    total : int
    """

    values: ParameterValues
    log_weights: FloatArray
    total: int


@dataclass(frozen=True, kw_only=True, eq=False)
class ForwardDraws:
    """Forward draws for parameters that are observed together, under either secret of a pair.

    Parameters
    ----------
    grid : QuadratureGrid
    names : tuple of str
        What is seen.
    """

    grid: QuadratureGrid
    names: tuple[str, ...]

    @property
    def secrets(self) -> tuple[Interval, Interval]:
        """Return both secrets."""
        return self.grid.pair.first, self.grid.pair.second

    @cached_property
    def all(self) -> tuple[str, ...]:
        """Return all parameters that matter."""
        return tuple(sorted(self.grid.network.graph.ancestral((self.grid.protected, *self.names))))

    @cached_property
    def hidden(self) -> tuple[str, ...]:
        """Return those that are neither seen nor protected."""
        return tuple(name for name in self.all if name not in (*self.names, self.grid.protected))

    @cached_property
    def tied(self) -> bool:
        """Return whether something that is not seen lies below what is."""
        graph, seen = self.grid.network.graph, set(self.names)
        return any(graph.ancestral((name,)) & seen for name in (*self.hidden, self.grid.protected))

    def density(self, name: str, values: ParameterValues) -> FloatArray:
        """Return the log density of a parameter given its parents."""
        parameter = self.grid.parameter(name)
        return log_density(parameter, values[name], [values[parent] for parent in parameter.parents])

    def sampled(self, side: int, seen: Mapping[str, float] | None = None) -> WeightedDraws:
        """Return draws given a secret, and with what is seen set to values if there are any."""
        name, secret, axis = self.grid.protected, self.secrets[side], self.grid.sides(NODES)[side]
        if axis.points > 1 and self.grid.parameter(name).states is None:
            free = self._simulated(seen or {}, FORWARD_DRAWS)
            inside = (free[name] >= secret.low) & (free[name] <= secret.high)
            if np.count_nonzero(inside) >= ENOUGH:
                values = {each: found[inside] for each, found in free.items()}
                return WeightedDraws(values=values, log_weights=np.zeros(np.count_nonzero(inside)), total=FORWARD_DRAWS)
        parts = [
            self._simulated({**(seen or {}), name: float(value)}, max(1, FORWARD_DRAWS // axis.points))
            for value in axis.values
        ]
        values = {each: np.concatenate([part[each] for part in parts]) for each in self.all}
        weights = np.repeat(axis.log_weights, len(parts[0][name]))
        total = len(parts[0][name])
        return WeightedDraws(values=values, log_weights=weights + self.density(name, values), total=total)

    def _simulated(self, given: Mapping[str, float], draws: int) -> dict[str, FloatArray]:
        network = self.grid.network
        found = network.simulator(self.all, draws, seed=network.sampling.seed + 1, given=given, records=1)
        return {name: np.asarray(found[name], dtype=np.float64).reshape(draws) for name in self.all}

    @cached_property
    def sides(self) -> tuple[WeightedDraws, WeightedDraws]:
        """Return draws given either secret."""
        return self.sampled(0), self.sampled(1)

    def telling(self, most: int) -> ParameterValues:
        """Return draws of what is seen, of shape (points,): those that tell most, and some as they come.

        What a draw tells is how much more probable it is given its own secret, or given what is hidden behind it, than
        given others.
        """
        rows: list[FloatArray] = []
        for side, drawn in enumerate(self.sides):
            values = drawn.values
            seen = np.stack([values[name] for name in self.names], axis=1)
            scores = (self._about_secret(values, side), self._about_hidden(values))
            found = [np.argsort(-score)[:most] for score in scores]
            chosen = np.unique(np.concatenate([*found, np.arange(min(most, len(seen)))]))
            rows.append(seen[chosen])
        points = np.unique(np.concatenate(rows), axis=0)
        return {name: points[:, k] for k, name in enumerate(self.names)}

    def _about_secret(self, values: ParameterValues, side: int) -> FloatArray:
        """Return the log ratio of whole draws between their own secret and the other."""
        protected, other = self.grid.protected, self.grid.sides(NODES)[1 - side].values
        exchanged = {**values, protected: np.full(len(values[protected]), other[len(other) // 2])}
        below = [n for n in self.all if n != protected and protected in self.grid.parameter(n).parents]
        return _differences([(self.density(n, values), self.density(n, exchanged)) for n in below], values[protected])

    def _about_hidden(self, values: ParameterValues) -> FloatArray:
        """Return the log ratio of what is seen between what is hidden behind it and what is behind other draws."""
        rows, random = len(values[self.grid.protected]), np.random.default_rng(0)
        apart: list[FloatArray] = []
        for _ in range(SHUFFLES):
            order = random.permutation(rows)
            mixed = {name: array if name in self.names else array[order] for name, array in values.items()}
            pairs = [(self.density(n, values), self.density(n, mixed)) for n in self.names]
            apart.append(_differences(pairs, values[self.grid.protected]))
        return np.min(apart, axis=0)


def _differences(pairs: Iterable[tuple[FloatArray, FloatArray]], like: FloatArray) -> FloatArray:
    total = np.zeros(len(like))
    for one, other in pairs:
        with np.errstate(invalid="ignore"):
            total = total + np.where(np.isneginf(one), -math.inf, one - other)
    return np.where(np.isnan(total), -math.inf, total)


# --------------------------------------------------------------------------------------------------
# Whether grids agree with forward draws: what is narrow lies between the points of a grid, but draws fall on it.
# --------------------------------------------------------------------------------------------------

SETTINGS = 16
"""Draws of everything else, where a line runs along one of several parameters that are integrated out."""

TELLING = {False: 3, True: 2}
"""Draws of each sort at which grids are looked at, if one parameter is integrated out, and if several are."""

LINE_CELLS = {False: 2**17, True: 2**18}
"""Densities on the lines along one parameter, likewise."""

ON_LINE = 2**13 + 1
"""Points of a line, at most."""

SURE = 5.0
"""Standard errors that are more than chance."""

FEWEST_EFFECTIVE_DRAWS = 30.0
"""With fewer draws in effect behind a mean its standard error says little."""

UNLIKELY = 1e3
"""A mean of positive numbers is so many times its expectation in one of so many cases at most."""

MOST_FRONTIERS_KEPT = 8
"""Frontiers whose draws are kept with the grids of a pair."""

FAR = 20.0
"""Sums along lines that differ by this factor differ, whatever their spread."""


@dataclass(frozen=True, kw_only=True)
class MonteCarloCheck:
    """What a comparison of grids with draws led to.

    Parameters
    ----------
    gap : float
        By how much, beyond the error of both, log ratios of the grid differ from what draws show, at most.
    higher : tuple of Place
        A draw at which the log ratio of the grid is larger than what was found, if there is one.
    """

    gap: float
    higher: tuple[Coordinates, ...] = ()


@dataclass(frozen=True, kw_only=True, eq=False)
class GridComparison:
    """A comparison of the grids of what is seen together with forward draws; remembers the draws.

    Parameters
    ----------
    grid : QuadratureGrid
    names : tuple of str
        What is seen.
    """

    grid: QuadratureGrid
    names: tuple[str, ...]
    _fine: dict[tuple[int, str], tuple[FloatArray, FloatArray]] = field(
        default_factory=dict[tuple[int, str], tuple[FloatArray, FloatArray]], repr=False
    )

    def at(self, points: int, depth: float, top: float = math.inf) -> MonteCarloCheck:
        """Compare the grids of one level with draws.

        Parameters
        ----------
        points : int
        depth : float
            As those of `DensityPart`.
        top : float
            The largest log ratio that was found.
        """
        part = DensityPart(grid=self.grid, names=self.names, points=points, depth=depth)
        if any(bool(np.isneginf(top)) for top in part.tops):
            return MonteCarloCheck(gap=math.inf)
        densities = self._by_grid(part)
        names = sorted({*self._integrated(0), *self._integrated(1)})
        gaps = [tuple(self._mean_gaps(side, densities[side]) for side in (0, 1))]
        gaps += [tuple(self._line_gaps(side, name, points, depth) for side in (0, 1)) for name in names]
        with np.errstate(invalid="ignore"):
            ratios = np.nan_to_num(np.abs(densities[0] - densities[1]), nan=0.0)
        best = int(np.argmax(ratios))
        higher = bool(ratios[best] > top + 1e-6 * (1 + abs(top)))
        gap = max(float(np.max(_apart(first, second))) for first, second in gaps)
        return MonteCarloCheck(gap=gap, higher=(self._place(best),) if higher else ())

    @cached_property
    def forward(self) -> ForwardDraws:
        """The draws."""
        return ForwardDraws(grid=self.grid, names=self.names)

    @cached_property
    def seen(self) -> ParameterValues:
        """The points of what is seen at which grids and draws are compared."""
        found = self.forward.telling(TELLING[len(self.forward.hidden) > 1])
        return {name: self._rounded(name, values) for name, values in found.items()}

    def _rounded(self, name: str, values: FloatArray) -> FloatArray:
        """The values that coordinates of values stand for: near an end of a support they may differ."""
        if self.grid.parameter(name).states is not None:
            return values
        scale = self.grid.scale(name)
        return scale.values(scale.coordinates(values))

    @property
    def _count(self) -> int:
        return len(self.seen[self.names[0]])

    def _place(self, k: int) -> Coordinates:
        return tuple(float(axis.coordinates[0]) for axis in self._axes(slice(k, k + 1)))

    def _axes(self, rows: slice) -> list[Axis]:
        """Points of what is seen as axes."""
        axes: list[Axis] = []
        for name in self.names:
            values, states = self.seen[name][rows], self.grid.parameter(name).states
            if states is None:
                scale = self.grid.scale(name)
                axes.append(bare(scale, scale.coordinates(values)))
            else:
                axes.append(listed(values, np.searchsorted(np.array(states), values).astype(np.float64)))
        return axes

    def _by_grid(self, part: DensityPart) -> tuple[FloatArray, FloatArray]:
        """The log densities of the points given either secret."""
        if len(self.names) == 1:
            return part.densities(self._axes(slice(None)))
        both = [part.densities(self._axes(slice(k, k + 1))) for k in range(self._count)]
        first, second = (np.array([float(found[k].ravel()[0]) for found in both]) for k in (0, 1))
        return first, second

    @cached_property
    def _means(self) -> tuple[tuple[FloatArray, FloatArray, FloatArray], ...]:
        """For either secret, by draws: log densities, their relative standard errors, draws in effect."""
        found: list[tuple[FloatArray, FloatArray, FloatArray]] = []
        for side, drawn in enumerate(self.forward.sides):
            secret, behind = _mean_of(drawn.log_weights, drawn.total)
            if behind < FEWEST_EFFECTIVE_DRAWS:  # such draws do not tell how probable the secret is
                nothing = np.full(self._count, -math.inf)
                found.append((nothing, nothing, nothing))
                continue
            rows = [self._mean(side, k) for k in range(self._count)]
            logs, effective = (np.array(column) for column in zip(*rows, strict=True))
            with np.errstate(divide="ignore"):
                found.append((logs - secret, np.sqrt(1 / effective + 1 / behind), effective))
        return tuple(found)

    def _mean(self, side: int, k: int) -> tuple[float, float]:
        point = {name: float(self.seen[name][k]) for name in self.names}
        drawn = self.forward.sampled(side, point) if self.forward.tied else self.forward.sides[side]
        values = {**drawn.values, **{name: np.full(len(drawn.log_weights), point[name]) for name in self.names}}
        logs = drawn.log_weights + sum((self.forward.density(name, values) for name in self.names), 0.0)
        return _mean_of(logs, drawn.total)

    def _mean_gaps(self, side: int, densities: FloatArray) -> FloatArray:
        """By how much draws show more than a grid, in logs and beyond chance."""
        logs, errors, effective = self._means[side]
        with np.errstate(invalid="ignore", over="ignore"):
            above = np.where(np.isneginf(logs), 0.0, logs - densities)
            surely = (effective >= FEWEST_EFFECTIVE_DRAWS) & (-np.expm1(-above) > SURE * errors)
        return np.where(surely | (above > math.log(UNLIKELY)), np.maximum(above, 0.0), 0.0)

    def _line_gaps(self, side: int, name: str, points: int, depth: float) -> FloatArray:
        """By how much sums over a much finer grid of one parameter pass those over its grid, in logs."""
        if name not in self._integrated(side):
            return np.zeros(self._count)
        key = side, name
        if key not in self._fine:
            line = self._line(side, name)
            self._fine[key] = self._along(side, name, line), self._along(side, name, line, prior=True)
        fine, prior = self._fine[key]
        protected = name == self.grid.protected
        axis = self.grid.sides(points)[side] if protected else self.grid.axis(name, points, depth)
        coarse = self._along(side, name, axis)
        with np.errstate(invalid="ignore", divide="ignore"):
            # each draw of everything else counts by how probable it is when this parameter is not known
            one, other = (np.nan_to_num(logs - prior, nan=-math.inf, posinf=math.inf) for logs in (fine, coarse))
            top = np.max(np.maximum(one, other), axis=1, keepdims=True)
            one, other = (np.nan_to_num(np.exp(logs - top), nan=0.0) for logs in (one, other))
            far = np.nan_to_num(np.log(one.sum(axis=1)) - np.log(other.sum(axis=1)), posinf=math.inf, neginf=-math.inf)
        apart = one - other
        error = apart.std(axis=1) / math.sqrt(max(1, apart.shape[1] - 1))
        differs = (np.abs(apart.mean(axis=1)) > SURE * error) | (np.abs(far) > math.log(FAR))
        return np.where(differs, far, 0.0)

    def _free(self, side: int) -> list[str]:
        """What varies given a secret and what is seen."""
        return [*self.forward.hidden, *([] if self.grid.sides(NODES)[side].points == 1 else [self.grid.protected])]

    def _integrated(self, side: int) -> list[str]:
        """What of it is continuous."""
        return [name for name in self._free(side) if self.grid.parameter(name).states is None]

    def _settings(self, side: int) -> int:
        return SETTINGS if len(self._free(side)) > 1 else 1

    def _line(self, side: int, name: str) -> Axis:
        settings = self._settings(side)
        points = min(ON_LINE, LINE_CELLS[settings > 1] // (self._count * settings))
        if name == self.grid.protected:
            return self.grid.side(self.forward.secrets[side], points)
        return steps(self.grid.scale(name), *self.grid.reach(name, 2 * self.grid.base), points)

    def _along(self, side: int, name: str, axis: Axis, *, prior: bool = False) -> FloatArray:
        """Return logs of sums along one parameter, of shape (points of what is seen, draws of everything else).

        With `prior` the densities of what is seen, and of the secret, are left out.
        """
        forward, settings = self.forward, self._settings(side)
        drawn = forward.sides[side]
        rows = np.linspace(0, len(drawn.log_weights) - 1, settings).astype(int)
        values: dict[str, FloatArray] = {each: drawn.values[each][rows][:, np.newaxis] for each in forward.all}
        values |= {each: self.seen[each][:, np.newaxis, np.newaxis] for each in self.names}
        values[name] = axis.values
        free = self._free(side)
        logs = np.zeros((1, settings, axis.points))
        for each in forward.all:
            moves = name in (each, *self.grid.parameter(each).parents)
            if (moves and each in free) if prior else (moves or each not in free):
                logs = logs + forward.density(each, values)
        return np.asarray(log_sum_exp(logs + axis.log_weights, 2))


def _mean_of(logs: FloatArray, total: int) -> tuple[float, float]:
    """The log of a mean of exponentials, and how many draws are behind it in effect."""
    top = float(np.max(logs))
    if not math.isfinite(top):
        return -math.inf, 0.0
    shares = np.exp(logs - top)
    behind = float(shares.sum()) ** 2 / float((shares**2).sum())
    return top + math.log(float(shares.sum()) / total), behind


def _apart(first: FloatArray, second: FloatArray) -> FloatArray:
    """By how much log ratios are off: errors that both secrets share cancel, unless nothing is left of both."""
    with np.errstate(invalid="ignore"):
        return np.nan_to_num(np.abs(first - second), nan=math.inf, posinf=math.inf)


def compared(grid: QuadratureGrid, parts: tuple[tuple[str, ...], ...]) -> tuple[GridComparison, ...]:
    """The comparisons for the parts of a frontier; influence and privacy curve share them."""

    def make() -> tuple[GridComparison, ...]:
        return tuple(GridComparison(grid=grid, names=names) for names in parts)

    return grid.kept.latest("comparisons", parts, MOST_FRONTIERS_KEPT, make)


def monte_carlo_check(
    parts: Sequence[GridComparison], points: int, depth: float, top: float = math.inf
) -> MonteCarloCheck:
    """What the comparisons of all parts of a frontier led to; what they add up to is `top`."""
    found = [each.at(points, depth, top if len(parts) == 1 else math.inf) for each in parts]
    return MonteCarloCheck(gap=sum(each.gap for each in found), higher=found[0].higher if len(found) == 1 else ())


# --------------------------------------------------------------------------------------------------
# Max-influence by quadrature: finer and wider grids until the value does not move.
# --------------------------------------------------------------------------------------------------

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
        last = history[-1].influence
        where = "one point is approached" if supremum.spike else "the range widens"
        how = f"It was {last:.4g} nats on the finest grid, and seems to grow on as {where}."
        if math.isinf(last):
            how = "One of the secrets rules out what is possible under the other."
        return Refinement(value=math.inf, change=math.inf, settled=True, reason=how, history=tuple(history))
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


def _unsettled(history: Sequence[GridLevel], supremum: Supremum) -> Refinement:
    """Where the value never became stable: with small last changes it is still a value, with large ones infinite."""
    last = history[-LEAST_LEVELS:]
    changes = [step.change for step in last if step is not history[0]] or [math.inf]
    change = max(supremum.rest, supremum.coarse, history[-1].lost, *changes)
    known = change <= LOOSE and not supremum.endless
    value = max(step.influence for step in last) + change if known else math.inf
    reason = "Finer grids still change it" + (f" by up to {change:.2g} nats." if change < math.inf else ".")
    return Refinement(value=value, change=change, settled=False, reason=reason, history=tuple(history))
