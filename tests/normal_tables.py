"""Random questions about records, or parameters, with a joint normal law, and their laws without any formula for them.

Every value of a whole table is one normal number; given the secret they are found by conditioning the vector of all of
them, which knows nothing of means, slopes or covariances of one record.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

import bnpriv as bp
from bnpriv.core.evidence.laws import laws

NAMES = ("a", "b", "c", "d")


@dataclass(frozen=True, kw_only=True)
class Question:
    """A framework over normal records or parameters, a query, and both as weights of whole columns."""

    framework: Any
    query: Any
    records: int
    mean: np.ndarray
    covariance: np.ndarray
    own: np.ndarray | None
    secret: np.ndarray
    weights: np.ndarray
    apart: float

    @property
    def laws(self) -> Any:
        return bp_laws(self.framework, self.query)


def bp_laws(framework: Any, query: Any) -> Any:
    found = laws(framework, query)
    assert not isinstance(found, bp.errors.Refusal), found
    return found


def covariance(random: np.random.Generator, size: int) -> np.ndarray:
    """Return a covariance whose deviations differ by powers of ten."""
    root = random.normal(size=(size, size)) + 0.3 * np.eye(size)
    units = 10.0 ** random.integers(-3, 4, size)
    return units[:, None] * (root @ root.T) * units


def question(random: np.random.Generator, *, level: str = "records", wide: float = 12.0, numbers: int = 2) -> Question:
    """Return a random question; bounds of columns lie `wide` deviations from their means."""
    size = int(random.integers(2, 5))
    names, records = NAMES[:size], int(random.integers(1, 6))
    mean, matrix = random.normal(size=size) * 100, covariance(random, size)
    if random.random() < 0.3:  # far from 0 doubles are coarse
        mean = mean + 2.0**36
    deviations = np.sqrt(np.diag(matrix))
    own = None if level == "records" else deviations * random.uniform(0.1, 3, size)
    spread = deviations if own is None else np.hypot(deviations, own)
    columns = {
        name: bp.Real(float(m - wide * s), float(m + wide * s)) for name, m, s in zip(names, mean, spread, strict=True)
    }
    schema = bp.Schema(records=records, columns=columns)
    network = bp.types.GaussianNetwork(names, mean, matrix, level=level)
    weights = np.array([[float(random.integers(-3, 4)) for _ in names] for _ in range(numbers)])
    weights[:, random.integers(size)] = 1.0
    parts = [bp.linear({n: Fraction(w) for n, w in zip(names, row, strict=True) if w}) for row in weights]
    query = parts[0] if numbers == 1 else bp.stack(*parts)
    secret = np.zeros(size)
    secret[random.integers(size)] = 1.0
    if level == "records" and random.random() < 0.5:
        secret = random.integers(1, 4, size).astype(float)
    apart = float(np.sqrt(secret @ matrix @ secret)) * random.uniform(0.1, 1)
    if level == "records":
        declared = bp.linear({n: Fraction(w) for n, w in zip(names, secret, strict=True) if w})
        hidden = {names[int(np.argmax(secret > 0))]: bp.Secret(declared, pairs=bp.apart(at_most=apart))}
        framework: Any = bp.DatasetAttributePrivacy(network, schema, hidden, source="invented")
    else:
        import scipy.stats

        given = {name: scipy.stats.norm(0, s) for name, s in zip(names, own, strict=True)}
        hidden = {names[int(np.argmax(secret))]: bp.apart(at_most=apart)}
        framework = bp.DistributionalAttributePrivacy(network, schema, hidden, source="invented", laws=given)
    return Question(
        framework=framework,
        query=query,
        records=records,
        mean=mean,
        covariance=matrix,
        own=own,
        secret=secret,
        weights=weights,
        apart=apart,
    )


@dataclass(frozen=True, kw_only=True)
class WholeTable:
    """The normal law of all values of a table, record by record, given a secret; and what they say of the answer."""

    mean: np.ndarray
    covariance: np.ndarray
    slope: np.ndarray
    answers: np.ndarray


def whole_table(asked: Question) -> WholeTable:
    """Condition the vector of all values on the secret."""
    n = asked.records
    if asked.own is None:
        mean, joint = np.tile(asked.mean, n), np.kron(np.eye(n), asked.covariance)
        secret = np.tile(asked.secret, n) / n
        cross, variance = joint @ secret, secret @ joint @ secret
    else:
        mean = np.tile(asked.mean, n)
        joint = np.kron(np.ones((n, n)), asked.covariance) + np.kron(np.eye(n), np.diag(asked.own**2))
        cross, variance = np.tile(asked.covariance @ asked.secret, n), asked.secret @ asked.covariance @ asked.secret
    answers = np.tile(asked.weights, n) / n
    return WholeTable(
        mean=mean, covariance=joint - np.outer(cross, cross) / variance, slope=cross / variance, answers=answers
    )
