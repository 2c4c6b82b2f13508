"""What one bound of the privacy loss of two laws says of another; each rounded towards less privacy.

They are about two laws, so they hold for every notion of privacy. Each names its theorem; docs/claims/curves.md proves
them under "Conversions".
"""

from __future__ import annotations

import math

from bnpriv.bound import up
from bnpriv.errors import ParameterError
from bnpriv.loss.views import number_of, share_of

ROUNDING_STEPS = 64

LARGEST_WRITTEN_POWER = 300.0
"""From here on powers of e are not written out."""


def epsilon_of_renyi(order: float, divergence: float, delta: float) -> float:
    """An epsilon that holds with `delta`, from a Renyi divergence of an order above 1.

    For order a and divergence r it is r + log((a - 1)/a) - (log delta + log a)/(a - 1): Canonne, Kamath, Steinke
    (NeurIPS 2020), proposition 12.

    Raises
    ------
    ParameterError
        If a number is out of range, here and below.

    Examples
    --------
    >>> round(epsilon_of_renyi(2.0, 0.5, 1e-3), 4)
    6.0215
    """
    order, divergence, delta = _order(order), _size("a divergence", divergence), _rare(delta)
    if math.isinf(order):
        return divergence
    # near 1 the order less 1 has all its digits, and one less one over it has not
    lost = math.log(order - 1) - math.log(order) if order < 2 else math.log1p(-1 / order)
    gained, spread = -math.log(delta) / (order - 1), math.log(order) / (order - 1)
    return _above(divergence + lost + gained - spread, divergence - lost + gained + spread)


def probable_epsilon_of_renyi(order: float, divergence: float, delta: float) -> float:
    """What the loss exceeds with probability at most `delta`, from a Renyi divergence of an order above 1.

    For order a and divergence r it is r + log(1/delta)/(a - 1), by Markov's inequality: Mironov (CSF 2017),
    proposition 3.

    Examples
    --------
    >>> round(probable_epsilon_of_renyi(2.0, 0.5, 1e-3), 4)
    7.4078
    """
    order, divergence, delta = _order(order), _size("a divergence", divergence), _rare(delta)
    return _above(divergence - math.log(delta) / (order - 1))


def epsilon_of_zero_concentrated(
    xi: float, rho: float, delta: float, *, largest_order: float = math.inf, set_aside: float = 0.0
) -> float:
    """An epsilon that holds with `delta`, also as what the loss exceeds with that probability.

    It is xi + rho + 2 sqrt(rho log(1/delta)) where all orders count (Bun, Steinke, TCC 2016); where the best order lies
    beyond the largest one w, xi + rho w + log(1/delta)/(w - 1).

    Parameters
    ----------
    xi, rho : float
        Renyi divergences are at most ``xi + rho * order``.
    delta : float
        Above `set_aside` and at most 1.
    largest_order : float
        Above 1: up to which order that holds.
    set_aside : float
        The probability that approximately zero-concentrated laws set aside.

    Examples
    --------
    >>> round(epsilon_of_zero_concentrated(0.0, 0.1, 1e-3), 4)
    1.7623
    >>> round(epsilon_of_zero_concentrated(0.0, 0.1, 1e-3, largest_order=2.0), 4)
    7.1078
    """
    xi, rho = number_of("xi", xi, above=-math.inf), _size("rho", rho)
    largest_order, set_aside = _order(largest_order), share_of(set_aside)
    delta = _rare(delta, set_aside)
    # of what is not set aside; the quotient rounds
    rare = -math.log(delta) if set_aside == 0 else -math.log((delta - set_aside) / (1 - set_aside)) + 2.0**-50
    root = math.sqrt(rho) * math.sqrt(rare) if rho > 0 and rare > 0 else 0.0
    # the best order is 1 + sqrt(rare / rho)
    if math.isinf(largest_order) or rare == 0 or 0 < root <= rho * (largest_order - 1):
        return _above(xi + rho + 2 * root, abs(xi) + rho + 2 * root)
    spread = rho * largest_order + rare / (largest_order - 1)
    return _above(xi + spread, abs(xi) + spread)


def zero_concentrated_of_epsilon(epsilon: float) -> float:
    """The rho of (0, rho)-zero-concentrated laws, from epsilon in both directions.

    It is epsilon^2/2: Bun, Steinke (TCC 2016), proposition 3.3.

    Examples
    --------
    >>> round(zero_concentrated_of_epsilon(1.0), 9)
    0.5
    """
    return _product(_size("epsilon", epsilon), epsilon / 2)


def zero_concentrated_of_mean_concentrated(mean: float, deviation: float) -> tuple[float, float]:
    """The pair (xi, rho) of zero-concentrated laws whose loss has at most a mean and is subgaussian about it.

    For mean m and deviation t it is (m - t^2/2, t^2/2): E exp((a - 1) L) is at most exp((a - 1) m + (a - 1)^2
    t^2/2), which is what Dwork, Rothblum (2016) call concentrated.

    Examples
    --------
    >>> [round(value, 9) for value in zero_concentrated_of_mean_concentrated(0.5, 1.0)]
    [0.0, 0.5]
    """
    mean, deviation = _size("the mean loss", mean), _size("the deviation", deviation)
    half = deviation * deviation / 2
    if math.isinf(mean) or math.isinf(half):
        return math.inf, math.inf
    # what is lost in rounding goes to the first
    return _above(mean) - half + half * 2.0**-50, _product(deviation, deviation / 2)


def renyi_of_epsilon(order: float, epsilon: float) -> float:
    """The largest Renyi divergence of an order above 1 of laws within epsilon of each other, both ways.

    It is that of randomized response, log((exp(a e) + exp((1 - a) e))/(1 + exp(e)))/(a - 1) for order a: the ratio of
    the laws has mean 1 between exp(-e) and exp(e), and a convex function of it is below its chord.

    Examples
    --------
    >>> round(renyi_of_epsilon(2.0, 1.0), 4)
    0.7353
    """
    order, epsilon = _order(order), _size("epsilon", epsilon)
    if epsilon == 0 or math.isinf(order) or math.isinf(epsilon):
        return epsilon
    if order * epsilon > LARGEST_WRITTEN_POWER:
        gap = math.log1p(math.exp((1 - 2 * order) * epsilon)) - math.log1p(math.exp(-epsilon))
        return min(epsilon, _above(epsilon + gap / (order - 1), epsilon))
    # (exp(a e) + exp((1 - a) e)) / (1 + exp(e)) = cosh((a - 1/2) e) / cosh(e/2), and that less 1 is a product
    more = 2 * math.sinh((order - 1) * epsilon / 2) / math.cosh(epsilon / 2)
    return min(epsilon, _product(math.log1p(more * math.sinh(order * epsilon / 2)), 1 / (order - 1)))


def kullback_leibler_of_epsilon(epsilon: float) -> float:
    """The largest mean loss of laws within epsilon of each other, both ways.

    It is epsilon tanh(epsilon/2), that of randomized response, by the same chord.

    Examples
    --------
    >>> round(kullback_leibler_of_epsilon(1.0), 6)
    0.462117
    """
    return _product(_size("epsilon", epsilon), math.tanh(epsilon / 2))


def total_variation_of_epsilon(epsilon: float, delta: float = 0.0) -> float:
    """The largest total variation of laws that are (epsilon, delta)-close both ways.

    It is (exp(epsilon) - 1 + 2 delta)/(exp(epsilon) + 1): both closenesses, of an event and its opposite, added.

    Examples
    --------
    >>> round(total_variation_of_epsilon(1.0), 6), round(total_variation_of_epsilon(0.0, 0.25), 6)
    (0.462117, 0.25)
    """
    epsilon, delta = _size("epsilon", epsilon), share_of(delta)
    return min(1.0, _above(math.tanh(epsilon / 2) + 2 * delta / (1 + math.exp(min(epsilon, 700.0)))))


def total_variation_of_kullback_leibler(divergence: float) -> float:
    """The largest total variation of laws with a mean loss.

    It is the root of half of it: Pinsker's inequality.

    Examples
    --------
    >>> round(total_variation_of_kullback_leibler(0.02), 6)
    0.1
    """
    return min(1.0, _above(math.sqrt(_size("a divergence", divergence)) * math.sqrt(0.5)))


def total_variation_of_information(information: float) -> float:
    """The largest total variation of laws of which an output tells so much, in nats, for the worst prior.

    It is the root of twice as much: Pinsker's inequality for both laws and their mean.

    Examples
    --------
    >>> round(total_variation_of_information(0.02), 6)
    0.2
    """
    return min(1.0, _above(math.sqrt(2 * _size("information", information))))


def information_of_total_variation(distance: float) -> float:
    """The most that an output tells of which of two laws it came from, in nats, for any prior.

    It is the total variation times log 2, which an output tells where it tells anything at all.

    Examples
    --------
    >>> round(information_of_total_variation(1.0), 6)
    0.693147
    """
    return _product(share_of(distance), math.log(2))


def probable_delta(delta: float, more: float) -> float:
    """How likely a loss above epsilon + more is, at most, for laws that are (epsilon, delta)-close.

    It is delta/(1 - exp(-more)), as each output with such a loss adds 1 - exp(-more) of its mass to delta.
    The two notions are not the same: P(loss > epsilon) <= delta implies (epsilon, delta)-closeness, and not the other
    way round.

    Examples
    --------
    >>> round(probable_delta(1e-6, 1.0), 9)
    1.582e-06
    """
    return min(1.0, _above(share_of(delta) / -math.expm1(-number_of("more", more, above=0.0))))


def _order(value: float) -> float:
    return number_of("the order", value, above=1.0)


def _size(what: str, value: float) -> float:
    return number_of(what, value, above=0.0, equal=True)


def _rare(value: float, least: float = 0.0) -> float:
    found = share_of(value)
    if found <= least:
        raise ParameterError(f"delta must be above {least:g}", found=f"{found:g}", remedy="Pass a larger delta.")
    return found


def _above(value: float, terms: float = 0.0) -> float:
    """More than a value that is known up to a few roundings of itself, and of the terms that cancelled in it."""
    return up(value + terms * 2.0**-48, ROUNDING_STEPS)


def _product(first: float, second: float) -> float:
    """A product rounded up, which is above 0 if both factors are."""
    found = first * second
    return _above(found) if found > 0 or 0 in (first, second) else math.ulp(0.0) * ROUNDING_STEPS
