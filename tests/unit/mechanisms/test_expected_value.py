"""The expected value mechanism: translations of normal laws and of atoms, and by how much others fail to be one."""

from __future__ import annotations

import math

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.core.distributions import Atoms, Normal
from bnpriv.core.gaussian_curve import gaussian_delta, gaussian_ratio
from bnpriv.core.noise import Gaussian, Laplace, NoNoise
from bnpriv.errors import RefusedError
from bnpriv.mechanisms.directional import ExpectedValueMechanism
from tests.contract.test_law_mechanisms import hockey_stick, law_loss

LAPLACE, GAUSSIAN = ExpectedValueMechanism(), ExpectedValueMechanism(noise="gaussian")
SPREAD = [[22.0, -6.0], [-6.0, 13.0]]
EXAMPLE = bp.DistributionPrivacy([(Normal([100, 101], SPREAD), Normal([99, 102], SPREAD))], source="a textbook")


def declared(*pairs: tuple[object, object]) -> bp.DistributionPrivacy:
    return bp.DistributionPrivacy(list(pairs), source="a textbook")


def test_theorem_4_5_example_needs_more_with_noise_that_is_the_same_everywhere() -> None:
    textbook = ExpectedValueMechanism(noise="gaussian", constant="textbook")
    noise = textbook.calibrate(EXAMPLE, epsilon=1.0, delta=1e-3).noise
    assert noise.covariance.trace() == pytest.approx(57.05, abs=0.005)
    assert isinstance(noise, Gaussian)
    noise = LAPLACE.calibrate(EXAMPLE, epsilon=0.5).noise
    assert isinstance(noise, Laplace)
    assert noise.dimension == 2
    assert noise.scale == pytest.approx(4.0, rel=1e-12)


@pytest.mark.parametrize("gap", [[1e-170, 0.0], [0.0, -3e-163], [1e-158, 1e-158], [5e-324, 0.0]])
def test_gaps_whose_squares_are_no_doubles(gap: list[float]) -> None:
    """Hostile numbers: such a gap has no square, and got no noise at all, or less than it needs."""
    framework = declared((Atoms([[0.0, 0.0]], [1.0]), Atoms([gap], [1.0])))
    least = math.hypot(*gap) / gaussian_ratio(1.0, 1e-3)
    for mechanism in (GAUSSIAN, LAPLACE):
        noise = mechanism.calibrate(framework, epsilon=1.0, delta=1e-3).noise
        assert not isinstance(noise, NoNoise)
    assert min(GAUSSIAN.calibrate(framework, epsilon=1.0, delta=1e-3).noise.scales) >= least
    normal = declared((Normal([0.0, 0.0], np.eye(2)), Normal(gap, np.eye(2))))
    assert min(GAUSSIAN.calibrate(normal, epsilon=1.0, delta=1e-3).noise.scales) >= least


@pytest.mark.parametrize("seed", range(20))
def test_atoms_against_the_exact_loss(seed: int) -> None:
    rng = np.random.default_rng([1, seed])
    size, shift = int(rng.integers(2, 7)), float(rng.choice([0.1, 1.0, 2.5, -3.0]))
    points = np.sort(rng.choice(20, size, replace=False)) * float(rng.choice([0.1, 1.0]))
    masses = rng.dirichlet(np.full(size, 0.5))
    f = {(x,): p for x, p in zip(points.tolist(), masses.tolist(), strict=True)}
    g = {(x + shift,): p for x, p in zip(points.tolist(), masses.tolist(), strict=True)}
    pair = Atoms(points, masses), Atoms(points + shift, masses)
    epsilon = float(rng.uniform(0.1, 2))
    calibration = LAPLACE.calibrate(declared(pair), epsilon=epsilon)
    assert calibration.scale == pytest.approx(abs(shift) / epsilon, rel=1e-6)
    assert law_loss(f, g, calibration.scale) <= epsilon * (1 + 1e-12)
    assert calibration.guarantee.delta == 0.0
    noisy = GAUSSIAN.calibrate(declared(pair), epsilon=epsilon, delta=1e-3)
    assert noisy.scale == pytest.approx(abs(shift) / gaussian_ratio(epsilon, 1e-3), rel=1e-6)
    assert max(hockey_stick(*way, noisy.scale, epsilon, "gaussian") for way in ((f, g), (g, f))) <= 1e-3


def test_several_numbers_take_the_norm_of_the_noise() -> None:
    pair = Atoms([[0, 0], [1, 5]], [0.5, 0.5]), Atoms([[3, -4], [4, 1]], [0.5, 0.5])
    assert LAPLACE.calibrate(declared(pair), epsilon=1.0).scale == pytest.approx(7.0, rel=1e-9)
    scale = GAUSSIAN.calibrate(declared(pair), epsilon=1.0, delta=1e-3).scale
    assert gaussian_delta(5 / scale, 1.0) <= 1e-3
    assert scale == pytest.approx(5 * 2.57466, rel=1e-5)


def test_all_pairs_count() -> None:
    pairs = [(Normal(0, 1), Normal(gap, 1)) for gap in (1.0, 3.0, 2.0)]
    assert LAPLACE.calibrate(declared(*pairs), epsilon=1.0).scale == pytest.approx(3.0, rel=1e-12)
    assert LAPLACE.calibrate(declared(*pairs[::-1]), epsilon=1.0).scale == pytest.approx(3.0, rel=1e-12)


def test_the_same_law_twice_needs_no_noise() -> None:
    calibration = LAPLACE.calibrate(declared((Normal(1, 1), Normal(1, 1))), epsilon=1.0)
    assert calibration.noise == NoNoise(1)
    assert calibration.certificate.zero_noise_reason


@pytest.mark.parametrize(
    ("first", "second", "found"),
    [
        (Normal(0, 4), Normal(0, 1), "differ by 3"),
        (Normal([0, 0], np.ones((2, 2))), Normal([1, 1], np.ones((2, 2))), "singular"),
        (Atoms([0, 1], [0.5, 0.5]), Atoms([0, 1], [0.4, 0.6]), "0.1 in total variation"),
        (Atoms([0, 1], [0.5, 0.5]), Atoms([0, 1, 2], [0.4, 0.5, 0.1]), "2 and 3 possible answers"),
        (Atoms([0, 1], [0.5, 0.5]), Atoms([0, 3], [0.5, 0.5]), "leave it by 1"),
    ],
)
def test_what_is_no_translation_is_measured(first: object, second: object, found: str) -> None:
    framework = declared((first, second))
    for mechanism, delta in ((LAPLACE, 0.0), (GAUSSIAN, 1e-3)):
        with pytest.raises(RefusedError, match=found):
            mechanism.calibrate(framework, epsilon=1.0, delta=delta)


def test_refusals() -> None:
    assert "delta above 0" in GAUSSIAN.supports(EXAMPLE, epsilon=1.0).required
    textbook = ExpectedValueMechanism(noise="gaussian", constant="textbook")
    assert "is proved" in textbook.supports(EXAMPLE, epsilon=2.0, delta=1e-3).required
    beyond = ExpectedValueMechanism(noise="gaussian", constant="textbook", beyond_proof=True)
    assert beyond.calibrate(EXAMPLE, epsilon=10.0, delta=1e-3).guarantee.delta > 1e-3
    nearly = declared((Normal(0, 1), Normal(1, 1 + 1e-13)))
    assert "Laplace noise" in LAPLACE.supports(nearly, epsilon=1.0).found
    assert GAUSSIAN.supports(nearly, epsilon=1.0, delta=1e-3) is None
    assert "by rounding" in GAUSSIAN.supports(nearly, epsilon=1.0, delta=1e-14).required


def test_other_notions_are_refused_or_served() -> None:
    student = bp.example("student")
    assert LAPLACE.supports(student, "count(height > 180)", epsilon=1.0) is not None
    schema = bp.Schema(records=3, columns={"x": bp.Integer(0, 9)})
    laws = (Normal(3.0, 1.0), Normal(5.0, 1.0))
    framework = bp.DistributionPrivacy([laws], query=bp.mean("x"), schema=schema, source="a textbook")
    calibration = LAPLACE.calibrate(framework, epsilon=1.0)
    assert 2.0 < calibration.scale < 2.0 * (1 + 1e-9)
    again = bp.types.Calibration.from_json(calibration.to_json(), framework)
    assert again.noise == calibration.noise
    import pandas as pd

    released = bp.release(calibration, pd.DataFrame({"x": [1, 2, 3]}))
    assert math.isfinite(released.value)


@pytest.mark.mutants
def test_mutant_that_looks_at_one_pair(monkeypatch: pytest.MonkeyPatch) -> None:
    from bnpriv.mechanisms import directional as moved_laws

    real = moved_laws.translations
    monkeypatch.setattr(moved_laws, "translations", lambda evidence, **options: real(evidence, **options)[:1])
    with pytest.raises(AssertionError):
        test_all_pairs_count()


def test_rounding_of_the_answer_is_paid_for() -> None:
    """A mean near 2^40 is rounded to doubles that are 2^-12 apart, as far as the laws are from each other."""
    query, schema = bp.mean("x"), bp.Schema(records=3, columns={"x": bp.Integer(2**40, 2**40 + 3)})
    first, second = (Atoms([2.0**40 + gap, 2.0**40 + 1 + gap], [0.5, 0.5]) for gap in (0.0, 2.0**-12))
    framework = bp.DistributionPrivacy([(first, second)], query=query, schema=schema, source="a textbook")
    alone = LAPLACE.calibrate(declared((first, second)), epsilon=1.0).scale
    released = LAPLACE.calibrate(framework, query, epsilon=1.0).scale
    assert alone == pytest.approx(2.0**-12)
    assert released >= alone + 2.0**-12
