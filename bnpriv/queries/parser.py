"""The closed grammar of queries: a tokenizer and a recursive descent, so that text from a file never runs as code.

::

    query      = "count" "(" condition ")" [ "by" axis { "," axis } ]
               | ( "proportion" | "share" ) "(" condition ")"
               | ( "total" | "sum" ) "(" column ")" | "mean" "(" column ")"
               | "histogram" "(" column [ "," list ] ")"
               | "crosstab" "(" axis "," axis { "," axis } ")"
               | "linear" "(" column ":" weight { "," column ":" weight } ")"
               | ( "variance" | "std" ) "(" column ")"
               | "covariance" "(" column "," column ")"
               | "quantile" "(" column "," list [ "," list ] ")" | "median" "(" column [ "," list ] ")"
               | "moments" "(" column { "," column } ")"
               | "stack" "(" query { "," query } ")"
    axis       = column [ list ]
    condition  = both { "|" both }
    both       = negated { "&" negated }
    negated    = "~" negated | "(" condition ")" | comparison
    comparison = column operator constant | column "in" list
    operator   = "<" | "<=" | ">" | ">=" | "==" | "!="
    list       = "[" constant { "," constant } "]"
    constant   = number | string | "true" | "false"
    weight     = number [ "/" number ]
    column     = identifier | "`" any characters, a backtick doubled "`"
    string     = characters between double or single quotes; a backslash before a backslash or a quote
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import NoReturn, TypeVar, cast

from bnpriv.checks import type_text
from bnpriv.errors import QueryError
from bnpriv.queries import hints
from bnpriv.queries.base import Query
from bnpriv.queries.builtin import Count, Stack
from bnpriv.queries.constructors import count, histogram, linear, mean, moments, proportion, total
from bnpriv.queries.crossed import CountBy, CrossedColumn, Crosstab
from bnpriv.queries.hints import JOIN, QUERY_EXAMPLE
from bnpriv.queries.predicates import MOST_NESTED, OPERATORS, And, Comparison, Constant, IsIn, Not, Or, Predicate
from bnpriv.queries.quantiles import MEDIAN, Quantile
from bnpriv.queries.spread import covariance, std, variance
from bnpriv.queries.tokens import Token, fraction, name_of, refuse, tokens_of, unescaped

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
    parser = _Parser(text, tokens_of(text))
    query = parser.query()
    if parser.next.kind != "end":
        parser.refuse("nothing more", "Join queries with stack(..., ...).")
    return query


class _Parser:
    """Reads tokens from left to right; one method per rule of the grammar."""

    def __init__(self, text: str, tokens: list[Token]) -> None:
        self.text = text
        self.tokens = tokens
        self.place = 0
        self.open = 0

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
            self.refuse(repr(symbol), hints.backticks(named) if " " in named or "-" in named else remedy)
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
            remedy = hints.of_query(self.next.text, follows, rules, OPERATORS)
            self.refuse(f"one of the queries {', '.join(name for name in rules if name not in hints.ALIASES)}", remedy)
        name = self.take().text
        self.enter()
        self.expect("(")
        query = rules[name]()
        self.expect(")", hints.of_more(name) if self.at(",") else QUERY_EXAMPLE)
        self.open -= 1
        return self.grouped(query) if self.next.kind == "name" and self.next.text == "by" else query

    def grouped(self, query: Query) -> Query:
        """Counts by groups; a comma goes on with the groups unless a query follows."""
        if not isinstance(query, Count):
            self.refuse("the end of the query", hints.of_groups(str(query).partition("(")[0]))
        self.place += 1
        axes = [self.axis()]
        while self.at(",") and self.tokens[self.place + 2].text != "(":
            self.place += 1
            axes.append(self.axis())
        return CountBy(predicate=query.predicate, axes=tuple(axes))

    def axis(self) -> CrossedColumn:
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
        for token, weight in self.many(self.weighted):
            name = name_of(token)
            if name in found:
                refuse("each column once", token.text, token.position, "Add the weights up.")
            found[name] = weight
        return found

    def weighted(self) -> tuple[Token, Fraction]:
        token = self.next
        self.column()
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
            remedy = hints.of_comparison(column, operator, self.named(start) or column)
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
        if token.kind == "number":
            return self.number()
        return self.refuse("a number, a string in quotes, true or false", hints.of_constant(token.text))

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
        if token.kind not in ("name", "quoted") or token.text == "in":
            self.refuse("the name of a column", hints.of_column(token.text))
        self.place += 1
        return name_of(token)
