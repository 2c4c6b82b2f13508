"""The law of one record's column given a state of its parameter: by values, by bins or by a distribution.

The proofs for bins are in docs/claims/bins.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from bnpriv import checks
from bnpriv.bound import UNIT_ROUNDOFF, FloatArray, Kind, weakest
from bnpriv.core.columns import (
    GAP_MARK,
    NOT_COUNTED,
    SPREADS,
    Binned,
    Categorical,
    Category,
    Inside,
    State,
    probabilities,
)
from bnpriv.core.distributions import FUNCTION_ERROR, SUM_TOLERANCE, magnitude
from bnpriv.core.interval_masses import at_numbers, is_known, log_masses
from bnpriv.core.schema import Column, NumberColumn, Schema, has_gaps
from bnpriv.errors import FrameworkError, LawError
from bnpriv.toml import toml_key

# --------------------------------------------------------------------------------------------------
# The methods of scipy.stats distributions that are used, and a normal distribution without scipy.stats.
# --------------------------------------------------------------------------------------------------


class Distribution(Protocol):
    """The methods of a frozen scipy.stats distribution that are used."""

    def cdf(self, x: Any, /) -> Any:
        """P(X <= x)."""

    def sf(self, x: Any, /) -> Any:
        """P(X > x), to full precision also where it is small."""

    def logcdf(self, x: Any, /) -> Any:
        """Log P(X <= x)."""

    def logsf(self, x: Any, /) -> Any:
        """Log P(X > x)."""

    def support(self) -> tuple[Any, Any]:
        """The ends of the support."""
        ...

    def std(self) -> Any:
        """The standard deviation."""

    def ppf(self, q: Any, /) -> Any:
        """The quantile."""

    def rvs(self, size: Any = ..., random_state: Any = ...) -> Any:
        """Random draws."""


@dataclass(frozen=True)
class NormalDistribution:
    """A normal distribution like ``scipy.stats.norm(mean, sd)``, without the slow import of scipy.stats.

    Parameters
    ----------
    mean : float
    sd : float
        Standard deviation, above 0.

    Raises
    ------
    LawError
        If one is not a finite number, or `sd` is not above 0.
    """

    mean: float
    sd: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "mean", checks.number("the mean", self.mean, error=LawError))
        object.__setattr__(self, "sd", checks.positive("the standard deviation", self.sd, error=LawError))

    def cdf(self, x: Any, /) -> Any:
        """P(X <= x)."""
        from scipy.special import ndtr

        return ndtr((np.asarray(x) - self.mean) / self.sd)

    def sf(self, x: Any, /) -> Any:
        """P(X > x), to full precision also where it is small."""
        from scipy.special import ndtr

        return ndtr((self.mean - np.asarray(x)) / self.sd)

    def logcdf(self, x: Any, /) -> Any:
        """Log P(X <= x)."""
        from scipy.special import log_ndtr

        return log_ndtr((np.asarray(x) - self.mean) / self.sd)

    def logsf(self, x: Any, /) -> Any:
        """Log P(X > x)."""
        from scipy.special import log_ndtr

        return log_ndtr((self.mean - np.asarray(x)) / self.sd)

    def logpdf(self, x: Any, /) -> Any:
        """The log of the density."""
        z = (np.asarray(x) - self.mean) / self.sd
        return -z * z / 2 - math.log(2 * math.pi) / 2 - math.log(self.sd)

    def support(self) -> tuple[float, float]:
        """The ends of the support."""
        return -math.inf, math.inf

    def std(self) -> float:
        """The standard deviation."""
        return self.sd

    def ppf(self, q: Any, /) -> Any:
        """The quantile."""
        from scipy.special import ndtri

        return self.mean + self.sd * ndtri(np.asarray(q, dtype=np.float64))

    def rvs(self, size: Any = 1, random_state: Any = None) -> Any:
        """Random draws."""
        return cast(Any, self.mean + self.sd * np.random.default_rng(random_state).standard_normal(size))


# --------------------------------------------------------------------------------------------------
# Finite laws: values declared one by one, each with its probability.
# --------------------------------------------------------------------------------------------------

Classifier = Callable[[Any], Hashable]
"""Maps a value of a column to what a query can tell of it; equal results are one cell."""


@dataclass(frozen=True, kw_only=True, eq=False)
class CellMasses:
    """The probabilities of the cells of a column: sets of values that a query cannot tell apart.

    Parameters
    ----------
    values : sequence of length V
        One value of each cell; cells that are alike for the query may come several times.
    logs : ndarray of shape (V,)
        Natural logs of the probabilities; ``-inf`` only where a probability is 0.
    error : float
        Largest absolute error of a log.
    """

    values: Sequence[Any]
    logs: FloatArray
    error: float


@dataclass(frozen=True, kw_only=True)
class FiniteLaw:
    """A law on values that are declared one by one: categories, or numbers.

    Parameters
    ----------
    values : tuple of str, int, bool or float
    probabilities : tuple of float
        One per value, as declared; they sum to one to within 1e-9, by which they are divided where they are used.
    """

    values: tuple[Category | float, ...]
    probabilities: tuple[float, ...]

    def sample(self, records: int, random: np.random.Generator) -> NDArray[Any]:
        """`records` independent draws."""
        chosen = random.choice(len(self.values), size=records, p=self.atoms()[1])
        mixed = isinstance(self.values[-1], str) and not isinstance(self.values[0], str)  # a gap among whole numbers
        return np.array(self.values, dtype=object if mixed else None)[chosen]

    def cells(self, cuts: Iterable[float], told: Classifier) -> CellMasses:
        """Every value as its own cell, with its log probability; `cuts` and `told` are ignored."""
        with np.errstate(divide="ignore"):
            logs = np.log(np.array(self.probabilities)) - math.log(math.fsum(self.probabilities))
        error = UNIT_ROUNDOFF * (FUNCTION_ERROR * (1 + magnitude(logs)) + 4)
        return CellMasses(values=self.values, logs=logs, error=error)

    def atoms(self, cuts: Iterable[float] = ()) -> tuple[NDArray[Any], FloatArray]:
        """The values and their probabilities; `cuts` are ignored."""
        kind = object if isinstance(self.values[-1], (str, bool)) else np.float64
        return np.array(self.values, dtype=kind), np.array(self.probabilities) / math.fsum(self.probabilities)


def between(low: float, high: float) -> float | Fraction:
    """A number strictly between two; a fraction where no double lies between them, which rounds to the lower one."""
    middle = (low + high) / 2
    return middle if low < middle < high else Fraction(low) + (Fraction(high) - Fraction(low)) / 4


# --------------------------------------------------------------------------------------------------
# Laws of numbers inside the bins of a column, and mixtures of them (docs/claims/bins.md).
# --------------------------------------------------------------------------------------------------

MOST_LISTED_NUMBERS = 4096
"""Up to so many whole numbers of a bin, their probabilities are written out one by one."""

PIECES_OF_A_BIN = 256
"""Number of pieces that a bin is cut into where means are approximated."""

LEAST_NORMAL = 2.0**-1000
"""Fractions above this are normal doubles when converted, so that they are rounded once only."""


@dataclass(frozen=True, kw_only=True)
class UniformLaw:
    """The uniform law on an interval, or on the whole numbers from one to another.

    Parameters
    ----------
    lower, upper : float
        Whole numbers, both possible, if `whole`.
    whole : bool
    """

    lower: float
    upper: float
    whole: bool

    def sample(self, records: int, random: np.random.Generator) -> NDArray[Any]:
        """`records` independent draws."""
        if self.whole:
            return random.integers(int(self.lower), int(self.upper) + 1, size=records)
        drawn = self.lower + (self.upper - self.lower) * random.random(records)
        return np.clip(drawn, self.lower, math.nextafter(self.upper, -math.inf))

    def cells(self, cuts: Iterable[float], told: Classifier) -> CellMasses:
        """The cells that a query cannot tell apart, with the logs of their exact probabilities."""
        values: list[Any] = []
        masses: list[Fraction] = []
        mark: object = None
        for value, mass in self._pieces(cuts):
            found = told(value)
            if masses and found == mark:
                masses[-1] += mass
            else:
                values.append(value)
                masses.append(mass)
            mark = found
        logs, errors = zip(*map(_log, masses), strict=True)
        return CellMasses(values=values, logs=np.array(logs), error=max(errors))

    def atoms(self, cuts: Iterable[float] = ()) -> tuple[NDArray[Any], FloatArray]:
        """Representative values of small pieces, none of which straddles a cut, and their probabilities."""
        fine = np.linspace(float(self.lower), float(self.upper), PIECES_OF_A_BIN + 1).tolist()
        ends = self._ends([*cuts, *fine])
        half = Fraction(self.whole, 2)
        values = [float((Fraction(low) + Fraction(high)) / 2 - half) for low, high in pairwise(ends)]
        widths = np.array([float(high - low) for low, high in pairwise(ends)])
        return np.array(values), widths / widths.sum()

    def _ends(self, cuts: Iterable[float]) -> list[float]:
        """Where the pieces begin, and the end of the last; among whole numbers a piece ends where the next begins."""
        if not self.whole:
            return sorted({self.lower, *(cut for cut in cuts if self.lower < cut < self.upper), self.upper})
        first, last = int(self.lower), int(self.upper)
        starts = {n for cut in cuts for n in (math.ceil(cut), math.floor(cut) + 1) if first < n <= last}
        return [first, *sorted(starts), last + 1]

    def _pieces(self, cuts: Iterable[float]) -> list[tuple[Any, Fraction]]:
        """One value of each piece between cuts, and the exact probability of the piece."""
        ends = self._ends(cuts)
        width = Fraction(ends[-1]) - Fraction(ends[0])
        return [
            (low if self.whole else between(low, high), (Fraction(high) - Fraction(low)) / width)
            for low, high in pairwise(ends)
        ]


@dataclass(frozen=True, kw_only=True)
class MixedLaw:
    """The law of a number when only its bin has declared probabilities: a mixture of the laws inside the bins.

    Parameters
    ----------
    parts : tuple of FiniteLaw, UniformLaw or MixedLaw
        The law inside each bin.
    probabilities : tuple of float
        One per bin, as declared; they sum to one to within 1e-9, by which they are divided where they are used.
    """

    parts: tuple[LawInside, ...]
    probabilities: tuple[float, ...]

    def sample(self, records: int, random: np.random.Generator) -> NDArray[Any]:
        """`records` independent draws."""
        masses = np.array(self.probabilities) / math.fsum(self.probabilities)
        places = random.choice(len(self.parts), size=records, p=masses)
        drawn = [part.sample(int(np.count_nonzero(places == k)), random) for k, part in enumerate(self.parts)]
        values = np.empty(records, dtype=np.result_type(*(part.dtype for part in drawn)))
        for k, part in enumerate(drawn):
            values[places == k] = part
        return values

    def cells(self, cuts: Iterable[float], told: Classifier) -> CellMasses:
        """The cells of all bins of positive probability, with the logs of their probabilities."""
        cut = list(cuts)
        total = math.log(math.fsum(self.probabilities))
        tables = [(part.cells(cut, told), math.log(p) - total) for part, p in self._possible]
        largest = max(abs(log) for _, log in tables)
        error = UNIT_ROUNDOFF * (FUNCTION_ERROR * (1 + largest) + 8 + largest)
        logs = np.concatenate([table.logs + log for table, log in tables])
        rounding = UNIT_ROUNDOFF * float(np.max(np.abs(logs[np.isfinite(logs)]), initial=0.0))
        return CellMasses(
            values=[value for table, _ in tables for value in table.values],
            logs=logs,
            error=max(table.error for table, _ in tables) + error + rounding,
        )

    def atoms(self, cuts: Iterable[float] = ()) -> tuple[NDArray[Any], FloatArray]:
        """Representative values of small pieces, none of which straddles a cut, and their probabilities."""
        cut = list(cuts)
        found = [(*part.atoms(cut), p / math.fsum(self.probabilities)) for part, p in self._possible]
        return np.concatenate([v for v, _, _ in found]), np.concatenate([masses * p for _, masses, p in found])

    @property
    def _possible(self) -> list[tuple[LawInside, float]]:
        return [(part, p) for part, p in zip(self.parts, self.probabilities, strict=True) if p > 0]


LawInside = FiniteLaw | UniformLaw | MixedLaw
"""The law of a number given its bin."""


def _log(mass: Fraction) -> tuple[float, float]:
    """The log of an exact probability and a bound on its error; it may lie below the smallest double."""
    if mass > LEAST_NORMAL:
        found = math.log(float(mass))
        return found, UNIT_ROUNDOFF * (FUNCTION_ERROR * (1 + abs(found)) + 4)
    # below the normal doubles the fraction has no accurate double, but its numerator and denominator have logs
    above, below = math.log(mass.numerator), math.log(mass.denominator)
    return above - below, UNIT_ROUNDOFF * (FUNCTION_ERROR * (1 + above + below) + 4)


def laws_inside(column: Binned) -> Sequence[LawInside]:
    """The law of a number given its bin, for each bin in order, and last that of a gap that is not counted.

    Examples
    --------
    >>> laws_inside(Binned([0, 1, 3], within="whole numbers"))[1].values
    (1, 2, 3)
    """
    gap = [FiniteLaw(values=(GAP_MARK,), probabilities=(1.0,))] if has_gaps(column) else []
    return [*(_law_inside(column, column.inside(label), *column.ends(label)) for label in column.labels), *gap]


def _law_inside(column: Binned, law: Inside, lower: float, upper: float) -> LawInside:
    if not isinstance(law, str):
        if set(law) & set(SPREADS):
            listed = {x: FiniteLaw(values=(x,), probabilities=(1.0,)) for x in law if x not in SPREADS}
            parts = tuple(listed.get(x) or _law_inside(column, x, lower, upper) for x in law)
            return MixedLaw(parts=parts, probabilities=tuple(law.values()))
        return FiniteLaw(values=tuple(law), probabilities=tuple(law.values()))
    if law == "uniform":
        return UniformLaw(lower=lower, upper=upper, whole=False)
    last = int(upper) if upper == column.upper else int(upper) - 1
    count = last + 1 - int(lower)
    if count > MOST_LISTED_NUMBERS:
        return UniformLaw(lower=int(lower), upper=last, whole=True)
    return FiniteLaw(values=tuple(range(int(lower), last + 1)), probabilities=(1 / count,) * count)


# --------------------------------------------------------------------------------------------------
# Laws of columns: drawn from to make records up, and cut into cells for the laws of answers.
# --------------------------------------------------------------------------------------------------

BINS = 4096
"""Number of equal bins between two extreme quantiles that approximate a column's values."""

BIN_TAIL = 1e-10
"""Tail probability outside those quantiles; it still counts, in coarser bins."""

LARGEST_ERROR = 1e-3
"""Largest accepted error of the log probability of an interval."""


DeclaredLaw = float | Mapping[Category, float] | Distribution
"""A probability, the probabilities of categories, or a frozen distribution of scipy.stats."""

DeclaredLaws = Mapping[str, DeclaredLaw | Mapping[Any, DeclaredLaw]]
"""For each column one law per state of its parameter, or one law if it is declared independent."""


@dataclass(frozen=True, kw_only=True)
class NumberLaw:
    """A scipy.stats distribution as a column sees it: rounded to its grid and clamped to its bounds.

    Parameters
    ----------
    column : Real, Integer or Binned
    name : str
        Name of the family in scipy.stats.
    parameters : tuple of (str, float)
        Shapes, location and scale.
    quantiles : tuple of float
        Some quantiles where the name does not determine the family; two such laws are equal if these are.
    distribution : Distribution
        The frozen distribution.
    """

    column: NumberColumn
    name: str
    parameters: tuple[tuple[str, float], ...]
    quantiles: tuple[float, ...] = ()
    distribution: Distribution = field(repr=False, compare=False)

    def sample(self, records: int, random: np.random.Generator) -> NDArray[Any]:
        """Independent draws, rounded in an Integer column and clamped to the bounds."""
        drawn = np.asarray(self.distribution.rvs(size=records, random_state=random), dtype=np.float64)
        if not self.column.whole:
            return np.clip(drawn, self.column.lower, self.column.upper)
        return np.clip(np.floor(drawn + 0.5), self.column.lower, self.column.upper).astype(np.int64)

    def atoms(self, cuts: Iterable[float] = ()) -> tuple[NDArray[Any], FloatArray]:
        """Representative values of small bins of the column, and the probabilities of the bins.

        Parameters
        ----------
        cuts : iterable of float
            No bin lies on both sides of one of these, so that comparisons with them have exact probabilities.

        Returns
        -------
        values, probabilities : ndarray of shape (bins,)
            Middles of bins, and the probability of each; the bounds hold what is clamped to them.
        """
        between = np.array([cut for cut in cuts if self.column.lower < cut < self.column.upper])
        if self._whole:
            return self._discrete(between)
        edges = np.unique(np.concatenate([self._grid(), between]))
        middles = (edges[1:] + edges[:-1]) / 2
        return np.concatenate([[self.column.lower], middles, [self.column.upper]]), self._masses(edges)

    @property
    def kind(self) -> Kind:
        """How well probabilities are known: certified for the families that were checked in high precision."""
        return "certified" if not self.quantiles and is_known(self.name) else "estimate"

    @property
    def continuous(self) -> bool:
        """Whether every single number strictly between the bounds has probability 0."""
        return not self._whole

    def cells(self, cuts: Iterable[float], told: Classifier) -> CellMasses:
        """The cells of the column that a query cannot tell apart, with the logs of their probabilities.

        Parameters
        ----------
        cuts : iterable of float
            What a query compares the column with, and the least doubles of its grid steps.
        told : callable
            From a value to what the query sees of it, the same between two cuts.

        Returns
        -------
        CellMasses

        Raises
        ------
        LawError
            If a probability cannot be computed to a known accuracy.
        """
        between = [cut for cut in cuts if self.column.lower < cut < self.column.upper]
        values, ends = (self._whole_pieces if self._whole else self._pieces)(between)
        marks = [told(value) for value in values]
        firsts = [k for k, mark in enumerate(marks) if k == 0 or mark != marks[k - 1]]
        # the clamped values at the bounds take all the mass beyond them: hence edges at minus and plus infinity
        edges = np.array([-math.inf, *(ends[k - 1] for k in firsts[1:]), math.inf])
        name = self.name if not self.quantiles else ""
        logs, errors = log_masses(self.distribution, name, dict(self.parameters), edges[:-1], edges[1:])
        worst = int(np.argmax(errors))
        # NaN must be refused too, so the test is "not small enough" rather than "too large"
        if not errors[worst] <= LARGEST_ERROR:
            raise LawError(
                f"the probability of values between {edges[worst]:g} and {edges[worst + 1]:g} must be known to "
                f"{LARGEST_ERROR:g} of itself",
                found=f"{self.name}, whose distribution function does not tell it so finely",
                remedy="Ask for a wider range of values, or declare the column by the probabilities of few categories.",
            )
        return CellMasses(values=[values[k] for k in firsts], logs=logs, error=float(errors[worst]))

    @property
    def _whole(self) -> bool:
        return self.column.whole or "scale" not in dict(self.parameters)

    def _pieces(self, cuts: Sequence[float]) -> tuple[list[Any], list[float]]:
        """One value of each piece between cuts (each bound is a piece) and the ends of all but the last piece."""
        edges = sorted({float(self.column.lower), *cuts, float(self.column.upper)})
        inside = [between(low, high) for low, high in pairwise(edges)]
        return [self.column.lower, *inside, self.column.upper], edges

    def _whole_pieces(self, cuts: Sequence[float]) -> tuple[list[Any], list[float]]:
        """The same for whole numbers; halves round up, so values just below a half belong to the number below."""
        first, last = math.ceil(self.column.lower), math.floor(self.column.upper)
        if first > last:  # no whole number between the bounds
            return [self.column.lower, self.column.upper], [first - 0.75]
        starts = {first, *(n for cut in cuts for n in (math.ceil(cut), math.floor(cut) + 1) if first < n <= last)}
        edges = [*sorted(starts), last + 1]
        inside = [(low + high - 1) / 2 for low, high in pairwise(edges)]
        ends = [math.nextafter(edge - 0.5, -math.inf) for edge in edges]
        return [self.column.lower, *inside, self.column.upper], ends

    def _grid(self) -> FloatArray:
        """Bin edges: equally spaced between two extreme quantiles, then ever wider out to the bounds."""
        lower, upper = float(self.column.lower), float(self.column.upper)
        ends = np.asarray(self.distribution.ppf([BIN_TAIL, 1 - BIN_TAIL]), dtype=np.float64)
        low, high = (float(end) for end in np.clip(ends, lower, upper))
        outside: FloatArray = 0.5 ** np.arange(64.0)
        far = np.concatenate([low - (low - lower) * outside, high + (upper - high) * outside])
        return np.concatenate([np.linspace(low, high, BINS + 1), far])

    def _discrete(self, cuts: FloatArray) -> tuple[FloatArray, FloatArray]:
        first, last = math.ceil(self.column.lower), math.floor(self.column.upper)
        grid = np.round(self._grid())
        low, high = float(grid[0]), float(grid[BINS])
        if high - low <= BINS:
            grid = np.concatenate([grid, np.arange(low, high + 1)])
        starts = np.unique(np.clip(np.concatenate([grid, np.ceil(cuts), np.floor(cuts) + 1]), first, last))
        if first > last:  # no whole number between the bounds
            starts = np.array([], dtype=np.float64)
        ends = np.append(starts, last + 1.0)
        # halves are rounded up, so that values just below a half belong to the number below
        values = np.concatenate([[self.column.lower], (ends[:-1] + ends[1:] - 1) / 2, [self.column.upper]])
        return values, self._masses(np.nextafter(ends - 0.5, -math.inf))

    def _masses(self, edges: FloatArray) -> FloatArray:
        edges = at_numbers(edges, dict(self.parameters))
        below, above = (
            np.clip(np.asarray(tail, dtype=np.float64), 0.0, 1.0)
            for tail in (self.distribution.cdf(edges), self.distribution.sf(edges))
        )
        # differences are taken in the nearer tail: next to 1 a mass of 1e-20 would vanish, with what it can reveal
        inner = np.where(below[1:] <= 0.5, np.diff(below), -np.diff(above))
        masses = np.maximum(np.concatenate([below[:1], inner, above[-1:]]), 0.0)
        return masses / masses.sum()


ColumnLaw = FiniteLaw | NumberLaw | UniformLaw | MixedLaw


def law_kind(laws: Iterable[ColumnLaw]) -> Kind:
    """How well probabilities under several laws are known: as well as under the worst of them."""
    return weakest(law.kind for law in laws if isinstance(law, NumberLaw))


def column_law(declared: object, column: Column, where: str = "the column") -> ColumnLaw:
    """Read a declared law of a column.

    Parameters
    ----------
    declared : float, mapping or frozen distribution of scipy.stats
        A probability p for ``Integer(0, 1)`` or two categories (the second one has probability p), a mapping from
        values to probabilities (categories, numbers, or labels of bins), or a distribution for a column of numbers.
    column : Real, Integer, Binned or Categorical
    where : str
        What the law belongs to, for messages.

    Returns
    -------
    FiniteLaw or NumberLaw

    Raises
    ------
    LawError
        If the law does not fit the column, names unknown categories, or its probabilities do not sum to one.

    Examples
    --------
    >>> column_law({"f": 0.6, "m": 0.4}, Categorical(["f", "m"])).probabilities
    (0.6, 0.4)
    >>> from bnpriv.core.schema import Integer
    >>> column_law({0: 0.2, 40: 0.8}, Integer(0, 99)).values
    (0, 40)
    >>> column_law(0.25, Integer(0, 1))
    FiniteLaw(values=(0, 1), probabilities=(0.75, 0.25))
    """
    if isinstance(declared, Mapping):
        return _of_values(cast("Mapping[object, object]", declared), column, where)
    if isinstance(declared, (int, float)) or hasattr(declared, "__float__"):
        return _bernoulli(declared, column, where)
    return _of_distribution(declared, column, where)


def bin_laws(
    schema: Schema, states: Mapping[str, tuple[State, ...]], declared: Collection[str] = ()
) -> dict[str, tuple[ColumnLaw, ...]]:
    """The laws inside the bins, for columns whose nodes have bins as states and whose laws are not declared.

    Raises
    ------
    FrameworkError
        If the states of a node are not the labels of its bins.

    Examples
    --------
    >>> from bnpriv.core.schema import Binned
    >>> schema = Schema(records=9, columns={"age": Binned([0, 2, 4], labels=["a", "b"], within="whole numbers")})
    >>> [law.values for law in bin_laws(schema, {"age": ("b", "a")})["age"]]
    [(2, 3, 4), (0, 1)]
    """
    found: dict[str, tuple[ColumnLaw, ...]] = {}
    for name, column in schema.columns.items():
        if not isinstance(column, Binned) or not states.get(name) or name in declared:
            continue
        inside = dict(zip(column.outcomes, laws_inside(column), strict=True))
        named = [str(state) for state in states[name]]
        if set(named) != set(inside):
            unknown = [state for state in named if state not in inside]
            without = [label for label in inside if label not in named]
            spelt = f"{checks.spelling(unknown[0], inside)} " if unknown else ""
            raise FrameworkError(
                f"the states of {name!r} must be the labels of its bins: {checks.listing(map(repr, inside))}",
                found=f"the state {unknown[0]!r}" if unknown else f"no state {without[0]!r}",
                remedy=f"{spelt}Pass labels=[...] to Binned as the states are spelled in the network.",
            )
        found[name] = tuple(inside[state] for state in named)
    return found


def column_laws(
    declared: DeclaredLaws,
    schema: Schema,
    states: Mapping[str, tuple[State, ...]],
    independent: Iterable[str],
    centred: Iterable[str] = (),
) -> dict[str, tuple[ColumnLaw, ...]]:
    """The laws of columns, in the order of the states of their parameters; one law for an independent column.

    Columns that are `centred` at a parameter that may be any number have one law too, that of a record less its
    parameter.

    Raises
    ------
    FrameworkError
        If a column is unknown or no parameter governs it, or a state is unknown or lacks its law.
    LawError
        If a law is not well formed.
    """
    if not isinstance(declared, Mapping):
        found = checks.type_text(declared)
        raise FrameworkError(
            "distributions must be a mapping from columns to distributions", found=found, remedy=_example("height")
        )
    alone, about = frozenset(independent), frozenset(centred)
    laws: dict[str, tuple[ColumnLaw, ...]] = {}
    for name, given in declared.items():
        checks.member("a column with a distribution", name, schema.columns, error=FrameworkError)
        if name in alone:
            laws[name] = (column_law(given, schema[name], f"the independent column {name!r}"),)
        elif name in about:
            laws[name] = (_about_parameter(name, given, schema[name]),)
        elif name in states:
            laws[name] = _per_state(name, given, schema[name], states[name])
        else:
            raise FrameworkError(
                "a column with a distribution must be a node of the network or declared independent",
                found=repr(name),
                remedy=_no_node(name, (*states, *alone, *about)),
            )
    return laws


def _about_parameter(name: str, given: object, column: Column) -> NumberLaw:
    law = None if isinstance(given, Mapping) else column_law(given, column, f"{name!r} about its parameter")
    if not isinstance(law, NumberLaw) or law.name != "norm" or dict(law.parameters)["loc"] != 0:
        raise _refused(
            repr(name),
            "about a parameter that may be any number must be normal with mean 0",
            f"{law.name}, or another mean" if isinstance(law, NumberLaw) else "something else",
            f'Write laws={{"{name}": scipy.stats.norm(0, 8)}}: a record is its parameter plus such a number.',
        )
    return law


def _per_state(name: str, given: object, column: Column, states: tuple[State, ...]) -> tuple[ColumnLaw, ...]:
    if not isinstance(given, Mapping):
        found = checks.type_text(given)
        raise FrameworkError(f"{name!r} needs a distribution per state of its node", found=found, remedy=_example(name))
    chosen = cast("Mapping[State, object]", given)
    if has_gaps(column) and NOT_COUNTED in states:
        chosen = {NOT_COUNTED: {NOT_COUNTED: 1.0}, **chosen}
    missing = [state for state in states if state not in chosen]
    if missing or len(chosen) != len(states):
        unknown = [state for state in chosen if state not in states]
        raise FrameworkError(
            f"{name!r} needs a distribution for exactly the states {checks.listing(states)} of its node",
            found=f"none for {checks.listing(missing)}" if missing else f"one for {checks.listing(unknown)}",
            remedy="Give one distribution per state, spelled as in the network.",
        )
    return tuple(column_law(chosen[state], column, f"{name!r} given {state}") for state in states)


def _no_node(name: str, known: Iterable[str]) -> str:
    near = checks.closest(name, known)
    if near is not None:
        return f"Is {near!r} the same column? Give both one name."
    return (
        "Add it to the network, or to `independent`; in a framework file write independent = true in "
        f"[columns.{toml_key(name)}]."
    )


def _example(name: str) -> str:
    return f'Write laws={{"{name}": {{"state": scipy.stats.norm(165, 8), ...}}}}.'


def _refused(where: str, required: str, found: str, remedy: str) -> LawError:
    return LawError(f"the distribution of {where} {required}", found=found, remedy=remedy)


def _bernoulli(declared: object, column: Column, where: str) -> FiniteLaw:
    p = checks.number(f"the distribution of {where}", declared, error=LawError)
    values = column.categories if isinstance(column, Categorical) else (column.lower, column.upper)
    if len(values) != 2 or not (isinstance(column, Categorical) or (column.whole and values == (0, 1))):
        raise _refused(
            where,
            "is a probability only for Integer(0, 1) or two categories",
            f"{p:g} for a {type(column).__name__} column",
            "Give a distribution of scipy.stats, or a probability for each category.",
        )
    if not 0 <= p <= 1:
        raise _refused(where, "must be a probability between 0 and 1", f"{p:g}", "Correct it.")
    return FiniteLaw(values=cast("tuple[Category, ...]", tuple(values)), probabilities=(1 - p, p))


def _of_values(declared: Mapping[object, object], column: Column, where: str) -> ColumnLaw:
    """A law declared value by value: of categories, of numbers, or of the bins of numbers."""
    if isinstance(column, Categorical):
        return _of_categories(declared, column, where)
    mark = {NOT_COUNTED: GAP_MARK} if has_gaps(column) else {}
    if isinstance(column, Binned) and any(isinstance(key, str) and key not in mark for key in declared):
        bins = _of_categories(declared, Categorical(column.outcomes), where)
        return MixedLaw(parts=tuple(laws_inside(column)), probabilities=bins.probabilities)
    named = {mark.get(cast(Any, key), key): mass for key, mass in declared.items()}
    masses = probabilities(f"the distribution of {where}", named, LawError)
    numbers = [value for value in masses if not (mark and value == GAP_MARK)]
    outside = [value for value in numbers if not column.lower <= value <= column.upper]
    fractions = [value for value in numbers if column.whole and not isinstance(value, int)]
    if outside or fractions:
        kind = "whole numbers" if column.whole else "numbers"
        raise _refused(
            where,
            f"must name {kind} between the bounds {column.lower:g} and {column.upper:g}",
            checks.listing(outside or fractions),
            "Correct it, or widen the bounds of the column.",
        )
    return FiniteLaw(values=tuple(masses), probabilities=tuple(masses.values()))


def _of_categories(declared: Mapping[object, object], column: Categorical, where: str) -> FiniteLaw:
    known = [(type(category), category) for category in column.outcomes]  # True is not 1 here
    unknown = [key for key in declared if (type(key), key) not in known]
    if unknown:
        categories, remedy = checks.listing(column.outcomes), checks.spelling(unknown[0], column.outcomes)
        raise _refused(where, f"must name only {categories}", checks.listing(map(repr, unknown)), remedy)
    what = f"a probability in the distribution of {where}"
    masses = [checks.number(what, declared.get(category, 0), error=LawError) for category in column.outcomes]
    total = math.fsum(masses)
    if not (min(masses) >= 0 and abs(total - 1) <= SUM_TOLERANCE):
        found = f"a sum of {total:.12g}" if min(masses) >= 0 else f"{min(masses):g}"
        raise _refused(where, "must have probabilities of at least 0 that sum to one", found, "Correct it.")
    return FiniteLaw(values=tuple(column.outcomes), probabilities=tuple(masses))


def _of_distribution(declared: object, column: Column, where: str) -> NumberLaw | FiniteLaw:
    if isinstance(declared, NormalDistribution) and not isinstance(column, Categorical):
        parameters = (("loc", declared.mean), ("scale", declared.sd))
        return NumberLaw(column=column, name="norm", parameters=parameters, distribution=declared)
    import scipy.stats
    from scipy.stats.distributions import rv_frozen

    kind = type(declared).__name__
    law = None if isinstance(column, Categorical) else _of_table(declared, column)
    if law is not None:
        return law
    if not isinstance(declared, rv_frozen) or isinstance(column, Categorical):
        raise _refused(
            where,
            "must be a probability, probabilities of categories, or (for numbers) a frozen scipy.stats distribution",
            f"a {kind} for a {type(column).__name__} column",
            "Write for example scipy.stats.norm(165, 8) for numbers, or {category: probability} for categories.",
        )
    frozen = cast(Any, declared)
    below = np.asarray(frozen.cdf([[column.lower], [column.upper]]))
    if below.shape != (2, 1) or not np.isfinite(below).all():
        found = "parameters without a distribution"
        raise _refused(where, "must have numbers in range as parameters", found, "Check location and scale.")
    family = frozen.dist
    parameters = _parameters(frozen)
    if "scale" not in parameters and not parameters["loc"].is_integer():
        found = f"{parameters['loc']:g}"
        raise _refused(where, "must have a whole number as location if it is discrete", found, "Round it.")
    # a histogram, a table of values or a user's own family is identified by its quantiles only
    named = type(getattr(scipy.stats, str(family.name), None)) is type(family)
    return NumberLaw(
        column=column,
        name=str(family.name),
        parameters=tuple(parameters.items()),
        quantiles=() if named else tuple(float(f"{q:.9g}") for q in frozen.ppf(np.linspace(0.01, 0.99, 99))),
        distribution=cast(Distribution, declared),
    )


def _of_table(declared: object, column: NumberColumn) -> FiniteLaw | None:
    """A scipy.stats distribution made from a table of values, as the column counts it; else None."""
    table = cast(Any, getattr(declared, "dist", declared))
    if not hasattr(table, "xk"):
        return None
    shift = _parameters(declared)["loc"] if hasattr(declared, "dist") else 0.0
    masses: dict[float, list[float]] = {}
    for value, mass in zip(np.asarray(table.xk).ravel().tolist(), np.asarray(table.pk).ravel().tolist(), strict=True):
        inside = min(max(float(value) + shift, column.lower), column.upper)
        masses.setdefault(math.floor(inside + 0.5) if column.whole else inside, []).append(mass)
    values = sorted(masses)
    return FiniteLaw(values=tuple(values), probabilities=tuple(math.fsum(masses[value]) for value in values))


def _parameters(frozen: Any) -> dict[str, float]:
    """Shapes, location and (if continuous) scale of a frozen distribution, however they were passed."""
    names = [*filter(None, (frozen.dist.shapes or "").replace(" ", "").split(",")), "loc"]
    names += ["scale"] if hasattr(frozen.dist, "pdf") else []
    given = {"loc": 0.0, "scale": 1.0} | dict(zip(names, frozen.args, strict=False)) | frozen.kwds
    return {name: float(given[name]) for name in names}
