"""Validation at the border: whatever is passed, either a plain number comes out or our own error."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from bnpriv import checks
from bnpriv.errors import BnprivError, DeclarationError, ParameterError, QueryError

NOT_NUMBERS = [True, False, "1", b"1", None, [1], (1,), {1: 1}, 1j, Decimal(1), np.bool_(True), np.array([1.0])]
HUGE = 10**400
NOT_FINITE = [math.nan, math.inf, -math.inf, np.float64("nan"), np.float32("inf"), HUGE, -HUGE, Fraction(HUGE)]


@pytest.mark.parametrize("value", [*NOT_NUMBERS, *NOT_FINITE])
@pytest.mark.parametrize("check", [checks.epsilon, checks.delta])
def test_privacy_parameters_refuse_what_is_no_finite_number(check: Callable[[object], float], value: object) -> None:
    with pytest.raises(ParameterError):
        check(value)


@pytest.mark.parametrize("value", [*NOT_NUMBERS, *NOT_FINITE])
@pytest.mark.parametrize("check", [checks.number, checks.positive, checks.whole])
def test_numbers_refuse_what_is_no_finite_number(check: Callable[..., float], value: object) -> None:
    if check is checks.whole and isinstance(value, int) and value is not True and value > 0:
        assert check("x", value) == value  # whole numbers have no largest one
        return
    with pytest.raises(QueryError, match="x must be") as caught:
        check("x", value, error=QueryError, remedy="Do this.")
    assert caught.value.remedy == "Do this."


@pytest.mark.parametrize("value", [1, 1.5, np.float32(1.5), np.int8(3), Fraction(1, 3), 10**300, 5e-324])
def test_numbers_come_out_as_floats(value: Any) -> None:
    assert checks.number("x", value) == float(value)
    assert type(checks.positive("x", value)) is float


@pytest.mark.parametrize("value", [0, -1, -5e-324, 0.0, -0.0])
def test_positive(value: float) -> None:
    with pytest.raises(ParameterError, match="above 0"):
        checks.positive("x", value)
    with pytest.raises(ParameterError, match="above 0"):
        checks.epsilon(value)


@pytest.mark.parametrize("value", [-1e-300, 1, 1.0, 2])
def test_delta_is_below_one(value: float) -> None:
    with pytest.raises(ParameterError, match="at least 0 and below 1"):
        checks.delta(value)


def test_delta() -> None:
    assert [checks.delta(value) for value in (0, 1e-9, math.nextafter(1, 0))] == [0, 1e-9, math.nextafter(1, 0)]


@pytest.mark.parametrize("value", [1.0, 0.5, np.float64(2), Fraction(2), "2"])
def test_whole_refuses_fractions(value: object) -> None:
    with pytest.raises(ParameterError, match="whole number"):
        checks.whole("x", value)


@pytest.mark.parametrize("value", [0, -1, pytest.param(-(10**10_000), id="huge")])
def test_whole_refuses_too_small(value: int) -> None:
    with pytest.raises(ParameterError, match="at least 1"):
        checks.whole("x", value)


def test_whole() -> None:
    assert type(checks.whole("x", np.int32(7))) is int
    assert checks.whole("x", 0, least=0) == 0
    assert checks.whole("x", 10**10_000) == 10**10_000


def test_shown_never_fails() -> None:
    assert checks.shown(-12) == "-12"
    assert checks.shown(10**10_000) == "a number of more than 20 digits"


@pytest.mark.parametrize("value", ["", "  ", "\n", None, 3, True, b"a", ["a"]])
def test_text(value: object) -> None:
    with pytest.raises(DeclarationError, match="non-empty string"):
        checks.text("x", value)
    assert checks.text("x", " a ") == " a "


def test_member_and_subset() -> None:
    assert checks.member("x", "a", ["a", "b"]) == "a"
    with pytest.raises(DeclarationError, match="one of a, b; found 'c'"):
        checks.member("x", "c", ["a", "b"])
    assert checks.subset("x", "a", ["a", "b"]) == {"a"}
    assert checks.subset("x", iter(["a", "b", "a"]), {"a": 1, "b": 2}) == {"a", "b"}
    assert checks.subset("x", [], ["a"]) == frozenset()
    with pytest.raises(DeclarationError, match="found 3, c"):
        checks.subset("x", ["c", 3, "a"], ["a", "b"])  # pyright: ignore[reportArgumentType]


def test_listing_is_cut() -> None:
    assert checks.listing([]) == "nothing"
    assert checks.listing(range(3)) == "0, 1, 2"
    assert checks.listing(range(20), most=2) == "0, 1 and 18 more"


def test_errors_carry_what_is_required_found_and_to_be_done() -> None:
    with pytest.raises(BnprivError) as caught:
        checks.epsilon(-1)
    error = caught.value
    assert (error.required, error.found) == ("epsilon must be above 0", "-1")
    assert str(error) == f"{error.required}; found {error.found}. {error.remedy}"
    assert isinstance(error, ValueError)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("heigth", "Did you mean 'height'?"),
        ("Height", "Did you mean 'height'?"),
        ("hight", "Did you mean 'height'?"),
        ("shoe size", "Check the spelling."),
        ("x", "Check the spelling."),
        ("", "Check the spelling."),
        ("height" * 100_000, "Check the spelling."),
    ],
)
def test_a_slip_is_told_from_another_name(name: Any, says: str) -> None:
    known = ["weight", "height", "sat", *(f"column {k}" for k in range(5000))]
    assert checks.spelling(name, known) == says
    for look_up in (lambda: checks.member("a column", name, known), lambda: checks.subset("columns", [name], known)):
        with pytest.raises(DeclarationError) as caught:
            look_up()
        assert caught.value.remedy == says


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (None, "nothing"),
        (3, "an int"),
        ("x", "a str"),
        (int, "the class int"),
        ([1], "a list"),
        (np.array(1), "a ndarray"),
    ],
)
def test_types_in_words(value: object, says: str) -> None:
    assert checks.type_text(value) == says


def test_a_value_that_is_no_name_is_not_repeated() -> None:
    with pytest.raises(DeclarationError, match="must be one of a, b; found a list"):
        checks.member("x", [1, 2, 3], ["a", "b"])  # type: ignore[arg-type]
    with pytest.raises(DeclarationError, match="must be names; found an int"):
        checks.subset("x", 3, ["a", "b"])  # type: ignore[arg-type]


def test_a_number_in_quotes_is_named() -> None:
    with pytest.raises(ParameterError, match=r"found a str \(text in quotes\)"):
        checks.epsilon("1.0")
