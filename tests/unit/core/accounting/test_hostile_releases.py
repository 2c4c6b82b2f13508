"""Totals of releases of every shape against brute force that reads no code of queries, sensitivities or totals."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.core.accounting.accountant import Accountant
from bnpriv.core.accounting.total import Entry, NoiseCosts
from bnpriv.core.evidence.structural import Influences, impossibility, influences
from bnpriv.core.mechanisms.base import Calibration
from bnpriv.core.mechanisms.column import ColumnMechanism
from bnpriv.core.mechanisms.law_mechanisms import WassersteinMechanism
from bnpriv.core.mechanisms.quilt import MarkovQuiltMechanism
from bnpriv.errors import LedgerError, Refusal
from bnpriv.mechanisms.directional import DirectionalMechanism
from tests import oracles
from tests.seeds import seeds

Row = dict[str, int]
Function = Callable[[Row], tuple[float, ...]]


def hostile_question(rng: np.random.Generator, names: list[str]) -> tuple[bp.types.Query, Function]:
    """Return a query of one record of zeros and ones, and what it answers in plain Python."""
    chosen = [str(name) for name in rng.choice(names, size=int(rng.integers(1, min(3, len(names)) + 1)), replace=False)]
    first, last = chosen[0], chosen[-1]
    kind = rng.choice(["stack", "far apart", "and", "or", "histogram", "moments", "cancels"])
    if kind == "stack":
        query = bp.stack(*(bp.total(name) for name in chosen))
        return query, lambda row: tuple(float(row[name]) for name in chosen)
    if kind == "far apart":
        query = bp.stack(bp.linear({first: 64.0}), bp.count(bp.col(last) == 1))
        return query, lambda row: (64.0 * row[first], float(row[last]))
    if kind == "and":
        condition = bp.col(first) == 1
        for name in chosen[1:]:
            condition = condition & (bp.col(name) == 1)
        return bp.count(condition), lambda row: (float(all(row[name] for name in chosen)),)
    if kind == "or":
        condition = bp.col(first) == 0
        for name in chosen[1:]:
            condition = condition | (bp.col(name) == 1)
        return bp.count(condition), lambda row: (float(row[first] == 0 or any(row[name] for name in chosen[1:])),)
    if kind == "histogram":
        return bp.histogram(first, [0.0, 0.5, 1.0]), lambda row: (float(row[first] == 0), float(row[first] == 1))
    if kind == "moments":
        return bp.moments([first]), lambda row: (float(row[first]), float(row[first]) ** 2)
    query = bp.stack(bp.linear(dict.fromkeys(chosen, 1.0)), bp.linear(dict.fromkeys(chosen, -2.0)))
    return query, lambda row: (float(sum(row[name] for name in chosen)), -2.0 * sum(row[name] for name in chosen))


def hostile_release(case: oracles.Case, rng: np.random.Generator, names: list[str]) -> tuple[Calibration, Function]:
    query, function = hostile_question(rng, names)
    size = len(function(dict.fromkeys(names, 0)))
    mechanism = rng.choice(
        [
            MarkovQuiltMechanism(),
            MarkovQuiltMechanism(common_quilt=True),
            MarkovQuiltMechanism(noise="gaussian", large_delta=True),
            WassersteinMechanism(),
            DirectionalMechanism(),
            ColumnMechanism(),
        ],
        p=[0.5, 0.1, 0.05, 0.15, 0.05, 0.15],
    )
    epsilon, delta = float(rng.uniform(0.1, 3)), 0.0
    if getattr(mechanism, "noise", "") == "gaussian":
        delta = 0.01
    if mechanism.supports(case.framework, query, epsilon, delta) is not None:
        mechanism, delta = MarkovQuiltMechanism(), 0.0
    made = mechanism.calibrate(case.framework, query, epsilon=epsilon, delta=delta)
    assert made.noise.accounted_noise() is None or made.noise.dimension == size
    return made, function


def cost_of(made: Calibration, function: Function, near: frozenset[str], names: list[str]) -> float:
    """Return what the noise of a release costs that hides `near`: over all rows that agree elsewhere."""
    noise = made.noise.accounted_noise()
    none = noise is None or min(made.noise.scales) == 0 or type(noise).__name__ == "Gaussian"
    scales = [0.0] * made.noise.dimension if none else list(noise.scales)  # pyright: ignore
    worst = 0.0
    rows = [dict(zip(names, values, strict=True)) for values in itertools.product((0, 1), repeat=len(names))]
    for one, other in itertools.product(rows, rows):
        if all(one[name] == other[name] for name in names if name not in near):
            gaps = [abs(a - b) for a, b in zip(function(one), function(other), strict=True)]
            worst = max(
                worst, sum(gap / scale if scale else math.inf for gap, scale in zip(gaps, scales, strict=True) if gap)
            )
    return worst


def brute_force(
    case: oracles.Case, made: list[tuple[Calibration, Function]], names: list[str], *, own: bool = True
) -> float:
    network = case.framework.network
    modelled = [each for each in made if not isinstance(each[0].mechanism, ColumnMechanism)]
    spent = sum(each.epsilon for each, _ in made if isinstance(each.mechanism, ColumnMechanism))
    queried = sorted(frozenset().union(*(each.query.columns for each, _ in modelled)))
    nears = [frozenset(each) for size in range(len(queried) + 1) for each in itertools.combinations(queried, size)]
    noise = {near: sum(cost_of(*each, near, names) for each in modelled) for near in nears}
    worst = 0.0
    for model in range(network.models):
        law = oracles.joint(network, model)
        for protected, chosen in case.framework.secrets.items():
            for pair in chosen:
                totals = [
                    oracles.influence(
                        network, law, tuple(each for each in queried if each not in near), protected, pair
                    )
                    + noise[near]
                    for near in nears
                    if protected not in queried or protected in near
                ]
                worst = max(worst, min(totals))
    if own and len(modelled) == 1:
        worst = min(worst, modelled[0][0].guarantee.epsilon)
    return spent + worst


@pytest.mark.parametrize("block", seeds(1, slow=3))
def test_totals_of_releases_of_every_shape_are_those_of_brute_force(block: int) -> None:
    rng, finite, seen = np.random.default_rng([1801, block]), 0, 0
    while seen < 14:
        case = oracles.random_case(rng, most_nodes=4)
        if impossibility(case.framework) is not None:
            continue
        seen += 1
        names = [str(name) for name in case.framework.network.attributes]
        made: list[tuple[Calibration, Function]] = []
        accountant, stored = Accountant(case.framework), Accountant(case.framework)
        for _ in range(int(rng.integers(1, 7))):
            made.append(made[-1] if made and rng.random() < 0.2 else hostile_release(case, rng, names))
            accountant = accountant.record(made[-1][0])
            record = json.loads(json.dumps(Entry.of(made[-1][0]).to_json()))
            again = stored.with_entry(Entry.from_json(record))
            assert not isinstance(again, Refusal)
            stored = again
            assert stored.total == accountant.total
            expected = brute_force(case, made, names)
            if any(each.guarantee.delta for each, _ in made):
                assert accountant.total is None
            elif math.isinf(expected):
                assert math.isinf(accountant.epsilon)
            else:
                finite += 1
                assert accountant.epsilon == pytest.approx(expected, rel=1e-9, abs=1e-9)
        modelled = [each for each in made if not isinstance(each[0].mechanism, ColumnMechanism)]
        check_costs(case, modelled, names)
        total = accountant.shares[0].total if modelled else None
        if modelled and math.isfinite(worst := brute_force(case, modelled, names, own=False)):
            assert total is not None
            assert float(total) == pytest.approx(worst, rel=1e-9, abs=1e-9)
        elif modelled:
            assert total is None
    assert finite >= 15


def check_costs(case: oracles.Case, made: list[tuple[Calibration, Function]], names: list[str]) -> None:
    """Costs of near sets are sums, whether they were asked for after each release or after all."""
    evidence = influences(case.framework)
    assert isinstance(evidence, Influences)
    asked, late = NoiseCosts(evidence=evidence), NoiseCosts(evidence=evidence)
    nears = [frozenset(each) for size in range(len(names) + 1) for each in itertools.combinations(names, size)]
    totals = dict.fromkeys(nears, 0.0)
    for release in made:
        asked, late = asked.plus(Entry.of(release[0])), late.plus(Entry.of(release[0]))
        for near in nears:
            totals[near] += cost_of(*release, near, names)
            found = asked.cost(near)
            assert (math.inf if found is None else float(found)) == pytest.approx(totals[near], rel=1e-9)
    for near, total in totals.items():
        found = late.cost(near)
        assert (math.inf if found is None else float(found)) == pytest.approx(total, rel=1e-9)


@pytest.mark.parametrize(
    "change",
    [
        {"columns": []},
        {"columns": ["height", "sat"]},
        {"columns": ["height"]},
        {"scale": "inf"},
        {"scale": "nan"},
        {"scale": "0x0.0p+0"},
        {"scale": "0x1p99999"},
        {"scale": "-0x1p3"},
        {"scale": 3.0},
        {"moved": "inf"},
        {"moved": "nan"},
        {"weights": ["inf"]},
        {"weights": ["0x0.0p+0"]},
        {"epsilon": "-1"},
        {"epsilon": "nan"},
        {"epsilon": "1/0"},
        {"epsilon": 1},
        {"delta": "-1/2"},
        {"family": "free"},
        {"noise": "uniform"},
        {"kind": "sure"},
        {"near": [["sat"], "height"]},
        {"alone": None},
        {"confidence": "nan"},
        {"confidence": 0.5},
    ],
)
def test_stored_releases_that_nobody_stored_are_refused(change: dict[str, object]) -> None:
    made = MarkovQuiltMechanism().calibrate(bp.example("student"), bp.mean("sat"), epsilon=1.0)
    record = Entry.of(made).to_json()
    assert Entry.from_json(record).scale == made.scale
    with pytest.raises(LedgerError):
        Entry.from_json({**record, **change})
    for name in record:
        with pytest.raises(LedgerError):
            Entry.from_json({key: value for key, value in record.items() if key != name})


def test_a_custom_query_that_was_stored_costs_no_less_when_it_is_read() -> None:
    framework = bp.example("student")
    query = bp.custom(
        lambda table: table["height"].max() + table["sat"].max(),
        columns=["height", "sat"],
        sensitivity={"height": 100.0, "sat": 1200.0},
        name="mean(sat)",
    )
    made = MarkovQuiltMechanism().calibrate(framework, query, epsilon=1.0)
    plain = MarkovQuiltMechanism().calibrate(framework, bp.mean("height"), epsilon=1.0)
    recorded, read = Accountant(framework), Accountant(framework)
    for each in (plain, made, made, plain):
        recorded = recorded.record(each)
        found = read.with_entry(Entry.from_json(Entry.of(each).to_json()))
        assert not isinstance(found, Refusal)
        read = found
        assert read.epsilon >= recorded.epsilon
