"""Markdown in which no name is markup: not Markdown, not HTML, not TeX."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from bnpriv.text import isolated, shorten, visible

MARKUP = frozenset("\\`*_{}[]()<>#+-.!|~$@:=^\"'&%/;")
"""Every one of these may be escaped by a backslash; TeX and HTML inside Markdown lose their meaning with it."""


def escape(text: str) -> str:
    r"""Return text that every dialect of Markdown shows as it is.

    Examples
    --------
    >>> print(escape(r"<b> \input{x} a_b"))
    &lt;b&gt; \\input\{x\} a\_b
    """
    return "".join(_escaped(letter) for letter in visible(text))


def _escaped(letter: str) -> str:
    if letter in "<>&":
        return {"<": "&lt;", ">": "&gt;", "&": "&amp;"}[letter]
    return f"\\{letter}" if letter in MARKUP else letter


def name(text: str, most: int = 40) -> str:
    """Return a name, shortened, in its own direction."""
    return isolated(escape(shorten(visible(text), most)))


def code(text: str) -> str:
    """Return text as code, in which nothing is markup.

    Examples
    --------
    >>> code("a `b` > 1")
    '``a `b` > 1``'
    """
    shown = visible(text)
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", shown)), default=0))
    space = " " if shown.startswith("`") or shown.endswith("`") else ""
    return f"{fence}{space}{shown}{space}{fence}"


def prose(text: str) -> str:
    r"""Return a sentence that may hold names; the marks of ordinary sentences stay readable.

    Examples
    --------
    >>> print(prose("a_b: 1.5 (well). www.example.org"))
    a\_b: 1.5 (well). www\.example\.org
    """
    shown = visible(text)
    return "".join(letter if _is_quiet(shown, k) else _escaped(letter) for k, letter in enumerate(shown))


def _is_quiet(text: str, k: int) -> bool:
    """Return whether a mark means nothing where it stands."""
    if text[k] == ".":
        # Elsewhere it may make a link or the number of a list.
        after = text[k + 1 : k + 2]
        return after.isdigit() or (after in ("", " ") and not text[:k].strip().isdigit())
    return k > 0 and text[k] in ",:;()-%'=+\""


def table(header: Sequence[str], rows: Iterable[Sequence[str]], numbers: Sequence[int] = ()) -> str:
    """Return a table; header and cells are Markdown, so names in them must have been escaped.

    Examples
    --------
    >>> print(table(["column", "nats"], [["sat", "1.79"]], numbers=[1]))
    | column | nats |
    |---|---:|
    | sat | 1.79 |
    """
    rule = "|" + "|".join("---:" if k in numbers else "---" for k in range(len(header))) + "|"
    return "\n".join([_row(header), rule, *map(_row, rows)])


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell or " " for cell in cells) + " |"
