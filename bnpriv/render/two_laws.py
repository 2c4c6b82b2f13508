"""Two laws of one number, as needles, and what is released of them, as curves or needles, in inline SVG."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import final

from bnpriv.render import svg
from bnpriv.render.html import Html, element, join, legend
from bnpriv.render.svg import BOTH_SECRETS, FIGURE_WIDTH, SIDE_MARGIN, inside
from bnpriv.render.text import number_text

LAW_PANEL, LAW_BELOW = 120.0, 50.0

WIDEST_SHIFT = 1.5
"""Needles at one place stand this far left and right of it, or a quarter of the way to the next."""

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
