"""What a report found: frozen values that say nothing yet about how they are shown."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, combinations
from typing import Any

from bnpriv.bound import Bound, Kind
from bnpriv.core.evidence.structural import Influences, influences
from bnpriv.core.frameworks.pairs import NO_TABLE
from bnpriv.core.frameworks.protected import ProtectedSecret
from bnpriv.core.frameworks.question import Framework
from bnpriv.core.influence.base import LEAST_MARGIN, Influence
from bnpriv.core.influence.quilts import MarkovQuilt
from bnpriv.core.mechanisms.base import Calibration
from bnpriv.core.mechanisms.law_decision import LawDecision
from bnpriv.core.networks.base import Network
from bnpriv.core.queries.base import Query
from bnpriv.core.secrets import Pair
from bnpriv.errors import Refusal, SizeError
from bnpriv.kind import FurtherTable
from bnpriv.kinds.draws.estimated_influence import EstimatedInfluence
from bnpriv.mechanisms.plan import Plan
from bnpriv.render.graph import Edge
from bnpriv.shown import Shown

# --------------------------------------------------------------------------------------------------
# The noise of the Markov quilt mechanism as a function of epsilon, in a form that a page can recompute.
# --------------------------------------------------------------------------------------------------

MOST_CURVE_SETS = 256
"""Near sets that are tried, over all protected attributes; with more than eight queried columns there are more."""

MOST_CANDIDATES = 100_000
"""Near sets times models times pairs of secrets."""

MOST_CURVES = 300
"""Curves that are kept; each is a few numbers in the page."""


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """One way to spend an epsilon: noise hides the near columns, a quilt shields them from the others.

    Parameters
    ----------
    near : frozenset of str
        The queried columns that the noise hides.
    sensitivity : float
        How far they can move the answer.
    told : float
        What the other queried columns tell, in nats.
    """

    near: frozenset[str]
    sensitivity: float
    told: float

    def scale(self, epsilon: float) -> float:
        """Return the scale of the noise; infinite when the quilt tells too much."""
        if self.sensitivity == 0:
            return 0.0 if self.told <= epsilon else math.inf
        margin = epsilon - self.told
        return self.sensitivity / margin if margin >= LEAST_MARGIN else math.inf

    def epsilon(self, scale: float) -> float:
        """Return the least epsilon at which the scale of the noise is at most `scale`."""
        return self.told + (max(self.sensitivity / scale, LEAST_MARGIN) if self.sensitivity else 0.0)


@dataclass(frozen=True, kw_only=True)
class ScaleCurve:
    """The noise that one pair of secrets needs under one model: at every epsilon the least of its candidates'.

    Parameters
    ----------
    protected : str
    pair : Pair
    model : int
    candidates : tuple of Candidate
        Those that are the best at some epsilon, by growing sensitivity.
    """

    protected: str
    pair: Pair
    model: int
    candidates: tuple[Candidate, ...]

    def best(self, epsilon: float) -> Candidate:
        """Return the candidate with the least noise."""
        return min(self.candidates, key=lambda candidate: candidate.scale(epsilon))

    def scale(self, epsilon: float) -> float:
        """Return the least scale."""
        return self.best(epsilon).scale(epsilon)


def epsilon_at(curves: Iterable[ScaleCurve], scale: float) -> float:
    """Return the least epsilon at which the Markov quilt mechanism needs at most a scale above 0, but for rounding."""
    return max(min(candidate.epsilon(scale) for candidate in curve.candidates) for curve in curves)


def noise_curves(framework: Framework, query: Query) -> tuple[ScaleCurve, ...] | None:
    """Return the curves whose largest value is the scale of the noise at every epsilon, None when there are too many.

    There are none for a framework without structural evidence. A pair of secrets that never needs more noise than
    another is left out.
    """
    evidence = influences(framework)
    if isinstance(evidence, Refusal) or evidence.no_quilts is not None or evidence.covers(query.columns) is not None:
        return None
    inside = evidence.modelled(query.columns)
    sets = {name: 2 ** len(inside - evidence.driven(inside, name)) for name in evidence.secrets}
    candidates = evidence.network.models * sum(sets[name] * len(pairs) for name, pairs in evidence.secrets.items())
    if sum(sets.values()) > MOST_CURVE_SETS or candidates > MOST_CANDIDATES:
        return None
    known: dict[frozenset[str], float] = {}
    every: list[ScaleCurve] = []
    try:
        for name in evidence.secrets:
            found = _of(evidence, query, name, known)
            if found is None:
                return None
            every += found
    except SizeError:
        return None
    kept = _undominated(every)
    return tuple(kept) if len(kept) <= MOST_CURVES else None


def _of(evidence: Influences, query: Query, name: str, known: dict[frozenset[str], float]) -> list[ScaleCurve] | None:
    """Return the curves of a protected attribute; None where influences are estimates, which take too long."""
    told: list[tuple[frozenset[str], float, Sequence[Sequence[float]]]] = []
    inside = evidence.modelled(query.columns)
    start = evidence.driven(inside, name)
    free = sorted(inside - start)
    for chosen in chain.from_iterable(combinations(free, size) for size in range(len(free) + 1)):
        near = start.union(chosen)
        if near not in known:
            known[near] = evidence.sensitivity(query, near, 1).upper
        influence = evidence.influence(query.columns - near, name)
        if influence.kind == "estimate":
            return None
        told.append((near, known[near], influence.values.tolist()))
    pairs = evidence.secrets[name]
    made: list[ScaleCurve] = []
    for model in range(evidence.network.models):
        for k, pair in enumerate(pairs):
            found = [
                Candidate(near=near, sensitivity=size, told=values[model][k])
                for near, size, values in told
                if not math.isinf(values[model][k])
            ]
            if found:  # otherwise a secret has probability zero, and the pair is no constraint
                made.append(ScaleCurve(protected=name, pair=pair, model=model, candidates=tuple(_envelope(found))))
    return made


def _envelope(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Return the candidates that need the least noise at some epsilon.

    (epsilon - told) / sensitivity, the inverse of the scale, is linear in epsilon; what is wanted is the upper envelope
    of these lines, found as a convex hull. Ties stay, so that rounding cannot lose the best one.
    """
    kept: list[Candidate] = []
    for new in sorted(candidates, key=lambda c: (c.sensitivity, c.told, len(c.near), sorted(c.near))):
        if kept and kept[-1].told <= new.told:
            continue
        while len(kept) > 1 and _is_useless(kept[-2], kept[-1], new):
            kept.pop()
        kept.append(new)
    return kept


def _is_useless(left: Candidate, middle: Candidate, right: Candidate) -> bool:
    """Return whether one of its neighbours, by sensitivity, needs less noise than `middle` at every epsilon."""
    # `left` overtakes `right` where their lines cross; `middle` must lie clearly below that point.
    crossing = (left.told * right.sensitivity - right.told * left.sensitivity) / (right.sensitivity - left.sensitivity)
    ours = (crossing - middle.told) / middle.sensitivity
    return ours < (crossing - right.told) / right.sensitivity - 1e-12 * abs(ours)


def _undominated(curves: Sequence[ScaleCurve]) -> list[ScaleCurve]:
    kept: list[ScaleCurve] = []
    # Those with much noise come first, so that the others are found to be superfluous early.
    for curve in sorted(curves, key=lambda c: (-c.scale(1.0), -c.scale(0.1))):
        if len(kept) > MOST_CURVES:
            break
        if not any(_never_more(curve, other) for other in kept):
            kept.append(curve)
    return kept


def _never_more(curve: ScaleCurve, other: ScaleCurve) -> bool:
    """Return whether, for every candidate of `other`, `curve` has one that is no worse at any epsilon."""
    return all(
        any(ours.sensitivity <= theirs.sensitivity and ours.told <= theirs.told for ours in curve.candidates)
        for theirs in other.candidates
    )


@dataclass(frozen=True, kw_only=True)
class NoiseOfQuilt:
    """The noise that a quilt leaves to be added.

    Parameters
    ----------
    queried_near : frozenset of str
        The queried columns that are near: the noise hides any change of them.
    sensitivity : Bound
        How far such a change can move the answer (column sensitivity, in the norm of the noise).
    scale : float
        Scale of the noise; infinite when the quilt tells too much for the epsilon that was asked for.
    wins : bool
        Whether the Markov quilt mechanism uses this quilt.
    """

    queried_near: frozenset[str]
    sensitivity: Bound
    scale: float
    wins: bool


@dataclass(frozen=True, kw_only=True)
class RankedQuilt:
    """A Markov quilt with what it tells.

    Parameters
    ----------
    quilt : MarkovQuilt
    influence : Influence or None
        None when its table would have been too large.
    noise : NoiseOfQuilt or None
        None without a query and an epsilon.
    """

    quilt: MarkovQuilt
    influence: Influence | None
    noise: NoiseOfQuilt | None = None

    @property
    def nats(self) -> float:
        """Influence of the quilt; infinite when it is not known."""
        return math.inf if self.influence is None else float(self.influence)


@dataclass(frozen=True, kw_only=True)
class EdgeEffect:
    """What would be told if an edge of the network were not there.

    Parameters
    ----------
    edge : (str, str)
        Parent and child.
    influence : Influence or None
        Of the same columns in the network without the edge; None when its table would have been too large.
    """

    edge: Edge
    influence: Influence | None

    @property
    def nats(self) -> float:
        """Influence without the edge; infinite when it is not known."""
        return math.inf if self.influence is None else float(self.influence)


@dataclass(frozen=True, kw_only=True)
class LikelyInfluence:
    """What columns tell but for a chance: what no more than so many records could show is left out.

    Parameters
    ----------
    nats : float
        For every model and ordered pair of secrets of which neither is rarer than the chance: with a probability of at
        most the chance one record has the first secret and shows what moves the log odds between the two by more.
    at_95 : float
        The same for 95 % of the models.
    chance : float
    influence : Influence
        What is told at worst, with the pair, the model and the assignment that attain `nats`.
    records : int or None
        How many public records the models were learned from.
    dependence : bool or None
        Whether these records show that the column depends on the protected attribute; None where that was not asked.
    by_table : bool
        Whether the public records themselves, weighted anew, tell `nats`, which the network does not.

    Notes
    -----
    docs/claims/likely.md.
    """

    nats: float
    at_95: float
    chance: float
    influence: Influence
    records: int | None = None
    dependence: bool | None = None
    by_table: bool = False

    @property
    def worst(self) -> str:
        """What the largest influence, beside which it is shown, is called."""
        return "at worst by the network" if self.by_table else "at worst"


def known_nats(told: Influence) -> float:
    """Return an influence in nats; nan where no bound is known, for which noise takes it as infinite."""
    return math.nan if told.unknown is not None else float(told)


@dataclass(frozen=True, kw_only=True)
class AttributeReport:
    """What is known about one protected attribute.

    Parameters
    ----------
    protected : str
    pairs : tuple of Pair
        The pairs of secrets; ordered ones of attributes with finitely many states.
    columns : tuple of Influence
        Every other attribute alone, the most telling first; one for all that tell the same. What is told but for a
        chance ranks them where that is known.
    quilts : tuple of RankedQuilt
        The least telling first.
    more : int or None
        How many quilts are not shown; None when they were not counted.
    asked : Influence or None
        What the queried columns tell together, the protected one left out; without a query, what the most telling
        column tells. None when there is no other attribute.
    path : tuple of (str, str)
        The edges along which it runs.
    edges : tuple of EdgeEffect
        What would be left of it without each edge between them, the largest change first.
    more_edges : int
        How many edges were not tried.
    is_queried : bool
        Whether the protected attribute is itself queried, or drives a queried column, which tells everything about it.
    bounds_belief : bool
        Whether all pairs of its secrets are protected, so that influences bound beliefs, not only the odds between two
        secrets of a pair.
    alike : mapping from str to tuple of str
        For attributes of which others tell the same: all of them, with the attribute itself.
    left : int
        Other attributes that were not looked at.
    driven : tuple of (str, Influence or None)
        Columns that are no attribute with what they tell, the most telling first; None where the protected attribute
        drives them itself, which tells everything.
    likely : mapping from frozenset of str to LikelyInfluence
        What every one of `columns`, and `asked`, tells but for a chance, by its columns; empty where the models were
        not learned from public records.
    estimated : mapping from frozenset of str to EstimatedInfluence
        What each of `columns` tells at a chance delta, by draws, where no bound is known of any.
    answer : EstimatedInfluence or None
        The same of the answer to the query, without noise; None without a query, or where a bound is known.
    """

    protected: str
    pairs: tuple[Pair, ...]
    columns: tuple[Influence, ...]
    quilts: tuple[RankedQuilt, ...]
    more: int | None
    asked: Influence | None = None
    path: tuple[Edge, ...] = ()
    edges: tuple[EdgeEffect, ...] = ()
    more_edges: int = 0
    is_queried: bool = False
    bounds_belief: bool = True
    alike: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    left: int = 0
    driven: tuple[tuple[str, Influence | None], ...] = ()
    likely: Mapping[frozenset[str], LikelyInfluence] = field(default_factory=dict[frozenset[str], LikelyInfluence])
    estimated: Mapping[frozenset[str], EstimatedInfluence] = field(
        default_factory=dict[frozenset[str], EstimatedInfluence]
    )
    answer: EstimatedInfluence | None = None

    @property
    def told(self) -> float:
        """What all that the report asks about tells without noise, in nats; nan where no bound is known."""
        if self.answer is not None:
            return math.nan
        if self.is_queried:
            return math.inf
        return 0.0 if self.asked is None else known_nats(self.asked)

    @property
    def asked_likely(self) -> LikelyInfluence | None:
        """What `asked` tells but for a chance; None where that is not known."""
        return None if self.asked is None else self.likely.get(self.asked.columns)

    @property
    def explained(self) -> Influence | None:
        """What is asked about, with the pair and the values that attain what is shown first, if the network does."""
        likely = self.asked_likely
        return self.asked if likely is None or likely.by_table else likely.influence

    def shown(self, told: Influence) -> float:
        """Return what is shown first of one of `columns` or `asked`, in nats: but for a chance where that is known.

        It is an estimate where no bound is known, and nan where there is none either.
        """
        likely, estimated = self.likely.get(told.columns), self.estimated.get(told.columns)
        if estimated is not None:
            return estimated.nats
        return known_nats(told) if likely is None else likely.nats

    @property
    def told_first(self) -> float:
        """The same of all that the report asks about."""
        if self.answer is not None:
            return self.answer.nats
        return self.told if self.asked is None or self.is_queried else self.shown(self.asked)

    @property
    def most(self) -> float:
        """What the most telling column tells, in nats; -1 without another column, nan where no bound is known."""
        return known_nats(self.columns[0]) if self.columns else -1.0

    @property
    def rank(self) -> tuple[float, ...]:
        """By which attributes are put in order: what is not known may be anything."""
        return tuple(math.inf if math.isnan(size) else size for size in (self.told_first, self.told, self.most))

    @property
    def used(self) -> RankedQuilt | None:
        """The quilt that the noise is based on; None without noise by quilts."""
        return next((row for row in self.quilts if row.noise is not None and row.noise.wins), None)

    @property
    def best(self) -> MarkovQuilt | None:
        """The quilt that the mechanism uses, else the least telling one that is not empty, else any."""
        if self.used is not None:
            return self.used.quilt
        shields = (row.quilt for row in self.quilts if row.quilt.quilt)
        return next(shields, self.quilts[0].quilt if self.quilts else None)


@dataclass(frozen=True, kw_only=True)
class Belief:
    """How far a belief in a secret can move.

    Parameters
    ----------
    prior : float
        The belief before.
    answer : float or None
        The largest belief after the calibrated answer, as `Guarantee.belief`; None without a query and an epsilon.
    columns : mapping from str to float or None
        For every protected attribute the largest belief of somebody who learns all that the columns tell that the
        report asks about, without any noise; None where only some pairs of its secrets are protected.
    """

    prior: float
    answer: float | None
    columns: Mapping[str, float | None]


@dataclass(frozen=True, kw_only=True)
class AnswerInfluence:
    """How much an answer without noise tells about which of two laws it has.

    Parameters
    ----------
    protected : str
    pair : str
        The two laws.
    nats : float
        Largest log ratio of their masses, rounded up; infinite where an answer rules one of them out.
    kind : {"exact", "certified", "estimate"}
    """

    protected: str
    pair: str
    nats: float
    kind: Kind


@dataclass(frozen=True, kw_only=True, repr=False)
class Analysis(Shown):
    """What leaks about each protected attribute and, for a query, what noise it needs and why.

    Parameters
    ----------
    network : Network or None
        None where laws of an answer are declared without one.
    without : Refusal or None
        Why there is no network.
    source : str or None
        Where the model comes from.
    protected : tuple of ProtectedSecret
        What is protected, in words.
    attributes : tuple of AttributeReport
        One per protected attribute of the network.
    beliefs : tuple of Belief
        How far beliefs in a secret can move.
    assumptions : tuple of str
        What must hold outside the library.
    framework : Framework or None
        None for a network alone.
    query : Query or None
    epsilon : float or None
    delta : float
    plan : Plan or None
        Every mechanism for the query at the given epsilon.
    curves : tuple of Curve or None
        The noise of the Markov quilt mechanism at other epsilons; None without a query, or when they are too many.
    laws : LawDecision, Refusal or None
        The laws of the answer under the two secrets that are told apart best, or why they are not known; None where
        single columns say what is told.
    answers : tuple of AnswerInfluence
        For every pair of declared laws; empty where there is a network.
    further : tuple of FurtherTable
        What is known of this kind of network only.
    open_columns : OpenColumns or None
        Which columns may go out as they are, where the secrets are parameters and an epsilon is given.
    """

    network: Network | None
    without: Refusal | None = None
    source: str | None
    protected: tuple[ProtectedSecret, ...]
    attributes: tuple[AttributeReport, ...]
    beliefs: tuple[Belief, ...]
    assumptions: tuple[str, ...]
    framework: Framework | None = None
    query: Query | None = None
    epsilon: float | None = None
    delta: float = 0.0
    plan: Plan | None = None
    curves: tuple[ScaleCurve, ...] | None = None
    laws: LawDecision | Refusal | None = None
    answers: tuple[AnswerInfluence, ...] = ()
    further: tuple[FurtherTable, ...] = ()
    open_columns: Any = None

    @property
    def best(self) -> Calibration | None:
        """The calibration with the least expected error; None without one."""
        return self.plan.best if self.plan is not None and self.plan.calibrations else None

    @property
    def records(self) -> int | None:
        """The number of records of the table; None where it is not known."""
        schema = None if self.framework is None else self.framework.schema
        return None if schema is None or schema is NO_TABLE else schema.records

    @property
    def worst(self) -> AttributeReport | None:
        """The protected attribute about which all that the report asks about tells most; None without a network."""
        return max(self.attributes, key=lambda row: row.rank, default=None)
