"""The terms of a normal form as narwhals expressions: one road for every engine.

NaN becomes null before anything is compared: engines order it differently, and DuckDB answers comparisons of a column
from the least and the largest value that a Parquet file declares, in which NaN does not count. A term never yields
null. Numbers take three operations, each rounded once by every engine: ``floor((x - lower) * rate + 0.5)``. Dividing by
the width of a step would be a fourth of them in Polars, which multiplies with the inverse.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import cast, final

import narwhals as nw

from bnpriv.queries.base import Indicator
from bnpriv.queries.normal_form import IntegerTerm
from bnpriv.queries.predicates import And, Comparison, IsIn, Not, Or, Predicate
from bnpriv.tables import readings
from bnpriv.tables.expressions import Frame, Type
from bnpriv.tables.schema import Categorical, Category, Column, Integer, Real

Keys = Mapping[Category | float, Category]


def cleaned(frame: Frame, columns: Mapping[str, Column]) -> Frame:
    """Fill and clamp the numbers in c0, c1, ...; categories stay as they are."""
    return frame.select(
        *(
            nw.col(f"c{k}") if isinstance(column, Categorical) else _inside(nw.col(f"c{k}"), column).alias(f"c{k}")
            for k, column in enumerate(columns.values())
        )
    )


def _inside(value: nw.Expr, column: Real | Integer) -> nw.Expr:
    """Return the number between the bounds that counts; whole numbers are rounded already here."""
    low, high, missing = float(column.lower), float(column.upper), float(column.missing or 0)
    # the common case stands first: DuckDB evaluates the others on few rows only
    rest = nw.when(value > high).then(nw.lit(high)).otherwise(nw.lit(missing))
    rest = nw.when(value < low).then(nw.lit(low)).otherwise(rest)
    inside = nw.when((value >= low) & (value <= high)).then(value).otherwise(rest)
    return (inside + 0.5).floor().cast(nw.Float64) if isinstance(column, Integer) else inside


def keys_in(frame: Frame, columns: Mapping[str, Column]) -> dict[str, Keys]:
    """Return for every categorical column which of the values in it count as which category."""
    dtypes = frame.collect_schema()
    return {
        name: readings.keys_of(column, _kind(dtypes[f"c{k}"]))
        for k, (name, column) in enumerate(columns.items())
        if isinstance(column, Categorical)
    }


def _kind(dtype: Type) -> type:
    if dtype == nw.Boolean:
        return bool
    return str if dtype == nw.String else float


def integer_terms(terms: Sequence[IntegerTerm], frame: Frame, columns: Mapping[str, Column]) -> list[nw.Expr]:
    """Return one Int64 expression per term, named t0, t1, ..., for a frame that `cleaned` made."""
    leaves = _Leaves(columns, {name: nw.col(f"c{k}") for k, name in enumerate(columns)}, keys_in(frame, columns))
    return [_integer_term(term, leaves).alias(f"t{k}") for k, term in enumerate(terms)]


@final
@dataclass(frozen=True)
class _Leaves:
    """The columns of a frame: what they are declared as, how they are read, and what their values count as."""

    columns: Mapping[str, Column]
    values: Mapping[str, nw.Expr]
    keys: Mapping[str, Keys]


def _integer_term(term: IntegerTerm, leaves: _Leaves) -> nw.Expr:
    if isinstance(term, Indicator):
        return _predicate(term.predicate, leaves).cast(nw.Int64)
    column = cast(Real | Integer, leaves.columns[term.column])
    steps = grid_steps(leaves.values[term.column], column)
    return reduce(lambda product, _: product * steps, range(term.exponent - 1), steps)


def grid_steps(value: nw.Expr, column: Real | Integer) -> nw.Expr:
    """Return the grid step of a cleaned column, as `Real.step` and `Integer.step` define it."""
    above = value - float(column.lower)
    return (above if isinstance(column, Integer) else (above * column.rate + 0.5).floor()).cast(nw.Int64)


def _predicate(predicate: Predicate, leaves: _Leaves) -> nw.Expr:
    if isinstance(predicate, And):
        return reduce(lambda left, right: left & right, (_predicate(part, leaves) for part in predicate.parts))
    if isinstance(predicate, Or):
        return reduce(lambda left, right: left | right, (_predicate(part, leaves) for part in predicate.parts))
    if isinstance(predicate, Not):
        return ~_predicate(predicate.part, leaves)
    if not isinstance(predicate, (Comparison, IsIn)):
        raise TypeError(f"{type(predicate).__name__} is no known predicate")
    name = predicate.column
    column, value = leaves.columns[name], leaves.values[name]
    if isinstance(column, Categorical):
        return _category(predicate, value, column, leaves.keys[name])
    return _number(predicate, value)


def _number(leaf: Comparison | IsIn, value: nw.Expr) -> nw.Expr:
    if isinstance(leaf, IsIn):
        return reduce(lambda left, right: left | right, (value == float(constant) for constant in leaf.values))
    constant = float(leaf.value)
    match leaf.operator:
        case "<":
            return value < constant
        case "<=":
            return value <= constant
        case ">":
            return value > constant
        case ">=":
            return value >= constant
        case "==":
            return value == constant
        case "!=":
            return value != constant


def _category(leaf: Comparison | IsIn, value: nw.Expr, column: Categorical, keys: Keys) -> nw.Expr:
    """Return whether the category counts; a missing one is treated as the column's `missing` value."""
    holds = _holds(leaf, cast(Category, column.missing))
    others = [key for key, category in keys.items() if _holds(leaf, category) != holds]
    return ~_among(value, others) if holds else _among(value, others)


def _holds(leaf: Comparison | IsIn, category: Category) -> bool:
    if isinstance(leaf, IsIn):
        return category in leaf.values
    return (category == leaf.value) == (leaf.operator == "==")


def _among(value: nw.Expr, keys: Sequence[Category | float]) -> nw.Expr:
    """Return whether a value is one of some keys: false for null."""
    if not keys:
        return value.is_null() & ~value.is_null()
    return nw.when(~value.is_null() & value.is_in(keys)).then(nw.lit(True)).otherwise(nw.lit(False))
