"""The best bins of neighbouring atoms such that the law of the bin is alike under every pair of secrets."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from bnpriv.bound import FloatArray
from bnpriv.mechanisms.optimal_laws import Loss

AtomPlaces = NDArray[np.intp]
Cost = Callable[[FloatArray, FloatArray], tuple[FloatArray, AtomPlaces]]
"""From distances to the first atom, and weights, to what the bins that start there cost, and the atoms released."""


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class Bins:
    """Bins of neighbouring atoms, and the atom that is released for each.

    Parameters
    ----------
    starts : ndarray of shape (B,)
        The first atom of each bin; the first is 0.
    released : ndarray of shape (B,)
        The atom that is released for each bin; it lies in it.
    error : float
        The expected error under the prior, up to rounding.
    """

    starts: AtomPlaces
    released: AtomPlaces
    error: float


def best_bins(
    atoms: FloatArray,
    prior: FloatArray,
    first: FloatArray,
    second: FloatArray,
    epsilon: float,
    measure: Loss = "absolute",
) -> Bins:
    """Return the bins with the least expected error such that no bin is much likelier under one secret of a pair.

    Parameters
    ----------
    atoms : ndarray of shape (K,)
        Increasing.
    prior : ndarray of shape (K,)
        Probabilities by which errors are weighed.
    first, second : ndarray of shape (P, K)
        Logs of the masses of the atoms under the two secrets of each pair; -inf for none.
    epsilon : float
        Largest log ratio, in either direction, of the masses of a bin. One bin of all atoms is always possible.
    measure : {"absolute", "squared", "zero-one"}

    Returns
    -------
    Bins

    Notes
    -----
    docs/claims/quantization.md. The best bins of the first k atoms are the best of the first i < k of them, and one bin
    of those between: K^2 / 2 bins are tried once each. Masses of bins are sums, never differences, of masses.

    Examples
    --------
    >>> logs = np.log([[0.2, 0.3, 0.3, 0.2]]), np.log([[0.3, 0.2, 0.2, 0.3]])
    >>> found = best_bins(np.arange(4.0), np.full(4, 0.25), *logs, epsilon=0.1)
    >>> found.starts, found.released, found.error
    (array([0, 2]), array([0, 2]), 0.5)
    """
    size, cost = len(atoms), COSTS[measure]
    least = np.full(size + 1, math.inf)
    least[0] = 0.0
    starts, released = np.zeros(size + 1, dtype=np.intp), np.zeros(size + 1, dtype=np.intp)
    for start in range(size):
        if least[start] == math.inf:
            continue
        found, chosen = cost(atoms[start:] - atoms[start], prior[start:])
        found = np.where(_alike(first[:, start:], second[:, start:], epsilon), least[start] + found, math.inf)
        if start == 0:
            found[-1] = cost(atoms - atoms[0], prior)[0][-1]
        better = found < least[start + 1 :]
        least[start + 1 :][better] = found[better]
        starts[start + 1 :][better] = start
        released[start + 1 :][better] = start + chosen[better]
    ends, end = list[int](), size
    while end:
        ends.append(end)
        end = int(starts[end])
    places = np.array(ends[::-1], dtype=np.intp)
    return Bins(starts=starts[places], released=released[places], error=float(least[size]))


def _alike(first: FloatArray, second: FloatArray, epsilon: float) -> NDArray[np.bool_]:
    """Return for every end whether the bin from the first atom to it is alike under all pairs; of shape (K,)."""
    one, other = np.logaddexp.accumulate(first, axis=1), np.logaddexp.accumulate(second, axis=1)
    with np.errstate(invalid="ignore"):
        gaps = np.where(one == other, 0.0, np.abs(one - other))  # neither secret can lead to the bin: alike
    return np.all(gaps <= epsilon, axis=0)


def _absolute(atoms: FloatArray, weights: FloatArray) -> tuple[FloatArray, AtomPlaces]:
    """Release the median of each bin."""
    mass, sums = np.cumsum(weights), np.cumsum(weights * atoms)
    middle = np.searchsorted(mass, mass / 2)
    below = atoms[middle] * mass[middle] - sums[middle]
    above = sums - sums[middle] - atoms[middle] * (mass - mass[middle])
    return np.maximum(0.0, below + above), middle


def _squared(atoms: FloatArray, weights: FloatArray) -> tuple[FloatArray, AtomPlaces]:
    """Release the atom that is nearest to the mean of each bin."""
    mass, sums, squares = (np.cumsum(weights * atoms**k) for k in range(3))
    mean = np.divide(sums, mass, out=np.zeros_like(sums), where=mass > 0)
    nearest = np.searchsorted((atoms[1:] + atoms[:-1]) / 2, mean)
    nearest = np.minimum(nearest, np.arange(len(atoms)))
    chosen = atoms[nearest]
    return np.maximum(0.0, squares - 2 * chosen * sums + chosen**2 * mass), nearest


def _zero_one(atoms: FloatArray, weights: FloatArray) -> tuple[FloatArray, AtomPlaces]:
    """Release the likeliest atom of each bin."""
    largest = np.maximum.accumulate(weights)
    return np.cumsum(weights) - largest, np.searchsorted(largest, largest)


COSTS: Mapping[Loss, Cost] = {"absolute": _absolute, "squared": _squared, "zero-one": _zero_one}
