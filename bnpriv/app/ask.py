"""The last four steps: the question, the strength, the release, and what can be taken along."""

from __future__ import annotations

import io
import secrets
import shlex
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

from bnpriv.app.declare import declared
from bnpriv.app.forms import Form, at, choice, entry, group, refusal, sending, ticks
from bnpriv.app.memory import plan_at
from bnpriv.app.shown import shown
from bnpriv.app.state import Asked, Place, State
from bnpriv.errors import BnprivError, FileError, LedgerError, ParameterError, RefusedError
from bnpriv.render import html
from bnpriv.render.as_html import block, inline
from bnpriv.render.html import Html, element, join
from bnpriv.text import number_text, upper_text

if TYPE_CHECKING:
    from bnpriv.core.mechanisms.base import Calibration
    from bnpriv.core.queries.base import Query
    from bnpriv.core.release import Release
    from bnpriv.core.schema import Column
    from bnpriv.ledger.counted import CountedAccount

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


# --------------------------------------------------------------------------------------------------
# Release: asked once, charged before it is computed.
# --------------------------------------------------------------------------------------------------


def chosen(state: State, asked: Asked | None = None) -> Calibration:
    """The calibration of what was chosen, or of a release that was asked for."""
    it = asked or Asked(key="", query=state.query, epsilon=state.epsilon, delta=state.delta, mechanism=state.mechanism)
    made = plan_at(state.framework, it.query, it.epsilon, it.delta)
    return made.of(it.mechanism) if it.mechanism else made.best


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

    best = chosen(state)
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
    with Session(declared(state), state.table, ledger=place.ledger, name=ACCOUNT) as session:
        return session.release(chosen(state, asked), key=asked.key, even_if_useless=True)


def take_release(place: Place, state: State, form: Form, keep: Callable[[State], None]) -> State:
    """Keep what is asked for, charge it, and answer it; the same form sent again is the same release."""
    from bnpriv.ledger.session import Session

    key = form.text("key")
    with at("ask"):
        if not (8 <= len(key) <= 64 and key.isascii()):
            raise ParameterError("a release has the key of its page", found="another", remedy="Load the page anew.")
    if key in (each.key for each in state.releases):
        return state
    asked = Asked(key=key, query=state.query, epsilon=state.epsilon, delta=state.delta, mechanism=state.mechanism)
    with at("ask"):
        best = chosen(state)
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

    made = [] if state.given else sorted(place.kept.glob("framework*"))
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
    for each in state.releases or (Asked(key="", query=state.query or "Q", epsilon=state.epsilon, delta=state.delta),):
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
