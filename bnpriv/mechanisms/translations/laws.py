"""Pairs of laws that are translations of one another: by what, and what is left of epsilon."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from bnpriv.bound import UNIT_ROUNDOFF, Bound, FloatArray, down
from bnpriv.core.distributions import Atoms, Normal
from bnpriv.core.evidence.constraints import LawPair
from bnpriv.core.frameworks.question import Framework
from bnpriv.core.gaussian_curve import CONSTANTS, GaussianConstant, constant_refusal, gaussian_ratio
from bnpriv.core.mechanisms.base import Search
from bnpriv.core.mechanisms.column import noise_refusal
from bnpriv.core.mechanisms.law_decision import MOVED_RULE, LawDecision, law_certificate
from bnpriv.core.mechanisms.weights import Found
from bnpriv.core.noise import ContinuousNoise, Noise
from bnpriv.core.queries.base import Query
from bnpriv.core.transport.distance import w_infinity
from bnpriv.core.transport.line import tolerance
from bnpriv.core.transport.space import check_pairs, lengths
from bnpriv.errors import Refusal, SizeError
from bnpriv.mechanisms.gaussian.covariance import TAIL_SHARE, declares_normal_laws, reach_of, spent_delta
from bnpriv.mechanisms.gaussian.laws import NormalPair, laws_by_pairs, normal_refusal
from bnpriv.text import nats_text

# --------------------------------------------------------------------------------------------------
# Pairs of laws that are translations of one another: by what, and how closely.
# --------------------------------------------------------------------------------------------------

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


# --------------------------------------------------------------------------------------------------
# What the mechanisms for translations of one law share: what they refuse, and what is left of epsilon and delta.
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class ForTranslations:
    """What mechanisms have in common that hide the gaps of laws that are translations of one another.

    It stands before `Mechanism` among the bases of such a mechanism, which adds the shape of the noise.

    Parameters
    ----------
    noise : {"laplace", "gaussian"}
    constant : {"analytic", "textbook", "lecture"}
        Of Gaussian noise.
    beyond_proof, large_delta : bool
        Waivers of refusals.
    """

    noise: ContinuousNoise = "laplace"
    constant: GaussianConstant = "analytic"
    beyond_proof: bool = False
    large_delta: bool = False
    claim: ClassVar[str]
    compares_laws: ClassVar[bool] = True
    choices: ClassVar[Mapping[str, tuple[str, ...]]] = {"noise": ("laplace", "gaussian"), "constant": CONSTANTS}

    _theorem: ClassVar[str]
    """What a certificate calls the mechanism."""

    @property
    def norm(self) -> int:
        """The norm in which the noise hides a gap."""
        return 1 if self.noise == "laplace" else 2

    def concerns(self, framework: Framework) -> bool:
        """Whether normal laws were declared."""
        return declares_normal_laws(framework)

    def _decide(self, framework: Framework, query: Query, epsilon: float, delta: float) -> Search | Refusal:
        refusal = noise_refusal(self.noise, framework, delta, large_delta=self.large_delta)
        if self.noise == "gaussian":
            refusal = refusal or constant_refusal(self.constant, epsilon, beyond_proof=self.beyond_proof)
        found = refusal or laws_by_pairs(framework, query)
        if isinstance(found, Refusal):
            return found
        evidence, pairs = found
        moved = self._translations(pairs)
        if isinstance(moved, Refusal):
            return moved
        # what differs by rounding is paid for: by epsilon, or by delta
        masses, uneven = max(each.masses for each in moved), max(each.uneven for each in moved)
        inner = down(epsilon - masses)
        left = down(delta * (1 - TAIL_SHARE) * math.exp(-masses) - math.exp(epsilon) * uneven, 16)
        if self.noise == "laplace" and inner > 0 and uneven == 0:
            ratio = inner
        elif self.noise == "gaussian" and inner > 0 and left > 0:
            ratio = gaussian_ratio(inner, left, self.constant)
        else:
            return Refusal(
                required="what the two laws of a pair differ in by rounding must be below epsilon and delta",
                found=f"{nats_text(max(masses, uneven), 3)}, with {self.noise.capitalize()} noise",
                remedy="Declare one law, moved, or one covariance, or ask for a larger epsilon or delta.",
            )

        def search() -> Found:
            reach = reach_of(query, framework.schema, evidence.dimension)
            noise, alone = self._noise_for(moved, ratio, reach, epsilon, delta)
            decisions = self._decisions(moved, max(noise.scales), alone)
            theorem = self._theorem if self.noise == "laplace" else f"{self._theorem}, {self.constant} constant"
            certificate = law_certificate(framework, query, evidence, decisions, theorem=theorem, claim=self.claim)
            spent = 0.0 if self.noise == "laplace" else spent_delta(inner, delta, left, self.constant, masses)
            return Found(noise, certificate, spent)

        return self._unfit(moved, ratio) or search

    def _translations(self, pairs: Sequence[NormalPair]) -> list[MovedLaw] | Refusal:
        return translations(pairs)

    def _unfit(self, moved: Sequence[MovedLaw], ratio: float) -> Refusal | None:
        """Why noise of this shape does not serve some translations, or None if it does."""
        return None

    @abstractmethod
    def _noise_for(
        self, moved: Sequence[MovedLaw], ratio: float, reach: FloatArray, epsilon: float, delta: float
    ) -> tuple[Noise, Callable[[MovedLaw], float]]:
        """The noise, and the scale that a pair needs by itself.

        Parameters
        ----------
        moved : sequence of MovedLaw
        ratio : float
            How long a gap may be for noise of scale 1.
        reach : ndarray, shape (d,)
            The largest size of each number of the answer.
        epsilon, delta : float
        """

    def _decisions(
        self, moved: Sequence[MovedLaw], scale: float, alone: Callable[[MovedLaw], float]
    ) -> list[LawDecision]:
        rows = sorted(((alone(each), place) for place, each in enumerate(moved)), reverse=True)
        return [
            LawDecision.of(
                (each := moved[place]).pair,
                each.protected,
                each.model,
                rule=MOVED_RULE,
                distance=Bound(0.0, each.farthest(self.norm), each.pair.kind),
                scale=scale if rank == 0 else min(scale, needed),
                noise=self.noise,
            )
            for rank, (needed, place) in enumerate(rows)
        ]


def scale_for(far: float, ratio: float) -> float:
    """Return the scale of noise that hides a distance, rounded up."""
    return far / ratio * (1 + 8 * UNIT_ROUNDOFF)
