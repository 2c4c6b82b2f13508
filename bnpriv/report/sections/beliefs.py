"""How far a reader's beliefs can move: after the calibrated answer or, without one, after learning all the columns."""

from __future__ import annotations

from bnpriv.frameworks import odds
from bnpriv.frameworks.guarantee_facts import belief_fact as of_guarantee
from bnpriv.frameworks.guarantee_facts import belief_table
from bnpriv.render.document import Fact, Section, Table, fact
from bnpriv.render.text import name_text, percent_text
from bnpriv.report.values import Analysis, AttributeReport
from bnpriv.report.words import asked_text


def belief_fact(report: Analysis) -> Fact:
    """Return one number: what a belief of 10 % becomes, or by what factor odds move."""
    question = "What it can change"
    if report.best is not None:
        return of_guarantee(report.best.guarantee)
    row = report.worst
    if row is None:
        return fact(question, "Give an epsilon to learn how far the answer can move a belief.")
    what = asked_text(report, row)
    if row.bounds_belief:
        became = odds.belief_text(odds.PRIOR, row.told)
        return fact(question, f"A belief of 10 % in one secret becomes at most {became} by all that {what} can tell.")
    return fact(question, f"{odds.even_text(row.told)}, by all that {what} can tell.")


def beliefs_section(report: Analysis) -> Section | None:
    """A table of beliefs before and after, or a sentence where none is bounded."""
    rows = [row for row in report.attributes if row.bounds_belief and row.asked is not None]
    if report.best is None and not rows:
        return None
    block = _after_columns(report, rows) if report.best is None else belief_table(report.best.guarantee)
    return Section(title="What a reader can come to believe", blocks=(block,), id="beliefs", folded=True)


def _after_columns(report: Analysis, rows: list[AttributeReport]) -> Table:
    what = asked_text(report, rows[0])
    return Table(
        caption=f"A belief in one secret, before, and at most after learning all that {what} can tell",
        header=("before", *(f"about {name_text(row.protected)}" for row in rows)),
        rows=[(percent_text(prior), *(odds.belief_text(prior, row.told) for row in rows)) for prior in odds.PRIORS],
        numbers=tuple(range(1, len(rows) + 1)),
    )
