"""Gaussian noise for answers with normal laws: only what the answer's own uncertainty does not already hide."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, cast, final

import numpy as np

from bnpriv import checks
from bnpriv.bound import UNIT_ROUNDOFF, Bound, down, up
from bnpriv.divergences.gaussian import CONSTANTS, GaussianConstant, constant_refusal
from bnpriv.errors import ParameterError, Refusal
from bnpriv.evidence.constraints import Laws
from bnpriv.evidence.laws import laws
from bnpriv.frameworks.dataset import DatasetAttributePrivacy
from bnpriv.frameworks.distributional import DistributionalAttributePrivacy
from bnpriv.frameworks.framework import Framework
from bnpriv.frameworks.pairs import DistributionPrivacy
from bnpriv.kind import kind_of
from bnpriv.laws.normal import Normal
from bnpriv.mechanisms.approximations import TOO_FAR, Approximated, Trial, approximated
from bnpriv.mechanisms.base import Mechanism
from bnpriv.mechanisms.certificate import Certificate
from bnpriv.mechanisms.column import noise_refusal
from bnpriv.mechanisms.covariance_noise import spent_delta
from bnpriv.mechanisms.departures import clamped_of
from bnpriv.mechanisms.law_decision import GAP_RULE, LawDecision
from bnpriv.mechanisms.laws_certificate import law_certificate
from bnpriv.mechanisms.normal_laws import (
    NormalPair,
    delta_for_one_covariance,
    law_pairs,
    mahalanobis,
    nearly_normal_pairs,
    normal_ratio,
)
from bnpriv.mechanisms.search import found_scale, least_scale
from bnpriv.noise.continuous import Gaussian, Noise, NoNoise
from bnpriv.queries.base import Query
from bnpriv.queries.weighted import Weighted
from bnpriv.render.text import upper_chance

CLAMPED = Refusal(
    required="delta must be above what clamped records may tell",
    found="columns whose values the model often takes beyond their bounds",
    remedy="Declare wider bounds of the queried columns, or ask for a larger delta.",
)

ROUNDING_SHARES = (2.0**-20, 2.0**-10, 2.0**-5, 0.125, 0.5, 0.875, 1 - 2.0**-5, 1 - 2.0**-10)
"""Shares of the variance of the noise that are tried for hiding that answers are rounded."""


def _approximations(name: str, given: object) -> tuple[tuple[Normal, Normal], ...]:
    """Return pairs of normal laws that were given, or stored as means and covariances."""
    return tuple(_normals(name, two) for two in cast("Sequence[object]", given if _listed(given) else (given,)))


def _normals(name: str, two: object) -> tuple[Normal, Normal]:
    found = [_normal(side) for side in cast("Sequence[object]", two)] if _listed(two) else []
    first, second = found if len(found) == 2 else (None, None)
    if first is None or second is None:
        raise ParameterError(
            f"{name} must be pairs of normal laws",
            found=checks.type_text(two),
            remedy="Write approximations=[(Normal(0.0, 4.0), Normal(1.0, 4.0))].",
        )
    return first, second


def _listed(given: object) -> bool:
    return isinstance(given, (list, tuple))


def _normal(side: object) -> Normal | None:
    if isinstance(side, dict) and side.keys() == {"mean", "covariance"}:
        return Normal(**cast("dict[str, Any]", side))
    return side if isinstance(side, Normal) else None


@final
@dataclass(frozen=True, kw_only=True)
class AttributeGaussianMechanism(Mechanism):
    """Gaussian noise for normal laws: the least that, with the answer's own uncertainty, hides the gap of the means.

    Parameters
    ----------
    constant : {"analytic", "textbook", "lecture"}
        The exact curve of the normal law; the square root of 2 log(1.25/delta), or of 2 log(2/delta), over epsilon.
    beyond_proof : bool
        Waive the refusal of an epsilon above 1 with the last two constants; the guarantee then names the delta that
        holds.
    large_delta : bool
        Waive the refusal of a delta of one over the number of records or more.
    relaxation : float, optional
        For laws that are not normal, or have two covariances: normal laws stand for them, which costs twice so much of
        epsilon, and of delta how far the laws are apart at that level once noise is added.
    approximations : sequence of (Normal, Normal)
        Which normal laws stand for the pairs, in their order; by default each law's own mean, with the mean of the two
        covariances.
    weights : sequence of float, optional
        Of the parts of the answer, powers of two; None takes the best of three public shapes, as in `Mechanism`.

    Raises
    ------
    ParameterError
        If an option is none of these.

    Notes
    -----
    docs/claims/attribute_gaussian.md, docs/claims/normal_approximations.md.

    For one number the variance is the largest ``(gap / ratio)^2 - variance`` over
    all pairs and models, and 0 if none is above; for several numbers it is the least ``s^2`` with
    ``gap' (covariance + s^2 I)^-1 gap <= ratio^2``. Zhang, Ohrimenko, Cummings, "Attribute Privacy: Framework and
    Mechanisms" (FAccT 2022), section 4.

    Examples
    --------
    >>> import bnpriv as bp
    >>> from bnpriv.laws import Normal
    >>> framework = bp.DistributionPrivacy([(Normal(0.0, 9.0), Normal(5.0, 9.0))], source="a textbook")
    >>> mechanism = bp.mechanisms.AttributeGaussianMechanism()
    >>> round(mechanism.calibrate(framework, epsilon=1.0, delta=1e-3).scale, 4)
    12.5188
    """

    constant: GaussianConstant = "analytic"
    beyond_proof: bool = False
    large_delta: bool = False
    relaxation: float | None = None
    approximations: Sequence[tuple[Normal, Normal]] = ()
    claim: ClassVar[str] = "attribute_gaussian.md"
    compares_laws: ClassVar[bool] = True
    choices: ClassVar[Mapping[str, tuple[str, ...]]] = {"constant": CONSTANTS}
    checked: ClassVar[Mapping[str, Callable[[str, object], object]]] = {
        "relaxation": checks.not_negative,
        "approximations": _approximations,
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.relaxation is None and self.approximations:
            raise ParameterError(
                "normal laws that stand for others need a relaxation", found="none", remedy="Pass relaxation=0.05."
            )

    def options(self) -> dict[str, object]:
        """Return the constructor arguments as plain values."""
        plain = [
            [{"mean": law.mean.tolist(), "covariance": law.covariance.tolist()} for law in two]
            for two in self.approximations
        ]
        return {**super().options(), "approximations": plain}

    def concerns(self, framework: Framework) -> bool:
        """Return whether answers may have normal laws: declared ones, or those of records or parameters that do."""
        if isinstance(framework, DistributionPrivacy):
            return any(isinstance(law, Normal) for pair in framework.pairs for law in pair)
        if isinstance(framework, DatasetAttributePrivacy):
            return framework.forward is None and not framework.network.states
        if isinstance(framework, DistributionalAttributePrivacy):
            return bool(kind_of(framework.network).centred(framework.network) and framework.column_laws)
        return False

    def _refusal(self, framework: Framework, query: Query, epsilon: float, delta: float) -> Refusal | None:
        refusal = noise_refusal("gaussian", framework, delta, large_delta=self.large_delta)
        refusal = refusal or constant_refusal(self.constant, epsilon, beyond_proof=self.beyond_proof)
        if refusal is not None:
            return refusal
        if self.relaxation is None:
            found = self._pairs(framework, query, epsilon, delta)
        else:
            found = self._approximated(framework, query, epsilon)
        return found if isinstance(found, Refusal) else None

    def _pairs(
        self, framework: Framework, query: Query, epsilon: float, delta: float
    ) -> tuple[Laws, list[NormalPair], float] | Refusal:
        """Return the laws, the pairs of normal ones, and the largest gap in deviations that is private."""
        evidence = laws(framework, query)
        pairs = evidence if isinstance(evidence, Refusal) else nearly_normal_pairs(evidence)
        if isinstance(evidence, Refusal) or isinstance(pairs, Refusal):
            return evidence if isinstance(evidence, Refusal) else cast(Refusal, pairs)
        left = _left(pairs, epsilon, delta)
        if not left > 0:
            return CLAMPED
        ratio = normal_ratio(pairs, epsilon, left, self.constant)
        return ratio if isinstance(ratio, Refusal) else (evidence, pairs, ratio)

    def _calibrated(
        self, framework: Framework, query: Query, epsilon: float, delta: float
    ) -> tuple[Noise, Certificate, float]:
        if self.relaxation is not None:
            return self._relaxed(framework, query, epsilon, delta, self.relaxation)
        found = self._pairs(framework, query, epsilon, delta)
        if isinstance(found, Refusal):
            raise found.error()
        evidence, pairs, ratio = found
        free = _free(framework)
        decisions = sorted((_decided(pair, ratio, declared=free) for pair in pairs), key=lambda d: -d.scale)
        certificate = law_certificate(
            framework,
            query,
            evidence,
            decisions,
            theorem=f"Attribute-private Gaussian mechanism, {self.constant} constant",
            claim=self.claim,
        )
        left = delta_for_one_covariance(pairs, epsilon, _left(pairs, epsilon, delta))
        spent = spent_delta(epsilon, delta, left, self.constant)
        return _noise(found_scale(decisions[0].scale, epsilon, delta), evidence), certificate, spent

    def _approximated(
        self, framework: Framework, query: Query, epsilon: float
    ) -> tuple[Laws, list[Approximated]] | Refusal:
        """Return the laws, and the pairs with the normal laws that stand for them."""
        if self.relaxation is not None and not 2 * self.relaxation < epsilon:
            return Refusal(
                required="twice the relaxation must be below epsilon, from which it is taken",
                found=f"a relaxation of {self.relaxation:g} at epsilon {epsilon:g}",
                remedy="Choose a smaller relaxation.",
            )
        evidence = laws(framework, query)
        pairs = evidence if isinstance(evidence, Refusal) else law_pairs(evidence)
        found = pairs if isinstance(pairs, Refusal) else approximated(pairs, self._standing(query))
        if isinstance(evidence, Refusal) or isinstance(found, Refusal):
            return evidence if isinstance(evidence, Refusal) else cast(Refusal, found)
        return evidence, found

    def _standing(self, query: Query) -> Sequence[tuple[Normal, Normal]]:
        """Return the normal laws that were chosen, of the weighted answer if that is asked for."""
        if not isinstance(query, Weighted):
            return self.approximations
        weights = query.weights
        return [(first.weighted(weights), second.weighted(weights)) for first, second in self.approximations]

    def _relaxed(
        self, framework: Framework, query: Query, epsilon: float, delta: float, level: float
    ) -> tuple[Noise, Certificate, float]:
        found = self._approximated(framework, query, epsilon)
        if isinstance(found, Refusal):
            raise found.error()
        evidence, pairs = found
        trial = Trial(epsilon=epsilon, delta=delta, level=level, constant=self.constant, free=_free(framework))
        decisions = sorted((trial.decide(each) for each in pairs), key=lambda d: -d.scale)
        scale = decisions[0].scale
        if math.isinf(scale):
            raise TOO_FAR.error()
        outcomes = [trial.outcome(each, scale) for each in pairs]
        certificate = law_certificate(
            framework,
            query,
            evidence,
            decisions,
            theorem=f"Attribute-private Gaussian mechanism for laws near normal ones, {self.constant} constant",
            claim="normal_approximations.md",
        )
        closeness = max(outcome.closeness for outcome in outcomes)
        close = f"({level:g}, {upper_chance(closeness)})-close"
        note = f"Normal laws stand for those of the answer: with the noise they are {close}."
        certificate = replace(certificate, notes=(*certificate.notes, note))
        return _noise(scale, evidence), certificate, max(outcome.delta for outcome in outcomes)


def _noise(scale: float, evidence: Laws) -> Noise:
    return Gaussian(scale, evidence.dimension) if scale else NoNoise(evidence.dimension)


def _left(pairs: Sequence[NormalPair], epsilon: float, delta: float) -> float:
    """Return what is left of delta once it is paid for that records of a table are clamped to their bounds."""
    clamped = max(clamped_of(each.pair, epsilon) for each in pairs)
    return delta if clamped == 0 else down(delta - clamped)


def _free(framework: Framework) -> bool:
    """Return whether the laws were declared: for exact answers, of which the released ones are functions."""
    return isinstance(framework, DistributionPrivacy) and not framework.of_records


def _decided(each: NormalPair, ratio: float, *, declared: bool) -> LawDecision:
    """Return what one pair needs: the least deviation at which its gap is at most `ratio` standard deviations long."""
    far = up(math.hypot(*each.gap.tolist()), 2 * len(each.gap) + 8)
    # what is declared of the exact answer holds for its rounding too as long as no noise is added to the rounded one
    free = declared or each.pair.rounding == 0
    length = gap_length(each, far, free=free)
    guess = (far + each.pair.rounding) / ratio or each.pair.rounding or 1.0
    return LawDecision(
        protected=each.protected,
        pair=each.pair.pair,
        model=each.model,
        rule=GAP_RULE,
        distance=Bound(float(np.max(np.abs(each.gap))), far, each.pair.kind),
        kind=each.pair.kind,
        scale=least_scale(length, ratio, up(guess)),
        noise="gaussian",
        first=each.first,
        second=each.second,
    )


def gap_length(each: NormalPair, far: float, *, free: bool) -> Callable[[float], float]:
    """Return how long a gap is, in standard deviations of answer and noise, as a function of the noise, rounded up.

    Parameters
    ----------
    each : NormalPair
    far : float
        The 2-norm of its gap, rounded up.
    free : bool
        Whether rounding the answer costs nothing where no noise is added.

    Notes
    -----
    A share of the variance of the noise hides that answers are rounded before it is added: docs/claims/
    attribute_gaussian.md.
    """
    rounding, identity = each.pair.rounding, np.eye(len(each.gap))
    shares = {rounding / (far + rounding), *ROUNDING_SHARES} if rounding else {0.0}

    def length(scale: float) -> float:
        if scale == 0:
            return mahalanobis(each.gap, each.covariance) if free else math.inf
        variance = scale * scale * (1 - 4 * UNIT_ROUNDOFF)
        if not math.isfinite(variance):
            return math.inf
        return min(split(variance, share) for share in shares) * (1 + 8 * UNIT_ROUNDOFF)

    def split(variance: float, share: float) -> float:
        hidden = variance * share
        told = mahalanobis(each.gap, each.covariance + (variance - hidden) * identity)
        if not rounding:
            return told
        return math.hypot(told, rounding / math.sqrt(hidden)) if hidden else math.inf

    return length
