"""The report as plain text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bnpriv.render.text import lines_text, name_text, number_text, some_text, table_text
from bnpriv.report.beliefs import beliefs_shown
from bnpriv.report.reading import reading_tables
from bnpriv.report.values import AttributeReport, RankedQuilt
from bnpriv.report.words import asked_text, draws_text, headline, influence_text, lead, setting_text, witness_text

if TYPE_CHECKING:
    from bnpriv.report.influence_report import InfluenceReport

MOST_ROWS = 15
"""Rows of a table of columns; those that follow tell least."""


def report_text(report: InfluenceReport) -> str:
    """Return the whole report; no name in it can steer a terminal."""
    parts = [_head(report), *(_attribute(report, row) for row in report.attributes), _beliefs(report)]
    if report.plan is not None:
        parts.append(str(report.plan))
        if report.plan.calibrations:
            parts.append(report.plan.best.explain())
    parts += [table.text for table in reading_tables(report.network.reading)]
    parts.append(lines_text(f"Assumed: {assumption}" for assumption in report.assumptions))
    return "\n\n".join(part for part in parts if part)


def _head(report: InfluenceReport) -> str:
    subject, rest = headline(report)
    first = f"{subject} {rest}."
    if report.query is None and subject in report.network.attributes:
        first = f"Of all columns {subject} {rest}."
    names = ", ".join(name_text(row.protected) for row in report.attributes)
    source = "not stated" if report.source is None else report.source
    return lines_text(
        [
            first,
            lead(report),
            f"Protected: {names}. {setting_text(report)}; source: {source}.",
            "Influence is in nats: seeing a column moves the log odds between two protected secrets by at most this.",
        ]
    )


def _attribute(report: InfluenceReport, row: AttributeReport) -> str:
    name = name_text(row.protected)
    parts = [f"{name}: single columns", _columns(row), "", f"{name}: Markov quilts, the least telling first"]
    parts.append(_quilts(row))
    if row.asked is not None and report.query is not None:
        parts += ["", lines_text([f"{name}: the queried columns", _queried(row)])]
    if draws_text(row.asked):
        parts += ["", f"{name}: over the draws", lines_text([draws_text(row.asked)])]
    if row.edges and row.asked is not None:
        parts += ["", f"{name}: what {asked_text(report, row)} would tell without an edge", _edges(row)]
    if row.asked is not None and float(row.asked) > 0:
        parts += ["", row.asked.explain()]
    return "\n".join(parts)


def _queried(row: AttributeReport) -> str:
    """Return what the queried columns tell together."""
    if row.asked is None or (row.is_queried and not row.asked.columns):
        return "The query reads it, which tells everything."
    told = f"{influence_text(row.asked)}."
    return f"The query reads it, which tells everything; besides, {told}" if row.is_queried else told


def _columns(row: AttributeReport) -> str:
    rows = [
        [*influence.columns, number_text(float(influence)), witness_text(influence)]
        for influence in row.columns[:MOST_ROWS]
    ]
    text = table_text(["column", "nats", "reached at"], rows)
    left = len(row.columns) - len(rows)
    return f"{text}\n({left} more, which tell no more)" if left else text


def _quilts(row: AttributeReport) -> str:
    if not row.quilts:
        return "no quilt but the trivial one"
    noisy = any(line.noise is not None for line in row.quilts)
    header = ["quilt", "nats", "near", "remote", *(["queried near", "answer moves by", "scale"] if noisy else [])]
    text = table_text(header, [_quilt(line) for line in row.quilts])
    if row.more is None:
        return f"{text}\n(more quilts, not counted)"
    return f"{text}\n({row.more} more)" if row.more else text


def _quilt(row: RankedQuilt) -> list[str]:
    cells = [
        some_text(row.quilt.quilt),
        "too large" if row.influence is None else number_text(row.nats),
        some_text(row.quilt.near, 4),
        some_text(row.quilt.remote, 4),
    ]
    if row.noise is not None:
        scale = number_text(row.noise.scale) if row.noise.scale < float("inf") else "tells too much"
        cells += [
            some_text(row.noise.queried_near, 4),
            number_text(row.noise.sensitivity.upper),
            scale + (" (used)" if row.noise.wins else ""),
        ]
    return cells


def _edges(row: AttributeReport) -> str:
    rows = [
        [f"{name_text(a)} -> {name_text(b)}", "too large" if effect.influence is None else number_text(effect.nats)]
        for effect in row.edges
        for a, b in [effect.edge]
    ]
    text = table_text(["edge", "nats without it"], rows)
    return f"{text}\n({row.more_edges} more, not tried)" if row.more_edges else text


def _beliefs(report: InfluenceReport) -> str:
    made = beliefs_shown(report)
    return lines_text([made]) if isinstance(made, str) else made.text
