"""Max-influence by quadrature against direct integration, and where it has no end."""

from __future__ import annotations

import itertools
import math
import time

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.core.influence.base import influence_of
from bnpriv.kinds.density.grid import QuadratureGrid, Scale
from bnpriv.kinds.density.network import DensityNetwork
from bnpriv.kinds.density.refine import refined
from tests.densities import Node, density_network, integral, largest_log_ratio, smooth_integral
from tests.later import Later

stats = Later("scipy.stats")

NORMAL = Node(lambda: stats.norm(0, 1))


def told(network: DensityNetwork, columns: set[str], protected: str, *secrets: tuple) -> bp.types.Influence:
    return bp.max_influence(network, columns, protected, bp.intervals(*secrets))


@pytest.fixture(scope="module")
def beta_chain() -> DensityNetwork:
    """Make p ~ Beta(2, 3) and c ~ Beta(1 + 4 p, 5 - 4 p)."""
    return density_network(
        {
            "p": Node(lambda: stats.beta(2, 3), lower=0, upper=1),
            "c": Node(lambda p: stats.beta(1 + 4 * p, 5 - 4 * p), ("p",), lower=0, upper=1),
        }
    )


@pytest.fixture(scope="module")
def eight_schools() -> DensityNetwork:
    theta = Node(lambda mu, tau: stats.norm(mu, tau), ("mu", "tau"))
    return density_network(
        {
            "mu": Node(lambda: stats.norm(0, 5)),
            "tau": Node(lambda: stats.halfcauchy(0, 5), lower=0),
            "theta[1]": theta,
            "theta[2]": theta,
            "theta[3]": theta,
        }
    )


LAWS = {
    "normal": (lambda: stats.norm(3, 2), -math.inf, math.inf),
    "narrow normal": (lambda: stats.norm(1e3, 1e-3), -math.inf, math.inf),
    "Cauchy": (lambda: stats.cauchy(1, 2), -math.inf, math.inf),
    "t": (lambda: stats.t(3), -math.inf, math.inf),
    "narrow beta": (lambda: stats.beta(1000, 20), 0, 1),
    "singular gamma": (lambda: stats.gamma(0.3), 0, math.inf),
    "half-Cauchy": (lambda: stats.halfcauchy(0, 5), 0, math.inf),
    "half-normal": (lambda: stats.halfnorm(0, 1), 0, math.inf),
    "lognormal": (lambda: stats.lognorm(2), 0, math.inf),
    "uniform": (lambda: stats.uniform(5, 1), 5, 6),
}


@pytest.mark.parametrize("name", LAWS)
def test_grids_sum_to_one(name: str) -> None:
    law, lower, upper = LAWS[name]
    network = density_network({"x": Node(law, lower=lower, upper=upper), "s": NORMAL})
    pair = bp.intervals((0, 1)).chosen[0]
    lattice = QuadratureGrid(network, "s", pair)
    assert lattice.lost({"x"}, 236, 40.0) < 1e-9
    scale = lattice.scale("x")
    t = np.linspace(*scale.ends, 4001)
    assert np.all(np.diff(scale.values(t)) >= 0)
    assert np.max(np.abs(scale.coordinates(scale.values(t[1500:2500])) - t[1500:2500])) < 1e-6


def test_a_scale_without_usable_draws_still_has_one() -> None:
    assert Scale.of(0.0, math.inf, np.array([np.nan])).width > 0
    assert Scale.of(0.0, math.inf, np.full(5, 2.0)).width > 0


def test_protected_child_tells_a_finite_amount_of_its_parent(beta_chain: DensityNetwork) -> None:
    def joint(c: float):
        return lambda p: stats.beta.pdf(p, 2, 3) * stats.beta.pdf(c, 1 + 4 * p, 5 - 4 * p)

    first, second = (integral(joint(c), 0, 1) for c in (0.3, 0.6))
    places = np.linspace(1e-9, 1 - 1e-9, 2001)
    wanted = largest_log_ratio(lambda p: joint(0.3)(p) / first, lambda p: joint(0.6)(p) / second, places)
    found = told(beta_chain, {"p"}, "c", (0.3, 0.6))
    assert float(found) == pytest.approx(wanted, abs=1e-6)
    assert found.kind == "estimate"
    assert found.settled


def test_protected_parent_of_a_beta_is_told_without_end(beta_chain: DensityNetwork) -> None:
    found = told(beta_chain, {"c"}, "p", (0.3, 0.6), ((0.2, 0.3), (0.5, 0.6)))
    assert np.isposinf(found.values).all()
    assert found.settled
    assert "grow" in found.how
    assert 0 < found.delta(1.0) < 0.2


def test_unbounded_growth_is_never_a_number() -> None:
    """Tails that are told apart without end: normal, through a chain, from below, as a spike, and by an edge."""
    chain = density_network(
        {"a": NORMAL, "h": Node(lambda a: stats.norm(a, 1), ("a",)), "q": Node(lambda h: stats.norm(h, 1), ("h",))}
    )
    assert float(told(chain, {"q"}, "a", (0, 0.01))) == math.inf
    assert float(told(chain, {"a"}, "q", (0, 1))) == math.inf
    edge = density_network(
        {
            "a": Node(lambda: stats.uniform(0, 1), lower=0, upper=1),
            "h": Node(lambda a: stats.uniform(0, a), ("a",), lower=0, upper=1),
        }
    )
    assert float(told(edge, {"h"}, "a", (0.3, 0.6))) == math.inf


def test_eight_schools(eight_schools: DensityNetwork) -> None:
    """Given mu the density of an effect has a logarithmic spike at mu; given tau its tails differ."""
    assert float(told(eight_schools, {"theta[1]"}, "mu", (1, 2))) == math.inf
    spike = told(eight_schools, {"theta[1]", "theta[2]", "theta[3]"}, "mu", (0, 1))
    assert float(spike) == math.inf
    assert "point" in spike.how
    found = told(eight_schools, {"theta[1]"}, "tau", (1, 3))
    assert float(found) == math.inf
    first, second = stats.norm(0, math.sqrt(26)), stats.norm(0, math.sqrt(34))
    x = math.sqrt(2 * math.log(second.std() / first.std()) / (1 / 26 - 1 / 34))
    assert 2 * (first.cdf(x) - second.cdf(x)) == pytest.approx(float(found.losses.excess(0.0)[0, 0]), abs=1e-6)


def test_influence_of_cauchy_laws_is_known() -> None:
    prior = Node(lambda: stats.halfcauchy(0, 5), lower=0)
    location = density_network({"a": NORMAL, "q": Node(lambda a: stats.cauchy(a, 1), ("a",))})
    assert float(told(location, {"q"}, "a", (0, 1))) == pytest.approx(2 * math.asinh(0.5), abs=1e-6)
    scale = density_network({"a": prior, "q": Node(lambda a: stats.cauchy(0, a), ("a",))})
    assert float(told(scale, {"q"}, "a", (1, 3))) == pytest.approx(math.log(3), abs=1e-6)


def student_given(a: float, spread: float, scale: float = 1.0):
    """Return the density of t(3) about a normal number about a."""

    def density(q: float) -> float:
        edges = (a - 7 * spread, *([q] if abs(q - a) < 7 * spread else []), a + 7 * spread)
        return smooth_integral(lambda h: stats.norm.pdf(h, a, spread) * stats.t.pdf(q, 3, h, scale), *edges)

    return density


def test_four_parameters_between_in_a_chain() -> None:
    step = {"a": NORMAL}
    for k, parent in enumerate(("a", "h0", "h1", "h2")):
        step[f"h{k}"] = Node(lambda h: stats.norm(h, 0.5), (parent,))
    network = density_network({**step, "q": Node(lambda h: stats.t(3, h, 1), ("h3",))})
    wanted = largest_log_ratio(student_given(0, 1.0), student_given(1, 1.0), np.linspace(-4, 0.5, 19))
    found = told(network, {"q"}, "a", (0, 1))
    assert found.settled
    assert float(found) == pytest.approx(wanted, abs=1e-6)


@pytest.mark.slow
def test_four_parameters_between_that_meet() -> None:
    """Densities over six parameters at once: the value does not settle to 1e-7, and says so."""

    class Mean:
        def __init__(self, *h: np.ndarray) -> None:
            self.law = stats.t(3, sum(h) / 4, 1)
            self.logpdf, self.rvs = self.law.logpdf, self.law.rvs

    arms = {f"h{k}": Node(lambda a: stats.norm(a / 2, 1), ("a",)) for k in range(4)}
    network = density_network({"a": NORMAL, **arms, "q": Node(Mean, tuple(arms))})
    wanted = largest_log_ratio(student_given(0, 0.5), student_given(0.5, 0.5), np.linspace(-5, 0.25, 56))
    found = told(network, {"q"}, "a", (0, 1))
    assert wanted <= float(found) <= wanted + 1e-3


def test_a_narrow_density_in_a_wide_prior() -> None:
    network = density_network(
        {
            "a": Node(lambda: stats.norm(0, 100)),
            "h": Node(lambda a: stats.norm(a, 0.1), ("a",)),
            "q": Node(lambda h: stats.t(3, h, 0.05), ("h",)),
        }
    )
    wanted = largest_log_ratio(student_given(0, 0.1, 0.05), student_given(1, 0.1, 0.05), np.linspace(-0.6, 1.6, 45))
    assert float(told(network, {"q"}, "a", (0, 1))) == pytest.approx(wanted, abs=1e-6)


@pytest.fixture(scope="module")
def fork() -> DensityNetwork:
    return density_network(
        {
            "m": NORMAL,
            "a": Node(lambda m: stats.norm(m, 1), ("m",)),
            "q": Node(lambda m: stats.t(3, m, 1), ("m",)),
        }
    )


@pytest.mark.parametrize(("first", "second"), [(0, 1), (30, 31), (-60, 60)])
def test_secrets_in_a_far_tail(fork: DensityNetwork, first: float, second: float) -> None:
    spread = math.sqrt(0.5)
    given = [student_given(a / 2, spread) for a in (first, second)]
    places = np.concatenate([a / 2 + np.linspace(-4, 4, 17) for a in (first, second)])
    found = told(fork, {"q"}, "a", (first, second))
    assert found.settled
    assert float(found) == pytest.approx(largest_log_ratio(*given, places), abs=1e-6)


@pytest.mark.parametrize("first", [100, 3000])
def test_secrets_too_far_away_are_not_taken_for_harmless(fork: DensityNetwork, first: float) -> None:
    """The grid's last point would stand for both secrets, and tell nothing."""
    assert float(told(fork, {"q"}, "a", (first, first + 1))) > 0.5348


def test_an_interval_of_almost_no_probability(fork: DensityNetwork) -> None:
    """Given a in [20, 30] the law of m is that of a near 20, as the law of a says."""
    a = stats.norm(0, math.sqrt(2))

    def given(low: float, high: float):
        nodes, weights = np.polynomial.legendre.leggauss(60)
        values = low + (high - low) * (nodes + 1) / 2
        masses = a.pdf(values) * weights
        spread = math.sqrt(0.5)

        def density(q: float) -> float:
            def inner(m: float) -> float:
                return float(masses @ stats.norm.pdf(m, values / 2, spread)) * stats.t.pdf(q, 3, m, 1)

            return integral(inner, low / 2 - 5, high / 2 + 5) / masses.sum()

        return density

    found = told(fork, {"q"}, "a", ((20, 22), (8, 9)))
    wanted = largest_log_ratio(given(20, 22), given(8, 9), np.linspace(2.5, 4, 7))
    assert float(found) == pytest.approx(wanted, abs=2e-6)


def test_an_interval_may_reach_beyond_the_support_and_the_mass(
    fork: DensityNetwork, beta_chain: DensityNetwork
) -> None:
    wide = told(fork, {"q"}, "a", ((-1e6, 0), (1, 1e6)))
    less = told(fork, {"q"}, "a", ((-20, 0), (1, 20)))
    assert float(wide) == pytest.approx(float(less), abs=1e-6)
    beyond = told(beta_chain, {"p"}, "c", ((-5, 0.3), (0.6, 7)))
    inside = told(beta_chain, {"p"}, "c", ((0, 0.3), (0.6, 1)))
    assert float(beyond) == pytest.approx(float(inside), abs=1e-6)


@pytest.fixture(scope="module")
def collider() -> DensityNetwork:
    return density_network(
        {
            "a": Node(lambda: stats.beta(2, 2), lower=0, upper=1),
            "b": Node(lambda: stats.beta(2, 3), lower=0, upper=1),
            "c": Node(lambda a, b: stats.beta(1 + a + b, 3 - a - b), ("a", "b"), lower=0, upper=1),
        }
    )


def test_collider(collider: DensityNetwork) -> None:
    separated = told(collider, {"b"}, "a", (0.3, 0.6))
    assert (float(separated), separated.kind, separated.error) == (0.0, "exact", 0.0)

    def likelihood(c: float, a: float) -> float:
        return integral(lambda b: stats.beta.pdf(b, 2, 3) * stats.beta.pdf(c, 1 + a + b, 3 - a - b), 0, 1)

    total = [integral(lambda a, c=c: stats.beta.pdf(a, 2, 2) * likelihood(c, a), 0, 1) for c in (0.3, 0.6)]
    wanted = max(
        abs(math.log(likelihood(0.3, a) / likelihood(0.6, a) * total[1] / total[0])) for a in (1e-12, 1 - 1e-12)
    )
    assert float(told(collider, {"a"}, "c", (0.3, 0.6))) == pytest.approx(wanted, abs=1e-6)


@pytest.fixture(scope="module")
def mixed() -> DensityNetwork:
    def count(a: np.ndarray, s: np.ndarray):
        return stats.binom(3, 1 / (1 + np.exp(-a - s)))

    return density_network(
        {
            "s": Node(lambda: stats.bernoulli(0.3), lower=0, upper=1, states=(0.0, 1.0)),
            "a": Node(lambda s: stats.norm(s, 1), ("s",)),
            "k": Node(count, ("a", "s"), lower=0, upper=3, states=(0.0, 1.0, 2.0, 3.0)),
        }
    )


def test_mixed_network_against_brute_force(mixed: DensityNetwork) -> None:
    places = np.linspace(-12, 13, 20001)
    chance = np.array([0.7, 0.3])
    joint = np.array(
        [
            [
                chance[s] * stats.norm.pdf(places, s) * stats.binom.pmf(k, 3, 1 / (1 + np.exp(-places - s)))
                for k in range(4)
            ]
            for s in (0, 1)
        ]
    ) * (places[1] - places[0])

    def ratio(first: np.ndarray, second: np.ndarray) -> float:
        return float(np.max(np.abs(np.log(first / first.sum()) - np.log(second / second.sum()))))

    by_state = joint.sum(axis=2)
    assert float(told(mixed, {"k"}, "s", (0, 1))) == pytest.approx(ratio(*by_state), abs=1e-6)
    wanted = ratio(by_state[:, 0], by_state[:, 3])
    assert float(told(mixed, {"s"}, "k", (0, 3))) == pytest.approx(wanted, abs=1e-6)
    pairs = [ratio(by_state[:, a], by_state[:, b]) for a in range(4) for b in range(a)]
    assert float(bp.max_influence(mixed, {"s"}, "k")) == pytest.approx(max(pairs), abs=1e-6)
    sets = ratio(by_state[:, :2].sum(axis=1), by_state[:, 2:].sum(axis=1))
    assert float(told(mixed, {"s"}, "k", ((0, 1), (2, 3)))) == pytest.approx(sets, abs=1e-6)


def test_intervals_of_a_mixed_network(mixed: DensityNetwork) -> None:
    def joint(k: int, low: float, high: float) -> float:
        def density(a: float) -> float:
            return sum(
                chance * stats.norm.pdf(a, s) * stats.binom.pmf(k, 3, 1 / (1 + math.exp(-a - s)))
                for s, chance in enumerate((0.7, 0.3))
            )

        return integral(density, low, high)

    low, high = ([joint(k, *ends) for k in range(4)] for ends in ((-1, 0), (1, 2)))
    wanted = max(abs(math.log(a / sum(low) / b * sum(high))) for a, b in zip(low, high, strict=True))
    assert float(told(mixed, {"k"}, "a", ((-1, 0), (1, 2)))) == pytest.approx(wanted, abs=1e-6)


def test_parts_of_a_frontier_add_up_for_values(fork: DensityNetwork) -> None:
    prior = Node(lambda: stats.norm(0, 1))
    leaf = Node(lambda a: stats.cauchy(a, 1), ("a",))
    network = density_network({"a": prior, "q": leaf, "r": leaf, "s": leaf})
    assert float(told(network, {"q", "r", "s"}, "a", (0, 1))) == pytest.approx(6 * math.asinh(0.5), abs=1e-6)
    together = told(network, {"q", "r"}, "a", ((-1e-4, 1e-4), (1 - 1e-4, 1 + 1e-4)))
    assert float(together) == pytest.approx(4 * math.asinh(0.5), abs=1e-3)


def test_the_history_shows_every_step(beta_chain: DensityNetwork) -> None:
    found = told(beta_chain, {"p"}, "c", (0.3, 0.6))
    (history,) = found.history
    assert len(history) >= 3
    assert history[0].change == math.inf
    assert history[-1].change <= 1e-6
    assert found.error == history[-1].change
    assert all(after.points > before.points for before, after in itertools.pairwise(history))
    text = found.explain()
    assert str(history[-1]) in text
    assert "Stable" in text
    assert "estimate" in repr(found)


def test_what_does_not_settle_says_so() -> None:
    """A law whose support moves leaves jumps in every grid; the value keeps a margin."""
    network = density_network(
        {
            "a": Node(lambda: stats.uniform(0, 1), lower=0, upper=1),
            "h": Node(lambda a: stats.uniform(0, a), ("a",), lower=0, upper=1),
            "q": Node(lambda h: stats.cauchy(h, 1), ("h",)),
        }
    )

    def given(a: float):
        return lambda q: (math.atan(q) - math.atan(q - a)) / (math.pi * a)

    wanted = largest_log_ratio(given(0.3), given(0.6), np.linspace(-4, 4, 801))
    found = told(network, {"q"}, "a", (0.3, 0.6))
    assert not found.settled
    assert "not settled" in repr(found)
    assert wanted < float(found) < wanted + 0.05


def test_a_limit_that_is_approached_slowly_is_not_taken_for_reached() -> None:
    """The ratio comes to log 2 like one over the depth."""
    network = density_network(
        {
            "a": Node(lambda: stats.bernoulli(0.5), lower=0, upper=1, states=(0.0, 1.0)),
            "h": Node(lambda a: stats.beta(1 + a, 1), ("a",), lower=0, upper=1),
            "q": Node(lambda h: stats.expon(scale=1 + h), ("h",), lower=0),
        }
    )
    assert float(told(network, {"h"}, "a", (0, 1))) == math.inf
    found = told(network, {"q"}, "a", (0, 1))
    assert float(found) >= math.log(2)
    assert not found.settled or float(found) == math.inf
    assert [step.influence for step in found.history[0]][-1] < math.log(2)


def test_what_swings_too_much_has_no_value() -> None:
    network = density_network(
        {
            "a": Node(lambda: stats.norm(0, 100)),
            "h": Node(lambda a: stats.norm(a, 1e-3), ("a",)),
            "q": Node(lambda h: stats.t(3, h, 1e-3), ("h",)),
        }
    )
    found = told(network, {"q"}, "a", (-1000, 1000))
    assert (float(found), found.settled) == (math.inf, False)


def test_secrets_of_probability_zero_are_dropped(beta_chain: DensityNetwork, mixed: DensityNetwork) -> None:
    found = told(beta_chain, {"p"}, "c", (0.3, 2.0), (0.3, 0.6))
    assert np.isneginf(found.values[0, 0])
    assert found.values[0, 1] > 0
    assert [str(pair) for pair, _ in found.dropped] == ["0.3 against 2"]
    assert found.losses.excess(0.1)[0, 0] == 0
    assert found.losses.shifts(0.5, 1e-3, "laplace")[0, 0] == math.inf
    assert np.isneginf(influence_of(mixed, {"s"}, "k", bp.intervals((0, 1.5)).chosen).values).all()
    with pytest.raises(bp.errors.SecretError, match="positive probability"):
        told(mixed, {"s"}, "k", (0, 1.5))


def test_a_grid_that_misses_a_secret_does_not_drop_it() -> None:
    """Given m, a is within 1e-3 of it: hardly a point of the grid of m is near enough to the secret."""
    network = density_network(
        {
            "m": Node(lambda: stats.norm(0, 10)),
            "a": Node(lambda m: stats.uniform(m - 1e-3, 2e-3), ("m",)),
            "q": Node(lambda m: stats.cauchy(m, 10), ("m",)),
        }
    )
    found = told(network, {"q"}, "a", (0.3, 1.0))
    assert float(found) > 0.069
    assert found.dropped == ()
    assert found.delta(0.01) > 0.005


def test_wide_intervals_of_a_parameter_with_descendants() -> None:
    network = density_network({"a": NORMAL, "q": Node(lambda a: stats.cauchy(a, 1), ("a",))})
    wide = told(network, {"q"}, "a", ((-1e6, 0), (1, 1e6)))
    less = told(network, {"q"}, "a", ((-20, 0), (1, 20)))
    assert wide.settled
    assert float(wide) == pytest.approx(float(less), abs=1e-6)


def test_both_directions_count(beta_chain: DensityNetwork) -> None:
    there = float(told(beta_chain, {"p"}, "c", (0.3, 0.6)))
    assert there == pytest.approx(float(told(beta_chain, {"p"}, "c", (0.6, 0.3))), abs=1e-7)


def test_the_whole_report_of_eight_parameters_is_quick() -> None:
    """Warm: what every other parameter tells about one, with a point of its curve."""
    effect = Node(lambda mu, tau: stats.norm(mu, tau + 0.1), ("mu", "tau"))
    network = density_network(
        {
            "mu": Node(lambda: stats.norm(0, 2)),
            "tau": Node(lambda: stats.halfcauchy(0, 2), lower=0),
            **dict.fromkeys(("theta[1]", "theta[2]", "theta[3]"), effect),
            "rate": Node(lambda mu: stats.gamma(2, scale=np.exp(mu / 4)), ("mu",), lower=0),
            "share": Node(lambda mu: stats.beta(3 + np.tanh(mu), 3 - np.tanh(mu)), ("mu",), lower=0, upper=1),
            "wait": Node(lambda rate: stats.lomax(2, scale=rate), ("rate",), lower=0),
        }
    )

    def report() -> list[bp.types.Influence]:
        return [told(network, {name}, "mu", (0, 1)) for name in network.attributes if name != "mu"]

    report()
    start = time.process_time()
    found = report()
    assert all(0 <= each.delta(1.0) < 0.2 for each in found)
    assert time.process_time() - start < 10  # one second on a quiet machine
    assert all(each.settled for each in found)
    assert [float(each) for each in found][:2] == [0.0, pytest.approx(_effect(), abs=1e-6)]
    assert float(found[-1]) == pytest.approx(0.5, abs=1e-6)
    assert {name for each in found for name in each.columns if math.isinf(float(each))} == {"rate", "share"}


def _effect() -> float:
    """Return what an effect tells about its mean when the spread is 0.1 and a half-Cauchy number more."""

    def given(mu: float):
        def density(x: float) -> float:
            # in the angle of the half-Cauchy law
            def inner(angle: float) -> float:
                return 2 / math.pi * stats.norm.pdf(x, mu, 0.1 + 2 * math.tan(angle))

            return integral(inner, 0, 0.02, 0.2, 1, 1.5, math.pi / 2)

        return density

    return largest_log_ratio(given(0), given(1), np.linspace(-1, 0.4, 29))


@pytest.mark.parametrize("secrets", [bp.apart(at_most=1), bp.pairs(("low", "high")), None])
def test_other_secrets_are_refused(beta_chain: DensityNetwork, secrets: object) -> None:
    with pytest.raises(bp.errors.SecretError, match="intervals"):
        bp.max_influence(beta_chain, {"p"}, "c", secrets)  # pyright: ignore[reportArgumentType]


def test_states_may_be_paired_by_name(mixed: DensityNetwork) -> None:
    found = bp.max_influence(mixed, {"s"}, "k", bp.pairs((0.0, 3.0)))
    assert float(found) == float(told(mixed, {"s"}, "k", (0, 3)))


def test_what_cannot_be_asked(beta_chain: DensityNetwork) -> None:
    with pytest.raises(bp.errors.NetworkError, match="must not hold"):
        told(beta_chain, {"c"}, "c", (0.3, 0.6))
    with pytest.raises(bp.errors.NetworkError):
        told(beta_chain, {"nobody"}, "c", (0.3, 0.6))
    with pytest.raises(bp.errors.NetworkError):
        told(beta_chain, {"p"}, "nobody", (0.3, 0.6))


def test_too_many_parameters_at_once_are_refused() -> None:
    arms = {f"h{k}": Node(lambda a: stats.norm(a, 1), ("a",)) for k in range(8)}
    network = density_network({"a": NORMAL, **arms, "q": Node(lambda *h: stats.norm(sum(h), 1), tuple(arms))})
    with pytest.raises(bp.errors.SizeError, match="cells"):
        refined(QuadratureGrid(network, "a", bp.intervals((0, 1)).chosen[0]), ("q",))


def test_what_a_network_keeps_of_columns_is_told_of_them_alone() -> None:
    """Values and curves are found once for all reports: other columns of the same network have their own."""

    def network() -> DensityNetwork:
        beta = {"lower": 0, "upper": 1}
        return density_network(
            {
                "p": Node(lambda: stats.beta(2, 3), **beta),
                "far": Node(lambda p: stats.beta(1.4 + p, 2.4 - p), ("p",), **beta),
                "near": Node(lambda p: stats.beta(1 + 4 * p, 5 - 4 * p), ("p",), **beta),
            }
        )

    shared = network()
    for columns in ({"far"}, {"near"}, {"far"}):
        again, alone = (told(each, columns, "p", (0.3, 0.6)) for each in (shared, network()))
        assert again.values.tolist() == alone.values.tolist()
        assert 0 < again.delta(0.1) == alone.delta(0.1)
