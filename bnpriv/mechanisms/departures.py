"""Answers whose law is normal, or nearly so, as those of clamped records are (docs/claims/normal_records.md)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import cast

import numpy as np

from bnpriv.bound import Bound
from bnpriv.errors import Refusal
from bnpriv.evidence.constraints import LawPair
from bnpriv.laws.normal import Normal
from bnpriv.transport.distance import w_infinity, w_infinity_bounds

OTHER_COVARIANCES = Refusal(
    required="the two normal laws of a pair must have one covariance",
    found="two that differ",
    remedy="Declare one covariance for both, or use WassersteinMechanism with Laplace noise and delta above 0.",
)


def are_normal(pairs: Sequence[LawPair] | Refusal) -> bool:
    """Return whether there are pairs of laws, and all of them are normal."""
    return not isinstance(pairs, Refusal) and all(
        isinstance(law, Normal) for pair in pairs for law in (pair.first, pair.second)
    )


def one_covariance(pair: LawPair) -> bool:
    """Return whether two normal laws have exactly the same covariance."""
    first, second = normals_of(pair)
    return bool(np.array_equal(first.covariance, second.covariance))


def normals_of(pair: LawPair) -> tuple[Normal, Normal]:
    """Return both laws, which are normal."""
    return cast(Normal, pair.first), cast(Normal, pair.second)


def distance_of(pair: LawPair, norm: float) -> Bound:
    """Return the infinity-Wasserstein distance of the answers under two secrets, before grids and doubles move them."""
    if pair.departure is None:
        return w_infinity(pair.first, pair.second, norm)
    return Bound(0.0, pair.departure.farthest(norm), pair.kind)


def distance_bounds(pair: LawPair, norm: float) -> Bound:
    """Return cheap bounds on `distance_of`; they are kept with the pair, whatever epsilon is asked for next."""
    if pair.departure is not None:
        return distance_of(pair, norm)
    if norm not in pair.distances:
        pair.distances[norm] = w_infinity_bounds(pair.first, pair.second, norm)
    return pair.distances[norm]


def clamped_of(pair: LawPair, epsilon: float) -> float:
    """Return what clamped records may add to the excess of one law over exp(epsilon) times the other."""
    if pair.departure is None or not pair.departure.mass:
        return 0.0
    return math.inf if epsilon > 700 else (1 + math.exp(epsilon)) * pair.departure.mass * (1 + 2.0**-50)
