"""Privacy losses: the whole law of the log ratio of what columns tell about a secret, not only its maximum."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from bnpriv.bound import UNIT_ROUNDOFF, FloatArray
from bnpriv.core.gaussian_curve import gaussian_excess, gaussian_mu
from bnpriv.core.noise import ContinuousNoise

LEAST_MARGIN = 1e-9
"""In nats. A smaller margin would be mostly rounding error of the influence, so that such a quilt is not used."""

MOST_LOSSES = 2**20
"""The most cells, over all pairs and models, whose losses are kept."""

GATHERED_WIDTH = 2.0**-11
"""Width of the grid of ratios that cells are gathered on, near 0; it grows in proportion to larger ratios."""

SHIFT_HALVINGS = 60
"""Halvings of the interval of shifts; the private end is used."""


class PrivacyLosses(Protocol):
    """The law of the privacy loss of a set of columns about a protected attribute."""

    def excess(self, epsilon: float, law: ContinuousNoise = ..., shift: FloatArray | float = ...) -> FloatArray:
        """The hockey-stick divergence of the columns together with a noisy number, of shape (models, pairs).

        Parameters
        ----------
        epsilon : float
        law : {"laplace", "gaussian"}
            The noise of that number.
        shift : float or ndarray of shape (models, pairs)
            By how many scales of the noise the secret moves it; 0 for the columns alone.
        """
        ...

    def shifts(self, epsilon: float, delta: float, law: ContinuousNoise) -> FloatArray:
        """The largest private shift in scales of the noise, of shape (models, pairs); -inf where none is private."""
        ...


@dataclass(frozen=True, kw_only=True, eq=False)
class Losses:
    """The law of the privacy loss given the first secret, for every model and ordered pair.

    Parameters
    ----------
    ratios : ndarray of shape (models, pairs, cells)
        Upper bounds of log P(cell | first) - log P(cell | second); inf where the second secret rules the cell out.
    masses : ndarray of shape (models, pairs, cells)
        Upper bounds of P(cell | first).
    possible : ndarray of shape (models, pairs)
        False where a secret has probability zero, so that the pair is no constraint.
    """

    ratios: FloatArray
    masses: FloatArray
    possible: NDArray[np.bool_]

    def excess(self, epsilon: float, law: ContinuousNoise = "laplace", shift: FloatArray | float = 0.0) -> FloatArray:
        """The hockey-stick divergence at `epsilon` of the cells together with a noisy number.

        Parameters
        ----------
        epsilon : float
        law : {"laplace", "gaussian"}
            The noise of that number.
        shift : float or ndarray of shape (models, pairs)
            By how many scales of the noise the secret moves it; 0 for the cells alone.

        Returns
        -------
        ndarray of shape (models, pairs)
            Rounded up; 0 where a pair is no constraint.
        """
        moved = np.broadcast_to(np.asarray(shift, dtype=np.float64), self.possible.shape)[..., np.newaxis]
        left = epsilon - self.ratios
        finite = np.where(np.isfinite(left), left, 0.0)
        # the level is lowered by its rounding: the divergence falls in it, so the result stays an upper bound
        level = np.where(np.isfinite(left), finite - 8 * UNIT_ROUNDOFF * (epsilon + np.abs(finite) + moved), left)
        curve = gaussian_excess(moved, level) if law == "gaussian" else laplace_excess(moved, level)
        total = (self.masses * curve).sum(axis=2) * (1 + (self.ratios.shape[2] + 64) * UNIT_ROUNDOFF)
        return np.where(self.possible, np.minimum(total, 1.0), 0.0)

    def shifts(self, epsilon: float, delta: float, law: ContinuousNoise) -> FloatArray:
        """The largest shift, in scales of the noise, that keeps every pair (epsilon, delta)-private.

        Parameters
        ----------
        epsilon, delta : float
            Both above 0.
        law : {"laplace", "gaussian"}

        Returns
        -------
        ndarray of shape (models, pairs)
            Rounded down; -inf where the cells alone tell too much, inf where a pair is no constraint.
        """
        low = private_shifts(self.excess, self.possible.shape, epsilon, delta, law)
        if law == "laplace":
            # what the largest ratio leaves of epsilon is a shift that is private with delta 0; bisection may miss it
            pure = (epsilon - np.maximum(self.ratios.max(axis=2), 0.0)) * (1 - 2.0**-51)
            low = np.maximum(low, np.where(pure >= 0, pure, -np.inf))
        return np.where(self.possible, low, np.inf)


def gathered(losses: Losses) -> Losses:
    """Losses on fewer cells that tell at least as much, and hardly more.

    Every cell is split between the two nearest points of a grid of ratios, so that both secrets keep its probability.
    That tells no less: whoever forgets which of the two points was seen is left with the cell.

    Parameters
    ----------
    losses : Losses

    Returns
    -------
    Losses
        The same for few cells.

    Examples
    --------
    >>> ratios, masses = np.linspace(-1, 1, 100_000), np.full(100_000, 1e-5)
    >>> many = Losses(ratios=ratios[None, None], masses=masses[None, None], possible=np.ones((1, 1), dtype=np.bool_))
    >>> few = gathered(many)
    >>> few.ratios.size, bool(0 <= few.excess(0.3) - many.excess(0.3) < 1e-7)
    (3614, True)
    """
    models, pairs, cells = losses.ratios.shape
    if cells * GATHERED_WIDTH <= 4:  # a grid has a few thousand points: too few cells to gain anything
        return losses
    flat = zip(losses.ratios.reshape(-1, cells), losses.masses.reshape(-1, cells), strict=True)
    rows = [_on_grid(ratios, masses) for ratios, masses in flat]
    most = max(len(ratios) for ratios, _ in rows)
    ratios, masses = (
        np.stack([np.pad(row[side], (0, most - len(row[side]))) for row in rows]).reshape(models, pairs, most)
        for side in (0, 1)
    )
    return Losses(ratios=ratios, masses=masses, possible=losses.possible)


def _on_grid(ratios: FloatArray, masses: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Split each cell's mass over two grid points, never lowering the loss: both secrets keep its probability."""
    held = np.isfinite(ratios) & (masses > 0)
    ratio, mass = ratios[held], masses[held]
    # the grid is even in arcsinh: nearly even around ratio 0, geometric in the tails
    place = np.floor(np.arcsinh(ratio) / GATHERED_WIDTH).astype(np.int64)
    low, high = np.sinh(place * GATHERED_WIDTH), np.sinh((place + 1) * GATHERED_WIDTH)
    # m = a + b under one secret and m exp(-r) = a exp(-high) + b exp(-low) under the other, solved for a
    above = mass * np.clip(np.expm1(low - ratio) / np.expm1(low - high), 0.0, 1.0)
    points, at = np.unique(np.concatenate([place, place + 1]), return_inverse=True)
    total: FloatArray = np.bincount(at, weights=np.concatenate([mass - above, above])).astype(np.float64) * (
        1 + (ratios.size + 16) * UNIT_ROUNDOFF
    )
    # an infinite ratio shows the secret whatever the noise is: its mass is kept as it is
    endless = masses[np.isposinf(ratios)].sum() * (1 + ratios.size * UNIT_ROUNDOFF)
    grid: FloatArray = np.sinh(points.astype(np.float64) * GATHERED_WIDTH)
    return np.append(grid, np.inf), np.append(total, endless)


@dataclass(frozen=True, eq=False)
class PureLosses:
    """Losses of which only the maximum is known, and not how rare it is.

    Parameters
    ----------
    values : ndarray of shape (models, pairs)
        Upper bounds of the loss in nats; -inf where a pair is no constraint.
    """

    values: FloatArray

    def excess(self, epsilon: float, law: ContinuousNoise = "laplace", shift: FloatArray | float = 0.0) -> FloatArray:
        """An upper bound on the divergence of the columns together with a noisy number, as in `Losses.excess`.

        Returns
        -------
        ndarray of shape (models, pairs)
            Rounded up; 0 where a pair is no constraint.
        """
        moved = np.broadcast_to(np.asarray(shift, dtype=np.float64), self.values.shape)
        alone = gaussian_excess if law == "gaussian" else laplace_excess
        # if the log ratio never exceeds a value, epsilon minus that value is left for the noise
        told = alone(moved, np.where(np.isneginf(self.values), epsilon, epsilon - self.values))
        return np.where(np.isneginf(self.values), 0.0, told)

    def shifts(self, epsilon: float, delta: float, law: ContinuousNoise) -> FloatArray:
        """The largest shift, in scales of the noise, that keeps every pair (epsilon, delta)-private.

        Returns
        -------
        ndarray of shape (models, pairs)
            Rounded down; -inf where the columns alone may tell too much, inf where a pair is no constraint.
        """
        low = private_shifts(self.excess, self.values.shape, epsilon, delta, law)
        return np.where(np.isneginf(self.values), np.inf, low)


class Excess(Protocol):
    """The hockey-stick divergence of what is told together with a noisy number, as in `Losses.excess`."""

    def __call__(self, epsilon: float, law: ContinuousNoise = ..., shift: FloatArray | float = ...) -> FloatArray:
        """The divergence for every model and pair."""
        ...


def private_shifts(
    excess: Excess, shape: tuple[int, ...], epsilon: float, delta: float, law: ContinuousNoise
) -> FloatArray:
    """The largest shifts whose divergence is at most `delta`, rounded down; -inf where there is none."""
    low, high = np.zeros(shape), np.full(shape, largest_shift(epsilon, delta, law))
    for _ in range(SHIFT_HALVINGS):
        middle = (low + high) / 2
        private = excess(epsilon, law, middle) <= delta
        low, high = np.where(private, middle, low), np.where(private, high, middle)
    # where the columns alone pass delta, no noise on the answer helps
    return np.where(excess(epsilon, law) <= delta, low, -np.inf)


def largest_shift(epsilon: float, delta: float, law: ContinuousNoise) -> float:
    """The shift that is private where the cells tell nothing, an upper limit on every private shift."""
    if law == "gaussian":
        return gaussian_mu(epsilon, delta)
    return (epsilon - 2 * math.log1p(-delta)) * (1 + 8 * UNIT_ROUNDOFF)


def laplace_excess(shift: FloatArray, epsilon: FloatArray) -> FloatArray:
    """The privacy curve of Laplace noise of scale 1 shifted by `shift`, at levels of either sign.

    Examples
    --------
    >>> laplace_excess(np.array([1.0, 1.0, 0.0]), np.array([0.5, 2.0, -np.inf])).round(6).tolist()
    [0.221199, 0.0, 1.0]
    """
    inside = np.abs(np.expm1(np.minimum((epsilon - shift) / 2, 0.0)))
    return np.where(epsilon <= -shift, np.abs(np.expm1(np.minimum(epsilon, 0.0))), inside)
