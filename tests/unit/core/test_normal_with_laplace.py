"""The curve of a normal answer with Laplace noise, against numerical integration."""

from __future__ import annotations

import math

import numpy as np
import pytest

from bnpriv.core.gaussian_curve import gaussian_delta
from bnpriv.core.privacy_curves import normal_with_laplace_delta


def by_integration(gap: float, deviation: float, scale: float, epsilon: float) -> float:
    """Integrate [p - exp(epsilon) q]+ over a grid; p is the average of Laplace densities over normal places."""
    places, weights = np.polynomial.hermite_e.hermegauss(60)
    weights = weights / weights.sum()
    w = np.linspace(-40 * scale - 10 * deviation, gap + 40 * scale + 10 * deviation, 30_001)

    def density(centre: float) -> np.ndarray:
        found = np.zeros_like(w)
        for place, weight in zip(places, weights, strict=True):
            found += weight * np.exp(-np.abs(w - centre - deviation * place) / scale) / (2 * scale)
        return found

    both = np.maximum(density(gap) - math.exp(epsilon) * density(0.0), 0.0)
    return float(both.sum() * (w[1] - w[0]))


@pytest.mark.parametrize("gap", [0.3, 1.0, 4.0])
@pytest.mark.parametrize("deviation", [0.2, 1.0])
@pytest.mark.parametrize("scale", [0.5, 1.0])
@pytest.mark.parametrize("epsilon", [0.1, 0.8])
def test_against_integration(gap: float, deviation: float, scale: float, epsilon: float) -> None:
    found = normal_with_laplace_delta(gap, deviation, scale, epsilon)
    assert found == pytest.approx(by_integration(gap, deviation, scale, epsilon), abs=2e-3 * deviation, rel=1e-3)


def test_it_lies_below_both_of_its_parts_and_falls_with_noise() -> None:
    random = np.random.default_rng(0)
    for _ in range(300):
        gap, deviation, scale = 10.0 ** random.uniform(-2, 2, 3)
        epsilon = float(random.uniform(0, 3))
        found = normal_with_laplace_delta(gap, deviation, scale, epsilon)
        assert 0 <= found <= gaussian_delta(gap / deviation, epsilon) * (1 + 1e-6) + 1e-15
        assert found <= max(0.0, -math.expm1((epsilon - gap / scale) / 2)) * (1 + 1e-6) + 1e-15
        assert normal_with_laplace_delta(gap, deviation, 1.1 * scale, epsilon) <= found * (1 + 1e-6) + 1e-15


@pytest.mark.parametrize(
    ("gap", "deviation", "scale", "epsilon", "wanted"),
    [
        (0.0, 1.0, 1.0, 0.0, 0.0),
        (1.0, 1.0, 1.0, 1.0, 0.0),
        (1.0, 0.0, 0.0, 1.0, 1.0),
        (2.0, 0.0, 1.0, 1.0, 1 - math.exp(-0.5)),
        (1.0, 1.0, 0.0, 1.0, gaussian_delta(1.0, 1.0)),
        (1e-8, 1.0, 1e-9, 700.0, 0.0),
        (1e300, 1.0, 1e-3, 1.0, 1.0),
    ],
)
def test_ends(gap: float, deviation: float, scale: float, epsilon: float, wanted: float) -> None:
    assert normal_with_laplace_delta(gap, deviation, scale, epsilon) == pytest.approx(wanted, abs=1e-9)
