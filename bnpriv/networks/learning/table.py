"""Public tables of any engine as NumPy columns, and their fingerprints."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from bnpriv.errors import DataError, FileError
from bnpriv.networks.posterior import TableFingerprint

ColumnValues = list[Any]
Hashes = NDArray[np.uint64]


def public_columns(data: object, names: Iterable[str]) -> dict[str, ColumnValues]:
    """Return columns of a public table.

    Parameters
    ----------
    data : table, str or path
        Whatever narwhals takes, or a path to a Parquet or CSV file.
    names : iterable of str
        The columns to be read.

    Returns
    -------
    dict from str to list
        The values, of plain Python types.

    Raises
    ------
    DataError
        If the data are no table, have no records, or lack a column or a value.
    FileError
        If a file cannot be read.
    """
    if isinstance(data, (str, os.PathLike)):
        return _of_file(Path(cast("str | os.PathLike[str]", data)), names)
    return _of_frame(data, names)


def _of_file(path: Path, names: Iterable[str]) -> dict[str, ColumnValues]:
    import duckdb

    # "yes" and "no" stay what they are, and become no booleans
    plain = {"auto_type_candidates": ["BIGINT", "DOUBLE", "VARCHAR"]}
    readers: dict[str, tuple[str, dict[str, Any]]] = {".csv": ("read_csv", plain), ".parquet": ("read_parquet", {})}
    known = readers.get(path.suffix.lower())
    # nothing is fetched from the network, whatever the path looks like
    config = {"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"}
    with duckdb.connect(config=cast(Any, config)) as connection:
        relation: object = None
        if known is not None and path.exists():
            reader, options = known
            try:
                relation = getattr(connection, reader)(str(path), **options)
            except duckdb.Error:
                relation = None
        if relation is None:
            raise FileError(
                "a public table must be a readable file that ends in .parquet or .csv",
                found=repr(path.name),
                remedy="Check the path, or open the file yourself and pass the table.",
            )
        return _of_frame(relation, names)


def _of_frame(data: object, names: Iterable[str]) -> dict[str, ColumnValues]:
    import narwhals as nw

    try:
        native: Any = nw.from_native(cast(Any, data))
        frame: Any = native.collect() if isinstance(native, nw.LazyFrame) else native
        known = frozenset(frame.columns)
    except (TypeError, AttributeError):
        raise DataError(
            "the public data must be a table",
            found=f"a {type(data).__name__}",
            remedy="Pass a pandas, Polars, PyArrow or DuckDB table, or a path to a Parquet or CSV file.",
        ) from None
    columns: dict[str, ColumnValues] = {}
    for name in names:
        if name not in known:
            raise DataError(
                f"the public table must have the column {name!r}",
                found="none of that name",
                remedy="Rename the column, or leave it out of the graph.",
            )
        held: ColumnValues = frame[name].to_list()
        values: ColumnValues = [cast(Any, value).item() if isinstance(value, np.generic) else value for value in held]
        if not values or any(value is None or value != value for value in values):
            raise DataError(
                f"the column {name!r} of the public table must have a value in every record",
                found="missing values" if values else "no records",
                remedy="Leave such records out, or give what is missing a name of its own.",
            )
        columns[name] = values
    return columns


def fingerprint_of(columns: Mapping[str, ColumnValues]) -> TableFingerprint:
    """Return hashes by which a table is recognized.

    Examples
    --------
    >>> a, b = fingerprint_of({"x": [1, 2]}), fingerprint_of({"x": [2.0, 1.0]})
    >>> a.rows == b.rows, a.columns == b.columns
    (True, False)
    """
    hashes = {name: _hashes(values) for name, values in columns.items()}
    records = len(next(iter(hashes.values())))
    rows: Hashes = np.zeros(records, dtype=np.uint64)
    for name in sorted(hashes):
        rows += _mixed(hashes[name] ^ _hash(name.encode()))
    total = int(np.sum(_mixed(rows), dtype=np.uint64))
    return TableFingerprint(
        records=records,
        columns={name: hashlib.sha256(found.tobytes()).hexdigest() for name, found in sorted(hashes.items())},
        rows=f"{total:016x}",
    )


def _hashes(values: ColumnValues) -> Hashes:
    known = {value: _hash(_plain(value)) for value in set(values)}
    return np.array([known[value] for value in values], dtype=np.uint64)


def _plain(value: object) -> bytes:
    """Write a value so that True, 1 and 1.0 are alike, and numbers and strings are not."""
    if isinstance(value, (bool, int, float)):
        return repr(float(value)).encode()
    return repr(value).encode("utf-8", "surrogatepass")


def _hash(text: bytes) -> np.uint64:
    return np.frombuffer(hashlib.sha256(text).digest()[:8], dtype=np.uint64)[0]


def _mixed(x: Hashes) -> Hashes:
    """Mix the bits of hashes (the finalizer of SplitMix64), so that their sums tell records apart."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
