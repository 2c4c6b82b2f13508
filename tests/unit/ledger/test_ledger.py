"""Ledgers: what is charged, refused, stored, shown again, verified and exported."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from bnpriv.errors import BnprivError, BudgetError, LedgerError, ParameterError, Refusal, RefusedError
from bnpriv.ledger import store as ledger_store
from bnpriv.ledger.ledger import Ledger, account_content
from bnpriv.ledger.values import (
    START,
    Budget,
    append_row,
    canonical,
    chain_state,
    enter_chain,
    row_after,
    row_hash,
    total_text,
)
from tests.ledgers import TENTH, opened, released, summed


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "ledger.db"


def test_a_float_means_its_shortest_decimal() -> None:
    assert 3 * Budget(0.1).epsilon == Budget(0.3).epsilon == Fraction(3, 10)
    assert Budget(1, delta=1e-6) == Budget(Fraction(1), Fraction(1, 10**6))
    assert repr(Budget(0.3)) == "Budget(epsilon=3/10, delta=0)"


@pytest.mark.parametrize(
    ("epsilon", "delta"),
    [
        (0, 0), (-1, 0), (math.nan, 0), (math.inf, 0), (True, 0), ("1", 0), (None, 0), (-5e-324, 0), (10**2000, 0),
        (Fraction(1, 10**1001), 0), (1, -1e-9), (1, 1), (1, math.nan), (1, True), (1, "0"),
    ],
)  # fmt: skip
def test_a_budget_that_is_none_is_refused(epsilon, delta) -> None:
    """Row 14."""
    with pytest.raises(ParameterError):
        Budget(epsilon, delta)


def test_ten_tenths_fit_exactly_into_one(place: Path) -> None:
    """Row 24."""
    ledger, account = opened(place)
    for _ in range(10):
        released(ledger, account)
    with pytest.raises(BudgetError, match=r"budget of epsilon 1; found 1\.1 with this one, 1 before it"):
        released(ledger, account)
    assert ledger.verify().charges == ledger.verify().answers == 10
    assert ledger.book(account).charges[-1].total == 1


def test_a_total_that_passes_the_budget_by_less_than_a_double_tells_is_refused(place: Path) -> None:
    """Row 24: budgets are compared as exact numbers."""
    ledger, account = opened(place)
    with pytest.raises(BudgetError):
        ledger.charge(account, TENTH, admit=lambda entries, new: Fraction(1) + Fraction(1, 10**30))
    assert not ledger.book(account).charges
    ledger.charge(account, TENTH, admit=lambda entries, new: Fraction(1))


def entry(epsilon: object, delta: object = "0") -> dict[str, object]:
    return {"epsilon": epsilon, "delta": delta}


@pytest.mark.parametrize(
    "new",
    [
        entry(str(Fraction(repr(5e-324)))), entry("1/1000000000000"), entry("-1/10"), entry("nan"), entry("NaN"),
        entry(math.nan), entry(-0.1), entry(0.0), entry("inf"), entry("1e-300"), entry("0.1"), entry("2/20"),
        entry("1/0"), entry(" 1/10"), entry("1/10\n"), entry("1_0"), entry(""), entry(None), entry("0", "1"),
        entry("0", "-1/10"), entry("0", "nan"), entry("1" * 1001), {"epsilon": "0"}, {"delta": "0"}, {}, None, "0",
        entry("1/10") | {"scale": math.nan}, entry("1/10") | {1: 2}, entry("1/10") | {"query": object()},
    ],
)  # fmt: skip
def test_nothing_passes_once_a_budget_is_used_up(place: Path, new) -> None:
    """Row 48: subnormal, NaN and negative charges."""
    ledger, account = opened(place, 0.1)
    released(ledger, account)
    before = place.read_bytes()
    with pytest.raises((LedgerError, BudgetError)):
        ledger.charge(account, new, admit=summed)
    assert place.read_bytes() == before


@pytest.mark.parametrize("total", [math.nan, 0.5, -1, Fraction(-1, 10), True, None, "1", math.inf])
def test_a_total_that_is_not_exact_is_refused(place: Path, total) -> None:
    ledger, account = opened(place)
    with pytest.raises(ParameterError, match="a total must be an exact number"):
        ledger.charge(account, TENTH, admit=lambda entries, new: total)
    assert ledger.verify().charges == 0


def test_what_the_accountant_refuses_is_not_charged(place: Path) -> None:
    """Row 26."""
    ledger, account = opened(place)
    refusal = Refusal(required="a theorem", found="none", remedy="Ask jointly.")
    with pytest.raises(RefusedError, match="a theorem"):
        ledger.charge(account, TENTH, admit=lambda entries, new: refusal)
    with pytest.raises(ZeroDivisionError):
        ledger.charge(account, TENTH, admit=lambda entries, new: Fraction(1, 0))
    assert ledger.verify().charges == 0
    released(ledger, account)  # no lock is left behind


def test_the_accountant_sees_all_entries_in_order(place: Path) -> None:
    ledger, account = opened(place)
    seen: list[list[object]] = []

    def admit(entries, new):
        seen.append([each["place"] for each in entries])
        return summed(entries, new)

    for k in range(3):
        Ledger.open(place).charge(account, {**TENTH, "place": k}, admit=admit)
        ledger.charge(account, {**TENTH, "place": 10 + k}, admit=admit)
    assert seen[-1] == [0, 10, 1, 11, 2]


def test_a_long_total_is_kept_as_a_number_between_it_and_the_budget() -> None:
    long = Fraction(10**1200 // 3, 10**1200)
    kept = Fraction(total_text(long, Budget(2.0)))
    assert long <= kept <= long + Fraction(1, 10**15)
    assert total_text(long, Budget(Fraction(10**800 // 3 + 1, 10**800))) == str(Fraction(10**800 // 3 + 1, 10**800))


def test_a_total_above_the_budget_by_less_than_doubles_show_does_not_fit(place: Path) -> None:
    ledger, account = opened(place)
    with pytest.raises(BudgetError):
        ledger.charge(account, TENTH, admit=lambda entries, new: 1 + Fraction(1, 10**40))
    assert ledger.charge(account, TENTH, admit=lambda entries, new: Fraction(1)).charge.total == 1


def test_a_key_is_charged_once(place: Path) -> None:
    """Row 23: the stored answer, no charge."""
    ledger, account = opened(place, 0.1)
    first = released(ledger, account, key="order 7")
    again = Ledger.open(place).charge(account, TENTH, admit=summed, key="order 7")
    assert again.answer is not None
    assert dict(again.answer.content) == {"value": 17.25}
    assert again.charge.hash == first.charge.hash
    assert again.answer.hash == ledger.head(account)
    with pytest.raises(LedgerError, match="a key names one release"):
        ledger.charge(account, {**TENTH, "query": "another"}, admit=summed, key="order 7")
    with pytest.raises(BudgetError):  # without a key every call is a new release
        ledger.charge(account, TENTH, admit=summed)
    with pytest.raises(LedgerError, match="a charge has one answer"):
        ledger.store(again, {"value": 1.0})


def test_a_charge_whose_answer_was_lost_is_not_answered_again(place: Path) -> None:
    """Rows 19 and 23: the charge stays, and no second noise is drawn for it."""
    ledger, account = opened(place)
    ledger.charge(account, TENTH, admit=summed, key="order 7")
    with pytest.raises(LedgerError, match=r"a charge without one.*its charge stays"):
        ledger.charge(account, TENTH, admit=summed, key="order 7")
    assert ledger.verify().charges == 1
    assert ledger.verify().answers == 0


@pytest.mark.parametrize("key", ["", "  ", 7, b"k", "k" * 201, True])
def test_a_key_is_a_text(place: Path, key) -> None:
    ledger, account = opened(place)
    with pytest.raises(ParameterError, match="a key"):
        ledger.charge(account, TENTH, admit=summed, key=key)


def test_an_answer_is_stored_once_and_for_a_charge_of_this_ledger(place: Path, tmp_path: Path) -> None:
    ledger, account = opened(place)
    receipt = released(ledger, account)
    with pytest.raises(LedgerError, match="a charge has one answer"):
        ledger.store(receipt, {"value": 2.0})
    other, elsewhere = opened(tmp_path / "other.db")
    foreign = other.charge(elsewhere, TENTH, admit=summed)
    with pytest.raises(LedgerError):
        ledger.store(foreign, {"value": 2.0})
    with pytest.raises(LedgerError):
        other.charge(account, TENTH, admit=summed)
    for answer in (3.0, None, [1.0]):
        with pytest.raises(ParameterError):
            other.store(foreign, answer)
    for content in ({"value": math.nan}, {"value": math.inf}, {3: 1}, {"value": {1, 2}}):
        with pytest.raises(LedgerError):
            other.store(foreign, content)
    with pytest.raises(ParameterError):
        other.store(object(), {})
    other.store(foreign, {"value": -0.0, "text": "\ud800\0", "many": (1, 2.5, None, True)})
    assert other.verify().answers == 1


def test_an_account_keeps_what_it_was_opened_with(place: Path) -> None:
    """Row 25: what the budget is the budget of."""
    ledger, account = opened(place, 0.3)
    assert ledger.account("survey", framework="f1", data="d1", budget=Budget(Fraction(3, 10))) == account
    cases = [
        (("survey", "f2", "d1", 0.3), "framework that it was opened with; found another framework"),
        (("survey", "f1", "d2", 0.3), "data that it was opened with; found other data"),
        (
            ("survey", "f1", "d1", 0.4),
            "budget that it was opened with; found budget of epsilon 0.4 in place of budget of epsilon 0.3",
        ),
        (("again", "f1", "d1", 0.3), "one account in a ledger; found the account 'survey'"),
    ]
    for (name, framework, data, epsilon), words in cases:
        with pytest.raises(LedgerError, match=words):
            ledger.account(name, framework=framework, data=data, budget=Budget(epsilon))
    other = ledger.account("other", framework="f1", data="d2", budget=Budget(5, delta=0.001))
    assert Ledger.open(place).accounts() == (account, other)
    released(ledger, other)
    assert ledger.verify().heads == {"survey": account.opening, "other": ledger.head(other)}
    with pytest.raises(ParameterError):
        ledger.account("x", framework="f", data="d", budget=2.0)
    with pytest.raises(ParameterError):
        ledger.account(" ", framework="f", data="d", budget=Budget(1))


GOOD = {"entry": dict(TENTH), "key": "k", "total": "1/10", "time": "2026-01-01T00:00:00+00:00"}


@pytest.mark.parametrize(
    "rows",
    [
        [("charge", GOOD), ("charge", GOOD)],
        [("charge", GOOD | {"total": "2"})],
        [("charge", GOOD | {"total": "-1/10"})],
        [("charge", GOOD | {"key": " "})],
        [("charge", GOOD | {"time": 5})],
        [("charge", GOOD | {"entry": TENTH | {"epsilon": "nan"}})],
        [("charge", GOOD | {"entry": TENTH | {"delta": "1"}})],
        [("answer", {"charge": 0, "answer": {}})],
        [("charge", GOOD), ("answer", {"charge": 1, "answer": {}})],
        [("charge", GOOD), ("answer", {"charge": 0, "answer": {}}), ("answer", {"charge": 0, "answer": {}})],
        [("charge", GOOD), ("answer", {"charge": 0, "answer": 5})],
        [("more", {"charge": 0, "answer": {}})],
    ],
)
def test_rows_that_nobody_could_have_written_are_refused_though_their_hashes_fit(place: Path, rows) -> None:
    """Row 22."""
    ledger, account = opened(place)

    def write(connection) -> None:
        head = account.opening
        for sequence, (kind, content) in enumerate(rows):
            row = row_after(head, chain=account.number, sequence=sequence, kind=kind, content=content)
            append_row(connection, row)
            head = row.hash

    ledger._store.write(write)
    for work in (Ledger.open(place).verify, lambda: released(ledger, account)):
        with pytest.raises(LedgerError, match="must hold what was written"):
            work()


@pytest.mark.parametrize(
    ("kind", "changed"),
    [("account", {}), ("account", {"number": 2, "name": "survey"}), ("account", {"number": 3}), ("ledger", {}),
     ("account", {"number": 2, "name": "b", "epsilon": "0"}), ("charge", {"number": 2, "name": "b"})],
)  # fmt: skip
def test_accounts_that_nobody_could_have_opened_are_refused(place: Path, kind: str, changed: dict[str, object]) -> None:
    ledger, account = opened(place)

    def write(connection) -> None:
        length, head = chain_state(connection, 0, lock=True)
        content = {**account_content(account, 1), **changed}
        row = row_after(head, chain=0, sequence=length, kind=kind, content=content)
        append_row(connection, row)
        enter_chain(connection, 2, row.hash)

    ledger._store.write(write)
    with pytest.raises(LedgerError, match="must hold what was written"):
        Ledger.open(place)


def test_an_answer_is_for_the_charge_itself(place: Path) -> None:
    ledger, account = opened(place)
    receipt = ledger.charge(account, TENTH, admit=summed)
    forged = replace(receipt, charge=replace(receipt.charge, hash="0" * 64))
    with pytest.raises(LedgerError, match="no charge for this receipt"):
        ledger.store(forged, {"value": 1.0})
    assert ledger.verify().answers == 0


def test_a_commit_waits_for_the_disk(place: Path) -> None:
    ledger, _ = opened(place)
    pragmas = [f"PRAGMA {name}" for name in ("synchronous", "fullfsync")]
    found = ledger._store.write(lambda connection: [connection.exec_driver_sql(each).scalar() for each in pragmas])
    assert found == [3, 1]  # 3 is EXTRA


def test_who_makes_a_ledger_later_takes_that_of_who_was_faster(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = ledger_store.make_tables

    def overtaken(connection) -> None:
        plain(connection)
        monkeypatch.setattr(ledger_store, "make_tables", plain)
        opened(place)

    monkeypatch.setattr(ledger_store, "make_tables", overtaken)
    assert len(Ledger.open(place, create=True).accounts()) == 1


def test_a_new_file_starts_anew(place: Path, tmp_path: Path) -> None:
    """Row 25: docs/claims/ledger.md says what that means."""
    released(*opened(place, 0.1))
    released(*opened(tmp_path / "second.db", 0.1))


def test_an_export_can_be_checked_by_anybody(place: Path) -> None:
    ledger, account = opened(place)
    for value in (1.5, 2.5):
        released(ledger, account, value)
    rows = [json.loads(line) for line in ledger.export().splitlines()]
    heads = {0: START, 1: account.opening}
    for row in rows:
        assert row["previous"] == heads[row["chain"]]
        payload = json.dumps(row["payload"], sort_keys=True, separators=(",", ":"))
        heads[row["chain"]] = row_hash(row["previous"], row["sequence"], row["kind"], payload)
        assert heads[row["chain"]] == row["hash"]
    assert heads[1] == ledger.head(account)
    assert [row["kind"] for row in rows] == ["ledger", "account", "charge", "answer", "charge", "answer"]


def test_a_rollback_is_seen_by_who_has_a_head(place: Path) -> None:
    """Row 22: an older copy is whole in itself; a head that was shown tells."""
    ledger, account = opened(place)
    released(ledger, account)
    older = place.read_bytes()
    released(ledger, account)
    head = ledger.head(account)
    place.write_bytes(older)
    with pytest.raises(LedgerError, match="an older copy"):  # the process that wrote it
        released(ledger, account)
    fresh = Ledger.open(place)
    assert fresh.verify().charges == 1
    with pytest.raises(LedgerError, match=f"none that is '{head}'"):
        fresh.verify(seen=[head])


def test_canonical_json_has_one_form() -> None:
    assert canonical({"b": [1.0, 0.1, -0.0, "\u00fc"], "a": {}}) == '{"a":{},"b":[1.0,0.1,-0.0,"\\u00fc"]}'
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    for value in (math.nan, {1: 2}, {1, 2}, object(), b"x", 10**5000, deep):
        with pytest.raises(LedgerError):
            canonical(value)


def test_every_error_says_what_was_required_found_and_what_to_do(place: Path) -> None:
    with pytest.raises(BnprivError) as caught:
        Ledger.open(place)
    assert caught.value.required
    assert caught.value.found
    assert caught.value.remedy


def test_what_was_checked_is_not_read_again(place: Path) -> None:
    """What a process has checked it reads no more; only the last row that it knows."""
    ledger, account = opened(place, 100.0)
    for _ in range(30):
        released(ledger, account)
    from bnpriv.ledger import ledger as ledger_book

    checked: list[int] = []
    plain = ledger_book.check_row
    ledger_book.check_row = lambda row, **rest: (checked.append(row.sequence), plain(row, **rest))[1]
    try:
        released(ledger, account)
    finally:
        ledger_book.check_row = plain
    assert set(checked) == {60, 61}
