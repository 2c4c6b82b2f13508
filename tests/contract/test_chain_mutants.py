"""Planted bugs in the noise of chains and of linear-Gaussian networks, each of which brute force must find."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.kinds.chain.column import ChainQuilt, ExactInfluence, Factors, Step, _StepSearch, chain_scale
from tests.contract.test_chain import brute_force, random_chain
from tests.contract.test_gaussian_network import mahalanobis, random_network

pytestmark = pytest.mark.mutants


def chain_killed() -> bool:
    """Return whether some scale is below that of all quilts on all paths."""
    rng = np.random.default_rng(8)
    for _ in range(300):
        chain = random_chain(rng, int(rng.integers(2, 4)), 6, "given")
        epsilon = float(10 ** rng.uniform(0, 1))
        found = chain_scale(chain.length, epsilon, ExactInfluence(chain, 0))
        if (found.score if found else 0.0) < brute_force(chain, chain.first(0), epsilon) * (1 - 1e-9):
            return True
    return False


def test_the_sound_chain_survives() -> None:
    assert not chain_killed()


def test_nothing_seen_before(monkeypatch) -> None:
    monkeypatch.setattr(Factors, "left", lambda self, a, seen: np.zeros((self.states, self.states)))
    assert chain_killed()


def test_nothing_seen_after(monkeypatch) -> None:
    monkeypatch.setattr(Factors, "right", lambda self, b: np.zeros((self.states, self.states)))
    assert chain_killed()


def test_stationary_odds_at_every_step(monkeypatch) -> None:
    real = ExactInfluence.steps

    def flat(self, length: int):
        for step in real(self, length):
            yield dataclasses.replace(step, odds=np.where(np.isneginf(step.odds), -np.inf, 0.0))

    monkeypatch.setattr(ExactInfluence, "steps", flat)
    assert chain_killed()


def test_one_near_step_too_few(monkeypatch) -> None:
    real = _StepSearch._quilt

    def fewer(self, step: Step, place: int, a: int | None, b: int | None) -> ChainQuilt:
        found = real(self, step, place, a, b)
        near = max(1, found.near - 1)
        return dataclasses.replace(found, near=near, score=found.score * near / found.near)

    monkeypatch.setattr(_StepSearch, "_quilt", fewer)
    assert chain_killed()


def gaussian_killed() -> bool:
    rng = np.random.default_rng(9)
    for _ in range(50):
        network = random_network(rng, 4)
        told = bp.max_influence(network, {"x1", "x2", "x3"}, "x0", bp.apart(at_most=1)).mu
        if told < mahalanobis(network, ["x1", "x2", "x3"], "x0") * (1 - 1e-9):
            return True
    return False


def test_the_sound_network_survives() -> None:
    assert not gaussian_killed()


def test_columns_one_by_one(monkeypatch) -> None:
    import bnpriv.kinds.gaussian.influence as module

    real = module._unit_distance
    monkeypatch.setattr(
        module,
        "_unit_distance",
        lambda network, protected, border: np.max(
            [real(network, protected, (name,)) for name in border] or [np.zeros(network.models)], axis=0
        ),
    )
    assert gaussian_killed()


def test_variance_for_deviation(monkeypatch) -> None:
    import bnpriv.kinds.gaussian.influence as module

    real = module._unit_distance

    def wrong(network, protected, border):
        return real(network, protected, border) / network.deviation(protected)

    monkeypatch.setattr(module, "_unit_distance", wrong)
    assert gaussian_killed()
