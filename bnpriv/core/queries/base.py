"""The base class of queries, and a query whose answer is known by its laws alone."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from bnpriv.core.queries.predicates import Predicate
from bnpriv.core.schema import Schema
from bnpriv.errors import QueryError
from bnpriv.services import service
from bnpriv.shown import HasCard

if TYPE_CHECKING:
    from bnpriv.render.document import Document

# --------------------------------------------------------------------------------------------------
# What a query is: named outputs, each a weighted sum over records of indicators, powers and products of columns.
#
# Read on in this order: `normal_form` (the same as sums of whole numbers), `contribution` (what one record can add) and
# `sensitivity` (how far apart that can be).
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Indicator:
    """The indicator of a condition: 1 for a record that satisfies `predicate`, else 0."""

    predicate: Predicate

    @property
    def columns(self) -> frozenset[str]:
        """The columns that the term reads."""
        return self.predicate.columns


@dataclass(frozen=True)
class Power:
    """The clamped, rounded value of `column`, minus `about`, to the power 1 or 2."""

    column: str
    exponent: int = 1
    about: Fraction = Fraction(0)

    @property
    def factors(self) -> tuple[tuple[str, Fraction], ...]:
        """The factors of the term, a square as two, each with the constant that is subtracted from it."""
        return ((self.column, self.about),) * self.exponent

    @property
    def columns(self) -> frozenset[str]:
        """The column that the term reads."""
        return frozenset({self.column})


@dataclass(frozen=True)
class Product:
    """The product of the clamped, rounded values of two different columns, each minus its own number `about`."""

    first: str
    second: str
    about: tuple[Fraction, Fraction] = (Fraction(0), Fraction(0))

    @property
    def factors(self) -> tuple[tuple[str, Fraction], ...]:
        """The two factors, each with the constant that is subtracted from it."""
        return (self.first, self.about[0]), (self.second, self.about[1])

    @property
    def columns(self) -> frozenset[str]:
        """The columns that the term reads."""
        return frozenset({self.first, self.second})


Term = Indicator | Power | Product


@dataclass(frozen=True)
class Output:
    """One number of the answer: the sum over records of weighted terms, divided by n if `averaged`.

    Parameters
    ----------
    label : str
        What the number is, for tables.
    terms : tuple of (Fraction, Term)
        Weights and terms of one record.
    averaged : bool
        Whether the sum is divided by the number of records.
    """

    label: str
    terms: tuple[tuple[Fraction, Term], ...]
    averaged: bool = False


class Query(HasCard):
    """A question about a table.

    Subclasses are frozen dataclasses; ``str(query)`` is the text that `parse_query` reads back.
    """

    @property
    @abstractmethod
    def columns(self) -> frozenset[str]:
        """The columns that the query reads."""

    @abstractmethod
    def outputs(self, schema: Schema) -> tuple[Output, ...]:
        """The numbers of the answer, each as a weighted sum."""

    def dimension(self, schema: Schema) -> int:
        """The number of outputs."""
        return len(self.outputs(schema))

    @property
    def document(self) -> Document:
        """The query as a document: its text, what it reads, and what is assumed of it."""
        return service("query.document")(self)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What must be believed of the query without proof."""
        return ()


# --------------------------------------------------------------------------------------------------
# A query that is known by the laws of its answer alone.
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class GivenAnswer(Query):
    """An answer whose laws were declared without a query; it can be calibrated, but not released.

    Parameters
    ----------
    size : int
        How many numbers the answer has.
    """

    size: int = 1

    @property
    def columns(self) -> frozenset[str]:
        """None: nobody knows what is read."""
        return frozenset()

    def outputs(self, schema: Schema) -> tuple[Output, ...]:
        """Refuse: there is no query to evaluate."""
        raise QueryError(
            "a query is needed to evaluate an answer",
            found="distributions without a query",
            remedy="Pass query=... and schema=... to DistributionPrivacy.",
        )

    def dimension(self, schema: Schema) -> int:
        """The number of outputs."""
        return self.size

    def __str__(self) -> str:
        return "the answer of the declared distributions"
