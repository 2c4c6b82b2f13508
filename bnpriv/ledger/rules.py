"""What may be charged and stored, applied while the lock of an account is held."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING, cast

from bnpriv import checks
from bnpriv.core.accounting.entries import rounded_up
from bnpriv.errors import BudgetError, LedgerError, ParameterError, Refusal
from bnpriv.ledger.chain import (
    START,
    LedgerRow,
    canonical,
    chain_numbers,
    chain_state,
    changed,
    check_form,
    check_row,
    rows_of,
)
from bnpriv.ledger.values import Account, Budget, Charge, Receipt, StoredAnswer, check_entry, is_key, read_exact
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
