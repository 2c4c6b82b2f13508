"""The privacy curve of Laplace noise beside a normal privacy loss."""

from __future__ import annotations

import numpy as np

from bnpriv.bound import FloatArray
from bnpriv.divergences.gaussian import NORMAL_LOG_ERROR

LOG_OF_ZERO = -1e6
"""A log whose exponential is 0 in doubles, and no infinity that would spoil a product."""


def laplace_normal_excess(mu: FloatArray, shift: FloatArray, epsilon: float) -> FloatArray:
    """Return the hockey-stick divergence of a normal and a Laplace number that a secret moves together.

    Parameters
    ----------
    mu : ndarray
        By how many standard deviations it moves the normal number, above 0.
    shift : ndarray
        By how many scales it moves the Laplace number, at least 0.
    epsilon : float
        At least 0.

    Returns
    -------
    ndarray
        Rounded up.

    Notes
    -----
    The loss l of the normal number is normal with mean mu^2/2 and deviation mu. Given l the Laplace number's curve at
    epsilon - l is 0 up to l = a = epsilon - shift, then 1 - exp((a - l)/2) up to l = b = epsilon + shift, then
    1 - exp(epsilon - l). Each term is a tail of l under a tilted normal law, and none is larger than the first.

    Examples
    --------
    >>> laplace_normal_excess(np.array([1.0]), np.array([0.5]), 1.0).round(6).tolist()
    [0.164242]
    """
    from scipy.special import log_ndtr

    a, b, half = epsilon - shift, epsilon + shift, mu**2 / 2
    tilt = a / 2 - mu**2 / 8
    first = _power(log_ndtr((half - a) / mu), 0.0, up=True)
    near = _power(log_ndtr(-a / mu), tilt, up=False)
    far = _power(log_ndtr(-b / mu), tilt, up=True)
    last = _power(log_ndtr(-(b + half) / mu), epsilon, up=False)
    return np.clip(first - near + far - last, 0.0, 1.0)


def _power(log: FloatArray, factor: FloatArray | float, *, up: bool) -> FloatArray:
    """Return exp(log + factor), rounded up or down by all that its exponent and the final sum can err."""
    log = np.maximum(log, LOG_OF_ZERO)
    error = NORMAL_LOG_ERROR * (1 + np.abs(log) + np.abs(factor))
    with np.errstate(over="ignore", under="ignore"):
        return np.exp(log + factor) * (1 + error if up else np.maximum(1 - error, 0.0))
