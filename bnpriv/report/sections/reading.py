"""How a model of another library was read."""

from __future__ import annotations

from bnpriv.render.document import Name, Section, Table
from bnpriv.report.values import Analysis


def reading_section(report: Analysis) -> Section | None:
    """Return what became of every variable; nothing for a network that was declared here."""
    if report.network is None or not report.network.reading.nodes:
        return None
    rows = [
        ((Name(node.name),), node.law, node.role, node.treatment, node.reason) for node in report.network.reading.nodes
    ]
    made = Table(
        caption="Every variable of the model", header=("variable", "law", "role", "reckoned with", "why"), rows=rows
    )
    return Section(title="How the model was read", blocks=(made,), id="reading", folded=True)
