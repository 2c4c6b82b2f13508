"""Released variances and quantiles: numbers, intervals, documents, JSON and ledgers tell the answer and its base."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.errors import QueryError
from bnpriv.tables.evaluate import evaluate

FRAMEWORK = bp.example("student")
QUERY = bp.stack("std(height)", "count(height > 180)", "quantile(sat, [0.25, 0.5], [400, 700, 1000, 1300, 1600])")


@pytest.fixture(scope="module")
def calibration() -> bp.types.Calibration:
    return bp.ColumnMechanism().calibrate(FRAMEWORK, QUERY, epsilon=100.0)


@pytest.fixture(scope="module")
def released(calibration: bp.types.Calibration) -> bp.types.Release:
    return bp.release(calibration, bp.example_data("student"))


def test_the_answer_has_a_number_for_each_question(released: bp.types.Release) -> None:
    assert released.labels == ("std(height)", "count(height > 180)", "quantile 0.25 of sat", "median of sat")
    assert len(released.values) == len(released.interval()) == 4
    assert len(released.base) == released.calibration.noise.dimension == 7
    assert released.values[1] == released.base[2]
    (first, second, *_), (spread, counted, *_) = released.interval(), released.values
    assert first[0] <= spread <= first[1]
    assert second[0] <= counted <= second[1]


def test_intervals_of_single_numbers_are_those_of_the_base(released: bp.types.Release) -> None:
    (half,) = {released.calibration.noise.quantiles(0.95)[2]}
    low, high = released.interval()[1]
    assert high - low == pytest.approx(2 * half)


def test_only_counts_that_are_asked_are_rounded(released: bp.types.Release) -> None:
    rounded = released.rounded()
    assert rounded.values[1] == round(released.values[1])
    assert rounded.values[0] == released.values[0]
    assert rounded.values[2:] == released.values[2:]
    alone = bp.ColumnMechanism().calibrate(FRAMEWORK, "median(sat, [400, 1000, 1600])", epsilon=1.0)
    with pytest.raises(QueryError, match="must be a whole number to be rounded"):
        bp.release(alone, bp.example_data("student")).rounded()


def test_the_record_holds_the_answer_and_what_it_is_worked_out_of(released: bp.types.Release) -> None:
    record = json.loads(released.to_json())
    assert [each["value"] for each in record["release"]] == list(released.values)
    assert [each["value"] for each in record["base"]] == list(released.base)
    assert record["base"][0]["label"] == "mean of height from 170"
    plain = bp.ColumnMechanism().calibrate(FRAMEWORK, "mean(height)", epsilon=1.0)
    assert "base" not in json.loads(bp.release(plain, bp.example_data("student")).to_json())


def test_documents_say_what_the_noise_is_added_to(released: bp.types.Release) -> None:
    told = " ".join(str(each) for each in (released.document.facts, released.calibration.document.facts))
    assert "the mean and the mean square of height, both measured from 170, the middle of its bounds" in told
    assert "the numbers of records in 4 bins of sat" in told
    assert "the answer of 95 % of releases errs by at most" in told


def test_a_ledger_keeps_the_base_and_gives_the_same_answer(calibration: bp.types.Calibration, tmp_path: Path) -> None:
    (tmp_path / "own").mkdir(mode=0o700)
    data, path = bp.example_data("student"), tmp_path / "own" / "ledger.db"
    first = bp.release(calibration, data, ledger=path, budget=200.0, key="once")
    again = bp.release(calibration, data, ledger=path, budget=200.0, key="once")
    assert first.values == again.values
    assert first.labels == again.labels
    assert first.interval() == again.interval()


@pytest.mark.parametrize("base", [(1e4, 2e8, 0.0), (-60.0, 5e3, -900.0), (3.0, -1e9, 2e3), (0.0, 0.0, 500.0)])
def test_an_interval_holds_the_value_wherever_the_base_lies(
    released: bp.types.Release, base: tuple[float, float, float]
) -> None:
    """A base outside its range, where the box and the range have nothing in common, and counts that add up to more."""
    far = replace(released, base=(*base, base[2], 2000.0, -2000.0, base[2]))
    for each in (far, far.clamped()):
        for level in (0.5, 0.95):
            assert all(
                low <= value <= high for value, (low, high) in zip(each.values, each.interval(level), strict=True)
            )


def test_intervals_cover_as_often_as_they_say() -> None:
    """The true standard deviation and median, in 200 releases of a small table with noise that matters."""
    import pandas as pd

    schema = bp.Schema(records=200, columns={"y": bp.Integer(0, 20)})
    data = pd.DataFrame({"y": [k * k % 21 for k in range(200)]})
    truth = (float(data["y"].std(ddof=0)), float(data["y"].sort_values().iloc[99]))
    framework = bp.DistributionalAttributePrivacy(
        FRAMEWORK.network, schema, protect="income", independent=["y"], source="made up"
    )
    query = bp.stack("std(y)", bp.median("y", [0, 4, 8, 12, 16, 20]))
    calibration = bp.ColumnMechanism().calibrate(framework, query, epsilon=60.0)
    random, held = np.random.default_rng(5), 0
    released, exact = bp.release(calibration, data), [float(v) for v in evaluate(query, schema, data).values]
    for _ in range(200):
        noisy = random.laplace(exact, calibration.noise.scales)
        found = replace(released, base=tuple(noisy.tolist())).interval(0.8)
        held += all(low <= true <= high for true, (low, high) in zip(truth, found, strict=True))
    # conservative: 160 are promised; fewer than 140 would come with probability 1e-3 at most
    assert held >= 140


def test_an_answer_that_needs_no_noise_is_not_said_to_have_some() -> None:
    for query in ("variance(height)", "median(height, [120, 170, 220])"):
        best = bp.plan(FRAMEWORK, query, epsilon=1.0).best
        assert best.scale == 0
        for text in (best.text, bp.release(best, bp.example_data("student")).text):
            assert "Noise is added" not in text
            assert "The answer is worked out: " + query.split("[")[0].rstrip(", ") in text
            assert "These numbers are released as they are" in text
