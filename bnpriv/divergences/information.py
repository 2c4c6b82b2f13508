"""What an answer tells of which of several laws it came from, in nats: for one prior, and for the worst one."""

from __future__ import annotations

import numpy as np

from bnpriv.bound import UNIT_ROUNDOFF, FloatArray
from bnpriv.divergences.views import kullback_leibler

PRIOR_ROUNDS = 18
"""In the search for the prior at which both laws are equally far from their mixture."""

MOST_CAPACITY_ROUNDS = 3000
"""Of Blahut-Arimoto."""

INFORMATION_GAP = 1e-6
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
    ends = [np.subtract(*_distances(first, second, end)) for end in (low, high)]
    last, best, nearest = np.zeros(shape), np.full(shape, 0.5), np.full(shape, np.inf)
    for _ in range(PRIOR_ROUNDS):
        with np.errstate(invalid="ignore", divide="ignore"):
            prior = (low * ends[1] - high * ends[0]) / (ends[1] - ends[0])
        # false position; a half where an end is infinitely far
        prior = np.where(np.isfinite(prior) & (prior > low) & (prior < high), prior, (low + high) / 2)
        to_first, to_second = _distances(first, second, prior)
        apart = to_first - to_second
        nearer = np.abs(apart) < nearest
        best, nearest = np.where(nearer, prior, best), np.where(nearer, np.abs(apart), nearest)
        # what is left between the bounds is at most this, and no more than rounding
        if np.all(nearest <= UNIT_ROUNDOFF * np.minimum(to_first, to_second)):
            break
        side = np.where(apart > 0, 1.0, -1.0)
        # an end that stays for a second time counts half as much
        weight = np.where(side == last, 0.5, 1.0)
        low, high = np.where(side > 0, prior, low), np.where(side > 0, high, prior)
        ends = [np.where(side > 0, apart, ends[0] * weight), np.where(side > 0, ends[1] * weight, apart)]
        last = side
    return information(first, second, best), np.maximum(*_distances(first, second, best))


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
    for _ in range(MOST_CAPACITY_ROUNDS):
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
