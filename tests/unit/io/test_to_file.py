"""Frameworks that are written to files are read back as they were, or refused by what no file can say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.core.frameworks.question import Framework
from bnpriv.core.networks.discrete import IntervalNetwork
from bnpriv.errors import FileError, ParameterError, QueryError
from bnpriv.kinds.gaussian.network import GaussianNetwork

HOSTILE = (
    "a b", "a.b", 'say "x"', "back\\slash", "\u00e9t\u00e9", "tab\tbed", "esc\x1b[31m", "#", "[x]", "", "a=1", "'",
    "line\nend", "nul\0", "\u202eb", "\U0001f600", "a.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p.q.r", "1", "true", "x" * 300,
)  # fmt: skip


def same(framework: Framework, folder: Path) -> Framework:
    """Return what is read from the file of a framework, once it is known to be the same."""
    *_, file = framework.to_file(folder / "framework.toml", overwrite=True)
    found = bp.read_framework(file)
    assert type(found) is type(framework)
    assert found.fingerprint() == framework.fingerprint()
    return found


def coins(**states: list[str]) -> bp.DiscreteNetwork:
    tables = {name: np.full(len(named), 1 / len(named)) for name, named in states.items()}
    return bp.DiscreteNetwork.from_tables(tables, states=states, level="parameters")


@pytest.mark.parametrize("name", ["student", "hospital", "activity", "four-people", "clinic"])
def test_examples_are_read_back_as_they_were(name: str, tmp_path: Path) -> None:
    folder = Path(__file__).resolve().parents[3] / "models" / name
    same(bp.read_framework(folder / "framework.toml"), tmp_path)


def random_columns(random: np.random.Generator) -> dict[str, bp.Real | bp.Integer | bp.Categorical | bp.Binned]:
    lower = float(random.normal()) * 10.0 ** int(random.integers(-8, 8))
    width = float(random.random()) + 0.1
    whole = int(random.integers(-(10**6), 10**6))
    return {
        "real": bp.Real(lower, lower + abs(lower) * width),
        "real given": bp.Real(-0.5, 1e6, missing=float(random.random())),
        "integer": bp.Integer(whole, whole + 7, missing=whole + 2),
        "text": bp.Categorical([str(x) for x in random.choice(HOSTILE, 3, replace=False)]),
        "number": bp.Categorical([3, -1, 2**40], missing=-1),
        "truth": bp.Categorical([True, False], missing=False),
        "free": bp.Integer(0, 1),
        "age": bp.Binned((17, 25, 90), labels=("young, a bit", "old"), within="whole numbers", missing=20),
        "hours": bp.Binned((-0.5, 0.25, 2), within={"[-0.5, 0.25)": "uniform", "[0.25, 2]": {0.5: 0.3, 2: 0.7}}),
        "work": bp.Categorical(["white", "blue"], coarsen={"white": ["Exec | board", "Prof"], "blue": ["Craft"]}),
    }


@pytest.mark.parametrize("seed", range(12))
def test_random_frameworks_about_parameters_are_read_back(seed: int, tmp_path: Path) -> None:
    random = np.random.default_rng(seed)
    columns = random_columns(random)
    states = {
        "real": ["low", "not so low", "high"],
        "text": ["x, y", "z"] if seed % 2 else ["x", "z"],
        "truth": ["a", "b"],
    }
    shapes = {"real": (3,), "text": (2, 3), "truth": (2, 2)}
    models = (2,) if seed % 3 == 0 else ()
    tables = {name: random.dirichlet(np.ones(shape[0]), (*models, *shape[1:])) for name, shape in shapes.items()}
    network = bp.DiscreteNetwork.from_tables(
        {name: np.moveaxis(table, -1, len(models)) for name, table in tables.items()},
        states=states,
        parents={"text": ["real"], "truth": ["text"]},
        level="parameters" if seed % 2 else None,
    )
    text, truth = columns["text"], columns["truth"]
    assert isinstance(text, bp.Categorical)
    assert isinstance(truth, bp.Categorical)
    masses = [dict(zip(text.categories, random.dirichlet([1, 1, 1]).tolist(), strict=True)) for _ in range(2)]
    chosen = bp.pairs(("low", ["high", "not so low"]), ("high", "low"))
    framework = bp.DistributionalAttributePrivacy(
        network,
        bp.Schema(records=int(random.integers(1, 10**9)), columns=columns),
        ["real", "truth"] if seed % 4 else {"real": chosen, "text": None},
        source=f"page 3 of {random.choice(HOSTILE) or 'a book'}",
        independent=["free", "integer"],
        laws={
            "text": dict(zip(states["text"], masses, strict=True)),
            "truth": {"a": {True: 0.25, False: 0.75}, "b": 0.1 + 0.2},
            "free": float(random.random()),
        },
    )
    found = same(framework, tmp_path)
    assert found.schema == framework.schema


@pytest.mark.parametrize("name", [name for name in HOSTILE if name])
def test_names_of_columns_with_signs_are_read_back(name: str, tmp_path: Path) -> None:
    schema = bp.Schema(records=3, columns={name: bp.Categorical([name, "other"]), "x": bp.Real(0, 1)})
    framework = bp.DistributionalAttributePrivacy(
        coins(x=["low", "high"]), schema, "x", source=name, independent=[name], laws={name: {name: 0.3, "other": 0.7}}
    )
    assert list(same(framework, tmp_path).schema.columns) == [name, "x"]


@pytest.mark.parametrize(
    "pairs",
    [
        None,
        bp.apart(at_most=2.5),
        bp.pairs((0, 2), (1, frozenset({3, 4}))),
        bp.intervals(((0, 1.5), (2.25, 3)), (0.1, 4)),
    ],
)
def test_properties_of_the_table_are_read_back(pairs: object, tmp_path: Path) -> None:
    network = bp.DiscreteNetwork.from_tables(
        {"ill": [0.9, 0.1], "x": [[0.1, 0.5], [0.9, 0.5]]},
        states={"ill": ["no", "yes"], "x": ["small", "large"]},
        parents={"x": ["ill"]},
        level="records",
    )
    schema = bp.Schema(
        records=20, columns={"ill": bp.Categorical(["no", "yes"]), "x": bp.Categorical(["small", "large"])}
    )
    secret = bp.Secret('count(ill == "yes")', pairs=pairs)  # pyright: ignore[reportArgumentType]
    same(bp.DatasetAttributePrivacy(network, schema, {"ill": secret}, source="a book"), tmp_path)


def test_linear_gaussian_networks_are_read_back(tmp_path: Path) -> None:
    network = GaussianNetwork.linear(
        {"income": [40.0, 41.5], "sat": 0.1 + 0.2},
        {"income": 10.0, "sat": [150.0, 1 / 3]},
        {"sat": {"income": [3.0, -0.0]}},
    )
    schema = bp.Schema(records=50, columns={"income": bp.Real(0, 100), "sat": bp.Real(400, 1600)})
    for chosen in (bp.apart(at_most=5), bp.intervals(((30, 40), (50, 60)), (1 / 3, 55))):
        framework = bp.DistributionalAttributePrivacy(
            network, schema, {"income": chosen}, source="a book", laws={"sat": _normal(0, 8)}
        )
        same(framework, tmp_path)
    records = GaussianNetwork.linear({"income": 40.0, "sat": 9.0}, {"income": 1.0, "sat": 2.0}, level="records")
    secret = bp.Secret(bp.mean("income"), pairs=bp.apart(at_most=0.1))
    same(bp.DatasetAttributePrivacy(records, schema, {"income": secret}, source="a book"), tmp_path)


def _normal(mean: float, deviation: float) -> Any:
    import scipy.stats

    return scipy.stats.norm(mean, deviation)


@pytest.mark.parametrize("initial", ["stationary", "any", [0.1, 0.9 + 1e-10]])
def test_chains_are_read_back(initial: object, tmp_path: Path) -> None:
    transition = [[[0.9, 0.1], [1 / 3 + 1e-11, 2 / 3]], [[0.5, 0.5], [0.25, 0.75]]]
    chain = bp.types.MarkovChain(transition, initial, [3, 4], states=["not up", "up"])  # pyright: ignore[reportArgumentType]
    schema = bp.Schema(records=7, columns={"day x": bp.Categorical(["not up", "up"])})
    same(bp.ValuePrivacy(chain, schema, "day x", source="a book"), tmp_path)
    numbers = bp.types.MarkovChain(transition, "any", 7, states=[0, 1])
    whole = bp.Schema(records=7, columns={"day": bp.Integer(0, 1)})
    same(bp.ValuePrivacy(numbers, whole, "day", source="a book"), tmp_path)


def test_networks_within_a_distance_and_with_rows_missing_are_read_back(tmp_path: Path) -> None:
    schema = bp.Schema(records=50, columns={"y": bp.Real(0, 1)})
    gaps = bp.DiscreteNetwork.from_tables(
        {"x": [0.5, 0.5], "y": [[0.1, np.nan], [0.9, np.nan]]},
        states={"x": ["a", "b"], "y": ["c", "d"]},
        parents={"y": ["x"]},
        level="parameters",
        missing_rows="any",
    )
    theta = bp.DiscreteNetwork.from_tables(
        {"x": [[0.1, 0.9], [0.2, 0.8]]}, states={"x": ["a", "b"]}, level="parameters"
    )
    for network in (
        gaps,
        IntervalNetwork.around(gaps, 0.05),
        IntervalNetwork.around(coins(x=["a", "b"], y=["c", "d"]), 1 / 3),
        IntervalNetwork.around(theta, 0.01),
        bp.DiscreteNetwork.from_tables({"x": [0.333, 0.666]}, states={"x": ["a", "b"]}, normalize=True),
    ):
        same(bp.DistributionalAttributePrivacy(network, schema, "x", source="a book"), tmp_path)


KIDS = bp.Schema(records=10, columns={"kids": bp.Integer(-1, 2), "old": bp.Categorical(["no", "yes"])})


def kids(level: str) -> Any:
    """Return a network with whole numbers for states, below zero too, and parents and children with texts."""
    tables = {"kids": [0.1, 0.2, 0.4, 0.3], "old": [[0.9, 0.5, 0.2, 0.1], [0.1, 0.5, 0.8, 0.9]]}
    states: Any = {"kids": [-1, 0, 1, 2], "old": ["no", "yes"]}
    declared: Any = {"parents": {"old": ["kids"]}, "level": level}
    return bp.DiscreteNetwork.from_tables(tables, states=states, **declared)


def test_whole_numbers_that_are_states_are_read_back(tmp_path: Path) -> None:
    old = bp.Secret(bp.count(bp.col("old") == "yes"), pairs=bp.apart(at_most=2))
    same(bp.DatasetAttributePrivacy(kids("records"), KIDS, {"old": old}, source="a book"), tmp_path)
    for protect in ("kids", {"kids": bp.pairs((-1, 1), (0, frozenset({1, 2})))}):
        found = same(bp.ValuePrivacy(kids("records"), KIDS, protect, source="a book"), tmp_path)
        assert isinstance(found, bp.ValuePrivacy)
        assert found.network.states["kids"] == (-1, 0, 1, 2)
    laws: Any = {"kids": {state: {-1: 0.5, state: 0.5} if state > 0 else {0: 1.0} for state in (-1, 0, 1, 2)}}
    for network in (kids("parameters"), IntervalNetwork.around(kids("parameters"), 0.01)):
        same(bp.DistributionalAttributePrivacy(network, KIDS, "kids", source="a book", laws=laws), tmp_path)
    theta = bp.model_class([kids("parameters"), kids("parameters")])
    same(bp.DistributionalAttributePrivacy(theta, KIDS, "old", source="a book"), tmp_path)


def test_a_file_with_whole_numbers_gives_the_same_noise_in_the_shell(tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from bnpriv.cli import app

    framework = bp.ValuePrivacy(kids("records"), KIDS, "kids", source="a book")
    *_, file = framework.to_file(tmp_path / "kids.toml")
    assert 'whole_numbers = ["kids"]' in file.read_text()
    query = bp.count(bp.col("old") == "yes")
    scales = [bp.plan(each, query, 1.0).best.scale for each in (framework, bp.read_framework(file))]
    assert scales[0] == scales[1]
    done = CliRunner().invoke(app, ["plan", str(file), "--query", str(query), "--epsilon", "1"])
    assert done.exit_code == 0, done.output
    assert f"{scales[0]:.4g}" in done.output


@pytest.mark.parametrize("given", ['["old"]', '["kids", "nobody"]', '"kids"', "[1]", "true"])
def test_whole_numbers_that_are_none_are_refused_by_line(given: str, tmp_path: Path) -> None:
    *_, file = bp.ValuePrivacy(kids("records"), KIDS, "kids", source="a book").to_file(tmp_path / "kids.toml")
    file.write_text(file.read_text().replace('["kids"]', given))
    with pytest.raises(FileError, match="whole"):
        bp.read_framework(file)


@pytest.mark.parametrize("written", ["01", "+1", "1.0", "1e3", " 1", "", "9" * 19, "\u0661"])
def test_states_that_write_a_number_in_another_way_are_texts(written: str, tmp_path: Path) -> None:
    coin = bp.DiscreteNetwork.from_tables({"x": [0.5, 0.5]}, states={"x": ["0", written]}, level="records")
    schema = bp.Schema(records=3, columns={"x": bp.Categorical(["0", written])})
    try:
        *_, file = bp.ValuePrivacy(coin, schema, "x", source="a book").to_file(tmp_path / "x.toml")
    except FileError:
        return  # no network file holds such a name
    text = file.read_text()
    assert "whole_numbers" not in text
    file.write_text(text.replace('level = "records"', 'level = "records"\nwhole_numbers = ["x"]'))
    with pytest.raises(FileError, match="must write whole numbers"):
        bp.read_framework(file)


def test_names_that_bif_cannot_hold_stand_in_an_xml_file(tmp_path: Path) -> None:
    network = coins(x=["[0, 5)", "[5, 10]"])
    framework = bp.DistributionalAttributePrivacy(
        network, bp.Schema(records=5, columns={"y": bp.Real(0, 1)}), "x", source="a book"
    )
    files = framework.to_file(tmp_path / "bins.toml")
    assert [file.name for file in files] == ["bins.xml", "bins.toml"]
    assert bp.read_framework(files[-1]).fingerprint() == framework.fingerprint()


def test_queries_are_written_with_their_names(tmp_path: Path) -> None:
    framework = bp.example("student")
    asked = {"tall ones": bp.count(bp.col("height") > 180.5), "mean": "mean(height)"}
    file = framework.to_file(tmp_path / "f.toml", queries=asked)[-1]
    assert bp.read_queries(file) == {"tall ones": asked["tall ones"], "mean": bp.mean("height")}
    own = bp.custom(len, columns=["height"], sensitivity=1)
    with pytest.raises(FileError, match="read from their text"):
        framework.to_file(tmp_path / "f.toml", queries={"own": own}, overwrite=True)
    with pytest.raises(QueryError):
        framework.to_file(tmp_path / "f.toml", queries={"own": "median("}, overwrite=True)
    with pytest.raises(ParameterError, match="by their names"):
        framework.to_file(tmp_path / "f.toml", queries=["mean(height)"])  # pyright: ignore[reportArgumentType]
    assert bp.read_queries(file).keys() == asked.keys()


def test_the_shell_runs_what_was_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from typer.testing import CliRunner

    from bnpriv.cli import app

    file = bp.example("student").to_file(tmp_path / "f.toml", queries={"tall": "count(height > 180)"})[-1]
    done = CliRunner().invoke(app, ["plan", str(file), "--query", "tall", "--epsilon", "1"])
    assert done.exit_code == 0, done.output


def test_nothing_is_replaced_unless_it_is_asked_for(tmp_path: Path) -> None:
    framework = bp.example("student")
    (tmp_path / "f.bif").write_text("mine", encoding="utf-8")
    with pytest.raises(FileError, match=r"f\.bif.*overwrite=True"):
        framework.to_file(tmp_path / "f.toml")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["f.bif"]
    framework.to_file(tmp_path / "f.toml", overwrite=True)
    assert (tmp_path / "f.bif").read_text(encoding="utf-8") != "mine"


@pytest.mark.parametrize("name", ["f.json", "f", "C:f.toml", "a\\f.toml"])
def test_the_name_must_be_that_of_a_framework_file(name: str, tmp_path: Path) -> None:
    with pytest.raises(FileError, match="plain name"):
        bp.example("student").to_file(tmp_path / name)


def refused() -> dict[str, Framework]:
    """Return frameworks that no file can hold, by what the refusal names."""
    import scipy.stats

    schema = bp.Schema(records=5, columns={"x": bp.Real(0, 1)})
    coin = coins(x=["a", "b"])
    wide = bp.DiscreteNetwork.from_intervals(
        {"x": [0.1, 0.1]}, {"x": [0.9, 0.9]}, states={"x": ["a", "b"]}, level="parameters"
    )
    normal = GaussianNetwork(("x",), np.zeros(1), np.eye(1))
    gamma = {"x": {"a": scipy.stats.gamma(2), "b": scipy.stats.norm(0, 1)}}
    numbers = bp.Schema(records=5, columns={"x": bp.Categorical([1, 2], coarsen={1: [3]})})
    numbered = bp.DiscreteNetwork.from_tables({"x": [0.5, 0.5]}, states={"x": [0.5, 5]}, level="parameters")
    laws = (bp.laws.Atoms([0, 1], [0.5, 0.5]), bp.laws.Atoms([0, 1], [0.4, 0.6]))

    def hiding(network: Any, columns: bp.Schema = schema, secret: Any = "x", **more: Any) -> Framework:
        return bp.DistributionalAttributePrivacy(network, columns, secret, source="a book", **more)

    return {
        "a network given by intervals": hiding(wide),
        "a linear-Gaussian network": hiding(normal, secret={"x": bp.apart(at_most=1)}),
        "the distribution 'gamma' of 'x'": hiding(coin, laws=gamma),
        "numbers for 'x'": hiding(coin, numbers),
        "0.5, a float": hiding(numbered),
        "around": hiding(IntervalNetwork.around(IntervalNetwork.around(coin, 0.1), 0.1)),
        "distribution privacy": bp.DistributionPrivacy([laws], source="a book"),
    }


@pytest.mark.parametrize("what", sorted(refused()))
def test_what_no_file_can_say_is_refused_by_name(what: str, tmp_path: Path) -> None:
    with pytest.raises(FileError, match=what):
        refused()[what].to_file(tmp_path / "f.toml")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("column", [bp.Real(0, 1, steps=10), bp.Binned((0, 1, 2), steps=7), bp.Real(0, 1)], ids=repr)
def test_the_grid_of_a_column_is_read_back(column: bp.Real | bp.Binned, tmp_path: Path) -> None:
    schema = bp.Schema(records=5, columns={"x": column})
    framework = bp.DistributionalAttributePrivacy(coins(x=["a", "b"]), schema, "x", source="a book")
    framework.to_file(tmp_path / "f.toml")
    assert bp.read_framework(tmp_path / "f.toml").schema["x"] == column
    assert ("steps" in (tmp_path / "f.toml").read_text()) == (column.steps != 2**20)


@pytest.mark.slow
def test_models_of_pymc_are_refused(tmp_path: Path) -> None:
    pm = pytest.importorskip("pymc")
    with pm.Model() as model:
        mean = pm.Normal("mean", 0, 1)
        pm.Normal("x", mean, 1, observed=np.zeros(3))
    network = bp.from_pymc(model)
    schema = bp.Schema(records=3, columns={"x": bp.Real(-5, 5)})
    framework = bp.DistributionalAttributePrivacy(network, schema, {"mean": bp.apart(at_most=1)}, source="a book")
    with pytest.raises(FileError, match="framework files hold"):
        framework.to_file(tmp_path / "f.toml")


def test_laws_of_numbers_and_of_bins_are_read_back(tmp_path: Path) -> None:
    edges, labels = [0, 1, 2.5], ["none", "some"]
    columns = {
        "hours": bp.Integer(0, 99),
        "rate": bp.Real(-1, 1),
        "gain": bp.Binned(edges, labels=labels, within={"none": {0: 0.3, 0.25: 0.7}, "some": "uniform"}),
        "smokes": bp.Integer(0, 1),
    }
    laws = {
        "hours": {"a": {0: 0.2, 1: 0.8}, "b": {40: 0.3, 99: 0.7}},
        "rate": {"a": {-0.125: 0.1, 1 / 3: 0.9}, "b": {0: 1.0}},
        "gain": {"a": {"none": 0.1, "some": 0.9}, "b": {0: 0.5, 2.5: 0.5}},
        "smokes": {"a": 0.3, "b": {0: 0.3, 1: 0.7}},
    }
    schema = bp.Schema(records=20, columns=columns)
    network = coins(**{name: ["a", "b"] for name in columns})
    framework = bp.DistributionalAttributePrivacy(network, schema, "hours", source="a book", laws=laws)
    assert same(framework, tmp_path).column_laws == framework.column_laws
    records = bp.DiscreteNetwork.from_tables({"gain": [0.5, 0.5]}, states={"gain": labels}, parents={}, level="records")
    hidden = {"gain": bp.Secret(bp.count(bp.col("gain") >= 0.5), pairs=bp.apart(at_most=1))}
    alone = bp.Schema(records=20, columns={"gain": columns["gain"]})
    for declared in (None, {"gain": {"none": {0: 1.0}, "some": {2: 1.0}}}):
        table = bp.DatasetAttributePrivacy(records, alone, hidden, source="a book", laws=declared)
        assert same(table, tmp_path).column_laws == table.column_laws


def test_frequencies_of_a_public_table_inside_bins_are_read_back_as_such(tmp_path: Path) -> None:
    random = np.random.default_rng(3)
    column = bp.Binned.from_public([-1, 0, 0.1 + 0.2, 9], [-0.0, *random.normal(0, 2, 40), 0.1 + 0.2, 1e-9, 9])
    schema = bp.Schema(records=20, columns={"x": column, "y": bp.Binned((0, 1), observed=False)})
    framework = bp.DistributionalAttributePrivacy(
        coins(x=["a", "b"]), schema, "x", source="a book", independent=["y"], laws={"y": {0: 1.0}}
    )
    found = same(framework, tmp_path).schema["x"]
    assert found == column
    assert isinstance(found, bp.Binned)
    assert found.observed
    file = tmp_path / "framework.toml"
    assert file.read_text(encoding="utf-8").count("observed = true") == 1
    file.write_text(file.read_text(encoding="utf-8").replace("observed = true", "observed = 1"), encoding="utf-8")
    with pytest.raises(FileError, match="observed must be true or false"):
        bp.read_framework(file)


def test_numbers_that_are_labels_of_other_bins_are_read_back_as_numbers(tmp_path: Path) -> None:
    column = bp.Binned((0, 1, 2), labels=("1", "1 "), within="whole numbers")
    schema = bp.Schema(records=20, columns={"x": column, "y": bp.Real(0, 1)})
    for law in ({1: 0.5, 2: 0.5}, {"1": 0.25, "1 ": 0.75}):
        same(
            bp.DistributionalAttributePrivacy(
                coins(y=["a", "b"]), schema, "y", source="a book", independent=["x"], laws={"x": law}
            ),
            tmp_path,
        )
