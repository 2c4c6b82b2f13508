"""Limits and border checks that all laws share."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from bnpriv import checks
from bnpriv.bound import FloatArray
from bnpriv.errors import LawError, SizeError

SUM_TOLERANCE = 1e-9
"""How far the probabilities of a declared law may be from a sum of one."""

FUNCTION_ERROR = 8
"""Relative error of exp and log in units of UNIT_ROUNDOFF: NumPy's vector versions may be off by 4 ulp."""

MOST_ATOMS = 2**24
"""Largest support that is ever allocated."""

LARGEST = 2.0**500
"""Largest coordinate or variance: differences and squares must not overflow."""


def refused(required: str, found: str, remedy: str = "Correct the law.") -> LawError:
    """Return the error for a law that is not well formed."""
    return LawError(required, found=found, remedy=remedy)


def numbers(what: str, values: ArrayLike, *, lowest: float = -LARGEST) -> FloatArray:
    """Return `values` as an array of doubles between `lowest` and LARGEST; no strings, booleans or NaN."""
    try:
        raw = np.asarray(values)
    except ValueError:
        raise refused(f"{what} must be real numbers", "rows of different lengths") from None
    if raw.dtype.kind not in "iufO":
        raise refused(f"{what} must be real numbers", f"an array of type {raw.dtype}")
    try:
        array = raw.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        raise refused(f"{what} must be real numbers", "something else in the array") from None
    inside = (array >= lowest) & (array <= LARGEST)
    if not np.all(inside):
        found = f"{float(array[~inside].flat[0]):g}"
        raise refused(f"{what} must be numbers of a size of at most {LARGEST:.3g}", found)
    return array


def check_atoms(count: int) -> None:
    """Refuse a support that is too large, before it is allocated."""
    if count > MOST_ATOMS:
        raise SizeError(
            f"a law may have at most {MOST_ATOMS:,} atoms",
            found=checks.shown(count),
            remedy="Round the answer to a coarser grid, or take fewer records or columns.",
        )


def magnitude(values: FloatArray) -> float:
    """Return the largest absolute value among the finite ones."""
    return float(np.max(np.abs(values), where=np.isfinite(values), initial=0.0))


def log_sum(logs: FloatArray) -> float:
    """Return the log of the sum of exponentials of finite numbers or -inf, at least one of them finite."""
    top = float(np.max(logs))
    return top + math.log(float(np.sum(np.exp(logs - top))))


def log_sum_exp(values: FloatArray, axis: int | tuple[int, ...]) -> FloatArray:
    """Return the log of the sum of exponentials along `axis`; -inf where every entry is."""
    top = np.max(values, axis=axis, keepdims=True)
    shift = np.where(np.isfinite(top), top, 0.0)
    shifted = values - shift
    np.exp(shifted, out=shifted)
    with np.errstate(divide="ignore"):
        total = np.log(np.sum(shifted, axis=axis))
    return total + np.squeeze(shift, axis=axis)
