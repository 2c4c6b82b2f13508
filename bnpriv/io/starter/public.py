"""What a public table tells about columns; never given the private one, which is recognized."""

from __future__ import annotations

import csv
import hashlib
import math
import os
import re
import sys
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from itertools import dropwhile
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from bnpriv.checks import listing
from bnpriv.core.interrupts import interruptible
from bnpriv.errors import DataError, FileError, ParameterError
from bnpriv.io.starter.header import first_line, header_of, is_comment, is_text_file, separator_of, shares_names
from bnpriv.paths import user_path
from bnpriv.tables import readings
from bnpriv.tables.files import database_file, is_database
from bnpriv.tables.readings import number

if TYPE_CHECKING:
    from bnpriv.core.networks.base import TableFingerprint

# --------------------------------------------------------------------------------------------------
# What a public table tells about columns: values, bounds, bins and categories. Never given the private table.
# --------------------------------------------------------------------------------------------------

LEAST_PUBLIC_RECORDS, LEAST_PUBLIC_SHARE = 30, 0.005
"""Categories with fewer public records, or a smaller share, count as "other"."""

PUBLIC_BINS = 5
LEAST_ROUNDED_SPREAD, MOST_WRITTEN_WHOLE = 1e-300, 2**53
FARTHEST_BOUND = sys.float_info.max
OTHER_LABELS = OTHER_LABEL, ANY_OTHER_LABEL = "other", "any other label"
"""What a label counts as that is not listed; the second one where a category is called like the first."""

PUBLIC_GAPS = frozenset(("", "NA", "NaN", "nan", "null", "None"))

PublicValues = Sequence[str | float | None]


def public_values(
    data: object, names: Sequence[str], *, given: bool = True, labels: Collection[str] = ()
) -> dict[str, PublicValues]:
    """Return the columns of a public table that are named: numbers where all of a column are, else texts."""
    return found_public(data, names, given=given, labels=labels).values


@dataclass(frozen=True, kw_only=True)
class FoundPublic:
    """What a public table is found to hold.

    Parameters
    ----------
    values : mapping from str to sequence
        Numbers where all of a column are, or nearly all, else texts; None for what is missing, and for codes.
    dialect : Dialect
        How its texts are written.
    left_out : mapping from str to str
        Columns that are no use to statistics, as ids and names, and why.
    notes : tuple of str
        What was found, one sentence each.
    """

    values: dict[str, PublicValues]
    dialect: readings.Dialect
    left_out: Mapping[str, str]
    notes: tuple[str, ...]


def found_public(
    data: object,
    names: Sequence[str],
    *,
    given: bool = True,
    labels: Collection[str] = (),
    told: Mapping[str, str] | None = None,
    codes: Mapping[str, tuple[float, ...]] | None = None,
) -> FoundPublic:
    """Find how a public table writes numbers and dates, which numbers are codes, and which columns are ids.

    Parameters
    ----------
    data : table, str or path
        A file without names must have one column for each of `names`, in that order.
    names : sequence of str
    given : bool
        Whether somebody gave the names; else they may be a record of the private table, of which nothing is told.
    labels : collection of str
        Columns whose texts are labels even where all of them are numbers, as "01" and "02".
    told : mapping from str to str, optional
        What columns are read as, whatever is found: "days", "number", "category", "id", or how a date is written.
    codes : mapping from str to tuple of float, optional
        Which numbers of columns stand for a missing value, where that is known; in others they are looked for.

    Raises
    ------
    DataError, FileError
        If it has other columns, or no records.
    ParameterError
        If a column is to be read as days, and nobody can tell how its dates are written.
    """
    found = _held(data, names, given=given)
    missing = [name for name in names if name not in found]
    if missing and not given and not shares_names(names, list(found)):
        raise _shares_no_name()
    if missing:
        raise DataError(
            "the public table must have the columns of the private one",
            found=f"none named {listing(missing)}",
            remedy="Rename its columns, or give another table.",
        )
    if not len(next(iter(found.values()), ())):
        raise DataError("the public table needs records", found="none", remedy="Give another table.")
    columns = {name: found[name] for name in names}
    separator = separator_of(user_path(cast(str, data))) if is_text_file(data) else ","
    return _found_in(columns, labels, told or {}, codes or {}, separator)


def _found_in(
    columns: Mapping[str, Sequence[object]],
    labels: Collection[str],
    told: Mapping[str, str],
    known_codes: Mapping[str, tuple[float, ...]],
    separator: str,
) -> FoundPublic:
    plain = {name: _without_gaps(values) for name, values in columns.items()}
    numeric = [name for name in columns if told.get(name, "" if name not in labels else "category") not in LABELS]
    notes: list[str] = []
    given = ((name, _written_dates(name, plain[name], told.get(name, ""), notes)) for name in numeric)
    dates = {name: written for name, written in given if written}
    decimal, thousands = _signs([plain[name] for name in numeric if name not in dates], separator)
    dialect = readings.Dialect(separator=separator, decimal=decimal, thousands=thousands, dates=dates)
    if dialect != readings.Dialect(dates=dates):
        signs = f", decimals behind {decimal!r}, thousands apart by {thousands!r}" if thousands else ""
        notes.insert(0, f"Fields are separated by {readings.SEPARATORS[separator]}{signs}.")
    values: dict[str, PublicValues] = {}
    codes: dict[str, tuple[float, ...]] = {}
    left_out: dict[str, str] = {}
    for name, held in columns.items():
        writing = dialect.of(name)
        must = name in dates or told.get(name) == "number"
        values[name] = known = _typed(held, plain[name], labels=name not in numeric, writing=writing, must=must)
        reason = _why_an_id(name, known) if name not in dates and name not in told else told.get(name) == "id" and SAID
        if reason:
            left_out[name] = reason
        elif is_numeric(known):
            texts = _known(plain[name]) - _known(known)
            if texts:
                notes.append(f"{name}: {texts:,} of its public values are no numbers or dates, and count as missing.")
            counted = Counter(each for each in known if isinstance(each, float))
            enough = name not in told and name not in known_codes and counted.total() >= LEAST_PUBLIC_RECORDS
            suspected = readings.suspected_codes(counted, dates=name in dates) if enough else ()
            codes[name] = known_codes.get(name, suspected)
            values[name] = [None if each in codes[name] else each for each in known]
            if suspected:
                shown = listing(readings.day_text(code) if writing.dates else f"{code:.15g}" for code in suspected)
                read = "days" if writing.dates else "number"
                notes.append(
                    f"{name}: {shown} ({sum(counted[each] for each in suspected):,} public records) looks like a code, "
                    f"and counts as missing; if it is none, read it as {read}: --as {name}={read}."
                )
    return FoundPublic(values=values, dialect=replace(dialect, codes=codes), left_out=left_out, notes=tuple(notes))


SAID = "it was said to be an id"

LABELS = ("category", "id")
"""What a column is read as whose values stay texts."""

MOSTLY, FEWEST_NUMBERS = 0.95, 13
"""A column holds numbers, with some texts among them, if so large a part of it does, and so many different ones."""

MOST_LOOKED_AT = 5000
"""Different texts of a column by which signs between digits are told."""

BY_COMMAS = ((".", ""), (".", ","), (",", "."), (",", " "), (".", " "), (",", "'"), (".", "'"))
BY_SEMICOLONS = ((",", "."), (".", ""), (".", ","), *BY_COMMAS[3:])
"""Decimal signs, and signs between groups of digits: the first that make numbers of most columns."""

ID_WORDS = frozenset(("id", "nr", "no", "num", "number", "nummer", "key", "uuid", "guid", "index", "ssn", "pnr"))
"""Words in the names of columns that hold a number for each record, which counts nothing."""

LARGEST_ID, LEAST_LARGE_ID, FEWEST_IDS = 2.0**64, 10_000, 100
"""Whole numbers above the first one are quantities; with a name like that of an id, so many of some size are ids."""

WORD_IN_NAME = re.compile(r"[A-Z]?[^\W\d_A-Z]+|[A-Z]+")


def _without_gaps(values: Sequence[object]) -> list[object]:
    plain = [value.strip(readings.BLANKS) if isinstance(value, str) else value for value in values]
    return [None if value is None or str(value) in PUBLIC_GAPS else value for value in plain]


def _known(values: Sequence[object]) -> int:
    return sum(value is not None for value in values)


def _written_dates(name: str, values: Sequence[object], told: str, notes: list[str]) -> str:
    """Return how a column writes dates, empty if it holds none; what is found, or cannot be told, is noted."""
    counted = Counter(value for value in values if isinstance(value, (str, date)))
    known, first = _known(values), list(counted)[:20]
    fit: list[str] = []
    for written in readings.DATE_FORMATS if told != "number" else ():
        writing = readings.Writing(dates=written)
        likely = counted if any(_reads(each, writing) for each in first) else ()
        if sum(counted[each] for each in likely if _reads(each, writing)) >= max(1, MOSTLY * known):
            fit.append(written)
    if (
        told in readings.DATE_FORMATS
        or any(isinstance(value, date) for value in first)
        or (told == "days" and not counted)
    ):
        fit = [told if told in readings.DATE_FORMATS else next(iter(readings.DATE_FORMATS))]
    if len(fit) == 1:
        notes.append(f"{name}: dates as {fit[0]}, read as days since 1970-01-01.")
        return fit[0]
    if told == "days":
        raise ParameterError(
            "a column that is read as days needs dates that are written in one way",
            found=f"two ways that {name!r} may be written in" if fit else f"other texts in {name!r}",
            remedy=f'Say which: --as "{name}=DD/MM/YYYY", or another of {listing(readings.DATE_FORMATS)}.',
        )
    if fit:
        notes.append(f"{name}: dates in which day or month may come first, left as texts; --as {name}={fit[0]} tells.")
    return ""


def _reads(value: object, writing: readings.Writing) -> bool:
    return not math.isnan(number(value, writing))


def _signs(columns: Sequence[Sequence[object]], separator: str) -> tuple[str, str]:
    """Return the signs before decimals and between groups of digits that make numbers of most columns."""
    marks = set("".join(readings.THOUSANDS))
    texts = [
        some
        for values in columns
        for some in [list(dict.fromkeys(each for each in values if isinstance(each, str)))[:MOST_LOOKED_AT]]
        if any(marks & set(each) for each in some)
    ]

    def read(signs: tuple[str, str]) -> int:
        writing = readings.Writing(*signs)
        return sum(sum(_reads(each, writing) for each in some) >= MOSTLY * len(some) for some in texts)

    # of several that read as many columns the first
    return max(BY_SEMICOLONS if separator == ";" else BY_COMMAS, key=read) if texts else BY_COMMAS[0]


def _why_an_id(name: str, values: PublicValues) -> str:
    """Return why a column is an id, a name or a free text, of which no statistics are asked; empty if it is none."""
    known = [value for value in values if value is not None]
    if len(known) < LEAST_PUBLIC_RECORDS:
        return ""
    counted = Counter(known)
    alone = sum(times == 1 for times in counted.values())
    numbers = [value for value in known if isinstance(value, float)]
    if not numbers and 2 * alone > len(known) and max(counted.values()) < enough_records(len(values)):
        return f"{alone:,} of its {len(known):,} public values come once: a name, an id or a free text"
    if len(numbers) < len(known) or not all(map(float.is_integer, numbers)):
        return ""
    if MOST_WRITTEN_WHOLE <= sorted(numbers)[len(numbers) // 2] <= LARGEST_ID:
        return "its public values are whole numbers of 16 digits or more: ids, of which no statistics are asked"
    words = [word.lower() for word in WORD_IN_NAME.findall(name)]
    named = bool(ID_WORDS.intersection(words)) or name.lower().endswith("nummer")
    if len(counted) == len(known):
        running = max(numbers) - min(numbers) < 2 * len(numbers) or numbers == sorted(numbers)
        return (
            f"all its {len(known):,} public values differ: a running number or another id" if running or named else ""
        )
    # "personnel number" names somebody, "number of rooms" counts
    last = (words[-1:] and words[-1] in ID_WORDS) or name.lower().endswith("nummer")
    if last and len(counted) >= FEWEST_IDS and max(numbers) >= LEAST_LARGE_ID:
        return f"its name and its {len(counted):,} different public numbers say that it is an id"
    return ""


def _shares_no_name() -> DataError:
    return DataError(
        "the first line of the private table must name the columns, as the public table does",
        found="next to no name that both have",
        remedy='If it is a record, name all columns: the option names, "age,sex,income".',
    )


def _held(data: object, names: Sequence[str], *, given: bool) -> Mapping[str, Sequence[object]]:
    if not is_text_file(data):
        from bnpriv.tables.public import public_columns

        if not given and not shares_names(names, header_of(data).names):
            raise _shares_no_name()
        return public_columns(data, names)
    path = user_path(cast(str, data))
    fields, sign = first_line(path, comments=False), separator_of(path)
    named = bool(set(fields) & set(names))
    if not named and len(fields) != len(names):
        raise DataError(
            "the public table must have the columns of the private one",
            found=f"{len(fields)} columns without names, in place of {len(names)}",
            remedy="Add a line of names to it.",
        )
    if not named and not given:
        raise _shares_no_name()
    repeated = [name for name in names if fields.count(name) > 1] if named else []
    if repeated:
        raise DataError(
            "every column of the public table that the private one has must be there once",
            found=f"{listing(repeated)} more than once in its first line",
            remedy="Rename one of them, or leave it out.",
        )
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
        lines = dropwhile(is_comment, csv.reader(file, skipinitialspace=True, delimiter=sign))
        rows = [row for row in lines if row]
    if any("\ufffd" in field for row in rows for field in row):
        raise DataError(
            "the public table must be in UTF-8",
            found="other bytes, as older versions of Excel write them",
            remedy="Save it as CSV UTF-8, and the private table too.",
        )
    records = [row for row in rows[named:] if len(row) == len(fields)]
    if len(rows) > named and not records:
        raise DataError(
            f"the records of the public table must have as many fields as its first line, {len(fields)}",
            found="none that has",
            remedy="Mend its first line, or give another table.",
        )
    columns = zip(*records, strict=True) if records else ((),) * len(fields)
    return dict(zip(fields if named else names, columns, strict=True))


def _typed(
    values: Sequence[object], texts: Sequence[object], *, labels: bool, writing: readings.Writing, must: bool
) -> PublicValues:
    """Return numbers or texts as a release reads them: what it takes for missing is None, and infinity a number."""
    read = {value: number(value, writing) for value in {each for each in texts if isinstance(each, str)}}
    numbers = [
        read[value] if isinstance(value, str) else math.nan if value is None else number(value, writing)
        for value in (None if isinstance(each, bool) and not must else each for each in texts)
    ]
    given = _known(texts)
    known = sum(x == x for x in numbers)
    mostly = known >= MOSTLY * given and (known == given or len(set(numbers)) >= FEWEST_NUMBERS)
    if not labels and given and (must or mostly):
        # of blanks a number has spaces alone
        held = zip(values, texts, numbers, strict=True)
        return [x if x == x and (value == text or number(value, writing) == x) else None for value, text, x in held]
    both = zip(texts, numbers, strict=True)
    return [None if value is None else x if x == x and not isinstance(value, str) else str(value) for value, x in both]


def is_numeric(values: PublicValues) -> bool:
    """Whether a column holds numbers."""
    return any(isinstance(value, float) for value in values)


def bounds(values: PublicValues) -> tuple[float, float]:
    """Return bounds around the numbers of a public column, rounded outwards to round numbers.

    Examples
    --------
    >>> bounds([17.0, 90.0]), bounds([0.0, 99999.0]), bounds([3.0])
    ((17, 90), (0, 100000), (2, 4))
    """
    numbers = [value for value in values if isinstance(value, float) and math.isfinite(value)]
    low, high = min(numbers), max(numbers)
    if low == high:
        # beside a huge number one is nothing
        room = max(1.0, abs(low) * 2.0**-40)
        return _plain(max(low - room, -FARTHEST_BOUND)), _plain(min(high + room, FARTHEST_BOUND))
    unit = power_of_ten(low, high)
    if unit is None:
        return _plain(low), _plain(high)
    lower, upper = _round(math.floor(low / unit), unit), _round(math.ceil(high / unit), unit)
    # a number far from zero has more digits than are kept: then the values themselves are the bounds
    return _plain(min(lower, low)), _plain(max(upper, high))


def edges(values: PublicValues, lower: float, upper: float, bins: int = PUBLIC_BINS) -> list[float]:
    """Return the edges of bins: round numbers near quantiles of a public column, between two bounds.

    Examples
    --------
    >>> edges([float(k) for k in range(100)], 0, 100)
    [0, 20, 40, 60, 80, 100]
    >>> edges([0.0] * 90 + [5.0] * 10, 0, 10)
    [0, 5, 10]
    """
    numbers = np.sort([value for value in values if isinstance(value, float) and lower <= value <= upper])
    if not len(numbers):
        return [_plain(lower), _plain(upper)]
    unit = power_of_ten(lower, upper)
    found: set[float] = set()
    for k in range(1, bins):
        quantile = float(numbers[len(numbers) * k // bins])
        found.add(quantile if unit is None else _round(round(quantile / unit), unit))
    inner = {each for each in found if lower < each < upper}
    if not inner and bins > 1:  # most values are one
        common = Counter(cast("list[float]", numbers.tolist())).most_common(1)[0][0]
        above = numbers[numbers > common]
        inner = {each for each in (common, float(above[0]) if len(above) else common) if lower < each < upper}
    return [_plain(each) for each in (lower, *sorted(inner), upper)]


def power_of_ten(low: float, high: float) -> float | None:
    """Return the power of ten to which numbers in a range are rounded; None where doubles have none that serves."""
    spread = high - low
    if not math.isfinite(spread) or spread < LEAST_ROUNDED_SPREAD:
        return None
    unit = 10.0 ** (math.floor(math.log10(spread)) - 1)
    return unit if math.isfinite(low / unit) and math.isfinite(high / unit) else None


def _round(steps: float, unit: float) -> float:
    """Return a multiple of a power of ten as the double that its decimal is read as."""
    return float(f"{steps * unit:.12g}")


def _plain(number: float) -> float:
    return int(number) if abs(number) < MOST_WRITTEN_WHOLE and number == int(number) else number


def common_categories(values: PublicValues, declared: Sequence[str]) -> tuple[str, ...]:
    """Return the categories of a public column with enough records; of declared ones where there are any.

    Examples
    --------
    >>> common_categories(["a"] * 40 + ["b"] * 3, ["a", "b", "c"])
    ('a',)
    """
    counted = Counter(spelled(str(value), declared) for value in values if value is not None)
    enough = enough_records(len(values))
    known = declared or sorted(counted)
    return tuple(each for each in known if counted[each] >= enough and each != OTHER_LABEL)


def enough_records(records: int) -> float:
    """Return how many of the records of a public table make a state of its own.

    Examples
    --------
    >>> enough_records(4), enough_records(1000), enough_records(20_000)
    (1, 30, 100.0)
    """
    return max(min(LEAST_PUBLIC_RECORDS, max(1, records // 4)), LEAST_PUBLIC_SHARE * records)


def spelled(value: str, declared: Sequence[str]) -> str:
    """Return a label as a codebook spells it: tables end labels in a full stop where codebooks do not."""
    return value[:-1] if value not in declared and value.endswith(".") and value[:-1] in declared else value


# --------------------------------------------------------------------------------------------------
# Whether a table that is said to be public is the private one: by its place, its bytes, and its values.
#
# The values of both are hashed where they have the same number of records, in memory; no hash is kept or shown, and
# all that is told is that the two are one. A value is compared by what it says, whatever type an engine gave it: 1,
# 1.0, "1.0" and "yes" are one, and so are all gaps.
# --------------------------------------------------------------------------------------------------


def refuse_the_same(private: object, public: object) -> None:
    """Refuse a public table that is the private one.

    Raises
    ------
    FileError
        If both are one object, one file, files with the same content, or tables with the same records in any order in
        the columns of the private one.
    """
    same = public is private or (isinstance(public, str) and isinstance(private, str) and public == private)
    if not (same or interruptible(private, lambda: _same_file(private, public) or _same_records(private, public))):
        return
    raise FileError(
        "the public table must be another than the private one",
        found="the same table",
        remedy="Learn from a table that anybody may see; what is learned from the private one gives it away.",
    )


def _same_file(private: object, public: object) -> bool:
    if not (isinstance(private, (str, os.PathLike)) and isinstance(public, (str, os.PathLike))):
        return False
    one, other = user_path(cast("str | os.PathLike[str]", private)), user_path(cast("str | os.PathLike[str]", public))
    both = os.path.isfile(one) and os.path.isfile(other)
    return both and (os.path.samefile(one, other) or _digest(one) == _digest(other))


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _same_records(private: object, public: object) -> bool:
    """Whether two tables that are here hold the same records, whatever files or engines they are in."""
    if not (_is_here(private) and _is_here(public)):
        return False
    try:
        (names, records), (others, as_many) = _shape(private), _shape(public)
        if not names or not set(names) <= set(others) or records != as_many:
            return False
        return _fingerprint(private, names).rows == _fingerprint(public, names).rows
    except (KeyboardInterrupt, SystemExit):
        raise
    # no table, values without a hash, or a panic of Polars: what is wrong with a table is told where it is read
    except BaseException:
        return False


def _is_here(data: object) -> bool:
    """Whether a table is in memory or in a file: others would have to be fetched whole."""
    import narwhals as nw

    from bnpriv.tables.files import is_data

    if is_database(data):
        return database_file(cast(str, data)) is not None
    if isinstance(data, (str, os.PathLike)):
        return is_data(user_path(cast("str | os.PathLike[str]", data)))
    frame = nw.from_native(cast(Any, data), pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        return frame.implementation.is_polars() or frame.implementation.is_duckdb()
    return isinstance(frame, nw.DataFrame)


def _shape(data: object) -> tuple[Sequence[str], int]:
    """Return the names of the columns, and the number of records."""
    import narwhals as nw

    from bnpriv.tables.reader import collected, source

    with source(data, (), separator=None) as (frame, names):
        if isinstance(frame, nw.DataFrame):
            return names, len(frame)
        return names, int(collected(frame.select(nw.len())).item())


def _fingerprint(data: object, names: Sequence[str]) -> TableFingerprint:
    from bnpriv.tables.public import fingerprint_of, public_columns

    return fingerprint_of({name: _said(values) for name, values in public_columns(data, names).items()})


def _said(values: Sequence[object]) -> list[str | None]:
    """Return values as texts that are alike where an engine, or a file, writes one value in two ways."""
    known: dict[object, str | None] = {}
    for value in values:
        # 1 and True say the same, and are one key
        if value not in known:
            known[value] = _plainly(value)
    return [known[value] for value in values]


def _plainly(value: object) -> str | None:
    text = str(value).strip(readings.BLANKS)
    if value is None or text in PUBLIC_GAPS:
        return None
    known = number(text if isinstance(value, str) else value)
    if known != known and isinstance(value, str) and (word := readings.truth(text)) is not None:
        known = float(word)
    if known != known:
        return text.removesuffix(" 00:00:00")  # of a date with a time where an engine knows no other
    with np.errstate(over="ignore"):
        return repr(float(np.float32(known)) + 0.0)  # some files hold numbers with half the digits
