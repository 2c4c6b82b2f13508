"""Simulate a new round: `python simulate.py` writes effects.parquet beside this file, always the same.

The numbers are drawn from the model at values that a posterior given the effects of 1981 finds likely.
"""

from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
from schools_pymc import ERRORS

HERE = Path(__file__).resolve().parent
SEED = 1981
MU, TAU = 5.0, 4.0


def simulate() -> pd.DataFrame:
    """Return the table."""
    random = np.random.default_rng(SEED)
    theta = random.normal(MU, TAU, len(ERRORS))
    return pd.DataFrame({"effect": random.normal(theta, ERRORS).clip(-60, 60).round(1)})


if __name__ == "__main__":
    effects = simulate()
    target = str(HERE / "effects.parquet").replace("'", "''")
    duckdb.sql(f"COPY (SELECT * FROM effects) TO '{target}' (FORMAT parquet, COMPRESSION zstd)")
    print(effects.describe())
