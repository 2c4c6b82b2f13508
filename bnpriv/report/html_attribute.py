"""The parts of the page that are about one protected attribute: heat map, drawing, quilts, edges."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from bnpriv.frameworks import odds
from bnpriv.influence.base import Influence
from bnpriv.influence.quilts import MarkovQuilt, markov_quilt
from bnpriv.render.graph import Drawing, beside, graph_html, quilt_legend
from bnpriv.render.heat import Cell, heat_legend, heat_map
from bnpriv.render.html import Html, badge, element, join, name, names, table
from bnpriv.render.text import name_text, number_text, some_text, visible
from bnpriv.report.values import AttributeReport, RankedQuilt
from bnpriv.report.words import asked_text, witness_text

if TYPE_CHECKING:
    from bnpriv.report.influence_report import InfluenceReport

LEVELS = ((0.1, "1"), (0.5, "2"), (1.0, "3"), (2.0, "4"), (4.0, "5"))
"""Colours of the heat map: up to so many nats."""

MINUS, DASH = "\u2212", "\u2013"

MOST_EDGES_TOLD = 40
"""Edges that the description of a drawing lists."""


def heat(report: InfluenceReport) -> Sequence[Html]:
    """Return the influence of every single column on every protected attribute, with the legend."""
    told = {
        (row.protected, column): influence
        for row in report.attributes
        for influence in row.columns
        for column in influence.columns
    }
    most: dict[str, float] = {}
    for (_, column), influence in told.items():
        most[column] = max(most.get(column, 0.0), float(influence))
    columns = sorted((name for name in report.network.attributes if name in most), key=lambda column: -most[column])
    rows = [
        (row.protected, [_cell(told.get((row.protected, column)), report.epsilon) for column in columns])
        for row in report.attributes
    ]
    caption = "Influence of single columns, in nats: rows are protected attributes, columns what is seen"
    if report.epsilon is not None:
        caption += f"; a star marks what tells more than epsilon {report.epsilon:g}"
    return (heat_map("protected", columns, rows, caption), _heat_legend())


def _cell(influence: Influence | None, epsilon: float | None) -> Cell:
    if influence is None:
        return Cell(text=DASH, level="none", title="the attribute itself")
    value = float(influence)
    level = next((level for most, level in LEVELS if value <= most), "6")
    if value == 0:
        level = "zero"
    elif math.isinf(value):
        level = "top"
    bound = f" ({witness_text(influence)})" if influence.too_large else ""
    return Cell(
        text="∞" if math.isinf(value) else number_text(value, 3),
        level=level,
        title=f"{some_text(influence.columns)}: the odds move by at most a factor {odds.factor_text(value)}{bound}",
        marked=epsilon is not None and value > epsilon,
    )


def _heat_legend() -> Html:
    low = 0.0
    entries = [("zero", "0: tells nothing")]
    for most, level in LEVELS:
        entries.append((level, f"{low:g} to {most:g}"))
        low = most
    return heat_legend([*entries, ("6", f"over {low:g}"), ("top", "∞: can rule a secret out")])


def drawing(report: InfluenceReport, row: AttributeReport) -> Html:
    """Return the network, coloured by the quilt that matters for a protected attribute."""
    network = report.network
    quilt = row.best or markov_quilt(network, row.protected, ())
    used = any(line.noise is not None and line.noise.wins for line in row.quilts)
    shown = name_text(row.protected)
    which = f"the quilt that the noise is based on for {shown}" if used else f"the least telling quilt for {shown}"
    title = f"The network, coloured by {which}"
    picture = graph_html(
        Drawing(
            nodes=network.attributes,
            edges=network.graph.edges,
            roles=quilt_roles(quilt),
            notes=_notes(report, row),
            path=frozenset(row.path),
            title=title,
            desc=_description(report, quilt),
        )
    )
    heading = element("h3", f"{title[0].upper()}{title[1:]}")
    return join(heading, beside(picture, _legend(quilt, bool(row.path))))


def quilt_roles(quilt: MarkovQuilt) -> dict[str, str]:
    """Return the role of every attribute in a quilt."""
    sides = {"near": quilt.near, "quilt": quilt.quilt, "remote": quilt.remote}
    return {member: role for role, side in sides.items() for member in side} | {quilt.protected: "protected"}


def _notes(report: InfluenceReport, row: AttributeReport) -> dict[str, str]:
    if report.query is not None:
        return dict.fromkeys(report.query.columns, "queried")
    if row.columns and float(row.columns[0]) > 0:
        return dict.fromkeys(row.columns[0].columns, "tells most")
    return {}


def _description(report: InfluenceReport, quilt: MarkovQuilt) -> str:
    edges = report.network.graph.edges
    listed = "; ".join(f"{visible(a)} to {visible(b)}" for a, b in edges[:MOST_EDGES_TOLD])
    more = f" and {len(edges) - MOST_EDGES_TOLD} more" if len(edges) > MOST_EDGES_TOLD else ""
    return (
        f"Protected: {visible(quilt.protected)}. Quilt: {some_text(quilt.quilt, 12)}. Near: "
        f"{some_text(quilt.near - {quilt.protected}, 12)}. Remote: {some_text(quilt.remote, 12)}. "
        f"Edges from parent to child: {listed}{more}."
    )


def _legend(quilt: MarkovQuilt, path: bool) -> Html:
    made = quilt_legend(quilt.protected, quilt=quilt.quilt, near=quilt.near, remote=quilt.remote)
    if not path:
        return made
    meaning = element("span", element("b", "path of the leak"), " (thick red line)")
    line = element("li", element("span", class_="swatch path"), meaning)
    return join(made, element("ul", line, class_="legend"))


def quilts_table(row: AttributeReport) -> Html:
    """Return the quilts with what they tell, where that is reached, and the noise they leave."""
    title = element("h3", "Quilts for ", name(row.protected))
    if not row.quilts:
        return join(title, element("p", "There is none: no column is shielded from it by others."))
    noisy = any(line.noise is not None for line in row.quilts)
    header = ["quilt", "tells (nats)", *(["queried near", "answer moves by", "scale"] if noisy else [])]
    header += ["near", "remote"]
    rows = [_quilt(line, noisy) for line in row.quilts]
    caption = f"Markov quilts for {visible(row.protected)}, the least telling first"
    made = table(header, rows, caption, numbers=[1, 3, 4] if noisy else [1])
    if row.more == 0:
        return join(title, made)
    more = "There are more quilts; they were not counted." if row.more is None else f"{row.more} more."
    return join(title, made, element("p", more, class_="small soft"))


def _quilt(row: RankedQuilt, noisy: bool) -> list[str]:
    noise: list[str] = []
    if noisy and row.noise is not None:
        scale = number_text(row.noise.scale) if row.noise.scale < math.inf else "tells too much"
        noise = [
            names(row.noise.queried_near),
            number_text(row.noise.sensitivity.upper),
            join(badge("used", "good"), " ", scale) if row.noise.wins else scale,
        ]
    told = "too large to compute" if row.influence is None else "∞" if math.isinf(row.nats) else number_text(row.nats)
    reached = "" if row.influence is None else witness_text(row.influence)
    reached = f"reached at {reached}" if reached and row.influence and not row.influence.too_large else reached
    witness = element("div", reached, class_="small soft witness") if reached else Html()
    return [
        join(names(row.quilt.quilt, nothing="no column at all"), witness),
        told,
        *noise,
        names(row.quilt.near - {row.quilt.protected}, most=6),
        names(row.quilt.remote, most=6),
    ]


def edges_table(report: InfluenceReport, row: AttributeReport) -> Html:
    """Return what would be told without each edge."""
    assert row.asked is not None
    now = float(row.asked)
    rows = [
        (
            join(name(effect.edge[0]), " → ", name(effect.edge[1])),
            "too large to compute" if effect.influence is None else _nats(effect.nats),
            "" if effect.influence is None else _change(now, effect.nats),
        )
        for effect in row.edges
    ]
    whose = visible(row.protected)
    caption = f"What {asked_text(report, row)} would tell about {whose}; with all edges {_nats(now)} nats"
    made = table(("without the edge", "nats", "change"), rows, caption, numbers=(1, 2))
    left = f"{row.more_edges} more edges were not tried." if row.more_edges else ""
    return join(made, element("p", left, class_="small soft") if left else "")


def _nats(value: float) -> str:
    return "∞" if math.isinf(value) else number_text(value)


def _change(now: float, then: float) -> str:
    if now == then or abs(now - then) < 1e-12:
        return "none"
    if math.isinf(now):
        return "no longer rules a secret out"
    return "∞" if math.isinf(then) else f"{then - now:+.3g}".replace("-", MINUS)
