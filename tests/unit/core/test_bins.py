"""Columns whose network node has bins as states, and categories that several raw labels count as."""

from __future__ import annotations

import math
import pickle
from itertools import pairwise
from pathlib import Path

import pytest

from bnpriv.core.column_laws import column_law
from bnpriv.core.columns import Binned, Categorical, Integer, Real
from bnpriv.core.queries.asked import count, histogram, mean, stack
from bnpriv.core.queries.predicates import col
from bnpriv.core.queries.sensitivity import column_sensitivity
from bnpriv.core.schema import Schema
from bnpriv.errors import BnprivError, FileError, QueryError, SchemaError
from bnpriv.io.framework_file import read_framework
from bnpriv.tables.evaluate import evaluate, missing_rule
from bnpriv.tables.readings import categories
from tests.later import Later

pd = Later("pandas")

EDGES = [17, 25, 45, 90]


def test_a_bin_holds_its_lower_edge_and_the_last_one_both():
    bins = Binned(EDGES)
    assert bins.labels == ("[17, 25)", "[25, 45)", "[45, 90]")
    below = math.nextafter(25, 0)
    assert [bins.bin_of(x) for x in (-9, 17, below, 25, 45, 90, 1e9)] == [bins.labels[k] for k in (0, 0, 0, 1, 2, 2, 2)]
    # what is rounded to 25 is 25
    assert Binned(EDGES, within="whole numbers").bin_of(24.5) == "[25, 45)"


@pytest.mark.parametrize(
    "edges",
    [
        [0.1, 0.2, 0.30000000000000004, 0.4],
        [-3.5, -1.25, 0.0, 7.75],
        [-(2.0**90), 0, 2.0**90],
        [-0.0, 5e-10, 1.0],
        [1e-9, 2e-9, 3e-9],
    ],
)
def test_hostile_edges_hold_what_lies_between_them(edges):
    bins = Binned(edges)
    for k, (low, high) in enumerate(pairwise(edges)):
        inside = [low, math.nextafter(low, math.inf), (low + high) / 2, math.nextafter(high, -math.inf)]
        assert {bins.bin_of(x) for x in inside} == {bins.labels[k]}
    assert len(set(bins.labels)) == len(edges) - 1
    assert math.copysign(1, bins.edges[edges.index(0)] if 0 in edges else 1) == 1
    assert bins == pickle.loads(pickle.dumps(bins))
    assert hash(bins) == hash(Binned(edges))


def test_bins_are_numbers_for_a_query():
    ages = [17, 24, 25, 44.4, 44.5, 90, 200, None, math.nan, -3]
    table = pd.DataFrame({"age": ages})
    query = stack(count(col("age") >= 25), count(col("age") < 45), mean("age"), histogram("age", [17, 25, 45, 90]))
    for within, same in (("uniform", Real(17, 90)), ("whole numbers", Integer(17, 90))):
        found = evaluate(query, Schema(records=10, columns={"age": Binned(EDGES, within=within)}), table)
        assert found == evaluate(query, Schema(records=10, columns={"age": same}), table)


def test_which_numbers_are_whole():
    assert Binned(EDGES, within="whole numbers").whole
    assert Binned([0, 1, 9], within={"[0, 1)": {0: 1}, "[1, 9]": "whole numbers"}).whole
    assert Binned([0, 1, 9], within={"[0, 1)": {0: 1}, "[1, 9]": {1: 0.5, 9: 0.5}}).whole
    assert not Binned([0, 1, 9], within={"[0, 1)": {0: 1}, "[1, 9]": "uniform"}).whole
    assert not Binned([0, 1, 9], within={"[0, 1)": {0: 1}, "[1, 9]": {1.5: 1}}).whole
    assert not Binned(EDGES).whole


@pytest.mark.parametrize(
    ("made", "required"),
    [
        (lambda: Binned([17]), "a list of two or more edges; found 1 edges"),
        (lambda: Binned(17), "a list of two or more edges; found an int"),
        (lambda: Binned([17, 17, 20]), "edges must increase; found 17.0 before 17.0"),
        (lambda: Binned([17, 10]), "edges must increase; found 17.0 before 10.0"),
        (lambda: Binned([0, math.nan]), "must be finite"),
        (lambda: Binned([0, math.inf]), "must be finite"),
        (lambda: Binned([0, 2.0**101]), "at most 2\\^100"),
        (lambda: Binned(EDGES, labels=["a", "b"]), "3 bins need as many different texts as labels; found 2 labels"),
        (lambda: Binned(EDGES, labels=["a", "b", "b"]), "3 labels, 2 different"),
        (lambda: Binned(EDGES, labels=[1, 2, 3]), "of type int"),
        (lambda: Binned(EDGES, labels=["a", "b", " "]), "a label must be a non-empty string"),
        (lambda: Binned(EDGES, within="normal"), "within must be one of uniform, whole numbers"),
        (lambda: Binned(EDGES, within=3), "within must say how numbers lie in a bin"),
        (lambda: Binned([0, 1], within={"[0, 2]": "uniform"}), "one for '\\[0, 2\\]'"),
        (lambda: Binned([0, 1, 2], within={"[0, 1)": "uniform"}), "none for '\\[1, 2\\]'"),
        (lambda: Binned([0, 1, 2], within={"[0, 1)": {1: 1}, "[1, 2]": {1: 1}}), "must lie in that bin"),
        (lambda: Binned([0, 1, 2], within={"[0, 1)": {0: 1}, "[1, 2]": {3: 1}}), "must lie in that bin"),
        (lambda: Binned([0, 1], within={"[0, 1]": {0: 0.5}}), "sum to one"),
        (lambda: Binned([0, 1], within={"[0, 1]": {0: 1.5, 1: -0.5}}), "at least 0"),
        (lambda: Binned([0, 1], within={"[0, 1]": {}}), "must have numbers"),
        (lambda: Binned([0, 1], within={"[0, 1]": {"0": 1}}), "must be a number"),
        (lambda: Binned([0, 1.5], within="whole numbers"), "all edges and all numbers must be whole"),
        (lambda: Binned([0, 2], within="whole numbers", steps=4), "have no steps"),
        (lambda: Binned([0, 2], steps=0), "steps must be at least 1"),
        (lambda: Binned([0, 2], missing=3), "missing must lie between"),
        (lambda: Binned.from_public([0, 1, 2], [0.5, None]), "none in '\\[1, 2\\]'"),
        (lambda: Binned.from_public([0, 1], ["0.5"]), "must be a number"),
    ],
)
def test_what_is_no_column_of_bins_is_refused(made, required):
    with pytest.raises(SchemaError, match=required):
        made()


def test_frequencies_of_a_public_table_are_counted_in_each_bin():
    age = Binned.from_public([0, 10, 20], pd.Series([1, 1, 3, 10, 99, None, 10, 10]), labels=["low", "high"])
    assert age.within == {"low": {1: 2 / 3, 3: 1 / 3}, "high": {10: 0.75, 20: 0.25}}
    assert age.observed
    assert age.whole
    assert not Binned.from_public([0, 1], [0.5]).whole


# --- categories that several labels count as


WORK = Categorical(["white", "blue", "none"], coarsen={"white": ["Sales", "Tech", "white"], "blue": ["Farm", 7]})


def test_labels_count_as_their_category_with_blanks_around_them_too():
    values = ["Sales", " Tech", "\tFarm ", "blue", " blue", "sales", "7", 7, 7.0, None, "Sales\n", "\u00a0Sales", " "]
    blue = ["blue", "blue", "blue"]
    assert categories(values, WORK) == ["white", "white", *blue, None, "blue", "blue", "blue", None, None, None, None]


def test_a_label_that_is_declared_with_blanks_stands_as_it_is():
    column = Categorical(["a", " a", "b"], coarsen={"b": ["a "]})
    assert categories(["a", " a", "a ", "  a", "a\t"], column) == ["a", " a", "b", "a", "a"]


@pytest.mark.parametrize("query", [count(col("work") == "Tech"), count(col("work").isin(["none", "Tech"]))])
def test_a_label_that_is_coarsened_is_not_told_apart_from_its_category(query):
    """A network knows the category alone: what share of it a label has is in no model."""
    schema = Schema(records=3, columns={"work": WORK})
    with pytest.raises(QueryError, match=r"found 'Tech'. It counts as 'white'") as refused:
        column_sensitivity(query, {"work"}, schema)
    with pytest.raises(QueryError, match=r"found 'Tech'. It counts as 'white'"):
        evaluate(query, schema, pd.DataFrame({"work": ["Tech", "Sales", "none"]}))
    assert "Sales" not in str(refused.value)


def test_whole_numbers_are_coarsened():
    years = Categorical([0, 1], coarsen={0: [7, 8], 1: [9]})
    assert categories([7, "8", 9.0, 1, 5], years) == [0, 0, 1, 1, None]


@pytest.mark.parametrize(
    ("made", "required"),
    [
        (lambda: Categorical(["a", "b"], coarsen={"a": ["x"], "b": ["x"]}), "found 'x' as 'a' and as 'b'"),
        (lambda: Categorical(["a", "b"], coarsen={"a": ["b"]}), "found 'b' as 'b' and as 'a'"),
        (lambda: Categorical(["a", "b"], coarsen={"c": ["x"]}), "coarsen must name categories: a, b; found 'c'"),
        (lambda: Categorical(["a"], coarsen={"a": "xyz"}), "the labels of 'a' must be a list; found a str"),
        (lambda: Categorical(["a"], coarsen={"a": []}), "at least one; found an empty list"),
        (lambda: Categorical(["a"], coarsen={"a": [1.5]}), "texts, or whole numbers like their categories"),
        (lambda: Categorical([1], coarsen={1: ["x"]}), "texts, or whole numbers like their categories"),
        (lambda: Categorical([True, False], coarsen={True: [True]}), "texts, or whole numbers"),
        (lambda: Categorical(["a"], coarsen=["x"]), "coarsen must map categories"),
    ],
)
def test_labels_that_mean_two_things_are_refused(made, required):
    with pytest.raises(SchemaError, match=required):
        made()


def test_what_is_coarsened_is_part_of_a_column_and_of_the_rule_of_a_release():
    plain = Categorical(["a", "b"])
    coarse = Categorical(["a", "b"], coarsen={"a": ["x"]})
    assert repr(plain) == "Categorical(categories=('a', 'b'), missing='a')"
    assert plain != coarse
    assert repr(coarse) != repr(plain)
    assert pickle.loads(pickle.dumps(coarse)) == coarse
    assert {coarse: 1}[Categorical(["a", "b"], coarsen={"a": ["x", "a", "x"]})] == 1
    assert missing_rule(Schema(1, {"job": plain}), ["job"]) == "job: a missing or undeclared category counts as 'a'."
    assert "labels that were coarsened as their category" in missing_rule(Schema(1, {"job": coarse}), ["job"])


def test_a_file_of_the_census_reads_right(tmp_path):
    path = tmp_path / "adult.csv"
    path.write_text("age,work\n39, Sales\n50,\tTech \n61, Farm\n20, ?\n")
    schema = Schema(records=4, columns={"age": Binned(EDGES, within="whole numbers"), "work": WORK})
    answer = evaluate(stack(histogram("work"), count(col("age") >= 45)), schema, path)
    assert list(answer.values) == [3, 1, 0, 2]


# --- framework files


TEXT = """
notion = "distributional"
source = "public census 2020"
[network]
file = "network.bif"
level = "parameters"
[records]
count = 1_000
[columns.income]
type = "categorical"
categories = ["low", "high"]
[columns.income.coarsen]
low = "less | <=50K"
high = ["more", ">50K"]
[columns.age]
type = "binned"
edges = [17, 25, 45, 90]
independent = true
KEYS
[protect.income]
"""

NETWORK = """
variable income { type discrete [ 2 ] { poor, rich }; }
probability ( income ) { table 0.3, 0.7; }
"""


def read(folder: Path, keys: str = "", text: str = TEXT) -> Schema:
    (folder / "network.bif").write_text(NETWORK)
    path = folder / "framework.toml"
    path.write_text(text.replace("KEYS", keys))
    return read_framework(path).schema


def test_a_framework_file_declares_bins_and_coarser_categories(tmp_path):
    assert read(tmp_path)["age"] == Binned(EDGES)
    assert read(tmp_path)["income"] == Categorical(
        ["low", "high"], coarsen={"low": ["less", "<=50K"], "high": ["more", ">50K"]}
    )
    named = 'labels = ["young", "middle", "old"]\nmissing = 40\nwithin = "whole numbers"'
    labels = ["young", "middle", "old"]
    assert read(tmp_path, named)["age"] == Binned(EDGES, labels=labels, missing=40, within="whole numbers")
    inside = 'labels = ["young", "middle", "old"]\n[columns.age.within]\nyoung = { 17 = 0.5, "18.5" = 0.5 }\n'
    laws = {"young": {17: 0.5, 18.5: 0.5}, "middle": "uniform", "old": "uniform"}
    uniform = 'middle = "uniform"\nold = "uniform"'
    assert read(tmp_path, inside + uniform)["age"] == Binned(EDGES, labels=labels, within=laws)


@pytest.mark.parametrize(
    ("keys", "error", "required"),
    [
        ("lower = 3", FileError, "unknown 'lower'"),
        ("step = 3", FileError, "unknown 'step'"),
        ('within = "evenly"', SchemaError, r"\[columns.age\]: within must be one of"),
        (
            '[columns.age.within]\n"[17, 25)" = { a = 1 }',
            FileError,
            "must be numbers; found 'a'",
        ),
        ('[columns.age.within]\n"[17, 25)" = { 17 = 1 }', SchemaError, "none for '\\[25, 45\\)', '\\[45, 90\\]'"),
        ("[columns.income.coarsen.low]\nx = 1", FileError, "."),
    ],
)
def test_what_a_framework_file_gets_wrong_is_named(tmp_path, keys, error, required):
    with pytest.raises(error, match=required):
        read(tmp_path, keys)


def test_labels_in_a_framework_file_are_a_list_or_a_text(tmp_path):
    with pytest.raises(FileError, match="the labels of 'low' must be a list, or a text with bars between them"):
        read(tmp_path, text=TEXT.replace('low = "less | <=50K"', "low = 5"))
    with pytest.raises(SchemaError, match="found 'more' as 'low' and as 'high'"):
        read(tmp_path, text=TEXT.replace('"less | <=50K"', '"less | more"'))


def test_bins_without_edges_are_refused(tmp_path):
    with pytest.raises(BnprivError, match="edges is needed"):
        read(tmp_path, text=TEXT.replace("edges = [17, 25, 45, 90]\n", ""))


def test_laws_in_a_framework_file_are_given_by_numbers_or_by_bins(tmp_path):
    (tmp_path / "network.bif").write_text(NETWORK)
    path = tmp_path / "framework.toml"
    start = TEXT.replace("KEYS", 'labels = ["young", "middle", "old"]\nwithin = "whole numbers"')
    for values, law in (
        ("{ 17 = 0.25, 90 = 0.75 }", {17: 0.25, 90: 0.75}),
        ("{ young = 0.25, old = 0.75 }", {"young": 0.25, "old": 0.75}),
    ):
        path.write_text(f"{start}\n[laws.age]\nvalues = {values}\n")
        framework = read_framework(path)
        assert framework.column_laws["age"] == (column_law(law, framework.schema["age"]),)
    for values, required in (
        ("{ young = 0.25, 30 = 0.75 }", "found '30'"),
        ("{ yung = 1 }", "the keys of 'values' must be numbers; found 'yung'"),
        ("{ 17.5 = 1 }", "."),
        ('{ "17.5" = 1 }', "must name whole numbers between the bounds 17 and 90"),
        ("{ 17 = 0.9 }", "sum to one"),
    ):
        path.write_text(f"{start}\n[laws.age]\nvalues = {values}\n")
        with pytest.raises(BnprivError, match=required):
            read_framework(path)
    path.write_text(f"{start}\n[laws.income.poor]\nvalues = {{ low = 1 }}\n[laws.income.rich]\nbernoulli = 1\n")
    with pytest.raises(FileError, match="values are for columns of numbers"):
        read_framework(path)


@pytest.mark.parametrize("engine", ["polars", "pyarrow", "duckdb"])
def test_engines_take_tabs_off_but_not_from_raw_labels_that_are_declared_with_blanks(engine):
    values = ["a", "a ", "\ta", "\tx", "x", " x\t"]
    column = Categorical(["a", "b", "c"], coarsen={"b": ["a ", "\tx"]}, missing="c")
    table = Later("pyarrow").table({"w": values})
    made = {"polars": lambda: Later("polars").from_arrow(table), "duckdb": lambda: Later("duckdb").from_arrow(table)}
    data = made.get(engine, lambda: table)()
    assert evaluate(histogram("w"), Schema(records=6, columns={"w": column}), data).values == (2, 2, 2)
