"""What is checked of conditional probability tables as they are declared: names, shapes, entries and sums."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from bnpriv.bound import FloatArray
from bnpriv.checks import listing, text
from bnpriv.errors import NetworkError, SizeError
from bnpriv.laws.base import SUM_TOLERANCE
from bnpriv.networks.factors import LogTable
from bnpriv.networks.graph import Graph, Parents, parents_of
from bnpriv.tables.schema import State

FEW_DECIMALS = 0.01 + SUM_TOLERANCE
"""How far from 1 a column that was printed with few decimals may sum."""

FLOAT_NOISE = 1e-6
"""How far from 1 a column may sum that was computed in single precision."""

MOST_DECLARED_CELLS = 2**26
"""How many numbers a declared table may hold: half a gigabyte, a few times while it is checked."""

MISSING_ROW = "Give this row, or pass missing_rows='any': rows of nan alone may then be any law, none is filled in."


@final
@dataclass(frozen=True, kw_only=True)
class DeclaredTables:
    """Tables that were checked: what a network with finitely many states is made of.

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
    tables: Mapping[str, ArrayLike],
    states: Mapping[str, Sequence[State]],
    parents: Parents | None,
    tolerance: float,
) -> DeclaredTables:
    """Return tables whose columns sum to 1 within a tolerance, once they are known to be well formed.

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
    """Return the states of an attribute.

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
    """Return a table with an axis for models before those of the attribute and its parents.

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


def models_of(arrays: Mapping[str, FloatArray]) -> int:
    """Return the number of models of all tables together.

    Raises
    ------
    NetworkError
        If two tables are of different numbers of models.
    """
    counts = {array.shape[0] for array in arrays.values()} - {1}
    if len(counts) > 1:
        raise NetworkError(
            "all tables must have the same number of models, or one",
            found=f"{listing(sorted(counts))} models",
            remedy="Give every table that differs between models the same leading axis.",
        )
    return counts.pop() if counts else 1


def check_columns(
    name: str,
    array: FloatArray,
    graph: Graph,
    states: Mapping[str, tuple[State, ...]],
    *,
    tolerance: float,
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
    """Return the parents over which a table sums to 1 although its columns do not: it is likely to be transposed."""
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
