"""How far changes of columns move the released answer, in scales of the noise; and quilts, which need no more."""

from __future__ import annotations

import math
import operator
from collections import defaultdict
from collections.abc import Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from itertools import combinations, product
from typing import Any

from bnpriv.verify.claim import Claim
from bnpriv.verify.secrets import shown
from bnpriv.verify.values import INFINITE, ONE, SLACK, VALUE, ZERO, Law, decimal, merged, require, summed

Costs = Sequence[tuple[Decimal, set[str]]]


class Moves:
    """How far changes of columns move the answer of a claim."""

    def __init__(self, claim: Claim) -> None:
        self.claim, self.form, self.weights = claim, claim.form, claim.weights

    @cached_property
    def added(self) -> dict[tuple[Any, ...], tuple[Fraction, ...]]:
        """Return what one record adds for every choice of extreme values of the columns that are read."""
        choices = [self.form.extremes(name, self.weights) for name in self.form.reads]
        self.claim.spend(math.prod(map(len, choices)))
        records = (dict(zip(self.form.reads, cell, strict=True)) for cell in product(*choices))
        return {tuple(r.values()): tuple(map(Fraction, self.form.key(r), self.form.under)) for r in records}

    @cached_property
    def limits(self) -> list[tuple[Fraction, Fraction]]:
        """Return for every number, weighted, how wide the doubles range, and how far rounding can move two apart."""
        found, n = list[tuple[Fraction, Fraction]](), self.claim.n
        columns: list[tuple[Fraction, ...]] = list(zip(*self.added.values(), strict=True))
        for shift, under, each in zip(self.form.offset, self.form.under, columns, strict=True):
            low, high = shift + n * min(each), shift + n * max(each)
            largest, whole = max(abs(low), abs(high)), math.lcm(under, shift.denominator)
            doubles = whole & (whole - 1) == 0 and largest * whole <= 2**53
            unit = Fraction(0 if doubles else math.ulp(float(largest)))
            found.append((Fraction(float(high)) - Fraction(float(low)), unit))
        return [(weight * wide, weight * unit) for weight, (wide, unit) in zip(self.weights, found, strict=True)]

    @property
    def rounding(self) -> Decimal:
        """How far rounding can move two answers apart, in scales of the noise; 0 without noise."""
        moved = decimal(sum((unit for _, unit in self.limits), Fraction(0)))
        return moved / self.claim.scale if self.claim.scale else ZERO

    def cost(self, moving: set[str], records: int) -> Decimal:
        """Return in scales of the noise how far, in the 1-norm, changes of so many records move the weighted answer."""
        groups, size, most, moved = defaultdict[Any, set[Any]](set), len(self.form.rows), Fraction(0), set[int]()
        self.claim.spend(len(self.added) << size)
        for cell, point in self.added.items():
            groups[tuple(x for x, n in zip(cell, self.form.reads, strict=True) if n not in moving)].add(point)
        for points in groups.values():
            moved |= {k for k, numbers in enumerate(zip(*points, strict=True)) if len(set(numbers)) > 1}
            for signs in product((1, -1), repeat=size - 1):
                signed = list(map(operator.mul, (1, *signs), self.weights))
                sums = [sum(map(operator.mul, signed, point), Fraction(0)) for point in points]
                most = max(most, max(sums) - min(sums))
        far = records * most + sum((self.limits[k][1] for k in moved), Fraction(0))
        far = min(far, self.limits[0][0]) if size == 1 else far  # rounding keeps the order
        if not most:
            return ZERO
        return decimal(far) / self.claim.scale if self.claim.scale else INFINITE

    def by_quilts(self) -> str:
        """Look for every attribute, model and ordered pair for columns whose change the noise hides: the near ones."""
        claim, network = self.claim, self.claim.network
        known = {*network.states, *network.driven, *claim.model.get("independent", ())}
        require(known.issuperset(self.form.reads), "a column of which the model says nothing")
        for name, pairs in claim.model["protect"].items():
            costs = self.near_sets(name)
            ways = [way for first, second in pairs for way in ((first, second), (second, first))]
            for theta, (first, second) in product(range(network.models), ways):
                told = min(self.quilt(name, theta, first, second, costs))
                if told >= 0:  # a secret of probability zero is no constraint
                    claim.held(f"by the best quilt for {name}, {shown((first, second))} in model {theta}", told)
        return claim.held("by the best quilt for every model and pair of secrets")

    def near_sets(self, name: str) -> Costs:
        """Return all sets of near columns of an attribute, with what it costs to hide them, least first."""
        reads, records = self.form.reads, 1 if self.claim.model["notion"] == VALUE else self.claim.n
        near = {column for column in reads if name in self.claim.network.drivers([column])}
        free = [column for column in reads if column not in near and self.claim.network.drivers([column])]
        self.claim.spend(2 ** len(free))
        sets = [near | set(more) for size in range(len(free) + 1) for more in combinations(free, size)]
        return sorted(((self.cost(moving, records), moving) for moving in sets), key=lambda each: each[0])

    def quilt(self, name: str, theta: int, first: Any, second: Any, costs: Costs) -> Iterator[Decimal]:
        """Yield the epsilon that every near set bears; one that passes the claim by delta at most bears the claim."""
        for cost, moving in costs:
            a, b = self.far_laws(name, theta, (first, second), moving)
            if not a or not b:
                yield -ONE
                return
            told = max(p / b[q] if q in b else INFINITE for q, p in a.items()).ln() + cost
            if told > self.claim.epsilon and self.claim.delta and cost < INFINITE:
                left = {q: self.claim.epsilon - (p / b[q]).ln() if q in b else -INFINITE for q, p in a.items()}
                passed = (p * max(ZERO, 1 - left[q].exp(), 1 - ((left[q] - cost) / 2).exp()) for q, p in a.items())
                told = self.claim.epsilon if sum(passed) + SLACK <= self.claim.delta else told
            yield told
            if told <= self.claim.epsilon:
                return

    def far_laws(self, name: str, theta: int, pair: tuple[Any, Any], moving: set[str]) -> tuple[Law, Law]:
        """Return the laws, given each secret of a pair, of the nodes of the columns that are not near."""
        nodes = self.claim.network.drivers([column for column in self.form.reads if column not in moving])
        states, sides = self.claim.network.states[name], (summed(), summed())
        for cell, p in self.claim.joint(name, *nodes, theta=theta).items():
            for side, chosen in zip(sides, pair, strict=True):
                if states[cell[0]] in chosen:
                    side[cell[1:]] += p
        return merged([sides[0]]), merged([sides[1]])
