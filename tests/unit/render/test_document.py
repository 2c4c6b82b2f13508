"""One document, every form: each says all of it, and no text in it is taken for markup."""

from __future__ import annotations

import json
from dataclasses import replace
from html.parser import HTMLParser
from typing import final

import pytest

from bnpriv.render.as_html import document_card, document_page
from bnpriv.render.document import (
    Badge,
    Big,
    Block,
    Cell,
    Code,
    Document,
    Facts,
    Figure,
    HeatMap,
    Items,
    Live,
    Name,
    Names,
    Paragraph,
    Quote,
    Section,
    Strong,
    Table,
    fact,
)
from bnpriv.render.figures import HeatCell
from bnpriv.render.html import Html
from bnpriv.shown import Shown

HOSTILE = "<img src=x onerror=alert(1)>\n# *b* [a](javascript:x) `c` \x1b[2J \u202e"


def blocks(text: str) -> tuple[Block, ...]:
    """Every kind of block, holding a text wherever one can stand."""
    inline = (text, Name(text), Names((text, "other")), Code(text), Strong(text), Badge(text))
    return (
        Paragraph(inline),
        Paragraph(text, soft=True),
        Big(text),
        Items((text, inline)),
        Quote(inline),
        Facts((fact(text, text, inline),)),
        Table(caption=text, header=(text, inline), rows=[[text, Cell(inline, note=text)]], numbers=(1,), more=text),
        HeatMap(
            caption=text,
            corner=text,
            columns=(text,),
            rows=[(text, [HeatCell(text=text, level="1", title=text, marked=True)])],
            legend=(("1", text),),
            more=text,
        ),
        Figure(Html("<svg></svg>"), caption=text, words=inline),
        Live(Html("<input>"), "1;", words=text),
    )


def document(text: str) -> Document:
    made = blocks(text)
    return Document(
        kind="test",
        kicker=text,
        headline=(text, Code(text)),
        verdict=text,
        tone="fair",
        lead=text,
        answer=made,
        facts=(fact(text, text),),
        beside=made[:-1],
        sections=(
            Section(title=text, blocks=(*made, Section(title=text, blocks=made))),
            Section(title=text, blocks=made, folded=True),
        ),
        data={"text": text},
    )


@final
class Example(Shown):
    def __init__(self, text: str) -> None:
        self.said = document(text)

    @property
    def document(self) -> Document:
        return self.said


def said(shown: Shown, form: str) -> str:
    return shown.text if form == "text" else getattr(shown, form)()


class Tags(HTMLParser):
    """The elements of a page, and its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.words = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.words += data


@pytest.mark.parametrize("form", ["to_html", "_repr_html_"])
def test_a_hostile_text_is_no_markup_anywhere(form: str) -> None:
    tame = Tags(getattr(Example("a plain text"), form)()).tags
    hostile = Tags(getattr(Example(HOSTILE), form)())
    assert hostile.tags == tame
    assert "onerror=alert" in hostile.words


@pytest.mark.parametrize("form", ["to_markdown", "text", "__str__", "explain"])
def test_a_hostile_text_steers_nothing(form: str) -> None:
    tame, hostile = (said(Example(text), form) for text in ("a plain text", HOSTILE))
    assert form in ("__str__", "explain") or len(hostile.splitlines()) == len(tame.splitlines())
    assert "\x1b" not in hostile
    assert "\u202e" not in hostile
    if form == "to_markdown":
        outside = hostile.replace("``", "").replace("\\`", "")
        assert "\n# \\*b" not in outside
        assert "&lt;img" in hostile


@pytest.mark.parametrize("form", ["to_html", "_repr_html_", "to_markdown", "text"])
def test_every_block_is_said_in_every_form(form: str) -> None:
    for k, made in enumerate(blocks(f"MARK{0}")):
        shown = Example("")
        shown.said = Document(kind="test", headline="x", sections=(Section(title="t", blocks=(made,)),))
        text = said(shown, form)
        assert "MARK0" in text or (isinstance(made, Live) and form == "to_html"), (k, form)


def test_what_moves_moves_on_pages_only() -> None:
    said = document("x")
    page, card = document_page(said), document_card(said)
    assert page.count("<script>1;</script>") == 1
    assert "<script" not in card
    assert "<input" not in card


def test_sections_fold() -> None:
    said = Document(kind="test", headline="x", sections=(Section(title="t", blocks=(Paragraph("p"),)),))
    assert "<details" not in document_page(said)
    (opened,) = said.sections
    folded = replace(said, sections=(replace(opened, folded=True),))
    assert "<details" in document_page(folded)
    assert "p" in document_page(folded)


def test_a_document_is_json() -> None:
    found = json.loads(Example(HOSTILE).to_json())
    assert found["format"] == "bnpriv report 2"
    assert found["document"] == "test"
    assert found["data"] == {"text": HOSTILE}


def test_pages_are_written(tmp_path) -> None:
    file = tmp_path / "page.html"
    assert Example("x").to_html(file) == file.read_text(encoding="utf-8") == Example("x").to_html(str(file))


def test_a_bar_ends_no_cell_of_a_markdown_table() -> None:
    shown = Example("")
    table = Table(caption="", header=("a", "b"), rows=[[(Code("x | y"),), "z | w"]])
    shown.said = Document(kind="test", headline="x", answer=(table,))
    *_, row = shown.to_markdown().strip().splitlines()
    assert row == r"| `x \| y` | z \| w |"
