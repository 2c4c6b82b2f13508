"""What a column of a private table of any engine holds: how many values are outside, missing or unknown, and which."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, final

import narwhals as nw

from bnpriv.tables.expressions import Frame, constants
from bnpriv.tables.partitions import over_partitions
from bnpriv.tables.reader import chosen, collected, opened, source
from bnpriv.tables.readings import categories, number
from bnpriv.tables.schema import Categorical, Column, NumberColumn

Label = tuple[str, object]
"""The type of a value and the value: True is not 1 here."""


@final
@dataclass(frozen=True)
class ColumnTally:
    """What was found in a column.

    Parameters
    ----------
    kinds : frozenset of str
        The types that the engine gives the column.
    rows, empty, below, above, fractions : int
        Rows in all, without a value, with a number below or above the bounds, with a fraction where none is declared.
    unknown : mapping from (str, object) to int
        Values that count as none that is declared, with their rows.
    """

    kinds: frozenset[str]
    rows: int = 0
    empty: int = 0
    below: int = 0
    above: int = 0
    fractions: int = 0
    unknown: Mapping[Label, int] = field(default_factory=Counter[Label])

    def __add__(self, other: ColumnTally) -> ColumnTally:
        return ColumnTally(
            self.kinds | other.kinds,
            self.rows + other.rows,
            self.empty + other.empty,
            self.below + other.below,
            self.above + other.above,
            self.fractions + other.fractions,
            Counter(self.unknown) + Counter(other.unknown),
        )


def tally(data: object, name: str, column: Column) -> ColumnTally:
    """Return what a column of a table holds."""
    return sum(over_partitions(data, partial(_part, name, column)), ColumnTally(frozenset()))


def table_names(data: object) -> list[str]:
    """Return the names of the columns of a table, as the table gives them."""
    return list(over_partitions(data, _names)[0])


def _names(data: object) -> list[str]:
    with source(data, ()) as (_, names):
        return list(names)


def _part(name: str, column: Column, data: object) -> ColumnTally:
    with source(data, [name]) as (frame, names):
        raw = chosen(frame, names, [name])
        dtype = raw.collect_schema()["c0"]
        if not isinstance(column, Categorical) and dtype.is_numeric():
            return _numbers(name, column, data, str(dtype))
        return _values(column, _counted(raw), str(dtype))


def _numbers(name: str, column: NumberColumn, data: object, kind: str) -> ColumnTally:
    """Count by expressions what may be many different numbers."""
    with opened(data, {name: column}) as frame:
        value, constant = nw.col("c0"), constants(frame.implementation)
        tests = {
            "empty": value.is_null(),
            "below": value < constant(float(column.lower)),
            "above": value > constant(float(column.upper)),
            "fractions": ~value.is_null() & (value != value.floor()),
        }
        sums = (test.cast(nw.Int64).sum().alias(what) for what, test in tests.items())
        rows, *found = collected(frame.select(nw.len().alias("rows"), *sums)).row(0)
    empty, below, above, fractions = (int(each or 0) for each in found)
    return ColumnTally(frozenset({kind}), int(rows), empty, below, above, fractions if column.whole else 0)


def _counted(raw: Frame | nw.DataFrame[Any]) -> Counter[Label]:
    """Return the different values with their rows; None and NaN are ``("", None)``."""
    found: Counter[Label] = Counter()
    if isinstance(raw, nw.DataFrame):
        # what is in memory may hold objects that no engine groups
        native: Any = raw.to_native()
        found.update(map(_label, native["c0"].tolist() if hasattr(native, "iloc") else raw["c0"].to_list()))
        return found
    lazy = raw.with_columns(nw.col("c0").is_null().alias("gone"))
    grouped = collected(lazy.filter(~nw.col("gone")).group_by("c0").agg(nw.len().alias("rows")))
    for value, rows in grouped.select("c0", "rows").rows():
        found[_label(value)] += int(rows)
    missing = collected(lazy.select(nw.col("gone").cast(nw.Int64).sum().alias("rows"))).row(0)[0]
    found[_label(None)] += int(missing or 0)
    return found


def _label(value: Any) -> Label:
    kind = type(value).__name__
    if value is None or kind in ("NAType", "NaTType") or (isinstance(value, float) and value != value):
        return "", None
    try:
        hash(value)
    except TypeError:
        return kind, repr(value)
    return kind, value


def _values(column: Column, found: Counter[Label], kind: str) -> ColumnTally:
    empty = found.pop(("", None), 0)
    rows = empty + sum(found.values())
    labels = list(found)
    if isinstance(column, Categorical):
        read = categories([value for _, value in labels], column)
        unknown = {label: found[label] for label, category in zip(labels, read, strict=True) if category is None}
        return ColumnTally(frozenset({kind}), rows, empty, unknown=Counter(unknown))
    numbers = {label: number(label[1]) for label in labels}
    known = {label: x for label, x in numbers.items() if x == x}
    return ColumnTally(
        frozenset({kind}),
        rows,
        empty,
        sum(found[label] for label, x in known.items() if x < column.lower),
        sum(found[label] for label, x in known.items() if x > column.upper),
        sum(found[label] for label, x in known.items() if column.whole and math.isfinite(x) and not x.is_integer()),
        Counter({label: found[label] for label, x in numbers.items() if x != x}),
    )
