"""Tables of weights in doubles, with a proved bound below which no positive entry lies: nothing underflows unseen."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import final

import numpy as np

from bnpriv.bound import FloatArray

LOWEST = -1000.0
"""Products that might be below 2 to this power are not made: normal doubles end at 2^-1022."""


MOST_TERMS = 256
"""Axes next to each other are summed together while they have no more cells: longer sums gather more roundings."""

FEW_TERMS = 16
"""InfluenceRows that are shorter are summed as a product of matrices, where NumPy's own loop would be all overhead."""


class OutOfRangeError(Exception):
    """Positive numbers so small that doubles cannot hold their products."""


@final
class WeightTable:
    """Weights that are not negative, zero only where declared tables force it.

    Parameters
    ----------
    values : ndarray
        At most 1, up to rounding; the first axis runs over the models of Theta, of length 1 where all models agree.
        Kept in the order of its axes: sums and products of matrices then do not depend on how many models there are.
    floor : float
        Every positive entry is at least 2 to this power.
    """

    __slots__ = ("floor", "values")

    def __init__(self, values: FloatArray, floor: float) -> None:
        self.values = np.ascontiguousarray(values)
        self.floor = floor

    def measure(self) -> None:
        """Replace the bound, which follows from those of the factors, by that of the entries themselves."""
        least = float(np.min(self.values, where=self.values > 0, initial=1.0))
        self.floor = math.frexp(least)[1] - 1.0


def weights_of(logs: Sequence[FloatArray]) -> list[WeightTable]:
    """Return tables of logs of probabilities as probabilities, each with the power of two that none is below.

    Raises
    ------
    OutOfRangeError
        If a probability is too small for doubles.
    """
    flat = np.concatenate([each.ravel() for each in logs])
    starts = np.concatenate([[0], np.cumsum([each.size for each in logs])[:-1]])
    least = np.minimum.reduceat(np.where(np.isneginf(flat), 0.0, flat), starts).tolist()
    if min(least) < LOWEST * math.log(2):  # its exponential might be 0, and then no look at the table would tell
        raise OutOfRangeError
    values = np.exp(flat)
    found: list[WeightTable] = []
    for start, low, each in zip(starts.tolist(), least, logs, strict=True):
        table = values[start : start + each.size].reshape(each.shape)
        found.append(WeightTable(table, math.floor(low / math.log(2)) - 1.0))
    return found


def product_floor(*factors: WeightTable) -> float:
    """The power of two that no positive product of entries of all factors is below.

    Raises
    ------
    OutOfRangeError
        If it may be below the normal doubles.
    """
    floor = math.fsum(each.floor for each in factors)
    if floor < LOWEST:
        for each in factors:
            each.measure()
        floor = math.fsum(each.floor for each in factors)
        if floor < LOWEST:
            raise OutOfRangeError
    return floor


def inverse(weights: FloatArray) -> FloatArray:
    """One over positive weights, 0 for those that are 0; division by zero must be ignored by the caller."""
    found = 1.0 / weights
    found[weights == 0] = 0.0
    return found


def summed(table: FloatArray, kept: Sequence[int]) -> FloatArray:
    """The sums of a table of shape (models, *sizes) over all axes but the models and those `kept`, ascending.

    Axes next to each other are taken together, and the longest is summed first: many short sums cost most. Every sum is
    over one axis, or over at most `MOST_TERMS` cells.
    """
    lengths: list[int] = [1]
    stays: list[bool] = [True]
    for k, size in enumerate(table.shape[1:]):
        if stays[-1] == (k in kept) and (stays[-1] or lengths[-1] * size <= MOST_TERMS):
            lengths[-1] *= size
        else:
            lengths.append(size)
            stays.append(k in kept)
    models = table.shape[0]
    lengths[0] *= models
    for k in sorted((k for k, stay in enumerate(stays) if not stay), key=lambda k: -lengths[k]):
        before, after = math.prod(lengths[:k]), math.prod(lengths[k + 1 :])
        table = table.reshape(before, lengths[k], after)
        few = 1 < after < FEW_TERMS <= lengths[k]
        table = np.ones(lengths[k]) @ table if few else np.add.reduce(table, axis=1)
        lengths[k] = 1
    return table.reshape(models, -1)


def carried(table: FloatArray, to: Sequence[int], given: Sequence[int], laws: FloatArray) -> FloatArray:
    """Carry laws given some nodes over to other nodes: sum over the `given` of the table times the laws.

    Parameters
    ----------
    table : ndarray of shape (models, *sizes)
        The axes of a clique, after the models.
    to, given : sequence of int
        Places among these axes, ascending; they may have some in common.
    laws : ndarray of shape (models, cells of given, columns)

    Returns
    -------
    ndarray of shape (models, cells of to, columns)
    """
    sizes = table.shape[1:]
    common = [k for k in given if k in to]
    fresh, gone = [k for k in to if k not in common], [k for k in given if k not in common]
    kept = sorted([*to, *gone])
    small = table if len(kept) == len(sizes) else summed(table, kept)
    order = [*common, *fresh, *gone]
    if order != kept:
        split = small.reshape(small.shape[0], *(sizes[k] for k in kept))
        small = split.transpose([0, *(1 + kept.index(k) for k in order)])
    shared, outer, inner = (math.prod([sizes[k] for k in places]) for places in (common, fresh, gone))
    small = small.reshape(small.shape[0], shared, outer, inner)
    models, columns = laws.shape[0], laws.shape[2]
    before = [*common, *gone]
    if before != list(given):
        places = [1 + given.index(k) for k in before]
        split = laws.reshape(models, *(sizes[k] for k in given), columns)
        laws = split.transpose([0, *places, len(given) + 1])
    laws = laws.reshape(models, shared, inner, columns)
    found = small * laws if inner == 1 else small @ laws
    after = [*common, *fresh]
    if after != list(to):
        split = found.reshape(found.shape[0], *(sizes[k] for k in after), columns)
        found = split.transpose([0, *(1 + after.index(k) for k in to), len(to) + 1])
    return found.reshape(found.shape[0], -1, columns)
