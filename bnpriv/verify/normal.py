"""Normal noise: its tails in decimals, and what it makes of laws that are finite, or normal themselves.

Nothing of the rest of bnpriv is imported. All but the last ten digits of a tail are right; what has no closed form is
enclosed by cutting up the line until what is open does not matter (docs/claims/tight.md).
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import pairwise
from math import isqrt
from typing import Any

from bnpriv.verify.values import HALF, INFINITE, ONE, SLACK, ZERO, Law, StopError, decimal, require

ROOT = Decimal("2.50662827463100050241576528481104525300698674060993831662992357634229")
"""The root of twice pi."""

SERIES_END, LEVELS = Decimal(6), 200
"""Up to where tails are power series, of positive terms; beyond they are continued fractions of so many levels."""

OPEN = Decimal("1e-14")
"""What is left open of a delta, as a share of it."""

BELL_DIGITS, NEAR = 38, Decimal("1e-20")
"""Digits with which sums of bells are worked out, and far more than what they lose in a log or a mass."""

WIDEST = Decimal("1e7")
"""Deviations of the noise between two atoms: farther ones lose digits."""

KEPT = ONE - Decimal("1e-13")
"""The share of a law that has to be moved inside another one: masses are declared in doubles."""

TAIL_WORK, EXPONENTIAL_WORK = 25, 10
"""A tail and an exponential, in products of masses."""

Enclosure = tuple[Decimal, Decimal]


def tail(z: Decimal) -> Decimal:
    """How likely a standard normal number is above z."""
    if z < 0:
        return 1 - tail(-z)
    density = (-z * z / 2).exp() / ROOT
    if z > SERIES_END:
        rest = z
        for k in range(LEVELS, 0, -1):
            rest = z + k / rest
        return density / rest
    total, term, odd, square = z, z, 1, z * z
    while total + term != total or odd < square:
        odd += 2
        term *= square / odd
        total += term
    return HALF - density * total


def between(low: Decimal, high: Decimal) -> Decimal:
    """How likely a standard normal number is between two; no digits are lost far out."""
    return tail(low) - tail(high) if low + high >= 0 else tail(-high) - tail(-low)


def curve(far: Decimal, level: Decimal) -> Decimal:
    """The hockey-stick divergence of two normal laws whose means are so many deviations apart, at any level."""
    if level == -INFINITE or far == INFINITE:
        return ONE
    if far <= 0:
        return max(ZERO, 1 - level.exp())
    return max(ZERO, tail(level / far - far / 2) - level.exp() * tail(level / far + far / 2))


def root_above(exact: Fraction) -> Fraction:
    """The root of a fraction, rounded up in the 60th digit or later."""
    unit = 10**60 * max(1, exact.denominator)
    return Fraction(isqrt(exact.numerator * unit * unit // exact.denominator) + 1, unit) if exact else exact


class Bells:
    """Two laws of finitely many numbers after normal noise; lengths are in deviations of the noise.

    The slope of the log of a law's density at w is the mean of its atoms given w, less w. That mean does not fall with
    w, so that the log of the ratio of both densities is bounded in a cell by its ends.
    """

    def __init__(self, first: Law, second: Law, scale: Decimal, spend: Callable[[int], None]) -> None:
        points = sorted(first.keys() | second.keys())
        self.atoms = [decimal(Fraction(x) - Fraction(points[0])) / scale for x in points]
        self.laws = [[law.get(x, ZERO) for x in points] for law in (first, second)]
        self.spend, self.steps = spend, [b - a for a, b in pairwise(self.atoms)]
        if self.atoms[-1] > WIDEST:
            raise StopError("too large", "atoms that are very many deviations of the noise apart")
        spend(EXPONENTIAL_WORK * len(points))
        bells = [(-x * x / 2).exp() for x in self.atoms]
        self.weighed = [list(map(operator.mul, law, bells)) for law in self.laws]
        self.seen = dict[Decimal, tuple[Decimal, ...]]()

    def at(self, w: Decimal) -> tuple[Decimal, ...]:
        """The logs of both densities at w, and the means of both laws' atoms given w."""
        if w not in self.seen:
            self.spend(len(self.atoms) + EXPONENTIAL_WORK * len(set(self.steps)))
            grown, factor, factors = {step: (w * step).exp() for step in set(self.steps)}, ONE, [ONE]
            for step in self.steps:
                factor *= grown[step]
                factors.append(factor)
            found = list[Decimal]()
            for weighed in self.weighed:
                terms = list(map(operator.mul, weighed, factors))
                total = sum(terms, ZERO)
                found += [(total / ROOT).ln() - w * w / 2, sum(map(operator.mul, terms, self.atoms), ZERO) / total]
            self.seen[w] = found[0], found[2], found[1], found[3]
        return self.seen[w]

    def mass(self, which: int, low: Decimal, high: Decimal) -> Decimal:
        """How likely a law is between two numbers, after the noise."""
        self.spend(2 * TAIL_WORK * len(self.atoms))
        return sum(
            (p * between(low - x, high - x) for p, x in zip(self.laws[which], self.atoms, strict=True) if p), ZERO
        )

    def excess(self, which: int, level: Decimal, delta: Decimal) -> Enclosure:
        """The hockey-stick divergence of one law from the other one, enclosed to within a small share of delta."""
        with localcontext() as context:
            context.prec = BELL_DIGITS
            return self.enclosed(which, +level, +delta)

    def enclosed(self, which: int, level: Decimal, delta: Decimal) -> Enclosure:
        """The same, in few digits: where the ratio passes the level is found in cells that are cut up."""
        reach = (64 - 2 * delta.ln()).sqrt()
        ends = -reach, self.atoms[-1] + reach
        left, runs, cells = 2 * tail(reach), list[list[Decimal]](), [ends]
        while cells:
            low, high = cells.pop()
            above, below, most = self.inside(which, low, high)
            if above + NEAR <= level:
                continue
            if below - NEAR > level:
                runs[-1:] = [[runs[-1][0], high]] if runs and runs[-1][1] == low else [*runs[-1:], [low, high]]
                continue
            open_ = most * (1 - (level - above).exp())
            if open_ <= OPEN * delta:
                left += open_ + NEAR * most
                continue
            middle = (low + high) / 2
            require(low < middle < high, "a cell of the noise that is too narrow to be cut up")
            cells += [(middle, high), (low, middle)]
        ratio, found, lost = level.exp(), ZERO, left
        for low, high in runs:
            gained, paid = self.mass(which, low, high), ratio * self.mass(1 - which, low, high)
            found, lost = found + gained - paid, lost + NEAR * (gained + paid)
        return max(ZERO, found - lost), found + lost

    def inside(self, which: int, low: Decimal, high: Decimal) -> tuple[Decimal, Decimal, Decimal]:
        """The log ratio in a cell, at most and at least, and how likely the law is there, at most."""
        a, b, wide = self.at(low), self.at(high), high - low
        own, other = which, 1 - which
        up, down = b[2 + own] - a[2 + other], a[2 + own] - b[2 + other]
        first, last = a[own] - a[other], b[own] - b[other]
        above = min(first + max(ZERO, wide * up), last - min(ZERO, wide * down))
        below = max(first + min(ZERO, wide * down), last - max(ZERO, wide * up))
        rise = min(a[own] + max(ZERO, wide * (b[2 + own] - low)), b[own] - min(ZERO, wide * (a[2 + own] - high)))
        return above, below, min(ONE, wide * rise.exp())


# --------------------------------------------------------------------------------------------------
# Laws of several numbers: part of one is moved inside the other, no farther than the noise hides.
# --------------------------------------------------------------------------------------------------


def moved_inside(first: Law, second: Law, far: Callable[[Any, Any], Decimal], most: Decimal, spend: Any) -> Any:
    """Move as much of a law as can be into another one, no atom farther than `most`.

    Returns
    -------
    dict, Decimal
        How much of it goes from which atom to which, and what cannot be moved: the largest flow, by shortest ways.
    """
    spend(4 * len(first) * len(second))
    apart = {x: {y: far(x, y) for y in second} for x in first}
    near = {x: sorted((y for y in second if row[y] <= most), key=row.__getitem__) for x, row in apart.items()}
    left, room, flow = dict(first), dict(second), dict[Any, Decimal]()
    into: dict[Any, list[Any]] = {y: [] for y in second}
    for x, ys in near.items():
        for y in ys:
            into[y].append(x)
    while True:
        came: dict[Any, Any] = {(0, x): None for x, p in left.items() if p > 0}
        queue, end = list(came), None
        for side, z in queue:
            if side and room[z] > 0:
                end = (side, z)
                break
            further = [(0, x) for x in into[z] if flow.get((x, z), ZERO) > 0] if side else [(1, y) for y in near[z]]
            spend(1 + len(further) // 4)
            for node in further:
                if node not in came:
                    came[node] = side, z
                    queue.append(node)
        if end is None:
            return {pair: p for pair, p in flow.items() if p > 0}, sum(left.values(), ZERO)
        way = [end]
        while came[way[-1]] is not None:
            way.append(came[way[-1]])
        steps = [(b[1], a[1]) if a[0] else (a[1], b[1]) for a, b in pairwise(way)]
        back = [pair for pair, (a, _) in zip(steps, pairwise(way), strict=True) if not a[0]]
        part = min(left[way[-1][1]], room[end[1]], *(flow[pair] for pair in back), ONE)
        left[way[-1][1]] -= part
        room[end[1]] -= part
        for pair, (a, _) in zip(steps, pairwise(way), strict=True):
            flow[pair] = flow.get(pair, ZERO) + (part if a[0] else -part)


def exceeding(first: Law, second: Law) -> Law:
    """What a law has more of than another one."""
    return {x: p - second.get(x, ZERO) for x, p in first.items() if p > second.get(x, ZERO)}


def farthest_hidden(level: Decimal, delta: Decimal) -> Decimal:
    """How many deviations two normal laws may be apart, to 30 digits, rounded down."""
    low, high = ZERO, ONE
    while curve(high, level) <= delta:
        low, high = high, 2 * high
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if curve(middle, level) <= delta else (low, middle)
    return low


# --------------------------------------------------------------------------------------------------
# Normal laws of the answer itself.
# --------------------------------------------------------------------------------------------------

Matrix = list[list[Decimal]]


def length(gap: Sequence[Decimal], covariance: Matrix) -> Decimal:
    """How long a gap is, in deviations of a covariance, by Cholesky's factor; infinite where it has no variance."""
    factor, solved = list[list[Decimal]](), list[Decimal]()
    for j, row in enumerate(covariance):
        line = list[Decimal]()
        for k, above in enumerate(factor):
            line.append((row[k] - sum(map(operator.mul, line, above), ZERO)) / above[k] if above[k] else ZERO)
        rest = row[j] - sum((x * x for x in line), ZERO)
        line.append(rest.sqrt() if rest > row[j] * SLACK else ZERO)
        known = list(map(operator.mul, line, solved))
        far = gap[j] - sum(known, ZERO)
        if not line[j] and abs(far) > SLACK * sum(map(abs, known), abs(gap[j])):
            return INFINITE
        solved.append(far / line[j] if line[j] else ZERO)
        factor.append(line)
    return sum((x * x for x in solved), ZERO).sqrt()


def plus(covariance: Matrix, variances: Sequence[Decimal]) -> Matrix:
    """A covariance with independent noise added."""
    return [[x + variances[k] * (j == k) for j, x in enumerate(row)] for k, row in enumerate(covariance)]


def of_two_variances(gap: Decimal, first: Decimal, second: Decimal, level: Decimal) -> Decimal:
    """The hockey-stick divergence of N(gap, first) from N(0, second), in closed form."""
    # the log ratio passes the level where a quadratic in w is positive
    square, line = (1 / second - 1 / first) / 2, gap / first
    rest = (second / first).ln() / 2 - gap * gap / (2 * first) - level
    under = line * line - 4 * square * rest
    if under <= 0:
        return max(ZERO, 1 - level.exp()) if square > 0 else ZERO
    ends = sorted(((-line - sign * under.sqrt()) / (2 * square)) for sign in (1, -1))
    sides = zip((gap, ZERO), (first.sqrt(), second.sqrt()), (ONE, -level.exp()), strict=True)
    inside = sum((sign * between((ends[0] - m) / s, (ends[1] - m) / s) for m, s, sign in sides), ZERO)
    return 1 - level.exp() - inside if square > 0 else inside
