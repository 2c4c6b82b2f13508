"""Weights of the numbers of an answer: which scale each gets, and how noise of several scales is drawn."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby

from bnpriv import checks
from bnpriv.bound import up
from bnpriv.errors import ParameterError

Weights = tuple[float, ...]
"""Powers of two, one for each number; empty where all are 1."""

SMALLEST_SCALE = 2.0**-1000
"""Below it, dividing by a power of two rounds."""

BISECTIONS = 200
"""Steps of a bisection between two doubles that are less than a factor 2^100 apart."""


def power_of_two(weight: float) -> float:
    """Return the power of two that is nearest to a positive number, by ratio.

    Examples
    --------
    >>> power_of_two(3.0), power_of_two(0.3), power_of_two(1.4)
    (4.0, 0.25, 1.0)
    """
    mantissa, exponent = math.frexp(weight)
    return math.ldexp(1.0, exponent if mantissa * mantissa > 0.5 else exponent - 1)


def powers_of_two(weights: Iterable[object], dimension: int) -> Weights:
    """Return weights as powers of two, empty if all are 1.

    Raises
    ------
    ParameterError
        If a weight is not a finite number above 0, or there are not as many as numbers.
    """
    given = tuple(checks.positive("a weight of the noise", weight) for weight in weights)
    if given and len(given) != dimension:
        raise ParameterError(
            f"one weight is needed for each of {dimension} numbers",
            found=str(len(given)),
            remedy="Pass as many weights as the answer has numbers, or none.",
        )
    found = tuple(power_of_two(weight) for weight in given)
    return () if all(weight == 1 for weight in found) else found


def products(first: Weights, second: Sequence[float]) -> Weights:
    """Return weights times others."""
    return tuple(a * b for a, b in zip(first or (1.0,) * len(second), second, strict=True))


def scales_of(scale: float, weights: Weights, dimension: int) -> tuple[float, ...]:
    """Return the scale of each number: `scale` over its weight, which is exact.

    Raises
    ------
    ParameterError
        If a scale is too large or too small for a double.
    """
    found = tuple(scale / weight for weight in weights) or (scale,) * dimension
    if weights and not all(SMALLEST_SCALE <= each < math.inf for each in found):
        raise ParameterError(
            "the scale of every number must be a double that its weight divides exactly",
            found=f"{min(found):g} to {max(found):g}",
            remedy="Choose weights that lie closer together.",
        )
    return found


def sized(value: Sequence[float], dimension: int) -> tuple[float, ...]:
    """Return an answer as floats; raise ParameterError if it has another length."""
    exact = tuple(float(number) for number in value)
    if len(exact) != dimension:
        raise ParameterError(
            f"the noise is for {dimension} numbers", found=str(len(exact)), remedy="Calibrate the same query."
        )
    return exact


def sampled(
    draw: Callable[[Sequence[float], float], tuple[float, ...]], value: Sequence[float], scales: tuple[float, ...]
) -> tuple[float, ...]:
    """Return an answer plus noise; the numbers of one scale are drawn together."""
    exact = sized(value, len(scales))
    noisy = list(exact)
    by_scale = sorted(range(len(scales)), key=lambda place: (scales[place], place))
    for scale, group in groupby(by_scale, key=lambda place: scales[place]):
        places = list(group)
        for place, number in zip(places, draw([exact[place] for place in places], scale), strict=True):
            noisy[place] = number
    return tuple(noisy)


def probability(p: object) -> float:
    """Return a probability above 0 and below 1; raise ParameterError for anything else."""
    p = checks.number("p", p, remedy="Pass a probability, for example 0.95.")
    if not 0 < p < 1:
        raise ParameterError("p must be above 0 and below 1", found=f"{p:g}", remedy="Pass for example 0.95.")
    return p


def tail_of_one(p: object, dimension: int) -> float:
    """Return 1 - p^(1/dimension) without cancellation: how often one of the numbers may be off."""
    return -math.expm1(math.log(probability(p)) / dimension)


def common_quantile(
    p: float, scales: tuple[float, ...], ends: tuple[float, float], tail: Callable[[float], float]
) -> float:
    """Return the error that no number exceeds with probability `p`, rounded up.

    Parameters
    ----------
    p : float
    scales : tuple of float
    ends : (float, float)
        Between which it lies.
    tail : callable
        How often noise of scale 1 is larger than a number.
    """
    least = math.log(p)
    low, high = ends
    for _ in range(BISECTIONS):
        middle = low + (high - low) / 2
        if not low < middle < high:
            break
        inside = math.fsum(math.log1p(-min(tail(middle / scale), 1 - 2.0**-53)) for scale in scales)
        low, high = (low, middle) if inside >= least else (middle, high)
    return up(high * (1 + 2.0**-40))
