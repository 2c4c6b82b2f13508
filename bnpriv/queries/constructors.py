"""What users write to ask a question; every function here makes a value that touches no data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import cast

from bnpriv.checks import type_text
from bnpriv.errors import QueryError
from bnpriv.queries.bins import checked_bins
from bnpriv.queries.builtin import Count, Histogram, Linear, Mean, Moments, Proportion, Total
from bnpriv.queries.crossed import CROSSTAB, Crosstab, axes_of
from bnpriv.queries.predicates import Constant, Predicate


def count(predicate: Predicate) -> Count:
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
    >>> from bnpriv.queries.predicates import col
    >>> print(count(col("height") > 170))
    count(height > 170)
    """
    return Count(predicate=predicate)


def proportion(predicate: Predicate) -> Proportion:
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
    >>> from bnpriv.queries.predicates import col
    >>> print(proportion(col("gender") == "f"))
    proportion(gender == "f")
    """
    return Proportion(predicate=predicate)


def total(column: str) -> Total:
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
    return Total(column=column)


def mean(column: str) -> Mean:
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
    return Mean(column=column)


def histogram(column: str, bins: Iterable[Constant] | None = None) -> Histogram:
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
    return Histogram(column=column, bins=None if bins is None else checked_bins(bins, "a histogram"))


def crosstab(*columns: str, bins: Mapping[str, Iterable[Constant]] | None = None) -> Crosstab:
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
    return Crosstab(axes=axes_of(columns, bins, CROSSTAB))


def linear(weights: Mapping[str, float | Fraction]) -> Linear:
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
    return Linear(weights=cast("tuple[tuple[str, Fraction], ...]", tuple(weights.items())))


def moments(columns: Iterable[str]) -> Moments:
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
    return Moments(names=tuple(columns))
