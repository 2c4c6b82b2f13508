"""Documents as plain text, in which no name can steer a terminal or begin a line of its own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import singledispatch

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
from bnpriv.render.text import name_text, table_text, visible


def document_text(document: Document) -> str:
    """Return a document as plain text."""
    # What stands beside the answer is a drawing, and its words are those of a section.
    said = _joined([f"{inline(document.headline)}.", inline(document.lead)])
    facts = _joined(map(_fact, document.facts))
    return _joined([said, _blocks(document.answer), facts, *map(block, document.sections)], "\n\n")


def inline(text: Text) -> str:
    r"""Return a text in one line.

    Examples
    --------
    >>> inline(("the column ", Name("a\nb")))
    'the column a\\nb'
    """
    return "".join(map(_part, parts_of(text)))


def _part(part: Inline) -> str:
    match part:
        case Name(text, most):
            return name_text(text, most)
        case Names(texts, most, nothing):
            shown = [name_text(name) for name in sorted(texts)[:most]]
            more = [f"and {len(texts) - most} more"] if len(texts) > most else []
            return ", ".join([*shown, *more]) or nothing
        case Code(text) | Strong(text) | Badge(text):
            return visible(text)
        case _:
            return visible(part)


def _fact(row: Fact) -> str:
    mark = "" if row.question.endswith("?") else ":"
    lines = [*map(inline, row.lines)]
    shown = [line if line.endswith(".") else f"{line};" for line in lines[:-1]]
    return f"{visible(row.question)}{mark} {' '.join([*shown, *lines[-1:]])}"


def _joined(texts: Iterable[str], between: str = "\n") -> str:
    return between.join(filter(None, texts))


def _blocks(blocks: Sequence[Block]) -> str:
    """Return blocks below each other, with room around tables."""
    spaced = any(isinstance(part, (Table, HeatMap, Section)) for part in blocks)
    return _joined(map(block, blocks), "\n\n" if spaced else "\n")


@singledispatch
def block(made: Block) -> str:
    """Return a block as lines; empty if there is nothing to say."""
    raise TypeError(type(made))


@block.register
def _(made: Paragraph) -> str:
    return inline(made.text)


@block.register
def _(made: Big) -> str:
    return visible(made.words or made.text)


@block.register
def _(made: Quote) -> str:
    return inline(made.text)


@block.register
def _(made: Items) -> str:
    return _joined(f"- {inline(item)}" for item in made.items)


@block.register
def _(made: Facts) -> str:
    return _joined(map(_fact, made.facts))


@block.register
def _(made: Table) -> str:
    rows = [[inline(cell.text if isinstance(cell, Cell) else cell) for cell in row] for row in made.rows]
    cells = (cell for row in made.rows for cell in row if isinstance(cell, Cell) and cell.note)
    notes = [f"{inline(cell.text)}: {inline(cell.note)}" for cell in cells]
    table = table_text([*map(inline, made.header)], rows)
    return _joined([visible(made.caption), table, *notes, visible(made.more)])


@block.register
def _(made: HeatMap) -> str:
    rows = [[name, *(f"{cell.text} *" if cell.marked else cell.text for cell in cells)] for name, cells in made.rows]
    return _joined([visible(made.caption), table_text([made.corner, *made.columns], rows), visible(made.more)])


@block.register
def _(made: Figure) -> str:
    return inline(made.words)


@block.register
def _(made: Live) -> str:
    return inline(made.words)


@block.register
def _(made: Section) -> str:
    body = _blocks(made.blocks)
    return f"{inline(made.title)}\n{body}" if body else ""
