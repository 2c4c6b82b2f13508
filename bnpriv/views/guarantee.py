"""A guarantee as facts and as a page: what is protected, from whom, how far beliefs can move."""

from __future__ import annotations

import math
from collections.abc import Iterable

from bnpriv.core.frameworks import guarantee as odds
from bnpriv.core.frameworks.guarantee import Guarantee, percent_of
from bnpriv.core.frameworks.protected import ProtectedSecret
from bnpriv.render.document import Block, Document, Fact, Paragraph, Quote, Section, Strong, Table, Text, fact
from bnpriv.text import and_text, full_text, name_text, percent_text, upper_chance


def guarantee_document(guarantee: Guarantee) -> Document:
    """Who cannot learn what, how far a belief can move, and the sentence that says it."""
    budget = f"epsilon {guarantee.epsilon:g}" + (f", delta {full_text(guarantee.delta)}" if guarantee.delta else "")
    return Document(
        kind="guarantee",
        kicker="bnpriv guarantee",
        headline=f"Guarantee of {budget} for {and_text([name_text(secret.attribute) for secret in guarantee.secrets])}",
        answer=(Quote(guarantee.sentence),),
        facts=(
            protected_fact(guarantee.secrets),
            observer_fact(guarantee.observer),
            belief_fact(guarantee),
            fact("Source of the model", guarantee.source),
        ),
        sections=(belief_section(guarantee),),
        data=guarantee.to_json(),
    )


def protected_fact(secrets: Iterable[ProtectedSecret]) -> Fact:
    """Return what is protected, one line for every attribute."""
    return fact("What is protected", *(secret.sentence for secret in secrets))


def observer_fact(observer: str, sees: str = "the answer") -> Fact:
    """Return who must not learn the secrets."""
    return fact("From whom", f"Anybody who sees {sees} and believes {observer}, whatever they do with it.")


def sureness_fact(guarantee: Guarantee) -> Fact:
    """Return how well the noise is known to be enough: by finite sums, by a proved bound, or by an estimate."""
    if guarantee.kind == "estimate":
        known: Text = Strong("An estimate"), ", learned from draws or on grids, and not proved to be enough."
    elif guarantee.confidence is not None:
        sure = percent_of(guarantee.confidence)
        known = Strong("Certified"), f", with confidence {sure} % over draws from the model."
    elif guarantee.kind == "certified":
        known = Strong("Certified"), " by a proved bound, and perhaps more than enough."
    else:
        known = Strong("Exact"), ", worked out by formulas and finite sums, without draws."
    return fact("How sure that is", known)


def belief_fact(guarantee: Guarantee) -> Fact:
    """Return in one number how far an answer can move a belief, or odds where no belief is bounded."""
    rare = f", except with probability at most {upper_chance(guarantee.failure)}" if 0 < guarantee.failure < 1 else ""
    if guarantee.with_belief:
        moved = f"A belief of 10 % in a secret becomes at most {guarantee.moved_text()}"
    else:
        moved = even_text(guarantee.nats)
    return fact("What it can change", f"{moved}{rare}.")


def belief_section(guarantee: Guarantee) -> Section:
    """How far beliefs in a secret can move, or the odds where no belief is bounded."""
    return Section(title="Beliefs before and after", id="beliefs", blocks=(belief_table(guarantee),), folded=True)


def belief_table(guarantee: Guarantee) -> Block:
    """Beliefs before and after the answer; a sentence on odds where no belief is bounded."""
    if not guarantee.with_belief:
        return Paragraph(guarantee.odds_text)
    rows = [(percent_text(prior), odds.belief_text(prior, guarantee.nats)) for prior in odds.PRIORS]
    return Table(caption=guarantee.belief_caption, header=("before", "at most after"), rows=rows, numbers=(1,))


def even_text(nats: float) -> str:
    """Return what becomes of even odds between the two secrets of a pair, as a sentence without its full stop.

    Examples
    --------
    >>> even_text(1.0)
    'Even odds between the two secrets of a pair become at most 2.72 to 1, that is 73.2 % for one of them'
    """
    between, factor = "Even odds between the two secrets of a pair", odds.factor_text(nats)
    if math.isinf(nats):
        return f"{between} can become certainty"
    if nats > odds.SPELLED:
        return f"{between} can become as good as certainty, {factor} to 1"
    return f"{between} become at most {factor} to 1, that is {odds.belief_text(0.5, nats)} for one of them"
