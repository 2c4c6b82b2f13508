"""Laws below weighted points of a rare secret: the parameter and the draws that it goes with, against exact moments."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.core.evidence.laws import laws
from bnpriv.core.secrets import Interval
from bnpriv.kinds.draws import answers as rare
from bnpriv.kinds.draws.answers import AnswerSampler
from tests.later import Later, optional

stats = Later("scipy.stats")
pm = optional("pymc")
xarray = optional("xarray")

DRAWS = 20_000
SIDES = ((0.0, 0.4), (1.5, 2.0))
RECORDS = 4


def check(*, weighted: bool) -> None:
    """Check mean and variance of the answer, in both secrets, by adding up over all draws of the posterior."""
    random = np.random.default_rng(1)
    mu, spread = random.normal(0, 0.5, 8000), np.exp(random.normal(-0.5, 0.3, 8000))
    logs = 0.7 * mu - 0.5 * spread if weighted else np.zeros(8000)
    with pm.Model() as model:
        centre, sd = pm.Normal("mu", 0, 1), pm.HalfNormal("sd", 1)
        site = pm.Normal("site", centre, sd)
        pm.Laplace("y", site + 2 * centre, 0.5, observed=np.zeros(RECORDS))
    values = {"mu": mu, "sd": spread, "logs": logs}
    posterior = xarray.Dataset({name: (("chain", "draw"), each.reshape(4, -1)) for name, each in values.items()})
    network = bp.from_pymc(model, posterior=posterior, reading="belief", log_weights="logs" if weighted else None)
    schema = bp.Schema(records=RECORDS, columns={"y": bp.Real(-100, 100)})
    private = bp.DistributionalAttributePrivacy(
        network.with_sampling(draws=DRAWS), schema, {"site": bp.intervals(SIDES)}, source="made up"
    )
    (constraint,) = laws(private, bp.mean("y")).constraints()
    (pair,) = constraint.pairs
    for (low, high), law in zip(SIDES, (pair.first, pair.second), strict=True):
        ends = (low - mu) / spread, (high - mu) / spread
        share = np.exp(logs) * (stats.norm.cdf(ends[1]) - stats.norm.cdf(ends[0]))
        cut = stats.truncnorm(*ends, loc=mu, scale=spread)
        centre = cut.mean() + 2 * mu
        expected = share @ centre / share.sum()
        variance = share @ (cut.var() + (centre - expected) ** 2) / share.sum() + 0.5 / RECORDS
        found = float(law.probabilities @ (law.support - law.mean[0]) ** 2)
        assert law.mean[0] == pytest.approx(expected, abs=5 * np.sqrt(variance / DRAWS) + 0.01)
        assert found == pytest.approx(variance, rel=0.08)


@pytest.mark.parametrize("weighted", [False, True])
def test_rare_secrets_have_the_law_of_all_draws_by_their_weights(weighted: bool) -> None:
    check(weighted=weighted)


# -- every draw a model, under some of which a secret is rare

SPREADS = (2.0, 0.4, 0.001, 1e-9)
FAR = ((-0.4, 0.4), (1.5, 2.0))


def of_models(form: str, spreads: tuple[float, ...] = SPREADS, **sampling: Any) -> bp.DistributionalAttributePrivacy:
    """Return what hides the level of a site, each draw of its spread a model, written in one of several forms."""
    with pm.Model() as model:
        sd = pm.HalfNormal("sd", 1)
        if form == "centred":
            site = pm.Normal("site", 0, sd, shape=2)
        elif form == "two":
            site = pm.Deterministic("site", pm.Normal("z", 0, sd, shape=2) + pm.Normal("own", 0, sd, shape=2))
        else:
            z = pm.Normal("z", 0, 1, shape=2)
            site = pm.Deterministic("site", sd * z if form == "function" else pm.math.exp(-sd * z) - 1)
        pm.Laplace("y", pm.math.stack([site[0]] * 3 + [site[1]]), 0.5, observed=np.zeros(RECORDS))
    effects = {"centred": ("site",), "two": ("z", "own")}.get(form, ("z",))
    values = {name: (("chain", "draw", "place"), np.zeros((1, len(spreads), 2))) for name in effects}
    posterior = xarray.Dataset({"sd": (("chain", "draw"), np.array([spreads])), **values})
    network = bp.from_pymc(model, posterior=posterior, reading="models", thin=1).with_sampling(**sampling)
    schema = bp.Schema(records=RECORDS, columns={"y": bp.Real(-100, 100)})
    return bp.DistributionalAttributePrivacy(network, schema, {"site[0]": bp.intervals(FAR)}, source="made up")


def check_models(form: str) -> None:
    """Check mean and variance of the answer under every model, in both secrets, by truncated normal distributions."""
    draws = 4000
    for constraint in laws(of_models(form, draws=draws), bp.mean("y")).constraints():
        spread, (pair,) = SPREADS[constraint.model], constraint.pairs
        for (low, high), law in zip(FAR, (pair.first, pair.second), strict=True):
            # exp(-sd z) - 1 is in the interval where -sd z is in that of the logs
            ends = (np.log1p(low), np.log1p(high)) if form == "exp" else (low, high)
            points = np.sort(np.linspace(*ends, 200_001) if spread > 1e-6 else np.array([max(0.0, ends[0])]))
            weights = np.exp(-((points / spread) ** 2 - (np.abs(points).min() / spread) ** 2) / 2)
            site = np.expm1(points) if form == "exp" else points
            centre = 0.75 * weights @ site / weights.sum()  # of three records of four
            variance = weights @ (0.75 * site - centre) ** 2 / weights.sum() + 0.5 / RECORDS
            assert law.mean[0] == pytest.approx(centre, abs=5 * np.sqrt(variance / draws) + 0.002)
            assert float(law.probabilities @ (law.support - law.mean[0]) ** 2) == pytest.approx(variance, rel=0.25)


@pytest.mark.parametrize("form", ["function", "centred", "exp"])
def test_secrets_that_are_rare_under_a_model_are_drawn_by_their_density(form: str) -> None:
    check_models(form)


@pytest.mark.parametrize(("form", "sampling"), [("two", {}), ("function", {"confidence": 0.95})])
def test_what_no_density_tells_is_refused_before_tables_are_drawn(
    form: str, sampling: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    private = of_models(form, (2.0, 1.0, 0.05), **sampling)
    monkeypatch.setattr(AnswerSampler, "_tables", None)
    told = [str(each.pairs) for each in laws(private, bp.mean("y")).constraints()]
    assert all("found site[0] in [1.5, 2] in 0 under draw 3 of the 3" in each for each in told), told[0]


def test_a_function_is_followed_to_the_ends_of_an_interval_where_it_is_monotone() -> None:
    grid = np.linspace(-10.0, 10.0, 41)
    falls = rare.monotone_range(lambda x: -(x**3), grid, Interval(0.008, 27.0))
    assert falls is not None
    assert falls[[0, -1]] == pytest.approx([-3.0, -0.2])
    assert rare.monotone_range(lambda x: x**2, grid, Interval(1.0, 4.0)) is None
    assert rare.monotone_range(np.sign, grid, Interval(0.2, 0.4)) is None


@pytest.mark.parametrize("low", [0.0, 3.0, 40.0, 1e7])
def test_points_of_a_tail_have_its_mean_and_none_decides(low: float) -> None:
    edges = np.unique(low + np.concatenate([[0.0], np.geomspace(1e-3, 1e9, 50)]))
    points, weights = rare.dense_points(lambda x: -(x**2) / 2, edges, np.random.default_rng(0))
    expected = stats.norm.pdf(low) / stats.norm.sf(low) if low < 30 else low + 1 / low - 2 / low**3
    assert np.average(points, weights=weights) == pytest.approx(expected, rel=1e-3)
    assert weights.sum() ** 2 / (weights**2).sum() > (1000 if low < 1e6 else 1)
    assert rare.dense_points(lambda x: np.full(len(x), -np.inf), edges, np.random.default_rng(0)) is None


# -- planted bugs


@pytest.mark.mutants
def test_points_that_are_not_weighed_by_their_density_are_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    right = rare.dense_points
    monkeypatch.setattr(rare, "dense_points", lambda _, *rest: right(np.zeros_like, *rest))
    with pytest.raises(AssertionError):
        check_models("function")


def without_weights(found: Any) -> Any:
    return replace(found, weights=np.ones(len(found.weights)))


def other_draws(found: Any) -> Any:
    return replace(found, rows=found.rows[::-1].copy())


def other_values(found: Any) -> Any:
    return replace(found, values=found.values[::-1].copy())


@pytest.mark.mutants
@pytest.mark.parametrize("wrong", [without_weights, other_draws, other_values])
def test_points_with_other_draws_or_weights_are_found_out(
    wrong: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    right = AnswerSampler.rare

    def planted(sampler: AnswerSampler, condition: Any, side: Any) -> Any:
        found = right(sampler, condition, side)
        return None if found is None else wrong(found)

    monkeypatch.setattr(AnswerSampler, "rare", planted)
    with pytest.raises(AssertionError):
        check(weighted=False)


@pytest.mark.mutants
def test_forgotten_weights_are_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def planted(network: Any, drawn: Any, *rest: Any) -> Any:
        return rare_draws(network, replace(drawn, log_weights=None), *rest)

    rare_draws = rare.importance_points
    monkeypatch.setattr("bnpriv.kinds.draws.answers.importance_points", planted)
    with pytest.raises(AssertionError):
        check(weighted=True)
