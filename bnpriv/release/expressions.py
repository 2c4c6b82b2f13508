"""The terms of a normal form as narwhals expressions: one road for every engine.

NaN becomes null before anything is compared: engines order it differently, and DuckDB answers comparisons of a column
from the least and the largest value that a Parquet file declares, in which NaN does not count. A term never yields
null. Numbers take three operations, each rounded once by every engine: ``floor((x - lower) * rate + 0.5)``. Dividing by
the width of a step would be a fourth of them in Polars, which multiplies with the inverse.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, cast, final

import narwhals as nw

from bnpriv.queries.base import Indicator
from bnpriv.queries.normal_form import IntegerTerm
from bnpriv.queries.predicates import And, Comparison, IsIn, Not, Or, Predicate
from bnpriv.tables import readings
from bnpriv.tables.expressions import Frame, Type, Written, constants
from bnpriv.tables.schema import Categorical, Category, Column, NumberColumn, is_whole

Keys = Mapping[Category | float, Category]

LARGEST_EXACT = 2**53
"""Doubles hold all whole numbers up to it, so that sums which stay below are exact in any order."""


def cleaned(frame: Frame, columns: Mapping[str, Column]) -> Frame:
    """Fill and clamp the numbers in c0, c1, ...; categories stay as they are."""
    constant = constants(frame.implementation)
    values = {f"c{k}": column for k, column in enumerate(columns.values())}
    return frame.select(
        *(
            nw.col(name) if isinstance(column, Categorical) else _inside(nw.col(name), column, constant).alias(name)
            for name, column in values.items()
        )
    )


def _inside(value: nw.Expr, column: NumberColumn, constant: Written) -> nw.Expr:
    """Return the number between the bounds that counts; whole numbers are rounded already here."""
    low, high, missing = (constant(float(number)) for number in (column.lower, column.upper, column.missing or 0))
    # The common case stands first, because DuckDB evaluates the others on few rows only. NaN is neither above nor below
    # a bound: where statistics could answer a comparison for it, it has become null before.
    rest = nw.when(~value.is_nan() & (value > high)).then(_literal(high)).otherwise(_literal(missing))
    below = nw.when(value >= low).then(value).otherwise(_literal(low))
    inside = nw.when(value <= high).then(below).otherwise(rest)
    return (inside + 0.5).floor().cast(nw.Float64) if is_whole(column) else inside


def _literal(constant: Any) -> nw.Expr:
    return nw.lit(constant) if isinstance(constant, float) else cast(nw.Expr, constant)


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


def integer_terms(
    terms: Sequence[IntegerTerm], frame: Frame, columns: Mapping[str, Column], records: int
) -> list[nw.Expr]:
    """Return one whole number per term, named t0, t1, ..., for a frame that `cleaned` made.

    They are Int64, or doubles where these hold the sum over all the records exactly.
    """
    leaves = _Leaves(
        columns,
        {name: nw.col(f"c{k}") for k, name in enumerate(columns)},
        keys_in(frame, columns),
        constants(frame.implementation),
        records,
    )
    return [_integer_term(term, leaves).alias(f"t{k}") for k, term in enumerate(terms)]


@final
@dataclass(frozen=True)
class _Leaves:
    """The columns of a frame: what they are declared as, how they are read, and what their values count as."""

    columns: Mapping[str, Column]
    values: Mapping[str, nw.Expr]
    keys: Mapping[str, Keys]
    constant: Written
    records: int


def _integer_term(term: IntegerTerm, leaves: _Leaves) -> nw.Expr:
    if isinstance(term, Indicator):
        # DuckDB sums doubles in less time than it tells how wide a sum of BIGINT may become
        return _predicate(term.predicate, leaves).cast(nw.Float64 if leaves.records <= LARGEST_EXACT else nw.Int64)
    factors: list[nw.Expr] = []
    most = leaves.records
    for name, power in term.powers.items():
        column = cast(NumberColumn, leaves.columns[name])
        most *= column.steps**power
        factors += [grid_steps(leaves.values[name], column, leaves.constant)] * power
    if most > LARGEST_EXACT:
        factors = [factor.cast(nw.Int64) for factor in factors]
    return reduce(lambda product, factor: product * factor, factors)


def grid_steps(value: nw.Expr, column: NumberColumn, constant: Written) -> nw.Expr:
    """Return the grid step of a cleaned column, as `Real.step` and `Integer.step` define it: a whole number."""
    above = value - constant(float(column.lower))
    return above if is_whole(column) else (above * constant(column.rate) + 0.5).floor()


def _predicate(predicate: Predicate, leaves: _Leaves) -> nw.Expr:
    if isinstance(predicate, And):
        return _balanced(lambda left, right: left & right, [_predicate(part, leaves) for part in predicate.parts])
    if isinstance(predicate, Or):
        return _balanced(lambda left, right: left | right, [_predicate(part, leaves) for part in predicate.parts])
    if isinstance(predicate, Not):
        return ~_predicate(predicate.part, leaves)
    if not isinstance(predicate, (Comparison, IsIn)):
        raise TypeError(f"{type(predicate).__name__} is no known predicate")
    name = predicate.column
    column, value = leaves.columns[name], leaves.values[name]
    if isinstance(column, Categorical):
        return _category(predicate, value, column, leaves)
    return _number(predicate, value, leaves.constant)


def _balanced(join: Callable[[nw.Expr, nw.Expr], nw.Expr], parts: Sequence[nw.Expr]) -> nw.Expr:
    """Return all parts joined, as a tree of little depth: an engine goes down an expression by recursion."""
    while len(parts) > 1:
        odd = parts[len(parts) & ~1 :]
        parts = [*map(join, parts[::2], parts[1::2]), *odd]
    return parts[0]


def _number(leaf: Comparison | IsIn, value: nw.Expr, written: Written) -> nw.Expr:
    if isinstance(leaf, IsIn):
        return _balanced(lambda left, right: left | right, [value == written(float(number)) for number in leaf.values])
    constant = written(float(leaf.value))
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


def _category(leaf: Comparison | IsIn, value: nw.Expr, column: Categorical, leaves: _Leaves) -> nw.Expr:
    """Return whether the category counts; a missing one is treated as the column's `missing` value."""
    holds = _holds(leaf, cast(Category, column.missing))
    others = [key for key, category in leaves.keys[leaf.column].items() if _holds(leaf, category) != holds]
    among = _among(value, others, leaves.constant)
    return ~among if holds else among


def _holds(leaf: Comparison | IsIn, category: Category) -> bool:
    if isinstance(leaf, IsIn):
        return category in leaf.values
    return (category == leaf.value) == (leaf.operator == "==")


def _among(value: nw.Expr, keys: Sequence[Category | float], constant: Written) -> nw.Expr:
    """Return whether a value is one of some keys: false for null."""
    if not keys:
        return value.is_null() & ~value.is_null()
    if constant is not float and isinstance(keys[0], float):
        found = _balanced(lambda left, right: left | right, [value == constant(cast(float, key)) for key in keys])
    else:
        found = value.is_in(keys)
    return nw.when(~value.is_null() & found).then(nw.lit(True)).otherwise(nw.lit(False))
