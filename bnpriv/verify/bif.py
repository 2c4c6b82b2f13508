"""The nodes of a BIF file, read for `bnpriv.verify` by code of its own: names may be quoted and hold blanks.

Nothing of bnpriv is imported.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from itertools import product
from typing import Any

BIF_PIECE = re.compile(
    r'"(?P<quoted>[^"]*)"|//[^\n]*|/\*(?s:.*?)\*/|(?P<mark>[{}()\[\]|,;])'
    r'|(?P<word>(?:(?!//|/\*)[^\s{}()\[\]|,;"])+)'
)
BRACKETS = {"{": "}", "(": ")", "[": "]"}
BifToken = tuple[bool, str]
"""Whether it is a mark that stands outside quotes, and its text."""


def bif_nodes(text: str) -> dict[str, Any]:
    """The states, parents and table of every node of a file in the usual form of BIF."""
    tokens, states, nodes, at = _tokens(text), dict[str, list[str]](), dict[str, Any](), 0
    given = list[tuple[list[BifToken], list[BifToken]]]()
    while at < len(tokens):
        head, at = _until(tokens, at, "{")
        body, at = _until(tokens, at, "}")
        kind, *rest = head
        if kind[1] == "variable":
            states[_name(rest)] = _listed(body)
        elif kind[1] == "probability":
            given.append((rest[1:-1], body))
    for header, body in given:
        own, parents = _family(header, states)
        nodes[own] = {"states": states[own], "parents": parents, "logs": [_table(own, parents, body, states)]}
    return nodes


def _tokens(text: str) -> list[BifToken]:
    found = ((each["mark"], each["word"], each["quoted"]) for each in BIF_PIECE.finditer(text))
    kept = ((mark is not None, mark or word or quoted) for mark, word, quoted in found)
    return [(mark, " ".join(each.split())) for mark, each in kept if each is not None]


def _until(tokens: Sequence[BifToken], at: int, end: str) -> tuple[list[BifToken], int]:
    """The tokens before a mark outside all brackets that open on the way, and the place behind it."""
    start, open_marks = at, list[str]()
    while tokens[at] != (True, end) or open_marks:
        mark, text = tokens[at]
        if mark and text in BRACKETS:
            open_marks.append(BRACKETS[text])
        elif mark and open_marks and text == open_marks[-1]:
            open_marks.pop()
        at += 1
    return list(tokens[start:at]), at + 1


def _split(tokens: Sequence[BifToken], mark: str) -> list[list[BifToken]]:
    parts: list[list[BifToken]] = [[]]
    for token in tokens:
        if token == (True, mark):
            parts.append([])
        else:
            parts[-1].append(token)
    return parts


def _name(tokens: Sequence[BifToken]) -> str:
    return " ".join(text for _, text in tokens)


def _names(tokens: Sequence[BifToken], count: int) -> list[str]:
    """Return names: what stands between commas or, where that does not give so many, every word of its own."""
    parts = [_name(part) for part in _split(tokens, ",")]
    return parts if len(parts) == count else [text for mark, text in tokens if not mark]


def _listed(body: Sequence[BifToken]) -> list[str]:
    """The states of a variable block, which reads `type discrete [ count ] { states };` beside properties."""
    for statement in _split(body, ";"):
        if statement[:2] == [(False, "type"), (False, "discrete")]:
            start = statement.index((True, "{"))
            return _names(statement[start + 1 : -1], int(statement[3][1]))
    raise ValueError("a variable without states")


def _family(header: Sequence[BifToken], states: Mapping[str, Any]) -> tuple[str, list[str]]:
    """The node and the parents that the head of a probability block names."""
    own, *given = _split(header, "|")
    if not given and _name(own) not in states:  # the old style: the first name is conditioned on the rest
        name, *parents = [text for mark, text in own if not mark]
        return name, parents
    if not given or not given[0]:
        return _name(own), []
    if _name(given[0]) in states:
        return _name(own), [_name(given[0])]
    commas = given[0].count((True, ","))
    parents = _names(given[0], commas + 1)
    known = all(each in states for each in parents)
    return _name(own), parents if known else [text for mark, text in given[0] if not mark]


def _table(own: str, parents: Sequence[str], body: Sequence[BifToken], states: Mapping[str, Any]) -> list[Decimal]:
    """The numbers with the own state as the slowest index and the last parent's as the fastest."""
    rows = dict[tuple[str, ...], list[Decimal]]()
    for statement in _split(body, ";"):
        if statement[:1] == [(False, "table")]:
            return _numbers(statement[1:])
        if statement[:1] == [(True, "(")]:
            end = statement.index((True, ")"))
            rows[tuple(_names(statement[1:end], len(parents)))] = _numbers(statement[end + 1 :])
    columns = [rows[given] for given in product(*(states[parent] for parent in parents))]
    return [column[k] for k in range(len(states[own])) for column in columns]


def _numbers(tokens: Sequence[BifToken]) -> list[Decimal]:
    return [Decimal(float(text)) for mark, text in tokens if not mark]
