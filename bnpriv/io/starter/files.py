"""A framework file to start from: what is public is filled in and says where it comes from, the rest is blank."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TextIO

from bnpriv.checks import listing
from bnpriv.core.columns import NOT_COUNTED, Binned, Categorical
from bnpriv.core.networks.discrete import DiscreteNetwork
from bnpriv.core.schema import Column, Schema, has_gaps
from bnpriv.errors import BnprivError, FileError, ParameterError
from bnpriv.io.framework_file import read_framework, read_queries
from bnpriv.io.framework_text import records_section, table_values
from bnpriv.io.networks.files import read_network
from bnpriv.io.networks.texts import network_text, written_models
from bnpriv.io.starter.codebook import KnownColumn
from bnpriv.io.starter.learn import LEARNED_MODELS, check_protected
from bnpriv.io.starter.public import OTHER_LABELS
from bnpriv.io.starter.start import usual_decisions, usual_distance, usual_property
from bnpriv.io.starter.started import Started, StartedNotion, level_of, started
from bnpriv.kind import kind_of
from bnpriv.ledger.prices import questions_text
from bnpriv.paths import user_path
from bnpriv.tables.files import is_database
from bnpriv.tables.readings import day_text
from bnpriv.text import call_text, command_text
from bnpriv.toml import readable_text, short_number, toml_key, toml_value

NO_NAMES = "The file of the table has no line of names"

_STARTED_HEAD = """\
# A bnpriv framework: what is public about a table, and what answers about it must not reveal.
# Fill in every line that ends in "= ..." and remove the # in front of it. Nothing here is taken from the values of the
# private table, and nothing that you fill in may be.
"""

_NOTION_MEANS = {
    "dataset": "hide a property of this very table; see docs/choosing-a-notion.md",
    "distributional": "hide the distribution behind the table; see docs/choosing-a-notion.md",
}

_STARTED_NETWORK = {
    "dataset": """\
# file = "..."                  # a BIF, XMLBIF, NET or UAI file beside this one: how the columns of one record depend
level = "records"               # a state of a node is a value of its column, "other" too, or a bin
""",
    "distributional": """\
# file = "..."                  # a BIF, XMLBIF, NET or UAI file beside this one: how the columns' parameters depend
level = "parameters"            # a state of a node says what the whole column is like, as "most smoke"
""",
}

_COUNTED = """
# Whatever the private table holds counts as something below: a number outside the bounds as the nearest of them, a
# fraction in a column of whole numbers as the nearest of these, and what is missing as `missing`: the middle of the
# bounds, rounded down, or the first category where nothing else is said. A label that is not listed is missing too.
# Where missing = "not counted" no condition on the column holds of a gap, and sums and means of it are refused.
"""

_BLANK_COLUMN = {
    "real": 'type = "real"\n# lower = ...\n# upper = ...\n',
    "integer": 'type = "integer"\n# lower = ...\n# upper = ...\n',
    "categorical": 'type = "categorical"\n# categories = ...            # ["a", "b"]\n',
    "unknown": '# type = ...                    # "real", "integer" (lower, upper) or "categorical" (categories)\n',
}


def framework_text(
    known: Started,
    protect: Sequence[str] = (),
    *,
    files: Sequence[str] = (),
    network: str | None = None,
    asked: bool = True,
    records: str = "",
) -> str:
    """Return the text of a framework file.

    Parameters
    ----------
    known : Started
    protect : sequence of str
        The protected columns.
    files : sequence of str
        Where the models of the learned network are, relative to the framework file.
    network : str, optional
        In place of them the file of a network.
    asked : bool
        Whether somebody chose the notion.
    records : str
        The section of the public records.

    Returns
    -------
    str
    """
    model = _network(known, files, network)
    if records:
        model += f"\n# models too: the public records themselves, reweighted\n{records}\n"
    parts = [_STARTED_HEAD, _top(known, network, asked=asked), model, _records(known)]
    parts += [_table(known)] if table_values(known.dialect) else []
    parts += [_column(known, name, each) for name, each in known.columns.items()]
    return "\n".join(
        [*parts, *_protected(known, protect), _queries(known, protect), _decided(known, protect, asked=asked)]
    )


def _top(known: Started, network: str | None, *, asked: bool) -> str:
    chosen = "" if asked else "# Nobody said which notion is meant; this one is the default.\n"
    line = f'{chosen}notion = "{known.notion}"{"":<13}# {_NOTION_MEANS[known.notion]}\n'
    if known.network is not None and network is None:
        return f"{line}source = {readable_text(known.source)}\n"
    return f'{line}# source = ...                  # "...", where the network comes from; printed with every answer\n'


def _network(known: Started, files: Sequence[str], network: str | None) -> str:
    if network is not None:
        return f'[network]\nfile = {readable_text(network)}\nlevel = "{level_of(known.notion)}"\n'
    if not files:
        return f"[network]\n{_STARTED_NETWORK[known.notion]}"
    listed = "".join(f"    {readable_text(file)},\n" for file in files)
    if known.stated:
        return f'[network]\n{_stated(known, len(files))}file = [\n{listed}]\nlevel = "records"\n'
    few = f"# {known.few_records}\n" if known.few_records else ""
    return (
        f"[network]\n{few}# {len(files)} models, each a draw from the posterior of a network given public data: all of "
        f'them are guarded against\n{_shares(known)}file = [\n{listed}]\nlevel = "records"\n{_posterior(known)}'
    )


def _shares(known: Started) -> str:
    """Return comments that say how many of the models have each edge, where their graphs differ."""
    network = known.network
    some = {} if network is None else {e: n for e, n in kind_of(network).edges(network).items() if n < network.models}
    told = "".join(
        f"#   {_comment(f'{above} -> {below}: {n:,} of {network.models:,}')}\n"
        for (above, below), n in some.items()
        if network is not None
    )
    return f"# Their graphs were found in resamples; edges that not all of them have:\n{told}" if told else ""


def _stated(known: Started, models: int) -> str:
    """Return comments that say whose word the edges are, and what a strength means."""
    edges = "".join(
        f"#   {_comment(f'{above} -> {below}: {factor:g}')}\n" for (above, below), factor in known.stated.items()
    )
    return (
        "# Edges and strengths are somebody's statement; nothing of them is learned from a table. Columns without a\n"
        "# way to each other along edges are independent. A strength is a factor: whatever the state of the column\n"
        "# before the arrow, the odds of one state of the column behind it against another are within it of the odds\n"
        "# that its shares give.\n"
        f"{edges}# {models} models, the corners of all that this allows; leave none out. What they cover, and why:\n"
        "# docs/claims/stated_strength.md. They are made for secrets about\n"
        f"# {_comment(listing(known.hubs))}: to protect another column start anew.\n"
    )


def _posterior(known: Started) -> str:
    drawn = None if known.network is None else known.network.posterior_draws
    if drawn is None:
        return ""
    said = f"source = {readable_text(drawn.source)}\nprior = {readable_text(drawn.prior)}\nrecords = {drawn.records}\n"
    beyond = "what lies beyond so many draws"
    if drawn.graphs is not None:
        said, beyond = f"{said}graphs = {drawn.graphs}\n", "that nothing is known of other models"
    return f"\n[network.posterior]             # guarantees say {beyond}\n{said}"


def _records(known: Started) -> str:
    count = "# count = ...                   # the number of rows, a public fact"
    text = f"[records]\n{count if known.records is None else f'count = {known.records}'}\n"
    if known.lacks_names:
        text += (
            f"# {NO_NAMES}, and release needs one. Put this line in front of it:\n"
            f"# {_comment(','.join(known.columns))}\n"
        )
    return text + _COUNTED


def _table(known: Started) -> str:
    signs = table_values(known.dialect).items()
    return "[table]                         # how texts are written\n" + "".join(
        f"{key} = {readable_text(str(sign))}\n" for key, sign in signs
    )


def _column(known: Started, name: str, chosen: KnownColumn) -> str:
    if name in known.left_out:
        return f"# {_comment(name)} is left out, and no query can read it:\n# {_comment(known.left_out[name])}.\n"
    head, read = f"[columns.{toml_key(name)}]", _read(known, name)
    if chosen.column is None:
        return f"{head}\n{read}{_BLANK_COLUMN[chosen.kind]}"
    return f"{head}{' ' * max(1, 32 - len(head))}# from {_comment(chosen.origin)}\n{read}{_body(name, chosen.column)}"


def _read(known: Started, name: str) -> str:
    """Return the lines of a column that say how its texts are read, and which numbers stand for a missing value."""
    written = known.dialect.of(name)
    text = f'dates = "{written.dates}"{"":<12}# read as days since 1970-01-01\n' if written.dates else ""
    codes = ", ".join(day_text(code) if written.dates else toml_value(short_number(code)) for code in written.codes)
    return (
        f"{text}missing_codes = [{codes}]{'':<6}# taken for a missing value; without this line a number\n"
        if codes
        else text
    )


def _body(name: str, column: Column) -> str:
    if isinstance(column, Categorical):
        return _labels(column)
    if isinstance(column, Binned):
        return _bins(name, column)
    bounds = f"lower = {_value(column.lower)}\nupper = {_value(column.upper)}\n"
    return f'type = "{type(column).__name__.lower()}"\n{bounds}{_gap(column)}'


def _labels(column: Categorical) -> str:
    text = f'type = "categorical"\ncategories = {_listed(map(_value, column.categories))}\n'
    if column.coarsen:
        spelt = ", ".join(
            f"{toml_key(str(raw))} = {_listed(map(_value, held))}" for raw, held in column.coarsen.items()
        )
        rare = ", and rare labels" if has_gaps(column) and set(OTHER_LABELS).intersection(column.coarsen) else ""
        text += f"coarsen = {{ {spelt} }}  # other spellings{rare}\n"
    if has_gaps(column):
        return text + _gap(column)
    return f"{text}missing = {_value(column.missing)}{'':<10}# what is missing, and every label not listed\n"


def _gap(column: Column) -> str:
    """Return the line that says that gaps are not counted; empty where they are."""
    unlisted = ", or is not listed" if isinstance(column, Categorical) else ""
    told = f"where it is missing{unlisted}, no condition on it holds"
    return f'missing = "{NOT_COUNTED}"{"":<10}# {told}\n' if has_gaps(column) else ""


def _bins(name: str, column: Binned) -> str:
    room = column.whole and column.edges[-1] - column.edges[-2] == 1
    told = f"{'':<10}# the last bin holds both edges; its upper one may be room only" if room else ""
    text = f'type = "binned"\nedges = {_listed(map(_value, column.edges))}{told}\n'
    text += _gap(column)
    if not column.whole:
        text += f"steps = {column.steps:<24}# sums and means round it to steps of {float(column.grid):.6g}\n"
    if isinstance(column.within, str):
        return f'{text}within = "{column.within}"  # a model: evenly in a bin\n'
    text += f"\n[columns.{toml_key(name)}.within]  # a model: how often a number comes in its bin\n"
    laws = {
        label: law if isinstance(law, str) else {str(number): mass for number, mass in law.items()}
        for label, law in column.within.items()
    }
    return text + "".join(f"{toml_key(label)} = {toml_value(law)}\n" for label, law in laws.items())


def _protected(known: Started, protect: Sequence[str]) -> list[str]:
    if protect:
        return [_secret(known, name) for name in protect]
    example = next((name for name in reversed(list(known.columns)) if name not in known.left_out), "NAME")
    lines = "".join(f"# {line}\n" for line in _secret(known, example).splitlines())
    return [f"# What must stay hidden, for example (a section for each protected column):\n{lines}"]


def _secret(known: Started, name: str) -> str:
    head = f"[protect.{toml_key(name)}]"
    if known.notion == "distributional":
        return f'{head}\n# pairs = [["low", "high"]]     # only these states apart; by default all of them\n'
    column = known.columns[name].column if name in known.columns else None
    text = "# property = ...                # as 'count(ill == \"yes\")': a number about this column\n"
    if column is not None:
        text = f"property = {readable_text(str(usual_property(name, column)))}\n"
    if known.records is None:
        return f"{head}\n{text}# at_most = ...                 # numbers this far apart are not to be told apart\n"
    near = usual_distance(known.records)
    return f"{head}\n{text}at_most = {near}{'':<20}# numbers up to this far apart are not to be told apart: a default\n"


_DECISIONS = """\
[decisions]                     # who decided what, and why; a statement for data protection prints it. What begins
                                # with default nobody decided: put in its place, as "the board on 2026-11-02: ..."
"""


def _decided(known: Started, protect: Sequence[str], *, asked: bool) -> str:
    """The section that says what was left at a default, so that nobody takes it for a decision."""
    said = {} if asked else {"notion": "default: nobody said which is meant"}
    if protect and known.notion == "dataset" and known.records is not None:
        said |= usual_decisions(protect, known.records)
        if any(known.columns[name].column is None for name in protect):
            del said["protected"]  # which number it is, is still to be filled in
    lines = "".join(f"{key} = {readable_text(each)}\n" for key, each in said.items())
    return f"{_DECISIONS}{lines}"


def _queries(known: Started, protect: Sequence[str]) -> str:
    ready = {name: column for name, column in known.ready.items() if name not in protect} or known.ready
    labelled = [name for name, column in ready.items() if isinstance(column, Categorical)]
    name = next(iter([*labelled, *ready]), None)
    if name is None:
        return '# [queries]\n# tall = "count(height > 180)"\n'
    return f"[queries]\nfirst = {readable_text(str(usual_property(name, ready[name])))}\n"


def _listed(texts: Iterable[str]) -> str:
    found = list(texts)
    line = f"[{', '.join(found)}]"
    return line if len(line) <= 100 else "[\n" + "".join(f"    {text},\n" for text in found) + "]"


def _value(value: object) -> str:
    return readable_text(value) if isinstance(value, str) else toml_value(value)


def _comment(text: str) -> str:
    """Return a text for a comment, which no line end may leave."""
    return readable_text(text)[1:-1] if not text.isprintable() else text


# --------------------------------------------------------------------------------------------------
# The files that a table of one's own starts with, and which notion is meant.
# --------------------------------------------------------------------------------------------------

# --------------------------------------------------------------------------------------------------
# The files that a table of one's own starts with: the framework file, and the learned models beside it.
# --------------------------------------------------------------------------------------------------


def files_to_start(
    data: str,
    output: Path | None,
    *,
    notion: str,
    asked: bool = True,
    learn: str | Path | None = None,
    edges: str | None = None,
    strength: float | None = None,
    graphs: int = 1,
    network: Path | None = None,
    public: str | Path | None = None,
    codebook: Path | None = None,
    names: Sequence[str] | None = None,
    protect: Sequence[str] = (),
    records: int | None = None,
    read_as: Mapping[str, str] | None = None,
    decimal: str = "",
    notes: list[str] | None = None,
) -> tuple[str, dict[Path, str]]:
    """Return the text of the framework file, and the texts of network files beside it; add to `notes` what is found.

    Raises
    ------
    ParameterError
        If a network is learned and there is no file to put it beside, or one is given too; or see `started`.
    FileError, DataError
        If a file is not what it should be; or the framework file is there already.
    """
    output, network = (None if each is None else user_path(each) for each in (output, network))
    _check_places(output, learn, network, by_hand=edges is not None and learn is None)
    asked_for = _notion(notion)
    given = None if network is None else read_network(network, level_of(asked_for))
    known = started(
        data,
        notion=asked_for,
        names=names,
        codebook=codebook,
        public=public,
        learn=learn,
        network=given,
        edges=edges,
        strength=strength,
        graphs=graphs,
        draws=max(LEARNED_MODELS, graphs),
        records=records,
        protect=protect,
        read_as=read_as,
        decimal=decimal,
    )
    if notes is not None:
        notes += known.notes
    for name in protect:
        check_protected(name, [each for each in known.columns if each not in known.left_out])
    files = _network_files(known.network, output)
    models, beside = [path.name for path in files], None if network is None else network.name
    section = ""
    if known.public_records is not None and output is not None:
        section, texts = records_section(known.public_records, output.stem)
        files |= {output.with_name(name): content for name, content in texts.items()}
    text = framework_text(known, protect, files=models, network=beside, asked=asked, records=section)
    return text, files


def _network_files(network: DiscreteNetwork | None, output: Path | None) -> dict[Path, str]:
    """Return the texts of the files of a learned network, one for each model."""
    if network is None or output is None:
        return {}
    digits = len(str(network.models))
    return {
        output.with_name(f"{output.stem}-model-{number:0{digits}}.xml"): network_text(tables, ".xml")
        for number, tables in enumerate(written_models(network), start=1)
    }


def next_steps(text: str, output: Path, data: str) -> list[str]:
    """Return what is to be done with a framework file that was started."""
    blank = [
        f"line {k}" for k, line in enumerate(text.splitlines(), start=1) if line.startswith("# ") and " = ..." in line
    ]
    few = [line.removeprefix("# ") for line in text.splitlines() if line.startswith("# Only ") and "public rec" in line]
    steps = [*few, f"Fill in {', '.join(blank)}."] if blank else few
    if "\n[protect." not in text:
        steps.append("Say what must stay hidden: a section [protect.NAME].")
    query = "--query first --epsilon 1"
    # a URL may hold a password
    shown = "URL" if is_database(data) else data
    named = "" if NO_NAMES not in text else f", with the line of names in front that {output} shows under [records]"
    if named or not (
        is_database(data) or os.path.isdir(user_path(data)) or Path(data).suffix.lower() in (".csv", ".tsv", ".parquet")
    ):
        steps.append(f"Copy {data} to a file that ends in .csv{named}: a release reads that.")
        shown = "COPY.csv"
    check = f"Then, for your eyes alone: bnpriv check {output} {shown}"
    if blank or "\n[protect." not in text:
        return [*steps, check]
    asked = [f"Then: bnpriv plan {output} {query}", f"Then: bnpriv release {output} {shown} {query}"]
    if '\napart = "default' in text:
        asked.append("How far apart (at_most) is a default: decide it, and write who did, and why, into [decisions].")
    with suppress(BnprivError):  # what cannot be read yet is told by the check
        first = read_queries(output)["first"]
        found = questions_text(read_framework(output), first, 1.0, str(first))
        asked.append(f"Useful questions: {found}.")
    return [*steps, check, *asked]


def start_texts(
    table: str,
    output: str,
    schema: Schema,
    hidden: Mapping[str, tuple[str, int]],
    *,
    edges: Mapping[tuple[str, str], float | None],
    names: Sequence[str] | None,
    read_as: Mapping[str, str],
    **said: object,
) -> tuple[str, str]:
    """Return what starts a framework: a command, empty where options cannot say all of it, and a call in Python.

    Parameters
    ----------
    table, output : str
    schema : Schema
        Of the framework.
    hidden : mapping from str to (str, int)
        Of each protected column the number that is hidden, and how far apart.
    edges, names, read_as, **said
        As of `start`.
    """
    secret = "{!r}: bp.Secret({!r}, pairs=bp.apart(at_most={}))"
    protect = ", ".join(secret.format(name, *each) for name, each in hidden.items())
    options: dict[str, object] = {"edges": dict(edges), "names": names, "read_as": dict(read_as)}
    call = call_text("bp.start", repr(table), f"protect={{{protect}}}", **said, **options)
    near = usual_distance(schema.records)
    usual = all((str(usual_property(name, schema[name])), near) == each for name, each in hidden.items())
    texts = [*(names or ()), *(end for edge in edges for end in edge)]
    if not usual or any(sign in text for text in texts for sign in ",>:"):
        return "", call
    drawn = [f"{above} -> {below}{f': {own!r}' if own else ''}" for (above, below), own in edges.items()]
    options = {"edges": ", ".join(drawn), "names": ",".join(names or ()), "protect": list(hidden)}
    options["as"] = [f"{name}={kind}" for name, kind in read_as.items()]
    return command_text("bnpriv", "init", table, notion="dataset", **said, **options, output=output), call


def _notion(notion: str) -> StartedNotion:
    if notion not in ("dataset", "distributional"):
        raise ParameterError(
            "notion must be dataset or distributional", found=repr(notion[:80]), remedy="See docs/choosing-a-notion.md."
        )
    return notion


def _check_places(output: Path | None, learn: object, network: Path | None, *, by_hand: bool) -> None:
    if learn is not None and network is not None:
        raise ParameterError("a network is learned or given", found="both", remedy="Keep one of --learn and --network.")
    if (learn is not None or by_hand) and output is None:
        raise ParameterError(
            "a network that is learned or stated is written beside the framework file, which needs a place",
            found="none",
            remedy="Add -o framework.toml.",
        )
    if output is not None and output.suffix != ".toml":
        raise FileError("a framework file ends in .toml", found=output.name[:80], remedy="Rename the output.")
    if output is not None and os.path.exists(output):
        raise FileError(
            f"{output}: a framework file is started once",
            found="a file of that name",
            remedy="Remove it, or name another.",
        )
    beside = Path() if output is None else output.parent
    if network is not None and os.path.realpath(network.parent) != os.path.realpath(beside):
        raise FileError(
            "the network file must lie in the folder of the framework file",
            found=str(network)[:80],
            remedy="Put it there, or write the framework file beside it with -o.",
        )


# --------------------------------------------------------------------------------------------------
# Which notion is meant: three questions, on a terminal only.
# --------------------------------------------------------------------------------------------------

DEFAULT_NOTION: StartedNotion = "dataset"

ASK_SINGLE = "Must it stay hidden whether a single person is in the table, or what one record holds? [y/n] "
ASK_THIS = "Must a share or a mean of a column in this very table stay hidden? [y/n] "
ASK_BEHIND = (
    "Must the distribution behind the table stay hidden, as how common an illness is where it comes from? [y/n] "
)

LONGEST_ASKED = 3


def asked_notion() -> StartedNotion | None:
    """Ask for the notion on a terminal; None, without a question, anywhere else.

    Raises
    ------
    ParameterError
        If neither notion is meant.
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return None
    return answered_notion(lambda question: _yes(question, sys.stdin, sys.stderr))


def answered_notion(yes: Callable[[str], bool]) -> StartedNotion:
    """The notion that the answers to the three questions mean; the first yes decides, and no further one is asked.

    Raises
    ------
    ParameterError
        If neither notion is meant.
    """
    if yes(ASK_SINGLE):
        raise ParameterError(
            "attribute privacy hides a property of a column, never a single record",
            found="single records to be hidden",
            remedy="Use differential privacy for that, for example OpenDP (docs.opendp.org).",
        )
    if yes(ASK_THIS):
        return "dataset"
    if yes(ASK_BEHIND):
        return "distributional"
    raise ParameterError(
        "something must be hidden",
        found="three times no",
        remedy="Publish the answer, or read docs/choosing-a-notion.md.",
    )


def _yes(question: str, answers: TextIO, shown: TextIO) -> bool:
    for _ in range(LONGEST_ASKED):
        print(question, end="", file=shown, flush=True)
        answer = answers.readline().strip().lower()
        if answer in ("y", "yes", "n", "no"):
            return answer.startswith("y")
    raise ParameterError("a question is answered y or n", found="something else", remedy="Pass --notion instead.")
