"""docs/questions.md: twenty questions that people ask, each answered in three lines."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
PAGE = (DOCS / "questions.md").read_text(encoding="utf-8")
QUESTIONS = [part.partition("\n") for part in PAGE.split("\n## ")[1:]]


def test_there_are_twenty() -> None:
    assert len({question for question, _, _ in QUESTIONS}) == 20


@pytest.mark.parametrize(("question", "answer"), [(question, answer.strip()) for question, _, answer in QUESTIONS])
def test_each_is_answered_in_three_lines(question: str, answer: str) -> None:
    assert question.endswith("?")
    assert 1 <= len(answer.splitlines()) <= 3
    assert max(map(len, answer.splitlines())) <= 120
    for link in re.findall(r"\]\((?!https?:)([^)#]+)", answer):
        assert (DOCS / link).exists()
