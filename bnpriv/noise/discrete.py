"""Whole-number noise for answers that are whole numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from bnpriv import checks
from bnpriv.bound import Bound, down, up
from bnpriv.errors import ParameterError
from bnpriv.noise.continuous import Laplace

if TYPE_CHECKING:
    from bnpriv.noise.sampling import Sampler


@final
@dataclass(frozen=True)
class DiscreteLaplace:
    """Independent whole-number noise on each coordinate, two-sided geometric.

    Parameters
    ----------
    scale : float
        The probability of k is proportional to ``exp(-|k| / scale)``.
    dimension : int
        Number of coordinates.

    Raises
    ------
    ParameterError
        If the scale is not a finite number above 0, or the dimension is not a whole number of at least 1.

    Examples
    --------
    >>> noise = DiscreteLaplace(2.0)
    >>> round(float(noise.error()), 4), noise.quantile(0.95)
    (1.919, 6.0)
    """

    scale: float
    dimension: int = 1

    def __post_init__(self) -> None:
        remedy = "Use NoNoise where a certificate says that none is needed."
        object.__setattr__(self, "scale", checks.positive("the scale of the noise", self.scale, remedy=remedy))
        object.__setattr__(self, "dimension", checks.whole("dimension", self.dimension))

    def sample(self, value: Sequence[float], sampler: Sampler) -> tuple[float, ...]:
        """Return `value`, whole numbers of length `dimension`, plus noise.

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
        return sampler.discrete_laplace(value, self.scale)

    def error(self, norm: float = 2) -> Bound:
        """Return the mean 1-norm, 2-norm or largest coordinate (``math.inf``) of the noise vector.

        With r = exp(-1/scale) one coordinate has mean size 2 r / (1 - r^2) and mean square 2 r / (1 - r)^2.
        """
        if isinstance(norm, bool) or norm not in (1, 2, math.inf):
            raise ParameterError("norm must be 1, 2 or math.inf", found=repr(norm), remedy="Choose one of them.")
        r, gap = math.exp(-1 / self.scale), -math.expm1(-1 / self.scale)
        one = 2 * r / (gap * (1 + r))
        if norm == 1 or self.dimension == 1:
            return Bound(down(one * self.dimension, 16), up(one * self.dimension, 16))
        square = 2 * r / gap**2
        if norm == 2:
            return Bound(one * math.sqrt(self.dimension), up(math.sqrt(self.dimension * square), 16), "certified")
        return Bound(one, up(min(one * self.dimension, math.sqrt(self.dimension * square)), 16), "certified")

    def quantile(self, p: float) -> float:
        """Return the whole-number error that no coordinate exceeds with probability `p`.

        Raises
        ------
        ParameterError
            If `p` is not above 0 and below 1.
        """
        p = checks.number("p", p, remedy="Pass a probability, for example 0.95.")
        if not 0 < p < 1:
            raise ParameterError("p must be above 0 and below 1", found=f"{p:g}", remedy="Pass for example 0.95.")
        tail = -math.expm1(math.log(p) / self.dimension)
        # P(|X| > m) = 2 r^(m + 1) / (1 + r)
        needed = -self.scale * (math.log(tail) + math.log1p(math.exp(-1 / self.scale)) - math.log(2)) - 1
        return float(max(0, math.ceil(needed - 1e-9)))

    def spend(self) -> Laplace:
        """Return what an accountant charges for: as for continuous noise of the same scale."""
        return Laplace(self.scale, self.dimension)
