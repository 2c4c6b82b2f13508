"""What may be charged and stored: the rules that a ledger applies while it holds the lock of an account."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from bnpriv import checks
from bnpriv.accounting.exact import rounded_up
from bnpriv.accounting.ledger_book import Book, accounts_of
from bnpriv.accounting.ledger_chain import LedgerRow, canonical, changed
from bnpriv.accounting.ledger_schema import chain_numbers, chain_state, check_form, rows_of
from bnpriv.accounting.ledger_values import Account, Budget, Charge, Receipt
from bnpriv.errors import BudgetError, LedgerError, ParameterError, Refusal

if TYPE_CHECKING:
    from sqlalchemy import Connection

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


def fitting(accounts: Mapping[str, Account], wanted: Account) -> Account | None:
    """Return the account of the wanted name, or None if there is none and it may be opened.

    Raises
    ------
    LedgerError
        If the name stands for something else, or something else stands for its framework and data.
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
                else "Use another name for it.",
            )
    return known


def admitted(admit: Admit, book: Book, entry: Mapping[str, object]) -> Fraction:
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


def repeated(book: Book, charge: Charge, entry: Mapping[str, object]) -> Receipt:
    """Return the receipt of an earlier release with the same key and its stored answer.

    Raises
    ------
    LedgerError
        If it was another release, or its answer was not stored.
    """
    if canonical(charge.entry) != canonical(entry):
        raise LedgerError(
            "a key names one release",
            found="another release under this key",
            remedy="Give every release a key of its own.",
        )
    answer = book.answers.get(charge.sequence)
    if answer is None:
        raise LedgerError(
            "a release under a key that was used must have its answer stored",
            found="a charge without one",
            remedy="It is being computed elsewhere, or was interrupted: its charge stays. If it does not come, ask "
            "with a new key, which is charged anew.",
        )
    return Receipt(account=book.account, charge=charge, answer=answer)


def require_open(book: Book, charge: Charge) -> None:
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
