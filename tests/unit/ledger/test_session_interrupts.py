"""Row 49 of the reliability contract: wherever a release is interrupted, its last line tells what was charged."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import bnpriv as bp
from bnpriv import cli
from bnpriv.core.interrupts import noting
from bnpriv.core.mechanisms.base import Calibration
from bnpriv.io.examples import example_path
from bnpriv.ledger.counted import CountedAccount
from bnpriv.ledger.ledger import PERHAPS_CHARGED, Ledger
from tests.interrupts import Interrupted, interrupt_after, stop_interrupting
from tests.ledgers import at_step

pytestmark = pytest.mark.usefixtures("few_objects")

FRAMEWORK = bp.example("student")
DATA = bp.example_data("student")
NOTHING = "Nothing was charged."
CALLS = {"1 asked": 19, "4 charge written": 19, "5 charge committed": 1, "6 answer computed": 19}
CALLS |= {"9 answer committed": 1}
"""Steps of a release, and after which of their calls it is interrupted; what lies between is long and alike."""


@pytest.fixture(scope="module")
def counted() -> Calibration:
    return bp.ColumnMechanism().calibrate(FRAMEWORK, bp.count(bp.col("height") > 180), epsilon=0.001)


def charged(number: int, rest: str = "its answer was not shown.") -> str:
    return f"Release {number} of the account 'data' was charged, and stays so; {rest}"


def interrupted(work: Callable[[], object], step: str, calls: int) -> BaseException | None:
    """Interrupt some work so many calls after a step, and return what came of it; None where it ended before."""
    with at_step(step, lambda: interrupt_after(calls)):
        try:
            work()
        except BaseException as error:
            return error
        finally:
            stop_interrupting()
    return None


@pytest.mark.parametrize("step", CALLS)
def test_row_49_a_release_tells_at_every_call_whether_it_was_charged(
    tmp_path: Path, counted: Calibration, step: str
) -> None:
    place = tmp_path / "ledger.db"
    session = bp.Session(FRAMEWORK, DATA, budget=2.0, ledger=place)
    ledger, told = Ledger.open(place), set[bool]()
    (account,) = ledger.accounts()
    for calls in range(0, 12 * CALLS[step], CALLS[step]):
        before = len(ledger.book(account).charges)
        error = interrupted(lambda: session.release(counted, even_if_useless=True), step, calls)
        after = len(ledger.book(account).charges)
        if not isinstance(error, Interrupted):
            assert (error, step) == (None, "9 answer committed")
            break
        assert error.__notes__ == [charged(after) if after > before else NOTHING], calls
        told.add(after > before)
    assert told == {step > "5"} or step == "4 charge written"


@pytest.mark.parametrize("step", ["1 asked", "4 charge written", "5 charge committed"])
def test_row_49_what_another_tool_released_tells_whether_it_was_charged(tmp_path: Path, step: str) -> None:
    hospital, release, told = bp.example("hospital"), bp.from_differential_privacy(1e-4, ["ward"]), set[bool]()
    account = CountedAccount.opened(hospital, tmp_path / "ledger.db", 2.0, "data")
    for calls in range(0, 12 * CALLS[step], CALLS[step]):
        before = len(account.charges)
        error = interrupted(lambda: account.record_external(release, None), step, calls)
        after = len(account.charges)
        if not isinstance(error, Interrupted):
            assert (error, step) == (None, "5 charge committed")
            break
        assert error.__notes__[-1] == (charged(after) if after > before else NOTHING), calls
        told.add(after > before)
    assert told == {step > "5"} or step == "4 charge written"


@pytest.mark.parametrize("step", ["1 asked", "5 charge committed", "9 answer committed"])
def test_row_49_the_shell_tells_at_every_call_whether_it_was_charged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], step: str
) -> None:
    place = tmp_path / "ledger.db"
    words = ["release", str(example_path("student")), str(DATA), "--query", "count(height > 180)", "--epsilon", ".001"]
    words += ["--mechanism", "ColumnMechanism", "--even-if-useless", "--ledger", str(place), "--budget", "2"]
    monkeypatch.setattr(sys, "argv", ["bnpriv", *words])
    with contextlib.suppress(SystemExit):
        cli.main()
    ledger = Ledger.open(place)
    (account,) = ledger.accounts()
    told = set[str]()
    for calls in range(2, 46, 11):
        before = len(ledger.book(account).charges)
        capsys.readouterr()
        error = interrupted(cli.main, step, calls)
        after = len(ledger.book(account).charges)
        last = capsys.readouterr().err.strip().splitlines()[-1]
        assert isinstance(error, SystemExit)
        assert error.code == cli.STOPPED
        expected = {charged(after), charged(after, "the ledger keeps its answer.")} if after > before else {NOTHING}
        assert last.removeprefix("stopped by Ctrl-C. ") in expected, calls
        told.add(last)
    assert told


def test_row_49_a_second_ctrl_c_while_the_ledger_is_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, counted: Calibration
) -> None:
    session = bp.Session(FRAMEWORK, DATA, budget=2.0, ledger=tmp_path / "ledger.db")

    def again(*_: object) -> None:
        raise KeyboardInterrupt

    def press() -> None:
        monkeypatch.setattr(Ledger, "book", again)
        raise KeyboardInterrupt

    with at_step("5 charge committed", press), pytest.raises(KeyboardInterrupt) as kept:
        session.release(counted, even_if_useless=True)
    monkeypatch.undo()
    assert kept.value.__notes__ == [PERHAPS_CHARGED]
    assert len(session._account.charges) == 1


def test_row_49_a_second_ctrl_c_keeps_what_the_first_has_told() -> None:
    def twice() -> None:
        with noting(lambda: NOTHING):
            try:
                with noting(lambda: charged(3)):
                    raise KeyboardInterrupt
            finally:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as kept:
        twice()
    assert kept.value.__notes__ == [charged(3)]


def test_row_49_a_note_of_another_release_is_not_repeated() -> None:
    def again(earlier: KeyboardInterrupt) -> None:
        try:
            raise earlier
        except KeyboardInterrupt:
            with noting(lambda: NOTHING):
                raise KeyboardInterrupt from None

    earlier = KeyboardInterrupt()
    earlier.add_note(charged(3))
    with pytest.raises(KeyboardInterrupt) as kept:
        again(earlier)
    assert kept.value.__notes__ == [NOTHING]
