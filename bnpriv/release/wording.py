"""How released numbers, and what missing values count as, are written."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import cast

from bnpriv.tables.schema import Categorical, Column


def missing_rule(columns: Mapping[str, Column]) -> str:
    """Return what missing values and values out of range count as; never how many there were."""
    return "; ".join(f"{name}: {_column_rule(column)}" for name, column in columns.items()) + "."


def _column_rule(column: Column) -> str:
    if isinstance(column, Categorical):
        rule = f"a missing or undeclared category counts as {column.missing!r}"
        return f"{rule}, labels that were coarsened as their category" if any(column.coarsen.values()) else rule
    low, high, missing = (
        shown_number(float(cast(float, number)), 0) for number in (column.lower, column.upper, column.missing)
    )
    return f"a missing value counts as {missing}, one outside {low} to {high} as the nearest bound"


def shown_number(value: float, width: float) -> str:
    """Return a number with the digits that the noise leaves meaningful, all of them if there is none."""
    if not width > 0 or not math.isfinite(width):
        return f"{value:,.0f}" if value.is_integer() and abs(value) < 1e15 else repr(value)
    digits = max(0, 2 - math.floor(math.log10(width)))
    return f"{value:,.{digits}f}" if abs(value) < 1e15 and digits <= 15 else repr(value)
