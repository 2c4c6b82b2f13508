"""Documents as a page of their own, which follows the reader's system, and as a card, which follows the notebook."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from bnpriv.render import document as doc
from bnpriv.render import html
from bnpriv.render.as_text import inline as plain
from bnpriv.render.document import Block, Cell, Document, Fact, Inline, Live, Paragraph, Section, Text, parts_of
from bnpriv.render.figures import heat_legend, heat_map
from bnpriv.render.glossary import marked, with_words
from bnpriv.render.html import Html, element, join
from bnpriv.text import shorten, visible

LONGEST_TITLE = 120


def document_page(document: Document) -> Html:
    """Return a page that loads nothing and runs no script but that of its live parts."""
    scripts = dict.fromkeys(part.script for part in _live((*document.answer, *document.sections)))
    title = visible(document.title) or plain(document.headline)
    body = marked(join(*_body(with_words(document))))
    return html.page(shorten(title, LONGEST_TITLE), body, script="\n".join(scripts))


def document_card(document: Document) -> Html:
    """Return what a notebook shows, without scripts: what is printed and the drawings, with the rest folded."""
    still = _still(document)
    if not document.short:
        return html.fragment(marked(join(*_body(still))))
    figures = [part for part in (*document.answer, *document.beside) if isinstance(part, doc.Figure)]
    others = [block(part) for part in still.answer if part not in figures]
    shown = " ".join(map(plain, document.short))
    rows = [replace(row, lines=tuple(line for line in row.lines if plain(line) not in shown)) for row in document.facts]
    facts = [block(doc.Facts(tuple(row for row in rows if row.lines)))] if any(row.lines for row in rows) else []
    sections = [block(part) for part in (*(part for part in document.beside if part not in figures), *still.sections)]
    said = [element("p", inline(line), class_="small") for line in document.short]
    if document.lead or document.verdict:
        said[0] = _lead(document, document.short[0])
    opened = element("div", *_headed(document), *said, *map(block, figures), class_=f"answer {document.tone}")
    folded = element("details", element("summary", "All of it"), *others, *facts, *sections)
    return html.fragment(marked(join(opened, folded)))


def inline(text: Text) -> Html:
    """Return a text as markup.

    Examples
    --------
    >>> from bnpriv.render.document import Name
    >>> print(inline(("a < ", Name("b"))))
    a &lt; <bdi class="name">b</bdi>
    """
    return join(*map(_part, parts_of(text)))


def _part(part: Inline) -> Html:
    match part:
        case doc.Name(text, most):
            return html.name(text, most)
        case doc.Names(texts, most, nothing):
            return html.names(texts, most, nothing)
        case doc.Code(text):
            return html.code(text)
        case doc.Strong(text):
            return element("b", text)
        case doc.Badge(text, tone):
            return html.badge(text, tone)
        case _:
            return html.escape(part)


def _headed(document: Document) -> list[Html]:
    """Return what this is, and the finding."""
    kicker = f"bnpriv {document.kind}" if document.kicker is None else document.kicker
    parts = [element("p", inline(kicker), class_="kicker")] if kicker else []
    return [*parts, element("h1", inline(document.headline))]


def _lead(document: Document, text: Text) -> Html:
    """Return what stands behind the finding, after the verdict in a coloured word."""
    verdict = (html.badge(document.verdict, document.tone), " ") if document.verdict else ()
    return element("p", *verdict, inline(text), class_="lead")


def _body(document: Document) -> Iterable[Html]:
    parts = _headed(document)
    if document.lead or document.verdict:
        parts.append(_lead(document, document.lead))
    parts += [block(part) for part in document.answer]
    facts = block(doc.Facts(document.facts)) if document.facts else Html()
    beside = element("div", *map(block, document.beside), class_="aside") if document.beside else facts
    parts += [facts] if document.beside else []
    answer = element("div", *parts, class_=f"answer {document.tone}")
    if beside:
        answer = element("div", element("div", answer, beside, class_="pair"), class_="first")
    # what is closed stands behind what is open, so that two columns of them leave no holes
    sections = map(block, sorted(document.sections, key=lambda part: part.folded))
    return (answer, element("div", *sections, class_="sections"))


def _live(blocks: Iterable[Block]) -> Iterable[Live]:
    for part in blocks:
        if isinstance(part, Live):
            yield part
        elif isinstance(part, Section):
            yield from _live(part.blocks)


def _still(document: Document) -> Document:
    """Return a document in which words take the place of what moves."""

    def still(blocks: Iterable[Block]) -> Iterable[Block]:
        for part in blocks:
            if isinstance(part, Section):
                inner = tuple(still(part.blocks))
                if inner:
                    yield replace(part, blocks=inner)
            elif not isinstance(part, Live):
                yield part
            elif part.words:
                yield Paragraph(part.words, soft=True)

    sections = tuple(part for part in still(document.sections) if isinstance(part, Section))
    return replace(document, answer=tuple(still(document.answer)), sections=sections)


def block(made: Block, depth: int = 2) -> Html:
    """A block as markup; `depth` is that of its heading if it has one."""
    match made:
        case Paragraph():
            return element("p", inline(made.text), class_="small soft" if made.soft else None)
        case doc.Big():
            return element("p", made.text, class_="big")
        case doc.Quote():
            return element("blockquote", element("p", inline(made.text)))
        case doc.Items():
            return element("ul", *(element("li", inline(item)) for item in made.items))
        case doc.Facts():
            return html.facts((row.question, _answer(row)) for row in made.facts)
        case doc.Table():
            rows = [[_cell(cell) for cell in row] for row in made.rows]
            caption = "; ".join(filter(None, (visible(made.caption), visible(made.drawn))))
            return join(html.table([*map(inline, made.header)], rows, caption, numbers=made.numbers), _more(made.more))
        case doc.HeatMap():
            legend = heat_legend(made.legend) if made.legend else Html()
            return join(heat_map(made.corner, made.columns, made.rows, visible(made.caption)), _more(made.more), legend)
        case doc.Figure():
            caption = element("figcaption", inline(made.caption), class_="small soft") if made.caption else Html()
            return element("figure", made.drawing, caption)
        case Live():
            return made.body
        case Section():
            inner = [block(part, depth + 1) for part in made.blocks]
            heading = element(f"h{min(depth, 4)}", inline(made.title))
            if not made.folded:
                return element("section", heading, *inner, id=made.id)
            folded = element("details", element("summary", heading), *inner, class_="folded")
            return element("section", folded, id=made.id)


def _answer(row: Fact) -> Html:
    if len(row.lines) == 1:
        return inline(row.lines[0])
    return join(*(element("div", inline(line)) for line in row.lines))


def _cell(cell: Text | Cell) -> Html:
    if not isinstance(cell, Cell):
        return inline(cell)
    note = element("div", inline(cell.note), class_="small soft witness") if cell.note else Html()
    return join(inline(cell.text), note, cell.drawing)


def _more(text: str) -> Html:
    return element("p", text, class_="small soft") if text else Html()
