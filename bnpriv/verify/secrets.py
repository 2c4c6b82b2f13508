"""Pairs of secrets that must not be told apart, and how many records change from one to the other."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations
from typing import Any

from bnpriv.verify.values import require


def shown(pair: Any) -> str:
    """A pair of secrets in words."""
    return " against ".join(" or ".join(map(str, side)) for side in pair)


def pairs_of(secret: Any, values: list[Fraction]) -> list[Any]:
    """The pairs of sets of possible values of a property that must not be told apart."""
    if "pairs" not in secret:
        most = secret.get("at_most", math.inf) * (1 + 1e-12)
        return [((a,), (b,)) for a, b in combinations(values, 2) if b - a <= most]
    return [[sorted({v for x in side for v in _meant(x, values)}) for side in pair] for pair in secret["pairs"]]


def _meant(number: Any, values: Sequence[Fraction]) -> list[Fraction]:
    """The values that are rounded to a number; if there is none, the nearest one, unless it is far off."""
    if not values:
        return []
    exact = Fraction(number)
    nearest = min(values, key=lambda value: abs(value - exact))
    far = abs(nearest - exact) > Fraction(1, 10**9) * max(1, abs(exact))
    return [value for value in values if float(value) == number] or ([] if far else [nearest])


def farthest(secret: Any, n: int, least: Fraction, unit: Fraction) -> int:
    """How many records change at most from one secret of a pair to the other, for a property that counts."""
    if "pairs" not in secret:
        return min(n, math.floor(secret["at_most"] / unit * (1 + 1e-12))) if "at_most" in secret else n
    sides = [[[k for x in side for k in _counts(x, n, least, unit)] for side in pair] for pair in secret["pairs"]]
    return max((abs(a - b) for first, second in sides for a in first for b in second), default=0)


def _counts(number: Any, n: int, least: Fraction, unit: Fraction) -> list[int]:
    """How many records may count where a property that counts is written as a number."""
    first, last = ((Fraction(number) + sign * Fraction(math.ulp(number)) - least) / unit for sign in (-1, 1))
    around = range(max(0, math.floor(first)), min(n, math.ceil(last)) + 1)
    require(len(around) <= 10**5, "a value of a secret that stands for very many")
    values = [least + k * unit for k in around]
    return [around[values.index(value)] for value in _meant(number, values)]
