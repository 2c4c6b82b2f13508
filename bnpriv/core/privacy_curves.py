"""Privacy curves of Laplace noise: on the line, in space, and for a normal answer."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from bnpriv.bound import UNIT_ROUNDOFF, FloatArray, IntArray, halved
from bnpriv.core.distributions import Atoms, log_sum, log_sum_exp, magnitude
from bnpriv.core.gaussian_curve import NORMAL_LOG_ERROR, gaussian_delta
from bnpriv.errors import SizeError

# --------------------------------------------------------------------------------------------------
# The privacy curve of Laplace noise on two laws with finitely many atoms on the line.
#
# Between neighbouring atoms both output densities are of the form A exp(w/b) + B exp(-w/b), so that their ratio is
# monotone there and constant beyond the ends: the largest log ratio is reached at an atom, and the difference p -
# exp(eps) q changes sign at most once between neighbours.
# --------------------------------------------------------------------------------------------------

SPAN = 64.0
"""Atoms further apart than this many scales are summed in separate blocks, to keep rounding errors small."""

MOST_TOGETHER = 2**18
"""Log masses that are smoothed at once: their copies stay small."""


@dataclass(frozen=True, eq=False)
class LaplacePair:
    """Two laws on the line over the union of their atoms.

    Parameters
    ----------
    atoms : ndarray of shape (K,)
        Strictly increasing.
    first, second : ndarray of shape (K,)
        Log masses, -inf where a law has none.
    error : float
        Largest absolute error of a log mass.
    """

    atoms: FloatArray
    first: FloatArray
    second: FloatArray
    error: float

    @classmethod
    def of(cls, f: Atoms, g: Atoms) -> LaplacePair:
        """Put two laws of dimension 1 on one support."""
        if np.array_equal(f.support, g.support):
            return cls(f.support, f.logs, g.logs, max(f.error, g.error))
        atoms = np.union1d(f.support, g.support)
        logs = [np.full(atoms.shape, -np.inf), np.full(atoms.shape, -np.inf)]
        for law, values in zip((f, g), logs, strict=True):
            values[np.searchsorted(atoms, law.support)] = law.logs
        return cls(atoms, logs[0], logs[1], max(f.error, g.error))

    def epsilon(self, scale: float) -> float:
        """The pure privacy loss: the largest absolute log ratio of the two output densities, rounded up.

        Parameters
        ----------
        scale : float
            Scale of the Laplace noise; 0 for none.

        Returns
        -------
        float
            In nats; infinite without noise where one law alone has an atom.
        """
        losses, error = self.losses(scale)
        return float(np.max(np.abs(losses))) + error

    def losses(self, scale: float) -> tuple[FloatArray, float]:
        """The log ratio of the two output densities at every atom, and a bound on its error.

        Parameters
        ----------
        scale : float
            Scale of the Laplace noise; 0 for none.
        """
        if scale == 0:
            with np.errstate(invalid="ignore"):
                return self.first - self.second, 2 * self.error + UNIT_ROUNDOFF * max(
                    magnitude(self.first), magnitude(self.second)
                )
        (p, q), lost = _smoothed(self.atoms, np.stack([self.first, self.second]), scale)
        return p - q, 2 * self.error + float(lost[0] + lost[1])

    def delta(self, scale: float, epsilon: float) -> float:
        """The hockey-stick divergence at `epsilon`, the larger of the two directions, rounded up.

        Parameters
        ----------
        scale : float
            Scale of the Laplace noise; 0 for none.
        epsilon : float
            At least 0.

        Returns
        -------
        float
            The least delta for which both directions are (epsilon, delta)-private.
        """
        p, q = np.exp(self.first), np.exp(self.second)
        ratio = math.exp(epsilon)
        worst = max(_excess(self.atoms, p - ratio * q, scale), _excess(self.atoms, q - ratio * p, scale))
        # every mass carries a relative error; each of the sums over atoms rounds once per atom, and each term once more
        # for its distance, of at most SPAN scales in a stretch
        rounding = 8 * UNIT_ROUNDOFF * (self.atoms.size + 2 * SPAN + 64)
        return worst + (1 + ratio) * (math.expm1(self.error) + rounding)


def largest_losses(pairs: Sequence[LaplacePair]) -> Callable[[float], FloatArray]:
    """The losses `LaplacePair.epsilon` of many pairs, by the scale of the noise, which is above 0.

    Where all pairs have the same atoms each law is smoothed once, and all of them together.
    """
    atoms = pairs[0].atoms
    if not all(np.array_equal(pair.atoms, atoms) for pair in pairs):
        return lambda scale: np.array([pair.epsilon(scale) for pair in pairs])
    laws: list[FloatArray] = [logs for pair in pairs for logs in (pair.first, pair.second)]
    _, chosen, places = np.unique(list(map(id, laws)), return_index=True, return_inverse=True)
    stacked: list[FloatArray] = [laws[int(k)] for k in chosen]
    blocks: list[FloatArray] = np.array_split(np.stack(stacked), -(-len(chosen) * len(atoms) // MOST_TOGETHER))

    def losses(scale: float) -> FloatArray:
        found = [_smoothed(atoms, block, scale) for block in blocks]
        smoothed, lost = (np.concatenate(parts) for parts in zip(*found, strict=True))
        ratios = [np.max(np.abs(smoothed[p] - smoothed[q])) for p, q in places.reshape(-1, 2)]
        return np.array(ratios) + [2 * pair.error for pair in pairs] + lost[places[::2]] + lost[places[1::2]]

    return losses


def _smoothed(atoms: FloatArray, logs: FloatArray, scale: float) -> tuple[FloatArray, FloatArray]:
    """The log density sum log sum_j exp(logs_j - |w - x_j| / scale) at every atom w, with an error bound.

    Log masses, here and below, have the atoms along the last axis; a law each row.
    """
    beyond = np.full_like(logs, -np.inf)
    beyond[..., :-1] = from_right(atoms, logs, scale)[..., 1:] - (atoms[1:] - atoms[:-1]) / scale
    return np.logaddexp(from_left(atoms, logs, scale), beyond), smoothing_error(atoms, logs, scale)


def smoothing_error(atoms: FloatArray, logs: FloatArray, scale: float) -> FloatArray:
    """A bound on the error of `from_left` and `from_right`, for each law.

    Each step rounds a number of a known size once, and a partial sum keeps at most the error of the sums before it.
    """
    size = np.max(np.abs(logs), axis=-1, where=np.isfinite(logs), initial=0.0)
    most = max(end - start for start, end in _stretches(atoms, scale))
    stretches = int(min(atoms.size, (atoms[-1] - atoms[0]) // (SPAN * scale) + 1))
    steps = min(atoms.size, most) + 3.0 * stretches
    return UNIT_ROUNDOFF * (steps + 8) * (size + SPAN + 8)


def from_right(atoms: FloatArray, logs: FloatArray, scale: float) -> FloatArray:
    """The values log sum over x_j >= w of exp(logs_j - (x_j - w) / scale) at every atom w."""
    return from_left(-atoms[::-1], logs[..., ::-1], scale)[..., ::-1]


def from_left(atoms: FloatArray, logs: FloatArray, scale: float) -> FloatArray:
    """The values log sum over x_j <= w of exp(logs_j - (w - x_j) / scale) at every atom w.

    Parameters
    ----------
    atoms : ndarray of shape (K,)
        Strictly increasing.
    logs : ndarray of shape (..., K)
        Log masses.
    scale : float
        Above 0.
    """
    result = np.empty_like(logs)
    carried, at = np.full(logs.shape[:-1], -math.inf), atoms[0]
    for start, end in _stretches(atoms, scale):
        rise = (atoms[start:end] - atoms[start]) / scale
        block = logs[..., start:end] + rise
        block[..., 0] = np.logaddexp(block[..., 0], carried - (atoms[start] - at) / scale)
        result[..., start:end] = np.logaddexp.accumulate(block, axis=-1) - rise
        carried, at = result[..., end - 1], atoms[end - 1]
    return result


def _excess(atoms: FloatArray, masses: FloatArray, scale: float) -> float:
    """The integral of the positive part of a signed measure after Laplace noise."""
    if scale == 0:
        return float(np.sum(np.maximum(masses, 0.0)))
    left = _signed_from_left(atoms, masses, scale)
    right = _signed_from_left(-atoms[::-1], masses[::-1], scale)[::-1]
    # beyond the outermost atoms the density is one exponential, whose integral is half of its sum
    tails = 0.5 * (max(right[0], 0.0) + max(left[-1], 0.0))
    a, b, gaps = left[:-1], right[1:], np.diff(atoms) / scale
    return tails + float(np.sum(_between(a, b, gaps)))


def _signed_from_left(atoms: FloatArray, masses: FloatArray, scale: float) -> FloatArray:
    """The sum over x_j <= w of masses_j exp(-(w - x_j) / scale) at every atom w."""
    result = np.empty_like(masses)
    carried, at = 0.0, atoms[0]
    for start, end in _stretches(atoms, scale):
        rise = np.exp((atoms[start:end] - atoms[start]) / scale)
        block = masses[start:end] * rise
        block[0] += carried * math.exp(-(atoms[start] - at) / scale)
        result[start:end] = np.cumsum(block) / rise
        carried, at = float(result[end - 1]), atoms[end - 1]
    return result


def _stretches(atoms: FloatArray, scale: float) -> list[tuple[int, int]]:
    """Cut the atoms into stretches of at most SPAN scales."""
    if atoms[-1] - atoms[0] < SPAN * scale:
        return [(0, atoms.size)]
    place = np.floor((atoms - atoms[0]) / (SPAN * scale))
    ends = [*(np.flatnonzero(place[1:] != place[:-1]) + 1).tolist(), atoms.size]
    return list(zip([0, *ends[:-1]], ends, strict=True))


def _between(a: FloatArray, b: FloatArray, gaps: FloatArray) -> FloatArray:
    """Integrate the positive part of (a exp(-s) + b exp(s - gap)) / 2 over s from 0 to each gap."""

    def integral(low: FloatArray, high: FloatArray) -> FloatArray:
        return 0.5 * (a * (np.exp(-low) - np.exp(-high)) + b * (np.exp(high - gaps) - np.exp(low - gaps)))

    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        # a exp(-s) = -b exp(s - gap) at exp(2 s) = -a / b * exp(gap)
        change = 0.5 * (np.log(-a / b) + gaps)
    change = np.where((a * b < 0) & np.isfinite(change), np.clip(change, 0.0, gaps), 0.0)
    before, after = integral(np.zeros_like(gaps), change), integral(change, gaps)
    # the sign changes at most once, so that each side has one sign throughout
    return np.maximum(before, 0.0) + np.maximum(after, 0.0)


# --------------------------------------------------------------------------------------------------
# The privacy curve of independent Laplace noise on two laws with finitely many atoms in space.
#
# With all other coordinates fixed the log ratio is monotone between neighbouring values of one coordinate, so that
# the largest one is reached on the grid of the atoms' coordinates.
# --------------------------------------------------------------------------------------------------

MOST_PRODUCT_CELLS = 2**24
"""The most products of grid points and atoms."""


def product_laplace_epsilon(f: Atoms, g: Atoms, scale: float) -> float:
    """The largest absolute log ratio of the two output densities over all of space, rounded up.

    Parameters
    ----------
    f, g : Atoms
        Of one dimension d.
    scale : float
        Scale of the Laplace noise on every coordinate, above 0.

    Returns
    -------
    float
        In nats.

    Raises
    ------
    SizeError
        If the grid has too many points; found out before it is made. Laws on the origin and the unit vectors, such as
        one record's histogram, need no grid.

    Examples
    --------
    >>> f, g = Atoms([[1, 0], [0, 1]], [0.5, 0.5]), Atoms([[1, 0], [0, 1]], [0.6, 0.4])
    >>> 0 < product_laplace_epsilon(f, g, 2.0) < product_laplace_epsilon(f, g, 1.0) < math.log(0.5 / 0.4)
    True
    """
    points, found = common_logs([f, g])
    logs = np.stack(found)
    if _is_simplex(points):
        ratio = _largest_on_simplex(points, logs, scale)
    else:
        ratio = _largest_on_grid(points, logs, scale)
    size = magnitude(logs) + float(np.ptp(points, axis=0).sum()) / scale
    return ratio + 2 * max(f.error, g.error) + UNIT_ROUNDOFF * (8 * size + 8 * len(points) + 64)


def common_logs(laws: Sequence[Atoms]) -> tuple[FloatArray, list[FloatArray]]:
    """All atoms of laws of one dimension, of shape (K, d), and the log masses of each law on them.

    Examples
    --------
    >>> atoms, logs = common_logs([Atoms([0, 1], [0.5, 0.5]), Atoms([1, 2], [0.5, 0.5])])
    >>> atoms[:, 0].tolist(), [bool(value > -math.inf) for value in logs[0]]
    ([0.0, 1.0, 2.0], [True, True, False])
    """
    atoms, places = np.unique(np.concatenate([law.points for law in laws]), axis=0, return_inverse=True)
    found: list[FloatArray] = []
    start = 0
    for law in laws:
        logs = np.full(len(atoms), -math.inf)
        logs[places.ravel()[start : start + law.size]] = law.logs
        found.append(logs)
        start += law.size
    return atoms, found


def _is_simplex(points: FloatArray) -> bool:
    """Whether all points are the origin or unit vectors times one common length."""
    return bool(np.all(np.count_nonzero(points, axis=1) <= 1) and np.unique(points[points != 0]).size <= 1)


def _largest_on_simplex(points: FloatArray, logs: FloatArray, scale: float) -> float:
    """The largest log ratio over corners w of the grid: some coordinates at their atom, the others at 0.

    Up to a factor that both densities share, an atom on a chosen coordinate counts r, one on another coordinate 1/r,
    the origin 1, with r = exp(length / scale). The ratio of two such sums is largest for a set of the atoms with the
    largest mass ratios.
    """
    length = float(np.max(np.abs(points)))
    on_axis: list[bool] = np.any(points != 0, axis=1).tolist()
    rise = length / scale
    weight = np.where(on_axis, -rise, 0.0)
    worst = 0.0
    ways: list[tuple[FloatArray, FloatArray]] = [(logs[0], logs[1]), (logs[1], logs[0])]
    for first, second in ways:
        with np.errstate(invalid="ignore"):
            ratio = np.where(np.isneginf(first), -np.inf, first - second)
        ranked: list[int] = np.argsort(-ratio, kind="stable").tolist()
        order = [k for k in ranked if on_axis[k]]
        chosen = weight.copy()
        for k in [None, *order]:
            if k is not None:
                chosen[k] = rise
            worst = max(worst, float(log_sum_exp(first + chosen, 0) - log_sum_exp(second + chosen, 0)))
    return worst


def grid_size(f: Atoms, g: Atoms) -> int:
    """The number of grid points times atoms for the curve of two laws; 0 where no grid is needed."""
    points = np.unique(np.concatenate([f.points, g.points]), axis=0)
    return 0 if _is_simplex(points) else _size_in_space(points)


def _size_in_space(points: FloatArray) -> int:
    return math.prod(len(np.unique(points[:, axis])) for axis in range(points.shape[1])) * len(points)


def _largest_on_grid(points: FloatArray, logs: FloatArray, scale: float) -> float:
    values = [np.unique(points[:, axis]) for axis in range(points.shape[1])]
    size = _size_in_space(points)
    if size > MOST_PRODUCT_CELLS:
        raise SizeError(
            f"the grid of an answer may have at most {MOST_PRODUCT_CELLS:,} points times atoms",
            found=f"{size:,} in dimension {points.shape[1]}",
            remedy="Ask for fewer numbers at once, or use WassersteinMechanism.",
        )
    away = [np.abs(column[:, None] - points[None, :, axis]) / scale for axis, column in enumerate(values)]
    total = reduce(lambda left, right: (left[:, None, :] + right[None, :, :]).reshape(-1, len(points)), away)
    smoothed = [log_sum_exp(law[None, :] - total, 1) for law in logs]
    return float(np.max(np.abs(smoothed[0] - smoothed[1])))


# --------------------------------------------------------------------------------------------------
# The privacy curve of a normal answer with Laplace noise: two such laws of one variance, a gap apart.
# --------------------------------------------------------------------------------------------------

MOST_DEVIATIONS = 2.0**20
"""An answer with a deviation of more scales than this is treated as if it had no noise."""

MOST_HALVINGS = 400
"""The most halvings and doublings in the search for the threshold."""


def normal_with_laplace_delta(gap: float, deviation: float, scale: float, epsilon: float) -> float:
    """The hockey-stick divergence of two normal answers with Laplace noise, rounded up.

    Parameters
    ----------
    gap : float
        Distance of the two means, at least 0.
    deviation : float
        Standard deviation of both answers, at least 0.
    scale : float
        Of the noise, at least 0.
    epsilon : float
        At least 0.

    Returns
    -------
    float
        The same in both directions.

    Notes
    -----
    docs/claims/normal_records.md. The density of the sum is log-concave, so the ratio of the two densities grows with
    the answer w, and the worst event is w > t with ratio exp(epsilon) at t.

    Examples
    --------
    >>> round(normal_with_laplace_delta(1.0, 1.0, 1.0, 0.5), 6)
    0.090015
    """
    if gap == 0:
        return 0.0
    bare = gaussian_delta(gap / deviation, epsilon) if deviation > 0 else 1.0
    if deviation >= MOST_DEVIATIONS * scale:
        return bare  # which noise only lowers
    # the Laplace noise alone keeps the gap within epsilon
    if epsilon >= gap / scale:
        return 0.0
    if deviation == 0:
        return -math.expm1((epsilon - gap / scale) / 2) * (1 + 2.0**-50)
    curve = _Sum(deviation, scale)
    at, error = _threshold(curve, gap, epsilon)
    above = curve.above(at - gap, up=True)
    if math.isinf(epsilon):
        return above
    below = math.exp(epsilon) * (1 - 2.0**-50) * curve.above(at, up=False)
    return min(bare, max(0.0, above * (1 + 8 * error) - below))


class _Sum:
    """The law of a centred normal number plus an independent Laplace number."""

    def __init__(self, deviation: float, scale: float) -> None:
        self.deviation, self.scale = deviation, scale
        self.ratio = deviation / scale

    def log_density(self, t: float) -> tuple[float, float]:
        """The log of the density up to a constant, and a bound on its error."""
        from scipy.special import log_ndtr

        z, w = t / self.deviation, t / self.scale
        logs = float(log_ndtr(z - self.ratio)) - w, float(log_ndtr(-z - self.ratio)) + w
        top = max(logs)
        size = abs(w) + max(abs(logs[0] + w), abs(logs[1] - w) if math.isfinite(logs[1]) else 0.0)
        return top + math.log1p(math.exp(min(logs) - top)), NORMAL_LOG_ERROR * (2 + 2 * size)

    def above(self, t: float, *, up: bool) -> float:
        """The probability of more than t, rounded up or down."""
        if t < 0:
            return 1.0 - self.above(-t, up=not up) * (1 - 2.0**-52 if up else 1 + 2.0**-52)
        from scipy.special import log_ndtr

        z, w, tilt = t / self.deviation, t / self.scale, self.ratio**2 / 2
        own = _exp(float(log_ndtr(-z)), 0.0, 0.0, up=up)
        near = _exp(float(log_ndtr(z - self.ratio)), tilt, -w, up=up) / 2
        far = _exp(float(log_ndtr(-z - self.ratio)), tilt, w, up=not up) / 2
        return min(1.0, max(0.0, own + near - far))


def _exp(log: float, tilt: float, shift: float, *, up: bool) -> float:
    """The exponential of log + tilt + shift, rounded up or down by all that it and later sums can err."""
    if math.isinf(log):
        return 0.0
    error = 2 * NORMAL_LOG_ERROR * (1 + abs(log) + abs(tilt) + abs(shift))
    found = math.exp(min(log + tilt + shift, 700.0))
    return found * (1 + error) if up else found * max(0.0, 1 - error)


def _threshold(curve: _Sum, gap: float, epsilon: float) -> tuple[float, float]:
    """The point where the density ratio is exp(epsilon), and how far the log ratio may be off there."""
    low, high = gap / 2, gap + curve.scale
    for _ in range(MOST_HALVINGS):
        if curve.log_density(high - gap)[0] - curve.log_density(high)[0] >= epsilon or high > 1e6 * curve.scale:
            break
        low, high = high, 2 * high

    def holds(at: float) -> bool:
        return not curve.log_density(at - gap)[0] - curve.log_density(at)[0] < epsilon

    low, _ = halved(low, high, holds, MOST_HALVINGS)
    first, second = curve.log_density(low - gap), curve.log_density(low)
    return low, first[1] + second[1] + abs(first[0] - second[0] - epsilon)


# --------------------------------------------------------------------------------------------------
# The privacy curve of Gaussian noise on two laws with finitely many atoms on the line, bounded from above.
# --------------------------------------------------------------------------------------------------

COARSE_STEPS = 20
"""Cells per standard deviation of the coarsest grid."""

FINER_STEPS, TIMES_FINER = 5, 2
"""A cell in which the sign may change is cut into so many, so many times."""

STEPS_PER_DEVIATION = COARSE_STEPS * FINER_STEPS**TIMES_FINER
"""Cells per standard deviation of the finest grid."""

MIXTURE_REACH = 12.0
"""Standard deviations beyond the outer atoms; mass further out is counted in full."""

MOST_MIXTURE_TERMS = 2**25
"""The most products of finest-grid points and atoms."""

MIXTURE_TERMS_AT_ONCE = 2**20

TAIL_STEPS = 32
"""Cells per standard deviation of the grid on which logs are compared."""

TAIL_MARGIN = 1.0
"""Standard deviations added to those whose tail probability is the budget."""

TAIL_BUDGET = 1e-9
"""Below this delta, over 1 + exp(epsilon), the rounding of a difference of two densities begins to matter."""

LARGEST_BEND = 0.48395
"""The largest integral of the second derivative of the normal density over a set: 2 phi(1), rounded up."""


@dataclass(frozen=True, eq=False)
class NormalMixture:
    """A mixture of normal laws of one variance on the line.

    Parameters
    ----------
    means : ndarray of shape (k,)
    logs : ndarray of shape (k,)
        Logs of the masses.
    variance : float
        Above 0.
    """

    means: FloatArray
    logs: FloatArray
    variance: float

    def log_density(self, w: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The log of the density at some points, and the posterior mean of the component's mean there."""
        exponents = self.logs - (w[:, None] - self.means) ** 2 / (2 * self.variance)
        top = exponents.max(axis=1, keepdims=True)
        weights = np.exp(exponents - top)
        total = weights.sum(axis=1)
        logs = top[:, 0] + np.log(total) - math.log(2 * math.pi * self.variance) / 2
        return logs, weights @ self.means / total

    def mass(self, low: FloatArray, high: FloatArray) -> FloatArray:
        """The mass of some cells."""
        from scipy.special import ndtr

        deviation = math.sqrt(self.variance)
        below, above = ((ends[:, None] - self.means) / deviation for ends in (low, high))
        # in the upper half complements are used: they are accurate where masses are small
        upper = below + above > 0
        below, above = np.where(upper, -above, below), np.where(upper, -below, above)
        return (np.asarray(ndtr(above)) - np.asarray(ndtr(below))) @ np.exp(self.logs)


def too_many_atoms(atoms: int) -> bool:
    """Whether the curve of laws with so many atoms is too expensive at every scale."""
    return math.ceil((2 * MIXTURE_REACH + 1) * STEPS_PER_DEVIATION) * atoms > MOST_MIXTURE_TERMS


def lost_to_rounding(ratio: float) -> float:
    """The least that `gaussian_mixture_delta` adds for rounding, at exp(epsilon) = `ratio`."""
    return (1 + ratio) * UNIT_ROUNDOFF * 64 * 9


def gaussian_mixture_delta(f: Atoms, g: Atoms, scale: float, epsilon: float) -> float:
    """An upper bound on the hockey-stick divergence, the larger of the two directions.

    Parameters
    ----------
    f, g : Atoms
        On the line.
    scale : float
        Standard deviation of the noise, above 0.
    epsilon : float
        At least 0.

    Returns
    -------
    float
        A delta for which both directions are (epsilon, delta)-private.

    Raises
    ------
    SizeError
        If the laws have too many atoms, or atoms too far apart for the scale.

    Examples
    --------
    >>> from bnpriv.core.gaussian_curve import gaussian_delta
    >>> found = gaussian_mixture_delta(Atoms([0.0], [1.0]), Atoms([1.0], [1.0]), 1.0, 1.0)
    >>> exact = gaussian_delta(1.0, 1.0)
    >>> bool(exact <= found < exact * (1 + 1e-4))
    True
    """
    pair, ratio = LaplacePair.of(f, g), math.exp(epsilon)
    atoms, p, q = pair.atoms, np.exp(pair.first), np.exp(pair.second)
    points = math.ceil(((atoms[-1] - atoms[0]) / scale + 2 * MIXTURE_REACH) * STEPS_PER_DEVIATION) + 1
    if points * atoms.size > MOST_MIXTURE_TERMS:
        raise _too_large(points * atoms.size, atoms.size)
    # far from 0 doubles are too coarse for the grid, so it starts at the first atom
    above = atoms - atoms[0]
    worst = float(np.max(_gaussian_excess(above, np.stack((p - ratio * q, q - ratio * p), axis=1), scale)))
    # a difference of two atoms may be rounded, which shifts the normal law around one of them by as much
    rounding = UNIT_ROUNDOFF * (64 * (atoms.size + 8) + float(above[-1]) / scale)
    return worst + (1 + ratio) * (math.expm1(max(f.error, g.error)) + rounding)


def gaussian_tail_delta(
    f: Atoms, g: Atoms, scale: float, epsilon: float, budget: float, rounding: float = 0.0
) -> float:
    """The same bound computed in logs: off by a factor, but not limited by the rounding of doubles.

    Parameters
    ----------
    f, g : Atoms
        On the line.
    scale : float
        Standard deviation of the noise, above 0.
    epsilon : float
        At least 0.
    budget : float
        The delta with which it will be compared, above 0: it says how far out tails are looked at.
    rounding : float
        How much further apart two answers may be than the atoms that stand for them; each is off by half of it.

    Returns
    -------
    float
        A delta for which both directions are (epsilon, delta)-private.

    Raises
    ------
    SizeError
        If the laws have too many atoms, or atoms too far apart for the scale.

    Examples
    --------
    >>> from bnpriv.core.gaussian_curve import gaussian_delta
    >>> found = gaussian_tail_delta(Atoms([0.0], [1.0]), Atoms([1.0], [1.0]), 30.0, 1.0, 1e-300)
    >>> exact = gaussian_delta(1 / 30, 1.0)
    >>> bool(exact <= found < 2 * exact)
    True
    """
    atoms = np.union1d(f.support, g.support)
    above = (atoms - atoms[0]) / scale
    reach = math.sqrt(-2 * math.log(budget)) + TAIL_MARGIN
    far = reach + float(above[-1])
    cells = math.ceil((far + reach) * TAIL_STEPS)
    if cells * atoms.size > MOST_MIXTURE_TERMS:
        raise _too_large(cells * atoms.size, atoms.size)
    ends = np.linspace(-reach, far, cells + 1)
    # an atom that is off by a fraction of a deviation changes each log term by at most that times its distance
    off = rounding / 2 / scale + 4 * UNIT_ROUNDOFF * (far + reach)
    error = max(f.error, g.error) + 2 * (far + reach) * off + UNIT_ROUNDOFF * (8 * (far + reach) ** 2 + 4 * atoms.size)
    p, q = (_LogCurve.of(above, law, np.searchsorted(atoms, law.support), ends) for law in (f, g))
    return max(_tail_excess(p, q, epsilon, error), _tail_excess(q, p, epsilon, error))


@dataclass(frozen=True, eq=False)
class _LogCurve:
    """A normal mixture's log density at the ends of cells, and the posterior mean of its atoms there.

    The slope of the log density at w is the mean of the atoms, as weighed there, less w; that mean grows with w.
    """

    ends: FloatArray
    logs: FloatArray
    means: FloatArray
    beyond: float
    """An upper bound on the log of the mass beyond the outer ends."""

    @classmethod
    def of(cls, atoms: FloatArray, law: Atoms, places: IntArray, ends: FloatArray) -> _LogCurve:
        """Tabulate the curve of a law whose atoms have these places among all atoms."""
        from scipy.special import log_ndtr

        mixture = NormalMixture(atoms[places], law.logs, 1.0)
        logs, means = np.empty_like(ends), np.empty_like(ends)
        at_once = max(1, MIXTURE_TERMS_AT_ONCE // law.size)
        for start in range(0, ends.size, at_once):
            block = slice(start, start + at_once)
            logs[block], means[block] = mixture.log_density(ends[block])
        beyond = max(float(log_ndtr(float(ends[0]))), float(log_ndtr(float(atoms[-1] - ends[-1]))))
        return cls(ends, logs, means, beyond + math.log(2))


def _tail_excess(p: _LogCurve, q: _LogCurve, epsilon: float, error: float) -> float:
    """An upper bound on the integral of the positive part of p - exp(epsilon) q, cell by cell, in logs."""
    ends, width = p.ends, float(p.ends[1] - p.ends[0])
    ratio = p.logs - q.logs
    slack = 4 * error * (1 + float(ends[-1] - ends[0]))
    rise = np.maximum(p.means[1:] - q.means[:-1] + slack, 0.0) * width
    fall = np.maximum(q.means[1:] - p.means[:-1] + slack, 0.0) * width
    # the slope of the log ratio is the difference of two means that grow: their values at the ends bound it in a cell
    most = np.minimum(ratio[:-1] + rise, ratio[1:] + fall) + 2 * error
    kept = most > epsilon
    # in a cell the log density lies below the lines through its ends with the steepest and the least slope
    up_slope, down_slope = p.means[1:] - ends[:-1] + slack, ends[1:] - p.means[:-1] + slack
    mass = np.minimum(p.logs[:-1] + _log_mean(up_slope * width), p.logs[1:] + _log_mean(down_slope * width))
    terms = mass[kept] + math.log(width) + error + np.log(-np.expm1(epsilon - most[kept]))
    found = log_sum(np.append(terms, p.beyond + error))
    return math.nextafter(math.exp(min(found, 0.0)) * (1 + 2.0**-30), math.inf)


def _log_mean(rise: FloatArray) -> FloatArray:
    """The log of the mean of exp(x) over x from 0 to `rise`, rounded up."""
    size = np.maximum(np.abs(rise), 2.0**-20)
    # (exp(x) - 1) / x, and for x below 0 the same times exp(x)
    return size - np.log(size) + np.log(-np.expm1(-size)) + np.minimum(rise, 0.0) + 2.0**-19


def _too_large(terms: int, atoms: int) -> SizeError:
    return SizeError(
        f"a Gaussian privacy curve may take at most {MOST_MIXTURE_TERMS:,} terms",
        found=f"{terms:,} for {atoms:,} atoms",
        remedy="Use Laplace noise, or WassersteinMechanism with Gaussian noise.",
    )


def _gaussian_excess(atoms: FloatArray, masses: FloatArray, scale: float) -> FloatArray:
    """Upper bounds on the integrals of the positive parts of sum_j masses_j phi((w - x_j) / scale) / scale.

    The masses have a column for each of the integrals, which share what takes the time.
    """
    from scipy.special import ndtr

    low, high = float(atoms[0]) - MIXTURE_REACH * scale, float(atoms[-1]) + MIXTURE_REACH * scale
    cells = math.ceil((high - low) / scale * COARSE_STEPS)
    places, width = np.arange(cells), (high - low) / cells
    # the tails beyond the grid are counted in full
    total = np.sum(np.maximum(masses, 0.0), axis=0) * 2 * float(ndtr(-MIXTURE_REACH))
    per_block = max(FINER_STEPS, MIXTURE_TERMS_AT_ONCE // (2 * atoms.size))
    for level in range(TIMES_FINER + 1):
        cut = [np.zeros(0, dtype=np.int64)]
        for start in range(0, places.size, per_block):
            block = places[start : start + per_block]
            ends, at = np.unique(np.stack([block, block + 1]), return_inverse=True)
            curves = _curves(low + width * ends.astype(np.float64), atoms, masses, scale)
            found, certain = _cells(curves[:, at.reshape(2, -1)], width / scale)
            # on the finest grid the bound is taken whether or not the sign is certain
            certain |= level == TIMES_FINER
            total += np.sum(found[certain], axis=0)
            cut.append(block[~certain])
        places, width = (
            (np.concatenate(cut)[:, None] * FINER_STEPS + np.arange(FINER_STEPS)).ravel(),
            width / FINER_STEPS,
        )
    return total


def _cells(curves: FloatArray, width: float) -> tuple[FloatArray, NDArray[np.bool_]]:
    """Upper bounds on the integrals over cells, and for which the sign is certain in all columns.

    The curves are given at both ends of the cells, shape (3, 2, cells, columns). Where the sign is surely positive the
    bound is the integral, where it is surely negative it is 0.
    """
    value, below, curvature = curves
    # a function is off its chord by |f''| width^2 / 8, and |f''| is at most twice its bound at the ends (tight.md)
    bend = 2 * curvature.max(axis=0) * width**2 / 8
    positive, negative = value.min(axis=0) > bend, value.max(axis=0) < -bend
    most = width * (np.maximum(value.max(axis=0), 0.0) + bend)
    found = np.where(positive, np.maximum(below[1] - below[0], 0.0), np.where(negative, 0.0, most))
    return found, np.all(positive | negative, axis=1)


def _curves(w: FloatArray, atoms: FloatArray, masses: FloatArray, scale: float) -> FloatArray:
    """Values, integrals and a bound on second derivatives at some points, of shape (3, points, columns)."""
    from scipy.special import ndtr

    z = (w[:, None] - atoms[None, :]) / scale
    density = np.exp(-0.5 * z * z) / math.sqrt(2 * math.pi)
    below: FloatArray = np.asarray(ndtr(z), dtype=np.float64)
    return np.stack([density @ masses, below @ masses, (density * (z * z + 1)) @ np.abs(masses)])
