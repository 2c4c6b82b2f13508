"""Documents as Markdown without the drawings; no name in it is markup: not Markdown, not HTML, not TeX."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from bnpriv.render import document as doc
from bnpriv.render.document import Block, Cell, Code, Document, Fact, Inline, Text, parts_of
from bnpriv.text import in_order, isolated, shorten, visible


def document_markdown(document: Document) -> str:
    """Return a document as Markdown."""
    facts = [block(doc.Facts(document.facts))] if document.facts else []
    parts = [f"# {inline(document.headline)}", inline(document.lead), *map(block, document.answer), *facts]
    parts += map(block, document.sections)
    return "\n\n".join(filter(None, parts)) + "\n"


def inline(text: Text) -> str:
    r"""Return a text in which no name is markup.

    Examples
    --------
    >>> from bnpriv.render.document import Name
    >>> print(inline(("the column ", Name("a_b"))))
    the column a\_b
    """
    return "".join(map(_part, parts_of(text)))


def _part(part: Inline) -> str:
    match part:
        case doc.Name(text, most):
            return name_of(text, most)
        case doc.Names(texts, most, nothing):
            shown = [name_of(name) for name in in_order(texts)[:most]]
            more = [f"and {len(texts) - most} more"] if len(texts) > most else []
            return ", ".join([*shown, *more]) or nothing
        case Code(text):
            return code_of(text)
        case doc.Strong(text) | doc.Badge(text):
            return f"**{escape(text)}**"
        case _:
            return prose(part)


def _fact(row: Fact) -> str:
    return f"- **{prose(row.question)}**: {'; '.join(map(inline, row.lines))}"


def block(made: Block, depth: int = 2) -> str:
    """A block as Markdown; `depth` is that of its heading if it has one."""
    match made:
        case doc.Paragraph():
            return inline(made.text)
        case doc.Big():
            return f"**{escape(made.words or made.text)}**"
        case doc.Quote():
            return f"> {inline(made.text)}"
        case doc.Items():
            return "\n".join(f"- {inline(item)}" for item in made.items)
        case doc.Facts():
            return "\n".join(map(_fact, made.facts))
        case doc.Table():
            rows = [[_cell(cell) for cell in row] for row in made.rows]
            table = table_of([*map(_in_table, made.header)], rows, numbers=made.numbers)
            return _captioned(made.caption, table, made.more)
        case doc.HeatMap():
            rows = [
                [name_of(name), *(prose(cell.text) + " \\*" * cell.marked for cell in cells)]
                for name, cells in made.rows
            ]
            header = [prose(made.corner), *map(name_of, made.columns)]
            return _captioned(made.caption, table_of(header, rows, numbers=range(1, len(header))), made.more)
        case doc.Figure() | doc.Live():
            return inline(made.words)
        case doc.Section():
            body = "\n\n".join(filter(None, (block(part, depth + 1) for part in made.blocks)))
            return f"{'#' * depth} {inline(made.title)}\n\n{body}" if body else ""


def _cell(cell: Text | Cell) -> str:
    if not isinstance(cell, Cell):
        return _in_table(cell)
    return f"{_in_table(cell.text)} ({_in_table(cell.note)})" if cell.note else _in_table(cell.text)


def _in_table(text: Text) -> str:
    """A text for a cell, which ends at a bar even inside code."""
    parts = (_part(part).replace("|", "\\|") if isinstance(part, Code) else _part(part) for part in parts_of(text))
    return "".join(parts)


def _captioned(caption: str, table: str, more: str) -> str:
    above = f"{prose(caption)}:\n\n" if caption else ""
    below = f"\n\n{prose(more)}" if more else ""
    return f"{above}{table}{below}"


# --------------------------------------------------------------------------------------------------
# Texts in which nothing is markup.
# --------------------------------------------------------------------------------------------------

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


def name_of(text: str, most: int = 40) -> str:
    """Return a name, shortened, in its own direction."""
    return isolated(escape(shorten(visible(text), most)))


def code_of(text: str) -> str:
    """Return text as code, in which nothing is markup.

    Examples
    --------
    >>> code_of("a `b` > 1")
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


def table_of(header: Sequence[str], rows: Iterable[Sequence[str]], numbers: Sequence[int] = ()) -> str:
    """Return a table; header and cells are Markdown, so names in them must have been escaped.

    Examples
    --------
    >>> print(table_of(["column", "nats"], [["sat", "1.79"]], numbers=[1]))
    | column | nats |
    |---|---:|
    | sat | 1.79 |
    """
    rule = "|" + "|".join("---:" if k in numbers else "---" for k in range(len(header))) + "|"
    return "\n".join([_row(header), rule, *map(_row, rows)])


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell or " " for cell in cells) + " |"
