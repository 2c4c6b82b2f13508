"""Binomial log masses with an error of a few units of their own size.

C. Loader, "Fast and accurate computation of binomial probabilities" (2000): Stirling's formula for the factorials, and
the two deviances computed without cancellation. Log gamma functions would lose n log n to cancellation.
"""

from __future__ import annotations

import math

import numpy as np

from bnpriv.bound import UNIT_ROUNDOFF
from bnpriv.laws.base import FloatArray, magnitude


def binomial_logs(n: int, p: float) -> tuple[FloatArray, float]:
    """Return the n + 1 log masses for 0 < p < 1, and the largest absolute error of one.

    With k successes, q = 1 - p and s(k) = log k! - log(sqrt(2 pi k) (k/e)^k), for 0 < k < n

        log P(k) = s(n) - s(k) - s(n-k) - D(k, n p) - D(n-k, n q) + log(n / (2 pi k (n-k))) / 2,
        D(x, m) = x log(x/m) + m - x >= 0.
    """
    q = 1 - p
    k = np.arange(1.0, n)
    logs = np.empty(n + 1)
    logs[0] = n * (math.log1p(-p) if p < 0.5 else math.log(q))
    logs[-1] = n * (math.log1p(-q) if q < 0.5 else math.log(p))
    stirling = _stirling(np.arange(1.0, n + 1))
    logs[1:-1] = stirling[-1] - stirling[:-1] - stirling[-2::-1] - _deviance(k, n * p) - _deviance(n - k, n * q)
    logs[1:-1] += np.log(n / (2 * math.pi * k * (n - k))) / 2
    # Both deviances are at most |log P| + log n, and have a relative error of 32 units; that n p and n q are rounded
    # moves D(x, m) by |x - m| units, at most n. 256: Stirling's corrections and the last logarithm.
    return logs, UNIT_ROUNDOFF * (32 * (magnitude(logs) + math.log(n)) + 4 * n + 256)


def _stirling(k: FloatArray) -> FloatArray:
    """Return log k! - log(sqrt(2 pi k) (k/e)^k): the series beyond 15, where its next term is below 1e-16."""
    square = k * k
    series = (1 / 12 - (1 / 360 - (1 / 1260 - (1 / 1680 - 1 / 1188 / square) / square) / square) / square) / k
    few = range(1, min(15, len(k)) + 1)
    small = [math.lgamma(j + 1) - ((j + 0.5) * math.log(j) - j + 0.5 * math.log(2 * math.pi)) for j in few]
    series[: len(small)] = small
    return series


def _deviance(x: FloatArray, m: float) -> FloatArray:
    """Return x log(x/m) + m - x, by its series in v = (x - m)/(x + m) where that is small."""
    v = (x - m) / (x + m)
    square = v * v
    series = np.zeros_like(v)
    for j in range(11, 0, -1):  # the sum over j of v^(2j+1)/(2j+1); at |v| = 0.1 the next term is below 1e-24
        series = (series + 1 / (2 * j + 1)) * square
    near = (x - m) * v + 2 * x * v * series
    return np.where(np.abs(v) < 0.1, near, x * np.log(x / m) + (m - x))
