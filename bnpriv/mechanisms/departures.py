"""What a calibration owes to answers of tables whose law is nearly normal (docs/claims/normal_records.md)."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

from bnpriv.bound import Bound, down, up
from bnpriv.divergences import gaussian_mu
from bnpriv.errors import Refusal
from bnpriv.evidence import LawPair
from bnpriv.transport import w_infinity, w_infinity_bounds

SHARE = 2.0**-7
"""Of epsilon and delta: what grids and doubles may cost."""


class Paid(NamedTuple):
    """What is left for normal laws once it is paid for that the answers of a table depart from them.

    Parameters
    ----------
    epsilon, delta : float
        What the two normal laws, with the noise, must keep.
    least : float
        Standard deviation that Gaussian noise must have at least, in every direction; 0 where none is needed.
    """

    epsilon: float
    delta: float
    least: float


def distance_of(pair: LawPair, norm: float) -> Bound:
    """Return the infinity-Wasserstein distance of the answers under two secrets, before grids and doubles move them."""
    if pair.departure is None:
        return w_infinity(pair.first, pair.second, norm)
    return Bound(0.0, pair.departure.farthest(norm), pair.kind)


def distance_bounds(pair: LawPair, norm: float) -> Bound:
    """Return cheap bounds on `distance_of`."""
    return w_infinity_bounds(pair.first, pair.second, norm) if pair.departure is None else distance_of(pair, norm)


def clamped_of(pair: LawPair, epsilon: float) -> float:
    """Return what clamped records may add to the excess of one law over exp(epsilon) times the other."""
    if pair.departure is None or not pair.departure.mass:
        return 0.0
    return math.inf if epsilon > 700 else (1 + math.exp(epsilon)) * pair.departure.mass * (1 + 2.0**-50)


def paid(pairs: Iterable[LawPair], epsilon: float, delta: float, share: float = SHARE) -> Paid | Refusal:
    """Return what (epsilon, delta) leave for the normal laws of some pairs, with the noise that this takes at least.

    Parameters
    ----------
    pairs : iterable of LawPair
        Of normal laws.
    epsilon, delta : float
        Above 0.
    share : float
        Of both, what grids and doubles may cost.

    Returns
    -------
    Paid or Refusal
        A refusal where delta does not cover that records are clamped.

    Examples
    --------
    >>> from bnpriv.laws import Normal
    >>> from bnpriv.evidence import LawPair
    >>> pair = LawPair(pair="a against b", first=Normal(0, 1), second=Normal(1, 1), rounding=0.0)
    >>> paid([pair], 1.0, 1e-3)
    Paid(epsilon=1.0, delta=0.001, least=0.0)
    """
    listed = list(pairs)
    clamped = max((clamped_of(pair, epsilon) for pair in listed), default=0.0)
    moved = max((pair.rounding for pair in listed), default=0.0) / 2
    left = delta if not clamped else down(delta - clamped)
    if not left > 0:
        return Refusal(
            required=f"delta must be above what clamped records may tell, {clamped:.3g}",
            found=f"delta {delta:g}",
            remedy="Declare wider bounds of the queried columns, so that the model hardly ever passes them.",
        )
    if not moved:
        return Paid(epsilon, left, 0.0)
    # each law is moved once: docs/claims/normal_records.md
    lost, missing = share * epsilon / 2, share * left / (1 + math.exp(min(epsilon, 700.0)))
    rest = down((left - missing * (1 + math.exp(min(epsilon, 700.0) - lost))) * math.exp(-lost), 16)
    return Paid(down(epsilon - 2 * lost), rest, up(moved / gaussian_mu(lost, missing)))
