"""No privacy number without its theorem: every mechanism has a claim, and every claim has a reader in the code."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
from collections.abc import Iterable
from pathlib import Path

import pytest

import bnpriv
from bnpriv.core.mechanisms.base import Mechanism

ROOT = Path(__file__).resolve().parents[2]
CLAIMS = ROOT / "docs" / "claims"
PACKAGE = ROOT / "bnpriv"

SECTIONS = ("Precondition", "Pseudocode", "Proof")
HEADING = re.compile(r"^#{1,6}\s+(.*?)\s*#*\s*$", re.MULTILINE)
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
MECHANISM_NAME = re.compile(r"\b[A-Z]\w*Mechanism\b")


def mechanisms() -> dict[str, type[Mechanism]]:
    """Return every mechanism class of the package by its name."""
    for found in pkgutil.walk_packages(bnpriv.__path__, "bnpriv."):
        if not found.name.endswith("__main__"):
            importlib.import_module(found.name)
    classes: dict[str, type[Mechanism]] = {}
    todo = Mechanism.__subclasses__()
    while todo:
        cls = todo.pop()
        todo += cls.__subclasses__()
        if cls.__module__.split(".")[0] == "bnpriv":
            classes[cls.__name__] = cls
    return classes


def strings(package: Path = PACKAGE) -> list[str]:
    """Return the docstrings and other string constants of the code; comments do not count."""
    found: list[str] = []
    for path in package.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        constants = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant))
        found += [value for value in constants if isinstance(value, str)]
    return found


def headings(text: str) -> list[str]:
    """Return the headings of a Markdown text, those in code blocks left out."""
    return HEADING.findall(FENCE.sub("", text))


def problems(claims: Path, declared: dict[str, object], known: Iterable[str], texts: Iterable[str]) -> list[str]:
    """Return what is wrong between the claims, the mechanisms and the code.

    Parameters
    ----------
    claims : Path
        The folder of claim files.
    declared : dict from str to object
        The `claim` of every mechanism class.
    known : iterable of str
        Names of the mechanism classes that exist, the base class included.
    texts : iterable of str
        The strings of the code in which a claim may be named.
    """
    bad: list[str] = []
    pages = {path.name: path.read_text(encoding="utf-8") for path in sorted(claims.glob("*.md"))}
    for name, claim in declared.items():
        if not isinstance(claim, str) or claim not in pages:
            bad.append(f"{name} has no claim: {claim!r}")
        elif name not in pages[claim]:
            bad.append(f"{claim} does not name {name}, whose claim it is")
    for page, text in pages.items():
        given = headings(text)
        bad += [f"{page} has no section {section!r}" for section in SECTIONS if section not in given]
        strange = sorted(set(MECHANISM_NAME.findall(text)) - set(known))
        bad += [f"{page} names {name}, which does not exist" for name in strange]
        if not any(re.search(rf"(?<![\w-]){re.escape(page)}", text) for text in texts):
            bad.append(f"{page} is referred to by no code")
    return bad


def test_there_are_mechanisms_and_claims() -> None:
    assert {"MarkovQuiltMechanism", "ColumnMechanism"} <= mechanisms().keys()
    names = {path.name for path in CLAIMS.glob("*.md")}
    assert {"markov_quilt.md", "column.md", "max_influence.md", "column_sensitivity.md"} <= names


def test_every_mechanism_has_its_claim_and_every_claim_its_code() -> None:
    found = mechanisms()
    declared = {name: getattr(cls, "claim", None) for name, cls in found.items()}
    assert problems(CLAIMS, declared, {*found, "Mechanism"}, strings()) == []


def test_a_mechanism_declares_its_own_claim() -> None:
    """An inherited claim was proved for another mechanism."""
    inherited = [name for name, cls in mechanisms().items() if "claim" not in vars(cls)]
    assert inherited == []


GOOD = "# A claim\n\nOf `OneMechanism`.\n\n## Precondition\n\n## Pseudocode\n\n## Proof\n"


@pytest.mark.parametrize(
    ("page", "declared", "text", "problem"),
    [
        (GOOD, "one.md", "docs/claims/one.md", None),
        (GOOD, "two.md", "docs/claims/one.md", "OneMechanism has no claim: 'two.md'"),
        (GOOD, None, "docs/claims/one.md", "OneMechanism has no claim: None"),
        (GOOD.replace("## Proof", "Proof"), "one.md", "one.md", "one.md has no section 'Proof'"),
        (GOOD.replace("## Proof", "```\n## Proof\n```"), "one.md", "one.md", "one.md has no section 'Proof'"),
        (GOOD.replace("Pseudocode", "Code"), "one.md", "one.md", "one.md has no section 'Pseudocode'"),
        (GOOD.replace("Precondition", "Needs"), "one.md", "one.md", "one.md has no section 'Precondition'"),
        (GOOD.replace("One", "The "), "one.md", "one.md", "one.md does not name OneMechanism, whose claim it is"),
        (GOOD + "See `OldMechanism`.", "one.md", "one.md", "one.md names OldMechanism, which does not exist"),
        (GOOD, "one.md", "someone.md, or none.md", "one.md is referred to by no code"),
    ],
)
def test_what_is_wrong_is_found(
    tmp_path: Path, page: str, declared: str | None, text: str, problem: str | None
) -> None:
    (tmp_path / "one.md").write_text(page, encoding="utf-8")
    found = problems(tmp_path, {"OneMechanism": declared}, {"OneMechanism", "Mechanism"}, [text])
    assert found == ([] if problem is None else [problem])
