"""A public table split by a property of its records: tables with a given share of it, drawn or worked out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from bnpriv import checks
from bnpriv.bound import FloatArray
from bnpriv.errors import DataError, ParameterError, QueryError, SizeError
from bnpriv.queries.arrays import answers, term_sums
from bnpriv.queries.asked import as_query
from bnpriv.queries.base import Query
from bnpriv.queries.builtin import Count, Proportion
from bnpriv.queries.custom import Custom
from bnpriv.queries.normal_form import NormalForm, normal_form
from bnpriv.queries.predicates import Predicate
from bnpriv.queries.sensitivity import answer_range
from bnpriv.release.evaluate import canonical_table
from bnpriv.tables.inferred import inferred_schema
from bnpriv.tables.schema import Schema, require_schema

MOST_DRAWN_RECORDS = 2**27
"""Records of all tables that are drawn for one value of the property."""

MOST_SHARE_ERROR = 1e-9
"""How far a share times the number of records may be from a whole number."""


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class Strata:
    """The records of a public table, those that count for a property apart from the others.

    Parameters
    ----------
    form : NormalForm
        The query, for tables of as many records as are drawn.
    reads : tuple of str
        The columns that the query reads.
    columns : mapping from str to ndarray of shape (N,)
        The public table.
    members : ndarray of bool, shape (N,)
        Which records count for the property.
    hidden : Query
        A count or a proportion.
    """

    form: NormalForm
    reads: tuple[str, ...]
    columns: Mapping[str, NDArray[Any]]
    members: NDArray[np.bool_]
    hidden: Count | Proportion

    @property
    def records(self) -> int:
        """Return how many records a drawn table has."""
        return self.form.schema.records

    def count(self, value: object) -> int:
        """Return how many records of a drawn table count for the property when it has a value.

        Raises
        ------
        ParameterError
            If that is no whole number, or more than the public table has.
        """
        number = checks.number("a value of the property", value, remedy="Pass for example 0.45.")
        records, share = self.records, isinstance(self.hidden, Proportion)
        wanted = number * records if share else number
        whole = round(wanted)
        counting, others = int(np.count_nonzero(self.members)), int(np.count_nonzero(~self.members))
        if abs(wanted - whole) > MOST_SHARE_ERROR * records or not 0 <= whole <= records:
            near = min(max(whole, 0), records)
            nearest = f"share is {near:,} of {records:,} records: pass {near} / {records}"
            raise ParameterError(
                f"a value of the property must be that of a whole number of {records:,} records",
                found=f"{number:g}",
                remedy=f"The nearest {nearest if share else f'number of records is {near:,}'}.",
            )
        if whole > counting or records - whole > others:
            low, high = max(0, records - others), min(records, counting)
            some = f"{low:,}" if low == high else f"{low:,} to {high:,}"
            remedy = (
                f"From this table {some} of {records:,} records can count, as none is drawn twice: ask for that, draw "
                "tables of fewer records, or take a larger public table."
            )
            if low > high:
                remedy = "Take a larger public table, or draw tables of fewer records: none is drawn twice."
            raise ParameterError(
                f"the public table must have {whole:,} records that count for the property and "
                f"{records - whole:,} that do not",
                found=f"{counting:,} and {others:,}",
                remedy=remedy,
            )
        return whole

    def drawn(self, value: object, tables: int, random: np.random.Generator) -> FloatArray:
        """Return exact answers to tables that are drawn without replacement, of shape (tables, outputs).

        Parameters
        ----------
        value : float
            The value of the property in each of them.
        tables : int
        random : numpy.random.Generator

        Raises
        ------
        SizeError
            If so many records would take too much memory.
        """
        count = self.count(value)
        if tables * self.records > MOST_DRAWN_RECORDS:
            raise SizeError(
                f"at most {MOST_DRAWN_RECORDS:,} records are drawn for one value of the property",
                found=checks.shown(tables * self.records),
                remedy="Ask for fewer tables.",
            )
        kinds = ((np.flatnonzero(self.members), count), (np.flatnonzero(~self.members), self.records - count))
        places = np.array(
            [
                np.concatenate([random.choice(records, some, replace=False) for records, some in kinds])
                for _ in range(tables)
            ]
        )
        found = answers(self.form, {name: self.columns[name][places] for name in self.reads})
        return found.reshape(tables, -1)

    def moments(self, value: object) -> tuple[FloatArray, FloatArray]:
        """Return mean, shape (outputs,), and covariance of the answer to such a table, exact but for rounding."""
        count = self.count(value)
        sums = term_sums(self.form, {name: self.columns[name][:, np.newaxis] for name in self.reads})
        matrix = np.array([[float(weight) for weight in row] for row in self.form.matrix])
        mean = np.array([float(shift) for shift in self.form.offset])
        # answers are translated near 0 first, so that variances do not cancel
        centre = sums.mean(axis=0)
        mean = mean + self.records * (matrix @ centre)
        covariance = np.zeros((len(matrix), len(matrix)))
        for inside, drawn in ((self.members, count), (~self.members, self.records - count)):
            if not drawn:
                continue
            terms = (sums[inside] - centre) @ matrix.T
            size = len(terms)
            mean = mean + drawn * terms.mean(axis=0)
            if size > 1:
                spread = np.atleast_2d(np.cov(terms, rowvar=False))
                covariance += drawn * (1 - drawn / size) * spread
        return mean, covariance


def values_of(values: object) -> tuple[object, ...]:
    """Return the values of a property that were passed, in their order.

    Raises
    ------
    ParameterError
        If they are no list, or there are none.

    Examples
    --------
    >>> values_of([0.45, 0.55])
    (0.45, 0.55)
    """
    found = checks.listed(values)
    if not found:
        raise ParameterError(
            "values of the property must be given in a list",
            found=checks.type_text(values) if found is None else "an empty one",
            remedy="Pass for example (0.45, 0.55).",
        )
    return found


def strata(
    public_table: object,
    query: Query | str,
    property: Query | Predicate | str,
    records: int,
    schema: Schema | None = None,
) -> Strata:
    """Split a public table by a property of its records.

    Parameters
    ----------
    public_table : table, str or path
        Whatever `bnpriv.release` reads; public.
    query : Query or str
        What is asked of a table of `records` records.
    property : Query, Predicate or str
        A count or proportion, or a condition on a record, which stands for its proportion.
    records : int
        Of a table that is drawn.
    schema : Schema, optional
        Bounds and categories of the columns; those of the public table by default.

    Raises
    ------
    DataError, FileError
        If the table cannot be read.
    QueryError
        If the query has no normal form, or the property is neither a count nor a proportion.
    """
    query = as_query(query)
    if isinstance(query, Custom):
        raise QueryError(
            "laws by a property are worked out for built-in queries",
            found="a custom query",
            remedy="Use means, counts, totals, histograms, or a stack of them.",
        )
    hidden = Proportion(predicate=property) if isinstance(property, Predicate) else as_query(property)
    if not isinstance(hidden, (Count, Proportion)):
        raise QueryError(
            "the property must be a count or a proportion of records",
            found=str(hidden),
            remedy='Pass a condition, for example col("income") == ">50K".',
        )
    names = sorted(query.columns | hidden.columns)
    records = checks.whole("records", records)
    if schema is not None:
        require_schema(schema)
    declared = schema if schema is not None else inferred_schema(public_table, names, records)
    table = canonical_table({name: declared[name] for name in names}, public_table)
    columns = {name: table[name].to_numpy() for name in names}
    if table.empty:
        raise DataError("the public table must have records", found="none", remedy="Pass the whole public table.")
    each = {name: columns[name][:, np.newaxis] for name in hidden.columns}
    members = answers(normal_form(Count(predicate=hidden.predicate), replace(declared, records=1)), each) > 0
    drawn = replace(declared, records=records)
    answer_range(query, drawn)  # refuses answers that no double holds
    form = normal_form(query, drawn)
    return Strata(form=form, reads=tuple(sorted(query.columns)), columns=columns, members=members, hidden=hidden)
