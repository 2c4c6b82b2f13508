"""PyMC models that draw whole tables: properties of the table are secret, or which of two models it comes from."""

from __future__ import annotations

import math

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.core.evidence.laws import laws
from bnpriv.core.networks.base import forward_of
from bnpriv.errors import BnprivError
from bnpriv.kinds.draws.laws import SampledLaws
from tests.later import Later, optional

stats = Later("scipy.stats")
pm = optional("pymc")
xarray = optional("xarray")

N = 20
NONE = np.zeros(N, dtype=int)
SCHEMA = bp.Schema(records=N, columns={name: bp.Integer(0, 1) for name in ("ill", "coughs")})
ILL, COUGHS = (bp.count(bp.col(name) == 1) for name in ("ill", "coughs"))
TIGHT = bp.TightMechanism()


def site(a: float, b: float) -> object:
    """How common an illness is, is Beta; being ill and coughing have that probability."""
    with pm.Model() as model:
        theta = pm.Beta("theta", a, b)
        pm.Bernoulli("ill", theta, observed=NONE)
        pm.Bernoulli("coughs", theta, observed=NONE)
    return bp.from_pymc(model)


def known() -> object:
    """The same with a known probability: records are independent."""
    with pm.Model() as model:
        ill = pm.Bernoulli("ill", 0.3, observed=NONE)
        pm.Bernoulli("coughs", 0.2 + 0.4 * ill, observed=NONE)
    return bp.from_pymc(model)


def strains() -> object:
    """One of two strains is about, which decides the probability."""
    with pm.Model() as model:
        strain = pm.Bernoulli("strain", 0.25)
        pm.Bernoulli("ill", 0.2 + 0.3 * strain, observed=NONE)
        pm.Bernoulli("coughs", 0.1 + 0.5 * strain, observed=NONE)
    return bp.from_pymc(model)


def heights(spread: float | None) -> object:
    """The mean height is normal, or known; weight goes with height."""
    with pm.Model() as model:
        mean = 0.0 if spread is None else pm.Normal("mean", 0.0, spread)
        height = pm.Normal("height", mean, 2.0, observed=np.zeros(N))
        pm.Normal("weight", 0.5 * height, 1.0, observed=np.zeros(N))
    return bp.from_pymc(model)


def hidden(network: object, pairs: object, protect: object = ILL, schema: bp.Schema = SCHEMA) -> object:
    secret = bp.Secret(protect, pairs=pairs)
    return bp.DatasetAttributePrivacy(network, schema, {secret.column: secret}, source="invented")


def pair_of(framework: object, query: object) -> object:
    evidence = laws(framework, query)
    assert isinstance(evidence, SampledLaws), str(evidence)
    return evidence.constraints()[0].pairs[0]


def test_a_beta_binomial_ward() -> None:
    pair = pair_of(hidden(site(3, 7), bp.pairs((4, 8))), COUGHS)
    for s, law in ((4, pair.first), (8, pair.second)):
        exact = stats.betabinom(N, 3 + s, 7 + N - s)
        assert law.mean[0] == pytest.approx(exact.mean(), abs=5 * exact.std() / 100)
        assert law.covariance[0, 0] == pytest.approx(exact.var(), rel=0.07)


def test_columns_without_parameters_keep_the_exact_road() -> None:
    network = known()
    assert (network.level, forward_of(network)) == ("records", None)
    found = TIGHT.calibrate(hidden(network, bp.apart(at_most=3)), COUGHS, epsilon=1.0)
    assert found.guarantee.kind == "exact"
    same = bp.DiscreteNetwork.from_tables(
        {"ill": [0.7, 0.3], "coughs": [[0.8, 0.4], [0.2, 0.6]]},
        states={"ill": [0, 1], "coughs": [0, 1]},
        parents={"coughs": ["ill"]},
        level="records",
    )
    declared = TIGHT.calibrate(hidden(same, bp.apart(at_most=3)), COUGHS, epsilon=1.0)
    assert found.scale == pytest.approx(declared.scale, rel=1e-9)


def test_records_that_differ_are_drawn_as_a_table() -> None:
    chances = np.linspace(0.1, 0.9, N)
    with pm.Model() as model:
        pm.Bernoulli("ill", chances, observed=NONE)
    network = bp.from_pymc(model)
    assert (network.attributes, dict(network.reading.columns)) == ((), {"ill": ()})
    pair = pair_of(bp.DistributionPrivacy([(network, known())], schema=SCHEMA, source="invented"), ILL)
    assert pair.first.mean[0] == pytest.approx(chances.sum(), abs=5 * math.sqrt((chances * (1 - chances)).sum()) / 100)
    assert pair.second.mean[0] == pytest.approx(0.3 * N, abs=0.11)
    evidence = laws(hidden(network, bp.pairs((8, 12))), ILL)
    assert not any("as unknown" in each for each in evidence.assumptions)  # there are no parameters


def test_parameters_with_states_draw_tables_too() -> None:
    network = strains()
    assert isinstance(network, bp.DiscreteNetwork)
    again = network.with_sampling(draws=20_000, confidence=0.9)
    assert network.identity() != again.identity()
    pair = pair_of(hidden(again, bp.pairs((4, 10))), COUGHS)
    weights = np.array([0.75, 0.25]) * np.array([stats.binom.pmf(10, N, p) for p in (0.2, 0.5)])
    mean = float(weights / weights.sum() @ [0.1 * N, 0.6 * N])
    assert pair.second.mean[0] == pytest.approx(mean, abs=0.15)
    assert pair.kind == "certified"
    with pytest.raises(bp.errors.NetworkError, match="drawing needs the distributions of columns"):
        known().with_sampling(draws=100)


SIZES = bp.Schema(records=N, columns={"height": bp.Real(-100, 100), "weight": bp.Real(-100, 100)})


@pytest.mark.parametrize("spread", [1.0, None])
def test_normal_tables_have_the_closed_form(spread: float | None) -> None:
    network = heights(spread)
    framework = hidden(network, bp.intervals(((-1.0, -0.2), (0.3, 0.4))), bp.mean("height"), SIZES)
    law = pair_of(framework, bp.mean("weight")).second
    # given all heights the mean weight is half their mean, but for noise of its own
    deviation = math.hypot(spread or 0.0, 2 / math.sqrt(N))
    given = stats.truncnorm(0.3 / deviation, 0.4 / deviation, scale=deviation)
    variance = 0.25 * given.var() + 1 / N
    assert law.mean[0] == pytest.approx(0.5 * given.mean(), abs=5 * math.sqrt(variance / 10_000) + 0.002)
    assert law.covariance[0, 0] == pytest.approx(variance, rel=0.06)


def test_normal_records_and_drawn_ones_need_the_same_noise() -> None:
    """The closed form for normal records is for values of the property; narrow intervals around two are near it."""
    exact = bp.types.GaussianNetwork.linear(
        {"height": 0.0, "weight": 0.0}, {"height": 2.0, "weight": 1.0}, {"weight": {"height": 0.5}}, level="records"
    )
    query = bp.mean("weight")
    apart = hidden(exact, bp.apart(at_most=0.8), bp.mean("height"), SIZES)
    wanted = TIGHT_GAUSSIAN.calibrate(apart, query, epsilon=1.0, delta=0.01).scale
    close = bp.intervals(((-0.42, -0.38), (0.38, 0.42)))
    drawn = hidden(heights(None).with_sampling(draws=20_000), close, bp.mean("height"), SIZES)
    found = TIGHT_GAUSSIAN.calibrate(drawn, query, epsilon=1.0, delta=0.01)
    assert found.scale == pytest.approx(wanted, rel=0.05)
    assert found.guarantee.kind == "estimate"


TIGHT_GAUSSIAN = bp.TightMechanism(noise="gaussian")


@pytest.mark.parametrize("sides", [("beta", "beta"), ("beta", "known"), ("strains", "beta"), ("known", "strains")])
def test_two_sites(sides: tuple[str, str]) -> None:
    made = {"beta": lambda: site(3, 7), "known": known, "strains": strains}
    means = {"beta": 0.3 * N, "known": 0.3 * N, "strains": (0.75 * 0.2 + 0.25 * 0.5) * N}
    models = [made[name]() for name in sides]
    if sides == ("beta", "beta"):
        models[1] = site(30, 70)
    framework = bp.DistributionPrivacy([tuple(models)], schema=SCHEMA, source="two sites")
    pair = pair_of(framework, ILL)
    assert pair.first.mean[0] == pytest.approx(means[sides[0]], abs=0.2)
    assert pair.second.mean[0] == pytest.approx(means[sides[1]], abs=0.2)
    assert 0 < bp.plan(framework, ILL, 0.2, 0.001).best.scale < N


def test_with_and_without_an_effect() -> None:
    """Eight wards with a common mean, and a treatment that works or does not."""
    ward = np.repeat(np.arange(8), 5)
    treated = np.tile([0, 1], 20)

    def trial(effect: float) -> object:
        with pm.Model() as model:
            mu = pm.Normal("mu", 0, 1)
            tau = pm.HalfNormal("tau", 0.5)
            alpha = pm.Normal("alpha", mu, tau, shape=8)
            beta = pm.Normal("beta", effect, 0.3)
            pm.Bernoulli("well", logit_p=alpha[ward] + beta * treated, observed=np.zeros(40, dtype=int))
        return bp.from_pymc(model).with_sampling(draws=2000)

    schema = bp.Schema(records=40, columns={"well": bp.Integer(0, 1)})
    framework = bp.DistributionPrivacy([(trial(0.0), trial(1.5))], schema=schema, source="a trial")
    plan = bp.plan(framework, bp.total("well"), 1.0, 0.02)
    assert plan.best.guarantee.kind == "estimate"
    assert 0 < plan.best.scale < 20
    property_too = hidden(trial(0.0), bp.intervals(((10, 18), (22, 30))), bp.total("well"), schema)
    assert bp.plan(property_too, bp.mean("well"), 1.0, 0.02).best.scale > 0


def test_a_model_without_anything_is_refused() -> None:
    with pm.Model() as model:
        pass
    with pytest.raises(bp.errors.NetworkError):
        bp.from_pymc(model)


def test_a_property_below_all_draws_that_a_linear_model_keeps_is_refused() -> None:
    """Tables would be drawn anew for each of 1,000 models: minutes, where seconds are told."""
    with pm.Model() as model:
        common, own = pm.Normal("common", 0, 1), pm.Normal("own", 0, 1)
        pm.Normal("x", common + own, 1, shape=20)
        pm.Normal("z", common, 1, shape=20)
    draws = np.random.default_rng(0).normal(size=(4, 250))
    posterior = xarray.Dataset({"common": (("chain", "draw"), draws)})
    schema = bp.Schema(records=20, columns={"x": bp.Real(-9, 9), "z": bp.Real(-9, 9)})
    secret = {"x": bp.Secret(bp.mean("x"), pairs=bp.intervals(((-0.5, 0), (0.1, 0.5))))}
    network = bp.from_pymc(model, columns=["x", "z"], posterior=posterior)
    framework = bp.DatasetAttributePrivacy(network, schema, secret, source="s")
    with pytest.raises(BnprivError, match=r"for 100 at most; found 1,000.*thin=40"):
        TIGHT.calibrate(framework, bp.mean("z"), epsilon=1.0, delta=0.01)
