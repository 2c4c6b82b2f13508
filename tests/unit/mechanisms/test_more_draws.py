"""What a plan says more draws, and another delta, would buy."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.core.distributions import missed
from bnpriv.mechanisms.plan import DrawsAdvice, DrawsStep, draws_needed
from tests.unit.core.evidence.test_posterior_laws import beta_binomial, framework, network, normal_normal

TIGHT = bp.TightMechanism(large_delta=True)


def made(case: object, delta: float, draws: int = 10_000, count: int = 700_000, **options: object) -> object:
    values = case.values(np.random.default_rng(1), count)
    known = network(case, values, **options).with_sampling(draws=draws, seed=1, cells=1000)
    return bp.plan(framework(case, known), case.query, 1.0, delta), known


@pytest.mark.parametrize("make", [beta_binomial, normal_normal])
@pytest.mark.parametrize("delta", [0.0, 1e-3, 0.019])
def test_more_delta_is_proposed_only_for_less_noise(make: object, delta: float) -> None:
    plan, _ = made(make(), delta)
    advice = plan.draws
    assert advice.asked.delta == delta
    estimates = [step for step in advice.steps if step.confidence is None]
    certain = [step for step in advice.steps if step.confidence is not None]
    for steps, first in ((estimates, advice.asked.scale), (certain, np.inf)):
        scales = [first, *(step.scale for step in steps)]
        assert all(after < before for before, after in pairwise(scales))
        assert [step.delta for step in steps] == sorted(step.delta for step in steps)
    assert all(step.delta > delta for step in estimates)
    assert certain  # a delta and a number of draws together
    assert "With a confidence take other draws for it: another seed" in plan.text


def test_what_is_foretold_is_what_so_many_draws_need() -> None:
    case = beta_binomial()
    plan, known = made(case, 0.019)
    step = next(step for step in plan.draws.steps if step.confidence is not None and step.delta == 0.019)
    later = known.with_sampling(draws=step.draws // 2, seed=5, cells=1000, confidence=step.confidence)
    found = TIGHT.calibrate(framework(case, later), case.query, epsilon=1.0, delta=step.delta).scale
    assert step.scale == pytest.approx(found, rel=0.03)
    assert step.scale < found  # with half of the draws a little more is needed


def test_the_spread_is_that_of_other_draws() -> None:
    case = beta_binomial()
    plan, known = made(case, 1e-3, draws=3000)
    scales = [
        TIGHT.calibrate(
            framework(case, known.with_sampling(draws=3000, seed=seed, cells=1000)), case.query, epsilon=1.0, delta=1e-3
        ).scale
        for seed in range(12)
    ]
    assert 0.4 < plan.draws.spread / (np.std(scales) / np.mean(scales)) < 2.5


def test_chains_are_promised_no_confidence_and_told_how_many_draws_do() -> None:
    plan, _ = made(beta_binomial(), 0.0, count=4000, independent=False, chains=4)
    assert all(step.confidence is None for step in plan.draws.steps)
    assert "more tables alone buy little" in plan.draws.posterior
    assert "What more draws, or another delta, would buy" in plan.text
    assert plan.document.data["draws"]["spread"] == plan.draws.spread


@pytest.mark.parametrize(
    ("delta", "draws", "told"),
    [(1e-3, 10_000, "about 10 of 10,000 tables"), (1e-3, 100_000, ""), (0.02, 4_000, "about 80"), (0.0, 10_000, "")],
)
def test_tables_that_decide_are_told_where_they_are_few(delta: float, draws: int, told: str) -> None:
    asked = DrawsStep(delta=delta, draws=draws, confidence=None, scale=1.0)
    advice = DrawsAdvice(asked=asked, steps=(), spread=0.1)
    assert told in advice.few
    assert bool(advice.few) == bool(told)
    assert not told or f"draws={round(100 / delta)})" in advice.few
    assert not DrawsAdvice(asked=replace(asked, confidence=0.95), steps=(), spread=0.1).few


def test_laws_that_were_computed_need_no_draws() -> None:
    assert bp.plan(bp.example("student"), "count(height > 180)", 1.0).draws is None


def test_the_draws_needed_are_the_least() -> None:
    for delta, ratio in ((0.1, 1.0), (0.003, 2.0), (0.5, 40.0)):
        needed = draws_needed(delta, 0.01, ratio)
        assert missed(needed, 0.01, ratio) < delta <= missed(needed - 1, 0.01, ratio)


@pytest.mark.parametrize("delta", [5e-324, 1e-308, 1e-200])
def test_deltas_that_no_number_of_draws_reaches(delta: float) -> None:
    assert draws_needed(delta, 0.01, 2.0) <= 2**1000
    asked = DrawsStep(delta=delta, draws=1000, confidence=None, scale=1.0)
    assert DrawsAdvice(asked=asked, steps=(), spread=0.1).wanted >= 10**200
