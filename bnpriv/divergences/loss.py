"""The privacy loss of two laws of an answer, as a random variable, in every view that the literature has of it."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, final

import numpy as np

from bnpriv.bound import UNIT_ROUNDOFF, Bound, FloatArray, Kind, weakest
from bnpriv.divergences import views
from bnpriv.divergences.arguments import level_of, number_of, share_of
from bnpriv.divergences.cells import LossCells
from bnpriv.divergences.gaussian_moments import log_moment_bounds
from bnpriv.divergences.information import information, largest_information
from bnpriv.divergences.orders import least_deviation, least_rho
from bnpriv.divergences.shown_views import loss_document, plot_steps, steps_of
from bnpriv.divergences.tails import beyond_orders, moments_beyond, near_zero, with_error, without_largest
from bnpriv.divergences.with_noise import LaplaceSums, laplace_cells, line_pair, loss_cells
from bnpriv.laws.atoms import Atoms
from bnpriv.laws.base import magnitude
from bnpriv.noise.continuous import Gaussian, Laplace, NoNoise
from bnpriv.render.document import Document
from bnpriv.render.shown import Shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ORDER_PRECISION, GRID_PRECISION = 1e-6, 1e-3
"""Relative gap of the two ends of a largest value over orders: for single outputs, and for sets of them."""

TAIL_POWERS = np.array([0.01, 0.1, 1.0])
"""Powers z for which the mean of the loss on a tail is at most the mean of exp(z loss) / z."""

PARTS_SET_ASIDE = (1.0, 0.5, 0.25)
"""Parts of what may be set aside that are tried: with less of it, what is left is less likely to be told apart."""

LOG_TWO = math.log(2)


class MeanConcentrated(NamedTuple):
    """The mean of the privacy loss, and the least t for which it is t-subgaussian about that mean."""

    mean: Bound
    deviation: Bound


@final
@dataclass(frozen=True, eq=False, repr=False)
class PrivacyLoss(Shown):
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
        sums = self._laplace
        if sums is not None:  # the largest loss is that at an atom
            losses, error = sums.losses, sums.losses_error
            low, high = float(np.max(losses)) - error, float(np.max(losses)) + error
        else:
            cells = self.cells
            inside = views.losses(*cells.inner) - 2 * cells.error
            low, high = max(float(np.max(inside)), float(np.max(cells.least))), float(np.max(cells.most))
        return self._exactly(max(low, 0.0), max(low, high, 0.0))

    def delta(self, epsilon: float) -> Bound:
        """Return the least delta for which the first law is at most exp(epsilon) times the second, plus delta."""
        level = level_of(epsilon)
        if level >= self.epsilon.upper:
            return self._exactly(0.0, 0.0)
        low, high = self._ends(lambda p, q: views.hockey_stick(p, q, level), self._cut(level))
        return self._exactly(low, min(high, 1.0))

    def epsilon_at(self, delta: float) -> Bound:
        """Return the least epsilon of at least 0 that holds with a delta."""
        share = share_of(delta)
        if share in (0, 1):
            return self.epsilon if share == 0 else self._exactly(0.0, 0.0)
        cells = self.cells
        # logs of sums that grow output by output round by their size at every one of them
        size = max(-math.log(share), *(magnitude(logs) for logs in cells.inner))
        cells = replace(cells, error=cells.error + UNIT_ROUNDOFF * cells.first.size * size)
        return self._bound(*self._ends(lambda p, q: views.least_epsilon(p, q, share), cells))

    def exceeds(self, epsilon: float) -> Bound:
        """The probability of a loss above epsilon: the delta of probabilistic privacy (Meiser, Mohammadi, CCS 2018)."""
        level = level_of(epsilon)
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
        """The least epsilon of at least 0 that the loss exceeds with probability at most delta.

        It implies (epsilon, delta)-closeness, and not the other way round: see `conversions.probable_delta`.
        """
        share, cells = share_of(delta), self.cells
        ends = ((cells.least, share * (1 + cells.rounding)), (cells.most, share * (1 - cells.rounding)))
        low, high = (float(views.least_exceeded(loss, np.exp(cells.first), rest)) for loss, rest in ends)
        return self._bound(low, max(low, high))

    def relaxed(self, epsilon: float, set_aside: float) -> Bound:
        """The least delta at epsilon of what is left outside an event of some probability.

        It implies (epsilon, set_aside + delta)-closeness. No event takes more than the outputs of the largest losses.

        Parameters
        ----------
        epsilon : float
        set_aside : float
            Largest probability of the event under the first law.
        """
        share, whole = share_of(set_aside), self.delta(epsilon)
        cells = self._cut(level_of(epsilon))
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
        if isinstance(self.noise, Gaussian):
            return self._integrated(self.noise, 0.0)
        return self._mean_by_cells

    @property
    def _mean_by_cells(self) -> Bound:
        """Return the mean loss as far as cells tell it: what the spread by cells is measured from."""
        cells = self.cells
        low, high = (float(views.kullback_leibler(*pair)) for pair in (cells.inner, cells.parted))
        for tail in cells.tails:
            high += float(np.min(np.exp(tail.log_moment(TAIL_POWERS, up=True)) / TAIL_POWERS))
        high += cells.beyond[1]
        slack = self._slack(high)
        return self._bound(max(0.0, low - slack), high + slack)

    def renyi(self, order: float) -> Bound:
        """Return the Renyi divergence of an order above 0; the mean loss at 1, the largest loss at infinity."""
        order = number_of("order", order, above=0.0)
        if order == 1:
            return self.kullback_leibler
        if math.isinf(order):
            return self.epsilon
        if isinstance(self.noise, Gaussian):
            return self._integrated(self.noise, order - 1)
        powers = np.array([order - 1])
        low, high = (float(with_error(self.cells, powers, up=up)[0]) / (order - 1) for up in (False, True))
        low, high = (low, high) if order > 1 else (high, low)
        return self._bound(max(0.0, low), max(0.0, high))

    def _integrated(self, noise: Gaussian, power: float) -> Bound:
        """Return the Renyi divergence of the order 1 + power by a quadrature of its own, which no cells bound."""
        line_pair(self.first, self.second)
        ends = log_moment_bounds(self.first, self.second, noise.scales[0], power)
        low, high = sorted(end / (power or 1.0) for end in ends)
        return Bound(max(0.0, low), max(0.0, high), weakest(("certified", self.kind)))

    @property
    def total_variation(self) -> Bound:
        """Return the total variation of the two laws."""
        return self.delta(0.0)

    def chi(self, order: float) -> Bound:
        """The mean under the second law of the absolute value of p / q - 1 to a power of at least 1: the binary chi."""
        order, cells = number_of("order", order, above=1.0, equal=True), self.cells
        low, high = (float(views.chi(*pair, order)) for pair in (cells.inner, cells.parted))
        if not np.isposinf(views.losses(*cells.inner)).any():
            low = min(low, sys.float_info.max)
        # on tails a power of the size of r - 1 is at most 1 + that power of r
        for tail in cells.tails if order > 1 else ():
            high += math.exp(min(700.0, float(tail.log_moment(np.array([order - 1]), up=True)[0])))
        high += sum(cells.beyond) if order == 1 else cells.beyond[1]
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
            weight = share_of(prior)
            low, high = (float(information(*pair, weight)) for pair in (self.cells.inner, self.cells.outer))
        slack = self._slack(high)
        return self._bound(max(0.0, low - slack), min(LOG_TWO * (1 + 2.0**-50), high + slack))

    # --- concentrated around its mean --------------------------------------------------------------------------------

    def zero_concentrated(self, xi: float = 0.0, *, largest_order: float = math.inf, set_aside: float = 0.0) -> Bound:
        """The least rho with Renyi divergences of at most xi + rho times the order (Bun, Steinke, TCC 2016).

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
        xi = number_of("xi", xi, above=0.0, equal=True)
        largest_order = number_of("the largest order", largest_order, above=1.0)
        share, cells = share_of(set_aside), self.cells
        if share > 0:
            kept = [without_largest(cells, part * share) for part in PARTS_SET_ASIDE]
            most = min(self._least_rho(each, xi, largest_order)[1] for each in (cells, *kept))
            return Bound(0.0, most, weakest(("certified", self.kind)))
        low, high = self._least_rho(cells, xi, largest_order)
        return self._bound(low, max(low, high))

    def capped(self, xi: float) -> Bound:
        """The least rho with Renyi divergences of at most xi, and of at most rho times the order (Colisson, 2016).

        Renyi divergences grow with the order up to epsilon, so that none serves where epsilon is above xi.
        """
        if self.epsilon.lower > number_of("xi", xi, above=0.0, equal=True):
            return self._bound(math.inf, math.inf)
        rho = self.zero_concentrated()
        return rho if self.epsilon.upper <= xi else Bound(rho.lower, math.inf, rho.kind)

    def _least_rho(self, cells: LossCells, xi: float, largest_order: float) -> tuple[float, float]:
        deviation = self._deviation if cells.tails else None
        return least_rho(
            lambda powers: with_error(cells, powers, up=False),
            lambda powers: with_error(cells, powers, up=True),
            xi,
            largest_order,
            lambda order: beyond_orders(cells, (self.first, self.second), deviation, xi, order),
            ORDER_PRECISION if cells.points else GRID_PRECISION,
        )

    @property
    def mean_concentrated(self) -> MeanConcentrated:
        """The mean of the loss, and the least t for which the loss less its mean is t-subgaussian.

        Dwork, Rothblum (2016): E exp(z (L - m)) is at most exp(z^2 t^2/2) for all z.
        """
        mean = self._mean_by_cells
        if not math.isfinite(mean.upper):
            return MeanConcentrated(mean, self._bound(math.inf, math.inf))
        low, high = least_deviation(
            lambda powers: with_error(self.cells, powers, up=False),
            lambda powers: with_error(self.cells, powers, up=True),
            (mean.lower, mean.upper),
            near_zero(self.cells, mean),
            lambda power: moments_beyond(self.cells, (self.first, self.second), self._deviation, power),
            ORDER_PRECISION if self.cells.points else GRID_PRECISION,
        )
        return MeanConcentrated(self.kullback_leibler, self._bound(low, max(low, high)))

    # --- arithmetic -------------------------------------------------------------------------------------------------

    @property
    def steps(self) -> list[tuple[float, float]]:
        """Return the corners of the distribution function that is drawn: each set of outputs at its largest loss."""
        cells = self.cells
        return steps_of(cells.most, np.exp(cells.first), joined=not cells.points)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the distribution function of the loss.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        matplotlib axes

        Raises
        ------
        MissingExtraError
            If matplotlib is not installed.
        """
        return plot_steps(ax, self.steps)

    @property
    def document(self) -> Document:
        """Return the drawing of the distribution function, and the best known views."""
        return loss_document(self, self.steps)

    @property
    def _deviation(self) -> float | None:
        """Return the standard deviation of Gaussian noise, None for other noise."""
        return self.noise.scales[0] if isinstance(self.noise, Gaussian) else None

    @cached_property
    def _laplace(self) -> LaplaceSums | None:
        """Return what the laws weigh with Laplace noise, whatever is asked of it; None for other noise."""
        if not isinstance(self.noise, Laplace):
            return None
        return LaplaceSums.of(line_pair(self.first, self.second), self.noise.scales[0])

    def _cut(self, level: float) -> LossCells:
        """Return the cells; with Laplace noise cut where the loss passes a level, which then is no source of error."""
        sums = self._laplace
        if sums is None:
            return self.cells
        room = 4 * sums.error
        return laplace_cells(sums, (level - room, level + room) if math.isfinite(level) else ())

    def _ends(self, view: Callable[[FloatArray, FloatArray], FloatArray], cells: LossCells) -> tuple[float, float]:
        """Return both ends of a view that grows with the first masses and falls with the second."""
        x = cells.rounding
        (p, q), (u, v) = cells.inner, cells.outer
        low, high = float(view(p - x, q + x)), float(view(u + x, v - x))
        return low, max(low, high)

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

    def __repr__(self) -> str:
        return f"PrivacyLoss({self.first}, {self.second}, {self.noise})"
