"""Whole-number noise for answers that are whole numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, final

import numpy as np

from bnpriv.bound import Bound, FloatArray, down, up
from bnpriv.errors import ParameterError
from bnpriv.noise.continuous import Laplace, Scaled
from bnpriv.noise.lengths import norm_of
from bnpriv.noise.weights import tail_of_one

if TYPE_CHECKING:
    from bnpriv.noise.sampling import Sampler


@final
@dataclass(frozen=True)
class DiscreteLaplace(Scaled):
    """Independent whole-number noise on each coordinate, two-sided geometric.

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
    """The method of a sampler that draws it."""

    no_scale: ClassVar[str] = "Use NoNoise where a certificate says that none is needed."

    @property
    def covariance(self) -> FloatArray:
        """Return the covariance of the noise, shape (d, d)."""
        return np.diag([_moments(scale)[1] for scale in self.scales])

    def sample(self, value: Sequence[float], sampler: Sampler) -> tuple[float, ...]:
        """Return `value`, whole numbers of length `dimension`, plus noise.

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
        """The mean absolute error of each number of the answer."""
        return tuple(float(DiscreteLaplace(scale).error(1)) for scale in self.scales)

    def error(self, norm: float = 2) -> Bound:
        """Return the mean 1-norm, 2-norm or largest coordinate (``math.inf``) of the noise vector.

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
        """Return the whole-number error that no coordinate exceeds with probability `p`.

        With several scales it is the largest of `quantiles`.

        Raises
        ------
        ParameterError
            If `p` is not above 0 and below 1.
        """
        return max(self.quantiles(p))

    def quantiles(self, p: float) -> tuple[float, ...]:
        """Return the whole-number errors that no coordinate exceeds, each its own, with probability `p`.

        Raises
        ------
        ParameterError
            If `p` is not above 0 and below 1.
        """
        tail = tail_of_one(p, self.dimension)
        return tuple(_quantile(tail, scale) for scale in self.scales)

    def accounted_noise(self) -> Laplace:
        """Return what an accountant charges for: as for continuous noise of the same scale."""
        return Laplace(self.scale, self.dimension, self.weights)


def _moments(scale: float) -> tuple[float, float]:
    """Return the mean size and the mean square of noise of a scale."""
    r, gap = math.exp(-1 / scale), -math.expm1(-1 / scale)
    return 2 * r / (gap * (1 + r)), 2 * r / gap**2


def _quantile(tail: float, scale: float) -> float:
    """Return the least m with P(|X| > m) = 2 r^(m + 1) / (1 + r) at most `tail`."""
    needed = -scale * (math.log(tail) + math.log1p(math.exp(-1 / scale)) - math.log(2)) - 1
    return float(max(0, math.ceil(needed - 1e-9)))
