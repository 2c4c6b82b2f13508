"""Chains with any start, against brute force over starts: every path of small chains, with zeros and rare starts."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.kinds.chain import column
from bnpriv.kinds.chain.column import ExactInfluence, chain_scale, together
from bnpriv.kinds.chain.network import MarkovChain
from tests.contract.test_chain import brute_force, output_epsilon, paths, quilts, told

RARE = 1e-12


def hostile_chain(rng: np.random.Generator, k: int, length: int, number: int) -> MarkovChain:
    """Draw a chain with states to which no step leads, states that are left for good, periods, and rare steps."""
    transition = rng.dirichlet(np.full(k, rng.choice([0.3, 1.0, 5.0])), size=k) + 1e-6
    if number % 4 == 1:
        transition[:, 0] = 0
    if number % 4 == 2:
        transition[1:, 0] = 0
    if number % 4 == 3:
        holes = rng.random((k, k)) < 0.4
        holes[np.arange(k), rng.integers(k, size=k)] = False
        transition[holes] = 0
    return MarkovChain(transition / transition.sum(axis=1, keepdims=True), "any", length)


def starts(rng: np.random.Generator, k: int) -> Iterator[np.ndarray]:
    """Yield starts in one state, each also with a little of some or all others, and starts in the middle."""
    for place in range(k):
        sure = np.eye(k)[place]
        yield sure
        yield (1 - RARE) * sure + RARE / k
        for other in range(k):
            yield (1 - RARE) * sure + RARE * np.eye(k)[other]
    yield from rng.dirichlet(np.ones(k), size=3)


def test_influences_are_the_largest_over_all_starts() -> None:
    rng = np.random.default_rng(201)
    finite = infinite = 0
    for number in range(40):
        k, length = int(rng.integers(2, 4)), int(rng.integers(2, 5))
        chain = hostile_chain(rng, k, length, number)
        joints = [paths(chain, start) for start in starts(rng, k)]
        exact = ExactInfluence(chain, 0)
        groups = list(exact.steps(length))
        for step in range(length):
            group = next(each for each in groups if each.first <= step + 1 <= each.last)
            for quilt, _ in quilts(length, step):
                if not quilt:
                    continue
                sides = [
                    exact.left(group, step - each) if each < step else exact.right(group, each - step) for each in quilt
                ]
                found = max(0.0, float((sides[0] if len(sides) == 1 else together(*sides)).max()))
                wanted = max(told(joint, step, quilt) for joint in joints)
                assert found >= wanted * (1 - 1e-12)
                if math.isinf(found):
                    infinite += 1
                    assert wanted > 10  # grows without end as the rare start gets rarer
                else:
                    finite += 1
                    assert found <= wanted + 1e-4
    assert finite > 100
    assert infinite > 100


def influence_of(exact: ExactInfluence, group: column.Step, step: int, quilt: tuple[int, ...]) -> float:
    sides = [exact.left(group, step - each) if each < step else exact.right(group, each - step) for each in quilt]
    return max(0.0, float((sides[0] if len(sides) == 1 else together(*sides)).max()))


@pytest.mark.parametrize("settled", [1e-11, 50.0])
@pytest.mark.parametrize("work", [column.MOST_COMPARISONS, 60, 1])
def test_scores_cover_every_start(settled: float, work: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where steps are put together early."""
    monkeypatch.setattr(column, "SETTLED", settled)
    monkeypatch.setattr(column, "MOST_COMPARISONS", work)
    rng = np.random.default_rng(202)
    for number in range(24):
        k, length = int(rng.integers(2, 4)), int(rng.integers(2, 6))
        chain = hostile_chain(rng, k, length, number)
        epsilon = float(10 ** rng.uniform(-1, 1))
        found = chain_scale(chain.length, epsilon, ExactInfluence(chain, 0))
        assert found is not None
        for start in starts(rng, k):
            assert found.score >= brute_force(chain, start, epsilon) * (1 - 1e-9), (number, start)


@pytest.mark.parametrize("longest", [1, 2, 3])
def test_laws_that_are_no_longer_told_apart_count_as_any(longest: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(column, "MOST_DISTINCT_STEPS", longest)
    rng = np.random.default_rng(204)
    for number in range(24):
        k, length = int(rng.integers(2, 4)), int(rng.integers(2, 6))
        drawn = hostile_chain(rng, k, length, number)
        for start in starts(rng, k):
            chain = MarkovChain(drawn.transition[0], start, length)
            found = chain_scale(chain.length, 1.0, ExactInfluence(chain, 0))
            assert (found.score if found else 0.0) >= brute_force(chain, start, 1.0) * (1 - 1e-9), (number, start)


@pytest.mark.parametrize("influence", ["exact", "spectral", "published"])
def test_the_output_never_tells_more_whatever_the_start(influence: str) -> None:
    rng = np.random.default_rng(203)
    tried = 0
    for number in range(40):
        k, length = int(rng.integers(2, 4)), int(rng.integers(2, 6))
        drawn = hostile_chain(rng, k, length, number)
        chain = MarkovChain(drawn.transition[0], "any", length, states=list(range(k)))
        schema = bp.Schema(records=length, columns={"x": bp.Integer(0, k - 1)})
        framework = bp.ValuePrivacy(chain, schema, "x", source="a test")
        query, epsilon = bp.count(bp.col("x") == 1), float(10 ** rng.uniform(-0.5, 0.7))
        mechanism = bp.mechanisms.MarkovChainMechanism(influence=influence)  # type: ignore[arg-type]
        if mechanism.supports(framework, query, epsilon=epsilon) is not None:
            continue
        tried += 1
        scale = mechanism.calibrate(framework, query, epsilon=epsilon).scale
        for start in starts(rng, k):
            joint = paths(chain, start)
            assert max(output_epsilon(joint, step, scale) for step in range(length)) <= epsilon * (1 + 1e-9)
    assert tried > 5


def scale_of(transition: object, start: object, length: int = 200) -> float:
    chain = MarkovChain(transition, start, length)  # type: ignore[arg-type]
    schema = bp.Schema(records=length, columns={"x": bp.Categorical(list(map(str, chain.state_space)))})
    framework = bp.ValuePrivacy(chain, schema, "x", source="a test")
    return bp.mechanisms.MarkovChainMechanism().calibrate(framework, bp.count(bp.col("x") == "1"), epsilon=1.0).scale


@pytest.mark.parametrize(("stay", "most"), [(0.6, 3.95), (0.75, 10.2)])
def test_a_state_possible_at_the_first_step_only_costs_nothing_later(stay: float, most: float) -> None:
    """It needed noise for all 200 steps."""
    two = np.array([[stay, 1 - stay], [1 - stay, stay]])
    three = np.array([[0, 0.5, 0.5], [0, stay, 1 - stay], [0, 1 - stay, stay]])
    given = max(
        scale_of(three, start) for start in ([1, 0, 0], [0, 1, 0], [0, 0, 1], [0.01, 0.98, 0.01], [1e-6, 0.5, 0.499999])
    )
    found = scale_of(three, "any")
    assert given <= found <= most
    assert found == pytest.approx(scale_of(two, "any"), rel=1e-9)
    assert found <= given * 1.01


def test_several_states_are_left_one_after_the_other() -> None:
    """From 0 to 1 to 2 and never back: each is possible one step longer than the one before."""
    transition = [
        [0.0, 0.5, 0.25, 0.25, 0.0],
        [0.0, 0.0, 0.5, 0.25, 0.25],
        [0.0, 0.0, 0.0, 0.5, 0.5],
        [0.0, 0.0, 0.0, 0.7, 0.3],
        [0.0, 0.0, 0.0, 0.2, 0.8],
    ]
    found = scale_of(transition, "any", 100)
    assert max(scale_of(transition, start, 100) for start in np.eye(5).tolist()) <= found < 20


def test_what_one_side_rules_out_is_not_lost_where_the_other_is_no_constraint() -> None:
    """inf - inf counts as all, not as nothing."""

    class Crossed:
        entries = 1

        def steps(self, length: int) -> Iterator[column.Step]:
            mask = np.ones(2, dtype=bool)
            yield column.Step(first=1, last=length, odds=np.zeros((1, 1)), masks=[mask], error=0.0)

        def left(self, step: column.Step, a: int) -> np.ndarray:
            return np.array([-np.inf])

        def right(self, step: column.Step, b: int) -> np.ndarray:
            return np.array([np.inf])

    found = chain_scale([9], 1.0, Crossed())
    assert found is not None
    assert found.influence < 1
    assert found.before is None or found.after is None  # the two together tell all
