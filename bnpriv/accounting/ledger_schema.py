"""The tables of a ledger, the version of their form, and how an older form becomes the present one."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, final

from bnpriv.accounting.ledger_chain import START, LedgerRow, canonical, changed, row_after
from bnpriv.checks import shown
from bnpriv.digest import sha256
from bnpriv.errors import LedgerError

if TYPE_CHECKING:
    from sqlalchemy import Connection, MetaData, Table

LEDGER_VERSION = 1
"""Of the form of the tables."""

MIGRATIONS: Mapping[int, tuple[str, ...]] = {}
"""The statements that bring the form of each older version to the next one."""

OPENING_LOCK = 0x626E7072
"""Held in PostgreSQL while tables are made: two who begin at once make them once."""

LEDGER_TABLES = ("bnpriv_ledger", "bnpriv_chains", "bnpriv_entries")

_ONLY_NEW = {
    "sqlite": tuple(
        f"CREATE TRIGGER bnpriv_no_{verb.lower()} BEFORE {verb} ON bnpriv_entries "
        "BEGIN SELECT RAISE(ABORT, 'rows of a ledger are never changed'); END"
        for verb in ("UPDATE", "DELETE")
    ),
    "postgresql": (
        "CREATE FUNCTION bnpriv_only_new() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN RAISE EXCEPTION 'rows of a ledger are never changed'; END $$",
        "CREATE TRIGGER bnpriv_no_change BEFORE UPDATE OR DELETE OR TRUNCATE ON bnpriv_entries "
        "FOR EACH STATEMENT EXECUTE FUNCTION bnpriv_only_new()",
    ),
}


@final
@dataclass(frozen=True, kw_only=True)
class LedgerTables:
    """The three tables.

    Parameters
    ----------
    metadata : MetaData
    ledger : Table
        One row: the version.
    chains : Table
        Of each chain its number, its length and its last hash; locked while the chain grows.
    entries : Table
        The rows of all chains, which are never changed.
    """

    metadata: MetaData
    ledger: Table
    chains: Table
    entries: Table


@cache
def ledger_tables() -> LedgerTables:
    """Return the tables of the present version."""
    from sqlalchemy import Column, Integer, MetaData, Table, Text

    metadata = MetaData()
    return LedgerTables(
        metadata=metadata,
        ledger=Table(
            LEDGER_TABLES[0],
            metadata,
            Column("version", Integer, primary_key=True, autoincrement=False),
        ),
        chains=Table(
            LEDGER_TABLES[1],
            metadata,
            Column("number", Integer, primary_key=True, autoincrement=False),
            Column("length", Integer, nullable=False),
            Column("head", Text, nullable=False),
        ),
        entries=Table(
            LEDGER_TABLES[2],
            metadata,
            Column("chain", Integer, primary_key=True, autoincrement=False),
            Column("sequence", Integer, primary_key=True, autoincrement=False),
            Column("kind", Text, nullable=False),
            Column("payload", Text, nullable=False),
            Column("previous", Text, nullable=False),
            Column("hash", Text, nullable=False),
        ),
    )


def make_tables(connection: Connection) -> None:
    """Write the tables and the first row of the ledger's own chain."""
    tables = ledger_tables()
    tables.metadata.create_all(connection, checkfirst=False)
    for statement in _ONLY_NEW[connection.dialect.name]:
        connection.exec_driver_sql(statement)
    connection.execute(tables.ledger.insert().values(version=LEDGER_VERSION))
    content = {
        "format": "bnpriv ledger",
        "version": LEDGER_VERSION,
        "made": secrets.token_hex(16),  # no two ledgers have a hash in common
        "tables": _tables_hash(connection),
    }
    append_row(connection, row_after(START, chain=0, sequence=0, kind="ledger", content=content))


def found_tables(connection: Connection) -> frozenset[str]:
    """Return which of the tables are there."""
    from sqlalchemy import inspect

    return frozenset(inspect(connection).get_table_names()) & frozenset(LEDGER_TABLES)


def require_version(connection: Connection) -> None:
    """Check that the form of a ledger is that of the present version.

    Raises
    ------
    LedgerError
        If it is another one.
    """
    version = _version(connection)
    if version == LEDGER_VERSION:
        return
    if version > LEDGER_VERSION:
        raise LedgerError(
            f"the form of a ledger must be of version {LEDGER_VERSION}",
            found=f"version {shown(version)}, which is newer",
            remedy="Install the version of bnpriv that wrote it, or a later one.",
        )
    if version in MIGRATIONS:
        raise LedgerError(
            f"the form of a ledger must be of version {LEDGER_VERSION}",
            found=f"version {shown(version)}, which is older",
            remedy="Keep a copy, see that nobody else uses it, and open it once with Ledger.open(..., upgrade=True).",
        )
    raise changed("a version that never was")


def migrate(connection: Connection) -> None:
    """Bring an older form to the present one, and note it in the ledger's own chain."""
    tables = ledger_tables()
    version = _version(connection)
    while version in MIGRATIONS:
        for statement in MIGRATIONS[version]:
            connection.exec_driver_sql(statement)
        version += 1
        connection.execute(tables.ledger.update().values(version=version))
        last = rows_of(connection, 0)[-1]
        content = {"version": version, "tables": _tables_hash(connection)}
        row = row_after(last.hash, chain=0, sequence=last.sequence + 1, kind="migration", content=content)
        append_row(connection, row)


def check_form(connection: Connection, rows: Iterable[LedgerRow]) -> None:
    """Check version and tables against the rows of the ledger's own chain.

    Raises
    ------
    LedgerError
        If they are not those that were written.
    """
    require_version(connection)
    noted = [row.content for row in rows if row.kind in {"ledger", "migration"}]
    if not noted or noted[-1].get("version") != LEDGER_VERSION:
        raise changed("another version")
    if noted[-1].get("tables") != _tables_hash(connection):
        raise changed("other tables")


def rows_of(connection: Connection, chain: int, start: int = 0) -> list[LedgerRow]:
    """Return the rows of a chain from a place on, in order; nothing is checked."""
    entries = ledger_tables().entries
    query = entries.select().where(entries.c.chain == chain, entries.c.sequence >= start).order_by(entries.c.sequence)
    return [
        LedgerRow(
            chain=row.chain,
            sequence=row.sequence,
            kind=row.kind,
            payload=row.payload,
            previous=row.previous,
            hash=row.hash,
        )
        for row in connection.execute(query)
    ]


def locked_chain(connection: Connection, chain: int) -> tuple[int, str]:
    """Lock a chain until the transaction ends, and return its length and its last hash.

    Raises
    ------
    LedgerError
        If it is not there.
    """
    return _state(connection, chain, lock=True)


def chain_state(connection: Connection, chain: int) -> tuple[int, str]:
    """Return the length and the last hash of a chain, without a lock.

    Raises
    ------
    LedgerError
        If it is not there.
    """
    return _state(connection, chain, lock=False)


def chain_numbers(connection: Connection) -> set[int]:
    """Return the numbers of all chains that are entered or have rows."""
    from sqlalchemy import select

    tables = ledger_tables()
    entered = connection.execute(select(tables.chains.c.number)).scalars()
    return {*entered, *connection.execute(select(tables.entries.c.chain).distinct()).scalars()}


def _state(connection: Connection, chain: int, *, lock: bool) -> tuple[int, str]:
    chains = ledger_tables().chains
    query = chains.select().where(chains.c.number == chain)
    row = connection.execute(query.with_for_update() if lock else query).one_or_none()
    if row is None:
        raise changed(f"no chain {shown(chain)}")
    return row.length, row.head


def append_row(connection: Connection, row: LedgerRow) -> None:
    """Write the next row of a chain; the first one also enters the chain, whose lock must be held otherwise."""
    tables = ledger_tables()
    state = {"length": row.sequence + 1, "head": row.hash}
    if row.chain == 0 and row.sequence == 0:
        connection.execute(tables.chains.insert().values(number=0, **state))
    else:
        connection.execute(tables.chains.update().where(tables.chains.c.number == row.chain).values(**state))
    connection.execute(tables.entries.insert().values(**vars(row)))


def enter_chain(connection: Connection, number: int, opening: str) -> None:
    """Enter a chain without rows, which starts from the hash of the row that opened it."""
    connection.execute(ledger_tables().chains.insert().values(number=number, length=0, head=opening))


def _version(connection: Connection) -> int:
    """Return the version of the form: the one column that every version has."""
    from sqlalchemy import select

    rows = connection.execute(select(ledger_tables().ledger.c.version)).scalars().all()
    if len(rows) != 1 or not isinstance(rows[0], int):
        raise changed("no single version")
    return rows[0]


def _tables_hash(connection: Connection) -> str | None:
    """Return a hash of all tables, indices and triggers of an SQLite file; None for a server, which may hold others."""
    if connection.dialect.name != "sqlite":
        return None
    listing = "SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY type, name"
    rows = [list(row) for row in connection.exec_driver_sql(listing)]
    return sha256(canonical(rows))
