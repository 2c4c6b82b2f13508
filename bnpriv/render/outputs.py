"""Files that are written all or none, texts that become files together, and progress on a terminal."""

from __future__ import annotations

import os
import secrets
import shutil
import stat
import sys
import warnings
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from bnpriv.errors import BnprivError, FileError, LongDrawingWarning
from bnpriv.paths import NO_PATH, is_of_database, may_be_one, user_path
from bnpriv.progress import is_terminal, progress
from bnpriv.text import visible

# --------------------------------------------------------------------------------------------------
# Files that are written all or none: each is filled beside its place, and takes it when every other one is full.
# --------------------------------------------------------------------------------------------------


@contextmanager
def outputs(*paths: Path | None, reading: Iterable[Path] = ()) -> Generator[Outputs]:
    """Open files to be written; they appear together when the block ends, and none does if it fails.

    Parameters
    ----------
    *paths : Path or None
        Where the files are to be; None is passed over.
    reading : iterable of Path
        Files that are read or made meanwhile, and must not be among them, whether they are there already or not.

    Yields
    ------
    Outputs

    Raises
    ------
    FileError
        If one of them cannot be written, before the block begins or in it; what was there before stays.
    """
    opened = Outputs()
    try:
        for path in paths:
            if path is not None:
                opened.add(path, reading)
        yield opened
        opened.appear()
    finally:
        opened.discard()


def require_writable(path: Path, reading: Iterable[Path] = ()) -> None:
    """Refuse what cannot be an output, before anything is done that would be lost; `outputs` looks again.

    Raises
    ------
    FileError
        As `outputs`.
    """
    probe = Outputs()
    try:
        probe.add(path, reading)
    finally:
        probe.discard()


def write_text(path: str | Path, text: str) -> None:
    """Write a text to a file.

    Raises
    ------
    FileError
        If the file cannot be written; what was there before stays.
    """
    with outputs(Path(path)) as out:
        out.put(Path(path), text)


@dataclass(frozen=True)
class _Output:
    """A file to be: what it is called, its place with links followed, and the file beside it that is filled."""

    path: Path
    place: Path
    beside: Path

    @property
    def before(self) -> Path:
        """Return where a file that was there before is kept until all have appeared."""
        return self.beside.with_suffix(".before")


class Outputs:
    """The open outputs of one command."""

    def __init__(self) -> None:
        self._open: dict[Path, _Output] = {}

    def add(self, path: Path, reading: Iterable[Path] = ()) -> None:
        """Open one more file: no folder, device, pipe or database, and neither read meanwhile nor another output."""
        with _refusing(path):
            place = Path(os.path.realpath(user_path(path)))
            before = _status(place)
            _check_free(path, place, before, reading)
            if any(may_be_one(place, output.place) for output in self._open.values()):
                raise _unwritable(path, "the place of another output")
            output = _Output(path, place, place.parent / f".bnpriv-{secrets.token_hex(8)}")
            self._open[path] = output
            os.close(os.open(output.beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
            if before is not None:
                output.beside.chmod(stat.S_IMODE(before.st_mode))

    def reserve(self, size: int) -> None:
        """Take up room for that many bytes in each file, before anything is known that would be lost without it."""
        for path in self._open:
            self.fill(path, lambda beside: _overwrite(beside, bytes(size)))

    def put(self, path: Path, content: str | bytes) -> None:
        """Fill one of the files with a text, or with bytes as they are."""
        plain = content.encode("utf-8", errors="backslashreplace") if isinstance(content, str) else content
        self.fill(path, lambda beside: _overwrite(beside, plain))

    def fill(self, path: Path, write: Callable[[Path], None]) -> None:
        """Fill one of the files by what writes to a path."""
        with _refusing(path):
            write(self._open[path].beside)

    def beside(self, path: Path) -> Path:
        """Return the file that takes the place of one of the files in the end, for whatever fills it by itself."""
        return self._open[path].beside

    def appear(self) -> None:
        """Let all files take their places, or none."""
        done: list[_Output] = []
        try:
            for output in self._open.values():
                with _refusing(output.path):
                    _check_no_database(output.path, output.place)  # it may have been made meanwhile
                    if len(self._open) > 1 and output.place.exists():
                        _keep(output.place, output.before)
                    output.beside.replace(output.place)
                done.append(output)
        except BaseException:
            for output in done:
                if output.before.exists():
                    output.before.replace(output.place)
                else:
                    output.place.unlink()
            raise

    def discard(self) -> None:
        """Remove what is left beside the places."""
        for output in self._open.values():
            for path in (output.beside, output.before):
                with suppress(OSError):
                    path.unlink()


@contextmanager
def _refusing(path: Path) -> Generator[None]:
    """Turn errors of the system into a refusal that names the file."""
    try:
        yield
    except BnprivError:
        raise
    except OSError as error:
        if isinstance(error, FileNotFoundError) and not os.path.exists(user_path(path).parent):
            raise FileError(
                f"{path}: the file must be writable",
                found="no such folder",
                remedy="Make the folder, or choose another.",
            ) from None
        raise _unwritable(path, error.strerror or "an error") from None
    except ValueError:  # a NUL byte
        raise _unwritable(path, NO_PATH) from None


def _status(place: Path) -> os.stat_result | None:
    try:
        return place.stat()
    except FileNotFoundError:
        return None


def _check_free(path: Path, place: Path, before: os.stat_result | None, taken: Iterable[Path]) -> None:
    if not place.name or (before is not None and not stat.S_ISREG(before.st_mode)):
        folder = before is None or stat.S_ISDIR(before.st_mode)
        raise _unwritable(path, "a folder" if folder else "a device or a pipe")
    if any(may_be_one(place, other) for other in taken):
        raise FileError(
            f"{path}: an output must be a file of its own",
            found="the ledger, a file beside it, or a file that is read",
            remedy="Choose another.",
        )
    _check_no_database(path, place)
    if before is None:
        return
    if not os.access(place, os.W_OK):
        raise _unwritable(path, "a file that is read-only")
    for stream in (sys.stdout, sys.stderr):
        # streams of notebooks and tests have no number
        with suppress(OSError, ValueError, AttributeError):
            if os.path.samestat(before, os.fstat(stream.fileno())):
                raise _unwritable(path, "the file that standard output goes to")


def _check_no_database(path: Path, place: Path) -> None:
    """Refuse to replace a database, of which none is ever an output: a ledger that nobody named here is one."""
    if is_of_database(place):
        raise _unwritable(path, "a database, which may be a ledger, or what belongs to one")


def _overwrite(path: Path, content: bytes) -> None:
    """Write into a file from its start, so that room that was taken up before stays taken up meanwhile."""
    with path.open("r+b") as file:
        file.write(content)
        file.truncate()
        file.flush()
        os.fsync(file.fileno())


def _keep(place: Path, kept: Path) -> None:
    try:
        kept.hardlink_to(place)
    except OSError:  # not every file system has links
        shutil.copy2(place, kept)


def _unwritable(path: Path, found: str) -> FileError:
    return FileError(f"{path}: the file must be writable", found=found, remedy="Choose another.")


# --------------------------------------------------------------------------------------------------
# Texts that become files together, which replace nothing unless that was asked for.
# --------------------------------------------------------------------------------------------------

MOST_FILES = 1000
"""Files that one call writes."""


def write_new(texts: Mapping[Path, str], *, overwrite: bool) -> None:
    """Write texts to files, all or none.

    Raises
    ------
    FileError
        If a file is there already and `overwrite` is false, or one cannot be written.
    """
    there = next((path for path in texts if os.path.lexists(path)), None)
    if there is not None and not overwrite:
        raise FileError(
            f"{there}: a file that is there already is not replaced",
            found="one",
            remedy="Choose another name, or pass overwrite=True.",
        )
    with outputs(*texts) as out:
        for path, text in texts.items():
            out.put(path, text)


def numbered(path: Path, count: int) -> tuple[Path, ...]:
    """Return a name for each of several files: `path` for one, else with numbers before its ending.

    Raises
    ------
    FileError
        If there are too many.

    Examples
    --------
    >>> [file.name for file in numbered(Path("model.bif"), 2)]
    ['model-1.bif', 'model-2.bif']
    """
    if count > MOST_FILES:
        raise FileError(
            f"one call writes at most {MOST_FILES:,} files", found=f"{count:,}", remedy="Keep the models in Python."
        )
    if count == 1:
        return (path,)
    return tuple(path.with_name(f"{path.stem}-{k:0{len(str(count))}}{path.suffix}") for k in range(1, count + 1))


# --------------------------------------------------------------------------------------------------
# What the shell shows while it works: that it does, for how long, and notes on what takes long.
# --------------------------------------------------------------------------------------------------

FEWER_MODELS = "Fewer files in the list `file` of [network] take less."
"""What takes less where work is done for every model; in a framework file each network file is a model."""

WarningDisplay = Callable[[Warning | str, type[Warning], str, int, TextIO | None, str | None], None]


@contextmanager
def working(what: str) -> Generator[None]:
    """Show on a terminal that something is under way, and how far it has come; warnings of ours become notes.

    Parameters
    ----------
    what : str
        Such as "reading the table".
    """
    with warnings.catch_warnings(), progress(what):
        warnings.showwarning = _noted(warnings.showwarning)
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
            if is_terminal():
                print("\r\x1b[K", end="", file=sys.stderr)  # over a bar, which is drawn anew below
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
