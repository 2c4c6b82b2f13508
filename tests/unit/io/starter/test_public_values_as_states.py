"""What a public table makes of numbers and labels: states with a law, and a place for every private value."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.core.columns import NOT_COUNTED, Binned
from bnpriv.core.frameworks.attributes import DatasetAttributePrivacy
from bnpriv.core.networks.discrete import DiscreteNetwork, require_discrete
from bnpriv.core.queries.predicates import Predicate
from bnpriv.io.framework_file import read_framework
from bnpriv.io.networks.texts import network_text
from bnpriv.io.starter.codebook import _frequencies, node_states, numbers_as_states, states_of
from bnpriv.io.starter.files import files_to_start
from bnpriv.io.starter.learn import written_tables
from bnpriv.io.starter.public import public_values
from bnpriv.io.starter.start import start, usual_property
from bnpriv.io.starter.started import started
from bnpriv.tables.evaluate import evaluate
from tests.later import Later

pd = Later("pandas")

PUBLIC = "vote,visits,sex\n" + "".join(
    f"{float(k % 3 == 0)},{(0, 0, 1, 2)[k % 4]}.0,{'fm'[k % 2]}\n" for k in range(240)
)
PRIVATE = "vote,visits,sex\n" + "1.0,9,x\n0.0,0.4,f\n-3,1,x\n0.6,,\n" * 5


def numbers(counts: dict[int, int]) -> list[float]:
    return [float(number) for number, times in counts.items() for _ in range(times)]


def counted_in(data: object, schema: bp.Schema, condition: Predicate) -> float:
    return float(evaluate(bp.count(condition), schema, data).values[0])


@pytest.fixture
def tables(tmp_path: Path) -> tuple[Path, Path]:
    private, public = tmp_path / "ours.csv", tmp_path / "public.csv"
    private.write_text(PRIVATE, encoding="utf-8")
    public.write_text(PUBLIC, encoding="utf-8")
    return private, public


def test_sums_of_fractions_have_a_grid_for_which_noise_is_worked_out(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    ill = rng.random(600) < 0.3
    table = pd.DataFrame({"weight": (rng.normal(70, 9, 600) + 4 * ill).round(2), "ill": np.where(ill, "yes", "no")})
    table.head(300).to_csv(tmp_path / "ours.csv", index=False)
    table.tail(300).to_csv(tmp_path / "public.csv", index=False)
    path = tmp_path / "f.toml"
    public = tmp_path / "public.csv"
    text, _ = files_to_start(str(tmp_path / "ours.csv"), path, notion="dataset", learn=public, protect=["ill"])
    framework = start(tmp_path / "ours.csv", records=300, protect="ill", learn=public, draws=2)
    weight = framework.schema["weight"]
    assert isinstance(weight, Binned)
    assert 200 <= weight.steps <= 1000
    assert f"steps = {weight.steps:<24}# sums and means round it to steps of {float(weight.grid):.6g}\n" in text
    assert bp.plan(framework, bp.mean("weight"), 1.0).best.scale < (weight.upper - weight.lower) / 50


def test_few_whole_numbers_are_states_and_stay_numbers(tables: tuple[Path, Path], tmp_path: Path) -> None:
    private, public = tables
    framework = start(private, records=20, protect="vote", learn=public, draws=2)
    assert isinstance(framework, DatasetAttributePrivacy)
    assert framework.schema["vote"] == bp.Integer(0, 1)
    assert framework.schema["visits"] == bp.Integer(0, 2)
    assert dict(require_discrete(framework.network, "a test").states)["visits"] == ("0", "1", "2")
    assert framework.protected_secrets[0].secret == "the number of records with vote >= 1 in this table"
    plan = bp.plan(framework, bp.mean("visits"), 1.0)
    assert bp.release(plan.best, private).value is not None
    place = tmp_path / "framework.toml"
    text, files = files_to_start(str(private), place, notion="dataset", learn=public, records=20, protect=["vote"])
    for path, content in {**files, place: text}.items():
        path.write_text(content, encoding="utf-8")
    assert read_framework(place).schema == framework.schema


def test_every_private_value_has_a_place(tables: tuple[Path, Path]) -> None:
    private, public = tables
    schema = start(private, records=20, protect="vote", learn=public, draws=2).schema
    found = {
        query: counted_in(private, schema, condition)
        for query, condition in {
            "one": bp.col("vote") == 1,
            "two visits": bp.col("visits") == 2,
            "no visit": bp.col("visits") == 0,
            "f": bp.col("sex") == "f",
            "other": bp.col("sex") == "other",
        }.items()
    }
    # 0.6 is 1 and -3 is 0; 9 visits are 2, 0.4 are none, and a gap is the middle
    assert found == {"one": 10, "two visits": 5, "no visit": 5, "f": 5, "other": 15}


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ({0: 997, 1: 3}, ["0", "1"]),
        ({1: 40, 2: 40, 4: 40}, ["[1, 2)", "[2, 3)", "[3, 4]"]),
        ({0: 3, 1: 500, 2: 500}, ["[0, 2)", "[2, 3]"]),
        ({0: 500, 1: 500, 2: 3, 3: 2}, ["[0, 1)", "[1, 3]"]),
        ({0: 900, 3: 4, 5: 1}, ["[0, 1)", "[1, 5]"]),
        ({1: 1, 3: 4, 5: 900}, ["[1, 5)", "[5, 6]"]),
        ({0: 900, 500: 50, 4000: 50}, ["[0, 1)", "[1, 4000]"]),
        ({0: 40, 11: 40}, ["[0, 1)", "[1, 11]"]),
        (dict.fromkeys(range(12), 40), [str(k) for k in range(12)]),
        (dict.fromkeys(range(13), 40), ["[0, 2)", "[2, 5)", "[5, 7)", "[7, 10)", "[10, 12]"]),
    ],
)
def test_whole_numbers_in_bins(counts: dict[int, int], expected: list[str]) -> None:
    known = numbers(counts)
    column = numbers_as_states(known, min(counts), max(counts), whole=True)
    assert list(node_states(column)) == expected
    assert set(states_of(column, known)) == set(expected)


ODD_VALUES: list[list[str]] = [
    ["nan", "inf", "-inf", "1", "2", "3"],
    ["1e400", "5", "6", "7"],
    ["\u0661", "\u0662", "3"],
    ["\u00a0x", "x", "y"],
    [" 1", "2 ", "\t3"],
    ["1_000", "2", "3"],
    ["-0.0", "0", "0.0", "1"],
    ["1", "01", "1.0", "x"],
    ["True", "1", "0", "False"],
    ["x\t", "\tx", " y"],
    ["a.", "a", "b.", "b"],
    ["other", "missing", "x", ""],
    ["a\nb", "a", 'b"'],
    ["a", "\u0430", "e\u0301", "\u00e9"],
]


@pytest.mark.parametrize("values", ODD_VALUES)
@pytest.mark.parametrize("as_file", [True, False])
def test_a_public_record_is_in_the_state_that_a_query_reads(values: list[str], as_file: bool, tmp_path: Path) -> None:
    """What the network is learned from, and what a release would count of the same table, are one."""
    public = pd.DataFrame({"x": values * 60, "y": (["a", "b", "b"] * 20 * len(values))})
    public.to_csv(tmp_path / "public.csv", index=False)
    table = tmp_path / "public.csv" if as_file else public
    known = started(public.head(5).assign(y="a"), learn=table, draws=1)
    column = known.columns["x"].column
    assert column is not None
    states = states_of(column, public_values(table, ["x", "y"])["x"])
    schema = bp.Schema(records=len(public), columns={"x": column})
    held = [state for state in node_states(column) if state != NOT_COUNTED]
    everything = bp.col("x").isin(held) if isinstance(column, bp.Categorical) else bp.col("x") >= column.lower
    assert counted_in(table, schema, everything) == len(states) - states.count(NOT_COUNTED)
    for state in held:
        if isinstance(column, Binned):
            low, high = column.ends(state)
            upper = bp.col("x") <= high if state == column.labels[-1] else bp.col("x") < high
            condition = (bp.col("x") >= low) & upper
        else:
            condition = bp.col("x") == (state if isinstance(column, bp.Categorical) else int(state))
        assert counted_in(table, schema, condition) == states.count(state), state


@pytest.mark.parametrize("numbers_in", [["01", "02", "02"], [1, 2, 2]])
def test_labels_of_a_codebook_that_are_numbers(numbers_in: list[str | int], tmp_path: Path) -> None:
    """A codebook's 01 is the label of a public 01, and of a public 1, as it is where a release reads them."""
    book = tmp_path / "book.csv"
    book.write_text("column,type,lower,upper,categories\nx,categorical,,,01|02\n", encoding="utf-8")
    public = pd.DataFrame({"x": numbers_in * 40, "y": ["a", "b", "b"] * 40})
    public.to_csv(tmp_path / "public.csv", index=False)
    for table in (public, tmp_path / "public.csv") if isinstance(numbers_in[0], str) else (public,):
        framework = start(public.head(3), records=120, protect="y", learn=table, codebook=book, draws=2)
        assert framework.schema["x"] == bp.Categorical(["01", "02"])
        assert counted_in(table, framework.schema, bp.col("x") == "02") == 80
        network = require_discrete(framework.network, "a test")
        assert network.probabilities("x")[:, 1] == pytest.approx(2 / 3, abs=0.2)


def test_fractions_in_a_column_of_whole_numbers_count_as_what_they_are_read_as(tmp_path: Path) -> None:
    """The codebook says whole numbers: 2.7 is read as 3, and 3 is what the law inside its bin counts."""
    book = tmp_path / "book.csv"
    book.write_text("column,type,lower,upper\nx,integer,0,40\n", encoding="utf-8")
    public = pd.DataFrame({"x": [2.7] * 100 + [12.5] * 100 + [30.2] * 100, "y": ["a", "b", "b"] * 100})
    framework = start(public.head(9), records=9, protect="y", learn=public, codebook=book, draws=2)
    column = framework.schema["x"]
    assert isinstance(column, Binned)
    inside = [law for label in column.labels if not isinstance(law := column.inside(label), str)]
    assert [number for law in inside for number, mass in law.items() if mass > 0.5] == [3, 13, 30]


def test_numbers_of_a_bin_are_as_frequent_as_in_public_and_none_is_impossible() -> None:
    known = numbers(dict.fromkeys(range(100), 1) | {40: 47, 60: 2})
    column = numbers_as_states(known, 0, 99, whole=True)
    assert isinstance(column, Binned)
    for label in column.labels:
        law = column.inside(label)
        low, high = column.ends(label)
        assert not isinstance(law, str)
        assert set(law) == set(range(int(low), int(high) + (high == column.upper)))
        assert min(law.values()) > 0
        held = [number for number in known if column.bin_of(number) == label]
        for number, mass in law.items():
            assert mass == pytest.approx((held.count(number) + 0.5) / (len(held) + 0.5 * len(law)), abs=5e-5)
    assert _frequencies(range(3), {0: 10**8}) == {0: 0.999998, 1: 1e-6, 2: 1e-6}
    wide = numbers_as_states(numbers({0: 900, 500: 50, 4000: 50}), 0, 4000, whole=True)
    assert isinstance(wide, Binned)
    assert wide.inside("[1, 4000]") == {500: 0.497513, 4000: 0.497512, "whole numbers": 0.004975}


@pytest.mark.parametrize(("labels", "other"), [(["a", "b"], "other"), (["Other", "b"], "any other label")])
def test_labels_of_a_public_table_leave_room_for_others(labels: list[str], other: str) -> None:
    public = pd.DataFrame({"kind": labels * 60, "ill": ["yes", "no", "no"] * 40})
    ours = pd.DataFrame({"kind": ["never seen", labels[0], None], "ill": ["no", "?", "yes"]})
    known = start(ours, records=3, protect="ill", learn=public, draws=3)
    assert known.schema["kind"] == bp.Categorical([*sorted(labels), other], missing=other)
    assert counted_in(ours, known.schema, bp.col("kind") == other) == 2
    network = require_discrete(known.network, "a test")
    assert np.all(network.probabilities("kind") > 0)
    assert np.all(network.probabilities("kind")[:, -1, :2] < 0.1)  # given what public records have of "ill"


def test_a_network_that_is_given_closes_the_labels(tmp_path: Path) -> None:
    public = pd.DataFrame({"ill": ["yes", "no"] * 40})
    ours = pd.DataFrame({"ill": ["no", "?"]})
    closed = DiscreteNetwork.from_tables({"ill": [0.5, 0.5]}, states={"ill": ["no", "yes"]}, level="records")
    known = start(ours, records=2, protect="ill", network=closed, public=public, source="x")
    assert known.schema["ill"] == bp.Categorical(["no", "yes"])
    opened = DiscreteNetwork.from_tables(
        {"ill": [0.5, 0.4, 0.1]}, states={"ill": ["no", "yes", "other"]}, level="records"
    )
    known = start(ours, records=2, protect="ill", network=opened, public=public, source="x")
    assert known.schema["ill"] == bp.Categorical(["no", "yes", "other"], missing="other")
    public.to_parquet(tmp_path / "public.parquet")
    ours.to_parquet(tmp_path / "ours.parquet")
    (tmp_path / "closed.xml").write_text(network_text(written_tables(closed, 0), ".xml"), encoding="utf-8")
    for network, said in ((tmp_path / "closed.xml", 'missing = "no"'), (None, 'missing = "other"')):
        text, _ = files_to_start(
            str(tmp_path / "ours.parquet"),
            tmp_path / "f.toml",
            notion="dataset",
            network=network,
            public=tmp_path / "public.parquet",
        )
        assert said in text


def test_a_closed_list_of_a_codebook_stays_closed(tmp_path: Path) -> None:
    public = pd.DataFrame({"sex": ["f", "m"] * 60, "ill": ["yes", "no", "no"] * 40})
    (tmp_path / "book.csv").write_text("column,type,lower,upper,categories\nsex,categorical,,,f|m\n", encoding="utf-8")
    ours = pd.DataFrame({"sex": ["x"], "ill": ["no"]})
    with_gap = bp.Categorical(["f", "m"], missing="not counted")
    for table, expected in (
        (public, bp.Categorical(["f", "m"])),
        (public.replace("m", "?"), bp.Categorical(["f", "other"], missing="other")),
        # a gap of the public table has a state of its own, though all that the codebook lists is there
        (pd.concat([public, pd.DataFrame({"sex": [None], "ill": ["no"]})]), with_gap),
    ):
        known = start(ours, records=1, protect="ill", learn=table, codebook=tmp_path / "book.csv", draws=2)
        assert known.schema["sex"] == expected


@pytest.mark.parametrize(
    ("column", "shown"),
    [
        (bp.Real(4.4, 7.7), "count(a >= 6.05)"),
        (bp.Integer(0, 1), "count(a >= 1)"),
        (bp.Integer(1, 5), "count(a >= 3)"),
        (Binned([0, 1, 5], within="whole numbers"), "count(a >= 1)"),
        (bp.Categorical(["a", "b", "other"], missing="other"), 'count(a == "b")'),
    ],
)
def test_the_usual_property_is_easy_to_read(column: bp.Real | bp.Integer | Binned | bp.Categorical, shown: str) -> None:
    assert str(usual_property("a", column)) == shown


def test_what_no_double_holds_is_not_written_as_impossible() -> None:
    network = DiscreteNetwork.from_tables({"a": [1.0, 0.0]}, states={"a": ["x", "y"]}, level="records")
    assert " 0.0\n" not in network_text(written_tables(network, 0), ".xml")
