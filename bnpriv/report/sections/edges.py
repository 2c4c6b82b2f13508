"""Which dependences matter: what would be told without each edge of the network."""

from __future__ import annotations

import math

from bnpriv.render.document import Block, Name, Paragraph, Section, Table, Text
from bnpriv.render.text import name_text, nats_text, number_text
from bnpriv.report.values import Analysis, AttributeReport, EdgeEffect
from bnpriv.report.words import asked_text

SPACED_ARROW, MINUS_PLUS = " \u2192 ", ("\u2212", "+")

EDGES_INTRO = (
    "What to question in the model: every edge between the protected attribute and these columns, with what they would "
    "tell if that dependence did not exist. An edge that changes much deserves the best evidence."
)


def edges_section(report: Analysis) -> Section | None:
    """Return what would be left without each edge; nothing where that was not worked out."""
    blocks: tuple[Block, ...] = tuple(_table(report, row) for row in report.attributes if row.edges)
    if blocks:
        blocks = (Paragraph(EDGES_INTRO), *blocks)
    elif report.network is not None and any(row.path for row in report.attributes):
        kind = report.network.kind_text
        blocks = (Paragraph(f"What would be told of {kind} without an edge is not worked out."),)
    else:
        return None
    return Section(title="Which dependences matter", blocks=blocks, id="edges", folded=True)


def _table(report: Analysis, row: AttributeReport) -> Table:
    assert row.asked is not None
    now = float(row.asked)
    whose = name_text(row.protected)
    return Table(
        caption=f"What {asked_text(report, row)} would tell about {whose}; with all edges {_nats(now)} nats",
        header=("without the edge", "nats", "change"),
        rows=[_row(effect, now) for effect in row.edges],
        numbers=(1, 2),
        more=f"{row.more_edges} more edges were not tried." if row.more_edges else "",
    )


def _row(effect: EdgeEffect, now: float) -> tuple[Text, Text, Text]:
    parent, child = effect.edge
    edge = (Name(parent), SPACED_ARROW, Name(child))
    if effect.influence is None:
        return edge, "too large", ""
    return edge, _nats(effect.nats), _change(now, effect.nats)


def _nats(value: float) -> str:
    return "\u221e" if math.isinf(value) else nats_text(value)


def _change(now: float, then: float) -> str:
    if now == then or abs(now - then) < 1e-12:
        return "none"
    if math.isinf(now):
        return "no longer rules a secret out"
    return "\u221e" if math.isinf(then) else f"{MINUS_PLUS[then > now]}{number_text(abs(then - now), 3)}"
