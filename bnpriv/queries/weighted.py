"""The parts of an answer, and the same query with every number times a weight."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import final

from bnpriv.queries.base import Output, Query
from bnpriv.queries.builtin import Moments, Stack
from bnpriv.queries.derived import Derived
from bnpriv.queries.given import GivenAnswer
from bnpriv.queries.normal_form import normal_form
from bnpriv.tables.schema import Schema


@final
@dataclass(frozen=True)
class AnswerPart:
    """Numbers of an answer that share a unit, and therefore a weight.

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
    >>> from bnpriv.queries import histogram, moments, stack
    >>> from bnpriv.tables.schema import Real
    >>> schema = Schema(records=10, columns={"height": Real(120, 220)})
    >>> query = stack(histogram("height", [120, 170, 220]), moments(["height"]))
    >>> [(part.label, list(part.places)) for part in parts_of(query, schema)]
    [('histogram(height, [120, 170, 220])', [0, 1]), ('mean of height', [2]), ('mean square of height', [3])]
    """
    if isinstance(query, Stack):
        parts: list[AnswerPart] = []
        for operand in query.parts:
            start = parts[-1].places.stop if parts else 0
            parts += [
                AnswerPart(part.label, range(start + part.places.start, start + part.places.stop))
                for part in parts_of(operand, schema)
            ]
        return tuple(parts)
    if isinstance(query, Moments) or (isinstance(query, Derived) and query.own_units):
        return tuple(AnswerPart(output.label, range(k, k + 1)) for k, output in enumerate(query.outputs(schema)))
    if isinstance(query, GivenAnswer):
        return tuple(AnswerPart(f"number {k + 1}", range(k, k + 1)) for k in range(query.size))
    return (AnswerPart(str(query), range(query.dimension(schema))),)


def number_labels(query: Query, schema: Schema) -> tuple[str, ...]:
    """One name for every number of an answer; laws of an answer may be declared without a query.

    Examples
    --------
    >>> from bnpriv.queries import stack
    >>> from bnpriv.tables.schema import Real
    >>> schema = Schema(records=10, columns={"height": Real(120, 220)})
    >>> number_labels(stack("mean(height)", "total(height)"), schema), number_labels(GivenAnswer(size=1), schema)
    (('mean(height)', 'total(height)'), ('number 1',))
    """
    if isinstance(query, GivenAnswer):
        return tuple(part.label for part in parts_of(query, schema))
    return normal_form(query, schema).labels


@final
@dataclass(frozen=True, kw_only=True)
class Weighted(Query):
    """A query with every number of its answer times a power of two, so that nothing is rounded.

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
        """How many numbers the answer has."""
        return len(self.weights)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What must be believed of the query without proof."""
        return self.asked.assumptions

    def __str__(self) -> str:
        return str(self.asked)
