"""Noise: its law, its expected errors, its quantiles; and that it keeps no trace of the true value in low bits.

Tests that draw fail by chance with probability below 1e-6; every tolerance says how many standard deviations it is.
"""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Sequence

import numpy as np
import pytest

from bnpriv.core.noise import DiscreteLaplace, Gaussian, Laplace, Noise, NoNoise, SecureSampler
from bnpriv.errors import ParameterError
from bnpriv.mechanisms.directional import DirectionalLaplace
from tests.later import Later

integrate = Later("scipy.integrate")
stats = Later("scipy.stats")

DRAWS = 5_000


def fits(draws: Sequence[float], mean_size: float) -> bool:
    """Whether the mean size of the draws is right; 12 % are 8 standard deviations for Laplace, 11 for normal noise."""
    return abs(np.abs(draws).mean() / mean_size - 1) < 0.12


@pytest.mark.parametrize("law", [Laplace, Gaussian])
@pytest.mark.parametrize("scale", [1e-9, 2.5, 1e9])
def test_scale_is_neither_too_small_nor_too_large(law, scale):
    mean_size = float(law(scale).error(1))
    right, low, high = (law(factor * scale, DRAWS).sample([0.0] * DRAWS, SecureSampler()) for factor in (1.0, 0.7, 1.3))
    assert fits(right, mean_size)
    assert not fits(low, mean_size)
    assert not fits(high, mean_size)


@pytest.mark.parametrize(("law", "reference"), [(Laplace, "laplace"), (Gaussian, "norm")])
def test_shape_of_the_law(law, reference):
    draws = np.array(law(3.0, DRAWS).sample([7.0] * DRAWS, SecureSampler())) - 7.0
    statistic = stats.kstest(draws, getattr(stats, reference)(scale=3.0).cdf).statistic
    # P(D > x) <= 2 exp(-2 n x^2) = 2e-7 (Dvoretzky, Kiefer, Wolfowitz, Massart)
    assert statistic < math.sqrt(math.log(2 / 2e-7) / (2 * DRAWS))


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf, -math.inf, "1", True, None, 10**400])
@pytest.mark.parametrize("law", [Laplace, Gaussian])
def test_bad_scales_are_refused(law, bad):
    with pytest.raises(ParameterError):
        law(bad)
    with pytest.raises(ParameterError):
        getattr(SecureSampler(), law.__name__.lower())([1.0], bad)


@pytest.mark.parametrize("law", [lambda d: Laplace(1.0, d), lambda d: Gaussian(1.0, d), NoNoise])
@pytest.mark.parametrize("bad", [0, -1, 1.0, True, "2"])
def test_bad_dimensions_are_refused(law, bad):
    with pytest.raises(ParameterError):
        law(bad)


@pytest.mark.parametrize("noise", [Laplace(1.0, 2), Gaussian(1.0, 2), NoNoise(2)])
def test_vectors_of_another_length_are_refused(noise: Noise):
    for value in ([], [1.0], [1.0, 2.0, 3.0]):
        with pytest.raises(ParameterError, match="2 numbers"):
            noise.sample(value, SecureSampler())


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("law", ["laplace", "gaussian"])
def test_values_that_are_not_finite_never_reach_opendp(law, bad):
    with pytest.raises(ParameterError, match="finite") as caught:
        getattr(SecureSampler(), law)([12345.0, bad], 1.0)
    assert "12345" not in str(caught.value)


def test_without_noise_the_value_comes_back():
    assert NoNoise(2).sample([1, 2.5], SecureSampler()) == (1.0, 2.5)
    assert NoNoise(2).accounted_noise() is None
    assert NoNoise(2).quantile(0.99) == 0
    assert NoNoise(2).error().upper == 0


def test_noise_is_what_an_accountant_charges_for():
    for noise in (Laplace(1.0, 3), Gaussian(2.0)):
        assert noise.accounted_noise() is noise


def laplace_plane(x: float, y: float) -> float:
    return math.hypot(x, y) * math.exp(-x - y)


def test_mean_length_of_laplace_noise_in_the_plane():
    # both coordinates by symmetry positive, each with density exp(-x)
    reference, error = integrate.dblquad(laplace_plane, 0, 60, 0, 60, epsabs=1e-9)
    bound = Laplace(5.0, 2).error(2)
    assert bound.kind == "exact"
    assert bound.lower - 5 * error <= 5 * reference <= bound.upper + 5 * error
    assert bound.upper / bound.lower - 1 < 1e-10


@pytest.mark.parametrize("dimension", [1, 2, 3, 7, 50])
@pytest.mark.parametrize(("law", "draw"), [(Laplace, "laplace"), (Gaussian, "normal")])
def test_expected_errors_agree_with_simulation(law, draw, dimension):
    random = np.random.default_rng(dimension)
    draws = getattr(random, draw)(scale=2.0, size=(100_000, dimension))
    for norm in (1, 2, math.inf):
        lengths = np.linalg.norm(draws, ord=norm, axis=1)
        tolerance = 6 * lengths.std() / math.sqrt(len(lengths))
        bound = law(2.0, dimension).error(norm)
        assert abs(lengths.mean() - bound.upper) < tolerance
        assert 0 <= bound.upper - bound.lower < 1e-9 * bound.upper


@pytest.mark.parametrize("dimension", [1, 2, 5, 1000])
def test_mean_length_of_normal_noise_is_that_of_chi(dimension):
    reference = 3 * float(stats.chi(dimension).mean())
    assert float(Gaussian(3.0, dimension).error(2)) == pytest.approx(reference, rel=1e-9)


def test_mean_length_never_passes_the_root_mean_square():
    for dimension in (1, 2, 10, 1000, 10**6):
        assert Laplace(1.0, dimension).error(2).upper <= math.sqrt(2 * dimension)
        assert Laplace(1.0, dimension).error(2).upper >= math.sqrt(dimension)


def test_largest_of_two_normal_coordinates():
    assert float(Gaussian(1.0, 2).error(math.inf)) == pytest.approx(2 / math.sqrt(math.pi), rel=1e-10)


@pytest.mark.parametrize("norm", [0, 3, math.nan, -math.inf, "2", True])
@pytest.mark.parametrize("noise", [Laplace(1.0), Gaussian(1.0), NoNoise()])
def test_other_norms_are_refused(noise, norm):
    with pytest.raises(ParameterError, match="norm"):
        noise.error(norm)


@pytest.mark.parametrize("dimension", [1, 2, 40])
@pytest.mark.parametrize("p", [1e-6, 0.5, 0.95, 1 - 1e-9])
@pytest.mark.parametrize(("law", "reference"), [(Laplace, "laplace"), (Gaussian, "norm")])
def test_quantiles_hold_for_all_coordinates_at_once(law, reference, p, dimension):
    beyond = 2 * getattr(stats, reference).sf(law(4.0, dimension).quantile(p), scale=4.0)
    missed = -math.expm1(dimension * math.log1p(-beyond))
    assert missed == pytest.approx(1 - p, rel=1e-7)
    assert missed <= (1 - p) * (1 + 1e-12)


@pytest.mark.parametrize("p", [0, 1, -0.1, 1.1, math.nan, "0.5", True])
@pytest.mark.parametrize("noise", [Laplace(1.0), Gaussian(1.0), NoNoise()])
def test_probabilities_out_of_range_are_refused(noise, p):
    with pytest.raises(ParameterError):
        noise.quantile(p)


def odd_bits(outputs: np.ndarray) -> int:
    """Count the event S: near 0 and with bits below 2^-53, which ``1 + noise`` in doubles can never have."""
    return int(((np.abs(outputs) < 0.25) & (outputs * 2.0**53 != np.floor(outputs * 2.0**53))).sum())


@pytest.mark.parametrize("law", [Laplace, Gaussian])
def test_low_bits_do_not_tell_the_true_value(law):
    zeros, ones = (np.array(law(1.0, 20_000).sample([true] * 20_000, SecureSampler())) for true in (0.0, 1.0))
    shares = [odd_bits(outputs) / (np.abs(outputs) < 0.25).sum() for outputs in (zeros, ones)]
    # P(S | |y| < 1/4) is 5/6 for either value; at least 1,700 outputs are that near: 0.06 are 7 standard deviations
    assert shares[0] == pytest.approx(5 / 6, abs=0.06)
    assert shares[1] == pytest.approx(5 / 6, abs=0.06)


def test_the_event_finds_noise_of_doubles():
    random = np.random.default_rng(0)
    assert odd_bits(random.laplace(size=20_000)) > 3000
    assert odd_bits(1.0 + random.laplace(size=20_000)) == 0


FORK = """
import os
from bnpriv.core.noise import SecureSampler
SecureSampler().laplace([0.0] * 4, 1.0)  # whatever is buffered is buffered before the fork
for _ in range(3):
    if os.fork() == 0:
        print(SecureSampler().laplace([0.0] * 4, 1.0), SecureSampler().gaussian([0.0] * 4, 1.0), flush=True)
        os._exit(0)
for _ in range(3):
    os.wait()
print(SecureSampler().laplace([0.0] * 4, 1.0), SecureSampler().gaussian([0.0] * 4, 1.0))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")
def test_forked_workers_differ():
    # in an interpreter of its own: this one may have threads of data engines, which do not survive a fork
    printed = subprocess.run([sys.executable, "-c", FORK], check=True, capture_output=True, text=True).stdout
    numbers = printed.replace("(", "").replace(")", ",").replace("\n", "").split(",")
    drawn = [number.strip() for number in numbers if number.strip()]
    assert len(drawn) == 4 * 8
    assert len(set(drawn)) == len(drawn)


def test_a_scale_is_one_number_and_directions_are_many():
    """More of a scale is always enough, whatever public weights it has; directions were fitted."""
    one = [Laplace(2.0, 3), Gaussian(2.0, 3, (1.0, 2.0, 4.0)), NoNoise(3), DiscreteLaplace(2.0, 3)]
    assert [noise.free_numbers for noise in one] == [1] * 4
    for directions in (((1.0, 0.0),), ((0.6, 0.8), (0.8, -0.6))):
        noise = DirectionalLaplace(
            scale=9.0, directions=directions, limits=(400.0,) * len(directions), dithers=(1e-6, 1e-6)
        )
        assert noise.free_numbers == 2 * len(directions) + 1
