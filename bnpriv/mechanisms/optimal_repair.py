"""From a channel that a solver found to one whose whole-numbered rows meet every constraint exactly.

docs/claims/optimal.md. Nothing that a solver says is relied on: the constraints are checked on the rows that are drawn
from, in whole numbers, with bounds of the laws on the private side.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import cached_property
from typing import final

import numpy as np
from numpy.typing import NDArray

from bnpriv.bound import FloatArray, IntArray
from bnpriv.mechanisms.optimal_laws import LawTable

ExactArray = NDArray[np.object_]

DENOMINATOR = 2**62
"""Of the rows."""

LAW_BITS = 200
"""Masses of laws are whole numbers over two to this power, rounded up and down."""

RATIO_BITS = 120
"""So is exp(epsilon), rounded down."""

MOST_TRIES = 40
"""Each try keeps twice as far away from the constraints as the last one; then the answer is left out altogether."""

RAREST_OUTPUT = 1e-12
"""Outputs that are rarer under every law are left out."""


@final
@dataclass(frozen=True, eq=False)
class Constraints:
    """The constraints on the rows of a channel, in whole numbers.

    Parameters
    ----------
    table : LawTable
    epsilon, delta : float
    """

    table: LawTable
    epsilon: float
    delta: float

    @cached_property
    def largest(self) -> ExactArray:
        """Return upper bounds of all masses, times two to the power LAW_BITS, of shape (L, K)."""
        return self._bounds(1)

    @cached_property
    def smallest(self) -> ExactArray:
        """Return lower bounds of all masses, times two to the power LAW_BITS, of shape (L, K)."""
        return self._bounds(-1)

    def _bounds(self, side: int) -> ExactArray:
        found = np.zeros(self.table.masses.shape, dtype=object)
        for law, (masses, error) in enumerate(zip(self.table.masses, self.table.errors.tolist(), strict=True)):
            factor = 1 + side * Fraction(error)
            for k in np.flatnonzero(self.table.possible[law]).tolist():
                exact = Fraction(float(masses[k])) * factor * 2**LAW_BITS
                # a mass below the range of doubles may be anything up to their least one
                found[law, k] = math.ceil(exact) + 1 if side > 0 else math.floor(exact)
        return found

    @cached_property
    def ratio(self) -> int:
        """Return exp(epsilon) times two to the power RATIO_BITS, rounded down."""
        context = Context(prec=80, rounding=ROUND_FLOOR)
        exact = context.exp(Decimal(self.epsilon))  # rounded to the nearest of 80 digits
        return math.floor(Fraction(exact) * (1 - Fraction(1, 10**70)) * 2**RATIO_BITS)

    def _passed(self, above: ExactArray, below: ExactArray) -> ExactArray:
        """By how much the first law of each pair passes the ratio times the second, shape (W, M), exactly."""
        first, second = self.table.ways.T
        return above[first] * 2**RATIO_BITS - self.ratio * below[second]

    def hold(self, rows: ExactArray, denominator: int) -> bool:
        """Return whether rows over a denominator meet every constraint, exactly."""
        return self._allowed(self._passed(self.largest @ rows, self.smallest @ rows), denominator)

    def hold_unchanged(self) -> bool:
        """Return whether they hold where every answer is released as it is."""
        return self._allowed(self._passed(self.largest, self.smallest), 1)

    def _allowed(self, passed: ExactArray, denominator: int) -> bool:
        most = math.floor(Fraction(self.delta) * denominator * 2 ** (LAW_BITS + RATIO_BITS))
        return all(sum(each for each in way if each > 0) <= most for way in passed.tolist())


def repaired(constraints: Constraints, rows: FloatArray, home: int) -> tuple[IntArray, IntArray]:
    """Return whole-numbered rows near those of a solver that meet every constraint, and their outputs.

    Parameters
    ----------
    constraints : Constraints
    rows : ndarray of shape (K, M)
        Probabilities; each row adds up to about 1.
    home : int
        The output to which every answer may go.

    Returns
    -------
    numerators : ndarray of shape (K, M')
    outputs : ndarray of shape (M',)
        Which of the outputs are left.
    """
    table = constraints.table
    kept = np.max(table.masses @ rows, axis=0) > RAREST_OUTPUT
    kept[home] = True
    outputs = np.flatnonzero(kept)
    rows = rows[:, outputs]
    home = int(np.searchsorted(outputs, home))
    rows[np.sum(rows, axis=1) == 0, home] = 1.0
    rows = rows / np.sum(rows, axis=1, keepdims=True)
    for attempt in range(MOST_TRIES):
        mixed = _mixed(constraints, rows, home, 2.0**attempt)
        whole = _whole(mixed, home)
        if constraints.hold(whole.astype(object), DENOMINATOR):
            return whole, outputs
    whole = np.zeros((len(rows), 1), dtype=np.int64) + DENOMINATOR
    return whole, outputs[[home]]


def _mixed(constraints: Constraints, rows: FloatArray, home: int, margin: float) -> FloatArray:
    """Return rows to which the same is added for every answer, at every output as much as its constraints miss.

    What is added to all answers alike takes (ratio - 1) times as much off every constraint.
    """
    table = constraints.table
    ratio, room = math.exp(constraints.epsilon), math.expm1(constraints.epsilon)
    first, second = table.ways.T
    off = 1 + table.errors[:, np.newaxis]
    laws = table.masses @ rows
    rounding = 4 * margin * (1 + ratio) * 2.0**-52
    passed = (laws * off)[first] - ratio * (laws / off)[second] + rounding
    missed = np.maximum(0.0, passed)
    # of what passes, delta allows this share
    total = np.sum(missed, axis=1, keepdims=True)
    share = np.minimum(1.0, constraints.delta * (1 - 1e-9 * margin) / np.where(total > 0, total, 1.0))
    added = np.max((1 - share) * missed, axis=0) * (1 + 1e-9 * margin) / room
    least = float(np.min(share))
    if least > 0 and 1 / least - 1 < float(np.sum(added)):
        added = np.zeros(len(added))
        added[home] = 1 / least - 1
    added[home] += 8 * margin * rows.shape[1] * (1 + ratio) * 2.0**-52 / room
    return (rows + added) / (1 + np.sum(added))


def _whole(rows: FloatArray, home: int) -> IntArray:
    """Return rows as numerators; what rounding down leaves goes home."""
    found = np.floor(rows * 2.0**52).astype(np.int64) << 10
    found[:, home] = 0
    left = DENOMINATOR - np.sum(found, axis=1)
    found[:, home] = left
    return found
