"""Documents as a page of their own, which follows the reader's system, and as a card, which follows the notebook."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

from bnpriv.render import document as doc, html
from bnpriv.render.as_text import document_text, inline as plain
from bnpriv.render.figures import heat_legend, heat_map
from bnpriv.render.html import TAG, Html, element, join
from bnpriv.text import shorten, visible

LONGEST_TITLE = 120


def document_page(document: doc.Document) -> Html:
    """Return a page that loads nothing and runs no script but that of its live parts."""
    scripts = dict.fromkeys(part.script for part in _live((*document.answer, *document.sections)))
    title = visible(document.title) or plain(document.headline)
    body = marked(join(*_body(with_words(document))))
    return html.page(shorten(title, LONGEST_TITLE), body, script="\n".join(scripts))


def document_card(document: doc.Document) -> Html:
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


def inline(text: doc.Text) -> Html:
    """Return a text as markup.

    Examples
    --------
    >>> from bnpriv.render.document import Name
    >>> print(inline(("a < ", Name("b"))))
    a &lt; <bdi class="name">b</bdi>
    """
    return join(*map(_part, doc.parts_of(text)))


def _part(part: doc.Inline) -> Html:
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


def _headed(document: doc.Document) -> list[Html]:
    """Return what this is, and the finding."""
    kicker = f"bnpriv {document.kind}" if document.kicker is None else document.kicker
    parts = [element("p", inline(kicker), class_="kicker")] if kicker else []
    return [*parts, element("h1", inline(document.headline))]


def _lead(document: doc.Document, text: doc.Text) -> Html:
    """Return what stands behind the finding, after the verdict in a coloured word."""
    verdict = (html.badge(document.verdict, document.tone), " ") if document.verdict else ()
    return element("p", *verdict, inline(text), class_="lead")


def _body(document: doc.Document) -> Iterable[Html]:
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


def _live(blocks: Iterable[doc.Block]) -> Iterable[doc.Live]:
    for part in blocks:
        if isinstance(part, doc.Live):
            yield part
        elif isinstance(part, doc.Section):
            yield from _live(part.blocks)


def _still(document: doc.Document) -> doc.Document:
    """Return a document in which words take the place of what moves."""

    def still(blocks: Iterable[doc.Block]) -> Iterable[doc.Block]:
        for part in blocks:
            if isinstance(part, doc.Section):
                inner = tuple(still(part.blocks))
                if inner:
                    yield replace(part, blocks=inner)
            elif not isinstance(part, doc.Live):
                yield part
            elif part.words:
                yield doc.Paragraph(part.words, soft=True)

    sections = tuple(part for part in still(document.sections) if isinstance(part, doc.Section))
    return replace(document, answer=tuple(still(document.answer)), sections=sections)


def block(made: doc.Block, depth: int = 2) -> Html:
    """A block as markup; `depth` is that of its heading if it has one."""
    match made:
        case doc.Paragraph():
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
        case doc.Live():
            return made.body
        case doc.Section():
            inner = [block(part, depth + 1) for part in made.blocks]
            heading = element(f"h{min(depth, 4)}", inline(made.title))
            if not made.folded:
                return element("section", heading, *inner, id=made.id)
            folded = element("details", element("summary", heading), *inner, class_="folded")
            return element("section", folded, id=made.id)


def _answer(row: doc.Fact) -> Html:
    if len(row.lines) == 1:
        return inline(row.lines[0])
    return join(*(element("div", inline(line)) for line in row.lines))


def _cell(cell: doc.Text | doc.Cell) -> Html:
    if not isinstance(cell, doc.Cell):
        return inline(cell)
    note = element("div", inline(cell.note), class_="small soft witness") if cell.note else Html()
    return join(inline(cell.text), note, cell.drawing)


def _more(text: str) -> Html:
    return element("p", text, class_="small soft") if text else Html()


# --------------------------------------------------------------------------------------------------
# The words that a reader may not have met before: pages explain each where it first occurs, and all below.
# --------------------------------------------------------------------------------------------------

WORDS: Mapping[str, str] = {
    "odds": "How many times as probable one of two secrets is as the other: beliefs of 75 % and 25 % are odds of 3 to "
    "1.",
    "nat": "A unit for factors on the odds: their natural logarithm. 0.1 nats are 1.11 times, 1 nat is 2.72 times, 2 "
    "nats are 7.39 times, 5 nats are 149 times.",
    "influence": "By how many times seeing some columns can move the odds between two secrets of a protected "
    "attribute, at worst: over everything that may be seen, all protected pairs and all models.",
    "epsilon": "The budget in nats: by how much an answer may move the odds at most. Epsilon 1 is 2.72 times. "
    "With a delta above 0 they may rise by twice as many times, and more with a probability of at most 2 delta.",
    "delta": "What a bound on the odds leaves out: what has probability p under one secret has at most exp(epsilon) p "
    "+ delta under the other.",
    "secret": "What nobody is to learn: one of the things that may be true of what is protected. Two of them that are "
    "not to be told apart are a pair.",
    "parameter": "What a whole column is like, such as how high the incomes are in general: a quantity of the model "
    "behind the table, not a value in a record.",
    "model": "What somebody who sees the answer may believe: how probable every table is, in numbers.",
    "quilt": "A shield: columns that separate the protected attribute from others. Whoever knows them learns nothing "
    "more about it from those behind them, the remote ones. Noise must hide the queried columns on its own side, the "
    "near ones.",
    "noise of scale": "How large the noise is. Laplace noise errs by its scale on average, and in 95 % of releases by "
    "at most 3 times its scale; the scale of Gaussian noise is its standard deviation.",
    "sharp": "Said of an answer of which 95 % of releases err by at most 2 % of its range. Up to 10 % it is useful, up "
    "to 50 % coarse, beyond that useless.",
    "useless": "Said of an answer of which not even 95 % of releases err by at most half of its range.",
    "prior": "What is believed before any data were seen, as a distribution.",
    "posterior": "What is believed after public data were seen, as a distribution.",
    "distribution": "How probable each value is. One moves by as much as probability has to be moved, at most, to turn "
    "it into the other (the infinity-Wasserstein distance).",
    "but for 1 record in": "What so few records show, and secrets that so few records have, are left out: all other "
    "records show nothing that moves the odds between their own secret and a given other one by more, under any model. "
    "At worst nothing is left out.",
    "mu": "Seeing the columns, two protected values are told apart as well as two normal numbers of deviation 1 whose "
    "means are mu apart (their Mahalanobis distance).",
    "ledger": "The file in which every release is written down before its answer is computed.",
}
"""What each word means, in a sentence or two."""

KEPT = ("svg", "code", "bdi", "summary", "h1", "h2", "h3", "h4", "th", "dt", "caption", "label", "button", "script")
"""Elements in which no word is marked: drawings, code, names, headings, and what is a control itself."""

HIDDEN = ('aria-hidden="true"', 'class="kicker"', 'id="words"')
"""The same of elements with these: what no screen reader reads, what is above the finding, the explanations."""

# what stands beside an equals sign is a column, or a value of one
EXPLAINED = re.compile(rf"(?<![\w-])(?<!= )({'|'.join(WORDS)})s?(?![\w-]| =)", re.IGNORECASE)
NAMED = re.compile(r'<bdi class="name">([^<]*)</bdi>')


def words_in(text: str) -> list[str]:
    """The words of the glossary that a text holds.

    Examples
    --------
    >>> words_in("The quilts of income, in nats; income-nat is a name.")
    ['nat', 'quilt']
    """
    found = {each[1].lower() for each in EXPLAINED.finditer(text)}
    return [word for word in WORDS if word in found]


def with_words(document: doc.Document) -> doc.Document:
    """A document with the words that it holds explained in a last section."""
    text = document_text(document)
    words = words_in(" ".join([text, *map(WORDS.__getitem__, words_in(text))]))
    if not words or any(section.id == "words" for section in document.sections):
        return document
    section = doc.Section(
        title="Words",
        blocks=(doc.Facts(tuple(doc.fact(word, WORDS[word]) for word in words)),),
        id="words",
        folded=True,
    )
    return replace(document, sections=(*document.sections, section))


def marked(body: Html) -> Html:
    """Markup in which the first mention of every word is explained to whoever points at it or reaches it by keyboard.

    A word that is a name on this page is not.

    Examples
    --------
    >>> print(marked(Html("<p><code>nat</code> a nat, a nat</p>")).split(" title=")[0])
    <p><code>nat</code> a <dfn tabindex="0"
    """
    seen, inside, parts = (
        {name.lower() for name in NAMED.findall(body)},
        list[str](),
        re.split(f"({TAG.pattern})", body),
    )

    def explained(found: re.Match[str]) -> str:
        word = found[1].lower()
        if word in seen:
            return found[0]
        seen.add(word)
        return element("dfn", found[0], tabindex="0", title=WORDS[word])

    for place, part in enumerate(parts):
        if place % 2:
            name = part.strip("</>").split(" ", 1)[0]
            hidden = any(mark in part for mark in HIDDEN)
            if part.startswith("</") and inside and inside[-1] == name:
                inside.pop()
            elif not part.startswith("</") and not part.endswith("/>") and (name in KEPT or hidden or name in inside):
                inside.append(name)
        elif not inside:
            parts[place] = EXPLAINED.sub(explained, part)
    return Html("".join(parts))
