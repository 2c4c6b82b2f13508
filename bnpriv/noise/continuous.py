"""Additive noise as a value: its scale, its expected error, its quantiles, and how to draw it.

Error means the noise vector itself: what is released minus the exact answer.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Protocol, final

from bnpriv import checks
from bnpriv.bound import UNIT_ROUNDOFF, Bound, down, up
from bnpriv.errors import ParameterError

if TYPE_CHECKING:
    from bnpriv.noise.sampling import Sampler

# Functions of the standard library and of scipy.special are good to a few units in the last place; 64 is ample.
SPECIAL_FUNCTION_ERROR = 64 * UNIT_ROUNDOFF


class Noise(Protocol):
    """Independent noise on each coordinate of an answer."""

    @property
    def dimension(self) -> int:
        """Return the number of coordinates."""
        ...

    def sample(self, value: Sequence[float], sampler: Sampler) -> tuple[float, ...]:
        """Return `value`, of length `dimension`, plus fresh noise."""
        ...

    def error(self, norm: float = 2) -> Bound:
        """Return the mean 1-norm, 2-norm or largest coordinate (``math.inf``) of the noise vector."""
        ...

    def quantile(self, p: float) -> float:
        """Return q such that with probability `p` no coordinate is off by more than q."""
        ...

    def spend(self) -> Laplace | Gaussian | None:
        """Return what an accountant has to charge for, None if there is no noise."""
        ...


@final
@dataclass(frozen=True)
class Laplace:
    """Independent Laplace noise on each coordinate.

    Parameters
    ----------
    scale : float
        The density is proportional to ``exp(-|x| / scale)``; in the answer's unit.
    dimension : int
        Number of coordinates.

    Raises
    ------
    ParameterError
        If the scale is not a finite number above 0, or the dimension is not a whole number of at least 1.

    Examples
    --------
    >>> noise = Laplace(2.0)
    >>> round(float(noise.error()), 9), round(noise.quantile(0.95), 3)
    (2.0, 5.991)
    """

    scale: float
    dimension: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", _scale(self.scale))
        object.__setattr__(self, "dimension", checks.whole("dimension", self.dimension))

    def sample(self, value: Sequence[float], sampler: Sampler) -> tuple[float, ...]:
        """Return `value`, of length `dimension`, plus noise.

        Raises
        ------
        ParameterError
            If `value` has another length or is not finite.
        """
        return sampler.laplace(_sized(value, self.dimension), self.scale)

    def error(self, norm: float = 2) -> Bound:
        """Return the mean of a norm of the noise vector.

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
        harmonic number, the largest of d exponential variables. For the 2-norm see `_laplace_mean_length`.
        """
        _norm(norm)
        if norm == 1 or self.dimension == 1:
            return _near(self.scale * self.dimension)
        if norm == math.inf:
            return _near(self.scale * math.fsum(1 / k for k in range(1, self.dimension + 1)))
        return _scaled(_laplace_mean_length(self.dimension), self.scale)

    def quantile(self, p: float) -> float:
        """Return the error that no coordinate exceeds with probability `p`.

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
        return up(-self.scale * math.log(_tail(p, self.dimension)), 16)

    def spend(self) -> Laplace:
        """Return the noise itself: it costs privacy."""
        return self


@final
@dataclass(frozen=True)
class Gaussian:
    """Independent normal noise on each coordinate.

    Parameters
    ----------
    scale : float
        Standard deviation in the answer's unit.
    dimension : int
        Number of coordinates.

    Raises
    ------
    ParameterError
        If the scale is not a finite number above 0, or the dimension is not a whole number of at least 1.

    Examples
    --------
    >>> noise = Gaussian(2.0, dimension=2)
    >>> round(float(noise.error()), 9), round(noise.quantile(0.95), 3)
    (2.506628275, 4.473)
    """

    scale: float
    dimension: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", _scale(self.scale))
        object.__setattr__(self, "dimension", checks.whole("dimension", self.dimension))

    def sample(self, value: Sequence[float], sampler: Sampler) -> tuple[float, ...]:
        """Return `value`, of length `dimension`, plus noise.

        Raises
        ------
        ParameterError
            If `value` has another length or is not finite.
        """
        return sampler.gaussian(_sized(value, self.dimension), self.scale)

    def error(self, norm: float = 2) -> Bound:
        """Return the mean of a norm of the noise vector.

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
        _norm(norm)
        if norm == 1 or self.dimension == 1:
            return _near(self.scale * self.dimension * math.sqrt(2 / math.pi))
        if norm == math.inf:
            return _scaled(_gaussian_mean_largest(self.dimension), self.scale)
        return _scaled(_chi_mean(self.dimension), self.scale)

    def quantile(self, p: float) -> float:
        """Return the error that no coordinate exceeds with probability `p`.

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
        from scipy.special import ndtri

        return up(-self.scale * float(ndtri(_tail(p, self.dimension) / 2)), 64)

    def spend(self) -> Gaussian:
        """Return the noise itself: it costs privacy."""
        return self


@final
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

    dimension: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "dimension", checks.whole("dimension", self.dimension))

    def sample(self, value: Sequence[float], sampler: Sampler) -> tuple[float, ...]:
        """Return `value` as it is; raise ParameterError if it has another length."""
        return _sized(value, self.dimension)

    def error(self, norm: float = 2) -> Bound:
        """Return zero; raise ParameterError for an unknown norm."""
        _norm(norm)
        return Bound(0.0, 0.0, "exact")

    def quantile(self, p: float) -> float:
        """Return zero; raise ParameterError if `p` is out of range."""
        _tail(p, self.dimension)
        return 0.0

    def spend(self) -> None:
        """Return None: there is no noise to account for."""
        return


def _scale(value: object) -> float:
    return checks.positive(
        "the scale of the noise", value, remedy="Calibrate the noise; use NoNoise where a certificate allows none."
    )


def _sized(value: Sequence[float], dimension: int) -> tuple[float, ...]:
    exact = tuple(float(number) for number in value)
    if len(exact) != dimension:
        raise ParameterError(
            f"the noise is for {dimension} numbers", found=str(len(exact)), remedy="Calibrate the same query."
        )
    return exact


def _norm(norm: float) -> None:
    if isinstance(norm, bool) or norm not in (1, 2, math.inf):
        raise ParameterError("norm must be 1, 2 or math.inf", found=repr(norm), remedy="Choose one of them.")


def _tail(p: object, dimension: int) -> float:
    """Return 1 - p^(1/dimension) without cancellation: how often one of the coordinates may be off."""
    p = checks.number("p", p, remedy="Pass a probability, for example 0.95.")
    if not 0 < p < 1:
        raise ParameterError("p must be above 0 and below 1", found=f"{p:g}", remedy="Pass for example 0.95.")
    return -math.expm1(math.log(p) / dimension)


def _near(value: float, relative: float = SPECIAL_FUNCTION_ERROR) -> Bound:
    """Enclose a number that was computed with a small relative error."""
    if math.isinf(value):
        return Bound(math.nextafter(math.inf, 0.0), math.inf, "exact")
    return Bound(down(value * (1 - relative)), up(value * (1 + relative)), "exact")


def _scaled(bound: Bound, factor: float) -> Bound:
    return Bound(_near(bound.lower * factor).lower, _near(bound.upper * factor).upper, bound.kind)


def _chi_mean(dimension: int) -> Bound:
    difference = math.lgamma((dimension + 1) / 2) - math.lgamma(dimension / 2)
    # the two logarithms grow like d log d while their difference stays small: the rounding is that of the former
    lost = SPECIAL_FUNCTION_ERROR * (1 + abs(math.lgamma((dimension + 1) / 2)))
    return _near(math.sqrt(2) * math.exp(difference), lost)


def _gaussian_mean_largest(dimension: int) -> Bound:
    """Return the integral of P(largest of d standard normal |X| > x) over x > 0."""

    def beyond(x: float) -> float:
        return -math.expm1(dimension * math.log1p(-math.erfc(x / math.sqrt(2)))) if x > 0 else 1.0

    middle = math.sqrt(2 * math.log(2 * dimension))
    return _integral(beyond, [0.0, middle, middle + 3, middle + 12, middle + 40])


def _laplace_mean_length(dimension: int) -> Bound:
    """Return the mean 2-norm of d independent Laplace variables of scale 1.

    E sqrt(Y) is 1 / (2 sqrt(pi)) times the integral of (1 - E exp(-t Y)) t^(-3/2). For Y the sum of d squares and
    t = 1 / (4 s^2) this is 2 / sqrt(pi) times the integral over s > 0 of 1 - g(s)^d, where
    g(s) = sqrt(pi) s erfcx(s) increases from 0 to 1 and 1 - g(s) behaves like 1 / (2 s^2).
    """
    width = math.sqrt(dimension)

    def near(s: float) -> float:
        return _power_gap(_erfcx_gap(s), dimension)

    def far(u: float) -> float:
        # s = 1 / u: turns the slow tail into a smooth function on a short interval, d/2 at its end
        return _power_gap(_erfcx_gap(1 / u), dimension) / u**2 if u > 0 else dimension / 2

    left = _integral(near, [0.0, 0.25 * width, 0.5 * width, width])
    right = _integral(far, [0.0, 1 / width])
    factor = 2 / math.sqrt(math.pi)
    return Bound(_near(factor * (left.lower + right.lower)).lower, _near(factor * (left.upper + right.upper)).upper)


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
