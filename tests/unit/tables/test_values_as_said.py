"""What values count as: docs/sharp-edges.md."""

from __future__ import annotations

import pytest

import bnpriv as bp
from tests.later import Later

pd = Later("pandas")
SCHEMA = bp.Schema(records=1, columns={"whole": bp.Integer(-9, 9), "grid": bp.Real(-8, 8, steps=16)})
ABOVE, BELOW = (9.0, 8.0), (-9.0, -8.0)


@pytest.fixture(scope="module")
def framework() -> bp.DistributionalAttributePrivacy:
    network = bp.DiscreteNetwork.from_tables({"p": [0.5, 0.5]}, states={"p": ["low", "high"]})
    return bp.DistributionalAttributePrivacy(network, SCHEMA, "p", source="x", independent=SCHEMA.columns)


def released(framework, value: object) -> tuple[float, ...]:
    calibration = bp.MarkovQuiltMechanism().calibrate(framework, "stack(total(whole), total(grid))", epsilon=1.0)
    assert calibration.scale == 0.0
    return bp.release(calibration, pd.DataFrame({"whole": [value], "grid": [value]})).value


@pytest.mark.parametrize(
    ("text", "counted"),
    [
        *((text, ABOVE) for text in ("inf", "Infinity", "+inf", "INF", "1e999")),
        *((text, BELOW) for text in ("-inf", "-Infinity", "-1e999")),
        ("nan", (0.0, 0.0)),
    ],
)
def test_texts_of_infinity_count_as_the_nearest_bound_and_nan_as_missing(framework, text, counted) -> None:
    assert released(framework, text) == counted


@pytest.mark.parametrize("value", [2.5, -2.5, 3.5, -3.5, 0.5, -0.5, "2.5", "-2.5"])
def test_a_half_counts_as_what_is_above_it(framework, value) -> None:
    above = float(value) + 0.5
    assert released(framework, value) == (above, above)
