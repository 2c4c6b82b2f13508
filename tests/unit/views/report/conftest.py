"""Frameworks that the tests of reports share."""

from __future__ import annotations

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.core.networks.discrete import DiscreteNetwork
from tests import oracles
from tests.later import Later

pd = Later("pandas")
TWELVE = ("age", "sex", "region", "income", "school", "smoker", "diet", "sport", "illness", "cover", "visits", "cost")


@pytest.fixture(scope="package")
def student() -> bp.DistributionalAttributePrivacy:
    return bp.example("student")


@pytest.fixture(scope="package")
def twelve() -> bp.DistributionalAttributePrivacy:
    """Twelve attributes, three models, two protected."""
    drawn = oracles.random_network(np.random.default_rng(7), 12, models=3, deterministic=0.05)
    name = dict(zip(drawn.attributes, TWELVE, strict=True))
    network = DiscreteNetwork.from_tables(
        {name[a]: drawn.probabilities(a) for a in drawn.attributes},
        states={name[a]: drawn.states[a] for a in drawn.attributes},
        parents={name[a]: [name[b] for b in drawn.graph.parents[a]] for a in drawn.attributes},
    )
    schema = bp.Schema(records=1000, columns={column: bp.Real(0, 1) for column in TWELVE})
    return bp.DistributionalAttributePrivacy(network, schema, ["income", "illness"], source="random numbers")


@pytest.fixture(scope="package")
def learned() -> bp.DatasetAttributePrivacy:
    """Learned from a public table in which smoker alone depends on health, and a personnel number is near-unique."""
    tables = []
    for seed in (1, 2):
        rng = np.random.default_rng(seed)
        health = rng.choice(["good", "fair", "poor"], 1000, p=[0.6, 0.3, 0.1])
        smoker = rng.random(1000) < np.select([health == "good", health == "fair"], [0.2, 0.4], 0.7)
        columns = {
            "health": health,
            "smoker": np.where(smoker, "yes", "no"),
            "town": rng.choice(["A", "B", "C", "D"], 1000, p=[0.4, 0.3, 0.2, 0.1]),
            "coin": rng.integers(0, 2, 1000),
            "person": rng.permutation(1000) + 10_000,
            "hair": rng.choice(["black", "brown", "red", "green"], 1000, p=[0.5, 0.4, 0.098, 0.002]),
        }
        tables.append(pd.DataFrame(columns))
    framework = bp.start(tables[1], learn=tables[0], protect="health", records=1000)
    assert isinstance(framework, bp.DatasetAttributePrivacy)
    return framework
