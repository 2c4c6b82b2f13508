"""What is said while long work goes on: how far it has come, what takes long, and what takes less."""

from __future__ import annotations

import io
import os
import pty
import re
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest

from bnpriv import progress as pace
from bnpriv.errors import LongDrawingWarning
from bnpriv.progress import SHORTER, Work, eased, progress, tracked
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
    monkeypatch.setattr(pace, "SHOWN_AFTER", 0.0)
    shown, draw = threading.Event(), pace._terminal

    def terminal() -> Any:
        put, take_away = draw()
        return lambda state: (put(state), shown.set()), take_away

    monkeypatch.setattr(pace, "_terminal", terminal)
    with working("calibrating every mechanism"):
        assert shown.wait(20)
        pace.tell("20,000 tables", 95.0)
    err = capsys.readouterr().err
    assert "\r\x1b[Knote: 20,000 tables take about 1.6 min to draw." in err
    assert "calibrating every mechanism" in err


def test_python_reads_its_own_remedy() -> None:
    told = LongDrawingWarning("It takes 9 s", seconds=9.0, remedy=SHORTER)
    assert str(told) == "It takes 9 s. Fewer posterior draws (draws=, thin=) or models take less"
    assert str(LongDrawingWarning("It takes 9 s", seconds=9.0)) == "It takes 9 s"


# --------------------------------------------------------------------------------------------------
# The bar and the time that is left.
# --------------------------------------------------------------------------------------------------


class Clock:
    """Time that passes when a test says so; what would be shown is noted four times a second."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now, self.root, self.shown = 0.0, None, list[tuple[float, float | None]]()
        monkeypatch.setattr(pace.time, "perf_counter", lambda: self.now)

    def watch(self) -> None:
        """Note the times that are left of the work that is the outermost from now on."""
        self.root = pace._current.get()

    def passes(self, seconds: float) -> None:
        end = self.now + seconds
        while self.now < end:
            step = min(pace.EACH_SECONDS, end - self.now)
            self.now += step
            if self.root is not None and self.now >= pace.SHOWN_AFTER:
                before = self.shown[-1][1] if self.shown else None
                passed = self.now - self.shown[-1][0] if self.shown else 0.0
                self.shown.append((self.now, eased(before, self.root.left(self.now), passed)))


def sane(shown: Sequence[tuple[float, float | None]]) -> None:
    """Hold that the time left never rises by more than a factor of two in a second, once it is told."""
    told = [(now, left) for now, left in shown if left is not None]
    for (before, was), (now, left) in pairwise(told):
        assert left <= (was + 1) * 2 ** (now - before), (before, was, now, left)


@pytest.mark.parametrize("growth", [0, 1, 2])
def test_the_time_left_is_told_in_time_where_costs_grow(growth: int, monkeypatch: pytest.MonkeyPatch) -> None:
    clock, many = Clock(monkeypatch), 60
    costs = [100 * (growth + 1) * place**growth / many ** (growth + 1) for place in range(many)]
    with progress("working out 60 models"):
        clock.watch()
        for cost in tracked(costs, "models"):
            clock.passes(cost)
    sane(clock.shown)
    total = clock.now
    for now, left in clock.shown:
        if now > total / 2:
            assert left is not None
            assert (total - now) / 3 - 2 <= left <= 2 * (total - now) + 3


def test_an_item_that_takes_long_by_surprise_raises_the_time_left_slowly(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    with progress("calibrating every mechanism"):
        clock.watch()
        for place in tracked(range(4), "mechanisms"):
            if place == 2:
                for _ in tracked(range(50), "models"):
                    clock.passes(6)
            else:
                clock.passes(1)
    sane(clock.shown)
    assert max(left or 0 for _, left in clock.shown) > 200  # and it is known soon that it takes long
    assert next(now for now, left in clock.shown if left is not None and left > 200) < 30


def test_work_inside_moves_the_bar_of_the_work_around_it(monkeypatch: pytest.MonkeyPatch) -> None:
    with progress("all", total=4) as step:
        root = pace._current.get()
        assert root is not None
        step(2)
        with progress("inside"):
            for place in tracked(range(4), "models"):
                assert root.share() == (2 + place / 4) / 4
        assert root.share() == 0.5
    assert pace._current.get() is None


def test_a_loop_by_itself_leaves_nothing_under_way() -> None:
    for _ in tracked(range(2), "models"):
        assert pace._current.get() is not None
    assert pace._current.get() is None


def test_a_loop_that_was_left_open_by_an_error_holds_nothing_up() -> None:
    def broken() -> None:
        for _ in tracked(range(4), "models"):
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError) as kept, progress("all"):
        broken()
    assert kept.traceback  # in which the loop lives on
    assert pace._current.get() is None
    with progress("next"):
        work = pace._current.get()
        del kept
        assert pace._current.get() is work


def test_a_step_costs_nothing_beside_the_work() -> None:
    work = Work("counting", 1e6)
    began = time.process_time()
    for _ in range(100_000):
        work.step()
    assert time.process_time() - began < 0.1  # 1 microsecond each
    assert len(work.marks) < 400


def test_short_work_and_work_in_a_pipe_show_nothing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    with progress("short"):
        assert pace._screen() is None
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    with progress("short"):
        assert pace._screen() is pace._terminal
    monkeypatch.setenv(pace.OFF, "off")
    assert pace._screen() is None
    assert capsys.readouterr().err == ""


class Elsewhere:
    """A stream in the place of standard error, as programs that keep logs put one."""

    def write(self, text: str) -> int:
        return len(text)


@pytest.mark.parametrize("stream", [None, Elsewhere(), io.StringIO()])
def test_no_work_fails_of_where_errors_go(stream: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    if isinstance(stream, io.StringIO):
        stream.close()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    with progress("adding up"):
        assert pace._screen() is None


@pytest.mark.parametrize("stopped", [KeyboardInterrupt, ValueError, OSError, SystemExit, GeneratorExit])
def test_what_ends_work_comes_out_and_takes_the_bar_away(
    stopped: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    shown, away = threading.Event(), list[bool]()
    monkeypatch.setattr(pace, "SHOWN_AFTER", 0.0)
    monkeypatch.setattr(pace, "_screen", lambda: lambda: (lambda _: shown.set(), lambda: away.append(True)))
    with pytest.raises(stopped), progress("outer"), progress("inner"):  # noqa: PT012
        assert shown.wait(20)
        raise stopped
    assert away == [True]  # one bar, and taken away before anybody goes on
    assert not [each for each in threading.enumerate() if each.name == "bnpriv-progress"]


def test_ctrl_c_while_the_bar_begins_leaves_no_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    begin = threading.Thread.start

    def stopped(thread: threading.Thread) -> None:
        begin(thread)
        raise KeyboardInterrupt

    monkeypatch.setattr(pace, "_screen", lambda: lambda: (lambda _: None, lambda: None))
    monkeypatch.setattr(threading.Thread, "start", stopped)
    with pytest.raises(KeyboardInterrupt), progress("adding up"):
        pass
    assert not [each for each in threading.enumerate() if each.name == "bnpriv-progress"]


def test_a_worker_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(pace, "_is_worker", lambda: True)
    assert pace._screen() is None


def test_a_notebook_shows_one_line_that_is_empty_in_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = list[str]()

    class Handle:
        def update(self, data: dict[str, str], *, raw: bool) -> None:
            assert raw
            lines.append(data["text/plain"])

    display: Any = pytest.importorskip("IPython.display")
    monkeypatch.setattr(display, "display", lambda *_, **__: Handle())
    monkeypatch.setattr(pace, "_screen", lambda: pace._notebook)
    monkeypatch.setattr(pace, "SHOWN_AFTER", 0.0)
    monkeypatch.setattr(pace, "EACH_SECONDS", 0.001)
    with progress("adding\x1b[2J up", total=2) as step:
        step()
        while not (lines and "left" in lines[-1]):
            time.sleep(0.01)
        assert re.fullmatch(r"adding\\x1b\[2J up .{20} 50 % a few seconds left", lines[-1]), lines[-1]
    assert lines[-1] == ""


SLOW = """
import time
from bnpriv import progress
progress.SHOWN_AFTER = 0.2
with progress.progress("working out [b]models[/b]"):
    for _ in progress.tracked(range(10), "models"):
        time.sleep(0.1)
print("done")
"""


def test_a_script_shows_a_bar_on_its_terminal_alone() -> None:
    ours, theirs = pty.openpty()
    variables = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
    call = [sys.executable, "-c", SLOW]
    done = subprocess.run(call, stdout=subprocess.PIPE, stderr=theirs, env=variables, check=True)
    os.close(theirs)
    shown = os.read(ours, 2**16).decode()
    os.close(ours)
    assert done.stdout == b"done\n"
    assert "working out [b]models[/b]: models" in shown
    assert "a few seconds left" in shown
    assert shown.rstrip().endswith("\x1b[2K")  # taken away again
    piped = subprocess.run(call, capture_output=True, env=variables, check=True)
    assert piped.stderr == b""
