"""Tables that only one kind of network has."""

from __future__ import annotations

from bnpriv.influence.further import FurtherTable
from bnpriv.render.document import Paragraph, Section, Table
from bnpriv.render.text import nats_text
from bnpriv.report.values import Analysis


def further_sections(report: Analysis) -> tuple[Section, ...]:
    """Return one section for each table."""
    return tuple(map(_section, report.further))


def _section(made: FurtherTable) -> Section:
    numbers = tuple(k for k in range(1, len(made.header)) if not isinstance(made.rows[0][k], str)) if made.rows else ()
    rows = [tuple(cell if isinstance(cell, str) else nats_text(float(cell)) for cell in row) for row in made.rows]
    table = Table(caption=made.title, header=made.header, rows=rows, numbers=numbers)
    return Section(title=made.title, blocks=(Paragraph(made.intro), table))
