"""Documents as Markdown without the drawings; no name in it is markup."""

from __future__ import annotations

from bnpriv.render import document as doc
from bnpriv.render import markdown as md
from bnpriv.render.document import Block, Cell, Code, Document, Fact, Inline, Text, parts_of


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
            return md.name(text, most)
        case doc.Names(texts, most, nothing):
            shown = [md.name(name) for name in sorted(texts)[:most]]
            more = [f"and {len(texts) - most} more"] if len(texts) > most else []
            return ", ".join([*shown, *more]) or nothing
        case Code(text):
            return md.code(text)
        case doc.Strong(text) | doc.Badge(text):
            return f"**{md.escape(text)}**"
        case _:
            return md.prose(part)


def _fact(row: Fact) -> str:
    return f"- **{md.prose(row.question)}**: {'; '.join(map(inline, row.lines))}"


def block(made: Block, depth: int = 2) -> str:
    """A block as Markdown; `depth` is that of its heading if it has one."""
    match made:
        case doc.Paragraph():
            return inline(made.text)
        case doc.Big():
            return f"**{md.escape(made.words or made.text)}**"
        case doc.Quote():
            return f"> {inline(made.text)}"
        case doc.Items():
            return "\n".join(f"- {inline(item)}" for item in made.items)
        case doc.Facts():
            return "\n".join(map(_fact, made.facts))
        case doc.Table():
            rows = [[_cell(cell) for cell in row] for row in made.rows]
            table = md.table([*map(_in_table, made.header)], rows, numbers=made.numbers)
            return _captioned(made.caption, table, made.more)
        case doc.HeatMap():
            rows = [
                [md.name(name), *(md.prose(cell.text) + " \\*" * cell.marked for cell in cells)]
                for name, cells in made.rows
            ]
            header = [md.prose(made.corner), *map(md.name, made.columns)]
            return _captioned(made.caption, md.table(header, rows, numbers=range(1, len(header))), made.more)
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
    above = f"{md.prose(caption)}:\n\n" if caption else ""
    below = f"\n\n{md.prose(more)}" if more else ""
    return f"{above}{table}{below}"
