"""One name, one meaning: every constant and every class of the package is defined in exactly one module."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

import bnpriv

PACKAGE = Path(bnpriv.__file__).parent
MODULES = sorted(PACKAGE.rglob("*.py"))


def is_type_variable(node: ast.expr | None) -> bool:
    """Say whether a value is a type variable: it means "any type" wherever it stands."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in {"TypeVar", "ParamSpec"}


def defined(body: list[ast.stmt]) -> Iterator[str]:
    """Yield the constants, aliases and classes that a module defines, also behind a condition."""
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield node.name
        elif isinstance(node, (ast.Assign, ast.AnnAssign)) and not is_type_variable(node.value):
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                yield from (each.id for each in ast.walk(target) if isinstance(each, ast.Name))
        elif isinstance(node, (ast.If, ast.Try, ast.With)):
            yield from defined([*node.body, *getattr(node, "orelse", [])])


def is_named_once(name: str) -> bool:
    """Say whether a name starts like that of a class, an alias or a constant."""
    return name.lstrip("_")[:1].isupper()


def repeated(sources: dict[str, str]) -> dict[str, list[str]]:
    """Return the names that more than one module defines, with the modules."""
    places: defaultdict[str, set[str]] = defaultdict(set)
    for module, source in sources.items():
        for name in filter(is_named_once, defined(ast.parse(source).body)):
            places[name].add(module)
    return {name: sorted(found) for name, found in sorted(places.items()) if len(found) > 1}


def test_every_constant_and_class_is_defined_in_one_module() -> None:
    sources = {str(path.relative_to(PACKAGE)): path.read_text(encoding="utf-8") for path in MODULES}
    assert len(sources) > 100
    assert repeated(sources) == {}


@pytest.mark.parametrize(
    "line", ["MOST = 2", "MOST: int = 2", "class MOST: ...", "if True:\n    MOST = 2", "OTHER, MOST = 1, 2"]
)
def test_a_second_definition_is_found(line: str) -> None:
    assert repeated({"a.py": "MOST = 1", "b.py": line}) == {"MOST": ["a.py", "b.py"]}


@pytest.mark.parametrize("line", ["from a import MOST", "def f():\n    MOST = 2", "most = 2", "LESS = 2"])
def test_a_use_or_another_name_is_no_definition(line: str) -> None:
    assert repeated({"a.py": "MOST = 1", "b.py": line}) == {}
