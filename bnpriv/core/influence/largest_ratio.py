"""The largest log ratio over all assignments of many columns, by branch and bound."""

from __future__ import annotations

import heapq
import math
from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bnpriv.bound import UNIT_ROUNDOFF, FloatArray
from bnpriv.core.networks.discrete import DiscreteNetwork
from bnpriv.core.networks.factors import LogTable, product, sum_out
from bnpriv.errors import SizeError

# --------------------------------------------------------------------------------------------------
# Sets of assignments, thinned during elimination to those that may still tell most.
#
# A table of all assignments has exponentially many cells. Here attributes are eliminated one after the other, and of
# the assignments made so far only those are kept that may still tell most, whatever the others are
# (docs/claims/max_influence.md, statement 7).
# --------------------------------------------------------------------------------------------------

MOST_STEP_CELLS = 2**18
"""The most cells of one step; assignments are merged until a step has no more."""

STEP_WORK = 2**12
"""Fixed cost of a step, in cells."""

THINNING_WORK = 8
"""Cost of making a cell and testing whether it is needed, in cells."""

LEAST_WIDTH = 2.0**-42
"""Tables whose logs differ by less than this, up to a constant, count as one."""

WIDEST_MERGE = 2.0**6
"""Tables that differ by more than this are never merged."""

MOST_HULL_CELLS = 4
"""The most cells of tables whose convex hull is computed."""

FEW_SIMPLICES = 2**11
"""The most points of a triangulation."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Assignments:
    """Assignments of some columns, each with a table over the attributes that are not eliminated yet.

    Parameters
    ----------
    table : LogTable
        With one assignment after the other along its first axis.
    chosen : ndarray of int, shape (assignments, columns)
        The position of the state of every column; -1 where it is not assigned yet.
    slack : float
        The tables of assignments that were left out lie, but for a constant factor each, within the convex cone of
        those that are kept, up to factors of ``exp(slack / 2)``.
    """

    table: LogTable
    chosen: NDArray[np.int32]
    slack: float = 0.0

    @property
    def count(self) -> int:
        """The number of assignments."""
        return self.table.values.shape[0]

    @property
    def cells(self) -> int:
        """The number of cells of one assignment's table."""
        return math.prod(self.table.values.shape[1:])

    def times(self, other: Assignments) -> Assignments:
        """All combinations of assignments of two sets of columns, with the products of their tables."""
        axes = tuple(sorted({*self.table.axes, *other.table.axes}))
        left = replace(self.table, values=np.repeat(self.table.values, other.count, axis=0))
        right = replace(other.table, values=np.tile(other.table.values, (self.count, *(1,) * len(other.table.axes))))
        chosen = np.maximum(np.repeat(self.chosen, other.count, axis=0), np.tile(other.chosen, (self.count, 1)))
        return Assignments(table=product([left, right], axes), chosen=chosen, slack=self.slack + other.slack)

    def without(self, name: str) -> Assignments:
        """The same with an attribute summed out."""
        return replace(self, table=sum_out(self.table, (name,)))

    def assigned(self, name: str, column: int) -> Assignments:
        """The same with an attribute of the columns assigned: every state of it makes an assignment of its own."""
        table = self.table
        place = 1 + table.axes.index(name)
        states = table.values.shape[place]
        moved = np.moveaxis(table.values, place, 1)
        values = moved.reshape(-1, *moved.shape[2:])
        chosen = np.repeat(self.chosen, states, axis=0)
        chosen[:, column] = np.tile(np.arange(states, dtype=np.int32), self.count)
        axes = tuple(axis for axis in table.axes if axis != name)
        return replace(self, table=LogTable(axes=axes, values=values, error=table.error), chosen=chosen)

    def kept(self, rows: NDArray[np.intp], *, error: float = 0.0, slack: float = 0.0) -> Assignments:
        """Some of the assignments, with the error and the slack that choosing them adds."""
        table = replace(self.table, values=self.table.values[rows].copy(), error=self.table.error + error)
        return Assignments(table=table, chosen=self.chosen[rows], slack=self.slack + slack)

    def thinned(self, most: int) -> Assignments:
        """At most about `most` assignments: none that may tell most is dropped unless a similar one stands for it."""
        flat = self.table.values.reshape(self.count, -1)
        top: FloatArray = np.max(flat, axis=1)
        possible: NDArray[np.intp] = np.flatnonzero(~np.isneginf(top))
        # over one cell every table is a multiple of any other
        if self.cells == 1:
            return self.kept(possible[:1])
        shifted = flat[possible] - top[possible, np.newaxis]
        rounding = UNIT_ROUNDOFF * float(np.abs(shifted[np.isfinite(shifted)]).max(initial=0.0))
        # over two cells the cone of all tables is that of the two with the least and the greatest odds
        if self.cells == 2:
            with np.errstate(invalid="ignore"):
                odds = flat[possible, 0] - flat[possible, 1]
            ends = np.unique([np.argmin(odds), np.argmax(odds)]) if odds.size else np.zeros(0, dtype=np.intp)
            return self.kept(possible[ends], error=4 * rounding)
        if possible.size <= self.cells and possible.size <= most:
            return self.kept(possible)
        rows, spread = merged(shifted, LEAST_WIDTH)
        found = self.kept(possible[rows], error=spread + 4 * rounding)
        shifted = shifted[rows]
        if self.cells <= MOST_HULL_CELLS and len(rows) > self.cells:
            # a quotient of sums is at most the largest quotient of its terms: sums of other rows never tell more
            corners, gap = extreme_rays(shifted)
            found, shifted = found.kept(corners, error=gap), shifted[corners]
        width = LEAST_WIDTH
        while found.count > most and width < WIDEST_MERGE:
            width = max(8 * width, 2.0**-12)
            rows, spread = merged(shifted, width)
            if len(rows) <= most or width >= WIDEST_MERGE:
                # twice, since numerator and denominator may both be off by it
                return found.kept(rows, slack=2 * spread + 8 * rounding)
        return found


def merged(logs: FloatArray, width: float) -> tuple[NDArray[np.intp], float]:
    """One row for all rows that agree to `width`, and the largest difference from the row that stands for another.

    Parameters
    ----------
    logs : ndarray of shape (rows, cells)
        With the largest entry 0 in every row.
    width : float

    Returns
    -------
    rows : ndarray of int
    spread : float

    Examples
    --------
    >>> rows, spread = merged(np.array([[0.0, -1.0], [0.0, -1.01], [0.0, -np.inf]]), 0.5)
    >>> rows.tolist(), round(spread, 3)
    ([0, 2], 0.01)
    """
    keys = np.ascontiguousarray(np.rint(logs / width) + 0.0)
    whole = keys.view(np.dtype((np.void, keys.dtype.itemsize * keys.shape[1]))).ravel()
    _, first, at = np.unique(whole, return_index=True, return_inverse=True)
    standing = logs[first[at.ravel()]]
    # rows with equal keys have zeros in the same cells
    gaps = np.where(np.isneginf(logs), 0.0, logs - np.where(np.isneginf(standing), 0.0, standing))
    return np.sort(first), float(np.abs(gaps).max(initial=0.0)) * (1 + 4 * UNIT_ROUNDOFF)


def extreme_rays(logs: FloatArray) -> tuple[NDArray[np.intp], float]:
    """The rows that are no sums of positive multiples of others, and those where that is uncertain.

    A triangulation only proposes the multiples; what they sum to is compared with the row, cell by cell.

    Examples
    --------
    >>> logs = np.log([[1.0, 0.1, 0.1], [0.1, 1.0, 0.1], [0.1, 0.1, 1.0], [1.0, 0.8, 0.9]])
    >>> extreme_rays(logs)[0].tolist()
    [0, 1, 2]
    """
    odds = np.exp(logs)
    shares = odds / odds.sum(axis=1, keepdims=True)
    found, vertices = _simplices(shares[:, :-1])
    factors = _factors(shares[found], shares[vertices])
    summed = np.einsum("rk,rkc->rc", factors, shares[vertices])
    with np.errstate(divide="ignore", invalid="ignore"):
        gaps = np.abs(summed / shares[found] - 1).max(axis=1)
    # shares near the smallest doubles have lost their digits
    surely = (gaps <= LEAST_WIDTH) & (shares[found] > 2.0**-900).all(axis=1)
    kept = np.setdiff1d(np.arange(len(logs)), found[surely])
    return kept, float(gaps[surely].max(initial=0.0)) + 32 * UNIT_ROUNDOFF


def _simplices(points: FloatArray) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Points that seem to lie in the convex hull of others, and for each the corners of a simplex around it."""
    from scipy.spatial import ConvexHull, Delaunay, QhullError

    nothing = np.zeros(0, dtype=np.intp), np.zeros((0, points.shape[1] + 1), dtype=np.intp)
    try:
        corners = ConvexHull(points).vertices.astype(np.intp)
        inside = np.setdiff1d(np.arange(len(points)), corners)
        if not inside.size or corners.size > FEW_SIMPLICES:
            return nothing
        if points.shape[1] == 2:  # a fan of triangles from one corner; hull vertices are in circular order
            rays, seen = points[corners[1:]] - points[corners[0]], points[inside] - points[corners[0]]
            left = rays[:, 0] * seen[:, 1, np.newaxis] >= rays[:, 1] * seen[:, 0, np.newaxis]
            place = np.clip(left.sum(axis=1) - 1, 0, len(corners) - 3)
            return inside, np.stack([corners[0 * place], corners[place + 1], corners[place + 2]], axis=1)
        triangles = Delaunay(points[corners])
    except (QhullError, ValueError):  # all points in one plane
        return nothing
    place = triangles.find_simplex(points[inside])
    return inside[place >= 0], corners[triangles.simplices[place[place >= 0]]]


def _factors(rows: FloatArray, vertices: FloatArray) -> FloatArray:
    """Non-negative multiples of vertices, of shape (rows, vertices, cells), whose sums come close to the rows.

    Gaussian elimination of all small systems side by side; where one has no solution, no numbers come out.
    """
    size, every = rows.shape[1], np.arange(len(rows))
    system = np.concatenate([np.swapaxes(vertices, 1, 2), rows[:, :, np.newaxis]], axis=2)
    found = np.zeros(rows.shape)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        for k in range(size):
            pivot = k + np.argmax(np.abs(system[:, k:, k]), axis=1)
            top = system[every, pivot].copy()
            system[every, pivot] = system[:, k]
            system[:, k] = top
            share = system[:, k + 1 :, k] / top[:, k, np.newaxis]
            system[:, k + 1 :] -= share[:, :, np.newaxis] * top[:, np.newaxis]
        for k in reversed(range(size)):
            rest = (system[:, k, k + 1 : size] * found[:, k + 1 :]).sum(axis=1)
            found[:, k] = (system[:, k, size] - rest) / system[:, k, k]
    return np.maximum(found, 0.0)


def most_telling(
    network: DiscreteNetwork,
    protected: str,
    columns: Sequence[str],
    model: int,
    fixed: Mapping[str, int],
    most_work: int,
) -> tuple[Assignments, int]:
    """The assignments of columns that may tell most about a protected attribute, and the cells that this took.

    Parameters
    ----------
    network : DiscreteNetwork
    protected : str
    columns : sequence of str
    model : int
    fixed : mapping from str to int
        Columns whose state is fixed, with its position.
    most_work : int
        Cells of all steps together.

    Returns
    -------
    assignments : Assignments
        With tables log P(assignment, protected).
    work : int

    Raises
    ------
    SizeError
        If the steps would have more cells, or one of them too many even for a single assignment.
    """
    places = {name: k for k, name in enumerate(columns)}
    pool: list[Assignments] = _start(network, protected, places, model, fixed)
    sizes = {axis: size for each in pool for axis, size in each.table.sizes().items()}
    costs, work = {name: _cost(pool, name, sizes) for name in sizes if name != protected}, 0
    while costs:
        # greedy by the cells of the next step, ties by name: the same order on every machine
        name = min(costs, key=lambda each: (costs[each], each))
        del costs[name]
        touched = sorted((each for each in pool if name in each.table.axes), key=_by_size)
        around = {axis for each in touched for axis in each.table.axes}
        pool = [each for each in pool if name not in each.table.axes]
        joined, taken = _joined(touched, sizes)
        joined = joined.assigned(name, places[name]) if name in places else joined.without(name)
        pool.append(joined.thinned(MOST_STEP_CELLS))
        near = [each for each in pool if not around.isdisjoint(each.table.axes)]
        costs.update({each: _cost(near, each, sizes) for each in around if each in costs})
        work += taken
        if work > most_work:
            raise _too_much(most_work)
    last, taken = _joined(sorted(pool, key=_by_size), sizes)
    return last.thinned(MOST_STEP_CELLS), work + taken


def _start(
    network: DiscreteNetwork, protected: str, places: Mapping[str, int], model: int, fixed: Mapping[str, int]
) -> list[Assignments]:
    needed = network.graph.ancestral((protected, *places))
    chosen = np.full((1, len(places)), -1, dtype=np.int32)
    pool: list[Assignments] = []
    for name in network.attributes:
        if name not in needed:
            continue
        table = network.tables[name]
        values = table.values[min(model, table.values.shape[0] - 1)][np.newaxis]
        for axis in (axis for axis in table.axes if axis in fixed):
            values = np.take(values, [fixed[axis]], axis=1 + table.axes.index(axis))
        pool.append(Assignments(table=LogTable(axes=table.axes, values=values, error=table.error), chosen=chosen))
    return pool


def _joined(touched: Sequence[Assignments], sizes: Mapping[str, int]) -> tuple[Assignments, int]:
    """The product of several sets of assignments, and its cells; merges where a step would have too many."""
    found, work = touched[0], STEP_WORK
    for other in touched[1:]:
        axes = {*found.table.axes, *other.table.axes}
        cells = math.prod(sizes[axis] for axis in axes)
        most = MOST_STEP_CELLS // cells
        if most == 0:
            raise _too_much(MOST_STEP_CELLS)
        left, right = found, other
        if left.count * right.count > most:
            few = max(1, min(left.count, math.isqrt(most)), most // max(1, right.count))
            left = left.thinned(few)
            right = right.thinned(max(1, most // max(1, left.count)))
        if left.count * right.count > 4 * most:
            raise _too_much(MOST_STEP_CELLS)
        found = left.times(right)
        work += STEP_WORK + THINNING_WORK * found.table.values.size
        found = found.thinned(MOST_STEP_CELLS // cells)
    return found, work


def _by_size(each: Assignments) -> tuple[int, int]:
    return each.cells, each.count


def _cost(pool: Sequence[Assignments], name: str, sizes: Mapping[str, int]) -> int:
    touched = [each for each in pool if name in each.table.axes]
    axes = {axis for each in touched for axis in each.table.axes}
    return math.prod(sizes[axis] for axis in axes) * math.prod(each.count for each in touched)


def _too_much(most: int) -> SizeError:
    return SizeError(
        f"the search for the assignments that tell most may have at most {most:,} cells",
        found="more",
        remedy="Query fewer columns at once, or merge states.",
    )


MOST_ASSIGNMENT_WORK = 2**22
"""The most cells of all tables in one branch and bound over assignments."""

CLOSED = 2.0**-36
"""Bounds closer than this, in nats, besides rounding, count as equal."""

StatePair = tuple[int, int]
"""The positions of two states of the protected attribute."""

_Node = tuple[float, int, Mapping[str, int], FloatArray]
"""A node of the search: minus its gap, a tie breaker, the fixed states, and upper bounds on all ratios."""


@dataclass(frozen=True, kw_only=True, eq=False)
class LargestRatios:
    """Bounds on the largest log ratio of the assignments of some columns, for pairs of single states.

    Parameters
    ----------
    columns : tuple of str
    upper, lower : ndarray of shape (models, states, states)
        Bounds of the largest log P(columns | first) / P(columns | second); -inf for pairs that were not asked for.
    chosen : ndarray of int, shape (models, states, states, columns)
        The positions of the states of the columns that attain the lower bound.
    is_exact : bool
        Whether the bounds meet, but for rounding.
    """

    columns: tuple[str, ...]
    upper: FloatArray
    lower: FloatArray
    chosen: NDArray[np.int32]
    is_exact: bool

    @property
    def error(self) -> float:
        """How far the upper bounds may be too high where the bounds meet; else 0."""
        finite = np.isfinite(self.upper)
        gap = np.max(self.upper[finite] - self.lower[finite], initial=0.0)
        return float(gap) if self.is_exact else 0.0


def largest_ratios(
    network: DiscreteNetwork,
    protected: str,
    columns: tuple[str, ...],
    prior: LogTable,
    sides: Collection[StatePair],
    most_work: int = MOST_ASSIGNMENT_WORK,
) -> LargestRatios | None:
    """Bounds on the largest log ratios of columns, for pairs of states of a protected attribute.

    Parameters
    ----------
    network : DiscreteNetwork
    protected : str
    columns : tuple of str
    prior : LogTable
        Log P(protected).
    sides : collection of (int, int)
        The pairs of states.
    most_work : int
        Cells of tables, of all models together.

    Returns
    -------
    LargestRatios or None
        None where not even one pass over the columns fits.

    Examples
    --------
    >>> from bnpriv.core.influence.finite import joint_law
    >>> network = DiscreteNetwork.from_tables(
    ...     {"income": [0.5, 0.5], "sat": [[0.6, 0.3], [0.4, 0.7]], "car": [[0.2, 0.1], [0.8, 0.9]]},
    ...     states=dict.fromkeys(["income", "sat", "car"], ["low", "high"]),
    ...     parents={"sat": ["income"], "car": ["income"]},
    ... )
    >>> found = largest_ratios(network, "income", ("car", "sat"), joint_law(network, ("income",)), [(0, 1)])
    >>> round(float(found.upper[0, 0, 1]), 6), found.is_exact, found.chosen[0, 0, 1].tolist()
    (1.386294, True, [0, 0])
    """
    searches: list[_BranchAndBound] = []
    for model in range(network.models):
        row = prior.values[min(model, prior.values.shape[0] - 1)]
        asked = [(a, b) for a, b in sides if row[a] > -np.inf and row[b] > -np.inf]
        search = _BranchAndBound(
            network=network,
            protected=protected,
            columns=columns,
            model=model,
            prior=row,
            prior_error=prior.error,
            sides=asked,
            left=most_work // network.models,
        )
        with one_thread():
            if not search.run():
                return None
        searches.append(search)
    return LargestRatios(
        columns=columns,
        upper=np.stack([search.upper for search in searches]),
        lower=np.stack([search.lower for search in searches]),
        chosen=np.stack([search.chosen for search in searches]),
        is_exact=all(search.closed for search in searches),
    )


def one_thread() -> AbstractContextManager[object]:
    """Linear algebra of small matrices without threads, which wait for each other longer than they work."""
    import threadpoolctl

    library: Any = threadpoolctl  # without types
    return library.threadpool_limits(limits=1, user_api="blas")


@dataclass(kw_only=True, eq=False)
class _BranchAndBound:
    """Branch and bound over the states of columns, for one model and all pairs at once."""

    network: DiscreteNetwork
    protected: str
    columns: tuple[str, ...]
    model: int
    prior: FloatArray
    prior_error: float
    sides: list[StatePair]
    left: int
    closed: bool = False
    tolerance: float = CLOSED
    _heap: list[_Node] = field(default_factory=list[_Node])
    _ended: list[FloatArray] = field(default_factory=list[FloatArray])

    def __post_init__(self) -> None:
        states = len(self.prior)
        self.lower = np.full((states, states), -np.inf)
        self.upper = np.full((states, states), -np.inf)
        self.chosen = np.zeros((states, states, len(self.columns)), dtype=np.int32)
        self._number = count()

    def run(self) -> bool:
        """Run the search; False if not even one bound was found."""
        if not self._add({}):
            return False
        # the columns, those with most neighbours first: fixing these breaks up the graph soonest
        moral = self.network.graph.moral((self.protected, *self.columns))
        order = sorted(self.columns, key=lambda name: (-len(moral.adj[name]), name))
        while self._heap:
            # the node with the widest gap first: the heap is ordered by minus the gap
            _, _, fixed, upper = heapq.heappop(self._heap)
            if not self._open(upper).size:
                self._ended.append(upper)
                continue
            name = next((each for each in order if each not in fixed), None)
            states = range(0 if name is None else len(self.network.states[name]))
            if name is None or not all(self._add({**fixed, name: state}) for state in states):
                self._ended.append(upper)
                break
        # what is still open bounds the rest, so that a search cut short remains a valid upper bound
        bounds = [*self._ended, *(upper for *_, upper in self._heap)]
        self.closed = all(not self._open(upper).size for upper in bounds)
        self.upper = np.maximum.reduce([self.upper, *bounds])
        return True

    def _open(self, upper: FloatArray) -> FloatArray:
        """The amounts by which a bound exceeds the best ratio found, where it does."""
        with np.errstate(invalid="ignore"):
            gap = upper - self.lower
        return gap[gap > self.tolerance]

    def _add(self, fixed: Mapping[str, int]) -> bool:
        """Bound the assignments that agree with some fixed states; False if that takes too much work."""
        try:
            found, work = most_telling(self.network, self.protected, self.columns, self.model, fixed, self.left)
        except SizeError:
            return False
        self.left -= work
        upper = np.full(self.lower.shape, -np.inf)
        finite = np.abs(found.table.values[np.isfinite(found.table.values)]).max(initial=1.0)
        rounding = 2 * (found.table.error + self.prior_error) + 16 * UNIT_ROUNDOFF * float(finite)
        self.tolerance = max(self.tolerance, CLOSED + 4 * rounding)
        for first, second in self.sides if found.count else ():
            above, below = found.table.values[:, first], found.table.values[:, second]
            with np.errstate(invalid="ignore"):
                ratio = np.where(np.isneginf(above), -np.inf, above - below)
            best = int(np.argmax(ratio))
            value = float(ratio[best] - (self.prior[first] - self.prior[second]))
            upper[first, second] = value + rounding + found.slack
            if value - rounding > self.lower[first, second]:
                self.lower[first, second] = value - rounding
                self.chosen[first, second] = [
                    fixed.get(name, state) for name, state in zip(self.columns, found.chosen[best], strict=True)
                ]
        most = float(self._open(upper).max(initial=0.0))
        heapq.heappush(self._heap, (-most, next(self._number), fixed, upper))
        return True
