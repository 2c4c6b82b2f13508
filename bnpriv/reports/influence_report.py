"""The max-influence report: which columns tell what about a protected attribute, and what noise a query needs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from typing import final

from bnpriv import checks
from bnpriv.errors import ParameterError, Refusal, SizeError
from bnpriv.evidence import influences
from bnpriv.frameworks import DistributionalAttributePrivacy, Framework
from bnpriv.influence import Influence, influence_of
from bnpriv.networks import DiscreteNetwork
from bnpriv.planner import Plan, plan
from bnpriv.queries.base import Query
from bnpriv.quilts import MarkovQuilt, markov_quilts
from bnpriv.render import Json, number_text, set_text, table_text
from bnpriv.secrets import Protect, SecretPair, secrets_of

MOST_QUILTS = 200
"""Quilts that are looked at; a dense network has too many to count."""


@final
@dataclass(frozen=True, kw_only=True)
class RankedQuilt:
    """A Markov quilt with what it tells.

    Parameters
    ----------
    quilt : MarkovQuilt
    influence : Influence or None
        None when its table would have been too large.
    """

    quilt: MarkovQuilt
    influence: Influence | None

    @property
    def nats(self) -> float:
        """Return the influence, infinite when it is not known."""
        return float("inf") if self.influence is None else float(self.influence)


@final
@dataclass(frozen=True, kw_only=True)
class AttributeReport:
    """What is known about one protected attribute.

    Parameters
    ----------
    protected : str
    pairs : tuple of SecretPair
        The ordered pairs of secrets.
    columns : tuple of Influence
        Every other attribute alone, the most telling first.
    quilts : tuple of RankedQuilt
        The least telling first.
    more : int or None
        How many quilts are not shown; None when they were not counted.
    """

    protected: str
    pairs: tuple[SecretPair, ...]
    columns: tuple[Influence, ...]
    quilts: tuple[RankedQuilt, ...]
    more: int | None


@final
@dataclass(frozen=True, kw_only=True)
class InfluenceReport:
    """What leaks about each protected attribute and, for a query, what noise it needs and why.

    Print it for plain text.

    Parameters
    ----------
    network : DiscreteNetwork
    source : str or None
        Where the model comes from.
    attributes : tuple of AttributeReport
        One per protected attribute.
    query : Query or None
    query_influences : tuple of Influence
        What the queried columns together tell about each protected attribute that they do not hold.
    plan : Plan or None
        Every mechanism for the query at the given epsilon.
    """

    network: DiscreteNetwork
    source: str | None
    attributes: tuple[AttributeReport, ...]
    query: Query | None = None
    query_influences: tuple[Influence, ...] = ()
    plan: Plan | None = None

    @property
    def text(self) -> str:
        """Return the whole report as plain text."""
        parts = [self._head()]
        parts += [self._attribute(report) for report in self.attributes]
        if self.query is not None:
            parts.append(self._asked())
        return "\n\n".join(parts)

    def __str__(self) -> str:
        return self.text

    def to_dict(self) -> Json:
        """Return the report as plain values; influences are in nats, "inf" where infinite."""
        return {
            "format": "bnpriv influence report 1",
            "source": self.source,
            "models": self.network.models,
            "attributes": list(self.network.attributes),
            "edges": [list(edge) for edge in self.network.graph.edges],
            "protected": [_attribute_json(report) for report in self.attributes],
            "query": None if self.query is None else str(self.query),
            "query_influences": [_influence_json(influence) for influence in self.query_influences],
            "plan": None if self.plan is None else self.plan.to_dict(),
        }

    def to_json(self) -> str:
        """Return the report as JSON."""
        return json.dumps(self.to_dict(), indent=2, allow_nan=False)

    def _head(self) -> str:
        network = self.network
        models = "one model" if network.models == 1 else f"{network.models} models"
        source = "not stated" if self.source is None else self.source
        names = ", ".join(report.protected for report in self.attributes)
        return (
            f"Influence report: what the other columns tell about {names}.\n"
            f"{len(network.attributes)} attributes, {len(network.graph.edges)} edges, {models}; source: {source}.\n"
            "Influence is in nats: seeing a column moves the log odds between two protected secrets by at most this."
        )

    def _attribute(self, report: AttributeReport) -> str:
        rows = [
            [set_text(influence.columns), number_text(float(influence)), _witness_text(influence)]
            for influence in report.columns
        ]
        lines = [f"{report.protected}: single columns", table_text(["column", "nats", "reached at"], rows)]
        rows = [
            [
                set_text(row.quilt.quilt),
                "too large" if row.influence is None else number_text(row.nats),
                set_text(row.quilt.near),
                set_text(row.quilt.remote),
            ]
            for row in report.quilts
        ]
        lines += ["", f"{report.protected}: Markov quilts, the least telling first"]
        lines.append(table_text(["quilt", "nats", "near", "remote"], rows) if rows else "no quilt but the trivial one")
        if report.more is None:
            lines.append("(more quilts, not counted)")
        elif report.more:
            lines.append(f"({report.more} more)")
        return "\n".join(lines)

    def _asked(self) -> str:
        assert self.query is not None
        columns = set_text(self.query.columns)
        lines = [f"Query {self.query} talks about {columns}."]
        lines += [
            f"  {set_text(influence.columns)} tells at most {number_text(float(influence))} nats about "
            f"{influence.protected}."
            for influence in self.query_influences
        ]
        if self.plan is not None:
            lines += ["", str(self.plan), "", self.plan.best.explain()]
        return "\n".join(lines)


def influence_report(
    model: DiscreteNetwork | Framework,
    query: Query | None = None,
    epsilon: float | None = None,
    *,
    protect: Protect | None = None,
    limit: int = 10,
) -> InfluenceReport:
    """Report what leaks about the protected attributes and, with a query, what noise it needs and why.

    Parameters
    ----------
    model : DiscreteNetwork or Framework
        A network, with `protect`; or a framework, with an optional `query` and `epsilon`.
    query : Query, optional
        What is to be released from a framework.
    epsilon : float, optional
        With a query: the guarantee that is asked for; all mechanisms are calibrated.
    protect : str, iterable of str, or mapping from str to SecretPairs
        The protected attributes of a network.
    limit : int
        Quilts shown per protected attribute.

    Returns
    -------
    InfluenceReport
        Print it, or see its methods.

    Raises
    ------
    BnprivError
        If names, secrets, query or epsilon do not fit.

    Examples
    --------
    >>> import bnpriv as bp
    >>> print(bp.influence_report(bp.example("student"), limit=1))  # doctest: +ELLIPSIS
    Influence report: what the other columns tell about income.
    ...
    """
    limit = checks.whole("limit", limit)
    if isinstance(model, DiscreteNetwork):
        if protect is None or query is not None or epsilon is not None:
            raise ParameterError(
                "the report of a network takes protect=..., and a query needs a framework",
                found="no protect" if protect is None else "a query or an epsilon",
                remedy='Pass protect="name", or build a framework first.',
            )
        secrets = secrets_of(model, protect)
        return InfluenceReport(network=model, source=None, attributes=_attributes(model, secrets, limit))
    if protect is not None or (epsilon is not None and query is None):
        raise ParameterError(
            "the report of a framework takes a query, and an epsilon only with a query",
            found="protect" if protect is not None else "an epsilon alone",
            remedy="Pass influence_report(framework, query, epsilon).",
        )
    return InfluenceReport(
        network=model.network,
        source=model.source,
        attributes=_attributes(model.network, model.secrets, limit),
        query=query,
        query_influences=() if query is None else _query_influences(model, query),
        plan=None if query is None or epsilon is None else plan(model, query, epsilon),
    )


def _attributes(
    network: DiscreteNetwork, secrets: Mapping[str, tuple[SecretPair, ...]], limit: int
) -> tuple[AttributeReport, ...]:
    return tuple(_attribute(network, name, pairs, limit) for name, pairs in secrets.items())


def _attribute(network: DiscreteNetwork, protected: str, pairs: tuple[SecretPair, ...], limit: int) -> AttributeReport:
    alone = [influence_of(network, (name,), protected, pairs) for name in network.attributes if name != protected]
    found = list(islice(markov_quilts(network, protected), MOST_QUILTS + 1))
    rows = [RankedQuilt(quilt=quilt, influence=_influence(network, quilt, pairs)) for quilt in found[:MOST_QUILTS]]
    rows.sort(key=lambda row: (row.nats, len(row.quilt.quilt), sorted(row.quilt.quilt)))
    return AttributeReport(
        protected=protected,
        pairs=pairs,
        columns=tuple(sorted(alone, key=lambda influence: (-float(influence), sorted(influence.columns)))),
        quilts=tuple(rows[:limit]),
        more=None if len(found) > MOST_QUILTS else max(0, len(rows) - limit),
    )


def _influence(network: DiscreteNetwork, quilt: MarkovQuilt, pairs: tuple[SecretPair, ...]) -> Influence | None:
    try:
        return influence_of(network, quilt.quilt, quilt.protected, pairs)
    except SizeError:
        return None


def _query_influences(framework: DistributionalAttributePrivacy, query: Query) -> tuple[Influence, ...]:
    evidence = influences(framework)
    if isinstance(evidence, Refusal):
        raise evidence.error()
    refusal = evidence.covers(query.columns)
    if refusal is not None:
        raise refusal.error()
    return tuple(evidence.influence(query.columns - {name}, name) for name in framework.secrets)


def _witness_text(influence: Influence) -> str:
    if influence.pair is None or not influence.assignment:
        return ""
    seen = ", ".join(f"{name} = {state}" for name, state in influence.assignment.items())
    return f"{seen} for {influence.pair}" + (f", model {influence.model}" if influence.values.shape[0] > 1 else "")


def _influence_json(influence: Influence) -> Json:
    value = float(influence)
    return {
        "columns": sorted(influence.columns),
        "protected": influence.protected,
        "nats": "inf" if value == float("inf") else value,
        "kind": influence.kind,
        "pair": None if influence.pair is None else str(influence.pair),
        "assignment": {name: str(state) for name, state in influence.assignment.items()},
        "model": influence.model,
    }


def _attribute_json(report: AttributeReport) -> Json:
    return {
        "protected": report.protected,
        "pairs": [str(pair) for pair in report.pairs],
        "columns": [_influence_json(influence) for influence in report.columns],
        "quilts": [
            {
                "quilt": sorted(row.quilt.quilt),
                "near": sorted(row.quilt.near),
                "remote": sorted(row.quilt.remote),
                "influence": None if row.influence is None else _influence_json(row.influence),
            }
            for row in report.quilts
        ],
        "more_quilts": report.more,
    }
