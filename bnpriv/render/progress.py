"""What the shell shows while it works: that it does, for how long, and notes on what takes long."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TextIO

from bnpriv.errors import LongDrawingWarning
from bnpriv.render.text import visible

FEWER_MODELS = "Fewer files in the list `file` of [network] take less."
"""What takes less where work is done for every model; in a framework file each network file is a model."""

WarningDisplay = Callable[[Warning | str, type[Warning], str, int, TextIO | None, str | None], None]


@contextmanager
def working(what: str) -> Generator[None]:
    """Show on a terminal that something is under way, and for how long; warnings of ours become notes.

    Parameters
    ----------
    what : str
        Such as "reading the table".
    """
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    with warnings.catch_warnings():
        warnings.showwarning = _noted(warnings.showwarning)
        if not console.is_interactive:  # where a bar that is off prints an empty line with rich below 15
            yield
            return
        columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
        with Progress(*columns, console=console, transient=True) as progress:
            progress.add_task(what, total=None)
            yield


def _noted(others: WarningDisplay) -> WarningDisplay:
    """Return what shows a warning of ours without the line of code that it is about; `others` shows all others."""

    def show(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        if category.__module__.partition(".")[0] != "bnpriv":
            others(message, category, filename, lineno, file, line)
        else:
            print(f"note: {visible(note_text(message))}", file=sys.stderr, flush=True)

    return show


def note_text(message: Warning | str) -> str:
    """Return a warning for readers of the shell: what makes work short there, and no options of Python.

    Examples
    --------
    >>> note_text(LongDrawingWarning("To draw takes about 9 s", seconds=9.0, remedy="A larger thin= takes less"))
    'To draw takes about 9 s. Fewer files in the list `file` of [network] take less.'
    """
    if not isinstance(message, LongDrawingWarning):
        return str(message)
    return f"{message.what}. {FEWER_MODELS}" if message.remedy else f"{message.what}."
