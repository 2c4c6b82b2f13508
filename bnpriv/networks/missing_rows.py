"""Rows of tables without data: which they are, and what stands in while everything else is checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bnpriv.bound import FloatArray
from bnpriv.checks import type_text
from bnpriv.errors import NetworkError
from bnpriv.laws.base import SUM_TOLERANCE
from bnpriv.networks.declared import DeclaredTables

MissingRows = Literal["any"]
"""What a row without data stands for: any law."""

Gaps = Mapping[str, NDArray[np.bool_]]
"""For attributes with rows without data, which these are, with an axis for every parent."""

_ONE_MODEL = "Read one model, or give the rows."

LEAST_DIVIDED = float(np.finfo(np.float64).tiny)
"""Positive entries below this are rounded coarsely when a column is divided by its sum."""


def require_missing_rows(value: object) -> None:
    """Refuse what is no way to read rows without data.

    Raises
    ------
    NetworkError
        If it is neither None nor "any".
    """
    if value is not None and value != "any":
        raise NetworkError(
            "missing_rows must be 'any' or left out",
            found=repr(value) if isinstance(value, str) else type_text(value),
            remedy="With 'any' a row without data may be any law; nothing is ever filled in.",
        )


def split_gaps(
    tables: Mapping[str, ArrayLike], parents: Mapping[str, Sequence[str]]
) -> tuple[dict[str, ArrayLike], dict[str, NDArray[np.bool_]]]:
    """Return tables with even columns in place of those that are not a number throughout, and where these are.

    What is no array of numbers stays as it is, to be refused with the rest of what is wrong.

    Raises
    ------
    NetworkError
        If a table of several models lacks rows.
    """
    filled: dict[str, ArrayLike] = dict(tables)
    gaps: dict[str, NDArray[np.bool_]] = {}
    for name, declared in tables.items():
        try:
            array = np.asarray(declared)
            array = np.array(array, dtype=np.float64) if array.dtype.kind in "fO" else np.zeros(0)
        except (TypeError, ValueError, OverflowError):
            continue
        if not np.isnan(array).any():
            continue
        axes = 1 + len(parents.get(name, ()))
        array = array[0] if array.ndim == axes + 1 and len(array) == 1 else array
        if array.ndim != axes:
            raise NetworkError(
                f"rows without data are read in a network of one model, as those of {name!r}",
                found=f"a table of shape {array.shape}",
                remedy=_ONE_MODEL,
            )
        gaps[name] = np.asarray(np.isnan(array).all(axis=0))
        filled[name] = np.where(gaps[name], 1 / len(array), array)
    return filled, {name: gap for name, gap in gaps.items() if gap.any()}


def ends_of(
    shape: DeclaredTables, filled: Mapping[str, ArrayLike], gaps: Gaps
) -> tuple[dict[str, FloatArray], dict[str, FloatArray]]:
    """Return the ends of all tables: 0 and 1 in rows without data, the declared numbers elsewhere.

    Raises
    ------
    NetworkError
        If there are several models, or an entry is too small to be divided by the sum of its column.
    """
    if shape.models > 1:
        raise NetworkError(
            "rows without data are read in a network of one model", found=f"{shape.models} models", remedy=_ONE_MODEL
        )
    lower: dict[str, FloatArray] = {}
    upper: dict[str, FloatArray] = {}
    for name in shape.graph.nodes:
        table = np.array(filled[name], dtype=np.float64).reshape(shape.tables[name].values.shape[1:])
        coarse = (table > 0) & (table < LEAST_DIVIDED) & (np.abs(table.sum(axis=0) - 1) > SUM_TOLERANCE)
        if coarse.any():
            raise NetworkError(
                f"beside rows without data, columns of {name!r} with tiny entries must sum to 1",
                found=f"the entry {table[coarse][0]:g}",
                remedy="Divide such columns by their sums.",
            )
        gap = gaps.get(name, False)
        lower[name], upper[name] = np.where(gap, 0.0, table), np.where(gap, 1.0, table)
    return lower, upper


def named_gaps(shape: DeclaredTables, gaps: Gaps) -> tuple[str, ...]:
    """Return the rows without data in words."""
    found: list[str] = []
    for name in shape.graph.nodes:
        for place in np.argwhere(gaps[name]) if name in gaps else ():
            above = zip(shape.graph.parents[name], place, strict=True)
            given = ", ".join(f"{parent} = {shape.states[parent][int(k)]}" for parent, k in above)
            found.append(f"{name} given {given}" if given else name)
    return tuple(found)


def gaps_again(shape: DeclaredTables, gaps: Gaps) -> dict[str, FloatArray]:
    """Return the tables as they were declared: what stands in for rows without data is nan again."""
    held = {name: table.weights[0] for name, table in shape.tables.items() if table.weights is not None}
    return {name: np.where(gaps[name], np.nan, table) if name in gaps else table for name, table in held.items()}
