"""A small result as a table with sentences around it, in plain text and in HTML."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from bnpriv.render import html
from bnpriv.render.text import lines_text, table_text


@final
@dataclass(frozen=True, kw_only=True)
class Sheet:
    """A table with a caption above it and sentences below it.

    Parameters
    ----------
    caption : str
    header : tuple of str
    rows : sequence of sequence of str
        May be empty, then only the sentences are shown.
    notes : sequence of str
        Sentences.
    numbers : tuple of int
        The columns that hold numbers.
    """

    caption: str
    header: tuple[str, ...]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str] = ()
    numbers: tuple[int, ...] = ()

    @property
    def text(self) -> str:
        """Return caption, aligned table and sentences."""
        lines = [lines_text([self.caption])]
        if self.rows:
            lines += ["", table_text(self.header, self.rows), ""]
        return "\n".join([*lines, lines_text(self.notes)]).rstrip()

    @property
    def html(self) -> str:
        """Return the same for a notebook; whatever the texts hold, they do no harm."""
        notes = [html.element("p", note) for note in self.notes]
        if not self.rows:
            return str(html.fragment(html.element("p", self.caption), *notes))
        return str(html.fragment(html.table(self.header, self.rows, self.caption, numbers=self.numbers), *notes))
