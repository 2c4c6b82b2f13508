"""Frameworks that the tests of reports share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.bound import FloatArray
from bnpriv.core.networks.base import ImportReport, Posterior
from bnpriv.core.networks.discrete import DiscreteNetwork
from bnpriv.kinds.density.network import DensityNetwork, Parameter
from bnpriv.kinds.draws.parameter_draws import ParameterDraws
from tests import oracles
from tests.later import Later

pd = Later("pandas")
TWELVE = ("age", "sex", "region", "income", "school", "smoker", "diet", "sport", "illness", "cover", "visits", "cost")


def believed(draws: int = 4000) -> DensityNetwork:
    """Return schools of which a posterior's draws are known, in the way of a model of PyMC without its centre."""
    random, schools = np.random.default_rng(1), [f"s{k}" for k in range(1, 12)]
    mu, raw = random.normal(5, 3, draws), random.normal(size=(len(schools), draws))
    values = {f"theta[{name}]": mu + 4 * raw[k] for k, name in enumerate(schools)}
    values |= {"mu": mu} | {f"raw[{name}]": raw[k] for k, name in enumerate(schools)}
    names = tuple(values)

    def tables(names: Any, draws: int, *, seed: int, given: Any, records: int) -> Mapping[str, FloatArray]:
        noise = np.random.default_rng(seed).normal(0, 40, (draws, records))
        seen = (given["mu"] + 4 * given["raw[s1]"])[:, np.newaxis] + noise
        return {name: seen if name == "score" else given[name] for name in names}

    return DensityNetwork(
        parameters={
            name: Parameter(name=name, parents=names[:k], lower=-np.inf, upper=np.inf) for k, name in enumerate(names)
        },
        model_hash="schools",
        simulator=tables,
        reading=ImportReport(
            columns={"score": ("mu", "raw[s1]")},
            axes={"theta": (("school", tuple(schools)),), "raw": (("school", tuple(schools)),)},
            own_graph={"mu": (), "raw": (), "theta": ("mu", "raw"), "score": ("theta",)},
            inner=frozenset(name for name in names if name.startswith("raw")),
        ),
        drawn=ParameterDraws(
            values=values,
            functions=frozenset(name for name in names if name.startswith("theta")),
            reading="belief",
            chains=1,
            posterior=Posterior(source="eleven schools", draws=draws, independent=True, belief=True),
        ),
    )


@pytest.fixture(scope="package")
def schools() -> bp.DistributionalAttributePrivacy:
    """The first school is protected, over a posterior that is read as a belief."""
    schema = bp.Schema(records=20, columns={"score": bp.Real(-60, 60)})
    secrets = {"theta[s1]": bp.intervals(((0, 5), (5, 10)))}
    return bp.DistributionalAttributePrivacy(believed(), schema, secrets, source="eleven schools")


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
