"""What a ledger takes and returns, and the tables and the chain of hashes in which its rows are kept."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from numbers import Integral
from typing import TYPE_CHECKING, NoReturn, cast

from bnpriv import checks
from bnpriv.checks import shown
from bnpriv.core.accounting.total import rounded_up, typed
from bnpriv.digest import sha256
from bnpriv.errors import LedgerError, ParameterError
from bnpriv.render.as_text import PRINTED_WIDTH, inline
from bnpriv.render.document import Code, Fact, fact
from bnpriv.text import Json, upper_text, wrapped

if TYPE_CHECKING:
    from sqlalchemy import Connection, Table

# --------------------------------------------------------------------------------------------------
# What a ledger takes and returns: budgets, accounts, charges, receipts.
# --------------------------------------------------------------------------------------------------

MOST_DIGITS = 1000
"""Of an exact number that is kept: the shortest decimal of any double has fewer."""

_EXACT_TEXT = re.compile(rf"[0-9]{{1,{MOST_DIGITS}}}(/[0-9]{{1,{MOST_DIGITS}}})?")


@dataclass(frozen=True, init=False)
class Budget:
    """The most that all releases of an account may tell together, in exact numbers.

    Parameters
    ----------
    epsilon : float or Fraction
        Above 0. A float means its shortest decimal: .3 is three tenths.
    delta : float or Fraction
        At least 0 and below 1.

    Raises
    ------
    ParameterError
        If one of them is out of range, NaN or no number.

    Examples
    --------
    >>> Budget(0.3).epsilon
    Fraction(3, 10)
    >>> Budget(1, delta=1e-6)
    Budget(epsilon=1, delta=1/1000000)
    """

    epsilon: Fraction
    delta: Fraction

    def __init__(self, epsilon: float | Fraction, delta: float | Fraction = 0) -> None:
        object.__setattr__(self, "epsilon", _exact("epsilon of a budget", epsilon))
        object.__setattr__(self, "delta", _exact("delta of a budget", delta))
        if not self.epsilon > 0:
            remedy = "Choose the bound on the log odds that you accept for all releases together, for example 2.0."
            raise ParameterError("epsilon of a budget must be above 0", found=f"{float(self.epsilon):g}", remedy=remedy)
        if not 0 <= self.delta < 1:
            remedy = "Pass 0, or a number well below one over the number of records."
            raise ParameterError(
                "delta of a budget must be at least 0 and below 1", found=f"{float(self.delta):g}", remedy=remedy
            )

    def __repr__(self) -> str:
        return f"Budget(epsilon={self.epsilon}, delta={self.delta})"


@dataclass(frozen=True, kw_only=True)
class Account:
    """One budget in a ledger, and what it is the budget of.

    Parameters
    ----------
    number : int
        Of its chain.
    name : str
    framework, data : str
        Fingerprints.
    budget : Budget
    opening : str
        The hash of the row that opened it, with which its chain starts.
    """

    number: int
    name: str
    framework: str
    data: str
    budget: Budget
    opening: str


@dataclass(frozen=True, kw_only=True, eq=False)
class Charge:
    """A release that was charged.

    Parameters
    ----------
    number : int
        Which charge of the account it is, from 1.
    sequence : int
        Its row in the chain of the account.
    hash : str
        Of that row.
    entry : mapping
        What the accountant keeps of it.
    key : str or None
        The caller's name for this one release.
    total : Fraction
        At least what all releases up to this one tell together, and not above the budget.
    time : str
        When, in UTC, by the clock of who asked.
    """

    number: int
    sequence: int
    hash: str
    entry: Mapping[str, object]
    key: str | None
    total: Fraction
    time: str


@dataclass(frozen=True, kw_only=True, eq=False)
class StoredAnswer:
    """A released answer as it is kept.

    Parameters
    ----------
    sequence : int
        Its row in the chain of the account.
    hash : str
        Of that row: the head of the account when the answer was shown.
    content : mapping
        What was shown.
    """

    sequence: int
    hash: str
    content: Mapping[str, object]


@dataclass(frozen=True, kw_only=True, eq=False)
class Receipt:
    """What `Ledger.charge` returns.

    Parameters
    ----------
    account : Account
    charge : Charge
    answer : StoredAnswer or None
        None for a new charge: compute the answer, store it, show it. Otherwise the answer that was stored under the
        same key: show that.
    """

    account: Account
    charge: Charge
    answer: StoredAnswer | None


@dataclass(frozen=True, kw_only=True)
class LedgerCheck:
    """What `Ledger.verify` found whole.

    Parameters
    ----------
    accounts, charges, answers : int
        How many.
    heads : mapping from str to str
        The last hash of each account, by name.
    """

    accounts: int
    charges: int
    answers: int
    heads: Mapping[str, str]


class Uncopied:
    """What stands for a place that others charge too: a copy would be another thing, so it is refused."""

    def __reduce__(self) -> NoReturn:
        """Refuse to be copied or pickled.

        Raises
        ------
        ParameterError
        """
        raise ParameterError(
            f"a {type(self).__name__} must be opened where it is used",
            found="a copy or a pickle of one",
            remedy="Open it there with the same ledger: all who do share one budget.",
        )


def read_exact(text: object) -> Fraction:
    """Read an exact number that was written as text.

    Raises
    ------
    ValueError
        If it is anything else: negative, NaN, too long, or not in lowest terms.

    Examples
    --------
    >>> read_exact("3/10")
    Fraction(3, 10)
    """
    if not isinstance(text, str) or not _EXACT_TEXT.fullmatch(text):
        raise ValueError
    try:
        found = Fraction(text)
    except ZeroDivisionError:
        raise ValueError from None
    if str(found) != text:
        raise ValueError
    return found


def total_text(total: Fraction, budget: Budget) -> str:
    """Return a total as text: itself, or where it has too many digits a number from it up to the budget.

    Examples
    --------
    >>> total_text(Fraction(1, 3), Budget(2.0))
    '1/3'
    """
    if _is_short(total):
        return str(total)
    above = rounded_up(total)
    return str(min(Fraction(above), budget.epsilon) if above < 2**53 else budget.epsilon)


def check_entry(entry: object) -> None:
    """Check that the epsilon and delta of a release are exact, not negative, and no more than numbers can be.

    Raises
    ------
    LedgerError
        If they are not.
    """
    try:
        if not isinstance(entry, Mapping):
            raise TypeError
        given = cast("Mapping[str, object]", entry)
        read_exact(given["epsilon"])
        if not read_exact(given["delta"]) < 1:
            raise ValueError
    except (KeyError, TypeError, ValueError):
        raise LedgerError(
            "a release that is charged must have an epsilon of at least 0 and a delta from 0 to below 1, as exact text",
            found="another",
            remedy='Pass what Entry.to_json() returns: "epsilon": "1/10".',
        ) from None


def is_key(key: object) -> bool:
    """Say whether something can be the key of a release: a text that is not blank, of at most 200 letters."""
    return isinstance(key, str) and bool(key.strip()) and len(key) <= 200


def _exact(what: str, value: object) -> Fraction:
    if isinstance(value, bool) or not isinstance(value, (Fraction, Integral)):
        return typed(checks.number(what, value))
    found = value if isinstance(value, Fraction) else Fraction(int(value))
    if not _is_short(found):
        remedy = "Pass a float, or a fraction with fewer digits."
        raise ParameterError(f"{what} must have at most {MOST_DIGITS} digits", found="more", remedy=remedy)
    return found


def _is_short(number: Fraction) -> bool:
    return max(abs(number.numerator), number.denominator) < 10**MOST_DIGITS


# --------------------------------------------------------------------------------------------------
# Where a release stands in a ledger, so that a reader can tell whether the ledger was turned back later.
# --------------------------------------------------------------------------------------------------

NOT_COUNTED_BEFORE = (
    "It is the first of this account: what was released of the table before, with another ledger, under another name, "
    "with another framework or without a ledger, is not counted."
)
"""Said loudly, as a ledger that was lost or forgotten gives a second budget to the same table."""


@dataclass(frozen=True, kw_only=True)
class Mark:
    """Where a release stands in a ledger; printed with it.

    Parameters
    ----------
    account : str
        The name of the account that was charged.
    number : int
        Which release of the account it is, from 1.
    head : str
        The last hash of the ledger's chain. A ledger that does not hold it any more was turned back or replaced.
    total : float
        What all releases of the account tell together, this one included: epsilon, rounded up.
    budget : float
        What they may tell together.
    delta : float
        With what failure probability; 0 where the budget has none.
    """

    account: str
    number: int
    head: str
    total: float
    budget: float
    delta: float = 0.0

    @property
    def fact(self) -> Fact:
        """Return it as an answer to the question where the release is recorded."""
        failing = f" with delta {self.delta:g}" if self.delta else ""
        return fact(
            "Where it is recorded",
            f"Release {self.number:,} of the account {self.account!r}; together epsilon "
            f"{upper_text(self.total, 6)} at most, of a budget of {self.budget:g}{failing}.",
            *((NOT_COUNTED_BEFORE,) if self.number == 1 else ()),
            ("Hash of the ledger's last row: ", Code(self.head)),
        )

    def __str__(self) -> str:
        return "\n".join(row for line in self.fact.lines for row in wrapped(inline(line), PRINTED_WIDTH))

    def to_json(self) -> Json:
        """Return it as plain values."""
        return {
            "account": self.account,
            "number": self.number,
            "head": self.head,
            "epsilon_together": self.total,
            "budget": self.budget,
            "delta": self.delta,
        }


# --------------------------------------------------------------------------------------------------
# The chain of a ledger: every row has a hash of its content and of all rows before it.
# --------------------------------------------------------------------------------------------------

START = sha256(b"bnpriv ledger")
"""What stands before the first row of a ledger."""

MOST_LETTERS = 2**24
"""Of plain values as text: 16 MiB, an answer of some 300,000 numbers with their labels."""


@dataclass(frozen=True, kw_only=True)
class LedgerRow:
    """One row of a chain.

    Parameters
    ----------
    chain : int
        0 for the ledger's own chain, from 1 on those of its accounts.
    sequence : int
        Its place, from 0 on.
    kind : str
        What it says.
    payload : str
        Canonical JSON.
    previous, hash : str
        The hash of the row before it, and its own.
    """

    chain: int
    sequence: int
    kind: str
    payload: str
    previous: str
    hash: str

    @property
    def content(self) -> Mapping[str, object]:
        """The payload as plain values."""
        return cast("Mapping[str, object]", json.loads(self.payload))

    def to_json(self) -> Json:
        """Return it as plain values."""
        return {**vars(self), "payload": json.loads(self.payload)}


def canonical(value: object) -> str:
    """Return plain values as JSON in the one form that is hashed: sorted keys, no spaces, ASCII, no NaN.

    Parameters
    ----------
    value : object
        Mappings with texts as keys, sequences, texts, finite numbers, booleans and None.

    Returns
    -------
    str

    Raises
    ------
    LedgerError
        If there is anything else in it, or more than `MOST_LETTERS`.

    Examples
    --------
    >>> canonical({"b": (1, 0.5), "a": None})
    '{"a":null,"b":[1,0.5]}'
    """
    try:
        found = json.dumps(_plain(value), sort_keys=True, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        raise LedgerError(
            "a ledger keeps plain values: texts, finite numbers, lists, and mappings by text",
            found="something else, or NaN",
            remedy="Pass what to_json() returns.",
        ) from None
    if len(found) > MOST_LETTERS:
        raise LedgerError(
            f"one row of a ledger may have at most {MOST_LETTERS:,} letters",
            found=f"{len(found):,}",
            remedy="Ask for fewer numbers at once.",
        )
    return found


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        pairs = cast("Mapping[object, object]", value).items()
        if not all(isinstance(name, str) for name, _ in pairs):
            raise TypeError
        return {name: _plain(held) for name, held in pairs}
    if isinstance(value, (list, tuple)):
        return [_plain(held) for held in cast("Iterable[object]", value)]
    return value


def row_hash(previous: str, sequence: int, kind: str, payload: str) -> str:
    """Return the SHA-256 of the canonical JSON of a row: the list of these four.

    Examples
    --------
    >>> row_hash(START, 0, "ledger", "{}")[:12]
    '086c23fc0680'
    """
    first = json.dumps([previous, sequence, kind], separators=(",", ":"))
    return sha256(f"{first[:-1]},{payload}]")


def row_after(previous: str, *, chain: int, sequence: int, kind: str, content: Mapping[str, object]) -> LedgerRow:
    """Return the next row of a chain."""
    payload = canonical(content)
    found = row_hash(previous, sequence, kind, payload)
    return LedgerRow(chain=chain, sequence=sequence, kind=kind, payload=payload, previous=previous, hash=found)


def check_row(row: LedgerRow, *, previous: str, sequence: int) -> None:
    """Check that a row continues a chain.

    Raises
    ------
    LedgerError
        If it does not.
    """
    try:
        whole = row.payload.isascii() and row.hash == row_hash(previous, sequence, row.kind, row.payload)
    except (LedgerError, UnicodeError, AttributeError, TypeError):
        whole = False
    if not whole or row.previous != previous or row.sequence != sequence:
        raise changed(f"row {checks.shown(sequence)} of chain {checks.shown(row.chain)} does not fit")


def changed(found: str) -> LedgerError:
    """Return the refusal of a ledger that does not hold what was written."""
    return LedgerError(
        "a ledger must hold what was written, in the order in which it was",
        found=found,
        remedy="Nothing was repaired and nothing is released. Restore the latest whole copy, and count what was "
        "released since as spent.",
    )


# --------------------------------------------------------------------------------------------------
# The tables of a ledger, the version of their form, and how an older form becomes the present one.
# --------------------------------------------------------------------------------------------------

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


@cache
def _tables() -> tuple[Table, Table, Table]:
    """The three tables of the present version.

    The first has one row, the version. The second has of each chain its number, its length and its last hash, and is
    locked while the chain grows. The third has the rows of all chains, which are never changed.
    """
    from sqlalchemy import Column, Integer, MetaData, Table, Text

    def number(name: str) -> Column[int]:
        return Column(name, Integer, primary_key=True, autoincrement=False)

    def text(name: str) -> Column[str]:
        return Column(name, Text, nullable=False)

    metadata, (ledger, chains, entries) = MetaData(), LEDGER_TABLES
    columns = (number("chain"), number("sequence"), *map(text, ("kind", "payload", "previous", "hash")))
    return (
        Table(ledger, metadata, number("version")),
        Table(chains, metadata, number("number"), Column("length", Integer, nullable=False), text("head")),
        Table(entries, metadata, *columns),
    )


def make_tables(connection: Connection) -> None:
    """Write the tables and the first row of the ledger's own chain."""
    ledger, _, _ = _tables()
    ledger.metadata.create_all(connection, checkfirst=False)
    for statement in _ONLY_NEW[connection.dialect.name]:
        connection.exec_driver_sql(statement)
    connection.execute(ledger.insert().values(version=LEDGER_VERSION))
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
    newer = version > LEDGER_VERSION
    if not newer and version not in MIGRATIONS:
        raise changed("a version that never was")
    upgrade = "Keep a copy, see that nobody else uses it, and open it once with Ledger.open(..., upgrade=True)."
    raise LedgerError(
        f"the form of a ledger must be of version {LEDGER_VERSION}",
        found=f"version {shown(version)}, which is {'newer' if newer else 'older'}",
        remedy="Install the version of bnpriv that wrote it, or a later one." if newer else upgrade,
    )


def migrate(connection: Connection) -> None:
    """Bring an older form to the present one, and note it in the ledger's own chain."""
    version = _version(connection)
    while version in MIGRATIONS:
        for statement in MIGRATIONS[version]:
            connection.exec_driver_sql(statement)
        version += 1
        connection.execute(_tables()[0].update().values(version=version))
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
    _, _, entries = _tables()
    query = entries.select().where(entries.c.chain == chain, entries.c.sequence >= start).order_by(entries.c.sequence)
    return [LedgerRow(**row) for row in connection.execute(query).mappings()]


def chain_state(connection: Connection, chain: int, *, lock: bool = False) -> tuple[int, str]:
    """The length and the last hash of a chain, which may be locked until the transaction ends.

    Raises
    ------
    LedgerError
        If it is not there.
    """
    _, chains, _ = _tables()
    query = chains.select().where(chains.c.number == chain)
    row = connection.execute(query.with_for_update() if lock else query).one_or_none()
    if row is None:
        raise changed(f"no chain {shown(chain)}")
    return row.length, row.head


def chain_numbers(connection: Connection) -> set[int]:
    """Return the numbers of all chains that are entered or have rows."""
    from sqlalchemy import select

    _, chains, entries = _tables()
    entered = connection.execute(select(chains.c.number)).scalars()
    return {*entered, *connection.execute(select(entries.c.chain).distinct()).scalars()}


def append_row(connection: Connection, row: LedgerRow) -> None:
    """Write the next row of a chain; the first one also enters the chain, whose lock must be held otherwise."""
    _, chains, entries = _tables()
    state = {"length": row.sequence + 1, "head": row.hash}
    if row.chain == 0 and row.sequence == 0:
        connection.execute(chains.insert().values(number=0, **state))
    else:
        connection.execute(chains.update().where(chains.c.number == row.chain).values(**state))
    connection.execute(entries.insert().values(**vars(row)))


def enter_chain(connection: Connection, number: int, opening: str) -> None:
    """Enter a chain without rows, which starts from the hash of the row that opened it."""
    connection.execute(_tables()[1].insert().values(number=number, length=0, head=opening))


def _version(connection: Connection) -> int:
    """Return the version of the form: the one column that every version has."""
    from sqlalchemy import select

    rows = connection.execute(select(_tables()[0].c.version)).scalars().all()
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
