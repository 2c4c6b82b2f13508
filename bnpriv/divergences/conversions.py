"""What one bound of the privacy loss of two laws says of another; each rounded towards less privacy.

docs/claims/curves.md states and proves each of them.
"""

from __future__ import annotations

import math

from bnpriv.bound import up

ROUNDING_STEPS = 64


def epsilon_of_renyi(order: float, divergence: float, delta: float) -> float:
    """Return an epsilon that holds with `delta`, from a Renyi divergence of an order above 1.

    Examples
    --------
    >>> round(epsilon_of_renyi(2.0, 0.5, 1e-3), 4)
    6.0215
    """
    return _above(divergence + math.log1p(-1 / order) - (math.log(delta) + math.log(order)) / (order - 1))


def probable_epsilon_of_renyi(order: float, divergence: float, delta: float) -> float:
    """Return what the loss exceeds with probability at most `delta`, from a Renyi divergence of an order above 1.

    Examples
    --------
    >>> round(probable_epsilon_of_renyi(2.0, 0.5, 1e-3), 4)
    7.4078
    """
    return _above(divergence - math.log(delta) / (order - 1))


def epsilon_of_zero_concentrated(
    xi: float, rho: float, delta: float, *, largest_order: float = math.inf, set_aside: float = 0.0
) -> float:
    """Return an epsilon that holds with `delta`, also as what the loss exceeds with that probability.

    Parameters
    ----------
    xi, rho : float
        Renyi divergences are at most ``xi + rho * order``.
    delta : float
        Above `set_aside` and below 1.
    largest_order : float
        Up to which order that holds.
    set_aside : float
        The probability that approximately zero-concentrated laws set aside.

    Examples
    --------
    >>> round(epsilon_of_zero_concentrated(0.0, 0.1, 1e-3), 4)
    1.7623
    >>> round(epsilon_of_zero_concentrated(0.0, 0.1, 1e-3, largest_order=2.0), 4)
    7.1078
    """
    rare = -math.log((delta - set_aside) / (1 - set_aside))
    best = 1 + math.sqrt(rare / rho) if rho > 0 else math.inf
    order = min(best, largest_order)
    if math.isinf(order):
        return _above(xi)
    return _above(xi + rho * order + rare / (order - 1))


def zero_concentrated_of_epsilon(epsilon: float) -> float:
    """Return rho of (0, rho)-zero-concentrated, from epsilon in both directions.

    Examples
    --------
    >>> round(zero_concentrated_of_epsilon(1.0), 9)
    0.5
    """
    return _above(epsilon * epsilon / 2)


def zero_concentrated_of_mean_concentrated(mean: float, deviation: float) -> tuple[float, float]:
    """Return (xi, rho) of zero-concentrated laws whose loss has at most a mean and is subgaussian about it.

    Examples
    --------
    >>> [round(value, 9) for value in zero_concentrated_of_mean_concentrated(0.5, 1.0)]
    [0.0, 0.5]
    """
    half = deviation * deviation / 2
    # what is lost in rounding goes to the first
    return _above(mean) - half + abs(half) * 2.0**-50, _above(half)


def renyi_of_epsilon(order: float, epsilon: float) -> float:
    """Return the largest Renyi divergence of an order above 1 of laws within epsilon of each other, both ways.

    Examples
    --------
    >>> round(renyi_of_epsilon(2.0, 1.0), 4)
    0.7353
    """
    near, far = order * epsilon, (1 - order) * epsilon
    both = near + math.log1p(math.exp(far - near))
    return _above((both - _soft(epsilon)) / (order - 1))


def kullback_leibler_of_epsilon(epsilon: float) -> float:
    """Return the largest mean loss of laws within epsilon of each other, both ways.

    Examples
    --------
    >>> round(kullback_leibler_of_epsilon(1.0), 6)
    0.462117
    """
    return _above(epsilon * math.tanh(epsilon / 2))


def total_variation_of_epsilon(epsilon: float, delta: float = 0.0) -> float:
    """Return the largest total variation of laws that are (epsilon, delta)-close both ways.

    Examples
    --------
    >>> round(total_variation_of_epsilon(1.0), 6), round(total_variation_of_epsilon(0.0, 0.25), 6)
    (0.462117, 0.25)
    """
    return min(1.0, _above(math.tanh(epsilon / 2) + 2 * delta * math.exp(-_soft(epsilon))))


def total_variation_of_kullback_leibler(divergence: float) -> float:
    """Return the largest total variation of laws with a mean loss, by Pinsker's inequality.

    Examples
    --------
    >>> round(total_variation_of_kullback_leibler(0.02), 6)
    0.1
    """
    return min(1.0, _above(math.sqrt(divergence / 2)))


def total_variation_of_information(information: float) -> float:
    """Return the largest total variation of laws of which an output tells so much, in nats, for the worst prior.

    Examples
    --------
    >>> round(total_variation_of_information(0.02), 6)
    0.2
    """
    return min(1.0, _above(math.sqrt(2 * information)))


def information_of_total_variation(distance: float) -> float:
    """Return the most that an output tells of which of two laws it came from, in nats, for any prior.

    Examples
    --------
    >>> round(information_of_total_variation(1.0), 6)
    0.693147
    """
    return _above(distance * math.log(2))


def probable_delta(delta: float, more: float) -> float:
    """Return how likely a loss above epsilon + more is, at most, for laws that are (epsilon, delta)-close.

    The two notions are not the same: P(loss > epsilon) <= delta implies (epsilon, delta)-closeness, and not the other
    way round.

    Examples
    --------
    >>> round(probable_delta(1e-6, 1.0), 9)
    1.582e-06
    """
    return min(1.0, _above(delta / -math.expm1(-more)))


def _soft(epsilon: float) -> float:
    """Return log(1 + exp(epsilon))."""
    return max(epsilon, 0.0) + math.log1p(math.exp(-abs(epsilon)))


def _above(value: float) -> float:
    return up(value, ROUNDING_STEPS)
