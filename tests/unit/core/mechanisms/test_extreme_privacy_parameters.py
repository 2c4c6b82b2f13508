"""Row 42 of the reliability contract: extreme epsilon and delta give a result, or our error before any work."""

from __future__ import annotations

import json
import math

import pytest

import bnpriv as bp
from bnpriv import checks
from bnpriv.core.gaussian_curve import gaussian_mu
from bnpriv.core.mechanisms import law_mechanisms
from bnpriv.errors import ParameterError, RefusedError
from bnpriv.io.examples import example_path

OUTSIDE = (5e-324, 1e-300, 1e-12, 9.9e-9, 100.1, 709.0, 709.8, 745.0, 1000.0, 1e16, 1e100, 1e300, 1.79e308)
DELTAS = (0.0, 5e-324, 1 - 2**-53)


def strict(text: str) -> dict[str, object]:
    """Parse JSON in which NaN and infinity do not occur."""

    def refuse(constant: str) -> object:
        raise AssertionError(f"{constant} in JSON")

    return json.loads(text, parse_constant=refuse)


def first_query(name: str) -> bp.types.Query:
    return next(iter(bp.read_queries(example_path(name)).values()))


@pytest.mark.parametrize("epsilon", OUTSIDE)
def test_row_42_epsilon_out_of_range_is_refused_before_any_work(monkeypatch, epsilon: float) -> None:
    framework, query = bp.example("student"), first_query("student")
    monkeypatch.setattr("bnpriv.core.mechanisms.base.Mechanism._decided", None)  # where every mechanism begins
    for ask in (
        lambda: bp.plan(framework, query, epsilon=epsilon),
        lambda: bp.MarkovQuiltMechanism().calibrate(framework, query, epsilon=epsilon),
        lambda: bp.TightMechanism().supports(framework, query, epsilon=epsilon, delta=1e-9),
        lambda: bp.influence_report(framework, query, epsilon),
        lambda: bp.tradeoff(framework, query, [1.0, epsilon]),
        lambda: bp.compare(framework, framework, query, epsilon=epsilon),
    ):
        with pytest.raises(ParameterError, match=r"epsilon must be from 1e-08 to 100; found"):
            ask()


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("epsilon", [checks.LEAST_EPSILON, checks.LARGEST_EPSILON])
@pytest.mark.parametrize("name", ["four-people", "activity"])
def test_row_42_every_rendering_at_the_ends_of_the_range(name: str, epsilon: float, delta: float) -> None:
    plan = bp.plan(bp.example(name), first_query(name), epsilon=epsilon, delta=delta)
    assert strict(plan.to_json())["data"]["calibrations"]
    for text in (plan.text, plan.to_html(), plan._repr_html_()):
        assert "NoNoise where" not in text
        assert "nan" not in text.split()
    for calibration in plan.calibrations:
        assert 0 <= calibration.scale < math.inf
        assert strict(calibration.to_json())
        for text in (calibration.text, calibration.to_html(), calibration._repr_html_()):
            assert "factor inf" not in text


@pytest.mark.parametrize("epsilon", [checks.LEAST_EPSILON, checks.LARGEST_EPSILON])
def test_row_42_reports_at_the_ends_of_the_range(epsilon: float) -> None:
    report = bp.influence_report(bp.example("student"), first_query("student"), epsilon)
    assert strict(report.to_json())
    for text in (report.text, report.to_html(), report.to_markdown()):
        assert "nan" not in text.split()


def test_row_42_a_tiny_delta_never_asks_for_more_than_none() -> None:
    """What is computed of a curve is rounded up, above such a delta; the largest ratio needs no delta at all."""
    query = bp.parse_query("count(blood_pressure >= 140)")
    pure, tiny = (
        bp.MarkovQuiltMechanism().calibrate(bp.example("clinic"), query, epsilon=1e-6, delta=delta).scale
        for delta in (0.0, 5e-324)
    )
    assert tiny <= pure * (1 + 1e-12) < math.inf


def test_row_42_a_plan_lists_a_mechanism_that_finds_no_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    """A curve with Gaussian noise is rounded up by more than delta at a large epsilon: that ends no plan."""
    points = bp.laws.Atoms([0], [1.0]), bp.laws.Atoms([1], [1.0])
    framework, query = bp.DistributionPrivacy([points], source="a textbook"), None
    # the distance of the laws is enough, and so is the curve in logs; as if neither were known
    assert bp.TightMechanism(noise="gaussian").calibrate(framework, query, epsilon=60.0, delta=1e-9).scale < math.inf
    monkeypatch.setattr(law_mechanisms._TightSearch, "_enough", lambda *_: math.inf)
    monkeypatch.setattr(law_mechanisms, "gaussian_tail_delta", lambda *_: math.inf)
    with pytest.raises(RefusedError, match="must be computed more closely"):
        bp.TightMechanism(noise="gaussian").calibrate(framework, query, epsilon=60.0, delta=1e-9)
    plan = bp.plan(framework, query, epsilon=60.0, delta=1e-9)
    assert any("more closely" in str(refusal) for _, refusal in plan.refusals)
    assert plan.calibrations


def test_row_42_a_curve_may_be_asked_for_what_rounding_leaves() -> None:
    assert 0 < gaussian_mu(1e-12, 1e-9) < gaussian_mu(1e-8, 1e-9)
    assert gaussian_mu(1e300, 1e-9) == gaussian_mu(checks.LARGEST_EPSILON, 1e-9)
