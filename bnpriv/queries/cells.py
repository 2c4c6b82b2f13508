"""A column's values, cut into cells on which every comparison of a query is constant.

A condition on age with the constant 18 cuts it into three cells: ages below 18, the age 18, and ages above. Inside a
cell a record's value moves freely, and its grid step moves monotonically with it; so the most and the least that a
query can make of a column is found by trying a few grid steps per cell, its corners, instead of all values.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from bnpriv.queries.predicates import Comparison, IsIn, Operator, Truths
from bnpriv.tables.schema import Categorical, Column, NumberColumn

Leaf = Comparison | IsIn

COMPARED: dict[Operator, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}


@final
@dataclass(frozen=True, kw_only=True)
class ColumnCells:
    """What a column can hold, as far as comparisons and grid steps tell.

    Parameters
    ----------
    truth : ndarray of bool, shape (leaves, cells)
        Which comparisons hold in which cell.
    low, high : tuple of int, shape (cells,)
        The first and the last grid step of each cell; 0 for categories.
    """

    truth: Truths
    low: tuple[int, ...]
    high: tuple[int, ...]


@final
@dataclass(frozen=True, kw_only=True)
class Corners:
    """The values of a column that are tried: their comparisons, shape (leaves, values), and their grid steps."""

    truth: Truths
    steps: tuple[int, ...]


def cells(column: Column, leaves: Sequence[Leaf]) -> ColumnCells:
    """Cut `column` at the constants of `leaves`, which are comparisons of this column.

    Examples
    --------
    >>> from bnpriv.tables.schema import Real
    >>> parts = cells(Real(0, 10, steps=10), [Comparison("x", ">=", 5)])
    >>> list(zip(parts.low, parts.high)), parts.truth.tolist()
    ([(0, 5), (5, 5), (5, 10)], [[False, True, True]])
    """
    if isinstance(column, Categorical):
        truth = np.array([holds_category(leaf, column) for leaf in leaves], dtype=bool)
        nothing = (0,) * len(column.categories)
        return ColumnCells(truth=truth.reshape(len(leaves), len(nothing)), low=nothing, high=nothing)
    cuts = {float(value) for leaf in leaves for value in leaf.constants}
    intervals = _intervals(column, sorted(cuts))
    places = np.array([start for start, _ in intervals])
    truth = np.array([holds_number(leaf, places) for leaf in leaves], dtype=bool)
    return ColumnCells(
        truth=truth.reshape(len(leaves), len(intervals)),
        low=tuple(column.step(start) for start, _ in intervals),
        high=tuple(column.step(end) for _, end in intervals),
    )


def patterns(parts: ColumnCells) -> Corners:
    """One value for each combination of comparisons: enough for a column that is never summed."""
    chosen = [places[0] for places in _alike(parts).values()]
    return Corners(truth=parts.truth[:, chosen], steps=(0,) * len(chosen))


def ends(parts: ColumnCells) -> Corners:
    """The least and the greatest grid step for each combination of comparisons.

    A function that is affine in the grid step inside a cell is extreme at these.
    """
    found = [
        (places[0], step)
        for places in _alike(parts).values()
        for step in sorted({min(parts.low[place] for place in places), max(parts.high[place] for place in places)})
    ]
    return _corners(parts, found)


def turns(parts: ColumnCells, turning: Iterable[Fraction]) -> Corners:
    """The ends of every cell, and the grid steps beside each of the points `turning` that lie inside a cell.

    A function that is a parabola in the grid step inside a cell, with its vertex in `turning`, is extreme at these.
    """
    beside = {step for point in turning for step in (math.floor(point), math.ceil(point))}
    found: dict[tuple[bytes, int], tuple[int, int]] = {}
    for places in _alike(parts).values():
        for place in places:
            low, high = parts.low[place], parts.high[place]
            for step in sorted({low, high, *(step for step in beside if low < step < high)}):
                found.setdefault((parts.truth[:, place].tobytes(), step), (place, step))
    return _corners(parts, list(found.values()))


def every_cell(parts: ColumnCells) -> Corners:
    """The first grid step of every cell."""
    return _corners(parts, list(enumerate(parts.low)))


def has_holes(column: Column) -> bool:
    """Whether doubles are so coarse that some grid step between the bounds is the step of no double."""
    if isinstance(column, Categorical) or column.whole:
        return False
    return 2 * math.ulp(max(abs(column.lower), abs(column.upper))) > column.grid


def _corners(parts: ColumnCells, found: list[tuple[int, int]]) -> Corners:
    return Corners(truth=parts.truth[:, [place for place, _ in found]], steps=tuple(step for _, step in found))


def _alike(parts: ColumnCells) -> dict[bytes, list[int]]:
    """The cells that no comparison of the query tells apart, in groups."""
    groups: dict[bytes, list[int]] = {}
    # packed and side by side, because a histogram of many bins has very many comparisons
    rows = np.ascontiguousarray(np.packbits(parts.truth, axis=0).T)
    for place in range(len(parts.low)):
        groups.setdefault(rows[place].tobytes(), []).append(place)
    return groups


def _intervals(column: NumberColumn, cuts: Sequence[float]) -> list[tuple[float, float]]:
    """The first and last value of each cell: single points at the cuts, and what lies between them."""
    found: list[tuple[float, float]] = []
    start = float(column.lower)
    for cut in cuts:
        if not column.lower <= cut <= column.upper:
            continue
        before, after, held = _around(column, cut)
        if start <= before:
            found.append((start, before))
        if held:
            found.append((cut, cut))
        start = after
    if start <= column.upper:
        found.append((start, float(column.upper)))
    return found


def _around(column: NumberColumn, cut: float) -> tuple[float, float, bool]:
    """The value of the column before `cut`, the one after it, and whether the column can hold it."""
    if not column.whole:
        return math.nextafter(cut, -math.inf), math.nextafter(cut, math.inf), True
    return float(math.ceil(cut) - 1), float(math.floor(cut) + 1), cut.is_integer()


def holds_number(leaf: Leaf, places: NDArray[np.float64]) -> Truths:
    """Compare doubles with constants that are exact as doubles (the normal form refuses others)."""
    values = [float(value) for value in leaf.constants]
    if isinstance(leaf, IsIn):
        return np.isin(places, values)
    return np.asarray(COMPARED[leaf.operator](places, values[0]), dtype=np.bool_)


def holds_category(leaf: Leaf, column: Categorical) -> Truths:
    """For which of a column's categories a comparison holds."""
    held = set(leaf.constants)
    truth = np.array([category in held for category in column.categories], dtype=bool)
    return ~truth if isinstance(leaf, Comparison) and leaf.operator == "!=" else truth
