"""What a certificate says: its reasons in words, and its document."""

from __future__ import annotations

from bnpriv.mechanisms.certificate import Certificate
from bnpriv.mechanisms.law_decision import LawDecision
from bnpriv.render.document import Code, Document, Items, Section, fact

MOST_REASONS, MOST_OF_A_PAIR = 20, 3
"""Decisions that are told in words; there may be one for every model."""


def certificate_reasons(certificate: Certificate) -> tuple[str, ...]:
    """Return in words what decided the noise, the most noise first; of many decisions the first ones."""
    decisions, most = certificate.decisions, _most_reasons(certificate)
    told = decisions[:most] if len(decisions) > most + 1 else decisions
    texts = tuple(decision.text for decision in told)
    left = len(decisions) - len(texts)
    return (*texts, f"{left:,} more decisions, for which no more noise is needed.") if left else texts


def _most_reasons(certificate: Certificate) -> int:
    """Return how many decisions are told: few where they are one pair of secrets under many models.

    One where none of these needs noise, as all then say the same.
    """
    laws = [decision for decision in certificate.decisions if isinstance(decision, LawDecision)]
    different = {(decision.protected, str(decision.pair)) for decision in laws}
    if len(different) != 1 or len(laws) != len(certificate.decisions):
        return MOST_REASONS
    return MOST_OF_A_PAIR if any(decision.scale for decision in laws) else 1


def certificate_document(certificate: Certificate) -> Document:
    """Return the theorem, what decided the noise, and what must hold outside the library."""
    reasons = certificate.reasons
    if certificate.zero_noise_reason and not reasons:
        reasons = (certificate.zero_noise_reason,)
    lists = {
        "What decided the noise": (*reasons, *certificate.notes),
        "No constraint": certificate.dropped,
        "Assumed": certificate.assumptions,
    }
    return Document(
        kind="certificate",
        kicker="bnpriv certificate",
        headline=certificate.theorem,
        facts=(
            fact("Proved in", (Code(f"docs/claims/{certificate.claim}"),)),
            fact("Its numbers are", certificate.known),
            fact("Source of the model", certificate.source),
        ),
        sections=tuple(Section(title=title, blocks=(Items(items),)) for title, items in lists.items() if items),
        data=certificate.to_json(),
    )
