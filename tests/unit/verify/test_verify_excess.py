"""The checker's epsilon and delta of two laws after noise: against sums and integrals that are worked out plainly."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from bnpriv.verify.check import ARITHMETIC
from bnpriv.verify.claim import NoisyPair
from bnpriv.verify.forms import ZERO, StopError


def claim_of(noise: str, scale: float, epsilon: float, delta: float = 0.0) -> Any:
    """Return what a comparison needs of a claim."""
    return SimpleNamespace(
        noise=noise,
        scale=Decimal(scale),
        weights=[1],
        epsilon=Decimal(epsilon),
        delta=Decimal(delta),
        normal=False,
        covariance=[],
        spend=lambda cost: None,
        held=lambda how, told: told,
    )


def laws_of(rng: np.random.Generator, size: int, *, apart: int = 1) -> tuple[dict[float, float], dict[float, float]]:
    """Draw two laws on the same whole numbers, some of which one of them lacks."""
    points = np.sort(rng.choice(size * apart + 1, size=size, replace=False)).astype(float)
    found = []
    for _ in range(2):
        masses = rng.dirichlet(np.full(size, 0.7)) * np.append(rng.random(size - 1) < 0.8, 1)
        found.append(dict(zip(points.tolist(), (masses / masses.sum()).tolist(), strict=True)))
    return found[0], found[1]


def exactly(law: dict[float, float]) -> dict[tuple[float], Decimal]:
    return {(point,): Decimal(mass) for point, mass in law.items() if mass}


def density(law: dict[float, float], at: np.ndarray, scale: float) -> np.ndarray:
    """Return the density of a law after Laplace noise."""
    points, masses = np.array(list(law)), np.array(list(law.values()))
    return (masses * np.exp(-np.abs(at[:, None] - points) / scale)).sum(axis=1) / (2 * scale)


def integral(first: dict[float, float], second: dict[float, float], scale: float, epsilon: float) -> float:
    """Return the mass by which one density passes the other, by many trapezoids between all atoms and in the tails."""
    ends = sorted(first)
    nodes = [np.linspace(a, b, 4001) for a, b in pairwise(ends)]
    nodes += [np.linspace(ends[0] - 45 * scale, ends[0], 40001), np.linspace(ends[-1], ends[-1] + 45 * scale, 40001)]
    passed = [np.maximum(0, density(first, x, scale) - math.exp(epsilon) * density(second, x, scale)) for x in nodes]
    return float(sum(np.trapezoid(y, x) for x, y in zip(nodes, passed, strict=True)))


def excess(noise: str, scale: float, epsilon: float, first: dict[float, float], second: dict[float, float]) -> float:
    with localcontext(ARITHMETIC):
        return float(NoisyPair(claim_of(noise, scale, epsilon)).laplace_excess(exactly(first), exactly(second)))


@pytest.mark.parametrize("seed", range(12))
def test_the_excess_after_laplace_noise_is_the_integral(seed: int) -> None:
    """Tails on both sides, and between atoms both where a density falls and where it rises."""
    rng = np.random.default_rng(seed)
    first, second = laws_of(rng, int(rng.choice([2, 3, 5, 8])), apart=3)
    scale, epsilon = float(rng.choice([0.5, 2.0, 7.0])), float(rng.choice([0.05, 0.3, 1.0]))
    found = excess("Laplace", scale, epsilon, first, second)
    assert found == pytest.approx(integral(first, second, scale, epsilon), rel=1e-4, abs=1e-9)


@pytest.mark.parametrize("least", [0.0, 1.0])
def test_every_term_of_the_excess_counts_by_itself(least: float) -> None:
    """Falling, rising, or through a change of sign: in each case the closed form of two atoms."""
    scale, epsilon = 2.0, 0.1
    for p, q in ((0.9, 0.1), (0.1, 0.9), (0.5, 1e-9), (0.6, 0.5), (0.5, 0.6), (1.0, 0.0), (0.0, 1.0)):
        first, second = {least: 1 - p, 4.0: p}, {least: 1 - q, 4.0: q}
        found = excess("Laplace", scale, epsilon, first, second)
        assert found == pytest.approx(integral(first, second, scale, epsilon), rel=1e-5, abs=1e-10), (p, q)


@pytest.mark.parametrize("seed", range(6))
def test_the_excess_after_discrete_noise_is_the_sum(seed: int) -> None:
    rng = np.random.default_rng(seed)
    first, second = laws_of(rng, 6, apart=3)
    scale, epsilon = float(rng.choice([0.5, 2.0, 7.0])), float(rng.choice([0.05, 0.3, 1.0]))
    at = np.arange(-60 * int(scale + 1), 19 + 60 * int(scale + 1)).astype(float)
    factor = 2 * scale * math.tanh(1 / (2 * scale))
    f, g = (density(law, at, scale) * factor for law in (first, second))
    expected = float(np.maximum(0, f - math.exp(epsilon) * g).sum())
    assert excess("DiscreteLaplace", scale, epsilon, first, second) == pytest.approx(expected, rel=1e-8, abs=1e-12)


@pytest.mark.parametrize("noise", ["Laplace", "DiscreteLaplace"])
@pytest.mark.parametrize("place", [0, 31, 32, 63, 64, 100, 128, 255, 256, 299])
def test_of_hundreds_of_answers_each_one_counts(noise: str, place: int) -> None:
    """All but one answer are as likely under both secrets; that one passes epsilon by itself, wherever it is."""
    size, scale = 300, 0.02
    common = [Decimal(1) / size] * size
    first, second = ({(float(k),): mass for k, mass in enumerate(common)} for _ in range(2))
    second[float(place),] /= 8
    with localcontext(ARITHMETIC):
        comparison = NoisyPair(claim_of(noise, scale, 1.0))
        ratio, output = comparison.largest(first, second)
        assert output == (float(place),)
        assert float(ratio) == pytest.approx(8, rel=1e-6)
        assert float(comparison.largest(second, first)[0]) == pytest.approx(8, rel=1e-6)
        expected = (1 - math.e / 8) / size
        assert float(comparison.laplace_excess(first, second)) == pytest.approx(expected, rel=0.02)
        assert comparison.laplace_excess(second, first) == ZERO


def test_a_ratio_on_the_edge_is_neither_called_false_nor_true() -> None:
    """What 60 digits do not decide is no failure."""
    law = {(0.0,): Decimal("0.5"), (1.0,): Decimal("0.5")}
    with localcontext(ARITHMETIC):
        claim = claim_of("NoNoise", 0.0, 1.0, 0.25)
        other = {(0.0,): (Decimal("0.25") / claim.epsilon.exp()), (1.0,): 1 - Decimal("0.25") / claim.epsilon.exp()}
        with pytest.raises(StopError) as told:
            NoisyPair(claim).compare("a pair", law, other)
    assert told.value.args[0] == "cannot be shown"


@pytest.mark.parametrize("noise", ["Laplace", "DiscreteLaplace", "NoNoise"])
def test_delta_is_that_of_the_worse_direction(noise: str) -> None:
    """The first law passes the second one by more than delta, and the second nowhere the first."""
    often, rarely = ({(0.0,): 1 - Decimal(p), (1.0,): Decimal(p)} for p in ("0.1", "0.001"))
    scale = 0.0 if noise == "NoNoise" else 0.02
    with localcontext(ARITHMETIC):
        comparison = NoisyPair(claim_of(noise, scale, 1.0, 0.05))
        assert comparison.laplace_excess(often, rarely) > comparison.claim.delta
        assert comparison.laplace_excess(rarely, often) < comparison.claim.delta
        for pair in ((often, rarely), (rarely, often)):
            with pytest.raises(StopError) as told:
                comparison.compare("a pair", *pair)
            assert told.value.args[0] == "fails"
