"""What differential privacy tells of a number of records, against laws that are enumerated."""

from __future__ import annotations

import itertools
import json
import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.core.distributions import Atoms
from bnpriv.core.evidence.laws import laws
from bnpriv.core.noise import Gaussian
from bnpriv.core.privacy_curves import LaplacePair, gaussian_mixture_delta
from bnpriv.mechanisms.baselines import _of_gaussian, laplace_loss, least_level

Group = bp.mechanisms.GroupPrivacyMechanism
Record = bp.mechanisms.RecordPrivacyMechanism


def framework(records: int, apart: int, one: float = 0.6, other: float = 0.3) -> bp.DatasetAttributePrivacy:
    network = bp.DiscreteNetwork.from_tables(
        {"s": [0.5, 0.5], "x": [[1 - other, 1 - one], [other, one]]},
        states={"s": [0, 1], "x": [0, 1]},
        parents={"x": ["s"]},
        level="records",
    )
    schema = bp.Schema(records=records, columns={"s": bp.Integer(0, 1), "x": bp.Integer(0, 1)})
    secret = bp.Secret(bp.count(bp.col("s") == 1), bp.apart(at_most=apart))
    return bp.DatasetAttributePrivacy(network, schema, {"s": secret}, source="invented")


COUNT = bp.count(bp.col("x") == 1)


def answers(records: int, one: float = 0.6, other: float = 0.3) -> list[Atoms]:
    """Return the law of the count given that so many records are of the first class, by enumeration."""
    found = []
    for many in range(records + 1):
        masses = np.zeros(records + 1)
        for values in itertools.product((0, 1), repeat=records):
            shares = [one if k < many else other for k in range(records)]
            masses[sum(values)] += math.prod(p if v else 1 - p for v, p in zip(values, shares, strict=True))
        found.append(Atoms(range(records + 1), masses))
    return found


@pytest.mark.parametrize("mechanism", [Record(), Group(size=2), Group(size=3)], ids=str)
@pytest.mark.parametrize("epsilon", [0.3, 1.0, 4.0])
@pytest.mark.parametrize("apart", [1, 3, 6])
def test_laplace_baselines_print_what_is_true(mechanism: bp.types.Mechanism, epsilon: float, apart: int) -> None:
    records = 6
    found = mechanism.calibrate(framework(records, apart), COUNT, epsilon=epsilon)
    laws = answers(records)
    real = max(
        LaplacePair.of(laws[a], laws[b]).epsilon(found.scale)
        for a, b in itertools.combinations(range(records + 1), 2)
        if b - a <= apart
    )
    assert found.guarantee.epsilon == pytest.approx(real, rel=1e-9)
    assert found.guarantee.epsilon >= real - 1e-9  # both are rounded up


def test_gaussian_baselines_print_what_holds() -> None:
    records, delta = 6, 1e-3
    found = Record(noise="gaussian").calibrate(framework(records, 4), COUNT, epsilon=1.0, delta=delta)
    laws, told = answers(records), found.guarantee
    assert told.delta == delta
    assert told.without_model is not None
    assert told.epsilon < told.without_model / 2
    for a, b in itertools.combinations(range(records + 1), 2):
        if b - a <= 4:
            assert gaussian_mixture_delta(laws[a], laws[b], found.scale, told.epsilon) <= delta


@pytest.mark.parametrize("most", [5.0, 50.0, 50_000.0])
@pytest.mark.parametrize("rounding", [0.0, 1e-6, 1e-3])
def test_what_rounding_moves_is_paid_behind_normal_noise(rounding: float, most: float) -> None:
    """As delta, under both secrets; of two curves the lower one counts."""
    low, high = ((lambda level, delta, c=c: lambda scale: c * math.exp(-level)) for c in (1.0, 2.0))
    for curves in ((low, high), (high, low)):
        coupled: Any = SimpleNamespace(coupled_curve=curves[0], composed_curve=curves[1])
        found = _of_gaussian(coupled, Gaussian(3.0), 0.1, rounding, most)
        assert math.exp(-found) + (1 + math.exp(found)) * rounding / 3.0 == pytest.approx(0.1, rel=1e-6)


def test_counts_no_further_apart_than_the_group_are_within_epsilon() -> None:
    """It was printed as 40: what holds if all 200 records change."""
    found = Group(size=5).calibrate(framework(200, 5), COUNT, epsilon=1.0)
    exact = 5 * math.log((0.4 + 0.6 * math.exp(0.2)) / (0.7 + 0.3 * math.exp(0.2)))
    assert found.guarantee.epsilon == pytest.approx(exact, rel=1e-9)
    assert found.guarantee.without_model == pytest.approx(40.0)
    copies = Group(size=5).calibrate(framework(200, 5, 1.0, 0.0), COUNT, epsilon=1.0)
    assert copies.guarantee.epsilon == pytest.approx(1.0)
    hospital = Group(size=100).calibrate(bp.example("hospital"), 'count(smoker == "yes")', epsilon=1.0)
    assert hospital.guarantee.epsilon < 1.0
    assert "10^44" not in hospital.guarantee.sentence


def test_what_rests_on_the_model_is_said() -> None:
    found = Group(size=5).calibrate(framework(200, 5), COUNT, epsilon=1.0)
    sentence = found.guarantee.sentence
    assert "It hides any change of any 5 records from anybody" in sentence
    assert "rests on the model of one record; whatever the model is, only epsilon 40 holds for them" in sentence
    assert any("independent draws" in text for text in found.certificate.assumptions)
    changed = found.misspecified(1.5)
    assert changed.epsilon == found.guarantee.without_model
    assert changed.doubling_factor == 1.0
    text = found.to_json()
    assert bp.types.Calibration.from_json(text, framework(200, 5)).to_json() == text


def test_secrets_that_are_no_counts_are_told_by_all_records() -> None:
    network = bp.DiscreteNetwork.from_tables(
        {"s": [0.3, 0.4, 0.3], "x": [[0.7, 0.5, 0.3], [0.3, 0.5, 0.7]]},
        states={"s": [0, 1, 2], "x": [0, 1]},
        parents={"x": ["s"]},
        level="records",
    )
    schema = bp.Schema(records=20, columns={"s": bp.Integer(0, 2), "x": bp.Integer(0, 1)})
    means = bp.DatasetAttributePrivacy(
        network, schema, {"s": bp.Secret(bp.mean("s"), bp.pairs((0.5, 1.0)))}, source="invented"
    )
    found = Record().calibrate(means, COUNT, epsilon=1.0)
    assert found.guarantee.epsilon == pytest.approx(20.0)
    assert found.guarantee.without_model is None
    assert "does not protect properties of the table" in found.guarantee.sentence


def test_networks_as_secrets_are_not_called_numbers_of_records() -> None:
    records, networks = (
        6,
        [bp.DiscreteNetwork.from_tables({"x": [1 - p, p]}, states={"x": [0, 1]}, level="records") for p in (0.45, 0.5)],
    )
    schema = bp.Schema(records=records, columns={"x": bp.Integer(0, 1)})
    pairs = bp.DistributionPrivacy([(networks[0], networks[1])], query=bp.total("x"), schema=schema, source="invented")
    found = Record().calibrate(pairs, epsilon=1.0)
    law = [Atoms.binomial(records, p) for p in (0.45, 0.5)]
    assert found.guarantee.epsilon == pytest.approx(LaplacePair.of(*law).epsilon(found.scale), rel=1e-9)
    assert found.guarantee.without_model == pytest.approx(6.0)
    assert "rests on the model of one record; whatever the model is, only epsilon 6" in found.guarantee.sentence
    assert "numbers of records" not in found.guarantee.sentence


def test_of_several_pairs_of_networks_the_largest_counts() -> None:
    near, middle, far = (
        bp.DiscreteNetwork.from_tables({"x": [1 - p, p]}, states={"x": [0, 1]}, level="records")
        for p in (0.45, 0.5, 0.8)
    )
    schema = bp.Schema(records=6, columns={"x": bp.Integer(0, 1)})
    given = {"query": bp.total("x"), "schema": schema, "source": "invented"}
    told = [
        Record().calibrate(bp.DistributionPrivacy(pairs, **given), epsilon=1.0).guarantee.epsilon
        for pairs in ([(near, middle)], [(near, far)], [(near, middle), (near, far)])
    ]
    assert told[0] < told[1] == told[2]


def test_what_rounding_moves_is_paid_behind_laplace_noise() -> None:
    (each,) = laws(framework(6, 3), COUNT).constraints()
    assert laplace_loss(each, 2.0, 0.5) == pytest.approx(laplace_loss(each, 2.0, 0.0) + 0.25, rel=1e-12)


def test_vectors_and_several_models() -> None:
    query = bp.stack(COUNT, bp.count(bp.col("x") == 0))
    both = Record().calibrate(framework(50, 3), query, epsilon=1.0)
    plain = framework(50, 3)
    tables = {"s": [0.5, 0.5], "x": [[[0.7, 0.4], [0.3, 0.6]], [[0.8, 0.1], [0.2, 0.9]]]}
    states, parents = {"s": [0, 1], "x": [0, 1]}, {"x": ["s"]}
    networks = bp.DiscreteNetwork.from_tables(tables, states=states, parents=parents, level="records")
    wide = bp.DatasetAttributePrivacy(networks, plain.schema, plain.protect, source="invented")
    assert 0 < both.guarantee.epsilon <= 3 * math.log1p(0.3 * math.expm1(1.0)) * (1 + 1e-9)
    worst = Record().calibrate(framework(50, 3, 0.9, 0.2), COUNT, epsilon=1.0).guarantee.epsilon
    assert Record().calibrate(wide, COUNT, epsilon=1.0).guarantee.epsilon == pytest.approx(worst, rel=1e-9)


def test_of_many_numbers_the_vector_counts() -> None:
    """Thirteen counts have a grid of 8,192 points and as many atoms, too many to look at each: bounds stand."""
    names, ones, others = [f"x{k}" for k in range(13)], np.linspace(0.3, 0.6, 13), np.linspace(0.55, 0.25, 13)
    tables = {"s": [0.5, 0.5]} | {
        name: [[1 - q, 1 - p], [q, p]] for name, p, q in zip(names, ones, others, strict=True)
    }
    states = {name: [0, 1] for name in tables}
    network = bp.DiscreteNetwork.from_tables(
        tables, states=states, parents={name: ["s"] for name in names}, level="records"
    )
    schema = bp.Schema(records=200, columns=dict.fromkeys(tables, bp.Integer(0, 1)))
    secret = bp.Secret(bp.count(bp.col("s") == 1), bp.apart(at_most=5))
    many = bp.DatasetAttributePrivacy(network, schema, {"s": secret}, source="invented")
    found = Record().calibrate(many, bp.stack(*(bp.total(name) for name in names)), epsilon=1.0)
    rates = np.array([1, -1])[:, None, None] / found.scale * np.array([1, -1])[:, None]
    moved = np.log((1 - ones + ones * np.exp(rates)) / (1 - others + others * np.exp(rates)))
    exact = 5 * max(moved[k].max(axis=0).sum() for k in (0, 1))
    assert exact * (1 - 1e-9) <= found.guarantee.epsilon <= 1.25 * exact


def test_the_same_answer_in_another_unit_tells_as_much() -> None:
    """Of a share doubles are rounded, which tells more at large levels: the least level is not hidden by that."""
    asked = {"noise": "gaussian"}
    count = Record(**asked).calibrate(framework(200, 5), COUNT, epsilon=1.0, delta=1e-5).guarantee.epsilon
    share = bp.proportion(bp.col("x") == 1)
    told = Record(**asked).calibrate(framework(200, 5), share, epsilon=1.0, delta=1e-5).guarantee.epsilon
    assert told == pytest.approx(count, rel=1e-6)
    bump = least_level(lambda level: math.exp(-level) + 1e-9 * math.exp(level), 0.1, 5000.0)
    assert bump == pytest.approx(math.log(10), rel=1e-6)
    assert math.exp(-bump) + 1e-9 * math.exp(bump) <= 0.1


@pytest.mark.parametrize("mechanism", [Record(), Group(size=2)], ids=str)
@pytest.mark.parametrize("query", [COUNT, bp.proportion(bp.col("x") == 1)], ids=str)
def test_the_checker_holds_baselines_to_their_own_epsilon(mechanism: bp.types.Mechanism, query: Any) -> None:
    found = mechanism.calibrate(framework(6, 3), query, epsilon=1.0)
    assert found.guarantee.epsilon != found.epsilon
    assert bp.verify(found).status == "holds"
    record = json.loads(found.to_json())
    record["guarantee"]["epsilon"] *= 0.98
    assert bp.verify(json.dumps(record)).status == "fails"
    record = json.loads(found.to_json())
    record["epsilon"] *= 0.98  # of single records
    assert bp.verify(json.dumps(record)).status == "fails"
