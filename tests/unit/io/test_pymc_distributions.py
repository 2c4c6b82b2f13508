"""Every distribution of PyMC's is drawn with the law of its density, by samplers that are written apart, or refused."""

from __future__ import annotations

from collections.abc import Callable
from inspect import isclass
from typing import Any

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.errors import NetworkError
from bnpriv.io.pymc.evaluation import SURVIVAL, NothingBetweenError, between, with_digits
from tests.later import Later, optional

pm = optional("pymc")
pt = optional("pytensor.tensor")
stats = Later("scipy.stats")

RECORDS, DRAWS = 4, 20_000
T = np.linspace(0.6, 1.4, RECORDS)
"""A covariate, so that records differ."""

ALL = {"shape": RECORDS}
NEAR = np.array([[0, 1, 1, 1], [1, 0, 0, 0], [1, 0, 0, 1], [1, 0, 1, 0]])
ROUND = np.full((RECORDS, RECORDS), 0.4) + np.eye(RECORDS)
PAIR = np.array([[1.0, 0.3], [0.3, 1.0]])
CUTS = np.array([0.0, 1.0, 2.0])

Declare = Callable[[Any], Any]
Truth = Callable[[np.random.Generator, np.ndarray], np.ndarray]


def normals(random: np.random.Generator, cov: np.ndarray, draws: int, *more: int) -> np.ndarray:
    return random.normal(size=(draws, *more, len(cov))) @ np.linalg.cholesky(cov).T


def by_pieces(random: np.random.Generator, p: np.ndarray, *parts: np.ndarray) -> np.ndarray:
    """Return the first part with the chance p, else the second."""
    return np.where(random.random(parts[0].shape) < p, *parts)


def cut(law: Any, low: float, high: float, random: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Return quantiles between the chances of two bounds; those are far from the ends here."""
    start, end = law.cdf(low), law.cdf(high)
    return law.ppf(np.clip(start + random.random(shape) * (end - start), 1e-15, 1 - 1e-15))


def again(draw: Callable[[], np.ndarray], fits: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """Return for every entry the first draw that fits."""
    found = draw()
    while not (good := fits(found)).all():
        found = np.where(good, found, draw())
    return found


def whole(a: np.ndarray) -> tuple[int, int]:
    return (len(a), RECORDS)


def walked(first: np.ndarray, step: Callable[[int, np.ndarray], np.ndarray], length: int) -> np.ndarray:
    found = [first]
    for k in range(1, length):
        found.append(step(k, found[-1]))
    return np.stack(found, axis=1)


def garch(random: np.random.Generator, a: np.ndarray) -> np.ndarray:
    spread, x = a[:, 0], random.normal(size=len(a)) * a[:, 0]
    found = [x]
    for _ in range(RECORDS - 1):
        spread = np.sqrt(a[:, 0] + 0.3 * x**2 + 0.3 * spread**2)
        x = random.normal(size=len(a)) * spread
        found.append(x)
    return np.stack(found, axis=1)


def correlation(random: np.random.Generator, a: np.ndarray) -> np.ndarray:
    """Return the entry of a matrix of two, of density (1 - r^2)^(a - 1), and spreads, as a root."""
    r, spread = 2 * random.beta(a[:, 0], a[:, 0]) - 1, random.exponential(size=(len(a), 2))
    return np.stack([spread[:, 0], r * spread[:, 1], np.sqrt(1 - r**2) * spread[:, 1]], axis=1)


def rotated(a: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Return three correlations of density |R|^(a - 1): by partial ones (Lewandowski, Kurowicka, Joe 2009)."""
    size, a = len(a), a[:, 0]
    first, second = (2 * random.beta(a + 0.5, a + 0.5, size) - 1 for _ in range(2))
    third = 2 * random.beta(a, a, size) - 1
    return np.stack([first, second, third * np.sqrt((1 - first**2) * (1 - second**2)) + first * second], axis=1)


def broken(random: np.random.Generator, a: np.ndarray) -> np.ndarray:
    parts = random.beta(1.0, np.broadcast_to(a, (len(a), 3)))
    left = np.cumprod(np.column_stack([np.ones(len(a)), 1 - parts]), axis=1)
    return left * np.column_stack([parts, np.ones(len(a))])


def shares(p: np.ndarray, random: np.random.Generator) -> np.ndarray:
    return (np.cumsum(p, axis=-1)[..., :-1] < random.random((*p.shape[:-1], 1))).sum(axis=-1)


def steps(cdf: Callable[[np.ndarray], np.ndarray], eta: np.ndarray) -> np.ndarray:
    """Return probabilities of four ordered categories."""
    below = cdf(CUTS - eta[..., np.newaxis])
    return np.diff(below, axis=-1, prepend=0.0, append=1.0)


def squashed(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def three(a: Any, stack: Any = np.stack) -> Any:
    return stack([a / 2, 0.9 - a / 2, 0.1 + 0 * a], axis=-1)


def walk_sde(x: Any, a: Any) -> tuple[Any, Any]:
    return -a * x, 0.3 * a


def normal_and_one(mean: Any, size: Any) -> Any:
    return 1 + pm.Normal.dist(mean, 1, size=size)


def normal_truth(random: Any, a: Any) -> Any:
    return random.normal(a, T, whole(a))


CASES: dict[str, tuple[Declare, Truth]] = {
    "AR": (
        lambda a: pm.AR("x", rho=[0.3 * a], sigma=a, init_dist=pm.Normal.dist(0, a), steps=RECORDS - 1),
        lambda r, a: walked(r.normal(0, a[:, 0]), lambda k, x: 0.3 * a[:, 0] * x + r.normal(0, a[:, 0]), RECORDS),
    ),
    "AsymmetricLaplace": (
        lambda a: pm.AsymmetricLaplace("x", kappa=a, mu=0.5, b=T, **ALL),
        lambda r, a: stats.laplace_asymmetric(a, 0.5, 1 / T).rvs(whole(a), random_state=r),
    ),
    "Bernoulli": (lambda a: pm.Bernoulli("x", a * T / 3, **ALL), lambda r, a: r.binomial(1, a * T / 3)),
    "Beta": (lambda a: pm.Beta("x", a, T, **ALL), lambda r, a: r.beta(a, T)),
    "BetaBinomial": (
        lambda a: pm.BetaBinomial("x", alpha=a, beta=T, n=7, **ALL),
        lambda r, a: r.binomial(7, r.beta(a, T)),
    ),
    "Binomial": (lambda a: pm.Binomial("x", 8, a * T / 3, **ALL), lambda r, a: r.binomial(8, a * T / 3)),
    "CAR": (
        lambda a: pm.CAR("x", mu=a * T, W=NEAR, alpha=0.5, tau=2.0),
        lambda r, a: a * T + normals(r, np.linalg.inv(2 * (np.diag(NEAR.sum(0)) - 0.5 * NEAR)), len(a)),
    ),
    "Categorical": (
        lambda a: pm.Categorical("x", three(a, pt.stack), **ALL),
        lambda r, a: shares(three(np.repeat(a, RECORDS, axis=1)), r),
    ),
    "Cauchy": (lambda a: pm.Cauchy("x", a, T, **ALL), lambda r, a: a + T * r.standard_cauchy(whole(a))),
    "Censored": (
        lambda a: pm.Censored("x", pm.Normal.dist(a * T, 1), lower=0, upper=1.5, **ALL),
        lambda r, a: np.clip(r.normal(a * T, 1), 0, 1.5),
    ),
    "Censored counts": (
        lambda a: pm.Censored("x", pm.Poisson.dist(3 * a * T), lower=None, upper=4, **ALL),
        lambda r, a: np.minimum(4, r.poisson(3 * a * T)),
    ),
    "ChiSquared": (lambda a: pm.ChiSquared("x", a * T, **ALL), lambda r, a: r.chisquare(a * T)),
    "CustomDist": (
        lambda a: pm.CustomDist("x", a, T, random=lambda m, s, rng=None, size=None: rng.normal(m, s, size), **ALL),
        normal_truth,
    ),
    "CustomDist of others": (
        lambda a: pm.CustomDist("x", a, T, dist=lambda m, s, size: pm.Normal.dist(m, s, size=size), **ALL),
        normal_truth,
    ),
    "CustomDist of vectors": (
        lambda a: pm.CustomDist(
            "x", a * T, random=lambda m, rng=None, size=None: np.cumsum(rng.normal(m), -1), signature="(n)->(n)"
        ),
        lambda r, a: np.cumsum(r.normal(a * T), axis=1),
    ),
    "DiracDelta": (lambda a: pm.DiracDelta("x", a * T, **ALL), lambda r, a: a * T),
    "Dirichlet": (lambda a: pm.Dirichlet("x", a * T), lambda r, a: (g := r.gamma(a * T)) / g.sum(1, keepdims=True)),
    "DirichletMultinomial": (
        lambda a: pm.DirichletMultinomial("x", n=9, a=a * T),
        lambda r, a: r.multinomial(9, (g := r.gamma(a * T)) / g.sum(1, keepdims=True)),
    ),
    "DiscreteUniform": (
        lambda a: pm.DiscreteUniform("x", 0, np.arange(1, RECORDS + 1), **ALL),
        lambda r, a: r.integers(0, np.arange(2, RECORDS + 2), whole(a)),
    ),
    "DiscreteWeibull": (
        lambda a: pm.DiscreteWeibull("x", q=a / 2, beta=T, **ALL),
        lambda r, a: np.ceil((np.log(r.random(whole(a))) / np.log(a / 2)) ** (1 / T)) - 1,
    ),
    "EulerMaruyama": (
        lambda a: pm.EulerMaruyama(
            "x", dt=0.1, sde_fn=walk_sde, sde_pars=(a,), init_dist=pm.Normal.dist(1, 1), steps=RECORDS - 1
        ),
        lambda r, a: walked(
            r.normal(1, 1, len(a)),
            lambda k, x: x - 0.1 * a[:, 0] * x + np.sqrt(0.1) * 0.3 * a[:, 0] * r.normal(size=len(a)),
            RECORDS,
        ),
    ),
    "ExGaussian": (
        lambda a: pm.ExGaussian("x", mu=a, sigma=T, nu=a, **ALL),
        lambda r, a: r.normal(a, T) + r.exponential(a, whole(a)),
    ),
    "Exponential": (lambda a: pm.Exponential("x", a * T, **ALL), lambda r, a: r.exponential(1 / (a * T))),
    "GARCH11": (
        lambda a: pm.GARCH11("x", omega=a, alpha_1=0.3, beta_1=0.3, initial_vol=a, steps=RECORDS - 1),
        garch,
    ),
    "Gamma": (lambda a: pm.Gamma("x", a, T, **ALL), lambda r, a: r.gamma(a, 1 / T)),
    "GaussianRandomWalk": (
        lambda a: pm.GaussianRandomWalk("x", mu=0.1, sigma=a, init_dist=pm.Normal.dist(0, 1), steps=RECORDS - 1),
        lambda r, a: walked(r.normal(size=len(a)), lambda k, x: x + r.normal(0.1, a[:, 0]), RECORDS),
    ),
    "Geometric": (lambda a: pm.Geometric("x", a * T / 3, **ALL), lambda r, a: r.geometric(a * T / 3)),
    "Gumbel": (lambda a: pm.Gumbel("x", a, T, **ALL), lambda r, a: r.gumbel(a, T)),
    "HalfCauchy": (lambda a: pm.HalfCauchy("x", a * T, **ALL), lambda r, a: abs(a * T * r.standard_cauchy(whole(a)))),
    "HalfNormal": (lambda a: pm.HalfNormal("x", a * T, **ALL), lambda r, a: abs(r.normal(0, a * T))),
    "HalfStudentT": (
        lambda a: pm.HalfStudentT("x", nu=4, sigma=a * T, **ALL),
        lambda r, a: abs(a * T * r.standard_t(4, whole(a))),
    ),
    "HurdleGamma": (
        lambda a: pm.HurdleGamma("x", psi=a / 2, alpha=a, beta=T, **ALL),
        lambda r, a: by_pieces(r, a / 2, r.gamma(a, 1 / T), 0 * a * T),
    ),
    "HurdleLogNormal": (
        lambda a: pm.HurdleLogNormal("x", psi=a / 2, mu=a, sigma=T, **ALL),
        lambda r, a: by_pieces(r, a / 2, r.lognormal(a, T), 0 * a * T),
    ),
    "HurdleNegativeBinomial": (
        lambda a: pm.HurdleNegativeBinomial("x", psi=a / 2, mu=a, alpha=T, **ALL),
        lambda r, a: by_pieces(r, a / 2, cut(stats.nbinom(T, T / (T + a)), 0, np.inf, r, whole(a)), 0 * a * T),
    ),
    "HurdlePoisson": (
        lambda a: pm.HurdlePoisson("x", psi=a / 2, mu=a * T, **ALL),
        lambda r, a: by_pieces(r, a / 2, cut(stats.poisson(a * T), 0, np.inf, r, whole(a)), 0 * a * T),
    ),
    "Hurdle that is hardly ever passed": (
        lambda a: pm.HurdlePoisson("x", psi=a / 2, mu=1e-9 * a * T, **ALL),
        lambda r, a: by_pieces(r, a / 2, 0 * a * T + 1, 0 * a * T),
    ),
    "HyperGeometric": (
        lambda a: pm.HyperGeometric("x", N=20, k=8, n=np.arange(1, RECORDS + 1), **ALL),
        lambda r, a: r.hypergeometric(8, 12, np.arange(1, RECORDS + 1), whole(a)),
    ),
    "Interpolated": (
        lambda a: pm.Interpolated("x", x_points=np.linspace(0, 1, 9), pdf_points=np.linspace(0, 2, 9), **ALL),
        lambda r, a: np.sqrt(r.random(whole(a))),
    ),
    "InverseGamma": (lambda a: pm.InverseGamma("x", a + 2, T, **ALL), lambda r, a: T / r.gamma(a + 2, size=whole(a))),
    "KroneckerNormal": (
        lambda a: pm.KroneckerNormal("x", mu=a * T, covs=[PAIR, PAIR + 0.2], sigma=0.1),
        lambda r, a: a * T + normals(r, np.kron(PAIR, PAIR + 0.2) + 0.01 * np.eye(4), len(a)),
    ),
    "Kumaraswamy": (
        lambda a: pm.Kumaraswamy("x", a, T, **ALL),
        lambda r, a: (1 - r.random(whole(a)) ** (1 / T)) ** (1 / a),
    ),
    "LKJCholeskyCov": (
        lambda a: pm.LKJCholeskyCov("x", n=2, eta=a, sd_dist=pm.Exponential.dist(1, shape=2), compute_corr=False),
        correlation,
    ),
    "LKJCorr": (lambda a: pm.LKJCorr("x", n=3, eta=a, return_matrix=False), lambda r, a: rotated(a, r)),
    "Laplace": (lambda a: pm.Laplace("x", a, T, **ALL), lambda r, a: r.laplace(a, T)),
    "LogNormal": (lambda a: pm.LogNormal("x", a, T, **ALL), lambda r, a: r.lognormal(a, T)),
    "Logistic": (lambda a: pm.Logistic("x", a, T, **ALL), lambda r, a: r.logistic(a, T)),
    "LogitNormal": (lambda a: pm.LogitNormal("x", a, T, **ALL), lambda r, a: squashed(r.normal(a, T))),
    "MatrixNormal": (
        lambda a: pm.MatrixNormal("x", mu=np.zeros((2, 2)), rowcov=a * PAIR, colcov=PAIR + 0.2),
        lambda r, a: np.sqrt(a) * normals(r, np.kron(PAIR, PAIR + 0.2), len(a)),
    ),
    "Mixture": (
        lambda a: pm.Mixture("x", [0.3, 0.7], [pm.Normal.dist(-2, a), pm.Gamma.dist(a, 1)], **ALL),
        lambda r, a: by_pieces(r, 0.3, r.normal(-2, a, whole(a)), r.gamma(a, size=whole(a))),
    ),
    "Mixture of what is cut off": (
        lambda a: pm.Mixture(
            "x",
            [0.3, 0.7],
            [pm.TruncatedNormal.dist(0, a, lower=0, upper=1), pm.Truncated.dist(pm.Gamma.dist(a, 1), lower=2)],
            **ALL,
        ),
        lambda r, a: by_pieces(
            r, 0.3, cut(stats.norm(0, a), 0, 1, r, whole(a)), cut(stats.gamma(a), 2, np.inf, r, whole(a))
        ),
    ),
    "Moyal": (lambda a: pm.Moyal("x", a, T, **ALL), lambda r, a: stats.moyal(a, T).rvs(whole(a), random_state=r)),
    "Multinomial": (
        lambda a: pm.Multinomial("x", n=9, p=three(a, pt.stack)),
        lambda r, a: r.multinomial(9, three(a[:, 0])),
    ),
    "MvGaussianRandomWalk": (
        lambda a: pm.MvGaussianRandomWalk(
            "x", mu=[0.0, 0.1], cov=a * PAIR, init_dist=pm.MvNormal.dist(np.zeros(2), PAIR), steps=2
        ),
        lambda r, a: walked(
            normals(r, PAIR, len(a)), lambda k, x: x + [0.0, 0.1] + np.sqrt(a) * normals(r, PAIR, len(a)), 3
        ),
    ),
    "MvNormal": (lambda a: pm.MvNormal("x", mu=a * T, cov=ROUND), lambda r, a: a * T + normals(r, ROUND, len(a))),
    "MvStudentT": (
        lambda a: pm.MvStudentT("x", nu=5, mu=a * T, scale=ROUND),
        lambda r, a: a * T + normals(r, ROUND, len(a)) / np.sqrt(r.chisquare(5, (len(a), 1)) / 5),
    ),
    "MvStudentTRandomWalk": (
        lambda a: pm.MvStudentTRandomWalk(
            "x", nu=5, mu=[0.0, 0.1], scale=a * PAIR, init_dist=pm.MvNormal.dist(np.zeros(2), PAIR), steps=2
        ),
        lambda r, a: walked(
            normals(r, PAIR, len(a)),
            lambda k, x: (
                x + [0.0, 0.1] + np.sqrt(a) * normals(r, PAIR, len(a)) / np.sqrt(r.chisquare(5, (len(a), 1)) / 5)
            ),
            3,
        ),
    ),
    "NegativeBinomial": (
        lambda a: pm.NegativeBinomial("x", mu=3 * a, alpha=T, **ALL),
        lambda r, a: r.poisson(r.gamma(T, 3 * a / T)),
    ),
    "Normal": (lambda a: pm.Normal("x", a, T, **ALL), normal_truth),
    "NormalMixture": (
        lambda a: pm.NormalMixture("x", [0.3, 0.7], pt.stack([-a, a]), 0.3, **ALL),
        lambda r, a: r.normal(a * np.where(r.random(whole(a)) < 0.3, -1, 1), 0.3),
    ),
    "OrderedLogistic": (
        lambda a: pm.OrderedLogistic("x", eta=a * T, cutpoints=CUTS, **ALL),
        lambda r, a: shares(steps(squashed, a * T), r),
    ),
    "OrderedMultinomial": (
        lambda a: pm.OrderedMultinomial("x", eta=a, cutpoints=CUTS, n=9),
        lambda r, a: r.multinomial(9, steps(squashed, a[:, 0])),
    ),
    "OrderedProbit": (
        lambda a: pm.OrderedProbit("x", eta=a * T, cutpoints=CUTS, **ALL),
        lambda r, a: shares(steps(stats.norm.cdf, a * T), r),
    ),
    "Pareto": (lambda a: pm.Pareto("x", alpha=a + 2, m=T, **ALL), lambda r, a: T * (1 + r.pareto(a + 2, whole(a)))),
    "Poisson": (lambda a: pm.Poisson("x", a * T, **ALL), lambda r, a: r.poisson(a * T)),
    "RandomWalk": (
        lambda a: pm.RandomWalk(
            "x", innovation_dist=pm.Laplace.dist(0, a), init_dist=pm.Normal.dist(0, 1), steps=RECORDS - 1
        ),
        lambda r, a: walked(r.normal(size=len(a)), lambda k, x: x + r.laplace(0, a[:, 0]), RECORDS),
    ),
    "Rice": (
        lambda a: pm.Rice("x", nu=a, sigma=T, **ALL),
        lambda r, a: np.hypot(r.normal(a, T), r.normal(0, T, whole(a))),
    ),
    "Simulator": (
        lambda a: pm.Simulator("x", lambda rng, m, s, size: rng.normal(m, s, size=size), a, T, **ALL),
        normal_truth,
    ),
    "SkewNormal": (
        lambda a: pm.SkewNormal("x", mu=a, sigma=T, alpha=2, **ALL),
        lambda r, a: a + T * (2 * abs(r.normal(size=whole(a))) + r.normal(size=whole(a))) / np.sqrt(5),
    ),
    "SkewStudentT": (
        lambda a: pm.SkewStudentT("x", a=a + 1, b=3.0, mu=0.0, sigma=T, **ALL),
        lambda r, a: T * stats.jf_skew_t(a + 1, 3.0).rvs(whole(a), random_state=r),
    ),
    "StickBreakingWeights": (lambda a: pm.StickBreakingWeights("x", alpha=a, K=3), broken),
    "StudentT": (
        lambda a: pm.StudentT("x", nu=4, mu=a, sigma=T, **ALL),
        lambda r, a: a + T * r.standard_t(4, whole(a)),
    ),
    "Triangular": (
        lambda a: pm.Triangular("x", lower=0, c=a, upper=2 * np.ones(RECORDS), **ALL),
        lambda r, a: r.triangular(0, a, 2, whole(a)),
    ),
    "Truncated": (
        lambda a: pm.Truncated("x", pm.Gamma.dist(a, T), lower=0.5, upper=2, **ALL),
        lambda r, a: cut(stats.gamma(a, 0, 1 / T), 0.5, 2, r, whole(a)),
    ),
    "Truncated counts": (
        lambda a: pm.Truncated("x", pm.NegativeBinomial.dist(mu=a, alpha=T), lower=1, upper=5, **ALL),
        lambda r, a: cut(stats.nbinom(T, T / (T + a)), 0, 5, r, whole(a)),
    ),
    "Truncated far out": (
        lambda a: pm.Truncated("x", pm.Exponential.dist(a * T), lower=200.0, **ALL),
        lambda r, a: 200 + r.exponential(1 / (a * T)),
    ),
    "Truncated sum": (
        lambda a: pm.Truncated(
            "x", pm.CustomDist.dist(a, dist=lambda m, size: 1 + pm.Normal.dist(m, 1, size=size)), lower=1, **ALL
        ),
        lambda r, a: again(lambda: r.normal(a + 1, 1, whole(a)), lambda x: x >= 1),
    ),
    "Truncated by trying": (
        lambda a: pm.Truncated("x", pm.VonMises.dist(0, a), lower=-1, upper=1, **ALL),
        lambda r, a: again(lambda: r.vonmises(0, a, whole(a)), lambda x: abs(x) <= 1),
    ),
    "TruncatedNormal": (
        lambda a: pm.TruncatedNormal("x", a, T, lower=0, upper=1.2, **ALL),
        lambda r, a: cut(stats.norm(a, T), 0, 1.2, r, whole(a)),
    ),
    "Uniform": (lambda a: pm.Uniform("x", 0, a * T, **ALL), lambda r, a: a * T * r.random(whole(a))),
    "VonMises": (lambda a: pm.VonMises("x", 0.3, a * T, **ALL), lambda r, a: r.vonmises(0.3, a * T)),
    "Wald": (lambda a: pm.Wald("x", a, T, **ALL), lambda r, a: r.wald(a, T)),
    "Weibull": (lambda a: pm.Weibull("x", a, T, **ALL), lambda r, a: T * r.weibull(a, whole(a))),
    "Wishart": (
        lambda a: pm.Wishart("x", nu=5, V=a * PAIR),
        lambda r, a: np.einsum("dki,dkj->dij", z := normals(r, PAIR, len(a), 5), z).reshape(len(a), 4) * a,
    ),
    "ZeroInflatedBinomial": (
        lambda a: pm.ZeroInflatedBinomial("x", psi=a / 2, n=6, p=T / 2, **ALL),
        lambda r, a: by_pieces(r, a / 2, r.binomial(6, T / 2, whole(a)), 0 * a * T),
    ),
    "ZeroInflatedNegativeBinomial": (
        lambda a: pm.ZeroInflatedNegativeBinomial("x", psi=a / 2, mu=3, alpha=T, **ALL),
        lambda r, a: by_pieces(r, a / 2, r.poisson(r.gamma(T, 3 / T, whole(a))), 0 * a * T),
    ),
    "ZeroInflatedPoisson": (
        lambda a: pm.ZeroInflatedPoisson("x", psi=a / 2, mu=3 * T, **ALL),
        lambda r, a: by_pieces(r, a / 2, r.poisson(3 * T, whole(a)), 0 * a * T),
    ),
    "ZeroSumNormal": (
        lambda a: pm.ZeroSumNormal("x", sigma=a, **ALL),
        lambda r, a: (z := r.normal(0, a, whole(a))) - z.mean(axis=1, keepdims=True),
    ),
}

REFUSED: dict[str, tuple[Declare, str]] = {
    "Flat": (lambda a: pm.Flat("x", **ALL), "write pymc.Normal"),
    "HalfFlat": (lambda a: pm.HalfFlat("x", **ALL), "write pymc.HalfNormal"),
    "ICAR": (lambda a: pm.ICAR("x", W=NEAR, sigma=a), "write pymc.CAR with alpha below 1"),
    "PolyaGamma": (lambda a: pm.PolyaGamma("x", h=1, z=a * T, **ALL), "not installed"),
    "CustomDist": (lambda a: pm.CustomDist("x", a, logp=lambda x, m: -((x - m) ** 2), **ALL), "give it random="),
    "RandomWalk": (
        lambda a: pm.RandomWalk("x", innovation_dist=pm.Normal.dist(0, a), init_dist=pm.Flat.dist(), steps=3),
        "Flat is improper",
    ),
}

BASES = {"Continuous", "Discrete", "Distribution", "SymbolicRandomVariable", "DensityDist", "Lognormal"}
"""Classes that are none of a law, and other names of some."""


def model(declare: Declare) -> Any:
    with pm.Model() as made:
        declare(pm.Uniform("a", 0.5, 1.5))
    return made


def drawn(network: Any) -> dict[str, np.ndarray]:
    columns = list(network.reading.columns)
    shape = network.simulator.roles.structure.variables["x"].shape
    made = network.simulate(("a", *columns), DRAWS, seed=1, given={}, records=shape[0])
    return {"a": made["a"].reshape(DRAWS), "x": np.stack([made[name] for name in columns], axis=2).reshape(DRAWS, -1)}


def test_the_list_is_complete() -> None:
    listed = {name.split()[0] for name in {*CASES, *REFUSED}} | BASES
    classes = {name for name in dir(pm.distributions) if isclass(getattr(pm.distributions, name))}
    assert classes - listed == set()


QUICK = {"CAR", "CustomDist", "CustomDist of vectors", "HurdlePoisson", "Simulator", "Truncated far out"}


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize(
    "name", [each if each in QUICK else pytest.param(each, marks=pytest.mark.slow) for each in CASES]
)
def test_draws_have_the_law_of_the_density(name: str) -> None:
    declare, truth = CASES[name]
    made = drawn(bp.from_pymc(model(declare), columns="x"))
    random = np.random.default_rng(5)
    a = random.uniform(0.5, 1.5, (DRAWS, 1))
    expected = np.asarray(truth(random, a), dtype=np.float64).reshape(DRAWS, -1)
    found = made["x"]
    assert found.shape == expected.shape
    pairs = [(found[:, k], expected[:, k]) for k in range(found.shape[1])]
    pairs += [(found.sum(axis=1), expected.sum(axis=1)), (found[:, 0] - found[:, -1], expected[:, 0] - expected[:, -1])]
    # that they belong to the parameter that was drawn with them
    pairs += [((made["a"] - 1) * found[:, -1], (a[:, 0] - 1) * expected[:, -1])]
    for one, other in pairs:
        # sums of numbers that are fixed differ by rounding
        assert stats.ks_2samp(one.round(9), other.round(9)).pvalue > 1e-4


@pytest.mark.parametrize("name", [*REFUSED])
def test_what_cannot_be_drawn_is_refused_by_name_before_anything_is_drawn(name: str) -> None:
    declare, match = REFUSED[name]
    alone = bp.from_pymc(model(declare), columns="x")
    with pytest.raises(NetworkError, match=match):
        alone.simulate(("x",), 2, seed=0, given={}, records=RECORDS)

    def above(a: Any) -> None:
        declare(a)
        pm.Normal("y", pm.modelcontext(None)["x"][0], 1, observed=np.zeros(3))

    with pytest.raises(NetworkError, match=match) as error:
        bp.from_pymc(model(above))
    assert "'x'" in error.value.found
    assert "posterior" in error.value.remedy


SIZES = {
    "one number for all": lambda rng, a, size: rng.normal(a.mean()),
    "too many": lambda rng, a, size: rng.normal(a, 1, RECORDS + 1),
    "no randomness of rng": lambda rng, a, size: np.random.default_rng().normal(a, 1, size),
    "an error": lambda rng, a, size: rng.normal(a, 1, size) / {}["none"],
}


@pytest.mark.parametrize("name", [*SIZES])
def test_functions_that_draw_something_else_than_they_are_asked_for_are_refused(name: str) -> None:
    network = bp.from_pymc(model(lambda a: pm.Simulator("x", SIZES[name], a * T, **ALL)), columns="x")
    with pytest.raises(NetworkError, match=r"must return numbers in the shape \(4,\)"):
        network.simulate(("x",), 5, seed=0, given={}, records=RECORDS)


def test_functions_are_told_apart_and_their_draws_may_be_any_numbers() -> None:
    def of(shift: float) -> Any:
        return model(lambda a: pm.Simulator("x", lambda rng, m, size: rng.normal(m + shift, 1, size), a, **ALL))

    first, second = of(0.0), of(1.0)
    assert bp.from_pymc(first, columns="x").model_hash == bp.from_pymc(first, columns="x").model_hash
    assert bp.from_pymc(first, columns="x").model_hash != bp.from_pymc(second, columns="x").model_hash
    with pm.Model() as above:
        level = pm.Simulator("level", lambda rng, size: np.round(rng.normal(size=size)))
        pm.Normal("x", level, 1.0, observed=np.zeros(3))
    assert not bp.from_pymc(above).parameters["level"].without_atoms


# of a law and the distribution function that it is drawn by where it is cut off far out
PARAMETERS = {
    "BetaRV": (lambda: pm.Beta.dist(2.0, 3.0), 0.4),
    "BinomialRV": (lambda: pm.Binomial.dist(9, 0.3), 3.0),
    "CauchyRV": (lambda: pm.Cauchy.dist(1.0, 2.0), 2.5),
    "ExponentialRV": (lambda: pm.Exponential.dist(1.5), 0.8),
    "GammaRV": (lambda: pm.Gamma.dist(2.0, 3.0), 0.8),
    "GeometricRV": (lambda: pm.Geometric.dist(0.3), 3.0),
    "GumbelRV": (lambda: pm.Gumbel.dist(1.0, 2.0), 1.5),
    "HalfCauchyRV": (lambda: pm.HalfCauchy.dist(2.0), 1.5),
    "HalfNormalRV": (lambda: pm.HalfNormal.dist(2.0), 1.5),
    "InvGammaRV": (lambda: pm.InverseGamma.dist(2.0, 3.0), 1.5),
    "LaplaceRV": (lambda: pm.Laplace.dist(1.0, 2.0), 1.5),
    "LogisticRV": (lambda: pm.Logistic.dist(1.0, 2.0), 1.5),
    "LogNormalRV": (lambda: pm.LogNormal.dist(1.0, 2.0), 1.5),
    "NegBinomialRV": (lambda: pm.NegativeBinomial.dist(mu=2.0, alpha=3.0), 3.0),
    "ParetoRV": (lambda: pm.Pareto.dist(2.0, 1.0), 1.5),
    "PoissonRV": (lambda: pm.Poisson.dist(2.0), 3.0),
    "StudentTRV": (lambda: pm.StudentT.dist(nu=3.0, mu=1.0, sigma=2.0), 1.5),
    "WeibullBetaRV": (lambda: pm.Weibull.dist(2.0, 3.0), 1.5),
}


@pytest.mark.parametrize("name", [*SURVIVAL])
def test_distribution_functions_are_those_of_pymc(name: str) -> None:
    make, x = PARAMETERS[name]
    rv = make()
    assert type(rv.owner.op).__name__ == name
    parameters = [float(each.eval()) for each in rv.owner.op.dist_params(rv.owner)]
    law = with_digits(name, parameters)
    assert law.cdf(x) == pytest.approx(
        float(np.exp(pm.logcdf(rv, x).eval(mode="FAST_COMPILE"))), abs=1e-6
    )  # constants in single precision


def test_quantiles_between_bounds_keep_all_digits_far_out() -> None:
    share = np.array([0.25, 0.5, 0.75])
    low, high = np.full(3, 40.0), np.full(3, 41.0)
    beyond = 40 - np.log1p(-share * -np.expm1(-1.0))
    assert between(stats.expon(), low, high, share, "float64") == pytest.approx(beyond, rel=1e-12)
    low, high = np.full(3, 30.0), np.full(3, 31.0)
    assert between(stats.norm(0, 1), -high, -low, share, "float64") == pytest.approx(
        -between(stats.norm(0, 1), low, high, 1 - share, "float64")
    )
    # of Poisson numbers of a small mean above 0 all but a few are 1
    assert between(stats.poisson(1e-12), np.ones(3), np.full(3, np.inf), share, "int64").tolist() == [1, 1, 1]
    law = stats.nbinom(0.5, 0.1)
    chances = (law.cdf(9) + share * (law.cdf(60) - law.cdf(9)), np.full(3, 10.0), np.full(3, 60.0))
    assert between(law, *chances[1:], share, "int64").tolist() == law.ppf(chances[0]).tolist()
    with pytest.raises(NothingBetweenError):
        between(stats.norm(0, 1), np.full(3, 50.0), np.full(3, 51.0), share, "float64")


def simulated() -> Any:
    pm.Simulator("x", lambda rng, m, s, size: rng.normal(m, s, size), pm.modelcontext(None)["m"], 1.0, shape=6)


def by_function() -> Any:
    pm.CustomDist(
        "x", pm.modelcontext(None)["m"], random=lambda m, rng=None, size=None: rng.normal(m, 1, size), shape=6
    )


def neighbours() -> Any:
    near = pm.ICAR("near", W=NEAR)
    pm.Normal("x", pm.modelcontext(None)["m"] + 1e-9 * near[0], 1, shape=6)


@pytest.mark.filterwarnings("ignore::bnpriv.errors.LongDrawingWarning")
@pytest.mark.parametrize("reading", ["belief", pytest.param("models", marks=pytest.mark.slow)])
@pytest.mark.parametrize("column", [simulated, by_function, neighbours])
def test_draws_of_a_posterior_go_with_what_is_drawn_by_a_function_or_improper(
    reading: Any, column: Callable[[], Any]
) -> None:
    xarray = pytest.importorskip("xarray")
    with pm.Model() as made:
        pm.Normal("m", 0, 1)
        column()
    random = np.random.default_rng(1)
    known = {"m": (("chain", "draw"), random.normal(size=(2, 2000)))}
    known |= {"near": (("chain", "draw", "k"), random.normal(size=(2, 2000, 4)))} if column is neighbours else {}
    network = bp.from_pymc(made, columns="x", posterior=xarray.Dataset(known), reading=reading)
    secret = {"m": bp.intervals(((-1.0, 0.0), (0.0, 1.0)))}
    schema = bp.Schema(records=6, columns={"x": bp.Real(-5, 5)})
    private = bp.DistributionalAttributePrivacy(network.with_sampling(draws=4000), schema, secret, source="s")
    with pm.Model() as plain:
        pm.Normal("x", pm.Normal("m", 0, 1), 1, shape=6)
    exact = bp.DistributionalAttributePrivacy(
        bp.from_pymc(plain, columns="x").with_sampling(draws=4000), schema, secret, source="s"
    )
    tight = bp.TightMechanism()
    found, expected = (tight.calibrate(each, bp.mean("x"), epsilon=1.0, delta=0.01) for each in (private, exact))
    assert found.guarantee.kind == "estimate"
    assert found.scale == pytest.approx(expected.scale, rel=0.25)


def test_whole_numbers_at_both_bounds_are_drawn() -> None:
    with pm.Model() as model:
        pm.Truncated("y", pm.Poisson.dist(3.0 + pm.Bernoulli("k", 0.5)), lower=2, upper=4, observed=np.zeros(1, int))
    simulator = bp.from_pymc(model).forward.simulator
    found = simulator(("k", "y"), 8000, seed=1, given={}, records=1)
    for k in (0, 1):
        law = stats.poisson(3.0 + k).pmf([2, 3, 4])
        drawn = np.ravel(found["y"])[np.ravel(found["k"]) == k]
        shares = [np.mean(drawn == value) for value in (2, 3, 4)]
        np.testing.assert_allclose(shares, law / law.sum(), atol=0.04)
