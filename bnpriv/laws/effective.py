"""How many independent draws those of Markov chains are worth, and whether a few weights of draws decide."""

from __future__ import annotations

import math

import numpy as np

from bnpriv.laws.base import FloatArray

LEAST_STEPS = 4
"""Steps that half a chain must have, so that its correlation can be seen at all."""

MANY_VALUES = 0.05
"""Share of different numbers among draws from which on they are of a number that may be any."""

TAIL_PRIOR = 10
"""As many weights as the shape of a tail is drawn to 1 / 2 by."""


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
        tell; that of half chains where some stand still and others move.

    Examples
    --------
    >>> steps = np.random.default_rng(0).normal(size=(4, 1000))
    >>> 3500 < effective_size(steps) < 4500
    True
    >>> effective_size(np.repeat(steps, 20, axis=1)) < 5000
    True
    """
    from scipy.special import ndtri
    from scipy.stats import rankdata

    half = chains.shape[1] // 2
    if bool(np.all(chains == chains.flat[0])):
        return float(chains.size)
    if half < LEAST_STEPS:
        return float(len(chains))
    split = np.concatenate([chains[:, :half], chains[:, -half:]])
    moves = np.ptp(split, axis=1) > 0
    # one that stands near the mean of the others would not be seen by its mean; of few values it may be by chance
    if not moves.all() and len(np.unique(split[moves])) > MANY_VALUES * split[moves].size:
        return float(len(split))
    scores = ndtri((rankdata(split, method="average").reshape(split.shape) - 0.375) / (split.size + 0.25))
    return _of_scores(scores)


def least_effective_size(chains: FloatArray) -> float:
    """Return how many independent draws tell as much as those of some chains about the mean, and about the spread.

    Parameters
    ----------
    chains : ndarray of shape (chains, draws)

    Returns
    -------
    float
        The lesser of the effective sizes for the numbers and for their distances from the median.

    Examples
    --------
    >>> random = np.random.default_rng(0)
    >>> spreads = np.repeat(np.exp(random.normal(0, 1.5, (4, 10))), 100, axis=1)
    >>> steps = spreads * random.normal(size=(4, 1000))
    >>> effective_size(steps) > 3500, least_effective_size(steps) < 50
    (True, True)
    """
    return min(effective_size(chains), effective_size(np.abs(chains - np.median(chains))))


def tail_shape(weights: FloatArray) -> float:
    """Return the shape k of the generalized Pareto law of the largest weights of draws.

    Parameters
    ----------
    weights : ndarray of shape (draws,)
        At least 0, up to a constant.

    Returns
    -------
    float
        Weights of shape k have moments up to 1 / k only; -inf if the largest are all equal. By the estimator of Zhang,
        Stephens (Technometrics 2009) for the largest min(S / 5, 3 sqrt(S)) of S positive ones, drawn to 1 / 2 as if ten
        more had shown that: Vehtari et al., "Pareto smoothed importance sampling" (JMLR 2024).

    Examples
    --------
    >>> uniform = (np.arange(4000) + 0.5) / 4000
    >>> round(tail_shape(uniform**-0.8), 1), tail_shape(np.ones(4000))
    (0.8, -inf)
    """
    positive = np.sort(weights[weights > 0])
    if not len(positive):
        return -math.inf
    most = math.ceil(min(len(positive) / 5, 3 * math.sqrt(len(positive))))
    above = positive[len(positive) - most :] - positive[max(0, len(positive) - most - 1)]
    above = above[above > 0] / max(float(above.max(initial=0.0)), np.finfo(float).tiny)
    if not len(above):
        return -math.inf
    count = len(above)
    steps = np.arange(1, 31 + math.isqrt(count)) - 0.5
    rates = 1.0 + (1 - np.sqrt(len(steps) / steps)) / (3 * above[max(0, int(count / 4 + 0.5) - 1)])
    shapes = np.array([float(np.log1p(-rate * above).mean()) for rate in rates])
    logs = count * (np.log(-rates / shapes) - shapes - 1)
    chances = np.exp(logs - logs.max())
    rate = float(rates @ chances / chances.sum())
    shape = float(np.log1p(-rate * above).mean())
    return (count * shape + TAIL_PRIOR / 2) / (count + TAIL_PRIOR)


def largest_shape(draws: int) -> float:
    """Return the largest shape of the tail of so many weights with which their means can be relied on.

    Examples
    --------
    >>> [round(largest_shape(draws), 3) for draws in (100, 1000, 100_000)]
    [0.5, 0.667, 0.7]
    """
    return min(0.7, 1 - 1 / math.log10(max(draws, 11)))


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
