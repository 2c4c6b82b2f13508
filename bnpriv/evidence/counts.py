"""Which values of a property of the table are meant by a declared secret, and how many records lie between two."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import final

from bnpriv.errors import RefusedError, SecretError
from bnpriv.queries.normal_form import Wholes
from bnpriv.secrets.apart import Apart
from bnpriv.secrets.properties import NEAR, Secret
from bnpriv.secrets.states import BETWEEN, SecretPair, side_text
from bnpriv.secrets.values import Interval, IntervalPair
from bnpriv.tables.schema import State

MOST_EXACT_PAIRS = 2000
"""Pairs of secrets whose exact laws are compared; more of them are served by the per-record rule."""

MOST_GAPS = 10**6
"""Pairs of counts that are looked at one by one."""

CountPairs = dict[int, tuple[frozenset[int], frozenset[int]]]
"""Pairs of sets of counts, by the place of the pair among the chosen ones."""


def impossible(value: str) -> SecretError:
    """Return the refusal of a value that the property cannot take."""
    return SecretError(
        "a value of the secret must be possible under some model",
        found=value,
        remedy="Name values that the property can take, for example whole counts.",
    )


def require_disjoint(pair: SecretPair | IntervalPair, first: Collection[object], second: Collection[object]) -> None:
    """Refuse two secrets that stand for one value of the property.

    Raises
    ------
    RefusedError
        If there is such a value.
    """
    if not set(first).isdisjoint(second):
        raise RefusedError(
            "the two secrets of a pair must be disjoint",
            found=f"{pair}, which stand for one value of the property",
            remedy="Name values that the property can take, each on one side only.",
        )


def number_of(value: State) -> float:
    """Return a value of a property, which must be a number."""
    if isinstance(value, (str, bool)):
        raise SecretError("values of a property are numbers", found=repr(value), remedy="Give numbers.")
    return float(value)


def meant(side: Iterable[State] | Interval, values: Iterable[Fraction]) -> frozenset[Fraction]:
    """Return the exact values of a property for which the numbers of a secret, or an interval of them, stand.

    A number stands for every value that is rounded to it; where there is none, for the nearest one within `NEAR`, as
    one third is often written with fewer digits. An interval stands for the values in it, and for those that are
    rounded to an end of it.

    Raises
    ------
    SecretError
        If a value of the secret is no number.
    """
    listed = list(values)
    if isinstance(side, Interval):
        return frozenset(value for value in listed if side.low <= float(value) <= side.high)
    found: set[Fraction] = set()
    for number in map(number_of, side):
        same = [value for value in listed if float(value) == number]
        near = min(listed, key=lambda value: abs(value - Fraction(number)))
        close = abs(near - Fraction(number)) <= NEAR * max(1, abs(Fraction(number)))
        found.update(same or ([near] if close else []))
    return frozenset(found)


def reach(at_most: float) -> Fraction:
    """Return a distance between values of a property, with what writing it as a double can have taken from it."""
    return Fraction(at_most) * (1 + Fraction(1, 10**12))


@final
@dataclass(frozen=True, kw_only=True)
class Counts:
    """A property that grows by `unit` with every record that counts, from `low` for none of the `n`."""

    n: int
    low: Fraction
    unit: Fraction

    @classmethod
    def of(cls, scale: Wholes, n: int, low: int, high: int) -> Counts:
        """Make one of the numerators that a record adds, which does not count or does."""
        return cls(
            n=n,
            low=Fraction(n * low + scale.shift, scale.denominator),
            unit=Fraction(high - low, scale.denominator),
        )

    def possible(self, side: frozenset[State] | Interval) -> frozenset[int]:
        """Return how many records count for each value of a secret that the property can take."""
        if isinstance(side, Interval):
            first, last = ((Fraction(end) - self.low) / self.unit for end in (side.low, side.high))
            around = range(max(0, math.floor(first) - 1), min(self.n, math.ceil(last) + 1) + 1)
            inside = {self.low + k * self.unit: k for k in around}
            return frozenset(inside[value] for value in meant(side, inside))
        found: set[int] = set()
        for number in map(number_of, side):
            # all counts whose value is rounded to the number lie within a unit in the last place of it
            ends = (Fraction(number) + sign * Fraction(math.ulp(number)) for sign in (-1, 1))
            first, last = ((end - self.low) / self.unit for end in ends)
            around = range(max(0, math.floor(first)), min(self.n, math.ceil(last)) + 1)
            counts = {self.low + k * self.unit: k for k in around}
            found.update(counts[value] for value in (meant([number], counts) if counts else ()))
        return frozenset(found)

    def pairs(self, secret: Secret) -> CountPairs | None:
        """Return the chosen pairs that are possible as sets of counts; None where a distance describes them."""
        if secret.pairs is None or isinstance(secret.pairs, Apart):
            return None
        sides = {k: (self.possible(p.first), self.possible(p.second)) for k, p in enumerate(secret.pairs.chosen)}
        for k, both in sides.items():
            require_disjoint(secret.pairs.chosen[k], *both)
        served = {k: both for k, both in sides.items() if all(both)}
        if not served:
            raise impossible(str(secret.pairs.chosen[0]))
        return served

    def apart(self, secret: Secret, pairs: CountPairs | None) -> tuple[Sequence[int], str]:
        """Return how many records may lie between two secrets of a pair, with the furthest pair in words."""
        if isinstance(secret.pairs, Apart):
            steps = min(self.n, math.floor(reach(secret.pairs.at_most) / self.unit))
            if steps < 1:
                raise SecretError(
                    f"two values of the secret are at least {float(self.unit):g} apart",
                    found=f"at_most {secret.pairs.at_most:g}",
                    remedy="Choose a larger distance.",
                )
            return range(1, steps + 1), f"values {float(steps * self.unit):g} apart"
        if pairs is None or secret.pairs is None:
            return range(1, self.n + 1), f"values up to {float(self.n * self.unit):g} apart"
        gaps = {k: _gaps(first, second) for k, (first, second) in pairs.items()}
        worst = max(gaps, key=lambda k: max(gaps[k]))
        return sorted(set[int]().union(*gaps.values())), BETWEEN.join(secret.pairs.chosen[worst].sides)

    def listed(self, secret: Secret, pairs: CountPairs | None) -> list[tuple[frozenset[int], frozenset[int]]] | int:
        """Return all pairs, one direction each, or their number if there are too many."""
        if pairs is not None:
            return list(pairs.values()) if len(pairs) <= MOST_EXACT_PAIRS else len(pairs)
        steps = self.apart(secret, pairs)[0][-1]
        number = sum(self.n + 1 - k for k in range(1, steps + 1)) if steps <= MOST_EXACT_PAIRS else self.n * steps
        if number > MOST_EXACT_PAIRS:
            return number
        return [(frozenset({s}), frozenset({s + k})) for k in range(1, steps + 1) for s in range(self.n + 1 - k)]

    def text(self, members: frozenset[int]) -> str:
        """Return a set of counts as values of the property."""
        return side_text(frozenset(f"{float(self.low + self.unit * s):g}" for s in members))


def _gaps(first: frozenset[int], second: frozenset[int]) -> set[int]:
    """Return how far apart two counts of two sets may be, for many counts all up to the largest distance."""
    if len(first) * len(second) > MOST_GAPS:
        return set(range(1, max(max(first) - min(second), max(second) - min(first)) + 1))
    return {max(1, abs(a - b)) for a in first for b in second}
