"""The terms of a normal form as narwhals expressions: one road for every engine, doubles and 64-bit integers only.

An expression never yields null, and compares with infinities and NaN in a way on which all engines agree. Numbers take
three operations, each rounded once by every engine: ``floor((x - lower) * rate + 0.5)``. Dividing by the width of a
step would be a fourth of them in Polars, which multiplies with the inverse.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any

import narwhals as nw

from bnpriv.queries.base import Indicator
from bnpriv.queries.normal_form import IntegerTerm, numeric
from bnpriv.queries.predicates import And, Comparison, IsIn, Not, Or, Predicate
from bnpriv.schema import Categorical, Category, Column, Integer, Real, Schema

Frame = nw.LazyFrame[Any]


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
    # Some engines put NaN above infinity. The common case stands first: DuckDB evaluates the others on few rows only.
    rest = nw.when((value > high) & ~value.is_nan()).then(nw.lit(high)).otherwise(nw.lit(missing))
    rest = nw.when(value < low).then(nw.lit(low)).otherwise(rest)
    inside = nw.when((value >= low) & (value <= high)).then(value).otherwise(rest)
    return (inside + 0.5).floor().cast(nw.Float64) if isinstance(column, Integer) else inside


def integer_terms(terms: Sequence[IntegerTerm], names: Mapping[str, str], schema: Schema) -> list[nw.Expr]:
    """Return one Int64 expression per term, named t0, t1, ..., for a frame that `cleaned` made."""
    return [_integer_term(term, names, schema).alias(f"t{k}") for k, term in enumerate(terms)]


def _integer_term(term: IntegerTerm, names: Mapping[str, str], schema: Schema) -> nw.Expr:
    if isinstance(term, Indicator):
        return _predicate(term.predicate, names, schema).cast(nw.Int64)
    steps = grid_steps(names[term.column], numeric(term.column, schema))
    return reduce(lambda product, _: product * steps, range(term.exponent - 1), steps)


def grid_steps(name: str, column: Real | Integer) -> nw.Expr:
    """Return the grid step of a cleaned column, as `Real.step` and `Integer.step` define it."""
    above = nw.col(name) - float(column.lower)
    return (above if isinstance(column, Integer) else (above * column.rate + 0.5).floor()).cast(nw.Int64)


def _predicate(predicate: Predicate, names: Mapping[str, str], schema: Schema) -> nw.Expr:
    if isinstance(predicate, And):
        return reduce(lambda left, right: left & right, (_predicate(p, names, schema) for p in predicate.parts))
    if isinstance(predicate, Or):
        return reduce(lambda left, right: left | right, (_predicate(p, names, schema) for p in predicate.parts))
    if isinstance(predicate, Not):
        return ~_predicate(predicate.part, names, schema)
    if not isinstance(predicate, (Comparison, IsIn)):
        raise TypeError(f"{type(predicate).__name__} is no known predicate")
    column, value = schema[predicate.column], nw.col(names[predicate.column])
    if isinstance(column, Categorical):
        return _category(predicate, value, column)
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


def _category(leaf: Comparison | IsIn, value: nw.Expr, column: Categorical) -> nw.Expr:
    """Return whether the category counts; a missing one is treated as the column's `missing` value."""
    accepted = [category for category in column.categories if _holds(leaf, category)]
    if column.missing not in accepted:
        return _among(value, accepted)
    return ~_among(value, [category for category in column.categories if category not in accepted])


def _holds(leaf: Comparison | IsIn, category: Category) -> bool:
    if isinstance(leaf, IsIn):
        return category in leaf.values
    return (category == leaf.value) == (leaf.operator == "==")


def _among(value: nw.Expr, categories: Sequence[Category]) -> nw.Expr:
    """Return whether a raw value is one of some categories: false for null."""
    if not categories:
        return value.is_null() & ~value.is_null()
    known = [float(category) if type(category) is int else category for category in categories]
    return nw.when(~value.is_null() & value.is_in(known)).then(nw.lit(True)).otherwise(nw.lit(False))
