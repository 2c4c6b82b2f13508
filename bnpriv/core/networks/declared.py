"""Checks of conditional probability tables as they are declared, and table rows without data."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bnpriv.bound import FloatArray
from bnpriv.checks import listing, text, type_text
from bnpriv.core.columns import State
from bnpriv.core.distributions import SUM_TOLERANCE
from bnpriv.core.networks.factors import LogTable
from bnpriv.core.networks.graph import Graph, Parents, parents_of
from bnpriv.errors import NetworkError, SizeError

# --------------------------------------------------------------------------------------------------
# Checks of declared tables: names, shapes, entries and sums.
# --------------------------------------------------------------------------------------------------

FEW_DECIMALS = 0.01 + SUM_TOLERANCE
"""How far from 1 a column printed with few decimals may sum."""

FLOAT_NOISE = 1e-6
"""How far from 1 a column computed in single precision may sum."""

MOST_DECLARED_CELLS = 2**26
"""The most numbers a declared table may hold: half a gigabyte, held a few times while it is checked."""

MISSING_ROW = (
    "Give this row, or pass missing_rows='any': rows of nan alone may then be any distribution, none is filled in."
)


@dataclass(frozen=True, kw_only=True)
class DeclaredTables:
    """Checked tables: what a network with finitely many states is made of.

    Parameters
    ----------
    graph : Graph
    states : mapping from str to tuple of states
    tables : mapping from str to LogTable
        For every attribute the log of P(attribute | parents), with axes (attribute, *parents).
    models : int
        Number of models in Theta.
    """

    graph: Graph
    states: Mapping[str, tuple[State, ...]]
    tables: Mapping[str, LogTable]
    models: int


def declared_tables(
    tables: Mapping[str, ArrayLike], states: Mapping[str, Sequence[State]], parents: Parents | None, tolerance: float
) -> DeclaredTables:
    """Check tables whose columns must sum to 1 within a tolerance, and take their logs.

    Raises
    ------
    NetworkError
        As from `DiscreteNetwork.from_tables`.
    """
    names = [text("an attribute's name", name, error=NetworkError) for name in tables]
    if not names:
        raise NetworkError("a network needs an attribute", found="no tables", remedy="Give a table per attribute.")
    given = {} if parents is None else parents_of(parents)
    above = {name: given.get(name, ()) for name in names}
    stray = [name for name in (*states, *given) if name not in above]
    if stray:
        raise NetworkError("every attribute needs a table", found=f"none for {listing(stray)}", remedy="Add it.")
    graph = Graph(above)
    named = {name: named_states(name, states.get(name)) for name in names}
    arrays = {name: table_of(name, tables[name], graph, named) for name in names}
    models = models_of(arrays)
    for name, array in arrays.items():
        check_columns(name, array, graph, named, tolerance=tolerance)
    logs = {
        name: replace(LogTable.from_columns((name, *above[name]), array), weights=array)
        for name, array in arrays.items()
    }
    return DeclaredTables(graph=graph, states=named, tables=logs, models=models)


def named_states(name: str, declared: Sequence[State] | None) -> tuple[State, ...]:
    """The states of an attribute, checked to be distinct strings or numbers.

    Raises
    ------
    NetworkError
        If there are none, or they are not distinct strings and numbers.
    """
    if declared is None or isinstance(declared, str) or len(declared) == 0:
        raise NetworkError(f"{name!r} must have a list of states", found=repr(declared), remedy="Name its states.")
    states = tuple(declared)
    unnamed = [state for state in states if not isinstance(state, (str, int, float, np.generic)) or state != state]
    if unnamed:
        raise NetworkError(
            f"the states of {name!r} must be strings or numbers", found=listing(unnamed), remedy="Rename them."
        )
    if len(set(states)) != len(states):
        raise NetworkError(f"the states of {name!r} must be distinct", found=listing(states), remedy="Rename them.")
    return states


def _numbers(name: str, declared: ArrayLike) -> FloatArray:
    try:
        array = np.asarray(declared)
        if array.size > MOST_DECLARED_CELLS:  # a view may be of any size, and is copied below
            raise SizeError(
                f"the table of {name!r} may have at most {MOST_DECLARED_CELLS:,} cells, in all models",
                found=f"{array.size:,}",
                remedy="Give the attribute fewer parents or states, or declare fewer models.",
            )
        if array.dtype.kind in "buifO":  # not strings, dates or complex numbers
            return np.array(array, dtype=np.float64)
        found = f"entries of type {array.dtype}"
    except (TypeError, ValueError, OverflowError):
        found = "something else"
    raise NetworkError(
        f"the table of {name!r} must be a rectangular array of numbers",
        found=found,
        remedy="Give one probability per state and parent configuration.",
    )


def table_of(name: str, declared: ArrayLike, graph: Graph, states: Mapping[str, tuple[State, ...]]) -> FloatArray:
    """A checked table, with an axis for models before those of the attribute and its parents.

    Raises
    ------
    NetworkError
        If it does not hold numbers or has another shape.
    """
    array = _numbers(name, declared)
    shape = (len(states[name]), *(len(states[parent]) for parent in graph.parents[name]))
    if array.shape == shape:
        array = array[np.newaxis]
    if array.shape[1:] != shape or array.ndim != len(shape) + 1 or array.shape[0] < 1:
        axes = ", ".join((name, *graph.parents[name]))
        raise NetworkError(
            f"the table of {name!r} must have shape {shape} for the axes ({axes}), or an axis for models before them",
            found=f"shape {tuple(array.shape)}",
            remedy="Order the axes as own states first, then the parents in the order of `parents`.",
        )
    return array


def models_of(arrays: Mapping[str, FloatArray], part: str = "table") -> int:
    """The number of models that all tables, or other parts of a network, declare together.

    Raises
    ------
    NetworkError
        If two tables are of different numbers of models.
    """
    counts = {array.shape[0] for array in arrays.values()} - {1}
    if len(counts) > 1:
        raise NetworkError(
            f"all {part}s must have the same number of models, or one",
            found=f"{listing(sorted(counts))} models",
            remedy=f"Give every {part} that differs between models the same leading axis.",
        )
    return counts.pop() if counts else 1


def check_columns(
    name: str, array: FloatArray, graph: Graph, states: Mapping[str, tuple[State, ...]], *, tolerance: float
) -> None:
    """Check that the entries of a table are probabilities, and that every column sums to 1 within a tolerance.

    Raises
    ------
    NetworkError
        If not; the place is named, and a table that sums to 1 over its parents instead.
    """
    bad = ~(np.isfinite(array) & (array >= 0))
    if bad.any():
        where = _place(name, tuple(int(k) for k in np.argwhere(bad)[0]), graph, states)
        gap = math.isnan(array[bad][0]) and tolerance < math.inf
        raise NetworkError(
            f"the probabilities of {name!r} must be finite and at least 0",
            found=f"{array[bad][0]:g} {where}",
            remedy=MISSING_ROW if gap else "Correct the table.",
        )
    with np.errstate(over="ignore"):  # weights may be huge: they are divided in logs
        sums = np.sum(array, axis=1, keepdims=True)
    away = np.abs(sums - 1)
    over = _summed_over(array, graph.parents[name], float(away.max())) if tolerance < math.inf else ()
    off = ~(sums > 0) | ~(away <= (FLOAT_NOISE if over else tolerance))
    if off.any():
        where = _place(name, tuple(int(k) for k in np.argwhere(off)[0]), graph, states)
        found = f"the sum {sums[off][0]:.12g} {where}"
        remedy = "Correct the table, or divide counts by their sums."
        if over:
            found = f"{found}, while the sums over {listing(over)} are 1"
            remedy = f"Transpose the table: its first axis holds the states of {name!r} itself."
        elif away.max() <= FEW_DECIMALS:
            remedy = (
                "Correct the table, or, if it was printed with few decimals, pass normalize=True, in a framework file "
                "normalize = true under [network]."
            )
        raise NetworkError(
            f"every column of the table of {name!r} must sum to 1 within {tolerance:.2g}", found=found, remedy=remedy
        )


def _summed_over(array: FloatArray, parents: Sequence[str], worst: float) -> tuple[str, ...]:
    """The parents over which a table sums to 1 although its columns do not: a sign that it is transposed."""
    if not FLOAT_NOISE < worst < math.inf or not parents:
        return ()
    limit = FEW_DECIMALS if worst > FEW_DECIMALS else SUM_TOLERANCE
    for places in (*((place,) for place in range(len(parents))), tuple(range(len(parents)))):
        sums = np.sum(array, axis=tuple(2 + place for place in places))
        if bool(np.all(np.abs(sums - 1) <= limit)):
            return tuple(parents[place] for place in places)
    return ()


def _place(name: str, index: tuple[int, ...], graph: Graph, states: Mapping[str, tuple[State, ...]]) -> str:
    given = ", ".join(
        f"{parent} = {states[parent][k]}" for parent, k in zip(graph.parents[name], index[2:], strict=True)
    )
    model = f"in model {index[0]}"
    return f"{model} given {given}" if given else model


# --------------------------------------------------------------------------------------------------
# Rows of tables without data: where they are, and how they are filled while the rest is checked.
# --------------------------------------------------------------------------------------------------

MissingRows = Literal["any"]
"""What a row without data stands for: any law."""

Gaps = Mapping[str, NDArray[np.bool_]]
"""For attributes with rows without data, a mask of those rows, with an axis for every parent."""

_ONE_MODEL = "Read one model, or give the rows."

LEAST_DIVIDED = float(np.finfo(np.float64).tiny)
"""Positive entries below this lose accuracy when a column is divided by its sum."""


def require_missing_rows(value: object) -> None:
    """Refuse an unknown way to read rows without data.

    Raises
    ------
    NetworkError
        If it is neither None nor "any".
    """
    if value is not None and value != "any":
        raise NetworkError(
            "missing_rows must be 'any' or left out",
            found=repr(value) if isinstance(value, str) else type_text(value),
            remedy="With 'any' a row without data may be any distribution; nothing is ever filled in.",
        )


def split_gaps(
    tables: Mapping[str, ArrayLike], parents: Mapping[str, Sequence[str]]
) -> tuple[dict[str, ArrayLike], dict[str, NDArray[np.bool_]]]:
    """Replace columns that are NaN throughout by uniform ones, and tell where these are.

    What is no array of numbers stays as it is, to be refused with the rest of what is wrong.

    Raises
    ------
    NetworkError
        If a table of several models lacks rows.
    """
    filled: dict[str, ArrayLike] = dict(tables)
    gaps: dict[str, NDArray[np.bool_]] = {}
    for name, declared in tables.items():
        try:
            array = np.asarray(declared)
            array = np.array(array, dtype=np.float64) if array.dtype.kind in "fO" else np.zeros(0)
        except (TypeError, ValueError, OverflowError):
            continue
        if not np.isnan(array).any():
            continue
        axes = 1 + len(parents.get(name, ()))
        array = array[0] if array.ndim == axes + 1 and len(array) == 1 else array
        if array.ndim != axes:
            raise NetworkError(
                f"rows without data are read in a network of one model, as those of {name!r}",
                found=f"a table of shape {array.shape}",
                remedy=_ONE_MODEL,
            )
        gaps[name] = np.asarray(np.isnan(array).all(axis=0))
        filled[name] = np.where(gaps[name], 1 / len(array), array)
    return filled, {name: gap for name, gap in gaps.items() if gap.any()}


def ends_of(
    shape: DeclaredTables, filled: Mapping[str, ArrayLike], gaps: Gaps
) -> tuple[dict[str, FloatArray], dict[str, FloatArray]]:
    """The lower and upper ends of all tables: 0 and 1 in rows without data, else the declared numbers.

    Raises
    ------
    NetworkError
        If there are several models, or an entry is too small to be divided by the sum of its column.
    """
    if shape.models > 1:
        raise NetworkError(
            "rows without data are read in a network of one model", found=f"{shape.models} models", remedy=_ONE_MODEL
        )
    lower: dict[str, FloatArray] = {}
    upper: dict[str, FloatArray] = {}
    for name in shape.graph.nodes:
        table = np.array(filled[name], dtype=np.float64).reshape(shape.tables[name].values.shape[1:])
        coarse = (table > 0) & (table < LEAST_DIVIDED) & (np.abs(table.sum(axis=0) - 1) > SUM_TOLERANCE)
        if coarse.any():
            raise NetworkError(
                f"beside rows without data, columns of {name!r} with tiny entries must sum to 1",
                found=f"the entry {table[coarse][0]:g}",
                remedy="Divide such columns by their sums.",
            )
        gap = gaps.get(name, False)
        lower[name], upper[name] = np.where(gap, 0.0, table), np.where(gap, 1.0, table)
    return lower, upper


def named_gaps(shape: DeclaredTables, gaps: Gaps) -> tuple[str, ...]:
    """The rows without data, in words."""
    found: list[str] = []
    for name in shape.graph.nodes:
        for place in np.argwhere(gaps[name]) if name in gaps else ():
            above = zip(shape.graph.parents[name], place, strict=True)
            given = ", ".join(f"{parent} = {shape.states[parent][int(k)]}" for parent, k in above)
            found.append(f"{name} given {given}" if given else name)
    return tuple(found)


def gaps_again(shape: DeclaredTables, gaps: Gaps) -> dict[str, FloatArray]:
    """The tables as they were declared, with NaN again in rows without data."""
    held = {name: table.weights[0] for name, table in shape.tables.items() if table.weights is not None}
    return {name: np.where(gaps[name], np.nan, table) if name in gaps else table for name, table in held.items()}
