"""Draws for many points at once have the law of the model: exact laws, one for each of two values of a parent."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import bnpriv as bp
from bnpriv.errors import NetworkError
from bnpriv.io.pymc import backend, evaluation
from tests.later import Later, optional

stats = Later("scipy.stats")
pm = optional("pymc")
pt = optional("pytensor.tensor")

Array = NDArray[np.float64]
COUNT = 6000
LEAST = 1e-5
"""P-values below it are errors; seeds are fixed."""


def drawn(build: Callable[[Any], Any], seed: int = 1) -> tuple[Array, Array]:
    """Return draws of the variable "x", each with `g` = 0 and 1, every entry of it, in its shape."""
    with pm.Model() as model:
        build(pm.Bernoulli("g", 0.5))
        pm.Normal("below", pm.HalfNormal("other"), 1, observed=np.zeros(2))
    network = bp.from_pymc(model, columns="below")
    shape = network.simulator.roles.structure.variables["x"].shape
    names = [name for name in network.attributes if name == "x" or name.startswith("x[")]
    found = network.simulator(["g", *names], COUNT, seed=seed, given={}, records=2)
    table = np.stack([found[name] for name in names], axis=1).reshape((COUNT, *shape))
    return table[found["g"] == 0], table[found["g"] == 1]


def fits(levels: Array) -> None:
    """Check that a distribution function at draws of its own law is uniform."""
    assert stats.kstest(levels.ravel(), "uniform").pvalue > LEAST


def counts_fit(values: Array, masses: Array) -> None:
    """Whole numbers from 0 on have these probabilities; those that few draws fall on are taken together."""
    met = np.bincount(values.ravel().astype(int), minlength=len(masses)).astype(float)
    assert len(met) == len(masses), "a number beyond the support"
    expected = masses / masses.sum() * values.size
    rare = expected < 8
    pooled = [np.r_[each[~rare], each[rare].sum()] for each in (met, expected)]
    kept = pooled[1] > 0
    assert not pooled[0][~kept].any()
    assert stats.chisquare(pooled[0][kept], pooled[1][kept]).pvalue > LEAST


def unrelated(values: Array) -> None:
    """Neither entries nor points next to each other share draws."""
    flat = values.reshape((len(values), -1))
    near = [np.corrcoef(flat[:-1, k], flat[1:, k])[0, 1] for k in range(flat.shape[1])]
    beside = [np.corrcoef(flat[:, k], flat[:, k + 1])[0, 1] for k in range(flat.shape[1] - 1)]
    assert np.abs([*near, *beside]).max() < 5.5 / np.sqrt(len(values))


# -- numbers


def mixed_cdf(x: Array, weights: Array, means: Array) -> Array:
    return sum(w * stats.norm.cdf(x, m, 1 + 0.5 * k) for k, (w, m) in enumerate(zip(weights, means, strict=True)))


@pytest.mark.parametrize("stacked", [False, True])
def test_mixtures(stacked: bool) -> None:
    table = np.array([[0.2, 0.5, 0.3], [0.6, 0.1, 0.3]])
    means, spreads = np.array([-4.0, 0.0, 3.0]), 1 + 0.5 * np.arange(3)

    def build(g: Any) -> Any:
        parts = [pm.Normal.dist(m + g, s) for m, s in zip(means, spreads, strict=True)]
        laws = pm.Normal.dist(means + g, spreads) if stacked else parts
        return pm.Mixture("x", pt.constant(table)[g], laws, shape=2)

    for g, values in enumerate(drawn(build)):
        fits(mixed_cdf(values, table[g], means + g))
        unrelated(values)


def test_mixtures_with_weights_of_their_own_for_each_entry() -> None:
    table = np.array([[0.1, 0.9], [0.5, 0.5], [0.8, 0.2]])
    laws = [pm.Normal.dist(-3, 1), pm.Normal.dist(3, 1.5)]
    for values in drawn(lambda g: pm.Mixture("x", table + 0 * g, laws, shape=3)):
        for k in range(3):
            fits(mixed_cdf(values[:, k], table[k], np.array([-3.0, 3.0])))
        unrelated(values)


def test_zero_inflated_laws() -> None:
    n = np.arange(60)
    for g, values in enumerate(drawn(lambda g: pm.ZeroInflatedPoisson("x", psi=0.3 + 0.4 * g, mu=2.0 + g, shape=3))):
        counts_fit(values, (0.3 + 0.4 * g) * stats.poisson.pmf(n, 2 + g) + (0.7 - 0.4 * g) * (n == 0))
        unrelated(values)
    for g, values in enumerate(drawn(lambda g: pm.ZeroInflatedBinomial("x", psi=0.5, n=4, p=0.2 + 0.5 * g, shape=2))):
        counts_fit(values, 0.5 * stats.binom.pmf(n[:5], 4, 0.2 + 0.5 * g) + 0.5 * (n[:5] == 0))


def test_hurdles_are_drawn_too() -> None:
    n = np.arange(40)
    for values in drawn(lambda g: pm.HurdlePoisson("x", psi=0.6, mu=2.0 + 0 * g)):
        masses = np.where(n == 0, 0.4, 0.6 * stats.poisson.pmf(n, 2) / -np.expm1(-2.0))
        counts_fit(values, masses)


def test_ordered_laws() -> None:
    cuts = np.array([-1.0, 0.0, 1.5])
    for link, cdf in ((pm.OrderedLogistic, stats.logistic.cdf), (pm.OrderedProbit, stats.norm.cdf)):
        for g, values in enumerate(
            drawn(lambda g, law=link: law("x", eta=0.8 * g, cutpoints=cuts, shape=3, compute_p=False))
        ):
            counts_fit(values, np.diff(np.r_[0, cdf(cuts - 0.8 * g), 1]))
            unrelated(values)


def test_categories_never_lie_beyond_the_last(monkeypatch: pytest.MonkeyPatch) -> None:
    for g, values in enumerate(drawn(lambda g: pm.Categorical("x", p=pt.stack([0.2 + 0.5 * g, 0.7 - 0.5 * g, 0.1])))):
        counts_fit(values, np.array([0.2 + 0.5 * g, 0.7 - 0.5 * g, 0.1]))
    monkeypatch.setattr(evaluation, "SUM_ERROR", 1e-2)
    short = np.full((50_000, 3), 1 / 3) * (1 - 1e-3)  # sums below 1, as rounding makes them
    function = backend.compiled([], evaluation.categorical(pt.constant(short), None))
    assert set(np.unique(function())) == {0, 1, 2}


def test_censored_laws() -> None:
    for g, values in enumerate(drawn(lambda g: pm.Censored("x", pm.Normal.dist(g, 2), -1.0, 2.0, shape=2))):
        low, high = stats.norm.cdf([-1, 2], g, 2)
        places = np.digitize(values, [-1, np.nextafter(-1, 0), 2]) - 1
        counts_fit(places, np.array([low, high - low, 1 - high]))
        inside = values[places == 1]
        fits((stats.norm.cdf(inside, g, 2) - low) / (high - low))


def test_truncated_laws() -> None:
    def between(g: int) -> Array:
        return stats.gamma.cdf([0.5, 2.0], 2, scale=1 / (1 + g))

    for g, values in enumerate(drawn(lambda g: pm.Truncated("x", pm.Gamma.dist(2, 1 + g), 0.5, 2.0, shape=2))):
        low, high = between(g)
        fits((stats.gamma.cdf(values, 2, scale=1 / (1 + g)) - low) / (high - low))
        unrelated(values)
    n = np.arange(6)
    for g, values in enumerate(drawn(lambda g: pm.Truncated("x", pm.Poisson.dist(2 + g), 2, 5, shape=3))):
        counts_fit(values, stats.poisson.pmf(n, 2 + g) * (n >= 2))
    for values in drawn(lambda g: pm.Truncated("x", pm.Cauchy.dist(0 * g, 1), lower=1.0)):
        fits((stats.cauchy.cdf(values) - 0.75) / 0.25)


def test_bounds_that_nothing_lies_between_are_refused() -> None:
    with pytest.raises(NetworkError, match="too few draws"):
        drawn(lambda g: pm.Truncated("x", pm.Gamma.dist(2 + g, 1), 1e6, 2e6))


# -- vectors


def test_autoregressive_processes() -> None:
    def build(g: Any) -> Any:
        return pm.AR(
            "x", rho=[1.0, 0.3 + 0.3 * g, -0.2], sigma=0.5 + g, constant=True, steps=6, init_dist=pm.Normal.dist(2, 3)
        )

    for g, x in enumerate(drawn(build)):
        assert x.shape[1:] == (8,)
        fits(stats.norm.cdf(x[:, :2], 2, 3))
        shocks = x[:, 2:] - (1.0 + (0.3 + 0.3 * g) * x[:, 1:-1] - 0.2 * x[:, :-2])
        fits(stats.norm.cdf(shocks, 0, 0.5 + g))
        unrelated(shocks)
        assert abs(np.corrcoef(x[:, 0], shocks[:, 0])[0, 1]) < 0.1


def test_several_autoregressive_processes() -> None:
    spreads = np.array([0.5, 1.0, 4.0])

    def build(g: Any) -> Any:
        return pm.AR("x", rho=[0.5 + 0 * g, 0.2], sigma=spreads, steps=4, init_dist=pm.Normal.dist(0, 1), shape=(3, 6))

    for x in drawn(build):
        shocks = (x[:, :, 2:] - 0.5 * x[:, :, 1:-1] - 0.2 * x[:, :, :-2]) / spreads[:, np.newaxis]
        for k in range(3):
            fits(stats.norm.cdf(shocks[:, k]))
        unrelated(shocks)


def test_random_walks() -> None:
    for g, x in enumerate(
        drawn(lambda g: pm.GaussianRandomWalk("x", mu=0.5, sigma=1 + g, init_dist=pm.Normal.dist(3, 0.1), steps=5))
    ):
        fits(stats.norm.cdf(x[:, 0], 3, 0.1))
        steps = np.diff(x, axis=1)
        fits(stats.norm.cdf(steps, 0.5, 1 + g))
        unrelated(steps)


def test_volatility_processes() -> None:
    def build(g: Any) -> Any:
        return pm.GARCH11("x", omega=1.0, alpha_1=0.2 + 0.3 * g, beta_1=0.4, initial_vol=2.0, steps=5)

    for g, x in enumerate(drawn(build)):
        spread = np.full(len(x), 2.0)
        for t in range(1, 6):
            spread = np.sqrt(1 + (0.2 + 0.3 * g) * x[:, t - 1] ** 2 + 0.4 * spread**2)
            fits(stats.norm.cdf(x[:, t] / spread))


def test_correlation_matrices() -> None:
    n, eta = 3, 2.0

    def build(g: Any) -> Any:
        spreads = pm.Exponential.dist(1.0 + g, shape=n)
        return pm.LKJCholeskyCov("x", n=n, eta=eta, sd_dist=spreads, compute_corr=False)

    for g, packed in enumerate(drawn(build)):
        factor = np.zeros((len(packed), n, n))
        factor[:, *np.tril_indices(n)] = packed
        covariance = factor @ factor.transpose(0, 2, 1)
        spreads = np.sqrt(np.diagonal(covariance, axis1=1, axis2=2))
        fits(stats.expon.cdf(spreads, scale=1 / (1 + g)))
        correlation = covariance / spreads[:, :, np.newaxis] / spreads[:, np.newaxis, :]
        shape = eta - 1 + n / 2
        for i, j in ((1, 0), (2, 0), (2, 1)):
            fits(stats.beta(shape, shape).cdf((correlation[:, i, j] + 1) / 2))
        # the determinant is a product over partial correlations, each a Beta on (-1, 1)
        expected = np.prod([2 * a / (2 * a + 1) for a in (shape, shape, shape - 0.5)])
        found = np.linalg.det(correlation)
        assert abs(found.mean() - expected) < 5 * found.std() / np.sqrt(len(found))
        unrelated(spreads)


def test_correlations_alone() -> None:
    def build(g: Any) -> Any:
        return pm.LKJCorr("x", n=3, eta=2.0 + 3 * g)

    for g, packed in enumerate(drawn(build)):
        if packed.ndim == 3:  # whole matrices, or their Cholesky factors, in later releases of PyMC
            factors = not packed[:, 0, 1:].any()
            whole = packed @ packed.transpose(0, 2, 1) if factors else packed
            packed = whole[:, [1, 2, 2], [0, 0, 1]]
        first, second, third = packed.T
        shape = 2.0 + 3 * g - 1 + 3 / 2
        for each in (first, second, third):
            fits(stats.beta(shape, shape).cdf((each + 1) / 2))
        found = 1 + 2 * first * second * third - first**2 - second**2 - third**2
        expected = np.prod([2 * a / (2 * a + 1) for a in (shape, shape, shape - 0.5)])
        assert abs(found.mean() - expected) < 5 * found.std() / np.sqrt(len(found))
        unrelated(np.stack([first, second], axis=1))


def test_gaussian_processes() -> None:
    places = np.linspace(0, 3, 5)[:, np.newaxis]

    def build(g: Any) -> Any:
        return pm.gp.Latent(cov_func=pm.gp.cov.Matern52(1, 0.5 + g)).prior("x", X=places, reparameterize=False)

    for g, x in enumerate(drawn(build)):
        far = np.sqrt(5) * np.abs(places - places.T) / (0.5 + g)
        factor = np.linalg.cholesky((1 + far + far**2 / 3) * np.exp(-far) + 1e-6 * np.eye(5))
        white = np.linalg.solve(factor, x.T).T
        fits(stats.norm.cdf(white))
        unrelated(white)


def test_multinomial_laws() -> None:
    shares = np.array([[0.5, 0.3, 0.2], [0.1, 0.1, 0.8]])
    sizes = np.array([[2.0, 1.0, 4.0], [0.5, 3.0, 1.0]])
    n = np.arange(13)
    for g, x in enumerate(drawn(lambda g: pm.Multinomial("x", n=12, p=pt.constant(shares)[g], shape=(2, 3)))):
        assert (x.sum(axis=2) == 12).all()
        for k in range(3):
            counts_fit(x[:, :, k], stats.binom.pmf(n, 12, shares[g, k]))
        assert abs(np.corrcoef(x[:, 0, 0], x[:, 1, 0])[0, 1]) < 0.1
    for g, x in enumerate(drawn(lambda g: pm.DirichletMultinomial("x", n=12, a=pt.constant(sizes)[g], shape=(2, 3)))):
        assert (x.sum(axis=2) == 12).all()
        for k in range(3):
            counts_fit(x[:, :, k], stats.betabinom.pmf(n, 12, sizes[g, k], sizes[g].sum() - sizes[g, k]))
        assert abs(np.corrcoef(x[:, 0, 0], x[:, 1, 0])[0, 1]) < 0.1


def test_dirichlet_laws_of_any_size() -> None:
    """The smallest make nearly all mass fall on one entry, where plain Gamma draws are all zero."""
    for sizes in (np.array([0.5, 2.0, 3.5]), np.array([0.002, 0.001, 0.003])):
        for g, x in enumerate(drawn(lambda g, a=sizes: pm.Dirichlet("x", a=a * (1 + g), shape=(2, 3)))):
            np.testing.assert_allclose(x.sum(axis=2), 1, rtol=1e-12)
            unrelated(x[:, :, 0])
            for k in range(3):
                a, b = sizes[k] * (1 + g), (sizes.sum() - sizes[k]) * (1 + g)
                for low, high in ((0.0, 1e-9), (0.0, 0.3), (0.3, 0.9)):  # by intervals: mass at the ends is rounded
                    share = ((x[:, :, k] >= low) & (x[:, :, k] <= high)).mean()
                    expected = stats.beta.cdf(high, a, b) - stats.beta.cdf(low, a, b)
                    assert abs(share - expected) < 5 * np.sqrt(0.25 / x[:, :, k].size)
    with pytest.raises(NetworkError, match="must be valid"):
        drawn(lambda g: pm.Dirichlet("x", a=np.array([1.0, 0.0]) + 0 * g))


def test_other_vectors() -> None:
    covariance = np.array([[2.0, 1.0], [1.0, 3.0]])
    for g, x in enumerate(drawn(lambda g: pm.MvStudentT("x", nu=4 + 3 * g, mu=[1.0, 2.0], scale=covariance))):
        turned = np.linalg.solve(np.linalg.cholesky(covariance), (x - [1.0, 2.0]).T).T
        for k in range(2):
            fits(stats.t(4 + 3 * g).cdf(turned[:, k]))
    for g, x in enumerate(drawn(lambda g: pm.ZeroSumNormal("x", sigma=1.0 + g, shape=4))):
        np.testing.assert_allclose(x.sum(axis=1), 0, atol=1e-9)
        fits(stats.norm.cdf(x[:, 0], 0, (1 + g) * np.sqrt(3 / 4)))


def test_laws_of_the_user_from_other_laws() -> None:
    def squared(size: Any, mean: Any) -> Any:
        return pm.Normal.dist(mean, 1, size=size) ** 2 + pm.Exponential.dist(1.0, size=size)

    def build(g: Any) -> Any:
        return pm.CustomDist("x", 0.0 * g, dist=lambda mean, size: squared(size, mean), shape=3)

    for x in drawn(build):
        # the sum of a chi-square with one degree of freedom and an exponential number
        assert abs(x.mean() - 2) < 5 * np.sqrt(3 / x.size)
        assert abs(x.var() - 3) < 0.3
        unrelated(x)


def test_draws_do_not_depend_on_how_many_are_made_at_once() -> None:
    with pm.Model() as model:
        pm.Mixture("x", [0.5, 0.5], [pm.Normal.dist(0, 1), pm.Normal.dist(9, 1)], shape=4)
        pm.Normal("below", 0, 1, observed=np.zeros(2))
    simulator = bp.from_pymc(model, columns="below").simulator
    first, again = (simulator(["x[0]"], 50, seed=3, given={}, records=2)["x[0]"] for _ in range(2))
    other = simulator(["x[0]"], 50, seed=4, given={}, records=2)["x[0]"]
    np.testing.assert_array_equal(first, again)
    assert not np.isin(first, other).any()


# -- planted bugs

DENSE = "aligned(backend.dense(known[each]), each, each.ndim)"
OF_ONE_POINT = (f"{DENSE} for", f"{DENSE}[:1] for")
"""All points get the parameters of the first."""

COMPOSED = (
    test_random_walks,
    test_correlation_matrices,
    test_correlations_alone,
    test_gaussian_processes,
    test_multinomial_laws,
    test_dirichlet_laws_of_any_size,
    test_censored_laws,
    test_other_vectors,
)


@pytest.mark.mutants
@pytest.mark.parametrize(
    ("old", "new", "test"),
    [
        ("(count, *sizes(first)[1:])", "(1, *sizes(first)[1:])", test_zero_inflated_laws),
        ("pt.lt(pt.cumsum(p, axis=-1)[..., :-1]", "pt.lt(pt.cumsum(p, axis=-1)[..., 1:]", test_ordered_laws),
        ("[..., ::-1]).sum", ").sum", test_autoregressive_processes),
        (
            "range(1, 1 + axes - own.ndim)",
            "range(axes, 2 * axes - own.ndim)",
            test_several_autoregressive_processes,
        ),
        ("beta * spread**2", "beta * spread", test_volatility_processes),
        ("rest = new[fits], rest[~fits]", "rest = new[fits], rest[:0]", test_truncated_laws),
        ("(new < low[rest]) | (new > high[rest])", "(new < low[rest])", test_truncated_laws),
        ("pt.log1p(-uniform) / amounts", "pt.log1p(-uniform)", test_dirichlet_laws_of_any_size),
        ("(count, *sizes(first)[1:])", "(1, *sizes(first)[1:])", test_correlation_matrices),
        (
            "aligned(each, one, axes), shape)",
            "aligned(each, one, axes)[:1], shape)",
            test_hurdles_are_drawn_too,
        ),
        *((*OF_ONE_POINT, test) for test in COMPOSED),
    ],
)
def test_planted_bugs_are_found(old: str, new: str, test: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> None:
    importlib.import_module("bnpriv.io.pymc.read")  # takes the classes of the module as they are, and keeps them
    source = Path(str(evaluation.__file__)).read_text()
    assert old in source
    wrong: dict[str, Any] = {"__name__": evaluation.__name__, "__builtins__": __builtins__}
    exec(compile(source.replace(old, new), str(evaluation.__file__), "exec"), wrong)
    for name in vars(evaluation).keys() & wrong.keys():
        monkeypatch.setattr(evaluation, name, wrong[name])
    for kind, held in list(evaluation._PROCESSES.items()):
        if held.__module__ == evaluation.__name__:
            monkeypatch.setitem(evaluation._PROCESSES, kind, wrong[held.__name__])
    with pytest.raises((AssertionError, NetworkError)):
        test()
