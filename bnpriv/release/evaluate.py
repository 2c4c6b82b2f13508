"""The exact answer to a query on a table of any engine: one pass, whole-number sums, no error that tells a value.

What counts is fixed here for every engine alike: missing values are filled, the others clamped, then rounded to the
grid; conditions read the value before the grid. No message depends on the data, except that the rows may be too few,
too many, or unreadable.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, cast, final

import numpy as np
from numpy.typing import NDArray

from bnpriv import checks
from bnpriv.errors import BnprivError, DataError, QueryError
from bnpriv.queries.base import Indicator, Query
from bnpriv.queries.custom import Custom
from bnpriv.queries.normal_form import IntegerTerm, NormalForm, normal_form
from bnpriv.tables.schema import Categorical, Column, Integer, Real, Schema

if TYPE_CHECKING:
    import narwhals as nw
    import pandas as pd

T = TypeVar("T")

LARGEST_CATEGORY = 2**53
MOST_TRIED = 10_000


@final
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
        pandas, Polars, PyArrow, DuckDB, Dask, Spark and whatever else narwhals takes, eager or lazy; a Parquet file, a
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
    >>> from bnpriv.queries import col, count
    >>> schema = Schema(records=3, columns={"height": Real(120, 220)})
    >>> evaluate(count(col("height") > 165), schema, pd.DataFrame({"height": [150.0, None, 999.0]})).values
    (Fraction(2, 1),)
    """
    columns = {name: schema[name] for name in sorted(query.columns)}
    for name, column in columns.items():
        _check_categories(name, column)
    if isinstance(query, Custom):
        return _custom_answer(query, schema, columns, data)
    form = normal_form(query, schema)
    rows, sums = _guarded(lambda: _totals(form, columns, data))
    _check_rows(rows, schema)
    return Answer(values=form.answer(sums), labels=form.labels)


def _check_categories(name: str, column: Column) -> None:
    """Refuse whole numbers that two engines could round to different doubles."""
    if isinstance(column, Categorical) and any(
        type(category) is int and abs(category) > LARGEST_CATEGORY for category in column.categories
    ):
        raise QueryError(
            f"whole-number categories of {name!r} must be at most 2^53 in size",
            found="a larger one",
            remedy="Convert the column to strings.",
        )


def _guarded(work: Callable[[], T]) -> T:
    """Do what may fail in an engine, whose own errors quote the data."""
    try:
        return work()
    except BnprivError:
        raise
    except Exception:
        pass
    # raised here, not in the handler: an error that is handled stays reachable as __context__
    raise DataError(
        "the engine must be able to evaluate the query on the data",
        found="an error, whose text is withheld because it may quote the data",
        remedy="Try the query on made-up rows with the same columns and dtypes.",
    )


def _totals(form: NormalForm, columns: Mapping[str, Column], data: object) -> tuple[int, tuple[int, ...]]:
    """Return the number of rows and the sum of every term."""
    from bnpriv.tables.partitions import over_partitions

    parts = over_partitions(data, partial(_part_totals, form, columns))
    sums = zip(*(totals for _, totals in parts), strict=True)
    return sum(rows for rows, _ in parts), tuple(map(sum, sums))


def _part_totals(form: NormalForm, columns: Mapping[str, Column], data: object) -> tuple[int, tuple[int, ...]]:
    """Return the same of a table or partition: terms one by one, or together where many read one column."""
    from bnpriv.release.counts import wide_columns
    from bnpriv.release.expressions import cleaned
    from bnpriv.tables.reader import opened

    wide = wide_columns(form.terms)
    together = {place for places in wide.values() for place in places}
    apart = [place for place in range(len(form.terms)) if place not in together]
    with opened(data, columns) as frame:
        clean = cleaned(frame, columns)
        rows, sums = _engine_sums([form.terms[place] for place in apart], clean, columns)
        found = dict(zip(apart, sums, strict=True))
        for name, places in wide.items():
            terms = [cast(Indicator, form.terms[place]) for place in places]
            found |= zip(places, _counts(terms, name, clean, columns), strict=True)
    return rows, tuple(found[place] for place in range(len(form.terms)))


def _engine_sums(
    terms: Sequence[IntegerTerm], clean: nw.LazyFrame[Any], columns: Mapping[str, Column]
) -> tuple[int, tuple[int, ...]]:
    """Return the number of rows and the sum of every term, in one pass of the engine."""
    import narwhals as nw

    from bnpriv.release.expressions import integer_terms

    frame = clean.select(*integer_terms(terms, clean, columns)) if terms else clean
    totals = [nw.col(f"t{k}").sum() for k in range(len(terms))]
    if not frame.implementation.is_duckdb():
        # where SQL would widen the sum to a decimal, which pandas takes for a double
        totals = [total.cast(nw.Int64) for total in totals]
    rows, *sums = _only_row(frame.select(nw.len().alias("rows"), *totals))
    return rows, tuple(sums)


def _counts(
    terms: Sequence[Indicator], name: str, clean: nw.LazyFrame[Any], columns: Mapping[str, Column]
) -> list[int]:
    """Return how many records satisfy each of many conditions on one column."""
    from bnpriv.release.counts import category_counts, number_counts, pieces
    from bnpriv.release.expressions import keys_in

    column, place = columns[name], f"c{list(columns).index(name)}"
    if isinstance(column, Categorical):
        return category_counts(terms, column, clean, place, keys_in(clean, columns)[name])
    return number_counts(terms, pieces(clean, place))


def _only_row(frame: nw.LazyFrame[Any]) -> tuple[int, ...]:
    from bnpriv.tables.reader import collected

    if frame.implementation.is_duckdb():
        # sums come as HUGEINT: whole numbers of Python this way, doubles in a data frame
        row = frame.to_native().fetchone()
    else:
        row = collected(frame).row(0)
    return tuple(int(value) for value in row)


def _check_rows(rows: int, schema: Schema) -> None:
    # the number itself is not told: it may be what the data hide
    if rows != schema.records:
        raise DataError(
            "the data must have as many rows as the schema declares records",
            found="that the row count is not the declared n",
            remedy="Check which table is meant; the number of records is a public fact.",
        )


def _custom_answer(query: Custom, schema: Schema, columns: Mapping[str, Column], data: object) -> Answer:
    table = canonical_table(columns, data)
    _check_rows(len(table), schema)
    values = _called(query, table)
    if values is None:
        raise DataError(
            f"{query} must return {query.size} finite numbers",
            found="an error or something else, which is withheld because it may quote the data",
            remedy="Try the function on made-up tables with the same columns.",
        )
    labels = (str(query),) if query.size == 1 else tuple(f"{query}[{k}]" for k in range(query.size))
    return Answer(values=tuple(Fraction(value) for value in values), labels=labels)


def _called(query: Custom, table: pd.DataFrame) -> list[float] | None:
    """Return what the function says, inside its declared span, or None if it fails; its error goes no further."""
    try:
        values = np.asarray(query.function(table), dtype=np.float64)
    except Exception:
        return None
    if values.size != query.size or values.ndim > 1 or not np.isfinite(values).all():
        return None
    # declared like bounds of a column, and like them enforced: clamping moves no two answers apart
    low, high = query.span or (-math.inf, math.inf)
    return [min(max(float(value), low), high) for value in values.reshape(-1)]


def canonical_table(columns: Mapping[str, Column], data: object) -> pd.DataFrame:
    """Return columns as they count, in memory: on the grid, in declared categories, in the order of rows.

    Raises
    ------
    DataError, FileError
        If the data cannot be read; never with a value of them.
    """
    return _guarded(lambda: _canonical(columns, data))


def _canonical(columns: Mapping[str, Column], data: object) -> pd.DataFrame:
    import narwhals as nw
    import pandas as pd

    from bnpriv.release.expressions import cleaned, grid_steps, keys_in
    from bnpriv.tables.reader import collected, opened

    with opened(data, columns) as frame:
        selected = [
            nw.col(f"c{k}") if isinstance(column, Categorical) else grid_steps(nw.col(f"c{k}"), column).alias(f"c{k}")
            for k, column in enumerate(columns.values())
        ]
        clean = cleaned(frame, columns)
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


def _on_grid(steps: NDArray[Any], column: Real | Integer) -> NDArray[Any]:
    if isinstance(column, Integer):
        return steps.astype(np.int64) + column.lower
    return np.minimum(column.lower + steps.astype(np.float64) * float(column.grid), column.upper)


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
    >>> from bnpriv.queries.custom import custom
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
            f"{query} must return {query.size} finite numbers on every table",
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
    top = len(column.categories) - 1 if isinstance(column, Categorical) else column.steps
    low, high = random.choice([(0, 0), (top, top), (0, top), (0, top // 2), (top // 2, top)])
    steps: NDArray[Any] = random.integers(low, high + 1, size=rows)
    if random.random() < 0.3:
        # two values only
        steps = random.choice([low, high], size=rows)
    if isinstance(column, Categorical):
        return [column.categories[int(k)] for k in steps.tolist()]
    return _on_grid(steps, column)
