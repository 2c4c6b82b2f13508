"""Words are explained once, where they first occur in prose, and below by what occurs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bnpriv.render.as_html import WORDS, document_card, document_page, marked, with_words, words_in
from bnpriv.render.as_text import document_text
from bnpriv.render.document import Code, Document, Name, Paragraph, Section, Table
from bnpriv.render.html import Html

DFN = re.compile(r'<dfn tabindex="0" title="([^"]*)">([^<]*)</dfn>')


def page(*blocks: object, headline: str = "A finding") -> str:
    """Return the page of a document with these blocks."""
    return str(document_page(Document(kind="test", headline=headline, answer=tuple(blocks))))  # type: ignore[arg-type]


def test_the_first_mention_alone_is_marked() -> None:
    found = DFN.findall(page(Paragraph("Quilts tell 2 nats."), Paragraph("A quilt, a nat.")))
    assert [word for _, word in found] == ["Quilts", "nats"]
    assert found[1][0].startswith("A unit for factors on the odds")


@pytest.mark.parametrize("text", [(Name("quilt"),), (Code("quilt"),), "a quilt-like thing", "patchquilt"])
def test_names_code_and_parts_of_words_are_not(text: object) -> None:
    assert not DFN.search(page(Paragraph(text)))  # type: ignore[arg-type]


def test_headings_and_captions_are_not() -> None:
    """What a screen reader does not read must not be focused, and a heading is read as one."""
    table = Table(caption="A quilt", header=("quilt", "nats"), rows=[("quilt", "1")])
    folded = Section(title="The quilt", blocks=(table,), folded=True)
    made = Document(kind="test", headline="A quilt", sections=(folded,))
    assert not [word for _, word in DFN.findall(str(document_page(made))) if word == "quilt"]


def test_after_what_is_kept_words_are_marked_again() -> None:
    inner = '<svg><text>odds</text></svg><code>nat<bdi>nat</bdi></code><p aria-hidden="true">delta</p> odds nat delta'
    assert [word for _, word in DFN.findall(marked(Html(inner)))] == ["odds", "nat", "delta"]


def test_a_text_that_looks_like_markup_stays_text() -> None:
    shown = page(Paragraph('<b title="quilt">quilt</b> <script>nat</script>'))
    assert '&lt;b title=&quot;<dfn tabindex="0"' in shown
    assert "<script>" not in shown


def test_the_last_section_holds_what_occurs() -> None:
    made = Document(kind="test", headline="A finding", lead="It tells 2 nats through the quilt.")
    (section,) = with_words(made).sections
    assert section.id == "words"
    assert [row.question for row in section.blocks[0].facts] == ["odds", "nat", "quilt"]  # type: ignore[union-attr]
    assert with_words(with_words(made)) == with_words(made)
    assert "<summary><h2>Words</h2></summary>" in str(document_page(made))
    assert "Words" not in str(document_card(made))
    assert "Words" not in document_text(made)
    assert with_words(Document(kind="test", headline="A finding")).sections == ()


def test_every_word_is_found_in_the_singular_and_the_plural() -> None:
    for word, said in WORDS.items():
        assert words_in(f"One {word}.") == words_in(f"Two {word}s.") == [word]
        assert said.endswith(".")
        assert len(said) < 320


def test_the_page_of_words_says_the_same() -> None:
    page = (Path(__file__).resolve().parents[3] / "docs" / "words.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| (.+?) \| (.+) \|$", page, re.MULTILINE)[1:] == list(WORDS.items())


def test_a_column_or_a_value_that_is_called_like_a_word_is_not_explained() -> None:
    page = Html('<p>the records with quilt = mu; <bdi class="name">delta</bdi>: a missing delta; odds</p>')
    assert re.findall("<dfn[^>]*>([^<]*)</dfn>", marked(page)) == ["odds"]
