"""Public tables: the one reader opens them, with the types of their values (rows 16, 39 and 46)."""

from __future__ import annotations

import math
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import bnpriv as bp
from bnpriv.errors import DataError, FileError
from bnpriv.io.learning import parameters_by_group
from bnpriv.lab.check_model import check_model
from bnpriv.tables.public import fingerprint_of, inferred_schema, public_columns, public_table
from tests.later import Later

pa = Later("pyarrow")
pd = Later("pandas")
pl = Later("polars")

NETWORK = bp.DiscreteNetwork.from_tables({"a": [0.5, 0.5]}, states={"a": [0, 1]}, level="records")
ROADS: dict[str, Callable[[object], object]] = {
    "columns": lambda data: public_columns(data, ["a"]),
    "learned network": lambda data: bp.DiscreteNetwork.posterior({"a": ()}, data, public="x", draws=2, seed=1),
    "groups": lambda data: parameters_by_group(data, "a", {"a": [0, 0.5, 1]}, public="x", draws=2, seed=1),
    "check of a model": lambda data: check_model(NETWORK, data),
    "schema": lambda data: inferred_schema(data, ["a"], 10),
}


@pytest.fixture(autouse=True)
def soon() -> Iterator[None]:
    """Let whatever waits for the other end of a pipe fail."""
    signal.alarm(60)
    yield
    signal.alarm(0)


@pytest.mark.parametrize("road", ROADS)
def test_row_46_pipes_devices_and_odd_paths_are_refused_at_once(tmp_path: Path, monkeypatch, road: str) -> None:
    monkeypatch.chdir(tmp_path)
    for kind in ("csv", "parquet"):
        os.mkfifo(tmp_path / f"pipe.{kind}")
        (tmp_path / f"device.{kind}").symlink_to("/dev/zero")
        for stem in ("pipe", "device", "x" * 300, "a\0b", "missing/x"):
            with pytest.raises(FileError):
                ROADS[road](f"{stem}.{kind}")
    (tmp_path / "folder.parquet").mkdir()
    os.mkfifo(tmp_path / "folder.parquet" / "pipe.parquet")
    with pytest.raises(FileError):
        ROADS[road](tmp_path / "folder.parquet")


@pytest.mark.parametrize("road", ROADS)
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_row_46_a_path_is_no_pattern(tmp_path: Path, road: str, kind: str) -> None:
    right, wrong = pl.DataFrame({"a": [0, 1, 1]}), pl.DataFrame({"b": [1, 0, 0]})
    for stem, table in (("x[1]", right), ("x1", wrong), ("star*", right), ("starry", wrong)):
        path = tmp_path / f"{stem}.{kind}"
        table.write_csv(path) if kind == "csv" else table.write_parquet(path)
    for stem in ("x[1]", "star*"):
        ROADS[road](tmp_path / f"{stem}.{kind}")
        os.remove(tmp_path / f"{stem}.{kind}")
        with pytest.raises(FileError):
            ROADS[road](tmp_path / f"{stem}.{kind}")


@pytest.mark.parametrize("road", ROADS)
def test_what_is_no_table_is_refused_without_its_values(road: str) -> None:
    for data in (7, [3, 4], pd.DataFrame([[0, 1]], columns=["a", "a"])):
        with pytest.raises(DataError, match="the data must be a table with distinct column names"):
            ROADS[road](data)
    with pytest.raises(DataError):
        ROADS[road](pd.DataFrame({"b": [0, 1]}))


@pytest.mark.parametrize(
    ("fields", "values"),
    [
        (["1", "2", "-3"], [1, 2, -3]),
        (["1", " 2 ", "+3"], [1, 2, 3]),
        (["9007199254740993", "9007199254740992"], [9007199254740993, 9007199254740992]),
        (["99999999999999999999", "1"], [1e20, 1.0]),
        (["0.1", "2", "1e3"], [0.1, 2.0, 1000.0]),
        (["-0.0", "1.5"], [0.0, 1.5]),
        (["1", "2", "two"], ["1", "2", "two"]),
        (["yes", "no"], ["yes", "no"]),
        (["True", "False"], ["True", "False"]),
        (["1", "1_0"], ["1", "1_0"]),
        (["a b", " c"], ["a b", " c"]),
        (["1", "", "3"], [1, None, 3]),
        (["1.5", "NaN", ""], [1.5, None, None]),
        (["x", "", "nan"], ["x", None, "nan"]),
    ],
)
def test_row_39_a_column_of_a_csv_file_is_of_numbers_if_all_its_fields_are(
    tmp_path: Path, fields: list[str], values: list[object]
) -> None:
    (tmp_path / "t.csv").write_text("".join(f"{field},x\n" for field in ["a", *fields]), encoding="utf-8")
    found = public_columns(tmp_path / "t.csv", ["a"])["a"]
    assert found == values
    assert [type(value) for value in found] == [type(value) for value in values]


def test_row_39_a_text_far_below_numbers_makes_a_column_of_texts(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a\n" + "1\n" * 30_000 + "one\n", encoding="utf-8")
    found = public_columns(tmp_path / "t.csv", ["a"])["a"]
    assert len(found) == 30_001
    assert set(found) == {"1", "one"}


def test_row_39_values_hash_alike_in_every_engine(tmp_path: Path) -> None:
    table = pd.DataFrame({"n": [1, 2, 3], "x": [0.1, -0.0, 2.5], "t": ["a", "yes", "1"]})
    table.to_csv(tmp_path / "t.csv", index=False)
    table.to_parquet(tmp_path / "t.parquet")
    tables = [
        table,
        pl.DataFrame(table),
        pl.LazyFrame(table),
        pa.table(table),
        tmp_path / "t.csv",
        tmp_path / "t.parquet",
    ]
    tables.append(table.astype({"n": float}).assign(x=[0.1, 0.0, 2.5]))
    first, *others = (fingerprint_of(public_columns(data, list(table.columns))) for data in tables)
    assert all(other == first for other in others)


def test_what_is_missing_is_none_in_every_engine() -> None:
    held = [1.5, None, math.nan]
    for data in (
        pd.DataFrame({"a": held}),
        pd.DataFrame({"a": held}, dtype=object),
        pd.DataFrame({"a": pd.array([1.5, None, None], dtype="Float64")}),
        pl.DataFrame({"a": held}),
        pa.table({"a": held}),
        Later("duckdb").sql("SELECT unnest([1.5::DOUBLE, NULL, 'nan'::DOUBLE]) AS a"),
    ):
        assert public_columns(data, ["a"])["a"] == [1.5, None, None]


def test_columns_that_are_not_there_are_left_out_and_the_others_keep_their_names() -> None:
    table = public_table(pd.DataFrame({"c1": [1], "c0": ["x"], "other": [math.nan]}), ["c0", "none", "c1"])
    assert table.columns == ["c0", "c1"]
    assert table.row(0) == ("x", 1)
