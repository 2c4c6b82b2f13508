"""What every mechanism must do: refuse in words, calibrate purely, store and recompute."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.core.mechanisms.quilt import scales
from bnpriv.errors import CertificateError, ParameterError, QueryError, RefusedError, SchemaError
from bnpriv.mechanisms.plan import STANDARD

TALL = bp.count(bp.col("height") > 180)
HIGH = bp.count(bp.col("sat") >= 1200)
QUERIES = [
    TALL,
    bp.stack(TALL, HIGH),
    bp.mean("sat"),
    bp.histogram("gender"),
    bp.linear({"height": 0.5, "sat": 2.0}),
    bp.moments(["weight"]),
]


@pytest.fixture(scope="module")
def framework() -> bp.DistributionalAttributePrivacy:
    return bp.example("student")


def delta_for(mechanism: bp.types.Mechanism) -> float:
    return 1e-6 if mechanism.options().get("noise") == "gaussian" else 0.0


MECHANISMS = [mechanism for mechanism in STANDARD if mechanism.concerns(bp.example("student"))]
"""Those that are about chains have tests of their own."""


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=str)
@pytest.mark.parametrize("query", QUERIES, ids=str)
def test_stores_and_recomputes(framework, mechanism, query) -> None:
    refusal = mechanism.supports(framework, query, epsilon=0.8, delta=delta_for(mechanism))
    if refusal is not None:
        # the laws of these answers cannot be computed: a density, or too many atoms
        by_laws = (bp.TightMechanism, bp.WassersteinMechanism, bp.mechanisms.OptimalMechanism)
        assert isinstance(mechanism, by_laws)
        assert query != TALL or mechanism.options().get("noise") != "laplace"
        return
    calibration = mechanism.calibrate(framework, query, epsilon=0.8, delta=delta_for(mechanism))
    text = calibration.to_json()
    again = bp.types.Calibration.from_json(text, framework)
    assert again.to_json() == text
    assert str(calibration.mechanism) in calibration.text
    assert framework.source in calibration.guarantee.sentence
    assert calibration.quantile(0.95) >= 0
    assert calibration.error(1).upper >= calibration.error(math.inf).upper * (1 - 1e-9)


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("noise", "scale"), 1.0),
        (("epsilon",), 0.9),
        (("framework",), "0" * 64),
        (("certificate", "decisions", 0, "influence"), 0.1),
        (("guarantee", "epsilon"), 0.1),
        (("mechanism", "options"), {"common_quilt": True, "other": 1}),
        (("query",), "count(height > 181)"),
    ],
)
def test_an_edited_calibration_is_refused(framework, place, value) -> None:
    stored = json.loads(bp.MarkovQuiltMechanism().calibrate(framework, bp.stack(TALL, HIGH), epsilon=0.8).to_json())
    target = stored
    for step in place[:-1]:
        target = target[step]
    target[place[-1]] = value
    with pytest.raises(CertificateError):
        bp.types.Calibration.from_json(json.dumps(stored), framework)


@pytest.mark.parametrize("text", ["", "{}", "[1]", '{"format": "bnpriv calibration 1"}', "[" * 100_000])
def test_what_is_no_calibration_is_refused(framework, text) -> None:
    with pytest.raises(CertificateError):
        bp.types.Calibration.from_json(text, framework)


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=str)
@pytest.mark.parametrize("epsilon", [0, -1, math.nan, math.inf, True, "1", None])
def test_bad_epsilon_is_refused(framework, mechanism, epsilon) -> None:
    with pytest.raises(ParameterError, match="epsilon"):
        mechanism.calibrate(framework, TALL, epsilon=epsilon)


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=str)
@pytest.mark.parametrize("delta", [-1e-9, 1, 1.5, math.nan, True, "0"])
def test_bad_delta_is_refused(framework, mechanism, delta) -> None:
    with pytest.raises(ParameterError, match="delta"):
        mechanism.calibrate(framework, TALL, epsilon=1.0, delta=delta)


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=str)
def test_unknown_columns_are_refused(framework, mechanism) -> None:
    with pytest.raises((SchemaError, RefusedError)):
        mechanism.calibrate(framework, bp.mean("shoe_size"), epsilon=1.0, delta=delta_for(mechanism))
    with pytest.raises(QueryError):
        mechanism.calibrate(framework, bp.mean("gender"), epsilon=1.0, delta=delta_for(mechanism))


def test_student_answers(framework) -> None:
    quilt = bp.MarkovQuiltMechanism()
    tall = quilt.calibrate(framework, TALL, epsilon=1.0)
    assert tall.scale == 0.0
    assert tall.certificate.zero_noise_reason
    assert str(tall.useful) == "The answer is released as it is."
    both = quilt.calibrate(framework, bp.stack(TALL, HIGH), epsilon=1.0)
    (decision,) = both.certificate.decisions
    assert decision.queried_near == {"sat"}
    assert decision.quilt.quilt == {"height"}
    assert "income" in decision.quilt.near
    told = float(bp.max_influence(framework.network, {"height"}, "income"))
    assert told < 0.5
    assert both.scale == pytest.approx(10_000 / (1 - told), rel=1e-9)
    assert "useless" in both.text
    conjunction = bp.count((bp.col("height") > 180) & (bp.col("sat") >= 1200))
    both_at_once = quilt.calibrate(framework, conjunction, epsilon=1.0)
    assert both_at_once.scale == pytest.approx(10_000, rel=1e-9)
    assert "trivial quilt" in both_at_once.text


def test_a_column_that_is_no_node_must_be_declared_independent() -> None:
    network = bp.DiscreteNetwork.from_tables({"x": [0.5, 0.5]}, states={"x": ["a", "b"]})
    schema = bp.Schema(records=10, columns={"age": bp.Integer(0, 120)})
    query = bp.mean("age")
    framework = bp.DistributionalAttributePrivacy(network, schema, "x", source="a fixture")
    refusal = bp.MarkovQuiltMechanism().supports(framework, query, epsilon=1.0)
    assert "age" in str(refusal)
    assert bp.ColumnMechanism().supports(framework, query, epsilon=1.0) is None
    free = bp.DistributionalAttributePrivacy(network, schema, "x", source="a fixture", independent=["age"])
    assert bp.MarkovQuiltMechanism().calibrate(free, query, epsilon=1.0).scale == 0.0


def test_a_deterministic_copy_takes_the_trivial_quilt() -> None:
    network = bp.DiscreteNetwork.from_tables(
        {"x": [0.5, 0.5], "y": np.eye(2)}, states={"x": ["a", "b"], "y": ["a", "b"]}, parents={"y": ["x"]}
    )
    schema = bp.Schema(records=10, columns={"y": bp.Real(0, 1)})
    framework = bp.DistributionalAttributePrivacy(network, schema, "x", source="a fixture")
    assert float(bp.max_influence(network, {"y"}, "x")) == math.inf
    assert bp.MarkovQuiltMechanism().calibrate(framework, bp.total("y"), epsilon=2.0).scale == pytest.approx(5.0)


@pytest.mark.parametrize("length", [2, 3, 5])
def test_copies_of_copies_are_all_near(length: int) -> None:
    """What is near the secret shields nothing any more: each of the copies alone tells the secret."""
    names = [f"c{k}" for k in range(length)]
    above = dict(zip(names, ["s", *names], strict=False))
    network = bp.DiscreteNetwork.from_tables(
        {"s": [0.5, 0.5], **{name: np.eye(2) for name in names}},
        states={name: ["a", "b"] for name in ("s", *names)},
        parents={name: [parent] for name, parent in above.items()},
    )
    schema = bp.Schema(records=10, columns={name: bp.Real(0, 1) for name in names})
    framework = bp.DistributionalAttributePrivacy(network, schema, "s", source="a fixture")
    calibration = bp.MarkovQuiltMechanism().calibrate(framework, bp.linear(dict.fromkeys(names, 1.0)), epsilon=2.0)
    assert calibration.scale == pytest.approx(0.5 * length)
    assert calibration.certificate.decisions[0].queried_near == set(names)


def test_secrets_of_probability_zero_are_dropped_by_name_and_refused_when_none_is_left() -> None:
    tables = {"x": [0.4, 0.6, 0.0], "y": [[0.5, 0.4, 0.3], [0.5, 0.6, 0.7]]}
    network = bp.DiscreteNetwork.from_tables(
        tables, states={"x": ["a", "b", "never"], "y": ["a", "b"]}, parents={"y": ["x"]}
    )
    schema = bp.Schema(records=10, columns={"y": bp.Real(0, 1)})
    framework = bp.DistributionalAttributePrivacy(network, schema, "x", source="a fixture")
    calibration = bp.MarkovQuiltMechanism().calibrate(framework, bp.total("y"), epsilon=1.0)
    assert any("never" in pair for pair in calibration.certificate.dropped)
    assert "never" in calibration.text
    impossible = bp.DistributionalAttributePrivacy(network, schema, {"x": bp.pairs(("a", "never"))}, source="a fixture")
    refusal = bp.MarkovQuiltMechanism().supports(impossible, bp.total("y"), epsilon=1.0)
    assert "positive probability" in str(refusal)


def test_a_quilt_too_close_to_epsilon_is_not_used() -> None:
    told = np.array([[1.0 - 1e-10, 1.0, 1.5, 0.5, -np.inf]])
    assert scales(2.0, told, 1.0).tolist() == [[np.inf, np.inf, np.inf, pytest.approx(4.0), 0.0]]
    assert scales(0.0, told, 1.0).tolist() == [[0.0, 0.0, np.inf, 0.0, 0.0]]
    assert scales(2.0, np.array([0.5]), 1.0)[0] >= 4.0


def test_gaussian_noise_needs_a_small_delta(framework) -> None:
    gaussian = bp.ColumnMechanism(noise="gaussian")
    assert "delta above 0" in str(gaussian.supports(framework, TALL, epsilon=1.0))
    assert "one over the number of records" in str(gaussian.supports(framework, TALL, epsilon=1.0, delta=1e-4))
    waived = bp.ColumnMechanism(noise="gaussian", large_delta=True)
    assert waived.supports(framework, TALL, epsilon=1.0, delta=1e-4) is None
    assert gaussian.supports(framework, TALL, epsilon=1.0, delta=1e-5) is None


def test_plan_ranks_by_expected_error_and_keeps_the_refusals(framework) -> None:
    plan = bp.plan(framework, bp.stack(TALL, HIGH), epsilon=1.0)
    errors = [calibration.expected_error for calibration in plan.calibrations]
    assert errors == sorted(errors)
    assert isinstance(plan.best.mechanism, bp.MarkovQuiltMechanism)
    refused = {str(mechanism): str(reason) for mechanism, reason in plan.refusals}
    assert "delta above 0" in refused["ColumnMechanism(noise='gaussian')"]
    assert "atoms" in refused["TightMechanism()"]
    assert "ColumnMechanism" in plan.text
    assert json.loads(plan.to_json())["document"] == "plan"
    assert list(plan.to_pandas()["scale"]) == [calibration.scale for calibration in plan.calibrations]


def test_a_custom_query_is_declared_by_the_caller(framework) -> None:
    query = bp.custom(lambda table: table["height"].max(), columns=["height"], sensitivity=100.0, span=(120, 220))
    calibration = bp.ColumnMechanism().calibrate(framework, query, epsilon=1.0)
    assert "declared by the caller" in calibration.text
    assert calibration.guarantee.kind == "certified"
    again = bp.types.Calibration.from_json(calibration.to_json(), framework, query)
    assert again.scale == calibration.scale
    with pytest.raises(CertificateError, match="custom"):
        bp.types.Calibration.from_json(calibration.to_json(), framework)
