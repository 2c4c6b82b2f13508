"""Bets against a claim: the wealth's mean by exact enumeration, planted faults in the bets, and what is seen."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from bnpriv.lab import betting
from bnpriv.lab.betting import Wealth, best_pair, blocks, log_factors, power

Pair = tuple[list[Fraction], list[Fraction]]


def ratio(epsilon: float) -> Fraction:
    """A fraction that is surely at most exp(epsilon)."""
    return Fraction(math.exp(epsilon)) * (1 - Fraction(1, 2**52))


def extreme_pairs(epsilon: float, delta: float) -> list[Pair]:
    """Pairs of distributions on three outputs that are exactly (epsilon, delta)-close, and no closer."""
    odds, rest = ratio(epsilon), Fraction(delta)
    likely = (1 - rest) * odds / (1 + odds)
    first = [rest, likely, 1 - rest - likely]
    # the outputs of the best pair, with the two that only one secret has gathered at either end
    second = [Fraction(0), 1 - likely, likely]
    found = [(first, second), (second, first)]
    # one direction alone is tight
    small = Fraction(1, 50)
    one = [min(Fraction(1), odds * small + rest), 1 - min(Fraction(1), odds * small + rest), Fraction(0)]
    found.append((one, [small, 1 - small, Fraction(0)]))
    return [pair for pair in found if close(pair, epsilon, delta)]


def close(pair: Pair, epsilon: float, delta: float) -> bool:
    """Whether a pair keeps the claim, for every event and in both directions."""
    odds, rest = ratio(epsilon) * (1 + Fraction(1, 2**51)), Fraction(delta)
    return all(
        sum((max(Fraction(0), a - odds * b) for a, b in zip(*way, strict=True)), Fraction(0)) <= rest
        for way in (pair, pair[::-1])
    )


def mean_factor(pair: Pair, won: np.ndarray, lost: np.ndarray) -> Fraction:
    total = Fraction(0)
    for y, (one, zero) in enumerate(zip(*pair, strict=True)):
        total += (one * Fraction(math.exp(won[y])) + zero * Fraction(math.exp(lost[y]))) / 2
    return total


CLAIMS = [(0.1, 0.0), (1.0, 0.0), (3.0, 0.0), (0.3, 0.01), (1.0, 1e-3), (2.0, 0.2)]


def worst_mean(epsilon: float, delta: float, factors: Callable[..., tuple[np.ndarray, np.ndarray]]) -> Fraction:
    """The largest mean of a factor over hostile counts and pairs that keep the claim."""
    random, worst = np.random.default_rng(5), Fraction(0)
    counts = [np.array(each, dtype=float) for each in itertools.product((0, 3, 400), repeat=3)]
    chosen = [(counts[a], counts[b]) for a, b in random.integers(len(counts), size=(40, 2))]
    for ones, zeros in chosen:
        for planned in (False, True):
            won, lost = factors(ones, zeros, np.array([[epsilon]]), delta, planned=planned)
            for pair in extreme_pairs(epsilon, delta):
                worst = max(worst, mean_factor(pair, won[0], lost[0]))
    return worst


@pytest.mark.parametrize(("epsilon", "delta"), CLAIMS)
def test_no_factor_has_a_mean_above_one_whatever_was_learned(epsilon: float, delta: float) -> None:
    assert len(extreme_pairs(epsilon, delta)) >= 2
    assert Fraction(1, 2) < worst_mean(epsilon, delta, log_factors) <= 1


def test_planted_faults_in_the_factors_are_seen() -> None:
    def smaller_odds(ones, zeros, epsilons, delta, **how):
        return log_factors(ones, zeros, 0.99 * epsilons, delta, **how)

    def free_of_charge(ones, zeros, epsilons, delta, **how):
        return log_factors(ones, zeros, epsilons, 0.0, **how)

    def rounded_up(ones, zeros, epsilons, delta, **how):
        return tuple(logs + 1e-12 for logs in log_factors(ones, zeros, epsilons, delta, **how))

    assert worst_mean(1.0, 0.0, smaller_odds) > 1
    assert worst_mean(1.0, 1e-3, free_of_charge) > 1
    assert worst_mean(1.0, 0.0, rounded_up) > 1


def mean_wealth(pair: Pair, epsilon: float, delta: float, horizon: int, make: type[Wealth] = Wealth) -> float:
    """The mean of the wealth after some outputs, seen one by one, over all that can happen."""
    outcomes = [(y, s, pair[1 - s][y] / 2) for y in range(len(pair[0])) for s in (0, 1) if pair[1 - s][y]]
    total = Fraction(0)
    for path in itertools.product(outcomes, repeat=horizon):
        wealth = make(epsilons=np.array([epsilon]), delta=delta, confidence=0.99, numbers=1)
        for y, s, _ in path:
            wealth.see(np.array([[float(y)]]), np.array([s == 1]))
        total += math.prod((chance for *_, chance in path), start=Fraction(1)) * Fraction(math.exp(wealth.now[0]))
    return float(total)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 0.0), (1.0, 0.05)])
def test_the_mean_wealth_of_learning_bettors_is_at_most_one(epsilon: float, delta: float) -> None:
    assert 0.5 < mean_wealth(extreme_pairs(epsilon, delta)[0], epsilon, delta, 3) <= 1


def test_a_bettor_who_peeks_is_seen() -> None:
    class Peeking(Wealth):
        def see(self, outputs, secrets):
            self._outputs.append(outputs)
            self._secrets.append(secrets)
            self._learn()
            del self._outputs[-1], self._secrets[-1]
            super().see(outputs, secrets)

    class Summing(Wealth):
        def see(self, outputs, secrets):
            super().see(outputs, secrets)
            self.now = self.now + math.log(self.bettors)

    pair = extreme_pairs(0.5, 0.0)[0]
    assert mean_wealth(pair, 0.5, 0.0, 3, Peeking) > 1
    assert mean_wealth(pair, 0.5, 0.0, 3, Summing) > 1


def bound_of(draw: Callable[..., np.ndarray], outputs: int, epsilon: float, seed: int, delta: float = 0.0) -> float:
    random = np.random.default_rng(seed)
    grid = np.unique([*np.geomspace(1e-3, 30, 60), *(epsilon * np.arange(1, 81) / 40)])
    wealth: Wealth | None = None
    for size in blocks(outputs):
        secrets = random.random(size) < 0.5
        values = draw(secrets, random)
        values = values.reshape(size, -1)
        wealth = wealth or Wealth(epsilons=grid, delta=delta, confidence=0.99, numbers=values.shape[1])
        wealth.see(values, secrets)
    assert wealth is not None
    assert wealth.trail[-1] == (outputs, wealth.bound)
    return wealth.bound


def test_too_little_noise_is_seen_and_enough_is_not() -> None:
    for seed in range(3):
        assert bound_of(lambda s, r: s + r.laplace(0, 0.815, len(s)), 20_000, 1.0, seed) > 1
        assert 0.8 < bound_of(lambda s, r: s + r.laplace(0, 1.0, len(s)), 20_000, 1.0, seed) < 1


def test_what_no_noise_hides_is_seen_soon_and_equal_outputs_never() -> None:
    assert bound_of(lambda s, r: s + 0.0, 1000, 1.0, 0) > 4
    assert bound_of(lambda s, r: np.where(r.random(len(s)) < 0.05, s + 0.0, 7.0), 2000, 1.0, 0) > 2
    assert bound_of(lambda s, r: np.zeros(len(s)), 2000, 1.0, 0) == 0
    assert bound_of(lambda s, r: r.normal(size=(len(s), 9)), 2000, 1.0, 0) < 0.01
    # what a missing number tells
    assert bound_of(lambda s, r: np.where(s, np.nan, 1.0), 500, 1.0, 0) > 3


def test_a_vector_tells_what_no_number_of_it_does_alone() -> None:
    def turned(secrets: np.ndarray, random: np.random.Generator) -> np.ndarray:
        common = random.normal(0, 30, len(secrets))
        return np.stack([common + secrets, common + random.laplace(0, 0.5, len(secrets))], axis=1)

    assert bound_of(turned, 5000, 1.0, 0) > 1
    assert bound_of(lambda s, r: np.abs(s + 1.0)[:, None] * r.normal(size=(len(s), 5)), 5000, 1.0, 0) > 1


def test_power_grows_with_outputs_and_delta_is_charged() -> None:
    seen = [power(*best_pair(1.2, 0.0), 1.0, 0.0, 0.99, outputs, 8) for outputs in (100, 2000, 20_000)]
    assert seen == sorted(seen)
    assert seen[0] < 0.2
    assert seen[-1] > 0.95
    assert power(*best_pair(1.0, 0.0), 1.0, 0.0, 0.99, 20_000, 8) == 0
    assert power(*best_pair(1.0, 0.1), 1.0, 0.1, 0.99, 20_000, 8) == 0
    assert power(*best_pair(1.0, 0.1), 1.0, 0.0, 0.99, 20_000, 8) > 0.95


def test_the_bound_is_the_largest_claim_below_which_all_are_refuted() -> None:
    wealth = Wealth(epsilons=np.array([0.1, 0.2, 0.3, 0.4]), delta=0.0, confidence=0.99, numbers=1)
    assert wealth.bound == 0
    wealth.best = np.array([5.0, 5.0, 1.0, 5.0])
    assert wealth.bound == 0.2
    wealth.best = np.array([5.0] * 4)
    assert wealth.bound == 0.4
    wealth.best = np.array([math.log(100) - 1e-12] * 4)
    assert wealth.bound == 0
    assert betting.PLANNED > 1


def test_no_number_is_told_from_a_number() -> None:
    random, wealth = np.random.default_rng(2), Wealth(epsilons=np.array([1.0]), delta=0.0, confidence=0.99, numbers=1)
    for size in blocks(200):
        secrets = random.random(size) < 0.5
        wealth.see(np.where(secrets, np.nan, 0.0)[:, np.newaxis], secrets)
    assert wealth.bound == 1.0
