"""The first two steps: which table, and what its columns may hold."""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Mapping
from contextlib import nullcontext, suppress
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from bnpriv.app.forms import FieldError, SentForm, at, choice, entry, group, paragraphs, sending, shown
from bnpriv.app.memory import declared
from bnpriv.app.state import CODEBOOKS, TABLES, Draft, Place
from bnpriv.checks import whole
from bnpriv.core.schema import Column
from bnpriv.digest import sha256
from bnpriv.errors import BnprivError, ParameterError
from bnpriv.io.starter.codebook import Described, codebook_text, read_codebook, texts_listed, with_fact
from bnpriv.io.starter.header import Header, first_line, is_text_file, looks_like_a_record, write_with_names
from bnpriv.io.starter.learn import ExpertEdges
from bnpriv.io.starter.started import Started, described_header, started
from bnpriv.render import html
from bnpriv.render.html import Html, element, join
from bnpriv.tables.reader import chosen, source
from bnpriv.text import some_text
from bnpriv.views.cards import column_words

# --------------------------------------------------------------------------------------------------
# Table: which file is private, and what is public about it.
# --------------------------------------------------------------------------------------------------

FILES = {
    "table": (
        "The private table", TABLES,
        "It stays on this computer. Before a release only the names of its columns are read, and whether it is public.",
    ),
    "public": (
        "A public table with the same columns", TABLES,
        "If there is one, as an older survey: it says what columns may hold, and how they depend on each other.",
    ),
    "book": ("A codebook", CODEBOOKS, "If there is one: what columns may hold, as CSV, TOML or .names."),
}  # fmt: skip
WITH_NAMES = "-with-names.csv"
"""How copies are called to which the names of the columns were added."""


def _offered(place: Place, held: str, endings: tuple[str, ...]) -> dict[str, tuple[str, str]]:
    """What can be chosen, with label and path: the files of the folder, and what was handed over."""
    offered = {each: (each, place.chosen(each, endings)) for each in place.listed(endings)}
    known = {path for _, path in offered.values()}
    return offered | ({"*": (f"as before: {Path(held).name}", held)} if held and held not in known else {})


def show_table(place: Place, state: Draft, form: SentForm) -> Html:
    """The page on which files are chosen, with what was found in those that were."""
    parts: list[Html] = []
    for name, (label, endings, hint) in [*FILES.items()][: 1 if state.given else None]:
        offered = _offered(place, getattr(state, name), endings)
        picked = next((key for key, (_, path) in offered.items() if path == getattr(state, name)), "")
        options = [("", "none"), *((key, told) for key, (told, _) in offered.items())]
        given = choice(form, name, f"In the folder {place.folder.resolve().name}", options, picked)
        many = ",".join(endings)
        handed = entry(form, f"{name}-file", "Or drop or choose another", type_="file", accept=many, class_="drop")
        parts.append(group(label, element("p", hint, class_="hint"), given, handed))
    if not state.given:
        told = "How many rows the private table has. It is not counted here, and counts as known to everybody."
        records = entry(form, "records", "Number of records", state.records, told, inputmode="numeric")
        told = "Only for a table whose first line holds none, as age, sex, income."
        names = entry(form, "names", "Names of the columns, with commas between", state.names, told)
        told = "Only without a public table, which shows it."
        signs = choice(form, "decimal", "How half is written", [("", "0.5"), (",", "0,5")], state.decimal, told)
        parts.append(group("Public facts", records, names, signs))
    found = Html()
    if state.table and not state.given and not form.problems:
        with suppress(BnprivError):  # it is told on the next page
            found = _found(state, known_of(state))
    return join(found, sending("table", *parts, button="Go on to the columns", files=True, waits="Reading ..."))


def _found(state: Draft, known: Started) -> Html:
    """How many columns the table has; and what was found in the public one: what is left out and why, codes, dates."""
    lead = f"{Path(state.table).name} has {len(known.columns):,} columns; {len(known.ready):,} can be asked about: "
    wrote = known.notes if state.book else [each.replace("the codebook", "what you wrote") for each in known.notes]
    notes = element("ul", *(element("li", without_options(each)) for each in wrote))
    told = element("details", element("summary", "What was found"), notes, open=len(known.notes) < 9)
    return join(element("p", lead, html.names(known.ready), "."), told if known.notes else Html())


def without_options(note: str) -> str:
    """A note of the library for a reader without a shell."""
    return re.sub(": --decimal .*", " under Table.", re.sub("[:;] --as .*", ": say so under Columns.", note))


def take_table(place: Place, state: Draft, form: SentForm) -> Draft:
    """The files that were chosen or handed over; each is read as far as it may be, and refused beside its field."""
    held: dict[str, str] = {}
    beside: dict[str, str] = {}
    for name, (_, endings, _) in FILES.items():
        given, handed = form.text(name), form.files.get(f"{name}-file")
        with at(name):
            offered = _offered(place, getattr(state, name), endings)
            old = offered[given][1] if given in offered else place.chosen(given, endings) if given else ""
        held[name], beside[name] = str(handed or old), f"{name}-file" if handed else name
    with at("table"):
        if not held["table"]:
            raise ParameterError("a private table is needed", found="none", remedy="Choose one, or hand one over.")
    if state.given:
        with at(beside["table"]), source(held["table"], (), separator=None) as (frame, names):
            chosen(frame, names, declared(state).schema.columns)
        return replace(state, table=held["table"])
    count = form.whole("records")
    with at("records"):
        remedy = "Write how many rows the table has, which is a public fact."
        if count is None:
            raise ParameterError("the number of records is needed", found="none", remedy=remedy)
        records = whole("the number of records", count, remedy=remedy)
    decimal = "" if held["public"] or form.text("decimal") != "," else ","
    new = replace(state, **held, records=records, names=form.text("names"), decimal=decimal)
    header, new = _header(new, beside), _with_facts(place, new, all_of_them=False)
    with at(beside["book"] if new.book else beside["table"]):
        known_of(replace(new, public=""))
    with at(beside["public"]):
        known = known_of(new)
    if header.lacks_names:
        copy = place.uploads / secrets.token_hex(8) / f"{Path(new.table).stem[:60]}{WITH_NAMES}"
        copy.parent.mkdir(mode=0o700)
        write_with_names(Path(new.table), header.names, copy)
        new = replace(new, table=str(copy))
    return new if _still_made(state, new, known) else replace(new, framework="")


def _header(new: Draft, beside: Mapping[str, str]) -> Header:
    """The names of the columns, which a table without a line of names has from the form or the codebook."""
    with at(beside["book"]):
        _ = read_codebook(new.book) if new.book else None
    with at(beside["table"]):
        first = first_line(Path(new.table)) if is_text_file(new.table) else []
    with at("names" if new.names or looks_like_a_record(first) else beside["table"]):
        header = described_header(new.table, names_of(new), new.book or None)[0]
        if header.lacks_names and new.table.endswith(WITH_NAMES):
            raise ParameterError(
                "the names that were added stand in this copy", found="others", remedy="Choose the table itself."
            )
    return header


def _still_made(old: Draft, new: Draft, known: Started) -> bool:
    """Whether the framework that was made holds for the table too: nothing public changed, and it is read alike."""
    same = all(
        getattr(old, each) == getattr(new, each) for each in ("public", "codebook", "records", "read_as", "decimal")
    )
    if not (old.framework and same):
        return False
    schema = declared(old).schema
    alike = all(name in known.columns and known.columns[name].column == each for name, each in schema.columns.items())
    return alike and known.dialect.separator == (schema.dialect.separator if schema.dialect else ",")


def names_of(state: Draft) -> list[str] | None:
    """The names of the columns as somebody wrote them."""
    return texts_listed(state.names) if state.names else None


def known_of(state: Draft) -> Started:
    """What is known of the columns, as in a model that is made next; worked out once for the same files."""
    paths = state.table, state.public, state.codebook
    stamps = tuple((os.stat(each).st_mtime_ns, os.stat(each).st_size) for each in paths if os.path.isfile(each))
    return _known(paths, tuple(names_of(state) or ()), tuple(sorted(state.read_as.items())), state.decimal, stamps)


@lru_cache(maxsize=8)
def _known(
    paths: tuple[str, ...],
    names: tuple[str, ...],
    read_as: tuple[tuple[str, str], ...],
    decimal: str,
    stamps: object,
) -> Started:
    table, public, codebook = (each or None for each in paths)
    by_hand: ExpertEdges | None = {} if codebook and not public else None
    return started(
        table,
        names=names or None,
        codebook=codebook,
        learn=public,
        edges=by_hand,
        read_as=dict(read_as),
        decimal=decimal,
        draws=0,
    )


# --------------------------------------------------------------------------------------------------
# Columns: what each may hold, and why that is the default.
# --------------------------------------------------------------------------------------------------

READ_IT_AS = {
    "": "as it looks", "number": "numbers", "whole": "whole numbers", "category": "labels",
    **{each: f"dates, {each}" for each in ("YYYY-MM-DD", "DD.MM.YYYY", "DD/MM/YYYY", "MM/DD/YYYY")},
    "id": "an id or a text: leave it out",
}  # fmt: skip
FACTS = {
    "holds": ("It may hold", 'Bounds 0, 90; edges of bins 0, 18, 65, 90; labels a, "b, or c".'),
    "shares": ("How frequent each bin or label is", "As 0.8, 0.2: for a model without a public table."),
    "codes": ("Numbers that mean a gap", "As 99, 999; or none."),
}


def show_columns(place: Place, state: Draft, form: SentForm) -> Html:
    """The page with every column: what it may hold, what a gap counts as, and why; and what can be said instead."""
    if state.given:
        return join(paragraphs("The columns are as the framework file says."), shown(declared(state).schema))
    known = known_of(state)
    made: Mapping[str, Column] = declared(state).schema.columns if state.framework else {}
    if not form.problems:
        try:  # what was said of a column of this name in another table may not fit this one
            _with_facts(place, state)
        except FieldError as wrong:
            form = form.refused(wrong)
    rows = [_column(form, state, known, k, name, made.get(name)) for k, name in enumerate(known.columns)]
    lost = [name for name in state.hidden if name not in known.ready]
    told = (
        "Open a column to say what it may hold. A number outside its bounds counts as the nearest of them. Bins are "
        "ranges in which the model takes numbers together. What meets no condition is in no count.",
        "A change here makes the model anew; what you chose for it stays." if made else "",
        "" if state.public else "Without a public table a model needs to know how frequent each label or bin is.",
        f"Protected before, and not possible now: {some_text(lost)}. It comes back with its column." if lost else "",
    )
    of = element("input", type="hidden", name="of", value=sha256("\0".join(known.columns)))
    look = element("p", element("button", "See what they become", type="submit", name="act", value="look"))
    parts = (paragraphs(*told), of, *rows, look)
    return join(_found(state, known), sending("columns", *parts, button="Go on to what is secret"))


def _column(form: SentForm, state: Draft, known: Started, k: int, name: str, made: Column | None) -> Html:
    """One column in a line that unfolds, with fields for what can be said of it."""
    each, said = known.columns[name], state.facts.get(name, {})
    book = "what you wrote" if "holds" in said or not state.book else "the codebook"
    what, why, column = "left out", f"{known.out.get(name, '')}.", made or known.ready.get(name)
    if column is not None:
        dialect = known.dialect
        what, gap = column_words(column, dates=name in dialect.dates, codes=dialect.codes.get(name, ()))
        values = "the values in " if each.origin == known.public else ""
        why = f"{gap}. From {values}{each.origin}{', read as you said' if 'as' in said else ''}."
    because = element("span", why.replace("the codebook", book), class_="hint")
    told = "As public values look, unless you say it; labels that are numbers need it."
    reading = choice(form, f"as.{k}", "Read it as", READ_IT_AS.items(), said.get("as", ""), told)
    fields = (entry(form, f"{key}.{k}", label, said.get(key, ""), hint) for key, (label, hint) in FACTS.items())
    return element(
        "details",
        element("summary", html.name(name), " ", what, " ", because),
        element("div", reading, *fields),
        class_="folded column",
        open=any(problem.endswith(f".{k}") for problem in form.problems),
    )


def take_columns(place: Place, state: Draft, form: SentForm) -> Draft:
    """What was said of columns; each fact is refused beside its field."""
    if state.given:
        return state
    known = known_of(state)
    of = sha256("\0".join(known.columns))
    if form.text("of", of) != of:
        raise ParameterError(
            "a page of columns is about the table that was chosen last",
            found="one about another",
            remedy="These are the columns of the table now; say it again.",
        )
    told = dict(state.facts)
    for k, name in enumerate(known.columns):
        old = state.facts.get(name, {})
        told[name] = {key: text for key in ("as", *FACTS) if (text := form.text(f"{key}.{k}", old.get(key, "")))}
    new = _with_facts(place, replace(state, facts={name: said for name, said in told.items() if said}))
    try:
        known_of(new)
    except BnprivError:
        one = state
        for k, name in enumerate(known.columns):  # which one is it?
            one = _with_facts(place, replace(one, facts={**one.facts, name: told[name]}))
            with at(f"{next(iter(told[name]), 'as')}.{k}"):
                known_of(one)
    same = (new.codebook, new.read_as) == (state.codebook, state.read_as)
    return new if same else replace(new, framework="")


def _with_facts(place: Place, state: Draft, *, all_of_them: bool = True) -> Draft:
    """The state with what was typed of the columns of its table, as a codebook and readings; all, or what fits."""
    header, base, _ = described_header(state.table, names_of(state), state.book or None)
    typed, read_as, codebook = dict(base), dict[str, str](), state.book
    for k, name in enumerate(header.names):
        said = state.facts.get(name, {})
        kind = said.get("as", "")
        read_as |= {name: "number" if kind == "whole" else kind} if kind else {}
        for key, text in said.items():
            with nullcontext() if all_of_them else suppress(FieldError), at(f"{key}.{k}"):
                typed[name] = with_fact(typed.get(name, Described()), key, text, kind)
    typed = {name: each for name, each in typed.items() if name in base or each != Described()}
    if typed != base:
        text = codebook_text(typed)
        path = place.kept / f"codebook-{sha256(text)[:16]}.toml"
        path.write_text(text, encoding="utf-8")
        codebook = str(path)
    return replace(state, codebook=codebook, read_as=read_as)
