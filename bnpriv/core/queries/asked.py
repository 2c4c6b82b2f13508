"""Queries as users write them, side by side in a stack, and with weights on their outputs."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from numbers import Number
from typing import cast

from bnpriv.checks import type_text
from bnpriv.core.queries import builtin
from bnpriv.core.queries.base import GivenAnswer, Output, Query, normal_form
from bnpriv.core.queries.builtin import Derived
from bnpriv.core.queries.predicates import Col, Constant, Predicate, checked_bins, quoted
from bnpriv.core.schema import Schema
from bnpriv.errors import QueryError
from bnpriv.services import service
from bnpriv.text import visible

# --------------------------------------------------------------------------------------------------
# The parts of an answer, and queries with weighted outputs.
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class AnswerPart:
    """Outputs of an answer that share a unit, and therefore a weight.

    Parameters
    ----------
    label : str
        What it is, in words.
    places : range
        Where its numbers are in the answer.
    """

    label: str
    places: range


def parts_of(query: Query, schema: Schema) -> tuple[AnswerPart, ...]:
    """The parts of an answer, in order.

    An operand of a stack is a part, with all the bins if it is a histogram. Of `moments`, of what a variance, standard
    deviation or covariance is worked out of, and of an answer that is declared by its laws alone, every number is a
    part. Any other query is one part.

    Examples
    --------
    >>> from bnpriv.core.queries.asked import histogram, moments, stack
    >>> from bnpriv.core.schema import Real
    >>> schema = Schema(records=10, columns={"height": Real(120, 220)})
    >>> query = stack(histogram("height", [120, 170, 220]), moments(["height"]))
    >>> [(part.label, list(part.places)) for part in parts_of(query, schema)]
    [('histogram(height, [120, 170, 220])', [0, 1]), ('mean of height', [2]), ('mean square of height', [3])]
    """
    if isinstance(query, builtin.Stack):
        parts: list[AnswerPart] = []
        for operand in query.parts:
            start = parts[-1].places.stop if parts else 0
            parts += [
                AnswerPart(part.label, range(start + part.places.start, start + part.places.stop))
                for part in parts_of(operand, schema)
            ]
        return tuple(parts)
    if isinstance(query, builtin.Moments) or (isinstance(query, Derived) and query.own_units):
        return tuple(AnswerPart(output.label, range(k, k + 1)) for k, output in enumerate(query.outputs(schema)))
    if isinstance(query, GivenAnswer):
        return tuple(AnswerPart(f"number {k + 1}", range(k, k + 1)) for k in range(query.size))
    return (AnswerPart(str(query), range(query.dimension(schema))),)


def number_labels(query: Query, schema: Schema) -> tuple[str, ...]:
    """One name for every output, also where laws were declared without a query.

    Examples
    --------
    >>> from bnpriv.core.queries.asked import stack
    >>> from bnpriv.core.schema import Real
    >>> schema = Schema(records=10, columns={"height": Real(120, 220)})
    >>> number_labels(stack("mean(height)", "total(height)"), schema), number_labels(GivenAnswer(size=1), schema)
    (('mean(height)', 'total(height)'), ('number 1',))
    """
    if isinstance(query, GivenAnswer):
        return tuple(part.label for part in parts_of(query, schema))
    return normal_form(query, schema).labels


@dataclass(frozen=True, kw_only=True)
class Weighted(Query):
    """A query with every output multiplied by a power of two, so that nothing is rounded.

    Parameters
    ----------
    asked : Query
        Of built-in queries, or of declared laws.
    weights : tuple of float
        One for each number.
    """

    asked: Query
    weights: tuple[float, ...]

    @property
    def columns(self) -> frozenset[str]:
        """The columns that the query reads."""
        return self.asked.columns

    def outputs(self, schema: Schema) -> tuple[Output, ...]:
        """The numbers of the answer times their weights."""
        return tuple(
            Output(output.label, tuple((Fraction(weight) * each, term) for each, term in output.terms), output.averaged)
            for output, weight in zip(self.asked.outputs(schema), self.weights, strict=True)
        )

    def dimension(self, schema: Schema) -> int:
        """The number of outputs."""
        return len(self.weights)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What must be believed of the query without proof."""
        return self.asked.assumptions

    def __str__(self) -> str:
        return str(self.asked)


# --------------------------------------------------------------------------------------------------
# Queries as users pass them: values, text, or several side by side.
# --------------------------------------------------------------------------------------------------

EXAMPLE = 'count(col("height") > 170), or its text, "count(height > 170)"'


def as_query(asked: object) -> Query:
    """A query; text is parsed.

    Parameters
    ----------
    asked : Query or str
        A query, or its text in the grammar of `parse_query`.

    Returns
    -------
    Query

    Raises
    ------
    QueryError
        If it is neither, or the text is outside the grammar.

    Examples
    --------
    >>> as_query("mean(height)").columns
    frozenset({'height'})
    """
    if isinstance(asked, Query):
        return asked
    if isinstance(asked, str):
        parsed: Query = service("query.parse")(asked)
        return parsed
    raise QueryError("a query is needed", found=_kind(asked), remedy=_remedy(asked))


def _kind(asked: object) -> str:
    if isinstance(asked, Col):
        return f"the column {visible(asked.name)!r}"
    if isinstance(asked, Predicate):
        return "a condition"
    if inspect.isfunction(asked):
        return f"the function {asked.__name__}"
    return type_text(asked)


def _remedy(asked: object) -> str:
    if isinstance(asked, Col):
        return f"Ask for its mean, {visible(f'mean({quoted(asked.name)})')}, or compare it and count."
    if isinstance(asked, Predicate):
        return f"Count the records for which it holds: {visible(f'count({asked})')}."
    if inspect.isfunction(asked) or inspect.isclass(asked):
        return f"Call it. Write for example {EXAMPLE}."
    if isinstance(asked, Number):
        return "The query comes first, then epsilon and delta."
    return f"Write for example {EXAMPLE}; it comes after the framework and before epsilon."


def stack(*queries: Query | str) -> builtin.Stack:
    """Answer several queries in one release.

    Parameters
    ----------
    *queries : Query or str
        Built-in queries, or their texts; a stack among them is taken apart.

    Returns
    -------
    Stack
        The numbers of all queries, in order.

    Raises
    ------
    QueryError
        If there is no query, or one is custom.

    Examples
    --------
    >>> print(stack("total(height)", stack("mean(sat)", "total(sat)")))
    stack(total(height), mean(sat), total(sat))
    """
    return builtin.Stack(parts=tuple(map(as_query, queries)))


# --------------------------------------------------------------------------------------------------
# The functions that users call to ask; each makes a value and touches no data.
# --------------------------------------------------------------------------------------------------


def count(predicate: Predicate) -> builtin.Count:
    """Count the records that satisfy a condition.

    Parameters
    ----------
    predicate : Predicate
        Made from `col`.

    Returns
    -------
    Count
        One number between 0 and the number of records.

    Raises
    ------
    QueryError
        If `predicate` is not a condition.

    Examples
    --------
    >>> from bnpriv.core.queries.predicates import col
    >>> print(count(col("height") > 170))
    count(height > 170)
    """
    return builtin.Count(predicate=predicate)


def proportion(predicate: Predicate) -> builtin.Proportion:
    """Ask which share of the records satisfies a condition.

    Parameters
    ----------
    predicate : Predicate
        Made from `col`.

    Returns
    -------
    Proportion
        One number between 0 and 1.

    Raises
    ------
    QueryError
        If `predicate` is not a condition.

    Examples
    --------
    >>> from bnpriv.core.queries.predicates import col
    >>> print(proportion(col("gender") == "f"))
    proportion(gender == "f")
    """
    return builtin.Proportion(predicate=predicate)


def total(column: str) -> builtin.Total:
    """Sum a column of numbers over the records.

    Parameters
    ----------
    column : str
        A Real or Integer column.

    Returns
    -------
    Total
        One number, in the column's unit.

    Raises
    ------
    QueryError
        If `column` is not a name.

    Examples
    --------
    >>> print(total("height"))
    total(height)
    """
    return builtin.Total(column=column)


def mean(column: str) -> builtin.Mean:
    """Average a column of numbers over the records.

    Parameters
    ----------
    column : str
        A Real or Integer column.

    Returns
    -------
    Mean
        One number, in the column's unit.

    Raises
    ------
    QueryError
        If `column` is not a name.

    Examples
    --------
    >>> print(mean("height in cm"))
    mean(`height in cm`)
    """
    return builtin.Mean(column=column)


def histogram(column: str, bins: Iterable[Constant] | None = None) -> builtin.Histogram:
    """Count the records in each bin of a column.

    Parameters
    ----------
    column : str
        Any column.
    bins : sequence, optional
        Of a Real or Integer column: two or more increasing edges. A bin holds its lower edge and not its upper one,
        but the last bin holds both; values outside the edges are not counted. An Integer column of at most twelve
        numbers needs none: each number counts. Of a Categorical column: the categories to be counted, by default all.

    Returns
    -------
    Histogram
        One number per bin.

    Raises
    ------
    QueryError
        If `bins` is empty, repeats a value, mixes types or holds NaN; and, once the schema is known, if a column of
        numbers has no increasing edges.
    SizeError
        If there are more than 10,000.

    Examples
    --------
    >>> print(histogram("height", [120, 150, 220]))
    histogram(height, [120, 150, 220])
    """
    return builtin.Histogram(column=column, bins=None if bins is None else checked_bins(bins, "a histogram"))


def crosstab(*columns: str, bins: Mapping[str, Iterable[Constant]] | None = None) -> builtin.Crosstab:
    """Count the records in every cell of several columns.

    Parameters
    ----------
    *columns : str
        Two columns or more; of Categorical ones every category counts.
    bins : mapping from str to sequence, optional
        For each Real or Integer column two or more increasing edges, as `histogram` takes them; of a Categorical column
        the categories that count, by default all. An Integer column of at most twelve numbers needs no edges: each
        number counts.

    Returns
    -------
    Crosstab
        One number per cell, at most 1,000; the last column changes fastest.

    Raises
    ------
    QueryError
        If there are fewer than two columns, one is repeated, or bins are given that are no increasing edges or
        categories of one of them; and, once the schema is known, if a column of numbers has no edges.
    SizeError
        Once the schema is known, if there are too many cells.

    Examples
    --------
    >>> print(crosstab("sex", "age", bins={"age": [17, 45, 90]}))
    crosstab(sex, age [17, 45, 90])
    """
    return builtin.Crosstab(axes=builtin.axes_of(columns, bins, builtin.CROSSTAB))


def linear(weights: Mapping[str, float | Fraction]) -> builtin.Linear:
    """Add up the means of columns, each times its weight.

    Parameters
    ----------
    weights : mapping from str to number
        Weight of each Real or Integer column; kept as exact fractions.

    Returns
    -------
    Linear
        One number.

    Raises
    ------
    QueryError
        If there is no column, or a weight is zero or not finite.

    Examples
    --------
    >>> print(linear({"height": 0.5, "sat": 2}))
    linear(height: 0.5, sat: 2)
    """
    if not isinstance(weights, Mapping):
        found = type_text(weights)
        raise QueryError("linear needs a mapping from columns to weights", found=found, remedy="Pass {column: weight}.")
    # Linear turns the weights into fractions
    return builtin.Linear(weights=cast("tuple[tuple[str, Fraction], ...]", tuple(weights.items())))


def moments(columns: Iterable[str]) -> builtin.Moments:
    """Ask for the mean and the mean square of columns.

    Parameters
    ----------
    columns : sequence of str
        Real or Integer columns.

    Returns
    -------
    Moments
        Two numbers per column: its mean, then the mean of its squares.

    Raises
    ------
    QueryError
        If there is no column, or one is repeated.

    Examples
    --------
    >>> print(moments(["height", "weight"]))
    moments(height, weight)
    """
    if isinstance(columns, str) or not isinstance(columns, Iterable):
        found = type_text(columns)
        raise QueryError("moments needs a list of columns", found=found, remedy="Pass [column, ...].")
    return builtin.Moments(names=tuple(columns))
