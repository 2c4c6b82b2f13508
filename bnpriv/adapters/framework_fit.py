"""What of a framework file does not fit its columns: queries, hidden properties, and states of the network."""

from __future__ import annotations

from collections.abc import Mapping

from bnpriv.adapters.toml_file import TomlTable
from bnpriv.checks import listing, subset, text
from bnpriv.errors import FrameworkError, QueryError, SecretError, SizeError
from bnpriv.evidence.records import state_cells
from bnpriv.frameworks.framework import AttributeFramework
from bnpriv.queries.base import Query
from bnpriv.queries.normal_form import normal_form
from bnpriv.queries.parser import parse_query
from bnpriv.render.toml import toml_key
from bnpriv.secrets.properties import Secret
from bnpriv.tables.schema import Categorical, Schema, State


def named_queries(root: TomlTable) -> dict[str, Query]:
    """Return the named queries that can be read; what is wrong with the others is noted."""
    if "queries" not in root.values:
        return {}
    part = root.problems.tried(root.section, "queries")
    if part is None:
        return {}
    read = {name: root.problems.tried(_named_query, part, name) for name in part.values}
    return {name: query for name, query in read.items() if query is not None}


def note_queries(root: TomlTable, schema: Schema | None) -> None:
    """Note what is wrong with each named query, and each that can be asked of no table with these columns."""
    queries = named_queries(root)
    if schema is None or not queries:
        return
    part = root.section("queries")
    for name, query in queries.items():
        with root.problems.gathered(), part.named(_place(name), key=name):
            _require_askable(query, schema)


def note_unfit_properties(secrets: Mapping[str, tuple[TomlTable, object]], schema: Schema | None) -> frozenset[str]:
    """Note each hidden property that is none of its column as it is declared; return of which columns."""
    unfit: set[str] = set()
    for name, (part, secret) in secrets.items():
        if schema is None or not isinstance(secret, Secret) or name not in schema.columns:
            continue  # what is wrong with names is told with the network
        known = len(part.problems)
        with part.problems.gathered(), part.named(key="property"):
            _require_property(name, secret, schema)
        if len(part.problems) > known:
            unfit.add(name)
    return frozenset(unfit)


def note_strange_states(root: TomlTable, framework: AttributeFramework | None) -> None:
    """Note each categorical column whose categories are not the states of its node, where no law ties the two."""
    if framework is None or framework.network.level != "records":
        return
    for name, column in framework.schema.columns.items():
        states = framework.network.states.get(name, ())
        if not states or not isinstance(column, Categorical) or name in framework.column_laws:
            continue
        part = root.section("columns").section(name)
        with root.problems.gathered(), part.named(key="categories"):
            _require_states(name, column, states)


def _named_query(part: TomlTable, name: str) -> Query:
    with part.named(_place(name), key=name):
        text("a query's name", name)
        return parse_query(part.string(name))


def _place(name: str) -> str:
    return f"[queries] {toml_key(name[:80])}"


def _require_askable(query: Query, schema: Schema) -> None:
    subset("the columns", query.columns, schema.columns, error=QueryError)
    try:
        normal_form(query, schema)
    except SizeError:  # what is too large for one mechanism may not be for another
        return


def _require_property(name: str, secret: Secret, schema: Schema) -> None:
    if secret.column != name:
        raise SecretError(
            f"the secret of {name!r} must be a property of that column",
            found=f"one of {secret.column!r}",
            remedy=f"Name {name!r} in the property, or write the section [protect.{toml_key(secret.column)}].",
        )
    _require_askable(secret.property, schema)


def _require_states(name: str, column: Categorical, states: tuple[State, ...]) -> None:
    found = set(state_cells(name, column, states).values)
    without = [category for category in column.categories if category not in found]
    if without:
        raise FrameworkError(
            f"the categories of {name!r} must be the states of its node: {listing(map(repr, states))}",
            found=f"{listing(map(repr, without))}, which no model gives a probability",
            remedy="Leave it out, or add it to the network; coarsen lets several labels count as one category.",
        )
