"""Answers to a query on whole made-up tables, drawn given a secret, however rare."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from bnpriv import progress
from bnpriv.bound import FloatArray
from bnpriv.core.column_laws import ColumnLaw
from bnpriv.core.distributions import Atoms, Draws, Normal
from bnpriv.core.frozen import Cache
from bnpriv.core.queries.base import NormalForm
from bnpriv.core.queries.contribution import answers
from bnpriv.core.secrets import Interval
from bnpriv.errors import RefusedError
from bnpriv.kinds.density.network import DensityNetwork, Given, Parameter, Sampling
from bnpriv.kinds.draws.conditions import TRIED, Condition, SecretSide, inside, side_words
from bnpriv.kinds.draws.parameter_draws import ParameterDraws, RowNumbers, weighted_rows, weighted_size

# --------------------------------------------------------------------------------------------------
# How long drawing tables takes: told in advance, and shown on a terminal on the way.
# --------------------------------------------------------------------------------------------------

TRIAL_TABLES = 32
"""Tables that are drawn, and not used, to measure how long one takes."""

LONGEST_TRIAL, MORE = 1.0, 8
"""Seconds that a trial may take, and the factor by which it grows where a few tables foretell a long time."""


@dataclass(frozen=True, kw_only=True)
class DrawTime:
    """How long drawing tables will take.

    Parameters
    ----------
    tables : int
    seconds : float
        As a few tables took.

    Examples
    --------
    >>> str(DrawTime(tables=20_000, seconds=95.0))
    '20,000 tables take about 1.6 min to draw'
    """

    tables: int
    seconds: float

    def __str__(self) -> str:
        return progress.time_text(f"{self.tables:,} tables", self.seconds)


def draw_time(draw: Callable[[int], object], tables: int) -> DrawTime:
    """How long tables will take, from how long a few do.

    Parameters
    ----------
    draw : callable
        Draws so many tables; at least twice, as what is compiled on the way is compiled once.
    tables : int
    """
    few = min(TRIAL_TABLES, tables)
    draw(1)
    taken = _taken(draw, few, tables)
    # fixed costs dominate a small trial: if it foretells a long time, a larger one is made
    while taken / few * tables >= progress.LONG_SECONDS and taken < LONGEST_TRIAL / MORE and few * MORE <= tables:
        few *= MORE
        taken = _taken(draw, few, tables)
    return DrawTime(tables=tables, seconds=taken / few * tables)


def _taken(draw: Callable[[int], object], few: int, tables: int) -> float:
    """How long a few tables take; a time that foretells a long wait is measured twice, as machines are shared."""
    taken = _seconds(draw, few)
    if taken / few * tables < progress.LONG_SECONDS or taken >= LONGEST_TRIAL:
        return taken
    return min(taken, _seconds(draw, few))


def _seconds(draw: Callable[[int], object], tables: int) -> float:
    start = time.perf_counter()
    draw(tables)
    return time.perf_counter() - start


@contextmanager
def paced(expected: DrawTime) -> Generator[Callable[[int], None]]:
    """Announce a long time in advance, and show on a terminal how far drawing has come.

    Yields
    ------
    callable
        To be called with the number of tables that were drawn.
    """
    progress.tell(f"{expected.tables:,} tables", expected.seconds)
    with progress.progress("drawing tables", expected.tables) as step:
        yield step


# --------------------------------------------------------------------------------------------------
# What draws answers: the members that it has, and one that draws from an exact law.
# --------------------------------------------------------------------------------------------------

DrawsBySecret = dict[SecretSide | None, Draws]
"""Draws of the answer for each of several secrets; under None those without a condition."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ExactSampler:
    """Draws answers from their exact law, where the other side of a pair is drawn.

    Parameters
    ----------
    law : Atoms
        Of the answer, one atom for each double that is released.
    sampling : Sampling
    place : int
        Which of several distributions it is, counted from 1.
    """

    law: Atoms
    sampling: Sampling
    place: int

    believed = None

    def reseeded(self, draws: int, seed: int) -> ExactSampler:
        """Return the same with so many draws from another seed."""
        return replace(self, sampling=replace(self.sampling, draws=draws, seed=seed))

    def answers(self, condition: Condition | None, sides: Sequence[SecretSide | None]) -> DrawsBySecret:
        """Return independent draws of the answer; there is no condition."""
        random = np.random.default_rng([self.sampling.seed, *words("distribution"), self.place])
        drawn = drawn_from(self.law, self.sampling.draws, random)
        return dict.fromkeys(sides, Draws(drawn, seed=self.sampling.seed))


def drawn_from(law: Atoms | Normal, draws: int, random: np.random.Generator) -> FloatArray:
    """Independent draws from a law, of shape (draws, outputs)."""
    if isinstance(law, Normal):
        return random.multivariate_normal(law.mean, law.covariance, size=draws)
    weights = law.probabilities / law.probabilities.sum()
    return law.points[random.choice(law.size, size=draws, p=weights)]


def words(text: str) -> tuple[int, ...]:
    """Return a text as numbers that a seed can be made of."""
    data = text.encode()
    return (len(data), *(int.from_bytes(data[k : k + 4], "little") for k in range(0, len(data), 4)))


# --------------------------------------------------------------------------------------------------
# Parameters without draws below those of a posterior, in a secret however rare: points weighed by their density.
# --------------------------------------------------------------------------------------------------

PARTS = 32
"""Equal parts of a secret, in each of which one point is tried for every draw of the posterior."""


@dataclass(frozen=True, kw_only=True, eq=False)
class RareDraws:
    """Points of a secret, each with the draw of the posterior that it goes with, and how probable it is.

    Parameters
    ----------
    rows : ndarray of shape (points,)
    values : ndarray of shape (points,)
    weights : ndarray of shape (points,)
    draws : int
        Of the posterior, of which each goes with `PARTS` points.
    """

    rows: RowNumbers
    values: FloatArray
    weights: FloatArray
    draws: int

    def taken(self, count: int, random: np.random.Generator) -> RowNumbers:
        """Return so many of the points, each as often as its weight asks for."""
        return weighted_rows(np.arange(len(self.rows)), self.weights, count, random)

    @property
    def size(self) -> float:
        """Return how many draws of equal weight they are worth: of the posterior, or of points if those are fewer."""
        return min(weighted_size(self.by_draw), weighted_size(self.weights))

    @property
    def by_draw(self) -> FloatArray:
        """Return the weight of the points of each draw of the posterior."""
        return self.weights.reshape(self.draws, -1).sum(axis=1)


def importance_points(
    network: DensityNetwork, drawn: ParameterDraws, name: str, side: Interval, seed: int
) -> RareDraws | None:
    """Return them, or None where the parameter has draws, finitely many values or no density below what has draws."""
    parameter = network.parameters[name]
    density = parameter.log_density
    above = drawn.parameters.issuperset(parameter.parents)
    if (
        name in drawn.values
        or density is None
        or parameter.states is not None
        or not above
        or not 0 < side.high - side.low < math.inf
    ):
        return None
    known: dict[tuple[str, Interval, int], RareDraws] = network.kept.table("rare")
    key = (name, side, seed)
    if key not in known:
        random = np.random.default_rng(seed)
        shares = (np.arange(PARTS) + random.random((drawn.draws, PARTS))) / PARTS
        values = np.clip(side.low + shares * (side.high - side.low), side.low, side.high).reshape(-1)
        rows = np.repeat(np.arange(drawn.draws), PARTS)
        logs = density(values, *(drawn.values[parent][rows] for parent in parameter.parents))
        if drawn.log_weights is not None:
            logs = logs + drawn.log_weights[rows]
        largest = float(np.max(logs))
        weights = np.exp(logs - largest) if np.isfinite(largest) else np.zeros(len(logs))
        known.clear()  # of one secret at a time: they are large
        known[key] = RareDraws(rows=rows, values=values, weights=weights, draws=drawn.draws)
    return known[key]


RARE_UNDER_DRAW = 0.02
"""Secrets that come up less often under a draw of a posterior are weighed by a density where there is one."""

CELLS_OF_SECRET, POINTS_OF_CELL = 300, 8
"""A cell of a secret is cut as long as it holds more than one of so many parts of the probability; points in each."""

MOST_QUARTERED = 60
"""Times that cells are cut: each to a quarter, so that a double tells no more apart."""

WIDE_GRID = np.sinh(np.linspace(-25, 25, 2001))
"""Where a function is looked at, in spreads of what it depends on."""


WeighedPoints = tuple[FloatArray, FloatArray]
"""Points and their weights, each of shape (points,)."""


def monotone_range(function: Callable[[FloatArray], FloatArray], grid: FloatArray, side: Interval) -> FloatArray | None:
    """Return the points of a grid where a monotone function is in an interval, its ends found to the last digits.

    Parameters
    ----------
    function : callable
        Of an array of points.
    grid : ndarray
        Ascending.
    side : Interval

    Returns
    -------
    ndarray or None
        None if the function is not monotone on the grid, or jumps over the interval.

    Examples
    --------
    >>> found = monotone_range(lambda x: 3 - 2 * x, np.linspace(-5, 5, 11), Interval(0, 2))
    >>> bool(np.allclose(found, [0.5, 1, 1.5]))
    True
    """
    values = function(grid)
    slack = 1e-12 * np.abs(values[1:])
    rises, falls = values[1:] >= values[:-1] - slack, values[1:] <= values[:-1] + slack
    if not (rises.all() or falls.all()):
        return None
    sign = 1.0 if rises.all() else -1.0
    low, high = sorted((sign * side.low, sign * side.high))
    below, above = sign * values < low, sign * values > high
    first = grid[0] if not below.any() else _crossing(lambda x: sign * function(x) < low, grid, int(below.sum()))
    last = grid[-1] if not above.any() else _crossing(lambda x: sign * function(x) <= high, grid, int((~above).sum()))
    return np.unique(np.concatenate([[first], grid[(grid > first) & (grid < last)], [last]])) if first < last else None


def _crossing(holds: Callable[[FloatArray], NDArray[np.bool_]], grid: FloatArray, place: int) -> float:
    """Return where what holds up to the point of a grid before `place` ends."""
    for _ in range(6):
        if place in (0, len(grid)):
            break
        grid = cast(FloatArray, np.linspace(grid[place - 1], grid[place], 1001))
        place = int(np.count_nonzero(holds(grid)))
    return float(grid[min(place, len(grid) - 1)])


def dense_points(
    density: Callable[[FloatArray], FloatArray], edges: FloatArray, random: np.random.Generator
) -> WeighedPoints | None:
    """Return points of an interval, many where it is probable, and their weights; None where no cell has any.

    Parameters
    ----------
    density : callable
        The log density at an array of points.
    edges : ndarray
        Ascending, from one end of the interval to the other; they are cut further where much of the probability is.
    random : numpy Generator

    Examples
    --------
    >>> points, weights = dense_points(lambda x: -(x**2) / 2, np.array([300.0, 1e6]), np.random.default_rng(0))
    >>> bool(abs(np.average(points - 300, weights=weights) * 300 - 1) < 0.01)
    True
    """
    shares = np.ones(len(edges) - 1)
    for _ in range(MOST_QUARTERED):
        logs, widths = density(edges), np.diff(edges)
        if not np.all(logs < math.inf) or not np.any(logs > -math.inf):
            return None
        cells = np.maximum(logs[1:], logs[:-1]) + np.log(widths)
        shares = np.exp(cells - cells.max())
        large = (shares * CELLS_OF_SECRET > shares.sum()) & (
            widths > 8 * np.spacing(np.abs(edges[1:]) + np.abs(edges[:-1]))
        )
        if not large.any():
            break
        cuts = [edges[:-1][large] + share * widths[large] for share in (0.25, 0.5, 0.75)]
        edges = np.unique(np.concatenate([edges, *cuts]))
    else:
        return None
    low, widths = (each[shares * 1e9 > shares.sum()] for each in (edges[:-1], np.diff(edges)))
    places = (np.arange(POINTS_OF_CELL) + random.random((len(low), POINTS_OF_CELL))) / POINTS_OF_CELL
    points = (low[:, None] + places * widths[:, None]).reshape(-1)
    logs = density(points) + np.repeat(np.log(widths), POINTS_OF_CELL)
    return points, np.exp(logs - logs.max())


# --------------------------------------------------------------------------------------------------
# Answers to a query on whole made-up tables, drawn given a secret: independent draws from the answer's exact law.
# --------------------------------------------------------------------------------------------------

LEAST_MET = 2
"""In how many of the tried draws a secret must come up: one that is rarer takes too long."""

MOST_NUMBERS_AT_ONCE = 2**23
"""Numbers in the tables that are held at once."""

TRIAL_PATH = 2**32 - 4
"""Where the seeds stand of the tables that only show how long one takes."""

LEAST_TIMED_NUMBERS = 2**19
"""Fewer numbers in all tables take no time worth telling."""

MOST_SAMPLED_NUMBERS = 2**36
"""Numbers in all tables that are drawn for one protected attribute."""

FIRST_TRIAL = 2**32 - 1
"""Where the seeds of tried draws start, counted down; those of kept ones are counted up from 0."""

ROW_ORDER = 2**32 - 2
"""Where the seed stands by which draws of a posterior are put in order."""

DRAWN_ABOVE = 2**32 - 3
"""Where the seeds stand of parameters that are drawn before the tables below them."""


@dataclass(frozen=True, kw_only=True, eq=False)
class AnswerSampler:
    """Draws answers from a model that is known by forward draws.

    Parameters
    ----------
    network : DensityNetwork
    form : NormalForm
        The query.
    columns : tuple of str
        The queried columns that the network draws.
    independent : mapping from str to ColumnLaw
        The other queried columns.
    sampling : Sampling
    place : int
        Which of several models it is, counted from 1, so that each has seeds of its own; 0 for the only one.
    row : int, optional
        The draw of a posterior that fixes the parameters that are not protected; None where each draw counts as much
        as another, or there are none.
    """

    network: DensityNetwork
    form: NormalForm
    columns: tuple[str, ...]
    independent: Mapping[str, ColumnLaw]
    sampling: Sampling
    place: int = 0
    row: int | None = None
    kept: Cache = field(default_factory=Cache, init=False, repr=False)

    def reseeded(self, draws: int, seed: int) -> AnswerSampler:
        """Return the same with so many draws from another seed."""
        return replace(self, sampling=replace(self.sampling, draws=draws, seed=seed))

    def answers(self, condition: Condition | None, sides: Sequence[SecretSide | None]) -> DrawsBySecret:
        """Return independent draws of the answer given each of several secrets.

        Parameters
        ----------
        condition : Condition or None
            What is secret; None for tables as they are drawn.
        sides : sequence of secrets
            Each with positive probability, or one that can be set; None for no condition.

        Returns
        -------
        dict from secret to Draws
            The draws of disjoint secrets are independent of each other.

        Raises
        ------
        RefusedError
            If a secret is too rare, or has probability zero.
        NetworkError
            If the simulator refuses.
        """
        if condition is None:
            return dict.fromkeys(sides, self._whole())
        chosen = [side for side in sides if side is not None]
        fixed = self.fixed(condition.parameters)
        settings = {side: condition.settings(side, lambda name: self.network.settable(name, fixed)) for side in chosen}
        given = {side: known for side, known in settings.items() if known is not None}
        drawn: DrawsBySecret = {side: self._set(condition, known) for side, known in given.items()}
        kept = [side for side in chosen if side not in given]
        if self.believed is not None and self.believed.values.keys() & set(condition.parameters):
            return {**drawn, **{side: self._believed(condition, side) for side in kept}}
        if all(self.rare(condition, side) is not None for side in kept) and kept:
            return {**drawn, **{side: self._rare(condition, side) for side in kept}}
        if self.row is not None and condition.parameters and kept:
            self.require_met(condition, kept)
            return {**drawn, **{side: self._below(condition, side) for side in kept}}
        return {**drawn, **self._kept(condition, kept)} if kept else drawn

    def check(self, condition: Condition, sides: Sequence[SecretSide]) -> None:
        """Raise what `answers` would if a secret of a parameter is too rare, before any table is drawn."""
        fixed = self.fixed(condition.parameters)
        kept = [s for s in sides if condition.settings(s, lambda name: self.network.settable(name, fixed)) is None]
        if condition.parameters and kept:
            self.require_met(condition, kept)

    @property
    def believed(self) -> ParameterDraws | None:
        """Return the draws whose law is that of the parameters, or None if there are none."""
        drawn = self.network.drawn
        return drawn if drawn is not None and drawn.reading == "belief" else None

    def fixed(self, protected: Iterable[str]) -> frozenset[str]:
        """Return the parameters that a draw of a posterior fixes where some are protected; none without such draws."""
        if self.network.drawn is None or self.row is None:
            return frozenset()
        return self.network.drawn.fixed(self._loose(protected))

    def _loose(self, protected: Iterable[str]) -> frozenset[str]:
        """Return protected parameters and those between them and the columns."""
        between = (self.network.between(name, frozenset(self.columns)) for name in protected)
        return frozenset(name for names in between for name in names)

    def _whole(self) -> Draws:
        """Draw tables without a condition."""
        self._check_work(1.0, self._width(None))
        rows = None
        if self.believed is not None:
            every = np.arange(self.believed.draws)
            rows = self.believed.taken(every, self.sampling.draws, np.random.default_rng(self._seed((ROW_ORDER,))))
        return self._tables((), {}, (), rows)

    def _believed(self, condition: Condition, side: SecretSide) -> Draws:
        """Draw tables given those draws of a posterior in which a parameter is inside."""
        self._check_work(1.0, self._width(None))
        assert self.believed is not None
        rows = np.flatnonzero(inside(side, condition.values(self.believed.values), condition.near))
        path = (*words(condition.name), *words(repr(side)))
        order = self.believed.taken(rows, self.sampling.draws, np.random.default_rng(self._seed((*path, ROW_ORDER))))
        return self._tables(path, {}, (), order)

    def rare(self, condition: Condition, side: SecretSide) -> RareDraws | None:
        """Return weighted draws of a parameter that has none, but a density below what has some; None otherwise."""
        if self.believed is None or len(condition.parameters) != 1 or not isinstance(side, Interval):
            return None
        path = (*words(condition.name), *words(repr(side)), ROW_ORDER)
        return importance_points(self.network, self.believed, condition.parameters[0], side, self._seed(path))

    def _rare(self, condition: Condition, side: SecretSide) -> Draws:
        """Draw tables given a parameter without draws, at points of the secret that are weighed by its density."""
        self._check_work(1.0, self._width(None))
        found, path = self.rare(condition, side), (*words(condition.name), *words(repr(side)))
        assert found is not None
        places = found.taken(self.sampling.draws, np.random.default_rng(self._seed((*path, DRAWN_ABOVE))))
        return self._tables(path, {condition.name: found.values[places]}, (), found.rows[places])

    def _set(self, condition: Condition, given: Mapping[str, float]) -> Draws:
        """Draw with parameters set, which is to condition on them where nothing that varies is above them."""
        self._check_work(1.0, self._width(None))
        path = (*words(condition.name), *words(f"{next(iter(given.values()))!r}"))
        return self._tables(path, given, condition.parameters)

    def _below(self, condition: Condition, side: SecretSide) -> Draws:
        """Draw a parameter and what lies above it until it is inside often enough, and then tables below these."""
        self._check_work(1.0, self._width(None))
        wanted, path = self.sampling.draws, (*words(condition.name), *words(repr(side)))
        share = self._met(condition, [side])[side] / TRIED
        if share < RARE_UNDER_DRAW and (alone := self._alone(condition)) is not None:
            points = self._points(condition, side, alone)
            if points is not None:
                chosen = weighted_rows(np.arange(len(points[0])), points[1], wanted, self._random((*path, ROW_ORDER)))
                return self._tables(path, {alone.name: points[0][chosen]}, condition.parameters)
        names = self._varying(condition)
        kept: list[Mapping[str, NDArray[np.float64]]] = []
        have = 0
        while have < wanted:
            count = min(MOST_NUMBERS_AT_ONCE // len(names), math.ceil(1.05 * (wanted - have) / share) + 16)
            drawn = self._drawn(names, count, (*path, len(kept), DRAWN_ABOVE), {}, condition.parameters)
            met = inside(side, condition.values(drawn), condition.near)
            kept.append({each: drawn[each][met] for each in names})
            have += int(met.sum())
        values = {each: np.concatenate([part[each] for part in kept])[:wanted] for each in names}
        return self._tables(path, values, condition.parameters)

    def _varying(self, condition: Condition) -> tuple[str, ...]:
        """Return a parameter with what lies above it and is not fixed by the draw of a posterior."""
        assert self.network.drawn is not None
        above = self.network.graph.ancestral(condition.parameters) - self.fixed(condition.parameters)
        return tuple(sorted(self.network.drawn.whole(above)))

    def _alone(self, condition: Condition) -> Parameter | None:
        """Return the only random number with which a secret varies, if it has a density; None otherwise.

        None with a confidence too: draws that are weighed are not independent.
        """
        varying = [self.network.parameters[name] for name in self._varying(condition)]
        random = [each for each in varying if not each.varies_with]
        if len(random) != 1 or random[0].states is not None or self.sampling.confidence is not None:
            return None
        fixed = self.fixed(condition.parameters).issuperset(random[0].parents)
        return random[0] if fixed and random[0].log_density is not None else None

    def _points(self, condition: Condition, side: SecretSide, alone: Parameter) -> WeighedPoints | None:
        """Return points of the only random number of a secret at which it is true, and their weights.

        None where the secret is not seen to be a monotone function of it, or has no probability.
        """
        known: dict[tuple[Condition, SecretSide], WeighedPoints | None] = self.kept.table("points")
        if (condition, side) not in known:
            known[condition, side] = self._points_of(condition, side, alone) if isinstance(side, Interval) else None
        return known[condition, side]

    def _points_of(self, condition: Condition, side: Interval, alone: Parameter) -> WeighedPoints | None:
        density, drawn = alone.log_density, self.network.drawn
        assert density is not None
        assert drawn is not None
        path = (*words(condition.name), *words(repr(side)), DRAWN_ABOVE)
        above = [drawn.values[parent][self.row] for parent in alone.parents]

        def value(points: FloatArray) -> FloatArray:
            given = {alone.name: points}
            return condition.values(self._drawn(condition.parameters, len(points), path, given, condition.parameters))

        def log_density(points: FloatArray) -> FloatArray:
            return density(points, *(np.full(len(points), each) for each in above))

        usual = self._drawn((alone.name,), 1000, path, {}, condition.parameters)[alone.name]
        low, middle, high = np.quantile(usual, [0.25, 0.5, 0.75])
        grid = np.unique(np.clip(middle + (high - low) * WIDE_GRID, alone.lower, alone.upper))
        with np.errstate(all="ignore"):
            edges = monotone_range(value, grid, side)
            found = None if edges is None else dense_points(log_density, edges, self._random(path))
        if found is None:
            return None
        weights = np.where(inside(side, value(found[0]), condition.near), found[1], 0.0)
        return (found[0], weights) if weights.any() else None

    def _random(self, path: tuple[int, ...]) -> np.random.Generator:
        return np.random.default_rng(self._seed(path))

    def _tables(
        self,
        path: tuple[int, ...],
        given: Mapping[str, Given],
        protected: tuple[str, ...],
        rows: RowNumbers | None = None,
    ) -> Draws:
        """Draw all tables of one secret, with parameters set, or taken from given draws of a posterior."""
        batches: list[NDArray[np.float64]] = []
        wanted, done = self.sampling.draws, 0
        with paced(self._expected(wanted, self._width(None), protected)) as advance:
            while done < wanted:
                count = min(wanted - done, max(1, MOST_NUMBERS_AT_ONCE // self._width(None)))
                taken = None if rows is None else rows[done : done + count]
                own = {each: _part(value, done, count) for each, value in given.items()}
                place = (*path, len(batches))
                drawn = self._drawn(self.columns, count, place, own, protected, taken)
                batches.append(self._answers(drawn, count, place))
                done += count
                advance(count)
        return Draws(np.concatenate(batches), seed=self.sampling.seed)

    def _kept(self, condition: Condition, sides: Sequence[SecretSide]) -> dict[SecretSide, Draws]:
        """Draw from the model as it is and keep the tables for which the secret is true."""
        rarest = self.require_met(condition, sides)
        width = self._width(condition)
        self._check_work(rarest, width)
        wanted, path = self.sampling.draws, words(condition.name)
        kept: dict[SecretSide, list[NDArray[np.float64]]] = {side: [] for side in sides}
        have, tables = dict.fromkeys(sides, 0), 0
        names = tuple(dict.fromkeys((*condition.parameters, *condition.columns, *self.columns)))
        number = 0
        with paced(self._expected(math.ceil(1.05 * wanted / rarest), width, condition.parameters)) as advance:
            while min(have.values()) < wanted:
                needed = math.ceil(1.05 * (wanted - min(have.values())) / rarest) + 16
                count = min(needed, max(1, MOST_NUMBERS_AT_ONCE // width))
                drawn = self._drawn(names, count, (*path, number), {}, condition.parameters)
                batch, values = self._answers(drawn, count, (*path, number)), condition.values(drawn)
                for side in sides:
                    met = inside(side, values, condition.near)
                    kept[side].append(batch[met])
                    have[side] += int(met.sum())
                tables, number = tables + count, number + 1
                advance(count)
        seed = self.sampling.seed
        return {
            side: Draws(np.concatenate(parts)[:wanted], seed=seed, share=have[side] / tables)
            for side, parts in kept.items()
        }

    def require_met(self, condition: Condition, sides: Sequence[SecretSide]) -> float:
        """Return how often the rarest of some secrets comes up.

        Raises
        ------
        RefusedError
            If one hardly does, and it is not known by a density.
        """
        tried = condition.tried(self.form.schema.records)
        met = self._met(condition, sides)
        rarest = min(sides, key=lambda side: met[side])
        unknown = [s for s in sides if met[s] < LEAST_MET and not self._known_by_density(condition, s)]
        if unknown:
            what = "tables" if condition.columns else "draws of its parameter"
            drawn, under, other = self.network.drawn, "", ""
            if self.row is not None and drawn is not None:
                under = f" under draw {self.row + 1} of the {drawn.draws} of the posterior that are models"
                other = ' Or pass reading="belief", which holds all draws together.'
            raise RefusedError(
                f"a secret must come up in at least {LEAST_MET} of {tried:,} {what}",
                found=f"{condition.name} in {side_words(unknown[0])} in {met[unknown[0]]}{under}",
                remedy=f"Choose a wider or a more probable interval.{other}",
            )
        return met[rarest] / tried

    def _known_by_density(self, condition: Condition, side: SecretSide) -> bool:
        alone = None if self.row is None or condition.columns else self._alone(condition)
        return alone is not None and self._points(condition, side, alone) is not None

    def _met(self, condition: Condition, sides: Sequence[SecretSide]) -> dict[SecretSide, int]:
        """Return in how many of the tried draws each secret comes up."""
        known: dict[tuple[Condition, SecretSide], int] = self.kept.table("met")
        missing = [side for side in sides if (condition, side) not in known]
        if missing:
            values = np.concatenate(list(self._tried(condition, condition.tried(self.form.schema.records))))
            for side in missing:
                known[condition, side] = int(np.count_nonzero(inside(side, values, condition.near)))
        return {side: known[condition, side] for side in sides}

    def _tried(self, condition: Condition, tried: int) -> Iterator[FloatArray]:
        """Yield values of what is secret, from draws that are used for nothing else."""
        names = (*condition.parameters, *condition.columns)
        at_once = max(1, MOST_NUMBERS_AT_ONCE // (self.form.schema.records * len(condition.columns) or 1))
        for k, start in enumerate(range(0, tried, at_once)):
            path = (*words(condition.name), FIRST_TRIAL - 8 * k)
            yield condition.values(self._drawn(names, min(at_once, tried - start), path, {}, condition.parameters))

    def _drawn(
        self,
        names: tuple[str, ...],
        count: int,
        path: tuple[int, ...],
        given: Mapping[str, Given],
        protected: tuple[str, ...] = (),
        rows: RowNumbers | None = None,
    ) -> Mapping[str, NDArray[np.float64]]:
        """Return joint draws; of a posterior parameters are taken as this sampler reads it."""
        if not names:
            return {}
        loose = frozenset[str]()
        if self.row is not None:
            rows, loose = np.full(count, self.row), self._loose(protected)
        records, seed = self.form.schema.records, self._seed(path)
        return self.network.simulate(names, count, seed=seed, given=given, records=records, rows=rows, loose=loose)

    def _answers(
        self, drawn: Mapping[str, NDArray[np.float64]], count: int, path: tuple[int, ...]
    ) -> NDArray[np.float64]:
        """Return the answers to drawn tables; independent columns are drawn here."""
        records = self.form.schema.records
        tables: dict[str, NDArray[Any]] = {name: drawn[name] for name in self.columns}
        random = np.random.default_rng([self.sampling.seed, *self._path(path), 1])
        for name, law in self.independent.items():
            tables[name] = law.sample(count * records, random).reshape(count, records)
        return answers(self.form, tables)

    def _width(self, condition: Condition | None) -> int:
        """Return the numbers in one table."""
        read = {*self.columns, *self.independent, *(() if condition is None else condition.columns)}
        return self.form.schema.records * max(1, len(read))

    def _path(self, path: tuple[int, ...]) -> tuple[int, ...]:
        return path if not self.place else (*words("distribution"), self.place, *path)

    def _seed(self, path: tuple[int, ...]) -> int:
        """Return a seed of its own for every batch."""
        state = np.random.SeedSequence([self.sampling.seed, *self._path(path)]).generate_state(1, np.uint64)
        return int(state[0] >> np.uint64(1))

    def time(self, condition: Condition | None, secrets: int) -> DrawTime:
        """Return how long the tables under so many secrets will take to draw.

        Parameters
        ----------
        condition : Condition or None
            What is secret.
        secrets : int
        """
        tables, width = secrets * self.sampling.draws, self._width(condition)
        return self._time(tables, width, () if condition is None else condition.parameters)

    def _expected(self, tables: int, width: int, protected: tuple[str, ...]) -> DrawTime:
        # of models each of which is a draw of a posterior the time is told for all together
        return DrawTime(tables=tables, seconds=0.0) if self.row is not None else self._time(tables, width, protected)

    def _time(self, tables: int, width: int, protected: tuple[str, ...]) -> DrawTime:
        if tables * width < LEAST_TIMED_NUMBERS:
            return DrawTime(tables=tables, seconds=0.0)
        known = self.believed

        def draw(few: int) -> object:  # to put all draws of a posterior in order takes longer than a few tables
            rows = None if known is None else np.arange(few) % known.draws
            return self._drawn(self.columns, few, (TRIAL_PATH, few), {}, protected, rows)

        return draw_time(draw, tables)

    def _check_work(self, share: float, width: int) -> None:
        numbers = self.sampling.draws / share * width
        if numbers > MOST_SAMPLED_NUMBERS:
            raise RefusedError(
                f"the tables that are drawn for one attribute may hold {MOST_SAMPLED_NUMBERS:.3g} numbers",
                found=f"about {numbers:.3g}" + ("" if share == 1 else f", as 1 table of {1 / share:,.0f} is kept"),
                remedy="Take fewer draws, or more probable intervals.",
            )


AnswerSource = AnswerSampler | ExactSampler
"""What draws answers to one query, of whole tables."""


def _part(value: Given, start: int, count: int) -> Given:
    """Return the values that a parameter is set to in some of the draws."""
    return value[start : start + count] if isinstance(value, np.ndarray) else value
