"""The two shorter forms of a document: their room, and what is left out where there is none."""

from __future__ import annotations

import pytest

from bnpriv.render.as_text import LINES_PRINTED, PRINTED_WIDTH, SCREEN, number_only, screen_text, short_text
from bnpriv.render.document import Code, Document, Paragraph, Section, Table, fact
from bnpriv.text import width

LONG = ("word " * 400, "a" * 3000, "\u6f22" * 3000, "\u6f22\u5b57 " * 300, "\U0001f600" * 500, "\u0301a\u202e\n" * 300)


@pytest.mark.parametrize("text", LONG)
def test_whatever_it_says_it_fits(text: str) -> None:
    table = Table(caption=text, header=("a", text), rows=[[text, (Code(text),)]] * 3)
    sections = (Section(title="promise", blocks=(Paragraph(text[:300]), table), explained=True, answers=("q",)),)
    said = {"kind": "x", "lead": text, "facts": (fact("q", text), fact("r", "short")), "sections": sections}
    for headline in (text, "short"):
        for short in ((), (text[:99], "strength", text, "Next")):
            made = Document(headline=headline, short=short, **said)
            for shown, most in ((short_text(made), LINES_PRINTED), (screen_text(made), SCREEN)):
                lines = shown.split("\n")
                assert len(lines) <= most
                assert max(map(width, lines)) <= PRINTED_WIDTH
            if short:
                assert short_text(made).endswith("\nNext")
                assert headline == "short" or "strength" in short_text(made)


def test_what_has_no_room_is_left_out_whole_but_never_what_is_last() -> None:
    lines = [f"line {k}" for k in range(12)]
    shown = short_text(Document(kind="x", headline="Found", short=(*lines, "Next: more"))).split("\n")
    assert shown == ["Found.", *lines[:6], "Next: more"]


def test_a_fact_gives_room_only_to_a_section_that_is_shown_in_its_place() -> None:
    def screen(rows: int) -> str:
        sections = [
            Section(title=name, blocks=(Table(caption="", header=("a",), rows=many),), explained=True, answers=(q,))
            for name, many, q in (("promise", [["b"]] * rows, "asked"), ("small", [["b"]], "other"))
        ]
        facts = fact("asked", "told"), fact("other", "found")
        return screen_text(Document(kind="x", headline="Found", facts=facts, sections=tuple(sections)))

    assert "asked" not in screen(20)
    assert "promise" in screen(20)
    assert "asked: told" in screen(60)
    assert "promise" not in screen(60)
    assert "other: found" not in screen(60)
    assert "small" in screen(60)
    assert len(screen(36).split("\n")) <= SCREEN


def test_a_number_is_a_number_and_else_the_finding() -> None:
    assert number_only(Document(kind="x", headline="Found", number="1.5")) == "1.5"
    assert number_only(Document(kind="x", headline="Found")) == "Found."
