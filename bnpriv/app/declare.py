"""The first four steps: the table, its columns, what must stay hidden, and how columns depend on each other."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from bnpriv.app.forms import Form, at, choice, entry, group, paragraphs, refusal, sending, ticks
from bnpriv.app.shown import shown
from bnpriv.app.state import CODEBOOKS, TABLES, Hidden, Place, State
from bnpriv.errors import ParameterError
from bnpriv.io.starter.files import ASK_BEHIND, ASK_SINGLE, ASK_THIS
from bnpriv.render import html
from bnpriv.render.html import Html, element, join

if TYPE_CHECKING:
    from bnpriv.core.frameworks.question import Framework
    from bnpriv.io.starter.started import Started

# --------------------------------------------------------------------------------------------------
# Table: which file is private, and what is public about it.
# --------------------------------------------------------------------------------------------------

FILES = {
    "table": ("The private table", TABLES, "Only the names of its columns are read before you ask for a release."),
    "public": ("A public table with the same columns", TABLES, "If there is one: bounds and a network come from it."),
    "codebook": ("A codebook, if there is one", CODEBOOKS, "What columns may hold, as CSV, TOML or .names."),
}  # fmt: skip


def show_table(place: Place, state: State, form: Form) -> Html:
    """The page on which files are chosen."""
    parts: list[Html] = []
    for name, (label, endings, hint) in FILES.items():
        if state.given and name != "table":
            continue
        held = getattr(state, name)
        listed = place.listed(endings)
        here = Path(held).name if held and str(Path(held).parent) == str(place.folder.resolve()) else ""
        handed = [("*", f"as handed over: {Path(held).name}")] if held and not here else []
        options = [("", "none"), *handed, *((each, each) for each in listed)]
        parts.append(
            group(
                label,
                element("p", hint, class_="hint"),
                choice(form, name, f"In the folder {place.folder.name}", options, here or ("*" if held else "")),
                entry(form, f"{name}-file", "Or hand one over", type_="file", accept=",".join(endings)),
            )
        )
    if not state.given:
        parts.append(
            group(
                "Public facts",
                entry(
                    form, "records", "Number of records", state.records,
                    "A public fact: it is not counted here.", inputmode="numeric",
                ),
                entry(
                    form, "names", "Names of the columns, with commas", state.names,
                    "Only for a table without a line of names.",
                ),
            )
        )  # fmt: skip
    return sending("table", *parts, button="Go on to the columns", files=True, waits="Reading what is public ...")


def take_table(place: Place, state: State, form: Form) -> State:
    """The files that were chosen or handed over; the names of their columns are read, to refuse what is no table."""
    held: dict[str, str] = {}
    for name, (_, endings, _) in FILES.items():
        if state.given and name != "table":
            continue
        given = form.text(name)
        with at(name):
            old = getattr(state, name) if given == "*" else place.chosen(given, endings) if given else ""
        held[name] = str(form.files.get(f"{name}-file") or old)
    if not held["table"]:
        with at("table"):
            raise ParameterError("a private table is needed", found="none", remedy="Choose one, or hand one over.")
    if state.given:
        return replace(state, table=held["table"])
    records = form.whole("records")
    with at("records"):
        if records is None or records < 1:
            raise ParameterError(
                "the number of records is a public fact, and at least 1",
                found="none" if records is None else str(records),
                remedy="Write how many rows the table has.",
            )
    new = replace(state, **held, records=records, names=form.text("names"))
    with at("names" if new.names else "table"):
        known_of(new)
    return new if (held | {"records": records, "names": new.names}) == _facts(state) else replace(new, framework="")


def _facts(state: State) -> dict[str, object]:
    return {name: getattr(state, name) for name in (*FILES, "records", "names")}


def names_of(state: State) -> list[str] | None:
    """The names of the columns as somebody wrote them."""
    return [each.strip() for each in state.names.split(",")] if state.names else None


def known_of(state: State) -> Started:
    """What is known of the columns."""
    from bnpriv.io.starter.started import started

    return started(
        state.table,
        names=names_of(state),
        codebook=state.codebook or None,
        public=state.public or None,
        records=state.records,
        read_as=state.read_as,
    )


# --------------------------------------------------------------------------------------------------
# Columns: what each may hold, and why that is the default.
# --------------------------------------------------------------------------------------------------

READINGS = (
    ("", "as it looks"),
    ("number", "number"),
    ("category", "category"),
    ("days", "dates, YYYY-MM-DD"),
    ("DD.MM.YYYY", "dates, DD.MM.YYYY"),
    ("MM/DD/YYYY", "dates, MM/DD/YYYY"),
    ("id", "an id: leave it out"),
)


def show_columns(place: Place, state: State, form: Form) -> Html:
    """The page with every column: its type, bounds or labels, where they come from, and another reading."""
    if state.given:
        return join(paragraphs("The columns are as the framework file says."), shown(declared(state).schema))
    known = known_of(state)
    rows: list[list[Html]] = []
    for k, (name, each) in enumerate(known.columns.items()):
        held = state.read_as.get(name, "")
        options = READINGS if held in dict(READINGS) else (*READINGS, (held, held))
        select = choice(form, f"as.{k}", f"Read {name} as", options, held)
        out = known.left_out.get(name)
        what = "left out" if out else "not known yet" if each.column is None else _described(each.column)
        rows.append([html.name(name), html.escape(what), html.escape(out or each.origin), select])
    notes = [element("h2", "Found in the public table"), element("ul", *(element("li", note) for note in known.notes))]
    table = html.table(("column", "may hold", "because", "reading"), rows, "Columns of the private table")
    return sending("columns", table, *(notes if known.notes else ()), button="Go on to what is secret")


def _described(column: object) -> str:
    """A column in words, in one line."""
    from bnpriv.core.columns import Binned, Categorical

    if isinstance(column, Categorical):
        labels = [str(each) for each in column.categories]
        return f"{len(labels)} labels: {', '.join(labels[:6])}{' ...' if len(labels) > 6 else ''}"
    if isinstance(column, Binned):
        return f"numbers from {column.edges[0]:g} to {column.edges[-1]:g}, in {len(column.edges) - 1} bins"
    kind = type(column).__name__.lower()
    return f"{kind} from {getattr(column, 'lower', 0):g} to {getattr(column, 'upper', 0):g}"


def take_columns(place: Place, state: State, form: Form) -> State:
    """Other readings of columns."""
    if state.given:
        return state
    known = known_of(state)
    told = {name: text for k, name in enumerate(known.columns) if (text := form.text(f"as.{k}"))}
    new = replace(state, read_as=told)
    if told != dict(state.read_as):
        new = replace(new, framework="")
        first = next(
            (f"as.{k}" for k, name in enumerate(known.columns) if told.get(name) != state.read_as.get(name)), ""
        )
        with at(first):
            known_of(new)
    return new


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
    from bnpriv.io.starter.start import usual_property

    return str(usual_property(name, column))  # type: ignore[arg-type]


def _protected(form: Form, k: int, name: str, held: Hidden | None, usual: str, records: int) -> Html:
    from bnpriv.io.starter.start import usual_distance

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
    from bnpriv.io.starter.start import start

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
        for old in place.kept.glob("framework*"):
            old.unlink()
        write_framework(framework, place.made)
    return replace(new, framework=str(place.made))


def declared(state: State) -> Framework:
    """The framework that was made or given.

    Raises
    ------
    ParameterError
        If there is none yet.
    """
    from bnpriv.app.memory import framework_at

    if not state.framework:
        raise ParameterError("a model is needed first", found="none", remedy="Go back to the model, and make one.")
    return framework_at(state.framework)


def lacking(state: State, step: str) -> str:
    """The step that must come first; empty where this one can be shown."""
    if state.given:
        return "table" if step in ("release",) and not state.table else ""
    needs = {
        "table": True,
        "columns": bool(state.table and state.records),
        "secret": bool(state.table and state.records),
        "model": bool(state.table and state.hidden),
        "question": bool(state.framework),
        "strength": bool(state.framework and state.query),
        "release": bool(state.framework and state.query and state.table),
        "downloads": bool(state.framework),
    }
    if needs[step]:
        return ""
    if not state.table or step in ("columns", "secret"):
        return "table"
    return (
        "question" if state.framework and step != "model" else "model" if state.hidden and step != "model" else "secret"
    )
