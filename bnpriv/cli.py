"""The shell: report what leaks, plan the noise, release an answer."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from bnpriv.adapters.framework_file import read_framework, read_queries
from bnpriv.errors import BnprivError, QueryError
from bnpriv.planner import plan as make_plan
from bnpriv.queries import Query, parse_query
from bnpriv.release import release as make_release
from bnpriv.reports import influence_report

REFUSED = 2

app = typer.Typer(
    name="bnpriv",
    help="Publish statistics of a table without giving away a global property of its protected columns.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)

FrameworkFile = Annotated[Path, typer.Argument(metavar="FRAMEWORK.toml", help="Network, columns and what to protect.")]
QueryText = Annotated[str, typer.Option("--query", metavar="Q", help="A query, or the name of one in the file.")]
Epsilon = Annotated[float, typer.Option("--epsilon", metavar="E", help="How far the log odds on a secret may move.")]
Delta = Annotated[float, typer.Option("--delta", metavar="D", help="Failure probability; 0 for a pure guarantee.")]
JsonFile = Annotated[
    str | None, typer.Option("--json", metavar="FILE", help="Write JSON to this file; - for standard output.")
]


@app.command()
def report(
    framework: FrameworkFile,
    query: Annotated[str | None, typer.Option("--query", metavar="Q", help="A query, or the name of one.")] = None,
    epsilon: Annotated[float | None, typer.Option("--epsilon", metavar="E", help="With a query: its budget.")] = None,
    json: JsonFile = None,
) -> None:
    """Show what the columns, and a query, tell about the protected attributes."""
    declared = read_framework(framework)
    asked = None if query is None else _query(framework, query)
    made = influence_report(declared, asked, epsilon)
    _show(str(made), made.to_json(), json)


@app.command()
def plan(
    framework: FrameworkFile, query: QueryText, epsilon: Epsilon, delta: Delta = 0.0, json: JsonFile = None
) -> None:
    """Compare every mechanism for a query, least expected error first."""
    made = make_plan(read_framework(framework), _query(framework, query), epsilon, delta)
    _show(f"{made}\n\n{made.best.explain()}", made.to_json(), json)


@app.command()
def release(
    framework: FrameworkFile,
    data: Annotated[Path, typer.Argument(metavar="DATA", help="The table, as Parquet or CSV.")],
    query: QueryText,
    epsilon: Epsilon,
    delta: Delta = 0.0,
    json: JsonFile = None,
) -> None:
    """Release the answer to a query with the best mechanism."""
    best = make_plan(read_framework(framework), _query(framework, query), epsilon, delta).best
    released = make_release(best, data)
    _show(str(released), released.to_json(), json)


def main() -> None:
    """Run the shell; exit 0 when done, 2 when refused, with one line that says why and what to do."""
    try:
        app()
    except BnprivError as error:
        print(f"refused: {error}", file=sys.stderr)
        sys.exit(REFUSED)


def _query(framework: Path, text: str) -> Query:
    named = read_queries(framework)
    if text in named:
        return named[text]
    try:
        return parse_query(text)
    except QueryError as error:
        if named and text.isidentifier():
            raise QueryError(
                f"the query must be one of {', '.join(named)} or a query's text",
                found=repr(text),
                remedy="Check the spelling.",
            ) from error
        raise


def _show(text: str, json: str, target: str | None) -> None:
    """Print the text, or JSON where `target` is -; otherwise also write JSON to the file `target`."""
    if target == "-":
        print(json)
        return
    print(text)
    if target is not None:
        Path(target).write_text(json + "\n", encoding="utf-8")
