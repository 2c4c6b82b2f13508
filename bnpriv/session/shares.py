"""How noise is best shared out over questions: the least sum of relative errors that keeps a total.

A release with Laplace noise of rate r (one over its scale) costs r times the column sensitivity of the near set, beside
what the other columns tell. Errors are weights over rates. Near sets are chosen apart for every model and pair.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from bnpriv.accounting.costs import NoiseCosts
from bnpriv.accounting.entries import Entry, Near
from bnpriv.bound import FloatArray
from bnpriv.errors import SizeError
from bnpriv.evidence.structural import Influences
from bnpriv.mechanisms.quilt_branches import independent_groups

MOST_SUBSETS = 64
"""Near sets of which all are looked at; beyond that only natural ones."""

MOST_SHARES = 6
"""Questions of which every choice may go without noise; beyond that one after the other is tried."""

RATE_FACTORS = (4.0, 2.0, 1.4, 1.15, 1.05, 1.015, 1.004)
"""Factors by which rates are varied, the largest first."""


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class NearCosts:
    """What a total must keep for one protected attribute, model and pair: it may choose among near sets.

    Parameters
    ----------
    fixed : ndarray of shape (rows, sets)
        What other columns tell and earlier noise lets through; infinite where a set may not be chosen.
    moved : ndarray of shape (questions, rows, sets)
        How far each answer moves; what its noise costs is this times its rate.
    """

    fixed: FloatArray
    moved: FloatArray


@final
@dataclass(frozen=True, kw_only=True)
class Sharing:
    """Rates for questions, and the sum of the errors.

    Parameters
    ----------
    rates : tuple of float
        One over each scale; infinite for an answer without noise.
    error : float
        The sum of weight over rate.
    """

    rates: tuple[float, ...]
    error: float


def rows_of(evidence: Influences, earlier: Sequence[Entry], asked: Sequence[Entry]) -> list[NearCosts]:
    """Return what a total must keep, with near sets that suit the questions; an upper bound of the exact total.

    Parameters
    ----------
    evidence : Influences
    earlier : sequence of Entry
        Releases that count by quilts already.
    asked : sequence of Entry
        The questions, with noise of scale 1.
    """
    before = NoiseCosts(evidence=evidence)
    for entry in earlier:
        before = before.plus(entry)
    queried = before.queried.union(*(entry.columns for entry in asked))
    found: list[NearCosts] = []
    for name in evidence.secrets:
        driven = evidence.driven(queried, name)
        fixed: list[FloatArray] = []
        moved: list[list[float]] = []
        for near in _near_sets(evidence, name, queried, driven, asked):
            try:
                told = evidence.influence(queried - near, name).values
            except SizeError:
                continue
            paid = before.rough(near & before.queried) if before.terms else 0.0
            fixed.append(np.where(np.isneginf(told), -np.inf, np.maximum(told, 0.0) + paid).ravel())
            moved.append([entry.moves(evidence, near) for entry in asked])
        if fixed:
            table = np.stack(fixed, axis=1)
            costs = np.array(moved).T[:, None, :]
            found.append(NearCosts(fixed=table, moved=np.broadcast_to(costs, (len(asked), *table.shape))))
    return found


def _near_sets(evidence: Influences, name: str, queried: Near, driven: Near, asked: Sequence[Entry]) -> Iterable[Near]:
    free = sorted(evidence.modelled(queried) - driven)
    if 2 ** len(free) <= MOST_SUBSETS:
        for size in range(len(free) + 1):
            for chosen in itertools.combinations(free, size):
                yield driven | frozenset(chosen)
        return
    groups = independent_groups(evidence.network, name, frozenset(free))
    natural = [*groups, *(entry.columns for entry in asked), *(frozenset({column}) for column in free)]
    yield from dict.fromkeys(
        (driven, queried, *(driven | each for each in natural), *(queried - each for each in natural))
    )


def best_sharing(rows: Sequence[NearCosts], weights: Sequence[float], limit: float) -> Sharing | None:
    """Return the rates of the least sum of errors that keep a limit; None where no rates keep it.

    Parameters
    ----------
    rows : sequence of NearCosts
    weights : sequence of float
        The error of each question at rate 1.
    limit : float
    """
    count = len(weights)
    if count <= MOST_SHARES:
        choices = (frozenset(each) for size in range(count + 1) for each in itertools.combinations(range(count), size))
        found = [_with_bare(rows, weights, limit, bare) for bare in choices]
        return min((each for each in found if each is not None), key=lambda each: each.error, default=None)
    bare: frozenset[int] = frozenset()
    best = _with_bare(rows, weights, limit, bare)
    for k in range(count):
        tried = _with_bare(rows, weights, limit, bare | {k})
        if tried is not None and (best is None or tried.error < best.error):
            best, bare = tried, bare | {k}
    return best


def _with_bare(
    rows: Sequence[NearCosts], weights: Sequence[float], limit: float, bare: frozenset[int]
) -> Sharing | None:
    """Return the best rates where some questions have no noise."""
    noisy = [k for k in range(len(weights)) if k not in bare]
    without = [
        np.where(np.any(each.moved[sorted(bare)] > 0, axis=0), np.inf, each.fixed) if bare else each.fixed
        for each in rows
    ]
    if any(np.any(fixed.min(axis=1) > limit) for fixed in without):
        return None
    given = np.asarray([weights[k] for k in noisy])
    moved = [each.moved[noisy] for each in rows]
    if not noisy:
        return Sharing(rates=(math.inf,) * len(weights), error=0.0)
    best, rates = math.inf, np.ones(len(noisy))
    for start in _starts(moved, given):
        error, found = _descended(without, moved, given, limit, start)
        if error < best:
            best, rates = error, found
    if not math.isfinite(best):
        return None
    every = np.full(len(weights), np.inf)
    every[noisy] = rates
    return Sharing(rates=tuple(map(float, every)), error=best)


def _starts(moved: Sequence[FloatArray], weights: FloatArray) -> Iterable[FloatArray]:
    """Yield rates that are best for one near set alone."""
    patterns = {tuple(each[:, 0, place]) for each in moved for place in range(each.shape[2])}
    largest = np.max([each.max(axis=(1, 2)) for each in moved], axis=0)
    largest = np.where(largest > 0, largest, 1.0)
    for pattern in sorted(patterns):
        yield np.sqrt(weights / np.maximum(np.asarray(pattern), 1e-3 * largest))


def _descended(
    fixed: Sequence[FloatArray], moved: Sequence[FloatArray], weights: FloatArray, limit: float, start: FloatArray
) -> tuple[float, FloatArray]:
    """Vary one rate after the other as long as the error shrinks."""
    rates = start * _scaling(fixed, moved, start, limit)
    error = float(np.sum(weights / rates)) if np.all(rates > 0) else math.inf
    for factor in RATE_FACTORS:
        improved = math.isfinite(error)
        while improved:
            improved = False
            for k, change in itertools.product(range(len(rates)), (factor, 1 / factor)):
                tried = rates.copy()
                tried[k] *= change
                tried = tried * _scaling(fixed, moved, tried, limit)
                found = float(np.sum(weights / tried)) if np.all(tried > 0) else math.inf
                if found < error * (1 - 1e-6):
                    rates, error, improved = tried, found, True
    return error, rates


def _scaling(fixed: Sequence[FloatArray], moved: Sequence[FloatArray], rates: FloatArray, limit: float) -> float:
    """Return the largest factor for all rates that keeps the limit."""
    least = math.inf
    for before, each in zip(fixed, moved, strict=True):
        cost = np.tensordot(rates, each, axes=(0, 0))
        with np.errstate(divide="ignore", invalid="ignore"):
            factor = np.where(before <= limit, np.where(cost > 0, (limit - before) / cost, np.inf), 0.0)
        least = min(least, float(np.max(factor, axis=1).min()))
    return min(least, 1e12 / float(rates.max()))
