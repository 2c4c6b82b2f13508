"""Properties of drawn tables, and pairs of models, below draws of a posterior: against closed forms."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.core.evidence.laws import laws
from bnpriv.core.networks.base import ImportReport, Posterior
from bnpriv.kinds.density.network import DensityNetwork, Parameter
from bnpriv.kinds.draws.laws import SampledLaws
from bnpriv.kinds.draws.parameter_draws import ParameterDraws
from tests.later import Later

stats = Later("scipy.stats")

N = 12
TIGHT = bp.TightMechanism()
SCHEMA = bp.Schema(records=N, columns={name: bp.Integer(0, 1) for name in ("ill", "coughs")})
ILL, COUGHS = (bp.count(bp.col(name) == 1) for name in ("ill", "coughs"))


def simulate(
    names: Iterable[str], draws: int, *, seed: int, given: Mapping[str, object], records: int
) -> dict[str, np.ndarray]:
    """Theta is uniform unless it is given; being ill and coughing have that probability."""
    random = np.random.default_rng(seed)
    theta = np.broadcast_to(given["theta"], draws) if "theta" in given else random.random(draws)
    tables = {
        name: (random.random((draws, records)) < theta[:, np.newaxis]).astype(float) for name in ("ill", "coughs")
    }
    return {name: {"theta": theta, **tables}[name] for name in names}


def ward(
    a: float, b: float, rows: int, reading: str = "belief", *, independent: bool = True, **sampling: object
) -> DensityNetwork:
    """The posterior of theta is Beta(a, b), known by independent draws."""
    drawn = ParameterDraws(
        values={"theta": np.random.default_rng([int(a), int(b)]).beta(a, b, rows)},
        reading=reading,
        chains=1,
        posterior=Posterior(source="other wards", draws=rows, independent=independent, belief=reading == "belief"),
    )
    return DensityNetwork(
        parameters={"theta": Parameter(name="theta", lower=0.0, upper=1.0)},
        model_hash="ward",
        simulator=simulate,
        reading=ImportReport(columns={"ill": ("theta",), "coughs": ("theta",)}),
        drawn=drawn,
    ).with_sampling(**sampling)


def hidden(model: object, pairs: object) -> object:
    return bp.DatasetAttributePrivacy(model, SCHEMA, {"ill": bp.Secret(ILL, pairs=pairs)}, source="invented")


def pairs_of(framework: object, query: object) -> list:
    evidence = laws(framework, query)
    assert isinstance(evidence, SampledLaws), str(evidence)
    return [each.pairs for each in evidence.constraints()]


def test_a_property_under_a_belief() -> None:
    """Given how many are ill, theta is Beta(a + s, b + n - s), and the number that cough beta-binomial."""
    framework = hidden(ward(3, 7, 50_000, draws=20_000), bp.pairs((2, 6)))
    ((pair,),) = pairs_of(framework, COUGHS)
    for s, law in ((2, pair.first), (6, pair.second)):
        exact = stats.betabinom(N, 3 + s, 7 + N - s)
        assert law.mean[0] == pytest.approx(exact.mean(), abs=6 * exact.std() / math.sqrt(20_000))
        assert law.covariance[0, 0] == pytest.approx(exact.var(), rel=0.06)
    share = min(stats.betabinom(N, 3, 7).pmf(s) for s in (2, 6))
    assert pair.sampled.effective == pytest.approx(50_000 * share, rel=0.1)
    notes = " ".join(TIGHT.calibrate(framework, COUGHS, epsilon=1.0).certificate.notes)
    assert "50,000 draws of a posterior" in notes


def test_a_property_under_each_draw_as_a_model() -> None:
    """With theta fixed the columns are independent: the property tells nothing of coughs."""
    framework = hidden(ward(30, 70, 8, "models", draws=4000), bp.intervals(((0, 3), (4, 9))))
    assert framework.models == 8
    theta = framework.network.drawn.values["theta"]
    found = pairs_of(framework, COUGHS)
    assert len(found) == 8
    for value, (pair,) in zip(theta, found, strict=True):
        for law in (pair.first, pair.second):
            assert law.mean[0] == pytest.approx(N * value, abs=6 * math.sqrt(N * value * (1 - value) / 4000))
    # under the belief it does
    believed = hidden(ward(3, 7, 5000, draws=4000), bp.intervals(((0, 3), (4, 9))))
    scales = [TIGHT.calibrate(each, COUGHS, epsilon=1.0, delta=0.02).scale for each in (framework, believed)]
    assert scales[0] < scales[1]
    assert bp.rehearse(TIGHT.calibrate(framework, ILL, epsilon=1.0), 20).correct >= 0


def test_two_posteriors() -> None:
    framework = bp.DistributionPrivacy(
        [(ward(3, 7, 30_000), ward(6, 6, 30_000))], schema=SCHEMA, source="two posteriors"
    )
    ((pair,),) = pairs_of(framework, ILL)
    for exact, law in ((stats.betabinom(N, 3, 7), pair.first), (stats.betabinom(N, 6, 6), pair.second)):
        assert law.mean[0] == pytest.approx(exact.mean(), abs=6 * exact.std() / 100)
        assert law.covariance[0, 0] == pytest.approx(exact.var(), rel=0.08)
    assert pair.sampled.effective == 30_000
    notes = " ".join(TIGHT.calibrate(framework, ILL, epsilon=1.0).certificate.notes)
    assert "The observer is taken to hold the posterior itself, known by 30,000 independent draws" in notes
    sure = [ward(a, b, 30_000, draws=20_000, confidence=0.95) for a, b in ((3, 7), (6, 6))]
    framework = bp.DistributionPrivacy([tuple(sure)], schema=SCHEMA, source="two posteriors")
    assert TIGHT.calibrate(framework, ILL, epsilon=1.0, delta=0.05).guarantee.kind == "certified"


def test_too_few_draws_of_a_posterior_are_refused() -> None:
    rare = hidden(ward(3, 7, 2000), bp.pairs((2, 9)))
    refusal = str(TIGHT.supports(rare, COUGHS, epsilon=1.0))
    assert "worth 100 independent ones" in refusal
    assert "in 9" in refusal
    few = bp.DistributionPrivacy([(ward(3, 7, 99), ward(6, 6, 500))], schema=SCHEMA, source="two posteriors")
    assert "the model: draws worth 99 of 99" in str(TIGHT.supports(few, COUGHS, epsilon=1.0))


def test_a_confidence_needs_tables_that_are_independent() -> None:
    chains = hidden(ward(3, 7, 9000, independent=False, confidence=0.95), bp.pairs((2, 6)))
    assert "independent draws of the posterior" in str(TIGHT.supports(chains, COUGHS, epsilon=1.0, delta=0.05))
    again = hidden(ward(3, 7, 90_000, draws=40_000, confidence=0.95), bp.pairs((2, 6)))
    assert "needs draws of its own" in str(TIGHT.supports(again, COUGHS, epsilon=1.0, delta=0.05))


def test_two_models_below_the_same_draws_carry_no_confidence() -> None:
    """Being ill with probability theta, against 1 - theta: what one law shows too often the other shows too rarely."""
    first = ward(3, 7, 30_000, draws=20_000, confidence=0.95)
    for second in (first, replace(first, model_hash="not ill")):
        framework = bp.DistributionPrivacy([(first, second)], schema=SCHEMA, source="one posterior")
        refused = str(TIGHT.supports(framework, ILL, epsilon=1.0, delta=0.05))
        assert "need draws of their own" in refused
    thinned = replace(first, drawn=replace(first.drawn, values={"theta": first.drawn.values["theta"][9000:]}))
    framework = bp.DistributionPrivacy([(first, thinned)], schema=SCHEMA, source="one posterior")
    assert "need draws of their own" in str(TIGHT.supports(framework, ILL, epsilon=1.0, delta=0.05))
    estimate = [each.with_sampling(draws=20_000) for each in (first, thinned)]
    framework = bp.DistributionPrivacy([tuple(estimate)], schema=SCHEMA, source="one posterior")
    assert TIGHT.calibrate(framework, ILL, epsilon=1.0, delta=0.05).guarantee.kind == "estimate"


def test_why_two_models_below_the_same_draws_carry_none() -> None:
    """The chance that noise which is too small passes is above the share that was set aside for it."""
    epsilon, delta, draws, beta = 0.1, 0.01, 20_000, 1e-3
    r, share = math.exp(epsilon), beta / 3
    v, s = (1 + r) ** 2 / 8, r * math.log(3 / beta) / (3 * draws)
    miss = min(
        math.sqrt((1 + r**2) * math.log(1 / share) / (2 * draws)),
        s + math.sqrt(s**2 + 2 * v * math.log(1 / share) / draws),
    )
    ones = (r + delta + 1e-6) / (1 + r)  # theta is 0 or 1; P(ill) - r P(not ill) is just above delta
    passes = stats.binom(draws, ones).cdf(draws * (delta - miss + r) / (1 + r))
    assert passes > beta
    apart = math.sqrt(ones * (1 - ones) * (1 + r**2) / draws)  # of independent draws
    assert stats.norm.sf(miss / apart) < share
