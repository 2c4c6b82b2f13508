"""The words of a query's text: names, numbers, strings and symbols, each with its place."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, NoReturn, cast, final

from bnpriv.errors import QueryError
from bnpriv.queries import hints
from bnpriv.queries.hints import QUERY_EXAMPLE
from bnpriv.tables.schema import decimal

TokenKind = Literal["name", "quoted", "number", "string", "symbol", "end"]

TOKEN = re.compile(
    r"""
    (?P<name>   [A-Za-z_][A-Za-z0-9_]* )
  | (?P<quoted> ` (?:[^`]|``)+ ` )
  | (?P<number> -? (?: [0-9]+ (?:\.[0-9]*)? | \.[0-9]+ ) (?:[eE][+-]?[0-9]+)? )
  | (?P<string> "(?:[^"\\]|\\.)*" | '(?:[^'\\]|\\.)*' )
  | (?P<symbol> [<>=!]= | [<>&|~()\[\],:/] )
    """,
    re.VERBOSE | re.DOTALL,
)
SPACE = re.compile(r"\s*")
ESCAPE = re.compile(r"\\(.)", re.DOTALL)


@final
@dataclass(frozen=True)
class Token:
    """A word of the text and where it starts."""

    kind: TokenKind
    text: str
    position: int


def tokens_of(text: str) -> list[Token]:
    """The words of a text, and its end.

    Raises
    ------
    QueryError
        If a sign belongs to no word of the grammar.

    Examples
    --------
    >>> [token.text for token in tokens_of("mean(`a b`)")]
    ['mean', '(', '`a b`', ')', '']
    """
    tokens: list[Token] = []
    place = _skip(text, 0)
    while place < len(text):
        match = TOKEN.match(text, place)
        if match is None:
            refuse(
                "a name, a number, a string or a symbol of the grammar", text[place], place, hints.of_sign(text, place)
            )
        tokens.append(Token(cast("TokenKind", match.lastgroup), match.group(), place))
        place = _skip(text, match.end())
    tokens.append(Token("end", "", len(text)))
    return tokens


def _skip(text: str, place: int) -> int:
    match = SPACE.match(text, place)
    return match.end() if match else place


def refuse(expected: str, found: str, position: int, remedy: str = QUERY_EXAMPLE) -> NoReturn:
    """Refuse a text at a place.

    Raises
    ------
    QueryError
        Always.
    """
    shown = repr(found if len(found) <= 40 else found[:40] + "...") if found else "the end"
    raise QueryError(f"a query's text needs {expected} at character {position + 1}", found=shown, remedy=remedy)


def fraction(number: float) -> Fraction:
    """The number that was written, exactly."""
    return decimal(number) if isinstance(number, float) else Fraction(number)


def name_of(token: Token) -> str:
    """The column that a word names, without its backticks."""
    return token.text[1:-1].replace("``", "`") if token.kind == "quoted" else token.text


def unescaped(token: Token) -> str:
    """A string without its quotes and backslashes.

    Raises
    ------
    QueryError
        If a backslash stands before anything else than a backslash or a quote.
    """
    for match in ESCAPE.finditer(token.text):
        if match.group(1) not in "\\\"'":
            refuse("a backslash or a quote after a backslash", match.group(), token.position + match.start())
    return ESCAPE.sub(r"\1", token.text[1:-1])
