"""Misspelt keys of a framework file: what is below them keeps its line, and nothing else is said to be missing."""

from __future__ import annotations

from pathlib import Path

import pytest

from bnpriv.errors import FileProblemsError
from bnpriv.io.framework_file import read_framework

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
