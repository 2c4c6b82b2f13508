"""Variances, standard deviations and covariances, worked out of means about the middle of a column's bounds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import final

from bnpriv.errors import QueryError
from bnpriv.queries.base import Output, Power, Product
from bnpriv.queries.builtin import WEIGHT_ONE, OfColumn
from bnpriv.queries.derived import Derived, Span, clipped, widened
from bnpriv.queries.normal_form import numeric
from bnpriv.queries.predicates import column_name, quoted
from bnpriv.tables.schema import Schema


@dataclass(frozen=True, kw_only=True)
class _Spread(OfColumn, Derived):
    """What the mean and the mean square of a column, both from the middle of its bounds, tell of its spread."""

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
        """In words what the noise is added to."""
        middle, _ = middle_of(self.column, schema)
        name, from_where = quoted(self.column), f"{shown_middle(middle)}, the middle of its bounds"
        return f"the mean and the mean square of {name}, both measured from {from_where}"


@final
@dataclass(frozen=True, kw_only=True)
class Variance(_Spread):
    """The variance of a column, with divisor n; made by `variance`."""

    def ranges(self, schema: Schema) -> tuple[Span, ...]:
        """Between 0 and the square of half the width of the bounds."""
        return ((0.0, _up(middle_of(self.column, schema)[1] ** 2)),)

    def derive(self, base: Sequence[float], schema: Schema) -> tuple[float, ...]:
        """The mean square less the square of the mean, inside the range."""
        return (float(_variance(base, self.column, schema)),)

    def enclose(self, box: Sequence[Span], schema: Schema) -> tuple[Span, ...]:
        """An interval of the variance."""
        return (widened(*_variances(box), self.ranges(schema)[0]),)

    def error_bounds(self, halves: Sequence[float], schema: Schema) -> tuple[float, ...]:
        """What the errors of mean and mean square, and the square of the former, can add up to."""
        return (_variance_error(halves, self.column, schema),)


@final
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
        """The root of the bound for the variance: roots are no further apart than the root of a difference."""
        return (math.sqrt(_variance_error(halves, self.column, schema)),)


@final
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
        """In words what the noise is added to."""
        one, other = (quoted(name) for name in (self.first, self.second))
        low, high = (shown_middle(middle_of(name, schema)[0]) for name in (self.first, self.second))
        return (
            f"the means of {one} and {other} and that of their product, measured from {low} and {high}, the middles of "
            "their bounds"
        )

    def ranges(self, schema: Schema) -> tuple[Span, ...]:
        """What the product of half the widths of the bounds allows."""
        most = _up(self._most(schema))
        return ((-most, most),)

    def derive(self, base: Sequence[float], schema: Schema) -> tuple[float, ...]:
        """The mean product less the product of the means, inside the range."""
        one, other, product = map(Fraction, base)
        most = self._most(schema)
        return (float(min(max(product - one * other, -most), most)),)

    def enclose(self, box: Sequence[Span], schema: Schema) -> tuple[Span, ...]:
        """An interval of the covariance."""
        corners = [Fraction(one) * Fraction(other) for one in box[0] for other in box[1]]
        low, high = Fraction(box[2][0]) - max(corners), Fraction(box[2][1]) - min(corners)
        return (widened(low, high, self.ranges(schema)[0]),)

    def error_bounds(self, halves: Sequence[float], schema: Schema) -> tuple[float, ...]:
        """What the errors of the product and of both means can add up to."""
        one, other = (float(middle_of(name, schema)[1]) for name in (self.first, self.second))
        most = halves[2] + one * halves[1] + other * halves[0] + halves[0] * halves[1]
        return (min(most, 2 * one * other),)

    def _most(self, schema: Schema) -> Fraction:
        return middle_of(self.first, schema)[1] * middle_of(self.second, schema)[1]

    def __str__(self) -> str:
        return f"covariance({quoted(self.first)}, {quoted(self.second)})"


def middle_of(name: str, schema: Schema) -> tuple[Fraction, Fraction]:
    """The middle of the bounds of a column, and how far they are from it."""
    column = numeric(name, schema)
    half = column.grid * column.steps / 2
    return column.origin + half, half


def shown_middle(middle: Fraction) -> str:
    """The middle of the bounds in the digits of a label."""
    return f"{float(middle):.10g}"


def squares(span: Span) -> tuple[Fraction, Fraction]:
    """The least and the greatest square of a number between two."""
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
