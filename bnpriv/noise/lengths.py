"""Mean lengths of noise vectors, with the error of their computation."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise

from bnpriv.bound import UNIT_ROUNDOFF, Bound, down, up
from bnpriv.errors import ParameterError

# Functions of the standard library and of scipy.special are good to a few units in the last place; 64 is ample.
SPECIAL_FUNCTION_ERROR = 64 * UNIT_ROUNDOFF

NEGLIGIBLE = 2.0**-48
"""Scales below this share of the largest are not integrated: all that they can add goes into the upper end."""


def norm_of(norm: float) -> None:
    """Raise ParameterError for anything but 1, 2 and math.inf."""
    if isinstance(norm, bool) or norm not in (1, 2, math.inf):
        raise ParameterError("norm must be 1, 2 or math.inf", found=repr(norm), remedy="Choose one of them.")


def near(value: float, relative: float = SPECIAL_FUNCTION_ERROR) -> Bound:
    """Enclose a number that was computed with a small relative error."""
    if math.isinf(value):
        return Bound(math.nextafter(math.inf, 0.0), math.inf, "exact")
    return Bound(down(value * (1 - relative)), up(value * (1 + relative)), "exact")


def scaled(bound: Bound, factor: float) -> Bound:
    """Return a bound times a positive number."""
    return Bound(near(bound.lower * factor).lower, near(bound.upper * factor).upper, bound.kind)


def chi_mean(dimension: int) -> Bound:
    """Return the mean 2-norm of d independent standard normal variables."""
    difference = math.lgamma((dimension + 1) / 2) - math.lgamma(dimension / 2)
    # the two logarithms grow like d log d while their difference stays small: the rounding is that of the former
    lost = SPECIAL_FUNCTION_ERROR * (1 + abs(math.lgamma((dimension + 1) / 2)))
    return near(math.sqrt(2) * math.exp(difference), lost)


def gaussian_mean_largest(dimension: int) -> Bound:
    """Return the integral of P(largest of d standard normal |X| > x) over x > 0."""

    def beyond(x: float) -> float:
        return -math.expm1(dimension * math.log1p(-math.erfc(x / math.sqrt(2)))) if x > 0 else 1.0

    middle = math.sqrt(2 * math.log(2 * dimension))
    return _integral(beyond, [0.0, middle, middle + 3, middle + 12, middle + 40])


def laplace_mean_length(dimension: int) -> Bound:
    """Return the mean 2-norm of d independent Laplace variables of scale 1.

    E sqrt(Y) is 1 / (2 sqrt(pi)) times the integral of (1 - E exp(-t Y)) t^(-3/2). For Y the sum of d squares and
    t = 1 / (4 s^2) this is 2 / sqrt(pi) times the integral over s > 0 of 1 - g(s)^d, where
    g(s) = sqrt(pi) s erfcx(s) increases from 0 to 1 and 1 - g(s) behaves like 1 / (2 s^2).
    """
    width = math.sqrt(dimension)

    def inner(s: float) -> float:
        return _power_gap(_erfcx_gap(s), dimension)

    def outer(u: float) -> float:
        # s = 1 / u: turns the slow tail into a smooth function on a short interval, d/2 at its end
        return _power_gap(_erfcx_gap(1 / u), dimension) / u**2 if u > 0 else dimension / 2

    left = _integral(inner, [0.0, 0.25 * width, 0.5 * width, width])
    right = _integral(outer, [0.0, 1 / width])
    factor = 2 / math.sqrt(math.pi)
    return Bound(near(factor * (left.lower + right.lower)).lower, near(factor * (left.upper + right.upper)).upper)


def laplace_error(norm: float, scales: Sequence[float]) -> Bound:
    """Return the mean 1-norm, 2-norm or largest coordinate of independent Laplace variables of several scales."""
    norm_of(norm)
    if norm == 1 or len(scales) == 1:
        return near(math.fsum(scales))
    if norm == 2:
        return _mean_length(scales, _erfcx_gap, limit=0.5, size=1.0)
    middle = math.log(2 * len(scales))
    return _mean_largest(scales, lambda x: math.exp(-x), [middle, middle + 3, middle + 12, middle + 60], size=1.0)


def gaussian_error(norm: float, scales: Sequence[float]) -> Bound:
    """Return the mean 1-norm, 2-norm or largest coordinate of independent normal variables of several deviations."""
    norm_of(norm)
    size = math.sqrt(2 / math.pi)
    if norm == 1 or len(scales) == 1:
        return near(math.fsum(scales) * size)
    if norm == 2:
        # E exp(-t X^2) for a standard normal X and t = 1 / (4 s^2)
        return _mean_length(scales, lambda s: -math.expm1(-0.5 * math.log1p(0.5 / s**2)), limit=0.25, size=size)
    middle = math.sqrt(2 * math.log(2 * len(scales)))
    ends = [middle, middle + 3, middle + 12, middle + 40]
    return _mean_largest(scales, lambda x: math.erfc(x / math.sqrt(2)), ends, size=size)


def _mean_length(scales: Sequence[float], gap: Callable[[float], float], *, limit: float, size: float) -> Bound:
    """Return the mean 2-norm of independent variables that are scales times copies of one, X.

    The integral is that of `laplace_mean_length`, with a factor g(s / scale) for each variable.

    Parameters
    ----------
    scales : sequence of float
    gap : callable
        1 - g(s) with g(s) = E exp(-X^2 / (4 s^2)), for s > 0.
    limit : float
        Of s^2 (1 - g(s)) for large s.
    size : float
        Mean size of X.
    """
    largest, counts, left_out = _relative(scales)
    width = math.sqrt(sum(counts.values()))

    def inner(s: float) -> float:
        return _any([gap(s / each) for each in counts], counts) if s > 0 else 1.0

    def outer(u: float) -> float:
        if u > 0:
            return inner(1 / u) / u**2
        return limit * math.fsum(number * each**2 for each, number in counts.items())

    left = _integral(inner, _points(counts, width))
    right = _integral(outer, [0.0, 1 / width])
    factor = 2 / math.sqrt(math.pi) * largest
    return Bound(
        near(factor * (left.lower + right.lower)).lower,
        near(factor * (left.upper + right.upper) + size * left_out).upper,
    )


def _mean_largest(
    scales: Sequence[float], tail: Callable[[float], float], ends: Sequence[float], *, size: float
) -> Bound:
    """Return the mean largest of independent variables: the integral of P(one is larger than x) over x > 0."""
    largest, counts, left_out = _relative(scales)

    def beyond(x: float) -> float:
        return _any([tail(x / each) for each in counts], counts)

    found = _integral(beyond, [*_points(counts, ends[0]), *ends[1:]])
    return Bound(near(largest * found.lower).lower, near(largest * found.upper + size * left_out).upper)


def _relative(scales: Sequence[float]) -> tuple[float, Counter[float], float]:
    """Return the largest scale, how often each share of it occurs, and the sum of those that are negligible."""
    largest = max(scales)
    shares = [scale / largest for scale in scales]
    kept = Counter(share for share in shares if share > NEGLIGIBLE)
    left_out = math.fsum(scale for scale, share in zip(scales, shares, strict=True) if share <= NEGLIGIBLE)
    return largest, kept, left_out


def _any(chances: Sequence[float], counts: Counter[float]) -> float:
    """Return 1 - product of (1 - chance)^count."""
    if max(chances) >= 1:
        return 1.0
    pairs = zip(chances, counts.values(), strict=True)
    return -math.expm1(math.fsum(number * math.log1p(-chance) for chance, number in pairs))


def _points(counts: Counter[float], end: float) -> list[float]:
    """Return where an integrand may bend: factors of 4 apart, from below the smallest scale to `end`."""
    points, place = [0.0], min(counts) / 4
    while place < end:
        points.append(place)
        place *= 4
    return [*points, end]


def _erfcx_gap(s: float) -> float:
    """Return 1 - sqrt(pi) s erfcx(s)."""
    from scipy.special import erfcx

    if s < 30:
        return 1 - math.sqrt(math.pi) * s * float(erfcx(s))
    # the terms alternate and shrink, so the error is below the first one left out, 10395/64 s^-12 relative to s^-2 / 2
    z = 1 / (2 * s * s)
    return z * (1 - 3 * z * (1 - 5 * z * (1 - 7 * z * (1 - 9 * z * (1 - 11 * z)))))


def _power_gap(gap: float, dimension: int) -> float:
    """Return 1 - (1 - gap)^dimension."""
    return -math.expm1(dimension * math.log1p(-gap)) if gap < 1 else 1.0


def _integral(function: Callable[[float], float], points: Sequence[float]) -> Bound:
    """Integrate between the first and the last of `points`, with the error that the quadrature reports."""
    from scipy.integrate import quad

    total, lost = 0.0, 0.0
    for low, high in pairwise(points):
        value, error = quad(function, low, high, epsabs=0.0, epsrel=1e-12, limit=200)[:2]
        total, lost = total + value, lost + error
    # the integrand itself is rounded, to about 1e-12 of itself at worst
    lost += 4e-12 * total
    return Bound(down(total - lost), up(total + lost), "exact")
