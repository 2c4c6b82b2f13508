"""The fifth and sixth step: the question, and how strongly its answer is protected."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from bnpriv.app.forms import Form, at, choice, entry, group, refusal, sending, shown, ticks
from bnpriv.app.memory import declared, plan_at
from bnpriv.app.state import Place, State
from bnpriv.errors import BnprivError, ParameterError
from bnpriv.render import html
from bnpriv.render.as_html import block, inline
from bnpriv.render.html import Html, element, join
from bnpriv.text import number_text, upper_text

if TYPE_CHECKING:
    from bnpriv.core.mechanisms.base import Calibration
    from bnpriv.core.queries.base import Query
    from bnpriv.core.schema import Column

ACCOUNT = "data"
"""Of the table in the ledger, as the shell names it."""

# --------------------------------------------------------------------------------------------------
# Question: built by choosing, or written.
# --------------------------------------------------------------------------------------------------

WHATS = (
    ("count", "how many records have it"),
    ("proportion", "which share of the records has it"),
    ("mean", "the mean of the column"),
    ("total", "the sum of the column"),
    ("histogram", "how many records have each label, or lie between each two numbers"),
)
SIGNS = (
    ("==", "is"),
    ("!=", "is not"),
    (">=", "is at least"),
    (">", "is above"),
    ("<=", "is at most"),
    ("<", "is below"),
)


def show_question(place: Place, state: State, form: Form) -> Html:
    """The page on which a question is built or written, with what it would leak."""
    framework = declared(state)
    names = list(framework.schema.columns)
    columns = [(str(k), name) for k, name in enumerate(names)]
    built = group(
        "Or build it",
        choice(form, "what", "What do you ask?", WHATS, "count"),
        choice(form, "column", "Of which column?", columns),
        choice(form, "sign", "Condition", SIGNS),
        entry(form, "value", "Value", "", "A label or a number; for a histogram of numbers its edges: 0, 10, 20."),
        element("p", element("button", "Build the question", type="submit", name="act", value="build")),
    )
    asked = group(
        "Write it", entry(form, "query", "The question", state.query, 'As count(height > 180) or mean("days").')
    )
    parts = [sending("question", asked, built, button="See what it would leak", waits="Working it out ...")]
    if state.query and not form.problems:
        parts = [element("p", "Your question: ", html.code(state.query), class_="lead"), _leak(state), *parts]
        parts.insert(2, element("p", element("a", "Go on to the strength", href="/strength", class_="go")))
    return join(*parts)


def _leak(state: State) -> Html:
    """What the question would leak; a refusal in its place where that cannot be said."""
    from bnpriv.lab.leaks import leaks

    try:
        return shown(leaks(declared(state), state.query))
    except BnprivError as error:
        return refusal(error)


def take_question(place: Place, state: State, form: Form) -> State:
    """A question that fits the columns."""
    from bnpriv.core.frameworks.question import require_query
    from bnpriv.io.query_text import parse_query
    from bnpriv.tables.evaluate import require_answerable

    framework = declared(state)
    if form.text("act") == "build":
        with at("value"):
            query = _built(form, framework.schema.columns)
    else:
        with at("query"):
            query = parse_query(form.text("query"))
    with at("query" if form.text("act") != "build" else "value"):
        require_answerable(require_query(framework, query), framework.schema)
    return replace(state, query=str(query), mechanism="" if str(query) != state.query else state.mechanism)


def _built(form: Form, columns: Mapping[str, Column]) -> Query:
    from bnpriv.core.columns import Categorical
    from bnpriv.core.queries import asked
    from bnpriv.core.queries.predicates import col

    k, what = form.text("column"), form.text("what")
    name = list(columns)[int(k) if k.isdecimal() and int(k) < len(columns) else 0]
    labelled, value = isinstance(columns[name], Categorical), form.text("value")
    if what in ("mean", "total"):
        return cast("Query", (asked.mean if what == "mean" else asked.total)(name))
    if what == "histogram":
        parts = [each.strip() for each in value.split(",") if each.strip()]
        bins = cast("list[str | float]", parts if labelled else [_number(each) for each in parts])
        return cast("Query", asked.histogram(name, bins or None))
    constant = value if labelled else _number(value)
    compared: Mapping[str, Callable[[], object]] = {
        "==": lambda: col(name) == constant, "!=": lambda: col(name) != constant,
        ">=": lambda: col(name) >= constant, ">": lambda: col(name) > constant,
        "<=": lambda: col(name) <= constant, "<": lambda: col(name) < constant,
    }  # fmt: skip
    predicate = compared.get(form.text("sign"), compared["=="])()
    return cast("Query", (asked.proportion if what == "proportion" else asked.count)(predicate))  # type: ignore[arg-type]


def _number(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        raise ParameterError(
            "a column of numbers is compared with a number", found="something else", remedy="Write it as 180 or 0.5."
        ) from None
    return int(number) if number == number and abs(number) < 2**53 and number == int(number) else number


# --------------------------------------------------------------------------------------------------
# Strength: epsilon, what it does to a belief, and what each mechanism would err.
# --------------------------------------------------------------------------------------------------


def show_strength(place: Place, state: State, form: Form) -> Html:
    """The page with the slider; what stands under it follows the slider."""
    sliding = element(
        "input", type="range", id="slider", min="-3", max="1", step="0.05", aria_label="Epsilon, sliding",
        data_live="/strength/live", aria_controls="live",
    )  # fmt: skip
    fields = group(
        "How strong?",
        entry(
            form, "epsilon", "Epsilon", f"{state.epsilon:g}",
            "The smaller, the less a belief can move, and the larger the error.", inputmode="decimal",
        ),
        sliding,
        entry(
            form, "delta", "Delta", f"{state.delta:g}", "What the bound may leave out; 0 for none.", inputmode="decimal"
        ),
    )  # fmt: skip
    live = element("div", _live(state, form), id="live", aria_live="polite")
    return sending("strength", fields, live, button="Go on to the release")


def live_strength(state: State, form: Form) -> Html:
    """What stands under the slider, for an epsilon that was not sent off yet."""
    try:
        epsilon, delta = form.number("epsilon"), form.number("delta")
        return _under(replace(state, epsilon=epsilon or 0.0, delta=delta or 0.0), Form())
    except BnprivError as error:
        return refusal(error)


def _live(state: State, form: Form) -> Html:
    try:
        return _under(state, form)
    except BnprivError as error:
        return refusal(error)


def _under(state: State, form: Form) -> Html:
    from bnpriv.views.cards import belief_fact, belief_table
    from bnpriv.views.words import mechanism_text

    made = plan_at(state.framework, state.query, state.epsilon, state.delta)
    best = made.best
    told = belief_fact(best.guarantee)
    lines = [element("p", inline(line), class_="big-line") for line in told.lines]
    lines.append(element("p", f"Error beside it: {upper_text(best.expected_error)} on average. {best.useful}"))
    rows = [(str(each.mechanism), _row(inline(mechanism_text(each.mechanism)), each)) for each in made.calibrations]
    first = ("", join("The one that errs least: ", element("code", str(best.mechanism))))
    which = ticks(form, "mechanism", "Which mechanism?", [first, *rows], [state.mechanism], "radio")
    beside = [element("h2", "Or a whole private table"), shown(made.table)] if hasattr(made.table, "document") else []
    return join(
        *lines,
        block(belief_table(best.guarantee)),
        which,
        *beside,
        element("details", element("summary", "All that was compared"), shown(made, folded=False)),
    )


def _row(said: Html, each: Calibration) -> Html:
    return join(
        said,
        element("span", f" errs {number_text(each.expected_error)} on average, {each.useful.verdict}", class_="soft"),
    )


def take_strength(place: Place, state: State, form: Form) -> State:
    """Epsilon, delta and the mechanism."""
    epsilon, delta = form.number("epsilon"), form.number("delta")
    with at("epsilon"):
        if epsilon is None:
            raise ParameterError("epsilon is needed", found="none", remedy="Write a number above 0, as 1.")
        made = plan_at(state.framework, state.query, epsilon, delta or 0.0)
        _ = made.best
    mechanism = form.text("mechanism")
    with at("mechanism"):
        if mechanism:
            _ = made.of(mechanism)
    return replace(state, epsilon=epsilon, delta=delta or 0.0, mechanism=mechanism)
