"""Noise that moves records: its law against brute force, its delta against all pairs of secrets."""

from __future__ import annotations

import itertools
import math
import random
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.core.noise import SecureSampler
from bnpriv.errors import ParameterError, RefusedError
from bnpriv.tables.private_table.counts import CalibratedCount, MoveNoise, SeededSampler, least_bound

Vector = tuple[int, ...]


def moves(vector: Sequence[int]) -> int:
    """Return how many records change their class."""
    return sum(map(abs, vector)) // 2


def law(classes: int, scale: float, far: int) -> dict[Vector, float]:
    """Return the probabilities of all vectors of sum 0 whose numbers but one are at most `far`."""
    masses: dict[Vector, float] = {}
    for free in itertools.product(range(-far, far + 1), repeat=classes - 1):
        vector = (*free, -sum(free))
        masses[vector] = math.exp(-moves(vector) / scale)
    total = sum(masses.values())
    return {vector: mass / total for vector, mass in masses.items()}


@pytest.mark.parametrize(("classes", "scale", "far"), [(2, 1.5, 40), (3, 0.9, 22), (4, 0.5, 12), (3, 0.2, 8)])
def test_vectors_come_up_as_often_as_they_should(classes: int, scale: float, far: int) -> None:
    noise, sampler, draws = MoveNoise(classes=classes, scale=scale), _seeded(classes), 12_000
    seen = Counter(noise.noisy((0,) * classes, sampler) for _ in range(draws))
    expected = {vector: draws * mass for vector, mass in law(classes, scale, far).items() if draws * mass > 5}
    chi = sum((seen[vector] - often) ** 2 / often for vector, often in expected.items())
    freedom = len(expected)
    assert chi < freedom + 5 * math.sqrt(2 * freedom)
    assert sum(seen[vector] for vector in expected) > 0.9 * draws
    mean = sum(mass * moves(vector) for vector, mass in law(classes, scale, far).items())
    assert noise.mean_moves == pytest.approx(mean, rel=1e-6)


def _seeded(seed: int) -> SeededSampler:
    return SeededSampler(np.random.default_rng(seed))


@pytest.mark.parametrize(
    ("classes", "scale", "moved", "most"),
    [(2, 1.3, 1, 4), (2, 1.3, 3, 5), (2, 0.7, 2, 2), (3, 0.9, 1, 4), (3, 0.9, 2, 5), (4, 0.6, 1, 3), (4, 0.6, 2, 4)],
)
def test_delta_is_what_one_secret_leads_to_and_the_other_cannot(
    classes: int, scale: float, moved: int, most: int
) -> None:
    every = law(classes, scale, 24 if classes < 4 else 12)
    among = {vector: mass for vector, mass in every.items() if max(vector) <= most}
    total = sum(among.values())
    steps = [
        step
        for step in itertools.product(range(-moved, moved + 1), repeat=classes)
        if sum(step) == 0 and moves(step) <= moved
    ]
    worst = max(
        sum(mass for vector, mass in among.items() if any(a - b > most for a, b in zip(vector, step, strict=True)))
        for step in steps
    )
    claimed = MoveNoise(classes=classes, scale=scale, most=most).delta(moved)
    assert worst / total <= claimed * (1 + 1e-9)
    # of two classes it is exact; of more the others are not asked to stay within the bound
    assert claimed <= worst / total * (1 + 1e-9 if classes == 2 else 1.2)


def test_the_bound_is_the_least_one() -> None:
    for classes, scale, moved, delta in ((2, 10.0, 10, 1e-6), (2, 7.0, 3, 1e-3), (3, 4.0, 2, 1e-4), (5, 2.0, 2, 1e-5)):
        most = least_bound(classes, scale, moved, delta)
        assert MoveNoise(classes=classes, scale=scale, most=most).delta(moved) <= delta
        assert MoveNoise(classes=classes, scale=scale, most=most - 1).delta(moved) > delta
    assert least_bound(2, 10.0, 10, 1e-6) == 137
    # the logarithm of (e - 1) / 2e-6, times 10
    assert least_bound(2, 10.0, 10, 1e-6) == math.ceil(10 * math.log1p((math.e - 1) / 2e-6))


def test_a_tiny_delta_is_rounded_up_and_never_nothing() -> None:
    from mpmath import mp, mpf

    with mp.workdps(60):
        for scale, most, moved in ((10.0, 137, 10), (0.3, 200, 2), (7.0, 4_800, 5), (1.3, 890, 1)):
            q = mp.exp(-1 / mpf(scale))
            edge = sum(q**z for z in range(most - moved + 1, most + 1))
            exact = edge / (1 + 2 * (q - q ** (most + 1)) / (1 - q))
            found = MoveNoise(classes=2, scale=scale, most=most).delta(moved)
            assert exact <= found <= exact * (1 + mpf(10) ** -12)
    for classes in (2, 3):
        assert MoveNoise(classes=classes, scale=1 / 700, most=3).delta(1) > 0


def test_no_number_passes_the_bound() -> None:
    noise = MoveNoise(classes=3, scale=5.0, most=4)
    drawn = [noise.noisy((10, 10, 10), SecureSampler()) for _ in range(300)]
    assert max(max(each) for each in drawn) == 14
    assert all(sum(each) == 30 for each in drawn)


@pytest.mark.parametrize(("classes", "scale", "bound"), [(2, 1.5, 3), (3, 0.9, 4), (4, 0.5, 2), (2, 0.3, 0)])
def test_what_passes_a_bound_on_average(classes: int, scale: float, bound: int) -> None:
    far = 40 if classes == 2 else 24 if classes == 3 else 12
    exact = sum(mass * sum(max(0, z - bound) for z in vector) for vector, mass in law(classes, scale, far).items())
    assert exact <= MoveNoise(classes=classes, scale=scale).beyond(bound) <= exact * (1 + 1e-6)


@pytest.mark.parametrize(("classes", "scale"), [(2, 1.5), (3, 0.9), (4, 0.5)])
def test_how_likely_one_class_gains_more(classes: int, scale: float) -> None:
    every = law(classes, scale, 40 if classes == 2 else 24 if classes == 3 else 12)
    bounds = np.arange(-6, 7)
    exact = [sum(mass for vector, mass in every.items() if vector[0] > bound) for bound in bounds.tolist()]
    noise = MoveNoise(classes=classes, scale=scale)
    found = noise.above(bounds)
    # the oracle's vectors end somewhere
    assert found == pytest.approx(exact, rel=1e-4)
    assert (found >= np.array(exact) * (1 - 1e-4 if classes > 2 else 1 - 1e-10)).all()
    assert noise.passes(3, 2) == pytest.approx(exact[7] + (classes - 1) * exact[9], rel=1e-4)
    places = sum(exact[9 + i] for i in (-2, -1, 0, 1)) if classes == 2 else exact[8] + exact[7] + 2 * exact[9]
    assert noise.other_places(3, 2) == pytest.approx(places, rel=1e-4)


def test_noise_needs_two_classes_and_a_scale() -> None:
    with pytest.raises(ParameterError, match="fewer than two"):
        MoveNoise(classes=1, scale=1.0)
    with pytest.raises(ParameterError):
        MoveNoise(classes=2, scale=0.0)
    with pytest.raises(RefusedError, match="classes the distance of secrets over epsilon"):
        MoveNoise(classes=3, scale=1e7, most=10).delta(1)
    # two classes have a formula
    assert least_bound(2, 1e9, 10**9, 1e-6) == math.ceil(1e9 * math.log1p((math.e - 1) / 2e-6))


def test_a_calibration_makes_the_first_count_private() -> None:
    calibration = bp.ColumnMechanism().calibrate(bp.example("hospital"), 'count(disease == "yes")', epsilon=1.0)
    noise = CalibratedCount(calibration=calibration)
    found = [noise.noisy((900, 9100), SecureSampler()) for _ in range(50)]
    assert all(sum(each) == 10_000 and min(each) >= 0 for each in found)
    assert len(set(found)) > 1
    assert noise.mean_moves == pytest.approx(calibration.expected_error)


def test_noise_is_larger_for_secrets_farther_apart() -> None:
    generator = random.Random(5)
    for _ in range(20):
        classes, scale = generator.randint(2, 5), generator.uniform(0.5, 6)
        most = generator.randint(6, 20)
        deltas = [MoveNoise(classes=classes, scale=scale, most=most).delta(moved) for moved in range(1, 6)]
        assert deltas == sorted(deltas)


def test_noise_that_is_bounded_within_the_distance_of_secrets_hides_nothing() -> None:
    assert (
        MoveNoise(classes=2, scale=1.0, most=2).delta(3) == MoveNoise(classes=3, scale=1.0, most=2).delta(3) == math.inf
    )


def test_only_what_a_class_gains_is_bounded() -> None:
    """Losses are not: the law given the bound is that of all vectors of which no number is larger."""
    noise, runs = MoveNoise(classes=3, scale=2.0, most=1), 4_000
    sampler, q = SeededSampler(np.random.default_rng(28)), math.exp(-1 / 2)
    found = Counter(tuple(sorted(noise.noisy([0, 0, 0], sampler))) for _ in range(runs))
    weights = {(0, 0, 0): 1.0, (-1, 0, 1): 6 * q, (-2, 1, 1): 3 * q**2}
    assert found.keys() == weights.keys()
    for vector, weight in weights.items():
        assert found[vector] / runs == pytest.approx(weight / sum(weights.values()), abs=0.03)
