"""What a stored calibration says of query and model, in plain values that `bnpriv.verify` replays.

Tables are logs as hexadecimal doubles, weights are fractions: nothing is rounded on the way.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import cast

from bnpriv.frameworks.framework import Framework
from bnpriv.frameworks.pairs import DistributionPrivacy, PairLaw
from bnpriv.laws.atoms import Atoms
from bnpriv.networks.discrete import DiscreteNetwork
from bnpriv.queries.base import Indicator, Query
from bnpriv.queries.custom import Custom
from bnpriv.queries.given import GivenAnswer
from bnpriv.queries.normal_form import IntegerTerm, Steps, normal_form
from bnpriv.queries.predicates import And, Comparison, IsIn, Not, Or, Predicate
from bnpriv.render.text import Json
from bnpriv.secrets.apart import Apart
from bnpriv.secrets.properties import Secret
from bnpriv.secrets.states import SecretPair, of_states
from bnpriv.secrets.values import IntervalPairs
from bnpriv.tables.column_laws import ColumnLaw, FiniteLaw, MixedLaw, UniformLaw
from bnpriv.tables.schema import Binned, Categorical, Column, Schema

MOST_STORED_NUMBERS = 2**13
"""Numbers in the tables of a model, or weights in a query, that are stored; what is larger is left out."""

DRAWN = "not covered: laws that are learned from draws"


def query_facts(query: Query, schema: Schema) -> Json:
    """Return the normal form of a query, or why it is left out."""
    if isinstance(query, (Custom, GivenAnswer)):
        return {"left_out": "not covered: a query that is no built-in one"}
    form = normal_form(query, schema)
    weights = sum(len(row) for row in form.rows)
    if weights + len(form.terms) > MOST_STORED_NUMBERS:
        return {"left_out": f"too large: {weights + len(form.terms):,} weights and terms of {MOST_STORED_NUMBERS:,}"}
    return {
        "terms": [_term(term) for term in form.terms],
        "matrix": [[[k, str(row[k])] for k in sorted(row)] for row in form.rows],
        "offset": [str(shift) for shift in form.offset],
    }


def model_facts(framework: Framework, query: Query) -> Json:
    """Return what a framework declares, as far as the claim for `query` depends on it, or why some is left out."""
    schema, names = framework.schema, query.columns
    if not framework.pairs_name_models:
        names |= frozenset(framework.protected)
    declared = _declared(framework, query, names)
    size = _size(declared)
    if size > MOST_STORED_NUMBERS:
        # the secrets stay: with the framework file the checker reads the tables and laws from there
        kept = {key: declared[key] for key in ("protect", "independent") if key in declared}
        told = {"left_out": f"too large: {size:,} numbers and names of {MOST_STORED_NUMBERS:,}"}
        declared = {**told, **kept} if _size(kept) <= MOST_STORED_NUMBERS else told
    columns: Json = {name: _column(schema.columns[name]) for name in sorted(names) if name in schema.columns}
    return {"notion": framework.notion, "records": schema.records, "columns": columns, **declared}


def _declared(framework: Framework, query: Query, names: frozenset[str]) -> Json:
    if framework.from_draws:
        return {"left_out": DRAWN}
    if isinstance(framework, DistributionPrivacy):
        return {"sides": [_side(side, query) for pair in framework.pairs for side in pair]}
    network = framework.network
    if not isinstance(network, DiscreteNetwork):
        return {"left_out": f"not covered: a {type(network).__name__}"}
    properties = framework.properties
    if any(isinstance(secret.pairs, IntervalPairs) for secret in properties.values()):
        return {"left_out": "not covered: ranges of values"}
    protected: Json = {name: _property(secret, framework.schema) for name, secret in properties.items()}
    if not properties:
        protected = {name: [_pair(pair) for pair in of_states(pairs)] for name, pairs in framework.secrets.items()}
    facts: Json = {"network": _network(network, names), "protect": protected}
    # only secrets that are parameters of columns may leave some of these out
    independent = cast("Iterable[str] | None", getattr(framework, "independent", None))
    if independent is not None:
        facts = {**facts, "independent": sorted(query.columns.intersection(independent))}
    if not framework.single_values:
        laws = framework.column_laws
        facts = {**facts, "laws": {name: [_law(law) for law in laws[name]] for name in sorted(names) if name in laws}}
    return facts


def _term(term: IntegerTerm) -> list[Json | object]:
    if isinstance(term, Indicator):
        return ["indicator", _predicate(term.predicate)]
    if isinstance(term, Steps):
        return ["steps", term.column, term.exponent]
    return ["product", term.first, term.second]


def _predicate(predicate: Predicate) -> list[object]:
    if isinstance(predicate, (And, Or)):
        return ["and" if isinstance(predicate, And) else "or", *map(_predicate, predicate.parts)]
    if isinstance(predicate, Not):
        return ["not", _predicate(predicate.part)]
    if isinstance(predicate, IsIn):
        return ["in", predicate.column, list(predicate.values)]
    leaf = cast(Comparison, predicate)
    return [leaf.operator, leaf.column, leaf.value]


def _column(column: Column) -> Json:
    """Return what a column may hold, and how raw values are read where that is not as usual."""
    plain = column.numbers if isinstance(column, Binned) else column
    usual = replace(plain, missing=None).missing
    told: Json = {} if column.missing == usual else {"missing": column.missing}
    if isinstance(column, Categorical):
        coarsen = [[category, list(labels)] for category, labels in column.coarsen.items() if labels]
        told = {**told, "coarsen": coarsen} if coarsen else told
        return {"type": "categorical", "categories": list(column.categories), **told}
    if isinstance(column, Binned):
        told = {**told, "edges": list(column.edges), "labels": list(column.labels)}
    kind = "integer" if column.whole else "real"
    return {"type": kind, "lower": column.lower, "upper": column.upper, "steps": column.steps, **told}


def _network(network: DiscreteNetwork, names: Iterable[str]) -> Json:
    """Return the part of a network that decides the law of some columns: what drives them, and its ancestors."""
    driven = {name: list(above) for name, above in network.reading.columns.items() if name in set(names)}
    todo = [node for name in names for node in driven.get(name, [name]) if node in network.states]
    kept: set[str] = set()
    while todo:
        node = todo.pop()
        todo += [] if node in kept else network.graph.parents[node]
        kept.add(node)
    nodes: dict[str, object] = {}
    size = sum(network.tables[name].values.size for name in kept)
    for name in network.attributes:
        if name in kept and size <= MOST_STORED_NUMBERS:
            nodes[name] = {
                "states": list(network.states[name]),
                "parents": list(network.graph.parents[name]),
                "logs": [[float(log).hex() for log in table.ravel()] for table in network.tables[name].values],
            }
    return {"models": network.models, "driven": driven, "size": size, "nodes": nodes}


def _property(secret: Secret, schema: Schema) -> Json:
    facts: Json = {"property": str(secret.property), "form": query_facts(secret.property, schema)}
    if isinstance(secret.pairs, Apart):
        return {**facts, "at_most": secret.pairs.at_most}
    return (
        facts if secret.pairs is None else {**facts, "pairs": [_pair(pair) for pair in of_states(secret.pairs.chosen)]}
    )


def _pair(pair: SecretPair) -> list[list[object]]:
    return [sorted(pair.first, key=str), sorted(pair.second, key=str)]


def _law(law: ColumnLaw) -> Json:
    if isinstance(law, FiniteLaw):
        return {"values": list(law.values), "masses": [float(mass).hex() for mass in law.probabilities]}
    if isinstance(law, UniformLaw):
        ends = [law.lower, law.upper] if law.whole else [float(end).hex() for end in (law.lower, law.upper)]
        return {"uniform": ends}
    if isinstance(law, MixedLaw):
        masses = (float(mass).hex() for mass in law.probabilities)
        return {"mixture": [[mass, _law(part)] for mass, part in zip(masses, law.parts, strict=True)]}
    if law.name == "norm":
        parameters = dict(law.parameters)
        return {"normal": [parameters["loc"].hex(), parameters["scale"].hex()]}
    return {"left_out": f"not covered: a law of the family {law.name}"}


def _side(side: PairLaw, query: Query) -> Json:
    if isinstance(side, DiscreteNetwork):
        return {"network": _network(side, query.columns)}
    if not isinstance(side, Atoms):
        return {"left_out": "not covered: a normal law"}
    if side.points.size > MOST_STORED_NUMBERS:
        return {"size": int(side.points.size)}
    points = [[float(x).hex() for x in point] for point in side.points]
    return {"points": points, "logs": [float(log).hex() for log in side.logs]}


def _size(facts: object) -> int:
    """Return how many numbers and names a fact holds; a table that was not written counts as it is."""
    if isinstance(facts, Mapping):
        inner = cast("Mapping[str, object]", facts)
        written = sum(map(_size, inner.values()))
        declared = inner.get("size")
        return max(written, declared) if isinstance(declared, int) else written
    return sum(map(_size, cast("list[object]", facts))) if isinstance(facts, list) else 1
