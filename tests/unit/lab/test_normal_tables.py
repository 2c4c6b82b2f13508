"""Made-up tables and rehearsals where records or parameters are jointly normal."""

from __future__ import annotations

import numpy as np
import pytest

import bnpriv as bp
from tests.kinds import KINDS, SCHOOL
from tests.later import Later

stats = Later("scipy.stats")


def parameters() -> bp.DistributionalAttributePrivacy:
    network = bp.types.GaussianNetwork.linear(
        {"income": 100.0, "school": 100.0, "sat": 540.0},
        {"income": 5.0, "school": 1.0, "sat": 50.0},
        {"sat": {"income": 1.0, "school": 1.0}},
    )
    given = {"income": stats.norm(0, 10), "sat": stats.norm(0, 90)}
    return bp.DistributionalAttributePrivacy(
        network, SCHOOL, {"income": bp.apart(at_most=2)}, source="invented", laws=given
    )


def test_records_have_the_declared_law() -> None:
    framework = KINDS["normal"]().framework
    table = bp.simulate(framework, 50_000, seed=1)
    assert table["income"].mean() == pytest.approx(100, abs=0.1)
    assert table["sat"].std() == pytest.approx(np.hypot(50, np.hypot(10 * 0.1 * 5, 20)), rel=0.02)
    assert np.cov(table["income"], table["sat"])[0, 1] == pytest.approx(25.0, rel=0.2)


def test_a_property_has_the_value_that_is_assumed() -> None:
    framework = KINDS["normal"]().framework
    table = bp.simulate(framework, 400, secret={"income": 104.0}, seed=2)
    assert table["income"].mean() == pytest.approx(104.0, abs=1e-9)
    assert "probability of the secret" not in table.attrs
    table = bp.simulate(framework, 100, secret={"income": (101.0, 200.0)}, seed=3)
    assert table["income"].mean() > 101
    assert table.attrs["probability of the secret"] == pytest.approx(stats.norm.sf(2.0), rel=1e-6)
    means = [bp.simulate(framework, 100, secret={"income": 110.0}, seed=k)["sat"].mean() for k in range(60)]
    assert np.mean(means) == pytest.approx(640 + 120 + 10 * 10 * 0.1 + 100, abs=2.5)


def test_parameters_have_the_value_that_is_assumed() -> None:
    tables = [bp.simulate(parameters(), 400, secret={"income": 90.0}, seed=k) for k in range(30)]
    assert np.mean([table["income"].mean() for table in tables]) == pytest.approx(90.0, abs=0.5)
    found = bp.simulate(parameters(), 10, secret={"income": (100.0, 200.0)})
    assert found.attrs["probability of the secret"] == pytest.approx(0.5)
    with pytest.raises(bp.errors.SecretError, match="one property"):
        bp.simulate(parameters(), 10, secret={"income": 90.0, "sat": 1.0})
    with pytest.raises(bp.errors.SecretError, match="two ends"):
        bp.simulate(parameters(), 10, secret={"income": (3.0, 2.0)})


def test_a_rehearsal_of_normal_laws_keeps_its_bound() -> None:
    for framework in (KINDS["normal"]().framework, parameters()):
        calibration = bp.WassersteinMechanism().calibrate(framework, "mean(sat)", 1.0)
        rehearsal = bp.rehearse(calibration, 400)
        assert rehearsal.correct <= rehearsal.bound + 0.06
        assert str(rehearsal.pair) == "99 against 101"
