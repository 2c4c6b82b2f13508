"""What columns may hold, put together from a codebook and a public table."""

from __future__ import annotations

import csv
import io
import math
import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

from bnpriv.checks import listing, member
from bnpriv.core.columns import GAP_MARK, NOT_COUNTED, Binned, Categorical, Category, Inside, Integer, Real, Spread
from bnpriv.core.networks.declared import FEW_DECIMALS
from bnpriv.core.queries.predicates import MOST_NUMBERS_APART
from bnpriv.core.schema import Column, NumberColumn, fill_of, has_gaps
from bnpriv.errors import DataError, FileError
from bnpriv.io.networks.files import path_text, read_text
from bnpriv.io.starter.header import distinct
from bnpriv.io.starter.public import (
    ANY_OTHER_LABEL,
    OTHER_LABEL,
    PUBLIC_BINS,
    PublicValues,
    bounds,
    common_categories,
    edges,
    enough_records,
    is_numeric,
    power_of_ten,
    spelled,
)
from bnpriv.io.toml import parse_toml
from bnpriv.tables.readings import Writing, categories, number as number_of
from bnpriv.toml import short_number, toml_section

# --------------------------------------------------------------------------------------------------
# Codebooks: what a public document says about columns, as a table, as TOML, or in the style of a ``.names`` file.
# --------------------------------------------------------------------------------------------------

MOST_CODEBOOK_BYTES = 2**22

CODEBOOK_TYPES = ("real", "integer", "categorical", "unknown")

_CODEBOOK_LINE = re.compile(r"(?P<name>[^:|]+):(?P<said>[^|]*)")
_SAID_OF_NUMBERS = ("continuous", "numeric", "real")


@dataclass(frozen=True, kw_only=True)
class Described:
    """What is public about one column; what is not known is None or empty.

    Parameters
    ----------
    kind : str
        "real", "integer", "categorical" or "unknown".
    lower, upper : float, optional
    categories : tuple of str
    edges : tuple of float
        Of bins of numbers.
    shares : tuple of float
        How frequent each category, or each bin, is in public; of sum one.
    nameless : bool
        Whether the codebook lists the column's categories without its name.
    codes : tuple of float, optional
        Numbers that stand for a missing value, whatever a public table looks like; empty if none does.
    """

    kind: str = "unknown"
    lower: float | None = None
    upper: float | None = None
    categories: tuple[str, ...] = ()
    edges: tuple[float, ...] = ()
    shares: tuple[float, ...] = ()
    nameless: bool = False
    codes: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        member("a type in a codebook", self.kind, CODEBOOK_TYPES, error=FileError)
        if self.lower is not None and self.upper is not None and not self.lower < self.upper:
            raise FileError(
                "the lower bound must be below the upper one",
                found=f"{self.lower:g} and {self.upper:g}",
                remedy="Correct them.",
            )
        repeated = [each for k, each in enumerate(self.categories) if each in self.categories[:k]]
        if repeated:
            raise FileError("categories must differ", found=f"{listing(repeated)} again", remedy="List each once.")
        if self.codes and self.kind == "categorical":
            raise FileError(
                "codes of missing values are those of columns of numbers",
                found="a column of categories",
                remedy="Leave the code out of its categories: what is not listed counts as missing.",
            )
        if self.shares:
            self._check_shares()

    def _check_shares(self) -> None:
        bins = len(self.categories) if self.kind == "categorical" else max(0, len(self.edges) - 1)
        bins = 0 if self.kind == "unknown" else bins
        total = sum(self.shares)
        if len(self.shares) != bins or bins < 2:
            raise FileError(
                "there is one share for each category, or for each bin between edges, and at least two",
                found=f"{len(self.shares)} for {bins}",
                remedy='Write categories = ["a", "b"] or edges = [0, 18, 65, 99], and as many shares.',
            )
        if min(self.shares) <= 0 or not abs(total - 1) <= FEW_DECIMALS:
            raise FileError(
                "shares must be above 0, and their sum 1, to within a percent",
                found=f"{min(self.shares):g} as the least, and the sum {total:g}",
                remedy="Put categories together that are next to never met, and write shares of 1 rather than percent.",
            )


def read_codebook(path: str | os.PathLike[str]) -> dict[str, Described]:
    """Read a codebook.

    Parameters
    ----------
    path : str or path
        A CSV file with the columns column, type, lower, upper, categories, edges, shares and missing_codes (lists
        separated by ``|``; dates as 1970-01-31); a TOML file with a table of these keys for each column, where shares
        may be ``{no = 0.8, yes = 0.2}``; or lines like ``age: continuous.`` and ``sex: Female, Male.``

    Returns
    -------
    dict from str to Described
        In the order of the file.

    Raises
    ------
    FileError
        If it is unreadable, describes nothing, or describes a column twice or not well.
    """
    label = path_text(path)
    text = read_text(path, MOST_CODEBOOK_BYTES)
    suffix = Path(path).suffix.lower()
    reader = {".toml": _from_toml, ".csv": _from_csv}.get(suffix, _from_lines)
    try:
        found = reader(label, text)
        distinct([name for name, _ in found])
    except FileError as refused:
        required = refused.required if refused.required.startswith(label) else f"{label}: {refused.required}"
        raise FileError(required, found=refused.found, remedy=refused.remedy) from None
    except csv.Error as broken:
        raise FileError(f"{label}: a codebook must be readable", found=str(broken), remedy="Correct it.") from None
    return dict(found)


def _from_toml(label: str, text: str) -> list[tuple[str, Described]]:
    values = parse_toml(label, text)
    tables = values.get("columns", values)
    rows: list[tuple[str, Described]] = []
    for name, said in cast("Mapping[str, Any]", tables).items() if isinstance(tables, Mapping) else ():
        if not isinstance(said, Mapping):
            raise FileError(f"{name[:80]!r} must be a table", found="another value", remedy="Write [columns.NAME].")
        known = {str(key): value for key, value in cast("Mapping[str, Any]", said).items()}
        listed = known.get("categories", [])
        if not isinstance(listed, list):
            raise FileError("categories must be a list", found="another value", remedy='Write ["a", "b"].')
        rows.append((name, _described(known, tuple(map(str, cast("list[object]", listed))))))
    return rows


def _from_csv(label: str, text: str) -> list[tuple[str, Described]]:
    del label
    table = csv.DictReader(io.StringIO(text, newline=""), skipinitialspace=True)
    if "column" not in (table.fieldnames or ()):
        raise FileError(
            "a codebook needs the columns column, type, lower, upper, categories",
            found="no column named column",
            remedy="Write its first line: column,type,lower,upper,categories",
        )
    rows: list[tuple[str, Described]] = []
    for row in table:
        said = {str(key): str(value).strip() for key, value in row.items() if value}
        listed = tuple(each.strip() for each in said.get("categories", "").split("|") if each.strip())
        rows.append((said.get("column", ""), _described(said, listed)))
    return rows


def _from_lines(label: str, text: str) -> list[tuple[str, Described]]:
    """Read lines of the ``.names`` style; the classes, which stand first without a name, are the last column."""
    rows: list[tuple[str, Described]] = []
    classes: tuple[str, ...] = ()
    for line in map(str.strip, text.splitlines()):
        if not line or line.startswith("|"):
            continue
        match = _CODEBOOK_LINE.fullmatch(line.split("|")[0])
        if match is None:
            if not rows and not classes:
                classes = _listed(line)
            continue
        said = match["said"].strip().rstrip(".").lower()
        kind = "real" if said in _SAID_OF_NUMBERS else "unknown" if not said else "categorical"
        listed = _listed(match["said"]) if kind == "categorical" else ()
        rows.append((match["name"].strip(), Described(kind=kind, categories=listed)))
    if not rows:
        raise FileError(
            "a codebook describes columns",
            found="no line like `age: continuous.`",
            remedy=f"Give {label} as CSV or TOML, or with lines like `sex: Female, Male.`",
        )
    last = Described(kind="categorical", categories=classes, nameless=True)
    return [*rows, ("class", last)] if len(classes) > 1 else rows


def _listed(text: str) -> tuple[str, ...]:
    return tuple(each.strip() for each in text.strip().rstrip(".").split(",") if each.strip())


def _described(said: Mapping[str, Any], categories: tuple[str, ...]) -> Described:
    named = cast("object", said.get("shares"))
    if isinstance(named, Mapping):
        of = {str(label): share for label, share in cast("Mapping[object, object]", named).items()}
        categories = categories or tuple(of)
        if set(of) != set(categories):
            raise FileError(
                "shares name the categories of their column",
                found=f"shares of {listing(of)}, and categories {listing(categories)}",
                remedy="Correct the codebook.",
            )
        named = [of[each] for each in categories]
    ends = numbers_listed("edges", said.get("edges"))
    lower, upper = (_number(key, said.get(key)) for key in ("lower", "upper"))
    lower, upper = (ends[0], ends[-1]) if ends else (lower, upper)
    usual = "categorical" if categories else "unknown" if lower is None else "real"
    return Described(
        kind=str(said.get("type") or usual),
        lower=lower,
        upper=upper,
        categories=categories,
        edges=ends,
        shares=numbers_listed("shares", named),
        nameless=said.get("nameless") is True,
        codes=numbers_listed("missing_codes", said["missing_codes"]) if "missing_codes" in said else None,
    )


def codebook_text(described: Mapping[str, Described]) -> str:
    """Return the text of a TOML codebook, from which the same is read.

    Examples
    --------
    >>> print(codebook_text({"age": Described(kind="integer", lower=0, upper=90, codes=(99,))}).strip())
    [columns.age]
    type = "integer"
    lower = 0
    upper = 90
    missing_codes = [99]
    """
    parts: list[str] = []
    for name, each in described.items():
        ends = {"lower": each.lower, "upper": each.upper, "edges": each.edges, "shares": each.shares}
        numbers = {**ends, "missing_codes": each.codes}
        values: dict[str, object] = {"type": each.kind}
        for key, held in numbers.items():
            if isinstance(held, tuple):
                values |= {key: [*map(short_number, held)]} if held or key == "missing_codes" else {}
            elif held is not None:
                values[key] = short_number(held)
        values |= {"categories": list(each.categories)} if each.categories else {}
        values |= {"nameless": True} if each.nameless else {}
        parts.append(toml_section(["columns", name], values))
    return "\n".join(parts)


def numbers_listed(key: str, value: object) -> tuple[float, ...]:
    """Return the numbers of a list, or of a text that separates them by bars; a date counts as its day.

    Raises
    ------
    FileError

    Examples
    --------
    >>> numbers_listed("edges", "0 | 18.5|1970-01-31")
    (0.0, 18.5, 30.0)
    """
    listed = (
        [each for each in value.split("|") if each.strip()]
        if isinstance(value, str)
        else []
        if value is None
        else value
    )
    if not isinstance(listed, list):
        raise FileError(f"{key} must be a list", found="another value", remedy="Write [0.8, 0.2], in CSV 0.8|0.2.")
    numbers = [_number(key, each) for each in cast("list[object]", listed)]
    return tuple(math.nan if number is None else number for number in numbers)


def _number(key: str, value: object) -> float | None:
    if value is None or value == "":
        return None
    try:
        found = float(cast(Any, value))
    except (TypeError, ValueError, OverflowError):
        found = number_of(value, Writing(dates="YYYY-MM-DD"))  # a date counts as its day
    if found - found != 0:
        raise FileError(
            f"{key} must be a finite number, or a date",
            found="something else",
            remedy="Write it as 0.5, or 1970-01-31.",
        )
    return found


# --------------------------------------------------------------------------------------------------
# Public numbers as states of a network: whole numbers one by one, or bins with the law of the numbers inside each.
# --------------------------------------------------------------------------------------------------

MOST_WHOLE_STATES = MOST_NUMBERS_APART
"""Whole numbers between two bounds that can be states one by one, and that crosstabs count one by one."""

MOST_NUMBERS_LISTED = 64
"""Whole numbers of a bin whose frequencies are written one by one."""

FREQUENCY_UNITS = 10**6
"""Frequencies are rounded to one part in so many, for a file that people read; none to nothing."""

MOST_SUM_STEPS = 1000
"""Steps of the grid to which sums round fractions: mechanisms work out laws of sums over at most so many."""

USUAL_SUM_STEPS = 500
"""Steps where bounds are no few multiples of a power of ten."""

RECORDS_ADDED = 0.5
"""What every number of a bin counts beside its public records: without it one that none has would be impossible."""


def numbers_as_states(
    known: Sequence[float], lower: float, upper: float, *, whole: bool, gaps: bool = False
) -> Integer | Binned:
    """Return the column that has public numbers as states: one by one where each has enough records, else in bins.

    Parameters
    ----------
    known : sequence of float
        The public numbers, at least one; those outside the bounds count as the bounds.
    lower, upper : float
        Whole numbers if `whole`.
    whole : bool
        Whether numbers are rounded to whole ones.
    gaps : bool
        Whether a gap is a state of its own, which is not counted.

    Examples
    --------
    >>> numbers_as_states([0.0, 1.0, 1.0], 0, 1, whole=True)
    Integer(lower=0, upper=1, missing=0)
    >>> numbers_as_states([1.0] * 50 + [2.0] * 50 + [3.0] * 50 + [4.0], 1, 4, whole=True).labels
    ('[1, 2)', '[2, 3)', '[3, 4]')
    """
    usual: dict[str, Any] = {"missing": NOT_COUNTED} if gaps else {}
    if not whole:
        inside = Counter(min(max(number, lower), upper) for number in known)
        cuts = _edges_around(point_masses(inside), inside, lower, upper) or edges(known, lower, upper)
        within = _laws_in_bins(cuts, inside)
        return Binned(tuple(cuts), within=within, steps=sum_steps(lower, upper), **usual)
    low, high = int(lower), int(upper)
    counted = Counter(math.floor(min(max(number, low), high) + 0.5) for number in known)
    ends = _whole_edges(known, counted, low, high)
    if ends is None:
        return Integer(low, high, **usual)
    return Binned(tuple(ends), within=_within(ends, counted), **usual)


def sum_steps(lower: float, upper: float) -> int:
    """Return the steps of a grid between two bounds that are round numbers wide, of at most 1,000.

    Examples
    --------
    >>> sum_steps(0, 33000), sum_steps(11, 14.9), sum_steps(0, 1 / 3)
    (660, 780, 500)
    """
    unit = power_of_ten(lower, upper)
    spread = 0.0 if unit is None else (upper - lower) / unit
    whole = round(spread)
    if not 1 <= whole <= MOST_SUM_STEPS or abs(spread - whole) > 1e-6:
        return USUAL_SUM_STEPS
    return next(whole * parts for parts in (50, 20, 10, 5, 2, 1) if whole * parts <= MOST_SUM_STEPS)


def _whole_edges(known: Sequence[float], counted: Counter[int], low: int, high: int) -> list[int] | None:
    """Return the edges of bins of whole numbers, or None where every number is a state of its own."""
    if high - low == 1:
        return None
    starts = _starts(counted, low, high) if high - low < MOST_WHOLE_STATES else []
    if len(starts) > high - low:
        return None
    if len(starts) < 2:
        around = _edges_around(point_masses(counted), counted, low, high, step=1)
        if not around:
            return sorted({int(end) for end in edges(known, low, high)})
        starts = sorted({int(end) for end in around[:-1]}) + [high] * (high in point_masses(counted))
    # the last bin holds both its edges: a number that fills it alone needs room above
    return [*starts, max(high, starts[-1] + 1)]


POINT_MASS = 0.1
"""A part of the records that makes a single number a bin of its own, beside others that lie close together."""

LEAST_TIES, LEAST_TIED_SHARE = 5, 0.005
"""Records, and a part of them, with one number: a number that comes as often is listed in the law of its bin."""


def point_masses(counted: Counter[Any]) -> list[float]:
    """Return the numbers that have much mass of their own.

    Examples
    --------
    >>> point_masses(Counter({0.0: 680, **dict.fromkeys((k / 7 for k in range(1, 321)), 1)}))
    [0.0]
    """
    enough = max(enough_records(counted.total()), POINT_MASS * counted.total())
    return sorted(number for number, times in counted.items() if times >= enough)


def _edges_around(
    points: Sequence[float], counted: Counter[Any], lower: float, upper: float, step: float = 0
) -> list[float]:
    """Return edges such that each of some numbers has a bin that no other public number is in; none without numbers.

    Such a bin goes to the next public number, or over one whole number. The others have bins by their quantiles.
    """
    if not points:
        return []
    found, unit = {lower, upper}, power_of_ten(lower, upper)
    ordered, gaps = sorted(counted), list[tuple[float, float]]()
    for point in points:
        place = ordered.index(point)
        above = point + step if step else next(iter(ordered[place + 1 :]), upper)
        # a round number will do if it lies between the two
        rounded = above if unit is None or step else float(f"{math.floor(above / unit) * unit:.12g}")
        above = rounded if point < rounded <= above else above
        below = (ordered[place - 1] + point) / 2 if point == upper and place and not step else point
        gaps.append((below, above))
        found |= {each for each in (below, above) if lower < each < upper}
    others = [number for number in counted.elements() if number not in points]
    bins = min(PUBLIC_BINS, max(1, int(len(others) / enough_records(counted.total()))))
    between = edges(others, lower, upper, bins) if others else []
    return sorted(found | {each for each in between if not any(low <= each <= high for low, high in gaps)})


def _laws_in_bins(cuts: Sequence[float], counted: Counter[Any]) -> Spread | dict[str, Inside]:
    """Return how often numbers that come often come in their bins, all others evenly."""
    frequent = _frequent(counted)
    if not frequent:
        return "uniform"
    bins = Binned(tuple(cuts), steps=1)
    held: dict[str, dict[float, int]] = {label: {} for label in bins.labels}
    for number, times in counted.items():
        held[bins.bin_of(number)][number] = times
    return {label: _mixed(numbers, frequent, "uniform") for label, numbers in held.items()}


def _frequent(counted: Counter[Any]) -> list[float]:
    enough = max(LEAST_TIES, LEAST_TIED_SHARE * counted.total())
    return sorted(number for number, times in counted.most_common(MOST_NUMBERS_LISTED) if times >= enough)


def _mixed(held: Mapping[Any, int], frequent: Sequence[float], spread: Spread) -> Inside:
    """Return the law in a bin in which some numbers are as frequent as in public, and the others spread."""
    listed = {number: held[number] for number in frequent if number in held}
    others = sum(held.values()) - sum(listed.values()) + RECORDS_ADDED
    return _in_units({**listed, spread: others}) if listed else spread


def _starts(counted: Counter[int], low: int, high: int) -> list[int]:
    """Return the first numbers of neighbours that have enough public records together."""
    enough = enough_records(counted.total())
    starts, held = [low], 0
    for number in range(low, high + 1):
        if held >= enough:
            starts.append(number)
            held = 0
        held += counted[number]
    return starts[:-1] if held < enough else starts


def _within(ends: Sequence[int], counted: Mapping[int, int]) -> Mapping[str, Inside]:
    labels = Binned(tuple(ends), within="whole numbers").labels
    held = [range(low, high) for low, high in pairwise([*ends[:-1], ends[-1] + 1])]
    return {label: _frequencies(numbers, counted) for label, numbers in zip(labels, held, strict=True)}


def _frequencies(numbers: range, counted: Mapping[int, int]) -> Inside:
    """Return how often each number of a bin comes; evenly where they are too many to be written."""
    if len(numbers) <= MOST_NUMBERS_LISTED:
        return _in_units({number: counted.get(number, 0) + RECORDS_ADDED for number in numbers})
    held = {number: times for number, times in counted.items() if number in numbers}
    return _mixed(held, _frequent(Counter(counted)), "whole numbers")


def _in_units(weights: Mapping[Any, float]) -> dict[Any, float]:
    """Return frequencies rounded to parts of a million, none to nothing."""
    total = sum(weights.values())
    units = {number: max(1, round(FREQUENCY_UNITS * weight / total)) for number, weight in weights.items()}
    units[max(units, key=units.__getitem__)] += FREQUENCY_UNITS - sum(units.values())
    return {number: share / FREQUENCY_UNITS for number, share in units.items()}


# --------------------------------------------------------------------------------------------------
# What somebody writes of a column into a field, in place of a codebook.
# --------------------------------------------------------------------------------------------------


def texts_listed(text: str) -> list[str]:
    """Return texts with commas between; one that holds a comma stands in quotes.

    Raises
    ------
    FileError

    Examples
    --------
    >>> texts_listed('yes, "no, never"')
    ['yes', 'no, never']
    """
    try:
        return [each.strip() for row in csv.reader([text], skipinitialspace=True, strict=True) for each in row]
    except csv.Error:
        raise FileError(
            "texts have commas between", found="something else", remedy='Write them as yes, no, "a, or b".'
        ) from None


def with_fact(base: Described, fact: str, text: str, read_as: str = "") -> Described:
    """Return what is known of a column with one fact more.

    Parameters
    ----------
    base : Described
    fact : {"as", "holds", "shares", "codes"}
        What the text says: how the column is read; bounds, edges of bins, or labels; how frequent each is; which
        numbers stand for a missing value.
    text : str
        With commas between.
    read_as : str
        What the column is read as: "number", "whole", "category", or another; empty for what it looks like.

    Raises
    ------
    FileError, SchemaError
        If it is no such fact, or no column can have it.

    Examples
    --------
    >>> (
    ...     with_fact(Described(), "holds", "0, 18, 90", "whole").edges,
    ...     with_fact(Described(), "holds", "no, yes").categories,
    ... )
    ((0.0, 18.0, 90.0), ('no', 'yes'))
    """
    if fact == "as":
        return replace(base, kind="integer") if text == "whole" else base
    if fact == "codes":
        return replace(base, codes=() if text.lower() == "none" else _each_number("each code", text))
    if fact == "shares":
        return replace(base, shares=_each_number("each share", text))
    texts = tuple(filter(None, texts_listed(text)))
    labelled = read_as == "category" or not (read_as or any(map(_writes_number, texts)))
    ends = () if labelled else numbers_listed("each bound", list(texts))
    if len(texts) < 2:
        raise FileError(
            "bounds are two numbers, edges of bins are more, and labels are at least two",
            found="fewer",
            remedy="Write 0, 90 or 0, 18, 65, 90 or no, yes.",
        )
    if len(ends) > 1:
        kind = base.kind if base.kind in ("real", "integer") else "real"
        inner = ends if len(ends) > 2 else ()
        made = Described(kind=kind, lower=ends[0], upper=ends[-1], edges=inner, codes=base.codes)
    else:
        made = Described(kind="categorical", categories=texts, nameless=base.nameless)
    choice("", made, None, as_states=False, public="")  # there is such a column
    return made


def _writes_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return not math.isnan(number_of(text, Writing(dates="YYYY-MM-DD")))
    return True


def _each_number(what: str, text: str) -> tuple[float, ...]:
    return numbers_listed(what, [each for each in texts_listed(text) if each])


# --------------------------------------------------------------------------------------------------
# What a column may hold, put together from a codebook and a public table; nothing of the private one.
# --------------------------------------------------------------------------------------------------

MOST_PUBLIC_CATEGORIES = 100
"""Categories of a public table that are listed one by one."""

WIDEST_WHOLE, LARGEST_WHOLE_BOUND = 2**31, 2**52
"""Bounds that are farther apart, or larger, are those of a column of fractions."""


@dataclass(frozen=True, kw_only=True)
class KnownColumn:
    """What is known of a column.

    Parameters
    ----------
    kind : str
        "real", "integer", "categorical" or "unknown".
    column : Column, optional
        None where bounds or categories are still to be declared.
    origin : str
        Where bounds, bins and categories come from, for a comment.
    """

    kind: str
    column: Column | None = None
    origin: str = ""


def choice(
    name: str,
    described: Described | None,
    values: PublicValues | None,
    *,
    as_states: bool,
    public: str,
    closed: bool = False,
) -> KnownColumn:
    """Return what is known of a column.

    Parameters
    ----------
    name : str
    described : Described, optional
        What the codebook says.
    values : sequence, optional
        The column of a public table.
    as_states : bool
        Whether numbers are to be put into bins and rare categories together, as states of a network.
    public : str
        What the public table is called.
    closed : bool
        Whether the states of a given network leave no room for labels that the public table lacks.

    Raises
    ------
    DataError
        If codebook and public table contradict each other.
    """
    said = described or Described()
    values = None if values is None or all(value is None for value in values) else values
    kind = _kind(name, said, values)
    if kind == "categorical":
        return _labelled(said, values, as_states=as_states, public=public, closed=closed)
    if kind == "unknown":
        return KnownColumn(kind=kind)
    if said.edges:
        ends = said.edges
        whole = kind == "integer"
        column = Binned(ends, within="whole numbers") if whole else Binned(ends, steps=sum_steps(ends[0], ends[-1]))
        return KnownColumn(kind="binned", column=column, origin="the codebook")
    return _numbers(kind, said, values, as_states=as_states, public=public)


def _kind(name: str, said: Described, values: PublicValues | None) -> str:
    numeric = values is not None and is_numeric(values)
    if said.kind == "unknown" and values is not None:
        return "real" if numeric else "categorical"
    if said.kind in ("real", "integer") and values is not None and not numeric:
        raise DataError(
            f"the column {name!r} must hold numbers in the public table, as it is declared",
            found="texts",
            remedy="Correct the codebook, or give another public table.",
        )
    return said.kind


def _numbers(kind: str, said: Described, values: PublicValues | None, *, as_states: bool, public: str) -> KnownColumn:
    known = [value for value in values or () if isinstance(value, float)]
    finite = [value for value in known if math.isfinite(value)]
    if finite and kind == "real" and all(value.is_integer() for value in finite):
        kind = "integer"
    low, high = bounds(finite) if finite else (None, None)
    lower, upper = low if said.lower is None else said.lower, high if said.upper is None else said.upper
    if lower is None or upper is None:
        return KnownColumn(kind=kind)
    if not lower < upper:
        raise FileError(
            "the codebook's bound must leave room for the public table", found="none", remedy="Correct the codebook."
        )
    whole = kind == "integer" and _are_whole(lower, upper)
    origin = "the codebook" if said.lower is not None and said.upper is not None else public
    if as_states and known:
        # others than the columns where the public table has gaps keep their sums and means
        column = numbers_as_states(known, lower, upper, whole=whole, gaps=len(known) < len(values or ()))
        how = "a state for each number" if isinstance(column, Integer) else f"bins by {public}"
        return KnownColumn(kind="binned", column=column, origin=origin if origin == public else f"{origin}; {how}")
    return KnownColumn(
        kind=kind, column=Integer(int(lower), int(upper)) if whole else Real(lower, upper), origin=origin
    )


def _are_whole(lower: float, upper: float) -> bool:
    ends = lower == int(lower) and upper == int(upper)
    return ends and upper - lower < WIDEST_WHOLE and max(abs(lower), abs(upper)) < LARGEST_WHOLE_BOUND


def _labelled(
    said: Described, values: PublicValues | None, *, as_states: bool, public: str, closed: bool
) -> KnownColumn:
    listed = said.categories
    if values is None or (listed and not as_states):
        column = Categorical(listed, coarsen=_full_stops(listed, dotted=said.nameless)) if listed else None
        return KnownColumn(kind="categorical", column=column, origin="the codebook" if listed else "")
    texts = _labels(values, listed)
    held = {spelled(each, listed) for each in texts if each is not None}
    rare = as_states or len(held) > MOST_PUBLIC_CATEGORIES
    kept = list(common_categories(texts, listed)) if rare else sorted(held - {OTHER_LABEL})
    # no public table has all labels that a private one may have: only a codebook, or a network, closes the list
    closed = closed or bool(listed and set(kept) == {*held, *listed} and None not in texts)
    other = OTHER_LABEL if OTHER_LABEL not in map(str.casefold, kept) else ANY_OTHER_LABEL
    labels = kept if closed and kept else [*kept, other]
    spelt = _full_stops(kept, dotted=said.nameless or all(each is None or each.endswith(".") for each in texts))
    column = Categorical(labels, coarsen=spelt, missing=labels[-1 if labels[-1] == other else 0])
    if as_states and None in texts and NOT_COUNTED not in held:
        column = _with_gaps(kept, other, spelt, [*filter(None, texts), *listed]) or column
    origin = f"the codebook, and frequencies of {public}" if listed else public
    return KnownColumn(kind="categorical", column=column, origin=origin)


def _with_gaps(
    kept: Sequence[str], other: str, spelt: Mapping[Category, Sequence[Category]], texts: Iterable[str]
) -> Categorical | None:
    """Return categories beside which a gap is not counted; None where too many labels are rare to be listed.

    A label that nothing public has may be a known one misspelt, and is like a gap; so rare ones are listed.
    """
    known = {*kept, *(each for several in spelt.values() for each in several)}
    rare = sorted({each for each in texts if each not in known and spelled(each, kept) not in kept})
    if len(rare) > MOST_PUBLIC_CATEGORIES:
        return None
    coarsen = {**spelt, other: rare} if rare else spelt
    return Categorical([*kept, other] if rare else kept, coarsen=coarsen, missing=NOT_COUNTED)


def _full_stops(labels: Sequence[str], *, dotted: bool) -> dict[Category, Sequence[Category]]:
    """Return other spellings of the labels that end lines: in some files with a full stop, in others without."""
    spelt = {label: label[:-1] if label.endswith(".") else f"{label}." for label in labels if dotted}
    return {label: [other] for label, other in spelt.items() if other and other not in labels}


def _labels(values: PublicValues, listed: Sequence[str]) -> list[str | None]:
    """Return values as labels: numbers as the one that writes them, as a release reads them, where there is one."""
    read = categories(values, Categorical(listed)) if listed else [None] * len(values)
    return [
        value if value is None or isinstance(value, str) else f"{value:.15g}" if label is None else str(label)
        for value, label in zip(values, read, strict=True)
    ]


def node_states(column: Column) -> tuple[str, ...]:
    """Return the states that a node has for a column: its bins, its categories, or few whole numbers; else none.

    Examples
    --------
    >>> node_states(Integer(0, 2)), node_states(Real(0, 2))
    (('0', '1', '2'), ())
    """
    if isinstance(column, Binned):
        return column.outcomes
    if isinstance(column, Categorical):
        return tuple(map(str, column.outcomes))
    few = isinstance(column, Integer) and column.steps < MOST_WHOLE_STATES
    gap = (NOT_COUNTED,) if few and has_gaps(column) else ()
    return (*map(str, range(int(column.lower), int(column.upper) + 1)), *gap) if few else ()


def states_of(column: Column, values: PublicValues) -> list[str]:
    """Return the state of the network in which each public record is.

    Examples
    --------
    >>> states_of(Categorical(["a", "other"], missing="other"), ["a", "b", None])
    ['a', 'other', 'other']
    >>> states_of(Integer(0, 2), [1.0, 7.0, None])
    ['1', '2', '1']
    """
    if not isinstance(column, Categorical):
        return [_state(column, fill_of(column) if not isinstance(value, float) else value) for value in values]
    known = [str(each) for each in column.categories]
    counted = {str(label): str(category) for label, category in column.labels.items()}
    found = [spelled(each, known) if each is not None else "" for each in _labels(values, known)]
    return [counted.get(each, str(column.missing)) for each in found]


def _state(column: NumberColumn, number: float) -> str:
    """Return the state of a number, or of the mark of a gap."""
    if number == GAP_MARK and has_gaps(column):
        return NOT_COUNTED
    inside = min(max(number, column.lower), column.upper)
    return column.bin_of(inside) if isinstance(column, Binned) else str(math.floor(inside + 0.5))
