"""Junction trees: in which order nodes are eliminated, the cliques that come of it, and messages between them."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, combinations
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


# --------------------------------------------------------------------------------------------------
# Tables of weights in doubles, with a proved bound below which no positive entry lies: nothing underflows unseen.
# --------------------------------------------------------------------------------------------------

LOWEST = -1000.0
"""Products that might be below 2 to this power are not made: normal doubles end at 2^-1022."""


MOST_TERMS = 256
"""Axes next to each other are summed together while they have no more cells: longer sums gather more roundings."""

FEW_TERMS = 16
"""InfluenceRows that are shorter are summed as a product of matrices, where NumPy's own loop would be all overhead."""


class OutOfRangeError(Exception):
    """Positive numbers so small that doubles cannot hold their products."""


class WeightTable:
    """Weights that are not negative, zero only where declared tables force it.

    Parameters
    ----------
    values : ndarray
        At most 1, up to rounding; the first axis runs over the models of Theta, of length 1 where all models agree.
        Kept in the order of its axes: sums and products of matrices then do not depend on how many models there are.
    floor : float
        Every positive entry is at least 2 to this power.
    """

    __slots__ = ("floor", "values")

    def __init__(self, values: FloatArray, floor: float) -> None:
        self.values = np.ascontiguousarray(values)
        self.floor = floor

    def measure(self) -> None:
        """Replace the bound, which follows from those of the factors, by that of the entries themselves."""
        least = float(np.min(self.values, where=self.values > 0, initial=1.0))
        self.floor = math.frexp(least)[1] - 1.0


def weights_of(logs: Sequence[FloatArray]) -> list[WeightTable]:
    """Return tables of logs of probabilities as probabilities, each with the power of two that none is below.

    Raises
    ------
    OutOfRangeError
        If a probability is too small for doubles.
    """
    flat = np.concatenate([each.ravel() for each in logs])
    starts = np.concatenate([[0], np.cumsum([each.size for each in logs])[:-1]])
    least = np.minimum.reduceat(np.where(np.isneginf(flat), 0.0, flat), starts).tolist()
    if min(least) < LOWEST * math.log(2):  # its exponential might be 0, and then no look at the table would tell
        raise OutOfRangeError
    values = np.exp(flat)
    found: list[WeightTable] = []
    for start, low, each in zip(starts.tolist(), least, logs, strict=True):
        table = values[start : start + each.size].reshape(each.shape)
        found.append(WeightTable(table, math.floor(low / math.log(2)) - 1.0))
    return found


def product_floor(*factors: WeightTable) -> float:
    """The power of two that no positive product of entries of all factors is below.

    Raises
    ------
    OutOfRangeError
        If it may be below the normal doubles.
    """
    floor = math.fsum(each.floor for each in factors)
    if floor < LOWEST:
        for each in factors:
            each.measure()
        floor = math.fsum(each.floor for each in factors)
        if floor < LOWEST:
            raise OutOfRangeError
    return floor


def inverse(weights: FloatArray) -> FloatArray:
    """One over positive weights, 0 for those that are 0; division by zero must be ignored by the caller."""
    found = 1.0 / weights
    found[weights == 0] = 0.0
    return found


def summed(table: FloatArray, kept: Sequence[int]) -> FloatArray:
    """The sums of a table of shape (models, *sizes) over all axes but the models and those `kept`, ascending.

    Axes next to each other are taken together, and the longest is summed first: many short sums cost most. Every sum is
    over one axis, or over at most `MOST_TERMS` cells.
    """
    lengths: list[int] = [1]
    stays: list[bool] = [True]
    for k, size in enumerate(table.shape[1:]):
        if stays[-1] == (k in kept) and (stays[-1] or lengths[-1] * size <= MOST_TERMS):
            lengths[-1] *= size
        else:
            lengths.append(size)
            stays.append(k in kept)
    models = table.shape[0]
    lengths[0] *= models
    for k in sorted((k for k, stay in enumerate(stays) if not stay), key=lambda k: -lengths[k]):
        before, after = math.prod(lengths[:k]), math.prod(lengths[k + 1 :])
        table = table.reshape(before, lengths[k], after)
        few = 1 < after < FEW_TERMS <= lengths[k]
        table = np.ones(lengths[k]) @ table if few else np.add.reduce(table, axis=1)
        lengths[k] = 1
    return table.reshape(models, -1)


def carried(table: FloatArray, to: Sequence[int], given: Sequence[int], laws: FloatArray) -> FloatArray:
    """Carry laws given some nodes over to other nodes: sum over the `given` of the table times the laws.

    Parameters
    ----------
    table : ndarray of shape (models, *sizes)
        The axes of a clique, after the models.
    to, given : sequence of int
        Places among these axes, ascending; they may have some in common.
    laws : ndarray of shape (models, cells of given, columns)

    Returns
    -------
    ndarray of shape (models, cells of to, columns)
    """
    sizes = table.shape[1:]
    common = [k for k in given if k in to]
    fresh, gone = [k for k in to if k not in common], [k for k in given if k not in common]
    kept = sorted([*to, *gone])
    small = table if len(kept) == len(sizes) else summed(table, kept)
    order = [*common, *fresh, *gone]
    if order != kept:
        split = small.reshape(small.shape[0], *(sizes[k] for k in kept))
        small = split.transpose([0, *(1 + kept.index(k) for k in order)])
    shared, outer, inner = (math.prod([sizes[k] for k in places]) for places in (common, fresh, gone))
    small = small.reshape(small.shape[0], shared, outer, inner)
    models, columns = laws.shape[0], laws.shape[2]
    before = [*common, *gone]
    if before != list(given):
        places = [1 + given.index(k) for k in before]
        split = laws.reshape(models, *(sizes[k] for k in given), columns)
        laws = split.transpose([0, *places, len(given) + 1])
    laws = laws.reshape(models, shared, inner, columns)
    found = small * laws if inner == 1 else small @ laws
    after = [*common, *fresh]
    if after != list(to):
        split = found.reshape(found.shape[0], *(sizes[k] for k in after), columns)
        found = split.transpose([0, *(1 + after.index(k) for k in to), len(to) + 1])
    return found.reshape(found.shape[0], -1, columns)


# --------------------------------------------------------------------------------------------------
# Messages between the cliques of a junction tree, until every clique has the joint law of its nodes.
# --------------------------------------------------------------------------------------------------


class CliqueLaws:
    """The tables of a junction tree after one pass of messages to the roots and one back.

    Parameters
    ----------
    tree : JunctionTree
    below : mapping from int to WeightTable
        For every clique the product of the tables in it and below it, what is not in it summed out; of shape
        (models, *sizes).
    shared : mapping from int to WeightTable
        The same summed down to the nodes that are shared with the parent; of shape (models, cells).
    outer : list of WeightTable
        For every clique the joint law of the nodes that are shared with the parent; of shape (models, cells).
    laws : list of WeightTable
        For every clique the joint law of its nodes.
    """

    def __init__(self, tree: JunctionTree, families: Sequence[tuple[int, ...]], tables: Sequence[WeightTable]) -> None:
        self.tree = tree
        self.below: dict[int, WeightTable] = {}
        self.shared: dict[int, WeightTable] = {}
        self.outer: list[WeightTable] = []
        self.laws: list[WeightTable] = []
        cliques = self.tree.cliques
        for k in reversed(range(len(cliques))):
            factors = [(tables[node], families[node]) for node in cliques[k].tables]
            factors += [(self.shared[child], cliques[child].separator) for child in cliques[k].children]
            # by the cells of one model: the order, and with it the last bit, is the same for any number of models
            factors.sort(key=lambda factor: factor[0].values[0].size)
            whole = _multiplied(factors, cliques[k])
            self.below[k] = whole
            self.shared[k] = WeightTable(summed(whole.values, range(cliques[k].shared)), whole.floor)
        self._from_roots()

    @property
    def models(self) -> int:
        """How many models the laws are of."""
        return max((each.values.shape[0] for each in self.laws), default=1)

    def _from_roots(self) -> None:
        for k, clique in enumerate(self.tree.cliques):
            below, shared = self.below[k], self.shared[k]
            if clique.parent < 0:
                self.laws.append(below)
                self.outer.append(shared)
                continue
            above = self.tree.cliques[clique.parent]
            law = self.laws[clique.parent]
            outer = WeightTable(summed(law.values, above.places(clique)), law.floor)
            self.outer.append(outer)
            ratio = WeightTable(outer.values * inverse(shared.values), law.floor - 1)
            floor = product_floor(below, ratio)
            spread = ratio.values.reshape(
                -1, *clique.sizes[: clique.shared], *(1 for _ in clique.sizes[clique.shared :])
            )
            self.laws.append(WeightTable(below.values * spread, floor))


def _multiplied(factors: Sequence[tuple[WeightTable, tuple[int, ...]]], clique: Clique) -> WeightTable:
    """The product of tables over nodes of a clique, with all its axes."""
    floor = product_floor(*(table for table, _ in factors))
    whole: FloatArray | None = None
    for table, nodes in factors:
        spread = _spread(table.values, nodes, clique)
        whole = spread if whole is None else whole * spread
    assert whole is not None
    if whole.shape[1:] != clique.sizes:
        whole = np.broadcast_to(whole, (whole.shape[0], *clique.sizes)).copy()
    return WeightTable(whole, floor)


def _spread(values: FloatArray, nodes: Sequence[int], clique: Clique) -> FloatArray:
    """A table with the axes of a clique, of length 1 where it does not have them."""
    places = [clique.axes.index(node) for node in nodes]
    order = sorted(range(len(nodes)), key=places.__getitem__)
    shape = [1] * len(clique.axes)
    for place in places:
        shape[place] = clique.sizes[place]
    if values.ndim == len(nodes) + 1:
        values = values.transpose([0, *(1 + k for k in order)])
    return values.reshape(values.shape[0], *shape)


# --------------------------------------------------------------------------------------------------
# The joint laws of pairs of nodes, from the cliques of a calibrated junction tree.
# --------------------------------------------------------------------------------------------------

# --------------------------------------------------------------------------------------------------
# The joint laws of all pairs of nodes, from the cliques of a calibrated junction tree.
# --------------------------------------------------------------------------------------------------

CARRYING = 8
"""How much longer a multiplication takes in many small products of matrices than in one large one."""


GROUP_CELLS = 64
"""Own nodes of a clique are taken together up to so many cells."""


class ColumnSource:
    """Nodes at or below a clique whose states are told by few nodes of the clique.

    Parameters
    ----------
    places : tuple of int
        The places of these few nodes in the clique, ascending.
    laws : WeightTable
        P(state | these few nodes), of shape (models, cells of these few nodes, columns).
    columns : slice
        Which columns of the laws of all pairs the states are.
    """

    __slots__ = ("columns", "laws", "places")

    def __init__(self, places: tuple[int, ...], laws: WeightTable, columns: slice) -> None:
        self.places = places
        self.laws = laws
        self.columns = columns

    @property
    def width(self) -> int:
        """How many states are told."""
        return self.columns.stop - self.columns.start


def own_groups(clique: Clique, start: int) -> list[tuple[tuple[int, ...], slice]]:
    """The places of the clique's own nodes, in groups, each with its columns, which begin at `start`."""
    found: list[tuple[tuple[int, ...], slice]] = []
    place = clique.shared
    while place < len(clique.axes):
        last, cells = place + 1, clique.sizes[place]
        while last < len(clique.axes) and cells * clique.sizes[last] <= GROUP_CELLS:
            cells *= clique.sizes[last]
            last += 1
        width = sum(clique.sizes[place:last])
        found.append((tuple(range(place, last)), slice(start, start + width)))
        start += width
        place = last
    return found


@lru_cache(maxsize=1024)
def indicators(sizes: tuple[int, ...]) -> FloatArray:
    """For every cell of a table which states it has, 1 or 0, of shape (1, cells, states of all axes)."""
    cells = math.prod(sizes)
    found = np.zeros((1, cells, sum(sizes)))
    start, places = 0, np.arange(cells)
    for k, size in enumerate(sizes):
        inner = math.prod(sizes[k + 1 :])
        found[0, places, start + places // inner % size] = 1.0
        start += size
    return found


def column_starts(tree: JunctionTree) -> list[int]:
    """Where the columns of every node in `JunctionTree.order` begin, and where the last one ends."""
    starts = [0]
    for node in tree.order:
        starts.append(starts[-1] + tree.sizes[node])
    return starts


def pair_laws(calibrated: CliqueLaws) -> FloatArray:
    """The joint law of every two nodes of one tree.

    Returns
    -------
    ndarray of shape (models, states of all nodes, states of all nodes)
        In the order of `JunctionTree.order`; 0 between nodes of different trees, and on the diagonal blocks the laws
        of single nodes.
    """
    tree = calibrated.tree
    starts = column_starts(tree)
    found = np.zeros((calibrated.models, starts[-1], starts[-1]))
    first = dict(zip(tree.order, starts, strict=False))
    sent: dict[int, tuple[WeightTable, slice]] = {}
    for k in reversed(range(len(tree.cliques))):
        clique = tree.cliques[k]
        sources: list[ColumnSource] = []
        for places, columns in own_groups(clique, first[clique.own[0]]):
            sizes = tuple(clique.sizes[k] for k in places)
            # those of a node of many states are not kept
            told = indicators(sizes) if math.prod(sizes) <= GROUP_CELLS else np.eye(sizes[0])[np.newaxis]
            sources.append(ColumnSource(places, WeightTable(told, 0.0), columns))
        own = len(sources)
        for child in clique.children:
            laws, columns = sent.pop(child)
            sources.append(ColumnSource(clique.places(tree.cliques[child]), laws, columns))
        _meet(calibrated.laws[k], sources, own, found)
        if clique.parent >= 0 and clique.shared:
            sources.sort(key=lambda source: source.columns.start)
            to, told_of = tuple(range(clique.shared)), [(source.places, source.laws) for source in sources]
            laws = laws_given(calibrated.below[k], calibrated.shared[k], to, told_of)
            sent[k] = laws, slice(sources[0].columns.start, max(each.columns.stop for each in sources))
    return found


def laws_given(
    table: WeightTable, divisor: WeightTable, to: tuple[int, ...], told: Sequence[tuple[tuple[int, ...], WeightTable]]
) -> WeightTable:
    """Carry laws given nodes of a clique over to its nodes `to`, of which the table is a multiple by the divisor."""
    floor = min(product_floor(table, laws) for _, laws in told)
    parts = [carried(table.values, to, places, laws.values) for places, laws in told]
    models = max(each.shape[0] for each in parts)
    whole = np.concatenate([np.broadcast_to(each, (models, *each.shape[1:])) for each in parts], axis=2)
    return WeightTable(whole * inverse(divisor.values)[:, :, np.newaxis], floor - 1)


def _meet(law: WeightTable, sources: list[ColumnSource], own: int, found: FloatArray) -> None:
    """Write the joint laws of nodes of different sources, and the laws of the clique's own nodes."""
    sizes = law.values.shape[1:]
    for source in sources[:own]:
        alone = summed(law.values, source.places)[:, :, np.newaxis]
        table = source.laws.values
        found[:, source.columns, source.columns] = table.transpose(0, 2, 1) @ np.ascontiguousarray(alone * table)
    for one, other in combinations(sources, 2):
        to, given = (one, other) if _cost(one, other, sizes) <= _cost(other, one, sizes) else (other, one)
        floor = product_floor(law, given.laws)
        joint = WeightTable(carried(law.values, to.places, given.places, given.laws.values), floor)
        product_floor(to.laws, joint)
        met = to.laws.values.transpose(0, 2, 1) @ joint.values
        found[:, to.columns, given.columns] = met
        found[:, given.columns, to.columns] = met.transpose(0, 2, 1)


def _cost(to: ColumnSource, given: ColumnSource, sizes: tuple[int, ...]) -> int:
    """Return roughly how long it takes to carry one source to the nodes of the other and to meet there."""
    carrying = math.prod([sizes[k] for k in {*to.places, *given.places}])
    return (CARRYING * carrying + to.laws.values.shape[1] * to.width) * given.width


def peak_cells(tree: JunctionTree) -> int:
    """At most how many cells all tables of one model that are held at once have."""
    states = sum(tree.sizes)
    tables = 3 * sum(clique.cells for clique in tree.cliques)
    width = [sum(tree.sizes[node] for node in clique.own) for clique in tree.cliques]
    live = most = 0
    for k in reversed(range(len(tree.cliques))):
        clique = tree.cliques[k]
        below = sum(tree.cliques[child].outside * width[child] for child in clique.children)
        width[k] += sum(width[child] for child in clique.children)
        sent = clique.outside * width[k]
        # what children sent is copied twice on the way, and so is what is sent on
        most = max(most, live + 2 * below + 3 * sent)
        live += sent - below
    # and the laws of one node of many states given itself, twice multiplied with others
    return tables + most + 2 * states * states + 3 * max(tree.sizes, default=0) ** 2


# --------------------------------------------------------------------------------------------------
# The joint laws of a few nodes with all others: one sweep over a calibrated junction tree, out from these nodes.
# --------------------------------------------------------------------------------------------------

Message = tuple[tuple[int, ...], WeightTable, NDArray[np.intp]]
"""Places of a few nodes in a clique, the laws of rows given these nodes, and which rows they are."""


EVERY = slice(None)


def row_laws(calibrated: CliqueLaws, rows: Sequence[int], states: slice = EVERY) -> FloatArray:
    """The joint laws of some nodes with all nodes.

    Parameters
    ----------
    calibrated : CliqueLaws
    rows : sequence of int
        The nodes, in the order of `JunctionTree.order`.
    states : slice
        Which states of the nodes; every one by default.

    Returns
    -------
    ndarray of shape (models, states of the rows, states of all nodes)
        Columns in the order of `JunctionTree.order`; the laws of single nodes on the diagonal blocks.
    """
    tree = calibrated.tree
    starts = column_starts(tree)
    first = dict(zip(tree.order, starts, strict=False))
    own, sent = _towards_roots(calibrated, rows, states)
    width = sum(len(index) for each in own.values() for _, _, index in each)
    found = np.zeros((calibrated.models, width, starts[-1]))
    outwards: dict[int, Message] = {}
    for k, clique in enumerate(tree.cliques):
        law = calibrated.laws[k]
        around: dict[int, Message] = {child: sent[child] for child in clique.children if child in sent}
        if k in outwards:
            around[-1] = outwards.pop(k)
        told = [*own.get(k, ()), *around.values()]
        for group, columns in own_groups(clique, first[clique.own[0]]) if told else ():
            for places, laws, index in told:
                product_floor(law, laws)
                met = carried(law.values, group, places, laws.values).transpose(0, 2, 1)
                alone = len(group) == 1  # then a node given itself, which for many states would be a large table
                found[:, index, columns] = met if alone else met @ indicators(tuple(clique.sizes[k] for k in group))
        for child in clique.children:
            others = [*own.get(k, ()), *(each for other, each in around.items() if other != child)]
            if others and tree.cliques[child].shared:
                to = clique.places(tree.cliques[child])
                shared = tuple(range(tree.cliques[child].shared))
                outwards[child] = (shared, *_merged(law, calibrated.outer[child], to, others))
    return found


def _towards_roots(
    calibrated: CliqueLaws, rows: Sequence[int], states: slice
) -> tuple[dict[int, list[Message]], dict[int, Message]]:
    """For every clique its own rows, and the rows at or below it given what it shares with its parent."""
    tree = calibrated.tree
    laws = {node: _given_itself(tree.sizes[node], states) for node in rows}
    starts = dict(zip(rows, accumulate((laws[node].shape[2] for node in rows), initial=0), strict=False))
    own: dict[int, list[Message]] = {}
    sent: dict[int, Message] = {}
    for k in reversed(range(len(tree.cliques))):
        clique = tree.cliques[k]
        for place in range(clique.shared, len(clique.axes)):
            node = clique.axes[place]
            if node in laws:
                index = np.array(range(starts[node], starts[node] + laws[node].shape[2]), dtype=np.intp)
                own.setdefault(k, []).append(((place,), WeightTable(laws[node], 0.0), index))
        told = list(own.get(k, ()))
        for child in clique.children:
            if child in sent:
                told.append((clique.places(tree.cliques[child]), *sent[child][1:]))
                sent[child] = told[-1]
        if told and clique.shared:
            to = tuple(range(clique.shared))
            sent[k] = (to, *_merged(calibrated.below[k], calibrated.shared[k], to, told))
    return own, sent


def _given_itself(size: int, states: slice) -> FloatArray:
    """The laws of some states of a node given the node, of shape (1, states, some states)."""
    first, last, _ = states.indices(size)
    return np.eye(size, last - first, -first)[np.newaxis]


def _merged(
    table: WeightTable, divisor: WeightTable, to: tuple[int, ...], told: Sequence[Message]
) -> tuple[WeightTable, NDArray[np.intp]]:
    """The laws of all rows given the nodes `to`; the table is a multiple of the divisor there."""
    laws = laws_given(table, divisor, to, [(places, laws) for places, laws, _ in told])
    return laws, np.concatenate([index for _, _, index in told])


def sweep_cells(tree: JunctionTree) -> int:
    """At most how many cells a sweep holds for one state of one row."""
    live = most = 0
    for clique in tree.cliques:
        live += sum(tree.cliques[child].outside for child in clique.children)
        most = max(most, live + 3 * max([clique.outside, *(tree.cliques[child].outside for child in clique.children)]))
        live -= clique.outside
    return 2 * most + 2 * sum(tree.sizes)
