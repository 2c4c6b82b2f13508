"""Exact numbers, finite laws, the two ways in which a check ends without a verdict, and queries in normal form.

Nothing of the rest of bnpriv is imported.
"""

from __future__ import annotations

import hashlib
import math
import operator
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from itertools import pairwise, product
from typing import Any, NoReturn

Law = dict[Any, Decimal]
DecimalMatrix = list[list[Decimal]]

ZERO, ONE, HALF, INFINITE = Decimal(0), Decimal(1), Decimal("0.5"), Decimal("Infinity")
SLACK = Decimal("1e-40")
"""Far above what rounding to 60 digits can add to a log of a ratio of masses."""

ROUNDING = Decimal("1e-9")
"""Relative difference of masses that come from one number."""

UNSHOWN = "cannot be shown"
"""The status of a claim that no bound bears and no output refutes."""

MOST_STORED_MODELS = 2**20
"""Models that are counted through, of a network or of public records."""

FRACTION = re.compile(r"-?[0-9]{1,2000}(?:/[0-9]{1,2000})?")
DISTRIBUTIONAL, DATASET, VALUE = (
    f"{name} privacy" for name in ("distributional attribute", "dataset attribute", "value")
)


class StopError(Exception):
    """The end of a check: a status and a text."""


def refuse(reason: str) -> NoReturn:
    """End with a reason that was stored, which starts with its verdict."""
    status, _, text = reason.partition(": ")
    raise StopError("too large" if status == "too large" else "not covered", text)


def require(condition: object, what: str) -> None:
    """End as not covered unless a condition holds."""
    if not condition:
        raise StopError("not covered", what)


def number(text: Any) -> Decimal:
    """A hexadecimal double."""
    return Decimal(float.fromhex(text))


def decimal(exact: Fraction) -> Decimal:
    """The nearest decimal."""
    return Decimal(exact.numerator) / Decimal(exact.denominator)


def fraction(text: Any) -> Fraction:
    """A fraction that is written as a text."""
    require(isinstance(text, str) and FRACTION.fullmatch(text), "a weight that is no fraction")
    return Fraction(text)


def summed(cells: Iterable[tuple[Any, Decimal]] = ()) -> Law:
    """A law from its masses, those of one key added up; what is not there has mass 0."""
    found: Law = defaultdict(Decimal)
    for key, mass in cells:
        found[key] += mass
    return found


def merged(laws: Sequence[Law]) -> Law:
    """The sum of some laws, divided by its mass; empty if there is none."""
    found = summed(item for law in laws for item in law.items())
    total = sum(found.values())
    return {key: mass / total for key, mass in found.items() if mass}


def united(sets: Iterable[set[Any]]) -> list[set[Any]]:
    """Return unions of sets that share something, so that no two unions do."""
    found = list[set[Any]]()
    for each in sets:
        met = [old for old in found if old & each]
        found = [*(old for old in found if not old & each), each.union(*met)]
    return found


def alike(stored: Mapping[Any, Decimal], declared: Mapping[Any, Decimal]) -> bool:
    """Whether two laws are the same but for rounding."""
    cells = stored.keys() | declared.keys()
    return all(abs(stored.get(c, ZERO) - declared.get(c, ZERO)) <= ROUNDING * declared.get(c, ZERO) for c in cells)


# --------------------------------------------------------------------------------------------------
# Noise that moves records between classes.
#
# Noise moves records between m classes: whole numbers z of sum 0 of probability proportional to q^moves(z), where
# moves(z) is half the sum of their sizes and q = exp(-1/scale). How many such vectors have s moves, and one or two of
# their numbers above a bound, is counted by stars and bars. Sums over s are geometric, and all terms are positive.
# --------------------------------------------------------------------------------------------------


class MovedRecords:
    """Noise that moves records between some classes."""

    def __init__(self, classes: int, scale: Fraction) -> None:
        self.m, self.scale = classes, decimal(scale)
        self.q = (-ONE / self.scale).exp()

    @cached_property
    def _every(self) -> Decimal:
        others = self.m - 1
        return sum(math.comb(others, i) ** 2 * self.q**i for i in range(self.m)) / (1 - self.q) ** others

    def _sum(self, bound: int, held: int, sums: tuple[int, ...]) -> Decimal:
        """The mass of vectors with `bound` of the gains of `held` classes taken off, weighted by binomials of the rest.

        With u + 1 gains left in j classes the weights are the sums of C(u, j - d) for d in `sums`.
        """
        m, found = self.m, [0] * (2 * self.m)
        for j in range(held, m):
            free = m - j - 1
            for low in range(free + 1):
                ways = math.comb(m - held, j - held) * math.comb(bound + m - j, free - low)
                for a in (j - d for d in sums):
                    for i in range(max(a, low), a + low + 1):
                        found[i] += ways * math.comb(i, a) * math.comb(a, i - low)
        over = (number * (self.q / (1 - self.q)) ** i for i, number in enumerate(found) if number)
        return (-(bound + 1) / self.scale).exp() * sum(over, ZERO) / (1 - self.q) / self._every

    def above(self, bound: int) -> Decimal:
        """How likely one class gains more than a number of records."""
        return self._sum(bound, 1, (1,)) if bound >= 0 else 1 - self._sum(-bound - 1, 1, (1,))

    def both_above(self, bounds: int) -> Decimal:
        """How likely two classes gain more than bounds of that sum, each at least 0."""
        return self._sum(bounds, 2, (1,)) if self.m > 2 else ZERO

    def more(self, bound: int) -> Decimal:
        """How many records more than a number one class gains on average."""
        return self._sum(bound, 1, (0, 1)) if bound >= 0 else self._sum(-bound, 1, (0, 1)) - bound

    def trimmed(self, most: int, moved: int) -> tuple[Decimal, Decimal]:
        """The delta, from below and above, of noise of which no number is above a bound."""
        if most < moved:
            return ONE, ONE
        edge, beyond = self.above(most - moved) - self.above(most), self.above(most)
        among = 1 - self.m * beyond
        if among <= 0:
            return ZERO, ONE
        low = edge - (self.m - 1) * self.both_above(2 * most - moved)
        low /= among + math.comb(self.m, 2) * self.both_above(2 * most)
        return low, edge / among

    def filled(self, bound: int, moved: int, gap: Decimal) -> Decimal:
        """The delta, from above, of made-up records of a law that is off by `gap` in total variation."""
        passed = self.above(bound - moved) + (self.m - 1) * self.above(bound)
        over = self.more(bound) - self.more(bound + moved) if self.m == 2 else moved * self.above(bound)
        return min(ONE, passed, gap * (self.more(bound - moved) - self.more(bound) + over))


MOST_PARABOLAS = 12
"""Numbers of an answer that sum a column or its squares, all of whose signed sums are looked at."""

UNCOUNTED, UNDER_ALL = "not counted", -(2.0**101)
"""What is declared of a column whose gaps are no value, and what a gap is among numbers: below all bounds."""

NAMES = {"<": "lt", "<=": "le", ">": "gt", ">=": "ge", "==": "eq", "!=": "ne"}


class Form:
    """A query: terms summed over records, whole weights over one denominator per number, and an offset."""

    def __init__(self, facts: Any, columns: Any) -> None:
        if "left_out" in facts:
            refuse(facts["left_out"])
        self.terms, self.columns = facts["terms"], columns
        rows = [{int(k): fraction(weight) for k, weight in row} for row in facts["matrix"]]
        self.under = [math.lcm(*(weight.denominator for weight in row.values())) for row in rows]
        self.rows = [{k: int(w * u) for k, w in row.items()} for row, u in zip(rows, self.under, strict=True)]
        self.offset = [fraction(shift) for shift in facts["offset"]]
        require(len(self.offset) == len(rows) > 0, "a query without numbers")
        require(all(k in range(len(self.terms)) for row in rows for k in row), "a term that there is not")
        require(
            all(map(_known, self.terms)), "a term that is no count, no sum, no square and no product of two columns"
        )
        self.cuts, self.leaves = defaultdict[str, list[Any]](list), defaultdict[str, list[Any]](list)
        for leaf in (leaf for term in self.terms if term[0] == "indicator" for leaf in _leaves(term[1])):
            kind, name, value = leaf
            self.cuts[name] += value if kind == "in" else [value]
            self.leaves[name].append(leaf)
        self.summed = {name for term in self.terms if term[0] != "indicator" for name in powers(term)}
        self.reads = sorted({*self.cuts, *self.summed})
        require(not any(gaps(columns[name]) for name in self.summed), "a sum of a column whose gaps are no value")

    def step(self, name: str, value: Any) -> int:
        """The grid step of a value, in doubles as every engine computes it."""
        lower, upper = float(self.columns[name]["lower"]), float(self.columns[name]["upper"])
        if self.columns[name]["type"] == "integer":
            return math.floor(float(value) + 0.5) - int(lower)
        return math.floor((float(value) - lower) * (self.columns[name]["steps"] / (upper - lower)) + 0.5)

    def ranges(self, name: str, cuts: Sequence[Any]) -> list[tuple[Any, Any]]:
        """The ends of the ranges of a column of numbers into which some numbers cut it, themselves included."""
        lower, upper = self.columns[name]["lower"], self.columns[name]["upper"]
        whole = self.columns[name]["type"] == "integer"
        ends = {end for c in cuts for end in ((math.floor(c), math.ceil(c)) if whole else (float(c),))}
        points = sorted({lower, upper, *(end for end in ends if lower < end < upper)})
        gaps = [(a + 1, b - 1) if whole else (math.nextafter(a, b), math.nextafter(b, a)) for a, b in pairwise(points)]
        return [*((point, point) for point in points), *(gap for gap in gaps if gap[0] <= gap[1])]

    def extremes(self, name: str, weights: Sequence[Fraction]) -> list[Any]:
        """Return values of a column such that some table of them moves the weighted answer as far as any table."""
        column = self.columns[name]
        if column["type"] == "categorical":
            return [*column["categories"], *gaps(column)]
        found = {end for ends in self.ranges(name, self.cuts[name]) for end in ends}
        grid = (Fraction(column["upper"]) - Fraction(column["lower"])) / column["steps"]
        for k in self.vertices(name, weights):
            found |= self.around(column, column["lower"] + k * grid) if 0 <= k <= column["steps"] else set()
        return sorted({*found, *gaps(column)})

    @staticmethod
    def around(column: Any, exact: Fraction) -> set[Any]:
        """The values of a column nearest to a grid step: doubles may be farther apart than steps."""
        if column["type"] == "integer":
            return {int(exact)}
        near = float(exact)
        values = (near, math.nextafter(near, -math.inf), math.nextafter(near, math.inf))
        return {value for value in values if column["lower"] <= value <= column["upper"]}

    def vertices(self, name: str, weights: Sequence[Fraction]) -> set[int]:
        """The grid steps beside the vertices of the parabolas that signed sums of weighted numbers are."""
        places = [[k for k, term in enumerate(self.terms) if term == ["steps", name, e]] for e in (1, 2)]
        rows = [
            tuple(weight * Fraction(sum(row.get(k, 0) for k in each), u) for each in places)
            for weight, row, u in zip(weights, self.rows, self.under, strict=True)
        ]
        found = set[int]()
        bent = places[1] and any(term[0] == "product" and name in powers(term) for term in self.terms)
        require(not bent, "squares of a column beside its product with another")
        rows = sorted({row for row in rows if any(row)}) if places[1] else []
        require(len(rows) <= MOST_PARABOLAS, "squares of a column in very many numbers")
        for signs in product((1, -1), repeat=len(rows)) if rows else ():
            one, two = (sum(map(operator.mul, signs, each), Fraction(0)) for each in zip(*rows, strict=True))
            found |= {math.floor(-one / (2 * two)), math.ceil(-one / (2 * two))} if two else set[int]()
        return found

    def holds(self, predicate: Any, record: Mapping[str, Any]) -> bool:
        """Whether a record satisfies a predicate."""
        kind = predicate[0]
        if kind in ("and", "or"):
            return (all if kind == "and" else any)(self.holds(part, record) for part in predicate[1:])
        if kind == "not":
            return not self.holds(predicate[1], record)
        value = record[predicate[1]]
        if self.columns[predicate[1]]["type"] == "integer":
            value = math.floor(value + 0.5)
        return value in predicate[2] if kind == "in" else getattr(operator, NAMES[kind])(value, predicate[2])

    def told_of(self, name: str, value: Any) -> Any:
        """What the query sees of a value of a column: its grid step if it is summed, and what it satisfies."""
        step = self.step(name, value) if name in self.summed else 0
        return step, *(self.holds(leaf, {name: value}) for leaf in self.leaves[name])

    def key(self, record: Mapping[str, Any]) -> tuple[int, ...]:
        """What a record adds, in units of one over the denominators."""
        found = [self.value(term, record) for term in self.terms]
        return tuple(sum(weight * found[k] for k, weight in row.items()) for row in self.rows)

    def value(self, term: Any, record: Mapping[str, Any]) -> int:
        """What a record adds to a term."""
        if term[0] == "indicator":
            return int(self.holds(term[1], record))
        return math.prod(self.step(name, record[name]) ** power for name, power in powers(term).items())

    def exact(self, sums: Sequence[int]) -> tuple[Fraction, ...]:
        """The exact answer from the sums of what records add."""
        return tuple(Fraction(k, u) + shift for k, u, shift in zip(sums, self.under, self.offset, strict=False))


def gaps(column: Any) -> list[Any]:
    """What a gap of a column is where it is no value: one more category, or a number; else nothing."""
    if column.get("missing") != UNCOUNTED or UNCOUNTED in column.get("categories", ()):
        return []
    return [UNCOUNTED if column["type"] == "categorical" else UNDER_ALL]


def _known(term: Any) -> bool:
    kind, *rest = term
    summed = kind == "steps" and type(rest[1]) is int and rest[1] in (1, 2)
    return kind == "indicator" or summed or (kind == "product" and rest[0] != rest[1])


def powers(term: Any) -> dict[str, int]:
    """The powers of grid steps whose product a term sums."""
    return {term[1]: 1, term[2]: 1} if term[0] == "product" else {term[1]: term[2]}


def columns_of(term: Any) -> set[str]:
    """The columns that a term reads."""
    return {leaf[1] for leaf in _leaves(term[1])} if term[0] == "indicator" else {*powers(term)}


def _leaves(predicate: Any) -> list[Any]:
    inner = predicate[0] in ("and", "or", "not")
    return [leaf for part in predicate[1:] for leaf in _leaves(part)] if inner else [predicate]


# --------------------------------------------------------------------------------------------------
# Public records: each draw of their weights is a model of one record, beside the models of a network.
#
# docs/claims/public_records.md. Weights are whole numbers that sum to 2^62: the gaps between uniform ones.
# --------------------------------------------------------------------------------------------------

WEIGHT_BITS = 62


class WeightedRecords:
    """The public records of a model, by what their columns count as."""

    def __init__(self, facts: Any, columns: Any) -> None:
        self.draws, self.seed = facts["draws"], facts["seed"]
        whole = type(self.draws) is type(self.seed) is int
        require(whole and 0 < self.draws <= MOST_STORED_MODELS, "the draws of public records")
        self.cells = {name: [counted(columns[name], x) for x in cells] for name, cells in facts["columns"].items()}
        (self.records,) = {len(cells) for cells in self.cells.values()}
        require(self.records, "public records, of which there are none")
        self.known = dict[str, list[tuple[int, ...]]]()

    def rows(self) -> Iterator[Mapping[str, Any]]:
        """Yield what the records hold, in order."""
        for row in zip(*self.cells.values(), strict=True):
            yield dict(zip(self.cells, row, strict=True))

    @property
    def all(self) -> tuple[int, int, Any]:
        """What decides the models."""
        return self.draws, self.seed, self.cells

    def weights(self, draw: int, further: int) -> list[int]:
        """The weights of the records, and of some further ones behind them, in one draw."""
        size = 8 * (self.records + further - 1)
        stream = hashlib.shake_256(f"bnpriv records {self.seed} {draw}".encode()).digest(size)
        words = (int.from_bytes(stream[k : k + 8], "little") for k in range(0, len(stream), 8))
        return [
            after - before
            for before, after in pairwise([0, *sorted(w >> (64 - WEIGHT_BITS) for w in words), 1 << WEIGHT_BITS])
        ]

    def law(self, form: Form, draw: int, beside: Law, spend: Callable[[int], None]) -> Law:
        """The law of what one record adds, where a network, of which that law is `beside`, counts as one more."""
        asked = repr((form.terms, form.rows))
        if asked not in self.known:
            rows = list(zip(*(self.cells[name] for name in form.reads), strict=True))
            added = {row: form.key(dict(zip(form.reads, row, strict=True))) for row in {*rows}}
            self.known[asked] = [added[row] for row in rows]
        spend(self.records)
        rows = [*self.known[asked], *_further({*self.known[asked], *beside}, draw)]
        weights = self.weights(draw, len(rows) - self.records)
        shares = summed(zip(rows, map(Decimal, weights), strict=True))
        under = self.records + 1
        part = ((key, share * self.records / under / 2**WEIGHT_BITS) for key, share in shares.items() if share)
        return summed([*part, *((key, p / under) for key, p in beside.items())])


def _further(possible: Collection[tuple[int, ...]], draw: int) -> list[tuple[int, ...]]:
    """What a draw has beyond the records of the table: one with the least of the property and one with the most."""
    low, high, numbers = min(key[0] for key in possible), max(key[0] for key in possible), len(min(possible)) - 1
    if low == high or not numbers:
        return []
    j, ends = 1 + draw // 2 % numbers, (max, min) if draw % 2 else (min, max)
    sides = ((end, [key for key in possible if key[0] == s]) for end, s in zip(ends, (low, high), strict=True))
    return [end(side, key=lambda key: (key[j], key)) for end, side in sides]


def counted(column: Any, raw: Any) -> Any:
    """What a value of a public table counts as; None stands for a missing one."""
    if column["type"] == "categorical":
        categories = column["categories"]
        return raw if raw in categories else column.get("missing", categories[0])
    if raw is None or raw != raw:
        if gaps(column):
            return gaps(column)[0]
        raw = column.get("missing", middle(column))
    value = float(raw)
    value = min(max(value, float(column["lower"])), float(column["upper"]))
    return math.floor(value + 0.5) if column["type"] == "integer" else value


def middle(column: Any) -> Any:
    """What a missing number counts as where nothing else is declared."""
    total = column["lower"] + column["upper"]
    return total // 2 if column["type"] == "integer" else total / 2
