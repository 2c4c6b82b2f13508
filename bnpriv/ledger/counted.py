"""An account of a ledger, counted by the accountant: what was charged, what is left, and what one more release adds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, cast

from bnpriv import checks
from bnpriv.core.accounting.accountant import Accountant
from bnpriv.core.accounting.total import Entry, rounded_up
from bnpriv.core.frameworks.question import Framework
from bnpriv.core.mechanisms.base import Calibration
from bnpriv.core.schema import Schema
from bnpriv.digest import sha256
from bnpriv.errors import LedgerError, ParameterError, Refusal
from bnpriv.ledger.external import ExternalRelease
from bnpriv.ledger.ledger import LOST_TABLE, Admit, Ledger, is_slip, name_charge
from bnpriv.ledger.store import ledger_file
from bnpriv.ledger.values import Account, Budget, Charge, Mark, Receipt, Uncopied, canonical
from bnpriv.services import service
from bnpriv.views.accountant import PRIVATE_TABLE


def total_of(accountant: Accountant, budget: Budget) -> Fraction | None:
    """Return what releases tell together at the delta of a budget, exactly; None where nothing bounds it.

    Parameters
    ----------
    accountant : Accountant
    budget : Budget
    """
    return accountant.total_at(budget.delta)


def spent_of(accountant: Accountant, budget: Budget) -> Fraction:
    """Return what releases have spent of a budget: their total, or all of it where nothing bounds them.

    Parameters
    ----------
    accountant : Accountant
    budget : Budget
    """
    total = total_of(accountant, budget)
    return budget.epsilon if total is None else total


def table_fingerprint(schema: Schema, name: str) -> str:
    """Return a hash of what is public about a table: its name, how many records it has, and its declared columns.

    Never of the values: a hash of them would answer guesses of a small table, without noise; with a secret key it
    would do the same for whoever has the key; and a table in which one cell was put right would get a new budget.

    Parameters
    ----------
    schema : Schema
    name : str
        What its owner calls it: two tables with the same columns and number of records differ by this alone.
    """
    declared = [(name, repr(column)) for name, column in sorted(schema.columns.items())]
    # the same texts in another dialect are another table
    declared += [("", repr(schema.dialect))] if schema.dialect is not None else []
    return sha256(repr((name, schema.records, declared)))


@dataclass(eq=False, kw_only=True)
class CountedAccount(Uncopied):
    """An account of a ledger, counted by the accountant.

    Parameters
    ----------
    framework : Framework
        Of all releases of the account.
    ledger : Ledger
    account : Account
    """

    framework: Framework
    ledger: Ledger
    account: Account
    _last: Accountant = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._last = Accountant(self.framework)

    @staticmethod
    def opened(
        framework: Framework, where: str | Path, budget: float | Budget | None, name: str, new_name: bool = False
    ) -> CountedAccount:
        """Open an account; where a budget is given, an account or a ledger that is not there is made.

        Parameters
        ----------
        framework : Framework
        where : str or path
            A file, or the URL of a database.
        budget : float or Budget or None
            None for an account that is there.
        name : str
            Of the table, and of its account.
        new_name : bool
            Says that a name nearly that of another account is meant as it is.

        Raises
        ------
        LedgerError
            If the ledger cannot be used as it is, or the account has another framework, table or budget, or nearly this
            name.
        ParameterError
            If the budget is out of range.
        """
        ledger, account = open_account(framework.fingerprint(), framework.schema, where, budget, name, new_name)
        return CountedAccount(framework=framework, ledger=ledger, account=account)

    @staticmethod
    def known(framework: Framework, where: str | Path, name: str) -> CountedAccount | None:
        """Open an account that is there; None where there is no ledger yet, or no account of this name in it.

        Parameters
        ----------
        framework, where, name
            As of `opened`.
        """
        file = ledger_file(where)
        if file is not None and not file.exists():
            return None
        if all(account.name != name for account in Ledger.open(where).accounts()):
            return None
        return CountedAccount.opened(framework, where, None, name)

    @property
    def budget(self) -> Budget:
        """What all releases may tell together."""
        return self.account.budget

    @property
    def charges(self) -> tuple[Charge, ...]:
        """All releases that were charged, by whatever process."""
        return self.ledger.book(self.account).charges

    @property
    def answers(self) -> Mapping[int, tuple[float, ...]]:
        """The released numbers that were stored, by the number of their charge."""
        book = self.ledger.book(self.account)
        kept = {charge.number: book.answers.get(charge.sequence) for charge in book.charges}
        return {
            number: tuple(float.fromhex(str(value)) for value in cast("list[object]", answer.content["values"]))
            for number, answer in kept.items()
            if answer is not None and "values" in answer.content
        }

    @property
    def accountant(self) -> Accountant:
        """The accountant of all releases that were charged, by whatever process."""
        return self._counted([charge.entry for charge in self.charges])

    def before(self, key: str | None) -> Accountant:
        """Return the accountant of all releases that were charged before the one of a key; of all if there is none.

        The same call with the same key then makes the same choices, whatever was released since.

        Parameters
        ----------
        key : str or None
        """
        book = self.ledger.book(self.account)
        found = None if key is None else book.keys.get(key)
        charges = book.charges if found is None else book.charges[: found.number - 1]
        return self._counted([charge.entry for charge in charges])

    def transcript(self) -> str:
        """All rows of the account, with what `bnpriv.verify` needs to recount their totals, as JSON."""
        rows = self.ledger.rows(self.account)
        charges = [row["payload"] for row in rows if row["kind"] == "charge"]
        accountant = self._counted([cast("Mapping[str, Any]", each)["entry"] for each in charges])
        return service("accountant.transcript")(accountant, self.budget.delta, rows)

    @property
    def head(self) -> str:
        """The last hash of the chain of the account."""
        return self.ledger.head(self.account)

    def charge(self, calibration: Calibration, key: str | None) -> Receipt:
        """Charge a release, once and for all, or find the answer that was stored under its key.

        Parameters
        ----------
        calibration : Calibration
        key : str or None

        Raises
        ------
        BudgetError
            If it would pass the budget; nothing is charged then.
        RefusedError
            If it cannot be counted beside what was released; nothing is charged then.
        LedgerError
            If the ledger cannot be used as it is, or the key names another release.
        """
        refusal = self._last.foreign(calibration)
        if refusal is not None:
            raise refusal.error()
        return self.ledger.charge(self.account, Entry.of(calibration).to_json(), key=key, admit=self.admit)

    def record_external(self, release: ExternalRelease, key: str | None) -> Mark:
        """Charge what another tool released, once for a key; no answer is stored.

        Parameters
        ----------
        release : ExternalRelease
        key : str or None

        Raises
        ------
        ParameterError
            If it is none, or reads a column that is not declared.
        BudgetError, RefusedError, LedgerError
            As `charge`.
        """
        if not isinstance(release, ExternalRelease):
            found, remedy = checks.type_text(release), "Pass what bnpriv.from_differential_privacy(...) returned."
            raise ParameterError("what is recorded is what another tool released", found=found, remedy=remedy)
        receipt = None
        try:
            entry = release.entry_for(self.framework).to_json()
            recorded = self._recorded(entry, key)
            if recorded is not None:
                return recorded
            try:
                receipt = self.ledger.charge(self.account, entry, key=key, admit=self.admit)
            except LedgerError:  # another process may have charged it meanwhile
                recorded = self._recorded(entry, key)
                if recorded is None:
                    raise
                return recorded
            return mark_of(receipt, receipt.charge.hash)
        except BaseException as error:
            name_charge(error, self.account.name, None if receipt is None else receipt.charge)
            raise

    def _recorded(self, entry: Mapping[str, object], key: str | None) -> Mark | None:
        """Return where the same entry stands that was charged under a key; None if there is none."""
        known = None if key is None else self.ledger.book(self.account).keys.get(key)
        if known is None or canonical(known.entry) != canonical(entry):
            return None
        return mark_of(Receipt(account=self.account, charge=known, answer=None), known.hash)

    def admit(self, entries: Sequence[Mapping[str, object]], new: Mapping[str, object]) -> Fraction | Refusal:
        """Return the total of some entries and a new one, or why that is not counted: what a ledger charges by.

        Parameters
        ----------
        entries : sequence of mapping
        new : mapping
        """
        entry, before = Entry.from_json(new), self._counted(entries)  # what is counted is what is stored
        counted = before.with_entry(entry)
        if isinstance(counted, Refusal):
            return beside_table(counted, before.entries)
        total = total_of(counted, self.budget)
        return no_bound(entry) if total is None else total

    def _counted(self, entries: Sequence[Mapping[str, object]]) -> Accountant:
        """Return the accountant of these first entries of the account, and of no others.

        What was counted last is gone on from. Other threads keep theirs there, so it is read once.
        """
        known = self._last
        if len(known.entries) > len(entries):
            return _after(Accountant(self.framework), entries)
        self._last = found = _after(known, entries[len(known.entries) :])
        return found


def _after(accountant: Accountant, entries: Sequence[Mapping[str, object]]) -> Accountant:
    for entry in entries:
        found = accountant.with_entry(Entry.from_json(entry))
        if isinstance(found, Refusal):
            raise LedgerError(
                "all releases of an account must be counted together",
                found="one that no theorem counts beside the others",
                remedy="Look for what was changed: bnpriv ledger verify.",
            )
        accountant = found
    return accountant


ONE_TABLE = Refusal(
    required="of secrets by themselves an account counts one private table and nothing else",
    found="one that was made",
    remedy="Ask that table.",
)

NOTHING_BOUNDS = Refusal(
    required="something must bound what all releases tell together",
    found="nothing that does, at the delta of the budget",
    remedy="Ask with noise, for example by ColumnMechanism(), or for columns that tell less.",
)


def no_bound(entry: Entry) -> Refusal:
    """Return why nothing bounds what releases tell together with one more, at the delta of the budget."""
    if not entry.delta or not (entry.mechanism == PRIVATE_TABLE or entry.record):
        return NOTHING_BOUNDS
    instead = "ask for form='fill' and delta 0" if entry.record is None else "ask for a release with delta 0"
    return Refusal(
        required="the budget of a release with a delta must have a delta, at least as large",
        found="a smaller one, or none",
        remedy=f"Open another account with budget=bp.types.Budget(epsilon, delta), or {instead}.",
    )


def alone(budget: Budget) -> Admit:
    """Return what admits a private table by its own guarantee, and nothing beside it.

    Parameters
    ----------
    budget : Budget
    """

    def admit(entries: Sequence[Mapping[str, object]], new: Mapping[str, object]) -> Fraction | Refusal:
        entry = Entry.from_json(new)
        if entries:
            return beside_table(ONE_TABLE, map(Entry.from_json, entries))
        return entry.epsilon if entry.delta <= budget.delta else no_bound(entry)

    return admit


def beside_table(refusal: Refusal, entries: Iterable[Entry]) -> Refusal:
    """Return why a release is not counted; where a private table was made, with the answer that costs nothing.

    Parameters
    ----------
    refusal : Refusal
    entries : iterable of Entry
        Of the releases before it.
    """
    if all(entry.mechanism != PRIVATE_TABLE for entry in entries):
        return refusal
    made = "Answer it from the private table that was made: table.answer(query), which costs nothing."
    return replace(refusal, remedy=f"{made} {LOST_TABLE}")


def as_budget(budget: float | Budget) -> Budget:
    """Return a budget; a number is an epsilon."""
    return budget if isinstance(budget, Budget) else Budget(budget)


def open_account(
    framework: str, schema: Schema, where: str | Path, budget: float | Budget | None, name: str, new_name: bool = False
) -> tuple[Ledger, Account]:
    """Open a ledger and an account of it; where a budget is given, what is not there is made.

    Parameters
    ----------
    framework : str
        The fingerprint of what is hidden.
    schema : Schema
    where, budget, name, new_name
        As of `CountedAccount.opened`.
    """
    most = None if budget is None else as_budget(budget)
    checks.text("name of an account", name, error=ParameterError)
    ledger = Ledger.open(where, create=most is not None)
    if most is None:
        most = _known_budget(ledger, name)
    data = table_fingerprint(schema, name)
    return ledger, ledger.account(name, framework=framework, data=data, budget=most, new_name=new_name)


def mark_of(receipt: Receipt, head: str) -> Mark:
    """Return where a release stands.

    Parameters
    ----------
    receipt : Receipt
    head : str
        The hash of its stored answer; of the charge, where none is stored.
    """
    account = receipt.account
    return Mark(
        account=account.name,
        number=receipt.charge.number,
        head=head,
        total=rounded_up(receipt.charge.total),
        budget=float(account.budget.epsilon),
        delta=float(account.budget.delta),
    )


def _known_budget(ledger: Ledger, name: str) -> Budget:
    accounts = ledger.accounts()
    for account in accounts:
        if account.name == name:
            return account.budget
    near = next((account.name for account in accounts if is_slip(name, account.name)), None)
    meant = "" if near is None else f"Did you mean {checks.cut(near)}? Else pass"
    raise LedgerError(
        "a new account needs a budget",
        found=f"no account {name!r} in the ledger",
        remedy=f"{meant or 'Pass'} budget=... (--budget), what all releases may tell together, for example 2.0.",
    )


def budget_text(budget: Budget) -> str:
    """Return a budget in words."""
    epsilon = f"epsilon {float(budget.epsilon):g}"
    return f"{epsilon} with delta {float(budget.delta):g}" if budget.delta else epsilon
