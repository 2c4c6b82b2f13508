"""Noise that covers the steps of an answer: behind less of it, whole numbers show through a normal law.

docs/claims/steps.md.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bnpriv.bound import FloatArray, up
from bnpriv.frameworks.framework import Framework
from bnpriv.frameworks.question import own_query
from bnpriv.laws.normal import Normal
from bnpriv.noise.continuous import Gaussian, Laplace, Noise, NoNoise
from bnpriv.noise.correlated import CorrelatedGaussian
from bnpriv.noise.directional import DirectionalLaplace
from bnpriv.queries.base import Query
from bnpriv.queries.given import GivenAnswer
from bnpriv.queries.normal_form import normal_form

Covering = Laplace | Gaussian | CorrelatedGaussian | DirectionalLaplace

COVERING = (Laplace, Gaussian, CorrelatedGaussian, DirectionalLaplace)
"""The same, to ask for."""

LAPLACE_STEPS = 2.0
"""Scales of Laplace noise for a step; its law is pointed, and smooths less than a normal one of one deviation."""

STEPS_NOTE = (
    "Independent noise of a step of the answer is part of the noise: the declared normal laws do not say that sums "
    "over records move in steps, and less noise would let single values show."
)


EXACT_NOTE = (
    "The declared normal laws do not say that sums over records move in steps. What gets no noise is released exactly: "
    "that each of its single values is about as likely under either secret is declared with these laws, not proved."
)


def steps_covered(framework: Framework, query: Query, noise: Noise) -> tuple[Noise, tuple[str, ...]]:
    """Return noise that hides the steps of an answer, as `with_steps_covered` does, and what is to be said of them."""
    covering = with_steps_covered(framework, query, noise)
    return covering, steps_notes(framework, query, noise, covering)


def steps_notes(framework: Framework, query: Query, noise: Noise, covering: Noise) -> tuple[str, ...]:
    """Return what is to be said of steps under normal laws: that noise covers them, or that an answer has none.

    Parameters
    ----------
    framework : Framework
    query : Query
    noise : Noise
        That was calibrated.
    covering : Noise
        That `with_steps_covered` made of it.
    """
    steps = _steps(framework, query)
    exact = (
        steps is not None
        and isinstance(covering, (*COVERING, NoNoise))
        and bool(np.any(steps[np.diag(covering.covariance) <= 0] != 0))
    )
    return (*((STEPS_NOTE,) if covering is not noise else ()), *((EXACT_NOTE,) if exact else ()))


def with_steps_covered(framework: Framework, query: Query, noise: Noise) -> Noise:
    """Return noise that hides the steps of an answer whose law is normal by declaration: the same one if it does.

    Parameters
    ----------
    framework : Framework
    query : Query
    noise : Noise
        In the answer's units.
    """
    steps = _steps(framework, query)
    if steps is None or not isinstance(noise, COVERING):
        return noise
    steps = _covered_steps(steps, noise)
    return noise if _covers(noise, steps) else _larger(noise, steps)


def _steps(framework: Framework, query: Query) -> FloatArray | None:
    """Return the steps of an answer, shape (numbers, sums), where its laws are normal by declaration; else None."""
    declared = (law for pair in framework.answer_laws for law in pair)
    if isinstance(own_query(framework), GivenAnswer) or not any(isinstance(law, Normal) for law in declared):
        return None
    matrix = normal_form(query, framework.schema).matrix
    return np.array([[float(weight) for weight in row] for row in matrix])


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
