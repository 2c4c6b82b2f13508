"""Pages import what is on the face, or from the sub-modules that the API reference declares public; nothing else."""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import bnpriv

ROOT = Path(__file__).resolve().parents[2]
FENCE = re.compile(r"^```[^\n]*python[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
ROW = re.compile(r"^\| `(bnpriv\.[\w.]+)` \| ([^|]+) \|", re.MULTILINE)


def declared() -> dict[str, list[str]]:
    """Return the public names of every sub-module, as the page says them."""
    page = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
    return {module: re.findall(r"`(\w+)`", names) for module, names in ROW.findall(page)}


def pages() -> list[Path]:
    patterns = ("README.md", "docs/*.md", "docs/claims/*.md", "models/*/README.md", "tutorials/*.ipynb")
    return sorted(path for pattern in patterns for path in ROOT.glob(pattern))


def code(path: Path) -> Iterator[str]:
    """Yield the Python of a page or a notebook."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        yield from FENCE.findall(text)
        return
    for cell in json.loads(text)["cells"]:
        if cell["cell_type"] == "code":
            yield "".join(line for line in cell["source"] if not line.lstrip().startswith(("%", "!")))


def private(source: str) -> list[str]:
    """Return what some code imports of ours, or reaches through `bp`, that is not public."""
    public, found = declared(), list[str]()
    try:
        tree = ast.parse(source)
    except SyntaxError:  # an excerpt
        tree = ast.parse("\n".join(line for line in source.splitlines() if re.match(r"(from|import) bnpriv", line)))
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [each.name for each in node.names if each.name.startswith("bnpriv.") and each.name not in public]
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "bnpriv":
            module = node.module or ""
            on_face = inspect.ismodule(getattr(bnpriv, module.removeprefix("bnpriv."), None))
            shown = bnpriv.__all__ if module == "bnpriv" else public.get(module, [])
            found += [f"{module}.{each.name}" for each in node.names if not on_face and each.name not in shown]
    return found


@pytest.mark.parametrize("path", pages(), ids=lambda path: str(path.relative_to(ROOT)))
def test_a_page_imports_nothing_private(path: Path) -> None:
    assert [name for source in code(path) for name in private(source)] == []


def test_what_is_private_is_found() -> None:
    """The scan can fail."""
    assert private("from bnpriv.core.release import Release") == ["bnpriv.core.release.Release"]
    assert private("from bnpriv.release import evaluate") == ["bnpriv.release.evaluate"]
    assert private("import bnpriv.lab.leaks") == ["bnpriv.lab.leaks"]
    assert private("from bnpriv.mechanisms.plan import Plan\nsecret = ...(") == ["bnpriv.mechanisms.plan.Plan"]
    assert private("from bnpriv.release import release_many\nfrom bnpriv.laws import Atoms\nimport bnpriv as bp") == []


def test_the_sub_modules_that_are_declared_public_have_their_names() -> None:
    found = declared()
    assert len(found) >= 5
    for module, names in found.items():
        inside = importlib.import_module(module)
        assert names
        for name in names:
            assert inspect.getdoc(getattr(inside, name)), f"{module}.{name}"
            assert name in getattr(inside, "__all__", names)
