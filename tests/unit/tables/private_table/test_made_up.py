"""Made-up records against the joint law by brute force, in fractions where there are any."""

from __future__ import annotations

import itertools
import math
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.core.column_laws import laws_inside
from bnpriv.core.evidence.records import _least_double
from bnpriv.core.noise import SecureSampler
from bnpriv.core.queries.predicates import Predicate
from bnpriv.errors import Refusal
from bnpriv.kinds.public_records import PublicRecords
from bnpriv.networks import DiscreteNetwork, IntervalNetwork
from bnpriv.tables.evaluate import canonical_table
from bnpriv.tables.private_table import made_up
from bnpriv.tables.private_table.made_up import RecordLaw, moments, on_grid, record_law
from tests.later import Later

pd = Later("pandas")
stats = Later("scipy.stats")

LEAST_CHANCE = 1e-7
"""Of a table that looks so unlike its law, where hundreds are looked at."""


class Seeded:
    """A sampler whose whole numbers are drawn from a seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def below(self, limit: int) -> int:
        return self.random.randrange(limit)

    laplace = gaussian = discrete_laplace = SecureSampler.laplace


class TooLongError(Exception):
    """More whole numbers were asked for than are enumerated."""


class Listed:
    """A sampler that gives listed whole numbers, then 0, and remembers below which limits."""

    def __init__(self, given: Sequence[int], most: int) -> None:
        self.given, self.most, self.limits = list(given), most, list[int]()

    def below(self, limit: int) -> int:
        if len(self.limits) == self.most:
            raise TooLongError
        self.limits.append(limit)
        return self.given[len(self.limits) - 1] if len(self.limits) <= len(self.given) else 0

    laplace = gaussian = discrete_laplace = SecureSampler.laplace


def every_outcome(draw: Callable[[Any], Any], most: int) -> Iterator[tuple[Any, Fraction]]:
    """Yield what is drawn for all numbers that a sampler may give, with the probability; TooLongError where cut."""
    given: list[int] | None = []
    while given is not None:
        sampler = Listed(given, most)
        try:
            found = draw(sampler)
        except TooLongError:
            found = TooLongError
        yield found, Fraction(1, math.prod(sampler.limits))
        given = [*given, *(0 for _ in sampler.limits[len(given) :])]
        while given and given[-1] + 1 == sampler.limits[len(given) - 1]:
            given.pop()
        given = [*given[:-1], given[-1] + 1] if given else None


def law_of(made: RecordLaw | Refusal) -> RecordLaw:
    assert isinstance(made, RecordLaw), str(made)
    return made


def rows(drawn: dict[str, list[Any]]) -> list[tuple[Any, ...]]:
    return list(zip(*drawn.values(), strict=True))


def looks_like(drawn: Sequence[Any], law: dict[Any, float]) -> None:
    """Assert by a chi-square test that draws are of a law; values expected less than five times are counted as one."""
    counted = Counter(drawn)
    assert set(counted) <= {value for value, mass in law.items() if mass > 0}
    often = [value for value, mass in law.items() if mass * len(drawn) >= 5]
    seen = np.array([*(counted[value] for value in often), len(drawn) - sum(counted[value] for value in often)])
    expected = np.array([*(law[value] for value in often), max(0.0, 1 - sum(law[value] for value in often))])
    kept = expected * len(drawn) > 1e-6
    assert seen[~kept].sum() == 0
    if kept.sum() > 1:
        assert stats.chisquare(seen[kept], expected[kept] / expected[kept].sum() * len(drawn)).pvalue > LEAST_CHANCE


def random_network(rng: np.random.Generator, models: int = 1, nodes: int = 4) -> DiscreteNetwork:
    """Return a network of records, states "0", "1", ..., some probabilities of which are 0."""
    names = [f"c{k}" for k in range(nodes)]
    parents = {name: [each for each in names[:k] if rng.random() < 0.6] for k, name in enumerate(names)}
    sizes = {name: int(rng.integers(2, 4)) for name in names}
    tables: dict[str, Any] = {}
    for name in names:
        weights = rng.gamma(0.7, size=(models, sizes[name], *(sizes[each] for each in parents[name])))
        weights *= (rng.random(weights.shape[1:]) < 0.85) | (
            np.arange(sizes[name]).reshape(-1, *[1] * len(parents[name])) == 0
        )
        tables[name] = (weights + 1e-300) / (weights + 1e-300).sum(axis=1, keepdims=True)
        tables[name] = np.where(tables[name] < 1e-200, 0.0, tables[name])
    states = {name: [str(k) for k in range(size)] for name, size in sizes.items()}
    return DiscreteNetwork.from_tables(tables, states=states, parents=parents, level="records")  # type: ignore[arg-type]


def joint(network: DiscreteNetwork, model: int = 0) -> dict[tuple[int, ...], Fraction]:
    """The law of the states of all nodes, in fractions of the declared doubles."""
    found: dict[tuple[int, ...], Fraction] = {}
    names = network.graph.nodes
    for states in itertools.product(*(range(len(network.states[name])) for name in names)):
        at, mass = dict(zip(names, states, strict=True)), Fraction(1)
        for name in names:
            weights = network.tables[name].weights
            assert weights is not None
            column = weights[
                (min(model, len(weights) - 1), slice(None), *(at[each] for each in network.graph.parents[name]))
            ]
            mass *= Fraction(float(column[at[name]])) / sum(map(Fraction, column.tolist()))
        if mass:
            found[states] = mass
    return found


def given(law: dict[Any, Any], holds: Callable[[Any], bool]) -> dict[Any, Any]:
    inside = {value: mass for value, mass in law.items() if holds(value)}
    total = sum(inside.values())
    return {value: mass / total for value, mass in inside.items()}


def floats(law: dict[Any, Any]) -> dict[Any, float]:
    return {value: float(mass) for value, mass in law.items()}


def categorical(network: DiscreteNetwork, records: int = 100) -> bp.Schema:
    return bp.Schema(records, {name: bp.Categorical(states) for name, states in network.states.items()})


def on_states(name: str, network: DiscreteNetwork) -> list[Predicate]:
    first = bp.col(name) == network.states[name][0]
    return [first, ~first]


# --- records of a network ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(12))
def test_records_of_random_networks_have_the_joint_law_given_the_class(seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = random_network(rng)
    name = str(rng.choice(network.graph.nodes))
    schema, predicates, law = categorical(network), on_states(name, network), joint(network)
    place = network.graph.nodes.index(name)
    sides = [lambda states: states[place] == 0, lambda states: states[place] != 0]
    found = record_law(network, schema, predicates, network.graph.nodes)
    if not all(any(side(states) for states in law) for side in sides):
        assert found is made_up.IMPOSSIBLE
        return
    made = law_of(found)
    assert (made.gap, made.excess, made.shortfall, made.rounded) == (0.0, 0.0, 0.0, frozenset())
    drawn = rows(made.draw([1500, 500], Seeded(seed)))
    for side, part in zip(sides, (drawn[:1500], drawn[1500:]), strict=True):
        looks_like([tuple(map(int, record)) for record in part], floats(given(law, side)))


@pytest.mark.parametrize("seed", range(4))
def test_columns_that_are_not_handed_on_count_all_the_same(seed: int) -> None:
    rng = np.random.default_rng(seed + 100)
    network = random_network(rng)
    deciding = network.graph.nodes[1]
    law = joint(network)
    made = law_of(record_law(network, categorical(network), on_states(deciding, network), [network.graph.nodes[-1]]))
    drawn = made.draw([0, 1000], Seeded(seed))
    assert list(drawn) == [network.graph.nodes[-1]]
    last = Counter[int]()
    for states, mass in given(law, lambda states: states[1] != 0).items():
        last[states[-1]] += mass
    looks_like(list(map(int, drawn[network.graph.nodes[-1]])), floats(dict(last)))


def tiny(**tables: Any) -> DiscreteNetwork:
    return DiscreteNetwork.from_tables(
        tables, states={"a": ["no", "yes"], "b": ["u", "v", "w"]}, parents={"b": ["a"]}, level="records", normalize=True
    )


B = [[0.25, 0.5], [0.5, 0.0], [0.25, 0.5]]


@pytest.mark.parametrize(
    ("network", "class_of", "at_once"),
    [
        (tiny(a=[0.5, 0.5], b=B), "a", 2),
        (tiny(a=[0.75, 0.25], b=B), "b", 2),
        (tiny(a=[0.5, 0.5078125], b=B), "a", 1),
        (tiny(a=[0.5, 0.5078125], b=B), "b", 1),
        (tiny(a=[0.5, 0.5], b=[[0.25, 0.5], [0.5, 0.25], [0.2578125, 0.25]]), "b", 1),
    ],
)
def test_every_outcome_of_the_sampler_makes_the_exact_law(
    network: DiscreteNetwork, class_of: str, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first record of the class among those drawn at once has the law given the class to the last digit."""
    monkeypatch.setattr(made_up, "MADE_AT_ONCE", at_once)
    made = law_of(record_law(network, categorical(network), on_states(class_of, network), ["a", "b"]))
    found: dict[tuple[str, str], Fraction] = {}
    for drawn, chance in every_outcome(lambda sampler: made.draw([0, 1], sampler), 2 * at_once):
        if drawn is not TooLongError:
            (record,) = rows(drawn)
            found[record] = found.get(record, Fraction(0)) + chance
    place, states = ["a", "b"].index(class_of), network.states
    law = given(joint(network), lambda at: at[place] != 0)
    named = {(str(states["a"][a]), str(states["b"][b])): mass for (a, b), mass in law.items()}
    total = sum(found.values())
    assert {value: mass / total for value, mass in found.items()} == named


def test_rows_that_do_not_sum_to_one_are_divided_exactly() -> None:
    choice = made_up._choice([Fraction(0.1), Fraction(0.0), Fraction(0.9)])
    sampler = Listed([], 1)
    choice(sampler)  # type: ignore[arg-type]
    whole = [mass * 2**55 for mass in (Fraction(0.1), Fraction(0.9))]
    (limit,) = sampler.limits
    assert Fraction(limit) == sum(whole)
    assert [choice(Listed([k], 1)) for k in (0, int(whole[0]) - 1, int(whole[0]), limit - 1)] == [0, 0, 2, 2]  # type: ignore[arg-type]


def test_numbers_of_each_class_come_one_after_the_other() -> None:
    hospital = bp.example("hospital")
    wards = [bp.col("ward") == ward for ward in hospital.schema["ward"].categories]  # type: ignore[union-attr]
    made = law_of(record_law(hospital, hospital.schema, wards, ["ward", "days"]))
    drawn = made.draw([2, 0, 3, 1, 4], Seeded(1))
    assert drawn["ward"] == ["surgery"] * 2 + ["lungs"] * 3 + ["children"] + ["other"] * 4
    assert all(type(days) is int for days in drawn["days"])
    assert made.draw([0] * 5, Seeded(1)) == {"ward": [], "days": []}
    assert made.text == "the declared network"


def test_a_rare_class_is_found() -> None:
    network = DiscreteNetwork.from_tables(
        {"ill": [0.9999, 0.0001], "smokes": [[0.8, 0.4], [0.2, 0.6]]},
        states={"ill": ["no", "yes"], "smokes": ["no", "yes"]},
        parents={"smokes": ["ill"]},
        level="records",
    )
    ill = bp.col("ill") == "yes"
    made = law_of(record_law(network, categorical(network), [~ill, ill], ["ill", "smokes"]))
    drawn = made.draw([3, 40], Seeded(5))
    assert drawn["ill"] == ["no"] * 3 + ["yes"] * 40
    looks_like(drawn["smokes"][3:], {"no": 0.4, "yes": 0.6})


def test_a_posterior_is_drawn_from_its_logs_with_a_known_error() -> None:
    rng = np.random.default_rng(3)
    table = pd.DataFrame({"ill": rng.choice(["no", "yes"], 60), "smokes": rng.choice(["no", "yes"], 60)})
    network = DiscreteNetwork.posterior({"smokes": ["ill"]}, table, public="made up", draws=1, seed=1)
    ill = bp.col("ill") == "yes"
    made = law_of(record_law(network, categorical(network), [ill, ~ill], ["smokes"]))
    assert 0 < made.excess == made.shortfall < 1e-12
    # a mass and the sum of its row, and the law and the probability of the class
    assert made.excess > 4 * sum(each.error for each in network.tables.values())
    looks_like(
        made.draw([2000, 0], Seeded(2))["smokes"],
        dict(zip(["no", "yes"], network.probabilities("smokes")[0, :, 1], strict=True)),
    )


# --- columns with laws ------------------------------------------------------------------------------------------------

BINNED = {
    "dose": bp.Binned(
        [0, 1, 4], labels=["low", "high"], within={"low": "uniform", "high": {2: 0.25, "uniform": 0.75}}, steps=8
    ),
    "age": bp.Binned(
        [0, 4, 9],
        labels=["young", "old"],
        within={"young": {0: 0.5, 3: 0.5}, "old": "whole numbers"},
        missing="not counted",
    ),
    "wide": bp.Binned([0, 10_000, 20_000], labels=["a", "b"], within="whole numbers"),
}
STATES = {"dose": ["low", "high"], "age": ["old", "not counted", "young"], "wide": ["a", "b"]}


def binned() -> DiscreteNetwork:
    return DiscreteNetwork.from_tables(
        {"dose": [0.25, 0.75], "age": [[0.5, 0.25], [0.25, 0.25], [0.25, 0.5]], "wide": [0.5, 0.5]},
        states=STATES,
        parents={"age": ["dose"]},
        level="records",
    )


def step_masses(low: float, high: float, column: bp.Binned) -> dict[float, float]:
    """The law of the step of a uniform number."""
    grid = float(column.grid)
    edges = [
        max(low, min(high, column.lower + (k + side) * grid)) for k in range(column.steps + 1) for side in (-0.5, 0.5)
    ]
    masses = {on_grid(column, k): (edges[2 * k + 1] - edges[2 * k]) / (high - low) for k in range(column.steps + 1)}
    return {step: mass for step, mass in masses.items() if mass > 0}


def mixed(*parts: tuple[float, dict[Any, float]]) -> dict[Any, float]:
    total = Counter[Any]()
    for weight, law in parts:
        for value, mass in law.items():
            total[value] += weight * mass  # type: ignore[assignment]
    return dict(total)


def test_numbers_in_bins_are_steps_of_the_grid_given_a_class_that_cuts_a_bin() -> None:
    schema, above = bp.Schema(100, BINNED), bp.col("dose") >= 2.3
    column = BINNED["dose"]
    made = law_of(record_law(binned(), schema, [above, ~above], ["age", "dose"]))
    assert (made.gap, made.excess, made.shortfall, made.rounded) == (0.0, 0.0, 0.0, frozenset({"dose"}))
    drawn = made.draw([4000, 4000], Seeded(11))
    looks_like(drawn["dose"][:4000], step_masses(2.3, 4, column))
    # the number 2 lies on the grid; below 2.3 there is it, the first bin, and a part of the second one
    atom, rest = 0.75 * 0.25, 0.75 * 0.75 * 1.3 / 3
    masses = [(0.25, step_masses(0, 1, column)), (atom, {2.0: 1.0}), (rest, step_masses(1, 2.3, column))]
    total = 0.25 + atom + rest
    looks_like(drawn["dose"][4000:], mixed(*((weight / total, law) for weight, law in masses)))
    old, young = dict.fromkeys(range(4, 10), 1 / 6), {0: 0.5, 3: 0.5}
    looks_like(drawn["age"][:4000], mixed((0.25, old), (0.25, {None: 1.0}), (0.5, young)))
    assert {type(age) for age in drawn["age"]} == {int, type(None)}


def test_a_class_beside_a_gap_and_whole_numbers_in_wide_bins() -> None:
    schema = bp.Schema(100, BINNED)
    young, wide = bp.col("age") < 4, bp.col("wide") < 10_500
    known = bp.col("age") >= 0
    made = law_of(record_law(binned(), schema, [young & known & wide, ~(young & known & wide)], ["age", "wide"]))
    drawn = rows(made.draw([500, 500], Seeded(12)))
    assert all(age in (0, 3) and 0 <= number < 10_500 and type(number) is int for age, number in drawn[:500])
    assert all(not (age in (0, 3) and number < 10_500) for age, number in drawn[500:])
    assert {age for age, _ in drawn[500:]} == {None, 0, 3, *range(4, 10)}
    tenths = Counter(number // 1050 for _, number in drawn[:500])
    # half of the first 10,000 numbers and 501 of the next 10,001
    first, second = 0.5, 0.5 * 500 / 10_001
    law = [(1050 * first / 10_000) for _ in range(9)] + [550 * first / 10_000 + second]
    looks_like(list(tenths.elements()), dict(enumerate(np.array(law) / sum(law))))


def test_made_up_numbers_are_what_tables_in_memory_hold_on_the_grid() -> None:
    rng = np.random.default_rng(4)
    for column in (bp.Real(0.1, 0.7, steps=1000), bp.Real(-3, 1e9), BINNED["dose"], bp.Integer(3, 90)):
        values = rng.uniform(column.lower, column.upper, 200)
        table = canonical_table({"x": column}, pd.DataFrame({"x": values}))
        assert table["x"].tolist() == [on_grid(column, column.step(value)) for value in values.tolist()]


@pytest.mark.parametrize("low", [0.0, 0.1, -7.0])
def test_a_uniform_number_lies_in_the_step_of_the_double_below_it(low: float) -> None:
    column = bp.Binned([low, low + 3], labels=["all"], steps=3)
    draw = made_up._uniform(column, laws_inside(column)[0])  # type: ignore[arg-type]
    first = int(Fraction(column.lower) * made_up.UNIT)
    size = int(Fraction(column.upper) * made_up.UNIT) - first
    for step in (1, 2, 3):
        edge = _least_double(column, step)
        place = int(Fraction(edge) * made_up.UNIT) - first
        assert 0 < place < size
        below, above = draw(Listed([place - 1], 1)), draw(Listed([place], 1))  # type: ignore[arg-type]
        assert (below.handed, above.handed) == (on_grid(column, step - 1), on_grid(column, step))
        assert below.seen < edge < above.seen


def normal(steps: int = 20) -> tuple[bp.Schema, bp.DatasetAttributePrivacy]:
    network = DiscreteNetwork.from_tables(
        {"ill": [0.5, 0.5], "height": [[0.25, 0.5], [0.75, 0.5]]},
        states={"ill": ["no", "yes"], "height": ["short", "tall"]},
        parents={"height": ["ill"]},
        level="records",
    )
    schema = bp.Schema(100, {"ill": bp.Categorical(["no", "yes"]), "height": bp.Real(150, 190, steps=steps)})
    laws = {"height": {"short": stats.norm(165, 8), "tall": stats.norm(175, 8)}}
    hidden = bp.Secret(bp.count(bp.col("ill") == "yes"), pairs=bp.apart(at_most=5))
    return schema, bp.DatasetAttributePrivacy(network, schema, {"ill": hidden}, source="made up", laws=laws)


def test_a_law_of_scipy_is_drawn_on_the_steps_of_the_grid() -> None:
    schema, framework = normal()
    tall = bp.col("height") > 171.3
    made = law_of(record_law(framework, schema, [tall, ~tall], ["height", "ill"]))
    assert made.rounded == frozenset({"height"})
    assert 0 < made.excess == made.shortfall < 1e-10
    drawn = made.draw([3000, 0], Seeded(21))["height"]
    law: dict[float, float] = {}
    for step in range(21):
        low, high = max(171.3, 150 + 2 * step - 1), 150 + 2 * step + 1 if step < 20 else math.inf
        if low < high:
            law[150.0 + 2 * step] = sum(
                weight * (stats.norm(mean, 8).cdf(high) - stats.norm(mean, 8).cdf(low))
                for weight, mean in ((0.375, 165), (0.625, 175))
            )
    looks_like(drawn, {step: mass / sum(law.values()) for step, mass in law.items()})


# --- several models ---------------------------------------------------------------------------------------------------


def variation(one: dict[Any, Any], other: dict[Any, Any]) -> float:
    return float(sum(abs(one.get(x, 0) - other.get(x, 0)) for x in {*one, *other})) / 2


def log_ratio(one: dict[Any, Any], other: dict[Any, Any]) -> float:
    return max(math.log(mass / other[x]) if x in other else math.inf for x, mass in one.items())


@pytest.mark.parametrize("seed", range(8))
def test_distances_are_those_of_the_models_given_a_class(seed: int) -> None:
    rng = np.random.default_rng(seed + 40)
    network = random_network(rng, models=3, nodes=3)
    name = network.graph.nodes[seed % 3]
    place = network.graph.nodes.index(name)
    laws = [joint(network, model) for model in range(3)]
    sides = [lambda states: states[place] == 0, lambda states: states[place] != 0]
    found = record_law(network, categorical(network), on_states(name, network), network.graph.nodes)
    if not all(any(side(states) for states in laws[0]) for side in sides):
        assert found is made_up.IMPOSSIBLE
        return
    made = law_of(found)
    pairs = [(given(laws[0], side), given(law, side)) for side in sides for law in laws[1:] if given(law, side)]
    assert 0 <= made.gap - max(variation(*pair) for pair in pairs) <= 1e-12
    excess, shortfall = max(log_ratio(law, own) for own, law in pairs), max(log_ratio(*pair) for pair in pairs)
    assert excess <= made.excess <= excess + 1e-10
    assert shortfall <= made.shortfall <= shortfall + 1e-10
    assert made.shares == pytest.approx([sum(m for at, m in laws[0].items() if side(at)) for side in sides], abs=1e-12)
    assert "the first of its 3 models" in made.text


def several(ill: Any, smokes: Any) -> DiscreteNetwork:
    return DiscreteNetwork.from_tables(
        {"ill": ill, "smokes": smokes},
        states={"ill": ["no", "yes", "dead"], "smokes": ["no", "yes"]},
        parents={"smokes": ["ill"]},
        level="records",
    )


def test_models_that_differ_in_the_shares_of_classes_alone_have_no_gap() -> None:
    smokes = [[0.7, 0.2, 0.4], [0.3, 0.8, 0.6]]
    classes = [bp.col("ill") == state for state in ("no", "yes", "dead")]
    network = several([[0.5, 0.3, 0.2], [0.1, 0.2, 0.7]], smokes)
    made = law_of(record_law(network, categorical(network), classes, ["ill", "smokes"]))
    assert made.gap == 0.0
    assert 0 < made.excess == made.shortfall < 1e-12
    joined = [bp.col("ill") == "no", bp.col("ill") != "no"]
    wider = law_of(record_law(network, categorical(network), joined, ["ill", "smokes"]))
    assert wider.gap == pytest.approx(abs(0.3 / 0.5 - 0.2 / 0.9), abs=1e-12)
    # what is not handed on still decides: the gap is that of all that was drawn
    same = several([0.5, 0.3, 0.2], [smokes, smokes])
    assert law_of(record_law(same, categorical(same), joined, ["smokes"])).excess == 0.0


def test_the_gap_where_a_class_cuts_a_bin() -> None:
    network = DiscreteNetwork.from_tables(
        {"dose": [[0.25, 0.75], [0.5, 0.5]]}, states={"dose": ["low", "high"]}, level="records"
    )
    schema, above = bp.Schema(100, {"dose": bp.Binned([0, 2, 4], labels=["low", "high"])}), bp.col("dose") >= 1
    made = law_of(record_law(network, schema, [above, ~above], ["dose"]))
    # P(high | at least 1) is 6/7 in one model and 2/3 in the other
    assert made.gap == pytest.approx(6 / 7 - 2 / 3, abs=1e-12)


def test_a_joint_law_that_is_too_large_is_not_worked_out() -> None:
    names = [f"c{k:02d}" for k in range(26)]
    tables = {name: [[0.5, 0.5], [0.25, 0.75]] for name in names}
    network = DiscreteNetwork.from_tables(tables, states={name: ["0", "1"] for name in names}, level="records")
    made = law_of(record_law(network, categorical(network), on_states("c00", network), names))
    assert made.gap == 1.0
    assert len(made.draw([1, 1], Seeded(0))["c25"]) == 2


# --- public records ---------------------------------------------------------------------------------------------------


def test_with_public_records_beside_a_network_the_distance_of_the_models_is_not_worked_out() -> None:
    _, framework = normal()
    records = PublicRecords({"ill": np.array(["no", "yes", "yes"]), "height": np.array([160.0, 170.0, 180.0])}, draws=2)
    beside = bp.DatasetAttributePrivacy(
        framework.network,
        framework.schema,
        framework.protect,
        source="made up",
        laws={"height": {"short": stats.norm(165, 8), "tall": stats.norm(175, 8)}},
        public_records=records,
    )
    ill = bp.col("ill") == "yes"
    made = law_of(record_law(beside, beside.schema, [ill, ~ill], ["height"]))
    assert (made.gap, made.excess, made.shortfall) == (1.0, math.inf, math.inf)
    found = moments(beside, bp.count(bp.col("height") > 165), [ill, ~ill])
    assert found.shares.shape == (1, 2)
    assert "another model" in refusal(records, beside.schema, [ill, ~ill], ["height"])


# --- refusals ---------------------------------------------------------------------------------------------------------


def refusal(*args: Any) -> str:
    found = record_law(*args)
    assert isinstance(found, Refusal)
    return str(found)


def test_what_has_no_law_is_refused_with_what_to_do() -> None:
    hospital = bp.example("hospital")
    ill = bp.col("disease") == "yes"
    classes = [ill, ~ill]
    more = bp.Schema(100, {**hospital.schema.columns, "name": bp.Categorical(["x"])})
    assert "'name'" in refusal(hospital, more, classes, ["name", "ward"])
    assert "form='trim'" in refusal(hospital, more, classes, ["name", "ward"])
    network = hospital.network
    assert "level 'records'" in refusal(network.of_level("parameters"), hospital.schema, classes, ["ward"])
    around = IntervalNetwork.around(network, 0.01)
    assert "exact tables" in refusal(around, hospital.schema, classes, ["ward"])
    student = bp.example("student")
    rich = bp.col("height") > 180
    assert "exact tables" in refusal(student, student.schema, [rich, ~rich], ["height"])
    assert "exact tables" in refusal(object(), hospital.schema, classes, ["ward"])
    value = bp.ValuePrivacy(network, hospital.schema, ["disease"], source="made up")
    assert "secrets of another notion" in refusal(value, hospital.schema, classes, ["ward"])


def test_impossible_and_very_rare_classes_are_refused() -> None:
    hospital = bp.example("hospital")
    both = (bp.col("age_group") == "child") & (bp.col("smoker") == "yes")
    assert refusal(hospital, hospital.schema, [both, ~both], ["ward"]) == str(made_up.IMPOSSIBLE)
    network = DiscreteNetwork.from_tables({"a": [1 - 1e-9, 1e-9]}, states={"a": ["no", "yes"]}, level="records")
    assert refusal(network, categorical(network), on_states("a", network), ["a"]) == str(made_up.IMPOSSIBLE)


def test_laws_on_too_fine_a_grid_or_far_from_the_bounds_are_refused() -> None:
    ill = bp.col("ill") == "yes"
    schema, framework = normal(steps=2**20)
    assert "1,048,576 steps" in refusal(framework, schema, [ill, ~ill], ["height"])
    assert isinstance(record_law(framework, schema, [ill, ~ill], ["ill"]), RecordLaw)
    far = bp.Schema(100, {"ill": schema["ill"], "height": bp.Real(0, 1e6, steps=100)})
    hidden = framework.protect
    laws = {"height": {"short": stats.norm(165, 8), "tall": stats.norm(175, 8)}}
    wide = bp.DatasetAttributePrivacy(framework.network, far, hidden, source="made up", laws=laws)
    assert "narrower bounds" in refusal(wide, far, [ill, ~ill], ["height"])


def test_a_single_number_of_a_density_is_no_class() -> None:
    schema, framework = normal()
    single = bp.col("height") == 170
    assert "must not tell a single number apart" in refusal(framework, schema, [single, ~single], ["height"])


def test_a_network_without_gaps_makes_up_no_column_that_has_some() -> None:
    network = DiscreteNetwork.from_tables({"a": [0.5, 0.5]}, states={"a": ["0", "1"]}, level="records")
    schema = bp.Schema(9, {"a": bp.Integer(0, 1, missing="not counted")})
    zero = bp.col("a") == 0
    assert "not counted" in refusal(network, schema, [zero, ~zero], ["a"])


# --- moments ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_moments_are_those_of_the_joint_law(seed: int) -> None:
    rng = np.random.default_rng(seed + 70)
    network = random_network(rng, models=2, nodes=3)
    names = network.graph.nodes
    schema = bp.Schema(50, {name: bp.Integer(0, 2) for name in names})
    first = bp.col(names[0]) == 0
    query = bp.stack(bp.count(bp.col(names[1]) >= 1), bp.total(names[2]), bp.mean(names[1]))
    found = moments(network, query, [first, ~first], schema)
    for model in range(2):
        law = floats(joint(network, model))
        for place, side in enumerate([lambda at: at[0] == 0, lambda at: at[0] != 0]):
            share = sum(mass for at, mass in law.items() if side(at))
            assert found.shares[model, place] == pytest.approx(share, abs=1e-12)
            inside = given(law, side) if share else {}
            added = {at: np.array([at[1] >= 1, at[2], at[1] / 50], dtype=float) for at in inside}
            mean = sum((mass * added[at] for at, mass in inside.items()), np.zeros(3))
            square = sum((mass * added[at] ** 2 for at, mass in inside.items()), np.zeros(3))
            assert np.allclose(found.means[model, place], mean)
            assert np.allclose(found.variances[model, place], square - mean**2)


def test_moments_of_what_has_none() -> None:
    ill = bp.col("ill") == "yes"
    with pytest.raises(bp.errors.RefusedError, match="exact tables"):
        moments(bp.example("student"), bp.count(bp.col("height") > 170), [ill, ~ill])


# --- planted bugs -----------------------------------------------------------------------------------------------------


@pytest.mark.mutants
def test_a_record_of_the_wrong_class_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    right = made_up._classifier

    def turned(names: Sequence[str], predicates: Sequence[Predicate]) -> Callable[[tuple[Any, ...]], int]:
        class_of = right(names, predicates)
        return lambda seen: 1 - class_of(seen)

    monkeypatch.setattr(made_up, "_classifier", turned)
    with pytest.raises(AssertionError):
        test_records_of_random_networks_have_the_joint_law_given_the_class(0)
    with pytest.raises(AssertionError):
        test_numbers_in_bins_are_steps_of_the_grid_given_a_class_that_cuts_a_bin()


@pytest.mark.mutants
def test_rows_that_are_rounded_are_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    right = made_up._choice
    monkeypatch.setattr(made_up, "_choice", lambda masses: right([round(mass, 2) for mass in masses]))
    network = tiny(a=[0.5, 0.5078125], b=B)
    with pytest.raises(AssertionError):
        test_every_outcome_of_the_sampler_makes_the_exact_law(network, "b", 1, monkeypatch)


@pytest.mark.parametrize("kind", ["float32", "sum"])
def test_made_up_numbers_cannot_be_told_from_those_of_a_table_in_another_precision(kind: str) -> None:
    import pandas as pd

    states = {"ill": ["no", "yes"], "dose": [0.1, 0.2, 0.3]}
    tables = {"ill": [0.5, 0.5], "dose": [0.25, 0.25, 0.5]}
    network = bp.DiscreteNetwork.from_tables(tables, states=states, level="records")
    schema = bp.Schema(40, {"ill": bp.Categorical(["no", "yes"]), "dose": bp.Real(0, 1)})
    dose = np.array([0.1, 0.2, 0.3, 0.3] * 10)
    held = dose.astype(np.float32) if kind == "float32" else np.where(dose == 0.3, 0.1 + 0.2, dose)
    data = pd.DataFrame({"ill": ["no", "yes"] * 20, "dose": held})
    secret = bp.Secret('count(ill == "yes")', pairs=bp.apart(at_most=20))
    made = bp.private_table(secret, data, 0.5, schema=schema, law=network, records_may_be_seen=True)
    assert made.table["dose"].nunique() <= 3  # type: ignore[union-attr]
