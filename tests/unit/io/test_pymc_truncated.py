"""Parameters whose law pm.Truncated cuts off: their density, against closed forms."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import bnpriv as bp
from tests.later import optional

pm = optional("pymc")

POINTS = np.array([0.4, 0.6, 2.0, 3.9, 4.1])


def model(lower: float | None, upper: float | None) -> Any:
    with pm.Model() as found:
        rate = pm.HalfNormal("rate", 1.0)
        level = pm.Truncated("level", pm.Gamma.dist(2.0, rate), lower=lower, upper=upper, shape=2)
        pm.Normal("y", level[0] + level[1], 1.0, observed=np.zeros(5))
    return found


def gamma_cdf(x: float, rate: float) -> float:
    return 1 - np.exp(-rate * x) * (1 + rate * x)


@pytest.mark.parametrize(("lower", "upper"), [(0.5, 4.0), (0.5, None), (None, 4.0)])
def test_the_density_is_that_of_the_law_between_its_ends(lower: float | None, upper: float | None) -> None:
    network = bp.from_pymc(model(lower, upper))
    parameter = network.parameters["level[1]"]
    assert parameter.parents == ("rate",)
    assert parameter.is_continuous
    assert (parameter.lower, parameter.upper) == (lower or 0.0, np.inf if upper is None else upper)
    rates = np.array([0.7, 1.3, 1.3, 2.0, 1.3])
    low, high = lower or 0.0, np.inf if upper is None else upper
    for x, rate, found in zip(POINTS, rates, parameter.log_density(POINTS, rates), strict=True):
        above = 1.0 if upper is None else gamma_cdf(upper, rate)
        exact = 2 * np.log(rate) + np.log(x) - rate * x - np.log(above - gamma_cdf(low, rate))
        assert found == (pytest.approx(exact, abs=1e-9) if low <= x <= high else -np.inf)
    drawn = network.simulate(("level[0]", "level[1]"), 2000, seed=0, given={"rate": 1.3}, records=5)
    edges = np.linspace(low, min(high, 9.0), 40_001)
    middle = (edges[1:] + edges[:-1]) / 2
    density = np.exp(parameter.log_density(middle, np.full(len(middle), 1.3)))
    weights = density * np.diff(edges)
    assert weights.sum() == pytest.approx(1.0, abs=2e-3)
    for values in drawn.values():
        assert values.mean() == pytest.approx(float(weights @ middle), abs=0.1)


def test_entries_that_are_cut_off_tell_about_what_is_above_them() -> None:
    network = bp.from_pymc(model(0.5, 4.0))
    private = bp.DistributionalAttributePrivacy(
        network, bp.Schema(records=5, columns={"y": bp.Real(-5, 15)}), {"rate": bp.pairs((0.5, 2.0))}, source="s"
    )
    told = bp.max_influence(network, {"level[0]"}, "rate", pairs=bp.pairs((0.5, 2.0)))
    edges = np.array([0.5, 4.0])
    logs = [
        2 * np.log(rate) - rate * edges - np.log(gamma_cdf(4.0, rate) - gamma_cdf(0.5, rate)) for rate in (0.5, 2.0)
    ]
    assert float(told) == pytest.approx(float(np.abs(logs[0] - logs[1]).max()), rel=0.02)
    assert private.network.reading.nodes[1].treatment == "quadrature"


def test_laws_without_a_distribution_function_are_drawn_only() -> None:
    with pm.Model() as found:
        angle = pm.Truncated("angle", pm.VonMises.dist(0.0, 2.0), lower=-1.0, upper=1.0)
        pm.Normal("y", angle, 1.0, observed=np.zeros(3))
    parameter = bp.from_pymc(found).parameters["angle"]
    assert parameter.log_density is None
