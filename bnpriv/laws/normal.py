"""Normal laws in any dimension."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from bnpriv import checks
from bnpriv.bound import UNIT_ROUNDOFF, Kind
from bnpriv.errors import LawError
from bnpriv.laws.atoms import Atoms
from bnpriv.laws.base import FloatArray, numbers, refused

ASYMMETRY = 1e-12
"""How far a covariance may be from a symmetric, positive semidefinite one, relative to its largest entry."""


@final
@dataclass(frozen=True, init=False, eq=False)
class Normal:
    """A normal law.

    Parameters
    ----------
    mean : float or array of shape (d,)
        In the unit of the answer.
    covariance : float or array of shape (d, d)
        Symmetric and positive semidefinite, to within rounding; one number is the variance.
    kind : {"exact", "certified", "estimate"}
        How well mean and covariance are known: exact ones unless they were estimated.

    Raises
    ------
    LawError
        If a number is not finite, the shapes do not fit or it is no covariance.

    Examples
    --------
    >>> from bnpriv.laws import Normal
    >>> Normal(1.0, 4.0).dimension
    1
    """

    mean: FloatArray
    covariance: FloatArray
    kind: Kind

    def __init__(self, mean: ArrayLike, covariance: ArrayLike, *, kind: Kind = "exact") -> None:
        checks.member("kind", kind, ("exact", "certified", "estimate"), error=LawError)
        centre = np.atleast_1d(numbers("the mean", mean))
        spread = np.atleast_2d(numbers("the covariance", covariance))
        d = centre.size
        if centre.shape != (d,) or d == 0 or spread.shape != (d, d):
            found = f"shapes {centre.shape} and {spread.shape}"
            raise refused("mean and covariance must have shapes (d,) and (d, d)", found)
        size = float(np.max(np.abs(spread)))
        symmetric = (spread + spread.T) / 2
        if not np.max(np.abs(spread - symmetric)) <= ASYMMETRY * size:
            raise refused("a covariance must be symmetric", "entries that differ from those across the diagonal")
        least = float(np.min(np.linalg.eigvalsh(symmetric)))
        if not (least >= -ASYMMETRY * d * size and np.all(np.diag(symmetric) >= 0)):
            raise refused("a covariance must have no negative variance or eigenvalue", f"{least:g}")
        centre.flags.writeable = symmetric.flags.writeable = False
        object.__setattr__(self, "mean", centre)
        object.__setattr__(self, "covariance", symmetric)
        object.__setattr__(self, "kind", kind)

    @property
    def dimension(self) -> int:
        """Return the number of coordinates d."""
        return len(self.mean)

    def weighted(self, weights: Sequence[float]) -> Normal:
        """Return the law of a vector whose coordinates are multiplied by powers of two, without rounding.

        Parameters
        ----------
        weights : sequence of float, of length d
            Positive powers of two.

        Returns
        -------
        Normal

        Raises
        ------
        LawError
            If a number becomes too large for a double.
        """
        factors = np.asarray(weights, dtype=np.float64)
        return Normal(self.mean * factors, self.covariance * np.outer(factors, factors))


ExactLaw = Atoms | Normal
"""A law of an answer that is known, not drawn from."""


def mahalanobis(gap: FloatArray, covariance: FloatArray) -> float:
    """Return the length of a gap in standard deviations, sqrt(gap' covariance^-1 gap), rounded up.

    Parameters
    ----------
    gap : ndarray of shape (d,)
    covariance : ndarray of shape (d, d)
        Symmetric.

    Returns
    -------
    float
        Infinite if the covariance is singular to within rounding.

    Notes
    -----
    docs/claims/attribute_gaussian.md: the factors that are computed are exact for a matrix whose entries differ by at
    most a share of the standard deviations, so the diagonal is made smaller by that share before.

    Examples
    --------
    >>> round(mahalanobis(np.array([3.0, 4.0]), np.diag([1.0, 4.0])), 9)
    3.605551275
    """
    d = len(gap)
    if not np.any(gap):
        return 0.0
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        # powers of two, which change no bit, bring all deviations near 1: subnormal numbers have few digits
        units = np.ldexp(1.0, -np.frexp(np.sqrt(np.diag(covariance)))[1])
        scaled = covariance * units * units[:, None]
        smaller = scaled - np.diag(np.diag(scaled)) * (8 * d * (d + 2) * UNIT_ROUNDOFF)
        try:
            factor = np.linalg.cholesky(smaller)
        except np.linalg.LinAlgError:
            return math.inf
        solved = np.zeros(d)
        for k in range(d):
            solved[k] = (gap[k] * units[k] - factor[k, :k] @ solved[:k]) / factor[k, k]
        length = float(np.linalg.norm(solved)) * (1 + 4 * (d + 4) * UNIT_ROUNDOFF)
    return length if math.isfinite(length) else math.inf
