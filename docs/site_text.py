"""How a page of the repository reads on the site: names of files become titles, and letters of formulas are set.

The files are written to be read as they stand, in ASCII. Code, formulas between dollar signs and headings, whose texts
are anchors, stay as they are.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from pathlib import Path

FILE = re.compile(r"\[[\w./-]+\.(?:md|ipynb)\](?=\()")
"""The text of a link that is the name of a file."""

KEPT = re.compile(r"(`+[^`]*`+|\$[^$]*\$|\[[^\]]*\]\([^)]*\))")
"""What stays as it is within a line: code, formulas, links."""

NAME = re.compile(r"\b([a-z_-]+\.md)\b")

GREEK = {
    word: unicodedata.lookup(f"GREEK {'CAPITAL' if word[0].isupper() else 'SMALL'} LETTER {name}")
    for word, name in (
        *((word, word.upper()) for word in ("alpha", "beta", "gamma", "delta", "mu", "phi", "psi", "rho", "sigma")),
        *((word, word.upper()) for word in ("tau", "theta", "xi", "Delta", "Phi", "Psi", "Sigma", "Theta")),
        ("eps", "EPSILON"),
        ("lambda", "LAMDA"),
    )
}
SIGNS = {"<=": "\u2264", ">=": "\u2265", "!=": "\u2260"}

WORD = re.compile(rf"(?<![^\W_])(?<!-)({'|'.join(GREEK)})(?![a-zA-Z0-9])")
LONG_INDEX = re.compile(r"(?<!\w)([^\W\d_]'?)_([^\W_]+)(?!\w)")
INDEX = re.compile(r"(?<=[\w)|'])_(\{[^{}]*\}|\([^()]*\)|[^\W_](?!\w))")
POWER = re.compile(r"(?<=[\w)|'`])\^(\{[^{}]*\}|\([^()]*\)|-?[^\W_]+)")


def titled(text: str) -> str:
    """Return a text whose links that read as the name of a file read as the title of its page."""
    return FILE.sub("[]", text)


def bare(index: str) -> str:
    """Return an index or a power without the brackets around it."""
    return index[1:-1] if index[0] in "{(" else index


def lettered(text: str) -> str:
    """Return prose in which Greek letters, indices, powers and comparisons are set."""
    text = WORD.sub(lambda found: GREEK[found[1]], text)
    text = re.sub(r"[<>!]=", lambda found: SIGNS[found[0]], text)
    text = LONG_INDEX.sub(r"\1{sub}`\2`", text)
    text = INDEX.sub(lambda found: f"{{sub}}`{bare(found[1])}`", text)
    return POWER.sub(lambda found: f"{{sup}}`{bare(found[1])}`", text)


def linked(text: str, folder: Path) -> str:
    """Return prose in which the names of pages of a folder are links that read as their titles."""
    return NAME.sub(lambda found: f"[]({found[1]})" if (folder / found[1]).exists() else found[0], text)


def in_prose(page: str, *changes: Callable[[str], str]) -> str:
    """Return a page whose prose was changed; code, formulas, headings and targets of links were not."""
    fence, lines = "", []
    for line in page.split("\n"):
        mark = re.match(r"\s*(```|\$\$)", line)
        if mark and fence in ("", mark[1]):
            fence = "" if fence else mark[1]
        elif not (fence or line.startswith(("#", "    "))):
            for change in changes:
                line = "".join(part if index % 2 else change(part) for index, part in enumerate(KEPT.split(line)))
        lines.append(line)
    return "\n".join(lines)
