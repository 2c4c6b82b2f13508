"""How a table differs from what is declared of it, with counts and values: for its owner alone."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, cast

import narwhals as nw

from bnpriv.checks import listing
from bnpriv.core.columns import Categorical
from bnpriv.core.schema import Column, NumberColumn, Schema, fill_of, has_gaps, require_schema
from bnpriv.render.as_text import PRINTED_WIDTH, inline
from bnpriv.render.document import Block, Cell, Code, Document, Items, Name, Paragraph, Section, Strong, Table, Text
from bnpriv.shown import Shown
from bnpriv.tables.evaluate import guarded, row_count
from bnpriv.tables.files import is_csv, is_sqlite
from bnpriv.tables.reader import chosen, collected, opened, source
from bnpriv.tables.readings import (
    FIRST_DAY,
    PLAIN,
    Dialect,
    Frame,
    Writing,
    categories,
    constants,
    day_text,
    dialect_of,
    number,
    over_partitions,
    suspected_codes,
)
from bnpriv.text import shorten, visible

# --------------------------------------------------------------------------------------------------
# What a column of a private table of any engine holds: how many values are outside, missing or unknown, and which.
# --------------------------------------------------------------------------------------------------

Label = tuple[str, object]
"""The type of a value and the value: True is not 1 here."""


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
    ends : mapping from float to int
        Numbers with their rows: all of them, or the least and the largest ones.
    """

    kinds: frozenset[str]
    rows: int = 0
    empty: int = 0
    below: int = 0
    above: int = 0
    fractions: int = 0
    unknown: Mapping[Label, int] = field(default_factory=Counter[Label])
    ends: Mapping[float, int] = field(default_factory=Counter[float])

    def __add__(self, other: ColumnTally) -> ColumnTally:
        return ColumnTally(
            self.kinds | other.kinds,
            self.rows + other.rows,
            self.empty + other.empty,
            self.below + other.below,
            self.above + other.above,
            self.fractions + other.fractions,
            Counter(self.unknown) + Counter(other.unknown),
            Counter(self.ends) + Counter(other.ends),
        )


def tally(data: object, name: str, column: Column, dialect: Dialect = PLAIN) -> ColumnTally:
    """Return what a column of a table holds."""
    return sum(over_partitions(data, partial(_part, name, column, dialect)), ColumnTally(frozenset()))


def _names(separator: str, data: object) -> list[str]:
    """Return the names of the columns of a table, as the table gives them."""
    with source(data, (), separator) as (_, names):
        return list(names)


def _part(name: str, column: Column, dialect: Dialect, data: object) -> ColumnTally:
    with source(data, [name], dialect.separator) as (frame, names):
        raw = chosen(frame, names, [name])
        dtype = raw.collect_schema()["c0"]
        if not isinstance(column, Categorical) and dtype.is_numeric():
            return _numbers(name, column, data, str(dtype), dialect)
        return _values(column, _counted(raw), str(dtype), dialect.of(name))


MOST_ENDS = 40
"""Least and largest numbers of a column among which codes for missing values are looked for."""


def _numbers(name: str, column: NumberColumn, data: object, kind: str, dialect: Dialect) -> ColumnTally:
    """Count by expressions what may be many different numbers."""
    with opened(data, {name: column}, dialect=dialect) as frame:
        value, constant = nw.col("c0"), constants(frame.implementation)
        tests = {
            "empty": value.is_null(),
            "below": value < constant(float(column.lower)),
            "above": value > constant(float(column.upper)),
            "fractions": ~value.is_null() & (value != value.floor()),
        }
        sums = (test.cast(nw.Int64).sum().alias(what) for what, test in tests.items())
        rows, *found = collected(frame.select(nw.len().alias("rows"), *sums)).row(0)
        each = frame.filter(~value.is_null()).group_by("c0").agg(nw.len().alias("rows"))
        ends = [collected(each.sort("c0", descending=down).head(MOST_ENDS)) for down in (False, True)]
    empty, below, above, fractions = (int(each or 0) for each in found)
    seen = {float(number): int(times) for end in ends for number, times in end.select("c0", "rows").rows()}
    fractions = fractions if column.whole else 0
    return ColumnTally(frozenset({kind}), int(rows), empty, below, above, fractions, ends=seen)


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


def _values(column: Column, found: Counter[Label], kind: str, writing: Writing) -> ColumnTally:
    empty = found.pop(("", None), 0)
    rows = empty + sum(found.values())
    labels = list(found)
    if isinstance(column, Categorical):
        read = categories([value for _, value in labels], column)
        unknown = {label: found[label] for label, category in zip(labels, read, strict=True) if category is None}
        return ColumnTally(frozenset({kind}), rows, empty, unknown=Counter(unknown))
    read = {label: number(label[1], writing._replace(codes=())) for label in labels}
    numbers = {label: x for label, x in read.items() if x not in writing.codes}
    coded = sum(found[label] for label, x in read.items() if x in writing.codes)
    known = {label: x for label, x in numbers.items() if x == x}
    ends: Counter[float] = Counter()
    for label, x in known.items():
        ends[x] += found[label]
    return ColumnTally(
        frozenset({kind}),
        rows,
        empty + coded,
        sum(found[label] for label, x in known.items() if x < column.lower),
        sum(found[label] for label, x in known.items() if x > column.upper),
        sum(found[label] for label, x in known.items() if column.whole and math.isfinite(x) and not x.is_integer()),
        Counter({label: found[label] for label, x in numbers.items() if x != x}),
        ends,
    )


LEAST_ROWS = 30
"""Rows from which on a number can be told to be far from all others."""

MOST_LISTED_LABELS = 20
"""Unknown labels of a column that are listed, the most frequent first."""

MOST_LABEL_LETTERS = 60

MOST_EXTRA_COLUMNS = 30

PROBLEMS_PRINTED = 4
"""Problems that are printed, those of the most rows first."""

WARNING = "This shows values of the table itself, without any noise. No release depends on it."


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One way in which a table differs from what is declared.

    Parameters
    ----------
    column : str
        "" for the whole table.
    problem : str
        What it is, in words.
    rows : int
        How many rows.
    remedy : str
        What to do.
    values : tuple of (str, int)
        Unknown labels with their rows, the most frequent first; all steering signs are spelled out.
    more : tuple of int
        How many further labels there are, and their rows.
    """

    column: str
    problem: str
    rows: int
    remedy: str
    values: tuple[tuple[str, int], ...] = ()
    more: tuple[int, int] = (0, 0)


@dataclass(frozen=True, kw_only=True)
class DataCheck(Shown):
    """How a table differs from what is declared of it. NOT FOR PUBLICATION.

    Parameters
    ----------
    findings : tuple of Finding
        Empty if all is well.
    records, rows : int
        The declared number of rows, and that of the table.
    kinds : mapping from str to str
        The type of every declared column that the table has, as its engine calls it; none where columns have no types,
        as in CSV files and SQLite.
    extra : tuple of str
        Columns of the table that are not declared, which no query reads.
    """

    findings: tuple[Finding, ...]
    records: int
    rows: int
    kinds: Mapping[str, str]
    extra: tuple[str, ...]

    @property
    def is_well(self) -> bool:
        """Whether the table is as it is declared."""
        return not self.findings

    @property
    def document(self) -> Document:
        """Return all of it, with the warning first."""
        count = len(self.findings)
        found = (
            "the table is as declared" if self.is_well else f"{count} {'problem' if count == 1 else 'problems'} found"
        )
        return Document(
            kind="data check",
            kicker="bnpriv check: NOT FOR PUBLICATION",
            title="Check of private data: NOT FOR PUBLICATION",
            headline=f"NOT FOR PUBLICATION: {found}",
            verdict="as declared" if self.is_well else "differs",
            tone="good" if self.is_well else "poor",
            lead=WARNING,
            short=(
                f"Rows: {self.rows:,}; declared: {self.records:,}.",
                *map(_line, sorted(self.findings, key=lambda each: -(each.rows or math.inf))[:PROBLEMS_PRINTED]),
                *((f"and {more:,} more",) if (more := count - PROBLEMS_PRINTED) > 0 else ()),
                "Next: bp.plan(framework, query, epsilon)." if self.is_well else "Next: .explain() or --full: all.",
            ),
            number=f"{count}",
            answer=tuple(self._blocks()),
            sections=(Section(title="Columns", blocks=tuple(self._columns()), explained=True),),
            data=self._data(),
        )

    def _blocks(self) -> Iterator[Block]:
        if self.findings:
            yield Items(tuple(_told(each) for each in self.findings))
        for each in self.findings:
            if each.values:
                left, rows = each.more
                yield Table(
                    caption=f"{visible(each.column)}: {each.problem}",
                    header=("value", "rows"),
                    rows=[((Code(value),), f"{number:,}") for value, number in each.values],
                    numbers=(1,),
                    more=f"{left:,} more values in {rows:,} rows" if left else "",
                )

    def _columns(self) -> Iterator[Block]:
        yield Paragraph(f"Rows: {self.rows:,}; declared: {self.records:,}.")
        if self.kinds:
            yield Table(
                caption="The types that the engine gives the declared columns",
                header=("column", "type"),
                rows=[((Name(name),), Cell(visible(kind))) for name, kind in self.kinds.items()],
            )
        if self.extra:
            shown = ", ".join(visible(name)[:MOST_LABEL_LETTERS] for name in self.extra[:MOST_EXTRA_COLUMNS])
            left = len(self.extra) - MOST_EXTRA_COLUMNS
            more = f" and {left:,} more" if left > 0 else ""
            yield Paragraph(f"Columns that are not declared, which no query reads: {shown}{more}.")

    def _data(self) -> dict[str, object]:
        return {
            "not_for_publication": True,
            "well": self.is_well,
            "rows": self.rows,
            "records": self.records,
            "types": dict(self.kinds),
            "extra": list(self.extra),
            "findings": [
                {
                    "column": each.column,
                    "problem": each.problem,
                    "rows": each.rows,
                    "remedy": each.remedy,
                    "values": [{"value": value, "rows": rows} for value, rows in each.values],
                    "more_values": each.more[0],
                    "more_rows": each.more[1],
                }
                for each in self.findings
            ],
        }


def check_data(declared: object, data: object) -> DataCheck:
    """Compare a private table with what is declared of it: NOT FOR PUBLICATION.

    It shows values of the table and exact counts, so it is for whoever owns the table, and for nobody else: neither its
    result nor what is changed because of it may be published. Declare bounds and categories from public knowledge; a
    value outside them counts as the nearest bound, an unknown label as missing. Releases do not depend on it.

    Parameters
    ----------
    declared : Framework or Schema
        What is declared.
    data : table, str or path
        Whatever `bnpriv.release` takes.

    Returns
    -------
    DataCheck
        Labels and values that are not declared, values outside bounds, missing ones, the number of rows, types, columns
        that are missing or not declared; with what to do. `is_well` says whether nothing was found.

    Raises
    ------
    SchemaError
        If nothing is declared.
    DataError, FileError
        If the data are no table or cannot be read; never with a value.

    Examples
    --------
    >>> import pandas as pd
    >>> import bnpriv as bp
    >>> schema = bp.Schema(records=3, columns={"sex": bp.Categorical(["f", "m"]), "age": bp.Integer(0, 120)})
    >>> found = bp.check_data(schema, pd.DataFrame({"sex": ["f", "x", "m"], "age": [17, 130, 20]}))
    >>> found.is_well
    False
    >>> [(each.column, each.problem, each.rows) for each in found.findings]
    [('sex', 'labels that are not declared', 1), ('age', 'above the upper bound 120', 1)]
    """
    schema = (
        cast(Any, declared).schema if hasattr(declared, "schema") and not isinstance(declared, Schema) else declared
    )
    require_schema(schema)
    return guarded(data, lambda: _checked(cast(Schema, schema), data))


def _checked(schema: Schema, data: object) -> DataCheck:
    dialect = dialect_of(schema)
    names = Counter(over_partitions(data, partial(_names, dialect.separator))[0])
    found: list[Finding] = []
    kinds: dict[str, str] = {}
    rows = row_count((), data, dialect.separator)
    # a CSV file holds texts, and SQLite types each value by itself: what the engine says of their columns tells nothing
    typed = not is_csv(data) and not is_sqlite(data)
    for name, column in schema.columns.items():
        if names[name] != 1:
            found.append(_absent(name, names))
            continue
        held = tally(data, name, column, dialect)
        if typed:
            kinds[name] = ", ".join(sorted(held.kinds))
        found += _numbers_outside(name, column, held, dialect.of(name).dates)
        found += _missing(name, column, held.empty)
        found += _codes(name, held.ends, dialect.of(name).dates)
        found += _unknown(name, column, held.unknown, dialect.of(name).dates)
    if rows != schema.records:
        found.insert(0, _count(rows, schema.records))
    extra = tuple(name for name in names if name not in schema.columns)
    return DataCheck(findings=tuple(found), records=schema.records, rows=rows, kinds=kinds, extra=extra)


def _told(finding: Finding) -> Text:
    where = (Strong(visible(finding.column)), ": ") if finding.column else ()
    rows = "" if not finding.rows else f" ({'1 row' if finding.rows == 1 else f'{finding.rows:,} rows'})"
    return (*where, f"{finding.problem}{rows}. {finding.remedy}")


def _line(finding: Finding) -> str:
    """A finding in one line: with what to do if that has room."""
    whole = inline(_told(finding))
    return whole if len(whole) <= PRINTED_WIDTH else shorten(whole.removesuffix(f" {finding.remedy}"), PRINTED_WIDTH)


def _count(rows: int, records: int) -> Finding:
    return Finding(
        column="",
        problem=f"another number of rows than the {records:,} that are declared",
        rows=rows,
        remedy="Check which table is meant, or declare the public number of records.",
    )


def _absent(name: str, names: Counter[str]) -> Finding:
    near = [each for each in names if _plain(each) == _plain(name)]
    if names[name] > 1:
        return Finding(column=name, problem="there are several columns of that name", rows=0, remedy="Rename them.")
    remedy = f"Is it {_shown(near[0])}? Give both one name." if near else "Add it, or leave it out of the schema."
    return Finding(column=name, problem="the table has no such column", rows=0, remedy=remedy)


def _plain(text: str) -> str:
    return "".join(text.split()).casefold()


def _numbers_outside(name: str, column: Column, held: Any, dates: str) -> Iterator[Finding]:
    if isinstance(column, Categorical):
        return
    ends = column.lower, column.upper
    low, high = (day_text(end) if dates and abs(end) < FIRST_DAY else f"{end:g}" for end in ends)
    remedy = "It counts as that bound. Wider bounds, from public knowledge alone, keep it as it is."
    if held.below:
        yield Finding(column=name, problem=f"below the lower bound {low}", rows=held.below, remedy=remedy)
    if held.above:
        yield Finding(column=name, problem=f"above the upper bound {high}", rows=held.above, remedy=remedy)
    if held.fractions:
        remedy = "They are rounded to the nearest whole number; declare Real for fractions."
        yield Finding(column=name, problem="fractions in a column of whole numbers", rows=held.fractions, remedy=remedy)


def _missing(name: str, column: Column, rows: int) -> Iterator[Finding]:
    if rows:
        counted = f"They count as {visible(str(column.missing))}; declare missing= if another value suits better."
        remedy = _uncounted("They", column) or counted
        yield Finding(column=name, problem="missing values", rows=rows, remedy=remedy)


def _uncounted(what: str, column: Column) -> str:
    """Return that gaps are not counted, empty where they are."""
    return f"{what} are not counted: no condition on the column holds for them." if has_gaps(column) else ""


def _codes(name: str, ends: Mapping[float, int], dates: str) -> Iterator[Finding]:
    """Tell numbers that look like codes for a missing value, and count as numbers."""
    codes = suspected_codes(ends, dates=bool(dates))
    if codes and sum(ends.values()) >= LEAST_ROWS:
        shown = listing(day_text(code) if dates else f"{code:.15g}" for code in codes)
        yield Finding(
            column=name,
            problem=f"far from all other values, which looks like a code for a missing one: {shown}",
            rows=sum(ends[code] for code in codes),
            remedy="It counts as a number. If it is public knowledge that it is a code, declare missing_codes.",
        )


def _unknown(name: str, column: Column, unknown: Mapping[tuple[str, object], int], dates: str) -> Iterator[Finding]:
    known = [str(label) for label in column.labels] if isinstance(column, Categorical) else []
    plain = {_plain(label) for label in known}
    close = {each: rows for each, rows in unknown.items() if isinstance(each[1], str) and _plain(each[1]) in plain}
    other = {label: rows for label, rows in unknown.items() if label not in close}
    missing = _uncounted("They are missing, and", column)
    if isinstance(column, Categorical):
        missing = missing or f"They count as missing, {visible(str(column.missing))}."
        remedy = f"{missing} Declare them, or as coarsen= of a category."
        yield from _listed(name, "labels that are not declared", other, remedy)
        given = {_plain(str(label[1])) for label in close}
        meant = next((each for each in known if _plain(each) in given), "")
        remedy = (
            "They count as missing. Write them as they are declared, or add them to coarsen=, such as "
            f"coarsen={{{visible(meant)!r}: [...]}}."
        )
        yield from _listed(name, "labels that differ from a declared one by blanks or case alone", close, remedy)
        return
    what = f"values that are no dates as {dates}" if dates else "values that are no numbers"
    missing = missing or f"They count as missing, {fill_of(column):g}."
    yield from _listed(name, what, other, missing)


def _listed(name: str, problem: str, found: Mapping[tuple[str, object], int], remedy: str) -> Iterator[Finding]:
    if not found:
        return
    ordered = sorted(found.items(), key=lambda each: (-each[1], str(each[0])))
    values = tuple((_shown(value), rows) for (_, value), rows in ordered[:MOST_LISTED_LABELS])
    rest = ordered[MOST_LISTED_LABELS:]
    yield Finding(
        column=name,
        problem=problem,
        rows=sum(found.values()),
        remedy=remedy,
        values=values,
        more=(len(rest), sum(rows for _, rows in rest)),
    )


def _shown(value: object) -> str:
    """Return a value between quotes, short, and with everything visible that could steer a terminal."""
    text = visible(value if isinstance(value, str) else repr(value))
    cut = text if len(text) <= MOST_LABEL_LETTERS else f"{text[:MOST_LABEL_LETTERS]}..."
    return f'"{cut}"' if isinstance(value, str) else cut
