"""Every row of the reliability contract has its evidence: ``python -m tests.contract_rows`` provokes each fault."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.later import Later

ROOT = Path(__file__).resolve().parents[2]
QUICK = (2, 3, 5, 6, 8, 9, 10, 11, 12, 13, 14, 15, 17, 26, 27, 29, 34, 43, 44, 48, 51)
"""Rows whose evidence takes a moment."""

evidence = Later("tests.contract_rows.evidence")
run = Later("tests.contract_rows.run")


def test_every_row_has_its_evidence_or_is_said_not_to_be_built() -> None:
    shown, missing = set(run.ROWS), set(run.NOT_BUILT)
    assert not shown & missing
    assert shown | missing == set(range(1, run.LAST + 1))
    assert all(row.number == number and row.fault for number, row in run.ROWS.items())


@pytest.mark.parametrize("number", QUICK)
def test_a_row_that_takes_a_moment_holds(number: int) -> None:
    (outcome,) = run.outcomes([number])
    assert outcome.status == "pass", str(outcome)
    assert outcome.figure


def fails(folder: Path) -> str:
    raise AssertionError("told 3 %, seen 17 %")


def breaks(folder: Path) -> str:
    raise OSError(36, "File name too long")


def pytest_fails(folder: Path) -> str:
    with pytest.raises(ValueError, match="x"):
        pass
    return "never"


@pytest.mark.parametrize("work", [fails, breaks, pytest_fails])
def test_a_row_that_does_not_hold_is_told(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture, work) -> None:
    monkeypatch.setitem(run.ROWS, 2, evidence.Row(2, "missing bounds", work))
    monkeypatch.setitem(run.NOT_BUILT, 54, "said to be so")
    assert run.main(["2", "54"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert " 2  FAIL " in lines[0]
    assert "54  not built yet" in lines[1]
    assert lines[2].startswith("0 pass, 1 FAIL, 0 not shown, 1 not built yet")
    assert run.main(["34"]) == 0


@pytest.mark.slow
def test_every_row_holds() -> None:
    done = subprocess.run([sys.executable, "-m", "tests.contract_rows"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, "\n".join(line for line in done.stdout.splitlines() if "FAIL" in line) or done.stderr
