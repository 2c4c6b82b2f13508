"""What a value of any type counts as where numbers or categories are declared: one rule for every engine."""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar, cast

import narwhals as nw
import numpy as np

from bnpriv.checks import member, type_text
from bnpriv.core.columns import Categorical, Category
from bnpriv.core.frozen import ReadOnly
from bnpriv.core.schema import Column, Schema
from bnpriv.errors import SchemaError

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


SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "upright bars"}
"""Signs between the fields of a text file."""

THOUSANDS = ("", ".", ",", " ", "'", "\u00a0", "\u202f")
"""Signs between groups of three digits, if any."""

DATE_FORMATS = {
    "YYYY-MM-DD": ("-", 0, 1, 2),
    "DD.MM.YYYY": (".", 2, 1, 0),
    "MM/DD/YYYY": ("/", 2, 0, 1),
    "DD/MM/YYYY": ("/", 2, 1, 0),
}
"""Of each way to write a date the sign between its parts, and the places of year, month and day."""

FIRST_DAY = datetime.date(1970, 1, 1).toordinal()


class Writing(NamedTuple):
    """How texts write the numbers of one column; a date, where `dates` says how it is written, counts as its day."""

    decimal: str = "."
    thousands: str = ""
    dates: str = ""
    codes: tuple[float, ...] = ()


USUAL = Writing()


@dataclass(frozen=True, kw_only=True)
class Dialect:
    """How the texts of a table write numbers and dates, and which numbers stand for a missing value.

    Parameters
    ----------
    separator : str
        Between the fields of a text file: a comma, a semicolon, a tab or an upright bar.
    decimal, thousands : str
        The sign before decimals, and the one between groups of three digits, if any.
    dates : mapping from str to str
        Columns of dates, which count as days since 1970-01-01, with the way in which texts write them:
        ``"YYYY-MM-DD"``, ``"DD.MM.YYYY"``, ``"MM/DD/YYYY"`` or ``"DD/MM/YYYY"``; a time behind a date is left out.
    codes : mapping from str to tuple of float
        Numbers of a column that stand for a missing value, as 99 or -1.

    Raises
    ------
    SchemaError
        If a sign or a format is none of these, or two signs are one.

    Examples
    --------
    >>> dialect = Dialect(separator=";", decimal=",", thousands=".", codes={"age": (99,)})
    >>> number("1.234,5", dialect.of("income")), number("99", dialect.of("age"))
    (1234.5, nan)
    """

    separator: str = ","
    decimal: str = "."
    thousands: str = ""
    dates: Mapping[str, str] = field(default_factory=ReadOnly[str, str])
    codes: Mapping[str, tuple[float, ...]] = field(default_factory=ReadOnly[str, tuple[float, ...]])

    def __post_init__(self) -> None:
        member("separator", self.separator, SEPARATORS, error=SchemaError)
        member("decimal", self.decimal, (".", ","), error=SchemaError)
        member("thousands", self.thousands, [each for each in THOUSANDS if each != self.decimal], error=SchemaError)
        for given in self.dates.values():
            member("dates", given, DATE_FORMATS, error=SchemaError)
        codes = {name: tuple(map(float, listed)) for name, listed in sorted(self.codes.items()) if listed}
        object.__setattr__(self, "dates", ReadOnly(sorted(self.dates.items())))
        object.__setattr__(self, "codes", ReadOnly(codes))

    def __hash__(self) -> int:
        return hash(repr(self))

    def of(self, name: str) -> Writing:
        """How texts write the numbers of a column."""
        return Writing(self.decimal, self.thousands, self.dates.get(name, ""), self.codes.get(name, ()))


PLAIN = Dialect()


def dialect_of(schema: Schema) -> Dialect:
    """Return how a table of a schema is written.

    Raises
    ------
    SchemaError
        If what the schema says is no dialect.
    """
    found: object = PLAIN if schema.dialect is None else schema.dialect
    if isinstance(found, Dialect):
        return found
    raise SchemaError("the dialect of a schema is a Dialect", found=type_text(found), remedy="Write Dialect(...).")


@lru_cache
def _shape(decimal: str, thousands: str) -> str:
    """Return what a text looks like that has decimals and groups of digits by some signs where they belong, or none."""
    groups = f"[1-9][0-9]{{0,2}}([{thousands}][0-9]{{3}})+|" if thousands else ""
    return f"^ *[+-]?({groups}[0-9]*)([{decimal}][0-9]*)?([eE][+-]?[0-9]+)? *$|^[-+a-zA-Z ]*$"


def _as_written(text: str, writing: Writing) -> str:
    """Return a text of a number as it is written without groups of digits, and with a point."""
    if writing.decimal == "." and not writing.thousands:
        return text
    if re.match(_shape(*writing[:2]), text) is None:
        return ""
    return (text.replace(writing.thousands, "") if writing.thousands else text).replace(writing.decimal, ".")


_TIME = r"([ T][0-9]{1,2}:[-+0-9:.]*Z?)?"


@lru_cache
def _date_shape(written: str) -> str:
    sign, year, *_ = DATE_FORMATS[written]
    parts = ["[0-9]{4}" if place == year else "[0-9]{1,2}" for place in range(3)]
    return f"^ *{f'[{sign}]'.join(parts)}{_TIME} *$"


def _day(value: object, written: str) -> float:
    """Return the day of a date, or of a text that writes one, counted from 1970-01-01; NaN if it is none."""
    parts: Sequence[Any]
    if issubclass(type(value), datetime.date):
        known = cast(datetime.date, value)
        parts = known.year, known.month, known.day
    else:
        text = str(value)
        if "\n" in text or re.match(_date_shape(written), text) is None:
            return math.nan
        sign, *places = DATE_FORMATS[written]
        listed = re.split("[ T]", text.strip(" "))[0].split(sign)
        parts = [int(listed[place]) for place in places]
    try:
        return float(datetime.date(*parts).toordinal() - FIRST_DAY)
    except (TypeError, ValueError):  # no such day, or NaT of pandas
        return math.nan


def day_text(day: float, written: str = "YYYY-MM-DD") -> str:
    """Return the date of a day, as it is written.

    Examples
    --------
    >>> day_text(0.0), day_text(-25567.0, "DD.MM.YYYY")
    ('1970-01-01', '01.01.1900')
    """
    sign, *places = DATE_FORMATS[written]
    parts = datetime.date.fromordinal(int(day) + FIRST_DAY).isoformat().split("-")
    return sign.join(part for _, part in sorted(zip(places, parts, strict=True)))


def number(value: object, writing: Writing = USUAL) -> float:
    """Return the number that a value counts as, NaN if it is missing.

    Examples
    --------
    >>> [number(value) for value in (2, True, " 1.5", "1,5", None, Decimal("0.3"))]
    [2.0, 1.0, 1.5, nan, nan, 0.3]
    >>> number("1.234,5", Writing(",", ".")), number("31.12.1970", Writing(dates="DD.MM.YYYY"))
    (1234.5, 364.0)
    """
    found = _number(value, writing)
    return math.nan if found in writing.codes else found


def _number(value: object, writing: Writing) -> float:
    # by its type, which no value can pretend: isinstance would ask the value itself
    kind = type(value)
    if writing.dates and issubclass(kind, (str, datetime.date)):
        return _day(value, writing.dates)
    if issubclass(kind, str):
        text = _as_written(str(value), writing)
        if text.strip(" ") in BOTH:
            return float(text.strip(" ") in TRUE)
        return float(text) if "\n" not in text and _NUMBER_PATTERN.match(text) is not None else math.nan
    if not issubclass(kind, _NUMERIC) or issubclass(kind, np.timedelta64):
        return math.nan
    known = cast(Any, value)
    try:
        return float(known)
    except OverflowError:  # a whole number larger than every double
        return math.inf if known > 0 else -math.inf
    except ValueError:  # a signalling NaN
        return math.nan


_NINES = [float(10**digits - 1) for digits in range(1, 10)]
_REPEATED = [7.0, 8.0, 77.0, 88.0, 777.0, 888.0, 7777.0, 8888.0]
LIKELY_CODES = frozenset(
    sign * code
    for code in (*_NINES, *_REPEATED, *(nines - less for nines in _NINES[1:] for less in (1, 2, 3)))
    for sign in (1, -1)
) | {-1.0}
_CODE_DATES = ("0001-01-01", "1111-11-11", "1899-12-30", "1899-12-31", "1900-01-01", "1901-01-01", "1970-01-01")
LIKELY_CODE_DAYS = frozenset(_day(each, "YYYY-MM-DD") for each in (*_CODE_DATES, "2099-12-31", "9999-12-31"))
"""Numbers, and days, that people write where a value is missing."""


def suspected_codes(counted: Mapping[float, int], *, dates: bool = False) -> tuple[float, ...]:
    """Return the numbers of a column that look like codes for a missing value.

    Such a number is one that people write for it, lies beyond all other values, and stands out in one of three ways. It
    lies behind a gap that is wider than any between the five numbers next to it, and either so far off that this is
    twice the range of the others, or half of it where it comes three times; or it comes three times, for half a percent
    of the records, and more often than each of those five. Or it comes twice below zero, where none of five others is.

    Examples
    --------
    >>> ages = dict.fromkeys(map(float, range(18, 91)), 4)
    >>> suspected_codes({**ages, 99.0: 9, -1.0: 2}), suspected_codes({**ages, 97.0: 2, 99.0: 1})
    ((-1.0, 99.0), ())
    """
    likely, total = LIKELY_CODE_DAYS if dates else LIKELY_CODES, sum(counted.values())
    ordered = sorted(x for x in counted if math.isfinite(x))
    found: list[float] = []
    for sign in (1, -1):
        ends = ordered[::sign]
        rest = [x for x in ordered if x not in likely] or ordered
        spread, beyond = rest[-1] - rest[0] if rest else 0.0, 0
        while beyond < len(ends) - 2 and ends[-1 - beyond] in likely and (dates or sign * ends[-1 - beyond] > 0):
            beyond += 1
        for taken in range(beyond, 0, -1):
            codes, others = ends[-taken:], ends[:-taken]
            if _stand_out(codes, others, counted, spread, total):
                found += codes
                break
    return tuple(sorted(found))


def _stand_out(
    codes: Sequence[float], others: Sequence[float], counted: Mapping[float, int], spread: float, total: int
) -> bool:
    """Whether numbers beyond all others of a column are far from these, or too many to be their end."""
    held, near = sum(counted[x] for x in codes), others[-5:]
    if codes[0] < 0 <= min(others) and held > 1 and len(others) >= 5:
        return True
    gap = abs(codes[0] - others[-1])
    wide = max((abs(after - before) for before, after in pairwise(near)), default=math.inf)
    # of one digit codes are where answers are numbered from 0 or 1
    if gap <= wide or (abs(codes[0]) < 10 and min(others) > 1):
        return False
    if gap >= 2 * spread or (gap >= spread / 2 and held >= 3 and len(others) >= 4):
        return True
    return len(codes) < 3 and held >= max(3, total / 200) and held > max(counted[x] for x in near)


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


def labelled(values: Iterable[object], column: Categorical) -> list[Category | None]:
    """Return values of a column of texts: texts without the blanks around them, others as the category they write.

    Half a character, which no engine takes, is no text of its own.
    """
    exact, *keys = frozenset(with_blanks(column)), *(keys_of(column, kind) for kind in (str, float, bool))
    found: list[Category | None] = []
    for value in values:
        text = str(value) if issubclass(type(value), str) else None
        if text is None or text.encode(errors="ignore").decode() != text:
            found.append(_text_category(value, *keys))
        else:
            found.append(text if text in exact else text.strip(BLANKS))
    return found


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
    value: nw.Expr,
    declared: Column,
    dtype: Type,
    engine: nw.Implementation,
    *,
    as_they_are: bool = False,
    writing: Writing = USUAL,
) -> nw.Expr:
    """Return a column as Float64, Boolean or String, null where it is missing; see `bnpriv.tables.readings`.

    Doubles of a column of numbers stay `as_they_are` on request: NaN is missing too then, and zero may have a sign.
    """
    if not isinstance(declared, Categorical):
        doubles = as_they_are and isinstance(dtype, (nw.Float64, nw.Float32))
        found = value.cast(nw.Float64) if doubles else numeric(value, dtype, engine, writing)
        return _without(found, writing.codes, constants(engine))
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


def _without(number: nw.Expr, codes: Sequence[float], constant: Written) -> nw.Expr:
    """Return numbers without those that stand for a missing value."""
    for code in codes:
        number = nw.when(number != constant(code)).then(number)
    return number


def _days(value: nw.Expr, dtype: Type, engine: nw.Implementation, written: str) -> nw.Expr:
    """Return the days of dates, or of texts that write dates, counted from 1970-01-01; null where one is none."""
    if not _is_text(dtype):
        moment = value.dt
        return _counted_days(*(part.cast(nw.Float64) for part in (moment.year(), moment.month(), moment.day())))
    sign, *places = DATE_FORMATS[written]
    text = value.cast(nw.String)
    right = text.str.contains(_date_shape(written)) & ~text.str.contains(r"[^-+./0-9:TZ ]")
    day = nw.when(right).then(_stripped(text, engine)).str.replace_all("[ T].*$", "")
    inner = rf"^[0-9]+[{sign}]|[{sign}][0-9]+$"
    ends = (rf"[{sign}].*$", inner, rf"^.*[{sign}]")
    return _counted_days(*(day.str.replace_all(ends[place], "").cast(nw.Float64) for place in places))


def _counted_days(year: nw.Expr, month: nw.Expr, day: nw.Expr) -> nw.Expr:
    """Return the day of a date by whole numbers in doubles; null where there is no such day."""
    # years begin in March, so that what a leap year adds comes last
    late = (month <= 2).cast(nw.Float64)
    marched, shifted = year - late, month + late * 12 - 3

    def leaps(years: nw.Expr) -> nw.Expr:
        # half a year more: an engine may divide by multiplying with the inverse
        return ((years + 0.5) / 4).floor() - ((years + 0.5) / 100).floor() + ((years + 0.5) / 400).floor()

    def before(months: nw.Expr) -> nw.Expr:
        return ((months * 153 + 2.5) / 5).floor()

    february = 28 + leaps(year) - leaps(year - 1)
    length = nw.when(month == 2).then(february).otherwise(before(shifted + 1) - before(shifted))
    known = (year >= 1) & (month >= 1) & (month <= 12) & (day >= 1) & (day <= length)
    return nw.when(known).then(marched * 365 + leaps(marched) + before(shifted) + day - 719469)


def _plain_text(text: nw.Expr, writing: Writing) -> nw.Expr:
    """Return texts of numbers as they are written without groups of digits and with a point; null for others."""
    if writing.decimal == "." and not writing.thousands:
        return text
    plain = text.str.replace_all(writing.thousands, "", literal=True) if writing.thousands else text
    return nw.when(text.str.contains(_shape(*writing[:2]))).then(
        plain.str.replace_all(writing.decimal, ".", literal=True)
    )


def numeric(value: nw.Expr, dtype: Type, engine: nw.Implementation, writing: Writing = USUAL) -> nw.Expr:
    """Return the numbers that values count as: Float64, null where one counts as none, and never NaN."""
    if writing.dates and (_is_text(dtype) or isinstance(dtype, (nw.Date, nw.Datetime))):
        number = _days(value, dtype, engine, writing.dates)
    elif _is_text(dtype):
        text = _plain_text(value.cast(nw.String), writing)
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


def partitions(data: object) -> Sequence[object]:
    """Return the partitions of a Dask table, none of which is read yet; any other table whole."""
    native = _dask(data)
    return [data] if native is None else [native.partitions[place] for place in range(native.npartitions)]


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
