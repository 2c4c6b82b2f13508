"""The drawing of a directed acyclic graph, with a role for every node."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import final

from bnpriv.render import svg
from bnpriv.render.html import Html, element, join, legend, names, scroller
from bnpriv.render.layout import Edge, layout
from bnpriv.render.svg import Point
from bnpriv.render.text import shorten, visible, width

HEIGHT, GAP, LAYER_GAP, MARGIN = 40.0, 16.0, 44.0, 10.0
LETTER, CAPITAL, WIDEST = 7.8, 10.4, 14.0
"""Widths of letters of a label; fonts differ, so they are generous."""

LONGEST_LABEL = 18

SMALL, MOST_SHRUNK = 560.0, 900.0
"""A small drawing shrinks to any room, one up to the second width to that of a small one; a wider one scrolls, because
its labels could not be read."""

MOST_DRAWN = 60
"""Nodes of a network that is drawn where it only illustrates."""


@final
@dataclass(frozen=True, kw_only=True)
class Drawing:
    """What is drawn.

    Parameters
    ----------
    nodes : sequence of str
        Parents before children.
    edges : sequence of (str, str)
    roles : mapping from str to str
        The role of every node; it becomes its class.
    notes : mapping from str to str
        A word below the name of a node.
    path : collection of (str, str)
        Edges that stand out.
    title, desc : str
        What it is, and what it shows in words.
    """

    nodes: Sequence[str]
    edges: Sequence[Edge]
    title: str
    desc: str
    roles: Mapping[str, str] = field(default_factory=dict[str, str])
    notes: Mapping[str, str] = field(default_factory=dict[str, str])
    path: Collection[Edge] = ()


def graph_html(drawing: Drawing) -> Html:
    """Return the drawing in a box that scrolls when it is wider than the page."""
    widths = {name: _width(name, drawing.notes.get(name, "")) for name in drawing.nodes}
    found = layout(widths, drawing.edges, height=HEIGHT, gap=GAP, between=LAYER_GAP)
    roads = {edge: (found.centres[edge[0]], *found.routes[edge], found.centres[edge[1]]) for edge in drawing.edges}
    leaving, entering = (_ports(widths, found.centres, roads, end) for end in (0, 1))
    # What stands out is drawn last, above the others.
    edges = [
        _edge((leaving[edge], *found.routes[edge], entering[edge]), edge in drawing.path)
        for edge in sorted(drawing.edges, key=lambda edge: edge in drawing.path)
    ]
    nodes = [_node(name, found.centres[name], widths[name], drawing) for name in drawing.nodes]
    inner = element("g", *edges, *nodes, transform=f"translate({MARGIN:g},{MARGIN:g})")
    size = (found.size[0] + 2 * MARGIN, found.size[1] + 2 * MARGIN)
    class_ = "network small" if size[0] <= SMALL else "network" if size[0] <= MOST_SHRUNK else "network wide"
    picture = svg.drawing(size, inner, title=drawing.title, desc=drawing.desc, class_=class_)
    return scroller(picture, drawing.title)


def quilt_legend(
    protected: str, *, quilt: frozenset[str], near: frozenset[str], remote: frozenset[str], path: bool = False
) -> Html:
    """Return the sides of a Markov quilt in the colours of a drawing, and the line of a path where one is drawn."""
    entries = [
        ("protected", "protected (double border)", frozenset({protected})),
        ("quilt", "quilt (thick border), the shield", quilt),
        ("near", "near (thin border), not shielded", near - {protected}),
        ("remote", "remote (dashed border), behind the quilt", remote),
    ]
    rows = [(role, element("span", element("b", meaning), ": ", names(members))) for role, meaning, members in entries]
    if path:
        rows.append(("path", element("span", element("b", "path of the leak (thick red line)"))))
    return legend(rows, "legend")


def _width(name: str, note: str) -> float:
    label = _label(name)
    return max(48.0, sum(map(_letter_width, label)) + 20, 0.8 * LETTER * width(note) + 20)


def _letter_width(letter: str) -> float:
    if letter in "MWmw@%":
        return WIDEST
    return (CAPITAL if letter.isupper() else LETTER) * width(letter)


def _label(name: str) -> str:
    return shorten(visible(name), LONGEST_LABEL)


def _ports(
    widths: Mapping[str, float], centres: Mapping[str, Point], roads: Mapping[Edge, Sequence[Point]], end: int
) -> dict[Edge, Point]:
    """Where every edge touches its parent (end 0) or its child (end 1): side by side, without crossing."""
    ports: dict[Edge, Point] = {}
    for name, (x, y) in centres.items():
        here = [edge for edge in roads if edge[end] == name]
        here.sort(key=lambda edge: roads[edge][1 if end == 0 else -2][0])  # how far right it goes on from here
        step = min(18.0, (widths[name] - 16) / max(1, len(here)))
        for k, edge in enumerate(here):
            ports[edge] = (x + (k - (len(here) - 1) / 2) * step, y + HEIGHT * (0.5 - end))
    return ports


def _edge(points: Sequence[Point], strong: bool) -> Html:
    kind = "edge path" if strong else "edge"
    (x, y) = points[-1]
    line = svg.curve((*points[:-1], (x, y - 5)), kind)
    return join(line, svg.arrowhead((x, y), f"{kind} head"))


def _node(name: str, centre: Point, wide: float, drawing: Drawing) -> Html:
    role, note = drawing.roles.get(name, "plain"), drawing.notes.get(name, "")
    x, y = centre
    corner = (x - wide / 2, y - HEIGHT / 2)
    parts = [svg.rect(corner, (wide, HEIGHT), "box", radius=6)]
    if role == "protected":  # a second border, so that it is found without colours
        parts.append(svg.rect((corner[0] + 3, corner[1] + 3), (wide - 6, HEIGHT - 6), "inner", radius=4))
    parts.append(svg.text((x, y + (-1 if note else 5)), _label(name), "label"))
    if note:
        parts.append(svg.text((x, y + 13), note, "note"))
    shown = visible(name) + (f": {role}" if role != "plain" else "") + (f", {note}" if note else "")
    return element("g", element("title", shown), *parts, class_=f"node {role}")
