"""Exact numbers of budgets: what a person types is what is meant."""

from __future__ import annotations

import math
from fractions import Fraction


def typed(number: float) -> Fraction:
    """Return the shortest decimal that stands for a double: .1 is one tenth, not the double beside it.

    Examples
    --------
    >>> 3 * typed(0.1) == typed(0.3)
    True
    """
    return Fraction(repr(float(number)))


def rounded_up(number: Fraction) -> float:
    """Return the least double that is not below an exact number; infinite above the largest.

    Examples
    --------
    >>> rounded_up(Fraction(3, 10)), rounded_up(Fraction(1, 3)) >= Fraction(1, 3)
    (0.3, True)
    """
    try:
        nearest = number.numerator / number.denominator
    except OverflowError:
        return math.inf
    if typed(nearest) == number:
        return nearest
    return nearest if Fraction(nearest) >= number else math.nextafter(nearest, math.inf)
