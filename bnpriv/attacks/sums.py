"""The law of a query's integer sums given the laws of its columns, without making up a single record.

Columns are independent given their parameters. So terms that share no column are independent, and one record of the
others is a choice among few cells: the combinations of comparisons that hold, and of values where a column has few. A
sum is then a count of cells, multinomial and exact; sums of columns with many values are drawn from the normal law with
their mean and covariance.
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from bnpriv.bound import FloatArray
from bnpriv.errors import SizeError
from bnpriv.queries.base import Indicator
from bnpriv.queries.cells import Leaf
from bnpriv.queries.normal_form import IntegerTerm, NormalForm, columns_of, most_of
from bnpriv.queries.predicates import IsIn, Truths, truth
from bnpriv.tables.column_laws import ColumnLaw
from bnpriv.tables.schema import Categorical, Column, is_whole

MOST_SUM_CELLS = 2_000_000
"""Cells times terms of one group of columns, before they are allocated."""

FEW_STEPS = 200
"""A summed column with at most so many values is counted value by value."""

MOST_COUNTED = 5_000
"""Cells that are drawn from a multinomial law where values are summed."""

COMPARE: Mapping[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}


Group = tuple[tuple[str, ...], tuple[int, ...]]
"""Columns, and the places in the normal form of all terms that share them, directly or through others."""


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class RecordLaw:
    """What one record adds to the terms of a group.

    Parameters
    ----------
    mean : ndarray of shape (terms,)
    covariance : ndarray of shape (terms, terms)
    most : ndarray of shape (terms,)
        The most that a record can add; the least is 0.
    cells : ndarray of shape (terms, cells) or None
        What each cell adds, if cells determine that.
    probabilities : ndarray of shape (cells,) or None
    """

    mean: FloatArray
    covariance: FloatArray
    most: FloatArray
    cells: FloatArray | None
    probabilities: FloatArray | None

    def sums(self, records: int, draws: int, random: np.random.Generator) -> FloatArray:
        """Return `draws` sums over `records` independent records, of shape (draws, terms)."""
        if self.cells is not None and self.probabilities is not None:
            counts = random.multinomial(records, self.probabilities, size=draws)
            return counts @ self.cells.T
        values, vectors = np.linalg.eigh(self.covariance)
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        drawn = records * self.mean + math.sqrt(records) * random.standard_normal((draws, len(values))) @ root.T
        return np.clip(drawn, 0.0, records * self.most)


def groups(form: NormalForm) -> tuple[Group, ...]:
    """The terms of a normal form in groups that share no column."""
    found: list[tuple[set[str], list[int]]] = []
    for place, term in enumerate(form.terms):
        columns, places = set(columns_of(term)), [place]
        for group in [group for group in found if group[0] & columns]:
            found.remove(group)
            columns, places = columns | group[0], [*group[1], *places]
        found.append((columns, places))
    return tuple((tuple(sorted(names)), tuple(sorted(places))) for names, places in found)


def record_law(form: NormalForm, group: Group, laws: Mapping[str, ColumnLaw]) -> RecordLaw:
    """What one record adds to a group of terms, given the laws of its columns.

    Raises
    ------
    SizeError
        If too many combinations of comparisons are possible.
    """
    columns, places = group
    terms = [form.terms[place] for place in places]
    powers = [None if isinstance(term, Indicator) else term.powers for term in terms]
    summed = frozenset(name for each in powers if each is not None for name in each)
    parts = {
        name: _column_cells(form.schema[name], _leaves(terms, name), laws[name], summed=name in summed)
        for name in columns
    }
    shape = tuple(len(part.probabilities) for part in parts.values())
    if math.prod(shape) * len(terms) > MOST_SUM_CELLS:
        raise SizeError(
            f"a rehearsal may look at {MOST_SUM_CELLS:,} combinations of comparisons",
            found=f"{math.prod(shape):,} for {len(terms)} terms that share columns",
            remedy="Rehearse parts of the query.",
        )

    def spread(name: str, values: NDArray[Any]) -> NDArray[Any]:
        """Numbers per cell of one column as numbers per combination of cells."""
        along = [-1 if name == other else 1 for other in parts]
        return np.broadcast_to(values.reshape(along), shape).ravel()

    def mean_of(product: Mapping[str, int]) -> FloatArray:
        """The mean of a product of powers of grid steps in each combination."""
        return reduce(np.multiply, (spread(name, parts[name].moments[k]) for name, k in product.items()))

    def holds(leaf: Leaf) -> Truths:
        return spread(leaf.column, parts[leaf.column].truth[leaf])

    chances = reduce(np.multiply.outer, (part.probabilities for part in parts.values())).ravel()
    values = np.stack(
        [
            truth(term.predicate, holds).astype(np.float64) if isinstance(term, Indicator) else mean_of(term.powers)
            for term in terms
        ]
    )
    mean = values @ chances
    # what reads a column in common varies together inside a combination too
    within = np.zeros((len(terms), len(terms)))
    for (i, one), (j, other) in itertools.product(enumerate(powers), repeat=2):
        if one is not None and other is not None and one.keys() & other.keys():
            both = {name: one.get(name, 0) + other.get(name, 0) for name in columns_of(terms[i]) | columns_of(terms[j])}
            within[i, j] = float((mean_of(both) - values[i] * values[j]) @ chances)
    covariance = (values * chances) @ values.T - np.outer(mean, mean) + within
    most = np.array([float(most_of(term, form.schema)) for term in terms])
    law = RecordLaw(mean=mean, covariance=covariance, most=most, cells=None, probabilities=None)
    if not all(parts[name].single for name in summed):
        return law
    cells, alike = np.unique(values, axis=1, return_inverse=True)
    if summed and cells.shape[1] > MOST_COUNTED:
        return law
    merged = np.bincount(alike.ravel(), weights=chances)
    return replace(law, cells=cells, probabilities=merged / merged.sum())


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class _ColumnCells:
    """A column cut into cells by comparisons.

    Parameters
    ----------
    truth : mapping from leaf to ndarray of shape (cells,)
    probabilities : ndarray of shape (cells,)
    moments : ndarray of shape (5, cells)
        Means of the powers 0 to 4 of the grid step in each cell; empty for categories.
    single : bool
        Whether each cell is a single grid step.
    """

    truth: Mapping[Leaf, Truths]
    probabilities: FloatArray
    moments: FloatArray
    single: bool


def _column_cells(column: Column, leaves: Sequence[Leaf], law: ColumnLaw, *, summed: bool) -> _ColumnCells:
    cuts = [float(value) for leaf in leaves for value in leaf.constants if not isinstance(value, str)]
    values, chances = law.atoms(cuts)
    values, chances = values[chances > 0], chances[chances > 0]
    if isinstance(column, Categorical):
        steps = np.zeros(len(values))
    elif is_whole(column):
        steps = np.floor(values + 0.5) - column.lower
    else:
        steps = np.floor((values - column.lower) * column.rate + 0.5)
    single = summed and len(np.unique(steps)) <= FEW_STEPS
    marks = [_holds(leaf, values).astype(np.float64) for leaf in leaves] + ([steps] if single else [])
    patterns, cell = np.zeros((0, 1)), np.zeros(len(values), dtype=np.intp)
    if marks:
        patterns, cell = np.unique(np.stack(marks), axis=1, return_inverse=True)
        cell = cell.ravel()
    masses: FloatArray = np.bincount(cell, weights=chances).astype(np.float64)
    moments = np.stack([np.bincount(cell, weights=chances * steps**power) for power in range(5)]) / masses
    truth = {leaf: pattern > 0 for leaf, pattern in zip(leaves, patterns, strict=False)}
    return _ColumnCells(truth=truth, probabilities=masses, moments=moments, single=single)


def _leaves(terms: Sequence[IntegerTerm], name: str) -> tuple[Leaf, ...]:
    conditions = [term.predicate for term in terms if isinstance(term, Indicator)]
    return tuple(
        dict.fromkeys(leaf for condition in conditions for leaf in condition.comparisons() if leaf.column == name)
    )


def _holds(leaf: Leaf, values: NDArray[Any]) -> Truths:
    """Compare values of a column, numbers or categories, with the constants of a comparison."""
    if isinstance(leaf, IsIn):
        return np.array([value in leaf.values for value in values.tolist()], dtype=bool)
    return np.asarray(COMPARE[leaf.operator](values, leaf.value))
