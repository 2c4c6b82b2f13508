"""The analytic Gaussian calibration of Balle and Wang (ICML 2018)."""

from __future__ import annotations

import math

import mpmath
import pytest

from bnpriv.core.gaussian_curve import gaussian_delta, gaussian_mu

EPSILONS = (0.1, 0.2, 0.5, 1, 2, 5, 10)
SIGMA = {
    1e-3: (17.40440, 9.89820, 4.61013, 2.57466, 1.44524, 0.68984, 0.40606),
    1e-5: (30.74957, 16.30413, 7.03183, 3.73063, 1.99381, 0.89187, 0.49989),
}


@pytest.mark.parametrize("delta", SIGMA)
def test_scale_over_gap(delta: float) -> None:
    found = [round(1 / gaussian_mu(epsilon, delta), 5) for epsilon in EPSILONS]
    assert found == list(SIGMA[delta])


def exact_delta(mu: float, epsilon: float) -> mpmath.mpf:
    with mpmath.workdps(60):
        m, e = mpmath.mpf(mu), mpmath.mpf(epsilon)
        return mpmath.ncdf(m / 2 - e / m) - mpmath.exp(e) * mpmath.ncdf(-m / 2 - e / m)


@pytest.mark.parametrize("epsilon", [1e-13, 1e-10, 1e-6, 1e-3, 0.1, 1.0, 10.0, 60.0])
@pytest.mark.parametrize("delta", [1e-300, 1e-30, 1e-10, 1e-5, 1e-2, 0.5])
def test_the_scale_is_enough_even_where_the_curve_cancels(epsilon: float, delta: float) -> None:
    mu = gaussian_mu(epsilon, delta)
    assert exact_delta(mu, epsilon) <= mpmath.mpf(delta)
    assert exact_delta(mu, epsilon) <= gaussian_delta(mu, epsilon)


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 1.0, 10.0])
def test_the_scale_is_not_more_than_enough(epsilon: float) -> None:
    mu = gaussian_mu(epsilon, 1e-6)
    assert math.isclose(float(exact_delta(mu, epsilon)), 1e-6, rel_tol=1e-7)
