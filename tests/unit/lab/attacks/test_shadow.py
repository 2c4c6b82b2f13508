"""Property inference from shadow tables: it finds what is there, and no more than the best attacker."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.core.noise import Gaussian, Laplace
from bnpriv.errors import DataError, ParameterError, QueryError
from bnpriv.lab.attacks.result import accuracy_bound, strata
from bnpriv.lab.attacks.shadow import property_inference, shadow_attack
from tests.later import Later

pd = Later("pandas")
stats = Later("scipy.stats")


def public(size: int = 2000, seed: int = 0) -> Any:
    random = np.random.default_rng(seed)
    rich = random.random(size) < 0.4
    return pd.DataFrame(
        {
            "rich": rich,
            "age": np.where(rich, random.normal(50, 8, size), random.normal(40, 10, size)).round(1),
            "city": random.choice(["a", "b", "c"], size=size),
        }
    )


RICH = bp.col("rich") == True  # noqa: E712  a condition on a column, not on a value
QUERY = bp.mean("age")


@pytest.mark.unhurried
def test_drawn_tables_have_the_property_and_the_law_that_is_worked_out() -> None:
    split = strata(public(), bp.stack(QUERY, bp.proportion(RICH)), RICH, 50)
    answers = split.drawn(0.3, 4000, np.random.default_rng(1))
    assert np.all(answers[:, 1] == 0.3)
    mean, covariance = split.moments(0.3)
    spread = np.sqrt(covariance[0, 0])
    assert mean[1] == pytest.approx(0.3)
    assert covariance[1, 1] == pytest.approx(0, abs=1e-12)
    assert answers[:, 0].mean() == pytest.approx(mean[0], abs=4.5 * spread / np.sqrt(4000))
    assert answers[:, 0].std() == pytest.approx(spread, rel=0.06)


def test_records_are_drawn_without_replacement() -> None:
    """All the records of a stratum at once leave no spread."""
    table = pd.DataFrame({"x": [1.0, 2.0, 3.0, 4.0], "rich": [1, 1, 0, 0]})
    split = strata(table, bp.total("x"), bp.col("rich") == 1, 4)
    assert np.all(split.drawn(0.5, 20, np.random.default_rng(0)) == pytest.approx(10.0))
    assert split.moments(0.5)[1][0, 0] == pytest.approx(0, abs=1e-9)


@pytest.mark.unhurried
def test_the_attack_comes_near_the_best_one_without_defence_and_with_noise() -> None:
    laws = bp.laws.laws_by_property(public(), QUERY, RICH, (0.3, 0.5), 50)
    for noise in (None, Gaussian(1.0)):
        found = shadow_attack(public(), QUERY, RICH, (0.3, 0.5), 50, defence=noise, test_tables=2000)
        extra = 0.0 if noise is None else 1.0
        mu = abs(laws[0].mean[0] - laws[1].mean[0]) / np.sqrt(laws[0].covariance[0, 0] + extra)
        assert found.accuracy == pytest.approx(stats.norm.cdf(mu / 2), abs=0.03)
        low, high = found.interval
        assert low < found.accuracy < high
        assert found.bound == 1.0


def test_what_tells_nothing_is_guessed_like_a_coin() -> None:
    found = shadow_attack(public(), bp.count(bp.col("city") == "a"), RICH, (0.3, 0.5), 50)
    assert abs(found.accuracy - 0.5) < 0.04
    drowned = shadow_attack(public(), QUERY, RICH, (0.3, 0.5), 50, defence=Laplace(1e6))
    assert abs(drowned.accuracy - 0.5) < 0.04


def test_a_calibration_is_a_defence_whose_guarantee_holds() -> None:
    laws = bp.laws.laws_by_property(public(), QUERY, RICH, (0.3, 0.5), 50, covariance="mean")
    schema = bp.Schema(records=50, columns={"age": bp.Real(0, 100)})
    framework = bp.DistributionPrivacy([laws], query=QUERY, schema=schema, source="a public table")
    calibration = bp.mechanisms.AttributeGaussianMechanism().calibrate(framework, epsilon=0.5, delta=1e-3)
    assert calibration.scale > 0
    found = shadow_attack(public(), QUERY, RICH, (0.3, 0.5), 50, defence=calibration)
    assert found.bound == accuracy_bound(0.5, 1e-3)
    assert found.interval[0] <= found.bound
    assert found.error == calibration.expected_error


class Middle:
    """Guesses by the side of the middle of the two means."""

    def fit(self, X: np.ndarray, y: np.ndarray) -> None:
        means = [X[y == k].mean() for k in (0, 1)]
        self.middle, self.up = sum(means) / 2, means[1] > means[0]

    def predict(self, X: np.ndarray) -> np.ndarray:
        return ((X[:, 0] > self.middle) == self.up).astype(int)


@pytest.mark.unhurried
def test_any_classifier_and_any_table_will_do(tmp_path: Path) -> None:
    usual = shadow_attack(public(), QUERY, RICH, (0.3, 0.5), 50)
    own = shadow_attack(public(), QUERY, RICH, (0.3, 0.5), 50, classifier=Middle())
    assert own.accuracy == pytest.approx(usual.accuracy, abs=0.03)
    public().to_parquet(tmp_path / "public.parquet")
    stored = shadow_attack(tmp_path / "public.parquet", "mean(age)", "proportion(rich == true)", (0.3, 0.5), 50)
    assert stored.accuracy == usual.accuracy
    assert shadow_attack(public(), QUERY, RICH, (0.3, 0.5), 50).accuracy == usual.accuracy  # the seed decides


@pytest.mark.parametrize(
    ("values", "records", "error", "says"),
    [
        ((0.3, 0.4, 0.5), 50, ParameterError, "two values"),
        ((0.301, 0.5), 50, ParameterError, "whole number of 50 records"),
        ((-0.1, 0.5), 50, ParameterError, "whole number of 50 records"),
        ((0.5, 1.0), 1000, ParameterError, "the public table must have 1,000 records"),
        (("half", 0.5), 50, ParameterError, "a value of the property"),
    ],
)
def test_values_that_cannot_be_are_refused(
    values: Sequence[float], records: int, error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        shadow_attack(public(), QUERY, RICH, values, records)


def test_queries_properties_and_tables_that_do_not_fit_are_refused() -> None:
    with pytest.raises(QueryError, match="built-in"):
        shadow_attack(public(), bp.custom(len, columns=["age"], sensitivity=1), RICH, (0.3, 0.5), 50)
    with pytest.raises(QueryError, match="a count or a proportion"):
        shadow_attack(public(), QUERY, bp.mean("age"), (0.3, 0.5), 50)
    with pytest.raises(DataError, match="the column 'shoe'"):
        shadow_attack(public(), bp.mean("shoe"), RICH, (0.3, 0.5), 50)
    with pytest.raises(ParameterError, match="noise for 2"):
        shadow_attack(public(), QUERY, RICH, (0.3, 0.5), 50, defence=Laplace(1.0, 2))
    with pytest.raises(DataError, match="table"):
        shadow_attack(17, QUERY, RICH, (0.3, 0.5), 50)


# --------------------------------------------------------------------------------------------------
# Whatever is seen of a table: parameters of a model, its predictions.
# --------------------------------------------------------------------------------------------------


def seen(tables: int, apart: float, seed: int) -> tuple[Any, Any]:
    """Two numbers of each table, of which the second tells nothing."""
    random = np.random.default_rng(seed)
    first, second = (np.stack([random.normal(side, 1, tables), random.random(tables)], axis=1) for side in (0.0, apart))
    return first, second


def test_whatever_is_seen_is_attacked_as_well_as_it_can_be() -> None:
    """Two normal laws 2 apart: the best guess is right with probability Phi(1)."""
    found = property_inference(seen(500, 2.0, 1), seen(4000, 2.0, 2), seen="two coefficients", secrets="a against b")
    assert found.accuracy == pytest.approx(float(stats.norm.cdf(1.0)), abs=0.02)
    assert found.interval[0] < found.accuracy < found.interval[1]
    assert (found.answers, found.method, found.bound, found.error) == (8000, "500 shadow tables", 1.0, None)
    assert "two coefficients" in found.text
    assert "Mean error" not in found.text


def test_the_guarantee_of_what_hid_the_secret_is_the_bound() -> None:
    ward = bp.count(bp.col("ward") == "lungs")
    promised = bp.TightMechanism().calibrate(bp.example("hospital"), ward, epsilon=0.5).guarantee
    found = property_inference(
        seen(50, 0.1, 1),
        seen(200, 0.1, 2),
        seen="a model",
        secrets="a against b",
        defence="a table",
        guarantee=promised,
    )
    assert found.bound == accuracy_bound(0.5)
    assert "a table" in found.text


class Counts:
    """A classifier that returns too few labels."""

    def fit(self, X: Any, y: Any) -> None: ...

    def predict(self, X: Any) -> Any:
        return np.zeros(3, dtype=int)


@pytest.mark.parametrize(
    ("tried", "classifier", "words"),
    [
        ((np.zeros((4, 2)), np.zeros((5, 2))), None, "both secrets are equally likely"),
        ((np.zeros((4, 2)), np.zeros((4, 2))), Counts(), "one label for each row"),
        ((np.zeros((4, 2)), np.zeros((4, 2))), Counts, "fit and predict"),
    ],
)
def test_tables_and_classifiers_that_do_not_fit_are_refused(tried: Any, classifier: Any, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        property_inference(seen(20, 1.0, 1), tried, seen="a model", secrets="a against b", classifier=classifier)
