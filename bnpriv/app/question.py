"""The fifth and sixth step: the question, and how strongly its answer is protected."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from bnpriv import checks
from bnpriv.app.forms import FieldError, SentForm, at, choice, entry, group, labelled, refusal, sending, shown, ticks
from bnpriv.app.memory import declared, plan_at
from bnpriv.app.state import Draft, Place
from bnpriv.core.columns import Categorical
from bnpriv.core.frameworks.question import Framework, own_query, require_query
from bnpriv.core.queries.base import Query
from bnpriv.core.queries.predicates import literal, quoted
from bnpriv.core.schema import Schema
from bnpriv.errors import BnprivError, ParameterError
from bnpriv.io.query_text import parse_query
from bnpriv.lab.leaks import leak_line, leaks
from bnpriv.render import html
from bnpriv.render.as_html import block, inline
from bnpriv.render.document import Facts
from bnpriv.render.html import Html, element, join
from bnpriv.tables.evaluate import require_answerable
from bnpriv.tables.private_table.private_table import TablePlan, plan_table
from bnpriv.tables.readings import Writing, day_text, number
from bnpriv.text import by_times, full_text, upper_text, visible
from bnpriv.views.calibration import derived_facts, errors_text, refused, verdict_badge
from bnpriv.views.cards import belief_fact, belief_table, protected_fact
from bnpriv.views.private_table import REAL_RECORDS, how_text
from bnpriv.views.words import mechanism_text

WHATS = {
    "count": ("how many records meet a condition", "count({condition})"),
    "share": ("which share of the records meets a condition", "proportion({condition})"),
    "mean": ("the mean of a column", "mean({column})"),
    "median": ("the median of a column", "median({column}{edges})"),
    "quantile": ("quantiles of a column", "quantile({column}, [{shares}]{edges})"),
    "total": ("the sum of a column", "total({column})"),
    "std": ("the standard deviation of a column", "std({column})"),
    "variance": ("the variance of a column", "variance({column})"),
    "histogram": ("how many records have each label, or lie in each range", "histogram({column}{edges})"),
    "groups": ("how many records meet a condition, in every group", "count({condition}) by {column}"),
    "crosstab": ("how many records have each two labels of two columns", "crosstab({column}, {other})"),
    "covariance": ("the covariance of two columns", "covariance({column}, {other})"),
}
"""What can be asked, and the text of the question, in which the fields stand that it uses."""

COMPARISONS = {"==": "is", "!=": "is not", ">=": "is at least", ">": "is above", "<=": "is at most", "<": "is below"}
CONDITIONS, MOST_OPTIONS, MOST_AGAIN = 4, 60, 8
"""Conditions that can be chosen; labels of a column that are listed; questions that can be taken again."""


def show_question(place: Place, state: Draft, form: SentForm) -> Html:
    """The page on which a question is built or written, with what it would leak."""
    framework = declared(state)
    parts: list[Html] = []
    if state.query and not form.problems:
        going = element("a", "Go on to the strength", href="/strength", class_="go", data_waits="Working it out ...")
        parts = [element("p", "Your question: ", html.code(state.query), class_="lead"), _leak(framework, state.query)]
        parts.append(element("p", going, element("span", role="status", class_="waits")))
    parts.append(sending("question", _building(form, state, framework.schema), button="Build it"))
    hint = 'As count(height > 180 & ward == "lungs") or mean(days); & is and, | is or, ~ is not.'
    text = entry(form, "query", "The question as text", state.query or own_query(framework) or "", hint)
    parts.append(sending("question", group("Or write it", text), button="See what it would leak"))
    asked = [(str(k), visible(each)) for k, each in enumerate(state.queries) if each != state.query]
    if asked:
        again = group("Or take one again", choice(form, "again", "Asked before", asked))
        parts.append(sending("question", again, button="Take it again"))
    return join(*parts)


def _leak(framework: Framework, query: str) -> Html:
    """What the exact answer would tell about what is protected, then about everything else."""
    try:
        found = leaks(framework, query)
    except BnprivError as error:
        return refusal(error)
    hidden = {secret.attribute for secret in framework.protected_secrets}
    lines = [element("li", inline(leak_line(row))) for row in found.rows if row.attribute in hidden]
    one = "" if found.level == "parameters" else ", already by what one record adds (all together tell more)"
    title = element("h2", "If its answer were published as it is")
    folded = element("details", element("summary", "What it tells about every column"), shown(found))
    return join(title, element("p", f"It would tell about what must stay hidden{one}:"), element("ul", *lines), folded)


def _building(form: SentForm, state: Draft, schema: Schema) -> Html:
    """The fields to build a question with; the script hides those that the question does not use."""
    columns = [(str(k), _said(schema, name)) for k, name in enumerate(schema.columns)]
    subjects = [("", "a label or a column ..."), *((key, said) for key, (_, _, said) in _subjects(schema).items())]
    first, *others = (
        element(
            "div", choice(form, f"subject.{k}", f"Condition {k + 1}", subjects),
            choice(form, f"sign.{k}", "How?", COMPARISONS.items()),
            element("div", entry(form, f"value.{k}", "Value"), data_if=f"subject.{k}", data_in="^[0-9]+$"),
            class_="condition",
        )
        for k in range(CONDITIONS)
    )  # fmt: skip
    joined = choice(form, "join", "Which of them must hold?", (("&", "all of them"), ("|", "at least one")))
    opened = any(form.text(f"subject.{k}") for k in range(1, CONDITIONS))
    more = element("details", element("summary", "More conditions"), joined, *others, open=opened)
    hint = "Numbers from the least to the largest, as 0, 10, 20. For labels: those that count, or empty for all."
    together = ticks(form, "together", "And", [("yes", "In one release with the question above")], [], "checkbox")
    return group(
        "Build another question" if state.query else "Build a question",
        choice(form, "what", "What do you ask?", [(what, said) for what, (said, _) in WHATS.items()]),
        _when("condition", first, more), _when("column", choice(form, "column", "Of which column?", columns)),
        _when("other", choice(form, "other", "And of which other column?", columns)),
        _when("shares", entry(form, "shares", "Which quantiles?", "0.25, 0.5, 0.75", "Shares between 0 and 1.")),
        _when("edges", entry(form, "edges", "Edges of its ranges", "", hint)), together if state.query else Html(),
    )  # fmt: skip


def _when(used: str, *fields: Html) -> Html:
    whats = "|".join(what for what, (_, text) in WHATS.items() if re.search(f"{{({used})}}", text))
    return element("div", *fields, data_if="what", data_in=f"^({whats})$")


def _subjects(schema: Schema) -> dict[str, tuple[str, Any, str]]:
    """All labels, each with its column, and the columns of numbers; and how each is shown."""
    found: dict[str, tuple[str, Any, str]] = {}
    for k, (name, column) in enumerate(schema.columns.items()):
        labels = getattr(column, "categories", ())
        listed = labels if len(labels) <= MOST_OPTIONS else ()
        for n, label in enumerate(listed):
            found[f"{k}.{n}"] = name, label, f"{visible(name)}: {visible(str(label))}"
        if not listed:
            found[str(k)] = name, None, _said(schema, name)
    return found


def _said(schema: Schema, name: str) -> str:
    """A column with its bounds, or the number of its labels."""
    column, days = schema.columns[name], name in getattr(schema.dialect, "dates", ())
    if isinstance(column, Categorical):
        return f"{visible(name)} ({len(column.categories):,} labels)"
    said = day_text if days else full_text
    return f"{visible(name)} ({said(column.lower)} to {said(column.upper)})"


def take_question(place: Place, state: Draft, form: SentForm) -> Draft:
    """A question that fits the columns."""
    framework = declared(state)
    field = next((each for each in ("what", "again") if form.text(each)), "query")
    text = _built(form, framework.schema) if field == "what" else form.text("query")
    if field == "again":
        text = _picked(form, field, {str(k): each for k, each in enumerate(state.queries)})
    if form.every("together"):
        text = f"stack({state.query}, {text})"
    with at(field):
        require_query(framework, _fits(field, text, framework.schema))
    kept = tuple(dict.fromkeys((text, *state.queries)))[:MOST_AGAIN]
    return replace(state, query=text, queries=kept, mechanism=state.mechanism if text == state.query else "")


def _fits(field: str, text: str, schema: Schema | None) -> Query:
    """Refuse beside its field what is no question, or what the columns do not answer."""
    with at(field):
        query = parse_query(text)
        if schema is not None:
            require_answerable(query, schema)
    return query


def _picked(form: SentForm, field: str, known: Mapping[str, Any]) -> Any:
    with at(field):
        return known[checks.member("what is chosen", form.text(field), known, error=ParameterError)]


def _built(form: SentForm, schema: Schema) -> str:
    """The text of what was chosen; each part is tried by itself, so that a refusal stands beside its field."""
    _, text = _picked(form, "what", WHATS)
    used, parts = re.findall("{(.*?)}", text), {"shares": form.text("shares"), "edges": ""}
    names = {str(k): name for k, name in enumerate(schema.columns)}
    for field in [each for each in ("column", "other") if each in used]:
        parts[field] = quoted(_picked(form, field, names))
        if form.text("what") not in ("histogram", "groups", "crosstab"):  # those count, and need no numbers
            _fits(field, f"total({parts[field]})", schema)
    if "condition" in used:
        parts["condition"] = _condition(form, schema)
    if "shares" in used:
        _fits("shares", f"quantile(x, [{parts['shares']}])", None)
    listed = [each.strip() for each in re.split("[,;]", form.text("edges"))]
    if "edges" in used and any(listed):
        with at("edges"):
            own = [_constant(each, names[form.text("column")], schema, math.inf) for each in listed]
            parts["edges"] = f", [{', '.join(own)}]"
    made = text.format_map(parts)
    _fits("what" if used[-1] == "condition" else used[-1], made, schema)
    return made


def _condition(form: SentForm, schema: Schema) -> str:
    """The conditions that were chosen, joined."""
    made: list[str] = []
    for k in range(CONDITIONS):
        if not form.text(f"subject.{k}"):
            continue
        name, label, _ = _picked(form, f"subject.{k}", _subjects(schema))
        with at(f"value.{k}"):
            value = _constant(form.text(f"value.{k}"), name, schema) if label is None else literal(label)
        made.append(f"{quoted(name)} {form.text(f'sign.{k}', '==')} {value}")
        _fits(f"sign.{k}", f"count({made[-1]})", schema)
    with at("subject.0"):
        if not made:
            raise ParameterError("a condition is needed", found="none", remedy="Choose a label, or a column.")
    return f" {form.text('join') or '&'} ".join(made)


def _constant(text: str, name: str, schema: Schema, beyond: float = 0.0) -> str:
    """A label, or a number or date at most so far beyond the bounds, as the text of a question writes it."""
    column, days = schema.columns[name], name in getattr(schema.dialect, "dates", ())
    if isinstance(column, Categorical):
        known = {str(each): each for each in column.categories}
        return literal(known[checks.member("a label", text, known, error=ParameterError)])
    value = number(text, Writing(dates="YYYY-MM-DD" if days else ""))
    if not (math.isfinite(value) and column.lower - beyond <= value <= column.upper + beyond):
        raise ParameterError(
            f"a {'date' if days else 'number'} is needed that the column may hold, {_said(schema, name)}",
            found=checks.cut(text) if text else "nothing",
            remedy="Write one between the two, as they are written.",
        )
    return text if days else literal(int(value) if value.is_integer() and abs(value) < 2**53 else value)


def show_strength(place: Place, state: Draft, form: SentForm) -> Html:
    """The page with the slider; what stands under it follows the slider."""
    slider = element(
        "input", type="range", name="slide", id="slide", min="-3", max="1", step="0.05", aria_controls="said live",
        value=f"{min(1.0, max(-3.0, math.log10(state.epsilon))):.2f}", data_live="/strength/live",
    )  # fmt: skip
    look, slide = (
        element("p", element("button", said, type="submit", name="act", value=act), data_plain=True)
        for act, said in (("look", "Work it out for this epsilon"), ("slide", "Take the epsilon of the slider"))
    )
    small = "The smaller, the less a belief can move, and the more the answer is off."
    rare = "With at most this probability a belief may move further; 0 for never. Some ways to hide an answer need "
    rare += f"one, far below one over the number of records, {1 / declared(state).schema.records:.2g}."
    fields = group(
        "How strong?", entry(form, "epsilon", "Epsilon", full_text(state.epsilon), small, inputmode="decimal"), look,
        labelled(form, "slide", "Or slide: from 0.001, very strong, to 10, very weak", slider), slide,
        entry(form, "delta", "Delta", full_text(state.delta), rare, inputmode="decimal"),
    )  # fmt: skip
    asked = element("p", "Your question: ", html.code(state.query), class_="lead")
    live = live_strength(state, form)
    return sending("strength", asked, fields, live, button="Go on to the release", waits="Working it out ...")


def live_strength(state: Draft, form: SentForm) -> Html:
    """What stands under the slider: in short what is said aloud, then all of it; or the refusal of epsilon or delta."""
    try:
        told, more = _ways(_strength(state, form) if form.values else state, form)
    except FieldError as wrong:
        # a page that was refused has the refusal beside its field already
        beside = [] if form.problems else [refusal(wrong.error, f"{wrong.field}-refusal")]
        told, more = [element("p", "Refused.")], beside
    return join(element("div", *told, id="said", role="status"), element("div", *more, id="live"))


def _strength(state: Draft, form: SentForm) -> Draft:
    """Epsilon, delta, and the way to release, as they were written and chosen."""
    epsilon, delta = form.number("epsilon"), form.number("delta") or 0.0
    if form.text("act") == "slide":
        epsilon = float(f"{10 ** min(3.0, form.number('slide') or 0.0):.2g}")
    with at("epsilon"):
        if epsilon is None:
            raise ParameterError("epsilon is needed", found="none", remedy="Write a number above 0, as 1.")
        checks.epsilon(epsilon)
    with at("delta"):
        checks.delta(delta)
    way = "table" if form.text("form", state.form) == "table" else "answer"
    return replace(state, epsilon=epsilon, delta=delta, mechanism=form.text("mechanism", state.mechanism), form=way)


def _table(state: Draft) -> TablePlan:
    """What a private table would be that promises as much and answers this question too."""
    with at("form"):
        found = plan_table(declared(state), state.epsilon, state.delta, queries=[state.query])
        _ = found.best
    return found


def _ways(state: Draft, form: SentForm) -> tuple[list[Html], list[Html]]:
    """What is said of the way to release that was chosen; and every way, with how far its answer is off."""
    with at("epsilon"):
        made = plan_at(state.framework, state.query, state.epsilon, state.delta)
    form = replace(form, values={})  # what was chosen before may be impossible at this epsilon
    picked = state.mechanism if state.mechanism in (str(each.mechanism) for each in made) else ""
    ways, promise, more = list[tuple[str, str]](), None, list[Html]()
    told = "Nothing hides this answer at this strength; why stands below."
    if made.calibrations:
        best = made.of(picked) if picked else made.best
        behind = derived_facts(best)
        more += [block(Facts(behind))] if behind else []
        off = f"{'worked out of numbers ' if behind else ''}{_off(best.expected_error)}"
        ways = [("answer", f"The answer alone, {off}.")]
        told = f"The answer is {off}, in 95 % of releases by at most {errors_text(best)}. "
        promise, told = best.guarantee, (told if best.expected_error else "") + str(best.useful)
        least, said = ("", html.escape("The one whose answer is off least")), list[tuple[str, Html]]()
        for each in made:
            words = inline((verdict_badge(each), f" {_off(each.expected_error).capitalize()}. "))
            said.append((str(each.mechanism), join(words, inline(mechanism_text(each.mechanism)))))
        more.append(ticks(form, "mechanism", "How is the answer hidden?", [least, *said], [picked], "radio"))
    more += [element("p", made.too_few)] if made.too_few else []
    more += [block(section) for section in (*refused(made.refusals), *([made.closer.section] if made.closer else []))]
    try:
        table = _table(state)
        with at("form"):
            off = _off(table.errors.get(table.best.form, (math.inf,))[0])
        often = "It answers every other question too, or is handed on, for the same epsilon once."
        ways.append(
            ("table", f"A private table, with this answer {off}. {often} {how_text(table.best)} {REAL_RECORDS}.")
        )
        if state.form == "table" or promise is None:
            promise, told = table.best.guarantee, f"Read off a private table this answer is {off}."
    except FieldError as wrong:
        more.append(element("details", element("summary", "Why no private table"), refusal(wrong.error)))
    way = state.form if state.form in dict(ways) else next(iter(dict(ways)), "")
    what = ticks(form, "form", "What will you release?", ways, [way], "radio")
    if promise is None:
        return [element("p", told)], [what, *more]
    moved = [element("p", inline(line), class_="big-line") for line in belief_fact(promise).lines]
    odds = f"The odds between two secrets move {by_times(promise.nats)}. " if promise.with_belief else ""
    kept = block(Facts((protected_fact(promise.secrets),)))
    return [*moved, element("p", odds, told)], [kept, block(belief_table(promise)), what, *more]


def _off(error: float) -> str:
    return f"off by {upper_text(error)} on average" if math.isfinite(error) else "off by nobody knows how much"


def take_strength(place: Place, state: Draft, form: SentForm) -> Draft:
    """Epsilon, delta, and what is released how; what cannot be is refused once one goes on."""
    new = _strength(state, form)
    with at("epsilon"):
        made = plan_at(new.framework, new.query, new.epsilon, new.delta)
    if form.text("act"):
        return new
    with at("mechanism" if made.calibrations else "form"):
        _ = _table(new) if new.form == "table" else made.of(new.mechanism) if new.mechanism else made.best
    return new
