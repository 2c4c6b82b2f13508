"""The laws of the answer under the two secrets that are told apart best, drawn."""

from __future__ import annotations

from bnpriv.errors import Refusal
from bnpriv.mechanisms.law_decision import LawDecision
from bnpriv.mechanisms.law_drawing import law_drawing
from bnpriv.render.document import Block, Paragraph, Section
from bnpriv.render.text import name_text, upper_text
from bnpriv.report.values import Analysis


def laws_section(report: Analysis) -> Section | None:
    """Return what tells the two worst secrets apart in the answer; nothing where the noise shows it already."""
    if report.laws is None:
        return None
    if isinstance(report.laws, Refusal):
        blocks: tuple[Block, ...] = (Paragraph(str(report.laws)),)
    else:
        drawn = law_drawing(report.laws)
        blocks = (Paragraph(distance_text(report.laws)), *([] if drawn is None else [drawn]))
    return Section(title="The answer under the two worst secrets", blocks=blocks, id="laws")


def distance_text(decision: LawDecision) -> str:
    """Return how far apart the two laws are."""
    which = f"{name_text(decision.protected)} ({decision.pair})"
    if decision.distance is None:
        return f"{which}: {decision.rule}."
    far = upper_text(decision.distance.upper)
    return f"{which}: to turn one law of the answer into the other, mass moves by at most {far}."
