"""Tests of the tests: planted privacy bugs, each of which the exact oracle must find."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import numpy as np
import pytest

import bnpriv as bp
import bnpriv.core.evidence.structural as evidence_module
import bnpriv.core.influence.finite as ratios_module
import bnpriv.core.mechanisms.quilt as quilt_module
from bnpriv.core.networks.graph import Graph
from bnpriv.core.secrets import SecretPair
from tests import oracles
from tests.contract.test_output_law import cases, claim_holds

pytestmark = pytest.mark.mutants

NETWORKS = 3000


def killed(networks: int = NETWORKS) -> bool:
    """Return whether the oracle finds a claim that does not hold."""
    return any(not claim_holds(case, bp.MarkovQuiltMechanism()) for case in cases(7, networks))


def test_the_sound_mechanism_survives() -> None:
    assert not killed(300)


def test_scale_ten_percent_low(monkeypatch) -> None:
    real = quilt_module.scales
    monkeypatch.setattr(quilt_module, "scales", lambda *args: 0.9 * real(*args))
    assert killed()


def test_half_the_sensitivity(monkeypatch) -> None:
    real = evidence_module.column_sensitivity

    def half(*args):
        bound = real(*args)
        return bp.types.Bound(bound.lower / 2, bound.upper / 2)

    monkeypatch.setattr(evidence_module, "column_sensitivity", half)
    assert killed()


def test_one_direction_only(monkeypatch) -> None:
    real = ratios_module.RatioTables.ratios

    def forward(self, pairs: Sequence[SecretPair]):
        return real(self, [min(pair, pair.reverse, key=lambda each: min(map(str, each.first))) for pair in pairs])

    monkeypatch.setattr(ratios_module.RatioTables, "ratios", forward)
    assert killed()


def test_joint_instead_of_conditional(monkeypatch) -> None:
    monkeypatch.setattr(
        ratios_module.RatioTables,
        "given",
        lambda self, flat, side: ratios_module.log_sum_exp(flat[:, side], 1),
    )
    assert killed()


def test_log10(monkeypatch) -> None:
    real = ratios_module.RatioTables.ratios
    monkeypatch.setattr(ratios_module.RatioTables, "ratios", lambda self, pairs: real(self, pairs) / math.log(10))
    assert killed()


def test_least_over_protected_attributes(monkeypatch) -> None:
    real = quilt_module.QuiltSearch.decide

    def least(self, attribute):
        decision = real(self, attribute)
        everything = [real(self, name).scale for name in self.evidence.secrets]
        return dataclasses.replace(decision, scale=min(everything))

    monkeypatch.setattr(quilt_module.QuiltSearch, "decide", least)
    assert killed()


def test_mean_influence(monkeypatch) -> None:
    real = ratios_module.log_ratios

    def mean(above, below):
        ratios = real(above, below)
        finite = np.where(np.isfinite(ratios), ratios, 0.0)
        return finite.mean(axis=2, keepdims=True)

    monkeypatch.setattr(ratios_module, "log_ratios", mean)
    assert killed()


def test_wrong_separation(monkeypatch) -> None:
    """Colliders are taken to block even when they are given."""

    def frontier(self: Graph, source, names):
        undirected: dict[str, set[str]] = {name: set() for name in self.nodes}
        for parent, child in self.edges:
            undirected[parent].add(child)
            undirected[child].add(parent)
        wall, reached, todo = set(names), {source}, [source]
        while todo:
            fresh = undirected[todo.pop()] - reached
            reached |= fresh
            todo += fresh - wall
        return tuple(sorted(reached & wall & set(self.children[source])))

    monkeypatch.setattr(Graph, "frontier", frontier)
    assert killed()


def test_epsilon_plus_influence(monkeypatch) -> None:
    monkeypatch.setattr(
        quilt_module,
        "scales",
        lambda change, influence, epsilon: np.where(
            np.isfinite(influence), change / (epsilon + np.abs(influence)), np.inf if change else 0.0
        ),
    )
    assert killed()


def test_zero_probability_pairs_hide_the_others(monkeypatch) -> None:
    """A pair that is no constraint under one model is dropped under all."""
    real = quilt_module.QuiltSearch.decide

    def drop(self, attribute):
        decision = real(self, attribute)
        values = self.evidence.influence(frozenset(), attribute).values
        return dataclasses.replace(decision, scale=0.0) if np.isneginf(values).any() else decision

    monkeypatch.setattr(quilt_module.QuiltSearch, "decide", drop)
    assert killed()


def test_oracle_itself_tells_a_false_claim() -> None:
    atoms, first, second = np.array([0.0, 1.0]), np.array([0.2, 0.8]), np.array([0.8, 0.2])
    assert oracles.loss(atoms, first, second, 0.0) == pytest.approx(math.log(4))
    assert 0 < oracles.loss(atoms, first, second, 1.0) < 1.0
