"""Tables in databases give the same answers as Parquet files, and refusals show no password and no value."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import bnpriv as bp
from bnpriv.cli import app
from bnpriv.errors import FileError
from bnpriv.tables.evaluate import evaluate
from bnpriv.tables.public import inferred_schema
from bnpriv.tables.reader import database_columns, database_frame
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
    with closing(sqlite3.connect(tmp_path / "p w.db")) as connection, connection:
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
    with closing(sqlite3.connect(tmp_path / "s.db")) as connection, connection:
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
        # signs that belong percent-encoded make the rest of a password a path, a table or a database
        ("postgresql://me:a/hunter2@host/db#t", "withheld"),
        ("postgresql://me:1/hunter2@host/db#t", "withheld"),
        ("postgresql://me:a#hunter2@host/db#t", "withheld"),
        ("postgresql://127.0.0.1:1/db password=hunter2#t", "withheld"),
        ("postgresql://host=h password=hunter2/db#t", "withheld"),
        ("postgresql://me:hunter2%40@127.0.0.1:1/db#t", "no connection"),
        ("postgresql://me:hunter2 @127.0.0.1:1/db#t", "no connection"),
        ("postgresql://me@127.0.0.1:1/db?password=hunter2#t", "no connection"),
        ("postgresql://me:hunter2@127.0.0.1:1/db?nonsense=hunter2#t", "no connection"),
        ("postgresql:///db?host=/hunter2/socket&password=hunter2#t", "no connection"),
        ("postgresql://me:hunter2@127.0.0.1:port/db#t", "no connection"),
        ("PostgreSQL://me:hunter2@127.0.0.1:1/db#t", "no connection"),
        ("postgresql+psycopg://me:hunter2@host/db#t", "withheld"),
        ("postgresql:/me:hunter2@host/db#t", "withheld"),
        (" postgres:me:hunter2@host/db#t", "withheld"),
        ("postgresql://me:hunter2@[host/db#t", "withheld"),
        ("host=h password=hunter2 dbname=db", "withheld"),
        ("postgresql://me:hunter2\0@127.0.0.1:1/db#t", "no connection"),
        ("postgresql://me:hunter2\ud800@127.0.0.1:1/db#t", "no connection"),
    ],
)
def test_what_is_no_table_is_refused_without_the_password(url: str, found: str) -> None:
    for read in (answers, database_columns):
        with pytest.raises(FileError, match=found) as refused:
            read(url)
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


def test_a_session_takes_the_url_and_keeps_it_out_of_its_ledger(tmp_path: Path) -> None:
    import pandas as pd

    student = bp.example("student")
    with closing(sqlite3.connect(tmp_path / "hunter2.db")) as connection, connection:
        pd.read_parquet(bp.example_data("student")).to_sql("people", connection, index=False)
    connection.close()
    session = bp.Session(student, f"sqlite:///{tmp_path}/hunter2.db#people", budget=2.0, ledger=tmp_path / "l.db")
    released = session.release("count(height > 180)", epsilon=1.0)
    own = bp.Session(student, bp.example_data("student"), budget=2.0, ledger=tmp_path / "o.db").release(
        "count(height > 180)", epsilon=1.0
    )
    assert type(released) is type(own)
    for shown in (repr(session), session.text, released.to_json(), released.text, released.to_html()):
        assert "hunter2" not in shown
    assert b"hunter2" not in (tmp_path / "l.db").read_bytes()


def test_a_framework_is_started_from_the_names_alone(sqlite: str, tmp_path: Path) -> None:
    output = tmp_path / "framework.toml"
    command = ["init", sqlite, "--notion", "dataset", "--records", "6", "-o", str(output)]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output
    text = output.read_text(encoding="utf-8")
    assert all(f"[columns.{name}]" in text for name in ("x", "extra", "whole", "sex", "smokes"))
    # neither a value of the table nor its address
    assert not any(each in text for each in ("0.3", "1e+300", "\u00e9", "p%20w", "sqlite"))
    assert "p%20w" not in done.output
    before = (tmp_path / "p w.db").read_bytes()
    refused = CliRunner().invoke(app, ["check", str(output), sqlite, "--json", str(tmp_path / "p w.db")])
    assert isinstance(refused.exception, FileError)
    assert (tmp_path / "p w.db").read_bytes() == before


def test_a_public_table_in_a_database_is_not_named_and_must_be_another(tmp_path: Path) -> None:
    import pandas as pd

    public = pd.DataFrame({"smokes": ["no", "yes"] * 100, "ill": ["no"] * 110 + ["yes"] * 90})
    with closing(sqlite3.connect(tmp_path / "hunter2.db")) as connection, connection:
        public.to_sql("t.csv", connection, index=False)
    connection.close()
    url = f"sqlite:///{tmp_path}/hunter2.db#t.csv"
    framework = bp.start(public.head(1), records=50, protect="ill", learn=url)
    assert "hunter2" not in framework.source
    assert "a public table, 200 public records" in framework.source
    with pytest.raises(FileError, match="another than the private one"):
        bp.start(url, records=50, protect="ill", learn=str(url))


def test_decimals_of_the_server_cross_with_all_their_bits(server: postgres.Server) -> None:
    # text would lose them: with extra_float_digits = 0 a server writes 15 digits of a double, and 6 of a float4
    server.do("CREATE TABLE bits (x float8, f float4)", "INSERT INTO bits VALUES (0.1::float8 + 0.2, 0.1)")
    address = f"postgresql://{postgres.NAME}@127.0.0.1:{server.port}/postgres?options=-cextra_float_digits%3D0"
    schema = bp.Schema(records=1, columns={"x": bp.Real(0, 1), "f": bp.Real(0, 1)})
    for query in ("count(x > 0.3)", "count(x >= 0.30000000000000004)", "count(f > 0.1)", "count(f > 0.1000000014)"):
        assert evaluate(bp.parse_query(query), schema, f"{address}#bits").values == (1,), query


def test_nothing_can_be_written_while_a_table_is_read(server: postgres.Server) -> None:
    server.do(
        "CREATE TABLE counted (x float8)",
        "INSERT INTO counted VALUES (1), (2)",
        "CREATE SEQUENCE taken",
        "CREATE VIEW writes AS SELECT x + nextval('taken') AS x FROM counted",
    )
    address = f"postgresql://{postgres.NAME}@127.0.0.1:{server.port}/postgres"
    schema = bp.Schema(records=2, columns={"x": bp.Integer(0, 9)})
    assert evaluate(bp.total("x"), schema, f"{address}#counted").values == (3,)
    with pytest.raises(FileError, match="an error of the server"):
        evaluate(bp.total("x"), schema, f"{address}#writes")


def test_all_that_is_read_of_a_server_is_of_one_moment(server: postgres.Server) -> None:
    server.do(
        "CREATE VIEW how AS SELECT current_setting('transaction_isolation') AS isolation, "
        "current_setting('transaction_read_only') AS only_read"
    )
    url = f"postgresql://{postgres.NAME}@127.0.0.1:{server.port}/postgres#how"
    with database_frame(url, ["isolation", "only_read"]) as (frame, _):
        assert frame.rows() == [("repeatable read", "on")]


def test_sqlite_is_read_in_one_transaction_that_cannot_write(sqlite: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between two statements on their own another program may change the table."""
    seen: list[bool] = []
    connect = sqlite3.connect

    class Watched(sqlite3.Connection):
        def execute(self, *command: Any) -> sqlite3.Cursor:
            if str(command[0]).startswith("SELECT"):
                seen.append(self.in_transaction)
                with pytest.raises(sqlite3.OperationalError, match="readonly"):
                    super().execute("CREATE TABLE other (x)")
            return super().execute(*command)

    monkeypatch.setattr(sqlite3, "connect", lambda *given, **named: connect(*given, **named, factory=Watched))
    answers(sqlite)
    assert len(seen) > 2
    assert all(seen)


def test_what_sqlite_says_of_a_value_is_withheld(tmp_path: Path) -> None:
    """A view that fails on a value quotes it; neither the refusal nor what led to it does."""
    with closing(sqlite3.connect(tmp_path / "v.db")) as connection, connection:
        connection.execute("CREATE TABLE t (x TEXT)")
        connection.execute("INSERT INTO t VALUES ('CANARY-7f3a')")
        connection.execute("CREATE VIEW seen AS SELECT json_extract('{}', x) AS x FROM t")
        with pytest.raises(sqlite3.OperationalError, match="CANARY"):
            connection.execute("SELECT x FROM seen").fetchall()
    connection.close()
    url = f"sqlite:///{tmp_path}/v.db#seen"
    with pytest.raises(FileError, match="OperationalError") as refused, database_frame(url, ["x"]):
        pass
    assert refused.value.__cause__ is None
    assert refused.value.__context__ is None
    assert "CANARY" not in repr(vars(refused.value))


def test_a_text_of_sqlite_that_is_no_text_is_no_error(tmp_path: Path) -> None:
    """Whether a table can be read must not tell what is in it: bytes that are not UTF-8 are no category."""
    with closing(sqlite3.connect(tmp_path / "odd.db")) as connection, connection:
        connection.execute("CREATE TABLE people (sex TEXT)")
        connection.execute("INSERT INTO people VALUES (CAST(X'6DFF' AS TEXT)), ('m'), ('f')")
    connection.close()
    schema = bp.Schema(records=3, columns={"sex": bp.Categorical(["f", "m"])})
    url = f"sqlite:///{tmp_path}/odd.db#people"
    assert evaluate(bp.count(bp.col("sex") == "f"), schema, url).values == (2,)
