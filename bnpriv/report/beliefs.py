"""How far a reader's beliefs can move: after the calibrated answer or, without one, after learning all the columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bnpriv.frameworks import Guarantee, odds
from bnpriv.render.text import name_text, percent_text
from bnpriv.report.parts import Table
from bnpriv.report.words import asked_text

if TYPE_CHECKING:
    from bnpriv.report.influence_report import InfluenceReport


def beliefs_shown(report: InfluenceReport) -> Table | str:
    """Return a table of beliefs before and after, or a sentence where none is bounded; empty without other columns."""
    if report.plan is not None and report.plan.calibrations:
        return _after_answer(report.plan.best.guarantee)
    rows = [row for row in report.attributes if row.bounds_belief and row.asked is not None]
    if not rows:
        return ""
    shown = [[percent_text(prior), *(odds.belief_text(prior, row.told) for row in rows)] for prior in odds.PRIORS]
    what = asked_text(report, rows[0])
    return Table(
        title=f"A belief in one secret, before, and at most after learning all that {what} can tell",
        header=("before", *(f"about {name_text(row.protected)}" for row in rows)),
        rows=shown,
        words=len(rows) + 1,
    )


def _after_answer(guarantee: Guarantee) -> Table | str:
    if not guarantee.with_belief:
        return guarantee.odds_text
    return Table(
        title=guarantee.belief_caption,
        header=("before", "at most after"),
        rows=odds.belief_rows(guarantee.nats),
        words=2,
    )
