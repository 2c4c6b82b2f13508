"""Sessions of several processes on one ledger, killed at every step and at random, on full disks and a real server."""

from __future__ import annotations

import contextlib
import os
import random
import resource
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import bnpriv as bp
from bnpriv.core.mechanisms.base import Calibration
from bnpriv.core.mechanisms.column import ColumnMechanism
from bnpriv.errors import BudgetError, LedgerError
from bnpriv.ledger.ledger import LEDGER_STEPS
from tests import postgres
from tests.ledgers import at_step, child, ended, kill_self

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked and killed as POSIX does it")

STUDENT, DATA = bp.example("student"), bp.example_data("student")
CHARGED = LEDGER_STEPS.index("5 charge committed")
STORED = LEDGER_STEPS.index("9 answer committed")


@pytest.fixture(scope="module")
def tenth() -> Calibration:
    return ColumnMechanism().calibrate(STUDENT, bp.mean("sat"), epsilon=0.1)


@pytest.fixture(scope="module")
def server() -> Iterator[postgres.Server]:
    if postgres.why_none():
        pytest.skip(postgres.why_none())
    with postgres.server() as started:
        yield started


def show(public: Path, released: bp.Release) -> None:
    """Add an answer to what the public has seen."""
    assert released.mark is not None
    line = f"{released.mark.number} {released.values[0].hex()} {released.mark.head}\n"
    with public.open("a") as file:
        file.write(line)


def seen(public: Path) -> list[list[str]]:
    return [line.split() for line in public.read_text().splitlines()] if public.exists() else []


def until_spent(where: object, public: Path, tenth: Calibration, *, session: bool = True) -> None:
    """Release through a session, or without one, until the budget holds no more."""
    opened = bp.Session(STUDENT, DATA, ledger=where) if session else None  # type: ignore[arg-type]
    with contextlib.suppress(BudgetError):
        while True:
            answer = (
                opened.release(tenth, even_if_useless=True)
                if opened
                else bp.release(tenth, DATA, ledger=where, even_if_useless=True)
            )  # type: ignore[arg-type]
            show(public, answer)


def checked(where: object, public: Path) -> tuple[int, int]:
    """Check what was shown against a ledger; return how many charges and how many answers it holds."""
    account = bp.Session(STUDENT, DATA, ledger=where)._account  # type: ignore[arg-type]
    lines, book = seen(public), account.ledger.book(account.account)
    stored = {
        charge.number: book.answers[charge.sequence] for charge in book.charges if charge.sequence in book.answers
    }
    assert len({number for number, *_ in lines}) == len(lines) <= len(stored) <= len(book.charges)
    for number, value, head in lines:
        assert (stored[int(number)].content["values"], stored[int(number)].hash) == ([value], head)
    account.ledger.verify(seen=[head for *_, head in lines])
    assert account.accountant.total is None or account.accountant.total <= account.budget.epsilon
    return len(book.charges), len(stored)


def shared(where: str | Path, public: Path, tenth: Calibration, processes: int, answers: int) -> None:
    bp.Session(STUDENT, DATA, budget=answers / 10, ledger=where)
    works = [lambda k=k: until_spent(where, public, tenth, session=k % 2 == 0) for k in range(processes)]
    assert [ended(number) for number in [child(work) for work in works]] == [0] * processes
    lines = seen(public)
    assert len(lines) == len({value for _, value, _ in lines}) == answers
    assert checked(where, public) == (answers, answers)


def test_rows_18_and_21_forked_processes_share_a_budget_and_no_noise(tmp_path: Path, tenth: Calibration) -> None:
    shared(tmp_path / "ledger.db", tmp_path / "public", tenth, 3, 7)


@pytest.mark.slow
def test_row_21_eight_processes_show_exactly_a_hundred_answers(tmp_path: Path, tenth: Calibration) -> None:
    shared(tmp_path / "ledger.db", tmp_path / "public", tenth, 8, 100)


@pytest.mark.slow
def test_row_21_eight_processes_on_a_server(tmp_path: Path, tenth: Calibration, server: postgres.Server) -> None:
    shared(server.place(), tmp_path / "public", tenth, 8, 100)


def test_row_20_a_session_is_killed_at_every_step(tmp_path: Path, tenth: Calibration) -> None:
    place, public = tmp_path / "ledger.db", tmp_path / "public"
    mine, charges, answers = bp.Session(STUDENT, DATA, budget=2.0, ledger=place), 0, 0
    for reached, step in enumerate(LEDGER_STEPS):

        def work(step: str = step) -> None:
            with at_step(step, kill_self):
                show(public, bp.Session(STUDENT, DATA, ledger=place).release(tenth, key=step, even_if_useless=True))

        assert ended(child(work)) == -signal.SIGKILL
        charges, answers = charges + (reached >= CHARGED), answers + (reached >= STORED)
        assert checked(place, public) == (charges, answers)
        assert seen(public) == []
        if CHARGED <= reached < STORED:
            with pytest.raises(LedgerError, match="its charge stays"):
                mine.release(tenth, key=step, even_if_useless=True)
        else:
            show(public, mine.release(tenth, key=step, even_if_useless=True))
            public.unlink()
            charges, answers = charges + (reached < CHARGED), answers + (reached < STORED)
        assert checked(place, public) == (charges, answers)


@pytest.mark.parametrize("step", ["4 charge written", "5 charge committed", "6 answer computed", "8 answer written"])
def test_row_49_ctrl_c_says_last_what_was_charged(tmp_path: Path, tenth: Calibration, step: str) -> None:
    """The session that was interrupted goes on at once, and so does another process."""
    session, public = bp.Session(STUDENT, DATA, budget=2.0, ledger=tmp_path / "ledger.db"), tmp_path / "public"

    def interrupt() -> None:
        raise KeyboardInterrupt

    with at_step(step, interrupt), pytest.raises(KeyboardInterrupt) as kept:
        session.release(tenth, even_if_useless=True)
    charged = LEDGER_STEPS.index(step) >= CHARGED
    said = "Release 1 of the account 'data' was charged, and stays so; its answer was not shown."
    assert kept.value.__notes__ == [said if charged else "Nothing was charged."]
    other = child(lambda: bp.Session(STUDENT, DATA, ledger=tmp_path / "ledger.db").release(tenth, even_if_useless=True))
    assert ended(other) == 0
    session.release(tenth, even_if_useless=True)
    assert checked(tmp_path / "ledger.db", public) == (2 + charged, 2)
    assert session.spent == pytest.approx(0.2 + 0.1 * charged)


@pytest.mark.parametrize("spare", [0, 700, 5000])
def test_row_20_on_a_full_disk_nothing_is_shown(tmp_path: Path, tenth: Calibration, spare: int) -> None:
    place, public = tmp_path / "ledger.db", tmp_path / "public"
    session = bp.Session(STUDENT, DATA, budget=100.0, ledger=place)
    session.release(tenth, even_if_useless=True)

    def work() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        limit = place.stat().st_size + spare
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        with contextlib.suppress(LedgerError):
            while True:
                show(public, session.release(tenth, even_if_useless=True))

    assert ended(child(work)) == 0
    charges, answers = checked(place, public)
    assert 1 + len(seen(public)) <= answers <= charges < 100
    session.release(tenth, even_if_useless=True)


def cut_at_every_step(where: str, public: Path, tenth: Calibration, cut: Callable[[], None]) -> None:
    """Cut the connection at every step of a release; nothing is shown but what is charged and stored."""
    session = bp.Session(STUDENT, DATA, budget=4.0, ledger=where)
    for step in LEDGER_STEPS:
        with at_step(step, cut), contextlib.suppress(LedgerError):
            show(public, session.release(tenth, even_if_useless=True))
        checked(where, public)
        show(public, session.release(tenth, even_if_useless=True))


def test_rows_20_and_21_on_a_server_whose_connections_are_cut(
    tmp_path: Path, tenth: Calibration, server: postgres.Server
) -> None:
    where, public = server.place(), tmp_path / "public"
    cut_at_every_step(where, public, tenth, server.cut_all)
    # it goes on where the connection was cut between transactions, and is refused within one
    assert (len(seen(public)), checked(where, public)) == (13, (15, 13))


def test_a_server_that_stops_in_the_middle_of_a_release(
    tmp_path: Path, tenth: Calibration, server: postgres.Server
) -> None:
    where, public = server.place(), tmp_path / "public"
    session = bp.Session(STUDENT, DATA, budget=1.0, ledger=where)
    try:
        with at_step("6 answer computed", lambda: server.stop("immediate")), pytest.raises(LedgerError):
            show(public, session.release(tenth, key="a", even_if_useless=True))
    finally:
        server.start()
    assert (seen(public), checked(where, public)) == ([], (1, 0))
    with pytest.raises(LedgerError, match="its charge stays"):
        session.release(tenth, key="a", even_if_useless=True)
    with at_step("9 answer committed", lambda: server.stop("fast")):
        show(
            public, session.release(tenth, key="b", even_if_useless=True)
        )  # what was stored is shown, whatever happens to the server
    server.start()
    assert session.release(tenth, key="b", even_if_useless=True).values[0].hex() == seen(public)[0][1]
    assert checked(where, public) == (2, 1)


def killed(folder: Path, tenth: Calibration, rounds: int) -> int:
    """Kill a session at a step, then one at random, again and again; return how many charges have no answer."""
    rng, lost = random.Random(7), 0
    for start in range(0, rounds, 20):
        place, public = folder / f"{start}.db", folder / f"{start}.public"
        bp.Session(STUDENT, DATA, budget=4.0, ledger=place)

        def work(step: str = "", place: Path = place, public: Path = public) -> None:
            with at_step(step, kill_self):
                until_spent(place, public, tenth)

        for k in range(start, min(start + 20, rounds)):
            number = child(work if k % 2 else lambda k=k: work(LEDGER_STEPS[k // 2 % len(LEDGER_STEPS)]))
            if k % 2:
                time.sleep(rng.expovariate(20.0))
                os.kill(number, signal.SIGKILL)
            ended(number)
            checked(place, public)
        work()
        charges, answers = checked(place, public)
        assert charges == 40
        lost += charges - answers
    return lost


@pytest.mark.long
def test_row_20_sessions_are_killed_five_hundred_times(tmp_path: Path, tenth: Calibration) -> None:
    assert killed(tmp_path, tenth, 500) > 0
