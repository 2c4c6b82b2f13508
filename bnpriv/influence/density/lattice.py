"""Where to look at the parameters of a network that are tied to a protected one: ranges, points and tables."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import final

import numpy as np

from bnpriv.bound import FloatArray
from bnpriv.errors import SizeError
from bnpriv.influence.density.axes import Axis, bare, between, listed, steps
from bnpriv.influence.density.densities import MOST_QUADRATURE_CELLS, density_table, log_density, missing_mass
from bnpriv.influence.density.scales import Scale
from bnpriv.laws.base import log_sum_exp
from bnpriv.networks.density import DensityNetwork, Parameter
from bnpriv.networks.factors import LogTable, marginal
from bnpriv.networks.graph import Graph
from bnpriv.secrets.values import Interval, IntervalPair

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


@final
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
        self.comparisons: dict[tuple[tuple[str, ...], ...], object] = {}
        self.told: dict[tuple[object, ...], object] = {}
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
