"""The values of a column as a narwhals expression of a plain dtype: one road for every engine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import narwhals as nw

from bnpriv.tables import readings
from bnpriv.tables.schema import Categorical, Column

Frame = nw.LazyFrame[Any]
Type = nw.dtypes.DType
Written = Callable[[float], Any]


def constants(engine: nw.Implementation) -> Written:
    """Return how a double is written in expressions of an engine.

    Ibis writes SQL, in which databases read 0.30000000000000004 as a decimal, and round that a second time; a text that
    is cast they round once.
    """
    return (lambda number: nw.lit(repr(float(number))).cast(nw.Float64)) if engine.is_ibis() else float


def reading(
    value: nw.Expr, declared: Column, dtype: Type, engine: nw.Implementation, *, as_they_are: bool = False
) -> nw.Expr:
    """Return a column as Float64, Boolean or String, null where it is missing; see `bnpriv.tables.readings`.

    Doubles of a column of numbers stay `as_they_are` on request: NaN is missing too then, and zero may have a sign.
    """
    if as_they_are and not isinstance(declared, Categorical) and isinstance(dtype, (nw.Float64, nw.Float32)):
        return value.cast(nw.Float64)
    kind = type(declared.categories[0]) if isinstance(declared, Categorical) else float
    if kind is not str:
        return _truth(value, dtype, engine) if kind is bool else numeric(value, dtype, engine)
    if dtype == nw.Boolean:
        return value
    assert isinstance(declared, Categorical)
    return _label(value.cast(nw.String), declared, engine) if _is_text(dtype) else numeric(value, dtype, engine)


def _label(text: nw.Expr, declared: Categorical, engine: nw.Implementation) -> nw.Expr:
    """Return a text without the blanks around it, unless it is a label with them."""
    exact = readings.with_blanks(declared)
    stripped = _stripped(text, engine, readings.BLANKS)
    return nw.when(text.is_in(exact)).then(text).otherwise(stripped) if exact else stripped


def _is_text(dtype: Type) -> bool:
    return isinstance(dtype, (nw.String, nw.Categorical, nw.Enum))


def _stripped(text: nw.Expr, engine: nw.Implementation, blanks: str = " ") -> nw.Expr:
    """Return a text without the spaces, or other blanks, around it."""
    return text.str.replace_all(f"^[{blanks}]+|[{blanks}]+$", "") if engine.is_ibis() else text.str.strip_chars(blanks)


def numeric(value: nw.Expr, dtype: Type, engine: nw.Implementation) -> nw.Expr:
    """Return the numbers that values count as: Float64, null where one counts as none, and never NaN."""
    if _is_text(dtype):
        text = value.cast(nw.String)
        # some engines let line ends of several kinds follow the end
        writes = text.str.contains(readings.NUMBER) & ~text.str.contains(readings.IN_NO_NUMBER)
        word = _stripped(text, engine)
        number = nw.when(writes).then(word).cast(nw.Float64)
        number = nw.when(word.is_in(readings.BOTH)).then(word.is_in(readings.TRUE).cast(nw.Float64)).otherwise(number)
    elif isinstance(dtype, (nw.Decimal, nw.Int128, nw.UInt128)):
        # through its digits: from the stored whole number engines round twice
        number = value.cast(nw.String).cast(nw.Float64)
    elif dtype.is_integer() or dtype == nw.Boolean:
        return value.cast(nw.Float64)
    elif dtype.is_numeric():
        number = value.cast(nw.Float64)
    else:
        return nw.when(value.is_null() & ~value.is_null()).then(nw.lit(0.0))
    plain = nw.when(~number.is_nan()).then(number)
    # Arrow tells -0.0 from 0.0 when it looks values up
    return nw.when(plain == 0).then(nw.lit(0.0)).otherwise(plain)


def _truth(value: nw.Expr, dtype: Type, engine: nw.Implementation) -> nw.Expr:
    if dtype == nw.Boolean:
        return value
    number = numeric(value, dtype, engine)
    found = nw.when(number == 1).then(nw.lit(True)).otherwise(nw.when(number == 0).then(nw.lit(False)))
    if not _is_text(dtype):
        return found
    word = _stripped(value.cast(nw.String), engine)
    said = nw.when(word.is_in(readings.FALSE)).then(nw.lit(False)).otherwise(found)
    return nw.when(word.is_in(readings.TRUE)).then(nw.lit(True)).otherwise(said)
