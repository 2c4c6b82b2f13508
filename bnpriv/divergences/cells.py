"""Two laws of what is released, as finitely many sets of outputs with bounds of the privacy loss on each.

docs/claims/curves.md: of any divergence that no function of the output raises, the pair of the sets' masses gives a
lower bound, and the pair with the mass of every set parted between its two ends gives an upper bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, final

import numpy as np
from numpy.typing import NDArray

from bnpriv.bound import UNIT_ROUNDOFF, FloatArray
from bnpriv.divergences.views import log_moment, losses
from bnpriv.laws.base import magnitude

MOST_AT_ONCE = 2**21
"""Powers times outputs whose moments are worked out at once."""


class Tail(Protocol):
    """Outputs beyond all cells, on which the loss is not bounded; their masses count as cells too."""

    def log_moment(self, powers: FloatArray, *, up: bool) -> FloatArray:
        """Return bounds of the log of the mean of exp(power times the loss) on them, under the first law."""
        ...


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class LossCells:
    """Sets of outputs with their masses under two laws, and bounds of the loss on each.

    Parameters
    ----------
    low, high : ndarray of shape (K,)
        The loss is at least and at most so large on each set; infinite ends are allowed.
    first, second : ndarray of shape (K,)
        Log masses; -inf for none.
    error : float
        Largest relative error of a mass, and half of the error of an end.
    tails : tuple of Tail
        For the last cells, where the loss has no bound.
    """

    low: FloatArray
    high: FloatArray
    first: FloatArray
    second: FloatArray
    error: float
    tails: tuple[Tail, ...] = ()

    @classmethod
    def of_masses(cls, first: FloatArray, second: FloatArray, error: float) -> LossCells:
        """Return single outputs, whose loss is the log ratio of their masses."""
        seen = ~(np.isneginf(first) & np.isneginf(second))
        loss = losses(first[seen], second[seen])
        # ends are off by twice the error: masses by once, and the difference of logs rounds too
        error += UNIT_ROUNDOFF * magnitude(loss)
        return cls(low=loss, high=loss, first=first[seen], second=second[seen], error=error)

    @property
    def points(self) -> bool:
        """Return whether every set is a single output, or as good as one."""
        return self.low is self.high

    @property
    def least(self) -> FloatArray:
        """Return what the loss is at least on each set, rounding included."""
        return self.low - 2 * self.error

    @property
    def most(self) -> FloatArray:
        """Return what the loss is at most on each set, rounding included."""
        return self.high + 2 * self.error

    @property
    def inner(self) -> tuple[FloatArray, FloatArray]:
        """Return a finite pair of laws that tells no more: the log masses of the sets."""
        return self.first, self.second

    @cached_property
    def outer(self) -> tuple[FloatArray, FloatArray]:
        """Return a finite pair of laws that tells no less: each mass parted between the two ends."""
        if self.points:
            return self.inner
        loss = losses(self.first, self.second)
        low, high = np.minimum(self.least, loss), np.maximum(self.most, loss)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            share = np.expm1(low - loss) / np.expm1(low - high)
            share = np.where(high - low > 0, share, 1.0)
            share = np.where(np.isposinf(high), -np.expm1(low - loss), share)
            share = np.where(np.isneginf(low) | np.isposinf(loss), 1.0, share)
            share = np.clip(np.nan_to_num(share, nan=1.0), 0.0, 1.0)
            up, rest = self.first + np.log(share), self.first + np.log1p(-share)
            up_second, rest_second = np.where(share > 0, up - high, -np.inf), np.where(share < 1, rest - low, -np.inf)
            # where the second law alone has mass left
            gone = np.isneginf(low)
            left = self.second + np.log(-np.expm1(np.minimum(np.where(gone, up_second - self.second, -1.0), 0.0)))
        rest_second = np.where(gone, left, rest_second)
        return np.concatenate([up, rest]), np.concatenate([up_second, rest_second])

    def moments(self, powers: FloatArray, *, up: bool) -> FloatArray:
        """Return upper or lower bounds of the logs of E exp(power times the loss).

        Parameters
        ----------
        powers : ndarray of shape (m,)
            Not 0. Between -1 and 0 the mean is a concave function of the ratio of masses, otherwise a convex one.
        up : bool
            Whether the bounds are upper ones.
        """
        concave = (powers > -1) & (powers < 0)
        if self.points:
            return _moments(self.inner, powers)
        found = np.empty_like(powers)
        if concave.any():
            found[concave] = _moments(self.outer if not up else self.inner, powers[concave])
        if not concave.all():
            found[~concave] = self._convex(powers[~concave], up=up)
        return found

    def _convex(self, powers: FloatArray, *, up: bool) -> FloatArray:
        if not self.tails:
            return _moments(self.outer if up else self.inner, powers)
        # what is known of the tails is better than the one set that each of them is
        kept = self.bounded
        inside = _moments(self.parted if up else (self.first[kept], self.second[kept]), powers)
        # two at a time: where the tails are as good as nothing, a log that is nearly 0 keeps all its digits
        return np.logaddexp.reduce(np.stack([inside, *(tail.log_moment(powers, up=up) for tail in self.tails)]), axis=0)

    @property
    def bounded(self) -> NDArray[np.bool_]:
        """Return on which sets the loss has both bounds."""
        return np.isfinite(self.low) & np.isfinite(self.high)

    @cached_property
    def parted(self) -> tuple[FloatArray, FloatArray]:
        """Return the outer pair, less the sets where only tails bound the mean of a function of the loss."""
        if not self.tails:
            return self.outer
        kept = self.bounded
        return LossCells(
            low=self.low[kept], high=self.high[kept], first=self.first[kept], second=self.second[kept], error=self.error
        ).outer

    @property
    def beyond(self) -> tuple[float, float]:
        """Return the masses under both laws of the sets that `parted` leaves out."""
        if not self.tails:
            return 0.0, 0.0
        first, second = (float(np.sum(np.exp(logs[~self.bounded]))) for logs in self.inner)
        return first, second

    @property
    def largest_size(self) -> float:
        """Return the largest size of a loss, but for tails."""
        kept = self.bounded if self.tails else np.ones(self.first.shape, dtype=bool)
        return max(float(np.max(self.most[kept])), -float(np.min(self.least[kept])))

    @property
    def rounding(self) -> float:
        """Return the relative error of sums over all cells."""
        return self.error + UNIT_ROUNDOFF * (2 * self.first.size + 32)


def _moments(pair: tuple[FloatArray, FloatArray], powers: FloatArray) -> FloatArray:
    per_block = max(1, MOST_AT_ONCE // max(1, pair[0].size))
    starts = range(0, len(powers), per_block)
    return np.concatenate([np.zeros(0), *(log_moment(*pair, powers[start : start + per_block]) for start in starts)])
