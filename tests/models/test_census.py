"""The census example: raw tables that are read right, a network counted in the public half, and what its page says."""

from __future__ import annotations

import csv
import runpy
from functools import cache
from typing import Any

import numpy as np
import pytest

import bnpriv as bp
from tests.later import Later

pd = Later("pandas")

FOLDER = bp.example_data("census").parent
QUERIES = bp.read_queries(FOLDER / "framework.toml")
WAYS = (bp.TightMechanism(), bp.WassersteinMechanism(), bp.ColumnMechanism())


@cache
def census() -> Any:
    return bp.example("census")


@cache
def script() -> dict[str, Any]:
    return runpy.run_path(str(FOLDER / "simulate.py"))


@cache
def halves() -> Any:
    return script()["simulate"]()


@pytest.mark.parametrize("half", [0, 1])
def test_the_tables_are_made_up_by_their_script(half: int) -> None:
    stored = pd.read_csv(bp.example_data("census", public=half == 0), skipinitialspace=True)
    pd.testing.assert_frame_equal(halves()[half], stored, check_dtype=False)
    assert len(stored) == 4_000


def test_the_files_look_as_those_of_a_census_do() -> None:
    lines = bp.example_data("census").read_text(encoding="utf-8").splitlines()
    assert "  " not in lines[1]
    assert lines[1].count(", ") == lines[1].count(",") == 5
    assert ", ?, " in "\n".join(lines)
    raw = {row[2] for row in csv.reader(lines[1:])}
    assert len(raw) == 22
    assert all(value.startswith(" ") for value in raw)


def test_the_network_is_counted_in_the_public_half() -> None:
    counted, stored = script()["network"](halves()[0]), census().network
    assert stored.graph.edges == counted.graph.edges
    assert stored.states == counted.states
    for name in stored.attributes:
        np.testing.assert_allclose(stored.probabilities(name), counted.probabilities(name), rtol=1e-12)


def test_every_raw_value_counts_as_what_the_network_says() -> None:
    """Frequencies of states, by the release alone, against the network: one person more was put in every cell."""
    states = census().network.states
    parts = [f"count({name} == '{state}')" for name in ("education", "occupation") for state in states[name]]
    table = halves()[0]
    known = dict(zip(script()["EDUCATION"], script()["EDUCATION"].values(), strict=True))
    steps = table["education"].map(known).value_counts().sort_index().tolist()
    kinds = {name: kind for kind, names in script()["OCCUPATIONS"].items() for name in names}
    found = table["occupation"].map(lambda name: kinds.get(name, "unknown")).value_counts()
    expected = [*steps, *(int(found[state]) for state in states["occupation"])]
    for part, people in zip(parts, expected, strict=True):
        assert exact(part) == people


def exact(query: str) -> float:
    """Return the answer in the public table without noise."""

    class NoNoise:
        def laplace(self, values: Any, scale: float) -> tuple[float, ...]:
            return tuple(values)

        gaussian = discrete_laplace = laplace

    calibration = bp.ColumnMechanism().calibrate(census(), query, epsilon=1.0)
    return bp.release(calibration, bp.example_data("census", public=True), sampler=NoNoise()).value


def test_the_page_says_what_each_query_takes() -> None:
    page = (FOLDER / "README.md").read_text(encoding="utf-8")
    for name, query in QUERIES.items():
        scales = [way.calibrate(census(), query, epsilon=1.0).scale for way in WAYS]
        row = " | ".join(f"{scale:,.0f}" if scale >= 100 else f"{scale:.3g}" for scale in scales)
        assert f"| `{name}` | {row} |" in page


def test_the_columns_on_the_page_are_those_of_the_network() -> None:
    page = (FOLDER / "README.md").read_text(encoding="utf-8")
    for name, states in census().network.states.items():
        assert f"| {', '.join(map(str, states))} |" in page, name
