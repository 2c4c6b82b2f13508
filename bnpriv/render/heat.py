"""A heat map as a table: every cell says its number, so that colour is a help and no more."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import final

from bnpriv.render.html import Html, captioned, element, join, name

LONGEST_HEADING = 18
"""Letters of a heading."""

MANY_COLUMNS = 7
"""From this many on, the headings of the columns stand upright."""


@final
@dataclass(frozen=True, kw_only=True)
class HeatCell:
    """A cell of a heat map.

    Parameters
    ----------
    text : str
        What it says.
    level : str
        Its colour: none, zero, 1 to 6, or top.
    title : str
        What it means, for whoever points at it.
    marked : bool
        Whether it stands out.
    """

    text: str
    level: str
    title: str = ""
    marked: bool = False


def heat_map(corner: str, columns: Sequence[str], rows: Iterable[tuple[str, Sequence[HeatCell]]], caption: str) -> Html:
    """Return a table of coloured cells; row and column headings are names."""
    upright = len(columns) >= MANY_COLUMNS
    head = (
        element(
            "th", element("span", name(column, LONGEST_HEADING)), scope="col", class_="upright" if upright else None
        )
        for column in columns
    )
    body = (
        element("tr", element("th", name(label, LONGEST_HEADING), scope="row"), *(_cell(cell) for cell in cells))
        for label, cells in rows
    )
    top = element("tr", element("th", corner, scope="col"), *head)
    return captioned(caption, element("thead", top), element("tbody", *body), class_="heat")


def heat_legend(entries: Iterable[tuple[str, str]]) -> Html:
    """Return what the colours mean, for every (level, meaning)."""
    rows = (element("li", element("span", class_=f"swatch l{level}"), meaning) for level, meaning in entries)
    return element("ul", *rows, class_="legend row")


def _cell(cell: HeatCell) -> Html:
    mark = element("span", " *", class_="mark") if cell.marked else Html()
    return element("td", join(cell.text, mark), class_=f"l{cell.level}", title=cell.title or None)
