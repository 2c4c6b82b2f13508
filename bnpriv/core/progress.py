"""Progress of long drawing: the expected time is told in advance, and shown on the way."""

from __future__ import annotations

import inspect
import sys
import time
import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar, final

from bnpriv.errors import LongDrawingWarning

Item = TypeVar("Item")

TRIAL_TABLES = 32
"""Tables that are drawn, and not used, to measure how long one takes."""

LONGEST_TRIAL, MORE = 1.0, 8
"""Seconds that a trial may take, and the factor by which it grows where a few tables foretell a long time."""

LONG_SECONDS = 5.0
"""Anything longer is announced in advance and shown on the way; calibration takes its own time after it."""


@final
@dataclass(frozen=True, kw_only=True)
class DrawTime:
    """How long drawing tables will take.

    Parameters
    ----------
    tables : int
    seconds : float
        As a few tables took.

    Examples
    --------
    >>> str(DrawTime(tables=20_000, seconds=95.0))
    '20,000 tables take about 1.6 min to draw'
    """

    tables: int
    seconds: float

    def __str__(self) -> str:
        return _told(f"{self.tables:,} tables", self.seconds)


def _told(what: str, seconds: float, work: str = "take about {} to draw") -> str:
    shown = f"{seconds:.0f} s" if seconds < 60 else f"{seconds / 60:.1f} min"
    return f"{what} {work.format(shown)}"


def tell(what: str, seconds: float, work: str = "take about {} to draw", remedy: str = "") -> None:
    """Warn in advance that something takes long; `work` is a phrase with {} for the time."""
    if seconds >= LONG_SECONDS:
        told = LongDrawingWarning(_told(what, seconds, work), seconds=seconds, remedy=remedy)
        warnings.warn(told, stacklevel=_callers_level())


def _callers_level() -> int:
    """The stack level of the first line outside bnpriv, so that a warning shows the user's line."""
    frame, level = inspect.currentframe(), 0
    while frame is not None and str(frame.f_globals.get("__name__", "")).startswith("bnpriv."):
        frame, level = frame.f_back, level + 1
    return level


FEW_ITEMS = 8
"""With fewer items, the last ones are not timed by themselves: one may be slow by chance."""

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
    told = False
    times: list[float] = []
    for done, item in enumerate(items):
        left = len(items) - done
        times.append(time.perf_counter())
        seconds = _rate(times) * left
        if done and not told and seconds >= LONG_SECONDS:
            told = True
            rest = f"{left:,} {each}{'' if left == 1 else 's'}"
            tell(f"To work out {what.format(rest)}", seconds, "takes about {}", shorter)
        yield item


def _rate(times: Sequence[float]) -> float:
    """Seconds per item, from their start times: the mean of all or of the last ones, as costs may grow."""
    done = len(times) - 1
    recent = min(done, max(FEW_ITEMS, done // 4))
    return max((times[-1] - times[-1 - few]) / few for few in (done, recent)) if done else 0.0


def draw_time(draw: Callable[[int], object], tables: int) -> DrawTime:
    """How long tables will take, from how long a few do.

    Parameters
    ----------
    draw : callable
        Draws so many tables; at least twice, as what is compiled on the way is compiled once.
    tables : int
    """
    few = min(TRIAL_TABLES, tables)
    draw(1)
    taken = _taken(draw, few, tables)
    # fixed costs dominate a small trial: if it foretells a long time, a larger one is made
    while taken / few * tables >= LONG_SECONDS and taken < LONGEST_TRIAL / MORE and few * MORE <= tables:
        few *= MORE
        taken = _taken(draw, few, tables)
    return DrawTime(tables=tables, seconds=taken / few * tables)


def _taken(draw: Callable[[int], object], few: int, tables: int) -> float:
    """How long a few tables take; a time that foretells a long wait is measured twice, as machines are shared."""
    taken = _seconds(draw, few)
    if taken / few * tables < LONG_SECONDS or taken >= LONGEST_TRIAL:
        return taken
    return min(taken, _seconds(draw, few))


def _seconds(draw: Callable[[int], object], tables: int) -> float:
    start = time.perf_counter()
    draw(tables)
    return time.perf_counter() - start


@contextmanager
def paced(expected: DrawTime) -> Generator[Callable[[int], None]]:
    """Announce a long time in advance, and show on a terminal how far drawing has come.

    Yields
    ------
    callable
        To be called with the number of tables that were drawn.
    """
    if expected.seconds < LONG_SECONDS:
        yield lambda drawn: None
        return
    tell(f"{expected.tables:,} tables", expected.seconds)
    if not sys.stderr.isatty():
        yield lambda drawn: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("drawing tables", total=expected.tables)
        yield lambda drawn: progress.advance(task, drawn)
