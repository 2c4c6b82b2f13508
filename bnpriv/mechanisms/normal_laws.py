"""What mechanisms for normal laws read: pairs of normal laws with one covariance, and how far apart their means are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple, cast

import numpy as np

from bnpriv.bound import UNIT_ROUNDOFF, FloatArray, down, up
from bnpriv.divergences.gaussian import GaussianConstant, gaussian_ratio
from bnpriv.errors import Refusal
from bnpriv.evidence.constraints import LawPair, Laws
from bnpriv.evidence.laws import laws
from bnpriv.frameworks.framework import Framework
from bnpriv.laws.normal import Normal
from bnpriv.queries.base import Query
from bnpriv.render.text import full_text, nats_text, number_text

SAME_COVARIANCE = 1e-12
"""How far two covariances may be apart, relative to themselves, and still be called one; what it costs is paid."""

SINGULAR = 1e-12
"""Least eigenvalue, per dimension, of the correlations of an answer that is told from a singular one."""

NOT_NORMAL = Refusal(
    required="the answer must have a normal law under each secret",
    found="a law with atoms, from which every normal law is infinitely far without noise",
    remedy="Use TightMechanism or WassersteinMechanism.",
)


OF_TABLES = Refusal(
    required="the law of the answer must be normal, not nearly so",
    found="answers of tables whose records are clamped to their bounds and rounded to their grid",
    remedy="Use TightMechanism with Gaussian noise.",
)


class NormalPair(NamedTuple):
    """Two normal laws of one answer, of one protected attribute under one model; both directions count.

    Parameters
    ----------
    pair : LawPair
        Holds two `Normal` laws with one covariance.
    protected : str
        The protected attribute.
    model : int
        The index in Theta.
    """

    pair: LawPair
    protected: str
    model: int

    @property
    def first(self) -> Normal:
        """The law under the first secret."""
        return cast(Normal, self.pair.first)

    @property
    def second(self) -> Normal:
        """The law under the second secret."""
        return cast(Normal, self.pair.second)

    @property
    def gap(self) -> FloatArray:
        """The difference of the means, shape (d,), each entry correctly rounded."""
        return self.first.mean - self.second.mean

    @property
    def far(self) -> float:
        """The 2-norm of the gap, rounded up."""
        return up(math.hypot(*self.gap.tolist()), 2 * len(self.gap) + 8)

    @property
    def covariance(self) -> FloatArray:
        """The covariance of both laws, shape (d, d)."""
        return self.first.covariance

    @property
    def departure(self) -> float:
        """How far apart in total variation the laws may be because their covariances differ, rounded up."""
        return covariance_departure(self.first, self.second) / 2


def laws_by_pairs(framework: Framework, query: Query) -> tuple[Laws, list[NormalPair]] | Refusal:
    """The laws of an answer, also pair by pair over all protected attributes and models, or why some are not known.

    The laws of the pairs may be of any kind; `not_normal` tells whether they are normal.
    """
    evidence = laws(framework, query)
    if isinstance(evidence, Refusal):
        return evidence
    found: list[NormalPair] = []
    for constraint in evidence.constraints():
        if isinstance(constraint.pairs, Refusal):
            return constraint.pairs
        found += [NormalPair(pair, constraint.protected, constraint.model) for pair in constraint.pairs]
    return evidence, found


def not_normal(pairs: Sequence[NormalPair]) -> Refusal | None:
    """Why pairs of laws are not normal laws with one covariance in each pair; None if they are.

    Answers of tables will do, which are normal but for a departure that whoever asks pays for:
    docs/claims/normal_records.md.
    """
    for each in pairs:
        of_table = each.pair.departure is not None and isinstance(each.pair.first, Normal)
        refusal = singular_refusal(each.first) if of_table else normal_refusal(each)
        if refusal is not None:
            return refusal
    return None


def normal_refusal(each: NormalPair) -> Refusal | None:
    """Return why the laws of a pair are not normal laws with one covariance, or None if they are."""
    if not (isinstance(each.pair.first, Normal) and isinstance(each.pair.second, Normal)):
        return NOT_NORMAL
    if each.pair.departure is not None:
        return OF_TABLES
    refusal = singular_refusal(each.first) or singular_refusal(each.second)
    apart = 0.0 if refusal else covariance_departure(each.first, each.second)
    if apart > SAME_COVARIANCE:
        return Refusal(
            required="the two normal laws of a pair must have the same covariance",
            found=f"covariances that differ by {nats_text(apart, 3)} of themselves "
            f"({each.protected}, {each.pair.pair})",
            remedy="Use AttributeGaussianMechanism(relaxation=...) or WassersteinMechanism, or declare one covariance "
            'for both, as laws_by_property(..., covariance="mean") does.',
        )
    return refusal


def singular_refusal(law: Normal) -> Refusal | None:
    """Return why a covariance cannot be told from a singular one, or None if it can."""
    least = _least_eigenvalue(law.covariance)
    if least > 0:
        return None
    return Refusal(
        required="the covariance of the answer must have an inverse",
        found="a covariance that is singular to within rounding",
        remedy="Leave out the parts of the answer that follow from the others, or use ColumnMechanism.",
    )


def covariance_departure(first: Normal, second: Normal) -> float:
    """Return how far apart two covariances are, relative to the smaller one: 0 if they are the same, rounded up.

    It is the Frobenius norm of their difference, in units of the standard deviations of the answer's parts, over the
    least eigenvalue of the correlations; half of it bounds the total variation of two such laws with one mean.
    """
    if np.array_equal(first.covariance, second.covariance):
        return 0.0
    least = min(_least_eigenvalue(first.covariance), _least_eigenvalue(second.covariance))
    if least <= 0:
        return math.inf
    units = np.sqrt(np.minimum(np.diag(first.covariance), np.diag(second.covariance)))
    apart = (first.covariance - second.covariance) / np.outer(units, units)
    return float(np.linalg.norm(apart)) / least * (1 + 1e-9)


def _least_eigenvalue(covariance: FloatArray) -> float:
    """Return a lower bound of the least eigenvalue of the correlations, 0 if it cannot be told from 0."""
    variances = np.diag(covariance)
    if not np.all(variances > 0):
        return 0.0
    units = np.sqrt(variances)
    least = float(np.linalg.eigvalsh(covariance / units / units[:, None])[0])
    least -= 16 * len(units) ** 2 * UNIT_ROUNDOFF
    return least if least > SINGULAR * len(units) else 0.0


def normal_ratio(
    pairs: Sequence[NormalPair], epsilon: float, delta: float, constant: GaussianConstant = "analytic"
) -> float | Refusal:
    """Return the largest gap in standard deviations that is private, once what differs in covariances is paid for.

    Parameters
    ----------
    pairs : sequence of NormalPair
    epsilon, delta : float
        Above 0.
    constant : {"analytic", "textbook", "lecture"}

    Returns
    -------
    float or Refusal
        Rounded down; a refusal where delta does not cover that the covariances of a pair differ by rounding.
    """
    left = delta_for_one_covariance(pairs, epsilon, delta)
    if left > 0:
        return gaussian_ratio(epsilon, left, constant)
    departure = max(each.departure for each in pairs)
    return Refusal(
        required="delta must cover that the covariances of a pair differ by rounding",
        found=f"delta {full_text(delta)} for a difference of {number_text(departure, 3)} in total variation",
        remedy="Declare one covariance for both laws of a pair, or ask for a larger delta.",
    )


def delta_for_one_covariance(pairs: Sequence[NormalPair], epsilon: float, delta: float) -> float:
    """Return what is left of delta once both laws of a pair are moved to one covariance, rounded down.

    docs/claims/attribute_gaussian.md.
    """
    departure = max((each.departure for each in pairs), default=0.0)
    return delta if departure == 0 else down(delta - math.exp(min(epsilon, 700.0)) * departure)
