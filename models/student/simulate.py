"""Simulate the table of students: `python simulate.py` writes students.parquet beside this file, always the same.

One state is drawn for every parameter of the network, then every column is drawn by its own parameter alone, from the
laws of framework.toml. That is the model under which distributional attribute privacy is proved, so within the table
the columns are independent. A few values are lost, as they are in a school's records.
"""

from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np
import pandas as pd

import bnpriv as bp

HERE = Path(__file__).resolve().parent
SEED = 20_261_120
MISSING = {"income": 5, "gender": 2, "height": 6, "weight": 9, "sat": 4}


def simulate() -> pd.DataFrame:
    """Return the table, its measurements rounded as a school would."""
    table = bp.simulate(bp.read_framework(HERE / "framework.toml"), seed=SEED).round({"height": 1, "weight": 1})
    table["sat"] = table["sat"].round(-1)
    table = table.astype({"income": "string", "gender": "string", "sat": "Int64"})
    random = np.random.default_rng(SEED)
    for name, lost in MISSING.items():
        table.loc[random.choice(len(table), lost, replace=False), name] = pd.NA
    return table


if __name__ == "__main__":
    students = simulate()
    target = str(HERE / "students.parquet").replace("'", "''")
    duckdb.sql(f"COPY (SELECT * FROM students) TO '{target}' (FORMAT parquet, COMPRESSION zstd)")
    print(students.describe(include="all"))
