"""Write the table of four people: `python simulate.py` writes people.parquet beside this file, always the same."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pandas as pd

HERE = Path(__file__).resolve().parent


def simulate() -> pd.DataFrame:
    """Return the table: two people of either kind of x1, and x2 as it may well come out."""
    return pd.DataFrame({"x1": [0, 0, 1, 1], "x2": [0, 0, 1, 0]}, dtype="int64")


if __name__ == "__main__":
    people = simulate()
    target = str(HERE / "people.parquet").replace("'", "''")
    duckdb.sql(f"COPY (SELECT * FROM people) TO '{target}' (FORMAT parquet, COMPRESSION zstd)")
    print(people)
