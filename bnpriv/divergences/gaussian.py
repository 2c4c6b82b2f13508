"""The privacy curve of two normal laws with one covariance, a distance of mu standard deviations apart."""

from __future__ import annotations

import math

from bnpriv import checks
from bnpriv.bound import UNIT_ROUNDOFF
from bnpriv.errors import ParameterError

FUNCTION_ERROR = 16 * UNIT_ROUNDOFF
"""Bound on the relative error of the logs of the normal distribution function, with the operations around them."""


def gaussian_delta(mu: float, epsilon: float) -> float:
    """Return the least delta for which two normal laws `mu` standard deviations apart are (epsilon, delta)-close.

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
    error = FUNCTION_ERROR * (abs(first) + abs(second) + epsilon)
    return -math.exp(first + error) * math.expm1(min(0.0, epsilon + second - first) - error)


def gaussian_mu(epsilon: float, delta: float) -> float:
    """Return the largest gap of means, in standard deviations, that is (epsilon, delta)-private.

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
    checks.epsilon(epsilon)
    if not checks.delta(delta) > 0:
        raise ParameterError(
            "Gaussian noise needs delta above 0", found="0", remedy="Pass a small delta, or use Laplace noise."
        )
    low, high = 0.0, 1.0
    while gaussian_delta(high, epsilon) <= delta:
        high *= 2
    for _ in range(200):
        middle = (low + high) / 2
        if not low < middle < high:
            break
        if gaussian_delta(middle, epsilon) <= delta:
            low = middle
        else:
            high = middle
    return low
