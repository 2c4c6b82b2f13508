"""Oracles for channels, written apart from the package: constraints in fractions, and a dense linear program."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any

import numpy as np

import bnpriv as bp
from bnpriv.core.distributions import Atoms

Law = dict[float, Fraction]


@dataclass(frozen=True)
class Problem:
    """Pairs of declared laws, as they are given to the package and in fractions."""

    pairs: list[tuple[Atoms, Atoms]]
    epsilon: float
    delta: float = 0.0

    @property
    def framework(self) -> bp.DistributionPrivacy:
        return bp.DistributionPrivacy(self.pairs, source="invented")

    @property
    def points(self) -> np.ndarray:
        return np.unique(np.concatenate([law.support for pair in self.pairs for law in pair]))

    def exact(self) -> list[tuple[Law, Law]]:
        """Return the laws with the masses that their logs stand for, to 60 digits, divided by their sum."""
        return [(exact_law(first), exact_law(second)) for first, second in self.pairs]


def exact_law(law: Atoms) -> Law:
    context = Context(prec=60, Emin=-(10**9), Emax=10**9)
    masses = [Fraction(context.exp(Decimal(log))) for log in law.logs.tolist()]
    total = sum(masses, Fraction(0))
    return {point: mass / total for point, mass in zip(law.support.tolist(), masses, strict=True)}


def ratio_of(epsilon: float) -> Fraction:
    return Fraction(Context(prec=60).exp(Decimal(epsilon)))


def row_of(channel: Any, value: float) -> list[Fraction]:
    """Return the row of the input that is nearest to a value, of the lower one of two."""
    x = min(range(len(channel.inputs)), key=lambda k: (abs(Fraction(channel.inputs[k]) - Fraction(value)), k))
    return [Fraction(int(n), channel.denominator) for n in channel.numerators[x]]


def output_law(channel: Any, law: Law) -> list[Fraction]:
    found = [Fraction(0)] * len(channel.outputs)
    for point, mass in law.items():
        for w, chance in enumerate(row_of(channel, point)):
            found[w] += mass * chance
    return found


def needed_delta(channel: Any, pairs: Sequence[tuple[Law, Law]], epsilon: float) -> Fraction:
    """Return the least delta for which all constraints hold, in fractions."""
    ratio, most = ratio_of(epsilon), Fraction(0)
    for first, second in pairs:
        p, q = output_law(channel, first), output_law(channel, second)
        for one, other in ((p, q), (q, p)):
            passed = sum((max(Fraction(0), a - ratio * b) for a, b in zip(one, other, strict=True)), Fraction(0))
            most = max(most, passed)
    return most


def loss_of(error: str, points: np.ndarray, outputs: np.ndarray) -> np.ndarray:
    away = np.abs(points[:, None] - outputs[None, :])
    return {"absolute": away, "squared": away**2, "zero-one": (away > 0).astype(float)}[error]


def least(
    problem: Problem, error: str = "absolute", *, worst_case: bool = False, prior: np.ndarray | None = None
) -> float:
    """Return the value of the program, all of it at once, by another algorithm of another form."""
    from scipy import sparse
    from scipy.optimize import linprog

    points = problem.points
    size = len(points)
    laws = [[dense(law, points) for law in pair] for pair in problem.pairs]
    loss = loss_of(error, points, points)
    ratio = math.exp(problem.epsilon)
    ways = [way for first, second in laws for way in ((first, second), (second, first))]
    cells, slacks = size * size, size * len(ways) if problem.delta else 0
    kept = sparse.vstack([sparse.kron(sparse.csr_matrix(f - ratio * g), sparse.eye(size)) for f, g in ways])
    limits = np.zeros(kept.shape[0])
    if slacks:
        kept = sparse.hstack([kept, -sparse.eye(slacks)])
        each = sparse.kron(sparse.eye(len(ways)), np.ones((1, size)))
        kept = sparse.vstack([kept, sparse.hstack([sparse.csr_matrix((len(ways), cells)), each])])
        limits = np.concatenate([limits, np.full(len(ways), problem.delta)])
    one = sparse.hstack([sparse.kron(sparse.eye(size), np.ones((1, size))), sparse.csr_matrix((size, slacks + 1))])
    kept = sparse.hstack([kept, sparse.csr_matrix((kept.shape[0], 1))])
    every = [law for pair in laws for law in pair]
    priors = every if worst_case else [np.mean(every, axis=0) if prior is None else prior]
    costs = np.array([np.concatenate([(p[:, None] * loss).ravel(), np.zeros(slacks), [-1.0]]) for p in priors])
    solved = linprog(
        np.append(np.zeros(cells + slacks), 1.0),
        A_ub=sparse.vstack([kept, sparse.csr_matrix(costs)]),
        b_ub=np.concatenate([limits, np.zeros(len(priors))]),
        A_eq=one,
        b_eq=np.ones(size),
        method="highs-ipm",
    )
    assert solved.status == 0, solved.message
    return float(solved.fun)


def dense(law: Atoms, points: np.ndarray) -> np.ndarray:
    found = np.zeros(len(points))
    found[np.searchsorted(points, law.support)] = law.probabilities
    return found


def count_of(n: int, weights: Sequence[float], chances: Sequence[float]) -> Atoms:
    """Return the law of a count whose chance is itself uncertain."""
    from scipy.stats import binom

    masses = sum(w * binom.pmf(np.arange(n + 1), n, p) for w, p in zip(weights, chances, strict=True))
    return Atoms(np.arange(n + 1), masses / np.sum(masses))


EXAMPLE = (count_of(100, (0.5, 0.3, 0.2), (0.3, 0.4, 0.5)), count_of(100, (0.2, 0.3, 0.5), (0.3, 0.4, 0.5)))
"""A count over 100 records, three parameter states."""


def hostile_points(rng: np.random.Generator, size: int) -> np.ndarray:
    """Draw answers: whole numbers, decimals, far from zero, doubles next to each other, or of very different sizes."""
    kind = int(rng.integers(5))
    if kind == 0:
        return np.sort(rng.choice(50, size=size, replace=False)).astype(float)
    if kind == 1:
        return np.arange(size) * 0.1
    if kind == 2:
        return 2.0**50 + np.sort(rng.choice(60, size=size, replace=False))
    if kind == 3:
        return np.cumsum(np.full(size, np.spacing(1.0))) + 1.0
    return np.unique(np.concatenate([[0.0], 10.0 ** rng.uniform(-8, 8, size=size - 1)]))


def hostile_law(rng: np.random.Generator, points: np.ndarray) -> Atoms:
    """Draw a law with masses of all sizes, some below the range of doubles, some none."""
    logs = np.log(np.maximum(rng.dirichlet(np.full(len(points), rng.choice([0.3, 1.0, 5.0]))), 1e-300))
    if rng.random() < 0.4:
        logs[rng.integers(len(points))] = rng.choice([-300.0, -720.0, -2000.0, -40.0])
    if rng.random() < 0.4:
        logs[rng.integers(len(points))] = -np.inf
    top = np.max(logs)
    logs = logs - top - np.log(np.sum(np.exp(logs - top)))
    return Atoms.from_logs(points, logs)


def problems(seed: int, number: int, *, most: int = 14) -> Iterator[Problem]:
    """Yield random problems with hostile numbers; several pairs, some sharing a law."""
    rng = np.random.default_rng(seed)
    for _ in range(number):
        points = hostile_points(rng, int(rng.integers(2, most)))
        laws = [hostile_law(rng, points) for _ in range(int(rng.integers(2, 5)))]
        pairs = [(laws[k], laws[k + 1]) for k in range(len(laws) - 1)]
        epsilon = float(rng.choice([1e-8, 1e-3, 0.1, 0.5, 1.0, 3.0, 12.0, 100.0]))
        yield Problem(pairs, epsilon, float(rng.choice([0.0, 0.0, 1e-9, 1e-4, 0.05])))


def holds(problem: Problem, mechanism: Any) -> bool:
    """Return whether what a mechanism promises for declared laws is true, in fractions."""
    calibration = mechanism.calibrate(problem.framework, epsilon=problem.epsilon, delta=problem.delta)
    pairs = problem.exact()
    channel = calibration.noise
    if isinstance(channel, bp.noise.NoNoise):
        points = problem.points
        size = len(points)
        channel = bp.noise.Channel(
            points.tolist(), points.tolist(), np.eye(size, dtype=int), 1, np.full(size, 1 / size)
        )
    return needed_delta(channel, pairs, calibration.guarantee.epsilon) <= Fraction(calibration.guarantee.delta)


Check = Callable[[Problem, Any], bool]
