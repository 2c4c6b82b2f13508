"""Noise that covers the steps of an answer: behind less of it, whole numbers show through a normal law.

docs/claims/steps.md.
"""

from __future__ import annotations

import numpy as np

from bnpriv.bound import FloatArray
from bnpriv.errors import Refusal
from bnpriv.frameworks import DistributionPrivacy, Framework
from bnpriv.laws import Normal
from bnpriv.noise.continuous import Gaussian, Noise, NoNoise
from bnpriv.noise.correlated import CorrelatedGaussian
from bnpriv.queries.base import Query
from bnpriv.queries.normal_form import normal_form

LAPLACE_STEPS = 2.0
"""Scales of Laplace noise for a step; its law is pointed, and smooths less than a normal one of one deviation."""


def steps_refusal(framework: Framework, query: Query, noise: Noise) -> Refusal | None:
    """Return why noise is too little for an answer that has a normal law by declaration, or None if it is enough.

    Parameters
    ----------
    framework : Framework
    query : Query
    noise : Noise
        In the answer's units.
    """
    if not (isinstance(framework, DistributionPrivacy) and isinstance(framework.pairs[0][0], Normal)):
        return None
    if framework.query is None or isinstance(noise, NoNoise) or _covers(noise, _steps(query, framework)):
        return None
    return Refusal(
        required="noise must cover a step of every sum of records, in every direction, where normal laws are declared",
        found=f"{type(noise).__name__} noise through which whole numbers would show",
        remedy="Use AttributeGaussianMechanism or ExpectedValueMechanism, ask for a smaller epsilon, or declare "
        "the exact laws (Atoms).",
    )


def _steps(query: Query, framework: DistributionPrivacy) -> FloatArray:
    """Return by how much each number changes where a sum of records changes by one, shape (outputs, sums)."""
    matrix = normal_form(query, framework.schema).matrix
    return np.array([[float(weight) for weight in row] for row in matrix])


def _covers(noise: Noise, steps: FloatArray) -> bool:
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
