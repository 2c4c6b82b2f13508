"""What is used of distributions of scipy.stats, and the normal one without them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol, cast, final

import numpy as np

from bnpriv import checks
from bnpriv.errors import LawError


class Distribution(Protocol):
    """What is used of a frozen distribution of scipy.stats."""

    def cdf(self, x: Any, /) -> Any:
        """Return P(X <= x)."""

    def sf(self, x: Any, /) -> Any:
        """Return P(X > x), to full precision also where it is small."""

    def logcdf(self, x: Any, /) -> Any:
        """Return log P(X <= x)."""

    def logsf(self, x: Any, /) -> Any:
        """Return log P(X > x)."""

    def support(self) -> tuple[Any, Any]:
        """Return the ends of the support."""
        ...

    def std(self) -> Any:
        """Return the standard deviation."""

    def ppf(self, q: Any, /) -> Any:
        """Return the quantile."""

    def rvs(self, size: Any = ..., random_state: Any = ...) -> Any:
        """Return draws."""


@final
@dataclass(frozen=True)
class NormalDistribution:
    """The same as ``scipy.stats.norm(mean, sd)``, for framework files: scipy.stats takes long to import.

    Parameters
    ----------
    mean : float
    sd : float
        Standard deviation, above 0.

    Raises
    ------
    LawError
        If one is not a finite number, or `sd` is not above 0.
    """

    mean: float
    sd: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "mean", checks.number("the mean", self.mean, error=LawError))
        object.__setattr__(self, "sd", checks.positive("the standard deviation", self.sd, error=LawError))

    def cdf(self, x: Any, /) -> Any:
        """Return P(X <= x)."""
        from scipy.special import ndtr

        return ndtr((np.asarray(x) - self.mean) / self.sd)

    def sf(self, x: Any, /) -> Any:
        """Return P(X > x), to full precision also where it is small."""
        from scipy.special import ndtr

        return ndtr((self.mean - np.asarray(x)) / self.sd)

    def logcdf(self, x: Any, /) -> Any:
        """Return log P(X <= x)."""
        from scipy.special import log_ndtr

        return log_ndtr((np.asarray(x) - self.mean) / self.sd)

    def logsf(self, x: Any, /) -> Any:
        """Return log P(X > x)."""
        from scipy.special import log_ndtr

        return log_ndtr((self.mean - np.asarray(x)) / self.sd)

    def logpdf(self, x: Any, /) -> Any:
        """Return the log of the density."""
        z = (np.asarray(x) - self.mean) / self.sd
        return -z * z / 2 - math.log(2 * math.pi) / 2 - math.log(self.sd)

    def support(self) -> tuple[float, float]:
        """Return the ends of the support."""
        return -math.inf, math.inf

    def std(self) -> float:
        """Return the standard deviation."""
        return self.sd

    def ppf(self, q: Any, /) -> Any:
        """Return the quantile."""
        from scipy.special import ndtri

        return self.mean + self.sd * ndtri(np.asarray(q, dtype=np.float64))

    def rvs(self, size: Any = 1, random_state: Any = None) -> Any:
        """Return draws."""
        return cast(Any, self.mean + self.sd * np.random.default_rng(random_state).standard_normal(size))
