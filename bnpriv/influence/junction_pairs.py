"""The joint laws of all pairs of nodes, from the cliques of a calibrated junction tree."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from itertools import combinations
from typing import final

import numpy as np

from bnpriv.bound import FloatArray
from bnpriv.influence.junction_messages import CliqueLaws
from bnpriv.influence.junction_tree import Clique, JunctionTree
from bnpriv.influence.junction_weights import WeightTable, carried, inverse, product_floor, summed

CARRYING = 8
"""How much longer a multiplication takes in many small products of matrices than in one large one."""


GROUP_CELLS = 64
"""Own nodes of a clique are taken together up to so many cells."""


@final
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
    table: WeightTable,
    divisor: WeightTable,
    to: tuple[int, ...],
    told: Sequence[tuple[tuple[int, ...], WeightTable]],
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
