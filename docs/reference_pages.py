"""The lists of the API reference, written anew from the groups of `bnpriv/__init__.py` before every build."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path
from types import ModuleType

import bnpriv
import bnpriv.errors
import bnpriv.laws
import bnpriv.mechanisms
import bnpriv.noise
import bnpriv.types

API = Path(__file__).resolve().parent / "api"

VERBS = {
    "declare": "What a table may hold, what depends on what, and what nobody may learn.",
    "ask": "Questions about a table. Each is a value that can be printed, and reads no data by itself.",
    "analyse": "What leaks, to whom and along which way, before anything is released.",
    "calibrate": "From a framework and a question to noise that a theorem allows. Nothing here sees data.",
    "release": "The one place that reads private data, and what checks it.",
    "check": "What the owner of a table may see of it, and nobody else: no guarantee covers this.",
    "account": "What several releases tell together.",
}
"""The groups of the names that users type, in the order of their use."""

MODULES = {
    "types": "What the verbs give back, for annotations. Types that are made by hand stand under Declare.",
    "mechanisms": "The mechanisms that are not in `bp` itself.",
    "laws": "Distributions of an answer.",
    "noise": "Noise, and channels.",
    "errors": "Every refusal says what was required, what was found and what to do, never a value of the data.",
}
"""Modules whose names are listed by themselves."""


def groups() -> dict[str, list[str]]:
    """Return the names of the face under each verb, which begins the comment above their imports."""
    source = inspect.getsource(bnpriv)
    lines = [line.strip() for line in source.splitlines()]
    comments = {number: line.split()[1] for number, line in enumerate(lines, 1) if line.startswith("# ")}
    found: dict[str, list[str]] = {verb: [] for verb in VERBS}
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.ImportFrom) or not (node.module or "").startswith("bnpriv"):
            continue
        verb = comments.get(max((number for number in comments if number < node.lineno), default=0))
        names = [alias.asname or alias.name for alias in node.names]
        if verb in found:
            found[verb] += [name for name in names if name in bnpriv.__all__]
    return found


def offered(module: ModuleType) -> list[str]:
    """Return the public names of a module."""
    own = [name for name, thing in vars(module).items() if getattr(thing, "__module__", "") == module.__name__]
    return sorted(getattr(module, "__all__", own))


def listed() -> dict[str, list[str]]:
    """Return the names of each module that stand neither under a verb nor with a module before it."""
    told = {name for names in groups().values() for name in names}
    found: dict[str, list[str]] = {}
    for module in MODULES:
        found[module] = [name for name in offered(getattr(bnpriv, module)) if name not in told]
        told |= set(found[module])
    return found


def page(title: str, lead: str, module: str, names: list[str]) -> str:
    """Return the page that lists some names."""
    lines = "\n".join(f"   {name}" for name in names)
    return (
        f"{title}\n{'=' * len(title)}\n\n{lead}\n\n.. currentmodule:: {module}\n\n"
        f".. autosummary::\n   :toctree: names\n   :nosignatures:\n\n{lines}\n"
    )


def overview() -> str:
    """Return every verb with what it is for and its names."""
    parts = []
    for verb, names in groups().items():
        links = ",\n".join(f"{{py:obj}}`~bnpriv.{name}`" for name in names)
        parts.append(f"## [{verb.capitalize()}](api/{verb}.rst)\n\n{VERBS[verb]}\n\n{links}\n")
    return "\n".join(parts)


def write() -> None:
    """Write the pages that differ from what is there."""
    pages = {f"{verb}.rst": page(verb.capitalize(), VERBS[verb], "bnpriv", names) for verb, names in groups().items()}
    for module, names in listed().items():
        pages[f"{module}.rst"] = page(f"bp.{module}", MODULES[module], f"bnpriv.{module}", names)
    pages["overview.txt"] = overview()
    API.mkdir(exist_ok=True)
    for name, text in pages.items():
        path = API / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
