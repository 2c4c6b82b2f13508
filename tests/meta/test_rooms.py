"""Imports go one way: a module may use its own room and those before it, inside functions and for types too."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import networkx as nx
import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "bnpriv"

ROOMS: tuple[str, ...] = (
    "errors",
    "checks",
    "text",
    "progress",
    "paths",
    "bound",
    "toml",
    "lazy",
    "digest",
    "kind",
    "services",
    "render",
    "shown",
    "core",
    "kinds",
    "mechanisms",
    "loss",
    "views",
    "tables",
    "ledger",
    "io",
    "lab",
    "verify",
    "app",
    # faces: they name what the rooms define
    "laws",
    "noise",
    "networks",
    "accounting",
    "attacks",
    "release",
    "types",
    "cli",
    "__main__",
)
"""From the bottom: what imports nothing of ours comes first; ``bnpriv/__init__.py`` stands on top of all."""

RANK = {name: rank for rank, name in enumerate(ROOMS)}
TOP = len(ROOMS)

HEAVY = frozenset({"pgmpy", "pandas", "opendp", "duckdb", "scipy.stats", "matplotlib", "networkx", "pymc", "sklearn"})
"""Third parties that take long to import: only inside the functions that use them, or for types."""

DYNAMIC = frozenset({"import_module", "__import__"})


def modules(package: Path = PACKAGE) -> dict[str, Path]:
    """Return every module with its dotted name, a package by its ``__init__.py``."""
    found: dict[str, Path] = {}
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imported(tree: ast.Module, module: str, *, is_package: bool) -> Iterator[tuple[int, str]]:
    """Yield every dotted name that a module imports anywhere, with its line; `import_module("x")` counts too."""
    for node in ast.walk(tree):
        yield from _names(node, module, is_package=is_package)


def imported_at_once(tree: ast.Module, module: str, *, is_package: bool) -> Iterator[tuple[int, str]]:
    """Yield what is imported when the module is: not what stands in functions or under TYPE_CHECKING."""
    todo: list[ast.AST] = list(tree.body)
    while todo:
        node = todo.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            todo += [*node.decorator_list, *node.args.defaults, *(d for d in node.args.kw_defaults if d is not None)]
            continue
        if isinstance(node, ast.Lambda):
            continue
        if isinstance(node, ast.If) and _is_type_checking(node.test):
            todo += node.orelse
            continue
        yield from _names(node, module, is_package=is_package)
        todo += ast.iter_child_nodes(node)


def _is_type_checking(test: ast.expr) -> bool:
    name = test.attr if isinstance(test, ast.Attribute) else test.id if isinstance(test, ast.Name) else ""
    return name == "TYPE_CHECKING"


def _names(node: ast.AST, module: str, *, is_package: bool) -> Iterator[tuple[int, str]]:
    if isinstance(node, ast.Import):
        yield from ((node.lineno, alias.name) for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        base = _base(node, module, is_package=is_package)
        yield from ((node.lineno, f"{base}.{alias.name}" if base else alias.name) for alias in node.names)
    elif isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
        called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if called in DYNAMIC and isinstance(node.args[0].value, str):
            yield node.lineno, node.args[0].value


def _base(node: ast.ImportFrom, module: str, *, is_package: bool) -> str:
    """Return the dotted name that ``from . import x`` starts from."""
    if node.level == 0:
        return node.module or ""
    here = module.split(".")
    here = here[: len(here) - node.level + is_package]
    return ".".join([*here, node.module] if node.module else here)


def rank(module: str) -> int:
    """Return the rank of a module of ours; ``bnpriv`` itself stands on top.

    Raises
    ------
    KeyError
        If it has no place in `ROOMS`.
    """
    parts = module.split(".")
    return TOP if len(parts) == 1 else RANK[parts[1]]


def target(name: str, tops: frozenset[str]) -> str | None:
    """Return the module of ours behind an imported name, or None for a third party.

    ``bnpriv.errors.SizeError`` is of ``bnpriv.errors``; ``bnpriv.release`` is the package; ``bnpriv.count`` is a name
    that only ``bnpriv/__init__.py`` has.
    """
    parts = name.split(".")
    if parts[0] != "bnpriv":
        return None
    return f"bnpriv.{parts[1]}" if len(parts) > 1 and parts[1] in tops else "bnpriv"


def violations(package: Path = PACKAGE) -> list[str]:
    """Return every import that goes the wrong way, and every module without a room."""
    every = modules(package)
    tops = frozenset(name.split(".")[1] for name in every if "." in name)
    bad = [f"{name} has no room" for name in sorted(tops - RANK.keys())]
    for module, path in every.items():
        if "." in module and module.split(".")[1] not in RANK:
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for line, name in imported(tree, module, is_package=path.name == "__init__.py"):
            used = target(name, tops)
            if used is None or (used != "bnpriv" and used.split(".")[1] not in RANK):
                continue
            if rank(used) > rank(module):
                bad.append(f"{module}:{line} imports {used} from a later room")
    return bad


def edges_between_files(package: Path = PACKAGE) -> nx.DiGraph[str]:
    """Return which module imports which, inside functions and for types too.

    To import ``a.b.c`` runs ``a/b/__init__.py`` as well, unless the importer lies in ``a.b`` itself.
    """
    every = modules(package)
    graph: nx.DiGraph[str] = nx.DiGraph()
    graph.add_nodes_from(every)
    for module, path in every.items():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for _, name in imported(tree, module, is_package=path.name == "__init__.py"):
            used = name if name in every else name.rpartition(".")[0]
            if used not in every or used == module:
                continue
            graph.add_edge(module, used)
            parts = used.split(".")
            above = [".".join(parts[:k]) for k in range(2, len(parts))]
            graph.add_edges_from(
                (module, each) for each in above if not module.startswith(f"{each}.") and each != module
            )
    return graph


def circles(package: Path = PACKAGE) -> dict[str, list[list[str]]]:
    """Return the sets of files that import each other in a circle, by the room they are in."""
    found: dict[str, list[list[str]]] = {}
    for component in nx.strongly_connected_components(edges_between_files(package)):
        if len(component) > 1:
            names = sorted(component)
            found.setdefault(names[0].split(".")[1] if "." in names[0] else "", []).append(names)
    return found


def heavy_imports(package: Path = PACKAGE) -> list[str]:
    """Return every heavy third party that is imported as soon as one of our modules is."""
    bad: list[str] = []
    for module, path in modules(package).items():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for line, name in imported_at_once(tree, module, is_package=path.name == "__init__.py"):
            if any(name == heavy or name.startswith(f"{heavy}.") for heavy in HEAVY):
                bad.append(f"{module}:{line} imports {name} at module level")
    return bad


def test_every_room_is_there_once() -> None:
    assert len(ROOMS) == len(RANK)
    assert {name.split(".")[1] for name in modules() if "." in name} == set(ROOMS)


def test_imports_go_one_way() -> None:
    assert violations() == []


def test_no_files_import_each_other_in_a_circle() -> None:
    assert circles() == {}


def test_heavy_libraries_are_imported_where_they_are_used() -> None:
    assert heavy_imports() == []


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """Make a small package called bnpriv that keeps the rules."""
    root = tmp_path / "bnpriv"
    (root / "core").mkdir(parents=True)
    files = {
        "__init__.py": "from bnpriv.mechanisms.plan import plan\n",
        "errors.py": "",
        "checks.py": "from bnpriv.errors import X\n",
        "mechanisms.py": "from bnpriv import checks\nfrom bnpriv.core.base import Query\n",
        "core/__init__.py": "from . import base\n",
        "core/base.py": "from ..errors import X\nimport numpy as np\n",
    }
    for name, text in files.items():
        (root / name).write_text(text, encoding="utf-8")
    assert violations(root) == []
    assert heavy_imports(root) == []
    return root


@pytest.mark.parametrize(
    "text",
    [
        "import bnpriv.mechanisms.plan",
        "import bnpriv.mechanisms.plan as p",
        "from bnpriv.mechanisms.plan import plan",
        "from bnpriv import mechanisms",
        "from bnpriv import plan",
        "import bnpriv as bp",
        "from .. import mechanisms",
        "from ..mechanisms import plan",
        "def f():\n    from bnpriv.mechanisms.plan import plan",
        "class C:\n    def f(self):\n        import bnpriv",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from bnpriv.mechanisms.plan import Plan",
        "try:\n    import bnpriv.mechanisms.plan\nexcept ImportError:\n    pass",
        'import importlib\nimportlib.import_module("bnpriv.mechanisms.plan")',
        'p = __import__("bnpriv.mechanisms.plan")',
    ],
)
def test_an_import_from_a_later_room_is_found(package: Path, text: str) -> None:
    (package / "core" / "base.py").write_text(text + "\n", encoding="utf-8")
    assert any("later room" in problem for problem in violations(package)), text


@pytest.mark.parametrize(
    "text",
    [
        "from bnpriv.core.parser import parse",
        "import bnpriv.core.parser",
        "from bnpriv.core import parser",
        "from . import parser",
        "def f():\n    from .parser import parse",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from bnpriv.core.parser import parse",
    ],
)
def test_a_circle_of_files_is_found(package: Path, text: str) -> None:
    (package / "core" / "parser.py").write_text("from bnpriv.core.base import Query\n", encoding="utf-8")
    assert circles(package) == {}
    (package / "core" / "base.py").write_text(text + "\n", encoding="utf-8")
    found = circles(package)["core"]
    assert [name for name in found[0] if not name.endswith("core")] == [
        "bnpriv.core.base",
        "bnpriv.core.parser",
    ]


def test_a_circle_through_the_start_of_a_package_is_found(package: Path) -> None:
    # importing bnpriv.core.cells.one runs cells/__init__.py, which asks for base
    cells = package / "core" / "cells"
    cells.mkdir()
    (cells / "__init__.py").write_text("from bnpriv.core.cells.two import x\n", encoding="utf-8")
    (cells / "one.py").write_text("", encoding="utf-8")
    (cells / "two.py").write_text("from bnpriv.core.base import x\n", encoding="utf-8")
    assert circles(package) == {}
    (package / "core" / "base.py").write_text("from bnpriv.core.cells.one import y\n", encoding="utf-8")
    assert circles(package)["core"] == [["bnpriv.core.base", "bnpriv.core.cells", "bnpriv.core.cells.two"]]


def test_a_new_module_must_be_placed(package: Path) -> None:
    (package / "novelty.py").write_text("", encoding="utf-8")
    assert violations(package) == ["novelty has no room"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("import pandas", True),
        ("import pandas.api.types as t", True),
        ("from scipy import stats", True),
        ("from scipy.stats import norm", True),
        ("from scipy import special", False),
        ("import pandas_of_another_kind", False),
        ("class C:\n    import duckdb", True),
        ("try:\n    import pymc\nexcept ImportError:\n    pymc = None", True),
        ('import importlib\np = importlib.import_module("pgmpy.models")', True),
        ("def f():\n    import pandas", False),
        ("async def f():\n    import pandas", False),
        ('def f(x=__import__("sklearn")):\n    pass', True),
        ("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import pandas", False),
        ("import typing\nif typing.TYPE_CHECKING:\n    pass\nelse:\n    import pandas", True),
    ],
)
def test_a_heavy_import_is_found(package: Path, text: str, found: bool) -> None:
    (package / "mechanisms.py").write_text(text + "\n", encoding="utf-8")
    assert bool(heavy_imports(package)) is found


def test_tests_mirror_the_rooms() -> None:
    unit = PACKAGE.parent / "tests" / "unit"
    stray = {path.name for path in unit.iterdir() if path.is_dir() and any(path.glob("*.py"))} - set(ROOMS)
    single = {path.stem.removeprefix("test_") for path in unit.glob("test_*.py")} - set(ROOMS)
    assert (stray, single) == (set(), set())
