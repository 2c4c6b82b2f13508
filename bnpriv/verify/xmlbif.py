"""The nodes of an XMLBIF file, read by code of its own: names may hold blanks, brackets and any other sign.

Nothing of the rest of bnpriv is imported.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Mapping
from decimal import Decimal
from typing import Any
from xml.parsers import expat

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
