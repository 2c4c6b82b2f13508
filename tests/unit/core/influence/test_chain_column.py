"""What the rest of a chain's column tells about one value of it, against all paths."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.core.evidence.structural import influences
from bnpriv.kinds.chain.network import MarkovChain
from tests.contract.test_chain import paths, random_chain
from tests.contract.test_chain_any_start import hostile_chain, starts


def rows(joint: np.ndarray, step: int) -> np.ndarray:
    """Return the probability of everything else together with each value of a step."""
    return np.moveaxis(joint, step, 0).reshape(joint.shape[step], -1)


def enumerated(joint: np.ndarray, x: int, y: int) -> float:
    """Return the largest log ratio of all other values given two values of a step; -inf if no step may have both."""
    most = -math.inf
    for step in range(joint.ndim):
        first, second = rows(joint, step)[[x, y]]
        if first.sum() == 0 or second.sum() == 0:
            continue
        first, second = first / first.sum(), second / second.sum()
        inside = first > 0
        with np.errstate(divide="ignore"):
            most = max(most, float(np.max(np.log(first[inside]) - np.log(second[inside]))), 0.0)
    return most


def told(chain: MarkovChain) -> bp.types.Influence:
    return bp.max_influence(chain, {"value"}, "value")


@pytest.mark.parametrize("start", ["given", "stationary"])
@pytest.mark.parametrize("zeros", [0.0, 0.4])
def test_every_pair_equals_all_paths(start: str, zeros: float) -> None:
    rng = np.random.default_rng(11)
    looked = 0
    for _ in range(60):
        try:
            chain = random_chain(rng, int(rng.integers(2, 4)), int(rng.integers(1, 7)), start, zeros=zeros)
            found = told(chain)
        except bp.BnprivError:
            continue  # several stationary laws, or one value at every step
        joint = paths(chain, chain.first(0))
        for k, pair in enumerate(found.pairs):
            x, y = (chain.state_space.index(min(side)) for side in (pair.first, pair.second))
            wanted = enumerated(joint, x, y)
            assert found.values[0, k] == pytest.approx(wanted, abs=1e-9)
            assert found.values[0, k] >= wanted * (1 - 1e-15)
        assert found.kind == "exact"
        looked += 1
    assert looked > 30


def test_any_start_covers_every_start() -> None:
    rng = np.random.default_rng(12)
    for number in range(24):
        k, length = int(rng.integers(2, 4)), int(rng.integers(2, 6))
        chain = hostile_chain(rng, k, length, number)
        found = told(chain)
        for start in starts(rng, k):
            joint = paths(chain, start)
            for place, pair in enumerate(found.pairs):
                x, y = (chain.state_space.index(min(side)) for side in (pair.first, pair.second))
                assert found.values[0, place] >= enumerated(joint, x, y) * (1 - 1e-12)


def test_delta_is_never_below_all_paths() -> None:
    rng = np.random.default_rng(13)
    for _ in range(20):
        chain = random_chain(rng, 2, int(rng.integers(2, 6)), "given")
        found, joint = told(chain), paths(chain, chain.first(0))
        for epsilon in (0.01, 0.3, 1.0):
            wanted = 0.0
            for step, (x, y) in itertools.product(range(joint.ndim), ((0, 1), (1, 0))):
                both = rows(joint, step)
                if (both.sum(axis=1) == 0).any():
                    continue
                first, second = both[x] / both[x].sum(), both[y] / both[y].sum()
                wanted = max(wanted, float(np.maximum(first - math.exp(epsilon) * second, 0).sum()))
            delta = found.delta(epsilon)
            assert isinstance(delta, float)
            assert delta >= wanted * (1 - 1e-12)


def test_several_models_and_lengths() -> None:
    matrices = [[[0.9, 0.1], [0.2, 0.8]], [[0.6, 0.4], [0.4, 0.6]]]
    both = told(MarkovChain(matrices, "stationary", [5, 1, 3], states=["rest", "walk"]))
    each = [told(MarkovChain(matrix, "stationary", 5, states=["rest", "walk"])) for matrix in matrices]
    assert both.values.tolist() == [one.values[0].tolist() for one in each]
    assert (both.model, both.frontier) == (0, ("value",))
    assert float(both) == pytest.approx(math.log(2 * 4 * 8), abs=1e-9)  # the odds, the value before, the value after
    assert "steps 2 to 4 of 5" in both.explain()
    assert isinstance(both.conditional(), bp.errors.Refusal)


def test_a_single_step_has_no_rest() -> None:
    alone = told(MarkovChain([[0.9, 0.1], [0.2, 0.8]], "stationary", 1))
    assert (float(alone), alone.frontier, alone.kind) == (0.0, (), "exact")


def test_sets_of_states_tell_no_more_than_their_members() -> None:
    rng = np.random.default_rng(14)
    chain = random_chain(rng, 3, 4, "given")
    mixed = bp.max_influence(chain, {"value"}, "value", bp.pairs(("0", frozenset({"1", "2"}))))
    joint = paths(chain, chain.first(0))
    most = 0.0
    for step in range(joint.ndim):
        both = rows(joint, step)
        if both[0].sum() == 0 or both[1:].sum() == 0:
            continue
        first, second = both[0] / both[0].sum(), both[1:].sum(axis=0) / both[1:].sum()
        ratios = np.log(first[first > 0] / second[first > 0])
        most = max(most, float(ratios.max()))
    assert mixed.values[0, 0] >= most
    assert mixed.kind == "certified"


def test_lost_digits_are_no_zeros() -> None:
    found = told(MarkovChain([[1 - 1e-9, 1e-9], [1e-290, 1.0]], [0.5, 0.5], 4))
    assert (float(found), found.kind) == (math.inf, "certified")
    sure = told(MarkovChain([[0.5, 0.5], [0.0, 1.0]], [0.5, 0.5], 3))
    assert (float(sure), sure.kind) == (math.inf, "exact")


def test_one_value_at_every_step_is_no_secret() -> None:
    with pytest.raises(bp.errors.SecretError, match="positive probability"):
        told(MarkovChain(np.eye(2), [1.0, 0.0], 5))


def test_the_evidence_opens_no_quilts() -> None:
    """What the rest of a column tells is no quilt: with the noise of one record a chain would not be hidden."""
    chain = MarkovChain([[0.9, 0.1], [0.2, 0.8]], "stationary", 50, states=["rest", "walk"])
    schema = bp.Schema(records=50, columns={"activity": bp.Categorical(["rest", "walk"])})
    framework = bp.ValuePrivacy(chain, schema, "activity", source="invented")
    query = bp.count(bp.col("activity") == "walk")
    evidence = influences(framework)
    assert not isinstance(evidence, bp.errors.Refusal)
    told = evidence.influence(frozenset({"activity"}), "activity")
    assert float(told) == float(bp.max_influence(framework.network, {"activity"}, "activity"))
    assert float(evidence.sensitivity(query, frozenset({"activity"}), 1)) == 50
    for delta in (0.0, 1e-3):
        refusal = bp.MarkovQuiltMechanism().supports(framework, query, epsilon=1.0, delta=delta)
        assert refusal is not None
        assert "MarkovChainMechanism" in refusal.remedy
        with pytest.raises(bp.BnprivError):
            bp.MarkovQuiltMechanism().calibrate(framework, query, epsilon=1.0, delta=delta)
    scale = bp.mechanisms.MarkovChainMechanism().calibrate(framework, query, epsilon=1.0).scale
    assert bp.plan(framework, query, 1.0).best.scale == scale
