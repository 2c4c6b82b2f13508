"""The third and fourth step: what must stay hidden, and how columns depend on each other."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from bnpriv.app.columns import known_of, names_of, without_options
from bnpriv.app.forms import SentForm, at, beside, choice, entry, group, paragraphs, sending, shown, ticks
from bnpriv.app.memory import declared, framework_at
from bnpriv.app.state import Draft, HiddenColumn, Place
from bnpriv.digest import sha256
from bnpriv.errors import ParameterError
from bnpriv.io.starter.files import ASK_BEHIND, ASK_SINGLE, ASK_THIS
from bnpriv.render import html
from bnpriv.render.as_html import block
from bnpriv.render.html import Html, element, join
from bnpriv.text import name_text

if TYPE_CHECKING:
    from bnpriv.io.starter.learn import ExpertEdges
    from bnpriv.io.starter.started import Started
    from bnpriv.lab.check_model import EdgeShown

# --------------------------------------------------------------------------------------------------
# Secret: which notion is meant, by questions, and what must stay hidden.
# --------------------------------------------------------------------------------------------------

QUESTIONS = {
    ASK_SINGLE: ("single", "For example: nobody may learn that Ms. X is ill."),
    ASK_THIS: ("this", "For example: nobody may learn how many patients of this hospital are ill."),
    ASK_BEHIND: (
        "behind",
        "For example: nobody may learn how common the illness is where the patients come from. No table of records "
        "teaches a model for that: it needs a framework file of your own, opened by bnpriv serve framework.toml.",
    ),
}
"""The questions that `bnpriv init` asks, each with its field and an example."""


def show_secret(place: Place, state: Draft, form: SentForm) -> Html:
    """The page that asks which notion is meant, and which columns are protected how far."""
    from bnpriv.io.starter.start import usual_distance

    if state.given:
        return join(paragraphs("What is secret is as the framework file says."), shown(declared(state)))
    known, records, answers = known_of(state), state.records or 1, (("yes", "Yes"), ("no", "No"))
    held = {"single": ["no"], "this": ["yes"]} if state.hidden else {}
    asked = [
        ticks(form, name, question.removesuffix(" [y/n] "), answers, held.get(name, []), "radio", example)
        for question, (name, example) in QUESTIONS.items()
    ]
    near, middle = usual_distance(records), records // 2
    example = (
        f"How far apart says which tables nobody is to tell apart: at {near:,} nobody can tell whether "
        f"{middle - near // 2:,} or {middle - near // 2 + near:,} of {records:,} records have it. The farther apart, "
        "the more noise an answer needs. Of a column only the number that stands under it is hidden, no other."
    )
    which = group(
        "Which columns is it about?",
        element("p", example, class_="hint"),
        *(_protected(form, k, name, known, state) for k, name in enumerate(known.ready)),
        *(element("p", html.name(name), f" cannot be protected: {why}.") for name, why in known.out.items()),
        beside(form, "protect"),
        id_="protect",
    )  # fmt: skip
    intro = "Answer from the top; the first yes decides. What this page can hide is a number of a whole column, as "
    intro += "how many have a low income: the second question."
    return sending("secret", element("p", intro), *asked, which, button="Go on to the model")


def _protected(form: SentForm, k: int, name: str, known: Started, state: Draft) -> Html:
    """A column to be ticked, with what is hidden of it and how far apart tables may be."""
    from bnpriv.io.starter.start import properties_of, usual_distance, usual_property

    column, held = known.ready[name], state.hidden.get(name)
    usual, numbers = str(usual_property(name, column)), properties_of(name, column, known.dialect.dates.get(name, ""))
    on = str(k) in form.every("protect") if form.values else held is not None
    hidden = held or HiddenColumn(property=usual, at_most=usual_distance(state.records or 1))
    # by their places: a text in a form may not hold all that a column may be called
    listed = [(str(place), words) for place, words in enumerate(numbers.values())]
    picked = next((str(place) for place, text in enumerate(numbers) if text == hidden.property), "")
    box = element(
        "div",
        element("input", type="checkbox", name="protect", id=f"protect-{k}", value=str(k), checked=on),
        element("label", html.name(name), for_=f"protect-{k}"),
        class_="tick",
    )
    more = element(
        "details",
        element("summary", f"Of it: {numbers.get(hidden.property, hidden.property)}; {hidden.at_most or 1:,} apart"),
        choice(form, f"property.{k}", f"What of {name_text(name)} is hidden", listed, picked),
        entry(form, f"written.{k}", "In place of that", "" if picked else hidden.property, f"Written, as {usual}"),
        entry(form, f"apart.{k}", "How far apart, in records", hidden.at_most, inputmode="numeric"),
        open=on,
    )
    return element("div", box, more, class_="protected")


def take_secret(place: Place, state: Draft, form: SentForm) -> Draft:
    """The notion, and what is protected."""
    from bnpriv.core.schema import Schema
    from bnpriv.io.starter.start import hidden_number, properties_of

    if state.given:
        return state
    _check_answers(form)
    known, records = known_of(state), state.records or 1
    hidden: dict[str, HiddenColumn] = {}
    for k, (name, column) in enumerate(known.ready.items()):
        if str(k) not in form.every("protect"):
            continue
        written, numbers = form.text(f"written.{k}"), dict(enumerate(properties_of(name, column)))
        near, field = form.whole(f"apart.{k}"), f"written.{k}" if written else f"property.{k}"
        with at(f"apart.{k}"):
            if near is None or not 1 <= near <= records:
                raise ParameterError(
                    f"how far apart is a number of records, from 1 to {records:,}",
                    found="none" if near is None else f"{near:,}",
                    remedy="In doubt write one in a hundred of the records.",
                )
        with at(field):
            text = written or numbers.get(form.whole(field) or 0, "")
            secret = hidden_number(name, text, near, Schema(records=records, columns=known.ready))
        hidden[name] = HiddenColumn(property=str(secret.property), at_most=near)
    with at("protect"):
        if not hidden:
            raise ParameterError("something must be hidden", found="no column", remedy="Choose at least one.")
    return state if hidden == state.hidden else replace(state, hidden=hidden, framework="", told=())


def _check_answers(form: SentForm) -> None:
    """Refuse, beside the question that decides, all but the notion that a model can be learned for here."""
    from bnpriv.io.starter.files import answered_notion
    from bnpriv.io.starter.started import refuse_learning

    for field, _ in QUESTIONS.values():
        with at(field):
            if form.text(field) not in ("yes", "no"):
                raise ParameterError("this question decides", found="no answer", remedy="Answer yes or no.")
            if form.text(field) == "yes" or field == "behind":
                notion = answered_notion(lambda question: form.text(QUESTIONS[question][0]) == "yes")
                refuse_learning(notion, "a table", None)  # as the model would be refused later
                break


# --------------------------------------------------------------------------------------------------
# Model: how the columns of a record depend on each other.
# --------------------------------------------------------------------------------------------------

RESAMPLES = {"1": "in the public table itself", "20": "in 20 resamples of it, which takes longer"}

QUICK_CELLS = 200_000
"""Values of a public table from which the tables of a graph are learned within a second."""


def show_model(place: Place, state: Draft, form: SentForm) -> Html:
    """The page with the network: drawn, and its edges in a table, each to be removed or turned around."""
    from bnpriv.views.cards import graph_drawing

    if state.given:
        return join(paragraphs("The model is as the framework file says."), shown(declared(state)))
    known, edges = known_of(state), _edges(state)
    seen = _seen(state.framework) if state.framework else {}
    intro = (
        "An arrow says that two columns of a record depend on each other. Columns that no arrows join are taken for "
        "independent, and then an answer about one is given no noise for the other: leave in what you cannot rule out."
    )
    parts = [element("p", intro)]
    for first, *more in map(str.splitlines, map(without_options, state.told)):
        said = f"{first[:1].upper()}{first[1:]}"
        lines = element("ul", *(element("li", line) for line in more))
        parts.append(element("details", element("summary", said), lines) if more else element("p", said))
    if edges:
        graph = known.graph(edge for edge in edges if known.ready.keys() >= set(edge))
        shares = {edge: seen[edge].models if edge in seen else "" for edge in graph.edges}
        parts += map(block, graph_drawing(graph, shares, f"Edges: {len(edges):,}", [*state.hidden]))
        parts.append(_table(state, known, edges, seen, form))
    if state.framework:
        parts.append(element("p", element("a", "Go on to the question", href="/question", class_="go")))
    elif edges:
        parts.append(_sending("learn", "Make the model of these edges"))
    parts.append(beside(form, "model"))
    if state.public:
        hint = (
            "A resample is as many records, drawn from the table with repetition: an edge that is found in 12 of 20 "
            "resamples is one that the table supports only in part, and is then in that part of the models."
        )
        where = choice(form, "graphs", "Where are they looked for?", RESAMPLES.items(), str(state.graphs), hint)
        button = "Undo: edges as they were found" if state.edges else "Find the edges"
        parts.append(_sending("find", button, group("Edges that the public table shows", where)))
    return join(*parts, _adding(state, known, form))


def _sending(act: str, button: str, *fields: Html) -> Html:
    hidden = element("input", type="hidden", name="act", value=act)
    return sending("model", hidden, *fields, button=button, waits="Learning the model ...")


def _edges(state: Draft) -> dict[tuple[str, str], float | None]:
    """The edges by hand, else those that were found, each with the strength that is stated."""
    return state.by_hand if state.edges or not state.framework else dict.fromkeys(_seen(state.framework))


@lru_cache(maxsize=4)
def _seen(path: str) -> dict[tuple[str, str], EdgeShown]:
    """What the public table shows of the edges of a model, whose files stay as they are."""
    from bnpriv.lab.check_model import edges_shown

    return edges_shown(framework_at(path))


def _table(
    state: Draft, known: Started, edges: ExpertEdges, seen: Mapping[tuple[str, str], EdgeShown], form: SentForm
) -> Html:
    """Every edge with what the public table says of it, and its buttons."""
    rows: list[list[str]] = []
    for k, (edge, strength) in enumerate(edges.items()):
        above, below = map(name_text, edge)
        said, moves, chance = seen[edge].in_words if edge in seen else ("", "", "")
        if edge in seen and seen[edge].models:
            said += f", models: {seen[edge].models}"
        out = [f"{name_text(end)}: {known.out.get(end, 'no column')}" for end in edge if end not in known.ready]
        buttons = [
            element("button", text, name="act", value=_act(what, edge), aria_label=f"{text}: {above} to {below}")
            for what, text in (("remove", "Remove"), ("turn", "Turn around"))
        ]
        last = element("div", element("div", *buttons), beside(form, f"edge-{k}"), id=f"edge-{k}", tabindex="-1")
        stated = f"{strength:g} times" if strength else ""
        rows.append([f"{above} → {below}", "; ".join(out) or said, stated or moves, chance, last])
    caption = (
        "What the public table shows of each edge: estimates, as if it alone had been looked at. By chance: how often "
        "columns that do not depend on each other show as much."
    )
    shows, chance = ("public table", "by chance") if state.public else ("", "")
    head = ("edge", shows, "moves odds by up to", chance, "")
    table = html.table(head, rows, caption if state.public else "Edges by hand, and how strong they can be")
    waits = element("span", role="status", class_="waits")
    return element("form", table, waits, method="post", action="/model", id="model", tabindex="-1")


def _act(what: str, edge: tuple[str, str]) -> str:
    return f"{what} {sha256(repr(edge))[:16]}"  # whatever the columns are called


def _adding(state: Draft, known: Started, form: SentForm) -> Html:
    """The fields for one more edge; a column that is left out cannot be chosen."""
    ends = [("", "choose"), *((str(k), name) for k, name in enumerate(known.ready))]
    last = paragraphs("The model is learned anew at once." if _quick(known) else "It is learned when you ask for it.")
    if not state.public:
        hint = "By how many times it can move odds, as 2. To change the strength of an edge add it again."
        last = entry(form, "strength", "How strong it can be", "2", hint, inputmode="decimal")
    above, below = choice(form, "above", "From", ends), choice(form, "below", "To", ends)
    fields = group("An edge of your own", element("div", above, below, class_="condition"), last)
    return _sending("add", "Add the edge", fields)


def _quick(known: Started) -> bool:
    return (known.learned_from or 0) * len(known.columns) <= QUICK_CELLS


def take_model(place: Place, state: Draft, form: SentForm) -> Draft:
    """Change an edge, or make the model of all of them."""
    from bnpriv.io.starter.learn import strengths_of

    if state.given:
        return state
    act, field, known, edges = form.text("act"), "model", known_of(state), _edges(state)
    if act == "find":
        return _made(place, replace(state, edges={}, graphs=20 if form.text("graphs") == "20" else 1), None, "graphs")
    asked = {_act(what, edge): (what, edge) for edge in edges for what in ("remove", "turn")}
    if act == "add":
        field, ends = "below", {str(k): name for k, name in enumerate(known.ready)}
        edge = ends.get(form.text("above"), ""), ends.get(form.text("below"), "")
        edges[edge] = None if state.public else form.number("strength")
    elif act in asked:
        what, edge = asked[act]
        field, turned = f"edge-{list(edges).index(edge)}", (edge[1], edge[0])
        edges = {turned if each == edge else each: strength for each, strength in edges.items()}
        if what == "remove":
            del edges[turned]
    elif act != "learn":
        return state  # another tab has changed the edge
    with at(field):
        known.graph(edges)
    with at("strength"):
        _ = None if state.public else strengths_of(edges, None, list(known.ready))
    held: dict[str, dict[str, float | None]] = {above: {} for above, _ in edges}
    for (above, below), strength in edges.items():
        held[above][below] = strength
    new = replace(state, edges=held, framework="", told=())
    return _made(place, new, edges, field) if act == "learn" or _quick(known) else new


def _made(place: Place, state: Draft, edges: ExpertEdges | None, field: str) -> Draft:
    """Make the model, and write its file; what is to be known of it is kept with it."""
    from bnpriv.core.secrets import Secret, apart
    from bnpriv.io.framework_text import write_framework
    from bnpriv.io.query_text import parse_query
    from bnpriv.io.starter.start import start
    from bnpriv.render.outputs import note_text

    with warnings.catch_warnings(record=True) as told, at(field):
        warnings.simplefilter("always")
        hidden = {
            name: Secret(parse_query(each.property), pairs=apart(at_most=each.at_most or 1))  # type: ignore[arg-type]
            for name, each in state.hidden.items()
        }
        framework = start(
            state.table,
            records=state.records or 1,
            protect=hidden,
            learn=state.public or None,
            codebook=state.codebook or None,
            names=names_of(state),
            edges=edges,
            graphs=state.graphs if edges is None else 1,
            read_as=state.read_as,
            decimal=state.decimal,
        )
        made = place.new_model()
        write_framework(framework, made)
    ours = [note_text(each.message) for each in told if each.category.__module__ == "bnpriv.errors"]
    return replace(state, framework=str(made), told=tuple(ours))
