"""What a certificate says: its reasons in words, and its document."""

from __future__ import annotations

from bnpriv.mechanisms.certificate import Certificate
from bnpriv.mechanisms.law_decision import LawDecision
from bnpriv.render.document import Code, Document, Items, Section, fact

MOST_REASONS, MOST_OF_A_PAIR = 20, 3
"""Decisions that are told in words; there may be one for every model."""


def certificate_reasons(certificate: Certificate) -> tuple[str, ...]:
    """In words what decided the noise, the most noise first; of many decisions the first ones."""
    decisions, most = certificate.decisions, MOST_REASONS
    laws = [decision for decision in decisions if isinstance(decision, LawDecision)]
    if len(laws) == len(decisions) and len({(each.protected, str(each.pair)) for each in laws}) == 1:
        # one pair of secrets under many models; where none of these needs noise all say the same
        most = MOST_OF_A_PAIR if any(decision.scale for decision in laws) else 1
    told = decisions[:most] if len(decisions) > most + 1 else decisions
    texts = tuple(decision.text for decision in told)
    left = len(decisions) - len(texts)
    return (*texts, f"{left:,} more decisions, for which no more noise is needed.") if left else texts


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
