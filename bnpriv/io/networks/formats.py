"""What a network file declares, what its formats can hold, and how tables that were read become a network."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from math import prod

import numpy as np

from bnpriv.bound import FloatArray
from bnpriv.checks import listing
from bnpriv.core.columns import State
from bnpriv.core.distributions import SUM_TOLERANCE
from bnpriv.core.networks.base import Level
from bnpriv.core.networks.declared import FEW_DECIMALS, FLOAT_NOISE, MissingRows
from bnpriv.core.networks.discrete import DiscreteNetwork, IntervalNetwork, tables_within
from bnpriv.errors import FileError, SizeError
from bnpriv.text import visible

# --------------------------------------------------------------------------------------------------
# What the formats of network files can hold: the same rules for those that are written and those that are read.
# --------------------------------------------------------------------------------------------------

# Each is several times what the largest networks in common use need. What is larger is built with from_tables.
MOST_FILE_CELLS = 2**20
MOST_ATTRIBUTES = 2**11
MOST_PARENTS = 2**5
MOST_FILE_NAMES = 2**20

MOST_NETWORK_BYTES = 2**23
"""Largest network file, 8 MiB: half as much again as the largest network in common use."""

LONGEST_STATE_NAME = 256

COMMENTS = ("//", "/*")
"""What begins a comment in most formats, and so stands in no name."""

BIF_BARRED = "{}()[]|,;"
"""What has a meaning in BIF, in quotes too for many readers."""


def may_be_named(name: str, barred: str = "") -> bool:
    """Whether a file may give an attribute or a state this name.

    Examples
    --------
    >>> may_be_named("mostly girls"), may_be_named("a//b"), may_be_named("a,b", barred=",")
    (True, False, False)
    """
    short = 0 < len(name) <= LONGEST_STATE_NAME and name.isprintable()
    return short and not any(mark in name for mark in (*COMMENTS, *barred))


# --------------------------------------------------------------------------------------------------
# What a network file declares, read once, strictly and in linear time.
#
# Common readers guess where a file is unclear: a table without its block's end is dropped, a repeated row wins over
# the first, a missing number moves all later tables to other nodes. They also take quadratic time on hostile input,
# and allocate what a file merely declares. So every file is scanned for the strict core of its format, and sizes are
# checked before any table is built.
# --------------------------------------------------------------------------------------------------

# A nan says that there are no data, which `DiscreteNetwork.from_tables` refuses unless it is asked to allow for it.
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?|[nN][aA][nN]")
_LONGEST_NUMBER = 64


@dataclass(frozen=True)
class Source:
    """The text of a file, and what messages call the file."""

    label: str
    text: str

    def refusal(self, required: str, *, found: str, remedy: str, at: int | None = None) -> FileError:
        """Return the error that names the file and, if a position of the text is given, the line."""
        place = f" on line {self.text.count(chr(10), 0, at) + 1}" if at is not None else ""
        return FileError(f"{self.label}: {required}", found=found + place, remedy=remedy)


@dataclass(frozen=True)
class FileTable:
    """One table as it stands in the file at a position, its numbers not yet read."""

    name: str
    parents: tuple[str, ...]
    body: str
    at: int


States = dict[str, tuple[str, ...]]
Numbers = Callable[[Source, FileTable, States], Sequence[str]]
"""The numbers of a table as the file writes them: the configurations of the parents, the last parent fastest, and
within each the own states."""

ReadTables = tuple[Mapping[str, FloatArray], Mapping[str, Sequence[State]], Mapping[str, Sequence[str]]]
"""Tables, states and parents by attribute, as `DiscreteNetwork.from_tables` takes them."""


def blocks(
    source: Source, pattern: re.Pattern[str], refusal: Callable[[str, int], FileError]
) -> Iterator[tuple[re.Match[str], int]]:
    """The blocks that a file is made of, with the position of each, one after the other.

    Parameters
    ----------
    source : Source
    pattern : pattern
        Of one block, with blanks before it.
    refusal : callable
        Of what stands where a block should, and its position.
    """
    position, end = 0, len(source.text.rstrip())
    while position < end:
        block = pattern.match(source.text, position)
        if block is None:
            rest = source.text[position:end].lstrip()
            raise refusal(rest[:80], end - len(rest))
        yield block, block.end() - len(block[0].lstrip())
        position = block.end()


def declare(source: Source, states: States, name: str, named: Sequence[str], *, at: int, barred: str = "") -> None:
    """Add an attribute with its states; names may not hold the characters `barred`."""
    for each in (name, *named):
        if not may_be_named(each, barred):
            marks = " ".join((*COMMENTS, *barred))
            raise source.refusal(
                f"names must be printable, at most {LONGEST_STATE_NAME} characters, and without {marks}",
                found=clip(each) if each else "an empty name",
                remedy="Rename it.",
                at=at,
            )
    if name in states:
        raise source.refusal(
            "an attribute may be declared once", found=f"{clip(name)} again", remedy="Remove one.", at=at
        )
    if not named or len(set(named)) != len(named):
        raise source.refusal(
            f"the states of {clip(name)} must be distinct, and at least one",
            found=clip(listing(named)),
            remedy="Correct the list of states.",
            at=at,
        )
    states[name] = tuple(named)


def assemble(source: Source, states: States, tables: Sequence[FileTable], numbers: Numbers) -> ReadTables:
    """Join attributes and tables, check the sizes, and only then read the numbers.

    Raises
    ------
    FileError
        If tables and attributes do not match, or a table does not have one number per cell.
    SizeError
        If there are too many attributes, parents, characters in names, or cells.
    """
    if not states:
        raise source.refusal("a network needs an attribute", found="none", remedy="Check that the file is whole.")
    _match(source, states, tables)
    cells = [prod(len(states[name]) for name in (table.name, *table.parents)) for table in tables]
    check_size(source, "attributes in one file", len(states), MOST_ATTRIBUTES)
    check_size(source, "parents of one attribute", max(len(table.parents) for table in tables), MOST_PARENTS)
    check_size(source, "characters in the names of states", sum(map(len, chain(*states.values()))), MOST_FILE_NAMES)
    check_size(source, "cells in the tables of one file", sum(cells), MOST_FILE_CELLS)
    arrays: dict[str, FloatArray] = {}
    for table, size in zip(tables, cells, strict=True):
        found = tuple(numbers(source, table, states))
        _check_numbers(source, table, found, size)
        shape = tuple(len(states[name]) for name in (*table.parents, table.name))
        arrays[table.name] = np.moveaxis(np.array(list(map(float, found))).reshape(shape), -1, 0)
    parents = {table.name: table.parents for table in tables}
    return {name: arrays[name] for name in states}, states, {name: parents[name] for name in states}


def clip(text: str, most: int = 40) -> str:
    """Quote a piece of a file for a message: short, and without control characters."""
    return repr(text if len(text) <= most else text[:most] + "...")


def _match(source: Source, states: States, tables: Sequence[FileTable]) -> None:
    seen: set[str] = set()
    for table in tables:
        unknown = [name for name in (table.name, *table.parents) if name not in states]
        if unknown:
            raise source.refusal(
                "a table must be over declared attributes",
                found=f"the unknown {clip(listing(unknown))}",
                remedy="Declare it, or check the spelling (case counts).",
                at=table.at,
            )
        if table.name in seen or table.name in table.parents or len(set(table.parents)) != len(table.parents):
            raise source.refusal(
                "an attribute has one table, over itself and distinct parents",
                found=f"another one, or a repeated parent, for {clip(table.name)}",
                remedy="Keep one table per attribute.",
                at=table.at,
            )
        seen.add(table.name)
    bare = [name for name in states if name not in seen]
    if bare:
        raise source.refusal(
            "every attribute needs a table", found=f"none for {clip(listing(bare))}", remedy="Check the file is whole."
        )


def check_size(source: Source, what: str, found: int, most: int) -> None:
    """Refuse what is too large, found out before it is allocated."""
    if not found <= most:
        raise SizeError(
            f"{source.label}: there may be at most {most:,} {what}",
            found=f"{found:,}",
            remedy="Remove edges, merge states, or build the network with DiscreteNetwork.from_tables.",
        )


def _check_numbers(source: Source, table: FileTable, found: Sequence[str], size: int) -> None:
    if len(found) != size:
        raise source.refusal(
            f"the table of {clip(table.name)} must have {size:,} numbers",
            found=f"{len(found):,}",
            remedy="Give one probability per state and configuration of the parents.",
            at=table.at,
        )
    strange = next((each for each in found if len(each) > _LONGEST_NUMBER or not _NUMBER.fullmatch(each)), None)
    if strange is not None:
        raise source.refusal(
            f"the table of {clip(table.name)} must hold numbers",
            found=clip(strange),
            remedy="Write probabilities as plain decimal numbers.",
            at=table.at,
        )


# --------------------------------------------------------------------------------------------------
# How tables of a file or of another library become a network.
# --------------------------------------------------------------------------------------------------


def network_of(
    read: ReadTables,
    level: Level | None,
    normalize: bool,
    missing_rows: MissingRows | None,
    latent: Iterable[str] = (),
) -> DiscreteNetwork | IntervalNetwork:
    """The network of tables that were read.

    Files and single precision leave sums that are 1 within 1e-6 only: such columns are divided by their sums, and
    `reading.notes` says which. What is further off is refused unless `normalize` is given.
    """
    tables, states, parents = read
    network = tables_within(FEW_DECIMALS if normalize else FLOAT_NOISE, tables, states, parents, level, missing_rows)
    off: dict[str, float] = {}
    for name, table in tables.items():
        sums = np.nan_to_num(table.sum(axis=table.ndim - 1 - len(parents[name])), nan=1.0)  # nan in rows without data
        off[name] = float(np.abs(sums - 1).max())
    divided = [visible(name) for name in off if off[name] > SUM_TOLERANCE]
    unseen = [name for name in network.attributes if name in frozenset(latent)]
    notes: list[str] = []
    if divided:
        which = f"the table of {divided[0]}" if len(divided) == 1 else f"{len(divided)} tables, {listing(divided)},"
        worst = max(off.values())
        notes.append(f"Columns of {which} sum to 1 within {worst:.2g} only: each was divided by its sum.")
    return replace(
        network, reading=replace(network.reading, latent=frozenset(unseen), notes=(*notes, *latent_notes(unseen)))
    )


def latent_notes(unseen: Sequence[str]) -> tuple[str, ...]:
    """What is said of latent attributes; nothing where there are none."""
    if not unseen:
        return ()
    one = len(unseen) == 1
    return (f"{listing(map(visible, unseen))} {'is' if one else 'are'} latent: in the network, but no column.",)
