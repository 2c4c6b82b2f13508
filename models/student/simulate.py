"""Simulate the table of students: `python simulate.py` writes students.parquet beside this file, always the same.

One state is drawn for every parameter of the network, then every column is drawn by its own parameter alone. That is
the model under which distributional attribute privacy is proved, so within the table the columns are independent.
"""

from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np
import pandas as pd

import bnpriv as bp

HERE = Path(__file__).resolve().parent
RECORDS = 10_000
SEED = 20_261_120
MISSING = {"income": 5, "gender": 2, "height": 6, "weight": 9, "sat": 4}

INCOME = {"low": (0.50, 0.35, 0.15), "middle": (0.25, 0.50, 0.25), "high": (0.15, 0.35, 0.50)}
GIRLS = {"mostly_girls": 0.6, "even": 0.5, "mostly_boys": 0.4}
HEIGHT = {"short": 166.0, "medium": 169.0, "tall": 172.0}  # means in cm
WEIGHT = {"light": 60.0, "medium": 65.0, "heavy": 70.0}  # means in kg
SAT = {"weak": 950.0, "fair": 1050.0, "strong": 1150.0}  # means in points
HEIGHT_SD, WEIGHT_SD, SAT_SD = 9.0, 11.0, 180.0


def draw_parameters(network: bp.DiscreteNetwork, random: np.random.Generator) -> dict[str, str]:
    """Draw one state for every attribute, parents first."""
    drawn: dict[str, str] = {}
    for name in network.attributes:
        parents = network.graph.parents[name]
        given = tuple(network.states[parent].index(drawn[parent]) for parent in parents)
        law = network.probabilities(name)[0][:, *given]
        drawn[name] = str(random.choice(network.states[name], p=law / law.sum()))
    return drawn


def draw_table(parameters: dict[str, str], random: np.random.Generator) -> pd.DataFrame:
    """Draw every column by its own parameter, and lose a few values."""
    girls = GIRLS[parameters["gender"]]
    table = pd.DataFrame(
        {
            "income": random.choice(["low", "middle", "high"], RECORDS, p=INCOME[parameters["income"]]),
            "gender": random.choice(["f", "m"], RECORDS, p=[girls, 1 - girls]),
            "height": random.normal(HEIGHT[parameters["height"]], HEIGHT_SD, RECORDS).round(1),
            "weight": random.normal(WEIGHT[parameters["weight"]], WEIGHT_SD, RECORDS).clip(35).round(1),
            "sat": (random.normal(SAT[parameters["sat"]], SAT_SD, RECORDS).clip(400, 1600) / 10).round() * 10,
        }
    ).astype({"income": "string", "gender": "string", "sat": "Int64"})
    for name, lost in MISSING.items():
        table.loc[random.choice(RECORDS, lost, replace=False), name] = pd.NA
    return table


def simulate() -> pd.DataFrame:
    """Return the table."""
    random = np.random.default_rng(SEED)
    return draw_table(draw_parameters(bp.read_network(HERE / "student.bif"), random), random)


if __name__ == "__main__":
    students = simulate()
    target = str(HERE / "students.parquet").replace("'", "''")
    duckdb.sql(f"COPY (SELECT * FROM students) TO '{target}' (FORMAT parquet, COMPRESSION zstd)")
    print(students.describe(include="all"))
