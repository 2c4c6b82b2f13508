"""A plan is a sequence of calibrations, the best first."""

from __future__ import annotations

import pytest

import bnpriv as bp
from bnpriv.errors import ParameterError


@pytest.fixture(scope="module")
def plan() -> bp.types.Plan:
    return bp.plan(bp.example("student"), "mean(sat)", epsilon=1.0)


def test_a_plan_yields_its_calibrations_best_first(plan: bp.types.Plan) -> None:
    assert list(plan) == list(plan.calibrations)
    assert len(plan) == len(plan.calibrations) > 1
    assert plan[0] is plan.best
    assert plan[-1] is plan.calibrations[-1]
    errors = [each.expected_error for each in plan]
    assert errors == sorted(errors)
    assert plan.to_pandas()["mechanism"].tolist() == [str(each.mechanism) for each in plan]


@pytest.mark.parametrize("place", [99, "best"])
def test_a_place_that_there_is_not_is_refused(plan: bp.types.Plan, place: object) -> None:
    with pytest.raises(ParameterError, match="places from 0 on"):
        plan[place]  # pyright: ignore


def test_a_plan_without_calibrations_still_counts_as_one(plan: bp.types.Plan) -> None:
    assert bp.types.Plan(calibrations=(), refusals=plan.refusals)


def test_a_release_is_a_table(plan: bp.types.Plan) -> None:
    released = bp.release(plan.best, bp.example_data("student"))
    table = released.to_pandas()
    assert table.columns.tolist() == ["label", "value", "lower", "upper"]
    assert table["value"].tolist() == list(released.values)
    ends = released.interval()
    assert table[["lower", "upper"]].to_numpy().tolist() == [list(ends)]
    several = bp.plan(bp.example("student"), "stack(mean(sat), mean(height))", epsilon=1.0).best
    table = bp.release(several, bp.example_data("student")).to_pandas()
    assert table["label"].tolist() == ["mean(sat)", "mean(height)"]
    assert (table["lower"] <= table["value"]).all()
    assert (table["value"] <= table["upper"]).all()
