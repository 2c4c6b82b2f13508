"""What the library shows as a document, as a part of a page: no style, no script, no second first heading."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from bnpriv.render.as_html import block, inline
from bnpriv.render.document import Block, Document, Facts, Live, Section
from bnpriv.render.html import Html, badge, element


def shown(made: Any, *, folded: bool = True) -> Html:
    """The document of something that can be shown; its sections folded, where they are many."""
    document: Document = made if isinstance(made, Document) else made.document
    lead = [badge(document.verdict, document.tone), " "] if document.verdict else []
    parts = [element("h2", inline(document.headline))]
    if document.lead or document.verdict:
        parts.append(element("p", *lead, inline(document.lead), class_="lead"))
    parts += [block(each) for each in _still((*document.answer, *document.beside))]
    parts += [block(Facts(document.facts))] if document.facts else []
    sections = [block(each, 3) for each in _still(document.sections)]
    if sections and folded:
        sections = [element("details", element("summary", "All of it"), *sections)]
    return element("div", *parts, *sections, class_=f"answer {document.tone}")


def _still(blocks: Iterable[Block]) -> Iterable[Block]:
    """Blocks without those that a script moves."""
    for each in blocks:
        if isinstance(each, Section):
            yield replace(each, blocks=tuple(_still(each.blocks)))
        elif not isinstance(each, Live):
            yield each
