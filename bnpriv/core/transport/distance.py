"""The infinity-Wasserstein distance of two laws, and (W, delta)-closeness."""

from __future__ import annotations

import math
from weakref import WeakKeyDictionary

import numpy as np

from bnpriv import checks
from bnpriv.bound import Bound, FloatArray, down, up
from bnpriv.core.distributions import Atoms, ExactLaw, Normal
from bnpriv.core.transport.line import Line, bracket, least_close_width, least_width, slack
from bnpriv.core.transport.space import DISTANCE_ULPS, Space, lengths, projected
from bnpriv.errors import LawError, ParameterError

# --------------------------------------------------------------------------------------------------
# The infinity-Wasserstein distance of two laws, and cheap bounds on it.
# --------------------------------------------------------------------------------------------------


def w_infinity(f: ExactLaw, g: ExactLaw, norm: float = 1) -> Bound:
    """The infinity-Wasserstein distance: the least W such that no mass need move by more than W.

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
    >>> from bnpriv.core.transport.distance import w_infinity
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
    """Cheap bounds on `w_infinity`: a pair whose upper bound is below another's lower one need not be solved.

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
    >>> from bnpriv.core.transport.distance import w_infinity_bounds
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
    """Refuse laws that cannot be compared, and norms other than 1, 2 and infinity."""
    if norm not in (1, 2, math.inf):
        raise ParameterError("norm must be 1, 2 or math.inf", found=repr(norm), remedy="Pass 1 for Laplace noise.")
    if isinstance(f, Normal) != isinstance(g, Normal) or f.dimension != g.dimension:
        raise LawError(
            "the two distributions must be of one kind and dimension",
            found=f"{type(f).__name__} in dimension {f.dimension}, {type(g).__name__} in dimension {g.dimension}",
            remedy="Compare distributions of one query's answer.",
        )


_LINES: WeakKeyDictionary[Atoms, Line] = WeakKeyDictionary()


def on_line(law: Atoms) -> Line:
    """A law of dimension 1 as its positions and log masses, kept as long as the law is."""
    if law not in _LINES:
        _LINES[law] = Line(x=law.support, logs=law.logs)
    return _LINES[law]


def distance_bound(width: float, f: Atoms, g: Atoms) -> Bound:
    """A difference of two positions with its rounding, which integers do not have."""
    return Bound(width, width) if f.whole and g.whole else Bound(down(width, 1), up(width, 1))


def length(vector: FloatArray, norm: float) -> Bound:
    """The norm of a vector with its rounding."""
    sizes = [abs(float(entry)) for entry in vector]
    value = math.fsum(sizes) if norm == 1 else math.hypot(*sizes) if norm == 2 else max(sizes)
    return Bound(down(value), up(value))


def _of_normals(f: ExactLaw, g: ExactLaw, norm: float) -> Bound:
    """The distance of normal laws: that of the means for equal covariances, else infinite."""
    assert isinstance(f, Normal)
    assert isinstance(g, Normal)
    return length(g.mean - f.mean, norm) if np.array_equal(f.covariance, g.covariance) else Bound(math.inf, math.inf)


# --------------------------------------------------------------------------------------------------
# Closeness with delta: all but delta of the mass moves at most W.
# --------------------------------------------------------------------------------------------------

QUANTILE = 1e-12
"""Relative margin on normal quantiles and eigenvalues, far above the error of their computation."""


def closeness(f: ExactLaw, g: ExactLaw, delta: float, norm: float = 1) -> Bound:
    """The least W for which two laws are (W, delta)-close: all but `delta` of the mass moves at most W.

    Parameters
    ----------
    f, g : Atoms or Normal
        Two laws of one kind and dimension.
    delta : float
        At least 0, below 1; 0 gives `w_infinity`. The laws' tolerance comes on top, see `tolerance`.
    norm : {1, 2, math.inf}
        Measures how far a vector moves.

    Returns
    -------
    Bound
        In the unit of the atoms; "certified" rather than "exact" for most normal laws.

    Raises
    ------
    LawError
        If the laws are not of one kind and dimension.
    ParameterError
        If delta is out of range.
    SizeError
        If two laws in space have too many pairs of atoms.

    Notes
    -----
    docs/claims/transport.md. Chen, Ohrimenko, "Protecting Global Properties of Datasets with Distribution Privacy
    Mechanisms" (AISTATS 2023), definition 3.2.

    Examples
    --------
    >>> from bnpriv.laws import Atoms
    >>> from bnpriv.core.transport.distance import closeness
    >>> closeness(Atoms([1, 2, 100], [0.6, 0.2, 0.2]), Atoms([1, 2, 3, 100], [0.4, 0.3, 0.2, 0.1]), 0.1)
    Bound(lower=1.0, upper=1.0, kind='exact')
    """
    delta = checks.delta(delta)
    if not delta:
        return w_infinity(f, g, norm)
    check_laws(f, g, norm)
    if isinstance(f, Normal) or isinstance(g, Normal):
        return _closeness_of_normals(f, g, delta, norm)
    if f.dimension > 1:
        return Space.of(f, g, norm).least_width(delta)
    return distance_bound(least_close_width(on_line(f), on_line(g), slack(f, g), delta), f, g)


def bounded_closeness(f: ExactLaw, g: ExactLaw, delta: float, norm: float = 1) -> Bound:
    """A W for which two laws are (W, delta)-close, from how concentrated each is about its mean.

    If each law is within c of its mean except with probability delta / 2, then W is the distance of the means plus 2 c,
    or here plus the sum of the two laws' own c.

    Parameters
    ----------
    f, g : Atoms or Normal
        Two laws of one dimension.
    delta : float
        Above 0, below 1.
    norm : {1, 2, math.inf}
        Measures how far a vector moves.

    Returns
    -------
    Bound
        "certified": `upper` is such a W, not the least.

    Raises
    ------
    LawError
        If the laws are not of one kind and dimension.
    ParameterError
        If delta is out of range.

    Notes
    -----
    docs/claims/transport.md. Chen, Ohrimenko (AISTATS 2023), theorem 3.3.

    Examples
    --------
    >>> from bnpriv.laws import ExactLaw, Normal
    >>> from bnpriv.core.transport.distance import bounded_closeness
    >>> round(float(bounded_closeness(Normal(0, 1), Normal(3, 4), 0.001)), 3)
    13.442
    """
    delta = checks.delta(delta)
    check_laws(f, g, norm)
    if not delta:
        raise ParameterError("bounded closeness needs delta above 0", found="0", remedy="Use w_infinity.")
    gap = float(length(g.mean - f.mean, norm))
    return Bound(0.0, up(gap + _radius(f, delta / 2, norm) + _radius(g, delta / 2, norm)), "certified")


def _radius(law: ExactLaw, delta: float, norm: float) -> float:
    """The radius about its mean that a law leaves with probability at most `delta`, rounded up."""
    if isinstance(law, Normal):
        # the smaller of two radii: from the coordinates one by one, and from the largest eigenvalue
        from scipy.special import chdtri, ndtri

        d = law.dimension
        deviations = np.sqrt(np.diag(law.covariance))
        # a union bound over the d coordinates: each gets delta / d, half of it on either side
        each = float(length(deviations, norm)) * -float(ndtri(delta / (2 * d)))
        top = float(np.max(np.linalg.eigvalsh(law.covariance))) * (1 + d * QUANTILE)
        ball = math.sqrt(max(top, 0.0) * float(chdtri(d, delta))) * (math.sqrt(d) if norm == 1 else 1.0)
        return min(each, ball) * (1 + QUANTILE)
    distances = lengths((law.points - law.mean).T, norm)
    order = np.argsort(-distances)
    # rounded up, so that no tail is taken for smaller than it is
    beyond = np.cumsum(law.probabilities[order]) * (1 + 2 * slack(law, law).rounding)
    spared = int(np.count_nonzero(beyond <= delta))
    return up(float(distances[order[spared]]), 8) if spared < law.size else 0.0


def _closeness_of_normals(f: ExactLaw, g: ExactLaw, delta: float, norm: float) -> Bound:
    """The closeness of normal laws: the best of the gap of the means, part of it, and two radii."""
    assert isinstance(f, Normal)
    assert isinstance(g, Normal)
    gap = length(g.mean - f.mean, norm)
    bounded = bounded_closeness(f, g, delta, norm).upper
    if not np.array_equal(f.covariance, g.covariance):
        return Bound(0.0, min(bounded, _stretched(f, g, delta)), "certified")
    part = _part(f, g, delta)
    low, high = (min(1.0, max(0.0, part + error)) for error in (-QUANTILE, QUANTILE))
    if f.dimension == 1:
        return Bound(down(gap.lower * low), min(gap.upper, up(gap.upper * high)))
    return Bound(0.0, min(bounded, gap.upper, up(gap.upper * high)), "certified")


def _part(f: Normal, g: Normal, delta: float) -> float:
    """The part of the gap to be moved so that the rest is a total variation of delta; may be negative.

    On the line it is exact, otherwise too large, never too small.
    """
    from scipy.special import erfinv

    d = f.dimension
    values = np.linalg.eigvalsh(f.covariance)
    least = float(values[0]) - (d * QUANTILE * float(values[-1]) if d > 1 else 0.0)
    apart = float(length(g.mean - f.mean, 2))
    if not (least > 0 and apart > 0):
        return 1.0
    return 1 - 2 * math.sqrt(2) * float(erfinv(delta)) * math.sqrt(least) / apart


def _stretched(f: Normal, g: Normal, delta: float) -> float:
    """The distance moved, but for delta, when one normal law on the line is stretched into the other."""
    from scipy.special import ndtri

    if f.dimension > 1:
        return math.inf
    spread = abs(math.sqrt(float(f.covariance[0, 0])) - math.sqrt(float(g.covariance[0, 0])))
    # a difference of two roots is rounded relative to their size, which is added
    root = math.sqrt(max(float(f.covariance[0, 0]), float(g.covariance[0, 0])))
    reach = -float(ndtri(delta / 2)) * (spread + QUANTILE * root) * (1 + QUANTILE)
    return up(abs(float(g.mean[0] - f.mean[0])) + reach)
