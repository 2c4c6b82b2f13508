"""How a model of another library was read, as reports show it."""

from __future__ import annotations

from bnpriv.networks.reading import Reading
from bnpriv.render import Json
from bnpriv.report.parts import Table

TITLE = "How the model was read"


def reading_tables(reading: Reading) -> list[Table]:
    """Return a table of what became of every variable; none for a network that was declared here."""
    if not reading.nodes:
        return []
    rows = [[node.name, node.law, node.role, node.treatment, node.reason] for node in reading.nodes]
    return [Table(title=TITLE, header=("variable", "law", "role", "reckoned with", "why"), rows=rows, words=1)]


def reading_dict(reading: Reading) -> Json:
    """Return the same as plain values."""
    return {
        "variables": [
            {
                "name": node.name,
                "law": node.law,
                "role": node.role,
                "treatment": node.treatment,
                "reason": node.reason,
            }
            for node in reading.nodes
        ],
        "columns": [{"name": name, "driven_by": list(above)} for name, above in sorted(reading.columns.items())],
    }
