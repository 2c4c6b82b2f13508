"""Wrong models: the bound of `Calibration.misspecified` against the worst of 10,000 random models within the factor.

Run: python benchmarks/misspecified.py
"""

from __future__ import annotations

import time

import numpy as np

import bnpriv as bp
from bnpriv.core.influence.base import influence_of
from bnpriv.core.networks.discrete import vertices
from bnpriv.mechanisms.misspecified import counted_tables, within_factor

DRAWS = 10_000
FACTORS = (1.05, 1.2, 1.5, 2.0)


def wrong_models(network: bp.types.IntervalNetwork, count: int, rng: np.random.Generator) -> bp.DiscreteNetwork:
    """Return random members as one model class: in each column a vertex, or a random mixture of two."""
    tables: dict[str, np.ndarray] = {}
    for name in network.attributes:
        shape = network.upper[name].shape
        tables[name] = np.empty((count, *shape))
        for place in np.ndindex(shape[1:]):
            column = (slice(None), *place)
            corners = vertices(network.lower[name][column], network.upper[name][column])
            first, second = corners[rng.integers(len(corners), size=(2, count))]
            share = np.where(rng.random((count, 1)) < 0.7, 0.0, rng.random((count, 1)))
            tables[name][(slice(None), slice(None), *place)] = (1 - share) * first + share * second
    return bp.DiscreteNetwork.from_tables(
        tables, states=network.states, parents=network.graph.parents, level=network.level, normalize=True
    )


def cases() -> list[tuple[str, bp.DistributionalAttributePrivacy, bp.types.Query]]:
    """Return frameworks with a query whose answer needs no noise at epsilon 3, so that epsilon is what it tells."""
    student = bp.example("student")
    return [
        ("student, height (secret is a root)", student, bp.linear({"height": 1.0})),
        ("student, sat (secret is a root)", student, bp.linear({"sat": 1.0})),
        ("student, height and sat", student, bp.linear({"height": 1.0, "sat": 1.0})),
        ("student, weight hides gender (a root)", protecting(student, "gender"), bp.linear({"weight": 1.0})),
        ("student, height hides sat (no root)", protecting(student, "sat"), bp.linear({"height": 1.0})),
        ("student, weight hides sat (no root)", protecting(student, "sat"), bp.linear({"weight": 1.0})),
        ("student, sat hides height (no root)", protecting(student, "height"), bp.linear({"sat": 1.0})),
    ]


def protecting(framework: bp.DistributionalAttributePrivacy, name: str) -> bp.DistributionalAttributePrivacy:
    """Return the framework with another protected attribute."""
    assert isinstance(framework.network, bp.DiscreteNetwork)
    return bp.DistributionalAttributePrivacy(framework.network, framework.schema, name, source=framework.source)


def main() -> None:
    rng = np.random.default_rng(0)
    print(
        f"{'case':40} {'factor':>6} {'model':>7} {'worst':>7} {'bound':>7} {'bound/worst':>11} {'counts':>7} {'ms':>6}"
    )
    for title, framework, query in cases():
        calibration = bp.MarkovQuiltMechanism().calibrate(framework, query, epsilon=3.0)
        assert calibration.scale == 0
        (name,), network = framework.secrets, framework.network
        for factor in FACTORS:
            start = time.perf_counter()
            bound = calibration.misspecified(factor).epsilon
            taken = 1000 * (time.perf_counter() - start)
            wrong = wrong_models(within_factor(network, factor), DRAWS, rng)
            worst = float(influence_of(wrong, query.columns, name, framework.secrets[name]))
            known = influence_of(network, query.columns, name, framework.secrets[name])
            count = counted_tables(network, name, known.frontier, known.pairs[0]).total()
            assert bound >= worst * (1 - 1e-9)
            counts = float(known) + 2 * count * np.log(factor)
            print(
                f"{title:40} {factor:6g} {float(known):7.4f} {worst:7.4f} {bound:7.4f} {bound / worst:11.3f} "
                f"{counts:7.4f} {taken:6.0f}"
            )


if __name__ == "__main__":
    main()
