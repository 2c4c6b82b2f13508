"""Decisions of the mechanisms that compare laws of the answer: one for each constraint."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from bnpriv.bound import UNIT_ROUNDOFF, Bound, Kind
from bnpriv.core.distributions import Atoms, Normal
from bnpriv.core.evidence.constraints import AnswerLaw, Constraint, LawPair, Laws, RecordPair, plain_laws
from bnpriv.core.evidence.laws import laws
from bnpriv.core.frameworks.pairs import DISTRIBUTION
from bnpriv.core.mechanisms.certificate import Certificate, model_text
from bnpriv.core.mechanisms.weights import Found
from bnpriv.core.noise import NoNoise, unit_name
from bnpriv.core.queries.base import Query
from bnpriv.core.transport import w_infinity, w_infinity_bounds
from bnpriv.errors import Refusal
from bnpriv.progress import SHORTER, watched
from bnpriv.services import service
from bnpriv.text import Json, name_text, number_text, upper_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from bnpriv.core.frameworks.question import Framework

# --------------------------------------------------------------------------------------------------
# What decided the noise of a mechanism that compares the laws of the answer.
# --------------------------------------------------------------------------------------------------

GAP_RULE = "the two normal distributions of the answer"
"""The name of the rule for the gap of the means of two normal laws."""

MOVED_RULE = "the two distributions of the answer"
"""The name of the rule for two laws that are translations of one another."""


@dataclass(frozen=True, kw_only=True, eq=False)
class LawDecision:
    """What decided the noise for one protected attribute under one model.

    Parameters
    ----------
    protected : str
        The protected attribute.
    pair : str
        The secrets that need the most noise.
    model : int
        The index in Theta.
    rule : str
        Which laws the noise keeps alike, in words.
    distance : Bound or None
        How far mass must move between the two laws; None for rules that need no distance.
    kind : {"exact", "certified", "estimate"}
    scale : float
        Noise scale that this needs.
    noise : {"laplace", "gaussian", "discrete_laplace"}
    first, second : Atoms or Normal
        The two laws that decided it: of the answer, or of what one record adds.
    draws : int, optional
        From how many draws each of them was learned; 0 for laws that were computed.
    models : int, optional
        How many models Theta has; with a single one its index is not said.
    """

    protected: str
    pair: str
    model: int
    rule: str
    distance: Bound | None
    kind: Kind
    scale: float
    noise: str
    first: AnswerLaw
    second: AnswerLaw
    draws: int = 0
    models: int = 1

    @classmethod
    def of(
        cls,
        pair: LawPair | RecordPair,
        protected: str,
        model: int,
        *,
        rule: str,
        scale: float,
        noise: str,
        distance: Bound | None = None,
        kind: Kind | None = None,
        draws: int = 0,
    ) -> LawDecision:
        """The decision that follows from a pair of laws.

        Parameters
        ----------
        pair : LawPair or RecordPair
        protected : str
        model : int
        rule : str
        scale : float
        noise : {"laplace", "gaussian", "discrete_laplace"}
        distance : Bound, optional
        kind : {"exact", "certified", "estimate"}, optional
            That of the laws by default.
        draws : int, optional

        Returns
        -------
        LawDecision
        """
        return cls(
            protected=protected,
            pair=pair.pair,
            model=model,
            rule=rule,
            distance=distance,
            kind=kind or pair.kind,
            scale=scale,
            noise=noise,
            first=pair.first,
            second=pair.second,
            draws=draws,
        )

    @property
    def why(self) -> str:
        """The laws that the noise must keep alike, in a sentence."""
        return f"It keeps {self._kept} alike under {self.secrets}{self._learned}."

    @property
    def secrets(self) -> str:
        """The two secrets that decided it, in words."""
        return self.which if self.protected == DISTRIBUTION else f"the two secrets of {self.which}"

    @property
    def which(self) -> str:
        """The attribute, its secrets and the model, in words; for pairs of laws the two distributions."""
        if self.protected == DISTRIBUTION:
            return f"distributions {self.pair.replace(' against ', ' and ')}"
        return f"{name_text(self.protected)} ({self.pair}{model_text(self.model, self.models)})"

    @property
    def _kept(self) -> str:
        return f"{self.rule}," if "," in self.rule else self.rule

    @property
    def _learned(self) -> str:
        return f", each learned from {self.draws:,} draws" if self.draws else ""

    @property
    def text(self) -> str:
        """The decision in a sentence."""
        size = f"the noise has {unit_name(gaussian=self.noise == 'gaussian')} {number_text(self.scale)}"
        noise = "no noise is needed" if self.scale == 0 else size
        which = self.which[0].upper() + self.which[1:] if self.protected == DISTRIBUTION else self.which
        return f"{which}: {self._kept} must stay alike{self._learned}{self._far}; {noise}."

    @property
    def _far(self) -> str:
        """How far apart the laws are, or their means where noise covers these alone."""
        if self.distance is None:
            return ""
        far = upper_text(self.distance.upper)
        if self.rule not in (GAP_RULE, MOVED_RULE):
            return f", from one to the other mass moves by at most {far}"
        norm = " in the 1-norm" if self.noise == "laplace" and self.first.dimension > 1 else ""
        return f", their means are at most {far} apart{norm}"

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the two laws that decided the noise as bars, and their densities with the noise as lines.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; new axes by default.

        Returns
        -------
        matplotlib Axes

        Raises
        ------
        LawError
            If the laws are not of one number.
        MissingExtraError
            If matplotlib is not installed.
        """
        return service("law_decision.plot")(self, ax)

    def to_json(self) -> Json:
        """The decision as plain values."""
        return {
            "protected": self.protected,
            "pair": self.pair,
            "model": self.model,
            "rule": self.rule,
            "distance": None if self.distance is None else self.distance.upper,
            "kind": self.kind,
            "scale": self.scale,
            "draws": self.draws,
        }


# --------------------------------------------------------------------------------------------------
# What a calibration owes to laws that were learned from draws (docs/claims/draws.md).
# --------------------------------------------------------------------------------------------------

CALIBRATIONS = 3
"""Calibrations of one query that share draws: TightMechanism with two noises, and WassersteinMechanism.

A plan chooses among them, so the confidence is made to hold for all of them at once.
"""

DELTA_MARGIN = 1e-6
"""Relative margin by which delta must exceed what draws may have missed, far above all rounding."""


def sampling_of(evidence: Laws) -> Any:
    """How laws were learned from draws; None for laws that were computed."""
    return getattr(plain_laws(evidence), "sampling", None)


def confidence_of(evidence: Laws) -> float | None:
    """The confidence of what rests on the laws; None for computed laws and for estimates."""
    sampling = sampling_of(evidence)
    return None if sampling is None else sampling.confidence


def moved_by(pair: LawPair) -> float:
    """How far apart gathering draws can have moved two answers, in the 1-norm."""
    return 0.0 if pair.sampled is None else pair.sampled.moved


def missed_by(pair: LawPair, ratio: float = 1.0) -> float:
    """How much of the excess of one law over `ratio` times the other the draws may have missed."""
    if pair.sampled is None or pair.sampled.confidence is None:
        return 0.0
    from bnpriv.core.distributions import missed

    # a plan chooses among so many calibrations of one query, which all rest on these draws
    return missed(pair.sampled.draws, (1 - pair.sampled.confidence) / CALIBRATIONS, ratio)


def blurred_by(pair: LawPair, ratio: float, scale: float, noise: str) -> float:
    """How much of that excess gathering draws at their means may have hidden, after noise of a scale.

    Without noise it is infinite if any draw was moved.
    """
    if pair.sampled is None or pair.sampled.variance == 0:
        return 0.0
    if scale == 0:
        return math.inf
    from bnpriv.core.privacy_curves import LARGEST_BEND

    # gathered draws keep their mean, so that the first term that changes is the second derivative of the noise
    bend = LARGEST_BEND if noise == "gaussian" else 1.0
    blur = bend * pair.sampled.variance / (2 * scale**2) + pair.sampled.drift / scale
    return (1 + ratio) * blur * (1 + 16 * UNIT_ROUNDOFF)


def coarser(pair: LawPair, most: int) -> LawPair:
    """A pair of laws on the line with at most `most` atoms each, if these were learned from draws."""
    facts = pair.sampled
    if facts is None or not isinstance(pair.first, Atoms) or not isinstance(pair.second, Atoms):
        return pair
    from bnpriv.core.distributions import Gathered, gathered_again

    laws = Gathered(first=pair.first, second=pair.second, moved=facts.moved, variance=facts.variance, drift=facts.drift)
    found = gathered_again(laws, facts.draws, most)
    told = replace(facts, moved=found.moved, variance=found.variance, drift=found.drift)
    return replace(pair, first=found.first, second=found.second, sampled=told)


def draws_refusal(evidence: Laws, delta: float, epsilon: float = 0.0) -> Refusal | None:
    """Why certified laws from so many draws do not suffice for delta; None if they do.

    The curve at `epsilon` is what is compared; closeness is the curve at 0.
    """
    if confidence_of(evidence) is None:
        return None
    return service("draws.refusal")(evidence, delta, epsilon)


# --------------------------------------------------------------------------------------------------
# The certificate of the mechanisms that compare laws of the answer.
# --------------------------------------------------------------------------------------------------


def law_certificate(
    framework: Framework, query: Query, evidence: Laws, decisions: Sequence[LawDecision], *, theorem: str, claim: str
) -> Certificate:
    """The certificate of noise from the laws of an answer; `decisions` start with the one that needs the most."""
    models = 1 if framework.pairs_name_models else framework.models
    decisions = [replace(decision, models=models) for decision in decisions]
    worst = decisions[0]
    return Certificate(
        theorem=theorem,
        claim=claim,
        decisions=tuple(decisions),
        sensitivity=worst.distance or Bound(0.0, 0.0),
        source=framework.source,
        assumptions=(*evidence.assumptions, *query.assumptions),
        dropped=evidence.dropped,
        notes=() if sampling_of(evidence) is None else service("draws.notes")(evidence),
        confidence=confidence_of(evidence),
        zero_noise_reason=None if worst.scale else "; ".join(decision.text for decision in decisions),
    )


# --------------------------------------------------------------------------------------------------
# The first question of all these mechanisms: whether the laws of the answer are alike without noise.
#
# docs/claims/alike.md. It is asked in one place, before any noise is sought; what is alike asks nothing of the noise.
# --------------------------------------------------------------------------------------------------

ANSWER_RULE = "the distributions of the answer"
"""The name of the rule that compares the laws of the answer itself."""

RECORD_CURVE_RULE = "the distributions of what one record adds"
"""The name of the rule that compares what one record adds under two secrets."""

ALIKE_AS_THEY_ARE = "The distributions of the answer are alike enough without noise, at every single value"

LEANS_ON = (
    "The guarantee leans on the declared distributions more than that of added noise does: where they are wrong, "
    "nothing blurs the answer."
)
"""The warning on channels, and on answers that are released as they are because their laws are alike."""


def unchanged(framework: Framework, query: Query, epsilon: float) -> Found | None:
    """The release of the answer without noise, with delta 0; None where something must be hidden.

    Parameters
    ----------
    framework : Framework
    query : Query
        May be weighted.
    epsilon : float
    """
    evidence = laws(framework, query)
    if isinstance(evidence, Refusal):
        return None
    constraints = evidence.constraints()
    if not constraints or any(each.left_to_hide(epsilon) is not None for each in constraints):
        return None
    decisions = [_nothing(each, epsilon) for each in constraints]
    certificate = law_certificate(framework, query, evidence, decisions, theorem=ALIKE_AS_THEY_ARE, claim="alike.md")
    certificate = replace(certificate, notes=(*certificate.notes, LEANS_ON))
    return Found(NoNoise(evidence.dimension), certificate, 0.0)


MOST_CONSTRAINTS_SEARCHED = 8
"""With more constraints than these, one that the rule for records settles is not searched further."""

NEGLIGIBLE_EXCESS = 1e-9
"""The relative excess of noise that is taken rather than another search."""


def decided(
    constraints: Sequence[Constraint],
    epsilon: float,
    decide: Callable[[Constraint], LawDecision],
    by_record: Callable[[Constraint], LawDecision | None],
) -> list[LawDecision]:
    """The decision of every constraint, the one that needs the most noise first.

    Of many constraints, one whose rule for records asks for no more noise than another one needs is decided by that
    rule: the laws of its answer, which may ask for less, would change nothing.

    Parameters
    ----------
    constraints : sequence of Constraint
    epsilon : float
    decide : callable
        From what is left of a constraint once pairs that are alike as they are have been left out.
    by_record : callable
        The decision by the rule for records alone, if there is one.
    """
    alone = [by_record(each) if len(constraints) > MOST_CONSTRAINTS_SEARCHED else None for each in constraints]
    order = sorted(range(len(constraints)), key=lambda k: -math.inf if (by := alone[k]) is None else -by.scale)
    found: dict[int, LawDecision] = {}
    most = 0.0
    for k in watched(order, "the noise under {}", "more model", SHORTER):
        each, by = constraints[k], alone[k]
        if (
            by is None
            or by.scale > most * (1 + NEGLIGIBLE_EXCESS)
            or (each.record and each.record.log_ratio <= epsilon)
        ):
            left = each.left_to_hide(epsilon)
            by = _nothing(each, epsilon) if left is None else decide(left)
        found[k], most = by, max(most, by.scale)
    return sorted((found[k] for k in range(len(constraints))), key=lambda decision: -decision.scale)


def _nothing(constraint: Constraint, epsilon: float) -> LawDecision:
    """The decision of a constraint that needs no noise."""
    record = constraint.record
    if record is not None and record.log_ratio <= epsilon:
        worst, rule = record, RECORD_CURVE_RULE
    else:
        assert not isinstance(constraint.pairs, Refusal)
        worst, rule = max(constraint.pairs, key=lambda pair: pair.log_ratio), ANSWER_RULE
    return LawDecision.of(worst, constraint.protected, constraint.model, rule=rule, scale=0.0, noise="laplace")


# --------------------------------------------------------------------------------------------------
# Answers whose law is normal, or nearly so as with clamped records (docs/claims/normal_records.md).
# --------------------------------------------------------------------------------------------------

OTHER_COVARIANCES = Refusal(
    required="the two normal distributions of a pair must have one covariance",
    found="two that differ",
    remedy="Declare one covariance for both, or use WassersteinMechanism with Laplace noise and delta above 0.",
)


def are_normal(pairs: Sequence[LawPair] | Refusal) -> bool:
    """Whether there are pairs of laws, all of them normal."""
    return not isinstance(pairs, Refusal) and all(
        isinstance(law, Normal) for pair in pairs for law in (pair.first, pair.second)
    )


def one_covariance(pair: LawPair) -> bool:
    """Whether two normal laws have exactly the same covariance."""
    first, second = normals_of(pair)
    return bool(np.array_equal(first.covariance, second.covariance))


def normals_of(pair: LawPair) -> tuple[Normal, Normal]:
    """Both laws of a pair, which are normal."""
    return cast(Normal, pair.first), cast(Normal, pair.second)


def distance_of(pair: LawPair, norm: float) -> Bound:
    """The infinity-Wasserstein distance of the answers under two secrets, before grids and doubles move them."""
    if pair.departure is None:
        return w_infinity(pair.first, pair.second, norm)
    return Bound(0.0, pair.departure.farthest(norm), pair.kind)


def distance_bounds(pair: LawPair, norm: float) -> Bound:
    """Cheap bounds on `distance_of`, cached with the pair for every epsilon."""
    if pair.departure is not None:
        return distance_of(pair, norm)
    if norm not in pair.distances:
        pair.distances[norm] = w_infinity_bounds(pair.first, pair.second, norm)
    return pair.distances[norm]


def clamped_of(pair: LawPair, epsilon: float) -> float:
    """How much clamped records may add to the excess of one law over exp(epsilon) times the other."""
    if pair.departure is None or not pair.departure.mass:
        return 0.0
    # either law may be off by this mass, and the second one counts exp(epsilon) times
    return math.inf if epsilon > 700 else (1 + math.exp(epsilon)) * pair.departure.mass * (1 + 2.0**-50)
