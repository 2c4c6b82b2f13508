"""Checks of a table against what is declared: the same in every engine, for the owner alone, used by no release."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest
from typer.testing import CliRunner

import bnpriv as bp
from bnpriv.cli import app, main
from bnpriv.errors import DataError, FileError, SchemaError
from bnpriv.tables.data_check import MOST_LISTED_LABELS
from bnpriv.tables.readings import Dialect

CARD = "_repr_html_"

PACKAGE = Path(bp.__file__).parent

SCHEMA = bp.Schema(
    records=7,
    columns={
        "sex": bp.Categorical(["f", "m"]),
        "age": bp.Integer(0, 120),
        "score": bp.Real(0, 1),
        "band": bp.Binned((0, 10, 20)),
        "smokes": bp.Categorical([True, False]),
    },
)

ROWS: dict[str, list[Any]] = {
    "sex": ["f", "m", " F", "M", "x\x1b[31m", None, "m"],
    "age": [17.0, -3.0, 130.0, 20.5, None, 30.0, 121.0],
    "score": [0.5, None, 0.25, 1.5, -0.5, 0.0, 1.0],
    "band": [0.0, 10.0, 20.0, 21.0, 5.0, 5.0, 5.0],
    "smokes": [True, False, None, True, True, True, True],
    "other": [1, 2, 3, 4, 5, 6, 7],
}

EXPECTED = [
    ("sex", "missing values", 1),
    ("sex", "labels that are not declared", 1),
    ("sex", "labels that differ from a declared one by blanks or case alone", 2),
    ("age", "below the lower bound 0", 1),
    ("age", "above the upper bound 120", 2),
    ("age", "fractions in a column of whole numbers", 1),
    ("age", "missing values", 1),
    ("score", "below the lower bound 0", 1),
    ("score", "above the upper bound 1", 1),
    ("score", "missing values", 1),
    ("band", "above the upper bound 20", 1),
    ("smokes", "missing values", 1),
]


def _pandas(_: Path) -> Any:
    import pandas as pd

    return pd.DataFrame(ROWS)


def _objects(_: Path) -> Any:
    import pandas as pd

    return pd.DataFrame(ROWS, dtype=object)


def _polars(_: Path) -> Any:
    return pytest.importorskip("polars").DataFrame(ROWS)


def _lazy(folder: Path) -> Any:
    return _polars(folder).lazy()


def _arrow(_: Path) -> Any:
    import pyarrow

    return cast(Any, pyarrow).table(ROWS)


def _duckdb(folder: Path) -> Any:
    import duckdb

    return duckdb.connect().read_parquet(str(_parquet(folder)))


def _parquet(folder: Path) -> Path:
    _pandas(folder).to_parquet(folder / "table.parquet")
    return folder / "table.parquet"


def _csv(folder: Path) -> Path:
    _pandas(folder).to_csv(folder / "table.csv", index=False)
    return folder / "table.csv"


def _dask(folder: Path) -> Any:
    return pytest.importorskip("dask.dataframe").from_pandas(_pandas(folder), npartitions=3)


def _ibis(folder: Path) -> Any:
    return pytest.importorskip("ibis").duckdb.connect().read_parquet(str(_parquet(folder)))


def _spark(folder: Path) -> Any:
    sql = pytest.importorskip("pyspark.sql")
    session = sql.SparkSession.builder.master("local[1]").getOrCreate()
    return session.read.parquet(str(_parquet(folder)))


ENGINES = [_pandas, _objects, _polars, _lazy, _arrow, _duckdb, _parquet, _csv, _dask, _ibis, _spark]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.unhurried
def test_every_engine_finds_the_same(engine: Callable[[Path], Any], tmp_path: Path) -> None:
    found = bp.check_data(SCHEMA, engine(tmp_path))
    assert [(each.column, each.problem, each.rows) for each in found.findings] == EXPECTED
    assert found.rows == 7
    assert found.extra == ("other",)
    assert not found.is_well


def test_all_forms_say_in_capitals_that_they_are_not_for_publication(tmp_path: Path) -> None:
    for found in (
        bp.check_data(SCHEMA, _pandas(tmp_path)),
        bp.check_data(bp.example("student"), bp.example_data("student")),
    ):
        for text in (found.text, found.to_html(), found.to_markdown(), getattr(found, CARD)()):
            assert "NOT FOR PUBLICATION" in text
        assert found.document.headline.startswith("NOT FOR PUBLICATION: ")
        assert json.loads(found.to_json())["headline"].startswith("NOT FOR PUBLICATION: ")
        assert '"not_for_publication": true' in found.to_json()


def test_a_table_as_it_is_declared_is_well() -> None:
    import pandas as pd

    schema = bp.Schema(records=2, columns={"sex": bp.Categorical(["f", "m"]), "age": bp.Integer(0, 9)})
    found = bp.check_data(schema, pd.DataFrame({"sex": ["m", " f "], "age": [0, 9]}))
    assert found.is_well
    assert found.findings == ()


def test_signs_that_steer_a_terminal_are_spelled_out(tmp_path: Path) -> None:
    import pandas as pd

    name = "a\x1b[2J"
    schema = bp.Schema(records=1, columns={name: bp.Categorical(["f"]), "b": bp.Integer(0, 1)})
    found = bp.check_data(schema, pd.DataFrame({name: ["\x1b[31m\u202e\n"], "b": ["\x07"], "c\x1b": [1]}))
    for text in (found.text, found.to_markdown(), found.to_html()):
        assert not any(sign in text for sign in "\x1b\u202e\x07")
    assert found.findings[0].values == (('"\\x1b[31m\\u202e\\n"', 1),)


def test_a_long_list_is_cut_with_a_count() -> None:
    import pandas as pd

    labels = [f"label {k}" for k in range(50) for _ in range(k + 1)]
    schema = bp.Schema(records=len(labels), columns={"x": bp.Categorical(["a"])})
    (found,) = bp.check_data(schema, pd.DataFrame({"x": [*labels[:-1], "y" * 500]})).findings
    assert len(found.values) == MOST_LISTED_LABELS
    assert found.values[0] == ('"label 48"', 49)
    left = 51 - MOST_LISTED_LABELS
    assert found.more[0] == left
    assert sum(rows for _, rows in found.values) + found.more[1] == len(labels) == found.rows
    assert f"{left} more values" in bp.check_data(schema, pd.DataFrame({"x": [*labels[:-1], "z"]})).text


def test_what_most_rows_differ_in_is_printed_first_and_bounds_of_dates_are_dates() -> None:
    import pandas as pd

    columns = {**{f"c{k}": bp.Integer(0, 1, missing=0) for k in range(5)}, "day": bp.Integer(0, 10)}
    schema = bp.Schema(records=3, columns=columns, dialect=Dialect(dates={"day": "YYYY-MM-DD"}))
    gaps = {f"c{k}": [None, 0, 1] for k in range(5)}
    printed = str(bp.check_data(schema, pd.DataFrame({**gaps, "day": ["2020-01-01"] * 3}))).splitlines()
    assert printed[2].startswith("day: above the upper bound 1970-01-11 (3 rows).")
    assert "and 2 more" in printed


def test_rows_columns_and_the_way_out_are_told() -> None:
    import pandas as pd

    schema = bp.Schema(
        records=3, columns={"Body Height": bp.Real(0, 1), "sex": bp.Categorical(["f", "Mx"]), "z": bp.Real(0, 1)}
    )
    found = bp.check_data(schema, pd.DataFrame({"body height": [1.0], "sex": ["m x"]}))
    text = " ".join(found.text.split())
    assert "another number of rows than the 3 that are declared (1 row)" in text
    assert 'Is it "body height"? Give both one name.' in text
    assert "coarsen={'Mx': [...]}" in text
    assert [each.column for each in found.findings] == ["", "Body Height", "sex", "z"]


def test_two_columns_of_one_name_are_told() -> None:
    import pandas as pd

    schema = bp.Schema(records=1, columns={"x": bp.Real(0, 1)})
    table = pd.DataFrame([[1.0, 2.0]], columns=["x", "x"])
    with pytest.raises(DataError, match="distinct column names"):
        bp.check_data(schema, table)


def test_texts_that_are_no_numbers_are_listed() -> None:
    import pandas as pd

    schema = bp.Schema(records=3, columns={"x": bp.Real(0, 1)})
    (found,) = bp.check_data(schema, pd.DataFrame({"x": ["0.5", "n/a", "n/a"]})).findings
    assert (found.problem, found.values) == ("values that are no numbers", (('"n/a"', 2),))


def test_what_is_no_table_or_no_schema_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SchemaError):
        bp.check_data("student", {})
    with pytest.raises(DataError):
        bp.check_data(SCHEMA, 5)
    with pytest.raises(FileError):
        bp.check_data(SCHEMA, tmp_path / "none.parquet")


def test_infinity_is_outside_and_no_fraction() -> None:
    import pandas as pd

    schema = bp.Schema(records=3, columns={"age": bp.Integer(0, 120)})
    texts = pd.DataFrame({"age": pd.Series(["inf", "-inf", "7.5"], dtype=object)})
    for table in (texts, texts.astype(float)):
        found = [(each.problem, each.rows) for each in bp.check_data(schema, table).findings]
        assert found == [
            ("below the lower bound 0", 1),
            ("above the upper bound 120", 1),
            ("fractions in a column of whole numbers", 1),
        ]


def test_what_an_engine_says_of_a_value_is_withheld() -> None:
    """A lazy table that fails while it is read quotes the value; neither the refusal nor what led to it does."""
    import polars as pl

    table = pl.LazyFrame({"sex": ["7", "CANARY-7f3a"]}).select(pl.col("sex").cast(pl.Int64))
    with pytest.raises(pl.exceptions.PolarsError, match="CANARY"):
        table.collect()
    with pytest.raises(DataError, match="withheld") as refused:
        bp.check_data(bp.Schema(records=2, columns={"sex": SCHEMA["sex"]}), table)
    error = refused.value
    assert error.__cause__ is None
    assert error.__context__ is None
    assert "CANARY" not in repr(vars(error))


@pytest.mark.unhurried
def test_the_shell_exits_with_0_and_1(tmp_path: Path) -> None:
    framework = bp.example("student").to_file(tmp_path / "f.toml")[-1]
    table = bp.simulate(bp.example("student"), seed=1)
    table.to_parquet(tmp_path / "good.parquet")
    table.iloc[:-1].to_parquet(tmp_path / "short.parquet")
    run = CliRunner().invoke
    assert run(app, ["check", str(framework), str(tmp_path / "good.parquet")]).exit_code == 0
    short = run(app, ["check", str(framework), str(tmp_path / "short.parquet"), "--json", str(tmp_path / "found.json")])
    assert short.exit_code == 1
    assert "NOT FOR PUBLICATION" in short.output
    assert json.loads((tmp_path / "found.json").read_text(encoding="utf-8"))["data"]["well"] is False


def test_the_shell_exits_with_2_where_it_refuses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    framework = bp.example("student").to_file(tmp_path / "f.toml")[-1]
    monkeypatch.setattr("sys.argv", ["bnpriv", "check", str(framework), str(tmp_path / "none.parquet")])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert "refused: a data file must exist" in capsys.readouterr().err


@pytest.mark.parametrize("room", ["core", "kinds", "mechanisms", "tables", "ledger"])
def test_no_release_depends_on_it(room: str) -> None:
    for path in {*(PACKAGE / room).rglob("*.py")} - {PACKAGE / "tables" / "data_check.py"}:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in node.names] if isinstance(node, (ast.Import, ast.ImportFrom)) else []
            names += [node.value] if isinstance(node, ast.Constant) and isinstance(node.value, str) else []
            assert not any("data_check" in name or "check_data" in name for name in names), path


def test_a_release_says_the_same_whether_it_was_checked_or_not() -> None:
    best = bp.plan(bp.example("student"), "count(height > 180)", epsilon=1.0).best
    data = bp.example_data("student")
    before = bp.release(best, data).value
    bp.check_data(best.framework, data)
    assert bp.release(best, data).value == before


@pytest.mark.unhurried
def test_types_are_told_where_columns_have_types(tmp_path: Path) -> None:
    assert not bp.check_data(SCHEMA, _csv(tmp_path)).kinds
    assert "String" not in bp.check_data(SCHEMA, _csv(tmp_path)).text
    assert set(bp.check_data(SCHEMA, _parquet(tmp_path)).kinds) == set(SCHEMA.columns)


@pytest.mark.parametrize("engine", ["pandas", "polars"])
def test_codes_are_suspected_in_columns_of_numbers_too(engine: str) -> None:
    import pandas as pd
    import polars as pl

    values = [*range(20, 70), *range(20, 70), -9, -9, -9]
    table = pd.DataFrame({"a": values}) if engine == "pandas" else pl.DataFrame({"a": values})
    schema = bp.Schema(records=103, columns={"a": bp.Integer(-20, 120)})
    (found,) = bp.check_data(schema, table).findings
    assert (found.rows, found.problem[-4:]) == (3, ": -9")
    assert found.remedy.endswith("declare missing_codes.")
    known = bp.Schema(records=103, columns=schema.columns, dialect=Dialect(codes={"a": (-9,)}))
    assert [(each.problem, each.rows) for each in bp.check_data(known, table).findings] == [("missing values", 3)]
