"""What a calibration owes to answers of tables whose law is nearly normal (docs/claims/normal_records.md)."""

from __future__ import annotations

import math

from bnpriv.bound import Bound
from bnpriv.evidence import LawPair
from bnpriv.transport import w_infinity, w_infinity_bounds


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
