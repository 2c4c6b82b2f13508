"""How many nats which colour stands for."""

from __future__ import annotations

import math
from collections.abc import Collection

from bnpriv.frameworks import odds
from bnpriv.render.heat import HeatCell
from bnpriv.render.text import of_nats, some_text, upper_text

HEAT_LEVELS = ((0.1, "1"), (0.5, "2"), (1.0, "3"), (2.0, "4"), (4.0, "5"))
"""Colours of a heat map: up to so many nats."""

DASH, INFINITY_SIGN = "\u2013", "\u221e"

LEGEND: tuple[tuple[str, str], ...] = (
    ("zero", "0: tells nothing"),
    *(
        (level, f"{low:g} to {most:g}")
        for (most, level), low in zip(HEAT_LEVELS, (0.0, *dict(HEAT_LEVELS)), strict=False)
    ),
    ("6", f"over {HEAT_LEVELS[-1][0]:g}"),
    ("top", f"{INFINITY_SIGN}: no factor bounds the odds"),
)
"""What the colours mean."""


def heat_cell(nats: float | None, columns: Collection[str], *, marked: bool = False, note: str = "") -> HeatCell:
    """Return the cell of an influence; None stands for an attribute that meets itself.

    Parameters
    ----------
    nats : float or None
    columns : collection of str
        What is seen.
    marked : bool
        Whether it tells more than is allowed.
    note : str
        More for whoever points at the cell.
    """
    if nats is None:
        return HeatCell(text=DASH, level="none", title="the attribute itself")
    if math.isnan(nats):
        return HeatCell(text=DASH, level="none", title="not looked at")
    level = "zero" if nats == 0 else next((level for most, level in HEAT_LEVELS if nats <= most), "6")
    # two decimals tell the colours apart
    text = "<0.01" if 0 < nats < 0.005 else f"{nats:.2f}" if 0 < nats < 10 else f"{nats:,.0f}"
    text = INFINITY_SIGN if math.isinf(nats) else text
    moved = f"{of_nats(upper_text(nats))}, which moves the odds {odds.multiplied_text(nats)}"
    return HeatCell(
        text=text,
        level="top" if math.isinf(nats) else level,
        title=f"{some_text(columns)}: {moved}{note}",
        marked=marked,
    )
