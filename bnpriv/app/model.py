"""The third and fourth step: what must stay hidden, and how columns depend on each other."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import TYPE_CHECKING

from bnpriv.app.columns import known_of, names_of
from bnpriv.app.forms import Form, at, entry, group, paragraphs, refusal, sending, shown, ticks
from bnpriv.app.memory import declared
from bnpriv.app.state import Hidden, Place, State
from bnpriv.errors import ParameterError
from bnpriv.io.starter.files import ASK_BEHIND, ASK_SINGLE, ASK_THIS
from bnpriv.render import html
from bnpriv.render.html import Html, element, join

if TYPE_CHECKING:
    from bnpriv.core.frameworks.question import Framework

# --------------------------------------------------------------------------------------------------
# Secret: which notion is meant, by questions, and what must stay hidden.
# --------------------------------------------------------------------------------------------------

NOTIONS = (
    ("single", f"Single persons. {ASK_SINGLE.removesuffix(' [y/n] ')}"),
    ("dataset", f"This table. {ASK_THIS.removesuffix(' [y/n] ')}"),
    ("distributional", f"What lies behind it. {ASK_BEHIND.removesuffix(' [y/n] ')}"),
)


def show_secret(place: Place, state: State, form: Form) -> Html:
    """The page that asks which notion is meant, and which columns are protected how far."""
    if state.given:
        return join(paragraphs("What is secret is as the framework file says."), shown(declared(state)))
    known = known_of(state)
    notion = ticks(form, "notion", "What must stay hidden?", NOTIONS, [state.notion], "radio")
    parts: list[Html] = []
    for k, (name, each) in enumerate(known.columns.items()):
        if name in known.left_out or each.column is None:
            continue
        held = state.hidden.get(name)
        parts.append(_protected(form, k, name, held, _usual(name, each.column), state.records or 1))
    example = (
        "Choose one or more columns; the number that is hidden can be changed. 'How far apart' is how different two "
    )
    example += "tables may be that nobody is to tell apart, in records."
    wrong = [refusal(form.problems[name], f"{name}-refusal") for name in ("protect",) if name in form.problems]
    return sending(
        "secret", notion, group("Which columns?", element("p", example, class_="hint"), *parts, id_="protect"),
        *wrong, button="Go on to the model",
    )  # fmt: skip


def _usual(name: str, column: object) -> str:
    from bnpriv.io.starter.started import usual_property

    return str(usual_property(name, column))  # type: ignore[arg-type]


def _protected(form: Form, k: int, name: str, held: Hidden | None, usual: str, records: int) -> Html:
    from bnpriv.io.starter.started import usual_distance

    on = str(k) in form.every("protect") if form.values else held is not None
    near = held.at_most if held and held.at_most else usual_distance(records)
    middle = records // 2
    box = element(
        "div",
        element("input", type="checkbox", name="protect", id=f"protect-{k}", value=str(k), checked=on),
        element("label", html.name(name), for_=f"protect-{k}"),
        class_="tick",
    )
    hint = (
        f"As {near:,}: whether {middle - near // 2:,} or {middle - near // 2 + near:,} of {records:,} cannot be told."
    )
    fields = join(
        entry(form, f"property.{k}", f"The number of {name} that is hidden", (held and held.property) or usual),
        entry(form, f"apart.{k}", "How far apart, in records", near, hint, inputmode="numeric"),
    )
    folded = element(
        "details", element("summary", f"What of {html.TAG.sub('', name)}, and how far apart"), fields, open=on
    )
    return element("div", box, folded, class_="protected")


def take_secret(place: Place, state: State, form: Form) -> State:
    """The notion, and what is protected."""
    from bnpriv.io.query_text import parse_query

    if state.given:
        return state
    notion = form.text("notion")
    with at("notion"):
        if notion not in ("dataset", "distributional"):
            raise ParameterError(
                "attribute privacy hides a property of a column, never a single record",
                found="single records to be hidden" if notion == "single" else "nothing chosen",
                remedy="Use differential privacy for that, for example OpenDP (docs.opendp.org)."
                if notion == "single"
                else "Choose what must stay hidden.",
            )
    names = list(known_of(state).columns)
    picked = {int(each) for each in form.every("protect") if each.isdecimal() and int(each) < len(names)}
    hidden: dict[str, Hidden] = {}
    for k in sorted(picked):
        with at(f"property.{k}"):
            text = str(parse_query(form.text(f"property.{k}")))
        near = form.whole(f"apart.{k}")
        with at(f"apart.{k}"):
            if near is None or near < 1:
                raise ParameterError("how far apart is at least 1 record", found="less", remedy="Write 1 or more.")
        hidden[names[k]] = Hidden(property=text, at_most=near)
    with at("protect"):
        if not hidden:
            raise ParameterError("something must be hidden", found="no column", remedy="Choose at least one.")
    if (notion, hidden) == (state.notion, dict(state.hidden)):
        return state
    return replace(state, notion=notion, hidden=hidden, framework="")


# --------------------------------------------------------------------------------------------------
# Model: how the columns of a record depend on each other.
# --------------------------------------------------------------------------------------------------


def show_model(place: Place, state: State, form: Form) -> Html:
    """The page with the network: drawn, learned anew, or with edges of one's own."""
    drawn = [shown(_network(declared(state)))] if state.framework else []
    if state.given:
        return join(paragraphs("The model is as the framework file says."), *drawn)
    learned = "Empty: edges are looked for in the public table."
    fields = group(
        "How columns depend on each other",
        entry(
            form, "edges", "Edges by hand", state.edges,
            f"As age -> income, sex -> income. {learned if state.public else ''} "
            "To orient an edge otherwise, write it the other way round.",
        ),
        entry(
            form, "strength", "How much an edge can say, without a public table", state.strength,
            "By how many times it can move odds, as 2; needs shares in the codebook.", inputmode="decimal",
        ),
        entry(
            form, "graphs", "Resamples of the public table in which a graph is looked for", state.graphs,
            "More than one shows edges that the table supports only half.", inputmode="numeric",
        ),
    )  # fmt: skip
    edges = _edges(state)
    seen = (
        [element("p", element("button", "Take these edges to change them", type="button", data_edges=edges))]
        if edges
        else []
    )
    made = "Make the model anew" if state.framework else "Make the model"
    going = (
        element("p", element("a", "Go on to the question", href="/question", class_="go"))
        if state.framework
        else Html()
    )
    return join(*drawn, *seen, sending("model", fields, button=made, waits="Learning the model ..."), going)


def _edges(state: State) -> str:
    """The edges of the model as text, to be changed by hand."""
    if not state.framework or state.given:
        return ""
    from bnpriv.views.cards import model_graph

    graph = model_graph(_network(declared(state)))  # type: ignore[arg-type]
    return ", ".join(f"{above} -> {below}" for above, below in graph.edges)


def _network(framework: Framework) -> object:
    return getattr(framework, "network", framework)


def take_model(place: Place, state: State, form: Form) -> State:
    """Make the framework, and write its file."""
    from bnpriv.core.secrets import Secret, apart
    from bnpriv.io.framework_text import write_framework
    from bnpriv.io.query_text import parse_query
    from bnpriv.io.starter.started import start

    if state.given:
        return state
    graphs = form.whole("graphs") or 1
    new = replace(state, edges=form.text("edges"), strength=form.number("strength"), graphs=graphs)
    hidden = {
        name: Secret(parse_query(each.property), pairs=apart(at_most=each.at_most or 1))  # type: ignore[arg-type]
        for name, each in new.hidden.items()
    }
    learn = new.public if new.public and new.strength is None else None
    with warnings.catch_warnings(), at("strength" if new.strength is not None else "edges"):
        warnings.simplefilter("ignore")  # what they say stands on the page of the columns and of the model
        framework = start(
            new.table,
            records=new.records or 1,
            protect=hidden if new.notion == "dataset" else list(hidden),
            learn=learn,
            public=new.public or None if learn is None else None,
            codebook=new.codebook or None,
            names=names_of(new),
            edges=new.edges or None,
            strength=new.strength,
            graphs=graphs,
            notion=new.notion,  # type: ignore[arg-type]
            read_as=new.read_as,
        )
        made = place.new_model()
        write_framework(framework, made)
    return replace(new, framework=str(made))
