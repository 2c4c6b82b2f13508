"""The privacy loss with noise, against integration, other libraries, closed forms and sums over all events."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from bnpriv.core.distributions import Atoms
from bnpriv.core.gaussian_curve import gaussian_delta
from bnpriv.core.noise import DiscreteLaplace, Gaussian, Laplace, NoNoise
from bnpriv.core.privacy_curves import LaplacePair
from bnpriv.errors import LawError, ParameterError, RefusedError, SizeError
from bnpriv.lab import conversions
from bnpriv.loss.loss import PrivacyCurve, PrivacyLoss
from bnpriv.mechanisms.gaussian.noise import CorrelatedGaussian
from bnpriv.mechanisms.optimal.channel import Channel
from bnpriv.render.as_html import document_page
from bnpriv.render.as_markdown import document_markdown
from bnpriv.render.as_text import document_dict, document_text
from tests.later import optional

dp_accounting = optional("dp_accounting")
pld = optional("dp_accounting.pld.privacy_loss_distribution")

Density = Callable[[np.ndarray, Atoms, float], np.ndarray]


def draw(rng: np.random.Generator, *, whole: bool = False, shared: bool = False) -> tuple[Atoms, Atoms]:
    support = np.unique(rng.integers(0, 8, size=5) if whole else np.round(rng.uniform(0, 5, size=5), 2)).astype(float)
    laws = []
    for _ in range(2):
        masses = rng.dirichlet(np.full(support.size, rng.choice([0.3, 1.0, 5.0])))
        if not shared and support.size > 2:
            masses[rng.integers(support.size)] = 0.0
        laws.append(Atoms(support, masses / masses.sum()))
    return laws[0], laws[1]


def within(bound, exact: float, *, width: float = math.inf, room: float = 1e-9) -> None:
    """The exact number, known to within some room, lies between the ends, and these are near to each other."""
    assert bound.lower - room * (1 + abs(exact)) <= exact <= bound.upper + room * (1 + abs(exact)), (bound, exact)
    assert bound.upper - bound.lower <= width * max(exact, 1e-6), (bound, exact)


# --- numerical integration -------------------------------------------------------------------------------------------


def nodes(first: Atoms, second: Atoms, scale: float, reach: float) -> tuple[np.ndarray, np.ndarray]:
    """Gauss's rule on short cells between the atoms and beyond."""
    atoms = np.union1d(first.support, second.support)
    ends = [atoms[0] - reach * scale, *atoms, atoms[-1] + reach * scale]
    edges = np.unique(np.concatenate([np.linspace(a, b, 1500) for a, b in itertools.pairwise(ends)]))
    points, weights = np.polynomial.legendre.leggauss(6)
    half = np.diff(edges)[:, None] / 2
    return (edges[:-1, None] + half + half * points).ravel(), (half * weights).ravel()


def laplace_density(w: np.ndarray, law: Atoms, scale: float) -> np.ndarray:
    return np.exp(-np.abs(w[:, None] - law.support) / scale) @ law.probabilities / (2 * scale)


def gaussian_density(w: np.ndarray, law: Atoms, scale: float) -> np.ndarray:
    z = (w[:, None] - law.support) / scale
    return np.exp(-z * z / 2) @ law.probabilities / (scale * math.sqrt(2 * math.pi))


@pytest.mark.parametrize(
    ("noise", "density", "reach"), [(Laplace, laplace_density, 60.0), (Gaussian, gaussian_density, 14.0)]
)
def test_means_with_noise_against_integration(noise: type, density: Density, reach: float) -> None:
    rng = np.random.default_rng(1)
    for _ in range(6):
        (first, second), scale = draw(rng), float(10 ** rng.uniform(-0.3, 0.7))
        loss = PrivacyLoss(first, second, noise(scale))
        w, weights = nodes(first, second, scale, reach)
        p, q = (density(w, law, scale) for law in (first, second))
        ratio = p / q
        level, order = float(rng.uniform(0, 0.5)), float(rng.choice([0.4, 1.5, 3.0]))
        # the sign changes inside of a cell of the oracle
        within(loss.delta(level), weights @ np.maximum(p - math.exp(level) * q, 0), room=1e-6)
        within(loss.kullback_leibler, weights @ (p * np.log(ratio)), width=1e-3)
        within(loss.renyi(order), math.log(weights @ (q * ratio**order)) / (order - 1), width=1e-3)
        within(loss.chi(1.5), weights @ (q * np.abs(ratio - 1) ** 1.5), width=1e-2, room=1e-6)
        within(loss.f_divergence(lambda r: (np.sqrt(r) - 1) ** 2), weights @ (np.sqrt(p) - np.sqrt(q)) ** 2)
        mixed = 0.3 * p + 0.7 * q
        exact = weights @ (0.3 * p * np.log(p / mixed) + 0.7 * q * np.log(q / mixed))
        within(loss.mutual_information(0.3), exact, width=1e-3)
        within(loss.cdf(0.05), weights @ (p * (np.log(ratio) <= 0.05)), room=2e-3)
        for bound in (loss.kullback_leibler, loss.renyi(2.0), loss.mutual_information()):
            assert bound.kind == "certified"


@pytest.mark.parametrize("epsilon", [0.0, 0.2, 1.5])
def test_laplace_curve_is_that_of_calibrations(epsilon: float) -> None:
    rng = np.random.default_rng(2)
    for _ in range(40):
        (first, second), scale = draw(rng), float(10 ** rng.uniform(-1, 1))
        pair, loss = LaplacePair.of(first, second), PrivacyLoss(first, second, Laplace(scale))
        curve = PrivacyCurve([loss, loss.reversed])
        assert curve.delta(epsilon).upper == pytest.approx(pair.delta(scale, epsilon), abs=1e-11)
        assert curve.epsilon.upper == pytest.approx(pair.epsilon(scale), rel=1e-12)
        assert loss.delta(epsilon).kind == "exact"
        assert loss.delta(epsilon).upper - loss.delta(epsilon).lower < 1e-11


def test_distribution_function_with_laplace_noise_is_exact() -> None:
    """Two points 1 apart: the loss is 1/b below the first, -1/b above the second, and linear between."""
    loss = PrivacyLoss(Atoms([0.0], [1.0]), Atoms([1.0], [1.0]), Laplace(1.0))
    for t in (-0.9, -0.2, 0.0, 0.7):
        exact = math.exp(-(1 - t) / 2) / 2  # P(w >= (1 - t) / 2), and L falls with w
        within(loss.cdf(t), exact, width=1e-9)
        within(loss.exceeds(t), 1 - exact, width=1e-9)
    within(loss.cdf(1.5), 1.0)
    within(loss.cdf(-1.5), 0.0)


def test_whole_number_noise_against_a_long_sum() -> None:
    rng = np.random.default_rng(3)
    for _ in range(20):
        (first, second), scale = draw(rng, whole=True), float(10 ** rng.uniform(-0.3, 0.7))
        loss = PrivacyLoss(first, second, DiscreteLaplace(scale))
        k, r = np.arange(-400, 408), math.exp(-1 / scale)
        p, q = (
            np.exp(-np.abs(k[:, None] - law.support) / scale) @ law.probabilities * (1 - r) / (1 + r)
            for law in (first, second)
        )
        level = float(rng.uniform(0, 0.5))
        within(loss.delta(level), np.maximum(p - math.exp(level) * q, 0).sum(), room=1e-12)
        within(loss.kullback_leibler, (p * np.log(p / q)).sum(), width=1e-6, room=1e-11)
        within(loss.epsilon, max(0.0, float(np.log(p / q).max())), room=1e-10)
        within(loss.mutual_information(0.5), information_of(p, q), width=1e-6, room=1e-11)
        assert loss.delta(level).kind == "exact"


def information_of(p: np.ndarray, q: np.ndarray) -> float:
    mixed = (p + q) / 2
    return float((p * np.log(p / mixed) + q * np.log(q / mixed)).sum() / 2)


def test_channel_in_fractions() -> None:
    table = Channel([0.0, 1.0, 3.0], [0.0, 1.0], [[7, 3], [5, 5], [0, 10]], 10, [0.5, 0.25, 0.25])
    first, second = Atoms([0, 1, 3], [0.5, 0.25, 0.25]), Atoms([0, 2, 9], [0.25, 0.25, 0.5])
    # 2 lies half way between 1 and 3 and takes the row of the lower one; 9 takes that of 3
    p = [Fraction(1, 2) * 7 / 10 + Fraction(1, 4) * 5 / 10, None]
    q = [Fraction(1, 4) * 7 / 10 + Fraction(1, 4) * 5 / 10, None]
    p[1], q[1] = 1 - p[0], 1 - q[0]
    loss = PrivacyLoss(first, second, table)
    within(loss.epsilon, math.log(p[0] / q[0]), width=1e-12)
    within(loss.delta(0.1), float(p[0]) - math.exp(0.1) * float(q[0]), width=1e-12)
    within(loss.total_variation, float(p[0] - q[0]), width=1e-12)
    certain = Channel([0.0, 1.0], [0.0, 1.0], [[2**62, 0], [1, 2**62 - 1]], 2**62, [0.5, 0.5])
    within(PrivacyLoss(Atoms([0], [1.0]), Atoms([1], [1.0]), certain).epsilon, 62 * math.log(2), width=1e-12)
    assert PrivacyLoss(Atoms([1], [1.0]), Atoms([0], [1.0]), certain).epsilon.upper == math.inf


# --- other libraries, closed forms -----------------------------------------------------------------------------------


def test_dp_accounting_agrees_for_atoms() -> None:
    rng = np.random.default_rng(4)
    for _ in range(10):
        first, second = draw(rng, shared=True)
        curve, places = PrivacyCurve.of([(first, second)], NoNoise()), range(first.size)
        # its delta is that of both directions
        found = pld.from_two_probability_mass_functions(
            dict(zip(places, second.logs.tolist(), strict=True)),
            dict(zip(places, first.logs.tolist(), strict=True)),
            pessimistic_estimate=True,
            value_discretization_interval=1e-5,
            symmetric=False,
        )
        for epsilon in (0.0, 0.3, 1.0, 3.0):
            theirs = found.get_delta_for_epsilon(epsilon)
            assert curve.delta(epsilon).upper <= theirs + 1e-12
            assert curve.delta(epsilon).lower >= theirs - 1e-4


@pytest.mark.parametrize("epsilon", [0.0, 0.4, 1.2])
def test_dp_accounting_agrees_for_noise(epsilon: float) -> None:
    first, second = Atoms([0.0], [1.0]), Atoms([1.0], [1.0])
    for noise, theirs in (
        (Laplace(1.3), pld.from_laplace_mechanism(1.3, value_discretization_interval=1e-4)),
        (Gaussian(1.3), pld.from_gaussian_mechanism(1.3, value_discretization_interval=1e-4)),
    ):
        within(PrivacyLoss(first, second, noise).delta(epsilon), theirs.get_delta_for_epsilon(epsilon), room=2e-4)
    theirs = pld.from_discrete_laplace_mechanism(0.7, sensitivity=2, value_discretization_interval=1e-4)
    found = PrivacyLoss(Atoms([0.0], [1.0]), Atoms([2.0], [1.0]), DiscreteLaplace(1 / 0.7)).delta(epsilon)
    within(found, theirs.get_delta_for_epsilon(epsilon), room=2e-4)


@pytest.mark.parametrize("mu", [0.01, 0.5, 3.0])
def test_two_normal_laws_in_closed_form(mu: float) -> None:
    loss = PrivacyLoss(Atoms([0.0], [1.0]), Atoms([mu], [1.0]), Gaussian(1.0))
    for epsilon in (0.0, 0.5, 2.0):
        within(loss.delta(epsilon), gaussian_delta(mu, epsilon), room=1e-10)
    within(loss.kullback_leibler, mu**2 / 2, width=1e-4)
    for order in (0.5, 2.0, 17.0, 300.0):
        within(loss.renyi(order), order * mu**2 / 2, width=1e-4)
    within(loss.zero_concentrated(), mu**2 / 2, width=2e-3)
    within(loss.zero_concentrated(largest_order=4.0), mu**2 / 2, width=2e-3)
    within(loss.mean_concentrated.mean, mu**2 / 2, width=1e-4)
    within(loss.mean_concentrated.deviation, mu, width=1e-1)
    within(loss.total_variation, math.erf(mu / math.sqrt(8)), width=1e-5)
    assert loss.epsilon.upper == math.inf


def test_randomized_response_in_closed_form() -> None:
    """The pair that every pure conversion is tight for."""
    epsilon = 1.3
    share = 1 / (1 + math.exp(-epsilon))
    loss = PrivacyLoss(Atoms([0, 1], [share, 1 - share]), Atoms([0, 1], [1 - share, share]))
    within(loss.epsilon, epsilon, width=1e-12)
    within(loss.total_variation, conversions.total_variation_of_epsilon(epsilon), width=1e-12)
    within(loss.kullback_leibler, conversions.kullback_leibler_of_epsilon(epsilon), width=1e-12)
    for order in (1.5, 2.0, 50.0):
        within(loss.renyi(order), conversions.renyi_of_epsilon(order, epsilon), width=1e-11)
    entropy = -(share * math.log(share) + (1 - share) * math.log(1 - share))
    within(loss.mutual_information(), math.log(2) - entropy, width=1e-9)


# --- concentrated views ----------------------------------------------------------------------------------------------


def orders_of(loss: PrivacyLoss, orders: np.ndarray) -> np.ndarray:
    """Renyi divergences of a pair without noise, in plain sums."""
    p, q = loss.first.probabilities, loss.second.probabilities
    return np.array([math.log(float(q @ (p / q) ** a)) / (a - 1) for a in orders])


def test_concentrated_views_over_a_grid_of_orders() -> None:
    rng = np.random.default_rng(5)
    orders = 1 + np.geomspace(1e-3, 60, 4000)
    for _ in range(25):
        loss = PrivacyLoss(*draw(rng, shared=True))
        if loss.epsilon.upper > 9:
            continue
        divergences = orders_of(loss, orders)
        for xi in (0.0, 0.3 * loss.epsilon.upper):
            found = loss.zero_concentrated(xi)
            exact = float(np.max((divergences - xi) / orders))
            assert max(exact, 0.0) <= found.upper * (1 + 1e-9)
            assert found.lower <= max(exact, 0.0) + 2e-3 * found.upper + 1e-12
            assert found.upper - found.lower <= 1e-5 * found.upper + 1e-12
            few = loss.zero_concentrated(xi, largest_order=3.0)
            assert few.lower <= found.upper
            assert few.upper >= float(np.max(((divergences - xi) / orders)[orders <= 3])) * (1 - 1e-9)
        assert loss.capped(loss.epsilon.upper + 1).upper == loss.zero_concentrated().upper
        assert loss.capped(loss.epsilon.lower * 0.9).lower == math.inf


def test_mean_concentrated_holds_and_converts() -> None:
    rng = np.random.default_rng(6)
    powers = np.concatenate([-np.geomspace(1e-2, 30, 300), np.geomspace(1e-2, 30, 300)])
    orders = 1 + np.geomspace(1e-3, 30, 300)
    for _ in range(25):
        loss = PrivacyLoss(*draw(rng, shared=True))
        if loss.epsilon.upper > 9 or loss.reversed.epsilon.upper > 9:
            continue
        p, values = loss.first.probabilities, loss.first.logs - loss.second.logs
        mean, deviation = loss.mean_concentrated
        within(mean, float(p @ values), width=1e-9)
        logs = np.array([math.log(float(p @ np.exp(z * (values - p @ values)))) for z in powers])
        needed = float(np.max(2 * logs / powers**2))
        assert deviation.lower**2 <= max(needed, float(p @ (values - p @ values) ** 2)) * (1 + 1e-2)
        assert deviation.upper**2 >= needed * (1 - 1e-9)
        assert deviation.upper - deviation.lower <= 1e-2 * deviation.upper
        xi, rho = conversions.zero_concentrated_of_mean_concentrated(mean.upper, deviation.upper)
        assert np.all(orders_of(loss, orders) <= xi + rho * orders + 1e-9)


def test_zero_concentrated_converts() -> None:
    """Delta at the epsilon that follows, and how often the loss exceeds it, are at most what was asked for."""
    rng = np.random.default_rng(7)
    for _ in range(25):
        loss = PrivacyLoss(*draw(rng, shared=True))
        for delta, order, xi in ((1e-2, math.inf, 0.0), (1e-3, 3.0, 0.1), (0.3, math.inf, 0.2)):
            rho = loss.zero_concentrated(xi, largest_order=order).upper
            epsilon = conversions.epsilon_of_zero_concentrated(xi, rho, delta, largest_order=order)
            assert loss.delta(epsilon).lower <= delta
            assert loss.exceeds(epsilon).lower <= delta
        if math.isfinite(loss.epsilon.upper):
            both = max(loss.epsilon.upper, loss.reversed.epsilon.upper)
            assert loss.zero_concentrated().lower <= conversions.zero_concentrated_of_epsilon(both)
            assert loss.zero_concentrated(loss.epsilon.upper).upper == pytest.approx(0.0, abs=1e-12)


def test_approximately_zero_concentrated() -> None:
    """An outcome that gives all away does no harm if it is rare enough; the conversion holds."""
    loss = PrivacyLoss(Atoms([0, 1, 2], [0.499, 0.5, 0.001]), Atoms([0, 1], [0.5, 0.5]))
    assert loss.zero_concentrated().lower == math.inf
    assert loss.zero_concentrated(set_aside=0.0005).upper == math.inf
    found = loss.zero_concentrated(set_aside=0.002)
    assert found.lower == 0
    assert found.upper < 1e-4
    rng = np.random.default_rng(8)
    for _ in range(25):
        loss = PrivacyLoss(*draw(rng))
        for aside, delta in ((0.05, 0.06), (0.3, 0.5)):
            rho = loss.zero_concentrated(set_aside=aside).upper
            if math.isinf(rho):
                continue
            epsilon = conversions.epsilon_of_zero_concentrated(0.0, rho, delta, set_aside=aside)
            assert loss.delta(epsilon).lower <= delta
        assert loss.zero_concentrated(set_aside=0.1).upper <= loss.zero_concentrated().upper * (1 + 1e-3)


# --- the distribution function, and what is set aside ------------------------------------------------------------


def test_relaxed_over_all_events() -> None:
    rng = np.random.default_rng(9)
    events = np.array(list(itertools.product([False, True], repeat=4)))
    for _ in range(60):
        p, q = (rng.dirichlet(np.ones(4)) for _ in range(2))
        loss = PrivacyLoss(Atoms(range(4), p), Atoms(range(4), q))
        epsilon, aside = float(rng.uniform(0, 1)), float(rng.uniform(0, 0.6))
        excess = np.maximum(p - math.exp(epsilon) * q, 0.0)
        exact = min(float(excess @ ~event) for event in events if event @ p <= aside)
        bound = loss.relaxed(epsilon, aside)
        within(bound, exact, room=1e-12)
        # relaxed implies approximate, with both together; nothing aside is approximate, nothing left probabilistic
        assert loss.delta(epsilon).lower <= bound.upper + aside + 1e-12
        within(loss.relaxed(epsilon, 0.0), loss.delta(epsilon).upper, room=1e-12)
        within(loss.relaxed(epsilon, loss.exceeds(epsilon).upper * (1 + 1e-9)), 0.0, room=1e-12)
        assert loss.relaxed(epsilon, 1.0).upper == 0


def test_losses_that_are_exceeded() -> None:
    rng = np.random.default_rng(10)
    for noise in (NoNoise(), Laplace(1.0), Gaussian(1.0), DiscreteLaplace(2.0)):
        for _ in range(5):
            loss = PrivacyLoss(*draw(rng, whole=True), noise)
            for delta in (0.02, 0.3):
                found = loss.probable_epsilon(delta)
                assert found.lower <= found.upper
                if math.isfinite(found.upper):
                    assert loss.exceeds(found.upper + 1e-9).lower <= delta
                # probabilistic bounds are approximate ones
                assert loss.epsilon_at(delta).lower <= found.upper + 1e-12
            for level in (-0.3, 0.0, 0.2):
                assert loss.cdf(level).lower <= 1 - loss.exceeds(level).lower
                assert loss.cdf(level).upper >= 1 - loss.exceeds(level).upper


# --- hostile numbers -------------------------------------------------------------------------------------------------

NOISES = (NoNoise(), Laplace(0.5), Gaussian(0.5), DiscreteLaplace(0.5))


def all_views(loss: PrivacyLoss) -> dict[str, object]:
    return {
        "epsilon": loss.epsilon,
        **{f"delta {e}": loss.delta(e) for e in (0.0, 1.0, 700.0, 1e6, math.inf)},
        **{f"epsilon at {d}": loss.epsilon_at(d) for d in (0.0, 1e-300, 1e-9, 1.0)},
        **{f"probable at {d}": loss.probable_epsilon(d) for d in (0.0, 1e-9, 1.0)},
        "exceeds": loss.exceeds(0.0),
        "cdf": loss.cdf(0.0),
        "relaxed": loss.relaxed(0.1, 0.1),
        "mean": loss.kullback_leibler,
        **{f"renyi {a}": loss.renyi(a) for a in (0.5, 1.0, 2.0, 50.0, math.inf)},
        **{f"chi {a}": loss.chi(a) for a in (1.0, 2.0, 5.0)},
        "information": loss.mutual_information(),
        **{f"prior {w}": loss.mutual_information(w) for w in (0.0, 0.5, 1.0)},
        "rho": loss.zero_concentrated(),
        "bounded": loss.zero_concentrated(0.1, largest_order=2.0),
        "approximate": loss.zero_concentrated(set_aside=0.1),
        "capped": loss.capped(1.0),
        "mean concentrated": loss.mean_concentrated.deviation,
    }


@pytest.mark.parametrize("noise", NOISES, ids=lambda noise: type(noise).__name__)
@pytest.mark.parametrize(
    ("first", "second"),
    [
        (Atoms([0, 5], [0.5, 0.5]), Atoms([0, 5], [0.5, 0.5])),
        (Atoms([0], [1.0]), Atoms([0], [1.0])),
        (Atoms([0], [1.0]), Atoms([9], [1.0])),
        (Atoms([0, 5], [1, 1e-300]), Atoms([0, 5], [1, 0])),
        (Atoms([0, 5], [1, 0]), Atoms([0, 5], [1, 1e-300])),
        (Atoms.from_logs([0, 5], [0, -5000.0]), Atoms.from_logs([0, 5], [0, -9000.0])),
        (Atoms([0, 1, 12], [0.5, 0.5, 1e-200]), Atoms([0, 1, 12], [0.5, 0.5 - 1e-12, 1e-12])),
        (Atoms([2.0**52, 2.0**52 + 3], [0.4, 0.6]), Atoms([2.0**52, 2.0**52 + 3], [0.6, 0.4])),
    ],
    ids=["equal", "one atom", "disjoint", "1e-300", "1e-300 backwards", "far logs", "rare", "large"],
)
def test_hostile_laws(first: Atoms, second: Atoms, noise: object) -> None:
    """Every view is a pair of numbers in order, and equal laws tell nothing."""
    loss = PrivacyLoss(first, second, noise)
    found = all_views(loss)
    for name, bound in found.items():
        assert 0 <= bound.lower <= bound.upper, (name, bound)
    assert found["delta 0.0"].upper <= 1
    for one, other in itertools.pairwise([found[f"delta {e}"] for e in (0.0, 1.0, 700.0, 1e6, math.inf)]):
        assert other.lower <= one.upper
    assert found["epsilon at 0.0"].upper == loss.epsilon.upper
    assert found["epsilon at 1.0"].upper == 0
    assert found["information"].upper <= math.log(2) * (1 + 1e-12)
    for name in ("mean", "renyi 2.0", "rho", "information", "delta 0.0") if same(first, second) else ():
        assert found[name].upper <= 1e-8, (name, found[name])


def same(first: Atoms, second: Atoms) -> bool:
    return np.array_equal(first.support, second.support) and np.array_equal(first.logs, second.logs)


def test_what_is_impossible_costs_everything_whatever_its_mass() -> None:
    loss = PrivacyLoss(Atoms([0, 5], [1, 1e-300]), Atoms([0, 5], [1, 0]))
    assert loss.epsilon.lower == math.inf
    assert loss.delta(math.inf).upper == pytest.approx(1e-300, rel=1e-9)
    assert loss.delta(50.0).lower > 0
    assert loss.epsilon_at(1e-301).lower == math.inf
    assert loss.epsilon_at(1e-299).upper < 1e-11
    assert loss.kullback_leibler.lower == math.inf
    assert loss.reversed.epsilon.upper < 1e-11
    assert loss.mutual_information().upper < 1e-11
    deep = PrivacyLoss(Atoms.from_logs([0, 5], [0, -5000.0]), Atoms.from_logs([0, 5], [0, -9000.0]))
    within(deep.epsilon, 4000.0, width=1e-9)


def test_arguments_out_of_range_are_refused() -> None:
    loss = PrivacyLoss(Atoms([0, 1], [0.5, 0.5]), Atoms([0, 1], [0.4, 0.6]))
    for ask in (
        lambda: loss.delta(math.nan), lambda: loss.delta("1"), lambda: loss.delta(True), lambda: loss.epsilon_at(-0.1),
        lambda: loss.epsilon_at(1.1), lambda: loss.renyi(0.0), lambda: loss.renyi(-1.0), lambda: loss.chi(0.5),
        lambda: loss.mutual_information(2.0), lambda: loss.zero_concentrated(-1.0), lambda: loss.relaxed(0.0, 2.0),
        lambda: loss.zero_concentrated(largest_order=1.0), lambda: PrivacyCurve([]),
    ):  # fmt: skip
        with pytest.raises(ParameterError):
            ask()
    with pytest.raises(LawError, match="one number"):
        _ = PrivacyLoss(Atoms([[0, 0]], [1.0]), Atoms([[1, 0]], [1.0]), Laplace(1.0)).epsilon
    with pytest.raises(LawError, match="whole numbers"):
        _ = PrivacyLoss(Atoms([0.5], [1.0]), Atoms([1.0], [1.0]), DiscreteLaplace(1.0)).epsilon
    with pytest.raises(RefusedError, match="shape of its own"):
        _ = PrivacyLoss(Atoms([0], [1.0]), Atoms([1], [1.0]), CorrelatedGaussian([[1.0]])).epsilon
    with pytest.raises(SizeError):
        _ = PrivacyLoss(Atoms([0], [1.0]), Atoms([1e9], [1.0]), Gaussian(1.0)).epsilon
    with pytest.raises(SizeError):
        _ = PrivacyLoss(Atoms([0], [1.0]), Atoms([1e9], [1.0]), DiscreteLaplace(1.0)).epsilon


def test_vectors_without_noise() -> None:
    first = Atoms([[0, 0], [0, 1], [1, 0], [1, 1]], [0.5, 0, 0, 0.5])
    second = Atoms([[0, 0], [0, 1], [1, 0], [1, 1]], [0.25, 0.25, 0.25, 0.25])
    within(PrivacyLoss(first, second).epsilon, math.log(2), width=1e-12)
    assert PrivacyLoss(second, first).epsilon.upper == math.inf


def test_what_is_shown() -> None:
    """Text, page, Markdown and JSON of a loss and a curve; the drawing is there, and no number is undefined."""
    for noise in NOISES:
        loss = PrivacyLoss(Atoms([0, 1], [0.5, 0.5]), Atoms([0, 1], [0.4, 0.6]), noise)
        curve = PrivacyCurve([loss, loss.reversed], asked=(0.1, 1e-6))
        for shown in (loss, curve):
            document = shown.document
            assert "mutual information" in document_text(document)
            assert "<svg" in str(document_page(document))
            assert "privacy loss" in document_markdown(document).lower()
            assert '"total_variation"' in json.dumps(document_dict(document), allow_nan=False)
    certain = PrivacyLoss(Atoms([0], [1.0]), Atoms([9], [1.0]))
    assert "has no bound" in certain.text
    assert '"epsilon": "inf"' in certain.to_json()
    for noise in NOISES[:2]:
        equal = PrivacyCurve.of([(Atoms([0, 1], [0.5, 0.5]), Atoms([0, 1], [0.5, 0.5]))], noise)
        assert "is 0, to within rounding" in equal.text
        assert "delta is 0 at every epsilon" in equal.text


def test_plot_draws_the_distribution_function() -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    drawn = PrivacyLoss(Atoms([0, 1], [0.5, 0.5]), Atoms([0, 1], [0.4, 0.6])).plot()
    (line,) = drawn.lines
    assert line.get_ydata()[-1] == pytest.approx(1.0)
