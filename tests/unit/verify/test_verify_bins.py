"""The checker on frameworks as `bnpriv init` writes them: bins, coarser categories, models in XMLBIF files."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.io.examples import example_path
from bnpriv.io.starter.files import files_to_start
from bnpriv.mechanisms import serialize as facts
from bnpriv.verify.columns import column_values
from bnpriv.verify.declared import xmlbif_nodes
from bnpriv.verify.forms import Form
from tests.later import Later

pd = Later("pandas")

DECLARED = """notion = "dataset"
source = "a test"
[network]
file = ["models/one.xml", "models/two.xml"]
level = "records"
[records]
count = 4
[columns."age (years)"]
type = "binned"
edges = [18, 30, 60, 90]
within = "whole numbers"
[columns."gain [euro]"]
type = "binned"
edges = [0, 1, 100000]
labels = ["none", "some"]
[columns."gain [euro]".within]
none = { 0 = 1.0 }
some = "whole numbers"
[columns.work]
type = "categorical"
categories = ["white", "blue", "other"]
missing = "other"
[columns.work.coarsen]
white = "Exec-managerial | Prof-specialty"
blue = ["Craft-repair"]
[columns.children]
type = "integer"
lower = 0
upper = 2
[columns.ill]
type = "categorical"
categories = ["no", "yes"]
[protect.ill]
property = 'count(ill == "yes")'
at_most = 2
"""

AGES, GAINS, WORK = ["[18, 30)", "[30, 60)", "[60, 90]"], ["none", "some"], ["white", "blue", "other"]
STATES = {"age (years)": AGES, "gain [euro]": GAINS, "work": WORK, "children": ["0", "1", "2"], "ill": ["no", "yes"]}


def model(seed: int) -> bp.DiscreteNetwork:
    rng = np.random.default_rng(seed)
    sizes = {name: len(states) for name, states in STATES.items()}
    tables = {name: rng.dirichlet(np.ones(size), 2).T for name, size in sizes.items()}
    tables["ill"] = rng.dirichlet(np.ones(2))
    others = {name: ["ill"] for name in STATES if name != "ill"}
    return bp.DiscreteNetwork.from_tables(tables, states=STATES, parents=others, level="records")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "models").mkdir()
    for k, name in enumerate(("one", "two")):
        model(k).to_file(tmp_path / "models" / f"{name}.xml")
    (tmp_path / "framework.toml").write_text(DECLARED, encoding="utf-8")
    return tmp_path


def calibrated(folder: Path, query: str) -> str:
    framework = bp.read_framework(folder / "framework.toml")
    return bp.TightMechanism().calibrate(framework, query, epsilon=1.0).to_json()


QUERIES = [
    "count(`age (years)` >= 45)",
    "mean(`age (years)`)",
    "count(`gain [euro]` > 500 & `age (years)` < 30)",
    "count(work == 'white')",
    "count(work == 'other' & children >= 1)",
    "total(children)",
]


@pytest.mark.parametrize("query", QUERIES)
def test_what_init_writes_is_replayed_from_its_files(query: str, folder: Path) -> None:
    verdict = bp.verify(calibrated(folder, query), folder / "framework.toml")
    assert verdict.status == "holds", str(verdict)
    assert verdict.text.startswith("epsilon in [0.999")
    assert len(verdict.trusted) == 1


TAMPERED = {
    "bin edges": ("edges = [18, 30, 60, 90]", "edges = [18, 35, 60, 90]", "column 'age (years)'"),
    "an outer edge": ("edges = [18, 30, 60, 90]", "edges = [18, 30, 60, 91]", "column 'age (years)'"),
    "labels of bins": ('labels = ["none", "some"]', 'labels = ["some", "none"]', "column 'gain [euro]'"),
    "numbers within": ("none = { 0 = 1.0 }", 'none = { 0 = 0.5, "0.5" = 0.5 }', "column 'gain [euro]'"),
    "a spread within": ('within = "whole numbers"', 'within = "uniform"', "column 'age (years)'"),
    "the rule of coarsen": ('blue = ["Craft-repair"]', 'blue = ["Sales"]', "column 'work'"),
    "a label moved": ('white = "Exec-managerial | Prof-specialty"\nblue = [', 'blue = ["Exec-managerial", ', "'work'"),
    "no coarsen": ('blue = ["Craft-repair"]\n', "", "column 'work'"),
    "what is missing": ('missing = "other"', 'missing = "blue"', "column 'work'"),
    "bounds of numbers": ("upper = 2", "upper = 3", "column 'children'"),
    "at_most": ("at_most = 2", "at_most = 3", "secrets"),
    "the notion": ('notion = "dataset"', 'notion = "value"', "notion or number of records"),
    "records": ("count = 4", "count = 5", "notion or number of records"),
    "a model left out": ('["models/one.xml", "models/two.xml"]', '"models/one.xml"', "number of models"),
    "models in another order": (
        '"models/one.xml", "models/two.xml"',
        '"models/two.xml", "models/one.xml"',
        "in model 0",
    ),
}
SEEN = "count(`gain [euro]` > 500 & `age (years)` < 50 & work == 'white' & children == 1)"


@pytest.mark.parametrize("what", TAMPERED)
def test_a_framework_file_that_was_changed_is_told(what: str, folder: Path) -> None:
    before, after, told = TAMPERED[what]
    text = calibrated(folder, SEEN)
    assert before in DECLARED
    (folder / "framework.toml").write_text(DECLARED.replace(before, after), encoding="utf-8")
    verdict = bp.verify(text, folder / "framework.toml")
    assert verdict.status == "fails", str(verdict)
    assert verdict.text.endswith(told)


def test_the_grid_of_a_file_is_replayed_and_compared(folder: Path) -> None:
    path = folder / "framework.toml"
    text = DECLARED.replace('90]\nwithin = "whole numbers"', "90]\nsteps = 144")
    path.write_text(text, encoding="utf-8")
    calibration = calibrated(folder, "mean(`age (years)`)")
    verdict = bp.verify(calibration, path)
    assert verdict.status == "holds", str(verdict)
    path.write_text(text.replace("steps = 144", "steps = 72"), encoding="utf-8")
    verdict = bp.verify(calibration, path)
    assert verdict.status == "fails", str(verdict)
    assert verdict.text.endswith("column 'age (years)'")


def test_the_law_inside_bins_is_compared_where_edges_are_the_same(folder: Path) -> None:
    """Other probabilities of the same whole numbers leave the column as it is, and change its law."""
    inside = DECLARED.replace(
        'within = "whole numbers"\n',
        '[columns."age (years)".within]\n"[18, 30)" = {18 = 0.5, 29 = 0.5}\n'
        '"[30, 60)" = "whole numbers"\n"[60, 90]" = "whole numbers"\n',
        1,
    )
    (folder / "framework.toml").write_text(inside, encoding="utf-8")
    text = calibrated(folder, "count(`age (years)` < 20)")
    assert bp.verify(text, folder / "framework.toml").status == "holds"
    (folder / "framework.toml").write_text(inside.replace("29 = 0.5}", "28 = 0.5}"), encoding="utf-8")
    verdict = bp.verify(text, folder / "framework.toml")
    assert (verdict.status, verdict.text.split("its ")[-1]) == ("fails", "distributions of 'age (years)'")


@pytest.mark.parametrize("state", ["ill", "age (years)", "gain [euro]"])
def test_a_number_in_an_xmlbif_file_that_was_changed_is_told(state: str, folder: Path) -> None:
    text = calibrated(folder, SEEN)
    changed = model(1).tables[state].values[0]
    tables = {name: np.exp(model(1).tables[name].values[0]) for name in STATES}
    tables[state] = np.roll(np.exp(changed), 1, axis=0)
    others = {name: ["ill"] for name in STATES if name != "ill"}
    other = bp.DiscreteNetwork.from_tables(tables, states=STATES, parents=others, level="records")
    other.to_file(folder / "models" / "two.xml", overwrite=True)
    verdict = bp.verify(text, folder / "framework.toml")
    assert (verdict.status, verdict.text.split("its ")[-1]) == ("fails", f"tables of {state!r} in model 1")


def test_models_whose_states_stand_in_another_order_are_not_read_as_one(folder: Path) -> None:
    text, path = calibrated(folder, SEEN), folder / "models" / "two.xml"
    found = path.read_text(encoding="utf-8")
    no, yes = "<OUTCOME>no</OUTCOME>", "<OUTCOME>yes</OUTCOME>"
    assert found.count(no) == found.count(yes) == 1
    path.write_text(found.replace(no, "<first>").replace(yes, no).replace("<first>", yes), encoding="utf-8")
    verdict = bp.verify(text, folder / "framework.toml")
    assert (verdict.status, verdict.text) == ("not covered", "states in two orders")


def test_a_protected_column_that_the_file_does_not_name_is_told(folder: Path) -> None:
    record = json.loads(calibrated(folder, SEEN))
    record["model"]["protect"]["work"] = {"property": 'count(work == "white")', "at_most": 2}
    verdict = bp.verify(json.dumps(record), folder / "framework.toml")
    assert (verdict.status, verdict.text.split("its ")[-1]) == ("fails", "protected columns")


@pytest.mark.parametrize("query", QUERIES)
def test_a_scale_that_was_lowered_fails_beside_its_file(query: str, folder: Path) -> None:
    record = json.loads(calibrated(folder, query))
    scale = 0.9 * record["noise"]["scale"]
    record["noise"].update(scale=scale, exact_scale=scale.hex())
    assert bp.verify(json.dumps(record), folder / "framework.toml").status == "fails"


def places(value: object) -> Iterator[tuple[dict, str]]:
    """Yield every table of facts about columns in which a key may be taken away."""
    assert isinstance(value, dict)
    for column in value["model"]["columns"].values():
        yield from ((column, key) for key in ("edges", "labels", "coarsen", "missing") if key in column)


def test_what_a_calibration_leaves_out_of_a_column_is_told(folder: Path) -> None:
    text = calibrated(folder, SEEN)
    assert len(list(places(json.loads(text)))) == 6
    for k in range(6):
        record = json.loads(text)
        column, key = list(places(record))[k]
        del column[key]
        assert bp.verify(json.dumps(record), folder / "framework.toml").status == "fails", key


def test_the_shipped_bins_are_replayed_from_their_file() -> None:
    framework = bp.example("census")
    calibration = bp.TightMechanism().calibrate(framework, bp.count(bp.col("age") >= 45), epsilon=1.0)
    for verdict in (bp.verify(calibration), bp.verify(calibration, example_path("census"))):
        assert verdict.status == "holds", str(verdict)


def test_bins_as_states_of_value_privacy_are_replayed_by_quilts(folder: Path) -> None:
    """A bound by influences holds whatever lies inside the bins."""
    value = DECLARED.replace('"dataset"', '"value"').split("property")[0]
    (folder / "framework.toml").write_text(value, encoding="utf-8")
    framework = bp.read_framework(folder / "framework.toml")
    calibration = bp.MarkovQuiltMechanism().calibrate(framework, "count(`age (years)` >= 45)", epsilon=1.0)
    verdict = bp.verify(calibration, folder / "framework.toml")
    assert verdict.status == "holds", str(verdict)
    assert "quilt" in verdict.text


BY_BINS = """notion = "distributional"
source = "a test"
[network]
file = "n.bif"
level = "parameters"
[records]
count = 3
[columns.age]
type = "binned"
edges = [0, 2, 4]
labels = ["young", "old"]
within = "whole numbers"
[protect.age]
[laws.age.here]
values = { young = 0.5, old = 0.5 }
[laws.age.there]
values = { young = 0.25, old = 0.75 }
"""


def test_laws_of_a_column_by_bins_are_replayed_and_compared(tmp_path: Path) -> None:
    path = tmp_path / "framework.toml"
    path.write_text(BY_BINS, encoding="utf-8")
    (tmp_path / "n.bif").write_text(
        "network n { } variable age { type discrete [ 2 ] { here, there }; } probability ( age ) { table 0.5, 0.5; }",
        encoding="utf-8",
    )
    calibration = bp.TightMechanism().calibrate(bp.read_framework(path), "count(age >= 3)", epsilon=0.5)
    assert bp.verify(calibration).status == "holds"
    assert bp.verify(calibration, path).status == "holds"
    for other in ("young = 0.2, old = 0.8", "young = 0.2501, old = 0.7499"):
        path.write_text(BY_BINS.replace("young = 0.25, old = 0.75", other), encoding="utf-8")
        assert bp.verify(calibration, path).text.endswith("distributions of 'age'")


def test_what_a_query_does_not_tell_apart_is_one_value() -> None:
    """4,000 whole numbers of a bin are two values to a comparison, with the exact share of either."""
    column = {"type": "integer", "lower": 0, "upper": 3999, "steps": 3999}
    query = {"terms": [["indicator", [">=", "x", 1000]]], "matrix": [[[0, "1"]]], "offset": ["0"]}
    law = {"values": list(range(4000)), "masses": [(1 / 4000).hex()] * 4000}
    assert [float(mass) for _, mass in column_values(Form(query, {"x": column}), "x", law)] == pytest.approx(
        [0.25, 0.75]
    )


@pytest.mark.parametrize(
    "change", [("</NETWORK>", ""), ("<TABLE>", "<TABLE>0.5 "), ("<?xml", "<!DOCTYPE BIF [ <!ENTITY a 'b'> ]><?xml")]
)
def test_a_broken_xmlbif_file_is_not_covered(change: tuple[str, str], folder: Path) -> None:
    text, path = calibrated(folder, SEEN), folder / "models" / "two.xml"
    found = path.read_text(encoding="utf-8")
    assert change[0] in found
    path.write_text(found.replace(*change), encoding="utf-8")
    assert bp.verify(text, folder / "framework.toml").status == "not covered"


def test_a_table_of_an_xmlbif_file_has_its_own_state_as_the_slowest_index() -> None:
    """In the file the own state is the fastest, and the last parent comes before it."""
    nodes = xmlbif_nodes(
        "<BIF><NETWORK><NAME>n</NAME><VARIABLE><NAME>a</NAME><OUTCOME>0</OUTCOME><OUTCOME>1</OUTCOME></VARIABLE>"
        "<VARIABLE><NAME> b (x) </NAME><OUTCOME>p</OUTCOME><OUTCOME>q</OUTCOME><OUTCOME>r</OUTCOME></VARIABLE>"
        "<DEFINITION><FOR>b (x)</FOR><GIVEN>a</GIVEN><TABLE>0.5 0.25 0.25 0.125 0.75 0.125</TABLE></DEFINITION>"
        "<DEFINITION><FOR>a</FOR><TABLE>0.5 0.5</TABLE></DEFINITION></NETWORK></BIF>"
    )
    assert [float(p) for p in nodes["b (x)"]["logs"][0]] == [0.5, 0.125, 0.25, 0.75, 0.25, 0.125]
    assert nodes["b (x)"]["parents"] == ["a"]


@pytest.mark.slow
def test_the_road_from_a_public_table_to_a_release_that_is_verified(tmp_path: Path) -> None:
    """What `bnpriv init` writes: learned models in files, bins of numbers, names with blanks and brackets."""
    rng = np.random.default_rng(4)
    old = rng.random(600) < 0.4
    table = pd.DataFrame(
        {
            "age (years)": np.where(old, rng.integers(60, 91, 600), rng.integers(18, 60, 600)),
            "job [kind]": rng.choice(["white collar", "blue", "none"], 600),
            "ill": np.where(rng.random(600) < np.where(old, 0.6, 0.1), "yes", "no"),
        }
    )
    table.head(40).to_csv(tmp_path / "own.csv", index=False)
    table.to_csv(tmp_path / "public.csv", index=False)
    path = tmp_path / "own.toml"
    text, files = files_to_start(
        str(tmp_path / "own.csv"), path, notion="dataset", learn=tmp_path / "public.csv", protect=["ill"], records=40
    )
    assert len(files) == 21
    for place, content in {path: text, **files}.items():
        place.write_text(content, encoding="utf-8")
    for query in ("count(`age (years)` >= 50)", "count(`job [kind]` == 'white collar')"):
        calibration = bp.TightMechanism().calibrate(bp.read_framework(path), query, epsilon=1.0)
        verdict = bp.verify(bp.release(calibration, tmp_path / "own.csv").to_json(), path)
        assert verdict.status == "holds", str(verdict)
        assert len(verdict.trusted) == 2  # words, and that what is released has the noise


def test_a_model_that_a_calibration_has_no_room_for_is_read_from_its_files(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(facts, "MOST_STORED_NUMBERS", 60)
    text = calibrated(folder, "count(`age (years)` >= 45)")
    assert bp.verify(text).status == "too large"
    verdict = bp.verify(text, folder / "framework.toml")
    assert verdict.status == "holds", str(verdict)
    record = json.loads(text)
    record["noise"].update(scale=0.5, exact_scale=(0.5).hex())
    assert bp.verify(json.dumps(record), folder / "framework.toml").status == "fails"
    record = json.loads(text)
    record["model"]["protect"]["ill"]["at_most"] = 1
    assert bp.verify(json.dumps(record), folder / "framework.toml").text.endswith("in its secrets")


@pytest.mark.parametrize("query", [QUERIES[1], QUERIES[2], SEEN])
def test_bins_that_list_some_numbers_and_spread_the_others_are_replayed(query: str, folder: Path) -> None:
    mixed = DECLARED.replace('some = "whole numbers"', 'some = { 500 = 0.25, 600 = 0.25, "whole numbers" = 0.5 }')
    mixed = mixed.replace(
        'within = "whole numbers"',
        'steps = 72\nwithin = { "[18, 30)" = { 18 = 0.7, uniform = 0.3 }, "[30, 60)" = "uniform", '
        '"[60, 90]" = { "60.5" = 0.25, uniform = 0.75 } }',
        1,
    )
    (folder / "framework.toml").write_text(mixed, encoding="utf-8")
    text = calibrated(folder, query)
    assert bp.verify(text, folder / "framework.toml").status == "holds"
    (folder / "framework.toml").write_text(mixed.replace("500 = 0.25, 600", "500 = 0.3, 601"), encoding="utf-8")
    changed = "age" if query == QUERIES[1] else "gain"
    assert bp.verify(text, folder / "framework.toml").status == ("holds" if changed == "age" else "fails")
