"""Long work: how long it will take is told in advance, and shown while it goes on."""

from __future__ import annotations

import inspect
import os
import sys
import threading
import time
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence, Sized
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from typing import Any, TypeVar, cast

from bnpriv.errors import LongDrawingWarning
from bnpriv.text import visible

Item = TypeVar("Item")

LONG_SECONDS = 5.0
"""Anything longer is announced in advance; calibration takes its own time after it."""

SHOWN_AFTER = 1.5
"""Seconds after which work is shown: what takes 2 s has its bar, and quick work none."""

EACH_SECONDS = 0.25
"""Between two looks at how far work has come."""

OFF = "BNPRIV_PROGRESS"
"""Variable of the environment; where it is "off" no bar is shown."""

# --------------------------------------------------------------------------------------------------
# What is told in advance.
# --------------------------------------------------------------------------------------------------


def time_text(what: str, seconds: float, work: str = "take about {} to draw") -> str:
    """How long something takes, in words; `work` is a phrase with {} for the time."""
    shown = f"{seconds:.0f} s" if seconds < 60 else f"{seconds / 60:.1f} min"
    return f"{what} {work.format(shown)}"


def tell(what: str, seconds: float, work: str = "take about {} to draw", remedy: str = "") -> None:
    """Warn in advance that something takes long; `work` is a phrase with {} for the time."""
    if seconds >= LONG_SECONDS:
        told = LongDrawingWarning(time_text(what, seconds, work), seconds=seconds, remedy=remedy)
        warnings.warn(told, stacklevel=_callers_level())


def _callers_level() -> int:
    """The stack level of the first line outside bnpriv, so that a warning shows the user's line."""
    frame, level = inspect.currentframe(), 0
    while frame is not None and str(frame.f_globals.get("__name__", "")).startswith("bnpriv."):
        frame, level = frame.f_back, level + 1
    return level


SHORTER = "Fewer posterior draws (draws=, thin=) or models take less"
"""What shortens work that is done for every model."""


def watched(items: Sequence[Item], what: str, each: str, shorter: str = "") -> Iterator[Item]:
    """Yield items, and warn how long the rest will take once that is known to be long.

    Parameters
    ----------
    items : sequence
    what : str
        What is worked out for them, with {} for those that are left, as "what is told by {}".
    each : str
        What one of those is called, as "more column".
    shorter : str
        What would make it short, a sentence.
    """
    told, left = False, len(items)
    with _inside(what.format(_number(left, each.removeprefix("more "))), left) as work:
        for item in items:
            seconds = work.each() * left
            if work.done and not told and seconds >= LONG_SECONDS:
                told = True
                tell(f"To work out {what.format(_number(left, each))}", seconds, "takes about {}", shorter)
            yield item
            left -= 1
            work.step()


def _number(count: int, each: str) -> str:
    return f"{count:,} {each}{'' if count == 1 else 's'}"


# --------------------------------------------------------------------------------------------------
# How far work has come, and how long it still takes.
# --------------------------------------------------------------------------------------------------

FEW_ITEMS = 8
"""With fewer items, the last ones are not timed by themselves: one may be slow by chance."""


class Work:
    """Some work under way: what it is, how much of it is done, and the work inside it that goes on now."""

    __slots__ = ("done", "inner", "last", "marks", "total", "what")

    def __init__(self, what: str, total: float | None) -> None:
        self.what, self.total = what, total
        self.inner: Work | None = None
        self.done, self.last = 0.0, time.perf_counter()
        self.marks = [(0.0, self.last)]

    def step(self, more: float = 1.0) -> None:
        """Say that one more item is done, or several."""
        self.done += more
        self.last = time.perf_counter()
        if self.done > 1.04 * self.marks[-1][0]:  # so that a million steps leave few marks
            self.marks.append((self.done, self.last))

    def each(self) -> float:
        """Seconds per item: the mean of all or of the last ones, as costs may grow; 0 where none is done."""
        if not self.done:
            return 0.0
        few = self.done - min(self.done, max(FEW_ITEMS, self.done // 4))
        before = next(mark for mark in reversed(self.marks) if mark[0] <= few)
        return max((self.last - began) / (self.done - done) for done, began in (self.marks[0], before))

    def counted(self) -> Work:
        """The outermost of this and the works inside whose end is known; if there is none, the innermost."""
        inner = self.inner  # read once: another thread looks on
        return self if self.total or inner is None else inner.counted()

    def share(self) -> float:
        """How much is done, between 0 and 1."""
        if not self.total:
            return 0.0
        inner = self.inner
        return min((self.done + (0.0 if inner is None else inner.counted().share())) / self.total, 1.0)

    def left(self, now: float) -> float | None:
        """Seconds until the end, as those of the items done and of the one at hand foretell; None if nothing does."""
        inside = self.inner
        inner = None if inside is None else inside.left(now)
        if not self.total:
            return inner
        each, since = self.each(), now - self.last
        if not self.done and inner is None:
            return None
        rest = max(each - since, 0.0) if inner is None else inner
        each = max(each, (self.done * each + since + rest) / (self.done + 1))
        return rest + max(self.total - self.done - 1, 0.0) * each


def eased(before: float | None, foretold: float | None, passed: float) -> float | None:
    """The time left to be shown: it goes towards what is foretold, at most by a factor of two in a second.

    Parameters
    ----------
    before : float or None
        What was shown, `passed` seconds ago; None for nothing.
    foretold : float or None
        What is foretold now.
    passed : float

    Examples
    --------
    >>> eased(4.0, 300.0, 1.0), eased(4.0, 3.5, 1.0), eased(None, 300.0, 1.0)
    (9.0, 3.5, 300.0)
    """
    if before is None or foretold is None:
        return foretold
    return min(max(foretold, before / 2**passed - passed), (before + passed / 2) * 2**passed)


def left_text(seconds: float | None) -> str:
    """How long it still takes, as roughly as it is known.

    Examples
    --------
    >>> left_text(8.2), left_text(33.0), left_text(100.0), left_text(5000.0)
    ('10 s left', '35 s left', '2 min left', '1.4 h left')
    >>> left_text(3.0), left_text(None)
    ('a few seconds left', '')
    """
    if seconds is None:
        return ""
    if seconds <= 5:
        return "a few seconds left"
    if seconds <= 55:
        return f"{5 * -(-seconds // 5):.0f} s left"
    return f"{-(-seconds // 60):.0f} min left" if seconds < 3600 else f"{seconds / 3600:.1f} h left"


_current: ContextVar[Work | None] = ContextVar("_current", default=None)
"""The innermost work under way."""


@contextmanager
def progress(what: str, total: float | None = None) -> Generator[Callable[..., None]]:
    """Show how far the work of a block has come, on a terminal or in a notebook, once it is known to be long.

    Work inside other work moves the bar of that work on.

    Parameters
    ----------
    what : str
        Such as "reading the table".
    total : float, optional
        How many items there are; without it, only that it goes on is known, unless work inside knows more.

    Yields
    ------
    callable
        To be called after each item, or with the number of items that were done.

    Examples
    --------
    >>> with progress("adding up", total=3) as step:
    ...     for _ in range(3):
    ...         step()
    """
    outer = _current.get()
    try:
        with _inside(what, total) as work:
            screen = _screen() if outer is None else None
            with nullcontext() if screen is None else _shown(work, screen):
                yield work.step
    finally:
        _current.set(outer)  # whatever was left open inside


def tracked(items: Iterable[Item], what: str, total: int | None = None) -> Iterator[Item]:
    """Yield items, and move the bar of the block on that works on them; see `progress`.

    Examples
    --------
    >>> list(tracked([1, 2], "counting"))
    [1, 2]
    """
    with _inside(what, len(items) if total is None and isinstance(items, Sized) else total) as work:
        for item in items:
            yield item
            work.step()


@contextmanager
def _inside(what: str, total: float | None) -> Generator[Work]:
    """Work as a part of that under way. A loop that an error ends leaves it open: it shows nothing by itself."""
    outer = _current.get()
    work = Work(what, total)
    _current.set(work)
    if outer is not None:
        outer.inner = work
    try:
        yield work
    finally:
        if outer is not None and outer.inner is work:
            outer.inner = None
        if _current.get() is work:
            _current.set(outer)


# --------------------------------------------------------------------------------------------------
# Where it is shown.
# --------------------------------------------------------------------------------------------------

Standing = tuple[str, float | None, str]
"""What is under way, which share of it is done, and how long it still takes."""

Screen = Callable[[], tuple[Callable[[Standing], object], Callable[[], object]]]
"""Begins to show; gives what shows a state, and what takes it away again."""


@contextmanager
def _shown(work: Work, screen: Screen) -> Generator[None]:
    """Show work during the block, by a thread of its own: Python may be in one long call."""
    ended, began = threading.Event(), time.perf_counter()

    def show() -> None:
        if ended.wait(SHOWN_AFTER):
            return
        put, take_away = screen()
        try:
            before, last = None, time.perf_counter()
            while not ended.is_set():
                now = time.perf_counter()
                before, last = eased(before, work.left(now), now - last), now
                put(_state(work, left_text(before) or f"for {now - began:.0f} s"))
                ended.wait(EACH_SECONDS)
        finally:
            take_away()

    thread = threading.Thread(target=show, daemon=True, name="bnpriv-progress")
    try:
        thread.start()  # Ctrl-C may end it when the thread is already under way
        yield
    finally:
        ended.set()
        if thread.is_alive():
            thread.join()


def _state(work: Work, left: str) -> Standing:
    counted = work.counted()
    said = dict.fromkeys((work.what, counted.what))
    return visible(": ".join(said)), counted.share() if counted.total else None, left


def _screen() -> Screen | None:
    """Where work of this process is shown: in a notebook or on a terminal, else nowhere."""
    if os.environ.get(OFF) == "off":
        return None
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if getattr(shell, "kernel", None) is not None:
        return _notebook
    return _terminal if is_terminal() and os.environ.get("TERM") != "dumb" and not _is_worker() else None


def is_terminal() -> bool:
    """Whether errors go to a terminal: never where the stream is closed, or is none of Python's own."""
    try:
        return sys.stderr is not None and sys.stderr.isatty()
    except Exception:  # whatever a program put in its place: no work may fail of it
        return False


def _is_worker() -> bool:
    """Whether this process works for another one, which shows how far the whole has come."""
    library = sys.modules.get("multiprocessing.process")
    return library is not None and library.current_process().name != "MainProcess"


def _terminal() -> tuple[Callable[[Standing], object], Callable[[], object]]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    plain: dict[str, Any] = {"markup": False}
    columns = (TextColumn("{task.description}", **plain), BarColumn(), TextColumn("{task.fields[left]}", **plain))
    # what others print goes where they print it: from this thread their streams are left alone
    bar = Progress(
        *columns, console=Console(stderr=True), transient=True, auto_refresh=False,
        redirect_stdout=False, redirect_stderr=False,
    )  # fmt: skip
    bar.start()
    task = bar.add_task("", total=None, left="")

    def show(state: Standing) -> None:
        what, share, left = state
        bar.update(task, description=what, total=None if share is None else 1.0, completed=share or 0.0, left=left)
        bar.refresh()

    return show, bar.stop


def _notebook() -> tuple[Callable[[Standing], object], Callable[[], object]]:
    """One line of output, which is written over and is empty in the end; no widgets need to be installed."""
    from IPython import display

    handle: Any = cast(Any, display).display({"text/plain": ""}, raw=True, display_id=True)

    def show(state: Standing) -> None:
        what, share, left = state
        bar = "" if share is None else f" {chr(0x2588) * int(20 * share):{chr(0x2591)}<20} {100 * share:.0f} %"
        handle.update({"text/plain": f"{what}{bar} {left}".rstrip()}, raw=True)

    return show, lambda: handle.update({"text/plain": ""}, raw=True)
