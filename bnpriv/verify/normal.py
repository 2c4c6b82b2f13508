"""Normal noise: its tails in decimals, and what it makes of laws that are finite, or normal themselves.

Nothing of the rest of bnpriv is imported. All but the last ten digits of a tail are right; what has no closed form is
enclosed by cutting up the line until what is open does not matter (docs/claims/tight.md).
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal, getcontext, localcontext
from fractions import Fraction
from itertools import pairwise
from math import isqrt
from typing import Any

from bnpriv.verify.forms import HALF, INFINITE, ONE, SLACK, ZERO, DecimalMatrix, Law, StopError, decimal, require

ROOT_OF_TWICE_PI = Decimal(
    "2.506628274631000502415765284811045253006986740609938316629923576342293654607841974946595838378057266116009972665"
)
"""The root of twice pi."""

SERIES_END = Decimal(6)
"""Up to where tails are power series, of positive terms; beyond they are continued fractions."""

NARROW_CELL = Decimal("1e-32")
"""Ends of a cell that are no farther apart."""

OPEN = Decimal("1e-14")
"""What is left open of a delta, as a share of it."""

BELL_DIGITS, LOST_BY_BELLS = 38, Decimal("1e-20")
"""Digits with which sums of bells are worked out, and far more than what they lose in a log or a mass."""

WIDEST_BELLS = Decimal("1e7")
"""Deviations of the noise between two atoms: farther ones lose digits."""

MOVED_SHARE = ONE - Decimal("1e-13")
"""The share of a law that has to be moved inside another one: masses are declared in doubles."""

TOTAL_DIGITS = 110
"""Where two tails nearly cancel."""

TAIL_WORK, EXPONENTIAL_WORK = 25, 10
"""A tail and an exponential, in products of masses."""

Enclosure = tuple[Decimal, Decimal]


def tail(z: Decimal) -> Decimal:
    """How likely a standard normal number is above z."""
    if z < 0:
        return 1 - tail(-z)
    density = (-z * z / 2).exp() / ROOT_OF_TWICE_PI
    if z > SERIES_END:
        rest, levels = z, getcontext().prec + int(2 * (getcontext().prec / z) ** 2)
        for k in range(levels, 0, -1):
            rest = z + k / rest
        return density / rest
    total, term, odd, square = z, z, 1, z * z
    while total + term != total or odd < square:
        odd += 2
        term *= square / odd
        total += term
    return HALF - density * total


def between(low: Decimal, high: Decimal) -> Decimal:
    """How likely a standard normal number is between two; no digits are lost far out, or where both are close."""
    if high - low < NARROW_CELL:  # the density of the middle is right to twice as many digits
        return (high - low) * (-(((low + high) / 2) ** 2) / 2).exp() / ROOT_OF_TWICE_PI
    return tail(low) - tail(high) if -low <= high else tail(-high) - tail(-low)


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
        if self.atoms[-1] > WIDEST_BELLS:
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
                found += [
                    (total / ROOT_OF_TWICE_PI).ln() - w * w / 2,
                    sum(map(operator.mul, terms, self.atoms), ZERO) / total,
                ]
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
            if above + LOST_BY_BELLS <= level:
                continue
            if below - LOST_BY_BELLS > level:
                runs[-1:] = [[runs[-1][0], high]] if runs and runs[-1][1] == low else [*runs[-1:], [low, high]]
                continue
            open_ = most * (1 - (level - above).exp())
            if open_ <= OPEN * delta:
                left += open_ + LOST_BY_BELLS * most
                continue
            middle = (low + high) / 2
            require(low < middle < high, "a cell of the noise that is too narrow to be cut up")
            cells += [(middle, high), (low, middle)]
        ratio, found, lost = level.exp(), ZERO, left
        for low, high in runs:
            gained, paid = self.mass(which, low, high), ratio * self.mass(1 - which, low, high)
            found, lost = found + gained - paid, lost + LOST_BY_BELLS * (gained + paid)
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
# Normal numbers with Laplace noise, in one number or beside it.
# --------------------------------------------------------------------------------------------------


def beside_laplace(mu: Decimal, moved: Decimal, epsilon: Decimal) -> Decimal:
    """The divergence of two numbers at once: one normal, `mu` apart, one with Laplace noise, `moved` scales apart.

    The loss l of the first is normal with mean mu^2 / 2 and deviation mu; the second is left epsilon - l, which costs
    1 - exp((epsilon - l - moved) / 2) from -moved to moved, and 1 - exp(epsilon - l) from there on.
    """
    if not mu:
        return max(ZERO, 1 - epsilon.exp(), 1 - ((epsilon - moved) / 2).exp()) if moved > epsilon else ZERO

    def part(tilt: Decimal, low: Decimal, high: Decimal) -> Decimal:
        """The mean of exp(-tilt l) where l lies between two numbers."""
        centre = mu * mu * (Decimal("0.5") - tilt)
        inside = between((low - centre) / mu, (high - centre) / mu)
        return inside * (mu * mu * tilt * (tilt - 1) / 2).exp() if inside else ZERO

    near, far, half = epsilon - moved, epsilon + moved, Decimal("0.5")
    beyond = part(ZERO, near, INFINITE) - (near / 2).exp() * part(half, near, far)
    return max(ZERO, beyond - epsilon.exp() * part(ONE, far, INFINITE))


@dataclass(frozen=True)
class Blurred:
    """A centred normal number plus Laplace noise.

    Parameters
    ----------
    deviation, scale : Decimal
        Above 0, or the first 0.
    """

    deviation: Decimal
    scale: Decimal

    def sides(self, t: Decimal) -> tuple[Decimal, Decimal]:
        """The two parts of the density at t >= 0, times twice the scale."""
        z, r = t / self.deviation, self.deviation / self.scale
        tilt = r * r / 2
        return (tilt - z * r).exp() * tail(r - z), (tilt + z * r).exp() * tail(z + r)

    def density(self, t: Decimal) -> Decimal:
        """The density, times twice the scale."""
        return sum(self.sides(abs(t)), ZERO) if self.deviation else (-abs(t) / self.scale).exp()

    def above(self, t: Decimal) -> Decimal:
        """Return P(number > t)."""
        far = abs(t)
        if self.deviation:
            near, other = self.sides(far)
            beyond = tail(far / self.deviation) + (near - other) / 2
        else:
            beyond = (-far / self.scale).exp() / 2
        return beyond if t >= 0 else 1 - beyond

    def curve(self, gap: Decimal, epsilon: Decimal) -> Decimal:
        """The divergence of the number and the same moved by a gap, rounded up.

        The ratio of the densities grows: the worst event is all beyond where it is exp(epsilon). Where it is off from
        that by `lost` in logs, the divergence is off by at most twice that share of what lies there.
        """
        if gap <= epsilon * self.scale:
            return ZERO
        if self.deviation > 2**20 * self.scale:  # noise can only hide more
            return curve(gap / self.deviation, epsilon)

        def ratio(t: Decimal) -> Decimal:
            return self.density(t - gap).ln() - self.density(t).ln() - epsilon

        low, high = gap / 2, gap + self.deviation + self.scale
        while ratio(high) < 0 and high < 2**60 * (gap + self.deviation + self.scale):
            low, high = high, 2 * high
        t, lost = crossing(ratio, low, high)
        above = self.above(t - gap)
        return max(ZERO, above - epsilon.exp() * self.above(t) + 2 * abs(lost) * above)


def crossing(ratio: Callable[[Any], Any], low: Any, high: Any, near: float = 1e-16) -> tuple[Any, Any]:
    """Where a growing function is nearly 0, and what it is there; by secants that keep it between them."""
    a, b = ratio(low), ratio(high)
    if a >= 0 or b <= 0:
        return (low, a) if a >= 0 else (high, b)
    middle, value = high, b
    for step in range(200):
        before, middle = value, (low * b - high * a) / (b - a) if step % 4 < 3 else (low + high) / 2
        value = ratio(middle)
        if abs(value) < near or middle in (low, high):
            break
        # an end that stays for a second time counts half (the Illinois rule)
        if value > 0:
            high, b, a = middle, value, a / 2 if before > 0 else a
        else:
            low, a, b = middle, value, b / 2 if before < 0 else b
    return middle, value


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


def edge(holds: Callable[[Decimal], bool]) -> Enclosure:
    """Where a condition that holds for small numbers ends, to 27 digits or more: from below and from above."""
    low, high = ZERO, ONE
    while holds(high):
        low, high = high, 2 * high
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low, high


def farthest_hidden(level: Decimal, delta: Decimal) -> Decimal:
    """How many deviations two normal laws may be apart, rounded down."""
    return edge(lambda far: curve(far, level) <= delta)[0]


def gaussian_epsilon(shift: Decimal, delta: Decimal) -> Decimal:
    """The least epsilon at which a shift of a standard normal has at most a delta, rounded up."""
    if not shift or shift.is_infinite() or delta <= 0:
        return shift and INFINITE
    with localcontext(prec=TOTAL_DIGITS):
        return ZERO if curve(shift, ZERO) <= delta else edge(lambda epsilon: curve(shift, epsilon) > delta)[1]


# --------------------------------------------------------------------------------------------------
# Normal laws of the answer itself.
# --------------------------------------------------------------------------------------------------


def length(
    gap: Sequence[Decimal], covariance: DecimalMatrix, singular: Decimal = SLACK, seen: Decimal = SLACK
) -> Decimal:
    """How long a gap is, in deviations of a covariance, by elimination.

    Infinite where of a variance no more than a share is left, `singular`, and of the gap more than one, `seen`.
    """
    rows, sizes, found = [[*row, g] for row, g in zip(covariance, gap, strict=True)], list(map(abs, gap)), ZERO
    for k, row in enumerate(rows):
        if row[k] <= singular * covariance[k][k]:
            if abs(row[-1]) > seen * sizes[k]:
                return INFINITE
            continue
        found += row[-1] * row[-1] / row[k]
        for j in range(k + 1, len(rows)):
            share = rows[j][k] / row[k]
            rows[j][k:] = [a - share * b for a, b in zip(rows[j][k:], row[k:], strict=True)]
            sizes[j] += abs(share * row[-1])
    return found.sqrt()


def plus(covariance: DecimalMatrix, variances: Sequence[Decimal]) -> DecimalMatrix:
    """A covariance with independent noise added."""
    return [[x + variances[k] * (j == k) for j, x in enumerate(row)] for k, row in enumerate(covariance)]


def with_noise(covariance: DecimalMatrix, noise: DecimalMatrix) -> DecimalMatrix:
    """The covariance of an answer with noise, which may have none."""
    rows = zip(covariance, noise, strict=True) if noise else ()
    return [list(map(operator.add, *both)) for both in rows] or covariance


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
