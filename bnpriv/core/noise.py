"""Additive noise as a value: its randomness, scales, mean error, quantiles and exact sampling."""

from __future__ import annotations

import math
import secrets
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Any, ClassVar, Literal, Protocol, Self, cast

import numpy as np

from bnpriv import checks
from bnpriv.bound import UNIT_ROUNDOFF, Bound, FloatArray, down, up
from bnpriv.errors import ParameterError

# --------------------------------------------------------------------------------------------------
# Samplers: exact discrete noise with the operating system's randomness, behind a small protocol.
# --------------------------------------------------------------------------------------------------

NoiseLaw = Literal["laplace", "gaussian", "discrete_laplace"]


class Sampler(Protocol):
    """Adds independent noise to every coordinate of a vector.

    The protocol exists so that tests can put a recorded sampler in its place; releases use `SecureSampler`.
    """

    def laplace(self, values: Sequence[float], scale: float) -> tuple[float, ...]:
        """Add Laplace noise of density proportional to ``exp(-|x| / scale)`` to every value."""
        ...

    def gaussian(self, values: Sequence[float], scale: float) -> tuple[float, ...]:
        """Add normal noise of standard deviation `scale` to every value."""
        ...

    def discrete_laplace(self, values: Sequence[float], scale: float) -> tuple[float, ...]:
        """Add integer noise of probability proportional to ``exp(-|k| / scale)`` to every (whole) value."""
        ...

    def below(self, limit: int) -> int:
        """A uniformly random whole number from 0 to ``limit - 1``."""
        ...


@dataclass(frozen=True)
class SecureSampler:
    """The sampler of releases: exact discrete Laplace and Gaussian noise (OpenDP) from the system's randomness.

    There is no seed. The noise is drawn exactly on the whole multiples of 2^-1074, added without rounding, and only
    the sum is rounded to the nearest double, so that the set of possible outputs is the same for every true value.

    Notes
    -----
    Canonne, Kamath, Steinke, "The Discrete Gaussian for Differential Privacy" (NeurIPS 2020), algorithms 1 to 3. The
    attack that this prevents: Mironov, "On significance of the least significant bits for differential privacy" (CCS
    2012).

    Examples
    --------
    >>> len(SecureSampler().laplace([1.0, 2.0], scale=3.0))
    2
    """

    def laplace(self, values: Sequence[float], scale: float) -> tuple[float, ...]:
        """Add independent Laplace noise to every value.

        Parameters
        ----------
        values : sequence of float
            Exact answers; finite.
        scale : float
            Scale in the answers' unit; finite and above 0.

        Returns
        -------
        tuple of float, shape (len(values),)

        Raises
        ------
        ParameterError
            If a value is not finite or the scale is not finite and above 0.
        """
        return _noisy("laplace", values, scale)

    def gaussian(self, values: Sequence[float], scale: float) -> tuple[float, ...]:
        """Add independent normal noise to every value.

        Parameters
        ----------
        values : sequence of float
            Exact answers; finite.
        scale : float
            Standard deviation in the answers' unit; finite and above 0.

        Returns
        -------
        tuple of float, shape (len(values),)

        Raises
        ------
        ParameterError
            If a value is not finite or the scale is not finite and above 0.
        """
        return _noisy("gaussian", values, scale)

    def discrete_laplace(self, values: Sequence[float], scale: float) -> tuple[float, ...]:
        """Add independent whole-number noise to every (whole) value.

        Parameters
        ----------
        values : sequence of float
            Exact answers; whole and below 2^53 in size.
        scale : float
            Scale in the answers' unit; finite and above 0.

        Returns
        -------
        tuple of float, shape (len(values),)

        Raises
        ------
        ParameterError
            If a value is not whole or the scale is not finite and above 0.
        """
        return _noisy("discrete_laplace", values, scale)

    def below(self, limit: int) -> int:
        """A uniformly random whole number from 0 to ``limit - 1``, exactly so.

        Parameters
        ----------
        limit : int
            At least 1.

        Returns
        -------
        int

        Raises
        ------
        ParameterError
            If the limit is not a whole number of at least 1.

        Notes
        -----
        `secrets.randbelow` draws as many random bits of the operating system as the limit has, and draws again where
        they make a number that is too large.
        """
        return secrets.randbelow(checks.whole("the limit of a random number", limit))


def _noisy(law: NoiseLaw, values: Sequence[float], scale: float) -> tuple[float, ...]:
    """Values with noise by OpenDP: exact discrete noise on multiples of 2^-1074 is added, and the sum rounded once."""
    from opendp import domains, measurements, metrics
    from opendp.mod import enable_features

    scale = checks.positive("the scale of the noise", scale)
    exact = [float(value) for value in values]
    # OpenDP silently turns NaN into a finite number and clamps infinities
    if not all(math.isfinite(value) for value in exact):
        raise ParameterError(
            "every value must be finite before noise is added",
            found="a value that is not",
            remedy="Report the query that led here: its answer overflowed.",
        )
    enable_features("contrib")  # OpenDP marks these measurements so
    # the functions of OpenDP have partial types only
    domain, measure, metric = cast(Any, domains), cast(Any, measurements), cast(Any, metrics)
    if law == "discrete_laplace":
        whole = [int(value) for value in exact]
        counts = domain.vector_domain(domain.atom_domain(T="i64"))
        return tuple(float(k) for k in measure.make_laplace(counts, metric.l1_distance(T="i64"), scale=scale)(whole))
    numbers = domain.vector_domain(domain.atom_domain(T=float, nan=False))
    if law == "laplace":
        measurement = measure.make_laplace(numbers, metric.l1_distance(T=float), scale=scale)
    else:
        measurement = measure.make_gaussian(numbers, metric.l2_distance(T=float), scale=scale)
    return tuple(float(value) for value in measurement(exact))


# --------------------------------------------------------------------------------------------------
# Mean norms of noise vectors, with the error of their computation.
# --------------------------------------------------------------------------------------------------

# Functions of the standard library and of scipy.special are good to a few units in the last place; 64 is ample.
SPECIAL_FUNCTION_ERROR = 64 * UNIT_ROUNDOFF

NEGLIGIBLE = 2.0**-48
"""Scales below this share of the largest are not integrated; the most they can add goes into the upper end."""


def norm_of(norm: float) -> None:
    """Refuse any norm but 1, 2 and math.inf."""
    if isinstance(norm, bool) or norm not in (1, 2, math.inf):
        raise ParameterError("norm must be 1, 2 or math.inf", found=repr(norm), remedy="Choose one of them.")


def near(value: float, relative: float = SPECIAL_FUNCTION_ERROR) -> Bound:
    """An enclosure of a number that was computed with a small relative error."""
    if math.isinf(value):
        return Bound(math.nextafter(math.inf, 0.0), math.inf, "exact")
    return Bound(down(value * (1 - relative)), up(value * (1 + relative)), "exact")


def scaled(bound: Bound, factor: float) -> Bound:
    """A bound multiplied by a positive number."""
    return Bound(near(bound.lower * factor).lower, near(bound.upper * factor).upper, bound.kind)


def gaussian_mean_largest(dimension: int) -> Bound:
    """The mean of the largest |X| of d standard normal variables: the integral of P(largest > x) over x > 0."""

    def beyond(x: float) -> float:
        return -math.expm1(dimension * math.log1p(-math.erfc(x / math.sqrt(2)))) if x > 0 else 1.0

    middle = math.sqrt(2 * math.log(2 * dimension))
    return _integral(beyond, [0.0, middle, middle + 3, middle + 12, middle + 40])


def laplace_mean_length(dimension: int) -> Bound:
    """The mean 2-norm of d independent Laplace variables of scale 1.

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
    """The mean 1-norm, 2-norm or largest coordinate of independent Laplace variables of several scales."""
    norm_of(norm)
    if norm == 1 or len(scales) == 1:
        return near(math.fsum(scales))
    if norm == 2:
        return _mean_length(scales, _erfcx_gap, limit=0.5, size=1.0)
    middle = math.log(2 * len(scales))
    return _mean_largest(scales, lambda x: math.exp(-x), [middle, middle + 3, middle + 12, middle + 60], size=1.0)


def gaussian_error(norm: float, scales: Sequence[float]) -> Bound:
    """The mean 1-norm, 2-norm or largest coordinate of independent normal variables of several deviations."""
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
    """The mean 2-norm of independent variables that are scaled copies of one variable X.

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
        # dropping the negligible scales shortens the vector by at most the sum of their mean sizes
        near(factor * (left.upper + right.upper) + size * left_out).upper,
    )


def _mean_largest(
    scales: Sequence[float], tail: Callable[[float], float], ends: Sequence[float], *, size: float
) -> Bound:
    """The mean of the largest of independent variables: the integral of P(one is larger than x) over x > 0."""
    largest, counts, left_out = _relative(scales)

    def beyond(x: float) -> float:
        return _any([tail(x / each) for each in counts], counts)

    found = _integral(beyond, [*_points(counts, ends[0]), *ends[1:]])
    return Bound(near(largest * found.lower).lower, near(largest * found.upper + size * left_out).upper)


def _relative(scales: Sequence[float]) -> tuple[float, Counter[float], float]:
    """The largest scale, the multiplicity of each relative scale, and the sum of the negligible ones."""
    largest = max(scales)
    shares = [scale / largest for scale in scales]
    kept = Counter(share for share in shares if share > NEGLIGIBLE)
    left_out = math.fsum(scale for scale, share in zip(scales, shares, strict=True) if share <= NEGLIGIBLE)
    return largest, kept, left_out


def _any(chances: Sequence[float], counts: Counter[float]) -> float:
    """The probability 1 - product of (1 - chance)^count that at least one event happens."""
    if max(chances) >= 1:
        return 1.0
    pairs = zip(chances, counts.values(), strict=True)
    return -math.expm1(math.fsum(number * math.log1p(-chance) for chance, number in pairs))


def _points(counts: Counter[float], end: float) -> list[float]:
    """Break points for the integrand, a factor of 4 apart, from below the smallest scale to `end`."""
    points, place = [0.0], min(counts) / 4
    while place < end:
        points.append(place)
        place *= 4
    return [*points, end]


def _erfcx_gap(s: float) -> float:
    """The function 1 - sqrt(pi) s erfcx(s), without cancellation for large s."""
    from scipy.special import erfcx

    if s < 30:
        return 1 - math.sqrt(math.pi) * s * float(erfcx(s))
    # the terms alternate and shrink, so the error is below the first one left out, 10395/64 s^-12 relative to s^-2 / 2
    z = 1 / (2 * s * s)
    return z * (1 - 3 * z * (1 - 5 * z * (1 - 7 * z * (1 - 9 * z * (1 - 11 * z)))))


def _power_gap(gap: float, dimension: int) -> float:
    """The number 1 - (1 - gap)^dimension, without cancellation."""
    return -math.expm1(dimension * math.log1p(-gap)) if gap < 1 else 1.0


def _integral(function: Callable[[float], float], points: Sequence[float]) -> Bound:
    """Integrate from the first to the last of `points`, with the error that the quadrature reports."""
    from scipy.integrate import quad

    total, lost = 0.0, 0.0
    for low, high in pairwise(points):
        value, error = quad(function, low, high, epsabs=0.0, epsrel=1e-12, limit=200)[:2]
        total, lost = total + value, lost + error
    # the integrand itself is rounded, by about 1e-12 of its value at worst
    lost += 4e-12 * total
    return Bound(down(total - lost), up(total + lost), "exact")


# --------------------------------------------------------------------------------------------------
# Weights of the outputs: the scale that each gets, and drawing noise of several scales.
# --------------------------------------------------------------------------------------------------

Weights = tuple[float, ...]
"""Powers of two, one for each output; empty where all are 1."""

SMALLEST_SCALE = 2.0**-1000
"""The smallest scale that a power of two divides without rounding."""

BISECTIONS = 200
"""Enough steps to bisect between two doubles that are within a factor 2^100."""


def power_of_two(weight: float) -> float:
    """The power of two nearest to a positive number on a log scale.

    Examples
    --------
    >>> power_of_two(3.0), power_of_two(0.3), power_of_two(1.4)
    (4.0, 0.25, 1.0)
    """
    mantissa, exponent = math.frexp(weight)
    return math.ldexp(1.0, exponent if mantissa * mantissa > 0.5 else exponent - 1)


def products(first: Weights, second: Sequence[float]) -> Weights:
    """The products of two lists of weights."""
    return tuple(a * b for a, b in zip(first or (1.0,) * len(second), second, strict=True))


def scales_of(scale: float, weights: Weights, dimension: int) -> tuple[float, ...]:
    """The scale of each output: `scale` over its weight, which is exact for powers of two.

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
    """An answer as floats, checked to have the length of the noise."""
    exact = tuple(float(number) for number in value)
    if len(exact) != dimension:
        raise ParameterError(
            f"the noise is for {dimension} numbers", found=str(len(exact)), remedy="Calibrate the same query."
        )
    return exact


def sampled(
    draw: Callable[[Sequence[float], float], tuple[float, ...]], value: Sequence[float], scales: tuple[float, ...]
) -> tuple[float, ...]:
    """An answer plus noise; outputs of equal scale are drawn together, and those of scale 0 stay as they are."""
    exact = sized(value, len(scales))
    noisy = list(exact)
    # sorted, because groupby joins neighbours only
    by_scale = sorted(range(len(scales)), key=lambda place: (scales[place], place))
    for scale, group in groupby(by_scale, key=lambda place: scales[place]):
        places = list(group)
        here = [exact[place] for place in places]
        for place, number in zip(places, draw(here, scale) if scale > 0 else here, strict=True):
            noisy[place] = number
    return tuple(noisy)


def probability(p: object) -> float:
    """A probability, checked to be above 0 and below 1."""
    p = checks.number("p", p, remedy="Pass a probability, for example 0.95.")
    if not 0 < p < 1:
        raise ParameterError("p must be above 0 and below 1", found=f"{p:g}", remedy="Pass for example 0.95.")
    return p


def tail_of_one(p: object, dimension: int) -> float:
    """The number 1 - p^(1/dimension): how often each of `dimension` independent errors may be exceeded."""
    return -math.expm1(math.log(probability(p)) / dimension)


def common_quantile(
    p: float, scales: tuple[float, ...], ends: tuple[float, float], tail: Callable[[float], float]
) -> float:
    """The error that no output exceeds with probability `p`, rounded up.

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
        # by log1p, so that tails far below the spacing of doubles near 1 still count
        inside = math.fsum(math.log1p(-min(tail(middle / scale), 1 - 2.0**-53)) for scale in scales)
        low, high = (low, middle) if inside >= least else (middle, high)
    return up(high * (1 + 2.0**-40))


# --------------------------------------------------------------------------------------------------
# Additive noise as a value: what is released minus the exact answer.
#
# Error means the noise vector itself: what is released minus the exact answer.
# --------------------------------------------------------------------------------------------------

ContinuousNoise = Literal["laplace", "gaussian"]
"""The laws of noise that mechanisms add to outputs of any kind."""


class Noise(Protocol):
    """Independent noise on each output of an answer."""

    sampler_method: ClassVar[str]
    """The name of the sampler's method that draws it."""

    @property
    def dimension(self) -> int:
        """The number of outputs."""
        ...

    def sample(self, value: Sequence[float], sampler: Sampler) -> tuple[float, ...]:
        """The answer `value` plus fresh noise."""
        ...

    def error(self, norm: float = 2) -> Bound:
        """The mean 1-norm, 2-norm or largest coordinate (``math.inf``) of the noise vector."""
        ...

    def quantile(self, p: float) -> float:
        """The error q that no output exceeds with probability `p`."""
        ...

    def quantiles(self, p: float) -> tuple[float, ...]:
        """Errors q_j, one for each output, that are all kept with probability `p`."""
        ...

    @property
    def mean_sizes(self) -> tuple[float, ...]:
        """The mean absolute error of each output."""
        ...

    @property
    def scales(self) -> tuple[float, ...]:
        """The scale of the noise of each output."""
        ...

    @property
    def covariance(self) -> FloatArray:
        """The covariance of the noise, shape (d, d)."""
        ...

    @property
    def free_numbers(self) -> int:
        """How many numbers, beside public weights, were fitted: 1 for a scale, of which more is always enough."""
        ...

    def accounted_noise(self) -> Laplace | Gaussian | None:
        """The noise that an accountant charges for, None if there is no noise."""
        ...


class DivisibleNoise(Noise, Protocol):
    """Noise that keeps its kind when the outputs are divided by powers of two."""

    def divided(self, weights: Sequence[float]) -> Noise:
        """The noise of the answer once each output, noise included, is divided by a power of two."""
        ...


@dataclass(frozen=True)
class Scaled:
    """Independent noise of one law on each output: one scale, divided by public weights."""

    sampler_method: ClassVar[str]
    no_scale: ClassVar[str] = "Calibrate the noise; use NoNoise where a certificate allows none."
    """The remedy when there is no scale."""

    scale: float
    dimension: int = 1
    weights: Weights = ()

    def __post_init__(self) -> None:
        scale = checks.positive("the scale of the noise", self.scale, remedy=self.no_scale)
        vars(self).update(scale=scale, dimension=checks.whole("dimension", self.dimension))
        # weights rounded to powers of two; empty if all are 1
        given = tuple(checks.positive("a weight of the noise", weight) for weight in self.weights)
        if given and len(given) != self.dimension:
            raise ParameterError(
                f"one weight is needed for each of {self.dimension} numbers",
                found=str(len(given)),
                remedy="Pass as many weights as the answer has numbers, or none.",
            )
        found = tuple(power_of_two(weight) for weight in given)
        object.__setattr__(self, "weights", () if all(weight == 1 for weight in found) else found)
        scales_of(self.scale, self.weights, self.dimension)

    @property
    def scales(self) -> tuple[float, ...]:
        """The scale of the noise of each output, in its own unit."""
        return scales_of(self.scale, self.weights, self.dimension)

    def sample(self, value: Sequence[float], sampler: Sampler) -> tuple[float, ...]:
        """Add noise to an answer.

        Parameters
        ----------
        value : sequence of float
            The exact answer, of length `dimension`.
        sampler : Sampler
            Where random numbers come from.

        Raises
        ------
        ParameterError
            If `value` has another length or is not finite.
        """
        return sampled(getattr(sampler, self.sampler_method), value, self.scales)

    def divided(self, weights: Sequence[float]) -> Self:
        """The noise with the scale of each output divided by a power of two."""
        return type(self)(self.scale, self.dimension, products(self.weights, weights))

    free_numbers = 1
    """One: the scale."""


class _Continuous(Scaled):
    """Scaled noise of a continuous law."""

    def quantile(self, p: float) -> float:
        """The error that no output exceeds with probability `p`.

        Parameters
        ----------
        p : float
            Above 0 and below 1.

        Returns
        -------
        float
            Rounded up.

        Raises
        ------
        ParameterError
            If `p` is out of range.
        """
        if self.weights:
            ends = (max(self._off(p, 1)) / 2, max(self._off(p, self.dimension)))
            return common_quantile(p, self.scales, ends, self._tail)
        return self._off(p, self.dimension)[0]

    def quantiles(self, p: float) -> tuple[float, ...]:
        """Errors, one for each output, that are all kept with probability `p`; rounded up.

        Raises
        ------
        ParameterError
            If `p` is out of range.
        """
        return self._off(p, self.dimension)

    def accounted_noise(self) -> Self:
        """The noise itself: it costs privacy."""
        return self

    @abstractmethod
    def _off(self, p: float, dimension: int) -> tuple[float, ...]:
        """For each scale, the error that is exceeded as often as one of `dimension` outputs may exceed its own."""
        ...

    @staticmethod
    @abstractmethod
    def _tail(x: float) -> float:
        """The probability that noise of scale 1 exceeds x in size."""
        ...


@dataclass(frozen=True)
class Laplace(_Continuous):
    """Independent Laplace noise on each output.

    Parameters
    ----------
    scale : float
        The density is proportional to ``exp(-|x| / scale)``; in the answer's unit.
    dimension : int
        Number of coordinates.
    weights : tuple of float
        Coordinate j has scale ``scale / weights[j]``; empty if all weights are 1. Powers of two, so that the division
        is exact: any other positive number counts as the power of two that is nearest by ratio.

    Raises
    ------
    ParameterError
        If the scale is not a finite number above 0, the dimension is not a whole number of at least 1, or the weights
        are not positive numbers, one for each coordinate.

    Examples
    --------
    >>> noise = Laplace(2.0)
    >>> round(float(noise.error()), 9), round(noise.quantile(0.95), 3)
    (2.0, 5.991)
    """

    sampler_method: ClassVar[str] = "laplace"
    """The name of the sampler's method that draws it."""

    @property
    def covariance(self) -> FloatArray:
        """The covariance of the noise, shape (d, d)."""
        return np.diag(2 * np.square(self.scales))

    @property
    def mean_sizes(self) -> tuple[float, ...]:
        """The mean absolute error of each output."""
        return self.scales

    def error(self, norm: float = 2) -> Bound:
        """The mean of a norm of the noise vector.

        Parameters
        ----------
        norm : {1, 2, math.inf}

        Returns
        -------
        Bound

        Raises
        ------
        ParameterError
            If the norm is none of the three.

        Notes
        -----
        With d coordinates of scale b the mean 1-norm is ``d b`` and the mean largest coordinate is b times the d-th
        harmonic number, the largest of d exponential variables. For the 2-norm see
        `bnpriv.core.noise.laplace_mean_length`.
        """
        if self.weights:
            return laplace_error(norm, self.scales)
        norm_of(norm)
        if norm == 1 or self.dimension == 1:
            return near(self.scale * self.dimension)
        if norm == math.inf:
            return near(self.scale * math.fsum(1 / k for k in range(1, self.dimension + 1)))
        return scaled(laplace_mean_length(self.dimension), self.scale)

    @staticmethod
    def _tail(x: float) -> float:
        return math.exp(-x)

    def _off(self, p: float, dimension: int) -> tuple[float, ...]:
        return tuple(up(-scale * math.log(tail_of_one(p, dimension)), 16) for scale in self.scales)


@dataclass(frozen=True)
class Gaussian(_Continuous):
    """Independent normal noise on each output.

    Parameters
    ----------
    scale : float
        Standard deviation in the answer's unit.
    dimension : int
        Number of coordinates.
    weights : tuple of float
        Coordinate j has scale ``scale / weights[j]``; empty if all weights are 1. Powers of two, so that the division
        is exact: any other positive number counts as the power of two that is nearest by ratio.

    Raises
    ------
    ParameterError
        If the scale is not a finite number above 0, the dimension is not a whole number of at least 1, or the weights
        are not positive numbers, one for each coordinate.

    Examples
    --------
    >>> noise = Gaussian(2.0, dimension=2)
    >>> round(float(noise.error()), 9), round(noise.quantile(0.95), 3)
    (2.506628275, 4.473)
    """

    sampler_method: ClassVar[str] = "gaussian"
    """The name of the sampler's method that draws it."""

    @property
    def covariance(self) -> FloatArray:
        """The covariance of the noise, shape (d, d)."""
        return np.diag(np.square(self.scales))

    @property
    def mean_sizes(self) -> tuple[float, ...]:
        """The mean absolute error of each output."""
        return tuple(math.sqrt(2 / math.pi) * scale for scale in self.scales)

    def error(self, norm: float = 2) -> Bound:
        """The mean of a norm of the noise vector.

        Parameters
        ----------
        norm : {1, 2, math.inf}

        Returns
        -------
        Bound

        Raises
        ------
        ParameterError
            If the norm is none of the three.

        Notes
        -----
        With d coordinates of standard deviation s the mean 2-norm is that of a chi variable,
        ``s sqrt(2) Gamma((d + 1) / 2) / Gamma(d / 2)``; the mean largest coordinate is
        ``s times the integral of 1 - erf(x / sqrt(2))^d``.
        """
        if self.weights:
            return gaussian_error(norm, self.scales)
        norm_of(norm)
        if norm == 1 or self.dimension == 1:
            return near(self.scale * self.dimension * math.sqrt(2 / math.pi))
        if norm == math.inf:
            return scaled(gaussian_mean_largest(self.dimension), self.scale)
        # the mean 2-norm of d independent standard normal variables: the mean of a chi variable
        difference = math.lgamma((self.dimension + 1) / 2) - math.lgamma(self.dimension / 2)
        # the two logarithms grow like d log d while their difference stays small: the rounding is that of the former
        lost = SPECIAL_FUNCTION_ERROR * (1 + abs(math.lgamma((self.dimension + 1) / 2)))
        return scaled(near(math.sqrt(2) * math.exp(difference), lost), self.scale)

    @staticmethod
    def _tail(x: float) -> float:
        return math.erfc(x / math.sqrt(2))

    def _off(self, p: float, dimension: int) -> tuple[float, ...]:
        from scipy.special import ndtri

        return tuple(up(-scale * float(ndtri(tail_of_one(p, dimension) / 2)), 64) for scale in self.scales)


@dataclass(frozen=True)
class NoNoise:
    """No noise at all; releasing without noise needs a certificate that says why it may be done.

    Parameters
    ----------
    dimension : int
        Number of coordinates.

    Raises
    ------
    ParameterError
        If the dimension is not a whole number of at least 1.

    Examples
    --------
    >>> NoNoise().quantile(0.95)
    0.0
    """

    sampler_method: ClassVar[str] = "laplace"
    """Never called; yet a sampler that lacks it is refused with no noise too, so that a mistake in a test is found."""

    dimension: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "dimension", checks.whole("dimension", self.dimension))

    def sample(self, value: Sequence[float], sampler: Sampler) -> tuple[float, ...]:
        """The answer itself.

        Parameters
        ----------
        value : sequence of float
            The exact answer, of length `dimension`.
        sampler : Sampler
            Not asked for anything.

        Raises
        ------
        ParameterError
            If `value` has another length.
        """
        return sized(value, self.dimension)

    def error(self, norm: float = 2) -> Bound:
        """Zero; an unknown norm is refused."""
        norm_of(norm)
        return Bound(0.0, 0.0, "exact")

    def quantile(self, p: float) -> float:
        """Zero; `p` out of range is refused."""
        probability(p)
        return 0.0

    def quantiles(self, p: float) -> tuple[float, ...]:
        """Zeros; `p` out of range is refused."""
        return (self.quantile(p),) * self.dimension

    @property
    def mean_sizes(self) -> tuple[float, ...]:
        """The mean absolute error of each output: zeros."""
        return self.scales

    @property
    def scales(self) -> tuple[float, ...]:
        """Zeros."""
        return (0.0,) * self.dimension

    @property
    def covariance(self) -> FloatArray:
        """Zeros, shape (d, d)."""
        return np.zeros((self.dimension, self.dimension))

    def divided(self, weights: Sequence[float]) -> NoNoise:
        """The same: there is nothing to divide."""
        return self

    free_numbers = 1
    """One: the scale, which is 0."""

    def accounted_noise(self) -> None:
        """None: there is no noise to charge for."""
        return


def unit_name(*, gaussian: bool) -> str:
    """The name for the size of noise: standard deviation or scale.

    Examples
    --------
    >>> unit_name(gaussian=True), unit_name(gaussian=False)
    ('standard deviation', 'scale')
    """
    return "standard deviation" if gaussian else "scale"


# --------------------------------------------------------------------------------------------------
# Confidence intervals for the exact answer, given what was released.
# --------------------------------------------------------------------------------------------------

Ends = tuple[float, float]


def intervals(noise: Noise, values: Sequence[float], margins: Sequence[float], level: float) -> tuple[Ends, ...]:
    """Intervals that contain all exact answers at once, with probability `level` over the noise.

    Parameters
    ----------
    noise : Noise
    values : sequence of float
        What was released, one for each number.
    margins : sequence of float
        By how much each was moved since.
    level : float
        Above 0 and below 1.

    Raises
    ------
    ParameterError
        If `level` is out of range.

    Examples
    --------
    >>> from bnpriv.noise import Channel, NoNoise
    >>> intervals(NoNoise(), [3.0], [0.0], 0.95)
    ((3.0, 3.0),)
    >>> intervals(Channel([0, 1, 2], [1], [[1], [1], [1]], 1, [0.25, 0.5, 0.25]), [1.0], [0.0], 0.95)
    ((0.0, 2.0),)
    """
    own = getattr(noise, "interval", None)
    if own is not None:
        return tuple(own(value, level) for value in values)
    halves = (reach + margin for reach, margin in zip(noise.quantiles(level), margins, strict=True))
    return tuple(
        (value, value)
        # an answer without noise or margin is known exactly; otherwise the ends are rounded outwards
        if half == 0
        else (math.nextafter(value - half, -math.inf), math.nextafter(value + half, math.inf))
        for value, half in zip(values, halves, strict=True)
    )


def is_none(noise: Noise) -> bool:
    """Whether an answer is released as it is.

    Examples
    --------
    >>> from bnpriv.noise import Laplace, NoNoise
    >>> is_none(NoNoise()), is_none(Laplace(1.0))
    (True, False)
    """
    exact: bool | None = getattr(noise, "is_exact", None)
    if exact is not None:  # a channel that errs under no law of its prior may err for other answers
        return exact
    return noise.accounted_noise() is None and not any(noise.scales)


# --------------------------------------------------------------------------------------------------
# Discrete Laplace noise, for answers that are whole numbers.
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class DiscreteLaplace(Scaled):
    """Independent discrete Laplace (two-sided geometric) noise on each output.

    Parameters
    ----------
    scale : float
        The probability of k is proportional to ``exp(-|k| / scale)``.
    dimension : int
        Number of coordinates.
    weights : tuple of float
        Coordinate j has scale ``scale / weights[j]``; empty if all weights are 1. Powers of two, so that the division
        is exact: any other positive number counts as the power of two that is nearest by ratio.

    Raises
    ------
    ParameterError
        If the scale is not a finite number above 0, the dimension is not a whole number of at least 1, or the weights
        are not positive numbers, one for each coordinate.

    Examples
    --------
    >>> noise = DiscreteLaplace(2.0)
    >>> round(float(noise.error()), 4), noise.quantile(0.95)
    (1.919, 6.0)
    """

    sampler_method: ClassVar[str] = "discrete_laplace"
    """The name of the sampler's method that draws it."""

    no_scale: ClassVar[str] = "Use NoNoise where a certificate says that none is needed."

    @property
    def covariance(self) -> FloatArray:
        """The covariance of the noise, shape (d, d)."""
        return np.diag([_moments(scale)[1] for scale in self.scales])

    def sample(self, value: Sequence[float], sampler: Sampler) -> tuple[float, ...]:
        """Add noise to an answer of whole numbers.

        Parameters
        ----------
        value : sequence of float
            The exact answer, of length `dimension`.
        sampler : Sampler
            Where random numbers come from.

        Raises
        ------
        ParameterError
            If `value` has another length or holds a number that is not whole.
        """
        if len(value) != self.dimension or not all(float(number).is_integer() for number in value):
            raise ParameterError(
                f"{self.dimension} whole numbers are needed",
                found="another number of values, or a fraction",
                remedy="Use Laplace noise for answers that are not whole.",
            )
        return super().sample(value, sampler)

    @property
    def mean_sizes(self) -> tuple[float, ...]:
        """The mean absolute error of each output."""
        return tuple(float(DiscreteLaplace(scale).error(1)) for scale in self.scales)

    def error(self, norm: float = 2) -> Bound:
        """The mean 1-norm, 2-norm or largest coordinate (``math.inf``) of the noise vector.

        With r = exp(-1/scale) one coordinate has mean size 2 r / (1 - r^2) and mean square 2 r / (1 - r)^2.
        """
        norm_of(norm)
        moments = [_moments(scale) for scale in self.scales]
        sizes, squares = [size for size, _ in moments], [square for _, square in moments]
        if norm == 1 or self.dimension == 1:
            return Bound(down(math.fsum(sizes), 16), up(math.fsum(sizes), 16))
        root = up(math.sqrt(math.fsum(squares)), 16)
        if norm == 2:  # a length is convex, and its mean at most the root of the mean square
            return Bound(down(math.hypot(*sizes), 16), root, "certified")
        return Bound(down(max(sizes), 16), min(up(math.fsum(sizes), 16), root), "certified")

    def quantile(self, p: float) -> float:
        """The whole-number error that no output exceeds with probability `p`.

        With several scales it is the largest of `quantiles`.

        Raises
        ------
        ParameterError
            If `p` is not above 0 and below 1.
        """
        return max(self.quantiles(p))

    def quantiles(self, p: float) -> tuple[float, ...]:
        """Whole-number errors, one for each output, that are all kept with probability `p`.

        Raises
        ------
        ParameterError
            If `p` is not above 0 and below 1.
        """
        tail = tail_of_one(p, self.dimension)
        return tuple(_quantile(tail, scale) for scale in self.scales)

    def accounted_noise(self) -> Laplace:
        """Continuous noise of the same scale: it has the same privacy loss for whole-number shifts."""
        return Laplace(self.scale, self.dimension, self.weights)


def _moments(scale: float) -> tuple[float, float]:
    """The mean absolute value and the mean square of noise of a scale."""
    r, gap = math.exp(-1 / scale), -math.expm1(-1 / scale)
    return 2 * r / (gap * (1 + r)), 2 * r / gap**2


def _quantile(tail: float, scale: float) -> float:
    """The least m with P(|X| > m) = 2 r^(m + 1) / (1 + r) at most `tail`."""
    needed = -scale * (math.log(tail) + math.log1p(math.exp(-1 / scale)) - math.log(2)) - 1
    return float(max(0, math.ceil(needed - 1e-9)))
