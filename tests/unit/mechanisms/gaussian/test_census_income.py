"""Errors of the mechanisms for normal laws on the published census income study, from its exact gaps."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

import pytest

import bnpriv as bp
from bnpriv.core.mechanisms.base import Mechanism
from bnpriv.mechanisms.directional import ExpectedValueMechanism
from bnpriv.mechanisms.gaussian.mechanisms import (
    DirectionalUncertaintyMechanism,
    EigenvectorMechanism,
    OptimalGaussianMechanism,
)
from tests.later import Later

pd = Later("pandas")

ADULT = Path(os.environ.get("BNPRIV_ADULT", Path(__file__).resolve().parents[5] / "shared" / "data" / "adult"))
QUERY = "stack(mean(age), mean(years), count(marital == 'Never-married'), count(sex == 'Female'), mean(hours))"

pytestmark = pytest.mark.skipif(
    not (ADULT / "adult.data").is_file(), reason=f"no census income files in {ADULT}: set BNPRIV_ADULT"
)


@cache
def framework() -> bp.DistributionPrivacy:
    """Return the pair of the study: 45 or 55 of 100 records earn more than 50K; one covariance for both."""
    names = [
        *["age", "workclass", "weight", "education", "years", "marital", "occupation", "relationship", "race", "sex"],
        *["gain", "loss", "hours", "country", "income"],
    ]
    files = [ADULT / "adult.data", ADULT / "adult.test"]
    read = [pd.read_csv(file, names=names, skipinitialspace=True, na_values="?") for file in files]
    table = pd.concat(read).dropna()
    table["income"] = table["income"].str.rstrip(".")
    condition = bp.col("income") == ">50K"
    pair = bp.laws.laws_by_property(table, QUERY, condition, (0.45, 0.55), records=100, covariance="mean")
    return bp.DistributionPrivacy([pair], source="census income files of the UCI repository")


@pytest.mark.parametrize(
    ("mechanism", "error"),
    [
        (ExpectedValueMechanism(noise="gaussian", constant="textbook"), 34.5),
        (EigenvectorMechanism(constant="textbook"), 34.0),
        (DirectionalUncertaintyMechanism(constant="textbook"), 12.70),
        (DirectionalUncertaintyMechanism(), 8.48),
        (OptimalGaussianMechanism(constant="textbook"), 12.49),
        (OptimalGaussianMechanism(), 8.15),
    ],
)
def test_mean_error_at_epsilon_one(mechanism: Mechanism, error: float) -> None:
    calibration = mechanism.calibrate(framework(), epsilon=1.0, delta=1e-3)
    assert calibration.expected_error == pytest.approx(error, rel=0.005)
    assert calibration.guarantee.kind == "estimate"  # the two fitted covariances are not quite the same


@pytest.mark.parametrize(
    ("epsilon", "eigenvector", "uncertainty"), [(0.2, 172.3, 64.6), (1.0, 34.0, 12.7), (5.0, 4.97, 0.946)]
)
def test_table_2_from_exact_gaps(epsilon: float, eigenvector: float, uncertainty: float) -> None:
    for mechanism, error in ((EigenvectorMechanism, eigenvector), (DirectionalUncertaintyMechanism, uncertainty)):
        found = mechanism(constant="textbook", beyond_proof=epsilon > 1)
        assert found.calibrate(framework(), epsilon=epsilon, delta=1e-3).expected_error == pytest.approx(
            error, rel=0.005
        )
