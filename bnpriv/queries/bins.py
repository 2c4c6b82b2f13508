"""Bins of a column: edges of numbers, or categories, and the condition and the name of each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import cast, final

from bnpriv import checks
from bnpriv.errors import QueryError, SizeError
from bnpriv.queries.predicates import And, Comparison, Constant, Predicate, constant, literal, quoted
from bnpriv.tables.bins import MOST_BINS, Binned
from bnpriv.tables.schema import Categorical, Column, Integer


@final
@dataclass(frozen=True)
class ColumnBin:
    """One bin of a column.

    Parameters
    ----------
    label : str
        Its name for tables, such as ``age [17, 45)``.
    condition : Predicate
        Which records fall into it.
    """

    label: str
    condition: Predicate


MOST_NUMBERS_APART = 12
"""Whole numbers between the bounds of a column that count one by one where no edges are given."""


def bins_of(name: str, column: Column, given: tuple[Constant, ...] | None, what: str) -> tuple[ColumnBin, ...]:
    """The bins of a column: its categories, a few whole numbers one by one, or those between edges.

    A bin holds its lower edge and not its upper one, but the last bin holds both.

    Parameters
    ----------
    name : str
    column : Column
    given : tuple, optional
        Edges, or the categories that count; by default all categories, all whole numbers if they are few, or
        the edges that the column declares.
    what : str
        The question that needs them, for the refusal.

    Raises
    ------
    QueryError
        If a column of numbers comes without increasing edges.

    Examples
    --------
    >>> from bnpriv.tables.schema import Integer
    >>> for each in bins_of("age", Integer(0, 120), (17, 45, 90), "a histogram"):
    ...     print(f"{each.label}: {each.condition}")
    age [17, 45): (age >= 17) & (age < 45)
    age [45, 90]: (age >= 45) & (age <= 90)
    """
    singly = given or tuple(column.categories) if isinstance(column, Categorical) else _few_numbers(column, given)
    if singly:
        conditions = [Comparison(name, "==", value) for value in singly]
        return tuple(ColumnBin(str(condition), condition) for condition in conditions)
    edges = edges_of(name, column, given, what)
    last = len(edges) - 2
    return tuple(
        ColumnBin(
            f"{quoted(name)} [{literal(low)}, {literal(high)}{']' if place == last else ')'}",
            And((Comparison(name, ">=", low), Comparison(name, "<=" if place == last else "<", high))),
        )
        for place, (low, high) in enumerate(pairwise(edges))
    )


def _few_numbers(column: Column, given: tuple[Constant, ...] | None) -> tuple[Constant, ...]:
    """The whole numbers of a column that count one by one; none if they are many, or edges are given."""
    if given is not None or not isinstance(column, Integer) or column.upper - column.lower >= MOST_NUMBERS_APART:
        return ()
    return tuple(range(column.lower, column.upper + 1))


def edges_of(name: str, column: Column, given: tuple[Constant, ...] | None, what: str) -> tuple[Constant, ...]:
    """The edges of the bins of a column of numbers.

    Raises
    ------
    QueryError
        If there are none, or they do not increase.
    """
    edges = tuple(column.edges) if given is None and isinstance(column, Binned) else given
    if edges is None or len(edges) < 2 or isinstance(edges[0], (str, bool)):
        found = checks.listing(literal(value) for value in edges or ())
        raise QueryError(
            f"{what} of {name!r}, which holds numbers, needs two or more edges",
            found=found,
            remedy="List the edges of the bins from public knowledge, for example [120, 150, 220].",
        )
    _increasing(edges)
    return edges


def checked_bins(bins: Iterable[object], what: str) -> tuple[Constant, ...]:
    """Bins as plain values, checked as far as they can be before the schema tells edges from categories.

    Raises
    ------
    QueryError
        If they are no list, or an empty one, repeat a value, mix types, or are fractions in no order.
    SizeError
        If they are too many; found out before the rest is looked at.
    """
    if isinstance(bins, str) or not isinstance(bins, Iterable):
        raise QueryError(
            f"the bins of {what} are a list of edges or categories",
            found=checks.type_text(bins),
            remedy="List the edges: a number of bins would have to be read off the data.",
        )
    values = tuple(constant(value) for value in islice(bins, MOST_BINS + 1))
    if len(values) > MOST_BINS:
        raise SizeError(
            f"{what} may have at most {MOST_BINS:,} bins, for each of which laws are computed and noise is drawn",
            found="more",
            remedy="List fewer edges, or ask for quantiles.",
        )
    if not values:
        raise QueryError(f"{what} needs bins", found="an empty list", remedy="Leave bins out, or list them.")
    kinds = {type(value) if isinstance(value, (str, bool)) else float for value in values}
    if len(kinds) > 1:
        found = checks.listing(sorted(kind.__name__ for kind in kinds))
        raise QueryError("bins must be of one type", found=found, remedy="List edges, or list categories.")
    if len(set(values)) < len(values):
        raise QueryError("bins must be distinct", found="a repeated value", remedy="List each value once.")
    if any(isinstance(value, float) for value in values):
        _increasing(values)  # categories are never fractions, so these are edges
    return values


def _increasing(edges: tuple[Constant, ...]) -> None:
    for low, high in pairwise(cast("tuple[float, ...]", edges)):
        if not low < high:
            raise QueryError("edges must increase", found=f"{low!r} before {high!r}", remedy="Sort the edges.")
