"""Simulate another year: `python simulate.py` writes departments.parquet beside this file, always the same."""

from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
from admissions_pymc import MEN_APPLIED, WOMEN_APPLIED

HERE = Path(__file__).resolve().parent
SEED = 1974
GAP, RATE = -0.1, np.array([0.5, 0.6, -0.7, -0.6, -1.1, -2.6])


def simulate() -> pd.DataFrame:
    """Return the table."""
    random = np.random.default_rng(SEED)
    men, women = (
        random.binomial(applied, 1 / (1 + np.exp(-RATE - side * GAP / 2)))
        for applied, side in ((MEN_APPLIED, 1), (WOMEN_APPLIED, -1))
    )
    return pd.DataFrame({"men": men, "women": women})


if __name__ == "__main__":
    departments = simulate()
    target = str(HERE / "departments.parquet").replace("'", "''")
    duckdb.sql(f"COPY (SELECT * FROM departments) TO '{target}' (FORMAT parquet, COMPRESSION zstd)")
    print(departments)
