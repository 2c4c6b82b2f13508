"""Types that carry values, names that are none, and a public table that is the private one in other clothes."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import bnpriv as bp
from bnpriv.cli import app
from bnpriv.errors import BnprivError, DataError, FileError
from bnpriv.io.starter.files import files_to_start
from bnpriv.io.starter.header import header_of
from bnpriv.io.starter.public import refuse_the_same
from bnpriv.io.starter.start import start
from tests.later import Later

pd = Later("pandas")
pl = Later("polars")
pa = Later("pyarrow")
duckdb = Later("duckdb")

CANARY = "CANARY-7f3a"


def private() -> Any:
    return pd.DataFrame({"age": [41, 52, 63, 74], "kind": [CANARY, "b", None, CANARY]})


def enumerated(table: Any) -> Any:
    return pl.from_pandas(table).with_columns(pl.col("kind").cast(pl.Enum([CANARY, "b", "never there"])))


def of_duckdb(table: Any) -> Any:
    connection = duckdb.connect()
    connection.execute(f"CREATE TYPE kinds AS ENUM ('{CANARY}', 'b', 'never there')")
    connection.register("given", table)
    connection.execute("CREATE TABLE ours AS SELECT age, kind::kinds AS kind FROM given")
    return connection.table("ours")


def written(table: Any, path: Path) -> Path:
    if isinstance(table, pl.DataFrame):
        table.write_parquet(path)
    else:
        table.to_parquet(path)
    return path


FORMS: dict[str, Callable[[Any, Path], Any]] = {
    "pandas category": lambda table, _: table.astype({"kind": "category"}),
    "polars category": lambda table, _: pl.from_pandas(table).with_columns(pl.col("kind").cast(pl.Categorical)),
    "polars enum": lambda table, _: enumerated(table),
    "lazy enum": lambda table, _: enumerated(table).lazy(),
    "arrow dictionary": lambda table, _: pa.Table.from_pandas(table.astype({"kind": "category"})),
    "duckdb enum": lambda table, _: of_duckdb(table),
    "parquet dictionary": lambda table, folder: written(table.astype({"kind": "category"}), folder / "d.parquet"),
    "parquet enum": lambda table, folder: written(enumerated(table), folder / "e.parquet"),
}


@pytest.mark.parametrize("form", FORMS)
def test_categories_of_a_type_are_not_read(form: str, tmp_path: Path) -> None:
    """A dictionary holds what the data hold, and so do the categories of pandas; nobody can tell which are declared."""
    data = FORMS[form](private(), tmp_path)
    assert header_of(data).names == ("age", "kind")
    public = pd.DataFrame({"age": [1.5, 2, 3] * 40, "kind": ["a", "b", "b"] * 40})
    framework = start(data, records=4, protect="kind", learn=public, draws=2)
    assert framework.schema["kind"] == bp.Categorical(["a", "b", "other"], missing="other")
    assert CANARY not in f"{framework!r} {framework.schema!r} {framework.network!r}"
    if isinstance(data, Path):
        text, _ = files_to_start(str(data), None, notion="dataset")
        assert "# type = ..." in text
        assert CANARY not in text


VALUES: dict[str, list[Any]] = {
    "whole numbers": [41, 52, 63, 74],
    "a gap": [41, None, 63, 74],
    "a fraction": [41, 52.5, 63, 74],
    "a text": [41, "?", 63, 74],
    "nothing": [None] * 4,
    "truth values": [True, False, True, True],
}

GUESSING: dict[str, Callable[[Path, Path], Any]] = {
    "pandas": lambda path, _: pd.read_csv(path),
    "polars": lambda path, _: pl.read_csv(path),
    "duckdb": lambda path, _: duckdb.read_csv(str(path)),
    "parquet": lambda path, folder: written(pd.read_csv(path), folder / "t.parquet"),
}


@pytest.mark.parametrize("engine", GUESSING)
def test_types_that_are_guessed_from_values_tell_nothing(engine: str, tmp_path: Path) -> None:
    """One gap, fraction or text among private numbers changes the type of their column, and nothing that is made."""
    public = pd.DataFrame({"age": [20.5, 31, 47, 58.25] * 30, "kind": ["a", "b", "b"] * 40})
    made = set[str]()
    for values in VALUES.values():
        pd.DataFrame({"age": values, "kind": ["a", "b", "a", "b"]}).to_csv(tmp_path / "t.csv", index=False)
        data = GUESSING[engine](tmp_path / "t.csv", tmp_path)
        framework = start(data, records=4, protect="kind", learn=public, draws=2)
        said = files_to_start(str(data), None, notion="dataset")[0] if isinstance(data, Path) else ""
        made.add(f"{framework.fingerprint()} {framework.schema!r} {said}")
    assert len(made) == 1


@pytest.mark.parametrize("form", FORMS)
def test_the_private_table_in_other_clothes_is_not_public(form: str, tmp_path: Path) -> None:
    data = FORMS[form](private(), tmp_path)
    private().to_csv(tmp_path / "ours.csv", index=False)
    for other in (private(), private().iloc[::-1], private().assign(more=1), tmp_path / "ours.csv"):
        with pytest.raises(FileError, match="another than the private one") as refused:
            refuse_the_same(data, other)
        assert CANARY not in str(refused.value)
    with pytest.raises(FileError, match="another than the private one"):
        start(tmp_path / "ours.csv", records=4, protect="kind", learn=data)
    changed = private()
    changed.loc[0, "age"] = 40
    for other in (changed, private().head(3), private()[["kind"]], 7, tmp_path / "none.csv", private()["age"]):
        refuse_the_same(data, other)


class Panic(BaseException):
    """As Polars raises where it panics, with a text that may quote the data."""


def test_a_panic_of_an_engine_tells_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    import narwhals as nw

    def panics(*_: Any) -> Any:
        raise Panic(CANARY)

    lazy = pl.LazyFrame({"kind": [CANARY]})
    monkeypatch.setattr(nw.LazyFrame, "collect_schema", panics)
    refuse_the_same(lazy, pd.DataFrame({"kind": ["a"]}))
    with pytest.raises(DataError, match="a table is needed") as refused:
        header_of(lazy)
    assert refused.value.__context__ is None
    assert CANARY not in repr(vars(refused.value))


def test_values_without_a_hash_are_told_where_they_are_read() -> None:
    table = pd.DataFrame({"age": [[1], [2]], "kind": [{}, {}]})
    refuse_the_same(table, table.copy())


@pytest.mark.parametrize("names", [[1, 2], [("a", "b"), ("a", "c")], [None, "b"], [CANARY, 2.5]])
def test_names_of_columns_that_are_no_texts(names: list[Any]) -> None:
    table = pd.DataFrame([[1, 2]])
    table.columns = pd.Index(names, dtype=object, tupleize_cols=False)
    with pytest.raises(FileError, match="a text as its name") as refused:
        header_of(table)
    assert CANARY not in str(refused.value)


def test_a_frame_that_is_called_by_its_first_record(tmp_path: Path) -> None:
    (tmp_path / "raw.csv").write_text(f"39,{CANARY},13\n40,b,9\n", encoding="utf-8")
    frame = pd.read_csv(tmp_path / "raw.csv")
    frame.to_parquet(tmp_path / "raw.parquet")
    network = bp.example("hospital").network
    for run in (
        lambda: start(frame, records=9, protect=CANARY, network=network, source="x"),
        lambda: files_to_start(str(tmp_path / "raw.parquet"), None, notion="dataset"),
        lambda: files_to_start(str(tmp_path / "raw.parquet"), None, notion="dataset", protect=["CANARY"]),
    ):
        with pytest.raises(BnprivError, match="must have names") as refused:
            run()
        assert CANARY not in str(refused.value)
    years = pd.DataFrame({"2019": [1.5, 2, 3] * 40, "2020": ["a", "b", "b"] * 40})
    assert "2019" in start(years.head(2), records=2, protect="2020", learn=years, draws=2).schema.columns


def in_sqlite(table: Any, path: Path) -> str:
    with closing(sqlite3.connect(path)) as connection:
        table.to_sql("people", connection, index=False)
        connection.commit()
    return f"sqlite:///{path}#people"


def test_public_tables_in_databases(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    public = pd.DataFrame({"age": [20 + k % 40 for k in range(120)], "kind": ["a", "b", "b"] * 40})
    ours, theirs = in_sqlite(private(), tmp_path / "ours.db"), in_sqlite(public, tmp_path / "theirs.db")
    monkeypatch.chdir(tmp_path)
    for same in (ours, "sqlite:///ours.db#people", private()):
        with pytest.raises(FileError, match="another than the private one"):
            refuse_the_same(ours, same)
    place = tmp_path / "f.toml"
    shell = ["init", ours, "--notion", "dataset", "--protect", "kind", "--records", "4"]
    learned = CliRunner().invoke(app, [*shell, "--learn", theirs, "-o", str(place)])
    assert learned.exit_code == 0, learned.output
    framework = bp.read_framework(place)
    assert isinstance(framework, bp.DatasetAttributePrivacy)
    assert framework.schema["kind"] == bp.Categorical(["a", "b", "other"], missing="other")
    shown = CliRunner().invoke(app, [*shell, "--public", theirs])
    assert 'categories = ["a", "b", "other"]' in shown.output
    assert "theirs.db" not in place.read_text(encoding="utf-8") + shown.output
    assert CANARY not in shown.output
