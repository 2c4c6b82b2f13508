"""The privacy curve of two normal laws with one covariance, whose means are mu standard deviations apart."""

from __future__ import annotations

import math
from typing import Literal, get_args

import numpy as np

from bnpriv import checks
from bnpriv.bound import UNIT_ROUNDOFF, FloatArray, down, halved
from bnpriv.errors import ParameterError, Refusal

GaussianConstant = Literal["analytic", "textbook", "lecture"]
"""How Gaussian noise is fitted: by the exact curve, or by a root of 2 log(1.25/delta) or 2 log(2/delta)."""

CONSTANTS: tuple[GaussianConstant, ...] = get_args(GaussianConstant)

_PARTS: dict[GaussianConstant, float] = {"textbook": 1.25, "lecture": 2.0}

PROVED_EPSILON = 1.0
"""The largest epsilon for which the textbook and the lecture constant are proved."""

NORMAL_LOG_ERROR = 16 * UNIT_ROUNDOFF
"""Bound on the relative error of logs of the normal distribution function, nearby operations included."""

MOST_NEGATIVE = -700.0
"""Below this level, whose exponential is no normal double, the curve is 1 to the last bit."""


def gaussian_delta(mu: float, epsilon: float) -> float:
    """The least delta for which two normal laws `mu` standard deviations apart are (epsilon, delta)-close.

    Parameters
    ----------
    mu : float
        Gap of the means over the standard deviation, at least 0.
    epsilon : float
        At least 0.

    Returns
    -------
    float
        ``Phi(mu/2 - epsilon/mu) - exp(epsilon) Phi(-mu/2 - epsilon/mu)``, rounded up: where the difference cancels, by
        the rounding error of its terms.

    Notes
    -----
    Balle, Wang, "Improving the Gaussian mechanism" (ICML 2018), theorem 8.

    Examples
    --------
    >>> round(gaussian_delta(1.0, 1.0), 6)
    0.126937
    """
    from scipy.special import log_ndtr

    if mu == 0:
        return 0.0
    first = float(log_ndtr(mu / 2 - epsilon / mu))
    second = float(log_ndtr(-mu / 2 - epsilon / mu))
    error = NORMAL_LOG_ERROR * (abs(first) + abs(second) + epsilon)
    if not error < 1:  # so far apart, or so close, that the second term does not matter
        return math.exp(first * (1 - 2.0**-20))
    # the difference of the two terms is taken as a product with expm1: subtracting would lose a small delta altogether
    return -math.exp(first + error) * math.expm1(min(0.0, epsilon + second - first) - error)


def gaussian_mu(epsilon: float, delta: float) -> float:
    """The largest gap of means, in standard deviations, that is (epsilon, delta)-private.

    Parameters
    ----------
    epsilon : float
        Above 0.
    delta : float
        Above 0 and below 1.

    Returns
    -------
    float
        Rounded down, so that noise ``gap / mu`` is enough.

    Raises
    ------
    ParameterError
        If a parameter is out of range.

    Notes
    -----
    Balle, Wang (ICML 2018), theorem 9, by bisection; the curve grows with `mu`.

    Examples
    --------
    >>> round(1 / gaussian_mu(1.0, 1e-3), 5)
    2.57466
    """
    # what is left of an epsilon may be below the least that users may ask for; above the largest it is capped
    epsilon = min(checks.positive("epsilon", epsilon), checks.LARGEST_EPSILON)
    if not checks.delta(delta) > 0:
        raise ParameterError(
            "Gaussian noise needs delta above 0", found="0", remedy="Pass a small delta, or use Laplace noise."
        )
    high = 1.0
    while gaussian_delta(high, epsilon) <= delta:
        high *= 2
    # the lower end was tested and found private: the gap is never rounded up
    return halved(0.0, high, lambda mu: not gaussian_delta(mu, epsilon) <= delta, 200)[0]


def gaussian_ratio(epsilon: float, delta: float, constant: GaussianConstant = "analytic") -> float:
    """The largest gap of means, in standard deviations, that one of three constants calls private.

    Parameters
    ----------
    epsilon : float
        Above 0.
    delta : float
        Above 0 and below 1.
    constant : {"analytic", "textbook", "lecture"}
        The exact curve (`gaussian_mu`); ``epsilon / sqrt(2 log(1.25 / delta))``; ``epsilon / sqrt(2 log(2 / delta))``.
        The last two hold for epsilon of at most 1, see `constant_refusal`, and need more noise.

    Returns
    -------
    float
        Rounded down, so that noise ``gap / ratio`` is enough.

    Raises
    ------
    ParameterError
        If a parameter is out of range.

    Notes
    -----
    docs/claims/attribute_gaussian.md.

    Examples
    --------
    >>> [round(1 / gaussian_ratio(1.0, 1e-3, constant), 3) for constant in ("analytic", "textbook", "lecture")]
    [2.575, 3.776, 3.899]
    """
    checks.member("constant", constant, CONSTANTS, error=ParameterError)
    analytic = gaussian_mu(epsilon, delta)
    if constant == "analytic":
        return analytic
    # log(part / delta) overflows nowhere, where part / delta would for the smallest delta
    return down(epsilon / math.sqrt(2 * (math.log(_PARTS[constant]) - math.log(delta))), 16)


def constant_refusal(constant: GaussianConstant, epsilon: float, *, beyond_proof: bool) -> Refusal | None:
    """Why a constant is not used at this epsilon; None if it is proved there, or the refusal is waived.

    Parameters
    ----------
    constant : {"analytic", "textbook", "lecture"}
    epsilon : float
    beyond_proof : bool
        Waive the refusal; the guarantee then names the delta that does hold, see `delta_of_constant`.

    Returns
    -------
    Refusal or None

    Examples
    --------
    >>> constant_refusal("textbook", 0.5, beyond_proof=False) is None
    True
    """
    if constant == "analytic" or epsilon <= PROVED_EPSILON or beyond_proof:
        return None
    return Refusal(
        required=f"the {constant} constant is proved for epsilon of at most 1",
        found=f"{epsilon:g}",
        remedy='Use constant="analytic", which holds for every epsilon, or pass beyond_proof=True if you mean it.',
    )


def delta_of_constant(epsilon: float, delta: float, constant: GaussianConstant) -> float:
    """The delta that holds for noise fitted by a constant: the one asked for, or more beyond its proof.

    Examples
    --------
    >>> delta_of_constant(5.0, 1e-3, "textbook"), round(delta_of_constant(10.0, 1e-3, "textbook"), 4)
    (0.001, 0.0034)
    """
    return max(delta, gaussian_delta(gaussian_ratio(epsilon, delta, constant), epsilon))


def gaussian_excess(mu: FloatArray, epsilon: FloatArray) -> FloatArray:
    """The privacy curve of many pairs of normal laws at levels of either sign, rounded up.

    Parameters
    ----------
    mu : ndarray
        Gaps of the means over the standard deviation, at least 0.
    epsilon : ndarray
        Finite or -inf; below 0 the curve is that of the event that nearly always happens.

    Returns
    -------
    ndarray
        Of the shape that both broadcast to; see `gaussian_delta`.

    Examples
    --------
    >>> gaussian_excess(np.array([1.0, 0.0]), np.array([1.0, -1.0])).round(6).tolist()
    [0.126937, 0.632121]
    """
    from scipy.special import log_ndtr

    mu, epsilon = np.broadcast_arrays(mu, epsilon)
    certain = epsilon < MOST_NEGATIVE
    level = np.where(certain, 0.0, epsilon)
    gap = np.where(mu == 0, 1.0, mu)
    first, second = log_ndtr(gap / 2 - level / gap), log_ndtr(-gap / 2 - level / gap)
    with np.errstate(over="ignore", invalid="ignore"):
        error = NORMAL_LOG_ERROR * (np.abs(first) + np.abs(second) + np.abs(level))
        curve = -np.exp(first + error) * np.expm1(np.minimum(0.0, level + second - first) - error)
    # so far apart, or so close, that the second term does not matter
    curve = np.where(error < 1, curve, np.exp(first * (1 - 2.0**-20)))
    flat = np.where(level < 0, -np.expm1(np.minimum(level, 0.0)) * (1 + NORMAL_LOG_ERROR), 0.0)
    return np.minimum(1.0, np.where(certain, 1.0, np.where(mu == 0, flat, curve)))
