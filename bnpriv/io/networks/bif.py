"""The strict core of the BIF format: variable blocks, and probability blocks of rows or one table.

All patterns are possessive, so that a scan never goes back over what it has read.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from itertools import product
from math import prod

from bnpriv.errors import FileError
from bnpriv.io.networks.formats import (
    BIF_BARRED,
    FileTable,
    ReadTables,
    Source,
    States,
    assemble,
    blocks,
    clip,
    declare,
)

_BIF_QUOTE_OR_COMMENT = re.compile(r'"[^"]*+(?:"|\Z)|/\*(?s:.*?)(?:\*/|\Z)|//[^\n]*+')
_BIF_BLOCK = re.compile(
    r"\s*+(?:(?P<network>network\b[^{}]*+\{[^{}]*+\})"
    r"|variable\b(?P<variable>[^{}]*+)\{(?P<before>[^{}]*+)\{(?P<states>[^{}]*+)\}(?P<after>[^{}]*+)\}"
    r"|probability\s*+\((?P<header>[^(){}]*+)\)\s*+\{(?P<body>[^{}]*+)\})"
)
_PROPERTIES = r"(?:\s*+property\b[^;]*+;)*+\s*+"
_BEFORE = re.compile(_PROPERTIES + r"type\s++discrete\s*+\[\s*+([0-9]{1,9})\s*+\]\s*+")
_AFTER = re.compile(r"\s*+;" + _PROPERTIES)
_ROW = re.compile(r"\(([^()]*+)\)([^()]*+)")
# What has a meaning outside quotes must have none inside; a blank inside quotes does not separate names.
_INSIDE_QUOTES = str.maketrans({**dict.fromkeys(BIF_BARRED + "\n", "\0"), " ": "\1"})


def scan(source: Source) -> ReadTables:
    """Return what a BIF file declares.

    Raises
    ------
    FileError
        If anything is outside the strict core of the format.
    SizeError
        If the tables are too large.
    """
    plain = Source(source.label, _BIF_QUOTE_OR_COMMENT.sub(_plain, source.text))
    states: States = {}
    headers: list[tuple[str, str, int]] = []
    for block, at in blocks(plain, _BIF_BLOCK, partial(_outside, plain)):
        if block["variable"] is not None:
            _variable(plain, states, block, at)
        elif block["header"] is not None:
            headers.append((block["header"], block["body"], at))
    tables = [_table(plain, header, body, states, at) for header, body, at in headers]
    return assemble(plain, states, tables, _numbers)


def _plain(match: re.Match[str]) -> str:
    found = match[0]
    if found.startswith('"'):
        return " " + found.strip('"').translate(_INSIDE_QUOTES) + " "
    return " " + "\n" * found.count("\n")


def _outside(source: Source, found: str, at: int) -> FileError:
    return source.refusal(
        "a BIF file is made of network, variable and probability blocks",
        found=clip(_name(found.replace("\0", "_"))),
        remedy="Check that the file is whole, that every block and statement is closed, and that no name holds quotes.",
        at=at,
    )


def _variable(source: Source, states: States, block: re.Match[str], at: int) -> None:
    before, after = _BEFORE.fullmatch(block["before"]), _AFTER.fullmatch(block["after"])
    if before is None or after is None:
        raise source.refusal(
            "a variable block must read `type discrete [ count ] { states };`",
            found=clip((block["before"] if before is None else block["after"]).strip()),
            remedy="Only discrete variables are read.",
            at=at,
        )
    named = _split(block["states"], int(before[1]))
    if len(named) != int(before[1]):
        raise source.refusal(
            f"the variable must have the {before[1]} states that it declares",
            found=str(len(named)),
            remedy="Correct the count or the list; separate states by commas.",
            at=at,
        )
    declare(source, states, _name(block["variable"]), named, at=at, barred=BIF_BARRED)


def _table(source: Source, header: str, body: str, states: States, at: int) -> FileTable:
    own, bar, given = header.partition("|")
    if not bar and _name(own) not in states:
        own, *words = own.replace(",", " ").split() or [""]  # the old style: the first name is conditioned on the rest
        return FileTable(_name(own), tuple(map(_name, words)), body, at)
    if not given.strip():
        return FileTable(_name(own), (), body, at)
    parts = [given] if _name(given) in states else _split(given, given.count(",") + 1)
    if len(parts) == 1 and _name(parts[0]) not in states:
        parts = given.split()
    return FileTable(_name(own), tuple(map(_name, parts)), body, at)


def _numbers(source: Source, table: FileTable, states: States) -> Sequence[str]:
    *statements, rest = table.body.split(";")
    if rest.strip():
        raise _outside(source, rest.strip(), table.at)
    kept = [each for each in map(str.strip, statements) if each.split(None, 1)[:1] != ["property"]]
    if len(kept) == 1 and kept[0].split(None, 1)[:1] == ["table"]:
        numbers = kept[0].replace(",", " ").split()[1:]
        columns = prod(len(states[parent]) for parent in table.parents)
        if len(numbers) != columns * len(states[table.name]):
            return numbers
        return [number for k in range(columns) for number in numbers[k::columns]]
    return _rows(source, table, kept, states)


def _rows(source: Source, table: FileTable, statements: Sequence[str], states: States) -> Sequence[str]:
    rows: dict[tuple[str, ...], list[str]] = {}
    for statement in statements:
        row = _ROW.fullmatch(statement)
        if row is None:
            raise source.refusal(
                f"the table of {clip(table.name)} must be one `table`, or one row per configuration of its parents",
                found=clip(statement),
                remedy="Write out every row; `default` is not read.",
                at=table.at,
            )
        labels = tuple(_split(row[1], len(table.parents)))
        if labels in rows:
            raise source.refusal(
                f"each row of {clip(table.name)} may stand once",
                found=f"{clip(', '.join(labels))} again",
                remedy="Remove one.",
                at=table.at,
            )
        rows[labels] = row[2].replace(",", " ").split()
    numbers: list[str] = []
    for labels in product(*(states[parent] for parent in table.parents)):
        row = rows.pop(labels, None)
        if row is None or len(row) != len(states[table.name]):
            raise source.refusal(
                f"the table of {clip(table.name)} must have a row of {len(states[table.name])} numbers for "
                f"{clip(', '.join(labels))}",
                found="none" if row is None else str(len(row)),
                remedy="Write out every row; separate the parents' states by commas.",
                at=table.at,
            )
        numbers += row
    if rows:
        raise source.refusal(
            f"the rows of {clip(table.name)} must be for states of its parents",
            found=clip(", ".join(next(iter(rows)))),
            remedy="Check the spelling.",
            at=table.at,
        )
    return numbers


def _split(text: str, count: int) -> list[str]:
    """Split names at commas or, where that does not give `count` of them, at blanks."""
    parts = [_name(part) for part in text.split(",")]
    return parts if len(parts) == count else [_name(part) for part in text.replace(",", " ").split()]


def _name(text: str) -> str:
    return " ".join(text.replace("\1", " ").split())
