"""The ledger: what was charged to which budget, on the disk before an answer is computed."""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING, cast

from bnpriv import checks
from bnpriv.core.accounting.total import rounded_up
from bnpriv.core.interrupts import NOTHING_CHARGED
from bnpriv.errors import BnprivError, BudgetError, LedgerError, ParameterError, Refusal
from bnpriv.ledger.store import LedgerStore, store_at
from bnpriv.ledger.values import (
    START,
    Account,
    Budget,
    Charge,
    LedgerCheck,
    LedgerRow,
    Receipt,
    StoredAnswer,
    Uncopied,
    append_row,
    canonical,
    chain_numbers,
    chain_state,
    changed,
    check_entry,
    check_form,
    check_row,
    enter_chain,
    is_key,
    read_exact,
    require_version,
    row_after,
    rows_of,
    total_text,
)
from bnpriv.text import Json
from bnpriv.views.accountant import PRIVATE_TABLE

if TYPE_CHECKING:
    from sqlalchemy import Connection

# --------------------------------------------------------------------------------------------------
# The chain of an account as it was read and checked: charges, and the answers that were stored for them.
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, eq=False)
class AccountChain:
    """All rows of an account up to one of them, checked.

    Parameters
    ----------
    account : Account
    head : str
        The last hash; that of the opening while there is no row.
    length : int
        How many rows.
    charges : tuple of Charge
        In order.
    answers : mapping from int to StoredAnswer
        By the row of the charge.
    keys : mapping from str to Charge
    """

    account: Account
    head: str
    length: int = 0
    charges: tuple[Charge, ...] = ()
    answers: Mapping[int, StoredAnswer] = field(default_factory=lambda: MappingProxyType({}))
    keys: Mapping[str, Charge] = field(default_factory=lambda: MappingProxyType({}))

    def after(self, rows: Iterable[LedgerRow]) -> AccountChain:
        """Return the book with the rows that follow.

        Raises
        ------
        LedgerError
            If a row does not follow, or is none that could have been written.
        """
        if not (rows := tuple(rows)):
            return self
        charges, answers, keys = list(self.charges), dict(self.answers), dict(self.keys)
        head, length = self.head, self.length
        for row in rows:
            check_row(row, previous=head, sequence=length)
            if row.kind == "charge":
                charge = _charge(row, self.account.budget, len(charges) + 1)
                if charge.key in keys:
                    raise changed("a key that was used twice")
                if charge.key is not None:
                    keys[charge.key] = charge
                charges.append(charge)
            else:
                number, answer = _answer(row)
                if not _is_charged(charges, number) or number in answers:
                    raise changed("an answer without a charge")
                answers[number] = answer
            head, length = row.hash, length + 1
        return AccountChain(
            account=self.account,
            head=head,
            length=length,
            charges=tuple(charges),
            answers=MappingProxyType(answers),
            keys=MappingProxyType(keys),
        )


def accounts_of(rows: Iterable[LedgerRow]) -> dict[str, Account]:
    """Return the accounts that the ledger's own chain opened, by name.

    Raises
    ------
    LedgerError
        If the rows are not a whole chain, or none that could have been written.
    """
    head, found = START, dict[str, Account]()
    for place, row in enumerate(rows):
        check_row(row, previous=head, sequence=place)
        if (row.kind == "ledger") != (place == 0) or row.kind not in {"ledger", "account", "migration"}:
            raise changed(f"row {place} of the ledger's own chain says something else")
        if row.kind == "account":
            account = _account(row, len(found) + 1)
            if account.name in found:
                raise changed("an account that was opened twice")
            found[account.name] = account
        head = row.hash
    return found


def account_content(account: Account, number: int) -> Mapping[str, object]:
    """Return what the row says that opens an account under a number."""
    return {
        "number": number,
        "name": account.name,
        "framework": account.framework,
        "data": account.data,
        "epsilon": str(account.budget.epsilon),
        "delta": str(account.budget.delta),
    }


def _is_charged(charges: Sequence[Charge], sequence: int) -> bool:
    place = bisect_left(charges, sequence, key=lambda charge: charge.sequence)
    return place < len(charges) and charges[place].sequence == sequence


def _account(row: LedgerRow, number: int) -> Account:
    content = row.content
    try:
        budget = Budget(read_exact(content["epsilon"]), read_exact(content["delta"]))
        texts = [content[name] for name in ("name", "framework", "data")]
        if content["number"] != number or not all(isinstance(text, str) for text in texts):
            raise ValueError
    except (KeyError, TypeError, ValueError):
        raise changed(f"row {row.sequence} of the ledger's own chain opens no account") from None
    name, framework, data = cast("list[str]", texts)
    return Account(number=number, name=name, framework=framework, data=data, budget=budget, opening=row.hash)


def _charge(row: LedgerRow, budget: Budget, number: int) -> Charge:
    content = row.content
    try:
        total, key, entry, time = (content[name] for name in ("total", "key", "entry", "time"))
        check_entry(entry)
        exact = read_exact(total)
        if not exact <= budget.epsilon or not (key is None or is_key(key)) or not isinstance(time, str):
            raise ValueError
    except (KeyError, TypeError, ValueError, LedgerError):
        raise changed(f"row {row.sequence} of chain {row.chain} is no charge within the budget") from None
    return Charge(
        number=number,
        sequence=row.sequence,
        hash=row.hash,
        entry=MappingProxyType(cast("dict[str, object]", entry)),
        key=cast("str | None", key),
        total=exact,
        time=time,
    )


def _answer(row: LedgerRow) -> tuple[int, StoredAnswer]:
    content = row.content
    number, answer = content.get("charge"), content.get("answer")
    if row.kind != "answer" or not isinstance(number, int) or not isinstance(answer, Mapping):
        raise changed(f"row {checks.shown(row.sequence)} of chain {checks.shown(row.chain)} says nothing known")
    found = MappingProxyType(dict(cast("Mapping[str, object]", answer)))
    return number, StoredAnswer(sequence=row.sequence, hash=row.hash, content=found)


# --------------------------------------------------------------------------------------------------
# What may be charged and stored: the rules that a ledger applies while it holds the lock of an account.
# --------------------------------------------------------------------------------------------------

Admit = Callable[[Sequence[Mapping[str, object]], Mapping[str, object]], Fraction | Refusal]
"""Of the entries so far and a new one: the exact total epsilon at the delta of the budget, or why it is not counted."""


def accounts_in(connection: Connection) -> tuple[list[LedgerRow], dict[str, Account]]:
    """Return the rows of the ledger's own chain and the accounts that they opened, checked against all chains.

    Raises
    ------
    LedgerError
        If they are not whole.
    """
    rows = rows_of(connection, 0)
    accounts = accounts_of(rows)
    check_form(connection, rows)
    if chain_state(connection, 0) != (len(rows), rows[-1].hash):
        raise changed("the ledger's own chain with another end")
    if chain_numbers(connection) != set(range(len(accounts) + 1)):
        raise changed("chains that no account has, or accounts without a chain")
    return rows, accounts


def fitting(accounts: Mapping[str, Account], wanted: Account, *, new_name: bool = False) -> Account | None:
    """Return the account of the wanted name, or None if there is none and it may be opened.

    Raises
    ------
    LedgerError
        If the name stands for something else, or something else stands for its framework and data; or if the name is
        nearly that of another account and is not said to be new.
    """
    known = accounts.get(wanted.name)
    if known is None:
        for other in accounts.values():
            if (other.framework, other.data) == (wanted.framework, wanted.data):
                raise LedgerError(
                    "a framework and a table have one account in a ledger",
                    found=f"the account {checks.cut(other.name)}",
                    remedy="Use that name: a second budget for the same secrets would not be counted with the first. "
                    "For other data keep another ledger.",
                )
            if not new_name and is_slip(wanted.name, other.name):
                raise LedgerError(
                    "the name of a new account must not be one slip from that of another",
                    found=f"{checks.cut(wanted.name)} beside {checks.cut(other.name)}",
                    remedy="Of the same table use that name: a second budget is not counted with the first. For "
                    "another table take a name that differs by more, or open it with new_name=True (--new-name).",
                )
        return None
    for what in ("framework", "data", "budget"):
        if getattr(known, what) != getattr(wanted, what):
            raise LedgerError(
                f"the account {checks.cut(wanted.name)} must be used with the {what} that it was opened with",
                found=f"{_budget_text(wanted.budget)} in place of {_budget_text(known.budget)}"
                if what == "budget"
                else f"{'another framework' if what == 'framework' else 'other data'}",
                remedy="A budget is fixed at its first use: leave it out, or pass that one."
                if what == "budget"
                else "Give other data another name. Of the same data nothing adds up what two frameworks release.",
            )
    return known


def is_slip(name: str, other: str) -> bool:
    """Whether two names differ by case, blanks and one letter at most: one more, another, or two that changed places.

    Examples
    --------
    >>> [is_slip("Survey", each) for each in ("sur vey", "survay", "surveys", "suvrey", "study")]
    [True, True, True, True, False]
    """
    one, two = sorted(("".join(each.split()).casefold() for each in (name, other)), key=len)
    alike = next((k for k, (a, b) in enumerate(zip(one, two, strict=False)) if a != b), len(one))
    swapped = one[alike + 2 :] == two[alike + 2 :] and sorted(one) == sorted(two)
    return swapped or two[alike + 1 :] in (one[alike:], one[alike + 1 :])


def admitted(admit: Admit, book: AccountChain, entry: Mapping[str, object]) -> Fraction:
    """Return the total with a new entry, if the accountant counts it and the budget holds it.

    Raises
    ------
    BudgetError
        If the total is above the budget.
    RefusedError
        If the accountant refuses.
    ParameterError
        If what it returns is neither an exact number nor a refusal.
    """
    total = admit(tuple(charge.entry for charge in book.charges), entry)
    if isinstance(total, Refusal):
        raise total.error()
    if isinstance(total, bool) or not isinstance(total, (Fraction, int)) or not total >= 0:
        raise ParameterError(
            "a total must be an exact number of at least 0",
            found=checks.type_text(total),
            remedy="Return a Fraction, or a Refusal.",
        )
    budget = book.account.budget
    if not total <= budget.epsilon:
        before = max((charge.total for charge in book.charges), default=Fraction(0))
        raise BudgetError(
            f"all releases together must stay within the {_budget_text(budget)}",
            found=f"{rounded_up(Fraction(total)):.6g} with this one, {rounded_up(before):.6g} before it",
            remedy="Ask for less (more noise, fewer columns), or stop here: a budget that is used up stays used up.",
        )
    return Fraction(total)


LOST_TABLE = "If it is lost, another account can make another: what both tell together is not counted."


def repeated(book: AccountChain, charge: Charge, entry: Mapping[str, object]) -> Receipt:
    """Return the receipt of an earlier release with the same key and its stored answer.

    Raises
    ------
    LedgerError
        If it was another release, or its answer was not stored.
    """
    if canonical(_asked(charge.entry)) != canonical(_asked(entry)):
        raise LedgerError(
            "a key names one release",
            found="another release under this key",
            remedy="Give every release a key of its own.",
        )
    answer = book.answers.get(charge.sequence)
    if answer is None:
        ask = "If it does not come, ask with a new key, which is charged anew."
        anew = LOST_TABLE if entry.get("mechanism") == PRIVATE_TABLE else ask
        raise LedgerError(
            "a release under a key that was used must have its answer stored",
            found="a charge without one",
            remedy=f"It is being computed elsewhere, or was interrupted: its charge stays. {anew}",
        )
    return Receipt(account=book.account, charge=charge, answer=answer)


HOW_COUNTED = frozenset({"family", "alone", "near", "moved", "steps"})
"""Of an entry what an earlier version may have worked out in another way: it does not tell one release from another."""


def _asked(entry: Mapping[str, object]) -> dict[str, object]:
    return {name: value for name, value in entry.items() if name not in HOW_COUNTED}


def require_open(book: AccountChain, charge: Charge) -> None:
    """Check that a charge is in the book and has no answer yet.

    Raises
    ------
    LedgerError
        If it is not, or has one.
    """
    if not any(known.sequence == charge.sequence and known.hash == charge.hash for known in reversed(book.charges)):
        raise changed("no charge for this receipt")
    if charge.sequence in book.answers:
        raise LedgerError(
            "a charge has one answer",
            found="one that was stored before",
            remedy="Do not show another: charge a new release.",
        )


def _budget_text(budget: Budget) -> str:
    delta = f" and delta {float(budget.delta):g}" if budget.delta else ""
    return f"budget of epsilon {float(budget.epsilon):g}{delta}"


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
