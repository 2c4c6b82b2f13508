"""What PyMC models are refused for is said with the variable, its values and what to declare instead."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.core.evidence.laws import laws
from bnpriv.errors import BnprivError, NetworkError, SecretError
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


def test_potentials_are_refused_with_what_replaces_them() -> None:
    with pm.Model() as model:
        pm.Potential("cut", -(pm.HalfNormal("a") ** 2))
    with pytest.raises(NetworkError, match="the Potential 'cut'") as error:
        bp.from_pymc(model)
    assert "pymc.Censored" in error.value.remedy
    assert "pymc.Truncated" in error.value.remedy


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
