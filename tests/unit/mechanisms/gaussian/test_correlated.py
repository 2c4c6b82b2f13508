"""Noise with a covariance: what is drawn, how far rounding moves it, and the errors that are told of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
import pytest

from bnpriv.core.noise import SecureSampler
from bnpriv.errors import ParameterError
from bnpriv.mechanisms.gaussian.noise import CorrelatedGaussian

# one number in units a million times as large as the other: the factor is far from symmetric
COVARIANCE = np.array([[4e12, 3e6, 1e6], [3e6, 9.0, 0.5], [1e6, 0.5, 1.0]])


@dataclass
class Recorded:
    """A sampler that draws what it is told for the first step, and adds nothing in the last one."""

    draws: Sequence[float]
    last: list[tuple[float, float]] = field(default_factory=list)

    def gaussian(self, values: Sequence[float], scale: float) -> tuple[float, ...]:
        if not self.last and all(value == 0 for value in values) and scale == 1.0:
            self.last.append((0.0, 1.0))
            return tuple(self.draws)
        self.last += [(value, scale) for value in values]
        return tuple(values)

    def laplace(self, values: Sequence[float], scale: float) -> tuple[float, ...]:
        raise AssertionError

    def discrete_laplace(self, values: Sequence[float], scale: float) -> tuple[float, ...]:
        raise AssertionError


@dataclass(frozen=True)
class Seeded:
    rng: np.random.Generator

    def gaussian(self, values: Sequence[float], scale: float) -> tuple[float, ...]:
        return tuple(float(value + scale * self.rng.normal()) for value in values)

    laplace = discrete_laplace = gaussian


def sampled_covariance(noise: CorrelatedGaussian) -> np.ndarray:
    """Return the covariance of what `sample` does, from what it does to each unit draw."""
    columns = [noise.sample([0.0] * noise.dimension, Recorded(row)) for row in np.eye(noise.dimension)]
    return np.array(columns).T @ np.array(columns) + np.diag(np.square(noise.dithers))


def test_what_is_drawn_has_at_least_the_covariance_that_is_needed() -> None:
    noise = CorrelatedGaussian(COVARIANCE)
    units = np.sqrt(np.diag(COVARIANCE))
    found = sampled_covariance(noise) / units / units[:, None]
    needed = COVARIANCE / units / units[:, None]
    assert np.linalg.eigvalsh(found - needed).min() >= 0.9 * 2.0**-20
    assert np.abs(found - needed).max() <= 1.1 * 2.0**-20
    assert np.allclose(noise.covariance / units / units[:, None], found, rtol=0, atol=1e-12)


def test_random_covariances_of_every_rank_are_drawn() -> None:
    rng = np.random.default_rng(1)
    for _ in range(100):
        size = int(rng.integers(1, 7))
        root = rng.normal(size=(size, int(rng.integers(1, size + 1)))) * 10 ** rng.uniform(-4, 4, (size, 1))
        noise = CorrelatedGaussian(root @ root.T)
        units = np.sqrt(np.diag(root @ root.T))
        apart = (sampled_covariance(noise) - root @ root.T) / units / units[:, None]
        assert np.linalg.eigvalsh(apart).min() >= 0.5 * 2.0**-20


def test_the_last_step_draws_exact_noise_for_every_number() -> None:
    noise, sampler = CorrelatedGaussian(COVARIANCE), Recorded([0.3, -1.0, 2.0])
    noise.sample([5.0, 6.0, 7.0], sampler)
    assert sorted(scale for _, scale in sampler.last[1:]) == sorted(noise.dithers)
    assert noise.dithers == tuple((2.0**-10 * np.sqrt(np.diag(COVARIANCE))).tolist())


def test_numbers_that_need_no_noise_are_left_alone() -> None:
    noise = CorrelatedGaussian(np.diag([0.0, 4.0]))
    assert noise.sample([0.1, 0.2], SecureSampler())[0] == 0.1
    assert noise.scales[0] == 0.0


@pytest.mark.parametrize("offset", [0.0, 2.0**40, 2.0**60])
def test_rounding_moves_no_further_than_is_paid_for(offset: float) -> None:
    """Hostile offsets: the sum before the last step against exact fractions with draws before they are rounded."""
    rng = np.random.default_rng(2)
    noise = CorrelatedGaussian(COVARIANCE)
    bound = noise.moved([offset + 1] * 3, math.log(1e-12))
    for _ in range(300):
        z = rng.normal(size=3)
        value = [offset + float(rng.uniform()) for _ in range(3)]
        exact = [Fraction(float(each)) * (1 + Fraction(int(rng.choice([-1, 1])), 2**53)) for each in z]
        factor = noise.factor.tolist()
        ideal = [
            Fraction(number) + sum(Fraction(entry) * draw for entry, draw in zip(row, exact, strict=True))
            for number, row in zip(value, factor, strict=True)
        ]
        moved = noise.sample(value, Recorded(z.tolist()))
        assert all(abs(Fraction(a) - b) <= Fraction(float(r)) for a, b, r in zip(moved, ideal, bound, strict=True))


def test_draws_are_those_of_the_covariance() -> None:
    noise = CorrelatedGaussian([[4.0, -3.0, 0.0], [-3.0, 9.0, 2.0], [0.0, 2.0, 1.0]])
    sampler = Seeded(np.random.default_rng(3))
    draws = np.array([noise.sample([1.0, 2.0, 3.0], sampler) for _ in range(5000)]) - [1.0, 2.0, 3.0]
    assert np.allclose(np.cov(draws.T), noise.covariance, atol=0.5)
    lengths = np.linalg.norm(draws, axis=1)
    assert noise.error(2).lower == pytest.approx(lengths.mean(), rel=0.04)
    assert noise.error(1).upper == pytest.approx(np.abs(draws).sum(axis=1).mean(), rel=0.04)
    largest = np.abs(draws).max(axis=1)
    assert noise.error(math.inf).lower <= largest.mean() * 1.01
    assert noise.error(math.inf).upper >= largest.mean() * 0.99
    assert 0.94 <= (largest <= noise.quantile(0.95)).mean() <= 0.975
    assert (np.abs(draws) <= noise.quantiles(0.9)).all(axis=1).mean() >= 0.89


def test_secure_draws() -> None:
    noise = CorrelatedGaussian([[1.0, -0.9], [-0.9, 1.0]])
    draws = np.array([noise.sample([0.0, 0.0], SecureSampler()) for _ in range(400)])
    assert np.corrcoef(draws.T)[0, 1] == pytest.approx(-0.9, abs=0.06)


@pytest.mark.parametrize(
    "needed",
    [
        [[1.0, 2.0], [2.0, 1.0]],
        [[1.0, 0.5], [0.2, 1.0]],
        [[0.0]],
        [[math.nan]],
        [[-1.0]],
        [[0.0, 1.0], [1.0, 1.0]],
        [1.0, 2.0],
    ],
)
def test_what_is_no_covariance_is_refused(needed: object) -> None:
    with pytest.raises(ParameterError, match="needs a covariance"):
        CorrelatedGaussian(needed)


def test_too_little_noise_in_the_last_step_is_refused() -> None:
    for dithers in ([0.0], [math.nan], [1.0, 1.0]):
        with pytest.raises(ParameterError, match=r"drawn last|must be finite"):
            CorrelatedGaussian([[4.0]], dithers)


# --- planted bugs ----------------------------------------------------------------------------------------------------


@pytest.mark.mutants
def test_mutant_with_the_factor_transposed(monkeypatch: pytest.MonkeyPatch) -> None:
    real = CorrelatedGaussian.factor.func
    monkeypatch.setattr(CorrelatedGaussian, "factor", property(lambda noise: real(noise).T))
    with pytest.raises(AssertionError):
        test_what_is_drawn_has_at_least_the_covariance_that_is_needed()
    with pytest.raises(AssertionError):
        test_random_covariances_of_every_rank_are_drawn()
    with pytest.raises(AssertionError):
        test_draws_are_those_of_the_covariance()


def test_every_entry_of_a_covariance_is_a_number_of_its_own() -> None:
    """More of one scale is always enough; of a matrix nothing is known about models that were not drawn."""
    assert [CorrelatedGaussian(np.eye(k)).free_numbers for k in (2, 3, 5)] == [3, 6, 15]
    assert CorrelatedGaussian(COVARIANCE).free_numbers == 6
