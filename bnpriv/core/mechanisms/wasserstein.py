"""The Wasserstein mechanism: noise for the distance that mass must move between the laws of the answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from bnpriv.bound import UNIT_ROUNDOFF, Bound, up, weakest
from bnpriv.core.distributions import Atoms
from bnpriv.core.evidence.constraints import Constraint, LawPair, Laws, RecordPair
from bnpriv.core.evidence.laws import laws
from bnpriv.core.gaussian_curve import gaussian_mu
from bnpriv.core.mechanisms.base import Mechanism, Search, found_scale, noise_of
from bnpriv.core.mechanisms.column import noise_refusal
from bnpriv.core.mechanisms.k_fold import COUPLED_RULE, SUMS_RULE, Coupled, gaussian_scale, sums_of_records
from bnpriv.core.mechanisms.law_decision import (
    ANSWER_RULE,
    OTHER_COVARIANCES,
    LawDecision,
    are_normal,
    clamped_of,
    confidence_of,
    decided,
    distance_bounds,
    distance_of,
    draws_refusal,
    law_certificate,
    missed_by,
    moved_by,
    one_covariance,
)
from bnpriv.core.mechanisms.weights import Found
from bnpriv.core.noise import ContinuousNoise
from bnpriv.core.queries.base import Query
from bnpriv.core.transport.distance import check_pairs, closeness, w_infinity
from bnpriv.core.transport.line import tolerance
from bnpriv.errors import Refusal, SizeError

if TYPE_CHECKING:
    from bnpriv.core.frameworks.question import Framework

RECORD_DISTANCE_RULE = "what one record adds, once for every record that changes"

NO_FARTHEST = Refusal(
    required="Gaussian noise for a distance needs the farthest that any mass moves",
    found="draws, which say nothing of mass so rare that none was drawn",
    remedy="Use TightMechanism with Gaussian noise, or Laplace noise.",
)


@dataclass(frozen=True, kw_only=True)
class WassersteinMechanism(Mechanism):
    """Noise for the infinity-Wasserstein distance of the laws of the answer; for (W, delta)-closeness if delta > 0.

    Parameters
    ----------
    noise : {"laplace", "gaussian"}
        Laplace noise for the 1-norm; Gaussian noise for the 2-norm, which needs delta above 0.
    large_delta : bool
        Waive the refusal of a delta of one over the number of records or more.
    weights : sequence of float, optional
        Of the parts of the answer, powers of two; None takes the best of three public shapes, as in `Mechanism`.

    Raises
    ------
    ParameterError
        If `noise` is neither.

    Notes
    -----
    docs/claims/wasserstein.md and, for secrets that are numbers of records, k_fold.md. Song, Wang, Chaudhuri,
    "Pufferfish Privacy Mechanisms for Correlated Data" (SIGMOD 2017), algorithm 1; with delta > 0 the Approximate
    Wasserstein mechanism of Chen, Ohrimenko, "Protecting Global Properties of Datasets with Distribution Privacy
    Mechanisms" (AISTATS 2023), theorem 3.2.

    Examples
    --------
    >>> import bnpriv as bp
    >>> from bnpriv.laws import Atoms
    >>> pair = (Atoms([0, 1, 2], [0.2, 0.5, 0.3]), Atoms([0, 1, 2], [0.5, 0.5, 0.0]))
    >>> framework = bp.DistributionPrivacy([pair], source="a textbook")
    >>> round(bp.WassersteinMechanism().calibrate(framework, epsilon=0.5).scale, 6)
    2.0
    """

    noise: ContinuousNoise = "laplace"
    large_delta: bool = False
    claim: ClassVar[str] = "wasserstein.md"
    compares_laws: ClassVar[bool] = True

    def _decide(self, framework: Framework, query: Query, epsilon: float, delta: float) -> Search | Refusal:
        evidence = laws(framework, query)
        if isinstance(evidence, Refusal):
            return evidence
        refusal = noise_refusal(self.noise, framework, delta, large_delta=self.large_delta)
        if self.noise == "gaussian" and confidence_of(evidence) is not None:
            refusal = refusal or NO_FARTHEST
        refusal = refusal or draws_refusal(evidence, delta)
        if refusal is not None:
            return refusal
        for constraint in evidence.constraints():
            pairs = _of_size(constraint.pairs)
            if isinstance(pairs, Refusal):
                if constraint.record is None:
                    return pairs
                continue
            whole = delta == 0 or self.noise == "gaussian"  # all mass must move, however far out it lies
            if whole and are_normal(pairs) and not all(one_covariance(pair) for pair in pairs):
                return OTHER_COVARIANCES
        return partial(self._search, evidence, framework, query, epsilon, delta)

    def _search(self, evidence: Laws, framework: Framework, query: Query, epsilon: float, delta: float) -> Found:
        search = _DistanceSearch(noise=self.noise, epsilon=epsilon, delta=delta, rounding=evidence.rounding)
        decisions = decided(evidence.constraints(), epsilon, search.decide, search.by_record)
        approximate = "Approximate Wasserstein" if delta > 0 and self.noise == "laplace" else "Wasserstein"
        theorem = f"{approximate} mechanism"
        certificate = law_certificate(framework, query, evidence, decisions, theorem=theorem, claim=self.claim)
        scale = decisions[0].scale
        # closeness ignores mass even where no noise is needed, and so do records that hardly ever differ
        rules = {decision.rule for decision in decisions}
        pure = {RECORD_DISTANCE_RULE} >= rules if self.noise == "laplace" else scale == 0 and COUPLED_RULE not in rules
        spent = 0.0 if pure else delta
        noise = noise_of(self.noise, found_scale(scale, epsilon, delta), evidence.dimension)
        return Found(noise, certificate, spent)


@dataclass(frozen=True, kw_only=True)
class _DistanceSearch:
    """The search for the scale that the distance of each constraint needs, by the better of two rules."""

    noise: ContinuousNoise
    epsilon: float
    delta: float
    rounding: float

    @property
    def norm(self) -> int:
        return 1 if self.noise == "laplace" else 2

    def decide(self, constraint: Constraint) -> LawDecision:
        """The decision for one constraint."""
        found: list[LawDecision] = []
        pairs = _of_size(constraint.pairs)
        if not isinstance(pairs, Refusal):
            found.append(self._by_laws(constraint, pairs))
        if constraint.record is not None and (by_record := self.by_record(constraint)) is not None:
            found.append(by_record)
            found += self._by_sums(constraint, constraint.record) if isinstance(pairs, Refusal) else []
        return min(found, key=lambda decision: decision.scale)

    def by_record(self, constraint: Constraint) -> LawDecision | None:
        """The rule for records: the distance of one record, times the number of records that change."""
        record = constraint.record
        if record is None:
            return None
        one = w_infinity(record.first, record.second, self.norm)
        # moving each of the k records by at most W moves their sum by at most k W
        far = record.distance * one.upper * (1 + UNIT_ROUNDOFF)
        # each of the k records pays the tolerance of its own comparison
        slack = record.distance * max(tolerance(way.first, way.second) for way in record.ways)
        kind = weakest(["certified", record.kind])
        return LawDecision.of(
            record,
            constraint.protected,
            constraint.model,
            rule=RECORD_DISTANCE_RULE,
            distance=Bound(0.0, far, kind),
            kind=kind,
            scale=self._scale(far, slack, self.rounding, free=record.distinct),
            noise=self.noise,
        )

    def _by_sums(self, constraint: Constraint, record: RecordPair) -> list[LawDecision]:
        """The rule for the sums of changing records, or with delta above 0 for the number that differ."""
        sums = sums_of_records(record, self.rounding)
        if sums is not None:
            found = self._by_laws(constraint, sums, SUMS_RULE)
            # the answers themselves may be nearer to each other than the sums
            return [] if found.distance is None else [replace(found, distance=_at_most(found.distance))]
        return [self._by_coupling(constraint, record)] if self.delta > 0 else []

    def _by_coupling(self, constraint: Constraint, record: RecordPair) -> LawDecision:
        coupled = Coupled.of(record, self.norm)
        if self.noise == "laplace":
            far = coupled.moved(self.delta)
            scale = self._scale(far, 0.0, self.rounding, free=record.distinct)
        else:
            far = coupled.records * coupled.apart
            curve = coupled.coupled_curve(self.epsilon, self.delta)
            scale = gaussian_scale(coupled, [curve], self.epsilon, self.delta, self.rounding)
        return LawDecision.of(
            record,
            constraint.protected,
            constraint.model,
            rule=COUPLED_RULE,
            distance=_at_most(Bound(0.0, up(far), record.kind)),
            kind=weakest(["certified", record.kind]),
            scale=scale,
            noise=self.noise,
        )

    def _by_laws(self, constraint: Constraint, pairs: Sequence[LawPair], rule: str = ANSWER_RULE) -> LawDecision:
        solved = [(self._scale_of(pairs[k]), k) for k in self._worst(pairs)]
        (scale, far), k = max(solved, key=lambda entry: entry[0][0])
        return LawDecision.of(
            pairs[k],
            constraint.protected,
            constraint.model,
            rule=rule,
            distance=far,
            kind=weakest([far.kind, *(pair.kind for pair in pairs)]),
            scale=scale,
            noise=self.noise,
            draws=0 if (sampled := pairs[k].sampled) is None else sampled.draws,
        )

    def _worst(self, pairs: Sequence[LawPair]) -> list[int]:
        """The pairs that may need the largest scale, as far as cheap bounds on distances tell."""
        bounds = [distance_bounds(pair, self.norm) for pair in pairs]
        closer = self.delta > 0 and self.noise == "laplace"
        ends: list[tuple[float, float]] = []
        for pair, bound in zip(pairs, bounds, strict=True):
            slack = pair.tolerance
            low, high = 0.0 if closer else bound.lower, bound.upper + moved_by(pair)
            ends.append((self._scale(low, slack, pair.rounding), self._scale(high, slack, pair.rounding)))
        least = max(low for low, _ in ends)
        return [k for k, (_, high) in enumerate(ends) if high >= least]

    def _scale_of(self, pair: LawPair) -> tuple[float, Bound]:
        slack = pair.tolerance
        far = self._far(pair, slack)
        if pair.sampled is not None:
            far = Bound(0.0, up(far.upper + pair.sampled.moved), pair.kind)
        return self._scale(far.upper, slack, pair.rounding, free=pair.free), far

    def _far(self, pair: LawPair, slack: float) -> Bound:
        """How far mass must move: all of it, or all but delta."""
        if self.delta == 0 or self.noise != "laplace":
            return distance_of(pair, self.norm)
        left, unseen = self.delta, missed_by(pair)
        if unseen:  # the comparison of draws is off by a share of their mass, which goes into delta here
            left = max(0.0, left - unseen - slack)
        if pair.departure is None:
            # ignored mass is paid for out of delta (`transport.line.tolerance`)
            return closeness(pair.first, pair.second, left * (1 - slack) / (1 + slack))
        whole, left = distance_of(pair, self.norm), left - clamped_of(pair, self.epsilon)
        if left <= 0:
            return whole
        return min(whole, closeness(pair.first, pair.second, left), key=float)

    def _scale(self, far: float, slack: float, rounding: float, *, free: bool = False) -> float:
        """The scale for a distance.

        Comparisons that leave out a share `slack` of the mass cost epsilon, and answers may be `rounding` further
        apart. No distance needs no noise only if it is `free`: if no rounding was needed to find it.
        """
        epsilon = self.epsilon + np.log1p(-slack) if slack < 1 else 0.0
        if not epsilon > 0:
            return float("inf")
        if far == 0 and free:
            return 0.0
        per_unit = 1 / epsilon if self.noise == "laplace" else 1 / gaussian_mu(float(epsilon), self.delta * (1 - slack))
        return float((far + rounding) * per_unit * (1 + 8 * UNIT_ROUNDOFF))


def _at_most(far: Bound) -> Bound:
    return Bound(0.0, far.upper, weakest(["certified", far.kind]))


def _of_size(pairs: Sequence[LawPair] | Refusal) -> Sequence[LawPair] | Refusal:
    """The pairs of laws, or why there are too many distances to compare one of them."""
    if isinstance(pairs, Refusal):
        return pairs
    try:
        for pair in pairs:
            if isinstance(pair.first, Atoms) and isinstance(pair.second, Atoms):
                check_pairs(pair.first, pair.second)
    except SizeError as error:
        return Refusal.of(error)
    return pairs
