"""The built-in queries: each says which weighted sums over records it is."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from numbers import Integral
from typing import TYPE_CHECKING, ClassVar, NoReturn, SupportsFloat, TypeVar, cast

from bnpriv import checks
from bnpriv.bound import Bound, up
from bnpriv.core.columns import decimal
from bnpriv.core.queries.base import GivenAnswer, Indicator, Output, Power, Query
from bnpriv.core.queries.predicates import (
    And,
    Col,
    ColumnBin,
    Constant,
    Predicate,
    bins_of,
    checked_bins,
    column_name,
    distinct,
    literals,
    quoted,
)
from bnpriv.core.schema import Schema
from bnpriv.errors import QueryError, SizeError

if TYPE_CHECKING:
    import pandas as pd

# --------------------------------------------------------------------------------------------------
# Cross tables: counts of every cell that the bins of several columns make.
# --------------------------------------------------------------------------------------------------

MOST_CROSSED = 1000
"""The most cells of one query: each is an output with a sum of its own."""

CrossedColumn = tuple[str, tuple[Constant, ...] | None]
"""A column, and its edges or categories if they were given."""

CROSSTAB, COUNTS_BY = "a crosstab", "counts by a column"


@dataclass(frozen=True, kw_only=True)
class Crosstab(Query):
    """How many records fall into each cell of several columns; made by `crosstab`."""

    axes: tuple[CrossedColumn, ...]

    def __post_init__(self) -> None:
        axes: tuple[CrossedColumn, ...] = _axes(CROSSTAB, self.axes)
        object.__setattr__(self, "axes", axes)
        if len(axes) == 1:
            ((name, bins),) = axes
            alone = quoted(name) if bins is None else f"{quoted(name)}, {literals(bins)}"
            raise QueryError(
                "a crosstab needs two columns or more",
                found=_texts(axes),
                remedy=f"Ask for the histogram of one column: histogram({alone}).",
            )

    @property
    def columns(self) -> frozenset[str]:
        """The columns that the query reads."""
        return frozenset(name for name, _ in self.axes)

    def outputs(self, schema: Schema) -> tuple[Output, ...]:
        """One count per cell; the last column changes fastest."""
        return tuple(_counted(cell) for cell in _cells(CROSSTAB, self.axes, schema))

    def __str__(self) -> str:
        return f"crosstab({_texts(self.axes)})"


@dataclass(frozen=True, kw_only=True)
class CountBy(Query):
    """How many records of each group satisfy `predicate`; made by `count(...).by(...)`."""

    predicate: Predicate
    axes: tuple[CrossedColumn, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "axes", _axes(COUNTS_BY, self.axes))

    @property
    def columns(self) -> frozenset[str]:
        """The columns that the query reads."""
        return self.predicate.columns.union(name for name, _ in self.axes)

    def outputs(self, schema: Schema) -> tuple[Output, ...]:
        """One count per group; the last column changes fastest."""
        cells = _cells(COUNTS_BY, self.axes, schema)
        return tuple(_counted(cell, self.predicate) for cell in cells)

    def __str__(self) -> str:
        return f"count({self.predicate}) by {_texts(self.axes)}"


def axes_of(
    columns: Iterable[str], bins: Mapping[str, Iterable[Constant]] | None, what: str
) -> tuple[CrossedColumn, ...]:
    """The columns, each with the bins that were given for it.

    Raises
    ------
    QueryError
        If bins are given for another column, or are no list of edges or categories.
    """
    names = tuple(column_name(name) for name in columns)
    if bins is None:
        return tuple((name, None) for name in names)
    if not isinstance(bins, Mapping):
        raise QueryError(
            f"the bins of {what} are a mapping from columns to edges",
            found=checks.type_text(bins),
            remedy='Pass bins={"age": [17, 45, 90]}.',
        )
    for name in bins:
        checks.member(f"a column with bins in {what}", name, names, error=QueryError)
    return tuple((name, checked_bins(bins[name], what) if name in bins else None) for name in names)


def _axes(what: str, axes: Iterable[CrossedColumn]) -> tuple[CrossedColumn, ...]:
    listed = tuple((column_name(name), None if bins is None else checked_bins(bins, what)) for name, bins in axes)
    distinct(what, [name for name, _ in listed])
    return listed


def _cells(what: str, axes: Iterable[CrossedColumn], schema: Schema) -> Iterable[tuple[ColumnBin, ...]]:
    """The cells; too many are refused before any is made."""
    bins = {name: bins_of(name, schema[name], given, what) for name, given in axes}
    size = math.prod(map(len, bins.values()))
    if size > MOST_CROSSED:
        each = checks.listing(f"{len(found):,} of {name}" for name, found in bins.items())
        raise SizeError(
            f"one question may count at most {MOST_CROSSED:,} cells",
            found=f"{size:,}: {each}",
            remedy="Ask for fewer bins or categories, or for fewer columns at once.",
        )
    return product(*bins.values())


def _counted(cell: tuple[ColumnBin, ...], predicate: Predicate | None = None) -> Output:
    label = ", ".join(each.label for each in cell)
    conditions = (*(() if predicate is None else (predicate,)), *(each.condition for each in cell))
    condition = conditions[0] if len(conditions) == 1 else And(conditions)
    return Output(
        label if predicate is None else f"count({predicate}) for {label}", ((Fraction(1), Indicator(condition)),)
    )


def _texts(axes: Iterable[CrossedColumn]) -> str:
    return ", ".join(quoted(name) + ("" if bins is None else f" {literals(bins)}") for name, bins in axes)


# --------------------------------------------------------------------------------------------------
# Counts, sums, means and histograms: each says which weighted sums over records it is.
#
# Users make them with the functions of `bnpriv.core.queries.asked`.
# --------------------------------------------------------------------------------------------------

WEIGHT_ONE = Fraction(1)
MOST_BITS = 4096  # of a weight's numerator and denominator: more than any double needs


@dataclass(frozen=True, kw_only=True)
class _OfCondition(Query):
    predicate: Predicate

    def __post_init__(self) -> None:
        what, given = type(self).__name__.lower(), cast("object", self.predicate)
        if isinstance(given, Predicate):
            return
        write = f'Write {what}(col("height") > 170)'
        remedy = f"{write}: a condition is about the columns of the schema, and reads no data."
        if isinstance(given, Col):
            remedy = f"Compare the column: {what}(col({given.name!r}) > 170)."
        elif isinstance(given, str):
            remedy = f'{write}, or the whole query as text: "{what}(height > 170)".'
        raise QueryError(f"{what} needs a condition", found=checks.type_text(given), remedy=remedy)

    @property
    def columns(self) -> frozenset[str]:
        """The columns that the query reads."""
        return self.predicate.columns

    def __sub__(self, other: object) -> Difference:
        """How many more records, or which larger share of them, satisfy this condition than another one."""
        return Difference(parts=cast("tuple[Count, Count]", (self, other)))

    def __str__(self) -> str:
        return f"{type(self).__name__.lower()}({self.predicate})"


@dataclass(frozen=True, kw_only=True)
class OfColumn(Query):
    """A query about one column."""

    column: str

    def __post_init__(self) -> None:
        column_name(self.column)

    @property
    def columns(self) -> frozenset[str]:
        """The column that the query reads."""
        return frozenset({self.column})

    def __str__(self) -> str:
        return f"{type(self).__name__.lower()}({quoted(self.column)})"


@dataclass(frozen=True, kw_only=True)
class Count(_OfCondition):
    """The number of records that satisfy `predicate`; made by `count`."""

    def by(self, *columns: str, bins: Mapping[str, Iterable[Constant]] | None = None) -> CountBy:
        """Count the records of every group separately.

        Parameters
        ----------
        *columns : str
            The columns whose categories, or bins, make the groups; of several every combination is a group.
        bins : mapping from str to sequence, optional
            As `crosstab` takes it.

        Returns
        -------
        CountBy
            One number per group.

        Raises
        ------
        QueryError
            If there is no column, one is repeated, or its bins are no increasing edges or categories.

        Examples
        --------
        >>> from bnpriv.core.queries.asked import count
        >>> from bnpriv.core.queries.predicates import col
        >>> print(count(col("height") > 180).by("ward", "age", bins={"age": [17, 45, 90]}))
        count(height > 180) by ward, age [17, 45, 90]
        """
        return CountBy(predicate=self.predicate, axes=axes_of(columns, bins, COUNTS_BY))

    def outputs(self, schema: Schema) -> tuple[Output, ...]:
        """The one number of the answer."""
        return (Output(str(self), ((WEIGHT_ONE, Indicator(self.predicate)),)),)


@dataclass(frozen=True, kw_only=True)
class Proportion(_OfCondition):
    """The share of the records that satisfy `predicate`; made by `proportion`."""

    def by(self, *columns: str, bins: Mapping[str, Iterable[Constant]] | None = None) -> NoReturn:
        """Refuse: the size of a group is no public number.

        Parameters
        ----------
        *columns : str
            The columns whose categories would make the groups.
        bins : mapping from str to sequence, optional
            As `crosstab` takes it.

        Raises
        ------
        QueryError
            Always.
        """
        raise QueryError(
            "a share is of all the records, whose number is public",
            found="a share within groups, which divides by counts that noise may bring to 0",
            remedy="Ask both counts, count(...).by(...) and histogram or crosstab of the groups, and divide what is "
            "released.",
        )

    def outputs(self, schema: Schema) -> tuple[Output, ...]:
        """The one number of the answer."""
        return (Output(str(self), ((WEIGHT_ONE, Indicator(self.predicate)),), averaged=True),)


@dataclass(frozen=True, kw_only=True)
class Difference(Query):
    """How many more records satisfy one condition than another; made by ``count(...) - count(...)``, or of shares."""

    parts: tuple[Count, Count] | tuple[Proportion, Proportion]

    def __post_init__(self) -> None:
        kinds = {type(part) for part in self.parts}
        if kinds not in ({Count}, {Proportion}):
            raise QueryError(
                "a difference is of two counts, or of two shares",
                found=checks.listing(checks.type_text(part) for part in self.parts),
                remedy='Write count(col("ward") == "a") - count(col("ward") == "b"), or linear({"a": 1, "b": -1}).',
            )

    @property
    def columns(self) -> frozenset[str]:
        """The columns that the query reads."""
        return self.parts[0].columns | self.parts[1].columns

    def outputs(self, schema: Schema) -> tuple[Output, ...]:
        """The one number of the answer."""
        first, second = (Indicator(part.predicate) for part in self.parts)
        terms = (WEIGHT_ONE, first), (-WEIGHT_ONE, second)
        return (Output(str(self), terms, averaged=isinstance(self.parts[0], Proportion)),)

    def __str__(self) -> str:
        return " - ".join(map(str, self.parts))


@dataclass(frozen=True, kw_only=True)
class Total(OfColumn):
    """The sum of a column; made by `total`."""

    def outputs(self, schema: Schema) -> tuple[Output, ...]:
        """The one number of the answer."""
        return (Output(str(self), ((WEIGHT_ONE, Power(self.column)),)),)


@dataclass(frozen=True, kw_only=True)
class Mean(OfColumn):
    """The mean of a column; made by `mean`."""

    def outputs(self, schema: Schema) -> tuple[Output, ...]:
        """The one number of the answer."""
        return (Output(str(self), ((WEIGHT_ONE, Power(self.column)),), averaged=True),)


@dataclass(frozen=True, kw_only=True)
class Histogram(OfColumn):
    """How many records fall into each bin of a column; made by `histogram`."""

    bins: tuple[Constant, ...] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.bins is not None:
            object.__setattr__(self, "bins", checked_bins(self.bins, "a histogram"))

    def outputs(self, schema: Schema) -> tuple[Output, ...]:
        """One count per bin.

        Raises
        ------
        QueryError
            If a column of numbers comes without increasing edges.
        """
        bins = bins_of(self.column, schema[self.column], self.bins, "a histogram")
        return tuple(Output(str(bin_.condition), ((WEIGHT_ONE, Indicator(bin_.condition)),)) for bin_ in bins)

    def __str__(self) -> str:
        bins = "" if self.bins is None else f", {literals(self.bins)}"
        return f"histogram({quoted(self.column)}{bins})"


@dataclass(frozen=True, kw_only=True)
class Linear(Query):
    """The sum of weighted means of columns; made by `linear`."""

    weights: tuple[tuple[str, Fraction], ...]

    def __post_init__(self) -> None:
        _names("linear", [name for name, _ in self.weights])
        object.__setattr__(self, "weights", tuple((name, _weight(name, weight)) for name, weight in self.weights))

    @property
    def columns(self) -> frozenset[str]:
        """The columns that the query reads."""
        return frozenset(name for name, _ in self.weights)

    def outputs(self, schema: Schema) -> tuple[Output, ...]:
        """The one number of the answer."""
        return (Output(str(self), tuple((weight, Power(name)) for name, weight in self.weights), averaged=True),)

    def __str__(self) -> str:
        return f"linear({', '.join(f'{quoted(name)}: {_exact(weight)}' for name, weight in self.weights)})"


@dataclass(frozen=True, kw_only=True)
class Moments(Query):
    """The mean and the mean square of every column; made by `moments`."""

    names: tuple[str, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", _names("moments", self.names))

    @property
    def columns(self) -> frozenset[str]:
        """The columns that the query reads."""
        return frozenset(self.names)

    def outputs(self, schema: Schema) -> tuple[Output, ...]:
        """Two numbers per column."""
        return tuple(
            Output(f"{what} of {quoted(name)}", ((WEIGHT_ONE, Power(name, exponent)),), averaged=True)
            for name in self.names
            for exponent, what in ((1, "mean"), (2, "mean square"))
        )

    def __str__(self) -> str:
        return f"moments({', '.join(quoted(name) for name in self.names)})"


@dataclass(frozen=True, kw_only=True)
class Stack(Query):
    """The answers of several queries side by side; made by `stack`."""

    parts: tuple[Query, ...]

    def __post_init__(self) -> None:
        flat = tuple(leaf for part in self.parts for leaf in (part.parts if isinstance(part, Stack) else (part,)))
        if not flat:
            raise QueryError("stack needs a query", found="none", remedy="Pass the queries to be answered together.")
        for part in flat:
            if not isinstance(part, Query):
                found = checks.type_text(part)
                raise QueryError("stack takes queries", found=found, remedy="Pass queries such as count(...).")
            if isinstance(part, Custom):
                raise QueryError(
                    "stack takes built-in queries, which are compiled together",
                    found=str(part),
                    remedy="Release the custom query apart, or return several numbers from its function.",
                )
        object.__setattr__(self, "parts", flat)

    @property
    def columns(self) -> frozenset[str]:
        """The columns that the query reads."""
        return frozenset[str]().union(*(part.columns for part in self.parts))

    def outputs(self, schema: Schema) -> tuple[Output, ...]:
        """The numbers of all parts, in order."""
        return tuple(output for part in self.parts for output in part.outputs(schema))

    def __str__(self) -> str:
        return f"stack({', '.join(str(part) for part in self.parts)})"


def _names(what: str, names: Iterable[str]) -> tuple[str, ...]:
    listed = tuple(map(column_name, names))
    distinct(what, listed)
    return listed


def _weight(name: str, weight: object) -> Fraction:
    checks.number(f"the weight of {name!r}", weight, error=QueryError)
    if isinstance(weight, Integral):
        exact = Fraction(int(weight))
    else:
        exact = weight if isinstance(weight, Fraction) else decimal(float(cast("SupportsFloat", weight)))
    if exact == 0:
        raise QueryError(f"the weight of {name!r} must not be 0", found="0", remedy="Leave the column out.")
    if not max(abs(exact.numerator), exact.denominator).bit_length() <= MOST_BITS:
        raise QueryError(
            f"the weight of {name!r} must be a fraction of at most {MOST_BITS} bits",
            found="a longer one",
            remedy="Pass it as a float.",
        )
    return exact


def _exact(weight: Fraction) -> str:
    """A fraction as text that reads back without loss: a whole number, a decimal, or a quotient."""
    if weight.denominator == 1 and abs(weight) < 10**15:
        return str(weight.numerator)
    nearest = float(weight)
    return repr(nearest) if decimal(nearest) == weight else str(weight)


# --------------------------------------------------------------------------------------------------
# Custom queries: the user's own function, with a declared sensitivity.
# --------------------------------------------------------------------------------------------------

MOST_OUTPUTS = 100_000
SENSITIVITY_REMEDY = "Declare how far the answer can move at most, as a positive number."


@dataclass(frozen=True, kw_only=True)
class Custom(Query):
    """A function of a table, with the sensitivity that its author declares; made by `custom`."""

    function: Callable[[pd.DataFrame], object]
    reads: tuple[str, ...]
    sensitivity: float | tuple[tuple[str, float], ...]
    size: int = 1
    span: tuple[float, float] | None = None
    name: str = "custom"

    def __post_init__(self) -> None:
        if not callable(self.function):
            found = checks.type_text(self.function)
            raise QueryError("custom needs a function of a table", found=found, remedy="Pass a function.")
        checks.text("the name of a custom query", self.name, error=QueryError)
        object.__setattr__(self, "reads", _reads(self.reads))
        object.__setattr__(self, "sensitivity", _sensitivity(self.sensitivity, self.reads))
        size = checks.whole("dimension", self.size, error=QueryError)
        if not size <= MOST_OUTPUTS:
            found = checks.shown(size)
            raise QueryError(f"dimension must be at most {MOST_OUTPUTS:,}", found=found, remedy="Answer fewer numbers.")
        object.__setattr__(self, "size", size)
        if self.span is not None:
            object.__setattr__(self, "span", _span(self.span))

    @property
    def columns(self) -> frozenset[str]:
        """The columns that the function is given."""
        return frozenset(self.reads)

    def outputs(self, schema: Schema) -> tuple[Output, ...]:
        """Refuse: what a function computes is not known, so it has no normal form."""
        raise QueryError(
            "the query must be a sum over records of built-in terms",
            found=str(self),
            remedy="Use the built-in queries; a custom query is served by mechanisms that need its sensitivity only.",
        )

    def dimension(self, schema: Schema) -> int:
        """The number of outputs of the function."""
        return self.size

    @property
    def assumptions(self) -> tuple[str, ...]:
        """The assumption that the declared sensitivity is right."""
        return (f"the sensitivity of {self} is declared by the caller, not computed",)

    def declared(self, columns: frozenset[str]) -> Bound:
        """The declared bound on the change of the answer when only `columns` change.

        The answer moves no further than the sum of the moves when the columns are changed one after the other, by the
        triangle inequality. The declaration is for the 1-norm; the 2-norm is never larger.
        """
        touched = columns & self.columns
        if not touched:
            return Bound(0.0, 0.0, "exact")
        if not isinstance(self.sensitivity, tuple):
            return Bound(0.0, self.sensitivity, "certified")
        steps = [step for name, step in self.sensitivity if name in touched]
        # rounded up: the sum of the declared steps is itself rounded
        return Bound(0.0, steps[0] if len(steps) == 1 else up(math.fsum(steps)), "certified")

    def __str__(self) -> str:
        return f"custom({self.name})"


def custom(
    f: Callable[[pd.DataFrame], object],
    *,
    columns: Iterable[str],
    sensitivity: float | Mapping[str, float],
    dimension: int = 1,
    span: tuple[float, float] | None = None,
    name: str = "custom",
) -> Custom:
    """Ask a query that a function of your own answers.

    Parameters
    ----------
    f : callable
        Takes a pandas table of the `columns`, in canonical form: missing values filled, bounds applied. Returns one
        number, or `dimension` numbers.
    columns : sequence of str
        The columns that it is given.
    sensitivity : float or mapping from str to float
        By how much the answer can move at most, in the 1-norm, when any of the columns change arbitrarily; or the same
        for each column alone.
    dimension : int
        How many numbers it returns.
    span : (float, float), optional
        Range in which every number lies.
    name : str
        How the query is called in reports.

    Returns
    -------
    Custom
        A query whose certificate says "declared by the caller".

    Raises
    ------
    QueryError
        If the sensitivity is missing, not positive or not finite, or does not name exactly the columns.

    Examples
    --------
    >>> tallest = custom(lambda table: table["height"].max(), columns=["height"], sensitivity=100, name="tallest")
    >>> print(tallest)
    custom(tallest)
    """
    declared = tuple(sensitivity.items()) if isinstance(sensitivity, Mapping) else sensitivity
    names = (columns,) if isinstance(columns, str) else columns
    return Custom(
        function=f, reads=cast("tuple[str, ...]", names), sensitivity=declared, size=dimension, span=span, name=name
    )


def _reads(names: object) -> tuple[str, ...]:
    if not isinstance(names, Iterable):
        found = checks.type_text(names)
        raise QueryError("custom needs a list of columns", found=found, remedy="List the columns it reads.")
    listed = tuple(cast("Iterable[str]", names))
    if not listed:
        raise QueryError("custom needs a column", found="none", remedy="List the columns that the function reads.")
    for name in listed:
        checks.text("a column's name", name, error=QueryError)
    if len(set(listed)) < len(listed):
        raise QueryError("custom takes each column once", found="a repeated column", remedy="List each column once.")
    return tuple(sorted(listed))


def _sensitivity(declared: object, reads: tuple[str, ...]) -> float | tuple[tuple[str, float], ...]:
    if not isinstance(declared, tuple):
        return checks.positive("the sensitivity", declared, error=QueryError, remedy=SENSITIVITY_REMEDY)
    pairs = sorted(cast("tuple[tuple[str, float], ...]", declared), key=lambda pair: str(pair[0]))
    names = tuple(name for name, _ in pairs)
    if names != reads:
        raise QueryError(
            f"the sensitivity must name each of {checks.listing(reads)} once",
            found=checks.listing(names),
            remedy="Declare how far each column alone can move the answer.",
        )
    return tuple(
        (name, checks.positive(f"the sensitivity to {name!r}", step, error=QueryError, remedy=SENSITIVITY_REMEDY))
        for name, step in pairs
    )


def _span(span: object) -> tuple[float, float]:
    remedy = "Pass (lower, upper), or leave span out."
    found = checks.type_text(span)
    ends = cast("Sequence[object]", span) if isinstance(span, (tuple, list)) else ()
    if len(ends) != 2:
        raise QueryError("span must be a pair of numbers", found=found, remedy=remedy)
    low, high = (checks.number("an end of span", end, error=QueryError, remedy=remedy) for end in ends)
    if not low < high:
        raise QueryError("the lower end of span must be below the upper", found=f"{low:g}, {high:g}", remedy=remedy)
    return low, high


# --------------------------------------------------------------------------------------------------
# Derived queries, such as variances and quantiles: noise is added to sums, and the answer is computed from these.
#
# What a mechanism sees of such a question is its base: numbers that are sums over records, like those of every other
# query. The rest is post-processing of what was released: it sees no data and costs no privacy.
# --------------------------------------------------------------------------------------------------

Number = TypeVar("Number")

Span = tuple[float, float]
"""The least and the greatest value that a number may have."""


class Derived(Query):
    """A query whose `outputs` are a base of sums; the answer is computed from the noisy base."""

    own_units: ClassVar[bool] = True
    """Whether every number of the base has its own unit, and therefore its own weight."""

    certain: ClassVar[bool] = True
    """Whether a base without noise determines the answer, rather than an interval around it."""

    @property
    def labels(self) -> tuple[str, ...]:
        """The name of each number of the answer; a single one is named by the query's text."""
        return (str(self),)

    @abstractmethod
    def base_text(self, schema: Schema) -> str:
        """What the noise is added to, in words."""

    @abstractmethod
    def ranges(self, schema: Schema) -> tuple[Span, ...]:
        """The range of each number of the answer, whatever the table holds."""

    @abstractmethod
    def derive(self, base: Sequence[float], schema: Schema) -> tuple[float, ...]:
        """Compute the answer from a released base, and clamp it to its range."""

    @abstractmethod
    def enclose(self, box: Sequence[Span], schema: Schema) -> tuple[Span, ...]:
        """Intervals that contain the answer if each exact number of the base lies in its span."""

    @abstractmethod
    def error_bounds(self, halves: Sequence[float], schema: Schema) -> tuple[float, ...]:
        """The largest error of each number of the answer if the base errs by at most the given halves.

        Empty where nothing but the range bounds it.
        """


@dataclass(frozen=True, kw_only=True)
class Derivation:
    """How the numbers of an answer are computed from the released ones, query by query.

    Parameters
    ----------
    pieces : tuple of (Query, range)
        Each question, and where its numbers are in the base.
    schema : Schema
    """

    pieces: tuple[tuple[Query, range], ...]
    schema: Schema

    def labels(self, base: Sequence[str]) -> tuple[str, ...]:
        """The name of each number of the answer, from the names of the base."""
        return self._gathered(lambda query, _: query.labels, base.__getitem__)

    def values(self, base: Sequence[float]) -> tuple[float, ...]:
        """The answer computed from a released base."""
        return self._gathered(lambda query, own: query.derive([base[k] for k in own], self.schema), base.__getitem__)

    def intervals(self, box: Sequence[Span], ranges: Sequence[Span]) -> tuple[Span, ...]:
        """Intervals of the answer from intervals of the base, each cut to its range."""
        return self._gathered(
            lambda query, own: query.enclose([_inside(box[k], ranges[k]) for k in own], self.schema), box.__getitem__
        )

    def ranges(self, base: Sequence[Span]) -> tuple[Span, ...]:
        """The ranges of the answer, from those of the base."""
        return self._gathered(lambda query, _: query.ranges(self.schema), base.__getitem__)

    def shown_as_they_are(self, base: Sequence[bool]) -> tuple[bool, ...]:
        """A property of the base's numbers, passed on to those that are in the answer themselves; else False."""
        return self._gathered(lambda _, own: [False] * len(own), base.__getitem__)

    def _gathered(
        self, derived: Callable[[Derived, range], Iterable[Number]], plain: Callable[[int], Number]
    ) -> tuple[Number, ...]:
        """Apply `derived` to each derived query with its places, and `plain` to every place of the others."""
        found: list[Number] = []
        for query, places in self.pieces:
            found += derived(query, places) if isinstance(query, Derived) else map(plain, places)
        return tuple(found)

    @property
    def uncertain(self) -> tuple[bool, ...]:
        """Whether even a base without noise leaves a number of the answer open."""
        return self._gathered(lambda query, _: [not query.certain] * len(query.labels), lambda _: False)

    @property
    def groups(self) -> tuple[range, ...]:
        """The places in the answer of each query."""
        found: list[range] = []
        for query, places in self.pieces:
            start = found[-1].stop if found else 0
            found.append(range(start, start + (len(query.labels) if isinstance(query, Derived) else len(places))))
        return tuple(found)


def derivation(query: Query, schema: Schema) -> Derivation | None:
    """How an answer is computed from what is released; None where they are the same.

    Examples
    --------
    >>> from bnpriv.io.query_text import parse_query
    >>> from bnpriv.core.schema import Real
    >>> schema = Schema(records=100, columns={"height": Real(120, 220)})
    >>> derivation(parse_query("mean(height)"), schema) is None
    True
    >>> found = derivation(parse_query("stack(mean(height), variance(height))"), schema)
    >>> found.values([171.0, 2.0, 104.0])
    (171.0, 100.0)
    """
    leaves = query.parts if isinstance(query, Stack) else () if isinstance(query, GivenAnswer) else (query,)
    if not any(isinstance(leaf, Derived) for leaf in leaves):
        return None
    pieces: list[tuple[Query, range]] = []
    for leaf in leaves:
        start = pieces[-1][1].stop if pieces else 0
        pieces.append((leaf, range(start, start + leaf.dimension(schema))))
    return Derivation(pieces=tuple(pieces), schema=schema)


def widened(low: Fraction, high: Fraction, ends: Span) -> Span:
    """The smallest doubles around an interval, clamped to a range."""
    down, up = math.nextafter(float(low), -math.inf), math.nextafter(float(high), math.inf)
    return clipped(down, ends), clipped(up, ends)


def clipped(value: float, ends: Span) -> float:
    """A value clamped to a range."""
    return min(max(value, ends[0]), ends[1])


def _inside(span: Span, ends: Span) -> Span:
    """The intersection of an interval, widened by its rounding, with a range."""
    low, high = math.nextafter(span[0], -math.inf), math.nextafter(span[1], math.inf)
    return clipped(low, ends), clipped(high, ends)
