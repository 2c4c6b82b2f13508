"""Laplace noise in chosen directions, drawn so that the set of possible outputs does not depend on the answer."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from bnpriv import checks
from bnpriv.bound import UNIT_ROUNDOFF, Bound, FloatArray, up
from bnpriv.core.noise import (
    Laplace,
    Sampler,
    laplace_mean_length,
    near,
    norm_of,
    probability,
    sampled,
    scaled,
    sized,
    tail_of_one,
)
from bnpriv.errors import ParameterError

REACH_SCALES = 64.0
"""Noisy coordinates are clamped so many scales beyond the answers: it happens to one release of 10^28."""

LAST_CONFIDENCES = (2.0**-10, 2.0**-7, 2.0**-5, 2.0**-4, 2.0**-3, 0.25, 0.5, 0.75)
"""Shares of the probability of an error, of which the best is given to the noise that is drawn last."""


@dataclass(frozen=True, kw_only=True)
class DirectionalLaplace:
    """Independent Laplace noise along orthonormal directions, with very little of it on every number.

    Parameters
    ----------
    scale : float
        Of the noise along each direction, in the answer's unit.
    directions : tuple of tuple of float
        Unit vectors, orthogonal to each other, one row each.
    limits : tuple of float
        Sizes to which the noisy coordinates along the directions are clamped.
    dithers : tuple of float
        Scales of independent noise that is added on top and drawn last, one for each number; 0 for numbers that no
        direction moves.

    Raises
    ------
    ParameterError
        If a number is out of range or the sizes do not fit.

    Notes
    -----
    docs/claims/directional.md.

    Examples
    --------
    >>> noise = DirectionalLaplace(scale=5.0, directions=((0.6, 0.8),), limits=(400.0,), dithers=(1e-6, 1e-6))
    >>> [round(scale, 3) for scale in noise.scales], round(float(noise.error()), 3)
    ([3.0, 4.0], 5.0)
    """

    sampler_method: ClassVar[str] = "laplace"
    """The method of a sampler that draws it."""

    scale: float
    directions: tuple[tuple[float, ...], ...]
    limits: tuple[float, ...]
    dithers: tuple[float, ...]

    def __post_init__(self) -> None:
        checks.positive("the scale of the noise", self.scale)
        rows = checks.listed(self.directions) or ()
        object.__setattr__(self, "directions", tuple(_numbers("a direction", row) for row in rows))
        vars(self).update(limits=_numbers("limits", self.limits), dithers=_numbers("dithers", self.dithers))
        fits = len(self.limits) == len(self.directions) >= 1
        fits = fits and all(len(row) == len(self.dithers) for row in self.directions)
        noisy = np.any(self._rows, axis=0) if fits else np.zeros(0, dtype=bool)
        positive = np.array([dither > 0 for dither in self.dithers])
        if not (fits and all(limit > 0 for limit in self.limits) and np.all(positive >= noisy)):
            raise ParameterError(
                "noise along directions needs a limit for each, and noise drawn last for each number that they move",
                found="too few of them, or some that are not above 0",
                remedy="Use a calibration as its mechanism returned it.",
            )

    @property
    def dimension(self) -> int:
        """Return the number of coordinates d."""
        return len(self.dithers)

    @property
    def _rows(self) -> FloatArray:
        return np.array(self.directions, dtype=np.float64)

    @property
    def covariance(self) -> FloatArray:
        """Return the covariance of the noise, shape (d, d)."""
        return 2 * (self.scale**2 * self._rows.T @ self._rows + np.diag(np.square(self.dithers)))

    @property
    def mean_sizes(self) -> tuple[float, ...]:
        """The mean absolute error of each number of the answer."""
        return self.scales

    @property
    def scales(self) -> tuple[float, ...]:
        """Return for each coordinate the scale of Laplace noise of the same variance, rounded up."""
        parts = np.vstack([self.scale * self._rows, np.diag(self.dithers)])
        return tuple(up(math.hypot(*part), 2 * len(parts)) for part in parts.T.tolist())

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
        moved = [Fraction(number) for number in sized(value, self.dimension)]
        rows = [[Fraction(entry) for entry in row] for row in self.directions]
        along = [sum((a * b for a, b in zip(row, moved, strict=True)), Fraction(0)) for row in rows]
        draws = sampler.laplace([0.0] * len(rows), self.scale)
        for row, here, draw, limit in zip(rows, along, draws, self.limits, strict=True):
            noisy = min(max(here + Fraction(draw), -Fraction(limit)), Fraction(limit))
            moved = [number + entry * (noisy - here) for number, entry in zip(moved, row, strict=True)]
        return sampled(sampler.laplace, [float(number) for number in moved], self.dithers)

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
        In the 2-norm directions do not matter. A coordinate is a sum of Laplace variables: its mean size is at least
        that of the largest, and at most the root of its mean square. What is drawn last only adds to each.
        """
        norm_of(norm)
        rows, last = np.abs(self._rows), math.fsum(self.dithers)
        length = scaled(laplace_mean_length(len(rows)), self.scale)
        if norm == 2:
            found = near(length.lower, 2.0**-40).lower, near(length.upper, 2.0**-40).upper + last
            return Bound(*found, "certified")
        least = self.scale * rows.max(axis=0)
        most = np.minimum(self.scale * rows.sum(axis=0), self.scale * np.sqrt(2 * np.square(rows).sum(axis=0)))
        if norm == 1:
            return Bound(near(float(least.sum())).lower, near(float(most.sum())).upper + last, "certified")
        largest = float(most.max()) if len(rows) == 1 else min(float(most.sum()), length.upper)
        return Bound(near(float(least.max())).lower, near(largest, 2.0**-40).upper + last, "certified")

    def quantile(self, p: float) -> float:
        """Return an error that no coordinate exceeds with probability `p`; rounded up.

        Raises
        ------
        ParameterError
            If `p` is out of range.
        """
        return max(self.quantiles(p))

    def quantiles(self, p: float) -> tuple[float, ...]:
        """Return errors that no coordinate exceeds, each its own, with probability `p`; rounded up.

        Raises
        ------
        ParameterError
            If `p` is out of range.
        """
        return min((self._quantiles(probability(p), share) for share in LAST_CONFIDENCES), key=max)

    def _quantiles(self, p: float, share: float) -> tuple[float, ...]:
        """Return such errors, with a share of the probability of larger ones for the noise that is drawn last."""
        last = -math.expm1(math.log1p(-p) + math.log(share))
        along = -self.scale * math.log(tail_of_one(p / last, len(self.directions)))
        far = -math.log(tail_of_one(last, self.dimension))
        reach = np.abs(self._rows).sum(axis=0)
        return tuple(up(float(r) * along + t * far, 64) for r, t in zip(reach, self.dithers, strict=True))

    @property
    def free_numbers(self) -> int:
        """Return how many numbers make the directions and the scale along them."""
        return len(self.directions) * self.dimension + 1

    def accounted_noise(self) -> Laplace:
        """Return independent noise on each number that gets some, smaller in every direction: that of the last step."""
        return Laplace(min(dither for dither in self.dithers if dither > 0), self.dimension)


def _numbers(what: str, given: object) -> tuple[float, ...]:
    return tuple(checks.number(f"a number of {what}", each) for each in checks.listed(given) or ())


def limits_for(scale: float, rows: FloatArray, reach: FloatArray) -> FloatArray:
    """Return to which sizes the coordinates along directions are clamped, for answers up to `reach` in size."""
    return np.abs(rows) @ reach + REACH_SCALES * scale


def moved_by_rounding(rows: FloatArray, limits: FloatArray, reach: FloatArray) -> FloatArray:
    """Return how far rounding may move each number before the last noise is drawn, rounded up.

    Parameters
    ----------
    rows : ndarray, shape (k, d)
        The directions.
    limits : ndarray, shape (k,)
    reach : ndarray, shape (d,)
        Largest size of each number of the answer.
    """
    far = np.abs(rows).T @ (limits + np.abs(rows) @ reach)
    moved = UNIT_ROUNDOFF * (2 * far + reach) * (1 + 2.0**-20) + 2.0**-1074 * (1 + len(rows))
    return np.where(np.any(rows, axis=0), moved, 0.0)
