"""Noise that covers the steps of an answer: behind less of it, whole numbers show through a normal law.

docs/claims/steps.md.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bnpriv.bound import FloatArray, up
from bnpriv.frameworks import DistributionPrivacy, Framework
from bnpriv.laws import Normal
from bnpriv.noise.continuous import Gaussian, Laplace, Noise
from bnpriv.noise.correlated import CorrelatedGaussian
from bnpriv.noise.directional import DirectionalLaplace
from bnpriv.queries.base import Query
from bnpriv.queries.normal_form import normal_form

Covering = Laplace | Gaussian | CorrelatedGaussian | DirectionalLaplace

LAPLACE_STEPS = 2.0
"""Scales of Laplace noise for a step; its law is pointed, and smooths less than a normal one of one deviation."""

STEPS_NOTE = (
    "Independent noise of a step of the answer is part of the noise: the declared normal laws do not say that sums "
    "over records move in steps, and less noise would let single values show."
)


def with_steps_covered(framework: Framework, query: Query, noise: Noise) -> Noise:
    """Return noise that hides the steps of an answer whose law is normal by declaration: the same one if it does.

    Parameters
    ----------
    framework : Framework
    query : Query
    noise : Noise
        In the answer's units.
    """
    if not isinstance(framework, DistributionPrivacy) or not any(isinstance(law, Normal) for law, _ in framework.pairs):
        return noise
    if framework.query is None or not isinstance(noise, (Laplace, Gaussian, CorrelatedGaussian, DirectionalLaplace)):
        return noise
    matrix = normal_form(query, framework.schema).matrix
    steps = _covered_steps(np.array([[float(weight) for weight in row] for row in matrix]), noise)
    return noise if _covers(noise, steps) else _larger(noise, steps)


def _covered_steps(steps: FloatArray, noise: Covering) -> FloatArray:
    """Return the steps, shape (numbers, sums), of the sums that some noisy number is made of; others stay exact."""
    noisy = np.diag(noise.covariance) > 0
    while True:
        sums = np.any(steps[noisy] != 0, axis=0)
        reached = noisy | np.any(steps[:, sums] != 0, axis=1)
        if np.array_equal(reached, noisy):
            return np.where(sums, steps, 0.0)
        noisy = reached


def _covers(noise: Covering, steps: FloatArray) -> bool:
    """Return whether noise is what independent noise of one step on every sum would be, with more on top."""
    covariance = noise.covariance
    if not isinstance(noise, (Gaussian, CorrelatedGaussian)):
        covariance = covariance / (2 * LAPLACE_STEPS**2)
    units = np.sqrt(np.diag(covariance))
    reached = np.any(steps != 0, axis=1)
    if not np.all(units[reached] > 0):
        return False
    units = np.where(units > 0, units, 1.0)
    more = (covariance - steps @ steps.T) / np.outer(units, units)
    return bool(np.linalg.eigvalsh(more)[0] >= 0)


def _larger(noise: Covering, steps: FloatArray) -> Covering:
    """Return the noise with as much independent noise on every number as its steps take, rounded up."""
    # a matrix is at most the diagonal of the sums of its rows' sizes
    deviations = [up(value, 64) for value in np.sqrt(np.abs(steps @ steps.T).sum(axis=1))]
    if isinstance(noise, CorrelatedGaussian):
        return CorrelatedGaussian(noise.needed, np.maximum(noise.dithers, deviations).tolist())
    scales = [LAPLACE_STEPS * deviation for deviation in deviations]
    if isinstance(noise, DirectionalLaplace):
        return replace(noise, dithers=tuple(np.maximum(noise.dithers, scales).tolist()))
    least = deviations if isinstance(noise, Gaussian) else scales
    larger = max(need / scale for need, scale in zip(least, noise.scales, strict=True))
    return replace(noise, scale=up(noise.scale * larger, 64))
