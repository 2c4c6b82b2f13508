"""Laws below weighted points of a rare secret: the parameter and the draws that it goes with, against exact moments."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.core.evidence.laws import laws
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


# -- planted bugs


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
