"""URLs of tables in databases; what may be a password is never shown."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import final
from urllib.parse import SplitResult, unquote, urlsplit

from bnpriv.errors import FileError
from bnpriv.paths import user_path, with_journals

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


@final
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
