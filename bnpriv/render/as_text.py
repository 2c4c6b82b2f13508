"""Documents as plain text and as JSON."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

from bnpriv.render import document as doc
from bnpriv.render.document import Block, Document, Fact, Inline, Kept, Text, parts_of
from bnpriv.text import Json, clipped, in_order, name_text, shorten, table_text, visible, width, wrapped

# --------------------------------------------------------------------------------------------------
# Documents as plain text, in which no name can steer a terminal or begin a line of its own.
# --------------------------------------------------------------------------------------------------


def document_text(document: Document) -> str:
    """Return a document as plain text."""
    # What stands beside the answer is a drawing, and its words are those of a section.
    said = _joined([f"{inline(document.headline)}.", inline(document.lead)])
    facts = _joined(map(_fact, document.facts))
    return _joined([said, _blocks(document.answer), facts, *map(block, document.sections)], "\n\n")


PRINTED_WIDTH = 100
"""Letters of a line that is printed."""

LEAST_CELL = 12
"""Letters to which the cells of a table are shortened where its lines are longer than a screen."""

LINES_PRINTED = 8
"""Lines of what is printed of a result."""

SCREEN = 40
"""Lines of what `explain` prints."""


def short_text(document: Document) -> str:
    """A document in at most 8 lines: the headline and what is printed below it.

    Where there is no room the headline is cut, then the last lines are left out, and what comes first is cut: never
    what is promised (`Kept`), nor what to do next, the last.
    """
    said = document.short or (document.lead, *map(_fact, document.facts))
    told = [each for each in (_headline(document), *said) if each]
    lines = [wrapped(inline(each), PRINTED_WIDTH) for each in told]

    def over() -> bool:
        return sum(map(len, lines)) > LINES_PRINTED

    if over():
        lines[0] = [_in_a_line(inline(told[0]))]
    for place in range(len(told) - 2, 1, -1):
        if over() and not isinstance(told[place], Kept):
            lines[place] = []
    if over() and len(told) > 2 and not isinstance(told[1], Kept):
        lines[1] = [clipped(inline(told[1]), PRINTED_WIDTH)]
    *first, last = lines
    kept = [row for each in first for row in each]
    return "\n".join([*kept[: LINES_PRINTED - len(last)], *last][:LINES_PRINTED])


def screen_text(document: Document) -> str:
    """A document on one screen: what is seen first, the facts, and the sections that say so; whole parts only.

    Room goes first to sections that stand for facts, such as the guarantee, whose facts are left out only with them.
    """
    opened = [shorten(said, 4 * PRINTED_WIDTH) for said in (_headline(document), inline(document.lead))]
    first = _rows(_joined(opened))
    room = SCREEN - len(first)

    def fitting(lines: list[str]) -> list[str]:
        """All lines of a part, or none."""
        nonlocal room
        if len(lines) >= room or not lines:
            return []
        room -= len(lines) + 1
        return lines

    explained = [each for each in document.sections if each.explained]
    told = [_rows(block(replace(each, blocks=each.in_short or each.blocks), PRINTED_WIDTH)) for each in explained]
    shown = {place: fitting(told[place]) for place, each in enumerate(explained) if each.answers}
    again = {question for place, lines in shown.items() if lines for question in explained[place].answers}
    answer, facts = fitting(_rows(_blocks(document.answer, PRINTED_WIDTH))), list[str]()
    for row in document.facts:
        said = wrapped(_fact(row), PRINTED_WIDTH)
        if row.question not in again and len(facts) + len(said) < room:
            facts += said
    facts = fitting(facts)
    shown |= {place: fitting(lines) for place, lines in enumerate(told) if place not in shown}
    parts = [first, answer, facts, *(lines for _, lines in sorted(shown.items()))]
    return "\n\n".join("\n".join(lines) for lines in parts if lines)


def _in_a_line(text: str) -> str:
    """A text, or its ends, in one line that is printed; letters may take two columns each."""
    short = shorten(text, PRINTED_WIDTH)
    return short if width(short) <= PRINTED_WIDTH else shorten(text, PRINTED_WIDTH // 2)


def _rows(text: str) -> list[str]:
    """The lines of a text as they are, with the room between their columns, or more of them where one is too long."""
    lines = text.split("\n") if text else []
    return [row for line in lines for row in ([line] if width(line) <= PRINTED_WIDTH else wrapped(line, PRINTED_WIDTH))]


def _headline(document: Document) -> str:
    said = inline(document.headline)
    return said if said.endswith(".") else f"{said}."


def number_only(document: Document) -> str:
    """The finding as a bare number, or the headline of a document that has none."""
    return document.number or _headline(document)


def inline(text: Text) -> str:
    r"""Return a text in one line.

    Examples
    --------
    >>> from bnpriv.render.document import Name
    >>> inline(("the column ", Name("a\nb")))
    'the column a\\nb'
    """
    return "".join(map(_part, parts_of(text)))


def _part(part: Inline) -> str:
    match part:
        case doc.Name(text, most):
            return name_text(text, most)
        case doc.Names(texts, most, nothing):
            shown = [name_text(name) for name in in_order(texts)[:most]]
            more = [f"and {len(texts) - most} more"] if len(texts) > most else []
            return ", ".join([*shown, *more]) or nothing
        case doc.Code(text) | doc.Strong(text) | doc.Badge(text):
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


def _blocks(blocks: Sequence[Block], most: float = math.inf) -> str:
    """Return blocks below each other, with room around tables."""
    spaced = any(isinstance(part, doc.Table | doc.HeatMap | doc.Section) for part in blocks)
    return _joined((block(each, most) for each in blocks), "\n\n" if spaced else "\n")


def block(made: Block, most: float = math.inf) -> str:
    """A block as lines, tables of at most so many columns of a terminal; empty if there is nothing to say."""
    match made:
        case doc.Paragraph() | doc.Quote():
            return inline(made.text)
        case doc.Big():
            return visible(made.words or made.text)
        case doc.Items():
            return _joined(f"- {inline(item)}" for item in made.items)
        case doc.Facts():
            return _joined(map(_fact, made.facts))
        case doc.Table():
            return _table(made, most)
        case doc.HeatMap():
            rows = [[name, *(cell.text + " *" * cell.marked for cell in cells)] for name, cells in made.rows]
            return _joined([visible(made.caption), table_text([made.corner, *made.columns], rows), visible(made.more)])
        case doc.Figure() | doc.Live():
            return inline(made.words)
        case doc.Section():
            body = _blocks(made.blocks, most)
            return f"{inline(made.title)}\n{body}" if body else ""


def _table(made: doc.Table, most: float) -> str:
    rows = [[inline(cell.text if isinstance(cell, doc.Cell) else cell) for cell in row] for row in made.rows]
    cells = (cell for row in made.rows for cell in row if isinstance(cell, doc.Cell) and cell.note)
    notes = [f"{inline(cell.text)}: {inline(cell.note)}" for cell in cells]
    header = [*map(inline, made.header)]
    widest, text = 60, table_text(header, rows)
    while max(map(width, text.split("\n"))) > most and widest > LEAST_CELL:
        widest -= 2
        text = table_text(header, rows, widest)
    return _joined([visible(made.caption), text, *notes, visible(made.more)])


# --------------------------------------------------------------------------------------------------
# Documents for machines; docs/report-schema.md names every field.
# --------------------------------------------------------------------------------------------------

REPORT_FORMAT = "bnpriv report 2"


def document_dict(document: Document) -> Json:
    """Return a document as values that JSON knows; its finding in words, and all that was found as data."""
    return {
        "format": REPORT_FORMAT,
        "document": document.kind,
        "headline": inline(document.headline),
        "verdict": document.verdict or None,
        "lead": inline(document.lead),
        "facts": [{"question": row.question, "answer": [*map(inline, row.lines)]} for row in document.facts],
        "data": document.data,
    }
