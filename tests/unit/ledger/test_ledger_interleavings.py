"""Any order of what several users do with one ledger."""

from __future__ import annotations

import pytest

from bnpriv.ledger import store as ledger_store
from bnpriv.ledger.store import LedgerStore
from tests.later import Later

interleavings = Later("tests.interleavings")


@pytest.fixture(autouse=True)
def unsynced(monkeypatch: pytest.MonkeyPatch) -> None:
    """Order is tested here, not the disk: syncs would take most of the time."""
    pragmas = tuple(each.replace("EXTRA", "OFF") for each in ledger_store._PRAGMAS)
    monkeypatch.setattr(ledger_store, "_PRAGMAS", pragmas)
    monkeypatch.setattr(LedgerStore, "check_pages", lambda self: None)


def test_interleavings() -> None:
    interleavings.interleave(20, 12)


@pytest.mark.long
def test_ten_thousand_interleavings() -> None:
    interleavings.interleave(10_000, 6)
