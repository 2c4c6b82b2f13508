"""What a junction tree takes from a network of tables, and which of its nodes can tell anything about each other."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import final

import numpy as np
from numpy.typing import NDArray

from bnpriv.bound import UNIT_ROUNDOFF, FloatArray
from bnpriv.influence.junction_order import members
from bnpriv.influence.junction_pairs import GROUP_CELLS
from bnpriv.influence.junction_states import StatesLeft, states_left, without_constants, without_impossible
from bnpriv.influence.junction_tree import JunctionTree
from bnpriv.influence.junction_weights import MOST_TERMS
from bnpriv.laws.base import FUNCTION_ERROR
from bnpriv.networks.discrete import DiscreteNetwork


@final
@dataclass(frozen=True, eq=False)
class NumberedNetwork:
    """A network whose nodes are numbers, parents before children.

    Parameters
    ----------
    network : DiscreteNetwork
    declared : list of tuple of int
        Every node with its parents, in the order of the axes of its table.
    families : list of tuple of int
        The same without nodes that have one state left: such a node is alone, and nobody's parent.
    sizes : list of int
        How many states every node has, impossible ones left out.
    left : mapping from int to ndarray
        The numbers of the states that are left, of nodes with impossible ones.
    """

    network: DiscreteNetwork
    declared: list[tuple[int, ...]]
    families: list[tuple[int, ...]]
    sizes: list[int]
    left: StatesLeft = field(default_factory=dict[int, NDArray[np.intp]])

    @classmethod
    def of(cls, network: DiscreteNetwork) -> NumberedNetwork:
        """Number the attributes as they come."""
        number = {name: k for k, name in enumerate(network.attributes)}
        declared = [tuple(number[axis] for axis in network.tables[name].axes) for name in network.attributes]
        left = states_left([network.tables[name].values for name in network.attributes], declared)
        sizes = [len(network.states[name]) for name in network.attributes]
        for node, states in left.items():
            sizes[node] = len(states)
        families = without_constants(declared, sizes) if 1 in sizes else declared
        return cls(network, declared, families, sizes, left)

    @cached_property
    def tree(self) -> JunctionTree:
        """The junction tree."""
        return JunctionTree.of(self.families, self.sizes)

    def logs(self) -> list[FloatArray]:
        """The logs of all tables over `families`, of shape (models, *sizes); one model where all agree."""
        tables = [self.network.tables[name].values for name in self.network.attributes]
        if self.families is self.declared:
            return [without_impossible(*each, self.left) for each in zip(tables, self.declared, strict=True)]
        found: list[FloatArray] = []
        for table, family, kept in zip(tables, self.declared, self.families, strict=True):
            if self.sizes[family[0]] == 1:
                found.append(np.zeros((1, 1)))
            else:
                smaller = without_impossible(table, family, self.left)
                found.append(smaller.reshape(len(smaller), *(self.sizes[node] for node in kept)))
        return found

    def states(self, node: int) -> Sequence[object]:
        """The states of a node that are left."""
        states: Sequence[object] = self.network.states[self.network.attributes[node]]
        return [states[int(k)] for k in self.left[node]] if node in self.left else states

    def impossible(self, node: int, found: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Which states of a node are impossible, of shape (models, states), given which are of those left."""
        if node not in self.left:
            return found
        every = np.ones((len(found), len(self.network.states[self.network.attributes[node]])), dtype=np.bool_)
        every[:, self.left[node]] = found
        return every

    @cached_property
    def error(self) -> float:
        """How far the log of a computed probability of two nodes may be from that of the true one."""
        declared = math.fsum(self.network.tables[name].error for name in self.network.attributes)
        cliques = self.tree.cliques
        widest = max([GROUP_CELLS, *self.sizes, *(clique.outside for clique in cliques)])
        roundings = FUNCTION_ERROR * len(self.sizes) + widest + 2
        for clique in cliques:
            around = max([clique.outside, *(cliques[child].outside for child in clique.children)])
            stages = sum(max(size, MOST_TERMS) for size in clique.sizes) + max(around, GROUP_CELLS, *clique.sizes)
            roundings += min(clique.cells, stages) + len(clique.tables) + len(clique.children) + 8
        return 1.01 * (declared + UNIT_ROUNDOFF * roundings)

    def connected(self) -> NDArray[np.bool_]:
        """Which nodes have an ancestor in common, or one is an ancestor of the other: all others tell nothing.

        Returns
        -------
        ndarray of shape (nodes, nodes)
        """
        return common_ancestors(self.declared)


def common_ancestors(families: Sequence[tuple[int, ...]]) -> NDArray[np.bool_]:
    """Which nodes have an ancestor in common, each counting as its own, of shape (nodes, nodes)."""
    count = len(families)
    above: list[int] = []
    below = [0] * count
    for node, family in enumerate(families):
        found = 1 << node
        for parent in family[1:]:
            found |= above[parent]
        above.append(found)
        for each in members(found):
            below[each] |= 1 << node
    told = bytearray()
    width = (count + 7) // 8
    for node in range(count):
        reached = 0
        for each in members(above[node]):
            reached |= below[each]
        told += reached.to_bytes(width, "little")
    bits = np.frombuffer(told, dtype=np.uint8).reshape(count, width)
    return np.unpackbits(bits, axis=1, bitorder="little", count=count).astype(np.bool_)
