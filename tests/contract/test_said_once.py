"""Whatever is shown is short at first, fills one screen at most when it is explained, and says nothing twice."""

from __future__ import annotations

import re
from collections import Counter
from html.parser import HTMLParser

import pytest

from bnpriv.render.as_html import document_card, document_page
from bnpriv.render.as_text import LINES_PRINTED, PRINTED_WIDTH, SCREEN, document_text, screen_text, short_text
from bnpriv.render.document import Document
from bnpriv.text import width
from tests.documents import SUBJECTS, shown, subject

LEAST = 30
"""Letters of a sentence that must not stand twice."""


class Words(HTMLParser):
    """The words of a page in blocks; what only screen readers say, and what points at something, is left out."""

    SILENT = ("title", "style", "script", "desc", "head")
    BLOCKS = ("p", "li", "dd", "dt", "td", "th", "div", "h1", "h2", "h3", "h4", "caption", "figcaption", "summary")

    def __init__(self) -> None:
        super().__init__()
        self.silent: list[str] = []
        self.found = [""]

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag in self.SILENT:
            self.silent.append(tag)
        if tag in self.BLOCKS:
            self.found.append("")

    def handle_endtag(self, tag: str) -> None:
        if self.silent and tag == self.silent[-1]:
            self.silent.pop()
        if tag in self.BLOCKS:
            self.found.append("")

    def handle_data(self, data: str) -> None:
        if not self.silent:
            self.found[-1] += data


def words_of(page: str) -> str:
    reader = Words()
    reader.feed(page)
    return "\n".join(reader.found)


def twice(text: str) -> list[str]:
    """The sentences that stand more than once in a text."""
    lines = (re.sub(r"^(- |[A-Z][^.:?]{0,40}[:?] )", "", " ".join(line.split())) for line in text.split("\n"))
    sentences = (each.strip() for line in lines for each in re.split(r"(?<=[.!?])\s+", line))
    counted = Counter(each for each in sentences if len(each) >= LEAST and each[-1] in ".!?")
    return [each for each, times in counted.items() if times > 1]


def test_what_counts_as_twice() -> None:
    said = "The noise hides all that could tell about it."
    assert twice(f"- {said}\nWhy: {said} Short.\nShort.") == [said]
    assert not twice(f"{said} The noise hides nothing that could tell about it.")
    assert words_of("<p>one</p><svg><title>a</title></svg><p>two</p>").split() == ["one", "two"]


@pytest.mark.parametrize("name", SUBJECTS)
def test_short_at_first_one_screen_and_nothing_twice(name: str) -> None:
    wrong: list[str] = []
    for what, each in shown(name):
        made: Document = each.document
        for text, most in ((short_text(made), LINES_PRINTED), (screen_text(made), SCREEN)):
            lines = text.split("\n")
            if len(lines) > most or max(map(width, lines)) > PRINTED_WIDTH:
                wrong.append(f"{what}: {len(lines)} lines, the longest of {max(map(width, lines))}")
        forms = {"text": document_text(made), "screen": screen_text(made), "page": words_of(str(document_page(made)))}
        forms["card"] = words_of(str(document_card(made)))
        wrong += [f"{what}, {form}: {said}" for form, text in forms.items() for said in twice(text)]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("name", SUBJECTS)
def test_strength_and_what_is_protected_always_stand_in_what_is_printed(name: str) -> None:
    for what, each in shown(name):
        if what in ("plan", "calibration", "release", "report"):
            lines = str(each).split("\n")
            opened = ("Protected from anybody who sees the answer: ", "Strength: odds ", "Under the model: ", "Next: ")
            assert [sum(line.startswith(word) for line in lines) for word in opened] == [1] * 4, (what, lines)
            assert ("(epsilon 1, delta 0.0" if subject(name).delta else "(epsilon 1") in str(each).replace("\n", " ")
