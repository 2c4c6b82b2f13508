"""What the mechanisms for translations of one law share: what they refuse, and what is left of epsilon and delta."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, final

from bnpriv.bound import UNIT_ROUNDOFF, Bound, down
from bnpriv.divergences.gaussian import GaussianConstant, constant_refusal, gaussian_ratio
from bnpriv.errors import Refusal
from bnpriv.evidence.constraints import Laws
from bnpriv.evidence.laws import laws
from bnpriv.frameworks.framework import Framework
from bnpriv.mechanisms.certificate import Certificate
from bnpriv.mechanisms.column import noise_refusal
from bnpriv.mechanisms.covariance_noise import TAIL_SHARE, spent_delta
from bnpriv.mechanisms.law_decision import MOVED_RULE, LawDecision
from bnpriv.mechanisms.laws_certificate import law_certificate
from bnpriv.mechanisms.translations import MovedLaw, translations
from bnpriv.noise.continuous import Noise
from bnpriv.queries.base import Query
from bnpriv.render.text import nats_text

TranslationNoise = Literal["laplace", "gaussian"]


@final
@dataclass(frozen=True, kw_only=True)
class MovedQuestion:
    """A question to a mechanism for laws that are translations of one another.

    Parameters
    ----------
    framework : Framework
    query : Query
    epsilon, delta : float
    noise : {"laplace", "gaussian"}
    constant : {"analytic", "textbook", "lecture"}
        Of Gaussian noise.
    nearly : bool
        Whether laws are served, too, that are translations but for a distance.
    """

    framework: Framework
    query: Query
    epsilon: float
    delta: float
    noise: TranslationNoise
    constant: GaussianConstant
    nearly: bool = False

    @property
    def norm(self) -> int:
        """The norm in which the noise hides a gap."""
        return 1 if self.noise == "laplace" else 2

    def refusal(self, *, beyond_proof: bool, large_delta: bool) -> Refusal | None:
        """Return why there is no such noise, or None if there is."""
        refusal = noise_refusal(self.noise, self.framework, self.delta, large_delta=large_delta)
        if self.noise == "gaussian":
            refusal = refusal or constant_refusal(self.constant, self.epsilon, beyond_proof=beyond_proof)
        found = refusal or self.found()
        if isinstance(found, Refusal):
            return found
        ratio = self.ratio(found[1])
        return ratio if isinstance(ratio, Refusal) else None

    def found(self) -> tuple[Laws, list[MovedLaw]] | Refusal:
        """Return the laws and their translations, or why there are none."""
        evidence = laws(self.framework, self.query)
        if isinstance(evidence, Refusal):
            return evidence
        moved = translations(evidence, nearly=self.nearly)
        return moved if isinstance(moved, Refusal) else (evidence, moved)

    def answered(self) -> tuple[Laws, list[MovedLaw], float]:
        """Return the laws, their translations and how long a gap may be for noise of scale 1.

        Raises
        ------
        RefusedError
            Where `refusal` returns a reason.
        """
        found = self.found()
        if isinstance(found, Refusal):
            raise found.error()
        ratio = self.ratio(found[1])
        if isinstance(ratio, Refusal):
            raise ratio.error()
        return *found, ratio

    def ratio(self, moved: Sequence[MovedLaw]) -> float | Refusal:
        """Return how long a gap may be for noise of scale 1, once what differs by rounding is paid for."""
        masses, uneven = max(each.masses for each in moved), max(each.uneven for each in moved)
        epsilon = down(self.epsilon - masses)
        if self.noise == "laplace" and epsilon > 0 and uneven == 0:
            return epsilon
        left = self._left(moved)
        if self.noise == "gaussian" and epsilon > 0 and left > 0:
            return gaussian_ratio(epsilon, left, self.constant)
        return Refusal(
            required="what the two laws of a pair differ in by rounding must be below epsilon and delta",
            found=f"{nats_text(max(masses, uneven), 3)}, with {self.noise.capitalize()} noise",
            remedy="Declare one law, moved, or one covariance, or ask for a larger epsilon or delta.",
        )

    def spent(self, moved: Sequence[MovedLaw]) -> float:
        """Return the delta that the guarantee needs."""
        if self.noise == "laplace":
            return 0.0
        masses = max(each.masses for each in moved)
        return spent_delta(down(self.epsilon - masses), self.delta, self._left(moved), self.constant, masses)

    def _left(self, moved: Sequence[MovedLaw]) -> float:
        """Return what is left of delta once it is paid for what differs by rounding."""
        masses, uneven = max(each.masses for each in moved), max(each.uneven for each in moved)
        return down(self.delta * (1 - TAIL_SHARE) * math.exp(-masses) - math.exp(self.epsilon) * uneven, 16)

    def certificate(
        self,
        evidence: Laws,
        moved: Sequence[MovedLaw],
        noise: Noise,
        alone: Callable[[MovedLaw], float],
        *,
        theorem: str,
        claim: str,
    ) -> Certificate:
        """Return why the noise is enough; `alone` is the scale that a pair needs by itself."""
        scale = max(noise.scales)
        rows = sorted(((alone(each), place) for place, each in enumerate(moved)), reverse=True)
        decisions = [
            LawDecision(
                protected=moved[place].protected,
                pair=moved[place].pair.pair,
                model=moved[place].model,
                rule=MOVED_RULE,
                distance=Bound(0.0, moved[place].farthest(self.norm), moved[place].pair.kind),
                kind=moved[place].pair.kind,
                scale=scale if rank == 0 else min(scale, needed),
                noise=self.noise,
                first=moved[place].pair.first,
                second=moved[place].pair.second,
            )
            for rank, (needed, place) in enumerate(rows)
        ]
        name = theorem if self.noise == "laplace" else f"{theorem}, {self.constant} constant"
        return law_certificate(self.framework, self.query, evidence, decisions, theorem=name, claim=claim)


def scale_for(far: float, ratio: float) -> float:
    """Return the scale of noise that hides a distance, rounded up."""
    return far / ratio * (1 + 8 * UNIT_ROUNDOFF)
