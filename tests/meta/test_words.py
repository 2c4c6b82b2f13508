"""One word for one thing, and words of readers: what nobody is to read again in texts, help, the README and pages."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

BANNED = {
    r"\b19 (of|releases of) 20\b": "95 % of releases",
    r"[Hh]ead of the ledger": "hash of the ledger's last row",
    r"by at most a factor [\d{]": "by at most ... times",
    r"\b(tells?|told) (at most|up to) [\d.{][^ ]* nats\b": "moves the odds by at most ... times (... nats)",
    r"(?i)\b(the|a|an|any|one|two|no|both|own|normal|exact|declared|joint) laws?\b(?! of large)": "distribution",
    r"(?i)\blaws? of (the|an|a|one|several|columns?|records?|answers?)\b": "distribution of ...",
    r"\bsecret pairs?\b": "pair of secrets",
    r"\bTheta\b": "models",
    r"\bthe parameter of column\b": "what column ... is like as a whole, its parameter",
    r"\bof twenty\b": "95 %",
}
"""What is not said, as patterns, and what is said in its place."""

PRIVATE = ("'own law'", "'joint laws'", "'sizes of joint laws'")
"""Names in files and of stored tables, which nobody reads."""

PAGES = sorted(
    {ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "models").glob("*/README.md")}
    - {ROOT / "docs" / name for name in ("notation.md", "architecture.md", "claims.md")}
)


def faults(text: str) -> list[str]:
    """Return what is said in a text that is not to be, with what to say."""
    found = [(each[0], better) for pattern, better in BANNED.items() for each in re.finditer(pattern, text)]
    return [f"{words!r}: say {better!r}" for words, better in found]


def said(tree: ast.Module, *, notes: bool) -> Iterator[tuple[int, str]]:
    """Yield the texts of a module with a space in them, joined where they are put together; notes where asked for."""
    skipped = set[ast.AST]()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and not notes:
            skipped.add(node.value)  # docstrings, and what stands below a constant
        if isinstance(node, ast.JoinedStr):
            skipped.update(node.values)
            yield (
                node.lineno,
                "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values),
            )
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in skipped:
            yield from ((node.lineno, node.value),) if " " in node.value and repr(node.value) not in PRIVATE else ()


def test_no_text_of_the_package_says_what_readers_do_not() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}: {fault}"
        for path in sorted((ROOT / "bnpriv").rglob("*.py"))
        for line, text in said(ast.parse(path.read_text(encoding="utf-8")), notes=path.name == "cli.py")
        for fault in faults(text)
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_page_does(path: Path) -> None:
    prose = re.sub(r"```.*?```|`[^`\n]*`|\]\([^)]*\)", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert not faults(prose)


@pytest.mark.parametrize(
    "text",
    [
        "19 releases of 20 err", "In 19 of 20 tables", "Head of the ledger: ab", "move by at most a factor 2.72",
        "sat tells at most 1.2 nats", "the law of the answer", "needs laws of one record", "a secret pair",
        "split Theta", "the parameter of column income",
    ],
)  # fmt: skip
def test_what_is_not_said_is_found(text: str) -> None:
    assert faults(text)


@pytest.mark.parametrize("text", ["laws={'x': 1}", "bp.laws.Normal", "[laws.height]", "in-law", "19 of 21"])
def test_names_of_arguments_are_not(text: str) -> None:
    assert not faults(text)
