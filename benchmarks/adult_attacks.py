"""Attacks on answers of the census income study, for benchmarks/adult.py: as published, and better informed ones."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from bnpriv.bound import FloatArray
from bnpriv.core.distributions import Normal
from bnpriv.core.queries.predicates import Predicate
from bnpriv.core.schema import Schema
from bnpriv.lab.attacks.result import strata

SHARES = (0.45, 0.55)
TABLES, LEARNED, SHADOW, REPETITIONS, SEED = 4000, 1000, 100, 50, 5
INFORMED = 500

STEPS = np.array([0.01, 0.01, 1.0, 1.0, 0.01])
"""Every part of the answer is a whole number of these: means of 100 whole numbers, and counts."""

MOST_COUNTED = 100
"""Records of a table."""

Name = TypeVar("Name", bound=Hashable)

Answers = tuple[FloatArray, FloatArray]
"""Exact answers to tables with either share, shape (tables, parts)."""


def drawn(public: Any, query: str, condition: Predicate, records: int, schema: Schema, tables: int = TABLES) -> Answers:
    """Return exact answers to tables that are drawn with either share of a property."""
    split = strata(public, query, condition, records, schema)
    random = np.random.default_rng(SEED)
    first, second = (split.drawn(share, tables, random) for share in SHARES)
    return first, second


def root(covariance: FloatArray) -> FloatArray:
    """Return the symmetric root of a covariance, however singular it is."""
    values, vectors = np.linalg.eigh(covariance)
    return vectors * np.sqrt(np.maximum(values, 0.0)) @ vectors.T


def log_density(values: FloatArray, mean: FloatArray, covariance: FloatArray) -> FloatArray:
    """Return log densities of a normal law up to one constant, shape (values,)."""
    factor = np.linalg.cholesky(covariance)
    whitened = (values - mean) @ np.linalg.inv(factor).T
    return -np.einsum("ij,ij->i", whitened, whitened) / 2 - np.log(np.diag(factor)).sum()


def excess(laws: Sequence[Normal], noise: FloatArray, epsilon: float, draws: int = 100_000) -> float:
    """Return the least delta at epsilon for two normal laws, each with its own covariance, by draws."""
    unit = np.random.default_rng(SEED).standard_normal((draws, len(noise)))
    sides = [(law.mean, law.covariance + noise) for law in laws]
    found: list[float] = []
    for one, other in (sides, sides[::-1]):
        values = one[0] + unit @ root(one[1])
        loss = log_density(values, *one) - log_density(values, *other)
        found.append(float(np.mean(np.maximum(0.0, -np.expm1(epsilon - loss)))))
    return max(found)


def likelier(answers: Answers, laws: Sequence[Normal]) -> float:
    """Return how often the likelier of two normal laws is the right one, on exact answers."""
    one, other = ([log_density(each, law.mean, law.covariance) for law in laws] for each in answers)
    return float(np.mean([one[0] > one[1], other[0] <= other[1]]))


def as_published(answers: Answers, covariances: Mapping[Name, FloatArray]) -> dict[Name, float]:
    """Return how often the published attack is right: logistic regression that learns from answers without noise.

    Its guess depends on a weighted sum of the numbers, so that noise is averaged over exactly.
    """
    from scipy.special import ndtr
    from sklearn.linear_model import LogisticRegression

    random = np.random.default_rng(SEED)
    right = {name: list[float]() for name in covariances}
    for _ in range(REPETITIONS):
        shadow = np.concatenate([each[random.choice(LEARNED, SHADOW, replace=False)] for each in answers])
        model = LogisticRegression(solver="newton-cholesky").fit(shadow, np.repeat([-1, 1], SHADOW))
        weights = model.coef_[0]
        sides = [sign * model.decision_function(each[LEARNED:]) for sign, each in zip((-1, 1), answers, strict=True)]
        score = np.concatenate(sides)
        for name, covariance in covariances.items():
            spread = float(np.sqrt(weights @ covariance @ weights))
            right[name].append(float(np.mean(ndtr(score / spread) if spread else score > 0)))
    return {name: float(np.mean(each)) for name, each in right.items()}


def whole_steps(answers: Answers, laws: Sequence[Normal], covariance: FloatArray) -> tuple[float, float]:
    """Return how often an attacker is right who knows of whole numbers of steps, and how often he finds the answer.

    For noise in nearly one direction: along it only some answers are whole, and these are weighed by both laws.
    """
    random = np.random.default_rng(SEED)
    right, found = list[bool](), list[bool]()
    for place, exact in enumerate(answers):
        seen = exact[:INFORMED] + random.standard_normal((INFORMED, len(covariance))) @ root(covariance)
        for value, truth in zip(seen, exact, strict=False):
            possible = _whole_near(value, np.linalg.eigh(covariance)[1][:, -1])
            near = log_density(value - possible, np.zeros(len(value)), covariance)
            one, other = (near + log_density(possible, law.mean, law.covariance) for law in laws)
            right.append((np.logaddexp.reduce(one) > np.logaddexp.reduce(other)) == (place == 0))
            likeliest = possible[np.argmax(np.logaddexp(one, other))]
            found.append(bool(np.all(np.abs(likeliest - truth) < STEPS / 2)))
    return float(np.mean(right)), float(np.mean(found))


def _whole_near(value: FloatArray, direction: FloatArray, around: int = 1) -> FloatArray:
    """Return whole answers near the line through a released one, shape (answers, parts)."""
    lead = int(np.argmax(np.abs(direction) / STEPS * (STEPS == 1)))
    counts = np.arange(MOST_COUNTED + 1)
    line = value + np.outer((counts - value[lead]) / direction[lead], direction)
    sides = [np.zeros(1) if k == lead else np.arange(-around, around + 1) for k in range(len(value))]
    moves = np.stack(np.meshgrid(*sides, indexing="ij"), axis=-1).reshape(-1, len(value))
    return ((np.round(line / STEPS)[:, None] + moves) * STEPS).reshape(-1, len(value))


def shrunk_error(answers: Answers, laws: Sequence[Normal], covariance: FloatArray) -> float:
    """Return the mean 2-norm error once a released answer is drawn towards what the public table says anyway.

    The best linear guess of the exact answer, where both shares are as likely: work after the release, which costs no
    privacy.
    """
    middle = (laws[0].mean + laws[1].mean) / 2
    half = (laws[0].mean - laws[1].mean) / 2
    spread = (laws[0].covariance + laws[1].covariance) / 2 + np.outer(half, half)
    gain = np.linalg.solve(spread + covariance, spread).T
    exact = np.concatenate(answers)
    seen = exact + np.random.default_rng(SEED).standard_normal(exact.shape) @ root(covariance)
    return float(np.linalg.norm(middle + (seen - middle) @ gain.T - exact, axis=1).mean())


def without_data(answers: Answers) -> float:
    """Return the mean 2-norm error of the mean of all answers, which tells nothing of the table."""
    exact = np.concatenate(answers)
    return float(np.linalg.norm(exact - exact.mean(axis=0), axis=1).mean())
