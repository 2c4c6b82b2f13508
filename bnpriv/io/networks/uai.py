"""The UAI format of Bayesian networks: numbers alone, without names."""

from __future__ import annotations

import re
from collections.abc import Sequence

from bnpriv.errors import FileError
from bnpriv.io.networks.formats import (
    MOST_ATTRIBUTES,
    MOST_FILE_NAMES,
    FileTable,
    ReadTables,
    Source,
    States,
    assemble,
    check_size,
    clip,
)

_UAI_WORD = re.compile(r"\s*+(\S++)")
_UAI_WHOLE = re.compile(r"[0-9]{1,9}")


def scan(source: Source) -> ReadTables:
    """Return what a UAI file of type BAYES declares: variables, their sizes, scopes with the child last, tables.

    Raises
    ------
    FileError
        If the file is of another type, too short or too long, or holds something else than whole numbers and tables.
    SizeError
        If the tables are too large.
    """
    text, words = source.text, _Words(source)
    if "#" in text:  # only pyAgrum writes such, and runs through the parents in another order than the format says
        raise source.refusal(
            "a UAI file must hold numbers alone",
            found="comments, as pyAgrum writes them, whose tables have their parents in another order",
            remedy="Pass the network itself to bnpriv.from_pyagrum, or save it as BIF.",
            at=text.index("#"),
        )
    kind = words.word("the type of the network")
    if kind != "BAYES":
        raise source.refusal(
            "a UAI file must be of type BAYES: tables of conditional probabilities",
            found="MARKOV, whose factors are none" if kind == "MARKOV" else clip(kind),
            remedy="Write the Bayesian network itself: UAI of type BAYES, or BIF.",
        )
    count = words.whole("the number of variables")
    check_size(source, "attributes in one file", count, MOST_ATTRIBUTES)
    sizes = [words.whole("the number of states of a variable") for _ in range(count)]
    check_size(source, "states", sum(sizes), MOST_FILE_NAMES)
    states: States = {f"var_{k}": tuple(map(str, range(size))) for k, size in enumerate(sizes)}
    scopes: list[list[str]] = []
    for _ in range(words.whole("the number of tables")):
        named = [f"var_{words.whole('a variable of a scope')}" for _ in range(words.whole("the size of a scope"))]
        if not named:
            raise words.refusal("a table must be over at least one variable", "none")
        scopes.append(named)
    tables: list[FileTable] = []
    for *parents, child in scopes:
        size, at = words.whole(f"the number of entries of {clip(child)}"), words.position
        for _ in range(size):
            words.word(f"an entry of {clip(child)}")
        tables.append(FileTable(child, tuple(parents), text[at : words.position], at))
    if text[words.position :].strip():
        raise words.refusal("nothing must follow the last table", clip(text[words.position :].strip()))
    return assemble(source, states, tables, _numbers)


def _numbers(source: Source, table: FileTable, states: States) -> Sequence[str]:
    return table.body.split()


class _Words:
    """The words of a file, one after the other."""

    def __init__(self, source: Source) -> None:
        self.source, self.position = source, 0

    def word(self, what: str) -> str:
        found = _UAI_WORD.match(self.source.text, self.position)
        if found is None:
            raise self.refusal(f"the file must hold {what}", "its end")
        self.position = found.end()
        return found[1]

    def whole(self, what: str) -> int:
        found = self.word(what)
        if not _UAI_WHOLE.fullmatch(found):
            raise self.refusal(f"{what} must be a whole number", clip(found))
        return int(found)

    def refusal(self, required: str, found: str) -> FileError:
        remedy = "Check that the file is whole: type, sizes, scopes with the child last, tables."
        return self.source.refusal(required, found=found, remedy=remedy, at=self.position)
