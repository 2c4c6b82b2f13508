"""Every draw of a posterior as a model: exact laws of normal columns, how many draws are models, and what is told."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import bnpriv as bp
from bnpriv import progress as pace
from bnpriv.core.evidence.laws import laws
from bnpriv.errors import BnprivError, LongDrawingWarning, SecretError
from bnpriv.kinds.draws.laws import SampledLaws, sampled_laws
from bnpriv.kinds.gaussian.columns import dominant_pairs
from tests.later import optional

pm = optional("pymc")
xarray = optional("xarray")

SPREADS = np.linspace(9.0, 18.0, 8)
TIGHT = bp.TightMechanism(large_delta=True)


def schools() -> Any:
    with pm.Model() as model:
        mu, tau = pm.Normal("mu", 0, 5), pm.HalfCauchy("tau", 5)
        theta = pm.Normal("theta", mu, tau, shape=8)
        pm.Deterministic("best", theta.max())
        pm.Normal("y", theta, SPREADS, observed=np.zeros(8))
    return model


def draws(**values: np.ndarray) -> Any:
    return xarray.Dataset({name: (("chain", "draw"), each.reshape(4, -1)) for name, each in values.items()})


def posterior(count: int) -> Any:
    random = np.random.default_rng(0)
    return draws(mu=random.normal(8, 5, count), tau=np.exp(random.normal(1, 0.5, count)))


def framework(network: Any, protect: dict[str, object], records: int, **columns: object) -> Any:
    schema = bp.Schema(records=records, columns=columns)
    return bp.DistributionalAttributePrivacy(network, schema, protect, source="a public survey")


WIDE = bp.Real(-10_000, 10_000)


def test_normal_columns_have_exact_laws_under_hundreds_of_draws() -> None:
    known = posterior(600)
    network = bp.from_pymc(schools(), posterior=known)
    assert isinstance(network, bp.types.GaussianNetwork)
    assert network.models == 600
    private = framework(network, {"theta[0]": bp.pairs((0.0, 5.0))}, 8, y=WIDE)
    mu, tau = known["mu"].values.reshape(-1), known["tau"].values.reshape(-1)
    found = laws(private, bp.mean("y")).constraints()
    for constraint in found:
        (pair,) = constraint.pairs
        assert pair.kind == "certified"
        for law, value in ((pair.first, 0.0), (pair.second, 5.0)):
            assert law.mean[0] == pytest.approx((value + 7 * mu[constraint.model]) / 8)
        variance = (7 * tau[constraint.model] ** 2 + (SPREADS**2).sum()) / 64
        assert pair.first.covariance[0, 0] == pytest.approx(variance, rel=1e-6)
    # the gap is the same under all draws: the smallest variance asks for the most noise
    assert int(np.argmin(tau)) in {constraint.model for constraint in found}
    assert len(found) < 60
    calibration = TIGHT.calibrate(private, bp.mean("y"), epsilon=0.1, delta=1e-3)
    gap, least = 5 / 8, np.sqrt((7 * tau.min() ** 2 + (SPREADS**2).sum()) / 64)
    declared = bp.DistributionPrivacy(
        [(bp.laws.Normal([0.0], [[least**2]]), bp.laws.Normal([gap], [[least**2]]))], source="closed form"
    )
    exact = TIGHT.calibrate(declared, epsilon=0.1, delta=1e-3).scale
    assert exact <= calibration.scale < 1.06 * exact  # the grid of the column costs a little
    assert bp.rehearse(calibration, draws=20).text


def test_the_secret_may_lie_above_what_drives_the_columns() -> None:
    """Exact laws, and the draws of the same model below each draw of the posterior."""
    tau = np.exp(np.random.default_rng(5).normal(1, 0.5, 12))
    network = bp.from_pymc(schools(), posterior=draws(tau=tau)).with_sampling(draws=20_000)
    private = framework(network, {"mu": bp.pairs((0.0, 5.0))}, 8, y=bp.Real(-200, 200))
    evidence = laws(private, bp.mean("y"))
    assert not isinstance(evidence, SampledLaws)
    drawn = {each.model: each.pairs[0] for each in sampled_laws(private, network.forward, bp.mean("y")).constraints()}
    for constraint in evidence.constraints():
        (pair,) = constraint.pairs
        variance = (8 * tau[constraint.model] ** 2 + (SPREADS**2).sum()) / 64
        assert pair.first.covariance[0, 0] == pytest.approx(variance, rel=1e-6)
        other = drawn[constraint.model]
        for law, learned, value in ((pair.first, other.first, 0.0), (pair.second, other.second, 5.0)):
            assert law.mean[0] == pytest.approx(value, abs=1e-9)
            assert learned.mean[0] == pytest.approx(value, abs=6 * np.sqrt(variance / 20_000))
            spread = float(learned.probabilities @ (learned.support - learned.mean[0]) ** 2)
            assert spread == pytest.approx(variance, rel=0.06)
    # two numbers at once, of which one tells the other: no variance is known of them, and the gaps are alike
    both = laws(private, bp.stack(bp.mean("y"), bp.total("y"))).constraints()
    assert 1 <= len(both) < 12


def test_a_coefficient_may_be_drawn_where_no_law_of_a_parameter_depends_on_it() -> None:
    place = np.array([0.0, 1.0, 2.0, 3.0])
    with pm.Model() as model:
        level, slope, spread = pm.Normal("level", 0, 1), pm.Normal("slope", 0, 2), pm.HalfNormal("spread", 1)
        pm.Normal("x", level + slope * place, spread, observed=np.zeros(4))
    random = np.random.default_rng(1)
    levels, spreads = random.normal(3, 1, 200), random.uniform(0.5, 2, 200)
    network = bp.from_pymc(model, posterior=draws(level=levels, spread=spreads))
    private = framework(network, {"slope": bp.apart(at_most=1.0)}, 4, x=WIDE)
    found = laws(private, bp.total("x")).constraints()
    for constraint in found:
        (pair,) = constraint.pairs
        assert float(pair.second.mean[0] - pair.first.mean[0]) == pytest.approx(6.0)
        assert float(pair.first.mean[0] + pair.second.mean[0]) / 2 == pytest.approx(4 * levels[constraint.model])
        assert pair.first.covariance[0, 0] == pytest.approx(4 * spreads[constraint.model] ** 2, rel=1e-6)
    assert int(np.argmin(spreads)) in {constraint.model for constraint in found}


def test_records_that_move_against_each_other_still_move() -> None:
    """The mean of the answer stays where it is; clamping may stop one record and not the other."""
    with pm.Model() as model:
        effect = pm.Normal("effect", 0, 1)
        pm.Normal("x", effect * np.array([-1.0, 1.0]), 1.0, observed=np.zeros(2))
    network = bp.from_pymc(model)
    for bounds in (WIDE, bp.Real(-1, 30)):
        ((constraint),) = laws(
            framework(network, {"effect": bp.pairs((0.0, 4.0))}, 2, x=bounds), bp.mean("x")
        ).constraints()
        (pair,) = constraint.pairs
        assert float(abs(pair.second.mean[0] - pair.first.mean[0])) < 1e-9
        assert pair.departure.moves[0] >= 4.0
        assert (pair.departure.mass > 0.5) == (bounds is not WIDE)


def test_what_is_not_linear_is_learned_and_takes_few_draws() -> None:
    private = framework(
        bp.from_pymc(schools(), posterior=posterior(400)), {"theta[0]": bp.pairs((0.0, 5.0))}, 8, y=WIDE
    )
    query = bp.count(bp.col("y") > 0)
    with pytest.raises(BnprivError, match=r"for 100 at most.*thin=16"):
        TIGHT.calibrate(private, query, epsilon=1.0, delta=1e-2)
    few = bp.from_pymc(schools(), posterior=posterior(400), thin=50).with_sampling(draws=500)
    found = TIGHT.calibrate(
        framework(few, {"theta[0]": bp.pairs((0.0, 5.0))}, 8, y=WIDE), query, epsilon=0.05, delta=1e-3
    )
    assert 0 < found.scale < 160
    assert found.guarantee.kind == "estimate"


def test_counts_about_normal_parameters_take_as_many_draws_as_time_allows() -> None:
    with pm.Model() as model:
        level, effect = pm.Normal("level", 0, 1), pm.Normal("effect", 0, 1)
        pm.Poisson("calls", pm.math.exp(level + effect * np.linspace(0, 1, 6)), observed=np.zeros(6))
    random = np.random.default_rng(2)
    network = bp.from_pymc(model, posterior=draws(level=random.normal(1, 0.2, 1000))).with_sampling(draws=1000)
    assert network.posterior_draws.of == 1000
    assert network.posterior_draws.draws <= 28
    private = framework(network, {"effect": bp.pairs((0.0, 0.5))}, 6, calls=bp.Integer(0, 60))
    found = TIGHT.calibrate(private, bp.mean("calls"), epsilon=1.0, delta=1e-2)
    assert found.scale < 10
    assert "of 1,000 draws from a posterior, evenly spaced" in " ".join(found.certificate.notes)


def test_slow_laws_leave_time_for_fewer_models_and_tables() -> None:
    from bnpriv.io.pymc.roles import models_that_fit, roles_of
    from bnpriv.io.pymc.structure import structure_of

    def work(law: Any) -> tuple[int, int]:
        with pm.Model() as model:
            a = pm.Normal("a", 0, 1)
            law(a)
        found = models_that_fit(roles_of(structure_of(model), ["x"], {}))
        return found.models, found.tables

    assert work(lambda a: pm.Normal("x", a, 1, shape=100)) == (25, 4000)
    many = work(lambda a: pm.NormalMixture("x", [0.3, 0.7], [a, 2.0], [1.0, 1.0], shape=400))
    slower = work(
        lambda a: pm.CustomDist("x", a, random=lambda m, rng=None, size=None: rng.normal(m, 1, size=size), shape=300)
    )
    assert (10, 1000) <= slower < many < (25, 4000)


def test_the_time_of_all_models_together_is_told_once_before_they_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pace, "LONG_SECONDS", 1e-9)
    with pm.Model() as model:
        level, scale = pm.Normal("level", 0, 1), pm.HalfNormal("scale", 1)
        pm.StudentT("x", nu=4, mu=level, sigma=scale, observed=np.zeros(50))
    random = np.random.default_rng(3)
    known = draws(level=random.normal(0, 1, 40), scale=random.uniform(0.5, 1, 40))
    network = bp.from_pymc(model, posterior=known, thin=2).with_sampling(draws=1000)
    private = framework(network, {"level": bp.pairs((0.0, 0.5))}, 50, x=bp.Real(-50, 50))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        laws(private, bp.mean("x")).constraints()
    (only,) = [each for each in told if issubclass(each.category, LongDrawingWarning)]
    assert "40,000 tables take" in str(only.message)  # 20 models, two secrets, 1,000 tables each


def test_a_deterministic_is_refused_where_what_it_is_computed_from_is_fixed_or_tells_of_no_column() -> None:
    with pm.Model() as alone:
        pm.Deterministic("twice", 2 * pm.Normal("a"))
    fixed = bp.from_pymc(schools(), posterior=posterior(100), fix=["mu", "tau"])
    for network, name in ((fixed, "best"), (bp.from_pymc(alone), "twice")):
        with pytest.raises(SecretError, match=rf"Deterministic '{name}'.*declare the columns.*leave out fix="):
            framework(network, {name: bp.intervals(((0, 3), (5, 8)))}, 8, y=WIDE)


def test_pairs_that_others_outdo_are_those_that_need_no_more_noise() -> None:
    private = framework(
        bp.from_pymc(schools(), posterior=posterior(16)), {"theta[0]": bp.pairs((0.0, 5.0))}, 8, y=bp.Real(-60, 80)
    )
    evidence = laws(private, bp.mean("y"))
    kept = {constraint.model for constraint in evidence.constraints()}
    scales = {}
    for k in range(16):
        values = {name: posterior(16)[name].values.reshape(-1)[k : k + 1].repeat(4) for name in ("mu", "tau")}
        one = framework(
            bp.from_pymc(schools(), posterior=draws(**values), fix=["mu", "tau"], thin=1),
            {"theta[0]": bp.pairs((0.0, 5.0))},
            8,
            y=bp.Real(-60, 80),
        )
        scales[k] = TIGHT.calibrate(one, bp.mean("y"), epsilon=0.2, delta=1e-2).scale
    whole = TIGHT.calibrate(private, bp.mean("y"), epsilon=0.2, delta=1e-2).scale
    assert whole == pytest.approx(max(scales.values()), rel=1e-9)
    assert max(scales[k] for k in kept) == pytest.approx(whole, rel=1e-9)
    assert dominant_pairs([]) == {}


def two_tests() -> Any:
    """Schools in two tests of which each has an effect of its own."""
    with pm.Model() as model:
        mu, tau = pm.Normal("mu", 0, 5), pm.HalfCauchy("tau", 5)
        own = pm.HalfNormal("own", 5)
        theta = pm.Normal("theta", mu, tau, shape=8)
        pm.Normal("x", theta, own, observed=np.zeros(8))
        pm.Normal("y", 0.5 * theta, SPREADS, observed=np.zeros(8))
    return model


def test_of_several_numbers_those_draws_are_kept_that_no_other_outdoes() -> None:
    random = np.random.default_rng(8)
    values = {
        "mu": random.normal(8, 5, 60),
        "tau": np.exp(random.normal(1, 0.5, 60)),
        "own": random.uniform(3, 9, 60),
    }
    columns = {"x": bp.Real(-200, 200), "y": bp.Real(-200, 200)}
    query = bp.stack(bp.mean("x"), bp.mean("y"))
    mechanism = bp.TightMechanism(noise="gaussian", large_delta=True)

    def private(rows: Any) -> Any:
        network = bp.from_pymc(
            two_tests(), posterior=draws(**{name: each[rows] for name, each in values.items()}), fix=[*values]
        )
        return framework(network, {"theta[0]": bp.pairs((0.0, 5.0))}, 8, **columns)

    kept = {constraint.model for constraint in laws(private(slice(None)), query).constraints()}
    # no other draw has less of both spreads
    best = {k for k in range(60) if not ((values["tau"] < values["tau"][k]) & (values["own"] < values["own"][k])).any()}
    assert best <= kept
    assert len(kept) < 20
    whole = mechanism.calibrate(private(slice(None)), query, epsilon=0.2, delta=1e-2).scale
    each = [mechanism.calibrate(private([k] * 4), query, epsilon=0.2, delta=1e-2).scale for k in range(0, 60, 3)]
    each += [mechanism.calibrate(private([k] * 4), query, epsilon=0.2, delta=1e-2).scale for k in best]
    assert whole == pytest.approx(max(each), rel=1e-5)
    assert whole >= max(each) * (1 - 1e-9)


def test_pairs_of_models_of_one_draw_each_are_listed() -> None:
    """Which draws of two posteriors make a pair is declared; each model has its parameters fixed to its draw."""
    random = np.random.default_rng(12)
    chances = [random.uniform(0.2, 0.5, 3), random.uniform(0.5, 0.8, 3)]
    places = np.linspace(0.5, 1.0, 6)

    def model() -> Any:
        with pm.Model() as found:
            p = pm.Beta("p", 2, 2)
            pm.Bernoulli("x", p * places, observed=np.zeros(6))
        return found

    def read(values: np.ndarray) -> Any:
        drawn = xarray.Dataset({"p": (("chain", "draw"), values[np.newaxis])})
        return bp.from_pymc(model(), posterior=drawn).with_sampling(draws=20_000)

    schema, query = bp.Schema(records=6, columns={"x": bp.Integer(0, 1)}), bp.total("x")
    with pytest.raises(BnprivError, match=r"the same draw or any two.*3 draws of a posterior.*isel"):
        bp.DistributionPrivacy([(read(chances[0]), read(chances[1]))], query=query, schema=schema, source="made up")
    pairs = [(read(a[np.newaxis]), read(b[np.newaxis])) for a, b in zip(*chances, strict=True)]
    framework = bp.DistributionPrivacy(pairs, query=query, schema=schema, source="made up")
    for constraint, a, b in zip(laws(framework, query).constraints(), *chances, strict=True):
        (pair,) = constraint.pairs
        for law, p in ((pair.first, a), (pair.second, b)):
            exact = np.ones(1)
            for chance in p * places:
                exact = np.convolve(exact, [1 - chance, chance])
            found = np.zeros(7)
            found[law.support.astype(int)] = law.probabilities
            assert float(np.abs(found - exact).sum()) / 2 < 0.02
