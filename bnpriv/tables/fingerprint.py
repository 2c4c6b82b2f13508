"""Fingerprints by which a public table is recognized."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from bnpriv.core.networks.base import TableFingerprint
from bnpriv.digest import sha256
from bnpriv.errors import DataError
from bnpriv.tables.readings import ColumnValues, number

Hashes = NDArray[np.uint64]


def complete_columns(data: object, names: Iterable[str]) -> dict[str, ColumnValues]:
    """Read columns of a public table that has a value in every record.

    Raises
    ------
    DataError
        If the data are no table, have no records, or lack a column or a value.
    FileError
        If a file cannot be read.
    """
    from bnpriv.tables.public import public_columns

    columns = public_columns(data, list(names))
    for name, values in columns.items():
        if not values or None in values:
            raise DataError(
                f"the column {name!r} of the public table must have a value in every record",
                found="missing values" if values else "no records",
                remedy="Leave such records out, or give what is missing a name of its own.",
            )
    return columns


def fingerprint_of(columns: Mapping[str, ColumnValues]) -> TableFingerprint:
    """Return hashes by which a table is recognized.

    Examples
    --------
    >>> a, b = fingerprint_of({"x": [1, 2]}), fingerprint_of({"x": [2.0, 1.0]})
    >>> a.rows == b.rows, a.columns == b.columns
    (True, False)
    """
    hashes: dict[str, Hashes] = {}
    for name, values in columns.items():
        known = {value: _hash(_plain(value)) for value in set(values)}
        hashes[name] = np.array([known[value] for value in values], dtype=np.uint64)
    records = len(next(iter(hashes.values())))
    rows: Hashes = np.zeros(records, dtype=np.uint64)
    for name in sorted(hashes):
        rows += _mixed(hashes[name] ^ _hash(name.encode()))
    total = int(np.sum(_mixed(rows), dtype=np.uint64))
    return TableFingerprint(
        records=records,
        columns={name: sha256(found) for name, found in sorted(hashes.items())},
        rows=f"{total:016x}",
    )


def _plain(value: object) -> bytes:
    """Write a value so that True, 1 and 1.0 are alike, 0.0 and -0.0 too, and numbers and strings are not."""
    if isinstance(value, (bool, int, float)):
        return repr(number(value) + 0.0).encode()
    return repr(value).encode("utf-8", "surrogatepass")


def _hash(text: bytes) -> np.uint64:
    return np.frombuffer(bytes.fromhex(sha256(text)[:16]), dtype=np.uint64)[0]


def _mixed(x: Hashes) -> Hashes:
    """Mix the bits of hashes (the finalizer of SplitMix64), so that their sums tell records apart."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
