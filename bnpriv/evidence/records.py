"""The law of what one record adds to an answer, from the laws of its columns."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from typing import Any, cast, final

import numpy as np
from numpy.typing import NDArray

from bnpriv.checks import listing
from bnpriv.column_laws import ColumnLaw, NumberLaw
from bnpriv.errors import FrameworkError, SizeError
from bnpriv.factors import FloatArray
from bnpriv.laws import Atoms
from bnpriv.networks import State
from bnpriv.queries.base import Indicator
from bnpriv.queries.normal_form import IntegerTerm, NormalForm, Steps, numeric
from bnpriv.queries.predicates import Comparison, IsIn, truth
from bnpriv.schema import Categorical, Column, Integer, Schema

MOST_CELLS = 10**7
"""Combinations of column values that are tabulated for one record."""


MOST_STEPS = 1000
"""Grid steps of a column with densities whose sums have exact laws."""


@final
@dataclass(frozen=True, eq=False)
class Cells:
    """The values that a column can hold, as far as a query tells them apart, per state of its node.

    Parameters
    ----------
    values : ndarray of shape (V,)
    masses : ndarray of shape (states, V)
        P(value | state); each row sums to one.
    """

    values: NDArray[Any]
    masses: FloatArray


def state_cells(name: str, column: Column, states: Sequence[State]) -> Cells:
    """Return the cells of a column whose node's states are its values.

    Raises
    ------
    FrameworkError
        If a state is no value of the column.
    """
    known: Mapping[str, Any] = {}
    if isinstance(column, Categorical):
        known = {str(category): category for category in column.categories}
    values: list[Any] = []
    for state in states:
        value = known.get(str(state)) if isinstance(column, Categorical) else _number(state)
        inside = value is not None and (isinstance(column, Categorical) or column.lower <= value <= column.upper)
        if not inside:
            raise FrameworkError(
                f"the states of {name!r} must be values of its column, or have declared laws",
                found=repr(state),
                remedy="Name the states after the values, or declare a law of the column for every state.",
            )
        values.append(value)
    return Cells(np.array(values, dtype=object), np.eye(len(values)))


def law_cells(laws: Sequence[ColumnLaw], cuts: Sequence[float]) -> Cells:
    """Return the cells of a column with one declared law per state of its node; no cell straddles a cut."""
    tables = [law.atoms(cuts) for law in laws]
    places = {value: k for k, value in enumerate(dict.fromkeys(v for values, _ in tables for v in values.tolist()))}
    masses = np.zeros((len(laws), len(places)))
    for row, (values, chances) in zip(masses, tables, strict=True):
        np.add.at(row, [places[value] for value in values.tolist()], chances)
    return Cells(np.array(list(places), dtype=object), masses)


def cuts_of(form: NormalForm, name: str) -> list[float]:
    """Return the numbers that the query compares a column with and, where it sums the column, between grid steps."""
    leaves = [leaf for term in form.terms if isinstance(term, Indicator) for leaf in term.predicate.comparisons()]
    compared = [float(c) for leaf in leaves if leaf.column == name for c in _constants(leaf) if not isinstance(c, str)]
    return [*compared, *(_between_steps(form, name) if _is_summed(form, name) else ())]


def _is_summed(form: NormalForm, name: str) -> bool:
    return any(isinstance(term, Steps) and term.column == name for term in form.terms)


def _between_steps(form: NormalForm, name: str) -> Sequence[float]:
    """Return where the grid step of a column changes; nothing for a grid that is too fine."""
    column = numeric(name, form.schema)
    if column.steps > MOST_STEPS:
        return ()
    if isinstance(column, Integer):
        return [float(value) for value in range(column.lower, column.upper + 1)]
    return [float(column.lower + (k + Fraction(1, 2)) * column.grid) for k in range(column.steps)]


def summed_exactly(form: NormalForm, name: str, laws: Sequence[ColumnLaw]) -> bool:
    """Return whether the laws of a column give the law of its sum exactly: not where cells hold several grid steps."""
    densities = any(isinstance(law, NumberLaw) for law in laws)
    return not densities or not _is_summed(form, name) or numeric(name, form.schema).steps <= MOST_STEPS


def record_law(form: NormalForm, cells: Mapping[str, Cells], states: FloatArray) -> Atoms:
    """Return the law of the vector that one record adds to the answer.

    Parameters
    ----------
    form : NormalForm
        With d outputs.
    cells : mapping from str to Cells
        The queried columns, in the order of the axes of `states`.
    states : ndarray
        P(states of the queried columns' nodes), one axis per column.

    Returns
    -------
    Atoms
        Of dimension d, in the unit of the answer.

    Raises
    ------
    SizeError
        If there are too many combinations of values; found out before they are tabulated.
    """
    size = math.prod(len(cell.values) for cell in cells.values())
    if size > MOST_CELLS:
        raise SizeError(
            f"a record may have at most {MOST_CELLS:,} combinations of values",
            found=f"{size:,} in the columns {listing(cells)}",
            remedy="Query fewer columns at once, or declare fewer states.",
        )
    masses = reduce(lambda table, cell: np.tensordot(table, cell.masses, axes=(0, 0)), cells.values(), states)
    columns = {name: _Axis(k, len(cells), cell.values) for k, (name, cell) in enumerate(cells.items())}
    terms = [np.broadcast_to(_term(term, columns, form.schema), masses.shape) for term in form.terms]
    outputs = [_output(row, terms, masses.shape) for row in form.matrix]
    support = np.stack([output.ravel() for output in outputs], axis=1)
    return Atoms(support, masses.ravel())


@final
@dataclass(frozen=True, eq=False)
class _Axis:
    """The values of one column along its axis of the table of all combinations."""

    place: int
    axes: int
    values: NDArray[Any]

    def spread(self, along: Sequence[Any], dtype: type) -> NDArray[Any]:
        shape = [1] * self.axes
        shape[self.place] = len(self.values)
        return cast("NDArray[Any]", np.array(along, dtype=dtype).reshape(shape))


def _output(row: Sequence[Fraction], terms: Sequence[NDArray[Any]], shape: tuple[int, ...]) -> FloatArray:
    """Return one output in whole numbers over a common denominator, so that equal answers are equal doubles."""
    denominator = math.lcm(*(weight.denominator for weight in row))
    total = np.zeros(shape, dtype=object)
    for weight, term in zip(row, terms, strict=True):
        if weight:
            total = total + int(weight * denominator) * term.astype(object)
    return np.array([int(value) / denominator for value in total.ravel()], dtype=np.float64).reshape(shape)


def _term(term: IntegerTerm, columns: Mapping[str, _Axis], schema: Schema) -> NDArray[Any]:
    if isinstance(term, Indicator):
        return truth(term.predicate, lambda leaf: _along(leaf, columns, schema)).astype(np.int64)
    axis, column = columns[term.column], numeric(term.column, schema)
    return axis.spread([column.step(float(value)) ** term.exponent for value in axis.values], object)


def _along(leaf: Comparison | IsIn, columns: Mapping[str, _Axis], schema: Schema) -> NDArray[np.bool_]:
    axis, column = columns[leaf.column], schema[leaf.column]
    return axis.spread([_holds(leaf, value, column) for value in axis.values], bool)


def _holds(leaf: Comparison | IsIn, value: Any, column: Column) -> bool:
    if isinstance(column, Integer):
        value = math.floor(value + 0.5)
    if isinstance(leaf, IsIn):
        return value in leaf.values
    compared = {
        "<": lambda: value < leaf.value,
        "<=": lambda: value <= leaf.value,
        ">": lambda: value > leaf.value,
        ">=": lambda: value >= leaf.value,
        "==": lambda: value == leaf.value,
        "!=": lambda: value != leaf.value,
    }
    return bool(compared[leaf.operator]())


def _constants(leaf: Comparison | IsIn) -> Sequence[Any]:
    return leaf.values if isinstance(leaf, IsIn) else (leaf.value,)


def _number(state: State) -> float | None:
    try:
        return float(state)
    except ValueError:
        return None
