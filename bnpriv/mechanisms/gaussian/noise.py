"""Gaussian noise with a covariance, drawn so that the set of possible outputs does not depend on the answer."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from bnpriv import checks
from bnpriv.bound import UNIT_ROUNDOFF, Bound, FloatArray, up
from bnpriv.core.noise import Gaussian, Sampler, common_quantile, gaussian_error, near, sampled, sized, tail_of_one
from bnpriv.errors import ParameterError

DITHER_SHARE = 2.0**-10
"""The independent noise that is drawn last has at least this share of the deviation of each number."""

INDEFINITE = 2.0**-30
"""Least eigenvalue that counts as rounding, relative to the deviations: far less than what is drawn last adds."""


@dataclass(frozen=True, init=False)
class CorrelatedGaussian:
    """Normal noise whose coordinates depend on each other.

    Parameters
    ----------
    needed : array of shape (d, d)
        Covariance that the noise has at least: symmetric, positive semidefinite, not 0.
    dithers : sequence of float, optional
        Deviations of independent noise that is added on top and drawn last, one for each number; at least
        DITHER_SHARE of the deviation that is needed, which is the default.

    Raises
    ------
    ParameterError
        If a number is not finite or it is no covariance.

    Notes
    -----
    docs/claims/noise_with_a_covariance.md.

    Examples
    --------
    >>> noise = CorrelatedGaussian([[4.0, -4.0], [-4.0, 4.0]])
    >>> [round(scale, 4) for scale in noise.scales], noise.covariance.round(4).tolist()
    ([2.0, 2.0], [[4.0, -4.0], [-4.0, 4.0]])
    """

    sampler_method: ClassVar[str] = "gaussian"
    """The method of a sampler that draws it."""

    needed: tuple[tuple[float, ...], ...]
    dithers: tuple[float, ...]

    def __init__(self, needed: ArrayLike, dithers: Iterable[float] = ()) -> None:
        matrix = _covariance(needed)
        least = DITHER_SHARE * np.sqrt(np.diag(matrix))
        listed = checks.listed(dithers) or tuple(least.tolist())
        given = tuple(checks.number("a deviation", each) for each in listed)
        if len(given) != len(matrix) or not all(given[k] >= least[k] for k in range(len(matrix))):
            raise ParameterError(
                "independent noise must be drawn last for every number that needs noise",
                found="too few deviations, or too small ones",
                remedy="Leave out the dithers.",
            )
        vars(self).update(needed=tuple(tuple(row) for row in matrix.tolist()), dithers=given)

    @property
    def dimension(self) -> int:
        """Return the number of coordinates d."""
        return len(self.needed)

    @property
    def covariance(self) -> FloatArray:
        """Return the covariance of the noise that is drawn, shape (d, d)."""
        return np.array(self.needed) + np.diag(np.square(self.dithers))

    @property
    def mean_sizes(self) -> tuple[float, ...]:
        """The mean absolute error of each number of the answer."""
        return tuple(math.sqrt(2 / math.pi) * scale for scale in self.scales)

    @property
    def scales(self) -> tuple[float, ...]:
        """Return the standard deviation of each coordinate, rounded up."""
        return tuple(up(math.sqrt(variance)) for variance in np.diag(self.covariance))

    @property
    def scale(self) -> float:
        """Return the largest standard deviation of a coordinate."""
        return max(self.scales)

    @cached_property
    def factor(self) -> FloatArray:
        """The matrix L that turns independent noise into noise of covariance L L', shape (d, d)."""
        matrix = np.array(self.needed)
        units = np.sqrt(np.where(np.diag(matrix) > 0, np.diag(matrix), 1.0))
        values, vectors = np.linalg.eigh(matrix / units / units[:, None])
        return units[:, None] * vectors * np.sqrt(np.maximum(values, 0.0))

    def moved(self, reach: Sequence[float], log_tail: float) -> FloatArray:
        """Return how far rounding may move each coordinate before the last noise is drawn.

        Parameters
        ----------
        reach : sequence of float
            Largest size of each number of the answer.
        log_tail : float
            Log of the probability with which a draw may be moved further.

        Returns
        -------
        ndarray, shape (d,)
            Rounded up.
        """
        longest = math.sqrt(self.dimension) + math.sqrt(-2 * log_tail)
        rows = np.linalg.norm(self.factor, axis=1) * longest
        # the draws are rounded, and so is the sum
        sums = np.asarray(reach, dtype=np.float64) + 2 * rows
        return np.where(rows > 0, UNIT_ROUNDOFF * sums * (1 + 2.0**-20) + 2.0**-1074, 0.0)

    def sample(self, value: Sequence[float], sampler: Sampler) -> tuple[float, ...]:
        """Return `value`, of length `dimension`, plus noise.

        Parameters
        ----------
        value : sequence of float
            Exact answers.
        sampler : Sampler
            Where the noise comes from.

        Raises
        ------
        ParameterError
            If `value` has another length or is not finite.
        """
        exact = sized(value, self.dimension)
        draws = [Fraction(z) for z in sampler.gaussian([0.0] * self.dimension, 1.0)]
        moved = [
            float(Fraction(number) + sum(Fraction(entry) * z for entry, z in zip(row, draws, strict=True)))
            for number, row in zip(exact, self.factor.tolist(), strict=True)
        ]
        return sampled(sampler.gaussian, moved, self.dithers)

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
        The 1-norm depends on the deviations alone, and the 2-norm on the eigenvalues. The largest coordinate is at most
        that of independent noise with these deviations (Sidak's inequality), and at least that of any one.
        """
        if norm == 2:
            values = np.maximum(np.linalg.eigvalsh(self.covariance), 0.0)
            found = gaussian_error(2, np.sqrt(values).tolist())
            return Bound(near(found.lower, 2.0**-24).lower, near(found.upper, 2.0**-24).upper, "exact")
        found = gaussian_error(norm, self.scales)
        if norm == 1:
            return found
        return Bound(near(self.scale * math.sqrt(2 / math.pi)).lower, found.upper, "certified")

    def quantile(self, p: float) -> float:
        """Return an error that no coordinate exceeds with probability `p`; rounded up.

        Raises
        ------
        ParameterError
            If `p` is out of range.
        """
        scales = tuple(scale for scale in self.scales if scale > 0)
        each = self.quantiles(p)
        return common_quantile(p, scales, (max(each) / 8, max(each)), lambda x: math.erfc(x / math.sqrt(2)))

    def quantiles(self, p: float) -> tuple[float, ...]:
        """Return errors that no coordinate exceeds, each its own, with probability `p`; rounded up.

        Notes
        -----
        Those of independent noise with these deviations, by Sidak's inequality.

        Raises
        ------
        ParameterError
            If `p` is out of range.
        """
        from scipy.special import ndtri

        far = -float(ndtri(tail_of_one(p, self.dimension) / 2))
        return tuple(up(scale * far, 64) for scale in self.scales)

    def divided(self, weights: Sequence[float]) -> CorrelatedGaussian:
        """Return the noise of the answer once each coordinate, noise and all, is divided by a power of two."""
        units = np.array(weights)
        needed = np.array(self.needed) / units / units[:, None]
        return CorrelatedGaussian(needed, (np.array(self.dithers) / units).tolist())

    @property
    def free_numbers(self) -> int:
        """Return the number of entries of a covariance."""
        return self.dimension * (self.dimension + 1) // 2

    def accounted_noise(self) -> Gaussian:
        """Return independent noise on each number that gets some, smaller in every direction: that of the last step."""
        return Gaussian(min(dither for dither in self.dithers if dither > 0), self.dimension)


def _covariance(needed: ArrayLike) -> FloatArray:
    """Return a covariance, made symmetric."""
    try:
        matrix = np.atleast_2d(np.asarray(needed, dtype=np.float64))
    except (TypeError, ValueError, OverflowError):
        raise _refused("something else") from None
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not np.all(np.isfinite(matrix)):
        raise _refused("another shape, or a number that is not finite")
    variances = np.diag(matrix)
    units = np.sqrt(np.where(variances > 0, variances, 1.0))
    shares = matrix / units / units[:, None]
    if not (np.all(variances >= 0) and np.any(variances > 0)):
        raise _refused("a variance below 0, or none above 0")
    if not np.max(np.abs(shares - shares.T)) <= INDEFINITE or np.any(matrix[variances == 0]):
        raise _refused("entries that differ across the diagonal, or stand beside a variance of 0")
    if not float(np.linalg.eigvalsh((shares + shares.T) / 2)[0]) >= -INDEFINITE:
        raise _refused("an eigenvalue below 0")
    return matrix + (matrix.T - matrix) / 2


def _refused(found: str) -> ParameterError:
    return ParameterError(
        "the noise needs a covariance: a symmetric, positive semidefinite matrix other than 0",
        found=found,
        remedy="Use NoNoise where a certificate says that none is needed.",
    )
