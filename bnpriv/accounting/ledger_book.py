"""The chain of an account as it was read and checked: charges, and the answers that were stored for them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import cast, final

from bnpriv import checks
from bnpriv.accounting.ledger_chain import START, LedgerRow, changed, check_row
from bnpriv.accounting.ledger_values import (
    Account,
    Budget,
    Charge,
    StoredAnswer,
    check_entry,
    is_key,
    read_exact,
)
from bnpriv.errors import LedgerError


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class Book:
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

    def after(self, rows: Iterable[LedgerRow]) -> Book:
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
        return Book(
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
