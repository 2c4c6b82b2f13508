"""What may be copied and pickled, and what must be opened where it is used."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import bnpriv as bp
from bnpriv.core.accounting.accountant import Accountant
from bnpriv.core.mechanisms.column import ColumnMechanism
from bnpriv.core.mechanisms.quilt import MarkovQuiltMechanism
from bnpriv.errors import ParameterError
from bnpriv.ledger.ledger import Ledger

STUDENT, DATA = bp.example("student"), bp.example_data("student")
WAYS: dict[str, Callable[[Any], Any]] = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda value: pickle.loads(pickle.dumps(value)),
}


@pytest.mark.parametrize("way", WAYS)
def test_places_that_others_charge_too_are_not_copied(tmp_path: Path, way: str) -> None:
    session = bp.Session(STUDENT, DATA, budget=1.0, ledger=tmp_path / "ledger.db")
    account = session._account
    for each in (session, account, account.ledger, account.ledger._store):
        with pytest.raises(ParameterError, match=f"{type(each).__name__} must be opened where it is used"):
            WAYS[way](each)
    session.release("mean(sat)", epsilon=0.5, even_if_useless=True)
    assert Ledger.open(tmp_path / "ledger.db").verify().answers == 1


@pytest.mark.parametrize("columns", [None, ["sat", "height"]])
@pytest.mark.parametrize("way", WAYS)
def test_accountants_are_counted_again(way: str, columns: list[str] | None) -> None:
    own = bp.custom(lambda table: 0.0, columns=["sat", "height"], sensitivity={"sat": 5.0, "height": 1.0})
    accountant = Accountant(STUDENT, columns)
    for made in (
        ColumnMechanism().calibrate(STUDENT, "mean(sat)", epsilon=0.2),
        MarkovQuiltMechanism(large_delta=True).calibrate(STUDENT, "mean(sat)", epsilon=1.0, delta=0.01),
        MarkovQuiltMechanism().calibrate(STUDENT, own, epsilon=0.5),
    ):
        accountant = accountant.record(made)
    again = WAYS[way](accountant)
    totals = [[each.epsilon, each.epsilon_at(0.02), each.epsilon_at(0.2)] for each in (accountant, again)]
    assert totals[0] == totals[1]
    assert (again.columns, len(again.entries), again.text) == (accountant.columns, 3, accountant.text)
    assert again.record(made).epsilon_at(0.2) == accountant.record(made).epsilon_at(0.2)


def test_what_a_session_returns_is_pickled(tmp_path: Path) -> None:
    session = bp.Session(STUDENT, DATA, budget=2.0, ledger=tmp_path / "ledger.db")
    released = session.release("mean(sat)", epsilon=0.5, even_if_useless=True)
    price = session.what_if("mean(sat)", epsilon=0.5)
    for value in (session.history, price, released, session.plan(["mean(sat)"]), session.accountant.entries[0]):
        assert repr(pickle.loads(pickle.dumps(value))) == repr(value)
