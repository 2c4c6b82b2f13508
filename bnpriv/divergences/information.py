"""What an answer tells of which of several laws it came from, in nats: for one prior, and for the worst one."""

from __future__ import annotations

import numpy as np

from bnpriv.bound import FloatArray
from bnpriv.divergences.views import kullback_leibler

HALVINGS = 40

MOST_ROUNDS = 5000
"""Rounds of Blahut-Arimoto."""

INFORMATION_GAP = 1e-9
"""Rounds end when the two bounds differ by no more than this share of the upper one."""


def information(first: FloatArray, second: FloatArray, prior: float | FloatArray) -> FloatArray:
    """Return the mutual information of an output and the choice between two laws.

    Parameters
    ----------
    first, second : ndarray of shape (..., K)
        Log masses.
    prior : float or ndarray of shape (...,)
        Probability of the first law.

    Returns
    -------
    ndarray of shape (...,)
        In nats, at most log 2.

    Examples
    --------
    >>> information(np.log([1.0, 1e-300]), np.log([1e-300, 1.0]), 0.5).round(6).tolist()
    0.693147
    """
    prior = np.asarray(prior, dtype=np.float64)
    to_first, to_second = _distances(first, second, prior)
    with np.errstate(invalid="ignore"):
        return np.where(prior > 0, prior * to_first, 0.0) + np.where(prior < 1, (1 - prior) * to_second, 0.0)


def largest_information(first: FloatArray, second: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return a lower and an upper bound of the mutual information over all priors.

    Notes
    -----
    docs/claims/curves.md: both laws are equally far from the mixture of the worst prior.

    Examples
    --------
    >>> low, high = largest_information(np.log([0.75, 0.25]), np.log([0.25, 0.75]))
    >>> round(float(low), 6), round(float(high), 6)
    (0.130812, 0.130812)
    """
    shape = np.broadcast_shapes(first.shape, second.shape)[:-1]
    low, high = np.zeros(shape), np.ones(shape)
    for _ in range(HALVINGS):
        prior = (low + high) / 2
        to_first, to_second = _distances(first, second, prior)
        low, high = np.where(to_first > to_second, prior, low), np.where(to_first > to_second, high, prior)
    prior = (low + high) / 2
    return information(first, second, prior), np.maximum(*_distances(first, second, prior))


def capacity(logs: FloatArray) -> tuple[float, float]:
    """Return a lower and an upper bound of the information of an output on which of many laws it came from.

    Parameters
    ----------
    logs : ndarray of shape (laws, K)
        Log masses.

    Returns
    -------
    (float, float)
        Over all priors on the laws, in nats.

    Notes
    -----
    Blahut (1972), Arimoto (1972). The step is made longer while that helps, which changes neither bound.

    Examples
    --------
    >>> low, high = capacity(np.log([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]]))
    >>> round(low, 6), round(high, 6)
    (0.45958, 0.45958)
    """
    weights = np.full(len(logs), -np.log(len(logs)))
    step, best, least = 1.0, 0.0, np.inf
    kept = weights
    for _ in range(MOST_ROUNDS):
        mixture = np.logaddexp.reduce(logs + weights[:, None], axis=0)
        far = kullback_leibler(logs, mixture[None, :])
        reached = float(np.exp(weights) @ far)
        least = min(least, float(far.max()))
        if reached >= best:
            best, kept, step = reached, weights, 1.5 * step
        else:  # too long a step: back to where it was best
            weights, step = kept, 1.0
            mixture = np.logaddexp.reduce(logs + weights[:, None], axis=0)
            far = kullback_leibler(logs, mixture[None, :])
        if least - best <= INFORMATION_GAP * least:
            break
        weights = weights + step * (far - far.max())
        weights = weights - np.logaddexp.reduce(weights)
    return min(best, least), least


def _distances(first: FloatArray, second: FloatArray, prior: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return how far each law is from their mixture."""
    with np.errstate(divide="ignore"):
        mixture = np.logaddexp(first + np.log(prior)[..., None], second + np.log1p(-prior)[..., None])
    return kullback_leibler(first, mixture), kullback_leibler(second, mixture)
