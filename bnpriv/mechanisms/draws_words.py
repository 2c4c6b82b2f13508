"""What a certificate and a report say about models that were drawn from a posterior (docs/claims/posterior.md)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bnpriv.bound import FloatArray
from bnpriv.errors import Refusal, SizeError
from bnpriv.evidence import influences
from bnpriv.frameworks import DistributionPrivacy, Framework
from bnpriv.influence.base import draw_points
from bnpriv.mechanisms.certificate import Certificate
from bnpriv.mechanisms.law_decision import LawDecision
from bnpriv.mechanisms.posterior_draws import posterior_of, posteriors_of
from bnpriv.networks import Posterior, drivers
from bnpriv.queries.base import Query
from bnpriv.render import number_text


def with_draws(framework: Framework, query: Query, certificate: Certificate) -> Certificate:
    """Return a certificate that says what it owes to draws; the same if the models are no draws."""
    if isinstance(framework, DistributionPrivacy):
        believed = dict.fromkeys(each.sentence for each in posteriors_of(framework) if each.belief)
        return replace(certificate, notes=(*certificate.notes, *believed))
    drawn = posterior_of(framework)
    if drawn is None:
        return certificate
    notes = [drawn.sentence] if drawn.belief else [*_facts(drawn, certificate), *_told(framework, query)]
    return replace(certificate, notes=(*certificate.notes, *notes))


def points_text(values: FloatArray) -> str:
    """Return what half, 95 % and all of the draws tell at most, and which draw tells most."""
    half, most, every = (number_text(point) for point in draw_points(values))
    return (
        f"half of the draws tell at most {half} nats, 95 % at most {most}, all at most {every} "
        f"(draw {int(np.argmax(values.max(axis=1)))})."
    )


def _facts(drawn: Posterior, certificate: Certificate) -> list[str]:
    seed = "" if drawn.seed is None else f", seed {drawn.seed}"
    prior = f", prior {drawn.prior}" if drawn.prior else ""
    records = "" if drawn.table is None else f" given {drawn.table.records:,} public records"
    first = next(iter(certificate.decisions), None)
    # where no draw needs noise, none decides it
    decides = f" Draw {first.model} decides the noise, for {first.protected}." if first and first.scale else ""
    some = "" if drawn.of is None else f" of {drawn.of:,}"
    spaced = "" if drawn.of is None else ", evenly spaced: as many as time allows, 25 or so at most"
    made = f"The models are {drawn.draws:,}{some} draws from a posterior{records}{prior}{seed}{spaced}.{decides}"
    return [made, *_needed(certificate)]


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
