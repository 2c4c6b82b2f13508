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
    start, end = marks[0], marks[-1]

    def place(x: float, y: float) -> svg.Point:
        share = (max(y, bottom) - bottom) / (top - bottom)
        along = (x - start) / (end - start)
        return LEFT + along * (FIGURE_WIDTH - LEFT - RIGHT), ABOVE + (1 - share) * (HIGH - ABOVE - BELOW)

    step = 1 if top - bottom <= 6 else 2
    parts: list[Html] = []
    for decade in range(bottom, top + 1, step):
        left, y = place(start, decade)
        parts.append(svg.line((left, y), (FIGURE_WIDTH - RIGHT, y), "grid"))
        parts.append(svg.text((LEFT / 2 + 8, y + 4), _power(decade), "tick"))
    for mark in marks:
        x, y = place(mark, bottom)
        parts.append(svg.text((x, y + 24), f"{mark:g}", "tick"))
    inside = [(x, y) for x, y in drawn if y >= bottom]
    path = " ".join(f"{'L' if k else 'M'}{x:.1f},{y:.1f}" for k, (x, y) in enumerate(place(*each) for each in inside))
    parts.append(element("path", d=path, class_="curve"))
    if marked is not None and start <= marked[0] <= end:
        x = place(marked[0], bottom)[0]
        parts.append(svg.line((x, ABOVE), (x, HIGH - BELOW), "mark"))
        left = x > FIGURE_WIDTH / 2
        parts.append(svg.text((x + (-8 if left else 8), ABOVE + 14), marked[1], f"panel{' left' if left else ''}"))
    parts.append(svg.text(((LEFT + FIGURE_WIDTH - RIGHT) / 2, HIGH - 6), across, "axis"))
    parts.append(svg.text((8, ABOVE - 16), f"{up} (log scale)", "panel"))
    return svg.drawing((FIGURE_WIDTH, HIGH), *parts, title=title, desc=desc, class_="chart")


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

    def place(x: float, y: float) -> svg.Point:
        along = (x - start) / (end - start)
        return LEFT + along * (FIGURE_WIDTH - LEFT - RIGHT - 24), ABOVE + (1 - y) * (HIGH - ABOVE - BELOW)

    parts: list[Html] = []
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        left, y = place(start, share)
        parts.append(svg.line((left, y), (FIGURE_WIDTH - RIGHT, y), "grid"))
        parts.append(svg.text((LEFT / 2 + 8, y + 4), f"{share:g}", "tick"))
    for k in range(5):
        mark = start + (end - start) * k / 4
        mark = 0.0 if abs(mark) < 1e-6 * (end - start) else mark
        x, y = place(mark, 0.0)
        parts.append(svg.text((x, y + 24), number_text(mark, 3), "tick"))
    path = " ".join(f"{'L' if k else 'M'}{x:.1f},{y:.1f}" for k, (x, y) in enumerate(place(*each) for each in points))
    parts.append(element("path", d=path, class_="curve"))
    parts.append(svg.text(((LEFT + FIGURE_WIDTH - RIGHT) / 2, HIGH - 6), across, "axis"))
    parts.append(svg.text((8, ABOVE - 16), up, "panel"))
    return svg.drawing((FIGURE_WIDTH, HIGH), *parts, title=title, desc=desc, class_="chart")


RAISED = str.maketrans("-0123456789", "\u207b\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079")
"""Digits of an exponent."""


def _power(decade: int) -> str:
    return f"{10.0**decade:g}" if -3 <= decade <= 0 else "10" + str(decade).translate(RAISED)
