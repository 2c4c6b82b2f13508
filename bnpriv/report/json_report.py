"""The report as plain values; docs/report-schema.md names every field, and a test holds the two together."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from bnpriv.influence.base import Influence
from bnpriv.mechanisms import Calibration
from bnpriv.mechanisms.certificate import Decision
from bnpriv.networks import DiscreteNetwork, Network
from bnpriv.networks.posterior import CONFIDENCE
from bnpriv.render import Json
from bnpriv.report.reading import reading_dict
from bnpriv.report.values import AttributeReport, Belief, EdgeEffect, RankedQuilt

if TYPE_CHECKING:
    from bnpriv.report.influence_report import InfluenceReport

FORMAT = "bnpriv influence report 1"


def report_dict(report: InfluenceReport) -> Json:
    """Return the report as values that JSON knows; "inf" stands for infinity."""
    network, plan = report.network, report.plan
    return {
        "format": FORMAT,
        "source": report.source,
        "level": network.level,
        "models": network.models,
        "drawn": _posterior(network),
        "records": report.records,
        "attributes": [
            {"name": name, "states": [str(state) for state in network.states[name]]} for name in network.attributes
        ],
        "edges": [{"parent": a, "child": b} for a, b in network.graph.edges],
        "reading": reading_dict(network.reading),
        "query": None if report.query is None else str(report.query),
        "queried": [] if report.query is None else sorted(report.query.columns),
        "epsilon": report.epsilon,
        "protected": [_attribute(attribute) for attribute in report.attributes],
        "beliefs": [_belief(belief) for belief in report.beliefs],
        "assumptions": list(report.assumptions),
        "answer": None if plan is None or not plan.calibrations else _answer(plan.best),
        "plan": [] if plan is None else [_plan_row(calibration) for calibration in plan.calibrations],
        "refusals": []
        if plan is None
        else [{"mechanism": str(mechanism), "reason": str(reason)} for mechanism, reason in plan.refusals],
    }


def _number(value: float) -> float | str:
    return "inf" if math.isinf(value) else value


def _influence(influence: Influence) -> Json:
    return {
        "columns": sorted(influence.columns),
        "nats": _number(float(influence)),
        "kind": influence.kind,
        "pair": None if influence.pair is None else str(influence.pair),
        "model": influence.model,
        "assignment": [{"attribute": name, "state": str(state)} for name, state in influence.assignment.items()],
    }


def _posterior(network: Network) -> Json | None:
    drawn = network.drawn if isinstance(network, DiscreteNetwork) else None
    if drawn is None:
        return None
    return {
        "public": drawn.source,
        "draws": drawn.draws,
        "seed": drawn.seed,
        "prior": drawn.prior,
        "confidence": CONFIDENCE if drawn.independent else None,
        "beyond": drawn.beyond() if drawn.independent else None,
        "sentence": drawn.sentence,
    }


def _attribute(report: AttributeReport) -> Json:
    return {
        "name": report.protected,
        "pairs": [str(pair) for pair in report.pairs],
        "columns": [_influence(influence) for influence in report.columns],
        "asked": None if report.asked is None else _influence(report.asked),
        "path": [{"parent": a, "child": b} for a, b in report.path],
        "edges": [_edge(effect) for effect in report.edges],
        "more_edges": report.more_edges,
        "quilts": [_quilt(row) for row in report.quilts],
        "more_quilts": report.more,
        "reads_protected": report.is_queried,
        "draws": _draws(report.asked),
    }


def _draws(influence: Influence | None) -> Json | None:
    """Return what half, 95 % and all of the draws tell at most; None if the models are no draws."""
    points = None if influence is None else influence.over_draws
    if points is None:
        return None
    half, most, every = map(_number, points)
    return {"at_50": half, "at_95": most, "at_100": every}


def _edge(effect: EdgeEffect) -> Json:
    parent, child = effect.edge
    return {"parent": parent, "child": child, "nats": None if effect.influence is None else _number(effect.nats)}


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


def _belief(belief: Belief) -> Json:
    return {
        "prior": belief.prior,
        "answer": belief.answer,
        "columns": [{"protected": name, "belief": value} for name, value in belief.columns.items()],
    }


def _plan_row(calibration: Calibration) -> Json:
    return {
        "mechanism": str(calibration.mechanism),
        "law": type(calibration.noise).__name__,
        "scale": calibration.scale,
        "expected_error": calibration.expected_error,
        "error_95": calibration.quantile(0.95),
        "verdict": calibration.useful.verdict,
    }


def _answer(calibration: Calibration) -> Json:
    certificate = calibration.certificate
    return {
        **_plan_row(calibration),
        "useful": str(calibration.useful),
        "dimension": calibration.noise.dimension,
        "epsilon": calibration.guarantee.epsilon,
        "delta": calibration.guarantee.delta,
        "guarantee": calibration.guarantee.sentence,
        "secrets": [secret.to_json() for secret in calibration.guarantee.secrets],
        "theorem": certificate.theorem,
        "kind": certificate.kind,
        "confidence": certificate.confidence,
        "zero_noise_reason": certificate.zero_noise_reason,
        "notes": list(certificate.notes),
        "dropped": list(certificate.dropped),
        "reasons": [decision.text for decision in certificate.decisions],
        "decisions": [row.to_json() for row in certificate.decisions if isinstance(row, Decision)],
    }
