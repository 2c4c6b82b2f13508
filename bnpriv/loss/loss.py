"""The privacy loss of two laws of an answer, as a random variable, in every view that the literature uses."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from bnpriv.bound import UNIT_ROUNDOFF, Bound, FloatArray, Kind, weakest
from bnpriv.core.distributions import Atoms, magnitude
from bnpriv.core.noise import Gaussian, Laplace, NoNoise
from bnpriv.errors import ParameterError
from bnpriv.loss import moments, views
from bnpriv.loss.views import LossCells, kullback_leibler, level_of, number_of, share_of
from bnpriv.render.document import Document, Figure, Section, Table, json_number
from bnpriv.render.figures import axes, line_chart, share_chart
from bnpriv.render.html import scroller
from bnpriv.shown import Shown
from bnpriv.text import Json, by_times, number_text, upper_chance, upper_percent, upper_text, visible

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# --------------------------------------------------------------------------------------------------
# What an answer tells of which of several laws it came from, in nats: for one prior, and for the worst one.
# --------------------------------------------------------------------------------------------------

PRIOR_ROUNDS = 18
"""In the search for the prior at which both laws are equally far from their mixture."""

MOST_CAPACITY_ROUNDS = 3000
"""Of Blahut-Arimoto."""

INFORMATION_GAP = 1e-6
"""Rounds end when the two bounds differ by no more than this share of the upper one."""


def information(first: FloatArray, second: FloatArray, prior: float | FloatArray) -> FloatArray:
    """Return the mutual information of an output and the choice between two laws.

    Parameters
    ----------
    first, second : ndarray of shape (..., K)
        Log masses.
    prior : float or ndarray of shape (...,)
        Probability of the first law.

    Returns
    -------
    ndarray of shape (...,)
        In nats, at most log 2.

    Examples
    --------
    >>> information(np.log([1.0, 1e-300]), np.log([1e-300, 1.0]), 0.5).round(6).tolist()
    0.693147
    """
    prior = np.asarray(prior, dtype=np.float64)
    to_first, to_second = _distances(first, second, prior)
    with np.errstate(invalid="ignore"):
        return np.where(prior > 0, prior * to_first, 0.0) + np.where(prior < 1, (1 - prior) * to_second, 0.0)


def largest_information(first: FloatArray, second: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return a lower and an upper bound of the mutual information over all priors.

    Notes
    -----
    docs/claims/curves.md: both laws are equally far from the mixture of the worst prior.

    Examples
    --------
    >>> low, high = largest_information(np.log([0.75, 0.25]), np.log([0.25, 0.75]))
    >>> round(float(low), 6), round(float(high), 6)
    (0.130812, 0.130812)
    """
    shape = np.broadcast_shapes(first.shape, second.shape)[:-1]
    low, high = np.zeros(shape), np.ones(shape)
    ends = [np.subtract(*_distances(first, second, end)) for end in (low, high)]
    last, best, nearest = np.zeros(shape), np.full(shape, 0.5), np.full(shape, np.inf)
    for _ in range(PRIOR_ROUNDS):
        with np.errstate(invalid="ignore", divide="ignore"):
            prior = (low * ends[1] - high * ends[0]) / (ends[1] - ends[0])
        # false position; a half where an end is infinitely far
        prior = np.where(np.isfinite(prior) & (prior > low) & (prior < high), prior, (low + high) / 2)
        to_first, to_second = _distances(first, second, prior)
        apart = to_first - to_second
        nearer = np.abs(apart) < nearest
        best, nearest = np.where(nearer, prior, best), np.where(nearer, np.abs(apart), nearest)
        # what is left between the bounds is at most this, and no more than rounding
        if np.all(nearest <= UNIT_ROUNDOFF * np.minimum(to_first, to_second)):
            break
        side = np.where(apart > 0, 1.0, -1.0)
        # an end that stays for a second time counts half as much
        weight = np.where(side == last, 0.5, 1.0)
        low, high = np.where(side > 0, prior, low), np.where(side > 0, high, prior)
        ends = [np.where(side > 0, apart, ends[0] * weight), np.where(side > 0, ends[1] * weight, apart)]
        last = side
    return information(first, second, best), np.maximum(*_distances(first, second, best))


def capacity(logs: FloatArray) -> tuple[float, float]:
    """Return a lower and an upper bound of the information of an output on which of many laws it came from.

    Parameters
    ----------
    logs : ndarray of shape (laws, K)
        Log masses.

    Returns
    -------
    (float, float)
        Over all priors on the laws, in nats.

    Notes
    -----
    Blahut (1972), Arimoto (1972). The step is made longer while that helps, which changes neither bound.

    Examples
    --------
    >>> low, high = capacity(np.log([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]]))
    >>> round(low, 6), round(high, 6)
    (0.45958, 0.45958)
    """
    weights = np.full(len(logs), -np.log(len(logs)))
    step, best, least = 1.0, 0.0, np.inf
    kept = weights
    for _ in range(MOST_CAPACITY_ROUNDS):
        mixture = np.logaddexp.reduce(logs + weights[:, None], axis=0)
        far = kullback_leibler(logs, mixture[None, :])
        reached = float(np.exp(weights) @ far)
        least = min(least, float(far.max()))
        if reached >= best:
            best, kept, step = reached, weights, 1.5 * step
        else:  # too long a step: back to where it was best
            weights, step = kept, 1.0
            mixture = np.logaddexp.reduce(logs + weights[:, None], axis=0)
            far = kullback_leibler(logs, mixture[None, :])
        if least - best <= INFORMATION_GAP * least:
            break
        weights = weights + step * (far - far.max())
        weights = weights - np.logaddexp.reduce(weights)
    return min(best, least), least


def _distances(first: FloatArray, second: FloatArray, prior: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return how far each law is from their mixture."""
    with np.errstate(divide="ignore"):
        mixture = np.logaddexp(first + np.log(prior)[..., None], second + np.log1p(-prior)[..., None])
    return kullback_leibler(first, mixture), kullback_leibler(second, mixture)


# --------------------------------------------------------------------------------------------------
# What a privacy loss and a privacy curve say: a table of views, and the drawings.
# --------------------------------------------------------------------------------------------------

CURVE_STEPS = 60
"""Points of a drawn curve."""

MOST_CORNERS = 200
"""Corners of a drawn distribution function that is joined by straight lines."""

LEAST_DRAWN = 1e-9
"""The curve of an unbounded loss is drawn down to this delta."""

NO_LOSS = 1e-9
"""A smaller loss is what rounding leaves of none."""

FARTHEST_DRAWN = 100.0
"""Largest epsilon that is drawn."""


Views: TypeAlias = "PrivacyLoss | PrivacyCurve"
"""What has every view of a privacy loss, each with an upper bound."""


def views_table(views: Views, caption: str) -> Table:
    """Return one line for each of the best known views."""
    rows = [
        ("largest loss (epsilon)", _nats(views.epsilon), "odds move by at most exp(epsilon) times"),
        ("mean loss (Kullback-Leibler)", _nats(views.kullback_leibler), "how far the log odds move on average"),
        ("Renyi divergence of order 2", _nats(views.renyi(2.0)), "log of the mean factor on the odds"),
        (
            "total variation (delta at epsilon 0)",
            upper_chance(views.total_variation.upper),
            "at even odds a guess is right (1 + this) / 2 of the time",
        ),
        (
            "mutual information, worst prior",
            _nats(views.mutual_information()),
            "nats that are told of the secret; 0.693 is all",
        ),
    ]
    return Table(caption=caption, header=("view", "at most", "what it means"), rows=rows, numbers=(1,))


def views_data(views: Views) -> Json:
    """Return the same as plain values, with points of the curve."""
    return {
        "kind": views.epsilon.kind,
        "epsilon": json_number(views.epsilon.upper),
        "kullback_leibler": json_number(views.kullback_leibler.upper),
        "renyi_2": json_number(views.renyi(2.0).upper),
        "total_variation": views.total_variation.upper,
        "mutual_information": views.mutual_information().upper,
        "curve": [{"epsilon": epsilon, "delta": delta} for epsilon, delta in curve_points(views)],
    }


def curve_points(views: Views, epsilon: float = 0.0) -> list[tuple[float, float]]:
    """Return delta at epsilons from 0 to where it vanishes, or is very small; at least up to an epsilon of interest."""
    largest = views.epsilon.upper
    if math.isinf(largest):
        largest = min(FARTHEST_DRAWN, views.epsilon_at(LEAST_DRAWN).upper)
    end = _round(min(FARTHEST_DRAWN, max(largest, 1.2 * epsilon)) if largest >= NO_LOSS else 1.0)
    return [(end * k / CURVE_STEPS, views.delta(end * k / CURVE_STEPS).upper) for k in range(CURVE_STEPS + 1)]


CURVE_CAPTION = (
    "Delta at every epsilon: a set of answers that has probability p under one of two distributions has at most "
    "exp(epsilon) p + delta under the other"
)


def curve_figure(views: Views, *, asked: tuple[float, float] | None, title: str) -> Figure:
    """Return the drawing of delta over epsilon.

    Parameters
    ----------
    views : Views
    asked : (float, float) or None
        The epsilon and delta of a guarantee, which are marked.
    title : str
    """
    points = curve_points(views, 0.0 if asked is None else asked[0])
    end, start = points[-1][0], points[0][1]
    told, gone = views.epsilon.upper >= NO_LOSS, points[-1][1] == 0
    last = f"0 at {upper_text(views.epsilon.upper)}" if gone else f"{upper_chance(points[-1][1])} at {end:g}"
    words = f"delta falls from {upper_chance(start)} at epsilon 0 to {last}" if told else "delta is 0 at every epsilon"
    chart = line_chart(
        points,
        across="epsilon (nats)",
        up="delta",
        title=title,
        desc=f"{words[0].upper()}{words[1:]}.",
        marked=None if asked is None else (asked[0], f"asked: epsilon {asked[0]:g}"),
    )
    return Figure(scroller(chart, title), f"{CURVE_CAPTION}; {words}.", f"{CURVE_CAPTION}; {words}.")


def steps_of(losses: FloatArray, masses: FloatArray, *, joined: bool) -> list[tuple[float, float]]:
    """Return the corners of the distribution function of some losses; infinite ones are left out.

    Parameters
    ----------
    losses, masses : ndarray of shape (K,)
    joined : bool
        Whether neighbouring losses are joined by straight lines, as the losses between them occur too.

    Examples
    --------
    >>> steps_of(np.array([0.5, -0.5]), np.array([0.75, 0.25]), joined=False)
    [(-0.5, 0.0), (-0.5, 0.25), (0.5, 0.25), (0.5, 1.0)]
    """
    order = np.argsort(losses, kind="stable")
    below = np.cumsum(masses[order])
    seen = np.isfinite(losses[order])
    if not seen.any():
        return []
    ends, heights = losses[order][seen], below[seen]
    if joined and ends.size > MOST_CORNERS:
        kept = np.unique(
            np.searchsorted(heights, np.linspace(0, float(heights[-1]), MOST_CORNERS)).clip(0, ends.size - 1)
        )
        ends, heights = ends[kept], heights[kept]
    if joined:
        return list(zip(ends.tolist(), heights.tolist(), strict=True))
    last = np.concatenate([[below[0] - masses[order][0] if np.isneginf(losses[order][0]) else 0.0], heights[:-1]])
    rows = zip(ends.tolist(), last.tolist(), heights.tolist(), strict=True)
    return [corner for end, low, high in rows for corner in ((end, low), (end, high))]


def plot_curve(ax: Axes | None, views: Views, asked: tuple[float, float] | None) -> Axes:
    """Draw delta over epsilon."""
    drawn = axes(ax)
    points = curve_points(views, 0.0 if asked is None else asked[0])
    shown = [(epsilon, delta) for epsilon, delta in points if delta > 0]
    if shown:
        drawn.plot(*zip(*shown, strict=True))
        drawn.set_yscale("log")
    if asked is not None:
        drawn.axvline(asked[0], color="0.4", linestyle="--", label=f"asked: epsilon {asked[0]:g}")
        drawn.legend()
    drawn.set_xlim(0, points[-1][0])
    drawn.set_xlabel("epsilon (nats)")
    drawn.set_ylabel("delta")
    return drawn


def loss_document(views: Views, steps: Sequence[tuple[float, float]]) -> Document:
    """Return what is said of one privacy loss: its distribution function, and the best known views."""
    title = "The distribution of the privacy loss"
    figure: tuple[Figure, ...] = ()
    if len(steps) > 1 and steps[0][0] < steps[-1][0]:
        ends = steps[0][0], steps[-1][0]
        words = f"losses from {number_text(ends[0])} to {number_text(ends[1])} nats"
        chart = share_chart(
            steps, across="privacy loss (nats)", up="probability of at most so much", title=title, desc=words
        )
        figure = (Figure(scroller(chart, title), f"{title}: {words}.", f"{title}: {words}."),)
    return Document(
        kind="privacy loss",
        title=title,
        headline=loss_text(views.epsilon.upper),
        lead=(lead := f"For one pair of distributions, in one order; the numbers are {views.epsilon.kind}."),
        short=(lead, *short_views(views)),
        number=upper_text(views.epsilon.upper),
        answer=figure,
        sections=(_in_every_view(views, "The views of this loss"),),
        data=views_data(views),
    )


def short_views(views: Views) -> tuple[str, ...]:
    """What a guesser can reach, and what to do next: lines of what is printed."""
    right = upper_percent(min(1.0, 0.5 + views.delta(0.0).upper / 2))
    return (
        f"Whoever guesses at even odds which of two it is, from one answer, is right in at most {right} of the cases.",
        "Next: .explain() shows every view; .delta(epsilon) and .epsilon_at(delta) are numbers of the curve.",
    )


def _in_every_view(views: Views, caption: str) -> Section:
    return Section(title="In every view", blocks=(views_table(views, caption),), explained=True)


def _round(value: float) -> float:
    """Return a number of at least the value whose quarters are short."""
    unit = 10.0 ** math.floor(math.log10(value))
    return next(unit * step for step in (1, 1.2, 1.6, 2, 2.4, 3, 4, 5, 6, 8, 10) if unit * step >= value * (1 - 1e-9))


def _nats(bound: Bound) -> str:
    return "no bound" if math.isinf(bound.upper) else upper_text(bound.upper)


def loss_text(loss: float) -> str:
    """Return in words how large a privacy loss may be."""
    if loss < NO_LOSS:
        return "The privacy loss is 0, to within rounding"
    most = "has no bound" if math.isinf(loss) else f"is bounded: the odds move {by_times(loss)}"
    return f"The privacy loss {most}"


# --------------------------------------------------------------------------------------------------
# The privacy loss of two laws of an answer, as a random variable, in every view that the literature has of it.
# --------------------------------------------------------------------------------------------------

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
        return moments.loss_cells(self.noise, self.first, self.second)

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
        low, high = (float(moments.with_error(self.cells, powers, up=up)[0]) / (order - 1) for up in (False, True))
        low, high = (low, high) if order > 1 else (high, low)
        return self._bound(max(0.0, low), max(0.0, high))

    def _integrated(self, noise: Gaussian, power: float) -> Bound:
        """Return the Renyi divergence of the order 1 + power by a quadrature of its own, which no cells bound."""
        moments.line_pair(self.first, self.second)
        ends = moments.log_moment_bounds(self.first, self.second, noise.scales[0], power)
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
            kept = [moments.without_largest(cells, part * share) for part in PARTS_SET_ASIDE]
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
        return moments.least_rho(
            lambda powers: moments.with_error(cells, powers, up=False),
            lambda powers: moments.with_error(cells, powers, up=True),
            xi,
            largest_order,
            lambda order: moments.beyond_orders(cells, (self.first, self.second), deviation, xi, order),
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
        low, high = moments.least_deviation(
            lambda powers: moments.with_error(self.cells, powers, up=False),
            lambda powers: moments.with_error(self.cells, powers, up=True),
            (mean.lower, mean.upper),
            moments.near_zero(self.cells, mean),
            lambda power: moments.moments_beyond(self.cells, (self.first, self.second), self._deviation, power),
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
        # draw a distribution function of the privacy loss
        drawn = axes(ax)
        if self.steps:
            drawn.plot(*zip(*self.steps, strict=True))
        drawn.set_xlabel("privacy loss (nats)")
        drawn.set_ylabel("probability of at most so much")
        return drawn

    @property
    def document(self) -> Document:
        """Return the drawing of the distribution function, and the best known views."""
        return loss_document(self, self.steps)

    @property
    def _deviation(self) -> float | None:
        """Return the standard deviation of Gaussian noise, None for other noise."""
        return self.noise.scales[0] if isinstance(self.noise, Gaussian) else None

    @cached_property
    def _laplace(self) -> moments.LaplaceSums | None:
        """Return what the laws weigh with Laplace noise, whatever is asked of it; None for other noise."""
        if not isinstance(self.noise, Laplace):
            return None
        return moments.LaplaceSums.of(moments.line_pair(self.first, self.second), self.noise.scales[0])

    def _cut(self, level: float) -> LossCells:
        """Return the cells; with Laplace noise cut where the loss passes a level, which then is no source of error."""
        sums = self._laplace
        if sums is None:
            return self.cells
        room = 4 * sums.error
        return moments.laplace_cells(sums, (level - room, level + room) if math.isfinite(level) else ())

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


# --------------------------------------------------------------------------------------------------
# The privacy curve of several pairs of laws: the largest of each view over all pairs, in both directions.
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class PrivacyCurve(Shown):
    """The largest privacy loss of all pairs of laws that a guarantee is about, in every view; print it.

    Parameters
    ----------
    losses : sequence of PrivacyLoss
        One for each pair of laws and each order of the two, at least one.
    names : sequence of str, optional
        What each of them is, in words.
    asked : (float, float), optional
        The epsilon and delta of a guarantee, which drawings mark.

    Raises
    ------
    ParameterError
        If there is no loss.

    Notes
    -----
    docs/claims/curves.md.

    Examples
    --------
    >>> from bnpriv.laws import Atoms
    >>> from bnpriv.noise import Laplace
    >>> curve = PrivacyCurve.of([(Atoms([0], [1.0]), Atoms([1], [1.0]))], Laplace(2.0))
    >>> round(float(curve.epsilon), 6), round(float(curve.delta(0.25)), 6)
    (0.5, 0.117503)
    >>> round(float(curve.largest(lambda loss: loss.zero_concentrated())), 4)
    0.1065
    """

    losses: Sequence[PrivacyLoss]
    names: Sequence[str] = ()
    asked: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "losses", tuple(self.losses))
        if not self.losses:
            raise ParameterError(
                "a privacy curve needs a pair of distributions", found="none", remedy="Pass a pair of distributions."
            )

    @staticmethod
    def of(pairs: Sequence[tuple[Atoms, Atoms]], noise: object) -> PrivacyCurve:
        """Return the curve of pairs of laws of an answer with noise, in both directions.

        Parameters
        ----------
        pairs : sequence of (Atoms, Atoms)
        noise : Noise or Channel
        """
        both = [PrivacyLoss(first, second, noise) for first, second in pairs]
        return PrivacyCurve([one for loss in both for one in (loss, loss.reversed)])

    def largest(self, view: Callable[[PrivacyLoss], Bound]) -> Bound:
        """Return the largest value of a view over all pairs and directions."""
        found = [view(loss) for loss in self.losses]
        kind = weakest(bound.kind for bound in found)
        return Bound(max(bound.lower for bound in found), max(bound.upper for bound in found), kind)

    @property
    def epsilon(self) -> Bound:
        """Return the largest loss."""
        return self.largest(lambda loss: loss.epsilon)

    def delta(self, epsilon: float) -> Bound:
        """Return the least delta at epsilon."""
        return self.largest(lambda loss: loss.delta(epsilon))

    def epsilon_at(self, delta: float) -> Bound:
        """Return the least epsilon at delta."""
        return self.largest(lambda loss: loss.epsilon_at(delta))

    @property
    def kullback_leibler(self) -> Bound:
        """Return the largest mean loss."""
        return self.largest(lambda loss: loss.kullback_leibler)

    def renyi(self, order: float) -> Bound:
        """Return the largest Renyi divergence of an order."""
        return self.largest(lambda loss: loss.renyi(order))

    @property
    def total_variation(self) -> Bound:
        """Return the largest total variation."""
        return self.delta(0.0)

    def mutual_information(self, prior: float | None = None) -> Bound:
        """Return what an output tells of which law of a pair it came from, in nats, for a prior or the worst one."""
        return self.largest(lambda loss: loss.mutual_information(prior))

    @property
    def worst(self) -> PrivacyLoss:
        """Return the pair of laws, in that order, whose largest loss is the largest of all."""
        return self.losses[self._worst]

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw delta over epsilon, with a logarithmic axis for delta.

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
        return plot_curve(ax, self, self.asked)

    @property
    def _which(self) -> str:
        return f", most about {visible(self.names[self._worst])}" if len(self.names) == len(self.losses) > 2 else ""

    @property
    def _worst(self) -> int:
        return max(range(len(self.losses)), key=lambda place: self.losses[place].epsilon.upper)

    @property
    def document(self) -> Document:
        """Return the drawing of delta over epsilon, and the best known views."""
        title = "The privacy curve"
        lead = f"Largest over {len(self.losses):,} ordered pairs of distributions{self._which}; the numbers are "
        lead += f"{self.epsilon.kind}."
        return Document(
            kind="privacy curve",
            title=title,
            headline=loss_text(self.epsilon.upper),
            lead=lead,
            short=(lead, *short_views(self)),
            number=upper_text(self.epsilon.upper),
            answer=(curve_figure(self, asked=self.asked, title=title),),
            sections=(_in_every_view(self, "Largest over all pairs"),),
            data={"pairs": len(self.losses), **views_data(self)},
        )

    def __repr__(self) -> str:
        return f"PrivacyCurve({len(self.losses)} ordered pairs, epsilon={self.epsilon.upper:.4g})"
