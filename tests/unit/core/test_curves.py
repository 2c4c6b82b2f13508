"""Privacy curves of laws with finitely many atoms, against plain sums, high precision and closed forms."""

from __future__ import annotations

import itertools
import math

import mpmath
import numpy as np
import pytest

import bnpriv as bp
from bnpriv.core.gaussian_curve import gaussian_delta
from bnpriv.core.mechanisms.base import least_scale
from bnpriv.core.privacy_curves import LaplacePair, gaussian_mixture_delta, product_laplace_epsilon


def draw(
    rng: np.random.Generator, atoms: int, *, spread: float = 5.0, shared: bool = False
) -> tuple[bp.laws.Atoms, bp.laws.Atoms]:
    support = np.sort(np.round(rng.uniform(0, spread, size=atoms), 3))
    support = np.unique(support)
    laws = []
    for _ in range(2):
        masses = rng.dirichlet(np.full(support.size, rng.choice([0.3, 1.0, 5.0])))
        if not shared and support.size > 2:
            masses[rng.integers(support.size)] = 0.0
        laws.append(bp.laws.Atoms(support, masses / masses.sum()))
    return laws[0], laws[1]


def exact_epsilon(f: bp.laws.Atoms, g: bp.laws.Atoms, scale: float) -> float:
    """Return the largest log ratio over the atoms of both laws, in 60 digits."""
    with mpmath.workdps(60):
        worst = mpmath.mpf(0)
        for w in {*f.support.tolist(), *g.support.tolist()}:
            density = [
                mpmath.fsum(
                    mpmath.exp(mpmath.mpf(float(log)) - abs(mpmath.mpf(w) - mpmath.mpf(x)) / mpmath.mpf(scale))
                    for x, log in zip(law.support.tolist(), law.logs, strict=True)
                )
                for law in (f, g)
            ]
            worst = max(worst, abs(mpmath.log(density[0] / density[1])))
        return float(worst)


@pytest.mark.parametrize("scale", [0.003, 0.1, 1.0, 30.0])
def test_epsilon_in_high_precision(scale: float) -> None:
    rng = np.random.default_rng(1)
    for _ in range(12):
        f, g = draw(rng, int(rng.integers(1, 8)))
        found, exact = LaplacePair.of(f, g).epsilon(scale), exact_epsilon(f, g, scale)
        assert exact * (1 - 1e-15) <= found <= exact + 1e-11 * max(1.0, exact)


def test_epsilon_is_the_largest_over_the_whole_line() -> None:
    rng = np.random.default_rng(2)
    for _ in range(40):
        f, g = draw(rng, int(rng.integers(2, 8)))
        scale = float(10 ** rng.uniform(-1, 1))
        w = np.linspace(-10, 15, 4001)
        density = [np.exp(-np.abs(w[:, None] - law.support) / scale) @ np.exp(law.logs) for law in (f, g)]
        assert np.max(np.abs(np.log(density[0] / density[1]))) <= LaplacePair.of(f, g).epsilon(scale) + 1e-12


def test_no_noise() -> None:
    f, g = bp.laws.Atoms([0, 1], [0.5, 0.5]), bp.laws.Atoms([0, 1], [0.4, 0.6])
    assert LaplacePair.of(f, g).epsilon(0.0) == pytest.approx(math.log(1.25), rel=1e-14)
    assert LaplacePair.of(f, g).epsilon(0.0) >= math.log(1.25)
    assert LaplacePair.of(f, bp.laws.Atoms([0, 2], [0.5, 0.5])).epsilon(0.0) == math.inf
    assert LaplacePair.of(f, g).delta(0.0, 0.0) == pytest.approx(0.1, rel=1e-12)


def test_epsilon_never_grows_with_the_scale() -> None:
    rng = np.random.default_rng(3)
    for _ in range(30):
        pair = LaplacePair.of(*draw(rng, 6))
        losses = [pair.epsilon(scale) for scale in np.geomspace(0.01, 100, 40)]
        assert all(b <= a + 1e-10 * max(1, a) for a, b in itertools.pairwise(losses))


def integral(f: bp.laws.Atoms, g: bp.laws.Atoms, scale: float, epsilon: float) -> float:
    """Return the hockey-stick divergence by Gauss's rule on short cells; those with a change of sign are cut again."""
    atoms = np.union1d(f.support, g.support) / scale
    ends = itertools.pairwise([atoms[0] - 45, *atoms, atoms[-1] + 45])
    edges = np.unique(np.concatenate([np.linspace(a, b, 1001) for a, b in ends]))

    def density(w: np.ndarray) -> np.ndarray:
        p, q = (np.exp(-np.abs(w[..., None] - law.support / scale)) @ np.exp(law.logs) / 2 for law in (f, g))
        return p - math.exp(epsilon) * q

    sign = np.sign(density(edges))
    for k in np.flatnonzero(sign[:-1] * sign[1:] < 0):
        edges = np.append(edges, np.linspace(edges[k], edges[k + 1], 2001)[1:-1])
    edges.sort()
    nodes, weights = np.polynomial.legendre.leggauss(4)
    half = np.diff(edges) / 2
    w = (edges[:-1] + half)[:, None] + half[:, None] * nodes
    return float((np.maximum(density(w), 0) * weights * half[:, None]).sum())


def test_delta_against_integration() -> None:
    rng = np.random.default_rng(4)
    for _ in range(30):
        f, g = draw(rng, int(rng.integers(1, 7)))
        scale, epsilon = float(10 ** rng.uniform(-0.7, 1)), float(rng.uniform(0, 2))
        exact = max(integral(f, g, scale, epsilon), integral(g, f, scale, epsilon))
        assert LaplacePair.of(f, g).delta(scale, epsilon) == pytest.approx(exact, rel=1e-6, abs=1e-11)


@pytest.mark.parametrize("scale", [0.5, 1.0, 4.0])
@pytest.mark.parametrize("epsilon", [0.0, 0.1, 0.7])
def test_delta_of_two_points_in_closed_form(scale: float, epsilon: float) -> None:
    """Two Laplace laws 1 apart: 1 - exp((epsilon - 1 / scale) / 2) if that is positive."""
    found = LaplacePair.of(bp.laws.Atoms([0.0], [1.0]), bp.laws.Atoms([1.0], [1.0])).delta(scale, epsilon)
    exact = max(0.0, 1 - math.exp((epsilon - 1 / scale) / 2))
    assert exact <= found <= exact + 1e-12


def test_masses_that_underflow_plain_sums_still_count() -> None:
    """A mass of 1e-300 at 5, or logs below any double, must be paid for."""
    f, g = bp.laws.Atoms([0, 5], [1, 1e-300]), bp.laws.Atoms([0, 5], [1, 0])
    for scale in (0.001, 0.005, 0.01):
        assert LaplacePair.of(f, g).epsilon(scale) == pytest.approx(exact_epsilon(f, g, scale), rel=1e-12, abs=1e-11)
        assert LaplacePair.of(f, g).epsilon(scale) >= exact_epsilon(f, g, scale) * (1 - 1e-15)
    deep = bp.laws.Atoms.from_logs([0.0, 5.0], [0.0, -5000.0])
    other = bp.laws.Atoms.from_logs([0.0, 5.0], [0.0, -9000.0])
    assert LaplacePair.of(deep, other).epsilon(0.0) >= 4000
    assert LaplacePair.of(deep, other).epsilon(1e-4) == pytest.approx(exact_epsilon(deep, other, 1e-4), rel=1e-12)
    assert LaplacePair.of(deep, other).epsilon(1.0) < 1e-9


def test_wide_laws_keep_their_precision() -> None:
    """Thousands of scales between the outer atoms."""
    rng = np.random.default_rng(5)
    f, g = draw(rng, 9, spread=5000.0)
    found, exact = LaplacePair.of(f, g).epsilon(1.0), exact_epsilon(f, g, 1.0)
    assert exact <= found <= exact * (1 + 1e-10)


# --- vectors -------------------------------------------------------------------------------------------------------


def plain_grid(f: bp.laws.Atoms, g: bp.laws.Atoms, scale: float) -> float:
    points = np.concatenate([f.points, g.points])
    corners = np.array(list(itertools.product(*(np.unique(column) for column in points.T))))
    logs = []
    for law in (f, g):
        away = np.abs(corners[:, None, :] - law.points[None, :, :]).sum(axis=2) / scale
        logs.append(np.logaddexp.reduce(law.logs - away, axis=1))
    return float(np.max(np.abs(logs[0] - logs[1])))


@pytest.mark.parametrize("origin", [False, True])
@pytest.mark.parametrize("length", [1.0, 0.25])
def test_the_simplex_rule_is_the_grid(origin: bool, length: float) -> None:
    rng = np.random.default_rng(6)
    for _ in range(60):
        d = int(rng.integers(2, 6))
        points = length * np.concatenate([np.eye(d), np.zeros((1 if origin else 0, d))])
        laws = []
        for _ in range(2):
            masses = rng.dirichlet(np.full(len(points), rng.choice([0.3, 3.0])))
            if rng.random() < 0.3:
                masses[rng.integers(len(points))] = 0
            laws.append(bp.laws.Atoms(points, masses / masses.sum()))
        scale = float(10 ** rng.uniform(-1, 1))
        found, exact = product_laplace_epsilon(*laws, scale), plain_grid(*laws, scale)
        assert exact - 1e-13 * max(1, exact) <= found <= exact + 1e-11


def test_any_points_on_the_grid() -> None:
    rng = np.random.default_rng(7)
    for _ in range(40):
        points = rng.integers(0, 3, size=(5, int(rng.integers(1, 4)))).astype(float)
        laws = [bp.laws.Atoms(points, rng.dirichlet(np.ones(5))) for _ in range(2)]
        scale = float(10 ** rng.uniform(-1, 1))
        exact = plain_grid(*laws, scale)
        assert exact - 1e-13 * max(1, exact) <= product_laplace_epsilon(*laws, scale) <= exact + 1e-11


def test_the_grid_bounds_all_of_space() -> None:
    rng = np.random.default_rng(8)
    points = rng.integers(0, 4, size=(6, 2)).astype(float)
    f, g = (bp.laws.Atoms(points, rng.dirichlet(np.ones(6))) for _ in range(2))
    w = rng.uniform(-3, 7, size=(20_000, 2))
    density = [np.exp(-np.abs(w[:, None] - law.points).sum(axis=2)) @ np.exp(law.logs) for law in (f, g)]
    assert np.max(np.abs(np.log(density[0] / density[1]))) <= product_laplace_epsilon(f, g, 1.0)


def test_too_large_a_grid_is_refused_before_it_is_made() -> None:
    rng = np.random.default_rng(9)
    f, g = (bp.laws.Atoms(rng.normal(size=(100, 6)), np.full(100, 0.01)) for _ in range(2))
    with pytest.raises(bp.errors.SizeError, match=r"dimension 6.*WassersteinMechanism"):
        product_laplace_epsilon(f, g, 1.0)


# --- Gaussian noise ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [0.3, 1.0, 7.0])
@pytest.mark.parametrize("epsilon", [0.0, 0.5, 2.0])
def test_gaussian_of_two_points_in_closed_form(scale: float, epsilon: float) -> None:
    found = gaussian_mixture_delta(bp.laws.Atoms([0.0], [1.0]), bp.laws.Atoms([1.0], [1.0]), scale, epsilon)
    exact = gaussian_delta(1 / scale, epsilon)
    assert exact * (1 - 1e-12) <= found <= exact * (1 + 1e-4) + 1e-11


@pytest.mark.unhurried
def test_gaussian_mixtures_against_integration() -> None:
    rng = np.random.default_rng(10)
    for _ in range(10):
        f, g = draw(rng, int(rng.integers(2, 6)))
        scale, epsilon = float(rng.uniform(0.3, 3)), float(rng.uniform(0, 1.5))
        w = np.linspace(-12 * scale, 5 + 12 * scale, 400_001)
        p, q = (
            np.exp(-((w[:, None] - law.support) ** 2) / (2 * scale**2))
            @ np.exp(law.logs)
            / (scale * math.sqrt(2 * math.pi))
            for law in (f, g)
        )
        exact = max(float(np.maximum(a - math.exp(epsilon) * b, 0).sum() * (w[1] - w[0])) for a, b in ((p, q), (q, p)))
        found = gaussian_mixture_delta(f, g, scale, epsilon)
        assert exact * (1 - 1e-6) - 1e-12 <= found <= exact * (1 + 1e-3) + 1e-10


@pytest.mark.parametrize("offset", [2.0**40, -(2.0**52), 2.0**60])
def test_gaussian_mixtures_far_from_zero(offset: float) -> None:
    # there the doubles between the atoms are coarser than the grid
    unit, rare = math.ulp(offset), [1 - 3e-9, 3e-9]
    for masses in ([[0.5, 0.5], [0.6, 0.4]], [rare, [1 - 1e-12, 1e-12]]):
        near = [bp.laws.Atoms([0.0, 2 * unit], each) for each in masses]
        far = [bp.laws.Atoms([offset, offset + 2 * unit], each) for each in masses]
        for scale in (0.3 * unit, 1.5 * unit, 70 * unit):
            expected = gaussian_mixture_delta(*near, scale, 0.1)
            assert gaussian_mixture_delta(*far, scale, 0.1) == pytest.approx(expected, rel=1e-9, abs=1e-300)


def test_gaussian_laws_too_far_apart_are_refused() -> None:
    f, g = bp.laws.Atoms([0.0, 1e9], [0.5, 0.5]), bp.laws.Atoms([0.0, 1e9], [0.4, 0.6])
    with pytest.raises(bp.errors.SizeError, match="Laplace noise"):
        gaussian_mixture_delta(f, g, 1.0, 1.0)


# --- the least scale -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("guess", [1e-9, 1.0, 1e9])
@pytest.mark.parametrize("budget", [1e-6, 1.0, 50.0])
def test_least_scale_is_private_and_hardly_larger(guess: float, budget: float) -> None:
    tried: dict[float, float] = {}

    def loss(scale: float) -> float:
        tried[scale] = 3 / scale if scale else math.inf
        return tried[scale]

    found = least_scale(loss, budget, guess)
    assert tried[found] <= budget  # the scale itself was tried, on the private side
    assert found == pytest.approx(3 / budget, rel=1e-11)


def test_least_scale_zero_and_none() -> None:
    assert least_scale(lambda _: 0.5, 0.5, 1.0) == 0.0
    assert least_scale(lambda _: 0.6, 0.5, 1.0) == math.inf
    assert least_scale(lambda scale: 0.0 if scale >= 2 else 1.0, 0.5, 1.0) == pytest.approx(2, rel=1e-12)
    assert least_scale(lambda scale: 0.0 if scale >= 2 else 1.0, 0.5, 1.0) >= 2
