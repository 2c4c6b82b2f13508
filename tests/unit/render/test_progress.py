"""What the shell says while it works: what takes long, and what takes less there."""

from __future__ import annotations

import sys
import warnings

import pytest

from bnpriv.core import progress as pace
from bnpriv.core.progress import SHORTER
from bnpriv.errors import LongDrawingWarning
from bnpriv.render.outputs import working


def test_a_note_has_no_lines_of_code_and_no_options_of_python(capsys: pytest.CaptureFixture[str]) -> None:
    with working("working"):
        pace.tell("To work out the noise under 19 more models", 60.0, "takes about {}", SHORTER)
        pace.tell("20,000 tables", 95.0)
    assert capsys.readouterr().err.splitlines() == [
        "note: To work out the noise under 19 more models takes about 1.0 min. "
        "Fewer files in the list `file` of [network] take less.",
        "note: 20,000 tables take about 1.6 min to draw.",
    ]


def test_warnings_of_others_and_after_the_work_stay_warnings(capsys: pytest.CaptureFixture[str]) -> None:
    before = warnings.showwarning
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        with working("working"):
            warnings.warn("odd numbers", RuntimeWarning, stacklevel=1)
    assert [str(each.message) for each in told] == ["odd numbers"]
    assert warnings.showwarning is before
    assert "note:" not in capsys.readouterr().err


def test_a_note_is_shown_beside_the_bar_on_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "200")
    with working("calibrating every mechanism"):
        pace.tell("20,000 tables", 95.0)
    shown = capsys.readouterr().err
    assert "note: 20,000 tables take about 1.6 min to draw." in shown
    assert "calibrating every mechanism" in shown


def test_python_reads_its_own_remedy() -> None:
    told = LongDrawingWarning("It takes 9 s", seconds=9.0, remedy=SHORTER)
    assert str(told) == "It takes 9 s. Fewer posterior draws (draws=, thin=) or models take less"
    assert str(LongDrawingWarning("It takes 9 s", seconds=9.0)) == "It takes 9 s"
