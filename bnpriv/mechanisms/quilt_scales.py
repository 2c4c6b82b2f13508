"""Scales of noise that quilts leave, and the best of them for every model and pair of secrets."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bnpriv.bound import UNIT_ROUNDOFF, FloatArray
from bnpriv.influence.losses import LEAST_MARGIN


def scales(sensitivity: float, influence: FloatArray, epsilon: float) -> FloatArray:
    """Return sensitivity / (epsilon - influence), rounded up; inf where the quilt is not admissible.

    Without any change to hide (sensitivity 0) the scale is 0 as soon as the influence is at most epsilon. An influence
    of -inf marks a pair that is no constraint.
    """
    if sensitivity == 0:
        return np.where(influence <= epsilon, 0.0, np.inf)
    with np.errstate(divide="ignore", invalid="ignore"):
        margin = (epsilon - influence) * (1 - 2.0**-51)
        scale = sensitivity / margin * (1 + 2.0**-50)
    return np.where(np.isneginf(influence), 0.0, np.where(margin >= LEAST_MARGIN, scale, np.inf))


def pure_shifts(influence: FloatArray, epsilon: float) -> FloatArray:
    """Return what an influence leaves of epsilon, rounded down; -inf if nothing, inf where a pair is no constraint."""
    with np.errstate(invalid="ignore"):
        left = (epsilon - influence) * (1 - 2.0**-51)
    return np.where(np.isneginf(influence), np.inf, np.where(influence <= epsilon, left, -np.inf))


def approximate_scales(sensitivity: float, shifts: FloatArray) -> FloatArray:
    """Return sensitivity / shifts, rounded up; inf where the quilt is not admissible, which a shift of -inf marks.

    Without any change to hide (sensitivity 0) the scale is 0 as soon as the quilt alone is private.
    """
    if sensitivity == 0:
        return np.where(shifts >= 0, 0.0, np.inf)
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = sensitivity / shifts * (1 + 8 * UNIT_ROUNDOFF)
    return np.where(shifts >= LEAST_MARGIN, scale, np.inf)


@dataclass(kw_only=True)
class Best:
    """The least scale found so far for every model and ordered pair, each of shape (models, pairs).

    Pairs that are no constraint have told -inf and scale 0.
    """

    scale: FloatArray
    told: FloatArray
    chosen: NDArray[np.intp]
    tried: list[frozenset[str]]

    @classmethod
    def start(cls, values: FloatArray) -> Best:
        """Start with no set tried, from values of what nothing tells: -inf where a pair is no constraint."""
        free = np.isneginf(values)
        return cls(
            scale=np.where(free, 0.0, np.inf),
            told=np.where(free, -np.inf, 0.0),
            chosen=np.zeros(values.shape, dtype=np.intp),
            tried=[],
        )

    def offer(self, near: frozenset[str], scale: FloatArray, told: FloatArray) -> None:
        """Take `near` wherever it needs less noise than the best so far, or as much with fewer columns."""
        self.tried.append(near)
        sizes = np.array([len(columns) for columns in self.tried])
        better = (scale < self.scale) | ((scale == self.scale) & (len(near) < sizes[self.chosen]))
        self.scale[better] = scale[better]
        self.told[better] = told[better]
        self.chosen[better] = len(self.tried) - 1

    def worst(self) -> tuple[int, int, frozenset[str]]:
        """Return the model, pair and near set that need the most noise; among equals the most telling."""
        constrained = ~np.isneginf(self.told)
        most = (self.scale == self.scale[constrained].max()) & constrained
        place = int(np.argmax(np.where(most, self.told, -np.inf)))
        model, k = (int(x) for x in np.unravel_index(place, self.scale.shape))
        return model, k, self.tried[int(self.chosen[model, k])]
