"""Grids over the parameters that are tied to a protected one: ranges, points, weights, coordinates."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import cast

import numpy as np

from bnpriv.bound import UNIT_ROUNDOFF, FloatArray
from bnpriv.checks import listing
from bnpriv.core.distributions import log_sum_exp
from bnpriv.core.frozen import Cache
from bnpriv.core.networks.factors import LogTable, marginal
from bnpriv.core.networks.graph import Graph
from bnpriv.core.secrets import Interval, IntervalPair
from bnpriv.errors import NetworkError, SizeError
from bnpriv.kinds.density.network import DensityNetwork, Parameter

# --------------------------------------------------------------------------------------------------
# Coordinates in which every density falls off fast at both ends of its support.
# --------------------------------------------------------------------------------------------------

LARGEST_LOG_QUOTIENT = 170.0
"""Natural log of the largest and the least distance from a finite end of a support, or from heavy tails' centre.

The square of a quotient of two such distances is still a double.
"""

FARTHEST_WIDTHS = 1e8
"""Distance from the centre in widths, where tails are light."""

HEAVY = 2.4
"""Tails are heavy where the outermost draws lie this many times as far from the middle as the middle four fifths."""


@dataclass(frozen=True, kw_only=True)
class Scale:
    """A map from a coordinate t to the values of a parameter.

    Its centre is where draws are, and it is nearly linear there. Beyond, values approach a finite end of the support,
    or infinity, as the exponential of sinh(t), so that equal steps of t make a quadrature rule that singular ends and
    heavy tails do not spoil.

    Parameters
    ----------
    lower, upper : float
        The support.
    centre, width : float
        Of the draws, after the support was mapped to all numbers.
    heavy : bool
        Whether a parameter without finite ends has heavy tails.

    Notes
    -----
    Double exponential quadrature: Takahasi, Mori, "Double exponential formulas for numerical integration" (Publications
    of RIMS 9, 1974).

    Examples
    --------
    >>> scale = Scale.of(0.0, 1.0, np.array([0.2, 0.3, 0.4]))
    >>> scale.values(np.array([-2.0, 0.0, 2.0])).round(3).tolist()
    [0.124, 0.3, 0.566]
    """

    lower: float
    upper: float
    centre: float
    width: float
    heavy: bool = False

    @classmethod
    def of(cls, lower: float, upper: float, draws: FloatArray) -> Scale:
        """The scale whose centre and width are those of `draws`."""
        inside = draws[(draws > lower) & (draws < upper) & np.isfinite(draws)]
        if not inside.size:
            return cls(lower=lower, upper=upper, centre=0.0, width=1.0)
        mapped = cls(lower=lower, upper=upper, centre=0.0, width=1.0)._unbounded(inside)
        low, tenth, middle, ninth, high = (float(x) for x in np.quantile(mapped, (0.005, 0.1, 0.5, 0.9, 0.995)))
        spread = ninth - tenth
        endless = not math.isfinite(lower) and not math.isfinite(upper)
        heavy = endless and max(high - middle, middle - low) > HEAVY * spread / 2
        least = 1e-9 * max(abs(middle), 1e-290 if endless else 1.0)
        return cls(lower=lower, upper=upper, centre=middle, width=max(spread / 2.56, least), heavy=heavy)

    @property
    def ends(self) -> tuple[float, float]:
        """The least and the largest t whose values differ from the ends of the support, and do not overflow."""
        if self.heavy:
            return -math.asinh(LARGEST_LOG_QUOTIENT), math.asinh(LARGEST_LOG_QUOTIENT)
        low, high = -LARGEST_LOG_QUOTIENT, LARGEST_LOG_QUOTIENT
        length = self.upper - self.lower if math.isfinite(self.upper - self.lower) else 1.0
        if not math.isfinite(self.lower) and not math.isfinite(self.upper):
            return -math.asinh(FARTHEST_WIDTHS), math.asinh(FARTHEST_WIDTHS)
        if math.isfinite(self.lower):
            low = _nearest(self.lower, length)
        if math.isfinite(self.upper):
            high = -_nearest(self.upper, length)
        return math.asinh((low - self.centre) / self.width), math.asinh((high - self.centre) / self.width)

    def values(self, t: FloatArray) -> FloatArray:
        """The values at coordinates."""
        from scipy.special import expit

        inner = self._inner(t)
        if math.isfinite(self.lower) and math.isfinite(self.upper):
            near = (self.upper - self.lower) * np.asarray(expit(-np.abs(inner)))
            return np.where(inner < 0, self.lower + near, self.upper - near)
        if math.isfinite(self.lower):
            return self.lower + np.exp(inner)
        if math.isfinite(self.upper):
            return self.upper - np.exp(-inner)
        return self.centre + self.width * np.sinh(inner) if self.heavy else inner

    def log_slope(self, t: FloatArray) -> FloatArray:
        """The log of the derivative of the values by t."""
        from scipy.special import log_expit

        inner = self._inner(t)
        outer = _log_cosh(t) + (0.0 if self.heavy else math.log(self.width))
        if math.isfinite(self.lower) and math.isfinite(self.upper):
            sides = log_expit(inner) + log_expit(-inner)
            return np.asarray(outer + math.log(self.upper - self.lower) + sides)
        if math.isfinite(self.lower):
            return outer + inner
        if math.isfinite(self.upper):
            return outer - inner
        return outer + _log_cosh(inner) + math.log(self.width) if self.heavy else outer

    def coordinates(self, values: FloatArray) -> FloatArray:
        """Return t of values, at most at the ends."""
        low, high = self.ends
        inside = np.clip(values, self.lower, self.upper)
        if self.heavy:
            t = np.arcsinh(np.arcsinh((inside - self.centre) / self.width))
        else:
            with np.errstate(divide="ignore"):
                t = np.arcsinh((self._unbounded(inside) - self.centre) / self.width)
        return np.clip(t, low, high)

    def _inner(self, t: FloatArray) -> FloatArray:
        return np.sinh(t) if self.heavy else self.centre + self.width * np.sinh(t)

    def _unbounded(self, values: FloatArray) -> FloatArray:
        """Map the support to all numbers."""
        if math.isfinite(self.lower) and math.isfinite(self.upper):
            return np.log(values - self.lower) - np.log(self.upper - values)
        if math.isfinite(self.lower):
            return np.log(values - self.lower)
        return -np.log(self.upper - values) if math.isfinite(self.upper) else values


def _nearest(end: float, length: float) -> float:
    """The log of the least distance from an end that doubles tell from none, in lengths of the support."""
    return max(-LARGEST_LOG_QUOTIENT, math.log(4 * math.ulp(end)) - math.log(length))


def _log_cosh(t: FloatArray) -> FloatArray:
    size = np.abs(t)
    return size + np.log1p(np.exp(-2 * size)) - math.log(2)


# --------------------------------------------------------------------------------------------------
# The points at which one parameter is looked at, and their weights in integrals.
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, eq=False)
class Axis:
    """Points of one parameter.

    Parameters
    ----------
    coordinates : ndarray of shape (points,)
        Ascending; positions in the list of states for a parameter of finitely many.
    values : ndarray of shape (points,)
    log_weights : ndarray of shape (points,)
        An integral is the sum of the integrand times the weights; 0 where none is meant.
    """

    coordinates: FloatArray
    values: FloatArray
    log_weights: FloatArray

    @property
    def points(self) -> int:
        """How many points there are."""
        return self.values.size


def steps(scale: Scale, low: float, high: float, points: int) -> Axis:
    """Return equal steps of the coordinate with their weights in integrals."""
    t = np.linspace(low, high, points)
    width = (high - low) / (points - 1)
    return Axis(coordinates=t, values=scale.values(t), log_weights=scale.log_slope(t) + np.log(width))


def bare(scale: Scale, coordinates: FloatArray) -> Axis:
    """Points without weights."""
    return Axis(coordinates=coordinates, values=scale.values(coordinates), log_weights=np.zeros(coordinates.size))


def between(scale: Scale, low: float, high: float, points: int) -> Axis:
    """Points dense at both ends of an interval of the coordinate, with their weights in integrals."""
    u = np.linspace(-3.0, 3.0, points)
    bent = np.pi / 2 * np.sinh(u)
    half = (high - low) / 2
    # measured from the nearer end, so that points close to it keep their digits
    share = np.exp(-np.abs(bent)) / np.cosh(bent) * half
    t = np.where(u < 0, low + share, high - share)
    slope = np.log(half * np.pi / 2 * np.cosh(u)) - 2 * np.log(np.cosh(bent)) + np.log(6.0 / (points - 1))
    return Axis(coordinates=t, values=scale.values(t), log_weights=scale.log_slope(t) + slope)


def listed(states: FloatArray, positions: FloatArray) -> Axis:
    """Return states of a parameter of finitely many, each of weight 1."""
    return Axis(coordinates=positions, values=states, log_weights=np.zeros(states.size))


# --------------------------------------------------------------------------------------------------
# Tables of conditional densities over points.
# --------------------------------------------------------------------------------------------------

MOST_QUADRATURE_CELLS = 2**25
"""Largest table of a quadrature."""

HIGHEST = 700.0
"""Stands for the log of a density that is infinite at a point."""

LOWEST_LOG_DENSITY = -1e300
"""Stands for the logs of densities of which a few would overflow when added."""


def without_density(network: DensityNetwork, names: Iterable[str]) -> tuple[str, ...]:
    """Return those of `names` and their ancestors whose density cannot be had."""
    needed = network.graph.ancestral(names)
    return tuple(sorted(name for name in needed if network.parameters[name].log_density is None))


def log_density(parameter: Parameter, value: FloatArray, parents: Sequence[FloatArray]) -> FloatArray:
    """Return the log density at arrays that broadcast; -inf where it is no number.

    Raises
    ------
    NetworkError
        If the parameter has none, or its result has another shape.
    """
    if parameter.log_density is None:
        raise NetworkError(
            f"quadrature needs the density of {parameter.name!r} given its parents",
            found="none",
            remedy="Declare the model with scalar parameters that have densities, or ask about other columns.",
        )
    whole = np.broadcast_arrays(value, *parents)
    flat = [np.ascontiguousarray(array, dtype=np.float64).ravel() for array in whole]
    with np.errstate(all="ignore"):
        logs = np.asarray(parameter.log_density(flat[0], *flat[1:]), dtype=np.float64)
    if logs.shape != flat[0].shape:
        raise NetworkError(
            f"the log density of {parameter.name!r} must have the shape of its arguments",
            found=f"shape {logs.shape} for {flat[0].shape}",
            remedy="Return one number for every point.",
        )
    clean = np.clip(logs, LOWEST_LOG_DENSITY, HIGHEST)
    clean[~(logs > -np.inf)] = -np.inf
    return cast(FloatArray, clean.reshape(whole[0].shape))


def density_table(parameter: Parameter, axes: Mapping[str, Axis], most_cells: int = MOST_QUADRATURE_CELLS) -> LogTable:
    """Return log density plus log weight over the points of a parameter and its parents.

    Raises
    ------
    SizeError
        If the table would have more than `most_cells` cells.
    """
    family = (parameter.name, *parameter.parents)
    shape = tuple(axes[name].points for name in family)
    cells = int(np.prod(shape, dtype=np.float64))
    if cells > most_cells:
        raise too_large(cells, family, most_cells)
    spread = [
        axes[name].values.reshape([-1 if k == j else 1 for k in range(len(family))]) for j, name in enumerate(family)
    ]
    logs = log_density(parameter, spread[0], spread[1:])
    weights = axes[parameter.name].log_weights.reshape([-1] + [1] * len(parameter.parents))
    values = np.broadcast_to(logs, shape) + weights
    magnitude = float(np.max(np.abs(values), where=np.isfinite(values), initial=0.0))
    return LogTable(axes=family, values=values[np.newaxis], error=16 * UNIT_ROUNDOFF * magnitude)


def too_large(cells: int, family: Iterable[str], most_cells: int) -> SizeError:
    """Return the refusal of a table."""
    return SizeError(
        f"a table of a quadrature may have at most {most_cells:,} cells",
        found=f"{cells:,} for {listing(family)}",
        remedy="Query fewer columns at once, or declare parameters in steps (of finitely many states).",
    )


def missing_mass(table: LogTable, depths: Sequence[FloatArray]) -> float:
    """Return how far columns of a table are from summing to 1; one counts less the less probable its parents are.

    Parameters
    ----------
    table : LogTable
        Of a parameter with its parents.
    depths : sequence of ndarray
        For the points of every parent how much less probable they are than the most probable ones, in logs.
    """
    sums = np.asarray(log_sum_exp(table.values, 1))[0]
    depth = np.zeros(())
    for k, each in enumerate(depths):
        depth = depth + each.reshape([-1 if j == k else 1 for j in range(len(depths))])
    with np.errstate(over="ignore"):
        return float(np.max(np.abs(np.expm1(np.minimum(sums, HIGHEST))) * np.exp(-depth)))


# --------------------------------------------------------------------------------------------------
# Where to look at the parameters of a network that are tied to a protected one: ranges, points and tables.
# --------------------------------------------------------------------------------------------------

RANGE_DRAWS = 2000
"""Forward draws, under each side of a pair, that tell where parameters are."""

ENOUGH_DRAWS = 20
"""How many draws inside an interval tell where a parameter is in it."""

SHARES = (0.0, 0.02, 0.1, 0.25, 0.5, 0.75, 0.9, 0.98, 1.0)
"""Quantiles of draws at which densities are looked at beside the grid."""

RANGE_POINTS = 257
"""Places at which it is found out how far a parameter reaches."""

MOST_SETTINGS = 400
"""Settings of the parents that are tried for that."""

DEPTH = 40.0
"""How much less probable, in logs, the ends of a first grid are than its peak."""

DEEPEST = 320.0
"""The same for the deepest grid."""

DEPTHS = tuple(DEPTH * 2.0**k for k in range(13))
"""Depths that are tried for secrets in a far tail."""

EDGE = 30.0
"""How much less probable the ends of the ancestors of secrets must be."""

BEYOND = 1e6
"""Stands for an infinite depth."""

COARSE_POINTS = 44
"""Points of every axis when that is found out."""

KEPT_CELLS = 2**24
"""Cells of all tables that are remembered."""


MOST_SUMMED = 2**20
"""Largest table of a group of parameters that is summed out once for all points of what is seen."""


class QuadratureGrid:
    """Grids of the parameters for one pair of secrets; remembers what it has computed.

    Parameters
    ----------
    network : DensityNetwork
    protected : str
    pair : IntervalPair
        Both secrets must have a part inside the support.
    """

    def __init__(self, network: DensityNetwork, protected: str, pair: IntervalPair) -> None:
        self.network = network
        self.protected = protected
        self.pair = pair
        self.kept = Cache()
        self._scales: dict[str, Scale] = {}
        self._depths: dict[str, tuple[FloatArray, FloatArray]] = {}
        self._axes: dict[tuple[str, int, float], Axis] = {}
        self._sides: dict[int, tuple[Axis, Axis]] = {}
        self._tables: dict[tuple[str, int, float], LogTable] = {}
        self._sums: dict[tuple[frozenset[str], frozenset[str], int, float], LogTable] = {}

    def parameter(self, name: str) -> Parameter:
        """A parameter."""
        return self.network.parameters[name]

    @cached_property
    def below(self) -> frozenset[str]:
        """The descendants of the protected parameter."""
        graph = self.network.graph
        return frozenset(name for name in graph.nodes if self.protected in graph.ancestral((name,)) - {name})

    @cached_property
    def free(self) -> Mapping[str, FloatArray]:
        """Return forward draws."""
        return self._simulated({})

    @cached_property
    def given(self) -> tuple[Mapping[str, FloatArray], ...]:
        """Return forward draws with the protected parameter set to values of the secrets."""
        return tuple(self._simulated({self.protected: value}) for value in dict.fromkeys(self._typical))

    def _simulated(self, given: Mapping[str, float]) -> Mapping[str, FloatArray]:
        names, seed = self.network.attributes, self.network.sampling.seed
        found = self.network.simulator(names, RANGE_DRAWS, seed=seed, given=given, records=1)
        return {name: np.asarray(found[name], dtype=np.float64) for name in names}

    @cached_property
    def _typical(self) -> tuple[float, ...]:
        """Return values of the secrets: of an interval those that are probable in it."""
        found: list[float] = []
        for side in (self.pair.first, self.pair.second):
            axis = self.side(side, round(4 * math.sqrt(COARSE_POINTS)))
            if axis.points <= 2:
                found += axis.values.tolist()
                continue
            drawn = self.free[self.protected]
            inside = drawn[(drawn >= side.low) & (drawn <= side.high)]
            values = inside if inside.size >= ENOUGH_DRAWS else axis.values
            found += np.quantile(values, (0.02, 0.5, 0.98)).tolist()
        return tuple(found)

    def sampled(self, name: str) -> tuple[FloatArray, ...]:
        """The draws that tell where a parameter is."""
        chosen = self.given if name in self.below else (self.free,)
        return tuple(each[name] for each in chosen)

    def scale(self, name: str) -> Scale:
        """The scale of a continuous parameter."""
        if name not in self._scales:
            parameter = self.parameter(name)
            self._scales[name] = Scale.of(parameter.lower, parameter.upper, np.concatenate(self.sampled(name)))
        return self._scales[name]

    def depths(self, name: str) -> tuple[FloatArray, FloatArray]:
        """Return coordinates, and how much less probable than at the peak a parameter is there and beyond, in logs."""
        if name not in self._depths:
            scale = self.scale(name)
            drawn = scale.coordinates(np.quantile(np.concatenate(self.sampled(name)), SHARES))
            t = np.unique(np.concatenate((np.linspace(*scale.ends, RANGE_POINTS), drawn)))
            logs = self._profile(name, t)
            depth = np.max(logs) - logs if np.isfinite(np.max(logs)) else np.zeros(t.size)
            left = np.minimum.accumulate(depth)
            right = np.minimum.accumulate(depth[::-1])[::-1]
            self._depths[name] = t, np.maximum(left, right)
        return self._depths[name]

    def _profile(self, name: str, t: FloatArray) -> FloatArray:
        """The log of the largest mass per step of the coordinate over settings of the parents."""
        parents, unlikely = self._settings(self.parameter(name).parents)
        scale = self.scale(name)
        values = scale.values(t)[:, np.newaxis]
        logs = log_density(self.parameter(name), values, [column[np.newaxis] for column in parents])
        return np.max(np.broadcast_to(logs, (t.size, unlikely.size)) - unlikely, axis=1) + scale.log_slope(t)

    def _settings(self, parents: Sequence[str]) -> tuple[list[FloatArray], FloatArray]:
        """Return settings of parents, of shape (settings,) each, and how improbable they are."""
        if not parents:
            return [], np.zeros(1)
        most = max(3, min(15, int(MOST_SETTINGS ** (1 / len(parents)))))
        lists = [self._some(name, most) for name in parents]
        places = np.array(list(itertools.product(*(range(values.size) for values, _ in lists))), dtype=np.intp).T
        columns = [values[place] for (values, _), place in zip(lists, places, strict=True)]
        unlikely = sum((depth[place] for (_, depth), place in zip(lists, places, strict=True)), np.zeros(1))
        sources = self.given if {self.protected, *self.below}.intersection(parents) else (self.free,)
        rows = [np.concatenate([each[name][:32] for each in sources]) for name in parents]
        joined = [np.concatenate(both) for both in zip(columns, rows, strict=True)]
        return joined, np.concatenate((unlikely, np.zeros(rows[0].size)))

    def _some(self, name: str, most: int) -> tuple[FloatArray, FloatArray]:
        """A few values of a parent over its whole range, and how improbable they are."""
        states = self.parameter(name).states
        if name == self.protected:
            values = np.array(self._typical)
            return values, np.zeros(values.size)
        if states is not None:
            values = np.array(states)[np.linspace(0, len(states) - 1, min(most, len(states))).astype(int)]
            return values, np.zeros(values.size)
        t = np.linspace(*self.reach(name, DEEPEST), most)
        return self.scale(name).values(t), self.depth_at(name, t)

    def depth_at(self, name: str, coordinates: FloatArray) -> FloatArray:
        """How much less probable than at its peak a parameter is at coordinates; 0 for finitely many states."""
        if self.parameter(name).states is not None or name == self.protected:
            return np.zeros(coordinates.size)
        known, depth = self.depths(name)
        return np.interp(coordinates, known, np.where(np.isfinite(depth), depth, BEYOND))

    def reach(self, name: str, depth: float) -> tuple[float, float]:
        """The coordinates between which a parameter is not less probable than `depth`."""
        t, known = self.depths(name)
        inside = np.flatnonzero(known <= depth)
        return float(t[max(inside[0] - 1, 0)]), float(t[min(inside[-1] + 1, t.size - 1)])

    @cached_property
    def base(self) -> float:
        """The depth of the first grids: that where the ancestors of the protected parameter are given it too."""
        return next((depth for depth in DEPTHS if self._reaches(depth)), DEPTHS[-1])

    @cached_property
    def reaches(self) -> bool:
        """Whether the grids reach to where the ancestors of the protected parameter are given either secret."""
        return self._reaches(self.base)

    def _reaches(self, depth: float) -> bool:
        """Whether the ends of the ancestors' ranges are improbable given either secret, or ends of supports."""
        for name in self.network.graph.ancestral((self.protected,)) - {self.protected}:
            if self.parameter(name).states is not None:
                continue
            try:
                joint = self.joint((self.protected, name), COARSE_POINTS, depth)
            except SizeError:
                return True
            for logs in sided(joint, self.sides(COARSE_POINTS)):
                ends, limits = self.reach(name, depth), self.scale(name).ends
                open_ends = [logs[k] for k in (0, -1) if ends[k] != limits[k]]
                if any(end > np.max(logs) - EDGE for end in open_ends):
                    return False
        return True

    def axis(self, name: str, points: int, depth: float) -> Axis:
        """The points of a parameter in integrals; of the protected one those of both secrets."""
        key = (name, points, depth)
        if key not in self._axes:
            states = self.parameter(name).states
            if name == self.protected:
                axis = joined(self.sides(points))
            elif states is not None:
                axis = listed(np.array(states), np.arange(len(states), dtype=np.float64))
            else:
                axis = steps(self.scale(name), *self.reach(name, depth), points)
            self._axes[key] = axis
        return self._axes[key]

    def sides(self, points: int) -> tuple[Axis, Axis]:
        """The points of the two secrets."""
        if points not in self._sides:
            count = max(20, round(4 * math.sqrt(points)))
            self._sides[points] = self.side(self.pair.first, count), self.side(self.pair.second, count)
        return self._sides[points]

    def side(self, side: Interval, count: int) -> Axis:
        """Return so many points of a secret; of finitely many states all, and one of a value."""
        parameter = self.parameter(self.protected)
        if parameter.states is not None:
            inside = [k for k, state in enumerate(parameter.states) if side.low <= state <= side.high]
            return listed(np.array(parameter.states)[inside], np.array(inside, dtype=np.float64))
        start, end = max(side.low, parameter.lower), min(side.high, parameter.upper)
        if not start <= end or (start == end and side.low != side.high):
            return listed(np.zeros(0), np.zeros(0))
        if start == end:
            return Axis(coordinates=np.zeros(1), values=np.array([start]), log_weights=np.zeros(1))
        low, high = self._inside(start, end)
        return between(self.scale(self.protected), low, high, count)

    def _inside(self, start: float, end: float) -> tuple[float, float]:
        """The coordinates of the part of an interval where the protected parameter can well be."""
        scale = self.scale(self.protected)
        low, high = (float(t) for t in scale.coordinates(np.array([start, end])))
        # an interval without an end is looked at as far as the parameter may well be, and as far again
        least, most = self.reach(self.protected, 2 * DEPTH)
        low = low if math.isfinite(low) else min(least, high - (most - least))
        high = high if math.isfinite(high) else max(most, low + (most - least))
        t = between(scale, low, high, RANGE_POINTS).coordinates
        logs = self._profile(self.protected, t)
        likely = np.flatnonzero(logs >= np.max(logs) - 2 * DEPTH) if np.isfinite(np.max(logs)) else np.arange(t.size)
        first, last = int(likely[0]), int(likely[-1])
        return (low if first == 0 else float(t[first - 1])), (high if last == t.size - 1 else float(t[last + 1]))

    def explored(self, name: str, points: int, depth: float) -> Axis:
        """Points without weights over the range of a parameter that is seen, some of them where draws are."""
        states = self.parameter(name).states
        if states is not None:
            return self.axis(name, points, depth)
        low, high = self.reach(name, depth)
        shares = np.linspace(0.02, 0.98, max(1, points // 4))
        drawn = [self.scale(name).coordinates(np.quantile(each, shares)) for each in self.sampled(name)]
        t = np.unique(np.concatenate((np.linspace(low, high, points), *drawn)))
        return bare(self.scale(name), t)

    def table(self, name: str, points: int, depth: float, special: Mapping[str, Axis]) -> LogTable:
        """The table of a parameter, with `special` points for some."""
        family = (name, *self.parameter(name).parents)
        usual = not any(member in special for member in family)
        key = (name, points, depth)
        if usual and key in self._tables:
            return self._tables[key]
        axes = {member: special.get(member) or self.axis(member, points, depth) for member in family}
        table = density_table(self.parameter(name), axes)
        if usual and sum(kept.values.size for kept in self._tables.values()) + table.values.size <= KEPT_CELLS:
            self._tables[key] = table
        return table

    def joint(
        self, names: Sequence[str], points: int, depth: float, special: Mapping[str, Axis] | None = None
    ) -> FloatArray:
        """The log of the joint density times weights over points of `names`."""
        fixed = special or {}
        needed = sorted(self.network.graph.ancestral(names))
        tables = {name: self.table(name, points, depth, fixed) for name in needed}
        for inner in inner_groups(self.network.graph, needed, frozenset(names), frozenset(fixed)):
            found = self._summed(inner, tables, points, depth)
            if found is not None:
                done, table = found
                tables = {name: each for name, each in tables.items() if name not in done}
                tables[min(done)] = table
        return marginal(tables.values(), names, most_cells=MOST_QUADRATURE_CELLS).values[0]

    def _summed(
        self, inner: frozenset[str], tables: Mapping[str, LogTable], points: int, depth: float
    ) -> tuple[frozenset[str], LogTable] | None:
        """Which tables hold parameters of a group, and their product with the group summed out.

        None if that is too large to be worth remembering.
        """
        done = frozenset(name for name, table in tables.items() if inner.intersection(table.axes))
        key = (inner, done, points, depth)
        if key not in self._sums:
            keep = sorted({axis for name in done for axis in tables[name].axes} - inner)
            sizes = {axis: size for name in done for axis, size in tables[name].sizes().items()}
            if math.prod(sizes[axis] for axis in keep) > MOST_SUMMED:
                return None
            self._sums[key] = marginal([tables[name] for name in sorted(done)], keep, most_cells=MOST_QUADRATURE_CELLS)
        return done, self._sums[key]

    def prior(self, points: int, depth: float) -> FloatArray:
        """The log of the density times weight of the protected parameter at the points of both secrets."""
        return self.joint((self.protected,), points, depth)

    def lost(self, names: Iterable[str], points: int, depth: float) -> float:
        """How far the densities of `names` are from summing to 1 over their points."""
        worst = 0.0
        for name in names:
            table = self.table(name, points, depth, {})
            above = self.parameter(name).parents
            depths = [self.depth_at(parent, self.axis(parent, points, depth).coordinates) for parent in above]
            worst = max(worst, missing_mass(table, depths))
        return worst


def joined(sides: tuple[Axis, Axis]) -> Axis:
    """The points of two axes as one."""
    first, second = sides
    return Axis(
        coordinates=np.concatenate((first.coordinates, second.coordinates)),
        values=np.concatenate((first.values, second.values)),
        log_weights=np.concatenate((first.log_weights, second.log_weights)),
    )


def sided(logs: FloatArray, sides: tuple[Axis, Axis]) -> tuple[FloatArray, FloatArray]:
    """The log of the sums over the points of either secret, which run along the first axis."""
    split = sides[0].points
    return _total(logs[:split]), _total(logs[split:])


def _total(logs: FloatArray) -> FloatArray:
    if not logs.shape[0]:
        return np.full(logs.shape[1:], -math.inf)
    return np.asarray(log_sum_exp(logs, 0))


def inner_groups(
    graph: Graph, needed: Sequence[str], kept: frozenset[str], special: frozenset[str]
) -> list[frozenset[str]]:
    """The groups of connected parameters, apart from `kept`, that share no table with `special`.

    Examples
    --------
    >>> graph = Graph({"a": (), "h": ("a",), "k": ("h",), "q": ("k",)})
    >>> inner_groups(graph, ["a", "h", "k", "q"], frozenset({"a", "q"}), frozenset({"q"}))
    [frozenset({'h'})]
    """
    families = [frozenset({name, *graph.parents[name]}) for name in needed]
    touched = frozenset(name for family in families if family & special for name in family)
    left = set(needed) - kept - touched
    groups: list[frozenset[str]] = []
    while left:
        group, todo = set[str](), [min(left)]
        while todo:
            name = todo.pop()
            if name not in group:
                group.add(name)
                todo.extend(other for family in families if name in family for other in family & left)
        groups.append(frozenset(group))
        left -= group
    return groups
