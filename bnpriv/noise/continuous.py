"""Additive noise as a value: its scales, its expected error, its quantiles, and how to draw it.

Error means the noise vector itself: what is released minus the exact answer.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, Protocol, Self, final

import numpy as np

from bnpriv import checks
from bnpriv.bound import Bound, FloatArray, up
from bnpriv.noise.lengths import (
    chi_mean,
    gaussian_error,
    gaussian_mean_largest,
    laplace_error,
    laplace_mean_length,
    near,
    norm_of,
    scaled,
)
from bnpriv.noise.weights import (
    Weights,
    common_quantile,
    powers_of_two,
    probability,
    products,
    sampled,
    scales_of,
    sized,
    tail_of_one,
)

if TYPE_CHECKING:
    from bnpriv.noise.sampling import Sampler

ContinuousNoise = Literal["laplace", "gaussian"]
"""The families of noise that mechanisms add to numbers of any kind."""


class Noise(Protocol):
    """Independent noise on each coordinate of an answer."""

    sampler_method: ClassVar[str]
    """The method of a sampler that draws it."""

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

    def quantiles(self, p: float) -> tuple[float, ...]:
        """Return q_j such that with probability `p` no coordinate j is off by more than its q_j."""
        ...

    @property
    def mean_sizes(self) -> tuple[float, ...]:
        """The mean absolute error of each number of the answer."""
        ...

    @property
    def scales(self) -> tuple[float, ...]:
        """Return the scale of the noise of each coordinate."""
        ...

    @property
    def covariance(self) -> FloatArray:
        """Return the covariance of the noise, shape (d, d)."""
        ...

    @property
    def free_numbers(self) -> int:
        """Return how many numbers beside public weights make it: 1 for a scale, of which more is always enough."""
        ...

    def accounted_noise(self) -> Laplace | Gaussian | None:
        """Return what an accountant has to charge for, None if there is no noise."""
        ...


class DivisibleNoise(Noise, Protocol):
    """Noise that is of the same kind once the coordinates are divided by powers of two."""

    def divided(self, weights: Sequence[float]) -> Noise:
        """Return the noise of the answer once each coordinate, noise and all, is divided by a power of two."""
        ...


@dataclass(frozen=True)
class Scaled:
    """Independent noise of one law on each coordinate, of one scale over public weights."""

    sampler_method: ClassVar[str]
    no_scale: ClassVar[str] = "Calibrate the noise; use NoNoise where a certificate allows none."
    """What to do where there is no scale."""

    scale: float
    dimension: int = 1
    weights: Weights = ()

    def __post_init__(self) -> None:
        scale = checks.positive("the scale of the noise", self.scale, remedy=self.no_scale)
        object.__setattr__(self, "scale", scale)
        object.__setattr__(self, "dimension", checks.whole("dimension", self.dimension))
        object.__setattr__(self, "weights", powers_of_two(self.weights, self.dimension))
        scales_of(self.scale, self.weights, self.dimension)

    @property
    def scales(self) -> tuple[float, ...]:
        """The scale of the noise of each coordinate, in its unit."""
        return scales_of(self.scale, self.weights, self.dimension)

    def sample(self, value: Sequence[float], sampler: Sampler) -> tuple[float, ...]:
        """An answer plus noise.

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
        """The noise with each scale divided by a power of two."""
        return type(self)(self.scale, self.dimension, products(self.weights, weights))

    @property
    def free_numbers(self) -> int:
        """1: the scale."""
        return 1


class _Continuous(Scaled):
    """Scaled noise of a continuous law."""

    def quantile(self, p: float) -> float:
        """The error that no coordinate exceeds with probability `p`.

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
        """The errors that no coordinate exceeds, each its own, with probability `p`; rounded up.

        Raises
        ------
        ParameterError
            If `p` is out of range.
        """
        return self._off(p, self.dimension)

    def accounted_noise(self) -> Self:
        """The noise itself: it costs privacy."""
        return self

    def _off(self, p: float, dimension: int) -> tuple[float, ...]:
        """What noise of each scale exceeds as often as one of `dimension` numbers may."""
        raise NotImplementedError

    @staticmethod
    def _tail(x: float) -> float:
        """How often noise of scale 1 is larger than x."""
        raise NotImplementedError


@final
@dataclass(frozen=True)
class Laplace(_Continuous):
    """Independent Laplace noise on each coordinate.

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
    """The method of a sampler that draws it."""

    @property
    def covariance(self) -> FloatArray:
        """Return the covariance of the noise, shape (d, d)."""
        return np.diag(2 * np.square(self.scales))

    @property
    def mean_sizes(self) -> tuple[float, ...]:
        """The mean absolute error of each number of the answer."""
        return self.scales

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
        harmonic number, the largest of d exponential variables. For the 2-norm see
        `bnpriv.noise.lengths.laplace_mean_length`.
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


@final
@dataclass(frozen=True)
class Gaussian(_Continuous):
    """Independent normal noise on each coordinate.

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
    """The method of a sampler that draws it."""

    @property
    def covariance(self) -> FloatArray:
        """Return the covariance of the noise, shape (d, d)."""
        return np.diag(np.square(self.scales))

    @property
    def mean_sizes(self) -> tuple[float, ...]:
        """The mean absolute error of each number of the answer."""
        return tuple(math.sqrt(2 / math.pi) * scale for scale in self.scales)

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
        if self.weights:
            return gaussian_error(norm, self.scales)
        norm_of(norm)
        if norm == 1 or self.dimension == 1:
            return near(self.scale * self.dimension * math.sqrt(2 / math.pi))
        if norm == math.inf:
            return scaled(gaussian_mean_largest(self.dimension), self.scale)
        return scaled(chi_mean(self.dimension), self.scale)

    @staticmethod
    def _tail(x: float) -> float:
        return math.erfc(x / math.sqrt(2))

    def _off(self, p: float, dimension: int) -> tuple[float, ...]:
        from scipy.special import ndtri

        return tuple(up(-scale * float(ndtri(tail_of_one(p, dimension) / 2)), 64) for scale in self.scales)


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

    sampler_method: ClassVar[str] = "laplace"
    """The method of a sampler that draws it."""

    dimension: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "dimension", checks.whole("dimension", self.dimension))

    def sample(self, value: Sequence[float], sampler: Sampler) -> tuple[float, ...]:
        """Return `value` as it is.

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
        """Return zero; raise ParameterError for an unknown norm."""
        norm_of(norm)
        return Bound(0.0, 0.0, "exact")

    def quantile(self, p: float) -> float:
        """Return zero; raise ParameterError if `p` is out of range."""
        probability(p)
        return 0.0

    def quantiles(self, p: float) -> tuple[float, ...]:
        """Return zeros; raise ParameterError if `p` is out of range."""
        return (self.quantile(p),) * self.dimension

    @property
    def mean_sizes(self) -> tuple[float, ...]:
        """The mean absolute error of each number of the answer."""
        return self.scales

    @property
    def scales(self) -> tuple[float, ...]:
        """Return zeros."""
        return (0.0,) * self.dimension

    @property
    def covariance(self) -> FloatArray:
        """Return zeros, shape (d, d)."""
        return np.zeros((self.dimension, self.dimension))

    def divided(self, weights: Sequence[float]) -> NoNoise:
        """Return the same: there is nothing to divide."""
        return self

    @property
    def free_numbers(self) -> int:
        """Return 1: the scale, which is 0."""
        return 1

    def accounted_noise(self) -> None:
        """Return None: there is no noise to account for."""
        return


def unit_name(*, gaussian: bool) -> str:
    """Return what the size of noise is called.

    Examples
    --------
    >>> unit_name(gaussian=True), unit_name(gaussian=False)
    ('standard deviation', 'scale')
    """
    return "standard deviation" if gaussian else "scale"
