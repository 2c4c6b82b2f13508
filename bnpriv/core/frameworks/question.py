"""Frameworks of any notion, and the check of the arguments that ask them."""

from __future__ import annotations

from pathlib import Path

from bnpriv.checks import type_text
from bnpriv.core.frameworks.attributes import DatasetAttributePrivacy, DistributionalAttributePrivacy, ValuePrivacy
from bnpriv.core.frameworks.pairs import DistributionPrivacy
from bnpriv.core.networks.base import foreign_remedy
from bnpriv.core.queries.asked import as_query
from bnpriv.core.queries.base import Query
from bnpriv.core.secrets import by_own_names
from bnpriv.errors import FrameworkError
from bnpriv.kind import is_framework, notion_of

# --------------------------------------------------------------------------------------------------
# The union of all frameworks.
# --------------------------------------------------------------------------------------------------

AttributeFramework = DistributionalAttributePrivacy | DatasetAttributePrivacy | ValuePrivacy
"""A framework that hides attributes of a network."""

Framework = AttributeFramework | DistributionPrivacy
"""A framework of any notion."""

# --------------------------------------------------------------------------------------------------
# The two arguments that almost every verb takes first: a framework and a query.
# --------------------------------------------------------------------------------------------------

REQUIRED = "a framework is needed first"


def require_framework(framework: object, query: object = None) -> None:
    """Refuse what is no framework, and say what to pass instead.

    Parameters
    ----------
    framework : object
        What was passed as the framework.
    query : object
        What was passed after it.

    Raises
    ------
    FrameworkError
        If `framework` is none.

    Examples
    --------
    >>> require_framework("student")
    Traceback (most recent call last):
    bnpriv.errors.FrameworkError: a framework is needed first; found a str. Read it with ...
    """
    if is_framework(framework):
        return
    if is_framework(query):
        raise FrameworkError(REQUIRED, found=f"{type_text(framework)} before it", remedy="Swap the two.")
    raise FrameworkError(REQUIRED, found=type_text(framework), remedy=_remedy(framework))


def _remedy(framework: object) -> str:
    if isinstance(framework, (str, Path)):
        return "Read it with bnpriv.read_framework(path), or take bnpriv.example(name)."
    if isinstance(framework, Query):
        return "Write for example plan(framework, query, epsilon)."
    if hasattr(framework, "framework"):
        return "Pass the framework of the calibration, calibration.framework."
    build = "Build one, for example DistributionalAttributePrivacy(network, schema, protect, source=...)."
    foreign = foreign_remedy(framework)
    return f"{foreign} {build}" if foreign else build


def asked_of(framework: Framework, query: Query | str | None) -> Query | None:
    """The query that is asked of a framework, by the names that its network has; where none is, its own.

    Raises
    ------
    QueryError
        If it is no query, or a text outside the grammar.
    """
    asked = own_query(framework) if query is None else as_query(query)
    networks = notion_of(framework).networks(framework)
    return asked if asked is None or not networks else by_own_names(networks[0], asked, framework.schema.columns)


def require_query(framework: Framework, query: Query | str | None) -> Query:
    """The same where there must be one.

    Raises
    ------
    QueryError
        If there is none, it is no query, or a text outside the grammar.
    """
    asked = asked_of(framework, query)
    return as_query(None) if asked is None else asked


def own_query(framework: object) -> Query | None:
    """The query that a framework is about, or None if it leaves the query open."""
    return notion_of(framework).own_query(framework)
