"""The laws of an answer whose numbers are weighed: those of the answer, scaled."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import final

import numpy as np

from bnpriv.errors import Refusal
from bnpriv.evidence.constraints import AnswerLaw, Constraint, LawPair, Laws


@final
@dataclass(frozen=True, eq=False)
class WeightedLaws:
    """The laws of an answer times powers of two, one for each number; the atoms are scaled without rounding.

    Parameters
    ----------
    plain : Laws
        Those of the answer itself.
    weights : tuple of float
        At least 1.
    """

    plain: Laws
    weights: tuple[float, ...]

    @property
    def dimension(self) -> int:
        """Return how many numbers the answer has."""
        return self.plain.dimension

    @property
    def rounding(self) -> float:
        """Return by how much, in the 1-norm, rounding the answer to doubles can move two weighted answers apart."""
        return self._stretched(self.plain.rounding)

    @property
    def dropped(self) -> tuple[str, ...]:
        """Return the pairs that are no constraint, with the reason."""
        return self.plain.dropped

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Return what must hold outside the library."""
        return self.plain.assumptions

    @property
    def closed_form(self) -> bool:
        """The laws are worked out value by value."""
        return False

    def constraints(self) -> tuple[Constraint, ...]:
        """Return one constraint per protected attribute and model."""
        return self._constraints

    @cached_property
    def _constraints(self) -> tuple[Constraint, ...]:
        return tuple(self._constraint(each) for each in self.plain.constraints())

    def _constraint(self, plain: Constraint) -> Constraint:
        record = plain.record
        if record is not None:
            record = record.scaled([math.frexp(weight)[1] - 1 for weight in self.weights])
        pairs: Sequence[LawPair] | Refusal = plain.pairs
        if not isinstance(pairs, Refusal):
            known: dict[int, AnswerLaw] = {}  # one law stands in many pairs
            pairs = tuple(self._pair(pair, known) for pair in pairs)
        return replace(plain, record=record, pairs=pairs)

    def _pair(self, plain: LawPair, known: dict[int, AnswerLaw]) -> LawPair:
        for law in (plain.first, plain.second):
            if id(law) not in known:
                known[id(law)] = law.weighted(self.weights)
        draws = plain.sampled
        if draws is not None:
            draws = replace(
                draws,
                moved=self._stretched(draws.moved),
                variance=self._stretched(self._stretched(draws.variance)),
                drift=self._stretched(draws.drift),
            )
        departure = plain.departure
        if departure is not None:
            departure = replace(departure, moves=departure.moves * np.array(self.weights))
        return replace(
            plain,
            first=known[id(plain.first)],
            second=known[id(plain.second)],
            rounding=self._stretched(plain.rounding),
            sampled=draws,
            departure=departure,
        )

    def _stretched(self, length: float) -> float:
        """Return a bound of a length in the 1-norm once every number is weighed: no number grows more than one."""
        return length * max(self.weights)


def plain_laws(evidence: Laws) -> Laws:
    """Return the laws of the answer itself, whether its numbers are weighed or not."""
    return evidence.plain if isinstance(evidence, WeightedLaws) else evidence
