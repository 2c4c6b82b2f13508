"""The privacy curve of two laws with finitely many atoms on the line, once Gaussian noise is added.

Several sign changes of p - exp(eps) q may lie between two neighbouring atoms, so there is no closed form. The integral
of the positive part is bounded from above on a grid: exactly where a bound on the curvature shows that the sign does
not change, on a finer grid elsewhere, and by the largest possible value where the finest does not show it either.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from bnpriv.bound import UNIT_ROUNDOFF, FloatArray
from bnpriv.errors import SizeError
from bnpriv.laws import Atoms

COARSE_STEPS = 20
"""Cells per standard deviation of the first grid."""

FINER_STEPS, TIMES_FINER = 5, 2
"""A cell in which the sign may change is cut into so many, so many times."""

STEPS_PER_DEVIATION = COARSE_STEPS * FINER_STEPS**TIMES_FINER
"""Cells per standard deviation of the finest grid."""

MIXTURE_REACH = 12.0
"""Standard deviations beyond the outer atoms; what lies further out is counted in full."""

MOST_MIXTURE_TERMS = 2**25
"""Points of the finest grid times atoms."""

MIXTURE_TERMS_AT_ONCE = 2**20

LARGEST_BEND = 0.48395
"""Largest integral of the second derivative of the standard normal density over a set: 2 phi(1), rounded up."""


def too_many_atoms(atoms: int) -> bool:
    """Return whether the curve of laws with so many atoms can be computed at no scale, however large."""
    return math.ceil((2 * MIXTURE_REACH + 1) * STEPS_PER_DEVIATION) * atoms > MOST_MIXTURE_TERMS


def gaussian_mixture_delta(f: Atoms, g: Atoms, scale: float, epsilon: float) -> float:
    """Return an upper bound of the larger hockey-stick divergence of the two directions.

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
    >>> from bnpriv.divergences.gaussian import gaussian_delta
    >>> found = gaussian_mixture_delta(Atoms([0.0], [1.0]), Atoms([1.0], [1.0]), 1.0, 1.0)
    >>> exact = gaussian_delta(1.0, 1.0)
    >>> bool(exact <= found < exact * (1 + 1e-4))
    True
    """
    atoms = np.union1d(f.support, g.support)
    p, q = (_masses_on(atoms, law) for law in (f, g))
    ratio = math.exp(epsilon)
    _check_size(atoms, scale)
    # far from 0 doubles are too coarse for the grid, so it starts at the first atom
    above = atoms - atoms[0]
    worst = float(np.max(_excess(above, np.stack((p - ratio * q, q - ratio * p), axis=1), scale)))
    # a difference of two atoms may be rounded, which moves the normal law around one of them by so much
    rounding = UNIT_ROUNDOFF * (64 * (atoms.size + 8) + float(above[-1]) / scale)
    return worst + (1 + ratio) * (math.expm1(max(f.error, g.error)) + rounding)


def _masses_on(atoms: FloatArray, law: Atoms) -> FloatArray:
    masses = np.zeros(atoms.shape)
    masses[np.searchsorted(atoms, law.support)] = np.exp(law.logs)
    return masses


def _points(atoms: FloatArray, scale: float) -> int:
    return math.ceil(((atoms[-1] - atoms[0]) / scale + 2 * MIXTURE_REACH) * STEPS_PER_DEVIATION) + 1


def _check_size(atoms: FloatArray, scale: float) -> None:
    size = _points(atoms, scale) * atoms.size
    if size > MOST_MIXTURE_TERMS:
        raise SizeError(
            f"a Gaussian privacy curve may take at most {MOST_MIXTURE_TERMS:,} terms",
            found=f"{size:,} for {atoms.size:,} atoms",
            remedy="Use Laplace noise, or WassersteinMechanism with Gaussian noise.",
        )


def _excess(atoms: FloatArray, masses: FloatArray, scale: float) -> FloatArray:
    """Bound the integrals of the positive parts of sum_j masses_j phi((w - x_j) / scale) / scale from above.

    The masses have a column for each of the integrals, which share what takes the time.
    """
    from scipy.special import ndtr

    low, high = float(atoms[0]) - MIXTURE_REACH * scale, float(atoms[-1]) + MIXTURE_REACH * scale
    cells = math.ceil((high - low) / scale * COARSE_STEPS)
    places, width = np.arange(cells), (high - low) / cells
    total = np.sum(np.maximum(masses, 0.0), axis=0) * 2 * float(ndtr(-MIXTURE_REACH))
    per_block = max(FINER_STEPS, MIXTURE_TERMS_AT_ONCE // (2 * atoms.size))
    for level in range(TIMES_FINER + 1):
        cut = [np.zeros(0, dtype=np.int64)]
        for start in range(0, places.size, per_block):
            block = places[start : start + per_block]
            ends, at = np.unique(np.stack([block, block + 1]), return_inverse=True)
            curves = _curves(low + width * ends.astype(np.float64), atoms, masses, scale)
            found, certain = _cells(curves[:, at.reshape(2, -1)], width / scale)
            certain |= level == TIMES_FINER
            total += np.sum(found[certain], axis=0)
            cut.append(block[~certain])
        places, width = (
            (np.concatenate(cut)[:, None] * FINER_STEPS + np.arange(FINER_STEPS)).ravel(),
            width / FINER_STEPS,
        )
    return total


def _cells(curves: FloatArray, width: float) -> tuple[FloatArray, NDArray[np.bool_]]:
    """Bound the integrals over cells from above, and say for which the sign is certain in all columns.

    The curves are given at both ends of the cells, shape (3, 2, cells, columns). Where the sign is surely positive the
    bound is the integral, where it is surely negative it is 0.
    """
    value, below, curvature = curves
    bend = 2 * curvature.max(axis=0) * width**2 / 8
    positive, negative = value.min(axis=0) > bend, value.max(axis=0) < -bend
    most = width * (np.maximum(value.max(axis=0), 0.0) + bend)
    found = np.where(positive, np.maximum(below[1] - below[0], 0.0), np.where(negative, 0.0, most))
    return found, np.all(positive | negative, axis=1)


def _curves(w: FloatArray, atoms: FloatArray, masses: FloatArray, scale: float) -> FloatArray:
    """Return values, integrals and a bound of second derivatives at some points, of shape (3, points, columns)."""
    from scipy.special import ndtr

    z = (w[:, None] - atoms[None, :]) / scale
    density = np.exp(-0.5 * z * z) / math.sqrt(2 * math.pi)
    below: FloatArray = np.asarray(ndtr(z), dtype=np.float64)
    return np.stack([density @ masses, below @ masses, (density * (z * z + 1)) @ np.abs(masses)])
