"""What several answers tell of one record: the largest log ratio that noise can make of its distributions.

Theorem 4 of docs/claims/accountant.md. A weight has for every number with noise one of its values, so that all of them
are the points of a grid, on which both distributions are smoothed at once. Where a grid is large it is cut into boxes,
of which those are left out that a bound from their middle keeps below the claim.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise, product
from operator import itemgetter
from typing import Any, NamedTuple

from bnpriv.verify.answers import AnswerLaws, exchanges
from bnpriv.verify.claim import Claim, smoothed
from bnpriv.verify.forms import INFINITE, ONE, SLACK, UNSHOWN, ZERO, Form, Law, StopError, decimal, require, summed

MOST_GRID_POINTS = 2**10
"""Points of a grid that are looked at one by one; larger ones are cut into boxes."""

SUMS_COMPARED = (2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128)
"""The numbers of records whose sums are compared; other numbers are put together from these."""

MOST_APART_SUMMED = 2**12
"""The most records that secrets may be apart where sums are put together."""

NoisyRow = tuple[int, Fraction | None]
"""A number of the answers: its row in the query, and one over the scale of its noise for each unit; None without."""

Atom = tuple[Any, tuple[int, ...]]
"""What others see of a record, and what it adds to the numbers of the query."""


class Exchange(NamedTuple):
    """The distributions of a record that leaves one class and of one of another, in one model.

    `ends` are the masses of a further record of either class, which may be any atom of `possible`.
    """

    first: Law
    second: Law
    ends: tuple[Decimal, Decimal]
    possible: tuple[Sequence[Atom], Sequence[Atom]]

    def turned(self, way: int) -> Exchange:
        """It in one direction or the other."""
        ends, possible = self.ends, self.possible
        turned = Exchange(self.second, self.first, (ends[1], ends[0]), (possible[1], possible[0]))
        return self if way > 0 else turned

    def apart(self) -> Iterator[Decimal]:
        """Yield the total variation of both, seen from either."""
        for way in (1, -1):
            first, second, (end, _), _ = self.turned(way)
            yield sum((max(ZERO, p - second.get(atom, ZERO)) for atom, p in first.items()), end)


class OneRecord:
    """One record's distributions on what some releases tell apart.

    Parameters
    ----------
    claim : Claim
        Of all queries together, as one answer.
    numbers : sequence of (int, Fraction or None)
    seen : sequence of str
        The columns that releases with differential privacy for single records read.
    band : Fraction
        The sum of their epsilons.
    """

    def __init__(self, claim: Claim, numbers: Sequence[NoisyRow], seen: Sequence[str], band: Fraction) -> None:
        self.claim, self.numbers, self.seen, self.answers = claim, numbers, seen, AnswerLaws(claim)
        self.factor = decimal(band).exp()

    def exchanges(self, secret: Any) -> tuple[dict[tuple[int, Any], Exchange], dict[tuple[int, Any], int]]:
        """The exchanges of records between two secrets of a pair, by model and classes, and how many there are."""
        both, count, far = self.answers.stacked(secret), len(secret["form"]["offset"]), dict[tuple[int, Any], int]()
        parts = [self._parts(both, count, theta) for theta in range(self.answers.models)]
        found = dict[tuple[int, Any], Exchange]()
        possible = defaultdict[Any, set[Atom]](set)
        for each in parts:
            for value, law in each.items():
                possible[value] |= law.keys()
        for theta, each in enumerate(parts):
            ways = exchanges(self.answers, secret, sorted(each))
            require(ways is not None, "a sum of many values as a secret, beside other answers")
            pairs, most = ways or ((), 0)
            draw, ends = theta - self.claim.network.models, dict[Any, Decimal]()
            if draw >= 0 and self.answers.public and pairs:
                under = Decimal(self.answers.public.records + 1) * 2**62
                share = self.answers.public.records / under
                last = self.answers.public.weights(draw, 2)[-2:]
                ends = dict(zip((min(each), max(each)), (share * weight for weight in last), strict=True))
            for a, b in pairs:
                more = ends.get(a, ZERO), ends.get(b, ZERO)
                masses = [sum(each[v].values()) + end for v, end in zip((a, b), more, strict=True)]
                laws = [{k: p / whole for k, p in each[v].items()} for v, whole in zip((a, b), masses, strict=True)]
                shares = more[0] / masses[0], more[1] / masses[1]
                found[theta, (a, b)] = Exchange(laws[0], laws[1], shares, (sorted(possible[a]), sorted(possible[b])))
                far[theta, (a, b)] = most
        return found, far

    def _parts(self, both: Form, count: int, theta: int) -> dict[Any, Law]:
        """The atoms of one record in a model, with their masses, by what it adds to the property."""
        found, draw, public = defaultdict[Any, Law](summed), theta - self.claim.network.models, self.answers.public
        records = Fraction(0 if draw < 0 or public is None else public.records)
        rest, chosen = decimal(1 / (records + 1)), theta if draw < 0 else draw % self.claim.network.models
        for record, states, p in self.answers.records(self.claim.network, chosen, both, self.seen):
            key = both.key(record)
            shown = tuple((str(s), self._told(both, n, record)) for n, s in zip(self.seen, states, strict=True))
            found[key[:count]][shown, key[count:]] += p * rest
        if draw >= 0 and public is not None:
            self.claim.spend(public.records)
            unit = Decimal(public.records) / (public.records + 1) / 2**62
            for record, weight in zip(public.rows(), public.weights(draw, 2), strict=False):
                key = both.key(record)
                shown = tuple((str(record[n]), self._told(both, n, record)) for n in self.seen)
                found[key[:count]][shown, key[count:]] += weight * unit
        return {value: {atom: p for atom, p in law.items() if p} for value, law in found.items() if sum(law.values())}

    @staticmethod
    def _told(form: Form, name: str, record: Mapping[str, Any]) -> Any:
        return form.told_of(name, record[name]) if name in form.reads else None

    def told(self, exchange: Exchange, floor: Decimal) -> Decimal:
        """The largest log ratio of the first distribution to the second, or `floor` where that is larger."""
        self.weights = weights = NoiseWeights(
            {*exchange.first, *exchange.second}.union(*exchange.possible), self.numbers, self.claim.spend
        )
        return weights.largest(exchange, self.factor, floor)

    def told_by_sums(self, exchange: Exchange, records: int) -> Decimal:
        """The same of the sums of so many records, of which nothing else is seen."""
        laws = [summed((numbers, p) for (_, numbers), p in law.items()) for law in exchange[:2]]
        sums = [{((), key): p for key, p in self.answers.power(law, records).items()} for law in laws]
        return self.told(Exchange(sums[0], sums[1], (ZERO, ZERO), ((), ())), ZERO)


def swapped(parts: Sequence[OneRecord], secret: Any, target: Decimal, beside: Decimal) -> None:
    """Check that what some parts tell of one record stays below a target, for all records that secrets exchange.

    Parameters
    ----------
    parts : sequence of OneRecord
        Of which the columns are independent given the class.
    secret : dict
    target, beside : Decimal
        For all records; and what else each of them costs.

    Raises
    ------
    StopError
        If no bound is below the target.
    """
    ordered = sorted(parts, key=lambda part: len(part.numbers))
    found = [part.exchanges(secret) for part in ordered]
    for (key, far), way in product(found[0][1].items(), (1, -1)):
        if far:
            cases = [exchanges[key].turned(way) for exchanges, _ in found]
            one = [part.told(case, ZERO) for part, case in zip(ordered[:-1], cases, strict=False)]
            floor = (target + SLACK) / far - beside - sum(one)
            one.append(ordered[-1].told(cases[-1], max(ZERO, floor)))
            if one[-1] <= floor:
                continue
            # sums of several records may tell less than so many by themselves
            ways = sum(theta == key[0] for theta, _ in found[0][0])
            plain = all(part.factor == 1 and not part.answers.public for part in parts)
            # where least and largest values of all numbers tell most, sums tell as much as each by itself
            few = (
                1 < far <= MOST_APART_SUMMED and ways == 1 and plain and not all(part.weights.corner for part in parts)
            )
            if not (few and _by_sums(ordered, cases, one, far, target + SLACK, beside)):
                least = far * (sum(one) + beside)
                raise StopError(UNSHOWN, f"epsilon may be {least:.9g} by one record where {target:.9g} is left")


def _by_sums(
    parts: Sequence[OneRecord],
    cases: Sequence[Exchange],
    one: Sequence[Decimal],
    far: int,
    target: Decimal,
    beside: Decimal,
) -> bool:
    """Whether the sums of several records stay below a target, put together for all numbers of them."""
    bounds = [{1: each} for each in one]
    for records in SUMS_COMPARED:
        if records > far:
            return False
        for part, case, known in zip(parts, cases, bounds, strict=True):
            known[records] = part.told_by_sums(case, records)
        least = [[ZERO] for _ in parts]
        for j, (row, known) in product(range(1, far + 1), zip(least, bounds, strict=True)):
            row.append(min(row[j - i] + told for i, told in known.items() if i <= j))
        if max(sum(row[j] for row in least) + j * beside for j in range(1, far + 1)) <= target:
            return True
    return False


class NoiseWeights:
    """The weights of some atoms: a product of decays along axes, the points of which are the values of numbers."""

    def __init__(self, atoms: Iterable[Atom], numbers: Sequence[NoisyRow], spend: Callable[[int], None]) -> None:
        self.spend, self.axes, self.corner = spend, list[NumberAxis](), True
        ordered = list(atoms)
        bare = [row for row, rate in numbers if rate is None]
        self.bare = len({tuple(atom[1][row] for row in bare) for atom in ordered}) > 1
        self.sort = {atom: (atom[0], tuple(atom[1][row] for row in bare)) for atom in ordered}
        counts = defaultdict[tuple[bool, ...], Fraction](Fraction)
        for row, rate in numbers:
            values = sorted({numbers[row] for _, numbers in ordered})
            if rate is None or len(values) < 2:
                continue
            if len(values) == 2:  # equal counts are one, and a count of all others is that of these
                holds = [numbers[row] == values[0] for _, numbers in ordered]
                counts[tuple(each == holds[0] for each in holds)] += rate * (values[1] - values[0])
                continue
            steps = [decimal(rate * (high - low)) for low, high in pairwise(values)]
            self.axes.append(NumberAxis([values.index(numbers[row]) for _, numbers in ordered], steps))
        self.axes += [NumberAxis(list(map(int, holds)), [decimal(length)]) for holds, length in counts.items()]
        places = zip(*(axis.places for axis in self.axes), strict=True) if self.axes else [()] * len(ordered)
        self.places = dict(zip(ordered, places, strict=True))
        self.decays = [[(-step).exp() for step in axis.steps] for axis in self.axes]

    def largest(self, exchange: Exchange, factor: Decimal, floor: Decimal) -> Decimal:
        """The largest log ratio of the sums of two distributions, weighted; `floor` if that is larger."""
        best = floor
        for bare in {self.sort[atom][1] for atom in (*exchange.first, *exchange.possible[0])}:
            sides = [
                {atom: p for atom, p in law.items() if self.sort[atom][1] == bare}
                for law in (exchange.first, exchange.second)
            ]
            possible = [[atom for atom in each if self.sort[atom][1] == bare] for each in exchange.possible]
            whole = len(possible[1]) == len(exchange.possible[1])  # a further record elsewhere has no weight
            ends = exchange.ends[0] if possible[0] else ZERO, exchange.ends[1] if whole else ZERO
            case = Exchange(sides[0], sides[1], ends, (possible[0], possible[1]))
            everything: Box = [(0, len(axis.steps)) for axis in self.axes]
            boxes: list[tuple[Decimal, Box]] = [(INFINITE, everything)]
            while boxes and best < INFINITE:
                boxes.sort(key=itemgetter(0))
                bound, box = boxes.pop()
                if bound <= best:
                    break
                if math.prod(high - low + 1 for low, high in box) <= MOST_GRID_POINTS:
                    found, point = self.on_grid(case, factor, box)
                    if found > best:
                        ends = all(k in (0, len(axis.steps)) for k, axis in zip(point, self.axes, strict=True))
                        best, self.corner = found, ends and not self.bare
                else:
                    boxes += [(self.bound(case, factor, half), half) for half in self.halves(box)]
        return best

    def halves(self, box: Box) -> list[Box]:
        """Two parts of a box, cut where its numbers have most room."""
        spans = [sum(axis.steps[low:high], ZERO) for axis, (low, high) in zip(self.axes, box, strict=True)]
        widest = spans.index(max(spans))
        low, high = box[widest]
        ends = (low, (low + high) // 2), ((low + high) // 2 + 1, high)
        return [[*box[:widest], each, *box[widest + 1 :]] for each in ends]

    def moved(self, atoms: Iterable[Atom], box: Box) -> dict[Atom, tuple[tuple[int, ...], Decimal]]:
        """The nearest places in a box, and what of the weight that leaves."""
        found = dict[Atom, tuple[tuple[int, ...], Decimal]]()
        for atom in atoms:
            places, weight = list[int](), ONE
            for decay, (low, high), place in zip(self.decays, box, self.places[atom], strict=True):
                for step in (*decay[place:low], *decay[high:place]):
                    weight *= step
                places.append(min(max(place, low), high) - low)
            found[atom] = tuple(places), weight
        self.spend(len(found) * len(box))
        return found

    def on_grid(self, case: Exchange, factor: Decimal, box: Box) -> tuple[Decimal, list[int]]:
        """The largest log ratio at the points of a box, and one that shows it."""
        sizes = [high - low + 1 for low, high in box]
        decays = [decay[low:high] for decay, (low, high) in zip(self.decays, box, strict=True)]
        size, at = math.prod(sizes), self.moved({*case.first, *case.second}.union(*case.possible), box)

        def index(atom: Atom) -> int:
            found = 0
            for k, width in zip(at[atom][0], sizes, strict=True):
                found = found * width + k
            return found

        bands: list[Any] = sorted({self.sort[atom][0] for atom in (*case.first, *case.second)}, key=repr) or [None]
        self.spend(2 * size * max(1, len(sizes)) * len(bands))
        grids = [[[ZERO] * size for _ in bands] for _ in range(2)]
        for grid, law in zip(grids, case[:2], strict=True):
            for atom, p in law.items():
                grid[bands.index(self.sort[atom][0])][index(atom)] += p * at[atom][1]
        for masses in (masses for grid in grids for masses in grid):
            smoothed(masses, decays)
        points = product(*map(range, sizes)) if any(case.ends) else ()
        further = [self.further(case, at, point, decays) for point in points] or [(ZERO, ZERO)] * size
        sums = zip(zip(*grids[0], strict=True), zip(*grids[1], strict=True), further, strict=True)
        found, place = max((most_of(p, q, factor, *ends), k) for k, (p, q, ends) in enumerate(sums))
        point = list[int]()
        for width, (low, _) in zip(sizes[::-1], box[::-1], strict=True):
            place, over = divmod(place, width)
            point.insert(0, low + over)
        return (found.ln() if found else ZERO), point

    def further(self, case: Exchange, at: Any, point: Any, decays: Any) -> tuple[Decimal, Decimal]:
        """What a further record of the first class adds at most to a sum, and one of the second at least."""
        self.spend(len(decays) * sum(map(len, case.possible)))
        weights = [
            [
                math.prod(
                    (
                        r
                        for k, u, row in zip(at[atom][0], point, decays, strict=True)
                        for r in row[min(k, u) : max(k, u)]
                    ),
                    start=at[atom][1],
                )
                for atom in each
            ]
            for each in case.possible
        ]
        return case.ends[0] * max(weights[0], default=ZERO), case.ends[1] * min(weights[1], default=ZERO)

    def bound(self, case: Exchange, factor: Decimal, box: Box) -> Decimal:
        """What no point of a box exceeds ("a box" in the claim): linear at its middle, and what is curved.

        Steps of free numbers count neither up nor down in the middle. From there the log weight of an atom changes by
        no more than its reach, relative to one fixed atom.
        """
        at = self.moved({*case.first, *case.second}.union(*case.possible), box)
        free = [axis.steps[low:high] for axis, (low, high) in zip(self.axes, box, strict=True)]
        middle = [sorted(places)[len(at) // 2] for places in zip(*(places for places, _ in at.values()), strict=True)]

        def away(places: tuple[int, ...]) -> Decimal:
            ways = zip(places, middle, free, strict=True)
            return sum((step for k, m, steps in ways for step in steps[min(k, m) : max(k, m)]), ZERO)

        reach = {atom: away(places) for atom, (places, _) in at.items()}
        far, total = max(reach.values()), sum((step for steps in free for step in steps), ZERO)
        self.spend(len(at) * len(box))
        ends = [
            end * extreme((at[atom][1] for atom in each), default=ZERO)
            for end, each, extreme in zip(case.ends, case.possible, (max, min), strict=True)
        ]
        masses = [{atom: p * at[atom][1] for atom, p in law.items()} for law in case[:2]]
        sums = [sum(law.values(), end) for law, end in zip(masses, ends, strict=True)]
        if not sums[0]:
            return -INFINITE
        # any weights within the reach of every atom, and any values of what others read
        cells = defaultdict[Any, list[Decimal]](lambda: [ZERO, ZERO])
        for side, (law, sign) in enumerate(zip(masses, (1, -1), strict=True)):
            for atom, p in law.items():
                cells[self.sort[atom][0]][side] += p * (sign * reach[atom]).exp()
        grown = ends[0] * far.exp(), ends[1] * (-far).exp()
        sides = [[each[side] for each in cells.values()] for side in range(2)]
        loose = most_of(sides[0], sides[1], factor, grown[0], grown[1]).ln()
        if not sums[1]:
            return INFINITE
        gains, square = ZERO, ends[0] / sums[0] * far**2
        square += sum(p * reach[atom] ** 2 for atom, p in masses[0].items()) / sums[0]
        for j, steps in enumerate(free):
            tilt = [ZERO] * (len(steps) + 1)
            for law, whole, sign in zip(masses, sums, (1, -1), strict=True):
                for atom, p in law.items():
                    tilt[at[atom][0][j]] += sign * p / whole
            # what a step adds where it counts up: by what lies above it
            added = [step * sum(tilt[k + 1 :], ZERO) for k, step in enumerate(steps)]
            gains += max(sum(added[:k], ZERO) - sum(added[k:], ZERO) for k in range(len(added) + 1))
        gains += (ends[0] / sums[0] + ends[1] / sums[1]) * far
        span = min(2 * far, total)
        curved = min(span**2 / 8, square * (span.exp() - 1 - span) / span**2) if span else ZERO
        return min(loose, (sums[0] / sums[1]).ln() + gains + curved + factor.ln()) + SLACK


class NumberAxis(NamedTuple):
    """A number with noise: which of its values every atom has, and how far values are apart in scales."""

    places: list[int]
    steps: list[Decimal]


Box = list[tuple[int, int]]
"""Of every axis the first and the last point."""


def most_of(
    first: Sequence[Decimal], second: Sequence[Decimal], factor: Decimal, more: Decimal, less: Decimal
) -> Decimal:
    """The largest ratio of two sums, of which both count some cells by a factor, the same ones."""
    p, q = sum(first, ZERO) + more * factor, sum(second, ZERO) + less
    if not p:
        return ZERO
    best = p / q if q else INFINITE
    if factor == 1:
        return best
    cells = sorted(zip(first, second, strict=True), key=lambda each: each[0] / each[1] if each[1] else INFINITE)
    for above, below in reversed(cells):
        p, q = p + above * (factor - 1), q + below * (factor - 1)
        best = max(best, p / q if q else INFINITE)
    return best
