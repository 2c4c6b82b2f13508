"""The influence of every single attribute on every other one, by one pass over a junction tree.

What is computed, why its numbers are upper bounds and why its bits are always the same: docs/claims/junction.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bnpriv.bound import UNIT_ROUNDOFF, FloatArray
from bnpriv.core.distributions import FUNCTION_ERROR
from bnpriv.core.influence.base import impossible_secrets, influence_of
from bnpriv.core.influence.largest_ratio import one_thread
from bnpriv.core.networks.base import Network
from bnpriv.core.networks.discrete import DiscreteNetwork
from bnpriv.core.networks.factors import MOST_TABLE_CELLS
from bnpriv.core.secrets import BETWEEN, Declared, SecretPair, of_states, pairs_of
from bnpriv.errors import SizeError
from bnpriv.kinds.junction.tree import (
    GROUP_CELLS,
    MOST_TERMS,
    CliqueLaws,
    JunctionTree,
    OutOfRangeError,
    StatesLeft,
    column_starts,
    members,
    pair_laws,
    peak_cells,
    row_laws,
    states_left,
    sweep_cells,
    weights_of,
    without_constants,
    without_impossible,
)

# --------------------------------------------------------------------------------------------------
# What every single attribute tells about protected ones: a matrix of influences, from one influence after another.
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, eq=False)
class InfluenceRows:
    """The influence of every single attribute on some protected ones, one row for each protected.

    Parameters
    ----------
    protected : tuple of str
        Those that have a pair of secrets.
    values : ndarray of shape (protected, attributes)
        Upper bounds in nats; NaN where an attribute meets itself, and in the rows of `refused`.
    refused : mapping from str to str
        For attributes none of whose pairs of secrets is possible, why nothing is said about them.
    dropped : mapping from str to list of str
        For the other rows, the pairs that are no constraint under a model.
    """

    protected: tuple[str, ...]
    values: FloatArray
    refused: Mapping[str, str] = field(default_factory=dict[str, str])
    dropped: Mapping[str, list[str]] = field(default_factory=dict[str, list[str]])


def rows_one_by_one(network: Network, chosen: Mapping[str, Declared | None]) -> InfluenceRows:
    """The rows from the influence of every single attribute, for kinds of networks without a faster way.

    Raises
    ------
    SecretError
        If the secrets do not fit.
    SizeError
        If a table would pass the limit and no cheaper bound holds.
    """
    names = network.attributes
    paired = {name: pairs_of(network, name, given) for name, given in chosen.items()}
    rows: dict[str, list[float]] = {}
    refused: dict[str, str] = {}
    dropped: dict[str, list[str]] = {}
    for protected, ordered in paired.items():
        if not ordered:
            continue
        alone = influence_of(network, (), protected, ordered)
        possible = alone.pair is not None
        rows[protected] = [
            float(influence_of(network, (name,), protected, ordered)) if possible and name != protected else np.nan
            for name in names
        ]
        if not possible:
            refused[protected] = str(impossible_secrets(protected))
        elif alone.dropped:
            dropped[protected] = [f"{pair} in model {model}" for pair, model in alone.dropped]
    values = np.array(list(rows.values()), dtype=np.float64).reshape(len(rows), len(names))
    return InfluenceRows(protected=tuple(rows), values=values, refused=refused, dropped=dropped)


# --------------------------------------------------------------------------------------------------
# What a junction tree takes from a network of tables, and which of its nodes can tell anything about each other.
# --------------------------------------------------------------------------------------------------


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


# --------------------------------------------------------------------------------------------------
# From the joint laws of pairs of attributes to the largest ratio of a column's probabilities under two secrets.
# --------------------------------------------------------------------------------------------------

MOST_TREE_CELLS = 2**28
"""Cells of all tables that are held at once: 2 GiB."""

BLOCK_CELLS = 2**21
"""Cells of the tables of a block of models, or of a block of rows that are compared."""

SWEEP_FACTOR = 3
"""Sweeps are faster than all pairs where this many times the states of the rows are fewer than all states."""


PairStates = tuple[list[int], list[int]]
"""A pair of secrets of one row: the states of the one and of the other, by number among those that are left."""


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


# --------------------------------------------------------------------------------------------------
# Many models of Theta, in blocks that fit into memory, by one process or by many: the answers are the same bits.
#
# Why the bits are the same is statement 6 of docs/claims/junction.md.
# --------------------------------------------------------------------------------------------------

TASKS_PER_WORKER = 4
"""Tasks for each worker: one that is slow then holds up the others by little."""

MOST_SENT_CELLS = 2**22
"""Cells of the tables that are sent to a worker at once: 32 MiB."""

RowRatios = dict[int, FloatArray]
ImpossibleStates = dict[int, NDArray[np.bool_]]


def ratios_of_models(
    numbers: TreeNumbers, passes: Passes, logs: Sequence[FloatArray], workers: int | None
) -> tuple[RowRatios, ImpossibleStates]:
    """What `largest_ratios` does, of any number of models.

    Parameters
    ----------
    numbers : TreeNumbers
    passes : Passes
    logs : sequence of ndarray
        The tables of the models, of shape (models, *sizes); one model where all agree.
    workers : int, optional
        Among how many workers of joblib the models are shared out; None for what `joblib.parallel_config` says.

    Raises
    ------
    OutOfRangeError
        If probabilities of one model are too small for doubles.
    """
    models = _count(logs)
    if models == 1:
        return largest_ratios(numbers, passes, logs)
    with one_thread():
        if workers == 1:
            found = [ratios_by_blocks(numbers, passes, logs)]
        else:
            found = _shared_out(numbers, passes, logs, workers)
    parts = [each for each in found if each is not None]
    if len(parts) < len(found):
        raise OutOfRangeError
    return _joined(parts)


def ratios_by_blocks(
    numbers: TreeNumbers, passes: Passes, logs: Sequence[FloatArray]
) -> tuple[RowRatios, ImpossibleStates] | None:
    """What `largest_ratios` does, in blocks; None where probabilities of one model are too small for doubles.

    This is what a worker does. The libraries of linear algebra share a product out among threads in ways that may show
    in its last bit, and would do so by as many as the worker happens to have: here each has one.
    """
    parts: list[tuple[RowRatios, ImpossibleStates]] = []
    with one_thread():
        for start in range(0, _count(logs), passes.models):
            part = _block(numbers, passes, _cut(logs, start, start + passes.models))
            if part is None:
                return None
            parts.append(part)
    return _joined(parts)


def _block(
    numbers: TreeNumbers, passes: Passes, logs: Sequence[FloatArray]
) -> tuple[RowRatios, ImpossibleStates] | None:
    try:
        return largest_ratios(numbers, passes, logs)
    except OutOfRangeError:
        models = _count(logs)
        if models == 1:
            return None
    # the smallest entries of two tables may be those of two models, and their product may not happen in either
    first = _block(numbers, passes, _cut(logs, 0, models // 2))
    second = None if first is None else _block(numbers, passes, _cut(logs, models // 2, models))
    return None if first is None or second is None else _joined([first, second])


def _shared_out(
    numbers: TreeNumbers, passes: Passes, logs: Sequence[FloatArray], workers: int | None
) -> list[tuple[RowRatios, ImpossibleStates] | None]:
    import joblib

    library: Any = joblib  # without types
    models, cells = _count(logs), sum(each[0].size for each in logs)
    share = math.ceil(models / (TASKS_PER_WORKER * max(1, library.effective_n_jobs(workers))))
    share = min(share, max(1, MOST_SENT_CELLS // cells))
    work = library.delayed(ratios_by_blocks)
    tasks: Iterator[object] = (
        work(numbers, passes, _cut(logs, start, start + share)) for start in range(0, models, share)
    )
    return list(library.Parallel(n_jobs=workers)(tasks))


def _joined(parts: Sequence[tuple[RowRatios, ImpossibleStates]]) -> tuple[RowRatios, ImpossibleStates]:
    rows = list(parts[0][0])
    worst = {row: np.fmax.reduce([ratios[row] for ratios, _ in parts]) for row in rows}
    gone = [impossible for _, impossible in parts]
    return worst, {row: np.concatenate([impossible[row] for impossible in gone]) for row in rows}


def _count(logs: Sequence[FloatArray]) -> int:
    return max(len(each) for each in logs)


def _cut(logs: Sequence[FloatArray], start: int, stop: int) -> list[FloatArray]:
    return [each if len(each) == 1 else each[start:stop] for each in logs]


# --------------------------------------------------------------------------------------------------
# The influence of every single attribute on every other one, by one pass over a junction tree.
#
# What is computed and why its numbers are upper bounds is in docs/claims/junction.md.
# --------------------------------------------------------------------------------------------------


def finite_rows(
    network: DiscreteNetwork, chosen: Mapping[str, Declared | None], workers: int | None = 1
) -> InfluenceRows:
    """What every attribute tells, from one pass over a junction tree; one by one where it would be too large."""
    try:
        return junction_rows(network, chosen, workers)
    except (OutOfRangeError, SizeError):
        return rows_one_by_one(network, chosen)


def junction_rows(
    network: DiscreteNetwork, chosen: Mapping[str, Declared | None], workers: int | None = 1
) -> InfluenceRows:
    """What every attribute tells about the protected ones.

    Raises
    ------
    SizeError
        If the tables of the junction tree would be too large.
    OutOfRangeError
        If probabilities are too small for doubles.
    """
    numbered = NumberedNetwork.of(network)
    number = {name: k for k, name in enumerate(network.attributes)}
    pairs = {
        number[name]: of_states(pairs_of(network, name, given)) for name, given in chosen.items() if given is not None
    }
    rows = [number[name] for name in chosen if len(network.states[name]) > 1]
    sides: dict[int, list[PairStates]] = {
        row: [(_places(states, pair.first), _places(states, pair.second)) for pair in pairs[row]]
        for row in pairs
        for states in [numbered.states(row)]
    }
    numbers = TreeNumbers(numbered.tree, numbered.families, sides)
    worst, impossible = ratios_of_models(numbers, Passes.of(numbered.tree, rows), numbered.logs(), workers)
    return _rounded_up(numbered, rows, pairs, worst, impossible)


def _places(states: Sequence[object], secret: frozenset[object]) -> list[int]:
    return [k for k, state in enumerate(states) if state in secret]


def _rounded_up(
    numbered: NumberedNetwork,
    rows: Sequence[int],
    pairs: Mapping[int, Sequence[SecretPair]],
    worst: Mapping[int, FloatArray],
    impossible: Mapping[int, NDArray[np.bool_]],
) -> InfluenceRows:
    """Return logs that are rounded up, and which secrets are impossible."""
    network, names = numbered.network, numbered.network.attributes
    ratios = np.array([worst[row] for row in rows]).reshape(len(rows), len(names))
    if numbered.families is not numbered.declared:  # independent, though not by the graph alone
        ratios[~common_ancestors(numbered.families)[rows]] = 1.0
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(ratios)
        steps = 4 + 4 * max(numbered.sizes) + (FUNCTION_ERROR + 2) * np.abs(logs)
        raised = np.maximum(logs + (4 * numbered.error + UNIT_ROUNDOFF * steps), 0.0)
    nats = np.where(np.isfinite(logs), raised, logs)
    nats[~numbered.connected()[rows]] = 0.0
    nats[range(len(rows)), rows] = np.nan
    refused: dict[str, str] = {}
    dropped: dict[str, list[str]] = {}
    for k, row in enumerate(rows):
        found = numbered.impossible(row, impossible[row])
        if not found.any():
            continue
        states = network.states[names[row]]
        never = np.broadcast_to(found, (network.models, len(states)))
        gone = _dropped(never, states, pairs[row]) if row in pairs else _dropped_states(never, states)
        if gone is None:
            refused[names[row]] = str(impossible_secrets(names[row]))
            nats[k] = np.nan
        elif gone:
            dropped[names[row]] = gone
    return InfluenceRows(protected=tuple(names[row] for row in rows), values=nats, refused=refused, dropped=dropped)


def _dropped_states(impossible: NDArray[np.bool_], states: Sequence[object]) -> list[str] | None:
    """What `_dropped` does for all ordered pairs of single states."""
    left_out = impossible[:, :, np.newaxis] | impossible[:, np.newaxis, :]
    apart = ~np.eye(len(states), dtype=np.bool_)
    if left_out[:, apart].all():
        return None
    places = zip(*np.nonzero(left_out & apart), strict=True)
    return [f"{states[a]}{BETWEEN}{states[b]} in model {model}" for model, a, b in places]


def _dropped(impossible: NDArray[np.bool_], states: Sequence[object], pairs: Sequence[SecretPair]) -> list[str] | None:
    """The pairs that are no constraint under a model, in words; None if none is under any."""

    def gone(secret: frozenset[object]) -> NDArray[np.bool_]:
        return np.asarray(impossible[:, _places(states, secret)].all(axis=1))

    left_out = np.stack([gone(pair.first) | gone(pair.second) for pair in pairs], axis=1)
    if left_out.all():
        return None
    return [f"{pairs[int(k)]} in model {int(model)}" for model, k in zip(*np.nonzero(left_out), strict=True)]
