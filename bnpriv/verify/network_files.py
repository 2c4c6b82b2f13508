"""The nodes of BIF and XMLBIF files, read by code of its own, as decimals.

Nothing of the rest of bnpriv is imported.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from decimal import Decimal
from itertools import product
from typing import Any
from xml.parsers import expat

# --------------------------------------------------------------------------------------------------
# BIF: names may be quoted and hold blanks.
# --------------------------------------------------------------------------------------------------

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


# --------------------------------------------------------------------------------------------------
# XMLBIF: names may hold blanks, brackets and any other sign.
# --------------------------------------------------------------------------------------------------

ENTITY = re.compile(r"<!\s*ENTITY", re.IGNORECASE)
BLOCKS = ("VARIABLE", "DEFINITION")


def xmlbif_nodes(text: str) -> dict[str, Any]:
    """The states, parents and table of every node of a file.

    Raises
    ------
    ValueError
        If it is no XML, or declares an entity, which may stand for text without end.
    """
    if ENTITY.search(text):
        raise ValueError("an entity")
    try:
        blocks = _blocks(text)
    except expat.ExpatError:
        raise ValueError("no XML") from None
    states = {_one(block, "NAME"): block["OUTCOME"] for tag, block in blocks if tag == "VARIABLE"}
    return dict(_node(block, states) for tag, block in blocks if tag == "DEFINITION")


def _node(block: Mapping[str, list[str]], states: Mapping[str, list[str]]) -> tuple[str, Any]:
    """A node whose table has its own state as the slowest index; in the file that is the fastest."""
    own, parents = _one(block, "FOR"), block["GIVEN"]
    numbers = [Decimal(float(text)) for text in _one(block, "TABLE").split()]
    size, rows = len(states[own]), math.prod(len(states[parent]) for parent in parents)
    if len(numbers) != size * rows:
        raise ValueError("a table of another size")
    table = [p for k in range(size) for p in numbers[k::size]]
    return own, {"states": states[own], "parents": parents, "logs": [table]}


def _one(block: Mapping[str, list[str]], tag: str) -> str:
    (text,) = block[tag]
    return text


def _blocks(text: str) -> list[tuple[str, defaultdict[str, list[str]]]]:
    """What stands directly in variables and definitions; no tree is built of the rest."""
    blocks, path, words = list[tuple[str, defaultdict[str, list[str]]]](), list[str](), list[str]()

    def start(tag: str, _: Mapping[str, str]) -> None:
        if tag in BLOCKS:
            blocks.append((tag, defaultdict(list)))
        path.append(tag)
        words.clear()

    def end(tag: str) -> None:
        path.pop()
        if path and path[-1] in BLOCKS:
            blocks[-1][1][tag].append("".join(words).strip())
        words.clear()

    parser = expat.ParserCreate("utf-8")
    parser.specified_attributes = True
    parser.StartElementHandler, parser.EndElementHandler, parser.CharacterDataHandler = start, end, words.append
    parser.Parse(text.encode(), True)
    return blocks
