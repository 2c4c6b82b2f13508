"""Primitives of inline SVG; colours come from classes, so that light and dark are the page's business."""

from __future__ import annotations

from collections.abc import Sequence

from bnpriv.digest import sha256
from bnpriv.render.html import Html, element, join

Point = tuple[float, float]

FIGURE_WIDTH = 640.0
"""Width of a chart, in its own units; the page scales it."""

SIDE_MARGIN = 12.0
"""Left and right of the panels of a chart."""

BOTH_SECRETS = ("first", "second")
"""Classes of what is drawn for the first and for the second of two secrets."""


def drawing(
    size: Point, *children: Html, title: str, desc: str, class_: str, stretch: bool = False, least: float = 0.0
) -> Html:
    """Return an SVG element with the title and the description that a screen reader reads out.

    Parameters
    ----------
    size : (float, float)
        Width and height in its own units.
    *children : Html
        What is drawn.
    title, desc : str
        What it is, and what it shows in words.
    class_ : str
        Class of the element.
    stretch : bool
        Let it fill its box without keeping its proportions; for bars without text.
    """
    body = join(*children)
    # Ids are shared by all that stands in a page, also by what other cells of a notebook show.
    mark = sha256(f"{title}{desc}{body}")[:12]
    return element(
        "svg",
        element("title", title, id=f"t{mark}"),
        element("desc", desc, id=f"d{mark}"),
        body,
        viewBox=f"0 0 {size[0]:.6g} {size[1]:.6g}",
        width=None if stretch else size[0],
        height=None if stretch else size[1],
        preserveAspectRatio="none" if stretch else None,
        role="img",
        aria_labelledby=f"t{mark} d{mark}",
        class_=class_,
        xmlns="http://www.w3.org/2000/svg",
    )


def rect(corner: Point, size: Point, class_: str, radius: float | None = None, id_: str | None = None) -> Html:
    """Return a rectangle."""
    (x, y), (w, h) = corner, size
    return element("rect", x=x, y=y, width=w, height=h, rx=radius, class_=class_, id=id_)


def line(start: Point, end: Point, class_: str, id_: str | None = None) -> Html:
    """Return a straight line."""
    return element("line", x1=start[0], y1=start[1], x2=end[0], y2=end[1], class_=class_, id=id_)


def text(at: Point, content: str, class_: str, title: str | None = None) -> Html:
    """Return a line of text centred at a point."""
    hint = () if title is None else (element("title", title),)
    return element("text", content, *hint, x=at[0], y=at[1], class_=class_)


def inside(x: float) -> float:
    """A place for a label that keeps within a figure."""
    return min(max(x, SIDE_MARGIN + 24), FIGURE_WIDTH - SIDE_MARGIN - 24)


def curve(points: Sequence[Point], class_: str) -> Html:
    """Return a smooth line through points from top to bottom; it leaves and enters each of them vertically."""
    (x, y), *rest = points
    path = f"M{x:.1f},{y:.1f}"
    for u, v in rest:
        middle = (y + v) / 2
        path += f"C{x:.1f},{middle:.1f} {u:.1f},{middle:.1f} {u:.1f},{v:.1f}"
        x, y = u, v
    return element("path", d=path, class_=class_)


def arrowhead(tip: Point, class_: str, size: float = 7.0) -> Html:
    """Return the head of an arrow that points down to `tip`."""
    x, y = tip
    left, right, top = x - size / 2, x + size / 2, y - size
    return element("path", d=f"M{x:.1f},{y:.1f}L{left:.1f},{top:.1f}L{right:.1f},{top:.1f}Z", class_=class_)
