"""The public facts about a table: how many records, which columns, and what each column may hold.

Bounds are declared, never read off the data. A value that is missing (null, NaN or a category that was not declared)
counts as the column's `missing` value; a value outside the bounds counts as the nearest bound.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from fractions import Fraction
from numbers import Integral
from typing import cast, final

from bnpriv import checks
from bnpriv.errors import SchemaError
from bnpriv.render import Document, HasCard
from bnpriv.render.document import Name, Table
from bnpriv.tables.readonly import ReadOnly

Category = str | int | bool

State = Category | float
"""A state of an attribute of a network."""

MOST_RECORDS = 2**62
LARGEST_BOUND = 2.0**100
LEAST_GRID = 2.0**-1000

MOST_LISTED = 12
"""Categories of a column that are named where it is shown."""


def decimal(number: float) -> Fraction:
    """Return the number for which a double was written: itself if it is whole, else the shortest decimal read as it.

    So weights and bounds that were declared as .1, .2 and .3 add up as they do on paper, and sums of them meet.

    Examples
    --------
    >>> decimal(0.1) + decimal(0.2) == decimal(0.3)
    True
    """
    return Fraction(int(number)) if number.is_integer() else Fraction(repr(float(number)))


@final
@dataclass(frozen=True)
class Real:
    """A column of numbers between two bounds, rounded to a public grid where it is summed.

    Parameters
    ----------
    lower, upper : float
        Bounds in the column's own unit; values outside count as the nearest bound.
    missing : float, optional
        What a missing value counts as; the middle of the bounds by default.
    steps : int
        The grid has ``steps`` steps of width ``(upper - lower) / steps``.

    Raises
    ------
    SchemaError
        If the bounds are missing, not finite, huge, equal or inverted, or `missing` lies outside them, or the grid is
        finer than doubles are.

    Examples
    --------
    >>> Real(120, 220).missing
    170.0
    """

    lower: float
    upper: float
    missing: float | None = field(default=None, kw_only=True)
    steps: int = field(default=2**20, kw_only=True)

    def __post_init__(self) -> None:
        lower, upper = _bounds(self.lower, self.upper)
        missing = (lower + upper) / 2 if self.missing is None else _inside("missing", self.missing, lower, upper)
        object.__setattr__(self, "lower", lower)
        object.__setattr__(self, "upper", upper)
        object.__setattr__(self, "missing", missing)
        object.__setattr__(self, "steps", checks.whole("steps", self.steps, error=SchemaError))
        if not self.steps <= 2**31:
            raise SchemaError(
                "a grid may have at most 2^31 steps", found=checks.shown(self.steps), remedy="Use a coarser grid."
            )
        if not float(self.grid) >= LEAST_GRID:
            raise SchemaError(
                "a step of the grid must be at least 2^-1000 wide",
                found=f"bounds {lower:g} and {upper:g}",
                remedy="Measure the column in a smaller unit.",
            )

    @property
    def grid(self) -> Fraction:
        """Return the exact width of one step."""
        return (decimal(self.upper) - decimal(self.lower)) / self.steps

    @property
    def origin(self) -> Fraction:
        """Return the exact number that stands for step 0: the lower bound."""
        return decimal(self.lower)

    @property
    def rate(self) -> float:
        """Return the steps per unit, as the double that every engine multiplies by."""
        return self.steps / (self.upper - self.lower)

    def step(self, x: float) -> int:
        """Return the grid step of a value inside the bounds: the reference that every engine agrees with.

        ``floor((x - lower) * rate + 0.5)`` in doubles, each operation rounded once. It never decreases in `x`, is 0 at
        the lower bound and `steps` at the upper one. (Not a division: Polars divides by multiplying with the inverse.)

        Examples
        --------
        >>> Real(120, 220).step(170.0) == 2**19
        True
        """
        return math.floor((x - self.lower) * self.rate + 0.5)


@final
@dataclass(frozen=True)
class Integer:
    """A column of whole numbers between two bounds.

    Parameters
    ----------
    lower, upper : int
        Bounds; values outside count as the nearest bound, fractions are rounded to the nearest whole number.
    missing : int, optional
        What a missing value counts as; the middle of the bounds, rounded down, by default.

    Raises
    ------
    SchemaError
        If the bounds are missing, not whole, equal or inverted, or `missing` lies outside them.

    Examples
    --------
    >>> Integer(0, 121).missing
    60
    """

    lower: int
    upper: int
    missing: int | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        lower, upper = _bounds(self.lower, self.upper)
        if not (lower.is_integer() and upper.is_integer()):
            raise SchemaError(
                "the bounds of an Integer column must be whole numbers",
                found=f"{lower:g} and {upper:g}",
                remedy="Use Real for a column of fractions.",
            )
        if not upper - lower <= 2**31 or not max(abs(lower), abs(upper)) <= 2**52:
            raise SchemaError(
                "the bounds of an Integer column must be at most 2^31 apart and 2^52 large",
                found=f"{lower:g} and {upper:g}",
                remedy="Use Real, which rounds to a grid.",
            )
        middle = int((lower + upper) // 2)
        missing = middle if self.missing is None else _inside("missing", self.missing, lower, upper)
        if not missing == int(missing):
            raise SchemaError(
                "missing must be a whole number in an Integer column", found=f"{missing:g}", remedy="Round it."
            )
        object.__setattr__(self, "lower", int(lower))
        object.__setattr__(self, "upper", int(upper))
        object.__setattr__(self, "missing", int(missing))

    @property
    def steps(self) -> int:
        """Return the number of steps of width 1 between the bounds."""
        return self.upper - self.lower

    @property
    def grid(self) -> Fraction:
        """Return the exact width of one step."""
        return Fraction(1)

    @property
    def origin(self) -> Fraction:
        """Return the exact number that stands for step 0: the lower bound."""
        return Fraction(self.lower)

    def step(self, x: float) -> int:
        """Return the grid step of a value inside the bounds: ``floor(x + 0.5) - lower``; conditions read the same.

        Examples
        --------
        >>> Integer(0, 120).step(17.5)
        18
        """
        return math.floor(x + 0.5) - self.lower


@final
@dataclass(frozen=True)
class Categorical:
    """A column of declared categories.

    Parameters
    ----------
    categories : sequence of str, int or bool
        All values that count; anything else is missing.
    missing : str, int or bool, optional
        What a missing value counts as; the first category by default.

    Raises
    ------
    SchemaError
        If there is no category, one is repeated, they are of several types or in no order, or `missing` is none of
        them.

    Examples
    --------
    >>> Categorical(["f", "m"]).missing
    'f'
    """

    categories: Sequence[Category]
    missing: Category | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        categories = _listed(self.categories)
        if len({type(value) for value in categories}) > 1 or not isinstance(categories[0], (str, int, bool)):
            raise SchemaError(
                "categories must all be strings, all whole numbers, or all booleans",
                found=checks.listing(sorted({type(value).__name__ for value in categories})),
                remedy="Use Real for fractions; convert mixed categories to strings.",
            )
        if len(set(categories)) != len(categories):
            raise SchemaError("categories must be distinct", found=checks.listing(categories), remedy="List each once.")
        missing = categories[0] if self.missing is None else _plain(self.missing)
        if missing not in categories or type(missing) is not type(categories[0]):
            raise SchemaError(
                "missing must be one of the categories", found=repr(missing), remedy="Choose one, or add a category."
            )
        object.__setattr__(self, "categories", categories)
        object.__setattr__(self, "missing", missing)


Column = Real | Integer | Categorical


@final
@dataclass(frozen=True)
class Schema(HasCard):
    """The number of records of a table and the columns that a query may read.

    Parameters
    ----------
    records : int
        Number of rows, a public fact.
    columns : mapping from str to Real, Integer or Categorical
        What each column may hold; kept as a copy that is read-only.

    Raises
    ------
    SchemaError
        If there is no record or no column.

    Examples
    --------
    >>> schema = Schema(records=100, columns={"height": Real(120, 220), "gender": Categorical(["f", "m"])})
    >>> schema["height"].upper
    220.0
    """

    records: int
    columns: Mapping[str, Column]

    def __post_init__(self) -> None:
        records = checks.whole("records", self.records, error=SchemaError, remedy="Declare the number of rows.")
        if not records <= MOST_RECORDS:
            raise SchemaError(f"records must be at most {MOST_RECORDS}", found=checks.shown(records), remedy="Check.")
        object.__setattr__(self, "records", records)
        if not isinstance(self.columns, Mapping) or not self.columns:
            found = "none" if isinstance(self.columns, Mapping) else checks.type_text(self.columns)
            raise SchemaError(
                "a schema needs a mapping from names to columns", found=found, remedy="Declare the queried columns."
            )
        object.__setattr__(self, "columns", ReadOnly(self.columns))
        for name, column in self.columns.items():
            checks.text("a column's name", name, error=SchemaError)
            if not isinstance(column, (Real, Integer, Categorical)):
                raise SchemaError(
                    f"the column {name!r} must be Real, Integer or Categorical",
                    found=checks.type_text(column),
                    remedy="Write Real(lower, upper), Integer(lower, upper) or Categorical([...]).",
                )

    def __getitem__(self, name: str) -> Column:
        """Return the column `name`.

        Raises
        ------
        SchemaError
            If it is not declared.
        """
        checks.member("a column", name, self.columns, error=SchemaError)
        return self.columns[name]

    def __hash__(self) -> int:
        return hash((self.records, frozenset(self.columns.items())))

    @property
    def document(self) -> Document:
        """Return the columns with what each may hold."""
        described = {name: _described(column) for name, column in self.columns.items()}
        columns = "1 column" if len(described) == 1 else f"{len(described):,} columns"
        table = Table(
            caption="What each column may hold, and what a missing value counts as",
            header=("column", "type", "values", "missing counts as"),
            rows=[((Name(name),), *each) for name, each in described.items()],
        )
        data = {name: dict(zip(("type", "values", "missing"), each, strict=True)) for name, each in described.items()}
        return Document(
            kind="schema",
            kicker="bnpriv schema",
            headline=f"{self.records:,} records of {columns}",
            answer=(table,),
            data={"records": self.records, "columns": data},
        )


def _described(column: Column) -> tuple[str, str, str]:
    kind = type(column).__name__
    if not isinstance(column, Categorical):
        return kind, f"{column.lower:,.10g} to {column.upper:,.10g}", f"{column.missing:,.10g}"
    shown = ", ".join(map(str, column.categories[:MOST_LISTED]))
    left = len(column.categories) - MOST_LISTED
    return kind, f"{shown} and {left} more" if left > 0 else shown, str(column.missing)


def require_schema(value: object) -> None:
    """Refuse what is no schema, and say what to write.

    Raises
    ------
    SchemaError
        If it is none.

    Examples
    --------
    >>> require_schema({"height": Real(120, 220)})
    Traceback (most recent call last):
    bnpriv.errors.SchemaError: a schema is needed; found a dict. Write Schema(records=1000, columns={...}).
    """
    if isinstance(value, Schema):
        return
    remedy = "Write Schema(records=1000, columns={...})."
    if hasattr(value, "schema"):
        remedy = "Pass the schema of the framework, framework.schema."
    elif hasattr(value, "columns"):
        remedy = f"Declare it from public knowledge, never from the data. {remedy}"
    raise SchemaError("a schema is needed", found=checks.type_text(value), remedy=remedy)


def _listed(categories: object) -> tuple[Category, ...]:
    """Return categories in their order; a set has none, and its first one would differ from run to run."""
    found = checks.type_text(categories)
    if isinstance(categories, (str, bytes, Mapping, Set)) or not isinstance(categories, Iterable):
        raise SchemaError("a Categorical column needs a list of categories", found=found, remedy="List them.")
    listed = tuple(_plain(value) for value in cast("Iterable[Category]", categories))
    if not listed:
        raise SchemaError("a Categorical column needs a category", found="an empty list", remedy="List them.")
    return listed


def _plain(value: Category) -> Category:
    """Turn the scalars of NumPy into Python's, so that categories and constants compare by type."""
    if isinstance(value, str):
        return str(value)
    return int(value) if isinstance(value, Integral) and not isinstance(value, bool) else value


def _bounds(lower: object, upper: object) -> tuple[float, float]:
    remedy = "Declare bounds from public knowledge of the column, never from the data."
    low = checks.number("the lower bound", lower, error=SchemaError, remedy=remedy)
    high = checks.number("the upper bound", upper, error=SchemaError, remedy=remedy)
    if not low < high:
        raise SchemaError("lower must be below upper", found=f"{low:g} and {high:g}", remedy=remedy)
    if not max(abs(low), abs(high)) <= LARGEST_BOUND:
        raise SchemaError("bounds must be at most 2^100 in size", found=f"{low:g} and {high:g}", remedy=remedy)
    return low, high


def _inside(what: str, value: object, lower: float, upper: float) -> float:
    result = checks.number(what, value, error=SchemaError)
    if not lower <= result <= upper:
        raise SchemaError(
            f"{what} must lie between the bounds {lower:g} and {upper:g}",
            found=f"{result:g}",
            remedy="Choose a value inside.",
        )
    return result
