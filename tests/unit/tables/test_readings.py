"""Rows 16, 17, 38 and 39: what a value counts as, whoever wrote it, whoever reads it, and whatever type was inferred.

The oracle reads values one by one in plain Python and shares nothing with the code but the declared columns.
"""

from __future__ import annotations

import datetime
import functools
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import narwhals as nw
import numpy as np
import pytest

from bnpriv.core.columns import Categorical, Integer, Real
from bnpriv.core.queries.asked import count, histogram, stack, total
from bnpriv.core.queries.base import Query
from bnpriv.core.queries.predicates import col
from bnpriv.core.schema import Schema
from bnpriv.tables.evaluate import evaluate
from bnpriv.tables.files import file_frame
from tests.hostile_tables import (
    DECLARED,
    FLOATS,
    INF,
    NAN,
    QUERY,
    SCHEMA,
    asked,
    expected_answers,
    oracle,
    table,
)
from tests.later import Later

duckdb = Later("duckdb")
pa = Later("pyarrow")
csv = Later("pyarrow.csv")
pq = Later("pyarrow.parquet")
dd = Later("dask.dataframe")
pd = Later("pandas")
pl = Later("polars")


def arrow_files() -> Iterator[tuple[str, Callable[[Path], object]]]:
    for statistics, dictionary, rows in itertools.product((True, False), (True, False), (1, 4, 100)):
        options = {"write_statistics": statistics, "use_dictionary": dictionary, "row_group_size": rows}
        yield f"pyarrow {statistics} {dictionary} {rows}", lambda path, o=options: pq.write_table(table(), path, **o)


def other_files() -> Iterator[tuple[str, Callable[[Path], object]]]:
    for statistics, rows in itertools.product((True, False), (1, None)):
        options = {"statistics": statistics, "row_group_size": rows}
        yield f"polars {statistics} {rows}", lambda path, o=options: pl.from_arrow(table()).write_parquet(path, **o)
    for dictionary in (True, False):
        yield f"pandas {dictionary}", lambda path, d=dictionary: nullable().to_parquet(path, use_dictionary=d)
    yield "pandas numpy", lambda path: numpy_table().to_parquet(path)
    for rows in (2048, 122880):
        yield (
            f"duckdb {rows}",
            lambda path, r=rows: in_duckdb().write_parquet(str(path), row_group_size=r),
        )


def in_duckdb() -> duckdb.DuckDBPyRelation:
    return duckdb.from_arrow(table())


def nullable() -> pd.DataFrame:
    return table().to_pandas(types_mapper=pd.ArrowDtype)


def numpy_table() -> pd.DataFrame:
    return table().to_pandas()


WRITERS = dict([*arrow_files(), *other_files()])
READERS: dict[str, Callable[[Path], object]] = {
    "path": lambda path: path,
    "duckdb": lambda path: duckdb.read_parquet(str(path)),
    "polars lazy": lambda path: pl.scan_parquet(path),
    "polars": lambda path: pl.read_parquet(path),
    "pyarrow": pq.read_table,
    "pandas": lambda path: pd.read_parquet(path),
    "pandas nullable": lambda path: pd.read_parquet(path, dtype_backend="numpy_nullable"),
    "pandas arrow": lambda path: pd.read_parquet(path, dtype_backend="pyarrow"),
}


def check(
    data: object, query: Query = QUERY, schema: Schema = SCHEMA, expected: Sequence[Fraction] | None = None
) -> None:
    expected = expected_answers() if expected is None else expected
    answer = evaluate(query, schema, data)
    wrong = [
        (label, float(found), float(right))
        for label, found, right in zip(answer.labels, answer.values, expected, strict=True)
        if found != right
    ]
    assert not wrong


@pytest.mark.parametrize(
    "writer", ["pyarrow True True 1", "pyarrow False False 4", "polars True None", "pandas numpy", "duckdb 2048"]
)
def test_row_38_a_file_is_read_by_its_values(writer, tmp_path):
    path = tmp_path / "table.parquet"
    WRITERS[writer](path)
    check(path)


@pytest.mark.parametrize("reader", [reader for reader in READERS if reader != "path"])
def test_row_38_every_reader_agrees(reader, tmp_path):
    path = tmp_path / "table.parquet"
    WRITERS["pyarrow True True 1"](path)
    check(READERS[reader](path))


@pytest.mark.slow
@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("writer", WRITERS)
def test_row_38_every_pair_of_writer_and_reader(writer, reader, tmp_path):
    path = tmp_path / "table.parquet"
    WRITERS[writer](path)
    check(READERS[reader](path))


RATING = Schema(records=1000, columns={"rating": Integer(1, 5), "share": Real(0, 10)})
COVERING = stack(
    count(col("rating").isin([1, 2, 3, 4, 5])),
    count((col("share") < 10) | (col("share") == 10)),
    count(~(col("share") > 10)),
    histogram("share", [0, 10]),
)


@pytest.mark.parametrize("statistics", [True, False])
@pytest.mark.parametrize("missing", [0, 1, 337, 1000])
def test_row_38_the_number_of_missing_rows_is_not_told(missing, statistics, tmp_path):
    values = np.random.default_rng(missing).integers(1, 6, 1000).astype(float)
    values[:missing] = NAN
    path = tmp_path / "ratings.parquet"
    pq.write_table(pa.table({"rating": values, "share": 2 * values}), path, write_statistics=statistics)
    for data in (path, duckdb.read_parquet(str(path)), pl.scan_parquet(path), pd.read_parquet(path)):
        assert evaluate(COVERING, RATING, data).values == (1000, 1000, 1000, 1000)


def test_row_38_tables_inside_duckdb(tmp_path):
    connection = duckdb.connect(str(tmp_path / "base.duckdb"))
    connection.sql("CREATE TABLE t AS SELECT unnest([1.0::DOUBLE, 2, 'nan', 3, '-inf', NULL]) AS x")
    connection.sql("CHECKPOINT")
    schema = Schema(records=6, columns={"x": Integer(0, 3, missing=1)})
    query = stack(total("x"), count(col("x") > 2), count(col("x") <= 3))
    assert evaluate(query, schema, connection.sql("FROM t")).values == (8, 1, 6)


def test_a_file_that_errs_about_its_own_values_is_read_by_its_values(tmp_path):
    true, claimed = np.array([1.0, 2.0, 30.0]), np.array([1.0, 2.0, 3.0])
    paths = tmp_path / "true.parquet", tmp_path / "claimed.parquet", tmp_path / "forged.parquet"
    for path, values in zip(paths, (true, claimed), strict=False):
        pq.write_table(pa.table({"x": values}), path, use_dictionary=False, compression="none")
    held, said = paths[0].read_bytes(), paths[1].read_bytes()
    # the values of one file, the footer of the other, which says that none is above 3
    split = len(held) - int.from_bytes(held[-8:-4], "little") - 8
    paths[2].write_bytes(held[:split] + said[split:])
    schema = Schema(records=3, columns={"x": Integer(0, 10)})
    query = stack(total("x"), count(col("x") > 3))
    assert evaluate(query, schema, paths[2]).values == evaluate(query, schema, paths[0]).values == (13, 1)
    with file_frame(paths[2]) as (frame, names):
        # a bare comparison, which DuckDB answers from the footer unless it is told not to
        assert frame.select((nw.col("x") > 3).alias("above")).collect("polars")["above"].to_list() == [
            False,
            False,
            True,
        ]
        assert names == ["x"]


# --- types that are inferred


@functools.cache
def hostile() -> list[object]:
    return [
        *FLOATS, True, False, np.bool_(True), 1, 0, 3, -7, 2**53 + 1, 10**30, -(10**400), np.float32(0.1), np.int8(-7),
        Decimal("0.3"), Decimal("1"), Decimal("NaN"), Decimal("sNaN"), Decimal("-Infinity"), np.timedelta64(1, "s"),
        "a", "", "1", "n/a", "-7", "no", "nan", "NaN", "Yes", "1\n", "0x1", "1_0", "\ud800", b"a", b"1", [1], {"a": 1},
        datetime.datetime(2020, 1, 1), pd.NA, pd.NaT, pd.Timestamp(0), 1 + 0j, object(), float, Fraction(1, 2),
        "9" * 999,
    ]  # fmt: skip


class Pretender:
    """Neither comparison nor hash nor class of it can be asked for."""

    __hash__ = None

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("SECRET")

    def __float__(self) -> float:
        raise RuntimeError("SECRET")

    @property
    def __class__(self) -> type:
        raise RuntimeError("SECRET")


def plain(value: object) -> object:
    """The same value as a plain one of Python."""
    if isinstance(value, np.generic) and not isinstance(value, np.timedelta64):
        return value.item()
    return None if isinstance(value, Decimal) and value.is_nan() else value


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("kind", DECLARED)
def test_row_39_objects_are_read_one_by_one(kind, seed):
    random = np.random.default_rng(seed)
    places = range(len(hostile())) if seed == 0 else random.integers(0, len(hostile()), random.integers(1, 9))
    values = [hostile()[place] for place in places]
    column, schema = DECLARED[kind], Schema(records=len(values) + 1, columns={"x": DECLARED[kind]})
    expected = oracle(column, [*map(plain, values), None])
    series = pd.Series([*values, Pretender()], dtype="object")
    frame = pl.DataFrame({"x": pl.Series([*values, Pretender()], dtype=pl.Object)})
    for data in (
        pd.DataFrame({"x": series}),
        series.set_axis([7] * len(series)).to_frame("x"),
        frame,
        frame.lazy(),
    ):
        check(data, asked("x", column), schema, expected)


def pandas_tables(values: Sequence[object]) -> list[pd.DataFrame]:
    inferred = pd.DataFrame({"x": values})
    found = [inferred, inferred.astype("object"), inferred.astype("category")]
    with suppress(OverflowError):  # pandas 2 cannot convert whole numbers beyond 64 bits
        found.append(inferred.convert_dtypes())
    return found


def four_values() -> list[list[object]]:
    """Return columns of which pandas infers different types."""
    return [
        [True, None, None, False],
        [True, True, False, True],
        [None, None, None, None],
        [NAN, NAN, NAN, NAN],
        [pd.NaT, pd.NaT, None, None],
        [1, 2, "n/a", 3],
        [1, 2, None, 3],
        ["1", "2", "3", "x"],
        ["1", "2", "3", "0.5"],
        ["x", "y", "a", "no"],
        [0.0, -0.0, 1.0, NAN],
        [0, 1, 2**62, 10**30],
        [1, 3, 1, -7],
        [pd.Timestamp(0), pd.Timestamp(1), None, 1],
        [pd.Timestamp(0), pd.Timestamp(1), None, None],
    ]


@pytest.mark.parametrize("which", range(15))
@pytest.mark.parametrize("kind", DECLARED)
def test_row_39_no_type_that_pandas_infers_changes_the_answer(kind, which):
    values = four_values()[which]
    column, schema = DECLARED[kind], Schema(records=4, columns={"x": DECLARED[kind]})
    expected = oracle(column, values)
    for data in pandas_tables(values):
        check(data, asked("x", column), schema, expected)


KINDS_IN_DASK = [
    kind if kind in ("real", "coarse") else pytest.param(kind, marks=pytest.mark.slow) for kind in DECLARED
]
"""A column of numbers, and one of words and numbers that are mapped; the slow run asks all kinds."""


@pytest.mark.parametrize("which", range(15))
@pytest.mark.parametrize("kind", KINDS_IN_DASK)
def test_row_39_no_type_that_pandas_infers_changes_the_answer_of_dask(kind, which):
    values = four_values()[which]
    column, schema = DECLARED[kind], Schema(records=4, columns={"x": DECLARED[kind]})
    expected = oracle(column, values)
    for data in pandas_tables(values):
        if data["x"].dtype != "object":  # Dask turns these into texts
            check(dd.from_pandas(data, npartitions=2), asked("x", column), schema, expected)


TEXTS = [
    "1,3,0,-7", "1,,0,3", ",,,", "1,x,0,3", "true,false,,true", "True,False,True,True", "yes,no,maybe,",
    "2020-01-01,2020-01-02,2020-01-03,2020-01-04", "0.1,1e300,-inf,nan", "01,1.0, 1,1e0", "a,no,-7,b",
]  # fmt: skip


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("kind", DECLARED)
def test_row_39_no_reader_of_csv_refuses_for_the_values(kind, text, tmp_path):
    path = tmp_path / "table.csv"
    fields = text.split(",")
    path.write_text("k,x\n" + "".join(f"{k},{field}\n" for k, field in enumerate(fields)))
    column, schema = DECLARED[kind], Schema(records=4, columns={"x": DECLARED[kind]})
    query = asked("x", column)
    check(path, query, schema, oracle(column, [field or None for field in fields]))
    for reader in (pd.read_csv, pl.read_csv, csv.read_csv, lambda p: duckdb.read_csv(str(p))):
        evaluate(query, schema, reader(path))


def test_row_39_bytes_and_quotes_in_csv_are_missing_values(tmp_path):
    path = tmp_path / "bytes.csv"
    path.write_bytes(b'note,x,g\n\xff\xfe,1,\xc3\xa9\nb,\x801,\xe9\nc,2,"a"\nd,3,"a"b\n\x00,4,e\xcc\ne,5,a"b"\n')
    schema = Schema(records=6, columns={"x": Integer(0, 9, missing=7), "g": Categorical(["é", "a", "z"], missing="z")})
    assert evaluate(stack(total("x"), histogram("g")), schema, path).values == (22, 1, 2, 3)
    assert [child.name for child in tmp_path.iterdir()] == ["bytes.csv"]


def test_row_39_an_empty_category_survives_csv(tmp_path):
    schema = Schema(records=4, columns={"g": Categorical(["a", ""], missing="a"), "n": Integer(0, 9)})
    frame = pl.DataFrame({"g": ["", None, "a", ""], "n": [1, 2, 3, 4]})
    query = histogram("g")
    frame.write_csv(tmp_path / "polars.csv")
    duckdb.sql("FROM frame").write_csv(str(tmp_path / "duckdb.csv"))
    csv.write_csv(frame.to_arrow(), tmp_path / "arrow.csv")
    frame.select("g").write_csv(tmp_path / "one.csv")
    for data in (frame, frame.to_pandas(), frame.to_arrow(), *sorted(tmp_path.iterdir())):
        assert evaluate(query, schema, data).values == (2, 2)


def test_row_39_minus_zero_is_category_0():
    schema = Schema(records=4, columns={"k": Categorical([1, 0])})
    frame = pl.DataFrame({"k": [0.0, -0.0, 1.0, None]})
    text = frame.with_columns(pl.Series("k", ["0", "-0", "1", None]))
    for held in (frame, text, frame.cast(pl.Float32)):
        for data in (held, held.lazy(), held.to_arrow(), held.to_pandas(), duckdb.sql("FROM held")):
            assert evaluate(histogram("k"), schema, data).values == (2, 2)


@pytest.mark.parametrize("value", [2**53 + 1, 2**62 + 1, -(2**63), 2**63 - 1])
def test_row_16_long_whole_numbers_are_rounded_once(value):
    schema = Schema(records=1, columns={"x": Real(-(2.0**70), 2.0**70)})
    query = stack(count(col("x") == float(value)), count(col("x") > math.nextafter(float(value), -INF)))
    frame = pl.DataFrame({"x": pl.Series([value], dtype=pl.Int64)})
    wide = duckdb.sql("SELECT x::HUGEINT AS x FROM frame")
    arrow = frame.to_arrow()
    for data in (
        frame,
        arrow,
        arrow.to_pandas(),
        arrow.to_pandas(types_mapper=pd.ArrowDtype),
        duckdb.sql("FROM frame"),
    ):
        assert evaluate(query, schema, data).values == (1, 1)
    assert evaluate(query, schema, wide).values == (1, 1)


@pytest.mark.parametrize("text", ["0.3", "0.7", "-0.1", "123456789012345678.123456789", "0.000000001", "2.675"])
def test_row_16_decimals_of_256_bits_are_rounded_once(text):
    wide = pa.table({"x": pa.array([Decimal(text)], pa.decimal256(60, 9))})
    schema = Schema(records=1, columns={"x": Real(-1, 2.0**70)})
    for data in (wide, wide.to_pandas(), wide.to_pandas(types_mapper=pd.ArrowDtype)):
        assert evaluate(count(col("x") == float(text)), schema, data).values == (1,)


@pytest.mark.parametrize("width", ["decimal32", "decimal64", "decimal128", "decimal256"])
def test_row_39_decimals_of_any_width_are_numbers(width):
    if not hasattr(pa, width):
        pytest.skip("an older pyarrow")
    values = [Decimal("0.5"), None, Decimal("2.5"), Decimal("-9")]
    held = pa.table({"x": pa.array(values, getattr(pa, width)(8, 3))})
    schema = Schema(records=4, columns={"x": Integer(0, 4, missing=1)})
    texts = Schema(records=4, columns={"x": Categorical(["other", "2.5"])})
    for data in (held, pa.concat_tables([held.slice(0, 1), held.slice(1)]), held.to_pandas()):
        assert evaluate(total("x"), schema, data).values == (1 + 1 + 3 + 0,)
        assert evaluate(count(col("x") == "2.5"), texts, data).values == (1,)


@pytest.mark.parametrize("text", ["0.3", "0.7", "-0.1", "123456789012345678.123456789", "0.000000001", "2.675"])
def test_row_16_decimals_are_rounded_once(text):
    schema = Schema(records=1, columns={"x": Real(-1, 2.0**70)})
    query = count(col("x") == float(text))
    arrow = pa.table({"x": pa.array([Decimal(text)], pa.decimal128(38, 9))})
    pandas = arrow.to_pandas(types_mapper=pd.ArrowDtype)
    for data in (arrow, pl.from_arrow(arrow), pandas, arrow.to_pandas(), duckdb.sql("FROM arrow")):
        assert evaluate(query, schema, data).values == (1,)


@pytest.mark.parametrize("seed", range(2))
def test_row_17_the_order_of_rows_changes_no_bit(seed, tmp_path):
    order = np.random.default_rng(seed).permutation(len(table()))
    pq.write_table(table().take(order), tmp_path / "table.parquet", row_group_size=seed + 1)
    check(tmp_path / "table.parquet")
