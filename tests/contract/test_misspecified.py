"""The guarantee under a wrong model: never less than what random wrong models make of the exact output law."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.core.evidence.structural import influences
from bnpriv.core.influence.base import influence_of
from bnpriv.core.secrets import SecretPairs, all_pairs
from bnpriv.io.examples import example_path
from bnpriv.mechanisms import misspecified as module
from bnpriv.mechanisms.misspecified import counted_tables, within_factor
from tests import oracles
from tests.kinds import patients
from tests.members import members


def perturbed(rng: np.random.Generator, framework: bp.DistributionalAttributePrivacy, factor: float, model: int):
    """Return the framework with 12 models, every probability of them off by at most the factor from one of Theta."""
    wrong = members(within_factor(framework.network, factor, model), rng, [k % 3 > 0 for k in range(12)])
    protect = {name: SecretPairs(pairs) for name, pairs in framework.secrets.items()}
    return bp.DistributionalAttributePrivacy(wrong, framework.schema, protect, source="a wrong model")


@pytest.mark.parametrize(("cases", "nodes"), [(16, 3), pytest.param(100, 4, marks=pytest.mark.long)])
@pytest.mark.parametrize("counts_only", [False, True])
def test_no_wrong_model_passes_the_bound(
    counts_only: bool, cases: int, nodes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    if counts_only:
        monkeypatch.setattr(module, "MOST_BOUNDS", 0)
    rng = np.random.default_rng(21)
    shares: list[float] = []
    while len(shares) < cases:
        case = oracles.random_case(rng, most_nodes=nodes)
        if isinstance(influences(case.framework), bp.errors.Refusal):
            continue
        factor = float(rng.uniform(1.02, 2.0))
        calibration = bp.MarkovQuiltMechanism().calibrate(case.framework, case.query, epsilon=case.epsilon)
        bound = calibration.misspecified(factor)
        found = []
        for model in range(case.framework.network.models):
            wrong = perturbed(rng, case.framework, factor, model)
            found.append(oracles.output_epsilon(replace(case, framework=wrong), calibration.scale))
        assert max(found) <= bound.epsilon * (1 + 1e-9) + 1e-9
        if 0 < bound.epsilon < math.inf:
            shares.append(max(found) / bound.epsilon)
    assert np.median(shares) > 0.2


HEALTH = bp.Schema(records=2, columns={name: bp.Categorical(["no", "yes"]) for name in ("ill", "smokes", "coughs")})


@pytest.mark.parametrize("seed", range(4))
def test_no_wrong_model_of_single_values_passes_the_bound(seed: int) -> None:
    """The exact law of the noisy answer over two records, each of them under another wrong model."""
    rng = np.random.default_rng([seed, 9])
    network = patients(float(rng.uniform(0.05, 0.5)), float(rng.uniform(0.3, 0.9)))
    query = bp.count((bp.col("coughs") == "yes") | (bp.col("smokes") == "yes"))
    framework = bp.ValuePrivacy(network, HEALTH, "ill", source="a test")
    calibration = bp.MarkovQuiltMechanism().calibrate(framework, query, epsilon=0.3)
    factor = float(rng.uniform(1.02, 1.6))
    bound = calibration.misspecified(factor).epsilon
    assert calibration.misspecified(1.0).epsilon <= 0.3 * (1 + 1e-9)
    laws = [counted(members(within_factor(network, factor), rng, [True, False] * 6), k) for k in range(12)]
    found = 0.0
    for (one, _), (_, other) in itertools.product(laws, laws):
        first, second = (np.convolve(given, other) for given in one)
        found = max(found, noisy(first, second, calibration.scale))
    assert 0 < found <= bound * (1 + 1e-9)


def counted(network: bp.DiscreteNetwork, model: int) -> tuple[list[np.ndarray], np.ndarray]:
    """Return the laws of what one record counts, given that it is not ill and that it is, and without that."""
    law = np.moveaxis(
        oracles.joint(network, model), [network.attributes.index(name) for name in HEALTH.columns], [0, 1, 2]
    )
    none = law[:, 0, 0]
    both = np.stack([none, law.sum(axis=(1, 2)) - none], axis=1)
    return [row / row.sum() for row in both], both.sum(axis=0)


def noisy(first: np.ndarray, second: np.ndarray, scale: float) -> float:
    """Return the largest log ratio of two laws of a count, both ways, after Laplace noise."""
    if scale > 0:
        answers = np.linspace(-1, len(first), 200)
        kernel = np.exp(-np.abs(answers[:, np.newaxis] - np.arange(len(first))) / scale)
        first, second = kernel @ first, kernel @ second
    return float(np.abs(np.log(first) - np.log(second)).max())


@pytest.mark.parametrize("seed", range(3))
def test_the_count_bounds_the_influence_of_wrong_models(seed: int) -> None:
    rng = np.random.default_rng([seed, 5])
    tried = tight = 0
    while tried < 60:
        network = oracles.random_network(rng, int(rng.integers(2, 6)))
        names = [str(name) for name in rng.permutation(network.attributes)]
        protected, seen = names[0], names[1 : int(rng.integers(2, 5))]
        states = network.states[protected]
        if len(states) < 2:
            continue
        chosen = bp.pairs((list(states[:-1]), states[-1])).ordered(protected, states)
        pairs = (*chosen, *all_pairs(states))
        known = influence_of(network, seen, protected, pairs)
        factor = float(rng.uniform(1.0, 1.5))
        most = [counted_tables(network, protected, known.frontier, pair).total() for pair in pairs]
        bound = known.values[0] + 2 * np.array(most) * math.log(factor)
        wrong = members(within_factor(network, factor), rng, [True, False] * 6)
        told = influence_of(wrong, seen, protected, pairs).values
        assert np.all(told <= bound + 1e-9)
        tight += int(np.sum(np.any((told > known.values[0] + 1e-6) & np.isfinite(told), axis=1)))
        tried += 1
    assert tight > 50


def test_the_count_is_reached_by_a_child_of_the_secret() -> None:
    """One small entry given each secret, off in opposite ways: the ratio moves by the whole f^2."""
    network = bp.DiscreteNetwork.from_tables(
        {"a": [0.5, 0.5], "b": [[0.01, 0.02], [0.99, 0.98]]},
        states={"a": [0, 1], "b": [0, 1]},
        parents={"b": ["a"]},
        level="parameters",
    )
    schema = bp.Schema(records=10, columns={"b": bp.Integer(0, 1)})
    framework = bp.DistributionalAttributePrivacy(network, schema, "a", source="a test")
    calibration = bp.MarkovQuiltMechanism().calibrate(framework, bp.count(bp.col("b") == 1), epsilon=1.0)
    assert calibration.scale == 0
    found = calibration.misspecified(1.1)
    assert found.counted == {"a": ("b",)}
    assert found.epsilon == pytest.approx(math.log(2) + 2 * math.log(1.1))
    assert found.doubling_factor == pytest.approx(math.exp((2 - math.log(2)) / 2), rel=1e-5)
    assert calibration.misspecified(found.doubling_factor).epsilon <= 2
    assert calibration.misspecified(found.doubling_factor * 1.001).epsilon > 2


def test_a_larger_factor_never_guarantees_more_and_one_changes_nothing() -> None:
    framework = bp.example("student")
    for query in (bp.count(bp.col("height") > 180), bp.linear({"height": 1.0, "sat": 0.1})):
        calibration = bp.MarkovQuiltMechanism().calibrate(framework, query, epsilon=2.0)
        found = [calibration.misspecified(factor) for factor in (1, 1.05, 1.3, 2.0)]
        assert found[0].epsilon <= 2 * (1 + 1e-12)
        assert [each.epsilon for each in found] == sorted(each.epsilon for each in found)
        assert len({each.doubling_factor for each in found}) == 1
        assert calibration.misspecified(min(found[0].doubling_factor, 1e5)).epsilon <= 4 * (1 + 1e-12)


def test_intervals_are_never_worse_than_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    calibration = bp.MarkovQuiltMechanism().calibrate(
        bp.example("student"), bp.count(bp.col("height") > 180), epsilon=1.0
    )
    close = calibration.misspecified(1.2)
    monkeypatch.setattr(module, "MOST_BOUNDS", 0)
    loose = calibration.misspecified(1.2)
    assert close.epsilon < loose.epsilon
    assert close.doubling_factor > loose.doubling_factor


def test_noise_that_needs_no_model_is_not_affected() -> None:
    query = bp.count(bp.col("height") > 180)
    found = bp.ColumnMechanism().calibrate(bp.example("student"), query, epsilon=0.7).misspecified(3.0)
    assert (found.epsilon, found.doubling_factor, found.counted, found.kind) == (0.7, math.inf, {}, "exact")
    assert "No factor makes it more than twice" in found.text


def test_an_independent_query_and_a_trivial_quilt_hold_for_every_factor() -> None:
    framework = bp.example("student")
    gender = bp.count(bp.col("gender") == framework.schema["gender"].categories[0])
    calibration = bp.MarkovQuiltMechanism().calibrate(framework, gender, epsilon=1.0)
    found = calibration.misspecified(50.0)
    assert (found.epsilon, found.doubling_factor, found.counted) == (0.0, math.inf, {"income": ()})
    own = bp.MarkovQuiltMechanism().calibrate(framework, bp.linear({"sat": 1.0}), epsilon=0.5).misspecified(50.0)
    assert own.epsilon == pytest.approx(0.5)
    assert own.doubling_factor == math.inf


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_what_is_not_worked_out_is_refused(delta: float) -> None:
    framework = bp.example("clinic")
    query = next(iter(bp.read_queries(example_path("clinic")).values()))
    mechanism = bp.TightMechanism() if delta == 0 else bp.MarkovQuiltMechanism()
    if delta:
        framework, query = bp.example("student"), bp.linear({"height": 1.0})
    calibration = mechanism.calibrate(framework, query, epsilon=1.0, delta=delta)
    with pytest.raises(bp.errors.RefusedError, match="what a factor does"):
        calibration.misspecified(1.1)


def test_delta_without_noise_is_refused_in_words() -> None:
    calibration = bp.plan(bp.example("student"), bp.count(bp.col("height") > 180), 1.0, 1e-6).best
    assert calibration.scale == 0
    with pytest.raises(bp.errors.RefusedError, match=r"found no noise with delta 0\.000001"):
        calibration.misspecified(1.1)


@pytest.mark.parametrize("factor", [0.9, float("nan"), float("inf"), "much", True])
def test_factors_that_are_none_are_refused(factor: object) -> None:
    calibration = bp.ColumnMechanism().calibrate(bp.example("student"), bp.linear({"height": 1.0}), epsilon=1.0)
    with pytest.raises(bp.BnprivError, match="factor"):
        calibration.misspecified(factor)  # type: ignore[arg-type]


def test_the_text_says_what_holds() -> None:
    query = bp.count(bp.col("height") > 180)
    found = bp.MarkovQuiltMechanism().calibrate(bp.example("student"), query, epsilon=1.0).misspecified(1.1)
    assert "may be off by a factor 1.1, epsilon is at most" in found.text
    assert "Tables that matter for income" in found.text
    assert "Tables that matter for income: " in found._repr_html_()


def test_the_rows_that_matter_most_are_named() -> None:
    framework = bp.example("student")
    found = bp.MarkovQuiltMechanism().calibrate(framework, "count(height > 180)", epsilon=1.0).misspecified(1.1)
    rows = found.sensitive["income"]
    assert {row.attribute for row in rows} <= set(found.counted["income"])
    assert [row.nats for row in rows] == pytest.approx(sorted((row.nats for row in rows), reverse=True))
    assert f"{rows[0]}: 1 % more or less" in found.text
