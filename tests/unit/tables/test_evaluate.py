"""Evaluation: every engine gives the same fractions as plain Python, and no error says a value of the data."""

from __future__ import annotations

import math
import operator
import traceback
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

import numpy as np
import pytest

from bnpriv.core.columns import Categorical, Integer, Real
from bnpriv.core.queries.asked import count, crosstab, histogram, linear, mean, moments, proportion, stack, total
from bnpriv.core.queries.base import Indicator, Product, Query
from bnpriv.core.queries.builtin import custom
from bnpriv.core.queries.predicates import And, Comparison, IsIn, Not, Or, Predicate, col
from bnpriv.core.queries.spread import covariance, quantile, std, variance
from bnpriv.core.schema import Schema
from bnpriv.errors import BnprivError, DataError, FileError, QueryError
from bnpriv.tables.evaluate import evaluate, try_sensitivity
from tests.later import Later

duckdb = Later("duckdb")
pa = Later("pyarrow")
dd = Later("dask.dataframe")
pd = Later("pandas")
pl = Later("polars")

Row = Mapping[str, object]

INF, NAN = math.inf, math.nan
HEIGHTS = [
    150.0,
    NAN,
    None,
    INF,
    -INF,
    1e308,
    -1e308,
    170.0,
    math.nextafter(170, 200),
    120.0,
    220.0,
    119.9,
    5e-324,
    -0.0,
]
AGES = [17.0, 17.5, -3.5, None, NAN, INF, 1e300, -0.0, -5.5, 120.0, 0.49999999999999994, 2.5, 3.5, -INF]
GENDERS = ["f", "m", None, "unheard of", "", "F", "f ", "m", "x", "nan", "None", "f", "x", "NULL"]
SMOKES = [True, False, None, True, False, None, True, True, False, True, None, False, True, False]
GROUPS = [1, 2, 3, None, 0, -1, 300, 1, 2, 3, None, 2, 1, 7]
BYTES = [0, 1, 255, 254, 7, 0, 3, 9, 100, 128, 127, 5, 200, 250]
SINGLES = [0.1, 0.2, NAN, INF, 0.7, 16777217.0, 1 / 3, -0.1, 1e-40, 0.5, 0.9, 1.0, 2.0, -INF]
COPIES = 20
ROWS = len(HEIGHTS) * COPIES

SCHEMA = Schema(
    records=ROWS,
    columns={
        "height": Real(120, 220),
        "odd": Real(-1 / 3, 0.7, steps=1000003, missing=0.1),
        "age": Integer(-5, 120, missing=7),
        "gender": Categorical(["f", "m", "x"], missing="m"),
        "smokes": Categorical([False, True]),
        "group": Categorical([1, 2, 3], missing=2),
        "byte": Integer(10, 250),
        "single": Real(0, 1),
    },
)
QUERY = stack(
    total("height"),
    mean("odd"),
    mean("age"),
    moments(["height", "age"]),
    histogram("height", [120, 150, 170, 200, 220]),
    count(col("height") > 170),
    count((col("age") >= 18) | ~(col("gender") == "f")),
    count(col("age") == 18),
    count(col("gender") != "m"),
    count(~(col("gender") == "m") & ~col("group").isin([2])),
    proportion(col("gender").isin(["m", "x"])),
    count(col("smokes") == True),  # noqa: E712
    count(~(col("smokes") != False)),  # noqa: E712
    count(col("group").isin([1, 3])),
    linear({"byte": 2.0, "single": -0.5}),
    count(col("byte") < 128),
    count(col("single") <= 0.1),
    count(col("odd").isin([0.1, 0.7])),
    variance("age"),
    covariance("age", "odd"),
    covariance("byte", "age"),
    std("odd"),
    quantile("height", [0.25, 0.5], [120, 150, 170, 220]),
    crosstab("gender", "smokes", "age", bins={"age": [-5, 0, 17, 120]}),
    count(col("height") > 170).by("group", "byte", bins={"byte": [10, 128, 250]}),
)


def table() -> dict[str, list[object]]:
    """Nasty values, in columns that do not move in step."""
    random = np.random.default_rng(7)
    columns: dict[str, Sequence[object]] = {
        "height": HEIGHTS,
        "odd": [0.7, -1 / 3, 0.1, None, 0.333, 0.25, NAN, 0.0, INF, -0.1, 0.6999999999999999, 0.5, 2.0, -7.0],
        "age": AGES,
        "gender": GENDERS,
        "smokes": SMOKES,
        "group": GROUPS,
        "byte": BYTES,
        "single": SINGLES,
    }
    return {name: [values[k] for k in random.permutation(ROWS) % len(values)] for name, values in columns.items()}


def polars() -> pl.DataFrame:
    frame = pl.DataFrame(table(), strict=False)
    return frame.with_columns(pl.col("byte").cast(pl.UInt8), pl.col("single").cast(pl.Float32))


def arrow() -> pa.Table:
    return polars().to_arrow()


def pandas() -> pd.DataFrame:
    columns = table()
    kinds = {"height": "float64", "odd": "float64", "age": "float64", "group": "float64"}
    kinds |= {"gender": "object", "smokes": "object", "byte": "uint8", "single": "float32"}
    return pd.DataFrame({name: pd.Series(values, dtype=kinds[name]) for name, values in columns.items()})


def duck(select: str = "*") -> duckdb.DuckDBPyRelation:
    connection = duckdb.connect()
    connection.register("nasty", arrow())
    return connection.sql(f"SELECT {select} FROM nasty")


def enum() -> pl.DataFrame:
    known = sorted({str(value) for value in GENDERS if value is not None})
    return polars().with_columns(pl.col("gender").cast(pl.Enum(known)))


ENGINES: dict[str, Callable[[], object]] = {
    "polars": polars,
    "polars lazy": lambda: polars().lazy(),
    "polars categorical": lambda: polars().with_columns(pl.col("gender").cast(pl.Categorical)),
    "polars enum": enum,
    "polars int32": lambda: polars().with_columns(pl.col("byte", "group").cast(pl.Int32)),
    "pyarrow": arrow,
    "pyarrow dictionary": lambda: arrow().set_column(3, "gender", arrow()["gender"].dictionary_encode()),
    "pandas": pandas,
    "pandas nullable": lambda: pandas().convert_dtypes(),
    "pandas arrow": lambda: arrow().to_pandas(types_mapper=pd.ArrowDtype),
    "pandas category": lambda: pandas().astype({"gender": "category", "smokes": "category", "group": "category"}),
    "pandas objects": lambda: pandas().astype({"group": "object"}),
    "pandas odd index": lambda: pandas().set_axis([k % 3 for k in range(ROWS)]),
    "dask": lambda: dd.from_pandas(pandas().convert_dtypes(), npartitions=3),
    "dask category": lambda: dd.from_pandas(pandas().convert_dtypes().astype({"gender": "category"}), npartitions=2),
    "duckdb": duck,
    "duckdb enum": lambda: duck(
        "* REPLACE (gender::ENUM('f','m','x','unheard of','','F','f ','nan','None','NULL') AS gender)"
    ),
    "duckdb wide": lambda: duck('* REPLACE ("group"::HUGEINT AS "group", byte::DECIMAL(18, 3) AS byte)'),
}


OPERATORS = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}


def holds(predicate: Predicate, row: Row) -> bool:
    match predicate:
        case And(parts=parts):
            return all(holds(part, row) for part in parts)
        case Or(parts=parts):
            return any(holds(part, row) for part in parts)
        case Not(part=part):
            return not holds(part, row)
        case IsIn(column=name, values=values):
            return row[name] in values
        case Comparison(column=name, operator=sign, value=value):
            return OPERATORS[sign](row[name], value)
    raise AssertionError


def counted(column: Real | Integer | Categorical, value: object) -> object:
    """What a raw value counts as in a condition."""
    if isinstance(column, Categorical):
        value = value.strip(" \t") if isinstance(value, str) else value
        return value if value in column.categories else column.missing
    if value is None or math.isnan(value):
        value = column.missing
    inside = min(max(float(value), column.lower), column.upper)
    # in doubles, as documented: just below a half may count as a half
    return math.floor(inside + 0.5) if isinstance(column, Integer) else inside


def oracle(query: Query, schema: Schema, columns: Mapping[str, Sequence[object]]) -> tuple[Fraction, ...]:
    """Add up the records one by one, in fractions."""
    rows = [
        {name: counted(schema[name], value) for name, value in zip(columns, values, strict=True)}
        for values in zip(*columns.values(), strict=True)
    ]

    def term(part: object, row: Row) -> Fraction:
        if isinstance(part, Indicator):
            return Fraction(holds(part.predicate, row))
        if isinstance(part, Product):
            pairs = zip((part.first, part.second), part.about, strict=True)
            return math.prod((number(schema[name], row[name]) - about for name, about in pairs), start=Fraction(1))
        return (number(schema[part.column], row[part.column]) - part.about) ** part.exponent

    def number(column: object, value: object) -> Fraction:
        return column.origin + column.grid * column.step(value)

    return tuple(
        sum((weight * term(part, row) for row in rows for weight, part in output.terms), Fraction(0))
        / (len(rows) if output.averaged else 1)
        for output in query.outputs(schema)
    )


@pytest.fixture(scope="module")
def expected() -> tuple[Fraction, ...]:
    columns = table()
    columns["single"] = [None if value is None else float(np.float32(value)) for value in columns["single"]]
    return oracle(QUERY, SCHEMA, columns)


@pytest.mark.parametrize("engine", ENGINES)
def test_engines_agree_with_plain_python(engine, expected):
    answer = evaluate(QUERY, SCHEMA, ENGINES[engine]())
    assert answer.values == expected
    assert len(answer.labels) == len(expected)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    directory = tmp_path_factory.mktemp("files [a-z]*'")
    duck().write_parquet(str(directory / "table.parquet"))
    # text has no single precision: 0.1 would be read back as another number
    duck("* REPLACE (single::DOUBLE AS single)").write_csv(str(directory / "table.csv"), header=True)
    (directory / "table[1].parquet").write_bytes((directory / "table.parquet").read_bytes())
    (directory / "parts").mkdir()
    for k in range(3):
        part = polars()[k * ROWS // 3 : (k + 1) * ROWS // 3]
        part.write_parquet(directory / "parts" / f"part{k}.parquet")
    return directory


@pytest.mark.parametrize("name", ["table.parquet", "table[1].parquet", "parts", "table.csv"])
def test_files_agree_with_plain_python(name, files, expected):
    assert evaluate(QUERY, SCHEMA, files / name).values == expected
    assert evaluate(QUERY, SCHEMA, str(files / name)).values == expected


@pytest.mark.parametrize("engine", ["polars", "pandas", "pyarrow", "duckdb"])
def test_order_of_rows_changes_nothing(engine, expected):
    order = np.random.default_rng(1).permutation(ROWS)
    data = ENGINES[engine]()
    if engine == "duckdb":
        shuffled = data.order("hash(height, gender, byte)")
    elif engine == "pandas":
        shuffled = data.iloc[order]
    else:
        shuffled = data[order] if engine == "polars" else data.take(order)
    assert evaluate(QUERY, SCHEMA, shuffled).values == expected


def test_random_doubles_fall_on_the_same_step_everywhere():
    random = np.random.default_rng(3)
    column = Real(-0.1, 0.2, steps=3_000_001)
    values = np.concatenate([random.uniform(-0.2, 0.3, 20_000), -0.1 + np.arange(20_000) * (0.3 / 3_000_001) * 0.5])
    schema = Schema(records=len(values), columns={"x": column})
    steps = sum(column.step(min(max(float(value), column.lower), column.upper)) for value in values)
    exact = len(values) * column.origin + column.grid * steps
    frame = pl.DataFrame({"x": values})
    for data in (frame, frame.lazy(), frame.to_arrow(), frame.to_pandas(), duckdb.sql("SELECT * FROM frame")):
        assert evaluate(total("x"), schema, data).values == (exact,)


@pytest.mark.parametrize(
    "column",
    [
        Real(0, 1),
        Real(-1 / 3, 1e-17),
        Real(1e16, 1e16 + 64),
        Real(-(2.0**100), 2.0**100),
        Real(0, 1e-280),
        Integer(-5, 9),
    ],
)
def test_steps_are_monotone_and_reach_both_ends(column):
    random = np.random.default_rng(5)
    inside = sorted(
        min(max(value, column.lower), column.upper) for value in random.uniform(column.lower, column.upper, 999)
    )
    steps = [column.step(value) for value in (column.lower, *inside, column.upper)]
    assert steps == sorted(steps)
    assert (steps[0], steps[-1]) == (0, column.steps)


def test_every_value_may_be_missing():
    schema = Schema(records=3, columns={"x": Real(0, 10), "g": Categorical(["a", "b"], missing="b")})
    query = stack(total("x"), count(col("g") == "b"))
    empty = pd.DataFrame({"x": pd.Series([None] * 3, dtype="float64"), "g": pd.Series([None] * 3, dtype="str")})
    for data in (empty, pl.DataFrame(empty), pa.Table.from_pandas(empty), duckdb.sql("SELECT * FROM empty")):
        assert evaluate(query, schema, data).values == (15, 3)


def test_sums_beyond_single_and_32_bit_precision():
    rows = 100_000
    schema = Schema(records=rows, columns={"x": Integer(0, 2**31), "y": Real(0, 2.0**40)})
    query = stack(total("x"), total("y"))
    for data in (
        pl.DataFrame(
            {"x": pl.Series([2**31 - 1] * rows, dtype=pl.Int32), "y": pl.Series([3.0] * rows, dtype=pl.Float32)}
        ),
        pd.DataFrame({"x": np.full(rows, 2**31 - 1, dtype="int32"), "y": np.full(rows, 3.0, dtype="float32")}),
    ):
        assert evaluate(query, schema, data).values[0] == rows * (2**31 - 1)


def test_sums_that_no_double_holds():
    rows, column = 100_000, Real(0, 1, steps=2**23)
    values = np.where(np.arange(rows) % 3 == 0, 1 / 3, 1 - 2.0**-24)
    schema = Schema(records=rows, columns={"x": column})
    squares = sum(column.step(value) ** 2 for value in values.tolist())
    assert squares > 2**61
    frame = pd.DataFrame({"x": values})
    lazy = dd.from_pandas(frame, npartitions=2)
    for data in (frame, pl.DataFrame(frame), pa.Table.from_pandas(frame), lazy, duckdb.sql("SELECT * FROM frame")):
        assert evaluate(moments(["x"]), schema, data).values[1] == Fraction(squares, rows * 2**46)


@pytest.mark.parametrize("rows", [0, 1, ROWS - 1, ROWS + 1])
@pytest.mark.parametrize("engine", ["polars", "pandas", "pyarrow", "duckdb", "polars lazy"])
def test_another_number_of_rows_is_refused_without_telling_it(engine, rows):
    data = ENGINES[engine]()
    if engine == "duckdb":
        data = data.union(data).limit(rows)
    elif engine == "pyarrow":
        data = pa.concat_tables([data, data]).slice(0, rows)
    else:
        data = (pd.concat([data, data]) if engine == "pandas" else pl.concat([data, data])).head(rows)
    query = stack(total("height"), count(col("gender") == "f"))
    with pytest.raises(DataError, match="row count is not the declared n") as caught:
        evaluate(query, SCHEMA, data)
    other = Schema(records=ROWS + 7, columns=SCHEMA.columns)
    with pytest.raises(DataError) as again:
        evaluate(query, other, polars())
    assert str(caught.value) == str(again.value)


def test_a_missing_column_is_named_and_the_others_are_not():
    with pytest.raises(DataError, match="'height'") as caught:
        evaluate(total("height"), SCHEMA, pl.DataFrame({"SECRET": [1.0]}))
    assert "SECRET" not in str(caught.value)


def test_names_are_taken_literally():
    columns = {name: Integer(0, 9) for name in ("^x$", "x", "*", "X", 'a"b', "c0", "t0", "rows", "")[:-1]}
    schema = Schema(records=2, columns=columns)
    query = stack(*(total(name) for name in columns))
    data = {name: [k, k] for k, name in enumerate(columns)}
    expected = tuple(2 * k for k in range(len(columns)))
    for frame in (pl.DataFrame(data), pl.LazyFrame(data), pd.DataFrame(data), pa.table(data)):
        assert evaluate(query, schema, frame).values == expected


@pytest.mark.parametrize("data", [None, 3, [1, 2], {"height": [1.0]}, np.zeros((2, 2)), b"table.csv"])
def test_what_is_no_table_is_refused(data):
    with pytest.raises(DataError, match="table"):
        evaluate(total("height"), SCHEMA, data)


def test_a_column_is_no_table():
    with pytest.raises(DataError, match="table"):
        evaluate(total("height"), SCHEMA, pl.Series([1.0]))


def test_repeated_column_names_are_refused():
    with pytest.raises(DataError, match="distinct"):
        evaluate(total("height"), SCHEMA, pd.DataFrame([[1.0, 2.0]], columns=["height", "height"]))


def test_large_whole_number_categories_are_refused():
    schema = Schema(records=1, columns={"id": Categorical([1, 2**53 + 1])})
    with pytest.raises(QueryError, match="2\\^53"):
        evaluate(count(col("id") == 1), schema, pl.DataFrame({"id": [1]}))


def failing_relation() -> duckdb.DuckDBPyRelation:
    return duckdb.connect().sql("SELECT CAST(x AS DOUBLE) AS height FROM (VALUES ('1'), ('SECRET')) AS t(x)")


def failing_lazy() -> pl.LazyFrame:
    return pl.LazyFrame({"x": ["1", "SECRET"]}).select(pl.col("x").cast(pl.Float64).alias("height"))


@pytest.mark.parametrize("make", [failing_relation, failing_lazy])
def test_errors_of_the_engine_do_not_come_through(make):
    with pytest.raises(DataError, match="engine") as caught:
        evaluate(total("height"), Schema(records=2, columns=SCHEMA.columns), make())
    silent(caught.value)


def silent(error: BnprivError) -> None:
    """Nothing that can be reached from the error quotes the data."""
    assert error.__cause__ is None
    assert error.__context__ is None
    assert "SECRET" not in "".join(traceback.format_exception(error))
    assert "SECRET" not in repr(error)


# --- files


WHOLE = {**SCHEMA.columns, "height": Integer(120, 220)}


def test_garbage_in_csv_counts_as_missing(tmp_path):
    path = tmp_path / "garbage.csv"
    lines = ["note,height,gender,smokes,group", "a,150,f,true,1", 'b,garbage,"f",false,1.0', 'c,"1,5",m,yes,x', "d,,,,"]
    lines += ['"e\nf",1e999,"m ""q""",0,2.5', "g", "h,nan,f,1,300,extra", "i,0x10, f,TRUE,1"]
    path.write_text("\r\n".join(lines) + "\r\n", newline="")
    schema = Schema(records=8, columns=WHOLE)
    query = stack(total("height"), count(col("gender") == "f"), count(col("smokes") == True), count(col("group") == 1))  # noqa: E712
    assert evaluate(query, schema, path).values == (150 + 170 * 6 + 220, 4, 4, 3)


def test_types_of_csv_columns_do_not_depend_on_the_values(tmp_path):
    schema = Schema(records=2, columns=WHOLE)
    for values in (["1", "2"], ["x", "y"], ["2020-01-01", "2020-01-02"], ["true", "false"], ["", ""]):
        path = tmp_path / "types.csv"
        path.write_text("height,gender\n" + "".join(f"{value},{value}\n" for value in values))
        evaluate(stack(total("height"), count(col("gender") == "f")), schema, path)


def test_long_csv_with_quoted_line_ends(tmp_path):
    rows, path = 200_000, tmp_path / "long.csv"
    with path.open("w", newline="") as file:
        file.write("note,height\n")
        for k in range(rows):
            file.write(f'"line\n{k % 7},200\nline ""{k}"" and more text to fill several buffers",{120 + k % 100}\n')
    schema = Schema(records=rows, columns={"height": Integer(120, 220)})
    assert evaluate(total("height"), schema, path).values == (sum(120 + k % 100 for k in range(rows)),)


def test_csv_is_utf8_with_or_without_mark(tmp_path):
    path = tmp_path / "mark.csv"
    path.write_bytes(b"\xef\xbb\xbfheight\n150\n160\n")
    assert evaluate(total("height"), Schema(records=2, columns=WHOLE), path).values == (310,)
    path.write_bytes(b"height\n150\n\xff\xfeSECRET\n")
    assert evaluate(total("height"), Schema(records=2, columns=WHOLE), path).values == (150 + 170,)


@pytest.mark.parametrize("content", [b"", b"\n", b"\x00\xff\x00"])
@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_broken_files_are_refused(tmp_path, content, suffix):
    path = tmp_path / f"broken{suffix}"
    path.write_bytes(content)
    with pytest.raises((FileError, DataError)) as caught:
        evaluate(total("height"), SCHEMA, path)
    silent(caught.value)


@pytest.mark.parametrize("cut", [10, 100, 1000, -20])
def test_truncated_parquet_is_refused(tmp_path, files, cut):
    whole = (files / "table.parquet").read_bytes()
    path = tmp_path / "cut.parquet"
    path.write_bytes(whole[:cut])
    with pytest.raises((FileError, DataError)) as caught:
        evaluate(total("height"), SCHEMA, path)
    silent(caught.value)


@pytest.mark.parametrize(
    "name", ["table.pickle", "table.xlsx", "table.csv.gz", "table", "absent.parquet", "absent.csv"]
)
def test_other_files_are_refused_unread(tmp_path, name):
    if not name.startswith("absent"):
        (tmp_path / name).write_bytes(b"SECRET")
    with pytest.raises(FileError, match=r"\.parquet or \.csv"):
        evaluate(total("height"), SCHEMA, tmp_path / name)


@pytest.mark.parametrize("text", ["height\nSECRET\n", "SECRET" * 100, "SECRET\0.csv", "SECRET" * 9999 + ".csv"])
def test_a_table_taken_for_a_path_is_not_quoted(text):
    with pytest.raises(FileError, match="no path") as caught:
        evaluate(total("height"), SCHEMA, text)
    silent(caught.value)


def test_directories_named_like_columns_add_no_column(tmp_path):
    path = tmp_path / "height=200" / "table.parquet"
    path.parent.mkdir()
    pl.DataFrame({"height": [150, 160]}).write_parquet(path)
    assert evaluate(total("height"), Schema(records=2, columns=WHOLE), path).values == (310,)
    assert evaluate(total("height"), Schema(records=2, columns=WHOLE), path.parent).values == (310,)


def test_nothing_is_fetched(tmp_path):
    for name in ("https://example.org/table.parquet", "s3://bucket/table.csv"):
        with pytest.raises(FileError):
            evaluate(total("height"), SCHEMA, name)


def test_a_column_of_a_csv_file_must_occur_once(tmp_path):
    path = tmp_path / "twice.csv"
    path.write_text("height,height\n1,2\n")
    with pytest.raises(DataError, match="'height'"):
        evaluate(total("height"), SCHEMA, path)


# --- custom queries


def canonical(frame: pd.DataFrame) -> list[float]:
    assert list(frame.columns) == ["age", "gender", "group", "height", "smokes"]
    assert frame["height"].dtype == np.float64
    assert frame["age"].dtype == np.int64
    assert set(frame["gender"]) == {"f", "m", "x"}
    assert frame["height"].between(120, 220).all()
    return [frame["height"].sum(), frame["age"].sum(), (frame["gender"] == "m").sum(), (frame["group"] == 1).sum()]


@pytest.mark.parametrize("engine", ENGINES)
def test_custom_queries_see_the_same_table_everywhere(engine):
    columns = ["height", "age", "gender", "smokes", "group"]
    query = custom(canonical, columns=columns, sensitivity=1e9, dimension=4, name="sums")
    same = stack(total("height"), total("age"), count(col("gender") == "m"), count(col("group") == 1))
    answer = evaluate(query, SCHEMA, ENGINES[engine]())
    exact = evaluate(same, SCHEMA, polars())
    assert answer.values[1:] == exact.values[1:]
    assert float(answer.values[0]) == pytest.approx(float(exact.values[0]), rel=1e-12)
    assert answer.labels == ("custom(sums)[0]", "custom(sums)[1]", "custom(sums)[2]", "custom(sums)[3]")


def raises(frame: pd.DataFrame) -> float:
    raise ValueError("SECRET " + str(frame))


@pytest.mark.parametrize(
    "f",
    [
        raises,
        lambda t: [1.0, 2.0],
        lambda t: math.nan,
        lambda t: math.inf,
        lambda t: "SECRET",
        lambda t: None,
        lambda t: t,
    ],
)
def test_a_failing_custom_query_says_nothing(f):
    query = custom(f, columns=["height"], sensitivity=1)
    with pytest.raises(DataError, match="finite numbers") as caught:
        evaluate(query, SCHEMA, polars())
    silent(caught.value)


def test_custom_queries_count_rows_too():
    query = custom(lambda t: 0.0, columns=["height"], sensitivity=1)
    with pytest.raises(DataError, match="row count"):
        evaluate(query, SCHEMA, polars().head(3))


def test_the_declared_span_is_kept():
    query = custom(lambda t: [-5.0, 99.0], columns=["height"], sensitivity=1, dimension=2, span=(0, 1))
    assert evaluate(query, SCHEMA, polars()).values == (0, 1)


HONEST = {
    "max": (lambda t: t["height"].max(), 100.0),
    "mean": (lambda t: t["height"].mean(), 100.0),
    "sum": (lambda t: t["height"].sum(), 100.0 * ROWS),
    "count": (lambda t: (t["gender"] == "f").sum(), float(ROWS)),
    "both": (lambda t: t["height"].max() + (t["gender"] == "f").mean(), {"height": 100.0, "gender": 1.0}),
}


@pytest.mark.parametrize("name", HONEST)
def test_honest_sensitivities_pass(name):
    f, sensitivity = HONEST[name]
    try_sensitivity(custom(f, columns=["height", "gender"], sensitivity=sensitivity), SCHEMA)


@pytest.mark.parametrize("name", HONEST)
def test_sensitivities_that_are_too_small_are_found(name):
    f, honest = HONEST[name]
    half = {key: value / 2 for key, value in honest.items()} if isinstance(honest, dict) else honest / 2
    with pytest.raises(QueryError, match="declared"):
        try_sensitivity(custom(f, columns=["height", "gender"], sensitivity=half), SCHEMA)


def test_a_function_that_fails_on_made_up_tables_is_refused():
    with pytest.raises(QueryError, match="every table"):
        try_sensitivity(custom(raises, columns=["height"], sensitivity=1), SCHEMA)


def test_answers_are_not_in_the_repr():
    answer = evaluate(total("height"), SCHEMA, polars())
    assert str(answer.values[0].numerator) not in repr(answer)
