"""Of normal laws under many models those that ask for the most noise: the others need not be looked at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from bnpriv.bound import FloatArray, up
from bnpriv.evidence.constraints import LawPair
from bnpriv.laws.normal import Normal

LIKE_GAP = 1e-9
"""How far, for its length, a gap of several numbers may be from another that counts as the same."""

SHRUNK = 1e-6
"""Share that is taken off the covariance of what stands for others: far above what rounding adds to a comparison."""


def hardest(pairs: Sequence[LawPair]) -> dict[int, LawPair]:
    """Return those pairs of normal laws, by place, of which none asks for at least as much noise as another.

    Of one number a pair asks for no more than another if its means are no further apart, its variance is no smaller,
    and clamping, moves and rounding are no larger; of several if the gap is the same up to rounding, and the covariance
    is no smaller in any direction. What stands for others of several numbers is made a little harder than all of them
    (docs/claims/belief.md).
    """
    if not pairs:
        return {}
    if pairs[0].first.dimension > 1:
        return _of_several(pairs)
    facts = np.array([_hardness(pair) for pair in pairs])
    _, first = np.unique(facts, axis=0, return_index=True)
    rows = facts[first]
    beaten = [bool(((rows >= row).all(axis=1) & (rows > row).any(axis=1)).any()) for row in rows]
    return {int(k): pairs[k] for k, worse in sorted(zip(first, beaten, strict=True)) if not worse}


def _hardness(pair: LawPair) -> list[float]:
    """Return numbers of which larger ones ask for more noise."""
    return [abs(float(_gap(pair)[0])), -float(_normal(pair).covariance[0, 0]), *_others(pair)]


def _normal(pair: LawPair) -> Normal:
    assert isinstance(pair.first, Normal)
    return pair.first


def _gap(pair: LawPair) -> FloatArray:
    assert isinstance(pair.second, Normal)
    return pair.second.mean - _normal(pair).mean


def _others(pair: LawPair) -> list[float]:
    """Return rounding, and the probability and the lengths of moves where records are clamped."""
    departure = pair.departure
    far = [0.0] * (1 + pair.first.dimension) if departure is None else [departure.mass, *departure.moves.tolist()]
    return [pair.rounding, *far]


def _of_several(pairs: Sequence[LawPair]) -> dict[int, LawPair]:
    sizes = [float(np.trace(_normal(pair).covariance)) for pair in pairs]
    kept: dict[int, LawPair] = {}
    for k in sorted(range(len(pairs)), key=lambda k: sizes[k]):
        above = next((j for j in kept if _outdoes(pairs[j], pairs[k])), None)
        if above is None:
            kept[k] = pairs[k]
        elif kept[above] is pairs[above]:
            kept[above] = _harder(pairs[above])
    return dict(sorted(kept.items()))


def _outdoes(pair: LawPair, other: LawPair) -> bool:
    """Return whether what `_harder` makes of a pair asks for at least as much noise as another pair."""
    gap, covariance, larger = _gap(pair), _normal(pair).covariance, _normal(other).covariance
    if float(np.abs(_gap(other) - gap).sum()) > LIKE_GAP * float(np.abs(gap).sum()):
        return False
    if any(a < b for a, b in zip(_others(pair), _others(other), strict=True)):
        return False
    if not covariance.any():
        return True
    try:
        root = np.linalg.cholesky(covariance)
    except np.linalg.LinAlgError:
        return False
    scaled = np.linalg.solve(root, np.linalg.solve(root, larger).T)
    return float(np.linalg.eigvalsh((scaled + scaled.T) / 2)[0]) >= 1 - SHRUNK / 2


def _harder(pair: LawPair) -> LawPair:
    """Return a pair that asks for as much noise as all that differ from it by rounding, or have more variance."""
    shrunk = _normal(pair).covariance * (1 - SHRUNK)
    first, second = (Normal(law.mean, shrunk) for law in (_normal(pair), pair.second) if isinstance(law, Normal))
    return replace(
        pair, first=first, second=second, rounding=up(pair.rounding + LIKE_GAP * float(np.abs(_gap(pair)).sum()), 8)
    )
