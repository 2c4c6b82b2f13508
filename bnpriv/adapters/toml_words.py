"""How refusals of values say it where the values stand in a TOML file: its types and its spelling, not Python's."""

from __future__ import annotations

import re

from bnpriv.checks import type_text

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
