"""The joint laws of pairs of nodes, from the cliques of a calibrated junction tree."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate, combinations

import numpy as np
from numpy.typing import NDArray

from bnpriv.bound import FloatArray
from bnpriv.kinds.junction.messages import CliqueLaws, WeightTable, carried, inverse, product_floor, summed
from bnpriv.kinds.junction.tree import Clique, JunctionTree

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
