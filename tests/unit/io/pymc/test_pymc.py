"""PyMC models: what depends on what, exact tables, linear-Gaussian laws, roles, draws, and what is refused."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.errors import BnprivError, MissingExtraError, NetworkError
from tests.later import Later, optional

stats = Later("scipy.stats")

pm = optional("pymc")
pt = optional("pytensor.tensor")

SCHOOLS = ["Choate", "Deerfield", "Phillips Andover"]


def treatments(network: Any) -> Mapping[str, tuple[str, str]]:
    return {node.name: (node.role, node.treatment) for node in network.reading.nodes}


def eight_schools(*, centred: bool = True) -> Any:
    with pm.Model(coords={"school": SCHOOLS}) as model:
        mu = pm.Normal("mu", mu=0, sigma=5)
        tau = pm.HalfCauchy("tau", beta=5)
        sigma = pm.Data("sigma", [15.0, 10.0, 16.0], dims="school")
        if centred:
            theta = pm.Normal("theta", mu=mu, sigma=tau, dims="school")
        else:
            raw = pm.Normal("raw", 0, 1, dims="school")
            theta = pm.Deterministic("theta", mu + tau * raw, dims="school")
        pm.Normal("obs", mu=theta, sigma=sigma, observed=[28.0, 8.0, -3.0], dims="school")
    return model


def varying_intercepts() -> Any:
    with pm.Model(coords={"county": ["A", "B", "C"], "obs_id": range(6)}) as model:
        floor = pm.Data("floor", [0.0, 1, 0, 1, 0, 1], dims="obs_id")
        county = pm.Data("county_idx", [0, 0, 1, 1, 2, 2], dims="obs_id")
        mu_a = pm.Normal("mu_a", 0.0, 10.0)
        sigma_a = pm.Exponential("sigma_a", 1)
        alpha = pm.Normal("alpha", mu_a, sigma_a, dims="county")
        beta = pm.Normal("beta", 0.0, 10.0)
        sigma = pm.Exponential("sigma", 1)
        pm.Normal("y", alpha[county] + beta * floor, sigma, observed=np.zeros(6), dims="obs_id")
    return model


def test_a_model_of_bambi_is_read_through_the_one_that_it_built() -> None:
    built = SimpleNamespace(backend=SimpleNamespace(model=eight_schools()))
    assert bp.from_pymc(built).identity() == bp.from_pymc(eight_schools()).identity()
    with pytest.raises(NetworkError, match=r"Call model\.build\(\) first"):
        bp.from_pymc(SimpleNamespace(backend=None))


def test_a_regression_of_bambi_is_the_one_of_pymc() -> None:
    bambi = pytest.importorskip("bambi")
    import pandas as pd

    made = bambi.Model("y ~ x", pd.DataFrame({"y": [1.0, 2.0, 4.0, 3.0], "x": [0.0, 1.0, 2.0, 3.0]}))
    with pytest.raises(NetworkError, match="build"):
        bp.from_pymc(made)
    made.build()
    network = bp.from_pymc(made)
    assert {"Intercept", "x", "sigma"} <= set(network.attributes)
    assert network.identity() == bp.from_pymc(made.backend.model).identity()


# -- what depends on what


def test_elements_of_vectors_go_by_dims_and_coordinates() -> None:
    network = bp.from_pymc(eight_schools())
    assert network.attributes == ("mu", "tau", *(f"theta[{name}]" for name in SCHOOLS))
    assert network.graph.parents["theta[Deerfield]"] == ("mu", "tau")
    assert network.reading.columns == {"obs": tuple(f"theta[{name}]" for name in SCHOOLS)}


def test_deterministics_are_passed_through() -> None:
    network = bp.from_pymc(eight_schools(centred=False))
    assert network.attributes == ("mu", "tau", *(f"raw[{name}]" for name in SCHOOLS))
    assert all(not network.graph.parents[name] for name in network.attributes)
    assert network.reading.columns["obs"] == network.attributes


def test_an_index_is_followed_to_the_entry_it_picks() -> None:
    with pm.Model() as model:
        a = pm.Normal("a", 0, [1.0, 2.0, 3.0])
        pm.HalfNormal("b", pm.math.exp(a[[2, 0]]))
    parents = bp.from_pymc(model).graph.parents
    assert parents["b[0]"] == ("a[2]",)
    assert parents["b[1]"] == ("a[0]",)


def test_an_index_that_is_random_may_pick_every_entry() -> None:
    with pm.Model() as model:
        which = pm.Categorical("which", [0.2, 0.8])
        a = pm.HalfNormal("a", [1.0, 2.0])
        pm.HalfNormal("b", a[which])
    assert set(bp.from_pymc(model).graph.parents["b"]) == {"which", "a[0]", "a[1]"}


def test_no_dependence_is_missed_in_random_expressions() -> None:
    """Move one entry above: every entry whose law moves must have it as a parent."""
    from bnpriv.io.pymc.evaluation import Evaluation
    from bnpriv.io.pymc.structure import structure_of

    matrix = np.arange(1.0, 10.0).reshape(3, 3)
    expressions = [
        lambda a, b: a[::-1] * b[0],
        lambda a, b: pt.dot(matrix, a) + b[:3],
        lambda a, b: pt.concatenate([a[1:], b[:1]]),
        lambda a, b: pt.cumsum(a) + b[1],
        lambda a, b: pt.stack([a.sum(), b.max(), a[0] * b[2]]),
        lambda a, b: pt.switch(a > 0, b[:3], 2.0),
        lambda a, b: a.reshape((3, 1))[:, 0] - b.mean(),
        lambda a, b: pt.set_subtensor(a[1], b[3]),
        lambda a, b: pt.sort(a) * pt.prod(b),
        lambda a, b: pt.tile(a[:1], 3) + pt.repeat(b[:1], 3),
        lambda a, b: (a[:, None] * b[None, :]).sum(axis=1),
        lambda a, b: pt.ones_like(a) * b[2],
    ]
    random = np.random.default_rng(0)
    for number, expression in enumerate(expressions):
        with pm.Model() as model:
            a, b = pm.Normal("a", 0, 1, shape=3), pm.Normal("b", 0, 1, shape=4)
            pm.Normal("c", expression(a, b), 1.0, shape=3)
        structure = structure_of(model)
        variable = structure.variables["c"]
        evaluation = Evaluation(variable, structure.variables)
        base = {"a": random.normal(size=(1, 3)), "b": random.normal(size=(1, 4))}
        for name, k in [*(("a", k) for k in range(3)), *(("b", k) for k in range(4))]:
            for step in (1e-3, 3.0, -3.0):
                moved = {each: values.copy() for each, values in base.items()}
                moved[name][0, k] += step
                before, after = (
                    np.broadcast_to(evaluation.parameters({p: point[p] for p in variable.parents}, 1)[0][0], 3)
                    for point in (base, moved)
                )
                for entry in np.flatnonzero(before != after):
                    assert (name, k) in variable.above[int(entry)], (number, name, k, entry)


# -- discrete


def test_tables_are_the_models_own_densities() -> None:
    table = np.array([[[0.1, 0.9], [0.25, 0.75]], [[0.6, 0.4], [1.0, 0.0]]])
    with pm.Model(coords={"a_states": ["no", "yes"]}) as model:
        a = pm.Bernoulli("a", 0.3)
        b = pm.DiscreteUniform("b", 0, 1)
        pm.Categorical("c", pt.constant(table)[a, b])
        pm.Binomial("d", 3, 0.1 + 0.4 * a)
    network = bp.from_pymc(model)
    assert isinstance(network, bp.DiscreteNetwork)
    assert network.states["a"] == ("no", "yes")
    assert network.states["d"] == (0, 1, 2, 3)
    np.testing.assert_allclose(network.probabilities("a")[0], [0.7, 0.3], rtol=1e-15)
    np.testing.assert_allclose(network.probabilities("c")[0], np.moveaxis(table, 2, 0), atol=1e-15)
    expected = stats.binom.pmf(np.arange(4)[:, None], 3, [[0.1, 0.5]])
    np.testing.assert_allclose(network.probabilities("d")[0], expected, rtol=1e-13)


def test_constants_of_few_digits_are_computed_in_double_precision() -> None:
    with pm.Model() as model:
        pm.BetaBinomial("x", n=7, alpha=2, beta=5)
        pm.Bernoulli("y", p=1 / (1 + pt.exp(-pt.constant(np.float32(0.5)))))
    network = bp.from_pymc(model)
    expected = stats.betabinom.pmf(np.arange(8), 7, 2, 5)
    np.testing.assert_allclose(network.probabilities("x")[0], expected, rtol=1e-13)
    np.testing.assert_allclose(network.probabilities("y")[0][1], 1 / (1 + np.exp(-0.5)), rtol=1e-15)


def test_parameters_out_of_range_are_refused() -> None:
    with pm.Model() as model:
        a = pm.DiscreteUniform("a", 0, 3)
        pm.Bernoulli("b", 0.5 * a)
    with pytest.raises(NetworkError, match="valid for all values of its parents"):
        bp.from_pymc(model)


def test_discrete_vectors_are_split() -> None:
    with pm.Model(coords={"person": ["Ann", "Bob"], "flu_states": ["well", "ill"]}) as model:
        season = pm.Bernoulli("season", 0.5)
        pm.Bernoulli("flu", 0.1 + 0.3 * season, dims="person")
    network = bp.from_pymc(model)
    assert network.attributes == ("season", "flu[Ann]", "flu[Bob]")
    assert network.states["flu[Bob]"] == ("well", "ill")


# -- columns with parameters of their own


def two_parameters() -> Any:
    with pm.Model() as model:
        income = pm.Bernoulli("income", 0.4)
        stress = pm.Bernoulli("stress", 0.3 + 0.4 * income)
        pm.Bernoulli("ill", 0.1 + 0.2 * income + 0.3 * stress, observed=np.zeros(50))
        pm.Bernoulli("smokes", 0.2 + 0.3 * stress, observed=np.zeros(50))
    return model


def framework_of(model: Any, columns: Mapping[str, Any], records: int, protect: Any) -> Any:
    schema = bp.Schema(records=records, columns=dict(columns))
    return bp.DistributionalAttributePrivacy(bp.from_pymc(model), schema, protect, source="a textbook")


BITS = {"ill": bp.Integer(0, 1), "smokes": bp.Integer(0, 1)}


def test_a_column_that_the_protected_parameter_drives_is_always_near() -> None:
    framework = framework_of(two_parameters(), BITS, 50, "income")
    query = bp.count(bp.col("ill") == 1)
    calibration = bp.MarkovQuiltMechanism().calibrate(framework, query, epsilon=1.0)
    assert calibration.scale == pytest.approx(50.0, rel=1e-12)


def test_the_other_columns_are_bounded_by_their_drivers() -> None:
    framework = framework_of(two_parameters(), BITS, 50, "income")
    query = bp.count(bp.col("smokes") == 1)
    told = float(bp.max_influence(framework.network, {"stress"}, "income"))
    calibration = bp.MarkovQuiltMechanism().calibrate(framework, query, epsilon=2.0)
    assert told == pytest.approx(np.log(0.7 / 0.3))
    assert calibration.scale == 0.0
    assert bp.MarkovQuiltMechanism().calibrate(framework, query, epsilon=0.5).scale == pytest.approx(100.0)


def test_records_of_a_column_follow_its_own_parameters_exactly() -> None:
    framework = framework_of(two_parameters(), BITS, 50, "income")
    query = bp.count(bp.col("ill") == 1)
    calibration = bp.TightMechanism().calibrate(framework, query, epsilon=1.0)
    count = np.arange(51)
    given = []
    for income in (0, 1):
        mixture = sum(
            stats.bernoulli.pmf(stress, 0.3 + 0.4 * income)
            * stats.binom.pmf(count, 50, 0.1 + 0.2 * income + 0.3 * stress)
            for stress in (0, 1)
        )
        given.append(bp.laws.Atoms(count, mixture))
    alone = bp.DistributionPrivacy([(given[0], given[1])], source="the same laws")
    expected = bp.TightMechanism().calibrate(alone, epsilon=1.0)
    assert calibration.scale == pytest.approx(expected.scale, rel=1e-9)
    assert calibration.guarantee.kind == "exact"


def test_a_column_whose_law_does_not_suit_its_declaration_is_drawn_from_the_model() -> None:
    declared = {"ill": bp.Real(0, 1), "smokes": bp.Integer(0, 1)}
    framework = framework_of(two_parameters(), declared, 50, "income")
    assert "ill" not in framework.column_laws
    assert bp.MarkovQuiltMechanism().supports(framework, bp.mean("ill"), epsilon=1.0) is None
    drawn = bp.TightMechanism().calibrate(framework, bp.mean("ill"), epsilon=1.0)
    exact = bp.TightMechanism().calibrate(
        framework_of(two_parameters(), BITS, 50, "income"), bp.mean("ill"), epsilon=1.0
    )
    assert (drawn.guarantee.kind, exact.guarantee.kind) == ("estimate", "exact")
    assert drawn.scale == pytest.approx(exact.scale, rel=0.2)


def test_made_up_tables_and_rehearsals_follow_the_model() -> None:
    framework = framework_of(two_parameters(), BITS, 2000, "income")
    table = bp.simulate(framework, secret={"income": 1, "stress": 1}, seed=1)
    assert table["ill"].mean() == pytest.approx(0.6, abs=0.05)
    assert table["smokes"].mean() == pytest.approx(0.5, abs=0.05)
    query = bp.count(bp.col("smokes") == 1)
    rehearsed = bp.rehearse(bp.MarkovQuiltMechanism().calibrate(framework, query, epsilon=2.0), draws=200, seed=1)
    assert rehearsed is not None


def test_columns_may_be_named_otherwise_and_governed_by_a_parameter() -> None:
    with pm.Model() as model:
        income = pm.Bernoulli("income", 0.4)
        sat = pm.Bernoulli("sat", 0.3 + 0.4 * income)
        pm.Bernoulli("pass", 0.2 + 0.5 * sat)
    network = bp.from_pymc(model, columns={"salary": "income", "passed": "pass"})
    assert network.attributes == ("income", "sat")
    assert network.reading.columns == {"salary": ("income",), "passed": ("sat",)}


def test_a_column_below_another_is_driven_by_what_drives_that() -> None:
    with pm.Model() as model:
        a, b = pm.Bernoulli("a", 0.4), pm.Bernoulli("b", 0.5)
        x = pm.Bernoulli("x", 0.2 + 0.5 * a, observed=np.zeros(3))
        pm.Bernoulli("y", 0.2 + 0.5 * b * x, observed=np.zeros(3))
    network = bp.from_pymc(model)
    assert network.attributes == ("a", "b")
    assert network.reading.columns == {"x": ("a",), "y": ("a", "b")}


# -- linear-Gaussian


def test_normal_variables_give_the_exact_joint_law() -> None:
    covariance = np.array([[2.0, 1.0], [1.0, 3.0]])
    with pm.Model() as model:
        a = pm.Normal("a", 40, 10)
        b = pm.Normal("b", 880 + 3 * a, 150)
        v = pm.MvNormal("v", pt.stack([a, 2 * b]), covariance)
        pm.Normal("w", v.sum() - a / 7 + 1e6, [1e-3, 2.0])
    network = bp.from_pymc(model)
    assert isinstance(network, bp.types.GaussianNetwork)
    assert network.mean.shape == (1, 6)
    assert network.covariance.shape == (1, 6, 6)
    names = ("a", "b", "v[0]", "v[1]", "w[0]", "w[1]")
    slopes = np.zeros((6, 6))
    slopes[1, 0], slopes[2, 0], slopes[3, 1] = 3, 1, 2
    slopes[4:, 2:4], slopes[4:, 0] = 1, -1 / 7
    noise = np.zeros((6, 6))
    noise[0, 0], noise[1, 1], noise[2:4, 2:4] = 100, 150**2, covariance
    noise[4, 4], noise[5, 5] = 1e-6, 4
    inverse = np.linalg.inv(np.eye(6) - slopes)
    mean = inverse @ np.array([40, 880, 0, 0, 1e6, 1e6])
    order = [network.attributes.index(name) for name in names]
    np.testing.assert_allclose(network.mean[0][order], mean, rtol=1e-12)
    expected = inverse @ noise @ inverse.T
    np.testing.assert_allclose(network.covariance[0][np.ix_(order, order)], expected, rtol=1e-12)


def test_linear_models_equal_the_closed_form() -> None:
    with pm.Model() as model:
        income = pm.Normal("income", 40.0, 10.0)
        sat = pm.Normal("sat", 880.0 + 3.0 * income, 150.0)
        pm.Normal("height", 160 + 0.01 * sat, 5.0)
    told = bp.max_influence(bp.from_pymc(model), {"sat"}, "income", bp.apart(at_most=5))
    assert told.mu == pytest.approx(0.1, rel=1e-10)


@pytest.mark.parametrize("kind", ["scale", "product", "bend"])
def test_what_is_not_linear_is_not_taken_for_it(kind: str) -> None:
    with pm.Model() as model:
        a, b = pm.Normal("a", 0, 1), pm.Normal("b", 0, 1)
        mean = {"scale": a, "product": a * b, "bend": pt.switch(a > 1e9, 5.0, a)}[kind]
        pm.Normal("c", mean, pt.exp(b) if kind == "scale" else 1.0)
    assert isinstance(bp.from_pymc(model), bp.types.DensityNetwork)


# -- densities and draws


def test_eight_schools_is_read_unchanged() -> None:
    for centred in (True, False):
        network = bp.from_pymc(eight_schools(centred=centred))
        found = treatments(network)
        assert found["mu"] == ("parameter", "quadrature")
        assert found["tau"] == ("parameter", "quadrature")
        assert found["obs[3 entries]"] == ("column", "draws")


def test_densities_are_those_of_the_model() -> None:
    network = bp.from_pymc(eight_schools())
    x, mu, tau = np.linspace(-30, 30, 301), np.linspace(-3, 3, 301), np.geomspace(1e-3, 1e3, 301)
    density = network.parameters["theta[Deerfield]"].log_density
    np.testing.assert_allclose(density(x, mu, tau), stats.norm(mu, tau).logpdf(x), rtol=1e-12)
    half = network.parameters["tau"]
    assert (half.lower, half.upper) == (0.0, np.inf)
    np.testing.assert_allclose(half.log_density(tau), stats.halfcauchy(scale=5).logpdf(tau), rtol=1e-12)
    assert np.isneginf(half.log_density(np.array([-1.0]))).all()


def test_forward_draws_follow_the_model() -> None:
    simulate = bp.from_pymc(eight_schools()).simulator
    drawn = simulate(["mu", "theta[Choate]", "obs"], 200_000, seed=1, given={"tau": 2.0}, records=3)
    assert drawn["obs"].shape == (200_000, 3)
    assert np.std(drawn["mu"]) == pytest.approx(5, rel=0.02)
    assert np.std(drawn["theta[Choate]"]) == pytest.approx(np.sqrt(25 + 4), rel=0.02)
    np.testing.assert_allclose(np.std(drawn["obs"], axis=0), np.sqrt(29 + np.array([225.0, 100, 256])), rtol=0.02)
    both = np.corrcoef(drawn["obs"][:, 0], drawn["theta[Choate]"])[0, 1]
    assert both == pytest.approx(np.sqrt(29 / (29 + 225)), abs=0.02)


def test_draws_are_the_same_for_one_seed_and_others_for_another() -> None:
    network = bp.from_pymc(eight_schools())
    one, same, other = (network.simulator(["obs"], 3, seed=seed, given={}, records=3)["obs"] for seed in (1, 1, 2))
    again = bp.from_pymc(eight_schools()).simulator(["obs"], 3, seed=1, given={}, records=3)["obs"]
    np.testing.assert_array_equal(one, same)
    np.testing.assert_array_equal(one, again)
    assert not np.array_equal(one, other)


def test_records_of_a_single_law_are_drawn_one_by_one() -> None:
    with pm.Model() as model:
        theta = pm.Beta("theta", 2, 5)
        pm.Bernoulli("x", theta, observed=0)
    drawn = bp.from_pymc(model).simulator(["theta", "x"], 50_000, seed=0, given={"theta": 0.25}, records=4)["x"]
    counts = np.bincount(drawn.sum(axis=1).astype(int), minlength=5) / 50_000
    np.testing.assert_allclose(counts, stats.binom.pmf(np.arange(5), 4, 0.25), atol=0.01)


def test_a_model_for_some_records_is_not_drawn_for_others() -> None:
    simulate = bp.from_pymc(eight_schools()).simulator
    with pytest.raises(NetworkError, match="has 3 records"):
        simulate(["obs"], 2, seed=0, given={}, records=4)


def test_the_laws_of_many_distributions_are_read() -> None:
    laws = {
        "Gamma": (pm.Gamma.dist(2.0, 3.0), stats.gamma(2.0, scale=1 / 3)),
        "InverseGamma": (pm.InverseGamma.dist(3.0, 2.0), stats.invgamma(3.0, scale=2.0)),
        "LogNormal": (pm.LogNormal.dist(0.1, 0.5), stats.lognorm(0.5, scale=np.exp(0.1))),
        "StudentT": (pm.StudentT.dist(4.0, mu=1.0, sigma=2.0), stats.t(4.0, 1.0, 2.0)),
        "Uniform": (pm.Uniform.dist(-1.0, 2.5), stats.uniform(-1.0, 3.5)),
        "Weibull": (pm.Weibull.dist(2.0, 3.0), stats.weibull_min(2.0, scale=3.0)),
        "HalfStudentT": (pm.HalfStudentT.dist(3.0, 2.0), None),
        "Kumaraswamy": (pm.Kumaraswamy.dist(2.0, 3.0), None),
        "Laplace": (pm.Laplace.dist(1.0, 2.0), stats.laplace(1.0, 2.0)),
    }
    with pm.Model() as model:
        for name, (law, _) in laws.items():
            model.register_rv(law, name)
    network = bp.from_pymc(model)
    drawn = network.simulator(list(laws), 20_000, seed=0, given={}, records=1)
    for name, (_, expected) in laws.items():
        parameter = network.parameters[name]
        assert parameter.lower <= drawn[name].min() < drawn[name].max() <= parameter.upper
        if expected is not None:
            points = drawn[name][:50]
            np.testing.assert_allclose(parameter.log_density(points), expected.logpdf(points), rtol=1e-9, err_msg=name)
            assert stats.kstest(drawn[name], expected.cdf).pvalue > 1e-4, name


# -- posteriors


def posterior_model() -> Any:
    with pm.Model() as model:
        p = pm.Beta("p", 2, 2)
        q = pm.Beta("q", 2, 2, shape=2)
        income = pm.Bernoulli("income", p)
        pm.Bernoulli("sat", q[income])
    return model


def posterior(chains: int, draws: int) -> Any:
    xarray = pytest.importorskip("xarray")
    random = np.random.default_rng(0)
    return xarray.Dataset(
        {
            "p": (("chain", "draw"), random.uniform(0.2, 0.8, size=(chains, draws))),
            "q": (("chain", "draw", "q_dim_0"), random.uniform(0.2, 0.8, size=(chains, draws, 2))),
        }
    )


def test_every_draw_of_a_posterior_is_a_model() -> None:
    drawn = posterior(2, 5)
    network = bp.from_pymc(posterior_model(), posterior=drawn)
    assert isinstance(network, bp.DiscreteNetwork)
    assert network.models == 10
    np.testing.assert_allclose(network.probabilities("income")[:, 1], drawn["p"].values.reshape(-1), rtol=1e-12)
    np.testing.assert_allclose(network.probabilities("sat")[:, 1], drawn["q"].values.reshape(-1, 2), rtol=1e-12)
    assert network.posterior_draws is not None
    assert not network.posterior_draws.independent
    assert bp.from_pymc(posterior_model(), posterior=drawn, thin=2).models == 6


def test_the_variables_to_fix_can_be_named() -> None:
    drawn = posterior(1, 4)
    with pm.Model() as model:
        p = pm.Beta("p", 2, 2)
        pm.Beta("q", 2, 2, shape=2)
        pm.Bernoulli("income", p)
    network = bp.from_pymc(model, posterior=drawn, fix=["p", "q"])
    assert isinstance(network, bp.DiscreteNetwork)
    mixed = bp.from_pymc(model, posterior=drawn, fix=["q"])
    assert isinstance(mixed, bp.types.DensityNetwork)
    assert (mixed.attributes, mixed.drawn.parameters) == (("p", "q[0]", "q[1]", "income"), {"q[0]", "q[1]"})
    refused(model, "fix", posterior=drawn, fix=["z"])
    refused(model, "thin and fix go with posterior", fix=["p"])


def test_sums_over_normal_columns_of_linear_models_are_exact_and_counts_are_learned_from_draws() -> None:
    with pm.Model() as model:
        a = pm.Normal("a", 0, 1)
        b = pm.Normal("b", a, 1)
        pm.Normal("x", b, 2, observed=np.zeros(40))
    network = bp.from_pymc(model)
    assert isinstance(network, bp.types.GaussianNetwork)
    schema = bp.Schema(records=40, columns={"x": bp.Real(-10, 10)})
    protect = {"a": bp.intervals((-0.5, 0.5))}
    framework = bp.DistributionalAttributePrivacy(network, schema, protect, source="a textbook")
    found = bp.TightMechanism().calibrate(framework, bp.mean("x"), epsilon=1.0)
    assert found.guarantee.kind == "certified"
    assert found.scale == pytest.approx(1.0, rel=0.05)  # at delta 0 the distance of two values
    # the mean of x given a is normal around a with variance 1 + 4/40
    less = bp.TightMechanism().calibrate(framework, bp.mean("x"), epsilon=1.0, delta=1e-2)
    assert 0.05 < less.scale < 1.0
    counted = bp.TightMechanism().calibrate(framework, bp.count(bp.col("x") > 0), epsilon=1.0)
    assert counted.guarantee.kind == "estimate"
    seeded = bp.DistributionalAttributePrivacy(network.with_sampling(seed=3), schema, protect, source="a textbook")
    assert seeded.fingerprint() != framework.fingerprint()
    alone = bp.types.GaussianNetwork([*"ab"], [0, 0], [[1, 0.5], [0.5, 1]])
    with pytest.raises(NetworkError, match="distributions of columns"):
        alone.with_sampling(draws=10)


def test_every_holder_of_draws_is_understood() -> None:
    drawn = posterior(2, 5)

    class Holder:
        posterior = drawn

    first = bp.from_pymc(posterior_model(), posterior=Holder())
    second = bp.from_pymc(posterior_model(), posterior={"p": drawn["p"], "q": drawn["q"]})
    np.testing.assert_array_equal(first.probabilities("sat"), second.probabilities("sat"))


def test_what_pymc_samples_is_understood() -> None:
    with pm.Model():
        p = pm.Beta("p", 2, 2)
        q = pm.Beta("q", 2, 2, shape=2)
        income = pm.Bernoulli("income", p, observed=[0, 1, 1])
        pm.Bernoulli("sat", q[income], observed=[0, 1, 1])
        quick = {"step": pm.Metropolis([p, q]), "progressbar": False, "compute_convergence_checks": False}
        sampled = pm.sample(20, tune=20, chains=1, random_seed=1, **quick)  # the same holder of draws, no gradient
    network = bp.from_pymc(posterior_model(), posterior=sampled, thin=2)
    assert network.models == 10


def test_variables_of_finitely_many_values_stay_parameters() -> None:
    drawn = posterior(1, 4)
    drawn = drawn.assign(income=(("chain", "draw"), np.zeros((1, 4))))
    assert bp.from_pymc(posterior_model(), posterior=drawn).attributes == ("income", "sat")


def test_eight_schools_with_draws_of_the_top_are_linear() -> None:
    xarray = pytest.importorskip("xarray")
    drawn = xarray.Dataset(
        {"mu": (("chain", "draw"), np.arange(4.0)[None]), "tau": (("chain", "draw"), np.arange(1.0, 5.0)[None])}
    )
    network = bp.from_pymc(eight_schools(), posterior=drawn)
    assert isinstance(network, bp.types.GaussianNetwork)
    assert network.attributes == tuple(f"theta[{name}]" for name in SCHOOLS)
    np.testing.assert_allclose(network.mean[:, 0], np.arange(4.0))
    assert network.posterior_draws is not None
    assert treatments(network)["mu"] == ("fixed", "exact")


def record_model(records: int = 6) -> Any:
    with pm.Model(coords={"ill_states": ["no", "yes"]}) as model:
        p = pm.Beta("p", 2, 2)
        q = pm.Dirichlet("q", np.ones((2, 3)))
        ill = pm.Bernoulli("ill", p, observed=np.arange(records) % 2)
        pm.Categorical("visits", q[ill], observed=np.zeros(records, dtype=int))
    return model


def record_draws() -> Any:
    xarray = pytest.importorskip("xarray")
    random = np.random.default_rng(0)
    return xarray.Dataset(
        {
            "p": (("chain", "draw"), random.uniform(0.2, 0.8, size=(2, 4))),
            "q": (("chain", "draw", "a", "b"), random.dirichlet(np.ones(3), size=(2, 4, 2))),
        }
    )


def test_observed_columns_whose_parameters_are_drawn_make_a_network_of_records() -> None:
    drawn = record_draws()
    network = bp.from_pymc(record_model(), posterior=drawn)
    assert isinstance(network, bp.DiscreteNetwork)
    assert (network.level, network.models, network.attributes) == ("records", 8, ("ill", "visits"))
    assert network.states["ill"] == ("no", "yes")
    np.testing.assert_allclose(network.probabilities("ill")[:, 1], drawn["p"].values.reshape(-1), rtol=1e-12)
    expected = np.moveaxis(drawn["q"].values.reshape(8, 2, 3), 2, 1)
    np.testing.assert_allclose(network.probabilities("visits"), expected, rtol=1e-12)
    schema = bp.Schema(records=50, columns={"ill": bp.Categorical(["no", "yes"]), "visits": bp.Integer(0, 2)})
    secret = {"ill": bp.Secret(bp.count(bp.col("ill") == "yes"), pairs=bp.apart(at_most=3))}
    framework = bp.DatasetAttributePrivacy(network, schema, secret, source="a public survey")
    calibration = bp.TightMechanism().calibrate(framework, bp.total("visits"), epsilon=1.0)
    assert calibration.guarantee.models == 8
    assert "8 draws" in " ".join(calibration.certificate.notes)


def test_records_that_are_not_alike_make_no_network_of_one() -> None:
    xarray = pytest.importorskip("xarray")
    drawn = xarray.Dataset({"b": (("chain", "draw"), [[0.5, 1.0]])})
    with pm.Model() as model:
        b = pm.Normal("b", 0, 1)
        pm.Bernoulli("x", pm.math.sigmoid(b * np.arange(3.0)), observed=[0, 1, 1])
    refused(model, "independent and alike", posterior=drawn, fix=["b"])
    assert bp.from_pymc(model, posterior=drawn).drawn.reading == "models"
    with pm.Model() as model:
        b = pm.Normal("b", 0, 1)
        x = pm.Bernoulli("x", pm.math.sigmoid(b), observed=[0, 1, 1])
        pm.Bernoulli("y", 0.1 + 0.2 * x[::-1], observed=[0, 1, 1])
    refused(model, "independent and alike", posterior=drawn, fix=["b"])


def test_the_table_that_the_draws_rest_on_is_refused() -> None:
    xarray = pytest.importorskip("xarray")
    values = [0.0, 1.0, 1.0, 0.0, 1.0]

    class Holder:
        posterior = posterior(1, 4)
        observed_data = xarray.Dataset({"sat": (("sat_dim_0",), np.array(values))})

    network = bp.from_pymc(posterior_model(), posterior=Holder()).of_level("parameters")
    schema = bp.Schema(records=5, columns={"sat": bp.Integer(0, 1)})
    framework = bp.DistributionalAttributePrivacy(network, schema, "income", source="a public census")
    calibration = bp.ColumnMechanism().calibrate(framework, bp.total("sat"), epsilon=1.0)
    pandas = pytest.importorskip("pandas")
    with pytest.raises(BnprivError, match="must not be the one that the models were learned from"):
        bp.release(calibration, pandas.DataFrame({"sat": values}))
    assert bp.release(calibration, pandas.DataFrame({"sat": [1, 0, 0, 0, 0]})).value is not None


def test_the_certificate_of_a_posterior_says_what_it_owes_to_draws() -> None:
    network = bp.from_pymc(posterior_model(), posterior=posterior(2, 50)).of_level("parameters")
    schema = bp.Schema(records=100, columns={"sat": bp.Integer(0, 1)})
    framework = bp.DistributionalAttributePrivacy(network, schema, "income", source="a public census")
    calibration = bp.MarkovQuiltMechanism().calibrate(framework, bp.total("sat"), epsilon=1.0)
    notes = " ".join(calibration.certificate.notes)
    assert "100 draws" in notes
    assert "depend on each other" in calibration.guarantee.sentence


def test_a_linear_model_has_one_law_per_draw() -> None:
    xarray = pytest.importorskip("xarray")
    with pm.Model() as model:
        slope, spread = pm.Normal("slope", 0, 1), pm.HalfNormal("spread", 1)
        a = pm.Normal("a", 1.0, 2.0)
        pm.Normal("b", 3.0 + slope * a, spread)
    slopes, spreads = np.array([[0.5, -1.0, 2.0]]), np.array([[1.0, 2.0, 3.0]])
    drawn = xarray.Dataset({"slope": (("chain", "draw"), slopes), "spread": (("chain", "draw"), spreads)})
    network = bp.from_pymc(model, posterior=drawn)
    assert isinstance(network, bp.types.GaussianNetwork)
    np.testing.assert_allclose(network.mean[:, 1], 3 + slopes[0], rtol=1e-12)
    np.testing.assert_allclose(network.covariance[:, 1, 1], 4 * slopes[0] ** 2 + spreads[0] ** 2, rtol=1e-12)


# -- refusals


def refused(model: Any, match: str, **arguments: Any) -> None:
    with pytest.raises(BnprivError, match=match) as error:
        bp.from_pymc(model, **arguments)
    assert error.value.remedy


def test_a_potential_is_refused() -> None:
    with pm.Model() as model:
        a = pm.Normal("a", 0, 1)
        pm.Potential("push", -(a**2))
    refused(model, "Potential 'push'")


def test_observed_parameters_need_a_posterior() -> None:
    with pm.Model() as model:
        a = pm.Bernoulli("a", 0.5, observed=1)
        pm.Bernoulli("b", 0.2 + 0.5 * a)
    refused(model, "need posterior=")
    with pm.Model() as model:
        p = pm.Beta("p", 1, 1)
        pm.Binomial("census", 1000, p, observed=400)
        pm.Bernoulli("x", p)
    refused(model, "data for 'census'", columns={"x": "x"})


def test_a_cycle_is_refused() -> None:
    with pm.Model() as model:
        a = pm.Normal("a", 0, 1)
        loop = pm.Deterministic("loop", 2 * a)
        b = pm.Normal("b", loop, 1)
    a.owner.inputs[2] = b
    refused(model, "no cycle")


def test_a_variable_without_a_name_is_refused() -> None:
    with pm.Model() as model:
        pm.Normal("a", pm.Normal.dist(0, 1), 1)
    refused(model, "no name")


def test_other_things_than_models_are_refused() -> None:
    refused(3, "a pymc.Model is needed")
    refused(pm.Model(), "needs a random variable")


def test_columns_that_do_not_fit_are_refused() -> None:
    refused(two_parameters(), "must name a random variable", columns={"x": "nothing"})
    refused(varying_intercepts(), "needs one parameter", columns={"x": "alpha", "y": "y"})
    refused(two_parameters(), "must not have the name", columns={"income": "stress", "ill": "ill", "smokes": "smokes"})


def test_draws_that_do_not_fit_are_refused() -> None:
    xarray = pytest.importorskip("xarray")
    every = posterior(1, 4)
    refused(posterior_model(), "from 1 on", posterior=every, thin=0)
    refused(posterior_model(), "thin and fix go with posterior", thin=2)
    refused(
        posterior_model(),
        "draws of a parameter",
        posterior=xarray.Dataset({"z": (("chain", "draw"), [[1.0]])}),
    )
    refused(posterior_model(), "the shape of their variable behind chain and draw", posterior={"p": 0.5})
    refused(posterior_model(), "finite numbers", posterior={"p": every["p"] * np.nan})
    refused(posterior_model(), "the shape of the model's", posterior={"q": every["p"]})
    refused(posterior_model(), "found|must hold arrays", posterior=7)
    schools = xarray.Dataset(
        {
            "mu": (("chain", "draw"), np.zeros((1, 4))),
            "tau": (("chain", "draw"), np.ones((1, 4))),
            "theta": (("chain", "draw", "school"), np.ones((1, 4, 3))),
        }
    )
    refused(eight_schools(), "a parameter must be left", posterior=schools, fix=["mu", "tau", "theta"])
    for reading in ("belief", "models"):
        refused(eight_schools(), "must have draws too", posterior=schools[["mu", "theta"]], reading=reading)
    refused(eight_schools(), "reading must be", posterior=schools, reading="prior")
    refused(eight_schools(), "a belief fixes nothing", posterior=schools, reading="belief", fix=["mu"])
    refused(eight_schools(), "go with posterior=", reading="belief")
    refused(eight_schools(), "go with posterior=", independent=True)
    refused(eight_schools(), "must have draws too", posterior=schools[["mu", "theta"]])


def test_an_improper_prior_is_told() -> None:
    with pm.Model() as model:
        a = pm.Flat("a")
        pm.Normal("b", a, 1)
    network = bp.from_pymc(model)
    assert treatments(network)["a"] == ("parameter", "refused")
    with pytest.raises(NetworkError, match="improper"):
        network.simulator(["b"], 2, seed=0, given={}, records=1)


def test_without_pymc_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pymc", None)
    with pytest.raises(MissingExtraError, match=r"bnpriv\[pymc\]"):
        bp.from_pymc(object())


def test_the_identity_tells_models_apart() -> None:
    def of(scale: float, data: float) -> str:
        with pm.Model() as model:
            a = pm.HalfNormal("a", scale)
            pm.Normal("b", a * pm.Data("d", data), 1)
        return bp.from_pymc(model).model_hash

    assert of(1.0, 2.0) == of(1.0, 2.0)
    assert len({of(scale, data) for scale, data in product((1.0, 1.5), (2.0, 3.0))}) == 4


def test_entries_with_the_same_parameters_are_alike_and_others_are_not() -> None:
    """Two arms of a study: entries of one arm tell the same, so that a report works out what one of each tells."""
    with pm.Model() as model:
        effect = pm.Normal("effect", 0, 5)
        spread = pm.HalfNormal("spread", 5)
        site = pm.Normal("site", 50 + effect * np.array([0.0, 0.0, 1.0, 1.0, 1.0]), spread, shape=5)
        pm.Normal("y", site, 1, shape=5, observed=np.zeros(5))
    groups = bp.from_pymc(model).alike("effect")
    assert groups == (("spread",), ("site[0]", "site[1]"), ("site[2]", "site[3]", "site[4]"))
