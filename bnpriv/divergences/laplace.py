"""The privacy curve of two laws with finitely many atoms on the line, once Laplace noise is added.

Between neighbouring atoms both output densities are of the form A exp(w/b) + B exp(-w/b), so that their ratio is
monotone there and constant beyond the ends: the largest log ratio is reached at an atom, and the difference
p - exp(eps) q changes sign at most once between neighbours.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from bnpriv.bound import UNIT_ROUNDOFF, FloatArray
from bnpriv.laws.atoms import Atoms
from bnpriv.laws.base import magnitude

SPAN = 64.0
"""Atoms further apart than this many scales are summed in separate blocks, which keeps the rounding error small."""


@final
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
        atoms = np.union1d(f.support, g.support)
        logs = [np.full(atoms.shape, -np.inf), np.full(atoms.shape, -np.inf)]
        for law, values in zip((f, g), logs, strict=True):
            values[np.searchsorted(atoms, law.support)] = law.logs
        return cls(atoms, logs[0], logs[1], max(f.error, g.error))

    def epsilon(self, scale: float) -> float:
        """Return the largest absolute log ratio of the two output densities, rounded up.

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
        """Return the log ratio of the first output density to the second at every atom, and a bound on its error.

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
        p, lost_p = _smoothed(self.atoms, self.first, scale)
        q, lost_q = _smoothed(self.atoms, self.second, scale)
        return p - q, 2 * self.error + lost_p + lost_q

    def delta(self, scale: float, epsilon: float) -> float:
        """Return the larger hockey-stick divergence of the two directions at `epsilon`, rounded up.

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


def _smoothed(atoms: FloatArray, logs: FloatArray, scale: float) -> tuple[FloatArray, float]:
    """Return log sum_j exp(logs_j - |w - x_j| / scale) at every atom w, and a bound on the error."""
    left, right = from_left(atoms, logs, scale), from_right(atoms, logs, scale)
    beyond = np.append(right[1:] - np.diff(atoms) / scale, -np.inf)
    return np.logaddexp(left, beyond), smoothing_error(atoms, logs, scale)


def smoothing_error(atoms: FloatArray, logs: FloatArray, scale: float) -> float:
    """Return a bound on the error of `from_left` and `from_right`.

    Each step rounds a number of a known size once, and a partial sum keeps at most the error of the sums before it.
    """
    most = max(end - start for start, end in _stretches(atoms, scale))
    stretches = int(min(atoms.size, (atoms[-1] - atoms[0]) // (SPAN * scale) + 1))
    steps = min(atoms.size, most) + 3.0 * stretches
    return UNIT_ROUNDOFF * (steps + 8) * (magnitude(logs) + SPAN + 8)


def from_right(atoms: FloatArray, logs: FloatArray, scale: float) -> FloatArray:
    """Return log sum over x_j >= w of exp(logs_j - (x_j - w) / scale) at every atom w."""
    return from_left(-atoms[::-1], logs[::-1], scale)[::-1]


def from_left(atoms: FloatArray, logs: FloatArray, scale: float) -> FloatArray:
    """Return log sum over x_j <= w of exp(logs_j - (w - x_j) / scale) at every atom w.

    Parameters
    ----------
    atoms : ndarray of shape (K,)
        Strictly increasing.
    logs : ndarray of shape (K,)
        Log masses.
    scale : float
        Above 0.
    """
    result = np.empty_like(logs)
    carried, at = -math.inf, atoms[0]
    for start, end in _stretches(atoms, scale):
        rise = (atoms[start:end] - atoms[start]) / scale
        block = logs[start:end] + rise
        block[0] = np.logaddexp(block[0], carried - (atoms[start] - at) / scale)
        result[start:end] = np.logaddexp.accumulate(block) - rise
        carried, at = float(result[end - 1]), atoms[end - 1]
    return result


def _excess(atoms: FloatArray, masses: FloatArray, scale: float) -> float:
    """Return the integral of the positive part of a signed measure after Laplace noise."""
    if scale == 0:
        return float(np.sum(np.maximum(masses, 0.0)))
    left = _signed_from_left(atoms, masses, scale)
    right = _signed_from_left(-atoms[::-1], masses[::-1], scale)[::-1]
    tails = 0.5 * (max(right[0], 0.0) + max(left[-1], 0.0))
    a, b, gaps = left[:-1], right[1:], np.diff(atoms) / scale
    return tails + float(np.sum(_between(a, b, gaps)))


def _signed_from_left(atoms: FloatArray, masses: FloatArray, scale: float) -> FloatArray:
    """Return the sum over x_j <= w of masses_j exp(-(w - x_j) / scale) at every atom w."""
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
    starts = np.flatnonzero(np.diff(place, prepend=-1.0)).tolist()
    return list(zip(starts, [*starts[1:], atoms.size], strict=True))


def _between(a: FloatArray, b: FloatArray, gaps: FloatArray) -> FloatArray:
    """Integrate the positive part of (a exp(-s) + b exp(s - gap)) / 2 over s from 0 to each gap."""

    def integral(low: FloatArray, high: FloatArray) -> FloatArray:
        return 0.5 * (a * (np.exp(-low) - np.exp(-high)) + b * (np.exp(high - gaps) - np.exp(low - gaps)))

    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        # a exp(-s) = -b exp(s - gap) at exp(2 s) = -a / b * exp(gap)
        change = 0.5 * (np.log(-a / b) + gaps)
    change = np.where((a * b < 0) & np.isfinite(change), np.clip(change, 0.0, gaps), 0.0)
    before, after = integral(np.zeros_like(gaps), change), integral(change, gaps)
    return np.maximum(before, 0.0) + np.maximum(after, 0.0)
