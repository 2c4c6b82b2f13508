"""Many conditions on one column in one pass: where a value lies among all their constants decides every one of them.

A histogram of a thousand bins would otherwise compare every value two thousand times.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, cast

import narwhals as nw
import numpy as np

from bnpriv.bound import FloatArray, IntArray
from bnpriv.queries.base import Indicator
from bnpriv.queries.cells import Leaf, Truths, holds_category, holds_number
from bnpriv.queries.normal_form import IntegerTerm
from bnpriv.queries.predicates import truth
from bnpriv.release.expressions import Frame, Keys
from bnpriv.tables.reader import collected
from bnpriv.tables.schema import Categorical, Category

FEW_CONDITIONS = 32
"""So many conditions on one column are summed one by one, by the engine."""

VECTORS_AT_ONCE = 256
"""Vectors of DuckDB, of 2,048 rows each, that are in memory at a time."""


def wide_columns(terms: Sequence[IntegerTerm]) -> dict[str, list[int]]:
    """Return the columns with many conditions that read nothing else, and the places of these among the terms."""
    alone: dict[str, list[int]] = {}
    for place, term in enumerate(terms):
        if isinstance(term, Indicator) and len(term.columns) == 1:
            alone.setdefault(next(iter(term.columns)), []).append(place)
    return {name: places for name, places in alone.items() if len(places) > FEW_CONDITIONS}


def number_counts(terms: Sequence[Indicator], pieces: Iterator[FloatArray]) -> list[int]:
    """Return how many values satisfy each of some conditions on one column of numbers.

    Parameters
    ----------
    terms : sequence of Indicator
    pieces : iterator of ndarray of shape (rows,)
        The column as it counts, piece by piece.

    Returns
    -------
    list of int

    Examples
    --------
    >>> from bnpriv.queries.predicates import col
    >>> terms = [Indicator(col("x") < 2), Indicator((col("x") >= 2) & (col("x") <= 3))]
    >>> number_counts(terms, iter([np.array([1.0, 2.0]), np.array([2.5, 9.0])]))
    [1, 2]
    """
    cuts = np.unique(
        [float(value) for term in terms for leaf in term.predicate.comparisons() for value in leaf.constants]
    )
    # cell 2k + 1 is cut k, cell 2k what lies below it; a cell without any double is stood for by another, and empty
    points = np.empty(2 * len(cuts) + 1)
    points[0], points[1::2], points[2::2] = -np.inf, cuts, np.nextafter(cuts, np.inf)
    counts: IntArray = np.zeros(len(points), dtype=np.int64)
    for values in pieces:
        cells = np.searchsorted(cuts, values, "left") + np.searchsorted(cuts, values, "right")
        counts += np.bincount(cells, minlength=len(counts))
    return _sums(terms, counts, lambda leaf: holds_number(leaf, points))


def category_counts(terms: Sequence[Indicator], column: Categorical, frame: Frame, name: str, keys: Keys) -> list[int]:
    """Return how many records satisfy each of some conditions on a column of categories, called `name` in the frame."""
    # what is no category becomes null: there may be as many groups as records otherwise
    known = nw.when(nw.col(name).is_in(list(keys))).then(nw.col(name)).alias(name)
    groups = collected(frame.select(known).group_by(name).agg(nw.len().alias("rows")))
    found = dict.fromkeys(column.categories, 0)
    for value, rows in groups.iter_rows():
        found[keys.get(value, cast(Category, column.missing))] += int(rows)
    counts: IntArray = np.array(list(found.values()), dtype=np.int64)
    return _sums(terms, counts, lambda leaf: holds_category(leaf, column))


def pieces(frame: Frame, name: str) -> Iterator[FloatArray]:
    """Yield a column of doubles without nulls, in DuckDB piece by piece."""
    if not frame.implementation.is_duckdb():
        yield collected(frame.select(name))[name].to_numpy()
        return
    relation: Any = frame.select(name).to_native()
    while len(part := relation.fetch_df_chunk(VECTORS_AT_ONCE)):
        yield part[name].to_numpy()


def _sums(terms: Sequence[Indicator], counts: IntArray, holds: Callable[[Leaf], Truths]) -> list[int]:
    return [int(counts[truth(term.predicate, holds)].sum()) for term in terms]
