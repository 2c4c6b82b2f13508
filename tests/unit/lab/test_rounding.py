"""Views and conversions of the privacy loss are bounds to the last digit: against sums and formulas of 60 digits."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

from bnpriv.core.distributions import Atoms
from bnpriv.core.noise import Gaussian, Laplace
from bnpriv.errors import ParameterError
from bnpriv.lab import conversions
from bnpriv.loss.loss import PrivacyLoss

TINY = (20.0, 50.0, 138.0, 300.0, 690.0, 745.0, 1500.0)
"""What is taken off logs of masses: some lie below the range of doubles."""

ORDERS = (0.5, 0.999, 1 + 1e-9, 1 + 1e-6, 1.001, 1.5, 2.0, 30.0, 1e6)


def hostile(rng: np.random.Generator, size: int) -> np.ndarray:
    logs = np.log(rng.dirichlet(np.full(size, rng.choice([0.3, 1.0, 5.0]))) + 1e-300)
    if rng.random() < 0.6:
        logs[rng.integers(size - 1)] -= rng.choice(TINY)
    return logs - float(np.logaddexp.reduce(logs))


def exact(law: Atoms) -> list[mpmath.mpf]:
    masses = [mpmath.exp(mpmath.mpf(log)) for log in law.logs.tolist()]
    return [mass / sum(masses) for mass in masses]


def is_within(bound, value: mpmath.mpf) -> None:
    room = mpmath.mpf(10) ** -50
    assert bound.lower - room <= value <= bound.upper + room, (bound, mpmath.nstr(value, 20))


def test_renyi_near_order_one_with_losses_that_are_not_small() -> None:
    rng = np.random.default_rng(3)
    with mpmath.workdps(60):
        for _ in range(60):
            size = int(rng.integers(2, 9))
            logs = [hostile(rng, size) for _ in range(2)]
            # what their own rounding leaves them off by
            error = 2.0**-52 * (size + float(np.max(np.abs(logs))))
            first, second = (Atoms.from_logs(np.arange(float(size)), each, error) for each in logs)
            loss = PrivacyLoss(first, second)
            p, q = exact(first), exact(second)
            for order in ORDERS:
                z = mpmath.mpf(order) - 1
                mean = mpmath.fsum(
                    a * mpmath.exp(z * (mpmath.log(a) - mpmath.log(b))) for a, b in zip(p, q, strict=True)
                )
                is_within(loss.renyi(order), mpmath.log(mean) / z)
            is_within(loss.kullback_leibler, mpmath.fsum(a * mpmath.log(a / b) for a, b in zip(p, q, strict=True)))


@pytest.mark.parametrize("noise", [Gaussian(1.3), Laplace(1.3)])
def test_renyi_near_order_one_with_noise(noise: Gaussian | Laplace) -> None:
    """It is hardly more than the mean loss, and grows with the order."""
    loss = PrivacyLoss(Atoms([0, 9], [1 - 1e-9, 1e-9]), Atoms([0, 1, 7], [0.2, 0.5, 0.3]), noise)
    mean = loss.kullback_leibler
    for more in (1e-12, 1e-10, 1e-9, 1e-8, 1e-7):
        assert loss.renyi(1 + more).upper >= mean.lower
        assert loss.renyi(1 - more).lower <= mean.upper


def test_many_tiny_masses_count_in_epsilon_at_a_delta() -> None:
    """One after the other they are lost beside a mass of 1e-6; together they decide whether delta is enough."""
    size, large = 100_000, 1e-6
    small = large * 4.4e-16
    first = np.append(np.log(large), np.full(size, math.log(small)))
    second = first - np.append(100.5, np.full(size, 100.0))
    logs = [np.append(each, math.log1p(-math.fsum(np.exp(each)))) for each in (first, second)]
    loss = PrivacyLoss(*(Atoms.from_logs(np.arange(size + 2.0), each, 1e-14) for each in logs))
    with mpmath.workdps(60):
        masses = [mpmath.exp(each[0]) + size * mpmath.exp(each[1]) for each in logs]
        delta = float(masses[0] - size * mpmath.exp(logs[0][1]) / 5)
        needed = mpmath.log((masses[0] - delta) / masses[1])
    assert needed > 75
    assert loss.epsilon_at(delta).upper >= needed
    assert loss.delta(float(needed) - 1).upper > delta


def test_a_loss_of_computed_logs_is_rounded() -> None:
    """The difference of two logs is a double that is as likely too small as too large."""
    rng = np.random.default_rng(4)
    for _ in range(100):
        share, rare = float(rng.uniform(1e-4, 1e-3)), -float(rng.uniform(300, 700))
        first = Atoms.from_logs([0, 1], [math.log1p(-share), math.log(share)])
        loss = PrivacyLoss(first, Atoms.from_logs([0, 1], [rare, 0.0]))
        with mpmath.workdps(60):
            is_within(loss.epsilon, mpmath.mpf(float(first.logs[0])) - mpmath.mpf(rare))


def test_chi_beyond_the_range_of_doubles() -> None:
    loss = PrivacyLoss(Atoms([0, 1], [0.5, 0.5]), Atoms.from_logs([0, 1], [0.0, -900.0]))
    assert loss.chi(2.0).lower < math.inf == loss.chi(2.0).upper
    assert PrivacyLoss(Atoms([0, 1], [0.5, 0.5]), Atoms([0], [1.0])).chi(2.0).lower == math.inf


# --- conversions ---------------------------------------------------------------------------------------------------

EPSILONS = (1e-12, 1e-9, 1e-8, 1e-6, 1e-3, 0.1, 1.0, 10.0, 100.0, 700.0)


@pytest.mark.parametrize("order", [1 + 1e-9, 1.001, 1.5, 2.0, 10.0, 1e3, 1e6])
def test_renyi_of_epsilon_is_rounded_up(order: float) -> None:
    with mpmath.workdps(800):
        for epsilon in EPSILONS:
            a, e = mpmath.mpf(order), mpmath.mpf(epsilon)
            value = mpmath.log((mpmath.exp(a * e) + mpmath.exp((1 - a) * e)) / (1 + mpmath.exp(e))) / (a - 1)
            found = conversions.renyi_of_epsilon(order, epsilon)
            assert value <= found <= value * (1 + mpmath.mpf(2) ** -40)


def test_epsilon_of_renyi_is_rounded_up() -> None:
    rng = np.random.default_rng(5)
    with mpmath.workdps(60):
        for k in range(3000):
            order, delta = float(1 + 10 ** rng.uniform(-9, 6)), float(10 ** rng.uniform(-20, 0))
            a = mpmath.mpf(order)
            value = mpmath.log((a - 1) / a) - (mpmath.log(delta) + mpmath.log(a)) / (a - 1)
            # every third divergence is what nearly cancels the rest
            divergence = max(0.0, float(-value)) if k % 3 == 0 else float(10 ** rng.uniform(-9, 3))
            assert conversions.epsilon_of_renyi(order, divergence, delta) >= divergence + value


def test_epsilon_of_zero_concentrated_is_rounded_up() -> None:
    rng = np.random.default_rng(6)
    with mpmath.workdps(60):
        for _ in range(1000):
            rho, delta = float(10 ** rng.uniform(-320, 3)), float(1 - 10 ** rng.uniform(-16, -0.001))
            aside = delta * float(rng.choice([0.0, 0.5, 1 - 1e-9]))
            rare = -mpmath.log((mpmath.mpf(delta) - aside) / (1 - mpmath.mpf(aside)))
            found = conversions.epsilon_of_zero_concentrated(0.1, rho, delta, set_aside=aside)
            assert found >= mpmath.mpf(0.1) + rho + 2 * mpmath.sqrt(rho * rare)
    assert conversions.epsilon_of_zero_concentrated(0.0, 0.0, 1e-3, largest_order=3.0) >= -math.log(1e-3) / 2
    assert conversions.epsilon_of_zero_concentrated(0.0, 0.0, 1e-3) == 0.0


def test_conversions_at_the_ends() -> None:
    """Row 42."""
    assert conversions.epsilon_of_renyi(math.inf, 1.0, 1e-3) == 1.0
    assert conversions.renyi_of_epsilon(math.inf, 1.0) == 1.0
    assert conversions.renyi_of_epsilon(2.0, math.inf) == math.inf
    assert 0.1 <= conversions.epsilon_of_zero_concentrated(0.0, 0.1, 1.0) < 0.1001
    assert conversions.epsilon_of_zero_concentrated(0.0, math.inf, 0.1) == math.inf
    assert conversions.zero_concentrated_of_mean_concentrated(1.0, 1e200) == (math.inf, math.inf)
    for tiny in (conversions.zero_concentrated_of_epsilon, conversions.kullback_leibler_of_epsilon):
        assert 0 < tiny(1e-200) < 1e-300


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: conversions.epsilon_of_renyi(1.0, 1.0, 0.1),
        lambda: conversions.probable_epsilon_of_renyi(0.5, 1.0, 0.1),
        lambda: conversions.epsilon_of_renyi(2.0, math.nan, 0.1),
        lambda: conversions.epsilon_of_renyi(2.0, 1.0, 0.0),
        lambda: conversions.epsilon_of_zero_concentrated(0.0, 0.1, 0.1, set_aside=0.2),
        lambda: conversions.epsilon_of_zero_concentrated(0.0, -0.1, 0.1),
        lambda: conversions.renyi_of_epsilon(2.0, -1.0),
        lambda: conversions.total_variation_of_epsilon(1.0, 1.5),
        lambda: conversions.probable_delta(0.1, 0.0),
    ],
)
def test_what_is_out_of_range_is_no_number(wrong) -> None:
    """Row 14: below order 1 a bound would be too small, not an error."""
    with pytest.raises(ParameterError):
        wrong()
