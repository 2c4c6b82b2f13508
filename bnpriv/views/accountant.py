"""What an accountant says: the total, what tells most, and how each release was counted."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from bnpriv.core.accounting.total import Entry, Share, rounded_up
from bnpriv.render.document import Code, Document, Paragraph, Section, Table
from bnpriv.text import Json, name_text, number_text, set_text, some_text, times_text, upper_text
from bnpriv.views.cards import short_guarantee

HOW = {
    "column": "its own epsilon, which adds to anything",
    "quilt": "its noise and, once for all, its columns",
    "records": "what all such answers tell of one record",
    "own law": "its own guarantee, alone beside column releases",
}
"""What a release of a family counts by."""

PRIVATE_TABLE = "PrivateTable"
"""The mechanism of an entry that stands for a private table."""


def accountant_document(accountant: Any) -> Document:
    """Return what releases tell together, as a document."""
    entries: Sequence[Entry] = accountant.entries
    shares, records, total = accountant.shares, accountant.records, accountant.total
    several = "1 release" if len(entries) == 1 else f"{len(entries):,} releases"
    found = "unbounded with delta 0" if total is None else f"epsilon {upper_text(rounded_up(total), 6)}"
    sections: list[Section] = []
    if entries:
        title = "How each release was counted"
        sections.append(Section(title=title, blocks=(_releases(entries),), explained=True))
    if shares or records:
        blocks = _shares(shares) if shares else (_swaps(records),)
        title = "What the releases tell about each protected attribute"
        sections.append(Section(title=title, blocks=blocks, explained=True))
    return Document(
        kind="accountant",
        kicker="bnpriv accountant",
        headline=f"{several}{' together' if entries[1:] else ''}: {found}" if entries else "Nothing was released",
        lead=_lead(shares),
        short=(_lead(shares), *promised_lines(accountant, 0.0), _next(entries, total)),
        number="" if total is None else upper_text(rounded_up(total), 6),
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


def promised_lines(accountant: Any, delta: float) -> tuple[str, ...]:
    """What is protected, at what strength and under which model, by all releases; nothing where nothing bounds them."""
    count = len(accountant.entries)
    if not count or math.isinf(accountant.epsilon_at(delta)):
        return ()
    seen = {1: "this answer", 2: "both answers"}.get(count, f"all {count:,} answers")
    return short_guarantee(accountant.guarantee(delta), seen)


def _next(entries: Sequence[Entry], total: Fraction | None) -> str:
    if not entries:
        return "Next: accountant.record(calibration) counts a release."
    if total is None:
        return "Next: accountant.guarantee(delta) with a delta above 0 says what they promise."
    return "Next: .guarantee(delta) is the promise word for word; .explain() tells how each release was counted."


def _lead(shares: Sequence[Share]) -> str:
    share = shares[0] if shares else None
    if share is None or share.total is None or share.noise is None:
        return ""
    told = share.influence.upper
    parts = f"what the columns tell without the noise ({times_text(told)}, paid once)" if told else ""
    noise = f"what can be learned through the noise of all releases ({upper_text(rounded_up(share.noise))})"
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


def alone_text(entry: Entry) -> str:
    """The epsilon of a release by itself; that of another tool is about single records, not about what is protected."""
    return upper_text(float(entry.epsilon)) + (" per record" if entry.record is not None else "")


def below_text(entries: Sequence[Entry], earlier: int) -> str:
    """What stands below a table of releases: how many are left out, and what the epsilon of another tool means."""
    others = any(entry.record is not None for entry in entries)
    said = (
        f"{earlier:,} earlier ones." if earlier > 0 else "",
        "Per record: what another tool promises for single records; what it adds is about what is protected."
        if others
        else "",
    )
    return " ".join(filter(None, said))


def _releases(entries: Sequence[Entry]) -> Table:
    return Table(
        caption="Each release, and what it counts by",
        header=("query", "mechanism", "scale", "epsilon alone", "delta", "counts by"),
        rows=[
            (
                (Code(entry.text),),
                entry.mechanism,
                scale_text(entry),
                alone_text(entry),
                number_text(float(entry.delta)),
                HOW[entry.family],
            )
            for entry in entries[-MOST_LISTED_RELEASES:]
        ],
        numbers=(2, 3, 4),
        more=below_text(entries[-MOST_LISTED_RELEASES:], len(entries) - MOST_LISTED_RELEASES),
    )


def _shares(shares: Sequence[Share]) -> tuple[Table | Paragraph, ...]:
    table = Table(
        caption="The largest over models and pairs of secrets; the total is the largest of these",
        header=("protected", "pair of secrets", "noise hides", "others tell, in nats", "through the noise", "together"),
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
