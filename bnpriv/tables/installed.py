"""A broken installation is told from a broken file: libraries that do not fit each other read no table at all."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib import metadata
from typing import Any, TypeVar, cast

import narwhals as nw

from bnpriv.errors import BnprivError, InstallationError

T = TypeVar("T")

FILE_LIBRARIES = ("duckdb", "narwhals", "pandas", "numpy")
"""The libraries of ours that read a file, or hand a table on."""

TABLE_LIBRARIES = (*FILE_LIBRARIES, "polars", "pyarrow", "dask", "pyspark", "ibis", "sqlglot", "modin", "cudf")
"""What may be named as missing: names of a table's own may be data."""


def require_readers() -> None:
    """Refuse an installation in which a table of one number cannot be read: asked when a file could not be.

    Whatever goes wrong here has nothing to do with anybody's data, so that the error may be quoted.

    Raises
    ------
    InstallationError
    """
    import duckdb

    try:
        with duckdb.connect() as connection:
            relation: Any = connection.sql("SELECT 1.5 AS a")
            frame = cast("nw.LazyFrame[Any]", nw.from_native(relation))
            frame.select(nw.col("a") + 1).collect(backend="pandas")
            known = connection.execute("SELECT DISTINCT function_name FROM duckdb_functions()").fetchall()
            missing = {"read_parquet", "read_csv"} - {name for (name,) in known}
            if missing:
                raise LookupError(f"this DuckDB has no {' and no '.join(sorted(missing))}")
    except Exception as error:
        raise _broken(FILE_LIBRARIES, f"{type(error).__name__}: {' '.join(str(error).split())[:300]}") from error


def with_imports_named(work: Callable[[], T]) -> T:
    """Do what may need a library that is not there, or does not fit; name it where so.

    Raises
    ------
    InstallationError
    """
    name = None
    try:
        return work()
    except BnprivError:
        raise
    except ImportError as error:
        name = _missing(error)
    # raised here, not in the handler: the text of an error that is handled stays reachable, and may quote the data
    libraries = FILE_LIBRARIES if name is None or name in FILE_LIBRARIES else (*FILE_LIBRARIES, name)
    raise _broken(libraries, f"what could not be imported from {name or 'one of them'}")


def _missing(error: BaseException | None) -> str | None:
    """Return the library that an import failed for, if it is one that reads tables."""
    while error is not None:
        module = (getattr(error, "name", None) or "").partition(".")[0]
        if module in TABLE_LIBRARIES:
            return module
        error = error.__cause__ or error.__context__
    return None


def _broken(libraries: tuple[str, ...], found: str) -> InstallationError:
    shown = ", ".join(f"{name} {_version(name)}" for name in libraries)
    return InstallationError(
        "the installed libraries that read tables must fit each other",
        found=f"{shown}; {found}",
        remedy=f"The data are not at fault. Install what fits: python -m pip install --upgrade {_wanted(libraries)}.",
    )


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not installed"


def _wanted(libraries: tuple[str, ...]) -> str:
    """Return the requirements of bnpriv on some libraries, as a shell takes them."""
    try:
        said = metadata.requires("bnpriv") or []
    except metadata.PackageNotFoundError:  # run from its source
        said = []
    ranges = {re.split(r"[^\w.-]", text, maxsplit=1)[0]: text for text in said if ";" not in text}
    return " ".join(f'"{ranges.get(name, name)}"' for name in libraries)
