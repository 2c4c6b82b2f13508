"""What was probably meant by a query's text that is outside the grammar: the last sentence of a refusal."""

from __future__ import annotations

import re
from collections.abc import Iterable

from bnpriv.checks import closest
from bnpriv.render.text import visible

QUERY_EXAMPLE = 'Write for example count(height > 170 & gender == "f").'
JOIN = "Join conditions with & and |, negate with ~, and write numbers without separators."
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
