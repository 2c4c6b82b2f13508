"""Validation at the border: every comparison is written so that NaN fails it."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence, Set
from contextlib import suppress
from fractions import Fraction
from numbers import Integral, Real
from typing import Any, cast

from bnpriv.errors import BnprivError, DeclarationError, ParameterError

MOST_COMPARED_LETTERS = 100
"""Of a name that is compared with others: the time for it grows with the square."""

MOST_COMPARED = 1000
"""Names with which one that is unknown is compared."""

MOST_MEANT = 10
"""Names that may be meant by one that is unknown, in a message."""

LEAST_EPSILON = 1e-8
"""Least epsilon that may be asked for: the noise of a smaller one makes every answer useless, in its rounding too."""

LARGEST_EPSILON = 100.0
"""Largest epsilon that may be asked for: the odds may then move by a factor 10^43, which protects nothing."""


def number(
    what: str, value: object, *, error: type[BnprivError] = ParameterError, remedy: str = "Pass a number."
) -> float:
    """Return `value` as a finite float; booleans, strings, NaN and infinities are refused."""
    if isinstance(value, bool) or not isinstance(value, (Real, Fraction)):
        found = f"{type_text(value)} (text in quotes)" if isinstance(value, str) else type_text(value)
        raise error(f"{what} must be a number", found=found, remedy=remedy)
    try:
        result = float(value)
    except OverflowError:
        result = math.inf
    if not math.isfinite(result):
        raise error(f"{what} must be finite", found=str(result), remedy=remedy)
    return result


def positive(
    what: str, value: object, *, error: type[BnprivError] = ParameterError, remedy: str = "Pass a positive number."
) -> float:
    """Return `value` as a finite float above zero."""
    result = number(what, value, error=error, remedy=remedy)
    if not result > 0:
        raise error(f"{what} must be above 0", found=f"{result:g}", remedy=remedy)
    return result


def not_negative(what: str, value: object, *, remedy: str = "Pass a number of at least 0, such as 0.05.") -> float:
    """Return `value` as a finite float of at least zero."""
    result = number(what, value, remedy=remedy)
    if not result >= 0:
        raise ParameterError(f"{what} must be at least 0", found=f"{result:g}", remedy=remedy)
    return abs(result)


def whole(
    what: str,
    value: object,
    *,
    least: int = 1,
    error: type[BnprivError] = ParameterError,
    remedy: str = "Pass a whole number.",
) -> int:
    """Return `value` as an int of at least `least`; booleans and floats are refused."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise error(f"{what} must be a whole number", found=type_text(value), remedy=remedy)
    if not int(value) >= least:
        raise error(f"{what} must be at least {least}", found=shown(int(value)), remedy=remedy)
    return int(value)


def listed(value: object) -> tuple[object, ...] | None:
    """The members of a list, a tuple, a range or an array; None for texts and what has no order or no end.

    Examples
    --------
    >>> listed([1, 2]), listed("12"), listed({1, 2})
    ((1, 2), None, None)
    """
    # an array of one number lists nothing
    found: object = cast(Any, value).tolist() if hasattr(value, "tolist") else value
    if isinstance(found, (str, bytes)) or not isinstance(found, Sequence):
        return None
    return tuple(cast("Sequence[object]", found))


def flag(what: str, value: object) -> bool:
    """Return `value` if it is True or False; what merely counts as true, such as "no", is refused."""
    if not isinstance(value, bool):
        raise ParameterError(f"{what} must be True or False", found=type_text(value), remedy=f"Write {what}=True.")
    return value


def epsilon(value: object) -> float:
    """A privacy parameter epsilon: from `LEAST_EPSILON` to `LARGEST_EPSILON`."""
    remedy = "Choose the bound on the log odds that you accept, for example 1.0."
    result = positive("epsilon", value, remedy=remedy)
    if not LEAST_EPSILON <= result <= LARGEST_EPSILON:
        required = f"epsilon must be from {LEAST_EPSILON:g} to {LARGEST_EPSILON:g}"
        raise ParameterError(required, found=f"{result:g}", remedy=remedy)
    return result


def delta(value: object) -> float:
    """A privacy parameter delta: at least 0, below 1."""
    remedy = "Pass 0 for a pure guarantee, or a number well below one over the number of records."
    result = number("delta", value, remedy=remedy)
    if not 0 <= result < 1:
        raise ParameterError("delta must be at least 0 and below 1", found=f"{result:g}", remedy=remedy)
    return result


def text(what: str, value: object, *, error: type[BnprivError] = DeclarationError) -> str:
    """Return `value` as a string that is not blank."""
    if not isinstance(value, str) or not value.strip():
        found = "an empty string" if isinstance(value, str) else type_text(value)
        raise error(f"{what} must be a non-empty string", found=found, remedy="Give it a name or a sentence.")
    return value


def member(what: str, value: str, allowed: Iterable[str], *, error: type[BnprivError] = DeclarationError) -> str:
    """Return `value` if it is one of `allowed`; a name that is close to one of them is taken for a slip."""
    choices = tuple(allowed)
    if not isinstance(value, str) or value not in choices:
        named = isinstance(value, str)
        raise error(
            f"{what} must be one of {listing(near_first(value, choices), MOST_MEANT)}",
            found=cut(value) if named else type_text(value),
            remedy=spelling(value, choices) if named else "Pass a name.",
        )
    return value


def subset(
    what: str, values: Iterable[str], allowed: Iterable[str], *, error: type[BnprivError] = DeclarationError
) -> frozenset[str]:
    """Return `values` as a frozenset if all of them are among `allowed`."""
    if isinstance(values, str):
        values = (values,)
    if not isinstance(values, Iterable):
        raise error(f"{what} must be names", found=type_text(values), remedy="Pass a list of names.")
    found: Set[str] = frozenset(values)
    choices = tuple(allowed)
    unknown = sorted(str(value) for value in found.difference(choices))
    if unknown:
        required = f"{what} must be among {listing(near_first(unknown[0], choices), MOST_MEANT)}"
        named = [name if 0 < len(name) <= MOST_COMPARED_LETTERS else cut(name) for name in unknown]
        raise error(required, found=listing(named), remedy=spelling(unknown[0], choices))
    return frozenset(found)


def spelling(value: object, allowed: Iterable[object]) -> str:
    """What to do about a name that is none of `allowed`: the closest of them, or to look again.

    Examples
    --------
    >>> spelling("heigth", ["weight", "height", "sat"])
    "Did you mean 'height'?"
    >>> spelling("shoe size", ["weight", "height", "sat"])
    'Check the spelling.'
    >>> spelling("theta[9]", ["mu", "theta[0]", "theta[1]"])
    "Name an entry of 'theta' that there is, for example 'theta[0]'."
    """
    choices = tuple(allowed)
    # without dimensions of another name before labels that there are; looked for once from each delimiter on
    plain = re.sub(r"(?<![^\[,=])[^\[,=]+=", "", str(value))
    near = plain if plain in choices and plain != value else closest(value, choices)
    if near is not None:
        return f"Did you mean {near!r}?"
    entries = _entries(value, choices)
    if entries:
        return f"Name an entry of {entries[0].partition('[')[0]!r} that there is, for example {entries[0]!r}."
    return "Check the spelling."


def closest(value: object, allowed: Iterable[object]) -> str | None:
    """The one of `allowed` for which `value` is most likely a slip, whatever the case of letters, or None."""
    return next(iter(_near(value, tuple(allowed), 1, 0.7)), None)


def near_first(value: object, allowed: Iterable[str]) -> list[str]:
    """All names, in their order where few can be listed; of many those first that may have been meant.

    Examples
    --------
    >>> near_first("theta[9]", [*"abcdefghijk", "theta[0]"])[:3]
    ['theta[0]', 'a', 'b']
    """
    choices = [*allowed]
    near = _near(value, choices, MOST_MEANT, 0.5) or _entries(value, choices) if len(choices) > MOST_MEANT else []
    return list(dict.fromkeys([*near, *choices]))


def _near(value: object, choices: Sequence[object], most: int, cutoff: float) -> list[str]:
    """The names that are alike, the closest first; where a vector is named, its entries by what stands in brackets."""
    from difflib import SequenceMatcher

    if not isinstance(value, str) or len(value) > MOST_COMPARED_LETTERS:
        return []
    stem, bracket, _ = value.partition("[")
    if bracket and stem in choices:
        return [stem]
    entries = _entries(value, choices)
    names = [each for each in entries or choices if isinstance(each, str) and len(each) <= MOST_COMPARED_LETTERS]
    skipped = len(stem) if entries else 0
    matcher, alike = SequenceMatcher(b=value.lower()[skipped:]), dict[str, float]()
    for name in names[:MOST_COMPARED]:
        matcher.set_seq1(name.lower()[skipped:])
        if min(matcher.real_quick_ratio(), matcher.quick_ratio()) >= cutoff and matcher.ratio() >= cutoff:
            alike[name] = matcher.ratio()
    return sorted(alike, key=lambda name: -alike[name])[:most]


def _entries(value: object, choices: Sequence[object]) -> list[str]:
    """The entries of the vector that a name is about."""
    stem = value.partition("[")[0] if isinstance(value, str) else ""
    return [each for each in choices if stem and isinstance(each, str) and each.startswith(f"{stem}[")]


def spelt_apart(value: object, allowed: Iterable[object]) -> str:
    """How a value is spelt apart from one that is allowed and would mean the same; empty where none does.

    Examples
    --------
    >>> spelt_apart(" <=50K.", ["<=50K", ">50K"])
    "'<=50K' but for the blanks around it and a final full stop"
    >>> spelt_apart("0.0", [0, 1]), spelt_apart("no", ["yes"])
    ('0, the same number', '')
    """
    for each in allowed:
        told = _apart(str(value), str(each))
        if told:
            return f"{each!r}{told}"
    return ""


def _apart(text: str, other: str) -> str:
    with suppress(ValueError):
        if float(text) == float(other):
            return ", the same number"
    found: list[str] = []
    steps: tuple[tuple[str, Callable[[str], str]], ...] = (
        ("the blanks around it", str.strip),
        ("a final full stop", lambda spelt: spelt.removesuffix(".")),
        ("the case of its letters", str.casefold),
    )
    for what, plain in steps:
        same = plain(text) == text and plain(other) == other
        if not same and text != other:
            text, other = plain(text), plain(other)
            found.append(what)
    return f" but for {' and '.join(found)}" if text == other and found else ""


def type_text(value: object) -> str:
    """Of which type a value is, for a message that must not hold the value itself.

    Examples
    --------
    >>> type_text(3), type_text("x"), type_text(None), type_text(int)
    ('an int', 'a str', 'nothing', 'the class int')
    """
    if value is None:
        return "nothing"
    name = value.__name__ if isinstance(value, type) else type(value).__name__
    return f"the class {name}" if isinstance(value, type) else f"{'an' if name[0] in 'aeiouAEIOU' else 'a'} {name}"


def shown(value: int) -> str:
    """Write a whole number for a message; Python refuses to print one of more than 4,300 digits."""
    return str(value) if abs(value) < 10**20 else "a number of more than 20 digits"


def cut(value: str) -> str:
    """Write a text in quotes for a message, of a long one the beginning.

    Examples
    --------
    >>> cut("textbok")
    "'textbok'"
    """
    return repr(value) if len(value) <= MOST_COMPARED_LETTERS else f"{value[:MOST_COMPARED_LETTERS]!r} and so on"


def listing(names: Iterable[object], most: int = 12) -> str:
    """Join names for a message, cut after `most` of them."""
    shown = [str(name) for name in names]
    tail = f" and {len(shown) - most} more" if len(shown) > most else ""
    return ", ".join(shown[:most]) + tail if shown else "nothing"
