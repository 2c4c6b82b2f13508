"""The classes of records whose numbers a private table hides, and how many records lie between two secrets."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, cast, final

import numpy as np
from numpy.typing import NDArray

from bnpriv import checks
from bnpriv.core.columns import GAP_MARK, Categorical
from bnpriv.core.evidence.dataset import Counts, reach
from bnpriv.core.frameworks.protected import ProtectedSecret, predicate_text, property_secret
from bnpriv.core.queries.base import Indicator
from bnpriv.core.queries.builtin import Count, Proportion
from bnpriv.core.queries.contribution import holds_category, holds_number
from bnpriv.core.queries.normal_form import definite, normal_form
from bnpriv.core.queries.predicates import And, Comparison, IsIn, Not, Or, Predicate, truth
from bnpriv.core.schema import NumberColumn, Schema, has_gaps, is_whole, require_schema
from bnpriv.core.secrets import Apart, Secret
from bnpriv.errors import SecretError
from bnpriv.text import and_text, name_text, visible

MOST_VALUES_TRIED = 2**20
"""The most combinations of values of which it is asked whether a class can have a record."""

MOST_CLASSES = 200
"""The most classes of a private table."""


@final
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
    """

    schema: Schema
    predicates: tuple[Predicate, ...]
    labels: tuple[str, ...]
    moved: int
    protected: tuple[ProtectedSecret, ...]

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
        Counts and proportions, each of two classes; or histograms and crosstabs, of as many as they have cells, and
        one more for records in none.
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
        protected=tuple(_protected(secret, schema) for secret in secrets),
    )


def _cells(secret: Secret, schema: Schema) -> list[tuple[str, Predicate]]:
    """The cells of one secret, each with its condition; the last is of all other records."""
    query = secret.property
    if not (secret.of_cells or isinstance(query, (Count, Proportion))):
        raise SecretError(
            "a private table hides numbers of records: a count, a proportion, a histogram or a crosstab",
            found=visible(str(query)),
            remedy=f"Hide the histogram of {name_text(secret.column)} in place of it, with the distance in records: a "
            "mean or total may be far away with few records moved, or near with many.",
        )
    terms = [cast(Indicator, output.terms[0][1]) for output in query.outputs(schema)]
    # a gap that is not counted is in none of the cells, so that it is one of the other records
    conditions = [definite(term.predicate, schema) for term in terms]
    rest = Not(conditions[0]) if len(conditions) == 1 else Not(Or(tuple(conditions)))
    cells = [(predicate_text(term.predicate), each) for term, each in zip(terms, conditions, strict=True)]
    return [*cells, ("other records", rest)]


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
    if secret.of_cells:
        if secret.pairs is None:
            return schema.records
        if not isinstance(secret.pairs, Apart):
            raise SecretError(
                "the counts of a histogram or crosstab are hidden by one distance: how many records lie in other cells",
                found="chosen pairs",
                remedy="Write pairs=apart(at_most=50).",
            )
        steps = min(schema.records, int(reach(secret.pairs.at_most)))
        checks.positive("the number of records between two secrets", steps)
        return steps
    counts = Counts.of(normal_form(secret.property, schema).wholes()[0], schema.records, 0, 1)
    return max(counts.apart(secret, counts.pairs(secret))[0])


def _protected(secret: Secret, schema: Schema) -> ProtectedSecret:
    if not secret.of_cells:
        return property_secret(secret, schema)
    columns = and_text([name_text(name) for name in sorted(secret.property.columns)])
    apart = f"at most {_moved(secret, schema):,} records in other cells" if secret.pairs else "all pairs of values"
    return ProtectedSecret(
        attribute=secret.column,
        secret=f"how many records of this table fall into each cell of {columns}",
        pairs=apart,
        bounds_belief=secret.pairs is None,
    )
