"""Tables of any engine as one lazy narwhals frame with plain dtypes, or a refusal that says nothing about values.

Imported only when data are at hand: narwhals stays out of ``import bnpriv``.
"""

from __future__ import annotations

import csv
import glob
import io
import os
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import narwhals as nw
import numpy as np

from bnpriv.errors import DataError, FileError
from bnpriv.schema import Categorical, Category, Column

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

Frame = nw.LazyFrame[Any]

LONGEST_HEADER = 2**20


@contextmanager
def opened(data: object, columns: Mapping[str, Column]) -> Generator[Frame]:
    """Open a table and select the declared columns by position, renamed to c0, c1, ... in the order of `columns`.

    Parameters
    ----------
    data : table, str or path
        Whatever narwhals takes, a Parquet file or directory of Parquet files, or a CSV file.
    columns : mapping from str to Real, Integer or Categorical
        The columns to be read.

    Yields
    ------
    narwhals.LazyFrame
        Numbers and whole-number categories as Float64, boolean categories as Boolean, others as strings.

    Raises
    ------
    DataError
        If the data are no table, or a column is missing or of a dtype that cannot hold what was declared.
    FileError
        If a file is missing, unreadable or of another kind.
    """
    if not isinstance(data, (str, os.PathLike)):
        yield _selected(_table(data), columns)
        return
    import duckdb

    # nothing is fetched from the network, whatever the path looks like
    config = {"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"}
    with duckdb.connect(config=cast(Any, config)) as connection:
        yield _file(connection, Path(cast("str | os.PathLike[str]", data)), columns)


def _table(data: object) -> Frame | nw.DataFrame[Any]:
    frame: object = None
    try:
        frame = nw.from_native(cast(Any, data))
    except Exception:  # its message may show the data
        frame = None
    if isinstance(frame, (nw.DataFrame, nw.LazyFrame)):
        return cast("Frame | nw.DataFrame[Any]", frame)
    raise DataError(
        "the data must be a table with distinct column names",
        found=f"a {type(data).__name__}",
        remedy="Pass a pandas, Polars, PyArrow, DuckDB, Dask or Spark table, or a path to a Parquet or CSV file.",
    )


def _selected(frame: Frame | nw.DataFrame[Any], columns: Mapping[str, Column]) -> Frame:
    if isinstance(frame, nw.DataFrame):
        frame = _plain_pandas(frame, columns)
    dtypes = dict(frame.collect_schema())
    positions = {name: place for place, name in enumerate(dtypes)}
    expressions: list[nw.Expr] = []
    for k, (name, column) in enumerate(columns.items()):
        if name not in positions:
            raise _absent(name)
        # by position: an engine may read a name as a pattern, or without its case
        expression = _plain(nw.nth(positions[name]), name, column, dtypes[name], frame.implementation)
        expressions.append(expression.alias(f"c{k}"))
    return frame.lazy().select(*expressions)


def _absent(name: str) -> DataError:
    return DataError(
        f"the data must have the column {name!r}",
        found="none of that name",
        remedy="Rename the column, or declare the schema with the names that the data use.",
    )


def _plain(column: nw.Expr, name: str, declared: Column, dtype: nw.dtypes.DType, engine: nw.Implementation) -> nw.Expr:
    """Cast a column to the dtype in which it is compared, or refuse its dtype."""
    if not isinstance(declared, Categorical):
        if not (dtype.is_numeric() or dtype == nw.Boolean):
            raise _wrong_dtype(name, "numeric", dtype)
        return column.cast(nw.Float64)
    kind = type(declared.categories[0])
    if kind is int and dtype.is_numeric():
        return column.cast(nw.Float64)
    if kind is bool and dtype == nw.Boolean:
        return column
    if kind is str and dtype == nw.String:
        return column
    if kind is str and isinstance(dtype, (nw.Categorical, nw.Enum)):
        # pandas compares categories as they are, and may turn a missing one into the string "nan"
        return column if engine.is_pandas_like() or engine.is_dask() else column.cast(nw.String)
    raise _wrong_dtype(name, {int: "whole numbers", bool: "booleans", str: "strings"}[kind], dtype)


def _wrong_dtype(name: str, wanted: str, dtype: nw.dtypes.DType) -> DataError:
    # the bare name of the dtype: that of an Enum in full would list its values
    return DataError(
        f"the column {name!r} must be {wanted} as declared in the schema",
        found=f"dtype {type(dtype).__name__}",
        remedy="Cast it, or declare the column as what it is.",
    )


def _plain_pandas(frame: nw.DataFrame[Any], columns: Mapping[str, Column]) -> nw.DataFrame[Any]:
    """Replace pandas columns of Python objects, which may hold anything, and categories of anything but strings."""
    if not frame.implementation.is_pandas_like():
        return frame
    native: Any = frame.to_native()
    for name in columns.keys() & set(frame.columns):
        declared, series = columns[name], native[name]
        categories = getattr(series.dtype, "categories", None)
        inner = _pandas_dtype(series.dtype if categories is None else categories.dtype)
        if (categories is None and inner != nw.Object) or (categories is not None and inner == nw.String):
            continue
        if not isinstance(declared, Categorical):
            raise _wrong_dtype(name, "numeric", inner if categories is None else nw.Categorical())
        if inner != nw.Object:
            _plain(nw.col(name), name, declared, inner, frame.implementation)
        values: list[Category | float | None]
        if categories is None:
            values = _only_categories(series.tolist(), declared.categories)
        else:
            # code -1, missing, is the last one
            known: list[Category | float | None] = [*_only_categories(categories.tolist(), declared.categories), None]
            values = [known[code] for code in series.cat.codes.tolist()]
        kind: Any = {str: nw.String, int: nw.Float64, bool: nw.Boolean}[type(declared.categories[0])]
        frame = frame.with_columns(nw.new_series(name, values, kind, backend=frame.implementation))
    return frame


def _pandas_dtype(dtype: Any) -> nw.dtypes.DType:
    """Return the dtype as it is declared, never as it looks from the values of an object column."""
    import pandas as pd

    if str(dtype) == "object":
        return nw.Object()
    return nw.from_native(pd.Series([], dtype=dtype), series_only=True).dtype


def _only_categories(values: Sequence[object], categories: Sequence[Category]) -> list[Category | float | None]:
    """Return values that are a declared category, None for all others; nothing that they are can raise."""
    kinds: dict[type, tuple[type, ...]] = {
        str: (str,),
        int: (int, float, np.integer, np.floating),
        bool: (bool, np.bool_),
    }
    kind = type(categories[0])
    known = {category: float(category) if kind is int else category for category in categories}
    allowed, other = kinds[kind], (bool, np.bool_) if kind is int else ()
    return [
        known.get(cast(Category, value)) if isinstance(value, allowed) and not isinstance(value, other) else None
        for value in values
    ]


def _file(connection: DuckDBPyConnection, path: Path, columns: Mapping[str, Column]) -> Frame:
    suffix = path.suffix.lower()
    if not _is_data(path):
        raise FileError(
            "a data file must exist and end in .parquet or .csv",
            found=_shown(path),
            remedy="Check the path, or open the file yourself and pass the table.",
        )
    if suffix == ".csv" and not path.is_dir():
        return cast(Frame, nw.from_native(cast(Any, connection.sql(_csv_query(path, columns)))))
    pattern = glob.escape(str(path)) + ("/*.parquet" if path.is_dir() else "")
    try:
        # columns are what the file holds, not what a directory is called
        relation = connection.read_parquet(pattern, hive_partitioning=False)
    except Exception:  # the text of the error may quote the file
        relation = None
    if relation is None:
        raise FileError(
            "a Parquet file must be readable, and those of a directory must have the same columns",
            found=f"{_shown(path)}, which is not",
            remedy="Write it again, or open it yourself and pass the table.",
        )
    return _selected(_table(relation), columns)


def _is_data(path: Path) -> bool:
    try:
        return path.is_dir() or (path.suffix.lower() in (".parquet", ".csv") and path.exists())
    except (OSError, ValueError):
        return False


def _shown(path: Path) -> str:
    """Return a path for a message, unless it is no path but the text of a table."""
    text = str(path)
    return repr(text) if len(text) <= 300 and text.isprintable() else "a text that is no path"


def _csv_query(path: Path, columns: Mapping[str, Column]) -> str:
    """Return SQL that reads every field as text, so that garbage in one row is a missing value and no error."""
    header = _csv_header(path)
    selected: list[str] = []
    for k, (name, column) in enumerate(columns.items()):
        if header.count(name) != 1:
            raise _absent(name)
        text = f"f{header.index(name)}"
        selected.append(f"{_csv_field(text, column)} AS c{k}")
    fields = ", ".join(f"'f{k}': 'VARCHAR'" for k in range(len(header)))
    # The dialect is declared, not guessed from the data. Short rows are padded, bytes that are no UTF-8 drop their row,
    # which the row count finds. In parallel DuckDB miscounts quoted line ends when it is not strict.
    return (
        f"SELECT {', '.join(selected) or '1 AS c0'} FROM read_csv({_quoted(glob.escape(str(path)))}, "
        f"auto_detect = false, columns = {{{fields}}}, header = true, delim = ',', quote = '\"', escape = '\"', "
        "strict_mode = false, null_padding = true, ignore_errors = true, parallel = false)"
    )


def _csv_field(text: str, column: Column) -> str:
    if isinstance(column, Categorical) and isinstance(column.categories[0], str):
        return text
    if isinstance(column, Categorical) and isinstance(column.categories[0], bool):
        return f"TRY_CAST({text} AS BOOLEAN)"
    return f"TRY_CAST({text} AS DOUBLE)"


def _csv_header(path: Path) -> list[str]:
    none: list[str] = []
    try:
        with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
            header = next(csv.reader(io.StringIO(file.read(LONGEST_HEADER), newline="")), none)
    except (OSError, csv.Error):
        header = none
    if not header:
        raise FileError(
            "a CSV file must start with a line of column names, separated by commas",
            found=f"{_shown(path)}, which does not",
            remedy="Write it again with a header, or open it yourself and pass the table.",
        )
    return header


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
