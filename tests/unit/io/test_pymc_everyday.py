"""Models that PyMC users write every day: all are read, drawn from as PyMC draws, or refused by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.core.influence.base import influence_of
from bnpriv.errors import BnprivError, NetworkError
from tests.later import Later, optional

stats = Later("scipy.stats")

pm = optional("pymc")
pt = optional("pytensor.tensor")

MODELS: dict[str, Callable[[], Any]] = {}


def everyday(make: Callable[[], Any]) -> Callable[[], Any]:
    """Register a function that makes a model."""

    def model() -> Any:
        with pm.Model() as made:
            make()
        return made

    MODELS[make.__name__] = model
    return model


def refused(model: Any, match: str, **arguments: Any) -> None:
    with pytest.raises(BnprivError, match=match) as error:
        bp.from_pymc(model, **arguments)
    assert error.value.remedy


@everyday
def correlated_slopes() -> None:
    chol, _, _ = pm.LKJCholeskyCov("chol", n=2, eta=2.0, sd_dist=pm.Exponential.dist(1.0, shape=2))
    z = pm.Normal("z", 0, 1, shape=(2, 3))
    both = pm.Deterministic("both", pt.dot(chol, z))
    county = pm.Data("county", [0, 0, 1, 2])
    pm.Normal("y", both[0, county] + both[1, county] * np.arange(4.0), 1, observed=np.zeros(4))


@everyday
def rugby() -> None:
    home, away = np.array([0, 1, 2]), np.array([1, 2, 0])
    attack = pm.Normal("attack", 0, pm.HalfNormal("spread", 1), shape=3)
    defence = pm.Normal("defence", 0, 1, shape=3)
    strength = attack - attack.mean()
    pm.Poisson("points", pt.exp(strength[home] + defence[away]), observed=np.zeros(3))


@everyday
def golf() -> None:
    distance = pm.Data("distance", np.arange(2.0, 7.0))
    sigma = pm.HalfNormal("sigma", 1)
    p = pt.erf(pt.arcsin(2.57 / 12 / distance) / sigma / np.sqrt(2))
    pm.Binomial("y", n=np.full(5, 100), p=pm.math.clip(p, 1e-9, 1 - 1e-9), observed=np.zeros(5))


@everyday
def mixture() -> None:
    w = pm.Dirichlet("w", np.ones(3))
    mu = pm.Normal("mu", 0, 10, shape=3)
    pm.Mixture("y", w=w, comp_dists=pm.Normal.dist(mu, 1, shape=3), observed=np.zeros(7))
    pm.NormalMixture("z", w, mu, 1, observed=np.zeros(7))


@everyday
def mixture_of_two() -> None:
    w, mu, b = pm.Dirichlet("w", np.ones(2)), pm.Normal("mu", 0, 10), pm.Exponential("b", 1)
    pm.Mixture("y", w=w, comp_dists=[pm.Normal.dist(mu, 1), pm.Laplace.dist(0, b)], observed=np.zeros(7))


@everyday
def zeros() -> None:
    psi, mu = pm.Beta("psi", 1, 1), pm.Gamma("mu", 2, 0.5)
    pm.ZeroInflatedPoisson("y", psi, mu, observed=np.zeros(5))
    pm.HurdlePoisson("h", psi, 1 + mu, observed=np.zeros(5))


@everyday
def series() -> None:
    s = pm.HalfNormal("s", 1)
    walk = pm.GaussianRandomWalk("walk", sigma=s, init_dist=pm.Normal.dist(0, 2), steps=3)
    pm.Normal("y", walk, 1, observed=np.zeros(4))
    pm.AR("a", [0.5], sigma=s, init_dist=pm.Normal.dist(0, 1), steps=3, observed=np.zeros(4))


@everyday
def ordinal() -> None:
    first, more = pm.Normal("first", 0, 1), pm.HalfNormal("more", 1, shape=2)
    cut = pt.concatenate([first[None], first + pt.cumsum(more)])
    pm.OrderedLogistic("y", eta=pm.Normal("b", 0, 1) * np.ones(6), cutpoints=cut, observed=np.zeros(6, int))


@everyday
def counts() -> None:
    share, scale = pm.Dirichlet("share", np.ones(4)), pm.LogNormal("scale", 1, 1)
    pm.DirichletMultinomial("y", n=np.full(5, 10), a=share * scale, observed=np.full((5, 4), 2))


@everyday
def sums_to_zero() -> None:
    effect = pm.ZeroSumNormal("effect", sigma=2, shape=4)
    pm.Normal("y", effect[np.array([0, 1, 2, 3, 3])], 1, observed=np.zeros(5))


@everyday
def cut_off() -> None:
    a = pm.TruncatedNormal("a", 0, 1, lower=0)
    b = pm.Truncated("b", pm.Gamma.dist(2, 1), upper=4)
    pm.Censored("y", pm.Normal.dist(a * b, 1), lower=None, upper=2, observed=np.zeros(3))


@everyday
def change_point() -> None:
    when = pm.DiscreteUniform("when", 0, 9)
    early, late = pm.Exponential("early", 1.0), pm.Exponential("late", 1.0)
    pm.Poisson("y", pm.math.switch(when >= np.arange(10), early, late), observed=np.zeros(10))


@everyday
def process() -> None:
    length = pm.Gamma("length", 2, 1)
    process = pm.gp.Latent(cov_func=pm.gp.cov.ExpQuad(1, length))
    pm.Normal("y", process.prior("f", np.linspace(0, 1, 5)[:, None]), 0.1, observed=np.zeros(5))


@everyday
def inverse() -> None:
    a = pm.HalfNormal("a", 1, shape=(2, 2))
    pm.Normal("y", pt.linalg.inv(a + 3 * np.eye(2)).sum(), 1, observed=np.zeros(3))


@everyday
def written_by_the_user() -> None:
    a = pm.Normal("a", 0, 1)
    b = pm.CustomDist("b", a, dist=lambda mu, size: pt.cumsum(pm.Normal.dist(mu, 1, size=size)), shape=3)
    pm.Normal("y", b, 1, observed=np.ones(3))


@everyday
def table_of_values() -> None:
    grid = np.linspace(-1, 1, 21)
    pm.Normal("y", pm.Interpolated("a", grid, 1 - abs(grid)), 1, observed=np.zeros(3))


@pytest.mark.parametrize("name", MODELS)
def test_everyday_models_are_read_and_drawn(name: str) -> None:
    network = bp.from_pymc(MODELS[name]())
    assert isinstance(network, bp.types.DensityNetwork)
    records = {len(network.simulator.roles.columns[column]) for column in network.reading.columns}
    names = [*network.attributes, *network.reading.columns]
    drawn = network.simulator(names, 3, seed=0, given={}, records=max(records))
    assert all(np.isfinite(each).all() for each in drawn.values())
    assert all(drawn[column].shape == (3, max(records)) for column in network.reading.columns)


def test_laws_made_of_others_are_drawn_as_pymc_draws_them() -> None:
    with pm.Model() as model:
        s = pm.HalfNormal("s", 1)
        pm.Mixture("mixed", [0.3, 0.7], [pm.Normal.dist(0, 1), pm.Normal.dist(5, 1)], shape=3, observed=np.zeros(3))
        pm.GaussianRandomWalk("walk", sigma=s, init_dist=pm.Normal.dist(0, 2), steps=2)
        pm.Censored("cut", pm.Normal.dist(s, 1), None, 1.0, observed=np.zeros(3))
        pm.MvNormal("pair", np.zeros(2) + s, np.array([[2.0, 1], [1, 3]]), observed=np.zeros((3, 2)))
    network = bp.from_pymc(model)
    names = ["mixed", "walk[0]", "walk[1]", "walk[2]", "cut", "pair[0]", "pair[1]"]
    drawn = network.simulator(names, 2000, seed=1, given={}, records=3)
    own = pm.draw([model[name] for name in ("mixed", "walk", "cut", "pair")], 2000, random_seed=2, mode="FAST_COMPILE")
    pairs = [(drawn["mixed"], own[0]), (drawn["cut"], own[2]), (drawn["pair[0]"], own[3][:, :, 0])]
    pairs += [(np.stack([drawn[f"walk[{k}]"] for k in range(3)], axis=1), own[1]), (drawn["pair[1]"], own[3][:, :, 1])]
    for ours, theirs in pairs:
        for k in range(3):
            assert stats.ks_2samp(ours[:, k], theirs[:, k]).pvalue > 1e-4
        np.testing.assert_allclose(np.corrcoef(ours.T), np.corrcoef(theirs.T), atol=0.1)


# -- what depends on what


def test_a_random_index_behind_a_slice_picks_columns() -> None:
    with pm.Model() as model:
        z = pm.Categorical("z", np.ones(3) / 3, shape=3)
        table = pt.constant(np.arange(9.0).reshape(3, 3))
        pm.HalfNormal("b", 1 + table[:, z][1])
        pm.HalfNormal("c", 1 + table[z, :][1], shape=3)
    parents = bp.from_pymc(model).graph.parents
    assert parents["b[0]"] == ("z[0]",) or set(parents["b[0]"]) == {"z[0]", "z[1]", "z[2]"}
    assert "z[0]" in parents["b[0]"]
    assert "z[2]" in parents["b[2]"]
    assert all("z[1]" in parents[f"c[{k}]"] for k in range(3))


def test_indices_of_other_numbers_of_dimensions_are_laid_over_each_other_from_the_right() -> None:
    with pm.Model() as model:
        z = pm.Categorical("z", np.ones(3) / 3, shape=3)
        table = pt.constant(np.arange(9.0).reshape(3, 3))
        pm.HalfNormal("b", 1 + table[z, np.zeros((3, 3), dtype=int)][0])
    parents = bp.from_pymc(model).graph.parents
    assert [parents[f"b[{k}]"] for k in range(3)] == [("z[0]",), ("z[1]",), ("z[2]",)]


def test_joins_and_insertions_are_followed() -> None:
    with pm.Model() as model:
        b = pm.HalfNormal("b", 1, shape=2)
        pm.HalfNormal("c", pt.concatenate([[1.0], b]))
        pm.HalfNormal("d", pt.set_subtensor(pt.ones(3)[1:], b))
        pm.HalfNormal("e", pt.stack([b[1], b[0]]))
        pm.HalfNormal("f", 1 + (b[:, None] * np.ones((2, 4))).sum(axis=1))
    parents = bp.from_pymc(model).graph.parents
    for name in "cd":
        assert [parents[f"{name}[{k}]"] for k in range(3)] == [(), ("b[0]",), ("b[1]",)]
    assert [parents["e[0]"], parents["e[1]"], parents["f[0]"]] == [("b[1]",), ("b[0]",), ("b[0]",)]


def test_what_a_user_says_of_a_joint_law_is_not_trusted() -> None:
    network = bp.from_pymc(MODELS["written_by_the_user"]())
    assert "b[0]" in network.graph.parents["b[1]"]


# -- laws


def test_whole_numbers_without_end_have_no_density() -> None:
    with pm.Model() as model:
        n = pm.Poisson("n", 2.0)
        pm.Normal("y", n, 1, observed=np.zeros(3))
    network = bp.from_pymc(model)
    assert network.parameters["n"].log_density is None
    assert network.reading.nodes[0].treatment == "draws"


def test_coefficients_survive_large_constants() -> None:
    with pm.Model() as model:
        a = pm.Normal("a", 0, 1e9)
        pm.Normal("b", a * 1e-9 / 3 + 1e9, 1.0)
    covariance = bp.from_pymc(model).covariance[0]
    assert covariance[0, 1] == pytest.approx(1e18 * 1e-9 / 3, rel=1e-14)


def test_what_rounds_is_not_linear() -> None:
    with pm.Model() as model:
        a = pm.Normal("a", 0, 3)
        pm.Normal("b", pt.cast(pt.cast(a, "int64"), "float64"), 1)
    assert isinstance(bp.from_pymc(model), bp.types.DensityNetwork)


def test_single_precision_on_the_way_is_computed_in_double() -> None:
    with pm.Model() as model:
        thirds = pt.stack([0.5, 0.25]) / 3
        a = pm.Bernoulli("a", pt.sum(thirds))
        pm.Bernoulli("b", pt.cast(thirds, "float32")[a])
    network = bp.from_pymc(model)
    assert network.probabilities("a")[0][1] == pytest.approx(0.25, rel=1e-15)
    np.testing.assert_allclose(network.probabilities("b")[0][1], [1 / 6, 1 / 12], rtol=1e-15)


def test_indices_that_pytensor_cannot_vectorize_are_computed_one_by_one() -> None:
    table = np.array([[[0.1, 0.2], [0.3, 0.4]], [[0.5, 0.6], [0.7, 0.8]]])
    with pm.Model() as model:
        a, b = pm.Bernoulli("a", 0.5), pm.Bernoulli("b", 0.5, shape=2)
        pm.Bernoulli("c", pt.constant(table)[:, b, a].sum(axis=0) / 2)
    network = bp.from_pymc(model)
    assert network.tables["c[1]"].axes == ("c[1]", "a", "b[0]", "b[1]")
    for first in (0, 1):
        read = network.probabilities("c[1]")[0][1, :, first]
        np.testing.assert_allclose(read, table.sum(axis=0).T / 2, rtol=1e-15)


# -- refusals


def test_transforms_that_change_the_law_are_refused() -> None:
    with pm.Model() as model:
        pm.Normal("cut", 0, 1, transform=pm.distributions.transforms.circular)
    refused(model, "found CircularTransform of 'cut'")
    with pm.Model() as model:
        pm.HalfNormal("a", 1, default_transform=None)
        pm.HalfNormal("b", 1, default_transform=pm.distributions.transforms.log_exp_m1)
    assert bp.from_pymc(model).attributes == ("a", "b")


@pytest.mark.filterwarnings("ignore:Data in d contains missing values")
def test_missing_values_of_vectors_are_refused() -> None:
    with pm.Model() as model:
        mu = pm.Normal("mu", 0, 1)
        pm.MvNormal("d", [mu, mu], np.eye(2), observed=np.array([[1.0, np.nan], [2.0, 3.0]]))
    refused(model, "no missing values")


def test_minibatches_are_refused() -> None:
    with pm.Model() as model:
        batch = pm.Minibatch(np.zeros(100), batch_size=10)
        pm.Normal("y", pm.Normal("a", 0, 1), 1, observed=batch, total_size=100)
    refused(model, "whole columns")


def test_random_shapes_are_refused() -> None:
    with pm.Model() as model:
        n = pm.DiscreteUniform("n", 1, 3)
        pm.Bernoulli("x", 0.5, shape=n)
    refused(model, "shapes must be fixed")


def test_laws_without_a_name_are_refused_where_they_are_numbers() -> None:
    with pm.Model() as model:
        pm.Normal("a", pm.Mixture.dist([0.5, 0.5], [pm.Normal.dist(0, 1), pm.Normal.dist(9, 1)]), 1)
    refused(model, "no name")
    with pm.Model() as model:
        pm.Mixture("a", [0.5, 0.5], [pm.Normal.dist(pm.Normal.dist(0, 1), 1), pm.Normal.dist(9, 1)])
    refused(model, "no name")


def test_names_that_do_not_tell_entries_apart_are_refused() -> None:
    with pm.Model() as model:
        pm.Normal("a", 0, 1, shape=2)
        pm.Normal("a[0]", 0, 2)
    refused(model, r"'a\[0\]' in 'a' and 'a\[0\]'")
    with pm.Model() as model:
        a = pm.Normal("a", 0, 1)
        pm.Normal("o", a, 1, observed=np.zeros((3, 2)))
        pm.Normal("p", a, 1, observed=np.zeros(3))
    refused(model, r"x\[0\] twice", columns={"x": "o", "x[0]": "p"})
    refused(model, "columns must be names", columns=3)


def test_labels_with_commas_do_not_merge_entries() -> None:
    coords = {"row": range(3), "p": ["Smith, J", "Doe, J"], "q": ["x", "x, y"], "r": ["y, z", "z"]}
    with pm.Model(coords=coords) as model:
        a = pm.Normal("a", 0, 1, dims="p")
        pm.Normal("b", 0, 1, dims=("q", "r"))
        pm.Normal("y", a, 1, observed=np.zeros((3, 2)), dims=("row", "p"))
    network = bp.from_pymc(model)
    assert network.reading.columns == {"y[0]": ("a[Smith, J]",), "y[1]": ("a[Doe, J]",)}
    assert len(network.attributes) == 6


def test_singular_covariances_are_refused() -> None:
    with pm.Model() as model:
        pm.MvNormal("e", np.zeros(2), cov=np.ones((2, 2)))
    refused(model, "must be positive definite")


@pytest.mark.parametrize("law", ["Bernoulli", "Categorical"])
def test_columns_with_laws_that_are_none_are_refused(law: str) -> None:
    with pm.Model() as model:
        a = pm.Bernoulli("a", 0.5)
        p = 0.5 + a if law == "Bernoulli" else pt.stack([0.5 + 0.1 * a, 0.2, 0.1])
        getattr(pm, law)("y", p, observed=np.zeros(3, int))
    refused(model, "parameters of 'y' must be valid")


def test_draws_of_laws_that_are_none_are_refused() -> None:
    with pm.Model() as model:
        a = pm.Laplace("a", 0, 1)
        pm.Normal("b", 0, a, observed=np.zeros(3))
        pm.Categorical("c", pt.stack([0.2, 0.2 + a**2]), observed=np.zeros(3, int))
        pm.Bernoulli("one", 0.5, observed=0)
        pm.Normal("under", model["one"] * a, 1, observed=np.zeros(3))
    simulate = bp.from_pymc(model).simulator
    for name in "bc":
        with pytest.raises(NetworkError, match=f"parameters of '{name}' must be valid"):
            simulate([name], 100, seed=0, given={}, records=3)
    with pytest.raises(NetworkError, match="found one record of one"):
        simulate(["under"], 5, seed=0, given={}, records=3)


def test_singular_matrices_are_refused_where_they_are_met() -> None:
    with pm.Model() as model:
        a = pm.DiscreteUniform("a", 0, 1)
        pm.Bernoulli("b", pt.linalg.inv(a * np.eye(2))[0, 0] / 2)
    refused(model, "parameters of 'b' must be valid")


def test_random_numbers_inside_a_loop_are_refused() -> None:
    import pytensor

    def step(x: Any, a: Any) -> Any:
        drawn = pm.Normal.dist(a * x, 1)
        return drawn, pm.pytensorf.collect_default_updates([drawn])

    with pm.Model() as model:
        a = pm.Normal("a", 0, 1)
        start = pt.constant(np.float64(1.0))
        walked = pytensor.scan(step, outputs_info=[start], non_sequences=[a], n_steps=3, return_updates=True)[0]
        pm.Normal("b", walked, 1)
    refused(model, "drawn inside another operation")


# -- identity


def test_the_identity_tells_names_parts_and_labels_apart() -> None:
    from pytensor.compile.ops import as_op

    def of(make: Callable[[], Any], name: str = "a", labels: tuple[str, ...] = ("u", "v")) -> str:
        with pm.Model(coords={"d": labels}) as model:
            pm.HalfNormal(name, 1, dims="d")
            make()
        return bp.from_pymc(model).model_hash

    def custom(spread: float) -> Callable[[], Any]:
        return lambda: pm.CustomDist("b", 1.0, dist=lambda mu, size: pm.Normal.dist(mu, spread, size=size))

    def black_box(scale: float) -> Callable[[], Any]:
        @as_op(itypes=[pt.dscalar], otypes=[pt.dscalar])
        def rate(x: Any) -> Any:
            return np.asarray(scale * x)

        return lambda: pm.HalfNormal("b", rate(pm.HalfNormal("c", 1)))

    def normal() -> Any:
        return pm.Normal("b", 1, 1)

    different = [
        of(normal),
        of(normal, name="c"),
        of(normal, labels=("u", "w")),
        of(lambda: pm.Truncated("b", pm.Normal.dist(1, 1), upper=4)),
        of(lambda: pm.Truncated("b", pm.Laplace.dist(1, 1), upper=4)),
        of(custom(1.0)),
        of(custom(2.0)),
    ]
    assert len(set(different)) == len(different)
    assert of(black_box(1.0)) != of(black_box(2.0))
    assert of(normal) == of(normal)
    assert of(custom(1.0)) == of(custom(1.0))


# -- supports


def test_laws_between_constant_bounds_have_finite_ends() -> None:
    with pm.Model() as model:
        a = pm.TruncatedNormal("a", 0, 1, lower=-1, upper=2.7)
        pm.TruncatedNormal("b", a, 1, lower=a, upper=5)
        pm.TruncatedNormal("c", a, [1.0, 2.0], lower=[-3.0, -1.0], upper=[1.0, 4.0])
        pm.Truncated("d", pm.Gamma.dist(2, 1), upper=3.1)
        pm.Truncated("e", pm.StudentT.dist(nu=3, mu=a, sigma=1), lower=-0.1)
        pm.Triangular("f", lower=0, c=0.3, upper=2)
        pm.Pareto("g", 2.0, 1.5)
        pm.Truncated("h", pm.Poisson.dist(3.0), upper=7)
    found = {name: (each.lower, each.upper) for name, each in bp.from_pymc(model).parameters.items()}
    endless = np.inf
    assert found == {
        "a": (-1, 2.7),
        "b": (-endless, 5),
        "c[0]": (-3, 4),
        "c[1]": (-3, 4),
        "d": (0, 3.1),
        "e": (-0.1, endless),
        "f": (0, 2),
        "g": (1.5, endless),
        "h": (-endless, endless),
    }


def test_a_truncated_parameter_is_told_exactly_and_secrets_outside_are_no_constraint() -> None:
    """Edges inside a support that was thought endless kept the value from settling."""
    with pm.Model() as model:
        a = pm.TruncatedNormal("a", 0, 1, lower=-1, upper=2)
        h = pm.TruncatedNormal("h", a, 0.5, lower=-2, upper=3)
        pm.Logistic("y", h, 1)
    network = bp.from_pymc(model)
    found = bp.max_influence(network, {"y"}, "a", bp.intervals((0.0, 1.0)))
    assert found.settled

    def density(y: float, given: float) -> float:
        law = stats.truncnorm((-2 - given) / 0.5, (3 - given) / 0.5, given, 0.5)
        points = np.linspace(-2, 3, 20001)
        return float(np.trapezoid(law.pdf(points) * stats.logistic.pdf(y, points, 1), points))

    far = max(abs(np.log(density(y, 0.0) / density(y, 1.0))) for y in np.linspace(-40, 40, 81))
    assert far <= float(found) + 1e-6 <= far + 2e-3
    outside = influence_of(network, {"y"}, "a", bp.intervals((0.0, 2.5)).chosen)
    assert outside.dropped
    with pytest.raises(bp.errors.SecretError, match="positive probability"):
        bp.max_influence(network, {"y"}, "a", bp.intervals((0.0, 2.5)))
