"""Whether grids agree with forward draws: what is narrow lies between the points of a grid, but draws fall on it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import cast, final

import numpy as np

from bnpriv.bound import FloatArray
from bnpriv.influence.density.axes import Axis, bare, listed, steps
from bnpriv.influence.density.forward import ForwardDraws, ParameterValues
from bnpriv.influence.density.lattice import QuadratureGrid
from bnpriv.influence.density.part import Coordinates, DensityPart
from bnpriv.laws.base import log_sum_exp

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


@final
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


@final
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
        return [*self.forward.hidden, *([] if self.forward.holds_value(side) else [self.grid.protected])]

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
    kept = grid.comparisons
    if parts not in kept:
        while len(kept) >= MOST_FRONTIERS_KEPT:
            del kept[next(iter(kept))]
        kept[parts] = tuple(GridComparison(grid=grid, names=names) for names in parts)
    return cast("tuple[GridComparison, ...]", kept[parts])


def monte_carlo_check(
    parts: Sequence[GridComparison], points: int, depth: float, top: float = math.inf
) -> MonteCarloCheck:
    """What the comparisons of all parts of a frontier led to; what they add up to is `top`."""
    found = [each.at(points, depth, top if len(parts) == 1 else math.inf) for each in parts]
    return MonteCarloCheck(gap=sum(each.gap for each in found), higher=found[0].higher if len(found) == 1 else ())
