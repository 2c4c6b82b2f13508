"""What PyMC models are refused for is said with the variable, its values and what to declare instead."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.core.evidence.laws import laws
from bnpriv.errors import BnprivError, NetworkError, Refusal, SecretError
from tests.later import optional

pm = optional("pymc")
xarray = optional("xarray")


def drawn(build: Callable[[], Any]) -> Any:
    """Return the error of drawing the column "y", whose parameters overflow or are no parameters for some draws."""
    with pm.Model() as model:
        pm.HalfNormal("other")
        build()
    with pytest.raises(NetworkError) as error:
        bp.from_pymc(model).simulator(("y",), 2000, seed=0, given={}, records=3)
    return error.value


def test_overflow_is_told_with_the_variable_and_its_values() -> None:
    def plain() -> Any:
        rate = pm.math.exp(pm.Normal("a", 0, 400) + pm.Normal("b", 0, 1, shape=3))
        return pm.Poisson("y", rate, observed=np.zeros(3))

    found = drawn(plain)
    assert found.required.startswith("the parameters of 'y' must be valid")
    assert found.found.startswith("Poisson(")
    assert "where a = " in found.found
    assert "b = " in found.found


def test_overflow_inside_laws_made_of_others_is_told_too() -> None:
    def inflated() -> Any:
        return pm.ZeroInflatedPoisson("y", 0.5, pm.math.exp(pm.Normal("a", 0, 400)), observed=np.zeros(3))

    assert "Mixture() where a = " in drawn(inflated).found


def test_the_point_that_is_told_is_one_that_fails() -> None:
    def often() -> Any:
        return pm.Bernoulli("y", 0.5 + pm.Normal("a", 0, 0.3), observed=np.zeros(3))

    value = float(drawn(often).found.split("a = ")[1])
    assert abs(value) >= 0.5


def test_numbers_that_are_none_are_refused() -> None:
    def root() -> Any:
        return pm.Normal("y", pm.math.sqrt(pm.Normal("a", 0, 1)), 1, observed=np.zeros(3))

    assert "Normal(nan, 1) where a = -" in drawn(root).found


POTENTIALS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "as observed": lambda mu, s, v: pm.logp(pm.Normal.dist(mu, s), np.arange(5.0)).sum(),
    "by pymc.Censored, of": lambda mu, s, v: 3 * pm.logcdf(pm.Normal.dist(mu, s), -1.0),
    "by the distribution whose log density": lambda mu, s, v: -(((np.arange(5.0) - mu) / s) ** 2).sum(),
    "divides by": lambda mu, s, v: -20 * pm.logcdf(pm.Gamma.dist(s, s), 2.0),
    "pymc.ZeroSumNormal": lambda mu, s, v: pm.logp(pm.Normal.dist(0, 0.005), pm.math.sum(v)),
    "ZeroSumNormal in place": lambda mu, s, v: -((pm.math.mean(v) / 0.01) ** 2),
    "a condition": lambda mu, s, v: pm.math.switch(mu < s, 0, -np.inf),
    "as Deterministics of them": lambda mu, s, v: -2.5 * pm.math.log(pm.math.sum(pm.math.exp(v))),
    "pymc.Censored or pymc.Truncated if": lambda mu, s, v: -14 * (60 / pm.math.exp(mu)) ** s,
    "numbers in which it is simple": lambda mu, s, v: mu,
}


@pytest.mark.parametrize("said", POTENTIALS)
def test_potentials_are_refused_with_what_replaces_them(said: str) -> None:
    with pm.Model() as model:
        mu, s, v = pm.Normal("mu"), pm.HalfNormal("s"), pm.Normal("v", 0, 1, shape=3)
        pm.Potential("factor", POTENTIALS[said](mu, s, v))
    with pytest.raises(NetworkError, match="the Potential 'factor'") as error:
        bp.from_pymc(model)
    assert said in error.value.remedy
    assert "by posterior=" in error.value.remedy


def pushed(column: bool = False) -> Any:
    """Return a model in which two parameters are pushed together, or a parameter and the records."""
    with pm.Model() as model:
        a, b = pm.Normal("a", pm.Normal("top"), 1), pm.Normal("b")
        x = pm.Normal("x", a + b, 1, observed=np.zeros(4))
        pm.Normal("low", pm.Normal("below", b, 1), 1, observed=np.zeros(4))
        pm.Potential("push", -2 * ((x[0] if column else a) - b) ** 2)
    return model


def exact_posterior(count: int) -> dict[str, np.ndarray]:
    """Return independent draws of all three under the priors times the push: they are normal together."""
    precision = np.array([[2.0, -1, 0], [-1, 5, -4], [0, -4, 5]])  # of top, a and b
    drawn = np.random.default_rng(1).multivariate_normal(np.zeros(3), np.linalg.inv(precision), count)
    return dict(zip(("top", "a", "b"), drawn.T, strict=True))


def test_draws_of_a_posterior_hold_what_a_potential_says_of_parameters() -> None:
    values = exact_posterior(40_000)
    posterior = xarray.Dataset({name: (("chain", "draw"), each[None]) for name, each in values.items()})
    network = bp.from_pymc(pushed(), posterior=posterior, reading="belief", independent=True)
    schema = bp.Schema(records=4, columns={"x": bp.Real(-30, 30), "low": bp.Real(-30, 30)})
    secret = {"a": bp.intervals(((-1, 0), (0, 1)))}
    framework = bp.DistributionalAttributePrivacy(network, schema, secret, source="made up")
    random, fresh = np.random.default_rng(2), exact_posterior(40_000)
    means = {"x": fresh["a"] + fresh["b"] + random.normal(0, 0.5, 40_000)}
    means["low"] = fresh["b"] + random.normal(0, np.sqrt(1.25), 40_000)  # `below` has no draws, and is below the push
    for name, answer in means.items():
        ((pair,),) = (each.pairs for each in laws(framework, bp.mean(name)).constraints())
        for law, (low, high) in ((pair.first, (-1, 0)), (pair.second, (0, 1))):
            expected = answer[(fresh["a"] >= low) & (fresh["a"] <= high)]
            assert law.mean[0] == pytest.approx(expected.mean(), abs=6 * expected.std() / 100)


def test_a_potential_of_a_column_and_of_what_is_loose_is_refused() -> None:
    values = exact_posterior(400)
    posterior = xarray.Dataset({name: (("chain", "draw"), each[None]) for name, each in values.items()})
    for given in ({}, {"posterior": posterior, "reading": "belief"}):
        with pytest.raises(NetworkError, match="the Potential 'push', which depends on the column 'x'"):
            bp.from_pymc(pushed(column=True), **given)
    with pushed(column=True) as model:
        pm.Deterministic("twice", 2 * model["x"])
    with pytest.raises(NetworkError, match="the Potential 'push', which depends on the column 'x'"):
        bp.from_pymc(model, columns=["twice"], posterior=posterior, reading="belief")  # drawn anew with x
    schema = bp.Schema(records=4, columns={"x": bp.Real(-30, 30), "low": bp.Real(-30, 30)})
    halves = bp.intervals(((-1, 0), (0, 1)))

    def refused(network: Any, name: str, column: str) -> str:
        private = bp.DistributionalAttributePrivacy(network, schema, {name: halves}, source="made up")
        found = laws(private, bp.mean(column))
        return str(found) if isinstance(found, Refusal) else ""

    models = bp.from_pymc(pushed(), posterior=posterior, thin=100)
    road = {name: models.reading.road(name, "low").treatment for name in ("a", "b", "top", "below")}
    # as models a and b are known; what is above the push, even far, has another law than the declared one
    assert road == {"a": "refused", "b": "refused", "top": "refused", "below": "exact"}
    for name, treatment in road.items():
        assert ("'push' changes" in refused(models, name, "low")) == (treatment == "refused")
    without = bp.from_pymc(pushed(), posterior=posterior[["top", "b"]], reading="belief")
    assert "'push' changes" in refused(without, "b", "x")
    assert without.reading.road("b", "x").treatment == "refused"


# -- intervals with one end in common


def framework(law: Callable[[], Any], protect: str = "w") -> Any:
    with pm.Model() as model:
        w = law()
        pm.Normal("y", w if w.ndim == 0 else w[0], pm.HalfNormal("s"), observed=np.zeros(20))
    schema = bp.Schema(records=20, columns={"y": bp.Real(-3, 3)})
    touching = bp.intervals(((0, 0.3), (0.3, 1)))
    return bp.DistributionalAttributePrivacy(bp.from_pymc(model), schema, {protect: touching}, source="made up")


CONTINUOUS: dict[str, Callable[[], Any]] = {
    "Beta": lambda: pm.Beta("w", 2, 2),
    "Dirichlet": lambda: pm.Dirichlet("w", np.ones(3)),
    "Mixture": lambda: pm.NormalMixture("w", [0.5, 0.5], [0, 1], [1, 1]),
    "Truncated": lambda: pm.Truncated("w", pm.Gamma.dist(2, 1), 0.01, 1),
    "walk": lambda: pm.GaussianRandomWalk("w", init_dist=pm.Normal.dist(), steps=1),
}
WITH_ATOMS: dict[str, Callable[[], Any]] = {
    "Censored": lambda: pm.Censored("w", pm.Normal.dist(), 0.0, 0.3),
    "Poisson": lambda: pm.Poisson("w", 2),
    "Bernoulli": lambda: pm.Bernoulli("w", 0.5),
    "HurdleGamma": lambda: pm.HurdleGamma("w", 0.5, 2, 1),
    "spike": lambda: pm.Mixture("w", [0.5, 0.5], [pm.Normal.dist(), pm.DiracDelta.dist(0.3)]),
    "walk from a point": lambda: pm.GaussianRandomWalk("w", init_dist=pm.DiracDelta.dist(0.3), steps=1),
}


@pytest.mark.parametrize("name", CONTINUOUS)
def test_intervals_may_touch_where_a_value_has_probability_zero(name: str) -> None:
    made = framework(CONTINUOUS[name], "w[0]" if name in ("Dirichlet", "walk") else "w")
    assert bp.influence_report(made, bp.mean("y"), epsilon=1.0)


@pytest.mark.parametrize("name", WITH_ATOMS)
@pytest.mark.filterwarnings("ignore:No safe default transform")
def test_intervals_that_touch_where_a_value_may_be_taken_are_refused(name: str) -> None:
    with pytest.raises(SecretError, match="disjoint"):
        framework(WITH_ATOMS[name], "w[0]" if name == "walk from a point" else "w")


@pytest.mark.parametrize("sides", [((0, 0.4), (0.3, 1)), (0.3, (0.3, 1)), ((0, 1), (0, 1)), (0.3, 0.3)])
def test_secrets_with_more_in_common_than_an_end_are_refused(sides: Any) -> None:
    with pytest.raises(BnprivError, match="disjoint"):
        bp.intervals(sides)


def test_a_count_is_not_set_to_a_broken_number() -> None:
    """2.2 and 2.8 would both be 2: equal laws, and no noise."""
    with pm.Model() as model:
        sites = pm.Poisson("sites", 3)
        pm.Normal("y", sites, 0.5, shape=4, observed=np.zeros(4))
    network = bp.from_pymc(model).with_sampling(draws=200)
    schema = bp.Schema(records=4, columns={"y": bp.Real(-20, 20)})
    whole, broken = (
        bp.DistributionalAttributePrivacy(network, schema, {"sites": bp.intervals(pair)}, source="s")
        for pair in ((2, 3), (2.2, 2.8))
    )
    tight = bp.TightMechanism()
    assert tight.calibrate(whole, bp.mean("y"), epsilon=1.0).scale > 0.5
    with pytest.raises(BnprivError, match="'sites' can be set to values that it takes only"):
        tight.calibrate(broken, bp.mean("y"), epsilon=1.0)


def test_draws_that_come_again_are_not_independent() -> None:
    with pm.Model() as model:
        level = pm.Normal("level", 0, 1)
        pm.Normal("y", level, 1, shape=4, observed=np.zeros(4))
    stuck = np.repeat(np.random.default_rng(0).normal(size=100), 100).reshape(4, -1)
    drawn = xarray.Dataset({"level": (("chain", "draw"), stuck)})
    assert bp.from_pymc(model, posterior=drawn, reading="belief").drawn.draws == 10_000
    with pytest.raises(BnprivError, match="100 different ones among 10,000"):
        bp.from_pymc(model, posterior=drawn, reading="belief", independent=True)


def test_an_end_that_the_model_takes_often_is_not_shared_because_no_draw_is_there() -> None:
    """Under each draw as a model a hurdle is 0 half of the time, whatever its own draws are."""
    with pm.Model() as model:
        hurdle = pm.HurdleGamma("hurdle", psi=0.5, alpha=2, beta=1)
        pm.Normal("y", hurdle + pm.Normal("mu"), 1, shape=4, observed=np.zeros(4))
    random = np.random.default_rng(0)
    drawn = {"hurdle": random.gamma(2, 1, 500), "mu": random.normal(size=500)}
    posterior = xarray.Dataset({name: (("chain", "draw"), each[None]) for name, each in drawn.items()})
    schema = bp.Schema(records=4, columns={"y": bp.Real(-20, 20)})
    secret = {"hurdle": bp.intervals(((-1, 0), (0, 2)))}
    believed, models = (bp.from_pymc(model, posterior=posterior, reading=each) for each in ("belief", "models"))
    assert bp.DistributionalAttributePrivacy(believed, schema, secret, source="s").secrets["hurdle"]
    with pytest.raises(SecretError, match="must be disjoint where a value may be taken often, as by 'hurdle'"):
        bp.DistributionalAttributePrivacy(models, schema, secret, source="s")


def test_states_that_are_large_and_near_each_other_are_told_apart() -> None:
    """10,000,000,000 and one more are different states, however small their relative difference."""
    low = 10**10
    with pm.Model() as model:
        site = pm.DiscreteUniform("site", low, low + 2)
        pm.Normal("y", site - low, 1, shape=4, observed=np.zeros(4))
    network = bp.from_pymc(model).with_sampling(draws=1000)
    schema = bp.Schema(records=4, columns={"y": bp.Real(-20, 20)})
    framework = bp.DistributionalAttributePrivacy(network, schema, ["site"], source="s")
    (constraint,) = laws(framework, bp.mean("y")).constraints()
    gaps = [float(pair.second.mean[0] - pair.first.mean[0]) for pair in constraint.pairs]
    assert np.allclose(np.round(np.abs(gaps)), [1, 2, 1])
