"""Laws of an answer by a property of a public table: by enumeration of all tables, and on the census income file."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

import bnpriv as bp
from benchmarks import adult_study
from bnpriv.core.distributions import Normal
from bnpriv.errors import DataError, LawError, ParameterError
from tests.later import Later

pd = Later("pandas")


@pytest.mark.parametrize("seed", range(4))
def test_moments_are_those_of_all_tables(seed: int) -> None:
    """Every table of 4 records of 9 that has 2 with the property is as likely as any other."""
    random = np.random.default_rng(seed)
    table = pd.DataFrame(
        {"x": random.integers(0, 50, 9) * 1000.0, "y": random.random(9) < 0.5, "rich": [1] * 4 + [0] * 5}
    )
    query = bp.stack(bp.mean("x"), bp.count((bp.col("y") == True) & (bp.col("x") > 20_000)), bp.total("x"))  # noqa: E712
    answers = []
    for inside in combinations(range(4), 2):
        for outside in combinations(range(4, 9), 2):
            chosen = table.iloc[[*inside, *outside]]
            both = int(((chosen.y) & (chosen.x > 20_000)).sum())
            answers.append([chosen.x.mean(), both, chosen.x.sum()])
    (law,) = bp.laws.laws_by_property(table, query, bp.col("rich") == 1, [0.5], records=4)
    assert law.kind == "exact"
    assert law.mean == pytest.approx(np.mean(answers, axis=0), rel=1e-6)
    assert law.covariance == pytest.approx(np.cov(np.array(answers).T, ddof=0), rel=1e-5, abs=1e-6)


def test_a_count_is_a_property_too_and_estimates_say_so() -> None:
    table = pd.DataFrame({"x": range(100), "rich": [0, 1] * 50})
    share = bp.laws.laws_by_property(table, "mean(x)", bp.col("rich") == 1, [0.2, 0.4], records=10)
    count = bp.laws.laws_by_property(table, "mean(x)", "count(rich == 1)", [2, 4], records=10)
    assert [law.mean.tolist() for law in share] == [law.mean.tolist() for law in count]
    common = bp.laws.laws_by_property(table, "mean(x)", "count(rich == 1)", [2, 4], records=10, covariance="mean")
    assert common[0].covariance == common[1].covariance
    assert common[0].covariance == pytest.approx((count[0].covariance + count[1].covariance) / 2)
    drawn = bp.laws.laws_by_property(table, "mean(x)", "count(rich == 1)", [2, 4], records=10, resamples=4000)
    assert {law.kind for law in (*common, *drawn)} == {"estimate"}
    for one, other in zip(drawn, count, strict=True):
        assert one.mean == pytest.approx(other.mean, abs=4.5 * float(np.sqrt(other.covariance[0, 0] / 4000)))
        assert one.covariance == pytest.approx(other.covariance, rel=0.12)
    assert drawn[0].mean.tolist() != count[0].mean.tolist()


def test_a_guarantee_that_rests_on_estimated_laws_says_so() -> None:
    table = pd.DataFrame({"x": range(100), "rich": [0, 1] * 50})
    for resamples, kind in ((None, "exact"), (500, "estimate")):
        few, many = bp.laws.laws_by_property(
            table, "mean(x)", "count(rich == 1)", [2, 4], records=10, resamples=resamples
        )
        pair = (few, Normal(many.mean, few.covariance, kind=many.kind))
        framework = bp.DistributionPrivacy([pair], source="a public table")
        calibration = bp.WassersteinMechanism().calibrate(framework, epsilon=1.0)
        assert calibration.guarantee.kind == kind


def test_a_declared_schema_bounds_the_values() -> None:
    table = pd.DataFrame({"x": [0.0, 10.0, 1000.0, 20.0], "rich": [0, 0, 1, 1]})
    schema = bp.Schema(records=2, columns={"x": bp.Real(0, 100), "rich": bp.Integer(0, 1)})
    (law,) = bp.laws.laws_by_property(table, "mean(x)", bp.col("rich") == 1, [1.0], records=2, schema=schema)
    assert law.mean[0] == pytest.approx(60.0)


def test_what_cannot_be_is_refused() -> None:
    table = pd.DataFrame({"x": range(100), "rich": [0, 1] * 50, "id": [f"n{k}" for k in range(100)]})
    with pytest.raises(ParameterError, match="covariance"):
        bp.laws.laws_by_property(table, "mean(x)", "count(rich == 1)", [2], records=10, covariance="both")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="resamples"):
        bp.laws.laws_by_property(table, "mean(x)", "count(rich == 1)", [2], records=10, resamples=3)
    with pytest.raises(DataError, match="must have values"):
        bp.laws.laws_by_property(table.assign(x=None), "mean(x)", "count(rich == 1)", [2], records=10)
    with pytest.raises(LawError, match="kind"):
        Normal(0.0, 1.0, kind="sure")  # type: ignore[arg-type]


@pytest.mark.skipif(not adult_study.available(), reason=adult_study.NO_DATA)
@pytest.mark.parametrize(
    ("condition", "gaps"),
    [
        (bp.col("income") == ">50K", (7.355, 4.2913, 1.4225)),
        (bp.col("workclass") == "Private", (3.1068, 1.7337, 0.6420)),
    ],
)
def test_the_gaps_of_the_census_income_study(condition: bp.types.Predicate, gaps: tuple[float, float, float]) -> None:
    table = adult_study.census()
    assert len(table) == 45_222
    few, many = bp.laws.laws_by_property(
        table, adult_study.QUERY, condition, (0.45, 0.55), records=100, covariance="mean"
    )
    gap = few.mean - many.mean
    far = np.sqrt(gap @ np.linalg.solve(few.covariance, gap))
    assert (np.abs(gap).sum(), np.linalg.norm(gap), far) == pytest.approx(gaps, rel=1e-4)
