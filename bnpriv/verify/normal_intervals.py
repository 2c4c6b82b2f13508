"""Two secrets of a normal number, values or intervals, behind Laplace noise (docs/claims/normal_intervals.md).

Nothing of the rest of bnpriv is imported.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from bnpriv.verify.forms import ZERO, number, require
from bnpriv.verify.normal import between, crossing

# --------------------------------------------------------------------------------------------------
# Two secrets of a normal number: values that are so far apart, or two intervals.
# --------------------------------------------------------------------------------------------------

PLAUSIBLE_REACH = Decimal("7.5")
"""Deviations within which one of two values lies, where only their distance is declared; it is printed with a claim."""

BEYOND_AN_END = Decimal("1e-21")
"""What may lie beyond the far end of an interval without an end."""

TWICE_THE_NATS = 100
"""Twice the nats by which the density has fallen there."""

EndsOfRange = tuple[Decimal, Decimal]


@dataclass(frozen=True)
class TwoSecrets:
    """Two secrets.

    Parameters
    ----------
    apart : Decimal
        How far apart two values are; of intervals the farthest ones.
    sides : tuple of (Decimal, Decimal)
        The ends of both, that of the lower values first; none where only a distance is declared.
    """

    apart: Decimal
    sides: tuple[EndsOfRange, ...] = ()

    @property
    def wide(self) -> bool:
        """Whether a secret is more than a value."""
        return any(low < high for low, high in self.sides)

    def standard(self, mean: Decimal, deviation: Decimal) -> list[EndsOfRange]:
        """The intervals in deviations above the mean."""
        return [((low - mean) / deviation, (high - mean) / deviation) for low, high in self.sides]


def secret_pairs(secret: Any) -> list[TwoSecrets]:
    """What must not be told apart."""
    if "apart" in secret:
        return [TwoSecrets(number(secret["apart"]))]
    found: list[TwoSecrets] = []
    for pair in secret["intervals"]:
        low, high = sorted((number(side[0]), number(side[1])) for side in pair)
        require(low[0] <= low[1] and high[0] <= high[1] and low[1] <= high[0], "intervals that are none")
        found.append(TwoSecrets(high[1] - low[0], (low, high)))
    return found


def log_mean(side: EndsOfRange, tilt: Decimal) -> Decimal:
    """Log of the mean of exp(tilt s) where a standard normal s lies in an interval."""
    low, high = side
    if low == high:
        return tilt * low
    return tilt * tilt / 2 + between(low - tilt, high - tilt).ln() - between(low, high).ln()


def counted(side: EndsOfRange) -> EndsOfRange:
    """An interval without the far end beyond which less than `BEYOND_AN_END` of it lies, if it has no end."""
    low, high = side
    if low.is_finite() and high.is_finite():
        return side
    near = max(ZERO, -high if low.is_infinite() else low)
    far = (near * near + TWICE_THE_NATS).sqrt()
    return (low, far) if high.is_infinite() else (-far, high)


# --------------------------------------------------------------------------------------------------
# A normal number in one of two intervals, plus noise: integrals of functions whose logs are concave.
#
# Such a function lies above its chords in logs, and below its tangents. Doubles serve here.
# --------------------------------------------------------------------------------------------------

FINE_CELLS, COARSE_CELLS = 2500, 100
"""Cells of an interval, and as many of the stretch in which the noise varies; and those that find where to look."""

DOUBLES = 1e-11
"""Relative error of an integral by doubles: a hundred times what erfc, exp and sums of doubles are off by."""

FALLEN = 16.0
"""Deviations by which an interval is cut; what lies beyond is bounded by the last tangent."""


def mills(z: float) -> float:
    """Return P(Z > z) over the density of Z at z; from 5 on by a continued fraction."""
    if z < 5:
        return math.sqrt(math.pi / 2) * math.exp(z * z / 2) * math.erfc(z / math.sqrt(2))
    under = z
    for k in range(12 + int(600 / (z * z)), 0, -1):
        under = z + k / under
    return 1 / under


def _normal_log(z: float) -> float:
    return -z * z / 2 - math.log(2 * math.pi) / 2


@dataclass(frozen=True)
class LogBlur:
    """The logs of density, up to a factor, and tail of a centred normal number plus a Laplace one; in doubles.

    Parameters
    ----------
    deviation, scale : float
        The latter above 0.
    """

    deviation: float
    scale: float

    def sides(self, x: float) -> tuple[float, float]:
        """The logs of the two parts of the density at x >= 0, as those of `Blurred`."""
        if not self.deviation:
            return -x / self.scale, -math.inf
        z, r = x / self.deviation, self.deviation / self.scale
        far = _normal_log(z) + math.log(mills(r + z))
        if z < r:
            return _normal_log(z) + math.log(mills(r - z)), far
        return r * r / 2 - z * r + math.log(math.erfc((r - z) / math.sqrt(2)) / 2), far

    def density(self, x: float) -> LogAndSlope:
        """The log of the density, times twice the scale, and its slope."""
        near, far = self.sides(abs(x))
        share = math.exp(far - near)
        return near + math.log1p(share), math.copysign((1 - share) / (1 + share) / self.scale, -x)

    def tail(self, x: float) -> LogAndSlope:
        """The log of the probability of more than a number, and its slope."""
        near, far = self.sides(abs(x))
        top, found = near, (1 - math.exp(far - near)) / 2
        if self.deviation:
            z = abs(x) / self.deviation
            own = _normal_log(z) + math.log(mills(z))
            top = max(own, near)
            found = math.exp(own - top) + math.exp(near - top) * found
        beyond = top + math.log(found)
        value = beyond if x >= 0 else math.log1p(-math.exp(beyond))
        return value, -math.exp(near + math.log1p(math.exp(far - near)) - value) / (2 * self.scale)


LogAndSlope = tuple[float, float]
"""The log of a function, and its slope."""


def integral(logs: Callable[[float], LogAndSlope], nodes: Sequence[float]) -> tuple[float, float]:
    """Bounds on the log of an integral between the first and the last of some nodes."""
    found = [logs(node) for node in nodes]
    top = max(value for value, _ in found)
    below, above = list[float](), list[float]()
    for (f, rise), (g, fall), x, y in zip(found, found[1:], nodes, nodes[1:], strict=False):
        width, start, end = y - x, math.exp(f - top), math.exp(g - top)
        below.append(width * start * _rising(g - f))
        # the tangents of both ends meet in between
        turn = (g - f - fall * width) / (rise - fall) if rise - fall > 1e-9 * (abs(rise) + abs(fall)) else width / 2
        turn = min(max(turn, 0.0), width)
        above.append(turn * start * _rising(rise * turn) + (width - turn) * end * _rising(fall * (turn - width)))
    return top + math.log(math.fsum(below)) - DOUBLES, top + math.log(math.fsum(above)) + DOUBLES


def _rising(rise: float) -> float:
    """The mean of exp(x) from 0 to a number."""
    return math.expm1(min(rise, 700.0)) / rise if abs(rise) > 1e-9 else 1 + rise / 2


class Intervals:
    """Two intervals of a standard normal number, and noise beside it.

    Parameters
    ----------
    low, high : (Decimal, Decimal)
        The lower interval and the upper one.
    kernel : LogBlur
    """

    def __init__(self, low: EndsOfRange, high: EndsOfRange, kernel: LogBlur) -> None:
        self.sides, self.kernel = (high, low), kernel
        # what is measured from the end that is nearer to 0 loses no digits where both are far out
        self.ends = [min(side, key=abs) for side in self.sides]
        self.masses = [
            ZERO if side[0] == side[1] else between(*side).ln() + end * end / 2
            for side, end in zip(self.sides, self.ends, strict=True)
        ]

    def bounds(self, k: int, place: float, logs: Callable[[float], LogAndSlope], cells: int) -> tuple[float, float]:
        """Bounds on the log of the mean of a function of place - s over an interval."""
        (low, high), anchor = map(float, self.sides[k]), float(self.ends[k])
        if low == high:
            value, _ = logs(place - low)
            return value - DOUBLES, value + DOUBLES

        def product(s: float) -> LogAndSlope:
            value, slope = logs(place - s)
            return value - (s - anchor) * (s + anchor) / 2, -slope - s

        near, size = abs(anchor) if low * high > 0 else 0.0, max(self.kernel.deviation, self.kernel.scale)
        reach = math.hypot(near, FALLEN)
        # as far as it takes until the rest falls
        above, under = reach, -reach
        while above < high and product(above)[1] > -1:
            above *= 1.5
        while under > low and product(under)[1] < 1:
            under *= 1.5
        first, last = max(low, under), min(high, above)
        stretch = max(first, place - FALLEN * size), min(last, place + FALLEN * size)
        nodes = {first + (last - first) * j / cells for j in range(cells + 1)}
        if stretch[0] < stretch[1]:
            nodes |= {stretch[0] + (stretch[1] - stretch[0]) * j / cells for j in range(cells + 1)}
            nodes |= {place} if first < place < last else set[float]()
        near, inner = (last - first) / cells / 2**20, sorted(nodes)
        inner = [x for x, y in zip(inner, [*inner[1:], math.inf], strict=True) if y - x > near]
        inner[0], inner[-1] = first, last
        least, most = integral(product, inner)
        for cut, way in ((last < high, 1), (first > low, -1)):
            value, slope = product(last if way > 0 else first)
            rest = value - math.log(-way * slope) if way * slope < 0 else math.inf
            most = max(most, rest) + math.log1p(math.exp(-abs(most - rest))) if cut else most
        mass = float(self.masses[k]) + math.log(2 * math.pi) / 2
        # by how much a tangent is off whose slope is a difference of two parts
        off = DOUBLES + 1e-14 * (last - first) / cells / self.kernel.scale
        return least - mass - DOUBLES, most - mass + off

    def excess(self, epsilon: float) -> float:
        """A bound on P(s + noise > t | upper) - exp(epsilon) P(s + noise > t | lower) at its largest."""

        def ratio(place: float, cells: int = COARSE_CELLS) -> tuple[float, float]:
            (a, b), (c, d) = (self.bounds(k, place, self.kernel.density, cells) for k in (0, 1))
            return a - d, b - c

        def aimed(place: float) -> float:
            return sum(ratio(place)) / 2 - epsilon

        size = self.kernel.deviation + self.kernel.scale + 1
        begin, end = -size, size
        while aimed(begin) > 0 and begin > -1e6 * size:
            begin *= 2
        while aimed(end) < 0 and end < 1e6 * size:
            end *= 2
        place, _ = crossing(aimed, begin, end, 1e-6)
        found = 1.0
        for _ in range(12):
            least, most = ratio(place, FINE_CELLS)
            if most <= epsilon:
                caught = self.bounds(0, place, self.kernel.tail, FINE_CELLS)[1]
                missed = self.bounds(1, place, self.kernel.tail, FINE_CELLS)[0]
                found = min(found, max(0.0, math.exp(min(0.0, caught)) - math.exp(least + missed)) + 1e-300)
                if epsilon - most < 1e-7 * (1 + epsilon):
                    break
            # the coarse cells say where the fine ones have moved by what is too much, or by most of what is left
            shift = aimed(place) - (1.01 if most > epsilon else 0.9) * (most - epsilon) - 1e-9
            place, _ = crossing(lambda at: aimed(at) - shift, begin, end, 1e-9)  # noqa: B023
        return found


def told_apart(low: EndsOfRange, high: EndsOfRange, kernel: LogBlur, epsilon: Decimal) -> Decimal:
    """The divergence of a number in one of two intervals, with noise, both ways round; rounded up."""
    found = 0.0
    for below_it, above_it in ((low, high), ((-high[1], -high[0]), (-low[1], -low[0]))):
        tilt = 1 / Decimal(kernel.scale)
        if log_mean(above_it, tilt) - log_mean(below_it, tilt) > epsilon:
            found = max(found, Intervals(below_it, above_it, kernel).excess(float(epsilon)))
    return Decimal(found)
