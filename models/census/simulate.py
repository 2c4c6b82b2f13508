"""Simulate the census table: `python simulate.py` writes the files beside this one anew, always the same.

Every person is drawn on their own: age and sex, then schooling, occupation, hours and income, each given those before
it. The first half of the people is public, the second is to be protected. Values are written as such files have them,
with a blank after every comma and a question mark where nobody knows. The network is counted in the public half.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

import bnpriv as bp

HERE = Path(__file__).resolve().parent
SEED = 20_261_123
EACH = 4_000

EDUCATION = {
    "Primary": 0,
    "Lower-secondary": 0,
    "Upper-secondary": 1,
    "Vocational": 1,
    "Some-college": 1,
    "Bachelor": 2,
    "Master": 3,
    "Doctorate": 3,
}
"""Years of schooling in four steps."""

OCCUPATIONS = {
    "office": ["Manager", "Engineer", "Physician", "Lawyer", "Teacher", "Scientist", "Accountant"],
    "service": ["Clerk", "Sales", "Nurse", "Cook", "Cleaner", "Guard", "Hairdresser"],
    "manual": ["Carpenter", "Driver", "Machine-operator", "Farm-worker", "Electrician", "Warehouse", "Builder"],
}

AGES, HOURS = [17, 25, 35, 45, 55, 65, 90], [1, 20, 40, 41, 99]

STATES = {
    "age": ["17-24", "25-34", "35-44", "45-54", "55-64", "65-90"],
    "sex": ["Female", "Male"],
    "education": ["basic", "middle", "bachelor", "advanced"],
    "occupation": [*OCCUPATIONS, "unknown"],
    "income": ["<=45k", ">45k"],
    "hours": ["1-19", "20-39", "40", "41-99"],
}
"""The states of the network; framework.toml says which values of the table count as which."""

PARENTS = {
    "age": [],
    "sex": [],
    "education": ["age"],
    "occupation": ["education", "sex"],
    "income": ["education", "occupation", "age"],
    "hours": ["income", "age", "sex"],
}

BY_SCHOOLING = np.array([[0.06, 0.39, 0.55], [0.18, 0.46, 0.36], [0.66, 0.26, 0.08], [0.85, 0.12, 0.03]])
"""Share of office, service and manual occupations for each step of schooling."""


def simulate() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the public and the private table, without the blanks."""
    random = np.random.default_rng(SEED)
    people = 2 * EACH
    age = (17 + 74 * random.beta(1.7, 2.9, people)).astype(int)
    man = random.random(people) < 0.52
    education = _education(random, age)
    step = np.array(list(EDUCATION.values()))[education]
    kind, occupation = _occupation(random, step, man)
    hours = _hours(random, age, man, kind, working=occupation != "?")
    odds = -3.7 + 0.9 * step + 0.9 * (kind == 0) + 0.045 * (np.minimum(age, 55) - 25) + 0.05 * (hours - 40) + 0.4 * man
    high = random.random(people) < 1 / (1 + np.exp(-odds))
    table = pd.DataFrame(
        {
            "age": age,
            "education": np.array(list(EDUCATION))[education],
            "occupation": occupation,
            "hours": hours,
            "sex": np.where(man, "Male", "Female"),
            "income": np.where(high, ">45k", "<=45k"),
        }
    )
    return table[:EACH], table[EACH:].reset_index(drop=True)


def _education(random: np.random.Generator, age: np.ndarray) -> np.ndarray:
    """Return places in EDUCATION: the young have not finished, the old went to school for fewer years."""
    grown = np.array([0.05, 0.09, 0.28, 0.14, 0.17, 0.18, 0.07, 0.02])
    young = np.array([0.03, 0.27, 0.36, 0.10, 0.20, 0.04, 0.0, 0.0])
    old = np.array([0.16, 0.19, 0.30, 0.13, 0.08, 0.09, 0.04, 0.01])
    laws = np.stack([young, grown, old])[np.digitize(age, [23, 60])]
    return (random.random((len(age), 1)) > np.cumsum(laws, axis=1)[:, :-1]).sum(axis=1)


def _occupation(random: np.random.Generator, step: np.ndarray, man: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the kind of each occupation and its name; men have more of the manual ones."""
    weights = BY_SCHOOLING[step] * np.where(man[:, None], [1.0, 0.7, 1.5], [1.0, 1.5, 0.4])
    kinds = np.cumsum(weights / weights.sum(axis=1, keepdims=True), axis=1)
    kind = (random.random((len(step), 1)) > kinds[:, :-1]).sum(axis=1)
    names = np.array(list(OCCUPATIONS.values()))
    occupation = names[kind, random.choice(names.shape[1], len(step), p=[0.28, 0.2, 0.16, 0.12, 0.1, 0.08, 0.06])]
    return kind, np.where(random.random(len(step)) < 0.05, "?", occupation)


def _hours(
    random: np.random.Generator, age: np.ndarray, man: np.ndarray, kind: np.ndarray, *, working: np.ndarray
) -> np.ndarray:
    """Return hours of work in a week: many have forty, the old and those without an occupation fewer."""
    usual = random.normal(36 + 5 * man + 3 * (kind == 0) - 14 * (age >= 66) - 9 * (age < 21), 10)
    full = (random.random(len(age)) < 0.4) & (age >= 21) & (age < 66)
    hours = np.where(full, 40, np.where(working, usual, usual / 2))
    return np.clip(hours.round(), 1, 99).astype(int)


def network(public: pd.DataFrame) -> bp.DiscreteNetwork:
    """Return the network of one record: frequencies in the public table, with one person more in every cell."""
    kinds = {name: kind for kind, names in OCCUPATIONS.items() for name in names} | {"?": "unknown"}
    codes = {
        "age": np.digitize(public["age"], AGES[1:-1]),
        "sex": public["sex"].map(STATES["sex"].index),
        "education": public["education"].map(EDUCATION),
        "occupation": public["occupation"].map(kinds).map(STATES["occupation"].index),
        "income": public["income"].map(STATES["income"].index),
        "hours": np.digitize(public["hours"], HOURS[1:-1]),
    }
    tables = {}
    for name, parents in PARENTS.items():
        counts = np.ones([len(STATES[each]) for each in (name, *parents)])
        np.add.at(counts, tuple(codes[each] for each in (name, *parents)), 1)
        tables[name] = counts / counts.sum(axis=0)
    return bp.DiscreteNetwork.from_tables(tables, states=STATES, parents=PARENTS, level="records")


def write(table: pd.DataFrame, path: Path) -> None:
    """Write a table with a blank after every comma but those of the header."""
    lines = [",".join(table.columns), *(", ".join(map(str, row)) for row in table.itertuples(index=False))]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    halves = simulate()
    for half, name in zip(halves, ("public.csv", "private.csv"), strict=True):
        write(half, HERE / name)
        print(name, half.describe(include="all"), sep="\n")
    network(halves[0]).to_file(HERE / "census.bif", overwrite=True)
