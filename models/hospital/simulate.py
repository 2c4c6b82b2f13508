"""Simulate the table of patients: `python simulate.py` writes patients.parquet beside this file, always the same.

Every record is drawn from the network on its own, parents first: the model under which dataset attribute privacy is
proved.
"""

from __future__ import annotations

from pathlib import Path

import duckdb
import networkx as nx
import numpy as np
import pandas as pd

import bnpriv as bp

HERE = Path(__file__).resolve().parent
SEED = 20_261_121


def simulate() -> pd.DataFrame:
    """Return the table."""
    framework = bp.read_framework(HERE / "framework.toml")
    assert isinstance(framework, bp.DatasetAttributePrivacy)
    network, records = framework.network, framework.schema.records
    random = np.random.default_rng(SEED)
    drawn: dict[str, np.ndarray] = {}
    for name in nx.lexicographical_topological_sort(nx.DiGraph(list(network.graph.edges))):
        own, *parents = network.tables[name].axes
        assert own == name
        table = np.moveaxis(network.probabilities(name)[0], 0, -1)
        chances = table[tuple(drawn[parent] for parent in parents)] if parents else np.tile(table, (records, 1))
        drawn[name] = (random.random((records, 1)) > np.cumsum(chances, axis=1)[:, :-1]).sum(axis=1)
    values = {name: np.array(network.states[name])[drawn[name]] for name in framework.schema.columns}
    return pd.DataFrame(values).astype({"days": "int64"} | dict.fromkeys(set(values) - {"days"}, "string"))


if __name__ == "__main__":
    patients = simulate()
    target = str(HERE / "patients.parquet").replace("'", "''")
    duckdb.sql(f"COPY (SELECT * FROM patients) TO '{target}' (FORMAT parquet, COMPRESSION zstd)")
    print(patients.describe(include="all"))
