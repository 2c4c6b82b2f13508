"""Tight calibration for normal laws of one covariance, by closed forms (docs/claims/normal_records.md)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from bnpriv.bound import FloatArray, weakest
from bnpriv.core.distributions import mahalanobis
from bnpriv.core.evidence.constraints import Constraint, LawPair
from bnpriv.core.gaussian_curve import gaussian_delta, gaussian_mu
from bnpriv.core.mechanisms.base import least_scale
from bnpriv.core.mechanisms.law_decision import (
    ANSWER_RULE,
    OTHER_COVARIANCES,
    LawDecision,
    clamped_of,
    distance_of,
    normals_of,
    one_covariance,
)
from bnpriv.core.privacy_curves import normal_with_laplace_delta
from bnpriv.errors import Refusal

SHARES_OF_EPSILON = tuple(2.0**-k for k in range(2, 15))
"""Shares of epsilon that moving each answer by grids and doubles may cost; the best of them counts."""


def normal_refusal(pairs: Sequence[LawPair], noise: str) -> Refusal | None:
    """Why normal laws cannot be calibrated with a law of noise; None if they can."""
    if not all(one_covariance(pair) for pair in pairs):
        return OTHER_COVARIANCES
    if noise == "discrete_laplace":
        return Refusal(
            required="discrete Laplace noise needs an answer of whole numbers",
            found="a normal law",
            remedy="Use Laplace noise.",
        )
    if noise == "laplace" and pairs[0].first.dimension > 1:
        return Refusal(
            required="several normal numbers at once are calibrated with Gaussian noise",
            found="Laplace noise",
            remedy='Use TightMechanism(noise="gaussian"), or WassersteinMechanism.',
        )
    return None


def normal_decision(
    constraint: Constraint, pairs: Sequence[LawPair], noise: str, epsilon: float, delta: float
) -> tuple[LawDecision, bool]:
    """The decision from normal laws, and whether it spends delta.

    Parameters
    ----------
    constraint : Constraint
    pairs : sequence of LawPair
        Its pairs of normal laws, each with one covariance.
    noise : {"laplace", "gaussian"}
    epsilon, delta : float

    Returns
    -------
    LawDecision, bool
    """
    found = [
        _gaussian(pair, epsilon, delta) if noise == "gaussian" else _laplace(pair, epsilon, delta) for pair in pairs
    ]
    worst = max(range(len(pairs)), key=lambda k: found[k][0])
    decision = LawDecision.of(
        pairs[worst],
        constraint.protected,
        constraint.model,
        rule=ANSWER_RULE,
        kind=weakest(pair.kind for pair in pairs),
        scale=found[worst][0],
        noise=noise,
    )
    return decision, any(spends for _, spends in found)


def _gaussian(pair: LawPair, epsilon: float, delta: float) -> tuple[float, bool]:
    """The least deviation of Gaussian noise: by the curve, or by how far apart answers can be."""
    gap, covariance = _gap(pair), normals_of(pair)[0].covariance
    identity, clamped = np.eye(len(gap)), clamped_of(pair, epsilon)

    def loss(scale: float) -> float:
        variance = scale * scale
        mu = mahalanobis(gap, covariance + variance * identity) if math.isfinite(variance) else math.inf
        if math.isinf(mu):
            return math.inf
        if scale == 0 and pair.departure is None:
            return gaussian_delta(mu, epsilon)  # rounding an answer reveals no more about it
        return _moved(pair.rounding, scale, epsilon, lambda level: gaussian_delta(mu, level)) + clamped

    far = distance_of(pair, 2).upper
    if loss(0.0) <= delta:
        return 0.0, True
    enough = (far + pair.rounding) / gaussian_mu(epsilon, delta) * (1 + 2.0**-48)
    return min(enough, least_scale(loss, delta, enough or pair.rounding)), True


def _moved(rounding: float, scale: float, epsilon: float, curve: Callable[[float], float]) -> float:
    """The curve at epsilon of answers that are each moved by half of `rounding` before Gaussian noise."""
    if rounding == 0:
        return curve(epsilon)
    if scale == 0:
        return math.inf
    best = math.inf
    for share in SHARES_OF_EPSILON:
        lost = share * epsilon
        missing = gaussian_delta(rounding / 2 / scale * (1 + 2.0**-50), lost)
        ratio = math.exp(min(epsilon - lost, 700.0))
        # the triangle inequality in three steps: moved to unmoved, one secret to the other, unmoved to moved
        best = min(best, missing * (1 + ratio) + math.exp(min(lost, 700.0)) * curve(epsilon - 2 * lost))
    return best * (1 + 2.0**-48)


def _laplace(pair: LawPair, epsilon: float, delta: float) -> tuple[float, bool]:
    """The least scale of Laplace noise for one number; without delta the scale for the distance."""
    far = distance_of(pair, 1).upper
    pure = (far + pair.rounding) / epsilon * (1 + 2.0**-48)
    if delta == 0 or far == 0:
        return pure, False
    gap, clamped = abs(float(_gap(pair)[0])) * (1 + 2.0**-50), clamped_of(pair, epsilon)
    deviation = math.sqrt(float(normals_of(pair)[0].covariance[0, 0])) * (1 - 2.0**-50)

    def loss(scale: float) -> float:
        if scale == 0:
            free = pair.departure is None
            return normal_with_laplace_delta(gap, deviation, 0.0, epsilon) if free else math.inf
        spent = pair.rounding / scale
        if spent >= epsilon:
            return math.inf
        # rounding multiplies each density by at most exp(spent / 2)
        return math.exp(spent / 2) * normal_with_laplace_delta(gap, deviation, scale, epsilon - spent) + clamped

    if not loss(pure) <= delta:
        return pure, False
    scale = min(pure, least_scale(loss, delta, pure))
    return scale, scale < pure


def _gap(pair: LawPair) -> FloatArray:
    first, second = normals_of(pair)
    return second.mean - first.mean
