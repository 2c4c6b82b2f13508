"""Single values of a Markov chain: what distant values tell, and what the noise has to hide between them.

Nothing of the rest of bnpriv is imported. Powers of the transition matrix are sums of products of decimals that are
not negative; what is told is compared as a ratio, and logs are taken of doubles only to leave out what is too much.
Proof: docs/claims/markov_chain.md.
"""

from __future__ import annotations

import math
import operator
from bisect import bisect_right
from collections.abc import Callable, Iterator
from decimal import Decimal
from functools import cached_property
from itertools import combinations, permutations, product
from typing import Any

from bnpriv.verify.answers import AnswerLaws
from bnpriv.verify.changes import Moves
from bnpriv.verify.claim import MOST_WORK, Claim, NoisyPair
from bnpriv.verify.forms import (
    INFINITE,
    ONE,
    SLACK,
    UNSHOWN,
    ZERO,
    DecimalMatrix,
    Law,
    StopError,
    merged,
    number,
    require,
    summed,
)

MOST_TOLD_APART = 20_000
"""LikeSteps whose distributions are told apart; what is known of a later one holds for all after it."""

MOST_DISTANT = 4096
"""Values so many steps away are looked at."""

CLOSE_TO_LIMIT = Decimal("1e-18")
"""How far, relatively, the distribution of a step may be from the limit for which it is taken."""

PER_PRODUCT = 16
"""Products of decimals in lists that take as long as one of masses."""

MOST_REFUTING = 250_000
"""Products of masses in search of what refutes a claim that no quilts bear."""

LOST_IN_DOUBLES = 1e-9
"""What is too much by no more than this, as a double in nats, is looked at exactly."""

NOWHERE = (0, 0)
"""The range of distances of a side without a value."""

PossibleStates = frozenset[int]
RatiosOfPairs = list[Decimal]
"""A ratio for every ordered pair of states."""

Quilt = tuple[int | None, int | None]
"""How many steps before and after the values are that are not hidden; None where there is none on a side."""


class LikeSteps:
    """Steps of which the same is known: for every ordered pair (x, x') of states P(x') / P(x) at most, 0 for no pair.

    `seen` says which states are possible a number of steps before. What was found of them is remembered.
    """

    def __init__(
        self,
        first: int,
        last: int,
        odds: RatiosOfPairs,
        seen: Callable[[int], PossibleStates],
        *,
        settled: bool = False,
    ) -> None:
        self.first, self.last, self.odds, self.seen, self.settled = first, last, odds, seen, settled
        self.kept = tuple(k for k, each in enumerate(odds) if each)
        self.told, self.before = dict[Quilt, Decimal](), dict[int, list[float]]()


class Chain:
    """One model of a chain: powers of its matrix, and what is known of its steps."""

    def __init__(self, matrix: DecimalMatrix, start: Any, spend: Callable[[int], None]) -> None:
        self.k, self.start = len(matrix), start
        self.all, self.pairs = frozenset(range(self.k)), list(permutations(range(self.k), 2))
        self.powers, self.known = [matrix], dict[Any, RatiosOfPairs]()
        self.spent = spend

    def spend(self, cost: int) -> None:
        """Note products of decimals in lists."""
        self.spent(cost // PER_PRODUCT + 1)

    def power(self, distance: int) -> DecimalMatrix:
        """The transitions over a number of steps."""
        while len(self.powers) < distance:
            self.spend(self.k**3)
            columns = list(zip(*self.powers[0], strict=True))
            after = [[sum(map(operator.mul, row, column), ZERO) for column in columns] for row in self.powers[-1]]
            self.powers.append(after)
        return self.powers[distance - 1]

    def after(self, distance: int) -> RatiosOfPairs:
        """What a value so many steps later tells at most, for every pair."""
        if distance not in self.known:
            self.known[distance] = self.ratios(self.power(distance))
        return self.known[distance]

    def before(self, distance: int, seen: PossibleStates) -> RatiosOfPairs:
        """How much likelier one state comes at most than another, so many steps after one of those that are seen."""
        if (distance, seen) not in self.known:
            rows = [row for y, row in enumerate(self.power(distance)) if y in seen]
            self.known[distance, seen] = self.ratios(list(map(list, zip(*rows, strict=True))))
        return self.known[distance, seen]

    def ratios(self, rows: DecimalMatrix) -> RatiosOfPairs:
        """The largest ratio of two rows at one place, for every pair of them; 1 of a row without a mass."""
        self.spend(2 * len(rows[0]) * self.k**2)
        return [
            max(((p / q if q else INFINITE) for p, q in zip(rows[x], rows[y], strict=True) if p), default=ONE)
            for x, y in self.pairs
        ]

    def odds(self, law: list[Decimal], off: Decimal = ZERO) -> RatiosOfPairs:
        """The odds of a distribution whose masses are off by a factor at most."""
        loose = (1 + off) ** 2
        return [law[y] / law[x] * loose if law[x] and law[y] else ZERO for x, y in self.pairs]

    @cached_property
    def limit(self) -> list[Decimal] | None:
        """The stationary distribution, by elimination of states without a subtraction; None if there are several."""
        closed = {frozenset(reach) for reach in self.reach if all(self.reach[z] == reach for z in reach)}
        if len(closed) != 1:
            return None
        inside = sorted(next(iter(closed)))
        rest, weights = [[self.powers[0][x][y] for y in inside] for x in inside], [ONE]
        for n in range(len(inside) - 1, 0, -1):
            out = sum(rest[n][:n], ZERO)
            for row in rest[:n]:
                row[n] /= out
                row[:n] = [p + row[n] * q for p, q in zip(row[:n], rest[n][:n], strict=True)]
        for n in range(1, len(inside)):
            weights.append(sum((weights[x] * rest[x][n] for x in range(n)), ZERO))
        total = sum(weights)
        mass = dict(zip(inside, weights, strict=True))
        return [mass.get(x, ZERO) / total for x in range(self.k)]

    @cached_property
    def reach(self) -> list[set[int]]:
        """The states to which each leads in one step or more."""
        found = [{y for y, p in enumerate(row) if p} for row in self.powers[0]]
        for _ in range(self.k.bit_length()):
            found = [each.union(*(found[y] for y in each)) for each in found]
        return found

    def led_to(self, mask: PossibleStates) -> PossibleStates:
        """The states to which some lead in one step."""
        return frozenset(y for x in mask for y, p in enumerate(self.powers[0][x]) if p)

    @cached_property
    def reached(self) -> list[PossibleStates]:
        """The states to which some start leads by steps 1, 2, ..., until they stay the same."""
        masks = [self.all]
        while (after := self.led_to(masks[-1])) != masks[-1]:
            masks.append(after)
        return masks

    def led_by_any(self, step: int) -> Callable[[int], PossibleStates]:
        """Which states some start leads to, a number of steps before one, or before any after it."""
        return lambda a: self.reached[min(max(step - a, 1), len(self.reached)) - 1]

    def unordered(self, mask: PossibleStates) -> RatiosOfPairs:
        """Odds of which nothing is known."""
        return [INFINITE if x in mask and y in mask else ZERO for x, y in self.pairs]

    def steps(self, length: int, far: int) -> Iterator[LikeSteps]:
        """Yield what is known of each step, and now and then of it and all later ones; in the end that is settled.

        Values at most `far` steps before one are looked at.
        """
        if self.start == "stationary":
            require(self.limit, "a stationary distribution, of which there are several")
            law: Any = self.limit
            held = frozenset(x for x, p in enumerate(law) if p)
            yield LikeSteps(1, length, self.odds(law), lambda _: held, settled=True)
        else:
            yield from self.from_any(length) if self.start == "any" else self.from_law(length, far)

    def from_any(self, length: int) -> Iterator[LikeSteps]:
        """The steps whose start is not known: odds of two states never grow."""
        odds, forgets = self.unordered(self.all), self.forgets
        for step in range(1, length + 1):
            if step > 1 and forgets:
                odds = self.turned(self.before(step - 1, self.all))
            mask = self.reached[min(step, len(self.reached)) - 1]
            odds = [o if x in mask and y in mask else ZERO for o, (x, y) in zip(odds, self.pairs, strict=True)]
            apart = max((o * back for o, back in zip(odds, self.turned(odds), strict=True) if o), default=ONE)
            settled = step >= len(self.reached) and (not forgets or apart <= 1 + CLOSE_TO_LIMIT)
            if not settled:
                yield LikeSteps(step, step, odds, self.led_by_any(step))
            if settled or step & (step - 1) == 0:
                yield LikeSteps(step, length, odds, self.led_by_any(step), settled=settled)
            if settled:
                return

    def turned(self, told: RatiosOfPairs) -> RatiosOfPairs:
        """The same for every pair the other way round."""
        known = dict(zip(self.pairs, told, strict=True))
        return [known[y, x] for x, y in self.pairs]

    @property
    def forgets(self) -> bool:
        """Whether every start leads, after some time, to the same states at any one step."""
        masks = [self.led_to(frozenset([x])) for x in range(self.k)]
        for _ in range(2 * self.k.bit_length()):  # after more than the square of their number it shows
            masks = [PossibleStates().union(*(masks[y] for y in mask)) for mask in masks]
        return all(mask == self.reached[-1] for mask in masks)

    def from_law(self, length: int, far: int) -> Iterator[LikeSteps]:
        """The steps whose start has a given distribution: they come ever closer to the limit, if there is one."""
        law, masks, strayed, columns = self.start, list[PossibleStates](), -far, list(zip(*self.powers[0], strict=True))
        inside = frozenset(x for x, p in enumerate(self.limit or ()) if p)
        for step in range(1, length + 1):
            masks.append(frozenset(x for x, p in enumerate(law) if p))
            strayed = strayed if masks[-1] == inside else step
            both = [(p, q) for p, q in zip(law, self.limit or (), strict=False) if p and step - strayed > far]
            off = max((max(p / q, q / p) for p, q in both), default=INFINITE) - 1
            settled = off <= CLOSE_TO_LIMIT or (step == MOST_TOLD_APART and off < INFINITE)
            if not settled and step < MOST_TOLD_APART:
                yield LikeSteps(step, step, self.odds(law), lambda a, at=step: masks[at - a - 1])
            if off < INFINITE and (settled or step & (step - 1) == 0):
                yield LikeSteps(step, length, self.odds(self.limit or law, off), lambda _: inside, settled=settled)
            elif step == MOST_TOLD_APART:
                odds = self.unordered(self.led_by_any(step)(0))
                yield LikeSteps(step, length, odds, self.led_by_any(step), settled=True)
            if settled or step == MOST_TOLD_APART:
                return
            self.spend(3 * self.k**2)
            law = [sum(map(operator.mul, law, column), ZERO) for column in columns]


class ChainQuilts:
    """The search for values around every step whose change noise hides, where the others tell no more than is left."""

    def __init__(self, claim: Claim, chain: Chain, length: int, costs: Callable[[int], Decimal]) -> None:
        self.claim, self.chain, self.length, self.cost = claim, chain, length, costs
        self.left, self.lately, self.alone = dict[int, Decimal](), list[Quilt](), dict[Any, dict[Quilt, Decimal]]()
        self.after = dict[Any, list[float]]()
        self.most = bisect_right(range(1, length + 1), claim.epsilon, key=costs)
        """How many values noise hides at most."""
        self.far, self.worst, self.least = min(self.most, MOST_DISTANT), ZERO, 0.0

    def allowed(self, near: int) -> Decimal:
        """What others may tell, as a ratio, where so many values are hidden; 0 where these are too many."""
        if near not in self.left:
            self.left[near] = (self.claim.epsilon - self.cost(near) - SLACK).exp() if near <= self.most else ZERO
        return self.left[near]

    def bears(self) -> bool:
        """Whether every step has a quilt that the noise bears."""
        for steps in self.chain.steps(self.length, self.far):
            if self.served(steps):
                if steps.last == self.length:
                    return True
            elif steps.first == steps.last:
                return False
        return False

    def served(self, steps: LikeSteps) -> bool:
        """Whether every step of some of which the same is known has a quilt."""
        if not steps.kept:
            return True  # no two states are possible
        step = steps.first
        while step <= steps.last:
            found = self.quilt(steps, step)
            if found is None:
                return False
            (a, b), told = found
            if b is None:
                return True  # later steps have no more values to hide
            if a is not None:
                step = max(step, self.length - b) + 1
            else:  # as long as there are values enough before the one that is not hidden
                most = bisect_right(range(1, self.most + 1), -told, key=lambda near: -self.allowed(near))
                step = max(step, min(most - b + 1, self.length - b)) + 1
        return True

    def quilt(self, steps: LikeSteps, step: int) -> tuple[Quilt, Decimal] | None:
        """A quilt of one step that the noise bears, and what it tells."""
        for sides in self.candidates(steps, step):
            a, b = sides
            near, told = self.near(step, sides), self.told(steps, a, b)
            if told <= self.allowed(near):
                self.lately = [sides, *(each for each in self.lately if each != sides)][:3]
                self.worst = max(self.worst, told / self.allowed(near))
                return sides, told
        return None

    def near(self, step: int, sides: Quilt) -> int:
        """How many values lie between those of a quilt."""
        a, b = sides
        return (self.length if b is None else step + b - 1) - (0 if a is None else step - a)

    def told(self, steps: LikeSteps, a: int | None, b: int | None) -> Decimal:
        """What the values so many steps before and after tell together at most, as a ratio."""
        known = steps.told if a else self.alone.setdefault(steps.kept, {})  # values after alone tell the same of all
        if (a, b) not in known:
            self.chain.spend(3 * len(steps.odds))
            sides = [self.told_before(steps, a)] if a else []
            sides += [self.chain.after(b)] if b else []
            ratios = (math.prod((side[k] for side in sides), start=ONE) for k in steps.kept)
            known[a, b] = max(ONE, *ratios)
        return known[a, b]

    def told_before(self, steps: LikeSteps, a: int) -> RatiosOfPairs:
        """What the value so many steps before tells: its own odds turned round, and those of the step."""
        likelier = self.chain.before(a, steps.seen(a))
        ways = zip(likelier, self.chain.turned(likelier), steps.odds, strict=True)
        return [ratio * min(turned, odds) if odds else ZERO for ratio, turned, odds in ways]

    def candidates(self, steps: LikeSteps, step: int) -> Iterator[Quilt]:
        """Yield quilts that may do: those that did lately, then all that hide no more values than noise can."""
        before, after = min(self.far, step - 1), min(self.far, self.length - step)
        self.least = float(self.cost(self.length))
        yield None, None
        for a, b in self.lately:
            a, b = (min(a, before) or None) if a else None, (min(b, after) or None) if b else None
            yield from ((a, b), (None, b), (a, None))
        lefts, rights = _ranges(before), _ranges(after)
        boxes = [*((NOWHERE, right) for right in rights), *((left, NOWHERE) for left in lefts)]
        if steps.settled or steps.first == steps.last:
            boxes += sorted(product(lefts, rights), key=lambda box: box[0][0] + box[1][0])
        todo = boxes[::-1]
        while todo:
            (a, most_a), (b, most_b) = todo.pop()
            # the more distant, the less is told and the more is hidden
            sides = zip(self.logs_before(steps, most_a), self.logs_after(steps, most_b), strict=True)
            told = max((left + right for left, right in sides), default=0.0)
            far = self.cost(self.near(step, (most_a or None, most_b or None)))
            self.least = min(self.least, told + float(far))
            if (
                told + float(self.cost(self.near(step, (a or None, b or None))))
                > float(self.claim.epsilon) + LOST_IN_DOUBLES
            ):
                continue
            if (a, b) == (most_a, most_b):
                yield a or None, b or None
            elif most_a - a > most_b - b:
                middle = (a + most_a) // 2
                todo += [((middle + 1, most_a), (b, most_b)), ((a, middle), (b, most_b))]
            else:
                middle = (b + most_b) // 2
                todo += [((a, most_a), (middle + 1, most_b)), ((a, most_a), (b, middle))]

    def logs_before(self, steps: LikeSteps, a: int) -> list[float]:
        """What the value so many steps before tells of pairs that count, in nats but for rounding; nothing for 0."""
        if a not in steps.before:
            told = self.told_before(steps, a) if a else [ONE] * len(steps.odds)
            steps.before[a] = [_log(told[k]) for k in steps.kept]
        return steps.before[a]

    def logs_after(self, steps: LikeSteps, b: int) -> list[float]:
        """What the value so many steps after tells."""
        if (b, steps.kept) not in self.after:
            told = self.chain.after(b) if b else [ONE] * len(steps.odds)
            self.after[b, steps.kept] = [_log(told[k]) for k in steps.kept]
        self.chain.spend(2 * len(steps.kept))
        return self.after[b, steps.kept]


def _ranges(most: int) -> list[tuple[int, int]]:
    """Ranges of distances, each twice as far as the last."""
    starts = [1 << k for k in range(most.bit_length())]
    return [(start, min(2 * start - 1, most)) for start in starts]


def _log(ratio: Decimal) -> float:
    """The log of a decimal of any size as a double."""
    if ratio == INFINITE:
        return math.inf
    return math.log(float(ratio.scaleb(-ratio.adjusted()))) + ratio.adjusted() * math.log(10)


def chains_of(claim: Claim) -> tuple[list[Chain], list[int]]:
    """The models of a claim about a chain, and the lengths of its pieces."""
    facts: Any = claim.model["chain"]
    lengths, k = facts["length"], len(facts["states"])
    require(all(type(n) is int and n > 0 for n in lengths) and sum(lengths) == claim.n, "the length of a chain")
    require({*claim.form.reads} <= {facts["column"]}, "a query of another column than the chain's")
    matrices = [[_law(row, k) for row in matrix] for matrix in facts["transition"]]
    starts = facts["initial"]
    given: Any = [starts] if starts in ("any", "stationary") else [_law(row, k) for row in starts]
    models = max(len(matrices), len(given))
    fits = all(len(matrix) == k for matrix in matrices) and {len(matrices), len(given)} <= {1, models}
    require(k and fits, "a chain of another shape")
    last = len(matrices) - 1, len(given) - 1
    return [Chain(matrices[min(m, last[0])], given[min(m, last[1])], claim.spend) for m in range(models)], lengths


def probabilities(facts: Any) -> Iterator[Any]:
    """The probabilities of all transitions and starts that are given, in their order."""
    starts: Any = facts["initial"]
    tables: Any = (*facts["transition"], [] if isinstance(starts, str) else starts)
    rows: list[Any] = [row for matrix in tables for row in matrix]
    return (p for row in rows for p in _law(row, len(facts["states"])))


def _law(row: Any, k: int) -> list[Decimal]:
    masses = [number(each) for each in row]
    require(len(masses) == k and min(masses) >= 0, "a row of a chain")
    total = sum(masses)
    require(abs(total - 1) < Decimal("1e-6"), "a row of a chain that is no distribution")
    return [mass / total for mass in masses]


def _refute(claim: Claim, chain: Chain, length: int) -> None:
    """Stop where the distribution of the answer, given two values of some step of one chain, refutes a claim."""
    claim.work, claim.worst = MOST_WORK - MOST_REFUTING, ZERO
    answers, comparison, facts = AnswerLaws(claim), NoisyPair(claim), claim.model["chain"]
    values = [answers.option(claim.form, facts["column"], x, state)[0][0] for x, state in enumerate(facts["states"])]
    adds = [claim.form.key({facts["column"]: value}) for value in values]
    starts: Any = [chain.limit] if chain.start == "stationary" else [chain.start]
    if chain.start == "any":
        starts = [[ONE / chain.k] * chain.k, *([Decimal(int(x == y)) for y in range(chain.k)] for x in range(chain.k))]

    def onward(laws: list[Law], back: bool) -> list[Law]:
        """What is added up one step further: ahead from each state, or back to each."""
        found = list[Law]()
        for x in range(chain.k):
            ways = [(y, chain.powers[0][x][y] if back else chain.powers[0][y][x]) for y in range(chain.k)]
            claim.spend(sum(len(laws[y]) for y, p in ways if p))
            cells = (
                (tuple(map(operator.add, key, adds[y if back else x])), p * q)
                for y, p in ways
                if p
                for key, q in laws[y].items()
            )
            found.append(summed(cells))
        return found

    try:
        nothing = (0,) * len(claim.form.rows)
        for start, step in product(starts, dict.fromkeys((1, (length + 1) // 2, length))):
            until = [summed([(add, p)]) if p else summed() for add, p in zip(adds, start, strict=True)]
            beyond = [summed([(nothing, ONE)])] * chain.k
            for _ in range(step - 1):
                until = onward(until, back=False)
            for _ in range(length - step):
                beyond = onward(beyond, back=True)
            laws = [
                answers.released(merged([answers.convolved(a, b)])) if a else {}
                for a, b in zip(until, beyond, strict=True)
            ]
            for x, y in combinations(range(chain.k), 2):
                if laws[x] and laws[y]:
                    label = f"step {step:,}, {facts['states'][x]} against {facts['states'][y]}"
                    comparison.compare(label, laws[x], laws[y])
    except StopError as stop:
        if stop.args[0] == "fails":
            raise


def by_chain(claim: Claim) -> str:
    """What holds of a claim about the single values of a chain."""
    require(claim.noise in ("Laplace", "NoNoise"), f"{claim.noise!r:.40} noise for a chain")
    moves = Moves(claim)
    costs = dict[int, Decimal]()

    def cost(near: int) -> Decimal:
        if near not in costs:
            costs[near] = moves.cost(set(claim.form.reads), near)
        return costs[near]

    chains, lengths = chains_of(claim)
    for model, chain in enumerate(chains):
        for length in sorted(set(lengths)):
            search = ChainQuilts(claim, chain, length, cost)
            if not search.bears():
                if len(lengths) == 1:
                    _refute(claim, chain, length)
                found = f"epsilon may be {search.least:.9g} where {claim.epsilon:.9g} is claimed"
                raise StopError(UNSHOWN, f"{found}, by the values around a step of the chain in model {model}")
            if search.worst:
                claim.note(claim.epsilon + search.worst.ln() + SLACK)
    return claim.borne("by the best values before and after every step")
