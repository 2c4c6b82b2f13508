"""The directional mechanism: noise in the span of the gaps, and what the doubles that are released owe to rounding."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.core.distributions import Atoms, Normal
from bnpriv.core.gaussian_curve import gaussian_mu
from bnpriv.core.noise import Gaussian, Laplace, NoNoise
from bnpriv.errors import ParameterError
from bnpriv.mechanisms import directional
from bnpriv.mechanisms.directional import DirectionalLaplace, DirectionalMechanism, directions
from bnpriv.mechanisms.gaussian.noise import CorrelatedGaussian
from tests.unit.mechanisms.gaussian.test_added_covariance import squared_length
from tests.unit.mechanisms.gaussian.test_normal_mechanisms import with_table

LAPLACE, GAUSSIAN = DirectionalMechanism(), DirectionalMechanism(noise="gaussian")


def moved_by(*gaps: Sequence[float], atoms: bool = False) -> bp.DistributionPrivacy:
    """Return pairs of laws that are moved by gaps."""
    size = len(gaps[0])

    def law(centre: np.ndarray) -> object:
        return Atoms(np.stack([centre, centre + 1]), [0.3, 0.7]) if atoms else Normal(centre, np.eye(size))

    pairs = [(law(np.zeros(size)), law(np.array(gap, dtype=float))) for gap in gaps]
    return bp.DistributionPrivacy(pairs, source="a textbook")


@dataclass(frozen=True)
class Recorded:
    """A sampler that draws what it is told along the directions, and adds nothing in the last step."""

    draws: Sequence[float]
    scale: float

    def laplace(self, values: Sequence[float], scale: float) -> tuple[float, ...]:
        return tuple(self.draws) if scale == self.scale else tuple(values)

    gaussian = discrete_laplace = laplace


# --- directions ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(10))
def test_directions_are_orthonormal_and_hold_all_gaps(seed: int) -> None:
    rng = np.random.default_rng([1, seed])
    for _ in range(30):
        size = int(rng.integers(1, 8))
        rank = int(rng.integers(1, size + 1))
        basis = rng.normal(size=(rank, size)) * 10 ** rng.uniform(-3, 3)
        gaps = [rng.normal(size=rank) @ basis for _ in range(int(rng.integers(rank, rank + 5)))]
        rows = directions(gaps, 1)
        assert len(rows) == rank
        assert np.allclose(rows @ rows.T, np.eye(rank), atol=1e-12)
        for gap in gaps:
            assert np.allclose(rows.T @ (rows @ gap), gap, atol=1e-11 * np.linalg.norm(gap))


def test_the_better_basis_is_taken() -> None:
    gaps = [np.array([1.0, 1.0, 0.0]), np.array([1.0, -1.0, 0.0])]
    assert max(float(np.abs(directions(gaps, 1) @ gap).sum()) for gap in gaps) == pytest.approx(math.sqrt(2))
    gaps = [np.array([2.0, 0.0]), np.array([0.0, 3.0])]
    assert directions(gaps, 1).tolist() == [[1.0, 0.0], [0.0, 1.0]]


# --- scales ----------------------------------------------------------------------------------------------------------


def test_one_direction_takes_the_length_of_the_gap() -> None:
    for atoms in (False, True):
        calibration = LAPLACE.calibrate(moved_by([3, 4], [-1.5, -2], atoms=atoms), epsilon=0.5)
        assert isinstance(calibration.noise, DirectionalLaplace)
        assert 10 < calibration.noise.scale < 10 * (1 + 1e-5)
        assert calibration.expected_error == pytest.approx(10, rel=1e-4)
        assert calibration.guarantee.delta == 0.0
        noise = GAUSSIAN.calibrate(moved_by([3, 4], atoms=atoms), epsilon=0.5, delta=1e-3).noise
        assert isinstance(noise, CorrelatedGaussian)
        assert noise.covariance.trace() == pytest.approx((5 / gaussian_mu(0.5, 1e-3)) ** 2, rel=1e-4)


def test_one_number_and_full_spans_are_plain_noise() -> None:
    assert isinstance(LAPLACE.calibrate(moved_by([3]), epsilon=1.0).noise, Laplace)
    assert isinstance(GAUSSIAN.calibrate(moved_by([3]), epsilon=1.0, delta=1e-3).noise, Gaussian)
    axes = LAPLACE.calibrate(moved_by([2, 0], [0, 3]), epsilon=1.0).noise
    assert isinstance(axes, Laplace)
    assert axes.scale == pytest.approx(3, rel=1e-5)
    plane = GAUSSIAN.calibrate(moved_by([2, 0], [0, 3]), epsilon=1.0, delta=1e-3).noise
    assert isinstance(plane, Gaussian)
    assert plane.scale == pytest.approx(3 / gaussian_mu(1.0, 1e-3), rel=1e-5)
    assert LAPLACE.calibrate(moved_by([0, 0]), epsilon=1.0).noise == NoNoise(2)


def test_refusals() -> None:
    assert "delta above 0" in GAUSSIAN.supports(moved_by([1, 2]), epsilon=1.0).required
    uneven = bp.DistributionPrivacy([(Normal(0, 4), Normal(0, 1))], source="a textbook")
    assert "differ by" in LAPLACE.supports(uneven, epsilon=1.0).found
    textbook = DirectionalMechanism(noise="gaussian", constant="textbook")
    assert "is proved" in textbook.supports(moved_by([1, 2]), epsilon=2.0, delta=1e-3).required
    with pytest.raises(ParameterError):
        DirectionalMechanism(noise="normal")


# --- what is told, computed apart from the code ----------------------------------------------------------------------


def told_by_laplace(noise: DirectionalLaplace, gaps: Sequence[np.ndarray], reach: float, rounding: float) -> float:
    """Return epsilon of the released doubles by docs/claims/directional.md, in fractions."""
    rows = [[Fraction(entry) for entry in row] for row in noise.directions]
    size, worst, unit = noise.dimension, Fraction(0), Fraction(1, 2**53)
    lengths = [sum(abs(entry) for entry in row) * Fraction(reach) for row in rows]
    for gap in gaps:
        exact = [Fraction(float(entry)) for entry in gap]
        along = [sum(a * b for a, b in zip(row, exact, strict=True)) for row in rows]
        cost = (sum(map(abs, along)) + len(rows) * Fraction(rounding)) / Fraction(noise.scale)
        for j in range(size):
            if noise.dithers[j] == 0:
                assert exact[j] == 0
                continue
            across = abs(exact[j] - sum(row[j] * u for row, u in zip(rows, along, strict=True)))
            far = sum(
                abs(row[j]) * (Fraction(limit) + length)
                for row, limit, length in zip(rows, noise.limits, lengths, strict=True)
            )
            off = unit * (2 * far + Fraction(reach))
            cost += (across + (1 + len(rows)) * Fraction(rounding) + 2 * off) / Fraction(noise.dithers[j])
        worst = max(worst, cost)
    return float(worst)


@pytest.mark.parametrize(("offset", "spread"), [(0.0, 1.0), (2.0**30, 1e3), (2.0**40, 1.0), (2.0**48, 0.01)])
def test_the_released_doubles_of_a_table_are_private(offset: float, spread: float) -> None:
    framework = with_table(offset, spread)
    calibration = LAPLACE.calibrate(framework, framework.query, epsilon=0.5)
    assert isinstance(calibration.noise, DirectionalLaplace)
    [(first, second)] = framework.pairs
    reach = offset + 60.0
    told = told_by_laplace(calibration.noise, [first.mean - second.mean], reach, 2 * 2.0**-53 * reach)
    assert told <= 0.5
    noisy = GAUSSIAN.calibrate(framework, framework.query, epsilon=0.5, delta=1e-3).noise
    assert isinstance(noisy, CorrelatedGaussian)
    half = np.diag(np.square(noisy.dithers)) / 2
    length = squared_length(first.mean - second.mean, half, np.array(noisy.needed))
    longest = 2 + math.sqrt(2 * (41 * math.log(2) - math.log(1e-3) + 0.5))
    moved = [2.0**-53 * (2 * reach + 4 * longest * math.sqrt(noisy.needed[k][k])) + 2.0**-52 * reach for k in range(2)]
    last = sum(2 * (far / dither) ** 2 for far, dither in zip(moved, noisy.dithers, strict=True))
    assert math.sqrt(length + last) <= gaussian_mu(0.5, 1e-3)


@pytest.mark.parametrize("seed", range(8))
def test_random_gaps_are_private(seed: int) -> None:
    rng = np.random.default_rng([2, seed])
    for _ in range(10):
        size = int(rng.integers(2, 7))
        rank = int(rng.integers(1, size + 1))
        basis = rng.normal(size=(rank, size)) * 10 ** rng.uniform(-2, 2, size)
        framework = moved_by(*(rng.normal(size=rank) @ basis for _ in range(rank + 1)))
        gaps = [first.mean - second.mean for first, second in framework.pairs]
        noise = LAPLACE.calibrate(framework, epsilon=0.7).noise
        if isinstance(noise, Laplace):
            assert max(float(np.abs(gap).sum()) for gap in gaps) <= 0.7 * noise.scale
        else:
            assert told_by_laplace(noise, gaps, 0.0, 0.0) <= 0.7
        noise = GAUSSIAN.calibrate(framework, epsilon=0.7, delta=1e-4).noise
        ratio = Fraction(gaussian_mu(0.7, 1e-4)) ** 2
        half = np.diag(np.square(noise.dithers)) / 2 if isinstance(noise, CorrelatedGaussian) else np.zeros((size,) * 2)
        main = np.array(noise.needed) if isinstance(noise, CorrelatedGaussian) else noise.covariance
        assert max(squared_length(gap, half, main) for gap in gaps) <= ratio


# --- laws that are translations only nearly ---------------------------------------------------------------------------


def test_what_leaves_a_translation_is_hidden_in_all_directions() -> None:
    """Two atoms that are off the gap by .05; the loss of the exact densities on a grid of outputs, by plain sums."""
    first = Atoms([[0.0, 0.0], [1.0, 2.0]], [0.5, 0.5])
    second = Atoms([[3.0, 4.05], [4.05, 6.0]], [0.5, 0.5])
    framework = bp.DistributionPrivacy([(first, second)], source="a textbook")
    assert "leave it by" in LAPLACE.supports(framework, epsilon=1.0).found
    noise = DirectionalMechanism(nearly=True).calibrate(framework, epsilon=1.0).noise
    assert isinstance(noise, DirectionalLaplace)
    assert min(noise.dithers) > 0.05
    assert 5 < noise.scale < 8
    direction, worst = np.array(noise.directions[0]), 0.0
    steps = np.linspace(-40 * noise.scale, 40 * noise.scale, 40_001)
    for output in np.random.default_rng(5).normal(size=(150, 2)) * 10 + [2, 3]:
        logs = []
        for law in (first, second):
            density = 0.0
            for point in law.points:
                left = output - point - steps[:, None] * direction
                inner = np.abs(left / np.array(noise.dithers)).sum(axis=1) + np.abs(steps) / noise.scale
                density += math.exp(-inner.min()) * float(np.exp(inner.min() - inner).sum())
            logs.append(math.log(density))
        worst = max(worst, abs(logs[0] - logs[1]))
    assert 0.3 < worst <= 1.0
    gaussian = DirectionalMechanism(noise="gaussian", nearly=True).calibrate(framework, epsilon=1.0, delta=1e-3).noise
    assert isinstance(gaussian, CorrelatedGaussian)
    assert min(gaussian.dithers) > 0.1 * math.sqrt(2) / gaussian_mu(1.0, 1e-3)


def test_normal_laws_are_never_nearly_translations() -> None:
    """Their tails are infinitely far from each other."""
    framework = bp.DistributionPrivacy([(Normal(0, 4), Normal(0, 1))], source="a textbook")
    assert DirectionalMechanism(nearly=True).supports(framework, epsilon=1.0) is not None


# --- the noise -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("offset", [0.0, 2.0**40, 2.0**60])
def test_rounding_moves_no_further_than_is_paid_for(offset: float) -> None:
    """Also for draws so large that coordinates are clamped, exactly and rounded on the same side."""
    rng = np.random.default_rng(3)
    rows = np.linalg.qr(rng.normal(size=(3, 2)))[0].T
    reach = np.full(3, offset + 1)
    limits = directional.limits_for(2.0, rows, reach)
    bound = directional.moved_by_rounding(rows, limits, reach)
    noise = DirectionalLaplace(
        scale=2.0, directions=tuple(map(tuple, rows.tolist())), limits=tuple(limits.tolist()), dithers=(1e9,) * 3
    )
    exact_rows = [[Fraction(entry) for entry in row] for row in noise.directions]
    for k in range(300):
        draws = rng.laplace(scale=2.0, size=2) * (1e40 if k % 3 == 0 else 1.0)
        value = [offset + float(rng.uniform()) for _ in range(3)]
        ideal = [Fraction(number) for number in value]
        for row, draw, limit in zip(exact_rows, draws.tolist(), limits.tolist(), strict=True):
            along = sum(a * Fraction(b) for a, b in zip(row, value, strict=True))
            before = Fraction(draw) * (1 + Fraction(int(rng.choice([-1, 1])), 2**53))  # before it was rounded
            clamped = min(max(along + before, -Fraction(limit)), Fraction(limit))
            ideal = [number + entry * (clamped - along) for number, entry in zip(ideal, row, strict=True)]
        moved = noise.sample(value, Recorded(draws.tolist(), 2.0))
        assert all(abs(Fraction(a) - b) <= Fraction(float(r)) for a, b, r in zip(moved, ideal, bound, strict=True))


def test_quantiles_of_noise_with_a_large_last_step() -> None:
    """Nearly all of the probability of an error went to the noise along the directions, however small that was."""
    noise = DirectionalLaplace(scale=3.333, directions=((0.8, -0.6),), limits=(500.0,), dithers=(2.0, 2.0))
    rng = np.random.default_rng(3)
    draws = rng.laplace(size=(40_000, 1)) * 3.333 * np.array([0.8, -0.6]) + rng.laplace(scale=2.0, size=(40_000, 2))
    for p in (0.5, 0.95, 0.999):
        held = (np.abs(draws) <= noise.quantiles(p)).all(axis=1).mean()
        assert held >= p - 0.005
    exact = np.quantile(np.abs(draws).max(axis=1), 0.95)
    assert noise.quantile(0.95) < 1.9 * exact


def test_errors_and_quantiles_are_those_of_the_draws() -> None:
    rng = np.random.default_rng(4)
    rows = np.linalg.qr(rng.normal(size=(4, 2)))[0].T
    noise = DirectionalLaplace(
        scale=3.0, directions=tuple(map(tuple, rows.tolist())), limits=(1e4, 1e4), dithers=(1e-3,) * 4
    )
    draws = rng.laplace(scale=3.0, size=(200_000, 2)) @ rows + rng.laplace(scale=1e-3, size=(200_000, 4))
    assert np.allclose(np.cov(draws.T), noise.covariance, atol=0.2)
    for norm in (1, 2, math.inf):
        found = noise.error(norm)
        mean = float(np.linalg.norm(draws, norm, axis=1).mean())
        assert found.lower * 0.995 <= mean <= found.upper * 1.005
    assert noise.error(2).upper == pytest.approx(float(np.linalg.norm(draws, axis=1).mean()), rel=0.01)
    for p in (0.5, 0.95):
        assert (np.abs(draws) <= noise.quantiles(p)).all(axis=1).mean() >= p - 0.01
        assert (np.abs(draws).max(axis=1) <= noise.quantile(p)).mean() >= p - 0.01


def test_release_and_stored_calibrations() -> None:
    import pandas as pd

    framework = with_table()
    calibration = LAPLACE.calibrate(framework, framework.query, epsilon=0.5)
    again = bp.types.Calibration.from_json(calibration.to_json(), framework)
    assert again.noise == calibration.noise
    table = pd.DataFrame({"a": [0.0, 20.0] * 50, "b": [5.0, 35.0] * 50})
    released = bp.release(calibration, table)
    for (low, high), exact in zip(released.interval(0.999999), (10.0, 20.0), strict=True):
        assert low <= exact <= high
    # across the direction next to nothing is added
    rows = np.array(calibration.noise.directions[0])
    across = np.array([-rows[1], rows[0]])
    assert abs(across @ (np.array(released.value) - [10.0, 20.0])) < 0.01


@pytest.mark.parametrize(
    "wrong",
    [
        {"scale": 0.0},
        {"limits": (1.0, 2.0)},
        {"limits": (0.0,)},
        {"dithers": (1.0, 0.0)},
        {"dithers": (1.0,)},
        {"directions": ()},
    ],
)
def test_noise_that_does_not_fit_is_refused(wrong: dict[str, object]) -> None:
    right = {"scale": 1.0, "directions": ((0.6, 0.8),), "limits": (100.0,), "dithers": (0.1, 0.1)}
    DirectionalLaplace(**right)
    with pytest.raises(ParameterError):
        DirectionalLaplace(**{**right, **wrong})


# --- planted bugs ----------------------------------------------------------------------------------------------------


@pytest.mark.mutants
def test_mutant_that_leaves_rounding_out(monkeypatch: pytest.MonkeyPatch) -> None:
    real = directional.moved_by_rounding
    monkeypatch.setattr(directional, "moved_by_rounding", lambda *a: real(*a) / 100)
    with pytest.raises(AssertionError):
        test_random_gaps_are_private(0)


@pytest.mark.mutants
def test_mutant_that_looks_at_one_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    real = directional._Shape.laplace_scale
    monkeypatch.setattr(directional._Shape, "laplace_scale", lambda shape, each, *a: real(shape, shape.moved[0], *a))
    with pytest.raises(AssertionError):
        test_random_gaps_are_private(0)
