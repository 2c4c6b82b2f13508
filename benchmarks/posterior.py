"""Time the report of 1,000 posterior draws of a network with 12 attributes: ``python benchmarks/posterior.py``."""

from __future__ import annotations

import time

import numpy as np
import pandas as pd

import bnpriv as bp
from bnpriv.io.learning import parameters_by_group

ATTRIBUTES = 12
MOST_SECONDS = 10.0


def network(states: int, level: str, records: int = 20_000) -> bp.DiscreteNetwork:
    """Learn from a made-up table in which every column depends on the one before and one further back."""
    random = np.random.default_rng(0)
    columns: dict[str, np.ndarray] = {}
    parents: dict[str, list[str]] = {}
    for k in range(ATTRIBUTES):
        above = [f"a{j}" for j in (k - 1, k - 3) if j >= 0]
        noise = random.integers(0, states, records)
        told = sum((columns[name] for name in above), np.zeros(records, dtype=int)) % states
        columns[f"a{k}"] = np.where(random.random(records) < 0.3, told, noise)
        parents[f"a{k}"] = above
    if level == "records":
        return bp.DiscreteNetwork.posterior(parents, pd.DataFrame(columns), public="made up", prior="uniform", seed=1)
    # every record as a group of its own: the states are the values, "0 to 0.5" and so on
    table = pd.DataFrame({"group": np.arange(records), **columns})
    bins = {name: [k - 0.5 for k in range(states + 1)] for name in columns}
    return parameters_by_group(table, "group", bins, parents=parents, public="made up", prior="uniform", seed=1)


def timed(what: str, report: bp.types.InfluenceReport, started: float) -> None:
    """Write the report out in every form, and print how long all took."""
    size = len(report.text) + len(report.to_html()) + len(report.to_json()) + len(report.to_markdown())
    taken = time.perf_counter() - started
    verdict = "" if taken < MOST_SECONDS else f", more than {MOST_SECONDS:g} s"
    print(f"{what}: {taken:.2f} s, {size / 1000:.0f} kB{verdict}")


def main() -> None:
    for states in (2, 3, 4):
        learned = network(states, "records")
        started = time.perf_counter()
        report = bp.influence_report(learned, protect="a0")
        timed(f"{states} states, of a network", report, started)
        learned = network(states, "parameters")
        columns = {f"a{k}": bp.Integer(0, states - 1) for k in range(ATTRIBUTES)}
        schema = bp.Schema(records=1000, columns=columns)
        framework = bp.DistributionalAttributePrivacy(learned, schema, "a0", source="made up")
        started = time.perf_counter()
        query = bp.stack(bp.mean("a2"), bp.mean("a5"))
        made = bp.influence_report(framework, query, 3.0)
        assert isinstance(made, bp.types.InfluenceReport)
        timed(f"{states} states, of a query with noise", made, started)


if __name__ == "__main__":
    main()
