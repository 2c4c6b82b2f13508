"""UAI files: what is written comes back bit for bit, and what is broken, or written by pgmpy, is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.errors import BnprivError, FileError, NetworkError, SizeError
from bnpriv.io.pgmpy import quiet, to_pgmpy
from tests.later import Later

discrete = Later("pgmpy.factors.discrete")
pgmpy = Later("pgmpy.models")
readwrite = Later("pgmpy.readwrite")
inference = Later("pgmpy.inference")

STUDENT = """BAYES
3
2 2 3
3
1 0
2 0 1
3 0 1 2

2
 0.6 0.4
4
 0.7 0.3
 0.2 0.8
12
 0.5 0.3 0.2 0.1 0.1 0.8
 0.25 0.25 0.5 0 0 1
"""


def put(folder: Path, text: str) -> Path:
    path = folder / "network.uai"
    path.write_text(text, encoding="utf-8")
    return path


def test_scopes_have_the_child_last_and_the_last_variable_is_fastest(tmp_path: Path) -> None:
    network = bp.read_network(put(tmp_path, STUDENT), "records")
    assert network.states == {"var_0": ("0", "1"), "var_1": ("0", "1"), "var_2": ("0", "1", "2")}
    assert network.graph.parents["var_2"] == ("var_0", "var_1")
    assert np.allclose(network.probabilities("var_1")[0], [[0.7, 0.2], [0.3, 0.8]], rtol=0, atol=1e-15)
    assert np.allclose(network.probabilities("var_2")[0, :, 0, 1], [0.1, 0.1, 0.8], rtol=0, atol=1e-15)
    assert np.allclose(network.probabilities("var_2")[0, :, 1, 0], [0.25, 0.25, 0.5], rtol=0, atol=1e-15)


def test_what_pgmpy_writes_is_refused(tmp_path: Path) -> None:
    """pgmpy names the child last and runs through it first, unlike the format: its files say something else."""
    made = pgmpy.DiscreteBayesianNetwork([("a", "b")])
    made.add_cpds(
        discrete.TabularCPD("a", 2, [[0.5], [0.5]]), discrete.TabularCPD("b", 2, [[0.9, 0.2], [0.1, 0.8]], ["a"], [2])
    )
    with quiet():
        text = str(readwrite.UAIWriter(made))
    with pytest.raises(NetworkError, match=r"the sums over var_0 are 1\. Transpose"):
        bp.read_network(put(tmp_path, text))
    assert bp.read_network(put(tmp_path, text.replace("0.9 0.2 0.1 0.8", "0.9 0.1 0.2 0.8"))).models == 1


def test_marginals_are_those_of_pgmpy(tmp_path: Path) -> None:
    joint = np.einsum(
        "a,ab,abc->abc", [0.6, 0.4], [[0.7, 0.3], [0.2, 0.8]], np.array(STUDENT.split()[-12:], float).reshape(2, 2, 3)
    )
    engine = inference.VariableElimination(to_pgmpy(bp.read_network(put(tmp_path, STUDENT))))
    for k, name in enumerate(("var_0", "var_1", "var_2")):
        wanted = joint.sum(axis=tuple({0, 1, 2} - {k}))
        assert engine.query([name], show_progress=False).values == pytest.approx(wanted, abs=1e-12)


@pytest.mark.parametrize("seed", range(8))
def test_what_is_written_is_read_back_bit_for_bit(tmp_path: Path, seed: int) -> None:
    random = np.random.default_rng(seed)
    names = [f"var_{k}" for k in random.permutation(5)]
    sizes = {name: int(random.integers(1, 4)) for name in names}
    parents = {name: [other for other in names[:k] if random.random() < 0.5] for k, name in enumerate(names)}
    tables = {
        name: np.moveaxis(random.dirichlet([0.3] * sizes[name], [sizes[p] for p in parents[name]]), -1, 0)
        for name in names
    }
    states = {name: [str(k) for k in range(sizes[name])] for name in names}
    network = bp.DiscreteNetwork.from_tables(tables, states=states, parents=parents, level="records")
    (file,) = network.to_file(tmp_path / "n.uai")
    assert bp.read_network(file, "records").identity() == network.identity()


@pytest.mark.parametrize(
    ("name", "states"), [("ill", ["0", "1"]), ("var_0", ["no", "yes"]), ("var_1", ["0", "1"]), ("var_00", ["0", "1"])]
)
def test_a_file_without_names_holds_no_names(tmp_path: Path, name: str, states: list[str]) -> None:
    network = bp.DiscreteNetwork.from_tables({name: [0.5, 0.5]}, states={name: states})
    with pytest.raises(FileError, match=r"hold every name|var_0 to var_0"):
        network.to_file(tmp_path / "n.uai")


BROKEN: dict[str, tuple[str, type[BnprivError], str]] = {
    "factors": (STUDENT.replace("BAYES", "MARKOV"), FileError, "MARKOV, whose factors are none"),
    "another type": (STUDENT.replace("BAYES", "ID"), FileError, "found 'ID'"),
    "nothing": ("", FileError, "the type of the network"),
    "cut short": (STUDENT[:-10], FileError, "an entry of 'var_2'"),
    "too long": (STUDENT + "\n0.5", FileError, "nothing must follow"),
    "another size": (STUDENT.replace("\n2\n 0.6 0.4\n4", "\n3\n 0.6 0.4 4\n4"), FileError, "must have 2 numbers"),
    "a word": (STUDENT.replace("0.7", "x"), FileError, "must hold numbers"),
    "infinite": (STUDENT.replace("0.7", "inf"), FileError, "must hold numbers"),
    "negative": (STUDENT.replace("0.7 0.3", "1.1 -0.1"), NetworkError, "at least 0"),
    "comments": (STUDENT.replace("1 0\n", "1 0   # income\n"), FileError, "as pyAgrum writes them.* on line 5"),
    "a gap": (STUDENT.replace("0.7 0.3", "nan nan"), NetworkError, "missing_rows"),
    "sums": (STUDENT.replace("0.7 ", "0.71 "), NetworkError, "must sum to 1"),
    "no whole number": (STUDENT.replace("2 2 3", "2 2.0 3"), FileError, "whole number"),
    "an unknown variable": (STUDENT.replace("2 0 1", "2 7 1"), FileError, "unknown 'var_7'"),
    "two tables of one": (STUDENT.replace("2 0 1", "2 1 0"), FileError, "one table"),
    "an empty scope": (STUDENT.replace("\n1 0\n", "\n0\n"), FileError, "at least one variable"),
    "no states": (STUDENT.replace("2 2 3", "0 2 3"), FileError, "var_0"),
    "a cycle": ("BAYES 2 2 2 2 2 1 0 2 0 1 4 .5 .5 .5 .5 4 .5 .5 .5 .5", NetworkError, "cycle"),
    "too many variables": ("BAYES 999999999 2", SizeError, "attributes"),
    "too many states": ("BAYES 1 999999999 1 1 0 1 1", SizeError, "states"),
    "a table as large as said": ("BAYES 1 2 1 1 0 999999999 1 0", FileError, "its end"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_broken_files_are_refused(tmp_path: Path, case: str) -> None:
    text, error, words = BROKEN[case]
    with pytest.raises(error, match=words):
        bp.read_network(put(tmp_path, text))


def test_rows_without_data_may_be_any(tmp_path: Path) -> None:
    network = bp.read_network(put(tmp_path, STUDENT.replace("0.7 0.3", "nan nan")), missing_rows="any")
    assert network.missing == ("var_1 given var_0 = 0",)
