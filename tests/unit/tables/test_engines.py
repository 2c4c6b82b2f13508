"""Rows 1, 16, 17, 35, 38, 39 and 46: every engine gives the same bits for the same table, Spark and Ibis too."""

from __future__ import annotations

import math
import shutil
import socket
import traceback
from collections.abc import Callable, Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from bnpriv.core.columns import Categorical, Integer, Real
from bnpriv.core.queries.asked import count, histogram, mean, moments, stack, total
from bnpriv.core.queries.base import Query
from bnpriv.core.queries.builtin import custom
from bnpriv.core.queries.predicates import col
from bnpriv.core.schema import Schema
from bnpriv.errors import DataError, SizeError
from bnpriv.io.query_text import parse_query
from bnpriv.tables import evaluate as scanning
from bnpriv.tables.evaluate import evaluate
from tests import hostile_tables as hostile
from tests.later import Later

dd = Later("dask.dataframe")
duckdb = Later("duckdb")
ibis = Later("ibis")
pa = Later("pyarrow")
pd = Later("pandas")
pl = Later("polars")
pq = Later("pyarrow.parquet")

Read = Callable[[Path], object]
Engines = Callable[[str], Read]

LOCAL: dict[str, Read] = {
    "path": lambda path: path,
    "pandas": lambda path: pd.read_parquet(path, dtype_backend="numpy_nullable"),
    "polars": lambda path: pl.read_parquet(path),
    "polars lazy": lambda path: pl.scan_parquet(path),
    "pyarrow": lambda path: pq.read_table(path),
    "duckdb": lambda path: duckdb.read_parquet(str(path)),
    "dask": lambda path: dd.from_pandas(pd.read_parquet(path, dtype_backend="numpy_nullable"), npartitions=3),
}
SPARK = [pytest.param(name, marks=pytest.mark.slow) for name in ("spark", "spark connect")]
OTHERS = ["ibis", *SPARK]


@pytest.fixture(scope="module")
def sessions() -> Iterator[Mapping[str, object]]:
    """A local session of Spark, and one that reaches the same by Spark Connect."""
    if find_spec("pyspark") is None:
        pytest.skip("pyspark is not installed")
    if shutil.which("java") is None:
        pytest.skip("Java is not installed")
    if find_spec("grpc") is None:
        pytest.skip("pyspark is installed without Connect")
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
        "spark.sql.shuffle.partitions": "1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    builder = SparkSession.builder.master("local[1]")
    for option, value in options.items():
        builder = builder.config(option, value)
    classic = builder.getOrCreate()
    classic.sparkContext.setLogLevel("OFF")
    connect = ConnectSession.builder.remote(f"sc://127.0.0.1:{port}").create()
    yield {"spark": classic, "spark connect": connect}
    connect.stop()
    classic.stop()


@pytest.fixture
def engines(request: pytest.FixtureRequest) -> Engines:
    """How each engine reads a Parquet file; an engine that is missing skips the test."""

    def reader(name: str) -> Read:
        if name in LOCAL:
            return LOCAL[name]
        if name == "ibis":
            if find_spec("ibis") is None:
                pytest.skip("ibis is not installed")
            return lambda path: ibis.duckdb.connect().read_parquet(str(path))
        session = request.getfixturevalue("sessions")[name]
        return lambda path: session.read.parquet(str(path))

    return reader


def written(folder: Path, columns: object) -> Path:
    path = folder / "table.parquet"
    pq.write_table(columns if isinstance(columns, pa.Table) else pa.table(columns), path, row_group_size=7)
    return path


# --- hostile values


@pytest.mark.parametrize("kind", hostile.DECLARED)
@pytest.mark.parametrize("engine", OTHERS)
def test_rows_1_38_and_39_what_a_value_counts_as(engine, kind, engines, tmp_path):
    read, column = engines(engine), hostile.DECLARED[kind]
    # a column without a type is no column of a Parquet file for Spark
    held = [name for name in hostile.HELD if name != "nothing"]
    path = written(tmp_path, {name: hostile.columns()[name] for name in held})
    schema = Schema(records=17, columns=dict.fromkeys(held, column))
    answer = evaluate(stack(*(hostile.asked(name, column) for name in held)), schema, read(path))
    expected = [value for name in held for value in hostile.oracle(column, hostile.columns()[name].to_pylist())]
    assert list(answer.values) == expected


LINES = [
    "1",
    "1\n",
    "1\r",
    "1\r\n",
    "1\x85",
    "1\u2028",
    "1\u2029",
    " 1",
    "1\t",
    "\x0b1",
    "1\x00",
    "1d",
    "1f",
    "0x1",
    "true\r",
]


@pytest.mark.parametrize("engine", [*LOCAL, *OTHERS])
def test_row_39_line_ends_and_letters_after_a_number_make_it_none(engine, engines, tmp_path):
    read, path = engines(engine), written(tmp_path, {"x": LINES})
    schema = Schema(records=len(LINES), columns={"x": Integer(0, 9, missing=5)})
    assert evaluate(total("x"), schema, read(path)).values == (2 + 5 * (len(LINES) - 2),)


def double_table(rows: int = 600) -> dict[str, np.ndarray]:
    random = np.random.default_rng(17)
    return {
        "x": random.uniform(-1, 1, rows) * 10.0 ** random.integers(-12, 3, rows),
        "y": np.where(random.random(rows) < 0.2, math.nan, random.uniform(0.1, 0.7, rows)),
    }


def precise_query() -> Query:
    table = double_table()
    cuts = sorted({float(value) for value in table["x"][:40] if abs(value) < 700})
    return stack(
        total("x"),
        moments(["y"]),
        *(count(col("x") == cut) for cut in cuts[::4]),
        *(count(col("y") >= float(value)) for value in table["y"][:8] if not math.isnan(value)),
        histogram("x", [-700, *cuts, 700]),
        histogram("y", np.linspace(0.1, 0.7, 40).tolist()),
    )


PRECISE = Schema(
    records=600,
    columns={
        "x": Real(-700.0000000000001, 700.0000000000001, missing=0.30000000000000004),
        "y": Real(0.1, 0.7, steps=1_000_003, missing=0.30000000000000004),
    },
)


@pytest.mark.parametrize("engine", [*(name for name in LOCAL if name != "pandas"), *OTHERS])
def test_every_double_reaches_the_engine_as_it_is(engine, engines, tmp_path):
    """Bounds, rates and constants of 17 digits: a decimal that is rounded twice would be another double."""
    read, path = engines(engine), written(tmp_path, double_table())
    expected = evaluate(precise_query(), PRECISE, pd.DataFrame(double_table())).values
    assert evaluate(precise_query(), PRECISE, read(path)).values == expected


# --- roads


WIDE = stack(
    mean("x"),
    histogram("x", np.linspace(-3, 3, 61).tolist()),
    histogram("g"),
    histogram("k"),
    count((col("x") > 0) & (col("g") == "c3")),
)
WIDE_SCHEMA = Schema(
    records=1000,
    columns={
        "x": Real(-3, 3, missing=0.25),
        "g": Categorical([f"c{k}" for k in range(40)], missing="c7"),
        "k": Categorical(list(range(50)), missing=3),
    },
)


def wide_table() -> dict[str, object]:
    random = np.random.default_rng(3)
    return {
        "x": pa.array([None if k % 9 == 0 else float(v) for k, v in enumerate(random.normal(size=1000))]),
        "g": pa.array([None if k == 41 else f"c{k}" for k in random.integers(0, 45, 1000)]),
        "k": pa.array([None if k == 55 else int(k) for k in random.integers(-5, 60, 1000)]),
    }


@pytest.mark.parametrize("engine", [*LOCAL, *OTHERS])
def test_row_45_many_bins_of_several_columns_take_one_scan(engine, engines, tmp_path, monkeypatch):
    read, path = engines(engine), written(tmp_path, wide_table())
    frames = []
    plain = scanning.collected
    monkeypatch.setattr(scanning, "collected", lambda frame: frames.append(frame) or plain(frame))
    found = evaluate(WIDE, WIDE_SCHEMA, read(path)).values
    assert sum(found[1:61]) == sum(found[61:101]) == sum(found[101:151]) == 1000
    monkeypatch.undo()
    assert found == evaluate(WIDE, WIDE_SCHEMA, pd.DataFrame(pq.read_table(path).to_pandas())).values
    if engine in ("ibis", "polars lazy", "spark", "spark connect"):
        (frame,) = frames
    if engine == "spark":
        assert frame.to_native()._jdf.queryExecution().optimizedPlan().toString().count("Relation [") == 1


@pytest.mark.parametrize("engine", [*LOCAL, *OTHERS])
def test_cells_groups_and_products_are_the_same_everywhere(engine, engines, tmp_path):
    read, path = engines(engine), written(tmp_path, {**wide_table(), "y": double_table(1000)["y"]})
    schema = Schema(records=1000, columns={**WIDE_SCHEMA.columns, "y": PRECISE["y"]})
    query = parse_query(
        'stack(crosstab(g ["c1", "c7", "c9"], x [-3, 0, 1, 3]), count(x > 0.5) by k [1, 2, 3], covariance(x, y), '
        "std(y), median(x, [-3, -1, 0, 0.25, 1, 3]))"
    )
    expected = evaluate(query, schema, pq.read_table(path).to_pandas()).values
    assert evaluate(query, schema, read(path)).values == expected
    assert len(expected) == 9 + 3 + 3 + 2 + 5


@pytest.mark.parametrize("engine", OTHERS)
def test_row_45_more_bins_than_an_engine_searches_are_refused(engine, engines, tmp_path):
    read, path = engines(engine), written(tmp_path, wide_table())
    with pytest.raises(SizeError, match=r"at most 1,024 constants.*; found 2,001"):
        evaluate(histogram("x", np.linspace(-3, 3, 2001).tolist()), WIDE_SCHEMA, read(path))


@pytest.mark.parametrize("engine", OTHERS)
def test_custom_queries_see_the_same_table(engine, engines, tmp_path):
    read, path = engines(engine), written(tmp_path, wide_table())
    query = custom(
        lambda t: [t["x"].max(), (t["g"] == "c7").sum(), t["k"].sum()],
        columns=["x", "g", "k"],
        sensitivity=1e6,
        dimension=3,
    )
    assert evaluate(query, WIDE_SCHEMA, read(path)).values == evaluate(query, WIDE_SCHEMA, path).values


def test_row_16_sums_that_no_double_holds(engines, tmp_path):
    rows = 5000
    columns = {"x": pa.array([2**31 - 1] * rows, pa.int32()), "y": pa.array([0.99999] * rows)}
    path = written(tmp_path, columns)
    column = Real(0, 1, steps=2**25)
    schema = Schema(records=rows, columns={"x": Integer(0, 2**31), "y": column})
    step = column.step(0.99999)
    assert 2**62 < step**2 * rows < 2**63
    for engine in [*LOCAL, *(["ibis"] if find_spec("ibis") else [])]:
        answer = evaluate(stack(total("x"), moments(["y"])), schema, engines(engine)(path)).values
        assert answer[0] == rows * (2**31 - 1), engine
        assert answer[2] == step**2 * column.grid**2, engine


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["spark", "spark connect"])
def test_row_16_sums_that_no_double_holds_in_spark(engine, engines, tmp_path):
    path = written(tmp_path, {"y": pa.array([0.99999] * 5000)})
    column = Real(0, 1, steps=2**25)
    answer = evaluate(moments(["y"]), Schema(records=5000, columns={"y": column}), engines(engine)(path)).values
    assert answer[1] == column.step(0.99999) ** 2 * column.grid**2


# --- names, refusals, errors

NAMES = ["^x$", "*", 'a"b', "a.b", "a`b", "c0", "p1", "t0", "g0", "rows", "X", "x y"]


@pytest.mark.parametrize("engine", [*(name for name in LOCAL if name != "dask"), *OTHERS])
def test_row_46_names_are_taken_literally(engine, engines, tmp_path):
    read, path = engines(engine), written(tmp_path, {name: [k, k] for k, name in enumerate(NAMES)})
    schema = Schema(records=2, columns={name: Integer(0, 20) for name in NAMES})
    assert evaluate(stack(*(total(name) for name in NAMES)), schema, read(path)).values == tuple(
        2 * k for k in range(len(NAMES))
    )


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["spark", "spark connect"])
def test_row_46_names_that_spark_takes_for_one(engine, sessions):
    table = sessions[engine].createDataFrame([(1, 2), (1, 2)], "a long, b long")
    schema = Schema(records=2, columns={"x": Integer(0, 9), "X": Integer(0, 9)})
    assert evaluate(stack(total("x"), total("X")), schema, table.toDF("x", "X")).values == (2, 4)
    with pytest.raises(DataError, match="found 2 of that name"):
        evaluate(total("x"), schema, table.toDF("x", "x"))


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["spark", "spark connect"])
def test_texts_of_spark_that_compare_without_case(engine, sessions):
    table = (
        sessions[engine].createDataFrame([("F",), ("f",), ("m",)], "g string").selectExpr("g collate UTF8_LCASE as g")
    )
    schema = Schema(records=3, columns={"g": Categorical(["f", "m"], missing="m")})
    assert evaluate(histogram("g"), schema, table).values == (1, 2)


@pytest.mark.parametrize("engine", OTHERS)
def test_rows_13_and_35_refusals_tell_no_values(engine, engines, tmp_path):
    read, path = engines(engine), written(tmp_path, {"x": [1.0, 2.0], "SECRET": ["SECRET", "1"]})
    schema = Schema(records=2, columns={"x": Real(0, 3), "y": Real(0, 3)})
    with pytest.raises(DataError, match="must have one column 'y'; found none") as missing:
        evaluate(total("y"), schema, read(path))
    assert "SECRET" not in str(missing.value)
    for records in (1, 3):
        with pytest.raises(DataError, match="row count is not the declared n"):
            evaluate(total("x"), Schema(records=records, columns={"x": Real(0, 3)}), read(path))
    table = read(path)
    if engine == "ibis":
        broken = table.mutate(x=table.SECRET.cast("float64"))
    else:
        broken = table.selectExpr("cast(SECRET as double) as x")
    with pytest.raises(DataError, match="withheld") as refused:
        evaluate(total("x"), schema, broken)
    assert refused.value.__context__ is None
    assert "SECRET" not in "".join(traceback.format_exception(refused.value))
