"""Queries beyond the usual sizes: every one of hundreds of terms, outputs, cuts, categories and comparisons counts."""

from __future__ import annotations

import functools
import operator
from fractions import Fraction

import pytest

import bnpriv as bp
from bnpriv.core.queries.base import normal_form
from bnpriv.core.queries.contribution import cells, ends, every_cell, patterns
from bnpriv.core.queries.predicates import Comparison, IsIn
from bnpriv.core.queries.sensitivity import column_sensitivity
from bnpriv.errors import QueryError

SIZE = 300
NAMES = [f"c{k:03d}" for k in range(SIZE)]
WIDE = bp.Schema(records=10, columns={name: bp.Integer(0, 1) for name in NAMES})
ONE = bp.Schema(records=10, columns={"x": bp.Integer(0, 1000), "us": bp.Categorical([f"l{k}" for k in range(SIZE)])})


def test_every_weight_of_hundreds_is_added() -> None:
    weights = {name: Fraction(k + 1) for k, name in enumerate(NAMES)}
    form = normal_form(bp.linear(weights), WIDE)
    assert form.answer([10] * SIZE) == (Fraction(SIZE * (SIZE + 1), 2),)


def test_every_output_of_hundreds_moves_the_answer() -> None:
    totals = bp.stack(*map(bp.total, NAMES))
    assert column_sensitivity(totals, NAMES, WIDE).upper == pytest.approx(10 * SIZE)
    assert column_sensitivity(totals, NAMES[-50:], WIDE).upper == pytest.approx(500)


def test_every_term_and_every_comparison_of_hundreds_is_checked() -> None:
    wrong = bp.col("us") < "l1"
    fine = [bp.col("x") > k for k in range(SIZE)]
    assert normal_form(bp.stack(*map(bp.count, fine)), ONE).rows
    with pytest.raises(QueryError, match="categorical"):
        normal_form(bp.stack(*map(bp.count, [*fine, wrong])), ONE)
    assert normal_form(bp.count(functools.reduce(operator.and_, fine[:90])), ONE).rows
    with pytest.raises(QueryError, match="categorical"):
        normal_form(bp.count(functools.reduce(operator.and_, [*fine[:90], wrong])), ONE)


def test_every_cut_of_hundreds_makes_a_cell() -> None:
    parts = cells(bp.Real(0, 1000), [Comparison("x", ">=", k) for k in range(1, SIZE + 1)])
    assert len(parts.low) == 2 * SIZE + 1
    assert len(every_cell(parts).steps) == 2 * SIZE + 1
    assert patterns(parts).truth.sum(axis=0).tolist() == list(range(SIZE + 1))
    assert len(ends(parts).steps) == 2 * (SIZE + 1)


def test_every_category_of_a_long_list_is_held() -> None:
    column = ONE["us"]
    listed = IsIn("us", tuple(f"l{k}" for k in range(0, SIZE, 2)))
    assert cells(column, [listed]).truth[0].tolist() == [k % 2 == 0 for k in range(SIZE)]


@pytest.mark.parametrize("size", [50, SIZE])
def test_every_output_of_one_column_is_rounded_by_itself(size: int) -> None:
    """Where outputs lie far from 0 their rounding is as large as a change; it adds over all of them."""
    far = bp.Schema(records=2, columns={"x": bp.Real(10**15, 10**15 + 1)})
    each = [bp.linear({"x": Fraction(k + 1, 7)}) for k in range(size)]
    apart = sum(Fraction(column_sensitivity(one, ["x"], far).upper) for one in each)
    assert apart > 1.01 * sum((k + 1) / 7 for k in range(size))
    assert column_sensitivity(bp.stack(*each), ["x"], far).upper >= float(apart) * (1 - 1e-9)


def test_every_output_of_columns_together_counts() -> None:
    schema = bp.Schema(records=10, columns={"x": bp.Integer(0, 9), "y": bp.Integer(0, 9)})
    outputs = [bp.linear({"x": Fraction(k + 1, 3), "y": Fraction(SIZE - k, 7)}) for k in range(SIZE)]
    expected = sum(9 * (Fraction(k + 1, 3) + Fraction(SIZE - k, 7)) for k in range(SIZE))
    found = column_sensitivity(bp.stack(*outputs), ["x", "y"], schema)
    assert found.upper >= float(expected) * (1 - 1e-12)
