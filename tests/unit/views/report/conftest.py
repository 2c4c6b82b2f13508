"""Frameworks that the tests of reports share."""

from __future__ import annotations

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.core.networks.discrete import DiscreteNetwork
from tests import oracles

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
