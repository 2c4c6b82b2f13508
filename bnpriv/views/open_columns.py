"""Which columns may go out as they are, in words and bars: a section of a report, and a document of its own."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from bnpriv.core.influence.base import Influence
from bnpriv.errors import Refusal
from bnpriv.render.document import Block, Cell, Document, Items, Name, Names, Paragraph, Section, Table, Text, fact
from bnpriv.render.figures import budget_bar
from bnpriv.text import Json, full_text, name_text, number_text, of_nats, some_text, upper_text
from bnpriv.views.calibration import guarantee_section, trust_section
from bnpriv.views.guarantee import observer_fact, protected_fact
from bnpriv.views.report.words import witness_text

if TYPE_CHECKING:
    from bnpriv.render.html import Html

MOST_SETS = 8
"""Sets that a table lists; the others are counted."""

MOST_COLUMNS = 15
"""Columns that a table of a report lists, those first that tell most."""

Open = Any
"""An `OpenColumns`, whose room comes after this one."""

REAL_VALUES = "Real values go out, so that single persons are not protected by this."

ONE_SET = (
    "It is one choice for good: of several sets that go out of one table, all columns together must tell no more than "
    "epsilon."
)


def open_columns_document(found: Open) -> Document:
    """Which sets may go out, what decides it, and what must hold for it."""
    guarantee = found.guarantee
    return Document(
        kind="open columns",
        kicker=f"bnpriv open columns at epsilon {full_text(found.epsilon)}",
        headline=_headline(found),
        lead=_lead(found),
        facts=(
            protected_fact(guarantee.secrets),
            observer_fact(guarantee.observer, "the columns"),
            fact("How many sets there are", f"{_count(found)} {ONE_SET}"),
        ),
        sections=(
            Section(title="The sets that may go out", blocks=(_sets(found),), id="sets"),
            Section(title="What each column tells alone", blocks=(_columns(found, len(found.alone)),), id="columns"),
            guarantee_section(guarantee),
            trust_section(found.framework.source, found.assumptions, None),
            *([Section(title="What was not settled", blocks=(Items(found.notes),))] if found.notes else []),
        ),
        data=open_columns_data(found),
    )


def open_columns_section(found: Open | None) -> Section | None:
    """What a report says of it; nothing where the secrets are no parameters."""
    if found is None:
        return None
    blocks: tuple[Block, ...] = (
        Paragraph((*_headline(found), ". ", _lead(found))),
        Paragraph(f"{_count(found)} {ONE_SET}"),
        _sets(found),
        Section(title="What each column tells alone", blocks=(_columns(found, MOST_COLUMNS),), folded=True),
        *(Paragraph(note, soft=True) for note in found.notes),
    )
    return Section(title="Columns that may go out as they are", blocks=blocks, id="open-columns")


def open_columns_data(found: Open) -> Json:
    """The same for machines."""
    return {
        "epsilon": found.epsilon,
        "complete": found.complete,
        "best_is_proven": found.best_is_proven,
        "sets": [
            {
                "columns": sorted(each.columns),
                "worth": each.worth,
                "kind": each.kind,
                "nats": float(each.worst),
                "about": each.worst.protected,
                "reached_at": witness_text(each.worst),
            }
            for each in found.sets
        ],
        "columns": [
            {
                "name": name,
                "open": name in found.best.columns,
                "nats": None if isinstance(told, Refusal) else "inf" if math.isinf(float(told)) else float(told),
                "why": str(told) if isinstance(told, Refusal) else "",
            }
            for name, told in found.alone.items()
        ],
        "notes": list(found.notes),
    }


def _headline(found: Open) -> tuple[Any, ...]:
    best, level = found.best, full_text(found.epsilon)
    if not best.columns:
        return (f"No column may go out as it is at epsilon {level}",)
    return Names(tuple(best.columns)), f" may go out exactly as {_they(best.columns)} at epsilon {level}"


def _they(columns: frozenset[str]) -> str:
    return "it is" if len(columns) == 1 else "they are"


def _lead(found: Open) -> str:
    best, closed = found.best, found.closed
    shut = f"{some_text(closed)} stay{'s' if len(closed) == 1 else ''} closed." if closed else "No column stays closed."
    if not best.columns:
        return f"Each tells more than that by itself, or the model says nothing of it. {shut}"
    return f"{REAL_VALUES} {_told(best)} Any use of them, any number of times, is within that. {shut}"


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
    many = len(found.sets)
    if found.complete:
        return "No other set may go out but a part of it." if many == 1 else f"{many} sets cannot be enlarged."
    sets = "1 set" if many == 1 else f"{many} sets"
    best = "No other is worth more." if found.best_is_proven else "Another may be worth more."
    return f"At least {sets} may go out: not all were looked at. {best}"


def _sets(found: Open) -> Table:
    left = len(found.sets) - MOST_SETS
    return Table(
        caption="Sets that may go out, the most worthy first",
        header=("goes out", "worth", "nats", "about", ""),
        rows=[
            (
                _against(each.columns, found.best.columns),
                number_text(each.worth),
                f"{upper_text(float(each.worst))}{_guess(each.kind)}",
                name_text(each.worst.protected),
                Cell("", drawing=_bar(found, float(each.worst), some_text(each.columns))),
            )
            for each in found.sets[:MOST_SETS]
        ],
        numbers=(1, 2),
        more="" if left <= 0 else "1 more set." if left == 1 else f"{left:,} more sets.",
        drawn=_drawn(found),
    )


def _against(columns: frozenset[str], best: frozenset[str]) -> Text:
    """The columns of a set, those after the best by what differs from it."""
    if columns == best or not columns & best:
        return (Names(tuple(columns)),)
    more, less = Names(tuple(columns - best), most=6), Names(tuple(best - columns), most=6)
    return "the same with ", more, ", without ", less


def _columns(found: Open, most: int) -> Table:
    told = {name: each for name, each in found.alone.items() if not isinstance(each, Refusal)}
    rows = sorted(told.items(), key=lambda row: (-float(row[1]), row[0]))
    never: dict[str, list[str]] = {}
    for name, why in found.alone.items():
        if isinstance(why, Refusal):
            never.setdefault(why.required, []).append(name)
    more = [f"{len(rows) - most} more, which tell no more."] if len(rows) > most else []
    more += [f"Never: {some_text(names)} ({why})." for why, names in never.items()]
    return Table(
        caption="What each column tells alone, about the attribute about which it tells most",
        header=("column", "nats", "about", "goes out", ""),
        rows=[((Name(name),), *_alone(found, name, each)) for name, each in rows[:most]],
        numbers=(1,),
        more=" ".join(more),
        drawn=_drawn(found),
    )


def _alone(found: Open, name: str, told: Influence) -> tuple[Text | Cell, ...]:
    nats = float(told)
    size = f"{upper_text(nats)}{_guess(told.kind)}" if math.isfinite(nats) else "infinite"
    out = "yes" if name in found.best.columns else "no" if nats > found.epsilon else "not beside the others"
    return size, name_text(told.protected), out, Cell("", drawing=_bar(found, nats, name_text(name)))


def _guess(kind: str) -> str:
    return " (estimate)" if kind == "estimate" else ""


def _bar(found: Open, nats: float, what: str) -> Html:
    return budget_bar(nats, found.epsilon, title=f"{what}: {upper_text(nats) if math.isfinite(nats) else 'infinite'}")


def _drawn(found: Open) -> str:
    return f"drawn: what is told in nats, against epsilon {full_text(found.epsilon)} at the line"
