"""docs/asking.md: every question of its table is one, as Python and as text, and its programs run."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import bnpriv as bp

PAGE = (Path(__file__).parents[1] / "docs" / "asking.md").read_text(encoding="utf-8")
ROWS = [row for row in PAGE.splitlines() if row.startswith("|") and "`bp." in row]
WRITTEN = [
    (row, code)
    for row in ROWS
    for code in re.findall(r"`(bp\.[^`]*)`", row)
    if "..." not in code and "first" not in code
]


@pytest.mark.parametrize(("row", "code"), WRITTEN)
def test_python_and_text_of_a_row_are_one_question(row: str, code: str) -> None:
    question = eval(code, {"bp": bp})
    assert bp.parse_query(str(question)) == question
    assert f"`{question}`" in row


def test_every_question_of_the_face_has_a_row() -> None:
    asked = {
        "count",
        "crosstab",
        "proportion",
        "total",
        "mean",
        "histogram",
        "variance",
        "std",
        "median",
    }
    asked |= {"quantile", "covariance", "linear", "moments", "stack", "custom"}
    assert asked <= set(bp.__all__)
    assert {name for name in asked if not any(f"bp.{name}(" in row for row in ROWS)} == set()


def test_the_programs_run(capsys: pytest.CaptureFixture[str]) -> None:
    space: dict[str, Any] = {}
    for block in re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL):
        exec(block, space)
    told = capsys.readouterr().out
    assert 'gender == "f", height [120, 170)' in told
    assert "('std(height)', 'median of sat')" in told
