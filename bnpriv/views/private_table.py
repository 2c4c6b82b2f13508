"""Private tables as documents: how one is made, what it promises, and the forms side by side."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from bnpriv.core.influence.base import Influence
from bnpriv.errors import Refusal
from bnpriv.render import document as doc
from bnpriv.render.as_text import PRINTED_WIDTH
from bnpriv.render.figures import budget_bar
from bnpriv.text import (
    Json,
    and_text,
    by_times,
    full_text,
    name_text,
    number_text,
    rounded_up,
    shorten,
    shorter,
    some_text,
    times_text,
    upper_text,
)
from bnpriv.views.calibration import guarantee_section, trust_section
from bnpriv.views.cards import MOST_SAID, belief_section, observer_fact, protected_fact, short_guarantee, sureness_fact
from bnpriv.views.report.words import witness_text

REAL_RECORDS = "Single persons are not protected, real records are handed on"

INSIDE = "The table stays inside. One guarantee hides its numbers, whatever is asked; what single records lose adds up."

NEXT_WITHOUT_TABLE = "Next: change what is in the way, or release single answers: bp.plan(framework, query, epsilon)."

TABLE_NEXT = "Next: hand on .table, or ask .answer(query). A second table or a release beside it does cost."

ANY_USE = (
    "It may be used for anything, any number of times, and handed on; nothing more is charged for it. A second table "
    "of the same data, or a release beside it, does cost: their promises do not add up."
)

KEPT_NOWHERE = (
    "Which records were left out or made up, and the noise, were drawn from the system's randomness and are kept "
    "nowhere: whoever knew them would know the true numbers."
)

HOW_MADE: dict[str, str] = {
    "fill": "Records that are too many in a class are left out at random; missing ones are drawn from {law}, given the "
    "class. Then all are shuffled.",
    "trim": "Of every class {given_up:,} records are left out at random, and as many more or less as the noise says. "
    "Nothing is made up, and no model is needed. Then all are shuffled.",
    "fill and trim": "Every class has {given_up:,} records fewer than its noisy number; the few that may be missing "
    "still are drawn from {law}, given the class. Then all are shuffled.",
}


def how_text(rule: Any) -> str:
    """Return how a table of a form is made, in words."""
    return HOW_MADE[rule.form].format(law="" if rule.law is None else rule.law.text, given_up=rule.given_up)


def _budget(guarantee: Any) -> str:
    delta = f", delta {full_text(rounded_up(guarantee.delta))}" if guarantee.delta else ""
    return f"epsilon {guarantee.epsilon:g}{delta}"


def _facts(rule: Any, seen: str = "the table, or whatever is made of it,") -> tuple[doc.Fact, ...]:
    guarantee = rule.guarantee
    return (
        protected_fact(guarantee.secrets),
        observer_fact(guarantee.observer, seen),
        doc.fact("How it is made", how_text(rule)),
        *(() if rule.law is None else (doc.fact("What it leans on", _leans(rule)),)),
        sureness_fact(guarantee),
    )


def _leans(rule: Any) -> str:
    """How much the promise hangs on the law that records are made up from (docs/claims/private_table_fill.md)."""
    places = rule.classes.moved * (1 if len(rule.classes) == 2 else 2)
    return (
        "On the distribution of a whole record given its class, more than a release does: were it wrong in 1 of 1,000 "
        f"records, delta would grow by up to {number_text(min(1.0, places / 1000))}. A trimmed table leans on no "
        "distribution."
    )


def table_document(made: Any) -> doc.Document:
    """How a private table was made, what it promises, and what its records stand for."""
    rule = made.rule
    rows = [
        (label, f"{size:,}", number_text(float(weight)))
        for (label, weight), size in zip(made.weights.items(), made.sizes, strict=True)
    ]
    *promised, model = short_guarantee(rule.guarantee, "the table, or whatever is made of it")
    classes = doc.Table(
        caption="The records that are handed on, and how many of the true table each stands for",
        header=("class", "records", "each stands for"),
        rows=rows,
        numbers=(1, 2),
    )
    return doc.Document(
        kind="private table",
        kicker="",
        headline=f"{REAL_RECORDS}: a private table of {sum(made.sizes):,} records",
        lead=f"It has {_budget(rule.guarantee)}. {ANY_USE}",
        short=(
            *promised,
            *(() if made.mark is None else (made.mark.fact.lines[0],)),
            model,
            TABLE_NEXT,
        ),
        number=f"{sum(made.sizes)}",
        answer=(classes,),
        facts=(
            *_facts(rule),
            doc.fact("What is kept", KEPT_NOWHERE),
            *(() if made.mark is None else (made.mark.fact,)),
        ),
        sections=(
            guarantee_section(rule.guarantee),
            *([belief_section(rule.guarantee)] if rule.guarantee.with_belief else []),
        ),
        data=table_data(made),
    )


def report_document(report: Any) -> doc.Document:
    """A private table with answers for the true one, first of all."""
    whole = table_document(report.made)
    rows = [((doc.Code(query),), ", ".join(map(number_text, values))) for query, values in report.answers.items()]
    caption = "Answers for the true table, estimated from this one"
    answers = doc.Table(caption=caption, header=("query", "answer"), rows=rows, numbers=(1,))
    shown = (doc.Section(title="Answers", id="answers", blocks=(answers,), explained=True),) if rows else ()
    data = {**whole.data, "answers": [{"query": each, "values": list(told)} for each, told in report.answers.items()]}
    lines = [f"{query}: {', '.join(map(number_text, values))}" for query, values in report.answers.items()]
    short = (*shorter([shorten(line, MOST_SAID // 2) for line in lines], 2), *whole.short)
    return replace(whole, short=short, sections=(*shown, *whole.sections), data=data)


def table_data(made: Any) -> Json:
    """Return all that may be known of a private table as plain values, for records of it and for `bnpriv.verify`."""
    rule = made.rule
    return {
        "form": rule.form,
        "guarantee": rule.guarantee.to_json(),
        "records": rule.classes.schema.records,
        "moved": rule.classes.moved,
        "classes": [
            {"label": label, "condition": str(predicate), "size": size, "noisy": noisy}
            for label, predicate, size, noisy in zip(
                rule.classes.labels, rule.classes.predicates, made.sizes, made.noisy, strict=True
            )
        ],
        "answers": [],
        "given_up": rule.given_up,
        "noise": noise_data(rule.noise),
        "law": None if rule.law is None else law_data(rule.law),
        "ledger": None if made.mark is None else made.mark.to_json(),
    }


def law_data(law: Any) -> Json:
    """Return how far the law that records are made up from is off from that of any model, as plain values."""
    logs = {"excess": law.excess, "shortfall": law.shortfall}
    return {
        "text": law.text,
        "gap": law.gap,
        **{name: log if math.isfinite(log) else None for name, log in logs.items()},
    }


def noise_data(noise: Any) -> Json:
    """Return the noise on the numbers of records as plain values."""
    calibration = getattr(noise, "calibration", None)
    if calibration is not None:
        return {"kind": "calibration", "calibration": calibration.to_dict()}
    return {"kind": "moves", "scale": noise.scale, "most": noise.most}


def plan_document(plan: Any) -> doc.Document:
    """The forms of a private table side by side."""
    rows: list[tuple[str, ...]] = []
    refused: list[str] = []
    for form, rule in plan.forms.items():
        if isinstance(rule, Refusal):
            refused.append(f"{form}: {rule}")
            continue
        left, made = plan.left_out(form), plan.made_up(form)
        rows.append((form, _budget(rule.guarantee), f"{left:,.0f}", "none" if rule.law is None else f"{made:,.3g}"))
    blocks: list[doc.Block] = [
        doc.Table(
            caption="What each form promises, and how many records it changes on average",
            header=("form", "promise", "left out", "made up"),
            rows=rows,
            numbers=(2, 3),
        )
    ]
    if plan.errors:
        blocks.append(_errors_table(plan))
    possible = bool(rows)
    best = plan.best if possible else None
    forms = doc.Section(title="Forms of the table", id="forms", blocks=tuple(blocks), explained=True)
    sections = [forms] if possible else []
    if refused:
        sections.append(
            doc.Section(
                title="Forms that cannot be",
                id="refused",
                blocks=tuple(map(doc.Paragraph, refused)),
                folded=possible,
                explained=True,
            )
        )
    return doc.Document(
        kind="table plan",
        kicker="",
        headline=f"{REAL_RECORDS}: a private table ({best.form})"
        if best is not None
        else "No private table of this kind can be handed on",
        lead=ANY_USE if possible else "",
        short=(*refused, NEXT_WITHOUT_TABLE)
        if best is None
        else (
            f"On average it leaves out {plan.left_out(best.form):,.0f} records"
            + ("." if best.law is None else f" and makes up {plan.made_up(best.form):,.3g}."),
            *short_guarantee(best.guarantee, "the table, or whatever is made of it"),
            "Next: bp.private_table(framework, data, epsilon, records_may_be_seen=True) or bnpriv table makes it.",
        ),
        facts=() if best is None else _facts(best),
        sections=tuple(sections),
        data=_plan_data(plan),
    )


def _errors_table(plan: Any) -> doc.Table:
    forms = list(plan.errors)
    rows = [
        ((doc.Code(str(query)),), *(_error_text(plan.errors[form][place]) for form in forms))
        for place, query in enumerate(plan.queries)
    ]
    return doc.Table(
        caption="Mean error of each answer, all from one and the same table (an estimate, under the first model)",
        header=("query", *forms),
        rows=rows,
        numbers=tuple(range(1, len(forms) + 1)),
    )


def _error_text(error: float) -> str:
    return "a class is empty" if math.isinf(error) else number_text(error)


def _plan_data(plan: Any) -> Json:
    def told(form: str, rule: Any) -> Json:
        if isinstance(rule, Refusal):
            return {"form": form, "refused": str(rule)}
        errors: Sequence[float] = plan.errors.get(form, ())
        return {
            "form": form,
            "guarantee": rule.guarantee.to_json(),
            "given_up": rule.given_up,
            "left_out": plan.left_out(form),
            "made_up": plan.made_up(form),
            "errors": [
                {"query": str(query), "error": None if math.isinf(error) else error}
                for query, error in zip(plan.queries, errors, strict=False)
            ],
        }

    return {"epsilon": plan.epsilon, "delta": plan.delta, "forms": [told(*each) for each in plan.forms.items()]}


def beside_section(beside: Any) -> doc.Section:
    """A private table of the same strength, beside the release of one answer."""
    best, rule = beside.calibration, beside.rule
    budget = f"epsilon={rule.guarantee.epsilon:g}" + (f", delta={best.delta:g}" if rule.guarantee.delta else "")
    error = number_text(beside.error)
    return doc.Section(
        title="Hand on a table instead",
        id="table",
        blocks=(
            doc.Paragraph(
                f"A private table of the same strength ({rule.form}) gives this answer with a mean error of {error}, "
                f"where this release has {number_text(best.expected_error)}; and it answers every other question too, "
                "any number of times, or is handed on as it is, for the same epsilon once."
            ),
            doc.Paragraph(
                ("To have it: ", doc.Code(f"bp.private_table(framework, data, {budget}, records_may_be_seen=True)"))
            ),
            doc.Paragraph(f"{REAL_RECORDS}.", soft=True),
        ),
    )


def hidden_document(kept: Any) -> doc.Document:
    """What the answers of a hidden table promise, and what they have told of single records by now."""
    rule, spent = kept.rule, kept.spent_records
    return doc.Document(
        kind="hidden table",
        kicker="",
        headline=f"{_protected(spent)}: a hidden table, {_budget(rule.guarantee)} for the numbers that it hides",
        lead=INSIDE,
        short=(
            *short_guarantee(kept.guarantee, "any number of answers"),
            "Next: .ask(query, epsilon_records=...) answers; what single records lose adds up.",
        ),
        number=number_text(rounded_up(spent.epsilon, 4)),
        answer=(doc.Quote(spent.sentence),),
        facts=_facts(rule, "any number of answers"),
        sections=(guarantee_section(kept.guarantee),),
        data={"form": rule.form, "records": _records_data(spent), "guarantee": kept.guarantee.to_json()},
    )


def answer_document(answer: Any) -> doc.Document:
    """An answer of a hidden table with both promises."""
    numbers = list(zip(answer.labels, answer.numbers, strict=True))
    rows = [(label, number_text(value), number_text(answer.scale)) for label, value in numbers]
    header = ("number", "answer", "mean error by the noise")
    said = f"{_protected(answer.records)}: the answer"
    full = f"{said} to {answer.asked}"
    blocks = (
        (doc.Table(caption="The answer for the true table", header=header, rows=rows, numbers=(1, 2)),) if rows else ()
    )
    return doc.Document(
        kind="hidden answer",
        kicker="",
        headline=full if len(full) < PRINTED_WIDTH else said,  # what single persons lose is not to be cut
        short=(
            *shorter([f"{label} = {number_text(value)}{_noisy(answer)}" for label, value in numbers]),
            *short_guarantee(answer.guarantee, "all that is answered"),
            "Next: .explain() tells what this answer alone tells of single persons.",
        ),
        number="\n".join(str(value) for _, value in numbers),
        answer=(*blocks, doc.Quote(answer.records.sentence)),
        facts=(doc.fact("By this answer alone", f"single persons: {answer.alone.numbers}"),),
        sections=(guarantee_section(answer.guarantee),),
        data={
            "asked": answer.asked,
            "numbers": [{"label": label, "value": value} for label, value in numbers],
            "scale": answer.scale,
            "epsilon_records": answer.epsilon_records,
            "delta_records": answer.delta_records,
            "alone": _records_data(answer.alone),
            "records": _records_data(answer.records),
            "guarantee": answer.guarantee.to_json(),
        },
    )


def _noisy(answer: Any) -> str:
    return "" if answer.scale is None else f" (mean error by the noise {upper_text(answer.scale)})"


def _protected(told: Any) -> str:
    return f"Single persons are protected, {told.numbers} for {told.answers:,} answer{'' if told.answers == 1 else 's'}"


def _records_data(told: Any) -> Json:
    return {"epsilon": told.epsilon, "delta": told.delta, "answers": told.answers, "sentence": told.sentence}


# --------------------------------------------------------------------------------------------------
# Which columns may go out as they are, in words and bars: a section of a report, and a document of its own.
# --------------------------------------------------------------------------------------------------


MOST_LISTED_SETS = 8
"""Sets that a table lists; the others are counted."""

MOST_COLUMNS = 15
"""Columns that a table of a report lists, those first that tell most."""

Open = Any
"""An `OpenColumns`, whose room comes after this one."""

REAL_VALUES = "Real values go out, so that single persons are not protected by this."

ONCE = "It is one choice for good: of several sets out of one table all columns together must be within epsilon."


def open_columns_document(found: Open) -> doc.Document:
    """Which sets may go out, what decides it, and what must hold for it."""
    return doc.Document(
        kind="open columns",
        kicker=f"bnpriv open columns at epsilon {full_text(found.epsilon)}",
        headline=_headline(found),
        lead=_lead(found),
        short=_short_open(found, OPEN_NEXT if found.best.columns else "Next: bp.plan(framework, query, epsilon)."),
        number=", ".join(sorted(found.best.columns)),
        sections=(
            replace(_section("The sets that may go out", *_sets(found)), explained=True),
            _section("What each column tells alone", _columns(found, len(found.alone))),
            guarantee_section(found.guarantee),
            trust_section(found.framework.source, found.assumptions, None),
        ),
        data=open_columns_data(found),
    )


def open_table_document(made: Any) -> doc.Document:
    """Which columns of a table are real, which are drawn, and what that promises."""
    real, drawn, missing = sorted(made.found.best.columns), sorted(made.made_up), sorted(made.left_out)
    budget = full_text(made.found.epsilon)
    others = [
        f"{what}: {and_text([name_text(name) for name in names])}."
        for what, names in (("Drawn from the model given these", drawn), ("Left out", missing))
        if names
    ]
    return replace(
        open_columns_document(made.found),
        kind="open table",
        headline=f"{REAL_RECORDS}: a table with {and_text([name_text(name) for name in real])} as "
        f"{'they are' if real[1:] else 'it is'}, epsilon {budget}",
        lead=" ".join(others),
        short=_short_open(made.found, "Next: .table is handed on as it is; no second set of columns goes out.", others),
        data={**open_columns_data(made.found), "real": real, "drawn": drawn, "left_out": dict(made.left_out)},
    )


OPEN_NEXT = 'Single persons are not protected. Next: bp.private_table(..., form="open columns") hands them on.'


def _short_open(found: Open, following: str, others: Sequence[str] = ()) -> tuple[doc.Text, ...]:
    """What columns that go out tell, for which promise, and what to do next."""
    if not found.best.columns:
        return _lead(found), following
    promised = short_guarantee(found.guarantee, "these columns, and whatever is made of them")
    return (_told(found.best), *others, *promised, following)


def open_columns_section(found: Open | None) -> doc.Section | None:
    """What a report says of it; nothing where the secrets are no parameters."""
    if found is None:
        return None
    alone = doc.Section(title="What each column tells alone", blocks=(_columns(found, MOST_COLUMNS),), folded=True)
    said = doc.Paragraph((*_headline(found), ". ", _lead(found)))
    return _section("Columns that may go out as they are", said, *_sets(found), alone)


def _section(title: str, *blocks: doc.Block) -> doc.Section:
    return doc.Section(title=title, blocks=blocks, id=title.lower().replace(" ", "-"))


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
    return doc.Names(tuple(names)), f" may go out exactly as {it} at epsilon {level}"


def _lead(found: Open) -> str:
    closed = found.closed
    shut = f"{some_text(closed)} stay{'s' if len(closed) == 1 else ''} closed." if closed else "No column stays closed."
    if not found.best.columns:
        return f"Each tells more than that by itself, or is not known to tell less. {shut}"
    return f"{REAL_VALUES} {_told(found.best)} Any use of them, any number of times, is within that. {shut}"


def _told(best: Any) -> str:
    """What the columns of a set tell together, with what attains it."""
    worst, one = best.worst, len(best.columns) == 1
    if float(worst) == 0:
        return f"{'Alone it tells' if one else 'Together they tell'} nothing about what is protected."
    reached = f" ({witness_text(worst)})" if witness_text(worst) else ""
    moved = f"{name_text(worst.protected)} {by_times(float(worst))}{_guess(best.kind)}{reached}."
    return f"{'Alone it moves' if one else 'Together they move'} the odds about {moved}"


def _count(found: Open) -> str:
    """How many sets there are, and whether the best of them is proven."""
    many = f"{len(found.sets):,} set{'' if len(found.sets) == 1 else 's'}"
    if found.complete:
        return f"{many} cannot be enlarged." if len(found.sets) > 1 else "Other sets that may go out are parts of it."
    best = "No other is worth more." if found.best_is_proven else "Another may be worth more."
    return " ".join([f"At least {many} may go out: not all were looked at. {best}", *found.notes])


def _sets(found: Open) -> tuple[doc.Block, ...]:
    if not found.best.columns:
        return tuple(map(doc.Paragraph, found.notes))
    rows = [((_against(each.columns, found.best.columns), number_text(each.worth)), each.worst) for each in found.sets]
    caption, more = "Sets that may go out, the most valuable first", _more(rows, MOST_LISTED_SETS, "besides.")
    shown = _table(found, caption, ("goes out", "worth"), rows[:MOST_LISTED_SETS], more, (1, 2))
    return doc.Paragraph(f"{_count(found)} {ONCE}"), shown


def _against(columns: frozenset[str], best: frozenset[str]) -> doc.Text:
    """The columns of a set, those after the best by what differs from it."""
    if columns == best or not columns & best:
        return (doc.Names(tuple(columns)),)
    more, less = doc.Names(tuple(columns - best), most=6), doc.Names(tuple(best - columns), most=6)
    return "the same with ", more, ", without ", less


def _columns(found: Open, most: int) -> doc.Table:
    told = [(name, each) for name, each in found.alone.items() if not isinstance(each, Refusal)]
    told.sort(key=lambda row: (-float(row[1]), row[0]))
    never: dict[Refusal, list[str]] = {}
    for name, each in found.alone.items():
        if isinstance(each, Refusal):
            never.setdefault(each, []).append(name)
    rows = [(((doc.Name(name),), _out(found, each)), each) for name, each in told]
    said = [f"Never: {some_text(names)} ({why.required})." for why, names in never.items()]
    more = " ".join(filter(None, [_more(rows, most, "more, no more telling."), *said]))
    caption = "What each column tells by itself, about the attribute about which it tells most"
    return _table(found, caption, ("column", "goes out"), rows[:most], more, (2,))


def _out(found: Open, told: Influence) -> str:
    if told.columns <= found.best.columns:
        return "yes"
    return "no" if float(told) > found.epsilon else "not beside the others"


ToldRow = tuple[tuple[doc.Text, ...], Influence]
"""The first cells of a row, and what is told."""


def _more(rows: Sequence[ToldRow], most: int, what: str) -> str:
    return f"{len(rows) - most:,} {what}" if len(rows) > most else ""


def _table(
    found: Open, caption: str, first: tuple[str, ...], rows: Sequence[ToldRow], more: str, numbers: tuple[int, ...]
) -> doc.Table:
    """Rows with what is told, as a number and as a bar against epsilon."""
    return doc.Table(
        caption=caption,
        header=(*first, "odds move by at most", "about", ""),
        rows=[(*cells, *_nats(found, told)) for cells, told in rows],
        numbers=numbers,
        more=more,
        drawn=f"drawn: what is told, in nats, against epsilon {full_text(found.epsilon)} at the line",
    )


def _nats(found: Open, told: Influence) -> tuple[doc.Text | doc.Cell, ...]:
    size = f"{times_text(float(told))}{_guess(told.kind)}"
    bar = budget_bar(float(told), found.epsilon, title=f"{some_text(told.columns)}: {size}")
    return size, name_text(told.protected), doc.Cell("", drawing=bar)


def _guess(kind: str) -> str:
    return " (estimate)" if kind == "estimate" else ""
