"""Every source file names the test file that kills its bugs: one of its own name, or the one that the table names."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

from bnpriv.services import SERVICES
from tests.meta.test_rooms import imported, modules
from tests.meta.tested_by import TESTED_BY

ROOT = Path(__file__).resolve().parents[2]
NAMED = re.compile(r"bnpriv(\.\w+)+(:\w+)?")
STEPS = 2


paths = cache(modules)


def sources() -> dict[str, Path]:
    """Return the modules that can have bugs, by their dotted names: no faces, which only name things."""
    return {
        name: path
        for name, path in paths().items()
        if path.stem not in {"__init__", "__main__"} and "lazily(__name__)" not in path.read_text(encoding="utf-8")
    }


@cache
def faces() -> Mapping[str, Mapping[str, str]]:
    """Return what each package offers, with where it comes from."""
    return {
        module: {
            alias.asname or alias.name: f"{node.module}.{alias.name}"
            for node in ast.walk(tree(path))
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        }
        for module, path in paths().items()
        if path.name == "__init__.py"
    }


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def module_of(name: str) -> str | None:
    """Return the module of ours that defines a dotted name, seen through the faces of packages."""
    package, _, inner = name.rpartition(".")
    while inner in faces().get(package, {}) and faces()[package][inner] != name:
        name = faces()[package][inner]
        package, _, inner = name.rpartition(".")
    while name not in paths() and "." in name:
        name = name.rpartition(".")[0]
    return name if name in paths() else None


def names_used(path: Path) -> Iterator[str]:
    """Yield the dotted names that a file imports, says in a text, or takes from ``bp``."""
    words = [
        name
        for _, name in imported(tree(path), ".".join(path.relative_to(ROOT).with_suffix("").parts), is_package=False)
    ]
    aliases = {"bp": "bnpriv", **{name.rpartition(".")[2]: name for name in words if name.startswith("bnpriv.")}}
    yield from words
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in aliases:
            yield f"{aliases[node.value.id]}.{node.attr}"
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            if NAMED.fullmatch(node.value):
                yield node.value.partition(":")[0]
            elif node.value in SERVICES:
                yield SERVICES[node.value].partition(":")[0]


@cache
def used(path: Path) -> frozenset[str]:
    """Return the modules of ours that a file uses itself, in a test also through what tests share."""
    names = set(names_used(path))
    found = {module for name in names if name.startswith("bnpriv") and (module := module_of(name))}
    for name in names:
        if name.startswith("tests.") and path.is_relative_to(ROOT / "tests"):
            helper = ROOT / Path(*name.split(".")).with_suffix(".py")
            helper = helper if helper.is_file() else helper.parent.with_suffix(".py")
            if helper.is_file() and helper != path and not helper.name.startswith("test_"):
                found |= used(helper)
    return frozenset(found)


def imports(module: str) -> frozenset[str]:
    """Return the modules of ours that a module uses; what a package offers is loaded only when it is asked for."""
    path = paths()[module]
    return frozenset() if path.name == "__init__.py" else used(path)


@cache
def near(test: Path) -> Mapping[str, int]:
    """Return the modules that a test reaches in few steps, with how many."""
    found = dict.fromkeys(used(test), 0)
    for step in range(1, STEPS + 1):
        reached = {each for module in found for each in imports(module)} - found.keys()
        found |= dict.fromkeys(reached, step)
    return found


@cache
def reached(test: Path, room: str) -> frozenset[str]:
    """Return the modules that a test reaches in few steps, or from such a one without leaving their room."""
    found = set(near(test))
    todo = [name for name in found if name.startswith(room)]
    while todo:
        new = {name for name in imports(todo.pop()) if name.startswith(room)} - found
        found |= new
        todo += new
    return frozenset(found)


def reaches(test: Path, source: str) -> bool:
    """Say whether a test uses a module."""
    return source in reached(test, ".".join(source.split(".")[:2]))


@cache
def every_test() -> tuple[Path, ...]:
    return tuple(sorted((ROOT / "tests").rglob("test_*.py")))


def of_its_name(source: str) -> list[Path]:
    """Return the test files that are named like a module and use it."""
    name = f"test_{source.rpartition('.')[2]}.py"
    return [path for path in every_test() if path.name == name and reaches(path, source)]


def named() -> dict[str, list[Path]]:
    """Return the test files of each source file in the table."""
    found: dict[str, list[Path]] = {}
    for test, paths in TESTED_BY.items():
        for path in paths:
            found.setdefault(path, []).append(ROOT / test)
    return found


@pytest.mark.parametrize("source", sources())
def test_a_source_file_has_a_test_file_that_uses_it(source: str) -> None:
    path = sources()[source].relative_to(ROOT).as_posix()
    files = named().get(path, []) or of_its_name(source)
    assert files, (
        f"{path}: write tests/unit/.../test_{sources()[source].stem}.py, or name its tests in tests/meta/tested_by.py"
    )
    for file in files:
        assert file.is_file(), f"{path}: there is no {file.relative_to(ROOT)}"
        assert reaches(file, source), f"{path}: {file.relative_to(ROOT)} does not use it"


def test_the_table_names_no_file_that_is_gone() -> None:
    assert [path for path in named() if not (ROOT / path).is_file()] == []
    assert [test for test in TESTED_BY if not (ROOT / test).is_file()] == []


def test_a_test_that_does_not_use_a_source_is_found() -> None:
    """The check can fail."""
    assert not reaches(ROOT / "tests/meta/test_names.py", "bnpriv.io.pymc.gaussian")
