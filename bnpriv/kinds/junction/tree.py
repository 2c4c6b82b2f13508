"""Junction trees: in which order nodes are eliminated, and the cliques that come of it."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from bnpriv.bound import FloatArray

# --------------------------------------------------------------------------------------------------
# Orders in which the nodes of a graph are eliminated so that the tables on the way stay small.
#
# Sets of nodes are whole numbers here, bit k for node k: unions and differences of a thousand nodes take one
# operation.
# --------------------------------------------------------------------------------------------------

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


# --------------------------------------------------------------------------------------------------
# Junction trees: cliques of a triangulated moral graph, joined so that every node's cliques hang together.
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, slots=True)
class Clique:
    """One clique of a rooted tree.

    Parameters
    ----------
    axes : tuple of int
        Its nodes, those that it shares with its parent first; two cliques have the nodes that they share in one order.
    sizes : tuple of int
        How many states they have.
    parent : int
        The clique nearer to the root; -1 for a root.
    shared : int
        How many of the first axes are shared with the parent.
    children : list of int
        The cliques next to it, away from the root.
    tables : list of int
        The nodes whose tables are multiplied into its own.
    """

    axes: tuple[int, ...]
    sizes: tuple[int, ...]
    parent: int
    shared: int
    children: list[int]
    tables: list[int]

    @property
    def separator(self) -> tuple[int, ...]:
        """The nodes that are shared with the parent."""
        return self.axes[: self.shared]

    @property
    def own(self) -> tuple[int, ...]:
        """The nodes that no clique nearer to the root has."""
        return self.axes[self.shared :]

    def places(self, child: Clique) -> tuple[int, ...]:
        """Where the nodes that a child shares with it stand among its own axes."""
        return tuple(self.axes.index(node) for node in child.separator)

    @property
    def cells(self) -> int:
        """How many cells its table has."""
        return math.prod(self.sizes)

    @property
    def outside(self) -> int:
        """How many cells the table over the shared nodes has."""
        return math.prod(self.sizes[: self.shared])


@dataclass(frozen=True, eq=False)
class JunctionTree:
    """A forest of cliques, parents before children, the cliques below one clique next to each other.

    Parameters
    ----------
    cliques : list of Clique
    order : list of int
        All nodes, by the clique that is nearest to the root: those below one clique are next to each other.
    sizes : tuple of int
        How many states every node has.
    """

    cliques: list[Clique]
    order: list[int]
    sizes: tuple[int, ...]

    @classmethod
    def of(cls, families: Sequence[tuple[int, ...]], sizes: Sequence[int]) -> JunctionTree:
        """Join the cliques of the best triangulation that is found.

        Parameters
        ----------
        families : sequence of tuple of int
            Every node with its parents.
        sizes : sequence of int
            How many states every node has.

        Examples
        --------
        >>> tree = JunctionTree.of([(0,), (1, 0), (2, 1)], [2, 2, 2])
        >>> [(clique.separator, clique.own, clique.tables) for clique in tree.cliques]
        [((), (0, 1), [0, 1]), ((1,), (2,), [2])]
        """
        found = best_triangulation(moral_graph(families), sizes)
        return _rooted(found, _roots(found, sizes), families, sizes)


def _roots(found: Triangulation, sizes: Sequence[int]) -> list[int]:
    """For every tree the clique from which the laws of all nodes below each clique take the least work.

    What a clique sends towards the root costs its cells for every state of the nodes at and below it. Moving the root
    to a neighbour changes only who is below whom at the edge between them.
    """
    cells = [math.prod([sizes[node] for node in members(clique)]) for clique in found.cliques]
    seen: set[int] = set()
    roots: list[int] = []
    for start in range(len(cells)):
        if start not in seen:
            above = _spanned(found.near, start)
            seen |= above.keys()
            roots.append(_cheapest(found.cliques, above, cells, sizes))
    return roots


def _spanned(near: Sequence[Sequence[int]], start: int) -> dict[int, int]:
    """All cliques of one tree, those nearer to `start` first, each with the one above it; itself for `start`."""
    above = {start: start}
    todo = [start]
    while todo:
        k = todo.pop()
        fresh = [each for each in near[k] if each != above[k]]
        above.update(dict.fromkeys(fresh, k))
        todo += fresh
    return above


def _cheapest(cliques: Sequence[int], above: dict[int, int], cells: Sequence[int], sizes: Sequence[int]) -> int:
    """The clique of one tree that is the cheapest root."""
    order = list(above)
    width = {k: sum([sizes[node] for node in members(cliques[k] & ~_others(cliques, above, k))]) for k in order}
    for k in reversed(order[1:]):
        width[above[k]] += width[k]
    whole = width[order[0]]
    cost = {order[0]: sum(cells[k] * width[k] for k in order[1:])}
    for k in order[1:]:
        cost[k] = cost[above[k]] - cells[k] * width[k] + cells[above[k]] * (whole - width[k])
    return min(order, key=cost.__getitem__)


def _others(cliques: Sequence[int], above: dict[int, int], k: int) -> int:
    return 0 if above[k] == k else cliques[above[k]]


def _rooted(
    found: Triangulation, roots: Sequence[int], families: Sequence[tuple[int, ...]], sizes: Sequence[int]
) -> JunctionTree:
    """Number the cliques from the roots on."""
    cliques: list[Clique] = []
    order: list[int] = []
    rank: dict[int, int] = {}
    home: dict[int, int] = {}
    todo = [(root, -1, -1) for root in reversed(roots)]
    while todo:
        k, above, parent = todo.pop()
        place = len(cliques)
        all_nodes = list(members(found.cliques[k]))
        own = [node for node in all_nodes if node not in rank]
        for node in own:
            rank[node] = len(order)
            home[node] = place
            order.append(node)
        axes = tuple(sorted(all_nodes, key=rank.__getitem__))
        cliques.append(
            Clique(
                axes=axes,
                sizes=tuple(sizes[node] for node in axes),
                parent=parent,
                shared=len(axes) - len(own),
                children=[],
                tables=[],
            )
        )
        if parent >= 0:
            cliques[parent].children.append(place)
        todo += [(each, k, place) for each in found.near[k] if each != above]
    for node, family in enumerate(families):
        cliques[home[max(family, key=rank.__getitem__)]].tables.append(node)
    return JunctionTree(cliques=cliques, order=order, sizes=tuple(sizes))


# --------------------------------------------------------------------------------------------------
# States that declared zeros make impossible in every model, and nodes with no other: a junction tree needs neither.
# --------------------------------------------------------------------------------------------------

StatesLeft = Mapping[int, NDArray[np.intp]]
"""For the nodes with impossible states, the numbers of those that are left, ascending."""


def states_left(logs: Sequence[FloatArray], families: Sequence[tuple[int, ...]]) -> StatesLeft:
    """Which states are left of the nodes that have impossible ones.

    A state is impossible if under every model all its entries are declared zeros, but for parents in impossible states.
    It may be impossible for other reasons too; then it is kept.

    Parameters
    ----------
    logs : sequence of ndarray
        The log tables of the nodes, parents before children, each of shape (models, states, *states of the parents).
    families : sequence of tuple of int
        Every node with its parents, in the order of the axes of its table.

    Examples
    --------
    >>> coin, copy = np.log([[0.5, 0.5, 1e-300]]), np.log([[[1.0, 1.0, 1e-300], [1e-300, 1e-300, 1.0]]])
    >>> states_left([coin, copy], [(0,), (1, 0)])
    {}
    >>> coin[0, 2], copy[0, 1, :2] = -np.inf, -np.inf
    >>> states_left([coin, copy], [(0,), (1, 0)])
    {0: array([0, 1]), 1: array([0])}
    """
    left: dict[int, NDArray[np.intp]] = {}
    for node, (table, family) in enumerate(zip(logs, families, strict=True)):
        if np.min(table) > -np.inf:
            continue
        largest = without_impossible(np.max(table, axis=0)[np.newaxis], (node, *family[1:]), left)[0]
        possible = largest.reshape(len(largest), -1).max(axis=1) > -np.inf
        if not possible.all():
            left[node] = np.flatnonzero(possible)
    return left


def without_impossible(table: FloatArray, family: Sequence[int], left: StatesLeft) -> FloatArray:
    """A table, whose axes after the models are those of a family, without impossible states."""
    for axis, node in enumerate(family, start=1):
        if node in left:
            table = np.take(table, left[node], axis=axis)
    return table


def without_constants(families: Sequence[tuple[int, ...]], sizes: Sequence[int]) -> list[tuple[int, ...]]:
    """Return families without nodes that have one state: alone in its own, such a node is in no other.

    Examples
    --------
    >>> without_constants([(0,), (1, 0), (2, 0, 1)], [2, 1, 3])
    [(0,), (1,), (2, 0)]
    """
    return [
        (node, *(parent for parent in parents if sizes[parent] > 1)) if sizes[node] > 1 else (node,)
        for node, *parents in families
    ]
