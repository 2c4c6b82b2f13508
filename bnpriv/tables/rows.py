"""What can be refused of a table before a release is charged: nothing here depends on its values."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial

from bnpriv.core.schema import Schema
from bnpriv.tables.evaluate import guarded, require_rows
from bnpriv.tables.readings import dialect_of


def check_rows(columns: Collection[str], schema: Schema, data: object) -> None:
    """Refuse a table that cannot be read, lacks a column, or has not the declared number of rows.

    Parameters
    ----------
    columns : collection of str
        Those that must be there, once each.
    schema : Schema
    data : table, str or path

    Raises
    ------
    DataError, FileError
        Says nothing about the values; not even how many rows there are.
    """
    require_rows(guarded(data, lambda: row_count(columns, data, dialect_of(schema).separator)), schema)


def row_count(columns: Collection[str], data: object, separator: str = ",") -> int:
    """Return how many rows a private table has, once it is known to have some columns."""
    from bnpriv.tables.readings import over_partitions

    return sum(over_partitions(data, partial(_part_rows, sorted(columns), separator)))


def _part_rows(columns: Collection[str], separator: str, data: object) -> int:
    import narwhals as nw

    from bnpriv.tables.reader import chosen, collected, source

    with source(data, columns, separator) as (frame, names):
        if columns:  # engines differ in what it means to select none
            chosen(frame, names, columns)
        return int(collected(frame.lazy().select(nw.len().alias("rows"))).row(0)[0])
