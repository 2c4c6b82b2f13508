"""From the joint laws of pairs of attributes to the largest ratio of a column's probabilities under two secrets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import final

import numpy as np
from numpy.typing import NDArray

from bnpriv.bound import FloatArray
from bnpriv.errors import SizeError
from bnpriv.influence.junction_messages import CliqueLaws
from bnpriv.influence.junction_pairs import column_starts, pair_laws, peak_cells
from bnpriv.influence.junction_sweep import row_laws, sweep_cells
from bnpriv.influence.junction_tree import JunctionTree
from bnpriv.influence.junction_weights import weights_of
from bnpriv.networks.factors import MOST_TABLE_CELLS

MOST_TREE_CELLS = 2**28
"""Cells of all tables that are held at once: 2 GiB."""

BLOCK_CELLS = 2**21
"""Cells of the tables of a block of models, or of a block of rows that are compared."""

SWEEP_FACTOR = 3
"""Sweeps are faster than all pairs where this many times the states of the rows are fewer than all states."""


PairStates = tuple[list[int], list[int]]
"""A pair of secrets of one row: the states of the one and of the other, by number among those that are left."""


@final
@dataclass(frozen=True)
class TreeNumbers:
    """All that the models of a network have in common, without names.

    Parameters
    ----------
    tree : JunctionTree
    families : list of tuple of int
        Every node with its parents, in the order of the axes of its table.
    pairs : dict from int to list of pairs
        The pairs of the rows that are not about all pairs of states.
    """

    tree: JunctionTree
    families: list[tuple[int, ...]]
    pairs: dict[int, list[PairStates]]


@final
@dataclass(frozen=True)
class Passes:
    """How the laws of pairs are found within the limit of memory.

    Parameters
    ----------
    whole : bool
        All pairs at once, or else a sweep for each block of rows.
    rows : list of list of int
        The blocks of rows, in the order of the tree.
    models : int
        How many models are taken together.
    states : int
        How many states of one row are swept together.
    """

    whole: bool
    rows: list[list[int]]
    models: int
    states: int = 1

    @classmethod
    def of(cls, tree: JunctionTree, rows: Sequence[int]) -> Passes:
        """Choose the passes for some rows.

        Raises
        ------
        SizeError
            If even one row would take too much.
        """
        chosen = frozenset(rows)
        order = [node for node in tree.order if node in chosen]
        states, width = sum(tree.sizes), sum(tree.sizes[node] for node in order)
        largest = max(clique.cells for clique in tree.cliques)
        cells = peak_cells(tree)
        if largest <= MOST_TABLE_CELLS and cells <= MOST_TREE_CELLS and SWEEP_FACTOR * width >= states:
            step = max(1, BLOCK_CELLS // states)
            return cls(True, _blocks(order, tree.sizes, step), max(1, BLOCK_CELLS // cells))
        tables = 3 * sum(clique.cells for clique in tree.cliques)
        each = sweep_cells(tree)
        room = (MOST_TREE_CELLS - tables) // each
        if largest > MOST_TABLE_CELLS or room < 1:
            raise SizeError(
                f"the tables of a junction tree may have at most {MOST_TREE_CELLS:,} cells",
                found=f"{tables + each:,} cells, the largest table of {largest:,}",
                remedy="Ask for fewer attributes, or merge states.",
            )
        width = min(width, room)
        return cls(False, _blocks(order, tree.sizes, room), max(1, BLOCK_CELLS // (tables + each * width)), room)


def _blocks(order: Sequence[int], sizes: Sequence[int], most: int) -> list[list[int]]:
    """Split nodes into runs of at most `most` states each, or single nodes."""
    found: list[list[int]] = []
    states = most
    for node in order:
        states += sizes[node]
        if states > most:
            found.append([])
            states = sizes[node]
        found[-1].append(node)
    return found


def largest_ratios(
    numbers: TreeNumbers, passes: Passes, logs: Sequence[FloatArray]
) -> tuple[dict[int, FloatArray], dict[int, NDArray[np.bool_]]]:
    """For every row the largest ratio P(q | a) / P(q | b) over some models, states q of a column, and pairs.

    Parameters
    ----------
    numbers : TreeNumbers
    passes : Passes
    logs : sequence of ndarray
        The tables of the models, of shape (models, *sizes); one model where all agree.

    Returns
    -------
    dict from int to ndarray of shape (attributes,)
        By row, in the order of the attributes; inf where a state of the column is possible under one secret and
        impossible under the other, 0 where no pair is possible.
    dict from int to ndarray of shape (models, states)
        By row, which of its states are impossible.

    Raises
    ------
    OutOfRangeError
        If probabilities are too small for doubles.
    """
    tree = numbers.tree
    starts = column_starts(tree)[:-1]
    order = np.argsort(tree.order)
    ratios: dict[int, FloatArray] = {}
    impossible: dict[int, NDArray[np.bool_]] = {}
    with np.errstate(divide="ignore", invalid="ignore"):
        laws = CliqueLaws(tree, numbers.families, weights_of(logs))
        for rows, table, prior in _tables(laws, passes):
            inside = [0, *accumulate(tree.sizes[node] for node in rows)]
            worst = _all_pairs(table / prior[:, :, np.newaxis], inside[:-1], starts)[:, order]
            for k, node in enumerate(rows):
                own = slice(inside[k], inside[k + 1])
                impossible[node] = prior[:, own] == 0
                ratios[node] = worst[k]
                if node in numbers.pairs:
                    ratios[node] = _chosen(table[:, own], prior[:, own], numbers.pairs[node], starts)[order]
    return ratios, impossible


def _tables(laws: CliqueLaws, passes: Passes) -> Iterator[tuple[list[int], FloatArray, FloatArray]]:
    """Yield blocks of rows with their joint laws with all columns, and their own laws."""
    tree = laws.tree
    starts = dict(zip(tree.order, column_starts(tree), strict=False))
    whole = pair_laws(laws) if passes.whole else None
    for rows in passes.rows:
        columns = [k for node in rows for k in range(starts[node], starts[node] + tree.sizes[node])]
        if whole is None:
            pieces = range(0, max(tree.sizes[node] for node in rows), passes.states) if len(rows) == 1 else ()
            swept = [row_laws(laws, rows, slice(first, first + passes.states)) for first in pieces]
            table = np.concatenate(swept, axis=1) if swept else row_laws(laws, rows)
        elif columns[-1] - columns[0] == len(columns) - 1:
            table = whole[:, columns[0] : columns[-1] + 1]
        else:
            table = whole[:, columns]
        yield rows, table, table[:, range(len(columns)), columns]


def _all_pairs(given: FloatArray, inside: Sequence[int], starts: Sequence[int]) -> FloatArray:
    """The largest ratios over all pairs of states, of shape (rows, attributes).

    Secrets that are impossible are not a number here, and left out.
    """
    ratios = np.fmax.reduceat(given, inside, axis=1) / np.fmin.reduceat(given, inside, axis=1)
    found: FloatArray = np.fmax.reduceat(ratios, starts, axis=2)
    return np.fmax.reduce(found, axis=0)


def _chosen(table: FloatArray, prior: FloatArray, pairs: Sequence[PairStates], starts: Sequence[int]) -> FloatArray:
    """The largest ratios over chosen pairs for one row, of shape (attributes,)."""

    def given(side: list[int]) -> FloatArray:
        # the sums are over arrays in the order of their axes, so that their bits do not depend on how many models
        states = np.array(side, dtype=np.intp)  # of a secret that is impossible none may be left
        own = np.take(prior, states, axis=1).sum(axis=1)
        return np.take(table, states, axis=1).sum(axis=1) / own[:, np.newaxis]

    found = np.zeros(len(starts))
    for first, second in pairs:
        ratios = given(first) / given(second)
        found = np.fmax(found, np.fmax.reduce(np.fmax.reduceat(ratios, starts, axis=1), axis=0))
    return found
