"""Parquet and CSV files as lazy tables, urls of databases without their passwords, and broken installations."""

from __future__ import annotations

import codecs
import csv
import glob
import io
import json
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib import metadata
from itertools import dropwhile
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast
from urllib.parse import SplitResult, unquote, urlsplit

import narwhals as nw

from bnpriv.core.interrupts import stoppable
from bnpriv.errors import BnprivError, FileError, InstallationError
from bnpriv.paths import user_path, with_journals
from bnpriv.tables.readings import SEPARATORS, Frame

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

# --------------------------------------------------------------------------------------------------
# URLs of tables in databases; what may be a password is never shown.
# --------------------------------------------------------------------------------------------------

SQLITE, POSTGRES = "sqlite", ("postgresql", "postgres")
WEB = ("https", "http", "ftp", "s3", "gs")

_SHOWN_SIGNS = re.compile(r"(//)?[-\w.:%/\[\]]*")
"""Hosts and databases that are shown; in others a sign that should be percent-encoded may begin a password."""

_MEANT_AS_URL = re.compile(r" *(sqlite|postgres(ql)?)(\+\w+)?:|(.* )?password *=", re.IGNORECASE)
"""What is no path either: URLs that are spelled wrongly, and PostgreSQL's other way to write an address."""


def is_database(data: object) -> bool:
    """Whether data are the URL of a table in a database; a path never holds a scheme.

    Examples
    --------
    >>> is_database("sqlite:///people.db#people"), is_database("people.parquet")
    (True, False)
    """
    return isinstance(data, str) and ("://" in data or _MEANT_AS_URL.match(data) is not None)


def is_sqlite(data: object) -> bool:
    """Whether data are the URL of a table of an SQLite file.

    Examples
    --------
    >>> is_sqlite("sqlite:///people.db#people"), is_sqlite("postgresql://host/people#people")
    (True, False)
    """
    return isinstance(data, str) and data.lower().startswith(f"{SQLITE}:///")


def database_file(data: str) -> Path | None:
    """Return the file that data are in: that of an SQLite database, or a path itself; None for a server."""
    if not is_database(data):
        return user_path(data)
    return sqlite_file(data) if is_sqlite(data) else None


def data_files(data: str, *outputs: Path | None) -> list[Path]:
    """Return the files of a table, which no output may replace; none for a server.

    Parameters
    ----------
    data : str
        A path, of a file or a folder, or a URL.
    *outputs : Path or None
        What is to be written: where a folder is a table, a file that would become a part of it is returned too.
    """
    file = database_file(data)
    if file is None:
        return []
    if is_database(data):
        return with_journals(file)
    if not os.path.isdir(file):
        return [file]
    written = (file / path.name for path in outputs if path is not None)
    return [*file.glob("*.parquet"), *(path for path in written if path.suffix == ".parquet")]


def sqlite_file(address: str) -> Path:
    """Return the file of an SQLite database."""
    return user_path(unquote(urlsplit(address).path.removeprefix("/")) or ".").absolute()


@dataclass(frozen=True)
class DatabaseTable:
    """A table in a database; its address may hold a password, and is never shown."""

    scheme: str
    address: str = field(repr=False)
    table: tuple[str, ...]
    shown: str

    def refusal(self, required: str, found: str, remedy: str) -> FileError:
        """Return an error that names the table."""
        return FileError(f"{required}, as for {self.shown}", found=found, remedy=remedy)


def database_table(url: str) -> DatabaseTable:
    """Return the parts of a URL, which is not shown: it may hold a password.

    Raises
    ------
    FileError
        If it is a place on the web, names no table of a database, or has signs that should be percent-encoded.
    """
    known = None
    try:
        parts = urlsplit(url)
        table = tuple(map(unquote, parts.fragment.split(".") if parts.scheme in POSTGRES else [parts.fragment]))
        if all(table) and 0 < len(table) < 3 and "://" in url and (parts.scheme == SQLITE or _is_plain(parts)):
            host = "" if parts.scheme == SQLITE else parts.hostname or "localhost"
            shown = repr(f"{parts.scheme}://{host}{parts.path}#{'.'.join(table)}"[:200])
            known = DatabaseTable(parts.scheme, url.partition("#")[0], table, shown)
    except ValueError:
        known = None
    web = next((each for each in WEB if url.lower().startswith(f"{each}://")), None)
    if web is not None:
        raise FileError(
            "a table is a file on this machine, or lies in a database",
            found=f"a place on the web, {web}://",
            remedy="Fetch the file, and give its path.",
        )
    if known is None:
        raise FileError(
            "the URL of a table names a database, and the table behind a #",
            found="another text, which is withheld because it may hold a password",
            remedy="Write sqlite:///people.db#people or postgresql://user@host/database#schema.people; percent-encode "
            "other signs.",
        )
    return known


def _is_plain(parts: SplitResult) -> bool:
    """Whether no part of the URL of a server can be the rest of a password with /, # or = in it."""
    place = f"{parts.hostname or ''}{parts.path}"
    return parts.scheme in POSTGRES and "@" not in parts.fragment and _SHOWN_SIGNS.fullmatch(place) is not None


# --------------------------------------------------------------------------------------------------
# Whether a file of texts is one that is read here: UTF-8, with the declared sign between the fields of its first line.
# --------------------------------------------------------------------------------------------------


def refuse_other_encoding(path: Path) -> None:
    """Refuse a file that is UTF-16 or UTF-32, by its first bytes.

    Raises
    ------
    FileError
        If it is; nothing of the file is told.
    OSError
        If it cannot be read.
    """
    with path.open("rb") as file:
        start = file.read(2)
    if start in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) or start.count(0) == 1:
        raise FileError(
            f"{path}: a file of texts must be UTF-8",
            found="another encoding, such as UTF-16",
            remedy="Save it as CSV UTF-8.",
        )


def separator_in(text: str, usual: str = ",") -> str:
    """Return the sign between the fields of the first line of a file: the usual one unless only another parts it.

    Examples
    --------
    >>> separator_in("age;income"), separator_in("age"), separator_in('"a;b",c')
    (';', ',', ',')
    """
    others = (sign for sign in SEPARATORS if _first_row(text, usual) == 1 and _first_row(text, sign) > 1)
    return next(others, usual)


def refuse_other_separators(path: Path, text: str, separator: str = ",") -> None:
    """Refuse a file whose first line has no declared separator between its fields, but another sign.

    Parameters
    ----------
    path : path
        For the message.
    text : str
        The beginning of the file.
    separator : str
        The declared one.

    Raises
    ------
    FileError
        If another one parts that line; a name between quotes may hold it. Nothing else of the line is told.
    """
    found = separator_in(text, separator)
    if found != separator:
        raise FileError(
            f"{path}: fields must be separated by {SEPARATORS[separator]}",
            found=SEPARATORS[found],
            remedy=f"Save it as CSV with {SEPARATORS[separator]}, or write separator = {json.dumps(found)} below "
            "[table] into the framework file.",
        )


def _first_row(text: str, sign: str) -> int:
    """Return how many fields the first line has that is no comment of a file of the UCI repository."""
    lines = dropwhile(lambda line: line.startswith("|"), io.StringIO(text, newline=""))
    try:
        return len(next(csv.reader(lines, delimiter=sign), ()))
    except csv.Error:
        return 0


# --------------------------------------------------------------------------------------------------
# A broken installation is told from a broken file: libraries that do not fit each other read no table at all.
# --------------------------------------------------------------------------------------------------

T = TypeVar("T")

FILE_LIBRARIES = ("duckdb", "narwhals", "pandas", "numpy")
"""The libraries of ours that read a file, or hand a table on."""

TABLE_LIBRARIES = (*FILE_LIBRARIES, "polars", "pyarrow", "dask", "pyspark", "ibis", "sqlglot", "modin", "cudf")
"""What may be named as missing: names of a table's own may be data."""


def require_readers() -> None:
    """Refuse an installation in which a table of one number cannot be read: asked when a file could not be.

    Whatever goes wrong here has nothing to do with anybody's data, so that the error may be quoted.

    Raises
    ------
    InstallationError
    """
    import duckdb

    try:
        with duckdb.connect() as connection:
            relation: Any = connection.sql("SELECT 1.5 AS a")
            frame = cast("nw.LazyFrame[Any]", nw.from_native(relation))
            frame.select(nw.col("a") + 1).collect(backend="pandas")
            known = connection.execute("SELECT DISTINCT function_name FROM duckdb_functions()").fetchall()
            missing = {"read_parquet", "read_csv"} - {name for (name,) in known}
            if missing:
                raise LookupError(f"this DuckDB has no {' and no '.join(sorted(missing))}")
    except Exception as error:
        raise _broken(FILE_LIBRARIES, f"{type(error).__name__}: {' '.join(str(error).split())[:300]}") from error


def with_imports_named(work: Callable[[], T]) -> T:
    """Do what may need a library that is not there, or does not fit; name it where so.

    Raises
    ------
    InstallationError
    """
    name = None
    try:
        return work()
    except BnprivError:
        raise
    except ImportError as error:
        name = _missing(error)
    # raised here, not in the handler: the text of an error that is handled stays reachable, and may quote the data
    libraries = FILE_LIBRARIES if name is None or name in FILE_LIBRARIES else (*FILE_LIBRARIES, name)
    raise _broken(libraries, f"what could not be imported from {name or 'one of them'}")


def _missing(error: BaseException | None) -> str | None:
    """Return the library that an import failed for, if it is one that reads tables."""
    while error is not None:
        module = (getattr(error, "name", None) or "").partition(".")[0]
        if module in TABLE_LIBRARIES:
            return module
        error = error.__cause__ or error.__context__
    return None


def _broken(libraries: tuple[str, ...], found: str) -> InstallationError:
    shown = ", ".join(f"{name} {_version(name)}" for name in libraries)
    return InstallationError(
        "the installed libraries that read tables must fit each other",
        found=f"{shown}; {found}",
        remedy=f"The data are not at fault. Install what fits: python -m pip install --upgrade {_wanted(libraries)}.",
    )


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not installed"


def _wanted(libraries: tuple[str, ...]) -> str:
    """Return the requirements of bnpriv on some libraries, as a shell takes them."""
    try:
        said = metadata.requires("bnpriv") or []
    except metadata.PackageNotFoundError:  # run from its source
        said = []
    ranges = {re.split(r"[^\w.-]", text, maxsplit=1)[0]: text for text in said if ";" not in text}
    return " ".join(f'"{ranges.get(name, name)}"' for name in libraries)


# --------------------------------------------------------------------------------------------------
# Parquet and CSV files as lazy tables of DuckDB.
# --------------------------------------------------------------------------------------------------

LONGEST_HEADER = 2**20
LONGEST_LINE = 2**24
BYTES_AT_ONCE = 2**20


@contextmanager
def file_frame(path: str | os.PathLike[str], separator: str | None = ",") -> Generator[tuple[Frame, Sequence[str]]]:
    """Open a Parquet file, a directory of them, or a CSV file, whose fields are texts.

    Parameters
    ----------
    path : str or path
        A file that ends in .parquet or .csv, or a directory.
    separator : str, optional
        Between the fields of a CSV file; None for the one that its first line has.

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
        names, sign = _csv_header(file, separator)
        with _decodable(file) as readable:
            relation = connection.sql(_csv_query(readable, len(names), sign))
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
    return path.suffix.lower() in (".csv", ".tsv") and not os.path.isdir(path)


def is_data(path: Path) -> bool:
    """Return whether a path leads to a file of data or to a folder: no pipe or device, which might never end."""
    try:
        if path.is_dir():
            return all(stat.S_ISREG(file.stat().st_mode) for file in path.glob("*.parquet"))
        return path.suffix.lower() in (".parquet", ".csv", ".tsv") and stat.S_ISREG(path.stat().st_mode)
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


def _csv_query(path: Path, columns: int, separator: str) -> str:
    """Return SQL that reads every field as text, so that garbage in one row is a missing value and no error."""
    fields = ", ".join(f"'f{k}': 'VARCHAR'" for k in range(columns))
    # The dialect is declared, not guessed from the data. Short rows are padded; an empty field is missing, "" is the
    # empty text. In parallel DuckDB miscounts quoted line ends when it is not strict.
    return (
        f"SELECT * FROM read_csv({quoted(glob.escape(str(path)))}, auto_detect = false, columns = {{{fields}}}, "
        f"header = true, delim = '{separator}', quote = '\"', escape = '\"', allow_quoted_nulls = false, "
        "strict_mode = false, null_padding = true, ignore_errors = true, parallel = false, "
        f"max_line_size = {LONGEST_LINE})"
    )


def _csv_header(path: Path, separator: str | None) -> tuple[list[str], str]:
    """Return the names of the columns, and what separates the fields."""
    header: list[str] = []
    text = ""
    with suppress(OSError):
        refuse_other_encoding(path)
    with suppress(OSError, csv.Error), path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
        text = file.read(LONGEST_HEADER)
        lines = io.StringIO(text, newline="")
        separator = separator or separator_in(text)
        found = next(csv.reader(lines, delimiter=separator), header)
        header = found if lines.tell() < LONGEST_HEADER else header
    if not header:
        raise FileError(
            "a CSV file must start with a line of column names, separated by commas or the declared sign, of at most "
            f"{LONGEST_HEADER:,} characters in all and {csv.field_size_limit():,} in each",
            found=f"{_shown(path)}, which does not",
            remedy="Write it again with a header, or open it yourself and pass the table.",
        )
    separator = separator or ","
    refuse_other_separators(path, text, separator)
    return header, separator


def quoted(text: str) -> str:
    """Return a text as it stands in SQL."""
    return "'" + text.replace("'", "''") + "'"


def identifier(name: str) -> str:
    """Return the name of a column as it stands in SQL, whatever is in it."""
    return '"' + name.replace('"', '""') + '"'
