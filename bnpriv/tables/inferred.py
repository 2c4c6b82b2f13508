"""The schema of a public table, from its values; never of a table that is to be protected."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from typing import Any, cast

from bnpriv.checks import listing, type_text
from bnpriv.errors import DataError
from bnpriv.tables.schema import Categorical, Column, Integer, Real, Schema

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
    frame = _frame(public_table)
    missing = [name for name in names if name not in frame.columns]
    if missing:
        raise DataError(
            "the public table must have every column of the query and the property",
            found=f"none called {listing(missing)}",
            remedy="Rename the columns, or ask for others.",
        )
    columns = {name: _column(name, frame[name]) for name in names}
    return Schema(records=records, columns=columns)


def _frame(data: object) -> Any:
    import narwhals as nw

    from bnpriv.tables.files import file_frame

    if isinstance(data, (str, os.PathLike)):
        with file_frame(cast("str | os.PathLike[str]", data)) as (lazy, _):
            return cast(Any, lazy).collect()
    try:
        frame = nw.from_native(cast(Any, data))
    except Exception:  # whatever the engine says, the caller is told that this is no table
        frame = None
    if not isinstance(frame, (nw.DataFrame, nw.LazyFrame)):
        raise DataError(
            "the public table must be a table with distinct column names",
            found=type_text(data),
            remedy="Pass a pandas, Polars or PyArrow table, or a path to a Parquet or CSV file.",
        )
    return cast(Any, frame.collect() if isinstance(frame, nw.LazyFrame) else frame)


def _column(name: str, series: Any) -> Column:
    values: list[Any] = [value for value in series.to_list() if not (value is None or value != value)]
    if not values:
        raise DataError(
            f"the column {name!r} of the public table must have values",
            found="none",
            remedy="Declare the schema.",
        )
    numbers = all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in values)
    if numbers and all(math.isfinite(value) for value in values):
        if all(float(value).is_integer() for value in values):
            return Integer(int(min(values)), int(max(values)))
        return Real(float(min(values)), float(max(values)))
    categories = sorted(set(values), key=_by_type)
    if len(categories) > MOST_CATEGORIES:
        raise DataError(
            f"a column of texts may have at most {MOST_CATEGORIES:,} different ones",
            found=f"{len(categories):,} in {name!r}",
            remedy="Declare the schema.",
        )
    return Categorical(categories)


def _by_type(value: object) -> tuple[str, object]:
    return type(value).__name__, value
