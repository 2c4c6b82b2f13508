"""The last two steps: the release, and what can be taken along."""

from __future__ import annotations

import io
import os
import re
import secrets
import shlex
import zipfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bnpriv.app.columns import names_of
from bnpriv.app.forms import Form, at, entry, refusal, sending, shown, ticks
from bnpriv.app.memory import declared, framework_at, plan_at
from bnpriv.app.state import Asked, Place, State, lacking
from bnpriv.errors import BnprivError, FileError, LedgerError, MissingExtraError, ParameterError, RefusedError
from bnpriv.render import html
from bnpriv.render.html import Html, element, join
from bnpriv.services import service
from bnpriv.text import by_times, name_text, upper_text

if TYPE_CHECKING:
    from bnpriv.core.release import Release
    from bnpriv.ledger.counted import CountedAccount
    from bnpriv.ledger.values import Budget
    from bnpriv.shown import Shown
    from bnpriv.tables.private_table.private_table import PrivateTable, TablePlan

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


def account_of(place: Place, state: State) -> CountedAccount | None:
    """The account of the table in the ledger; None where it has none yet."""
    from bnpriv.ledger.counted import CountedAccount

    return CountedAccount.known(declared(state), place.ledger, ACCOUNT)


def offered(state: State, account: CountedAccount | None = None) -> Any:
    """The calibration, or the rule of the private table, that is asked for; by default the one that a session takes."""
    from bnpriv.core.accounting.accountant import Accountant
    from bnpriv.io.query_text import parse_query
    from bnpriv.ledger.prices import Chooser
    from bnpriv.ledger.values import Budget

    if state.form == "table":
        return _planned(state).best
    if state.mechanism:
        return plan_at(state.framework, state.query, state.epsilon, state.delta).of(state.mechanism)
    before = Accountant(declared(state)) if account is None else account.accountant
    chooser = Chooser(accountant=before, budget=account.budget if account else Budget(state.epsilon, state.delta))
    return chooser.at_epsilon(parse_query(state.query), state.epsilon, state.delta, None).calibration


def _planned(state: State) -> TablePlan:
    from bnpriv.tables.private_table.private_table import plan_table

    return plan_table(declared(state), state.epsilon, state.delta, queries=[state.query] if state.query else [])


def against_public(state: State, it: Any) -> Any:
    """What the public table says of the model for the question; None where there is none, or it cannot say it."""
    if state.form == "answer" and os.path.isfile(state.public):
        with suppress(BnprivError):  # the statement says why
            return service("plan.compared")(it.framework, state.public, it.query, it)
    return None


def doubts(state: State, it: Any) -> dict[str, tuple[str, str]]:
    """What has to be ticked before a release, by the names of the boxes."""
    if state.form == "table":
        return {"seen": ("Real records are handed on", "They may be seen: single persons need no protection.")}
    found, compared = dict[str, tuple[str, str]](), against_public(state, it)
    if it.useful.verdict == "useless":
        found["useless"] = "This answer is useless", f"Release it nevertheless. {it.useful}"
    if compared is not None and compared.contradicted and it.mechanism.needs_model:
        found["despite"] = "The public table contradicts the model", "Release it nevertheless."
    return found


def show_release(place: Place, state: State, form: Form) -> Html:
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
    wrong = [refusal(form.problems["ask"], "ask-refusal")] if "ask" in form.problems else []
    made = [_made(place, state, k) for k in reversed(range(len(state.releases)))]
    return join(ask, *wrong, *([element("h2", "Released"), *made, _deciding(place, state, form)] if made else []))


def _asking(state: State, account: CountedAccount | None, form: Form) -> Html:
    from bnpriv.ledger.counted import spent_of
    from bnpriv.ledger.history import left_text
    from bnpriv.ledger.prices import Chooser, Price

    it, named, table = offered(state, account), name_text(Path(state.table).name), state.form == "table"
    how = ["A whole private table for ", named, f", by the form {it.form!r}."] if table else []
    asks = how or [
        html.code(state.query),
        " of ",
        html.escape(named),
        ", with ",
        element("code", str(it.mechanism)),
        ".",
    ]
    alone = f"This release alone: epsilon {upper_text(it.guarantee.epsilon)}. Odds move {by_times(it.guarantee.nats)}."
    fields = [element("p", *asks, class_="lead"), element("p", alone)]
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
        hint = f"Fixed with the first release, for good{f', with the delta {state.delta:g}' if state.delta else ''}."
        label = "Budget: the epsilon of all releases of this table together"
        fields.append(entry(form, "budget", label, "", hint, inputmode="decimal"))
    key = element("input", type="hidden", name="key", value=secrets.token_urlsafe(12))
    once = element("p", "It is charged in the ledger before it is computed, and the charge is never given back.")
    button = "Make this table" if table else "Release this answer"
    return sending("release", key, *fields, once, button=button, waits="Reading the table ...")


# --------------------------------------------------------------------------------------------------
# The release: kept in the state, charged, computed.
# --------------------------------------------------------------------------------------------------


def take_release(place: Place, state: State, form: Form, keep: Callable[[State], None]) -> State:
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
        account = account_of(place, state)
        it = offered(state, account)
    for box, (legend, _) in doubts(state, it).items():
        with at(box):
            if not form.every(box):
                raise RefusedError(f"{legend}: it must be wanted", found="no tick", remedy="Tick it, or ask otherwise.")
    budget = _budget(state, it, form) if account is None else None
    with at("ask"):
        asked = Asked(key=key, state=_kept(place, state, it))
        keep(new := replace(state, releases=(*state.releases, asked)))  # before the charge: no answer is lost
        try:
            _release(place, asked, budget)
        except BnprivError:
            opened = account_of(place, state)
            if opened is None or key not in opened.ledger.book(opened.account).keys:
                keep(state)
            raise
    return new


def _budget(state: State, it: Any, form: Form) -> Budget:
    """The budget of a new account, which must hold its first release: no account is opened for nothing."""
    from bnpriv.ledger.values import Budget

    given = form.number("budget")
    with at("budget"):
        if given is None or it.guarantee.epsilon > given:
            found, remedy = "none" if given is None else f"{given:g}", "Write more, as 2, or go back to the strength."
            raise ParameterError(
                "a new account needs a budget that holds its first release", found=found, remedy=remedy
            )
        return Budget(given, state.delta)


def _kept(place: Place, state: State, it: Any) -> State:
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


def statement(place: Place, state: State, k: int, decided: Any = None) -> Shown:
    """The statement on what was released, with who decided what."""
    made, it = released(place, state.releases[k]), state.releases[k].state
    public = it.public if os.path.isfile(it.public) else None
    return made.statement(state.decided if decided is None else decided, declared(it) if it.form == "table" else public)


def _made(place: Place, state: State, k: int) -> Html:
    """What was released, with its statement."""
    try:
        parts = [shown(released(place, state.releases[k]))]
        told = element("summary", "Statement for the data-protection officer")
        parts.append(element("details", told, shown(statement(place, state, k), folded=False)))
    except BnprivError as error:
        parts = [element("p", html.code(state.releases[k].state.query)), refusal(error)]
    return element("section", *parts, id=f"release-{k}")


def _deciding(place: Place, state: State, form: Form) -> Html:
    """Who decided what, for all statements; what is chosen is shown as it was for the last release."""
    try:
        rows = statement(place, state, -1).document.data["decisions"]
    except BnprivError:
        return Html()
    hint = "Who, and why, as: the board on 2026-11-02, because ..."
    fields = [
        entry(form, row["name"], f"{row['what']}: {row['value']}", state.decided.get(row["name"], ""), hint) for row in rows
    ]  # fmt: skip
    act = element("input", type="hidden", name="act", value="decide")
    opened = any(row["name"] in form.problems for row in rows)
    said = sending("release", act, *fields, button="Keep who decided what")
    return element("details", element("summary", "Who decided what: for the statements"), said, open=opened)


def _decided(place: Place, state: State, form: Form) -> State:
    from bnpriv.core.frameworks.base import DECISIONS

    decided = {name: text for name in DECISIONS if (text := form.text(name))}
    for name, text in decided.items():
        with at(name):
            statement(place, state, -1, {name: text})
    return replace(state, decided=decided)


# --------------------------------------------------------------------------------------------------
# Downloads.
# --------------------------------------------------------------------------------------------------

SAID = {
    "release.json": "all of it as JSON, for bnpriv verify", "release.html": "all of it as a page",
    "statement.html": "the statement as a page", "statement.md": "the statement as Markdown",
    "statement.docx": "the statement as .docx", "table.parquet": "the private table",
    "ledger.json": "all that was charged, as JSON for bnpriv verify",
}  # fmt: skip


def _base(state: State) -> State:
    """What the releases were made under; before the first one what is chosen."""
    return state.releases[-1].state if state.releases else state


def offers(place: Place, state: State) -> dict[str, list[str]]:
    """The names of all files that can be taken along, by what they are of."""
    statements = [name for name in SAID if name.startswith("statement") and (docx_is_there() or name[-4:] != "docx")]
    found = {"framework": ["framework.zip"], "same": ["same.sh", "same.py"]}
    for k, asked in enumerate(state.releases):
        with suppress(BnprivError):  # what was never charged
            released(place, asked)
            table = ["table.parquet"] if asked.state.form == "table" else []
            found[f"release-{k + 1}"] = ["release.json", "release.html", *statements, *table]
    return found | ({"together": ["ledger.json", *statements]} if len(found) > 2 else {})


def docx_is_there() -> bool:
    """Whether python-docx is installed."""
    from bnpriv.render.as_docx import require_form

    try:
        require_form(Path("statement.docx"))
    except MissingExtraError:
        return False
    return True


def show_downloads(place: Place, state: State, form: Form) -> Html:
    """The page with all files, and the commands and the Python that do the same."""
    heads = {"framework": "The framework", "same": "The same by program", "together": "All releases together"}
    parts = [_links("all", ["bnpriv.zip"]), *([] if docx_is_there() else [element("p", NO_DOCX)])]
    for which, names in offers(place, state).items():
        query = html.code(state.releases[int(which[8:]) - 1].state.query) if which not in heads else Html()
        parts += [element("h2", heads.get(which, f"Release {which[8:]}: "), query), _links(which, names)]
    for title, lines in zip(("The same in the shell", "The same in Python"), commands(place, state), strict=True):
        listing = element("code", Html("\n".join(map(html.escape, lines))))
        parts += [element("h2", title), element("pre", listing, tabindex="0")]
    return join(*parts)


NO_DOCX = 'Statements as .docx need python-docx: pip install "bnpriv[docx]".'


def _links(which: str, names: list[str]) -> Html:
    links = [
        (element("a", name, href=f"/download/{which}/{name}", download=True), SAID.get(name, "")) for name in names
    ]
    return element("ul", *(element("li", link, f": {said}" if said else "") for link, said in links))


def take_downloads(place: Place, state: State, form: Form) -> State:
    """Nothing is chosen there."""
    return state


def download(place: Place, state: State, which: str, name: str) -> tuple[str, bytes]:
    """A file to be taken along: its name and what it holds.

    Raises
    ------
    FileError
        If there is none of that name.
    """
    found = offers(place, state)
    if which == "all" or name in found.get(which, ()):
        return name, _content(place, state, which, name, found)
    raise FileError("a download is one of those on the page", found="another", remedy="Go back to the downloads.")


def _content(place: Place, state: State, which: str, name: str, found: dict[str, list[str]]) -> bytes:
    from bnpriv.io.framework_file import framework_files
    from bnpriv.ledger.session import statement_of
    from bnpriv.render.as_docx import as_file

    base = _base(state)
    if name.endswith(".zip"):
        paths, held = framework_files(base.framework), io.BytesIO()
        with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as made:
            for path in paths:
                made.write(path, f"framework/{path.relative_to(paths[0].parent)}")
            for folder, names in found.items() if which == "all" else ():
                for each in names if folder != "framework" else ():
                    inside = each if folder == "same" else f"{folder}/{each}"
                    made.writestr(inside, _content(place, state, folder, each, found))
        return held.getvalue()
    if which == "same":
        return "\n".join([*commands(place, state)[name == "same.py"], ""]).encode()
    if which == "together":
        account = account_of(place, base)
        assert account is not None
        text = account.transcript() if name == "ledger.json" else None
        page: Any = statement_of(account, place.ledger, state.decided)
    else:
        k = int(which[8:]) - 1
        page, asked = statement(place, state, k), state.releases[k]
        if name == "table.parquet":
            return _table_file(place, asked).read_bytes()
        whole = released(place, asked)
        text = {"release.json": whole.to_json, "release.html": whole.to_html}.get(name, lambda: None)()
    made = text if text is not None else as_file(page.document, Path(name))
    return made if isinstance(made, bytes) else made.encode()


def commands(place: Place, state: State) -> tuple[list[str], list[str]]:
    """The commands of the shell, and the Python, that do what was done here; they run beside the unpacked .zip."""
    base, account = _base(state), account_of(place, _base(state)) if state.releases else None
    ledger = place.ledger if "://" not in place.ledger else "URL"  # no password of a database is shown
    table, file = _named(base.table or "TABLE.csv"), f"framework/{Path(base.framework).name}"
    shell, python = ["set -e"], ["import bnpriv as bp", "", f"framework = {_call('bp.read_framework', file)}"]
    if not base.given:
        said = {
            "learn": _named(base.public), "codebook": _named(base.codebook), "records": base.records,
            "graphs": 1 if base.edges else base.graphs,
        }  # fmt: skip
        secrets_ = [f"{name!r}: {_call('bp.Secret', each.property)[:-1]}, pairs=bp.apart(at_most={each.at_most}))"
                    for name, each in base.hidden.items()]  # fmt: skip
        protect = f"{{{', '.join(secrets_)}}}"
        started = _call("bp.start", table, **said, edges=base.by_hand, names=names_of(base), read_as=dict(base.read_as))
        python[2] = f"framework = {started[:-1]}, protect={protect})"
        if _is_usual(base):
            read_as = [f"{name}={kind}" for name, kind in base.read_as.items()]
            edges = [f"{above} -> {below}{f': {own!r}' if own else ''}" for (above, below), own in base.by_hand.items()]
            more = {"names": base.names, "edges": ", ".join(edges), "protect": list(base.hidden), "as": read_as}
            file = "framework.toml"
            shell.append(_command("init", table, **said, **more, output=file))
    shell.append(_command("report", file))
    if account is not None:
        budget = f"bp.types.Budget({float(account.budget.epsilon)!r}, {float(account.budget.delta)!r})"
        python.append(f"with bp.Session(framework, {table!r}, budget={budget}, ledger={ledger!r}) as session:")
    for k, asked in enumerate(state.releases):
        it, which = asked.state, offered(asked.state)
        compared, strong = against_public(it, which), {"epsilon": it.epsilon, "delta": it.delta}
        despite = compared is not None and compared.contradicted
        public = {} if compared is None else {"public": _named(it.public), "despite_public": despite}
        counted = {
            "ledger": ledger,
            "key": asked.key,
            "budget": float(account.budget.epsilon) if account and not k else None,
        }
        written = {"json": f"release-{k + 1}.json", "statement": f"statement-{k + 1}.html"}
        if it.form == "table":
            made = {"output": f"table-{k + 1}.parquet", "records_may_be_seen": True}
            shell.append(_command("table", file, table, **strong, **made, **counted, **written))
            python.append(f"    released = {_call('session.table', **strong, **made, key=asked.key)}")
        else:
            useless = which.useful.verdict == "useless"
            shell.append(_command("plan", file, query=it.query, **strong, **public))
            asks = {"query": it.query, **strong, "mechanism": it.mechanism, "even_if_useless": useless, **public}
            shell.append(_command("release", file, table, **asks, **counted, **written))
            python.append(
                f"    plan = {_call('bp.plan', **strong, **public)[:-1].replace('(', f'(framework, {it.query!r}, ', 1)})"
            )
            python.append(
                f"    released = session.release(plan.of({it.mechanism!r}), key={asked.key!r}, even_if_useless={useless})"
            )
        python += [
            "    print(released)",
            f"    released.statement({dict(state.decided)!r}).to_html('statement-{k + 1}.html')",
        ]
    return shell, python


def _is_usual(state: State) -> bool:
    """Whether `bnpriv init` would hide the same by itself."""
    from bnpriv.io.starter.start import usual_distance, usual_property

    schema, near = declared(state).schema, usual_distance(state.records or 1)
    each = [
        (held.property == str(usual_property(name, schema[name])) and held.at_most == near)
        for name, held in state.hidden.items()
    ]
    # the shell's text of edges cannot hold every name
    return all(each) and not any(sign in end for edge in state.by_hand for end in edge for sign in ",>:")


def _named(path: str) -> str:
    """A file as a program beside the unpacked .zip names it."""
    name = Path(path).name
    return f"./{name}" if name.startswith("-") else name


def _command(*words: str, **options: object) -> str:
    """A command of the shell, without the options that are not said."""
    said = ["bnpriv", *words]
    for name, value in options.items():
        for each in value if isinstance(value, list) else [value]:
            if each:
                said += [f"--{name.replace('_', '-')}", *([] if each is True else [str(each)])]
    return shlex.join(said)


def _call(function: str, *words: str, **options: object) -> str:
    """A call in Python, without the options that are not said."""
    said = [*map(repr, words), *(f"{name}={value!r}" for name, value in options.items() if value)]
    return f"{function}({', '.join(said)})"
