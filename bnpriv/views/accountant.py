"""What an accountant says: the total, what tells most, and how each release was counted."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from bnpriv.core.accounting.entries import Entry, rounded_up
from bnpriv.core.accounting.total import Share
from bnpriv.render.document import Code, Document, Paragraph, Section, Table
from bnpriv.text import Json, name_text, number_text, set_text, some_text, upper_text

HOW = {
    "column": "its own epsilon, which adds to anything",
    "quilt": "its noise; what its columns tell is paid once for all",
    "records": "what all such answers together tell of one record",
    "own law": "its own guarantee, alone beside column releases",
}
"""What a release of a family counts by."""

PRIVATE_TABLE = "PrivateTable"
"""The mechanism of an entry that stands for a private table."""


def accountant_document(
    entries: Sequence[Entry], shares: Sequence[Share], records: Sequence[Any], total: Fraction | None
) -> Document:
    """Return what releases tell together, as a document."""
    several = "1 release" if len(entries) == 1 else f"{len(entries):,} releases"
    found = "unbounded with delta 0" if total is None else f"epsilon {upper_text(rounded_up(total), 6)}"
    sections = [Section(title="How each release was counted", blocks=(_releases(entries),))] if entries else []
    if shares or records:
        blocks = _shares(shares) if shares else (_swaps(records),)
        sections.append(Section(title="What the releases tell about each protected attribute", blocks=blocks))
    return Document(
        kind="accountant",
        kicker="bnpriv accountant",
        headline=f"{several} together: {found}" if entries else "Nothing was released",
        lead=_lead(shares),
        sections=tuple(sections),
        data={
            "releases": [
                {
                    "mechanism": entry.mechanism,
                    "query": entry.text,
                    "epsilon": float(entry.epsilon),
                    "delta": float(entry.delta),
                    "family": entry.family,
                }
                for entry in entries
            ],
            "epsilon": None if total is None else rounded_up(total),
            "attributes": [
                {
                    "protected": share.protected,
                    "pair": str(share.pair),
                    "model": share.model,
                    "near": sorted(share.near),
                    "influence": share.influence.upper if share.total is not None else None,
                    "noise": None if share.noise is None else rounded_up(share.noise),
                    "kind": share.kind,
                    "complete": share.complete,
                }
                for share in shares
            ],
            "properties": swaps_data(records),
        },
    )


def _lead(shares: Sequence[Share]) -> str:
    share = shares[0] if shares else None
    if share is None or share.total is None or share.noise is None:
        return ""
    told = share.influence.upper
    parts = f"what the columns tell without the noise ({upper_text(told)} nats, paid once)" if told else ""
    noise = f"what the noise of all releases lets through ({upper_text(rounded_up(share.noise))})"
    return f"For {name_text(share.protected)} this is {parts + ' and ' if parts else ''}{noise}."


def swaps_data(records: Sequence[Any]) -> list[Json]:
    """Return what releases tell of one record, as plain values."""
    return [{**vars(share), "total": rounded_up(share.total)} for share in records]


def _swaps(records: Sequence[Any]) -> Table:
    return Table(
        caption="One record changes sides after the other, as many as two secrets lie apart; the total is the largest",
        header=("protected", "pair of secrets", "one record tells (nats)", "records apart", "together"),
        rows=[
            (name_text(s.protected), s.pair, upper_text(s.one), f"{s.distance:,}", upper_text(rounded_up(s.total)))
            for s in records
        ],
        numbers=(2, 3, 4),
    )


def scale_text(entry: Entry) -> str:
    """Return the scale of the noise of a release; of what has none of its own that it has none."""
    of_its_own = entry.noise is not None or (entry.mechanism != PRIVATE_TABLE and entry.record is None)
    return number_text(entry.scale) if of_its_own else "-"


def _releases(entries: Sequence[Entry]) -> Table:
    return Table(
        caption="Each release, and what it counts by",
        header=("query", "mechanism", "scale", "epsilon alone", "delta", "counts by"),
        rows=[
            (
                (Code(entry.text),),
                entry.mechanism,
                scale_text(entry),
                number_text(float(entry.epsilon)),
                number_text(float(entry.delta)),
                HOW[entry.family],
            )
            for entry in entries[-MOST_LISTED_RELEASES:]
        ],
        numbers=(2, 3, 4),
        more=f"{len(entries) - MOST_LISTED_RELEASES:,} earlier ones." if len(entries) > MOST_LISTED_RELEASES else "",
    )


def _shares(shares: Sequence[Share]) -> tuple[Table | Paragraph, ...]:
    table = Table(
        caption="The largest over models and pairs of secrets; the total is the largest of these",
        header=("protected", "pair of secrets", "noise hides", "others tell (nats)", "noise lets through", "together"),
        rows=[
            (
                name_text(share.protected),
                str(share.pair),
                some_text(sorted(share.near)),
                upper_text(share.influence.upper),
                "without bound" if share.noise is None else upper_text(rounded_up(share.noise)),
                "without bound" if share.total is None else upper_text(rounded_up(share.total)),
            )
            for share in shares
        ],
        numbers=(3, 4, 5),
    )
    if all(share.complete for share in shares):
        return (table,)
    cut = set_text(share.protected for share in shares if not share.complete)
    said = f"The search for {cut} stopped at its limit of work: the total is valid, but a smaller one may exist."
    return table, Paragraph(said, soft=True)


MOST_LISTED_RELEASES = 50
"""Releases that are listed, the last ones."""
