"""The hospital model: a property of a data set, planned and checked by hand."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import pytest

import bnpriv as bp
from tests.later import Later

pd = Later("pandas")

FOLDER = Path(__file__).resolve().parents[2] / "models" / "hospital"
LAPLACE_STEPS = 60


@pytest.fixture(scope="module")
def hospital():
    return bp.read_framework(FOLDER / "framework.toml")


def one_record(framework, column: str, value: str) -> tuple[float, float]:
    """Return P(column = value | disease) for no and yes, by enumeration of the network."""
    network = framework.network
    names = list(network.attributes)
    joint = np.ones([len(network.states[name]) for name in names])
    for name in names:
        axes = network.tables[name].axes
        table = network.probabilities(name)[0]
        order = [names.index(axis) for axis in axes]
        shape = [joint.shape[k] if k in order else 1 for k in range(len(names))]
        joint = joint * np.transpose(table, np.argsort(order)).reshape(shape)
    rest = tuple(k for k, name in enumerate(names) if name not in ("disease", column))
    both = joint.sum(axis=rest)
    if names.index(column) < names.index("disease"):
        both = both.T
    given = both / both.sum(axis=1, keepdims=True)
    place = network.states[column].index(value)
    return float(given[0, place]), float(given[1, place])


def test_tight_is_best_and_as_large_as_the_one_record_rule_says(hospital) -> None:
    query = bp.count(bp.col("smoker") == "yes")
    made = bp.plan(hospital, query, 1.0)
    assert isinstance(made.best.mechanism, bp.TightMechanism)
    low, high = sorted(one_record(hospital, "smoker", "yes"))
    assert 0 < low < high < 1

    def told(scale: float) -> float:
        """Return the log ratio of one noisy record's density, at its two ends; 100 records may differ."""
        grow = np.exp(1 / scale)
        ends = [((1 - p) + p * grow, (1 - p) + p / grow) for p in (low, high)]
        return 100 * max(np.log(ends[1][0] / ends[0][0]), np.log(ends[0][1] / ends[1][1]))

    start, end = 0.1, 1000.0
    for _ in range(LAPLACE_STEPS):
        middle = (start + end) / 2
        start, end = (start, middle) if told(middle) <= 1 else (middle, end)
    assert made.best.scale == pytest.approx(end, rel=1e-9)


def test_every_named_query_has_a_plan(hospital) -> None:
    queries = bp.read_queries(FOLDER / "framework.toml")
    assert len(queries) == 6
    for query in queries.values():
        assert bp.plan(hospital, query, 1.0).calibrations


def test_the_patients_are_made_up_by_their_script() -> None:
    stored = pd.read_parquet(FOLDER / "patients.parquet")
    script = runpy.run_path(str(FOLDER / "simulate.py"))
    made = script["simulate"]()
    pd.testing.assert_frame_equal(made, stored, check_dtype=False, check_categorical=False)


@pytest.mark.parametrize("records", [200, 400])
def test_a_secret_mean_of_too_many_records_is_refused_with_the_size(hospital, records: int) -> None:
    schema = bp.Schema(records=records, columns=hospital.schema.columns)
    secret = bp.Secret(bp.mean("days"), pairs=bp.apart(at_most=0.5))
    framework = bp.DatasetAttributePrivacy(hospital.network, schema, {"days": secret}, source="a test")
    plan = bp.plan(framework, bp.count(bp.col("smoker") == "yes"), 1.0)
    assert isinstance(plan.best.mechanism, bp.ColumnMechanism)
    assert any("atoms" in str(reason) and "found" in str(reason) for _, reason in plan.refusals)
