"""Tables in a declared dialect: every engine reads a text as plain Python does, one value at a time."""

from __future__ import annotations

import datetime
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.core.columns import Integer, Real
from bnpriv.core.schema import Column, Schema
from bnpriv.errors import SchemaError
from bnpriv.ledger.counted import table_fingerprint
from bnpriv.release import release_many
from bnpriv.tables.evaluate import evaluate
from bnpriv.tables.reader import collected, opened
from bnpriv.tables.readings import Dialect, dialect_of, number, suspected_codes
from tests.later import Later

pd, pl, pa, duckdb = Later("pandas"), Later("polars"), Later("pyarrow"), Later("duckdb")

ODD_DATES = ["31.12.2020", "1.1.1970", "29.02.2000", "29.02.1900", "29.2.2024", "30.02.2024", "31.04.2001", "x", None]
ODD_DATES += ["00.01.2000", "01.13.2000", "15.06.0001", "15.06.0000", "31.12.9999", " 01.02.2003 ", "01.02.2003\n"]
ODD_DATES += ["01.02.2003 12:30:00", "01.02.2003T12:30", "1.2.03", "1990-01-01", "01.01.1900", "-1.2.2003", "1.2.2003x"]


def random_dates() -> list[str]:
    rng = np.random.default_rng(1)
    days = [datetime.date.fromordinal(int(k)) for k in rng.integers(1, 3652059, 400)]
    days += [datetime.date(year, 1, 1) + datetime.timedelta(k) for year in (1900, 2000, 2023, 2024) for k in range(365)]
    return [f"{day.day:02}.{day.month:02}.{day.year:04}" for day in days]


def engines(values: list[Any]) -> list[Any]:
    table = pa.table({"a": values})
    frames: list[Any] = [pl.DataFrame({"a": values}), pl.LazyFrame({"a": values}), table, pd.DataFrame({"a": values})]
    return [*frames, pd.DataFrame({"a": pd.Series(values, dtype=object)}), duckdb.from_arrow(table)]


def read(table: object, column: Column, dialect: Dialect) -> list[float | None]:
    with opened(table, {"a": column}, dialect=dialect) as frame:
        return [None if x is None or x != x else x for x in collected(frame)["c0"].to_list()]


def one_by_one(values: list[Any], dialect: Dialect) -> list[float | None]:
    found = [number(value, dialect.of("a")) for value in values]
    return [None if x != x else x for x in found]


def test_every_engine_reads_dates_as_python_does() -> None:
    dialect = Dialect(dates={"a": "DD.MM.YYYY"}, codes={"a": (-25567,)})
    values = [*ODD_DATES, *random_dates()]
    expected = one_by_one(values, dialect)
    known = dict(zip(values, expected, strict=True))
    assert (known["31.12.2020"], known["1.1.1970"], known["29.02.1900"], known["01.01.1900"]) == (18627, 0, None, None)
    assert known["01.02.2003 12:30:00"] == known[" 01.02.2003 "] == 12084
    for table in engines(values):
        assert read(table, Integer(-1_000_000, 4_000_000), dialect) == expected, type(table)


@pytest.mark.parametrize(
    ("written", "texts"),
    [
        ("YYYY-MM-DD", ["2020-03-04", "04.03.2020"]),
        ("MM/DD/YYYY", ["3/4/2020", "13/01/2020"]),
        ("DD/MM/YYYY", ["4/3/2020", "01/13/2020"]),
    ],
)
def test_each_way_to_write_a_date(written: str, texts: list[str]) -> None:
    dialect = Dialect(dates={"a": written})
    for table in engines(texts):
        assert read(table, Integer(0, 99999), dialect) == [18325, None]


def test_dates_of_an_engine_are_days_where_that_is_declared() -> None:
    days = [datetime.date(2020, 12, 31), None, datetime.date(1900, 1, 1), datetime.date(1969, 12, 31)]
    tables = [*engines(days), pd.DataFrame({"a": pd.to_datetime(days)})]
    tables += [pl.DataFrame({"a": days}).with_columns(pl.col("a").cast(pl.Datetime))]
    column = Integer(-99999, 99999)
    for table in tables:
        assert read(table, column, Dialect(dates={"a": "DD.MM.YYYY"})) == [18627, None, -25567, -1], type(table)
        assert read(table, column, Dialect()) == [None] * 4
    numbers = pd.DataFrame({"a": [18627, -1]})
    assert read(numbers, column, Dialect(dates={"a": "YYYY-MM-DD"})) == [18627, -1]


@pytest.mark.parametrize(
    ("decimal", "thousands", "values"),
    [
        (",", ".", {"1.234,5": 1234.5, "1,5": 1.5, "1.234": 1234.0, "1.5": None, "12.34,5": None, "-1.000.000": -1e6}),
        (",", ".", {",5": 0.5, "1e3": 1000.0, "true": 1.0, "1,2,3": None, ".": None, " 3,5 ": 3.5, "99": None}),
        (",", ".", {"99,0": None, "3,": 3.0, "1,5\n": None, "": None, "1.234,5e2": 123450.0, "nan": None}),
        (".", ",", {"1,234.5": 1234.5, "1.5": 1.5, "1,5": None, "12,34": None, "0099": None}),
        (",", " ", {"1 234,5": 1234.5, "1234,5": 1234.5, "1 23": None}),
        (".", "'", {"1'234.5": 1234.5, "12'3": None}),
        (".", "\u202f", {"1\u202f234.5": 1234.5}),
    ],
)
def test_every_engine_reads_numbers_as_python_does(decimal: str, thousands: str, values: dict[str, float]) -> None:
    dialect = Dialect(decimal=decimal, thousands=thousands, codes={"a": (99,)})
    assert one_by_one(list(values), dialect) == list(values.values())
    for table in engines(list(values)):
        assert read(table, Real(-1e7, 1e7), dialect) == list(values.values()), type(table)


@pytest.mark.parametrize("sign", [",", ";", "\t", "|"])
def test_a_text_file_is_read_in_its_dialect(sign: str, tmp_path: Path) -> None:
    rows = [["born", "income", "age"], ["01.02.1990", '"1.500,5"', "99"], ["31.12.2001", '"20,25"', "41"]]
    file = tmp_path / "ours.csv"
    file.write_text("".join(sign.join(row) + "\n" for row in rows), encoding="utf-8")
    dialect = Dialect(separator=sign, decimal=",", thousands=".", dates={"born": "DD.MM.YYYY"}, codes={"age": (99, -1)})
    columns = {"born": Integer(0, 20000), "income": Real(0, 5000), "age": Integer(0, 120, missing=0)}
    schema = Schema(records=2, columns=columns, dialect=dialect)
    asked = {"count(born >= 1990-02-01)": 2, "count(born > 1990-02-01)": 1, "count(income > 1500)": 1, "total(age)": 41}
    for query, truth in asked.items():
        assert evaluate(bp.parse_query(query), schema, file).values == (truth,)
    own = bp.custom(lambda table: table["age"].sum(), columns=["age"], sensitivity=120)
    assert evaluate(own, schema, file).values == (41,)


def test_a_group_of_digits_begins_with_no_zero() -> None:
    dialect = Dialect(decimal=",", thousands=".")
    for table in engines(["0.107", "1.107", "0,107", "00.100", "12.000,5"]):
        assert read(table, Real(-1e7, 1e7), dialect) == [None, 1107.0, 0.107, None, 12000.5], type(table)


def test_codes_are_missing_in_the_answer_of_every_engine_and_type(tmp_path: Path) -> None:
    schema = Schema(records=5, columns={"a": Real(0, 100, missing=3)}, dialect=Dialect(codes={"a": (99,)}))
    values = [99.0, 12.0, None, 40.0, 99.0]
    pd.DataFrame({"a": values}).to_parquet(tmp_path / "doubles.parquet")
    pd.DataFrame({"a": values}).to_csv(tmp_path / "texts.csv", index=False)
    for table in [*engines(values), tmp_path / "doubles.parquet", tmp_path / "texts.csv"]:
        assert evaluate(bp.count(bp.col("a") > 50), schema, table).values == (0,), type(table)
        assert evaluate(bp.count(bp.col("a") == 3), schema, table).values == (3,), type(table)


def test_what_is_no_dialect_is_refused_and_one_dialect_is_another_schema() -> None:
    for wrong in ({"separator": ":"}, {"decimal": ";"}, {"thousands": "."}, {"dates": {"a": "YY"}}):
        with pytest.raises(SchemaError):
            Dialect(**wrong)
    columns = {"a": Integer(0, 9)}
    plain, other = Schema(records=1, columns=columns), Schema(records=1, columns=columns, dialect=Dialect(decimal=","))
    assert repr(plain) == "Schema(records=1, columns={'a': Integer(lower=0, upper=9, missing=4)})"
    assert plain != other
    assert "decimal=','" in repr(other)
    with pytest.raises(SchemaError, match="is a Dialect"):
        dialect_of(Schema(records=1, columns=columns, dialect=";"))


def test_answers_of_two_dialects_are_not_released_together() -> None:
    framework = bp.example("student")
    declared = Schema(records=framework.schema.records, columns=framework.schema.columns, dialect=Dialect(decimal=","))
    other = bp.DistributionalAttributePrivacy(framework.network, declared, ["income"], source="a test")
    both = [bp.ColumnMechanism().calibrate(each, bp.count(bp.col("height") > 180), 1.0) for each in (framework, other)]
    with pytest.raises(bp.BnprivError, match="must have one schema"):
        release_many(both, pd.DataFrame(), separate_guarantees=True)


def test_another_dialect_is_another_account_of_a_ledger() -> None:
    columns = {"a": Integer(0, 9)}
    dialects = [None, Dialect(decimal=","), Dialect(codes={"a": (9,)})]
    kept = {table_fingerprint(Schema(records=1, columns=columns, dialect=dialect), "a") for dialect in dialects}
    assert len(kept) == 3


AGES = Counter(float(int(age)) for age in np.random.default_rng(3).triangular(18, 40, 93, 300))


@pytest.mark.parametrize(
    ("counted", "codes"),
    [
        ({**AGES, 99.0: 5}, (99.0,)),
        ({**AGES, 999.0: 1, -1.0: 2}, (-1.0, 999.0)),
        ({**AGES, 9998.0: 1, 9999.0: 1}, (9998.0, 9999.0)),
        ({**AGES, 99.0: 1}, ()),
        ({1.0: 30, 2.0: 40, 3.0: 30, 4.0: 20, 5.0: 20, 8.0: 5, 9.0: 5}, (8.0, 9.0)),
        ({float(k): 20 for k in range(100)}, ()),
        ({-1.0: 30, 0.0: 40, 1.0: 30}, ()),
        ({5.0: 60, 6.0: 60, 7.0: 60}, ()),
        ({float(k): 20 for k in range(1, 8)}, ()),
        ({0.0: 50, 1.0: 40, 9.0: 3}, (9.0,)),
        ({17.0: 1, 99.0: 2}, ()),
        ({}, ()),
    ],
)
def test_numbers_that_look_like_codes(counted: dict[float, int], codes: tuple[float, ...]) -> None:
    assert suspected_codes(counted) == codes


def test_a_first_day_of_a_century_among_births_looks_like_a_code() -> None:
    births = dict.fromkeys(map(float, range(-10000, 10000, 50)), 1)
    assert suspected_codes({**births, -25567.0: 9}, dates=True) == (-25567.0,)
    assert suspected_codes({**births, -25567.0: 9}) == ()
