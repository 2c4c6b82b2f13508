"""Gathered cells tell at least as much as the cells they came from, and hardly more."""

from __future__ import annotations

import numpy as np
import pytest

from bnpriv.core.influence.base import Losses, gathered

CELLS = 20_000
LEVELS = (-1.0, 0.0, 0.1, 1.0, 5.0)


def losses(ratios: np.ndarray, masses: np.ndarray) -> Losses:
    return Losses(ratios=ratios[np.newaxis], masses=masses[np.newaxis], possible=np.ones((1, len(ratios)), dtype=bool))


def hostile(rng: np.random.Generator) -> Losses:
    """Return both directions of two laws: wide or narrow ratios, tiny masses, cells that one law rules out."""
    logs = rng.normal(0, rng.choice([1e-6, 0.3, 10.0, 200.0]), size=(2, CELLS))
    logs -= np.logaddexp.reduce(logs, axis=1, keepdims=True)
    logs[rng.integers(2), rng.random(CELLS) < 0.1] = -np.inf
    logs[:, rng.random(CELLS) < 0.1] -= 500
    with np.errstate(invalid="ignore"):
        ratios = np.where(np.isneginf(logs), 0.0, logs - logs[::-1])
    return losses(ratios, np.exp(logs))


@pytest.mark.parametrize("seed", range(12))
def test_gathered_cells_tell_no_less(seed: int) -> None:
    many = hostile(np.random.default_rng(seed))
    few = gathered(many)
    assert few.ratios.shape[2] < CELLS or few is many or np.ptp(many.ratios[np.isfinite(many.ratios)]) > 10
    for law, shift in (("laplace", 0.0), ("laplace", 0.7), ("gaussian", 0.2), ("gaussian", 3.0)):
        for epsilon in LEVELS:
            before, after = many.excess(epsilon, law, shift), few.excess(epsilon, law, shift)  # type: ignore[arg-type]
            assert np.all(after >= before * (1 - 1e-11))
            assert np.all(after <= before + 1e-3)
    assert np.all(few.masses.sum(axis=2) >= many.masses.sum(axis=2) * (1 - 1e-12))


@pytest.mark.parametrize("spread", [0.1, 1.0, 6.0])
def test_what_gathering_adds_is_of_second_order(spread: float) -> None:
    """A normal loss, as of two normal laws: no jump, on many cells."""
    x = np.linspace(-9, 9, 200_001)
    logs = -(x**2) / 2
    logs -= np.logaddexp.reduce(logs)
    ratios = np.stack([spread * x + spread**2 / 2] * 2)
    many = losses(ratios, np.exp(np.stack([logs] * 2)))
    few = gathered(many)
    assert few.ratios.shape[2] < 30_000
    for epsilon in (0.0, 0.5, 2.0):
        assert np.all(np.abs(few.excess(epsilon) - many.excess(epsilon)) < 1e-7)
        assert np.all(np.abs(few.excess(epsilon, "gaussian", 0.5) - many.excess(epsilon, "gaussian", 0.5)) < 1e-7)


def test_few_cells_are_left_as_they_are() -> None:
    found = losses(np.zeros((2, 100)), np.full((2, 100), 0.01))
    assert gathered(found) is found
