"""Largest values over all orders of moments of the privacy loss: zero-concentrated and mean-concentrated bounds."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from bnpriv.bound import FloatArray

LogMoments = Callable[[FloatArray], FloatArray]
"""Log E exp(power times the loss) for many powers at once."""

Value = Callable[[FloatArray, FloatArray, bool], FloatArray]
"""What is to be largest, at some powers with bounds of their log moments: upper ones, or lower ones."""

FIRST_POWER, LAST_POWER = 1e-6, 1e9
"""Powers between which the largest value is looked for; beyond them bounds take over."""

MOST_CUTS, ORDERS_AT_START, MOST_POWERS = 24, 241, 20_000


def least_rho(
    low: LogMoments,
    high: LogMoments,
    xi: float,
    largest_order: float,
    beyond: Callable[[float], float],
    precision: float,
) -> tuple[float, float]:
    """Return bounds of the least rho with Renyi(a) <= xi + rho a for all orders a above 1, up to a largest one.

    Parameters
    ----------
    low, high : callable
        Lower and upper bounds of log moments by power, each convex and 0 at power 0.
    xi : float
        At least 0.
    largest_order : float
        Above 1, or infinite.
    beyond : callable
        What Renyi divergences of at least an order, divided by theirs, are at most.
    precision : float
        Relative gap of the two ends that is looked for.

    Returns
    -------
    (float, float)
        At least 0; infinite if no rho serves.
    """
    last = min(largest_order - 1, LAST_POWER)
    powers = np.geomspace(min(FIRST_POWER, last / 2), last, ORDERS_AT_START)

    def value(powers: FloatArray, at: FloatArray, _: bool) -> FloatArray:
        return (at / powers - xi) / (1 + powers)

    def above(left: FloatArray, right: FloatArray, at_left: FloatArray, at_right: FloatArray) -> FloatArray:
        slope = (at_right - at_left) / (right - left)
        a, b = slope - xi, np.maximum(slope * left - at_left, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            top = np.where(a > 0, (b + np.sqrt(b * b + np.maximum(a * b, 0.0))) / a, right)
        top = np.clip(np.nan_to_num(top, nan=0.0, posinf=math.inf), left, right)
        return np.max([(a - b / z) / (1 + z) for z in (left, top, right)], axis=0)

    least, most = _largest(value, above, (low, high), powers, precision)
    # below the first power divergences are at most what they are there
    first = float(high(powers[:1])[0]) / powers[0] - xi
    after = beyond(1 + last) if largest_order - 1 > last else 0.0
    return max(least, 0.0), max(most, float(first), after, 0.0)


def least_deviation(
    low: LogMoments,
    high: LogMoments,
    mean: tuple[float, float],
    near: tuple[float, float],
    beyond: Callable[[float], float],
    precision: float,
) -> tuple[float, float]:
    """Return bounds of the least t for which the loss less its mean is t-subgaussian.

    Parameters
    ----------
    low, high : callable
        Bounds of log moments by power, of either sign, each convex.
    mean : (float, float)
        Bounds of the mean loss.
    near : (float, float)
        A power above 0, and the largest variance of the loss tilted by powers of at most that size.
    beyond : callable
        An upper bound of the log moment at a large power of either sign, which falls against its square.
    precision : float
        Relative gap of the squares of the two ends that is looked for.
    """
    least, most = 0.0, near[1]
    if not math.isfinite(most):
        return math.inf, math.inf
    powers = np.geomspace(near[0], LAST_POWER * near[0], ORDERS_AT_START)
    for sign in (1.0, -1.0):
        centres = sorted((sign * mean[0], sign * mean[1]))
        found = _steepest(_signed(low, sign), _signed(high, sign), (centres[0], centres[1]), powers, precision)
        last = float(powers[-1])
        far = 2 * (beyond(sign * last) - min(centres[0], 0.0) * last) / last**2
        least, most = max(least, found[0]), max(most, found[1], far)
    return math.sqrt(least), math.sqrt(most)


def _signed(moments: LogMoments, sign: float) -> LogMoments:
    return lambda powers: moments(sign * powers)


def _steepest(
    low: LogMoments, high: LogMoments, centre: tuple[float, float], powers: FloatArray, precision: float
) -> tuple[float, float]:
    """Return the largest 2 (moment - power * centre) / power^2 over powers."""

    def value(powers: FloatArray, at: FloatArray, up: bool) -> FloatArray:
        return 2 * (at - centre[0 if up else 1] * powers) / powers**2

    def above(left: FloatArray, right: FloatArray, at_left: FloatArray, at_right: FloatArray) -> FloatArray:
        slope = (at_right - at_left) / (right - left)
        start, slope = at_left - slope * left, slope - centre[0]
        # 2 (start + slope z) / z^2 is largest at an end, or where z = -2 start / slope
        with np.errstate(divide="ignore", invalid="ignore"):
            top = np.nan_to_num(-2 * start / slope, nan=0.0, posinf=math.inf, neginf=0.0)
        places = (left, np.clip(top, left, right), right)
        return np.max([2 * (start + slope * z) / z**2 for z in places], axis=0)

    return _largest(value, above, (low, high), powers, precision)


def _largest(
    value: Value,
    above: Callable[[FloatArray, FloatArray, FloatArray, FloatArray], FloatArray],
    moments: tuple[LogMoments, LogMoments],
    powers: FloatArray,
    precision: float,
) -> tuple[float, float]:
    """Return the largest value at some powers, and a bound over all between; intervals that may hold more are cut."""
    low, high = moments
    least = float(np.max(value(powers, low(powers), False)))
    at = high(powers)
    most = float(np.max(value(powers, at, True)))
    if math.isinf(most):
        return least, most
    left, right, at_left, at_right = powers[:-1], powers[1:], at[:-1], at[1:]
    settled = most
    for _ in range(MOST_CUTS):
        bounds = above(left, right, at_left, at_right)
        kept = bounds > most + precision * abs(most)
        settled = max(settled, float(np.max(bounds[~kept], initial=-math.inf)))
        if not kept.any():
            return least, settled
        if 2 * int(kept.sum()) > MOST_POWERS:
            break
        left, right, at_left, at_right = left[kept], right[kept], at_left[kept], at_right[kept]
        middle = np.sqrt(left * right)
        at_middle = high(middle)
        least = max(least, float(np.max(value(middle, low(middle), False))))
        most = max(most, float(np.max(value(middle, at_middle, True))))
        left, right = np.concatenate([left, middle]), np.concatenate([middle, right])
        at_left, at_right = np.concatenate([at_left, at_middle]), np.concatenate([at_middle, at_right])
    return least, max(settled, float(np.max(above(left, right, at_left, at_right))))
