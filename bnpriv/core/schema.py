"""The public facts about a table: how many records, which columns, and what each column may hold.

Bounds are declared, never read off the data. A value that is missing (null, NaN or a category that was not declared)
counts as the column's `missing` value, or is not counted; a value outside the bounds counts as the nearest bound.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bnpriv import checks
from bnpriv.core.columns import (
    GAP_MARK,
    NOT_COUNTED,
    Binned as Binned,
    Categorical as Categorical,
    Category as Category,
    Integer as Integer,
    Real as Real,
    State as State,
    decimal as decimal,
)
from bnpriv.core.frozen import ReadOnly
from bnpriv.errors import SchemaError
from bnpriv.services import service
from bnpriv.shown import HasCard

if TYPE_CHECKING:
    from bnpriv.render.document import Document

MOST_RECORDS = 2**62


NumberColumn = Real | Integer | Binned
"""A column of numbers."""

Column = NumberColumn | Categorical


def is_whole(column: Column) -> bool:
    """Whether a column holds numbers that are rounded to whole ones.

    Examples
    --------
    >>> is_whole(Integer(0, 9)), is_whole(Real(0, 9)), is_whole(Categorical([0, 1]))
    (True, False, False)
    """
    return not isinstance(column, Categorical) and column.whole


def has_gaps(column: Column) -> bool:
    """Whether a missing value is a state of its own, which no condition holds of.

    Examples
    --------
    >>> has_gaps(Integer(0, 9)), has_gaps(Integer(0, 9, missing="not counted"))
    (False, True)
    """
    return column.missing == NOT_COUNTED


def fill_of(column: NumberColumn) -> float:
    """The number in place of a missing one: what it counts as, or `GAP_MARK`, below all bounds."""
    return GAP_MARK if column.missing is None or column.missing == NOT_COUNTED else float(column.missing)


@dataclass(frozen=True)
class Schema(HasCard):
    """The number of records of a table and the columns that a query may read.

    Parameters
    ----------
    records : int
        Number of rows, a public fact.
    columns : mapping from str to Real, Integer, Binned or Categorical
        What each column may hold; kept as a copy that is read-only.
    dialect : bnpriv.tables.readings.Dialect, optional
        How the texts of the table write numbers and dates, and which numbers stand for a missing value.

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
    dialect: Any = field(default=None, kw_only=True)

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
            if not isinstance(column, (Real, Integer, Binned, Categorical)):
                raise SchemaError(
                    f"the column {name!r} must be Real, Integer, Binned or Categorical",
                    found=checks.type_text(column),
                    remedy="Write Real(lower, upper), Integer(lower, upper), Binned(edges) or Categorical([...]).",
                )

    def __getitem__(self, name: str) -> Column:
        """The declaration of column `name`.

        Raises
        ------
        SchemaError
            If it is not declared.
        """
        checks.member("a column", name, self.columns, error=SchemaError)
        return self.columns[name]

    def __hash__(self) -> int:
        return hash((self.records, frozenset(self.columns.items())))

    def __repr__(self) -> str:
        # without a dialect it prints, and is hashed, as in versions before there was one
        told = "" if self.dialect is None else f", dialect={self.dialect!r}"
        return f"Schema(records={self.records!r}, columns={self.columns!r}{told})"

    @property
    def document(self) -> Document:
        """The columns, with what each may hold, as a document to be shown."""
        return service("schema.document")(self)


def require_schema(value: object) -> None:
    """Refuse a value that is not a Schema, and say what to write.

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
