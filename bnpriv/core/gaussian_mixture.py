"""The privacy curve of Gaussian noise on two laws with finitely many atoms on the line, bounded from above.

Several sign changes of p - exp(eps) q may lie between two neighbouring atoms, so there is no closed form. The integral
of the positive part is bounded from above on a grid: exactly where a bound on the curvature shows that the sign does
not change, on a finer grid elsewhere, and by the largest possible value where the finest does not show it either.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bnpriv.bound import UNIT_ROUNDOFF, FloatArray, IntArray
from bnpriv.core.distributions import Atoms, log_sum
from bnpriv.core.privacy_curves import LaplacePair
from bnpriv.errors import SizeError

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
    worst = float(np.max(_excess(above, np.stack((p - ratio * q, q - ratio * p), axis=1), scale)))
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


def _excess(atoms: FloatArray, masses: FloatArray, scale: float) -> FloatArray:
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
