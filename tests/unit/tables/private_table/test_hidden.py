"""Tables that stay inside: exact losses of single records and of the secret, what may go in, what never comes out."""

from __future__ import annotations

import copy
import itertools
import math
import pickle
import random
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from numpy.typing import NDArray

import bnpriv as bp
from bnpriv.core.frameworks.guarantee import Guarantee
from bnpriv.core.noise import DiscreteLaplace, Gaussian, SecureSampler
from bnpriv.core.queries.asked import as_query
from bnpriv.errors import BnprivError, DataError, ParameterError, QueryError, RefusedError
from bnpriv.tables.private_table.counts import CalibratedCount, MoveNoise
from bnpriv.tables.private_table.hidden import HiddenTable, estimate, loss_of_counts, shows_counts, twice
from bnpriv.tables.private_table.private_table import PrivateTable, plan_table, private_table
from bnpriv.tables.private_table.rule import Classes, TableForm, TableRule, scale_of, whole_sizes

KINDS = "abc"
RECORDS = {2: 5, 3: 3}
"""Of the tables that are enumerated, by their number of classes: with five both classes may be trimmed, unequally."""

ONES = as_query("total(x)")

Table = tuple[tuple[int, int], ...]
"""Records: a class, and 0 or 1."""

# --------------------------------------------------------------------------------------------------
# The oracle: exact laws of what comes out of tables of three records, by enumeration.
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Setting:
    """A form of table, its noise, the laws of made-up records, and the epsilon of one answer."""

    form: TableForm
    classes: int
    noise: MoveNoise
    given_up: int
    chances: tuple[float, ...]
    epsilon: float

    @property
    def rule(self) -> TableRule:
        """The rule of the package that says the same."""
        return TableRule(
            classes=_classes(self.classes),
            form=self.form,
            noise=self.noise,
            given_up=self.given_up,
            law=None,
            guarantee=_guarantee(),
        )


@cache
def _classes(number: int) -> Classes:
    told = [bp.col("kind") == kind for kind in KINDS[: number - 1]]
    predicates = (*told, ~told[0] if number == 2 else bp.col("kind") == KINDS[2])
    columns = {"kind": bp.Categorical(list(KINDS)), "x": bp.Integer(0, 1)}
    schema = bp.Schema(records=RECORDS[number], columns=columns)
    return Classes(schema=schema, predicates=predicates, labels=tuple(KINDS[:number]), moved=1, protected=())


@cache
def _guarantee() -> Guarantee:
    import pyarrow as pa

    made = private_table(
        bp.Secret("count(x == 1)", pairs=bp.apart(at_most=1)),
        pa.table({"x": [0, 1] * 50}),
        1.0,
        1e-3,
        "trim",
        schema=bp.Schema(records=100, columns={"x": bp.Integer(0, 1)}),
        records_may_be_seen=True,
    )
    assert isinstance(made, PrivateTable)
    return made.guarantee


def settings() -> list[Setting]:
    """Return random settings of every form."""
    draw, found = random.Random(28), list[Setting]()
    for number in range(42):
        classes = 2 + number % 2
        form: TableForm = ("fill", "trim", "fill and trim")[number // 2 % 3]
        scale, most = draw.choice([0.4, 0.8, 1.5, 3.0]), draw.choice([1, 2, 3])
        found.append(
            Setting(
                form=form,
                classes=classes,
                noise=MoveNoise(classes=classes, scale=scale, most=most if form == "trim" else None),
                given_up=0 if form == "fill" else most,
                chances=tuple(draw.choice([0.0, 0.2, 0.5, 0.9, 1.0]) for _ in range(classes)),
                epsilon=draw.choice([0.3, 1.0, 2.0]),
            )
        )
    return found


SETTINGS = settings()


@cache
def tables(classes: int) -> list[Table]:
    """Return every table, but for the order of its records."""
    values = list(itertools.product(range(classes), (0, 1)))
    return list(itertools.combinations_with_replacement(values, RECORDS[classes]))


@cache
def neighbours(classes: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the places of every two tables that differ in one record, in both directions."""
    pairs = [
        (i, j)
        for (i, one), (j, other) in itertools.permutations(enumerate(map(Counter, tables(classes))), 2)
        if (one - other).total() == 1
    ]
    one, other = np.array(pairs).T
    return one, other


def numbers(table: Table, classes: int) -> tuple[int, ...]:
    """Return the records of each class."""
    return tuple(sum(kind == each for kind, _ in table) for each in range(classes))


@cache
def window(classes: int, far: int) -> tuple[tuple[int, ...], ...]:
    """Return noisy numbers of the sum of records."""
    free = itertools.product(range(-far, RECORDS[classes] + far + 1), repeat=classes - 1)
    return tuple((*some, RECORDS[classes] - sum(some)) for some in free)


def chance(noisy: Sequence[int], counts: Sequence[int], noise: MoveNoise) -> float:
    """Return the chance of noisy numbers, but for a factor that is the same for all counts."""
    moved = [to - of for to, of in zip(noisy, counts, strict=True)]
    if noise.most is not None and max(moved) > noise.most:
        return 0.0
    return math.exp(-sum(map(abs, moved)) / 2 / noise.scale)


@cache
def ones_of(ones: int, count: int, size: int, made_up: float) -> dict[int, float]:
    """Return the law of the ones among `size` records of a class: some of those there, the others made up."""
    kept, found = min(count, size), Counter[int]()
    for j in range(kept + 1):
        ways = math.comb(ones, j) * math.comb(count - ones, kept - j) / math.comb(count, kept)
        for i in range(size - kept + 1):
            drawn = math.comb(size - kept, i) * made_up**i * (1 - made_up) ** (size - kept - i)
            found[i + j] += ways * drawn
    return {each: mass for each, mass in found.items() if mass > 0}


def inside(table: Table, sizes: Sequence[int], chances: Sequence[float]) -> dict[tuple[int, ...], float]:
    """Return the law of the ones of each class of the table that stays inside."""
    parts: list[dict[int, float]] = []
    for kind, size in enumerate(sizes):
        values = [value for each, value in table if each == kind]
        parts.append(ones_of(sum(values), len(values), size, chances[kind]))
    return {
        tuple(each for each, _ in ones): math.prod(mass for _, mass in ones)
        for ones in itertools.product(*(part.items() for part in parts))
    }


def log_densities(laws: Sequence[dict[float, float]], scale: float) -> NDArray[np.float64]:
    """Return the logs of the densities of Laplace noise on some laws, but for a factor, where they may differ most.

    Between two of the values the ratio of two densities is monotone.
    """
    values = sorted(set[float]().union(*laws))
    masses = np.array([[law.get(value, 0.0) for value in values] for law in laws])
    at = np.array([*values, values[0] - 1, values[-1] + 1])
    return np.log(masses @ np.exp(-np.abs(np.array(values)[:, None] - at) / scale))


def answers(law: dict[tuple[int, ...], float], weights: Sequence[float]) -> dict[float, float]:
    """Return the law of the exact answer."""
    found = Counter[float]()
    for ones, mass in law.items():
        found[sum(weight * each for weight, each in zip(weights, ones, strict=True))] += mass
    return dict(found)


def made_of(setting: Setting, noisy: tuple[int, ...]) -> PrivateTable:
    """Return some private table of these numbers."""
    import pyarrow as pa

    sizes = setting.rule.sizes(noisy)
    kinds = [kind for kind, size in zip(KINDS, sizes, strict=False) for _ in range(size)]
    table = pa.table({"kind": pa.array(kinds, pa.string()), "x": [0] * len(kinds)})
    return PrivateTable(table=table, rule=setting.rule, sizes=sizes, noisy=noisy)


def weights_of(setting: Setting, noisy: Sequence[int]) -> list[float]:
    """Return how many records each one stands for."""
    sizes = setting.rule.sizes(noisy)
    return [
        number / size if size and shows_counts(setting.rule) else 1.0 for number, size in zip(noisy, sizes, strict=True)
    ]


def reach(setting: Setting, noisy: tuple[int, ...]) -> float:
    """Return how far the package says that one record moves the number of ones."""
    return estimate(HiddenTable(made_of(setting, noisy)), ONES).reach


Reach = Callable[[Setting, tuple[int, ...]], float]


def records_excess(setting: Setting, claimed: float, reach: Reach) -> float:
    """Return how much more two neighbours lose than claimed, where the noisy numbers are shown.

    What is possible for one of them alone is left to delta.
    """
    worst, each = -math.inf, tables(setting.classes)
    for noisy in window(setting.classes, 3 if setting.classes == 2 else 1):
        sizes, weights = setting.rule.sizes(noisy), weights_of(setting, noisy)
        masses = np.array([chance(noisy, numbers(table, setting.classes), setting.noise) for table in each])
        if not sum(sizes) or not masses.any():
            continue
        laws = [answers(inside(table, sizes, setting.chances), weights) for table in each]
        logs = log_densities(laws, reach(setting, noisy) / setting.epsilon)
        one, other = neighbours(setting.classes)
        both = (masses[one] > 0) & (masses[other] > 0)
        told = np.log(masses[one[both]] / masses[other[both]]) + (logs[one[both]] - logs[other[both]]).max(axis=1)
        worst = max(worst, float(told.max(initial=-math.inf)))
    return worst - claimed


FAR = {2: 150, 3: 40}


@cache
def filled_sizes(classes: int) -> tuple[NDArray[np.int64], dict[tuple[int, ...], NDArray[np.int64]]]:
    """Return noisy numbers, all but rare ones, and which of them lead to which sizes of a filled table."""
    noisy, places = window(classes, FAR[classes]), dict[tuple[int, ...], list[int]]()
    for place, each in enumerate(noisy):
        places.setdefault(whole_sizes(each), []).append(place)
    return np.array(noisy), {sizes: np.array(found) for sizes, found in places.items()}


def inside_excess(setting: Setting, claimed: float, *, shown: bool = False, less: float = 1.0) -> float:
    """Return how much more two neighbours lose than claimed, where the numbers of records stay inside or are shown."""
    classes, each = setting.classes, tables(setting.classes)
    noisy, places = filled_sizes(classes)
    counts = np.array([numbers(table, classes) for table in each])
    masses = np.exp(-np.abs(noisy - counts[:, None]).sum(axis=2) / 2 / setting.noise.scale)
    parts = [
        [
            {value: mass * p for value, p in answers(inside(table, sizes, setting.chances), (1,) * classes).items()}
            for table, mass in zip(each, masses[:, where].sum(axis=1), strict=True)
        ]
        for sizes, where in places.items()
    ]
    whole = [sum((Counter(law) for law in of_table), Counter()) for of_table in zip(*parts, strict=True)]
    scale = less * reach(setting, window(classes, 0)[0]) / setting.epsilon
    one, other = neighbours(classes)
    logs = [log_densities(laws, scale) for laws in (parts if shown else [whole])]
    return max(float((each[one] - each[other]).max()) for each in logs) - claimed


SHOWN = [setting for setting in SETTINGS if shows_counts(setting.rule)]
INSIDE = [setting for setting in SETTINGS if not shows_counts(setting.rule)]


def _alone(setting: Setting) -> float:
    """Return what the package says of one answer: the table once, and twice its epsilon."""
    made = made_of(setting, window(setting.classes, 0)[-1])
    answer = HiddenTable(made).ask(ONES, setting.epsilon)
    assert answer.alone == answer.records
    return answer.alone.epsilon


def test_records_lose_what_is_said_where_counts_are_shown() -> None:
    assert len(SHOWN) >= 25
    excess = [records_excess(setting, _alone(setting), reach) for setting in SHOWN]
    assert max(excess) <= 1e-9
    assert max(excess) > -1e-9  # and it is reached


def test_records_lose_no_more_than_the_answer_where_counts_stay_inside() -> None:
    assert {setting.classes for setting in INSIDE} == {2, 3}
    assert [_alone(setting) for setting in INSIDE] == pytest.approx([setting.epsilon for setting in INSIDE])
    excess = [inside_excess(setting, _alone(setting)) for setting in INSIDE]
    assert max(excess) <= 1e-5
    assert max(excess) > -1e-5


def test_what_one_record_alone_makes_possible_has_the_chance_of_delta() -> None:
    """Of numbers that one table leads to and a neighbour cannot."""
    for setting in SHOWN:
        if setting.form != "trim":
            assert loss_of_counts(setting.rule)[1] == 0
            continue
        worst = 0.0
        counts = {numbers(table, setting.classes) for table in tables(setting.classes)}
        every = sum(
            chance(noisy, (1,) * 3 if setting.classes == 3 else (2, 3), setting.noise)
            for noisy in window(setting.classes, 12)
        )
        for one, other in itertools.permutations(counts, 2):
            if sum(abs(a - b) for a, b in zip(one, other, strict=True)) == 2:
                alone = [
                    chance(noisy, one, setting.noise)
                    for noisy in window(setting.classes, 12)
                    if not chance(noisy, other, setting.noise)
                ]
                worst = max(worst, sum(alone) / every)
        delta = float(loss_of_counts(setting.rule)[1])
        assert worst <= delta * (1 + 1e-9)
        assert setting.classes > 2 or worst == pytest.approx(delta)


@pytest.mark.parametrize(
    "claimed",
    [
        lambda setting: _alone(setting) - setting.epsilon,
        lambda setting: 2 * setting.epsilon,
    ],
    ids=["once the epsilon", "without the table"],
)
def test_less_is_not_enough(claimed: Callable[[Setting], float]) -> None:
    assert any(records_excess(setting, claimed(setting), reach) > 1e-6 for setting in SHOWN[:12])


@pytest.mark.parametrize("planted", ["one record stands for one", "the least weight"])
def test_with_less_noise_records_lose_more(planted: str) -> None:
    def less(setting: Setting, noisy: tuple[int, ...]) -> float:
        weights = weights_of(setting, noisy)
        return 1.0 if planted == "one record stands for one" else min(weights)

    assert any(records_excess(setting, _alone(setting), less) > 1e-6 for setting in SHOWN if setting.form != "fill")


def test_counts_that_are_shown_beside_are_paid_for() -> None:
    assert any(inside_excess(setting, setting.epsilon, shown=True) > 1e-3 for setting in INSIDE)
    most = [2 * setting.epsilon + 1 / setting.noise.scale for setting in INSIDE]
    assert all(inside_excess(each, claimed, shown=True) <= 1e-5 for each, claimed in zip(INSIDE, most, strict=True))
    assert any(inside_excess(setting, setting.epsilon, less=0.5) > 1e-3 for setting in INSIDE)


def in_proportion(noisy: Sequence[int]) -> tuple[int, ...]:
    """Shrink sizes that are not negative in proportion."""
    sizes, records = [max(0, number) for number in noisy], sum(noisy)
    order = sorted(range(len(sizes)), key=lambda a: -(sizes[a] * records % sum(sizes)))
    low = [size * records // sum(sizes) for size in sizes]
    return tuple(each + (a in order[: records - sum(low)]) for a, each in enumerate(low))


def replaced(sizes: Callable[[Sequence[int]], tuple[int, ...]]) -> int:
    """Return how many records differ at most where one record moves from a class to another, the noise being the same.

    A class of which one more or fewer is there, and as many are kept, has one that differs; so it has where fewer are
    kept though more are there, and these too.
    """
    worst = 0
    for noisy in itertools.product(range(-4, 9), repeat=3):
        if not 0 < sum(noisy) <= 8:
            continue
        before = sizes(noisy)
        for a, b in itertools.permutations(range(3), 2):
            after = sizes([number - (k == a) + (k == b) for k, number in enumerate(noisy)])
            gone = come = 0
            for k, (old, new) in enumerate(zip(before, after, strict=True)):
                there = (k == b) - (k == a)
                differ = 1 if there and (new - old) * there <= 0 and max(old, new) else 0
                gone, come = gone + max(0, old - new) + differ, come + max(0, new - old) + differ
            worst = max(worst, gone, come)
    return worst


def test_sizes_by_turns_change_with_one_record_by_one() -> None:
    assert replaced(whole_sizes) == 1
    assert replaced(in_proportion) > 1


def test_the_secret_loses_one_epsilon_whatever_is_asked() -> None:
    """What stays inside has the same law given its sizes, whatever the numbers of records are."""
    for count, size, p in itertools.product(range(5), range(7), (0.0, 0.3, 1.0)):
        found = Counter[int]()
        for ones in range(count + 1):
            mass = math.comb(count, ones) * p**ones * (1 - p) ** (count - ones)
            for each, chance_of in ones_of(ones, count, size, p).items():
                found[each] += mass * chance_of
        assert [found[k] for k in range(size + 1)] == pytest.approx(
            [math.comb(size, k) * p**k * (1 - p) ** (size - k) for k in range(size + 1)]
        )
    for setting in SETTINGS:
        counts = {numbers(table, setting.classes) for table in tables(setting.classes)}
        for one, other, noisy in itertools.product(counts, counts, window(setting.classes, 2)):
            masses = [chance(noisy, each, setting.noise) for each in (one, other)]
            apart = sum(abs(a - b) for a, b in zip(one, other, strict=True)) // 2
            if all(masses):
                assert math.log(masses[0] / masses[1]) <= apart / setting.noise.scale + 1e-9


# --------------------------------------------------------------------------------------------------
# What is answered, and what is charged.
# --------------------------------------------------------------------------------------------------

PEOPLE = 400


class Silent:
    """Draws numbers of records as usual, and adds no noise to answers."""

    def __getattr__(self, name: str) -> Any:
        return getattr(SecureSampler(), name)

    def laplace(self, values: Sequence[float], scale: float) -> tuple[float, ...]:
        """Return the values."""
        return tuple(values)


class Failing(Silent):
    """Fails, and says why."""

    def laplace(self, values: Sequence[float], scale: float) -> tuple[float, ...]:
        """Tell the values."""
        raise ValueError(values)


SCHEMA = bp.Schema(
    records=PEOPLE,
    columns={
        "ill": bp.Categorical(["no", "yes"]),
        "age": bp.Integer(0, 90),
        "height": bp.Real(100, 200),
        "smokes": bp.Categorical([False, True]),
        "income": bp.Integer(0, 9, missing="not counted"),
        "ward": bp.Categorical(["a", "b"], missing="not counted"),
    },
)


@cache
def people() -> Any:
    """Return a table with gaps and values out of bounds."""
    import pyarrow as pa

    draw = random.Random(5)
    rows = [
        {
            "ill": draw.choice(["no", "yes", "yes"]),
            "age": draw.choice([3, 40, 89, 4711]),
            "height": draw.choice([120.5, 199.0, None, 250.0]),
            "smokes": draw.choice([False, True]),
            "income": draw.choice([1, 7, None]),
            "ward": draw.choice(["a", "b", None]),
        }
        for _ in range(PEOPLE)
    ]
    return pa.Table.from_pylist(rows)


SECRET = bp.Secret('count(ill == "yes")', pairs=bp.apart(at_most=2))


def hidden(data: object = None, **options: Any) -> HiddenTable:
    """Return a trimmed table that stays inside."""
    given = people() if data is None else data
    made = private_table(SECRET, given, 1.0, 1e-4, "trim", schema=SCHEMA, hidden=True, **options)
    assert isinstance(made, HiddenTable)
    return made


def test_a_query_is_answered_for_the_true_table_as_a_private_table_does() -> None:
    kept = hidden(sampler=Silent())
    made = kept._kept.made  # pyright: ignore[reportPrivateUsage]
    for text in ("mean(age)", 'count(ill == "yes" & age > 50)', "histogram(ward)"):
        answer = kept.ask(text, 0.5)
        assert answer.numbers == made.answer(text)
        assert len(answer.numbers) == len(answer.labels)
        weights = sorted(made.weights.values())
        moved = {"mean(age)": 90 / PEOPLE, "histogram(ward)": 2}.get(text, 1)
        assert answer.scale == pytest.approx(sum(weights) / 2 * moved / 0.5)
        assert answer.scale >= sum(weights) / 2 * moved / 0.5
    assert sum(kept.ask("histogram(ill)", 1.0).numbers) == pytest.approx(PEOPLE)
    assert kept.ask("count(age > 1000)", 1.0).value == 0.0


def test_what_is_asked_adds_up_and_the_table_counts_once() -> None:
    kept, scale = hidden(), 2.0000000000000004
    table, delta = 1 / scale, MoveNoise(classes=2, scale=kept.rule.noise.scale, most=kept.rule.given_up).delta(1)  # pyright: ignore
    assert kept.spent_records.epsilon == pytest.approx(table)
    assert kept.spent_records.delta == pytest.approx(delta)
    first, second = kept.ask("mean(age)", 0.25), kept.ask("mean(height)", 1.0)
    assert first.alone.epsilon == first.records.epsilon == pytest.approx(table + 0.5)
    assert second.alone.epsilon == pytest.approx(table + 2)
    assert second.records.epsilon == kept.spent_records.epsilon == pytest.approx(table + 2.5)
    assert second.records.epsilon >= 0.5 + 2.5
    assert (second.alone.answers, second.records.answers) == (1, 2)
    assert second.records.delta == pytest.approx(delta)
    assert second.guarantee == kept.guarantee
    assert kept.guarantee.epsilon == 1.0
    assert "not protected" not in kept.guarantee.sentence


def test_approximate_measurements_are_paid_for_twice_and_the_step_between() -> None:
    dp = opendp()
    noise = dp.m.make_gaussian(dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float), 30.0)
    measurement = dp.c.make_fix_delta(dp.c.make_zCDP_to_approxDP(noise), 1e-7)
    kept = hidden()
    before, answer = kept.spent_records, kept.ask(measurement, query="count(age > 50)")
    assert answer.delta_records == 1e-7
    assert answer.records.epsilon == pytest.approx(before.epsilon + 2 * answer.epsilon_records)
    assert answer.records.delta == pytest.approx(before.delta + 1e-7 * (1 + math.exp(answer.epsilon_records)))
    assert isinstance(answer.value, float)


def test_several_threads_are_charged_as_if_in_turn() -> None:
    kept, seen = hidden(), list[int]()

    def ask() -> None:
        for _ in range(10):
            seen.append(kept.ask("mean(age)", 0.125).records.answers)

    threads = [threading.Thread(target=ask) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(seen) == list(range(1, 61))
    assert kept.spent_records.epsilon == pytest.approx(kept.ask("mean(age)", 0.125).alone.epsilon - 0.25 + 60 * 0.25)


def test_the_noise_on_a_calibrated_count_has_a_loss_or_is_refused() -> None:
    def rule(noise: object) -> TableRule:
        calibration = cast(Any, SimpleNamespace(noise=noise))
        noisy = CalibratedCount(calibration=calibration)
        return TableRule(classes=_classes(2), form="fill", noise=noisy, given_up=0, law=None, guarantee=_guarantee())

    assert float(loss_of_counts(rule(DiscreteLaplace(4.0)))[0]) == pytest.approx(0.25)
    with pytest.raises(RefusedError, match="protects single ones; found Gaussian"):
        loss_of_counts(rule(Gaussian(4.0)))


def test_in_a_small_table_noise_on_moves_takes_the_place_of_the_least_noise() -> None:
    """The least noise on one count hides the count, not the records."""
    import pyarrow as pa

    columns = {"ill": bp.Categorical(["no", "yes"])}
    network = bp.DiscreteNetwork.from_tables({"ill": [0.7, 0.3]}, states={"ill": ["no", "yes"]}, level="records")
    secret = {"ill": bp.Secret('count(ill == "yes")', pairs=bp.apart(at_most=2))}
    framework = bp.DatasetAttributePrivacy(network, bp.Schema(records=8, columns=columns), secret, source="invented")
    data = pa.table({"ill": ["yes", "no"] * 4})
    made = private_table(framework, data, 1.0, records_may_be_seen=True)
    kept = private_table(framework, data, 1.0, hidden=True)
    assert isinstance(made, PrivateTable)
    assert isinstance(kept, HiddenTable)
    assert isinstance(made.rule.noise, CalibratedCount)
    assert kept.rule.noise == MoveNoise(classes=2, scale=scale_of(2, 1.0))
    assert kept.guarantee.epsilon == made.guarantee.epsilon == 1.0
    assert kept.ask('count(ill == "yes")', 0.5).records.epsilon == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("asked", "options", "error"),
    [
        ("mean(age)", {}, ParameterError),
        ("mean(age)", {"epsilon_records": math.inf}, ParameterError),
        ("mean(nobody)", {"epsilon_records": 1.0}, BnprivError),
        ("mean(ward)", {"epsilon_records": 1.0}, QueryError),
        (3, {"epsilon_records": 1.0}, QueryError),
        ("mean(age)", {"epsilon_records": 1.0, "columns": "age"}, RefusedError),
        (bp.custom(len, columns=["age"], sensitivity=1.0), {"epsilon_records": 1.0}, ParameterError),
    ],
)
def test_a_query_that_does_not_fit_is_not_charged(
    asked: object, options: dict[str, Any], error: type[Exception]
) -> None:
    kept = hidden()
    with pytest.raises(error):
        kept.ask(asked, **options)
    assert kept.spent_records.answers == 0


# --------------------------------------------------------------------------------------------------
# Measurements of OpenDP.
# --------------------------------------------------------------------------------------------------


def opendp() -> Any:
    """Return OpenDP, with all of it enabled."""
    import opendp.prelude as dp

    dp.enable_features("contrib", "honest-but-curious")
    return dp


def counting(domain: Callable[[Any], Any], metric: str = "symmetric_distance", scale: float = 1.0) -> Any:
    """Return a count of what is in a domain."""
    dp = opendp()
    return (dp.vector_domain(domain(dp)), getattr(dp, metric)()) >> dp.t.then_count() >> dp.m.then_laplace(scale)


def returned(element: Callable[[Any], Any], function: Callable[[Any], Any], **options: Any) -> Any:
    """Return a measurement of a user's own."""
    dp = opendp()
    return dp.m.make_user_measurement(
        input_domain=options.get("domain", lambda dp: dp.vector_domain(element(dp)))(dp),
        input_metric=options.get("metric", lambda dp: dp.symmetric_distance())(dp),
        output_measure=options.get("measure", lambda dp: dp.max_divergence())(dp),
        function=function,
        privacy_map=options.get("map", lambda d_in: 0.5 * d_in),
        TO="ExtrinsicObject",
    )


@pytest.mark.parametrize(
    ("column", "domain", "values"),
    [
        ("age", lambda dp: dp.atom_domain(T=int), {3, 40, 89, 90}),
        ("age", lambda dp: dp.atom_domain(bounds=(0.0, 90.0)), {3.0, 40.0, 89.0, 90.0}),
        ("age", lambda dp: dp.atom_domain(bounds=(-5, 100), T="i64"), {3, 40, 89, 90}),
        ("height", lambda dp: dp.atom_domain(T=float, nan=False), {120.5, 199.0, 200.0, 150.0}),
        ("smokes", lambda dp: dp.atom_domain(T=bool), {False, True}),
        ("income", lambda dp: dp.atom_domain(T=float), {1.0, 7.0, "a gap"}),
        ("ward", lambda dp: dp.atom_domain(T=str), {"a", "b", "not counted"}),
    ],
)
def test_values_go_in_as_they_count(column: str, domain: Callable[[Any], Any], values: set[object]) -> None:
    seen = list[Any]()
    kept = hidden()
    answer = kept.ask(returned(domain, lambda given: seen.extend(given)), columns=column)
    assert answer.epsilon_records == 1.0  # a record that is replaced is one less and one more
    assert {"a gap" if value != value else round(value, 3) if column == "height" else value for value in seen} == values
    assert {type(value) for value in seen} == {type(value) for value in values - {"a gap"}}
    assert len(seen) == sum(kept._kept.made.sizes)  # pyright: ignore[reportPrivateUsage]


def test_metrics_count_a_replaced_record_as_what_it_is() -> None:
    for metric, moved in [
        ("symmetric_distance", 2),
        ("insert_delete_distance", 2),
        ("change_one_distance", 1),
        ("hamming_distance", 1),
    ]:
        measurement = returned(
            lambda dp: dp.atom_domain(T=int), len, metric=lambda dp, metric=metric: getattr(dp, metric)()
        )
        answer = hidden().ask(measurement, 1.0, columns=["age"])
        assert answer.epsilon_records == 0.5 * moved


def test_the_answer_to_a_query_goes_in() -> None:
    dp = opendp()
    kept = hidden()
    many = dp.vector_domain(dp.atom_domain(T=float, nan=False), size=2)
    noise = dp.m.make_laplace(many, dp.l1_distance(T=float), 4.0)
    answer = kept.ask(noise, query="histogram(ill)")
    assert answer.epsilon_records == pytest.approx(estimate(kept, as_query("histogram(ill)")).reach / 4)
    assert len(answer.value) == 2
    one = dp.m.make_laplace(dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float), 4.0)
    assert isinstance(kept.ask(one, query="mean(age)").value, float)
    for measurement, query in [(one, "histogram(ill)"), (noise, "mean(age)"), (one, None)]:
        with pytest.raises(RefusedError):
            kept.ask(measurement, query=query)
    assert kept.spent_records.answers == 2


@pytest.mark.parametrize(
    ("measurement", "options", "found"),
    [
        (lambda: counting(lambda dp: dp.atom_domain(bounds=(0, 89))), {"columns": "age"}, "bounds"),
        (lambda: counting(lambda dp: dp.atom_domain(bounds=(1, 90))), {"columns": "age"}, "bounds"),
        (lambda: counting(lambda dp: dp.atom_domain(T=int)), {"columns": "height"}, "i32"),
        (lambda: counting(lambda dp: dp.atom_domain(T="u32")), {"columns": "age"}, "u32"),
        (lambda: counting(lambda dp: dp.atom_domain(T=int)), {"columns": "income"}, "i32"),
        (lambda: counting(lambda dp: dp.atom_domain(T=float, nan=False)), {"columns": "income"}, "f64"),
        (lambda: counting(lambda dp: dp.atom_domain(T=bool)), {"columns": "ward"}, "bool"),
        (lambda: counting(lambda dp: dp.atom_domain(T=int)), {"columns": ["age", "income"]}, "all that one column"),
        (lambda: counting(lambda dp: dp.atom_domain(T=int)), {}, "all that one column"),
        (lambda: counting(lambda dp: dp.atom_domain(T=int)), {"columns": "age", "epsilon_records": 1.5}, "found 2"),
        (lambda: counting(lambda dp: dp.atom_domain(T=int), scale=0.0), {"columns": "age"}, "finite epsilon"),
        (lambda: counting(lambda dp: dp.atom_domain(T=int)), {"query": "mean(age)"}, "SymmetricDistance"),
        (lambda: returned(_ints, len, map=lambda d: math.nan), {"columns": "age"}, "finite epsilon"),
        (lambda: returned(_ints, len, map=lambda d: -1.0), {"columns": "age"}, "finite epsilon"),
        (lambda: returned(_ints, len, map=lambda d: [].pop()), {"columns": "age"}, "finite epsilon"),
        (
            lambda: returned(_ints, len, measure=lambda dp: dp.zero_concentrated_divergence()),
            {"columns": "age"},
            "ZeroConcentratedDivergence",
        ),
        (
            lambda: returned(_ints, len, metric=lambda dp: dp.discrete_distance()),
            {"columns": "age"},
            "DiscreteDistance",
        ),
        (
            lambda: returned(_ints, len, domain=lambda dp: dp.user_domain("mine", lambda _: True)),
            {"columns": "age"},
            "DiscreteDistance|all that one column",
        ),
        (
            lambda: returned(_ints, len, domain=lambda dp: dp.vector_domain(dp.atom_domain(T=int), size=PEOPLE)),
            {"columns": "age"},
            "size",
        ),
    ],
)
def test_a_measurement_of_something_else_is_refused_and_not_charged(
    measurement: Callable[[], Any], options: dict[str, Any], found: str
) -> None:
    kept = hidden()
    with pytest.raises(RefusedError, match=found):
        kept.ask(measurement(), **options)
    assert kept.spent_records.answers == 0


def _ints(dp: Any) -> Any:
    return dp.atom_domain(T=int)


def test_unknown_columns_are_named() -> None:
    with pytest.raises(ParameterError, match="nobody"):
        hidden().ask(counting(_ints), columns="nobody")
    for columns in (3, {"age"}, [], ["age", "age"]):
        with pytest.raises(RefusedError, match="pass columns="):
            hidden().ask(counting(_ints), columns=cast(Any, columns))


def test_a_domain_of_as_many_records_as_there_are_is_right() -> None:
    kept = hidden()
    sizes = kept._kept.made.sizes  # pyright: ignore[reportPrivateUsage]
    measurement = returned(_ints, len, domain=lambda dp: dp.vector_domain(dp.atom_domain(T=int), size=sum(sizes)))
    assert kept.ask(measurement, columns="age").value == sum(sizes)


def test_an_error_of_a_measurement_is_withheld_and_charged() -> None:
    kept = hidden()

    def fails(values: list[int]) -> object:
        raise ValueError(values)

    with pytest.raises(DataError) as caught:
        kept.ask(returned(_ints, fails), columns="age")
    assert "withheld" in str(caught.value)
    assert not any(str(age) in str(caught.value) for age in (3, 40, 89, 90))
    assert caught.value.__context__ is None
    assert caught.value.__cause__ is None
    assert kept.spent_records.answers == 1


@pytest.mark.parametrize("several", [False, True])
def test_a_queryable_is_not_handed_out(several: bool) -> None:
    dp, kept = opendp(), hidden()
    space = dp.vector_domain(_ints(dp)), dp.symmetric_distance()
    measurement = dp.c.make_adaptive_composition(*space, dp.max_divergence(), d_in=2, d_mids=[1.0])
    if several:
        measurement = dp.c.make_composition([measurement, counting(_ints)])
    with pytest.raises(RefusedError, match="answer at once"):
        kept.ask(measurement, columns="age")
    assert kept.spent_records.answers == 1


def test_a_sampler_that_fails_is_withheld() -> None:
    kept = hidden(sampler=Failing())
    with pytest.raises(DataError, match="withheld"):
        kept.ask("mean(age)", 1.0)


# --------------------------------------------------------------------------------------------------
# What never comes out.
# --------------------------------------------------------------------------------------------------


def test_nothing_shows_copies_or_stores_the_table() -> None:
    kept = hidden()
    for attempt in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(RefusedError, match="stays inside"):
            attempt(kept)
        with pytest.raises(RefusedError, match="stays inside"):
            attempt(kept._kept)  # pyright: ignore[reportPrivateUsage]
    told = (repr(kept), str(kept), repr(vars(kept)), kept.to_json(), kept.to_html(), kept.to_markdown())
    assert not any("4711" in text or "120.5" in text for text in told)
    assert not any(value is kept._kept.made for value in vars(kept).values())  # pyright: ignore[reportPrivateUsage]
    assert [name for name in vars(kept) if not name.startswith("_")] == ["rule"]


def test_the_first_line_says_whether_single_persons_are_protected() -> None:
    kept = hidden()
    answer = kept.ask("mean(age)", 0.25)
    for shown in (kept, answer):
        first = "Single persons are protected, epsilon 1, delta"
        assert shown.text.startswith(first)
        assert shown.to_markdown().lstrip("# ").startswith(first)
        assert "single persons protected: epsilon 1, delta" in repr(shown)
        assert shown.document.headline in str(shown.to_dict()["headline"])
        assert kept.guarantee.sentence in shown.text
        assert answer.records.sentence in shown.text
    made = private_table(SECRET, people(), 1.0, 1e-4, "trim", schema=SCHEMA, records_may_be_seen=True)
    plan = plan_table(SECRET, 1.0, 1e-4, schema=SCHEMA)
    for shown in (made, plan):
        assert shown.text.startswith("Single persons are not protected")
    assert "not protected" in repr(made)


@pytest.mark.parametrize("kind", ["pandas", "polars", "lazy", "duckdb", "parquet"])
def test_data_of_any_engine_leave_nothing_outside(kind: str, tmp_path: Path) -> None:
    import duckdb
    import polars as pl
    import pyarrow.parquet as pq

    path = tmp_path / "people.parquet"
    cast(Any, pq).write_table(people(), path)
    frame = cast(Any, pl).from_arrow(people())
    data = {
        "pandas": people().to_pandas,
        "polars": lambda: frame,
        "lazy": frame.lazy,
        "duckdb": lambda: duckdb.from_arrow(people()),
        "parquet": lambda: path,
    }[kind]()
    kept = hidden(data, sampler=Silent())
    assert type(kept._kept.made.table).__module__.startswith("pyarrow")  # pyright: ignore[reportPrivateUsage]
    assert 0 < kept.ask("mean(age)", 1.0).value < 90
    assert duckdb.sql("SELECT * FROM duckdb_views() WHERE NOT internal").fetchall() == []
    assert [*tmp_path.iterdir()] == [path]


def test_a_hidden_table_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="stays inside; found an output"):
        hidden(output=tmp_path / "out.parquet")
    assert [*tmp_path.iterdir()] == []


def test_what_two_changes_cost_is_rounded_up() -> None:
    """(1 + exp(epsilon)) delta in 60 digits is never above what is told."""
    rng = random.Random(7)
    with localcontext() as places:
        places.prec = 60
        for _ in range(2000):
            epsilon, delta = Fraction(rng.randrange(1, 10**9), 10**8), Fraction(rng.randrange(1, 10**9), 10**15)
            one, many = (Decimal(each.numerator) / each.denominator for each in (delta, epsilon))
            told = twice(epsilon, delta)[1]
            assert Decimal(told.numerator) / told.denominator >= min((1 + many.exp()) * one, Decimal(1))
