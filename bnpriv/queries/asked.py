"""Queries as users pass them: values, or their text; several of them side by side."""

from __future__ import annotations

import inspect
from numbers import Number

from bnpriv.checks import type_text
from bnpriv.errors import QueryError
from bnpriv.queries.base import Query
from bnpriv.queries.builtin import Stack
from bnpriv.queries.predicates import Col, Predicate, quoted
from bnpriv.render.text import visible
from bnpriv.services import service

EXAMPLE = 'count(col("height") > 170), or its text, "count(height > 170)"'


def as_query(asked: object) -> Query:
    """A query; one given as text is read.

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


def stack(*queries: Query | str) -> Stack:
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
    return Stack(parts=tuple(map(as_query, queries)))
