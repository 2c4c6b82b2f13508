"""TOML files read table by table: whatever is wrong is refused by the name of the file, the table and the key."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, cast, final

from bnpriv.adapters.problems import Problems
from bnpriv.adapters.toml_lines import line_of, moved
from bnpriv.adapters.toml_words import as_found, as_written, kind_of
from bnpriv.checks import closest, listing
from bnpriv.errors import DeclarationError, FileError
from bnpriv.render.toml import toml_key

# Python's TOML reader takes quadratic time on long dotted keys.
_LONG_KEY = re.compile(r"(?<![\w-])(?:[\w-]++[ \t]*+\.[ \t]*+){16}")

_PLACED = re.compile(r"(?P<what>.*) \(at line (?P<line>\d+), column (?P<column>\d+)\)", re.DOTALL)
_TWICE = re.compile(r"^Cannot (?:overwrite|declare|mutate)|^Duplicate inline table key")
_KEEP_ONE = "Keep one of the two; what belongs to one section stands below its one header."


@final
@dataclass(frozen=True)
class TomlTable:
    """A table of the file, with the words that name it in messages.

    Parameters
    ----------
    label : str
        The file.
    where : str
        The header of the table; empty for the whole file.
    values : mapping from str to object
    path : tuple of str
        The keys that lead to it.
    lines : mapping from tuple of str to int
        Where tables and keys stand.
    problems : Problems
        What is wrong with the file so far; shared by all its tables.
    """

    label: str
    where: str
    values: Mapping[str, object]
    path: tuple[str, ...] = ()
    lines: Mapping[tuple[str, ...], int] = field(default_factory=dict[tuple[str, ...], int], repr=False)
    problems: Problems = field(default_factory=Problems, repr=False)

    def refusal(self, required: str, *, found: str, remedy: str, key: str | None = None) -> FileError:
        """Return a refusal that names the file, the line of the table or of its key, and the table."""
        return FileError(f"{self._place(key, self.where)}: {required}", found=found, remedy=remedy)

    def _place(self, key: str | None, where: str) -> str:
        line = line_of(self.lines, self.path if key is None else (*self.path, key))
        return ", ".join(filter(None, (self.label, "" if line is None else f"line {line}", where)))

    @contextmanager
    def named(self, where: str = "", *, key: str | None = None) -> Generator[None]:
        """Let refusals from inside say which part of which file they are about."""
        try:
            yield
        except DeclarationError as refused:
            place = self._place(key, where or self.where)
            found, remedy = as_found(refused.found), as_written(refused.remedy)
            raise type(refused)(f"{place}: {refused.required}", found=found, remedy=remedy) from None

    def section(self, key: str, known: Collection[str] | None = None) -> TomlTable:
        """Return the table under `key`, whose own keys must be among `known`."""
        where = f"[{self.where[1:-1]}.{toml_key(key)}]" if self.where else f"[{toml_key(key)}]"
        value = self.values.get(key)
        if not isinstance(value, dict):
            found = "none" if value is None else kind_of(value)
            raise self.refusal(
                f"a section {where} is needed", found=found, remedy=f"Write it below a line {where}.", key=key
            )
        path = (*self.path, key)
        part = TomlTable(self.label, where, cast("dict[str, object]", value), path, self.lines, self.problems)
        return part if known is None else part.only(known)

    def only(self, known: Collection[str]) -> TomlTable:
        """Return the table without the keys that are not `known`, each of which is noted as a problem.

        A key that is a slip of a known one is read as that one, so that nothing else is said to be missing.
        """
        read = {key: value for key, value in self.values.items() if key in known}
        lines = self.lines
        for key in (key for key in self.values if key not in known):
            near = closest(key, known)
            self.problems.note(
                self.refusal(
                    f"the keys must be among {listing(known)}",
                    found=f"the unknown {key[:80]!r}",
                    remedy=f"Did you mean {near!r}?" if near is not None else "Remove it, or check the spelling.",
                    key=key,
                )
            )
            if near is not None:
                if near not in read:
                    lines = moved(lines, (*self.path, key), (*self.path, near))
                read.setdefault(near, self.values[key])
        return replace(self, values=read, lines=lines)

    def string(self, key: str, default: str | None = None) -> str:
        """Return the text under `key`."""
        value = self.values.get(key, default)
        if not isinstance(value, str) or not value.strip():
            found = "none" if value is None else "an empty string" if value == "" else kind_of(value)
            raise self.refusal(f"{key} must be a text", found=found, remedy=f'Write {key} = "...".', key=key)
        return value

    def boolean(self, key: str) -> bool:
        """Return the truth value under `key`, false by default."""
        value = self.values.get(key, False)
        if not isinstance(value, bool):
            raise self.refusal(
                f"{key} must be true or false", found=kind_of(value), remedy=f"Write {key} = true.", key=key
            )
        return value

    def need(self, key: str) -> Any:
        """Return the value under `key`, of any type."""
        return self.needs(key)[0]

    def needs(self, *keys: str) -> list[Any]:
        """Return the values under several keys, of any type; refuse all that are missing at once."""
        missing = [key for key in keys if key not in self.values]
        if missing:
            remedy = f"Write {' and '.join(f'{key} = ...' for key in missing)} in this section."
            verb = "is" if len(missing) == 1 else "are"
            raise self.refusal(f"{' and '.join(missing)} {verb} needed", found="none", remedy=remedy)
        return [self.values[key] for key in keys]


def parse_toml(label: str, content: str) -> dict[str, Any]:
    """Return the tables of a TOML file."""
    long = _LONG_KEY.search(content)
    if long is not None:
        line = content.count("\n", 0, long.start()) + 1
        raise FileError(f"{label}: keys must be short", found=f"a long one on line {line}", remedy="Shorten it.")
    try:
        return tomllib.loads(content)
    except (ValueError, RecursionError) as broken:
        reason = str(broken) if isinstance(broken, tomllib.TOMLDecodeError) else "numbers or brackets without end"
        raise _no_toml(label, reason) from None


def _no_toml(label: str, reason: str) -> FileError:
    """Return the refusal of a file that is no TOML, from what Python's reader says of it."""
    placed = _PLACED.fullmatch(reason)
    place = f"{label}, line {placed['line']}" if placed else label
    what = placed["what"] if placed else reason
    if _TWICE.search(what):
        return FileError(
            f"{place}: every key and every section stands once", found="one that is there already", remedy=_KEEP_ONE
        )
    column = f" at character {placed['column']} of the line" if placed else ""
    return FileError(f"{place}: the file must be TOML", found=f"{what}{column}", remedy="Correct the line.")


def listed_or_none(value: object) -> list[object] | None:
    """Return a list as it is, None for anything else."""
    return cast("list[object]", value) if isinstance(value, list) else None
