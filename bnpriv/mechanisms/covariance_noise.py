"""What the mechanisms for normal laws that choose a covariance share: what they refuse, and the noise they draw."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast, final

import numpy as np

from bnpriv.bound import UNIT_ROUNDOFF, Bound, FloatArray, down, up
from bnpriv.divergences import GaussianConstant, constant_refusal, delta_of_constant
from bnpriv.errors import Refusal
from bnpriv.evidence import Laws, laws
from bnpriv.frameworks import DatasetAttributePrivacy, DistributionalAttributePrivacy, DistributionPrivacy, Framework
from bnpriv.laws import Normal
from bnpriv.mechanisms.added_covariance import Gap, hidden
from bnpriv.mechanisms.certificate import Certificate
from bnpriv.mechanisms.departures import clamped_of
from bnpriv.mechanisms.law_decision import LawDecision
from bnpriv.mechanisms.laws_certificate import law_certificate
from bnpriv.mechanisms.normal_laws import NormalPair, nearly_normal_pairs, normal_ratio
from bnpriv.mechanisms.tight import noise_refusal
from bnpriv.networks import GaussianNetwork
from bnpriv.noise.continuous import Gaussian, Noise, NoNoise
from bnpriv.noise.correlated import CorrelatedGaussian
from bnpriv.queries.base import Query
from bnpriv.queries.sensitivity import answer_range
from bnpriv.tables.schema import Schema

TAIL_SHARE = 2.0**-40
"""Share of delta for draws so large that rounding moves them further than is paid for."""

LAST_SHARE = 2.0**-10
"""Rounding may take at least so much of the ratio in the noise that is drawn last."""

GAP_RULE = "the two normal laws of the answer"

Needed = Callable[[Sequence[Gap], float], FloatArray | Refusal]
"""From the gaps and the ratio that they may be long to the covariance of the noise."""


def has_normal_laws(framework: Framework) -> bool:
    """Return whether answers may have normal laws: declared, or those of a linear-Gaussian network."""
    if isinstance(framework, DatasetAttributePrivacy):
        return isinstance(framework.network, GaussianNetwork)
    if isinstance(framework, DistributionalAttributePrivacy):
        return isinstance(framework.network, GaussianNetwork) and bool(framework.column_laws)
    return declares_normal_laws(framework)


def declares_normal_laws(framework: Framework) -> bool:
    """Return whether pairs of normal laws were declared."""
    return isinstance(framework, DistributionPrivacy) and isinstance(framework.pairs[0][0], Normal)


@final
@dataclass(frozen=True, kw_only=True)
class NormalQuestion:
    """A question to a mechanism for normal laws.

    Parameters
    ----------
    framework : Framework
    query : Query
    epsilon, delta : float
    constant : {"analytic", "textbook", "lecture"}
    needed : callable
    """

    framework: Framework
    query: Query
    epsilon: float
    delta: float
    constant: GaussianConstant
    needed: Needed

    def refusal(self, *, beyond_proof: bool, large_delta: bool) -> Refusal | None:
        """Return why there is no such noise, or None if there is."""
        refusal = noise_refusal("gaussian", self.framework, self.delta, large_delta=large_delta)
        refusal = refusal or constant_refusal(self.constant, self.epsilon, beyond_proof=beyond_proof)
        if refusal is not None:
            return refusal
        found = self._found()
        if isinstance(found, Refusal):
            return found
        _, pairs, ratio = found
        needed = self.needed(_gaps(pairs), ratio)
        return needed if isinstance(needed, Refusal) else None

    def calibrated(self, theorem: str, claim: str) -> tuple[Noise, Certificate, float]:
        """Return the noise, the certificate and the delta that the guarantee needs."""
        found = self._found()
        if isinstance(found, Refusal):
            raise found.error()
        evidence, pairs, ratio = found
        gaps = _gaps(pairs)
        noise = NoNoise(evidence.dimension) if self._free(pairs) and hidden(gaps, ratio) else self._noise(pairs, ratio)
        decisions = _decisions(pairs, ratio, max(noise.scales))
        name = f"{theorem}, {self.constant} constant"
        certificate = law_certificate(self.framework, self.query, evidence, decisions, theorem=name, claim=claim)
        return noise, certificate, spent_delta(self.epsilon, self.delta, self._left(pairs), self.constant)

    def _found(self) -> tuple[Laws, list[NormalPair], float] | Refusal:
        evidence = laws(self.framework, self.query)
        pairs = evidence if isinstance(evidence, Refusal) else nearly_normal_pairs(evidence)
        if isinstance(evidence, Refusal) or isinstance(pairs, Refusal):
            return evidence if isinstance(evidence, Refusal) else cast(Refusal, pairs)
        left = self._left(pairs)
        if not left > 0:
            return Refusal(
                required="delta must be above what clamped records may tell",
                found=f"delta {self.delta:g}",
                remedy="Declare wider bounds of the queried columns, so that the model hardly ever passes them.",
            )
        ratio = normal_ratio(pairs, self.epsilon, left, self.constant)
        return ratio if isinstance(ratio, Refusal) else (evidence, pairs, ratio)

    def _left(self, pairs: Sequence[NormalPair]) -> float:
        """Return what is left of delta: clamped records are paid for, and tails, whether or not there is noise."""
        clamped = max(clamped_of(each.pair, self.epsilon) for each in pairs)
        return down(self.delta * (1 - TAIL_SHARE) - clamped)

    def _free(self, pairs: Sequence[NormalPair]) -> bool:
        """Return whether rounding costs nothing without noise: where the law of the exact answer was declared."""
        return declares_normal_laws(self.framework) or all(each.pair.rounding == 0 for each in pairs)

    def _noise(self, pairs: Sequence[NormalPair], ratio: float) -> Noise:
        """Return the noise, with the best of several shares of the ratio for the step that is drawn last."""
        found = self._noise_for(pairs, ratio, LAST_SHARE)
        if isinstance(found, CorrelatedGaussian) and found.dithers == CorrelatedGaussian(found.needed).dithers:
            return found
        others = (self._noise_for(pairs, ratio, LAST_SHARE * 4**k) for k in range(1, 5))
        return min((found, *others), key=lambda noise: noise.error().upper)

    def _noise_for(self, pairs: Sequence[NormalPair], ratio: float, share: float) -> Noise:
        needed = self.needed(_gaps(pairs), ratio * kept(share))
        assert not isinstance(needed, Refusal)
        size = len(needed)
        rounding = max(each.pair.rounding for each in pairs)
        per_move = math.sqrt(size) / (share * ratio) * (1 + 16 * UNIT_ROUNDOFF)
        if np.array_equal(needed, needed[0, 0] * np.eye(size)):
            return Gaussian(up(math.hypot(math.sqrt(needed[0, 0]), rounding * per_move)), size)
        plain = CorrelatedGaussian(needed)
        reach = reach_of(self.query, self.framework.schema, size)
        moved = 2 * plain.moved(reach.tolist(), log_tail(self.epsilon, self.delta)) + rounding
        return CorrelatedGaussian(needed, np.maximum(plain.dithers, moved * per_move).tolist())


def kept(share: float) -> float:
    """Return what is kept of a ratio if a share of it is for another step: the squares add up to less than 1."""
    return down(math.sqrt((1 - share) * (1 + share)) * (1 - 2.0**-40))


def spent_delta(epsilon: float, delta: float, left: float, constant: GaussianConstant) -> float:
    """Return the delta that holds if noise is fitted with what is left of it: more only beyond a constant's proof."""
    told = delta_of_constant(epsilon, left, constant)
    return delta if told <= left else up(told + (delta - left), 16)


def reach_of(query: Query, schema: Schema, size: int) -> FloatArray:
    """Return the largest size of each number; 0 for answers that cannot be released, whose range is not known."""
    ends = np.abs(np.stack(answer_range(query, schema))).max(axis=0)
    return np.where(np.isfinite(ends), ends, 0.0).reshape(size)


def log_tail(epsilon: float, delta: float) -> float:
    """Return the log of a probability that costs no more than its share of delta in both laws of a pair."""
    return math.log(TAIL_SHARE) + math.log(delta) - epsilon - math.log(2)


def _gaps(pairs: Sequence[NormalPair]) -> list[Gap]:
    return [Gap(each.gap, each.covariance) for each in pairs]


def _decisions(pairs: Sequence[NormalPair], ratio: float, scale: float) -> list[LawDecision]:
    """Return the pair that needs the most noise for each attribute and model, first the one that needs the most."""
    worst: dict[tuple[str, int], tuple[float, NormalPair]] = {}
    for each in pairs:
        alone = float(np.linalg.eigvalsh(Gap(each.gap, each.covariance).missing(ratio))[-1])
        place = each.protected, each.model
        if place not in worst or alone > worst[place][0]:
            worst[place] = alone, each
    rows = sorted(worst.values(), key=lambda row: -row[0])
    return [
        LawDecision(
            protected=each.protected,
            pair=each.pair.pair,
            model=each.model,
            rule=GAP_RULE,
            distance=Bound(0.0, up(float(np.linalg.norm(each.gap)), 16), each.pair.kind),
            kind=each.pair.kind,
            scale=scale if place == 0 else min(scale, math.sqrt(max(0.0, alone))),
            noise="gaussian",
            first=each.first,
            second=each.second,
        )
        for place, (alone, each) in enumerate(rows)
    ]
