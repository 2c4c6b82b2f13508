"""Independent oracle of private tables: exact laws of what is handed on, by plain enumeration in fractions.

A record is a class and one of a few values. Noise has a ratio q = exp(-1/b) that is a fraction, so that exp(eps) = q^-k
is one too. A table that is handed on is a tuple that says for every class how many of its records have each value.
Nothing here uses the package.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache
from random import Random

Counts = tuple[int, ...]
Law = tuple[Fraction, ...]
Output = Mapping[Hashable, Fraction]
NOTHING = "beyond the window"


# Noise on counts


def moves(vector: Sequence[int]) -> int:
    """Return how many records must change their class: half the 1-norm."""
    return sum(abs(entry) for entry in vector) // 2


@cache
def differences(classes: int, most: int) -> tuple[Counts, ...]:
    """Return all vectors of sum zero with at most so many moves."""
    inner = itertools.product(range(-most, most + 1), repeat=classes - 1)
    whole = ((*vector, -sum(vector)) for vector in inner)
    return tuple(vector for vector in whole if moves(vector) <= most)


@cache
def counts_of(classes: int, records: int) -> tuple[Counts, ...]:
    """Return all ways to put so many records into classes."""
    if classes == 1:
        return ((records,),)
    return tuple((first, *rest) for first in range(records + 1) for rest in counts_of(classes - 1, records - first))


def total_weight(classes: int, q: Fraction) -> Fraction:
    """Return the sum of q^moves over all vectors of sum zero."""
    rank = classes - 1
    return sum((math.comb(rank, i) ** 2 * q**i for i in range(rank + 1)), Fraction(0)) / (1 - q) ** rank


@cache
def bounded_noise(classes: int, q: Fraction, most: int) -> Mapping[Counts, Fraction]:
    """Return the law of the noise given that no entry is above `most`."""
    weights = {}
    for below in counts_of(classes, classes * most):
        vector = tuple(most - entry for entry in below)
        weights[vector] = q ** moves(vector)
    whole = sum(weights.values())
    return {vector: weight / whole for vector, weight in weights.items()}


def noisy_counts(counts: Counts, q: Fraction, window: Sequence[Counts]) -> dict[Counts, Fraction]:
    """Return the law of counts plus unbounded noise on a window, which must not depend on the counts."""
    whole = total_weight(len(counts), q)
    return {noisy: q ** moves([a - b for a, b in zip(noisy, counts, strict=True)]) / whole for noisy in window}


# From noisy counts to sizes


def clipped_shares(noisy: Counts, records: int) -> Counts:
    """Clip at zero, then shrink in proportion to the number of records, by largest remainders."""
    clipped = [max(0, entry) for entry in noisy]
    whole = sum(clipped)
    sizes = [entry * records // whole for entry in clipped]
    rest = sorted(range(len(noisy)), key=lambda a: (-(clipped[a] * records % whole), a))
    for a in rest[: records - sum(sizes)]:
        sizes[a] += 1
    return tuple(sizes)


def clipped_from_the_top(noisy: Counts, records: int) -> Counts:
    """Clip at zero, then take what is too much from the largest class, again and again."""
    sizes = [max(0, entry) for entry in noisy]
    while sum(sizes) > records:
        sizes[sizes.index(max(sizes))] -= 1
    return tuple(sizes)


def scattered(noisy: Counts, records: int) -> Counts:
    """Any function of the noisy counts at all."""
    return counts_of(len(noisy), records)[hash((noisy, 17)) % len(counts_of(len(noisy), records))]


# From sizes to tables


@cache
def drawn(law: Law, size: int) -> Mapping[Counts, Fraction]:
    """Return the law of the multiset of so many independent records, one at a time."""
    now: dict[Counts, Fraction] = {(0,) * len(law): Fraction(1)}
    for _ in range(size):
        after: dict[Counts, Fraction] = defaultdict(Fraction)
        for multiset, mass in now.items():
            for value, chance in enumerate(law):
                if chance:
                    after[(*multiset[:value], multiset[value] + 1, *multiset[value + 1 :])] += mass * chance
        now = after
    return now


@cache
def kept(there: Counts, size: int) -> Mapping[Counts, Fraction]:
    """Return the law of a uniformly random part of a multiset, by all parts of its records."""
    records = [value for value, number in enumerate(there) for _ in range(number)]
    result: dict[Counts, Fraction] = defaultdict(Fraction)
    ways = math.comb(len(records), size)
    for part in itertools.combinations(records, size):
        result[tuple(part.count(value) for value in range(len(there)))] += Fraction(1, ways)
    return result


def _and(first: Mapping[Counts, Fraction], second: Mapping[Counts, Fraction]) -> dict[Counts, Fraction]:
    result: dict[Counts, Fraction] = defaultdict(Fraction)
    for (a, p), (b, r) in itertools.product(first.items(), second.items()):
        result[tuple(x + y for x, y in zip(a, b, strict=True))] += p * r
    return result


@cache
def class_of_given(there: Counts, fill: Law, size: int) -> Mapping[Counts, Fraction]:
    """Return the law of a class that is handed on, given the records that are there."""
    real = min(size, sum(there))
    return _and(kept(there, real), drawn(fill, size - real))


@cache
def class_of(law: Law, fill: Law, count: int, size: int) -> Mapping[Counts, Fraction]:
    """Return the law of a class that is handed on, over the records too."""
    result: dict[Counts, Fraction] = defaultdict(Fraction)
    for there, mass in drawn(law, count).items():
        for out, chance in class_of_given(there, fill, size).items():
            result[out] += mass * chance
    return result


def product(parts: Sequence[Mapping[Counts, Fraction]]) -> Iterator[tuple[tuple[Counts, ...], Fraction]]:
    for combined in itertools.product(*(part.items() for part in parts)):
        yield tuple(out for out, _ in combined), math.prod(mass for _, mass in combined)


def tables(
    sizes_law: Mapping[Hashable, Fraction],
    sizes: Callable[[Hashable], Counts],
    parts: Callable[[int, int], Mapping[Counts, Fraction]],
    *,
    shown: bool = False,
) -> Output:
    """Return the law of the table: sizes by their law, class a of size s by `parts(a, s)`.

    With `shown` the noisy counts go out too. What `sizes_law` lacks of 1 is one more output.
    """
    grouped: dict[Hashable, Fraction] = defaultdict(Fraction)
    for noisy, mass in sizes_law.items():
        grouped[(noisy if shown else None, sizes(noisy))] += mass
    result: dict[Hashable, Fraction] = {NOTHING: 1 - sum(grouped.values(), Fraction(0))}
    for (noisy, wanted), mass in grouped.items():
        for table, chance in product([parts(a, size) for a, size in enumerate(wanted)]):
            result[(noisy, table)] = mass * chance
    return result


# How far two laws of outputs are apart


def delta(first: Output, second: Output, factor: Fraction) -> Fraction:
    """Return the hockey-stick divergence: the least delta at exp(eps) = factor, in this direction."""
    return sum((max(Fraction(0), mass - factor * second.get(out, 0)) for out, mass in first.items()), Fraction(0))


def largest_ratio(first: Output, second: Output) -> Fraction | float:
    """Return the largest ratio of masses, exp(eps) of a pure guarantee, in this direction."""
    ratios = [mass / second[out] if second.get(out, 0) else math.inf for out, mass in first.items() if mass]
    return max(ratios)


def mixed(laws: Sequence[Output], weights: Sequence[Fraction]) -> Output:
    result: dict[Hashable, Fraction] = defaultdict(Fraction)
    for law, weight in zip(laws, weights, strict=True):
        for out, mass in law.items():
            result[out] += weight * mass
    return result


# Random problems


def random_law(random: Random, values: int, *, zeros: bool = True) -> Law:
    weights = [random.choice((0, 1, 1, 2, 5, 20) if zeros else (1, 2, 5, 20)) for _ in range(values)]
    weights[0] += not any(weights)
    return tuple(Fraction(weight, sum(weights)) for weight in weights)


def beside(random: Random, law: Law, *, zeros: bool = True) -> Law:
    """Return a law that is more or less near to another one."""
    share, other = (
        random.choice((Fraction(1, 20), Fraction(1, 5), Fraction(1))),
        random_law(random, len(law), zeros=zeros),
    )
    return tuple((1 - share) * a + share * b for a, b in zip(law, other, strict=True))


def log_ratio(first: Law, second: Law) -> float:
    return max(math.log(a / b) if b else math.inf for a, b in zip(first, second, strict=True) if a)


def total_variation(first: Law, second: Law) -> Fraction:
    return sum((max(Fraction(0), a - b) for a, b in zip(first, second, strict=True)), Fraction(0))


def pairs_apart(random: Random, classes: int, records: int, most: int, number: int) -> list[tuple[Counts, Counts]]:
    """Return some ordered pairs of counts that are at most so many moves apart, the farthest among them."""
    every = counts_of(classes, records)
    far = {(a, b): moves([x - y for x, y in zip(a, b, strict=True)]) for a in every for b in every if a != b}
    near = [pair for pair, distance in far.items() if distance <= most]
    random.shuffle(near)
    return sorted(near, key=lambda pair: -far[pair])[:number]


def given(law: Law, records: int, number: Callable[[Counts], int]) -> dict[int, dict[Counts, Fraction]]:
    """Return the law of the counts of independent records given what a function of the counts is."""
    by: dict[int, dict[Counts, Fraction]] = defaultdict(dict)
    for counts, mass in drawn(law, records).items():
        by[number(counts)][counts] = mass
    return {found: {c: mass / sum(part.values()) for c, mass in part.items()} for found, part in by.items()}
