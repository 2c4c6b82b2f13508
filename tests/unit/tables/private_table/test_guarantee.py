"""What private tables promise: the exact laws of what is handed on, and somebody who tries to tell two secrets."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Hashable, Mapping
from copy import copy
from dataclasses import replace
from fractions import Fraction
from functools import cache, partial
from random import Random
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.core.noise import SecureSampler
from bnpriv.tables.private_table.rows import classed_rows
from bnpriv.tables.private_table.rule import (
    Classes,
    Hidden,
    TableForm,
    TableRule,
    chosen_rule,
    hidden_by,
    rule_of,
    whole_sizes,
)
from tests.private_tables import (
    NOTHING,
    Counts,
    Law,
    Output,
    beside,
    bounded_noise,
    class_of,
    class_of_given,
    counts_of,
    delta,
    differences,
    drawn,
    given,
    largest_ratio,
    log_ratio,
    mixed,
    noisy_counts,
    pairs_apart,
    random_law,
    tables,
    total_variation,
)

PROBLEMS = 300
SLACK = 1 + 1e-9
WIDTH = {2: 8, 3: 4, 4: 2}
"""How many moves the window reaches in which unbounded noise is enumerated."""


def rule(form: TableForm, classes: int, k: int, epsilon: float, most: float = 0.0, law: object = None) -> TableRule:
    """Return the rule of the package for so many classes; the declared number of records decides nothing else."""
    schema = bp.Schema(records=10**6, columns={"kind": bp.Integer(0, classes - 1)})
    predicates = tuple(bp.col("kind") == a for a in range(classes))
    labels = tuple(str(a) for a in range(classes))
    hidden = Classes(schema=schema, predicates=predicates, labels=labels, moved=k, protected=())
    found = rule_of(Hidden(classes=hidden, framework=None, law=cast(Any, law), source=""), form, epsilon, most)
    assert isinstance(found, TableRule), str(found)
    return found


def record_law(laws: list[Law], fill: list[Law]) -> Any:
    """Return what the package reads of a law of made-up records."""
    both = list(zip(laws, fill, strict=True))
    return SimpleNamespace(
        excess=max(log_ratio(a, b) for a, b in both),
        shortfall=max(log_ratio(b, a) for a, b in both),
        gap=float(max(total_variation(a, b) for a, b in both)),
        shares=(0.25,) * len(laws),
        text="a distribution",
    )


@cache
def handed_on(law: Law, fill: Law, count: int, size: int) -> Mapping[Counts, float]:
    """Return the law of one class that is handed on, in floats, for speed."""
    return {out: float(mass) for out, mass in class_of(law, fill, count, size).items()}


def outputs(made: TableRule, laws: list[Law], fill: list[Law], window: list[Counts]) -> Callable[[Counts], Output]:
    """Return the exact law of the noisy counts and the table for true counts, by the sizes and the noise of a rule."""
    noise = cast(Any, made.noise)
    q = cast(Fraction, math.exp(-1 / noise.scale))
    found: dict[Counts, Output] = {}

    def output(counts: Counts) -> Output:
        if counts not in found:
            if noise.most is None:
                law = noisy_counts(counts, q, window)
            else:
                drawn_noise = bounded_noise(len(counts), q, noise.most)
                law = {tuple(map(sum, zip(counts, z, strict=True))): mass for z, mass in drawn_noise.items()}

            def parts(a: int, size: int) -> Mapping[Counts, Fraction]:
                return cast(Any, handed_on(laws[a], fill[a], counts[a], size))

            found[counts] = dict(tables(law, cast(Any, made.sizes), parts, shown=True))
            cast(dict[Hashable, Fraction], found[counts]).pop(NOTHING)
        return found[counts]

    return output


def window_about(random: Random, classes: int, records: int) -> list[Counts]:
    center = random.choice(counts_of(classes, records))
    return [tuple(map(sum, zip(center, step, strict=True))) for step in differences(classes, WIDTH[classes])]


def small(random: Random) -> tuple[int, int, int, float]:
    """Return classes, records, k and epsilon of a small problem; some classes are empty under most counts."""
    classes = random.choice((2, 2, 3, 3, 4))
    records = random.randint(1, {2: 6, 3: 4, 4: 3}[classes])
    return classes, records, random.randint(1, 3), random.choice((0.3, 1.0, 1.5, 2.5))


def test_filled_tables_keep_their_epsilon() -> None:
    random, near = Random(1), 0
    for _ in range(PROBLEMS):
        classes, records, k, epsilon = small(random)
        laws = [random_law(random, 2) for _ in range(classes)]
        made = rule("fill", classes, k, epsilon, law=record_law(laws, laws))
        output = outputs(made, laws, laws, window_about(random, classes, records))
        pairs = pairs_apart(random, classes, records, k, 3)
        reached = max(largest_ratio(output(a), output(b)) for a, b in pairs)
        assert reached <= math.exp(made.guarantee.epsilon) * SLACK
        near += reached > math.exp(0.99 * epsilon)
    assert near > PROBLEMS / 3


def test_filled_tables_pay_for_models_that_differ() -> None:
    """Made-up records of one law, real ones of another: the noise is larger, by k times their log ratio."""
    random, near, tried = Random(2), 0, 0
    while tried < PROBLEMS:
        classes, records, k, _ = small(random)
        laws = [random_law(random, 2, zeros=False) for _ in range(classes)]
        fill = [beside(random, law, zeros=False) for law in laws]
        epsilon = k * (max(map(log_ratio, laws, fill)) + random.choice((0.3, 1.0, 2.0)))
        law = record_law(laws, fill)
        scale = k / (epsilon - k * law.excess)
        if law.shortfall > (law.excess + 2 / scale if classes == 2 else 1 / scale) - 1e-9:
            continue
        tried += 1
        made = rule("fill", classes, k, epsilon, law=law)
        output = outputs(made, laws, fill, window_about(random, classes, records))
        pairs = pairs_apart(random, classes, records, k, 3)
        reached = max(largest_ratio(output(a), output(b)) for a, b in pairs)
        assert reached <= math.exp(made.guarantee.epsilon) * SLACK
        near += reached > math.exp(0.99 * epsilon)
    assert near > PROBLEMS / 6


def test_trimmed_tables_keep_their_delta() -> None:
    random, near, tried = Random(3), 0, 0
    while tried < PROBLEMS:
        classes, records, k, _ = small(random)
        epsilon, most = random.choice((1.0, 2.0)) * k, random.choice((0.02, 0.1, 0.3))
        laws = [random_law(random, 2) for _ in range(classes)]
        made = rule("trim", classes, k, epsilon, most)
        if made.given_up > {2: 12, 3: 4, 4: 2}[classes]:
            continue
        tried += 1
        output = outputs(made, laws, laws, [])
        factor = cast(Fraction, math.exp(made.guarantee.epsilon))
        reached = max(delta(output(a), output(b), factor) for a, b in pairs_apart(random, classes, records, k, 3))
        assert reached <= made.guarantee.delta * SLACK <= most * SLACK
        near += reached > 0.9 * made.guarantee.delta
    assert near > PROBLEMS / 3


def test_filled_and_trimmed_tables_keep_their_delta() -> None:
    random, near = Random(4), 0
    for tried in range(PROBLEMS):
        classes, records, k, _ = small(random)
        records = min(records, 3)
        epsilon, most = random.choice((1.0, 2.0)) * k, random.choice((0.02, 0.1, 0.3))
        laws = [random_law(random, 2) for _ in range(classes)]
        fill = [beside(random, law) for law in laws]
        law = record_law(laws, fill)
        if tried % 5 == 0:
            laws, fill = [(Fraction(1), Fraction(0))] * classes, [(Fraction(1, 1000), Fraction(999, 1000))] * classes
            law = record_law(laws, fill)
        if not 0 < law.gap < 1:
            continue
        made = rule("fill and trim", classes, k, epsilon, most, law)
        output = outputs(made, laws, fill, window_about(random, classes, records))
        factor = cast(Fraction, math.exp(made.guarantee.epsilon))
        reached = max(delta(output(a), output(b), factor) for a, b in pairs_apart(random, classes, records, k, 3))
        assert reached <= made.guarantee.delta * SLACK <= most * SLACK
        near += reached > 0.8 * made.guarantee.delta
    assert near > PROBLEMS / 20


# Hidden tables


def rows_apart(first: Any, second: Any) -> int:
    """Return how many rows are replaced, added or removed between two tables, at least."""
    pairs = [pair for a, b in zip(first, second, strict=True) for pair in zip(a, b, strict=True)]
    return max(sum(max(0, x - y) for x, y in pairs), sum(max(0, y - x) for x, y in pairs))


def _of_class(data: tuple[Counts, ...], fill: list[Law], a: int, size: int) -> Mapping[Counts, Fraction]:
    return class_of_given(data[a], fill[a], size)


def answers(random: Random, classes: int, records: int, factor: Fraction) -> Callable[[Any], Fraction]:
    """Return the chance of "yes" of a question about a table that is private for one row, with exp(eps_d) = factor."""
    every = [tuple(t) for c in counts_of(classes, records) for t in itertools.product(*(counts_of(2, n) for n in c))]
    near, off = random.sample(every, random.randint(1, min(3, len(every)))), random.randint(0, 3)

    def yes(table: Any) -> Fraction:
        level = min(rows_apart(table, other) for other in near) - off
        return factor**level / 2 if level <= 0 else 1 - factor**-level / 2

    return yes


@pytest.mark.parametrize("form", ["fill", "trim"])
def test_hidden_tables_protect_single_records_by_what_is_asked_alone(form: TableForm) -> None:
    """Two data sets with one other record: neither the noise on counts nor its delta is paid for single records."""
    random, near = Random(6), 0
    for _ in range(PROBLEMS // 2):
        classes = random.choice((2, 2, 3))
        records = random.randint(1, {2: 4, 3: 3}[classes])
        q, factor = (
            random.choice((Fraction(1, 2), Fraction(1, 3), Fraction(9, 10))),
            Fraction(random.choice((3, 4, 6)), 2),
        )
        cut = random.randint(0, 2)
        fill = [random_law(random, 2) for _ in range(classes)]
        noise = bounded_noise(classes, q, cut if form == "trim" else 2)
        ready = replace(rule(form, classes, 1, 1.0, 0.1, record_law(fill, fill)), given_up=cut)
        every = [
            tuple(t) for c in counts_of(classes, records) for t in itertools.product(*(counts_of(2, n) for n in c))
        ]
        yes = answers(random, classes, max(1, records - cut) if form == "trim" else records, factor)

        def asked(data: tuple[Counts, ...], *, noise=noise, ready=ready, fill=fill, yes=yes) -> Output:
            law = {tuple(sum(c) + z for c, z in zip(data, vector, strict=True)): p for vector, p in noise.items()}
            found = tables(law, cast(Any, ready.sizes), partial(_of_class, data, fill))
            chance = sum(mass * yes(cast(Any, out)[1]) for out, mass in found.items() if out != NOTHING)
            return {True: cast(Fraction, chance), False: 1 - cast(Fraction, chance)}

        pairs = [(a, b) for a in every for b in every if rows_apart(a, b) == 1]
        reached = max(largest_ratio(asked(a), asked(b)) for a, b in random.sample(pairs, min(3, len(pairs))))
        assert reached <= factor
        near += reached > factor * Fraction(9, 10)
    assert near > 4


# Which secrets


def test_counts_of_several_columns_and_differences_are_as_near_as_they_are() -> None:
    """Independent records given such a number: one step of it is one move of the counts of the cells."""
    random, near = Random(7), 0
    for tried in range(60):
        classes, records = (4, random.randint(1, 3)) if tried % 2 else (3, random.randint(2, 4))
        number = (lambda c: c[0] + c[2]) if tried % 2 else (lambda c: c[0] - c[1])
        laws = given(random_law(random, classes), records, number)
        a, b = random.choice(list(laws)), random.choice(list(laws))
        if a == b:
            continue
        q, most = random.choice((Fraction(1, 2), Fraction(2, 3), Fraction(9, 10))), random.randint(0, 1)
        window = window_about(random, classes, records)
        noise = bounded_noise(classes, q, most)

        def filled(counts: Counts, q=q, window=window) -> Output:
            return cast(Output, noisy_counts(counts, q, window))

        def trimmed(counts: Counts, noise=noise) -> Output:
            return {tuple(map(sum, zip(counts, z, strict=True))): mass for z, mass in noise.items()}

        first, second = (
            [mixed([form(c) for c in laws[s]], list(laws[s].values())) for s in (a, b)] for form in (filled, trimmed)
        )
        reached, factor = largest_ratio(*first), q ** -abs(a - b)
        assert reached <= factor
        assert delta(*second, factor) <= sum(p for z, p in noise.items() if z[0] > most - abs(a - b))
        near += reached > factor * Fraction(9, 10)
    assert near > 10


def test_totals_are_not() -> None:
    """Four records of 1 make a total of 4, one of 5 a total of 5: far apart."""
    laws = given((Fraction(9, 10), Fraction(1, 100), Fraction(9, 100)), 5, lambda c: c[1] + 5 * c[2])
    window = [tuple(map(sum, zip((3, 1, 1), step, strict=True))) for step in differences(3, 6)]
    q = Fraction(1, 2)
    four, five = (
        mixed([cast(Output, noisy_counts(c, q, window)) for c in laws[s]], list(laws[s].values())) for s in (4, 5)
    )
    assert largest_ratio(five, four) > q**-1 * 7


def test_columns_whose_counts_are_tied_are_not() -> None:
    """Records that are independent given their cells only: one step of one count may be any step of the other."""
    q, n = Fraction(1, 2), 3
    window = [tuple(map(sum, zip((0, n, 0, 0), step, strict=True))) for step in differences(4, 3)]
    # the cells are both, the first, the second, none; a count of 0 goes with 0 of the second column, of 1 with all
    none, one = noisy_counts((0, 0, 0, n), q, window), noisy_counts((1, 0, n - 1, 0), q, window)
    assert largest_ratio(cast(Output, none), cast(Output, one)) == q**-n


# Planted bugs: what each is said to keep, and what it keeps


HALF = Fraction(1, 2)
LAW: Law = (HALF, HALF)


def cut_on_both_sides(q: Fraction, c: int) -> tuple[Output, Output, Fraction]:
    """Noise as it comes, an empty table beyond c, and the mass beyond c as delta."""
    most = 40
    point = {z: (1 - q) / (1 + q) * q ** abs(z) for z in range(-most, most + 1)}
    laws = [{g + z: mass for z, mass in point.items() if abs(z) <= c} for g in (10, 11)]
    return cast(Output, laws[0]), cast(Output, laws[1]), 2 * q ** (c + 1) / (1 + q)


def counted(g: int, n: int, parts: Callable[[int, int], Mapping[Counts, Fraction]]) -> Output:
    window = [(x, n - x) for x in range(-6, n + 7)]
    return tables(noisy_counts((g, n - g), HALF, window), cast(Any, whole_sizes), parts)


def in_file_order(g: int) -> Output:
    """Of a file that is sorted by a value, the first records of each class."""

    def parts(a: int, size: int) -> Mapping[Counts, Fraction]:
        found: dict[Counts, Fraction] = {}
        for there, mass in drawn(LAW, (g, 3 - g)[a]).items():
            lowest = min(there[0], size)
            for made, chance in drawn(LAW, max(0, size - sum(there))).items():
                first = (lowest + made[0], min(size, sum(there)) - lowest + made[1])
                found[first] = found.get(first, Fraction(0)) + mass * chance
        return found

    return counted(g, 3, parts)


def of_the_wrong_class(g: int) -> Output:
    own: list[Law] = [(Fraction(9, 10), Fraction(1, 10)), (Fraction(1, 10), Fraction(9, 10))]
    return counted(g, 3, lambda a, size: class_of(own[a], own[1 - a], (g, 3 - g)[a], size))


def with_a_mark(g: int) -> Output:
    """Made-up records have a value that no real one has."""
    return counted(
        g, 3, lambda a, size: class_of((Fraction(1), Fraction(0)), (Fraction(0), Fraction(1)), (g, 3 - g)[a], size)
    )


def from_a_pool_that_runs_out(g: int) -> Output:
    """Made-up records are at most one."""

    def sizes(noisy: Counts) -> Counts:
        first = whole_sizes(noisy)[0]
        first = max(min(first, g + 1), g - 1)
        return first, 4 - first

    window = [(x, 4 - x) for x in range(-6, 11)]
    law = noisy_counts((g, 4 - g), HALF, window)
    return tables(law, cast(Any, sizes), lambda a, size: class_of(LAW, LAW, (g, 4 - g)[a], size))


def drawn_again_until_it_is_possible(g: int) -> Output:
    """Noise that makes a count negative is not taken."""
    law = noisy_counts((g, 3 - g), HALF, [(x, 3 - x) for x in range(4)])
    whole = sum(law.values())
    return {noisy: mass / whole for noisy, mass in law.items()}


def _orders(first: int, second: int) -> list[str]:
    places = itertools.combinations(range(first + second), first)
    return ["".join("a" if k in chosen else "b" for k in range(first + second)) for chosen in places]


def with_made_up_records_last(g: int) -> Output:
    """Real records in random order, made-up ones behind them."""
    found: dict[Hashable, Fraction] = {}
    for noisy, mass in noisy_counts((g, 4 - g), HALF, [(x, 4 - x) for x in range(-6, 11)]).items():
        a, b = whole_sizes(noisy)
        real = min(a, g), min(b, 4 - g)
        for order in _orders(*real):
            out = order + "a" * (a - real[0]) + "b" * (b - real[1])
            found[out] = found.get(out, Fraction(0)) + mass / math.comb(sum(real), real[0])
    return found


def the_first_of_a_shuffle(g: int) -> Output:
    """Shuffled once: the first m of each class stay, in their order."""
    found: dict[Hashable, Fraction] = {}
    for z, mass in bounded_noise(2, HALF, 1).items():
        left = [g + z[0] - 1, 6 - g + z[1] - 1]
        for order in _orders(g, 6 - g):
            number, out = {"a": left[0], "b": left[1]}, ""
            for each in order:
                out += each if number[each] > 0 else ""
                number[each] -= 1
            found[out] = found.get(out, Fraction(0)) + mass / math.comb(6, g)
    return found


def as_many_as_there_are(g: int) -> Output:
    """Trimmed by noise that is not held below c, but by what is there."""
    found: dict[Hashable, Fraction] = {}
    for z in range(-40, 41):
        left = min(g, max(0, g + z - 1)), min(10 - g, max(0, 10 - g - z - 1))
        found[left] = found.get(left, Fraction(0)) + HALF ** abs(z) / 3
    return found


PURE = {
    "file order": (in_file_order(1), in_file_order(2)),
    "wrong class": (of_the_wrong_class(1), of_the_wrong_class(2)),
    "a mark": (with_a_mark(1), with_a_mark(2)),
    "a pool": (from_a_pool_that_runs_out(1), from_a_pool_that_runs_out(2)),
    "drawn again": (drawn_again_until_it_is_possible(0), drawn_again_until_it_is_possible(1)),
    "made up last": (with_made_up_records_last(2), with_made_up_records_last(3)),
}


@pytest.mark.parametrize("bug", PURE)
def test_what_breaks_a_filled_table_is_seen(bug: str) -> None:
    first, second = ({out: mass for out, mass in each.items() if out != NOTHING} for each in PURE[bug])
    assert max(largest_ratio(first, second), largest_ratio(second, first)) > 2 * SLACK


def held(c: int, k: int) -> Fraction:
    return sum((mass for z, mass in bounded_noise(2, HALF, c).items() if z[0] > c - k), Fraction(0))


def test_what_breaks_a_trimmed_table_is_seen() -> None:
    first, second, said = cut_on_both_sides(Fraction(1, 8), 1)
    assert delta(second, first, Fraction(8)) > 3 * said
    assert delta(the_first_of_a_shuffle(4), the_first_of_a_shuffle(5), Fraction(2)) > held(1, 1) * SLACK
    assert delta(as_many_as_there_are(5), as_many_as_there_are(4), Fraction(2)) > held(1, 1) * SLACK


# Somebody who tries


ROWS, NEAR, FAR = 60, 28, 32
SCHEMA = bp.Schema(records=ROWS, columns={"kind": bp.Categorical(["a", "b"])})
SECRET = bp.Secret('count(kind == "a")', pairs=bp.apart(at_most=FAR - NEAR))


def what_is_seen(table: Any) -> list[float]:
    """Return how many rows of each class a table has, where those of class a are, and how often the class changes."""
    first = table["kind"].to_numpy() == "a"
    where = float(np.flatnonzero(first).mean()) / len(first) if first.any() else 0.5
    return [1.0, float(first.sum()), float((~first).sum()), where, float(np.count_nonzero(first[1:] != first[:-1]))]


def told_apart(number: int) -> tuple[float, float]:
    """Return how often a linear discriminant says each secret where it is true, and how many tables it tried of each.

    Of the true tables one begins with class a, the other ends with it. Half of the tables are to learn from.
    """
    import pyarrow as pa

    made = chosen_rule(hidden_by(SECRET, SCHEMA, None, None), "trim", 1.0, 0.05)
    shown = []
    for count in (NEAR, FAR):
        kinds = ["a"] * count + ["b"] * (ROWS - count)
        data = pa.table({"kind": kinds if count == FAR else kinds[::-1]})
        with classed_rows(data, SCHEMA, ["kind"], made.classes.predicates, as_they_count=False) as rows:
            keeps = [made.counts(rows.counts, made.noise.noisy(rows.counts, SecureSampler()))[0] for _ in range(number)]
            shown.append([what_is_seen(copy(rows).handed_on(keep)) for keep in keeps])
    learn, tried = np.array(shown)[:, ::2], np.array(shown)[:, 1::2]
    sides = np.repeat([-1.0, 1.0], learn.shape[1])
    scores = tried @ np.linalg.lstsq(np.concatenate(list(learn)), sides, rcond=None)[0]
    return float((scores[0] < 0).mean()), float((scores[1] > 0).mean())


def test_nobody_tells_two_secrets_apart_better_than_promised(monkeypatch: pytest.MonkeyPatch) -> None:
    number = 800
    right = told_apart(number)
    # P(says A | A) <= exp(eps) P(says A | B) + delta, both ways, and five standard deviations of chance
    chance = 5 * 0.5 * math.sqrt((1 + math.e**2) / (number / 2))
    for own, other in (right, right[::-1]):
        assert own <= math.e * (1 - other) + 0.05 + chance
    most = (math.e + 0.05) / (1 + math.e)
    assert sum(right) / 2 <= most + 5 * 0.5 / math.sqrt(number)
    # he does learn something, and all of it where the order of rows is kept
    assert sum(right) / 2 > 0.57
    monkeypatch.setattr("bnpriv.tables.private_table.rows._permutation", np.arange)
    assert min(told_apart(60)) > most + 0.15
