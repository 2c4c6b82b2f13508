"""The privacy loss of two laws of an answer, as a random variable, in every view that the literature has of it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple, final

import numpy as np

from bnpriv import checks
from bnpriv.bound import Bound, FloatArray, Kind, weakest
from bnpriv.divergences import views
from bnpriv.divergences.cells import LossCells
from bnpriv.divergences.information import information, largest_information
from bnpriv.divergences.orders import least_deviation, least_rho
from bnpriv.divergences.tails import beyond_orders, moments_beyond, near_zero, without_largest
from bnpriv.divergences.with_noise import laplace_cells, line_pair, loss_cells
from bnpriv.errors import ParameterError
from bnpriv.laws import Atoms
from bnpriv.noise import Gaussian, Laplace, NoNoise

ORDER_PRECISION, GRID_PRECISION = 1e-6, 1e-3
"""Relative gap of the two ends of a largest value over orders: for single outputs, and for sets of them."""

TAIL_POWERS = np.array([0.01, 0.1, 1.0])
"""Powers z for which the mean of the loss on a tail is at most the mean of exp(z loss) / z."""

LEAST_POWER = 1e-3
"""Power that stands for 0 on tails."""

LOG_TWO = math.log(2)


class MeanConcentrated(NamedTuple):
    """The mean of the privacy loss, and the least t for which it is t-subgaussian about that mean."""

    mean: Bound
    deviation: Bound


@final
@dataclass(frozen=True, eq=False)
class PrivacyLoss:
    """The privacy loss L = log(p / q) of two laws of an answer with noise, random under the first of them.

    Parameters
    ----------
    first, second : Atoms
        The laws of the exact answer under two secrets; on the line where there is noise.
    noise : Noise or Channel, optional
        Laplace, Gaussian or whole-number noise, or a channel; none by default.
    kind : {"exact", "certified", "estimate"}
        How well the two laws are known.

    Raises
    ------
    LawError, RefusedError, SizeError
        When a view is asked for, if it cannot be worked out for these laws with this noise.

    Notes
    -----
    docs/claims/curves.md. Every view is a `Bound`, for this order of the two laws; `reversed` is the other order.

    Examples
    --------
    >>> from bnpriv.laws import Atoms
    >>> from bnpriv.noise import Laplace
    >>> loss = PrivacyLoss(Atoms([0], [1.0]), Atoms([1], [1.0]), Laplace(2.0))
    >>> [round(float(view), 6) for view in (loss.epsilon, loss.delta(0.25), loss.total_variation)]
    [0.5, 0.117503, 0.221199]
    """

    first: Atoms
    second: Atoms
    noise: object = field(default_factory=NoNoise)
    kind: Kind = "exact"

    @property
    def reversed(self) -> PrivacyLoss:
        """Return the loss of the second law against the first."""
        return PrivacyLoss(self.second, self.first, self.noise, self.kind)

    @cached_property
    def cells(self) -> LossCells:
        """Return the sets of outputs by which the views are worked out."""
        return loss_cells(self.noise, self.first, self.second)

    # --- the largest loss, and what is left of it where rare outputs do not count ------------------------------------

    @property
    def epsilon(self) -> Bound:
        """Return the largest loss; at least 0."""
        cells = self._cut()
        inside = views.losses(*cells.inner)
        low = max(float(np.max(inside - 2 * cells.error)), float(np.max(cells.least)), 0.0)
        return self._exactly(low, max(float(np.max(cells.most)), low))

    def delta(self, epsilon: float) -> Bound:
        """Return the least delta for which the first law is at most exp(epsilon) times the second, plus delta."""
        level = _level(epsilon)
        low, high = self._ends(lambda p, q: views.hockey_stick(p, q, level), self._cut(level))
        return self._exactly(low, min(high, 1.0))

    def epsilon_at(self, delta: float) -> Bound:
        """Return the least epsilon of at least 0 that holds with a delta."""
        share = _share(delta)
        if share in (0, 1):
            return self.epsilon if share == 0 else self._exactly(0.0, 0.0)
        return self._bound(*self._ends(lambda p, q: views.least_epsilon(p, q, share), self.cells))

    def exceeds(self, epsilon: float) -> Bound:
        """Return the probability of a loss above epsilon: the delta of probabilistic privacy."""
        level = _level(epsilon)
        cells = self._cut(level)
        masses = np.exp(cells.first)
        surely, perhaps = (float(np.sum(masses[ends > level])) for ends in (cells.least, cells.most))
        return self._exactly(surely * (1 - cells.rounding), min(1.0, perhaps * (1 + cells.rounding)))

    def cdf(self, loss: float) -> Bound:
        """Return the probability of a loss of at most so much, which may be below 0."""
        above = self.exceeds(loss)
        cells = self._cut(loss)
        masses = np.exp(cells.first)
        surely, perhaps = (float(np.sum(masses[ends <= loss])) for ends in (cells.most, cells.least))
        low, high = surely * (1 - cells.rounding), min(1.0, perhaps * (1 + cells.rounding))
        return self._exactly(max(low, 1 - above.upper), max(min(high, 1 - above.lower), low))

    def probable_epsilon(self, delta: float) -> Bound:
        """Return the least epsilon of at least 0 that the loss exceeds with probability at most delta."""
        share, cells = _share(delta), self.cells
        ends = ((cells.least, share * (1 + cells.rounding)), (cells.most, share * (1 - cells.rounding)))
        low, high = (float(views.least_exceeded(loss, np.exp(cells.first), rest)) for loss, rest in ends)
        return self._bound(low, max(low, high))

    def relaxed(self, epsilon: float, set_aside: float) -> Bound:
        """Return the least delta at epsilon of what is left outside an event of some probability.

        Parameters
        ----------
        epsilon : float
        set_aside : float
            Largest probability of the event under the first law.
        """
        share, whole = _share(set_aside), self.delta(epsilon)
        cells = self._cut(_level(epsilon))
        order = np.argsort(-cells.most, kind="stable")
        masses, most = np.exp(cells.first[order]) * (1 + cells.rounding), cells.most[order]
        with np.errstate(over="ignore"):
            worth = -np.expm1(-np.maximum(most - epsilon, 0.0))
        before = np.cumsum(masses) - masses
        taken = float(np.sum(np.clip(share - before, 0.0, masses) * worth))
        kept = np.cumsum(masses) > share
        rest = LossCells(
            low=cells.low[order][kept],
            high=cells.high[order][kept],
            first=cells.first[order][kept],
            second=cells.second[order][kept],
            error=cells.error,
        )
        _, high = self._ends(lambda p, q: views.hockey_stick(p, q, epsilon), rest) if kept.any() else (0.0, 0.0)
        low = max(0.0, whole.lower - taken)
        return Bound(low, max(low, min(high, whole.upper)), weakest(("certified", self.kind)))

    # --- means ------------------------------------------------------------------------------------------------------

    @property
    def kullback_leibler(self) -> Bound:
        """Return the mean loss."""
        cells = self.cells
        low, high = (float(views.kullback_leibler(*pair)) for pair in (cells.inner, cells.parted))
        for tail in cells.tails:
            high += float(np.min(np.exp(tail.log_moment(TAIL_POWERS, up=True)) / TAIL_POWERS))
        high += cells.beyond
        slack = self._slack(high)
        return self._bound(max(0.0, low - slack), high + slack)

    def renyi(self, order: float) -> Bound:
        """Return the Renyi divergence of an order above 0; the mean loss at 1, the largest loss at infinity."""
        order = _number("order", order, above=0.0)
        if order == 1:
            return self.kullback_leibler
        if math.isinf(order):
            return self.epsilon
        powers = np.array([order - 1])
        low, high = (float(self._moments(powers, up=up)[0]) / (order - 1) for up in (False, True))
        low, high = (low, high) if order > 1 else (high, low)
        return self._bound(max(0.0, low), max(0.0, high))

    @property
    def total_variation(self) -> Bound:
        """Return the total variation of the two laws."""
        return self.delta(0.0)

    def chi(self, order: float) -> Bound:
        """Return the mean under the second law of the absolute value of p / q - 1 to a power of at least 1."""
        order, cells = _number("order", order, above=1.0, equal=True), self.cells
        low, high = (float(views.chi(*pair, order)) for pair in (cells.inner, cells.parted))
        for tail in cells.tails:
            high += math.exp(min(700.0, float(tail.log_moment(np.array([max(order - 1, LEAST_POWER)]), up=True)[0])))
        high += cells.beyond
        # the root is a norm of p / q - 1, so that errors of masses add to it
        x = 4 * cells.rounding
        low, high = max(0.0, low ** (1 / order) * (1 - x) - x), high ** (1 / order) * (1 + x) + x
        return self._bound(low**order * (1 - x), high**order * (1 + x))

    def f_divergence(self, function: Callable[[FloatArray], FloatArray], slope: float = math.inf) -> Bound:
        """Return the mean under the second law of a convex function of p / q that is 0 at 1.

        Parameters
        ----------
        function : callable
            From an array of numbers of at least 0 to one of the same shape.
        slope : float
            Its slope at infinity, for outputs that the second law never gives; infinite by default.
        """
        x = 4 * self.cells.rounding
        low, high = (float(views.f_divergence(*pair, function, slope)) for pair in (self.cells.inner, self.cells.outer))
        return self._bound(
            *(end + sign * x * (1 + abs(end)) if math.isfinite(end) else end for end, sign in ((low, -1), (high, 1)))
        )

    def mutual_information(self, prior: float | None = None) -> Bound:
        """Return what an output tells of which of the two laws it came from, in nats.

        Parameters
        ----------
        prior : float, optional
            Probability of the first law; by default the prior for which the output tells most.
        """
        if prior is None:
            low = float(largest_information(*self.cells.inner)[0])
            high = float(largest_information(*self.cells.outer)[1])
        else:
            weight = _share(prior)
            low, high = (float(information(*pair, weight)) for pair in (self.cells.inner, self.cells.outer))
        slack = self._slack(high)
        return self._bound(max(0.0, low - slack), min(LOG_TWO * (1 + 2.0**-50), high + slack))

    # --- concentrated around its mean --------------------------------------------------------------------------------

    def zero_concentrated(self, xi: float = 0.0, *, largest_order: float = math.inf, set_aside: float = 0.0) -> Bound:
        """Return the least rho with Renyi divergences of at most xi + rho times the order.

        Parameters
        ----------
        xi : float
            At least 0.
        largest_order : float
            Above 1: up to which order that must hold. All orders by default; otherwise the bound is called bounded, or
            truncated if xi is 0.
        set_aside : float
            Probability of the outputs that need not count, under either law (approximately zero-concentrated). Then
            the outputs with the largest losses are left out, and the upper end alone says something.
        """
        xi = _number("xi", xi, above=0.0, equal=True)
        largest_order = _number("the largest order", largest_order, above=1.0)
        precision = ORDER_PRECISION if self.cells.points else GRID_PRECISION
        share = _share(set_aside)
        if share > 0:
            return self._approximately(xi, largest_order, share)
        low, high = least_rho(
            lambda powers: self._moments(powers, up=False),
            lambda powers: self._moments(powers, up=True),
            xi,
            largest_order,
            lambda order: beyond_orders(self.cells, (self.first, self.second), self._deviation, order),
            precision,
        )
        return self._bound(low, max(low, high))

    def capped(self, xi: float) -> Bound:
        """Return the least rho with Renyi divergences of at most xi, and of at most rho times the order."""
        if self.epsilon.lower > _number("xi", xi, above=0.0, equal=True):
            return self._bound(math.inf, math.inf)
        rho = self.zero_concentrated()
        return rho if self.epsilon.upper <= xi else Bound(rho.lower, math.inf, rho.kind)

    def _approximately(self, xi: float, largest_order: float, share: float) -> Bound:
        cells = without_largest(self.cells, share)
        x = cells.rounding

        def moments(powers: FloatArray) -> FloatArray:
            return cells.moments(powers, up=True) + x * (1 + 2 * powers)

        laws = (self.first, self.second)
        found = least_rho(
            moments,
            moments,
            xi,
            largest_order,
            lambda order: beyond_orders(cells, laws, None, order),
            GRID_PRECISION,
        )
        return Bound(0.0, found[1], weakest(("certified", self.kind)))

    @property
    def mean_concentrated(self) -> MeanConcentrated:
        """Return the mean of the loss, and the least t for which the loss less its mean is t-subgaussian."""
        mean = self.kullback_leibler
        if not math.isfinite(mean.upper):
            return MeanConcentrated(mean, self._bound(math.inf, math.inf))
        low, high = least_deviation(
            lambda powers: self._moments(powers, up=False),
            lambda powers: self._moments(powers, up=True),
            (mean.lower, mean.upper),
            near_zero(self.cells, mean),
            lambda power: moments_beyond(self.cells, (self.first, self.second), self._deviation, power),
            ORDER_PRECISION if self.cells.points else GRID_PRECISION,
        )
        return MeanConcentrated(mean, self._bound(low, max(low, high)))

    # --- arithmetic -------------------------------------------------------------------------------------------------

    @property
    def _deviation(self) -> float | None:
        """Return the standard deviation of Gaussian noise, None for other noise."""
        return self.noise.scales[0] if isinstance(self.noise, Gaussian) else None

    def _cut(self, level: float | None = None) -> LossCells:
        """Return the cells; with Laplace noise cut where the loss passes a level, which then is no source of error."""
        if not isinstance(self.noise, Laplace):
            return self.cells
        pair, scale = line_pair(self.first, self.second), self.noise.scales[0]
        bare = laplace_cells(pair, scale, ())
        if level is None or not math.isfinite(level):
            return bare
        room = 4 * bare.error
        return laplace_cells(pair, scale, (level - room, level + room))

    def _ends(self, view: Callable[[FloatArray, FloatArray], FloatArray], cells: LossCells) -> tuple[float, float]:
        """Return both ends of a view that grows with the first masses and falls with the second."""
        x = cells.rounding
        (p, q), (u, v) = cells.inner, cells.outer
        low, high = float(view(p - x, q + x)), float(view(u + x, v - x))
        return low, max(low, high)

    def _moments(self, powers: FloatArray, *, up: bool) -> FloatArray:
        """Return bounds of log moments, with the error of masses: little of the moment where that is near 0."""
        cells, sign = self.cells, 1.0 if up else -1.0
        sizes, x = np.abs(powers), cells.rounding
        error = x * np.minimum(1 + 2 * sizes, 6 * sizes * (1 + sizes) * cells.largest_size) + 4 * x * x * sizes
        return cells.moments(powers, up=up) + sign * error

    def _slack(self, value: float) -> float:
        """Return what errors of masses can change a mean of logs by."""
        x = self.cells.rounding
        far = self.delta(0.0).upper
        return 2 * x * (value + 2 * far) + 4 * x * x if math.isfinite(value) else 0.0

    def _bound(self, low: float, high: float) -> Bound:
        """Return what holds exactly for single outputs, and as the two ends of a quadrature for sets of them."""
        return Bound(low, high, weakest(("exact" if self.cells.points else "certified", self.kind)))

    def _exactly(self, low: float, high: float) -> Bound:
        """Return what is exact with Laplace noise too."""
        exact = isinstance(self.noise, Laplace)
        return Bound(low, high, self.kind) if exact else self._bound(low, high)


def _level(epsilon: float) -> float:
    return _number("epsilon", epsilon, above=-math.inf)


def _share(value: float) -> float:
    found = _number("a probability", value, above=0.0, equal=True)
    if not found <= 1:
        raise ParameterError("a probability is at most 1", found=f"{found:g}", remedy="Pass a number from 0 to 1.")
    return found


def _number(what: str, value: float, *, above: float, equal: bool = False) -> float:
    """Return a number that may be infinite; raise ParameterError for one out of range."""
    required = f"{what} must be a number {'of at least' if equal else 'above'} {above:g}"
    remedy = "Pass a number in that range."
    if isinstance(value, bool) or not isinstance(value, (int, float, np.floating, np.integer)):
        raise ParameterError(required, found=checks.type_text(value), remedy=remedy)
    if not (value > above or (equal and value == above)):
        raise ParameterError(required, found=f"{value:g}", remedy=remedy)
    return float(value)
