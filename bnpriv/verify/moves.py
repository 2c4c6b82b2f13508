"""How far changes of columns move the released answer, in scales of the noise; and quilts, which need no more."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import combinations, product
from typing import Any

from bnpriv.verify.changes import Changes
from bnpriv.verify.claim import Claim
from bnpriv.verify.secrets import shown
from bnpriv.verify.values import INFINITE, ONE, SLACK, VALUE, ZERO, Law, decimal, merged, require, summed

Costs = Sequence[tuple[Decimal, set[str]]]


class Moves:
    """How far changes of columns move the answer of a claim, in scales of its noise."""

    def __init__(self, claim: Claim) -> None:
        self.claim, self.form = claim, claim.form
        self.changes = Changes(claim.form, claim.weights, claim.n, claim.spend)

    def scales(self, far: Fraction) -> Decimal:
        """A distance in scales of the noise; without noise any distance is infinite."""
        if not far:
            return ZERO
        return decimal(far) / self.claim.scale if self.claim.scale else INFINITE

    @property
    def rounding(self) -> Decimal:
        """How far rounding can move two answers apart; 0 without noise."""
        units = (self.changes.limits(k)[1] for k in self.changes.all)
        return self.scales(sum(units, Fraction(0))) if self.claim.scale else ZERO

    def cost(self, moving: set[str], records: int) -> Decimal:
        """What changes of columns in so many records do not exceed, in the 1-norm of the weighted answer."""
        return self.scales(self.changes.bound(moving, records))

    def by_columns(self) -> str:
        """Compare two tables that are as far apart as they can be, and then what no two tables exceed."""
        far, first, second = self.changes.shown()
        records = (", ".join(f"{name} {value!r:.40}" for name, value in each.items()) for each in (first, second))
        if not self.claim.delta:
            self.claim.held(
                f"shown by {self.claim.n:,} records of {' against those of '.join(records)}", self.scales(far)
            )
        return self.claim.bounded("whatever the model is", self.cost(set(self.form.reads), self.claim.n))

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
                    claim.bounded(f"by the best quilt for {name}, {shown((first, second))} in model {theta}", told)
        return claim.borne("by the best quilt for every model and pair of secrets")

    def near_sets(self, name: str) -> Costs:
        """All sets of near columns of an attribute, with what it costs to hide them, least first."""
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
        """The laws, given each secret of a pair, of the nodes of the columns that are not near."""
        nodes = self.claim.network.drivers([column for column in self.form.reads if column not in moving])
        states, sides = self.claim.network.states[name], (summed(), summed())
        for cell, p in self.claim.joint(name, *nodes, theta=theta).items():
            for side, chosen in zip(sides, pair, strict=True):
                if states[cell[0]] in chosen:
                    side[cell[1:]] += p
        return merged([sides[0]]), merged([sides[1]])
