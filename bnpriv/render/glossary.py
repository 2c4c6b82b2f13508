"""The words that a reader may not have met before: pages explain each where it first occurs, and all below."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from bnpriv.render.as_text import document_text
from bnpriv.render.document import Document, Facts, Section, fact
from bnpriv.render.html import TAG, Html, element

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


def with_words(document: Document) -> Document:
    """A document with the words that it holds explained in a last section."""
    text = document_text(document)
    words = words_in(" ".join([text, *map(WORDS.__getitem__, words_in(text))]))
    if not words or any(section.id == "words" for section in document.sections):
        return document
    section = Section(
        title="Words", blocks=(Facts(tuple(fact(word, WORDS[word]) for word in words)),), id="words", folded=True
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
