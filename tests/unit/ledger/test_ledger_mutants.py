"""Bugs planted in the ledger, each of which one of its tests must find."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from bnpriv.errors import BnprivError
from bnpriv.ledger import ledger, store as ledger_store
from bnpriv.ledger.ledger import Ledger
from bnpriv.ledger.values import Receipt
from tests.ledgers import TENTH, at_step, child, ended, kill_self, opened, release_until_spent, released, seen, summed

pytestmark = [
    pytest.mark.mutants,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked and killed as POSIX does it"),
]


def charges_after_a_kill(folder: Path) -> int:
    """Return how many charges are there when a process was killed before its answer was stored."""
    place = folder / "ledger.db"
    _, account = opened(place)

    def work() -> None:
        with at_step("6 answer computed", kill_self):
            released(Ledger.open(place), account)

    ended(child(work))
    return len(Ledger.open(place).book(account).charges)


def subnormal_passes(folder: Path) -> bool:
    """Say whether a subnormal charge passes when the budget is used up."""
    book, account = opened(folder / "ledger.db", 0.1)
    released(book, account)
    try:
        book.charge(account, {"epsilon": f"1/{10**320}", "delta": "0"}, admit=summed)
    except BnprivError:
        return False
    return True


def edit_passes(folder: Path) -> bool:
    """Say whether a row that was made cheaper passes."""
    import sqlite3

    place = folder / "ledger.db"
    book, account = opened(place)
    released(book, account)
    with closing(sqlite3.connect(place, isolation_level=None)) as connection, connection:
        text = connection.execute("SELECT sql FROM sqlite_master WHERE name = 'bnpriv_no_update'").fetchone()[0]
        connection.execute("DROP TRIGGER bnpriv_no_update")
        connection.execute("UPDATE bnpriv_entries SET payload = replace(payload, '1/10', '1/99') WHERE chain = 1")
        connection.execute(text)
    connection.close()
    try:
        Ledger.open(place).charge(account, TENTH, admit=summed)
    except BnprivError:
        return False
    return True


def shared_answers(folder: Path) -> tuple[int, list[int]]:
    """Return how many answers four processes show on a budget for twenty, and how they end."""
    place, shown = folder / "ledger.db", folder / "shown"
    opened(place, 2.0)
    codes = [ended(number) for number in [child(lambda: release_until_spent(place, shown, 2.0)) for _ in range(4)]]
    return len(seen(shown)), codes


def test_without_a_bug(tmp_path: Path) -> None:
    checks: tuple[Callable[[Path], object], ...] = (charges_after_a_kill, subnormal_passes, edit_passes, shared_answers)
    found = []
    for check in checks:
        folder = tmp_path / check.__name__
        folder.mkdir()
        found.append(check(folder))
    assert found == [1, False, False, (20, [0] * 4)]


def test_a_charge_after_the_answer_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain_charge, plain_store = Ledger.charge, Ledger.store

    def charge(self: Ledger, account, entry, **rest) -> Receipt:
        return Receipt(account=account, charge=(entry, rest), answer=None)

    def store(self: Ledger, receipt: Receipt, answer):
        ledger.reached("6 answer computed")
        entry, rest = receipt.charge
        return plain_store(self, plain_charge(self, receipt.account, entry, **rest), answer)

    monkeypatch.setattr(Ledger, "charge", charge)
    monkeypatch.setattr(Ledger, "store", store)
    assert charges_after_a_kill(tmp_path) == 0


def test_budgets_in_doubles_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = ledger.admitted

    def admitted(admit, book, entry):
        return plain(lambda entries, new: min(admit(entries, new), book.account.budget.epsilon)
                     if float(admit(entries, new)) <= float(book.account.budget.epsilon)
                     else admit(entries, new), book, entry)  # fmt: skip

    monkeypatch.setattr(ledger, "admitted", admitted)
    assert subnormal_passes(tmp_path)


def test_hashes_that_are_not_checked_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger, "check_row", lambda row, **rest: None)
    assert edit_passes(tmp_path)


def test_transactions_without_a_lock_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def begins_late(connection: Any) -> None:
        """Take away the lock that a transaction which writes begins with."""
        connection.exec_driver_sql("ROLLBACK")

    shown = tmp_path / "made"
    shown.mkdir()
    opened(shown / "ledger.db", 2.0)
    monkeypatch.setattr(ledger_store, "_check_journal", begins_late)
    monkeypatch.setattr(ledger_store, "_commit", lambda connection, until: None)
    place, public = shown / "ledger.db", shown / "shown"
    codes = [ended(number) for number in [child(lambda: release_until_spent(place, public, 2.0)) for _ in range(4)]]
    assert (len(seen(public)), codes) != (20, [0] * 4)
