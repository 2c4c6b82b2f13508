"""Random PyMC models against laws that are enumerated or worked out from the same expressions in NumPy alone."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.random import Generator
from numpy.typing import NDArray

import bnpriv as bp
from bnpriv.core.networks.base import drivers
from tests.later import Later, optional

stats = Later("scipy.stats")

pm = optional("pymc")
pt = optional("pytensor.tensor")

Expression = Callable[[Any, Mapping[str, Any]], Any]
"""Of a library (NumPy or PyTensor) and the values of all variables, each a vector; it gives a vector."""

TOLERANCE = 1e-12
BLOCKS = [0, 10, *(pytest.param(first, marks=pytest.mark.slow) for first in (20, 30))]
"""The first seeds of blocks of ten random models."""

STATES = {"Bernoulli": 2, "Categorical": 3, "Binomial": 3, "DiscreteUniform": 3}


@dataclass
class Declared:
    """A random variable: how PyMC is told of it, and its law in NumPy."""

    name: str
    kind: str
    size: int
    score: Expression
    scalar: bool = False
    column: bool = False

    def declare(self, env: dict[str, Any]) -> None:
        given: Any = pm.Deterministic(f"score_{self.name}", pt.as_tensor(self.score(pt, env)))
        given = given[0] if self.scalar else given
        extra = {"observed": np.zeros(() if self.scalar else self.size, dtype=int)} if self.column else {}
        shape = () if self.scalar else (self.size,)
        if self.kind == "Bernoulli":
            made = pm.Bernoulli(self.name, p=squeezed(pt, given), shape=shape, **extra)
        elif self.kind == "Binomial":
            made = pm.Binomial(self.name, n=2, p=squeezed(pt, given), shape=shape, **extra)
        elif self.kind == "Categorical":
            made = pm.Categorical(self.name, p=weights(pt, given), shape=shape, **extra)
        else:
            made = pm.DiscreteUniform(self.name, 0, 2, shape=shape, **extra)
        env[self.name] = made.reshape((1,)) if self.scalar else made

    def laws(self, env: Mapping[str, Any]) -> NDArray[np.float64]:
        """Return the law of every entry, of shape (size, states)."""
        given = np.broadcast_to(self.score(np, env), (self.size,)).astype(float)
        p = squeezed(np, given)[:, np.newaxis]
        if self.kind == "Bernoulli":
            return np.concatenate([1 - p, p], axis=1)
        if self.kind == "Binomial":
            return np.concatenate([(1 - p) ** 2, 2 * p * (1 - p), p**2], axis=1)
        return weights(np, given) if self.kind == "Categorical" else np.full((self.size, 3), 1 / 3)


def squeezed(library: Any, score: Any) -> Any:
    return 0.1 + 0.8 / (1 + library.exp(-score))


def weights(library: Any, score: Any) -> Any:
    made = library.stack([1 + 0 * score, library.exp(0.7 * score), library.exp(-0.4 * score)], axis=-1)
    return made / made.sum(axis=-1)[..., np.newaxis]


def inserted(library: Any, array: Any, place: Any, part: Any) -> Any:
    if library is np:
        copy = np.array(array, dtype=float)
        copy[place] = part
        return copy
    return pt.set_subtensor(pt.cast(array, "float64")[place], part)


def piece(random: Generator, sizes: Mapping[str, int], n: int) -> Expression:
    """Return a random expression of a vector of `n` entries."""
    a, b = (str(random.choice(list(sizes))) for _ in range(2))
    i, j = random.integers(sizes[a], size=n), random.integers(sizes[b], size=n)
    one, table = int(random.integers(sizes[b])), random.normal(size=(3, 3))
    square, matrix = random.normal(size=(n, 3)), random.normal(size=(n, sizes[a]))
    cube, mixed = random.normal(size=(3, n, 3)), random.integers(3, size=(n, n))
    row = int(random.integers(n))
    w = whole
    kinds: list[Expression] = [
        lambda _, env: env[a][i],
        lambda _, env: 1.0 * env[a][::-1][i] * env[b][one],
        lambda lib, env: env[a][w(lib, env[b][j]) % sizes[a]],
        lambda lib, env: constant(lib, table)[w(lib, env[a][i]), w(lib, env[b][j])],
        lambda lib, env: constant(lib, square)[:, w(lib, env[b][j])][row],
        lambda lib, env: constant(lib, cube)[w(lib, env[a][i[:1]]), :, 1][0],
        lambda lib, env: constant(lib, table)[w(lib, env[a][i]), (w(lib, env[b][j])[:, None] + mixed) % 3][row],
        lambda lib, env: constant(lib, table)[(w(lib, env[b][j])[:, None] + mixed) % 3, w(lib, env[a][i])][:, row],
        lambda lib, env: constant(lib, cube)[w(lib, env[b][one]), :, w(lib, env[a][i[0]])],
        lambda lib, env: lib.stack([env[a][i[k]] - env[b][j[k]] for k in range(n)]),
        lambda lib, env: lib.concatenate([env[a], env[b][:1]])[i],
        lambda lib, env: lib.where(env[a][i] > 0, 0.5, env[b][j]),
        lambda lib, env: env[a].sum() + 0.5 * env[b][j],
        lambda lib, env: lib.cumsum(env[a])[i],
        lambda lib, env: inserted(lib, env[a][i], slice(0, 1), env[b][one]),
        lambda lib, env: inserted(lib, 0.3 * env[b][j], row, 1.0),
        lambda lib, env: (env[a][:, None] * env[b][None, :]).sum(axis=1)[i],
        lambda lib, env: (env[a][i][:, None] + env[b][None, :]).reshape((-1, 1)).reshape((n, -1)).max(axis=1),
        lambda lib, env: lib.dot(matrix, env[a]),
        lambda lib, env: lib.sort(env[a])[i],
        lambda lib, env: lib.zeros_like(env[a][i]) + env[b].mean(),
        lambda lib, env: lib.tile(env[a][:1], n) * (env[b][j] > 0),
        lambda lib, env: lib.full((n,), 0.7) * env[a].shape[0],
        lambda lib, env: lib.clip(env[a][i], 0, 1) ** 2,
    ]
    chosen = int(random.integers(len(kinds)))
    weight = float(random.normal())
    return lambda lib, env: weight * kinds[chosen](lib, env)


def whole(library: Any, values: Any) -> Any:
    """Return whole numbers from 0 to 2, the same ones if they are that."""
    if not str(values.dtype).startswith("float"):
        return values % 3
    made = library.clip(library.floor(library.abs(values)), 0, 2)
    return made.astype("int64")


def constant(library: Any, array: NDArray[np.float64]) -> Any:
    return array if library is np else pt.constant(array)


def added(parts: list[Expression]) -> Expression:
    return lambda library, env: sum(part(library, env) for part in parts)


@dataclass
class Drawn:
    """A random model."""

    variables: list[Declared] = field(default_factory=list)

    @classmethod
    def of(cls, random: Generator) -> Drawn:
        self, sizes, budget = cls(), dict[str, int](), 120
        for name in "abcd":
            kind = str(random.choice(list(STATES)))
            size = 1 if budget < 9 else int(random.choice([1, 2, 2, 3]))
            if STATES[kind] ** size > budget:
                break
            self._add(random, sizes, name, kind, size)
            budget //= STATES[kind] ** size
        for name in ("x", "y")[: int(random.integers(1, 3))]:
            self._add(random, sizes, name, str(random.choice(["Bernoulli", "Categorical", "Binomial"])), 2, column=True)
        return self

    def _add(
        self, random: Generator, sizes: dict[str, int], name: str, kind: str, size: int, *, column: bool = False
    ) -> None:
        parts = [piece(random, sizes, size) for _ in range(int(random.integers(1, 3)))] if sizes else []
        level = float(random.normal())
        alike = column and bool(random.integers(2))
        whole = added([lambda lib, env: level + np.zeros(size), *parts])
        score = (lambda lib, env: whole(lib, env)[0] + np.zeros(size)) if alike else whole
        scalar = size == 1 and bool(random.integers(2))
        self.variables.append(Declared(name, kind, size, score, scalar, column))
        sizes[name] = size

    def in_pymc(self) -> Any:
        with pm.Model() as model:
            env: dict[str, Any] = {}
            for variable in self.variables:
                variable.declare(env)
        return model

    def names(self, variable: Declared) -> list[str]:
        return [variable.name] if variable.scalar else [f"{variable.name}[{k}]" for k in range(variable.size)]

    def axes(self, *, columns: bool) -> list[tuple[str, int, int]]:
        """Return variable, entry and states of all entries of parameters, or of columns."""
        return [(v.name, k, STATES[v.kind]) for v in self.variables if v.column == columns for k in range(v.size)]

    def enumerated(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the joint law of the parameters, and the law of the columns given them on the axes after."""
        above, below = self.axes(columns=False), self.axes(columns=True)
        known: dict[tuple[Any, ...], NDArray[np.float64]] = {}
        joint = np.empty([s for *_, s in above])
        given = np.empty([s for *_, s in above + below])
        for place in product(*(range(s) for *_, s in above + below)):
            env = {v.name: np.zeros(v.size, dtype=int) for v in self.variables}
            for (name, k, _), state in zip(above + below, place, strict=True):
                env[name][k] = state
            log = {False: 0.0, True: 0.0}
            before: tuple[int, ...] = ()
            for v in self.variables:
                if (v.name, before) not in known:
                    known[v.name, before] = np.log(v.laws(env))
                log[v.column] += known[v.name, before][np.arange(v.size), env[v.name]].sum()
                before += tuple(env[v.name])
            joint[place[: len(above)]] = np.exp(log[False])
            given[place] = np.exp(log[True])
        return joint, given


def of_network(network: bp.DiscreteNetwork) -> NDArray[np.float64]:
    """Return the joint law of a network, on the axes of its attributes."""
    attributes = list(network.attributes)
    joint = np.ones([len(network.states[name]) for name in attributes])
    for name in attributes:
        axes = network.tables[name].axes
        table = np.asarray(network.probabilities(name)[0])
        order = sorted(range(len(axes)), key=lambda k: attributes.index(axes[k]))
        shape = [len(network.states[each]) if each in axes else 1 for each in attributes]
        joint = joint * table.transpose(order).reshape(shape)
    return joint


@functools.cache
def read(seed: int) -> tuple[Drawn, bp.DiscreteNetwork]:
    drawn = Drawn.of(np.random.default_rng(seed))
    return drawn, bp.from_pymc(drawn.in_pymc())


@pytest.fixture(scope="module", params=BLOCKS, ids=lambda k: f"models {k} to {k + 9}")
def models(request: Any) -> list[tuple[int, Drawn, bp.DiscreteNetwork, Any, Any]]:
    return [(seed, *read(seed), *read(seed)[0].enumerated()) for seed in range(request.param, request.param + 10)]


def test_the_joint_law_is_the_enumerated_one(models) -> None:
    for seed, drawn, network, joint, _ in models:
        names = [name for v in drawn.variables if not v.column for name in drawn.names(v)]
        assert list(network.attributes) == names, seed
        assert np.abs(of_network(network) - joint).max() <= TOLERANCE, seed


def test_columns_depend_on_their_drivers_alone(models) -> None:
    """Both records at once, alone and with the other column."""
    for seed, drawn, network, _, given in models:
        axes, places = drawn.axes(columns=True), len(network.attributes)
        for column, above in network.reading.columns.items():
            rest = tuple(places + k for k, (name, *_) in enumerate(axes) if name != column)
            law = given.sum(axis=rest)
            for k, name in enumerate(network.attributes):
                if name not in above:
                    assert np.abs(law - law.take([0], axis=k)).max() <= TOLERANCE, (seed, column, name)


def test_what_columns_tell_is_within_the_bound_by_drivers(models) -> None:
    for seed, drawn, network, joint, given in models:
        axes, places = drawn.axes(columns=True), len(network.attributes)
        whole = given * joint.reshape(joint.shape + (1,) * len(axes))
        columns = list(network.reading.columns)
        for held in [*([column] for column in columns), columns]:
            above = drivers(network, held)
            for k, name in enumerate(network.attributes):
                if name in above:
                    continue
                for records in (1, 2):
                    kept = [places + j for j, (v, entry, _) in enumerate(axes) if v in held and entry < records]
                    rest = tuple(j for j in range(whole.ndim) if j not in (k, *kept))
                    law = whole.sum(axis=rest).reshape((joint.shape[k], -1))
                    law = law / law.sum(axis=1, keepdims=True)
                    told = max(np.log(a / b).max() for a in law for b in law)
                    bound = float(bp.max_influence(network, set(above), name)) if above else 0.0
                    assert told <= bound + 1e-9, (seed, held, name, records)


def test_laws_of_records_are_the_enumerated_ones(models) -> None:
    for seed, drawn, network, _, given in models:
        axes, places = drawn.axes(columns=True), len(network.attributes)
        for column, laws in network.reading.laws.items():
            (variable,) = (v for v in drawn.variables if v.name == column)
            above = network.reading.columns[column]
            for entry in range(variable.size):
                (kept,) = (places + j for j, (v, k, _) in enumerate(axes) if (v, k) == (column, entry))
                law = given.sum(axis=tuple(range(places, kept)) + tuple(range(kept + 1, given.ndim)))
                for k in range(places):
                    law = law if network.attributes[k] in above else law.take([0], axis=k)
                expected = law.reshape((-1, law.shape[-1]))
                assert len(laws) == len(expected)
                for read, row in zip(laws, expected, strict=True):
                    assert np.abs(masses(read, len(row)) - row).max() <= TOLERANCE, (seed, column)


def masses(law: Any, states: int) -> NDArray[np.float64]:
    return np.array([1 - law, law]) if isinstance(law, float) else np.asarray(law.pmf(np.arange(states)))


def test_the_random_models_are_of_many_kinds() -> None:
    """Else the tests above would pass for nothing."""
    networks = [read(seed)[1] for seed in range(0, 40, 2)]
    assert sum(len(network.graph.edges) for network in networks) > 30
    above = [set(network.attributes) - set(names) for network in networks for names in network.reading.columns.values()]
    assert sum(map(bool, above)) > 5
    assert sum(len(network.reading.laws) for network in networks) > 5


# -- linear-Gaussian


def line(random: Generator, sizes: Mapping[str, int], n: int) -> Expression:
    """Return a random affine expression of a vector of `n` entries."""
    a, b = (str(random.choice(list(sizes))) for _ in range(2))
    i, j = random.integers(sizes[a], size=n), random.integers(sizes[b], size=n)
    matrix, mask = random.normal(size=(n, sizes[a])), random.integers(2, size=n).astype(bool)
    row, shift = int(random.integers(n)), random.normal(scale=10.0 ** random.integers(-3, 5))
    kinds: list[Expression] = [
        lambda _, env: env[a][i] * shift - env[b][j] / 7,
        lambda _, env: shift + env[a][::-1][i],
        lambda lib, env: lib.dot(matrix, env[a]),
        lambda lib, env: lib.concatenate([env[a], env[b]])[i],
        lambda lib, env: lib.stack([env[a][i[k]] + shift for k in range(n)]),
        lambda lib, env: env[a].mean() - env[b][j],
        lambda lib, env: lib.cumsum(env[a])[i],
        lambda lib, env: lib.where(mask, env[a][i], 3 * env[b][j]),
        lambda lib, env: inserted(lib, env[a][i], row, env[b][0]),
        lambda lib, env: (matrix * env[a]).sum(axis=1),
        lambda lib, env: (env[a][:, None] - env[b][None, :]).sum(axis=1)[i],
        lambda lib, env: lib.full((n,), shift) * (env[a].shape[0] - 1) + env[a].reshape((-1, 1))[i, 0],
        lambda lib, env: lib.zeros_like(env[a][i]) + 2 * env[b].sum(),
    ]
    chosen = int(random.integers(len(kinds)))
    return kinds[chosen]


@dataclass
class Lines:
    """A random linear-Gaussian model."""

    sizes: dict[str, int]
    means: dict[str, Expression]
    roots: dict[str, NDArray[np.float64]]
    joint: dict[str, bool]

    @classmethod
    def of(cls, random: Generator) -> Lines:
        self = cls({}, {}, {}, {})
        for name in "abcde":
            size = int(random.integers(1, 4))
            parts = [line(random, self.sizes, size) for _ in range(int(random.integers(1, 3)))] if self.sizes else []
            level = random.normal(size=size, scale=10)
            self.means[name] = added([lambda lib, env, level=level: level, *parts])
            self.joint[name] = bool(random.integers(2)) and size > 1
            spread = np.tril(random.normal(size=(size, size)), -1) * self.joint[name]
            self.roots[name] = spread + np.diag(random.uniform(0.1, 3, size=size))
            self.sizes[name] = size
        return self

    def in_pymc(self) -> Any:
        with pm.Model() as model:
            env: dict[str, Any] = {}
            for name, mean in self.means.items():
                if self.joint[name]:
                    env[name] = pm.MvNormal(name, mean(pt, env), chol=self.roots[name])
                else:
                    env[name] = pm.Normal(name, mean(pt, env), np.diag(self.roots[name]), shape=(self.sizes[name],))
        return model

    def law(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return mean and covariance: entries are affine in the noise, whose effect is tried one by one."""
        total = sum(self.sizes.values())
        values = np.array([self._at(noise) for noise in [np.zeros(total), *np.eye(total)]])
        slopes = (values[1:] - values[0]).T
        return values[0], slopes @ slopes.T

    def _at(self, noise: NDArray[np.float64]) -> NDArray[np.float64]:
        env, used = dict[str, Any](), 0
        for name, mean in self.means.items():
            own = noise[used : used + self.sizes[name]]
            env[name] = np.broadcast_to(mean(np, env), own.shape) + self.roots[name] @ own
            used += len(own)
        return np.concatenate(list(env.values()))


@pytest.mark.parametrize("first", BLOCKS)
def test_linear_models_have_their_mean_and_covariance(first: int) -> None:
    for seed in range(first, first + 10):
        lines = Lines.of(np.random.default_rng(seed))
        network = bp.from_pymc(lines.in_pymc())
        assert isinstance(network, bp.types.GaussianNetwork), seed
        assert list(network.attributes) == [f"{name}[{k}]" for name, size in lines.sizes.items() for k in range(size)]
        mean, covariance = lines.law()
        scale = np.sqrt(np.diag(covariance))
        assert np.abs((network.mean[0] - mean) / (scale + np.abs(mean))).max() <= 1e-9, seed
        assert np.abs((network.covariance[0] - covariance) / np.outer(scale, scale)).max() <= 1e-9, seed


def test_linear_models_have_the_moments_of_their_draws() -> None:
    lines = Lines.of(np.random.default_rng(3))
    model = lines.in_pymc()
    network = bp.from_pymc(model)
    noise = np.random.default_rng(0).normal(size=(200_000, sum(lines.sizes.values())))
    assert isinstance(network, bp.types.GaussianNetwork)
    base = lines._at(np.zeros(noise.shape[1]))
    slopes = np.array([lines._at(each) - base for each in np.eye(noise.shape[1])])
    drawn = base + noise @ slopes
    own = pm.draw([model[name] for name in lines.sizes], draws=2000, random_seed=1, mode="FAST_COMPILE")
    few = np.concatenate(own, axis=1)
    scale = np.sqrt(np.diag(network.covariance[0]))
    for draws in (drawn, few):
        error = 6 / np.sqrt(len(draws))
        assert np.abs((draws.mean(axis=0) - network.mean[0]) / scale).max() <= error
        assert np.abs((np.cov(draws.T) - network.covariance[0]) / np.outer(scale, scale)).max() <= 2 * error


# -- densities


LAWS: Mapping[str, tuple[Callable[[Any, Any], dict[str, Any]], Callable[..., Any]]] = {
    "Normal": (lambda _, s: {"mu": s, "sigma": 0.3 + s**2}, lambda mu, sigma: stats.norm(mu, sigma)),
    "Gamma": (
        lambda lib, s: {"alpha": lib.exp(0.1 * lib.tanh(s)), "beta": 1.3 + 0 * s},
        lambda alpha, beta: stats.gamma(alpha, scale=1 / beta),
    ),
    "Beta": (
        lambda _, s: {"alpha": 0.5 + s**2 / (1 + s**2), "beta": 2.1 + 0 * s},
        lambda alpha, beta: stats.beta(alpha, beta),
    ),
    "StudentT": (
        lambda _, s: {"nu": 4.1 + 0 * s, "mu": s, "sigma": 1.1 + s**2},
        lambda nu, mu, sigma: stats.t(nu, mu, sigma),
    ),
    "HalfCauchy": (lambda _, s: {"beta": 0.1 + s**2}, lambda beta: stats.halfcauchy(0, beta)),
    "Laplace": (lambda lib, s: {"mu": s, "b": 0.2 + lib.abs(s)}, lambda mu, b: stats.laplace(mu, b)),
    "Exponential": (lambda _, s: {"lam": 0.2 + s**2}, lambda lam: stats.expon(scale=1 / lam)),
    "Bernoulli": (lambda lib, s: {"p": squeezed(lib, s)}, lambda p: stats.bernoulli(p)),
    "Uniform": (
        lambda _, s: {"lower": -1 - s**2, "upper": 1.1 + s**2},
        lambda lower, upper: stats.uniform(lower, upper - lower),
    ),
    "Poisson": (lambda lib, s: {"mu": lib.exp(lib.tanh(s))}, lambda mu: stats.poisson(mu)),
}


@pytest.mark.parametrize("first", BLOCKS)
def test_densities_are_those_of_scipy(first: int) -> None:
    checked = 0
    for seed in range(first, first + 10):
        random = np.random.default_rng(seed)
        sizes, scores, laws = dict[str, int](), dict[str, Expression](), dict[str, str]()
        with pm.Model() as model:
            env: dict[str, Any] = {}
            for name in "abcd":
                size = int(random.integers(1, 4))
                level = random.normal(size=size)
                parts = [piece(random, sizes, size)] if sizes else []
                scores[name] = added([lambda lib, env, level=level: level, *parts])
                laws[name] = str(random.choice(list(LAWS) if sizes else ["Normal", "Beta", "Poisson"]))
                given = LAWS[laws[name]][0](pt, scores[name](pt, env))
                env[name], sizes[name] = getattr(pm, laws[name])(name, **given, shape=(size,)), size
        network = bp.from_pymc(model)
        if not isinstance(network, bp.types.DensityNetwork):
            continue
        values = {rv.name: random.uniform(0.1, 0.9, size=sizes[rv.name]).round(3) for rv in model.basic_RVs}
        values = {
            rv.name: (2 * values[rv.name]).astype(rv.dtype) / (1 + ("float" in rv.dtype)) for rv in model.basic_RVs
        }
        values = {rv.name: values[rv.name].astype(rv.dtype) for rv in model.basic_RVs}
        for name, law in laws.items():
            own = LAWS[law][1](**LAWS[law][0](np, np.broadcast_to(scores[name](np, values), sizes[name]).astype(float)))
            expected = (own.logpmf if law in ("Bernoulli", "Poisson") else own.logpdf)(values[name])
            for k in range(sizes[name]):
                parameter = network.parameters[f"{name}[{k}]"]
                assert (parameter.log_density is None) == (law == "Poisson")
                if parameter.log_density is None:
                    continue
                at = [element(values, each) for each in parameter.parents]
                found = parameter.log_density(np.array([values[name][k]] * 2, dtype=float), *at)
                np.testing.assert_allclose(found, expected[k], rtol=1e-12, atol=1e-12, err_msg=f"{seed} {name}")
                checked += 1
    assert checked > 20


def element(values: Mapping[str, NDArray[Any]], name: str) -> NDArray[np.float64]:
    variable, place = name[:-1].split("[")
    return np.array([values[variable][int(place)]] * 2, dtype=float)
