"""Tables of log probabilities over named axes, with a leading axis for the models of Theta.

Log space, so that no small probability becomes a false zero: an entry is -inf only where a declared table says 0.
Every table carries a bound on the absolute error of its entries, so that results can be rounded towards privacy.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from bnpriv.bound import UNIT_ROUNDOFF
from bnpriv.errors import SizeError

FloatArray = NDArray[np.float64]

MOST_CELLS = 2**26
"""Largest table that is ever allocated: 2^26 cells are 512 MiB."""

FUNCTION_ERROR = 8
"""Relative error of NumPy's exp and log in units of UNIT_ROUNDOFF: its vector versions may be off by 4 ulp."""


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class LogTable:
    """Log probabilities over `axes`.

    Parameters
    ----------
    axes : tuple of str
        Names of the axes after the first.
    values : ndarray of shape (models, *cardinalities)
        Natural logs; the first axis runs over the models of Theta and has length 1 where all models agree.
    error : float
        Largest absolute error of a finite entry.
    """

    axes: tuple[str, ...]
    values: FloatArray
    error: float = 0.0

    def __post_init__(self) -> None:
        if self.values.ndim != len(self.axes) + 1:
            raise AssertionError("a table has one axis for the models and one per name")
        self.values.flags.writeable = False

    @classmethod
    def from_columns(cls, axes: Sequence[str], weights: FloatArray) -> LogTable:
        """Take the logs of weights of shape (models, *cardinalities), divided by their sums over the first name's axis.

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
        """Divide weights given by their logs, of shape (models, *cardinalities), by sums over the first name's axis."""
        sums = log_sum_exp(logs, 1)[:, np.newaxis]
        values = logs - sums
        terms = logs.shape[1]
        # as in `sum_out`: 2 per term and FUNCTION_ERROR for the exponentials and the log of their sum
        steps = _magnitude(values) + _magnitude(sums) + 2 * terms + FUNCTION_ERROR * (1 + math.log(terms))
        return cls(axes=tuple(axes), values=values, error=UNIT_ROUNDOFF * steps)

    def sizes(self) -> dict[str, int]:
        """Return the length of every named axis."""
        return dict(zip(self.axes, self.values.shape[1:], strict=True))

    def aligned(self, axes: Sequence[str]) -> FloatArray:
        """Return the values with `axes` as named axes, of length 1 where the table does not have them."""
        order = [0] + [1 + self.axes.index(axis) for axis in axes if axis in self.axes]
        moved = np.transpose(self.values, order)
        shape = [moved.shape[0]]
        sizes = self.sizes()
        shape += [sizes.get(axis, 1) for axis in axes]
        return moved.reshape(shape)


def product(tables: Sequence[LogTable], axes: Sequence[str]) -> LogTable:
    """Multiply probabilities: add the logs over the union `axes`."""
    values: FloatArray = np.zeros((1,) * (len(axes) + 1))
    for table in tables:
        values = values + table.aligned(axes)
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


def log_sum_exp(values: FloatArray, axis: int | tuple[int, ...]) -> FloatArray:
    """Return the log of the sum of exponentials along `axis`; -inf where every entry is."""
    top = np.max(values, axis=axis, keepdims=True)
    shift = np.where(np.isfinite(top), top, 0.0)
    shifted = values - shift
    np.exp(shifted, out=shifted)
    with np.errstate(divide="ignore"):
        total = np.log(np.sum(shifted, axis=axis))
    return total + np.squeeze(shift, axis=axis)


def marginal(tables: Iterable[LogTable], keep: Sequence[str], *, most_cells: int = MOST_CELLS) -> LogTable:
    """Return the joint table of `keep` by variable elimination.

    The order is greedy by the size of the table made; all sizes are known before the first table is allocated.

    Raises
    ------
    SizeError
        If a table on the way would have more than `most_cells` cells.
    """
    pool = list(tables)
    sizes: dict[str, int] = {}
    for table in pool:
        sizes.update(table.sizes())
    models = max(table.values.shape[0] for table in pool)
    order = _elimination_order([frozenset(table.axes) for table in pool], frozenset(keep), sizes)
    _check_sizes([frozenset(table.axes) for table in pool], order, keep, sizes, models, most_cells)
    for name in order:
        touched = [table for table in pool if name in table.axes]
        axes = sorted({axis for table in touched for axis in table.axes})
        pool = [table for table in pool if name not in table.axes]
        pool.append(sum_out(product(touched, axes), (name,)))
    return product(pool, keep)


def _elimination_order(
    scopes: Sequence[frozenset[str]], keep: frozenset[str], sizes: Mapping[str, int]
) -> tuple[str, ...]:
    neighbours: dict[str, set[str]] = {name: set() for name in sizes}
    for scope in scopes:
        for name in scope:
            neighbours[name] |= scope - {name}
    order: list[str] = []
    left = set(sizes) - keep
    while left:
        name = min(left, key=lambda name: (math.prod(sizes[n] for n in neighbours[name]) * sizes[name], name))
        around = neighbours.pop(name)
        for other in around:
            neighbours[other] |= around - {other}
            neighbours[other].discard(name)
        left.remove(name)
        order.append(name)
    return tuple(order)


def _check_sizes(
    scopes: Sequence[frozenset[str]],
    order: Sequence[str],
    keep: Sequence[str],
    sizes: Mapping[str, int],
    models: int,
    most_cells: int,
) -> None:
    pool = list(scopes)
    largest = models * math.prod(sizes[name] for name in keep)
    for name in order:
        union = frozenset(axis for scope in pool if name in scope for axis in scope)
        largest = max(largest, models * math.prod(sizes[axis] for axis in union))
        pool = [scope for scope in pool if name not in scope] + [union - {name}]
    if largest > most_cells:
        raise SizeError(
            f"a table may have at most {most_cells:,} cells",
            found=f"{largest:,} cells for the joint law of {', '.join(keep)}",
            remedy="Query fewer columns at once, merge states, or split Theta.",
        )


def _magnitude(values: FloatArray) -> float:
    top = max(float(np.max(values, initial=0.0)), -float(np.min(values, initial=0.0)))
    if math.isfinite(top):
        return top
    finite = values[np.isfinite(values)]
    return float(np.max(np.abs(finite), initial=0.0))
