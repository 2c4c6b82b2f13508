"""Effective sizes of Markov chains and tails of weights, against ArviZ and closed forms."""

from __future__ import annotations

import numpy as np
import pytest

from bnpriv.kinds.draws.parameter_draws import effective_size, largest_shape, tail_shape
from tests.later import Later

arviz = Later("arviz")


def autoregression(rho: float, chains: int, steps: int, seed: int) -> np.ndarray:
    random = np.random.default_rng(seed)
    found = np.empty((chains, steps))
    found[:, 0] = random.normal(size=chains)
    for k in range(1, steps):
        found[:, k] = rho * found[:, k - 1] + np.sqrt(1 - rho**2) * random.normal(size=chains)
    return found


@pytest.mark.parametrize("rho", [-0.5, 0.0, 0.5, 0.95])
@pytest.mark.parametrize("chains", [1, 4])
def test_effective_size_is_that_of_arviz(rho: float, chains: int) -> None:
    drawn = autoregression(rho, chains, 1000, seed=int(10 * rho) + 100 + chains)
    assert effective_size(drawn) == pytest.approx(float(arviz.ess(drawn, method="bulk")), rel=1e-3)


@pytest.mark.parametrize("rho", [0.3, 0.9])
def test_effective_size_of_an_autoregression_is_its_closed_form(rho: float) -> None:
    drawn = autoregression(rho, 4, 20_000, seed=3)
    assert effective_size(drawn) == pytest.approx(80_000 * (1 - rho) / (1 + rho), rel=0.1)


@pytest.mark.parametrize("chains", [np.zeros((1, 1)), np.ones((4, 100)), np.full((2, 50), 1e308)])
def test_chains_that_cannot_tell_count_as_they_are(chains: np.ndarray) -> None:
    assert effective_size(chains) == chains.size


def test_chains_that_are_too_short_to_tell_count_as_one_draw_each() -> None:
    assert effective_size(np.arange(3500.0).reshape(500, 7)) == 500


def test_a_chain_that_stands_still_is_worth_little() -> None:
    stuck = np.concatenate([np.zeros((1, 500)), np.ones((1, 500))])
    assert effective_size(stuck) < 20


@pytest.mark.parametrize("place", [0.0, 0.1, 3.0])
def test_a_chain_among_others_that_stands_still_is_worth_little(place: float) -> None:
    """A quarter of the draws is one number: the mean has the variance of 16 draws, ArviZ says about 3,000 near 0."""
    moving = autoregression(0.0, 4, 1000, seed=5)
    moving[3] = place
    assert effective_size(moving) <= 16
    rare = (np.random.default_rng(0).random((4, 1000)) < 0.002).astype(float)
    rare[0] = 0.0  # of numbers with few values a chain may have one by chance
    assert effective_size(rare) > 1000


@pytest.mark.parametrize("shape", [-0.5, 0.1, 0.5, 0.7, 0.9, 1.5])
@pytest.mark.parametrize("size", [100, 2000, 50_000])
def test_the_shape_of_a_tail_is_that_of_arviz(shape: float, size: int) -> None:
    uniform = np.random.default_rng([size, int(100 * abs(shape))]).random(size)
    weights = uniform**-shape if shape > 0 else 2 - uniform**-shape
    found = tail_shape(1e-250 * weights)
    assert found == pytest.approx(float(arviz.psislw(np.log(weights), normalize=False)[1]), abs=1e-6)
    if size == 50_000:
        assert found == pytest.approx(shape, abs=0.15)


def test_tails_that_cannot_tell() -> None:
    assert tail_shape(np.zeros(9)) == tail_shape(np.ones(9)) == tail_shape(np.zeros(0)) == -np.inf
    assert np.isfinite(tail_shape(np.array([*np.ones(1000), 5.0])))
    assert largest_shape(100) == pytest.approx(0.5)
    assert largest_shape(10**6) == 0.7
