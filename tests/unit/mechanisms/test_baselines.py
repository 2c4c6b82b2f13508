"""Baselines: what they hide is enumerated, what they do not hide is said."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.core.gaussian_curve import gaussian_delta, gaussian_mu
from bnpriv.errors import ParameterError
from bnpriv.mechanisms.baselines import group_sensitivity
from bnpriv.mechanisms.plan import STANDARD
from bnpriv.text import upper_text

Group, Record = bp.mechanisms.GroupPrivacyMechanism, bp.mechanisms.RecordPrivacyMechanism

SCHEMA = bp.Schema(records=4, columns={"x": bp.Integer(0, 2), "y": bp.Integer(0, 1)})
QUERIES = (
    bp.count(bp.col("x") == 2),
    bp.mean("x"),
    bp.stack(bp.total("x"), bp.count(bp.col("y") == 1)),
    bp.histogram("x", [0, 1, 2, 3]),
)


def answer(query: Any, table: tuple[tuple[int, int], ...]) -> np.ndarray:
    """Return the answers of the four queries on a table of (x, y)."""
    x, y = np.array(table).T
    place = QUERIES.index(query)
    if place == 3:
        return np.bincount(x, minlength=3).astype(float)
    plain = {0: [np.sum(x == 2)], 1: [x.mean()], 2: [x.sum(), np.sum(y == 1)]}
    return np.array(plain[place], dtype=float)


@pytest.mark.parametrize("query", QUERIES, ids=str)
@pytest.mark.parametrize("norm", [1, 2])
def test_the_change_of_a_group_is_enumerated(query: Any, norm: int) -> None:
    records = list(itertools.product(range(3), range(2)))
    for size in (1, 2, 4):
        most = 0.0
        for rest in itertools.combinations_with_replacement(records, 4 - size):
            changed = itertools.combinations_with_replacement(records, size)
            answers = np.array([answer(query, (*rest, *some)) for some in changed])
            apart = np.linalg.norm(answers[:, None] - answers[None], ord=norm, axis=2)
            most = max(most, float(apart.max()))
        found = group_sensitivity(query, SCHEMA, size, norm)
        assert most <= found.upper * (1 + 1e-12)
        assert found.upper <= most * (1 + 1e-9) or size > 1


def framework(records: int = 1000) -> Any:
    network = bp.DiscreteNetwork.from_tables(
        {"s": [0.5, 0.5], "x": [[0.7, 0.3], [0.3, 0.7]]},
        states={"s": ["a", "b"], "x": ["low", "high"]},
        parents={"x": ["s"]},
        level="parameters",
    )
    schema = bp.Schema(records=records, columns={"x": bp.Integer(0, 1)})
    return bp.DistributionalAttributePrivacy(network, schema, "s", source="invented")


COUNT = bp.count(bp.col("x") == 1)


def test_a_group_of_all_records_is_the_column_mechanism() -> None:
    for noise, delta in (("laplace", 0.0), ("gaussian", 1e-6)):
        asked = {"epsilon": 0.7, "delta": delta}
        whole = Group(noise=noise).calibrate(framework(), COUNT, **asked)  # type: ignore[arg-type]
        column = bp.ColumnMechanism(noise=noise).calibrate(framework(), COUNT, **asked)  # type: ignore[arg-type]
        assert whole.scale == column.scale
        assert whole.guarantee.epsilon == 0.7
        assert Group(noise=noise, size=5000).calibrate(framework(), COUNT, **asked).scale == column.scale  # type: ignore[arg-type]
        one = Record(noise=noise).calibrate(framework(), COUNT, **asked)  # type: ignore[arg-type]
        assert one.scale == Group(noise=noise, size=1).calibrate(framework(), COUNT, **asked).scale  # type: ignore[arg-type]
        assert one.scale == pytest.approx(column.scale / 1000)


def test_the_guarantee_of_the_secrets_is_what_holds() -> None:
    """All 1,000 records may change: by 1,000 scales with Laplace noise of scale 1."""
    laplace = Record().calibrate(framework(), COUNT, epsilon=1.0)
    assert laplace.guarantee.epsilon == pytest.approx(1000 / laplace.scale, rel=1e-12)
    assert laplace.guarantee.epsilon * laplace.scale >= 1000
    for size in (1, 30, 999):
        gaussian = Group(noise="gaussian", size=size).calibrate(framework(), COUNT, epsilon=1.0, delta=1e-6)
        moved = 1000 / gaussian.scale
        assert gaussian_delta(moved, gaussian.guarantee.epsilon) <= gaussian.guarantee.delta
        assert gaussian.guarantee.epsilon < moved * (moved / 2 + 6)
        assert gaussian.guarantee.epsilon >= 1.0


def test_they_say_what_they_do_not_protect() -> None:
    sentence = Record().calibrate(framework(), COUNT, epsilon=1.0).guarantee.sentence
    assert "It hides any change of one record from anybody" in sentence
    assert "does not protect properties of the table" in sentence
    assert "10^435" in sentence  # exp(1000)
    assert "use record-level differential privacy" not in sentence
    assert "any 30 records" in Group(size=30).calibrate(framework(), COUNT, epsilon=1.0).text
    assert "every property of the table" in Group().calibrate(framework(), COUNT, epsilon=1.0).guarantee.sentence


def test_no_plan_takes_them_for_the_best() -> None:
    assert not any(isinstance(each, (Group, Record)) for each in STANDARD)
    baselines = (Record(), Record(noise="gaussian"), Group(size=20))
    plain = bp.plan(framework(), COUNT, 0.5)
    plan = bp.plan(framework(), COUNT, 0.5, baselines=baselines)
    assert plan.best.to_json() == plain.best.to_json()
    assert [each.to_json() for each in plan.calibrations] == [each.to_json() for each in plain.calibrations]
    assert [str(each.mechanism) for each in plan.baselines] == [str(baselines[0]), str(baselines[2])]
    assert "Gaussian noise needs delta above 0" in str(plan.refusals[-1][1])
    assert plan.baselines[0].expected_error < plan.best.expected_error
    assert "RecordPrivacyMechanism()" in plan.text
    assert "RecordPrivacyMechanism" not in plain.text
    assert "the least expected error first; last baselines, which give another\n" in plan.text
    assert "the least expected error first\n" in plain.text
    for each in plan.baselines:
        told = f"epsilon {upper_text(each.guarantee.epsilon)} for the secrets"
        assert f"; a baseline: {told}" in plan.text
    assert "for records: a baseline, to be compared with what protects the secrets" in plan.baselines[0].text
    assert "baseline" in plan.to_markdown()
    assert len(plan.to_pandas()) == len(plan.calibrations) + 2


@pytest.mark.parametrize(
    "mechanism", [Group(), Group(size=7, noise="gaussian"), Record(), Record(noise="gaussian")], ids=str
)
def test_the_common_road(mechanism: bp.types.Mechanism) -> None:
    delta = 1e-6 if mechanism.options()["noise"] == "gaussian" else 0.0
    calibration = mechanism.calibrate(framework(), COUNT, epsilon=0.5, delta=delta)
    text = calibration.to_json()
    assert bp.types.Calibration.from_json(text, framework()).to_json() == text
    assert "<" in calibration.to_html()
    assert calibration.misspecified(1.5).epsilon == calibration.guarantee.epsilon


def test_refusals() -> None:
    given = bp.DistributionPrivacy([(bp.laws.Normal(0.0, 1.0), bp.laws.Normal(1.0, 1.0))], source="invented")
    for mechanism in (Group(), Record()):
        assert "needs a query" in str(mechanism.supports(given, epsilon=1.0))
    gaussian = Record(noise="gaussian")
    assert "delta above 0" in str(gaussian.supports(framework(), COUNT, epsilon=1.0))
    assert "one over the number of records" in str(gaussian.supports(framework(), COUNT, epsilon=1.0, delta=0.01))
    assert Record(noise="gaussian", large_delta=True).supports(framework(), COUNT, epsilon=1.0, delta=0.01) is None
    for options in ({"size": 0}, {"size": 1.5}, {"size": True}, {"noise": "normal"}, {"large_delta": 1}):
        with pytest.raises(ParameterError):
            Group(**options)  # type: ignore[arg-type]


def test_gaussian_scale() -> None:
    scale = Record(noise="gaussian").calibrate(framework(), COUNT, epsilon=1.0, delta=1e-5).scale
    assert scale == pytest.approx(1 / gaussian_mu(1.0, 1e-5), rel=1e-9)
    assert scale == pytest.approx(3.73063, rel=1e-5)
    assert math.isclose(Record().calibrate(framework(), COUNT, epsilon=0.25).scale, 4.0, rel_tol=1e-9)
