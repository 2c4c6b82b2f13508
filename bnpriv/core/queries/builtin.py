"""The built-in queries: each says which weighted sums over records it is."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from numbers import Integral
from typing import NoReturn, SupportsFloat, cast

from bnpriv import checks
from bnpriv.core.columns import decimal
from bnpriv.core.queries.base import Indicator, Output, Power, Query
from bnpriv.core.queries.custom import Custom
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
