"""The kernel: what importing a mechanism and the release brings in is little enough to be read."""

from __future__ import annotations

import ast
import io
import re
import subprocess
import sys
import tokenize
from collections.abc import Mapping
from functools import cache

import pytest

from bnpriv.services import SERVICES, service
from tests.meta.test_rooms import PACKAGE, imported_at_once, modules

KERNEL = (
    "bnpriv.core.mechanisms.quilt",
    "bnpriv.core.release",
    # the kind of finite tables, which a quilt count loads when it asks
    "bnpriv.kinds.finite",
    "bnpriv.kinds.notions",
    "bnpriv.core.influence.finite",
)
COLUMN = ("bnpriv.core.mechanisms.column",)

MOST_LINES: Mapping[tuple[str, ...], int] = {KERNEL: 13_000, COLUMN: 9_000}
"""Lines of code that may be brought in by modules that are imported together."""

CORE_LINES = 14_500
"""Lines of code of the whole kernel, which only shrink."""

APP_LINES = 2_000
"""Lines of code of the page in the browser, with its style and script: it knows no theory."""

BELOW = frozenset(
    {"bound", "checks", "digest", "errors", "kind", "lazy", "progress", "services", "shown", "text", "toml"}
)
"""Rooms that the kernel leans on; no words, pages, curves or file formats are among them."""

IGNORED = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)


paths = cache(modules)


@cache
def imports() -> Mapping[str, set[str]]:
    """Return which module imports which as soon as it is imported, whatever a package offers at its defining module.

    Packages load what they offer when it is asked for, and so bring in nothing themselves.
    """
    every = paths()
    trees = {module: ast.parse(path.read_text(encoding="utf-8")) for module, path in every.items()}
    faces = {
        module: {
            alias.asname or alias.name: f"{node.module}.{alias.name}"
            for node in ast.walk(trees[module])
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        }
        for module, path in every.items()
        if path.name == "__init__.py"
    }
    graph: dict[str, set[str]] = {module: set() for module in every}
    for module in every.keys() - faces.keys():
        names = (name for _, name in imported_at_once(trees[module], module, is_package=False))
        graph[module] |= {used for used in (_defining(name, every, faces) for name in names) if used is not None}
    return graph


def _defining(name: str, every: Mapping[str, object], faces: Mapping[str, Mapping[str, str]]) -> str | None:
    """Return the module that defines an imported name, or that is meant by it; None for a third party."""
    while name not in every:
        package, _, last = name.rpartition(".")
        if package not in faces or last not in faces[package]:
            return package if package in every else None
        name = faces[package][last]
    return name


def brought_in(roots: tuple[str, ...]) -> set[str]:
    """Return the modules that are imported together with some, and these."""
    found: set[str] = set()
    todo = list(roots)
    while todo:
        module = todo.pop()
        if module not in found:
            found.add(module)
            todo += imports()[module]
    return found


@cache
def code_lines(module: str) -> int:
    """Return how many lines of a module hold code: no docstrings, comments or empty lines."""
    source = paths()[module].read_text(encoding="utf-8")
    told = {
        line
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    code = {n for token in tokens if token.type not in IGNORED for n in range(token.start[0], token.end[0] + 1)}
    return len(code - told)


@pytest.mark.parametrize("roots", MOST_LINES, ids=" and ".join)
def test_the_kernel_can_be_read(roots: tuple[str, ...]) -> None:
    sizes = {module: code_lines(module) for module in brought_in(roots)}
    largest = sorted(sizes.items(), key=lambda item: -item[1])
    assert sum(sizes.values()) <= MOST_LINES[roots], largest


def test_the_kernel_is_no_larger_than_it_was() -> None:
    assert sum(code_lines(module) for module in modules() if module.startswith("bnpriv.core")) <= CORE_LINES


def test_the_page_in_the_browser_stays_small() -> None:
    folder = paths()["bnpriv.app"].parent
    beside = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in folder.glob("app.*"))
    assert beside > 0
    assert sum(code_lines(module) for module in modules() if module.startswith("bnpriv.app")) + beside <= APP_LINES


def test_the_kernel_brings_in_no_words_pages_or_curves() -> None:
    """At once it imports itself and what stands at the bottom; all else is a service, or a kind, loaded when asked."""
    inside = {module for module in modules() if module.startswith("bnpriv.core")}
    outside = {used for module in inside for used in imports()[module]} - inside
    assert {module.split(".")[1] for module in outside} <= BELOW


def test_the_guide_names_every_file_of_the_kernel() -> None:
    rows = (PACKAGE.parent / "docs" / "architecture.md").read_text(encoding="utf-8")
    guide = rows[rows.index("## The kernel, in reading order") : rows.index("## Rooms")]
    core = PACKAGE / "core"
    files = {path.relative_to(core).as_posix() for path in core.rglob("*.py") if path.name != "__init__.py"}
    assert {*re.findall(r"`([\w/]+\.py)`", guide)} - {"tests/meta/test_kernel.py"} == files


def test_every_service_is_there() -> None:
    assert all(callable(service(name)) for name in SERVICES)


def test_nothing_else_is_loaded() -> None:
    """What the interpreter loads is what is counted, and the packages around it, which hold no code."""
    told = f"import sys; import {', '.join(KERNEL)}; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True).stdout.split()
    ours = {name for name in loaded if name.partition(".")[0] == "bnpriv"}
    packages = {name for name, path in modules().items() if path.name == "__init__.py"}
    assert ours - packages - {"bnpriv.lazy"} == brought_in(KERNEL) - packages
    assert not {"pandas", "scipy.stats", "networkx", "duckdb", "matplotlib", "opendp"} & set(loaded)
