"""What the tests of network files share."""

from __future__ import annotations

from functools import cache

import pytest
from pgmpy.readwrite import BIFReader

variable_grammar = BIFReader.get_variable_grammar
probability_grammar = BIFReader.get_probability_grammar


@cache
def grammars() -> tuple[object, object]:
    reader = BIFReader.__new__(BIFReader)
    return variable_grammar(reader), probability_grammar(reader)


@pytest.fixture
def one_grammar(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let pgmpy's BIF reader build its grammars, which takes half a second, once and not for every file."""
    monkeypatch.setattr(BIFReader, "get_variable_grammar", lambda _: grammars()[0])
    monkeypatch.setattr(BIFReader, "get_probability_grammar", lambda _: grammars()[1])
