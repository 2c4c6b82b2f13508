"""What a calibration claims: a query, a model, noise, secrets; and two laws compared after the noise."""

from __future__ import annotations

import math
import operator
from bisect import bisect_left
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from itertools import combinations, pairwise, product
from typing import Any

from bnpriv.verify import normal
from bnpriv.verify.forms import (
    INFINITE,
    ONE,
    ROUNDING,
    SLACK,
    UNSHOWN,
    ZERO,
    DecimalMatrix,
    Form,
    Law,
    StopError,
    decimal,
    number,
    require,
    summed,
)
from bnpriv.verify.networks import read_nodes

# --------------------------------------------------------------------------------------------------
# Pairs of secrets that must not be told apart, and how many records change from one to the other.
# --------------------------------------------------------------------------------------------------


def shown(pair: Any) -> str:
    """A pair of secrets in words."""
    return " against ".join(" or ".join(map(str, side)) for side in pair)


def pairs_of(secret: Any, values: list[Fraction]) -> list[Any]:
    """The pairs of sets of possible values of a property that must not be told apart."""
    if "pairs" not in secret:
        most = secret.get("at_most", math.inf) * (1 + 1e-12)
        return [((a,), (b,)) for a, b in combinations(values, 2) if b - a <= most]
    return [[sorted({v for x in side for v in _meant(x, values)}) for side in pair] for pair in secret["pairs"]]


def _meant(number: Any, values: Sequence[Fraction]) -> list[Fraction]:
    """The values that are rounded to a number; if there is none, the nearest one, unless it is far off."""
    if not values:
        return []
    require(isinstance(number, int | float), "a value of a secret that is no number")
    exact = Fraction(number)
    nearest = min(values, key=lambda value: abs(value - exact))
    far = abs(nearest - exact) > Fraction(1, 10**9) * max(1, abs(exact))
    return [value for value in values if float(value) == number] or ([] if far else [nearest])


def farthest(secret: Any, n: int, least: Fraction, unit: Fraction) -> int:
    """How many records change at most from one secret of a pair to the other, for a property that counts."""
    if "pairs" not in secret:
        return min(n, math.floor(secret["at_most"] / unit * (1 + 1e-12))) if "at_most" in secret else n
    sides = [[[k for x in side for k in _counts(x, n, least, unit)] for side in pair] for pair in secret["pairs"]]
    return max((abs(a - b) for first, second in sides for a in first for b in second), default=0)


def _counts(number: Any, n: int, least: Fraction, unit: Fraction) -> list[int]:
    """How many records may count where a property that counts is written as a number."""
    first, last = ((Fraction(number) + sign * Fraction(math.ulp(number)) - least) / unit for sign in (-1, 1))
    around = range(max(0, math.floor(first)), min(n, math.ceil(last)) + 1)
    require(len(around) <= 10**5, "a value of a secret that stands for very many")
    values = [least + k * unit for k in around]
    return [around[values.index(value)] for value in _meant(number, values)]


# --------------------------------------------------------------------------------------------------
# Noise as a stored calibration says it, replayed for `bnpriv.verify`: weights, tails, and the rows of a channel.
#
# Nothing of the rest of bnpriv is imported. The rows of a channel are whole numbers: what it makes of a law is a sum
# of products that are all positive.
# --------------------------------------------------------------------------------------------------

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
                raise StopError(
                    "fails", f"the row of {value!r} is no distribution: its numbers do not sum to the denominator"
                )

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


# --------------------------------------------------------------------------------------------------
# What a calibration claims: a query, a model, noise, epsilon and delta; and the work and findings of one check.
# --------------------------------------------------------------------------------------------------

SHARES_OF_LAST_NOISE = tuple(Decimal(2) ** -k for k in range(0, 41, 4)) + tuple(
    1 - Decimal(2) ** -k for k in (1, 2, 5, 10)
)
"""Shares of the last noise that hide how answers are rounded before it."""

MOST_WORK = 1_000_000
"""Products of masses in one check: a few seconds."""

HIDE_RECORDS = ("RecordPrivacyMechanism", "GroupPrivacyMechanism")
"""Noise that was fitted to single records or groups: the guarantee has an epsilon of its own for the secrets."""


class Claim:
    """One claim: the noise, the guarantee, and the model that is to bear it; the largest epsilon that was found."""

    def __init__(self, record: Any, model: Any, most: int = MOST_WORK) -> None:
        self.most = most
        self.model, self.work, self.worst, self.query = model, 0, ZERO, record["form"]
        self.n: int = model["records"]
        self.network = read_nodes(model.get("network", {"models": 1, "nodes": {}, "driven": {}}))
        self.mechanism, self.noise, self.seen = record["mechanism"]["name"], record["noise"]["law"], 0
        self.asked, self.options = record["epsilon"], record["mechanism"]["options"]
        self.joints = dict[Any, Law]()
        self.epsilon, self.delta = Decimal(record["guarantee"]["epsilon"]), Decimal(record["guarantee"]["delta"])
        require(0 < self.epsilon < 10**6 and 0 <= self.delta < 1, "a guarantee out of range")
        if self.mechanism not in HIDE_RECORDS and record["epsilon"] != record["guarantee"]["epsilon"]:
            raise StopError("fails", "the guarantee has another epsilon than the calibration")
        self.channel = StoredRows(record["noise"]["channel"]) if self.noise == "Channel" else None
        self.scale = ZERO if self.channel else number(record["noise"]["exact_scale"])
        if not self.channel and record["noise"]["scale"] != float(self.scale):
            raise StopError("fails", "the scale is not the exact scale beside it")
        self.normal = self.noise in ("Gaussian", "CorrelatedGaussian")
        drawn = self.normal or self.noise in ("Laplace", "DiscreteLaplace")
        require(drawn or self.noise in ("NoNoise", "Channel"), f"{self.noise!r:.40} noise")
        require(self.scale.is_finite() and (self.scale > 0) == drawn, "the scale of the noise")
        self.weights = weights_of(record["noise"])
        self.covariance = list[list[Decimal]]()
        self.last = [(self.scale / decimal(weight)) ** 2 if self.normal else ZERO for weight in self.weights]
        if self.noise == "CorrelatedGaussian":
            self.covariance = [[Decimal(x) for x in row] for row in record["noise"]["covariance"]]
            self.last = [Decimal(x) ** 2 for x in record["noise"]["dithers"]]
            whole = {len(self.weights)} == {len(row) for row in [self.covariance, self.last, *self.covariance]}
            alike = whole and all(
                row[j] == self.covariance[j][k] for k, row in enumerate(self.covariance) for j in range(k)
            )
            require(alike and set(self.weights) == {1}, "a covariance of another shape")
            largest = max(row[k] + self.last[k] for k, row in enumerate(self.covariance))
            if abs(largest.sqrt() - self.scale) > ROUNDING * self.scale:
                raise StopError("fails", "the scale is not the largest deviation of the covariance beside it")

    @cached_property
    def form(self) -> Form:
        """The query, which has a number for every weight of the noise."""
        form = Form(self.query, self.model["columns"])
        if len(form.rows) != len(self.weights):
            raise StopError("fails", f"noise for {len(self.weights)} numbers where the answer has {len(form.rows)}")
        return form

    def spend(self, cost: int) -> None:
        """Note products of masses; stop where they are too many."""
        self.work += cost
        if self.work > self.most:
            raise StopError("too large", f"more than {self.most:,} products of masses")

    def joint(self, *names: str, theta: int) -> Law:
        """The law of some nodes in a model."""
        if (names, theta) not in self.joints:
            self.joints[names, theta] = self.network.joint(names, theta, self.spend)
        return self.joints[names, theta]

    def note(self, told: Decimal) -> None:
        """Note an epsilon that is reached or bounded."""
        self.seen, self.worst = self.seen + 1, max(self.worst, told)

    def held(self, how: str, told: Decimal) -> str:
        """Take note of an epsilon that is reached, to within what is lost in digits; say what holds."""
        if told - 2 * SLACK > self.epsilon:
            raise StopError("fails", f"epsilon is {told:.9g} where {self.epsilon:.9g} is claimed, {how}")
        return self.bounded(how, told)

    def bounded(self, how: str, told: Decimal = ZERO) -> str:
        """Take note of an epsilon that is not exceeded; stop where it passes the claim; say what holds."""
        self.note(told)
        return self.borne(how)

    def borne(self, how: str) -> str:
        """Say what holds, by all that was noted."""
        if self.worst > self.epsilon:
            raise StopError(UNSHOWN, f"epsilon may be {self.worst:.9g} where {self.epsilon:.9g} is claimed, {how}")
        require(self.seen, "secrets of which no two are possible")
        low, high = float(max(ZERO, self.worst - 2 * SLACK)), float(self.worst)
        excess = f" but for delta {self.delta:.6g}" if self.delta else ""
        return f"epsilon in [{math.nextafter(low, 0)!r}, {math.nextafter(high, math.inf)!r}]{excess}, {how}"


# --------------------------------------------------------------------------------------------------
# Two laws after the noise: their largest ratio of densities, and the excess of one over the other.
# --------------------------------------------------------------------------------------------------


class NoisyPair:
    """Compares laws after the noise of a claim.

    The noise hides atoms of several numbers by how far apart they are: each is moved as far as it hides, at most.
    """

    def __init__(self, claim: Claim) -> None:
        self.claim, self.decays = claim, dict[Any, Decimal]()
        self.moved = [ZERO] * len(claim.weights)
        """How far rounding moves two answers apart before the last noise is drawn."""

    def compare(self, label: str, first: Law, second: Law) -> None:
        """Take note of the largest ratio of two laws after the noise; stop where it, or delta, passes the claim."""
        claim, told, shown = self.claim, INFINITE, f"shown by {label}"
        if not claim.normal:
            ratio, output = self.largest(first, second)
            told, shown = ratio.ln() + SLACK, f"the answer {', '.join(map(repr, output))} of {label} shows it"
        if told > claim.epsilon and (claim.delta or claim.normal):
            self.passes(shown, self.excess(first, second), self.excess(second, first))
            told = claim.epsilon
        claim.held(shown, told)

    def passes(self, shown: str, *excesses: normal.Enclosure) -> None:
        """Stop where a hockey-stick divergence passes delta."""
        low, high = (max(ends) for ends in zip(*excesses, strict=True))
        if high > self.claim.delta:
            status = "fails" if low > self.claim.delta else UNSHOWN
            raise StopError(status, f"delta is {high:.9g} where {self.claim.delta:.9g} is claimed, {shown}")

    def largest(self, first: Law, second: Law) -> tuple[Decimal, Any]:
        """The largest ratio of the densities of two laws after the noise, and the output that shows it."""
        union = sorted(first.keys() | second.keys())
        if self.claim.noise == "DiscreteLaplace" and any(x != int(x) for point in union for x in point):
            raise StopError("fails", "an answer that is no whole number, which discrete noise refuses")
        axes = [sorted(set(numbers)) for numbers in zip(*union, strict=True)]
        self.claim.spend(4 * (math.prod(map(len, axes)) if self.claim.scale else len(union)))
        points = list(product(*axes)) if self.claim.scale else union
        f, g = (self.smooth([law.get(point, ZERO) for point in points], axes) for law in (first, second))
        ordered = ((*sorted((p, q)), point) for p, q, point in zip(f, g, points, strict=True) if p or q)
        return max(((high / low if low else INFINITE), point) for low, high, point in ordered)

    def smooth(self, masses: list[Decimal], axes: Sequence[Sequence[Any]]) -> list[Decimal]:
        """Return masses on a grid after the noise, up to a factor."""
        if not self.claim.scale:
            return masses
        weighed = zip(axes, self.claim.weights, strict=True)
        return smoothed(masses, [[self.decay(low, high, w) for low, high in pairwise(axis)] for axis, w in weighed])

    def decay(self, low: Any, high: Any, weight: Fraction) -> Decimal:
        """By what factor the density of the noise falls from one number to another."""
        gap = decimal(weight * (Fraction(high) - Fraction(low)))
        if gap not in self.decays:
            self.decays[gap] = (-gap / self.claim.scale).exp()
        return self.decays[gap]

    def excess(self, first: Law, second: Law) -> normal.Enclosure:
        """The hockey-stick divergence of two laws after the noise, enclosed."""
        claim = self.claim
        if claim.normal and not claim.delta:
            return (ZERO, ZERO) if first == second else (ONE, ONE)
        if claim.scale and (len(next(iter(first))) > 1 or claim.covariance):
            return ZERO, self.moved_excess(first, second)
        if claim.normal:
            one, other = ({x: p for (x,), p in law.items()} for law in (first, second))
            bells = normal.Bells(one, other, claim.scale / decimal(claim.weights[0]), claim.spend)
            return bells.excess(0, claim.epsilon, claim.delta)
        found, slack = self.laplace_excess(first, second), SLACK * (1 + claim.epsilon.exp() / 10**14)
        return found - slack, found + slack

    def moved_excess(self, first: Law, second: Law) -> Decimal:
        """The hockey-stick divergence at most: part of one law moves inside the other, the rest counts in full.

        Or what both have in common stays, and the rest counts as if it were as far from the other law as it can be
        (the mixture of one record in docs/claims/k_fold.md).
        """
        claim, level = self.claim, self.claim.epsilon + normal.MOVED_SHARE.ln()
        most = normal.farthest_hidden(level, claim.delta * normal.MOVED_SHARE) if claim.normal else level
        flow, rest = normal.moved_inside(
            {x: p * normal.MOVED_SHARE for x, p in first.items()}, second, self.apart, most, claim.spend
        )
        told = (p * normal.curve(self.apart(x, y), level) for (x, y), p in flow.items()) if claim.normal else ()
        found, rests = (rest + sum(told, SLACK)) / normal.MOVED_SHARE, normal.exceeding(first, second)
        if claim.normal and rests:
            part = min(ONE, sum(rests.values(), SLACK))
            far = max(self.apart(x, y) for x in rests for y in second)
            found = min(found, part * normal.curve(far, (1 + (claim.epsilon.exp() - 1) / part).ln()) * (1 + SLACK))
        return found

    def apart(self, x: Sequence[Any], y: Sequence[Any]) -> Decimal:
        """How far apart two answers are: in scales of Laplace noise, or in deviations of normal noise."""
        claim, gap = self.claim, [decimal(Fraction(a) - Fraction(b)) for a, b in zip(x, y, strict=True)]
        if claim.covariance:
            return self.deviations(gap, claim.covariance)
        gap = [decimal(w) * abs(each) / claim.scale for w, each in zip(claim.weights, gap, strict=True)]
        return sum((each * each for each in gap), ZERO).sqrt() if claim.normal else sum(gap, ZERO)

    def deviations(self, gap: Sequence[Decimal], covariance: DecimalMatrix) -> Decimal:
        """How long a gap is, at most, where all noise but the last has a covariance, or the answer itself has.

        Part of the last noise hides that answers are rounded before it is drawn, the rest hides the gap.
        """
        last, found = self.claim.last, list[Decimal]()
        for share in SHARES_OF_LAST_NOISE if any(self.moved) else (ZERO,):
            told = normal.length(gap, normal.plus(covariance, [v * (1 - share) for v in last])) ** 2
            sides = zip(self.moved, last, strict=True)
            found.append(told + sum(m * m / (share * v) if v else INFINITE for m, v in sides if m))
        return min(found).sqrt()

    def laplace_excess(self, first: Law, second: Law) -> Decimal:
        """The hockey-stick divergence of two laws of one number, in closed form between atoms."""
        ratio, weight = self.claim.epsilon.exp(), self.claim.weights[0]
        signed = {p: first.get(p, ZERO) - ratio * second.get(p, ZERO) for p in first.keys() | second.keys()}
        if not self.claim.scale:
            return sum((mass for mass in signed.values() if mass > 0), ZERO)
        points: list[Any] = sorted(x for (x,) in signed)
        if whole := self.claim.noise == "DiscreteLaplace":
            self.claim.spend(int(points[-1] - points[0]))
            points = list(range(int(points[0]), int(points[-1]) + 1))
        decay = [self.decay(low, high, weight) for low, high in pairwise(points)]
        left, right = recursions([signed.get((x,), ZERO) for x in points], decay)
        if not whole:
            return laplace_excess(left, right, decay)
        q, ends = self.decay(0, 1, weight), max(ZERO, left[0] + right[0]) + max(ZERO, left[-1])
        inner = sum(max(ZERO, a + b) for a, b in zip(left, right, strict=True))
        return (inner + ends * q / (1 - q)) * (1 - q) / (1 + q)
