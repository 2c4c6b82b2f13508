"""How improbable a large move of the odds is, where nothing bounds it; and how estimates were found."""

from __future__ import annotations

import math
from collections.abc import Iterator

from bnpriv.errors import Refusal
from bnpriv.influence.base import Influence
from bnpriv.render.chart import line_chart
from bnpriv.render.document import Block, Figure, Paragraph, Section, Table
from bnpriv.render.html import scroller
from bnpriv.render.text import name_text, nats_text, some_text, upper_chance
from bnpriv.render.two_curves import two_curves
from bnpriv.report.values import Analysis

STEPS, FARTHEST = 40, 4.0
"""How many points of a curve are drawn, and up to which epsilon."""


def curve_of(report: Analysis) -> tuple[tuple[float, float], ...]:
    """Return (epsilon, delta) of what is asked about, without noise, at the worst protected attribute.

    Empty where it is bounded, so that no curve is needed, and where nothing is known of it. Where a protected attribute
    drives what is read delta is 1.
    """
    levels = [FARTHEST * (k + 1) / STEPS for k in range(STEPS)]
    if report.query is not None and any(row.is_queried for row in report.attributes):
        return tuple((level, 1.0) for level in levels)
    told = [row.asked for row in report.attributes if row.asked is not None and math.isinf(float(row.asked))]
    rows = [
        (level, [delta for each in told if not isinstance(delta := each.delta(level), Refusal)]) for level in levels
    ]
    return tuple((level, max(deltas)) for level, deltas in rows if deltas)


def curve_section(report: Analysis) -> Section | None:
    """Return the privacy curve of what is told without noise; nothing where it is bounded."""
    blocks = tuple(_chart(report))
    return Section(title="How improbable a large move is", blocks=blocks, id="curve", folded=True) if blocks else None


def _chart(report: Analysis) -> Iterator[Block]:
    if report.query is not None and any(row.is_queried for row in report.attributes):
        return
    curve = curve_of(report)
    if not curve:
        return
    at_one = next(delta for epsilon, delta in curve if epsilon >= 1)
    chart = line_chart(
        curve,
        across="epsilon (nats)",
        up="delta",
        title="Privacy curve without noise",
        desc=f"It falls with epsilon; at epsilon 1 delta is {upper_chance(at_one)}.",
        marks=(0.0, 1.0, 2.0, 3.0, 4.0),
    )
    guess = any(row.asked is not None and row.asked.kind == "estimate" for row in report.attributes)
    told = "the queried columns tell" if report.query is not None else "the most telling column tells"
    yield Paragraph(
        f"With what {told}, a set of observations that has probability p under one secret has at most exp(epsilon) p + "
        f"delta under the other{' (estimate)' if guess else ''}; at epsilon 1 delta is {upper_chance(at_one)}."
    )
    yield Figure(scroller(chart, "Privacy curve"))


def secrets_section(report: Analysis) -> Section | None:
    """Return the law of a column given each of two secrets, for every attribute about which something is told."""
    found = [each for row in report.attributes if row.asked is not None for each in _drawn(row.asked)]
    if not found:
        return None
    return Section(title="What is seen under two secrets", blocks=tuple(found), id="secrets", folded=True)


def _drawn(told: Influence) -> Iterator[Block]:
    if float(told) == 0 or told.unknown is not None:
        return
    curves = told.conditional()
    if not isinstance(curves, Refusal):
        yield Figure(two_curves(curves), f"{curves.title}: {curves.names[0]} against {curves.names[1]}")


def history_section(report: Analysis) -> Section | None:
    """Return how the grids of estimates were refined; nothing where there are none."""
    told = [row.asked for row in report.attributes if row.asked is not None and any(row.asked.history)]
    if not told:
        return None
    blocks = (*map(_history, told),)
    return Section(title="How the estimates were found", blocks=blocks, id="history", folded=True)


def _history(told: Influence) -> Table:
    rows = [
        (
            str(pair),
            f"{step.points}",
            nats_text(step.influence),
            "" if math.isinf(step.change) else nats_text(step.change, 2),  # the first grid has none before it
            nats_text(step.lost, 2),
        )
        for pair, history in zip(told.pairs, told.history, strict=True)
        for step in history
    ]
    return Table(
        caption=f"How the grids were refined for {some_text(told.columns)}, about {name_text(told.protected)}",
        header=("secrets", "points per axis", "nats", "change", "mass lost"),
        rows=rows,
        numbers=(1, 2, 3, 4),
    )
