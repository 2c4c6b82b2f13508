"""Figures as inline SVG, made of values that matplotlib can draw too."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Any

from bnpriv.errors import MissingExtraError
from bnpriv.render import svg
from bnpriv.render.html import Html, captioned, element, join, legend, name
from bnpriv.render.svg import BOTH_SECRETS, FIGURE_WIDTH, SIDE_MARGIN, drawing, inside, rect
from bnpriv.text import name_text, number_text, rough_text, shorten, upper_percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# --------------------------------------------------------------------------------------------------
# A heat map as a table: every cell says its number, so that colour is a help and no more.
#
# Where there are more cells than can be read, a picture shows the colours alone.
# --------------------------------------------------------------------------------------------------

LONGEST_HEADING = 18
"""Letters of a heading."""

MANY_COLUMNS = 7
"""From this many on, the headings of the columns stand upright."""


@dataclass(frozen=True, kw_only=True)
class HeatCell:
    """A cell of a heat map.

    Parameters
    ----------
    text : str
        What it says.
    level : str
        Its colour: none, zero, 1 to 6, or top.
    title : str
        What it means, for whoever points at it.
    marked : bool
        Whether it stands out.
    """

    text: str
    level: str
    title: str = ""
    marked: bool = False


def heat_map(corner: str, columns: Sequence[str], rows: Iterable[tuple[str, Sequence[HeatCell]]], caption: str) -> Html:
    """Return a table of coloured cells; row and column headings are names."""
    upright = len(columns) >= MANY_COLUMNS
    head = (
        element(
            "th", element("span", name(column, LONGEST_HEADING)), scope="col", class_="upright" if upright else None
        )
        for column in columns
    )
    body = (
        element("tr", element("th", name(label, LONGEST_HEADING), scope="row"), *(_cell(cell) for cell in cells))
        for label, cells in rows
    )
    top = element("tr", element("th", corner, scope="col"), *head)
    return captioned(caption, element("thead", top), element("tbody", *body), class_="heat")


def heat_picture(levels: Sequence[Sequence[str]], title: str, desc: str) -> Html:
    """Return coloured cells without numbers, for more of them than can be read.

    Parameters
    ----------
    levels : sequence of sequence of str
        The colours of every row; "none" and "zero" stay blank.
    title, desc : str
        What it is, and what it shows in words.
    """
    paths: dict[str, list[str]] = {}
    for y, row in enumerate(levels):
        x = 0
        for level, run in groupby(row):
            length = len(list(run))
            if level not in ("none", "zero"):
                paths.setdefault(level, []).append(f"M{x} {y}h{length}v1h-{length}z")
            x += length
    columns = max(map(len, levels), default=1)
    unit = FIGURE_WIDTH / columns
    cells = (element("path", d="".join(parts), class_=f"l{level}") for level, parts in sorted(paths.items()))
    size = (FIGURE_WIDTH, unit * len(levels))
    frame = rect((0.5, 0.5), (size[0] - 1, size[1] - 1), "frame")
    return drawing(
        size, element("g", *cells, transform=f"scale({unit:.6g})"), frame, title=title, desc=desc, class_="heat"
    )


def heat_legend(entries: Iterable[tuple[str, str]]) -> Html:
    """What the colours mean, for every (level, meaning)."""
    return legend((f"l{level}", meaning) for level, meaning in entries)


def _cell(cell: HeatCell) -> Html:
    mark = element("span", " *", class_="mark") if cell.marked else Html()
    return element("td", join(cell.text, mark), class_=f"l{cell.level}", title=cell.title or None)


# --------------------------------------------------------------------------------------------------
# The law of one number given each of two secrets, as curves or as bars, in inline SVG.
# --------------------------------------------------------------------------------------------------

MOST_TICKS = 8

CURVE_PANEL, CURVE_BELOW = 180.0, 24.0


@dataclass(frozen=True, kw_only=True)
class TwoCurves:
    """What is plotted.

    Parameters
    ----------
    values : sequence of float
        From left to right.
    first, second : sequence of float
        Densities at these values, or masses of them.
    finite : bool
        Whether they are masses.
    labels : sequence of str
        What the values are called, where they are no numbers.
    names : (str, str)
        The two secrets.
    title, desc : str
        What it is, and what it shows in words.
    """

    values: Sequence[float]
    first: Sequence[float]
    second: Sequence[float]
    finite: bool
    names: tuple[str, str]
    title: str
    desc: str
    labels: Sequence[str] = ()

    @property
    def ticks(self) -> Sequence[str]:
        """Return what stands at the values."""
        return self.labels or [number_text(value) for value in self.values]


def two_curves(plotted: TwoCurves) -> Html:
    """Return the drawing with its legend."""
    start, end = plotted.values[0], plotted.values[-1]
    top = max(*plotted.first, *plotted.second) or 1.0
    width = end - start or 1.0
    margin = 0.1 if plotted.finite else 0.0

    def place(x: float, height: float) -> svg.Point:
        share = margin + (1 - 2 * margin) * (x - start) / width
        return SIDE_MARGIN + share * (FIGURE_WIDTH - 2 * SIDE_MARGIN), CURVE_PANEL * (1 - 0.95 * height / top)

    parts: list[Html] = []
    for side, (heights, class_) in enumerate(zip((plotted.first, plotted.second), BOTH_SECRETS, strict=True)):
        points = [place(x, height) for x, height in zip(plotted.values, heights, strict=True)]
        if plotted.finite:
            path = "".join(f"M{x + 10 * side - 5:.1f},{CURVE_PANEL:g}V{y:.1f}" for x, y in points)
            parts.append(element("path", d=path, class_=f"bar {class_}"))
        else:
            path = "L".join(f"{x:.1f},{y:.1f}" for x, y in points)
            parts.append(element("path", d=f"M{path}", class_=f"density {class_}"))
    parts.append(svg.line((SIDE_MARGIN, CURVE_PANEL), (FIGURE_WIDTH - SIDE_MARGIN, CURVE_PANEL), "grid"))
    few = plotted.finite and len(plotted.values) <= MOST_TICKS
    middle = (start + end) / 2
    marks = (
        zip(plotted.values, plotted.ticks, strict=True) if few else ((x, number_text(x)) for x in (start, middle, end))
    )
    for value, tick in marks:
        parts.append(svg.text((inside(place(value, 0.0)[0]), CURVE_PANEL + 16), shorten(tick, 12), "tick"))
    picture = svg.drawing(
        (FIGURE_WIDTH, CURVE_PANEL + CURVE_BELOW), *parts, title=plotted.title, desc=plotted.desc, class_="chart laws"
    )
    return join(picture, legend(zip(BOTH_SECRETS, (element("span", name) for name in plotted.names), strict=True)))


# --------------------------------------------------------------------------------------------------
# Two laws of one number, as needles, and what is released of them, as curves or needles, in inline SVG.
# --------------------------------------------------------------------------------------------------

LAW_PANEL, LAW_BELOW = 120.0, 50.0

WIDEST_SHIFT = 1.5
"""Needles at one place stand this far left and right of it, or a quarter of the way to the next."""

Heights = Sequence[tuple[float, float]]
"""Places with heights, from left to right."""


@dataclass(frozen=True, kw_only=True)
class TwoLaws:
    """What is plotted.

    Parameters
    ----------
    start, end : float
        Ends of the horizontal axis.
    exact : two of heights
        Masses of the two laws.
    noisy : two of heights, or None
        Densities of the two laws with noise, or masses of what is released; None where the answer is.
    names : (str, str)
        The two secrets.
    title, desc : str
        What it is, and what it shows in words.
    noisy_needles : bool
        Whether what is released has masses, which are drawn as needles.
    """

    start: float
    end: float
    exact: Sequence[Heights]
    noisy: Sequence[Heights] | None
    names: tuple[str, str]
    title: str
    desc: str
    noisy_needles: bool = False


def two_laws(plotted: TwoLaws) -> Html:
    """Return the drawing with its legend."""
    parts = _needles(plotted, plotted.exact, LAW_PANEL)
    panels = [("exact answer", LAW_PANEL)]
    if plotted.noisy is not None and plotted.noisy_needles:
        panels.append(("released", 2 * LAW_PANEL + LAW_BELOW))
        parts += _needles(plotted, plotted.noisy, panels[-1][1])
    elif plotted.noisy is not None:
        panels.append(("released, with noise", 2 * LAW_PANEL + LAW_BELOW))
        peak = max(height for law in plotted.noisy for _, height in law)
        for law, class_ in zip(plotted.noisy, BOTH_SECRETS, strict=True):
            points = (
                (_across(plotted, x), 2 * LAW_PANEL + LAW_BELOW - 0.95 * LAW_PANEL * height / peak) for x, height in law
            )
            path = "L".join(f"{x:.1f},{y:.1f}" for x, y in points)
            parts.append(element("path", d=f"M{path}", class_=f"density {class_}"))
    for what, base in panels:
        parts.append(svg.line((SIDE_MARGIN, base), (FIGURE_WIDTH - SIDE_MARGIN, base), "grid"))
        parts.append(svg.text((SIDE_MARGIN, base - LAW_PANEL + 14), what, "panel"))
        for share in (0.0, 0.5, 1.0):
            value = plotted.start + share * (plotted.end - plotted.start)
            parts.append(svg.text((inside(_across(plotted, value)), base + 20), number_text(value), "tick"))
    high = panels[-1][1] + LAW_BELOW
    picture = svg.drawing((FIGURE_WIDTH, high), *parts, title=plotted.title, desc=plotted.desc, class_="chart laws")
    return join(picture, legend(zip(BOTH_SECRETS, (element("span", name) for name in plotted.names), strict=True)))


def _needles(plotted: TwoLaws, laws: Sequence[Heights], base: float) -> list[Html]:
    """Return the masses of two laws as upright lines on a base line, those of one place side by side."""
    top = max(height for law in laws for _, height in law)
    places = sorted({_across(plotted, x) for law in laws for x, _ in law})
    shift = min((WIDEST_SHIFT, *((b - a) / 4 for a, b in pairwise(places))))
    parts: list[Html] = []
    for law, class_, aside in zip(laws, BOTH_SECRETS, (-shift, shift), strict=True):
        ends = ((_across(plotted, x) + aside, base - 0.95 * LAW_PANEL * height / top) for x, height in law)
        path = "".join(f"M{x:.1f},{base:g}V{y:.1f}" for x, y in ends)
        parts.append(element("path", d=path, class_=f"needles {class_}"))
    return parts


def _across(plotted: TwoLaws, x: float) -> float:
    return SIDE_MARGIN + (x - plotted.start) / (plotted.end - plotted.start) * (FIGURE_WIDTH - 2 * SIDE_MARGIN)


# --------------------------------------------------------------------------------------------------
# Line charts with a logarithmic vertical axis, or with shares on it, as inline SVG.
# --------------------------------------------------------------------------------------------------

HIGH, LEFT, BELOW, RIGHT, ABOVE = 336.0, 64.0, 56.0, 16.0, 36.0

MOST_DECADES = 12
"""Powers of ten that are drawn; what lies below is cut off."""


def line_chart(
    points: Sequence[svg.Point],
    *,
    across: str,
    up: str,
    title: str,
    desc: str,
    marks: Sequence[float],
    marked: tuple[float, str] | None = None,
) -> Html:
    """Return a curve over a linear horizontal and a logarithmic vertical axis.

    Parameters
    ----------
    points : sequence of (float, float)
        From left to right; heights that are not above 0 are left out.
    across, up : str
        What the axes are.
    title, desc : str
        What it is, and what it shows in words.
    marks : sequence of float
        Where the horizontal axis is labelled; the first and the last are its ends.
    marked : (float, str), optional
        A place on the horizontal axis that is marked by an upright line, and what it is.
    """
    drawn = [(x, math.log10(y)) for x, y in points if y > 0]
    top = math.ceil(max((y for _, y in drawn), default=0.0))
    low = max(math.floor(min((y for _, y in drawn), default=-1.0)), top - MOST_DECADES)
    bottom = min(low, top - 1)
    step = 1 if top - bottom <= 6 else 2
    return _chart(
        [(x, y) for x, y in drawn if y >= bottom],
        rows=[(float(decade), _power(decade)) for decade in range(bottom, top + 1, step)],
        columns=[(mark, f"{mark:g}") for mark in marks],
        heights=(bottom, top),
        marked=marked,
        across=across,
        up=f"{up} (log scale)",
        title=title,
        desc=desc,
    )


def share_chart(points: Sequence[svg.Point], *, across: str, up: str, title: str, desc: str) -> Html:
    """Return a curve of shares from 0 to 1 over a linear horizontal axis, which it spans.

    Parameters
    ----------
    points : sequence of (float, float)
        From left to right; places that are not all equal.
    across, up : str
        What the axes are.
    title, desc : str
        What it is, and what it shows in words.
    """
    start, end = points[0][0], points[-1][0]
    marks = [start + (end - start) * k / 4 for k in range(5)]
    return _chart(
        points,
        rows=[(share, f"{share:g}") for share in (0.0, 0.25, 0.5, 0.75, 1.0)],
        columns=[(mark, number_text(0.0 if abs(mark) < 1e-6 * (end - start) else mark, 3)) for mark in marks],
        heights=(0.0, 1.0),
        right=RIGHT + 24,
        across=across,
        up=up,
        title=title,
        desc=desc,
    )


def _chart(
    points: Sequence[svg.Point],
    *,
    rows: Sequence[tuple[float, str]],
    columns: Sequence[tuple[float, str]],
    heights: tuple[float, float],
    right: float = RIGHT,
    marked: tuple[float, str] | None = None,
    across: str,
    up: str,
    title: str,
    desc: str,
) -> Html:
    """A curve with labelled lines across at `rows`, and labels below it at `columns`, whose ends are its own."""
    (start, _), (end, _) = columns[0], columns[-1]
    bottom, top = heights

    def place(x: float, y: float) -> svg.Point:
        along, share = (x - start) / (end - start), (y - bottom) / (top - bottom)
        return LEFT + along * (FIGURE_WIDTH - LEFT - right), ABOVE + (1 - share) * (HIGH - ABOVE - BELOW)

    parts: list[Html] = []
    for height, label in rows:
        left, y = place(start, height)
        parts.append(svg.line((left, y), (FIGURE_WIDTH - RIGHT, y), "grid"))
        parts.append(svg.text((LEFT / 2 + 8, y + 4), label, "tick"))
    for mark, label in columns:
        x, y = place(mark, bottom)
        parts.append(svg.text((x, y + 24), label, "tick"))
    path = " ".join(f"{'L' if k else 'M'}{x:.1f},{y:.1f}" for k, (x, y) in enumerate(place(*each) for each in points))
    parts.append(element("path", d=path, class_="curve"))
    if marked is not None and start <= marked[0] <= end:
        x, _ = place(marked[0], bottom)
        parts.append(svg.line((x, ABOVE), (x, HIGH - BELOW), "mark"))
        left = x > FIGURE_WIDTH / 2
        parts.append(svg.text((x + (-8 if left else 8), ABOVE + 14), marked[1], f"panel{' left' if left else ''}"))
    parts.append(svg.text(((LEFT + FIGURE_WIDTH - RIGHT) / 2, HIGH - 6), across, "axis"))
    parts.append(svg.text((8, ABOVE - 16), up, "panel"))
    return svg.drawing((FIGURE_WIDTH, HIGH), *parts, title=title, desc=desc, class_="chart")


RAISED = str.maketrans("-0123456789", "\u207b\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079")
"""Digits of an exponent."""


def _power(decade: int) -> str:
    return f"{10.0**decade:g}" if -3 <= decade <= 0 else "10" + str(decade).translate(RAISED)


# --------------------------------------------------------------------------------------------------
# Bars drawn to scale: noise against the range of an answer, and a released number with its interval.
#
# The range always takes the same part of a bar, so that bars can be compared; what is longer than a bar is cut, and a
# mark says so.
# --------------------------------------------------------------------------------------------------

LENGTH, THICK = 1000.0, 46.0

WHOLE = 1.5
"""A bar is so many times as long as the range."""


def noise_bar(span: float, reach: float, *, title: str, desc: str, live: bool = False) -> Html:
    """Return the range of an answer, of length `span`, with the noise around its middle.

    Parameters
    ----------
    span : float
        Length of the range.
    reach : float
        The error that is rarely exceeded; the noise goes this far to both sides.
    title, desc : str
        What it is, and what it shows in words.
    live : bool
        Give the parts names by which a script can move them.
    """
    wide, noisy = noise_shares(span, reach)
    range_box = svg.rect((LENGTH * (1 - wide) / 2, 5), (LENGTH * wide, THICK - 10), "span")
    noise_box = svg.rect(
        (LENGTH * (1 - noisy) / 2, 14), (LENGTH * noisy, THICK - 28), "reach", id_="bar-reach" if live else None
    )
    middle = svg.line((LENGTH / 2, 0), (LENGTH / 2, THICK), "middle")
    cut = element("g", _mark(0), _mark(1), class_="cut", hidden=not is_cut(span, reach), id="bar-cut" if live else None)
    drawn = (range_box, noise_box, middle, *((cut,) if live or is_cut(span, reach) else ()))
    return svg.drawing((LENGTH, THICK), *drawn, title=title, desc=desc, class_="bar", stretch=True)


def noise_shares(span: float, reach: float) -> tuple[float, float]:
    """Return which shares of the bar the range and the noise take.

    Examples
    --------
    >>> span, reach = noise_shares(10.0, 2.5)
    >>> round(span, 3), round(reach, 3), noise_shares(10.0, 1000.0)[1]
    (0.667, 0.333, 1.0)
    """
    return 1 / WHOLE, min(1.0, 2 * reach / (WHOLE * span))


def is_cut(span: float, reach: float) -> bool:
    """Return whether the noise is longer than the bar."""
    return 2 * reach > WHOLE * span


def cut_text(span: float, reach: float) -> str:
    """Return how long the noise is, where the bar cannot show it.

    Examples
    --------
    >>> cut_text(10.0, 60.0), cut_text(10.0, 1.0)
    (', cut off in the drawing: 600 % of the range to either side', '')
    """
    return (
        f", cut off in the drawing: {upper_percent(reach / span)} of the range to either side"
        if is_cut(span, reach)
        else ""
    )


def influence_bar(nats: float, longest: float, *, title: str) -> Html:
    """Return an influence drawn against the longest finite one; what is not bounded goes to the end and is cut."""
    share = min(1.0, nats / longest) if longest else 1.0
    box = svg.rect((0, 12), (max(2.0, LENGTH * share), THICK - 24), "reach")
    cut = (_mark(1),) if nats > longest else ()
    desc = f"{rough_text(nats)} nats" if nats <= longest else "not bounded"
    return svg.drawing((LENGTH, THICK), box, *cut, title=title, desc=desc, class_="bar", stretch=True)


def budget_bar(nats: float, budget: float, *, title: str) -> Html:
    """Return an influence drawn against a budget, which takes the same part of every bar; what is longer is cut."""
    wide = LENGTH / WHOLE
    reach = min(LENGTH, wide * nats / budget)
    box = (svg.rect((0, 14), (max(2.0, reach), THICK - 28), "reach"),) if nats > 0 else ()
    cut = (_mark(1),) if wide * nats / budget > LENGTH else ()
    parts = (svg.rect((0, 5), (wide, THICK - 10), "span"), *box, svg.line((wide, 0), (wide, THICK), "middle"), *cut)
    desc = f"{rough_text(nats) if math.isfinite(nats) else 'more than any number of'} nats of {rough_text(budget)}"
    return svg.drawing((LENGTH, THICK), *parts, title=title, desc=desc, class_="bar", stretch=True)


def _mark(end: float) -> Html:
    """Return a jagged line near the end of a bar: it goes on beyond."""
    x = LENGTH * (0.03 + 0.94 * end)
    points = ((x - 6, 8), (x + 6, 18), (x - 6, 28), (x + 6, 38))
    return element("path", d="M" + "L".join(f"{u:g},{v:g}" for u, v in points), class_="jag")


def bar_legend(span: str, reach: str, *, live: bool = False) -> Html:
    """Return what the two parts of the bar are."""
    named = element("span", reach, id="bar-reach-text" if live else None)
    return legend([("span", element("span", span)), ("reach", named)])


def bar_axis(ranges: list[tuple[float, float]]) -> tuple[float, float]:
    """Return the axis on which numbers with these ranges are drawn: the ranges, and a quarter more on either side.

    Examples
    --------
    >>> bar_axis([(0.0, 10.0), (5.0, 20.0)])
    (-5.0, 25.0)
    """
    low, high = min(low for low, _ in ranges), max(high for _, high in ranges)
    margin = (WHOLE - 1) / 2 * (high - low)
    return low - margin, high + margin


def interval_bar(
    axis: tuple[float, float],
    ends: tuple[float, float],
    value: float,
    interval: tuple[float, float],
    *,
    title: str,
    desc: str,
) -> Html:
    """Return the range of an answer with a released number and its interval, all to scale on an axis."""
    low, length = axis[0], (axis[1] - axis[0]) or 1.0

    def at(x: float) -> float:
        return LENGTH * min(max((x - low) / length, 0.0), 1.0)

    def box(of: tuple[float, float], top: float, class_: str) -> Html:
        start = at(of[0])
        return svg.rect((start, top), (max(2.0, at(of[1]) - start), THICK - 2 * top), class_)

    cut = [_mark(end) for end, beyond in ((0, interval[0] < axis[0]), (1, interval[1] > axis[1])) if beyond]
    reach = () if interval[0] == interval[1] else (box(interval, 14, "reach"),)
    line = svg.line((at(value), 2), (at(value), THICK - 2), "value")
    parts = (box(ends, 5, "span"), *reach, *cut, line)
    return svg.drawing((LENGTH, THICK), *parts, title=title, desc=desc, class_="bar", stretch=True)


def interval_legend() -> Html:
    """Return what the parts of such a bar are."""
    return legend([("span", "what the answer can be"), ("reach", "interval"), ("value", "released number")])


# --------------------------------------------------------------------------------------------------
# Where plots are drawn: matplotlib, which the extra `plot` installs.
# --------------------------------------------------------------------------------------------------


def axes(ax: Axes | None = None) -> Any:  # the methods of Axes are typed in part only
    """Return `ax`, or the axes of a new figure.

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    """
    try:
        from matplotlib import pyplot
    except ImportError:
        raise MissingExtraError(
            "a plot needs matplotlib", found="no such package", remedy='Install it: pip install "bnpriv[plot]".'
        ) from None
    return pyplot.subplots()[1] if ax is None else ax


def label(text: str) -> str:
    r"""Return a name for a plot; a dollar sign in it starts no formula.

    Examples
    --------
    >>> print(label("$a"))
    \$a
    """
    return name_text(text).replace("$", r"\$")


def draw_curves(ax: Axes | None, plotted: TwoCurves, across: str) -> Axes:
    """Draw the law of one number given each of two secrets.

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    """
    drawing = axes(ax)
    sides = zip((plotted.first, plotted.second), plotted.names, ("#4a78b0", "#c0504d"), strict=True)
    for k, (heights, side, colour) in enumerate(sides):
        if plotted.finite:
            places = [place + 0.4 * k - 0.2 for place in range(len(heights))]
            drawing.bar(places, heights, width=0.4, color=colour, label=label(side))
        else:
            drawing.plot(plotted.values, heights, color=colour, label=label(side))
    if plotted.finite:
        drawing.set_xticks(range(len(plotted.ticks)), [label(tick) for tick in plotted.ticks])
    drawing.set_xlabel(label(across))
    drawing.set_ylabel("probability" if plotted.finite else "density")
    drawing.legend(title="given")
    return drawing
