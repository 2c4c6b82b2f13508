"""Gaussian noise for answers with normal laws: only what the answer's own uncertainty does not already hide."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, cast

import numpy as np

from bnpriv import checks
from bnpriv.bound import UNIT_ROUNDOFF, Bound, down, up
from bnpriv.core.distributions import Normal, mahalanobis
from bnpriv.core.evidence.constraints import Laws
from bnpriv.core.frameworks.question import Framework
from bnpriv.core.mechanisms.base import Mechanism, Search, found_scale, least_scale, noise_of
from bnpriv.core.mechanisms.law_decision import GAP_RULE, LawDecision, clamped_of
from bnpriv.core.mechanisms.weights import Found
from bnpriv.core.queries.asked import Weighted
from bnpriv.core.queries.base import Query
from bnpriv.errors import ParameterError, Refusal
from bnpriv.mechanisms.gaussian import laws
from bnpriv.mechanisms.gaussian.covariance import ForNormalLaws, spent_delta
from bnpriv.text import upper_chance

CLAMPED = Refusal(
    required="delta must be above what clamped records may tell",
    found="columns whose values the model often takes beyond their bounds",
    remedy="Declare wider bounds of the queried columns, or ask for a larger delta.",
)

ROUNDING_SHARES = (2.0**-20, 2.0**-10, 2.0**-5, 0.125, 0.5, 0.875, 1 - 2.0**-5, 1 - 2.0**-10)
"""Shares of the variance of the noise that are tried for hiding that answers are rounded."""


def _approximations(name: str, given: object) -> tuple[tuple[Normal, Normal], ...]:
    """Pairs of normal laws that were given, or stored as means and covariances."""
    listed = cast("Sequence[object]", given if isinstance(given, (list, tuple)) else (given,))
    return tuple(_normals(name, two) for two in listed)


def _normals(name: str, two: object) -> tuple[Normal, Normal]:
    sides = cast("Sequence[object]", two if isinstance(two, (list, tuple)) else ())
    found = [_normal(side) for side in sides]
    if len(found) != 2 or any(side is None for side in found):
        raise ParameterError(
            f"{name} must be pairs of normal distributions",
            found=checks.type_text(cast(object, two)),
            remedy="Write approximations=[(Normal(0.0, 4.0), Normal(1.0, 4.0))].",
        )
    return cast("tuple[Normal, Normal]", tuple(found))


def _normal(side: object) -> Normal | None:
    if isinstance(side, dict) and side.keys() == {"mean", "covariance"}:
        return Normal(**cast("dict[str, Any]", side))
    return side if isinstance(side, Normal) else None


@dataclass(frozen=True, kw_only=True)
class AttributeGaussianMechanism(ForNormalLaws, Mechanism):
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

    approximations: Sequence[tuple[Normal, Normal]] = ()
    claim: ClassVar[str] = "attribute_gaussian.md"
    checked: ClassVar[Mapping[str, Callable[[str, object], object]]] = {
        **ForNormalLaws.checked,
        "approximations": _approximations,
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.relaxation is None and self.approximations:
            raise ParameterError(
                "normal distributions that stand for others need a relaxation",
                found="none",
                remedy="Pass relaxation=0.05.",
            )

    def options(self) -> dict[str, object]:
        """Return the constructor arguments as plain values."""
        plain = [
            [{"mean": law.mean.tolist(), "covariance": law.covariance.tolist()} for law in two]
            for two in self.approximations
        ]
        return {**super().options(), "approximations": plain}

    def concerns(self, framework: Framework) -> bool:
        """Whether answers may have normal laws: declared ones, or those of records or parameters that do."""
        return framework.may_be_normal

    def _decide_by_laws(self, framework: Framework, query: Query, epsilon: float, delta: float) -> Search | Refusal:
        if self.relaxation is not None and not 2 * self.relaxation < epsilon:
            return laws.relaxation_refusal(self.relaxation, epsilon)
        found = laws.laws_by_pairs(framework, query)
        if isinstance(found, Refusal):
            return found
        evidence, pairs = found
        # what is declared is the law of the exact answer, of which the released one is a function
        free = bool(framework.answer_laws)
        if self.relaxation is not None:
            standing = laws.approximated(pairs, self._standing(query))
            if isinstance(standing, Refusal):
                return standing
            trial = laws.Trial(epsilon=epsilon, delta=delta, level=self.relaxation, constant=self.constant, free=free)
            return partial(self._search_relaxed, trial, evidence, standing, framework, query)
        refusal = laws.not_normal(pairs)
        if refusal is not None:
            return refusal
        clamped = max(clamped_of(each.pair, epsilon) for each in pairs)
        left = delta if clamped == 0 else down(delta - clamped)
        if not left > 0:
            return CLAMPED
        ratio = laws.normal_ratio(pairs, epsilon, left, self.constant)
        if isinstance(ratio, Refusal):
            return ratio

        def search() -> Found:
            decisions = sorted((_decided(pair, ratio, declared=free) for pair in pairs), key=lambda d: -d.scale)
            theorem = "Attribute-private Gaussian mechanism"
            certificate = self._certificate(framework, query, evidence, decisions, theorem)
            noise = noise_of("gaussian", found_scale(decisions[0].scale, epsilon, delta), evidence.dimension)
            spent = spent_delta(epsilon, delta, laws.delta_for_one_covariance(pairs, epsilon, left), self.constant)
            return Found(noise, certificate, spent)

        return search

    def _standing(self, query: Query) -> Sequence[tuple[Normal, Normal]]:
        """The normal laws that were chosen, of the weighted answer if that is asked for."""
        if not isinstance(query, Weighted):
            return self.approximations
        weights = query.weights
        return [(first.weighted(weights), second.weighted(weights)) for first, second in self.approximations]

    def _search_relaxed(
        self, trial: laws.Trial, evidence: Laws, pairs: list[laws.Approximated], framework: Framework, query: Query
    ) -> Found:
        decisions = sorted((trial.decide(each) for each in pairs), key=lambda d: -d.scale)
        scale = decisions[0].scale
        if math.isinf(scale):
            raise laws.TOO_FAR.error()
        outcomes = [trial.outcome(each, scale) for each in pairs]
        theorem = "Attribute-private Gaussian mechanism for distributions near normal ones"
        certificate = self._certificate(framework, query, evidence, decisions, theorem)
        close = f"({trial.level:g}, {upper_chance(max(outcome.closeness for outcome in outcomes))})-close"
        note = f"Normal distributions stand for those of the answer: with the noise they are {close}."
        certificate = replace(certificate, claim="normal_approximations.md", notes=(*certificate.notes, note))
        spent = max(outcome.delta for outcome in outcomes)
        return Found(noise_of("gaussian", scale, evidence.dimension), certificate, spent)


def _decided(each: laws.NormalPair, ratio: float, *, declared: bool) -> LawDecision:
    """What one pair needs: the least deviation at which its gap is at most `ratio` standard deviations long."""
    # what is declared of the exact answer holds for its rounding too as long as no noise is added to the rounded one
    length = gap_length(each, each.far, free=declared or each.pair.rounding == 0)
    guess = (each.far + each.pair.rounding) / ratio or each.pair.rounding or 1.0
    return LawDecision.of(
        *each,
        rule=GAP_RULE,
        distance=Bound(float(np.max(np.abs(each.gap))), each.far, each.pair.kind),
        scale=least_scale(length, ratio, up(guess)),
        noise="gaussian",
    )


def gap_length(each: laws.NormalPair, far: float, *, free: bool) -> Callable[[float], float]:
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
