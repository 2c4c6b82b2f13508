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
        self._to_roots(families, tables)
        self._from_roots()

    @property
    def models(self) -> int:
        """How many models the laws are of."""
        return max((each.values.shape[0] for each in self.laws), default=1)

    def _to_roots(self, families: Sequence[tuple[int, ...]], tables: Sequence[WeightTable]) -> None:
        cliques = self.tree.cliques
        for k in reversed(range(len(cliques))):
            factors = [(tables[node], families[node]) for node in cliques[k].tables]
            factors += [(self.shared[child], cliques[child].separator) for child in cliques[k].children]
            # by the cells of one model: the order, and with it the last bit, is the same for any number of models
            factors.sort(key=lambda factor: factor[0].values[0].size)
            whole = _multiplied(factors, cliques[k])
            self.below[k] = whole
            self.shared[k] = WeightTable(summed(whole.values, range(cliques[k].shared)), whole.floor)

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
