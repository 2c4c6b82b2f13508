"""Gaussian noise for normal laws: the same on every number, or with the covariance that hides the gaps of means."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, NamedTuple, cast

import numpy as np

from bnpriv import checks
from bnpriv.bound import UNIT_ROUNDOFF, Bound, FloatArray, down, halved, up
from bnpriv.core.distributions import Normal, mahalanobis
from bnpriv.core.evidence.constraints import Laws
from bnpriv.core.frameworks.question import Framework
from bnpriv.core.gaussian_curve import CONSTANTS, GaussianConstant, constant_refusal, delta_of_constant
from bnpriv.core.mechanisms.base import Mechanism, Search, found_scale, least_scale, noise_of
from bnpriv.core.mechanisms.certificate import Certificate
from bnpriv.core.mechanisms.column import noise_refusal
from bnpriv.core.mechanisms.law_decision import GAP_RULE, LawDecision, clamped_of, law_certificate
from bnpriv.core.mechanisms.weights import Found
from bnpriv.core.noise import Gaussian, Noise, NoNoise
from bnpriv.core.queries.asked import Weighted
from bnpriv.core.queries.base import Query
from bnpriv.core.queries.sensitivity import answer_range
from bnpriv.core.schema import Schema
from bnpriv.errors import ParameterError, Refusal, SizeError
from bnpriv.mechanisms.gaussian.laws import (
    TOO_FAR,
    Approximated,
    NormalPair,
    Trial,
    approximated,
    delta_for_one_covariance,
    delta_left,
    laws_by_pairs,
    normal_ratio,
    not_normal,
    relaxation_refusal,
    smaller_epsilons,
)
from bnpriv.mechanisms.gaussian.noise import CorrelatedGaussian
from bnpriv.text import full_text, nats_text, upper_chance

# --------------------------------------------------------------------------------------------------
# The covariance of the least trace above several matrices, by an interior-point method.
# --------------------------------------------------------------------------------------------------

TRACE_PRECISION = 1e-8
"""The trace that is found is above the least one by at most about this share of itself."""

MOST_CORRELATED_NUMBERS = 24
"""Numbers of an answer: Newton's system has the square of that many unknowns."""

MOST_NEWTON_STEPS = 60
"""Newton steps for each weight of the trace; a few are enough."""

CENTRED = 1e-3
"""Newton's method stops where it expects to lower the barrier by less."""

LONGEST = 1e3
"""Longest multiple of a step that is tried."""

WEIGHT_GROWTH = 30.0
"""By how much the weight of the trace grows from one round to the next."""


def least_above(needed: Sequence[FloatArray]) -> FloatArray:
    """Return a covariance S of nearly the least trace with S - A positive definite for every A in `needed`.

    Parameters
    ----------
    needed : sequence of ndarray, shape (d, d)
        Symmetric, at least one with an eigenvalue above 0.

    Returns
    -------
    ndarray, shape (d, d)
        Positive definite.

    Notes
    -----
    ``t trace(S) - log det S - sum log det(S - A)`` is minimized by Newton's method for growing t. At its minimum the
    matrices ``(S - A)^-1 / t`` are feasible for the dual program, so that the trace is at most ``(m + 1) d / t`` above
    the least one (Boyd, Vandenberghe, "Convex Optimization", 2004, section 11.6).

    Examples
    --------
    >>> least_above([np.diag([2.0, -1.0]), np.diag([-1.0, 3.0])]).round(6).tolist()
    [[2.0, 0.0], [0.0, 3.0]]
    """
    size = len(needed[0])
    top = max(float(np.linalg.eigvalsh(each)[-1]) for each in needed)
    below = np.stack([each / top for each in needed] + [np.zeros((size, size))])
    covariance, weight = 2 * np.eye(size), 1.0
    while weight * TRACE_PRECISION < len(below) * size:
        weight *= WEIGHT_GROWTH
        found = _centred(covariance, below, weight)
        if found is None:
            break
        covariance = found
    return covariance * top


def _centred(start: FloatArray, below: FloatArray, weight: float) -> FloatArray | None:
    """Return the minimum of the barrier for one weight; None where rounding keeps Newton's method from it."""
    covariance, size = start, len(start)
    rows, columns = np.triu_indices(size)
    twice = np.where(rows == columns, 1.0, 2.0)
    for _ in range(MOST_NEWTON_STEPS):
        inverses = np.linalg.inv(covariance - below)
        gradient = weight * np.eye(size) - inverses.sum(axis=0)
        # how the sum of inverses changes with each pair of entries across the diagonal
        left, right = inverses[:, rows], inverses[:, columns]
        bend = np.einsum("kij,kij->ij", left[:, :, rows], right[:, :, columns])
        bend += np.einsum("kij,kij->ij", left[:, :, columns], right[:, :, rows])
        try:
            solved = np.asarray(np.linalg.solve(bend * (twice / 2), gradient[rows, columns]), dtype=np.float64)
        except np.linalg.LinAlgError:
            return None
        step = np.zeros((size, size))
        step[rows, columns] = step[columns, rows] = -solved
        decrease = -float(np.sum(gradient * step))
        length = _length(covariance, step, below, weight) if 0 <= decrease < np.inf else None
        if length is None:
            return None
        covariance = covariance + length * step
        if decrease < CENTRED:
            break
    return covariance


def _length(covariance: FloatArray, step: FloatArray, below: FloatArray, weight: float) -> float | None:
    """Return how far to go along a step for the least barrier, or None if rounding hides it.

    Along the step the logs of the determinants are sums of ``log(1 + s e)`` over eigenvalues e.
    """
    try:
        factors = np.linalg.cholesky(covariance - below)
        half = np.linalg.solve(factors, np.broadcast_to(step, factors.shape))
        whole = np.linalg.solve(factors, np.swapaxes(half, 1, 2))
    except np.linalg.LinAlgError:
        return None
    values = np.linalg.eigvalsh((whole + np.swapaxes(whole, 1, 2)) / 2).ravel()
    longest = min(LONGEST, -1 / float(min(values.min(), -1 / LONGEST)))
    slope = weight * np.trace(step)
    return halved(0.0, longest, lambda length: not slope < np.sum(values / (1 + length * values)), 40)[0]


# --------------------------------------------------------------------------------------------------
# Which covariance, added to that of a normal answer, hides the gaps between means: pure functions of arrays.
# --------------------------------------------------------------------------------------------------

ALIGNED = 1e-9
"""How far gaps may be from one direction, or covariances from common eigenvectors, relative to themselves.

What it costs is paid: the constraint is checked with the gaps and covariances as they are.
"""

RATIO_MARGIN = 2.0**-40
"""Noise is computed for a ratio that is smaller by this share, so that rounding seldom leaves it too small."""

MOST_NEW_GAPS = 8
"""Gaps that are added to the program in a round, those that are hidden least."""


@dataclass(frozen=True, eq=False)
class Gap:
    """The difference of two means and the covariance of both laws.

    Parameters
    ----------
    gap : ndarray, shape (d,)
    covariance : ndarray, shape (d, d)
        Positive definite.
    """

    gap: FloatArray
    covariance: FloatArray

    def length(self, added: FloatArray) -> float:
        """Return how long it is in standard deviations of the answer with noise, rounded up."""
        return mahalanobis(self.gap, self.covariance + added)

    def missing(self, ratio: float) -> FloatArray:
        """Return the matrix that the noise's covariance must be above, so that the gap is at most `ratio` long."""
        return np.outer(self.gap, self.gap) / ratio**2 - self.covariance


def hidden(gaps: Sequence[Gap], ratio: float) -> bool:
    """Return whether it is certain that no gap is longer than `ratio` without any noise: Thm 4.4 of the paper."""
    nothing = np.zeros_like(gaps[0].covariance)
    return all(gap.length(nothing) <= ratio for gap in gaps)


def repaired(added: FloatArray, gaps: Sequence[Gap], ratio: float) -> FloatArray:
    """Return a covariance, made larger until it is certain that no gap is longer than `ratio`.

    Parameters
    ----------
    added : ndarray, shape (d, d)
        What was computed.
    gaps : sequence of Gap
    ratio : float

    Returns
    -------
    ndarray, shape (d, d)

    Examples
    --------
    >>> gap = Gap(np.array([3.0]), np.array([[4.0]]))
    >>> float(repaired(np.array([[4.9]]), [gap], 1.0)[0, 0]) >= 5
    True
    """
    whole = np.diag(np.diag(added) + np.max([np.diag(gap.covariance) for gap in gaps], axis=0))
    larger, share = added, 2.0**-50
    while not all(gap.length(larger) <= ratio for gap in gaps):
        larger = added * (1 + share) + whole * share
        share *= 2
    return larger


def along_direction(gaps: Sequence[Gap], ratio: float) -> FloatArray | Refusal:
    """Return noise in the one direction of all gaps: DauM.

    For a unit vector v along them ``v' (S + s^2 v v')^-1 v = q / (1 + s^2 q)`` with ``q = v' S^-1 v``, by Sherman and
    Morrison.
    """
    direction = common_direction([gap.gap for gap in gaps])
    if isinstance(direction, Refusal):
        return direction
    tight = ratio * (1 - RATIO_MARGIN)
    needed = [
        (float(np.linalg.norm(gap.gap)) / tight) ** 2 - 1 / Gap(direction, gap.covariance).length(np.zeros(())) ** 2
        for gap in gaps
    ]
    return np.outer(direction, direction) * max(0.0, *needed)


def along_eigenvectors(gaps: Sequence[Gap], ratio: float) -> FloatArray | Refusal:
    """Return noise along the common eigenvectors: so much that every variance is at least that for the longest gap."""
    vectors = common_eigenvectors([gap.covariance for gap in gaps])
    if isinstance(vectors, Refusal):
        return vectors
    longest = max(float(np.linalg.norm(gap.gap)) for gap in gaps) / (ratio * (1 - RATIO_MARGIN))
    least = np.min([np.einsum("ij,ik,kj->j", vectors, gap.covariance, vectors) for gap in gaps], axis=0)
    return vectors * np.maximum(0.0, longest**2 - least) @ vectors.T


def least_trace(gaps: Sequence[Gap], ratio: float) -> FloatArray:
    """Return the covariance with the least trace, to within rounding and the precision of the method.

    Raises
    ------
    SizeError
        If several gaps are to be hidden in an answer of too many numbers.
    """
    tight = ratio * (1 - RATIO_MARGIN)
    size = len(gaps[0].gap)
    added, used = np.zeros((size, size)), list[Gap]()
    while True:
        left = sorted(((gap.length(added), k) for k, gap in enumerate(gaps)), reverse=True)
        new = [gaps[k] for length, k in left[:MOST_NEW_GAPS] if not length <= ratio]
        if not new or any(gap is other for gap in new for other in used):
            break
        used += new
        added = _above([gap.missing(tight) for gap in used])
    return min(_candidates(added, gaps, ratio), key=lambda found: float(np.trace(found)))


def _above(needed: Sequence[FloatArray]) -> FloatArray:
    """Return the least covariance above several matrices: for one, its positive part."""
    if len(needed) > 1:
        if len(needed[0]) > MOST_CORRELATED_NUMBERS:
            raise SizeError(
                f"the least noise for several gaps is computed for at most {MOST_CORRELATED_NUMBERS} numbers",
                found=str(len(needed[0])),
                remedy="Use DirectionalUncertaintyMechanism or AttributeGaussianMechanism.",
            )
        return least_above(needed)
    values, vectors = np.linalg.eigh(needed[0])
    return vectors * np.maximum(values, 0.0) @ vectors.T


def _candidates(added: FloatArray, gaps: Sequence[Gap], ratio: float) -> list[FloatArray]:
    """Return what was found, and the noise of the closed forms, which need no program, where they apply."""
    closed = [found(gaps, ratio) for found in (along_direction, along_eigenvectors)]
    found = [added, *(each for each in closed if not isinstance(each, Refusal))]
    return [repaired(each, gaps, ratio) for each in found]


def common_direction(gaps: Sequence[FloatArray]) -> FloatArray | Refusal:
    """Return the unit vector along which all gaps lie, or how far they are from it.

    Examples
    --------
    >>> common_direction([np.array([3.0, 4.0]), np.array([-1.5, -2.0])]).round(9).tolist()
    [0.6, 0.8]
    """
    longest = max(gaps, key=lambda gap: float(np.linalg.norm(gap)))
    length = float(np.linalg.norm(longest))
    if length == 0:
        return np.eye(len(longest))[0]
    direction = longest / length
    aside = max(float(np.linalg.norm(gap - direction * (direction @ gap))) for gap in gaps) / length
    if aside <= ALIGNED:
        return direction
    return Refusal(
        required="all gaps between means must lie in one direction",
        found=f"one that leaves it by {nats_text(aside, 3)} of the longest",
        remedy="Use OptimalGaussianMechanism, which needs no common direction.",
    )


def common_eigenvectors(covariances: Sequence[FloatArray]) -> FloatArray | Refusal:
    """Return common eigenvectors as columns, or how far the covariances are from having them."""
    # near 1 nothing vanishes; every covariance has a variance above 0
    covariances = [each / np.max(np.abs(each)) for each in covariances]
    # a sum with uneven weights separates what is equal in one covariance and different in another
    mixed = sum(
        (each / np.trace(each) * math.pow(1.0 + k, -0.5) for k, each in enumerate(covariances)),
        start=np.zeros_like(covariances[0]),
    )
    vectors = np.linalg.eigh(mixed)[1]
    aside = 0.0
    for each in covariances:
        turned = vectors.T @ each @ vectors
        aside = max(aside, float(np.linalg.norm(turned - np.diag(np.diag(turned))) / np.linalg.norm(each)))
    if aside <= ALIGNED:
        return vectors
    return Refusal(
        required="the covariances of all models must have the same eigenvectors",
        found=f"covariances that leave them by {nats_text(aside, 3)} of themselves",
        remedy="Use OptimalGaussianMechanism, which needs no common eigenvectors.",
    )


# --------------------------------------------------------------------------------------------------
# What the mechanisms for normal laws that choose a covariance share: what they refuse, and the noise they draw.
# --------------------------------------------------------------------------------------------------

TAIL_SHARE = 2.0**-40
"""Share of delta for draws so large that rounding moves them further than is paid for."""

LAST_SHARE = 2.0**-10
"""Rounding may take at least so much of the ratio in the noise that is drawn last."""

LARGEST_DEVIATION = 2.0**480
"""Of noise with a covariance: what rounding adds to its square, and to sums of squares, is still a double."""

Needed = Callable[[Sequence[Gap], float], FloatArray | Refusal]
"""From the gaps and the ratio that they may be long to the covariance of the noise."""


class NormalBudget(NamedTuple):
    """Pairs of normal laws, and what they may tell.

    Parameters
    ----------
    evidence : Laws
    pairs : list of NormalPair
    epsilon, delta : float
        Of the normal laws.
    left : float
        What is left of delta for them once clamped records and tails are paid for.
    ratio : float
        The largest gap in standard deviations.
    notes : tuple of str
        What the certificate adds.
    """

    evidence: Laws
    pairs: list[NormalPair]
    epsilon: float
    delta: float
    left: float
    ratio: float
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class ForNormalLaws:
    """What all mechanisms for normal laws have in common: their options, and what they refuse first.

    It stands before `Mechanism` among the bases of such a mechanism.

    Parameters
    ----------
    constant : {"analytic", "textbook", "lecture"}
    beyond_proof, large_delta : bool
        Waivers of refusals.
    relaxation : float, optional
        How much of epsilon may be given up on either side for laws that are not normal with one covariance.
    """

    constant: GaussianConstant = "analytic"
    beyond_proof: bool = False
    large_delta: bool = False
    relaxation: float | None = None
    choices: ClassVar[Mapping[str, tuple[str, ...]]] = {"constant": CONSTANTS}
    checked: ClassVar[Mapping[str, Callable[[str, object], object]]] = {"relaxation": checks.not_negative}
    claim: ClassVar[str]
    compares_laws: ClassVar[bool] = True

    def _decide(self, framework: Framework, query: Query, epsilon: float, delta: float) -> Search | Refusal:
        refusal = noise_refusal("gaussian", framework, delta, large_delta=self.large_delta)
        refusal = refusal or constant_refusal(self.constant, epsilon, beyond_proof=self.beyond_proof)
        return refusal or self._decide_by_laws(framework, query, epsilon, delta)

    @abstractmethod
    def _decide_by_laws(self, framework: Framework, query: Query, epsilon: float, delta: float) -> Search | Refusal:
        """Decide as `_decide`, once epsilon and delta are in order."""

    def _certificate(
        self, framework: Framework, query: Query, evidence: Laws, decisions: Sequence[LawDecision], theorem: str
    ) -> Certificate:
        theorem = f"{theorem}, {self.constant} constant"
        return law_certificate(framework, query, evidence, decisions, theorem=theorem, claim=self.claim)


@dataclass(frozen=True, kw_only=True)
class CovarianceChoice(ForNormalLaws):
    """What mechanisms for normal laws have in common that differ only in the covariance that they choose.

    A subclass adds its claim, its name in a certificate, and the covariance.
    """

    _theorem: ClassVar[str]
    """What a certificate calls the mechanism."""

    _needed: ClassVar[Needed]
    """The covariance that is chosen."""

    def concerns(self, framework: Framework) -> bool:
        """Whether answers may have normal laws: declared ones, or those of a linear-Gaussian network."""
        return framework.linear_gaussian or declares_normal_laws(framework)

    def _decide_by_laws(self, framework: Framework, query: Query, epsilon: float, delta: float) -> Search | Refusal:
        found = laws_by_pairs(framework, query)
        if isinstance(found, Refusal):
            return found
        if self.relaxation is None:
            budget = not_normal(found[1]) or self._budget(*found, epsilon, delta)
        else:
            budget = self._relaxed(*found, self.relaxation, epsilon, delta)
        if isinstance(budget, Refusal):
            return budget
        needed = self._covariance(budget, budget.ratio)
        return needed if isinstance(needed, Refusal) else partial(self._search, budget, framework, query, delta)

    def _relaxed(
        self, evidence: Laws, pairs: list[NormalPair], level: float, epsilon: float, delta: float
    ) -> NormalBudget | Refusal:
        """Normal laws with one covariance that stand for those of the answer (normal_approximations.md)."""
        found = approximated(pairs, ())
        if isinstance(found, Refusal):
            return found
        if not down(epsilon - 2 * level) > 0:
            return relaxation_refusal(level, epsilon)
        # noise brings the laws only closer, so that closeness without it does for every noise
        closeness = max(each.closeness(level, 0.0) for each in found)
        levels = smaller_epsilons(epsilon, delta, level, closeness)
        left = {down(each - 2 * level): delta_left(each, delta, level, closeness) for each in levels}
        left = {inner: rest for inner, rest in left.items() if inner > 0 and rest > 0}
        close = f"({level:g}, {upper_chance(closeness)})-close"
        if not left:
            return Refusal(
                required="delta must cover how far the distributions of the answer are from normal ones with one "
                "covariance",
                found=f"distributions that are {close} to such",
                remedy="Choose a larger relaxation, or use AttributeGaussianMechanism(relaxation=...).",
            )
        stand = [each.standing for each in found]
        tried = [self._budget(evidence, stand, inner, rest) for inner, rest in left.items()]
        budgets = [each for each in tried if not isinstance(each, Refusal)]
        if not budgets:
            return tried[0]
        note = f"Normal distributions stand for those of the answer, to which they are {close}."
        return max(budgets, key=lambda each: each.ratio)._replace(notes=(note,))

    def _budget(self, evidence: Laws, pairs: list[NormalPair], epsilon: float, delta: float) -> NormalBudget | Refusal:
        # clamped records are paid for, and tails, whether or not there is noise
        clamped = max(clamped_of(each.pair, epsilon) for each in pairs)
        left = down(delta * (1 - TAIL_SHARE) - clamped)
        if not left > 0:
            return Refusal(
                required="delta must be above what clamped records may tell",
                found=f"delta {full_text(delta)}",
                remedy="Declare wider bounds of the queried columns, so that the model hardly ever passes them.",
            )
        ratio = normal_ratio(pairs, epsilon, left, self.constant)
        if isinstance(ratio, Refusal):
            return ratio
        refusal = variance_refusal(max(math.hypot(*each.gap.tolist()) for each in pairs), ratio)
        return refusal or NormalBudget(evidence, pairs, epsilon, delta, left, ratio)

    def _covariance(self, budget: NormalBudget, ratio: float) -> FloatArray | Refusal:
        """The covariance that is needed, made larger where gaps leave the directions that were assumed."""
        gaps = _gaps(budget.pairs)
        found = type(self)._needed(gaps, ratio)
        return found if isinstance(found, Refusal) else repaired(found, gaps, ratio)

    def _search(self, budget: NormalBudget, framework: Framework, query: Query, delta: float) -> Found:
        evidence, pairs, ratio = budget.evidence, budget.pairs, budget.ratio
        # without noise rounding costs nothing where the law of the exact answer was declared
        free = declares_normal_laws(framework) or all(each.pair.rounding == 0 for each in pairs)
        if free and hidden(_gaps(pairs), ratio):
            noise: Noise = NoNoise(evidence.dimension)
        else:
            noise = self._noise(budget, reach_of(query, framework.schema, evidence.dimension))
        decisions = _decisions(pairs, ratio, max(noise.scales))
        certificate = self._certificate(framework, query, evidence, decisions, self._theorem)
        certificate = replace(certificate, notes=(*certificate.notes, *budget.notes))
        left = delta_for_one_covariance(pairs, budget.epsilon, budget.left)
        spent = spent_delta(budget.epsilon, delta, left, self.constant, self.relaxation or 0.0)
        return Found(noise, certificate, spent)

    def _noise(self, budget: NormalBudget, reach: FloatArray) -> Noise:
        """The noise, with the best of several shares of the ratio for the step that is drawn last."""
        found = self._noise_for(budget, reach, LAST_SHARE)
        if isinstance(found, CorrelatedGaussian) and found.dithers == CorrelatedGaussian(found.needed).dithers:
            return found
        others = (self._noise_for(budget, reach, LAST_SHARE * 4**k) for k in range(1, 5))
        return min((found, *others), key=lambda noise: noise.error().upper)

    def _noise_for(self, budget: NormalBudget, reach: FloatArray, share: float) -> Noise:
        needed = self._covariance(budget, budget.ratio * kept(share))
        if isinstance(needed, Refusal):
            raise needed.error()
        size = len(needed)
        rounding = max(each.pair.rounding for each in budget.pairs)
        per_move = math.sqrt(size) / (share * budget.ratio) * (1 + 16 * UNIT_ROUNDOFF)
        if np.array_equal(needed, needed[0, 0] * np.eye(size)):
            return Gaussian(up(math.hypot(math.sqrt(needed[0, 0]), rounding * per_move)), size)
        plain = CorrelatedGaussian(needed)
        moved = 2 * plain.moved(reach.tolist(), log_tail(budget.epsilon, budget.delta)) + rounding
        # a small part of the last noise makes up for what the factor of the covariance loses by rounding
        last = moved * per_move * (1 + 2.0**-20)
        return CorrelatedGaussian(needed, np.maximum(plain.dithers, last).tolist())


def declares_normal_laws(framework: Framework) -> bool:
    """Whether pairs of normal laws were declared, and no others."""
    declared = framework.answer_laws
    return bool(declared) and all(isinstance(law, Normal) for law, _ in declared)


def variance_refusal(far: float, ratio: float) -> Refusal | None:
    """Return why noise that hides a gap has a variance that is no double, or None if it is one."""
    if far <= LARGEST_DEVIATION * ratio:
        return None
    return Refusal(
        required="the variance of the noise must be a number that a double holds",
        found=f"a deviation of {far / ratio:.3g}",
        remedy="Declare the answer in another unit, or ask for a larger epsilon or delta.",
    )


def kept(share: float) -> float:
    """Return what is kept of a ratio if a share of it is for another step: the squares add up to less than 1."""
    return down(math.sqrt((1 - share) * (1 + share)) * (1 - 2.0**-40))


def spent_delta(epsilon: float, delta: float, left: float, constant: GaussianConstant, level: float = 0.0) -> float:
    """Return the delta that holds if noise is fitted with what is left of it: more only beyond a constant's proof."""
    told = delta_of_constant(epsilon, left, constant)
    return delta if told <= left else min(1.0, up(delta + (told - left) * math.exp(level), 16))


def reach_of(query: Query, schema: Schema, size: int) -> FloatArray:
    """Return the largest size of each number; 0 for answers that cannot be released, whose range is not known."""
    ends = np.abs(np.stack(answer_range(query, schema))).max(axis=0)
    return np.where(np.isfinite(ends), ends, 0.0).reshape(size)


def log_tail(epsilon: float, delta: float) -> float:
    """Return the log of a probability that costs no more than its share of delta in both laws of a pair."""
    return math.log(TAIL_SHARE) + math.log(delta) - epsilon - math.log(2)


def _gaps(pairs: Sequence[NormalPair]) -> list[Gap]:
    return [Gap(each.gap, each.covariance) for each in pairs]


def _decisions(pairs: Sequence[NormalPair], ratio: float, scale: float) -> list[LawDecision]:
    """Return the pair that needs the most noise for each attribute and model, first the one that needs the most."""
    worst: dict[tuple[str, int], tuple[float, NormalPair]] = {}
    for each in pairs:
        alone = float(np.linalg.eigvalsh(Gap(each.gap, each.covariance).missing(ratio))[-1])
        place = each.protected, each.model
        if place not in worst or alone > worst[place][0]:
            worst[place] = alone, each
    rows = sorted(worst.values(), key=lambda row: -row[0])
    return [
        LawDecision.of(
            *each,
            rule=GAP_RULE,
            distance=Bound(0.0, each.far, each.pair.kind),
            scale=scale if place == 0 else min(scale, math.sqrt(max(0.0, alone))),
            noise="gaussian",
        )
        for place, (alone, each) in enumerate(rows)
    ]


# --------------------------------------------------------------------------------------------------
# Gaussian noise in the one direction in which the means differ, less what the answer's own uncertainty hides.
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class DirectionalUncertaintyMechanism(CovarianceChoice, Mechanism):
    """Gaussian noise in the one direction of all gaps between means, less what the answer's own uncertainty hides.

    Parameters
    ----------
    constant : {"analytic", "textbook", "lecture"}
        The exact curve of the normal law; the square root of 2 log(1.25/delta), or of 2 log(2/delta), over epsilon.
    beyond_proof : bool
        Waive the refusal of an epsilon above 1 with the last two constants; the guarantee then names the delta that
        holds.
    large_delta : bool
        Waive the refusal of a delta of one over the number of records or more.
    relaxation : float, optional
        How much of epsilon may be given up on either side for normal laws whose covariances differ: others with their
        means and the mean of their covariances stand for them (docs/claims/normal_approximations.md).
    weights : sequence of float, optional
        Of the parts of the answer, powers of two; None takes the best of three public shapes, as in `Mechanism`.

    Raises
    ------
    ParameterError
        If an option is none of these.

    Notes
    -----
    docs/claims/directional_uncertainty.md. Appendix A.2, here in closed form, of Chen, Ohrimenko,
    "Protecting Global Properties of Datasets with Distribution Privacy Mechanisms" (AISTATS 2023).

    Examples
    --------
    >>> import bnpriv as bp
    >>> from bnpriv.laws import Normal
    >>> covariance = [[22, -6], [-6, 13]]
    >>> pair = (Normal([100, 101], covariance), Normal([99, 102], covariance))
    >>> framework = bp.DistributionPrivacy([pair], source="a textbook")
    >>> mechanism = bp.mechanisms.DirectionalUncertaintyMechanism(constant="textbook")
    >>> calibration = mechanism.calibrate(framework, epsilon=1.0, delta=1e-3)
    >>> round(float(calibration.noise.covariance.trace()), 2)
    6.78
    """

    claim: ClassVar[str] = "directional_uncertainty.md"
    _theorem: ClassVar[str] = "Directional uncertainty mechanism"
    _needed: ClassVar[Needed] = staticmethod(along_direction)


# --------------------------------------------------------------------------------------------------
# Gaussian noise along the eigenvectors that the covariances of a normal answer have in common.
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class EigenvectorMechanism(CovarianceChoice, Mechanism):
    """Gaussian noise along the common eigenvectors of the laws: in each only what the answer's own variance lacks.

    Parameters
    ----------
    constant : {"analytic", "textbook", "lecture"}
        The exact curve of the normal law; the square root of 2 log(1.25/delta), or of 2 log(2/delta), over epsilon.
    beyond_proof : bool
        Waive the refusal of an epsilon above 1 with the last two constants; the guarantee then names the delta that
        holds.
    large_delta : bool
        Waive the refusal of a delta of one over the number of records or more.
    relaxation : float, optional
        How much of epsilon may be given up on either side for normal laws whose covariances differ: others with their
        means and the mean of their covariances stand for them (docs/claims/normal_approximations.md).
    weights : sequence of float, optional
        Of the parts of the answer, powers of two; None takes the best of three public shapes, as in `Mechanism`.

    Raises
    ------
    ParameterError
        If an option is none of these.

    Notes
    -----
    docs/claims/eigenvector.md. Theorem 4.5 of Chen, Ohrimenko, "Protecting Global Properties of Datasets with
    Distribution Privacy Mechanisms" (AISTATS 2023).

    Examples
    --------
    >>> import bnpriv as bp
    >>> from bnpriv.laws import Normal
    >>> covariance = [[22, -6], [-6, 13]]
    >>> pair = (Normal([100, 101], covariance), Normal([99, 102], covariance))
    >>> framework = bp.DistributionPrivacy([pair], source="a textbook")
    >>> mechanism = bp.mechanisms.EigenvectorMechanism(constant="textbook")
    >>> calibration = mechanism.calibrate(framework, epsilon=1.0, delta=1e-3)
    >>> round(float(calibration.noise.covariance.trace()), 2)
    22.05
    """

    claim: ClassVar[str] = "eigenvector.md"
    _theorem: ClassVar[str] = "Eigenvector mechanism"
    _needed: ClassVar[Needed] = staticmethod(along_eigenvectors)


# --------------------------------------------------------------------------------------------------
# Gaussian noise with the covariance of the least trace that hides all gaps between means.
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class OptimalGaussianMechanism(CovarianceChoice, Mechanism):
    """Gaussian noise with the least mean squared error of all that hide the gaps between the means of normal laws.

    Parameters
    ----------
    constant : {"analytic", "textbook", "lecture"}
        The exact curve of the normal law; the square root of 2 log(1.25/delta), or of 2 log(2/delta), over epsilon.
    beyond_proof : bool
        Waive the refusal of an epsilon above 1 with the last two constants; the guarantee then names the delta that
        holds.
    large_delta : bool
        Waive the refusal of a delta of one over the number of records or more.
    relaxation : float, optional
        How much of epsilon may be given up on either side for normal laws whose covariances differ: others with their
        means and the mean of their covariances stand for them (docs/claims/normal_approximations.md).
    weights : sequence of float, optional
        Of the parts of the answer, powers of two; None takes the best of three public shapes, as in `Mechanism`.

    Raises
    ------
    ParameterError
        If an option is none of these.

    Notes
    -----
    docs/claims/optimal_gaussian.md. No common direction and no common eigenvectors
    are needed. For one gap it is a closed form; for several a small semidefinite program, whose answer is checked and
    made larger until it is certain to be private.

    Examples
    --------
    >>> import bnpriv as bp
    >>> from bnpriv.laws import Normal
    >>> covariance = [[22, -6], [-6, 13]]
    >>> pair = (Normal([100, 101], covariance), Normal([99, 102], covariance))
    >>> framework = bp.DistributionPrivacy([pair], source="a textbook")
    >>> mechanism = bp.mechanisms.OptimalGaussianMechanism(constant="textbook")
    >>> calibration = mechanism.calibrate(framework, epsilon=1.0, delta=1e-3)
    >>> round(float(calibration.noise.covariance.trace()), 2)
    6.17
    """

    claim: ClassVar[str] = "optimal_gaussian.md"
    _theorem: ClassVar[str] = "Optimal Gaussian mechanism"
    _needed: ClassVar[Needed] = staticmethod(least_trace)


# --------------------------------------------------------------------------------------------------
# Gaussian noise for answers with normal laws: only what the answer's own uncertainty does not already hide.
# --------------------------------------------------------------------------------------------------

CLAMPED = Refusal(
    required="delta must be above what clamped records may tell",
    found="columns whose values the model often takes beyond their bounds",
    remedy="Declare wider bounds of the queried columns, or ask for a larger delta.",
)

ROUNDING_SHARES = (2.0**-20, 2.0**-10, 2.0**-5, 0.125, 0.5, 0.875, 1 - 2.0**-5, 1 - 2.0**-10)
"""Shares of the variance of the noise that are tried for hiding that answers are rounded."""


def _approximations(name: str, given: object) -> tuple[tuple[Normal, Normal], ...]:
    """Pairs of normal laws that were given, or stored as means and covariances."""
    listed = cast("Sequence[object]", given if isinstance(given, (list, tuple)) else (given,))
    return tuple(_normals(name, two) for two in listed)


def _normals(name: str, two: object) -> tuple[Normal, Normal]:
    sides = cast("Sequence[object]", two if isinstance(two, (list, tuple)) else ())
    found = [_normal(side) for side in sides]
    if len(found) != 2 or any(side is None for side in found):
        raise ParameterError(
            f"{name} must be pairs of normal distributions",
            found=checks.type_text(cast(object, two)),
            remedy="Write approximations=[(Normal(0.0, 4.0), Normal(1.0, 4.0))].",
        )
    return cast("tuple[Normal, Normal]", tuple(found))


def _normal(side: object) -> Normal | None:
    if isinstance(side, dict) and side.keys() == {"mean", "covariance"}:
        return Normal(**cast("dict[str, Any]", side))
    return side if isinstance(side, Normal) else None


@dataclass(frozen=True, kw_only=True)
class AttributeGaussianMechanism(ForNormalLaws, Mechanism):
    """Gaussian noise for normal laws: the least that, with the answer's own uncertainty, hides the gap of the means.

    Parameters
    ----------
    constant : {"analytic", "textbook", "lecture"}
        The exact curve of the normal law; the square root of 2 log(1.25/delta), or of 2 log(2/delta), over epsilon.
    beyond_proof : bool
        Waive the refusal of an epsilon above 1 with the last two constants; the guarantee then names the delta that
        holds.
    large_delta : bool
        Waive the refusal of a delta of one over the number of records or more.
    relaxation : float, optional
        For laws that are not normal, or have two covariances: normal laws stand for them, which costs twice so much of
        epsilon, and of delta how far the laws are apart at that level once noise is added.
    approximations : sequence of (Normal, Normal)
        Which normal laws stand for the pairs, in their order; by default each law's own mean, with the mean of the two
        covariances.
    weights : sequence of float, optional
        Of the parts of the answer, powers of two; None takes the best of three public shapes, as in `Mechanism`.

    Raises
    ------
    ParameterError
        If an option is none of these.

    Notes
    -----
    docs/claims/attribute_gaussian.md, docs/claims/normal_approximations.md.

    For one number the variance is the largest ``(gap / ratio)^2 - variance`` over
    all pairs and models, and 0 if none is above; for several numbers it is the least ``s^2`` with
    ``gap' (covariance + s^2 I)^-1 gap <= ratio^2``. Zhang, Ohrimenko, Cummings, "Attribute Privacy: Framework and
    Mechanisms" (FAccT 2022), section 4.

    Examples
    --------
    >>> import bnpriv as bp
    >>> from bnpriv.laws import Normal
    >>> framework = bp.DistributionPrivacy([(Normal(0.0, 9.0), Normal(5.0, 9.0))], source="a textbook")
    >>> mechanism = bp.mechanisms.AttributeGaussianMechanism()
    >>> round(mechanism.calibrate(framework, epsilon=1.0, delta=1e-3).scale, 4)
    12.5188
    """

    approximations: Sequence[tuple[Normal, Normal]] = ()
    claim: ClassVar[str] = "attribute_gaussian.md"
    checked: ClassVar[Mapping[str, Callable[[str, object], object]]] = {
        **ForNormalLaws.checked,
        "approximations": _approximations,
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.relaxation is None and self.approximations:
            raise ParameterError(
                "normal distributions that stand for others need a relaxation",
                found="none",
                remedy="Pass relaxation=0.05.",
            )

    def options(self) -> dict[str, object]:
        """Return the constructor arguments as plain values."""
        plain = [
            [{"mean": law.mean.tolist(), "covariance": law.covariance.tolist()} for law in two]
            for two in self.approximations
        ]
        return {**super().options(), "approximations": plain}

    def concerns(self, framework: Framework) -> bool:
        """Whether answers may have normal laws: declared ones, or those of records or parameters that do."""
        return framework.may_be_normal

    def _decide_by_laws(self, framework: Framework, query: Query, epsilon: float, delta: float) -> Search | Refusal:
        if self.relaxation is not None and not 2 * self.relaxation < epsilon:
            return relaxation_refusal(self.relaxation, epsilon)
        found = laws_by_pairs(framework, query)
        if isinstance(found, Refusal):
            return found
        evidence, pairs = found
        # what is declared is the law of the exact answer, of which the released one is a function
        free = bool(framework.answer_laws)
        if self.relaxation is not None:
            standing = approximated(pairs, self._standing(query))
            if isinstance(standing, Refusal):
                return standing
            trial = Trial(epsilon=epsilon, delta=delta, level=self.relaxation, constant=self.constant, free=free)
            return partial(self._search_relaxed, trial, evidence, standing, framework, query)
        refusal = not_normal(pairs)
        if refusal is not None:
            return refusal
        clamped = max(clamped_of(each.pair, epsilon) for each in pairs)
        left = delta if clamped == 0 else down(delta - clamped)
        if not left > 0:
            return CLAMPED
        ratio = normal_ratio(pairs, epsilon, left, self.constant)
        if isinstance(ratio, Refusal):
            return ratio

        def search() -> Found:
            decisions = sorted((_decided(pair, ratio, declared=free) for pair in pairs), key=lambda d: -d.scale)
            theorem = "Attribute-private Gaussian mechanism"
            certificate = self._certificate(framework, query, evidence, decisions, theorem)
            noise = noise_of("gaussian", found_scale(decisions[0].scale, epsilon, delta), evidence.dimension)
            spent = spent_delta(epsilon, delta, delta_for_one_covariance(pairs, epsilon, left), self.constant)
            return Found(noise, certificate, spent)

        return search

    def _standing(self, query: Query) -> Sequence[tuple[Normal, Normal]]:
        """The normal laws that were chosen, of the weighted answer if that is asked for."""
        if not isinstance(query, Weighted):
            return self.approximations
        weights = query.weights
        return [(first.weighted(weights), second.weighted(weights)) for first, second in self.approximations]

    def _search_relaxed(
        self, trial: Trial, evidence: Laws, pairs: list[Approximated], framework: Framework, query: Query
    ) -> Found:
        decisions = sorted((trial.decide(each) for each in pairs), key=lambda d: -d.scale)
        scale = decisions[0].scale
        if math.isinf(scale):
            raise TOO_FAR.error()
        outcomes = [trial.outcome(each, scale) for each in pairs]
        theorem = "Attribute-private Gaussian mechanism for distributions near normal ones"
        certificate = self._certificate(framework, query, evidence, decisions, theorem)
        close = f"({trial.level:g}, {upper_chance(max(outcome.closeness for outcome in outcomes))})-close"
        note = f"Normal distributions stand for those of the answer: with the noise they are {close}."
        certificate = replace(certificate, claim="normal_approximations.md", notes=(*certificate.notes, note))
        spent = max(outcome.delta for outcome in outcomes)
        return Found(noise_of("gaussian", scale, evidence.dimension), certificate, spent)


def _decided(each: NormalPair, ratio: float, *, declared: bool) -> LawDecision:
    """What one pair needs: the least deviation at which its gap is at most `ratio` standard deviations long."""
    # what is declared of the exact answer holds for its rounding too as long as no noise is added to the rounded one
    length = gap_length(each, each.far, free=declared or each.pair.rounding == 0)
    guess = (each.far + each.pair.rounding) / ratio or each.pair.rounding or 1.0
    return LawDecision.of(
        *each,
        rule=GAP_RULE,
        distance=Bound(float(np.max(np.abs(each.gap))), each.far, each.pair.kind),
        scale=least_scale(length, ratio, up(guess)),
        noise="gaussian",
    )


def gap_length(each: NormalPair, far: float, *, free: bool) -> Callable[[float], float]:
    """Return how long a gap is, in standard deviations of answer and noise, as a function of the noise, rounded up.

    Parameters
    ----------
    each : NormalPair
    far : float
        The 2-norm of its gap, rounded up.
    free : bool
        Whether rounding the answer costs nothing where no noise is added.

    Notes
    -----
    A share of the variance of the noise hides that answers are rounded before it is added: docs/claims/
    attribute_gaussian.md.
    """
    rounding, identity = each.pair.rounding, np.eye(len(each.gap))
    shares = {rounding / (far + rounding), *ROUNDING_SHARES} if rounding else {0.0}

    def length(scale: float) -> float:
        if scale == 0:
            return mahalanobis(each.gap, each.covariance) if free else math.inf
        variance = scale * scale * (1 - 4 * UNIT_ROUNDOFF)
        if not math.isfinite(variance):
            return math.inf
        return min(split(variance, share) for share in shares) * (1 + 8 * UNIT_ROUNDOFF)

    def split(variance: float, share: float) -> float:
        hidden = variance * share
        told = mahalanobis(each.gap, each.covariance + (variance - hidden) * identity)
        if not rounding:
            return told
        return math.hypot(told, rounding / math.sqrt(hidden)) if hidden else math.inf

    return length
