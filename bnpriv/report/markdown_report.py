"""The report as Markdown, without the drawings."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from bnpriv.render import markdown as md
from bnpriv.render.text import number_text
from bnpriv.report.beliefs import beliefs_shown
from bnpriv.report.reading import reading_tables
from bnpriv.report.values import AttributeReport, RankedQuilt
from bnpriv.report.words import WORDS, asked_text, draws_text, headline, lead, node_text, setting_text, witness_text

if TYPE_CHECKING:
    from bnpriv.report.influence_report import InfluenceReport

MOST_NAMES = 8


def report_markdown(report: InfluenceReport) -> str:
    """Return the whole report; no name in it is markup."""
    subject, rest = headline(report)
    protected = ", ".join(md.name(row.protected) for row in report.attributes)
    source = "not stated" if report.source is None else md.prose(report.source)
    parts = [
        f"# {md.code(subject) if report.query is not None else md.escape(subject)} {md.prose(rest)}",
        md.prose(lead(report)),
        f"Protected: {protected}. {md.prose(setting_text(report))}. Source of the model: {source}.",
        md.prose(node_text(report)),
        *(part for row in report.attributes for part in _attribute(report, row)),
        *_plan(report),
        *_beliefs(report),
        *(table.markdown for table in reading_tables(report.network.reading)),
        "## What the model must be trusted for",
        "\n".join(f"- {md.prose(assumption)}" for assumption in report.assumptions),
        "## Words",
        "\n".join(f"- **{word}**: {md.prose(meaning)}" for word, meaning in WORDS),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _attribute(report: InfluenceReport, row: AttributeReport) -> list[str]:
    name = md.name(row.protected)
    columns = [
        [md.name(column), number_text(float(influence)), md.prose(witness_text(influence))]
        for influence in row.columns
        for column in influence.columns
    ]
    parts = [f"## {name}", f"What single columns tell about {name}, in nats:"]
    parts.append(md.table(["column", "nats", "reached at"], columns, numbers=[1]))
    if row.asked is not None and row.told > 0:
        parts.append("\n".join(f"- {md.prose(line)}" for line in row.asked.explain().splitlines()))
    if draws_text(row.asked):
        parts.append(md.prose(f"Over the draws, {draws_text(row.asked)}"))
    if row.quilts:
        parts += ["Markov quilts, the least telling first:", _quilts(row), _more(row)]
    if row.edges:
        parts.append(f"What {md.prose(asked_text(report, row))} would tell without an edge:")
        parts.append(_edges(row))
    return parts


def _quilts(row: AttributeReport) -> str:
    noisy = any(line.noise is not None for line in row.quilts)
    header = ["quilt", "nats", "near", "remote", *(["queried near", "answer moves by", "scale"] if noisy else [])]
    return md.table(header, [_quilt(line) for line in row.quilts], numbers=[1, 5, 6] if noisy else [1])


def _quilt(row: RankedQuilt) -> list[str]:
    cells = [
        _set(row.quilt.quilt),
        "too large" if row.influence is None else number_text(row.nats),
        _set(row.quilt.near),
        _set(row.quilt.remote),
    ]
    if row.noise is not None:
        scale = number_text(row.noise.scale) if row.noise.scale < float("inf") else "tells too much"
        cells += [
            _set(row.noise.queried_near),
            number_text(row.noise.sensitivity.upper),
            f"**{scale}** (used)" if row.noise.wins else scale,
        ]
    return cells


def _more(row: AttributeReport) -> str:
    if row.more is None:
        return "More quilts, not counted."
    return f"{row.more} more." if row.more else ""


def _edges(row: AttributeReport) -> str:
    rows = [
        [
            f"{md.name(effect.edge[0])} → {md.name(effect.edge[1])}",
            "too large" if effect.influence is None else number_text(effect.nats),
        ]
        for effect in row.edges
    ]
    return md.table(["edge", "nats without it"], rows, numbers=[1])


def _plan(report: InfluenceReport) -> list[str]:
    if report.plan is None:
        return []
    rows = [
        [
            md.prose(str(made.mechanism)),
            type(made.noise).__name__,
            number_text(made.scale),
            number_text(made.expected_error),
            made.useful.verdict,
        ]
        for made in report.plan.calibrations
    ]
    parts = ["## Mechanisms"]
    if rows:
        parts.append(md.table(["mechanism", "noise", "scale", "mean error", "answer"], rows, numbers=[2, 3]))
    parts.append("\n".join(f"- not {md.prose(f'{made}: {why}')}" for made, why in report.plan.refusals))
    if report.plan.calibrations:
        parts += ["## The guarantee", f"> {md.prose(report.plan.best.guarantee.sentence)}"]
    return parts


def _beliefs(report: InfluenceReport) -> list[str]:
    made = beliefs_shown(report)
    if isinstance(made, str):
        return ["## Beliefs", md.prose(made)] if made else []
    header = [md.prose(cell) for cell in made.header]
    return ["## Beliefs", f"{md.prose(made.title)}:", md.table(header, made.rows, numbers=range(made.words))]


def _set(names: Collection[str]) -> str:
    shown = [md.name(name) for name in sorted(names)[:MOST_NAMES]]
    if len(names) > MOST_NAMES:
        shown.append(f"and {len(names) - MOST_NAMES} more")
    return ", ".join(shown) or "none"
