"""Junction trees: cliques of a triangulated moral graph, joined so that every node's cliques hang together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from bnpriv.influence.junction_order import Triangulation, best_triangulation, members, moral_graph


@final
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


@final
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
    found: Triangulation,
    roots: Sequence[int],
    families: Sequence[tuple[int, ...]],
    sizes: Sequence[int],
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
