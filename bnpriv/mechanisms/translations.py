"""Pairs of laws that are translations of one another: by what, and how closely."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from bnpriv.bound import UNIT_ROUNDOFF, FloatArray
from bnpriv.errors import Refusal, SizeError
from bnpriv.evidence.constraints import LawPair
from bnpriv.laws.atoms import Atoms
from bnpriv.laws.normal import Normal
from bnpriv.mechanisms.normal_laws import NormalPair, normal_refusal
from bnpriv.render.text import nats_text
from bnpriv.transport.distance import w_infinity
from bnpriv.transport.space import check_pairs, lengths
from bnpriv.transport.tolerance import tolerance

SHIFT_ROUNDING = 2.0**-50
"""By how much atoms may leave a translation, relative to their size: as much as rounding them may do."""

MASS_ROUNDING = 1e-9
"""By how much the logs of masses that are called the same may differ; what it costs is paid."""

REMEDY = "Use WassersteinMechanism or TightMechanism, which need no translation."


@final
@dataclass(frozen=True, eq=False)
class MovedLaw:
    """Two laws of which one is the other, moved by a gap.

    Parameters
    ----------
    pair : LawPair
    protected : str
        The protected attribute.
    model : int
        The index in Theta.
    shifts : ndarray, shape (k, d)
        By what each atom is moved; a single row for normal laws. For answers of tables how far each number is moved at
        most, whatever is clamped.
    masses : float
        By how much the logs of the masses may differ.
    uneven : float
        How far apart the two normal laws may be in total variation because their covariances differ by rounding.
    away : float
        By how much, in the 1-norm, some pairing of the two laws leaves the shift; 0 for translations.
    """

    pair: LawPair
    protected: str
    model: int
    shifts: FloatArray
    masses: float = 0.0
    uneven: float = 0.0
    away: float = 0.0

    @property
    def gap(self) -> FloatArray:
        """What the laws are moved by, shape (d,)."""
        return (self.shifts.max(axis=0) + self.shifts.min(axis=0)) / 2

    @property
    def aside(self) -> FloatArray:
        """How far an atom may be off the gap, for each number, shape (d,); rounded up."""
        off = np.abs(self.shifts - self.gap).max(axis=0)
        return (off + 2 * UNIT_ROUNDOFF * np.abs(self.shifts).max(axis=0)) * (1 + 8 * UNIT_ROUNDOFF)

    @property
    def rounding(self) -> float:
        """How far apart, in the 1-norm, two answers may be besides the shift."""
        return self.pair.rounding + self.away

    def farthest(self, norm: int) -> float:
        """Return how far any mass moves, rounded up."""
        far = float(lengths(self.shifts.T, norm).max()) + self.away
        return far * (1 + 4 * (self.shifts.shape[1] + 2) * UNIT_ROUNDOFF)


def translations(pairs: Sequence[NormalPair], *, nearly: bool = False) -> list[MovedLaw] | Refusal:
    """All pairs as translations, or by how much a pair fails to be one.

    Parameters
    ----------
    pairs : sequence of NormalPair
        Of laws of any kind.
    nearly : bool
        Whether atoms are taken, too, that are translations but for a distance.
    """
    moved: list[MovedLaw] = []
    for each in pairs:
        one = _of_normal(each) if isinstance(each.pair.first, Normal) else _of_atoms(each)
        if isinstance(one, Refusal) and nearly and isinstance(each.pair.first, Atoms) and each.pair.sampled is None:
            one = _nearly(each)
        if isinstance(one, Refusal):
            return one
        moved.append(one)
    return moved


def _of_normal(each: NormalPair) -> MovedLaw | Refusal:
    if each.pair.departure is not None:
        return MovedLaw(*each, each.pair.departure.moves[None, :])
    return normal_refusal(each) or MovedLaw(*each, each.gap[None, :], uneven=each.departure)


def _of_atoms(each: NormalPair) -> MovedLaw | Refusal:
    first, second = each.pair.first, each.pair.second
    assert isinstance(first, Atoms)
    assert isinstance(second, Atoms)
    if each.pair.sampled is not None:
        return _departure("laws learned from draws", each)
    if first.size != second.size:
        return _departure(f"laws with {first.size:,} and {second.size:,} possible answers", each)
    masses = float(np.max(np.abs(first.logs - second.logs)))
    if masses > MASS_ROUNDING:
        apart = float(np.abs(first.probabilities - second.probabilities).sum()) / 2
        return _departure(f"masses that differ by {nats_text(apart, 3)} in total variation, in order", each)
    shifts = first.points - second.points
    off = np.ptp(shifts, axis=0) / 2
    sizes = np.maximum(np.abs(first.points).max(axis=0), np.abs(second.points).max(axis=0))
    if np.any(off > SHIFT_ROUNDING * sizes):
        return _departure(f"answers that leave it by {nats_text(float(off.max()), 3)}", each)
    return MovedLaw(*each, shifts, masses=math.nextafter(masses + first.error + second.error, math.inf))


def _nearly(each: NormalPair) -> MovedLaw | Refusal:
    """Return the gap of the means, and how far mass must move from one law to the other moved by it: Thm 4.7."""
    first, second = each.pair.first, each.pair.second
    assert isinstance(first, Atoms)
    assert isinstance(second, Atoms)
    gap = first.mean - second.mean
    points = second.points + gap
    try:
        moved = Atoms.from_logs(points, second.logs, second.error)
        check_pairs(first, moved)
    except SizeError as error:
        return Refusal.of(error)
    sizes = np.abs(second.points).max(axis=0) + np.abs(gap)
    slack = tolerance(first, moved)
    return MovedLaw(
        *each,
        gap[None, :],
        masses=math.inf if slack >= 1 else -math.log1p(-slack) * (1 + 2.0**-40),
        away=w_infinity(first, moved, 1).upper + float(sizes.sum()) * 2 * UNIT_ROUNDOFF,
    )


def _departure(found: str, each: NormalPair) -> Refusal:
    return Refusal(
        required="the two laws of a pair must be translations of one another",
        found=f"{found} ({each.protected}, {each.pair.pair})",
        remedy=REMEDY,
    )
