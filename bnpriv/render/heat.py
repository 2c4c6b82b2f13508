"""A heat map as a table: every cell says its number, so that colour is a help and no more.

Where there are more cells than can be read, a picture shows the colours alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import final

from bnpriv.render.html import Html, captioned, element, join, legend, name
from bnpriv.render.svg import FIGURE_WIDTH, drawing, rect

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


def heat_picture(levels: Sequence[Sequence[str]], title: str, desc: str) -> Html:
    """Return coloured cells without numbers, for more of them than can be read.

    Parameters
    ----------
    levels : sequence of sequence of str
        The colours of every row; "none" and "zero" stay blank.
    title, desc : str
        What it is, and what it shows in words.
    """
    paths: dict[str, list[str]] = {}
    for y, row in enumerate(levels):
        x = 0
        for level, run in groupby(row):
            length = len(list(run))
            if level not in ("none", "zero"):
                paths.setdefault(level, []).append(f"M{x} {y}h{length}v1h-{length}z")
            x += length
    columns = max(map(len, levels), default=1)
    unit = FIGURE_WIDTH / columns
    cells = (element("path", d="".join(parts), class_=f"l{level}") for level, parts in sorted(paths.items()))
    size = (FIGURE_WIDTH, unit * len(levels))
    frame = rect((0.5, 0.5), (size[0] - 1, size[1] - 1), "frame")
    return drawing(
        size, element("g", *cells, transform=f"scale({unit:.6g})"), frame, title=title, desc=desc, class_="heat"
    )


def heat_legend(entries: Iterable[tuple[str, str]]) -> Html:
    """What the colours mean, for every (level, meaning)."""
    return legend((f"l{level}", meaning) for level, meaning in entries)


def _cell(cell: HeatCell) -> Html:
    mark = element("span", " *", class_="mark") if cell.marked else Html()
    return element("td", join(cell.text, mark), class_=f"l{cell.level}", title=cell.title or None)
