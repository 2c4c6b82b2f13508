"""What is built is not derived from: a class either has instances of its own or is what others share, never both.

So no class needs a mark that says it is final. Errors are apart: an error may stand for several narrower ones.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path

import bnpriv

PACKAGE = Path(bnpriv.__file__).parent


def last(node: ast.expr) -> str:
    """Return the last name of what a call or a base names, without its type arguments; empty where it names none."""
    if isinstance(node, ast.Subscript):
        return last(node.value)
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def bases(trees: Iterable[ast.Module]) -> Iterator[tuple[str, str]]:
    """Yield every class with each of its bases."""
    for tree in trees:
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                yield from ((node.name, last(base)) for base in node.bases)


def built_and_derived_from(trees: Iterable[ast.Module]) -> set[str]:
    """Return the classes that have instances of their own and others that derive from them."""
    trees = list(trees)
    own = {node.name for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
    derived_from = {base for name, base in bases(trees) if base in own and not name.endswith(("Error", "Warning"))}
    calls = (node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Call))
    return derived_from & {last(call.func) for call in calls}


def test_what_is_built_is_not_derived_from() -> None:
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in PACKAGE.rglob("*.py")]
    assert sum(isinstance(node, ast.ClassDef) for tree in trees for node in ast.walk(tree)) > 300
    assert built_and_derived_from(trees) == set()


def test_a_class_derived_from_one_that_is_built_is_found() -> None:
    """The check can fail."""
    text = "class A: ...\nclass B(A): ...\nclass C(Base[A]): ...\nfound = module.A(), B(), C()"
    assert built_and_derived_from([ast.parse(text)]) == {"A"}
