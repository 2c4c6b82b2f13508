"""The infinity-Wasserstein distance of two laws, and cheap bounds on it."""

from __future__ import annotations

import math

import numpy as np

from bnpriv.bound import Bound, down, up
from bnpriv.errors import LawError, ParameterError
from bnpriv.laws.atoms import Atoms
from bnpriv.laws.base import FloatArray
from bnpriv.laws.normal import ExactLaw, Normal
from bnpriv.transport.line import Line, bracket, least_width
from bnpriv.transport.space import DISTANCE_ULPS, Space, projected
from bnpriv.transport.tolerance import slack, whole


def w_infinity(f: ExactLaw, g: ExactLaw, norm: float = 1) -> Bound:
    """Return the infinity-Wasserstein distance: the least W such that mass need only move by at most W.

    It is the least W for which all of `f` but a part of `tolerance(f, g)` can be moved inside `g` by at most W, and the
    other way round. Every atom counts, however small its mass; rounding of masses does not.

    Parameters
    ----------
    f, g : Atoms or Normal
        Two laws of one kind and dimension.
    norm : {1, 2, math.inf}
        Measures how far a vector moves: 1 for Laplace noise, 2 for Gaussian noise.

    Returns
    -------
    Bound
        In the unit of the atoms. `upper` holds for the true laws with the tolerance of `tolerance`, `lower` without
        one. Infinite for normal laws whose covariances differ.

    Raises
    ------
    LawError
        If the laws are not of one kind and dimension.
    SizeError
        If two laws in space have too many pairs of atoms.

    Notes
    -----
    docs/claims/transport.md. Song, Wang, Chaudhuri, "Pufferfish Privacy Mechanisms for Correlated Data" (SIGMOD 2017),
    definition 3.1.

    Examples
    --------
    >>> from bnpriv.laws import Atoms
    >>> from bnpriv.transport import w_infinity
    >>> w_infinity(Atoms([1, 2, 100], [0.6, 0.2, 0.2]), Atoms([1, 2, 3, 100], [0.4, 0.3, 0.2, 0.1]))
    Bound(lower=97.0, upper=97.0, kind='exact')
    """
    check_laws(f, g, norm)
    if isinstance(f, Normal) or isinstance(g, Normal):
        return _of_normals(f, g, norm)
    if f.dimension > 1:
        return Space.of(f, g, norm).least_width(0.0)
    return distance_bound(least_width(on_line(f), on_line(g), slack(f, g)), f, g)


def w_infinity_bounds(f: ExactLaw, g: ExactLaw, norm: float = 1) -> Bound:
    """Return cheap bounds on `w_infinity`: a pair whose upper bound is below another's lower one need not be solved.

    Parameters
    ----------
    f, g : Atoms or Normal
        Two laws of one kind and dimension.
    norm : {1, 2, math.inf}
        Measures how far a vector moves.

    Returns
    -------
    Bound
        From the quantiles on the line, usually tight; in space from projections, with quantile couplings above. The
        cost is that of sorting.

    Raises
    ------
    LawError
        If the laws are not of one kind and dimension.

    Examples
    --------
    >>> from bnpriv.laws import Atoms
    >>> from bnpriv.transport import w_infinity_bounds
    >>> w_infinity_bounds(Atoms([0, 1], [0.5, 0.5]), Atoms([0, 5], [0.4, 0.6])).lower
    5.0
    """
    check_laws(f, g, norm)
    if isinstance(f, Normal) or isinstance(g, Normal):
        return _of_normals(f, g, norm)
    if f.dimension > 1:
        low, high = projected(f, g, norm, slack(f, g).band)
        return Bound(low, up(high, DISTANCE_ULPS), "certified")
    ends = bracket(on_line(f), on_line(g), slack(f, g).band)
    bounds = [distance_bound(end, f, g) for end in ends]
    return Bound(bounds[0].lower, bounds[1].upper, "exact" if ends[0] == ends[1] else "certified")


def check_laws(f: ExactLaw, g: ExactLaw, norm: float) -> None:
    """Refuse laws that cannot be compared, and other norms than 1, 2 and infinity."""
    if norm not in (1, 2, math.inf):
        raise ParameterError("norm must be 1, 2 or math.inf", found=repr(norm), remedy="Pass 1 for Laplace noise.")
    if isinstance(f, Normal) != isinstance(g, Normal) or f.dimension != g.dimension:
        raise LawError(
            "the two laws must be of one kind and dimension",
            found=f"{type(f).__name__} in dimension {f.dimension}, {type(g).__name__} in dimension {g.dimension}",
            remedy="Compare laws of one query's answer.",
        )


def on_line(law: Atoms) -> Line:
    """Return a law of dimension 1 as its positions and log masses."""
    return Line(x=law.support, logs=law.logs)


def distance_bound(width: float, f: Atoms, g: Atoms) -> Bound:
    """Return a difference of two positions with its rounding, which whole numbers do not have."""
    return Bound(width, width) if whole(f, g) else Bound(down(width, 1), up(width, 1))


def length(vector: FloatArray, norm: float) -> Bound:
    """Return the norm of a vector with its rounding."""
    sizes = [abs(float(entry)) for entry in vector]
    value = math.fsum(sizes) if norm == 1 else math.hypot(*sizes) if norm == 2 else max(sizes)
    return Bound(down(value), up(value))


def _of_normals(f: ExactLaw, g: ExactLaw, norm: float) -> Bound:
    """Equal covariances: moving everything by the gap of the means is best. Others: the tails drift apart for ever."""
    assert isinstance(f, Normal)
    assert isinstance(g, Normal)
    return length(g.mean - f.mean, norm) if np.array_equal(f.covariance, g.covariance) else Bound(math.inf, math.inf)
