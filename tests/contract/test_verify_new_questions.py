"""Replayed calibrations of spreads, products, cells and binned counts: the epsilon is that of the noise, no less."""

from __future__ import annotations

import json

import pytest

import bnpriv as bp
from bnpriv.core.queries.asked import Weighted
from bnpriv.core.queries.sensitivity import column_sensitivity

SCHEMA = bp.Schema(
    records=10, columns={"x": bp.Real(-0.3, 0.9, steps=1000), "y": bp.Integer(0, 7), "z": bp.Real(0, 10, steps=50)}
)
FRAMEWORK = bp.DistributionalAttributePrivacy(
    bp.DiscreteNetwork.from_tables({"s": [0.5, 0.5]}, states={"s": ["low", "high"]}, level="parameters"),
    SCHEMA,
    protect="s",
    independent=["x", "y", "z"],
    source="a fixture",
)


@pytest.mark.parametrize(
    "text",
    [
        "variance(x)",
        "std(z)",
        "moments(z)",
        "covariance(x, y)",
        "stack(covariance(x, y), variance(z))",
        "crosstab(x [-0.3, 0, 0.9], y [0, 3, 7])",
        "median(y, [0, 3, 7])",
    ],
)
def test_the_replayed_epsilon_is_that_of_the_weighted_sensitivity(text: str) -> None:
    """Where a parabola turns depends on the weights: from other points a scale that is too small would pass."""
    calibration = bp.ColumnMechanism().calibrate(FRAMEWORK, text, epsilon=1.0)
    record = json.loads(calibration.to_json())
    weights = tuple(record["noise"].get("weights") or [1.0] * record["noise"]["dimension"])
    weighted = Weighted(asked=calibration.query, weights=weights)
    truth = float(column_sensitivity(weighted, {"x", "y", "z"}, SCHEMA)) / calibration.scale
    found = bp.verify(json.dumps(record))
    assert found.status == "holds"
    low, high = json.loads(found.text.split("epsilon in ")[1].split(", whatever")[0])
    assert low <= truth * (1 + 1e-12)
    assert high >= truth * (1 - 1e-12)
    small = record["noise"]["scale"] * 0.999
    record["noise"].update(scale=small, exact_scale=small.hex())
    assert bp.verify(json.dumps(record)).status == "fails"


def test_products_beside_squares_are_not_replayed() -> None:
    calibration = bp.ColumnMechanism().calibrate(FRAMEWORK, "stack(covariance(x, y), variance(x))", epsilon=1.0)
    found = bp.verify(calibration.to_json())
    assert found.status == "not covered"
    assert "squares of a column beside its product" in found.text
