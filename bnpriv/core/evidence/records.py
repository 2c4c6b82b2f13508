"""The law of what one record adds to an answer, and the laws of sums over records."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from bnpriv.bound import UNIT_ROUNDOFF, FloatArray, Kind
from bnpriv.checks import listing, spelt_apart
from bnpriv.core.column_laws import ColumnLaw, FiniteLaw, MixedLaw, NumberLaw, UniformLaw, bin_laws
from bnpriv.core.columns import GAP_MARK, NOT_COUNTED, Binned, Categorical, State
from bnpriv.core.distributions import FUNCTION_ERROR, Atoms, log_mixture, log_sum, magnitude
from bnpriv.core.evidence.constraints import RecordPair
from bnpriv.core.networks.factors import LogTable
from bnpriv.core.queries.base import Indicator, IntegerTerm, NormalForm, Wholes, most_of, numeric
from bnpriv.core.queries.predicates import Comparison, IsIn, truth
from bnpriv.core.schema import Column, NumberColumn, Schema, has_gaps, is_whole
from bnpriv.core.whole_numbers import LARGEST_WHOLE, WholeLaw, nearest_doubles, sums_bound
from bnpriv.errors import FrameworkError, LawError, Refusal, SizeError
from bnpriv.text import rough_text

# --------------------------------------------------------------------------------------------------
# Sums of independent records, mixtures of such sums, and what is too large to be computed.
# --------------------------------------------------------------------------------------------------

MOST_ANSWER_ATOMS = 2**20
"""The most atoms of the law of an answer; a larger one is refused."""

MOST_TOTAL = 2**24
"""The most atoms of all laws that are compared."""

MOST_TOTAL_PRODUCTS = 2**34
"""The most products of masses in all sums that are compared: half a minute, comparison included."""


def released(form: NormalForm, total: WholeLaw) -> Atoms:
    """The law of the released doubles, from that of the integer numerators summed over all records."""
    columns = [
        nearest_doubles(_shifted(column, whole.shift), whole.denominator)
        for column, whole in zip(total.columns, form.wholes(), strict=True)
    ]
    return Atoms.from_logs(np.stack(columns, axis=1), total.logs, total.error)


def _shifted(numerators: NDArray[Any], shift: int) -> NDArray[Any]:
    fits = numerators.dtype != object and abs(shift) < LARGEST_WHOLE
    return (numerators if fits else numerators.astype(object)) + shift


def record_pair(
    form: NormalForm, pair: str, laws: tuple[WholeLaw, WholeLaw], distances: Sequence[int], kind: Kind
) -> RecordPair:
    """Two laws of what one record adds to the answer's numerators, with the numbers of records that change."""
    below = tuple(whole.denominator for whole in form.wholes())
    return RecordPair(pair=pair, numerators=laws, denominators=below, distances=distances, kind=kind)


def mixture_of(log_weights: FloatArray, error: float, laws: Sequence[Atoms]) -> Atoms:
    """A mixture by log weights that are off by at most `error`; the law itself where there is only one."""
    return laws[0] if len(laws) == 1 else log_mixture(log_weights, laws, error)


def normalized(logs: FloatArray, error: float) -> tuple[FloatArray, float]:
    """Normalize log masses that are off by at most `error`; give the error of the result too."""
    total = log_sum(logs)
    rounding = 2 * len(logs) + FUNCTION_ERROR * (1 + math.log(len(logs))) + 3 * magnitude(logs)
    return logs - total, 2 * error + UNIT_ROUNDOFF * rounding


def too_large(parts: Sequence[WholeLaw], n: int, laws: int = 1) -> Refusal | None:
    """Why the laws of sums of `n` draws from `parts` would have too many atoms; None if they do not."""
    size = sums_bound(parts, n)
    if size <= MOST_ANSWER_ATOMS and size * laws <= MOST_TOTAL:
        return None
    return Refusal(
        required=f"the distribution of the answer may have at most {rough_text(MOST_ANSWER_ATOMS)} atoms",
        found=f"up to {rough_text(size)} over {n:,} records" + (f", for {laws:,} secrets" if laws > 1 else ""),
        remedy="Ask for one count, or declare the summed column with fewer grid steps: Real(lower, upper, steps=20).",
    )


def too_slow(parts: Sequence[WholeLaw], n: int, laws: int, pairs: int, models: int) -> Refusal | None:
    """Why comparing pairs of laws of sums under all models would take too long; None if it would not.

    Parameters
    ----------
    parts : sequence of WholeLaw
        What each draw of a sum comes from.
    n : int
        Draws of a sum.
    laws, pairs, models : int
        How many different sums, and pairs of them, there are under each of so many models.
    """
    size = sums_bound(parts, n)
    # a sum of s draws of one law and n - s of another takes as many products as both have atoms: a sixth on average
    products = size * size * laws * models // 6
    if size * pairs * models <= MOST_TOTAL and products <= MOST_TOTAL_PRODUCTS:
        return None
    under = f"{models:,} model{'' if models == 1 else 's'}"
    return Refusal(
        required="exact distributions of the answer are compared where that takes less than about a minute",
        found=f"up to {rough_text(size)} atoms, for {pairs:,} pairs of secrets under {under}",
        remedy="Ask for a count, declare the summed column with fewer grid steps, or declare fewer models.",
    )


def rounding_of(form: NormalForm) -> float:
    """How far, in the 1-norm, rounding the answer to doubles can move two answers apart."""
    weights = [weight for row in (*form.matrix, form.offset) for weight in row]
    largest = [_largest(form, output) for output in range(len(form.matrix))]
    # whole numbers below 2^52 are doubles, so that nothing is rounded
    if all(weight.denominator == 1 for weight in weights) and max(largest) < 2**52:
        return 0.0
    return float(4 * Fraction(UNIT_ROUNDOFF) * sum(largest))


def _largest(form: NormalForm, output: int) -> Fraction:
    n = form.schema.records
    total = abs(form.offset[output])
    for weight, term in zip(form.matrix[output], form.terms, strict=True):
        total += abs(weight) * most_of(term, form.schema) * n
    return total


# --------------------------------------------------------------------------------------------------
# The law of what one record adds to an answer, from the laws of its columns.
# --------------------------------------------------------------------------------------------------

MOST_RECORD_COMBINATIONS = 10**7
"""The most combinations of column values that are tabulated for one record."""


MOST_STEPS = 1000
"""The most grid steps of a column with a density for which sums have exact laws."""


@dataclass(frozen=True, eq=False)
class Cells:
    """The values of a column that a query can tell apart, with their log probabilities per state of its node.

    Parameters
    ----------
    values : ndarray of shape (V,)
        One value of each cell.
    logs : ndarray of shape (states, V)
        log P(cell | state); each row of probabilities sums to one.
    error : float
        Largest absolute error of a log.
    """

    values: NDArray[Any]
    logs: FloatArray
    error: float = 0.0

    def given(self, state: int) -> Cells:
        """The cells given one state alone."""
        return Cells(self.values, self.logs[[state]], self.error)


def state_cells(name: str, column: Column, states: Sequence[State]) -> Cells:
    """The cells of a column whose node's states are its values.

    Raises
    ------
    FrameworkError
        If a state is no value of the column.
    """
    known: Mapping[str, Any] = {NOT_COUNTED: GAP_MARK} if has_gaps(column) else {}
    if isinstance(column, Categorical):
        known = {str(category): category for category in column.outcomes}
    values: list[Any] = []
    for state in states:
        value = known.get(_whole_text(state, known))
        if value is None and not isinstance(column, Categorical):
            value = _number(state)
            value = value if value is not None and column.lower <= value <= column.upper else None
        if value is None:
            raise FrameworkError(
                f"the states of {name!r} must be values of its column, or have declared distributions",
                found=repr(state),
                remedy=f"{_meant(state, known)}Name the states after the values, or declare a distribution of the "
                "column for "
                "every state.",
            )
        values.append(value)
    return Cells(np.array(values, dtype=object), _certain(len(values)))


def node_cells(
    form: NormalForm,
    names: Iterable[str],
    states: Mapping[str, tuple[State, ...]],
    laws: Mapping[str, Sequence[ColumnLaw]] | None = None,
) -> dict[str, Cells]:
    """The cells of columns per state of their nodes: by declared laws, by laws inside bins, or as values.

    Raises
    ------
    FrameworkError
        If a state is no value of a column without a law, or no label of its bins.
    LawError
        If the probability of a cell cannot be computed to a known accuracy.
    """
    known = {**bin_laws(form.schema, {name: states[name] for name in names}, laws or {}), **(laws or {})}
    for name, chosen in known.items():
        if not summed_exactly(form, name, chosen):
            raise LawError(
                f"the sum of {name!r} needs a grid of at most {MOST_STEPS:,} steps, or probabilities of numbers",
                found="a density on a finer grid",
                remedy="Declare the column with fewer grid steps, steps=20, or count it instead.",
            )
    return {
        name: law_cells(form, name, known[name])
        if name in known
        else state_cells(name, form.schema[name], states[name])
        for name in names
    }


def _whole_text(state: State, known: Mapping[str, Any]) -> str:
    """A state as its category is written: 0.0 is the category 0 unless it is a category itself."""
    text, number = str(state), _number(state)
    if text in known or number is None or not number.is_integer():
        return text
    return str(int(number))


def _meant(state: State, known: Mapping[str, Any]) -> str:
    apart = spelt_apart(state, known)
    return f"It is {apart}. " if apart else ""


def law_cells(form: NormalForm, name: str, laws: Sequence[ColumnLaw]) -> Cells:
    """The cells of a column with one declared law per state: values that the query cannot tell apart are one.

    Raises
    ------
    LawError
        If the probability of a cell cannot be computed to a known accuracy, or the query tells a single number apart
        where a law is a density.
    """
    _check_single_numbers(form, name, laws)
    # the numbers at which the query's view of a column changes: compared constants, and ends of grid steps
    compared = [float(c) for leaf in _conditions(form, name) for c in leaf.constants if not isinstance(c, str)]
    cuts, told = [*compared, *(_between_steps(form, name) if _is_summed(form, name) else ())], told_by(form, name)
    tables = [law.cells(cuts, told) for law in laws]
    values = {told(value): value for table in tables for value in table.values}
    places = {mark: place for place, mark in enumerate(values)}
    logs = np.full((len(laws), len(values)), -math.inf)
    for row, table in zip(logs, tables, strict=True):
        np.logaddexp.at(row, [places[told(value)] for value in table.values], table.logs)
    error = max(table.error + _rounding(table.logs) for table in tables)
    return Cells(np.array([values[mark] for mark in places], dtype=object), logs, error)


def _check_single_numbers(form: NormalForm, name: str, laws: Sequence[ColumnLaw]) -> None:
    """Refuse conditions that single out a number to which a density gives probability 0.

    The law gives it probability 0, and an answer about it would need no noise; but a table may hold it, if only in
    place of a missing value, or of one outside the bounds.
    """
    column, about = form.schema[name], dict[float, list[Comparison | IsIn]]()
    if isinstance(column, Categorical):
        return
    for leaf in _conditions(form, name):
        for value in leaf.constants:
            about.setdefault(float(value), []).append(leaf)
    for cut, leaves in about.items():
        if not (column.lower <= cut <= column.upper and any(_is_dense(law, column, cut) for law in laws)):
            continue
        sides = [x for way in (-math.inf, math.inf) if column.lower <= (x := math.nextafter(cut, way)) <= column.upper]
        here, *beside = ([_holds(leaf, x, column) for leaf in leaves] for x in (cut, *sides))
        if here not in beside:
            raise LawError(
                f"conditions on {name!r}, whose distribution is a density, must not tell a single number apart",
                found=f"{cut:g}, which has probability 0 by that distribution, and which a table may hold, if only in "
                "place of "
                "missing values or of values out of range",
                remedy="Ask for a range, always with the same one of < and <= (and of > and >=) at a number, or "
                "declare probabilities of numbers, or whole numbers.",
            )


def _is_dense(law: ColumnLaw, column: NumberColumn, x: float) -> bool:
    """Whether a law gives the single number `x` probability 0; clamped numbers at the bounds have mass."""
    if isinstance(law, NumberLaw):
        return law.continuous and column.lower < x < column.upper
    if not isinstance(column, Binned) or not isinstance(law, (UniformLaw, MixedLaw)):
        return False
    inside = column.inside(column.bin_of(x))
    return "uniform" in inside and (isinstance(inside, str) or x not in inside)


def _conditions(form: NormalForm, name: str) -> list[Comparison | IsIn]:
    """The conditions of a query on one column, each once."""
    leaves = [leaf for term in form.terms if isinstance(term, Indicator) for leaf in term.predicate.comparisons()]
    return [leaf for leaf in dict.fromkeys(leaves) if leaf.column == name]


def told_by(form: NormalForm, name: str) -> Callable[[Any], Hashable]:
    """What the query can tell of a value of a column: the truth of conditions, and its grid step if summed."""
    column, summed, leaves = form.schema[name], _is_summed(form, name), _conditions(form, name)

    def told(value: Any) -> Hashable:
        step = numeric(name, form.schema).step(float(value)) if summed else None
        return tuple(_holds(leaf, value, column) for leaf in leaves), step

    return told


def _rounding(logs: FloatArray) -> float:
    """A bound on the rounding when so many masses are added one after the other."""
    return UNIT_ROUNDOFF * len(logs) * (FUNCTION_ERROR + 4 + magnitude(logs))


def _is_summed(form: NormalForm, name: str) -> bool:
    return any(not isinstance(term, Indicator) and name in term.powers for term in form.terms)


def _between_steps(form: NormalForm, name: str) -> Sequence[float]:
    """The least double of every grid step of a column but the first; empty for too fine a grid."""
    column = numeric(name, form.schema)
    if column.steps > MOST_STEPS:
        return ()
    if is_whole(column):
        return [float(value) for value in range(int(column.lower), int(column.upper) + 1)]
    return list(dict.fromkeys(_least_double(column, k) for k in range(1, column.steps + 1)))


def _least_double(column: NumberColumn, step: int) -> float:
    """The least double whose grid step is at least `step`, by `Real.step` itself, rounding included."""
    low, high = column.lower, column.upper
    near = float(column.origin + (step - Fraction(1, 2)) * column.grid)
    # `Real.step` rounds on its way, so that the border may lie some units beside where fractions put it
    margin = 4 * max(math.ulp(low), math.ulp(high))
    if low <= near - margin and column.step(near - margin) < step:
        low = near - margin
    if near + margin <= high and column.step(near + margin) >= step:
        high = near + margin
    while low < (middle := low + (high - low) / 2) < high:
        low, high = (low, middle) if column.step(middle) >= step else (middle, high)
    return high


def summed_exactly(form: NormalForm, name: str, laws: Sequence[ColumnLaw]) -> bool:
    """Whether the laws of a column give the law of its sum exactly, which wide cells would not."""
    parts = [part for law in laws for part in (law.parts if isinstance(law, MixedLaw) else (law,))]
    densities = not all(isinstance(part, FiniteLaw) for part in parts)
    return not densities or not _is_summed(form, name) or numeric(name, form.schema).steps <= MOST_STEPS


def record_law(form: NormalForm, cells: Mapping[str, Cells], states: LogTable) -> WholeLaw:
    """The law of what one record adds to the numerators of the answer.

    Parameters
    ----------
    form : NormalForm
        With d outputs.
    cells : mapping from str to Cells
        The queried columns.
    states : LogTable
        P(states of the queried columns' nodes) under one model, with an axis per column in the order of `cells`.

    Returns
    -------
    WholeLaw
        Of dimension d; over the denominators of ``form.wholes()``, and without their shifts.

    Raises
    ------
    SizeError
        If there are too many combinations of values; found out before they are tabulated.
    """
    size = math.prod(len(cell.values) for cell in cells.values())
    if size > MOST_RECORD_COMBINATIONS:
        raise SizeError(
            f"a record may have at most {MOST_RECORD_COMBINATIONS:,} combinations of values",
            found=f"{size:,} in the columns {listing(cells)}",
            remedy="Query fewer columns at once, or declare fewer states.",
        )
    logs = reduce(_contracted, (cell.logs for cell in cells.values()), states.values[0])
    error = states.error + sum(cell.error + _contraction_error(cell, logs) for cell in cells.values())
    added = added_by(form, {name: cell.values for name, cell in cells.items()})
    return WholeLaw.of([each.ravel() for each in added], logs.ravel(), error)


def added_by(form: NormalForm, values: Mapping[str, NDArray[Any]]) -> list[NDArray[Any]]:
    """What one record adds to each numerator of the answer, for all combinations of some values of its columns."""
    shape = tuple(map(len, values.values()))
    columns = {name: _Axis(k, len(values), each) for k, (name, each) in enumerate(values.items())}
    terms = [np.broadcast_to(_term(term, columns, form.schema), shape) for term in form.terms]
    return [numerator(whole, terms, shape) for whole in form.wholes()]


def _contracted(table: FloatArray, given: FloatArray) -> FloatArray:
    """Sum out the states along the first axis of a log table, and put the cells of the column last."""
    # the states are the values themselves: there is nothing to sum
    if np.array_equal(given, _certain(len(given))):
        return np.moveaxis(table, 0, -1)
    total = np.full((*table.shape[1:], given.shape[1]), -math.inf)
    for state, row in zip(table, given, strict=True):
        np.logaddexp(total, state[..., None] + row, out=total)
    return total


def _contraction_error(cell: Cells, logs: FloatArray) -> float:
    if np.array_equal(cell.logs, _certain(len(cell.logs))):
        return 0.0
    return UNIT_ROUNDOFF * len(cell.logs) * (FUNCTION_ERROR + 4 + 2 * magnitude(logs))


def _certain(states: int) -> FloatArray:
    """The log probabilities of cells that are the states themselves."""
    return np.where(np.eye(states) > 0, 0.0, -math.inf)


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


def numerator(whole: Wholes, terms: Sequence[NDArray[Any]], shape: tuple[int, ...]) -> NDArray[Any]:
    """What one record adds to the numerator of one output."""
    largest = sum(abs(weight) * int(term.max(initial=0)) for weight, term in zip(whole.weights, terms, strict=True))
    total = np.zeros(shape, dtype=np.int64 if largest < LARGEST_WHOLE else object)
    for weight, term in zip(whole.weights, terms, strict=True):
        if weight and term.any():  # the weight of what is always 0 may be too large for 64 bits
            total = total + weight * term.astype(total.dtype)
    return total


def _term(term: IntegerTerm, columns: Mapping[str, _Axis], schema: Schema) -> NDArray[Any]:
    if isinstance(term, Indicator):
        return truth(term.predicate, lambda leaf: _along(leaf, columns, schema)).astype(np.int64)
    powers: list[NDArray[Any]] = []
    for name, power in term.powers.items():
        axis, column = columns[name], numeric(name, schema)
        powers.append(axis.spread([column.step(float(value)) ** power for value in axis.values], np.int64))
    return reduce(np.multiply, powers)


def _along(leaf: Comparison | IsIn, columns: Mapping[str, _Axis], schema: Schema) -> NDArray[np.bool_]:
    axis, column = columns[leaf.column], schema[leaf.column]
    return axis.spread([_holds(leaf, value, column) for value in axis.values], bool)


def _holds(leaf: Comparison | IsIn, value: Any, column: Column) -> bool:
    if is_whole(column):
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


def _number(state: State) -> float | None:
    try:
        return float(state)
    except ValueError:
        return None
