"""The last two steps: the release, and what can be taken along."""

from __future__ import annotations

import io
import secrets
import shlex
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from bnpriv.app.forms import Form, at, entry, refusal, sending, shown, ticks
from bnpriv.app.memory import declared, framework_at, plan_at
from bnpriv.app.state import Asked, Place, State
from bnpriv.errors import BnprivError, FileError, LedgerError, ParameterError, RefusedError
from bnpriv.render import html
from bnpriv.render.html import Html, element, join
from bnpriv.text import upper_text

if TYPE_CHECKING:
    from bnpriv.core.mechanisms.base import Calibration
    from bnpriv.core.release import Release
    from bnpriv.ledger.counted import CountedAccount

ACCOUNT = "data"
"""Of the table in the ledger, as the shell names it."""

# --------------------------------------------------------------------------------------------------
# Release: asked once, charged before it is computed.
# --------------------------------------------------------------------------------------------------


def asking(state: State, key: str = "") -> Asked:
    """What was chosen, as a release that is asked for."""
    return Asked(
        key=key,
        framework=state.framework,
        table=state.table,
        query=state.query,
        epsilon=state.epsilon,
        delta=state.delta,
        mechanism=state.mechanism,
    )


def chosen(asked: Asked) -> Calibration:
    """The calibration of a release that is asked for."""
    made = plan_at(asked.framework, asked.query, asked.epsilon, asked.delta)
    return made.of(asked.mechanism) if asked.mechanism else made.best


def account_of(place: Place, state: State) -> CountedAccount | None:
    """The account of the table in the ledger; None where it has none yet."""
    from bnpriv.ledger.counted import CountedAccount
    from bnpriv.ledger.store import ledger_file

    file = ledger_file(place.ledger)
    if file is not None and not file.exists():
        return None
    from bnpriv.ledger.ledger import Ledger

    if file is not None and ACCOUNT not in Ledger.open(place.ledger).verify(seen=()).heads:
        return None
    return CountedAccount.opened(declared(state), place.ledger, None, ACCOUNT)


def show_release(place: Place, state: State, form: Form) -> Html:
    """The page that says what a release costs, asks once, and shows what was released."""
    from bnpriv.ledger.prices import Chooser, Price

    best = chosen(asking(state))
    account = account_of(place, state)
    useless = best.useful.verdict == "useless"
    fields = [element("input", type="hidden", name="key", value=secrets.token_urlsafe(12))]
    if account is None:
        fields.append(
            entry(
                form, "budget", "Budget: the epsilon of all releases of this table together", "",
                "It is fixed with the first release, for good.", inputmode="decimal",
            )
        )  # fmt: skip
        price = element("p", f"This release alone: epsilon {upper_text(best.guarantee.epsilon)}.")
    else:
        cost = Chooser(accountant=account.before(None), budget=account.budget).cost(best)
        price = shown(Price(cost=cost))
    if useless:
        fields.append(
            ticks(
                form,
                "useless",
                "This answer is useless",
                [("yes", f"Release it nevertheless. {best.useful}")],
                [],
                "checkbox",
            )
        )
    wrong = [refusal(form.problems["ask"], "ask-refusal")] if "ask" in form.problems else []
    asks = element(
        "p",
        html.code(state.query),
        f" of {Path(state.table).name}, with ",
        element("code", str(best.mechanism)),
        class_="lead",
    )
    once = "What is released is charged in the ledger before it is computed, and is never given back."
    ask = sending(
        "release", asks, price, *fields, element("p", once), *wrong,
        button="Release this answer", waits="Reading the table ...",
    )  # fmt: skip
    made = [_made(place, state, k, account) for k in reversed(range(len(state.releases)))]
    return join(ask, *([element("h2", "Released")] if made else []), *made)


def _made(place: Place, state: State, k: int, account: CountedAccount | None) -> Html:
    """A release as the ledger keeps it, with its statement."""
    asked = state.releases[k]
    try:
        it = released(place, state, k, account)
    except BnprivError as error:
        return element("section", element("p", html.code(asked.query)), refusal(error))
    page = element(
        "details", element("summary", "Statement for the data-protection officer"), shown(it.statement(), folded=False)
    )
    return element("section", shown(it), page, id=f"release-{k}")


def released(place: Place, state: State, k: int, account: CountedAccount | None = None) -> Release:
    """A release that was charged, from the ledger and free of charge.

    Raises
    ------
    LedgerError
        If it was never charged.
    """
    from bnpriv.ledger.session import Session

    asked = state.releases[k]
    account = account or account_of(place, state)
    if account is None or asked.key not in account.ledger.book(account.account).keys:
        raise LedgerError(
            "a release stands in the ledger once it is charged", found="none: it was not charged", remedy="Ask again."
        )
    with Session(framework_at(asked.framework), asked.table, ledger=place.ledger, name=ACCOUNT) as session:
        return session.release(chosen(asked), key=asked.key, even_if_useless=True)


def take_release(place: Place, state: State, form: Form, keep: Callable[[State], None]) -> State:
    """Keep what is asked for, charge it, and answer it; the same form sent again is the same release."""
    from bnpriv.ledger.session import Session

    key = form.text("key")
    with at("ask"):
        if not (8 <= len(key) <= 64 and key.isascii()):
            raise ParameterError("a release has the key of its page", found="another", remedy="Load the page anew.")
    if key in (each.key for each in state.releases):
        return state
    asked = asking(state, key)
    with at("ask"):
        best = chosen(asked)
    account = account_of(place, state)
    budget = form.number("budget") if account is None else None
    if account is None:
        with at("budget"):
            if budget is None:
                raise ParameterError("a new account needs a budget", found="none", remedy="Write one, as 2.")
    if best.useful.verdict == "useless" and not form.every("useless"):
        with at("ask"):
            raise RefusedError(
                "an answer that is charged must say something",
                found="a useless one",
                remedy="Tick the box, or ask otherwise.",
            )
    new = replace(state, releases=(*state.releases, asked))
    with at("ask"), Session(declared(state), state.table, budget=budget, ledger=place.ledger, name=ACCOUNT) as session:
        keep(new)  # before the charge: a fall of the power between the two loses no answer
        try:
            session.release(best, key=key, even_if_useless=True)
        except BnprivError:
            opened = account_of(place, state)
            if opened is None or key not in opened.ledger.book(opened.account).keys:
                keep(state)
            raise
    return new


# --------------------------------------------------------------------------------------------------
# Downloads.
# --------------------------------------------------------------------------------------------------

RELEASE_FILES = {
    "release.json": "the release as JSON, for bnpriv verify",
    "release.html": "the release as a page",
    "statement.html": "the statement as a page",
    "statement.md": "the statement as Markdown",
    "statement.docx": "the statement as .docx",
}


def _own_files(place: Place, state: State) -> list[Path]:
    """The framework file and all that it names, public records too."""
    from bnpriv.io.framework_file import framework_files

    made = [] if state.given else sorted(Path(state.framework).parent.glob("framework*"))
    return list(dict.fromkeys([*map(Path, framework_files(state.framework)), *made]))


def _zipped(paths: list[Path]) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as made:
        for path in paths:
            made.write(path, path.name)
    return held.getvalue()


def show_downloads(place: Place, state: State, form: Form) -> Html:
    """The page with all files, and the commands and the Python that do the same."""
    said = f"{Path(state.framework).name} and what it names, as one .zip ({len(_own_files(place, state))} files)"
    parts = [element("h2", "The framework"), _links([("/download/framework/all", said)])]
    for k, asked in enumerate(state.releases):
        parts.append(element("h2", "Release ", str(k + 1), ": ", html.code(asked.query)))
        parts.append(_links([(f"/download/{k}/{name}", said) for name, said in RELEASE_FILES.items()]))
    shell, python = commands(place, state)
    parts += [element("h2", "The same in the shell"), _listing(shell)]
    parts += [element("h2", "The same in Python"), _listing(python)]
    return join(*parts)


def _listing(lines: list[str]) -> Html:
    """Lines of a program; a hostile name cannot add one."""
    return element("pre", element("code", Html("\n".join(map(html.escape, lines)))), tabindex="0")


def _links(links: list[tuple[str, str]]) -> Html:
    return element("ul", *(element("li", element("a", said, href=where, download=True)) for where, said in links))


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
    from bnpriv.render.as_docx import as_file

    if which == "framework" and state.framework:
        return "framework.zip", _zipped(_own_files(place, state))
    if which.isdecimal() and int(which) < len(state.releases) and name in RELEASE_FILES:
        it = released(place, state, int(which))
        if name == "release.json":
            return name, it.to_json().encode()
        if name == "release.html":
            return name, it.to_html().encode()
        made = as_file(it.statement().document, Path(name))
        return name, made if isinstance(made, bytes) else made.encode()
    raise FileError("a download is one of those on the page", found="another", remedy="Go back to the downloads.")


def commands(place: Place, state: State) -> tuple[list[str], list[str]]:
    """The commands of the shell, and the Python, that do what was done here."""
    framework, table = Path(state.framework).name, Path(state.table or "TABLE.csv").name
    # no password of a database is shown
    ledger = place.ledger if "://" not in place.ledger else "URL"
    shell = [shlex.join(["bnpriv", "report", framework])]
    python = ["import bnpriv as bp", "", f"framework = bp.read_framework({framework!r})"]
    python.append(f"with bp.Session(framework, {table!r}, budget=..., ledger={ledger!r}) as session:")
    for each in state.releases or (asking(replace(state, query=state.query or "Q")),):
        asked = [
            "--query",
            each.query,
            "--epsilon",
            f"{each.epsilon:g}",
            *(["--delta", f"{each.delta:g}"] if each.delta else []),
        ]
        named = ["--mechanism", each.mechanism] if each.mechanism else []
        key = ["--key", each.key] if each.key else []
        shell.append(shlex.join(["bnpriv", "plan", framework, *asked]))
        shell.append(shlex.join(["bnpriv", "release", framework, table, *asked, *named, "--ledger", ledger, *key]))
        python.append(f"    best = bp.plan(framework, {each.query!r}, {each.epsilon!r}, {each.delta!r})")
        which = f".of({each.mechanism!r})" if each.mechanism else ".best"
        python.append(f"    released = session.release(best{which}, key={each.key or None!r})")
        python.append("    print(released.statement().to_markdown())")
    return shell, python
