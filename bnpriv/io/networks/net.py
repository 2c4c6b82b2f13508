"""The strict core of Hugin's NET format: node blocks with states, potential blocks with data.

All patterns are possessive, so that a scan never goes back over what it has read.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from bnpriv.errors import FileError
from bnpriv.io.networks.formats import FileTable, ReadTables, Source, States, assemble, blocks, clip, declare

_NET_QUOTE_OR_COMMENT = re.compile(r'"[^"]*+(?:"|\Z)|/\*(?s:.*?)(?:\*/|\Z)|//[^\n]*+|%[^\n]*+')
_BODY = r'\{(?P<%s>(?:[^"{}]++|"[^"]*+")*+)\}'
_NET_BLOCK = re.compile(
    rf"\s*+(?:(?:net|class\s++[\w-]++)\s*+{_BODY % 'network'}"
    rf"|(?:discrete\s++)?node\s++(?P<node>[\w-]++)\s*+{_BODY % 'about'}"
    rf"|potential\s*+\((?P<header>[^(){{}}]*+)\)\s*+{_BODY % 'body'})",
    re.ASCII,
)
_STATEMENT = re.compile(r'\s*+(?P<key>\w++)\s*+=\s*+(?P<value>(?:[^";]++|"[^"]*+")*+);', re.ASCII)
_STATE = re.compile(r'[\s,]*+(?:"([^"]*+)"|([^\s"(),]++))')


def scan(source: Source) -> ReadTables:
    """Return what a NET file declares.

    Raises
    ------
    FileError
        If anything is outside the strict core of the format.
    SizeError
        If the tables are too large.
    """
    plain = Source(source.label, _NET_QUOTE_OR_COMMENT.sub(_plain, source.text))
    states: States = {}
    tables: list[FileTable] = []

    def outside(found: str, at: int) -> FileError:
        remedy = "Only discrete nodes are read; check that the file is whole and every block is closed."
        required = "a NET file is made of net, node and potential blocks"
        return plain.refusal(required, found=clip(found), remedy=remedy, at=at)

    for block, at in blocks(plain, _NET_BLOCK, outside):
        if block["node"] is not None:
            named = _states(plain, _statement(plain, block["about"], "states", at), at)
            declare(plain, states, block["node"], named, at=at)
        elif block["header"] is not None:
            tables.append(_table(plain, block["header"], _statement(plain, block["body"], "data", at), at))
    return assemble(plain, states, tables, _numbers)


def _plain(match: re.Match[str]) -> str:
    found = match[0]
    return found if found.startswith('"') else " " + "\n" * found.count("\n")


def _statement(source: Source, body: str, wanted: str, at: int) -> str:
    """Return the value of the one statement `wanted`; others, such as labels and positions, are passed over."""
    values: list[str] = []
    position, end = 0, len(body.rstrip())
    while position < end:
        statement = _STATEMENT.match(body, position)
        if statement is None or statement["key"].startswith("model_"):
            raise source.refusal(
                "a block must be made of statements `name = value;`, and tables must be written out",
                found=clip(body[position : position + 80].strip()),
                remedy="Close every statement with a semicolon; expressions are not read.",
                at=at,
            )
        if statement["key"] == wanted:
            values.append(statement["value"].strip())
        position = statement.end()
    if len(values) != 1:
        raise source.refusal(
            f"the block must have one statement `{wanted} = (...);`",
            found=str(len(values)),
            remedy="Write the states of every node and the data of every potential out, once.",
            at=at,
        )
    return values[0]


def _states(source: Source, value: str, at: int) -> list[str]:
    inner = value[1:-1].rstrip(" \t\n,")
    named: list[str] = []
    position = 0
    while position < len(inner):
        state = _STATE.match(inner, position)
        if state is None:
            break
        named.append(state[1] if state[1] is not None else state[2])
        position = state.end()
    if not value.startswith("(") or not value.endswith(")") or position < len(inner):
        raise source.refusal(
            'states must be written as `states = ("a" "b");`', found=clip(value), remedy="Correct the list.", at=at
        )
    return named


def _table(source: Source, header: str, body: str, at: int) -> FileTable:
    own, bar, given = header.partition("|")
    names = own.split()
    if len(names) != 1 or (given.strip() and not bar):
        raise source.refusal(
            "a potential must be of one node given others",
            found=clip(header.strip()),
            remedy="Write `potential (a | b c)`.",
            at=at,
        )
    return FileTable(names[0], tuple(given.split()), body, at)


def _numbers(source: Source, table: FileTable, states: States) -> Sequence[str]:
    value = table.body.replace(",", " ")
    numbers = value.replace("(", " ").replace(")", " ").split()
    shape = [len(states[name]) for name in (*table.parents, table.name)]
    skeleton = re.sub(r"\s++", "", re.sub(r"[^()\s]++", "x", value))
    if skeleton not in (_nested(shape), f"({'x' * len(numbers)})"):
        raise source.refusal(
            f"the data of {clip(table.name)} must be nested as its parents' states and its own, {tuple(shape)}",
            found=clip(skeleton),
            remedy="Put parentheses around the numbers of each configuration of the parents, in their order.",
            at=table.at,
        )
    return numbers


def _nested(shape: Sequence[int]) -> str:
    skeleton = "x"
    for size in reversed(shape):
        skeleton = f"({skeleton * size})"
    return skeleton
