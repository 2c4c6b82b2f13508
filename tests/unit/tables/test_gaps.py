"""Gaps that are not counted: every engine, sensitivity, laws and the checker against Kleene's logic, by brute force."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.core.columns import GAP_MARK, NOT_COUNTED
from bnpriv.core.evidence.laws import network_record_law
from bnpriv.core.queries.base import normal_form
from bnpriv.core.queries.builtin import custom
from bnpriv.core.queries.contribution import answers
from bnpriv.core.queries.predicates import And, Comparison, IsIn, Not, Or, Predicate, bins_of
from bnpriv.core.queries.sensitivity import column_sensitivity
from bnpriv.errors import FrameworkError, LawError, QueryError, SchemaError
from bnpriv.io.starter.files import files_to_start
from bnpriv.kinds.gaussian.network import GaussianNetwork
from bnpriv.tables.evaluate import canonical_table, evaluate, evaluate_many, try_sensitivity
from tests.later import Later

duckdb = Later("duckdb")
pa = Later("pyarrow")
pd = Later("pandas")
pl = Later("polars")
pq = Later("pyarrow.parquet")

COLUMNS = {
    "age": bp.Integer(0, 90, missing=NOT_COUNTED),
    "dose": bp.Real(-1, 1, missing=NOT_COUNTED),
    "income": bp.Binned([0, 10, 50, 100], within="whole numbers", missing=NOT_COUNTED),
    "job": bp.Categorical(["white", "blue"], coarsen={"white": ["sales"]}, missing=NOT_COUNTED),
    "rooms": bp.Categorical([1, 2, 3], missing=NOT_COUNTED),
    "owner": bp.Categorical([False, True], missing=NOT_COUNTED),
    "height": bp.Real(120, 220),
}
CONSTANTS: dict[str, list[Any]] = {
    "age": [-3, 0, 40, 40.5, 90, 99],
    "dose": [-1, -0.25, 0.5, 1, 2],
    "income": [0, 9, 10, 50, 100],
    "job": ["white", "blue"],
    "rooms": [1, 2, 3],
    "owner": [False, True],
    "height": [150, 170],
}
DRAWN: dict[str, list[Any]] = {
    "age": [None, -7, 0, 17, 40, 41, 90, 130],
    "dose": [None, math.nan, -3.0, -0.25, 0.1, 0.5, 1.0, GAP_MARK],
    "income": [None, 0, 9, 10, 49, 50, 100, -5],
    "job": [None, "white", "blue", "sales", "unheard of", " blue "],
    "rooms": [None, 1, 2, 3, 7],
    "owner": [None, True, False],
    "height": [None, 150.0, 170.0, 180.0],
}


def counted(name: str, raw: object) -> object:
    """What a raw value counts as; None for a gap."""
    if name == "job":
        return {"white": "white", "sales": "white", "blue": "blue", " blue ": "blue"}.get(str(raw))
    if name == "rooms":
        return raw if raw in (1, 2, 3) else None
    if name == "owner":
        return raw
    if raw is None or raw != raw:
        return 170.0 if name == "height" else None
    assert isinstance(raw, (int, float))
    column = COLUMNS[name]
    return min(max(raw, column.lower), column.upper)


def kleene(predicate: Predicate, record: dict[str, object]) -> bool | None:
    """Three-valued truth; None where it is not known."""
    if isinstance(predicate, Not):
        part = kleene(predicate.part, record)
        return None if part is None else not part
    if isinstance(predicate, (And, Or)):
        parts = [kleene(part, record) for part in predicate.parts]
        decided = isinstance(predicate, Or)
        return decided if decided in parts else None if None in parts else not decided
    assert isinstance(predicate, (Comparison, IsIn))
    value: Any = record[predicate.column]
    if value is None:
        return None
    if isinstance(predicate, IsIn):
        return value in predicate.values
    constant: Any = predicate.value
    return {
        "<": lambda: value < constant,
        "<=": lambda: value <= constant,
        ">": lambda: value > constant,
        ">=": lambda: value >= constant,
        "==": lambda: value == constant,
        "!=": lambda: value != constant,
    }[predicate.operator]()


def leaf(random: np.random.Generator, names: list[str]) -> Predicate:
    name = names[random.integers(len(names))]
    constants = CONSTANTS[name]
    if random.random() < 0.2:
        return IsIn(name, tuple(constants[k] for k in {int(k) for k in random.integers(len(constants), size=2)}))
    whichever = ["==", "!="] if name in ("job", "rooms", "owner") else ["<", "<=", ">", ">=", "==", "!="]
    return Comparison(name, whichever[random.integers(len(whichever))], constants[random.integers(len(constants))])


def condition(random: np.random.Generator, depth: int, names: list[str]) -> Predicate:
    kind = random.random()
    if depth == 0 or kind < 0.2:
        return leaf(random, names)
    if kind < 0.5:
        return ~condition(random, depth - 1, names)
    parts = tuple(condition(random, depth - 1, names) for _ in range(random.integers(2, 4)))
    return And(parts) if kind < 0.75 else Or(parts)


def table(random: np.random.Generator, rows: int) -> dict[str, list[Any]]:
    return {name: [drawn[k] for k in random.integers(len(drawn), size=rows)] for name, drawn in DRAWN.items()}


def arrow(raw: dict[str, list[Any]]) -> Any:
    types = {"age": pa.int64(), "dose": pa.float64(), "income": pa.int32(), "height": pa.float64()}
    types |= {"job": pa.string(), "rooms": pa.int64(), "owner": pa.bool_()}
    return pa.table({name: pa.array(values, type=types[name]) for name, values in raw.items()})


def as_parquet(found: Any, folder: Path) -> object:
    pq.write_table(found, folder / "table.parquet", row_group_size=50)
    return folder / "table.parquet"


def as_csv(found: Any, folder: Path) -> object:
    found.to_pandas(types_mapper=pd.ArrowDtype).to_csv(folder / "table.csv", index=False)
    return folder / "table.csv"


def as_duckdb(found: Any, folder: Path) -> object:
    return duckdb.read_parquet(str(as_parquet(found, folder)))


ENGINES: dict[str, Callable[[Any, Path], object]] = {
    "pandas": lambda found, folder: found.to_pandas(),
    "pandas nullable": lambda found, folder: found.to_pandas(types_mapper=pd.ArrowDtype),
    "polars": lambda found, folder: pl.from_arrow(found),
    "polars lazy": lambda found, folder: pl.from_arrow(found).lazy(),
    "arrow": lambda found, folder: found,
    "duckdb": as_duckdb,
    "parquet": as_parquet,
    "csv": as_csv,
}


@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_counts_what_is_known_to_hold(engine: str, tmp_path: Path) -> None:
    random = np.random.default_rng(271)
    raw = table(random, 400)
    data = ENGINES[engine](arrow(raw), tmp_path)
    schema = bp.Schema(records=400, columns=COLUMNS)
    asked = [condition(random, 3, list(COLUMNS)) for _ in range(25)]
    records = [{name: counted(name, values[k]) for name, values in raw.items()} for k in range(400)]
    found = evaluate_many([bp.count(each) for each in asked], schema, data)
    for each, answer in zip(asked, found, strict=True):
        assert answer.values == (sum(kleene(each, record) is True for record in records),), each


@pytest.mark.parametrize("engine", ENGINES)
def test_bins_and_cells_leave_gaps_out(engine: str, tmp_path: Path) -> None:
    raw = table(np.random.default_rng(272), 300)
    data = ENGINES[engine](arrow(raw), tmp_path)
    schema = bp.Schema(records=300, columns=COLUMNS)
    # so many conditions on one column that they are counted by cells
    wide = bp.histogram("dose", [k / 40 for k in range(-40, 41)])
    for query in (wide, bp.histogram("job"), bp.histogram("income"), bp.crosstab("job", "rooms")):
        names = sorted(query.columns)
        known = sum(all(counted(name, raw[name][k]) is not None for name in names) for k in range(300))
        assert sum(evaluate(query, schema, data).values) == known
    by = evaluate(bp.count(bp.col("age") != 40).by("owner"), schema, data).values
    pairs = [(counted("age", a), b) for a, b in zip(raw["age"], raw["owner"], strict=True)]
    assert by == tuple(sum(a not in (None, 40) and b is owner for a, b in pairs) for owner in (False, True))


def test_what_is_drawn_is_counted_as_an_engine_counts_it() -> None:
    random, names = np.random.default_rng(273), ["age", "dose", "income"]
    raw = table(random, 200)
    drawn = {name: np.array([[math.nan if x in (None, GAP_MARK) else x for x in raw[name]]]) for name in names}
    frame, schema = pd.DataFrame({name: values[0] for name, values in drawn.items()}), bp.Schema(200, COLUMNS)
    marked = {name: np.where(np.isnan(values), GAP_MARK, values) for name, values in drawn.items()}
    for _ in range(40):
        query = bp.count(condition(random, 3, names))
        (exact,) = evaluate(query, schema, frame).values
        # as a user's table has a gap, and as a law of a column draws it
        assert answers(normal_form(query, schema), drawn)[0] == answers(normal_form(query, schema), marked)[0] == exact


TINY = {
    "a": bp.Integer(0, 2, missing=NOT_COUNTED),
    "b": bp.Categorical(["x", "y"], missing=NOT_COUNTED),
    "c": bp.Integer(0, 1),
}
VALUES: dict[str, list[Any]] = {"a": [None, 0, 1, 2], "b": [None, "x", "y"], "c": [0, 1]}


def tiny_condition(random: np.random.Generator, depth: int) -> Predicate:
    if depth == 0:
        name = "abc"[random.integers(3)]
        operators = ["==", "!="] if name == "b" else ["<", "<=", ">", ">=", "==", "!="]
        values = VALUES[name][name != "c" :]
        return Comparison(name, operators[random.integers(len(operators))], values[random.integers(len(values))])
    kind = random.random()
    if kind < 0.4:
        return ~tiny_condition(random, depth - 1)
    return (And if kind < 0.7 else Or)((tiny_condition(random, depth - 1), tiny_condition(random, depth - 1)))


def test_sensitivity_knows_gaps() -> None:
    random = np.random.default_rng(274)
    schema = bp.Schema(records=3, columns=TINY)
    records = [dict(zip(VALUES, each, strict=True)) for each in itertools.product(*VALUES.values())]
    for _ in range(60):
        asked = [tiny_condition(random, int(random.integers(3))) for _ in range(2)]
        query = bp.stack(*map(bp.count, asked))
        moving = {name for name in TINY if random.random() < 0.6} or {"a"}
        if not moving & query.columns:
            continue
        added = [[float(kleene(each, record) is True) for each in asked] for record in records]
        alike = [
            sum(abs(x - y) for x, y in zip(one, other, strict=True))
            for (one, first), (other, second) in itertools.product(zip(added, records, strict=True), repeat=2)
            if all(first[name] == second[name] for name in TINY if name not in moving)
        ]
        found = column_sensitivity(query, moving, schema)
        assert found.lower <= 3 * max(alike) <= found.upper <= 3 * max(alike) + 1e-9, (asked, moving)


def network(models: int = 2) -> bp.DiscreteNetwork:
    """Records whose columns a and b have a state for a gap, and depend on c."""
    random = np.random.default_rng(275)
    tables = [
        {
            "c": random.dirichlet([3, 3]),
            "a": random.dirichlet([2, 2, 2, 1], size=2).T,
            "b": random.dirichlet([2, 2, 1], size=2).T,
        }
        for _ in range(models)
    ]
    made = [
        bp.DiscreteNetwork.from_tables(
            each,
            states={"c": ["0", "1"], "a": ["0", "1", "2", NOT_COUNTED], "b": ["x", "y", NOT_COUNTED]},
            parents={"a": ["c"], "b": ["c"]},
            level="records",
        )
        for each in tables
    ]
    return bp.model_class(made)


def hidden(records: int = 6, **columns: Any) -> bp.DatasetAttributePrivacy:
    schema = bp.Schema(records=records, columns={**TINY, **columns})
    secret = bp.Secret(bp.count(bp.col("c") == 1), pairs=bp.apart(at_most=2))
    return bp.DatasetAttributePrivacy(network(), schema, {"c": secret}, source="a test")


def test_the_law_of_a_record_knows_gaps() -> None:
    random, framework = np.random.default_rng(276), hidden()
    drawn = {k: np.exp(framework.network.tables["a"].values[0][k]) for k in range(4)}
    assert drawn[3].min() > 0
    for _ in range(30):
        asked = tiny_condition(random, 2)
        law = network_record_law(framework.network, framework.schema, bp.count(asked), {}, 0)
        tables = {name: np.exp(table.values[0]) for name, table in framework.network.tables.items()}
        chance = 0.0
        for (i, c), (j, a), (k, b) in itertools.product(
            *(enumerate(each) for each in ([0, 1], [0, 1, 2, None], ["x", "y", None]))
        ):
            p = tables["c"][i] * tables["a"][j, i] * tables["b"][k, i]
            chance += p * (kleene(asked, {"a": a, "b": b, "c": c}) is True)
        known = dict(zip(law.columns[0].tolist(), np.exp(law.logs).tolist(), strict=True))
        assert known.get(1, 0.0) == pytest.approx(chance, abs=1e-12)


BINNED = bp.Binned([0, 10, 50], labels=["few", "many"], within="whole numbers", missing=NOT_COUNTED)


def of_bins() -> bp.DatasetAttributePrivacy:
    network = bp.DiscreteNetwork.from_tables(
        {"ill": [0.7, 0.3], "age": [[0.5, 0.3], [0.3, 0.4], [0.2, 0.3]]},
        states={"ill": ["no", "yes"], "age": ["few", "many", NOT_COUNTED]},
        parents={"age": ["ill"]},
        level="records",
    )
    schema = bp.Schema(records=5, columns={"ill": bp.Categorical(["no", "yes"]), "age": BINNED})
    secret = bp.Secret(bp.count(bp.col("ill") == "yes"), pairs=bp.apart(at_most=2))
    return bp.DatasetAttributePrivacy(network, schema, {"ill": secret}, source="a test")


MADE: dict[str, tuple[Callable[[], bp.DatasetAttributePrivacy], tuple[str, ...]]] = {
    "bins": (of_bins, ("count(age >= 12)", "count(~(age >= 12))", "histogram(age)")),
    "values": (hidden, ("count(a != 1)", 'count(~((a < 2) & (b == "x")))', "crosstab(a, b)")),
}


@pytest.mark.parametrize("kind", MADE)
def test_calibrations_are_replayed_from_their_files(kind: str, tmp_path: Path) -> None:
    make, asked = MADE[kind]
    framework = make()
    file = framework.to_file(tmp_path / "mine.toml")[-1]
    read = bp.read_framework(file)
    assert read.fingerprint() == framework.fingerprint()
    for text, mechanism in itertools.product(asked, (bp.TightMechanism(), bp.ColumnMechanism())):
        calibration = mechanism.calibrate(read, text, epsilon=1.0)
        verdict = bp.verify(calibration, file)
        assert verdict.status == "holds", verdict
        stored = calibration.to_json()
        # with gaps as the value that a column without the word gives them the file says something else
        other = file.read_text().replace('missing = "not counted"\n', "")
        (tmp_path / "other.toml").write_text(other)
        assert bp.verify(stored, tmp_path / "other.toml").status == "fails"


def test_bins_have_a_law_for_their_gaps() -> None:
    framework = of_bins()
    assert [law.values[0] for law in framework.column_laws["age"]] == [0, 10, GAP_MARK]  # type: ignore[union-attr]
    table = bp.simulate(framework, seed=7, records=400)
    assert 40 < table["age"].isna().sum() < 160
    assert table["age"].dropna().between(0, 50).all()
    both = evaluate(bp.stack("count(age < 10)", "count(age >= 10)"), bp.Schema(400, framework.schema.columns), table)
    assert sum(both.values) == table["age"].notna().sum()
    words = bp.simulate(hidden(), seed=7, records=400)
    exact = evaluate(bp.count(bp.col("b") != "x"), bp.Schema(400, TINY), words).values[0]
    assert exact == (words["b"] == "y").sum() > 0 < words["a"].isna().sum()


def test_quantiles_are_of_the_records_that_have_a_value() -> None:
    random, edges = np.random.default_rng(277), [0, 10, 20, 30, 40, 50, 60, 70, 80, 90]
    schema = bp.Schema(records=200, columns=COLUMNS)
    query = bp.quantile("age", [0.25, 0.5, 0.9], edges)
    for share in (0.0, 0.3, 0.9, 1.0):
        ages = np.where(random.random(200) < share, math.nan, random.integers(0, 91, size=200))
        base = [float(each) for each in evaluate(query, schema, pd.DataFrame({"age": ages})).values]
        found = query.derive(base, schema)
        box = [(each - 3, each + 3) for each in base]
        known = np.sort(ages[~np.isnan(ages)])
        for q, value, (low, high), (least, most) in zip(
            query.shares, found, query.enclose([(x, x) for x in base], schema), query.enclose(box, schema), strict=True
        ):
            assert least <= low <= value <= high <= most
            if len(known):
                assert low <= known[math.ceil(q * len(known) - 1e-9) - 1] <= high


@pytest.mark.parametrize(
    "query",
    [
        bp.total("age"),
        bp.mean("dose"),
        bp.variance("income"),
        bp.std("age"),
        bp.covariance("height", "age"),
        bp.linear({"height": 1, "age": 1}),
        bp.moments(["age"]),
        bp.stack("count(age > 4)", "mean(age)"),
    ],
    ids=str,
)
def test_sums_are_refused(query: Any) -> None:
    schema = bp.Schema(records=9, columns=COLUMNS)
    with pytest.raises(QueryError, match=r"must hold a number in every record to be summed.*missing = NUMBER"):
        normal_form(query, schema)
    normal_form(bp.mean("height"), schema)


def test_a_gap_is_no_value_that_can_be_asked_for() -> None:
    schema = bp.Schema(records=9, columns=COLUMNS)
    with pytest.raises(QueryError, match="is compared with its categories"):
        normal_form(bp.count(bp.col("job") == NOT_COUNTED), schema)
    with pytest.raises(QueryError, match="must be compared with numbers"):
        normal_form(bp.count(bp.col("age") < "x"), schema)
    assert [each.label for each in bins_of("job", COLUMNS["job"], None, "x")] == ['job == "white"', 'job == "blue"']


def test_a_gap_satisfies_no_condition_however_far_below_the_bounds_its_constant_lies() -> None:
    schema = bp.Schema(records=3, columns={"age": bp.Integer(0, 120, missing=NOT_COUNTED)})
    table = pd.DataFrame({"age": [30, None, 200]})
    for constant in (-1e40, -(2.0**101), -(2.0**102), -1.0):
        for predicate in (bp.col("age") > constant, bp.col("age") != constant, ~(bp.col("age") <= constant)):
            assert evaluate(bp.count(predicate), schema, table).values == (2,), predicate


def test_declarations_are_checked() -> None:
    for wrong in (
        lambda: bp.Categorical(["a", NOT_COUNTED], missing=NOT_COUNTED),
        lambda: bp.Categorical(["a"], coarsen={"a": [NOT_COUNTED]}, missing=NOT_COUNTED),
        lambda: bp.Binned([0, 1], labels=[NOT_COUNTED], missing=NOT_COUNTED),
    ):
        with pytest.raises(SchemaError, match="it is the state of a gap"):
            wrong()
    with pytest.raises(SchemaError, match='Write a number, or "not counted"'):
        bp.Real(0, 1, missing="counted")  # type: ignore[arg-type]
    assert bp.Categorical(["a", NOT_COUNTED], missing="a").outcomes == ("a", NOT_COUNTED)


def test_a_model_without_gaps_is_refused() -> None:
    secret = bp.Secret(bp.count(bp.col("c") == 1), pairs=bp.apart(at_most=2))
    for column in (bp.Integer(0, 1, missing=NOT_COUNTED), bp.Categorical(["0", "1"], missing=NOT_COUNTED)):
        schema = bp.Schema(records=6, columns={"c": bp.Integer(0, 1), "d": column})
        binary = {"c": [0.5, 0.5], "d": [0.5, 0.5]}
        states = {name: ["0", "1"] for name in binary}
        without = bp.DiscreteNetwork.from_tables(binary, states=states, parents={}, level="records")
        with pytest.raises(FrameworkError, match="must say how often there is one"):
            bp.DatasetAttributePrivacy(without, schema, {"c": secret}, source="a test")
        with pytest.raises(FrameworkError, match="must say how often there is one"):
            bp.ValuePrivacy(without, schema, "c", source="a test")
        with pytest.raises(FrameworkError, match="must say how often there is one"):
            bp.DistributionPrivacy(
                [(without, without)], schema=schema, source="a test", query=bp.count(bp.col("d") == 1)
            )
    normal = GaussianNetwork.linear({"x": 0.0}, {"x": 1.0}, {}, level="records")
    columns = {"x": bp.Real(0, 1, missing=NOT_COUNTED)}
    with pytest.raises(FrameworkError, match="must say how often there is one"):
        bp.ValuePrivacy(normal, bp.Schema(9, columns), {"x": bp.apart(at_most=0.1)}, source="a test")


def test_laws_of_parameters_name_their_gaps(tmp_path: Path) -> None:
    network = bp.DiscreteNetwork.from_tables(
        {"mood": [0.5, 0.5], "age": [[0.6, 0.3], [0.4, 0.7]]},
        states={"mood": ["good", "bad"], "age": ["young", "old"]},
        parents={"age": ["mood"]},
    )
    age = bp.Integer(0, 90, missing=NOT_COUNTED)
    schema = bp.Schema(records=30, columns={"age": age})

    def made(laws: Any, column: Any = None) -> bp.DistributionalAttributePrivacy:
        declared = schema if column is None else bp.Schema(records=30, columns={"age": column})
        return bp.DistributionalAttributePrivacy(network, declared, "mood", source="a test", laws=laws)

    laws = {"young": {20: 0.7, 30: 0.1, NOT_COUNTED: 0.2}, "old": {70: 0.5, NOT_COUNTED: 0.5}}
    framework = made({"age": laws})
    file = framework.to_file(tmp_path / "mine.toml")[-1]
    assert bp.read_framework(file).fingerprint() == framework.fingerprint()
    calibration = bp.TightMechanism().calibrate(framework, "count(age != 20)", epsilon=1.0)
    assert bp.verify(calibration, file).status == "holds"
    gaps = np.mean([bp.simulate(framework, seed=k)["age"].isna().mean() for k in range(40)])
    assert 0.2 < gaps < 0.5
    bins = bp.Binned([0, 50, 90], labels=["a", "b"], within="whole numbers", missing=NOT_COUNTED)
    mixed = {"young": {"a": 0.9, NOT_COUNTED: 0.1}, "old": {"b": 0.75, NOT_COUNTED: 0.25}}
    framework = made({"age": mixed}, bins)
    file = framework.to_file(tmp_path / "bins.toml")[-1]
    assert bp.read_framework(file).fingerprint() == framework.fingerprint()
    assert bp.verify(bp.TightMechanism().calibrate(framework, "count(age < 20)", epsilon=1.0), file).status == "holds"
    words = bp.Categorical(["a", "b"], missing=NOT_COUNTED)
    framework = made({"age": {state: {"a": 0.9, NOT_COUNTED: 0.1} for state in ("young", "old")}}, words)
    file = framework.to_file(tmp_path / "words.toml")[-1]
    assert bp.read_framework(file).fingerprint() == framework.fingerprint()
    with pytest.raises(FrameworkError, match="must say how often there is one"):
        made({"age": {"young": {20: 1.0}, "old": {70: 1.0}}})
    with pytest.raises(LawError, match="must name whole numbers between"):
        made({"age": {"young": {20: 0.5, -4: 0.5}, "old": {70: 1.0}}})
    made(None)  # of a law that nobody declares nothing is known, gaps or not


def test_functions_of_ones_own_see_gaps() -> None:
    schema = bp.Schema(records=4, columns=COLUMNS)
    data = pd.DataFrame(
        {
            "age": [None, 7.4, 99, -1],
            "dose": [0.5, None, 9, -9],
            "job": ["sales", None, "?", "blue"],
            "height": [None] * 4,
        }
    )
    names = ["age", "dose", "job", "height"]
    found = canonical_table({name: COLUMNS[name] for name in names}, data)
    assert found["age"].tolist()[1:] == [7, 90, 0]
    assert math.isnan(found["age"][0])
    assert found["dose"].tolist()[2:] == [1.0, -1.0]
    assert math.isnan(found["dose"][1])
    assert found["job"].tolist() == ["white", NOT_COUNTED, NOT_COUNTED, "blue"]
    assert found["height"][0] == 170
    share = custom(lambda table: table["age"].isna().sum(), columns=["age"], sensitivity=1, name="gaps")
    with pytest.raises(QueryError, match="must move by at most the declared 1"):
        try_sensitivity(share, schema)


def survey(seed: int) -> Any:
    """A table of 1,200 records of which 69 have no age, and some no job."""
    random = np.random.default_rng(seed)
    age = random.integers(18, 91, size=1200).astype(float)
    ill = np.where(random.random(1200) < 0.1 + age / 300, "yes", "no")
    job = random.choice(["white", "blue", "a guild"], p=[0.6, 0.39, 0.01], size=1200).astype(object)
    age[random.choice(1200, size=69, replace=False)] = math.nan
    job[random.random(1200) < 0.1] = None
    return pd.DataFrame({"ill": ill, "age": age, "job": job, "kids": random.integers(0, 3, size=1200)})


def test_a_started_framework_does_not_count_gaps(tmp_path: Path) -> None:
    public, private, place = survey(1), survey(2), tmp_path / "mine.toml"
    paths = [tmp_path / "public.csv", tmp_path / "private.csv"]
    for table, path in zip((public, private), paths, strict=True):
        table.to_csv(path, index=False)
    text, files = files_to_start(paths[1], place, notion="dataset", learn=paths[0], records=1200, protect=["ill"])
    for path, content in {place: text, **files}.items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(content, encoding="utf-8")
    read = bp.read_framework(place)
    assert [name for name, column in read.schema.columns.items() if column.missing == NOT_COUNTED] == ["age", "job"]
    assert read.network.states["age"][-1] == NOT_COUNTED
    assert read.schema["job"] == bp.Categorical(
        ["blue", "white", "other"], coarsen={"other": ["a guild"]}, missing=NOT_COUNTED
    )
    truths = {
        "count(age > 40)": (private["age"] > 40).sum(),
        "count(~(age > 40))": (private["age"] <= 40).sum(),
        'count(job != "white")': private["job"].isin(["blue", "a guild"]).sum(),
        'count((age <= 40) | ~(job == "blue"))': (
            (private["age"] <= 40) | private["job"].isin(["white", "a guild"])
        ).sum(),
    }
    for query, truth in truths.items():
        calibration = bp.TightMechanism().calibrate(read, query, epsilon=1.0)
        assert calibration.useful.verdict != "useless"
        inside = [
            low <= truth <= high for low, high in (calibration.release(path).interval(0.999) for path in paths[1:])
        ]
        assert all(inside), query
    assert "no condition holds where a value is missing" in calibration.release(private).missing_rule
    with pytest.raises(QueryError, match="missing = NUMBER"):
        bp.TightMechanism().calibrate(read, "mean(age)", epsilon=1.0)
    normal_form(bp.mean("kids"), read.schema)
    found = {(each.column, each.problem): each for each in bp.check_data(read, private).findings}
    assert found["age", "missing values"].rows == 69
    assert found["age", "missing values"].remedy == "They are not counted: no condition on the column holds for them."
    assert "not counted" in read._repr_html_()


def test_too_many_rare_labels_count_as_other_as_gaps_do() -> None:
    public = pd.DataFrame(
        {"town": ["a", "b", None] * 200 + [f"t{k}" for k in range(150)], "ill": ["no", "yes", "no"] * 250}
    )
    framework = bp.start(public.head(4), records=9, protect="ill", learn=public, draws=1)
    assert framework.schema["town"] == bp.Categorical(["a", "b", "other"], missing="other")
    named = pd.DataFrame({"town": ["a", "b", None, NOT_COUNTED] * 150, "ill": ["no", "yes", "no"] * 200})
    assert bp.start(named.head(4), records=9, protect="ill", learn=named, draws=1).schema["town"].missing == "other"


def test_the_checker_knows_that_a_record_may_have_a_gap() -> None:
    """All values of a count, so that a gap alone moves the answer."""
    calibration = bp.ColumnMechanism().calibrate(hidden(records=4), "count(a >= 0)", epsilon=1.0)
    assert calibration.scale >= 4
    assert bp.verify(calibration).status == "holds"
    forged = json.loads(calibration.to_json())
    forged["noise"] |= {"scale": 0.5, "exact_scale": (0.5).hex()}
    assert bp.verify(json.dumps(forged)).status == "fails"
    summed = json.loads(calibration.to_json())
    summed["form"]["terms"] = [["steps", "a", 1]]
    assert bp.verify(json.dumps(summed)).status == "not covered"
