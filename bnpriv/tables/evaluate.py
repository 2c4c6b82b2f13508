"""The exact answer to a query on a table of any engine: one pass, whole-number sums."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial, reduce
from typing import TYPE_CHECKING, Any, TypeVar, cast

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from bnpriv import checks
from bnpriv.bound import FloatArray, IntArray
from bnpriv.core.columns import Categorical, Category
from bnpriv.core.interrupts import interruptible
from bnpriv.core.queries.base import Indicator, IntegerTerm, NormalForm, Query, normal_form
from bnpriv.core.queries.builtin import Custom
from bnpriv.core.queries.contribution import COMPARED, Leaf, holds_category, holds_number
from bnpriv.core.queries.predicates import And, Comparison, IsIn, Not, Or, Predicate, Truths, truth
from bnpriv.core.schema import Column, NumberColumn, Schema, fill_of, has_gaps, is_whole
from bnpriv.errors import BnprivError, DataError, QueryError, SizeError
from bnpriv.tables import readings
from bnpriv.tables.reader import chosen, collected, opened, source
from bnpriv.tables.readings import Dialect, Frame, Type, Written, constants, over_partitions
from bnpriv.text import shown_number

if TYPE_CHECKING:
    import pandas as pd

# --------------------------------------------------------------------------------------------------
# The terms of a normal form as narwhals expressions: one road for every engine.
#
# NaN becomes null before anything is compared: engines order it differently, and DuckDB answers comparisons of a
# column from the least and the largest value that a Parquet file declares, in which NaN does not count. A term never
# yields null. Numbers take three operations, each rounded once by every engine: ``floor((x - lower) * rate + 0.5)``.
# Dividing by the width of a step would be a fourth of them in Polars, which multiplies with the inverse.
# --------------------------------------------------------------------------------------------------

Keys = Mapping[Category | float, Category]

LARGEST_EXACT = 2**53
"""Doubles hold all whole numbers up to it, so that sums which stay below are exact in any order."""


def cleaned(frame: Frame, columns: Mapping[str, Column], beside: Sequence[nw.Expr] = ()) -> Frame:
    """Fill and clamp the numbers in c0, c1, ...; categories stay as they are, and what is `beside` them."""
    constant = constants(frame.implementation)
    values = {f"c{k}": column for k, column in enumerate(columns.values())}
    return frame.select(
        *(
            nw.col(name) if isinstance(column, Categorical) else _inside(nw.col(name), column, constant).alias(name)
            for name, column in values.items()
        ),
        *beside,
    )


def _inside(value: nw.Expr, column: NumberColumn, constant: Written) -> nw.Expr:
    """Return the number between the bounds that counts; whole numbers are rounded already here."""
    low, high, missing = (constant(float(number)) for number in (column.lower, column.upper, fill_of(column)))
    # The common case stands first, because DuckDB evaluates the others on few rows only. NaN is neither above nor below
    # a bound: where statistics could answer a comparison for it, it has become null before.
    rest = nw.when(~value.is_nan() & (value > high)).then(_literal(high)).otherwise(_literal(missing))
    below = nw.when(value >= low).then(value).otherwise(_literal(low))
    inside = nw.when(value <= high).then(below).otherwise(rest)
    if not is_whole(column):
        return inside
    whole = (inside + 0.5).floor().cast(nw.Float64)
    # Ibis holds whole numbers of 64 bits, and the mark of a gap is none
    return nw.when(inside > _literal(missing)).then(whole).otherwise(_literal(missing)) if has_gaps(column) else whole


def _literal(constant: Any) -> nw.Expr:
    return nw.lit(constant) if isinstance(constant, float) else cast(nw.Expr, constant)


def keys_in(frame: Frame, columns: Mapping[str, Column]) -> dict[str, Keys]:
    """Return for every categorical column which of the values in it count as which category."""
    dtypes = frame.collect_schema()
    return {
        name: readings.keys_of(column, _kind(dtypes[f"c{k}"]))
        for k, (name, column) in enumerate(columns.items())
        if isinstance(column, Categorical)
    }


def values_as_they_count(data: object, columns: Mapping[str, Column], dialect: Dialect) -> dict[str, list[Any]]:
    """Return the values of a public table: numbers as they are read, and the category that each text counts as."""
    with opened(data, columns, dialect=dialect) as frame:
        keys, read = keys_in(frame, columns), collected(frame)
    held = {name: read[f"c{k}"].to_list() for k, name in enumerate(columns)}
    return {name: [keys[name].get(each) for each in held[name]] if name in keys else held[name] for name in held}


def _kind(dtype: Type) -> type:
    if dtype == nw.Boolean:
        return bool
    return str if dtype == nw.String else float


def integer_terms(
    terms: Sequence[IntegerTerm], frame: Frame, columns: Mapping[str, Column], records: int
) -> list[nw.Expr]:
    """Return one whole number per term, named t0, t1, ..., for a frame that `cleaned` made.

    They are Int64, or doubles where these hold the sum over all the records exactly.
    """
    leaves = _Leaves(
        columns,
        {name: nw.col(f"c{k}") for k, name in enumerate(columns)},
        keys_in(frame, columns),
        constants(frame.implementation),
        records,
    )
    return [_integer_term(term, leaves).alias(f"t{k}") for k, term in enumerate(terms)]


@dataclass(frozen=True)
class _Leaves:
    """The columns of a frame: what they are declared as, how they are read, and what their values count as."""

    columns: Mapping[str, Column]
    values: Mapping[str, nw.Expr]
    keys: Mapping[str, Keys]
    constant: Written
    records: int


def _integer_term(term: IntegerTerm, leaves: _Leaves) -> nw.Expr:
    if isinstance(term, Indicator):
        # DuckDB sums doubles in less time than it tells how wide a sum of BIGINT may become
        return _predicate(term.predicate, leaves).cast(nw.Float64 if leaves.records <= LARGEST_EXACT else nw.Int64)
    factors: list[nw.Expr] = []
    most = leaves.records
    for name, power in term.powers.items():
        column = cast(NumberColumn, leaves.columns[name])
        most *= column.steps**power
        factors += [grid_steps(leaves.values[name], column, leaves.constant)] * power
    if most > LARGEST_EXACT:
        factors = [factor.cast(nw.Int64) for factor in factors]
    return reduce(lambda product, factor: product * factor, factors)


def grid_steps(value: nw.Expr, column: NumberColumn, constant: Written) -> nw.Expr:
    """Return the grid step of a cleaned column, as `Real.step` and `Integer.step` define it: a whole number."""
    above = value - constant(float(column.lower))
    return above if is_whole(column) else (above * constant(column.rate) + 0.5).floor()


def _predicate(predicate: Predicate, leaves: _Leaves) -> nw.Expr:
    if isinstance(predicate, And):
        return _balanced(lambda left, right: left & right, [_predicate(part, leaves) for part in predicate.parts])
    if isinstance(predicate, Or):
        return _balanced(lambda left, right: left | right, [_predicate(part, leaves) for part in predicate.parts])
    if isinstance(predicate, Not):
        return ~_predicate(predicate.part, leaves)
    if not isinstance(predicate, (Comparison, IsIn)):
        raise TypeError(f"{type(predicate).__name__} is no known predicate")
    name = predicate.column
    column, value = leaves.columns[name], leaves.values[name]
    if isinstance(column, Categorical):
        return _category(predicate, value, column, leaves)
    return _number(predicate, value, leaves.constant)


def _balanced(join: Callable[[nw.Expr, nw.Expr], nw.Expr], parts: Sequence[nw.Expr]) -> nw.Expr:
    """Return all parts joined, as a tree of little depth: an engine goes down an expression by recursion."""
    while len(parts) > 1:
        odd = parts[len(parts) & ~1 :]
        parts = [*map(join, parts[::2], parts[1::2]), *odd]
    return parts[0]


def _number(leaf: Comparison | IsIn, value: nw.Expr, written: Written) -> nw.Expr:
    if isinstance(leaf, IsIn):
        return _balanced(lambda left, right: left | right, [value == written(float(number)) for number in leaf.values])
    return COMPARED[leaf.operator](value, written(float(leaf.value)))


def _category(leaf: Comparison | IsIn, value: nw.Expr, column: Categorical, leaves: _Leaves) -> nw.Expr:
    """Return whether the category counts; a missing one is treated as the column's `missing` value."""
    holds = _holds(leaf, cast(Category, column.missing))
    others = [key for key, category in leaves.keys[leaf.column].items() if _holds(leaf, category) != holds]
    among = _among(value, others, leaves.constant)
    return ~among if holds else among


def _holds(leaf: Comparison | IsIn, category: Category) -> bool:
    if isinstance(leaf, IsIn):
        return category in leaf.values
    return (category == leaf.value) == (leaf.operator == "==")


def _among(value: nw.Expr, keys: Sequence[Category | float], constant: Written) -> nw.Expr:
    """Return whether a value is one of some keys: false for null."""
    if not keys:
        return value.is_null() & ~value.is_null()
    if constant is not float and isinstance(keys[0], float):
        found = _balanced(lambda left, right: left | right, [value == constant(cast(float, key)) for key in keys])
    else:
        found = value.is_in(keys)
    return nw.when(~value.is_null() & found).then(nw.lit(True)).otherwise(nw.lit(False))


# --------------------------------------------------------------------------------------------------
# Many conditions on one column: which cell between all their constants a value lies in decides every one of them.
#
# A histogram of a thousand bins would otherwise compare every value two thousand times.
# --------------------------------------------------------------------------------------------------

FEW_CONDITIONS = 32
"""So many conditions on one column are summed one by one, by the engine."""

MOST_SEARCHED = 2**10
"""Constants on one column of a table whose engine searches them by nested conditions."""

CellName = int | str
"""What rows of one cell have in common: a text, or the number of the cell."""


def wide_columns(terms: Sequence[IntegerTerm]) -> dict[str, list[int]]:
    """Return the columns with many conditions that read nothing else, and the places of these among the terms."""
    alone: dict[str, list[int]] = {}
    for place, term in enumerate(terms):
        if isinstance(term, Indicator) and len(term.columns) == 1:
            alone.setdefault(next(iter(term.columns)), []).append(place)
    return {name: places for name, places in alone.items() if len(places) > FEW_CONDITIONS}


@dataclass(frozen=True, eq=False)
class CutColumn:
    """A column of a cleaned frame, cut at some numbers, or into the texts that are categories.

    Parameters
    ----------
    name : str
        c0, c1, ...
    cuts : ndarray of shape (cuts,)
        Increasing; cell 2k + 1 is cut k, cell 2k what lies below it, and what is missing lies in the last.
    texts : tuple of str
        Each a cell, and one more for all others; empty for numbers.
    truths : callable
        Which cells a comparison holds in.
    """

    name: str
    cuts: FloatArray
    texts: tuple[str, ...]
    truths: Callable[[Leaf], Truths]

    @property
    def size(self) -> int:
        """Return the number of cells."""
        return len(self.texts) + 1 if self.texts else 2 * len(self.cuts) + 1

    @property
    def text(self) -> nw.Expr:
        """Return the column, with one text for all that is no category: there may be many groups otherwise.

        That text is longer than every category. It is not null, which some engines leave out of long tables.
        """
        known = nw.when(nw.col(self.name).is_in(list(self.texts))).then(nw.col(self.name))
        return known.otherwise(nw.lit(max(self.texts, key=len) + "+"))

    def places(self, values: FloatArray) -> IntArray:
        """Return the cells of numbers, of which NaN is missing."""
        return np.searchsorted(self.cuts, values, "left") + np.searchsorted(self.cuts, values, "right")

    def counts(self, groups: Mapping[CellName, int]) -> IntArray:
        """Return the rows of every cell from groups of rows: by text, or by the number of the cell."""
        number = {text: place for place, text in enumerate(self.texts)}
        found: IntArray = np.zeros(self.size, dtype=np.int64)
        for group, rows in groups.items():
            found[number.get(cast(str, group), -1) if self.texts else int(cast(int, group))] += rows
        return found

    def sums(self, terms: Sequence[Indicator], counts: IntArray) -> list[int]:
        """Return how many records satisfy each of some conditions on the column."""
        return [int(counts[truth(term.predicate, self.truths)].sum()) for term in terms]

    def group(self, constant: Written) -> nw.Expr:
        """Return the cell of a value as a text, found by nested conditions.

        Raises
        ------
        SizeError
            If there are too many cuts.
        """
        if self.texts:
            return self.text
        if len(self.cuts) > MOST_SEARCHED:
            raise SizeError(
                f"conditions on one column of such a table may have at most {MOST_SEARCHED:,} constants in one release",
                found=f"{len(self.cuts):,}",
                remedy="Ask for fewer bins, or write the column to a Parquet file and release from that.",
            )
        return self._search(constant, 0, self.size - 1).cast(nw.String)

    def _search(self, constant: Written, first: int, last: int) -> nw.Expr:
        if first == last:
            return nw.lit(first)
        middle = (first + last + 1) // 2
        value, cut = nw.col(self.name).cast(nw.Float64), constant(float(self.cuts[(middle - 1) // 2]))
        below = value < cut if middle % 2 else value <= cut
        # what is missing is not below
        return (
            nw.when(below)
            .then(self._search(constant, first, middle - 1))
            .otherwise(self._search(constant, middle, last))
        )


def cells_of(terms: Sequence[Indicator], name: str, frame: Frame, columns: Mapping[str, Column]) -> CutColumn:
    """Return the cells of a column in which all of some conditions on it are constant.

    Examples
    --------
    >>> import pandas as pd
    >>> from bnpriv.core.queries.predicates import col
    >>> from bnpriv.core.schema import Real
    >>> terms = [Indicator(col("x") < 2), Indicator((col("x") >= 2) & (col("x") <= 3))]
    >>> frame = nw.from_native(pd.DataFrame({"c0": [1.0, 2.0, 2.5, 9.0]})).lazy()
    >>> cells = cells_of(terms, "x", frame, {"x": Real(0, 10)})
    >>> places = cells.places(np.array([1.0, 2.0, 2.5, 9.0]))
    >>> cells.sums(terms, np.bincount(places, minlength=cells.size))
    [1, 2]
    """
    column, place = columns[name], f"c{list(columns).index(name)}"
    if isinstance(column, Categorical):
        return _of_categories(column, place, keys_in(frame, columns)[name])
    found = {float(value) for term in terms for leaf in term.predicate.comparisons() for value in leaf.constants}
    cuts = np.array(sorted(found))
    # a cell without any double is stood for by another, and empty
    points = np.empty(2 * len(cuts) + 1)
    points[0], points[1::2], points[2::2] = -np.inf, cuts, np.nextafter(cuts, np.inf)
    return CutColumn(place, cuts, (), lambda leaf: holds_number(leaf, points))


def _of_categories(column: Categorical, place: str, keys: Keys) -> CutColumn:
    numbers = column.outcomes.index
    missing = numbers(cast(Category, column.missing))
    if all(isinstance(key, str) for key in keys):
        counted = [numbers(category) for category in keys.values()]
        return CutColumn(
            place, np.empty(0), tuple(cast("Mapping[str, Category]", keys)), _held([*counted, missing], column)
        )
    found = sorted((float(key), category) for key, category in cast("Mapping[float, Category]", keys).items())
    counted = [missing] * (2 * len(found) + 1)
    counted[1::2] = [numbers(category) for _, category in found]
    return CutColumn(place, np.array([key for key, _ in found]), (), _held(counted, column))


def _held(counted: Sequence[int], column: Categorical) -> Callable[[Leaf], Truths]:
    """Return which cells a comparison holds in, from the category that each counts as."""
    return lambda leaf: np.asarray(holds_category(leaf, column))[list(counted)]


# --------------------------------------------------------------------------------------------------
# Sums of whole-number terms over the records of a table of any engine, all of them in one scan.
# --------------------------------------------------------------------------------------------------

Scanned = tuple[int, Sequence[int], Sequence[IntArray]]
"""The number of rows, the sum of every term, and the rows in every cell of every wide column."""


def totals(
    terms: Sequence[IntegerTerm],
    columns: Mapping[str, Column],
    records: int,
    data: object,
    dialect: Dialect = readings.PLAIN,
) -> tuple[int, tuple[int, ...]]:
    """Return the number of rows and the sum of every term; of a Dask table partition by partition.

    Parameters
    ----------
    terms : sequence of Indicator or Steps
    columns : mapping from str to Column
        All that the terms read.
    records : int
        The declared number; if there are more, the sums may be wrong.
    data : table, str or path
    dialect : Dialect

    Returns
    -------
    int, tuple of int

    Raises
    ------
    DataError, FileError
        If the data are no table, or lack a column.
    SizeError
        If there are more conditions on one column than its engine can take.
    """
    parts = over_partitions(data, partial(_part_totals, terms, columns, records, dialect))
    sums = zip(*(found for _, found in parts), strict=True)
    return sum(rows for rows, _ in parts), tuple(map(sum, sums))


def _part_totals(
    terms: Sequence[IntegerTerm], columns: Mapping[str, Column], records: int, dialect: Dialect, data: object
) -> tuple[int, tuple[int, ...]]:
    """Return the same of a table or partition: terms one by one, or by cells where many read one column."""
    wide = wide_columns(terms)
    together = {place for places in wide.values() for place in places}
    apart = [place for place in range(len(terms)) if place not in together]
    with opened(data, columns, doubles=True, dialect=dialect) as frame:
        clean = cleaned(frame, columns)
        asked = {name: [cast(Indicator, terms[place]) for place in places] for name, places in wide.items()}
        cells = {name: cells_of(some, name, clean, columns) for name, some in asked.items()}
        summed = integer_terms([terms[place] for place in apart], clean, columns, records)
        rows, sums, counts = _scanned(clean, summed, list(cells.values()))
    found = dict(zip(apart, sums, strict=True))
    for (name, places), count in zip(wide.items(), counts, strict=True):
        found |= zip(places, cells[name].sums(asked[name], count), strict=True)
    return rows, tuple(found[place] for place in range(len(terms)))


def _scanned(clean: Frame, terms: Sequence[nw.Expr], cells: Sequence[CutColumn]) -> Scanned:
    engine = clean.implementation
    if engine.is_duckdb():
        return _in_duckdb(clean, terms, cells)
    if not cells:
        return *_sums(clean, terms), ()
    if engine.is_pandas_like() or engine.is_pyarrow():
        return *_sums(clean, terms), [_in_memory(clean, column) for column in cells]
    return _by_groups(_with_cells(clean, terms, cells), len(terms), cells)


def _names(terms: Sequence[nw.Expr]) -> list[str]:
    return [f"t{place}" for place in range(len(terms))]


def _sums(clean: Frame, terms: Sequence[nw.Expr]) -> tuple[int, tuple[int, ...]]:
    frame = clean.select(*terms) if terms else clean
    # where SQL would widen the sum to a decimal, which pandas takes for a double
    sums = (nw.col(name).sum().cast(nw.Int64) for name in _names(terms))
    rows, *found = collected(frame.select(nw.len().alias("rows"), *sums)).row(0)
    return int(rows), tuple(map(int, found))


def _in_memory(clean: Frame, column: CutColumn) -> IntArray:
    """Count the cells of a table that is in memory."""
    if column.texts:
        groups = clean.select(column.text.alias("g")).group_by("g").agg(nw.len().alias("rows"))
        return column.counts(_grouped(collected(groups).iter_rows()))
    values = collected(clean.select(nw.col(column.name).cast(nw.Float64)))[column.name].to_numpy()
    return np.bincount(column.places(cast(FloatArray, values)), minlength=column.size)


def _grouped(rows: Iterable[Sequence[Any]]) -> dict[Any, int]:
    found: dict[Any, int] = {}
    for group, count in rows:
        found[group] = found.get(group, 0) + int(count)
    return found


def _in_duckdb(clean: Frame, terms: Sequence[nw.Expr], cells: Sequence[CutColumn]) -> Scanned:
    """Ask for sums and histograms at once; sums of whole numbers come back as whole numbers of Python."""
    named = [
        (column.text if column.texts else nw.col(column.name).cast(nw.Float64)).alias(f"g{k}")
        for k, column in enumerate(cells)
    ]
    frame = clean.select(*terms, *named) if terms or cells else clean
    asked = ["count(*)", *(f"coalesce(sum({name}), 0)" for name in _names(terms))]
    for k, column in enumerate(cells):
        # as a text, in which every double is read exactly
        cuts = f"'[{', '.join(map(repr, column.cuts.tolist()))}]'::DOUBLE[]"
        asked += (
            [f"histogram(g{k})"] if column.texts else [f"histogram(g{k}, {cuts})", f"histogram_exact(g{k}, {cuts})"]
        )
    native: Any = frame.to_native()
    rows, *found = native.aggregate(", ".join(asked)).fetchone()
    maps = iter(found[len(terms) :])
    return rows, [int(value) for value in found[: len(terms)]], [_duckdb_cells(column, rows, maps) for column in cells]


def _duckdb_cells(column: CutColumn, rows: int, maps: Any) -> IntArray:
    if column.texts:
        return column.counts(next(maps) or {})
    up_to: dict[Any, int] = next(maps) or {}
    at: dict[Any, int] = next(maps) or {}
    counts: IntArray = np.zeros(column.size, dtype=np.int64)
    counts[1::2] = [at.get(cut, 0) for cut in column.cuts.tolist()]
    counts[:-1:2] = [up_to.get(cut, 0) for cut in column.cuts.tolist()]
    counts[:-1:2] -= counts[1::2]
    counts[-1] = rows - counts[:-1].sum()
    return counts


def _with_cells(clean: Frame, terms: Sequence[nw.Expr], cells: Sequence[CutColumn]) -> Frame:
    """Return the terms, and the cell of every wide column as a text, called g0, g1, ..."""
    if not clean.implementation.is_polars():
        constant = constants(clean.implementation)
        return clean.select(*terms, *(column.group(constant).alias(f"g{k}") for k, column in enumerate(cells)))
    import polars as pl

    found = [
        column.text.alias(f"g{k}") if column.texts else nw.col(column.name).cast(nw.Float64).alias(f"g{k}")
        for k, column in enumerate(cells)
    ]
    native: pl.LazyFrame = clean.select(*terms, *found).to_native()
    searched: list[pl.Expr] = []
    for k, column in enumerate(cells):
        if not column.texts:
            cuts, value = pl.lit(pl.Series(column.cuts)), pl.col(f"g{k}").fill_null(np.inf)
            searched.append(
                (cuts.search_sorted(value, "left") + cuts.search_sorted(value, "right")).cast(pl.String).alias(f"g{k}")
            )
    return cast(Frame, nw.from_native(native.with_columns(*searched)))


def _by_groups(frame: Frame, terms: int, cells: Sequence[CutColumn]) -> Scanned:
    """Count the rows in cells and sum the terms over the groups of the first column, in one scan for all columns."""
    names, groups = [f"t{place}" for place in range(terms)], [f"g{k}" for k in range(len(cells))]
    sums = (nw.col(name).sum().cast(nw.Int64) for name in names)
    if len(groups) == 1:
        long = frame.with_columns(nw.lit("g0").alias("column")).rename({"g0": "cell"})
    else:
        long = frame.unpivot(on=groups, index=names, variable_name="column", value_name="cell")
    found = collected(long.group_by("column", "cell").agg(nw.len().alias("rows"), *sums)).rows()
    counts = [
        column.counts(_grouped((row[1], row[2]) for row in found if row[0] == name))
        for name, column in zip(groups, cells, strict=True)
    ]
    first = [row for row in found if row[0] == "g0"]
    return sum(int(row[2]) for row in first), [sum(int(row[3 + k]) for row in first) for k in range(terms)], counts


# --------------------------------------------------------------------------------------------------
# The exact answer to a query on a table of any engine: one pass, whole-number sums, no error that tells a value.
#
# What counts is fixed here for every engine alike: missing values are filled, the others clamped, then rounded to the
# grid; conditions read the value before the grid. No message depends on the data, except that the rows may be too
# few, too many, or unreadable.
# --------------------------------------------------------------------------------------------------

T = TypeVar("T")

LARGEST_CATEGORY = 2**53
MOST_TRIED = 10_000


@dataclass(frozen=True, kw_only=True)
class Answer:
    """The exact answer, before any noise: never shown, hence not in its repr.

    Parameters
    ----------
    values : tuple of Fraction
        One per output.
    labels : tuple of str
        One per output.
    """

    values: tuple[Fraction, ...] = field(repr=False)
    labels: tuple[str, ...]


def evaluate(query: Query, schema: Schema, data: object) -> Answer:
    """Answer a query exactly; the result is not private.

    Parameters
    ----------
    query : Query
        Built-in or custom.
    schema : Schema
        Columns and number of records.
    data : table, str or path
        pandas, Polars, PyArrow, DuckDB, Dask, Spark, Ibis, eager or lazy (docs/engines.md); a Parquet file, a
        directory of them, or a CSV file with a header and commas, each read by DuckDB in pieces. A value that is not
        what its column declares is missing.

    Returns
    -------
    Answer

    Raises
    ------
    QueryError
        If the query does not fit the schema.
    DataError
        If a column is missing or occurs twice, the rows are not the declared number, the engine fails, or a
        custom query fails; never with a value of the data.
    FileError
        If a file is missing, unreadable or of another kind.

    Examples
    --------
    >>> import pandas as pd
    >>> from bnpriv.core.queries.asked import count
    >>> from bnpriv.core.queries.predicates import col
    >>> from bnpriv.core.schema import Real
    >>> schema = Schema(records=3, columns={"height": Real(120, 220)})
    >>> evaluate(count(col("height") > 165), schema, pd.DataFrame({"height": [150.0, None, 999.0]})).values
    (Fraction(2, 1),)
    """
    return evaluate_many([query], schema, data)[0]


def evaluate_many(queries: Sequence[Query], schema: Schema, data: object) -> tuple[Answer, ...]:
    """Answer several queries exactly, in one scan of the data, and one more if some of them are custom.

    Parameters
    ----------
    queries : sequence of Query
    schema : Schema
        Columns and number of records.
    data : table, str or path
        As `evaluate` takes it.

    Returns
    -------
    tuple of Answer
        In the order of the queries.

    Raises
    ------
    QueryError, DataError, FileError
        As `evaluate`.
    SizeError
        If there are more conditions on one column than the engine can take.
    """
    for name in sorted(frozenset[str]().union(*(query.columns for query in queries))):
        _check_categories(name, schema[name])
    forms = {place: normal_form(query, schema) for place, query in enumerate(queries) if not isinstance(query, Custom)}
    own = {place: query for place, query in enumerate(queries) if isinstance(query, Custom)}
    found = _form_answers(queries, forms, schema, data) | _custom_answers(own, schema, data)
    return tuple(found[place] for place in range(len(queries)))


def _form_answers(
    queries: Sequence[Query], forms: Mapping[int, NormalForm], schema: Schema, data: object
) -> dict[int, Answer]:
    if not forms:
        return {}
    # a sum that several queries ask for is taken once
    places = {term: k for k, term in enumerate(dict.fromkeys(term for form in forms.values() for term in form.terms))}
    columns = _columns((name for place in forms for name in queries[place].columns), schema)
    rows, sums = guarded(
        data, lambda: totals(tuple(places), columns, schema.records, data, readings.dialect_of(schema))
    )
    require_rows(rows, schema)
    return {
        place: Answer(values=form.answer([sums[places[term]] for term in form.terms]), labels=form.labels)
        for place, form in forms.items()
    }


def _columns(names: Iterable[str], schema: Schema) -> dict[str, Column]:
    return {name: schema[name] for name in sorted(set(names))}


def require_answerable(query: Query, schema: Schema) -> dict[str, Column]:
    """Return the columns that a query reads, if it can be answered on every table of its schema.

    Parameters
    ----------
    query : Query
    schema : Schema

    Raises
    ------
    QueryError
        If it does not fit the schema, or is no query but the laws of an answer.
    """
    columns = _columns(query.columns, schema)
    for name, column in columns.items():
        _check_categories(name, column)
    if not isinstance(query, Custom):
        normal_form(query, schema)
    return columns


def _check_categories(name: str, column: Column) -> None:
    """Refuse whole numbers that two engines could round to different doubles."""
    if isinstance(column, Categorical) and any(
        type(label) is int and abs(label) > LARGEST_CATEGORY for label in column.labels
    ):
        raise QueryError(
            f"whole-number categories of {name!r} must be at most 2^53 in size",
            found="a larger one",
            remedy="Convert the column to strings.",
        )


def guarded(data: object, work: Callable[[], T]) -> T:
    """Do what may fail in an engine, whose own errors quote the data, and which Ctrl-C must be able to end."""
    from bnpriv.tables.files import require_readers, with_imports_named

    try:
        return interruptible(data, lambda: with_imports_named(work))
    except (BnprivError, KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException:  # a panic of Polars is no Exception
        pass
    # raised here, not in the handler: an error that is handled stays reachable as __context__
    require_readers()
    raise DataError(
        "the engine must be able to evaluate the query on the data",
        found="an error, whose text is withheld because it may quote the data",
        remedy="Try the query on made-up rows with the same columns and dtypes.",
    )


def require_rows(rows: int, schema: Schema) -> None:
    """Refuse a table that has not the declared number of records.

    Raises
    ------
    DataError
    """
    # the number itself is not told: it may be what the data hide
    if rows != schema.records:
        raise DataError(
            "the data must have as many rows as the schema declares records",
            found="that the row count is not the declared n",
            remedy="Check which table is meant; the number of records is a public fact.",
        )


def check_rows(columns: Collection[str], schema: Schema, data: object) -> None:
    """Refuse a table that cannot be read, lacks a column, or has not the declared number of rows.

    Parameters
    ----------
    columns : collection of str
        Those that must be there, once each.
    schema : Schema
    data : table, str or path

    Raises
    ------
    DataError, FileError
        Says nothing about the values; not even how many rows there are.
    """
    require_rows(guarded(data, lambda: row_count(columns, data, readings.dialect_of(schema).separator)), schema)


def row_count(columns: Collection[str], data: object, separator: str = ",") -> int:
    """Return how many rows a private table has, once it is known to have some columns."""
    return sum(over_partitions(data, partial(_part_rows, sorted(columns), separator)))


def _part_rows(columns: Collection[str], separator: str, data: object) -> int:
    with source(data, columns, separator) as (frame, names):
        if columns:  # engines differ in what it means to select none
            chosen(frame, names, columns)
        return int(collected(frame.lazy().select(nw.len().alias("rows"))).row(0)[0])


def _custom_answers(queries: Mapping[int, Custom], schema: Schema, data: object) -> dict[int, Answer]:
    if not queries:
        return {}
    columns = _columns((name for query in queries.values() for name in query.columns), schema)
    table = canonical_table(columns, data, readings.dialect_of(schema))
    require_rows(len(table), schema)
    # each gets its own columns, which it may change
    return {place: _custom_answer(query, table[sorted(query.columns)].copy()) for place, query in queries.items()}


def _custom_answer(query: Custom, table: pd.DataFrame) -> Answer:
    values = _called(query, table)
    if values is None:
        raise DataError(
            f"{query} must return {query.size} finite numbers",
            found="an error or something else, which is withheld because it may quote the data",
            remedy="Try the function on made-up tables with the same columns.",
        )
    return Answer(values=tuple(Fraction(value) for value in values), labels=_own_labels(query))


def answer_labels(query: Query, schema: Schema) -> tuple[str, ...]:
    """Return what each number of an answer is, without data."""
    return _own_labels(query) if isinstance(query, Custom) else normal_form(query, schema).labels


def _own_labels(query: Custom) -> tuple[str, ...]:
    return (str(query),) if query.size == 1 else tuple(f"{query}[{k}]" for k in range(query.size))


def _called(query: Custom, table: pd.DataFrame) -> list[float] | None:
    """Return what the function says, inside its declared span, or None if it fails; its error goes no further."""
    try:
        values = np.asarray(query.function(table), dtype=np.float64)
    except (KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException:
        return None
    if values.size != query.size or values.ndim > 1 or not np.isfinite(values).all():
        return None
    # declared like bounds of a column, and like them enforced: clamping moves no two answers apart
    low, high = query.span or (-math.inf, math.inf)
    return [min(max(float(value), low), high) for value in values.reshape(-1)]


def canonical_table(columns: Mapping[str, Column], data: object, dialect: Dialect = readings.PLAIN) -> pd.DataFrame:
    """Return columns as they count, in memory: on the grid, in declared categories, in the order of rows.

    Raises
    ------
    DataError, FileError
        If the data cannot be read; never with a value of them.
    """
    return guarded(data, lambda: _canonical(columns, data, dialect))


def _canonical(columns: Mapping[str, Column], data: object, dialect: Dialect) -> pd.DataFrame:
    import pandas as pd

    with opened(data, columns, doubles=True, dialect=dialect) as frame:
        clean = cleaned(frame, columns)
        constant = constants(frame.implementation)
        values = {f"c{k}": column for k, column in enumerate(columns.values())}
        selected = [
            nw.col(name) if isinstance(column, Categorical) else grid_steps(nw.col(name), column, constant).alias(name)
            for name, column in values.items()
        ]
        keys = keys_in(clean, columns)
        raw = collected(clean.select(*selected))
    return pd.DataFrame(
        {
            name: [keys[name].get(value, column.missing) for value in raw[f"c{k}"].to_list()]
            if isinstance(column, Categorical)
            else _on_grid(raw[f"c{k}"].to_numpy(), column)
            for k, (name, column) in enumerate(columns.items())
        }
    )


def _on_grid(steps: NDArray[Any], column: NumberColumn) -> NDArray[Any]:
    if has_gaps(column):  # a gap is below all steps
        values = column.lower + steps.astype(np.float64) * float(column.grid)
        return np.where(steps < 0, np.nan, np.minimum(values, column.upper))
    if is_whole(column):
        return steps.astype(np.int64) + column.lower
    return np.minimum(column.lower + steps.astype(np.float64) * float(column.grid), column.upper)


def missing_rule(schema: Schema, names: Iterable[str]) -> str:
    """Return what missing and out-of-range values of some columns count as; never how many there were."""
    return "; ".join(f"{name}: {_column_rule(schema[name])}" for name in sorted(names)) + "."


def _column_rule(column: Column) -> str:
    gap, counts = ("no condition holds where a value is missing", "counts ") if has_gaps(column) else ("", "")
    if isinstance(column, Categorical):
        rule = f"{gap} or undeclared" if gap else f"a missing or undeclared category counts as {column.missing!r}"
        return f"{rule}, labels that were coarsened as their category" if any(column.coarsen.values()) else rule
    low, high, missing = (shown_number(float(number), 0) for number in (column.lower, column.upper, fill_of(column)))
    return f"{gap or f'a missing value counts as {missing}'}, one outside {low} to {high} {counts}as the nearest bound"


def try_sensitivity(query: Custom, schema: Schema, *, trials: int = 20) -> None:
    """Try the declared sensitivity of a custom query on made-up tables, changing some columns at random.

    It can refute a declaration, never prove it. No data are read.

    Parameters
    ----------
    query : Custom
        The function and its declared sensitivity.
    schema : Schema
        Columns and number of records; the tables have at most 10,000.
    trials : int
        How many pairs of tables to try.

    Raises
    ------
    QueryError
        If the answers to two tables are further apart than declared, or the function fails on one.
    ParameterError
        If `trials` is no whole number of at least 1.

    Examples
    --------
    >>> from bnpriv.core.queries.builtin import custom
    >>> from bnpriv.core.schema import Real
    >>> schema = Schema(records=100, columns={"height": Real(120, 220)})
    >>> try_sensitivity(custom(lambda table: table["height"].max(), columns=["height"], sensitivity=100), schema)
    """
    # the same tables every time: a declaration is refused always or never
    random = np.random.default_rng(20261120)
    for _ in range(checks.whole("trials", trials)):
        before = _random_table(query.reads, schema, random)
        chosen = frozenset(random.choice(query.reads, size=random.integers(1, len(query.reads) + 1), replace=False))
        after = before.copy()
        after[sorted(chosen)] = _random_table(sorted(chosen), schema, random)
        _compare(query, chosen, before, after)


def _compare(query: Custom, chosen: frozenset[str], before: pd.DataFrame, after: pd.DataFrame) -> None:
    one, other = _called(query, before.copy()), _called(query, after.copy())
    if one is None or other is None:
        raise QueryError(
            f"{query} must return {query.size} finite number{'s' * (query.size > 1)} on every table",
            found="an error or something else, on a made-up table",
            remedy="Let the function answer every table of the declared columns: an error tells about the data too.",
        )
    moved = math.fsum(abs(a - b) for a, b in zip(one, other, strict=True))
    rounding = 1e-9 * math.fsum(abs(a) + abs(b) for a, b in zip(one, other, strict=True))
    declared = query.declared(chosen).upper
    if not moved <= declared * (1 + 1e-9) + rounding:
        raise QueryError(
            f"{query} must move by at most the declared {declared:g} when {checks.listing(sorted(chosen))} change",
            found=f"{moved:g} between two made-up tables of {len(before):,} rows",
            remedy="Declare a larger sensitivity, or correct the function.",
        )


def _random_table(names: Sequence[str], schema: Schema, random: np.random.Generator) -> pd.DataFrame:
    """Return columns in canonical form; often all at one end, where answers move most."""
    import pandas as pd

    rows = min(schema.records, MOST_TRIED)
    return pd.DataFrame({name: _random_column(schema[name], rows, random) for name in names})


def _random_column(column: Column, rows: int, random: np.random.Generator) -> Sequence[object] | NDArray[Any]:
    top = len(column.outcomes) - 1 if isinstance(column, Categorical) else column.steps
    low, high = random.choice([(0, 0), (top, top), (0, top), (0, top // 2), (top // 2, top)])
    steps: NDArray[Any] = random.integers(low, high + 1, size=rows)
    if random.random() < 0.3:
        # two values only
        steps = random.choice([low, high], size=rows)
    if isinstance(column, Categorical):
        return [column.outcomes[int(k)] for k in steps.tolist()]
    if has_gaps(column):
        steps = np.where(random.random(rows) < random.choice([0.0, 0.3, 1.0]), -1, steps)
    return _on_grid(steps, column)
