"""The laws of the answer under the two secrets that are told apart best, drawn."""

from __future__ import annotations

from bnpriv.errors import Refusal
from bnpriv.mechanisms.law_decision import LawDecision
from bnpriv.mechanisms.law_drawing import law_drawing
from bnpriv.render.document import Block, Paragraph, Section
from bnpriv.render.text import upper_text
from bnpriv.report.values import Analysis
from bnpriv.report.words import not_worked_out


def laws_section(report: Analysis) -> Section | None:
    """Return what tells the two worst secrets apart in the answer; nothing where the noise shows it already."""
    if report.laws is None:
        return None
    if isinstance(report.laws, Refusal):
        blocks: tuple[Block, ...] = (not_worked_out(report.laws),)
    else:
        decided = () if report.best is None else report.best.certificate.decisions
        noted = next((each for each in decided if isinstance(each, LawDecision)), None)
        if noted is not None and (noted.rule, noted.pair) == (report.laws.rule, report.laws.pair):
            return None  # the section on the noise draws them
        drawn = law_drawing(report.laws)
        blocks = (Paragraph(distance_text(report.laws)), *([] if drawn is None else [drawn]))
    return Section(title="The answer under the two worst secrets", blocks=blocks, id="laws")


def distance_text(decision: LawDecision) -> str:
    """Return how far apart the two laws are."""
    which = decision.secrets
    if decision.distance is None:
        return f"The noise keeps {decision.rule} alike under {which}."
    return f"Between {which} the law of the answer moves by at most {upper_text(decision.distance.upper)}."
