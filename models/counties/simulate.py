"""Simulate a survey of homes: `python simulate.py` writes homes.parquet beside this file, always the same."""

from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
from counties_pymc import COUNTIES, COUNTY, UPPER

HERE = Path(__file__).resolve().parent
SEED = 20_261_122
MU_A, SIGMA_A, MU_B, SIGMA_B, SIGMA = 1.4, 0.25, -0.7, 0.1, 0.7


def simulate() -> pd.DataFrame:
    """Return the table."""
    random = np.random.default_rng(SEED)
    a, b = random.normal(MU_A, SIGMA_A, len(COUNTIES)), random.normal(MU_B, SIGMA_B, len(COUNTIES))
    radon = random.normal(a[COUNTY] + b[COUNTY] * UPPER, SIGMA).clip(-3, 6).round(2)
    fan = (random.random(COUNTY.size) < 1 / (1 + np.exp(3 - a[COUNTY]))).astype("int64")
    return pd.DataFrame({"radon": radon, "fan": fan})


if __name__ == "__main__":
    homes = simulate()
    target = str(HERE / "homes.parquet").replace("'", "''")
    duckdb.sql(f"COPY (SELECT * FROM homes) TO '{target}' (FORMAT parquet, COMPRESSION zstd)")
    print(homes.describe())
