"""Laws of answers of gallery models, drawn by NumPy alone from what the models say: without bnpriv, without PyMC."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.later import Later

stats = Later("scipy.stats")
special = Later("scipy.special")

Values = Mapping[str, np.ndarray]
AT_ONCE = 2**23


@dataclass(frozen=True)
class Truth:
    """A model whose protected parameter has nothing above it.

    `root` returns its law, `others` draws the rest, and `table` the column: of shape (draws, records).
    """

    root: Callable[[], Any]
    others: Callable[[np.random.Generator, int], Values]
    table: Callable[[np.random.Generator, np.ndarray, Values], np.ndarray]
    records: int
    bounds: tuple[float, float]

    def inside(self, random: np.random.Generator, count: int, side: tuple[float, float]) -> np.ndarray:
        """Return draws of the protected parameter given that it lies in an interval."""
        law = self.root()
        low, high = law.cdf(side)
        return law.ppf(random.uniform(low, high, count))

    def means(self, random: np.random.Generator, root: np.ndarray, others: Values) -> np.ndarray:
        """Return the means of drawn tables."""
        step = max(1, AT_ONCE // self.records)
        parts = [
            self.table(random, root[k : k + step], {name: each[k : k + step] for name, each in others.items()})
            for k in range(0, len(root), step)
        ]
        return np.concatenate([np.clip(part, *self.bounds).mean(axis=1) for part in parts])

    def prior(self, random: np.random.Generator, count: int, side: tuple[float, float]) -> np.ndarray:
        """Return answers given that the parameter lies in an interval, by the model's own laws."""
        root = self.inside(random, count, side)
        return self.means(random, root, self.others(random, count))


def shape(values: np.ndarray, *more: int) -> tuple[int, ...]:
    return (len(values), *more)


def data() -> np.random.Generator:
    """Return the numbers that the models' covariates are made up with."""
    return np.random.default_rng(20261122)


ERRORS = np.array([15.0, 10, 16, 11, 9, 11, 10, 18])


def schools(random: np.random.Generator, mu: np.ndarray, others: Values) -> np.ndarray:
    theta = mu[:, None] + others["tau"][:, None] * others["z"]
    return theta + ERRORS * random.standard_normal(theta.shape)


def admissions(random: np.random.Generator, female: np.ndarray, others: Values) -> np.ndarray:
    level = np.stack([others["male"], female], axis=1)[:, np.tile([0, 1], 6)]
    return random.binomial(data().integers(100, 900, 12), special.expit(level + np.repeat(others["easier"], 2, axis=1)))


def logistic(random: np.random.Generator, age: np.ndarray, others: Values) -> np.ndarray:
    slopes = np.column_stack([age, others["slopes"]])
    chance = special.expit(others["level"][:, None] + slopes @ data().normal(size=(250, 3)).T)
    return (random.random(chance.shape) < chance).astype(float)


def sneezes(random: np.random.Generator, alcohol: np.ndarray, others: Values) -> np.ndarray:
    drank, pills = np.repeat([0, 1], 200), np.tile([0, 1], 200)
    level, took, both = others["b"].T[:, :, None]
    logs = level + alcohol[:, None] * drank + took * pills + both * drank * pills
    return random.poisson(np.minimum(np.exp(logs), 1e9))  # a mean of 1e9 is clamped to 60 all the same


def autoregression(random: np.random.Generator, sd: np.ndarray, others: Values) -> np.ndarray:
    found = np.empty((len(sd), 100))
    found[:, 0] = random.standard_normal(len(sd))
    for k in range(1, 100):
        found[:, k] = others["rho"] * found[:, k - 1] + sd * random.standard_normal(len(sd))
    return found


def batting(random: np.random.Generator, average: np.ndarray, others: Values) -> np.ndarray:
    kappa = np.exp(others["log"])
    a, b = average * kappa, (1 - average) * kappa
    return random.binomial(45, random.beta(a[:, None], b[:, None], shape(a, 18)))


def ratings(random: np.random.Generator, action: np.ndarray, others: Values) -> np.ndarray:
    cuts = np.cumsum(np.column_stack([others["first"], others["steps"]]), axis=1)
    latent = action[:, None] * np.tile([0, 1], 150) + random.logistic(size=shape(action, 300))
    return sum((latent > cuts[:, k, None]).astype(float) for k in range(6))


def two_groups(random: np.random.Generator, mean: np.ndarray, others: Values) -> np.ndarray:
    return mean[:, None] + others["sd"][:, None] * random.standard_t(others["freedom"][:, None], shape(mean, 47))


def zeros(random: np.random.Generator, psi: np.ndarray, others: Values) -> np.ndarray:
    some = random.random(shape(psi, 300)) < psi[:, None]
    return some * random.poisson(np.broadcast_to(others["mu"][:, None], some.shape))


def coal(random: np.random.Generator, early: np.ndarray, others: Values) -> np.ndarray:
    before = others["switch"][:, None] >= np.arange(1851, 1962)
    return random.poisson(np.where(before, early[:, None], others["late"][:, None]))


def forests(random: np.random.Generator, pine: np.ndarray, others: Values) -> np.ndarray:
    a, b = pine * others["like"], (1 - pine) * others["like"]
    return random.binomial(50, random.beta(a[:, None], b[:, None], shape(a, 10)))


def g_and_k(random: np.random.Generator, mid: np.ndarray, others: Values) -> np.ndarray:
    z = random.standard_normal(shape(mid, 100))
    return mid[:, None] + (1 + 0.8 * np.tanh(others["skew"][:, None] * z / 2)) * (1 + z**2) ** 0.3 * z


def hurdle(random: np.random.Generator, psi: np.ndarray, others: Values) -> np.ndarray:
    """One event before mu at least: the first as it comes in such a time, then those that come after it."""
    some, mu = random.random(shape(psi, 200)) < psi[:, None], others["mu"][:, None]
    first = -np.log1p(random.random(some.shape) * np.expm1(-mu))
    return some * (1 + random.poisson(np.maximum(mu - first, 0)))


def between_zero_and_five(random: np.random.Generator, slope: np.ndarray, others: Values) -> np.ndarray:
    mean, sd = others["level"][:, None] + slope[:, None] * np.linspace(-2, 2, 150), others["sd"][:, None]
    above = mean < 2.5  # by the tail that has more digits: numbers are mirrored
    low, high = np.where(above, mean - 5, -mean) / sd, np.where(above, mean, 5 - mean) / sd
    tail, share = special.log_ndtr(high), random.random(mean.shape)
    z = special.ndtri_exp(tail + np.log(share + (1 - share) * np.exp(special.log_ndtr(low) - tail)))
    return np.clip(mean + np.where(above, -1, 1) * sd * z, 0, 5)


def roaches(random: np.random.Generator, treated: np.ndarray, others: Values) -> np.ndarray:
    mean = np.exp(others["level"][:, None] + treated[:, None] * np.tile([0, 1], 80))
    spread, some = others["spread"][:, None], random.random(mean.shape) < others["psi"][:, None]
    return some * random.poisson(random.gamma(np.broadcast_to(spread, mean.shape), mean / spread))


def districts(random: np.random.Generator, level: np.ndarray, others: Values) -> np.ndarray:
    places = np.stack(np.divmod(np.arange(36), 6), axis=1)
    touch = (np.abs(places[:, None] - places).sum(axis=2) == 1).astype(float)
    root = np.linalg.cholesky(np.linalg.inv(np.diag(touch.sum(axis=0)) - 0.9 * touch))
    near = random.standard_normal(shape(level, 36)) @ root.T / np.sqrt(others["precise"][:, None])
    return random.poisson(np.minimum(np.exp(level[:, None] + near), 1e9))


TRUTHS = {
    "eight_schools": Truth(
        root=lambda: stats.norm(0, 5),
        others=lambda random, n: {
            "tau": np.abs(5 * random.standard_cauchy(n)),
            "z": random.standard_normal((n, 8)),
        },
        table=schools,
        records=8,
        bounds=(-60, 60),
    ),
    "admissions": Truth(
        root=lambda: stats.norm(0, 1.5),
        others=lambda random, n: {"male": random.normal(0, 1.5, n), "easier": random.normal(0, 1.5, (n, 6))},
        table=admissions,
        records=12,
        bounds=(0, 900),
    ),
    "logistic_regression": Truth(
        root=lambda: stats.norm(0, 1),
        others=lambda random, n: {"level": random.standard_normal(n), "slopes": random.standard_normal((n, 2))},
        table=logistic,
        records=250,
        bounds=(0, 1),
    ),
    "poisson_regression": Truth(
        root=lambda: stats.norm(0, 1),
        others=lambda random, n: {"b": random.standard_normal((n, 3))},
        table=sneezes,
        records=400,
        bounds=(0, 60),
    ),
    "autoregression": Truth(
        root=lambda: stats.halfnorm(0, 1),
        others=lambda random, n: {"rho": random.normal(0, 0.3, n)},
        table=autoregression,
        records=100,
        bounds=(-10, 10),
    ),
    "batting": Truth(
        root=lambda: stats.uniform(0, 1),
        others=lambda random, n: {"log": random.exponential(1 / 1.5, n)},
        table=batting,
        records=18,
        bounds=(0, 45),
    ),
    "ratings_by_steps": Truth(
        root=lambda: stats.norm(0, 0.5),
        others=lambda random, n: {
            "first": random.normal(-2, 1, n),
            "steps": np.abs(random.standard_normal((n, 5))),
        },
        table=ratings,
        records=300,
        bounds=(0, 6),
    ),
    "censored": Truth(
        root=lambda: stats.norm(13, 5),
        others=lambda random, n: {"sd": np.abs(random.normal(0, 5, n))},
        table=lambda random, mu, others: random.normal(mu[:, None], others["sd"][:, None], shape(mu, 200)),
        records=200,
        bounds=(3, 16),
    ),
    "two_groups": Truth(
        root=lambda: stats.norm(101, 9),
        others=lambda random, n: {"sd": random.uniform(1, 10, n), "freedom": 1 + random.exponential(29, n)},
        table=two_groups,
        records=47,
        bounds=(50, 150),
    ),
    "zero_inflated": Truth(
        root=lambda: stats.beta(2, 2),
        others=lambda random, n: {"mu": random.gamma(2, 2, n)},
        table=zeros,
        records=300,
        bounds=(0, 30),
    ),
    "coal": Truth(
        root=lambda: stats.expon(0, 1),
        others=lambda random, n: {"switch": random.integers(1851, 1962, n), "late": random.exponential(1, n)},
        table=coal,
        records=111,
        bounds=(0, 12),
    ),
    "forests": Truth(
        root=lambda: stats.beta(1, 4),
        others=lambda random, n: {"like": random.lognormal(1, 1, n)},
        table=forests,
        records=10,
        bounds=(0, 50),
    ),
    "quantiles_alone": Truth(
        root=lambda: stats.norm(3, 1),
        others=lambda random, n: {"skew": random.uniform(0, 4, n)},
        table=g_and_k,
        records=100,
        bounds=(-10, 30),
    ),
    "hurdle_counts": Truth(
        root=lambda: stats.beta(2, 2),
        others=lambda random, n: {"mu": random.gamma(8, 1 / 2, n)},
        table=hurdle,
        records=200,
        bounds=(0, 40),
    ),
    "truncated_regression": Truth(
        root=lambda: stats.norm(0, 1),
        others=lambda random, n: {"level": random.normal(1, 1, n), "sd": np.abs(random.standard_normal(n))},
        table=between_zero_and_five,
        records=150,
        bounds=(0, 5),
    ),
    "zero_inflated_negative_binomial": Truth(
        root=lambda: stats.norm(0, 0.7),
        others=lambda random, n: {
            "psi": random.beta(4, 2, n),
            "spread": random.gamma(4, 1 / 4, n),
            "level": random.normal(2.5, 0.3, n),
        },
        table=roaches,
        records=160,
        bounds=(0, 200),
    ),
    "neighbours": Truth(
        root=lambda: stats.norm(1, 0.7),
        others=lambda random, n: {"precise": random.gamma(4, 1 / 2, n)},
        table=districts,
        records=36,
        bounds=(0, 60),
    ),
}


def smoothed(answers: np.ndarray, edges: np.ndarray, kernel: np.ndarray) -> np.ndarray:
    masses = np.histogram(answers, edges)[0] / len(answers)
    size = len(masses) + len(kernel) - 1
    return np.fft.irfft(np.fft.rfft(masses, size) * np.fft.rfft(kernel, size), size)


def excess(
    first: np.ndarray, second: np.ndarray, noise: str, scale: float, epsilon: float
) -> tuple[float, float, float]:
    """Return how much more than exp(epsilon) times as probable some set is under the first law with noise.

    The set is chosen by one half of the draws and judged by the other, so that choosing it is no gain; with it come
    the chances of the set under either law.
    """
    ends = (min(first.min(), second.min()), max(first.max(), second.max()))
    edges = np.arange(ends[0] - scale, ends[1] + scale, scale / 100)
    law = {"Laplace": stats.laplace, "Gaussian": stats.norm}[noise](0, scale)
    kernel = np.diff(law.cdf(scale / 100 * (np.arange(-3000, 3002) - 0.5)))
    halves = [(each[0::2], each[1::2]) for each in (first, second)]
    (f, f_judged), (g, g_judged) = ([smoothed(half, edges, kernel) for half in pair] for pair in halves)
    chosen = f > np.exp(epsilon) * g
    p, q = float(f_judged[chosen].sum()), float(g_judged[chosen].sum())
    return p - np.exp(epsilon) * q, p, q
