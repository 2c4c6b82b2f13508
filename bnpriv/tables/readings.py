"""What a value of any type counts as where numbers or categories are declared: one rule for every engine."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any, TypeVar, cast

import narwhals as nw
import numpy as np

from bnpriv.core.columns import Categorical, Category
from bnpriv.core.schema import Column

# --------------------------------------------------------------------------------------------------
# What a value of any type counts as where numbers or categories are declared: one rule, for every engine and file.
#
# It looks at the value alone, never at the type of its column: engines infer that from all the values together, so
# that one text among numbers, or a column without any value, would change how the others are read.
#
# ============= =============================== ================================ ====================================
# declared a number a truth value a text ============= ===============================
# ================================ ==================================== numbers itself 0 or 1 the number that it
# writes; true, false truth values true for 1, false for 0 itself true, t, yes, y, 1; false, f, no, n, 0 texts the one
# category that writes it the one category that writes it itself, or without blanks around it =============
# =============================== ================================ ====================================
#
# Everything else is missing. Decimals are numbers, and a text that writes something may have spaces around it. The
# texts are all labels of a column: names of categories, and those that `coarsen` says count as one. A text that is no
# label counts as the one that it is without the blanks around it, spaces and tabs: files of the census write "
# Private".
# --------------------------------------------------------------------------------------------------

T = TypeVar("T")
ColumnValues = list[Any]

NUMBER = r"^ *[+-]?(([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?|[iI][nN][fF]([iI][nN][iI][tT][yY])?) *$"
"""What a text that is a number looks like; all engines, and Python, round such a text to the same double."""

BLANKS = " \t"
"""What is taken off around a text that is no label as it stands."""

IN_NO_NUMBER = "[^-+.0-9a-zA-Z ]"
"""What no text that is a number has anywhere in it."""


def _spellings(*words: str) -> tuple[str, ...]:
    return tuple(spelt for word in words for spelt in (word, word.capitalize(), word.upper()))


TRUE, FALSE = _spellings("true", "t", "yes", "y"), _spellings("false", "f", "no", "n")
BOTH = _spellings("true", "false")
"""Words that count as 1 and 0 where numbers are declared: what a truth value looks like as a text."""

_NUMBER_PATTERN = re.compile(NUMBER)
_NUMERIC = (bool, int, float, np.bool_, np.integer, np.floating, Decimal)


def _is_number(text: str) -> bool:
    return "\n" not in text and _NUMBER_PATTERN.match(text) is not None


def number(value: object) -> float:
    """Return the number that a value counts as, NaN if it is missing.

    Examples
    --------
    >>> [number(value) for value in (2, True, " 1.5", "1,5", None, Decimal("0.3"))]
    [2.0, 1.0, 1.5, nan, nan, 0.3]
    """
    # by its type, which no value can pretend: isinstance would ask the value itself
    kind = type(value)
    if issubclass(kind, str):
        text = str(value)
        if text.strip(" ") in BOTH:
            return float(text.strip(" ") in TRUE)
        return float(text) if _is_number(text) else math.nan
    if not issubclass(kind, _NUMERIC) or issubclass(kind, np.timedelta64):
        return math.nan
    known = cast(Any, value)
    try:
        return float(known)
    except OverflowError:  # a whole number larger than every double
        return math.inf if known > 0 else -math.inf
    except ValueError:  # a signalling NaN
        return math.nan


def truth(value: object) -> bool | None:
    """Return the truth value that a value counts as, None if it is missing.

    Examples
    --------
    >>> [truth(value) for value in (True, 0, "yes", "maybe", None)]
    [True, False, True, None, None]
    """
    if issubclass(type(value), str):
        text = str(value).strip(" ")
        if text in TRUE or text in FALSE:
            return text in TRUE
    return {1.0: True, 0.0: False}.get(number(value))


def keys_of(column: Categorical, kind: type) -> dict[Category | float, Category]:
    """Return which values of one kind, str, float or bool, count as which category.

    Examples
    --------
    >>> keys_of(Categorical(["1", "02", "other"], coarsen={"other": [3, 4]}), float)
    {1.0: '1', 2.0: '02', 3.0: 'other', 4.0: 'other'}
    """
    if not isinstance(column.categories[0], str):
        return {label if kind is bool else float(label): category for label, category in column.labels.items()}
    if kind is str:
        return {**column.labels}
    if kind is bool:
        return _written(column, truth)
    numbers = _written(column, number)
    return {key: category for key, category in numbers.items() if not math.isnan(key)}


def _written(column: Categorical, read: Callable[[object], T | None]) -> dict[T, Category]:
    """Return the categories by what their labels write, but for what labels of two categories write."""
    found: dict[T, set[Category]] = {}
    for label, category in column.labels.items():
        meant = read(label)
        if meant is not None:
            found.setdefault(meant, set()).add(category)
    return {meant: categories.pop() for meant, categories in found.items() if len(categories) == 1}


def with_blanks(column: Categorical) -> list[Category]:
    """Return the labels of a column of texts that are declared with blanks around them, which stand as they are."""
    return [label for label in column.labels if isinstance(label, str) and label != label.strip(BLANKS)]


def categories(values: Iterable[object], column: Categorical) -> list[Category | None]:
    """Return the category that every value counts as, None where it is missing; nothing that a value is can raise."""
    first = column.categories[0]
    if not isinstance(first, str):
        read: Callable[[object], float | bool | None] = truth if isinstance(first, bool) else number
        known = cast(Mapping[object, Category], keys_of(column, bool if isinstance(first, bool) else float))
        return [known.get(read(value)) for value in values]
    texts, numbers, truths = (keys_of(column, kind) for kind in (str, float, bool))
    return [_text_category(value, texts, numbers, truths) for value in values]


def _text_category(
    value: object, texts: Mapping[Any, Category], numbers: Mapping[Any, Category], truths: Mapping[Any, Category]
) -> Category | None:
    kind = type(value)
    if issubclass(kind, str):
        return texts.get(str(value), texts.get(str(value).strip(BLANKS)))
    if issubclass(kind, (bool, np.bool_)):
        return truths.get(bool(value))
    return numbers.get(number(value))


# --------------------------------------------------------------------------------------------------
# The values of a column as a narwhals expression of a plain dtype: one road for every engine.
# --------------------------------------------------------------------------------------------------

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
    exact = with_blanks(declared)
    stripped = _stripped(text, engine, BLANKS)
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
        writes = text.str.contains(NUMBER) & ~text.str.contains(IN_NO_NUMBER)
        word = _stripped(text, engine)
        number = nw.when(writes).then(word).cast(nw.Float64)
        number = nw.when(word.is_in(BOTH)).then(word.is_in(TRUE).cast(nw.Float64)).otherwise(number)
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
    said = nw.when(word.is_in(FALSE)).then(nw.lit(False)).otherwise(found)
    return nw.when(word.is_in(TRUE)).then(nw.lit(True)).otherwise(said)


# --------------------------------------------------------------------------------------------------
# Dask tables, taken apart: every partition is a table of pandas, and whole-number sums of partitions add exactly.
# --------------------------------------------------------------------------------------------------


def over_partitions(data: object, work: Callable[[object], T]) -> Sequence[T]:
    """Return what `work` makes of every partition of a Dask table, where Dask runs it; or of any other table, whole.

    Parameters
    ----------
    data : table, str or path
    work : callable
        From a table to a value that is small.

    Returns
    -------
    sequence
        In the order of the partitions; one value for a table that is not Dask's.
    """
    native = _dask(data)
    if native is None:
        return [work(data)]
    import dask

    engine = cast(Any, dask)
    return engine.compute(*(engine.delayed(work)(part) for part in native.to_delayed()))


def in_memory(data: object, columns: Collection[str]) -> object:
    """Return the columns that are asked for of a Dask table as a table of pandas; any other table as it is."""
    native = _dask(data)
    if native is None:
        return data
    return native.iloc[:, [place for place, name in enumerate(native.columns) if name in columns]].compute()


def _dask(data: object) -> Any:
    """Return the Dask table that `data` is or holds, or None."""
    native = cast(Any, data).to_native() if type(data).__module__.startswith("narwhals.") else data
    return native if type(native).__module__.split(".")[0] in ("dask", "dask_expr") else None
