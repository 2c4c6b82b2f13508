"""Quantiles, variances, standard deviations and covariances, computed from noisy sums."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, pairwise
from typing import ClassVar, cast

from bnpriv import checks
from bnpriv.core.columns import decimal
from bnpriv.core.queries.base import Indicator, Output, Power, Product, numeric
from bnpriv.core.queries.builtin import WEIGHT_ONE, Derived, OfColumn, Span, clipped, widened
from bnpriv.core.queries.predicates import Constant, bins_of, checked_bins, column_name, edges_of, literals, quoted
from bnpriv.core.schema import Schema, has_gaps
from bnpriv.errors import QueryError

# --------------------------------------------------------------------------------------------------
# Quantiles, read off noisy counts in public bins.
# --------------------------------------------------------------------------------------------------

MEDIAN = 0.5

WHAT = "a quantile"


@dataclass(frozen=True, kw_only=True)
class Quantile(OfColumn, Derived):
    """Quantiles of a column for given shares of the records; made by `quantile` and `median`."""

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
        """The name of each quantile."""
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
        """What the noise is added to, in words."""
        return f"the numbers of records in {len(self._edges(schema)) - 1} bins of {quoted(self.column)}"

    def ranges(self, schema: Schema) -> tuple[Span, ...]:
        """The bounds of the column, for every quantile."""
        column = numeric(self.column, schema)
        return ((float(column.lower), float(column.upper)),) * len(self.shares)

    def derive(self, base: Sequence[float], schema: Schema) -> tuple[float, ...]:
        """Where the cumulated counts, made monotone, cross each share; linear inside a bin.

        The counts are moved by one number so that they add up to the records, of which those count that have a value.
        Cumulated, each is then replaced by the middle between the greatest up to it and the least from it on.
        """
        edges, records = self._edges(schema), schema.records
        if has_gaps(schema[self.column]):
            records = min(max(sum(map(Fraction, base), Fraction(0)), Fraction(0)), Fraction(records))
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
        """The edges between which each quantile of the table lies, given intervals of the counts."""
        edges, records = self._edges(schema), schema.records
        # exact counts are whole numbers
        spans = [(math.ceil(low), math.floor(high)) for low, high in box]
        spans = [(min(span), max(span)) for span in spans]
        if has_gaps(schema[self.column]):  # how many records have a value is known by the counts alone
            least, most = ([0, *accumulate(max(span[side], 0) for span in spans)] for side in (0, 1))
            fewest = [high + least[-1] - low for low, high in zip(least, most, strict=True)]
            many = [low + most[-1] - high for low, high in zip(least, most, strict=True)]
        else:
            least = _cumulated(spans, records)
            most = [records - each for each in reversed(_cumulated(spans[::-1], records))]
            fewest = many = [records] * len(edges)
        found: list[Span] = []
        for q, range_ in zip(self.shares, self.ranges(schema), strict=True):
            share = decimal(q)
            # a base with too few records in all, which no table has, would leave the last bin
            low = min(max(k for k, each in enumerate(most) if k == 0 or each < share * fewest[k]), len(edges) - 2)
            high = min(k for k, each in enumerate(least) if k == len(edges) - 1 or (k > 0 and each >= share * many[k]))
            found.append((clipped(edges[low], range_), clipped(edges[max(low + 1, high)], range_)))
        return tuple(found)

    def error_bounds(self, halves: Sequence[float], schema: Schema) -> tuple[float, ...]:
        """Empty: where no records are, a little noise may move a quantile far."""
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
    """Where a non-decreasing polygon first reaches a height."""
    for (low, high), (before, after) in zip(pairwise(edges), pairwise(reached), strict=True):
        if after >= wanted:
            inside = (wanted - before) / (after - before) if after > before else Fraction(1)
            return float(Fraction(low) + max(inside, Fraction(0)) * (Fraction(high) - Fraction(low)))
    return edges[-1]


def _cumulated(spans: Sequence[tuple[int, int]], records: int) -> list[int]:
    """The least number of records below each edge, from the least counts so far and the most still to come."""
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
        One number for each share, in the column's unit: the least value that so many records do not exceed, of those
        that have a value where gaps are not counted. Inside a bin the records are taken to be spread evenly.

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


# --------------------------------------------------------------------------------------------------
# Variances, standard deviations and covariances, from means about the middle of a column's bounds.
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class _Spread(OfColumn, Derived):
    """A spread computed from the mean and mean square of a column, measured from the middle of its bounds."""

    def outputs(self, schema: Schema) -> tuple[Output, ...]:
        """The mean and the mean square, from the middle of the bounds."""
        middle, _ = middle_of(self.column, schema)
        return tuple(
            Output(
                f"{what} of {quoted(self.column)} from {shown_middle(middle)}",
                ((WEIGHT_ONE, Power(self.column, exponent, about=middle)),),
                averaged=True,
            )
            for exponent, what in ((1, "mean"), (2, "mean square"))
        )

    def base_text(self, schema: Schema) -> str:
        """What the noise is added to, in words."""
        middle, _ = middle_of(self.column, schema)
        name, from_where = quoted(self.column), f"{shown_middle(middle)}, the middle of its bounds"
        return f"the mean and the mean square of {name}, both measured from {from_where}"


@dataclass(frozen=True, kw_only=True)
class Variance(_Spread):
    """The variance of a column, with divisor n; made by `variance`."""

    def ranges(self, schema: Schema) -> tuple[Span, ...]:
        """From 0 to the square of half the width of the bounds."""
        return ((0.0, _up(middle_of(self.column, schema)[1] ** 2)),)

    def derive(self, base: Sequence[float], schema: Schema) -> tuple[float, ...]:
        """The mean square less the square of the mean, clamped to the range."""
        return (float(_variance(base, self.column, schema)),)

    def enclose(self, box: Sequence[Span], schema: Schema) -> tuple[Span, ...]:
        """An interval of the variance."""
        return (widened(*_variances(box), self.ranges(schema)[0]),)

    def error_bounds(self, halves: Sequence[float], schema: Schema) -> tuple[float, ...]:
        """The errors of the mean, of its square, and of the mean square, added up."""
        return (_variance_error(halves, self.column, schema),)


@dataclass(frozen=True, kw_only=True)
class Std(_Spread):
    """The standard deviation of a column, with divisor n; made by `std`."""

    def ranges(self, schema: Schema) -> tuple[Span, ...]:
        """Between 0 and half the width of the bounds."""
        return ((0.0, _up(middle_of(self.column, schema)[1])),)

    def derive(self, base: Sequence[float], schema: Schema) -> tuple[float, ...]:
        """The root of the variance."""
        return (clipped(math.sqrt(_variance(base, self.column, schema)), self.ranges(schema)[0]),)

    def enclose(self, box: Sequence[Span], schema: Schema) -> tuple[Span, ...]:
        """An interval of the standard deviation."""
        ends = self.ranges(schema)[0]
        low, high = (math.sqrt(max(end, Fraction(0))) for end in _variances(box))
        # a root is rounded once, after its argument is
        low = math.nextafter(math.nextafter(low, 0.0), 0.0)
        high = math.nextafter(math.nextafter(high, math.inf), math.inf)
        return ((clipped(low, ends), clipped(high, ends)),)

    def error_bounds(self, halves: Sequence[float], schema: Schema) -> tuple[float, ...]:
        """The root of the variance's bound: roots are no further apart than the root of the difference."""
        return (math.sqrt(_variance_error(halves, self.column, schema)),)


@dataclass(frozen=True, kw_only=True)
class Covariance(Derived):
    """The covariance of two columns, with divisor n; made by `covariance`."""

    first: str
    second: str

    def __post_init__(self) -> None:
        if column_name(self.first) == column_name(self.second):
            raise QueryError(
                "a covariance is of two different columns",
                found=f"{quoted(self.first)} twice",
                remedy=f"Ask for variance({quoted(self.first)}).",
            )

    @property
    def columns(self) -> frozenset[str]:
        """The columns that the query reads."""
        return frozenset({self.first, self.second})

    def outputs(self, schema: Schema) -> tuple[Output, ...]:
        """The mean of each column and that of their product, all from the middles of the bounds."""
        names = (self.first, self.second)
        middles = tuple(middle_of(name, schema)[0] for name in names)
        shown = [f"{quoted(name)} from {shown_middle(middle)}" for name, middle in zip(names, middles, strict=True)]
        means = [Power(name, about=middle) for name, middle in zip(names, middles, strict=True)]
        product = Product(self.first, self.second, about=(middles[0], middles[1]))
        labels = (f"mean of {shown[0]}", f"mean of {shown[1]}", f"mean product of {shown[0]} and {shown[1]}")
        return tuple(
            Output(label, ((WEIGHT_ONE, term),), averaged=True)
            for label, term in zip(labels, (*means, product), strict=True)
        )

    def base_text(self, schema: Schema) -> str:
        """What the noise is added to, in words."""
        one, other = (quoted(name) for name in (self.first, self.second))
        low, high = (shown_middle(middle_of(name, schema)[0]) for name in (self.first, self.second))
        return (
            f"the means of {one} and {other} and that of their product, measured from {low} and {high}, the middles of "
            "their bounds"
        )

    def ranges(self, schema: Schema) -> tuple[Span, ...]:
        """At most the product of half the widths of the bounds, in either direction."""
        most = _up(self._most(schema))
        return ((-most, most),)

    def derive(self, base: Sequence[float], schema: Schema) -> tuple[float, ...]:
        """The mean product less the product of the means, clamped to the range."""
        one, other, product = map(Fraction, base)
        most = self._most(schema)
        return (float(min(max(product - one * other, -most), most)),)

    def enclose(self, box: Sequence[Span], schema: Schema) -> tuple[Span, ...]:
        """An interval of the covariance."""
        corners = [Fraction(one) * Fraction(other) for one in box[0] for other in box[1]]
        low, high = Fraction(box[2][0]) - max(corners), Fraction(box[2][1]) - min(corners)
        return (widened(low, high, self.ranges(schema)[0]),)

    def error_bounds(self, halves: Sequence[float], schema: Schema) -> tuple[float, ...]:
        """The errors of the mean product and of both means, added up."""
        one, other = (float(middle_of(name, schema)[1]) for name in (self.first, self.second))
        most = halves[2] + one * halves[1] + other * halves[0] + halves[0] * halves[1]
        return (min(most, 2 * one * other),)

    def _most(self, schema: Schema) -> Fraction:
        return middle_of(self.first, schema)[1] * middle_of(self.second, schema)[1]

    def __str__(self) -> str:
        return f"covariance({quoted(self.first)}, {quoted(self.second)})"


def middle_of(name: str, schema: Schema) -> tuple[Fraction, Fraction]:
    """The middle of a column's bounds, and its distance to them."""
    column = numeric(name, schema)
    half = column.grid * column.steps / 2
    return column.origin + half, half


def shown_middle(middle: Fraction) -> str:
    """The middle of the bounds with the digits of a label."""
    return f"{float(middle):.10g}"


def squares(span: Span) -> tuple[Fraction, Fraction]:
    """The least and the greatest square of a number in an interval."""
    ends = [Fraction(end) ** 2 for end in span]
    return (Fraction(0) if span[0] <= 0 <= span[1] else min(ends)), max(ends)


def _variance(base: Sequence[float], name: str, schema: Schema) -> Fraction:
    mean, square = map(Fraction, base)
    return min(max(square - mean**2, Fraction(0)), middle_of(name, schema)[1] ** 2)


def _variances(box: Sequence[Span]) -> tuple[Fraction, Fraction]:
    low, high = squares(box[0])
    return Fraction(box[1][0]) - high, Fraction(box[1][1]) - low


def _variance_error(halves: Sequence[float], name: str, schema: Schema) -> float:
    half = float(middle_of(name, schema)[1])
    return min(halves[1] + 2 * half * halves[0] + halves[0] ** 2, half**2)


def _up(value: Fraction) -> float:
    nearest = float(value)
    return nearest if nearest >= value else math.nextafter(nearest, math.inf)


def variance(column: str) -> Variance:
    """Ask for the variance of a column of numbers over the records.

    Noise is added to the mean and to the mean square, both measured from the middle of the column's bounds; the
    variance is worked out of these.

    Parameters
    ----------
    column : str
        A Real or Integer column.

    Returns
    -------
    Variance
        One number, in the square of the column's unit: the mean squared distance from the mean (divisor n).

    Raises
    ------
    QueryError
        If `column` is not a name.

    Examples
    --------
    >>> print(variance("height"))
    variance(height)
    """
    return Variance(column=column)


def std(column: str) -> Std:
    """Ask for the standard deviation of a column of numbers over the records.

    Noise is added as for `variance`, of which it is the root.

    Parameters
    ----------
    column : str
        A Real or Integer column.

    Returns
    -------
    Std
        One number, in the column's unit (divisor n).

    Raises
    ------
    QueryError
        If `column` is not a name.

    Examples
    --------
    >>> print(std("height"))
    std(height)
    """
    return Std(column=column)


def covariance(first: str, second: str) -> Covariance:
    """Ask for the covariance of two columns of numbers over the records.

    Noise is added to the means of both columns and to the mean of their product, all measured from the middles of the
    columns' bounds; the covariance is worked out of these.

    Parameters
    ----------
    first, second : str
        Two different Real or Integer columns.

    Returns
    -------
    Covariance
        One number, in the product of the columns' units (divisor n).

    Raises
    ------
    QueryError
        If the columns are one; and, once the schema is known, if the exact sum of their products could pass 2^63.

    Examples
    --------
    >>> print(covariance("height", "weight"))
    covariance(height, weight)
    """
    return Covariance(first=first, second=second)
