"""The law of one number given each of two secrets, as curves or as bars, in inline SVG."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from bnpriv.render import svg
from bnpriv.render.html import Html, element, join, legend
from bnpriv.render.svg import BOTH_SECRETS, FIGURE_WIDTH, SIDE_MARGIN, inside
from bnpriv.render.text import number_text, shorten

MOST_TICKS = 8

CURVE_PANEL, CURVE_BELOW = 180.0, 24.0


@final
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
