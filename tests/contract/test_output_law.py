"""The exact law of what is released, for thousands of random networks: never more loss than claimed."""

from __future__ import annotations

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.core.evidence.structural import influences
from tests import oracles

SEARCHES = [(0, 100), (1, 100), *(pytest.param(seed, 1000, marks=pytest.mark.slow) for seed in range(10))]
"""Seeds and numbers of networks; the slow run draws those of the normal one again, and goes on."""

SLACK = 1 + 1e-9


def claim_holds(case: oracles.Case, mechanism: bp.types.Mechanism) -> bool:
    calibration = mechanism.calibrate(case.framework, case.query, epsilon=case.epsilon)
    return oracles.output_epsilon(case, calibration.scale) <= case.epsilon * SLACK


def possible(case: oracles.Case) -> bool:
    return not isinstance(influences(case.framework), bp.errors.Refusal)


def cases(seed: int, count: int):
    rng = np.random.default_rng(seed)
    drawn = 0
    while drawn < count:
        case = oracles.random_case(rng)
        if possible(case):
            drawn += 1
            yield case


@pytest.mark.parametrize(("seed", "networks"), SEARCHES)
def test_the_loss_never_passes_the_claim(seed: int, networks: int) -> None:
    checked = 0
    for k, case in enumerate(cases(seed, networks)):
        assert claim_holds(case, bp.MarkovQuiltMechanism(common_quilt=k % 3 == 0)), (seed, k)
        checked += 1
    assert checked == networks


def test_columns_mechanism_never_passes_the_claim() -> None:
    for k, case in enumerate(cases(99, 100)):
        assert claim_holds(case, bp.ColumnMechanism()), k


def tight(copied: bool) -> oracles.Case:
    """Return a framework where the loss equals the claim: the protected column itself, or an exact copy of it."""
    network = bp.DiscreteNetwork.from_tables(
        {"secret": [0.5, 0.5], "other": np.eye(2) if copied else [[0.5, 0.5], [0.5, 0.5]]},
        states={"secret": ["a", "b"], "other": ["a", "b"]},
        parents={"other": ["secret"]},
    )
    schema = bp.Schema(records=1, columns={"secret": bp.Integer(0, 1), "other": bp.Integer(0, 1)})
    framework = bp.DistributionalAttributePrivacy(network, schema, "secret", source="a fixture")
    query = bp.linear({"other" if copied else "secret": 1.0})
    return oracles.Case(framework, query, 1.25, {name: np.eye(2) for name in query.columns})


@pytest.mark.parametrize("copied", [False, True])
def test_tight_fixtures_reach_the_claim(copied: bool) -> None:
    case = tight(copied)
    scale = bp.MarkovQuiltMechanism().calibrate(case.framework, case.query, epsilon=case.epsilon).scale
    assert oracles.output_epsilon(case, scale) == pytest.approx(case.epsilon, rel=1e-9)
    assert oracles.output_epsilon(case, scale) <= case.epsilon * SLACK
