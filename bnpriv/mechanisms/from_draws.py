"""What a calibration owes to draws from the laws of the answer (docs/claims/draws.md)."""

from __future__ import annotations

import math
from dataclasses import replace

from bnpriv.bound import UNIT_ROUNDOFF
from bnpriv.divergences.gaussian_mixture import LARGEST_BEND
from bnpriv.errors import Refusal
from bnpriv.evidence import LawPair, Laws, SampledLaws, plain_laws
from bnpriv.laws import Atoms
from bnpriv.laws.draws import Gathered, draws_needed, gathered_again, missed
from bnpriv.networks import ParameterDraws, Sampling
from bnpriv.networks.density import MOST_DRAWS
from bnpriv.render import number_text
from bnpriv.render.text import full_text, percent_text, rough_text

CALIBRATIONS = 3
"""Calibrations of one question that share draws: TightMechanism with two laws of noise, and WassersteinMechanism.

A plan chooses among them, so the confidence is made to hold for all of them at once.
"""

DELTA_MARGIN = 1e-6
"""Delta must pass what draws may have missed by this share of it, which is far above what rounding costs."""


def sampling_of(evidence: Laws) -> Sampling | None:
    """Return how laws were learned from draws; None for laws that were computed."""
    plain = plain_laws(evidence)
    return plain.sampling if isinstance(plain, SampledLaws) else None


def confidence_of(evidence: Laws) -> float | None:
    """Return the confidence of what rests on the laws; None for laws that were computed, and for estimates."""
    sampling = sampling_of(evidence)
    return None if sampling is None else sampling.confidence


def moved_by(pair: LawPair) -> float:
    """Return how far apart gathering draws can have moved two answers, in the 1-norm."""
    return 0.0 if pair.sampled is None else pair.sampled.moved


def missed_by(pair: LawPair, ratio: float = 1.0) -> float:
    """Return what draws may have missed of the excess of one law over `ratio` times the other."""
    if pair.sampled is None or pair.sampled.confidence is None:
        return 0.0
    return missed(pair.sampled.draws, (1 - pair.sampled.confidence) / CALIBRATIONS, ratio)


def blurred_by(pair: LawPair, ratio: float, scale: float, noise: str) -> float:
    """Return what gathering draws at their mean may have taken from that excess, after noise of a scale.

    Without noise it is infinite if any draw was moved.
    """
    if pair.sampled is None or pair.sampled.variance == 0:
        return 0.0
    if scale == 0:
        return math.inf
    bend = LARGEST_BEND if noise == "gaussian" else 1.0
    blur = bend * pair.sampled.variance / (2 * scale**2) + pair.sampled.drift / scale
    return (1 + ratio) * blur * (1 + 16 * UNIT_ROUNDOFF)


def coarser(pair: LawPair, most: int) -> LawPair:
    """Return a pair of laws on the line with at most so many atoms each, if they were learned from draws."""
    facts = pair.sampled
    if facts is None or not isinstance(pair.first, Atoms) or not isinstance(pair.second, Atoms):
        return pair
    laws = Gathered(first=pair.first, second=pair.second, moved=facts.moved, variance=facts.variance, drift=facts.drift)
    found = gathered_again(laws, facts.draws, most)
    told = replace(facts, moved=found.moved, variance=found.variance, drift=found.drift)
    return replace(pair, first=found.first, second=found.second, sampled=told)


def draws_refusal(evidence: Laws, delta: float, epsilon: float = 0.0) -> Refusal | None:
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
    return Refusal(
        required=f"what {sampling.draws:,} draws may miss with confidence {100 * sampling.confidence:g} % must be "
        f"below delta, {full_text(delta)}",
        found=_found(error, evidence),
        remedy=_more_draws(draws_needed(delta / (1 + DELTA_MARGIN), share, ratio)),
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


def draws_notes(evidence: Laws) -> tuple[str, ...]:
    """Return how the laws were learned from draws, for a certificate."""
    sampling = sampling_of(evidence)
    if sampling is None:
        return ()
    apart = sampling.told_apart(evidence.dimension)
    how = (
        f"The laws of the answer were learned from {sampling.draws:,} independent draws under each secret "
        f"(seed {sampling.seed}; at most {apart:,} values are told apart){_waited(evidence)}."
    )
    drawn, effective = _posterior_of(evidence)
    if drawn is not None and drawn.reading == "belief":
        kind = "draws" if drawn.log_weights is None else "weighted draws"
        how = (
            f"The laws of the answer were learned from {sampling.draws:,} tables under each secret, drawn below the "
            f"{drawn.draws:,} {kind} of a posterior (seed {sampling.seed}; at most {apart:,} values are told "
            f"apart); those in the rarest secret are worth {number_text(effective)} independent ones."
        )
    if sampling.confidence is None:
        return how, "Answers that are rare may be missing among the draws: the noise is an estimate, not a bound."
    return how, (
        f"With confidence {100 * sampling.confidence:g} % over these draws the noise is enough, for all mechanisms "
        "of a plan at once, not for several epsilons or deltas; what the draws may have missed is taken off delta."
    )
