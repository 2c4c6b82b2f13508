"""The quick run covers every room, and stays quick."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from tests.conftest import QUICK
from tests.meta.test_tested_by import used

ROOT = Path(__file__).resolve().parents[2]
ROOMS = sorted({path.relative_to(ROOT / "bnpriv").parts[0] for path in (ROOT / "bnpriv").glob("*/*.py")})

MOST_SECONDS = 60 if "PYTEST_XDIST_WORKER" in os.environ else 90
"""Of a processor: a minute for each of two workers. One process alone takes about 40 on a quiet machine, and half as
much again on one that is busy."""


def test_every_quick_file_is_there() -> None:
    assert [each for each in sorted(QUICK) if not (ROOT / "tests" / each).is_file()] == []


@pytest.mark.parametrize("room", ROOMS)
def test_every_room_has_a_quick_test(room: str) -> None:
    """Some quick file uses a module of the room itself, not only what imports one."""
    reached = {name for each in QUICK for name in used(ROOT / "tests" / each)}
    assert any(name.startswith(f"bnpriv.{room}.") for name in reached)


def test_the_quick_run_takes_at_most_a_minute(request: pytest.FixtureRequest) -> None:
    """Runs last. Processor time, as the time on the clock is that of a busy machine."""
    if request.config.option.markexpr != "quick":
        pytest.skip("only in the quick run")
    times = os.times()
    spent = time.process_time() + times.children_user + times.children_system
    assert spent <= MOST_SECONDS, (
        f"the quick run took {spent:.0f} seconds of a processor: see --durations=30, and mark what takes half a second "
        "or more as unhurried, or take a file off the list in tests/conftest.py"
    )
