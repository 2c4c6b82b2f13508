"""The joint laws of a few nodes with all others: one sweep over a calibrated junction tree, out from these nodes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from bnpriv.bound import FloatArray
from bnpriv.influence.junction_messages import CliqueLaws
from bnpriv.influence.junction_pairs import column_starts, indicators, laws_given, own_groups
from bnpriv.influence.junction_tree import JunctionTree
from bnpriv.influence.junction_weights import WeightTable, carried, product_floor

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
