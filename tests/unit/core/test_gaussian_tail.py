"""Gaussian curves in logs, for deltas that differences of doubles cannot show."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import log_ndtr

import bnpriv as bp
from bnpriv.core.distributions import Atoms
from bnpriv.core.gaussian_curve import gaussian_delta, gaussian_mu
from bnpriv.core.mechanisms.law_mechanisms import TightMechanism
from bnpriv.core.privacy_curves import gaussian_mixture_delta, gaussian_tail_delta
from bnpriv.errors import SizeError


def log_excess(first: Atoms, second: Atoms, scale: float, epsilon: float) -> float:
    """Return the log of one divergence of two laws whose densities with noise cross exp(epsilon) once, to the right."""

    def log_density(law: Atoms, w: float) -> float:
        return float(np.logaddexp.reduce(law.logs - ((w - law.support) / scale) ** 2 / 2))

    def over(w: float) -> float:
        return log_density(first, w) - log_density(second, w) - epsilon

    cut = brentq(over, -60 * scale, 60 * scale * (1 + epsilon), xtol=1e-12, rtol=1e-14)
    one, other = (
        float(np.logaddexp.reduce(law.logs + log_ndtr((law.support - cut) / scale))) for law in (first, second)
    )
    return one + math.log(-math.expm1(epsilon + other - one))


GROWING = Atoms([0, 1, 2], [0.2, 0.5, 0.3]), Atoms([0, 1], [0.5, 0.5])


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0, 35.0])
@pytest.mark.parametrize("delta", [1e-300, 1e-100, 1e-15])
def test_it_is_never_below_the_curve_and_hardly_above(epsilon: float, delta: float) -> None:
    first, second = GROWING
    found = TightMechanism(noise="gaussian")
    framework = bp.DistributionPrivacy([GROWING], source="a textbook")
    scale = found.calibrate(framework, epsilon=epsilon, delta=delta).scale
    for noise in (scale, 1.3 * scale, 0.7 * scale):
        exact = log_excess(first, second, noise, epsilon)
        told = gaussian_tail_delta(first, second, noise, epsilon, math.exp(max(exact, math.log(delta))))
        assert exact <= math.log(told) + 1e-9
        assert math.log(told) <= max(exact, math.log(delta) - 1) + 1.0
    assert log_excess(first, second, scale, epsilon) <= math.log(delta) + 1e-9
    assert log_excess(first, second, 0.99 * scale, epsilon) > math.log(delta)


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 20.0])
@pytest.mark.parametrize("delta", [5e-324, 1e-300, 1e-40, 1e-12])
def test_points_have_the_curve_of_two_normal_laws(epsilon: float, delta: float) -> None:
    mu = gaussian_mu(epsilon, delta)
    points = Atoms([0.0], [1.0]), Atoms([1.0], [1.0])
    told, exact = gaussian_tail_delta(*points, 1 / mu, epsilon, delta), gaussian_delta(mu, epsilon)
    assert exact * (1 - 1e-9) <= told <= 3 * exact + 5e-324


def test_both_directions_and_far_atoms() -> None:
    first, second = GROWING
    assert gaussian_tail_delta(first, second, 5.0, 1.0, 1e-20) == gaussian_tail_delta(second, first, 5.0, 1.0, 1e-20)
    apart = Atoms([0.0, 1000.0], [0.5, 0.5]), Atoms([0.0, 1000.0], [0.1, 0.9])
    told = gaussian_tail_delta(*apart, 1.0, 1.0, 1e-3)
    assert told == pytest.approx(0.5 - math.e * 0.1, rel=1e-2)
    assert told >= gaussian_mixture_delta(*apart, 1.0, 1.0) * (1 - 1e-6)
    moved = Atoms([2.0**40, 2.0**40 + 1], [0.5, 0.5]), Atoms([2.0**40 + 1, 2.0**40 + 2], [0.5, 0.5])
    here = tuple(Atoms(law.support - 2.0**40, law.probabilities) for law in moved)
    assert gaussian_tail_delta(*moved, 9.0, 1.0, 1e-20) == gaussian_tail_delta(*here, 9.0, 1.0, 1e-20)


def test_rounding_costs() -> None:
    first, second = GROWING
    plain = gaussian_tail_delta(first, second, 10.0, 1.0, 1e-30)
    assert plain < gaussian_tail_delta(first, second, 10.0, 1.0, 1e-30, rounding=1e-3)
    assert gaussian_tail_delta(first, second, 10.0, 1.0, 1e-30, rounding=1e-3) < 3 * plain


@pytest.mark.parametrize("which", [0, 1])
def test_errors_of_the_masses_of_either_law_cost(which: int) -> None:
    unsure = [Atoms.from_logs(law.support, law.logs, 0.01 * (k == which)) for k, law in enumerate(GROWING)]
    assert gaussian_tail_delta(*GROWING, 10.0, 1.0, 1e-30) < gaussian_tail_delta(*unsure, 10.0, 1.0, 1e-30)
    most = gaussian_mixture_delta(*GROWING, 10.0, 1.0) + (1 + math.e) * math.expm1(0.01)
    assert gaussian_mixture_delta(*unsure, 10.0, 1.0) == pytest.approx(most, rel=1e-9)


def test_a_grid_that_is_too_large_is_refused() -> None:
    with pytest.raises(SizeError):
        gaussian_tail_delta(Atoms([0.0, 1e9], [0.5, 0.5]), Atoms([0.0, 1e9], [0.1, 0.9]), 1.0, 1.0, 1e-30)


def test_tiny_deltas_do_not_take_the_noise_of_the_distance() -> None:
    """Mass moves by 2, but the outer atoms are 1 apart: half of the noise is private."""
    framework = bp.DistributionPrivacy([(GROWING[0], Atoms([0, 1], [0.5, 0.5]))], source="a textbook")
    for delta in (1e-300, 1e-40):
        tight = TightMechanism(noise="gaussian").calibrate(framework, epsilon=0.5, delta=delta).scale
        far = bp.WassersteinMechanism(noise="gaussian").calibrate(framework, epsilon=0.5, delta=delta).scale
        assert tight < 0.7 * far
