"""Noise in the directions in which laws that are translations of one another differ."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from bnpriv import checks
from bnpriv.bound import UNIT_ROUNDOFF, Bound, FloatArray, down, up
from bnpriv.core.distributions import Atoms, Normal
from bnpriv.core.evidence.constraints import LawPair
from bnpriv.core.frameworks.question import Framework
from bnpriv.core.gaussian_curve import CONSTANTS, GaussianConstant, constant_refusal, gaussian_ratio
from bnpriv.core.mechanisms.base import Mechanism, Search, found_scale, noise_of
from bnpriv.core.mechanisms.column import noise_refusal
from bnpriv.core.mechanisms.law_decision import MOVED_RULE, LawDecision, law_certificate
from bnpriv.core.mechanisms.weights import Found
from bnpriv.core.noise import (
    ContinuousNoise,
    Gaussian,
    Laplace,
    Noise,
    NoNoise,
    Sampler,
    laplace_mean_length,
    near,
    norm_of,
    probability,
    sampled,
    scaled,
    sized,
    tail_of_one,
)
from bnpriv.core.queries.base import Query
from bnpriv.core.transport import check_pairs, lengths, tolerance, w_infinity
from bnpriv.errors import ParameterError, Refusal, SizeError
from bnpriv.mechanisms.gaussian.laws import OF_TABLES, NormalPair, laws_by_pairs, normal_refusal
from bnpriv.mechanisms.gaussian.mechanisms import (
    LAST_SHARE,
    TAIL_SHARE,
    Gap,
    declares_normal_laws,
    kept,
    log_tail,
    reach_of,
    repaired,
    spent_delta,
    variance_refusal,
)
from bnpriv.mechanisms.gaussian.noise import CorrelatedGaussian
from bnpriv.text import nats_text

# --------------------------------------------------------------------------------------------------
# Laplace noise in chosen directions, drawn so that the set of possible outputs does not depend on the answer.
# --------------------------------------------------------------------------------------------------

REACH_SCALES = 64.0
"""Noisy coordinates are clamped so many scales beyond the answers: it happens to one release of 10^28."""

LAST_CONFIDENCES = (2.0**-10, 2.0**-7, 2.0**-5, 2.0**-4, 2.0**-3, 0.25, 0.5, 0.75)
"""Shares of the probability of an error, of which the best is given to the noise that is drawn last."""


@dataclass(frozen=True, kw_only=True)
class DirectionalLaplace:
    """Independent Laplace noise along orthonormal directions, with very little of it on every number.

    Parameters
    ----------
    scale : float
        Of the noise along each direction, in the answer's unit.
    directions : tuple of tuple of float
        Unit vectors, orthogonal to each other, one row each.
    limits : tuple of float
        Sizes to which the noisy coordinates along the directions are clamped.
    dithers : tuple of float
        Scales of independent noise that is added on top and drawn last, one for each number; 0 for numbers that no
        direction moves.

    Raises
    ------
    ParameterError
        If a number is out of range or the sizes do not fit.

    Notes
    -----
    docs/claims/directional.md.

    Examples
    --------
    >>> noise = DirectionalLaplace(scale=5.0, directions=((0.6, 0.8),), limits=(400.0,), dithers=(1e-6, 1e-6))
    >>> [round(scale, 3) for scale in noise.scales], round(float(noise.error()), 3)
    ([3.0, 4.0], 5.0)
    """

    sampler_method: ClassVar[str] = "laplace"
    """The method of a sampler that draws it."""

    scale: float
    directions: tuple[tuple[float, ...], ...]
    limits: tuple[float, ...]
    dithers: tuple[float, ...]

    def __post_init__(self) -> None:
        checks.positive("the scale of the noise", self.scale)
        rows = checks.listed(self.directions) or ()
        object.__setattr__(self, "directions", tuple(_numbers("a direction", row) for row in rows))
        vars(self).update(limits=_numbers("limits", self.limits), dithers=_numbers("dithers", self.dithers))
        fits = len(self.limits) == len(self.directions) >= 1
        fits = fits and all(len(row) == len(self.dithers) for row in self.directions)
        noisy = np.any(self._rows, axis=0) if fits else np.zeros(0, dtype=bool)
        positive = np.array([dither > 0 for dither in self.dithers])
        if not (fits and all(limit > 0 for limit in self.limits) and np.all(positive >= noisy)):
            raise ParameterError(
                "noise along directions needs a limit for each, and noise drawn last for each number that they move",
                found="too few of them, or some that are not above 0",
                remedy="Use a calibration as its mechanism returned it.",
            )

    @property
    def dimension(self) -> int:
        """Return the number of coordinates d."""
        return len(self.dithers)

    @property
    def _rows(self) -> FloatArray:
        return np.array(self.directions, dtype=np.float64)

    @property
    def covariance(self) -> FloatArray:
        """Return the covariance of the noise, shape (d, d)."""
        return 2 * (self.scale**2 * self._rows.T @ self._rows + np.diag(np.square(self.dithers)))

    @property
    def mean_sizes(self) -> tuple[float, ...]:
        """The mean absolute error of each number of the answer."""
        return self.scales

    @property
    def scales(self) -> tuple[float, ...]:
        """Return for each coordinate the scale of Laplace noise of the same variance, rounded up."""
        parts = np.vstack([self.scale * self._rows, np.diag(self.dithers)])
        return tuple(up(math.hypot(*part), 2 * len(parts)) for part in parts.T.tolist())

    def sample(self, value: Sequence[float], sampler: Sampler) -> tuple[float, ...]:
        """Return `value`, of length `dimension`, plus noise.

        Parameters
        ----------
        value : sequence of float
            Exact answers.
        sampler : Sampler
            Where the noise comes from.

        Raises
        ------
        ParameterError
            If `value` has another length or is not finite.
        """
        moved = [Fraction(number) for number in sized(value, self.dimension)]
        rows = [[Fraction(entry) for entry in row] for row in self.directions]
        along = [sum((a * b for a, b in zip(row, moved, strict=True)), Fraction(0)) for row in rows]
        draws = sampler.laplace([0.0] * len(rows), self.scale)
        for row, here, draw, limit in zip(rows, along, draws, self.limits, strict=True):
            noisy = min(max(here + Fraction(draw), -Fraction(limit)), Fraction(limit))
            moved = [number + entry * (noisy - here) for number, entry in zip(moved, row, strict=True)]
        return sampled(sampler.laplace, [float(number) for number in moved], self.dithers)

    def error(self, norm: float = 2) -> Bound:
        """Return the mean of a norm of the noise vector.

        Parameters
        ----------
        norm : {1, 2, math.inf}

        Returns
        -------
        Bound

        Raises
        ------
        ParameterError
            If the norm is none of the three.

        Notes
        -----
        In the 2-norm directions do not matter. A coordinate is a sum of Laplace variables: its mean size is at least
        that of the largest, and at most the root of its mean square. What is drawn last only adds to each.
        """
        norm_of(norm)
        rows, last = np.abs(self._rows), math.fsum(self.dithers)
        length = scaled(laplace_mean_length(len(rows)), self.scale)
        if norm == 2:
            found = near(length.lower, 2.0**-40).lower, near(length.upper, 2.0**-40).upper + last
            return Bound(*found, "certified")
        least = self.scale * rows.max(axis=0)
        most = np.minimum(self.scale * rows.sum(axis=0), self.scale * np.sqrt(2 * np.square(rows).sum(axis=0)))
        if norm == 1:
            return Bound(near(float(least.sum())).lower, near(float(most.sum())).upper + last, "certified")
        largest = float(most.max()) if len(rows) == 1 else min(float(most.sum()), length.upper)
        return Bound(near(float(least.max())).lower, near(largest, 2.0**-40).upper + last, "certified")

    def quantile(self, p: float) -> float:
        """Return an error that no coordinate exceeds with probability `p`; rounded up.

        Raises
        ------
        ParameterError
            If `p` is out of range.
        """
        return max(self.quantiles(p))

    def quantiles(self, p: float) -> tuple[float, ...]:
        """Return errors that no coordinate exceeds, each its own, with probability `p`; rounded up.

        Raises
        ------
        ParameterError
            If `p` is out of range.
        """
        return min((self._quantiles(probability(p), share) for share in LAST_CONFIDENCES), key=max)

    def _quantiles(self, p: float, share: float) -> tuple[float, ...]:
        """Return such errors, with a share of the probability of larger ones for the noise that is drawn last."""
        last = -math.expm1(math.log1p(-p) + math.log(share))
        along = -self.scale * math.log(tail_of_one(p / last, len(self.directions)))
        far = -math.log(tail_of_one(last, self.dimension))
        reach = np.abs(self._rows).sum(axis=0)
        return tuple(up(float(r) * along + t * far, 64) for r, t in zip(reach, self.dithers, strict=True))

    @property
    def free_numbers(self) -> int:
        """Return how many numbers make the directions and the scale along them."""
        return len(self.directions) * self.dimension + 1

    def accounted_noise(self) -> Laplace:
        """Return independent noise on each number that gets some, smaller in every direction: that of the last step."""
        return Laplace(min(dither for dither in self.dithers if dither > 0), self.dimension)


def _numbers(what: str, given: object) -> tuple[float, ...]:
    return tuple(checks.number(f"a number of {what}", each) for each in checks.listed(given) or ())


def limits_for(scale: float, rows: FloatArray, reach: FloatArray) -> FloatArray:
    """Return to which sizes the coordinates along directions are clamped, for answers up to `reach` in size."""
    return np.abs(rows) @ reach + REACH_SCALES * scale


def moved_by_rounding(rows: FloatArray, limits: FloatArray, reach: FloatArray) -> FloatArray:
    """Return how far rounding may move each number before the last noise is drawn, rounded up.

    Parameters
    ----------
    rows : ndarray, shape (k, d)
        The directions.
    limits : ndarray, shape (k,)
    reach : ndarray, shape (d,)
        Largest size of each number of the answer.
    """
    far = np.abs(rows).T @ (limits + np.abs(rows) @ reach)
    moved = UNIT_ROUNDOFF * (2 * far + reach) * (1 + 2.0**-20) + 2.0**-1074 * (1 + len(rows))
    return np.where(np.any(rows, axis=0), moved, 0.0)


# --------------------------------------------------------------------------------------------------
# Pairs of laws that are translations of one another: by what, and how closely.
# --------------------------------------------------------------------------------------------------

SHIFT_ROUNDING = 2.0**-50
"""By how much atoms may leave a translation, relative to their size: as much as rounding them may do."""

MASS_ROUNDING = 1e-9
"""By how much the logs of masses that are called the same may differ; what it costs is paid."""

REMEDY = "Use WassersteinMechanism or TightMechanism, which need no translation."


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
        return _departure("distributions learned from draws", each)
    if first.size != second.size:
        return _departure(f"distributions with {first.size:,} and {second.size:,} possible answers", each)
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
        required="the two distributions of a pair must be translations of one another",
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
                required="what the two distributions of a pair differ in by rounding must be below epsilon and delta",
                found=f"{nats_text(max(masses, uneven), 3)}, with {self.noise.capitalize()} noise",
                remedy="Declare one distribution, moved, or one covariance, or ask for a larger epsilon or delta.",
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


# --------------------------------------------------------------------------------------------------
# Noise only in the directions in which laws that are translations of one another differ.
# --------------------------------------------------------------------------------------------------

LEAST_SHARE = 2.0**-20
"""Least share of epsilon for what is moved across the directions, which the noise drawn last hides."""

SAME_SPAN = 2.0**-44
"""Directions along which no gap has a larger part than this share of the longest are left to the noise drawn last."""


@dataclass(frozen=True, kw_only=True)
class DirectionalMechanism(ForTranslations, Mechanism):
    """Noise only in the directions of the gaps between laws that are translations of one another.

    Parameters
    ----------
    noise : {"laplace", "gaussian"}
        Laplace noise for the 1-norm of the gap's coordinates along the directions; Gaussian noise for its 2-norm, which
        needs delta above 0.
    constant : {"analytic", "textbook", "lecture"}
        Of Gaussian noise: the exact curve; the square root of 2 log(1.25/delta), or of 2 log(2/delta), over epsilon.
    beyond_proof : bool
        Waive the refusal of an epsilon above 1 with the last two constants; the guarantee then names the delta that
        holds.
    large_delta : bool
        Waive the refusal of a delta of one over the number of records or more.
    nearly : bool
        Also serve laws of finitely many answers that are translations only nearly: noise in all directions hides how
        far mass must move from one to the other, moved by the gap of the means.
    weights : sequence of float, optional
        None: noise along directions has a shape of its own.

    Raises
    ------
    ParameterError
        If an option is none of these.

    Notes
    -----
    docs/claims/directional.md. Theorems 4.3 and 4.7 of Chen, Ohrimenko, "Protecting Global Properties of Datasets with
    Distribution Privacy Mechanisms" (AISTATS 2023).

    Examples
    --------
    >>> import bnpriv as bp
    >>> from bnpriv.laws import Normal
    >>> pair = (Normal([0, 0], [[4, 1], [1, 2]]), Normal([3, 4], [[4, 1], [1, 2]]))
    >>> framework = bp.DistributionPrivacy([pair], source="a textbook")
    >>> calibration = bp.mechanisms.DirectionalMechanism().calibrate(framework, epsilon=1.0)
    >>> [round(scale, 4) for scale in calibration.noise.scales], round(calibration.expected_error, 4)
    ([3.0, 4.0], 5.0)
    """

    nearly: bool = False
    claim: ClassVar[str] = "directional.md"
    fixed_shape: ClassVar[bool] = True
    _theorem: ClassVar[str] = "Directional mechanism"

    def _translations(self, pairs: Sequence[NormalPair]) -> list[MovedLaw] | Refusal:
        return translations(pairs, nearly=self.nearly)

    def _unfit(self, moved: Sequence[MovedLaw], ratio: float) -> Refusal | None:
        if any(each.pair.departure is not None for each in moved):
            return OF_TABLES
        return variance_refusal(max(each.farthest(self.norm) for each in moved), ratio)

    def _noise_for(
        self, moved: Sequence[MovedLaw], ratio: float, reach: FloatArray, epsilon: float, delta: float
    ) -> tuple[Noise, Callable[[MovedLaw], float]]:
        rows = directions([each.gap for each in moved], self.norm)
        shape = _Shape(moved=moved, rows=rows, ratio=ratio, reach=reach)
        alone = shape.laplace_scale if self.noise == "laplace" else shape.gaussian_scale
        # laws that stay where they are, but for masses that are paid for, are hidden by no noise at all
        if not any(each.farthest(2) + each.rounding for each in moved):
            return NoNoise(len(reach)), alone
        found_scale(max(map(shape.laplace_scale, moved)), epsilon, delta)
        return (shape.laplace() if self.noise == "laplace" else shape.gaussian(log_tail(epsilon, delta))), alone


def directions(gaps: Sequence[FloatArray], norm: int) -> FloatArray:
    """Return orthonormal directions, one row each, along which all gaps lie up to rounding.

    Of several bases of the same space the one with the least coordinates, in the given norm, is returned.

    Examples
    --------
    >>> np.abs(directions([np.array([3.0, 4.0]), np.array([6.0, 8.0])], 1)).round(9).tolist()
    [[0.6, 0.8]]
    """
    stacked = np.stack(gaps)
    size = stacked.shape[1]
    # a power of two, which changes no bit, keeps the squares of the gaps from being too small or too large for doubles
    stacked = np.ldexp(stacked, -int(np.frexp(np.abs(stacked).max())[1]))
    longest = float(np.linalg.norm(stacked, axis=1).max())
    if longest == 0 or size == 1:
        return np.eye(size)
    _, sizes, rows = np.linalg.svd(stacked / longest, full_matrices=False)
    rank = max(1, int(np.sum(sizes > SAME_SPAN * math.sqrt(len(stacked)))))
    if rank == size:
        bases = [np.eye(size), rows]
    else:
        order = np.argsort(-np.linalg.norm(stacked, axis=1), kind="stable")
        turned = np.linalg.qr((stacked[order] @ rows[:rank].T)[:, :].T)[0].T @ rows[:rank]
        bases = [rows[:rank], turned]
    # rows that touch a number by rounding alone leave it alone
    bases = [np.where(np.abs(basis) > SAME_SPAN, basis, 0.0) for basis in bases]
    return min(bases, key=lambda basis: float(np.linalg.norm(stacked @ basis.T, norm, axis=1).max()))


@dataclass(frozen=True, kw_only=True, eq=False)
class _Shape:
    """Noise along directions for some translations.

    `rows` has shape (k, d); `reach` holds the largest size of each number of the answer.
    """

    moved: Sequence[MovedLaw]
    rows: FloatArray
    ratio: float
    reach: FloatArray

    @property
    def whole(self) -> bool:
        """Whether the directions are the numbers of the answer themselves."""
        return np.array_equal(self.rows, np.eye(self.rows.shape[1]))

    def laplace_scale(self, each: MovedLaw, share: float = LEAST_SHARE) -> float:
        """Return the scale that a pair needs along the directions if a share is kept for the last step, rounded up."""
        along = np.abs(self.rows @ each.gap) + np.abs(self.rows) @ each.aside
        rounding = len(self.rows) * (each.rounding + 8 * UNIT_ROUNDOFF * float(np.abs(each.gap).sum()))
        return scale_for(float(along.sum()) + rounding, self.ratio * (1 - share))

    def gaussian_scale(self, each: MovedLaw) -> float:
        """Return the deviation that a pair needs along the directions."""
        return scale_for(math.hypot(*(self.rows @ each.gap).tolist()), self.ratio * kept(LAST_SHARE) * (1 - 2.0**-30))

    def _left_over(self, each: MovedLaw) -> FloatArray:
        """Return how far each number is moved across the directions, rounded up."""
        sizes, along = np.abs(self.rows), np.abs(self.rows @ each.gap)
        across = np.abs(each.gap - self.rows.T @ (self.rows @ each.gap))
        across += 16 * UNIT_ROUNDOFF * (np.abs(each.gap) + sizes.T @ along)
        return across + each.aside + sizes.T @ (sizes @ each.aside) + (1 + len(sizes)) * each.rounding

    def laplace(self) -> Noise:
        """Return Laplace noise along the directions, with the best of several shares for the last step."""
        if self.whole:
            return Laplace(max(map(self.laplace_scale, self.moved)), self.rows.shape[1])
        shares = (LEAST_SHARE * 4**k for k in range(10))
        return min(map(self._laplace, shares), key=lambda noise: noise.error().upper)

    def _laplace(self, share: float) -> DirectionalLaplace:
        scale, size = max(self.laplace_scale(each, share) for each in self.moved), self.rows.shape[1]
        limits = limits_for(scale, self.rows, self.reach)
        moved = np.max([self._left_over(each) for each in self.moved], axis=0)
        moved = moved + 2 * moved_by_rounding(self.rows, limits, self.reach)
        dithers = moved * size / (self.ratio * share) * (1 + 16 * UNIT_ROUNDOFF)
        return DirectionalLaplace(
            scale=scale,
            directions=tuple(map(tuple, self.rows.tolist())),
            limits=tuple(limits.tolist()),
            dithers=tuple(dithers.tolist()),
        )

    def gaussian(self, log_tail: float) -> Noise:
        """Return Gaussian noise along the directions, with the best of several shares for the last step."""
        size = self.rows.shape[1]
        if len(self.rows) == size:
            far = max(each.farthest(2) + each.pair.rounding for each in self.moved)
            return Gaussian(scale_for(far, self.ratio), size)
        shares = (LAST_SHARE * 4**k for k in range(5))
        return min((self._gaussian(log_tail, share) for share in shares), key=lambda noise: noise.error().upper)

    def _gaussian(self, log_tail: float, share: float) -> CorrelatedGaussian:
        needed = max(map(self.gaussian_scale, self.moved)) ** 2 * self.rows.T @ self.rows
        needed = (needed + needed.T) / 2
        dithers = self._dithers(needed, log_tail, share)
        # half of the variance that is drawn last hides what gaps have across the directions, half of it rounding
        places = np.flatnonzero(dithers > 0)
        spread = np.diag(np.square(dithers[places]) / 2)
        gaps = [Gap(each.gap[places], spread) for each in self.moved]
        inner = np.ix_(places, places)
        larger = needed.copy()
        larger[inner] = repaired(needed[inner], gaps, self.ratio * kept(share))
        return CorrelatedGaussian(larger, np.maximum(dithers, self._dithers(larger, log_tail, share)).tolist())

    def _dithers(self, needed: FloatArray, log_tail: float, share: float) -> FloatArray:
        """Return the deviations of what is drawn last."""
        plain = CorrelatedGaussian(needed)
        moved = np.max([each.aside + each.rounding for each in self.moved], axis=0)
        moved = moved + 2 * plain.moved(self.reach.tolist(), log_tail)
        # numbers that no direction moves, and no gap, need no noise
        moved[(np.diag(needed) == 0) & (moved == 0)] = 0.0
        per_move = math.sqrt(2 * len(moved)) / (share * self.ratio) * (1 + 16 * UNIT_ROUNDOFF)
        return np.maximum(plain.dithers, moved * per_move)


# --------------------------------------------------------------------------------------------------
# Noise for the gap of the means of laws that are translations of one another.
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class ExpectedValueMechanism(ForTranslations, Mechanism):
    """The same noise on every number, for the largest gap of means of laws that are translations of one another.

    Parameters
    ----------
    noise : {"laplace", "gaussian"}
        Laplace noise for the 1-norm of the gap; Gaussian noise for the 2-norm, which needs delta above 0.
    constant : {"analytic", "textbook", "lecture"}
        Of Gaussian noise: the exact curve; the square root of 2 log(1.25/delta), or of 2 log(2/delta), over epsilon.
    beyond_proof : bool
        Waive the refusal of an epsilon above 1 with the last two constants; the guarantee then names the delta that
        holds.
    large_delta : bool
        Waive the refusal of a delta of one over the number of records or more.
    weights : sequence of float, optional
        Of the parts of the answer, powers of two; None takes the best of three public shapes, as in `Mechanism`.

    Raises
    ------
    ParameterError
        If an option is none of these.

    Notes
    -----
    docs/claims/expected_value.md. Theorems 4.1 and 4.2 of Chen, Ohrimenko, "Protecting Global Properties of Datasets
    with Distribution Privacy Mechanisms" (AISTATS 2023).

    Examples
    --------
    >>> import bnpriv as bp
    >>> from bnpriv.laws import Atoms
    >>> pair = (Atoms([0, 1, 2], [0.2, 0.5, 0.3]), Atoms([3, 4, 5], [0.2, 0.5, 0.3]))
    >>> framework = bp.DistributionPrivacy([pair], source="a textbook")
    >>> round(bp.mechanisms.ExpectedValueMechanism().calibrate(framework, epsilon=0.5).scale, 6)
    6.0
    """

    claim: ClassVar[str] = "expected_value.md"
    _theorem: ClassVar[str] = "Expected value mechanism"

    def _noise_for(
        self, moved: Sequence[MovedLaw], ratio: float, reach: FloatArray, epsilon: float, delta: float
    ) -> tuple[Noise, Callable[[MovedLaw], float]]:
        def alone(each: MovedLaw) -> float:
            return scale_for(each.farthest(self.norm) + each.pair.rounding, ratio)

        scale = found_scale(max(map(alone, moved)), epsilon, delta)
        return noise_of(self.noise, scale, len(reach)), alone
