"""What a beginner writes instead of a query, and the sentence that helps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.errors import QueryError
from bnpriv.io.query_text import parse_query
from tests.later import Later

pd = Later("pandas")

ANY = cast(Any, bp)
a, b = cast(Any, bp.col("a")), cast(Any, bp.col("b"))

PARENTHESES = 'Put every comparison into parentheses: (col("a") > 1) & (col("b") < 2).'
COMBINED = 'Write (col("a") > 1) & (col("a") < 2), ~(col("a") > 1), or col("a").isin([1, 2]).'
ALONE = "found col('a'). Write 'a' alone: col is for conditions."

PYTHON: dict[str, tuple[Callable[[], object], str]] = {
    "& binds tighter": (lambda: a > 1 & b < 2, f"found an int. {PARENTHESES}"),
    "| binds tighter": (lambda: a > 1 | (b < 2), f"found an int. {PARENTHESES}"),
    "& behind a text": (lambda: a == "f" & (b < 2), f"found a str. {PARENTHESES}"),
    "a column beside a condition": (lambda: (a > 1) & b, f"found col('b') without a comparison. {PARENTHESES}"),
    "a column before a condition": (lambda: b | (a > 1), f"found col('b') without a comparison. {PARENTHESES}"),
    "true beside a condition": (lambda: (a > 1) | True, f"found a bool. {PARENTHESES}"),
    "true before a condition": (lambda: True | (a > 1), f"found a bool. {PARENTHESES}"),
    "and": (lambda: (a > 1) and (b < 2), COMBINED),
    "not": (lambda: not (a > 1), COMBINED),
    "a chain": (lambda: 1 < a < 2, COMBINED),
    "in": (lambda: a in [1, 2], COMBINED),
    "a column is no truth": (lambda: a and b, "a column must be compared to be a condition; found col('a') alone."),
    "no column is negated": (lambda: ~a, "Write for example col('a') == 1."),
    "arithmetic": (lambda: a + 1 > 2, 'Weigh columns with linear({"height": 0.5, "sat": 2}), or compute a column'),
    "arithmetic of two": (lambda: 2 * a - b > 2, "found arithmetic with col('a')."),
    "two columns": (lambda: a > b, "found a Col. Two columns are not compared: add a column to the table first"),
    "missing": (lambda: a == None, "found nothing. A missing value counts as the `missing` that its column"),  # noqa: E711
    "a list": (lambda: a == [1, 2], "found a list. Compare with several values by isin([...])."),
    "an array": (lambda: a == np.array([1, 2]), "found a ndarray. Compare with several values by isin([...])."),
    "isin of a text": (lambda: a.isin("f"), "found a str. List the values that count: isin([1, 2])."),
    "isin of a number": (lambda: a.isin(3), "found an int. List the values that count: isin([1, 2])."),
    "isin of nothing": (lambda: a.isin([]), "found an empty list. List the values that count: isin([1, 2])."),
    "mean of col": (lambda: bp.mean(a), ALONE),
    "total of col": (lambda: bp.total(a), ALONE),
    "histogram of col": (lambda: bp.histogram(a, [1, 2]), ALONE),
    "moments of col": (lambda: bp.moments([a]), ALONE),
    "linear of col": (lambda: bp.linear({a: 2}), ALONE),
    "col of col": (lambda: bp.col(a), ALONE),
    "mean of a condition": (lambda: bp.mean(cast(Any, a > 1)), "Count the records for which it holds, with count or"),
    "count of a column": (
        lambda: bp.count(a),
        "found a Col. Compare the column: count(col('a')",
    ),
    "proportion of a text": (
        lambda: ANY.proportion("a > 1"),
        'Write proportion(col("height") > 170), or the whole query as text: "proportion(height > 170)".',
    ),
    "count of data": (lambda: ANY.count(pd.Series([1]) > 0), "found a Series. Write count(col("),
    "count of a function": (
        lambda: ANY.count(lambda row: row.a > 1),
        "is about the columns of the schema, and reads no",
    ),
}


@pytest.mark.parametrize("case", PYTHON)
def test_what_was_meant_in_python(case: str) -> None:
    call, says = PYTHON[case]
    with pytest.raises(QueryError) as refused:
        call()
    assert says in str(refused.value)


def test_conditions_still_work() -> None:
    both = ((a > 1) & (b < 2)) | ~a.isin([3])
    assert str(both) == "((a > 1) & (b < 2)) | (~(a in [3]))"


JOIN = "Join conditions with & and |, negate with ~, and write numbers without separators."
SIGNS = "A name with blanks or other signs stands between backticks: "

TEXTS = {
    "count(body-height > 180)": f"{SIGNS}`body-height`.",
    "count(body height > 180)": f"{SIGNS}`body height`.",
    "count(body -5 > 180)": f"{SIGNS}`body -5`.",
    "count(height-5 > 180)": f"{SIGNS}`height-5`.",
    "mean(body height)": f"{SIGNS}`body height`.",
    "mean(body-height)": f"{SIGNS}`body-height`.",
    "moments(sat, body height in cm)": f"{SIGNS}`body height in cm`.",
    "mean(gr\u00f6\u00dfe)": f"{SIGNS}`gr\u00f6\u00dfe`.",
    "count(a.b > 1)": f"{SIGNS}`a.b`.",
    "mean('body height')": f"{SIGNS}`body height`.",
    'mean("height")': "Write the column without quotes: height.",
    "mean(9lives)": "Put a name that is no identifier between backticks.",
    "count(180 < height)": "Write the column first, as in height > 180.",
    "count(height > 180 & & sat > 2)": "found '&'. Name a column here, as in height > 180.",
    "count(height > 180 and sat > 3)": JOIN,
    "count(height > 180, sat > 3)": JOIN,
    "count(height > 180 sat > 3)": JOIN,
    "count(height > 1,80)": JOIN,
    "count(height > 1_000)": JOIN,
    "count(not height > 180)": JOIN,
    "count(height not in [1])": JOIN,
    "count(height between 150 and 180)": "A range is two conditions, height >= 150 & height <= 180",
    "count(gender is null)": "a missing value counts as its column declares.",
    "count(height = 180)": "Compare with ==",
    "linear(height = 2)": "a weight stands behind a colon.",
    "linear(height)": "Give every column a weight, as in linear(height: 0.5, sat: 2).",
    "count(gender == f)": 'Put strings in quotes: "f".',
    "count(gender == True)": "Write true.",
    "count(height in (1, 2))": "Write a list in brackets, as in [1, 2].",
    "histogram(height, 10)": "Write a list in brackets, as in [1, 2].",
    "histogram(height, [1; 2])": "Separate with commas.",
    "count(height \u2265 3)": "Write >=.",
    "count(gender == \u201cf\u201d)": 'Write straight quotes, "f".',
    "count(*)": "Count the records that meet a condition; how many there are in all is public.",
    "count(height > 180) + count(sat > 2)": "There is no arithmetic: weigh columns with linear(height: 0.5, sat: 2).",
    "count(col('height') > 180)": 'A column stands by its name, without col("..."): height > 180.',
    "bp.mean(height)": "Write mean alone: the text is no Python.",
    "avg(height)": "Did you mean 'mean'?",
    "sum(height, sat)": "ask several in stack(sum(a), sum(b))",
    "hist(height)": "Did you mean 'histogram'?",
    "crosstab(height)": "Ask for the histogram of one column: histogram(height).",
    "crosstab(height [1, 2])": "histogram(height, [1, 2]).",
    "crosstab(sex age)": "Separate the columns with commas: crosstab(sex, age [17, 45, 90]).",
    "crosstab(age [1, 2] sex)": "Separate the columns with commas: crosstab(sex, age [17, 45, 90]).",
    "crosstab(sex, age, [1, 2])": "Edges stand right behind their column: age [17, 45, 90]",
    "crosstab(sex, sex)": "List each column once.",
    "crosstab()": "Name a column here",
    "mean(height) by ward": "read off the counts of crosstab(ward, height [120, 170, 220]).",
    "total(height) by ward": "The total within groups can be read off",
    "proportion(height > 3) by ward": "ask both counts, stack(count(...) by ward, histogram(ward))",
    "share(height > 3) by ward": "A share within groups divides by counts that noise may bring to 0",
    "histogram(ward) by sex": "Name both columns in one question: crosstab(ward, ",
    "moments(ward) by sex": "Only counts are asked by groups: count(height > 180) by ward.",
    "count(height > 3) by": "Name a column here",
    "count(height > 3) by ward by sex": "Join queries with stack(..., ...).",
    "propotion(height > 3)": "Did you mean 'proportion'?",
    "COUNT(height > 180)": "Did you mean 'count'?",
    "max(height)": "Single records decide it. Ask for a quantile near the end",
    "var(height)": "Did you mean 'variance'?",
    "percentile(height, [0.5])": "Did you mean 'quantile'?",
    "correlation(height, sat)": "divides by standard deviations that noise may bring to 0: ask the covariance",
    "covariance(height)": "A covariance is of two columns: covariance(height, weight).",
    "covariance(height, height)": "Ask for variance(height).",
    "cov(height, sat)": "Did you mean 'covariance'?",
    "std(height, sat)": "ask several in stack(std(a), std(b))",
    "quantile(height)": "Write the shares, then the edges of bins: quantile(age, [0.25, 0.5], [0, 18, 65, 120]).",
    "quantile(height, 0.5)": "Write a list in brackets",
    "median(height, 10)": "Write a list in brackets",
    "median(height) by ward": "Name both columns in one question: crosstab(ward",
    "std(height) by ward": "Only counts are asked by groups",
    "height > 180": "A condition alone is no query: count the records for which it holds.",
    "height": "Say what is asked of it, for example mean(height).",
}


@pytest.mark.parametrize("text", TEXTS)
def test_what_was_meant_in_a_text(text: str) -> None:
    with pytest.raises(QueryError) as refused:
        parse_query(text)
    assert TEXTS[text] in str(refused.value)


@pytest.mark.parametrize("text", ["mean(\x1b[31m)", "mean(a\u202eb)", "\x1b(", "count(a\x1b > 1)", "mean('\x1b[31m')"])
def test_a_hint_cannot_steer_a_terminal(text: str) -> None:
    with pytest.raises(QueryError) as refused:
        parse_query(text)
    assert str(refused.value).isprintable()


@pytest.mark.parametrize("text", ["mean(" + "a-" * 4000 + ")", "a" * 9000 + "(", "mean(" + "a " * 4000 + ")"])
def test_hints_are_short(text: str) -> None:
    with pytest.raises(QueryError) as refused:
        parse_query(text)
    assert len(str(refused.value)) < 400
