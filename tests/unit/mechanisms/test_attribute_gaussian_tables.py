"""Gaussian noise for linear answers of normal records and parameters: the laws by conditioning whole tables."""

from __future__ import annotations

import math

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.core.gaussian_curve import gaussian_delta, gaussian_ratio
from tests.normal_tables import Question, question, whole_table

Mechanism = bp.mechanisms.AttributeGaussianMechanism


def length(asked: Question, scale: float) -> float:
    """Return how long the gap between two secrets is in deviations of what is released, by the law of whole tables."""
    table = whole_table(asked)
    gap = table.answers @ table.slope * asked.apart
    covariance = table.answers @ table.covariance @ table.answers.T + scale**2 * np.eye(len(gap))
    return float(math.sqrt(max(0.0, gap @ np.linalg.solve(covariance, gap))))


@pytest.mark.parametrize("level", ["records", "parameters"])
@pytest.mark.parametrize("numbers", [1, 2])
def test_tables_of_normal_records(level: str, numbers: int) -> None:
    served = noisy = 0
    for seed in range(40):
        random = np.random.default_rng(seed)
        asked = question(random, level=level, numbers=numbers)
        epsilon, delta = float(random.uniform(0.2, 3)), float(10 ** random.uniform(-6, -1.5))
        mechanism = Mechanism(large_delta=True)
        if mechanism.supports(asked.framework, asked.query, epsilon, delta) is not None:
            continue  # the secret settles the answer
        served += 1
        calibration = mechanism.calibrate(asked.framework, asked.query, epsilon, delta)
        told = length(asked, calibration.scale)
        assert gaussian_delta(told, epsilon) <= calibration.guarantee.delta * (1 + 1e-6)
        assert calibration.guarantee.kind == "certified"
        assert calibration.scale > 0  # grids are hidden by noise
        pairs = [pair for each in asked.laws.constraints() for pair in each.pairs]
        clamped = max(pair.departure.mass for pair in pairs)
        ratio = gaussian_ratio(epsilon, delta - (1 + math.exp(epsilon)) * clamped)
        rounding = max(pair.rounding for pair in pairs)
        if numbers == 1 and calibration.scale > 50 * rounding / ratio:
            noisy += 1
            assert told >= 0.97 * ratio
    assert served >= 8
    assert noisy >= 3 or numbers > 1


def test_clamped_records_are_paid_for_or_refused() -> None:
    random = np.random.default_rng(5)
    near = question(random, wide=3.0)
    refusal = Mechanism(large_delta=True).supports(near.framework, near.query, 1.0, 1e-6)
    assert "clamped" in str(refusal) or "inverse" in str(refusal)


def exams(**options: object) -> tuple[bp.DatasetAttributePrivacy, bp.types.Query]:
    network = bp.types.GaussianNetwork.linear(
        {"hours": 20.0, "score": 20.0}, {"hours": 5.0, "score": 10.0}, {"score": {"hours": 2.0}}, level="records"
    )
    schema = bp.Schema(records=100, columns={"hours": bp.Real(-60, 100), "score": bp.Real(-200, 320)})
    secret = bp.Secret(bp.mean("hours"), **{"pairs": bp.apart(at_most=1), **options})  # type: ignore[arg-type]
    return bp.DatasetAttributePrivacy(network, schema, {"hours": secret}, source="invented"), bp.mean("score")


def test_what_is_known_of_the_mean_of_normal_records() -> None:
    """The mean of the scores given that of the hours has slope 2 and variance 100 / 100."""
    framework, query = exams()
    for constant in ("analytic", "textbook", "lecture"):
        calibration = Mechanism(constant=constant).calibrate(framework, query, 0.5, 1e-4)  # type: ignore[arg-type]
        needed = (2 / gaussian_ratio(0.5, 1e-4, constant)) ** 2 - 1  # type: ignore[arg-type]
        assert calibration.scale**2 == pytest.approx(needed, rel=2e-3)
    again = bp.types.Calibration.from_json(calibration.to_json(), framework)
    assert again.to_json() == calibration.to_json()
    plan = bp.plan(framework, query, 0.5, 1e-4)
    assert "AttributeGaussianMechanism()" in [str(each.mechanism) for each in plan.calibrations]
    report = bp.influence_report(framework, query, 0.5, 1e-4)
    assert "AttributeGaussianMechanism" in report.to_html()


def test_sets_of_values_need_the_gap_between_their_members() -> None:
    """Ranges whose middles are 2 apart have members 3 apart."""
    framework, query = exams(pairs=bp.intervals(((19.0, 20.0), (21.0, 22.0))))
    scale = Mechanism().calibrate(framework, query, 0.5, 1e-4).scale
    farthest = math.sqrt((6 / gaussian_ratio(0.5, 1e-4)) ** 2 - 1)
    middles = math.sqrt((4 / gaussian_ratio(0.5, 1e-4)) ** 2 - 1)
    assert scale == pytest.approx(farthest, rel=2e-3)
    assert scale > 1.4 * middles
