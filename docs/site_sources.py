"""What the site takes from outside of this folder: tutorials, examples and project pages are copied in before a build.

Links between files of the repository become links between pages of the site; a file that is no page can be downloaded.
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path
from types import ModuleType
from typing import Any

import site_text

import bnpriv

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
COPIED = ("tutorials", "examples", "project")
"""Folders of docs/ that hold copies only; git does not see them."""

FOLDERS = {
    "docs/claims": "claims.md",
    "docs/decisions": "project.md",
    "models": "examples.md",
    "tutorials": "tutorials.md",
}
"""Where a link to a whole folder leads."""

IN_LETTERS = re.compile(r"claims/\w+\.md|notation\.md")
"""Pages whose prose is full of letters and of names of other such pages."""

LINK = re.compile(r"(?<=\]\()(?!\w+:|#)([^)\s#]+)(?=[)#])")


def copies() -> dict[str, str]:
    """Return where each file from outside goes: from its path in the repository to its path in docs/."""
    found = {f"tutorials/{path.name}": f"tutorials/{path.name}" for path in (ROOT / "tutorials").glob("*.ipynb")}
    for path in (ROOT / "models").glob("*/README.md"):
        found[f"models/{path.parent.name}/README.md"] = f"examples/{path.parent.name}.md"
    return found | {
        "CHANGELOG.md": "project/changelog.md",
        "CONTRIBUTING.md": "project/contributing.md",
        "benchmarks/README.md": "project/benchmarks.md",
        "docs/README.md": "index.md",
        "README.md": "index.md",
    }


def copy_in() -> None:
    """Copy what is missing or newer, and remove what is no longer there."""
    wanted = {target: source for source, target in copies().items() if target.startswith(COPIED)}
    for folder in COPIED:
        for path in (DOCS / folder).glob("*.*"):
            if f"{folder}/{path.name}" not in wanted:
                path.unlink()
    for target, source in wanted.items():
        (DOCS / target).parent.mkdir(exist_ok=True)
        if not (DOCS / target).exists() or (DOCS / target).read_bytes() != (ROOT / source).read_bytes():
            shutil.copyfile(ROOT / source, DOCS / target)


def led(link: str, source: str, page: str) -> str:
    """Return where a link of a file of the repository leads from the page that the file became.

    Parameters
    ----------
    link : str
        As it stands in the file, without an anchor.
    source, page : str
        The file, relative to the repository, and its page, relative to docs/.
    """
    meant = os.path.normpath(os.path.join(os.path.dirname(source), link))
    if meant in FOLDERS:
        target = DOCS / FOLDERS[meant]
    else:
        target = DOCS / copies()[meant] if meant in copies() else ROOT / meant
    return os.path.relpath(target, (DOCS / page).parent).replace(os.sep, "/")


def rewritten(text: str, source: str, page: str) -> str:
    """Return a text with all its links as they lead from its page."""
    return LINK.sub(lambda found: led(found[1], source, page), text)


TOCTREE = re.compile(r"^```\{toctree\}\n(.*?)^```$", re.MULTILINE | re.DOTALL)
OTHERS = "(pages in no other list)"


def listed() -> list[str]:
    """Return the entries of all lists of pages."""
    bodies = [body for path in DOCS.glob("*.md") for body in TOCTREE.findall(path.read_text(encoding="utf-8"))]
    lines = [line for body in bodies for line in body.splitlines()]
    return [line for line in lines if line and not line.startswith((":", OTHERS))]


def others() -> list[str]:
    """Return the pages beside this file that stand in no list: they come at the end of Start."""
    return sorted({path.stem for path in DOCS.glob("*.md")} - {*listed(), "index"})


def on_source_read(app: Any, docname: str, content: list[str]) -> None:
    """Rewrite the links of a page while it is read, and fill in the pages that stand in no list."""
    page = os.path.relpath(app.env.doc2path(docname), DOCS).replace(os.sep, "/")
    sources = {target: source for source, target in copies().items() if target.startswith(COPIED)}
    content[0] = content[0].replace(f"{OTHERS}\n", "".join(f"{name}\n" for name in others()))
    if IN_LETTERS.fullmatch(page):
        folder = DOCS / os.path.dirname(page)
        content[0] = site_text.in_prose(content[0], lambda prose: site_text.linked(prose, folder), site_text.lettered)
    content[0] = rewritten(site_text.titled(content[0]), sources.get(page, f"docs/{page}"), page)


PAGE = re.compile(r"`{0,2}\bdocs/((?:claims/)?[a-z_-]+)\.md\b`{0,2}")
LITERAL = re.compile(r"(?<![`:\w])`([^`<>]+)`(?![`_\w])")


def with_links(line: str) -> str:
    """Return a line of a docstring in which pages, and names that users type, are links; other names are literal."""

    def name(found: re.Match[str]) -> str:
        typed = found[1] in bnpriv.__all__ and not isinstance(getattr(bnpriv, found[1]), ModuleType)
        return f":py:obj:`~bnpriv.{found[1]}`" if typed else f"``{found[1]}``"

    return PAGE.sub(r":doc:`/\1`", LITERAL.sub(name, line)).replace(", *", ", \\*")


COLON = "\ue000"


def before_napoleon(app: Any, kind: str, name: str, thing: object, options: object, lines: list[str]) -> None:
    """Hide the colons of an attribute's first line, before which napoleon would see a type."""
    if kind in ("attribute", "property") and lines:
        lines[0] = lines[0].replace(":", COLON)


def after_napoleon(app: Any, kind: str, name: str, thing: object, options: object, lines: list[str]) -> None:
    """Make links of the pages and names in a docstring; its examples stay as they are."""
    lines[:] = [
        line if line.lstrip().startswith((">>>", "...")) else with_links(line.replace(COLON, ":")) for line in lines
    ]
