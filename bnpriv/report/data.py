"""The report as plain values; docs/report-schema.md names every field, and a test holds the two together."""

from __future__ import annotations

import math

from bnpriv.errors import Refusal
from bnpriv.influence.base import Influence
from bnpriv.influence.further import FurtherTable
from bnpriv.mechanisms.answer import calibration_data, calibration_row
from bnpriv.networks.base import Network
from bnpriv.networks.posterior import CONFIDENCE, Posterior
from bnpriv.networks.reading import Reading
from bnpriv.render.text import Json
from bnpriv.report.sections.columns import CURVE_EPSILONS
from bnpriv.report.sections.curve import curve_of
from bnpriv.report.values import Analysis, AttributeReport, RankedQuilt


def report_data(report: Analysis) -> Json:
    """Return the report as values that JSON knows; "inf" stands for infinity."""
    plan, best = report.plan, report.best
    return {
        "source": report.source,
        "records": report.records,
        "network": None if report.network is None else _network(report.network),
        "without": None if report.without is None else str(report.without),
        "secrets": [secret.to_json() for secret in report.protected],
        "query": None if report.query is None else str(report.query),
        "queried": [] if report.query is None else sorted(report.query.columns),
        "epsilon": report.epsilon,
        "delta": report.delta,
        "protected": [_attribute(attribute) for attribute in report.attributes],
        "curve": [{"epsilon": epsilon, "delta": delta} for epsilon, delta in curve_of(report)],
        "laws": {"refused": str(report.laws)}
        if isinstance(report.laws, Refusal)
        else None
        if report.laws is None
        else report.laws.to_json(),
        "further": [_further(made) for made in report.further],
        "beliefs": [
            {
                "prior": each.prior,
                "answer": each.answer,
                "columns": [{"protected": name, "belief": value} for name, value in each.columns.items()],
            }
            for each in report.beliefs
        ],
        "assumptions": list(report.assumptions),
        "answer": None if best is None else calibration_data(best),
        "plan": [] if plan is None else [calibration_row(calibration) for calibration in plan.calibrations],
        "refusals": []
        if plan is None
        else [{"mechanism": str(mechanism), "reason": str(reason)} for mechanism, reason in plan.refusals],
    }


def _number(value: float) -> float | str:
    return "inf" if math.isinf(value) else value


def _network(network: Network) -> Json:
    return {
        "kind": network.kind_text,
        "level": network.level,
        "models": network.models,
        "drawn": None if network.posterior_draws is None else _posterior(network.posterior_draws),
        "attributes": [
            {"name": name, "states": [str(state) for state in network.states.get(name, ())]}
            for name in network.attributes
        ],
        "edges": [{"parent": a, "child": b} for a, b in network.graph.edges],
        "reading": _reading(network.reading),
    }


def _reading(reading: Reading) -> Json:
    return {
        "variables": [
            {"name": node.name, "law": node.law, "role": node.role, "treatment": node.treatment, "reason": node.reason}
            for node in reading.nodes
        ],
        "columns": [{"name": name, "driven_by": list(above)} for name, above in sorted(reading.columns.items())],
    }


def _posterior(drawn: Posterior) -> Json:
    return {
        "public": drawn.source,
        "draws": drawn.draws,
        "seed": drawn.seed,
        "prior": drawn.prior,
        "confidence": CONFIDENCE if drawn.independent else None,
        "beyond": drawn.beyond() if drawn.independent else None,
        "sentence": drawn.sentence,
    }


def _influence(influence: Influence) -> Json:
    return {
        "columns": sorted(influence.columns),
        "nats": _number(float(influence)),
        "kind": influence.kind,
        "how": influence.how,
        "settled": influence.settled,
        "pair": None if influence.pair is None else str(influence.pair),
        "model": influence.model,
        "assignment": [{"attribute": name, "state": str(state)} for name, state in influence.assignment.items()],
        "mu": influence.mu if influence.mu is None else _number(influence.mu),
        "deltas": _deltas(influence),
    }


def _deltas(influence: Influence) -> list[Json]:
    """Return delta at some epsilons where no factor bounds the odds."""
    if math.isfinite(float(influence)):
        return []
    found = [(epsilon, influence.delta(epsilon)) for epsilon in CURVE_EPSILONS]
    return [{"epsilon": epsilon, "delta": None if isinstance(delta, Refusal) else delta} for epsilon, delta in found]


def _attribute(report: AttributeReport) -> Json:
    points = None if report.asked is None else report.asked.over_draws
    return {
        "name": report.protected,
        "pairs": [str(pair) for pair in report.pairs],
        "columns": [
            {**_influence(told), "alike": list(report.alike.get(min(told.columns), ()))} for told in report.columns
        ],
        "driven": [
            {"name": name, "influence": None if told is None else _influence(told)} for name, told in report.driven
        ],
        "not_looked_at": report.left,
        "asked": None if report.asked is None else _asked(report.asked),
        "path": [{"parent": a, "child": b} for a, b in report.path],
        "edges": [
            {"parent": parent, "child": child, "nats": None if told is None else _number(float(told))}
            for (parent, child), told in ((effect.edge, effect.influence) for effect in report.edges)
        ],
        "more_edges": report.more_edges,
        "quilts": [_quilt(row) for row in report.quilts],
        "more_quilts": report.more,
        "reads_protected": report.is_queried,
        # what half, 95 % and all of the draws tell at most; None if the models are no draws
        "draws": None if points is None else dict(zip(("at_50", "at_95", "at_100"), map(_number, points), strict=True)),
    }


def _asked(influence: Influence) -> Json:
    """Return what is asked about, with the steps of a refinement if there was one."""
    steps = [
        {
            "pair": str(pair),
            "points": step.points,
            "nats": _number(step.influence),
            "change": _number(step.change),
            "lost": step.lost,
        }
        for pair, history in zip(influence.pairs, influence.history, strict=False)
        for step in history
    ]
    return {**_influence(influence), "history": steps}


def _quilt(row: RankedQuilt) -> Json:
    noise = row.noise
    return {
        "quilt": sorted(row.quilt.quilt),
        "near": sorted(row.quilt.near),
        "remote": sorted(row.quilt.remote),
        "influence": None if row.influence is None else _influence(row.influence),
        "noise": None
        if noise is None
        else {
            "queried_near": sorted(noise.queried_near),
            "sensitivity": noise.sensitivity.upper,
            "sensitivity_kind": noise.sensitivity.kind,
            "scale": _number(noise.scale),
            "wins": noise.wins,
        },
    }


def _further(made: FurtherTable) -> Json:
    rows = [[cell if isinstance(cell, str) else _number(cell) for cell in row] for row in made.rows]
    return {"title": made.title, "header": list(made.header), "rows": rows}
