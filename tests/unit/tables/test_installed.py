"""Row 51: a broken installation is told from a broken file, with the libraries and what to install."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import narwhals as nw
import pytest

from bnpriv.core.columns import Real
from bnpriv.core.queries.asked import total
from bnpriv.core.schema import Schema
from bnpriv.errors import DataError, FileError, InstallationError
from bnpriv.io.starter.header import header_of
from bnpriv.tables.evaluate import evaluate
from bnpriv.tables.files import require_readers, with_imports_named
from tests.later import Later

duckdb = Later("duckdb")
pd = Later("pandas")

SCHEMA = Schema(records=2, columns={"a": Real(0, 8)})
UNFIT = ImportError("cannot import name 'sqltypes' from 'duckdb'", name="duckdb")


@pytest.fixture(params=["parquet", "csv"])
def file(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """Return a table as a file."""
    place = tmp_path / f"t.{request.param}"
    if request.param == "csv":
        place.write_text("a\n1\n2\n")
    else:
        duckdb.sql("SELECT unnest([1.0, 2.0]) AS a").write_parquet(str(place))
    return place


def break_narwhals(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    """Let narwhals fail on tables of DuckDB, as 2.20 does with DuckDB 1.4.0."""
    plain = nw.from_native

    def from_native(data: Any, **options: Any) -> object:
        if isinstance(data, duckdb.DuckDBPyRelation):
            raise error
        return plain(data, **options)

    monkeypatch.setattr(nw, "from_native", from_native)


@pytest.mark.parametrize("error", [UNFIT, AttributeError("sqltypes"), TypeError("an argument too many")])
def test_libraries_that_do_not_fit_are_named(file: Path, monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    assert evaluate(total("a"), SCHEMA, file).values == (3,)
    break_narwhals(monkeypatch, error)
    with pytest.raises(InstallationError) as refusal:
        evaluate(total("a"), SCHEMA, file)
    for words in (f"duckdb {duckdb.sql('SELECT version()').fetchone()[0].lstrip('v')}", f"narwhals {nw.__version__}"):
        assert words in refusal.value.found
    assert "python -m pip install --upgrade " in refusal.value.remedy
    assert "duckdb" in refusal.value.remedy.partition("install --upgrade")[2]


def test_so_it_is_for_a_table_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    break_narwhals(monkeypatch, UNFIT)
    relation = duckdb.sql("SELECT unnest([1.0, 2.0]) AS a")
    for work in (lambda: evaluate(total("a"), SCHEMA, relation), lambda: header_of(relation)):
        with pytest.raises(InstallationError, match="duckdb"):
            work()
    table = pd.DataFrame({"a": [1.0, 2.0]})
    assert evaluate(total("a"), SCHEMA, table).values == (3,)


def test_a_broken_file_is_still_a_broken_file(tmp_path: Path) -> None:
    place = tmp_path / "t.parquet"
    place.write_bytes(b"PAR1 not at all PAR1")
    with pytest.raises(FileError, match="a Parquet file must be readable"):
        evaluate(total("a"), SCHEMA, place)
    with pytest.raises(DataError, match="withheld"):
        evaluate(total("a"), SCHEMA, duckdb.sql("SELECT error('SECRET')::DOUBLE AS a"))


class WithoutFiles:
    """A DuckDB that was built without its reader of Parquet."""

    def __init__(self) -> None:
        self.whole = duckdb.connect()

    def __enter__(self) -> WithoutFiles:
        return self

    def __exit__(self, *_: object) -> None:
        self.whole.close()

    def __getattr__(self, name: str):
        return getattr(self.whole, name)

    def read_parquet(self, *_: object, **__: object) -> None:
        raise RuntimeError("Catalog Error: read_parquet does not exist")

    def execute(self, text: str, *arguments: object) -> object:
        # as the list of functions would be
        return self.whole.execute(f"SELECT * FROM ({text}) WHERE function_name <> 'read_parquet'", *arguments)


def test_a_duckdb_without_parquet_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "t.parquet"
    duckdb.sql("SELECT unnest([1.0, 2.0]) AS a").write_parquet(str(place))
    require_readers()
    import duckdb as library

    broken = WithoutFiles()
    monkeypatch.setattr(library, "connect", lambda *_, **__: broken)
    with pytest.raises(InstallationError, match="no read_parquet"):
        evaluate(total("a"), SCHEMA, place)


def test_a_library_that_is_missing_is_named_and_no_name_that_may_be_data() -> None:
    inner = ModuleNotFoundError("No module named 'pyarrow'", name="pyarrow")
    outer = ImportError("Missing optional dependency")
    outer.__cause__ = inner

    def fail(error: Exception) -> None:
        raise error

    with pytest.raises(InstallationError, match=r"could not be imported from pyarrow") as refusal:
        with_imports_named(lambda: fail(outer))
    assert '"pyarrow"' in refusal.value.remedy
    with pytest.raises(InstallationError) as refusal:
        with_imports_named(lambda: fail(ImportError("SECRET", name="SECRET")))
    assert "SECRET" not in str(refusal.value)
    assert refusal.value.__context__ is None
    assert refusal.value.__cause__ is None
