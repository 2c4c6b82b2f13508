"""How a secret moves the means of the columns, where records or parameters are jointly normal (claim: normal_records).

Given that a weighted sum of normal numbers has the value a, the others are normal with a mean that moves with a, in
proportion to it, and a covariance that does not depend on a.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast, final

import numpy as np

from bnpriv.bound import UNIT_ROUNDOFF, FloatArray
from bnpriv.networks.gaussian import GaussianNetwork

MOST_LOST = 1e-3
"""A covariance that may be off by more than this share of itself, in some direction, is not counted on."""


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class Translation:
    """The joint law of normal numbers given the value of a weighted sum of them.

    Parameters
    ----------
    centre, deviation : float
        Mean and standard deviation of that sum.
    mean : ndarray of shape (d,)
        Of the numbers, where the sum has its mean.
    slope : ndarray of shape (d,)
        By how much the mean of each moves when the sum grows by 1.
    slope_error : ndarray of shape (d,)
        How far rounding may have taken each slope off.
    covariance : ndarray of shape (d, d)
        Of the numbers given the sum; the true one is at least this, as quadratic forms are ordered.
    spread : ndarray of shape (d,)
        Standard deviation of each number, whatever the sum is; rounded up.
    """

    centre: float
    deviation: float
    mean: FloatArray
    slope: FloatArray
    slope_error: FloatArray
    covariance: FloatArray
    spread: FloatArray


def translation(
    network: GaussianNetwork, model: int, weights: FloatArray, names: Sequence[str], fixed: str | None
) -> Translation:
    """Return how a weighted sum of all attributes moves some of them, under one model.

    Parameters
    ----------
    network : GaussianNetwork
    model : int
    weights : ndarray of shape (attributes,)
        Of the sum, not all 0.
    names : sequence of str, length d
        The attributes that are asked about.
    fixed : str, optional
        One of `names` that the sum and the others determine; its own row of the covariance is left at 0.

    Returns
    -------
    Translation
    """
    root = network.root[model]
    rows = root[[network.attributes.index(name) for name in names]]
    sum_row = weights @ root
    scaled, lengths = _scaled(np.vstack([sum_row, rows]))
    # the terms of the sum may cancel what they carry
    carried = float(np.abs(weights) @ np.linalg.norm(root, axis=1)) / float(lengths[0])
    error = 2 * network.rounding + 16 * root.shape[1] ** 2 * UNIT_ROUNDOFF * carried
    slope = scaled[1:] @ scaled[0] * lengths[1:] / lengths[0]
    slope_error = 4 * error * lengths[1:] / lengths[0]
    free = [k for k, name in enumerate(names) if name != fixed]
    covariance = np.zeros((len(names), len(names)))
    if free:
        covariance[np.ix_(free, free)] = _given(scaled[[0, *(1 + k for k in free)]], lengths[1:][free], error)
    return Translation(
        centre=float(weights @ network.mean[model]),
        deviation=float(lengths[0]),
        mean=network.mean[model][[network.attributes.index(name) for name in names]],
        slope=slope,
        slope_error=slope_error,
        covariance=covariance,
        spread=lengths[1:] * (1 + error),
    )


def _scaled(rows: FloatArray) -> tuple[FloatArray, FloatArray]:
    lengths = np.linalg.norm(rows, axis=1)
    return rows / lengths[:, np.newaxis], lengths


def _given(scaled: FloatArray, lengths: FloatArray, error: float) -> FloatArray:
    """Return the covariance of all rows but the first given the first, rounded down in every direction.

    The rows are brought to triangular form: below the first what is left of each is a root of the covariance (the Schur
    complement). Where it cannot be told from a singular one, none is counted on.
    """
    triangle = cast(FloatArray, np.linalg.qr(scaled.T, mode="r"))
    rest = triangle[1:, 1:]
    lost = 8 * error * float(np.linalg.cond(scaled)) if rest.shape[0] == rest.shape[1] else np.inf
    if not lost <= MOST_LOST:
        return np.zeros((len(lengths), len(lengths)))
    return (rest.T @ rest) * np.outer(lengths, lengths) * (1 - lost)
