"""What the rows of the contract are shown by: work that provokes a fault, and returns the figure that it measured."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

import bnpriv as bp
from bnpriv.errors import BnprivError

ROOT = Path(__file__).resolve().parents[2]
STUDENT = bp.example("student")
TALL = bp.count(bp.col("height") > 180)

Work = Callable[[Path], str]
"""Given an empty folder: provoke the fault, assert that nothing bad came of it, and return what was measured."""


@dataclass(frozen=True)
class Row:
    """One row of the contract."""

    number: int
    fault: str
    work: Work


ROWS: dict[int, Row] = {}


class NotShownError(Exception):
    """Something that a row needs is not on this machine."""


def row(number: int, fault: str) -> Callable[[Work], Work]:
    """Register the evidence of a row."""

    def register(work: Work) -> Work:
        assert number not in ROWS, number
        ROWS[number] = Row(number, fault, work)
        return work

    return register


def refusal(work: Callable[[], object], *words: str, kind: type[BnprivError] = BnprivError) -> BnprivError:
    """Return how something is refused; every other end is none."""
    with pytest.raises(kind) as caught:
        work()
    text = str(caught.value)
    for word in words:
        assert word in text, f"{word!r} is not in: {text}"
    return caught.value


def all_refused(works: list[Callable[[], object]]) -> str:
    """Return how many things were tried, all of which are refused."""
    for work in works:
        refusal(work)
    return f"{len(works)} of {len(works)} refused"


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Let what waits longer than so many seconds fail."""

    def stop(*_: object) -> None:
        raise TimeoutError(f"it took more than {seconds:g} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def shell(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run bnpriv as a command in a folder."""
    return subprocess.run(
        [sys.executable, "-m", "bnpriv", *words],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
    )


def pair_of_nodes(chance: float = 0.2, **options: object) -> bp.DiscreteNetwork:
    """Return a network of a secret and a column that tells of it."""
    return bp.DiscreteNetwork.from_tables(
        {"s": [0.5, 0.5], "x": [[1 - chance, chance], [chance, 1 - chance]]},
        states={"s": ["no", "yes"], "x": ["no", "yes"]},
        parents={"x": ["s"]},
        level="parameters",
        **options,
    )


def framework(network: object, records: int = 10) -> bp.DistributionalAttributePrivacy:
    """Return a framework that hides s, where x is between 0 and 8."""
    schema = bp.Schema(records=records, columns={"x": bp.Real(0, 8)})
    return bp.DistributionalAttributePrivacy(network, schema, "s", source="made up")


def calibrated(epsilon: float = 1.0) -> bp.types.Calibration:
    """Return a calibration of the example of students."""
    return bp.ColumnMechanism().calibrate(STUDENT, TALL, epsilon=epsilon)
