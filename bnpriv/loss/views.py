"""The views of the privacy loss of a finite pair of laws."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from bnpriv import checks
from bnpriv.bound import UNIT_ROUNDOFF, FloatArray
from bnpriv.core.distributions import log_sum_exp, magnitude
from bnpriv.errors import ParameterError

# --------------------------------------------------------------------------------------------------
# Checks of what views of the privacy loss are asked for; all of it may be infinite.
# --------------------------------------------------------------------------------------------------


def level_of(epsilon: float) -> float:
    """Return an epsilon, which may be below 0."""
    return number_of("epsilon", epsilon, above=-math.inf)


def share_of(value: float) -> float:
    """Return a probability; raise ParameterError for anything else."""
    found = number_of("a probability", value, above=0.0, equal=True)
    if not found <= 1:
        raise ParameterError("a probability is at most 1", found=f"{found:g}", remedy="Pass a number from 0 to 1.")
    return found


def number_of(what: str, value: float, *, above: float, equal: bool = False) -> float:
    """Return a number that may be infinite; raise ParameterError for one out of range."""
    required = f"{what} must be a number {'of at least' if equal else 'above'} {above:g}"
    remedy = "Pass a number in that range."
    if isinstance(value, bool) or not isinstance(value, (int, float, np.floating, np.integer)):
        raise ParameterError(required, found=checks.type_text(value), remedy=remedy)
    if not (value > above or (equal and value == above)):
        raise ParameterError(required, found=f"{value:g}", remedy=remedy)
    return float(value)


# --------------------------------------------------------------------------------------------------
# The views of the privacy loss of a finite pair of laws: logs of masses of one output each along the last axis.
#
# Leading axes are many pairs at once. The first law is that under which the loss log(p / q) is random. Rounding is
# the business of `bnpriv.loss.loss`.
# --------------------------------------------------------------------------------------------------

SMALL_LOSS = 0.01
"""Below this size a series replaces a difference that would cancel."""


def losses(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return log(p / q) of every output: inf where q alone is 0, -inf where p is.

    Examples
    --------
    >>> losses(np.log([0.5, 0.5]), np.log([0.25, 0.75])).round(4).tolist()
    [0.6931, -0.4055]
    """
    with np.errstate(invalid="ignore"):
        return np.where(np.isneginf(first), -np.inf, first - second)


def hockey_stick(first: FloatArray, second: FloatArray, epsilon: float | FloatArray) -> FloatArray:
    """Return the least delta at `epsilon`: the mean of the positive part of 1 - exp(epsilon - loss).

    Examples
    --------
    >>> hockey_stick(np.log([0.5, 0.5]), np.log([0.25, 0.75]), 0.0).round(12).tolist()
    0.25
    """
    loss = losses(first, second)
    with np.errstate(invalid="ignore"):
        above = np.where(np.isposinf(loss), np.inf, loss - np.asarray(epsilon)[..., None])
    return np.sum(np.exp(first) * -np.expm1(-np.maximum(above, 0.0)), axis=-1)


def least_epsilon(first: FloatArray, second: FloatArray, delta: float) -> FloatArray:
    """Return the least epsilon of at least 0 with `hockey_stick` at most `delta`.

    Notes
    -----
    docs/claims/curves.md: the largest log of (P - delta) / Q over the sets of the k largest losses.

    Examples
    --------
    >>> least_epsilon(np.log([0.5, 0.5]), np.log([0.25, 0.75]), 0.1).round(6).tolist()
    0.470004
    """
    order = np.argsort(-losses(first, second), axis=-1, kind="stable")
    above, below = (np.logaddexp.accumulate(np.take_along_axis(logs, order, -1), axis=-1) for logs in (first, second))
    if delta > 0:
        with np.errstate(divide="ignore"):
            above = above + np.log(np.maximum(-np.expm1(np.minimum(math.log(delta) - above, 0.0)), 0.0))
    with np.errstate(invalid="ignore"):
        ratio = np.where(np.isneginf(above), -np.inf, above - below)
    return np.maximum(np.max(ratio, axis=-1), 0.0)


def least_exceeded(loss: FloatArray, masses: FloatArray, delta: float) -> FloatArray:
    """Return the least number of at least 0 that losses with some masses exceed with probability at most `delta`.

    Examples
    --------
    >>> least_exceeded(np.array([0.7, -0.4]), np.array([0.5, 0.5]), 0.4).tolist()
    0.7
    """
    order = np.argsort(-loss, axis=-1, kind="stable")
    loss, masses = (np.take_along_axis(each, order, -1) for each in (loss, masses))
    # outputs are set aside from the largest loss down, as long as their sum allows
    kept = np.cumsum(masses, axis=-1) > delta
    place = np.argmax(kept, axis=-1)[..., None]
    found = np.where(kept.any(axis=-1), np.take_along_axis(loss, place, -1)[..., 0], 0.0)
    return np.maximum(found, 0.0)


def kullback_leibler(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return the mean loss under the first law; both laws have the same sum of masses.

    Examples
    --------
    >>> kullback_leibler(np.log([0.5, 0.5]), np.log([0.25, 0.75])).round(6).tolist()
    0.143841
    """
    loss = losses(first, second)
    p, q = np.exp(first), np.exp(second)
    small = np.abs(loss) < SMALL_LOSS
    near, far = np.where(small, loss, 0.0), np.where(small | np.isinf(loss), 1.0, loss)
    # every term is at least 0: p (loss - 1) + q, a series where the two cancel
    series = p * near**2 * (1 / 2 - near * (1 / 6 - near * (1 / 24 - near * (1 / 120 - near / 720))))
    terms = np.where(small, series, np.maximum(p * (far - 1) + q, 0.0))
    terms = np.where(np.isneginf(loss), q, np.where(np.isposinf(loss), np.inf, terms))
    return np.sum(terms, axis=-1)


def log_moment(first: FloatArray, second: FloatArray, power: float | FloatArray) -> FloatArray:
    """Return the log of the mean of exp(power times the loss) under the first law, of sum 1.

    Examples
    --------
    >>> log_moment(np.log([0.5, 0.5]), np.log([0.25, 0.75]), 1.0).round(6).tolist()
    0.287682
    """
    loss, power = losses(first, second), np.asarray(power, dtype=np.float64)[..., None]
    seen, ruled_out = ~np.isneginf(first), np.isposinf(loss)
    size = np.max(np.where(seen & ~ruled_out, np.abs(loss), 0.0), axis=-1)
    near = (size * np.abs(power[..., 0]) < 1) & ((power[..., 0] < 0) | ~np.any(ruled_out, axis=-1))
    with np.errstate(invalid="ignore", over="ignore"):
        scaled = np.where(seen & (power != 0), power * loss, 0.0)
        found = np.zeros(scaled.shape[:-1])
        if np.any(near):
            # the sum less 1, in terms of one sign that are nearly 0 each: each with power times q - p, of sum 0, added
            p, q = np.exp(first), np.exp(second)
            gained = np.where(np.abs(loss) < 1, p * np.expm1(np.where(seen, -loss, 0.0)), q - p)
            excess = np.sum(np.where(seen, p * np.expm1(scaled), 0.0) + power * gained, axis=-1)
            near &= excess > -0.5
            found = np.where(near, np.log1p(np.where(near, excess, 0.0)), found)
        if not np.all(near):
            found = np.where(near, found, log_sum_exp(np.where(seen, first + scaled, -np.inf), -1))
    return found


def renyi(first: FloatArray, second: FloatArray, order: float) -> FloatArray:
    """Return the Renyi divergence of an order above 0; the mean loss at 1, the largest loss at infinity.

    Examples
    --------
    >>> renyi(np.log([0.5, 0.5]), np.log([0.25, 0.75]), 2.0).round(6).tolist()
    0.287682
    """
    if order == 1:
        return kullback_leibler(first, second)
    if math.isinf(order):
        return np.max(losses(first, second), axis=-1)
    return log_moment(first, second, order - 1) / (order - 1)


def chi(first: FloatArray, second: FloatArray, order: float) -> FloatArray:
    """Return the mean under the second law of the absolute value of p / q - 1 to a power of at least 1.

    Examples
    --------
    >>> chi(np.log([0.5, 0.5]), np.log([0.25, 0.75]), 2.0).round(6).tolist()
    0.333333
    """
    return ternary_chi(first, second, second, order)


def ternary_chi(first: FloatArray, second: FloatArray, third: FloatArray, order: float) -> FloatArray:
    """Return the mean under a third law r of (the absolute value of p - q, over r) to a power of at least 1.

    Examples
    --------
    >>> half = np.log([0.5, 0.5])
    >>> ternary_chi(np.log([0.6, 0.4]), np.log([0.4, 0.6]), half, 1.0).round(6).tolist()
    0.4
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        high, gap = np.maximum(first, second), np.abs(losses(first, second))
        apart = np.where(np.isneginf(high), -np.inf, high + np.log(-np.expm1(-gap)))
        logs = np.where(np.isneginf(apart), -np.inf, order * apart - (order - 1) * third if order != 1 else apart)
        return np.sum(np.exp(logs), axis=-1)


def f_divergence(
    first: FloatArray, second: FloatArray, function: Callable[[FloatArray], FloatArray], slope: float
) -> FloatArray:
    """Return the mean under the second law of a convex function of p / q; `slope` is its last slope, at infinity.

    Examples
    --------
    >>> f_divergence(np.log([0.5, 0.5]), np.log([0.25, 0.75]), lambda r: abs(r - 1) / 2, 0.5).round(12).tolist()
    0.25
    """
    loss, q = losses(first, second), np.exp(second)
    seen = ~np.isneginf(second)
    with np.errstate(over="ignore"):
        ratio = np.exp(np.where(seen, loss, 0.0))
    values = function(ratio)
    beyond = np.where(seen, 0.0, np.exp(first))
    lost = np.sum(beyond, axis=-1)
    return np.sum(np.where(seen, q * values, 0.0), axis=-1) + np.where(lost > 0, slope * np.where(lost > 0, lost, 1), 0)


# --------------------------------------------------------------------------------------------------
# Two laws of what is released, as finitely many sets of outputs with bounds of the privacy loss on each.
#
# docs/claims/curves.md: of any divergence that no function of the output raises, the pair of the sets' masses gives a
# lower bound, and the pair with the mass of every set parted between its two ends gives an upper bound.
# --------------------------------------------------------------------------------------------------

MOST_AT_ONCE = 2**21
"""Powers times outputs whose moments are worked out at once."""


class Tail(Protocol):
    """Outputs beyond all cells, on which the loss is not bounded; their masses count as cells too."""

    def log_moment(self, powers: FloatArray, *, up: bool) -> FloatArray:
        """Return bounds of the log of the mean of exp(power times the loss) on them, under the first law."""
        ...


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
