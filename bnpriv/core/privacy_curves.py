"""Privacy curves of Laplace noise: on the line, in space, and for a normal answer."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from bnpriv.bound import UNIT_ROUNDOFF, FloatArray
from bnpriv.core.distributions import Atoms, log_sum_exp, magnitude
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
    for _ in range(MOST_HALVINGS):
        middle = (low + high) / 2
        if not low < middle < high:
            break
        if curve.log_density(middle - gap)[0] - curve.log_density(middle)[0] < epsilon:
            low = middle
        else:
            high = middle
    first, second = curve.log_density(low - gap), curve.log_density(low)
    return low, first[1] + second[1] + abs(first[0] - second[0] - epsilon)
