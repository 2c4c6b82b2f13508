"""How a model of another library was read."""

from __future__ import annotations

from bnpriv.render.document import Name, Section, Table
from bnpriv.report.values import Analysis

MOST_VARIABLES = 60
"""Variables that the table names; the others are counted."""


def reading_section(report: Analysis) -> Section | None:
    """Return what became of every variable; nothing for a network that was declared here."""
    if report.network is None or not report.network.reading.nodes:
        return None
    nodes = report.network.reading.nodes
    left = len(nodes) - MOST_VARIABLES
    made = Table(
        caption="Every variable of the model" if left <= 0 else "Variables of the model",
        header=("variable", "law", "role", "reckoned with", "why"),
        rows=[
            ((Name(each.name),), each.law, each.role, each.treatment, each.reason) for each in nodes[:MOST_VARIABLES]
        ],
        more="" if left <= 0 else "1 more variable." if left == 1 else f"{left:,} more variables.",
    )
    return Section(title="How the model was read", blocks=(made,), id="reading", folded=True)
