"""Several networks as one model class: aligned by name, refused where they differ, and the same through a file."""

from __future__ import annotations

import re
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bnpriv.core.influence.base import max_influence
from bnpriv.core.networks.discrete import DiscreteNetwork
from bnpriv.errors import FileError, NetworkError
from bnpriv.io.framework_file import read_framework
from bnpriv.kinds.graphs import model_class

STATES = {"income": ["low", "high"], "gender": ["f", "m", "x"], "sat": ["weak", "strong"]}
GENDER = [0.5, 0.25, 0.25]
SAT = np.array([[[0.7, 0.6, 0.5], [0.2, 0.3, 0.4]], [[0.3, 0.4, 0.5], [0.8, 0.7, 0.6]]])


def network(low: float = 0.6, sat: Any = SAT, **changes: Any) -> DiscreteNetwork:
    """Return a network over income, gender and sat, with axes (sat, income, gender)."""
    declared = {"states": STATES, "parents": {"sat": ["income", "gender"]}} | changes
    return DiscreteNetwork.from_tables({"income": [low, 1 - low], "gender": GENDER, "sat": sat}, **declared)


def shuffled(low: float, sat: np.ndarray) -> DiscreteNetwork:
    """Return the same network as `network(low, sat)`, with attributes, parents and states in other orders."""
    return DiscreteNetwork.from_tables(
        {
            "sat": np.transpose(sat, (0, 2, 1))[::-1][:, [2, 0, 1]][:, :, ::-1],
            "gender": [GENDER[2], GENDER[0], GENDER[1]],
            "income": [1 - low, low],
        },
        states={"gender": ["x", "f", "m"], "income": ["high", "low"], "sat": ["strong", "weak"]},
        parents={"sat": ["gender", "income"]},
    )


# what is kept


def test_every_network_is_one_model_in_their_order() -> None:
    theta = model_class([network(0.6), network(0.7), network(0.2)])
    assert theta.models == 3
    assert theta.level == "parameters"
    np.testing.assert_allclose(theta.probabilities("income"), [[0.6, 0.4], [0.7, 0.3], [0.2, 0.8]], rtol=1e-15)


def test_one_network_is_itself() -> None:
    alone, theta = network(), model_class([network()])
    assert theta.models == 1
    for name in alone.attributes:
        np.testing.assert_array_equal(theta.tables[name].values, alone.tables[name].values)


def test_networks_are_aligned_by_name() -> None:
    other = SAT[::-1] * 0.9 + 0.05
    theta = model_class([network(0.6), shuffled(0.3, other)])
    plain = model_class([network(0.6), network(0.3, other)])
    assert theta.attributes == plain.attributes
    assert theta.states == plain.states
    assert theta.graph == plain.graph
    for name in plain.attributes:
        np.testing.assert_allclose(theta.probabilities(name), plain.probabilities(name), rtol=1e-14)


def test_tables_on_which_all_agree_are_kept_once() -> None:
    theta = model_class([network(0.6), network(0.3)])
    assert theta.tables["income"].values.shape[0] == 2
    assert theta.tables["sat"].values.shape[0] == 1
    assert theta.tables["gender"].values.shape[0] == 1


def test_equal_networks_are_one_model() -> None:
    assert model_class([network(), network(), network()]).models == 1


def test_a_network_brings_all_its_models() -> None:
    both = network(sat=np.stack([SAT, SAT[::-1]]))
    theta = model_class([network(0.2), both, network(0.3)])
    assert theta.models == 4
    np.testing.assert_allclose(theta.probabilities("income")[:, 0], [0.2, 0.6, 0.6, 0.3], rtol=1e-15)
    np.testing.assert_allclose(theta.probabilities("sat"), [SAT, SAT, SAT[::-1], SAT], rtol=1e-15)


def test_zeros_stay_zeros() -> None:
    sure = np.array([[[1.0] * 3, [0.0] * 3], [[0.0] * 3, [1.0] * 3]])
    theta = model_class([network(), network(sat=sure)])
    np.testing.assert_array_equal(theta.probabilities("sat")[1], sure)


def test_the_influence_is_the_largest_of_the_models() -> None:
    alone = [network(0.6, SAT), network(0.3, SAT[::-1] * 0.5 + 0.25), network(0.5, SAT * 0.2 + 0.4)]
    each = [float(max_influence(one, {"sat"}, "income")) for one in alone]
    theta = max_influence(model_class(alone), {"sat"}, "income")
    assert float(theta) == pytest.approx(max(each), rel=1e-12)
    assert theta.model == int(np.argmax(each))
    np.testing.assert_allclose(theta.values.max(axis=1), each, rtol=1e-12)


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_the_order_changes_the_numbering_only(order: tuple[int, ...]) -> None:
    alone = [network(0.6), shuffled(0.3, SAT[::-1]), network(0.5, SAT * 0.2 + 0.4)]
    theta = max_influence(model_class([alone[k] for k in order]), {"sat", "gender"}, "income")
    straight = max_influence(model_class(alone), {"sat", "gender"}, "income")
    assert float(theta) == pytest.approx(float(straight), rel=1e-12)
    assert order[theta.model] == straight.model


def test_error_bounds_are_the_largest() -> None:
    coarse = network(1e-300)
    theta = model_class([network(), coarse])
    assert theta.tables["income"].error == coarse.tables["income"].error > network().tables["income"].error


# what is refused


def two(**changes: Any) -> DiscreteNetwork:
    """Return a network over income and sat with parts replaced."""
    declared: dict[str, Any] = {
        "tables": {"income": [0.6, 0.4], "sat": [[0.7, 0.2], [0.3, 0.8]]},
        "states": {"income": ["low", "high"], "sat": ["weak", "strong"]},
        "parents": {"sat": ["income"]},
        "level": "parameters",
    } | changes
    return DiscreteNetwork.from_tables(declared.pop("tables"), **declared)


DIFFERENT = {
    "level": (two(level="records"), "one level, 'parameters' as in network 0", "'records' in network 2"),
    "fewer attributes": (
        two(tables={"income": [0.6, 0.4]}, states={"income": ["low", "high"]}, parents={}),
        "the attributes of network 0",
        "network 2 without sat",
    ),
    "another attribute": (
        two(
            tables={"income": [0.6, 0.4], "SAT": [0.7, 0.3]},
            states={"income": ["low", "high"], "SAT": ["weak", "strong"]},
            parents={},
        ),
        "the attributes of network 0",
        "network 2 without sat and with SAT",
    ),
    "a renamed state": (
        two(states={"income": ["low", "rich"], "sat": ["weak", "strong"]}),
        "'income' must have the same states in all networks, low, high as in network 0",
        "low, rich in network 2",
    ),
    "more states": (
        two(
            tables={"income": [0.6, 0.3, 0.1], "sat": [[0.7, 0.2, 0.1], [0.3, 0.8, 0.9]]},
            states={"income": ["low", "high", "top"], "sat": ["weak", "strong"]},
        ),
        "'income' must have the same states",
        "low, high, top in network 2",
    ),
}


@pytest.mark.parametrize("case", DIFFERENT)
def test_a_difference_is_named(case: str) -> None:
    other, required, found = DIFFERENT[case]
    with pytest.raises(NetworkError) as refusal:
        model_class([two(), two(tables={"income": [0.5, 0.5], "sat": [[0.7, 0.2], [0.3, 0.8]]}), other])
    assert required in str(refusal.value)
    assert found in refusal.value.found
    assert refusal.value.remedy


def test_labels_stand_in_messages() -> None:
    with pytest.raises(NetworkError, match=r"'parameters' as in a\.bif; found level 'records' in b\.bif"):
        model_class([two(), two(level="records")], labels=["a.bif", "b.bif"])


@pytest.mark.parametrize("states", [[0, 1], [False, True], ["0", "1"], [0.0, 1.0]])
def test_states_that_print_or_compare_alike_differ(states: list[Any]) -> None:
    kinds = [[0, 1], [False, True], ["0", "1"], [0.0, 1.0]]
    tables = {"coin": [0.5, 0.5]}
    first = DiscreteNetwork.from_tables(tables, states={"coin": states})
    for kind in kinds:
        second = DiscreteNetwork.from_tables(tables, states={"coin": kind})
        if type(kind[0]) is type(states[0]):
            assert model_class([first, second]).models == 1
        else:
            with pytest.raises(NetworkError, match="same states"):
                model_class([first, second])


def test_a_class_needs_a_network() -> None:
    with pytest.raises(NetworkError, match="needs a network"):
        model_class([])


# through a framework file

BIF = """
variable income {{ type discrete [ 2 ] {{ low, high }}; }}
variable sat {{ type discrete [ 2 ] {{ {first}, {second} }}; }}
probability ( income ) {{ table 0.6, 0.4; }}
probability ( sat | income ) {{ (low) {low}; (high) {high}; }}
"""
WEAK = BIF.format(first="weak", second="strong", low="0.7, 0.3", high="0.4, 0.6")
STRONG = BIF.format(first="strong", second="weak", low="0.1, 0.9", high="0.8, 0.2")
TOML = """
notion = "distributional"
source = "a test"
[network]
file = {file}
[records]
count = 100
[columns.sat]
type = "integer"
lower = 400
upper = 1600
[protect.income]
"""


def declare(folder: Path, file: str, **networks: str) -> Path:
    """Write a framework file with its network files, and return its path."""
    for name, content in networks.items():
        (folder / f"{name}.bif").write_text(content, encoding="utf-8")
    path = folder / "framework.toml"
    path.write_text(TOML.format(file=file), encoding="utf-8")
    return path


def test_a_list_of_files_is_a_model_class(tmp_path: Path) -> None:
    framework = read_framework(declare(tmp_path, '["one.bif", "two.bif"]', one=WEAK, two=STRONG))
    assert framework.network.models == 2
    expected = [[[0.7, 0.4], [0.3, 0.6]], [[0.9, 0.2], [0.1, 0.8]]]  # (model, sat, income), states as in the first file
    np.testing.assert_allclose(framework.network.probabilities("sat"), expected, rtol=1e-15)


@pytest.mark.parametrize("file", ['"one.bif"', '["one.bif"]'])
def test_one_file_is_one_model(tmp_path: Path, file: str) -> None:
    assert read_framework(declare(tmp_path, file, one=WEAK)).network.models == 1


def test_files_that_differ_in_more_than_numbers_are_named(tmp_path: Path) -> None:
    path = declare(tmp_path, '["one.bif", "two.bif"]', one=WEAK, two=STRONG.replace("weak", "feeble"))
    with pytest.raises(NetworkError) as refusal:
        read_framework(path)
    assert f"{path}, line 4, [network]: 'sat' must have the same states" in str(refusal.value)
    assert "as in one.bif" in str(refusal.value)
    assert "strong, feeble in two.bif" in str(refusal.value)


@pytest.mark.parametrize("file", ["[]", "1", '["one.bif", 1]', '["one.bif", ""]', '["one.bif", "one.bif"]', '[["a"]]'])
def test_a_list_must_name_different_files(tmp_path: Path, file: str) -> None:
    with pytest.raises(FileError, match="file must be a text"):
        read_framework(declare(tmp_path, file, one=WEAK))


@pytest.mark.parametrize("outside", ["../one.bif", "/one.bif", "C:/one.bif", "..\\\\one.bif"])
def test_every_file_of_a_list_stays_in_the_folder(tmp_path: Path, outside: str) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    (tmp_path / "one.bif").write_text(WEAK, encoding="utf-8")
    path = declare(inner, f'["two.bif", "{outside}"]', two=STRONG)
    with pytest.raises(FileError, match=re.escape("must lie in the folder of the framework file")):
        read_framework(path)
