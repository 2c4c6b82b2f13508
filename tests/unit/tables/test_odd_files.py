"""Row 46 of the reliability contract: odd paths, odd files and odd names of columns, in every engine."""

from __future__ import annotations

import functools
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import bnpriv as queries
from bnpriv.core.columns import Real
from bnpriv.core.schema import Schema
from bnpriv.errors import BnprivError, DataError, FileError
from bnpriv.io.framework_file import read_framework
from bnpriv.io.query_text import parse_query
from bnpriv.io.starter.files import files_to_start
from bnpriv.io.starter.header import header_of
from bnpriv.tables.evaluate import evaluate
from bnpriv.tables.files import LONGEST_HEADER
from tests.later import Later

duckdb = Later("duckdb")
pa = Later("pyarrow")
pd = Later("pandas")
pl = Later("polars")

SCHEMA = Schema(records=3, columns={"a": Real(0, 10)})
CSV = "a,b\n1,x\n2,y\n3,x\n"

NAMES = (
    *("*", 'a"b', "a b", "A", "a", "c0", "t0", "rows", "a.b", "^x$", "^.*$", "select", ";--", "0", "ü", "a'b", "a`b"),
    *("[a]", "{a}", "\\", "a,b", "a\nb", "~", "len(*)", " a", "?", "$1", "%s", "NULL", "true", "\u200b", "x" * 500),
)


@functools.cache
def table() -> pd.DataFrame:
    return pd.DataFrame({name: [float(k % 5), float(k % 3), 1.0] for k, name in enumerate(NAMES)})


@pytest.fixture(autouse=True)
def soon() -> Iterator[None]:
    """Let whatever waits for the other end of a pipe fail."""
    signal.alarm(60)
    yield
    signal.alarm(0)


ENGINES: dict[str, Callable[[Path], object]] = {
    "pandas": lambda _: table(),
    "Polars": lambda _: pl.DataFrame(table()),
    "lazy Polars": lambda _: pl.DataFrame(table()).lazy(),
    "Arrow": lambda _: pa.Table.from_pandas(table()),
    "DuckDB": lambda _: duckdb.from_df(table().drop(columns="A")),  # where names that differ in case are one
    "Parquet": lambda folder: written(folder, "parquet"),
    "CSV": lambda folder: written(folder, "csv"),
}


def written(folder: Path, kind: str) -> Path:
    path = folder / f"table.{kind}"
    if kind == "csv":
        table().to_csv(path, index=False)
    else:
        pl.DataFrame(table()).write_parquet(path)
    return path


@pytest.mark.parametrize("engine", ENGINES)
def test_row_46_any_name_can_be_queried_in_every_engine(tmp_path: Path, engine: str) -> None:
    names = [name for name in NAMES if engine != "DuckDB" or name != "A"]
    schema = Schema(records=3, columns={name: Real(0, 10) for name in names})
    asked = [queries.count(queries.col(name) > 1.0) for name in names]
    # as the shell and framework files write them
    asked = [parse_query(str(query)) for query in asked]
    answer = evaluate(queries.stack(*asked), schema, ENGINES[engine](tmp_path))
    assert [int(value) for value in answer.values] == [int((table()[name] > 1).sum()) for name in names]


def test_row_46_a_name_with_nul_in_parquet_is_a_typed_error(tmp_path: Path) -> None:
    import pandas as pd

    from bnpriv.tables.public import public_table

    pd.DataFrame({"a\0b": [1.0], "c": [2.0]}).to_parquet(tmp_path / "t.parquet")
    assert public_table(str(tmp_path / "t.parquet"), ["c"]).shape == (1, 1)
    with pytest.raises(DataError, match="without NUL"):
        public_table(str(tmp_path / "t.parquet"), ["a\0b"])


def test_row_46_names_that_differ_in_case_are_told_apart_in_parquet(tmp_path: Path) -> None:
    schema = Schema(records=3, columns={"A": Real(0, 10), "a": Real(0, 10)})
    for name in ("A", "a"):
        (value,) = evaluate(queries.total(name), schema, written(tmp_path, "parquet")).values
        assert round(float(value)) == table()[name].sum()


def test_row_46_pipes_devices_and_odd_paths_are_refused_at_once(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "folder.parquet"
    folder.mkdir()
    for pipe in ("pipe.csv", "pipe.parquet", "pipe.toml", "folder.parquet/pipe.parquet"):
        os.mkfifo(tmp_path / pipe)
    for kind in ("csv", "parquet", "toml"):
        (tmp_path / f"device.{kind}").symlink_to("/dev/zero")
    stems = ("pipe", "device", "x" * 300, "a\0b", "~", "~root/x", "missing/x")
    for stem in stems:
        for kind in ("csv", "parquet"):
            for ask in (lambda path: evaluate(queries.total("a"), SCHEMA, path), header_of):
                with pytest.raises(FileError):
                    ask(f"{stem}.{kind}")
        with pytest.raises(FileError):
            read_framework(f"{stem}.toml")
    for ask in (lambda path: evaluate(queries.total("a"), SCHEMA, path), header_of):
        with pytest.raises(FileError):
            ask(folder)


def test_row_46_tilde_is_the_home_folder_and_a_folder_of_that_name_can_be_written_out(
    tmp_path: Path, monkeypatch
) -> None:
    home = tmp_path / "home"
    for folder, number in ((tmp_path / "~", 1.0), (home, 2.0)):
        folder.mkdir()
        pl.DataFrame({"a": [number] * 3}).write_parquet(folder / "t.parquet")
        (folder / "t.csv").write_text(f"a\n{number}\n{number}\n{number}\n", encoding="utf-8")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(tmp_path)
    for name, below in (("~/t.csv", 0), ("~/t.parquet", 0), ("./~/t.csv", 3), ("./~/t.parquet", 3)):
        assert evaluate(queries.count(queries.col("a") < 1.5), SCHEMA, name).values == (below,)
        assert "[columns.a]" in files_to_start(Path(name), None, notion="dataset")[0]


def test_row_46_a_path_is_no_pattern(tmp_path: Path) -> None:
    pl.DataFrame({"a": [1.0]}).write_parquet(tmp_path / "x1.parquet")
    pl.DataFrame({"b": [1.0]}).write_parquet(tmp_path / "x[1].parquet")
    assert "[columns.b]" in files_to_start(tmp_path / "x[1].parquet", None, notion="dataset")[0]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a,a\n1,1\n2,2\n3,3\n", "2 of that name"),
        ("b\n1\n", "none of that name"),
        ("", "must start with a line of column names"),
        ("x" * 200_000 + "," + CSV, "131,072 in each"),
        ("x," * LONGEST_HEADER + CSV, "1,048,576 characters in all"),
    ],
)
def test_headers_that_cannot_be_read_say_why(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "table.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises((DataError, FileError), match=words):
        evaluate(queries.total("a"), SCHEMA, path)


def test_long_lines_are_read(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text(CSV.replace("x", "x" * 3_000_000, 1), encoding="utf-8")
    assert evaluate(queries.count(queries.col("a") > 0), SCHEMA, path).values == (3,)


@pytest.mark.parametrize("notion", ["dataset", "value"])
def test_a_class_of_networks_where_tables_must_be_exact(tmp_path: Path, notion: str) -> None:
    (tmp_path / "n.bif").write_text(
        "variable a { type discrete [ 2 ] { 0, 1 }; } probability ( a ) { table 0.5, 0.5; }", encoding="utf-8"
    )
    path = tmp_path / "f.toml"
    path.write_text(
        f'notion = "{notion}"\nsource = "made up"\n[network]\nfile = "n.bif"\nwithin = 0.05\n[records]\ncount = 3\n'
        '[columns.a]\ntype = "integer"\nlower = 0\nupper = 1\n[protect.a]\n'
        + ('property = "count(a == 1)"\n' if notion == "dataset" else ""),
        encoding="utf-8",
    )
    with pytest.raises(BnprivError, match="exact tables"):
        read_framework(path)
