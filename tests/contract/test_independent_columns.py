"""Columns that are declared independent, beside columns of a network: they tell nothing, and no noise hides them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.core.evidence.structural import influences
from bnpriv.errors import Refusal
from tests import oracles
from tests.contract.test_quilt_scale import brute_scale
from tests.kinds import KINDS, table
from tests.seeds import seeds

FREE = ("free", "wild")
CONSTANT = np.array([1.0, 0.0])


def mixed(rng: np.random.Generator, read: list[str]) -> bp.types.Query:
    """Draw a query of one number that reads columns of the network and independent ones."""
    free = [str(name) for name in rng.choice(FREE, size=int(rng.integers(1, 3)), replace=False)]
    names = [*read, *free]
    form = rng.integers(3)
    if form == 0:
        return bp.linear({name: float(rng.choice([-2.0, 0.5, 1.0, 3.0])) for name in names})
    conditions = [bp.col(name) == 1 for name in names]
    met = conditions[0]
    for each in conditions[1:]:
        met = met & each if form == 1 or rng.random() < 0.5 else met | each
    return bp.proportion(met)


def draw(rng: np.random.Generator) -> tuple[Any, bp.types.Query, float]:
    nodes = int(rng.integers(2, 6))
    network = oracles.random_network(rng, nodes, models=int(rng.integers(1, 3)))
    names = list(network.attributes)
    protected = [str(name) for name in rng.choice(names, size=int(rng.integers(1, 3)), replace=False)]
    schema = bp.Schema(records=1, columns={name: bp.Integer(0, 1) for name in (*names, *FREE)})
    protect = {name: oracles._secrets(rng, network, name) for name in protected}
    framework = bp.DistributionalAttributePrivacy(network, schema, protect, source="a random draw", independent=FREE)
    read = [str(name) for name in rng.choice(names, size=int(rng.integers(1, min(4, nodes) + 1)), replace=False)]
    return framework, mixed(rng, read), float(rng.uniform(0.1, 4))


def cases(seed: int, number: int) -> Iterator[tuple[np.random.Generator, Any, bp.types.Query, float]]:
    rng, found = np.random.default_rng(7000 + seed), 0
    while found < number:
        framework, query, epsilon = draw(rng)
        if not isinstance(influences(framework), Refusal):
            found += 1
            yield rng, framework, query, epsilon


def exact_epsilon(framework: Any, query: bp.types.Query, scale: float, laws: dict[str, np.ndarray]) -> float:
    """Return the largest log ratio of the released number for given laws of one record of every column."""
    network, columns = framework.network, sorted(query.columns)
    inside = tuple(name for name in columns if name not in FREE)
    rows = list(itertools.product((0, 1), repeat=len(columns)))
    answers = [_answer(query, dict(zip(columns, row, strict=True))) for row in rows]
    atoms, place = np.unique(answers, return_inverse=True)
    largest = 0.0
    for model, (protected, pairs) in itertools.product(range(network.models), framework.secrets.items()):
        law = oracles.joint(network, model)
        for pair in pairs:
            sides = []
            for side in (pair.first, pair.second):
                given = oracles.conditional(network, law, inside, protected, side)
                if given is None:
                    break
                masses = np.zeros(len(atoms))
                for row, k in zip(rows, place, strict=True):
                    mass, share = given, 1.0
                    for name, cell in zip(columns, row, strict=True):
                        if name in FREE:
                            share *= laws[name][cell]
                        else:
                            mass = np.tensordot(laws[name][:, cell], mass, axes=(0, 0))
                    masses[k] += share * float(mass)
                sides.append(masses)
            if len(sides) == 2:
                largest = max(largest, oracles.loss(atoms, *sides, scale))
    return largest


def _answer(query: bp.types.Query, row: dict[str, int]) -> float:
    """Evaluate the query on one record, by its text alone."""
    text = str(query)
    inside = text[text.index("(") + 1 : text.rindex(")")]
    if text.startswith("linear"):
        terms = (part.split(":") for part in inside.split(","))
        return sum(float(weight) * row[name.strip()] for name, weight in terms)
    words = inside.replace("&", " and ").replace("|", " or ")
    return float(eval(words, {"__builtins__": {}}, dict(row)))


@pytest.mark.parametrize("seed", seeds(2, slow=10))
@pytest.mark.parametrize("common", [False, True])
def test_the_scale_is_the_least_over_all_quilts_and_none_of_it_is_for_independent_columns(seed, common) -> None:
    for _, framework, query, epsilon in cases(seed, 20):
        found = bp.MarkovQuiltMechanism(common_quilt=common, weights=(1.0,)).calibrate(
            framework, query, epsilon=epsilon
        )
        expected = brute_scale(framework, query, epsilon, common=common)
        assert found.scale == pytest.approx(expected, rel=1e-9, abs=0.0), (seed, str(query), epsilon)
        for decision in found.certificate.decisions:
            assert decision.queried_near.isdisjoint(FREE)


@pytest.mark.parametrize("seed", seeds(2, slow=10))
def test_the_released_number_is_private_whatever_the_independent_columns_hold(seed: int) -> None:
    reached = 0.0
    for rng, framework, query, epsilon in cases(50 + seed, 20):
        found = bp.MarkovQuiltMechanism().calibrate(framework, query, epsilon=epsilon)
        for free in (CONSTANT, CONSTANT[::-1], rng.dirichlet([1.0, 1.0])):
            laws = dict.fromkeys(FREE, free) | {
                name: oracles._emission(rng, len(framework.network.states[name])) for name in query.columns - {*FREE}
            }
            told = exact_epsilon(framework, query, found.scale, laws)
            assert told <= epsilon * (1 + 1e-9), (seed, str(query), found.scale)
            reached = max(reached, told / epsilon)
    assert reached > 0.5  # the oracle sees what is told


def test_a_column_that_is_read_with_an_independent_one_needs_the_noise_of_its_own_change_and_no_less() -> None:
    network = bp.DiscreteNetwork.from_tables({"a": [0.5, 0.5]}, states={"a": ["lo", "hi"]})
    schema = bp.Schema(records=1, columns={name: bp.Integer(0, 1) for name in ("a", *FREE)})
    framework = bp.DistributionalAttributePrivacy(network, schema, "a", source="x", independent=FREE)
    query = bp.linear({"a": 1.0, "free": 5.0, "wild": -3.0})
    found = bp.MarkovQuiltMechanism().calibrate(framework, query, epsilon=0.5)
    assert found.scale == pytest.approx(2.0, rel=1e-9)
    shown = {"a": np.eye(2)} | dict.fromkeys(FREE, CONSTANT)  # the column shows its parameter
    assert exact_epsilon(framework, query, found.scale, shown) == pytest.approx(0.5, rel=1e-9)
    assert exact_epsilon(framework, query, found.scale * 0.99, shown) > 0.5


@pytest.mark.parametrize("text", ["total(free)", "histogram(free)", "crosstab(free, wild)", "linear(free: 1, wild: 2)"])
def test_independent_columns_by_themselves_need_no_noise(text: str) -> None:
    for _, framework, _, epsilon in cases(90, 3):
        assert bp.MarkovQuiltMechanism().calibrate(framework, bp.parse_query(text), epsilon=epsilon).scale == 0.0


RAIN = {"rain": bp.Integer(0, 3), "day": bp.Categorical(["mo", "tu"])}
RAIN_LAWS = {"rain": dict.fromkeys(range(4), 0.25), "day": {"mo": 0.5, "tu": 0.5}}
MIXED = (
    "linear(sat: 1, rain: 1)",
    "stack(total(sat), total(rain))",
    "stack(mean(income), histogram(rain))",
    'proportion((sat > 800) & (day == "mo"))',
    'stack(mean(sat), mean(income), count(day == "mo"))',
    "crosstab(day, rain)",
    "histogram(rain)",
)


def with_rain(name: str, text: str) -> tuple[Any, bp.types.Query, float]:
    """Return a framework of some kind with two independent columns, a query and a delta that suits both."""
    kind = KINDS[name]()
    columns = {"sat": bp.Real(0, 1600, steps=16), "income": bp.Real(0, 200, steps=10)}
    schema = bp.Schema(records=20, columns=columns | RAIN)
    framework = bp.DistributionalAttributePrivacy(
        kind.network, schema, kind.framework.protect, source="x", independent=RAIN, laws=RAIN_LAWS
    )
    return framework, bp.parse_query(text), kind.delta


@pytest.mark.parametrize("text", MIXED)
@pytest.mark.parametrize("name", ["discrete", "interval", "gaussian", "density"])
def test_every_verb_answers_a_query_of_both(name: str, text: str, tmp_path) -> None:
    framework, query, delta = with_rain(name, text)
    plan = bp.plan(framework, query, 1.0, delta)
    assert plan.best.scale >= 0
    told = bp.leaks(framework, query)
    assert {row.attribute for row in told.rows} == set(framework.network.attributes)
    if name != "density":  # whose grids take seconds
        assert bp.influence_report(framework, query, 1.0, delta).text
        assert bp.compare(framework, framework, query).text
        assert bp.tradeoff(framework, query, [0.5, 1.0], delta=delta).text
    again = bp.types.Calibration.from_json(plan.best.to_json(), framework, query)
    assert again.seal == plan.best.seal
    assert bp.verify(plan.best).status in {"holds", "not covered", "too large"}
    budget = bp.types.Budget(4.0, delta) if delta else 4.0
    with bp.Session(framework, table(framework.schema), budget, tmp_path / "ledger.db") as session:
        session.release(query, epsilon=0.5, delta=delta / 4, even_if_useless=True)
        assert math.isfinite(session.what_if(query, epsilon=0.5, delta=delta / 4).epsilon)
        session.release(bp.total("rain"), epsilon=0.5, even_if_useless=True)
        assert session.spent <= 4.0
