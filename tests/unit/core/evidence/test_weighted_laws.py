"""Laws of an answer whose numbers are weighed: every length grows by the largest weight at most."""

from __future__ import annotations

from dataclasses import dataclass

from bnpriv.core.distributions import Atoms
from bnpriv.core.evidence.constraints import Constraint, DrawFacts, LawPair, WeightedLaws

FIRST, SECOND = Atoms([[0.0, 1.0], [2.0, 3.0]], [0.5, 0.5]), Atoms([[0.0, 1.5]], [1.0])
DRAWN = DrawFacts(draws=100, confidence=None, moved=0.25, variance=0.5, drift=0.125)


@dataclass
class Plain:
    """One pair of laws of two numbers, learned from draws."""

    dimension: int = 2
    rounding: float = 0.75
    dropped: tuple[str, ...] = ()
    assumptions: tuple[str, ...] = ()

    @property
    def closed_form(self) -> bool:
        return False

    def constraints(self) -> tuple[Constraint, ...]:
        pair = LawPair(pair="a", first=FIRST, second=SECOND, rounding=0.75, kind="estimate", sampled=DRAWN)
        return (Constraint(protected="a", model=0, record=None, pairs=(pair,)),)


def test_what_is_unknown_of_drawn_laws_grows_with_the_weights() -> None:
    evidence = WeightedLaws(Plain(), (1.0, 8.0))
    [constraint] = evidence.constraints()
    assert isinstance(constraint.pairs, tuple)
    [pair] = constraint.pairs
    assert pair.first.points.tolist() == [[0.0, 8.0], [2.0, 24.0]]
    assert pair.rounding == evidence.rounding == 6.0
    assert pair.sampled is not None
    assert (pair.sampled.moved, pair.sampled.drift, pair.sampled.variance) == (2.0, 1.0, 32.0)
