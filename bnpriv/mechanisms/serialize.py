"""A calibration as plain values: what is stored, what the checker replays, and how it is read again."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import NamedTuple, cast

import numpy as np

from bnpriv import checks, mechanisms
from bnpriv.core.accounting.accountant import Accountant
from bnpriv.core.accounting.total import FixedSets
from bnpriv.core.column_laws import ColumnLaw, FiniteLaw, MixedLaw, UniformLaw
from bnpriv.core.columns import GAP_MARK, Binned, Categorical
from bnpriv.core.distributions import Atoms, Normal
from bnpriv.core.frameworks.pairs import DistributionPrivacy, PairLaw
from bnpriv.core.frameworks.question import AttributeFramework, Framework, own_query
from bnpriv.core.mechanisms.base import Calibration, Mechanism
from bnpriv.core.networks.discrete import DiscreteNetwork
from bnpriv.core.noise import Noise, Scaled
from bnpriv.core.queries.base import GivenAnswer, Indicator, IntegerTerm, Query, Steps, normal_form
from bnpriv.core.queries.builtin import Custom
from bnpriv.core.queries.contribution import cleaned
from bnpriv.core.queries.predicates import And, Comparison, IsIn, Not, Or, Predicate
from bnpriv.core.schema import Column, Schema, has_gaps
from bnpriv.core.secrets import Apart, Interval, IntervalPairs, Pair, Secret, SecretPair, ValuesApart, of_states
from bnpriv.errors import CertificateError, ParameterError, QueryError
from bnpriv.kind import kind_of, notion_of
from bnpriv.kinds.public_records import PublicRecords
from bnpriv.mechanisms.directional import DirectionalLaplace
from bnpriv.mechanisms.gaussian.noise import CorrelatedGaussian
from bnpriv.mechanisms.optimal.channel import Channel
from bnpriv.mechanisms.stored import Record, differences, field_of, inner, read_record
from bnpriv.services import service
from bnpriv.text import Json

# --------------------------------------------------------------------------------------------------
# What a stored calibration says of query and model, in plain values that `bnpriv.verify` replays.
#
# Tables are logs as hexadecimal doubles, weights are fractions: nothing is rounded on the way.
# --------------------------------------------------------------------------------------------------

MOST_STORED_NUMBERS = 2**13
"""Numbers in the tables of a model, or weights in a query, that are stored; what is larger is left out."""

DRAWN = "not covered: an estimate, or a bound with a confidence, from draws that only the code of the model makes again"


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
        names |= _protected(framework)
    declared = {"left_out": DRAWN} if framework.from_draws else notion_of(framework).stored(framework, query)
    size = _size(declared)
    if size > MOST_STORED_NUMBERS:
        # the secrets stay: with the framework file the checker reads the tables and laws from there
        kept = {key: declared[key] for key in ("protect", "independent") if key in declared}
        told = {"left_out": f"too large: {size:,} numbers and names of {MOST_STORED_NUMBERS:,}"}
        if "public_records" in declared:
            told["left_out"] += ", which needs the public file, beside the framework file"
        declared = {**told, **kept} if _size(kept) <= MOST_STORED_NUMBERS else told
    columns: Json = {name: _column(schema.columns[name]) for name in sorted(names) if name in schema.columns}
    return {"notion": framework.notion, "records": schema.records, "columns": columns, **declared}


def _protected(framework: Framework) -> frozenset[str]:
    """The protected columns, and all others that a property of the table is about."""
    return frozenset(framework.protected).union(*(each.property.columns for each in framework.properties.values()))


def stored_pairs(framework: DistributionPrivacy, query: Query) -> Json:
    """Both sides of every pair of distributions: a network of tables, or the law of the answer."""
    return {"sides": [_side(side, query) for pair in framework.pairs for side in pair]}


def stored_network(framework: AttributeFramework, query: Query) -> Json:
    """The network, the secrets and the laws of columns; of networks of other kinds what these say."""
    network = framework.network
    names, properties = query.columns | _protected(framework), framework.properties
    kind = kind_of(network)
    if kind.exact_tables:
        told: Json = {"network": _network(cast(DiscreteNetwork, network), names)}
    else:
        told = kind.stored(network, names, MOST_STORED_NUMBERS)
    if not {"network", "normal"} & told.keys():
        return {**told, "protect": sorted(framework.protected)} if "above" in told else told
    if not network.states:
        forms = {name: _form(secret, framework.schema) for name, secret in properties.items()}
        protected: Json = {n: {**forms.get(n, {}), **_values(pairs)} for n, pairs in framework.secrets.items()}
    elif any(isinstance(secret.pairs, IntervalPairs) for secret in properties.values()):
        return {"left_out": "not covered: ranges of values"}
    elif properties:
        protected = {name: _property(secret, framework.schema) for name, secret in properties.items()}
    else:
        protected = {name: [_pair(pair) for pair in of_states(pairs)] for name, pairs in framework.secrets.items()}
    facts: Json = {**told, "protect": protected}
    # only secrets that are parameters of columns may leave some of these out
    independent = notion_of(framework).independent(framework)
    if independent is not None:
        facts = {**facts, "independent": sorted(query.columns.intersection(independent))}
    if not framework.single_values:
        laws = framework.column_laws
        facts = {**facts, "laws": {name: [_law(law) for law in laws[name]] for name in sorted(names) if name in laws}}
    if framework.public_records is not None:
        public = cast(PublicRecords, framework.public_records)
        facts = {**facts, "public_records": _public_records(public, framework.schema, sorted(names))}
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
    if len(network.parts) > 1:  # each graph by itself
        parts = [_network(part, names) for part in network.parts]
        return {"models": network.models, "driven": parts[0]["driven"], "nodes": {}, "graphs": parts}
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


def _public_records(public: PublicRecords, schema: Schema, names: Iterable[str]) -> Json:
    """Return the draws of public records, and what they count as in some columns, if that is not too much."""
    chosen = {name: public.columns[name] for name in names if name in public.columns}
    size, columns = public.records * len(chosen), dict[str, object]()
    for name, values in chosen.items() if size <= MOST_STORED_NUMBERS else ():
        column, counted = schema[name], cleaned(schema[name], values).tolist()
        if isinstance(column, Categorical):
            columns[name] = [column.outcomes[k] for k in counted]
        else:
            columns[name] = [None if has_gaps(column) and x == GAP_MARK else x for x in counted]
    return {"draws": public.draws, "seed": public.seed, "size": size, "columns": columns}


def _form(secret: Secret, schema: Schema) -> Json:
    return {"property": str(secret.property), "form": query_facts(secret.property, schema)}


def _values(pairs: Iterable[Pair]) -> Json:
    """How far apart two values of a number are at most, or the ends of the intervals in which they lie."""
    chosen = list(pairs)
    if all(isinstance(pair, ValuesApart) for pair in chosen):
        return {"apart": float(max(pair.farthest for pair in chosen)).hex()}
    sides = [both for pair in chosen for both in product(_ranges(pair.first), _ranges(pair.second))]
    return {"intervals": [[[end.hex() for end in side] for side in pair] for pair in sides]}


def _ranges(side: object) -> list[tuple[float, float]]:
    """An interval, or each of the values of a set by itself."""
    if isinstance(side, Interval):
        return [(float(side.low), float(side.high))]
    return [(value, value) for value in sorted(map(float, cast("frozenset[float]", side)))]


def _property(secret: Secret, schema: Schema) -> Json:
    facts = _form(secret, schema)
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
    return {"left_out": f"not covered: a distribution of the family {law.name}"}


def _side(side: PairLaw, query: Query) -> Json:
    if kind_of(side).exact_tables:
        return {"network": _network(cast(DiscreteNetwork, side), query.columns)}
    if isinstance(side, Normal):
        law = {"mean": side.mean, "covariance": side.covariance}
        return {"normal": {name: [[float(x).hex() for x in row] for row in np.atleast_2d(law[name])] for name in law}}
    if not isinstance(side, Atoms):
        return {"left_out": DRAWN}
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


# --------------------------------------------------------------------------------------------------
# A calibration as plain values, as it is stored, and read again.
# --------------------------------------------------------------------------------------------------

CALIBRATION_FORMAT = "bnpriv calibration 1"


def serialized(calibration: Calibration) -> Json:
    """Return everything as plain values; weights and parts only for an answer of several parts."""
    shape = calibration.shape
    weights: Json = {}
    if shape is not None and not shape.is_equal and not isinstance(calibration.noise, CorrelatedGaussian):
        weights = {"weights": list(shape.number_weights)}
    return {
        "format": CALIBRATION_FORMAT,
        "mechanism": {"name": type(calibration.mechanism).__name__, "options": calibration.mechanism.options()},
        "framework": calibration.framework.fingerprint(),
        "query": str(calibration.query),
        "epsilon": calibration.epsilon,
        "delta": calibration.delta,
        "noise": {
            "law": type(calibration.noise).__name__,
            "scale": calibration.scale,
            "dimension": calibration.noise.dimension,
            **weights,
            "expected_error": calibration.expected_error,
            **_drawn_facts(calibration.noise),
        },
        "useful": {"verdict": calibration.useful.verdict, "text": str(calibration.useful)},
        **({} if shape is None else {"shape": shape.to_json()}),
        "guarantee": calibration.guarantee.to_json(),
        "certificate": calibration.certificate.to_json(),
        "form": query_facts(calibration.query, calibration.framework.schema),
        "model": model_facts(calibration.framework, calibration.query),
    }


def _drawn_facts(noise: Noise) -> Json:
    """Return exactly what noise is drawn with, and what tells it from others of the same scale, as plain values."""
    if isinstance(noise, Channel):
        return {"channel": noise.to_json()}
    scale: Json = {"exact_scale": max(noise.scales).hex()}
    if isinstance(noise, CorrelatedGaussian):
        return {**scale, "covariance": noise.needed, "dithers": noise.dithers}
    return {**scale, "directions": noise.directions} if isinstance(noise, DirectionalLaplace) else scale


def restored_calibration(text: str, framework: Framework, query: Query | None) -> Calibration:
    """Recompute a stored calibration from its framework, as `Calibration.from_json` says.

    Raises
    ------
    CertificateError
        If the text is not a calibration, or anything in it differs from what the framework yields.
    """
    stored = read_record(text, CALIBRATION_FORMAT)
    mechanism = _mechanism(stored)
    asked = field_of(stored, "query", str)
    query = own_query(framework) if query is None else query
    if query is None or str(query) != asked:
        try:
            query = cast(Query, service("query.parse")(asked))
        except QueryError as error:
            raise CertificateError(
                "the stored query must be readable", found=repr(asked[:200]), remedy="Pass the custom query itself."
            ) from error
    epsilon, delta = field_of(stored, "epsilon", float), field_of(stored, "delta", float)
    try:
        fresh = mechanism.restored(stored, framework, query, epsilon, delta)
    except ParameterError as error:
        raise CertificateError(error.required, found=error.found, remedy=error.remedy) from error
    again: Record = json.loads(fresh.to_json())
    if "left_out" in inner(stored, "model") and "left_out" not in again["model"]:
        stored = {**stored, "model": again["model"]}  # an earlier version left out what the fingerprint stands for
    different = differences(stored, again)
    if different:
        raise CertificateError(
            "a stored calibration must be what its framework yields",
            found=f"other values of {checks.listing(different)}",
            remedy="Calibrate again from the framework; do not edit stored calibrations.",
        )
    return fresh


def claimed_calibration(text: str, framework: Framework) -> tuple[Calibration, float, float]:
    """What a stored calibration claims, for whoever audits it: its noise as it is stored, be it too little or not.

    It bears no seal, so that nothing can be released with it.

    Returns
    -------
    Calibration
        Of the framework, with the noise that is stored.
    float, float
        The epsilon and delta that are claimed.

    Raises
    ------
    CertificateError
        If the text is no calibration, or its noise has another form than that which the framework yields.
    """
    stored = read_record(text, CALIBRATION_FORMAT)
    query = cast(Query, service("query.parse")(field_of(stored, "query", str)))
    promised, declared = inner(stored, "guarantee"), inner(stored, "noise")
    epsilon, delta = (checks.number(name, promised.get(name), error=CertificateError) for name in ("epsilon", "delta"))
    asked = field_of(stored, "epsilon", float), field_of(stored, "delta", float)
    fresh = _mechanism(stored).calibrate(framework, query, *asked)
    noise, law = fresh.noise, field_of(declared, "law", str)
    again: Record = json.loads(fresh.to_json())["noise"]
    known = isinstance(noise, (Scaled, Channel))  # of other noise nothing may differ
    same = declared.get("weights") == again.get("weights") if known else not differences(declared, again)
    if not same or law != type(noise).__name__ or declared.get("dimension") != noise.dimension:
        raise CertificateError(
            "the stored noise must have the form of that which the framework yields",
            found=f"{law} for {type(noise).__name__}",
            remedy="Pass the framework of the calibration.",
        )
    if isinstance(noise, Channel):
        noise = Channel.from_json(inner(declared, "channel"))
    elif isinstance(noise, Scaled):
        # weights are powers of two
        scale = field_of(declared, "scale", float) / max(noise.scales) * noise.scale
        noise = replace(noise, scale=scale)
    return replace(fresh, noise=noise, seal=""), epsilon, delta


def _mechanism(record: Record) -> Mechanism:
    """The mechanism of a stored calibration: one of ours, or another that was defined since.

    Raises
    ------
    CertificateError
        If it is none of them, or its options are not.
    """
    for name in dir(mechanisms):
        getattr(mechanisms, name)  # which loads it, and so makes it known as a subclass
    known = {cls.__name__: cls for cls in Mechanism.__subclasses__()}
    declared = inner(record, "mechanism")
    name, options = field_of(declared, "name", str), inner(declared, "options")
    if name not in known:
        raise CertificateError(
            f"the mechanism must be one of {checks.listing(sorted(known))}", found=repr(name), remedy="Store it again."
        )
    usual = known[name]().options()
    weights = options.get("weights")
    if isinstance(weights, list):
        usual["weights"] = weights
    # mechanisms check options whose default has no type
    if any(name not in usual or type(usual[name]) not in (type(None), type(value)) for name, value in options.items()):
        raise CertificateError(
            f"the options must be those of {name}",
            found=checks.listing(sorted(map(repr, options))),
            remedy="Store it again.",
        )
    try:
        return known[name](**options)
    except ParameterError as error:
        raise CertificateError(error.required, found=error.found, remedy=error.remedy) from error


# --------------------------------------------------------------------------------------------------
# What several releases told together, as plain values that `bnpriv.verify` recounts.
# --------------------------------------------------------------------------------------------------

TRANSCRIPT_FORMAT = "bnpriv transcript 1"


class _Read(NamedTuple):
    """What some releases read: a model is stored as far as it says something of these columns."""

    columns: frozenset[str]


def transcript(accountant: Accountant, delta: Fraction, rows: Sequence[Json] = ()) -> str:
    """Return all releases of an accountant with what a recount of their total at a delta needs, as JSON.

    Parameters
    ----------
    accountant : Accountant
    delta : Fraction
    rows : sequence of dict
        Of the ledger that charged them: they then hold the releases and the totals.
    """
    framework, entries, total = accountant.framework, accountant.entries, accountant.total_at(delta)
    fixed = accountant.fixed_at(delta)
    read = frozenset[str]().union(*(entry.columns for entry in entries), fixed[0] if fixed else ())
    model = model_facts(framework, cast(Query, _Read(read)))
    asked = {entry.text: entry.query for entry in entries if entry.query is not None}
    # of earlier releases no total is claimed: a ledger's rows have one each
    known = [None] * (len(entries) - 1) + [None if total is None else str(total)]
    charges: list[Json] = [{"entry": e.to_json(), "total": each} for e, each in zip(entries, known, strict=False)]
    stored = {
        "format": TRANSCRIPT_FORMAT,
        "framework": framework.fingerprint(),
        "delta": str(delta),
        "charges": [] if rows else charges,
        "rows": list(rows),
        "forms": {text: query_facts(query, framework.schema) for text, query in asked.items()},
        "model": model,
        "fixed": None if fixed is None else _fixed(framework, *fixed, tables="network" in model),
    }
    return json.dumps(stored, indent=2, allow_nan=False)


def _fixed(
    framework: Framework, columns: Iterable[str], sets: FixedSets | None, told: Fraction, *, tables: bool
) -> Json:
    """Return what the first release fixed for all others, where the total has a delta."""
    near: Json = {}
    for name, each, chosen in sets.near if sets and tables else ():
        near[name] = {
            "pairs": [_pair(pair) for pair in of_states(cast(AttributeFramework, framework).secrets[name])],
            "sets": [sorted(names) for names in each],
            "chosen": chosen.tolist(),
        }
    return {"columns": sorted(columns), "told": str(told), "near": near}
