"""The Markov quilts of every protected attribute, with what they tell and the noise that they leave."""

from __future__ import annotations

import math
from collections.abc import Iterator

from bnpriv.render.document import Badge, Cell, Name, Names, Paragraph, Section, Table, Text
from bnpriv.render.text import name_text, number_text
from bnpriv.report.sections.columns import told_cells, told_header, told_numbers
from bnpriv.report.values import Analysis, AttributeReport, RankedQuilt
from bnpriv.report.words import witness_text

QUILTS_INTRO = (
    "A quilt shields the protected attribute from the remote columns: they tell no more than the quilt does. The less "
    "a quilt tells, the better; the fewer queried columns are near, the less noise has to be hidden."
)


def quilts_section(report: Analysis) -> Section | None:
    """Return the quilts, the least telling first; nothing where no attribute can shield another."""
    if report.network is None or len(report.network.attributes) < 2:
        return None
    blocks = tuple(block for row in report.attributes for block in _of(row))
    return Section(
        title="Quilts, the least telling first", blocks=(Paragraph(QUILTS_INTRO), *blocks), id="quilts", folded=True
    )


def _of(row: AttributeReport) -> Iterator[Table | Paragraph]:
    if not row.quilts:
        yield Paragraph(("For ", Name(row.protected), " there is none: no column is shielded from it by others."))
        return
    endless = any(line.influence is not None and math.isinf(line.nats) for line in row.quilts)
    mu = any(line.influence is not None and line.influence.mu is not None for line in row.quilts)
    noisy = any(line.noise is not None for line in row.quilts)
    shown = told_header("quilt", endless=endless, mu=mu)
    start = len(shown)
    header = (*shown, *(("queried near", "answer moves by", "scale") if noisy else ()), "near", "remote")
    numbers = (*told_numbers(endless=endless, mu=mu), *((start + 1, start + 2) if noisy else ()))
    more = f"{row.more} more." if row.more else ""
    if row.more is None:
        more = "There are more quilts; they were not counted."
    yield Table(
        caption=f"Markov quilts for {name_text(row.protected)}, the least telling first",
        header=header,
        rows=[_row(line, endless=endless, mu=mu, noisy=noisy) for line in row.quilts],
        numbers=numbers,
        more=more,
    )


def _row(row: RankedQuilt, *, endless: bool, mu: bool, noisy: bool) -> tuple[Text | Cell, ...]:
    found = "" if row.influence is None else witness_text(row.influence)
    reached = f"reached at {found}" if row.influence is not None and row.influence.assignment else found
    first = Cell((Names(tuple(row.quilt.quilt), nothing="no column at all"),), note=reached)
    told = told_cells(first, row.influence, endless=endless, mu=mu)
    if row.influence is None:
        told = (first, "too large", *("" for _ in told[2:]))
    near = Names(tuple(row.quilt.near - {row.quilt.protected}), most=6)
    return (*told, *(_noise(row) if noisy else ()), (near,), (Names(tuple(row.quilt.remote), most=6),))


def _noise(row: RankedQuilt) -> tuple[Text, Text, Text]:
    if row.noise is None:
        return "", "", ""
    scale = number_text(row.noise.scale) if row.noise.scale < math.inf else "tells too much"
    shown: Text = (Badge("used", "good"), " ", scale) if row.noise.wins else scale
    return (Names(tuple(row.noise.queried_near)),), number_text(row.noise.sensitivity.upper), shown
