"""The views of finite pairs of laws, against sums over all events and grids, and the laws that order them."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from bnpriv.lab import conversions
from bnpriv.loss import views
from bnpriv.loss.loss import capacity, information, largest_information

PAIRS, OUTPUTS = 10_000, 6
ROUNDING = 1e-11


@pytest.fixture(scope="module")
def pairs() -> tuple[np.ndarray, np.ndarray]:
    """Log masses of random pairs of laws: near and far ones, flat and peaked ones, with tiny masses."""
    rng = np.random.default_rng(16)
    shape = rng.choice([0.05, 0.3, 1.0, 10.0], size=(2, PAIRS, 1))
    laws = rng.gamma(np.broadcast_to(shape, (2, PAIRS, OUTPUTS)))
    near = rng.random(PAIRS) < 0.3
    laws[1, near] = laws[0, near] * np.exp(rng.uniform(-1e-3, 1e-3, size=(int(near.sum()), OUTPUTS)))
    tiny = rng.random((2, PAIRS, OUTPUTS)) < 0.02
    logs = np.log(np.maximum(laws, 1e-290)) - np.where(tiny, rng.uniform(0, 600, size=tiny.shape), 0.0)
    logs -= np.logaddexp.reduce(logs, axis=-1, keepdims=True)
    return logs[0], logs[1]


def below(one: np.ndarray, other: np.ndarray) -> None:
    """One number is at most another one, to within the rounding of both."""
    with np.errstate(invalid="ignore"):
        gap = np.where(one == other, 0.0, one - other)
    assert np.all(gap <= ROUNDING * (1 + np.abs(np.where(np.isfinite(one), one, 0)))), float(np.max(gap))


# --- against plain sums --------------------------------------------------------------------------------------------


def random_law(rng: np.random.Generator, zeros: bool) -> np.ndarray:
    law = rng.dirichlet(np.full(OUTPUTS, rng.choice([0.3, 1.0, 5.0])))
    if zeros:
        law[rng.integers(OUTPUTS)] = 0.0
    return law / law.sum()


def logs_of(law: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore"):
        return np.log(law)


EVENTS = np.array(list(itertools.product([False, True], repeat=OUTPUTS)))


@pytest.mark.parametrize("zeros", [False, True])
def test_delta_and_epsilon_are_over_all_events(zeros: bool) -> None:
    rng = np.random.default_rng(1)
    for _ in range(200):
        p, q = random_law(rng, zeros), random_law(rng, zeros)
        epsilon, delta = float(rng.uniform(0, 2)), float(rng.uniform(0, 0.3))
        over, under = EVENTS @ p, EVENTS @ q
        exact = float(np.max(over - math.exp(epsilon) * under))
        assert views.hockey_stick(logs_of(p), logs_of(q), epsilon) == pytest.approx(exact, abs=1e-14)
        with np.errstate(divide="ignore", invalid="ignore"):
            needed = np.where(over > delta + 1e-15, np.log((over - delta) / under), 0.0)
        found = float(views.least_epsilon(logs_of(p), logs_of(q), delta))
        assert found == pytest.approx(max(0.0, float(np.max(needed))), rel=1e-9, abs=1e-12)


def test_what_a_loss_exceeds() -> None:
    rng = np.random.default_rng(2)
    for _ in range(200):
        p, q = random_law(rng, False), random_law(rng, False)
        delta, loss = float(rng.uniform(0, 0.5)), np.log(p / q)
        found = float(views.least_exceeded(loss, p, delta))
        assert p[loss > found].sum() <= delta
        lower = loss[(loss < found) & (loss > 0)]
        assert all(p[loss > level].sum() > delta for level in [*lower, 0.0] if level < found)


def test_means_of_the_loss() -> None:
    rng = np.random.default_rng(3)
    for _ in range(200):
        p, q = random_law(rng, False), random_law(rng, False)
        order = float(rng.choice([0.3, 1.5, 2.0, 7.0]))
        first, second, r = np.log(p), np.log(q), p / q
        assert views.kullback_leibler(first, second) == pytest.approx(p @ np.log(r), rel=1e-11)
        exact = math.log(float(q @ r**order)) / (order - 1)
        assert views.renyi(first, second, order) == pytest.approx(exact, rel=1e-10)
        assert views.renyi(first, second, math.inf) == pytest.approx(np.max(np.log(r)), rel=1e-13)
        assert views.chi(first, second, max(order, 1.0)) == pytest.approx(
            q @ np.abs(r - 1) ** max(order, 1.0), rel=1e-10
        )
        third = random_law(rng, False)
        exact = float(third @ (np.abs(p - q) / third) ** 2)
        assert views.ternary_chi(first, second, np.log(third), 2.0) == pytest.approx(exact, rel=1e-10)
        exact = float(q @ np.square(np.sqrt(r) - 1))
        assert views.f_divergence(first, second, lambda x: np.square(np.sqrt(x) - 1), 1.0) == pytest.approx(exact)


@pytest.mark.parametrize("gap", [1e-3, 1e-7, 1e-12])
def test_near_equal_laws_keep_their_digits(gap: float) -> None:
    """Means of the loss that are near 0, where p log(p / q) cancels: gap squared over 2."""
    p, q = np.log([0.5, 0.5]), np.array([math.log1p(-gap), math.log1p(gap)]) - math.log(2)
    exact = -math.log1p(-gap * gap) / 2
    assert views.kullback_leibler(p, q) == pytest.approx(exact, rel=1e-3)
    assert views.renyi(p, q, 2.0) == pytest.approx(2 * exact, rel=1e-2, abs=1e-27)


def test_information_over_a_grid_of_priors() -> None:
    rng = np.random.default_rng(4)
    for zeros in (False, True):
        p, q = (logs_of(random_law(rng, zeros)) for _ in range(2))
        priors = np.linspace(0.001, 0.999, 999)
        grid = information(np.broadcast_to(p, (999, OUTPUTS)), np.broadcast_to(q, (999, OUTPUTS)), priors)
        low, high = largest_information(p, q)
        assert grid.max() * (1 - 1e-12) <= high
        assert grid.max() * (1 + 1e-5) >= low
        assert high - low <= 1e-9 * high


def test_capacity_of_many_laws() -> None:
    """Two laws as by false position; symmetric laws in closed form; useless laws change nothing."""
    rng = np.random.default_rng(5)
    for _ in range(6):
        logs = np.stack([logs_of(random_law(rng, True)) for _ in range(2)])
        low, high = capacity(logs)
        pair = largest_information(*logs)
        assert low <= high
        assert low <= pair[1] * (1 + 1e-9)
        assert pair[0] <= high * (1 + 1e-9)
        assert high - low <= 1e-4 * high
        more = capacity(np.vstack([logs, np.logaddexp(*logs) - math.log(2)]))
        assert more[0] <= high * (1 + 1e-9)
        assert low <= more[1] * (1 + 1e-9)
    assert capacity(np.log(np.full((3, 4), 0.25))) == pytest.approx((0.0, 0.0), abs=1e-15)
    assert capacity(logs_of(np.eye(5))) == pytest.approx((math.log(5), math.log(5)), rel=1e-9)


# --- the laws that order them, on many pairs at once -------------------------------------------------------------


def test_larger_orders_are_larger(pairs: tuple[np.ndarray, np.ndarray]) -> None:
    found = [views.renyi(*pairs, order) for order in (0.25, 0.5, 1.0, 1.25, 2.0, 5.0, 30.0, math.inf)]
    for one, other in itertools.pairwise(found):
        below(one, other)
    below(np.zeros(PAIRS), found[0])


def test_pure_bounds_everything(pairs: tuple[np.ndarray, np.ndarray]) -> None:
    both = np.maximum(views.renyi(*pairs, math.inf), views.renyi(*pairs[::-1], math.inf))
    variation = views.hockey_stick(*pairs, 0.0)
    below(variation, np.tanh(both / 2))
    below(views.kullback_leibler(*pairs), both * np.tanh(both / 2))
    for order in (1.5, 2.0, 10.0):
        most = np.array([conversions.renyi_of_epsilon(order, epsilon) for epsilon in both.tolist()])
        below(views.renyi(*pairs, order), most)
        below(most, order * both**2 / 2 * (1 + 1e-12) + 1e-300)
        below(views.renyi(*pairs, order) / order, both**2 / 2)
    sample = both[:200].tolist()
    assert [conversions.kullback_leibler_of_epsilon(e) for e in sample] == pytest.approx(
        both[:200] * np.tanh(both[:200] / 2), rel=1e-12
    )
    assert [conversions.total_variation_of_epsilon(e) for e in sample] == pytest.approx(np.tanh(both[:200] / 2))


def test_approximate_bounds_total_variation(pairs: tuple[np.ndarray, np.ndarray]) -> None:
    variation = views.hockey_stick(*pairs, 0.0)
    for epsilon in (0.0, 0.1, 1.0, 4.0):
        delta = np.maximum(views.hockey_stick(*pairs, epsilon), views.hockey_stick(*pairs[::-1], epsilon))
        most = np.array([conversions.total_variation_of_epsilon(epsilon, each) for each in delta.tolist()])
        below(variation, most)


def test_probabilistic_implies_approximate(pairs: tuple[np.ndarray, np.ndarray]) -> None:
    loss, masses = views.losses(*pairs), np.exp(pairs[0])
    for epsilon in (0.0, 1e-4, 0.3, 2.0):
        delta = views.hockey_stick(*pairs, epsilon)
        exceeds = np.sum(np.where(loss > epsilon, masses, 0.0), axis=-1)
        below(delta, exceeds)
        for more in (0.01, 1.0):
            further = np.sum(np.where(loss > epsilon + more, masses, 0.0), axis=-1)
            below(further, delta / -math.expm1(-more))
    assert conversions.probable_delta(0.01, 1.0) == pytest.approx(0.01 / (1 - math.exp(-1)))


def test_approximate_does_not_imply_probabilistic() -> None:
    """Some texts have the two the wrong way round: here delta is .001, and the loss is above epsilon half the time."""
    p, q = np.log([0.5, 0.5]), np.log([0.499, 0.501])
    assert views.hockey_stick(p, q, 0.0) == pytest.approx(0.001)
    assert np.exp(p)[views.losses(p, q) > 0].sum() == 0.5


def test_merged_outputs_can_exceed_more_often() -> None:
    """The distribution function of the loss is no fact about functions of the output."""
    p, q = np.array([0.1, 0.5, 0.4]), np.array([0.1 * math.exp(-1), 0.5 * math.exp(-0.1), 0.0])
    q[2] = 1 - q.sum()
    merged = [np.array([law[0] + law[1], law[2]]) for law in (p, q)]
    found = [law[0][np.log(law[0] / law[1]) > 0.15].sum() for law in ((p, q), merged)]
    assert found == pytest.approx([0.1, 0.6])
    deltas = [float(views.hockey_stick(*np.log(law), 0.15)) for law in ((p, q), merged)]
    assert deltas[1] < deltas[0]


def test_renyi_converts(pairs: tuple[np.ndarray, np.ndarray]) -> None:
    loss, masses = views.losses(*pairs), np.exp(pairs[0])
    for order, delta in ((1.1, 1e-2), (2.0, 1e-3), (8.0, 1e-6), (2.0, 0.5)):
        divergences = views.renyi(*pairs, order).tolist()
        epsilon = np.array([conversions.epsilon_of_renyi(order, each, delta) for each in divergences])
        below(views.hockey_stick(*pairs, np.maximum(epsilon, 0.0)), np.full(PAIRS, delta))
        level = np.array([conversions.probable_epsilon_of_renyi(order, each, delta) for each in divergences])
        below(np.sum(np.where(loss > level[:, None], masses, 0.0), axis=-1), np.full(PAIRS, delta))


def test_chi_and_total_variation(pairs: tuple[np.ndarray, np.ndarray]) -> None:
    variation = views.hockey_stick(*pairs, 0.0)
    assert np.allclose(views.chi(*pairs, 1.0), 2 * variation, rtol=1e-9, atol=1e-13)
    # of order 2 it is the Renyi divergence of order 2, less 1 after exp
    assert np.allclose(np.log1p(views.chi(*pairs, 2.0)), views.renyi(*pairs, 2.0), rtol=1e-6, atol=1e-13)
    roots = [views.chi(*pairs, order) ** (1 / order) for order in (1.0, 1.5, 2.0, 4.0)]
    for one, other in itertools.pairwise(roots):
        below(one, other)
    half = np.logaddexp(*pairs) - math.log(2)
    below(views.ternary_chi(*pairs, half, 2.0), 2 * (views.chi(*pairs, 2.0)))


def test_pinsker_and_information(pairs: tuple[np.ndarray, np.ndarray]) -> None:
    variation, mean = views.hockey_stick(*pairs, 0.0), views.kullback_leibler(*pairs)
    low, high = largest_information(*pairs)
    below(low, high)
    below(high - low, 1e-4 * high)
    below(variation, np.sqrt(mean / 2))
    below(variation, np.sqrt(2 * high))
    below(low, variation * math.log(2))
    below(low, mean)
    below(low, views.kullback_leibler(*pairs[::-1]))
    for prior in (0.0, 0.1, 0.5, 1.0):
        below(information(*pairs, np.full(PAIRS, prior)), high)
    assert conversions.total_variation_of_kullback_leibler(0.08) == pytest.approx(0.2)
    assert conversions.total_variation_of_information(0.08) == pytest.approx(0.4)
    assert conversions.information_of_total_variation(0.5) == pytest.approx(math.log(2) / 2)


def test_functions_of_the_output_tell_no_more(pairs: tuple[np.ndarray, np.ndarray]) -> None:
    merged = tuple(np.concatenate([np.logaddexp(logs[:, :1], logs[:, 1:2]), logs[:, 2:]], axis=1) for logs in pairs)
    for view in (
        views.kullback_leibler,
        lambda p, q: views.renyi(p, q, 3.0),
        lambda p, q: views.renyi(p, q, 0.5),
        lambda p, q: views.chi(p, q, 1.5),
        lambda p, q: views.hockey_stick(p, q, 0.2),
        lambda p, q: views.least_epsilon(p, q, 1e-3),
        lambda p, q: information(p, q, np.full(PAIRS, 0.3)),
    ):
        below(view(*merged), view(*pairs))


def test_the_curve_falls_and_is_its_own_inverse(pairs: tuple[np.ndarray, np.ndarray]) -> None:
    levels = [views.hockey_stick(*pairs, epsilon) for epsilon in (-1.0, 0.0, 0.5, 1.0, 20.0, 700.0, math.inf)]
    for one, other in itertools.pairwise(levels):
        below(other, one)
    assert np.all(levels[-1] == 0)
    for delta in (0.0, 1e-9, 0.1):
        below(views.hockey_stick(*pairs, views.least_epsilon(*pairs, delta)), np.full(PAIRS, delta))


# --- hostile numbers -------------------------------------------------------------------------------------------------


def test_disjoint_and_equal_laws() -> None:
    apart, same = logs_of(np.eye(2)), np.log([0.3, 0.7])
    assert views.hockey_stick(*apart, 700.0) == 1
    assert views.least_epsilon(*apart, 0.999) == math.inf
    assert views.least_epsilon(*apart, 1.0) == 0
    assert views.kullback_leibler(*apart) == math.inf
    assert views.renyi(*apart, 2.0) == math.inf
    assert views.renyi(*apart, 0.5) == math.inf
    assert views.chi(*apart, 1.0) == 2
    assert views.chi(*apart, 2.0) == math.inf
    assert float(largest_information(*apart)[1]) == pytest.approx(math.log(2))
    for value in (
        views.hockey_stick(same, same, 0.0), views.least_epsilon(same, same, 0.0), views.kullback_leibler(same, same),
        views.renyi(same, same, 5.0), views.chi(same, same, 1.5), largest_information(same, same)[1],
    ):  # fmt: skip
        assert float(value) == pytest.approx(0.0, abs=1e-15)


def test_masses_below_the_range_of_doubles_still_count() -> None:
    p, q = np.array([0.0, -5000.0]), np.array([0.0, -9000.0])
    assert views.renyi(p, q, math.inf) == 4000
    assert views.least_epsilon(p, q, 0.0) == 4000
    assert views.least_epsilon(p, q, 1e-300) == 0
    assert views.hockey_stick(p, q, 3000.0) == 0
    # 2 (-5000) + 9000 = -1000 does not count, 4 (-5000) + 3 (9000) = 7000 does
    assert views.renyi(p, q, 2.0) == pytest.approx(0.0, abs=1e-15)
    assert views.renyi(p, q, 4.0) == pytest.approx(7000 / 3)
