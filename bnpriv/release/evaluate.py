"""The exact answer to a query on a table of any engine: one pass, whole-number sums, no error that tells a value.

What counts is fixed here for every engine alike: missing values are filled, the others clamped, then rounded to the
grid; conditions read the value before the grid. No message depends on the data, except that the rows may be too few,
too many, or unreadable.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeVar, final

import numpy as np
from numpy.typing import NDArray

from bnpriv import checks
from bnpriv.errors import BnprivError, DataError, QueryError
from bnpriv.queries.base import Query
from bnpriv.queries.custom import Custom
from bnpriv.queries.normal_form import IntegerTerm, NormalForm, normal_form
from bnpriv.tables.interrupts import interruptible
from bnpriv.tables.schema import Categorical, Column, NumberColumn, Schema, is_whole

if TYPE_CHECKING:
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
    >>> from bnpriv.queries import col, count
    >>> from bnpriv.tables.schema import Real
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
    rows, sums = guarded(data, lambda: _totals(tuple(places), columns, schema, data))
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
    from bnpriv.tables.installed import require_readers, with_imports_named

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


def _totals(
    terms: Sequence[IntegerTerm], columns: Mapping[str, Column], schema: Schema, data: object
) -> tuple[int, tuple[int, ...]]:
    from bnpriv.release.totals import totals

    return totals(terms, columns, schema.records, data)


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


def _custom_answers(queries: Mapping[int, Custom], schema: Schema, data: object) -> dict[int, Answer]:
    if not queries:
        return {}
    columns = _columns((name for query in queries.values() for name in query.columns), schema)
    table = canonical_table(columns, data)
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


def canonical_table(columns: Mapping[str, Column], data: object) -> pd.DataFrame:
    """Return columns as they count, in memory: on the grid, in declared categories, in the order of rows.

    Raises
    ------
    DataError, FileError
        If the data cannot be read; never with a value of them.
    """
    return guarded(data, lambda: _canonical(columns, data))


def _canonical(columns: Mapping[str, Column], data: object) -> pd.DataFrame:
    import narwhals as nw
    import pandas as pd

    from bnpriv.release.expressions import cleaned, grid_steps, keys_in
    from bnpriv.tables.expressions import constants
    from bnpriv.tables.reader import collected, opened

    with opened(data, columns, doubles=True) as frame:
        clean = cleaned(frame, columns)
        constant, values = (
            constants(frame.implementation),
            {f"c{k}": column for k, column in enumerate(columns.values())},
        )
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
    if is_whole(column):
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
    >>> from bnpriv.tables.schema import Real
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
    top = len(column.categories) - 1 if isinstance(column, Categorical) else column.steps
    low, high = random.choice([(0, 0), (top, top), (0, top), (0, top // 2), (top // 2, top)])
    steps: NDArray[Any] = random.integers(low, high + 1, size=rows)
    if random.random() < 0.3:
        # two values only
        steps = random.choice([low, high], size=rows)
    if isinstance(column, Categorical):
        return [column.categories[int(k)] for k in steps.tolist()]
    return _on_grid(steps, column)
