"""Records that are handed on: every choice and every order is as likely as any other, in every engine."""

from __future__ import annotations

import io
import math
import shutil
import socket
import sqlite3
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from importlib.util import find_spec
from itertools import combinations, permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bnpriv.core.columns import Binned, Categorical, Integer, Real
from bnpriv.core.queries.predicates import Predicate, col
from bnpriv.core.schema import Schema
from bnpriv.errors import DataError, FileError, MissingExtraError, ParameterError, RefusedError
from bnpriv.render.outputs import require_writable
from bnpriv.tables.private_table import rows as handing
from bnpriv.tables.private_table.rows import ClassedRows, PackedColumn, classed_rows, read_files
from tests.later import Later

dd = Later("dask.dataframe")
duckdb = Later("duckdb")
ibis = Later("ibis")
pa = Later("pyarrow")
pd = Later("pandas")
pl = Later("polars")
pq = Later("pyarrow.parquet")

NAN, INF = math.nan, math.inf
AGES, OLD = Schema(records=6, columns={"age": Integer(0, 120)}), col("age") >= 65
BY_AGE: tuple[Predicate, ...] = (~OLD, OLD)

SCHEMA = Schema(
    records=7,
    columns={
        "age": Integer(0, 120),
        "x": Real(-10, 10),
        "days": Integer(0, 9, missing="not counted"),
        "share": Real(0, 1, missing="not counted"),
        "ward": Categorical(["north", "south"], coarsen={"south": ["se"]}, missing="south"),
        "kind": Categorical(["a", "b"], missing="not counted"),
        "code": Categorical([1, 2, 30], missing=2),
        "ill": Categorical([False, True]),
        "bin": Binned([0, 10, 20], within="whole numbers"),
    },
)
HELD: Mapping[str, Sequence[Any]] = {
    "other": list(range(7)),
    "age": [30.0, 70.0, 12.5, None, 999.0, -4.0, 70.0],
    "x": [1.5, NAN, INF, -INF, None, 2.0, 2.0],
    "days": [1, None, 3, 12, 5, 6, 6],
    "share": [0.5, None, 2.0, 0.25, NAN, 1.0, 1.0],
    "ward": ["north", " south", "se", "west", None, "", "north"],
    "kind": ["a", "c", None, "b", "a", "a", "a"],
    "code": [1, 2, 7, None, 30, 1, 1],
    "ill": [True, None, False, True, False, False, False],
    "bin": [3, 25, None, 19, 20, 0, 0],
}
READ: Mapping[str, Sequence[Any]] = {
    "age": [30, 70, 13, None, 999, -4, 70],
    "x": [1.5, None, INF, -INF, None, 2.0, 2.0],
    "days": [1, None, 3, 12, 5, 6, 6],
    "share": [0.5, None, 2.0, 0.25, None, 1.0, 1.0],
    "ward": ["north", "south", "se", "west", None, "", "north"],
    "kind": ["a", "c", None, "b", "a", "a", "a"],
    "code": [1, 2, 7, None, 30, 1, 1],
    "ill": [True, None, False, True, False, False, False],
    "bin": [3, 25, None, 19, 20, 0, 0],
}
COUNTED: Mapping[str, Sequence[Any]] = {
    "age": [30, 70, 13, 60, 120, 0, 70],
    "x": [1.5, 0.0, 10.0, -10.0, 0.0, 2.0, 2.0],
    "days": [1, None, 3, 9, 5, 6, 6],
    "share": [0.5, None, 1.0, 0.25, None, 1.0, 1.0],
    "ward": ["north", "south", "south", "south", "south", "south", "north"],
    "kind": ["a", None, None, "b", "a", "a", "a"],
    "code": [1, 2, 2, 2, 30, 1, 1],
    "ill": [True, False, False, True, False, False, False],
    "bin": [3, 20, 10, 19, 20, 0, 0],
}
KINDS = {"age": "int64", "x": "double", "days": "int64", "share": "double", "ward": "string", "kind": "string"}
KINDS |= {"code": "int64", "ill": "bool", "bin": "int64"}

Engine = Callable[[Path], object]
LOCAL: dict[str, Engine] = {
    "path": lambda path: path,
    "pandas": lambda path: pd.read_parquet(path),
    "pandas nullable": lambda path: pd.read_parquet(path, dtype_backend="numpy_nullable"),
    "polars": lambda path: pl.read_parquet(path),
    "polars lazy": lambda path: pl.scan_parquet(path),
    "pyarrow": lambda path: pq.read_table(path),
    "duckdb": lambda path: duckdb.read_parquet(str(path)),
    "dask": lambda path: dd.from_pandas(pd.read_parquet(path, dtype_backend="numpy_nullable"), npartitions=3),
    "csv": lambda path: as_csv(path),
    "sqlite": lambda path: as_sqlite(path),
}
SPARK = [pytest.param(name, marks=pytest.mark.slow) for name in ("spark", "spark connect")]


def as_csv(path: Path) -> Path:
    duckdb.read_parquet(str(path)).write_csv(str(path.with_suffix(".csv")))
    return path.with_suffix(".csv")


def as_sqlite(path: Path) -> str:
    with closing(sqlite3.connect(path.with_suffix(".db"))) as connection, connection:
        pd.read_parquet(path).to_sql("people", connection, index=False)
    return f"sqlite:///{path.with_suffix('.db')}#people"


@pytest.fixture(scope="module")
def sessions() -> Iterator[Mapping[str, Any]]:
    """A local session of Spark, and one that reaches the same by Spark Connect."""
    if find_spec("pyspark") is None or shutil.which("java") is None or find_spec("grpc") is None:
        pytest.skip("pyspark with Connect, or Java, is not installed")
    from pyspark.sql import SparkSession
    from pyspark.sql.connect.session import SparkSession as ConnectSession

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    options = {
        "spark.connect.grpc.binding.port": str(port),
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
        "spark.sql.shuffle.partitions": "2",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    builder = SparkSession.builder.master("local[1]")
    for option, value in options.items():
        builder = builder.config(option, value)
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("PYSPARK_PYTHON", sys.executable)  # workers import bnpriv too
        classic = builder.getOrCreate()
        classic.sparkContext.setLogLevel("OFF")
        connect = ConnectSession.builder.remote(f"sc://127.0.0.1:{port}").create()
        yield {"spark": classic, "spark connect": connect}
        connect.stop()
        classic.stop()


@pytest.fixture
def engine(request: pytest.FixtureRequest) -> Engine:
    """How an engine reads a Parquet file; one that is missing skips the test."""
    name = request.param
    if name in LOCAL:
        return LOCAL[name]
    if name == "ibis":
        if find_spec("ibis") is None:
            pytest.skip("ibis is not installed")
        return lambda path: ibis.duckdb.connect().read_parquet(str(path))
    session = request.getfixturevalue("sessions")[name]
    return lambda path: session.read.parquet(str(path))


@pytest.fixture
def seeded(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same chance in every run."""
    monkeypatch.setattr(handing.os, "urandom", np.random.default_rng(28).bytes)


def file_of(folder: Path, columns: Mapping[str, Sequence[Any]] = HELD, name: str = "table.parquet") -> Path:
    path = folder / name
    pq.write_table(pa.table({each: pa.array(values) for each, values in columns.items()}), path, row_group_size=3)
    return path


def records(table: Any) -> list[tuple[Any, ...]]:
    """Return the rows of a table of any engine, in their order, None for a gap."""
    if isinstance(table, Path):
        table = pq.read_table(table)
    for way in ("to_arrow_table", "to_arrow", "toArrow", "to_pyarrow"):
        if callable(getattr(type(table), way, None)):
            table = getattr(table, way)()
            break
    columns = table.to_pydict() if isinstance(table, pa.Table) else {k: table[k].tolist() for k in table.columns}
    missing = [[None if value is pd.NA or value != value else value for value in each] for each in columns.values()]
    return list(zip(*missing, strict=True))


def as_rows(columns: Mapping[str, Sequence[Any]]) -> list[tuple[Any, ...]]:
    return list(zip(*columns.values(), strict=True))


def multiset(rows: Sequence[tuple[Any, ...]]) -> Counter[tuple[Any, ...]]:
    return Counter(rows)


# --- every engine


@pytest.mark.parametrize("count", [False, True])
@pytest.mark.parametrize("engine", [*LOCAL, "ibis", *SPARK], indirect=True)
def test_every_engine_hands_on_the_same_records(engine: Engine, count: bool, tmp_path: Path) -> None:
    data = engine(file_of(tmp_path))
    names, expected = list(SCHEMA.columns), COUNTED if count else READ
    with classed_rows(data, SCHEMA, names, BY_AGE, as_they_count=count) as rows:
        assert rows.counts == (4, 3)
        table = rows.handed_on([4, 3])
    assert multiset(records(table)) == multiset(as_rows(expected))


@pytest.mark.parametrize("engine", [*LOCAL, "ibis", *SPARK], indirect=True)
def test_made_up_and_new_values_in_every_engine(engine: Engine, tmp_path: Path) -> None:
    data = engine(file_of(tmp_path))
    names = ["age", "days", "share", "ward", "kind", "ill"]
    made_up = {
        "age": [5, 6],
        "days": [None, 4],
        "share": [0.125, None],
        "ward": ["south", "north"],
        "kind": ["b", None],
        "ill": [True, False],
    }
    beside = {"code": lambda count: [30] * count, "x": lambda count: np.full(count, 0.5)}
    with classed_rows(data, SCHEMA, names, BY_AGE, as_they_count=True) as rows:
        table = rows.handed_on([0, 3], made_up, beside)
    old = [row for row in as_rows({name: COUNTED[name] for name in names}) if row[0] >= 65]
    new = as_rows(made_up)
    assert multiset(records(table)) == multiset([(*row, 30, 0.5) for row in (*old, *new)])


@pytest.mark.slow
def test_what_spark_expects_of_the_size_does_not_tell_whether_records_were_made_up(
    sessions: Mapping[str, Any], tmp_path: Path
) -> None:
    data, sizes = sessions["spark"].read.parquet(str(file_of(tmp_path))), set[str]()
    for keep, made_up in (([4, 3], {"age": []}), ([3, 3], {"age": [5]})):
        with classed_rows(data, SCHEMA, ["age"], BY_AGE, as_they_count=True) as rows:
            table = rows.handed_on(keep, made_up)
        sizes.add(table._jdf.queryExecution().optimizedPlan().stats().toString())
    assert len(sizes) == 1


def test_tables_come_back_as_they_came_in(tmp_path: Path) -> None:
    path = file_of(tmp_path)
    expected = {
        "pandas": pd.DataFrame,
        "polars": pl.DataFrame,
        "polars lazy": pl.DataFrame,
        "pyarrow": pa.Table,
        "duckdb": duckdb.DuckDBPyRelation,
        "dask": pd.DataFrame,
        "path": pa.Table,
        "sqlite": pa.Table,
    }
    for name, kind in expected.items():
        with classed_rows(LOCAL[name](path), SCHEMA, ["age"], (), as_they_count=True) as rows:
            assert isinstance(rows.handed_on([7]), kind), name


@pytest.mark.parametrize("engine", ["path", "pandas", "duckdb", "ibis", *SPARK], indirect=True)
def test_any_engine_writes_a_file(engine: Engine, tmp_path: Path) -> None:
    data, output = engine(file_of(tmp_path)), tmp_path / "out.parquet"
    with classed_rows(data, SCHEMA, list(SCHEMA.columns), (), as_they_count=False) as rows:
        assert rows.handed_on([7], beside={}, output=output) == output
    assert multiset(records(output)) == multiset(as_rows(READ))
    assert {field.name: str(field.type) for field in pq.read_schema(output)} == KINDS
    assert not list(tmp_path.glob(".bnpriv*"))


@pytest.mark.slow
@pytest.mark.parametrize("engine", SPARK, indirect=True)
def test_spark_gives_the_same_rows_by_the_same_seed(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = {"age": list(range(100)), "ward": ["north"] * 100}
    schema = Schema(records=100, columns={"age": Integer(0, 120), "ward": SCHEMA["ward"]})
    data = engine(file_of(tmp_path, held))

    def handed_on(seed: bytes) -> list[tuple[Any, ...]]:
        monkeypatch.setattr(handing.secrets, "token_bytes", lambda size: seed * size)
        with classed_rows(data, schema, ["age", "ward"], BY_AGE, as_they_count=True) as rows:
            table = rows.handed_on([60, 30], {"age": [1, 2], "ward": ["south", "south"]})
        assert records(table) == records(table)
        return records(table)

    first, second = handed_on(b"a"), handed_on(b"b")
    assert handed_on(b"a") == first != second
    assert sorted(first) != sorted(second)
    kept = [age for age, ward in first if ward == "north"]
    assert (sum(age >= 65 for age in kept), len(kept), len(set(kept)), len(first)) == (30, 90, 90, 92)
    assert kept != sorted(kept)


@pytest.mark.slow
@pytest.mark.parametrize("engine", SPARK, indirect=True)
def test_spark_keeps_every_record_as_often(engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    held = {"age": [*range(20), *range(100, 120)]}
    data, found = engine(file_of(tmp_path, held)), Counter[tuple[int, bool]]()
    monkeypatch.setattr(handing.secrets, "token_bytes", np.random.default_rng(5).bytes)
    schema = Schema(records=40, columns=AGES.columns)
    for _ in range(12):
        with classed_rows(data, schema, ["age"], BY_AGE, as_they_count=True) as rows:
            kept = [age for (age,) in records(rows.handed_on([20, 5]))]
        found.update((age, place < 8) for place, age in enumerate(kept))
    # in 96 first places 77 young ones, with a deviation of 3; each old one 3 times in 12
    assert 66 < sum(number for (age, first), number in found.items() if age < 65 and first) < 88
    often = [found[age, True] + found[age, False] for age in range(100, 120)]
    assert (sum(often), max(often) < 9) == (60, True)


# --- chance


def scattered_numbers(classes: Sequence[int], buckets: int) -> Any:
    """Return records 0, 1, ... of some classes, in buckets."""
    columns = {"id": PackedColumn(Integer(0, 1000), True)}
    found = handing._Scattered(columns, max(classes) + 1, buckets, io.BytesIO())
    packed = np.array([(k, code) for k, code in enumerate(classes)], dtype=found.dtype)
    half = len(packed) // 2
    found.add(packed[:half])
    found.add(packed[half:])
    return found


def handed_out(classes: Sequence[int], buckets: int, keep: Sequence[int], made_up: Sequence[int]) -> tuple[int, ...]:
    pieces = handing._pieces(scattered_numbers(classes, buckets), keep, {"id": made_up} if made_up else {})
    return tuple(number for piece in pieces for number in piece["id"].to_pylist())


def all_outcomes(classes: Sequence[int], keep: Sequence[int], made_up: Sequence[int]) -> list[tuple[int, ...]]:
    sets: list[tuple[int, ...]] = [tuple(made_up)]
    for code, kept in enumerate(keep):
        of_class = [k for k, each in enumerate(classes) if each == code]
        sets = [(*one, *more) for one in sets for more in combinations(of_class, kept)]
    return [order for one in sets for order in permutations(one)]


def too_far(found: Counter[tuple[int, ...]], outcomes: Sequence[tuple[int, ...]]) -> bool:
    """Return whether a chi-square is beyond six of its deviations, or something else was found."""
    expected = found.total() / len(outcomes)
    square = sum((found[each] - expected) ** 2 / expected for each in outcomes)
    degrees = len(outcomes) - 1
    return set(found) > set(outcomes) or square > degrees + 6 * math.sqrt(2 * degrees)


@pytest.mark.parametrize(
    ("classes", "keep", "made_up", "buckets"),
    [
        ([0, 1, 0, 1, 0], [2, 1], [], 1),
        ([0, 1, 0, 1, 0], [2, 1], [], 4),
        ([0, 0, 1, 1], [1, 1], [9], 2),
        ([0, 1, 1, 1], [1, 1], [9], 1),
        ([0, 2, 2, 0], [0, 0, 1], [7, 8], 2),
    ],
)
@pytest.mark.usefixtures("seeded")
def test_every_choice_in_every_order_is_as_likely(
    classes: list[int], keep: list[int], made_up: list[int], buckets: int
) -> None:
    outcomes = all_outcomes(classes, keep, made_up)
    found = Counter(handed_out(classes, buckets, keep, made_up) for _ in range(60 * len(outcomes)))
    assert not too_far(found, outcomes)


@pytest.mark.usefixtures("seeded")
def test_wrong_choices_and_orders_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The check can fail: records in their order, the first of each class, and a shuffle that is none."""
    classes, keep = [0, 1, 0, 1, 0], [2, 1]
    outcomes = all_outcomes(classes, keep, [])

    def refused() -> bool:
        return too_far(Counter(handed_out(classes, 1, keep, []) for _ in range(20 * len(outcomes))), outcomes)

    assert not refused()
    with monkeypatch.context() as patched:
        patched.setattr(handing, "_permutation", lambda count: np.arange(count))
        assert refused()
    with monkeypatch.context() as patched:
        patched.setattr(handing, "_distinct", lambda size, count: np.arange(size - count, size))
        assert refused()
    with monkeypatch.context() as patched:
        turns = np.random.default_rng(3)
        patched.setattr(handing, "_permutation", lambda count: np.roll(np.arange(count), turns.integers(count)))
        assert refused()


@pytest.mark.usefixtures("seeded")
def test_a_whole_table_says_nothing_by_its_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """Places of a class, and of neighbours of the table, through the whole road, in many batches and buckets."""
    monkeypatch.setattr(handing, "ROWS_IN_GROUP", 64)
    rows = 2000
    table = pd.DataFrame({"age": [100 if k % 4 == 0 else 10 for k in range(rows)], "id": range(rows)})
    schema = Schema(records=rows, columns={"age": Integer(0, 120), "id": Integer(0, rows)})
    with classed_rows(table, schema, ["age", "id"], BY_AGE, as_they_count=True) as opened:
        assert opened.counts == (1500, 500)
        out = opened.handed_on([1500, 100])
    old, places = (out.age == 100).to_numpy(), out.id.to_numpy()
    assert (len(out), old.sum(), len(set(places))) == (1600, 100, 1600)
    # the mean place of 100 among 1600: deviation 45; no end without any of them
    assert abs(np.flatnonzero(old).mean() - 800) < 6 * 45
    assert old[:400].sum() > 5 < old[-400:].sum()
    assert abs(np.corrcoef(np.arange(1600), places)[0, 1]) < 6 / 40
    assert np.mean(np.abs(np.diff(places)) == 1) < 0.02
    # and who of the class was kept
    assert abs(np.mean(places[old]) - 1000) < 6 * 58


@pytest.mark.usefixtures("seeded")
def test_sets_of_numbers_are_as_likely() -> None:
    for size, count in ((5, 2), (5, 3), (4, 4), (4, 0), (1, 1)):
        outcomes = list(combinations(range(size), count))
        found = Counter(tuple(handing._distinct(size, count).tolist()) for _ in range(100 * len(outcomes)))
        assert not too_far(found, outcomes) if len(outcomes) > 1 else set(found) == set(outcomes)


def test_a_number_that_would_prefer_some_is_drawn_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """2^64 is one more than a multiple of three, so that the largest number has no partners."""
    drawn = iter([(2**64 - 1).to_bytes(8, "little"), (2**64 - 2).to_bytes(8, "little")])
    monkeypatch.setattr(handing.os, "urandom", lambda size: next(drawn))
    assert handing._below(3, 1).tolist() == [(2**64 - 2) % 3]


def test_rows_with_one_key_are_drawn_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def keys(*numbers: int) -> bytes:
        return b"".join((number << 32).to_bytes(8, "little") for number in numbers)

    drawn = iter([keys(5, 5, 1), keys(3, 2, 1)])
    monkeypatch.setattr(handing.os, "urandom", lambda size: next(drawn))
    assert handing._permutation(3).tolist() == [2, 1, 0]


def test_chance_is_that_of_the_system(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a seed of NumPy nor one of Python decides anything: only what the system gives."""
    monkeypatch.setattr(handing.os, "urandom", lambda size: (np.arange(size) % 251).astype(np.uint8).tobytes())
    assert len({handed_out([0] * 30, 2, [20], []) for _ in range(3)}) == 1


# --- what goes out


def test_types_and_files_do_not_depend_on_values(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handing, "ROWS_IN_GROUP", 3)
    quiet = {name: [each[0]] * 7 for name, each in HELD.items()}
    for count in (False, True):
        facts: list[object] = []
        for name, held in (("one", HELD), ("two", quiet)):
            output = tmp_path / f"{name}.parquet"
            table = pd.DataFrame(held).set_index(["other", "x"], drop=False).rename_axis(["SECRET", "ids"])
            with classed_rows(table, SCHEMA, list(SCHEMA.columns), (), as_they_count=count) as rows:
                assert rows.handed_on([7], output=output) == output
            about = pq.ParquetFile(output).metadata
            groups = [about.row_group(k).num_rows for k in range(about.num_row_groups)]
            shapes = [str(about.row_group(0).column(k).encodings) for k in range(about.num_columns)]
            facts.append((groups, shapes, about.metadata, str(about.schema).partition("\n")[2], about.created_by))
            with classed_rows(table, SCHEMA, list(SCHEMA.columns), (), as_they_count=count) as rows:
                facts[-1] = (facts[-1], rows.handed_on([7]).dtypes.astype(str).tolist())
            assert b"SECRET" not in output.read_bytes()
        assert facts[0] == facts[1]
        assert facts[0][0][0] == [3, 3, 1]  # pyright: ignore[reportIndexIssue]


def test_pandas_types() -> None:
    table = pd.DataFrame({name: HELD[name] for name in SCHEMA.columns})
    found = {}
    for count in (False, True):
        with classed_rows(table, SCHEMA, ["age", "days", "x", "ill"], (), as_they_count=count) as rows:
            out = rows.handed_on([7])
        found[count] = [str(each) for each in out.dtypes]
        assert out.index.equals(pd.RangeIndex(7))
    assert found == {
        False: ["Int64", "Int64", "float64", "boolean"],
        True: ["int64", "Int64", "float64", "bool"],
    }


def test_texts_that_stay_behind_are_nowhere(tmp_path: Path) -> None:
    """Neither in the file nor in the dictionary of a table."""
    held = {"age": [70] * 50 + [10] * 50, "ward": [f"left-{k}" for k in range(50)] + [f"kept-{k}" for k in range(50)]}
    path, output = file_of(tmp_path, held), tmp_path / "out.parquet"
    schema = Schema(records=100, columns={"age": SCHEMA["age"], "ward": SCHEMA["ward"]})
    with classed_rows(path, schema, ["ward"], BY_AGE, as_they_count=False) as rows:
        rows.handed_on([50, 0], output=output)
    texts = [text for (text,) in records(output)]
    assert sorted(texts) == sorted(held["ward"][50:])
    # the dictionary that is in the file names texts in the order of the rows, and no others
    encoded = pq.read_table(output, read_dictionary=["ward"])["ward"]
    assert [text for chunk in encoded.chunks for text in chunk.dictionary.to_pylist()] == texts


def test_numbers_on_the_grid() -> None:
    schema = Schema(records=4, columns={"x": Real(0, 1, steps=10, missing="not counted"), "age": Integer(0, 9)})
    table = pd.DataFrame({"x": [0.123, 0.96, None, 7.0], "age": [1, 2, 3, 4]})
    with classed_rows(table, schema, ["x"], (), as_they_count=True, on_grid=["x"]) as rows:
        out = rows.handed_on([4], {"x": [0.5, 0.25]})
    assert multiset(records(out)) == multiset([(0.1,), (1.0,), (None,), (1.0,), (0.5,), (3 * 0.1,)])


def test_whole_numbers_that_no_double_holds_stay_in_their_class() -> None:
    table = pd.DataFrame({"age": [1e300, -INF, INF, 2.0**60, NAN, 3.0]})
    with classed_rows(table, AGES, ["age"], (), as_they_count=False) as rows:
        out = rows.handed_on([6])
    limit = 2**53
    assert multiset(records(out)) == multiset([(limit,), (-limit,), (limit,), (limit,), (None,), (3,)])


def test_columns_that_are_made_anew_come_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handing, "ROWS_IN_GROUP", 4)
    asked: list[int] = []

    def codes(count: int) -> list[int]:
        asked.append(count)
        return [1 + len(asked)] * count if len(asked) < 2 else [30] * count

    for names in (["age"], []):
        asked.clear()
        with classed_rows(pd.DataFrame(HELD), SCHEMA, names, (), as_they_count=True) as rows:
            out = rows.handed_on([6], {name: [5, 5, 5, 5] for name in names}, {"code": codes})
        assert list(out.columns) == [*names, "code"]
        assert asked == ([4, 4, 2] if names else [4, 2])
        assert out.code.tolist() == [2] * 4 + [30] * (len(out) - 4)


# --- hostile tables


def test_duplicates_stay_duplicates() -> None:
    with classed_rows(pd.DataFrame({"age": [80] * 6}), AGES, ["age"], BY_AGE, as_they_count=True) as rows:
        assert rows.counts == (0, 6)
        assert rows.handed_on([0, 4]).age.tolist() == [80] * 4


def test_nothing_may_be_kept(tmp_path: Path) -> None:
    output, table = tmp_path / "out.parquet", pd.DataFrame({"age": range(6)})
    with classed_rows(table, AGES, ["age"], BY_AGE, as_they_count=False) as rows:
        assert len(rows.handed_on([0, 0])) == 0
    with classed_rows(table, AGES, ["age"], BY_AGE, as_they_count=False) as rows:
        assert pq.read_table(rows.handed_on([0, 0], output=output)).num_rows == 0


def test_a_folder_of_files(tmp_path: Path) -> None:
    folder = tmp_path / "age=7"
    folder.mkdir()
    file_of(folder, {"age": [10, 20, 70]}, "a.parquet")
    file_of(folder, {"age": [80, 90]}, "b.parquet")
    file_of(folder, {"age": [100]}, "c.parquet")
    with classed_rows(folder, AGES, ["age"], BY_AGE, as_they_count=True) as rows:
        assert rows.counts == (2, 4)
        assert sorted(rows.handed_on([2, 4]).to_pydict()["age"]) == [10, 20, 70, 80, 90, 100]


def test_repeated_and_missing_columns_are_refused() -> None:
    twice = pd.DataFrame([[1, 2]] * 6, columns=["age", "age"])
    for data in (twice, pd.DataFrame({"years": range(6)})):
        with pytest.raises(DataError), classed_rows(data, AGES, ["age"], (), as_they_count=True):
            pass


@pytest.mark.parametrize("engine", ["path", "pandas", "polars lazy", "duckdb", "ibis", *SPARK], indirect=True)
def test_another_number_of_rows_is_refused_and_not_told(engine: Engine, tmp_path: Path) -> None:
    data = engine(file_of(tmp_path, {"age": [1, 2, 3, 4, 5]}))
    for wrong in (4, 6):
        opening = classed_rows(data, Schema(records=wrong, columns=AGES.columns), ["age"], (), as_they_count=True)
        with pytest.raises(DataError) as refused, opening:
            pass
        assert "5" not in str(refused.value)


def test_errors_of_an_engine_tell_no_value(tmp_path: Path) -> None:
    broken = duckdb.sql("SELECT cast(t AS INTEGER) AS age FROM (VALUES ('SECRET')) AS v(t)")
    opening = classed_rows(broken, Schema(records=1, columns=AGES.columns), ["age"], (), as_they_count=True)
    with pytest.raises(DataError, match="withheld") as refused, opening:
        pass
    assert "SECRET" not in "".join(traceback.format_exception(refused.value))


def test_what_is_made_anew_may_fail(tmp_path: Path) -> None:
    def fails(count: int) -> list[int]:
        raise ValueError("SECRET")

    output = tmp_path / "out.parquet"
    for target in (None, output):
        opening = classed_rows(pd.DataFrame(HELD), SCHEMA, ["age"], (), as_they_count=True)
        with opening as rows, pytest.raises(DataError) as refused:
            rows.handed_on([7], beside={"code": fails}, output=target)
        assert "SECRET" not in "".join(traceback.format_exception(refused.value))
    assert list(tmp_path.iterdir()) == []


def test_records_go_out_once_and_no_more_than_there_are() -> None:
    table = pd.DataFrame({"age": range(6)})
    with classed_rows(table, AGES, ["age"], BY_AGE, as_they_count=True) as rows:
        rows.handed_on([1, 0])
        with pytest.raises(RefusedError):
            rows.handed_on([1, 0])
    for keep in ([7, 0], [1], [-1, 0]):
        with classed_rows(table, AGES, ["age"], BY_AGE, as_they_count=True) as rows:
            with pytest.raises(ParameterError) as refused:
                rows.handed_on(keep)
            assert "6" not in str(refused.value)


def test_counts_are_not_shown() -> None:
    with classed_rows(pd.DataFrame({"age": range(6)}), AGES, ["age"], BY_AGE, as_they_count=True) as rows:
        assert repr(rows) == "ClassedRows()"
        assert isinstance(rows, ClassedRows)


# --- files


def test_a_table_replaces_none_of_its_files(tmp_path: Path) -> None:
    path = file_of(tmp_path)
    before, link = path.read_bytes(), tmp_path / "link.parquet"
    link.symlink_to(path)
    database = as_sqlite(path)
    places: list[tuple[object, Path]] = [
        (path, path),
        (str(path), link),
        (link, path),
        (tmp_path, path),
        (tmp_path, tmp_path / "new.parquet"),
        (database, tmp_path / "table.db"),
        (path, tmp_path),
        (path, tmp_path / "none" / "out.parquet"),
    ]
    left = sorted(tmp_path.iterdir())
    for data, output in places:
        with pytest.raises(FileError):
            require_writable(output, read_files(data, output))
        if data is not tmp_path:
            opening = classed_rows(data, SCHEMA, ["age"], (), as_they_count=True)
            with opening as rows, pytest.raises(FileError):
                rows.handed_on([7], output=output)
    assert sorted(tmp_path.iterdir()) == left
    assert path.read_bytes() == before
    require_writable(tmp_path / "out.parquet", read_files(path, tmp_path / "out.parquet"))
    assert sorted(tmp_path.iterdir()) == left


class Stopped(KeyboardInterrupt):
    """Ctrl-C."""


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), Stopped()])
def test_what_ends_halfway_leaves_what_was_there(
    error: BaseException, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(handing, "ROWS_IN_GROUP", 3)
    path, output, written = file_of(tmp_path), tmp_path / "out.parquet", []
    output.write_bytes(b"before")
    whole = pq.ParquetWriter.write_table

    def write(self: Any, table: Any, **options: Any) -> None:
        written.append(table)
        if len(written) == 2:
            raise error
        whole(self, table, **options)

    monkeypatch.setattr(pq.ParquetWriter, "write_table", write)
    expected = FileError if isinstance(error, OSError) else Stopped
    with classed_rows(path, SCHEMA, ["age"], (), as_they_count=True) as rows, pytest.raises(expected):
        rows.handed_on([7], output=output)
    assert (len(written), output.read_bytes()) == (2, b"before")
    assert sorted(tmp_path.iterdir()) == sorted([path, output])


def test_records_beyond_memory_lie_in_a_file_that_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handing, "IN_MEMORY", 1)
    folder = tmp_path / "spill"
    folder.mkdir()
    opening = classed_rows(file_of(tmp_path), SCHEMA, [*SCHEMA.columns], BY_AGE, as_they_count=False, folder=folder)
    with opening as rows:
        assert list(folder.iterdir()) == []
        assert multiset(records(rows.handed_on([4, 3]))) == multiset(as_rows(READ))


def test_no_room_for_temporary_files(monkeypatch: pytest.MonkeyPatch) -> None:
    class Full(io.BytesIO):
        def write(self, content: Any) -> int:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(handing.tempfile, "SpooledTemporaryFile", lambda **_: Full())
    opening = classed_rows(pd.DataFrame({"age": range(6)}), AGES, ["age"], (), as_they_count=True)
    with pytest.raises(FileError, match="found No space left on device"), opening:
        pass


def test_arrow_is_named_where_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    opening = classed_rows(pd.DataFrame({"age": range(6)}), AGES, ["age"], (), as_they_count=True)
    with pytest.raises(MissingExtraError, match=r"bnpriv\[tables\]"), opening:
        pass


def test_a_zero_that_is_handed_on_has_no_sign() -> None:
    packed = PackedColumn(Real(-1, 1), True).numbers(np.array([-0.0, 0.0, -0.5]))
    assert not np.signbit(packed[:2]).any()
