"""What lies between the points of every grid is never called a small number (docs/claims/quadrature.md)."""

from __future__ import annotations

import pytest

import bnpriv as bp
from bnpriv.core.networks.base import ImportReport
from tests.narrow import KINDS, Narrow, narrow


def check(case: Narrow) -> None:
    """Compare with the answers of one who knows where to look."""
    influence, delta = case.answers()
    found = case.told()
    assert float(found) > influence - 1e-3, case.text
    assert found.delta(0.25) > 0.97 * delta - 1e-5, case.text


@pytest.mark.parametrize("seed", range(len(KINDS)))
def test_narrow_effects_are_not_missed(seed: int) -> None:
    check(narrow(seed))


@pytest.mark.long
@pytest.mark.parametrize("seed", range(len(KINDS), 60))
def test_many_narrow_effects_are_not_missed(seed: int) -> None:
    check(narrow(seed))


def test_a_wide_window_settles() -> None:
    """The twin of the narrow ones: where grids hold what is there, the value is the answer."""
    case = next(each for each in map(narrow, range(0, 4000, 4)) if "line t" in each.text and _width(each) > 15)
    assert float(case.told()) == pytest.approx(case.answers()[0], abs=2e-3)


def _width(case: Narrow) -> float:
    return float(case.text.split("width ")[1].split()[0])


def test_no_noise_is_not_an_answer() -> None:
    """An effect of 2.4 nats was taken for 0, and the mean of y released as it is."""
    network = narrow(0).network
    read = type(network)(
        parameters=network.parameters,
        model_hash=network.model_hash,
        simulator=network.simulator,
        reading=ImportReport(nodes=(), columns={"y": ("y",)}, identity=network.model_hash),
    )
    schema = bp.Schema(records=50, columns={"y": bp.Real(-5, 15)})
    secrets = {"a": bp.intervals((0.3, 1.0))}
    framework = bp.DistributionalAttributePrivacy(read, schema, secrets, source="a random draw")
    for delta in (0.0, 1e-4):
        calibration = bp.MarkovQuiltMechanism().calibrate(framework, bp.mean("y"), epsilon=0.25, delta=delta)
        assert calibration.scale >= 20 / 0.25 * (1 - 1e-3)
