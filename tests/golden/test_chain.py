"""Golden numbers of chains: 100 steps, sensitivity 1, stationary start."""

from __future__ import annotations

import pytest

import bnpriv as bp

EXACT_AND_PUBLISHED = [
    (1.0, (0.4, 0.6), 3.571792, 11.536776),
    (1.0, (0.3, 0.7), 6.723597, 15.572372),
    (1.0, (0.1, 0.9), 31.737789, 49.220197),
    (1.0, (0.1, 0.5), 9.897617, 20.183209),
    (0.2, (0.3, 0.7), 56.590047, 111.040508),
    (5.0, (0.3, 0.7), 0.302535, 1.676384),
]


def scale(ones: tuple[float, float], epsilon: float, influence: str) -> float:
    transition = [[1 - ones[0], ones[0]], [1 - ones[1], ones[1]]]
    chain = bp.types.MarkovChain(transition, "stationary", 100, states=[0, 1])
    schema = bp.Schema(records=100, columns={"x": bp.Integer(0, 1)})
    framework = bp.ValuePrivacy(chain, schema, "x", source="a test")
    mechanism = bp.mechanisms.MarkovChainMechanism(influence=influence)  # type: ignore[arg-type]
    return mechanism.calibrate(framework, bp.total("x"), epsilon=epsilon).scale


@pytest.mark.parametrize(("epsilon", "ones", "exact", "published"), EXACT_AND_PUBLISHED)
def test_scales(epsilon: float, ones: tuple[float, float], exact: float, published: float) -> None:
    assert scale(ones, epsilon, "exact") == pytest.approx(exact, abs=5e-7)
    assert scale(ones, epsilon, "published") == pytest.approx(published, abs=5e-7)
    assert exact <= scale(ones, epsilon, "spectral") <= published


def test_the_tighter_spectral_bound() -> None:
    assert scale((0.4, 0.6), 1.0, "spectral") == pytest.approx(4.416, abs=5e-4)
