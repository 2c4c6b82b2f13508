"""The tests run with pytest alone: what pytest-xdist does is asked for only where it is there."""

from __future__ import annotations

import runpy
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

ROOT = Path(__file__).resolve().parents[2]


def test_pytest_runs_without_workers() -> None:
    words = ["-p", "no:xdist", "-q", "--collect-only", "tests/meta/test_running.py"]
    done = subprocess.run([sys.executable, "-m", "pytest", *words], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "test_pytest_runs_without_workers" in done.stdout


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"numprocesses": 2, "dist": "no"}, "worksteal"),
        ({"numprocesses": 2, "dist": "loadfile"}, "loadfile"),
        ({"numprocesses": None, "dist": "no"}, "no"),
        ({}, None),
    ],
)
def test_with_workers_neighbours_stay_together(options: dict[str, object], expected: str | None) -> None:
    config = SimpleNamespace(option=SimpleNamespace(**options))
    runpy.run_path(str(ROOT / "conftest.py"))["pytest_cmdline_main"](config)
    assert getattr(config.option, "dist", None) == expected
