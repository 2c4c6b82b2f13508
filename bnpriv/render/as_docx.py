"""Documents as .docx files, with Word's own styles; every text is data, and nothing tells when or where it was made."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from bnpriv.errors import FileError, MissingExtraError
from bnpriv.render import document as doc
from bnpriv.render.as_html import LONGEST_TITLE, document_page
from bnpriv.render.as_markdown import document_markdown
from bnpriv.render.as_text import inline as plain
from bnpriv.render.document import Block, Document, Fact, Text, parts_of
from bnpriv.render.outputs import outputs
from bnpriv.text import isolated, shorten, visible

EPOCH = (1980, 1, 1, 0, 0, 0)
"""The date of every part of the file, the first that a ZIP can have."""

LANGUAGE = "en-GB"

PAPER_MARGIN, TEXT_WIDTH = 18, 174
"""Millimetres beside the text of an A4 page, and of the text."""


def require_form(path: Path | None) -> None:
    """Refuse a file that no document can be written to, before anything is done that would be lost; None is none.

    Raises
    ------
    FileError
        If its name has another ending.
    MissingExtraError
        If it is a .docx and python-docx is not installed.
    """
    if path is None:
        return
    if path.suffix.lower() not in FILE_FORMS:
        raise FileError(
            "a document is written as .docx, .html or .md", found=repr(path.name[:80]), remedy="Rename the file."
        )
    if path.suffix.lower() == ".docx":
        _docx()


def as_file(document: Document, path: Path) -> str | bytes:
    """A document as the file that an ending asks for.

    Parameters
    ----------
    document : Document
    path : Path
        What it is to be called.

    Raises
    ------
    FileError, MissingExtraError
        As `require_form`.
    """
    require_form(path)
    return FILE_FORMS[path.suffix.lower()](document)


def _docx() -> Any:
    try:
        return [import_module(name) for name in ("docx.oxml", "docx.oxml.ns", "docx.shared", "docx")][-1]
    except ImportError:
        remedy = 'Install it: pip install "bnpriv[docx]".'
        raise MissingExtraError("a .docx file needs python-docx", found="no such package", remedy=remedy) from None


def write_docx(document: Document, path: str | Path) -> None:
    """Write a document to a .docx file.

    Raises
    ------
    FileError, MissingExtraError
        As `require_form`, or if the file cannot be written; what was there before stays.
    """
    target = Path(path)
    if target.suffix.lower() != ".docx":
        raise FileError("the file must end in .docx", found=repr(target.name[:80]), remedy="Rename it.")
    content = as_file(document, target)
    with outputs(target) as out:
        out.put(target, content)


def document_docx(document: Document) -> bytes:
    """A document as the bytes of a .docx file, the same for the same document.

    Raises
    ------
    MissingExtraError
        If python-docx is not installed.
    """
    docx = _docx()
    made = docx.Document()
    _set_page(docx, made)
    title = shorten(visible(document.title) or plain(document.headline), LONGEST_TITLE)
    properties = made.core_properties
    properties.title, properties.author, properties.comments, properties.language = title, "bnpriv", "", LANGUAGE
    for name in ("created", "modified", "lastModifiedBy", "revision"):
        for found in [each for each in properties._element if each.tag.rpartition("}")[2] == name]:
            properties._element.remove(found)
    kicker = f"bnpriv {document.kind}" if document.kicker is None else document.kicker
    writer = _Writer(docx, made)
    if kicker:
        writer.paragraph(kicker, "Subtitle")
    writer.paragraph(document.headline, "Title")
    if document.verdict or document.lead:
        writer.paragraph(
            (doc.Strong(f"{document.verdict} "), *parts_of(document.lead)) if document.verdict else document.lead
        )
    writer.blocks((*document.answer, doc.Facts(document.facts), *document.sections), 1)
    written = io.BytesIO()
    made.save(written)
    return _undated(written)


def _set_page(docx: Any, made: Any) -> None:
    """A4 with narrow margins, small letters, and the language of the texts."""
    millimetres, points = docx.shared.Mm, docx.shared.Pt
    for section in made.sections:
        section.page_width, section.page_height = millimetres(210), millimetres(297)
        section.left_margin = section.right_margin = millimetres(PAPER_MARGIN)
        section.top_margin = section.bottom_margin = millimetres(12)
    sizes = {
        "Normal": 8.5,
        "Title": 14,
        "Subtitle": 9,
        "Heading 1": 10.5,
        "Heading 2": 9.5,
        "Heading 3": 9,
        "Caption": 8.5,
    }
    for name, size in sizes.items():
        style = made.styles[name]
        style.font.size, style.font.name = points(size), "Calibri"
        style.paragraph_format.space_before = points(4 if name.startswith("Heading") else 0)
        style.paragraph_format.space_after = points(1)
        style.paragraph_format.line_spacing = 1.0
    defaults = made.styles.element.find(f".//{docx.oxml.ns.qn('w:lang')}")
    defaults.set(docx.oxml.ns.qn("w:val"), LANGUAGE)


class _Writer:
    """What fills a file of Word, block after block."""

    def __init__(self, docx: Any, made: Any) -> None:
        self._docx, self._made = docx, made

    def paragraph(self, text: Text, style: str = "Normal") -> None:
        """Add a paragraph; what stands out is bold, queries are in letters of one width."""
        self._fill(self._made.add_paragraph(style=style), text)

    def blocks(self, blocks: Iterable[Block], depth: int) -> None:
        """Add blocks, sections with headings of `depth`."""
        for each in blocks:
            self._block(each, depth)

    def _block(self, made: Block, depth: int) -> None:
        match made:
            case doc.Paragraph():
                self.paragraph(made.text)
            case doc.Big():
                self.paragraph((doc.Strong(made.words or made.text),))
            case doc.Quote():
                self.paragraph(made.text, "Quote")
            case doc.Items():
                for item in made.items:
                    self.paragraph(item, "List Bullet")
            case doc.Facts():
                for row in made.facts:
                    self.paragraph(_fact(row))
            case doc.Table():
                rows = [[_cell(cell) for cell in row] for row in made.rows]
                self._table(made.caption, made.header, rows, made.more)
            case doc.HeatMap():
                shown = [[name, *(cell.text + " *" * cell.marked for cell in cells)] for name, cells in made.rows]
                self._table(made.caption, (made.corner, *made.columns), shown, made.more)
            case doc.Figure() | doc.Live():
                if made.words:
                    self.paragraph(made.words)
            case doc.Section():
                if made.blocks:
                    self.paragraph(made.title, f"Heading {min(depth, 3)}")
                    self.blocks(made.blocks, depth + 1)

    def _table(self, caption: str, header: Sequence[Text], rows: Sequence[Sequence[Text]], more: str) -> None:
        """Add a table whose first row is its header, repeated on every page."""
        if caption:
            self.paragraph(caption, "Caption")
        table = self._made.add_table(rows=0, cols=len(header), style="Table Grid")
        table.autofit = False
        widths = [
            min(60, max(12, *(len(plain(cell)) for cell in column))) for column in zip(header, *rows, strict=True)
        ]
        for place, row in enumerate([header, *rows]):
            for cell, text, width in zip(table.add_row().cells, row, widths, strict=True):
                cell.width = self._docx.shared.Mm(TEXT_WIDTH * width / sum(widths))
                self._fill(cell.paragraphs[0], (doc.Strong(plain(text)),) if place == 0 else text)
        head = table.rows[0]._tr.get_or_add_trPr()
        head.append(self._docx.oxml.OxmlElement("w:tblHeader"))
        if more:
            self.paragraph(more)

    def _fill(self, paragraph: Any, text: Text) -> None:
        for part in parts_of(text):
            run = paragraph.add_run(isolated(plain((part,))))
            run.bold = True if isinstance(part, (doc.Strong, doc.Badge)) else None
            if isinstance(part, doc.Code):
                run.font.name = "Consolas"


def _fact(row: Fact) -> Text:
    mark = "" if row.question.endswith("?") else ":"
    ends = [*("" if plain(line).endswith(".") else ";" for line in row.lines[:-1]), ""]
    said = [part for line, end in zip(row.lines, ends, strict=True) for part in (" ", *parts_of(line), end)]
    return (doc.Strong(f"{row.question}{mark}"), *said)


def _cell(cell: Text | doc.Cell) -> Text:
    if not isinstance(cell, doc.Cell):
        return cell
    return (*parts_of(cell.text), *((" (", *parts_of(cell.note), ")") if cell.note else ()))


def _undated(written: io.BytesIO) -> bytes:
    """The same file with no time of its own in any part."""
    out = io.BytesIO()
    with zipfile.ZipFile(written) as parts, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as kept:
        for name in parts.namelist():
            content = parts.read(name).replace(b"Microsoft Macintosh Word", b"bnpriv")  # of the template
            kept.writestr(zipfile.ZipInfo(name, EPOCH), content, zipfile.ZIP_DEFLATED)
    return out.getvalue()


FILE_FORMS: Mapping[str, Callable[[Document], str | bytes]] = {
    ".docx": document_docx,
    ".html": document_page,
    ".md": document_markdown,
}
"""How a document is written, by the ending of the file."""
