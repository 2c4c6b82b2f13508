"""Constructors: exact weights, the outputs they stand for, and what they refuse."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from bnpriv.core.columns import Categorical, Integer, Real
from bnpriv.core.queries.asked import count, histogram, linear, mean, moments, proportion, stack, total
from bnpriv.core.queries.base import Indicator, Power, Steps, normal_form
from bnpriv.core.queries.builtin import custom
from bnpriv.core.queries.predicates import And, Col, Comparison, IsIn, Not, Or, col
from bnpriv.core.schema import Schema
from bnpriv.errors import QueryError, SchemaError

SCHEMA = Schema(
    records=10,
    columns={
        "height": Real(120, 220),
        "age": Integer(0, 120),
        "gender": Categorical(["f", "m"]),
        "smokes": Categorical([True, False]),
        "grade": Categorical([3, 1, 2]),
    },
)
TALL = col("height") > 170


def test_outputs() -> None:
    (counted,) = count(TALL).outputs(SCHEMA)
    assert (counted.terms, counted.averaged) == (((Fraction(1), Indicator(TALL)),), False)
    (share,) = proportion(TALL).outputs(SCHEMA)
    assert (share.terms, share.averaged) == (counted.terms, True)
    (summed,) = total("height").outputs(SCHEMA)
    assert (summed.terms, summed.averaged) == (((Fraction(1), Power("height")),), False)
    (average,) = mean("height").outputs(SCHEMA)
    assert (average.terms, average.averaged) == (summed.terms, True)
    both = moments(["height", "age"]).outputs(SCHEMA)
    assert [output.terms[0][1] for output in both] == [
        Power("height"),
        Power("height", 2),
        Power("age"),
        Power("age", 2),
    ]
    assert all(output.averaged for output in both)
    assert [output.label for output in both][:2] == ["mean of height", "mean square of height"]


def test_weights_are_exact() -> None:
    query = linear({"height": 0.1, "age": Fraction(1, 3)})
    assert query.weights == (("height", Fraction(1, 10)), ("age", Fraction(1, 3)))
    assert linear({"age": Fraction(0.1)}).weights[0][1] == Fraction(0.1)
    assert linear({"age": np.float32(0.1)}).weights[0][1] == Fraction("0.10000000149011612")  # pyright: ignore[reportArgumentType]
    whole = linear({"age": np.int64(3)}).weights[0][1]  # pyright: ignore[reportArgumentType]
    assert type(whole.numerator) is int
    (output,) = query.outputs(SCHEMA)
    assert (output.terms, output.averaged) == (
        ((Fraction(1, 10), Power("height")), (Fraction(1, 3), Power("age"))),
        True,
    )


def test_columns() -> None:
    assert count(TALL & (col("age") < 3)).columns == {"height", "age"}
    assert stack(total("height"), linear({"age": 1}), moments(["age"])).columns == {"height", "age"}
    assert histogram("gender").columns == {"gender"}


def test_histogram_of_numbers_follows_numpy() -> None:
    edges = [120, 150.5, 180, 220]
    outputs = histogram("height", np.array(edges)).outputs(SCHEMA)
    rng = np.random.default_rng(0)
    data = np.concatenate([edges, rng.uniform(110, 230, 200), np.nextafter(edges, -np.inf)])
    found = []
    for output in outputs:
        ((weight, term),) = output.terms
        assert isinstance(term, Indicator)
        assert isinstance(term.predicate, And)
        low, high = term.predicate.parts
        assert isinstance(low, Comparison)
        assert isinstance(high, Comparison)
        assert (weight, low.operator) == (1, ">=")
        below = data <= high.value if high.operator == "<=" else data < high.value
        found.append(int(((data >= low.value) & below).sum()))
    assert found == np.histogram(data, edges)[0].tolist()


def test_histogram_of_categories() -> None:
    every = histogram("grade").outputs(SCHEMA)
    assert [output.label for output in every] == ["grade == 3", "grade == 1", "grade == 2"]
    assert [output.label for output in histogram("gender", ["m"]).outputs(SCHEMA)] == ['gender == "m"']
    assert len(histogram("smokes", [True]).outputs(SCHEMA)) == 1
    assert len(histogram("grade", [2, 1]).outputs(SCHEMA)) == 2
    with pytest.raises(QueryError, match="compared with its categories"):
        normal_form(histogram("gender", ["x"]), SCHEMA)
    with pytest.raises(QueryError, match="compared with its categories"):
        normal_form(histogram("grade", [True, False]), SCHEMA)


def test_stack_flattens() -> None:
    parts = (total("height"), mean("age"), count(TALL))
    assert stack(stack(parts[0], stack(parts[1])), parts[2]).parts == parts
    assert stack(*parts) == stack(stack(*parts))
    assert stack(*parts).dimension(SCHEMA) == 3
    assert hash(stack(*parts)) == hash(stack(*parts))


REFUSED: list[Callable[[], object]] = [
    lambda: count("height > 170"),
    lambda: count(True),
    lambda: count(None),
    lambda: count(col("height")),
    lambda: proportion("height > 170"),
    lambda: total(""),
    lambda: total(3),
    lambda: total(None),
    lambda: mean(["height"]),
    lambda: mean("  "),
    lambda: histogram("height", []),
    lambda: histogram("height", 10),
    lambda: histogram("height", "abc"),
    lambda: histogram("height", [1, math.nan]),
    lambda: histogram("height", [1, math.inf]),
    lambda: histogram("height", [1.5, 1]),
    lambda: histogram("height", [1, 1.0, 2]),
    lambda: histogram("height", [1, "a"]),
    lambda: histogram("height", [1, True]),
    lambda: histogram("height", [1, None]),
    lambda: histogram("", [1, 2]),
    lambda: linear({}),
    lambda: linear({"height": 0}),
    lambda: linear({"height": math.nan}),
    lambda: linear({"height": -math.inf}),
    lambda: linear({"height": True}),
    lambda: linear({"height": "1"}),
    lambda: linear({"height": 10**400}),
    lambda: linear({"height": Fraction(1, 2**5000)}),
    lambda: linear({"": 1}),
    lambda: linear({3: 1}),
    lambda: linear(["height"]),
    lambda: linear("height"),
    lambda: moments([]),
    lambda: moments("height"),
    lambda: moments(["height", "height"]),
    lambda: moments([1]),
    lambda: moments(None),
    lambda: stack(),
    lambda: stack(TALL),
    lambda: stack("total height"),
    lambda: stack([total("height")]),
    lambda: stack(total("height"), custom(len, columns=["height"], sensitivity=1)),
]


@pytest.mark.parametrize("make", REFUSED)
def test_refusals(make: Callable[[], object]) -> None:
    with pytest.raises(QueryError) as caught:
        make()
    assert caught.value.required
    assert caught.value.found
    assert caught.value.remedy


@pytest.mark.parametrize(
    ("query", "error"),
    [
        (histogram("height"), QueryError),
        (histogram("height", [150]), QueryError),
        (histogram("height", [220, 120]), QueryError),
        (histogram("age", ["f", "m"]), QueryError),
        (histogram("age", [True, False]), QueryError),
        (total("gender"), QueryError),
        (moments(["gender"]), QueryError),
        (linear({"gender": 1}), QueryError),
        (count(col("gender") > "f"), QueryError),
        (count(col("gender") == 1), QueryError),
        (count(col("smokes") == 1), QueryError),
        (count(col("grade") == 1.0), QueryError),
        (count(col("height") == "tall"), QueryError),
        (count(col("height") > True), QueryError),
        (count(col("age") < 2**53 + 1), QueryError),
        (count(col("income") > 1), SchemaError),
        (mean("income"), SchemaError),
        (histogram("income"), SchemaError),
    ],
)
def test_refusals_once_the_schema_is_known(query: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        normal_form(query, SCHEMA)


# ---------------------------------------------------------------------------------------------------------------------
# Predicates and the normal form, as far as constructors rest on them.


@pytest.mark.unhurried
def test_predicates_are_kept_plain_and_flat() -> None:
    a, b, c = (col(name) > 1 for name in "abc")
    assert (a & b) & c == a & (b & c) == And((a, b, c))
    assert (a | b) | c == a | (b | c) == Or((a, b, c))
    assert And((a, Or((b, c)))) != Or((a, And((b, c))))
    many = a
    for place in range(3000):
        many = many | (col("a") == place)
    assert len(many.comparisons()) == 3001
    assert str(col("a") == np.float64(0.5)) == "a == 0.5"
    assert str(col("a").isin(np.array([1, 2]))) == "a in [1, 2]"
    assert str(col("a") == np.str_("x")) == 'a == "x"'
    assert str(Comparison("a", "<", Fraction(1, 2))) == "a < 0.5"  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    "make",
    [
        lambda: col("a") > math.nan,
        lambda: col("a") > math.inf,
        lambda: col("a") > None,
        lambda: col("a") == [1],
        lambda: col("a") > 10**400,
        lambda: col(""),
        lambda: col(3),
        lambda: col("a").isin([]),
        lambda: col("a").isin("fm"),
        lambda: col("a").isin([1, math.nan]),
        lambda: 1 < col("a") < 2,
        lambda: (col("a") > 1) and (col("b") > 2),
        lambda: (col("a") > 1) & True,
        lambda: And((col("a") > 1,)),
        lambda: Or(()),
        lambda: And((col("a") > 1, "b")),
        lambda: Not(col("a")),
        lambda: Comparison("a", "=>", 1),
    ],
)
def test_refused_predicates(make: Callable[[], object]) -> None:
    with pytest.raises(QueryError):
        make()


def test_col_makes_every_comparison() -> None:
    a = Col("a")
    made = [a < 1, a <= 1, a > 1, a >= 1, a == 1, a != 1]
    assert [str(comparison) for comparison in made] == ["a < 1", "a <= 1", "a > 1", "a >= 1", "a == 1", "a != 1"]
    assert a.isin([1, 2]) == IsIn("a", (1, 2))


@pytest.mark.parametrize(
    "column", [Real(120, 220), Real(-0.3, 0.9, steps=7), Real(0, 1e-300, steps=3), Real(-1e30, 1e30), Integer(-2, 3)]
)
def test_steps_reach_from_zero_to_all(column: Real | Integer) -> None:
    assert column.step(column.lower) == 0
    assert column.step(column.upper) == column.steps
    values = np.linspace(column.lower, column.upper, 501)
    found = [column.step(float(value)) for value in values]
    assert found == sorted(found)
    exact = [(Fraction(float(value)) - Fraction(column.lower)) / column.grid for value in values]
    assert all(
        abs(step - place) <= Fraction(1, 2) + Fraction(1, 2**20) for step, place in zip(found, exact, strict=True)
    )


def test_normal_form_answers_exactly() -> None:
    schema = Schema(records=3, columns={"x": Real(-0.3, 0.9, steps=7), "y": Integer(1, 4)})
    query = stack(total("x"), moments(["x"]), linear({"x": 0.1, "y": Fraction(1, 3)}), count(col("y") > 2))
    form = normal_form(query, schema)
    steps, ys = [0, 3, 7], [1, 3, 4]
    sums = {Steps("x"): sum(steps), Steps("x", 2): sum(k * k for k in steps), Steps("y"): sum(y - 1 for y in ys)}
    found = form.answer([sums.get(term, 2) if isinstance(term, Steps) else 2 for term in form.terms])
    xs = [Fraction("-0.3") + k * Fraction("1.2") / 7 for k in steps]
    assert found == (
        sum(xs),
        sum(xs) / 3,
        sum(x * x for x in xs) / 3,
        Fraction(1, 10) * sum(xs) / 3 + Fraction(sum(ys), 9),
        2,
    )


# ---------------------------------------------------------------------------------------------------------------------
# Custom queries.


def test_custom() -> None:
    query = custom(len, columns=["b", "a"], sensitivity={"a": 1, "b": 2}, dimension=3, span=(0, 1), name="mine")
    assert (str(query), query.columns, query.dimension(SCHEMA)) == ("custom(mine)", {"a", "b"}, 3)
    assert "declared by the caller" in query.assumptions[0]
    again = custom(len, columns=["a", "b"], sensitivity={"b": 2, "a": 1}, dimension=3, span=(0, 1), name="mine")
    assert again == query
    assert hash(again) == hash(query)
    with pytest.raises(QueryError, match="built-in terms"):
        query.outputs(SCHEMA)


@pytest.mark.parametrize(
    "given",
    [
        {"f": "len"},
        {"columns": []},
        {"columns": ["a", "a"]},
        {"columns": [1]},
        {"columns": None},
        {"sensitivity": 0},
        {"sensitivity": -1},
        {"sensitivity": math.nan},
        {"sensitivity": math.inf},
        {"sensitivity": True},
        {"sensitivity": "1"},
        {"sensitivity": None},
        {"sensitivity": {}},
        {"sensitivity": {"a": 1}},
        {"sensitivity": {"a": 1, "b": 0}},
        {"sensitivity": {"a": 1, "b": math.nan}},
        {"sensitivity": {"a": 1, "b": 1, "c": 1}},
        {"sensitivity": {"a": 1, 3: 1}},
        {"dimension": 0},
        {"dimension": 1.0},
        {"dimension": True},
        {"dimension": 10**5000},
        {"span": 3},
        {"span": (1,)},
        {"span": (2, 1)},
        {"span": (1, 1)},
        {"span": (0, math.inf)},
        {"span": ("a", "b")},
        {"name": ""},
        {"name": 3},
    ],
)
def test_refused_custom_queries(given: dict[str, Any]) -> None:
    asked: dict[str, Any] = {"f": len, "columns": ["a", "b"], "sensitivity": 1.0} | given
    with pytest.raises(QueryError):
        custom(asked.pop("f"), **asked)
