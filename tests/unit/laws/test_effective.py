"""Effective sizes of Markov chains, against ArviZ and against the closed form of an autoregression."""

from __future__ import annotations

import numpy as np
import pytest

from bnpriv.laws.effective import effective_size
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
