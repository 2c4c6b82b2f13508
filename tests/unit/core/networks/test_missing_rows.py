"""Rows without data: refused unless they may be any law, and then no law in them tells more than the bound."""

from __future__ import annotations

import math
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.core.influence.base import influence_of
from bnpriv.core.networks.discrete import IntervalNetwork, from_weights
from bnpriv.core.secrets import all_pairs
from bnpriv.errors import BnprivError, NetworkError
from bnpriv.mechanisms.misspecified import within_factor
from tests.later import Later

discrete = Later("pgmpy.factors.discrete")
pgmpy = Later("pgmpy.models")

NAN = math.nan
STATES = {"income": ("low", "high"), "sat": ("weak", "fair", "strong")}
TABLES = {"income": [0.6, 0.4], "sat": [[0.5, NAN], [0.3, NAN], [0.2, NAN]]}
PARENTS = {"sat": ["income"]}
BIF = """variable income { type discrete [ 2 ] { low, high }; }
variable sat { type discrete [ 3 ] { weak, fair, strong }; }
probability ( income ) { table 0.6, 0.4; }
probability ( sat | income ) { (low) 0.5, 0.3, 0.2; (high) NaN, nan, nan; }
"""
XML = """<BIF VERSION="0.3"><NETWORK><NAME>student</NAME>
<VARIABLE TYPE="nature"><NAME>income</NAME><OUTCOME>low</OUTCOME><OUTCOME>high</OUTCOME></VARIABLE>
<VARIABLE><NAME>sat</NAME><OUTCOME>weak</OUTCOME><OUTCOME>fair</OUTCOME><OUTCOME>strong</OUTCOME></VARIABLE>
<DEFINITION><FOR>income</FOR><TABLE>0.6 0.4</TABLE></DEFINITION>
<DEFINITION><FOR>sat</FOR><GIVEN>income</GIVEN><TABLE>0.5 0.3 0.2 nan nan nan</TABLE></DEFINITION>
</NETWORK></BIF>
"""
NET = """net { }
node income { states = ("low" "high"); }
node sat { states = ("weak" "fair" "strong"); }
potential (income) { data = (0.6 0.4); }
potential (sat | income) { data = ((0.5 0.3 0.2) (nan nan nan)); }
"""
FRAMEWORK = """
notion = "distributional"
source = "public census 2020"
[network]
file = "network.bif"
level = "parameters"
missing_rows = "any"
[records]
count = 1000
[columns.sat]
type = "integer"
lower = 400
upper = 1600
[protect.income]
"""


def from_tables(**given: Any) -> bp.DiscreteNetwork | IntervalNetwork:
    arguments: dict[str, Any] = {"states": STATES, "parents": PARENTS, "missing_rows": "any"} | given
    return bp.DiscreteNetwork.from_tables(arguments.pop("tables", TABLES), **arguments)


def of_pgmpy(missing_rows: Any) -> bp.DiscreteNetwork | IntervalNetwork:
    model = pgmpy.DiscreteBayesianNetwork([("income", "sat")])
    names = {name: list(states) for name, states in STATES.items()}
    model.add_cpds(
        discrete.TabularCPD("income", 2, [[0.6], [0.4]], state_names={"income": names["income"]}),
        discrete.TabularCPD("sat", 3, TABLES["sat"], ["income"], [2], state_names=names),
    )
    return bp.from_pgmpy(model, missing_rows=missing_rows)


def of_file(folder: Path, suffix: str, missing_rows: Any) -> bp.DiscreteNetwork | IntervalNetwork:
    path = folder / f"network{suffix}"
    path.write_text({".bif": BIF, ".xml": XML, ".net": NET}[suffix])
    return bp.read_network(path, missing_rows=missing_rows)


def of_framework(folder: Path, text: str = FRAMEWORK) -> Any:
    (folder / "network.bif").write_text(BIF)
    (folder / "framework.toml").write_text(text)
    return bp.read_framework(folder / "framework.toml").network


def roads(folder: Path, missing_rows: Any) -> dict[str, Any]:
    """Return every way to read the same tables, each to be called."""
    text = FRAMEWORK if missing_rows else FRAMEWORK.replace('missing_rows = "any"\n', "")
    return {
        "tables": lambda: from_tables(missing_rows=missing_rows),
        "pgmpy": lambda: of_pgmpy(missing_rows),
        **{suffix: lambda suffix=suffix: of_file(folder, suffix, missing_rows) for suffix in (".bif", ".xml", ".net")},
        "framework": lambda: of_framework(folder, text),
    }


@pytest.mark.parametrize("road", ["tables", "pgmpy", ".bif", ".xml", ".net", "framework"])
def test_every_road_refuses_by_default_and_reads_any_law_on_request(road: str, tmp_path: Path) -> None:
    with pytest.raises(NetworkError, match=r"nan in model 0 given income = high.*missing_rows='any'"):
        roads(tmp_path, None)[road]()
    network = roads(tmp_path, "any")[road]()
    assert isinstance(network, IntervalNetwork)
    assert network.missing == ("sat given income = high",)
    assert network.lower["sat"].tolist() == [[0.5, 0.0], [0.3, 0.0], [0.2, 0.0]]
    assert network.upper["sat"].tolist() == [[0.5, 1.0], [0.3, 1.0], [0.2, 1.0]]
    told = bp.max_influence(network, {"sat"}, "income")
    assert float(told) == math.inf
    assert told.kind == "certified"


def test_a_whole_network_is_read_as_one_of_exact_tables() -> None:
    network = from_tables(tables={"income": [0.6, 0.4], "sat": [[0.5, 0.1], [0.3, 0.1], [0.2, 0.8]]})
    assert isinstance(network, bp.DiscreteNetwork)


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "part of a row": ({"tables": {"income": [0.6, 0.4], "sat": [[0.5, NAN], [0.3, 0.5], [0.2, 0.5]]}}, "nan in model"),
    "another word": ({"missing_rows": "uniform"}, "found 'uniform'"),
    "a truth value": ({"missing_rows": True}, "found a bool"),
    "several models": ({"tables": TABLES | {"sat": [TABLES["sat"]] * 2}}, "one model"),
    "several models elsewhere": ({"tables": TABLES | {"income": [[0.6, 0.4], [0.5, 0.5]]}}, "found 2 models"),
    "another sum": ({"tables": TABLES | {"income": [0.6, 0.41]}}, "the sum 1.01"),
    "another shape": ({"tables": TABLES | {"sat": [[0.5, NAN], [0.5, NAN]]}}, "must have shape"),
    "infinite": ({"tables": TABLES | {"income": [math.inf, 0.4]}}, "found inf"),
    "tiny beside a sum that is off": (
        {"tables": TABLES | {"income": [1e-310, 0.995]}, "normalize": True},
        "the entry 1e-310",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case: str) -> None:
    given, words = REFUSED[case]
    with pytest.raises(NetworkError, match=words):
        from_tables(**given)


def test_a_framework_file_of_several_networks_is_refused(tmp_path: Path) -> None:
    (tmp_path / "other.bif").write_text(BIF)
    with pytest.raises(BnprivError, match="one model; found 2 files"):
        of_framework(tmp_path, FRAMEWORK.replace('"network.bif"', '["network.bif", "other.bif"]'))
    with pytest.raises(NetworkError, match=r"\[network\]: missing_rows must be 'any'"):
        of_framework(tmp_path, FRAMEWORK.replace('"any"', '"none"'))


def test_models_within_some_distance_of_a_network_with_missing_rows(tmp_path: Path) -> None:
    network = of_framework(tmp_path, FRAMEWORK.replace("level =", "within = 0.125\nlevel ="))
    assert network.missing == ("sat given income = high",)
    assert network.lower["sat"].tolist() == [[0.375, 0.0], [0.175, 0.0], [pytest.approx(0.075), 0.0]]
    assert network.upper["sat"][:, 1].tolist() == [1.0, 1.0, 1.0]


def test_models_within_a_factor_keep_the_missing_rows() -> None:
    wider = within_factor(from_tables(), 1.2)
    assert wider.missing == ("sat given income = high",)
    assert wider.upper["sat"][:, 1].tolist() == [1.0, 1.0, 1.0]
    assert bp.max_influence(wider, {"sat"}, "income").kind == "certified"


def test_columns_off_by_a_percent_are_divided_by_their_sums_beside_missing_rows() -> None:
    network = from_tables(tables=TABLES | {"income": [0.6, 0.402]}, normalize=True)
    assert isinstance(network, IntervalNetwork)
    assert network.lower["income"].tolist() == network.upper["income"].tolist()
    assert network.lower["income"] == pytest.approx([0.6 / 1.002, 0.402 / 1.002], rel=1e-15)


def test_what_rests_on_it_says_which_rows_are_missing(tmp_path: Path) -> None:
    of_framework(tmp_path)
    framework = bp.read_framework(tmp_path / "framework.toml")
    calibration = bp.MarkovQuiltMechanism().calibrate(framework, bp.mean("sat"), epsilon=1.0)
    assert "Rows without data may be any distribution: sat given income = high." in calibration.text
    assert "any distribution in 1 row without data" in bp.influence_report(framework).text
    declared = bp.DiscreteNetwork.from_intervals(
        framework.network.lower, framework.network.upper, states=STATES, parents=PARENTS, level="parameters"
    )
    assert declared.identity() != framework.network.identity()
    assert declared.missing == ()


def extreme_laws(tables: dict[str, np.ndarray], **shape: Any) -> bp.DiscreteNetwork:
    """Return a model for every choice of one certain state, or of even chances, in every missing row."""
    rows = [(name, tuple(place)) for name, table in tables.items() for place in np.argwhere(np.isnan(table[0]))]
    laws = [
        np.vstack([np.eye(len(tables[name])), np.full(len(tables[name]), 1 / len(tables[name]))]) for name, _ in rows
    ]
    choices = list(product(*laws))
    made = {name: np.repeat(table[np.newaxis], len(choices), axis=0) for name, table in tables.items()}
    for k, choice in enumerate(choices):
        for (name, place), law in zip(rows, choice, strict=True):
            made[name][(k, slice(None), *place)] = law
    return from_weights(made, **shape)


@pytest.mark.parametrize("seed", range(40))
def test_never_below_what_extreme_laws_tell(seed: int) -> None:
    rng = np.random.default_rng(seed)
    names = list("abcd")[: int(rng.integers(2, 5))]
    order = list(rng.permutation(names))
    states = {name: tuple(range(int(rng.integers(2, 4)))) for name in names}
    parents = {name: [other for other in order[:k] if rng.random() < 0.6][:2] for k, name in enumerate(order)}
    tables: dict[str, np.ndarray] = {}
    for name in names:
        shape = (len(states[name]), *(len(states[other]) for other in parents[name]))
        tables[name] = np.moveaxis(rng.dirichlet(np.ones(shape[0]), size=shape[1:]), -1, 0)
        if rng.random() < 0.3:
            tables[name] = np.where(tables[name] < 0.1, 0.0, tables[name])
            tables[name] /= tables[name].sum(axis=0)
    columns = [(name, place) for name in names for place in np.ndindex(tables[name].shape[1:])]
    for k in rng.permutation(len(columns))[: int(rng.integers(1, 4))]:
        name, place = columns[k]
        tables[name][(slice(None), *place)] = NAN
    network = bp.DiscreteNetwork.from_tables(tables, states=states, parents=parents, missing_rows="any")
    worst = extreme_laws(tables, states=states, parents=parents)
    protected, pairs = "a", all_pairs(states["a"])
    seen = [name for name in names if name != protected and rng.random() < 0.7] or [names[1]]
    bound = influence_of(network, seen, protected, pairs)
    known = influence_of(worst, seen, protected, pairs).values.max(axis=0)
    assert bound.kind == "certified"
    assert np.all(known <= bound.values[0] + 1e-9)
    matrix = bp.influence_matrix(network)
    exact = bp.influence_matrix(worst)
    assert np.all(np.nan_to_num(exact.to_numpy(), nan=0.0) <= np.nan_to_num(matrix.to_numpy(), nan=0.0) + 1e-9)


def test_a_missing_row_that_does_not_matter_leaves_the_number_finite() -> None:
    known = {"a": [0.5, 0.5], "b": [[0.8, 0.3], [0.2, 0.7]], "c": [[0.9, NAN], [0.1, NAN]]}
    states = dict.fromkeys("abc", (0, 1))
    network = bp.DiscreteNetwork.from_tables(known, states=states, parents={"b": ["a"], "c": ["b"]}, missing_rows="any")
    told = bp.max_influence(network, {"b"}, "a")
    assert float(told) == pytest.approx(math.log(0.7 / 0.2))
    assert told.kind == "certified"
    below = bp.max_influence(network, {"c"}, "a")
    # given b = 1 always 0: P(c = 1 | a) = .1 P(b = 0 | a); given b = 1 always 1 that of c = 0 is .9 P(b = 0 | a)
    assert float(below) == pytest.approx(math.log(0.8 / 0.3))
