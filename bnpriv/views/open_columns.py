"""Which columns may go out as they are, in words and bars: a section of a report, and a document of its own."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from bnpriv.core.influence.base import Influence
from bnpriv.errors import Refusal
from bnpriv.render.document import Block, Cell, Document, Name, Names, Paragraph, Section, Table, Text
from bnpriv.render.figures import budget_bar
from bnpriv.text import Json, and_text, full_text, name_text, number_text, of_nats, some_text, upper_text
from bnpriv.views.calibration import guarantee_section, trust_section
from bnpriv.views.private_table import REAL_RECORDS
from bnpriv.views.report.words import witness_text

MOST_LISTED_SETS = 8
"""Sets that a table lists; the others are counted."""

MOST_COLUMNS = 15
"""Columns that a table of a report lists, those first that tell most."""

Open = Any
"""An `OpenColumns`, whose room comes after this one."""

REAL_VALUES = "Real values go out, so that single persons are not protected by this."

ONCE = "It is one choice for good: of several sets out of one table all columns together must be within epsilon."


def open_columns_document(found: Open) -> Document:
    """Which sets may go out, what decides it, and what must hold for it."""
    return Document(
        kind="open columns",
        kicker=f"bnpriv open columns at epsilon {full_text(found.epsilon)}",
        headline=_headline(found),
        lead=_lead(found),
        sections=(
            _section("The sets that may go out", *_sets(found)),
            _section("What each column tells alone", _columns(found, len(found.alone))),
            guarantee_section(found.guarantee),
            trust_section(found.framework.source, found.assumptions, None),
        ),
        data=open_columns_data(found),
    )


def open_table_document(made: Any) -> Document:
    """Which columns of a table are real, which are drawn, and what that promises."""
    real, drawn, missing = sorted(made.found.best.columns), sorted(made.made_up), sorted(made.left_out)
    budget = full_text(made.found.epsilon)
    return replace(
        open_columns_document(made.found),
        kind="open table",
        headline=f"{REAL_RECORDS}: a table with {and_text([name_text(name) for name in real])} as they are, epsilon "
        f"{budget}",
        lead=" ".join(
            f"{what}: {and_text([name_text(name) for name in names])}."
            for what, names in (("Drawn from the model given these", drawn), ("Left out", missing))
            if names
        ),
        data={**open_columns_data(made.found), "real": real, "drawn": drawn, "left_out": dict(made.left_out)},
    )


def open_columns_section(found: Open | None) -> Section | None:
    """What a report says of it; nothing where the secrets are no parameters."""
    if found is None:
        return None
    alone = Section(title="What each column tells alone", blocks=(_columns(found, MOST_COLUMNS),), folded=True)
    said = Paragraph((*_headline(found), ". ", _lead(found)))
    return _section("Columns that may go out as they are", said, *_sets(found), alone)


def _section(title: str, *blocks: Block) -> Section:
    return Section(title=title, blocks=blocks, id=title.lower().replace(" ", "-"))


def open_columns_data(found: Open) -> Json:
    """The same for machines."""
    nats = {name: str(told) if isinstance(told, Refusal) else _number(told) for name, told in found.alone.items()}
    return {
        "epsilon": found.epsilon,
        "complete": found.complete,
        "best_is_proven": found.best_is_proven,
        "sets": [
            {**_witnessed(each.worst), "columns": sorted(each.columns), "worth": each.worth, "kind": each.kind}
            for each in found.sets
        ],
        "columns": [{"name": name, "open": name in found.best.columns, "alone": each} for name, each in nats.items()],
        "notes": list(found.notes),
    }


def _witnessed(told: Influence) -> Json:
    return {"nats": float(told), "about": told.protected, "reached_at": witness_text(told)}


def _number(told: Influence) -> float | str:
    return float(told) if math.isfinite(float(told)) else "inf"


def _headline(found: Open) -> tuple[Any, ...]:
    names, level = found.best.columns, full_text(found.epsilon)
    if not names:
        return (f"No column {'may' if found.complete else 'is known that may'} go out as it is at epsilon {level}",)
    it = "it is" if len(names) == 1 else "they are"
    return Names(tuple(names)), f" may go out exactly as {it} at epsilon {level}"


def _lead(found: Open) -> str:
    closed = found.closed
    shut = f"{some_text(closed)} stay{'s' if len(closed) == 1 else ''} closed." if closed else "No column stays closed."
    if not found.best.columns:
        return f"Each tells more than that by itself, or is not known to tell less. {shut}"
    return f"{REAL_VALUES} {_told(found.best)} Any use of them, any number of times, is within that. {shut}"


def _told(best: Any) -> str:
    """What the columns of a set tell together, with what attains it."""
    worst, subject = best.worst, "Alone it tells" if len(best.columns) == 1 else "Together they tell"
    if float(worst) == 0:
        return f"{subject} nothing about what is protected."
    reached = f" ({witness_text(worst)})" if witness_text(worst) else ""
    nats = of_nats(upper_text(float(worst)))
    return f"{subject} at most {nats} about {name_text(worst.protected)}{_guess(best.kind)}{reached}."


def _count(found: Open) -> str:
    """How many sets there are, and whether the best of them is proven."""
    many = f"{len(found.sets):,} set{'' if len(found.sets) == 1 else 's'}"
    if found.complete:
        return f"{many} cannot be enlarged." if len(found.sets) > 1 else "Other sets that may go out are parts of it."
    best = "No other is worth more." if found.best_is_proven else "Another may be worth more."
    return " ".join([f"At least {many} may go out: not all were looked at. {best}", *found.notes])


def _sets(found: Open) -> tuple[Block, ...]:
    if not found.best.columns:
        return tuple(map(Paragraph, found.notes))
    rows = [((_against(each.columns, found.best.columns), number_text(each.worth)), each.worst) for each in found.sets]
    caption, more = "Sets that may go out, the most worthy first", _more(rows, MOST_LISTED_SETS, "besides.")
    shown = _table(found, caption, ("goes out", "worth"), rows[:MOST_LISTED_SETS], more, (1, 2))
    return Paragraph(f"{_count(found)} {ONCE}"), shown


def _against(columns: frozenset[str], best: frozenset[str]) -> Text:
    """The columns of a set, those after the best by what differs from it."""
    if columns == best or not columns & best:
        return (Names(tuple(columns)),)
    more, less = Names(tuple(columns - best), most=6), Names(tuple(best - columns), most=6)
    return "the same with ", more, ", without ", less


def _columns(found: Open, most: int) -> Table:
    told = [(name, each) for name, each in found.alone.items() if not isinstance(each, Refusal)]
    told.sort(key=lambda row: (-float(row[1]), row[0]))
    never: dict[Refusal, list[str]] = {}
    for name, each in found.alone.items():
        if isinstance(each, Refusal):
            never.setdefault(each, []).append(name)
    rows = [(((Name(name),), _out(found, each)), each) for name, each in told]
    said = [f"Never: {some_text(names)} ({why.required})." for why, names in never.items()]
    more = " ".join(filter(None, [_more(rows, most, "more, no more telling."), *said]))
    caption = "What is told alone, about the attribute about which most is told"
    return _table(found, caption, ("column", "goes out"), rows[:most], more, (2,))


def _out(found: Open, told: Influence) -> str:
    if told.columns <= found.best.columns:
        return "yes"
    return "no" if float(told) > found.epsilon else "not beside the others"


ToldRow = tuple[tuple[Text, ...], Influence]
"""The first cells of a row, and what is told."""


def _more(rows: Sequence[ToldRow], most: int, what: str) -> str:
    return f"{len(rows) - most:,} {what}" if len(rows) > most else ""


def _table(
    found: Open, caption: str, first: tuple[str, ...], rows: Sequence[ToldRow], more: str, numbers: tuple[int, ...]
) -> Table:
    """Rows with what is told, as a number and as a bar against epsilon."""
    return Table(
        caption=caption,
        header=(*first, "nats", "about", ""),
        rows=[(*cells, *_nats(found, told)) for cells, told in rows],
        numbers=numbers,
        more=more,
        drawn=f"drawn: what is told in nats, against epsilon {full_text(found.epsilon)} at the line",
    )


def _nats(found: Open, told: Influence) -> tuple[Text | Cell, ...]:
    size = f"{upper_text(float(told))}{_guess(told.kind)}" if math.isfinite(float(told)) else "infinite"
    bar = budget_bar(float(told), found.epsilon, title=f"{some_text(told.columns)}: {size}")
    return size, name_text(told.protected), Cell("", drawing=bar)


def _guess(kind: str) -> str:
    return " (estimate)" if kind == "estimate" else ""
