"""TOML files read table by table: whatever is wrong is refused by file, table, key and line, all at once."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Collection, Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, ParamSpec, TypeVar, cast

from bnpriv.checks import closest, listing, type_text
from bnpriv.errors import BnprivError, DeclarationError, FileError, FileProblemsError
from bnpriv.toml import toml_key

# --------------------------------------------------------------------------------------------------
# How refusals of values say it where the values stand in a TOML file: its types and its spelling, not Python's.
# --------------------------------------------------------------------------------------------------

_TYPES = {
    "an int": "a whole number",
    "a float": "a number with a decimal point",
    "a str": "a text",
    "a bool": "a truth value",
    "a list": "a list",
    "a dict": "a table",
    "a datetime": "a date with a time",
}
_TYPE = re.compile(rf"^(?:{'|'.join(_TYPES)})\b")
_PASSED = re.compile(
    r"\b(edges|labels|within|missing|states|level|normalize|missing_rows|steps|coarsen|at_most|intervals|pairs)=(?=[\[\"\w])"
)
_TRUTH = re.compile(r" = (True|False)\b")


def kind_of(value: object) -> str:
    """Return the type of a value, for messages.

    Examples
    --------
    >>> kind_of(3), kind_of("x"), kind_of(0.5), kind_of({})
    ('a whole number', 'a text', 'a number with a decimal point', 'a table')
    """
    return as_found(type_text(value))


def as_found(found: str) -> str:
    """Return what was found, where it begins with a type of Python, with the type of TOML in its place.

    Examples
    --------
    >>> as_found("a str (text in quotes)"), as_found("'a str'")
    ('a text in quotes', "'a str'")
    """
    plain = _TYPE.sub(lambda match: _TYPES[match[0]], found)
    return plain.replace("a text (text in quotes)", "a text in quotes")


def as_written(remedy: str) -> str:
    """Return a remedy with keys of a file in place of arguments of a call.

    Examples
    --------
    >>> as_written("Write edges=[17, 25], or pass normalize=True.")
    'Write edges = [17, 25], or pass normalize = true.'
    """
    return _TRUTH.sub(lambda match: match[0].lower(), _PASSED.sub(r"\1 = ", remedy))


# --------------------------------------------------------------------------------------------------
# The lines on which the tables and keys of a TOML file stand, which Python's reader does not tell.
# --------------------------------------------------------------------------------------------------

KeyPath = tuple[str, ...]
"""The keys that lead to a table or a value from the top of the file."""

_TOKEN = re.compile(
    r'(?P<text>"""(?:\\(?s:.)|(?s:[^\\]))*?"{3,5}|\'\'\'(?s:.)*?\'{3,5}|"(?:\\.|[^"\\\n])*+"|\'[^\'\n]*+\')'
    r"|(?P<skipped>#[^\n]*+|[ \t\r]++)"
    r"|(?P<bare>[A-Za-z0-9_-]++)"
    r"|(?P<sign>[^A-Za-z0-9_-])"
)


def key_lines(content: str) -> Mapping[KeyPath, int]:
    r"""Return the first line of every table and key of a valid TOML file; keys of inline tables are not told.

    Examples
    --------
    >>> key_lines('notion = "dataset"\n\n[columns."a b"]\ntype = "real"\n')[("columns", "a b", "type")]
    4
    """
    found: dict[KeyPath, int] = {}
    table: KeyPath = ()
    for line, tokens in _statements(content):
        headed = tokens[0] == "["
        path = _path(tokens)
        if headed:
            table = path
        full = path if headed else (*table, *path)
        for length in range(1, len(full) + 1):
            found.setdefault(full[:length], line)
    return found


def _statements(content: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the tokens in front of the value of every statement, with its line."""
    tokens: list[str] = []
    line = start = 1
    depth, in_value = 0, False
    for match in _TOKEN.finditer(content):
        token = match[0]
        if match["skipped"] is None and token != "\n":
            if not tokens:
                start = line
            if not in_value and token == "=":
                in_value = True
            elif not in_value:
                tokens.append(token)
            else:
                depth += (token in ("[", "{")) - (token in ("]", "}"))
        if token == "\n" and not depth:
            if tokens:
                yield start, tokens
            tokens, in_value = [], False
        line += token.count("\n")
    if tokens:
        yield start, tokens


def _path(tokens: list[str]) -> KeyPath:
    return tuple(_key(token) for token in tokens if token not in ("[", "]", "."))


def _key(token: str) -> str:
    if token[0] in "\"'":
        return str(tomllib.loads(f"key = {token}")["key"])
    return token


def line_of(lines: Mapping[KeyPath, int], path: KeyPath) -> int | None:
    """Return the line of a key, or of the nearest table around it that stands in the file."""
    return next((lines[path[:length]] for length in range(len(path), 0, -1) if path[:length] in lines), None)


def moved(lines: Mapping[KeyPath, int], path: KeyPath, meant: KeyPath) -> Mapping[KeyPath, int]:
    """Return the lines with those of a misspelt key, and of what is inside it, under the key that is meant.

    Examples
    --------
    >>> moved({("recrods", "count"): 5}, ("recrods",), ("records",))[("records", "count")]
    5
    """
    size = len(path)
    return {**lines, **{(*meant, *key[size:]): line for key, line in lines.items() if key[:size] == path}}


# --------------------------------------------------------------------------------------------------
# What is wrong with a file, gathered so that all of it is told at once.
# --------------------------------------------------------------------------------------------------

_P = ParamSpec("_P")
_T = TypeVar("_T")


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


# --------------------------------------------------------------------------------------------------
# TOML files read table by table: whatever is wrong is refused by the name of the file, the table and the key.
# --------------------------------------------------------------------------------------------------

# Python's TOML reader takes quadratic time on long dotted keys.
_LONG_KEY = re.compile(r"(?<![\w-])(?:[\w-]++[ \t]*+\.[ \t]*+){16}")

_PLACED = re.compile(r"(?P<what>.*) \(at line (?P<line>\d+), column (?P<column>\d+)\)", re.DOTALL)
_TWICE = re.compile(r"^Cannot (?:overwrite|declare|mutate)|^Duplicate inline table key")
_KEEP_ONE = "Keep one of the two; what belongs to one section stands below its one header."


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
