"""Noise with weights: a scale for each number, exact powers of two apart."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest

from bnpriv.core.noise import DiscreteLaplace, Gaussian, Laplace, NoNoise, power_of_two
from bnpriv.errors import ParameterError

LAWS = [Laplace, Gaussian, DiscreteLaplace]


class Recorder:
    """Adds no noise, and keeps what was asked for."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, tuple[float, ...], float]] = []

    def _keep(self, law: str, values: Sequence[float], scale: float) -> tuple[float, ...]:
        self.asked.append((law, tuple(values), scale))
        return tuple(values)

    def laplace(self, values: Sequence[float], scale: float) -> tuple[float, ...]:
        return self._keep("laplace", values, scale)

    def gaussian(self, values: Sequence[float], scale: float) -> tuple[float, ...]:
        return self._keep("gaussian", values, scale)

    def discrete_laplace(self, values: Sequence[float], scale: float) -> tuple[float, ...]:
        return self._keep("discrete_laplace", values, scale)


@pytest.mark.parametrize("weight", [1e-300, 2.0**-40, 0.1, 0.7, 0.75, 1.0, math.pi, 1e17, 2.0**60, 3e300])
def test_a_weight_is_the_power_of_two_that_is_nearest_by_ratio(weight):
    found = power_of_two(weight)
    assert math.frexp(found)[0] == 0.5
    assert max(found / weight, weight / found) <= math.sqrt(2) * (1 + 1e-15)


@pytest.mark.parametrize("law", LAWS)
def test_scales_are_divided_exactly(law):
    noise = law(0.1, 4, (1, 3.1, 0.25, 2.0**40))
    assert noise.weights == (1.0, 4.0, 0.25, 2.0**40)
    assert noise.scales == (0.1, 0.025, 0.4, math.ldexp(0.1, -40))
    assert [scale * weight for scale, weight in zip(noise.scales, noise.weights, strict=True)] == [0.1] * 4


@pytest.mark.parametrize("law", LAWS)
def test_weights_of_one_are_no_weights(law):
    assert law(2.0, 3, (1, 1.2, 0.9)) == law(2.0, 3)
    assert law(2.0, 3).scales == (2.0, 2.0, 2.0)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("bad", [(1,), (1, 2, 3), (1, 0), (1, -1), (1, math.nan), (1, math.inf), (1, True), (1, "2")])
def test_bad_weights_are_refused(law, bad):
    with pytest.raises(ParameterError):
        law(1.0, 2, bad)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(("scale", "weight"), [(1e300, 2.0**-200), (1e-290, 2.0**60)])
def test_scales_that_are_no_doubles_are_refused(law, scale, weight):
    with pytest.raises(ParameterError, match="closer together"):
        law(scale, 2, (1, weight))


@pytest.mark.parametrize("law", LAWS)
def test_each_number_gets_noise_of_its_own_scale(law):
    sampler = Recorder()
    assert law(8.0, 4, (1, 4, 1, 2)).sample([1, 2, 3, 4], sampler) == (1, 2, 3, 4)
    assert {(values, scale) for _, values, scale in sampler.asked} == {((2,), 2.0), ((4,), 4.0), ((1, 3), 8.0)}


@pytest.mark.parametrize("noise", [Laplace(8.0, 3), Gaussian(8.0, 3), DiscreteLaplace(8.0, 3)])
def test_equal_scales_are_drawn_at_once(noise):
    sampler = Recorder()
    noise.sample([3, 1, 2], sampler)
    assert [(values, scale) for _, values, scale in sampler.asked] == [((3, 1, 2), 8.0)]


@pytest.mark.parametrize(("law", "draw"), [(Laplace, "laplace"), (Gaussian, "normal")])
@pytest.mark.parametrize("weights", [(1, 2, 0.25), (1, 1024, 1, 4), (1, 2.0**-30), (1, 2.0**60, 2.0**50)])
def test_errors_and_quantiles_agree_with_simulation(law, draw, weights):
    random = np.random.default_rng(len(weights))
    noise = law(2.0, len(weights), weights)
    draws = getattr(random, draw)(scale=noise.scales, size=(100_000, len(weights)))
    for norm in (1, 2, math.inf):
        lengths = np.linalg.norm(draws, ord=norm, axis=1)
        bound = noise.error(norm)
        assert abs(lengths.mean() - bound.upper) < 6 * lengths.std() / math.sqrt(len(lengths))
        assert 0 <= bound.upper - bound.lower < 1e-9 * bound.upper
    for p in (0.5, 0.95, 0.999):  # 6 standard deviations of a share of 100,000
        off = 6 * math.sqrt(p * (1 - p) / 100_000)
        assert abs((np.abs(draws).max(axis=1) <= noise.quantile(p)).mean() - p) < off
        assert abs((np.abs(draws) <= noise.quantiles(p)).all(axis=1).mean() - p) < off


@pytest.mark.parametrize("law", [Laplace, Gaussian])
@pytest.mark.parametrize("dimension", [2, 3, 9])
def test_the_general_integral_agrees_with_equal_scales(law, dimension):
    plain, doubled = law(3.0, dimension), law(6.0, dimension, (2,) * dimension)
    for norm in (1, 2, math.inf):
        assert math.isclose(plain.error(norm).upper, doubled.error(norm).upper, rel_tol=1e-11)
    assert math.isclose(plain.quantile(0.9), doubled.quantile(0.9), rel_tol=1e-11)


def test_the_mean_length_of_two_normal_numbers_is_an_elliptic_integral():
    from scipy.special import ellipe

    # E sqrt(a^2 X^2 + b^2 Y^2) = a sqrt(2 / pi) E(1 - b^2 / a^2) for a >= b
    bound = Gaussian(4.0, 2, (1, 8)).error(2)
    exact = 4 * math.sqrt(2 / math.pi) * ellipe(1 - 1 / 64)
    assert bound.lower <= exact * (1 + 1e-13)
    assert exact <= bound.upper * (1 + 1e-13)


@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_discrete_errors_and_quantiles_agree_with_enumeration(dimension):
    noise = DiscreteLaplace(2.0, dimension, (1, 4, 2)[:dimension])
    numbers = np.arange(-150, 151)
    masses = [np.exp(-np.abs(numbers) / scale) / np.exp(-np.abs(numbers) / scale).sum() for scale in noise.scales]
    one = math.fsum(float(np.abs(numbers) @ mass) for mass in masses)
    assert math.isclose(noise.error(1).upper, one, rel_tol=1e-12)
    inside = [float(mass[np.abs(numbers) <= off].sum()) for mass, off in zip(masses, noise.quantiles(0.9), strict=True)]
    assert math.prod(inside) >= 0.9 - 1e-12
    assert noise.quantile(0.9) == max(noise.quantiles(0.9))


def test_covariances():
    assert np.array_equal(Gaussian(4.0, 2, (1, 8)).covariance, [[16, 0], [0, 0.25]])
    assert np.array_equal(Laplace(4.0, 2, (1, 8)).covariance, [[32, 0], [0, 0.5]])
    assert np.array_equal(NoNoise(2).covariance, np.zeros((2, 2)))
    assert NoNoise(2).scales == (0.0, 0.0) == NoNoise(2).quantiles(0.5)
    square = 2 * math.exp(-1) / (1 - math.exp(-1)) ** 2
    assert math.isclose(DiscreteLaplace(1.0).covariance[0, 0], square)


def test_discrete_noise_is_accounted_for_with_its_weights():
    assert DiscreteLaplace(4.0, 2, (1, 8)).accounted_noise() == Laplace(4.0, 2, (1, 8))
