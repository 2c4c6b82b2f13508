"""The last two steps: the release, and what can be taken along."""

from __future__ import annotations

import io
import os
import re
import secrets
import zipfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bnpriv.app.columns import WITH_NAMES, names_of
from bnpriv.app.forms import SentForm, at, beside, entry, refusal, sending, shown, ticks
from bnpriv.app.memory import declared, digest_at, framework_at, plan_at
from bnpriv.app.state import Asked, Draft, Place, lacking, write_state
from bnpriv.digest import sha256
from bnpriv.errors import BnprivError, FileError, LedgerError, MissingExtraError, ParameterError, RefusedError
from bnpriv.render import html
from bnpriv.render.html import Html, element, join
from bnpriv.services import service
from bnpriv.text import by_times, call_text, command_text, name_text, upper_text, visible

if TYPE_CHECKING:
    from bnpriv.core.release import Release
    from bnpriv.ledger.counted import CountedAccount
    from bnpriv.ledger.values import Budget
    from bnpriv.shown import Shown
    from bnpriv.tables.private_table.private_table import PrivateTable, TablePlan

CHANGED = "what is released is what its page showed"

ACCOUNT = "data"
"""Of the table in the ledger, as the shell names it."""

OTHER_MODEL = (
    "An account counts the releases of one table under one model and one secret. For another one end the server, and "
    "start it with another ledger: bnpriv serve --ledger other.db. What both ledgers tell together is then counted "
    "nowhere."
)

# --------------------------------------------------------------------------------------------------
# What is asked for, and what it would cost: nothing is read of the table.
# --------------------------------------------------------------------------------------------------


def account_of(place: Place, state: Draft) -> CountedAccount | None:
    """The account of the table in the ledger; None where it has none yet."""
    from bnpriv.ledger.counted import CountedAccount

    return CountedAccount.known(declared(state), place.ledger, ACCOUNT)


def offered(state: Draft, account: CountedAccount | None = None) -> Any:
    """The calibration, or the rule of the private table, that is asked for; by default the one that a session takes."""
    from bnpriv.core.accounting.accountant import Accountant
    from bnpriv.io.query_text import parse_query
    from bnpriv.ledger.prices import Chooser
    from bnpriv.ledger.values import Budget

    if state.form == "table":
        return _planned(state).best
    if state.mechanism:
        return plan_at(state.framework, state.query, state.epsilon, state.delta).of(state.mechanism)
    framework = declared(state)
    before = Accountant(framework) if account is None else account.accountant
    chooser = Chooser(accountant=before, budget=account.budget if account else Budget(state.epsilon, state.delta))
    asked = state.query, state.epsilon, state.delta, account.head if account else ""
    taken = lambda: chooser.at_epsilon(parse_query(state.query), state.epsilon, state.delta, None)  # noqa: E731
    return framework.kept.latest("taken by a session", asked, 8, taken).calibration


def _planned(state: Draft) -> TablePlan:
    from bnpriv.tables.private_table.private_table import plan_table

    return plan_table(declared(state), state.epsilon, state.delta, queries=[state.query] if state.query else [])


def against_public(state: Draft, it: Any) -> Any:
    """What the public table says of the model for the question; None where there is none, or it cannot say it."""
    if state.form == "answer" and os.path.isfile(state.public):
        with suppress(BnprivError):  # the statement says why
            return service("plan.compared")(it.framework, state.public, it.query, it)
    return None


def doubts(state: Draft, it: Any) -> dict[str, tuple[str, str]]:
    """What has to be ticked before a release, by the names of the boxes."""
    if state.form == "table":
        return {"seen": ("Real records are handed on", "They may be seen: single persons need no protection.")}
    found, compared = dict[str, tuple[str, str]](), against_public(state, it)
    if it.useful.verdict == "useless":
        found["useless"] = "This answer is useless", f"Release it nevertheless. {it.useful}"
    if compared is not None and compared.contradicted and it.mechanism.needs_model:
        found["despite"] = "The public table contradicts the model", "Release it nevertheless."
    return found


def show_release(place: Place, state: Draft, form: SentForm) -> Html:
    """The page that says what a release costs, asks once, and shows what was released."""
    first = lacking(replace(state, releases=()), "release")
    try:
        ask = element("p", "To ask for more, go on with ", element("a", f"the {first}", href=f"/{first}"), ".")
        ask = ask if first else _asking(state, account_of(place, state), form)
    except BnprivError as error:
        ask = refusal(error)
        if isinstance(error, LedgerError):
            back = element("input", type="hidden", name="act", value="back")
            again = [sending("release", back, button="Go back to the model of the last release")] * bool(state.releases)
            ask = join(ask, element("p", OTHER_MODEL), *again)
    wrong = beside(form, "ask")
    if not state.releases:
        return join(ask, wrong)
    made = [_made(place, state, k) for k in reversed(range(len(state.releases)))]
    onwards = element("p", element("a", "Go on to the downloads", href="/downloads", class_="go"))
    released_ = join(element("h2", "Released"), *made, _deciding(place, state, form), onwards)
    last = state.releases[-1].state
    if wrong or any(getattr(last, each) != getattr(state, each) for each in ("query", "epsilon", "delta", "form")):
        return join(ask, wrong, released_)
    more = element("summary", "Release it once more: other noise, and another charge")
    return join(released_, element("details", more, ask))


def _asking(state: Draft, account: CountedAccount | None, form: SentForm) -> Html:
    from bnpriv.ledger.counted import spent_of
    from bnpriv.ledger.history import left_text
    from bnpriv.ledger.prices import Chooser, Price

    it, named, table = offered(state, account), name_text(Path(state.table).name), state.form == "table"
    asks = ["A whole private table for ", html.escape(named), f", by the form {it.form!r}."] if table else []
    asks = asks or [html.code(state.query), " of ", html.escape(named), ", with ", html.code(str(it.mechanism)), "."]
    alone = f"This release alone: epsilon {upper_text(it.guarantee.epsilon)}. Odds move {by_times(it.guarantee.nats)}."
    hidden = " ".join(html.escape(each.sentence) for each in it.guarantee.secrets)
    kept = element("p", element("strong", "Protected: "), hidden, " Nothing else, and no single person.")
    fields = [element("p", *asks, class_="lead"), element("p", alone), kept]
    if account is not None and not table:
        fields[1] = shown(Price(cost=Chooser(accountant=account.accountant, budget=account.budget).cost(it)))
    elif account is not None:
        left = left_text(account.budget, spent_of(account.accountant, account.budget))
        fields.append(element("p", f"Of the budget of {float(account.budget.epsilon):g}, {left} is left."))
    fields += [shown(_planned(state))] if table else []
    if (compared := against_public(state, it)) is not None:
        fields.append(element("details", element("summary", "The model and the public table"), shown(compared)))
    for box, (legend, label) in doubts(state, it).items():
        fields.append(ticks(form, box, legend, [("yes", label)], [], "checkbox"))
    if account is None:
        hint = f"Fixed with the first release, for good{f', with the delta {state.delta:g}' if state.delta else ''}. "
        hint += f"About {4 * state.epsilon:g} for four releases like this one."
        label = "Budget: the epsilon of all releases of this table together"
        fields.append(entry(form, "budget", label, "", hint, inputmode="decimal"))
    key = element("input", type="hidden", name="key", value=f"{secrets.token_urlsafe(12)}-{_mark(state, account)}")
    once = element("p", "It is charged in the ledger before it is computed, and the charge is never given back.")
    button = "Make this table" if table else "Release this answer"
    return sending("release", key, *fields, once, button=button, waits="Reading the table ...")


# --------------------------------------------------------------------------------------------------
# The release: kept in the state, charged, computed.
# --------------------------------------------------------------------------------------------------


def take_release(place: Place, state: Draft, form: SentForm) -> Draft:
    """Keep what is asked for, charge it, and answer it; the same form sent again is the same release."""
    key, act = form.text("key"), form.text("act")
    if state.releases and act == "decide":
        return _decided(place, state, form)
    if state.releases and act == "back":
        old = state.releases[-1].state
        table = old.table if os.path.isfile(old.table) else state.table
        return replace(old, table=table, decided=state.decided, releases=state.releases)
    if key in (each.key for each in state.releases):
        return state
    with at("ask"):
        if not re.fullmatch(r"[\w-]{8,64}", key, re.ASCII):
            raise ParameterError("a release has the key of its page", found="another", remedy="Load the page anew.")
        if first := lacking(replace(state, releases=()), "release"):
            raise ParameterError("a release comes last", found="a step left open", remedy=f"Go to the {first}.")
        _require_shown(key, _mark(state, account := account_of(place, state)))
        it = offered(state, account)
    for box, (legend, _) in doubts(state, it).items():
        with at(box):
            if not form.every(box):
                raise RefusedError(f"{legend}: it must be wanted", found="no tick", remedy="Tick it, or ask otherwise.")
    budget = _budget(state, it, form) if account is None else None
    with at("ask"):
        asked = Asked(key=key, state=_kept(place, state, it))
        _require_shown(key, _mark(state, account, asked.state.framework))  # its file may have changed meanwhile
        write_state(
            new := replace(state, releases=(*state.releases, asked)), place.kept
        )  # before the charge: no answer is lost
        try:
            _release(place, asked, budget)
        except BnprivError:
            opened = account_of(place, state)
            if opened is None or key not in opened.ledger.book(opened.account).keys:
                write_state(state, place.kept)
            raise
    return new


def _mark(state: Draft, account: CountedAccount | None, framework: str = "") -> str:
    """Tells what a page showed from what is so now: the choice, the framework's files, and what was charged."""
    now = state.mark, digest_at(framework or state.framework), account.head if account else ""
    return sha256(repr(now))[:12]


def _require_shown(key: str, mark: str) -> None:
    if not key.endswith(f"-{mark}"):
        found, remedy = "another choice, framework or ledger now", "Look, and ask again."
        raise ParameterError(CHANGED, found=found, remedy=remedy)


def _budget(state: Draft, it: Any, form: SentForm) -> Budget:
    """The budget of a new account, which must hold its first release: no account is opened for nothing."""
    from bnpriv.ledger.values import Budget

    given = form.number("budget")
    with at("budget"):
        if given is None or it.guarantee.epsilon > given:
            found, remedy = "none" if given is None else f"{given:g}", "Write more, as 2, or go back to the strength."
            raise ParameterError("a budget that holds its first release is needed", found=found, remedy=remedy)
        return Budget(given, state.delta)


def _kept(place: Place, state: Draft, it: Any) -> Draft:
    """What was chosen, with all of it said; a framework file that was given is copied: its owner may change it."""
    from bnpriv.io.framework_file import copy_framework

    file, table = Path(state.framework), state.form == "table"
    kept = file if file.is_relative_to(place.kept) else copy_framework(file, place.new_model().parent)
    said = state if table else replace(state, mechanism=str(it.mechanism), epsilon=it.epsilon)
    return replace(said, framework=str(kept), releases=())


def _release(place: Place, asked: Asked, budget: Budget | None) -> None:
    """Charge a release, and make it: here the table is read."""
    from bnpriv.ledger.session import Session

    it = asked.state
    with Session(framework_at(it.framework), it.table, budget, ledger=place.ledger, name=ACCOUNT) as session:
        if it.form == "table":
            file = _table_file(place, asked)
            session.table(it.epsilon, it.delta, records_may_be_seen=True, output=file, key=asked.key)
            file.chmod(0o600)
        else:
            session.release(offered(it), key=asked.key, even_if_useless=True)


def _table_file(place: Place, asked: Asked) -> Path:
    return place.kept / f"{asked.key}.parquet"


# --------------------------------------------------------------------------------------------------
# What was released, from the ledger and the framework that is kept: the table may be gone.
# --------------------------------------------------------------------------------------------------


def released(place: Place, asked: Asked) -> Release | PrivateTable:
    """What was released, free of charge.

    Raises
    ------
    LedgerError
        If it was never charged, or its answer was not stored.
    """
    from bnpriv.ledger.charged import charged_before

    account = account_of(place, asked.state)
    if account is None:
        raise LedgerError("a release is in the ledger once it is charged", found="no account", remedy="Ask once more.")
    return charged_before(account, offered(asked.state), asked.key, _table_file(place, asked))


def statement(place: Place, state: Draft, k: int, decided: Any = None) -> Shown:
    """The statement on what was released, with who decided what."""
    made, it = released(place, state.releases[k]), state.releases[k].state
    public = it.public if os.path.isfile(it.public) else None
    return made.statement(state.decided if decided is None else decided, declared(it) if it.form == "table" else public)


def _made(place: Place, state: Draft, k: int) -> Html:
    """What was released, with its statement."""
    try:
        parts = [shown(released(place, state.releases[k]))]
        told = element("summary", "Statement for the data-protection officer")
        parts.append(element("details", told, shown(statement(place, state, k), folded=False)))
    except BnprivError as error:
        parts = [element("p", html.code(state.releases[k].state.query)), refusal(error)]
    return element("section", *parts, id=f"release-{k}")


def _deciding(place: Place, state: Draft, form: SentForm) -> Html:
    """Who decided what, for all statements; what is chosen is shown as it was for the last release."""
    try:
        rows: Any = statement(place, state, -1).document.data["decisions"]
    except BnprivError:
        return Html()
    fields = [element("p", "Who decided it, and why, as: the board on 2026-11-02, because ...", class_="hint")]
    said: dict[str, str] = {row["name"]: f"{row['what']}: {row['value']}" for row in rows}
    fields += [entry(form, name, label, state.decided.get(name, "")) for name, label in said.items()]
    act = element("input", type="hidden", name="act", value="decide")
    told, opened = element("summary", "Who decided what: for the statements"), not said.keys().isdisjoint(form.problems)
    return element("details", told, sending("release", act, *fields, button="Keep who decided what"), open=opened)


def _decided(place: Place, state: Draft, form: SentForm) -> Draft:
    from bnpriv.core.frameworks.base import DECISIONS

    decided = {name: text for name in DECISIONS if (text := form.text(name))}
    for name, text in decided.items():
        with at(name):
            statement(place, state, -1, {name: text})
    return replace(state, decided=decided)


# --------------------------------------------------------------------------------------------------
# Downloads.
# --------------------------------------------------------------------------------------------------

Files = dict[str, Callable[[], str | bytes]]
"""What makes the content of a file, by its path in the .zip of all."""

ARCHIVES = ("bnpriv.zip", "framework.zip")

ENDINGS = {
    "bnpriv.zip": "all files in one", "framework.zip": "the model", ".json": "for bnpriv verify",
    ".html": "a page", ".md": "Markdown", ".docx": "for Word", ".parquet": "the table",
}  # fmt: skip


def _base(state: Draft) -> Draft:
    """What the releases were made under; before the first one what is chosen."""
    return state.releases[-1].state if state.releases else state


def _typed(place: Place, base: Draft) -> bool:
    """Whether a codebook was made of what was typed, which goes with the framework."""
    return Path(base.codebook).is_relative_to(place.kept)


def files(place: Place, state: Draft) -> Files:
    """All that can be taken along."""
    from bnpriv.io.framework_file import framework_files
    from bnpriv.ledger.session import statement_of

    base, (shell, python) = _base(state), commands(place, state)
    paths = framework_files(base.framework)
    found: Files = {f"framework/{path.relative_to(paths[0].parent)}": path.read_bytes for path in paths}
    found |= {f"framework/{file_beside(base.codebook)}": Path(base.codebook).read_bytes} if _typed(place, base) else {}
    found |= {"same/same.sh": "\n".join([*shell, ""]).encode, "same/same.py": "\n".join([*python, ""]).encode}
    for k, asked in enumerate(state.releases):
        with suppress(BnprivError):  # what was never charged
            made, folder = released(place, asked), f"release-{k + 1}"
            found |= {f"{folder}/release.json": made.to_json, f"{folder}/release.html": made.to_html}
            found |= _statements(folder, lambda k=k: statement(place, state, k))
            if asked.state.form == "table":
                found[f"{folder}/table.parquet"] = _table_file(place, asked).read_bytes
    account = account_of(place, base) if state.releases else None
    if account is not None and account.charges:
        found["together/ledger.json"] = account.transcript
        found |= _statements("together", lambda: statement_of(account, place.ledger, state.decided))
    return found


def _statements(folder: str, made: Callable[[], Shown]) -> Files:
    """A statement in every form that can be written here."""
    from bnpriv.render.as_docx import as_file, require_form

    found: Files = {}
    for file in map(Path, ("statement.html", "statement.md", "statement.docx")):
        with suppress(MissingExtraError):
            require_form(file)
            found[f"{folder}/{file}"] = lambda file=file: as_file(made().document, file)
    return found


def show_downloads(place: Place, state: Draft, form: SentForm) -> Html:
    """The page with all files, and the commands and the Python that do the same."""
    found = [*(f"all/{each}" for each in ARCHIVES), *files(place, state)]
    heads = {"all": "Everything", "together": "All releases together"}
    heads |= {f"release-{k + 1}": f"Release {k + 1}: {asked.state.query}" for k, asked in enumerate(state.releases)}
    parts = [element("p", "Of the private table these files hold what was released, and nothing else of it.")]
    for folder, head in heads.items():
        paths = [Path(name) for name in found if name.startswith(f"{folder}/")]
        links = [(element("a", path.name, href=f"/download/{path}", download=True), path) for path in paths]
        items = [element("li", link, f" {ENDINGS.get(path.suffix) or ENDINGS[path.name]}") for link, path in links]
        parts += [element("h2", name_text(head, 120)), element("ul", *items)] if items else []
    if state.releases and not any(name.endswith(".docx") for name in found):
        parts.append(element("p", 'Statements for Word need python-docx: pip install "bnpriv[docx]".'))
    for title, lines in zip(("The same in the shell", "The same in Python"), commands(place, state), strict=True):
        listing = element("code", Html("\n".join(map(html.escape, lines))))
        parts += [element("h2", title), element("pre", listing, tabindex="0")]
    told = "Both run in the folder of your tables, with bnpriv.zip unpacked in it. What has a key is charged once."
    return join(*parts, element("p", told))


def download(place: Place, state: Draft, which: str, name: str) -> tuple[str, bytes]:
    """A file to be taken along: its name and what it holds.

    Raises
    ------
    FileError
        If there is none of that name.
    """
    found, held = files(place, state), io.BytesIO()
    if f"{which}/{name}" in found:
        content = found[f"{which}/{name}"]()
        return name, content if isinstance(content, bytes) else content.encode()
    if which != "all" or name not in ARCHIVES:
        raise FileError("a download is one of those on the page", found="another", remedy="Go back to the downloads.")
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as made:
        for path, content in found.items():
            if name != "framework.zip" or path.startswith("framework/"):
                made.writestr(path.removeprefix("same/"), content())
    return name, held.getvalue()


def commands(place: Place, state: Draft) -> tuple[list[str], list[str]]:
    """The commands of the shell, and the Python, that do what was done here."""
    from bnpriv.io.starter.files import start_texts

    base = _base(state)
    account = account_of(place, base) if state.releases else None
    budget = None if account is None else float(account.budget.epsilon)
    ledger = "URL" if "://" in place.ledger else place.ledger  # no password of a database is shown
    table, file, made = (
        file_beside(base.table or "TABLE.csv"),
        f"framework/{Path(base.framework).name}",
        "framework.toml",
    )
    shell, python = ["set -e"], ["import bnpriv as bp", "", f"framework = {call_text('bp.read_framework', repr(file))}"]
    if not base.given:
        book = file_beside(base.codebook)
        said: dict[str, Any] = {
            "learn": file_beside(base.public),
            "codebook": f"framework/{book}" if _typed(place, base) else book,
        }
        said |= {
            "records": base.records,
            "graphs": 1 if base.edges else base.graphs,
            "names": names_of(base),
            "decimal": base.decimal,
        }
        hidden = {name: (each.property, each.at_most or 1) for name, each in base.hidden.items()}
        schema, read_as = declared(base).schema, dict(base.read_as)
        init, started = start_texts(table, made, schema, hidden, edges=base.by_hand, read_as=read_as, **said)
        python[2:] = [f"{started}.to_file({made!r})", f"framework = bp.read_framework({made!r})"]
        shell, file = ([*shell, init], made) if init else (shell, file)
    if table.endswith(WITH_NAMES):
        for lines in (shell, python):
            lines.insert(1, visible(f"# {table}: your table with a line of the names of its columns in front"))
    shell.append(command_text("bnpriv", "report", file))
    if account is not None:
        most = f"bp.types.Budget({budget!r}, {float(account.budget.delta)!r})"
        python.append(f"with bp.Session(framework, {table!r}, budget={most}, ledger={ledger!r}) as session:")
    for k, asked in enumerate(state.releases):
        it, made, name = asked.state, offered(asked.state), f"release-{k + 1}"
        strong, compared = {"epsilon": it.epsilon, "delta": it.delta}, against_public(it, made)
        public = {} if compared is None else {"public": file_beside(it.public), "despite_public": compared.contradicted}
        counted = {"ledger": ledger, "key": asked.key, "budget": None if k else budget}
        counted |= {"json": f"{name}.json", "statement": f"{name}.html"}
        if it.form == "table":
            options = {**strong, "output": f"{name}.parquet", "records_may_be_seen": True}
            shell.append(command_text("bnpriv", "table", file, table, **options, **counted))
            python.append(f"    released = {call_text('session.table', **options, key=asked.key)}")
        else:
            options = {"mechanism": it.mechanism, "even_if_useless": made.useful.verdict == "useless"}
            asks = {"query": it.query, **strong, **public}
            shell.append(command_text("bnpriv", "plan", file, **asks))
            shell.append(command_text("bnpriv", "release", file, table, **asks, **options, **counted))
            planned = call_text("bp.plan", "framework", **asks)
            waived = {"even_if_useless": options["even_if_useless"]}
            python.append(f"    best = {planned}.of({it.mechanism!r})")
            python.append(f"    released = {call_text('session.release', 'best', key=asked.key, **waived)}")
        python.append(f"    released.statement({dict(state.decided)!r}).to_html({f'{name}.html'!r})")
    return shell, python


def file_beside(path: str) -> str:
    """A file as a program beside it names it."""
    name = Path(path).name
    return f"./{name}" if name.startswith("-") else name
