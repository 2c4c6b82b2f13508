"""Public tables, with the types of their values, and how one is recognized; never a table that is to be protected."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from functools import partial
from typing import Any, cast

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from bnpriv.checks import listing, number as checked_number, type_text
from bnpriv.core.columns import Categorical, Integer, Real
from bnpriv.core.interrupts import interruptible
from bnpriv.core.networks.base import TableFingerprint
from bnpriv.core.schema import Column, Schema
from bnpriv.digest import sha256
from bnpriv.errors import DataError, SchemaError
from bnpriv.tables.files import is_csv
from bnpriv.tables.reader import chosen, collected, source
from bnpriv.tables.readings import NUMBER, ColumnValues, Frame, number, numeric

# --------------------------------------------------------------------------------------------------
# Public tables in memory, with the types of their values; never a table that is to be protected.
#
# Imported only when data are at hand: narwhals stays out of ``import bnpriv``.
# --------------------------------------------------------------------------------------------------

NO_NUMBER = "^ *([nN][aA][nN])? *$"
"""What a field looks like that is missing in a CSV column of numbers."""

WHOLE_NUMBER = "^ *[+-]?[0-9]{1,18} *$"
"""What a whole number looks like that 64 bits hold."""


def public_table(data: object, names: Iterable[str]) -> nw.DataFrame[Any]:
    """Open a public table and return those of some columns that it has.

    Parameters
    ----------
    data : table, str or path
        Whatever `bnpriv.tables.reader.opened` takes. A column of a CSV file is one of numbers if all its fields are
        numbers or missing, else one of texts.
    names : iterable of str
        The columns that are wanted.

    Returns
    -------
    narwhals.DataFrame
        In the order of `names`.

    Raises
    ------
    DataError
        If the data are no table with distinct column names.
    FileError
        If a file is missing, unreadable or of another kind.
    """
    return interruptible(data, partial(_table, data, list(dict.fromkeys(names))))


def _table(data: object, wanted: Sequence[str]) -> nw.DataFrame[Any]:
    with source(data, wanted, separator=None) as (frame, held):
        there = [name for name in wanted if name in held]
        selected = chosen(frame, held, there)
        if is_csv(data):
            selected = _typed(cast(Frame, selected), len(there))
        table = selected if isinstance(selected, nw.DataFrame) else collected(selected)
    # of no columns an engine may still give one
    return table.select(nw.col(f"c{k}").alias(name) for k, name in enumerate(there))


def _typed(frame: Frame, columns: int) -> Frame:
    """Cast those columns of texts to numbers that hold nothing else; whole ones exactly."""
    texts = {f"c{k}": nw.col(f"c{k}") for k in range(columns)}
    if not texts:
        return frame
    filled = {name: text.fill_null("") for name, text in texts.items()}
    kinds = [
        column.str.contains(f"{kind}|{NO_NUMBER}").all().alias(f"{name} {place}")
        for name, column in filled.items()
        for place, kind in enumerate((NUMBER, WHOLE_NUMBER))
    ]
    found = iter(collected(frame.select(*kinds)).row(0))
    typed: list[nw.Expr] = []
    for name, text in texts.items():
        numbers, whole = next(found), next(found)
        digits = nw.when(filled[name].str.contains(WHOLE_NUMBER)).then(text.str.strip_chars(" ")).cast(nw.Int64)
        typed.append(
            (digits if whole else numeric(text, nw.String(), frame.implementation) if numbers else text).alias(name)
        )
    return frame.select(*typed)


def public_columns(data: object, names: Sequence[str]) -> dict[str, ColumnValues]:
    """Return the values of columns of a public table.

    Parameters
    ----------
    data : table, str or path
        As `public_table` takes it.
    names : sequence of str
        The columns to be read.

    Returns
    -------
    dict from str to list
        The values, of plain Python types; None where one is missing.

    Raises
    ------
    DataError
        If the data are no table, or lack a column.
    FileError
        If a file is missing, unreadable or of another kind.

    Examples
    --------
    >>> import pandas as pd
    >>> public_columns(pd.DataFrame({"age": [20, 65], "sex": ["f", "m"]}), ["age"])
    {'age': [20, 65]}
    """
    table = public_table(data, names)
    for name in names:
        if name not in table.columns:
            raise DataError(
                f"the public table must have the column {name!r}",
                found="none of that name",
                remedy="Check the spelling; a CSV file must be separated by commas, with a header line.",
            )
    return {name: _values(table[name]) for name in names}


def complete_columns(data: object, names: Iterable[str]) -> dict[str, ColumnValues]:
    """Read columns of a public table that has a value in every record.

    Raises
    ------
    DataError
        If the data are no table, have no records, or lack a column or a value.
    FileError
        If a file cannot be read.
    """
    columns = public_columns(data, list(names))
    for name, values in columns.items():
        if not values or None in values:
            raise DataError(
                f"the column {name!r} of the public table must have a value in every record",
                found="missing values" if values else "no records",
                remedy="Leave such records out, or give what is missing a name of its own.",
            )
    return columns


def _values(series: nw.Series[Any]) -> ColumnValues:
    try:
        held = zip(series.to_list(), series.is_null().to_list(), strict=True)
    except InvalidOperation as error:
        raise DataError(
            f"the column {series.name!r} of the public table must hold values that may be compared",
            found="a decimal that signals that it is no number",
            remedy="Leave missing values empty.",
        ) from error
    # NaN differs from itself
    return [None if missing or (found := _plain(value)) != found else found for value, missing in held]


def _plain(value: Any) -> Any:
    if isinstance(value, Decimal):
        return number(value)
    return cast(Any, value).item() if isinstance(value, np.generic) else value


# --------------------------------------------------------------------------------------------------
# The schema of a public table, from its values; never of a table that is to be protected.
# --------------------------------------------------------------------------------------------------

MOST_CATEGORIES = 1000
"""Different texts of a column that are still taken for categories."""


def inferred_schema(public_table: object, names: Sequence[str], records: int) -> Schema:
    """Return bounds and categories that hold all values of a public table.

    Parameters
    ----------
    public_table : table, str or path
        A data frame of any engine, or a Parquet or CSV file; every bound of the schema is one of its values.
    names : sequence of str
        The columns that are wanted.
    records : int
        The number of records of the schema.

    Raises
    ------
    DataError
        If it is no table, a column is missing, or has no values or too many different texts.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"age": [20, 65], "sex": ["f", "m"]})
    >>> schema = inferred_schema(table, ["age", "sex"], 100)
    >>> schema["age"].upper, schema["sex"].categories
    (65, ('f', 'm'))
    """
    held = public_columns(public_table, names)
    return Schema(records=records, columns={name: _column(name, held[name]) for name in names})


def _column(name: str, held: Sequence[Any]) -> Column:
    values = [value for value in held if value is not None]
    if not values:
        raise DataError(
            f"the column {name!r} of the public table must have values", found="none", remedy="Declare the schema."
        )
    numbers = all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in values)
    if numbers and all(math.isfinite(number(value)) for value in values):
        if all(float(value).is_integer() for value in values):
            return Integer(int(min(values)), int(max(values)))
        return Real(float(min(values)), float(max(values)))
    kinds: set[type] = {type(value) for value in values}
    if not kinds <= {str, bool, int, float}:
        raise DataError(
            f"the column {name!r} of the public table must hold numbers, texts or truth values",
            found=listing(sorted(type_text(kind) for kind in kinds)),
            remedy="Turn its values into one of these, or leave the column out.",
        )
    categories = sorted(set(values), key=lambda value: (type(value).__name__, value))
    if len(categories) > MOST_CATEGORIES:
        raise DataError(
            f"a column of texts may have at most {MOST_CATEGORIES:,} different ones",
            found=f"{len(categories):,} in {name!r}",
            remedy="Declare the schema.",
        )
    return Categorical(categories)


# --------------------------------------------------------------------------------------------------
# How often the numbers of a public column come in each bin.
# --------------------------------------------------------------------------------------------------


def bin_frequencies(
    edges: Sequence[float], labels: Sequence[str], values: Iterable[object]
) -> dict[str, dict[float, float]]:
    """Return for every bin how often each of its numbers comes; see `Binned.from_public`.

    Raises
    ------
    SchemaError
        If a value is no number, or a bin holds none.
    """
    found: dict[str, Counter[float]] = {label: Counter() for label in labels}
    for value in values:
        if value is None or type(value).__name__ == "NAType" or value != value:
            continue
        known = min(max(checked_number("a value", value, error=SchemaError), edges[0]), edges[-1])
        found[labels[min(bisect_right(edges, known), len(labels)) - 1]][known] += 1
    empty = [label for label, counted in found.items() if not counted]
    if empty:
        raise SchemaError(
            "every bin must hold a value of the public table",
            found=f"none in {listing(map(repr, empty))}",
            remedy="Join it with its neighbour, or declare within yourself.",
        )
    return {
        label: {value: counts / counted.total() for value, counts in counted.items()}
        for label, counted in found.items()
    }


# --------------------------------------------------------------------------------------------------
# Fingerprints by which a public table is recognized.
# --------------------------------------------------------------------------------------------------

Hashes = NDArray[np.uint64]


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
        known = {value: _hash(_written(value)) for value in set(values)}
        hashes[name] = np.array([known[value] for value in values], dtype=np.uint64)
    records = len(next(iter(hashes.values())))
    rows: Hashes = np.zeros(records, dtype=np.uint64)
    for name in sorted(hashes):
        rows += _mixed(hashes[name] ^ _hash(name.encode()))
    total = int(np.sum(_mixed(rows), dtype=np.uint64))
    return TableFingerprint(
        records=records, columns={name: sha256(found) for name, found in sorted(hashes.items())}, rows=f"{total:016x}"
    )


def _written(value: object) -> bytes:
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
