"""Messages between the cliques of a junction tree, in doubles with a proved bound of what is lost."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

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
