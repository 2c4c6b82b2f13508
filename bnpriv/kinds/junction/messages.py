"""Messages between the cliques of a junction tree, in doubles with a proved bound of what is lost."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate, combinations

import numpy as np
from numpy.typing import NDArray

from bnpriv.bound import FloatArray
from bnpriv.kinds.junction.tree import Clique, JunctionTree

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
