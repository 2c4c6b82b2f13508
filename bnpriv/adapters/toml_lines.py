"""The lines on which the tables and keys of a TOML file stand, which Python's reader does not tell."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping

KeyPath = tuple[str, ...]
"""The keys that lead to a table or a value from the top of the file."""

_TOKEN = re.compile(
    r'(?P<text>"""(?:\\(?s:.)|(?s:[^\\]))*?"{3,5}|\'\'\'(?s:.)*?\'{3,5}|"(?:\\.|[^"\\\n])*+"|\'[^\'\n]*+\')'
    r"|(?P<skipped>#[^\n]*+|[ \t\r]++)"
    r"|(?P<bare>[A-Za-z0-9_-]++)"
    r"|(?P<sign>[^A-Za-z0-9_-])"
)


def key_lines(content: str) -> Mapping[KeyPath, int]:
    r"""Return the first line of every table and key of a valid TOML file; keys of inline tables are not told.

    Examples
    --------
    >>> key_lines('notion = "dataset"\n\n[columns."a b"]\ntype = "real"\n')[("columns", "a b", "type")]
    4
    """
    found: dict[KeyPath, int] = {}
    table: KeyPath = ()
    for line, tokens in _statements(content):
        headed = tokens[0] == "["
        path = _path(tokens)
        if headed:
            table = path
        full = path if headed else (*table, *path)
        for length in range(1, len(full) + 1):
            found.setdefault(full[:length], line)
    return found


def _statements(content: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the tokens in front of the value of every statement, with its line."""
    tokens: list[str] = []
    line = start = 1
    depth, in_value = 0, False
    for match in _TOKEN.finditer(content):
        token = match[0]
        if match["skipped"] is None and token != "\n":
            if not tokens:
                start = line
            if not in_value and token == "=":
                in_value = True
            elif not in_value:
                tokens.append(token)
            else:
                depth += (token in ("[", "{")) - (token in ("]", "}"))
        if token == "\n" and not depth:
            if tokens:
                yield start, tokens
            tokens, in_value = [], False
        line += token.count("\n")
    if tokens:
        yield start, tokens


def _path(tokens: list[str]) -> KeyPath:
    return tuple(_key(token) for token in tokens if token not in ("[", "]", "."))


def _key(token: str) -> str:
    if token[0] in "\"'":
        return str(tomllib.loads(f"key = {token}")["key"])
    return token


def line_of(lines: Mapping[KeyPath, int], path: KeyPath) -> int | None:
    """Return the line of a key, or of the nearest table around it that stands in the file."""
    return next((lines[path[:length]] for length in range(len(path), 0, -1) if path[:length] in lines), None)


def moved(lines: Mapping[KeyPath, int], path: KeyPath, meant: KeyPath) -> Mapping[KeyPath, int]:
    """Return the lines with those of a misspelt key, and of what is inside it, under the key that is meant.

    Examples
    --------
    >>> moved({("recrods", "count"): 5}, ("recrods",), ("records",))[("records", "count")]
    5
    """
    size = len(path)
    return {**lines, **{(*meant, *key[size:]): line for key, line in lines.items() if key[:size] == path}}
