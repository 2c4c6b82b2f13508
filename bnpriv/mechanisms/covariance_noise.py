"""What the mechanisms for normal laws that choose a covariance share: what they refuse, and the noise they draw."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, NamedTuple

import numpy as np

from bnpriv import checks
from bnpriv.bound import UNIT_ROUNDOFF, Bound, FloatArray, down, up
from bnpriv.divergences.gaussian import CONSTANTS, GaussianConstant, constant_refusal, delta_of_constant
from bnpriv.errors import Refusal
from bnpriv.evidence.constraints import Laws
from bnpriv.frameworks.framework import Framework
from bnpriv.laws.normal import Normal
from bnpriv.mechanisms.added_covariance import Gap, hidden, repaired
from bnpriv.mechanisms.approximations import approximated, delta_left, relaxation_refusal, smaller_epsilons
from bnpriv.mechanisms.base import Found, Search
from bnpriv.mechanisms.certificate import Certificate
from bnpriv.mechanisms.column import noise_refusal
from bnpriv.mechanisms.departures import clamped_of
from bnpriv.mechanisms.law_decision import GAP_RULE, LawDecision
from bnpriv.mechanisms.laws_certificate import law_certificate
from bnpriv.mechanisms.normal_laws import (
    NormalPair,
    delta_for_one_covariance,
    laws_by_pairs,
    normal_ratio,
    not_normal,
)
from bnpriv.noise.continuous import Gaussian, Noise, NoNoise
from bnpriv.noise.correlated import CorrelatedGaussian
from bnpriv.queries.base import Query
from bnpriv.queries.sensitivity import answer_range
from bnpriv.render.text import full_text, upper_chance
from bnpriv.tables.schema import Schema

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
                required="delta must cover how far the laws of the answer are from normal ones with one covariance",
                found=f"laws that are {close} to such",
                remedy="Choose a larger relaxation, or use AttributeGaussianMechanism(relaxation=...).",
            )
        stand = [each.standing for each in found]
        tried = [self._budget(evidence, stand, inner, rest) for inner, rest in left.items()]
        budgets = [each for each in tried if not isinstance(each, Refusal)]
        if not budgets:
            return tried[0]
        note = f"Normal laws stand for those of the answer, to which they are {close}."
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
