"""The covariance of the least trace above several matrices, by an interior-point method."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bnpriv.bound import FloatArray

TRACE_PRECISION = 1e-8
"""The trace that is found is above the least one by at most about this share of itself."""

MOST_CORRELATED_NUMBERS = 24
"""Numbers of an answer: Newton's system has the square of that many unknowns."""

MOST_NEWTON_STEPS = 60
"""Newton steps for each weight of the trace; a few are enough."""

CENTRED = 1e-3
"""Newton's method stops where it expects to lower the barrier by less."""

LONGEST = 1e3
"""Longest multiple of a step that is tried."""

WEIGHT_GROWTH = 30.0
"""By how much the weight of the trace grows from one round to the next."""


def least_above(needed: Sequence[FloatArray]) -> FloatArray:
    """Return a covariance S of nearly the least trace with S - A positive definite for every A in `needed`.

    Parameters
    ----------
    needed : sequence of ndarray, shape (d, d)
        Symmetric, at least one with an eigenvalue above 0.

    Returns
    -------
    ndarray, shape (d, d)
        Positive definite.

    Notes
    -----
    ``t trace(S) - log det S - sum log det(S - A)`` is minimized by Newton's method for growing t. At its minimum the
    matrices ``(S - A)^-1 / t`` are feasible for the dual program, so that the trace is at most ``(m + 1) d / t`` above
    the least one (Boyd, Vandenberghe, "Convex Optimization", 2004, section 11.6).

    Examples
    --------
    >>> least_above([np.diag([2.0, -1.0]), np.diag([-1.0, 3.0])]).round(6).tolist()
    [[2.0, 0.0], [0.0, 3.0]]
    """
    size = len(needed[0])
    top = max(float(np.linalg.eigvalsh(each)[-1]) for each in needed)
    below = np.stack([each / top for each in needed] + [np.zeros((size, size))])
    covariance, weight = 2 * np.eye(size), 1.0
    while weight * TRACE_PRECISION < len(below) * size:
        weight *= WEIGHT_GROWTH
        found = _centred(covariance, below, weight)
        if found is None:
            break
        covariance = found
    return covariance * top


def _centred(start: FloatArray, below: FloatArray, weight: float) -> FloatArray | None:
    """Return the minimum of the barrier for one weight; None where rounding keeps Newton's method from it."""
    covariance, size = start, len(start)
    rows, columns = np.triu_indices(size)
    twice = np.where(rows == columns, 1.0, 2.0)
    for _ in range(MOST_NEWTON_STEPS):
        inverses = np.linalg.inv(covariance - below)
        gradient = weight * np.eye(size) - inverses.sum(axis=0)
        # how the sum of inverses changes with each pair of entries across the diagonal
        left, right = inverses[:, rows], inverses[:, columns]
        bend = np.einsum("kij,kij->ij", left[:, :, rows], right[:, :, columns])
        bend += np.einsum("kij,kij->ij", left[:, :, columns], right[:, :, rows])
        try:
            solved = np.asarray(np.linalg.solve(bend * (twice / 2), gradient[rows, columns]), dtype=np.float64)
        except np.linalg.LinAlgError:
            return None
        step = np.zeros((size, size))
        step[rows, columns] = step[columns, rows] = -solved
        decrease = -float(np.sum(gradient * step))
        length = _length(covariance, step, below, weight) if 0 <= decrease < np.inf else None
        if length is None:
            return None
        covariance = covariance + length * step
        if decrease < CENTRED:
            break
    return covariance


def _length(covariance: FloatArray, step: FloatArray, below: FloatArray, weight: float) -> float | None:
    """Return how far to go along a step for the least barrier, or None if rounding hides it.

    Along the step the logs of the determinants are sums of ``log(1 + s e)`` over eigenvalues e.
    """
    try:
        factors = np.linalg.cholesky(covariance - below)
        half = np.linalg.solve(factors, np.broadcast_to(step, factors.shape))
        whole = np.linalg.solve(factors, np.swapaxes(half, 1, 2))
    except np.linalg.LinAlgError:
        return None
    values = np.linalg.eigvalsh((whole + np.swapaxes(whole, 1, 2)) / 2).ravel()
    low, high = 0.0, min(LONGEST, -1 / float(min(values.min(), -1 / LONGEST)))
    for _ in range(40):
        middle = (low + high) / 2
        if weight * np.trace(step) < np.sum(values / (1 + middle * values)):
            low = middle
        else:
            high = middle
    return low
