"""Simulate the table of patients: `python simulate.py` writes patients.parquet beside this file, always the same.

One state is drawn for every parameter of the network, then every column is drawn by its own parameter alone, from the
laws of framework.toml. That is the model under which distributional attribute privacy is proved, so within the table
the columns are independent.
"""

from __future__ import annotations

from pathlib import Path

import duckdb
import pandas as pd

import bnpriv as bp
from bnpriv.lab.simulate import simulate

HERE = Path(__file__).resolve().parent
SEED = 1
DECIMALS = {"bmi": 1, "hba1c": 1}


def table() -> pd.DataFrame:
    """Return the table, its measurements rounded as a clinic would."""
    return simulate(bp.read_framework(HERE / "framework.toml"), seed=SEED).round(DECIMALS)


if __name__ == "__main__":
    patients = table()
    target = str(HERE / "patients.parquet").replace("'", "''")
    duckdb.sql(f"COPY (SELECT * FROM patients) TO '{target}' (FORMAT parquet, COMPRESSION zstd)")
    print(patients.describe(include="all"))
