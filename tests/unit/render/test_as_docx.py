"""Documents as .docx: every block is there in Word's own styles, and nothing tells when or where it was made."""

from __future__ import annotations

import io
import sys
import time
import zipfile
from pathlib import Path
from typing import Any

import pytest

import bnpriv as bp
from bnpriv.errors import FileError, MissingExtraError
from bnpriv.render.as_docx import as_file, document_docx, require_form
from bnpriv.render.document import Document, Paragraph, Section, Table
from tests.later import Later
from tests.unit.render.test_document import HOSTILE, document

docx = Later("docx")

SHORT = Document(
    kind="test",
    headline="A finding",
    sections=(
        Section(title="One", blocks=(Paragraph("said"), Section(title="Two", blocks=(Paragraph("more"),)))),
        Section(title="Three", blocks=(Table(caption="Numbers", header=("a", "b"), rows=[("x", "1"), ("y", "2")]),)),
    ),
)


def read(made: Document) -> Any:
    return docx.Document(io.BytesIO(document_docx(made)))


def test_headings_and_tables_are_words_own() -> None:
    found = read(SHORT)
    styles = {paragraph.text: paragraph.style.name for paragraph in found.paragraphs}
    assert styles == {
        "bnpriv test": "Subtitle",
        "A finding": "Title",
        "One": "Heading 1",
        "said": "Normal",
        "Two": "Heading 2",
        "more": "Normal",
        "Three": "Heading 1",
        "Numbers": "Caption",
    }
    (table,) = found.tables
    assert [[cell.text for cell in row.cells] for row in table.rows] == [["a", "b"], ["x", "1"], ["y", "2"]]
    assert [row._tr.xpath("./w:trPr/w:tblHeader") != [] for row in table.rows] == [True, False, False]
    assert found.styles.element.xpath("//w:lang/@w:val") == ["en-GB"]
    assert (found.sections[0].page_width.mm, found.sections[0].page_height.mm) == pytest.approx((210, 297), abs=0.1)


def test_every_block_is_there_and_no_text_is_markup() -> None:
    found = read(document(HOSTILE))
    cells = [cell.text for table in found.tables for row in table.rows for cell in row.cells]
    texts = [*(paragraph.text for paragraph in found.paragraphs), *cells]
    assert sum("<img src=x onerror=alert(1)>" in text for text in texts) > 20
    assert not any("\x1b" in text or "\u202e" in text or "\n" in text for text in texts)


def test_a_file_is_the_same_whenever_and_wherever_it_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    first = document_docx(SHORT)
    later = time.struct_time((2031, 5, 6, 7, 8, 10, 1, 126, 0))
    monkeypatch.setattr(time, "localtime", lambda *_: later)
    assert document_docx(SHORT) == first
    with zipfile.ZipFile(io.BytesIO(first)) as parts:
        assert {part.date_time[0] for part in parts.infolist()} == {1980}
        told = parts.read("docProps/core.xml") + parts.read("docProps/app.xml")
    assert not any(word in told for word in (b"created", b"modified", b"lastModifiedBy", b"revision"))
    assert not any(word in told for word in (b"python-docx", b"Macintosh", b"2013"))
    assert b"<dc:creator>bnpriv</dc:creator>" in told


def test_every_result_is_written(tmp_path: Path) -> None:
    framework = bp.example("student")
    made = bp.plan(framework, bp.count(bp.col("height") > 180), 1.0)
    made.to_docx(tmp_path / "plan.docx")
    assert "can be released" in docx.Document(str(tmp_path / "plan.docx")).paragraphs[1].text
    for name in ("plan.pdf", "plan", "none/plan.docx"):
        with pytest.raises(FileError):
            made.to_docx(tmp_path / name)
    assert [path.name for path in tmp_path.iterdir()] == ["plan.docx"]


def test_a_long_title_is_cut_where_the_properties_have_no_room() -> None:
    long = Document(kind="test", headline="a" * 5000)
    assert len(read(long).core_properties.title) <= 255
    assert read(long).paragraphs[1].text == "a" * 5000


def test_forms_go_by_the_ending() -> None:
    assert str(as_file(SHORT, Path("x.HTML"))).startswith("<!doctype html>")
    assert str(as_file(SHORT, Path("x.md"))).startswith("# A finding")
    assert as_file(SHORT, Path("x.docx"))[:2] == b"PK"
    require_form(None)
    for name in ("x.pdf", "x", ".docx"):
        with pytest.raises(FileError, match=r"\.docx, \.html or \.md"):
            require_form(Path(name))


def test_without_its_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "docx", None)
    monkeypatch.setitem(sys.modules, "docx.oxml", None)
    with pytest.raises(MissingExtraError, match=r"bnpriv\[docx\]"):
        require_form(Path("page.docx"))
    require_form(Path("page.md"))
