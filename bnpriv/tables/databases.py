"""Tables in SQLite files and on PostgreSQL servers, read in one transaction that changes nothing.

Values cross as they are, through the drivers that Python and the ledger already have, and count by the rule for single
values (`bnpriv.tables.readings`): no database decides what a text or a decimal counts as, and none sums anything.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Collection, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import quote

import narwhals as nw

from bnpriv.core.interrupts import stoppable
from bnpriv.errors import MissingExtraError
from bnpriv.tables.files import SQLITE, DatabaseTable, database_table, identifier, sqlite_file

if TYPE_CHECKING:
    import psycopg

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

    place = database_table(url)
    names, rows = _read(place, columns)
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
    return _read(database_table(url), None)[0]


Read = tuple[list[str], list[Sequence[Any]]]


def _read(place: DatabaseTable, columns: Collection[str] | None) -> Read:
    return (_sqlite if place.scheme == SQLITE else _postgres)(place, columns)


def _sqlite(place: DatabaseTable, columns: Collection[str] | None) -> Read:
    path = sqlite_file(place.address)
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
            table = identifier(place.table[0])
            names = [each[0] for each in connection.execute(f"SELECT * FROM {table} LIMIT 0").description]
            if columns is None:
                return names, []
            chosen = ", ".join(identifier(name) for name in names if name in columns) or "1"
            return names, connection.execute(f"SELECT {chosen} FROM {table}").fetchall()
    except sqlite3.Error as error:
        refused = type(error).__name__
    raise place.refusal("a database must be readable", refused, "Check that it is an SQLite file that is whole.")


def _decoded(raw: bytes) -> str:
    return raw.decode("utf-8", errors="replace")


def _postgres(place: DatabaseTable, columns: Collection[str] | None) -> Read:
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


def _rows(connection: psycopg.Connection[Any], place: DatabaseTable, columns: Collection[str] | None) -> Read:
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
