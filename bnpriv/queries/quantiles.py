"""Quantiles, read off counts in public bins to which noise is added once."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, pairwise
from typing import ClassVar, cast, final

from bnpriv import checks
from bnpriv.errors import QueryError
from bnpriv.queries.base import Indicator, Output
from bnpriv.queries.bins import bins_of, checked_bins, edges_of
from bnpriv.queries.builtin import OfColumn
from bnpriv.queries.derived import Derived, Span, clipped
from bnpriv.queries.normal_form import numeric
from bnpriv.queries.predicates import Constant, literals, quoted
from bnpriv.tables.schema import Schema, decimal

MEDIAN = 0.5

WHAT = "a quantile"


@final
@dataclass(frozen=True, kw_only=True)
class Quantile(OfColumn, Derived):
    """Values below which given shares of the records lie; made by `quantile` and `median`."""

    own_units: ClassVar[bool] = False
    certain: ClassVar[bool] = False

    shares: tuple[float, ...]
    edges: tuple[Constant, ...] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "shares", _shares(self.shares))
        if self.edges is not None:
            object.__setattr__(self, "edges", checked_bins(self.edges, WHAT))

    @property
    def labels(self) -> tuple[str, ...]:
        """What each number is."""
        name = quoted(self.column)
        return tuple(f"median of {name}" if q == MEDIAN else f"quantile {q!r} of {name}" for q in self.shares)

    def outputs(self, schema: Schema) -> tuple[Output, ...]:
        """The number of records in each bin.

        Raises
        ------
        QueryError
            If the column holds no numbers, or the edges do not increase or leave out what it may hold.
        """
        self._edges(schema)
        column = numeric(self.column, schema)
        bins = bins_of(self.column, column, edges_of(self.column, column, self.edges, WHAT), WHAT)
        return tuple(Output(each.label, ((Fraction(1), Indicator(each.condition)),)) for each in bins)

    def base_text(self, schema: Schema) -> str:
        """In words what the noise is added to."""
        return f"the numbers of records in {len(self._edges(schema)) - 1} bins of {quoted(self.column)}"

    def ranges(self, schema: Schema) -> tuple[Span, ...]:
        """The bounds of the column."""
        column = numeric(self.column, schema)
        return ((float(column.lower), float(column.upper)),) * len(self.shares)

    def derive(self, base: Sequence[float], schema: Schema) -> tuple[float, ...]:
        """Where cumulated counts, made monotone, reach each share; evenly spread inside a bin.

        The counts are moved by one number so that they add up to the records. Cumulated, each is then replaced by the
        middle between the greatest up to it and the least from it on.
        """
        edges, records = self._edges(schema), schema.records
        excess = (sum(map(Fraction, base), Fraction(0)) - records) / len(base)
        moved = [Fraction(count) - excess for count in base]
        sums = [min(max(each, Fraction(0)), Fraction(records)) for each in accumulate(moved)]
        up, down = list(accumulate(sums, max)), list(accumulate(reversed(sums), min))[::-1]
        reached: list[Fraction] = [
            Fraction(0),
            *((low + high) / 2 for low, high in zip(up[:-1], down[:-1], strict=True)),
        ]
        reached.append(Fraction(records))
        ends = zip(self.shares, self.ranges(schema), strict=True)
        return tuple(clipped(_crossing(edges, reached, decimal(q) * records), range_) for q, range_ in ends)

    def enclose(self, box: Sequence[Span], schema: Schema) -> tuple[Span, ...]:
        """Between which edges each quantile of the table lies: the least value that so many records reach."""
        edges, records = self._edges(schema), schema.records
        # exact counts are whole numbers
        spans = [(math.ceil(low), math.floor(high)) for low, high in box]
        spans = [(min(span), max(span)) for span in spans]
        least = _cumulated(spans, records)
        most = [records - each for each in reversed(_cumulated(spans[::-1], records))]
        found: list[Span] = []
        for q, range_ in zip(self.shares, self.ranges(schema), strict=True):
            wanted = decimal(q) * records
            # too few records in all, as no table has them, leave the last bin
            low = min(max(k for k, each in enumerate(most) if k == 0 or each < wanted), len(edges) - 2)
            high = min(k for k, each in enumerate(least) if k == len(edges) - 1 or (k > 0 and each >= wanted))
            found.append((clipped(edges[low], range_), clipped(edges[max(low + 1, high)], range_)))
        return tuple(found)

    def error_bounds(self, halves: Sequence[float], schema: Schema) -> tuple[float, ...]:
        """Nothing is bounded: where no records are, a quantile may move far by a little noise."""
        return ()

    def _edges(self, schema: Schema) -> tuple[float, ...]:
        column = numeric(self.column, schema)
        edges = tuple(float(edge) for edge in edges_of(self.column, column, self.edges, WHAT))
        if edges[0] > column.lower or edges[-1] < column.upper:
            raise QueryError(
                f"the edges of {WHAT} of {self.column!r} hold all that the column may hold, {column.lower:g} to "
                f"{column.upper:g}",
                found=f"{edges[0]:g} to {edges[-1]:g}",
                remedy=f"Begin with {column.lower:g} and end with {column.upper:g}.",
            )
        return edges

    def __str__(self) -> str:
        edges = "" if self.edges is None else f", {literals(self.edges)}"
        if self.shares == (MEDIAN,):
            return f"median({quoted(self.column)}{edges})"
        return f"quantile({quoted(self.column)}, [{', '.join(map(repr, self.shares))}]{edges})"


def _crossing(edges: Sequence[float], reached: Sequence[Fraction], wanted: Fraction) -> float:
    """Where a line through points that never fall reaches a height for the first time."""
    for (low, high), (before, after) in zip(pairwise(edges), pairwise(reached), strict=True):
        if after >= wanted:
            inside = (wanted - before) / (after - before) if after > before else Fraction(1)
            return float(Fraction(low) + max(inside, Fraction(0)) * (Fraction(high) - Fraction(low)))
    return edges[-1]


def _cumulated(spans: Sequence[tuple[int, int]], records: int) -> list[int]:
    """The least number of records below each edge: those counted so far, or all but those still to come."""
    low = [0, *accumulate(low for low, _ in spans)]
    come = [0, *accumulate(high for _, high in reversed(spans))][::-1]
    return [max(counted, records - rest, 0) for counted, rest in zip(low, come, strict=True)]


def _shares(shares: Iterable[object]) -> tuple[float, ...]:
    remedy = "List shares such as [0.25, 0.5, 0.75]."
    if isinstance(shares, str) or not isinstance(shares, Iterable):
        raise QueryError("a quantile needs a list of shares", found=checks.type_text(shares), remedy=remedy)
    listed = tuple(checks.number("a share", share, error=QueryError, remedy=remedy) for share in shares)
    if not listed:
        raise QueryError("a quantile needs a share of the records", found="none", remedy=remedy)
    for share in listed:
        if not 0 < share < 1:
            raise QueryError(
                "a share lies above 0 and below 1",
                found=f"{share!r}",
                remedy="The least and the greatest value belong to single records; ask for shares such as 0.01.",
            )
    if len(set(listed)) < len(listed):
        raise QueryError("shares must be distinct", found="a repeated one", remedy="List each share once.")
    return listed


def quantile(column: str, shares: Iterable[float], edges: Iterable[float] | None = None) -> Quantile:
    """Ask below which values given shares of the records lie.

    Noise is added once, to the numbers of records in public bins; all quantiles are read off the same noisy counts.

    Parameters
    ----------
    column : str
        A Real or Integer column.
    shares : sequence of float
        Each above 0 and below 1.
    edges : sequence of float, optional
        Edges of the bins, which increase and hold all that the column may hold. More bins are finer, and add more
        noise up. May be left out for a column that declares its bins.

    Returns
    -------
    Quantile
        One number for each share, in the column's unit: the least value that so many records do not exceed. Inside a
        bin the records are taken to be spread evenly.

    Raises
    ------
    QueryError
        If a share is out of range, or edges do not increase; and, once the schema is known, if there are no edges, or
        they leave out what the column may hold.

    Examples
    --------
    >>> print(quantile("age", [0.25, 0.75], [0, 18, 45, 65, 120]))
    quantile(age, [0.25, 0.75], [0, 18, 45, 65, 120])
    """
    return Quantile(
        column=column,
        shares=cast("tuple[float, ...]", shares),
        edges=None if edges is None else checked_bins(edges, WHAT),
    )


def median(column: str, edges: Iterable[float] | None = None) -> Quantile:
    """Ask for the value that half of the records do not exceed.

    Parameters
    ----------
    column : str
        A Real or Integer column.
    edges : sequence of float, optional
        As `quantile` takes them.

    Returns
    -------
    Quantile
        One number, in the column's unit.

    Raises
    ------
    QueryError
        As `quantile`.

    Examples
    --------
    >>> print(median("age", [0, 18, 45, 65, 120]))
    median(age, [0, 18, 45, 65, 120])
    """
    return quantile(column, (MEDIAN,), edges)
