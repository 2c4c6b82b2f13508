"""The closed grammar of queries: a tokenizer, a recursive descent, and hints at what was meant."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date
from fractions import Fraction
from typing import Literal, NoReturn, TypeVar, cast

from bnpriv.checks import closest, listing, type_text
from bnpriv.core.columns import decimal
from bnpriv.core.networks.base import Axes, ImportReport
from bnpriv.core.queries.asked import count, histogram, linear, mean, moments, proportion, total
from bnpriv.core.queries.base import Query
from bnpriv.core.queries.builtin import Count, CountBy, CrossedColumn, Crosstab, Difference, Stack
from bnpriv.core.queries.predicates import MOST_NESTED, OPERATORS, And, Comparison, Constant, IsIn, Not, Or, Predicate
from bnpriv.core.queries.spread import MEDIAN, Quantile, covariance, std, variance
from bnpriv.core.secrets import Secret
from bnpriv.errors import QueryError, SecretError
from bnpriv.text import visible

# --------------------------------------------------------------------------------------------------
# What was probably meant by a query's text that is outside the grammar: the last sentence of a refusal.
# --------------------------------------------------------------------------------------------------

QUERY_EXAMPLE = 'Write for example count(height > 170 & gender == "f").'
JOIN = "Join conditions with & and |, negate with ~, and write numbers without separators."
OPEN_BRACKET = "Edges stand behind a comma, histogram(age, [0, 18, 65]); entries without quotes, mean(score[algebra])."
BETWEEN_BACKTICKS = "Put a name that is no identifier between backticks."

SIGNS = {
    "=": "Compare with ==; a weight stands behind a colon.",
    "!": "Negate with ~.",
    '"': "Close the string.",
    "'": "Close the string.",
    "`": "Close the backtick, and put a name between the two.",
    ";": "Separate with commas.",
    "\u2265": "Write >=.",
    "\u2264": "Write <=.",
    "\u2260": "Write !=.",
    **dict.fromkeys("\u201c\u201d\u201e", 'Write straight quotes, "f".'),
    **dict.fromkeys("\u2018\u2019", "Write straight quotes, 'f'."),
    **dict.fromkeys("+*^%", "There is no arithmetic: weigh columns with linear(height: 0.5, sat: 2)."),
}
"""By the sign that no rule of the grammar has."""

ALIASES = frozenset({"share", "sum"})
"""Second names, which are read and not written: of proportion and total."""

OTHER_NAMES = {
    "avg": "mean",
    "average": "mean",
    "number": "count",
    "fraction": "proportion",
    "percentage": "proportion",
    "hist": "histogram",
    "var": "variance",
    "stdev": "std",
    "stddev": "std",
    "sd": "std",
    "deviation": "std",
    "percentile": "quantile",
    "quantiles": "quantile",
    "cov": "covariance",
    "cross": "crosstab",
    "table": "crosstab",
    "contingency": "crosstab",
}
"""What queries are called elsewhere."""

NO_SUMS = frozenset({"min", "max", "minimum", "maximum", "mode", "range"})
"""What single records decide."""

CORRELATIONS = frozenset({"correlation", "corr", "cor", "pearson"})

MOST_SHOWN_LETTERS = 40
"""Characters of a name that are repeated."""

WORD = re.compile(r"[^\s<>=!&|~()\[\],:/`\"']+")


def of_sign(text: str, place: int) -> str:
    """What was meant by a sign at `place` that no rule of the grammar has."""
    around = next((found for found in WORD.finditer(text) if found.start() <= place < found.end()), None)
    word = around.group() if around is not None else ""
    if word.startswith(("bp.", "bnpriv.")):
        return f"Write {visible(word.split('.')[1][:MOST_SHOWN_LETTERS])} alone: the text is no Python."
    if word and (word[0].isalpha() or word[0] == "_") and text[place] not in SIGNS:
        return backticks(word)
    if text[place] == "*" and text[:place].rstrip().endswith("("):
        return "Count the records that meet a condition; how many there are in all is public."
    return SIGNS.get(text[place], f"{QUERY_EXAMPLE} A name of other signs stands between backticks.")


def backticks(name: str) -> str:
    """How a name of several words is written."""
    short = len(name) <= MOST_SHOWN_LETTERS and "`" not in name
    said = "A name with blanks or other signs stands between backticks"
    return f"{said}: `{visible(name)}`." if short else f"{said}."


def of_query(name: str, follows: str, queries: Iterable[str], operators: Iterable[str]) -> str:
    """What was meant by the name of a query that there is not; `follows` is the word behind it."""
    if name.lower() in NO_SUMS and follows == "(":
        return "Single records decide it. Ask for a quantile near the end, or read it off a histogram."
    if name.lower() in CORRELATIONS and follows == "(":
        return (
            "A correlation divides by standard deviations that noise may bring to 0: ask the covariance and both "
            "variances, stack(covariance(a, b), variance(a), variance(b)), and divide what is released."
        )
    near = OTHER_NAMES.get(name.lower()) or closest(name, queries)
    if near is not None and follows == "(":
        return f"Did you mean {near!r}?"
    if follows in {*operators, "in"}:
        return f"A condition alone is no query: count the records for which it holds. {QUERY_EXAMPLE}"
    if name and not follows:
        return f"Say what is asked of it, for example mean({visible(name[:MOST_SHOWN_LETTERS])})."
    return QUERY_EXAMPLE


def of_more(name: str) -> str:
    """What was meant by a comma behind all that a query takes."""
    if name in ("total", "sum", "mean", "variance", "std"):
        return (
            f"It takes one column: ask several in stack({name}(a), {name}(b)), or weigh them with linear(a: 1, b: 1)."
        )
    return JOIN


def of_groups(name: str) -> str:
    """What to ask instead of a query other than count by groups."""
    if name == "proportion":
        return (
            "A share within groups divides by counts that noise may bring to 0: ask both counts, "
            "stack(count(...) by ward, histogram(ward)), and divide what is released."
        )
    if name in ("mean", "total"):
        return (
            f"Only counts are asked by groups. The {name} within groups can be read off the counts of "
            "crosstab(ward, height [120, 170, 220])."
        )
    if name in ("histogram", "quantile", "median"):
        return "Name both columns in one question: crosstab(ward, height [120, 170, 220])."
    return "Only counts are asked by groups: count(height > 180) by ward."


def of_comparison(column: str, follows: str, named: str) -> str:
    """What was meant where a comparison lacks its operator; `named` is all that may be one name."""
    if column == "not" or follows == "not":
        return JOIN
    if follows in ("is", "between", "like"):
        return (
            "A range is two conditions, height >= 150 & height <= 180; a missing value counts as its column declares."
        )
    if (column, follows) == ("col", "("):
        return 'A column stands by its name, without col("..."): height > 180.'
    if named != column:
        return backticks(named)
    return "Compare the column with a constant, as in height > 170."


def of_constant(word: str) -> str:
    """What was meant by a word where a constant is needed."""
    if word in ("True", "False", "TRUE", "FALSE"):
        return f"Write {word.lower()}."
    if not word.isidentifier() or len(word) > MOST_SHOWN_LETTERS:
        return "Put strings in quotes."
    return f'Put strings in quotes: "{visible(word)}". Two columns are not compared with each other.'


def of_column(text: str) -> str:
    """What was meant by a string or a number where the name of a column is needed."""
    if text[:1] in ("'", '"'):
        name = text[1:-1]
        plain = name.isascii() and name.isidentifier()
        return f"Write the column without quotes: {name[:MOST_SHOWN_LETTERS]}." if plain else backticks(name)
    if text == "[":
        return "Edges stand right behind their column: age [17, 45, 90]; of a histogram after a comma."
    if text[:1].isdigit() or text[:1] in ("-", "."):
        return f"Write the column first, as in height > 180. {BETWEEN_BACKTICKS}"
    return BETWEEN_BACKTICKS if text.isalpha() else "Name a column here, as in height > 180."


# --------------------------------------------------------------------------------------------------
# Entries of vectors, as users name them.
# --------------------------------------------------------------------------------------------------


def own_name(axes: Axes, name: str) -> str:
    """Return the name that an entry of a vector has in its network; what is no entry as it is.

    See `ImportReport.own_name`.
    """
    stem, _, rest = name.partition("[")
    inside, dims = rest.removesuffix("]"), [dim for dim, _ in axes]
    parts = [inside] if len(axes) == 1 else inside.split(", ")
    parts = parts if len(parts) == len(axes) else inside.split(",")
    if inside == rest or len(parts) != len(axes):
        return name
    found: dict[int, str | None] = {}
    for place, part in enumerate(parts):
        dim, _, label = part.partition("=")
        named = dim.strip() in dims and bool(label) and part not in axes[place][1]
        axis = dims.index(dim.strip()) if named else place
        found[axis] = _label(label if named else part, axes[axis][1])
    known = [found.get(axis) for axis in range(len(axes))]
    return name if None in known else f"{stem}[{', '.join(map(str, known))}]"


def _label(said: str, labels: tuple[str, ...]) -> str | None:
    """The label that is meant: as it is, in quotes or between blanks, or by its place; None if there is none."""
    plain = said.strip().strip("'\"")
    if said in labels or plain in labels:
        return said if said in labels else plain
    by_place = plain.isdecimal() and int(plain) < len(labels) and not any(map(_is_number, labels))
    return labels[int(plain)] if by_place else None


def _is_number(label: str) -> bool:
    with suppress(ValueError):
        return math.isfinite(float(label))
    return False


# --------------------------------------------------------------------------------------------------
# The words of a query's text: names, numbers, strings and symbols, each with its place.
# --------------------------------------------------------------------------------------------------

TokenKind = Literal["entry", "name", "quoted", "date", "number", "string", "symbol", "end"]

TOKEN = re.compile(
    r"""
    (?P<entry>  (?!in\[) [A-Za-z_][A-Za-z0-9_]* \[ (?!\s*['"]) [^\[\]"`]+ \] )
  | (?P<name>   [A-Za-z_][A-Za-z0-9_]* )
  | (?P<quoted> ` (?:[^`]|``)+ ` )
  | (?P<date> [0-9]{4}-[0-9]{2}-[0-9]{2} )
  | (?P<number> -? (?: [0-9]+ (?:\.[0-9]*)? | \.[0-9]+ ) (?:[eE][+-]?[0-9]+)? )
  | (?P<string> "(?:[^"\\]|\\.)*" | '(?:[^'\\]|\\.)*' )
  | (?P<symbol> [<>=!]= | [<>&|~()\[\],:/] | - (?=\s*(?:count|proportion|share)\s*\() )
    """,
    re.VERBOSE | re.DOTALL,
)
LIST = re.compile(r"(?:\s*(?:-?\.?[0-9][-+.0-9eE]*|true|false)\s*[,\]])+")
"""What follows the bracket of a list of numbers or days."""

SPACE = re.compile(r"\s*")
ESCAPE = re.compile(r"\\(.)", re.DOTALL)


@dataclass(frozen=True)
class Token:
    """A word of the text and where it starts."""

    kind: TokenKind
    text: str
    position: int


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


# --------------------------------------------------------------------------------------------------
# The closed grammar of queries: a tokenizer and a recursive descent, so that text from a file never runs as code.
#
# ::
#
#     query      = "count" "(" condition ")" [ "by" axis { "," axis } ]
#                | ( "proportion" | "share" ) "(" condition ")"
#                | "count" "(" condition ")" "-" "count" "(" condition ")", and of two shares
#                | ( "total" | "sum" ) "(" column ")" | "mean" "(" column ")"
#                | "histogram" "(" column [ "," list ] ")"
#                | "crosstab" "(" axis "," axis { "," axis } ")"
#                | "linear" "(" column ":" weight { "," column ":" weight } ")"
#                | ( "variance" | "std" ) "(" column ")"
#                | "covariance" "(" column "," column ")"
#                | "quantile" "(" column "," list [ "," list ] ")" | "median" "(" column [ "," list ] ")"
#                | "moments" "(" column { "," column } ")"
#                | "stack" "(" query { "," query } ")"
#     axis       = column [ list ]
#     condition  = both { "|" both }
#     both       = negated { "&" negated }
#     negated    = "~" negated | "(" condition ")" | comparison
#     comparison = column operator constant | column "in" list
#     operator   = "<" | "<=" | ">" | ">=" | "==" | "!="
#     list       = "[" constant { "," constant } "]"
#     constant   = number | date | string | "true" | "false"
#     date       = year "-" month "-" day, which counts as days since 1970-01-01
#     weight     = number [ "/" number ]
#     column     = identifier | entry | "`" any characters, a backtick doubled "`"
#     entry      = identifier "[" any characters but brackets "]", which of an axis are no list
#     string     = characters between double or single quotes; a backslash before a backslash or a quote
# --------------------------------------------------------------------------------------------------

Item = TypeVar("Item")

MOST_CHARACTERS = 10_000
MOST_OPEN = 2 * MOST_NESTED + 4  # a nested condition prints as "~(", and a query adds its own parenthesis


def parse_query(text: str) -> Query:
    r"""Read a query from its text.

    Parameters
    ----------
    text : str
        At most 10,000 characters of the grammar in this module. Comparisons bind tighter than ``~``, then ``&``, then
        ``|``. Names of columns that are no identifiers stand between backticks, strings between quotes.

    Returns
    -------
    Query
        The query; ``parse_query(str(query)) == query`` for every built-in query.

    Raises
    ------
    QueryError
        If the text is outside the grammar; the message names the position and what was expected there.

    Examples
    --------
    >>> query = parse_query('stack(count(height > 170 & gender in ["f"]), mean(`body weight`))')
    >>> sorted(query.columns)
    ['body weight', 'gender', 'height']
    """
    if not isinstance(text, str):
        raise QueryError("a query's text must be a string", found=type_text(text), remedy=QUERY_EXAMPLE)
    if not len(text) <= MOST_CHARACTERS:
        raise QueryError(
            f"a query's text may have at most {MOST_CHARACTERS:,} characters",
            found=f"{len(text):,}",
            remedy="Build the query in Python, with bnpriv.count and the others.",
        )
    return _Parser(text, {}).whole()


def renamed(reading: ImportReport, query: Query, declared: Collection[str] = ()) -> Query:
    """Return a query by the names that columns have in a network, but for those that are declared.

    One that its text does not tell, such as a function, stays as it is.

    Examples
    --------
    >>> reading = ImportReport(axes={"score": (("subject", ("algebra", "botany")),)})
    >>> str(renamed(reading, parse_query("mean(score[0])")))
    'mean(`score[algebra]`)'
    """
    names = {name: reading.own_name(name) for name in query.columns if name not in declared}
    if any(name != own for name, own in names.items()):
        with suppress(QueryError):
            if _Parser(str(query), {}).whole() == query:
                return _Parser(str(query), names).whole()
    return query


def renamed_secrets(
    reading: ImportReport, protect: Mapping[str, Secret], declared: Collection[str]
) -> dict[str, Secret]:
    """Return properties of columns by the names that these have in a network.

    Raises
    ------
    SecretError
        If two names are those of one column.
    """
    found: dict[str, Secret] = {}
    for name, secret in protect.items():
        own = name if name in declared else reading.own_name(name)
        if own in found:
            raise SecretError(
                "every protected column must come once", found=listing(protect), remedy="Leave out one of its names."
            )
        is_secret = isinstance(cast(object, secret), Secret)
        found[own] = replace(secret, property=renamed(reading, secret.property, declared)) if is_secret else secret
    return found


def _words(text: str, start: int, end: int) -> list[Token]:
    """The words of a part of a text."""
    tokens: list[Token] = []
    place = _skip(text, start)
    while place < end:
        match = TOKEN.match(text, place)
        if match is None:
            refuse("a name, a number, a string or a symbol of the grammar", text[place], place, of_sign(text, place))
        tokens.append(Token(cast("TokenKind", match.lastgroup), match.group(), place))
        place = _skip(text, match.end())
    return tokens


class _Parser:
    """Reads tokens from left to right; one method per rule of the grammar."""

    def __init__(self, text: str, names: Mapping[str, str]) -> None:
        self.text = text
        self.names = names
        self.tokens = [*_words(text, 0, len(text)), Token("end", "", len(text))]
        self.place = 0
        self.open = 0

    def whole(self) -> Query:
        query = self.query()
        if self.next.kind != "end":
            self.refuse("nothing more", "Join queries with stack(..., ...).")
        return query

    @property
    def next(self) -> Token:
        return self.tokens[self.place]

    def take(self) -> Token:
        token = self.next
        self.place += 1
        return token

    def refuse(self, expected: str, remedy: str = QUERY_EXAMPLE) -> NoReturn:
        refuse(expected, self.next.text, self.next.position, remedy)

    def at(self, symbol: str) -> bool:
        return self.next.kind == "symbol" and self.next.text == symbol

    def expect(self, symbol: str, remedy: str = QUERY_EXAMPLE) -> None:
        if not self.at(symbol):
            named = self.named(self.place - 1)
            self.refuse(repr(symbol), backticks(named) if " " in named or "-" in named else remedy)
        self.place += 1

    def named(self, place: int) -> str:
        """The words and numbers from the name at `place` on, which may have been meant as one name."""
        if self.tokens[place].kind != "name":
            return ""
        last = place
        while self.tokens[last + 1].kind in ("name", "number"):
            last += 1
        return self.text[self.tokens[place].position : self.tokens[last].position + len(self.tokens[last].text)]

    def enter(self) -> None:
        self.open += 1
        if self.open > MOST_OPEN:
            self.refuse(f"at most {MOST_OPEN} levels of nesting", "Write it flatter.")

    def many(self, item: Callable[[], Item], sign: str = ",") -> list[Item]:
        """Items between commas or another sign, at least one."""
        items = [item()]
        while self.at(sign):
            self.place += 1
            items.append(item())
        return items

    def query(self) -> Query:
        rules: dict[str, Callable[[], Query]] = {
            "count": lambda: count(self.condition()),
            "proportion": lambda: proportion(self.condition()),
            "share": lambda: proportion(self.condition()),
            "total": lambda: total(self.column()),
            "sum": lambda: total(self.column()),
            "mean": lambda: mean(self.column()),
            "histogram": lambda: histogram(self.column(), self.edges()),
            "crosstab": self.crosstab,
            "variance": lambda: variance(self.column()),
            "std": lambda: std(self.column()),
            "covariance": self.covariance,
            "quantile": self.quantile,
            "median": lambda: Quantile(column=self.column(), shares=(MEDIAN,), edges=self.edges()),
            "linear": lambda: linear(self.weights()),
            "moments": lambda: moments(self.many(self.column)),
            "stack": lambda: Stack(parts=tuple(self.many(self.query))),
        }
        if self.next.kind == "name" and self.next.text == "custom":
            self.refuse("a built-in query", "A custom query is a Python function and has no text: build it in Python.")
        if self.next.kind != "name" or self.next.text not in rules:
            follows = self.tokens[self.place + 1].text if self.next.kind == "name" else ""
            remedy = of_query(self.next.text, follows, rules, OPERATORS)
            self.refuse(f"one of the queries {', '.join(name for name in rules if name not in ALIASES)}", remedy)
        name = self.take().text
        self.enter()
        self.expect("(")
        query = rules[name]()
        self.expect(")", of_more(name) if self.at(",") else OPEN_BRACKET if self.at("[") else QUERY_EXAMPLE)
        self.open -= 1
        if self.at("-"):
            self.place += 1
            return Difference(parts=cast("tuple[Count, Count]", (query, self.query())))
        return self.grouped(query) if self.next.kind == "name" and self.next.text == "by" else query

    def grouped(self, query: Query) -> Query:
        """Counts by groups; a comma goes on with the groups unless a query follows."""
        if not isinstance(query, Count):
            self.refuse("the end of the query", of_groups(str(query).partition("(")[0]))
        self.place += 1
        axes = [self.axis()]
        while self.at(",") and self.tokens[self.place + 2].text != "(":
            self.place += 1
            axes.append(self.axis())
        return CountBy(predicate=query.predicate, axes=tuple(axes))

    def axis(self) -> CrossedColumn:
        """A column, and the list behind it where there is one: of numbers it is no entry of a vector here."""
        token = self.next
        name, _, inside = token.text.partition("[")
        if token.kind == "entry" and LIST.fullmatch(inside) and self.tokens[self.place + 1].text != "[":
            start, end = token.position + len(name), token.position + len(token.text)
            alone = Token("name", name, token.position)
            self.tokens[self.place : self.place + 1] = [alone, *_words(self.text, start, end)]
        return self.column(), self.constants() if self.at("[") else None

    def crosstab(self) -> Query:
        axes = self.many(self.axis)
        if not self.at(")"):
            self.refuse("',' or ')'", "Separate the columns with commas: crosstab(sex, age [17, 45, 90]).")
        return Crosstab(axes=tuple(axes))

    def covariance(self) -> Query:
        first = self.column()
        self.expect(",", "A covariance is of two columns: covariance(height, weight).")
        return covariance(first, self.column())

    def quantile(self) -> Query:
        column = self.column()
        self.expect(",", "Write the shares, then the edges of bins: quantile(age, [0.25, 0.5], [0, 18, 65, 120]).")
        shares = self.constants()
        return Quantile(column=column, shares=cast("tuple[float, ...]", shares), edges=self.edges())

    def edges(self) -> tuple[Constant, ...] | None:
        """A list after a comma, if there is one."""
        if not self.at(","):
            return None
        self.place += 1
        return self.constants()

    def weights(self) -> dict[str, Fraction]:
        found: dict[str, Fraction] = {}
        for (token, name), weight in self.many(self.weighted):
            if name in found:
                refuse("each column once", token.text, token.position, "Add the weights up.")
            found[name] = weight
        return found

    def weighted(self) -> tuple[tuple[Token, str], Fraction]:
        token = self.next, self.column()
        self.expect(":", "Give every column a weight, as in linear(height: 0.5, sat: 2).")
        weight = fraction(self.number())
        if not self.at("/"):
            return token, weight
        self.place += 1
        divisor = self.next
        under = fraction(self.number())
        if under == 0:
            refuse("a divisor other than 0", divisor.text, divisor.position)
        return token, weight / under

    def condition(self) -> Predicate:
        parts = self.many(self.both, "|")
        return parts[0] if len(parts) == 1 else Or(tuple(parts))

    def both(self) -> Predicate:
        parts = self.many(self.negated, "&")
        return parts[0] if len(parts) == 1 else And(tuple(parts))

    def negated(self) -> Predicate:
        if not self.at("~") and not self.at("("):
            return self.comparison()
        self.enter()
        symbol = self.take().text
        if symbol == "~":
            condition: Predicate = Not(self.negated())
        else:
            condition = self.condition()
            self.expect(")")
        self.open -= 1
        return condition

    def comparison(self) -> Predicate:
        start, column = self.place, self.column()
        operator = self.next.text
        if operator not in (*OPERATORS, "in"):
            remedy = of_comparison(column, operator, self.named(start) or column)
            self.refuse(f"one of {' '.join(OPERATORS)} or in, after a column", remedy)
        self.place += 1
        if operator == "in":
            return IsIn(column, self.constants())
        value = self.constant()
        after = self.next.text
        if after in OPERATORS:
            self.refuse("the end of the comparison", "Write a chain as two conditions: a > 1 & a < 2.")
        if self.next.kind in ("name", "quoted", "number"):
            self.refuse("the end of the comparison", JOIN)
        return Comparison(column, operator, value)

    def constants(self) -> tuple[Constant, ...]:
        self.expect("[", "Write a list in brackets, as in [1, 2].")
        values = self.many(self.constant)
        self.expect("]")
        return tuple(values)

    def constant(self) -> Constant:
        token = self.next
        if token.kind == "name" and token.text in ("true", "false"):
            return self.take().text == "true"
        if token.kind == "string":
            return unescaped(self.take())
        if token.kind == "date":
            return self.day()
        if token.kind == "number":
            return self.number()
        return self.refuse("a number, a string in quotes, true or false", of_constant(token.text))

    def day(self) -> int:
        token = self.take()
        try:
            return (date.fromisoformat(token.text) - date(1970, 1, 1)).days
        except ValueError:
            refuse("a day that there is, as 1990-12-31", token.text, token.position)

    def number(self) -> int | float:
        if self.next.kind != "number":
            self.refuse("a number")
        token = self.take()
        try:
            value = int(token.text) if token.text.lstrip("-").isdecimal() else float(token.text)
        except ValueError:  # a whole number of more digits than Python converts
            refuse("a number of fewer digits", token.text, token.position)
        if value in (float("inf"), float("-inf")):
            refuse("a number that fits into a double", token.text, token.position)
        return value

    def column(self) -> str:
        token = self.next
        if token.kind not in ("entry", "name", "quoted") or token.text == "in":
            self.refuse("the name of a column", of_column(token.text))
        self.place += 1
        return self.names.get(name_of(token), name_of(token))
