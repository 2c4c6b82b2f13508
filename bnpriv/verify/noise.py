"""Noise as a stored calibration says it, replayed for `bnpriv.verify`: weights, tails, and the rows of a channel.

Nothing of the rest of bnpriv is imported. The rows of a channel are whole numbers: what it makes of a law is a sum of
products that are all positive.
"""

from __future__ import annotations

import math
import operator
from bisect import bisect_left
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Any

from bnpriv.verify.values import ONE, ZERO, Law, StopError, require, summed

MOST_NOISY_NUMBERS = 2**20
"""Numbers that an answer may have."""


def recursions(masses: Sequence[Decimal], decay: Sequence[Decimal]) -> tuple[list[Decimal], list[Decimal]]:
    """What reaches every point from itself and the left, and from the right, through noise that decays."""
    left, right = [masses[0]], [ZERO]
    for mass, r in zip(masses[1:], decay, strict=True):
        left.append(mass + left[-1] * r)
    for mass, r in zip(masses[:0:-1], decay[::-1], strict=True):
        right.append((mass + right[-1]) * r)
    return left, right[::-1]


def smoothed(masses: list[Decimal], decays: Sequence[Sequence[Decimal]]) -> list[Decimal]:
    """A law on a grid, the last axis the fastest, after noise that decays along each axis; in its place."""
    stride = 1
    for decay in reversed(decays):
        size = len(decay) + 1
        for start in range(len(masses)):
            if start // stride % size == 0:
                line = slice(start, start + stride * size, stride)
                masses[line] = map(operator.add, *recursions(masses[line], decay))
        stride *= size
    return masses


def weights_of(noise: Any) -> list[Fraction]:
    """The weight of every number of an answer: it has noise of the scale over its weight."""
    written, count = noise.get("weights"), noise["dimension"]
    require(type(count) is int and count <= MOST_NOISY_NUMBERS, "the numbers of an answer")  # a list of as many is made
    require(not written or all(type(weight) in (int, float) for weight in written), "the weights of the noise")
    found = [Fraction(weight) for weight in written or [1] * count]
    require(all(weight > 0 for weight in found), "the weights of the noise")
    return found


def _whole(digits: Any) -> int:
    """A whole number that is written in digits, as a text."""
    require(isinstance(digits, str), "a number of a channel that is no text")
    return int(digits)


class StoredRows:
    """A channel: for every input a law on the outputs, in whole numbers over one denominator."""

    def __init__(self, facts: Any) -> None:
        self.inputs, self.outputs = (list(map(float.fromhex, facts[name])) for name in ("inputs", "outputs"))
        self.denominator = _whole(facts["denominator"])
        for numbers in (self.inputs, self.outputs):
            require(numbers and all(map(math.isfinite, numbers)), "a channel without inputs or outputs")
            require(all(a < b for a, b in pairwise(numbers)), "inputs or outputs that do not increase")
        self.rows = [[(k, _whole(digits)) for k, digits in row] for row in facts["numerators"]]
        self.size = sum(map(len, self.rows))
        require(len(self.rows) == len(self.inputs) and self.denominator > 0, "a channel of another shape")
        for value, row in zip(self.inputs, self.rows, strict=True):
            places = [k for k, _ in row]
            known = all(type(k) is int and 0 <= k < len(self.outputs) for k in places)
            require(known and all(j < k for j, k in pairwise(places)), "a row that does not list outputs in order")
            if min((n for _, n in row), default=0) < 0 or sum(n for _, n in row) != self.denominator:
                raise StopError("fails", f"the row of {value!r} is no law: its numbers do not sum to the denominator")

    def nearest(self, value: float) -> int:
        """The place of the input that is nearest to a double, the lower one of two."""
        k = bisect_left(self.inputs, value)
        if k == len(self.inputs):
            return k - 1
        exact = Fraction(value)
        below = k > 0 and exact - Fraction(self.inputs[k - 1]) <= Fraction(self.inputs[k]) - exact
        return k - 1 if below else k

    def released(self, law: Law) -> Law:
        """The law of what is released, given that of the exact answer, which may be any double."""
        gathered: dict[int, Decimal] = {}
        for (value,), mass in law.items():
            k = self.nearest(value)
            gathered[k] = gathered.get(k, ZERO) + mass
        cells = ((j, p * n) for k, p in gathered.items() for j, n in self.rows[k])
        return {(self.outputs[j],): mass / self.denominator for j, mass in summed(cells).items()}


def laplace_excess(left: Sequence[Decimal], right: Sequence[Decimal], decay: Sequence[Decimal]) -> Decimal:
    """The mass by which a signed law with Laplace noise is positive, from what `recursions` returns."""
    found = max(ZERO, left[0] + right[0]) + max(ZERO, left[-1])
    for a, b, r in zip(left, right, decay, strict=False):
        # between two atoms the density is a exp(-t) + b exp(t): it changes its sign at most once
        turn = min(max((-a / b).sqrt(), ONE), 1 / r) if a * b < 0 else ONE
        for low, high in ((ONE, turn), (turn, 1 / r)):
            found += max(ZERO, a * (1 / low - 1 / high) + b * (high - low))
    return found / 2
