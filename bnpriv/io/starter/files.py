"""The files that a table of one's own starts with, and which notion is meant."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TextIO

from bnpriv.core.networks.discrete import DiscreteNetwork
from bnpriv.errors import BnprivError, FileError, ParameterError
from bnpriv.io.framework_file import read_framework, read_queries
from bnpriv.io.framework_text import records_section
from bnpriv.io.networks.files import read_network
from bnpriv.io.networks.texts import network_text, written_models
from bnpriv.io.starter.learn import LEARNED_MODELS, check_protected
from bnpriv.io.starter.started import StartedNotion, level_of, started
from bnpriv.io.starter.text import NO_NAMES, framework_text
from bnpriv.ledger.prices import questions_text
from bnpriv.paths import user_path
from bnpriv.tables.files import is_database

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
        is_database(data) or os.path.isdir(user_path(data)) or Path(data).suffix.lower() in (".csv", ".parquet")
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
    if _yes(ASK_SINGLE, sys.stdin, sys.stderr):
        raise ParameterError(
            "attribute privacy hides a property of a column, never a single record",
            found="single records to be hidden",
            remedy="Use differential privacy for that, for example OpenDP (docs.opendp.org).",
        )
    if _yes(ASK_THIS, sys.stdin, sys.stderr):
        return "dataset"
    if _yes(ASK_BEHIND, sys.stdin, sys.stderr):
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
