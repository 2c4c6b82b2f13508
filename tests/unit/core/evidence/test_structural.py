"""Structural evidence stays with its framework: nothing is computed twice, and no answer depends on what was asked."""

from __future__ import annotations

import pickle
from collections import Counter

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.core.evidence.structural import influences
from bnpriv.core.influence.finite import RatioTables
from tests import oracles
from tests.kinds import KINDS

QUERIES = {"student": "mean(height)", "clinic": "mean(age)", "survey": "count(schooling > 12)"}


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> Counter[object]:
    """Count the tables behind influences by network, protected attribute, frontier and pairs."""
    made: Counter[object] = Counter()
    real = RatioTables.of

    def of(network: bp.DiscreteNetwork, protected: str, border: tuple[str, ...], pairs: tuple, *args: int):
        made[network.identity(), protected, tuple(border), tuple(pairs)] += 1
        return real(network, protected, border, pairs, *args)

    monkeypatch.setattr(RatioTables, "of", of)
    return made


@pytest.mark.parametrize("delta", [0.0, 1e-3])
@pytest.mark.parametrize("name", QUERIES)
@pytest.mark.unhurried
def test_no_table_is_built_twice_for_a_report_with_its_page(name: str, delta: float, built: Counter[object]) -> None:
    """They were built 2.8, 1.6 and 1.8 times as often as they are needed."""
    report = bp.influence_report(bp.example(name), QUERIES[name], 1.0, delta=delta)
    report.to_html()
    report.to_json()
    assert built
    assert set(built.values()) == {1}


def test_the_evidence_of_a_framework_is_one(built: Counter[object]) -> None:
    framework = bp.example("student")
    assert influences(framework) is influences(framework)
    for _ in range(2):
        bp.plan(framework, "mean(height)", 1.0, delta=1e-3)
    assert set(built.values()) == {1}


@pytest.mark.parametrize("kind", ["discrete", "interval", "gaussian", "records"])
def test_what_was_asked_before_changes_no_calibration(kind: str) -> None:
    fresh, used = KINDS[kind](), KINDS[kind]()
    bp.plan(used.framework, used.query, 0.3, delta=fresh.delta or 1e-4)
    for delta in (fresh.delta, 1e-3):
        both = [
            bp.MarkovQuiltMechanism().calibrate(each.framework, each.query, 2.0, delta=delta) for each in (fresh, used)
        ]
        assert both[0].to_json() == both[1].to_json()


@pytest.mark.parametrize("seed", range(20))
def test_a_search_with_little_work_counts_what_is_known_like_everything_else(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bnpriv.core.mechanisms.quilt.MOST_SEARCH_CELLS", 2_000 * (1 + seed))
    case = oracles.random_case(np.random.default_rng(seed), most_nodes=6)
    evidence = influences(case.framework)
    if isinstance(evidence, bp.errors.Refusal):
        return  # all secrets of an attribute are impossible
    alone = bp.MarkovQuiltMechanism().calibrate(case.framework, case.query, case.epsilon)
    for name in evidence.secrets:
        for column in sorted(case.query.columns - {name}):
            evidence.influence(frozenset({column}), name)
    again = bp.MarkovQuiltMechanism().calibrate(case.framework, case.query, case.epsilon)
    assert again.to_json() == alone.to_json()


def test_what_is_kept_is_not_pickled() -> None:
    framework = bp.example("student")
    bp.plan(framework, "mean(height)", 1.0)
    copied = pickle.loads(pickle.dumps(framework))
    assert copied.fingerprint() == framework.fingerprint()
    assert framework.kept.table("influences")
    assert not copied.kept.table("influences")
    assert not copied.network.kept.table("joint laws")
