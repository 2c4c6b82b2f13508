"""Schemas: bounds are declared and sane, whatever is passed; missing values have a place; grids are exact."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from bnpriv.core.columns import Categorical, Integer, Real
from bnpriv.core.schema import Schema
from bnpriv.errors import SchemaError
from tests.later import Later

pd = Later("pandas")

HUGE = pytest.param(10**5000, id="huge")
BAD_NUMBERS: list[Any] = [math.nan, math.inf, -math.inf, None, True, "3", [1], 1j, 10**400]


@pytest.mark.parametrize("bad", BAD_NUMBERS)
@pytest.mark.parametrize("kind", [Real, Integer])
def test_bounds_that_are_no_numbers(kind: Any, bad: Any) -> None:
    for bounds in ((bad, 10), (0, bad), (bad, bad)):
        with pytest.raises(SchemaError) as caught:
            kind(*bounds)
        assert caught.value.remedy
    if bad is not None:
        with pytest.raises(SchemaError):
            kind(0, 10, missing=bad)


@pytest.mark.parametrize("kind", [Real, Integer])
def test_bounds_that_pandas_calls_missing(kind: Any) -> None:
    test_bounds_that_are_no_numbers(kind, pd.NA)
    test_bounds_that_are_no_numbers(kind, pd.NaT)


@pytest.mark.parametrize("kind", [Real, Integer])
@pytest.mark.parametrize("bounds", [(1, 1), (2, 1), (0, -0.0), (5, -5)])
def test_inverted_or_equal_bounds(kind: Any, bounds: tuple[float, float]) -> None:
    with pytest.raises(SchemaError, match="lower must be below upper"):
        kind(*bounds)


def test_huge_and_tiny_bounds() -> None:
    Real(-(2.0**100), 2.0**100)
    for bounds in ((0, 2.0**101), (-1e300, 0), (-1.7e308, 1.7e308)):
        with pytest.raises(SchemaError, match=r"at most 2\^100"):
            Real(*bounds)
    with pytest.raises(SchemaError, match="at least 2"):
        Real(0, 5e-324)
    with pytest.raises(SchemaError, match=r"2\^31 apart"):
        Integer(0, 2**31 + 1)
    with pytest.raises(SchemaError, match=r"and 2\^52 large"):
        Integer(2**53, 2**53 + 2)
    Integer(2**52 - 5, 2**52)


def test_missing_bounds_are_an_error() -> None:
    for kind in (Real, Integer):
        with pytest.raises(TypeError):
            kind()
        with pytest.raises(TypeError):
            kind(3)
    with pytest.raises(TypeError):
        Categorical()  # pyright: ignore[reportCallIssue]


def test_integer_bounds_are_whole() -> None:
    for bounds in ((0, 2.5), (-0.5, 3), (0.1, 0.2)):
        with pytest.raises(SchemaError, match="whole numbers"):
            Integer(*bounds)  # pyright: ignore[reportArgumentType]
    column = Integer(np.int64(-3), 4.0)  # pyright: ignore[reportArgumentType]
    assert (column.lower, column.upper, column.missing, column.steps, column.grid) == (-3, 4, 0, 7, 1)
    assert {type(column.lower), type(column.upper), type(column.missing)} == {int}
    assert Integer(-4, -1).missing == -3


@pytest.mark.parametrize("missing", [-1, 11, 2.5, math.nan])
def test_missing_value_of_an_integer(missing: Any) -> None:
    with pytest.raises(SchemaError, match="missing must"):
        Integer(0, 10, missing=missing)


def test_missing_value_of_a_real() -> None:
    assert Real(120, 220).missing == 170
    assert Real(120, 220, missing=120).missing == 120
    for missing in (119.9, math.nextafter(220, 300)):
        with pytest.raises(SchemaError, match="missing must lie between"):
            Real(120, 220, missing=missing)


@pytest.mark.parametrize("steps", [0, -1, 2.0, True, "8", None, math.nan, 2**31 + 1, HUGE])
def test_bad_grids(steps: Any) -> None:
    with pytest.raises(SchemaError):
        Real(0, 1, steps=steps)


def test_grids_are_exact() -> None:
    column = Real(-0.3, 0.9, steps=7)
    assert column.origin == Fraction("-0.3")
    assert column.origin + 7 * column.grid == Fraction("0.9")
    assert Real(0, 1).grid == Fraction(1, 2**20)
    whole = Real(2.0**60, 2.0**60 + 512, steps=2)  # the shortest decimals of these are 24 too high, and 500 apart
    assert (whole.origin, whole.grid) == (2**60, 256)


@pytest.mark.parametrize(
    "categories",
    [
        [],
        (),
        "fm",
        b"fm",
        None,
        5,
        {"f", "m"},
        {"f": 1, "m": 2},
        ["f", "f"],
        ["f", 1],
        [1, True],
        [1.5, 2.5],
        [None],
        ["f", None],
        [[1], [2]],
        np.array([]),
        np.array([1.5]),
    ],
)
def test_bad_categories(categories: Any) -> None:
    with pytest.raises(SchemaError) as caught:
        Categorical(categories)
    assert caught.value.remedy


@pytest.mark.parametrize(
    ("categories", "plain"),
    [
        (lambda: np.array(["f", "m"]), ("f", "m")),
        (lambda: np.array([2, 1]), (2, 1)),
        (lambda: pd.Series(["f", "m"]), ("f", "m")),
        (lambda: pd.Index([3, 4]), (3, 4)),
        (lambda: [True, False], (True, False)),
        (lambda: iter(["a"]), ("a",)),
    ],
)
def test_categories_are_kept_plain(categories: Callable[[], Any], plain: tuple[object, ...]) -> None:
    column = Categorical(categories())
    assert column.categories == plain
    assert [type(value) for value in column.categories] == [type(value) for value in plain]
    assert column.missing == plain[0]


@pytest.mark.parametrize("missing", ["x", "", 1, True, math.nan])
def test_missing_category(missing: Any) -> None:
    assert Categorical(["f", "m"], missing="m").missing == "m"
    with pytest.raises(SchemaError, match="missing must be one of the categories"):
        Categorical(["f", "m"], missing=missing)


def test_one_is_not_true() -> None:
    with pytest.raises(SchemaError, match="missing must"):
        Categorical([True, False], missing=1)
    with pytest.raises(SchemaError, match="missing must"):
        Categorical([1, 0], missing=True)


@pytest.mark.parametrize("records", [0, -1, 1.0, True, None, "10", math.nan, 2**62 + 1, HUGE])
def test_bad_records(records: Any) -> None:
    with pytest.raises(SchemaError):
        Schema(records=records, columns={"x": Real(0, 1)})


@pytest.mark.parametrize(
    "columns",
    [{}, None, 5, [("x", Real(0, 1))], {"x": None}, {"x": (0, 1)}, {"x": Real}, {"": Real(0, 1)}, {3: Real(0, 1)}],
)
def test_bad_columns(columns: Any) -> None:
    with pytest.raises(SchemaError):
        Schema(records=10, columns=columns)


def test_schema_is_a_value() -> None:
    columns = {"x": Real(0, 1), "y": Categorical(["a"])}
    schema = Schema(records=10, columns=columns)
    assert hash(schema) == hash(Schema(records=np.int64(10), columns=dict(reversed(columns.items()))))  # pyright: ignore[reportArgumentType]
    assert pickle.loads(pickle.dumps(schema)) == schema
    columns["z"] = Real(0, 1)
    assert "z" not in schema.columns
    with pytest.raises(SchemaError, match="one of x, y; found 'z'"):
        schema["z"]


def test_halves_of_whole_numbers_are_rounded_up() -> None:
    column = Integer(-3, 9)
    assert [column.step(x) + column.lower for x in (-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 8.5)] == [-2, -1, 0, 1, 2, 3, 9]


@pytest.mark.parametrize("coarsen", [{"a": ["x", "y"], "b": ["y"]}, {"a": ["b"]}, {"a": ["x"], "b": ["a"]}], ids=str)
def test_a_label_counts_as_one_category(coarsen: dict[str, list[str]]) -> None:
    with pytest.raises(SchemaError, match="a label counts as one category"):
        Categorical(["a", "b"], coarsen=coarsen)
    assert Categorical(["a", "b"], coarsen={"a": ["x", "a"], "b": ["y"]}).labels["x"] == "a"
