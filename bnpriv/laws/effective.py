"""How many independent draws those of Markov chains are worth."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

from bnpriv.laws.base import FloatArray

LEAST_STEPS = 4
"""Steps that half a chain must have, so that its correlation can be seen at all."""


def effective_size(chains: FloatArray) -> float:
    """Return how many independent draws tell as much about the mean as those of some chains.

    Parameters
    ----------
    chains : ndarray of shape (chains, draws)
        In the order in which they were drawn.

    Returns
    -------
    float
        By split chains and normal scores of ranks: Vehtari et al., "Rank-normalization, folding, and localization"
        (Bayesian Analysis 2021). The number of draws where all are equal; that of chains where they are too short to
        tell.

    Examples
    --------
    >>> steps = np.random.default_rng(0).normal(size=(4, 1000))
    >>> 3500 < effective_size(steps) < 4500
    True
    >>> effective_size(np.repeat(steps, 20, axis=1)) < 5000
    True
    """
    from scipy.stats import rankdata

    half = chains.shape[1] // 2
    if bool(np.all(chains == chains.flat[0])):
        return float(chains.size)
    if half < LEAST_STEPS:
        return float(len(chains))
    split = np.concatenate([chains[:, :half], chains[:, -half:]])
    scores = ndtri((rankdata(split, method="average").reshape(split.shape) - 0.375) / (split.size + 0.25))
    return _of_scores(scores)


def _of_scores(scores: FloatArray) -> float:
    chains, steps = scores.shape
    products = _autocovariance(scores).mean(axis=0)
    within = products[0] * steps / (steps - 1)
    total = products[0] + float(np.var(scores.mean(axis=1), ddof=1))
    correlation = 1 - (within - products) / total
    correlation[0] = 1.0
    return chains * steps / max(_time(correlation), 1 / np.log10(chains * steps))


def _autocovariance(values: FloatArray) -> FloatArray:
    """Return the autocovariances of every row, at all lags."""
    steps = values.shape[1]
    centred = values - values.mean(axis=1, keepdims=True)
    spectrum = np.abs(np.fft.rfft(centred, n=2 * steps, axis=1)) ** 2
    return np.fft.irfft(spectrum, axis=1)[:, :steps] / steps


def _time(correlation: FloatArray) -> float:
    """Return the autocorrelation time: sums of two lags, as long as they are positive, made to fall (Geyer 1992)."""
    steps = len(correlation)
    pairs = correlation[: 2 * ((steps - 2) // 2)].reshape(-1, 2).sum(axis=1)
    ended = np.flatnonzero(pairs <= 0)
    last = int(ended[0]) if len(ended) else len(pairs)
    beyond = float(correlation[2 * last]) if len(ended) else 0.0
    falling = np.minimum.accumulate(pairs[:last])
    return -1 + 2 * float(falling.sum()) + max(0.0, beyond)
