"""Private tables as documents: how one is made, what it promises, and the forms side by side."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from bnpriv.errors import Refusal
from bnpriv.render.document import Block, Code, Document, Fact, Paragraph, Quote, Section, Table, fact
from bnpriv.text import Json, full_text, number_text, rounded_up
from bnpriv.views.calibration import guarantee_section
from bnpriv.views.cards import belief_section, observer_fact, protected_fact, sureness_fact

REAL_RECORDS = "Single persons are not protected, real records are handed on"

INSIDE = "The table stays inside. One guarantee hides its numbers, whatever is asked; what single records lose adds up."

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


def _facts(rule: Any, seen: str = "the table, or whatever is made of it,") -> tuple[Fact, ...]:
    guarantee = rule.guarantee
    return (
        protected_fact(guarantee.secrets),
        observer_fact(guarantee.observer, seen),
        fact("How it is made", how_text(rule)),
        *(() if rule.law is None else (fact("What it leans on", _leans(rule)),)),
        sureness_fact(guarantee),
    )


def _leans(rule: Any) -> str:
    """How much the promise hangs on the law that records are made up from (docs/claims/private_table_fill.md)."""
    places = rule.classes.moved * (1 if len(rule.classes) == 2 else 2)
    return (
        "On the law of a whole record given its class, more than a release does: were it wrong in 1 of 1,000 records, "
        f"delta would grow by up to {number_text(min(1.0, places / 1000))}. A trimmed table leans on no law."
    )


def table_document(made: Any) -> Document:
    """How a private table was made, what it promises, and what its records stand for."""
    rule = made.rule
    rows = [
        (label, f"{size:,}", number_text(float(weight)))
        for (label, weight), size in zip(made.weights.items(), made.sizes, strict=True)
    ]
    classes = Table(
        caption="The records that are handed on, and how many of the true table each stands for",
        header=("class", "records", "each stands for"),
        rows=rows,
        numbers=(1, 2),
    )
    return Document(
        kind="private table",
        headline=f"{REAL_RECORDS}: a private table of {sum(made.sizes):,} records, {_budget(rule.guarantee)}",
        lead=ANY_USE,
        answer=(classes,),
        facts=(*_facts(rule), fact("What is kept", KEPT_NOWHERE), *(() if made.mark is None else (made.mark.fact,))),
        sections=(
            guarantee_section(rule.guarantee),
            *([belief_section(rule.guarantee)] if rule.guarantee.with_belief else []),
        ),
        data=table_data(made),
    )


def report_document(report: Any) -> Document:
    """A private table with answers for the true one, first of all."""
    whole = table_document(report.made)
    rows = [((Code(query),), ", ".join(map(number_text, values))) for query, values in report.answers.items()]
    caption = "Answers for the true table, estimated from this one"
    answers = Table(caption=caption, header=("query", "answer"), rows=rows, numbers=(1,))
    shown = (Section(title="Answers", id="answers", blocks=(answers,)),) if rows else ()
    data = {**whole.data, "answers": [{"query": each, "values": list(told)} for each, told in report.answers.items()]}
    return replace(whole, sections=(*shown, *whole.sections), data=data)


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


def plan_document(plan: Any) -> Document:
    """The forms of a private table side by side."""
    rows: list[tuple[str, ...]] = []
    refused: list[str] = []
    for form, rule in plan.forms.items():
        if isinstance(rule, Refusal):
            refused.append(f"{form}: {rule}")
            continue
        left, made = plan.left_out(form), plan.made_up(form)
        rows.append((form, _budget(rule.guarantee), f"{left:,.0f}", "none" if rule.law is None else f"{made:,.3g}"))
    blocks: list[Block] = [
        Table(
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
    sections = [Section(title="Forms of the table", id="forms", blocks=tuple(blocks))] if possible else []
    if refused:
        sections.append(
            Section(title="Forms that cannot be", id="refused", blocks=tuple(map(Paragraph, refused)), folded=possible)
        )
    return Document(
        kind="table plan",
        headline=f"{REAL_RECORDS}: a private table, {best.form}, {_budget(best.guarantee)}"
        if best is not None
        else "No private table of this kind can be handed on",
        lead=ANY_USE if possible else "",
        facts=() if best is None else _facts(best),
        sections=tuple(sections),
        data=_plan_data(plan),
    )


def _errors_table(plan: Any) -> Table:
    forms = list(plan.errors)
    rows = [
        ((Code(str(query)),), *(_error_text(plan.errors[form][place]) for form in forms))
        for place, query in enumerate(plan.queries)
    ]
    return Table(
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


def beside_section(beside: Any) -> Section:
    """A private table of the same strength, beside the release of one answer."""
    best, rule = beside.calibration, beside.rule
    budget = f"epsilon={rule.guarantee.epsilon:g}" + (f", delta={best.delta:g}" if rule.guarantee.delta else "")
    error = number_text(beside.error)
    return Section(
        title="Hand on a table instead",
        id="table",
        blocks=(
            Paragraph(
                f"A private table of the same strength ({rule.form}) gives this answer with a mean error of {error}, "
                f"where this release has {number_text(best.expected_error)}; and it answers every other question too, "
                "any number of times, or is handed on as it is, for the same epsilon once."
            ),
            Paragraph(("To have it: ", Code(f"bp.private_table(framework, data, {budget}, records_may_be_seen=True)"))),
            Paragraph(f"{REAL_RECORDS}.", soft=True),
        ),
    )


def hidden_document(kept: Any) -> Document:
    """What the answers of a hidden table promise, and what they have told of single records by now."""
    rule, spent = kept.rule, kept.spent_records
    return Document(
        kind="hidden table",
        headline=f"{_protected(spent)}: a hidden table, {_budget(rule.guarantee)} for the numbers that it hides",
        lead=INSIDE,
        answer=(Quote(spent.sentence),),
        facts=_facts(rule, "any number of answers"),
        sections=(guarantee_section(kept.guarantee),),
        data={"form": rule.form, "records": _records_data(spent), "guarantee": kept.guarantee.to_json()},
    )


def answer_document(answer: Any) -> Document:
    """An answer of a hidden table with both promises."""
    numbers = list(zip(answer.labels, answer.numbers, strict=True))
    rows = [(label, number_text(value), number_text(answer.scale)) for label, value in numbers]
    header = ("number", "answer", "mean error by the noise")
    blocks = (Table(caption="The answer for the true table", header=header, rows=rows, numbers=(1, 2)),) if rows else ()
    return Document(
        kind="hidden answer",
        headline=f"{_protected(answer.records)}: the answer to {answer.asked}",
        answer=(*blocks, Quote(answer.records.sentence)),
        facts=(fact("By this answer alone", f"single persons: {answer.alone.numbers}"),),
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


def _protected(told: Any) -> str:
    return f"Single persons are protected, {told.numbers} for {told.answers:,} answer{'' if told.answers == 1 else 's'}"


def _records_data(told: Any) -> Json:
    return {"epsilon": told.epsilon, "delta": told.delta, "answers": told.answers, "sentence": told.sentence}
