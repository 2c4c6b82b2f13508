"""Line charts with a logarithmic vertical axis, or with shares on it, as inline SVG."""

from __future__ import annotations

import math
from collections.abc import Sequence

from bnpriv.render import svg
from bnpriv.render.html import Html, element
from bnpriv.render.svg import FIGURE_WIDTH
from bnpriv.render.text import number_text

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
