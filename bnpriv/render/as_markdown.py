"""Documents as Markdown without the drawings; no name in it is markup."""

from __future__ import annotations

from functools import singledispatch

from bnpriv.render import markdown as md
from bnpriv.render.document import (
    Badge,
    Big,
    Block,
    Cell,
    Code,
    Document,
    Fact,
    Facts,
    Figure,
    HeatMap,
    Inline,
    Items,
    Live,
    Name,
    Names,
    Paragraph,
    Quote,
    Section,
    Strong,
    Table,
    Text,
    parts_of,
)


def document_markdown(document: Document) -> str:
    """Return a document as Markdown."""
    facts = [block(Facts(document.facts))] if document.facts else []
    parts = [f"# {inline(document.headline)}", inline(document.lead), *map(block, document.answer), *facts]
    parts += map(block, document.sections)
    return "\n\n".join(filter(None, parts)) + "\n"


def inline(text: Text) -> str:
    r"""Return a text in which no name is markup.

    Examples
    --------
    >>> print(inline(("the column ", Name("a_b"))))
    the column a\_b
    """
    return "".join(map(_part, parts_of(text)))


def _part(part: Inline) -> str:
    match part:
        case Name(text, most):
            return md.name(text, most)
        case Names(texts, most, nothing):
            shown = [md.name(name) for name in sorted(texts)[:most]]
            more = [f"and {len(texts) - most} more"] if len(texts) > most else []
            return ", ".join([*shown, *more]) or nothing
        case Code(text):
            return md.code(text)
        case Strong(text) | Badge(text):
            return f"**{md.escape(text)}**"
        case _:
            return md.prose(part)


def _fact(row: Fact) -> str:
    return f"- **{md.prose(row.question)}**: {'; '.join(map(inline, row.lines))}"


@singledispatch
def block(made: Block, depth: int = 2) -> str:
    """Return a block; `depth` is that of its heading if it has one."""
    raise TypeError(type(made), depth)


@block.register
def _(made: Paragraph, depth: int = 2) -> str:
    return inline(made.text)


@block.register
def _(made: Big, depth: int = 2) -> str:
    return f"**{md.escape(made.words or made.text)}**"


@block.register
def _(made: Quote, depth: int = 2) -> str:
    return f"> {inline(made.text)}"


@block.register
def _(made: Items, depth: int = 2) -> str:
    return "\n".join(f"- {inline(item)}" for item in made.items)


@block.register
def _(made: Facts, depth: int = 2) -> str:
    return "\n".join(map(_fact, made.facts))


@block.register
def _(made: Table, depth: int = 2) -> str:
    rows = [[_cell(cell) for cell in row] for row in made.rows]
    return _captioned(made.caption, md.table([*map(_in_table, made.header)], rows, numbers=made.numbers), made.more)


def _cell(cell: Text | Cell) -> str:
    if not isinstance(cell, Cell):
        return _in_table(cell)
    return f"{_in_table(cell.text)} ({_in_table(cell.note)})" if cell.note else _in_table(cell.text)


def _in_table(text: Text) -> str:
    """Return a text for a cell, which ends at a bar even inside code."""
    parts = (_part(part).replace("|", "\\|") if isinstance(part, Code) else _part(part) for part in parts_of(text))
    return "".join(parts)


@block.register
def _(made: HeatMap, depth: int = 2) -> str:
    rows = [
        [md.name(name), *(md.prose(cell.text) + (" \\*" if cell.marked else "") for cell in cells)]
        for name, cells in made.rows
    ]
    header = [md.prose(made.corner), *map(md.name, made.columns)]
    return _captioned(made.caption, md.table(header, rows, numbers=range(1, len(header))), made.more)


def _captioned(caption: str, table: str, more: str) -> str:
    above = f"{md.prose(caption)}:\n\n" if caption else ""
    below = f"\n\n{md.prose(more)}" if more else ""
    return f"{above}{table}{below}"


@block.register
def _(made: Figure, depth: int = 2) -> str:
    return inline(made.words)


@block.register
def _(made: Live, depth: int = 2) -> str:
    return inline(made.words)


@block.register
def _(made: Section, depth: int = 2) -> str:
    inner = [block(part, depth + 1) for part in made.blocks]
    body = "\n\n".join(filter(None, inner))
    return f"{'#' * depth} {inline(made.title)}\n\n{body}" if body else ""
