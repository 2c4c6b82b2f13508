"""Probabilities of intervals under distributions of scipy.stats, as logs with a bound on their error.

A difference of two values of a distribution function loses the relative accuracy of a narrow interval, and rounds that
of a far one to nothing. So three ways are compared by their errors: from below, from above, and by the density, whose
log is concave or convex between known points. There a chord bounds it on one side and the neighbouring chords,
drawn on, bound it on the other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from bnpriv.bound import UNIT_ROUNDOFF, FloatArray

TAIL_ERROR = 1e-13
"""Relative error of a distribution function, per 1 + |its log| and per 1 + a hundredth of its shapes' sum."""

DENSITY_ERROR = 1e-14
"""Relative error of a density, per 1 + |its log| and per 1 + its shapes' sum; unknown for unlisted families."""

UNKNOWN_ERROR = 1e-12
"""Absolute error that is assumed of the distribution function of a family that is not listed."""

UNDERFLOW = -690.0
"""Log tails below this may come from subnormal doubles, unless the family computes its logs directly."""

SMALL_ERROR = 1e-11
"""An error that is good enough: no more accurate way is tried."""

PIECES = (32, 1024)
"""Number of chords that an interval is cut into, at first and on a second try."""

DROP = 60.0
"""Drop of the log density, in nats, beyond which the rest of a tail is bounded by a chord."""

MOST_WHOLE_NUMBERS = 10_000
"""Up to so many whole numbers are summed one by one."""

Shapes = Mapping[str, float]


def _none(_: Shapes) -> tuple[float, ...]:
    return ()


def _beta(shapes: Shapes) -> tuple[float, ...]:
    a, b = shapes["a"] - 1, shapes["b"] - 1
    return (1 / (1 + math.sqrt(-b / a)),) if a * b < 0 else ()


BENDS: Final[Mapping[str, Callable[[Shapes], tuple[float, ...]]]] = {
    "norm": _none,
    "expon": _none,
    "uniform": _none,
    "gamma": _none,
    "chi2": _none,
    "beta": _beta,
    "t": lambda shapes: (-math.sqrt(shapes["df"]), math.sqrt(shapes["df"])),
    "cauchy": lambda _: (-1.0, 1.0),
    "logistic": _none,
    "laplace": lambda _: (0.0,),
    "lognorm": lambda shapes: (math.exp(1 - shapes["s"] ** 2),),
    "gumbel_r": _none,
    "gumbel_l": _none,
    "weibull_min": _none,
    "pareto": _none,
    "halfnorm": _none,
    "rayleigh": _none,
}
"""Families with a density, and where its log changes between concave and convex (location 0, scale 1)."""

DISCRETE = frozenset({"poisson", "binom", "bernoulli", "geom", "nbinom", "randint"})
"""Discrete families whose point probabilities are accurate one by one."""


def is_known(name: str) -> bool:
    """Whether the accuracy of a scipy.stats family was checked in high precision."""
    return name in BENDS or name in DISCRETE


def log_masses(
    distribution: Any, name: str, parameters: Shapes, starts: FloatArray, ends: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Log probabilities of the intervals ``start < X <= end``, with bounds on the errors of the logs.

    Parameters
    ----------
    distribution : frozen distribution of scipy.stats
    name : str
        Its family; any other word for a family of one's own.
    parameters : mapping from str to float
        Shapes, location and, for a family with a density, scale.
    starts, ends : ndarray of shape (intervals,)
        Infinite at the ends of the line.

    Returns
    -------
    logs, errors : ndarray of shape (intervals,)
        ``-inf`` only outside the support; an infinite error where nothing is known.
    """
    low, high = (float(end) for end in distribution.support())
    if distribution.std() == 0:
        low = high = float(distribution.ppf(0.5))
    whole, asked = "scale" not in parameters, (starts, ends)
    if whole:
        first, last = np.maximum(np.floor(starts) + 1, low), np.minimum(np.floor(ends), high)
        empty = first > last
    else:
        starts, ends = np.maximum(starts, low), np.minimum(ends, high)
        first, last, empty = starts, ends, starts >= ends
    edges = _Edges(parameters, low, high, known=name in BENDS)
    logs, errors = _by_tails(distribution, name, edges, starts, ends)
    logs[empty], errors[empty] = -math.inf, 0.0
    unsure = edges.unsure(asked[0]) | edges.unsure(asked[1])
    errors[unsure] = math.inf
    # written as "not small" so that NaN errors are retried as well
    for k in np.flatnonzero(~(errors <= SMALL_ERROR) & ~unsure):
        found: tuple[float, float] | None = None
        if whole and name in DISCRETE:
            found = _by_numbers(distribution, parameters, float(first[k]), float(last[k]))
        elif name in BENDS:
            found = _by_density(distribution, name, edges, float(starts[k]), float(ends[k]))
        if found is not None and found[1] < errors[k]:
            logs[k], errors[k] = found
    return logs, errors


@dataclass(frozen=True)
class _Edges:
    """The finite ends of a support, near which the rounding of (x - loc) / scale matters.

    Parameters
    ----------
    parameters : mapping from str to float
    low, high : float
        The ends of the support, as doubles.
    known : bool
        Whether an end that is not the location lies one scale above it; otherwise nobody knows how it was rounded.
    """

    parameters: Shapes
    low: float
    high: float
    known: bool

    def unsure(self, x: FloatArray) -> NDArray[np.bool_]:
        """Points so close to a lower end which is not a double that they may lie on either side of it."""
        moved = 0.0 if self._at_location(self.low) else self._moved(self.low)
        return np.abs(x - self.low) <= moved + math.ulp(self.low) if moved else np.zeros(x.shape, dtype=bool)

    def standardized(self, x: FloatArray, edge: float) -> FloatArray:
        """Relative error of the distance from an edge to `x` due to rounding `x` in standard units."""
        if self._at_location(edge):
            return np.zeros_like(x)
        return self._per_distance(8 * UNIT_ROUNDOFF * np.abs(x - self.parameters["loc"]) + self._moved(edge), x, edge)

    def moved(self, x: FloatArray, edge: float) -> FloatArray:
        """Relative error of the distance from an edge to `x` due to rounding the edge itself."""
        return np.zeros_like(x) if self._at_location(edge) else self._per_distance(self._moved(edge), x, edge)

    def _at_location(self, edge: float) -> bool:
        return "scale" not in self.parameters or math.isinf(edge) or edge == self.parameters["loc"]

    def _moved(self, edge: float) -> float:
        """The distance between the true edge and the double that stands for it."""
        if not self.known:
            return 4 * math.ulp(max(abs(self.parameters["loc"]), self.parameters["scale"], abs(edge)))
        exact = Fraction(self.parameters["loc"]) + Fraction(self.parameters["scale"])
        return float(abs(exact - Fraction(edge)))

    def _per_distance(self, moved: Any, x: FloatArray, edge: float) -> FloatArray:
        with np.errstate(all="ignore"):
            share = (1 + _size(self.parameters)) * moved / np.abs(x - edge)
        # at an edge and beyond it probabilities are 0 or 1, whatever is rounded
        return np.where((x > self.low) & (x < self.high), share, 0.0)


def _by_tails(
    distribution: Any, name: str, edges: _Edges, starts: FloatArray, ends: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Interval probabilities as differences of lower tails, or of upper tails, whichever loses less."""
    # the support ends at the double that stands for its edge, even where the distribution function does not
    starts, ends = np.where(starts <= edges.low, -math.inf, starts), np.where(ends >= edges.high, math.inf, ends)
    both = distribution.logcdf, distribution.logsf
    lower, upper = ([_tails(tail, name, edges.parameters, x) for x in (starts, ends)] for tail in both)
    for k, x in enumerate((starts, ends)):
        lower[k], upper[k] = _near_edges(edges, x, lower[k], upper[k])
    below, above = _subtracted(lower[1], lower[0]), _subtracted(upper[0], upper[1])
    better = above[1] < below[1]
    return np.where(better, above[0], below[0]), np.where(better, above[1], below[1])


def _near_edges(
    edges: _Edges, x: FloatArray, lower: tuple[FloatArray, FloatArray], upper: tuple[FloatArray, FloatArray]
) -> tuple[tuple[FloatArray, FloatArray], tuple[FloatArray, FloatArray]]:
    """Add to both tails' errors what rounding near the edges does to the smaller tail, and thereby to the other."""
    from_low, from_high = edges.standardized(x, edges.low), edges.standardized(x, edges.high)
    with np.errstate(all="ignore"):
        ratio = np.exp(upper[0] - lower[0])
        below = lower[1] + from_low + np.where(from_high > 0, ratio * from_high, 0.0)
        above = upper[1] + from_high + np.where(from_low > 0, from_low / ratio, 0.0)
    return (lower[0], np.where(np.isnan(below), math.inf, below)), (
        upper[0],
        np.where(np.isnan(above), math.inf, above),
    )


def _tails(
    log_tail: Callable[[FloatArray], Any], name: str, parameters: Shapes, x: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """The logs of tail probabilities, with error bounds."""
    with np.errstate(all="ignore"):
        logs = np.minimum(np.asarray(log_tail(at_numbers(x, parameters)), dtype=np.float64), 0.0)
        if is_known(name):
            errors = TAIL_ERROR * (1 + 0.01 * _size(parameters)) * (1 - np.where(np.isfinite(logs), logs, 0.0))
        else:
            errors = UNKNOWN_ERROR * np.exp(-logs)
    # outside the support a tail of 0 is certain; inside it, a tail of 0 or almost 0 is an underflow
    lost = (logs < UNDERFLOW) & np.isfinite(x) & (name != "norm")
    return logs, np.where(lost | np.isnan(logs), math.inf, errors)


def at_numbers(x: FloatArray, parameters: Shapes) -> FloatArray:
    """Where a tail is evaluated: for a discrete family at whole numbers, since hypergeom errs between them."""
    return x if "scale" in parameters else np.floor(x)


def _subtracted(
    larger: tuple[FloatArray, FloatArray], smaller: tuple[FloatArray, FloatArray]
) -> tuple[FloatArray, FloatArray]:
    """The log of a difference of tails, with an error bound."""
    with np.errstate(all="ignore"):
        gap = np.minimum(smaller[0] - larger[0], 0.0)
        rest = -np.expm1(gap)
        # a smaller tail that has underflowed takes next to nothing from a larger one that is not tiny
        known, nothing = (
            np.exp(gap) * smaller[1],
            np.where(larger[0] > UNDERFLOW / 2, math.exp(UNDERFLOW / 2), math.inf),
        )
        errors = (larger[1] + np.where(np.isinf(smaller[1]), nothing, known)) / rest
        logs = larger[0] + np.log(rest)
    some = np.isfinite(logs) & (errors < 0.5)
    # a relative error r of the difference moves its log by at most -log(1 - r), in either direction
    return logs, np.where(some, -np.log1p(-np.where(some, errors, 0.0)), math.inf)


def _size(parameters: Shapes) -> float:
    """Bound on the steepness of a family per unit of its standardized variable, from its shape parameters."""
    shapes = (abs(value) for key, value in parameters.items() if key not in ("loc", "scale"))
    return sum(shapes) + (1 / parameters["s"] if "s" in parameters else 0.0)


def _by_numbers(distribution: Any, parameters: Shapes, first: float, last: float) -> tuple[float, float] | None:
    """Sum the probabilities of single whole numbers."""
    if not last - first < MOST_WHOLE_NUMBERS:
        return None
    logs = np.asarray(distribution.logpmf(np.arange(first, last + 1)), dtype=np.float64)
    if not np.all(np.isfinite(logs)):
        return None
    size = max(float(np.max(np.abs(logs))), _size(parameters), abs(first), abs(last))
    return float(np.logaddexp.reduce(logs)), DENSITY_ERROR * (1 + size) * (1 + 0.1 * math.log1p(size)) + 1e-15 * len(
        logs
    )


def _by_density(distribution: Any, name: str, edges: _Edges, start: float, end: float) -> tuple[float, float] | None:
    """Integrate a density by bounds on its log; an infinite interval is cut where the rest can be bounded."""
    parameters = edges.parameters
    cut = [parameters["loc"] + parameters["scale"] * bend for bend in BENDS[name](parameters)]
    ends = [start, *(bend for bend in sorted(cut) if start < bend < end), end]
    parts: list[tuple[float, float]] = []
    for low, high in pairwise(ends):
        found = _between(distribution, parameters, low, high)
        if found is None:
            return None
        parts.append(found)
    logs = np.array([log for log, _ in parts])
    both = np.array([start, end])
    off = max(float(np.max(edges.moved(both, edge))) for edge in (edges.low, edges.high))
    if name == "beta":  # whose density has a power of the distance from the upper edge
        off = max(off, float(np.max(edges.standardized(both, edges.high))))
    return float(np.logaddexp.reduce(logs)), max(error for _, error in parts) + 1e-15 * len(parts) + off


def _between(distribution: Any, parameters: Shapes, low: float, high: float) -> tuple[float, float] | None:
    """Integrate over an interval on which the log density is concave throughout or convex throughout."""
    beyond = -math.inf
    if math.isinf(low) or math.isinf(high):
        reached = _reach(distribution, parameters["scale"], low, high)
        if reached is None:
            return None
        low, high, beyond = reached
    best: tuple[float, float] | None = None
    for pieces in PIECES:
        found = _chords(distribution, parameters, np.unique(np.linspace(low, high, pieces + 1)))
        if found is not None and (best is None or found[1] < best[1]):
            best = found
        if best is not None and best[1] <= SMALL_ERROR:
            break
    return None if best is None else (best[0], best[1] + math.exp(min(beyond - best[0], 0.0)))


def _chords(distribution: Any, parameters: Shapes, nodes: FloatArray) -> tuple[float, float] | None:
    """Integrate the chords of a log density (a bound on one side) and the neighbours' chords (the other side)."""
    outside = 0
    if len(nodes) == 2:
        nodes, outside = np.append(nodes, nodes[1] + (nodes[1] - nodes[0])), 1
    logs = np.asarray(distribution.logpdf(nodes), dtype=np.float64)
    if not np.all(np.isfinite(logs)):
        return None
    widths = np.diff(nodes)
    rises = np.diff(logs)
    chords = np.log(widths) + logs[:-1] + _log_mean(rises)
    slopes = rises / widths
    from_left = np.append(math.inf, np.log(widths[1:]) + logs[1:-1] + _log_mean(slopes[:-1] * widths[1:]))
    from_right = np.append(np.log(widths[:-1]) + logs[1:-1] + _log_mean(-slopes[1:] * widths[:-1]), math.inf)
    left_is_near = np.abs(from_left - chords) < np.abs(from_right - chords)
    # where the log density is concave its chord is below and the neighbours' above, where convex the reverse
    others = np.where(left_is_near, from_left, from_right)
    inside = slice(0, len(chords) - outside)
    total, other = (float(np.logaddexp.reduce(each[inside])) for each in (chords, others))
    # log densities at both ends of a piece and of its neighbour, each with its own error
    error = 4 * DENSITY_ERROR * (1 + _size(parameters)) * (1 + float(np.max(np.abs(logs))))
    return total, abs(total - other) + error + 1e-15 * len(nodes)


def _log_mean(rise: FloatArray) -> FloatArray:
    """The log of the mean of exp(t rise) over t from 0 to 1."""
    size = np.where(rise == 0, 1.0, np.abs(rise))
    return np.where(rise == 0, 0.0, np.maximum(rise, 0.0) + np.log(-np.expm1(-size) / size))


def _reach(distribution: Any, scale: float, low: float, high: float) -> tuple[float, float, float] | None:
    """Finite ends of an infinite tail, and the log of a bound on the rest, where the log density is concave."""
    if math.isinf(low) and math.isinf(high):
        return None
    near, way = (low, 1.0) if math.isinf(high) else (high, -1.0)
    for k in range(-20, 60):
        reach = scale * 2.0**k
        top, middle, far, past = (float(distribution.logpdf(near + way * step * reach)) for step in (0, 0.5, 1, 2))
        if top - far > DROP:
            slope = 2 * (middle - far) / reach
            # beyond this point a concave log density falls at least as fast as along the last chord
            concave = slope > 0 and far - past >= slope * reach * (1 - 1e-9)
            low, high = sorted((near, near + way * reach))
            return (low, high, far - math.log(slope)) if concave else None
    return None
