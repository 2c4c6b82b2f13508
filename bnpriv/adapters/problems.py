"""What is wrong with a file, gathered so that all of it is told at once."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import ParamSpec, TypeVar, final

from bnpriv.errors import BnprivError, FileProblemsError

_P = ParamSpec("_P")
_T = TypeVar("_T")


@final
class Problems:
    """The refusals of a file that is still being read, in the order in which they were found."""

    def __init__(self) -> None:
        self._found: list[BnprivError] = []

    def note(self, problem: BnprivError) -> None:
        """Add a problem that does not keep the rest from being read; one that is known already is not added."""
        if str(problem) not in map(str, self._found):
            self._found.append(problem)

    def tried(self, read: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T | None:
        """Return what was read; None, with the problem noted, where it is refused."""
        try:
            return read(*args, **kwargs)
        except BnprivError as refused:
            self.note(refused)
            return None

    @contextmanager
    def gathered(self) -> Generator[None]:
        """Note what is refused inside, and go on behind it."""
        try:
            yield
        except BnprivError as refused:
            self.note(refused)

    def __bool__(self) -> bool:
        return bool(self._found)

    def __len__(self) -> int:
        return len(self._found)

    def settle(self, label: str) -> None:
        """Refuse the file if anything is wrong with it: a single problem as it is, several in one list."""
        if len(self._found) == 1:
            raise self._found[0]
        if self._found:
            raise FileProblemsError(label, self._found)
