"""Tables of any engine as one lazy narwhals frame with plain dtypes; nothing that is refused depends on values.

Imported only when data are at hand: narwhals stays out of ``import bnpriv``.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Collection, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import quote

import narwhals as nw
import numpy as np

from bnpriv.checks import type_text
from bnpriv.core.columns import Categorical
from bnpriv.core.interrupts import stoppable
from bnpriv.core.schema import Column
from bnpriv.errors import DataError, InstallationError, MissingExtraError
from bnpriv.tables import files
from bnpriv.tables.readings import PLAIN, Dialect, Frame, Writing, categories, in_memory, labelled, number, reading

if TYPE_CHECKING:
    import psycopg

# --------------------------------------------------------------------------------------------------
# Tables in SQLite files and on PostgreSQL servers, read in one transaction that changes nothing.
#
# Values cross as they are, through the drivers that Python and the ledger already have, and count by the rule for
# single values (`bnpriv.tables.readings`): no database decides what a text or a decimal counts as, and none sums
# anything.
# --------------------------------------------------------------------------------------------------


ROWS_AT_ONCE = 10_000

SECONDS_TO_CONNECT = 10

AS_THEY_ARE = frozenset({16, 18, 19, 20, 21, 23, 25, 26, 700, 701, 705, 1042, 1043, 1700})
"""PostgreSQL's numbers of its truth values, numbers and texts."""

NEITHER = frozenset({17, 1082, 1083, 1114, 1184, 1186, 1266})
"""Its bytes, dates and times, which are neither numbers nor texts, and so missing in every engine."""


@contextmanager
def database_frame(url: str, columns: Collection[str]) -> Generator[tuple[nw.DataFrame[Any], Sequence[str]]]:
    """Read columns of a table in a database.

    Parameters
    ----------
    url : str
        ``sqlite:///people.db#people`` or ``postgresql://user@host/database#schema.people``; signs in names of tables
        may be percent-encoded.
    columns : collection of str
        Those that are read, if they are there; of none the rows alone are counted.

    Yields
    ------
    narwhals.DataFrame, sequence of str
        The columns in memory, as objects of Python, and the names of the frame's columns; without `columns` the names
        of all that the table has.

    Raises
    ------
    FileError
        If there is no such database or table, or no leave to read it; never with a password or a value.
    MissingExtraError
        If the driver of PostgreSQL is not installed.
    """
    import pandas as pd

    place = files.database_table(url)
    names, rows = _read_table(place, columns)
    wanted = [name for name in names if name in columns]
    if not columns:
        yield nw.from_native(pd.DataFrame({"rows": [0] * len(rows)}), eager_only=True), names
        return
    held = list(zip(*rows, strict=True)) if rows else [()] * len(wanted)
    table = {name: pd.Series(list(values), dtype=object) for name, values in zip(wanted, held, strict=True)}
    yield nw.from_native(pd.DataFrame(table if table else {"rows": [0] * len(rows)}), eager_only=True), wanted


def database_columns(url: str) -> list[str]:
    """Return the names of the columns of a table in a database, of which no row is read.

    Raises
    ------
    FileError, MissingExtraError
        As `database_frame`.
    """
    return _read_table(files.database_table(url), None)[0]


Read = tuple[list[str], list[Sequence[Any]]]


def _read_table(place: files.DatabaseTable, columns: Collection[str] | None) -> Read:
    return (_sqlite if place.scheme == files.SQLITE else _postgres)(place, columns)


def _sqlite(place: files.DatabaseTable, columns: Collection[str] | None) -> Read:
    path = files.sqlite_file(place.address)
    if not os.path.isfile(path):
        raise place.refusal("a database must be a regular file", "none", "Write four slashes before a full path.")
    refused = ""
    try:
        with (
            closing(sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True)) as connection,
            stoppable(connection.interrupt),
        ):
            connection.text_factory = _decoded
            connection.execute("BEGIN")
            known = "SELECT count(*) FROM sqlite_master WHERE type IN ('table', 'view') AND name = ?"
            if not connection.execute(known, place.table).fetchone()[0]:
                found, remedy = "none of that name", "Check the name behind the #."
                raise place.refusal("the table must be in the database", found, remedy)
            table = files.identifier(place.table[0])
            names = [each[0] for each in connection.execute(f"SELECT * FROM {table} LIMIT 0").description]
            if columns is None:
                return names, []
            chosen = ", ".join(files.identifier(name) for name in names if name in columns) or "1"
            return names, connection.execute(f"SELECT {chosen} FROM {table}").fetchall()
    except sqlite3.Error as error:
        refused = type(error).__name__
    raise place.refusal("a database must be readable", refused, "Check that it is an SQLite file that is whole.")


def _decoded(raw: bytes) -> str:
    return raw.decode("utf-8", errors="replace")


def _postgres(place: files.DatabaseTable, columns: Collection[str] | None) -> Read:
    try:
        import psycopg
    except ImportError:
        raise MissingExtraError(
            "a table on a PostgreSQL server needs psycopg",
            found="no psycopg",
            remedy='Install it: pip install "bnpriv[postgres]".',
        ) from None
    required, found = "the server must answer", "no connection"
    remedy = "Check host, database and user; a password belongs into ~/.pgpass or PGPASSWORD."
    try:
        with psycopg.connect(place.address, connect_timeout=SECONDS_TO_CONNECT, client_encoding="utf8") as connection:
            connection.read_only = True
            connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
            required, found, remedy = "the table must be readable", "an error of the server", "Check the table."
            with stoppable(connection.cancel):
                return _rows(connection, place, columns)
    except psycopg.errors.UndefinedTable:
        required, found, remedy = "the table must be in the database", "none of that name", "Check it behind the #."
    except psycopg.errors.InsufficientPrivilege:
        found, remedy = "no permission", "Ask for the right to SELECT from it."
    except (psycopg.Error, UnicodeError):
        pass  # its text may hold the address, or values
    raise place.refusal(required, found, remedy)


def _rows(connection: psycopg.Connection[Any], place: files.DatabaseTable, columns: Collection[str] | None) -> Read:
    from psycopg import sql

    table = sql.Identifier(*place.table)
    described = connection.execute(sql.SQL("SELECT * FROM {} LIMIT 0").format(table)).description or ()
    if columns is None:
        return [each.name for each in described], []
    fields = [_field(sql, each.name, each.type_code) for each in described if each.name in columns]
    chosen = sql.SQL(", ").join(fields) if fields else sql.SQL("1")
    with connection.cursor("bnpriv") as cursor:
        cursor.itersize = ROWS_AT_ONCE
        # binary, in which every number is all that the server has of it
        cursor.execute(sql.SQL("SELECT {} FROM {}").format(chosen, table), binary=True)
        return [each.name for each in described], list(cast("Iterator[Sequence[Any]]", cursor))


def _field(sql: Any, name: str, kind: int) -> Any:
    if kind in AS_THEY_ARE:
        return sql.Identifier(name)
    return sql.SQL("NULL::text") if kind in NEITHER else sql.SQL("{}::text").format(sql.Identifier(name))


# --------------------------------------------------------------------------------------------------
# Tables of any engine.
# --------------------------------------------------------------------------------------------------


@contextmanager
def opened(
    data: object, columns: Mapping[str, Column], *, doubles: bool = False, dialect: Dialect = PLAIN
) -> Generator[Frame]:
    """Open a table and select the declared columns by position, renamed to c0, c1, ... in the order of `columns`.

    Parameters
    ----------
    data : table, str or path
        Whatever narwhals takes, a Parquet file or directory of Parquet files, or a CSV file.
    columns : mapping from str to Real, Integer or Categorical
        The columns to be read.
    doubles : bool
        Whether a file's columns of numbers that are doubles stay as they are, with NaN and negative zeros, which saves
        a test for each value.
    dialect : Dialect
        How texts write numbers and dates, and which numbers are none.

    Yields
    ------
    narwhals.LazyFrame
        Numbers and whole-number categories as Float64, boolean ones as Boolean, others as what `keys_of` says of their
        dtype; null where a value is missing, and never NaN unless `doubles` allows it.

    Raises
    ------
    DataError
        If the data are no table, or a column is missing or occurs twice.
    FileError
        If a file is missing, unreadable or of another kind.
    """
    with source(data, columns, dialect.separator) as (frame, names):
        # a file is opened such that no statistics in it decide a comparison; of other tables that is not known
        as_they_are = doubles and not files.is_database(data) and isinstance(data, (str, os.PathLike))
        writings = [dialect.of(name) for name in columns]
        yield _read(chosen(frame, names, columns), columns, writings, as_they_are=as_they_are)


@contextmanager
def source(
    data: object, columns: Collection[str], separator: str | None = ","
) -> Generator[tuple[Frame | nw.DataFrame[Any], Sequence[str]]]:
    """Open a table as it is; of a Dask table only some columns. None lets a text file say what separates its fields.

    Yields
    ------
    narwhals.LazyFrame or narwhals.DataFrame, sequence of str
        The table, and the names of its columns, by the positions that they have there.

    Raises
    ------
    DataError, FileError
        As `opened`.
    """
    if files.is_database(data):
        with database_frame(cast(str, data), columns) as found:
            yield found
        return
    if isinstance(data, (str, os.PathLike)):
        with files.file_frame(cast("str | os.PathLike[str]", data), separator) as found:
            yield found
        return
    frame = _table(in_memory(data, columns))
    if is_spark(frame):
        yield frame, list(frame.to_native().columns)
    elif frame.implementation.is_duckdb():
        import duckdb

        # a table does not tell its connection: if it is not the common one, its query ends behind Ctrl-C
        with stoppable(duckdb.interrupt):
            yield frame, frame.collect_schema().names()
    else:
        # the names alone: for its dtypes narwhals would look at the values of a pandas table
        yield frame, frame.collect_schema().names() if isinstance(frame, nw.LazyFrame) else frame.columns


def is_spark(frame: Frame | nw.DataFrame[Any]) -> bool:
    """Whether a table is one of Spark, classic or Connect."""
    return frame.implementation.is_pyspark() or frame.implementation.is_pyspark_connect()


def _table(data: object) -> Frame | nw.DataFrame[Any]:
    frame: object = None
    try:
        frame = files.with_imports_named(lambda: cast(object, nw.from_native(cast(Any, data))))
    except InstallationError:
        raise
    except Exception:  # its message may show the data
        frame = None
    if isinstance(frame, (nw.DataFrame, nw.LazyFrame)):
        return cast("Frame | nw.DataFrame[Any]", frame)
    raise DataError(
        "the data must be a table with distinct column names",
        found=type_text(data),
        remedy="Pass a pandas, Polars, PyArrow, DuckDB, Dask, Spark or Ibis table, or a path to a Parquet or CSV file.",
    )


def chosen(
    frame: Frame | nw.DataFrame[Any], names: Sequence[str], columns: Collection[str]
) -> Frame | nw.DataFrame[Any]:
    """Select columns by position, renamed to c0, c1, ...: an engine may read a name as a pattern, or without its case.

    Raises
    ------
    DataError
        If a column is missing or occurs twice.
    """
    for name in columns:
        if names.count(name) != 1:
            raise DataError(
                f"the data must have one column {name!r}",
                found=f"{names.count(name)} of that name" if name in names else "none of that name",
                remedy="Rename the column, or declare the schema with the names that the data use.",
            )
    places = [names.index(name) for name in columns]
    native: Any = frame.to_native()
    # Spark reads dots and backquotes in names, and not their case; Polars before 2 takes a name that starts with ^ and
    # ends in $ for a pattern, which finds other columns
    numbered: Any = None
    if is_spark(frame):
        numbered = native.toDF(*(f"p{place}" for place in range(len(names))))
    elif frame.implementation.is_polars():
        numbered = native.rename({name: f"p{place}" for place, name in enumerate(names)})
    if numbered is not None:
        renamed = cast("Frame | nw.DataFrame[Any]", nw.from_native(numbered))
        return renamed.select(*(nw.col(f"p{place}").alias(f"c{k}") for k, place in enumerate(places)))
    if frame.implementation.is_duckdb():
        broken = next((name for name in columns if "\0" in name), None)
        if broken is not None:
            raise DataError(
                "names of columns that DuckDB reads must be without NUL", found=repr(broken[:80]), remedy="Rename it."
            )
        fields = [f"{files.identifier(native.columns[place])} AS c{k}" for k, place in enumerate(places)]
        return nw.from_native(native.project(", ".join(fields) or "1 AS c0"))
    return frame.select(*(nw.nth(place).alias(f"c{k}") for k, place in enumerate(places)))


def _read(
    frame: Frame | nw.DataFrame[Any], columns: Mapping[str, Column], writings: Sequence[Writing], *, as_they_are: bool
) -> Frame:
    """Give every column one of the plain dtypes, by the values alone."""
    declared = {f"c{k}": both for k, both in enumerate(zip(columns.values(), writings, strict=True))}
    if isinstance(frame, nw.LazyFrame) and any(dtype == nw.Object for dtype in frame.collect_schema().values()):
        frame = frame.collect()  # what may hold Python objects is read one by one
    if isinstance(frame, nw.DataFrame):
        frame = _plain(frame, declared)
    dtypes = frame.collect_schema()
    expressions = (
        reading(
            nw.col(name), column, dtypes[name], frame.implementation, as_they_are=as_they_are, writing=writing
        ).alias(name)
        for name, (column, writing) in declared.items()
    )
    return frame.lazy().select(*expressions)


def _plain(frame: nw.DataFrame[Any], declared: Mapping[str, tuple[Column, Writing]]) -> nw.DataFrame[Any]:
    """Read here what an engine would read by the dtype of the column, or could not read."""
    if frame.implementation.is_pyarrow():
        return nw.from_native(_plain_arrow(frame.to_native()), eager_only=True)
    if frame.implementation.is_polars():
        objects = [name for name, dtype in frame.schema.items() if dtype == nw.Object]
        return frame.with_columns(*(_polars_column(frame[name], *declared[name]) for name in objects))
    import pandas as pd

    table = frame.to_pandas()
    read = {name: _pandas_column(table[name], *both) for name, both in declared.items()}
    return nw.from_native(pd.DataFrame(read), eager_only=True)


def _plain_arrow(table: Any) -> Any:
    """Decode what is encoded, and turn whole numbers into the nearest doubles, which a cast would refuse to do."""
    import pyarrow
    import pyarrow.compute as compute

    pa, pc = cast(Any, pyarrow), cast(Any, compute)
    for place, name in enumerate(table.column_names):
        column: Any = table.column(place)
        if pa.types.is_run_end_encoded(column.type):
            column = pc.run_end_decode(column)
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        if pa.types.is_integer(column.type):
            column = column.cast(pa.float64(), safe=False)
        elif pa.types.is_decimal(column.type) and not pa.types.is_decimal128(column.type):  # unknown to narwhals
            column = column.cast(pa.string()).cast(pa.float64())
        table = table.set_column(place, name, column)
    return table


def _polars_column(series: nw.Series[Any], column: Column, writing: Writing) -> nw.Series[Any]:
    values = series.to_list()
    kind: Any = {float: nw.Float64, str: nw.String, bool: nw.Boolean}[_kind(column)]
    return nw.new_series(series.name, _read_singly(values, column, writing), kind, backend="polars")


def _kind(column: Column) -> type:
    """Return what values of a column are read as: numbers, texts or truth values."""
    kind = type(column.categories[0]) if isinstance(column, Categorical) else float
    return float if kind is int else kind


def _read_singly(values: Sequence[object], column: Column, writing: Writing) -> Sequence[object]:
    if not isinstance(column, Categorical):
        return [number(value, writing) for value in values]
    kind = _kind(column)
    return [*map(number, values)] if kind is float else (labelled if kind is str else categories)(values, column)


def _pandas_column(series: Any, column: Column, writing: Writing) -> Any:
    """Return the values as doubles, nullable truth values or texts, whatever dtype pandas inferred for them."""
    import pandas as pd

    dtype, kind = series.dtype, _kind(column)
    held = pd.api.types
    if held.is_bool_dtype(dtype) and kind in (bool, str) and not held.is_object_dtype(dtype):
        return series.astype("boolean").array
    if held.is_numeric_dtype(dtype) and not held.is_complex_dtype(dtype) and kind is not bool:
        return series.to_numpy(dtype=np.float64, na_value=np.nan)
    if kind is str and isinstance(dtype, pd.StringDtype):
        return series.array
    found = _read_singly(series.tolist(), column, writing)
    if kind is float:
        return np.array(found, dtype=np.float64)
    return pd.Series(cast(Any, found), dtype=cast(Any, "boolean" if kind is bool else "string")).array


def collected(frame: Frame) -> nw.DataFrame[Any]:
    """Collect into the engine's own tables, else into pandas, which is always there."""
    engine = frame.implementation
    own = engine.is_polars() or engine.is_pyarrow() or engine.is_pandas_like()
    return frame.collect() if own else frame.collect(backend="pandas")
