"""Whole numbers do not show through noise in few directions: docs/claims/steps.md."""

from __future__ import annotations

import math

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.core.distributions import Normal
from bnpriv.core.noise import Gaussian, Laplace, NoNoise
from bnpriv.core.queries.base import normal_form
from bnpriv.mechanisms.directional import DirectionalLaplace
from bnpriv.mechanisms.gaussian.noise import CorrelatedGaussian
from bnpriv.mechanisms.usefulness import EXACT_NOTE, STEPS_NOTE, steps_notes, with_steps_covered

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


def covered(covariance: np.ndarray, steps: np.ndarray, factor: float = 1.0) -> bool:
    return bool(np.linalg.eigvalsh(covariance / factor - steps @ steps.T)[0] >= -1e-12)


@pytest.mark.parametrize(
    "mechanism",
    [
        M.DirectionalMechanism(),
        M.DirectionalMechanism(noise="gaussian"),
        M.DirectionalUncertaintyMechanism(),
        M.OptimalGaussianMechanism(),
    ],
    ids=str,
)
def test_noise_in_one_direction_gets_a_step_of_every_sum(mechanism: bp.types.Mechanism) -> None:
    alone = mechanism.calibrate(declared(None), epsilon=0.5, delta=1e-3)
    found = mechanism.calibrate(declared(COUNTS), epsilon=0.5, delta=1e-3)
    factor = 1.0 if isinstance(found.noise, CorrelatedGaussian) else 8.0
    # laws alone are analysed, not released
    assert not covered(alone.noise.covariance, np.eye(2), factor)
    assert covered(found.noise.covariance, np.eye(2), factor)
    # and no less noise than what was calibrated
    assert np.linalg.eigvalsh(found.noise.covariance - alone.noise.covariance)[0] >= -1e-9
    assert STEPS_NOTE in found.certificate.notes
    assert STEPS_NOTE not in alone.certificate.notes
    again = bp.types.Calibration.from_json(found.to_json(), declared(COUNTS))
    assert again.noise == found.noise


@pytest.mark.parametrize(
    ("noise", "enough"),
    [
        (Gaussian(1.0, 2), True),
        (Gaussian(0.99, 2), False),
        (Gaussian(1.0, 2, (1.0, 2.0)), False),
        (Laplace(2.0, 2), True),
        (Laplace(1.9, 2), False),
        (CorrelatedGaussian([[2.0, 0.9], [0.9, 2.0]]), True),
        (DirectionalLaplace(scale=9.0, directions=((0.6, 0.8),), limits=(400.0,), dithers=(1e-6, 1e-6)), False),
        (DirectionalLaplace(scale=9.0, directions=((0.6, 0.8),), limits=(400.0,), dithers=(2.0, 2.0)), True),
        (CorrelatedGaussian([[2.0, 1.1], [1.1, 2.0]]), False),
        (NoNoise(2), True),
    ],
)
def test_a_step_of_every_sum_must_be_covered(noise: bp.types.Noise, enough: bool) -> None:
    found = with_steps_covered(declared(COUNTS), COUNTS, noise)
    assert (found is noise) == enough
    if enough:
        return
    assert type(found) is type(noise)
    assert covered(found.covariance, np.eye(2), 8.0 if isinstance(noise, (Laplace, DirectionalLaplace)) else 1.0)
    assert np.linalg.eigvalsh(found.covariance - noise.covariance)[0] >= -1e-12


def test_steps_are_those_of_sums_not_of_numbers() -> None:
    """The second number has steps of .001 only, and tells the count in the first all the same."""
    query = bp.stack(
        bp.count(bp.col("sick") == 1), bp.linear({"sick": 1.0, "old": 0.001}), bp.count(bp.col("old") == 1)
    )
    assert len(query.columns) == 2
    pair = (Normal(np.zeros(3), np.eye(3)), Normal(np.ones(3), np.eye(3)))
    framework = bp.DistributionPrivacy([pair], query=query, schema=SCHEMA, source="invented")
    fine = Gaussian(1.0, 3, (1.0, 512.0, 1.0))
    found = with_steps_covered(framework, query, fine)
    steps = np.array([[float(entry) for entry in row] for row in normal_form(query, SCHEMA).matrix])
    assert found is not fine
    assert covered(found.covariance, steps)
    enough = Gaussian(1.5, 3)
    assert with_steps_covered(framework, query, enough) is enough


def test_numbers_whose_sums_no_noise_touches_stay_exact() -> None:
    moved = DirectionalLaplace(scale=9.0, directions=((1.0, 0.0),), limits=(400.0,), dithers=(1e-6, 0.0))
    found = with_steps_covered(declared(COUNTS), COUNTS, moved)
    assert found is moved  # the noise of the first number alone is more than a step of it
    query = bp.stack(bp.count(bp.col("sick") == 1), bp.proportion(bp.col("sick") == 1))
    both = with_steps_covered(declared(query), query, moved)
    assert covered(both.covariance, np.array([[1.0], [0.01]]), 8.0)


def test_numbers_that_get_noise_for_their_steps_hand_it_on() -> None:
    """Noise on the first number is noise on the second, which shares a sum with it, and then on the third."""
    query = bp.stack(bp.linear({"sick": 1}), bp.linear({"sick": 1, "old": 1}), bp.linear({"old": 1}))
    moved = DirectionalLaplace(scale=9.0, directions=((1.0, 0.0, 0.0),), limits=(400.0,), dithers=(1e-6, 0.0, 0.0))
    pair = (Normal(np.zeros(3), np.eye(3)), Normal(np.ones(3), np.eye(3)))
    found = with_steps_covered(
        bp.DistributionPrivacy([pair], query=query, schema=SCHEMA, source="invented"), query, moved
    )
    steps = np.array([[float(entry) for entry in row] for row in normal_form(query, SCHEMA).matrix])
    assert steps.shape == (3, 2)
    assert covered(found.covariance, steps, 8.0)


NEAR = (0.01, 0.0)


@pytest.mark.parametrize("mechanism", [M.DirectionalUncertaintyMechanism(), M.OptimalGaussianMechanism()], ids=str)
def test_counts_that_need_no_noise_say_what_normal_laws_leave_out(mechanism: bp.types.Mechanism) -> None:
    found = mechanism.calibrate(declared(COUNTS, NEAR), epsilon=1.0, delta=1e-3)
    assert found.scale == 0.0
    assert EXACT_NOTE in found.certificate.notes
    assert EXACT_NOTE in found.text
    assert EXACT_NOTE not in mechanism.calibrate(declared(None, NEAR), epsilon=1.0, delta=1e-3).certificate.notes
    noisy = mechanism.calibrate(declared(COUNTS), epsilon=0.5, delta=1e-3)
    assert noisy.scale > 0
    assert EXACT_NOTE not in noisy.certificate.notes


def test_the_note_is_for_released_numbers_that_no_noise_touches() -> None:
    moved = DirectionalLaplace(scale=9.0, directions=((1.0, 0.0),), limits=(400.0,), dithers=(1e-6, 0.0))
    assert steps_notes(declared(COUNTS), COUNTS, moved, moved) == (EXACT_NOTE,)  # the second count goes out as it is
    enough = Gaussian(1.0, 2)
    assert steps_notes(declared(COUNTS), COUNTS, enough, enough) == ()
    assert steps_notes(declared(COUNTS), COUNTS, Gaussian(0.5, 2), Gaussian(1.0, 2)) == (STEPS_NOTE,)
    mean, none = bp.mean("age"), NoNoise(1)
    assert steps_notes(declared(None), COUNTS, none, none) == ()
    assert steps_notes(bp.example("student"), bp.mean("height"), none, none) == ()
    assert steps_notes(declared(mean, (3.0,)), mean, none, none) == (EXACT_NOTE,)


def test_means_have_small_steps_and_laws_of_other_kinds_none() -> None:
    mean = bp.mean("age")
    enough = Gaussian(0.0101)
    assert with_steps_covered(declared(mean, (3.0,)), mean, enough) is enough
    assert with_steps_covered(declared(mean, (3.0,)), mean, Gaussian(0.0099)).scale == pytest.approx(0.01)
    little = Gaussian(1e-9)
    assert with_steps_covered(bp.example("student"), bp.mean("height"), little) is little
    assert M.AttributeGaussianMechanism().calibrate(declared(mean, (9.0,)), epsilon=0.5, delta=1e-3).scale > 1


@pytest.mark.parametrize("kind", [M.ExpectedValueMechanism, bp.WassersteinMechanism, bp.TightMechanism])
def test_the_order_of_pairs_of_two_kinds_does_not_matter(kind) -> None:
    """Laws of other pairs may be atoms: one pair of normal laws is enough for steps to be covered."""
    normal, atoms = (Normal(50.0, 16.0),) * 2, (bp.laws.Atoms([40, 60], [0.5, 0.5]),) * 2
    scales = [
        kind()
        .calibrate(
            bp.DistributionPrivacy(pairs, query=bp.mean("age"), schema=SCHEMA, source="invented"),
            epsilon=1.0,
        )
        .scale
        for pairs in ([normal, atoms], [atoms, normal])
    ]
    assert scales[0] == scales[1] >= 0.02
