"""The ledger: what was charged to which budget, on the disk before an answer is computed."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from bnpriv import checks
from bnpriv.core.interrupts import NOTHING_CHARGED
from bnpriv.errors import BnprivError, LedgerError, ParameterError
from bnpriv.ledger.chain import (
    LedgerRow,
    append_row,
    canonical,
    chain_state,
    changed,
    enter_chain,
    require_version,
    row_after,
    rows_of,
)
from bnpriv.ledger.rules import (
    AccountChain,
    Admit,
    account_content,
    accounts_in,
    admitted,
    fitting,
    repeated,
    require_open,
)
from bnpriv.ledger.store import LedgerStore, store_at
from bnpriv.ledger.values import (
    Account,
    Budget,
    LedgerCheck,
    Receipt,
    StoredAnswer,
    Uncopied,
    check_entry,
    is_key,
    total_text,
)
from bnpriv.text import Json

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from bnpriv.ledger.values import Charge

# --------------------------------------------------------------------------------------------------
# The steps of a release with a ledger, by number: tests stop the process at each of them.
# --------------------------------------------------------------------------------------------------

LEDGER_STEPS: tuple[str, ...] = (
    "1 asked",
    "2 account locked",
    "3 counted",
    "4 charge written",
    "5 charge committed",
    "6 answer computed",
    "7 account locked for the answer",
    "8 answer written",
    "9 answer committed",
)
"""What happens between a question and its answer (docs/claims/ledger.md); after the last one the answer is shown."""


def reached(step: str) -> None:
    """Mark that a step of `LEDGER_STEPS` is done; does nothing, and is what tests replace."""


# --------------------------------------------------------------------------------------------------
# What is said last where a release is interrupted: whether it was charged.
# --------------------------------------------------------------------------------------------------

PERHAPS_CHARGED = (
    "It is not known whether this release was charged, as the ledger could not be read: see bnpriv ledger show."
)


NOT_SHOWN = "its answer was not shown."


def charged_text(account: str, number: int, rest: str = NOT_SHOWN) -> str:
    """Return that a release was charged, in words.

    Examples
    --------
    >>> charged_text("survey", 3)
    "Release 3 of the account 'survey' was charged, and stays so; its answer was not shown."
    """
    return f"Release {number:,} of the account {checks.cut(account)} was charged, and stays so; {rest}"


def is_interrupt(error: BaseException) -> bool:
    """Return whether it is none of our refusals: Ctrl-C, or what another handler of a signal raises."""
    return not isinstance(error, BnprivError)


def name_charge(error: BaseException, account: str, charge: Charge | None) -> None:
    """Name what was charged, as the last line of whatever ends a release before its answer is shown.

    Called by the frame that holds the charge: a context manager could itself be interrupted before it begins.

    Parameters
    ----------
    error : BaseException
        What was raised.
    account : str
        The name of the account.
    charge : Charge or None
        None if this call charged nothing, as far as the frame knows: what was noted further inside counts.
    """
    if charge is not None:
        error.add_note(charged_text(account, charge.number))
    elif is_interrupt(error) and not getattr(error, "__notes__", None):
        error.add_note(NOTHING_CHARGED)


PATIENCE = 600.0
"""Seconds that a release waits for others who are charging the same ledger."""

LOOK = 1.0
"""Seconds in which a release that was interrupted looks whether it was charged."""


class Ledger(Uncopied):
    """Budgets and what was charged to them, kept in an SQLite file or on a PostgreSQL server.

    What is charged is on the disk before the answer is computed, and is never taken back; see docs/claims/ledger.md.
    Use `Ledger.open`.

    Parameters
    ----------
    store : LedgerStore
    """

    def __init__(self, store: LedgerStore) -> None:
        self._store = store
        self._books: dict[int, AccountChain] = {}

    @staticmethod
    def open(
        where: str | os.PathLike[str], *, create: bool = False, upgrade: bool = False, patience: float = PATIENCE
    ) -> Ledger:
        """Open a ledger and check that it is whole.

        Parameters
        ----------
        where : str or path
            A file, "sqlite:///ledger.db", or "postgresql://user@host/database".
        create : bool
            Make one where there is nothing. Its budgets start anew, whatever other ledgers hold on the same data.
        upgrade : bool
            Bring the form of an older version to the present one.
        patience : float
            Seconds to wait for others who write.

        Returns
        -------
        Ledger

        Raises
        ------
        LedgerError
            If there is none, or it is not whole, writable by everybody, a link, read-only, or of a newer version.
            It is never repaired and never made anew.
        MissingExtraError
            If it is on a server and psycopg is not installed.

        Examples
        --------
        >>> import tempfile
        >>> from fractions import Fraction
        >>> from pathlib import Path
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     ledger = Ledger.open(Path(folder, "ledger.db"), create=True)
        ...     account = ledger.account("survey", framework="f", data="d", budget=Budget(1.0))
        ...     entry = {"epsilon": "3/10", "delta": "0"}
        ...     receipt = ledger.charge(account, entry, admit=lambda entries, new: Fraction(new["epsilon"]))
        ...     head = ledger.store(receipt, {"value": 17.25}).hash
        ...     ledger.verify(seen=[head]).charges
        1
        """
        checks.flag("create", create)
        checks.flag("upgrade", upgrade)
        checks.positive("patience", patience)
        ledger = Ledger(store_at(where, create=create, upgrade=upgrade, patience=patience))
        ledger.accounts()
        return ledger

    def accounts(self) -> tuple[Account, ...]:
        """Return all accounts, in the order in which they were opened.

        Raises
        ------
        LedgerError
            If the ledger's own chain is not whole.
        """
        return tuple(self._store.read(accounts_in)[1].values())

    def account(self, name: str, *, framework: str, data: str, budget: Budget, new_name: bool = False) -> Account:
        """Return the account of a name, and open it if there is none.

        Parameters
        ----------
        name : str
        framework, data : str
            Fingerprints.
        budget : Budget
            Fixed when the account is opened.
        new_name : bool
            Says that a name nearly that of another account is meant as it is.

        Returns
        -------
        Account

        Raises
        ------
        LedgerError
            If the name stands for another framework, other data or another budget, or is nearly that of another account
            and nobody said that it is new, or if the same framework and data have an account under another name.
        """
        for what, text in (("name of an account", name), ("framework", framework), ("data", data)):
            checks.text(what, text, error=ParameterError)
            canonical(text)
        if not isinstance(budget, Budget):
            raise ParameterError("a budget is needed", found=checks.type_text(budget), remedy="Pass Budget(epsilon).")
        wanted = Account(number=0, name=name, framework=framework, data=data, budget=budget, opening="")
        known = fitting(self._store.read(accounts_in)[1], wanted, new_name=new_name)
        return known or self._store.write(lambda connection: self._opened(connection, wanted, new_name=new_name))

    def charge(self, account: Account, entry: Mapping[str, object], *, admit: Admit, key: str | None = None) -> Receipt:
        """Charge a release, before its answer is computed.

        When this returns, the charge is on the disk and stays, whatever happens to the answer.

        Parameters
        ----------
        account : Account
        entry : mapping
            What the accountant keeps of the release, as plain values.
        admit : callable
            Of the entries so far and the new one: the exact total epsilon at the delta of the budget, or a refusal. It
            is called while nobody else can charge the account, so it must not wait for anybody.
        key : str, optional
            A name for this one release: a second call with it gets the stored answer and charges nothing. Without one
            every call is a new release.

        Returns
        -------
        Receipt

        Raises
        ------
        BudgetError
            If the total would be above the budget; nothing is charged.
        RefusedError
            If `admit` refuses; nothing is charged.
        LedgerError
            If the ledger is not whole or cannot be written, if the entry is not exact, or if the key was given to
            another release or to one whose answer was not stored. Where the disk or the server failed in the last
            moment the charge may be there: then it stays.
        """
        written: list[LedgerRow] = []
        try:
            return self._charged(account, entry, admit, key, written)
        except BaseException as error:
            if is_interrupt(error):
                error.add_note(self._whether_charged(account, written))
            raise

    def _charged(
        self, account: Account, entry: Mapping[str, object], admit: Admit, key: str | None, written: list[LedgerRow]
    ) -> Receipt:
        """Charge a release; the row that was written is put down before it is committed."""
        check_entry(entry)
        canonical(entry)
        if not (key is None or is_key(key)):
            remedy = "Pass a text of at most 200 letters, such as the number of the order."
            found = "a text that is blank or too long" if isinstance(key, str) else checks.type_text(key)
            raise ParameterError("a key must be a text that is not blank", found=found, remedy=remedy)
        reached("1 asked")

        def work(connection: Connection) -> Receipt | AccountChain:
            written.clear()
            book = self._book(connection, account)
            reached("2 account locked")
            if key is not None and key in book.keys:
                return repeated(book, book.keys[key], entry)
            total = admitted(admit, book, entry)
            reached("3 counted")
            content = {
                "entry": entry,
                "key": key,
                "total": total_text(total, account.budget),
                "time": datetime.now(UTC).isoformat(timespec="seconds"),
            }
            place = {"chain": account.number, "sequence": book.length}
            written.append(row_after(book.head, **place, kind="charge", content=content))
            append_row(connection, written[0])
            reached("4 charge written")
            return book.after(written)

        found = self._store.write(work)
        if isinstance(found, Receipt):
            return found
        reached("5 charge committed")
        book = self._keep(found)
        return Receipt(account=account, charge=book.charges[-1], answer=None)

    def _whether_charged(self, account: Account, written: Sequence[LedgerRow]) -> str:
        """Return whether the row of a charge that was interrupted is in the ledger."""
        if not written:
            return NOTHING_CHARGED
        try:
            charges = Ledger(replace(self._store, patience=LOOK)).book(account).charges
        except BaseException:  # also a second Ctrl-C: the first is on its way already
            return PERHAPS_CHARGED
        found = [charge.number for charge in charges if charge.hash == written[0].hash]
        return charged_text(account.name, found[0]) if found else NOTHING_CHARGED

    def store(self, receipt: Receipt, answer: Mapping[str, object]) -> StoredAnswer:
        """Store the answer of a release that was charged, before it is shown.

        Parameters
        ----------
        receipt : Receipt
            Of `charge`.
        answer : mapping
            What will be shown, as plain values, and nothing else about the data.

        Returns
        -------
        StoredAnswer
            Its `hash` is the head to show with the answer.

        Raises
        ------
        LedgerError
            If it cannot be stored, or another one was: then it must not be shown.
        """
        if not isinstance(receipt, Receipt):
            remedy = "Pass what charge(...) returned."
            raise ParameterError("a receipt is needed", found=checks.type_text(receipt), remedy=remedy)
        if not isinstance(answer, Mapping):
            remedy = "Pass what to_dict() returns."
            raise ParameterError("an answer is a mapping", found=checks.type_text(answer), remedy=remedy)
        canonical(answer)
        reached("6 answer computed")

        def work(connection: Connection) -> AccountChain:
            book = self._book(connection, receipt.account)
            reached("7 account locked for the answer")
            require_open(book, receipt.charge)
            place = {"chain": receipt.account.number, "sequence": book.length}
            content = {"charge": receipt.charge.sequence, "answer": answer}
            row = row_after(book.head, **place, kind="answer", content=content)
            append_row(connection, row)
            reached("8 answer written")
            return book.after([row])

        book = self._store.write(work)
        reached("9 answer committed")
        return self._keep(book).answers[receipt.charge.sequence]

    def book(self, account: Account) -> AccountChain:
        """Return all charges and answers of an account, checked.

        Parameters
        ----------
        account : Account

        Returns
        -------
        Book

        Raises
        ------
        LedgerError
            If the chain of the account is not whole.
        """
        return self._keep(self._store.read(lambda connection: self._book(connection, account, lock=False)))

    def head(self, account: Account) -> str:
        """Return the last hash of an account: who has seen it can tell later whether a ledger was rolled back.

        Parameters
        ----------
        account : Account

        Returns
        -------
        str

        Raises
        ------
        LedgerError
            If the chain of the account is not whole.
        """
        return self.book(account).head

    def verify(self, *, seen: Iterable[str] = ()) -> LedgerCheck:
        """Check everything: pages, tables, every chain, every charge against its budget.

        Parameters
        ----------
        seen : iterable of str
            Heads that were shown with releases: each must still be in the ledger.

        Returns
        -------
        LedgerCheck

        Raises
        ------
        LedgerError
            If something is not as it was written, or a head is missing: then a later part of the ledger is gone.
        """
        self._store.check_pages()
        rows, books = self._all()
        missing = [checks.cut(str(head)) for head in seen if head not in {row.hash for row in rows}]
        if missing:
            raise LedgerError(
                "every head that was shown must be in the ledger",
                found=f"none that is {checks.listing(missing)}",
                remedy="It is another ledger, or an older copy of it: releases are missing, and count as spent.",
            )
        return LedgerCheck(
            accounts=len(books),
            charges=sum(len(book.charges) for book in books),
            answers=sum(len(book.answers) for book in books),
            heads={book.account.name: book.head for book in books},
        )

    def export(self) -> str:
        """Return all rows as JSON lines, checked.

        Raises
        ------
        LedgerError
            If the ledger is not whole.
        """
        return "".join(f"{canonical(row.to_json())}\n" for row in self._all()[0])

    def rows(self, account: Account) -> list[Json]:
        """Return the row that opened an account and all its own, checked.

        Parameters
        ----------
        account : Account

        Raises
        ------
        LedgerError
            If the ledger is not whole.
        """
        rows = self._all()[0]
        return [row.to_json() for row in rows if row.hash == account.opening or row.chain == account.number]

    def __repr__(self) -> str:
        place = self._store.path or self._store.engine.url.render_as_string(hide_password=True)
        return f"Ledger({str(place)!r})"

    def _book(self, connection: Connection, account: Account, *, lock: bool = True) -> AccountChain:
        """Read and check the rows that this process has not seen, and that those it has seen are still there."""
        require_version(connection)
        book = self._books.get(account.number)
        if book is None or book.account != account:
            book = AccountChain(account=account, head=account.opening)
        length, head = chain_state(connection, account.number, lock=lock)
        rows = rows_of(connection, account.number, max(book.length - 1, 0))
        if book.length:
            if not rows or rows[0].hash != book.head:
                raise changed("an older copy, or another ledger, in the place of the one that was opened")
            rows = rows[1:]
        book = book.after(rows)
        if (book.length, book.head) != (length, head):
            raise changed(f"chain {account.number} with another end")
        return book

    def _keep(self, book: AccountChain) -> AccountChain:
        known = self._books.get(book.account.number)
        if known is None or known.length <= book.length:
            self._books[book.account.number] = book
        return book

    def _all(self) -> tuple[list[LedgerRow], list[AccountChain]]:
        def work(connection: Connection) -> tuple[list[LedgerRow], list[AccountChain]]:
            rows, accounts = accounts_in(connection)
            books: list[AccountChain] = []
            for account in accounts.values():
                self._book(connection, account, lock=False)
                found = rows_of(connection, account.number)
                books.append(AccountChain(account=account, head=account.opening).after(found))
                rows = rows + found
            return rows, books

        return self._store.read(work)

    def _opened(self, connection: Connection, wanted: Account, *, new_name: bool) -> Account:
        length, head = chain_state(connection, 0, lock=True)
        _, accounts = accounts_in(connection)
        known = fitting(accounts, wanted, new_name=new_name)
        if known is not None:  # somebody else opened it meanwhile
            return known
        number = len(accounts) + 1
        content = account_content(wanted, number)
        row = row_after(head, chain=0, sequence=length, kind="account", content=content)
        append_row(connection, row)
        enter_chain(connection, number, row.hash)
        return replace(wanted, number=number, opening=row.hash)
