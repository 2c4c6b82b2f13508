"""What a certificate says: its reasons in words, and what it says of draws."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from bnpriv.bound import FloatArray
from bnpriv.core.distributions import missed
from bnpriv.core.evidence.constraints import Laws, plain_laws
from bnpriv.core.evidence.structural import influences
from bnpriv.core.frameworks.question import Framework
from bnpriv.core.influence.base import draw_points
from bnpriv.core.mechanisms.certificate import Certificate, posterior_of, posteriors_of
from bnpriv.core.mechanisms.law_decision import CALIBRATIONS, DELTA_MARGIN, LawDecision, sampling_of
from bnpriv.core.networks.base import Posterior, drivers
from bnpriv.core.queries.base import Query
from bnpriv.errors import Refusal, SizeError
from bnpriv.kinds.density.network import MOST_DRAWS
from bnpriv.kinds.draws.laws import SampledLaws
from bnpriv.kinds.draws.parameter_draws import ParameterDraws
from bnpriv.mechanisms.plan import draws_needed
from bnpriv.render.document import Code, Document, Items, Section, fact
from bnpriv.text import by_times, full_text, number_text, percent_text, rough_text

# --------------------------------------------------------------------------------------------------
# What certificates say about draws: models from a posterior, laws from tables (docs/claims/posterior.md, draws.md).
# --------------------------------------------------------------------------------------------------


def with_draws(framework: Framework, query: Query, certificate: Certificate) -> Certificate:
    """Return a certificate that says what it owes to draws; the same if the models are no draws."""
    drawn = posterior_of(framework)
    certificate = replace(certificate, notes=(*certificate.notes, *_beside_records(framework, certificate)))
    if drawn is None:  # of several networks each may be the law of its own draws
        notes = list(dict.fromkeys(each.sentence for each in posteriors_of(framework) if each.belief))
    else:
        notes = [drawn.sentence] if drawn.belief else [*_facts(drawn, certificate), *_told(framework, query)]
    return replace(certificate, notes=(*certificate.notes, *notes)) if notes else certificate


def points_text(values: FloatArray) -> str:
    """Return what half, 95 % and all of the draws tell at most, and which draw tells most."""
    half, most, every = map(by_times, draw_points(values))
    return (
        f"half of the draws move the odds {half}, 95 % {most}, all {every} (draw {int(np.argmax(values.max(axis=1)))})."
    )


def _facts(drawn: Posterior, certificate: Certificate) -> list[str]:
    seed = "" if drawn.seed is None else f", seed {drawn.seed}"
    prior = f", prior {drawn.prior}" if drawn.prior else ""
    records = "" if drawn.table is None else f" given {drawn.table.records:,} public records"
    first = next(iter(certificate.decisions), None)
    # where no draw needs noise, none decides it; models beyond the draws are public records, of which more is said
    own = first is not None and first.scale and first.model < drawn.draws
    decides = f" Draw {first.model} decides the noise, for {first.protected}." if first and own else ""
    some = "" if drawn.of is None else f" of {drawn.of:,}"
    spaced = "" if drawn.of is None else ", evenly spaced: as many as time allows, 25 or so at most"
    if drawn.graphs is not None:
        records += f" {'and' if records else 'given'} graphs found in {drawn.graphs:,} resamples of them"
    made = f"The models are {drawn.draws:,}{some} draws from a posterior{records}{prior}{seed}{spaced}.{decides}"
    return [made, *_needed(certificate)]


def _beside_records(framework: Framework, certificate: Certificate) -> list[str]:
    """Return which noise the network's models and the public records each need: how far the two differ."""
    public = framework.public_records
    if public is None:
        return []
    networks = framework.models - public.draws
    scales: tuple[dict[int, float], dict[int, float]] = ({}, {})
    for decision in certificate.decisions:
        beyond = decision.model >= networks
        scales[beyond][decision.model - networks * beyond] = decision.scale
    made = (
        f"Beside the network {public.draws:,} models are the {public.records:,} public records themselves, their "
        f"weights drawn anew for each (Bayesian bootstrap). {public.coverage[0].upper()}{public.coverage[1:]}."
    )
    if not all(scales):
        return [made]
    network, records = (max(each.values()) for each in scales)
    draw = max(scales[1], key=lambda k: scales[1][k])
    decides = f"; draw {draw} of the weights decides the noise" if records > network else ""
    return [
        f"{made} Noise of scale {number_text(network)} is enough for the network's models, of {number_text(records)} "
        f"for the public records{decides}."
    ]


def _needed(certificate: Certificate) -> list[str]:
    """Return which noise half, 95 % and all of the draws need, where the laws of the answer were learned for each."""
    scales: dict[int, float] = {}
    for decision in certificate.decisions:
        if isinstance(decision, LawDecision) and decision.draws:
            scales[decision.model] = max(decision.scale, scales.get(decision.model, 0.0))
    if len(scales) < 2:
        return []
    half, most, every = (number_text(point) for point in draw_points(np.array([list(scales.values())]).T))
    return [f"Half of the draws need noise of at most scale {half}, 95 % at most {most}, all at most {every}."]


def _told(framework: Framework, query: Query) -> list[str]:
    """Return what the queried columns tell over the draws, without noise, for every protected attribute."""
    evidence = influences(framework)
    if isinstance(evidence, Refusal):
        return []
    notes: list[str] = []
    for name in evidence.secrets:
        asked = drivers(evidence.network, query.columns) - {name}
        try:
            told = evidence.influence(asked, name)
        except SizeError:
            continue
        if told.mu is None and asked and told.unknown is None:
            notes.append(f"Of {name}, without noise, by the other queried columns: {points_text(told.values)}")
    return notes


def too_few_draws(evidence: Laws, delta: float, epsilon: float) -> Refusal | None:
    """Return why certified laws from so many draws do not do for delta, or None if they do.

    The curve at `epsilon` is what is compared; closeness is the curve at 0.
    """
    sampling = sampling_of(evidence)
    if sampling is None or sampling.confidence is None:
        return None
    if delta == 0:
        return Refusal(
            required="a guarantee with a confidence needs delta above 0: draws say nothing of answers so rare that "
            "none was drawn",
            found="delta 0",
            remedy="Pass a delta below one over the number of records, or leave out the confidence for an estimate.",
        )
    share = (1 - sampling.confidence) / CALIBRATIONS
    ratio = math.exp(epsilon)
    error = missed(sampling.draws, share, ratio)
    if error * (1 + DELTA_MARGIN) < delta:
        return None
    needed = draws_needed(delta / (1 + DELTA_MARGIN), share, ratio)
    return Refusal(
        required=f"what {sampling.draws:,} draws may miss with confidence {100 * sampling.confidence:g} % must be "
        f"below delta, {full_text(delta)}",
        found=_found(error, evidence),
        remedy=_more_draws(needed),
        headline=f"{sampling.draws:,} tables drawn under each secret where {needed:,} are needed for a confidence",
    )


def _found(error: float, evidence: Laws) -> str:
    plain = plain_laws(evidence)
    assert isinstance(plain, SampledLaws)
    records = plain.form.schema.records
    above = (
        f", which passes one over the number of records, {number_text(1 / records)}, too"
        if error >= 1 / records
        else ""
    )
    return f"{number_text(error)}{above}"


def _more_draws(needed: int) -> str:
    instead = "Or leave out the confidence, for an estimate."
    if needed > MOST_DRAWS:
        return (
            f"It takes {rough_text(needed)} draws, above the limit of {MOST_DRAWS:,}: ask for a larger delta. {instead}"
        )
    return f"Take at least {needed:,} draws, better four times as many: network.with_sampling(draws=...). {instead}"


def _waited(evidence: Laws) -> str:
    """Return how rare the rarest secret is among draws of which those with the secret were kept."""
    listed = [pair for each in evidence.constraints() if not isinstance(each.pairs, Refusal) for pair in each.pairs]
    met = {pair.pair: pair.sampled.share for pair in listed if pair.sampled is not None}
    rarest = min(met, key=lambda name: met[name], default="")
    if not met or met[rarest] == 1:
        return ""
    often = percent_text(met[rarest])
    return f"; tables were drawn until so many had each secret, the rarer one of {rarest} came up in {often} of them"


def _posterior_of(evidence: Laws) -> tuple[ParameterDraws | None, float]:
    """Return the draws of a posterior that laws rest on, and what those in the rarest secret are worth."""
    plain = plain_laws(evidence)
    if not isinstance(plain, SampledLaws):
        return None, math.inf
    pairs = [pair for each in plain.constraints() if not isinstance(each.pairs, Refusal) for pair in each.pairs]
    known = [each for pair in pairs if pair.sampled is not None and (each := pair.sampled.effective) is not None]
    return plain.drawn, min(known, default=math.inf)


def learned_notes(evidence: Laws) -> tuple[str, ...]:
    """Return how the laws were learned from draws, for a certificate."""
    sampling = sampling_of(evidence)
    if sampling is None:
        return ()
    apart = sampling.told_apart(evidence.dimension)
    how = (
        f"The distributions of the answer were learned from {sampling.draws:,} independent draws under each secret "
        f"(seed {sampling.seed}; at most {apart:,} values are told apart){_waited(evidence)}."
    )
    drawn, effective = _posterior_of(evidence)
    if drawn is not None and drawn.reading == "belief":
        kind = "draws" if drawn.log_weights is None else "weighted draws"
        how = (
            f"The distributions of the answer were learned from {sampling.draws:,} tables under each secret, drawn "
            f"below the {drawn.draws:,} {kind} of a posterior (seed {sampling.seed}; at most {apart:,} values are told "
            f"apart); those in the rarest secret count as {number_text(effective)} independent ones."
        )
    if sampling.confidence is None:
        return how, "Answers that are rare may be missing among the draws: the noise is an estimate, not a bound."
    return how, (
        f"With confidence {100 * sampling.confidence:g} % over these draws the noise is enough, for all mechanisms "
        "of a plan at once, not for several epsilons or deltas; what the draws may have missed is taken off delta."
    )


# --------------------------------------------------------------------------------------------------
# What a certificate says: its reasons in words, and its document.
# --------------------------------------------------------------------------------------------------

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
        headline=certificate.theorem,
        facts=(
            fact("Proved in", (Code(f"docs/claims/{certificate.claim}"),)),
            fact("Its numbers are", certificate.known),
            fact("Source of the model", certificate.source),
        ),
        sections=tuple(Section(title=title, blocks=(Items(items),)) for title, items in lists.items() if items),
        data=certificate.to_json(),
    )
