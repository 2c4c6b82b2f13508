"""What a step some way off tells about the state at a step: one factor to the left, one to the right."""

from __future__ import annotations

from functools import cached_property
from typing import final

import numpy as np
from numpy.typing import NDArray

from bnpriv.bound import UNIT_ROUNDOFF, FloatArray
from bnpriv.networks.chain import LEAST

BLOCK = 2**22
"""Cells of a table of log ratios that are held at once."""


@final
class Factors:
    """Log ratios between two states of a step, of what is seen some steps before or after it; remembers powers.

    Parameters
    ----------
    matrix : ndarray of shape (k, k)
        The transition matrix.
    """

    def __init__(self, matrix: FloatArray) -> None:
        self.matrix = matrix
        self.states = len(matrix)
        self._powers = [matrix]
        self._linked: list[NDArray[np.bool_]] = [matrix > 0]
        self._right: list[FloatArray] = []
        self._left: dict[tuple[int, bytes], FloatArray] = {}

    def error(self, distance: int) -> float:
        """Bound the rounding error of a log ratio of a power: sums of products of numbers that are not negative."""
        return 2 * UNIT_ROUNDOFF * (distance * (self.states + 2) + 8)

    def right(self, b: int) -> FloatArray:
        """Return max over z of log P^b(x, z) / P^b(x', z), of shape (x, x')."""
        while len(self._right) < b:
            self._right.append(self._ratios(len(self._right) + 1))
        return self._right[b - 1]

    def left(self, a: int, seen: NDArray[np.bool_]) -> FloatArray:
        """Return max over y in `seen` of log P^a(y, x) / P^a(y, x'), of shape (x, x')."""
        key = (a, seen.tobytes())
        if key not in self._left:
            self._left[key] = self._ratios(a, seen)
        return self._left[key]

    @cached_property
    def everywhere(self) -> NDArray[np.bool_]:
        """That every state may be seen."""
        return np.ones(self.states, dtype=np.bool_)

    def _power(self, distance: int) -> tuple[FloatArray, NDArray[np.bool_]]:
        while len(self._powers) < distance:
            self._powers.append(self._powers[-1] @ self.matrix)
            before = self._linked[-1]
            linked = before if before.all() else (before.astype(np.float64) @ (self.matrix > 0)) > 0
            self._linked.append(linked)
        return self._powers[distance - 1], self._linked[distance - 1]

    def _ratios(self, distance: int, seen: NDArray[np.bool_] | None = None) -> FloatArray:
        """What is told from a distance: to the right by columns, to the left by the rows in `seen`."""
        power, linked = self._power(distance)
        if bool(np.any(linked & (power < LEAST))):
            return np.full((self.states, self.states), np.inf)
        with np.errstate(divide="ignore"):
            logs = np.where(linked, np.log(power), -np.inf)
        return largest_ratios(logs if seen is None else logs.T[:, seen])


def largest_ratios(rows: FloatArray) -> FloatArray:
    """Return max over z of rows[x, z] - rows[x', z], where what x rules out does not count; inf where x' alone does.

    Examples
    --------
    >>> import numpy as np
    >>> largest_ratios(np.log([[0.5, 0.5], [0.25, 0.75]])).round(3).tolist()
    [[0.0, 0.693], [0.405, 0.0]]
    """
    k, z = rows.shape
    result = np.empty((k, k))
    step = max(1, BLOCK // max(1, k * z))
    with np.errstate(invalid="ignore"):
        for start in range(0, k, step):
            above = rows[start : start + step, np.newaxis, :]
            gaps = np.where(np.isneginf(above), -np.inf, above - rows[np.newaxis])
            result[start : start + step] = gaps.max(axis=2, initial=-np.inf)
    return result
