"""The least scale at which a privacy curve is low enough."""

from __future__ import annotations

import math
from collections.abc import Callable

from bnpriv.errors import RefusedError
from bnpriv.noise.continuous import Gaussian, Laplace, Noise, NoNoise
from bnpriv.noise.discrete import DiscreteLaplace
from bnpriv.render.text import full_text

LAWS = {"laplace": Laplace, "gaussian": Gaussian, "discrete_laplace": DiscreteLaplace}
"""The laws of noise by their names."""

PRECISION = 1e-13
"""Relative width at which a bisection stops; its private end is taken."""

MOST_DOUBLINGS = 64
"""Twenty decimal places above the guess: more than any epsilon that may be asked for needs."""


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
        middle = low + (high - low) / 2
        if not low < middle < high:  # no double lies between subnormal ones
            break
        if loss(middle) <= budget:
            high = middle
        else:
            low = middle
    return high


def found_scale(scale: float, epsilon: float, delta: float) -> float:
    """Return a scale that was found.

    Raises
    ------
    RefusedError
        If it is infinite: what is computed of a loss is rounded up, and may stay above a tiny epsilon or delta.
    """
    if math.isinf(scale):
        raise RefusedError(
            f"what is told must be computed more closely than epsilon {epsilon:g} and delta {full_text(delta)}",
            found="no scale of noise at which it is certain to be low enough",
            remedy="Ask for a larger epsilon or delta, or for delta 0.",
        )
    return scale


def noise_of(law: str, scale: float, dimension: int) -> Noise:
    """Noise of a law and a scale that was found; none where the scale is 0."""
    return LAWS[law](scale, dimension) if scale else NoNoise(dimension)
