"""Long work: how long it will take is told in advance."""

from __future__ import annotations

import inspect
import time
import warnings
from collections.abc import Iterator, Sequence
from typing import TypeVar

from bnpriv.errors import LongDrawingWarning

Item = TypeVar("Item")

LONG_SECONDS = 5.0
"""Anything longer is announced in advance and shown on the way; calibration takes its own time after it."""


def time_text(what: str, seconds: float, work: str = "take about {} to draw") -> str:
    """How long something takes, in words; `work` is a phrase with {} for the time."""
    shown = f"{seconds:.0f} s" if seconds < 60 else f"{seconds / 60:.1f} min"
    return f"{what} {work.format(shown)}"


def tell(what: str, seconds: float, work: str = "take about {} to draw", remedy: str = "") -> None:
    """Warn in advance that something takes long; `work` is a phrase with {} for the time."""
    if seconds >= LONG_SECONDS:
        told = LongDrawingWarning(time_text(what, seconds, work), seconds=seconds, remedy=remedy)
        # the stack level of the first line outside bnpriv, so that a warning shows the user's line
        frame, level = inspect.currentframe(), 0
        while frame is not None and str(frame.f_globals.get("__name__", "")).startswith("bnpriv."):
            frame, level = frame.f_back, level + 1
        warnings.warn(told, stacklevel=level)


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
