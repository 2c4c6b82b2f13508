"""The privacy curve of a normal answer with Laplace noise: two such laws of one variance, a gap apart."""

from __future__ import annotations

import math

from bnpriv.divergences.gaussian import NORMAL_LOG_ERROR, gaussian_delta

MOST_DEVIATIONS = 2.0**20
"""An answer whose deviation is so many scales is counted as if it had no noise."""

MOST_HALVINGS = 400
"""Halvings and doublings in the search for the answer from which on the first law is too likely."""


def normal_with_laplace_delta(gap: float, deviation: float, scale: float, epsilon: float) -> float:
    """Return the hockey-stick divergence of two normal answers with Laplace noise, rounded up.

    Parameters
    ----------
    gap : float
        Distance of the two means, at least 0.
    deviation : float
        Standard deviation of both answers, at least 0.
    scale : float
        Of the noise, at least 0.
    epsilon : float
        At least 0.

    Returns
    -------
    float
        The same in both directions.

    Notes
    -----
    docs/claims/normal_records.md. The density of the sum is log-concave, so the ratio of the two densities grows with
    the answer w, and the worst event is w > t with ratio exp(epsilon) at t.

    Examples
    --------
    >>> round(normal_with_laplace_delta(1.0, 1.0, 1.0, 0.5), 6)
    0.090015
    """
    if gap == 0:
        return 0.0
    bare = gaussian_delta(gap / deviation, epsilon) if deviation > 0 else 1.0
    if deviation >= MOST_DEVIATIONS * scale:
        return bare  # which noise only lowers
    if epsilon >= gap / scale:
        return 0.0
    if deviation == 0:
        return -math.expm1((epsilon - gap / scale) / 2) * (1 + 2.0**-50)
    curve = _Sum(deviation, scale)
    at, error = _threshold(curve, gap, epsilon)
    above = curve.above(at - gap, up=True)
    if math.isinf(epsilon):
        return above
    below = math.exp(epsilon) * (1 - 2.0**-50) * curve.above(at, up=False)
    return min(bare, max(0.0, above * (1 + 8 * error) - below))


class _Sum:
    """The law of a centred normal number plus a Laplace number."""

    def __init__(self, deviation: float, scale: float) -> None:
        self.deviation, self.scale = deviation, scale
        self.ratio = deviation / scale

    def log_density(self, t: float) -> tuple[float, float]:
        """Return the log of the density up to a constant, and a bound of its error."""
        from scipy.special import log_ndtr

        z, w = t / self.deviation, t / self.scale
        logs = float(log_ndtr(z - self.ratio)) - w, float(log_ndtr(-z - self.ratio)) + w
        top = max(logs)
        size = abs(w) + max(abs(logs[0] + w), abs(logs[1] - w) if math.isfinite(logs[1]) else 0.0)
        return top + math.log1p(math.exp(min(logs) - top)), NORMAL_LOG_ERROR * (2 + 2 * size)

    def above(self, t: float, *, up: bool) -> float:
        """Return the probability of more than t, rounded up or down."""
        if t < 0:
            return 1.0 - self.above(-t, up=not up) * (1 - 2.0**-52 if up else 1 + 2.0**-52)
        from scipy.special import log_ndtr

        z, w, tilt = t / self.deviation, t / self.scale, self.ratio**2 / 2
        own = _exp(float(log_ndtr(-z)), 0.0, 0.0, up=up)
        near = _exp(float(log_ndtr(z - self.ratio)), tilt, -w, up=up) / 2
        far = _exp(float(log_ndtr(-z - self.ratio)), tilt, w, up=not up) / 2
        return min(1.0, max(0.0, own + near - far))


def _exp(log: float, tilt: float, shift: float, *, up: bool) -> float:
    """Return exp(log + tilt + shift), rounded up or down by all that its exponent and later sums can err."""
    if math.isinf(log):
        return 0.0
    error = 2 * NORMAL_LOG_ERROR * (1 + abs(log) + abs(tilt) + abs(shift))
    found = math.exp(min(log + tilt + shift, 700.0))
    return found * (1 + error) if up else found * max(0.0, 1 - error)


def _threshold(curve: _Sum, gap: float, epsilon: float) -> tuple[float, float]:
    """Return where the ratio of the densities is exp(epsilon), and how far the log of that ratio may be off there."""
    low, high = gap / 2, gap + curve.scale
    for _ in range(MOST_HALVINGS):
        if curve.log_density(high - gap)[0] - curve.log_density(high)[0] >= epsilon or high > 1e6 * curve.scale:
            break
        low, high = high, 2 * high
    for _ in range(MOST_HALVINGS):
        middle = (low + high) / 2
        if not low < middle < high:
            break
        if curve.log_density(middle - gap)[0] - curve.log_density(middle)[0] < epsilon:
            low = middle
        else:
            high = middle
    first, second = curve.log_density(low - gap), curve.log_density(low)
    return low, first[1] + second[1] + abs(first[0] - second[0] - epsilon)
