"""The student example shows what its page says: influences worked out here from the tables, noise, and the table."""

from __future__ import annotations

import math
import runpy
from itertools import permutations, product
from pathlib import Path

import numpy as np
import pytest

from bnpriv.core.columns import Categorical, Integer
from bnpriv.core.frameworks.question import Framework
from bnpriv.core.mechanisms.quilt import MarkovQuiltMechanism
from bnpriv.io.examples import example, example_data, example_path
from bnpriv.io.framework_file import read_queries
from tests.later import Later

pd = Later("pandas")

STATES = range(3)


@pytest.fixture(scope="module")
def framework() -> Framework:
    return example("student")


def laws(framework: Framework) -> dict[str, np.ndarray]:
    """Return P(column | income) for height and sat, and jointly for both, summed by hand."""
    table = {name: framework.network.probabilities(name)[0] for name in framework.network.attributes}
    height = np.zeros((3, 3))
    for tall, gender, income in product(STATES, repeat=3):
        height[tall, income] += table["gender"][gender] * table["height"][tall, gender, income]
    both = np.array([[[height[h, i] * table["sat"][s, i] for i in STATES] for s in STATES] for h in STATES])
    return {"height": height, "sat": table["sat"], "both": both.reshape(9, 3)}


def influence(law: np.ndarray) -> float:
    return max(math.log(row[a] / row[b]) for row in law for a, b in permutations(STATES, 2))


def test_the_network_is_the_one_on_the_page(framework: Framework) -> None:
    assert set(framework.network.graph.edges) == {
        ("income", "sat"),
        ("income", "height"),
        ("gender", "height"),
        ("gender", "weight"),
        ("height", "weight"),
    }
    for name in ("gender", "height", "sat"):  # the order of the axes that `laws` relies on
        assert framework.network.tables[name].axes[1:] == {"height": ("gender", "income"), "sat": ("income",)}.get(
            name, ()
        )
    assert list(framework.secrets) == ["income"]


def test_influences_are_as_promised(framework: Framework) -> None:
    law = laws(framework)
    assert 0.2 <= influence(law["height"]) <= 0.3 < 0.5  # below eps / 2: the quilt {height} wins
    assert influence(law["height"]) == pytest.approx(0.2331, abs=5e-5)
    assert influence(law["sat"]) == pytest.approx(math.log(6), abs=1e-12)
    assert influence(law["both"]) > 1


def test_noise_is_as_promised(framework: Framework) -> None:
    n = framework.schema.records
    quilt = n / (1 - influence(laws(framework)["height"]))
    promised = {"tall": 0.0, "high_sat": n, "both": quilt, "tall_and_high_sat": n}
    queries = read_queries(example_path("student"))
    assert queries.keys() == promised.keys()
    for name, query in queries.items():
        calibration = MarkovQuiltMechanism().calibrate(framework, query, epsilon=1.0)
        assert calibration.scale == pytest.approx(promised[name], rel=1e-9), name
    page = (example_path("student").parent / "README.md").read_text(encoding="utf-8")
    assert f"scale {round(quilt):,}" in page
    assert quilt < 2 * n  # noise for sat alone beats noise for both columns


def test_the_table_fits_the_schema(framework: Framework) -> None:
    table = pd.read_parquet(example_data("student"))
    assert len(table) == framework.schema.records
    assert list(table.columns) == list(framework.schema.columns)
    assert 0 < table.isna().sum().sum() < 100
    for name, column in framework.schema.columns.items():
        values = table[name].dropna()
        if isinstance(column, Categorical):
            assert set(values) == set(column.categories)
        else:
            assert values.between(column.lower, column.upper).all()
            assert not isinstance(column, Integer) or (values % 1 == 0).all()


def test_the_table_is_what_simulate_writes() -> None:
    folder = example_path("student").parent
    simulated = runpy.run_path(str(Path(folder, "simulate.py")))["simulate"]()
    stored = pd.read_parquet(example_data("student"))
    pd.testing.assert_frame_equal(simulated, stored, check_dtype=False)


def test_every_parameter_state_is_explained() -> None:
    folder = example_path("student").parent
    page = (folder / "README.md").read_text(encoding="utf-8")
    framework = example("student")
    for name, states in framework.network.states.items():
        assert f"| {name} | {', '.join(map(str, states))} |" in page
        assert len(framework.column_laws[name]) == len(states)
