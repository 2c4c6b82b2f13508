"""Independent oracle of several releases in the dataset notion: exact laws of transcripts over tiny tables.

A record has a class, and given the classes records are independent, each with the law of its class. Releases follow
each other as a strategy says, which sees all earlier outputs. A table is the sorted tuple of its records. Masses are
fractions, or decimals of many digits where noise has an irrational base exp(-1/b): all functions take both.
Nothing here uses the package.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any, Protocol

Number = Any  # Fraction or Decimal
Record = Hashable
Law = Mapping[Any, Number]
Table = tuple[Any, ...]
Masses = tuple[Number, ...]
History = tuple[tuple["Release", Hashable], ...]

DIGITS = 50
"""Of decimals; sums have few thousand terms of one sign."""


def decimal(number: float | Fraction) -> Decimal:
    """A number with so many digits."""
    with localcontext() as context:
        context.prec = DIGITS
        exact = Fraction(number)
        return Decimal(exact.numerator) / Decimal(exact.denominator)


def base(scale: float | Fraction) -> Decimal:
    """exp(-1/b)."""
    with localcontext() as context:
        context.prec = DIGITS
        return (-1 / decimal(scale)).exp()


# Laws of tables


def drawn(parts: Sequence[tuple[Law, int]]) -> dict[Table, Number]:
    """Return the law of a table of so many independent records of each law."""
    found: dict[Table, Number] = {(): 1}
    for law, number in parts:
        for _ in range(number):
            longer: dict[Table, Number] = {}
            for table, mass in found.items():
                for record, share in law.items():
                    key = tuple(sorted((*table, record)))
                    longer[key] = longer.get(key, 0) + mass * share
            found = longer
    return found


def merged(laws: Sequence[Law], view: Callable[[Any], Hashable]) -> list[dict[Any, Number]]:
    """Return laws in which one record stands for all of which the same is seen."""
    first: dict[Hashable, Any] = {}
    found: list[dict[Any, Number]] = []
    for law in laws:
        found.append({})
        for record, mass in law.items():
            same = first.setdefault(view(record), record)
            found[-1][same] = found[-1].get(same, 0) + mass
    return found


def given(law: Law, inside: Callable[[Any], bool]) -> tuple[Law, Law]:
    """Return the laws of a record that counts and of one that does not."""
    whole = sum(mass for record, mass in law.items() if inside(record))
    rest = sum(mass for record, mass in law.items() if not inside(record))
    one = {record: mass / whole for record, mass in law.items() if inside(record)}
    return one, {record: mass / rest for record, mass in law.items() if not inside(record)}


def given_difference(laws: Sequence[Law], shares: Sequence[Number], n: int, difference: int) -> dict[Table, Number]:
    """Return the law of a table given how many more records it has of the first class than of the second, of three."""
    found: dict[Table, Number] = {}
    for second in range(n + 1):
        first, rest = second + difference, n - 2 * second - difference
        if first < 0 or rest < 0:
            continue
        ways = math.comb(n, first) * math.comb(n - first, second)
        numbers = first, second, rest
        chance = ways * math.prod(share**number for share, number in zip(shares, numbers, strict=True) if number)
        if not chance:
            continue
        for table, mass in drawn(list(zip(laws, numbers, strict=True))).items():
            found[table] = found.get(table, 0) + chance * mass
    whole = sum(found.values())
    return {table: mass / whole for table, mass in found.items()} if whole else {}


# Releases


class Release(Protocol):
    """A release: what may come out, and with which probability from each table."""

    def outputs(self, tables: Collection[Table]) -> list[Any]: ...

    def chance(self, output: Any, table: Table) -> Number: ...


def _sums(terms: Sequence[Callable[[Any], int]], table: Table) -> tuple[int, ...]:
    return tuple(sum(map(term, table)) for term in terms)


@dataclass(frozen=True)
class Noisy:
    """Sums over records with discrete Laplace noise: exp(-1/b) for every number.

    Beyond the least and the largest sum the chances of all tables have one ratio, so these ends stand for all that lies
    beyond. Between whole numbers continuous noise has no larger ratio than at them (docs/claims/tight.md).
    """

    terms: tuple[Callable[[Any], int], ...]
    bases: tuple[Number, ...]

    def outputs(self, tables: Collection[Table]) -> list[Any]:
        known = list(zip(*{_sums(self.terms, table) for table in tables}, strict=True))
        ends = [(min(each), max(each)) for each in known]
        lines = itertools.product(*(range(low, high + 1) for low, high in ends))
        return [tuple(zip(point, ends, strict=True)) for point in lines]

    def chance(self, output: Any, table: Table) -> Number:
        found: Number = 1
        for q, total, (out, (low, high)) in zip(self.bases, _sums(self.terms, table), output, strict=True):
            if low == high:
                continue
            away = q ** abs(out - total)
            found *= away / (1 + q) if out in (low, high) else away * (1 - q) / (1 + q)
        return found


@dataclass(frozen=True)
class Bare:
    """Sums over records as they are."""

    terms: tuple[Callable[[Any], int], ...]

    def outputs(self, tables: Collection[Table]) -> list[Any]:
        return sorted({_sums(self.terms, table) for table in tables})

    def chance(self, output: Any, table: Table) -> Number:
        return 1 if output == _sums(self.terms, table) else 0


@dataclass(frozen=True)
class Hit:
    """The worst of a mechanism that is differentially private for a record: a rare output, likelier by every record.

    With the chance rare * product of weights the other output is nearly certain from every table.
    """

    weight: Callable[[Any], Number]
    most: Number
    records: int

    def outputs(self, tables: Collection[Table]) -> list[Any]:
        return [True, False]

    def chance(self, output: Any, table: Table) -> Number:
        rare = 1 / (1000 * self.most**self.records)
        hit = rare * math.prod(map(self.weight, table))
        return hit if output else 1 - hit


@dataclass(frozen=True)
class Chosen:
    """An exponential mechanism: the chance of each output in proportion to the product of its weights.

    Weights between 1 and m make it differentially private with exp(eps_d) = m^2 for a record.
    """

    weights: tuple[Callable[[Any], Number], ...]

    def outputs(self, tables: Collection[Table]) -> list[Any]:
        return list(range(len(self.weights)))

    def chance(self, output: Any, table: Table) -> Number:
        products = [math.prod(map(weight, table)) for weight in self.weights]
        return products[output] / sum(products)


@dataclass(frozen=True)
class Failing:
    """With the chance delta_d a view of all records, else another release, if any: so (eps_d, delta_d) of that one."""

    view: Callable[[Any], Hashable]
    delta: Number
    otherwise: Release | None = None

    def outputs(self, tables: Collection[Table]) -> list[Any]:
        rest = [False] if self.otherwise is None else self.otherwise.outputs(tables)
        return [(False, output) for output in rest] + [(True, each) for each in sorted(set(map(self._seen, tables)))]

    def chance(self, output: Any, table: Table) -> Number:
        fails, told = output
        if fails:
            return self.delta if told == self._seen(table) else 0
        return (1 - self.delta) * (1 if self.otherwise is None else self.otherwise.chance(told, table))

    def _seen(self, table: Table) -> tuple[Any, ...]:
        return tuple(sorted(map(self.view, table)))


@dataclass(frozen=True)
class Leaking:
    """Every record is shown with the chance delta_d, each by itself: (0, delta_d) differentially private."""

    delta: Number

    def outputs(self, tables: Collection[Table]) -> list[Any]:
        return sorted({part for table in tables for size in range(len(table) + 1) for part in self._parts(table, size)})

    def chance(self, output: Any, table: Table) -> Number:
        ways = sum(part == output for part in self._parts(table, len(output)))
        return ways * self.delta ** len(output) * (1 - self.delta) ** (len(table) - len(output))

    @staticmethod
    def _parts(table: Table, size: int) -> list[Table]:
        return list(itertools.combinations(table, size))


# Transcripts

Strategy = Callable[[History], "Release | None"]


def transcripts(strategy: Strategy, secrets: Sequence[Mapping[Table, Number]]) -> Iterator[tuple[History, Masses]]:
    """Yield every transcript with its probability given each secret."""
    tables = list(dict.fromkeys(itertools.chain.from_iterable(secrets)))
    yield from _continued(strategy, (), tables, [[law.get(table, 0) for table in tables] for law in secrets])


def _continued(
    strategy: Strategy, history: History, tables: list[Table], masses: list[list[Number]]
) -> Iterator[tuple[History, Masses]]:
    release = strategy(history)
    if release is None:
        yield history, tuple(map(sum, masses))
        return
    for output in release.outputs(tables):
        chances = [release.chance(output, table) for table in tables]
        kept = [place for place, chance in enumerate(chances) if chance and any(each[place] for each in masses)]
        if not kept:
            continue
        longer = [[each[place] * chances[place] for place in kept] for each in masses]
        yield from _continued(strategy, (*history, (release, output)), [tables[place] for place in kept], longer)


def log_ratio(first: Number, second: Number) -> Decimal:
    """Return the log of a ratio of probabilities: infinite over nothing."""
    if not first or not second:
        return Decimal("inf" if first else "-inf")
    with localcontext() as context:
        context.prec = DIGITS
        if isinstance(first, Decimal) or isinstance(second, Decimal):
            return (Decimal(first) / Decimal(second)).ln()
        return decimal(Fraction(first) / Fraction(second)).ln()


def losses(
    strategy: Strategy, secrets: Sequence[Mapping[Table, Number]], pairs: Collection[tuple[int, int]]
) -> dict[tuple[Release, ...], Decimal]:
    """Return for every series of releases that may come the largest log ratio over transcripts and pairs, both ways."""
    found: dict[tuple[Release, ...], Decimal] = {}
    with localcontext() as context:
        context.prec = DIGITS
        for history, masses in transcripts(strategy, secrets):
            series = tuple(release for release, _ in history)
            for a, b in pairs:
                worst = max(log_ratio(masses[a], masses[b]), log_ratio(masses[b], masses[a]))
                found[series] = max(found.get(series, Decimal(0)), worst)
    return found


def delta(
    strategy: Strategy, secrets: Sequence[Mapping[Table, Number]], pairs: Collection[tuple[int, int]], factor: Number
) -> Number:
    """Return the largest hockey-stick divergence of transcripts over pairs, both ways."""
    with localcontext() as context:
        context.prec = DIGITS
        all_masses = [masses for _, masses in transcripts(strategy, secrets)]
        ways = [way for a, b in pairs for way in ((a, b), (b, a))]
        return max(sum(max(each[a] - factor * each[b], 0) for each in all_masses) for a, b in ways)
