"""Two laws of one number, as needles, and the same with noise, as curves, in inline SVG."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from bnpriv.render import svg
from bnpriv.render.html import Html, element, join
from bnpriv.render.svg import FIGURE_WIDTH, SIDE_MARGIN
from bnpriv.render.text import number_text

LAW_PANEL, LAW_BELOW = 120.0, 44.0

Heights = Sequence[tuple[float, float]]
"""Places with heights, from left to right."""


@final
@dataclass(frozen=True, kw_only=True)
class TwoLaws:
    """What is plotted.

    Parameters
    ----------
    start, end : float
        Ends of the horizontal axis.
    exact : (heights, heights)
        Masses of the two laws.
    noisy : (heights, heights) or None
        Densities of the two laws with noise; None where there is none.
    names : (str, str)
        The two secrets.
    title, desc : str
        What it is, and what it shows in words.
    """

    start: float
    end: float
    exact: tuple[Heights, Heights]
    noisy: tuple[Heights, Heights] | None
    names: tuple[str, str]
    title: str
    desc: str


def two_laws(plotted: TwoLaws) -> Html:
    """Return the drawing with its legend."""
    top = max(height for law in plotted.exact for _, height in law)
    parts: list[Html] = []
    for law, class_ in zip(plotted.exact, ("first", "second"), strict=True):
        ends = ((_across(plotted, x), LAW_PANEL * (1 - 0.95 * height / top)) for x, height in law)
        path = "".join(f"M{x:.1f},{LAW_PANEL:g}V{y:.1f}" for x, y in ends)
        parts.append(element("path", d=path, class_=f"needles {class_}"))
    panels = [("exact answer", LAW_PANEL)]
    if plotted.noisy is not None:
        panels.append(("released, with noise", 2 * LAW_PANEL + LAW_BELOW))
        peak = max(height for law in plotted.noisy for _, height in law)
        for law, class_ in zip(plotted.noisy, ("first", "second"), strict=True):
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
            parts.append(svg.text((_inside(_across(plotted, value)), base + 16), number_text(value), "tick"))
    high = panels[-1][1] + LAW_BELOW
    picture = svg.drawing((FIGURE_WIDTH, high), *parts, title=plotted.title, desc=plotted.desc, class_="chart laws")
    entries = [
        element("li", element("span", class_=f"swatch {class_}"), element("span", name))
        for name, class_ in zip(plotted.names, ("first", "second"), strict=True)
    ]
    return join(picture, element("ul", *entries, class_="legend row"))


def _across(plotted: TwoLaws, x: float) -> float:
    return SIDE_MARGIN + (x - plotted.start) / (plotted.end - plotted.start) * (FIGURE_WIDTH - 2 * SIDE_MARGIN)


def _inside(x: float) -> float:
    """Keep a label within the drawing."""
    return min(max(x, SIDE_MARGIN + 24), FIGURE_WIDTH - SIDE_MARGIN - 24)
