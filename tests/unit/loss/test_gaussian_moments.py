"""Renyi divergences and mean losses with Gaussian noise against mpmath, and against closed forms."""

from __future__ import annotations

import itertools
import math

import mpmath as mp
import numpy as np
import pytest

import bnpriv as bp
from bnpriv.core.distributions import Atoms
from bnpriv.core.noise import Gaussian
from bnpriv.loss import moments as gaussian_moments
from bnpriv.loss.loss import PrivacyLoss
from tests.seeds import seeds

ORDERS = (0.1, 0.5, 0.9, 1.0, 1.01, 1.5, 2.0, 8.0, 64.0, 500.0)


def density_log(law: Atoms, scale: float):
    """Return the log of the density of a law with noise, as a function of the output in deviations."""
    places = [mp.mpf(float(x)) / scale for x in law.support]
    masses = [mp.mpf(float(p)) for p in law.probabilities]
    whole = sum(masses)

    def log(w):
        terms = [mp.log(p / whole) - (w - x) ** 2 / 2 for x, p in zip(places, masses, strict=True)]
        top = max(terms)
        return top + mp.log(mp.fsum(mp.exp(term - top) for term in terms)) - mp.log(2 * mp.pi) / 2

    return log


def renyi(first: Atoms, second: Atoms, scale: float, order: float) -> float:
    """Return the divergence by definition, in 30 digits: the integrand is looked at everywhere, then integrated."""
    with mp.workdps(30):
        p, q = density_log(first, scale), density_log(second, scale)
        ends = [float(x) / scale for law in (first, second) for x in (law.support[0], law.support[-1])]
        reach = (2 * order + 1) * (max(ends) - min(ends)) + 14
        low, high, logs = min(ends) - reach, max(ends) + reach, [0.0]
        for _ in range(2):  # of a large order little is left of the first look
            places = np.linspace(low, high, 801)
            logs = [float(order * p(mp.mpf(w)) + (1 - order) * q(mp.mpf(w))) for w in places.tolist()]
            logs = [max(log, float(p(mp.mpf(w)))) if order == 1 else log for log, w in zip(logs, places, strict=True)]
            kept = np.flatnonzero(np.array(logs) > max(logs) - 80)
            low, high = places[max(0, kept[0] - 1)], places[min(800, kept[-1] + 1)]
        pieces = [mp.mpf(float(w)) for w in np.linspace(low, high, min(200, int(high - low) // 2 + 8))]
        if order == 1:
            return float(mp.quad(lambda w: mp.exp(p(w)) * (p(w) - q(w)), pieces, maxdegree=5))
        top = mp.mpf(max(logs))
        whole = mp.quad(lambda w: mp.exp(order * p(w) + (1 - order) * q(w) - top), pieces, maxdegree=5)
        return float((mp.log(whole) + top) / (order - 1))


def drawn(rng: np.random.Generator) -> tuple[Atoms, Atoms, float]:
    """Draw two laws with atoms on both sides of each other, alike or nearly alike, and noise from fine to coarse."""

    def law() -> Atoms:
        size = int(rng.integers(1, 4))
        support = np.sort(rng.choice(8, size, replace=False)) * float(rng.choice([0.25, 1.0]))
        return Atoms(support, rng.dirichlet(np.full(size, rng.choice([0.2, 1.0, 20.0]))))

    first, second = law(), law()
    if rng.random() < 0.3 and first.size > 1:
        masses = first.probabilities * (1 + rng.choice([1e-3, 0.1]) * rng.uniform(-1, 1, first.size))
        second = Atoms(first.support, masses / masses.sum())
    return first, second, float(rng.choice([0.3, 1.0, 4.0]))


@pytest.mark.parametrize("seed", seeds(12, slow=60))
def test_random_pairs_against_mpmath(seed: int) -> None:
    rng = np.random.default_rng(300 + seed)
    first, second, scale = drawn(rng)
    order = ORDERS[seed % len(ORDERS)]
    found, expected = PrivacyLoss(first, second, Gaussian(scale)).renyi(order), renyi(first, second, scale, order)
    assert found.lower - 1e-14 * expected - 1e-25 <= expected <= found.upper + 1e-14 * expected + 1e-25
    if expected > 1e-9:
        assert found.upper - found.lower <= 1e-6 * expected


@pytest.mark.parametrize("order", [0.01, 0.5, 1.0, 1 + 1e-9, 2.0, 37.0, 1e3, 1e4])
@pytest.mark.parametrize("gap", [1e-3, 0.3, 2.0, 50.0])
def test_two_normal_laws_have_the_closed_form(order: float, gap: float) -> None:
    found = PrivacyLoss(Atoms([3.0], [1.0]), Atoms([3.0 + gap], [1.0]), Gaussian(1.0)).renyi(order)
    gap = (3.0 + gap) - 3.0
    assert found.lower <= order * gap**2 / 2 <= found.upper
    assert found.upper - found.lower <= 1e-6 * found.upper


def test_large_orders_of_many_atoms_are_tight() -> None:
    """Outputs far beyond all atoms decide: what bounded the loss there by one line was off by half, or ten times."""
    first, second = Atoms.binomial(200, 0.55), Atoms.binomial(200, 0.35)
    found = PrivacyLoss(first, second, Gaussian(3.0)).renyi(64.0)
    assert found.lower == pytest.approx(85.62323593, rel=1e-9)
    assert found.upper - found.lower <= 1e-9 * found.upper
    apart = Atoms([0.0, 40.0], [0.5, 0.5]), Atoms([10.0, 20.0], [0.5, 0.5])
    orders = [PrivacyLoss(*apart, Gaussian(1.0)).renyi(order) for order in (1.0, 2.0, 10.0, 100.0, 1e3)]
    assert all(one.upper < other.lower for one, other in itertools.pairwise(orders))  # it grows with the order
    assert all(each.upper - each.lower <= 1e-6 * each.upper for each in orders)


def test_equal_laws_tell_nothing() -> None:
    law = Atoms([0.0, 1.0, 5.0], [0.2, 0.3, 0.5])
    for order in (0.5, 1.0, 2.0, 100.0):
        found = PrivacyLoss(law, law, Gaussian(0.7)).renyi(order)
        assert found.lower == 0.0
        assert found.upper < 1e-20


def test_what_masses_are_off_by_is_in_the_bounds() -> None:
    masses = [0.2, 0.3, 0.5], [0.5, 0.3, 0.2]
    sharp = PrivacyLoss(*(Atoms([0.0, 1.0, 2.0], each) for each in masses), Gaussian(1.0))
    rough = PrivacyLoss(*(Atoms.from_logs([0.0, 1.0, 2.0], np.log(each), 1e-4) for each in masses), Gaussian(1.0))
    for order in (0.5, 1.0, 2.0, 30.0):
        one, other = sharp.renyi(order), rough.renyi(order)
        assert other.lower < one.lower
        assert one.upper < other.upper
        for sign in (1, -1):  # laws that are so far off
            shares = 1 + sign * 0.99e-4 * np.array([[1.0, 0.0, -1.0], [-1.0, 0.0, 1.0]])
            moved = np.array(masses) * shares
            near = PrivacyLoss(*(Atoms([0.0, 1.0, 2.0], each / each.sum()) for each in moved), Gaussian(1.0))
            assert other.lower <= near.renyi(order).lower <= other.upper


def test_the_bound_of_the_variance_holds_between_outputs() -> None:
    rng = np.random.default_rng(8)
    for _ in range(50):
        law = gaussian_moments._Mixture(np.sort(rng.uniform(0, 8, 4)), np.log(rng.dirichlet(np.full(4, 0.5))))
        low = rng.uniform(-5, 12)
        high = low + rng.choice([0.01, 0.3, 2.0])
        bound = gaussian_moments._variance(law.at(np.array([low])), law.at(np.array([high])))[0]
        inside = law.at(np.linspace(low, high, 50))
        variance = np.sum(inside.weights * (law.means - inside.mean[:, None]) ** 2, axis=1)
        assert variance.max() <= bound * (1 + 1e-9)


def test_too_many_terms_are_refused(monkeypatch) -> None:
    monkeypatch.setattr(gaussian_moments, "MOST_MOMENT_TERMS", 10_000)
    loss = PrivacyLoss(Atoms.binomial(100, 0.5), Atoms.binomial(100, 0.4), Gaussian(0.1))
    with pytest.raises(bp.errors.SizeError, match="with Gaussian noise may take at most"):
        loss.renyi(3.0)


def test_an_order_beyond_doubles_is_refused() -> None:
    with pytest.raises(bp.errors.SizeError, match="at which doubles hold the logs"):
        PrivacyLoss(Atoms([0.0], [1.0]), Atoms([50.0], [1.0]), Gaussian(1.0)).renyi(1e7)


def test_laws_of_several_numbers_are_refused() -> None:
    law = Atoms([[0.0, 1.0], [1.0, 0.0]], [0.5, 0.5])
    with pytest.raises(bp.errors.LawError):
        PrivacyLoss(law, law, Gaussian(1.0)).renyi(2.0)


def test_below_order_one_both_directions_are_tied() -> None:
    """(1 - a) D_a(P, Q) = a D_(1 - a)(Q, P)."""
    loss = PrivacyLoss(Atoms([0.0, 3.0], [0.4, 0.6]), Atoms([1.0, 2.0], [0.1, 0.9]), Gaussian(0.5))
    for order in (0.1, 0.3, 0.5):
        one, other = loss.renyi(order), loss.reversed.renyi(1 - order)
        assert (1 - order) * float(one) == pytest.approx(order * float(other), rel=1e-11)
        assert math.isfinite(float(one))
