"""States that declared zeros make impossible in every model, and nodes with no other: a junction tree needs neither."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from bnpriv.bound import FloatArray

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
