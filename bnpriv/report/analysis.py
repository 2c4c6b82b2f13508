"""What a report looks for: columns, quilts and edges that matter for each protected attribute."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import final

from bnpriv.errors import Refusal, SizeError
from bnpriv.evidence import discrete_influences
from bnpriv.frameworks import DistributionalAttributePrivacy, bounds_belief, odds
from bnpriv.influence.base import Influence, influence_of
from bnpriv.influence.quilts import MarkovQuilt, markov_quilts
from bnpriv.mechanisms import Calibration, Decision, MarkovQuiltMechanism
from bnpriv.mechanisms.plan import Plan
from bnpriv.mechanisms.quilt_scales import approximate_scales, scales
from bnpriv.networks import DiscreteNetwork, IntervalNetwork, Network, drivers
from bnpriv.networks.factors import MOST_WORK
from bnpriv.queries.base import Query
from bnpriv.queries.sensitivity import column_sensitivity
from bnpriv.report.edges import edge_effects, leak_path
from bnpriv.report.values import AttributeReport, Belief, NoiseOfQuilt, RankedQuilt, decision_for
from bnpriv.report.work import Work
from bnpriv.secrets.states import SecretPair

MOST_DROPPED = 6
"""Pairs without a constraint that are listed for an attribute."""

MOST_QUILTS = 200
"""Quilts that are looked at; a dense network has too many to count."""


@final
@dataclass(frozen=True, kw_only=True)
class Question:
    """A query to a framework, with its calibration by quilts if an epsilon was given."""

    framework: DistributionalAttributePrivacy
    query: Query
    calibration: Calibration | None


def attribute_report(
    network: Network,
    protected: str,
    pairs: tuple[SecretPair, ...],
    limit: int,
    question: Question | None = None,
    asked: Influence | None = None,
    share: int = 1,
) -> AttributeReport:
    """Return what is known about one protected attribute; `asked` is what the query's columns tell about it.

    It is one of so many (`share`) that share the work of a report.
    """
    work = Work(left=MOST_WORK // share)
    others = [name for name in network.attributes if name != protected]
    left = range(2 * len(others), 0, -1)  # half of the work is for quilts and edges
    alone = [work.influence(network, (name,), protected, pairs, n) for name, n in zip(others, left, strict=False)]
    alone.sort(key=lambda influence: (-float(influence), sorted(influence.columns)))
    rows, more = _ranked(network, protected, pairs, limit, question, work)
    asked = asked or (alone[0] if alone else None)
    silent = asked is None or float(asked) == 0 or bool(asked.too_large) or isinstance(network, IntervalNetwork)
    edges, more_edges = ((), 0) if silent or asked is None else edge_effects(asked, work)
    return AttributeReport(
        protected=protected,
        pairs=pairs,
        columns=tuple(alone),
        quilts=rows,
        more=more,
        asked=asked,
        path=() if asked is None or float(asked) == 0 else leak_path(asked),
        edges=edges,
        more_edges=more_edges,
        is_queried=question is not None and bool(network.reading.driven(question.query.columns, protected)),
        bounds_belief=bounds_belief(pairs, network.states[protected]),
    )


def query_influences(framework: DistributionalAttributePrivacy, query: Query) -> Mapping[str, Influence]:
    """Return what the queried columns together tell about each protected attribute, itself left out.

    Raises
    ------
    RefusedError
        If the framework has no influences, or a queried column is outside the model.
    """
    evidence = discrete_influences(framework)
    if isinstance(evidence, Refusal):
        raise evidence.error()
    refusal = evidence.covers(query.columns)
    if refusal is not None:
        raise refusal.error()
    told: dict[str, Influence] = {}
    for name in framework.secrets:
        # Evidence answers for the frontier alone, which carries it all; the report is about the queried columns.
        asked = drivers(framework.network, query.columns) - {name}
        told[name] = replace(evidence.influence(asked, name), columns=asked)
    return told


def record_influences(
    network: DiscreteNetwork, secrets: Mapping[str, tuple[SecretPair, ...]], query: Query
) -> Mapping[str, Influence]:
    """Return what the queried columns of one record together tell about each protected one, itself left out.

    Raises
    ------
    NetworkError
        If a queried column is no node.
    """
    return {name: influence_of(network, query.columns - {name}, name, pairs) for name, pairs in secrets.items()}


def beliefs(attributes: Sequence[AttributeReport], plan: Plan | None) -> tuple[Belief, ...]:
    """Return how far beliefs move: by the calibrated answer, and by the columns themselves."""
    guarantee = plan.best.guarantee if plan is not None and plan.calibrations else None
    return tuple(
        Belief(
            prior=prior,
            answer=None if guarantee is None else guarantee.belief(prior),
            columns={row.protected: odds.belief(prior, row.told) if row.bounds_belief else None for row in attributes},
        )
        for prior in odds.PRIORS
    )


def dropped_pairs(attributes: Sequence[AttributeReport]) -> tuple[str, ...]:
    """Return for every attribute, in a sentence, the pairs that are no constraint because a secret is impossible."""
    found: list[str] = []
    for row in attributes:
        dropped = row.columns[0].dropped if row.columns else ()
        if dropped:
            shown = [f"{pair} in model {model}" for pair, model in dropped[:MOST_DROPPED]]
            more = f" and {len(dropped) - MOST_DROPPED:,} more" if len(dropped) > MOST_DROPPED else ""
            told = f"Left out, as a secret has probability zero: {row.protected}: {'; '.join(shown)}{more}."
            found.append(told)
    return tuple(found)


def model_assumptions(network: Network) -> tuple[str, ...]:
    """Return what every number of a report leans on."""
    models = "The observer's beliefs are those of the declared model"
    if network.models > 1:
        models = f"The observer's beliefs are those of one of the {network.models} declared models"
    if isinstance(network, IntervalNetwork):
        models = (
            "The observer's beliefs are those of some model within the declared intervals, and influences are upper "
            "bounds for all of them; what would be left without an edge is not worked out"
        )
    beyond: tuple[str, ...] = ()
    if isinstance(network, DiscreteNetwork) and network.drawn is not None:
        models = f"The observer's beliefs are those of {network.drawn.models_text}"
        beyond = (network.drawn.sentence,)
    return (
        f"{models}; somebody who knows more, for example the state of another attribute, holds another model.",
        "No dependence is missing from the network: an edge too many costs accuracy, an edge too few costs privacy.",
        "The network was not learned from the table that is to be protected.",
        *beyond,
    )


def _ranked(
    network: Network,
    protected: str,
    pairs: tuple[SecretPair, ...],
    limit: int,
    question: Question | None,
    work: Work,
) -> tuple[tuple[RankedQuilt, ...], int | None]:
    """Return the quilts to be shown, the least telling first, and how many there are besides."""
    found = list(islice(markov_quilts(network, protected), MOST_QUILTS + 1))
    counted = len(found) <= MOST_QUILTS
    rows = [
        RankedQuilt(quilt=quilt, influence=_influence(network, quilt, pairs, work, 2 * (len(found) - place)))
        for place, quilt in enumerate(found[:MOST_QUILTS])
    ]
    rows.sort(key=lambda row: (row.nats, len(row.quilt.quilt), sorted(row.quilt.quilt)))
    shown = rows[:limit]
    decision = None if question is None else decision_for(question.calibration, protected)
    if decision is not None and all(row.quilt != decision.quilt for row in shown):
        # The quilt that the mechanism uses is always shown; it need not be a minimal separator.
        shown.append(RankedQuilt(quilt=decision.quilt, influence=_influence(network, decision.quilt, pairs, work, 2)))
        shown.sort(key=lambda row: row.nats)
    left = sum(row.quilt not in {line.quilt for line in shown} for row in rows)
    if question is not None:
        shown = [_with_noise(row, question, decision) for row in shown]
    return tuple(shown), left if counted else None


def _influence(
    network: Network, quilt: MarkovQuilt, pairs: tuple[SecretPair, ...], work: Work, rows: int
) -> Influence | None:
    try:
        return work.influence(network, quilt.quilt, quilt.protected, pairs, rows)
    except SizeError:
        return None


def _with_noise(row: RankedQuilt, question: Question, decision: Decision | None) -> RankedQuilt:
    if question.calibration is None:
        return row
    if decision is not None and decision.quilt == row.quilt:
        noise = NoiseOfQuilt(
            queried_near=decision.queried_near, sensitivity=decision.sensitivity, scale=decision.scale, wins=True
        )
        return RankedQuilt(quilt=row.quilt, influence=row.influence, noise=noise)
    near = question.query.columns & row.quilt.near
    norm = 2 if _is_gaussian(question.calibration) else 1
    sensitivity = column_sensitivity(question.query, near, question.framework.schema, norm)
    scale = _scale(row, question.calibration, sensitivity.upper)
    noise = NoiseOfQuilt(queried_near=near, sensitivity=sensitivity, scale=scale, wins=False)
    return RankedQuilt(quilt=row.quilt, influence=row.influence, noise=noise)


def _scale(row: RankedQuilt, calibration: Calibration, sensitivity: float) -> float:
    """Return the scale of the noise that a quilt would leave; infinite where it tells too much or too many things."""
    if row.influence is None:
        return float("inf")
    if calibration.delta == 0:
        return float(scales(sensitivity, row.influence.values, calibration.epsilon).max())
    law = "gaussian" if _is_gaussian(calibration) else "laplace"
    losses = row.influence.losses
    if isinstance(losses, Refusal):
        return float("inf")
    shifts = losses.shifts(calibration.epsilon, calibration.delta, law)
    return float(approximate_scales(sensitivity, shifts).max())


def _is_gaussian(calibration: Calibration) -> bool:
    return isinstance(calibration.mechanism, MarkovQuiltMechanism) and calibration.mechanism.noise == "gaussian"
