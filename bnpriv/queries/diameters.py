"""How far apart two points of a finite set can be: the geometry behind column sensitivity, on plain arrays.

A cloud is what a record can add to some outputs, of shape (moving, resting, outputs): along the first axis the columns
that change, along the second those that rest. A change goes from one point of a cloud to another with the same resting
index. The largest length is looked for in all pairs where they are few; else it is enclosed by a bound and an example.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Literal, final

import numpy as np

from bnpriv.bound import FloatArray

Norm = Literal[1, 2]

MOST_PAIRED = 50_000_000  # numbers looked at when all pairs are compared
MOST_SIGNED_NUMBERS = 1_000_000  # numbers held when all patterns of signs are tried
MOST_CHANGES = 4_000_000  # numbers held when all changes are listed
MOST_CUBICS = 20_000  # roots of cubics that are looked for
MOST_SORTED = 500_000  # numbers of points that are sorted to find those that are alike
DISTANCES_AT_ONCE = 1_000_000  # numbers held when pairs are compared block by block


@final
@dataclass(frozen=True)
class Reach:
    """What is known of the largest length: `change` has the length `lower`, and no change is longer than `upper`."""

    lower: float
    upper: float
    change: FloatArray


def lengths(changes: FloatArray, box: FloatArray, norm: Norm) -> FloatArray:
    """The length of each change when every output may move by `box` more, in either direction."""
    stretched = np.abs(changes) + box
    return stretched.sum(axis=-1) if norm == 1 else np.sqrt(np.square(stretched).sum(axis=-1))


def by_signs(clouds: Sequence[tuple[FloatArray, Sequence[int]]], outputs: int) -> float | None:
    """The largest 1-norm of a sum of changes, one from each cloud, or None if there are too many signs.

    The 1-norm is the largest signed sum over the patterns of signs, and a signed sum is largest in each cloud apart.

    Parameters
    ----------
    clouds : sequence of (ndarray, sequence of int)
        Each with the outputs that it adds to.
    outputs : int
        How many outputs there are.
    """
    largest = max(cloud[..., 0].size for cloud, _ in clouds)
    if outputs > 20 or (outputs > 1 and 2 ** (outputs - 1) * max(largest, outputs) > MOST_SIGNED_NUMBERS):
        return None
    signs: FloatArray = np.array([(1.0, *rest) for rest in product((1.0, -1.0), repeat=outputs - 1)])
    total: FloatArray = np.zeros(len(signs))
    for cloud, places in clouds:
        signed: FloatArray = np.einsum("mro,so->smr", cloud, signs[:, list(places)])
        total += (signed.max(axis=1) - signed.min(axis=1)).max(axis=1)
    return float(total.max())


def farthest(cloud: FloatArray, box: FloatArray, norm: Norm) -> Reach:
    """The largest length of a change inside one cloud, in all pairs if there are few enough."""
    best = Reach(0.0, 0.0, np.zeros_like(box))
    work = 0
    for points in _slices(cloud):
        work += points.size * len(points)
        few = work <= MOST_PAIRED or len(points) == 1
        found = _all_pairs(points, box, norm) if few else _some_pairs(points, box, norm)
        change = found.change if found.lower > best.lower else best.change
        best = Reach(max(best.lower, found.lower), max(best.upper, found.upper), change)
    return best


def changes_of(cloud: FloatArray) -> FloatArray | None:
    """All changes inside a cloud, each once, or None if there are too many.

    The zero change is left out when there are others: it lies between a change and its opposite, and lengths are
    convex.
    """
    found: list[FloatArray] = []
    room = MOST_CHANGES
    for points in _slices(cloud):
        room -= points.size * len(points)
        if room < 0:
            return None
        found.append((points[:, None] - points[None]).reshape(-1, cloud.shape[2]))
    listed = np.unique(np.concatenate(found), axis=0)
    moved = listed[np.any(listed != 0, axis=1)]
    return moved if len(moved) else listed


def sums(parts: Sequence[FloatArray], most: int = MOST_CHANGES) -> FloatArray | None:
    """All sums of one row from each of `parts`, or None if they are more than `most` numbers."""
    total = parts[0]
    for part in parts[1:]:
        if len(total) * part.size > most:
            return None
        total = (total[:, None] + part[None]).reshape(-1, part.shape[1])
    return total


def together(reaches: Sequence[Reach], box: FloatArray, norm: Norm) -> FloatArray:
    """Add up changes, one from each reach, each with the sign that makes the sum longer: an example, not the best."""
    total: FloatArray = np.zeros_like(box)
    for reach in reaches:
        options = np.stack([total + reach.change, total - reach.change])
        total = options[int(lengths(options, box, norm).argmax())]
    return total


def quadratic_diameter(
    shift: FloatArray,
    low: FloatArray,
    high: FloatArray,
    fixed: FloatArray,
    *,
    steps: int,
    slope: FloatArray,
    bend: FloatArray,
) -> float | None:
    """The largest 2-norm of ``shift + f(k) - f(fixed)`` over the whole numbers k from `low` to `high`.

    ``f(k) = slope * z + bend * z**2`` with ``z = 2 * k / steps - 1`` between -1 and 1. The square of the norm is a
    quartic in z, so it is largest at an end or beside a root of its derivative.

    Parameters
    ----------
    shift : ndarray, shape (problems, outputs)
    low, high, fixed : ndarray, shape (problems,)
        Grid steps.
    steps : int
        Number of grid steps of the column.
    slope, bend : ndarray, shape (outputs,)

    Returns
    -------
    float or None
        None if the quartics are too badly scaled for their roots to be trusted.
    """
    held = (2.0 * fixed / steps - 1.0)[:, None]
    start = shift - slope * held - bend * held**2
    lead = 2.0 * float(bend @ bend)
    rest = np.stack(
        [
            np.full(len(shift), 3.0 * float(slope @ bend)),
            (slope**2 + 2.0 * start * bend).sum(axis=1),
            (start * slope).sum(axis=1),
        ],
        axis=1,
    )
    if not lead > 1e-30 or not np.abs(rest).max() < 1e30 * lead:
        return None
    roots = _roots(rest / lead)
    near = np.floor((roots + 1.0) / 2.0 * steps)
    tried = np.concatenate([near - 1, near, near + 1, near + 2, low[:, None], high[:, None]], axis=1)
    z = (2.0 * np.clip(tried, low[:, None], high[:, None]) / steps - 1.0)[:, :, None]
    moved = shift[:, None, :] + (z - held[:, None]) * (slope + bend * (z + held[:, None]))
    return float(lengths(moved, np.zeros_like(slope), 2).max())


def _roots(monic: FloatArray) -> FloatArray:
    """The real parts of the roots of ``z**3 + a z**2 + b z + c``; parts that are no root do no harm."""
    companion = np.zeros((len(monic), 3, 3))
    companion[:, 0] = -monic
    companion[:, 1, 0] = companion[:, 2, 1] = 1.0
    z = np.clip(np.asarray(np.linalg.eigvals(companion).real, dtype=np.float64), -2.0, 2.0)
    a, b, c = (monic[:, [place]] for place in range(3))
    slope = (3.0 * z + 2.0 * a) * z + b
    with np.errstate(over="ignore"):  # one step of Newton's method; it leads nowhere where the slope is 0
        step = np.divide(((z + a) * z + b) * z + c, slope, out=np.zeros_like(z), where=np.abs(slope) > 0)
    return np.concatenate([z, np.clip(z - step, -2.0, 2.0)], axis=1)


def _slices(cloud: FloatArray) -> Iterator[FloatArray]:
    """Yield the points that share a resting index, each once, and slices that are alike once."""
    slices: FloatArray = np.ascontiguousarray(cloud.transpose(1, 0, 2))
    flat = slices.reshape(len(slices), -1)
    different = flat if len(flat) == 1 else np.unique(flat, axis=0)
    for row in different:
        yield _distinct(row.reshape(cloud.shape[0], cloud.shape[2]))


def _distinct(points: FloatArray) -> FloatArray:
    """Each point once; of long points in no order, because sorting them takes long."""
    if points.size <= MOST_SORTED:
        return np.unique(points, axis=0)
    places = {point.tobytes(): place for place, point in enumerate(points)}
    return points[sorted(places.values())]


def _all_pairs(points: FloatArray, box: FloatArray, norm: Norm) -> Reach:
    best, change = -1.0, np.zeros(points.shape[1])
    block = max(1, DISTANCES_AT_ONCE // points.size)
    for start in range(0, len(points), block):
        differences = points[start : start + block, None] - points[None]
        found = lengths(differences, box, norm)
        first, second = np.unravel_index(int(found.argmax()), found.shape)
        if found[first, second] > best:
            best, change = float(found[first, second]), differences[first, second]
    return Reach(best, best, change)


def _some_pairs(points: FloatArray, box: FloatArray, norm: Norm) -> Reach:
    """Bound the largest length by the triangle inequality through a common point, and find a long change."""
    none = np.zeros_like(box)
    upper = math.inf
    for center in (none, (points.max(axis=0) + points.min(axis=0)) / 2):
        away = points - center
        first, second = np.partition(lengths(away, none, norm), -2)[-2:]
        # the points of an orthant are at most at right angles from each other
        square = norm == 2 and bool(np.all(away >= 0))
        upper = min(upper, float(math.hypot(first, second) if square else first + second))
    start = points[int(lengths(points, none, norm).argmax())]
    change = none
    for _ in range(3):
        found = points[int(lengths(points - start, box, norm).argmax())]
        change, start = found - start, found
    lower = float(lengths(change, box, norm))
    upper += float(lengths(none, box, norm))
    return Reach(lower, max(upper, lower), change)
