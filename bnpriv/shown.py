"""What can be shown: it returns a document, and every form follows from that."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING

from bnpriv.services import service

if TYPE_CHECKING:
    from bnpriv.render.document import Document
    from bnpriv.text import Json


class HasCard(ABC):
    """Something that a notebook shows as a card, and `print` in at most 8 lines of 100 letters."""

    __slots__ = ()

    @property
    @abstractmethod
    def document(self) -> Document:
        """Return what it says, apart from the form."""

    def __str__(self) -> str:
        return service("render.short")(self.document)

    def _repr_html_(self) -> str:
        return service("render.card")(self.document)


class Shown(HasCard):
    """Something that is shown as text of three lengths, as a card in a notebook, as a page, as Markdown and as JSON.

    `explain` gives one screen, `text`, `to_markdown` and `to_html` all of it.
    """

    __slots__ = ()

    def explain(self) -> str:
        """Tell it on one screen: the finding, what everybody asks, and what it leans on."""
        return service("render.screen")(self.document)

    @property
    def quiet(self) -> str:
        """The finding as a bare number; what has none, in a line."""
        return service("render.number")(self.document)

    @property
    def text(self) -> str:
        """All of it as plain text, without the drawings."""
        return service("render.text")(self.document)

    def to_dict(self) -> Json:
        """Return it as plain values; docs/report-schema.md names every field."""
        return service("render.dict")(self.document)

    def to_json(self) -> str:
        """Return the values of `to_dict` as JSON; infinite and undefined numbers never occur in it."""
        return json.dumps(self.to_dict(), indent=2, allow_nan=False)

    def to_markdown(self) -> str:
        """Return it as Markdown, without the drawings."""
        return service("render.markdown")(self.document)

    def to_docx(self, path: str | Path) -> None:
        """Write it to a .docx file, without the drawings.

        Raises
        ------
        FileError
            If it has another ending or cannot be written; what was there before stays.
        MissingExtraError
            If python-docx is not installed.
        """
        service("render.docx")(self.document, path)

    def to_html(self, path: str | Path | None = None) -> str:
        """Return it as a page of its own, which loads nothing from anywhere.

        Parameters
        ----------
        path : str or Path, optional
            Also write the page to this file.

        Raises
        ------
        FileError
            If the file cannot be written; what was there before stays.
        """
        page = str(service("render.page")(self.document))
        if path is not None:
            service("render.write_text")(path, page)
        return page
