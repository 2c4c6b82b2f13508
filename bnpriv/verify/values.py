"""Exact numbers, laws of finitely many values, and the two ways in which a check ends without a verdict on a claim.

Nothing of the rest of bnpriv is imported.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any, NoReturn

Law = dict[Any, Decimal]

ZERO, ONE, HALF, INFINITE = Decimal(0), Decimal(1), Decimal("0.5"), Decimal("Infinity")
SLACK = Decimal("1e-40")
"""Far above what rounding to 60 digits can add to a log of a ratio of masses."""

ROUNDING = Decimal("1e-9")
"""Relative difference of masses that come from one number."""

UNSHOWN = "cannot be shown"
"""The status of a claim that no bound bears and no output refutes."""

MOST_STORED_MODELS = 2**20
"""Models that are counted through, of a network or of public records."""

FRACTION = re.compile(r"-?[0-9]{1,2000}(?:/[0-9]{1,2000})?")
DISTRIBUTIONAL, DATASET, VALUE = (
    f"{name} privacy" for name in ("distributional attribute", "dataset attribute", "value")
)


class StopError(Exception):
    """The end of a check: a status and a text."""


def refuse(reason: str) -> NoReturn:
    """End with a reason that was stored, which starts with its verdict."""
    status, _, text = reason.partition(": ")
    raise StopError("too large" if status == "too large" else "not covered", text)


def require(condition: object, what: str) -> None:
    """End as not covered unless a condition holds."""
    if not condition:
        raise StopError("not covered", what)


def number(text: Any) -> Decimal:
    """A hexadecimal double."""
    return Decimal(float.fromhex(text))


def decimal(exact: Fraction) -> Decimal:
    """The nearest decimal."""
    return Decimal(exact.numerator) / Decimal(exact.denominator)


def fraction(text: Any) -> Fraction:
    """A fraction that is written as a text."""
    require(isinstance(text, str) and FRACTION.fullmatch(text), "a weight that is no fraction")
    return Fraction(text)


def summed(cells: Iterable[tuple[Any, Decimal]] = ()) -> Law:
    """A law from its masses, those of one key added up; what is not there has mass 0."""
    found: Law = defaultdict(Decimal)
    for key, mass in cells:
        found[key] += mass
    return found


def merged(laws: Sequence[Law]) -> Law:
    """The sum of some laws, divided by its mass; empty if there is none."""
    found = summed(item for law in laws for item in law.items())
    total = sum(found.values())
    return {key: mass / total for key, mass in found.items() if mass}


def alike(stored: Mapping[Any, Decimal], declared: Mapping[Any, Decimal]) -> bool:
    """Whether two laws are the same but for rounding."""
    cells = stored.keys() | declared.keys()
    return all(abs(stored.get(c, ZERO) - declared.get(c, ZERO)) <= ROUNDING * declared.get(c, ZERO) for c in cells)
