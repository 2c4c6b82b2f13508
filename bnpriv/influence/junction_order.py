"""Orders in which the nodes of a graph are eliminated so that the tables on the way stay small.

Sets of nodes are whole numbers here, bit k for node k: unions and differences of a thousand nodes take one operation.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, final

Rule = Literal["weight", "fill", "weighted fill"]

SMALL_CELLS = 2**11
"""Tables of fewer cells together cost less than a second order would."""

LARGE_CELLS = 2**20
"""Tables of more cells together are worth a third order, unless there are many nodes."""

MANY_NODES = 400
"""A third order for more nodes takes seconds."""

ORDER_RULES: tuple[tuple[Rule, int], ...] = (("weight", 0), ("fill", SMALL_CELLS), ("weighted fill", LARGE_CELLS))
"""The rules, each with the cells that the best order before must have to make it worth trying."""


def members(nodes: int) -> Iterator[int]:
    """Yield the nodes of a set, ascending.

    Examples
    --------
    >>> list(members(0b1101))
    [0, 2, 3]
    """
    while nodes:
        last = nodes & -nodes
        yield last.bit_length() - 1
        nodes ^= last


def moral_graph(families: Sequence[tuple[int, ...]]) -> list[int]:
    """The neighbours of every node where all members of a family (a node and its parents) are neighbours.

    Examples
    --------
    >>> moral_graph([(0,), (1,), (2, 0, 1)])
    [6, 5, 3]
    """
    near = [0] * len(families)
    for family in families:
        together = sum(1 << node for node in family)
        for node in family:
            near[node] |= together
    return [around & ~(1 << node) for node, around in enumerate(near)]


def elimination_order(near: Sequence[int], sizes: Sequence[int], rule: Rule) -> list[tuple[int, int]]:
    """The nodes in the order of their elimination, each with the neighbours that it has by then.

    Parameters
    ----------
    near : sequence of int
        The neighbours of every node.
    sizes : sequence of int
        How many states every node has.
    rule : {"weight", "fill", "weighted fill"}
        What is least for the node that comes next: the cells of the table of it and its neighbours, or the edges
        between its neighbours that are missing, counted or each weighted by the bits of its ends (the cells decide
        between equals).
    """
    left, bits = list(near), [math.log2(size) for size in sizes]

    def cost(node: int) -> tuple[float, float]:
        around = left[node]
        others = list(members(around))
        cells = bits[node] + math.fsum(bits[each] for each in others)
        if rule == "weight":
            return cells, 0.0
        if rule == "fill":
            return sum((around & ~left[each]).bit_count() - 1 for each in others), cells
        missing = ((each, around & ~left[each] & ~(1 << each)) for each in others)
        return math.fsum(bits[a] * bits[b] for a, far in missing for b in members(far)), cells

    costs = {node: cost(node) for node in range(len(left))}
    heap = [(each, node) for node, each in costs.items()]
    heapq.heapify(heap)
    order: list[tuple[int, int]] = []
    while heap:
        found, node = heapq.heappop(heap)
        if costs.get(node) != found:
            continue
        del costs[node]
        around = left[node]
        order.append((node, around))
        touched = around
        for each in members(around):
            left[each] = (left[each] | around) & ~(1 << each) & ~(1 << node)
            if rule != "weight":
                touched |= left[each]
        for each in members(touched):
            new = cost(each)
            if new != costs[each]:
                costs[each] = new
                heapq.heappush(heap, (new, each))
    return order


@final
@dataclass(frozen=True)
class Triangulation:
    """The maximal cliques of a triangulated graph.

    Parameters
    ----------
    cliques : list of int
    near : list of list of int
        For every clique those next to it in a tree (a forest where the graph is not connected): what two cliques share
        lies in all cliques between them.
    """

    cliques: list[int]
    near: list[list[int]]

    @classmethod
    def of(cls, order: Sequence[tuple[int, int]]) -> Triangulation:
        """Collect the cliques of an elimination.

        A node with its neighbours at its turn, its bucket, hangs below the bucket of the neighbour that comes first.
        Where the neighbours are the whole of that bucket, it is no clique of its own.
        """
        turn = {node: k for k, (node, _) in enumerate(order)}
        below: list[list[int]] = [[] for _ in order]
        cliques: list[int] = []
        near: list[list[int]] = []
        clique_of: list[int] = []
        for k, (node, around) in enumerate(order):
            bucket = around | 1 << node
            whole = next((each for each in below[k] if order[each][1] == bucket), None)
            if whole is None:
                clique_of.append(len(cliques))
                cliques.append(bucket)
                near.append([])
            else:
                clique_of.append(clique_of[whole])
            for each in below[k]:
                if each != whole:
                    near[clique_of[k]].append(clique_of[each])
                    near[clique_of[each]].append(clique_of[k])
            if around:
                below[min(turn[each] for each in members(around))].append(k)
        return cls(cliques, near)


def best_triangulation(near: Sequence[int], sizes: Sequence[int]) -> Triangulation:
    """The best triangulation found: smallest tables together, then smallest largest."""
    best: tuple[tuple[int, int], Triangulation] | None = None
    for rule, least in ORDER_RULES:
        if best is not None and (best[0][0] <= least or (rule == "weighted fill" and len(sizes) > MANY_NODES)):
            break
        found = Triangulation.of(elimination_order(near, sizes, rule))
        cells = [math.prod(sizes[node] for node in members(clique)) for clique in found.cliques]
        cost = sum(cells), max(cells)
        if best is None or cost < best[0]:
            best = cost, found
    assert best is not None
    return best[1]
