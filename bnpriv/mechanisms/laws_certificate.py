"""The certificate of the mechanisms that work on the laws of the answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from bnpriv.bound import Bound
from bnpriv.evidence.constraints import Laws
from bnpriv.mechanisms.certificate import Certificate
from bnpriv.mechanisms.from_draws import confidence_of, draws_notes
from bnpriv.mechanisms.law_decision import LawDecision
from bnpriv.queries.base import Query

if TYPE_CHECKING:
    from bnpriv.frameworks.framework import Framework


def law_certificate(
    framework: Framework,
    query: Query,
    evidence: Laws,
    decisions: Sequence[LawDecision],
    *,
    theorem: str,
    claim: str,
) -> Certificate:
    """Return why noise from the laws of the answer is enough; `decisions` start with the one that needs the most."""
    models = 1 if framework.pairs_name_models else framework.models
    decisions = [replace(decision, models=models) for decision in decisions]
    worst = decisions[0]
    return Certificate(
        theorem=theorem,
        claim=claim,
        decisions=tuple(decisions),
        sensitivity=worst.distance or Bound(0.0, 0.0),
        source=framework.source,
        assumptions=(*evidence.assumptions, *query.assumptions),
        dropped=evidence.dropped,
        notes=draws_notes(evidence),
        confidence=confidence_of(evidence),
        zero_noise_reason=None if worst.scale else "; ".join(decision.text for decision in decisions),
    )
