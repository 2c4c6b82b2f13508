"""Intervals of probabilities: which columns lie in them and sum to one."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
from numpy.typing import ArrayLike

from bnpriv.bound import UNIT_ROUNDOFF, FloatArray
from bnpriv.errors import NetworkError, SizeError
from bnpriv.laws.base import SUM_TOLERANCE
from bnpriv.networks.declared import DeclaredTables

MOST_VERTICES = 2**12
"""Vertices of one column's polytope that are ever listed."""

SAME_VERTEX = 1e-12
"""Relative distance of entries up to which two vertices may be taken for one: rounding makes such twins."""


def vertices(lower: FloatArray, upper: FloatArray) -> FloatArray:
    """Return the vertices of {p : lower <= p <= upper, sum of p = 1}, one per row.

    Parameters
    ----------
    lower, upper : ndarray of shape (states,)
        The ends of a column that is not empty.

    Returns
    -------
    ndarray of shape (vertices, states)
        In a vertex all entries but one are at an end. Where rounding alone keeps that one from zero, it is given both
        ways. Every vertex is there up to a relative distance of `SAME_VERTEX` in each entry.

    Raises
    ------
    SizeError
        If there may be more than `MOST_VERTICES`.

    Examples
    --------
    >>> vertices(np.array([0.25, 0.0, 0.25]), np.array([0.5, 0.25, 0.75])).tolist()
    [[0.25, 0.0, 0.75], [0.25, 0.25, 0.5], [0.5, 0.0, 0.5], [0.5, 0.25, 0.25]]
    """
    low, high, unit = _whole(*_normalized([Fraction(float(x)) for x in lower], [Fraction(float(x)) for x in upper]))
    free = [k for k in range(len(low)) if low[k] < high[k]]
    if not free:
        return np.array([[x / unit for x in low]])
    if len(free) << (len(free) - 1) > MOST_VERTICES:
        raise SizeError(
            f"a column may have at most {MOST_VERTICES:,} vertices",
            found=f"{len(free)} states whose probabilities vary",
            remedy="Merge states, or fix some probabilities.",
        )
    found: dict[tuple[str, ...], tuple[float, ...]] = {}
    for last in free:
        others = [k for k in free if k != last]
        for ends in product(*((low[k], high[k]) for k in others)):
            column = list(low)
            for k, end in zip(others, ends, strict=True):
                column[k] = end
            for vertex in _completed(column, last, low[last], high[last], unit):
                found.setdefault(tuple(f"{x:.13g}" for x in vertex), vertex)
    return np.array(sorted(found.values()))


def _completed(column: list[int], last: int, low: int, high: int, unit: int) -> list[tuple[float, ...]]:
    """Return the vertex whose entry `last` makes the sum one, if there is one, and its twin with zero there."""
    rest = unit - (sum(column) - column[last])
    slack = 8 * len(column) * unit // int(1 / UNIT_ROUNDOFF)
    near = min(max(rest, low), high)
    values = [near] if abs(rest - near) <= slack else []
    if 0 == low < rest <= slack:
        values.append(low)
    return [tuple(x / unit for x in (*column[:last], value, *column[last + 1 :])) for value in values]


def _whole(low: list[Fraction], high: list[Fraction]) -> tuple[list[int], list[int], int]:
    """Return numbers as whole multiples of a common part of one: sums of those are exact and quick."""
    unit = math.lcm(*(x.denominator for x in (*low, *high)))
    return [int(x * unit) for x in low], [int(x * unit) for x in high], unit


def _normalized(low: list[Fraction], high: list[Fraction]) -> tuple[list[Fraction], list[Fraction]]:
    """Divide ends that exclude the sum one by a rounding, as a table whose columns sum to one nearly is divided."""
    below, above = sum(low, Fraction(0)), sum(high, Fraction(0))
    if below >= 1 or above <= 1:  # then one column is left
        low = high = [x / below for x in low] if below >= 1 else [x / above for x in high]
    return low, high


def interval_ends(
    shape: DeclaredTables, name: str, lower: ArrayLike, upper: ArrayLike, tolerance: float = SUM_TOLERANCE
) -> tuple[FloatArray, FloatArray]:
    """Return the checked and tightened ends of one attribute's table; a sum of one may be missed by `tolerance`.

    Raises
    ------
    NetworkError
        If they are not 0 <= lower <= upper <= 1, or no column within them sums to one; the place is named.
    """
    high = np.array(upper, dtype=np.float64).reshape(shape.tables[name].values.shape[1:])
    try:
        low = np.array(lower, dtype=np.float64)
    except (TypeError, ValueError):
        low = np.full(1, np.nan)
    if low.shape != high.shape or not bool(np.all((low >= 0) & (low <= high) & (high <= 1))):
        raise NetworkError(
            f"the ends of {name!r} must have 0 <= lower <= upper <= 1 throughout",
            found=_first_bad(shape, name, low, high),
            remedy="Correct the intervals.",
        )
    for place in np.ndindex(high.shape[1:]):
        column = (slice(None), *place)
        if low[column].sum() > 1 + tolerance or high[column].sum() < 1 - tolerance:
            raise NetworkError(
                f"some column in the intervals of {name!r} must sum to 1",
                found=f"sums between {low[column].sum():.6g} and {high[column].sum():.6g}{_given(shape, name, place)}",
                remedy="Widen the intervals.",
            )
        low[column], high[column] = _tightened(low[column], high[column])
    low.flags.writeable = high.flags.writeable = False
    return low, high


def _tightened(lower: FloatArray, upper: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return what members reach: an entry is at least what the others leave of one, and at most that."""
    declared = [Fraction(float(x)) for x in lower], [Fraction(float(x)) for x in upper]
    low, high = _normalized(*declared)
    below, above = sum(low, Fraction(0)), sum(high, Fraction(0))
    # An end that only rounding would move stays where it is, on the wide side.
    slack = 8 * len(low) * Fraction(UNIT_ROUNDOFF)
    least = [1 - above + b if 1 - above + b > a + slack else a for a, b in zip(low, high, strict=True)]
    most = [1 - below + a if 1 - below + a < b - slack else b for a, b in zip(low, high, strict=True)]
    return np.array([float(x) for x in least]), np.array([float(x) for x in most])


def middle_columns(lower: FloatArray, upper: FloatArray) -> FloatArray:
    """Return the columns on the way from the lower to the upper ends where the sums are one."""
    width = (upper - lower).sum(axis=0)
    missing = np.clip(1 - lower.sum(axis=0), 0.0, None)
    share = np.where(width > 0, missing / np.where(width > 0, width, 1.0), 0.0)
    return lower + np.clip(share, 0.0, 1.0) * (upper - lower)


def _first_bad(shape: DeclaredTables, name: str, low: FloatArray, high: FloatArray) -> str:
    if low.shape != high.shape:
        return f"a lower table of shape {low.shape} and an upper one of shape {high.shape}"
    place = tuple(int(k) for k in np.argwhere(~((low >= 0) & (low <= high) & (high <= 1)))[0])
    state = shape.states[name][place[0]]
    return f"{low[place]:g} to {high[place]:g} for {state}{_given(shape, name, place[1:])}"


def _given(shape: DeclaredTables, name: str, place: tuple[int, ...]) -> str:
    parents = zip(shape.graph.parents[name], place, strict=True)
    given = ", ".join(f"{parent} = {shape.states[parent][k]}" for parent, k in parents)
    return f" given {given}" if given else ""
