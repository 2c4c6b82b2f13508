"""Sums over releases that grow by one: what the next release adds takes the same work however many there are."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import final

from bnpriv.accounting.entries import Entry
from bnpriv.accounting.families import ADDED, JOINTLY
from bnpriv.bound import up
from bnpriv.errors import Refusal

LARGEST_EXPONENT = 700
"""Above it the exponential of a sum of epsilons counts as infinite."""


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class Tally:
    """What releases sum up to, apart from what the model tells of them.

    Parameters
    ----------
    count : int
        How many there are.
    epsilon, delta : Fraction
        The sums over the releases of `ColumnMechanism`.
    before : Fraction
        The part of `epsilon` that was spent before any release that counts by the model.
    modelled : tuple of Entry
        The releases that count by the model.
    followed : bool
        Whether anything came after the first of them.
    has_delta : bool
        Whether any release has a delta.
    apart : tuple of Entry
        One release of every sort that decides what it is added to.
    """

    count: int = 0
    epsilon: Fraction = Fraction(0)
    delta: Fraction = Fraction(0)
    before: Fraction = Fraction(0)
    modelled: tuple[Entry, ...] = ()
    followed: bool = False
    has_delta: bool = False
    apart: tuple[Entry, ...] = ()

    def plus(self, entry: Entry) -> Tally | Refusal:
        """Return the sums with one more release, or why it is not counted beside the others."""
        for earlier in self.apart:
            if frozenset({earlier.family, entry.family}) not in ADDED:
                own = entry if entry.family == "own law" else earlier
                return Refusal(
                    required="what is counted beside another release must be so by a theorem",
                    found=f"a release that counts by its own law alone ({own.alone})",
                    remedy=JOINTLY,
                )
        column = entry.family == "column"
        if not column and not self.modelled and self.delta:
            return DELTA_FIRST
        known = any((each.family, each.delta > 0) == (entry.family, entry.delta > 0) for each in self.apart)
        epsilon = self.epsilon + entry.epsilon if column else self.epsilon
        return replace(
            self,
            count=self.count + 1,
            epsilon=epsilon,
            delta=self.delta + entry.delta if column else self.delta,
            before=self.before if self.modelled else epsilon,
            modelled=self.modelled if column else (*self.modelled, entry),
            followed=bool(self.modelled),
            has_delta=self.has_delta or entry.delta > 0,
            apart=self.apart if known else (*self.apart, entry),
        )

    @property
    def growth(self) -> Fraction | None:
        """By which factor the delta of modelled releases grows, rounded up; None if by no number."""
        if not self.before:
            return Fraction(1)
        if self.before > LARGEST_EXPONENT:
            return None
        return Fraction(up(math.exp(up(float(self.before)))))


DELTA_FIRST = Refusal(
    required="a release of ColumnMechanism before one that counts by the model must have delta 0",
    found="one with delta above 0",
    remedy='Release what counts by the model first, or take ColumnMechanism(noise="laplace").',
)
