"""Probabilities of intervals against many digits: narrow cells, far tails on both sides, whole numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import mpmath as mp
import numpy as np
import pytest

import bnpriv as bp
from bnpriv.core.column_laws import CellMasses, column_law
from bnpriv.core.interval_masses import log_masses
from bnpriv.errors import LawError
from tests.later import Later

ss = Later("scipy.stats")

mp.mp.dps = 60
M = mp.mpf

WIDTHS = (1e-17, 1e-15, 1e-12, 1e-9, 1e-6, 1e-3, 0.1)

FAMILIES: dict[str, tuple[Callable[[], Any], Callable[[Any], Any], list[float]]] = {
    "norm": (
        lambda: ss.norm(3, 2),
        lambda x: -(((x - 3) / 2) ** 2) / 2 - mp.log(8 * mp.pi) / 2,
        [3.0, 5.0, -7.0, 80.0, -70.0],
    ),
    "expon": (lambda: ss.expon(1, 3), lambda x: -(x - 1) / 3 - mp.log(3), [1.0, 1.5, 20.0, 500.0, 3000.0]),
    "gamma .3": (
        lambda: ss.gamma(0.3),
        lambda x: (M(0.3) - 1) * mp.log(x) - x - mp.loggamma(M(0.3)),
        [1e-9, 0.5, 30.0, 800.0],
    ),
    "gamma 30": (lambda: ss.gamma(30), lambda x: 29 * mp.log(x) - x - mp.loggamma(30), [1e-3, 20.0, 30.0, 900.0]),
    "chi2": (
        lambda: ss.chi2(5),
        lambda x: M(1.5) * mp.log(x) - x / 2 - M(2.5) * mp.log(2) - mp.loggamma(M(2.5)),
        [1e-6, 5.0, 3000.0],
    ),
    "beta 2 3": (lambda: ss.beta(2, 3), lambda x: mp.log(x) + 2 * mp.log(1 - x) + mp.log(12), [1e-8, 0.3, 0.9]),
    "beta .5 4": (
        lambda: ss.beta(0.5, 4),
        lambda x: -mp.log(x) / 2 + 3 * mp.log(1 - x) - mp.log(mp.beta(M(0.5), 4)),
        [1e-8, 0.3, 0.8],
    ),
    "uniform": (lambda: ss.uniform(1, 4), lambda x: -mp.log(4) + 0 * x, [1.0, 1.5, 3.0]),
    "t": (
        lambda: ss.t(3),
        lambda x: mp.loggamma(2) - mp.loggamma(M(1.5)) - mp.log(3 * mp.pi) / 2 - 2 * mp.log(1 + x * x / 3),
        [0.0, 1.7, -30.0, 1e4],
    ),
    "cauchy": (lambda: ss.cauchy(), lambda x: -mp.log(mp.pi * (1 + x * x)), [0.0, 1.0, -50.0, 1e5]),
    "logistic": (lambda: ss.logistic(), lambda x: -x - 2 * mp.log(1 + mp.exp(-x)), [0.0, 5.0, -300.0, 800.0]),
    "laplace": (lambda: ss.laplace(), lambda x: -abs(x) - mp.log(2), [-1e-18, 0.0, 5.0, -600.0]),
    "lognorm": (
        lambda: ss.lognorm(0.7),
        lambda x: -mp.log(x) - mp.log(x) ** 2 / (2 * M(0.7) ** 2) - mp.log(M(0.7)) - mp.log(2 * mp.pi) / 2,
        [1e-4, 1.0, 1.6, 1e4],
    ),
    "gumbel_r": (lambda: ss.gumbel_r(), lambda x: -x - mp.exp(-x), [-6.0, 0.0, 50.0, 900.0]),
    "gumbel_l": (lambda: ss.gumbel_l(), lambda x: x - mp.exp(x), [6.0, 0.0, -50.0, -900.0]),
    "weibull 2.5": (
        lambda: ss.weibull_min(2.5),
        lambda x: mp.log(M(2.5)) + M(1.5) * mp.log(x) - x ** M(2.5),
        [1e-6, 1.0, 10.0],
    ),
    "weibull .5": (lambda: ss.weibull_min(0.5), lambda x: -mp.log(2) - mp.log(x) / 2 - mp.sqrt(x), [1e-6, 1.0, 10.0]),
    "pareto": (lambda: ss.pareto(1.5), lambda x: mp.log(M(1.5)) - M(2.5) * mp.log(x), [1.001, 5.0, 1e8]),
    "halfnorm": (lambda: ss.halfnorm(), lambda x: -x * x / 2 + mp.log(2 / mp.pi) / 2, [1e-9, 1.0, 45.0]),
    "rayleigh": (lambda: ss.rayleigh(), lambda x: mp.log(x) - x * x / 2, [1e-9, 1.0, 45.0]),
}


def parameters(distribution: Any) -> dict[str, float]:
    law = column_law(distribution, bp.Real(0, 1))
    return dict(law.parameters)  # type: ignore[union-attr]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("family", FAMILIES)
def test_cells_of_every_width_against_many_digits(family: str) -> None:
    """Row 8: no mass of a narrow or far cell is lost, and none is off by more than is said."""
    made, log_density, starts = FAMILIES[family]
    distribution = made()
    for start in starts:
        for width in WIDTHS:
            end = max(start + width * max(1.0, abs(start)), math.nextafter(start, math.inf))
            end = min(end, start + width) if abs(start) < 1e-2 and start + width > start else end
            logs, errors = log_masses(
                distribution, distribution.dist.name, parameters(distribution), np.array([start]), np.array([end])
            )
            points = [M(start), *([M(0)] if start < 0 < end else []), M(end)]
            top = log_density(M(start if start > 0 or family not in ("weibull .5",) else end))
            truth = mp.log(mp.quad(lambda x, top=top: mp.exp(log_density(x) - top), points)) + top
            assert abs(float(M(float(logs[0])) - truth)) <= errors[0], (start, width)
            assert errors[0] < 1e-4, (start, width)


def test_far_tails_on_both_sides() -> None:
    for sign in (-1, 1):
        cut = sign * np.array([30.0, 40.0, 1000.0])
        ends = (np.full(3, -math.inf), cut) if sign < 0 else (cut, np.full(3, math.inf))
        logs, errors = log_masses(ss.norm(), "norm", {"loc": 0.0, "scale": 1.0}, *ends)
        # Mills' ratio by its asymptotic series, which is good to 1e-7 at 30 and far better beyond
        truth = [
            -(x**2) / 2 - math.log(x) - math.log(2 * math.pi) / 2 + math.log1p(-1 / x**2 + 3 / x**4) for x in abs(cut)
        ]
        assert np.max(np.abs(logs - truth)) < 1e-6
        assert np.all(errors < 1e-7)
    logs, errors = log_masses(
        ss.gamma(2), "gamma", {"a": 2.0, "loc": 0.0, "scale": 1.0}, np.array([900.0]), np.array([math.inf])
    )
    assert abs(logs[0] - (math.log(901) - 900)) <= errors[0] < 1e-4  # (1 + x) exp(-x), which is no double


def test_whole_numbers() -> None:
    for distribution, exact in (
        (ss.poisson(2.5), lambda k: M(2.5) ** k * mp.exp(-M(2.5)) / mp.factorial(k)),
        (ss.binom(40, 0.3), lambda k: mp.binomial(40, k) * M(0.3) ** k * (1 - M(0.3)) ** (40 - k)),
        (ss.geom(0.2), lambda k: M(0.2) * (1 - M(0.2)) ** (k - 1)),
    ):
        named = distribution.dist.name
        for first, last in ((3, 3), (1, 4), (30, 40)):
            starts, ends = np.array([first - 0.5]), np.array([last + 0.5])
            logs, errors = log_masses(distribution, named, parameters(distribution), starts, ends)
            truth = mp.log(sum(exact(k) for k in range(first, last + 1)))
            assert abs(float(M(float(logs[0])) - truth)) <= errors[0] < 1e-9
    logs, errors = log_masses(ss.poisson(2.5), "poisson", {"mu": 2.5, "loc": 0.0}, np.array([400.5]), np.array([401.5]))
    assert abs(float(M(float(logs[0])) - (401 * mp.log(M(2.5)) - M(2.5) - mp.loggamma(402)))) <= errors[0] < 1e-9


def test_nothing_is_a_zero_only_outside_the_support() -> None:
    place = {"loc": 0.0, "scale": 1.0}
    starts, ends = np.array([-5.0, -1.0, 2.0]), np.array([-4.0, 0.0, math.inf])
    logs, errors = log_masses(ss.expon(), "expon", place, starts, ends)
    assert logs[:2].tolist() == [-math.inf, -math.inf]
    assert errors[:2].tolist() == [0.0, 0.0]
    assert logs[2] == pytest.approx(-2.0, abs=1e-12)


def test_a_family_of_ones_own_is_an_estimate_and_refused_where_it_is_narrow() -> None:
    class Narrow(ss.rv_continuous):
        """A family of one's own, whose accuracy nobody knows."""

        def _cdf(self, x: Any) -> Any:
            return np.clip(x, 0.0, 1.0)

    law = column_law(Narrow(a=0.0, b=1.0, name="narrow")(), bp.Real(0, 1))
    assert not isinstance(law, CellMasses)
    assert law.kind == "estimate"  # type: ignore[union-attr]
    wide = law.cells([0.25], lambda x: x < 0.25)
    assert np.exp(wide.logs).tolist() == pytest.approx([0.25, 0.75], rel=1e-9)
    with pytest.raises(LawError, match="must be known"):
        law.cells([0.25, 0.25 + 1e-14], lambda x: 0.25 <= x < 0.25 + 1e-14)


def test_two_doubles_with_none_between_them() -> None:
    low = 0.1
    high = math.nextafter(low, 1.0)
    law = column_law(ss.norm(0, 1), bp.Real(-10, 10))
    found = law.cells([low, high], lambda x: low <= x < high)
    place = [k for k, value in enumerate(found.values) if low <= value < high]
    truth = math.log(high - low) - low**2 / 2 - math.log(2 * math.pi) / 2
    assert np.logaddexp.reduce(found.logs[place]) == pytest.approx(truth, abs=1e-12)


@pytest.mark.parametrize(("low", "scale"), [(0.0, 3.0), (0.0, 7.0), (1.0, 0.1), (100.0, 50.0), (-1.0, 2.2)])
def test_next_to_the_upper_edge_of_a_uniform_law(low: float, scale: float) -> None:
    """(x - loc) / scale is rounded: 1 minus it may be off by a third, a few doubles below the edge."""
    start = high = low + scale
    for doubles in range(1, 60):
        start = math.nextafter(start, -math.inf)
        parameters = {"loc": low, "scale": scale}
        for end in (high, math.inf):
            logs, errors = log_masses(ss.uniform(low, scale), "uniform", parameters, np.array([start]), np.array([end]))
            true = mp.log((M(low) + M(scale) - M(start)) / M(scale))
            assert abs(M(float(logs[0])) - true) <= errors[0], doubles


@pytest.mark.parametrize("start", [50 * (1 + 2.0**-50), 50 * (1 + 2.0**-44), 50.001])
def test_next_to_the_lower_edge_of_a_pareto_law(start: float) -> None:
    parameters = {"b": 0.06, "loc": 0.0, "scale": 50.0}
    logs, errors = log_masses(ss.pareto(0.06, 0, 50), "pareto", parameters, np.array([50.0]), np.array([start]))
    assert abs(M(float(logs[0])) - mp.log(-mp.expm1(-M(0.06) * mp.log(M(start) / 50)))) <= errors[0]


def test_an_edge_of_a_support_that_is_no_double_loses_no_mass() -> None:
    """1 + 0.001 is rounded down; 0.4 % of the law lie beyond, and belong to the last double of the support."""
    law, parameters = ss.beta(0.13, 0.1666, 1, 0.001), {"a": 0.13, "b": 0.1666, "loc": 1.0, "scale": 0.001}
    middle = np.array([1.0005])
    below, _ = log_masses(law, "beta", parameters, np.array([-math.inf]), middle)
    above, errors = log_masses(law, "beta", parameters, middle, np.array([math.inf]))
    assert abs(np.exp(below[0]) + np.exp(above[0]) - 1) <= 1e-12
    assert errors[0] < 1e-9


def test_uniform_laws_that_differ_next_to_the_edge_are_never_called_alike() -> None:
    """P(2.9999999999999996 < x <= 3) is a third larger on (0, 3) than on (0, 4): 29 nats over 100 records."""
    network = bp.DiscreteNetwork.from_tables({"x": [0.5, 0.5]}, states={"x": ["a", "b"]}, parents={})
    schema = bp.Schema(records=100, columns={"x": bp.Real(0, 10)})
    laws = {"x": {"a": ss.uniform(0, 3), "b": ss.uniform(0, 4)}}
    framework = bp.DistributionalAttributePrivacy(network, schema, "x", source="a test", laws=laws)
    query = bp.count((bp.col("x") > math.nextafter(3, 0)) & (bp.col("x") <= 3.0))
    found = bp.TightMechanism().supports(framework, query, epsilon=1.0)
    assert found is not None or bp.TightMechanism().calibrate(framework, query, epsilon=1.0).scale > 0


def test_what_lies_at_a_lower_edge_that_is_no_double_is_not_called_impossible() -> None:
    """1e9 + .1 lies below the double that stands for it, which has a chance of its own of 7e-5."""
    law, parameters = ss.pareto(300, loc=1e9, scale=0.1), {"b": 300.0, "loc": 1e9, "scale": 0.1}
    edge = law.support()[0]
    starts, ends = np.array([-math.inf, edge, -math.inf]), np.array([edge, math.inf, edge - 1])
    logs, errors = log_masses(law, "pareto", parameters, starts, ends)
    assert errors.tolist() == [math.inf, math.inf, 0.0]
    assert logs[2] == -math.inf


def test_families_without_a_known_edge_are_still_estimates() -> None:
    law, parameters = ss.truncnorm(-2, 2, loc=1), {"a": -2.0, "b": 2.0, "loc": 1.0, "scale": 1.0}
    logs, errors = log_masses(law, "truncnorm", parameters, np.array([-math.inf, 0.5]), np.array([0.5, math.inf]))
    assert np.all(errors < 1e-9)
    assert np.exp(logs).sum() == pytest.approx(1)
