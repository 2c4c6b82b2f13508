"""What a query says of itself."""

from __future__ import annotations

from bnpriv.queries.base import Query
from bnpriv.render.document import Code, Document, Names, fact


def query_document(query: Query) -> Document:
    """The text of a query, what it reads, and what must be believed of it."""
    facts = [fact("Reads", (Names(tuple(query.columns)),))]
    if query.assumptions:
        facts.append(fact("Must be believed", *query.assumptions))
    return Document(
        kind="query",
        kicker="bnpriv query",
        headline=(Code(str(query)),),
        facts=tuple(facts),
        data={"query": str(query), "columns": sorted(query.columns), "assumptions": list(query.assumptions)},
    )
