"""The optimal search against brute force over all quilts of the graph."""

from __future__ import annotations

import math

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.core.evidence.structural import influences
from tests import oracles
from tests.seeds import seeds


def brute_scale(framework, query, epsilon: float, *, common: bool) -> float:
    """Return the largest, over protected attributes, of the best scale over all quilts, by the definition."""
    network, queried = framework.network, query.columns
    needed = 0.0
    for protected, chosen in framework.secrets.items():
        options = []
        for quilt, near in oracles.quilts(network, protected):
            change = bp.column_sensitivity(query, queried & near, framework.schema).upper
            row = []
            for model in range(network.models):
                law = oracles.joint(network, model)
                row += [
                    _scale(change, oracles.influence(network, law, quilt, protected, pair), epsilon) for pair in chosen
                ]
            options.append(row)
        table = np.array(options)
        needed = max(needed, float(table.max(axis=1).min() if common else table.min(axis=0).max()))
    return needed


def _scale(change: float, influence: float, epsilon: float) -> float:
    if influence == -math.inf:
        return 0.0
    if change == 0:
        return 0.0 if influence <= epsilon else math.inf
    return change / (epsilon - influence) if influence < epsilon - 1e-9 else math.inf


def draw(rng: np.random.Generator):
    nodes = int(rng.integers(3, 8))
    network = oracles.random_network(
        rng, nodes, most_states=4 if nodes < 6 else 3, models=int(rng.integers(1, 4)) if nodes < 7 else 1
    )
    names = list(network.attributes)
    protected = [str(name) for name in rng.choice(names, size=int(rng.integers(1, 3)), replace=False)]
    protect = {name: oracles._secrets(rng, network, name) for name in protected}
    schema = bp.Schema(records=7, columns={name: bp.Real(0, float(rng.integers(1, 5))) for name in names})
    framework = bp.DistributionalAttributePrivacy(network, schema, protect, source="a random draw")
    queried = rng.choice(names, size=int(rng.integers(1, min(4, nodes) + 1)), replace=False)
    query = bp.linear({str(name): float(rng.choice([-1.0, 0.5, 2.0])) for name in queried})
    return framework, query, float(rng.uniform(0.1, 5))


@pytest.mark.parametrize("seed", seeds(3, slow=8))
def test_scale_equals_brute_force_over_all_quilts(seed: int) -> None:
    rng = np.random.default_rng(1000 + seed)
    compared = 0
    while compared < 15:
        framework, query, epsilon = draw(rng)
        if isinstance(influences(framework), bp.errors.Refusal):
            continue
        compared += 1
        for common in (False, True):
            scale = bp.MarkovQuiltMechanism(common_quilt=common).calibrate(framework, query, epsilon=epsilon).scale
            expected = brute_scale(framework, query, epsilon, common=common)
            assert scale == pytest.approx(expected, rel=1e-9, abs=0.0), (seed, compared, common)
            assert scale >= expected * (1 - 1e-12)


def test_a_quilt_per_pair_can_need_far_less_noise_than_a_common_one() -> None:
    """One model is told best by shielding y, the other by shielding z: a common quilt cannot do both."""
    strong, weak = [[0.8, 0.2], [0.2, 0.8]], [[0.5, 0.5], [0.5, 0.5]]
    network = bp.DiscreteNetwork.from_tables(
        {"x": [0.5, 0.5], "y": [strong, weak], "z": [weak, strong]},
        states={"x": ["a", "b"], "y": ["a", "b"], "z": ["a", "b"]},
        parents={"y": ["x"], "z": ["x"]},
    )
    schema = bp.Schema(records=1, columns={"y": bp.Real(0, 1), "z": bp.Real(0, 1)})
    framework = bp.DistributionalAttributePrivacy(network, schema, "x", source="a fixture")
    query = bp.stack(bp.total("y"), bp.total("z"))
    own = bp.MarkovQuiltMechanism().calibrate(framework, query, epsilon=1.0).scale
    common = bp.MarkovQuiltMechanism(common_quilt=True).calibrate(framework, query, epsilon=1.0).scale
    assert own == pytest.approx(1.0, rel=1e-9)
    assert common == pytest.approx(2.0, rel=1e-9)
