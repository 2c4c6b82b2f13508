"""The mechanisms that compare the laws of an answer: by how far mass must move, and by their privacy curve."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import exp
from typing import TYPE_CHECKING, ClassVar, Literal, cast

import numpy as np

from bnpriv.bound import UNIT_ROUNDOFF, Bound, FloatArray, up, weakest
from bnpriv.core.distributions import Atoms, mahalanobis
from bnpriv.core.evidence.constraints import Constraint, LawPair, Laws, RecordPair, log_ratio
from bnpriv.core.evidence.laws import laws
from bnpriv.core.gaussian_curve import gaussian_delta, gaussian_mu
from bnpriv.core.mechanisms.base import LAWS, PRECISION, Mechanism, Search, found_scale, least_scale, noise_of
from bnpriv.core.mechanisms.column import noise_refusal
from bnpriv.core.mechanisms.k_fold import (
    BOUNDED_RULE,
    COUPLED_RULE,
    SUMS_RULE,
    Coupled,
    bounded_scale,
    distance_scale,
    gaussian_scale,
    sums_of_records,
)
from bnpriv.core.mechanisms.law_decision import (
    ANSWER_RULE,
    OTHER_COVARIANCES,
    RECORD_CURVE_RULE,
    LawDecision,
    are_normal,
    blurred_by,
    clamped_of,
    coarser,
    confidence_of,
    decided,
    distance_bounds,
    distance_of,
    draws_refusal,
    law_certificate,
    missed_by,
    moved_by,
    normals_of,
    one_covariance,
)
from bnpriv.core.mechanisms.weights import Found
from bnpriv.core.noise import ContinuousNoise
from bnpriv.core.privacy_curves import (
    MOST_PRODUCT_CELLS,
    TAIL_BUDGET,
    LaplacePair,
    gaussian_mixture_delta,
    gaussian_tail_delta,
    grid_size,
    largest_losses,
    lost_to_rounding,
    normal_with_laplace_delta,
    product_laplace_epsilon,
    too_many_atoms,
)
from bnpriv.core.queries.base import Query
from bnpriv.core.transport import check_pairs, closeness, tolerance, w_infinity
from bnpriv.errors import Refusal, SizeError

if TYPE_CHECKING:
    from bnpriv.core.frameworks.question import Framework

# --------------------------------------------------------------------------------------------------
# The Wasserstein mechanism: noise for the distance that mass must move between the laws of the answer.
# --------------------------------------------------------------------------------------------------

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


# --------------------------------------------------------------------------------------------------
# Normal laws of one covariance, by closed forms (docs/claims/normal_records.md).
# --------------------------------------------------------------------------------------------------


SHARES_OF_EPSILON = tuple(2.0**-k for k in range(2, 15))
"""Shares of epsilon that moving each answer by grids and doubles may cost; the best of them counts."""


def normal_refusal(pairs: Sequence[LawPair], noise: str) -> Refusal | None:
    """Why normal laws cannot be calibrated with a law of noise; None if they can."""
    if not all(one_covariance(pair) for pair in pairs):
        return OTHER_COVARIANCES
    if noise == "discrete_laplace":
        return Refusal(
            required="discrete Laplace noise needs an answer of whole numbers",
            found="a normal distribution",
            remedy="Use Laplace noise.",
        )
    if noise == "laplace" and pairs[0].first.dimension > 1 and any(pair.intervals is None for pair in pairs):
        return Refusal(
            required="several normal numbers at once are calibrated with Gaussian noise",
            found="Laplace noise",
            remedy='Use TightMechanism(noise="gaussian"), or WassersteinMechanism.',
        )
    return None


def normal_decision(
    constraint: Constraint, pairs: Sequence[LawPair], noise: str, epsilon: float, delta: float, floor: float
) -> tuple[LawDecision, bool]:
    """The decision from normal laws, and whether it spends delta.

    Parameters
    ----------
    constraint : Constraint
    pairs : sequence of LawPair
        Its pairs of normal laws, each with one covariance.
    noise : {"laplace", "gaussian"}
    epsilon, delta : float
    floor : float
        What other constraints need: pairs of intervals for which it is enough are not searched further.

    Returns
    -------
    LawDecision, bool
    """
    least = _gaussian if noise == "gaussian" else _laplace
    found: list[tuple[float, bool]] = []
    for pair in pairs:
        found.append(least(pair, epsilon, delta, floor))
        floor = max(floor, found[-1][0])
    worst = max(range(len(pairs)), key=lambda k: found[k][0])
    decision = LawDecision.of(
        pairs[worst],
        constraint.protected,
        constraint.model,
        rule=ANSWER_RULE,
        kind=weakest(pair.kind for pair in pairs),
        scale=found[worst][0],
        noise=noise,
    )
    return decision, any(spends for _, spends in found)


def _gaussian(pair: LawPair, epsilon: float, delta: float, floor: float) -> tuple[float, bool]:
    """The least deviation of Gaussian noise: by the curve, or by how far apart answers can be."""
    gap, covariance = _gap(pair), normals_of(pair)[0].covariance
    identity, clamped = np.eye(len(gap)), clamped_of(pair, epsilon)

    def loss(scale: float) -> float:
        variance = scale * scale
        mu = mahalanobis(gap, covariance + variance * identity) if math.isfinite(variance) else math.inf
        if math.isinf(mu):
            return math.inf
        if scale == 0 and pair.departure is None:
            return gaussian_delta(mu, epsilon)  # rounding an answer reveals no more about it
        return _moved(pair, mu, scale, epsilon) + clamped

    far = distance_of(pair, 2).upper
    if loss(0.0) <= delta:
        return 0.0, True
    if pair.intervals is not None and floor > 0 and loss(floor) <= delta:
        return floor, True
    enough = (far + pair.rounding) / gaussian_mu(epsilon, delta) * (1 + 2.0**-48)
    guess = enough if enough < math.inf else float(np.linalg.norm(gap))
    return min(enough, least_scale(loss, delta, guess or pair.rounding, _precision(pair))), True


def _precision(pair: LawPair) -> float:
    """The relative precision of a scale: curves of secrets in intervals are slow."""
    return PRECISION if pair.intervals is None else GAUSSIAN_PRECISION


def _moved(pair: LawPair, mu: float, scale: float, epsilon: float) -> float:
    """The curve at epsilon of answers that are each moved by half of a rounding before Gaussian noise.

    Their means are `mu` deviations apart under the two values that the laws of the pair belong to.
    """
    if scale == 0:
        return math.inf if pair.rounding else gaussian_delta(mu, epsilon)

    def moved(lost: float, curve: Callable[[float, float], float], mu: float) -> float:
        missing = gaussian_delta(pair.rounding / 2 / scale * (1 + 2.0**-50), lost)
        ratio = math.exp(min(epsilon - lost, 700.0))
        # the triangle inequality in three steps: moved to unmoved, one secret to the other, unmoved to moved
        return missing * (1 + ratio) + math.exp(min(lost, 700.0)) * curve(mu, epsilon - 2 * lost)

    shares = [share * epsilon for share in SHARES_OF_EPSILON] if pair.rounding else [0.0]
    best, lost = min((moved(lost, gaussian_delta, mu), lost) for lost in shares)
    inside = pair.intervals
    if inside is not None:
        best = min(best, moved(lost, inside.gaussian_delta, mu / inside.distance * (1 + 2.0**-50)))
    return best * (1 + 2.0**-48)


def _laplace(pair: LawPair, epsilon: float, delta: float, floor: float) -> tuple[float, bool]:
    """The least scale of Laplace noise; without delta, and for several numbers, that of the pure loss."""
    far, inside = distance_of(pair, 1).upper, pair.intervals
    pure = (far + pair.rounding) / epsilon * (1 + 2.0**-48)
    if inside is not None:

        def told(scale: float) -> float:
            return inside.loss(scale) + _rounding_loss(pair.rounding, scale)

        pure = min(pure, least_scale(told, epsilon, pure if pure < math.inf else pair.rounding / epsilon))
    gap = _gap(pair)
    if delta == 0 or far == 0 or gap.size > 1:
        return pure, False
    apart, clamped = abs(float(gap[0])) * (1 + 2.0**-50), clamped_of(pair, epsilon)
    deviation = math.sqrt(float(normals_of(pair)[0].covariance[0, 0])) * (1 - 2.0**-50)

    def curve(scale: float, epsilon: float) -> float:
        farthest = normal_with_laplace_delta(apart, deviation, scale, epsilon)
        if inside is None or min(scale, farthest) == 0:
            return farthest
        return min(farthest, inside.laplace_delta(apart / inside.distance * (1 + 2.0**-50), deviation, scale, epsilon))

    def loss(scale: float) -> float:
        if scale == 0:
            return curve(0.0, epsilon) if pair.departure is None else math.inf
        spent = pair.rounding / scale
        if spent >= epsilon:
            return math.inf
        # rounding multiplies each density by at most exp(spent / 2)
        return math.exp(spent / 2) * curve(scale, epsilon - spent) + clamped

    if (inside is not None and pure <= floor) or not loss(pure) <= delta:
        return pure, False
    if inside is not None and floor > 0 and loss(floor) <= delta:
        return floor, True
    scale = min(pure, least_scale(loss, delta, pure, _precision(pair)))
    return scale, scale < pure


def _gap(pair: LawPair) -> FloatArray:
    first, second = normals_of(pair)
    return second.mean - first.mean


# --------------------------------------------------------------------------------------------------
# The mechanism.
# --------------------------------------------------------------------------------------------------


# --------------------------------------------------------------------------------------------------
# What tight calibration refuses, and the number of atoms with which its curves are computed.
# --------------------------------------------------------------------------------------------------

GAUSSIAN_ATOMS = 150
"""Atoms of a law learned from draws, with Gaussian noise, whose curve costs grid points times atoms."""


def coarse_enough(constraint: Constraint, noise: str) -> Constraint:
    """A constraint whose learned laws have no more atoms than the curve of the noise can take."""
    pairs = constraint.pairs
    if noise != "gaussian" or isinstance(pairs, Refusal) or not on_line(pairs):
        return constraint
    return replace(constraint, pairs=tuple(coarser(pair, GAUSSIAN_ATOMS) for pair in pairs))


def unsupported(constraint: Constraint, evidence: Laws, noise: str) -> Refusal | None:
    """Why neither rule serves a constraint; None if one does."""
    if are_normal(constraint.pairs):
        return normal_refusal(cast("Sequence[LawPair]", constraint.pairs), noise)
    if noise == "discrete_laplace" and (evidence.rounding > 0 or not _whole(constraint)):
        return Refusal(
            required="discrete Laplace noise needs an answer of whole numbers",
            found="fractions",
            remedy="Use Laplace noise, or ask for a count.",
        )
    if constraint.record is not None:
        first, second = constraint.record.first, constraint.record.second
        # Laplace noise on one record of several outputs needs a grid, Gaussian noise does not
        size = 0 if noise == "gaussian" or first.dimension == 1 else grid_size(first, second)
        if size <= MOST_PRODUCT_CELLS:
            return None
        return Refusal(
            required=f"the grid of one record's answer may have at most {MOST_PRODUCT_CELLS:,} points times atoms",
            found=f"{size:,} for {first.dimension} numbers",
            remedy="Ask for fewer numbers at once, or use WassersteinMechanism.",
        )
    if isinstance(constraint.pairs, Refusal):
        return constraint.pairs
    if evidence.dimension > 1:
        return Refusal(
            required="several numbers at once are calibrated record by record",
            found=f"{evidence.dimension} numbers",
            remedy="Use WassersteinMechanism, or ask for one number.",
        )
    return atoms_refusal(constraint.pairs) if noise == "gaussian" else None


def atoms_refusal(pairs: Sequence[LawPair]) -> Refusal | None:
    """Why the curve of laws on the line with Gaussian noise takes too long; None if it does not."""
    most = max(len(np.union1d(*(law.support for law in atoms_of(pair)))) for pair in pairs)
    if not too_many_atoms(most):
        return None
    return Refusal(
        required="the curve with Gaussian noise is computed for distributions with few atoms",
        found=f"{most:,} atoms",
        remedy="Use Laplace noise, or WassersteinMechanism with Gaussian noise.",
    )


def _whole(constraint: Constraint) -> bool:
    """Whether all atoms that decide a constraint are whole numbers."""
    laws_of = [] if constraint.record is None else [constraint.record.first, constraint.record.second]
    if not isinstance(constraint.pairs, Refusal):
        laws_of += [law for pair in constraint.pairs for law in (pair.first, pair.second) if isinstance(law, Atoms)]
    return all(bool(np.all(law.points == np.rint(law.points))) for law in laws_of)


def on_line(pairs: Sequence[LawPair]) -> bool:
    """Whether all laws have atoms that are single numbers."""
    return all(isinstance(law, Atoms) and law.dimension == 1 for pair in pairs for law in (pair.first, pair.second))


def atoms_of(pair: LawPair) -> tuple[Atoms, Atoms]:
    """Both laws of a pair, which have atoms."""
    assert isinstance(pair.first, Atoms)
    assert isinstance(pair.second, Atoms)
    return pair.first, pair.second


TightNoise = Literal["laplace", "gaussian", "discrete_laplace"]

GAUSSIAN_PRECISION = 1e-5
"""Relative precision of a scale of Gaussian noise, whose curve is a less accurate and slow bound."""


@dataclass(frozen=True, kw_only=True)
class TightMechanism(Mechanism):
    """Laplace or Gaussian noise, as little as the privacy curve of the laws of the answer allows.

    Parameters
    ----------
    noise : {"laplace", "gaussian", "discrete_laplace"}
        Gaussian noise needs delta above 0; discrete Laplace noise needs an answer of whole numbers, and stays pure.
    large_delta : bool
        Waive the refusal of a delta of one over the number of records or more.
    weights : sequence of float, optional
        Of the parts of the answer, powers of two; None takes the best of three public shapes, as in `Mechanism`.

    Raises
    ------
    ParameterError
        If `noise` is none of these.

    Notes
    -----
    docs/claims/tight.md. Never more noise than `WassersteinMechanism` on the same laws, often far less. Sums of records
    use the per-record rule: calibrating the change of one record calibrates that of k of them, for any number of
    records and any dimension; with delta, docs/claims/k_fold.md.

    Examples
    --------
    >>> import bnpriv as bp
    >>> from bnpriv.laws import Atoms
    >>> pair = (Atoms([0, 1], [0.5, 0.5]), Atoms([0, 1], [0.4, 0.6]))
    >>> framework = bp.DistributionPrivacy([pair], source="a textbook")
    >>> bp.TightMechanism().calibrate(framework, epsilon=0.5).scale
    0.0
    """

    noise: TightNoise = "laplace"
    large_delta: bool = False
    claim: ClassVar[str] = "tight.md"
    compares_laws: ClassVar[bool] = True
    choices: ClassVar[Mapping[str, tuple[str, ...]]] = {"noise": tuple(LAWS)}

    def _decide(self, framework: Framework, query: Query, epsilon: float, delta: float) -> Search | Refusal:
        evidence = laws(framework, query)
        if isinstance(evidence, Refusal):
            return evidence
        budget = 0.0 if self.noise == "discrete_laplace" else delta  # discrete noise is pure
        refusal = noise_refusal(self.noise, framework, delta, large_delta=self.large_delta)
        refusal = refusal or draws_refusal(evidence, budget, epsilon)
        if refusal is None:
            found = (unsupported(coarse_enough(c, self.noise), evidence, self.noise) for c in evidence.constraints())
            refusal = next(filter(None, found), None)
        return refusal or partial(self._search, evidence, framework, query, epsilon, budget)

    def _search(self, evidence: Laws, framework: Framework, query: Query, epsilon: float, delta: float) -> Found:
        search = _TightSearch(noise=self.noise, epsilon=epsilon, delta=delta, rounding=evidence.rounding)
        decisions = decided(evidence.constraints(), epsilon, search.decide, search.by_record)
        theorem = "Tight calibration from the privacy curve of the distributions of the answer"
        certificate = law_certificate(framework, query, evidence, decisions, theorem=theorem, claim=self.claim)
        scale, spent = decisions[0].scale, delta if search.used_delta else 0.0
        noise = noise_of(self.noise, found_scale(scale, epsilon, delta), evidence.dimension)
        return Found(noise, certificate, spent)


@dataclass(kw_only=True)
class _TightSearch:
    """The search for the least scale of each constraint: the better of the per-record rule and the exact laws."""

    noise: TightNoise
    epsilon: float
    delta: float
    rounding: float
    used_delta: bool = False
    floor: float = 0.0

    def decide(self, constraint: Constraint) -> LawDecision:
        """The decision for one constraint."""
        constraint = coarse_enough(constraint, self.noise)
        if are_normal(constraint.pairs):
            pairs = cast("Sequence[LawPair]", constraint.pairs)
            decision, spends = normal_decision(constraint, pairs, self.noise, self.epsilon, self.delta, self.floor)
            self.used_delta, self.floor = self.used_delta or spends, max(self.floor, decision.scale)
            return decision
        found: list[tuple[LawDecision, bool]] = []
        record = constraint.record
        if (by_record := self.by_record(constraint)) is not None:
            found.append((by_record, False))
        compared = self._compared(constraint)
        found += [self._by_laws(constraint, pairs, rule) for pairs, rule in compared]
        if record is not None and self.noise == "gaussian" and not any(self._fit(pairs) for pairs, _ in compared):
            scale = bounded_scale(record, self.epsilon, self.delta, self.rounding)
            found.append((self._by_one(constraint, record, BOUNDED_RULE, scale), True))
        best, spends = min(found, key=lambda each: each[0].scale)
        self.used_delta |= spends
        return best

    def _compared(self, constraint: Constraint) -> list[tuple[Sequence[LawPair], str]]:
        """The laws to be compared: of the answer, or with delta of what the changing records add."""
        found: list[tuple[Sequence[LawPair], str]] = []
        if not isinstance(constraint.pairs, Refusal) and on_line(constraint.pairs):
            found.append((constraint.pairs, ANSWER_RULE))
        if constraint.record is not None and self.delta > 0 and not any(self._fit(pairs) for pairs, _ in found):
            sums = sums_of_records(constraint.record, self.rounding)
            found += [] if sums is None else [(sums, SUMS_RULE)]
        return found

    def _fit(self, pairs: Sequence[LawPair]) -> bool:
        """Whether the curves can be computed; otherwise Gaussian noise is fitted to distances."""
        return self.noise != "gaussian" or atoms_refusal(pairs) is None

    def by_record(self, constraint: Constraint) -> LawDecision | None:
        """The per-record rule: calibrate one record to epsilon / k, since pure guarantees add up over records."""
        record = constraint.record
        if record is None or self.noise == "gaussian":
            return None
        one = record_loss(record)

        def loss(scale: float) -> float:
            # atoms that share a double must not go out as they are, however alike their laws look
            if scale == 0 and not record.distinct:
                return math.inf
            return record.distance * one(scale) * (1 + 4 * UNIT_ROUNDOFF) + _rounding_loss(self.rounding, scale)

        scale = least_scale(loss, self.epsilon, _width(record))
        return self._by_one(constraint, record, RECORD_CURVE_RULE, scale)

    def _by_one(self, constraint: Constraint, record: RecordPair, rule: str, scale: float) -> LawDecision:
        """A decision from the laws of one record."""
        protected, model = constraint.protected, constraint.model
        return LawDecision.of(record, protected, model, rule=rule, scale=scale, noise=self.noise)

    def _by_laws(self, constraint: Constraint, pairs: Sequence[LawPair], rule: str) -> tuple[LawDecision, bool]:
        """The decision from laws, and whether it spends delta."""
        scale, worst = (0.0, pairs[0]) if self.delta > 0 else self._without_delta(pairs)
        pure = 0.0  # the scale above which no pair needs delta
        for pair in pairs if self.delta > 0 else ():
            # the delta of a pair as a function of the scale
            loss = (self._gaussian if self.noise == "gaussian" else self._laplace)(pair, _line(pair))
            # a pair whose loss is within budget at the scale found so far needs no search of its own
            if scale == 0 or not loss(scale) <= self.delta:
                enough = self._enough(pair)
                needed = self._needed(pair, loss, scale, enough)
                if needed > scale or pair is pairs[0]:
                    scale, worst = max(scale, needed), pair
                pure = max(pure, enough if self.noise != "gaussian" else math.inf)
            else:
                pure = math.inf
            if math.isinf(scale):
                break
        decision = LawDecision.of(
            worst,
            constraint.protected,
            constraint.model,
            rule=rule,
            kind=weakest(pair.kind for pair in pairs),
            scale=scale,
            noise=self.noise,
            draws=0 if worst.sampled is None else worst.sampled.draws,
        )
        return decision, self.delta > 0 and scale < pure

    def _without_delta(self, pairs: Sequence[LawPair]) -> tuple[float, LawPair]:
        """The scale that pairs need, and one that needs it: that of the greatest loss, until none is over budget."""
        lines, worst, scale = [_line(pair) for pair in pairs], 0, 0.0
        alone = [self._pure(*each) for each in zip(pairs, lines, strict=True)]
        together, apart = largest_losses(lines), np.array([pair.rounding + moved_by(pair) for pair in pairs])

        def losses(scale: float) -> FloatArray:
            return together(scale) + apart / scale if scale else np.array([loss(0.0) for loss in alone])

        # the greatest loss at the scale of one pair is that of another whose scale is nearly the largest
        for _ in range(2 if len(pairs) >= FEWEST_ORDERED else 0):
            near = least_scale(alone[worst], self.epsilon, _span(pairs[worst]), ORDERING_PRECISION)
            worst = int(np.argmax(losses(near))) if 0 < near < math.inf else worst
        left, tried = np.full(len(pairs), True), worst
        while True:
            needed = least_scale(alone[tried], self.epsilon, max(scale, _span(pairs[tried])))
            if needed > scale:
                scale, worst = needed, tried
            left[tried] = False
            over = np.where(left, losses(scale), -math.inf)
            tried = int(np.argmax(over))
            if over[tried] <= self.epsilon:
                return scale, pairs[worst]

    def _needed(self, pair: LawPair, loss: Callable[[float], float], floor: float, enough: float) -> float:
        """The scale that a pair needs, never more than is known to be enough."""
        if enough == 0 or (enough < math.inf and not loss(enough) <= self.delta):
            return enough
        precision = GAUSSIAN_PRECISION if self.noise == "gaussian" else PRECISION
        # for a small budget the distance is the better guess: half of it or less is often enough
        guess = enough if self._small and enough < math.inf else max(floor, _span(pair))
        return min(enough, least_scale(loss, self.delta, guess, precision))

    @property
    def _small(self) -> bool:
        """Whether delta is so small that a curve with Gaussian noise must be computed in logs."""
        return self.noise == "gaussian" and self.delta < TAIL_BUDGET * (1 + exp(self.epsilon))

    def _enough(self, pair: LawPair) -> float:
        """A scale that suffices for delta above 0 whatever the curve's bound says; infinite if none is known.

        With Laplace noise it is that for delta = 0, with Gaussian noise that for the distance of the laws.
        """
        if pair.sampled is not None and pair.sampled.confidence is not None:
            return math.inf
        if self.noise != "gaussian":
            return least_scale(self._pure(pair, _line(pair)), self.epsilon, _span(pair))
        f, g = atoms_of(pair)
        far = w_infinity(f, g, 2).upper
        far = far if pair.sampled is None else up(far + pair.sampled.moved)
        return distance_scale(far, tolerance(f, g), pair.rounding, self.epsilon, self.delta)

    def _pure(self, pair: LawPair, line: LaplacePair) -> Callable[[float], float]:
        """The pure loss with Laplace noise; gathered draws may have moved answers apart."""
        moved = moved_by(pair)

        def loss(scale: float) -> float:
            if not scale:
                return line.epsilon(0.0) if pair.free and not moved else math.inf
            return line.epsilon(scale) + _rounding_loss(pair.rounding, scale) + moved / scale

        return loss

    def _laplace(self, pair: LawPair, line: LaplacePair) -> Callable[[float], float]:
        """An upper bound on delta with Laplace noise."""
        ratio = exp(self.epsilon)
        unseen = missed_by(pair, ratio)

        def loss(scale: float) -> float:
            spent = _rounding_loss(pair.rounding, scale)
            if not (scale or pair.free) or spent >= self.epsilon:
                return math.inf
            excess = line.delta(scale, self.epsilon - spent)
            # rounding multiplies each density by at most exp(spent / 2)
            return exp(spent / 2) * (excess + unseen + blurred_by(pair, ratio, scale, "laplace"))

        return loss

    def _gaussian(self, pair: LawPair, line: LaplacePair) -> Callable[[float], float]:
        """An upper bound on delta with Gaussian noise, infinite where it cannot be computed."""
        ratio = exp(self.epsilon)
        unseen = missed_by(pair, ratio)
        small = pair.sampled is None and self._small

        def loss(scale: float) -> float:
            lost = unseen + blurred_by(pair, ratio, scale, "gaussian")
            if scale == 0:
                return line.delta(0.0, self.epsilon) + lost if pair.free else math.inf
            try:
                tail = math.inf
                if small:
                    tail = gaussian_tail_delta(*atoms_of(pair), scale, self.epsilon, self.delta, pair.rounding)
                if tail <= self.delta or lost_to_rounding(ratio) > self.delta:
                    return tail
                # shifting an answer by its rounding shifts a normal law by this in total variation, on both sides
                moved = (1 + ratio) * _rounding_loss(pair.rounding, scale)
                return gaussian_mixture_delta(*atoms_of(pair), scale, self.epsilon) + moved + lost
            except SizeError:
                return math.inf

        return loss


def foretold_scale(
    constraint: Constraint,
    *,
    epsilon: float,
    delta: float,
    rounding: float,
    noise: TightNoise = "laplace",
    floor: float = 0.0,
) -> float:
    """The scale of noise that the laws of one constraint need; where `floor` is enough it may be that."""
    search = _TightSearch(noise=noise, epsilon=epsilon, delta=delta, rounding=rounding, floor=floor)
    return search.decide(constraint).scale


def _rounding_loss(rounding: float, scale: float) -> float:
    """What rounding the answer costs in epsilon; 0 without noise, where equal answers stay equal."""
    return rounding / scale if scale else 0.0


FEWEST_ORDERED = 4
"""With fewer pairs of laws, ordering them saves nothing."""

ORDERING_PRECISION = 1e-3
"""Relative precision of a scale that is only used for ordering pairs."""


def record_loss(record: RecordPair) -> Callable[[float], float]:
    """The pure loss of one record as a function of the scale of Laplace noise."""
    if record.first.dimension == 1:
        return LaplacePair.of(record.first, record.second).epsilon

    def loss(scale: float) -> float:
        if scale > 0:
            return product_laplace_epsilon(record.first, record.second, scale)
        return log_ratio(record.first, record.second)

    return loss


def _line(pair: LawPair) -> LaplacePair:
    return LaplacePair.of(*atoms_of(pair))


def _span(pair: LawPair) -> float:
    return max(1e-9, float(np.ptp(np.concatenate([law.points for law in atoms_of(pair)]))))


def _width(record: RecordPair) -> float:
    return max(1e-9, float(np.ptp(np.concatenate([record.first.points, record.second.points]), axis=0).max()))
