"""The shell: report what leaks, plan the noise, release an answer, make up data, start a framework file."""

from __future__ import annotations

import errno
import io
import os
import shlex
import sys
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer
from typer.core import TyperGroup

from bnpriv.checks import closest, spelling
from bnpriv.core.interrupts import NOTHING_CHARGED, noting
from bnpriv.errors import BnprivError, FileError, FileProblemsError, ParameterError, QueryError, RefusedError
from bnpriv.paths import with_journals
from bnpriv.render.outputs import Outputs, outputs, require_writable, working
from bnpriv.services import service
from bnpriv.text import lines_text, visible

if TYPE_CHECKING:
    import pandas as pd

    from bnpriv.core.frameworks.question import Framework
    from bnpriv.core.queries.base import Query
    from bnpriv.core.release import Release
    from bnpriv.ledger.values import Mark
    from bnpriv.shown import Shown
    from bnpriv.tables.private_table.private_table import PrivateTable
    from bnpriv.tables.readings import Dialect

REFUSED = 2

STOPPED = 130
"""Exit code of what Ctrl-C ended, as shells have it."""

ROOM = 2**12
"""Bytes of a page or of JSON that one number of an answer may take, and more than it does."""


@contextmanager
def _stopping(said: str = "") -> Generator[None]:
    """End on Ctrl-C with the shell's exit code for it, and say what is left behind: `said` where nothing says it."""
    try:
        yield
    except KeyboardInterrupt as stopped:
        lines = " ".join(getattr(stopped, "__notes__", ())) or said
        print(visible(f"stopped by Ctrl-C. {lines}".rstrip()), file=sys.stderr)
        raise typer.Exit(STOPPED) from None


class Commands(TyperGroup):
    """The commands of the shell, which say on Ctrl-C what they leave behind."""

    def make_context(self, *args: Any, **options: Any) -> Any:
        """Read the words of a command."""
        with _stopping(NOTHING_CHARGED):
            return super().make_context(*args, **options)

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        with _stopping():
            return super().invoke(ctx)


app = typer.Typer(
    name="bnpriv",
    cls=Commands,
    help="Publish statistics of a table without giving away a global property of its protected columns.",
    epilog="Start with: bnpriv init TABLE.csv -o framework.toml",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


def _version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        print(f"bnpriv {version('bnpriv')}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Publish statistics of a table without giving away a global property of its protected columns."""


ledger_app = typer.Typer(help="Look into a ledger, or record in it what another tool released.", no_args_is_help=True)
app.add_typer(ledger_app, name="ledger")

LedgerArgument = Annotated[str, typer.Argument(metavar="LEDGER", help="A file, or the URL of a database.")]
FrameworkFile = Annotated[Path, typer.Argument(metavar="FRAMEWORK.toml", help="Network, columns and what to protect.")]
QueryText = Annotated[str, typer.Option("--query", metavar="Q", help="A query, or the name of one in the file.")]
Epsilon = Annotated[float, typer.Option("--epsilon", metavar="E", help="Odds on a secret move at most exp(E) times.")]
Delta = Annotated[float, typer.Option("--delta", metavar="D", help="What the bound may leave out, a probability.")]
JsonFile = Annotated[
    str | None, typer.Option("--json", metavar="FILE", help="Write JSON to this file; - for standard output.")
]
PublicTable = Annotated[
    str | None,
    typer.Option("--public", metavar="PUBLIC", help="A public table: refuse where it contradicts the model."),
]
DespitePublic = Annotated[bool, typer.Option("--despite-public", help="Waive that refusal.")]
LedgerFile = Annotated[
    str | None, typer.Option("--ledger", metavar="FILE", help="Charge the release here; a file or a database URL.")
]
BudgetNumber = Annotated[
    float | None,
    typer.Option("--budget", metavar="B", help="For a new account: the epsilon of all its releases."),
]
AccountName = Annotated[str, typer.Option("--account", metavar="NAME", help="Names the table in the ledger.")]
KeyText = Annotated[
    str | None, typer.Option("--key", metavar="K", help="Names this release: once more gives the stored answer.")
]
EvenIfUseless = Annotated[bool, typer.Option("--even-if-useless", help="Release an answer that is useless.")]
NewName = Annotated[bool, typer.Option("--new-name", help="The account is new, though nearly named as another.")]
Full = Annotated[bool, typer.Option("--full", help="Print all of it, not only the first lines.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print the number alone.")]
StatementFile = Annotated[
    Path | None,
    typer.Option(
        "--statement", metavar="FILE", help="Write one page for a data-protection officer: .docx, .html, .md."
    ),
]
HtmlFile = Annotated[Path | None, typer.Option("--html", metavar="FILE", help="Write a self-contained HTML page.")]


@app.command(
    epilog='Example: bnpriv report framework.toml --query "count(height > 180)" --epsilon 1 --html report.html'
)
def report(
    framework: FrameworkFile,
    query: Annotated[str | None, typer.Option("--query", metavar="Q", help="A query, or the name of one.")] = None,
    epsilon: Annotated[float | None, typer.Option("--epsilon", metavar="E", help="With a query: its budget.")] = None,
    delta: Delta = 0.0,
    html: HtmlFile = None,
    markdown: Annotated[Path | None, typer.Option("--markdown", metavar="FILE", help="Write Markdown.")] = None,
    json: JsonFile = None,
    full: Full = False,
    quiet: Quiet = False,
) -> None:
    """Show what the columns, and a query, tell about what is protected."""
    from bnpriv.io.framework_file import framework_files, read_framework
    from bnpriv.views.report.report import influence_report

    with outputs(html, markdown, _file(json), reading=framework_files(framework)) as out:
        with working("computing influences"):
            declared = read_framework(framework)
            asked = None if query is None else _query(framework, query)
            made = influence_report(declared, asked, epsilon, delta)
            text = _printed(made, full=full, quiet=quiet)
            if html is not None:
                out.put(html, made.to_html())
            if markdown is not None:
                out.put(markdown, made.to_markdown())
        _show(text, made.to_json, json, out)


@app.command(epilog='Example: bnpriv plan framework.toml --query "mean(sat)" --epsilon 0.5 --delta 1e-6')
def plan(
    framework: FrameworkFile,
    query: QueryText,
    epsilon: Epsilon,
    delta: Delta = 0.0,
    public: PublicTable = None,
    despite_public: DespitePublic = False,
    html: HtmlFile = None,
    json: JsonFile = None,
    full: Full = False,
    quiet: Quiet = False,
) -> None:
    """Compare every mechanism for a query, least expected error first."""
    from bnpriv.io.framework_file import framework_files, read_framework
    from bnpriv.mechanisms.plan import plan as make_plan

    with outputs(html, _file(json), reading=[*framework_files(framework), *_table_files(public)]) as out:
        with working("calibrating every mechanism"):
            declared, asked = read_framework(framework), _query(framework, query)
            made = make_plan(declared, asked, epsilon, delta, public=public, despite_public=despite_public)
            _ = made.best  # refused here if no mechanism supports it
            text = _printed(made, full=full, quiet=quiet)
            if html is not None:
                out.put(html, made.to_html())
        _show(text, made.to_json, json, out)


@app.command(epilog='Example: bnpriv release framework.toml table.parquet --query "count(height > 180)" --epsilon 1')
def release(
    framework: FrameworkFile,
    data: Annotated[str, typer.Argument(metavar="DATA", help="A Parquet or CSV file, or the URL of a table.")],
    query: QueryText,
    epsilon: Epsilon,
    delta: Delta = 0.0,
    mechanism: Annotated[
        str | None, typer.Option("--mechanism", metavar="NAME", help="One that plan lists; else that which errs least.")
    ] = None,
    ledger: LedgerFile = None,
    budget: BudgetNumber = None,
    account: AccountName = "data",
    new_name: NewName = False,
    key: KeyText = None,
    public: PublicTable = None,
    despite_public: DespitePublic = False,
    even_if_useless: EvenIfUseless = False,
    html: HtmlFile = None,
    statement: StatementFile = None,
    json: JsonFile = None,
    full: Full = False,
    quiet: Quiet = False,
) -> None:
    """Release the answer to a query with the mechanism that errs least, or with one that is named."""
    with noting(lambda: NOTHING_CHARGED):
        from bnpriv.core.release import release as make_release
        from bnpriv.io.framework_file import framework_files, read_framework
        from bnpriv.ledger.prices import refuse_useless
        from bnpriv.ledger.session import Session
        from bnpriv.ledger.values import Budget
        from bnpriv.mechanisms.plan import plan as make_plan
        from bnpriv.render.as_docx import as_file, require_form

        _require_ledger(ledger, budget, key)
        require_form(statement)
        _require_one_length(full=full, quiet=quiet)
        from bnpriv.tables.files import data_files

        written = html, statement, _file(json)
        reading = [*framework_files(framework), *data_files(data, *written), *_ledger_files(ledger)]
        reading += _table_files(public)
    released: Release | None = None
    with _saying(lambda: released), outputs(*written, reading=reading) as out:
        with working("calibrating every mechanism"):
            declared = read_framework(framework)
            asked = _query(framework, query)
            if mechanism is None:
                _refuse_large_delta(declared, delta)
            named = None if mechanism is None else make_plan(declared, asked, epsilon, delta).of(mechanism)
            if ledger is None:
                session, best = None, named or make_plan(declared, asked, epsilon, delta).best
            else:
                most = None if budget is None else Budget(budget, delta)  # what has a delta needs one of the budget
                session = Session(declared, data, budget=most, ledger=ledger, name=account, new_name=new_name)
                chosen = None if named is None else named.mechanism
                best = session.what_if(asked, epsilon, delta=delta, mechanism=chosen, key=key).calibration
            if public is not None:
                service("release.refuse_contradicted")(best, public, despite_public, data)
            if session is None and not even_if_useless:
                refuse_useless(best)
        # an answer that could not be kept would be asked for again, which costs privacy again
        if any(written):
            out.reserve(len(best.to_html()) + ROOM * (32 + best.noise.dimension))
        with working("reading the table"):
            options: dict[str, Any] = {"key": key, "even_if_useless": even_if_useless}
            released = make_release(best, data) if session is None else session.release(best, **options)
        if html is not None:
            out.put(html, released.to_html())
        if statement is not None:
            page = service("release.statement")(released, None, public, _replay(json, framework))
            out.put(statement, as_file(page.document, statement))
        _show(_printed(released, full=full, quiet=quiet), released.to_json, json, out)


@app.command(
    epilog="Example: bnpriv table framework.toml table.parquet -o private.parquet --epsilon 1 --delta 1e-6 "
    "--records-may-be-seen"
)
def table(
    framework: FrameworkFile,
    data: Annotated[str | None, typer.Argument(metavar="DATA", help="A Parquet or CSV file, or a table's URL.")] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", metavar="OUT", help="A Parquet file.")] = None,
    epsilon: Epsilon = ...,  # type: ignore[assignment]
    delta: Delta = 0.0,
    form: Annotated[str | None, typer.Option("--form", metavar="F", help="fill, trim, or fill and trim.")] = None,
    records_may_be_seen: Annotated[
        bool, typer.Option("--records-may-be-seen", help="Declare that single persons need no protection.")
    ] = False,
    plan: Annotated[
        bool, typer.Option("--plan", help="Only say what each form would be like, and err; no data are touched.")
    ] = False,
    ledger: LedgerFile = None,
    budget: BudgetNumber = None,
    account: AccountName = "data",
    key: KeyText = None,
    html: HtmlFile = None,
    statement: StatementFile = None,
    json: JsonFile = None,
    full: Full = False,
    quiet: Quiet = False,
) -> None:
    """Hide numbers of records once, and hand on a whole table that may be used for anything."""
    with noting(lambda: NOTHING_CHARGED):
        from bnpriv.io.framework_file import framework_files, read_decisions, read_hidden, read_queries
        from bnpriv.ledger.values import Budget
        from bnpriv.render.as_docx import as_file, require_form
        from bnpriv.tables.files import data_files
        from bnpriv.tables.private_table.private_table import plan_table, private_table

        _require_ledger(ledger, budget, key)
        _refuse_half_asked(plan=plan, data=data, output=output, seen=records_may_be_seen)
        _refuse_no_statement(statement, plan=plan, form=form)
        require_form(statement)
        _require_one_length(full=full, quiet=quiet)
        written = [path for path in (output, html, statement, _file(json)) if path is not None]
        reading = [*framework_files(framework), *_ledger_files(ledger)]
        reading += [] if data is None else data_files(data, *written)
        if output is not None:
            require_writable(output, reading)
            reading.append(output)
    made: PrivateTable | None = None
    with (
        _saying(lambda: made, f"its table is in {output}."),
        outputs(html, statement, _file(json), reading=reading) as out,
    ):
        hidden, schema, known = read_hidden(framework)
        if plan:
            queries = tuple(read_queries(framework).values())
            with working("working out every form"):
                planned = plan_table(hidden, epsilon, delta, queries=queries, schema=schema, law=known)
                if html is not None:
                    out.put(html, planned.to_html())
            _show(_printed(planned, full=full, quiet=quiet), planned.to_json, json, out)
            return
        out.reserve(ROOM * 256)
        with working("reading the table"):
            most = None if budget is None else Budget(budget, delta)
            counted: dict[str, Any] = {"ledger": ledger, "budget": most, "name": account, "key": key}
            options: dict[str, Any] = {"schema": schema, "law": known, "records_may_be_seen": True, "output": output}
            made = cast("PrivateTable", private_table(hidden, data, epsilon, delta, form, **options, **counted))
        if html is not None:
            out.put(html, made.to_html())
        if statement is not None:
            decided, replay = read_decisions(framework), _replay(json, framework)
            page = service("table.statement")(made, decided, None if isinstance(hidden, tuple) else hidden, replay)
            out.put(statement, as_file(page.document, statement))
        _show(_printed(made, full=full, quiet=quiet), made.to_json, json, out)


@ledger_app.command(epilog="Example: bnpriv ledger show ledger.db")
def show(
    ledger: LedgerArgument,
    account: Annotated[str | None, typer.Option("--account", metavar="NAME", help="Only this one.")] = None,
    html: HtmlFile = None,
    json: JsonFile = None,
    full: Full = False,
    quiet: Quiet = False,
) -> None:
    """Show the accounts of a ledger: what was asked, what it cost, what is left."""
    from bnpriv.ledger.ledger import Ledger
    from bnpriv.ledger.session import LedgerPage

    with outputs(html, _file(json), reading=_ledger_files(ledger)) as out:
        page = LedgerPage.of(Ledger.open(ledger), account)
        if html is not None:
            out.put(html, page.to_html())
        _show(_printed(page, full=full, quiet=quiet), page.to_json, json, out)


@ledger_app.command(
    epilog='Example: bnpriv ledger record framework.toml --ledger ledger.db --epsilon 1 --columns "age, ward"'
)
def record(
    framework: FrameworkFile,
    ledger: Annotated[str, typer.Option("--ledger", metavar="FILE", help="A file, or the URL of a database.")],
    epsilon: Annotated[float, typer.Option("--epsilon", metavar="E", help="What it promises for single records.")],
    columns: Annotated[str, typer.Option("--columns", metavar="A,B", help="All columns that it reads.")],
    unit: Annotated[
        str, typer.Option("--unit", metavar="U", help="replace one, or add or remove one.")
    ] = "replace one",
    delta: Delta = 0.0,
    name: Annotated[str, typer.Option("--name", metavar="TOOL", help="What releases it.")] = "",
    budget: BudgetNumber = None,
    account: AccountName = "data",
    key: KeyText = None,
) -> None:
    """Charge what another tool releases of the table with differential privacy for single records."""
    with noting(lambda: NOTHING_CHARGED):
        from bnpriv.io.framework_file import read_framework
        from bnpriv.ledger.counted import CountedAccount
        from bnpriv.ledger.external import from_differential_privacy
        from bnpriv.ledger.ledger import charged_text

    mark: Mark | None = None
    with noting(lambda: charged_text(mark.account, mark.number, "it is recorded.") if mark else NOTHING_CHARGED):
        read = [column.strip() for column in columns.split(",")]
        release = from_differential_privacy(epsilon, read, unit, delta, name)
        with working("counting"):
            opened = CountedAccount.opened(read_framework(framework), ledger, budget, account)
            mark = opened.record_external(release, key)
        told = map(str, mark.fact.lines[:-1])
        _print(lines_text([f"Recorded: {release.provenance}.", *told, f"Hash of the ledger's last row: {mark.head}"]))


@ledger_app.command("verify", epilog="Example: bnpriv ledger verify ledger.db --seen 2934a9e5...")
def verify_ledger(
    ledger: LedgerArgument,
    seen: Annotated[
        list[str] | None, typer.Option("--seen", metavar="HASH", help="A hash that a release printed; may be repeated.")
    ] = None,
) -> None:
    """Check every row of a ledger, and that it holds every hash that was seen; repairs nothing."""
    from bnpriv.ledger.ledger import Ledger

    with working("checking"):
        found = Ledger.open(ledger).verify(seen=seen or ())
    counted = {"account": found.accounts, "charge": found.charges, "answer": found.answers}
    counts = ", ".join(f"{number:,} {what}{'' if number == 1 else 's'}" for what, number in counted.items())
    _print(lines_text([f"The ledger is whole: {counts}.", *(f"{name}: {head}" for name, head in found.heads.items())]))


@ledger_app.command(epilog="Example: bnpriv ledger export ledger.db -o ledger.jsonl")
def export(
    ledger: LedgerArgument,
    output: Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write to this file.")] = None,
    framework: Annotated[
        Path | None, typer.Option("--framework", metavar="FILE", help="Only its account, for `bnpriv verify`.")
    ] = None,
    account: AccountName = "data",
) -> None:
    """Print all rows of a ledger as JSON lines: the charges, and the answers that were released.

    With a framework file, those of one account with all that a recount of its totals needs, as one JSON.
    """
    from bnpriv.io.framework_file import framework_files, read_framework
    from bnpriv.ledger.counted import CountedAccount
    from bnpriv.ledger.ledger import Ledger

    reading = [*_ledger_files(ledger), *(framework_files(framework) if framework else ())]
    with outputs(output, reading=reading) as out:
        if framework is None:
            rows = Ledger.open(ledger).export()
        else:
            rows = CountedAccount.opened(read_framework(framework), ledger, None, account).transcript() + "\n"
        if output is None:
            _print(rows.removesuffix("\n"))
        else:
            out.put(output, rows)
            _print(f"{rows.count(chr(10)):,} {'rows' if framework is None else 'lines'} written to {output}")


@app.command(epilog="Example: bnpriv simulate framework.toml --records 1000 -o made-up.parquet")
def simulate(
    framework: FrameworkFile,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="A .parquet or .csv file.")],
    records: Annotated[int | None, typer.Option("--records", metavar="N", help="Rows; by default as declared.")] = None,
    seed: Annotated[int, typer.Option("--seed", metavar="S", help="The same seed makes the same table.")] = 0,
) -> None:
    """Make up a table from the distributions in a framework file, to try things on; it holds no real data."""
    from bnpriv.io.framework_file import framework_files, read_framework
    from bnpriv.lab.simulate import simulate as make_up
    from bnpriv.tables.readings import dialect_of

    if output.suffix not in (".parquet", ".csv"):
        raise FileError("the table is written as .parquet or .csv", found=output.name, remedy="Rename the output.")
    with outputs(output, reading=framework_files(framework)) as out:
        with working("drawing records"):
            declared = read_framework(framework)
            table = make_up(declared, records, seed=seed)
            out.fill(output, lambda path: _save(table, path, output.suffix, dialect_of(declared.schema)))
        _print(f"{len(table):,} made-up records written to {output}")


@app.command(epilog="Example: bnpriv verify calibration.json --framework framework.toml")
def verify(
    calibration: Annotated[
        Path,
        typer.Argument(
            metavar="CALIBRATION.json", help="What to_json, release or table --json, or ledger export wrote."
        ),
    ],
    framework: Annotated[Path | None, typer.Option("--framework", metavar="FILE", help="The framework file.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Replay a calibration, private table or ledger by other code; exit 0 it holds, 1 it fails, 2 neither is shown."""
    from bnpriv.io.networks.files import read_text
    from bnpriv.verify.check import verify as replay
    from bnpriv.verify.declared import MOST_BYTES

    with working("replaying"):
        verdict = replay(read_text(calibration, MOST_BYTES), framework)
    _print(verdict.to_json() if json else lines_text(str(verdict).split("\n")))
    raise typer.Exit(verdict.code)


@app.command(epilog="Example: bnpriv audit calibration.json --framework framework.toml --runs 100000")
def audit(
    calibration: Annotated[
        Path, typer.Argument(metavar="CALIBRATION.json", help="What to_json or release --json wrote.")
    ],
    framework: Annotated[Path, typer.Option("--framework", metavar="FILE", help="The framework file.")],
    runs: Annotated[int, typer.Option("--runs", metavar="N", help="Outputs that are drawn.", min=1)] = 20_000,
    seed: Annotated[int, typer.Option("--seed", metavar="S", help="Of made-up answers; noise has none.", min=0)] = 0,
    html: HtmlFile = None,
    json: JsonFile = None,
    full: Full = False,
    quiet: Quiet = False,
) -> None:
    """Bound epsilon from below by outputs alone, made up under two secrets; exit 1 if the bound exceeds the claim."""
    from bnpriv.io.framework_file import framework_files, read_framework
    from bnpriv.io.networks.files import read_text
    from bnpriv.lab.audit import audit as bet
    from bnpriv.mechanisms.serialize import claimed_calibration
    from bnpriv.verify.declared import MOST_BYTES

    with outputs(html, _file(json), reading=[*framework_files(framework), calibration]) as out:
        with working("auditing"):
            stored = read_text(calibration, MOST_BYTES)
            claimed, epsilon, delta = claimed_calibration(stored, read_framework(framework))
            found = bet(claimed, epsilon=epsilon, delta=delta, runs=runs, seed=seed)
        if html is not None:
            out.put(html, found.to_html())
        _show(_printed(found, full=full, quiet=quiet), found.to_json, json, out)
    raise typer.Exit(1 if found.exceeds else STOPPED if found.stopped else 0)


@app.command(epilog="Example: bnpriv check framework.toml table.parquet")
def check(
    framework: FrameworkFile,
    data: Annotated[str, typer.Argument(metavar="DATA", help="The table that only its owner may see.")],
    html: HtmlFile = None,
    json: JsonFile = None,
    full: Full = False,
    quiet: Quiet = False,
) -> None:
    """Compare a table with what is declared of it: NOT FOR PUBLICATION. Exit 0 all is well, 1 something was found."""
    from bnpriv.io.framework_file import framework_files, read_framework
    from bnpriv.tables.data_check import check_data
    from bnpriv.tables.files import data_files

    reading = [*framework_files(framework), *data_files(data, html, _file(json))]
    with outputs(html, _file(json), reading=reading) as out:
        with working("reading the table"):
            found = check_data(read_framework(framework), data)
        if html is not None:
            out.put(html, found.to_html())
        _show(_printed(found, full=full, quiet=quiet), found.to_json, json, out)
    raise typer.Exit(0 if found.is_well else 1)


Notion = Annotated[
    str | None, typer.Option("--notion", metavar="N", help="dataset or distributional; asked on a terminal.")
]
Learn = Annotated[
    str | None, typer.Option("--learn", metavar="PUBLIC", help="Learn network, bins, categories from this table.")
]
Edges = Annotated[
    str | None,
    typer.Option("--edges", metavar="E", help='The graph, as "age -> income", learned from or with a strength.'),
]
Strength = Annotated[
    float | None,
    typer.Option("--strength", metavar="F", help="Without a public table: by how many times an edge can move odds."),
]
Graphs = Annotated[
    int, typer.Option("--graphs", metavar="N", help="Look for a graph in each of so many resamples of PUBLIC.", min=1)
]
NetworkFile = Annotated[
    Path | None, typer.Option("--network", metavar="FILE", help="A network that is there, in the folder of the output.")
]
Public = Annotated[
    str | None, typer.Option("--public", metavar="PUBLIC", help="Bounds and categories from this public table.")
]
Codebook = Annotated[
    Path | None, typer.Option("--codebook", metavar="FILE", help="CSV, TOML or .names: what columns may hold.")
]
ColumnNames = Annotated[
    str | None, typer.Option("--names", metavar="A,B", help="The columns of a file that does not name them.")
]
ProtectedColumns = Annotated[
    list[str] | None, typer.Option("--protect", metavar="NAME", help="A protected column; may be repeated.")
]
ReadAs = Annotated[
    list[str] | None,
    typer.Option(
        "--as", metavar="NAME=KIND", help="Read a column as number, category, days, DD.MM.YYYY or id; may be repeated."
    ),
]
Records = Annotated[
    int | None, typer.Option("--records", metavar="N", help="The number of rows, a public fact.", min=1)
]


@app.command(
    epilog="Example: bnpriv init table.csv --protect income --learn public.csv --records 5000 -o framework.toml"
)
def init(
    data: Annotated[str, typer.Argument(metavar="TABLE", help="The private table; only its header is read.")],
    notion: Notion = None,
    learn: Learn = None,
    edges: Edges = None,
    strength: Strength = None,
    graphs: Graphs = 1,
    network: NetworkFile = None,
    public: Public = None,
    codebook: Codebook = None,
    names: ColumnNames = None,
    protect: ProtectedColumns = None,
    records: Records = None,
    read_as: ReadAs = None,
    decimal: Annotated[
        str, typer.Option("--decimal", metavar="SIGN", help="Without a public table: . or , before decimals.")
    ] = "",
    output: Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write to this file.")] = None,
) -> None:
    """Start a framework file for a table of your own, from its header and what is public about it."""
    from bnpriv.io.starter.codebook import texts_listed
    from bnpriv.io.starter.files import DEFAULT_NOTION, asked_notion, files_to_start

    chosen = notion or asked_notion()
    notes: list[str] = []
    with working("reading what is public"):
        text, files = files_to_start(
            data,
            output,
            notion=chosen or DEFAULT_NOTION,
            asked=chosen is not None,
            learn=learn,
            edges=edges,
            strength=strength,
            graphs=graphs,
            network=network,
            public=public,
            codebook=codebook,
            names=None if names is None else texts_listed(names),
            protect=protect or (),
            records=records,
            read_as=_read_as(read_as or ()),
            decimal=decimal,
            notes=notes,
        )
    for note in notes:
        print(visible(note), file=sys.stdout if output is not None else sys.stderr)
    if chosen is None:
        print(f"notion = {DEFAULT_NOTION!r} by default; --notion says another.", file=sys.stderr)
    _put_started(text, files, output, data, [learn, public, codebook, network])


@app.command(epilog="Example: bnpriv serve")
def serve(
    framework: Annotated[
        Path | None,
        typer.Argument(metavar="FRAMEWORK.toml", help="Columns, model and secret that are declared; else by hand."),
    ] = None,
    ledger: Annotated[
        str, typer.Option("--ledger", metavar="FILE", help="Charge releases here; a file or a database URL.")
    ] = "ledger.db",
    port: Annotated[
        int, typer.Option("--port", metavar="P", help="Of this machine; 0 takes a free one.", min=0, max=65535)
    ] = 0,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Only print the address.")] = False,
) -> None:
    """Go from a table to a statement by hand, in the browser of this machine alone; Ctrl-C ends it."""
    try:
        from bnpriv.app.server import serve as run
    except ModuleNotFoundError as error:
        if error.name not in ("starlette", "uvicorn", "python_multipart"):
            raise
        from bnpriv.errors import MissingExtraError

        raise MissingExtraError(
            "the page in the browser needs starlette, uvicorn and python-multipart",
            found=f"no {error.name}",
            remedy='Install them: pip install "bnpriv[app]".',
        ) from None

    run(framework, ledger, port, told=_print, browser=not no_browser)
    _print("Ended. What was charged stays in the ledger.")
    if _busy():
        # a page that is still being made would hold up the end; the ledger stays whole, as after a power cut
        os._exit(0)


def _busy() -> bool:
    """Whether a thread still works that the program would wait for."""
    others = [each for each in threading.enumerate() if not each.daemon and each is not threading.main_thread()]
    for each in others:
        each.join(0.2)
    return any(each.is_alive() for each in others)


def _read_as(given: Sequence[str]) -> dict[str, str]:
    parts = [each.rpartition("=") for each in given]
    wrong = next((each for each, (name, _, kind) in zip(given, parts, strict=True) if not (name and kind)), None)
    if wrong is not None:
        raise ParameterError(
            "a column is read as something by NAME=KIND", found=repr(wrong[:80]), remedy="Write --as born=days."
        )
    return {name.strip(): kind.strip() for name, _, kind in parts}


def _put_started(
    text: str, files: Mapping[Path, str], output: Path | None, data: str, read: Sequence[str | Path | None]
) -> None:
    """Print a framework file, or write it with what lies beside it, and tell what is to be done next."""
    from bnpriv.io.starter.files import next_steps

    if output is None:
        _print(text.removesuffix("\n"))
        return
    from bnpriv.tables.files import data_files

    reading = [place for each in (data, *read) if each is not None for place in data_files(str(each))]
    with outputs(output, *files, reading=reading) as out:
        for path, content in {**files, output: text}.items():
            out.put(path, content)
    _print(lines_text([f"{output} written.", *next_steps(text, output, data)]))


def main() -> None:
    """Run the shell; exit 0 when done, 2 when refused, and say why and what to do: a line for each problem."""
    if not hasattr(sys.stdout, "reconfigure"):
        print("refused: standard output must be open; found it closed. Print to a terminal or a file.", file=sys.stderr)
        sys.exit(REFUSED)
    # a letter that the terminal's encoding lacks is spelled out
    cast(io.TextIOWrapper, sys.stdout).reconfigure(errors="backslashreplace")
    try:
        app()
    except BnprivError as error:
        lines = str(error).split("\n") if isinstance(error, FileProblemsError) else [str(error)]
        lines += getattr(error, "__notes__", ())
        print("refused: " + "\n".join(visible(" ".join(line.split())) for line in lines), file=sys.stderr)
        sys.exit(REFUSED)
    except KeyboardInterrupt:  # before a command began, or after it
        print("stopped by Ctrl-C.", file=sys.stderr)
        sys.exit(STOPPED)
    finally:
        try:
            sys.stdout.flush()
        except BrokenPipeError:
            _silence()


def _query(framework: Path, text: str) -> Query:
    from bnpriv.io.framework_file import read_queries, refuse_grouped_numbers
    from bnpriv.io.query_text import parse_query

    named = read_queries(framework)
    if text in named:
        return named[text]
    refuse_grouped_numbers(framework, text)
    try:
        return parse_query(text)
    except QueryError as error:
        if named and (text.isidentifier() or closest(text, named) is not None):
            raise QueryError(
                f"the query must be one of {', '.join(named)} or a query's text",
                found=repr(text),
                remedy=spelling(text, named),
            ) from error
        raise


def _refuse_large_delta(framework: Framework, delta: float) -> None:
    """Refuse a delta that leaves only mechanisms that make no use of it: their answer would be released without a word.

    Raises
    ------
    RefusedError
    """
    from bnpriv.core.mechanisms.column import large_delta_refusal

    refusal = large_delta_refusal(framework, delta)
    if refusal is not None:
        remedy = "Choose a smaller delta, or name a mechanism that makes no use of it: --mechanism ColumnMechanism."
        raise replace(refusal, remedy=remedy).error()


@contextmanager
def _saying(
    made: Callable[[], Release | PrivateTable | None], kept: str = "the ledger keeps its answer."
) -> Generator[None]:
    """Have Ctrl-C in the block say what it leaves behind, and an error what was charged before it."""
    with noting(lambda: _left_behind(made(), kept)):
        try:
            yield
        except BnprivError as error:
            found = made()
            if found is not None and found.mark is not None:
                error.add_note(_left_behind(found, kept))
            raise


def _left_behind(released: Release | PrivateTable | None, kept: str) -> str:
    if released is None:
        return NOTHING_CHARGED
    from bnpriv.ledger.ledger import charged_text

    if released.mark is None:
        return "The answer was drawn; no ledger keeps it."
    return charged_text(released.mark.account, released.mark.number, kept)


def _replay(json: str | None, framework: Path) -> str:
    """The command that replays what `--json` wrote, without the folders of this machine; none where it wrote none."""
    written = _file(json)
    return shlex.join(["bnpriv", "verify", written.name, "--framework", framework.name]) if written else ""


def _refuse_no_statement(statement: Path | None, *, plan: bool, form: str | None) -> None:
    """Refuse a statement on what is not published, or hides no numbers of records."""
    if statement is not None and (plan or form == "open columns"):
        raise ParameterError(
            "a statement is on a table that hides numbers of records",
            found="a plan, which publishes nothing" if plan else "a table of open columns",
            remedy="Leave out --statement, or --plan." if plan else "Leave out --statement; --html has its promise.",
        )


def _require_ledger(ledger: str | None, budget: float | None, key: str | None) -> None:
    if ledger is None and not (budget is None and key is None):
        raise ParameterError("a budget or a key is kept in a ledger", found="no ledger", remedy="Add --ledger FILE.")


def _refuse_half_asked(*, plan: bool, data: str | None, output: Path | None, seen: bool) -> None:
    """Refuse a private table without what it needs, and a plan with what it does not touch."""
    if plan and not (data is None and output is None):
        raise ParameterError(
            "a plan touches no data", found="a table or an output", remedy="Leave out these, or --plan."
        )
    if not plan and (data is None or output is None):
        raise ParameterError(
            "a private table is made of a table, and written to a file",
            found="no table" if data is None else "no file",
            remedy="Write bnpriv table FRAMEWORK.toml DATA -o OUT.parquet; or --plan, to see what it would be like.",
        )
    if not plan and not seen:
        raise RefusedError(
            "real records are handed on, so that single persons are not protected",
            found="nobody who said that this may be",
            remedy="Add --records-may-be-seen.",
        )


def _file(target: str | None) -> Path | None:
    return None if target is None or target == "-" else Path(target)


def _table_files(public: str | None) -> list[Path]:
    """The files of a public table, which no output may replace."""
    from bnpriv.tables.files import data_files

    return [] if public is None else [*data_files(public)]


def _ledger_files(ledger: str | None) -> list[Path]:
    """The file of a ledger and what belongs to it, which no output may replace; none for a server."""
    if ledger is None:
        return []
    from bnpriv.ledger.store import ledger_file

    file = ledger_file(ledger)
    return [] if file is None else with_journals(file)


def _printed(made: Shown, *, full: bool, quiet: bool) -> str:
    """What is printed of a result: its first lines, all of it, or its number alone."""
    _require_one_length(full=full, quiet=quiet)
    return made.text if full else made.quiet if quiet else str(made)


def _require_one_length(*, full: bool, quiet: bool) -> None:
    if full and quiet:
        raise ParameterError("one length is printed", found="--full and --quiet", remedy="Leave out one of them.")


def _show(text: str, json: Callable[[], str], target: str | None, out: Outputs) -> None:
    """Print the text, or JSON where `target` is -; otherwise also write JSON to the file `target`."""
    path = _file(target)
    if path is not None:
        out.put(path, json() + "\n")
    _print(json() if target == "-" else text)


def _print(text: str) -> None:
    """Print a text now, while outputs that wait for it can still be taken back."""
    try:
        print(text, flush=True)
    except BrokenPipeError:
        # the reader has what it wants, as `head` does
        _silence()
    except OSError as error:
        _silence()
        raise FileError(
            "standard output must be writable",
            found=error.strerror or "an error",
            remedy="Print to a terminal or a file with room.",
        ) from None


def _silence() -> None:
    """Print nowhere from now on: what the stream still holds would fail once more at the end of the program."""
    sys.stdout = open(os.devnull, "w")  # noqa: SIM115


def _save(table: pd.DataFrame, path: Path, suffix: str, dialect: Dialect) -> None:
    if suffix == ".csv":
        from bnpriv.tables.readings import day_text

        for name, written in dialect.dates.items():
            table[name] = [None if day is None or day != day else day_text(day, written) for day in table[name]]
        table.to_csv(path, index=False, sep=dialect.separator, decimal=dialect.decimal)
        return
    import duckdb

    try:
        with duckdb.connect() as connection:
            connection.register("made_up", table)
            connection.execute("COPY made_up TO $1 (FORMAT parquet, USE_TMP_FILE false)", [str(path)])
    except duckdb.Error:
        raise OSError(errno.EIO, "a file system without room for the table") from None


if __name__ == "__main__":
    main()
