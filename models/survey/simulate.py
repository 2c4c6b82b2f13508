"""Simulate the table of households: `python simulate.py` writes households.parquet beside this file, always the same.

One state is drawn for every parameter, as the first of the three experts sees them; then every column is drawn by its
own parameter alone, from the laws of framework.toml. That is the model under which distributional attribute privacy is
proved, so within the table the columns are independent.
"""

from __future__ import annotations

from pathlib import Path

import duckdb
import pandas as pd

import bnpriv as bp
from bnpriv.lab.simulate import simulate

HERE = Path(__file__).resolve().parent
SEED = 1


def table() -> pd.DataFrame:
    """Return the table."""
    return simulate(bp.read_framework(HERE / "framework.toml"), model=0, seed=SEED)


if __name__ == "__main__":
    households = table()
    target = str(HERE / "households.parquet").replace("'", "''")
    duckdb.sql(f"COPY (SELECT * FROM households) TO '{target}' (FORMAT parquet, COMPRESSION zstd)")
    print(households.describe(include="all"))
