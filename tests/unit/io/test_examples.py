"""The examples are found by name, in a source tree and in an installed package."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from bnpriv.errors import FileError
from bnpriv.io import examples as module
from bnpriv.io.examples import example, example_data, example_path, examples


def test_student_is_there() -> None:
    assert "student" in examples()
    assert example_path("student").name == "framework.toml"
    assert example_data("student").stat().st_size < 300_000


def test_student_loads() -> None:
    assert example("student").schema.records == 10_000


@pytest.mark.parametrize("name", ["students", "", ".", "..", "../models/student", "student/"])
def test_unknown_examples(name: str) -> None:
    with pytest.raises(FileError, match=r"an example must be one of .*student"):
        example(name)
    with pytest.raises(FileError, match="student"):
        example_data(name)


def test_an_installed_package_holds_its_examples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed = tmp_path / "bnpriv"
    shutil.copytree(example_path("student").parent, installed / "models" / "student")
    monkeypatch.setattr(module, "__file__", str(installed / "adapters" / "examples.py"))
    assert examples() == ("student",)
    assert example_data("student").is_relative_to(installed)


def test_an_example_without_a_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "models" / "bare").mkdir(parents=True)
    (tmp_path / "models" / "bare" / "framework.toml").touch()
    monkeypatch.setattr(module, "__file__", str(tmp_path / "adapters" / "examples.py"))
    with pytest.raises(FileError, match="must have one table; found 0"):
        example_data("bare")


def test_the_census_has_a_public_table_beside_the_private_one() -> None:
    private, public = example_data("census"), example_data("census", public=True)
    assert private != public
    assert private.parent == public.parent
    assert max(private.stat().st_size, public.stat().st_size) < 300_000
    with pytest.raises(FileError, match="must have one public table; found 0"):
        example_data("student", public=True)
