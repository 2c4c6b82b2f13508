"""What a schema says of itself: its columns with what each may hold."""

from __future__ import annotations

from collections.abc import Sequence

from bnpriv.render.document import Document, Name, Table
from bnpriv.tables.bins import Binned
from bnpriv.tables.columns import Categorical, Category
from bnpriv.tables.schema import Column, Schema

MOST_LISTED = 12
"""Categories of a column that are named where it is shown."""


def schema_document(schema: Schema) -> Document:
    """The columns with what each may hold."""
    described = {name: _described(column) for name, column in schema.columns.items()}
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
        headline=f"{schema.records:,} records of {columns}",
        answer=(table,),
        data={"records": schema.records, "columns": data},
    )


def _described(column: Column) -> tuple[str, str, str]:
    kind = type(column).__name__
    if not isinstance(column, Categorical):
        values = f"{column.lower:,.10g} to {column.upper:,.10g}"
        values += f" in bins {_cut(column.labels)}" if isinstance(column, Binned) else ""
        return kind, values, f"{column.missing:,.10g}"
    raw = sum(map(len, column.coarsen.values()))
    coarser = f", which {raw:,} more labels count as" if raw else ""
    return kind, _cut(column.categories) + coarser, str(column.missing)


def _cut(labels: Sequence[Category]) -> str:
    shown = ", ".join(map(str, labels[:MOST_LISTED]))
    left = len(labels) - MOST_LISTED
    return f"{shown} and {left} more" if left > 0 else shown
