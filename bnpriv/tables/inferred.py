"""The schema of a public table, from its values; never of a table that is to be protected."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from bnpriv.checks import listing, type_text
from bnpriv.errors import DataError
from bnpriv.tables.readings import number
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
    from bnpriv.tables.public import public_columns

    held = public_columns(public_table, names)
    return Schema(records=records, columns={name: _column(name, held[name]) for name in names})


def _column(name: str, held: Sequence[Any]) -> Column:
    values = [value for value in held if value is not None]
    if not values:
        raise DataError(
            f"the column {name!r} of the public table must have values",
            found="none",
            remedy="Declare the schema.",
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
