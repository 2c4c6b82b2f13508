"""The least scale at which a privacy curve is low enough."""

from __future__ import annotations

from collections.abc import Callable

PRECISION = 1e-13
"""Relative width at which a bisection stops; its private end is taken."""

MOST_DOUBLINGS = 200


def least_scale(loss: Callable[[float], float], budget: float, guess: float, precision: float = PRECISION) -> float:
    """Return a scale at which a loss that never grows with the scale is within a budget, and hardly a larger one.

    Parameters
    ----------
    loss : callable
        From the scale (0 for no noise) to an upper bound of the loss.
    budget : float
        The loss that is allowed.
    guess : float
        Any positive scale to start from.
    precision : float
        How close, relative to itself, the scale must come to the least one.

    Returns
    -------
    float
        A scale at which `loss` was found to be at most `budget`; infinite if there is none.

    Examples
    --------
    >>> round(least_scale(lambda scale: 3 / scale if scale else float("inf"), 2.0, 1.0), 9)
    1.5
    """
    if loss(0.0) <= budget:
        return 0.0
    low, high = 0.0, guess
    for _ in range(MOST_DOUBLINGS):
        if loss(high) <= budget:
            break
        low, high = high, 2 * high
    else:
        return float("inf")
    while high - low > precision * high:
        middle = (low + high) / 2
        if loss(middle) <= budget:
            high = middle
        else:
            low = middle
    return high
