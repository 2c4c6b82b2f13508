"""The first question to mechanisms that compare laws of the answer: whether these are alike as they are.

docs/claims/alike.md. It is asked in one place, before any noise is sought; what is alike asks nothing of the noise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from bnpriv.errors import Refusal
from bnpriv.evidence.constraints import Constraint
from bnpriv.evidence.laws import laws
from bnpriv.mechanisms.law_decision import LawDecision
from bnpriv.mechanisms.laws_certificate import law_certificate
from bnpriv.mechanisms.shape import Found
from bnpriv.noise.continuous import NoNoise
from bnpriv.queries.base import Query

if TYPE_CHECKING:
    from bnpriv.frameworks.framework import Framework

ANSWER_RULE = "the laws of the answer"
"""Names decisions that compare the laws of the answer themselves."""

RECORD_CURVE_RULE = "the laws of what one record adds"
"""Names decisions that compare what one record adds under two secrets."""

ALIKE_AS_THEY_ARE = "The laws of the answer are alike as they are, at every single value"

LEANS_ON = (
    "The guarantee leans on the declared laws more than that of added noise does: where they are wrong, nothing blurs "
    "the answer."
)
"""What is said of every channel, and of answers that are released as they are because their laws are alike."""


def unchanged(framework: Framework, query: Query, epsilon: float) -> Found | None:
    """Return that the answer may be released as it is, with delta 0; None where something must be hidden.

    Parameters
    ----------
    framework : Framework
    query : Query
        May be weighted.
    epsilon : float
    """
    evidence = laws(framework, query)
    if isinstance(evidence, Refusal):
        return None
    constraints = evidence.constraints()
    if not constraints or any(each.left_to_hide(epsilon) is not None for each in constraints):
        return None
    decisions = [_nothing(each, epsilon) for each in constraints]
    certificate = law_certificate(framework, query, evidence, decisions, theorem=ALIKE_AS_THEY_ARE, claim="alike.md")
    certificate = replace(certificate, notes=(*certificate.notes, LEANS_ON))
    return Found(NoNoise(evidence.dimension), certificate, 0.0)


def decided(
    constraints: Iterable[Constraint], epsilon: float, decide: Callable[[Constraint], LawDecision]
) -> list[LawDecision]:
    """Return what every constraint asks of the noise, the one that asks the most first.

    Parameters
    ----------
    constraints : iterable of Constraint
    epsilon : float
    decide : callable
        From what is left of a constraint once pairs that are alike as they are have been left out.
    """
    found: list[LawDecision] = []
    for each in constraints:
        left = each.left_to_hide(epsilon)
        found.append(_nothing(each, epsilon) if left is None else decide(left))
    return sorted(found, key=lambda decision: -decision.scale)


def _nothing(constraint: Constraint, epsilon: float) -> LawDecision:
    """Return the decision of a constraint that asks for no noise."""
    record = constraint.record
    if record is not None and record.log_ratio <= epsilon:
        worst, rule = record, RECORD_CURVE_RULE
    else:
        assert not isinstance(constraint.pairs, Refusal)
        worst, rule = max(constraint.pairs, key=lambda pair: pair.log_ratio), ANSWER_RULE
    return LawDecision.of(worst, constraint.protected, constraint.model, rule=rule, scale=0.0, noise="laplace")
