"""The base class of queries, and a query whose answer is known by its laws alone."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, cast

from bnpriv.checks import listing, spelling
from bnpriv.core.columns import Categorical
from bnpriv.core.queries.predicates import And, Comparison, Constant, IsIn, Not, Or, Predicate
from bnpriv.core.schema import NumberColumn, Schema, has_gaps
from bnpriv.errors import QueryError, SizeError
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


# --------------------------------------------------------------------------------------------------
# The normal form of every built-in query: exact integer sums over records, then an affine map.
#
# A record's value in a numeric column is lower + grid * k with a whole number k of steps; hence every output is an
# affine map, in fractions, of integer sums of indicators and powers of k. Why this form: sums of integers do not depend
# on the order of rows, on the engine, or on floating point, so that the answer that is released is the one whose
# sensitivity was worked out, to the last bit.
# --------------------------------------------------------------------------------------------------

LARGEST_SUM = 2**63 - 1

MOST_MATRIX_ENTRIES = 2**20
"""The most entries of a weight matrix that is written out in full."""

_ZERO = Fraction(0)


@dataclass(frozen=True)
class Steps:
    """A power of a record's grid step: the number of steps of `column` above its lower bound."""

    column: str
    exponent: int = 1

    @property
    def powers(self) -> Mapping[str, int]:
        """The power of the grid steps of each column."""
        return {self.column: self.exponent}

    def __str__(self) -> str:
        return f"a power of {self.column!r}"


@dataclass(frozen=True)
class StepProduct:
    """The product of the grid steps of two columns; the names are sorted."""

    first: str
    second: str

    @property
    def powers(self) -> Mapping[str, int]:
        """The power of the grid steps of each column."""
        return {self.first: 1, self.second: 1}

    def __str__(self) -> str:
        return f"a product of {self.first!r} and {self.second!r}"


Summed = Steps | StepProduct
"""A term that sums values of columns."""

IntegerTerm = Indicator | Summed


@dataclass(frozen=True, kw_only=True)
class NormalForm:
    """A query compiled for a schema: ``answer = matrix @ sums + offset``.

    A histogram of many bins has a matrix of very many zeros, so only the other entries are kept.

    Parameters
    ----------
    schema : Schema
        The columns and the number of records.
    terms : tuple of Indicator, Steps or StepProduct
        What is summed over the records, each a whole number per record.
    rows : tuple of mapping from int to Fraction, one per output
        The entries of the matrix that are not 0, by the place of their term.
    offset : tuple of Fraction, shape (outputs,)
    labels : tuple of str
        One per output.
    """

    schema: Schema
    terms: tuple[IntegerTerm, ...]
    rows: tuple[Mapping[int, Fraction], ...]
    offset: tuple[Fraction, ...]
    labels: tuple[str, ...]

    @cached_property
    def matrix(self) -> tuple[tuple[Fraction, ...], ...]:
        """The full matrix, of shape (outputs, terms).

        Raises
        ------
        SizeError
            If it has too many entries.
        """
        size = len(self.rows) * len(self.terms)
        if size > MOST_MATRIX_ENTRIES:
            raise SizeError(
                f"the weights of a query may be at most {MOST_MATRIX_ENTRIES:,} for this mechanism",
                found=f"{size:,}: {len(self.rows):,} numbers from {len(self.terms):,} sums",
                remedy="Ask for fewer numbers at once.",
            )
        return tuple(tuple(row.get(term, _ZERO) for term in range(len(self.terms))) for row in self.rows)

    def answer(self, sums: Sequence[int] | Sequence[Fraction]) -> tuple[Fraction, ...]:
        """The exact answer from the integer sums of the terms."""
        return tuple(
            shift + sum((weight * sums[term] for term, weight in row.items()), _ZERO)
            for row, shift in zip(self.rows, self.offset, strict=True)
        )

    def wholes(self) -> tuple[Wholes, ...]:
        """Every output in whole numbers over a common denominator."""
        return tuple(Wholes.of(row, shift) for row, shift in zip(self.matrix, self.offset, strict=True))


@dataclass(frozen=True, kw_only=True)
class Wholes:
    """One output in whole numbers: ``answer = (weights @ sums + shift) / denominator``.

    Parameters
    ----------
    weights : tuple of int, shape (terms,)
    shift : int
    denominator : int
    """

    weights: tuple[int, ...]
    shift: int
    denominator: int

    @classmethod
    def of(cls, row: Sequence[Fraction], offset: Fraction) -> Wholes:
        """Bring an output's weights and offset to their least common denominator."""
        common = math.lcm(*(weight.denominator for weight in (*row, offset)))
        whole = [weight.numerator * (common // weight.denominator) for weight in (*row, offset)]
        return cls(weights=tuple(whole[:-1]), shift=whole[-1], denominator=common)


def normal_form(query: Query, schema: Schema) -> NormalForm:
    """Compile a query for a schema.

    Raises
    ------
    QueryError
        If a column is used as what it is not, or an integer sum could pass 2^63.
    """
    outputs = query.outputs(schema)
    terms: dict[IntegerTerm, int] = {}
    rows: list[dict[IntegerTerm, Fraction]] = []
    offset: list[Fraction] = []
    for output in outputs:
        row, shift = _affine(output, schema)
        rows.append(row)
        offset.append(shift)
        # a term that several outputs share is summed once
        for term in row:
            terms.setdefault(term, len(terms))
    for term in terms:
        _check_term(term, schema)
    sparse = tuple({terms[term]: weight for term, weight in row.items() if weight} for row in rows)
    return NormalForm(
        schema=schema,
        terms=tuple(terms),
        rows=sparse,
        offset=tuple(offset),
        labels=tuple(output.label for output in outputs),
    )


def _affine(output: Output, schema: Schema) -> tuple[dict[IntegerTerm, Fraction], Fraction]:
    """Write an output as weights of integer sums, plus a constant from all records together."""
    scale = Fraction(1, schema.records) if output.averaged else Fraction(1)
    row: dict[IntegerTerm, Fraction] = {}
    shift = Fraction(0)
    for weight, term in output.terms:
        constant, parts = _integer_parts(term, schema)
        shift += weight * scale * constant * schema.records
        for factor, part in parts:
            row[part] = row.get(part, Fraction(0)) + weight * scale * factor
    return row, shift


def _integer_parts(term: Term, schema: Schema) -> tuple[Fraction, list[tuple[Fraction, IntegerTerm]]]:
    """Write a term as constant + sum of factor * integer term.

    A value is ``low + grid * k`` with k steps, so a product of two values is
    ``low low' + low' grid k + low grid' k' + grid grid' k k'``; a square is such a product with itself.
    """
    if isinstance(term, Indicator):
        if any(has_gaps(schema[name]) for name in term.columns):
            term = Indicator(definite(term.predicate, schema))
        return Fraction(0), [(Fraction(1), term)]
    columns = [(name, numeric(name, schema, summed=True), about) for name, about in term.factors]
    (name, low, grid), *others = ((name, column.origin - about, column.grid) for name, column, about in columns)
    if not others:
        return low, [(grid, Steps(name))]
    ((other, base, fine),) = others
    # in order, so that a product and its reverse are one term
    both = Steps(name, 2) if name == other else StepProduct(*sorted((name, other)))
    return low * base, [(base * grid, Steps(name)), (low * fine, Steps(other)), (grid * fine, both)]


def definite(predicate: Predicate, schema: Schema, *, holds: bool = True) -> Predicate:
    """A condition that holds where another one is known to hold, or known not to: of a gap neither is.

    Kleene's logic, for gaps that are not counted: negations are pushed to the comparisons, and those that would hold
    of the mark of a gap ask for a value beside.

    Examples
    --------
    >>> from bnpriv.core.queries.predicates import col
    >>> from bnpriv.core.schema import Integer
    >>> print(definite(~(col("age") > 40), Schema(9, {"age": Integer(0, 90, missing="not counted")})))
    (~(age > 40)) & (age >= 0)
    """
    if isinstance(predicate, Not):
        return definite(predicate.part, schema, holds=not holds)
    if isinstance(predicate, (And, Or)):
        parts = tuple(definite(part, schema, holds=holds) for part in predicate.parts)
        return And(parts) if isinstance(predicate, And) == holds else Or(parts)
    assert isinstance(predicate, (Comparison, IsIn))
    _check_leaf(predicate, schema)
    column, name = schema[predicate.column], predicate.column
    leaf = predicate if holds else Not(predicate)
    if not has_gaps(column):
        return leaf
    if isinstance(column, Categorical):
        return And((leaf, IsIn(name, column.categories)))
    upwards = isinstance(predicate, IsIn) or predicate.operator in (">", ">=", "==")
    if holds and upwards and min(cast("tuple[float, ...]", predicate.constants)) >= column.lower:
        return leaf
    return And((leaf, Comparison(name, ">=", column.lower)))


def most_of(term: IntegerTerm, schema: Schema) -> int:
    """The largest value of a term for one record; the least is 0."""
    if isinstance(term, Indicator):
        return 1
    return math.prod(numeric(name, schema).steps ** power for name, power in term.powers.items())


def columns_of(term: IntegerTerm) -> frozenset[str]:
    """The columns that a term reads."""
    return term.predicate.columns if isinstance(term, Indicator) else frozenset(term.powers)


def numeric(name: str, schema: Schema, *, summed: bool = False) -> NumberColumn:
    """The column `name`, checked to hold numbers, and one in every record where they are `summed`.

    Raises
    ------
    QueryError
        If it is categorical, or gaps are not counted.
    """
    column = schema[name]
    if isinstance(column, Categorical):
        raise QueryError(
            f"the column {name!r} must hold numbers to be summed",
            found="a column of categories",
            remedy="Count its categories, or declare it as a column of numbers.",
        )
    if summed and has_gaps(column):
        raise QueryError(
            f"the column {name!r} must hold a number in every record to be summed",
            found='gaps that are "not counted"',
            remedy="Ask for counts or a median; or start from a public table without gaps, and write missing = NUMBER.",
        )
    return column


def _check_term(term: IntegerTerm, schema: Schema) -> None:
    """Refuse sums that 64 bits might not hold, and comparisons that engines might read in two ways."""
    if not isinstance(term, Indicator):
        largest = most_of(term, schema) * schema.records
        if not largest <= LARGEST_SUM:
            what = " times ".join(f"{name!r} to the power {power}" for name, power in term.powers.items())
            raise QueryError(
                f"the exact sum of {what} must stay below 2^63",
                found=f"up to {largest:.3g} over {schema.records:,} records",
                remedy="Declare the column with fewer grid steps, for example Real(lower, upper, steps=2**16).",
            )
        return
    for leaf in term.predicate.comparisons():
        _check_leaf(leaf, schema)


def _check_leaf(leaf: Comparison | IsIn, schema: Schema) -> None:
    column = schema[leaf.column]
    values = leaf.constants
    if not isinstance(column, Categorical):
        wrong = [value for value in values if isinstance(value, (str, bool))]
        if wrong:
            raise QueryError(
                f"{leaf.column!r} holds numbers and must be compared with numbers",
                found=repr(wrong[0]),
                remedy="Compare it with a number.",
            )
        # an engine compares doubles; a constant that is no double would be rounded by some engines only
        if any(float(value) != value for value in values):
            raise QueryError(
                f"{leaf.column!r} must be compared with numbers that are exact as doubles",
                found="a longer whole number",
                remedy="Write it with a decimal point to round it.",
            )
        return
    if isinstance(leaf, Comparison) and leaf.operator not in ("==", "!="):
        raise QueryError(
            f"{leaf.column!r} is categorical and is compared with == and != only",
            found=leaf.operator,
            remedy="List the categories that count: in, or isin in Python.",
        )
    # by type as well: True equals 1 in Python, and is another category
    strange = [value for value in values if not any(value == c and type(value) is type(c) for c in column.categories)]
    if strange:
        raise QueryError(
            f"{leaf.column!r} is compared with its categories {listing(map(repr, column.categories))}",
            found=repr(strange[0]),
            remedy=_category_remedy(strange[0], column),
        )


def _category_remedy(value: Constant, column: Categorical) -> str:
    raw = [category for category, labels in column.coarsen.items() if value in labels]
    if raw:
        return f"It counts as {raw[0]!r}: nothing is known of the labels that count as one. Compare with that."
    meant = spelling(value, column.categories)
    return f"{meant} Texts stand between quotes; values that are not declared count as missing."
