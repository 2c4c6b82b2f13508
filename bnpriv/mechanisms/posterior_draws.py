"""What a calibration says about models that were drawn from a posterior (docs/claims/posterior.md)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import cast

import numpy as np

from bnpriv.bound import FloatArray
from bnpriv.errors import Refusal, SizeError
from bnpriv.evidence import influences
from bnpriv.frameworks import (
    DatasetAttributePrivacy,
    DistributionalAttributePrivacy,
    DistributionPrivacy,
    Framework,
    ValuePrivacy,
)
from bnpriv.influence.base import draw_points
from bnpriv.mechanisms.certificate import Certificate
from bnpriv.mechanisms.law_decision import LawDecision
from bnpriv.networks import Posterior, drivers
from bnpriv.queries.base import Query
from bnpriv.render import number_text

PURE_SCALES, APPROXIMATE_SCALES, WEIGHTINGS = 2, 6, 3
"""Among how many scales a plan chooses for one question (docs/claims/posterior.md, claim 3).

Laplace noise and discrete Laplace noise; with delta above 0 those at delta 0 as well, and normal noise of two kinds.
Parts of an answer may be weighed in three ways.
"""


def posterior_of(framework: Framework) -> Posterior | None:
    """Return where the models of a framework were drawn from, or None if they are no draws."""
    return None if isinstance(framework, DistributionPrivacy) else next(iter(posteriors_of(framework)), None)


def posteriors_of(framework: Framework) -> tuple[Posterior, ...]:
    """Return where all those networks of a framework were drawn from that were; several for pairs of networks."""
    networks: Iterable[object] = ()
    if isinstance(framework, DistributionPrivacy):
        networks = (side for pair in framework.pairs for side in pair)
    elif isinstance(framework, (DatasetAttributePrivacy, DistributionalAttributePrivacy, ValuePrivacy)):
        networks = (framework.network,)
    found = (cast("Posterior | None", getattr(network, "posterior_draws", None)) for network in networks)
    return tuple(drawn for drawn in found if drawn is not None)


def models_text(framework: Framework) -> str:
    """Return what the adversary may believe, where that is more than the number of models."""
    if isinstance(framework, DistributionPrivacy):
        return framework.models_text
    drawn = posterior_of(framework)
    return "" if drawn is None else drawn.models_text


def beyond_text(framework: Framework, numbers: int, *, delta: float, parts: int = 1) -> str:
    """Return what is known about models that were not drawn; empty where models are no draws, or no model matters.

    Parameters
    ----------
    framework : Framework
    numbers : int
        How many numbers were taken from the draws: 0 for noise that needs no model, 1 for a scale.
    delta : float
        What was asked for.
    parts : int
        The parts of the answer that may have been weighed against each other.
    """
    drawn = posterior_of(framework)
    if drawn is None or not numbers:
        return ""
    if numbers > 1:
        return drawn.fitted_sentence(f"The {numbers:,} numbers that make this noise were")
    scales = APPROXIMATE_SCALES if delta else PURE_SCALES
    return drawn.sentence_among(scales * (WEIGHTINGS if parts > 1 else 1))


def total_beyond_text(framework: Framework) -> str:
    """Return what is known about models that were not drawn of a total over answers whose noise rests on draws."""
    drawn = posterior_of(framework)
    return "" if drawn is None else drawn.fitted_sentence("What the answers tell together was")


def stands_for_more(framework: Framework) -> bool:
    """Return whether the models are independent draws, so that something can be said about those not drawn."""
    drawn = posterior_of(framework)
    return drawn is not None and drawn.independent and not drawn.belief


def claimed_delta(framework: Framework, spent: float, delta: float) -> float:
    """Return the delta to promise where `spent` suffices for the models that were drawn: what was asked for, or 0.

    What lies between was read off the draws, and would be a second number beside the scale.
    """
    return delta if 0 < spent < delta and stands_for_more(framework) else spent


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
