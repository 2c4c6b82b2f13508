"""The privacy curve of two laws with finitely many atoms in space, once independent Laplace noise is added.

With all other coordinates fixed the log ratio is monotone between neighbouring values of one coordinate, so that the
largest one is reached on the grid of the atoms' coordinates.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce

import numpy as np

from bnpriv.bound import UNIT_ROUNDOFF, FloatArray
from bnpriv.errors import SizeError
from bnpriv.laws.atoms import Atoms
from bnpriv.laws.base import log_sum_exp, magnitude

MOST_PRODUCT_CELLS = 2**24
"""Grid points times atoms."""


def product_laplace_epsilon(f: Atoms, g: Atoms, scale: float) -> float:
    """Return the largest absolute log ratio of the two output densities over all of space, rounded up.

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
    """Return all atoms of laws of one dimension, shape (K, d), and the log masses of each law on them.

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
    """Return whether all points are the origin or unit vectors times one length each coordinate shares."""
    return bool(np.all(np.count_nonzero(points, axis=1) <= 1) and np.unique(points[points != 0]).size <= 1)


def _largest_on_simplex(points: FloatArray, logs: FloatArray, scale: float) -> float:
    """Maximize over corners w of the grid: a set of coordinates at the atom, the others at 0.

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
    """Return the number of grid points times atoms that the curve of two laws takes; 0 where no grid is needed."""
    points = np.unique(np.concatenate([f.points, g.points]), axis=0)
    return 0 if _is_simplex(points) else _size(points)


def _size(points: FloatArray) -> int:
    return math.prod(len(np.unique(points[:, axis])) for axis in range(points.shape[1])) * len(points)


def _largest_on_grid(points: FloatArray, logs: FloatArray, scale: float) -> float:
    values = [np.unique(points[:, axis]) for axis in range(points.shape[1])]
    size = _size(points)
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
