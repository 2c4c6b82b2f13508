"""The classes of records whose numbers a private table hides, and how many records lie between two secrets."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bnpriv.core.columns import GAP_MARK, Categorical
from bnpriv.core.evidence.dataset import OTHERS, Counts, cells_of
from bnpriv.core.frameworks.protected import ProtectedSecret, property_secret
from bnpriv.core.queries.builtin import Count, Difference, Proportion
from bnpriv.core.queries.contribution import holds_category, holds_number
from bnpriv.core.queries.predicates import And, Comparison, IsIn, Not, Or, Predicate, truth
from bnpriv.core.schema import NumberColumn, Schema, has_gaps, is_whole, require_schema
from bnpriv.core.secrets import Secret
from bnpriv.errors import SecretError
from bnpriv.text import and_text, name_text, visible

MOST_VALUES_TRIED = 2**20
"""The most combinations of values of which it is asked whether a class can have a record."""

MOST_CLASSES = 200
"""The most classes of a private table."""


@dataclass(frozen=True, kw_only=True)
class Classes:
    """The classes whose numbers of records are hidden; every record is in exactly one.

    Parameters
    ----------
    schema : Schema
    predicates : tuple of Predicate
        The condition of each class.
    labels : tuple of str
        Each class in words.
    moved : int
        How many records at most lie in other classes under the one secret of a pair than under the other.
    protected : tuple of ProtectedSecret
        What is hidden, in words.
    one_law : bool
        Whether all records must have one law, so that so few move: not where the secret is one count, or all of them.
    """

    schema: Schema
    predicates: tuple[Predicate, ...]
    labels: tuple[str, ...]
    moved: int
    protected: tuple[ProtectedSecret, ...]
    one_law: bool = False

    @property
    def columns(self) -> frozenset[str]:
        """The columns that tell the class of a record."""
        return frozenset[str]().union(*(predicate.columns for predicate in self.predicates))

    def __len__(self) -> int:
        return len(self.predicates)


def classes_of(secrets: Sequence[Secret], schema: Schema) -> Classes:
    """The classes that some secrets are about: the cells of all of them together.

    Parameters
    ----------
    secrets : sequence of Secret
        Counts and proportions, each of two classes; differences of two, of three; or histograms, crosstabs and counts
        by groups, of as many as they have cells, and one more for records in none.
    schema : Schema

    Raises
    ------
    SecretError
        If a secret is no count of records, or the classes are too many.

    Examples
    --------
    >>> import bnpriv as bp
    >>> schema = bp.Schema(records=100, columns={"ill": bp.Categorical(["no", "yes"])})
    >>> found = classes_of([bp.Secret('count(ill == "yes")', pairs=bp.apart(at_most=5))], schema)
    >>> found.labels, found.moved
    (('ill = yes', 'other records'), 5)
    """
    require_schema(schema)
    cells = [_possible(_cells(secret, schema), schema) for secret in secrets]
    number = math.prod(map(len, cells))
    if number > MOST_CLASSES:
        raise SecretError(
            f"a private table has at most {MOST_CLASSES} classes of records",
            found=f"{number:,} cells of {and_text([visible(str(secret.property)) for secret in secrets])}",
            remedy="Hide coarser bins, or fewer columns.",
        )
    combined = [
        (and_text([label for label, _ in cell]), _all([condition for _, condition in cell])) for cell in product(*cells)
    ]
    found = _possible(combined, schema)
    if len(found) < 2:
        raise SecretError(
            "what is hidden must not be known beforehand: some possible records must fulfil the condition, others not",
            found="a condition that all values of its columns fulfil, or none",
            remedy="Compare it with the categories and bounds of the schema.",
        )
    return Classes(
        schema=schema,
        labels=tuple(label for label, _ in found),
        predicates=tuple(condition for _, condition in found),
        moved=max(_moved(secret, schema) for secret in secrets),
        protected=tuple(property_secret(secret, schema) for secret in secrets),
        one_law=len(secrets) > 1 or isinstance(secrets[0].property, Difference),
    )


def _cells(secret: Secret, schema: Schema) -> list[tuple[str, Predicate]]:
    """The cells of one secret, each with its condition; the last is of all other records."""
    query = secret.property
    if not (secret.of_cells or isinstance(query, (Count, Proportion, Difference))):
        raise SecretError(
            "a private table hides numbers of records: a count, a proportion, a difference of two, a histogram or a "
            "crosstab",
            found=visible(str(query)),
            remedy=f"Hide the histogram of {name_text(secret.column)} in place of it, with the distance in records: a "
            "mean or total may be far away with few records moved, or near with many.",
        )
    cells = cells_of(secret, schema)
    conditions = tuple(condition for _, condition in cells)
    return [*cells, (OTHERS, Not(conditions[0] if len(cells) == 1 else Or(conditions)))]


def _all(parts: Sequence[Predicate]) -> Predicate:
    return parts[0] if len(parts) == 1 else And(tuple(parts))


def _possible(cells: list[tuple[str, Predicate]], schema: Schema) -> list[tuple[str, Predicate]]:
    """The cells that a record can be in, whatever it is: a histogram of all values leaves no other records."""
    names = sorted(frozenset[str]().union(*(condition.columns for _, condition in cells)))
    leaves = [leaf for _, condition in cells for leaf in condition.comparisons()]
    values: dict[str, NDArray[Any]] = {}
    for axis, name in enumerate(names):
        column = schema[name]
        points = range(len(column.outcomes)) if isinstance(column, Categorical) else _points(column, name, leaves)
        values[name] = np.array(list(points)).reshape([-1 if k == axis else 1 for k in range(len(names))])
    if math.prod(each.size for each in values.values()) > MOST_VALUES_TRIED:
        return cells

    def holds(leaf: Comparison | IsIn) -> NDArray[np.bool_]:
        column, points = schema[leaf.column], values[leaf.column]
        return holds_category(leaf, column)[points] if isinstance(column, Categorical) else holds_number(leaf, points)

    return [cell for cell in cells if truth(cell[1], holds).any()]


def _points(column: NumberColumn, name: str, leaves: Sequence[Comparison | IsIn]) -> list[float]:
    """Numbers of a column that stand for all, as far as some comparisons tell."""
    cuts = [float(value) for leaf in leaves if leaf.column == name for value in leaf.constants]  # pyright: ignore[reportArgumentType]
    near = [way for cut in cuts for way in (math.nextafter(cut, -math.inf), cut, math.nextafter(cut, math.inf))]
    if is_whole(column):
        near = [whole for cut in cuts for whole in (math.floor(cut) - 1, math.floor(cut), math.floor(cut) + 1)]
    inside = [float(column.lower), float(column.upper), *(x for x in near if column.lower <= x <= column.upper)]
    return [*inside, GAP_MARK] if has_gaps(column) else inside


def _moved(secret: Secret, schema: Schema) -> int:
    """How many records lie between the two secrets of a pair, at most."""
    values = (-1, 0, 1) if isinstance(secret.property, Difference) else (0, 1)
    counts = Counts.of(secret, schema, *values)
    return min(schema.records, max(counts.apart(secret, counts.pairs(secret))[0]))
