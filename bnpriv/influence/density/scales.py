"""Coordinates in which every density falls off fast at both ends of its support."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from bnpriv.bound import FloatArray

LARGEST_LOG_QUOTIENT = 170.0
"""Natural log of the largest and the least distance from a finite end of a support, or from heavy tails' centre.

The square of a quotient of two such distances is still a double.
"""

FARTHEST_WIDTHS = 1e8
"""Distance from the centre in widths, where tails are light."""

HEAVY = 2.4
"""Tails are heavy where the outermost draws lie this many times as far from the middle as the middle four fifths."""


@final
@dataclass(frozen=True, kw_only=True)
class Scale:
    """A map from a coordinate t to the values of a parameter.

    Its centre is where draws are, and it is nearly linear there. Beyond, values approach a finite end of the support,
    or infinity, as the exponential of sinh(t), so that equal steps of t make a quadrature rule that singular ends and
    heavy tails do not spoil.

    Parameters
    ----------
    lower, upper : float
        The support.
    centre, width : float
        Of the draws, after the support was mapped to all numbers.
    heavy : bool
        Whether a parameter without finite ends has heavy tails.

    Notes
    -----
    Double exponential quadrature: Takahasi, Mori, "Double exponential formulas for numerical integration" (Publications
    of RIMS 9, 1974).

    Examples
    --------
    >>> scale = Scale.of(0.0, 1.0, np.array([0.2, 0.3, 0.4]))
    >>> scale.values(np.array([-2.0, 0.0, 2.0])).round(3).tolist()
    [0.124, 0.3, 0.566]
    """

    lower: float
    upper: float
    centre: float
    width: float
    heavy: bool = False

    @classmethod
    def of(cls, lower: float, upper: float, draws: FloatArray) -> Scale:
        """The scale whose centre and width are those of `draws`."""
        inside = draws[(draws > lower) & (draws < upper) & np.isfinite(draws)]
        if not inside.size:
            return cls(lower=lower, upper=upper, centre=0.0, width=1.0)
        mapped = cls(lower=lower, upper=upper, centre=0.0, width=1.0)._unbounded(inside)
        low, tenth, middle, ninth, high = (float(x) for x in np.quantile(mapped, (0.005, 0.1, 0.5, 0.9, 0.995)))
        spread = ninth - tenth
        endless = not math.isfinite(lower) and not math.isfinite(upper)
        heavy = endless and max(high - middle, middle - low) > HEAVY * spread / 2
        least = 1e-9 * max(abs(middle), 1e-290 if endless else 1.0)
        return cls(lower=lower, upper=upper, centre=middle, width=max(spread / 2.56, least), heavy=heavy)

    @property
    def ends(self) -> tuple[float, float]:
        """The least and the largest t whose values differ from the ends of the support, and do not overflow."""
        if self.heavy:
            return -math.asinh(LARGEST_LOG_QUOTIENT), math.asinh(LARGEST_LOG_QUOTIENT)
        low, high = -LARGEST_LOG_QUOTIENT, LARGEST_LOG_QUOTIENT
        length = self.upper - self.lower if math.isfinite(self.upper - self.lower) else 1.0
        if not math.isfinite(self.lower) and not math.isfinite(self.upper):
            return -math.asinh(FARTHEST_WIDTHS), math.asinh(FARTHEST_WIDTHS)
        if math.isfinite(self.lower):
            low = _nearest(self.lower, length)
        if math.isfinite(self.upper):
            high = -_nearest(self.upper, length)
        return math.asinh((low - self.centre) / self.width), math.asinh((high - self.centre) / self.width)

    def values(self, t: FloatArray) -> FloatArray:
        """The values at coordinates."""
        from scipy.special import expit

        inner = self._inner(t)
        if math.isfinite(self.lower) and math.isfinite(self.upper):
            near = (self.upper - self.lower) * np.asarray(expit(-np.abs(inner)))
            return np.where(inner < 0, self.lower + near, self.upper - near)
        if math.isfinite(self.lower):
            return self.lower + np.exp(inner)
        if math.isfinite(self.upper):
            return self.upper - np.exp(-inner)
        return self.centre + self.width * np.sinh(inner) if self.heavy else inner

    def log_slope(self, t: FloatArray) -> FloatArray:
        """The log of the derivative of the values by t."""
        from scipy.special import log_expit

        inner = self._inner(t)
        outer = _log_cosh(t) + (0.0 if self.heavy else math.log(self.width))
        if math.isfinite(self.lower) and math.isfinite(self.upper):
            sides = log_expit(inner) + log_expit(-inner)
            return np.asarray(outer + math.log(self.upper - self.lower) + sides)
        if math.isfinite(self.lower):
            return outer + inner
        if math.isfinite(self.upper):
            return outer - inner
        return outer + _log_cosh(inner) + math.log(self.width) if self.heavy else outer

    def coordinates(self, values: FloatArray) -> FloatArray:
        """Return t of values, at most at the ends."""
        low, high = self.ends
        inside = np.clip(values, self.lower, self.upper)
        if self.heavy:
            t = np.arcsinh(np.arcsinh((inside - self.centre) / self.width))
        else:
            with np.errstate(divide="ignore"):
                t = np.arcsinh((self._unbounded(inside) - self.centre) / self.width)
        return np.clip(t, low, high)

    def _inner(self, t: FloatArray) -> FloatArray:
        return np.sinh(t) if self.heavy else self.centre + self.width * np.sinh(t)

    def _unbounded(self, values: FloatArray) -> FloatArray:
        """Map the support to all numbers."""
        if math.isfinite(self.lower) and math.isfinite(self.upper):
            return np.log(values - self.lower) - np.log(self.upper - values)
        if math.isfinite(self.lower):
            return np.log(values - self.lower)
        return -np.log(self.upper - values) if math.isfinite(self.upper) else values


def _nearest(end: float, length: float) -> float:
    """The log of the least distance from an end that doubles tell from none, in lengths of the support."""
    return max(-LARGEST_LOG_QUOTIENT, math.log(4 * math.ulp(end)) - math.log(length))


def _log_cosh(t: FloatArray) -> FloatArray:
    size = np.abs(t)
    return size + np.log1p(np.exp(-2 * size)) - math.log(2)
