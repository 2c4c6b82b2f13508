"""Counts of every cell that bins of several columns make: all records, or those that meet a condition."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import final

from bnpriv import checks
from bnpriv.errors import QueryError, SizeError
from bnpriv.queries.base import Indicator, Output, Query
from bnpriv.queries.bins import ColumnBin, bins_of, checked_bins
from bnpriv.queries.predicates import And, Constant, Predicate, column_name, distinct, literals, quoted
from bnpriv.tables.schema import Schema

MOST_CROSSED = 1000
"""Cells of one question: each is a number of the answer, with a sum of its own over the records."""

CrossedColumn = tuple[str, tuple[Constant, ...] | None]
"""A column, and its edges or categories if they are given."""

CROSSTAB, COUNTS_BY = "a crosstab", "counts by a column"


@final
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


@final
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
    """Columns with the bins that are given for some of them.

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
