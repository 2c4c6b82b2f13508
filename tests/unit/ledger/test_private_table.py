"""Private tables on an account: charged once, before the data are read; opened again; what stands beside them."""

from __future__ import annotations

import os
import re
import signal
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest

import bnpriv as bp
from bnpriv.core.noise import SecureSampler
from bnpriv.errors import (
    BudgetError,
    DataError,
    FileError,
    LedgerError,
    MissingExtraError,
    ParameterError,
    RefusedError,
)
from bnpriv.ledger.history import left
from bnpriv.ledger.ledger import LEDGER_STEPS, Ledger
from bnpriv.tables.private_table import private_table as tables
from bnpriv.tables.private_table.hidden import HiddenTable
from bnpriv.tables.private_table.private_table import PrivateTable
from bnpriv.types import Budget
from tests.later import Later
from tests.ledgers import at_step, child, ended, kill_self

pd = Later("pandas")

RECORDS, SEEN = 400, {"records_may_be_seen": True}
SCHEMA = bp.Schema(records=RECORDS, columns={"ill": bp.Categorical(["no", "yes"]), "age": bp.Integer(0, 99)})
SECRET = bp.Secret('count(ill == "yes")', pairs=bp.apart(at_most=2))
STAYS = "was charged, and stays so; its answer was not shown."


@pytest.fixture(scope="module")
def ours() -> bp.DatasetAttributePrivacy:
    """Two independent columns."""
    ages = list(range(100))
    tables = {"ill": [0.5, 0.5], "age": [0.01] * 100}
    states = {"ill": ["no", "yes"], "age": ages}
    network = bp.DiscreteNetwork.from_tables(tables, states=states, level="records")
    return bp.DatasetAttributePrivacy(network, SCHEMA, {"ill": SECRET}, source="a test")


@pytest.fixture(scope="module")
def data() -> object:
    return pd.DataFrame({"ill": ["no", "yes"] * (RECORDS // 2), "age": [k % 100 for k in range(RECORDS)]})


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "ledger.db"


@pytest.fixture
def session(ours: bp.DatasetAttributePrivacy, data: object, place: Path) -> bp.Session:
    return bp.Session(ours, data, budget=Budget(4.0, 1e-4), ledger=place)


def alone(data: object, place: Path, **options: object) -> PrivateTable | HiddenTable:
    """Hide the secret by itself, without a model, on an account of its own."""
    settings = {"schema": SCHEMA, "ledger": place, "budget": Budget(1.0, 1e-3), **SEEN, **options}
    return bp.private_table(SECRET, data, 1.0, 1e-3, **settings)  # type: ignore[arg-type]


def test_it_enters_once_and_is_free_to_ask_for_again(session: bp.Session) -> None:
    made = session.table(1.0, 1e-4, **SEEN)
    assert (made.mark.number, made.mark.total, made.mark.head) == (1, 1.0, session.head)
    assert session.table(1.0, 1e-4, **SEEN) is made
    assert (len(session.history), session.remaining) == (1, 3.0)
    assert made.mark.head in made.text
    assert made.to_dict()["data"]["ledger"]["head"] == made.mark.head
    assert made.answer('count(ill == "yes")') == (float(made.noisy[0]),)
    session.close()
    with pytest.raises(ParameterError, match="closed"):
        session.table(1.0, 1e-4, **SEEN)


def test_a_copy_of_the_same_table_may_be_written_later(session: bp.Session, tmp_path: Path) -> None:
    made = session.table(1.0, 1e-4, **SEEN)
    again = session.table(1.0, 1e-4, output=tmp_path / "t.parquet", **SEEN)
    assert (again.noisy, again.table, len(session.history)) == (made.noisy, tmp_path / "t.parquet", 1)
    assert pd.read_parquet(again.table)["age"].tolist() == made.table["age"].tolist()


def test_a_copy_never_replaces_the_true_table(ours: bp.DatasetAttributePrivacy, data: object, tmp_path: Path) -> None:
    true = tmp_path / "true.parquet"
    data.to_parquet(true)  # type: ignore[attr-defined]
    session, before = bp.Session(ours, true, budget=Budget(1.0, 1e-4), ledger=tmp_path / "l.db"), true.read_bytes()
    made = session.table(1.0, 1e-4, output=tmp_path / "t.parquet", **SEEN)
    assert session.table(1.0, 1e-4, output=tmp_path / "t.parquet", **SEEN) is made
    with pytest.raises(FileError, match="a file of its own"):
        session.table(1.0, 1e-4, output=true, **SEEN)
    assert true.read_bytes() == before


def test_nothing_that_no_theorem_counts_stands_beside_it(session: bp.Session) -> None:
    """Theorem 2b of docs/claims/accountant.md: releases of ColumnMechanism add, all else is answered by the table."""
    session.table(1.0, 1e-4, **SEEN)
    for ask in (
        lambda: session.table(0.5, 1e-4, **SEEN),
        lambda: session.release("mean(age)", 0.5, mechanism=bp.TightMechanism()),
    ):
        with pytest.raises(RefusedError, match=r"table\.answer\(query\), which costs nothing"):
            ask()
    price = session.what_if("mean(age)", 0.5, mechanism=bp.TightMechanism())
    assert price.cost.refusal is not None
    assert "table.answer(query)" in price.cost.refusal.remedy
    assert len(session.history) == 1
    session.release("mean(age)", 0.5, mechanism=bp.ColumnMechanism(), even_if_useless=True)
    assert session.history.spent == Fraction(3, 2)
    for shown in (session.text, session.accountant.text):
        assert re.search(r"PrivateTable +- +1 ", shown)  # no scale is shown of noise that is on numbers of records


def test_it_is_refused_after_what_counts_by_its_own_law(session: bp.Session) -> None:
    session.release("mean(age)", 0.5, mechanism=bp.TightMechanism())
    with pytest.raises(RefusedError, match="own distribution alone"):
        session.table(1.0, 1e-4, **SEEN)
    assert len(session.history) == 1


def test_the_budget_and_its_delta_bound_it(
    ours: bp.DatasetAttributePrivacy, data: object, session: bp.Session, place: Path, tmp_path: Path
) -> None:
    target = tmp_path / "t.parquet"
    with pytest.raises(BudgetError):
        session.table(5.0, 1e-4, output=target, **SEEN)
    with pytest.raises(RefusedError, match="must have a delta, at least as large"):
        session.table(1.0, 1e-3, output=target, **SEEN)
    with pytest.raises(RefusedError, match="real records are handed on"):
        session.table(1.0, 1e-4)
    assert (len(session.history), target.exists()) == (0, False)
    made = bp.private_table(ours, data, 1.0, 1e-4, ledger=place, name="data", **SEEN)
    assert left(Budget(4.0, 1e-4), session.history.spent) == 3.0
    assert isinstance(made, PrivateTable)


def test_the_charge_is_on_the_disk_before_the_data_are_read(
    session: bp.Session, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []
    plain = tables.made_by

    def watched(*given: object, **named: object) -> PrivateTable:
        seen.append(Ledger.open(place).verify().charges)
        return plain(*given, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(tables, "made_by", watched)
    session.table(1.0, 1e-4, **SEEN)
    assert seen == [1]


def test_what_fails_after_the_charge_stays_charged_and_says_so(session: bp.Session, tmp_path: Path) -> None:
    class Broken(SecureSampler):
        def discrete_laplace(self, values: list[float], scale: float) -> tuple[float, ...]:
            raise DataError("a sampler must draw", found="an error", remedy="Repair it.")

    with pytest.raises(DataError) as kept:
        session.table(1.0, 1e-4, output=tmp_path / "t.parquet", sampler=Broken(), key="a", **SEEN)
    assert kept.value.__notes__ == [f"Release 1 of the account 'data' {STAYS}"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ledger.db"]
    with pytest.raises(LedgerError, match=r"its charge stays\. If it is lost, another account can"):
        session.table(1.0, 1e-4, output=tmp_path / "t.parquet", key="a", **SEEN)
    with pytest.raises(RefusedError, match="If it is lost, another account"):
        session.table(1.0, 1e-4, output=tmp_path / "t.parquet", key="b", **SEEN)
    assert session.spent == 1.0


def test_a_library_that_is_not_there_is_missed_before_the_charge(
    data: object, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match="tables"):
        alone(data, place)
    assert not place.exists()


def test_what_can_be_refused_before_the_charge_is(session: bp.Session, data: object, tmp_path: Path) -> None:
    taken = tmp_path / "in.parquet"
    data.to_parquet(taken)  # type: ignore[attr-defined]
    with pytest.raises(FileError, match="a file of its own"):
        bp.Session(session.framework, taken, ledger=tmp_path / "ledger.db").table(1.0, 1e-4, output=taken, **SEEN)
    with pytest.raises(ParameterError, match="discrete_laplace"):
        session.table(1.0, 1e-4, sampler=object(), **SEEN)  # type: ignore[arg-type]
    with pytest.raises(FileError):
        session.table(1.0, 1e-4, output=tmp_path / "none" / "t.parquet", **SEEN)
    for key in ("", 5, ["a"]):
        with pytest.raises(ParameterError, match="a key must be a text"):
            session.table(1.0, 1e-4, key=key, **SEEN)  # type: ignore[arg-type]
    assert len(session.history) == 0
    with pytest.raises(ParameterError, match="kept in a ledger"):
        bp.private_table(SECRET, data, 1.0, 1e-3, schema=SCHEMA, key="a", **SEEN)


def test_another_process_opens_it_again_by_key_and_file(
    ours: bp.DatasetAttributePrivacy, data: object, session: bp.Session, place: Path, tmp_path: Path
) -> None:
    target = tmp_path / "t.parquet"
    made = session.table(1.0, 1e-4, output=target, key="a", **SEEN)
    before = target.read_bytes()

    def again(epsilon: float = 1.0, **options: object) -> PrivateTable:
        return bp.Session(ours, data, ledger=place).table(epsilon, 1e-4, key="a", **SEEN, **options)  # type: ignore[arg-type]

    found = again(output=target)
    assert (found.noisy, found.sizes, found.mark) == (made.noisy, made.sizes, made.mark)
    assert found.answer("mean(age)") == made.answer("mean(age)")
    assert target.read_bytes() == before
    with pytest.raises(LedgerError, match="found no output"):
        again()
    with pytest.raises(LedgerError, match="a key names one release"):
        again(0.5, output=target)
    target.write_bytes(before + b" ")
    with pytest.raises(LedgerError, match="Pass as output= the file that was written, unchanged"):
        again(output=target)
    assert target.read_bytes() == before + b" "
    assert len(session.history) == 1


def test_what_was_kept_in_memory_is_not_opened_again(
    ours: bp.DatasetAttributePrivacy, data: object, session: bp.Session, place: Path
) -> None:
    made = session.table(1.0, 1e-4, key="a", **SEEN)
    assert session.table(1.0, 1e-4, key="a", **SEEN) is made
    with pytest.raises(LedgerError, match="no file was written") as kept:
        bp.Session(ours, data, ledger=place).table(1.0, 1e-4, key="a", **SEEN)
    assert not getattr(kept.value, "__notes__", ())  # nothing was charged by this call


def test_secrets_by_themselves_have_an_account_of_one_table(data: object, place: Path, tmp_path: Path) -> None:
    with pytest.raises(RefusedError, match="must have a delta"):
        alone(data, place, budget=1.0)
    assert not place.exists()
    made = alone(data, place, key="a", output=tmp_path / "t.parquet")
    assert made.mark.total == 1.0  # type: ignore[union-attr]
    with pytest.raises(RefusedError, match=r"one private table and nothing else.*table\.answer"):
        alone(data, place)
    assert alone(data, place, key="a", output=tmp_path / "t.parquet").noisy == made.noisy  # type: ignore[union-attr]
    with pytest.raises(LedgerError, match="another framework"):
        bp.private_table(
            bp.Secret('count(ill == "no")', pairs=bp.apart(at_most=2)),
            data,
            1.0,
            1e-3,
            schema=SCHEMA,
            ledger=place,
            **SEEN,
        )


def test_the_delta_of_an_account_bounds_a_table_that_names_no_budget(data: object, place: Path) -> None:
    with pytest.raises(RefusedError):
        alone(data, place, budget=Budget(0.5, 1e-3))  # which opens the account, and has too small an epsilon
    with pytest.raises(RefusedError, match="must have a delta"):
        bp.private_table(SECRET, data, 0.5, 1e-2, schema=SCHEMA, ledger=place, **SEEN)
    made = bp.private_table(SECRET, data, 0.5, 1e-3, schema=SCHEMA, ledger=place, **SEEN)
    assert made.mark.total == 0.5  # type: ignore[union-attr]


def test_of_a_hidden_table_the_ledger_keeps_no_size(data: object, place: Path) -> None:
    kept = alone(data, place, hidden=True, key="a")
    assert isinstance(kept, HiddenTable)
    (account,) = Ledger.open(place).accounts()
    (answer,) = Ledger.open(place).book(account).answers.values()
    assert dict(answer.content) == {"form": "trim", "sha256": None}
    with pytest.raises(LedgerError, match="no file was written"):
        alone(data, place, hidden=True, key="a")


def interrupt() -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize("step", ["4 charge written", "5 charge committed", "8 answer written"])
def test_ctrl_c_says_last_what_was_charged(session: bp.Session, tmp_path: Path, step: str) -> None:
    with at_step(step, interrupt), pytest.raises(KeyboardInterrupt) as kept:
        session.table(1.0, 1e-4, output=tmp_path / "t.parquet", **SEEN)
    said = f"Release 1 of the account 'data' {STAYS}" if step > "5" else "Nothing was charged."
    assert kept.value.__notes__ == [said]
    assert not (tmp_path / "t.parquet").exists()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked and killed as POSIX does it")
def test_a_process_is_killed_at_every_step(ours: bp.DatasetAttributePrivacy, data: object, tmp_path: Path) -> None:
    """What is seen is charged and stored; what is charged stays; what was not charged can be asked for again."""
    for number, step in enumerate(LEDGER_STEPS):
        place, target = tmp_path / f"{number}.db", tmp_path / f"{number}.parquet"
        opened = bp.Session(ours, data, budget=Budget(1.0, 1e-4), ledger=place)

        def work(place: Path = place, target: Path = target, step: str = step) -> None:
            with at_step(step, kill_self):
                bp.Session(ours, data, ledger=place).table(1.0, 1e-4, output=target, key="a", **SEEN)

        assert ended(child(work)) == -signal.SIGKILL
        assert not target.exists()
        assert len(opened.history) == (step >= "5")
        ask: Callable[[], PrivateTable] = lambda: opened.table(1.0, 1e-4, output=target, key="a", **SEEN)  # noqa: B023, E731
        if step < "5":
            assert sum(ask().sizes) == len(pd.read_parquet(target))
        else:
            with pytest.raises(LedgerError, match="its charge stays" if step < "9" else "another file, or none"):
                ask()
            assert not target.exists()
