"""Which edges carry an influence, and what would be left of it without each of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import cast

from bnpriv.errors import BnprivError, SizeError
from bnpriv.influence.base import Influence
from bnpriv.influence.surgery import without_edge
from bnpriv.networks.discrete import DiscreteNetwork
from bnpriv.networks.exact import require_discrete
from bnpriv.networks.graph import Graph
from bnpriv.render.layout import Edge
from bnpriv.report.values import EdgeEffect

MOST_EDGES = 60
"""Edges that are tried; each needs the influence in a network of its own."""


def edges_between(graph: Graph, protected: str, columns: Iterable[str]) -> tuple[Edge, ...]:
    """Return every edge on a path between a protected attribute and one of `columns`, in the order of the graph.

    Attributes that are no ancestor of them make no difference, and are left out. An edge lies on a path between two
    nodes when it shares a cycle with a new edge between them, that is, lies in the same biconnected component.

    Examples
    --------
    >>> graph = Graph({"a": (), "b": ("a",), "c": ("b",), "d": ("b",), "e": ("d",)})
    >>> edges_between(graph, "a", {"d"})
    (('a', 'b'), ('b', 'd'))
    """
    import networkx as nx

    ends = frozenset(columns) - {protected}
    inside = graph.ancestral((protected, *ends))
    between: nx.Graph[object] = nx.Graph()
    between.add_edges_from(edge for edge in graph.edges if edge[1] in inside)
    goal = object()
    between.add_edges_from((name, goal) for name in ends)
    between.add_edge(protected, goal)
    # networkx has no types for this function's result
    parts = cast("Iterable[Iterable[tuple[object, object]]]", nx.biconnected_component_edges(between))
    for part in parts:
        found = {frozenset(edge) for edge in part}
        if frozenset((protected, goal)) in found:
            return tuple(edge for edge in graph.edges if frozenset(edge) in found)
    return ()


def leak_path(influence: Influence) -> tuple[Edge, ...]:
    """Return the edges of one open path to every column that carries an influence."""
    graph = influence.network.graph
    steps: dict[Edge, None] = {}
    unconditional = graph.open_paths(influence.protected, ())
    for name in influence.frontier:
        if name == influence.protected:
            continue  # of a chain: no edge of the network leads from one value of a column to another
        others = set(influence.frontier) - {name}
        path = unconditional.get(name) or graph.open_paths(influence.protected, others)[name]
        steps |= {(a, b) if a in graph.parents[b] else (b, a): None for a, b in pairwise(path)}
    return tuple(steps)


def edge_effects(influence: Influence, elsewhere: Callable[..., Influence]) -> tuple[tuple[EdgeEffect, ...], int]:
    """Return what would be left of an influence without each edge, and how many edges were not tried.

    The edge without which most would change comes first; there are none in networks whose tables are not exact.

    Parameters
    ----------
    influence : Influence
    elsewhere : callable
        What columns tell in another network, given how many rows share the work.
    """
    try:
        network = require_discrete(influence.network, "the effect of an edge")
    except BnprivError:
        return (), 0
    every = edges_between(network.graph, influence.protected, influence.frontier)
    tried = every[:MOST_EDGES]
    effects = [
        EdgeEffect(
            edge=edge, influence=_told(without_edge(network, *edge), influence.columns, elsewhere, len(tried) - place)
        )
        for place, edge in enumerate(tried)
    ]
    now = float(influence)
    effects.sort(key=lambda effect: 0.0 if effect.nats == now else -abs(now - effect.nats))
    return tuple(effects), len(every) - len(effects)


def _told(
    network: DiscreteNetwork, columns: Iterable[str], elsewhere: Callable[..., Influence], rows: int
) -> Influence | None:
    try:
        found = elsewhere(network, columns, rows)
    except SizeError:
        return None
    return None if found.too_large else found  # an upper bound would not be comparable
