"""What a node means must be said where a network fitted to records could be taken for one of parameters."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.core.networks.discrete import IntervalNetwork
from bnpriv.core.schema import Column
from bnpriv.errors import FrameworkError, NetworkError

TABLES = {"ill": [0.9, 0.1], "smokes": [[0.8, 0.5], [0.2, 0.5]]}
NO_YES = {"ill": ["no", "yes"], "smokes": ["no", "yes"]}
FEW_MANY = {"ill": ["few", "many"], "smokes": ["few", "many"]}
PARENTS = {"smokes": ["ill"]}
YES_OR_NO = bp.Categorical(["no", "yes"])
SCHEMA = bp.Schema(records=10_000, columns={"ill": YES_OR_NO, "smokes": YES_OR_NO})
MEANING = "must say what a node means"

Level = Any
States = dict[str, list[str]]


def by_tables(states: States, level: Level, folder: Path) -> Any:
    return bp.DiscreteNetwork.from_tables(TABLES, states=states, parents=PARENTS, level=level)


def by_intervals(states: States, level: Level, folder: Path) -> Any:
    return bp.DiscreteNetwork.from_intervals(TABLES, TABLES, states=states, parents=PARENTS, level=level)


def by_middle(states: States, level: Level, folder: Path) -> Any:
    return by_intervals(states, level, folder).middle()


def by_surroundings(states: States, level: Level, folder: Path) -> Any:
    return IntervalNetwork.around(by_tables(states, level, folder), 0.01)


def by_class(states: States, level: Level, folder: Path) -> Any:
    other = bp.DiscreteNetwork.from_tables(
        {**TABLES, "ill": [0.8, 0.2]}, states=states, parents=PARENTS, level="parameters" if level is None else level
    )
    return bp.model_class([other, by_tables(states, level, folder)])


def by_pgmpy(states: States, level: Level, folder: Path) -> Any:
    from bnpriv.io.pgmpy import to_pgmpy

    return bp.from_pgmpy(to_pgmpy(by_tables(states, None, folder)), level=level)


def by_file(states: States, level: Level, folder: Path) -> Any:
    return bp.read_network(bif(states, folder), level)


def bif(states: States, folder: Path) -> Path:
    file = folder / "ill.bif"
    named = {name: ", ".join(own) for name, own in states.items()}
    file.write_text(
        "".join(f"variable {name} {{ type discrete [ 2 ] {{ {own} }}; }}\n" for name, own in named.items())
        + "probability ( ill ) { table 0.9, 0.1; }\n"
        + f"probability ( smokes | ill ) {{ ({states['ill'][0]}) 0.8, 0.2; ({states['ill'][1]}) 0.5, 0.5; }}\n"
    )
    return file


WAYS = (by_tables, by_intervals, by_middle, by_surroundings, by_class, by_pgmpy, by_file)
Way = Callable[[States, Level, Path], Any]


def parameters(network: Any, schema: bp.Schema = SCHEMA) -> bp.DistributionalAttributePrivacy:
    return bp.DistributionalAttributePrivacy(network, schema, "ill", source="fitted to public records")


@pytest.mark.parametrize("way", WAYS)
def test_values_as_states_without_a_level_are_refused(way: Way, tmp_path: Path) -> None:
    network = way(NO_YES, None, tmp_path)
    assert network.level == "parameters"
    with pytest.raises(FrameworkError, match=MEANING) as refusal:
        parameters(network)
    assert "ill" in refusal.value.found
    assert "smokes" in refusal.value.found
    assert 'level="parameters"' in refusal.value.remedy
    assert 'level="records"' in refusal.value.remedy


@pytest.mark.parametrize("way", WAYS)
def test_who_says_what_a_node_means_is_believed(way: Way, tmp_path: Path) -> None:
    assert parameters(way(NO_YES, "parameters", tmp_path)).protected == ("ill",)
    with pytest.raises(FrameworkError, match="level 'parameters'; found level 'records'"):
        parameters(way(NO_YES, "records", tmp_path))


@pytest.mark.parametrize("way", WAYS)
def test_states_of_other_names_need_no_level(way: Way, tmp_path: Path) -> None:
    assert parameters(way(FEW_MANY, None, tmp_path)).protected == ("ill",)


@pytest.mark.parametrize("way", WAYS)
def test_a_level_can_be_said_later(way: Way, tmp_path: Path) -> None:
    network = way(NO_YES, None, tmp_path)
    assert parameters(network.of_level("parameters")).protected == ("ill",)
    assert network.of_level("records").level == "records"
    assert network.of_level("parameters").identity() == network.identity()
    with pytest.raises(NetworkError, match="level"):
        network.of_level("columns")


def test_the_trap() -> None:
    # records taken for parameters: "exact", and off by far from what the count of the ill needs
    smokers = bp.count(bp.col("smokes") == "yes")
    with pytest.raises(FrameworkError, match=MEANING):
        parameters(by_tables(NO_YES, None, Path()))
    records = by_tables(NO_YES, "records", Path())
    hidden = bp.Secret(bp.count(bp.col("ill") == "yes"), pairs=bp.apart(at_most=100))
    framework = bp.DatasetAttributePrivacy(records, SCHEMA, {"ill": hidden}, source="fitted to public records")
    assert bp.plan(framework, smokers, 1.0).best.scale > 20


@pytest.mark.parametrize(
    ("states", "column", "refused"),
    [
        (["no", "yes"], YES_OR_NO, True),
        (["no", "yes", "unknown"], YES_OR_NO, True),
        (["few", "yes"], YES_OR_NO, False),  # one name may be the same
        ([0, 1], bp.Integer(0, 1), True),
        (["0", "1"], bp.Integer(0, 1), True),
        ([False, True], bp.Integer(0, 1), True),
        ([0.0, 1.0], bp.Integer(0, 1), True),
        (["1e0", " 2 "], bp.Integer(0, 5), True),
        ([np.int64(0), np.int64(1)], bp.Integer(0, 1), True),
        ([0.1, 0.3], bp.Integer(0, 1), False),  # rates
        ([7, 8], bp.Integer(0, 1), False),
        ([0.1, 0.3], bp.Real(0, 1), True),
        (["0.1", "0.3"], bp.Real(0, 1), True),
        (["0 to 0.3", "0.3 to 1"], bp.Real(0, 1), False),
        (["nan", "inf"], bp.Real(0, 1), False),
        ([10**400, 10**401], bp.Real(0, 1), False),
        ([1, 2], bp.Categorical([1, 2]), True),
        (["1", "2"], bp.Categorical([1, 2]), True),
        ([True, False], bp.Categorical([True, False]), True),
        (["True", "False"], bp.Categorical([True, False]), True),
        (["No", "YES "], YES_OR_NO, True),
        (["caf\u00e9", "bar"], bp.Categorical(["cafe\u0301", "bar"]), True),
        ([False, True], bp.Categorical(["false", "true"]), True),
        ([False, True], YES_OR_NO, True),
        ([0.0, 1.0], bp.Categorical(["0", "1"]), True),
        ([0, 1], bp.Categorical(["00", "1.0"]), True),
        (["no", "yes"], bp.Integer(0, 1), True),
        (["False", "True"], bp.Real(0, 1), True),
        (["nan", "inf"], bp.Categorical(["nan", "inf"]), True),
        (["few", "most"], bp.Integer(0, 1), False),
    ],
)
def test_which_states_are_values(states: list[Any], column: Column, refused: bool) -> None:
    share = [1 / len(states)] * len(states)
    network = bp.DiscreteNetwork.from_tables({"ill": share}, states={"ill": states})
    schema = bp.Schema(records=10, columns={"ill": column})
    if refused:
        with pytest.raises(FrameworkError, match=MEANING):
            parameters(network, schema)
    else:
        parameters(network, schema)


def test_a_node_without_a_column_may_have_any_states() -> None:
    network = by_tables(NO_YES, None, Path())
    schema = bp.Schema(records=10, columns={"height": bp.Real(120, 220)})
    assert parameters(network, schema).protected == ("ill",)


FILE = """
notion = "distributional"
source = "a test"
[network]
file = "ill.bif"
{level}
[records]
count = 100
[columns.ill]
type = "categorical"
categories = ["no", "yes"]
[protect.ill]
"""


def test_a_framework_file_states_the_level(tmp_path: Path) -> None:
    bif(NO_YES, tmp_path)
    file = tmp_path / "framework.toml"
    file.write_text(FILE.format(level=""))
    with pytest.raises(FrameworkError, match=MEANING):
        bp.read_framework(file)
    file.write_text(FILE.format(level='level = "parameters"'))
    assert bp.read_framework(file).protected == ("ill",)
    bif(FEW_MANY, tmp_path)
    file.write_text(FILE.format(level=""))
    assert bp.read_framework(file).protected == ("ill",)


@pytest.mark.parametrize("name", ["student", "clinic", "survey"])
def test_shipped_examples_say_what_a_node_means(name: str) -> None:
    network: Any = bp.example(name).network
    assert not network.reading.level_assumed


def test_refusals_name_the_notion_in_python_and_in_a_file() -> None:
    """Values of the column as states almost always mean records: that way out comes first."""
    for level in (None, "records"):
        with pytest.raises(FrameworkError) as refused:
            parameters(by_tables(NO_YES, level, Path()))
        text = str(refused.value)
        for part in (
            'notion = "dataset"',
            '"proportion(NAME == ...)" under [protect.NAME]',
            "[protect.NAME]",
            'level = "records"',
        ):
            assert part in text
        assert "DatasetAttributePrivacy(network, schema" in text
        if level is None:
            assert text.index('notion = "dataset"') < text.index('level = "parameters"')
    network, secret = by_tables(FEW_MANY, None, Path()), bp.Secret("proportion(ill == 'yes')")
    with pytest.raises(FrameworkError, match='notion = "distributional"'):
        bp.DatasetAttributePrivacy(network, SCHEMA, {"ill": secret}, source="a test")


def test_states_that_look_like_values_are_told_to_be_taken_for_kinds() -> None:
    """The exact answer comes out without noise: every text says that records are not what is meant."""
    doubtful = parameters(by_tables(NO_YES, "parameters", Path()))
    asked = bp.count(bp.col("smokes") == "yes")
    calibration = bp.MarkovQuiltMechanism().calibrate(doubtful, asked, epsilon=2.0)
    assert calibration.scale == 0
    told = "are taken for kinds of the whole column, not for the values of records"
    assert told in calibration.guarantee.sentence
    assert "not the values of its records" in calibration.guarantee.protected_text
    assert any(told in assumption for assumption in calibration.certificate.assumptions)
    report = bp.influence_report(doubtful, asked, 2.0)
    for each in (calibration, bp.plan(doubtful, asked, 2.0), report, bp.influence_report(doubtful, asked)):
        assert told in each.text
    # where laws say what a column is like given a state, or states are no values, nothing is in doubt
    laws = {name: {"no": {"no": 0.9, "yes": 0.1}, "yes": {"no": 0.2, "yes": 0.8}} for name in NO_YES}
    network = by_tables(NO_YES, "parameters", Path())
    declared = bp.DistributionalAttributePrivacy(network, SCHEMA, "ill", source="a test", laws=laws)
    for clear in (declared, parameters(by_tables(FEW_MANY, None, Path()))):
        assert told not in bp.influence_report(clear, asked, 2.0).text
