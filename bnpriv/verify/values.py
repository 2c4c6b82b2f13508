"""Exact numbers, laws of finitely many values, and the two ways in which a check ends without a verdict on a claim.

Nothing of the rest of bnpriv is imported.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any, NoReturn

Law = dict[Any, Decimal]
DecimalMatrix = list[list[Decimal]]

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


def united(sets: Iterable[set[Any]]) -> list[set[Any]]:
    """Return unions of sets that share something, so that no two unions do."""
    found = list[set[Any]]()
    for each in sets:
        met = [old for old in found if old & each]
        found = [*(old for old in found if not old & each), each.union(*met)]
    return found


def alike(stored: Mapping[Any, Decimal], declared: Mapping[Any, Decimal]) -> bool:
    """Whether two laws are the same but for rounding."""
    cells = stored.keys() | declared.keys()
    return all(abs(stored.get(c, ZERO) - declared.get(c, ZERO)) <= ROUNDING * declared.get(c, ZERO) for c in cells)


# --------------------------------------------------------------------------------------------------
# Noise that moves records between classes.
#
# Noise moves records between m classes: whole numbers z of sum 0 of probability proportional to q^moves(z), where
# moves(z) is half the sum of their sizes and q = exp(-1/scale). How many such vectors have s moves, and one or two of
# their numbers above a bound, is counted by stars and bars. Sums over s are geometric, and all terms are positive.
# --------------------------------------------------------------------------------------------------


class MovedRecords:
    """Noise that moves records between some classes."""

    def __init__(self, classes: int, scale: Fraction) -> None:
        self.m, self.scale = classes, decimal(scale)
        self.q = (-ONE / self.scale).exp()

    @cached_property
    def _every(self) -> Decimal:
        others = self.m - 1
        return sum(math.comb(others, i) ** 2 * self.q**i for i in range(self.m)) / (1 - self.q) ** others

    def _sum(self, bound: int, held: int, sums: tuple[int, ...]) -> Decimal:
        """The mass of vectors with `bound` of the gains of `held` classes taken off, weighted by binomials of the rest.

        With u + 1 gains left in j classes the weights are the sums of C(u, j - d) for d in `sums`.
        """
        m, found = self.m, [0] * (2 * self.m)
        for j in range(held, m):
            free = m - j - 1
            for low in range(free + 1):
                ways = math.comb(m - held, j - held) * math.comb(bound + m - j, free - low)
                for a in (j - d for d in sums):
                    for i in range(max(a, low), a + low + 1):
                        found[i] += ways * math.comb(i, a) * math.comb(a, i - low)
        over = (number * (self.q / (1 - self.q)) ** i for i, number in enumerate(found) if number)
        return (-(bound + 1) / self.scale).exp() * sum(over, ZERO) / (1 - self.q) / self._every

    def above(self, bound: int) -> Decimal:
        """How likely one class gains more than a number of records."""
        return self._sum(bound, 1, (1,)) if bound >= 0 else 1 - self._sum(-bound - 1, 1, (1,))

    def both_above(self, bounds: int) -> Decimal:
        """How likely two classes gain more than bounds of that sum, each at least 0."""
        return self._sum(bounds, 2, (1,)) if self.m > 2 else ZERO

    def more(self, bound: int) -> Decimal:
        """How many records more than a number one class gains on average."""
        return self._sum(bound, 1, (0, 1)) if bound >= 0 else self._sum(-bound, 1, (0, 1)) - bound

    def trimmed(self, most: int, moved: int) -> tuple[Decimal, Decimal]:
        """The delta, from below and above, of noise of which no number is above a bound."""
        if most < moved:
            return ONE, ONE
        edge, beyond = self.above(most - moved) - self.above(most), self.above(most)
        among = 1 - self.m * beyond
        if among <= 0:
            return ZERO, ONE
        low = edge - (self.m - 1) * self.both_above(2 * most - moved)
        low /= among + math.comb(self.m, 2) * self.both_above(2 * most)
        return low, edge / among

    def filled(self, bound: int, moved: int, gap: Decimal) -> Decimal:
        """The delta, from above, of made-up records of a law that is off by `gap` in total variation."""
        passed = self.above(bound - moved) + (self.m - 1) * self.above(bound)
        over = self.more(bound) - self.more(bound + moved) if self.m == 2 else moved * self.above(bound)
        return min(ONE, passed, gap * (self.more(bound - moved) - self.more(bound) + over))
