"""Ctrl-C at every call of a release: no lock is kept, no handle is left open, and what was charged is named."""

from __future__ import annotations

import contextlib
import os
import signal
import time
import traceback
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pytest

from bnpriv.errors import BudgetError, LedgerError, ParameterError
from bnpriv.ledger import store as ledger_store
from bnpriv.ledger.ledger import LEDGER_STEPS, PERHAPS_CHARGED, Ledger, name_charge
from bnpriv.ledger.store import LedgerStore, check_file
from tests.interrupts import (
    Interrupted,
    at_every_call,
    by_timer,
    calls_of,
    check_interrupted,
    free,
    interrupted_at,
    is_free,
    open_handles,
)
from tests.ledgers import TENTH, at_step, child, ended, kill_self, opened, released, summed

pytestmark = [
    pytest.mark.usefixtures("few_objects"),
    pytest.mark.skipif(
        not os.path.exists("/proc/self/fd"), reason="processes are forked, and their handles counted, as Linux does it"
    ),
]

CHARGED = LEDGER_STEPS.index("5 charge committed")


def interrupt() -> None:
    raise Interrupted


def calls_of_a_charge(folder: Path) -> int:
    folder.mkdir()
    ledger, account = opened(folder / "ledger.db", 10.0)
    released(ledger, account)
    return calls_of(lambda: ledger.charge(account, TENTH, admit=free))


def test_a_charge_is_interrupted_at_some_of_its_calls(tmp_path: Path) -> None:
    calls = calls_of_a_charge(tmp_path / "counted")
    assert calls > 500
    # the row of the last release is read and checked too, so it ends a little later
    counts = at_every_call(tmp_path / "ledger.db", [*range(1, calls, calls // 36), *range(calls, calls + 200, 9)])
    assert counts["charged"] >= 1
    assert counts["not charged"] >= 30
    assert counts["handles left open"] == 0


@pytest.mark.long
def test_a_charge_is_interrupted_at_all_of_its_calls(tmp_path: Path) -> None:
    calls = calls_of_a_charge(tmp_path / "counted")
    counts = at_every_call(tmp_path / "ledger.db", range(1, calls + 200), key="order")
    assert counts["charged"] >= 4
    assert counts["not charged"] >= calls // 2
    assert counts["handles left open"] == 0


@pytest.mark.long
def test_a_thousand_interrupts_at_random_moments(tmp_path: Path) -> None:
    """``python -m tests.interrupts 1000`` prints the counts."""
    counts = by_timer(tmp_path / "ledger.db", 1000, seed=1)
    assert counts["charged"] >= 10
    assert (counts["handles left open"], counts["next one slower than a second"]) == (0, 0)


@pytest.mark.parametrize("step", LEDGER_STEPS)
def test_a_release_is_interrupted_at_every_step(tmp_path: Path, step: str) -> None:
    """The traceback is kept, as a notebook does; the next one goes on at once, here and in another process."""
    place, reached = tmp_path / "ledger.db", LEDGER_STEPS.index(step)
    ledger, account = opened(place, 1.0)

    def release() -> None:
        receipt = ledger.charge(account, TENTH, admit=summed)
        try:
            ledger.store(receipt, {"value": 1.0})
        except Interrupted as error:
            name_charge(error, "survey", receipt.charge)
            raise

    with at_step(step, interrupt), pytest.raises(Interrupted) as kept:
        release()
    said = "".join(traceback.format_exception(kept.value)).splitlines()[-1]
    charged = "Release 1 of the account 'survey' was charged, and stays so; its answer was not shown."
    assert said == (charged if reached >= CHARGED else "Nothing was charged.")
    assert is_free(place)
    assert open_handles(place) == 0
    assert ended(child(lambda: released(Ledger.open(place, patience=0.1), account))) == 0
    released(ledger, account)
    assert ledger.verify().charges == 2 + (reached >= CHARGED)


def test_reading_and_opening_are_interrupted(tmp_path: Path) -> None:
    place = tmp_path / "ledger.db"
    ledger, account = opened(place, 1.0)
    for work in (lambda: ledger.book(account), ledger.verify, lambda: Ledger.open(place), ledger.accounts):
        calls = calls_of(work)
        for each in range(1, calls, max(1, calls // 15)):
            with contextlib.suppress(Interrupted), interrupted_at(each):
                work()
            assert (is_free(place), open_handles(place)) == (True, 0)
    assert ledger.verify().charges == 0


def test_making_a_ledger_is_interrupted(tmp_path: Path) -> None:
    def make(name: str) -> Ledger:
        return Ledger.open(tmp_path / name, create=True)

    calls = calls_of(lambda: make("whole.db"))
    for each in range(1, calls, calls // 25):
        with contextlib.suppress(Interrupted), interrupted_at(each):
            make(f"{each}.db")
        assert make(f"{each}.db").verify().accounts == 0
        assert (is_free(tmp_path / f"{each}.db"), open_handles(tmp_path)) == (True, 0)


@contextlib.contextmanager
def alarm(seconds: float) -> Iterator[None]:
    """Raise KeyboardInterrupt after some seconds."""
    plain = signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, plain)


def test_a_wait_for_others_is_heard_and_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / "ledger.db"
    ledger, account = opened(place, 1.0)
    monkeypatch.setattr(ledger_store, "TOLD_AFTER", 0.1)

    def hold() -> None:
        with at_step("4 charge written", lambda: (Path(tmp_path, "held").touch(), time.sleep(60))):
            released(Ledger.open(place), account)

    holder = child(hold)
    while not Path(tmp_path, "held").exists():
        time.sleep(0.01)
    try:
        started = time.monotonic()
        with pytest.raises(KeyboardInterrupt) as kept, alarm(0.6):
            ledger.charge(account, TENTH, admit=summed)
        assert time.monotonic() - started < 2
        assert kept.value.__notes__ == ["Nothing was charged."]
        assert capsys.readouterr().err.count("waiting for others") == 1
        with pytest.raises(LedgerError, match="locked"):
            Ledger.open(place, patience=0.3).charge(account, TENTH, admit=summed)
    finally:
        os.kill(holder, signal.SIGKILL)
        ended(holder)
    released(ledger, account)
    assert ledger.verify().charges == 1


def test_who_writes_waits_for_those_who_read(tmp_path: Path) -> None:
    """A commit in a file waits until nobody reads; it is tried again, and what was counted is kept."""
    place = tmp_path / "ledger.db"
    ledger, account = opened(place, 1.0)
    counted = 0

    def read() -> None:
        def slowly(connection: object) -> None:
            connection.exec_driver_sql("SELECT * FROM bnpriv_entries").fetchall()  # type: ignore[attr-defined]
            Path(tmp_path, "reading").touch()
            time.sleep(1.0)

        Ledger.open(place)._store.read(slowly)

    def admit(entries, new) -> Fraction:
        nonlocal counted
        counted += 1
        return summed(entries, new)

    reader = child(read)
    while not Path(tmp_path, "reading").exists():
        time.sleep(0.01)
    ledger.charge(account, TENTH, admit=admit)
    assert (ended(reader), counted) == (0, 1)
    assert ledger.verify().charges == 1


def test_a_ledger_that_cannot_be_read_leaves_open_whether_it_was_charged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger, account = opened(tmp_path / "ledger.db", 1.0)

    def lost() -> None:
        monkeypatch.setattr(LedgerStore, "read", lambda self, work: check_file(tmp_path / "lost"))
        raise Interrupted

    with at_step("5 charge committed", lost), pytest.raises(Interrupted) as kept:
        ledger.charge(account, TENTH, admit=summed)
    monkeypatch.undo()
    assert kept.value.__notes__ == [PERHAPS_CHARGED]
    assert ledger.verify().charges == 1


def test_refusals_carry_no_note(tmp_path: Path) -> None:
    ledger, account = opened(tmp_path / "ledger.db", 0.1)
    released(ledger, account)
    for error, work in (
        (BudgetError, lambda: ledger.charge(account, TENTH, admit=summed)),
        (ParameterError, lambda: ledger.charge(account, TENTH, admit=summed, key=" ")),
    ):
        with pytest.raises(error) as caught:
            work()
        assert not hasattr(caught.value, "__notes__")


def test_a_killed_process_leaves_nothing_that_the_next_must_wait_for(tmp_path: Path) -> None:
    place = tmp_path / "ledger.db"
    ledger, account = opened(place, 1.0)

    def work() -> None:
        with at_step("4 charge written", kill_self):
            released(Ledger.open(place), account)

    assert ended(child(work)) == -signal.SIGKILL
    released(Ledger.open(place, patience=0.2), account)
    assert check_interrupted(ledger, account, 1, error_with("Nothing was charged.")) == "not charged"


def error_with(note: str) -> BaseException:
    error = Interrupted()
    error.add_note(note)
    return error
