"""The first two steps: which table, and what its columns may hold."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from bnpriv.app.forms import Form, at, choice, entry, group, paragraphs, sending, shown
from bnpriv.app.memory import declared
from bnpriv.app.state import CODEBOOKS, TABLES, Place, State
from bnpriv.errors import ParameterError
from bnpriv.render import html
from bnpriv.render.html import Html, element, join

if TYPE_CHECKING:
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
        learn=state.public or None,
        edges=None if state.public or not state.codebook else {},
        draws=0,
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
