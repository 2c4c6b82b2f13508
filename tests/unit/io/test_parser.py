"""The grammar: what is printed is read back, and whatever is read, only QueryError comes out."""

from __future__ import annotations

import time
from fractions import Fraction

import pytest

from bnpriv.core.queries.asked import count, histogram, linear, mean, moments, proportion, stack, total
from bnpriv.core.queries.base import Query
from bnpriv.core.queries.builtin import custom
from bnpriv.core.queries.predicates import And, Not, Or, Predicate, col
from bnpriv.errors import QueryError
from bnpriv.io.query_text import MOST_CHARACTERS, parse_query
from tests.seeds import examples


@pytest.mark.parametrize("most", examples(100, slow=400))
def test_round_trip(most: int) -> None:
    from hypothesis import given, settings

    from tests.query_texts import QUERIES

    @given(QUERIES)
    @settings(derandomize=True, deadline=None, max_examples=most)
    def comes_back(query: Query) -> None:
        text = str(query)
        again = parse_query(text)
        assert again == query
        assert str(again) == text
        assert again.columns == query.columns

    comes_back()


def swallow(text: str) -> None:
    try:
        query = parse_query(text)
    except QueryError as error:
        assert error.remedy  # noqa: PT017 - any other exception fails the test
    else:
        printed = str(query)  # may be longer than what is read
        assert len(printed) > MOST_CHARACTERS or parse_query(printed) == query


@pytest.mark.parametrize("most", examples(400, slow=1500))
def test_only_query_errors_come_out_of_garbage(most: int) -> None:
    from hypothesis import given, settings

    from tests.query_texts import GARBAGE

    given(GARBAGE)(settings(derandomize=True, deadline=None, max_examples=most)(swallow))()


@pytest.mark.parametrize("most", examples(100, slow=400))
def test_only_query_errors_come_out_of_broken_queries(most: int) -> None:
    from hypothesis import given, settings, strategies as st

    from tests.query_texts import PIECES, QUERIES

    @given(QUERIES.map(str), st.data())
    @settings(derandomize=True, deadline=None, max_examples=most)
    def broken(text: str, data: st.DataObject) -> None:
        place = data.draw(st.integers(0, len(text)))
        cut = data.draw(st.integers(0, 3))
        swallow(text[:place] + data.draw(st.one_of(st.just(""), PIECES)) + text[place + cut :])

    broken()


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("count(height > 170 & sat >= 1200)", count((col("height") > 170) & (col("sat") >= 1200))),
        ("count(a>1|b>1&c>1)", count(Or((col("a") > 1, And((col("b") > 1, col("c") > 1)))))),
        ("count(~a>1&b>1)", count(And((Not(col("a") > 1), col("b") > 1)))),
        ("count(~(a>1&b>1))", count(Not(And((col("a") > 1, col("b") > 1))))),
        ("count(((a>1)))", count(col("a") > 1)),
        ("count(a > 1 & b > 2 & (c > 3 & d > 4))", count(And(tuple(col(x) > i + 1 for i, x in enumerate("abcd"))))),
        ("count(a in [1, 2.5, -3e-2])", count(col("a").isin([1, 2.5, -0.03]))),
        ("count(`in` in ['x', \"y\"])", count(col("in").isin(["x", "y"]))),
        (r"count(a == 'it\'s \\ \"')", count(col("a") == "it's \\ \"")),
        ("count(a == true | a != false)", count((col("a") == True) | (col("a") != False))),  # noqa: E712
        ("proportion(`a ``b`` c`<=-.5)", proportion(col("a `b` c") <= -0.5)),
        (" total ( height ) ", total("height")),
        ("mean(mean)", mean("mean")),
        ("histogram(height, [120, 150, 220])", histogram("height", [120, 150, 220])),
        ("histogram(gender)", histogram("gender")),
        ('histogram(gender, ["f", "m"])', histogram("gender", ["f", "m"])),
        ("linear(height: 0.5, sat: 2)", linear({"height": 0.5, "sat": 2})),
        ("linear(height: -1/3)", linear({"height": Fraction(-1, 3)})),
        ("moments(height, weight)", moments(["height", "weight"])),
        ("stack(total(a), stack(mean(b), count(c == 1)))", stack(total("a"), mean("b"), count(col("c") == 1))),
    ],
)
def test_grammar(text: str, query: Query) -> None:
    assert parse_query(text) == query


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "one of the queries .* at character 1; found the end"),
        ("mode(a)", "one of the queries .* at character 1; found 'mode'"),
        ("count", r"'\(' at character 6; found the end"),
        ("count()", "the name of a column at character 7"),
        ("count(a)", "one of < <= .* after a column at character 8"),
        ("count(a > )", r"a number, a string .* at character 11; found '\)'"),
        ("count(a > b)", "Put strings in quotes"),
        ("count(1 < a)", "the name of a column at character 7; found '1'"),
        ("count(a > 1 > 2)", "end of the comparison at character 13; found '>'. Write a chain as two conditions"),
        ("count(a > 1 and b > 2)", "end of the comparison at character 13; found 'and'. Join conditions with &"),
        ("count(a = 1)", "at character 9; found '='. Compare with =="),
        ('count(a == "x)', "at character 12; found '\"'. Close the string"),
        (r'count(a == "\n")', "a backslash or a quote after a backslash at character 13"),
        ("count(`a > 1)", "Close the backtick"),
        ("count(`` > 1)", "at character 7"),
        ("count(a > 1) total(b)", "nothing more at character 14; found 'total'"),
        ("count(a > 1e999)", "fits into a double at character 11"),
        ("count(a > " + "9" * 5000 + ")", "a number of fewer digits at character 11"),
        ("count(a > " + "9" * 400 + ")", "must be finite"),
        ("count(a in [])", "at character 13"),
        ("linear(a: 1, a: 2)", "each column once at character 14"),
        ("linear(a: 0)", "must not be 0"),
        ("linear(a: 1/0)", "a divisor other than 0 at character 13"),
        ("linear(a)", "':' at character 9"),
        ("moments(a, a)", "each column once|takes each column once"),
        ("histogram(a, [2.5, 1])", "edges must increase"),
        ("histogram(a, [1, 'x'])", "one type"),
        ("stack()", "one of the queries"),
        ("custom(mine)", "a Python function and has no text"),
        ("stack(custom(mine))", "a Python function and has no text"),
        ("count(" + "(" * 100 + "a > 1" + ")" * 100 + ")", "levels of nesting at character"),
        ("count(" + "~" * 9000 + "a > 1)", "levels of nesting at character"),
        ("stack(" * 1000, "levels of nesting at character"),
        ("count(a > 1)" + " " * 10_000, "at most 10,000 characters; found 10,012"),
        ("__import__('os').system('true')", r"at character 17; found '\.'"),
        ("__import__('os')", "one of the queries .* at character 1"),
        ("count(a.b > 1)", "at character 8; found '.'"),
    ],
)
def test_refusals_say_where_and_what(text: str, message: str) -> None:
    with pytest.raises(QueryError, match=message):
        parse_query(text)


@pytest.mark.parametrize("text", [None, 3, b"count(a > 1)", ["count(a > 1)"]])
def test_only_text_is_read(text: object) -> None:
    with pytest.raises(QueryError, match="must be a string"):
        parse_query(text)  # pyright: ignore[reportArgumentType]


def test_custom_queries_have_no_text() -> None:
    with pytest.raises(QueryError, match="no text"):
        parse_query(str(custom(len, columns=["a"], sensitivity=1)))


def test_deepest_conditions_that_can_be_built_are_read_back() -> None:
    condition: Predicate = col("a") > 1
    for place in range(10):
        condition = ~(condition & (col("b") > place) | (col("c") > place))
    query = count(condition)
    assert parse_query(str(query)) == query
    with pytest.raises(QueryError, match="nested 30 deep"):
        Not(condition)


@pytest.mark.parametrize(
    "text",
    [
        "count(" + " & ".join(f"a > {place}" for place in range(900)) + ")",
        '"' * 10_000,
        "\\" * 10_000,
        '"' + "\\" * 9_999,
        "`" * 9_999,
        "1" * 10_000,
        "-" * 10_000,
        "1e" * 5_000,
        " " * 9_999 + "x",
        "count(a in [" + "1," * 4_990,
        "(" * 10_000,
        "linear(" + ",".join(f"a{place}:1" for place in range(1_200)) + ")",
    ],
)
def test_long_text_is_read_or_refused_at_once(text: str) -> None:
    start = time.process_time()
    swallow(text)
    assert time.process_time() - start < 2


def test_the_refusal_of_an_odd_name_tells_of_backticks() -> None:
    with pytest.raises(QueryError, match="stands between backticks"):
        parse_query('count(blood-group == "A")')


def test_a_date_is_its_day() -> None:
    assert parse_query("count(born >= 1990-01-01)") == count(col("born") >= 7305)
    assert parse_query("count(born in [1969-12-31, 5])") == count(col("born").isin([-1, 5]))
    assert parse_query("histogram(born, [1970-01-01, 1980-01-01])") == histogram("born", [0, 3652])
    for wrong in ("count(born >= 1990-02-30)", "count(born >= 1990-1-1)", "count(born >= 01.01.1990)"):
        with pytest.raises(QueryError):
            parse_query(wrong)
