"""Claims about jointly normal records, parameters and answers, replayed in decimals.

Nothing of the rest of bnpriv is imported. docs/claims/gaussian_network.md, normal_records.md, normal_intervals.md.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

from bnpriv.verify.changes import LONG_DRAWS, Moves
from bnpriv.verify.claim import Claim, NoisyPair
from bnpriv.verify.columns import normal, tail
from bnpriv.verify.normal import curve, length, of_two_variances, plus
from bnpriv.verify.values import (
    DATASET,
    INFINITE,
    MOST_STORED_MODELS,
    ONE,
    SLACK,
    ZERO,
    decimal,
    fraction,
    number,
    refuse,
    require,
)

CovarianceRows = list[list[Decimal]]

# --------------------------------------------------------------------------------------------------
# The joint law of normal attributes.
# --------------------------------------------------------------------------------------------------

COVARIANCE_DIGITS = 130
"""Of sums and products of covariances, so that 60 are left where they nearly cancel."""

NOTHING_LEFT = Decimal("1e-30")
"""A share of a variance that counts as nothing left of it."""


class NormalNodes:
    """Attributes that are jointly normal under every model, and the columns that they drive."""

    def __init__(self, facts: Any) -> None:
        self.models, self.driven = facts["models"], facts["driven"]
        require(type(self.models) is int and 0 < self.models <= MOST_STORED_MODELS, "the number of models")
        self.regressions, self.given = facts.get("regressions", {}), facts.get("covariance")
        self.names: list[str] = list(self.regressions) or facts["attributes"]
        self.means = facts.get("mean")
        self.states = dict.fromkeys(self.names, ())

    def drivers(self, columns: Sequence[str]) -> list[str]:
        """The attributes that drive some columns, sorted."""
        found = {name for column in columns for name in self.driven.get(column, [column])}
        return sorted(found & self.states.keys())

    def law(self, theta: int) -> tuple[dict[str, Decimal], dict[tuple[str, str], Decimal]]:
        """The means and the covariances of all attributes under a model."""
        if self.given is not None:
            means = dict(zip(self.names, map(number, _of(self.means, theta)), strict=True))
            rows = [list(map(number, row)) for row in _of(self.given, theta)]
            places = {name: k for k, name in enumerate(self.names)}
            pairs = ((a, b, *sorted((places[a], places[b]))) for a in self.names for b in self.names)
            return means, {(a, b): rows[high][low] for a, b, low, high in pairs}
        means, roots = dict[str, Decimal](), dict[str, dict[str, Decimal]]()
        todo = list(self.names)
        while todo:
            name = todo.pop(0)
            row = self.regressions[name]
            slopes = {parent: number(_of(slope, theta)) for parent, slope in row["coefficients"].items()}
            if not slopes.keys() <= roots.keys():
                require(any(not self.regressions[n]["coefficients"].keys() - roots.keys() for n in todo), "a cycle")
                todo.append(name)
                continue
            deviation = number(_of(row["deviation"], theta))
            require(deviation > 0, "a deviation that is not above 0")
            means[name] = number(_of(row["intercept"], theta)) + sum(s * means[p] for p, s in slopes.items())
            roots[name] = {name: deviation}
            for parent, slope in slopes.items():
                for source, size in roots[parent].items():
                    roots[name][source] = roots[name].get(source, ZERO) + slope * size
        return means, {
            (a, b): sum((x * roots[b].get(s, ZERO) for s, x in roots[a].items()), ZERO) for a in roots for b in roots
        }


def _of(several: Sequence[Any], theta: int) -> Any:
    """What belongs to a model; one stands for all."""
    return several[theta if len(several) > 1 else 0]


def left_over(matrix: CovarianceRows, gap: Sequence[Decimal]) -> Decimal:
    """Return gap' matrix^-1 gap of a covariance, by elimination; infinite where it is nearly singular."""
    rows, found = [[*row, g] for row, g in zip(matrix, gap, strict=True)], ZERO
    sizes = [row[k] for k, row in enumerate(matrix)]
    for k, row in enumerate(rows):
        if row[k] <= NOTHING_LEFT * sizes[k]:
            return INFINITE if any(gap) else ZERO
        found += row[-1] * row[-1] / row[k]
        for later in rows[k + 1 :]:
            share = later[k] / row[k]
            later[k:] = [a - share * b for a, b in zip(later[k:], row[k:], strict=True)]
    return found


# --------------------------------------------------------------------------------------------------
# The curves of normal numbers with noise.
# --------------------------------------------------------------------------------------------------


def below(z: Decimal) -> Decimal:
    """Return P(Z < z) for a standard normal Z."""
    return tail(-z) if z <= 0 else ONE - tail(z)


def gaussian_curve(mu: Decimal, epsilon: Decimal) -> Decimal:
    """The hockey-stick divergence of two normal numbers of deviation 1 that are `mu` apart."""
    if not mu:
        return max(ZERO, 1 - epsilon.exp())
    return below(mu / 2 - epsilon / mu) - epsilon.exp() * below(-mu / 2 - epsilon / mu) if mu < INFINITE else ONE


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
        inside = normal((low - centre) / mu, (high - centre) / mu)
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
        return (tilt - z * r).exp() * below(z - r), (tilt + z * r).exp() * tail(z + r)

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
            return gaussian_curve(gap / self.deviation, epsilon)

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
    return tilt * tilt / 2 + normal(low - tilt, high - tilt).ln() - normal(low, high).ln()


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
            ZERO if side[0] == side[1] else normal(*side).ln() + end * end / 2
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
        for _ in range(12):
            least, most = ratio(place, FINE_CELLS)
            if most <= epsilon:
                caught = self.bounds(0, place, self.kernel.tail, FINE_CELLS)[1]
                missed = self.bounds(1, place, self.kernel.tail, FINE_CELLS)[0]
                return max(0.0, math.exp(min(0.0, caught)) - math.exp(least + missed)) + 1e-300
            # the coarse cells say where the fine ones fall by what is too much
            shift = aimed(place) - 1.01 * (most - epsilon) - 1e-9
            place, _ = crossing(lambda at: aimed(at) - shift, begin, place, 1e-9)  # noqa: B023
        return 1.0


def between(low: EndsOfRange, high: EndsOfRange, kernel: LogBlur, epsilon: Decimal) -> Decimal:
    """The divergence of a number in one of two intervals, with noise, both ways round; rounded up."""
    found = 0.0
    for below_it, above_it in ((low, high), ((-high[1], -high[0]), (-low[1], -low[0]))):
        tilt = 1 / Decimal(kernel.scale)
        if log_mean(above_it, tilt) - log_mean(below_it, tilt) > epsilon:
            found = max(found, Intervals(below_it, above_it, kernel).excess(float(epsilon)))
    return Decimal(found)


# --------------------------------------------------------------------------------------------------
# Answers that are linear in normal columns.
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class NormalShift:
    """How a secret moves the columns and the answer under one model.

    Parameters
    ----------
    mean, deviation : Decimal
        Of the secret.
    slopes : list of (Decimal, Decimal, Decimal, str)
        For every queried column by how much its values move with the secret, their mean and deviation, and its name.
    gap : list of Decimal
        By how much every number of the answer moves with the secret, in units of its noise.
    moves : Decimal
        At most by that much in the 1-norm, however records are clamped.
    rest : list of list of Decimal
        The covariance of the answer given the secret.
    """

    mean: Decimal
    deviation: Decimal
    slopes: list[tuple[Decimal, Decimal, Decimal, str]]
    gap: list[Decimal]
    moves: Decimal
    rest: CovarianceRows


class NormalAnswers:
    """The answers of a claim about normal records or parameters."""

    def __init__(self, claim: Claim, nodes: NormalNodes) -> None:
        self.claim, self.nodes, self.form = claim, nodes, claim.form
        self.records = claim.model["notion"] == DATASET
        self.weights = [
            self.in_means(self.form.terms, row, claim.n, under, weight)
            for row, under, weight in zip(self.form.rows, self.form.under, claim.weights, strict=True)
        ]
        self.columns = sorted({name for row in self.weights for name in row})
        laws = claim.model.get("laws", {})
        self.own = {name: ZERO if self.records else number(laws[name][0]["normal"][1]) for name in self.columns}

    def in_means(self, terms: Any, row: Any, n: int, under: int, weight: Fraction) -> dict[str, Decimal]:
        """The weights of the means of columns in a number of the answer."""
        found = dict[str, Decimal]()
        for k, share in row.items():
            require(terms[k][0] == "steps" and terms[k][2] == 1, "an answer that is not linear in normal columns")
            name = terms[k][1]
            found[name] = found.get(name, ZERO) + decimal(share * n * weight / under / self.grid(name))
        return found

    def grid(self, name: str) -> Fraction:
        """The distance of neighbouring steps of a column."""
        column = self.claim.model["columns"][name]
        return (Fraction(column["upper"]) - Fraction(column["lower"])) / column["steps"]

    def rounding(self, moves: Moves) -> Decimal:
        """By how much grids and doubles can move two answers apart, in scales of the noise."""
        return moves.rounding + sum(self.by_grids(), ZERO) / self.claim.scale

    def by_grids(self) -> list[Decimal]:
        """By how much grids can move each number of two answers apart, weighted."""
        return [self.by_grid(row) for row in self.weights]

    def by_grid(self, row: Mapping[str, Decimal]) -> Decimal:
        """The same, of one number."""
        found = Fraction(0)
        for name, weight in row.items():
            column, grid = self.claim.model["columns"][name], self.grid(name)
            largest = max(abs(Fraction(column["lower"])), abs(Fraction(column["upper"])))
            # half a step each, what is off in the step that is found, and the double that stands for a value
            moved = grid * (1 + Fraction(8 * column["steps"], 2**53)) + largest / 2**52
            found += abs(Fraction(weight)) * moved
        return decimal(found)

    def moved(self, name: str, secret: Any, theta: int) -> NormalShift:
        """How a secret moves the answer under a model."""
        means, covariance = self.nodes.law(theta)
        weights, constant, n = {name: ONE}, ZERO, self.claim.n
        if self.records:
            form = secret["form"]
            (row,), (shift,) = form["matrix"], form["offset"]
            found = {int(k): fraction(weight) for k, weight in row}
            weights = self.in_means(form["terms"], found, n, 1, Fraction(1))
            lowers = (decimal(Fraction(self.claim.model["columns"][c]["lower"])) * w for c, w in weights.items())
            constant = decimal(fraction(shift)) - sum(lowers, ZERO)
        known = {*self.columns, *weights} <= self.nodes.states.keys()
        require(known and any(weights.values()), "a column that is no attribute of the network")
        with localcontext(prec=COVARIANCE_DIGITS):
            along = {c: sum((w * covariance[c, each] for each, w in weights.items()), ZERO) for c in self.columns}
            variance = sum((w * v * covariance[a, b] for a, w in weights.items() for b, v in weights.items()), ZERO)
            require(variance > 0, "a secret without variance")
            slopes = {c: along[c] / variance for c in self.columns}
            share = n if self.records else 1

            def given(a: str, b: str) -> Decimal:
                rest = (covariance[a, b] - slopes[a] * along[b]) / share
                return rest + self.own[a] ** 2 / n if a == b else rest

            rest = [
                [sum((v * w * given(a, b) for a, v in r.items() for b, w in s.items()), ZERO) for s in self.weights]
                for r in self.weights
            ]
        spread = {c: (covariance[c, c] + self.own[c] ** 2).sqrt() for c in self.columns}
        return NormalShift(
            mean=sum((w * means[c] for c, w in weights.items()), constant),
            deviation=(variance / share).sqrt(),
            slopes=[(slopes[c], means[c], spread[c], c) for c in self.columns],
            gap=[sum((w * slopes[c] for c, w in row.items()), ZERO) for row in self.weights],
            moves=sum((abs(w * slopes[c]) for row in self.weights for c, w in row.items()), ZERO),
            rest=rest,
        )

    def check(self) -> str:
        """Compare all secrets under all models."""
        claim, moves = self.claim, Moves(self.claim)
        rounding, comparison = self.rounding(moves) if claim.scale else ZERO, NoisyPair(claim)
        if claim.normal:
            units = zip(moves.before_the_last_noise(), self.by_grids(), claim.weights, strict=True)
            comparison.moved = [before + grid / decimal(weight) for before, grid, weight in units]
        for name, secret in claim.model["protect"].items():
            for theta in range(self.nodes.models):
                moved = self.moved(name, secret, theta)
                for pair in secret_pairs(secret):
                    claim.spend(2000)
                    told = LinearPair(claim, moved, pair, rounding)
                    by = f"by the normal distributions of {name} in model {theta}"
                    if claim.normal and moved.moves:
                        excess = told.behind_normal(comparison)
                        require(excess <= claim.delta or not pair.wide, "ranges of values behind normal noise")
                        comparison.passes(by, (ZERO, excess))
                        told = replace(told, moved=replace(moved, moves=ZERO))
                    claim.bounded(by, told.epsilon())
        return claim.borne("by the normal distributions of the answer, for every model and pair of secrets")


@dataclass(frozen=True)
class LinearPair:
    """A pair of secrets that move an answer.

    Parameters
    ----------
    claim : Claim
    moved : NormalShift
    pair : TwoSecrets
    rounding : Decimal
        In scales of the noise.
    """

    claim: Claim
    moved: NormalShift
    pair: TwoSecrets
    rounding: Decimal

    def epsilon(self) -> Decimal:
        """What bounds bear: the epsilon of the claim where delta is needed, else the least that is known."""
        claim = self.claim
        if not self.moved.moves:
            return ZERO  # the columns are independent of the secret, clamped or not
        if not claim.scale:
            return INFINITE
        per_unit = self.moved.moves / claim.scale
        told = per_unit * self.pair.apart + self.rounding
        if told > claim.epsilon and self.pair.wide:
            tilt = per_unit * self.moved.deviation
            low, high = self.pair.standard(self.moved.mean, self.moved.deviation)
            ratios = (log_mean(high, t) - log_mean(low, t) for t in (tilt, -tilt))
            told = min(told, max(map(abs, ratios)) + self.rounding + SLACK)
        if told > claim.epsilon and claim.delta:
            excess = self.excess()
            told = claim.epsilon if excess + SLACK <= claim.delta else told
        return told

    def behind_normal(self, comparison: NoisyPair) -> Decimal:
        """A bound on the least delta behind normal noise."""
        claim, weights = self.claim, list(map(decimal, self.claim.weights))
        if self.apart.is_infinite():
            return ONE
        gap = [each * self.apart / w for each, w in zip(self.moved.gap, weights, strict=True)]
        rest = [
            [x / v / w for w, x in zip(weights, row, strict=True)]
            for v, row in zip(weights, self.moved.rest, strict=True)
        ]
        told = curve(comparison.deviations(gap, with_noise(rest, claim.covariance)), claim.epsilon)
        spent = LONG_DRAWS * claim.delta if claim.covariance else ZERO
        return (told + spent + (1 + claim.epsilon.exp()) * self.clamped()) * (1 + SLACK)

    def excess(self) -> Decimal:
        """A bound on the least delta."""
        claim, moved = self.claim, self.moved
        ratio, left = claim.epsilon.exp(), claim.epsilon - self.rounding
        clamped = (1 + ratio) * self.clamped()
        if left <= 0 or clamped >= claim.delta:
            return INFINITE
        gap = [each * self.apart for each in moved.gap]
        # move a part of the gap, and leave what is told of the rest
        whole = left_over(moved.rest, gap).sqrt()
        part = min(ONE, left / (sum(map(abs, gap)) / claim.scale))
        found = 2 * below((1 - part) * whole / 2) - 1 if part < 1 else ZERO
        if len(gap) == 1 and found + clamped > claim.delta:
            certain = NOTHING_LEFT * (moved.gap[0] * moved.deviation) ** 2
            blurred = Blurred(moved.rest[0][0].sqrt() if moved.rest[0][0] > certain else ZERO, claim.scale)
            found = min(found, (self.rounding / 2).exp() * self.curve(blurred, abs(gap[0]), left))
        return found + clamped

    def curve(self, blurred: Blurred, gap: Decimal, epsilon: Decimal) -> Decimal:
        """The divergence of one number under the two values that are farthest apart, or under the intervals."""
        found = blurred.curve(gap, epsilon)
        if not self.pair.wide or found * (self.rounding / 2).exp() + SLACK <= self.claim.delta:
            return found
        self.claim.spend(60_000)
        unit = abs(self.moved.gap[0]) * self.moved.deviation
        kernel = LogBlur(float(blurred.deviation / unit), float(blurred.scale / unit))
        low, high = self.pair.standard(self.moved.mean, self.moved.deviation)
        return min(found, between(low, high, kernel, epsilon))

    @property
    def apart(self) -> Decimal:
        """How far apart the farthest values are, of an interval without an end but for `BEYOND_AN_END`."""
        if self.pair.apart < INFINITE:
            return self.pair.apart
        if not self.pair.sides:
            return INFINITE
        low, high = map(counted, self.pair.standard(self.moved.mean, self.moved.deviation))
        return (high[1] - low[0]) * self.moved.deviation

    def clamped(self) -> Decimal:
        """How likely, under a secret of the pair, any record of a queried column is clamped."""
        claim, moved, found = self.claim, self.moved, ZERO
        sides, least = (
            [
                (
                    -PLAUSIBLE_REACH - self.pair.apart / moved.deviation,
                    PLAUSIBLE_REACH + self.pair.apart / moved.deviation,
                )
            ],
            ZERO,
        )
        if self.pair.sides:
            sides = [counted(side) for side in self.pair.standard(moved.mean, moved.deviation)]
        if self.pair.wide:
            least = min(normal(*side) if side[0] < side[1] else ZERO for side in sides)
        for slope, mean, spread, name in moved.slopes:
            column = claim.model["columns"][name]
            lower, upper = (decimal(Fraction(column[end])) for end in ("lower", "upper"))

            def outside(away: Decimal) -> Decimal:
                at = mean + slope * away * moved.deviation  # noqa: B023
                above, under = (upper - at) / spread, (at - lower) / spread  # noqa: B023
                return tail(above) + tail(under) if min(above, under) > 0 else ONE

            worst = max(outside(end) for side in sides for end in side) if slope else outside(ZERO)
            # no more of what happens over all values can happen in one interval
            found += claim.n * (min(worst, outside(ZERO) / least) if least else worst)
        return min(ONE, found) + (BEYOND_AN_END if self.pair.apart.is_infinite() else ZERO)


# --------------------------------------------------------------------------------------------------
# Quilts: what the far columns tell is one normal number.
# --------------------------------------------------------------------------------------------------


class NormalQuilts:
    """Quilts of a claim about normal parameters."""

    def __init__(self, claim: Claim) -> None:
        self.claim, self.form = claim, claim.form

    def check(self, nodes: NormalNodes) -> str:
        """Look for columns whose change the noise hides, for every attribute and model."""
        claim, moves = self.claim, Moves(self.claim)
        known = {*nodes.states, *nodes.driven, *claim.model.get("independent", ())}
        require(known.issuperset(self.form.reads), "a column of which the model says nothing")
        for name, secret in claim.model["protect"].items():
            costs, apart = moves.near_sets(name), max(pair.apart for pair in secret_pairs(secret))
            for theta in range(nodes.models):
                _, covariance = nodes.law(theta)
                told = min(self.told(nodes, covariance, name, apart, costs))
                claim.bounded(f"by the best quilt for {name} in model {theta}", told)
        return claim.borne("by the best quilt for every model and pair of secrets")

    def told(
        self, nodes: NormalNodes, covariance: Mapping[Any, Decimal], name: str, apart: Decimal, costs: Any
    ) -> Iterator[Decimal]:
        """Yield the epsilon that every near set bears; one that passes the claim by delta at most bears the claim."""
        epsilon, delta = self.claim.epsilon, self.claim.delta
        for cost, moving in costs:
            far = nodes.drivers([column for column in self.form.reads if column not in moving])
            with localcontext(prec=COVARIANCE_DIGITS):
                own = covariance[name, name]
                gap = [covariance[name, each] / own for each in far]
                both = list(zip(far, gap, strict=True))
                rest = [[covariance[a, b] - share * covariance[name, b] for b in far] for a, share in both]
                unit = left_over(rest, gap)
            mu = apart * unit.sqrt() if unit else ZERO
            told = INFINITE if mu or (cost and self.claim.normal) else cost
            self.claim.spend(2000)
            if told > epsilon and delta and max(cost, mu) < INFINITE:
                both = (mu * mu + cost * cost).sqrt()
                excess = curve(both, epsilon) if self.claim.normal else beside_laplace(mu, cost, epsilon)
                told = epsilon if excess + SLACK * min(ONE, delta) <= delta else told
            yield told
            if told <= epsilon:
                return


# --------------------------------------------------------------------------------------------------
# Pairs of normal laws of the answer, by closed forms.
# --------------------------------------------------------------------------------------------------

PARTS_OF_A_LAW = ("mean", "covariance")

FAILS = Decimal("1e-9")
"""By what share more than is claimed refutes a claim about normal laws: answers are rounded."""


def by_pairs(claim: Claim) -> str:
    """What holds where normal laws of the answer were declared."""
    sides, comparison = claim.model["sides"], NoisyPair(claim)
    comparison.moved = Moves(claim).before_the_last_noise() if claim.scale else comparison.moved
    for k, (first, second) in enumerate(zip(sides[::2], sides[1::2], strict=True)):
        require("normal" in first and "normal" in second, "a pair of a normal distribution and another")
        sides_of = [each["normal"] for each in (first, second)]
        means, both = ([[list(map(number, row)) for row in side[part]] for side in sides_of] for part in PARTS_OF_A_LAW)
        gap = [a - b for a, b in zip(means[0][0], means[1][0], strict=True)]
        shape = {len(gap), *(len(each) for each in both), *(len(row) for each in both for row in each)}
        require(shape == {len(claim.weights)}, "normal distributions of another shape")
        claim.spend(len(gap) ** 3)
        if both[0] != both[1]:
            _two_covariances(claim, comparison, f"pair {k}", gap, both)
        elif claim.normal or (claim.delta and not claim.scale):
            _one_covariance(claim, comparison, f"pair {k}", gap, both[0])
        else:
            _behind_laplace(claim, comparison, f"pair {k}", gap, both[0])
    return claim.borne("by the declared normal distributions")


def _one_covariance(
    claim: Claim, comparison: NoisyPair, label: str, gap: list[Decimal], covariance: CovarianceRows
) -> None:
    """Compare two normal laws of one covariance after normal noise, or without any."""
    drawn = with_noise(covariance, claim.covariance)
    least = length(gap, plus(drawn, claim.last)) * (1 - FAILS)
    told = comparison.deviations(gap, drawn)
    # draws that are longer than is counted on cost a share of delta
    spent = LONG_DRAWS * claim.delta if claim.covariance else ZERO
    low, high = (curve(each, claim.epsilon) for each in (least, told))
    comparison.passes(f"shown by {label}", (low * (1 - SLACK), (high + spent) * (1 + SLACK)))
    claim.note(claim.epsilon)


def with_noise(covariance: CovarianceRows, noise: CovarianceRows) -> CovarianceRows:
    """The covariance of an answer with noise, which may have none."""
    rows = zip(covariance, noise, strict=True) if noise else ()
    return [list(map(operator.add, *both)) for both in rows] or covariance


def _two_covariances(
    claim: Claim, comparison: NoisyPair, label: str, gap: list[Decimal], both: Sequence[CovarianceRows]
) -> None:
    """Compare two normal laws of one number and two variances."""
    require(len(gap) == 1 and claim.delta, "normal distributions of two covariances of several numbers")
    if claim.scale and not claim.normal:
        # all but a share of one is moved inside the other, as far as its gap and what is stretched
        scale = claim.scale / decimal(claim.weights[0])
        stretched = abs(both[0][0][0].sqrt() - both[1][0][0].sqrt())
        most = (claim.epsilon * scale - comparison.moved[0]) / stretched
        left = min(ONE, sum(below(-most - sign * gap[0] / stretched) for sign in (1, -1)))
        comparison.passes(f"shown by {label}", (ZERO, left * (1 + SLACK)))
        claim.note(claim.epsilon)
        return
    first, second = (each[0][0] + claim.last[0] for each in both)
    require(first > 0 and second > 0, "a normal distribution without a variance")
    sides = (gap[0], first, second), (-gap[0], second, first)
    found = max(of_two_variances(*side, claim.epsilon) for side in sides)
    moved = comparison.moved[0] / claim.last[0].sqrt() / 4 if claim.scale else ZERO
    high = found + (1 + claim.epsilon.exp()) * moved
    comparison.passes(f"shown by {label}", (found * (1 - FAILS), high * (1 + SLACK) + SLACK * claim.delta))
    claim.note(claim.epsilon)


def _behind_laplace(
    claim: Claim, comparison: NoisyPair, label: str, gap: list[Decimal], covariance: CovarianceRows
) -> None:
    """Compare two normal laws of one covariance after Laplace noise: far out it shows the whole gap."""
    if not claim.scale:
        claim.held(f"shown by {label}", INFINITE if any(gap) else ZERO)
        return
    scales = [claim.scale / decimal(weight) for weight in claim.weights]
    told = sum((abs(d) / b for d, b in zip(gap, scales, strict=True)), ZERO)
    rounding = sum((m / b for m, b in zip(comparison.moved, scales, strict=True)), ZERO)
    if told + rounding <= claim.epsilon or not claim.delta:
        claim.held(f"shown by {label}", told)
        claim.note(told + rounding)
        return
    level, low = claim.epsilon - rounding, ZERO
    if len(gap) == 1:
        blurred = Blurred(covariance[0][0].sqrt(), scales[0])
        low = blurred.curve(abs(gap[0]), claim.epsilon) * (1 - FAILS)
        high = blurred.curve(abs(gap[0]), level) * (rounding / 2).exp()
    else:  # part of the gap is hidden by the noise; what is left is told in total variation
        high = curve(length(gap, covariance) * max(ZERO, 1 - level / told), ZERO)
    comparison.passes(f"shown by {label}", (low, high * (1 + SLACK)))
    claim.note(claim.epsilon)


def by_normals(claim: Claim) -> str:
    """In words what holds of a claim about a linear-Gaussian network, or of normal distributions of an answer."""
    if "sides" in claim.model:
        return by_pairs(claim)
    nodes: Any = NormalNodes(claim.model["normal"])
    if claim.mechanism == "MarkovQuiltMechanism":
        claim.network = nodes
        return NormalQuilts(claim).check(nodes)
    laws = claim.model.get("laws", {})
    others = [name for name in claim.form.reads if "normal" not in laws.get(name, [{}])[0]]
    if others and claim.model["notion"] != DATASET:
        why = f"{others[0]!r:.80} is not normal given its parameters, such as what only a program draws"
        return Moves(claim).by_independence() or refuse(f"not covered: {why}")
    return NormalAnswers(claim, nodes).check()
