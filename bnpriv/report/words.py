"""The sentences of a report, the same in every format."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

from bnpriv.frameworks import odds
from bnpriv.influence.base import Influence
from bnpriv.mechanisms.drawn import points_text
from bnpriv.mechanisms.inverse import least_epsilon
from bnpriv.mechanisms.plan import Plan
from bnpriv.mechanisms.usefulness import LIMITS
from bnpriv.mechanisms.verdict import reason_text, share_text, verdict_text
from bnpriv.networks import DiscreteNetwork, IntervalNetwork
from bnpriv.render.text import and_text, name_text, number_text, some_text
from bnpriv.report.curves import Curve, epsilon_at
from bnpriv.report.values import AttributeReport

if TYPE_CHECKING:
    from bnpriv.report.influence_report import InfluenceReport

LIMIT = {verdict: share for share, verdict in LIMITS}["useful"]
"""The largest share of its range by which a useful answer errs."""

MOST_EPSILON = 20.0
"""Above it an answer is not called private."""

WORDS = (
    ("nat", "The unit of influence: log odds move by at most this much. 0.1 nats is a factor 1.1 on the odds, 1 nat a "
     "factor 2.7, 2 nats a factor 7.4, 5 nats a factor 148."),
    ("influence", "How far seeing some columns can move the log odds between two secrets of a protected attribute, at "
     "worst: over everything that may be seen, all pairs of secrets and all models."),
    ("epsilon", "The budget in nats: how far an answer may move the log odds at most."),
    ("quilt", "Columns that shield the protected attribute: whoever knows them learns nothing more about it from the "
     "remote ones."),
    ("near and remote", "Near is what the quilt does not shield from the protected attribute, remote is what it does. "
     "Noise must hide the queried columns that are near."),
)  # fmt: skip
"""What a reader may not have met before."""


def headline(report: InfluenceReport) -> tuple[str, str]:
    """Return the verdict: what it is about (a query or a column), and the rest of the sentence, without a full stop."""
    if report.query is not None and report.plan is not None and report.plan.calibrations:
        return str(report.query), verdict_text(report.plan.best)
    if report.query is not None:
        return str(report.query), _asked_text(report)
    most = max(report.attributes, key=lambda row: _most(row))
    if not most.columns:
        return most.protected, "is the only attribute of the network"
    if _most(most) == 0:
        return "No other column", f"tells anything by itself about {_protected(report)}"
    (column,) = most.columns[0].columns
    moved = move_text(_most(most), bounds_belief=most.bounds_belief)
    if most.columns[0].too_large:
        bound = "by a bound, because its tables are too large"
        return f"{column}", f"may tell most about {name_text(most.protected)}, {bound}: {moved} at most"
    return f"{column}", f"tells most about {name_text(most.protected)}: {moved}"


def lead(report: InfluenceReport) -> str:
    """Return what stands behind the headline, in a sentence or two."""
    if report.plan is not None and report.plan.calibrations:
        best = report.plan.best
        if best.useful.verdict == "exact":
            return reason_text(best)
        return " ".join(part for part in (share_text(best), advice_text(report)) if part)
    if report.query is not None:
        return "Give an epsilon to learn what noise the answer needs."
    return (
        "A statistic that never reads a protected column can still tell about it, because columns depend on each "
        "other. This report says how much, at worst."
    )


def advice_text(report: InfluenceReport) -> str:
    """Return from which epsilon on the answer would be useful, where it is not."""
    if report.plan is None or report.curves is None or report.plan.best.useful.verdict not in ("coarse", "useless"):
        return ""
    best = report.plan.best
    enough = useful_from(report.plan, report.curves, best.scale * LIMIT / best.useful.share)
    if enough > MOST_EPSILON:
        return "No epsilon below 20 makes this answer useful: ask something else, such as a query of fewer columns."
    return f"It would be useful from epsilon {number_text(enough, 2)} on."


def useful_from(plan: Plan, curves: Iterable[Curve], scale: float) -> float:
    """Return the least epsilon, rounded up to two digits, at which some mechanism's noise has at most a given scale.

    Of the mechanisms that a plan names, the Markov quilt mechanism by its curves.
    """
    by_laws = (least_epsilon(calibration, scale) for calibration in plan.calibrations)
    least = min(epsilon_at(curves, scale), *by_laws)
    if math.isinf(least):
        return least
    step = 10.0 ** (math.floor(math.log10(least)) - 1)
    return math.ceil(least / step * (1 + 1e-9)) * step


def move_text(nats: float, *, bounds_belief: bool) -> str:
    """Return what an influence does to a belief, or to odds where it bounds no belief."""
    if math.isinf(nats):
        return "it can rule a secret out altogether"
    if not bounds_belief:
        return f"it can multiply the odds between two protected secrets by {odds.factor_text(nats)}"
    return f"it can turn a belief of 10 % into {odds.belief_text(odds.PRIOR, nats)}"


def influence_text(influence: Influence) -> str:
    """Return an influence in words."""
    told = some_text(influence.columns)
    value = float(influence)
    if value == 0:
        return f"{told} tells nothing about {name_text(influence.protected)}"
    if math.isinf(value):
        return f"{told} can rule out a secret of {name_text(influence.protected)} altogether"
    return f"{told} tells at most {number_text(value)} nats about {name_text(influence.protected)}"


def witness_text(influence: Influence) -> str:
    """Return the assignment, the pair of secrets and the model that attain an influence, or that a bound stands in."""
    if influence.too_large:
        return f"a bound; too large: {influence.too_large}"
    if influence.pair is None or not influence.assignment:
        return ""
    seen = ", ".join(f"{name} = {state}" for name, state in influence.assignment.items())
    return f"{seen} for {influence.pair}" + (f", model {influence.model}" if influence.values.shape[0] > 1 else "")


def setting_text(report: InfluenceReport) -> str:
    """Return the size of the model."""
    network = report.network
    models = "one model" if network.models == 1 else f"{network.models} models"
    if isinstance(network, IntervalNetwork):
        models = "all models within intervals"
    elif network.drawn is not None:
        models = f"{network.models:,} models drawn from a posterior"
    records = "" if report.records is None else f"{report.records:,} records, "
    edges = "1 edge" if len(network.graph.edges) == 1 else f"{len(network.graph.edges)} edges"
    return f"{records}{len(network.attributes)} attributes, {edges}, {models}"


def drawn_text(report: InfluenceReport) -> str:
    """Return which models were drawn, or an empty text if they are no draws."""
    network = report.network
    return network.drawn.models_text if isinstance(network, DiscreteNetwork) and network.drawn is not None else ""


def draws_text(influence: Influence | None) -> str:
    """Return what half, 95 % and all of the draws tell at most; an empty text if the models are no draws."""
    if influence is None or influence.over_draws is None:
        return ""
    return f"{some_text(influence.columns)} about {name_text(influence.protected)}: {points_text(influence.values)}"


def node_text(report: InfluenceReport) -> str:
    """Return what a node of the network means."""
    if report.network.level == "parameters":
        return (
            "A node stands for what a column is like as a whole (the parameter that governs it), not for the value of "
            "a single record. What a node tells is all that its column can tell, however many records there are."
        )
    return "A node stands for the value of a column in one record."


def path_text(edges: tuple[tuple[str, str], ...]) -> str:
    """Return edges in words."""
    return ", ".join(f"{name_text(a)} -> {name_text(b)}" for a, b in edges)


def asked_text(report: InfluenceReport, row: AttributeReport) -> str:
    """Return which columns the tables of edges and beliefs speak of."""
    if row.asked is None:
        return ""
    several = "columns" if len(row.asked.columns) > 1 else "column"
    what = f"the queried {several}" if report.query is not None else "the most telling column"
    return f"{what} {some_text(row.asked.columns)}"


def _asked_text(report: InfluenceReport) -> str:
    most = max(report.attributes, key=lambda row: row.told)
    told = most.told
    if told == 0:
        return f"tells nothing about {_protected(report)}"
    if math.isinf(told):
        return f"can rule out a secret of {_protected(report)} altogether"
    return (
        f"tells up to {number_text(told)} nats about {name_text(most.protected)}: "
        f"{move_text(told, bounds_belief=most.bounds_belief)}"
    )


def _most(row: AttributeReport) -> float:
    return float(row.columns[0]) if row.columns else -1.0


def _protected(report: InfluenceReport) -> str:
    return and_text([name_text(row.protected) for row in report.attributes])
