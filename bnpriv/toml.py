"""Values as TOML, from which the same values are read."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np

from bnpriv.checks import type_text
from bnpriv.errors import FileError

_SHORT = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t"}
_CODES = {"\\": "\\u005c", '"': "\\u0022"}

MOST_DOTS = 8
"""Dots in a text that stay as they are: Python's reader takes long over many, and a file with them is refused."""


def toml_value(value: object) -> str:
    r"""Return a text, truth value, number, list or mapping as it stands in a TOML file.

    Numbers have the shortest digits that are read as the same number, and stay whole or not.

    Raises
    ------
    FileError
        If no TOML file can hold the value.

    Examples
    --------
    >>> print(toml_value(["a\tb", True, 50, 0.1, {"low": 1e-9}]))
    ["a\tb", true, 50, 0.1, { low = 1e-09 }]
    """
    plain = cast(Any, value).item() if isinstance(value, np.generic) else value
    if isinstance(plain, str):
        return toml_text(plain)
    if isinstance(plain, bool):
        return "true" if plain else "false"
    if isinstance(plain, int):
        return int.__repr__(plain)
    if isinstance(plain, float):
        return float.__repr__(plain)
    if isinstance(plain, Mapping):
        held = cast("Mapping[str, object]", plain)
        inside = ", ".join(f"{toml_name(key)} = {toml_value(each)}" for key, each in held.items())
        return f"{{ {inside} }}" if inside else "{}"
    if isinstance(plain, (list, tuple)):
        return f"[{', '.join(map(toml_value, cast('Sequence[object]', plain)))}]"
    raise FileError(
        "a TOML file holds texts, numbers, truth values, lists and tables",
        found=type_text(plain),
        remedy="Keep it in Python.",
    )


def toml_text(text: str) -> str:
    r"""Return a text as a basic string of a TOML file.

    Raises
    ------
    FileError
        If it holds half of a character, which no file in UTF-8 can.

    Examples
    --------
    >>> print(toml_text('5" \\ \x1b'))
    "5\" \\ \u001b"
    """
    if any("\ud800" <= letter <= "\udfff" for letter in text):
        raise FileError("a text must be whole characters", found="half of one", remedy="Correct the text.")
    written = _between_quotes(text, _SHORT)
    return written.replace(".", "\\u002e") if text.count(".") > MOST_DOTS else written


def _between_quotes(text: str, spelt: Mapping[str, str]) -> str:
    """A basic string, with some letters spelt as they are told, and those that cannot be printed by their numbers."""

    def letter(each: str) -> str:
        if each in spelt or each.isprintable():
            return spelt.get(each, each)
        return f"\\u{ord(each):04x}" if ord(each) < 2**16 else f"\\U{ord(each):08x}"

    return f'"{"".join(map(letter, text))}"'


def readable_text(text: str) -> str:
    r"""A text as a string on one line, for people who go on writing the file: between single quotes if it has double.

    Examples
    --------
    >>> print(readable_text("age"), readable_text('a"b'), readable_text("line\nend"))
    "age" 'a"b' "line\u000aend"
    """
    if '"' in text and text.isprintable() and not set(text) & {"'", "\\"}:
        return f"'{text}'"
    return _between_quotes(text, _CODES)


def toml_key(name: str) -> str:
    r"""A name as a key: bare where it can be, else a basic string; any text at all can be shown so.

    Examples
    --------
    >>> print(toml_key("height"), toml_key("body height"), toml_key('a"b'))
    height "body height" "a\u0022b"
    """
    return name if _is_bare(name) else _between_quotes(name, _CODES)


def toml_name(name: str) -> str:
    """A name as a key of a file that is to be read: bare where it can be, else as `toml_text`.

    Examples
    --------
    >>> print(toml_name("height"), toml_name("body height"))
    height "body height"
    """
    return name if _is_bare(name) else toml_text(name)


def _is_bare(name: str) -> bool:
    return bool(name) and all(letter.isascii() and (letter.isalnum() or letter in "-_") for letter in name)


def toml_section(path: Sequence[str], values: Mapping[str, object]) -> str:
    """Return a section with its keys.

    Examples
    --------
    >>> print(toml_section(["columns", "height"], {"type": "real", "lower": 120}))
    [columns.height]
    type = "real"
    lower = 120
    """
    lines = [f"[{'.'.join(map(toml_name, path))}]"] if path else []
    return "\n".join([*lines, *(f"{toml_name(key)} = {toml_value(value)}" for key, value in values.items())])


def short_number(number: float) -> float:
    """Return a whole number without its point, where whoever reads it makes a double of it.

    Examples
    --------
    >>> short_number(120.0), short_number(0.5)
    (120, 0.5)
    """
    plain = float(number)
    whole = plain.is_integer() and abs(plain) < 2**53 and math.copysign(1.0, plain) == (1.0 if plain >= 0 else -1.0)
    return int(plain) if whole else plain
