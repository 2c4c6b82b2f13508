"""Laws below weighted draws of a posterior, against closed forms (docs/claims/belief.md, claim 4)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.core.evidence.laws import laws
from bnpriv.core.networks.base import ImportReport, Posterior
from bnpriv.errors import BnprivError, NetworkError
from bnpriv.kinds.density.network import DensityNetwork, Parameter
from bnpriv.kinds.draws.parameter_draws import ParameterDraws, weighted_rows
from tests.unit.core.evidence.test_posterior_laws import TIGHT, beta_binomial, exact_scale, framework, network

CASE = beta_binomial()
RARE = ((0.74, 0.77), (0.78, 0.81))
"""Secrets that the posterior, Beta(12, 18), has about once in 20,000 draws and once in 250,000."""


def wider(count: int, a: float = 2.0, b: float = 2.0, seed: int = 11) -> DensityNetwork:
    """Return draws of Beta(a, b), weighted to be those of the posterior."""
    values = np.random.default_rng(seed).beta(a, b, count)
    logs = (12 - a) * np.log(values) + (18 - b) * np.log1p(-values) + 123.0
    plain = network(CASE, values)
    return replace(plain, drawn=replace(plain.drawn, log_weights=logs))


def test_weighted_draws_need_the_noise_of_the_closed_form() -> None:
    known = wider(600_000).with_sampling(draws=100_000, seed=2, cells=1000)
    found = TIGHT.calibrate(framework(CASE, known), CASE.query, epsilon=1.0, delta=1e-3)
    assert found.guarantee.kind == "estimate"
    assert found.scale == pytest.approx(exact_scale(CASE, 1.0, 1e-3), rel=0.02)
    assert "weighted draws of a posterior" in " ".join(found.certificate.notes)


def test_rare_secrets_are_known_by_draws_of_a_wider_law() -> None:
    plain = network(CASE, CASE.values(np.random.default_rng(5), 20_000)).with_sampling(draws=20_000)
    with pytest.raises(BnprivError, match="log_weights="):
        TIGHT.calibrate(framework(CASE, plain, RARE), CASE.query, epsilon=1.0, delta=1e-3)
    known = wider(40_000).with_sampling(draws=20_000)
    (constraint,) = laws(framework(CASE, known, RARE), CASE.query).constraints()
    (pair,) = constraint.pairs
    assert 100 < pair.sampled.effective < 2000
    for law, side in ((pair.first, RARE[0]), (pair.second, RARE[1])):
        exact = CASE.law(*side)
        assert law.mean[0] == pytest.approx(float(exact.mean[0]), abs=0.15)
        unweighted = np.mean(side) * 50  # planted: draws that count alike lie higher in the secret
        assert abs(law.mean[0] - float(exact.mean[0])) < abs(unweighted - float(exact.mean[0]))


def test_a_few_draws_with_all_the_weight_are_refused() -> None:
    with pytest.raises(BnprivError, match=r"worth 100 independent ones"):
        TIGHT.calibrate(framework(CASE, wider(2000, 40, 4)), CASE.query, epsilon=1.0, delta=1e-3)


def test_weighted_draws_carry_no_confidence() -> None:
    known = wider(50_000).with_sampling(draws=1000, confidence=0.9)
    with pytest.raises(BnprivError, match="draws of the posterior itself"):
        TIGHT.calibrate(framework(CASE, known), CASE.query, epsilon=1.0, delta=0.3)


def test_weights_that_stand_still_are_worth_less() -> None:
    known = wider(8000).drawn
    stuck = replace(
        known,
        values={"theta": np.repeat(known.values["theta"][:200], 40)},
        log_weights=np.repeat(known.log_weights[:200], 40),
        chains=4,
        posterior=replace(known.posterior, independent=False),
    )
    assert stuck.effective("theta", 0.25, 0.35, ["theta"]) < 0.1 * known.effective("theta", 0.25, 0.35, ["theta"])


@pytest.mark.parametrize("logs", [[0.0], [0.0, np.nan], [0.0, -np.inf], [0.0, np.inf]])
def test_weights_that_are_no_numbers_are_refused(logs: list[float]) -> None:
    source = Posterior(source="s", draws=2)
    with pytest.raises(NetworkError, match="finite numbers, as many of each"):
        ParameterDraws(
            values={"theta": np.array([1.0, 2.0])},
            reading="belief",
            chains=1,
            posterior=source,
            log_weights=np.array(logs),
        )


def test_weights_are_part_of_what_a_framework_is() -> None:
    known = wider(1000)
    other = replace(known, drawn=replace(known.drawn, log_weights=known.drawn.log_weights[::-1].copy()))
    assert framework(CASE, known).fingerprint() != framework(CASE, other).fingerprint()


def test_each_draw_comes_as_often_as_its_weight_asks_for_up_to_one() -> None:
    random = np.random.default_rng(3)
    weights = np.exp(random.normal(0, 4, 500)) * (random.random(500) < 0.7)
    counts = np.bincount(weighted_rows(np.arange(500), weights, 3000, random), minlength=500)
    assert np.abs(counts - 3000 * weights / weights.sum()).max() < 1 + 1e-9
    assert not counts[weights == 0].any()


def nuisance(
    names: Iterable[str], draws: int, *, seed: int, given: Mapping[str, object], records: int
) -> dict[str, np.ndarray]:
    """Return tables about a share of a spread-out number."""
    random = np.random.default_rng(seed)
    theta, h = (np.broadcast_to(np.asarray(given[name], dtype=float), draws) for name in ("theta", "h"))
    x = (theta + h)[:, None] + 0.1 * random.standard_normal((draws, records))
    return {name: {"theta": theta, "h": h, "x": x}[name] for name in names}


@pytest.mark.parametrize(("spread", "fits"), [(0.45, False), (0.9, True)])
def test_weights_whose_tail_decides_are_refused(spread: float, fits: bool) -> None:
    """Draws of a law that is narrower than the posterior of h: worth hundreds, and the spread of h far too small."""
    random = np.random.default_rng(12)
    theta, h = random.random(2000), random.normal(0, spread, 2000)
    wide = {"lower": -np.inf, "upper": np.inf}
    drawn = ParameterDraws(
        values={"theta": theta, "h": h},
        reading="belief",
        chains=1,
        posterior=Posterior(source="s", draws=2000, belief=True),
        log_weights=h**2 / (2 * spread**2) - h**2 / 2,
    )
    known = DensityNetwork(
        parameters={name: Parameter(name=name, **wide) for name in ("theta", "h")},
        model_hash="nuisance",
        simulator=nuisance,
        reading=ImportReport(columns={"x": ("theta", "h")}),
        drawn=drawn,
    ).with_sampling(draws=2000)
    schema = bp.Schema(records=4, columns={"x": bp.Real(-50, 50)})
    protect = {"theta": bp.intervals(((0, 0.4), (0.6, 1)))}
    private = bp.DistributionalAttributePrivacy(known, schema, protect, source="s")
    for low, high in ((0, 0.4), (0.6, 1)):
        assert drawn.effective("theta", low, high, ["h"]) > 100
    if fits:
        assert TIGHT.calibrate(private, bp.mean("x"), epsilon=1.0, delta=0.01).scale > 0
        return
    weights = drawn.weights / drawn.weights.sum()
    assert weights @ h**2 < 0.8  # the posterior's variance of h is 1
    with pytest.raises(BnprivError, match=r"Pareto shape must be at most 0\.\d\d; found theta in .*: 0\.[78]"):
        TIGHT.calibrate(private, bp.mean("x"), epsilon=1.0, delta=0.01)


def simulate(
    names: Iterable[str], draws: int, *, seed: int, given: Mapping[str, object], records: int
) -> dict[str, np.ndarray]:
    """Return tables below a level, and below a site about it."""
    random = np.random.default_rng(seed)
    level = np.broadcast_to(np.asarray(given["level"], dtype=float), draws)
    drawn = level + random.standard_normal(draws)
    site = np.broadcast_to(np.asarray(given.get("site", drawn), dtype=float), draws)
    noise = 0.5 * random.standard_normal((draws, records))
    found = {"level": level, "site": site, "x": site[:, None] + level[:, None] + noise}
    return {name: found[name] for name in names}


def test_rare_secrets_of_a_parameter_below_the_draws_are_weighed_by_its_density() -> None:
    """A site that nobody has seen: normal about a level that the posterior tells, and 4 deviations away."""
    levels = np.random.default_rng(4).normal(0, 0.5, 100_000)
    wide = {"lower": -np.inf, "upper": np.inf}
    known = DensityNetwork(
        parameters={
            "level": Parameter(name="level", **wide),
            "site": Parameter(
                name="site",
                parents=("level",),
                log_density=lambda value, level: -((value - level) ** 2) / 2,
                **wide,
            ),
        },
        model_hash="a new site",
        simulator=simulate,
        reading=ImportReport(columns={"x": ("level", "site")}),
        drawn=ParameterDraws(
            values={"level": levels},
            reading="belief",
            chains=1,
            posterior=Posterior(source="other sites", draws=100_000, belief=True),
        ),
    ).with_sampling(draws=40_000, cells=2000)
    sides = ((3.8, 4.2), (4.4, 5.0))
    schema = bp.Schema(records=4, columns={"x": bp.Real(-50, 50)})
    private = bp.DistributionalAttributePrivacy(known, schema, {"site": bp.intervals(sides)}, source="other sites")
    (constraint,) = laws(private, bp.mean("x")).constraints()
    (pair,) = constraint.pairs
    assert pair.sampled.effective > 100
    for law, (low, high) in ((pair.first, sides[0]), (pair.second, sides[1])):
        sites = np.linspace(low, high, 2001)
        weights = np.exp(-(sites**2) / 2.5) / np.exp(-(sites**2) / 2.5).sum()
        centre = float(weights @ sites)
        # the level is normal about a fifth of the site with variance 1/5
        assert law.mean[0] == pytest.approx(1.2 * centre, abs=0.03)
        variance = float(law.probabilities @ (law.support - law.mean[0]) ** 2)
        assert variance == pytest.approx(1.44 * float(weights @ (sites - centre) ** 2) + 0.2 + 0.25 / 4, rel=0.08)
    calibration = TIGHT.calibrate(private, bp.mean("x"), epsilon=1.0, delta=1e-2)
    assert calibration.scale > 0
    assert calibration.guarantee.kind == "estimate"
    with pytest.raises(BnprivError, match=r"draws of its own|worth 100"):
        TIGHT.calibrate(
            bp.DistributionalAttributePrivacy(
                known.with_sampling(draws=1000, confidence=0.9), schema, {"site": bp.intervals(sides)}, source="s"
            ),
            bp.mean("x"),
            epsilon=1.0,
            delta=0.3,
        )


@pytest.mark.parametrize(("shape", "fits"), [(0.1, False), (0.8, True)])
def test_a_density_without_bound_in_a_secret_is_refused(shape: float, fits: bool) -> None:
    """Of a Gamma law of shape .1 below 1, 68 % lie below .01; weighed points show 60 %, and seem worth 250 draws."""
    levels = np.random.default_rng(4).normal(0, 0.5, 40_000)
    known = DensityNetwork(
        parameters={
            "level": Parameter(name="level", lower=-np.inf, upper=np.inf),
            "site": Parameter(
                name="site",
                parents=("level",),
                log_density=lambda value, level: (shape - 1) * np.log(value) - value,
                lower=0.0,
                upper=np.inf,
            ),
        },
        model_hash="a density without bound",
        simulator=simulate,
        reading=ImportReport(columns={"x": ("level", "site")}),
        drawn=ParameterDraws(
            values={"level": levels},
            reading="belief",
            chains=1,
            posterior=Posterior(source="other sites", draws=40_000, belief=True),
        ),
    ).with_sampling(draws=4000)
    schema = bp.Schema(records=4, columns={"x": bp.Real(-50, 50)})
    private = bp.DistributionalAttributePrivacy(
        known, schema, {"site": bp.intervals(((0, 1), (2, 3)))}, source="other sites"
    )
    (constraint,) = laws(private, bp.mean("x")).constraints()
    if fits:
        assert constraint.pairs[0].sampled.effective > 100
    else:
        assert "their Pareto shape must be at most 0.70; found site in [0, 1]: " in str(constraint.pairs)
