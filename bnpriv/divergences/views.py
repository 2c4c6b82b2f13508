"""The views of the privacy loss of a finite pair of laws: logs of masses of one output each along the last axis.

Leading axes are many pairs at once. The first law is that under which the loss log(p / q) is random. Rounding is the
business of `bnpriv.divergences.loss`.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from bnpriv.bound import FloatArray
from bnpriv.laws.base import log_sum_exp

SMALL_LOSS = 0.01
"""Below this size a series replaces a difference that would cancel."""


def losses(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return log(p / q) of every output: inf where q alone is 0, -inf where p is.

    Examples
    --------
    >>> losses(np.log([0.5, 0.5]), np.log([0.25, 0.75])).round(4).tolist()
    [0.6931, -0.4055]
    """
    with np.errstate(invalid="ignore"):
        return np.where(np.isneginf(first), -np.inf, first - second)


def hockey_stick(first: FloatArray, second: FloatArray, epsilon: float | FloatArray) -> FloatArray:
    """Return the least delta at `epsilon`: the mean of the positive part of 1 - exp(epsilon - loss).

    Examples
    --------
    >>> hockey_stick(np.log([0.5, 0.5]), np.log([0.25, 0.75]), 0.0).round(12).tolist()
    0.25
    """
    loss = losses(first, second)
    with np.errstate(invalid="ignore"):
        above = np.where(np.isposinf(loss), np.inf, loss - np.asarray(epsilon)[..., None])
    return np.sum(np.exp(first) * -np.expm1(-np.maximum(above, 0.0)), axis=-1)


def least_epsilon(first: FloatArray, second: FloatArray, delta: float) -> FloatArray:
    """Return the least epsilon of at least 0 with `hockey_stick` at most `delta`.

    Notes
    -----
    docs/claims/curves.md: the largest log of (P - delta) / Q over the sets of the k largest losses.

    Examples
    --------
    >>> least_epsilon(np.log([0.5, 0.5]), np.log([0.25, 0.75]), 0.1).round(6).tolist()
    0.470004
    """
    order = np.argsort(-losses(first, second), axis=-1, kind="stable")
    above, below = (np.logaddexp.accumulate(np.take_along_axis(logs, order, -1), axis=-1) for logs in (first, second))
    if delta > 0:
        with np.errstate(divide="ignore"):
            above = above + np.log(np.maximum(-np.expm1(np.minimum(math.log(delta) - above, 0.0)), 0.0))
    with np.errstate(invalid="ignore"):
        ratio = np.where(np.isneginf(above), -np.inf, above - below)
    return np.maximum(np.max(ratio, axis=-1), 0.0)


def least_exceeded(loss: FloatArray, masses: FloatArray, delta: float) -> FloatArray:
    """Return the least number of at least 0 that losses with some masses exceed with probability at most `delta`.

    Examples
    --------
    >>> least_exceeded(np.array([0.7, -0.4]), np.array([0.5, 0.5]), 0.4).tolist()
    0.7
    """
    order = np.argsort(-loss, axis=-1, kind="stable")
    loss, masses = (np.take_along_axis(each, order, -1) for each in (loss, masses))
    # outputs are set aside from the largest loss down, as long as their sum allows
    kept = np.cumsum(masses, axis=-1) > delta
    place = np.argmax(kept, axis=-1)[..., None]
    found = np.where(kept.any(axis=-1), np.take_along_axis(loss, place, -1)[..., 0], 0.0)
    return np.maximum(found, 0.0)


def kullback_leibler(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return the mean loss under the first law; both laws have the same sum of masses.

    Examples
    --------
    >>> kullback_leibler(np.log([0.5, 0.5]), np.log([0.25, 0.75])).round(6).tolist()
    0.143841
    """
    loss = losses(first, second)
    p, q = np.exp(first), np.exp(second)
    small = np.abs(loss) < SMALL_LOSS
    near, far = np.where(small, loss, 0.0), np.where(small | np.isinf(loss), 1.0, loss)
    # every term is at least 0: p (loss - 1) + q, a series where the two cancel
    series = p * near**2 * (1 / 2 - near * (1 / 6 - near * (1 / 24 - near * (1 / 120 - near / 720))))
    terms = np.where(small, series, np.maximum(p * (far - 1) + q, 0.0))
    terms = np.where(np.isneginf(loss), q, np.where(np.isposinf(loss), np.inf, terms))
    return np.sum(terms, axis=-1)


def log_moment(first: FloatArray, second: FloatArray, power: float | FloatArray) -> FloatArray:
    """Return the log of the mean of exp(power times the loss) under the first law, of sum 1.

    Examples
    --------
    >>> log_moment(np.log([0.5, 0.5]), np.log([0.25, 0.75]), 1.0).round(6).tolist()
    0.287682
    """
    loss, power = losses(first, second), np.asarray(power, dtype=np.float64)[..., None]
    seen, ruled_out = ~np.isneginf(first), np.isposinf(loss)
    size = np.max(np.where(seen & ~ruled_out, np.abs(loss), 0.0), axis=-1)
    near = (size * np.abs(power[..., 0]) < 1) & ((power[..., 0] < 0) | ~np.any(ruled_out, axis=-1))
    with np.errstate(invalid="ignore", over="ignore"):
        scaled = np.where(seen & (power != 0), power * loss, 0.0)
        found = np.zeros(scaled.shape[:-1])
        if np.any(near):
            # the sum less 1, in terms of one sign that are nearly 0 each: each with power times q - p, of sum 0, added
            p, q = np.exp(first), np.exp(second)
            gained = np.where(np.abs(loss) < 1, p * np.expm1(np.where(seen, -loss, 0.0)), q - p)
            excess = np.sum(np.where(seen, p * np.expm1(scaled), 0.0) + power * gained, axis=-1)
            near &= excess > -0.5
            found = np.where(near, np.log1p(np.where(near, excess, 0.0)), found)
        if not np.all(near):
            found = np.where(near, found, log_sum_exp(np.where(seen, first + scaled, -np.inf), -1))
    return found


def renyi(first: FloatArray, second: FloatArray, order: float) -> FloatArray:
    """Return the Renyi divergence of an order above 0; the mean loss at 1, the largest loss at infinity.

    Examples
    --------
    >>> renyi(np.log([0.5, 0.5]), np.log([0.25, 0.75]), 2.0).round(6).tolist()
    0.287682
    """
    if order == 1:
        return kullback_leibler(first, second)
    if math.isinf(order):
        return np.max(losses(first, second), axis=-1)
    return log_moment(first, second, order - 1) / (order - 1)


def chi(first: FloatArray, second: FloatArray, order: float) -> FloatArray:
    """Return the mean under the second law of the absolute value of p / q - 1 to a power of at least 1.

    Examples
    --------
    >>> chi(np.log([0.5, 0.5]), np.log([0.25, 0.75]), 2.0).round(6).tolist()
    0.333333
    """
    return ternary_chi(first, second, second, order)


def ternary_chi(first: FloatArray, second: FloatArray, third: FloatArray, order: float) -> FloatArray:
    """Return the mean under a third law r of (the absolute value of p - q, over r) to a power of at least 1.

    Examples
    --------
    >>> half = np.log([0.5, 0.5])
    >>> ternary_chi(np.log([0.6, 0.4]), np.log([0.4, 0.6]), half, 1.0).round(6).tolist()
    0.4
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        high, gap = np.maximum(first, second), np.abs(losses(first, second))
        apart = np.where(np.isneginf(high), -np.inf, high + np.log(-np.expm1(-gap)))
        logs = np.where(np.isneginf(apart), -np.inf, order * apart - (order - 1) * third if order != 1 else apart)
        return np.sum(np.exp(logs), axis=-1)


def f_divergence(
    first: FloatArray, second: FloatArray, function: Callable[[FloatArray], FloatArray], slope: float
) -> FloatArray:
    """Return the mean under the second law of a convex function of p / q; `slope` is its last slope, at infinity.

    Examples
    --------
    >>> f_divergence(np.log([0.5, 0.5]), np.log([0.25, 0.75]), lambda r: abs(r - 1) / 2, 0.5).round(12).tolist()
    0.25
    """
    loss, q = losses(first, second), np.exp(second)
    seen = ~np.isneginf(second)
    with np.errstate(over="ignore"):
        ratio = np.exp(np.where(seen, loss, 0.0))
    values = function(ratio)
    beyond = np.where(seen, 0.0, np.exp(first))
    lost = np.sum(beyond, axis=-1)
    return np.sum(np.where(seen, q * values, 0.0), axis=-1) + np.where(lost > 0, slope * np.where(lost > 0, lost, 1), 0)
