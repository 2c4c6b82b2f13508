"""Plain text for numbers, sets and tables; knows nothing of the domain."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

Json = Mapping[str, object]


def number_text(value: float, digits: int = 4) -> str:
    """Return a number for people: a few digits, thousands separated, never in scientific notation when it is readable.

    Examples
    --------
    >>> number_text(12345.678), number_text(0.00123456), number_text(float("inf"))
    ('12,346', '0.001235', 'infinite')
    """
    if math.isinf(value):
        return "infinite" if value > 0 else "minus infinite"
    if value == 0:
        return "0"
    if 1000 <= abs(value) < 1e15:
        return f"{value:,.0f}"
    return f"{value:.{digits}g}"


def set_text(names: Iterable[str]) -> str:
    """Return names between braces, sorted.

    Examples
    --------
    >>> set_text({"sat", "height"})
    '{height, sat}'
    """
    return "{" + ", ".join(sorted(names)) + "}"


def table_text(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in aligned columns.

    Examples
    --------
    >>> print(table_text(["quilt", "nats"], [["{sat}", "1.39"], ["{}", "0"]]))
    quilt  nats
    {sat}  1.39
    {}     0
    """
    cells = [list(header), *(list(row) for row in rows)]
    widths = [max(len(row[k]) for row in cells) for k in range(len(header))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in cells]
    return "\n".join(line.rstrip() for line in lines)
