"""Misspelt keys of a framework file: what is below them keeps its line, and nothing else is said to be missing."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from bnpriv.errors import FileError, FileProblemsError
from bnpriv.io.examples import example_path
from bnpriv.io.framework_file import read_decisions, read_framework

SLIPS = """\
notion = "dataset"
sorce = 3
[recrods]
cout = "many"
[columns.a]
tipe = "real"
lower = 3
upper = 1
"""


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_what_is_below_a_slip_keeps_its_line(tmp_path: Path, end: str) -> None:
    path = tmp_path / "f.toml"
    path.write_text(SLIPS.replace("\n", end), encoding="utf-8", newline="")
    with pytest.raises(FileProblemsError) as refused:
        read_framework(path)
    said = str(refused.value)
    for words in (
        "line 2: the keys must be among",
        "line 2: source must be a text",
        "line 3: the keys must be among",
        "line 4, [records]: the keys must be among count",
        "line 6, [columns.a]: the keys must be among",
        "line 5, [columns.a]: lower must be below upper",
    ):
        assert words in said, said
    assert said.count("Did you mean 'type'") == 1
    assert "type must be" not in said


@pytest.mark.parametrize(
    ("written", "found"),
    [
        ('epsilom = "the board"', "'epsilom'"),
        ("epsilon = 3", "a whole number"),
        ('epsilon = ""', "an empty string"),
        (f'epsilon = "{"a" * 201}"', "201"),
    ],
)
def test_a_decision_that_is_none_is_refused_by_its_line(tmp_path: Path, written: str, found: str) -> None:
    example = example_path("student")
    text = example.read_text(encoding="utf-8")
    shutil.copy(example.with_name("student.bif"), tmp_path)
    file = tmp_path / "framework.toml"
    file.write_text(f"{text}\n[decisions]\n{written}\n", encoding="utf-8")
    line = len(text.splitlines()) + 3
    for read in (read_framework, read_decisions):
        with pytest.raises(FileError, match=rf"line {line}, \[decisions\]") as refused:
            read(file)
        assert found in refused.value.found
