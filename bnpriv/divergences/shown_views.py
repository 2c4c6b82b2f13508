"""What a privacy loss and a privacy curve say: a table of views, and the drawings."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np

from bnpriv.bound import Bound, FloatArray
from bnpriv.render.chart import line_chart, share_chart
from bnpriv.render.document import Document, Figure, Section, Table
from bnpriv.render.html import scroller
from bnpriv.render.plotting import axes
from bnpriv.render.text import Json, number_text, of_nats, upper_chance, upper_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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


class Views(Protocol):
    """The views that are shown of one privacy loss, or of the largest of many."""

    @property
    def epsilon(self) -> Bound:
        """Return the largest loss."""
        ...

    def delta(self, epsilon: float) -> Bound:
        """Return the least delta at epsilon."""
        ...

    def epsilon_at(self, delta: float) -> Bound:
        """Return the least epsilon at delta."""
        ...

    @property
    def kullback_leibler(self) -> Bound:
        """Return the mean loss."""
        ...

    def renyi(self, order: float) -> Bound:
        """Return the Renyi divergence of an order."""
        ...

    @property
    def total_variation(self) -> Bound:
        """Return the total variation."""
        ...

    def mutual_information(self, prior: float | None = None) -> Bound:
        """Return the mutual information for a prior, or the worst one."""
        ...


def views_table(views: Views, caption: str) -> Table:
    """Return one line for each of the best known views."""
    rows = [
        ("largest loss (epsilon)", _nats(views.epsilon), "odds move by at most a factor exp(epsilon)"),
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
        "epsilon": _finite(views.epsilon),
        "kullback_leibler": _finite(views.kullback_leibler),
        "renyi_2": _finite(views.renyi(2.0)),
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
    "Delta at every epsilon: a set of answers that has probability p under one of two laws has at most "
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
        marks=[end * k / 4 for k in range(5)],
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


def plot_steps(ax: Axes | None, steps: Sequence[tuple[float, float]]) -> Axes:
    """Draw a distribution function of the privacy loss."""
    drawn = axes(ax)
    if steps:
        drawn.plot(*zip(*steps, strict=True))
    drawn.set_xlabel("privacy loss (nats)")
    drawn.set_ylabel("probability of at most so much")
    return drawn


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
        kicker="bnpriv privacy loss",
        title=title,
        headline=loss_text(views.epsilon.upper),
        lead=f"For one pair of laws, in one order; the numbers are {views.epsilon.kind}.",
        answer=figure,
        sections=(Section(title="In every view", blocks=(views_table(views, "The views of this loss"),)),),
        data=views_data(views),
    )


def _round(value: float) -> float:
    """Return a number of at least the value whose quarters are short."""
    unit = 10.0 ** math.floor(math.log10(value))
    return next(unit * step for step in (1, 1.2, 1.6, 2, 2.4, 3, 4, 5, 6, 8, 10) if unit * step >= value * (1 - 1e-9))


def _nats(bound: Bound) -> str:
    return "no bound" if math.isinf(bound.upper) else upper_text(bound.upper)


def _finite(bound: Bound) -> float | str:
    return "inf" if math.isinf(bound.upper) else bound.upper


def loss_text(loss: float) -> str:
    """Return in words how large a privacy loss may be."""
    if loss < NO_LOSS:
        return "The privacy loss is 0, to within rounding"
    most = "has no bound" if math.isinf(loss) else f"is at most {of_nats(upper_text(loss))}"
    return f"The privacy loss {most}"
