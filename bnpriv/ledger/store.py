"""Where a ledger is kept: a file of SQLite or a PostgreSQL server, with its checks and locks."""

from __future__ import annotations

import os
import secrets
import sqlite3
import stat
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast
from urllib.parse import quote

from bnpriv import checks
from bnpriv.errors import LedgerError, MissingExtraError
from bnpriv.ledger.values import OPENING_LOCK, Uncopied, changed, found_tables, make_tables, migrate
from bnpriv.paths import JOURNALS, NO_PATH, user_path

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

# --------------------------------------------------------------------------------------------------
# The handle of a ledger's file, which gives up its lock whatever was left open on it.
# --------------------------------------------------------------------------------------------------


class FileHandle(sqlite3.Connection):
    """A connection that knows its cursors: one that is left open keeps a lock, though the connection is closed."""

    def __init__(self, *given: Any, **named: Any) -> None:
        self.cursors: list[sqlite3.Cursor] = []
        super().__init__(*given, **named)

    @staticmethod
    def of(path: Path, wait: float) -> FileHandle:
        """Open a file that is there, and wait for others at most so many seconds at a time.

        Raises
        ------
        sqlite3.Error
            If it cannot be opened.
        """
        # mode=rw: what is not there is never made by opening it
        return sqlite3.connect(
            f"file:{quote(str(path))}?mode=rw",
            uri=True,
            timeout=wait,
            isolation_level=None,
            check_same_thread=False,
            factory=FileHandle,
        )

    def cursor(self, *given: Any, **named: Any) -> Any:
        """Return a cursor."""
        found = super().cursor(*given, **named)
        self.cursors.append(found)
        return found

    def close(self) -> None:
        """End all that was begun, and close."""
        with suppress(sqlite3.Error):
            for cursor in self.cursors:
                cursor.close()
            self.rollback()
        super().close()


# --------------------------------------------------------------------------------------------------
# Where a ledger is kept: a file of SQLite or a PostgreSQL server, opened with its checks, and its transactions.
# --------------------------------------------------------------------------------------------------

SERVERS = ("postgresql", "postgres", "postgresql+psycopg")

_PRAGMAS = (
    "PRAGMA synchronous = EXTRA",  # a commit survives a loss of power, the removal of the journal included
    "PRAGMA fullfsync = ON",  # where the system's fsync leaves data in the cache of the disk
    "PRAGMA cell_size_check = ON",
    "PRAGMA trusted_schema = OFF",
    "PRAGMA mmap_size = 0",
)

ONE_WAIT = 0.25
"""Seconds of one wait for others who write, in which no signal is heard."""

TOLD_AFTER = 3.0
"""Seconds of waiting after which it is told."""

WAITING = (
    "note: waiting for others who are charging the same ledger, or for one that was stopped while it did; Ctrl-C ends "
    "the wait, and nothing is charged then."
)

SQLITE_BUSY = 5
LOCK_NOT_AVAILABLE = "55P03"

Result = TypeVar("Result")


_making: Any = threading.local()
"""Where a thread puts down the handle that it is making, in a list of drivers' connections called `handles`."""

_ELSEWHERE = "Give the path of a file that only you, or your group, can write, or a PostgreSQL URL."

_ON_PURPOSE = "A new ledger is made on purpose only: by a first release with a budget, or by Ledger.open(create=True)."


@dataclass(frozen=True, kw_only=True)
class LedgerStore(Uncopied):
    """A place that keeps a ledger.

    Parameters
    ----------
    path : Path or None
        Of the file; None for a server.
    engine : Engine
        Without a pool: a connection lives as long as its transaction, so processes that fork share none.
    patience : float
        Seconds to wait for others who write.
    """

    path: Path | None
    engine: Engine = field(repr=False)
    patience: float

    def read(self, work: Callable[[Connection], Result]) -> Result:
        """Do work with a connection that sees one state of the ledger.

        Raises
        ------
        LedgerError
            If the place cannot be read.
        """
        return self._patiently(lambda end: self._done(work, None))

    def write(self, work: Callable[[Connection], Result]) -> Result:
        """Do work with a connection that may write; what it wrote is on the disk when this ends, or not there at all.

        Where others were writing it is done anew: it must do nothing else but write.

        Raises
        ------
        LedgerError
            If the place cannot be written.
        """
        return self._patiently(lambda end: self._done(work, end))

    def _patiently(self, attempt: Callable[[float], Result]) -> Result:
        """Try for as long as others write, in short waits: a signal is heard between them."""
        import sqlite3

        from sqlalchemy.exc import SQLAlchemyError

        start, told = time.monotonic(), False
        while True:
            if self.path is not None:
                check_file(self.path)
            try:
                return attempt(start + self.patience)
            except Exception as error:
                cut: BaseException | None = error
                while isinstance(cut, Exception):  # an error of who was cut short hides what a signal's handler raised
                    cut = cut.__context__
                if cut is not None:
                    raise cut from None
                if isinstance(error, UnicodeDecodeError):  # what a database takes for text
                    raise changed("a text that is none") from None
                if not isinstance(error, (SQLAlchemyError, sqlite3.Error)):
                    raise
                waited = time.monotonic() - start
                if not _is_locked(error) or waited >= self.patience:
                    raise _unusable(error) from None
            if waited >= TOLD_AFTER and not told:
                told = True
                print(WAITING, file=sys.stderr, flush=True)

    def _done(self, work: Callable[[Connection], Result], write_until: float | None) -> Result:
        """Do work in one transaction, and close its handle however this ends.

        A signal may end it between any two calls. Then nobody else would close the handle: a traceback that somebody
        keeps, as a notebook does, keeps all that its frames hold, with the lock. So the handle is put down where it is
        made, and closed here, again where a signal cuts that short.
        """
        handles: list[Any] = []
        cut: BaseException | None = None
        try:
            _making.handles = handles
            connection = self.engine.connect()
            if self.path is None:
                _begin_on_server(connection, self.patience, writes=write_until is not None)
            else:
                connection.exec_driver_sql("BEGIN" if write_until is None else "BEGIN IMMEDIATE")
                _check_journal(connection)
            found = work(connection)
            if write_until is not None:
                _commit(connection, write_until)
            connection.close()
            return found
        finally:
            while handles:
                try:
                    with suppress(Exception):
                        handles[-1].close()
                    handles.pop()
                except BaseException as error:
                    cut = error
            if cut is not None:
                raise cut

    def check_pages(self) -> None:
        """Check every page of a file.

        Raises
        ------
        LedgerError
            If one is not whole.
        """
        if self.path is None:
            return
        found = self.read(lambda connection: connection.exec_driver_sql("PRAGMA integrity_check(1)").scalar())
        if found != "ok":
            raise LedgerError(
                "every page of a ledger must be whole",
                found="a page that is not",
                remedy="Nothing was repaired and nothing is released. Restore the latest whole copy, and count what "
                "was released since as spent.",
            )


def store_at(where: object, *, create: bool, upgrade: bool, patience: float) -> LedgerStore:
    """Open a place that keeps a ledger, or make one where there is nothing and `create` says so.

    Raises
    ------
    LedgerError, MissingExtraError
        If there is none, or it cannot be trusted; if it is on a server, and psycopg is not installed.
    """
    text = _place_text(where)
    if _is_server(text):
        store = LedgerStore(path=None, engine=_server_engine(text), patience=patience)
        _begin_on(store, create=create)
    else:
        store = _file_store(_file_path(text), patience)
        if create and not os.path.lexists(store.path or ""):
            _make_file(store)
        store.read(lambda connection: _require_tables(found_tables(connection)))
    if upgrade:
        store.write(migrate)
    store.check_pages()
    return store


def ledger_file(where: object) -> Path | None:
    """Return the file that a ledger is or will be kept in; None for a server.

    Raises
    ------
    LedgerError
        If it is no place for a ledger.
    """
    text = _place_text(where)
    return None if _is_server(text) else _file_path(text)


def check_file(path: Path) -> None:
    """Check that a file is a regular one that not everybody can write or replace.

    Raises
    ------
    LedgerError
        If it is not.
    """
    try:
        about, folder = path.lstat(), path.parent.stat()
    except (OSError, ValueError) as error:
        found = (error.strerror if isinstance(error, OSError) else None) or NO_PATH
        remedy = f"Check the path. {_ON_PURPOSE} If one was lost, what it held counts as spent."
        raise LedgerError("the ledger must be there", found=found, remedy=remedy) from None
    if stat.S_ISLNK(about.st_mode):
        raise LedgerError("a ledger must not be a symbolic link", found="a link", remedy=_ELSEWHERE)
    if not stat.S_ISREG(about.st_mode):
        raise LedgerError("a ledger must be a regular file", found="something else", remedy=_ELSEWHERE)
    if os.path.lexists(f"{path}-wal"):
        raise _other_journal("a write-ahead log beside it")
    if os.name == "posix":
        _check_modes(about.st_mode, folder.st_mode)
        _check_folders(path)
        _check_names(path)


def _check_modes(file: int, folder: int) -> None:
    if file & stat.S_IWOTH:
        remedy = "Find out who wrote it, then take that right away: chmod o-w."
        raise LedgerError("a ledger must not be writable for everybody", found="a file that is", remedy=remedy)
    if folder & stat.S_IWOTH:  # also /tmp: a journal that somebody puts beside a file is played back into it
        raise LedgerError(
            "a ledger must not lie where everybody can replace it, or put a journal beside it",
            found="a folder that everybody can write",
            remedy=_ELSEWHERE,
        )
    if not file & (stat.S_IWUSR | stat.S_IWGRP):
        remedy = "Nothing can be charged in it: give the file back its right to be written."
        raise LedgerError("a ledger must be writable", found="a file that is read-only", remedy=remedy)


def _check_folders(path: Path) -> None:
    """Check that no folder on the way is one that everybody can put another in the place of."""
    for folder in path.parent.resolve().parents:
        with suppress(OSError):
            mode = folder.stat().st_mode
            if mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
                raise LedgerError(
                    "a ledger must not lie where everybody can replace its folder",
                    found="a folder above it that everybody can write",
                    remedy=_ELSEWHERE,
                )


def _check_names(path: Path) -> None:
    """Check that a file has one name: by another, who is killed leaves a journal that is not found by this one."""
    for _ in range(3):  # somebody may be making it: it has two names for a moment
        with suppress(FileNotFoundError):  # who opens it says so
            names = path.lstat().st_nlink
            if names == 1 or names - sum(_is_same(each, path) for each in path.parent.glob(".*.new")) == 1:
                return
    raise LedgerError(
        "a ledger must have one name",
        found="a file with hard links",
        remedy="Copy it to a file of its own, and use that alone; see that nobody uses the others.",
    )


def _is_same(one: Path, other: Path) -> bool:
    with suppress(OSError):
        return one.samefile(other)
    return False


def _other_journal(found: str) -> LedgerError:
    return LedgerError(
        "a ledger must keep the journal that it was made with",
        found=found,
        remedy="Nothing is released. Restore the latest whole copy, and count what was released since as spent.",
    )


def _place_text(where: object) -> str:
    path = isinstance(where, (str, os.PathLike))
    text = os.fspath(cast("str | os.PathLike[str]", where)) if path else None
    if not isinstance(text, str) or not text.strip() or "\0" in text:
        found = "a text that is none" if isinstance(text, str) else checks.type_text(where)
        raise LedgerError("a ledger is at a path or a URL", found=found, remedy=_ELSEWHERE)
    return text


def _is_server(text: str) -> bool:
    return "://" in text and text.partition("://")[0] in SERVERS


def _file_path(text: str) -> Path:
    if text.startswith("sqlite://"):
        text = text.removeprefix("sqlite://").removeprefix("/")
    elif "://" in text:
        found = checks.cut(text.partition("://")[0])
        raise LedgerError("a ledger is an SQLite file or on a PostgreSQL server", found=found, remedy=_ELSEWHERE)
    if text in {"", ":memory:"} or text.startswith("file:"):
        raise LedgerError("a ledger must outlive the process", found="no file", remedy=_ELSEWHERE)
    return user_path(text).absolute()


def _file_store(path: Path, patience: float) -> LedgerStore:
    from sqlalchemy import create_engine
    from sqlalchemy.pool import NullPool

    def connect() -> FileHandle:
        handles = _making.handles
        handles.append(FileHandle.of(path, min(patience, ONE_WAIT)))
        connection = handles[-1]
        for pragma in _PRAGMAS:
            connection.cursor().execute(pragma).close()
        return connection

    # what is closed already is not to be rolled back once more when it is collected
    engine = create_engine(
        "sqlite://", creator=connect, poolclass=NullPool, pool_reset_on_return=None, hide_parameters=True
    )
    return LedgerStore(path=path, engine=engine, patience=patience)


def _make_file(store: LedgerStore) -> None:
    """Make a ledger beside its place and link it there, whole: nobody sees half of one, and none is overwritten."""
    path = store.path
    assert path is not None
    if path.name.lower().endswith(JOURNALS):
        raise LedgerError(
            "a ledger must not be called like what SQLite keeps beside a database",
            found=f"a name that ends in {checks.listing(JOURNALS)}",
            remedy="Choose another name, such as ledger.db.",
        )
    left = [name for name in (f"{path.name}-journal", f"{path.name}-wal") if os.path.lexists(path.with_name(name))]
    if left:
        raise LedgerError(
            "a new ledger must not lie where one was lost",
            found=f"{checks.cut(left[0])} without its ledger",
            remedy="Restore the ledger that it belongs to; what that held counts as spent.",
        )
    beside = path.with_name(f".{secrets.token_hex(8)}.new")
    try:
        os.close(os.open(beside, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        _file_store(beside, store.patience).write(make_tables)
        with suppress(FileExistsError):  # somebody else was faster: theirs counts
            os.link(beside, path)
        _sync_folder(path.parent)
    except (OSError, ValueError) as error:
        if isinstance(error, LedgerError):
            raise
        found = (error.strerror if isinstance(error, OSError) else None) or NO_PATH
        raise LedgerError("the folder of a new ledger must be writable", found=found, remedy=_ELSEWHERE) from None
    finally:
        with suppress(OSError, ValueError):
            beside.unlink(missing_ok=True)


def _sync_folder(folder: Path) -> None:
    if os.name == "posix":
        number = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)


def _check_journal(connection: Connection) -> None:
    if connection.exec_driver_sql("PRAGMA journal_mode").scalar() != "delete":
        raise _other_journal("another one")


def _server_engine(text: str) -> Engine:
    from sqlalchemy import create_engine, event, make_url
    from sqlalchemy.exc import SQLAlchemyError
    from sqlalchemy.pool import NullPool

    try:
        url = make_url(text).set(drivername="postgresql+psycopg")
        engine = create_engine(
            url,
            poolclass=NullPool,
            pool_reset_on_return=None,
            isolation_level="READ COMMITTED",
            hide_parameters=True,
            connect_args={"client_encoding": "UTF8"},  # texts of an SQL_ASCII database are bytes otherwise
        )
    except ModuleNotFoundError:
        raise MissingExtraError(
            "a ledger on a PostgreSQL server needs psycopg",
            found="no psycopg",
            remedy='Install it: pip install "bnpriv[postgres]".',
        ) from None
    except (SQLAlchemyError, ValueError, TypeError):
        remedy = "Write postgresql://user@host/database."
        raise LedgerError("the URL of a server must be well formed", found="another one", remedy=remedy) from None

    def put_down(handle: object, _: object) -> None:
        _making.handles.append(handle)

    event.listen(engine, "connect", put_down)
    return engine


def _begin_on_server(connection: Connection, patience: float, *, writes: bool) -> None:
    if not writes:
        connection.exec_driver_sql("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        return
    if connection.exec_driver_sql("SHOW fsync").scalar() != "on":
        raise LedgerError(
            "a server that keeps a ledger must write what it commits to the disk",
            found="fsync off",
            remedy="Turn fsync on.",
        )
    milliseconds = max(1, min(int(1000 * patience), 2**31 - 1))
    settings: list[tuple[str, Any]] = [
        ("lock_timeout", max(1, int(1000 * min(patience, ONE_WAIT)))),
        ("statement_timeout", 0),
        ("idle_in_transaction_session_timeout", milliseconds),  # the lock of who went away without a word
    ]
    if connection.exec_driver_sql("SHOW synchronous_commit").scalar() == "off":
        settings.append(("synchronous_commit", "on"))
    for name, value in settings:
        connection.exec_driver_sql(f"SET LOCAL {name} = '{value}'")


def _commit(connection: Connection, until: float) -> None:
    """Commit; in a file that waits for those who read."""
    from sqlalchemy.exc import OperationalError

    if connection.dialect.name != "sqlite":
        connection.commit()
        return
    while True:
        try:
            connection.exec_driver_sql("COMMIT")
        except OperationalError as error:
            if not _is_locked(error) or time.monotonic() >= until:
                raise
        else:
            return


def _is_locked(error: Exception) -> bool:
    """Return whether a database says that somebody else holds a lock."""
    cause = getattr(error, "orig", None) or error
    code = getattr(cause, "sqlite_errorcode", None)
    busy = isinstance(code, int) and code & 0xFF == SQLITE_BUSY
    return busy or getattr(cause, "sqlstate", None) == LOCK_NOT_AVAILABLE


def _begin_on(store: LedgerStore, *, create: bool) -> None:
    def begin(connection: Connection) -> None:
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({OPENING_LOCK})")
        found = found_tables(connection)
        if not found and create:
            make_tables(connection)
        else:
            _require_tables(found)

    store.write(begin)


def _require_tables(found: frozenset[str]) -> None:
    if len(found) != 3:
        raise LedgerError(
            "a ledger must have its tables",
            found="none of them" if not found else "some of them",
            remedy=f"{_ON_PURPOSE} If there was one here, restore the latest whole copy, and count what was released "
            "since as spent.",
        )


def _unusable(error: Exception) -> LedgerError:
    """Return what a database says, in its first line, as our own error; never what was to be written."""
    cause = getattr(error, "orig", None) or error
    first = (str(cause).splitlines() or [""])[0].strip()
    return LedgerError(
        "the ledger must be readable and writable",
        found=checks.cut(first) if first else checks.type_text(cause),
        remedy="Nothing is shown. What was charged stays charged; look whether the disk is full, or the place "
        "read-only, in use, damaged or out of reach.",
    )
