"""Which covariance, added to that of a normal answer, hides the gaps between means: pure functions of arrays."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from bnpriv.bound import FloatArray
from bnpriv.errors import Refusal, SizeError
from bnpriv.laws.normal import mahalanobis
from bnpriv.mechanisms.least_trace import MOST_CORRELATED_NUMBERS, least_above
from bnpriv.render.text import nats_text

ALIGNED = 1e-9
"""How far gaps may be from one direction, or covariances from common eigenvectors, relative to themselves.

What it costs is paid: the constraint is checked with the gaps and covariances as they are.
"""

RATIO_MARGIN = 2.0**-40
"""Noise is computed for a ratio that is smaller by this share, so that rounding seldom leaves it too small."""

MOST_NEW_GAPS = 8
"""Gaps that are added to the program in a round, those that are hidden least."""


@final
@dataclass(frozen=True, eq=False)
class Gap:
    """The difference of two means and the covariance of both laws.

    Parameters
    ----------
    gap : ndarray, shape (d,)
    covariance : ndarray, shape (d, d)
        Positive definite.
    """

    gap: FloatArray
    covariance: FloatArray

    def length(self, added: FloatArray) -> float:
        """Return how long it is in standard deviations of the answer with noise, rounded up."""
        return mahalanobis(self.gap, self.covariance + added)

    def missing(self, ratio: float) -> FloatArray:
        """Return the matrix that the noise's covariance must be above, so that the gap is at most `ratio` long."""
        return np.outer(self.gap, self.gap) / ratio**2 - self.covariance


def hidden(gaps: Sequence[Gap], ratio: float) -> bool:
    """Return whether it is certain that no gap is longer than `ratio` without any noise: Thm 4.4 of the paper."""
    nothing = np.zeros_like(gaps[0].covariance)
    return all(gap.length(nothing) <= ratio for gap in gaps)


def repaired(added: FloatArray, gaps: Sequence[Gap], ratio: float) -> FloatArray:
    """Return a covariance, made larger until it is certain that no gap is longer than `ratio`.

    Parameters
    ----------
    added : ndarray, shape (d, d)
        What was computed.
    gaps : sequence of Gap
    ratio : float

    Returns
    -------
    ndarray, shape (d, d)

    Examples
    --------
    >>> gap = Gap(np.array([3.0]), np.array([[4.0]]))
    >>> float(repaired(np.array([[4.9]]), [gap], 1.0)[0, 0]) >= 5
    True
    """
    whole = np.diag(np.diag(added) + np.max([np.diag(gap.covariance) for gap in gaps], axis=0))
    larger, share = added, 2.0**-50
    while not all(gap.length(larger) <= ratio for gap in gaps):
        larger = added * (1 + share) + whole * share
        share *= 2
    return larger


def along_direction(gaps: Sequence[Gap], ratio: float) -> FloatArray | Refusal:
    """Return noise in the one direction of all gaps: DauM.

    For a unit vector v along them ``v' (S + s^2 v v')^-1 v = q / (1 + s^2 q)`` with ``q = v' S^-1 v``, by Sherman and
    Morrison.
    """
    direction = common_direction([gap.gap for gap in gaps])
    if isinstance(direction, Refusal):
        return direction
    tight = ratio * (1 - RATIO_MARGIN)
    needed = [
        (float(np.linalg.norm(gap.gap)) / tight) ** 2 - 1 / Gap(direction, gap.covariance).length(np.zeros(())) ** 2
        for gap in gaps
    ]
    return np.outer(direction, direction) * max(0.0, *needed)


def along_eigenvectors(gaps: Sequence[Gap], ratio: float) -> FloatArray | Refusal:
    """Return noise along the common eigenvectors: so much that every variance is at least that for the longest gap."""
    vectors = common_eigenvectors([gap.covariance for gap in gaps])
    if isinstance(vectors, Refusal):
        return vectors
    longest = max(float(np.linalg.norm(gap.gap)) for gap in gaps) / (ratio * (1 - RATIO_MARGIN))
    least = np.min([np.einsum("ij,ik,kj->j", vectors, gap.covariance, vectors) for gap in gaps], axis=0)
    return vectors * np.maximum(0.0, longest**2 - least) @ vectors.T


def least_trace(gaps: Sequence[Gap], ratio: float) -> FloatArray:
    """Return the covariance with the least trace, to within rounding and the precision of the method.

    Raises
    ------
    SizeError
        If several gaps are to be hidden in an answer of too many numbers.
    """
    tight = ratio * (1 - RATIO_MARGIN)
    size = len(gaps[0].gap)
    added, used = np.zeros((size, size)), list[Gap]()
    while True:
        left = sorted(((gap.length(added), k) for k, gap in enumerate(gaps)), reverse=True)
        new = [gaps[k] for length, k in left[:MOST_NEW_GAPS] if not length <= ratio]
        if not new or any(gap is other for gap in new for other in used):
            break
        used += new
        added = _above([gap.missing(tight) for gap in used])
    return min(_candidates(added, gaps, ratio), key=lambda found: float(np.trace(found)))


def _above(needed: Sequence[FloatArray]) -> FloatArray:
    """Return the least covariance above several matrices: for one, its positive part."""
    if len(needed) > 1:
        if len(needed[0]) > MOST_CORRELATED_NUMBERS:
            raise SizeError(
                f"the least noise for several gaps is computed for at most {MOST_CORRELATED_NUMBERS} numbers",
                found=str(len(needed[0])),
                remedy="Use DirectionalUncertaintyMechanism or AttributeGaussianMechanism.",
            )
        return least_above(needed)
    values, vectors = np.linalg.eigh(needed[0])
    return vectors * np.maximum(values, 0.0) @ vectors.T


def _candidates(added: FloatArray, gaps: Sequence[Gap], ratio: float) -> list[FloatArray]:
    """Return what was found, and the noise of the closed forms, which need no program, where they apply."""
    closed = [found(gaps, ratio) for found in (along_direction, along_eigenvectors)]
    found = [added, *(each for each in closed if not isinstance(each, Refusal))]
    return [repaired(each, gaps, ratio) for each in found]


def common_direction(gaps: Sequence[FloatArray]) -> FloatArray | Refusal:
    """Return the unit vector along which all gaps lie, or how far they are from it.

    Examples
    --------
    >>> common_direction([np.array([3.0, 4.0]), np.array([-1.5, -2.0])]).round(9).tolist()
    [0.6, 0.8]
    """
    longest = max(gaps, key=lambda gap: float(np.linalg.norm(gap)))
    length = float(np.linalg.norm(longest))
    if length == 0:
        return np.eye(len(longest))[0]
    direction = longest / length
    aside = max(float(np.linalg.norm(gap - direction * (direction @ gap))) for gap in gaps) / length
    if aside <= ALIGNED:
        return direction
    return Refusal(
        required="all gaps between means must lie in one direction",
        found=f"one that leaves it by {nats_text(aside, 3)} of the longest",
        remedy="Use OptimalGaussianMechanism, which needs no common direction.",
    )


def common_eigenvectors(covariances: Sequence[FloatArray]) -> FloatArray | Refusal:
    """Return common eigenvectors as columns, or how far the covariances are from having them."""
    # near 1 nothing vanishes; every covariance has a variance above 0
    covariances = [each / np.max(np.abs(each)) for each in covariances]
    # a sum with uneven weights separates what is equal in one covariance and different in another
    mixed = sum(
        (each / np.trace(each) * math.pow(1.0 + k, -0.5) for k, each in enumerate(covariances)),
        start=np.zeros_like(covariances[0]),
    )
    vectors = np.linalg.eigh(mixed)[1]
    aside = 0.0
    for each in covariances:
        turned = vectors.T @ each @ vectors
        aside = max(aside, float(np.linalg.norm(turned - np.diag(np.diag(turned))) / np.linalg.norm(each)))
    if aside <= ALIGNED:
        return vectors
    return Refusal(
        required="the covariances of all models must have the same eigenvectors",
        found=f"covariances that leave them by {nats_text(aside, 3)} of themselves",
        remedy="Use OptimalGaussianMechanism, which needs no common eigenvectors.",
    )
