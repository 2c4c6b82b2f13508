"""Tables in databases give the same answers as Parquet files, and refusals show no password and no value."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import bnpriv as bp
from bnpriv.cli import app
from bnpriv.errors import FileError
from bnpriv.release import evaluate
from bnpriv.tables.inferred import inferred_schema
from tests import postgres

SCHEMA = bp.Schema(
    records=6,
    columns={
        "x": bp.Real(0, 1),
        "whole": bp.Integer(-(2**40), 2**31 - 2**40),
        "sex": bp.Categorical(["f", "m"]),
        "smokes": bp.Categorical([True, False]),
    },
)

QUERIES = [
    bp.mean("x"),
    bp.total("whole"),
    bp.count(bp.col("sex") == "m"),
    bp.count(bp.col("x") > 0.30000000000000004),
    bp.count(bp.col("smokes") == True),  # noqa: E712
    bp.histogram("x", [0, 0.1, 0.3, 1]),
]

ROWS: list[tuple[Any, ...]] = [
    (0.1 + 0.2, 5, "f", True),
    (1 / 3, -(2**40) + 1, " m ", False),
    (None, 2**53 + 1, "M", None),
    (1e300, -(2**63), None, True),
    (0.30000000000000004, 7, "m", True),
    (-0.0, None, "\u00e9", False),
]


def parquet(folder: Path) -> Path:
    import pandas as pd

    table = pd.DataFrame(ROWS, columns=list(SCHEMA.columns))
    table["whole"] = pd.array([row[1] for row in ROWS], dtype="Int64")
    table["smokes"] = pd.array([row[3] for row in ROWS], dtype="boolean")
    table.to_parquet(folder / "table.parquet")
    return folder / "table.parquet"


def answers(data: object) -> list[object]:
    return [evaluate(query, SCHEMA, data).values for query in QUERIES]


@pytest.fixture
def sqlite(tmp_path: Path) -> str:
    with sqlite3.connect(tmp_path / "p w.db") as connection:
        connection.execute('CREATE TABLE "my table" (x REAL, extra, whole INTEGER, sex TEXT, smokes BOOLEAN)')
        connection.executemany('INSERT INTO "my table" (x, whole, sex, smokes) VALUES (?, ?, ?, ?)', ROWS)
    connection.close()
    return f"sqlite:///{tmp_path}/p%20w.db#my%20table"


def test_sqlite_gives_the_answers_of_a_parquet_file(sqlite: str, tmp_path: Path) -> None:
    before = (tmp_path / "p w.db").read_bytes()
    assert answers(sqlite) == answers(parquet(tmp_path))
    assert (tmp_path / "p w.db").read_bytes() == before


def test_verbs_take_the_url(sqlite: str, tmp_path: Path) -> None:
    checked = bp.check_data(SCHEMA, sqlite)
    assert checked.rows == 6
    assert checked.extra == ("extra",)
    assert [each.problem for each in checked.findings] == [
        each.problem for each in bp.check_data(SCHEMA, parquet(tmp_path)).findings
    ]
    sexes = inferred_schema(sqlite, ["sex"], 6)["sex"]
    assert isinstance(sexes, bp.Categorical)
    assert sexes.categories == (" m ", "M", "f", "m", "\u00e9")


def test_the_shell_and_sessions_take_the_url(tmp_path: Path) -> None:
    import pandas as pd

    student = bp.example("student")
    table = pd.read_parquet(bp.example_data("student"))
    with sqlite3.connect(tmp_path / "s.db") as connection:
        table.to_sql("people", connection, index=False)
    connection.close()
    url = f"sqlite:///{tmp_path}/s.db#people"
    best = bp.plan(student, "count(height > 180)", epsilon=1.0).best
    assert bp.release(best, url).value == bp.release(best, bp.example_data("student")).value
    framework = student.to_file(tmp_path / "f.toml")[-1]
    command = ["release", str(framework), url, "--query", "count(height > 180)", "--epsilon", "1"]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output
    assert "1,120" in done.output


@pytest.mark.parametrize(
    ("url", "found"),
    [
        ("sqlite:///none.db#people", "none"),
        ("sqlite:///none.db", "withheld"),
        ("mysql://me:hunter2@host/db#people", "withheld"),
        ("postgresql://me:hunter2@127.0.0.1:1/db#people", "no connection"),
        ("postgresql://me:hunter2@host/db#a.b.c", "withheld"),
    ],
)
def test_what_is_no_table_is_refused_without_the_password(url: str, found: str) -> None:
    with pytest.raises(FileError, match=found) as refused:
        answers(url)
    assert "hunter2" not in str(refused.value)
    assert refused.value.__cause__ is None
    assert refused.value.__context__ is None


def test_tables_and_files_of_sqlite_that_there_are_not_are_refused(sqlite: str, tmp_path: Path) -> None:
    with pytest.raises(FileError, match="none of that name"):
        answers(sqlite.replace("my%20table", "yours"))
    (tmp_path / "text.db").write_text("secret value " * 100, encoding="utf-8")
    with pytest.raises(FileError, match="must be readable") as refused:
        answers(f"sqlite:///{tmp_path}/text.db#t")
    assert "secret" not in str(refused.value)


@pytest.fixture(scope="module")
def server() -> Iterator[postgres.Server]:
    if postgres.why_none():
        pytest.skip(postgres.why_none())
    with postgres.server() as started:
        yield started


def test_postgresql_gives_the_answers_of_a_parquet_file(server: postgres.Server, tmp_path: Path) -> None:
    import psycopg

    address = f"postgresql://{postgres.NAME}@127.0.0.1:{server.port}/postgres"
    server.do(
        "CREATE SCHEMA own",
        'CREATE TABLE own."my.table" (x float8, born date, whole int8, sex varchar, smokes bool)',
        "CREATE ROLE nobody LOGIN",
    )
    with psycopg.connect(address) as connection:
        insert = 'INSERT INTO own."my.table" (x, whole, sex, smokes) VALUES (%s, %s, %s, %s)'
        connection.cursor().executemany(insert, ROWS)
    url = f"{address}#own.my%2Etable"
    assert answers(url) == answers(parquet(tmp_path))
    assert bp.check_data(SCHEMA, url).extra == ("born",)
    for table, found in (("own.none", "none of that name"), ("none.t", "none of that name")):
        with pytest.raises(FileError, match=found):
            answers(f"{address}#{table}")
    with pytest.raises(FileError, match="no permission"):
        answers(f"postgresql://nobody@127.0.0.1:{server.port}/postgres#own.my%2Etable")


def test_numbers_of_postgresql_keep_all_their_digits(server: postgres.Server) -> None:
    import pandas as pd

    server.do(
        "CREATE TABLE n (d numeric, f real, kind date, x float8)",
        "INSERT INTO n VALUES (0.30000000000000004440892098500626161694526672363281250001, 0.1, 'infinity', 'NaN'), "
        "('NaN', 'Infinity', NULL, 'Infinity'), (1e400, NULL, NULL, 1)",
    )
    url = f"postgresql://{postgres.NAME}@127.0.0.1:{server.port}/postgres#n"
    columns: dict[str, Any] = {name: bp.Real(0, 1, missing=0.5) for name in ("d", "f", "x", "kind")}
    schema = bp.Schema(records=3, columns=columns)
    exact = float(Decimal("0.30000000000000004440892098500626161694526672363281250001"))
    for query, table in (
        (bp.mean("d"), [exact, None, float("inf")]),
        (bp.mean("f"), [0.10000000149011612, float("inf"), None]),
        (bp.mean("x"), [None, float("inf"), 1.0]),
        (bp.mean("kind"), [None, None, None]),
    ):
        (name,) = query.columns
        same = pd.DataFrame({name: pd.Series(table, dtype=object)})
        assert evaluate(query, schema, url).values == evaluate(query, schema, same).values
