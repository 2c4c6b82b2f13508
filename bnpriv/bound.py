"""Numbers that say how well they are known: Bound(lower, upper, kind)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from bnpriv.checks import member
from bnpriv.errors import ParameterError

Kind = Literal["exact", "certified", "estimate"]
KINDS: tuple[Kind, ...] = ("exact", "certified", "estimate")

UNIT_ROUNDOFF = 2.0**-53

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Bound:
    """A number known to lie between two others.

    Parameters
    ----------
    lower, upper : float
        ``lower <= true value <= upper``; for the kind "estimate" this is only believed.
    kind : {"exact", "certified", "estimate"}
        "exact": a finite computation whose rounding error the two ends include; "certified": `upper` always holds
        but may be loose; "estimate": rests on draws without a proved error.

    Raises
    ------
    ParameterError
        If an end is NaN or the ends are the wrong way round.

    Examples
    --------
    >>> float(Bound(0.5, 0.5000001, "exact"))
    0.5000001
    """

    lower: float
    upper: float
    kind: Kind = "exact"

    def __post_init__(self) -> None:
        member("kind", self.kind, KINDS, error=ParameterError)
        if not self.lower <= self.upper:
            raise ParameterError(
                "a bound needs lower <= upper",
                found=f"lower {self.lower}, upper {self.upper}",
                remedy="Report the computation that led here: one of its numbers is not a number.",
            )

    def __float__(self) -> float:
        return self.upper


def weakest(kinds: Iterable[Kind]) -> Kind:
    """The kind of a result that rests on all of `kinds`.

    Examples
    --------
    >>> weakest(["exact", "estimate", "certified"])
    'estimate'
    """
    worst = max((KINDS.index(kind) for kind in kinds), default=0)
    return KINDS[worst]


def up(value: float, steps: int = 4) -> float:
    """Round up by `steps` units in the last place, so that the few operations behind `value` cannot have lost any."""
    if value == 0 or math.isinf(value):
        return value
    for _ in range(steps):
        value = math.nextafter(value, math.inf)
    return value


def down(value: float, steps: int = 4) -> float:
    """Round down by `steps` units in the last place."""
    return -up(-value, steps)


def halved(low: float, high: float, holds: Callable[[float], bool], steps: int) -> tuple[float, float]:
    """The ends of an interval after so many halvings, where something begins to hold between its ends.

    Both ends were tested by `holds`, or are what they were.

    Examples
    --------
    >>> halved(0.0, 1.0, lambda x: x >= 0.3, 2)
    (0.25, 0.5)
    """
    for _ in range(steps):
        middle = (low + high) / 2
        if not low < middle < high:  # no double lies between
            break
        low, high = (low, middle) if holds(middle) else (middle, high)
    return low, high


def least_whole(low: int, high: int, holds: Callable[[int], bool]) -> int:
    """The least whole number at which something holds that holds at `high`, not at `low`, and from some number on.

    Examples
    --------
    >>> least_whole(0, 100, lambda k: k * k >= 50)
    8
    """
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
