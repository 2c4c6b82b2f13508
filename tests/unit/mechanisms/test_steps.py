"""Whole numbers do not show through noise in few directions: docs/claims/steps.md."""

from __future__ import annotations

import math

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.errors import RefusedError
from bnpriv.laws import Normal
from bnpriv.mechanisms.steps import steps_refusal
from bnpriv.noise import Gaussian, Laplace, NoNoise
from bnpriv.noise.correlated import CorrelatedGaussian

M = bp.mechanisms
SCHEMA = bp.Schema(records=100, columns={"sick": bp.Integer(0, 1), "old": bp.Integer(0, 1), "age": bp.Integer(0, 100)})
COUNTS = bp.stack(bp.count(bp.col("sick") == 1), bp.count(bp.col("old") == 1))
SPREAD = [[16.0, 2.0], [2.0, 20.0]]


def declared(query: bp.types.Query | None, gap: tuple[float, ...] = (3.0, 4.0)) -> bp.DistributionPrivacy:
    centre = np.full(len(gap), 50.0)
    spread = SPREAD if len(gap) == 2 else [[16.0]]
    pair = (Normal(centre, spread), Normal(centre + gap, spread))
    if query is None:
        return bp.DistributionPrivacy([pair], source="invented")
    return bp.DistributionPrivacy([pair], query=query, schema=SCHEMA, source="invented")


def exactly_found(covariance: np.ndarray, direction: np.ndarray, draws: int = 400) -> float:
    """Return how often the likeliest pair of counts on the noise's line is the true one."""
    random = np.random.default_rng(5)
    truth = random.integers(30, 70, size=(draws, 2))
    seen = truth + random.multivariate_normal([0, 0], covariance, size=draws)
    grid = np.stack(np.meshgrid(np.arange(0, 101), np.arange(0, 101), indexing="ij"), axis=-1).reshape(-1, 2)
    across = np.array([-direction[1], direction[0]])
    found = 0
    for one, true in zip(seen, truth, strict=True):
        off = grid - one
        likelihood = -((off @ across) ** 2) / (2 * (across @ covariance @ across + 1e-12))
        likelihood -= (off @ direction) ** 2 / (2 * (direction @ covariance @ direction))
        found += bool(np.array_equal(grid[np.argmax(likelihood)], true))
    return found / draws


def test_noise_in_one_direction_lets_whole_numbers_through_and_covered_steps_do_not() -> None:
    direction = np.array([1.0, math.sqrt(2)]) / math.sqrt(3)
    line = 25 * np.outer(direction, direction)
    assert exactly_found(line + 1e-6 * np.eye(2), direction) > 0.95
    assert exactly_found(line + np.eye(2), direction) < 0.35


@pytest.mark.parametrize(
    "mechanism",
    [M.DirectionalMechanism(), M.DirectionalMechanism(noise="gaussian"), M.DirectionalUncertaintyMechanism()],
    ids=str,
)
def test_noise_in_one_direction_is_refused_for_counts_alone(mechanism: bp.types.Mechanism) -> None:
    with pytest.raises(RefusedError, match="cover a step"):
        mechanism.calibrate(declared(COUNTS), epsilon=0.5, delta=1e-3)
    # laws alone are analysed, not released
    assert mechanism.calibrate(declared(None), epsilon=0.5, delta=1e-3).expected_error > 0


def test_a_plan_goes_on_with_what_covers_steps() -> None:
    plan = bp.plan(declared(COUNTS), None, 0.5, 1e-3)
    refused = {str(mechanism): str(reason) for mechanism, reason in plan.refusals}
    assert "cover a step" in refused["DirectionalUncertaintyMechanism()"]
    for calibration in plan.calibrations:
        if calibration.mechanism.needs_model:
            assert steps_refusal(calibration.framework, COUNTS, calibration.noise) is None
    assert plan.calibrations


@pytest.mark.parametrize(
    ("noise", "enough"),
    [
        (Gaussian(1.0, 2), True),
        (Gaussian(0.99, 2), False),
        (Gaussian(1.0, 2, (1.0, 2.0)), False),
        (Laplace(2.0, 2), True),
        (Laplace(1.9, 2), False),
        (CorrelatedGaussian([[2.0, 0.9], [0.9, 2.0]]), True),
        (CorrelatedGaussian([[2.0, 1.1], [1.1, 2.0]]), False),
        (NoNoise(2), True),
    ],
)
def test_a_step_of_every_sum_must_be_covered(noise: bp.noise.Noise, enough: bool) -> None:
    assert (steps_refusal(declared(COUNTS), COUNTS, noise) is None) == enough


def test_steps_are_those_of_sums_not_of_numbers() -> None:
    """The second number has steps of .001 only, and tells the count in the first all the same."""
    query = bp.stack(
        bp.count(bp.col("sick") == 1), bp.linear({"sick": 1.0, "old": 0.001}), bp.count(bp.col("old") == 1)
    )
    assert len(query.columns) == 2
    pair = (Normal(np.zeros(3), np.eye(3)), Normal(np.ones(3), np.eye(3)))
    framework = bp.DistributionPrivacy([pair], query=query, schema=SCHEMA, source="invented")
    fine = Gaussian(1.0, 3, (1.0, 512.0, 1.0))
    assert steps_refusal(framework, query, fine) is not None
    assert steps_refusal(framework, query, Gaussian(1.5, 3)) is None


def test_means_have_small_steps_and_laws_of_other_kinds_none() -> None:
    mean = bp.mean("age")
    assert steps_refusal(declared(mean, (3.0,)), mean, Gaussian(0.0101)) is None
    assert steps_refusal(declared(mean, (3.0,)), mean, Gaussian(0.0099)) is not None
    assert steps_refusal(bp.example("student"), bp.mean("height"), Gaussian(1e-9)) is None
    assert M.AttributeGaussianMechanism().calibrate(declared(mean, (9.0,)), epsilon=0.5, delta=1e-3).scale > 1
