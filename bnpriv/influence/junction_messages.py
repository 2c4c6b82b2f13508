"""Messages between the cliques of a junction tree, until every clique has the joint law of its nodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import final

import numpy as np

from bnpriv.bound import FloatArray
from bnpriv.influence.junction_tree import Clique, JunctionTree
from bnpriv.influence.junction_weights import WeightTable, inverse, product_floor, summed


@final
class CliqueLaws:
    """The tables of a junction tree after one pass of messages to the roots and one back.

    Parameters
    ----------
    tree : JunctionTree
    below : list of WeightTable
        For every clique the product of the tables in it and below it, what is not in it summed out; of shape
        (models, *sizes).
    shared : list of WeightTable
        The same summed down to the nodes that are shared with the parent; of shape (models, cells).
    outer : list of WeightTable
        For every clique the joint law of the nodes that are shared with the parent; of shape (models, cells).
    laws : list of WeightTable
        For every clique the joint law of its nodes.
    """

    def __init__(self, tree: JunctionTree, families: Sequence[tuple[int, ...]], tables: Sequence[WeightTable]) -> None:
        self.tree = tree
        self.below: list[WeightTable] = []
        self.shared: list[WeightTable] = []
        self.outer: list[WeightTable] = []
        self.laws: list[WeightTable] = []
        self._to_roots(families, tables)
        self._from_roots()

    def _to_roots(self, families: Sequence[tuple[int, ...]], tables: Sequence[WeightTable]) -> None:
        cliques = self.tree.cliques
        below: list[WeightTable | None] = [None] * len(cliques)
        shared: list[WeightTable | None] = [None] * len(cliques)
        for k in reversed(range(len(cliques))):
            clique = cliques[k]
            factors = [(tables[node], families[node]) for node in clique.tables]
            for child in clique.children:
                message = shared[child]
                assert message is not None
                factors.append((message, cliques[child].separator))
            # by the cells of one model: the order, and with it the last bit, is the same for any number of models
            factors.sort(key=lambda factor: factor[0].values[0].size)
            whole = _multiplied(factors, clique)
            below[k] = whole
            shared[k] = WeightTable(summed(whole.values, range(clique.shared)), whole.floor)
        self.below = [each for each in below if each is not None]
        self.shared = [each for each in shared if each is not None]

    def _from_roots(self) -> None:
        for clique, below, shared in zip(self.tree.cliques, self.below, self.shared, strict=True):
            if clique.parent < 0:
                self.laws.append(below)
                self.outer.append(shared)
                continue
            above = self.tree.cliques[clique.parent]
            law = self.laws[clique.parent]
            places = [above.axes.index(node) for node in clique.separator]
            outer = WeightTable(summed(law.values, places), law.floor)
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
