"""The drawing of a directed acyclic graph: where its nodes go, and a role for each."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from bnpriv.render import html
from bnpriv.render.html import Html, Point, element, join, legend, names, scroller
from bnpriv.text import shorten, visible, width

# --------------------------------------------------------------------------------------------------
# Where to draw the nodes of a directed acyclic graph: in layers, parents above children.
# --------------------------------------------------------------------------------------------------

Edge = tuple[str, str]
LayoutNode = str | tuple[str, str, int]
"""A node, or the place in one layer where an edge that is longer than one layer passes by."""

SWEEPS = 12
PASSAGE = 6.0
"""The width that an edge needs where it passes a layer."""


@dataclass(frozen=True, kw_only=True)
class Layout:
    """A drawing's geometry.

    Parameters
    ----------
    centres : mapping from str to (float, float)
        The middle of every node.
    routes : mapping from (str, str) to tuple of (float, float)
        For every edge the points that it passes between its ends; beside other nodes it runs straight down.
    size : (float, float)
        Width and height.
    """

    centres: Mapping[str, Point]
    routes: Mapping[Edge, tuple[Point, ...]]
    size: Point


def layout(widths: Mapping[str, float], edges: Sequence[Edge], *, height: float, gap: float, between: float) -> Layout:
    """Place nodes in layers by their longest path, order them by barycentres, and pull neighbours together.

    Parameters
    ----------
    widths : mapping from str to float
        The width of every node, parents before children.
    edges : sequence of (str, str)
        From parent to child.
    height : float
        The height of a node.
    gap, between : float
        The space between nodes of a layer, and between layers.

    Returns
    -------
    Layout

    Notes
    -----
    Sugiyama, Tagawa, Toda, "Methods for visual understanding of hierarchical system structures", IEEE Transactions on
    Systems, Man, and Cybernetics 11, 1981, with a bound on the nodes of a layer, so that the drawing stays narrow.

    Examples
    --------
    >>> found = layout({"a": 50, "b": 50}, [("a", "b")], height=30, gap=10, between=40)
    >>> found.centres["a"][1] < found.centres["b"][1]
    True
    """
    rank = _ranks(list(widths), edges)
    layers, links = _layers(list(widths), edges, rank)
    layers = _ordered(layers, links)
    every = [place for row in layers for place in row]
    wide = {place: widths[place] if isinstance(place, str) else PASSAGE for place in every}
    x = _coordinates(layers, links, wide, gap)
    y = [height / 2 + k * (height + between) for k in range(len(layers))]
    left = min(x[place] - wide[place] / 2 for place in x)
    right = max(x[place] + wide[place] / 2 for place in x)
    at = {place: (x[place] - left, y[k]) for k, row in enumerate(layers) for place in row}
    half = height / 2
    routes = {
        (a, b): tuple(
            (at[(a, b, k)][0], at[(a, b, k)][1] + side) for k in range(rank[a] + 1, rank[b]) for side in (-half, half)
        )
        for a, b in edges
    }
    return Layout(
        centres={name: at[name] for name in widths},
        routes=routes,
        size=(right - left, len(layers) * (height + between) - between),
    )


def _ranks(nodes: Sequence[str], edges: Sequence[Edge]) -> dict[str, int]:
    """Return the layer of every node: below its parents, close above a child, and in no layer that is full already."""
    most = max(3, math.ceil(1.15 * math.sqrt(len(nodes))))
    above: dict[str, list[str]] = {name: [] for name in nodes}
    below: dict[str, list[str]] = {name: [] for name in nodes}
    for a, b in edges:
        above[b].append(a)
        below[a].append(b)
    # Longest paths from the bottom put every node right above its children.
    depth: dict[str, int] = {}
    full: dict[int, int] = {}
    for name in reversed(nodes):
        level = 1 + max((depth[child] for child in below[name]), default=-1)
        while full.get(level, 0) >= most:
            level += 1
        depth[name] = level
        full[level] = full.get(level, 0) + 1
    deepest = max(depth.values())
    rank = {name: deepest - depth[name] for name in nodes}
    # move nodes without children up to their parents, where there is room
    for name in nodes:
        if not below[name] and above[name]:
            best = 1 + max(rank[parent] for parent in above[name])
            while best < rank[name] and sum(level == best for level in rank.values()) >= most:
                best += 1
            rank[name] = best
    used = sorted(set(rank.values()))
    return {name: used.index(level) for name, level in rank.items()}


def _layers(
    nodes: Sequence[str], edges: Sequence[Edge], rank: Mapping[str, int]
) -> tuple[list[list[LayoutNode]], list[tuple[LayoutNode, LayoutNode]]]:
    """Return the places of every layer, and the links between neighbouring layers."""
    layers: list[list[LayoutNode]] = [[] for _ in range(1 + max(rank.values()))]
    for name in nodes:
        layers[rank[name]].append(name)
    links: list[tuple[LayoutNode, LayoutNode]] = []
    for a, b in edges:
        last: LayoutNode = a
        for k in range(rank[a] + 1, rank[b]):
            layers[k].append((a, b, k))
            links.append((last, (a, b, k)))
            last = (a, b, k)
        links.append((last, b))
    return layers, links


def _ordered(layers: list[list[LayoutNode]], links: Sequence[tuple[LayoutNode, LayoutNode]]) -> list[list[LayoutNode]]:
    """Order every layer by the barycentres of its neighbours, down and up in turn; the fewest crossings win."""
    up, down = _neighbours(links)
    best, fewest = [list(row) for row in layers], _crossings(layers, links)
    for sweep in range(SWEEPS):
        near = up if sweep % 2 == 0 else down
        order = layers if sweep % 2 == 0 else layers[::-1]
        position = {place: float(k) for row in layers for k, place in enumerate(row)}
        for row in order:
            centre = dict(zip(row, _means(row, near, position), strict=True))
            row.sort(key=centre.__getitem__)
            position |= {place: float(k) for k, place in enumerate(row)}
        found = _crossings(layers, links)
        if found < fewest:
            best, fewest = [list(row) for row in layers], found
    return best


def _neighbours(
    links: Sequence[tuple[LayoutNode, LayoutNode]],
) -> tuple[dict[LayoutNode, list[LayoutNode]], dict[LayoutNode, list[LayoutNode]]]:
    up: dict[LayoutNode, list[LayoutNode]] = {}
    down: dict[LayoutNode, list[LayoutNode]] = {}
    for a, b in links:
        up.setdefault(b, []).append(a)
        down.setdefault(a, []).append(b)
    return up, down


def _crossings(layers: Sequence[Sequence[LayoutNode]], links: Sequence[tuple[LayoutNode, LayoutNode]]) -> int:
    level = {place: k for k, row in enumerate(layers) for place in row}
    position = {place: k for row in layers for k, place in enumerate(row)}
    rows: dict[int, list[tuple[int, int]]] = {}
    for a, b in links:
        rows.setdefault(level[a], []).append((position[a], position[b]))
    return sum((a - c) * (b - d) < 0 for found in rows.values() for k, (a, b) in enumerate(found) for c, d in found[:k])


def _coordinates(
    layers: Sequence[Sequence[LayoutNode]],
    links: Sequence[tuple[LayoutNode, LayoutNode]],
    wide: Mapping[LayoutNode, float],
    gap: float,
) -> dict[LayoutNode, float]:
    """Return the middle of every place: as near to the mean of its neighbours as the order and the widths allow."""
    x: dict[LayoutNode, float] = {}
    for row in layers:
        x |= dict(zip(row, _spread([0.0] * len(row), row, wide, gap), strict=True))
    up, down = _neighbours(links)
    for sweep in range(2 * SWEEPS):
        near = up if sweep % 2 == 0 else down
        for row in layers if sweep % 2 == 0 else layers[::-1]:
            x |= dict(zip(row, _spread(_means(row, near, x), row, wide, gap), strict=True))
    return x


def _means(
    row: Sequence[LayoutNode], near: Mapping[LayoutNode, Sequence[LayoutNode]], at: Mapping[LayoutNode, float]
) -> list[float]:
    """Return the mean position of the neighbours of every place; its own where it has none."""
    return [sum(at[other] for other in near[place]) / len(near[place]) if place in near else at[place] for place in row]


def _spread(
    wanted: Sequence[float], row: Sequence[LayoutNode], wide: Mapping[LayoutNode, float], gap: float
) -> list[float]:
    """Return positions closest to the wanted ones, in least squares, in order and without overlap.

    With the least distances taken off, the positions only must not decrease: pool adjacent violators.
    """
    offset = [0.0]
    for a, b in pairwise(row):
        # Edges may run side by side more closely than nodes stand.
        space = gap if isinstance(a, str) or isinstance(b, str) else gap / 3
        offset.append(offset[-1] + (wide[a] + wide[b]) / 2 + space)
    blocks: list[tuple[float, int]] = []
    for want, taken in zip(wanted, offset, strict=True):
        mean, size = want - taken, 1
        while blocks and blocks[-1][0] > mean:
            other, count = blocks.pop()
            mean, size = (mean * size + other * count) / (size + count), size + count
        blocks.append((mean, size))
    level = [mean for mean, size in blocks for _ in range(size)]
    return [a + b for a, b in zip(level, offset, strict=True)]


# --------------------------------------------------------------------------------------------------
# The drawing of a directed acyclic graph, with a role for every node.
# --------------------------------------------------------------------------------------------------

HEIGHT, GAP, LAYER_GAP, MARGIN = 40.0, 16.0, 44.0, 10.0
LETTER, CAPITAL, WIDEST = 7.8, 10.4, 14.0
"""Widths of letters of a label; fonts differ, so they are generous."""

LONGEST_LABEL = 18

SIZES = ((450.0, "network small"), (620.0, "network middle"), (800.0, "network large"), (math.inf, "network wide"))
"""Widths up to which drawings have a class: each shrinks to the width before its own, so that labels can be read."""

MOST_DRAWN = 60
"""Nodes of a network that is drawn where it only illustrates."""


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
    shares : mapping from (str, str) to str
        Words beside edges that are dashed, because not all that is drawn has them.
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
    shares: Mapping[Edge, str] = field(default_factory=dict[Edge, str])


def graph_html(drawing: Drawing) -> Html:
    """Return the drawing in a box that scrolls when it is wider than the page."""
    widths = {name: _width(name, drawing.notes.get(name, "")) for name in drawing.nodes}
    beside = max((LETTER * width(_short(share)) for share in drawing.shares.values()), default=0.0)
    found = layout(widths, drawing.edges, height=HEIGHT, gap=max(GAP, beside), between=LAYER_GAP)
    roads = {edge: (found.centres[edge[0]], *found.routes[edge], found.centres[edge[1]]) for edge in drawing.edges}
    leaving, entering = (_ports(widths, found.centres, roads, end) for end in (0, 1))
    # What stands out is drawn last, above the others.
    edges = [
        _edge((leaving[edge], *found.routes[edge], entering[edge]), edge in drawing.path, drawing.shares.get(edge, ""))
        for edge in sorted(drawing.edges, key=lambda edge: edge in drawing.path)
    ]
    said = [
        _share((leaving[edge], *found.routes[edge], entering[edge]), share)
        for edge, share in drawing.shares.items()
        if share
    ]
    nodes = [_node(name, found.centres[name], widths[name], drawing) for name in drawing.nodes]
    inner = element("g", *edges, *nodes, *said, transform=f"translate({MARGIN:g},{MARGIN:g})")
    size = (found.size[0] + 2 * MARGIN, found.size[1] + 2 * MARGIN)
    class_ = next(name for most, name in SIZES if size[0] <= most)
    picture = html.drawing(size, inner, title=drawing.title, desc=drawing.desc, class_=class_)
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


def _edge(points: Sequence[Point], strong: bool, share: str) -> Html:
    kind = "edge path" if strong else "edge"
    (x, y) = points[-1]
    line = html.curve((*points[:-1], (x, y - 5)), f"{kind} some" if share else kind)
    return join(line, html.arrowhead((x, y), f"{kind} head"))


def _share(points: Sequence[Point], share: str) -> Html:
    """Return how many models have an edge, over all else; which way it points is told when it is pointed at."""
    middle = len(points) // 2
    at = ((points[middle - 1][0] + points[middle][0]) / 2, (points[middle - 1][1] + points[middle][1]) / 2 + 4)
    return html.text(at, _short(share), "share", share)


def _short(share: str) -> str:
    return share.partition(",")[0].replace(" of ", "/")


def _node(name: str, centre: Point, wide: float, drawing: Drawing) -> Html:
    role, note = drawing.roles.get(name, "plain"), drawing.notes.get(name, "")
    x, y = centre
    corner = (x - wide / 2, y - HEIGHT / 2)
    parts = [html.rect(corner, (wide, HEIGHT), "box", radius=6)]
    if role == "protected":  # a second border, so that it is found without colours
        parts.append(html.rect((corner[0] + 3, corner[1] + 3), (wide - 6, HEIGHT - 6), "inner", radius=4))
    parts.append(html.text((x, y + (-1 if note else 5)), _label(name), "label"))
    if note:
        parts.append(html.text((x, y + 13), note, "note"))
    shown = visible(name) + (f": {role}" if role != "plain" else "") + (f", {note}" if note else "")
    return element("g", element("title", shown), *parts, class_=f"node {role}")
