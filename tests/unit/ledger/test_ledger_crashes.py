"""Several processes on one ledger, killed at every step and at random: answers shown <= charged, total <= budget."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from bnpriv.errors import BudgetError, LedgerError
from bnpriv.ledger.ledger import LEDGER_STEPS, Ledger
from tests.ledgers import (
    TENTH,
    at_step,
    check_against,
    child,
    ended,
    kill_self,
    opened,
    release_until_spent,
    released,
    seen,
    show,
    summed,
)

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked and killed as POSIX does it")

CHARGED = LEDGER_STEPS.index("5 charge committed")
STORED = LEDGER_STEPS.index("9 answer committed")


def test_eight_processes_share_a_budget_for_a_hundred_answers(tmp_path: Path) -> None:
    """Row 21: exactly 100 are shown, and waiting for the others is no refusal."""
    place, shown = tmp_path / "ledger.db", tmp_path / "shown"
    ledger, account = opened(place, 10.0)
    children = [child(lambda: release_until_spent(place, shown, 10.0)) for _ in range(8)]
    assert [ended(number) for number in children] == [0] * 8
    assert len(seen(shown)) == 100
    assert check_against(ledger, account, shown) == 100
    with pytest.raises(BudgetError):
        released(ledger, account)


def test_eight_processes_that_open_a_ledger_at_once_get_the_same(tmp_path: Path) -> None:
    place, shown = tmp_path / "ledger.db", tmp_path / "shown"

    def work() -> None:
        ledger, account = opened(place, 1.0)
        with contextlib.suppress(BudgetError):
            while True:
                show(shown, released(ledger, account))

    assert [ended(number) for number in [child(work) for _ in range(8)]] == [0] * 8
    assert len(seen(shown)) == 10
    assert [path.name for path in tmp_path.iterdir() if path.suffix == ".new"] == []


def test_threads_share_a_budget_too(tmp_path: Path) -> None:
    ledger, account = opened(tmp_path / "ledger.db")

    def work(_: int) -> bool:
        try:
            released(ledger, account)
        except BudgetError:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(work, range(24))) == 10
    assert ledger.verify().answers == 10


@pytest.mark.parametrize("key", [None, "order 7"])
@pytest.mark.parametrize("step", LEDGER_STEPS)
def test_a_process_is_killed_at_every_step(tmp_path: Path, step: str, key: str | None) -> None:
    """Row 20."""
    place, shown = tmp_path / "ledger.db", tmp_path / "shown"
    ledger, account = opened(place, 0.3)
    released(ledger, account)

    def work() -> None:
        with at_step(step, kill_self):
            show(shown, released(Ledger.open(place), account, key=key))

    assert ended(child(work)) == -signal.SIGKILL
    reached = LEDGER_STEPS.index(step)
    assert seen(shown) == []
    assert check_against(Ledger.open(place), account, shown) == 1 + (reached >= CHARGED)
    assert Ledger.open(place).verify().answers == 1 + (reached >= STORED)
    if key is not None and CHARGED <= reached < STORED:
        with pytest.raises(LedgerError, match="its charge stays"):
            released(ledger, account, key=key)
    else:
        released(ledger, account, key=key)
    assert check_against(ledger, account, shown) == (3 if key is None and reached >= CHARGED else 2)


def test_others_go_on_where_one_is_killed_with_the_lock(tmp_path: Path) -> None:
    place, shown = tmp_path / "ledger.db", tmp_path / "shown"
    ledger, account = opened(place, 1.0)

    def hold() -> None:
        with at_step("4 charge written", lambda: time.sleep(60)):
            released(Ledger.open(place), account)

    holder = child(hold)
    time.sleep(0.5)
    other = child(lambda: release_until_spent(place, shown))
    time.sleep(0.3)
    assert seen(shown) == []  # it waits
    os.kill(holder, signal.SIGKILL)
    assert (ended(holder), ended(other)) == (-signal.SIGKILL, 0)
    assert check_against(ledger, account, shown) == len(seen(shown)) == 10


def test_who_has_waited_long_enough_is_told(tmp_path: Path) -> None:
    place = tmp_path / "ledger.db"
    ledger, account = opened(place)
    hurried = Ledger.open(place, patience=0.05)

    def ask() -> None:
        with pytest.raises(LedgerError, match=r"locked.*in use"):
            released(hurried, account)

    def admit(entries, new):
        ask()
        return summed(entries, new)

    receipt = ledger.charge(account, TENTH, admit=admit)
    assert receipt.answer is None
    assert ledger.verify().charges == 1


def killed_at_random(folder: Path, rounds: int, seed: int) -> None:
    """Kill one or two processes while they release, again and again, on one ledger after the other."""
    rng = np.random.default_rng(seed)
    found = [killed_block(folder / str(start), min(20, rounds - start), rng) for start in range(0, rounds, 20)]
    assert sum(found) > 0


def killed_block(folder: Path, rounds: int, rng: np.random.Generator) -> int:
    """Do so on one ledger; return how many charges were left without an answer."""
    folder.mkdir()
    place, shown = folder / "ledger.db", folder / "shown"
    ledger, account = opened(place, 6.0)

    def work() -> None:
        release_until_spent(place, shown, 6.0)

    for _ in range(rounds):
        others = [child(work)] if rng.random() < 0.3 else []
        before = shown.stat().st_size if shown.exists() else 0
        number = child(work)
        wait_for(shown, before)
        time.sleep(rng.exponential(0.02))
        for each in (number, *others):
            os.kill(each, signal.SIGKILL)
            ended(each)
        check_against(ledger, account, shown)
    found = Ledger.open(place).verify()
    work()
    assert check_against(ledger, account, shown) == 60
    return found.charges - found.answers


def wait_for(shown: Path, size: int) -> None:
    """Wait until an answer more is shown, or nearly all of them are."""
    for _ in range(500):
        if shown.exists() and (shown.stat().st_size > size or len(seen(shown)) > 50):
            return
        time.sleep(0.005)


def test_processes_are_killed_at_random(tmp_path: Path) -> None:
    """Row 20."""
    killed_at_random(tmp_path, 30, seed=1)


@pytest.mark.long
def test_processes_are_killed_at_random_five_hundred_times(tmp_path: Path) -> None:
    """Row 20."""
    killed_at_random(tmp_path, 500, seed=2)
