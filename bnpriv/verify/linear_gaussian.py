"""Claims about jointly normal records, parameters and answers, replayed in decimals.

Nothing of the rest of bnpriv is imported. docs/claims/gaussian_network.md, normal_records.md, normal_intervals.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

from bnpriv.verify import normal, normal_intervals
from bnpriv.verify.changes import LONG_DRAWS, Moves
from bnpriv.verify.claim import Claim, NoisyPair
from bnpriv.verify.forms import (
    DATASET,
    INFINITE,
    ONE,
    SLACK,
    ZERO,
    DecimalMatrix,
    decimal,
    fraction,
    number,
    refuse,
    require,
)
from bnpriv.verify.networks import NormalNodes
from bnpriv.verify.normal import curve

# --------------------------------------------------------------------------------------------------
# Answers that are linear in normal columns.
# --------------------------------------------------------------------------------------------------

COVARIANCE_DIGITS = 130
"""Of sums and products of covariances, so that 60 are left where they nearly cancel."""

NOTHING_LEFT = Decimal("1e-30")
"""A share of a variance that counts as nothing left of it."""


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
    rest: DecimalMatrix


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
                for pair in normal_intervals.secret_pairs(secret):
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
    pair: normal_intervals.TwoSecrets
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
            ratios = (normal_intervals.log_mean(high, t) - normal_intervals.log_mean(low, t) for t in (tilt, -tilt))
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
        told = curve(comparison.deviations(gap, normal.with_noise(rest, claim.covariance)), claim.epsilon)
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
        whole = normal.length(gap, moved.rest, NOTHING_LEFT, ZERO)
        part = min(ONE, left / (sum(map(abs, gap)) / claim.scale))
        found = curve((1 - part) * whole, ZERO) if part < 1 else ZERO
        if len(gap) == 1 and found + clamped > claim.delta:
            certain = NOTHING_LEFT * (moved.gap[0] * moved.deviation) ** 2
            blurred = normal.Blurred(moved.rest[0][0].sqrt() if moved.rest[0][0] > certain else ZERO, claim.scale)
            found = min(found, (self.rounding / 2).exp() * self.curve(blurred, abs(gap[0]), left))
        return found + clamped

    def curve(self, blurred: normal.Blurred, gap: Decimal, epsilon: Decimal) -> Decimal:
        """The divergence of one number under the two values that are farthest apart, or under the intervals."""
        found = blurred.curve(gap, epsilon)
        if not self.pair.wide or found * (self.rounding / 2).exp() + SLACK <= self.claim.delta:
            return found
        self.claim.spend(60_000)
        unit = abs(self.moved.gap[0]) * self.moved.deviation
        kernel = normal_intervals.LogBlur(float(blurred.deviation / unit), float(blurred.scale / unit))
        low, high = self.pair.standard(self.moved.mean, self.moved.deviation)
        return min(found, normal_intervals.told_apart(low, high, kernel, epsilon))

    @property
    def apart(self) -> Decimal:
        """How far apart the farthest values are, of an interval without an end but for `BEYOND_AN_END`."""
        if self.pair.apart < INFINITE:
            return self.pair.apart
        if not self.pair.sides:
            return INFINITE
        low, high = map(normal_intervals.counted, self.pair.standard(self.moved.mean, self.moved.deviation))
        return (high[1] - low[0]) * self.moved.deviation

    def clamped(self) -> Decimal:
        """How likely, under a secret of the pair, any record of a queried column is clamped."""
        claim, moved, found = self.claim, self.moved, ZERO
        sides, least = (
            [
                (
                    -normal_intervals.PLAUSIBLE_REACH - self.pair.apart / moved.deviation,
                    normal_intervals.PLAUSIBLE_REACH + self.pair.apart / moved.deviation,
                )
            ],
            ZERO,
        )
        if self.pair.sides:
            sides = [normal_intervals.counted(side) for side in self.pair.standard(moved.mean, moved.deviation)]
        if self.pair.wide:
            least = min(normal.between(*side) if side[0] < side[1] else ZERO for side in sides)
        for slope, mean, spread, name in moved.slopes:
            column = claim.model["columns"][name]
            lower, upper = (decimal(Fraction(column[end])) for end in ("lower", "upper"))

            def outside(away: Decimal) -> Decimal:
                at = mean + slope * away * moved.deviation  # noqa: B023
                above, under = (upper - at) / spread, (at - lower) / spread  # noqa: B023
                return normal.tail(above) + normal.tail(under) if min(above, under) > 0 else ONE

            worst = max(outside(end) for side in sides for end in side) if slope else outside(ZERO)
            # no more of what happens over all values can happen in one interval
            found += claim.n * (min(worst, outside(ZERO) / least) if least else worst)
        return min(ONE, found) + (normal_intervals.BEYOND_AN_END if self.pair.apart.is_infinite() else ZERO)


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
            costs, apart = moves.near_sets(name), max(pair.apart for pair in normal_intervals.secret_pairs(secret))
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
                unit = normal.length(gap, rest, NOTHING_LEFT, ZERO)
            mu = apart * unit if unit else ZERO
            told = INFINITE if mu or (cost and self.claim.normal) else cost
            self.claim.spend(2000)
            if told > epsilon and delta and max(cost, mu) < INFINITE:
                both = (mu * mu + cost * cost).sqrt()
                excess = curve(both, epsilon) if self.claim.normal else normal.beside_laplace(mu, cost, epsilon)
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
        require(all(map(_is_covariance, both)), "a covariance with a negative or an uneven entry")
        claim.spend(len(gap) ** 3)
        if both[0] != both[1]:
            _two_covariances(claim, comparison, f"pair {k}", gap, both)
        elif claim.normal or (claim.delta and not claim.scale):
            _one_covariance(claim, comparison, f"pair {k}", gap, both[0])
        else:
            _behind_laplace(claim, comparison, f"pair {k}", gap, both[0])
    return claim.borne("by the declared normal distributions")


def _is_covariance(rows: DecimalMatrix) -> bool:
    """Whether a matrix is even, and no two numbers vary together more than each alone."""
    places = range(len(rows))
    return all(
        rows[i][i] >= 0 and rows[i][j] == rows[j][i] and rows[i][j] ** 2 <= rows[i][i] * rows[j][j] * (1 + FAILS)
        for i in places
        for j in places
    )


def _one_covariance(
    claim: Claim, comparison: NoisyPair, label: str, gap: list[Decimal], covariance: DecimalMatrix
) -> None:
    """Compare two normal laws of one covariance after normal noise, or without any."""
    drawn = normal.with_noise(covariance, claim.covariance)
    least = normal.length(gap, normal.plus(drawn, claim.last)) * (1 - FAILS)
    told = comparison.deviations(gap, drawn)
    # draws that are longer than is counted on cost a share of delta
    spent = LONG_DRAWS * claim.delta if claim.covariance else ZERO
    low, high = (curve(each, claim.epsilon) for each in (least, told))
    comparison.passes(f"shown by {label}", (low * (1 - SLACK), (high + spent) * (1 + SLACK)))
    claim.note(claim.epsilon)


def _two_covariances(
    claim: Claim, comparison: NoisyPair, label: str, gap: list[Decimal], both: Sequence[DecimalMatrix]
) -> None:
    """Compare two normal laws of one number and two variances."""
    require(len(gap) == 1 and claim.delta, "normal distributions of two covariances of several numbers")
    if claim.scale and not claim.normal:
        # all but a share of one is moved inside the other, as far as its gap and what is stretched
        scale = claim.scale / decimal(claim.weights[0])
        stretched = abs(both[0][0][0].sqrt() - both[1][0][0].sqrt())
        most = (claim.epsilon * scale - comparison.moved[0]) / stretched
        left = min(ONE, sum(normal.tail(most + sign * gap[0] / stretched) for sign in (1, -1)))
        comparison.passes(f"shown by {label}", (ZERO, left * (1 + SLACK)))
        claim.note(claim.epsilon)
        return
    first, second = (each[0][0] + claim.last[0] for each in both)
    require(first > 0 and second > 0, "a normal distribution without a variance")
    sides = (gap[0], first, second), (-gap[0], second, first)
    found = max(normal.of_two_variances(*side, claim.epsilon) for side in sides)
    moved = comparison.moved[0] / claim.last[0].sqrt() / 4 if claim.scale else ZERO
    high = found + (1 + claim.epsilon.exp()) * moved
    comparison.passes(f"shown by {label}", (found * (1 - FAILS), high * (1 + SLACK) + SLACK * claim.delta))
    claim.note(claim.epsilon)


def _behind_laplace(
    claim: Claim, comparison: NoisyPair, label: str, gap: list[Decimal], covariance: DecimalMatrix
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
        blurred = normal.Blurred(covariance[0][0].sqrt(), scales[0])
        low = blurred.curve(abs(gap[0]), claim.epsilon) * (1 - FAILS)
        high = blurred.curve(abs(gap[0]), level) * (rounding / 2).exp()
    else:  # part of the gap is hidden by the noise; what is left is told in total variation
        high = curve(normal.length(gap, covariance) * max(ZERO, 1 - level / told), ZERO)
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
