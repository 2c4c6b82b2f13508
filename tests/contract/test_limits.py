"""Work that would take minutes or gigabytes takes moments, is bounded, or is refused with its size (row 45)."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

import bnpriv as bp

MODELS = Path(__file__).resolve().parents[2] / "models"
SHIPPED = sorted(MODELS.glob("*/framework.toml"))


def seconds(started: float) -> float:
    return time.process_time() - started


def shipped() -> list[object]:
    """Return the files of the examples; of those that take seconds, some are enough for the normal run."""
    slow = ("admissions", "counties", "hospital")
    return [
        pytest.param(path, id=path.parent.name, marks=pytest.mark.slow if path.parent.name in slow else ())
        for path in SHIPPED
    ]


@pytest.mark.parametrize("path", shipped())
def test_row_45_shipped_queries_are_planned_and_reported_in_time(path: Path) -> None:
    if path.with_name(f"{path.parent.name}_pymc.py").exists():
        pytest.importorskip("pymc")
    framework = bp.example(path.parent.name)
    for name, query in bp.read_queries(path).items():
        started = time.process_time()
        assert bp.plan(framework, query, epsilon=1.0).calibrations, name
        if not isinstance(framework, bp.DatasetAttributePrivacy):
            assert bp.influence_report(framework, query, 1.0).text
        assert seconds(started) < 30, name  # two seconds each on a quiet machine, ten where a model is written in PyMC


def histogram(bins: int) -> bp.types.Query:
    return bp.histogram("height", np.linspace(120, 220, bins + 1).tolist())


@pytest.mark.parametrize("bins", [3, 40, 400, 3000])
def test_row_45_a_histogram_of_many_bins_moves_by_two_of_every_record(bins: int) -> None:
    framework = bp.example("student")
    started = time.process_time()
    found = bp.column_sensitivity(histogram(bins), {"height"}, framework.schema)
    assert seconds(started) < 15
    assert found.upper == pytest.approx(2 * framework.schema.records, rel=1e-9)
    assert found.lower <= found.upper
    other = bp.column_sensitivity(histogram(bins), {"sat"}, framework.schema)
    assert other.upper == 0


def test_row_45_a_histogram_of_too_many_bins_is_refused_with_its_size() -> None:
    framework, query = bp.example("student"), histogram(6_000)
    started = time.process_time()
    with pytest.raises(bp.errors.SizeError, match="144,036,000: 12,000 comparisons of 'height'"):
        bp.ColumnMechanism().calibrate(framework, query, epsilon=1.0)
    plan = bp.plan(framework, query, epsilon=1.0)
    assert not plan.calibrations
    assert any("comparisons" in str(why) for _, why in plan.refusals)
    assert seconds(started) < 30


def test_row_45_laws_of_answers_of_many_numbers_are_refused_at_once() -> None:
    started = time.process_time()
    plan = bp.plan(bp.example("student"), histogram(200), epsilon=1.0)
    assert any("at most 128 numbers" in str(why) for _, why in plan.refusals)
    assert plan.best.scale == 0
    assert seconds(started) < 15
