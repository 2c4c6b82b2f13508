"""What a calibration owes to draws from the laws of the answer (docs/claims/draws.md)."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from bnpriv.bound import UNIT_ROUNDOFF
from bnpriv.errors import Refusal
from bnpriv.evidence.constraints import LawPair, Laws
from bnpriv.evidence.weighted import plain_laws
from bnpriv.laws.atoms import Atoms
from bnpriv.services import service

if TYPE_CHECKING:
    from bnpriv.networks.density import Sampling

CALIBRATIONS = 3
"""Calibrations of one question that share draws: TightMechanism with two laws of noise, and WassersteinMechanism.

A plan chooses among them, so the confidence is made to hold for all of them at once.
"""

DELTA_MARGIN = 1e-6
"""Delta must pass what draws may have missed by this share of it, which is far above what rounding costs."""


def sampling_of(evidence: Laws) -> Sampling | None:
    """Return how laws were learned from draws; None for laws that were computed."""
    return cast("Sampling | None", getattr(plain_laws(evidence), "sampling", None))


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
    from bnpriv.laws.draws import missed

    return missed(pair.sampled.draws, (1 - pair.sampled.confidence) / CALIBRATIONS, ratio)


def blurred_by(pair: LawPair, ratio: float, scale: float, noise: str) -> float:
    """Return what gathering draws at their mean may have taken from that excess, after noise of a scale.

    Without noise it is infinite if any draw was moved.
    """
    if pair.sampled is None or pair.sampled.variance == 0:
        return 0.0
    if scale == 0:
        return math.inf
    from bnpriv.divergences.gaussian_mixture import LARGEST_BEND

    bend = LARGEST_BEND if noise == "gaussian" else 1.0
    blur = bend * pair.sampled.variance / (2 * scale**2) + pair.sampled.drift / scale
    return (1 + ratio) * blur * (1 + 16 * UNIT_ROUNDOFF)


def coarser(pair: LawPair, most: int) -> LawPair:
    """Return a pair of laws on the line with at most so many atoms each, if they were learned from draws."""
    facts = pair.sampled
    if facts is None or not isinstance(pair.first, Atoms) or not isinstance(pair.second, Atoms):
        return pair
    from bnpriv.laws.draws import Gathered, gathered_again

    laws = Gathered(first=pair.first, second=pair.second, moved=facts.moved, variance=facts.variance, drift=facts.drift)
    found = gathered_again(laws, facts.draws, most)
    told = replace(facts, moved=found.moved, variance=found.variance, drift=found.drift)
    return replace(pair, first=found.first, second=found.second, sampled=told)


def draws_refusal(evidence: Laws, delta: float, epsilon: float = 0.0) -> Refusal | None:
    """Return why certified laws from so many draws do not do for delta, or None if they do.

    The curve at `epsilon` is what is compared; closeness is the curve at 0.
    """
    if confidence_of(evidence) is None:
        return None
    return service("draws.refusal")(evidence, delta, epsilon)


def draws_notes(evidence: Laws) -> tuple[str, ...]:
    """Return how the laws were learned from draws, for a certificate; nothing for laws that were computed."""
    return () if sampling_of(evidence) is None else service("draws.notes")(evidence)
