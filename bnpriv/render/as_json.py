"""Documents for machines; docs/report-schema.md names every field."""

from __future__ import annotations

from bnpriv.render.as_text import inline
from bnpriv.render.document import Document
from bnpriv.render.text import Json

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
