"""Binomial log masses from the logs of the two probabilities, which may lie far below the range of doubles."""

from __future__ import annotations

import math

import numpy as np

from bnpriv.bound import UNIT_ROUNDOFF
from bnpriv.laws.base import FUNCTION_ERROR, FloatArray, magnitude


def binomial_logs(n: int, log_p: float, log_q: float) -> tuple[FloatArray, float]:
    """Return the n + 1 log masses, and the largest absolute error of one if `log_p` and `log_q` are exact.

    With k successes and s(k) = log k! - log(sqrt(2 pi k) (k/e)^k), for 0 < k < n

        log P(k) = k log p + (n-k) log q - k log(k/n) - (n-k) log((n-k)/n)
                   + s(n) - s(k) - s(n-k) + log(n / (2 pi k (n-k))) / 2.

    Log gamma functions would lose n log n to cancellation; here no term passes n and |log P(k)| by much.
    """
    k = np.arange(1.0, n)
    logs = np.empty(n + 1)
    logs[0], logs[-1] = n * log_q, n * log_p
    stirling = _stirling(np.arange(1.0, n + 1))
    logs[1:-1] = k * log_p + (n - k) * log_q - k * np.log(k / n) - (n - k) * np.log((n - k) / n)
    logs[1:-1] += stirling[-1] - stirling[:-1] - stirling[-2::-1] + np.log(n / (2 * math.pi * k * (n - k))) / 2
    # The two last logarithms of the first line sum to at most .7 n, with an error of FUNCTION_ERROR and of two
    # roundings each, and one rounding of their quotients, n times at most; what they take away from is at most that and
    # |log P| together, and is rounded four times. 256: Stirling's corrections and the last logarithm.
    steps = (FUNCTION_ERROR + 2 + 4) * 0.7 * n + n + 5 * magnitude(logs) + 4 * math.log(n) + 256
    return logs, UNIT_ROUNDOFF * steps


def _stirling(k: FloatArray) -> FloatArray:
    """Return log k! - log(sqrt(2 pi k) (k/e)^k): the series beyond 15, where its next term is below 1e-16."""
    square = k * k
    series = (1 / 12 - (1 / 360 - (1 / 1260 - (1 / 1680 - 1 / 1188 / square) / square) / square) / square) / k
    few = range(1, min(15, len(k)) + 1)
    small = [math.lgamma(j + 1) - ((j + 0.5) * math.log(j) - j + 0.5 * math.log(2 * math.pi)) for j in few]
    series[: len(small)] = small
    return series
