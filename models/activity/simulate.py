"""Simulate the day: `python simulate.py` writes day.parquet beside this file, always the same.

The chain of the framework file is followed step by step: the model under which value privacy is proved.
"""

from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np
import pandas as pd

import bnpriv as bp

HERE = Path(__file__).resolve().parent
SEED = 20_261_121


def simulate() -> pd.DataFrame:
    """Return the table."""
    framework = bp.read_framework(HERE / "framework.toml")
    assert isinstance(framework, bp.ValuePrivacy)
    chain = framework.chain
    assert chain is not None
    random = np.random.default_rng(SEED)
    steps = [int(random.choice(len(chain.states), p=chain.first(0)))]
    for _ in range(chain.steps - 1):
        steps.append(int(random.choice(len(chain.states), p=chain.matrix(0)[steps[-1]])))
    return pd.DataFrame({"activity": np.array(chain.states)[steps]}).astype({"activity": "string"})


if __name__ == "__main__":
    day = simulate()
    target = str(HERE / "day.parquet").replace("'", "''")
    duckdb.sql(f"COPY (SELECT * FROM day) TO '{target}' (FORMAT parquet, COMPRESSION zstd)")
    print(day.value_counts())
