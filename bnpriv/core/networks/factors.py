"""Tables of log probabilities over named axes, with a leading axis for the models of Theta.

Log space, so that no small probability becomes a false zero: an entry is -inf only where a declared table says 0.
Every table carries a bound on the absolute error of its entries, so that results can be rounded towards privacy.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from bnpriv.bound import UNIT_ROUNDOFF, FloatArray
from bnpriv.checks import listing
from bnpriv.core.distributions import FUNCTION_ERROR, log_sum_exp
from bnpriv.errors import SizeError
from bnpriv.text import rough_text

MOST_TABLE_CELLS = 2**24
"""The most cells a table may have when it is allocated: 2^24 cells are 128 MiB."""

MOST_ELIMINATION_CELLS = 2**26
"""The most cells of all tables of one elimination together: about two seconds."""

CELL_SECONDS = 3e-8
"""A rough cost of one cell, for messages only: decisions must not depend on the machine."""


@dataclass(frozen=True, kw_only=True, eq=False)
class LogTable:
    """A table of log probabilities over named `axes`, for each model, with a bound on its error.

    Parameters
    ----------
    axes : tuple of str
        Names of the axes after the first.
    values : ndarray of shape (models, *cardinalities)
        Natural logs; the first axis runs over the models of Theta and has length 1 where all models agree.
    error : float
        Largest absolute error of a finite entry.
    weights : ndarray, optional
        The numbers as a user declared them, of which `values` are the logs; only files are written from them.
    """

    axes: tuple[str, ...]
    values: FloatArray
    error: float = 0.0
    weights: FloatArray | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.values.ndim != len(self.axes) + 1:
            raise AssertionError("a table has one axis for the models and one per name")
        self.values.flags.writeable = False
        if self.weights is not None:
            self.weights.flags.writeable = False

    @classmethod
    def from_columns(cls, axes: Sequence[str], weights: FloatArray) -> LogTable:
        """Normalize weights of shape (models, *cardinalities) over the first axis, and take their logs.

        The division is made in logs: there it neither overflows nor turns a small weight into a false zero.
        """
        # A power of two is taken out of every column: exact, and the sum of what is left is between 1/2 and its length.
        exponents = np.frexp(np.max(weights, axis=1, keepdims=True))[1]
        sums = np.log(np.sum(np.ldexp(weights, -exponents), axis=1, keepdims=True))
        shift = exponents * math.log(2)
        with np.errstate(divide="ignore"):
            logs = np.log(weights)
        values = logs - (sums + shift)
        steps = weights.shape[1] + 2 * _magnitude(shift) + _magnitude(sums + shift) + _magnitude(values)
        error = UNIT_ROUNDOFF * (FUNCTION_ERROR * (_magnitude(logs) + _magnitude(sums)) + steps)
        return cls(axes=tuple(axes), values=values, error=error)

    @classmethod
    def from_logs(cls, axes: Sequence[str], logs: FloatArray) -> LogTable:
        """Normalize weights that are given by their logs, over the first axis."""
        sums = log_sum_exp(logs, 1)[:, np.newaxis]
        values = logs - sums
        terms = logs.shape[1]
        # as in `sum_out`: 2 per term and FUNCTION_ERROR for the exponentials and the log of their sum
        steps = _magnitude(values) + _magnitude(sums) + 2 * terms + FUNCTION_ERROR * (1 + math.log(terms))
        return cls(axes=tuple(axes), values=values, error=UNIT_ROUNDOFF * steps)

    def sizes(self) -> dict[str, int]:
        """The length of every named axis."""
        return dict(zip(self.axes, self.values.shape[1:], strict=True))

    def aligned(self, axes: Sequence[str]) -> FloatArray:
        """The values with `axes` as named axes, of length 1 where the table does not have them."""
        order = [0] + [1 + self.axes.index(axis) for axis in axes if axis in self.axes]
        moved = np.transpose(self.values, order)
        shape = [moved.shape[0]]
        sizes = self.sizes()
        shape += [sizes.get(axis, 1) for axis in axes]
        return moved.reshape(shape)


def product(tables: Sequence[LogTable], axes: Sequence[str]) -> LogTable:
    """The product of probability tables: their logs added over the union `axes`."""
    moved = [table.aligned(axes) for table in tables]
    values: FloatArray = np.zeros(np.broadcast_shapes((1,) * (len(axes) + 1), *(each.shape for each in moved)))
    for each in moved:
        values += each
    # one rounding for every addition
    error = sum(table.error for table in tables) + len(tables) * UNIT_ROUNDOFF * _magnitude(values)
    return LogTable(axes=tuple(axes), values=values, error=error)


def sum_out(table: LogTable, names: Iterable[str]) -> LogTable:
    """Sum probabilities over the axes `names`."""
    gone = frozenset(names)
    positions = tuple(1 + k for k, axis in enumerate(table.axes) if axis in gone)
    if not positions:
        return table
    values = log_sum_exp(table.values, positions)
    terms = math.prod(table.values.shape[k] for k in positions)
    # The exponentials lie between 0 and 1 and one of them is 1: at most 2 per term for the rounding of the exponents
    # and of the sum, FUNCTION_ERROR for the exponentials and again for the log of the sum, which is at most log(terms).
    error = table.error + UNIT_ROUNDOFF * (_magnitude(values) + 2 * terms + FUNCTION_ERROR * (1 + math.log(terms)))
    return LogTable(axes=tuple(axis for axis in table.axes if axis not in gone), values=values, error=error)


def marginal(tables: Iterable[LogTable], keep: Sequence[str], *, most_cells: int = MOST_TABLE_CELLS) -> LogTable:
    """The joint table of `keep`, by variable elimination.

    The order is greedy by the size of the table made; all sizes are known before the first table is allocated.

    Raises
    ------
    SizeError
        If a table on the way would have more than `most_cells` cells, or all of them more than
        `MOST_ELIMINATION_CELLS`.
    """
    pool = list(tables)
    order, size = elimination(pool, keep)
    size.check(keep, most_cells)
    for name in order:
        touched = [table for table in pool if name in table.axes]
        axes = sorted({axis for table in touched for axis in table.axes})
        pool = [table for table in pool if name not in table.axes]
        pool.append(sum_out(product(touched, axes), (name,)))
    return product(pool, keep)


@dataclass(frozen=True)
class Size:
    """The cells of the largest table of an elimination, and of all its tables together."""

    largest: int
    work: int

    @property
    def fits(self) -> bool:
        """Whether the sizes are within the usual limits."""
        return self.largest <= MOST_TABLE_CELLS and self.work <= MOST_ELIMINATION_CELLS

    def text(self, most_work: int) -> str:
        """The number of cells and the limit that it exceeds, in words.

        Examples
        --------
        >>> Size(largest=2**33, work=2**34).text(2**24)
        '8.59 billion of at most 16.8 million cells'
        """
        found, limit = (self.largest, MOST_TABLE_CELLS) if self.largest > MOST_TABLE_CELLS else (self.work, most_work)
        return f"{rough_text(found)} of at most {rough_text(limit)} cells"

    def check(self, keep: Sequence[str], most_cells: int | None = None, most_work: int | None = None) -> None:
        """Refuse an elimination that would take too much memory or time.

        Raises
        ------
        SizeError
            With the size.
        """
        cells = MOST_TABLE_CELLS if most_cells is None else most_cells
        work = MOST_ELIMINATION_CELLS if most_work is None else most_work
        if self.largest > cells or self.work > work:
            seconds = min(self.work * CELL_SECONDS, 1e12)
            limit, found = (cells, self.largest) if self.largest > cells else (work, self.work)
            what = "a table" if self.largest > cells else "the tables of one joint distribution"
            raise SizeError(
                f"{what} may have at most {limit:,} cells",
                found=f"{found:,} cells, about {seconds:,.0f} seconds, for the joint distribution of {listing(keep)}",
                remedy="Query fewer columns at once, merge states, or declare fewer models.",
            )


def elimination(tables: Sequence[LogTable], keep: Sequence[str]) -> tuple[tuple[str, ...], Size]:
    """A greedy elimination order of all names but `keep`, and the sizes of the tables it makes."""
    sizes: dict[str, int] = {}
    for table in tables:
        sizes.update(table.sizes())
    scopes = [frozenset(table.axes) for table in tables]
    order = _elimination_order(scopes, frozenset(keep), sizes)
    return order, _size(scopes, order, keep, sizes, max(table.values.shape[0] for table in tables))


def _elimination_order(
    scopes: Sequence[frozenset[str]], keep: frozenset[str], sizes: Mapping[str, int]
) -> tuple[str, ...]:
    neighbours: dict[str, set[str]] = {name: set() for name in sizes}
    for scope in scopes:
        for name in scope:
            neighbours[name] |= scope - {name}

    def cost(name: str) -> tuple[int, str]:
        # ties go by name, so that every machine eliminates in the same order and rounds alike
        return math.prod(sizes[n] for n in neighbours[name]) * sizes[name], name

    order: list[str] = []
    left = {name: cost(name) for name in sizes if name not in keep}
    while left:
        _, name = min(left.values())
        del left[name]
        around = neighbours.pop(name)
        for other in around:
            neighbours[other] |= around - {other}
            neighbours[other].discard(name)
        left.update({other: cost(other) for other in around if other in left})
        order.append(name)
    return tuple(order)


def _size(
    scopes: Sequence[frozenset[str]], order: Sequence[str], keep: Sequence[str], sizes: Mapping[str, int], models: int
) -> Size:
    pool = list(scopes)
    largest = work = models * math.prod(sizes[name] for name in keep)
    for name in order:
        union = frozenset(axis for scope in pool if name in scope for axis in scope)
        cells = models * math.prod(sizes[axis] for axis in union)
        largest, work = max(largest, cells), work + cells
        pool = [scope for scope in pool if name not in scope] + [union - {name}]
    return Size(largest, work)


def _magnitude(values: FloatArray) -> float:
    top = max(float(np.max(values, initial=0.0)), -float(np.min(values, initial=0.0)))
    if math.isfinite(top):
        return top
    finite = values[np.isfinite(values)]
    return float(np.max(np.abs(finite), initial=0.0))
