"""Values as TOML, from which the same values are read."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np

from bnpriv.checks import type_text
from bnpriv.errors import FileError
from bnpriv.render.text import toml_key

_SHORT = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t"}

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
    letters = [_SHORT.get(letter) or (letter if letter.isprintable() else _escaped(letter)) for letter in text]
    if text.count(".") > MOST_DOTS:
        letters = ["\\u002e" if letter == "." else letter for letter in letters]
    return f'"{"".join(letters)}"'


def _escaped(letter: str) -> str:
    return f"\\u{ord(letter):04x}" if ord(letter) < 2**16 else f"\\U{ord(letter):08x}"


def toml_name(name: str) -> str:
    """Return a name as a key: bare where it can be, else as a text.

    Examples
    --------
    >>> print(toml_name("height"), toml_name("body height"))
    height "body height"
    """
    return name if toml_key(name) == name else toml_text(name)


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
