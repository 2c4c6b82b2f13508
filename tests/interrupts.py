"""Releases that are interrupted: at every call that they make, or by a timer; and what must hold after each."""

from __future__ import annotations

import contextlib
import gc
import os
import random
import signal
import sqlite3
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from pathlib import Path
from types import FrameType

from bnpriv.ledger.ledger import Ledger
from bnpriv.ledger.values import Account
from tests.ledgers import TENTH, child, ended, opened, released

POINTS = ("call", "c_return")
"""Where Python looks for signals: when a function begins, and when a call has returned."""


class Interrupted(KeyboardInterrupt):
    """Raised by a test in the place of Ctrl-C."""


@contextlib.contextmanager
def interrupted_at(place: int) -> Iterator[list[int]]:
    """Interrupt the block at the given of its calls, counted from 0; give how many there were."""
    counted = [0]

    def profile(frame: FrameType, event: str, argument: object) -> None:
        if event not in POINTS:
            return
        counted[0] += 1
        if counted[0] == place + 1:
            sys.setprofile(None)
            raise Interrupted

    gc.collect()  # what a finalizer raises is printed and lost
    gc.disable()
    sys.setprofile(profile)
    try:
        yield counted
    finally:
        sys.setprofile(None)
        gc.enable()


def interrupt_after(calls: int) -> None:
    """Interrupt whatever goes on now at the given of its calls, counted from 0; `stop_interrupting` ends it."""
    left = calls

    def profile(frame: FrameType, event: str, argument: object) -> None:
        nonlocal left
        if event not in POINTS:
            return
        left -= 1
        if left < 0:
            sys.setprofile(None)
            raise Interrupted

    gc.collect()  # what a finalizer raises is printed and lost
    gc.disable()
    sys.setprofile(profile)


def stop_interrupting() -> bool:
    """End `interrupt_after`, and return whether it was still to come."""
    waiting = sys.getprofile() is not None
    sys.setprofile(None)
    gc.enable()
    return waiting


def calls_of(work: Callable[[], object]) -> int:
    """Return how many calls some work makes when it is done again."""
    work()
    with interrupted_at(-1) as counted:
        work()
    return counted[0]


def free(entries: object, new: object) -> Fraction:
    """Count nothing, in as many calls for many entries as for few."""
    return Fraction(0)


def is_free(place: Path) -> bool:
    """Return whether another process may write a ledger at once; a handle of this one would take its locks away."""

    def write() -> None:
        connection = sqlite3.connect(place, timeout=0.0, isolation_level=None)
        connection.execute("BEGIN EXCLUSIVE")
        connection.execute("ROLLBACK")

    return ended(child(write)) == 0


def open_handles(place: Path) -> int:
    """Return how many handles of this process are open on a ledger or its journal."""
    folder, found = Path("/proc/self/fd"), 0
    for number in os.listdir(folder):
        with contextlib.suppress(OSError):
            found += str(place) in os.readlink(folder / number)
    return found


def check_interrupted(ledger: Ledger, account: Account, before: int, error: BaseException) -> str:
    """Check a ledger after an interrupt whose traceback is kept; return what its last line says."""
    path = ledger._store.path
    assert path is not None
    assert is_free(path), error.__notes__
    charges = len(Ledger.open(path).book(account).charges)
    said = getattr(error, "__notes__", ["nothing was said"])
    assert charges - before in (0, 1)
    if charges > before:
        assert said == [
            f"Release {charges:,} of the account 'survey' was charged, and stays so; its answer was not shown."
        ]
        return "charged"
    assert said == ["Nothing was charged."]
    return "not charged"


def at_every_call(place: Path, places: Iterable[int], key: str | None = None) -> Counter[str]:
    """Interrupt charges at some of their calls, and release again at once each time; return what came out."""
    ledger, account = opened(place, 1e6)
    released(ledger, account)
    counts: Counter[str] = Counter()
    for each in places:
        before = len(ledger.book(account).charges)
        try:
            with interrupted_at(each):
                ledger.charge(account, TENTH, admit=free, key=key and f"{key} {each}")
        except Interrupted as error:
            counts[check_interrupted(ledger, account, before, error)] += 1
            counts["handles left open"] += open_handles(place)
            released(Ledger.open(place, patience=0.1), account)
        else:
            counts["not interrupted"] += 1
    ledger.verify()
    return counts


def by_timer(place: Path, rounds: int, seed: int) -> Counter[str]:
    """Interrupt charges by a timer at random moments, and release again at once each time; return what came out."""
    ledger, account = opened(place, 1e6)
    started = time.perf_counter()
    released(ledger, account)
    longest, draw = time.perf_counter() - started, random.Random(seed).random
    counts: Counter[str] = Counter(dict.fromkeys(COUNTED, 0))
    plain = signal.signal(signal.SIGALRM, signal.default_int_handler)
    kept: list[BaseException] = []
    try:
        while counts["interrupts"] < rounds:
            before = len(ledger.book(account).charges)
            try:
                signal.setitimer(signal.ITIMER_REAL, max(1e-5, draw() * longest))
                ledger.charge(account, TENTH, admit=free)
                signal.setitimer(signal.ITIMER_REAL, 0)
            except KeyboardInterrupt as error:
                signal.setitimer(signal.ITIMER_REAL, 0)
                if error.__traceback__ is None or error.__traceback__.tb_next is None:
                    continue  # the timer came when the charge had returned
                kept = [error]  # as a notebook keeps the last one
                counts["interrupts"] += 1
                counts[check_interrupted(ledger, account, before, error)] += 1
                counts["handles left open"] += open_handles(place)
            else:
                counts["in time"] += 1
            started = time.perf_counter()
            released(Ledger.open(place, patience=2.0), account)
            counts["next one slower than a second"] += time.perf_counter() - started > 1
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, plain)
    assert kept
    ledger.verify()
    return counts


COUNTED = ("interrupts", "charged", "not charged", "in time", "handles left open", "next one slower than a second")
"""What is counted; a lock that was kept fails at once."""


def main() -> None:
    """Print what came out of so many random interrupts: python -m tests.interrupts 1000."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    with tempfile.TemporaryDirectory(dir=Path.home(), prefix=".bnpriv-interrupts-") as folder:
        for name, count in by_timer(Path(folder, "ledger.db"), rounds, seed=1).items():
            print(f"{name}: {count:,}")


if __name__ == "__main__":
    main()
