"""What columns tell about a parameter in a linear-Gaussian network: a number mu, and its privacy curve."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np

from bnpriv.bound import UNIT_ROUNDOFF, FloatArray
from bnpriv.core.gaussian_curve import NORMAL_LOG_ERROR, gaussian_excess, gaussian_mu
from bnpriv.core.influence.base import (
    Influence,
    asked_columns,
    laplace_excess,
    plain_text,
    private_shifts,
    tells,
    worst_place,
)
from bnpriv.core.noise import ContinuousNoise
from bnpriv.core.secrets import ContinuousPair
from bnpriv.kinds.density.influence import overlap_text
from bnpriv.kinds.gaussian.network import GaussianNetwork, farthest_values
from bnpriv.render.figures import TwoCurves
from bnpriv.text import number_text, some_text

# --------------------------------------------------------------------------------------------------
# The privacy curve of Laplace noise beside a normal privacy loss.
# --------------------------------------------------------------------------------------------------

LOG_OF_ZERO = -1e6
"""A log whose exponential is 0 in doubles, and no infinity that would spoil a product."""


LARGEST_MU = 1e100
"""Normal laws that are further apart are told apart as well to the last bit."""


def laplace_normal_excess(mu: FloatArray, shift: FloatArray, epsilon: float) -> FloatArray:
    """Return the hockey-stick divergence of a normal and a Laplace number that a secret moves together.

    Parameters
    ----------
    mu : ndarray
        By how many standard deviations it moves the normal number, above 0.
    shift : ndarray
        By how many scales it moves the Laplace number, at least 0.
    epsilon : float
        At least 0.

    Returns
    -------
    ndarray
        Rounded up.

    Notes
    -----
    The loss l of the normal number is normal with mean mu^2/2 and deviation mu. Given l the Laplace number's curve at
    epsilon - l is 0 up to l = a = epsilon - shift, then 1 - exp((a - l)/2) up to l = b = epsilon + shift, then
    1 - exp(epsilon - l). Each term is a tail of l under a tilted normal law, and none is larger than the first.

    Examples
    --------
    >>> laplace_normal_excess(np.array([1.0]), np.array([0.5]), 1.0).round(6).tolist()
    [0.164242]
    """
    from scipy.special import log_ndtr

    mu = np.minimum(mu, LARGEST_MU)
    a, b, half = epsilon - shift, epsilon + shift, mu**2 / 2
    tilt = a / 2 - mu**2 / 8
    first = _power(log_ndtr((half - a) / mu), 0.0, up=True)
    near = _power(log_ndtr(-a / mu), tilt, up=False)
    far = _power(log_ndtr(-b / mu), tilt, up=True)
    last = _power(log_ndtr(-(b + half) / mu), epsilon, up=False)
    return np.clip(first - near + far - last, 0.0, 1.0)


def _power(log: FloatArray, factor: FloatArray | float, *, up: bool) -> FloatArray:
    """Return exp(log + factor), rounded up or down by all that its exponent and the final sum can err."""
    log = np.maximum(log, LOG_OF_ZERO)
    error = NORMAL_LOG_ERROR * (1 + np.abs(log) + np.abs(factor))
    with np.errstate(over="ignore", under="ignore"):
        return np.exp(log + factor) * (1 + error if up else np.maximum(1 - error, 0.0))


# --------------------------------------------------------------------------------------------------
# What columns tell about a parameter in a linear-Gaussian network: a number mu, and the privacy curve that follows.
#
# Given the parameter's value the columns' parameters are normal with a mean that moves with it and a covariance that
# does not. Two values are told apart as well as two normal numbers of deviation 1 that are mu apart: no factor bounds
# the odds (the max-influence is infinite unless mu = 0), but a large factor is improbable.
# docs/claims/gaussian_network.md.
# --------------------------------------------------------------------------------------------------

CONDITIONAL_POINTS = 241
PLOTTED_DEVIATIONS = 4.0
"""Standard deviations beyond the means that are drawn."""


@dataclass(frozen=True, eq=False)
class GaussianLosses:
    """The privacy losses of normal laws that differ in their means alone.

    Parameters
    ----------
    mahalanobis : ndarray of shape (models, pairs)
        How many deviations the secret moves them, rounded up.
    """

    mahalanobis: FloatArray

    def excess(self, epsilon: float, law: ContinuousNoise = "laplace", shift: FloatArray | float = 0.0) -> FloatArray:
        """Return the hockey-stick divergence of the columns together with a noisy number, as `Losses.excess` does.

        Returns
        -------
        ndarray of shape (models, pairs)
            Rounded up.

        Notes
        -----
        With Gaussian noise the two are one normal number, moved by sqrt(mu^2 + shift^2); with Laplace noise see
        `laplace_normal_excess`.
        """
        told, moved = np.broadcast_arrays(self.mahalanobis, np.asarray(shift, dtype=np.float64))
        level = np.full(told.shape, epsilon)
        if law == "gaussian":
            return gaussian_excess(np.hypot(told, moved) * (1 + 4 * UNIT_ROUNDOFF), level)
        some = told > 0
        return np.where(
            some, laplace_normal_excess(np.where(some, told, 1.0), moved, epsilon), laplace_excess(moved, level)
        )

    def shifts(self, epsilon: float, delta: float, law: ContinuousNoise) -> FloatArray:
        """Return the largest shift, in scales of the noise, that keeps every pair (epsilon, delta)-private.

        Returns
        -------
        ndarray of shape (models, pairs)
            Rounded down; -inf where the columns alone tell too much.
        """
        if law == "laplace":
            return private_shifts(self.excess, self.mahalanobis.shape, epsilon, delta, law)
        most = gaussian_mu(epsilon, delta)
        told = self.mahalanobis
        left = np.sqrt(np.maximum((most - told) * (most + told), 0.0)) * (1 - 8 * UNIT_ROUNDOFF)
        return np.where(told <= most, left, -np.inf)


def largest_distance(influence: Influence) -> float:
    """The largest Mahalanobis distance over models and pairs: `details` holds them all, of shape (models, pairs)."""
    return float(influence.details.max())


def gaussian_losses(influence: Influence) -> GaussianLosses:
    """The privacy losses of every model and pair."""
    return GaussianLosses(influence.details)


def explain_distance(influence: Influence) -> str:
    """What the largest Mahalanobis distance means."""
    mu = largest_distance(influence)
    if mu == 0:
        return plain_text(influence)
    about = f"About {influence.protected} ({influence.pair})"
    names = f"{some_text(influence.columns)} {tells(influence.columns)}"
    return (
        f"{about} {names} as much as one normal number of deviation 1 whose mean differs by mu = "
        f"{number_text(mu)} between the two.\nNo factor bounds the odds, but a large one is improbable: "
        "delta(epsilon) says how much."
    )


def gaussian_influence(
    network: GaussianNetwork, columns: Iterable[str], protected: str, pairs: Sequence[ContinuousPair]
) -> Influence:
    """The influence for pairs of values, each once."""
    asked = asked_columns(network, columns, protected)
    border = network.graph.frontier(protected, asked)
    farthest = np.array([pair.farthest for pair in pairs])
    unit = _unit_distance(network, protected, border)[:, np.newaxis]
    # values of an interval without an end may be any distance apart, which tells nothing where nothing moves
    mahalanobis = np.multiply(unit, farthest, out=np.zeros((len(unit), len(pairs))), where=unit > 0)
    mahalanobis *= 1 + 4 * UNIT_ROUNDOFF
    values = np.where(mahalanobis > 0, np.inf, 0.0)
    mahalanobis.flags.writeable = values.flags.writeable = False
    model, k = worst_place(mahalanobis)
    points = all(pair.is_point for pair in pairs)
    return Influence(
        columns=asked,
        protected=protected,
        frontier=border,
        pairs=tuple(pairs),
        values=values,
        error=0.0,
        kind="exact" if points else "certified",
        pair=pairs[k],
        model=model,
        network=network,
        details=mahalanobis,
        how="exact" if points else "a bound: of an interval its farthest values count",
    )


def two_normals(influence: Influence, name: str) -> TwoCurves:
    """The law of an attribute given the two farthest values of the pair that is told apart best."""
    network, pair = cast(GaussianNetwork, influence.network), cast(ContinuousPair, influence.pair)
    protected, model = influence.protected, influence.model
    i, j = network.attributes.index(protected), network.attributes.index(name)
    mean, covariance = network.mean[model], network.covariance[model]
    slope = covariance[i, j] / covariance[i, i]
    spread = float(np.sqrt(max(covariance[j, j] - slope * covariance[i, j], 0.0)))
    # of an interval without an end a value is drawn that hardly any lie beyond
    far = PLOTTED_DEVIATIONS * float(np.sqrt(covariance[i, i]))
    ends = farthest_values(pair, float(mean[i]))
    secrets = [end if math.isfinite(end) else float(mean[i]) + math.copysign(far, end) for end in ends]
    centres = [float(mean[j] + slope * (value - mean[i])) for value in secrets]
    values = np.linspace(
        min(centres) - PLOTTED_DEVIATIONS * spread, max(centres) + PLOTTED_DEVIATIONS * spread, CONDITIONAL_POINTS
    )
    first, second = (
        (np.exp(-(((values - centre) / spread) ** 2) / 2) / (spread * np.sqrt(2 * np.pi))).tolist()
        for centre in centres
    )
    return TwoCurves(
        values=values.tolist(),
        first=first,
        second=second,
        finite=False,
        names=(f"{protected}: {secrets[0]:g}", f"{protected}: {secrets[1]:g}"),
        title=f"{name} given two secrets",
        desc=overlap_text(name, f"{secrets[0]:g} against {secrets[1]:g}"),
    )


def _unit_distance(network: GaussianNetwork, protected: str, border: Sequence[str]) -> FloatArray:
    """Return sqrt(L' S^-1 L) for every model, rounded up.

    The root of the covariance of (protected, border) is brought to triangular form: its first row holds what the border
    shares with the protected attribute, the rest is a root of S. No covariance is inverted, so that noises of very
    different sizes lose no digits.
    """
    if not border:
        return np.zeros(network.models)
    rows = [network.attributes.index(name) for name in (protected, *border)]
    root = network.root[:, rows]
    lengths = np.linalg.norm(root, axis=2, keepdims=True)
    triangle = cast(FloatArray, np.linalg.qr(np.swapaxes(root / lengths, 1, 2), mode="r"))
    shared, rest = triangle[:, 0, 1:], triangle[:, 1:, 1:]
    told = np.linalg.solve(np.swapaxes(rest, 1, 2), shared[:, :, np.newaxis])[:, :, 0]
    size = np.linalg.norm(told, axis=1)
    return (size * (1 + network.rounding) + network.rounding) / lengths[:, 0, 0]
