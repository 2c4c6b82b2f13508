"""A query on many made-up tables at once, held as arrays: the same sums as `bnpriv.release.evaluate` has of one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bnpriv.laws.whole import nearest_doubles
from bnpriv.queries.base import Indicator
from bnpriv.queries.cells import Truths, holds_category, holds_number
from bnpriv.queries.normal_form import IntegerTerm, NormalForm, Wholes
from bnpriv.queries.predicates import Comparison, IsIn, truth
from bnpriv.tables.schema import Categorical, Column, Schema, is_whole

Tables = Mapping[str, NDArray[Any]]

LARGEST_ADDED = 2**62
"""Whole numbers up to here are added in 64 bits, larger ones one by one."""


def answers(form: NormalForm, tables: Tables) -> NDArray[np.float64]:
    """The answers to many tables, as the doubles that a release rounds them to.

    Parameters
    ----------
    form : NormalForm
    tables : mapping from str to ndarray of shape (tables, records)
        The queried columns as they are drawn, before bounds are applied: numbers, or the categories themselves.

    Returns
    -------
    ndarray of shape (tables,), or (tables, outputs) if there are several
        Exact answers, rounded once.

    Examples
    --------
    >>> from bnpriv.queries import col, count
    >>> from bnpriv.queries.normal_form import normal_form
    >>> from bnpriv.tables.schema import Real
    >>> schema = Schema(records=3, columns={"height": Real(120, 220)})
    >>> answers(normal_form(count(col("height") > 165), schema), {"height": np.array([[150.0, 170.0, 999.0]])})
    array([2.])
    """
    totals = _totals(form, tables)
    outputs = [_output(whole, totals) for whole in form.wholes()]
    return outputs[0] if len(outputs) == 1 else np.stack(outputs, axis=1)


def term_sums(form: NormalForm, tables: Tables) -> NDArray[np.float64]:
    """The sum of every term over the records of many tables, of shape (tables, terms), as doubles.

    Parameters
    ----------
    form : NormalForm
    tables : mapping from str to ndarray of shape (tables, records)
        As for `answers`.
    """
    return np.stack(_totals(form, tables), axis=1).astype(np.float64)


def _totals(form: NormalForm, tables: Tables) -> list[NDArray[np.int64]]:
    columns = {name: cleaned(form.schema[name], values) for name, values in tables.items()}
    return [_sum(term, columns, form.schema) for term in form.terms]


def cleaned(column: Column, values: NDArray[Any]) -> NDArray[Any]:
    """The values that count: numbers between the bounds, of categories their places."""
    if isinstance(column, Categorical):
        places = np.full(values.shape, column.categories.index(column.missing), dtype=np.int64)
        for place, category in enumerate(column.categories):
            places[values == category] = place
        return places
    inside = np.clip(np.where(np.isnan(values), float(column.missing or 0), values), column.lower, column.upper)
    return np.floor(inside + 0.5) if is_whole(column) else inside


def _sum(term: IntegerTerm, columns: Tables, schema: Schema) -> NDArray[np.int64]:
    if not isinstance(term, Indicator):
        steps = (_steps(schema[name], columns[name]) ** power for name, power in term.powers.items())
        return np.add.reduce(reduce(np.multiply, steps), axis=1)
    return np.count_nonzero(truth(term.predicate, lambda leaf: _holds(leaf, columns, schema)), axis=1).astype(np.int64)


def _steps(column: Column, values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Grid steps as `Real.step` and `Integer.step` define them, of values that are cleaned."""
    assert not isinstance(column, Categorical)
    above = values - float(column.lower)
    return (above if is_whole(column) else np.floor(above * column.rate + 0.5)).astype(np.int64)


def _holds(leaf: Comparison | IsIn, columns: Tables, schema: Schema) -> Truths:
    column, values = schema[leaf.column], columns[leaf.column]
    return holds_category(leaf, column)[values] if isinstance(column, Categorical) else holds_number(leaf, values)


def _output(whole: Wholes, totals: Sequence[NDArray[np.int64]]) -> NDArray[np.float64]:
    sizes = [max(1, int(np.max(np.abs(total)))) for total in totals]
    largest = abs(whole.shift) + sum(abs(weight) * size for weight, size in zip(whole.weights, sizes, strict=True))
    kind = np.int64 if largest < LARGEST_ADDED else object
    added: NDArray[Any] = sum(
        (weight * total.astype(kind) for weight, total in zip(whole.weights, totals, strict=True)),
        start=np.full(totals[0].shape, whole.shift, dtype=kind),
    )
    return nearest_doubles(added, whole.denominator)
