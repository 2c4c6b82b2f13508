"""Parquet and CSV files as lazy tables of DuckDB."""

from __future__ import annotations

import codecs
import csv
import glob
import io
import os
import shutil
import stat
import tempfile
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import narwhals as nw

from bnpriv.errors import FileError
from bnpriv.paths import user_path
from bnpriv.tables.database_urls import is_database
from bnpriv.tables.expressions import Frame
from bnpriv.tables.installed import require_readers, with_imports_named
from bnpriv.tables.interrupts import stoppable
from bnpriv.tables.separators import refuse_other_encoding, refuse_other_separators

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


LONGEST_HEADER = 2**20
LONGEST_LINE = 2**24
BYTES_AT_ONCE = 2**20


@contextmanager
def file_frame(path: str | os.PathLike[str]) -> Generator[tuple[Frame, Sequence[str]]]:
    """Open a Parquet file, a directory of them, or a CSV file, whose fields are texts.

    Parameters
    ----------
    path : str or path
        A file that ends in .parquet or .csv, or a directory.

    Yields
    ------
    narwhals.LazyFrame, sequence of str
        The table, and the names of its columns as the file gives them.

    Raises
    ------
    FileError
        If the file is missing, unreadable or of another kind.
    InstallationError
        If no file could be read with the libraries that are installed.
    """
    import duckdb

    # a full path, which DuckDB takes as it is
    file = user_path(path).absolute()
    if not is_data(file):
        raise FileError(
            "a data file must exist, be a regular file, and end in .parquet or .csv",
            found=_shown(Path(path)),
            remedy="Check the path, or open the file yourself and pass the table.",
        )
    # Nothing is fetched from the network, whatever the path looks like. What a file says about its own least and
    # largest values decides nothing: writers leave out NaN there, or err.
    config = {
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
        "disabled_optimizers": "statistics_propagation",
    }
    with duckdb.connect(config=cast(Any, config)) as connection, stoppable(connection.interrupt):
        if not is_csv(file):
            yield _parquet(connection, file), _parquet_names(connection, file)
            return
        names = _csv_header(file)
        with _decodable(file) as readable:
            relation = connection.sql(_csv_query(readable, len(names)))
            yield with_imports_named(lambda: cast(Frame, nw.from_native(cast(Any, relation)))), names


def _parquet(connection: DuckDBPyConnection, path: Path) -> Frame:
    if path.is_dir() and next(path.glob("*.parquet"), None) is None:
        raise FileError(
            "a folder that is given as a table must hold .parquet files",
            found=f"none in {_shown(path)}",
            remedy="Give the path of the file of the table.",
        )
    pattern = glob.escape(str(path)) + ("/*.parquet" if path.is_dir() else "")
    try:
        # columns are what the file holds, not what a directory is called
        relation = connection.read_parquet(pattern, hive_partitioning=False)
        return cast(Frame, nw.from_native(cast(Any, relation)))
    except Exception:  # the text of the error may quote the file
        pass
    require_readers()
    raise FileError(
        "a Parquet file must be readable, and those of a directory must have the same columns",
        found=f"{_shown(path)}, which is not",
        remedy="Write it again, or open it yourself and pass the table.",
    )


def _parquet_names(connection: DuckDBPyConnection, path: Path) -> list[str]:
    """Return the names of the columns as the file gives them: DuckDB changes those that differ in case alone."""
    first = min(path.glob("*.parquet")) if path.is_dir() else path
    query = "SELECT name, num_children FROM parquet_schema(?)"
    _, *nodes = connection.execute(query, [glob.escape(str(first))]).fetchall()
    names: list[str] = []
    left = 0
    for name, children in nodes:
        if left == 0:
            names.append(name)
            left = 1
        left += (children or 0) - 1
    return names


def is_csv(data: object) -> bool:
    """Return whether data are the path of a CSV file, whose fields are texts."""
    if is_database(data) or not isinstance(data, (str, os.PathLike)):
        return False
    path = user_path(cast("str | os.PathLike[str]", data))
    return path.suffix.lower() == ".csv" and not os.path.isdir(path)


def is_data(path: Path) -> bool:
    """Return whether a path leads to a file of data or to a folder: no pipe or device, which might never end."""
    try:
        if path.is_dir():
            return all(stat.S_ISREG(file.stat().st_mode) for file in path.glob("*.parquet"))
        return path.suffix.lower() in (".parquet", ".csv") and stat.S_ISREG(path.stat().st_mode)
    except (OSError, ValueError):
        return False


def _shown(path: Path) -> str:
    """Return a path for a message, unless it is no path but the text of a table."""
    text = str(path)
    return repr(text) if len(text) <= 300 and text.isprintable() else "a text that is no path"


@contextmanager
def _decodable(path: Path) -> Generator[Path]:
    """Yield a file that is valid UTF-8: `path`, or a copy in which bytes that are none are replaced."""
    if _is_utf8(path):
        yield path
        return
    # DuckDB leaves out lines that it cannot decode. The folder is the user's alone, and goes when the release is done.
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "table.csv"
        with (
            path.open(encoding="utf-8", errors="replace", newline="") as source,
            copy.open("w", encoding="utf-8", newline="") as target,
        ):
            shutil.copyfileobj(source, target, BYTES_AT_ONCE)
        yield copy


def _is_utf8(path: Path) -> bool:
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        with path.open("rb") as file:
            while piece := file.read(BYTES_AT_ONCE):
                decoder.decode(piece)
            decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


def _csv_query(path: Path, columns: int) -> str:
    """Return SQL that reads every field as text, so that garbage in one row is a missing value and no error."""
    fields = ", ".join(f"'f{k}': 'VARCHAR'" for k in range(columns))
    # The dialect is declared, not guessed from the data. Short rows are padded; an empty field is missing, "" is the
    # empty text. In parallel DuckDB miscounts quoted line ends when it is not strict.
    return (
        f"SELECT * FROM read_csv({_quoted(glob.escape(str(path)))}, auto_detect = false, columns = {{{fields}}}, "
        "header = true, delim = ',', quote = '\"', escape = '\"', allow_quoted_nulls = false, "
        "strict_mode = false, null_padding = true, ignore_errors = true, parallel = false, "
        f"max_line_size = {LONGEST_LINE})"
    )


def _csv_header(path: Path) -> list[str]:
    header: list[str] = []
    text = ""
    with suppress(OSError):
        refuse_other_encoding(path)
    with suppress(OSError, csv.Error), path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
        text = file.read(LONGEST_HEADER)
        lines = io.StringIO(text, newline="")
        found = next(csv.reader(lines), header)
        header = found if lines.tell() < LONGEST_HEADER else header
    if not header:
        raise FileError(
            f"a CSV file must start with a line of column names, separated by commas, of at most {LONGEST_HEADER:,} "
            f"characters in all and {csv.field_size_limit():,} in each",
            found=f"{_shown(path)}, which does not",
            remedy="Write it again with a header, or open it yourself and pass the table.",
        )
    refuse_other_separators(path, text)
    return header


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def identifier(name: str) -> str:
    """Return the name of a column as it stands in SQL, whatever is in it."""
    return '"' + name.replace('"', '""') + '"'
