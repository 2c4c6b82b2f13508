"""Many conditions on one column: which cell between all their constants a value lies in decides every one of them.

A histogram of a thousand bins would otherwise compare every value two thousand times.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast, final

import narwhals as nw
import numpy as np

from bnpriv.bound import FloatArray, IntArray
from bnpriv.errors import SizeError
from bnpriv.queries.base import Indicator
from bnpriv.queries.cells import Leaf, Truths, holds_category, holds_number
from bnpriv.queries.normal_form import IntegerTerm
from bnpriv.queries.predicates import truth
from bnpriv.release.expressions import Frame, Keys, keys_in
from bnpriv.tables.expressions import Written
from bnpriv.tables.schema import Categorical, Category, Column

FEW_CONDITIONS = 32
"""So many conditions on one column are summed one by one, by the engine."""

MOST_SEARCHED = 2**10
"""Constants on one column of a table whose engine searches them by nested conditions."""

CellName = int | str
"""What rows of one cell have in common: a text, or the number of the cell."""


def wide_columns(terms: Sequence[IntegerTerm]) -> dict[str, list[int]]:
    """Return the columns with many conditions that read nothing else, and the places of these among the terms."""
    alone: dict[str, list[int]] = {}
    for place, term in enumerate(terms):
        if isinstance(term, Indicator) and len(term.columns) == 1:
            alone.setdefault(next(iter(term.columns)), []).append(place)
    return {name: places for name, places in alone.items() if len(places) > FEW_CONDITIONS}


@final
@dataclass(frozen=True, eq=False)
class CutColumn:
    """A column of a cleaned frame, cut at some numbers, or into the texts that are categories.

    Parameters
    ----------
    name : str
        c0, c1, ...
    cuts : ndarray of shape (cuts,)
        Increasing; cell 2k + 1 is cut k, cell 2k what lies below it, and what is missing lies in the last.
    texts : tuple of str
        Each a cell, and one more for all others; empty for numbers.
    truths : callable
        Which cells a comparison holds in.
    """

    name: str
    cuts: FloatArray
    texts: tuple[str, ...]
    truths: Callable[[Leaf], Truths]

    @property
    def size(self) -> int:
        """Return the number of cells."""
        return len(self.texts) + 1 if self.texts else 2 * len(self.cuts) + 1

    @property
    def text(self) -> nw.Expr:
        """Return the column, with one text for all that is no category: there may be many groups otherwise.

        That text is longer than every category. It is not null, which some engines leave out of long tables.
        """
        known = nw.when(nw.col(self.name).is_in(list(self.texts))).then(nw.col(self.name))
        return known.otherwise(nw.lit(max(self.texts, key=len) + "+"))

    def places(self, values: FloatArray) -> IntArray:
        """Return the cells of numbers, of which NaN is missing."""
        return np.searchsorted(self.cuts, values, "left") + np.searchsorted(self.cuts, values, "right")

    def counts(self, groups: Mapping[CellName, int]) -> IntArray:
        """Return the rows of every cell from groups of rows: by text, or by the number of the cell."""
        number = {text: place for place, text in enumerate(self.texts)}
        found: IntArray = np.zeros(self.size, dtype=np.int64)
        for group, rows in groups.items():
            found[number.get(cast(str, group), -1) if self.texts else int(cast(int, group))] += rows
        return found

    def sums(self, terms: Sequence[Indicator], counts: IntArray) -> list[int]:
        """Return how many records satisfy each of some conditions on the column."""
        return [int(counts[truth(term.predicate, self.truths)].sum()) for term in terms]

    def group(self, constant: Written) -> nw.Expr:
        """Return the cell of a value as a text, found by nested conditions.

        Raises
        ------
        SizeError
            If there are too many cuts.
        """
        if self.texts:
            return self.text
        if len(self.cuts) > MOST_SEARCHED:
            raise SizeError(
                f"conditions on one column of such a table may have at most {MOST_SEARCHED:,} constants in one release",
                found=f"{len(self.cuts):,}",
                remedy="Ask for fewer bins, or write the column to a Parquet file and release from that.",
            )
        return self._search(constant, 0, self.size - 1).cast(nw.String)

    def _search(self, constant: Written, first: int, last: int) -> nw.Expr:
        if first == last:
            return nw.lit(first)
        middle = (first + last + 1) // 2
        value, cut = nw.col(self.name).cast(nw.Float64), constant(float(self.cuts[(middle - 1) // 2]))
        below = value < cut if middle % 2 else value <= cut
        # what is missing is not below
        return (
            nw.when(below)
            .then(self._search(constant, first, middle - 1))
            .otherwise(self._search(constant, middle, last))
        )


def cells_of(terms: Sequence[Indicator], name: str, frame: Frame, columns: Mapping[str, Column]) -> CutColumn:
    """Return the cells of a column in which all of some conditions on it are constant.

    Examples
    --------
    >>> import pandas as pd
    >>> from bnpriv.queries.predicates import col
    >>> from bnpriv.tables.schema import Real
    >>> terms = [Indicator(col("x") < 2), Indicator((col("x") >= 2) & (col("x") <= 3))]
    >>> frame = nw.from_native(pd.DataFrame({"c0": [1.0, 2.0, 2.5, 9.0]})).lazy()
    >>> cells = cells_of(terms, "x", frame, {"x": Real(0, 10)})
    >>> places = cells.places(np.array([1.0, 2.0, 2.5, 9.0]))
    >>> cells.sums(terms, np.bincount(places, minlength=cells.size))
    [1, 2]
    """
    column, place = columns[name], f"c{list(columns).index(name)}"
    if isinstance(column, Categorical):
        return _of_categories(column, place, keys_in(frame, columns)[name])
    found = {float(value) for term in terms for leaf in term.predicate.comparisons() for value in leaf.constants}
    cuts = np.array(sorted(found))
    # a cell without any double is stood for by another, and empty
    points = np.empty(2 * len(cuts) + 1)
    points[0], points[1::2], points[2::2] = -np.inf, cuts, np.nextafter(cuts, np.inf)
    return CutColumn(place, cuts, (), lambda leaf: holds_number(leaf, points))


def _of_categories(column: Categorical, place: str, keys: Keys) -> CutColumn:
    numbers = column.categories.index
    missing = numbers(cast(Category, column.missing))
    if all(isinstance(key, str) for key in keys):
        counted = [numbers(category) for category in keys.values()]
        return CutColumn(
            place, np.empty(0), tuple(cast("Mapping[str, Category]", keys)), _held([*counted, missing], column)
        )
    found = sorted((float(key), category) for key, category in cast("Mapping[float, Category]", keys).items())
    counted = [missing] * (2 * len(found) + 1)
    counted[1::2] = [numbers(category) for _, category in found]
    return CutColumn(place, np.array([key for key, _ in found]), (), _held(counted, column))


def _held(counted: Sequence[int], column: Categorical) -> Callable[[Leaf], Truths]:
    """Return which cells a comparison holds in, from the category that each counts as."""
    return lambda leaf: np.asarray(holds_category(leaf, column))[list(counted)]
