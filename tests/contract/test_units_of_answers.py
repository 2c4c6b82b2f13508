"""The unit of an answer does not matter: laws in units a power of two smaller need noise that is as much smaller.

Squares of numbers below 1e-162 are no doubles: a distance that vanishes would leave an answer without noise (row 8).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import bnpriv as bp
from bnpriv import mechanisms
from bnpriv.core.distributions import LARGEST, Atoms, Normal

EVERY: list[bp.types.Mechanism] = [
    bp.WassersteinMechanism(),
    bp.WassersteinMechanism(noise="gaussian"),
    bp.TightMechanism(),
    bp.TightMechanism(noise="gaussian"),
    mechanisms.ExpectedValueMechanism(),
    mechanisms.ExpectedValueMechanism(noise="gaussian"),
    mechanisms.DirectionalMechanism(),
    mechanisms.DirectionalMechanism(noise="gaussian"),
    mechanisms.AttributeGaussianMechanism(),
    mechanisms.AttributeGaussianMechanism(relaxation=0.05),
    mechanisms.EigenvectorMechanism(),
    mechanisms.DirectionalUncertaintyMechanism(),
    mechanisms.OptimalGaussianMechanism(),
    mechanisms.OptimalMechanism(),
]
Pair = tuple[Atoms, Atoms] | tuple[Normal, Normal]


def one_number(u: float) -> Pair:
    return Atoms([0, u, 3 * u], [0.5, 0.3, 0.2]), Atoms([u, 2 * u, 4 * u], [0.5, 0.3, 0.2])


def two_numbers(u: float) -> Pair:
    first, gap = np.array([[0, 0], [u, u], [3 * u, 0]]), np.array([u, u / 2])
    return Atoms(first, [0.5, 0.3, 0.2]), Atoms(first + gap, [0.5, 0.3, 0.2])


def sure_numbers(u: float) -> Pair:
    return Normal([0.0, 0.0], np.zeros((2, 2))), Normal([5 * u, 3 * u], np.zeros((2, 2)))


def normal_number(u: float) -> Pair:
    return Normal(0.0, u * u), Normal(5 * u, u * u)


def normal_numbers(u: float) -> Pair:
    covariance = np.array([[2.0, 0.5], [0.5, 1.0]]) * u * u
    return Normal([0.0, 0.0], covariance), Normal([5 * u, 3 * u], covariance)


def scales(mechanism: bp.types.Mechanism, pair: Pair) -> tuple[float, ...] | None:
    """Return the scales that a mechanism finds, or None if it refuses; nothing but a refusal may be raised."""
    try:
        framework = bp.DistributionPrivacy([pair], source="a test")
        return mechanism.calibrate(framework, epsilon=1.0, delta=1e-3).noise.scales
    except bp.BnprivError:
        return None


@pytest.mark.parametrize("laws", [one_number, two_numbers, sure_numbers, normal_number, normal_numbers])
@pytest.mark.parametrize("mechanism", EVERY, ids=str)
def test_row_8_the_unit_of_an_answer_does_not_matter(
    mechanism: bp.types.Mechanism, laws: Callable[[float], Pair]
) -> None:
    usual = scales(mechanism, laws(1.0))
    for power in () if usual is None else (-200, 200, 520, 545, 600, 900, 1040):
        unit = 2.0**-power
        found = scales(mechanism, laws(unit))
        if found is not None:
            assert np.all(np.array(found) >= np.array(usual) * unit * (1 - 1e-6))
            # where squares are no longer doubles, more noise is added, or the laws count for nothing
            assert power > 500 or np.all(np.array(found) <= np.array(usual) * unit * (1 + 1e-3))


def test_least_and_largest_laws_are_served_or_refused() -> None:
    """Rows 8 and 45: no warning, no endless bisection between two neighbouring doubles."""
    large, small = LARGEST, 5e-324
    pairs: list[Pair] = [
        (Normal(mean, v), Normal(0.0, v)) for mean in (small, 5.0, large) for v in (0.0, small, 1e-300)
    ]
    pairs += [(Normal([0, -large], np.eye(2) * v), Normal([0, large], np.eye(2) * v)) for v in (0.0, small, 1.0, large)]
    pairs += [(Atoms([0], [1]), Atoms([small], [1])), (Atoms([-large], [1]), Atoms([large], [1]))]
    for pair in pairs:
        for mechanism in EVERY:
            for epsilon, delta in ((1.0, 1e-3), (1e-8, 1e-300)):
                try:
                    framework = bp.DistributionPrivacy([pair], source="a test")
                    calibration = mechanism.calibrate(framework, epsilon=epsilon, delta=delta)
                except bp.BnprivError:
                    continue
                assert all(0 <= scale < np.inf for scale in calibration.noise.scales)
                assert calibration.to_json()
                assert calibration.text
