"""Made-up tables of every kind follow the exact laws that their models declare, and what is assumed of them holds."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.core.networks.base import ImportReport
from bnpriv.kinds.chain.network import MarkovChain
from bnpriv.lab.sampling.answers import draw_chain
from bnpriv.lab.sampling.records import Property, draw_places
from bnpriv.lab.simulate import PROBABILITY
from tests import oracles
from tests.kinds import HEALTH, KINDS, patients
from tests.later import Later
from tests.unit.verify.test_verify_public import framework_of, people

stats = Later("scipy.stats")

ALPHA = 1e-4
"""Seeds are fixed: a test that passes once does so always, and a wrong law fails by far."""


def fits(seen: Mapping[Any, int], law: Mapping[Any, float]) -> bool:
    """Return whether counts fit a law by the chi-square test; what has probability zero must never be seen."""
    possible = {key: p for key, p in law.items() if p > 0}
    if not set(seen) <= set(possible):
        return False
    expected = np.array(list(possible.values()))
    counts = np.array([seen.get(key, 0) for key in possible])
    if len(counts) == 1:
        return True
    return stats.chisquare(counts, expected / expected.sum() * counts.sum()).pvalue > ALPHA


def rows(table: Any) -> Counter[tuple[Any, ...]]:
    return Counter(zip(*(table[name].tolist() for name in table.columns), strict=True))


def joint_of(network: bp.DiscreteNetwork, model: int = 0) -> dict[tuple[Any, ...], float]:
    law = oracles.joint(network, model)
    names = [network.states[name] for name in network.attributes]
    return {tuple(s[k] for s, k in zip(names, at, strict=True)): float(law[at]) for at in np.ndindex(law.shape)}


def test_the_test_of_fit_can_fail() -> None:
    law = joint_of(patients())
    table = bp.simulate(KINDS["networks"]().framework, 20_000, secret={"the distribution": "distribution 2"})
    assert not fits(rows(table), law)


@pytest.mark.parametrize("kind", ["records", "dataset", "networks"])
def test_records_follow_the_network(kind: str) -> None:
    table = bp.simulate(KINDS[kind]().framework, 20_000, seed=3)
    assert list(table.columns) == list(HEALTH.columns)
    assert fits(rows(table), joint_of(patients()))


def test_a_table_comes_from_the_distribution_that_is_assumed() -> None:
    framework = KINDS["networks"]().framework
    table = bp.simulate(framework, 20_000, secret={"the distribution": "distribution 2"})
    assert fits(rows(table), joint_of(patients(0.2, 0.5)))
    with pytest.raises(bp.errors.SecretError, match="distribution 1"):
        bp.simulate(framework, secret={"the distribution": "distribution 3"})


def test_records_of_random_networks_follow_them() -> None:
    random = np.random.default_rng(4)
    for _ in range(6):
        network = oracles.random_network(random, 4)
        places = draw_places(network, 20_000, random)
        law = oracles.joint(network, 0)
        seen = Counter(zip(*(places[name].tolist() for name in network.attributes), strict=True))
        assert fits(seen, {at: float(law[at]) for at in np.ndindex(law.shape)})


def test_of_single_values_the_record_in_the_middle_is_as_assumed() -> None:
    framework = KINDS["records"]().framework
    seen: Counter[Any] = Counter()
    others: Counter[Any] = Counter()
    for seed in range(400):
        table = bp.simulate(framework, 3, secret={"coughs": "yes"}, seed=seed)
        lines = list(zip(*(table[name] for name in table.columns), strict=True))
        seen[lines[1]] += 1
        others.update([lines[0], lines[2]])
    law = joint_of(patients())
    assert fits(seen, {row: p for row, p in law.items() if row[2] == "yes"})
    assert fits(others, law)
    assert table.attrs[PROBABILITY] == pytest.approx(sum(p for row, p in law.items() if row[2] == "yes"))


# --- a property of the table ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [0, 1, 12, 30])
def test_a_table_has_the_property_that_is_assumed(count: int) -> None:
    framework = KINDS["dataset"]().framework
    seen: Counter[Any] = Counter()
    for seed in range(60):
        table = bp.simulate(framework, secret={"ill": count}, seed=seed)
        assert (table["ill"] == "yes").sum() == count
        seen.update(rows(table))
    assert table.attrs[PROBABILITY] == pytest.approx(stats.binom.pmf(count, 30, 0.1))
    share = {"yes": count / 30, "no": 1 - count / 30}
    given = {"yes": 0.1, "no": 0.9}
    assert fits(seen, {row: p / given[row[0]] * share[row[0]] for row, p in joint_of(patients()).items()})


def test_the_places_of_the_records_that_count_are_random() -> None:
    framework = KINDS["dataset"]().framework
    tables = [bp.simulate(framework, 4, secret={"ill": 2}, seed=seed) for seed in range(600)]
    seen = Counter(tuple(table["ill"] == "yes") for table in tables)
    assert fits(seen, {at: 1.0 if sum(at) == 2 else 0.0 for at in itertools.product([False, True], repeat=4)})


def of_ages() -> bp.DatasetAttributePrivacy:
    network = bp.DiscreteNetwork.from_tables(
        {"age": [0.5, 0.3, 0.2], "ill": [[0.9, 0.6, 0.2], [0.1, 0.4, 0.8]]},
        states={"age": [0, 1, 3], "ill": ["no", "yes"]},
        parents={"ill": ["age"]},
        level="records",
    )
    schema = bp.Schema(records=5, columns={"age": bp.Integer(0, 3), "ill": bp.Categorical(["no", "yes"])})
    return bp.DatasetAttributePrivacy(network, schema, {"age": bp.Secret(bp.mean("age"))}, source="invented")


@pytest.mark.parametrize("total", [3, 6, 9])
def test_how_many_records_add_what_to_a_sum_follows_its_exact_law(total: int) -> None:
    framework = of_ages()
    held = Property(framework=framework, secret=framework.protect["age"], model=0, records=5)
    (numerator,) = held.numerators([total / 5])
    law: Counter[tuple[int, ...]] = Counter()
    for ages in itertools.product([0, 1, 3], repeat=5):
        if sum(ages) == total:
            law[tuple(ages.count(age) for age in (0, 1, 3))] += math.prod({0: 0.5, 1: 0.3, 3: 0.2}[age] for age in ages)
    random = np.random.default_rng(1)
    seen = Counter(tuple(held.draw([numerator], random).values()) for _ in range(1500))
    assert fits(seen, law)
    table = bp.simulate(framework, secret={"age": total / 5})
    assert table["age"].sum() == total
    assert table.attrs[PROBABILITY] == pytest.approx(sum(law.values()))


def test_a_property_of_bins_is_that_of_the_drawn_values() -> None:
    network = bp.DiscreteNetwork.from_tables(
        {"age": [0.5, 0.5], "ill": [[0.9, 0.2], [0.1, 0.8]]},
        states={"age": ["young", "old"], "ill": ["no", "yes"]},
        parents={"ill": ["age"]},
        level="records",
    )
    schema = bp.Schema(records=20, columns={"age": bp.Real(0, 100), "ill": bp.Categorical(["no", "yes"])})
    laws = {"age": {"young": stats.uniform(0, 50), "old": stats.uniform(40, 60)}}
    secret = bp.Secret(bp.count(bp.col("age") > 45))
    framework = bp.DatasetAttributePrivacy(network, schema, {"age": secret}, source="invented", laws=laws)
    for count in (2, 18):
        table = bp.simulate(framework, secret={"age": count})
        assert (table["age"] > 45).sum() == count


# --- chains -----------------------------------------------------------------------------------------------------------

MATRIX = [[0.7, 0.2, 0.1], [0.1, 0.6, 0.3], [0.5, 0.0, 0.5]]
FIRST = [0.2, 0.3, 0.5]


def sequences(inside: set[int], step: int, steps: int = 4) -> dict[tuple[int, ...], float]:
    """Return the law of all sequences given that one step is in a set of states."""
    law = {}
    for at in itertools.product(range(3), repeat=steps):
        p = FIRST[at[0]] * math.prod(MATRIX[a][b] for a, b in itertools.pairwise(at))
        law[at] = p if at[step] in inside else 0.0
    return law


@pytest.mark.parametrize(("step", "inside"), [(0, {1}), (2, {0}), (3, {1, 2}), (1, {0, 1, 2})])
def test_sequences_follow_the_exact_law_given_one_step(step: int, inside: set[int]) -> None:
    chain = MarkovChain(MATRIX, FIRST, 4)
    drawn = draw_chain(chain, 20_000, np.random.default_rng(2), step=step, inside=[str(k) for k in inside])
    seen = Counter(map(tuple, drawn.tolist()))
    assert fits(seen, sequences(inside, step))
    assert not fits(seen, sequences({2}, 0))


def test_of_several_chains_the_step_in_the_middle_is_as_assumed() -> None:
    chain = MarkovChain(MATRIX, FIRST, [3, 4], states=[0, 1, 2])
    schema = bp.Schema(records=7, columns={"x": bp.Integer(0, 2)})
    framework = bp.ValuePrivacy(chain, schema, "x", source="invented")
    seen: Counter[Any] = Counter()
    for seed in range(800):
        table = bp.simulate(framework, secret={"x": 2}, seed=seed)
        assert table["x"][3] == 2  # the first step of the second chain
        seen[int(table["x"][2]), int(table["x"][4])] += 1
    law = np.array(FIRST) @ np.linalg.matrix_power(np.array(MATRIX), 2)
    assert fits(seen, {(a, b): law[a] * MATRIX[2][b] for a in range(3) for b in range(3)})
    assert table.attrs[PROBABILITY] == pytest.approx(0.5)
    with pytest.raises(bp.errors.SecretError, match="states of 0, 1"):
        bp.simulate(framework, secret={"x": 7})


def test_what_a_chain_cannot_be_is_refused() -> None:
    chain = MarkovChain([[1.0, 0.0], [0.5, 0.5]], [1.0, 0.0], 3)
    with pytest.raises(bp.errors.SecretError, match="probability zero"):
        draw_chain(chain, 1, np.random.default_rng(0), step=2, inside=["1"])


# --- models that are known by forward draws ---------------------------------------------------------------------------


def forward(names: Any, draws: int, *, seed: int, given: Mapping[str, float], records: int) -> dict[str, Any]:
    random = np.random.default_rng(seed)
    income = np.full(draws, given["income"]) if "income" in given else random.normal(size=draws)
    school = income + random.normal(size=draws)
    drawn = {"income": income, "school": school}
    if "sat" in names:
        drawn["sat"] = school[:, None] + random.normal(size=(draws, records))
    return drawn


def of_densities() -> bp.DistributionalAttributePrivacy:
    whole: dict[str, Any] = {"lower": -np.inf, "upper": np.inf}
    parameter = bp.networks.Parameter
    network = bp.types.DensityNetwork(
        parameters={
            "income": parameter(name="income", log_density=lambda x: -x * x / 2, **whole),
            "school": parameter(
                name="school", parents=("income",), log_density=lambda x, y: -((x - y) ** 2) / 2, **whole
            ),
        },
        model_hash="two normal parameters and a column",
        simulator=forward,
        reading=ImportReport(columns={"sat": ("school",)}),
    )
    schema = bp.Schema(records=50, columns={"sat": bp.Real(-100, 100), "coin": bp.Integer(0, 1)})
    return bp.DistributionalAttributePrivacy(
        network,
        schema,
        {"income": bp.intervals((0.0, 1.0))},
        source="invented",
        independent=["coin"],
        laws={"coin": 0.25},
    )


def test_columns_of_a_model_are_drawn_with_its_parameters() -> None:
    framework = of_densities()
    means = [bp.simulate(framework, 400, seed=seed)["sat"].mean() for seed in range(300)]
    assert stats.kstest(means, stats.norm(0, math.sqrt(2 + 1 / 400)).cdf).pvalue > ALPHA
    table = bp.simulate(framework, 4000)
    assert fits(Counter(table["coin"].tolist()), {0: 0.75, 1: 0.25})
    assert PROBABILITY not in table.attrs


@pytest.mark.parametrize(("secret", "mean", "variance"), [({"income": 2.0}, 2.0, 1.0), ({"school": (0.9, 1.1)}, 1, 0)])
def test_numbers_are_as_assumed(secret: dict[str, Any], mean: float, variance: float) -> None:
    means = [bp.simulate(of_densities(), 20, secret=secret, seed=seed)["sat"].mean() for seed in range(60)]
    assert stats.kstest(means, stats.norm(mean, math.sqrt(variance + 1 / 20)).cdf).pvalue > ALPHA


def test_what_would_take_too_long_is_refused() -> None:
    with pytest.raises(bp.errors.RefusedError, match="one table of"):
        bp.simulate(of_densities(), 10**8, secret={"school": (4.0, 4.5)})


def test_how_often_an_interval_comes_up_is_said() -> None:
    table = bp.simulate(of_densities(), secret={"income": (1.0, 2.0)})
    assert table.attrs[PROBABILITY] == pytest.approx(stats.norm.cdf(2) - stats.norm.cdf(1), abs=0.01)


@pytest.mark.parametrize(
    ("kind", "secret", "words"),
    [
        ("dataset", {"ill": 31}, "must be possible"),
        ("dataset", {"ill": "yes"}, "numbers"),
        ("dataset", {"coughs": 3}, "a protected column"),
        ("records", {"ill": "often"}, "its states"),
        ("chain", {"activity": "run"}, "states of rest, walk"),
        ("chain", {"ill": "yes"}, "the column of the chain"),
        ("networks", {"ill": "yes"}, "what is protected"),
        ("laws", {"ill": "yes"}, "the distribution of its records"),
    ],
)
def test_secrets_that_do_not_fit_are_refused(kind: str, secret: dict[str, Any], words: str) -> None:
    with pytest.raises(bp.BnprivError, match=words):
        bp.simulate(KINDS[kind]().framework, secret=secret)


@pytest.mark.parametrize(
    ("secret", "words"),
    [
        ({"school": 1.0}, "cannot be drawn exactly"),
        ({"income": (40.0, 41.0)}, "at least 2 of 20,000"),
        ({"income": (2.0, 1.0)}, "two ends"),
        ({"sat": 1.0}, "an attribute of the secret"),
    ],
)
def test_numbers_that_cannot_be_assumed_are_refused(secret: dict[str, Any], words: str) -> None:
    with pytest.raises(bp.BnprivError, match=words):
        bp.simulate(of_densities(), secret=secret)


@pytest.mark.parametrize("kind", ["records", "dataset", "networks", "chain"])
def test_a_column_that_the_model_does_not_know_is_refused(kind: str) -> None:
    framework = KINDS[kind]().framework
    columns = {**framework.schema.columns, "height": bp.Real(120, 220)}
    schema = bp.Schema(records=framework.schema.records, columns=columns)
    changed: dict[str, Any] = {
        "records": lambda: bp.ValuePrivacy(patients(), schema, "ill", source="x"),
        "dataset": lambda: bp.DatasetAttributePrivacy(patients(), schema, dict(framework.protect), source="x"),
        "networks": lambda: bp.DistributionPrivacy(framework.pairs, schema=schema, source="x"),
        "chain": lambda: bp.ValuePrivacy(framework.model, schema, "activity", source="x"),
    }
    with pytest.raises(bp.errors.FrameworkError, match="none for height"):
        bp.simulate(changed[kind]())


def of_public_records(table: Any) -> Counter[tuple[Any, ...]]:
    """Return records by the bin of what is drawn inside it: the middle of a piece that no law tells apart."""
    x = np.where(table["x"] == np.floor(table["x"]), table["x"], np.floor(table["x"]) + 0.5)
    return Counter(zip(x.tolist(), table["y"].tolist(), table["ill"].tolist(), strict=True))


@pytest.mark.parametrize("model", range(5))
def test_records_follow_public_ones_or_the_network_of_the_draw(model: int) -> None:
    framework = framework_of(1, n=20_000)
    law = people(framework, model)
    assert max(float(abs(law[key] - people(framework, (model + 1) % 5).get(key, 0))) for key in law) > 0.02
    table = bp.simulate(framework, 20_000, seed=5, model=model)
    assert fits(of_public_records(table), {key: float(p) for key, p in law.items()})


@pytest.mark.parametrize("hidden", ["ill", "y"])
def test_a_property_is_assumed_under_public_records(hidden: str) -> None:
    """Given the value records are those of the model, each given what it adds."""
    framework = framework_of(1, n=24, hidden=hidden)
    where, model = 1 if hidden == "y" else 2, 3
    law = people(framework, model)
    value = {"ill": 10, "y": 28}[hidden]
    seen, expected = Counter[tuple[Any, ...]](), dict[tuple[Any, ...], float]()
    for seed in range(100):
        table = bp.simulate(framework, seed=seed, secret={hidden: value}, model=model)
        added = table["y"] if hidden == "y" else table["ill"] == "yes"
        assert added.sum() == value
        seen += of_public_records(table)
    groups = Counter[Any]()
    for person, count in seen.items():
        groups[person[where]] += count
    for person, p in law.items():
        among = sum(q for other, q in law.items() if other[where] == person[where])
        expected[person] = groups[person[where]] * float(p / among)
    assert fits(seen, expected)
    probability = bp.simulate(framework, seed=1, secret={hidden: value}, model=model).attrs[PROBABILITY]
    chance = float(sum(p for person, p in law.items() if person[2] == "yes"))
    if hidden == "ill":
        assert probability == pytest.approx(math.comb(24, 10) * chance**10 * (1 - chance) ** 14, rel=1e-9)


def test_there_are_as_many_models_as_network_models_and_draws() -> None:
    with pytest.raises(bp.errors.ParameterError, match="below the number of models, 5"):
        bp.simulate(framework_of(1), 10, model=5)
