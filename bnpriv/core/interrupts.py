"""Ctrl-C while an engine reads a table: heard at once, and nothing goes on or stays open behind it.

Python hears Ctrl-C in the main thread between two steps of its own. An engine that reads for a minute is one step; some
of them look for Ctrl-C themselves, and make an error of it that is told apart from no other. So the engine works in a
thread of its own, while the main thread waits and listens.
"""

from __future__ import annotations

import atexit
import ctypes
import gc
import os
import signal
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from contextvars import ContextVar, copy_context
from dataclasses import dataclass, field
from time import monotonic
from types import FrameType
from typing import Any, Generic, TypeVar, cast

from bnpriv.progress import progress

T = TypeVar("T")

NOTHING_CHARGED = "Nothing was charged."
"""What Ctrl-C ends with before a release is charged."""

LISTENING_STEP = 0.05
"""Seconds between two checks for Ctrl-C, where it does not end a wait by itself."""

ENGINE_PATIENCE = 0.5
"""Seconds that stopped work has to close what it opened."""

ENGINE_PATIENCE_AT_END = 1.0
"""Seconds that the end of the program waits for such work, before it ends as a program does that Ctrl-C ends."""

IMPORT_PATIENCE = 5.0
"""Seconds that stopped work has to finish an import, which is not cut off before."""

_IN_ANY_THREAD = frozenset({"pandas", "polars", "pyarrow", "duckdb"})
"""Modules whose tables may be read in another thread; others hear Ctrl-C themselves, or are tied to a thread."""


@dataclass(eq=False)
class _Work(Generic[T]):
    """The work of a thread: its result or error, and how to stop what it is waiting for."""

    do: Callable[[], T]
    result: list[T] = field(default_factory=list[T])
    error: BaseException | None = None
    ident: int | None = None
    stopped: bool = False
    done: bool = False
    waiting: threading.Lock = field(default_factory=threading.Lock)
    stops: list[Callable[[], object]] = field(default_factory=list[Callable[[], object]])

    def __post_init__(self) -> None:
        self.waiting.acquire()

    def run(self) -> None:
        try:
            self.ident = threading.get_ident()
            if not self.stopped:
                self.result.append(self.do())
        except BaseException as error:
            if not self.stopped:  # otherwise nobody asks, and it would hold what was read
                self.error = error
        finally:
            self.done = True
            under_way.discard(self)
            self.waiting.release()

    def ends(self) -> bool:
        """Wait a little; whether it is done. An event's lock would stay taken where Ctrl-C comes in its own code."""
        if not self.done:
            self.waiting.acquire(timeout=LISTENING_STEP)
        return self.done

    def ended(self, patience: float) -> bool:
        """Stop the thread: its engine at once, its Python at the next step; it closes what it opened.

        What it waits for is stopped repeatedly, as it may have begun just now. Return whether it ended.
        """
        try:
            self.stopped = True
            end = monotonic() + IMPORT_PATIENCE
            while _imports(self.ident) and monotonic() < end and not self.ends():
                pass
        except BaseException:  # Ctrl-C once more
            threading.Thread(target=self.ended, args=(patience,), daemon=True).start()
            raise
        end = monotonic() + patience
        # Without a number it has not begun, and does no work should it still begin.
        if self.done or self.ident is None or not _raise_in(ctypes.c_ulong(self.ident), _ENDS_SILENTLY):
            under_way.discard(self)
            return True
        while True:
            for stop in tuple(self.stops):
                with suppress(Exception):  # closed meanwhile
                    stop()
            if self.ends() or monotonic() > end:
                return self.done


def _imports(ident: int | None) -> bool:
    """Whether a thread imports: ended there, it leaves half a module, or the lock that every other import waits for."""
    collects = gc.isenabled()
    try:
        gc.disable()  # in the first releases of Python 3.11, a collection inside the next call may hang for good
        frame = sys._current_frames().get(ident or 0)  # pyright: ignore[reportPrivateUsage]
    finally:
        if collects:
            gc.enable()
    while frame is not None and not frame.f_code.co_filename.startswith("<frozen importlib._bootstrap"):
        frame = frame.f_back
    return frame is not None


_raise_in = ctypes.pythonapi.PyThreadState_SetAsyncExc
_ENDS_SILENTLY = ctypes.py_object(SystemExit)
"""The one error that ends a thread without a word."""

under_way: set[_Work[Any]] = set()
"""What threads do now, and what goes on behind Ctrl-C."""

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=under_way.clear)  # a child has no such threads


@atexit.register  # at once: what registers later ends before
def _end() -> None:
    """End the program at once where an engine goes on: taking its thread down step by step crashes."""
    if not under_way:
        return
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # from here on, Ctrl-C waits for nothing
    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception):
            stream.flush()
    if not all(work.ended(ENGINE_PATIENCE_AT_END) for work in tuple(under_way)):
        os.kill(os.getpid(), signal.SIGINT)


_current: ContextVar[_Work[Any] | None] = ContextVar("_current", default=None)


def interruptible(data: object, work: Callable[[], T]) -> T:
    """Run work that reads a table such that Ctrl-C, or any exception from a signal handler, ends it at once.

    Parameters
    ----------
    data : table, str or path
        What is read.
    work : callable
        Without arguments; it runs in another thread where the table allows it.

    Returns
    -------
    object
        What `work` returns; what it raises is raised here.

    Examples
    --------
    >>> interruptible("table.csv", lambda: 3)
    3
    """
    if threading.current_thread() is not threading.main_thread():
        return work()  # another thread never hears of Ctrl-C
    with progress("reading the table"):
        return _heard(data, work)


def _heard(data: object, work: Callable[[], T]) -> T:
    if not _in_any_thread(data):
        return _listening(work)
    doing = _Work(work)
    context = copy_context()
    context.run(_current.set, doing)
    thread = threading.Thread(target=context.run, args=(doing.run,), daemon=True, name="bnpriv-table")
    try:
        under_way.add(doing)  # first, as Ctrl-C may be pressed twice
        thread.start()
        while not doing.ends():
            pass
    except BaseException:
        doing.ended(ENGINE_PATIENCE)
        raise
    thread.join()
    if doing.error is not None:
        try:
            raise doing.error
        finally:
            doing.error = None  # it holds this frame, which holds it
    return doing.result[0]


def _listening(work: Callable[[], T]) -> T:
    """Run work whose engine hears Ctrl-C itself, but may raise an error of its own for it."""
    before, heard = signal.getsignal(signal.SIGINT), list[int]()
    if not callable(before):
        return work()

    def hear(number: int, frame: FrameType | None) -> Any:
        heard.append(number)
        return before(number, frame)

    signal.signal(signal.SIGINT, hear)
    try:
        return work()
    except Exception:
        if not heard:
            raise
    finally:
        signal.signal(signal.SIGINT, before)
    raise KeyboardInterrupt  # here, where what the engine said of it is no longer its context


@contextmanager
def stoppable(stop: Callable[[], object]) -> Generator[None]:
    """Have `stop`, which ends an engine's work from another thread, called on Ctrl-C during the block."""
    doing = _current.get()
    if doing is None:
        yield
        return
    doing.stops.append(stop)
    try:
        yield
    finally:
        doing.stops.remove(stop)


@contextmanager
def noting(note: Callable[[], str]) -> Generator[None]:
    """Let Ctrl-C in the block end with a note, below the traceback, on what it left; the innermost counts.

    The note also counts if Ctrl-C is pressed once more meanwhile, in which case the second one replaces the first.
    """
    before = sys.exc_info()[1]
    try:
        yield
    except KeyboardInterrupt as stopped:
        if not getattr(stopped, "__notes__", None):
            for said in _notes_behind(stopped, before) or [note()]:
                stopped.add_note(said)
        raise


def _notes_behind(stopped: KeyboardInterrupt, before: BaseException | None) -> list[str]:
    """The notes of an earlier Ctrl-C which this one replaced, after `before` was raised."""
    error = stopped.__context__
    while error is not None and error is not before:
        notes: list[str] = getattr(error, "__notes__", [])
        if isinstance(error, KeyboardInterrupt) and notes:
            return notes
        error = error.__context__
    return []


def _in_any_thread(data: object) -> bool:
    if isinstance(data, (str, os.PathLike)):
        return True
    held = cast(Any, data).to_native() if type(data).__module__.startswith("narwhals.") else data
    return type(held).__module__.partition(".")[0].lstrip("_") in _IN_ANY_THREAD
