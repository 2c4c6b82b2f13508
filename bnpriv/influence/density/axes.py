"""The points at which one parameter is looked at, and their weights in integrals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from bnpriv.bound import FloatArray
from bnpriv.influence.density.scales import Scale


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class Axis:
    """Points of one parameter.

    Parameters
    ----------
    coordinates : ndarray of shape (points,)
        Ascending; positions in the list of states for a parameter of finitely many.
    values : ndarray of shape (points,)
    log_weights : ndarray of shape (points,)
        An integral is the sum of the integrand times the weights; 0 where none is meant.
    """

    coordinates: FloatArray
    values: FloatArray
    log_weights: FloatArray

    @property
    def points(self) -> int:
        """How many points there are."""
        return self.values.size


def steps(scale: Scale, low: float, high: float, points: int) -> Axis:
    """Return equal steps of the coordinate with their weights in integrals."""
    t = np.linspace(low, high, points)
    width = (high - low) / (points - 1)
    return Axis(coordinates=t, values=scale.values(t), log_weights=scale.log_slope(t) + np.log(width))


def bare(scale: Scale, coordinates: FloatArray) -> Axis:
    """Points without weights."""
    return Axis(coordinates=coordinates, values=scale.values(coordinates), log_weights=np.zeros(coordinates.size))


def between(scale: Scale, low: float, high: float, points: int) -> Axis:
    """Points dense at both ends of an interval of the coordinate, with their weights in integrals."""
    u = np.linspace(-3.0, 3.0, points)
    bent = np.pi / 2 * np.sinh(u)
    half = (high - low) / 2
    # measured from the nearer end, so that points close to it keep their digits
    share = np.exp(-np.abs(bent)) / np.cosh(bent) * half
    t = np.where(u < 0, low + share, high - share)
    slope = np.log(half * np.pi / 2 * np.cosh(u)) - 2 * np.log(np.cosh(bent)) + np.log(6.0 / (points - 1))
    return Axis(coordinates=t, values=scale.values(t), log_weights=scale.log_slope(t) + slope)


def listed(states: FloatArray, positions: FloatArray) -> Axis:
    """Return states of a parameter of finitely many, each of weight 1."""
    return Axis(coordinates=positions, values=states, log_weights=np.zeros(states.size))
