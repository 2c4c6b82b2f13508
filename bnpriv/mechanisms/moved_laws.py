"""What the mechanisms for translations of one law share: what they refuse, and what is left of epsilon and delta."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from bnpriv.bound import UNIT_ROUNDOFF, Bound, FloatArray, down
from bnpriv.divergences.gaussian import CONSTANTS, GaussianConstant, constant_refusal, gaussian_ratio
from bnpriv.errors import Refusal
from bnpriv.frameworks.framework import Framework
from bnpriv.mechanisms.base import Found, Search
from bnpriv.mechanisms.column import noise_refusal
from bnpriv.mechanisms.covariance_noise import TAIL_SHARE, declares_normal_laws, reach_of, spent_delta
from bnpriv.mechanisms.law_decision import MOVED_RULE, LawDecision
from bnpriv.mechanisms.laws_certificate import law_certificate
from bnpriv.mechanisms.normal_laws import NormalPair, laws_by_pairs
from bnpriv.mechanisms.translations import MovedLaw, translations
from bnpriv.noise.continuous import ContinuousNoise, Noise
from bnpriv.queries.base import Query
from bnpriv.render.text import nats_text


@dataclass(frozen=True, kw_only=True)
class ForTranslations:
    """What mechanisms have in common that hide the gaps of laws that are translations of one another.

    It stands before `Mechanism` among the bases of such a mechanism, which adds the shape of the noise.

    Parameters
    ----------
    noise : {"laplace", "gaussian"}
    constant : {"analytic", "textbook", "lecture"}
        Of Gaussian noise.
    beyond_proof, large_delta : bool
        Waivers of refusals.
    """

    noise: ContinuousNoise = "laplace"
    constant: GaussianConstant = "analytic"
    beyond_proof: bool = False
    large_delta: bool = False
    claim: ClassVar[str]
    compares_laws: ClassVar[bool] = True
    choices: ClassVar[Mapping[str, tuple[str, ...]]] = {"noise": ("laplace", "gaussian"), "constant": CONSTANTS}

    _theorem: ClassVar[str]
    """What a certificate calls the mechanism."""

    @property
    def norm(self) -> int:
        """The norm in which the noise hides a gap."""
        return 1 if self.noise == "laplace" else 2

    def concerns(self, framework: Framework) -> bool:
        """Whether normal laws were declared."""
        return declares_normal_laws(framework)

    def _decide(self, framework: Framework, query: Query, epsilon: float, delta: float) -> Search | Refusal:
        refusal = noise_refusal(self.noise, framework, delta, large_delta=self.large_delta)
        if self.noise == "gaussian":
            refusal = refusal or constant_refusal(self.constant, epsilon, beyond_proof=self.beyond_proof)
        found = refusal or laws_by_pairs(framework, query)
        if isinstance(found, Refusal):
            return found
        evidence, pairs = found
        moved = self._translations(pairs)
        if isinstance(moved, Refusal):
            return moved
        # what differs by rounding is paid for: by epsilon, or by delta
        masses, uneven = max(each.masses for each in moved), max(each.uneven for each in moved)
        inner = down(epsilon - masses)
        left = down(delta * (1 - TAIL_SHARE) * math.exp(-masses) - math.exp(epsilon) * uneven, 16)
        if self.noise == "laplace" and inner > 0 and uneven == 0:
            ratio = inner
        elif self.noise == "gaussian" and inner > 0 and left > 0:
            ratio = gaussian_ratio(inner, left, self.constant)
        else:
            return Refusal(
                required="what the two laws of a pair differ in by rounding must be below epsilon and delta",
                found=f"{nats_text(max(masses, uneven), 3)}, with {self.noise.capitalize()} noise",
                remedy="Declare one law, moved, or one covariance, or ask for a larger epsilon or delta.",
            )

        def search() -> Found:
            reach = reach_of(query, framework.schema, evidence.dimension)
            noise, alone = self._noise_for(moved, ratio, reach, epsilon, delta)
            decisions = self._decisions(moved, max(noise.scales), alone)
            theorem = self._theorem if self.noise == "laplace" else f"{self._theorem}, {self.constant} constant"
            certificate = law_certificate(framework, query, evidence, decisions, theorem=theorem, claim=self.claim)
            spent = 0.0 if self.noise == "laplace" else spent_delta(inner, delta, left, self.constant, masses)
            return Found(noise, certificate, spent)

        return self._unfit(moved, ratio) or search

    def _translations(self, pairs: Sequence[NormalPair]) -> list[MovedLaw] | Refusal:
        return translations(pairs)

    def _unfit(self, moved: Sequence[MovedLaw], ratio: float) -> Refusal | None:
        """Why noise of this shape does not serve some translations, or None if it does."""
        return None

    @abstractmethod
    def _noise_for(
        self, moved: Sequence[MovedLaw], ratio: float, reach: FloatArray, epsilon: float, delta: float
    ) -> tuple[Noise, Callable[[MovedLaw], float]]:
        """The noise, and the scale that a pair needs by itself.

        Parameters
        ----------
        moved : sequence of MovedLaw
        ratio : float
            How long a gap may be for noise of scale 1.
        reach : ndarray, shape (d,)
            The largest size of each number of the answer.
        epsilon, delta : float
        """

    def _decisions(
        self, moved: Sequence[MovedLaw], scale: float, alone: Callable[[MovedLaw], float]
    ) -> list[LawDecision]:
        rows = sorted(((alone(each), place) for place, each in enumerate(moved)), reverse=True)
        return [
            LawDecision.of(
                (each := moved[place]).pair,
                each.protected,
                each.model,
                rule=MOVED_RULE,
                distance=Bound(0.0, each.farthest(self.norm), each.pair.kind),
                scale=scale if rank == 0 else min(scale, needed),
                noise=self.noise,
            )
            for rank, (needed, place) in enumerate(rows)
        ]


def scale_for(far: float, ratio: float) -> float:
    """Return the scale of noise that hides a distance, rounded up."""
    return far / ratio * (1 + 8 * UNIT_ROUNDOFF)
