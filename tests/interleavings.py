"""Any order of what several users do with one ledger, against a model that is a list."""

from __future__ import annotations

import math
import tempfile
from fractions import Fraction
from functools import cache
from pathlib import Path

import pytest
from hypothesis import (  # noqa: TID253 - tests import this file when they run
    HealthCheck,
    settings,
    strategies as st,
)
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule, run_state_machine_as_test  # noqa: TID253

from bnpriv.core.accounting.total import typed
from bnpriv.errors import BudgetError, LedgerError
from bnpriv.ledger.ledger import Ledger
from bnpriv.ledger.store import LedgerStore, store_at
from bnpriv.ledger.values import Budget, Receipt
from tests.ledgers import summed

BUDGETS = {"a": Budget(1.0), "b": Budget(Fraction(1, 3)), "c": Budget(5e-324)}
EPSILONS = (0.0, 0.1, 0.3, 1.0, 5e-324, 1e-17, 0.30000000000000004, 1e300)
PROCESSES = st.integers(0, 2)
NAMES = st.sampled_from(sorted(BUDGETS))
KEYS = st.sampled_from([None, None, "k1", "k2"])


@cache
def kept() -> tuple[tempfile.TemporaryDirectory[str], LedgerStore, bytes]:
    """Return a place for all runs, and the content of a ledger with three accounts."""
    folder = tempfile.TemporaryDirectory(prefix="bnpriv-ledger-")
    place = Path(folder.name, "ledger.db")
    ledger = Ledger.open(place, create=True)
    for name, budget in BUDGETS.items():
        ledger.account(name, framework="f", data=name, budget=budget, new_name=True)
    return folder, store_at(place, create=False, upgrade=False, patience=60.0), place.read_bytes()


class Interleavings(RuleBasedStateMachine):
    """Three users of one ledger; between any two steps of one, others may take theirs."""

    def __init__(self) -> None:
        super().__init__()
        _, self.kept_in, empty = kept()
        assert self.kept_in.path is not None
        self.kept_in.path.write_bytes(empty)
        first = Ledger(self.kept_in)
        self.users = [first, first, first]
        self.accounts = {account.name: account for account in first.accounts()}
        self.spent = dict.fromkeys(BUDGETS, Fraction(0))
        self.charges: dict[str, list[str | None]] = {name: [] for name in BUDGETS}
        self.entries: dict[tuple[str, str], tuple[dict[str, object], float | None]] = {}
        self.pending: list[tuple[Receipt, str]] = []
        self.answers = dict.fromkeys(BUDGETS, 0)
        self.heads: set[str] = set()

    def teardown(self) -> None:
        check = self.users[0].verify(seen=self.heads)
        assert check.charges == sum(map(len, self.charges.values()))
        for name in BUDGETS:
            self._compare(0, name)

    @rule(user=PROCESSES, name=NAMES, epsilon=st.sampled_from(EPSILONS), key=KEYS)
    def charge(self, user: int, name: str, epsilon: float, key: str | None) -> None:
        entry: dict[str, object] = {"epsilon": str(typed(epsilon)), "delta": "0"}
        known = self.entries.get((name, key)) if key else None
        try:
            receipt = self.users[user].charge(self.accounts[name], entry, admit=summed, key=key)
        except BudgetError:
            assert known is None
            assert self.spent[name] + typed(epsilon) > BUDGETS[name].epsilon
        except LedgerError:
            assert known is not None
            assert known[0] != entry or known[1] is None
        else:
            if known is not None:
                assert known[0] == entry
                assert receipt.answer is not None
                assert receipt.answer.content["value"] == known[1]
                return
            assert receipt.answer is None
            self.spent[name] += typed(epsilon)
            assert self.spent[name] <= BUDGETS[name].epsilon
            self.charges[name].append(key)
            self.pending.append((receipt, name))
            if key:
                self.entries[name, key] = (entry, None)

    @precondition(lambda self: self.pending)
    @rule(user=PROCESSES, place=st.integers(0, 10**6), value=st.floats(allow_nan=False, allow_infinity=False))
    def store(self, user: int, place: int, value: float) -> None:
        receipt, name = self.pending.pop(place % len(self.pending))
        self.heads.add(self.users[user].store(receipt, {"value": value}).hash)
        self.answers[name] += 1
        key = receipt.charge.key
        if key:
            self.entries[name, key] = (self.entries[name, key][0], value)
        with pytest.raises(LedgerError):
            self.users[(user + 1) % 3].store(receipt, {"value": value})

    @precondition(lambda self: self.pending)
    @rule()
    def lose(self) -> None:
        """A process ends between charge and answer."""
        self.pending.pop()

    @rule(user=PROCESSES)
    def begin_anew(self, user: int) -> None:
        self.users[user] = Ledger(self.kept_in)

    @rule(user=PROCESSES, name=NAMES, value=st.sampled_from([math.nan, -1.0, "nan", "-1/10", "0.1", None]))
    def charge_nonsense(self, user: int, name: str, value: object) -> None:
        with pytest.raises(LedgerError):
            self.users[user].charge(self.accounts[name], {"epsilon": value, "delta": "0"}, admit=summed)

    @rule(user=PROCESSES, name=NAMES)
    def reopen_with_another_budget(self, user: int, name: str) -> None:
        with pytest.raises(LedgerError):
            self.users[user].account(name, framework="f", data=name, budget=Budget(7))

    @rule(user=PROCESSES, name=NAMES)
    def look(self, user: int, name: str) -> None:
        self._compare(user, name)

    def _compare(self, user: int, name: str) -> None:
        book = self.users[user].book(self.accounts[name])
        assert [charge.key for charge in book.charges] == self.charges[name]
        assert len(book.answers) == self.answers[name] <= len(book.charges)
        assert summed([charge.entry for charge in book.charges], {"epsilon": "0"}) == self.spent[name]


def interleave(examples: int, steps: int) -> None:
    """Try so many orders of at most so many steps."""
    found = settings(
        max_examples=examples,
        stateful_step_count=steps,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(Interleavings, settings=found)
