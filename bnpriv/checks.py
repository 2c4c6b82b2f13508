"""Validation at the border: every comparison is written so that NaN fails it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Set
from fractions import Fraction
from numbers import Integral, Real

from bnpriv.errors import BnprivError, DeclarationError, ParameterError

LEAST_EPSILON = 1e-8
"""Least epsilon that may be asked for: the noise of a smaller one makes every answer useless, in its rounding too."""

LARGEST_EPSILON = 100.0
"""Largest epsilon that may be asked for: the odds may then move by a factor 10^43, which protects nothing."""


def number(
    what: str, value: object, *, error: type[BnprivError] = ParameterError, remedy: str = "Pass a number."
) -> float:
    """Return `value` as a finite float; booleans, strings, NaN and infinities are refused."""
    if isinstance(value, bool) or not isinstance(value, (Real, Fraction)):
        raise error(f"{what} must be a number", found=f"a {type(value).__name__}", remedy=remedy)
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
        raise error(f"{what} must be a whole number", found=f"a {type(value).__name__}", remedy=remedy)
    if not int(value) >= least:
        raise error(f"{what} must be at least {least}", found=shown(int(value)), remedy=remedy)
    return int(value)


def epsilon(value: object) -> float:
    """Return a privacy parameter epsilon: from `LEAST_EPSILON` to `LARGEST_EPSILON`."""
    remedy = "Choose the bound on the log odds that you accept, for example 1.0."
    result = positive("epsilon", value, remedy=remedy)
    if not LEAST_EPSILON <= result <= LARGEST_EPSILON:
        required = f"epsilon must be from {LEAST_EPSILON:g} to {LARGEST_EPSILON:g}"
        raise ParameterError(required, found=f"{result:g}", remedy=remedy)
    return result


def delta(value: object) -> float:
    """Return a privacy parameter delta: at least 0, below 1."""
    remedy = "Pass 0 for a pure guarantee, or a number well below one over the number of records."
    result = number("delta", value, remedy=remedy)
    if not 0 <= result < 1:
        raise ParameterError("delta must be at least 0 and below 1", found=f"{result:g}", remedy=remedy)
    return result


def text(what: str, value: object, *, error: type[BnprivError] = DeclarationError) -> str:
    """Return `value` as a string that is not blank."""
    if not isinstance(value, str) or not value.strip():
        found = "an empty string" if isinstance(value, str) else f"a {type(value).__name__}"
        raise error(f"{what} must be a non-empty string", found=found, remedy="Give it a name or a sentence.")
    return value


def member(what: str, value: str, allowed: Iterable[str], *, error: type[BnprivError] = DeclarationError) -> str:
    """Return `value` if it is one of `allowed`."""
    choices = tuple(allowed)
    if value not in choices:
        raise error(f"{what} must be one of {listing(choices)}", found=repr(value), remedy="Check the spelling.")
    return value


def subset(
    what: str, values: Iterable[str], allowed: Iterable[str], *, error: type[BnprivError] = DeclarationError
) -> frozenset[str]:
    """Return `values` as a frozenset if all of them are among `allowed`."""
    if isinstance(values, str):
        values = (values,)
    found: Set[str] = frozenset(values)
    choices = tuple(allowed)
    unknown = sorted(str(value) for value in found.difference(choices))
    if unknown:
        raise error(f"{what} must be among {listing(choices)}", found=listing(unknown), remedy="Check the spelling.")
    return frozenset(found)


def shown(value: int) -> str:
    """Write a whole number for a message; Python refuses to print one of more than 4,300 digits."""
    return str(value) if abs(value) < 10**20 else "a number of more than 20 digits"


def listing(names: Iterable[object], most: int = 12) -> str:
    """Join names for a message, cut after `most` of them."""
    shown = [str(name) for name in names]
    tail = f" and {len(shown) - most} more" if len(shown) > most else ""
    return ", ".join(shown[:most]) + tail if shown else "nothing"
