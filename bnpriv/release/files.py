"""Parquet and CSV files as lazy tables of DuckDB."""

from __future__ import annotations

import codecs
import csv
import glob
import io
import os
import shutil
import tempfile
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import narwhals as nw

from bnpriv.errors import FileError

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

Frame = nw.LazyFrame[Any]

LONGEST_HEADER = 2**20
PIECE = 2**20


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
    """
    import duckdb

    file = Path(path)
    if not _is_data(file):
        raise FileError(
            "a data file must exist and end in .parquet or .csv",
            found=_shown(file),
            remedy="Check the path, or open the file yourself and pass the table.",
        )
    # Nothing is fetched from the network, whatever the path looks like. What a file says about its own least and
    # largest values decides nothing: writers leave out NaN there, or err.
    config = {
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
        "disabled_optimizers": "statistics_propagation",
    }
    with duckdb.connect(config=cast(Any, config)) as connection:
        if file.suffix.lower() != ".csv" or file.is_dir():
            frame = _parquet(connection, file)
            yield frame, frame.collect_schema().names()
            return
        names = _csv_header(file)
        with _decodable(file) as readable:
            relation = connection.sql(_csv_query(readable, len(names)))
            yield cast(Frame, nw.from_native(cast(Any, relation))), names


def _parquet(connection: DuckDBPyConnection, path: Path) -> Frame:
    pattern = glob.escape(str(path)) + ("/*.parquet" if path.is_dir() else "")
    try:
        # columns are what the file holds, not what a directory is called
        relation = connection.read_parquet(pattern, hive_partitioning=False)
        return cast(Frame, nw.from_native(cast(Any, relation)))
    except Exception:  # the text of the error may quote the file
        pass
    raise FileError(
        "a Parquet file must be readable, and those of a directory must have the same columns",
        found=f"{_shown(path)}, which is not",
        remedy="Write it again, or open it yourself and pass the table.",
    )


def _is_data(path: Path) -> bool:
    try:
        return path.is_dir() or (path.suffix.lower() in (".parquet", ".csv") and path.exists())
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
            shutil.copyfileobj(source, target, PIECE)
        yield copy


def _is_utf8(path: Path) -> bool:
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        with path.open("rb") as file:
            while piece := file.read(PIECE):
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
        "strict_mode = false, null_padding = true, ignore_errors = true, parallel = false)"
    )


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
