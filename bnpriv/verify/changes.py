"""How far a change of columns moves the released doubles."""

from __future__ import annotations

import math
import operator
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from copy import copy
from decimal import Decimal
from fractions import Fraction
from itertools import combinations, product
from typing import Any

from bnpriv.verify import forms
from bnpriv.verify.claim import Claim, NoisyPair, shown
from bnpriv.verify.networks import IntervalNodes
from bnpriv.verify.normal import TAIL_WORK, curve, root_above

# --------------------------------------------------------------------------------------------------
# How far a change of columns moves the released doubles: bounds that are never too small, and tables that show them.
#
# Numbers of an answer that no change ties to each other move apart, and each of them within the range of its doubles.
# Docs: column_sensitivity.md, by which the noise is found; here it is done in whole numbers, without a rounding.
# --------------------------------------------------------------------------------------------------

APART = operator.itemgetter(0)
"""How far the two records of a reach are apart."""

MOST_RECORDS_JOINED = 2000
"""Records of several parts that are compared together in the 2-norm."""

MOST_SIGNED = 12
"""Numbers whose signs are all tried where several parts move them together."""

INTEGERS_PER_PRODUCT = 16
"""Differences of whole numbers that take as long as one product of masses."""

ValuesOfOne = dict[str, Any]
AddedPoints = dict[tuple[int, ...], ValuesOfOne]
"""What records add to some numbers, in whole numbers, each with a record that adds it."""

WidestChange = tuple[Fraction, ValuesOfOne, ValuesOfOne]
"""How far numbers move together for one record, and two records that are as far apart."""


class Changes:
    """How far changes of columns move the weighted answer to a query about n records, in the 1-norm or the 2-norm."""

    def __init__(
        self, form: forms.Form, weights: Sequence[Fraction], n: int, spend: Callable[[int], None], norm: int = 1
    ) -> None:
        self.form, self.weights, self.n, self.spend, self.norm = form, weights, n, spend, norm
        self.all = tuple(range(len(form.rows)))
        self.ranges, self.feeds = dict[int, tuple[Fraction, ...]](), dict[Any, set[int]]()
        self.reaches = dict[Any, WidestChange]()
        self.read = [{name for term in row for name in forms.columns_of(form.terms[term])} for row in form.rows]

    def bound(self, moving: Collection[str], records: int) -> Fraction:
        """What no change of some columns in so many records exceeds: of the doubles, by all numbers together."""
        return self.sized(self.together(numbers, moving, records) for numbers in self.tied(moving))

    def sized(self, gaps: Iterable[Fraction]) -> Fraction:
        """How long a change is that moves numbers, or groups of them, so far: rounded up."""
        return sum(gaps, Fraction(0)) if self.norm == 1 else root_above(sum((gap * gap for gap in gaps), Fraction(0)))

    def together(self, numbers: tuple[int, ...], moving: Collection[str], records: int) -> Fraction:
        """A bound for numbers that may be tied to each other: jointly, or each within its range."""
        apart = self.sized(min(self.exceeded_by((k,), moving, records), self.limits(k)[0]) for k in numbers)
        return apart if len(numbers) == 1 else min(apart, self.exceeded_by(numbers, moving, records))

    def exceeded_by(self, numbers: tuple[int, ...], moving: Collection[str], records: int) -> Fraction:
        """How far numbers move together, and what their rounding adds."""
        far = self.widest(numbers, moving)[0]
        return records * far + self.sized(self.limits(k)[1] for k in numbers) if far else far

    def shown(self, moved: int) -> tuple[Fraction, ValuesOfOne, ValuesOfOne]:
        """How far apart the doubles of a table of equal records and of one with some of them changed are, and these."""
        records: list[ValuesOfOne] = [{name: self.form.extremes(name, self.weights)[0] for name in self.form.reads}] * 2
        for numbers in self.tied(self.form.reads):
            _, *found = self.widest(numbers, self.form.reads)
            records = [{**old, **new} for old, new in zip(records, found, strict=True)]
        keys = [self.form.key(record) for record in records]
        sums = [
            [self.n * a + moved * b for a, b in zip(keys[0], by, strict=True)]
            for by in ((0,) * len(keys[0]), tuple(map(operator.sub, keys[1], keys[0])))
        ]
        doubles = [[Fraction(float(each)) for each in self.form.exact(each)] for each in sums]
        gaps = (abs(a - b) for a, b in zip(*doubles, strict=True))
        return self.sized(map(operator.mul, self.weights, gaps)), records[0], records[1]

    def limits(self, number: int) -> tuple[Fraction, ...]:
        """For a number, weighted, how wide its doubles range, how far rounding can move two apart, and its size."""
        if number not in self.ranges:
            shift, under, low, high = self.form.offset[number], self.form.under[number], 0, 0
            for part in self.parts((number,), self.form.reads):
                (points,) = self.points(part, (number,), self.form.reads)
                low, high = low + min(points)[0], high + max(points)[0]
            unit = self.scaled((number,)) * self.weights[number]
            ends = [shift + self.n * each / unit for each in (low, high)]
            largest, whole = max(map(abs, ends)), math.lcm(under, shift.denominator)
            doubles = whole & (whole - 1) == 0 and largest * whole <= 2**53
            ulp = Fraction(0 if doubles else math.ulp(float(largest)))
            wide = Fraction(float(ends[1])) - Fraction(float(ends[0]))
            self.ranges[number] = tuple(self.weights[number] * each for each in (wide, ulp, largest))
        return self.ranges[number]

    def widest(self, numbers: tuple[int, ...], moving: Collection[str]) -> WidestChange:
        """How far one record moves some numbers together, weighted, and two records that show it."""
        key = numbers, frozenset(moving) & set().union(*(self.read[k] for k in numbers))
        if key not in self.reaches:
            size, sets = len(numbers), self.parts(numbers, moving)
            if self.norm == 2 and size > 1:
                sets = self.joined(sets, numbers)
            parts = [self.points(part, numbers, moving) for part in sets]
            points = sum(len(group) for groups in parts for group in groups)
            pairs = sum(len(group) ** 2 for groups in parts for group in groups) // 2
            signed = points << min(size - 1, 64)
            if self.norm == 2 and size > 1:
                self.spend(pairs * size // INTEGERS_PER_PRODUCT)
                found = added(by_pair(groups, 2) for groups in parts)
            elif signed <= pairs or (len(parts) > 1 and size <= MOST_SIGNED):
                self.spend(signed * size // INTEGERS_PER_PRODUCT)
                signs = product((1, -1), repeat=size - 1)
                found = max((added(by_sign(each, (1, *sign)) for each in parts) for sign in signs), key=APART)
            else:  # exact for one part, a bound for several
                self.spend(pairs * size // INTEGERS_PER_PRODUCT)
                found = added(map(by_pair, parts))
            self.reaches[key] = Fraction(found[0], self.scaled(numbers)), found[1], found[2]
        return self.reaches[key]

    def scaled(self, numbers: Iterable[int]) -> int:
        """In what unit, one over it, some weighted numbers are whole."""
        return math.lcm(*((self.weights[k] / self.form.under[k]).denominator for k in numbers))

    def parts(self, numbers: Iterable[int], moving: Collection[str]) -> list[set[str]]:
        """The columns of terms that some columns move, in sets none of which shares a term with another."""
        terms = {term for k in numbers for term in self.form.rows[k]}
        return forms.united(each for t in terms if (each := forms.columns_of(self.form.terms[t])) & set(moving))

    def tied(self, moving: Collection[str]) -> list[tuple[int, ...]]:
        """The numbers that some columns move, those together that move through one part."""
        found = forms.united(fed for part in self.parts(self.all, moving) if (fed := self.fed(part, moving)))
        return [tuple(sorted(numbers)) for numbers in found]

    def fed(self, part: set[str], moving: Collection[str]) -> set[int]:
        """The numbers that a part moves, each seen by itself."""
        key = frozenset(part), frozenset(part & set(moving))
        if key not in self.feeds:
            touched = (k for k in self.all if part & self.read[k])
            self.feeds[key] = {k for k in touched if any(len(each) > 1 for each in self.points(part, (k,), moving))}
        return self.feeds[key]

    def points(self, part: set[str], numbers: tuple[int, ...], moving: Collection[str]) -> list[AddedPoints]:
        """What records add to some numbers through a part, for every choice of what its other columns hold."""
        names, unit = sorted(part), self.scaled(numbers)
        kept = [self.weights[k] if k in numbers else Fraction(0) for k in self.all]
        choices = [self.choices(name, kept, numbers) for name in names]
        terms = sorted(t for t in {t for k in numbers for t in self.form.rows[k]} if self.moved(t, part, moving))
        rows = [[(j, self.form.rows[k][t]) for j, t in enumerate(terms) if t in self.form.rows[k]] for k in numbers]
        factors = [int(unit * self.weights[k] / self.form.under[k]) for k in numbers]
        self.spend(math.prod(map(len, choices)) * len(terms))
        groups = defaultdict[Any, AddedPoints](dict)
        for cell in product(*choices):
            record = dict(zip(names, cell, strict=True))
            values = [self.form.value(self.form.terms[t], record) for t in terms]
            sums = [sum(weight * values[j] for j, weight in row) for row in rows]
            resting = tuple(value for name, value in record.items() if name not in moving)
            groups[resting].setdefault(tuple(map(operator.mul, sums, factors)), record)
        return list(groups.values())

    def choices(self, name: str, weights: Sequence[Fraction], numbers: tuple[int, ...]) -> list[Any]:
        """The values of a column of which two move some numbers as far as any: in the 2-norm, of squares, all."""
        found, column = self.form.extremes(name, weights), self.form.columns[name]
        squared = any(t[0] == "steps" and t[1:] == [name, 2] for k in numbers for t in self.terms_of(k))
        if self.norm == 1 or len(numbers) == 1 or not squared:
            return found
        self.spend(column["steps"])
        grid = (Fraction(column["upper"]) - Fraction(column["lower"])) / column["steps"]
        steps = (self.form.around(column, column["lower"] + k * grid) for k in range(column["steps"] + 1))
        return sorted(set(found).union(*steps))

    def terms_of(self, number: int) -> list[Any]:
        """The terms that a number of the answer sums."""
        return [self.form.terms[t] for t in self.form.rows[number]]

    def joined(self, sets: list[set[str]], numbers: tuple[int, ...]) -> list[set[str]]:
        """Parts as one where their choices are few: lengths of changes do not add in the 2-norm."""
        kept = [self.weights[k] if k in numbers else Fraction(0) for k in self.all]
        every = set[str]().union(*sets)
        few = math.prod(len(self.choices(name, kept, numbers)) for name in every) <= MOST_RECORDS_JOINED
        return [every] if few and every else sets

    def moved(self, term: int, part: set[str], moving: Collection[str]) -> bool:
        """Whether a term reads columns of a part, one of which moves."""
        return forms.columns_of(self.form.terms[term]) <= part and not forms.columns_of(
            self.form.terms[term]
        ).isdisjoint(moving)


def added(reaches: Iterable[Any]) -> Any:
    """The reach of parts that share no column."""
    far, first, second = 0, ValuesOfOne(), ValuesOfOne()
    for each, a, b in reaches:
        far, first, second = far + each, first | a, second | b
    return far, first, second


def by_sign(groups: list[AddedPoints], signs: Sequence[int]) -> Any:
    """How far records are apart by a signed sum of their numbers, where their resting columns agree."""
    found = list[Any]()
    for group in groups:
        sums = {sum(map(operator.mul, signs, point)): record for point, record in group.items()}
        low, high = min(sums), max(sums)
        found.append((high - low, sums[high], sums[low]))
    return max(found, key=APART)


def by_pair(groups: list[AddedPoints], norm: int = 1) -> Any:
    """How far records are apart in a norm, where their resting columns agree."""
    best = 0, *[next(iter(groups[0].values()))] * 2
    for group in groups:
        for (p, first), (q, second) in combinations(group.items(), 2):
            far = sum(abs(a - b) ** norm for a, b in zip(p, q, strict=True))
            best = max(best, (far, first, second), key=APART)
    return best if norm == 1 else (root_above(Fraction(best[0])), *best[1:])


# --------------------------------------------------------------------------------------------------
# How far changes of columns move the released answer, in scales of the noise; and quilts, which need no more.
# --------------------------------------------------------------------------------------------------

Costs = Sequence[tuple[Decimal, set[str]]]

LONG_DRAWS = Decimal(2) ** -40
"""The share of delta for draws that are so long that rounding moves them further."""


class Moves:
    """How far changes of columns move the answer of a claim, in scales of its noise; or what else they cost."""

    def __init__(self, claim: Claim, cost: Callable[[set[str], int], Decimal] | None = None) -> None:
        self.claim, self.given = claim, cost
        if "left_out" in claim.query:
            return
        self.form = claim.form
        self.changes = Changes(claim.form, claim.weights, claim.n, claim.spend, 2 if claim.normal else 1)

    def scales(self, far: Fraction) -> Decimal:
        """A distance in scales of the noise; without noise any distance is infinite."""
        if not far:
            return forms.ZERO
        return forms.decimal(far) / self.claim.scale if self.claim.scale else forms.INFINITE

    @property
    def rounding(self) -> Decimal:
        """How far rounding can move two answers apart; 0 without noise."""
        units = (self.changes.limits(k)[1] for k in self.changes.all)
        return self.scales(self.changes.sized(units)) if self.claim.scale else forms.ZERO

    def before_the_last_noise(self) -> list[Decimal]:
        """How far rounding can move two answers apart in each number before the last noise is drawn.

        docs/claims/noise_with_a_covariance.md: rounded are the answer and, where the noise has a covariance, its first
        part and the sum. An answer without a query is never released.
        """
        claim, known = self.claim, "left_out" not in self.claim.query
        found = list[Decimal]()
        for k, weight in enumerate(claim.weights):
            limits = self.changes.limits(k) if known else (Fraction(0),) * 3
            ulp, size = (forms.decimal(each / weight) for each in limits[1:])
            if row := claim.covariance[k][k] if claim.covariance else forms.ZERO:
                count = Decimal(len(claim.weights))
                longest = count.sqrt() + (2 * (claim.epsilon - (claim.delta * LONG_DRAWS / 2).ln())).sqrt()
                ulp += 2 * ((size + 2 * longest * row.sqrt()) * Decimal(2) ** -53 + Decimal(2) ** -1074)
            found.append(ulp)
        return found

    def cost(self, moving: set[str], records: int) -> Decimal:
        """What changes of columns in so many records do not exceed, in a norm of the weighted answer."""
        forms.require(self.given or not self.claim.covariance, "changes of columns behind noise with a covariance")
        return self.given(moving, records) if self.given else self.scales(self.changes.bound(moving, records))

    def by_columns(self, moved: int | None = None) -> str:
        """Compare two tables that are as far apart as so many records make them, and then what no two tables exceed."""
        moved = self.claim.n if moved is None else moved
        far, first, second = self.changes.shown(moved)
        held = [
            {name: forms.UNCOUNTED if v == forms.UNDER_ALL else v for name, v in each.items()}
            for each in (first, second)
        ]
        records = (", ".join(f"{name} {value!r:.40}" for name, value in each.items()) for each in held)
        shown = f"shown by {moved:,} records of {' against those of '.join(records)}"
        cost = self.cost(set(self.form.reads), moved)
        if self.claim.normal:
            low, high = (curve(each, self.claim.epsilon) for each in (self.scales(far) * (1 - forms.SLACK), cost))
            NoisyPair(self.claim).passes(shown, (low * (1 - forms.SLACK), high * (1 + forms.SLACK)))
            return self.claim.bounded("whatever the model is", self.claim.epsilon)
        if not self.claim.delta:
            self.claim.held(shown, self.scales(far))
        return self.claim.bounded("whatever the model is", cost)

    def by_independence(self) -> str:
        """Without distributions: what holds whatever they are, or by ancestors in common; empty if nothing does."""
        model, told = self.claim.model, forms.ZERO
        above, driven = model.get("above", {}), model.get("driven", {})
        for name in model["protect"] if above else ("",):
            # parameters that have no ancestor in common with a protected one tell nothing of it, all together
            alone = {each for each in above if not {*above[each]} & {*above[name]}}
            moving = {column for column in self.form.reads if not alone.issuperset(driven.get(column, [column]))}
            told = max(told, self.cost(moving, self.claim.n))
        if self.claim.normal:  # no distance but 0 is an epsilon: delta decides
            passed = self.excess(told, self.claim.epsilon) * (1 + forms.SLACK) if told else forms.ZERO
            told = self.claim.epsilon if passed <= self.claim.delta else forms.INFINITE
        return self.claim.bounded("whatever the distributions are", told) if told <= self.claim.epsilon else ""

    def by_quilts(self) -> str:
        """Look for every attribute, model and ordered pair for columns whose change the noise hides: the near ones."""
        claim, network = self.claim, self.claim.network
        known = {*network.states, *network.driven, *claim.model.get("independent", ())}
        forms.require(known.issuperset(self.form.reads), "a column of which the model says nothing")
        for name, pairs in claim.model["protect"].items():
            costs = self.near_sets(name)
            ways = [way for first, second in pairs for way in ((first, second), (second, first))]
            for theta, (first, second) in product(range(network.models), ways):
                told = min(self.quilt(name, theta, first, second, costs))
                if told >= 0:  # a secret of probability zero is no constraint
                    claim.bounded(f"by the best quilt for {name}, {shown((first, second))} in model {theta}", told)
        return claim.borne("by the best quilt for every model and pair of secrets")

    def near_sets(self, name: str) -> Costs:
        """All sets of near columns of an attribute, with what it costs to hide them, least first."""
        reads, records = self.form.reads, 1 if self.claim.model["notion"] == forms.VALUE else self.claim.n
        near = {column for column in reads if name in self.claim.network.drivers([column])}
        free = [column for column in reads if column not in near and self.claim.network.drivers([column])]
        self.claim.spend(2 ** len(free))
        sets = [near | set(more) for size in range(len(free) + 1) for more in combinations(free, size)]
        return sorted(((self.cost(moving, records), moving) for moving in sets), key=lambda each: each[0])

    def quilt(self, name: str, theta: int, first: Any, second: Any, costs: Costs) -> Iterator[Decimal]:
        """Yield the epsilon that every near set bears; one that passes the claim by delta at most bears the claim."""
        for cost, moving in costs:
            if isinstance(self.claim.network, IntervalNodes):
                far = self.claim.network.drivers([column for column in self.form.reads if column not in moving])
                enough = self.claim.epsilon - cost
                told = self.claim.network.told(name, far, (first, second), enough, self.claim.spend)
                yield told + cost if told >= 0 else -forms.ONE
                if told <= enough:
                    return
                continue
            a, b = self.far_laws(name, theta, (first, second), moving)
            if not a or not b:
                yield -forms.ONE
                return
            told = max(p / b[q] if q in b else forms.INFINITE for q, p in a.items()).ln()
            told = told + cost if cost == 0 or not self.claim.normal else forms.INFINITE
            if told > self.claim.epsilon and self.claim.delta and cost < forms.INFINITE:
                left = {q: self.claim.epsilon - (p / b[q]).ln() if q in b else -forms.INFINITE for q, p in a.items()}
                passed = (p * self.excess(cost, left[q]) for q, p in a.items())
                told = self.claim.epsilon if sum(passed) + forms.SLACK <= self.claim.delta else told
            yield told
            if told <= self.claim.epsilon:
                return

    def excess(self, cost: Decimal, level: Decimal) -> Decimal:
        """The hockey-stick divergence of two answers so many scales of the noise apart, at a level of either sign."""
        if self.claim.normal:
            self.claim.spend(2 * TAIL_WORK)
            return curve(cost, level)
        return max(forms.ZERO, 1 - level.exp(), 1 - ((level - cost) / 2).exp())

    def far_laws(self, name: str, theta: int, pair: tuple[Any, Any], moving: set[str]) -> tuple[forms.Law, forms.Law]:
        """The laws, given each secret of a pair, of the nodes of the columns that are not near."""
        nodes = self.claim.network.drivers([column for column in self.form.reads if column not in moving])
        states, sides = self.claim.network.states[name], (forms.summed(), forms.summed())
        for cell, p in self.claim.joint(name, *nodes, theta=theta).items():
            for side, chosen in zip(sides, pair, strict=True):
                if states[cell[0]] in chosen:
                    side[cell[1:]] += p
        return forms.merged([sides[0]]), forms.merged([sides[1]])


def hiding_records(claim: Claim) -> str:
    """Check what a baseline says of records, and what it says of secrets without a model; empty if one is needed."""
    size: Any = claim.options.get("size", 1)
    size = claim.n if size is None else size
    forms.require(type(size) is int and size > 0, "a number of records that are hidden")
    hidden = copy(claim)
    hidden.epsilon = Decimal(claim.asked)
    Moves(hidden).by_columns(min(size, claim.n))
    try:
        return Moves(copy(claim)).by_columns()
    except forms.StopError:
        if claim.model["notion"] == forms.DATASET or "sides" in claim.model:  # the secrets may be numbers of records
            return ""
        raise
