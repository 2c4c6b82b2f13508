"""Figures as inline SVG, made of values that matplotlib can draw too."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Any

from bnpriv import text as texts
from bnpriv.errors import MissingExtraError
from bnpriv.render import html
from bnpriv.render.html import (
    BOTH_SECRETS,
    FIGURE_WIDTH,
    SIDE_MARGIN,
    Html,
    captioned,
    drawing,
    element,
    inside,
    join,
    legend,
    name,
    rect,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# --------------------------------------------------------------------------------------------------
# A heat map as a table: every cell says its number, so that colour is a help and no more.
#
# Where there are more cells than can be read, a picture shows the colours alone.
# --------------------------------------------------------------------------------------------------

LONGEST_HEADING, LONGEST_UPRIGHT = 18, 24
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
            "th",
            element("span", name(column, LONGEST_UPRIGHT if upright else LONGEST_HEADING)),
            scope="col",
            class_="upright" if upright else None,
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
# Round numbers on an axis.
# --------------------------------------------------------------------------------------------------

MOST_TICKS = 7
"""Numbers on an axis."""

MOST_TICK_LETTERS = 40
"""Letters of all of them: more would run into each other on a phone."""


def ticks(low: float, high: float, *, least: float = 0.0, signed: bool = False) -> list[tuple[float, str]]:
    """Round numbers between two ends, 1, 2 or 5 times a power of ten apart, with what stands at them.

    Parameters
    ----------
    low, high : float
    least : float
        They are at least so far apart: 1 for an axis of whole numbers.
    signed : bool
        Whether a plus is written before differences above 0.

    Examples
    --------
    >>> [text for _, text in ticks(-0.24, 0.44, signed=True)]
    ['-0.2', '0', '+0.2', '+0.4']
    >>> [text for _, text in ticks(0.0, 27.0)], [text for _, text in ticks(0.0, 12_000.0)]
    (['0', '5', '10', '15', '20', '25'], ['0', '2,000', '4,000', '6,000', '8,000', '10,000', '12,000'])
    """
    found: list[tuple[float, str]] = []
    for most in range(MOST_TICKS - 1, 0, -1):
        wide = max((high - low) / most, least)
        unit = 10.0 ** math.floor(math.log10(wide))
        step = next((unit * k for k in (1, 2, 5) if unit * k >= wide * (1 - 1e-9)), 10 * unit)
        digits = max(0, -math.floor(math.log10(step) + 1e-9))
        places = range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)
        found = [(k * step, _tick(k * step, digits, signed)) for k in places]
        if sum(len(text) for _, text in found) <= MOST_TICK_LETTERS:
            break
    return found


def _tick(value: float, digits: int, signed: bool) -> str:
    if value == 0:
        return "0"
    spelled = digits <= 9 and abs(value) < texts.MOST_SPELLED
    text = f"{abs(value):,.{digits}f}" if spelled else texts.number_text(abs(value))
    return f"-{text}" if value < 0 else f"+{text}" if signed else text


# --------------------------------------------------------------------------------------------------
# The distributions of one number under two secrets, as needles, bars or curves, in inline SVG.
# --------------------------------------------------------------------------------------------------

PANEL, HEAD, FOOT = 120.0, 30.0, 30.0
"""Heights of what is plotted, of the words above it, and of the numbers below it."""

AXIS_WORDS = 34.0
"""The height of the words below the last axis."""

WIDEST_SHIFT = 1.5
"""Needles at one place stand this far left and right of it, or a quarter of the way to the next."""

BAR_SHIFT = 5.0
"""The same for bars of a few masses."""

Heights = Sequence[tuple[float, float]]
"""Places with heights, from left to right."""


@dataclass(frozen=True, kw_only=True)
class Panel:
    """One of several plots above one another.

    Parameters
    ----------
    heights : two of heights
        Masses or densities under the two secrets.
    words : str
        What the heights are.
    masses : bool
        Whether they are masses, which are drawn as needles.
    """

    heights: Sequence[Heights]
    words: str
    masses: bool


@dataclass(frozen=True, kw_only=True)
class TwoLaws:
    """The distributions of one number under two secrets, and of what is released of it.

    Parameters
    ----------
    ends : (float, float)
        Of the horizontal axis.
    panels : sequence of Panel
    names : (str, str)
        The two secrets.
    across : str
        What the horizontal axis is.
    title, desc : str
        What it is, and what it shows in words.
    signed : bool
        Whether the numbers on the axis are differences.
    whole : bool
        Whether they are whole numbers.
    labels : sequence of str
        What stands at 0, 1, 2 and so on, where that is no number.
    """

    ends: tuple[float, float]
    panels: Sequence[Panel]
    names: tuple[str, str]
    across: str
    title: str
    desc: str
    signed: bool = False
    whole: bool = False
    labels: Sequence[str] = ()


def two_laws(plotted: TwoLaws) -> Html:
    """Return the drawing with its legend."""
    (start, end), labels = plotted.ends, plotted.labels
    apart = math.ceil(len(labels) / MOST_TICKS)
    named = [(float(k), label) for k, label in enumerate(labels)][:: apart or 1]
    marks = named or ticks(start, end, least=float(plotted.whole), signed=plotted.signed)

    def at(x: float) -> float:
        return SIDE_MARGIN + (x - start) / (end - start) * (FIGURE_WIDTH - 2 * SIDE_MARGIN)

    parts: list[Html] = []
    base = 0.0
    for panel in plotted.panels:
        base += HEAD + PANEL
        parts.append(html.text((SIDE_MARGIN, base - PANEL - 12), panel.words, "panel"))
        parts += _plotted(panel, base, at, BAR_SHIFT if apart == 1 else WIDEST_SHIFT)
        parts.append(html.line((SIDE_MARGIN, base), (FIGURE_WIDTH - SIDE_MARGIN, base), "grid"))
        for value, label in marks:
            parts.append(html.line((at(value), base), (at(value), base + 5), "grid"))
            parts.append(html.text((inside(at(value)), base + 22), texts.shorten(texts.visible(label), 12), "tick"))
        base += FOOT
    parts.append(html.text((FIGURE_WIDTH / 2, base + 20), plotted.across, "axis"))
    size = (FIGURE_WIDTH, base + AXIS_WORDS)
    picture = html.drawing(size, *parts, title=plotted.title, desc=plotted.desc, class_="chart laws")
    return join(picture, legend(zip(BOTH_SECRETS, (element("span", name) for name in plotted.names), strict=True)))


def _plotted(panel: Panel, base: float, at: Callable[[float], float], widest: float) -> Iterable[Html]:
    """Yield what is plotted on a base line: masses of one place side by side, densities as curves."""
    top = max(height for law in panel.heights for _, height in law) or 1.0
    places = sorted({at(x) for law in panel.heights for x, _ in law})
    shift = min((widest, *((b - a) / 4 for a, b in pairwise(places))))
    for law, class_, aside in zip(panel.heights, BOTH_SECRETS, (-shift, shift), strict=True):
        points = [(at(x), base - 0.95 * PANEL * height / top) for x, height in law]
        if panel.masses:
            path = "".join(f"M{x + aside:.1f},{base:g}V{y:.1f}" for x, y in points)
            yield element("path", d=path, class_=f"{'bar' if widest > WIDEST_SHIFT else 'needles'} {class_}")
        else:
            yield element("path", d="M" + "L".join(f"{x:.1f},{y:.1f}" for x, y in points), class_=f"density {class_}")


@dataclass(frozen=True, kw_only=True)
class TwoCurves:
    """The distribution of one column under two secrets, as a page and matplotlib draw it.

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
        return self.labels or [texts.number_text(value) for value in self.values]


def two_curves(plotted: TwoCurves, across: str) -> Html:
    """Return the drawing with its legend; `across` is what the values are."""
    few = plotted.finite and (bool(plotted.labels) or len(plotted.values) <= MOST_TICKS)
    values = range(len(plotted.values)) if few else plotted.values
    start, end = values[0], values[-1]
    margin = 0.5 if few else 0.1 * (end - start) if plotted.finite else 0.0 if end > start else 1.0
    panel = Panel(
        heights=[list(zip(values, heights, strict=True)) for heights in (plotted.first, plotted.second)],
        words="how likely each value is" if plotted.finite else "how likely values near this one are (density)",
        masses=plotted.finite,
    )
    return two_laws(
        TwoLaws(
            ends=(start - margin, end + margin),
            panels=[panel],
            names=plotted.names,
            across=across,
            title=plotted.title,
            desc=plotted.desc,
            labels=plotted.ticks if few else (),
        )
    )


# --------------------------------------------------------------------------------------------------
# Line charts with a logarithmic vertical axis, or with shares on it, as inline SVG.
# --------------------------------------------------------------------------------------------------

HIGH, LEFT, BELOW, RIGHT, ABOVE = 336.0, 64.0, 56.0, 40.0, 36.0

MOST_DECADES = 12
"""Powers of ten that are drawn; what lies below is cut off."""


def line_chart(
    points: Sequence[html.Point],
    *,
    across: str,
    up: str,
    title: str,
    desc: str,
    marked: tuple[float, str] | None = None,
) -> Html:
    """Return a curve over a horizontal axis that begins at 0 and a logarithmic vertical one.

    Parameters
    ----------
    points : sequence of (float, float)
        From left to right; heights that are not above 0 are left out.
    across, up : str
        What the axes are.
    title, desc : str
        What it is, and what it shows in words.
    marked : (float, str), optional
        A place on the horizontal axis that is marked by an upright line, and what it is.
    """
    drawn = [(x, math.log10(y)) for x, y in points if y > 0]
    top = math.ceil(max((y for _, y in drawn), default=0.0))
    low = max(math.floor(min((y for _, y in drawn), default=-1.0)), top - MOST_DECADES)
    bottom = min(low, top - 1)
    step = 1 if top - bottom <= 6 else 2
    bottom -= (top - bottom) % step
    return _chart(
        [(x, y) for x, y in drawn if y >= bottom],
        (0.0, points[-1][0]),
        rows=[(float(decade), _power(decade)) for decade in range(bottom, top + 1, step)],
        marked=marked,
        across=across,
        up=f"{up} (each line is {10**step} times the one below)",
        title=title,
        desc=desc,
    )


def share_chart(points: Sequence[html.Point], *, across: str, up: str, title: str, desc: str) -> Html:
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
    rows = [(share, texts.percent_text(share)) for share in (0.0, 0.25, 0.5, 0.75, 1.0)]
    ends = points[0][0], points[-1][0]
    return _chart(points, ends, rows=rows, across=across, up=up, title=title, desc=desc)


def bound_chart(
    points: Sequence[html.Point], claim: tuple[float, str] | None, *, across: str, up: str, title: str, desc: str
) -> Html:
    """Return steps over a logarithmic horizontal axis and a vertical one that begins at 0, with a level in words.

    Parameters
    ----------
    points : sequence of (float, float)
        From left to right; the height holds from there on.
    claim : (float, str), optional
        A height that is marked by a line across, and what it is.
    across, up : str
        What the axes are.
    title, desc : str
        What it is, and what it shows in words.
    """
    logs = [(math.log10(x), y) for x, y in points]
    steps = [each for (_, low), (x, y) in pairwise([logs[0], *logs]) for each in ((x, low), (x, y))]
    high = max([y for _, y in points] + [claim[0] if claim else 0.0]) or 1.0
    rows = ticks(0.0, 1.1 * high)
    start, end = math.floor(logs[0][0]), max(math.ceil(logs[-1][0]), math.floor(logs[0][0]) + 1)
    columns = [(float(decade), f"{10**decade:,}" if decade < 5 else _power(decade)) for decade in range(start, end + 1)]
    ends = float(start), float(end)
    rows = [*rows, (1.1 * high, "")]
    return _chart(steps, ends, rows=rows, columns=columns, level=claim, across=across, up=up, title=title, desc=desc)


def _chart(
    points: Sequence[html.Point],
    ends: tuple[float, float],
    *,
    rows: Sequence[tuple[float, str]],
    columns: Sequence[tuple[float, str]] | None = None,
    marked: tuple[float, str] | None = None,
    level: tuple[float, str] | None = None,
    across: str,
    up: str,
    title: str,
    desc: str,
) -> Html:
    """A curve between two ends, with labelled lines across at `rows`, the first and the last at its bottom and top.

    `columns` are the numbers below it, round ones by default; `marked` stands upright, and `level` lies across.
    """
    (start, end), bottom, top = ends, rows[0][0], rows[-1][0]

    def place(x: float, y: float) -> html.Point:
        along, share = (x - start) / (end - start), (y - bottom) / (top - bottom)
        return LEFT + along * (FIGURE_WIDTH - LEFT - RIGHT), ABOVE + (1 - share) * (HIGH - ABOVE - BELOW)

    parts: list[Html] = []
    for height, label in rows:
        left, y = place(start, height)
        parts.append(html.line((left, y), (FIGURE_WIDTH - RIGHT, y), "grid"))
        parts.append(html.text((LEFT / 2, y + 4), label, "tick"))
    for mark, label in ticks(start, end) if columns is None else columns:
        x, y = place(mark, bottom)
        parts.append(html.text((x, y + 24), label, "tick"))
    path = " ".join(f"{'L' if k else 'M'}{x:.1f},{y:.1f}" for k, (x, y) in enumerate(place(*each) for each in points))
    parts.append(element("path", d=path, class_="curve"))
    if marked is not None and start <= marked[0] <= end:
        x, _ = place(marked[0], bottom)
        parts.append(html.line((x, ABOVE), (x, HIGH - BELOW), "mark"))
        left = x > FIGURE_WIDTH / 2
        parts.append(html.text((x + (-8 if left else 8), ABOVE + 14), marked[1], f"panel{' left' if left else ''}"))
    if level is not None:
        x, y = place(start, level[0])
        parts.append(html.line((x, y), (FIGURE_WIDTH - RIGHT, y), "mark"))
        parts.append(html.text((x + 8, y - 6), level[1], "panel"))
    parts.append(html.text(((LEFT + FIGURE_WIDTH - RIGHT) / 2, HIGH - 6), across, "axis"))
    parts.append(html.text((8, ABOVE - 16), up, "panel"))
    return html.drawing((FIGURE_WIDTH, HIGH), *parts, title=title, desc=desc, class_="chart")


RAISED = str.maketrans("-0123456789", "\u207b\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079")
"""Digits of an exponent."""


def _power(decade: int) -> str:
    return f"{10.0**decade:g}" if -3 <= decade <= 0 else "10" + str(decade).translate(RAISED)


# --------------------------------------------------------------------------------------------------
# Bars drawn to scale: noise against the range of an answer, and a released number with its interval.
#
# The range is as long as the bar; what is longer is cut, and a mark says so.
# --------------------------------------------------------------------------------------------------

LENGTH, THICK = 1000.0, 46.0

WHOLE = 1.5
"""A bar of what is told is so many times as long as the budget."""


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
    noisy = LENGTH * min(1.0, 2 * reach / span)
    noise_box = html.rect(((LENGTH - noisy) / 2, 14), (noisy, THICK - 28), "reach", id_="bar-reach" if live else None)
    middle = html.line((LENGTH / 2, 0), (LENGTH / 2, THICK), "middle")
    cut = element("g", _mark(0), _mark(1), class_="cut", hidden=not is_cut(span, reach), id="bar-cut" if live else None)
    drawn = (RANGE_BOX, noise_box, middle, *((cut,) if live or is_cut(span, reach) else ()))
    return html.drawing((LENGTH, THICK), *drawn, title=title, desc=desc, class_="bar", stretch=True)


RANGE_BOX = html.rect((0, 5), (LENGTH, THICK - 10), "span")


def is_cut(span: float, reach: float) -> bool:
    """Return whether the noise is longer than the bar."""
    return 2 * reach > span


def cut_text(span: float, reach: float) -> str:
    """Return how long the noise is, where the bar cannot show it.

    Examples
    --------
    >>> cut_text(10.0, 60.0), cut_text(10.0, 1.0)
    (', cut off in the drawing: 600 % of the range to either side', '')
    """
    return (
        f", cut off in the drawing: {texts.upper_percent(reach / span)} of the range to either side"
        if is_cut(span, reach)
        else ""
    )


def influence_bar(nats: float, longest: float, *, title: str) -> Html:
    """Return an influence drawn against the longest finite one; what is not bounded goes to the end and is cut."""
    share = min(1.0, nats / longest) if longest else 1.0
    box = html.rect((0, 12), (max(2.0, LENGTH * share), THICK - 24), "reach")
    cut = (_mark(1),) if nats > longest else ()
    desc = f"{texts.rough_text(nats)} nats" if nats <= longest else "not bounded"
    return html.drawing((LENGTH, THICK), box, *cut, title=title, desc=desc, class_="bar", stretch=True)


def budget_bar(nats: float, budget: float, *, title: str) -> Html:
    """Return an influence drawn against a budget, which takes the same part of every bar; what is longer is cut."""
    wide = LENGTH / WHOLE
    reach = min(LENGTH, wide * nats / budget)
    box = (html.rect((0, 14), (max(2.0, reach), THICK - 28), "reach"),) if nats > 0 else ()
    cut = (_mark(1),) if wide * nats / budget > LENGTH else ()
    parts = (html.rect((0, 5), (wide, THICK - 10), "span"), *box, html.line((wide, 0), (wide, THICK), "middle"), *cut)
    told = texts.rough_text(nats) if math.isfinite(nats) else "more than any number of"
    desc = f"{told} nats of {texts.rough_text(budget)}"
    return html.drawing((LENGTH, THICK), *parts, title=title, desc=desc, class_="bar", stretch=True)


def _mark(end: float) -> Html:
    """Return a jagged line near the end of a bar: it goes on beyond."""
    x = LENGTH * (0.03 + 0.94 * end)
    points = ((x - 6, 8), (x + 6, 18), (x - 6, 28), (x + 6, 38))
    return element("path", d="M" + "L".join(f"{u:g},{v:g}" for u, v in points), class_="jag")


def bar_ends(low: str, what: str, high: str) -> Html:
    """Return what stands below the left end of a bar, its middle and its right end."""
    return element("div", *(element("span", text) for text in (low, what, high)), class_="ends")


def bar_legend(reach: str, *, live: bool = False) -> Html:
    """Return what the noise in the bar is."""
    return legend([("reach", element("span", reach, id="bar-reach-text" if live else None))])


def interval_bar(
    axis: tuple[float, float],
    ends: tuple[float, float],
    value: float,
    interval: tuple[float, float],
    *,
    title: str,
    desc: str,
) -> Html:
    """Return the range of an answer with a released number and its interval, to scale; marks show what lies beyond."""
    low, length = axis[0], (axis[1] - axis[0]) or 1.0

    def at(x: float) -> float:
        return LENGTH * min(max((x - low) / length, 0.0), 1.0)

    def box(of: tuple[float, float], top: float, class_: str) -> Html:
        start = at(of[0])
        return html.rect((start, top), (max(2.0, at(of[1]) - start), THICK - 2 * top), class_)

    far = min(value, interval[0]), max(value, interval[1])
    cut = [_mark(end) for end, beyond in ((0, far[0] < axis[0]), (1, far[1] > axis[1])) if beyond]
    reach = () if interval[0] == interval[1] else (box(interval, 14, "reach"),)
    line = html.line((at(value), 2), (at(value), THICK - 2), "value")
    parts = (box(ends, 5, "span"), *reach, *cut, line)
    return html.drawing((LENGTH, THICK), *parts, title=title, desc=desc, class_="bar", stretch=True)


def interval_legend() -> Html:
    """Return what the parts of such a bar are."""
    return legend([("value", "released number"), ("reach", "where the exact answer lies with 95 % probability")])


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
    return texts.name_text(text).replace("$", r"\$")


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
