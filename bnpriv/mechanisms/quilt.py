"""The Markov quilt mechanism: noise hides the columns near a secret, a quilt shields it from the others."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import ClassVar, final

import numpy as np
from numpy.typing import NDArray

from bnpriv import checks
from bnpriv.bound import UNIT_ROUNDOFF, Bound
from bnpriv.errors import ParameterError, Refusal, SizeError
from bnpriv.evidence import Influences, IntervalInfluences, PrivacyLosses, Told, influences
from bnpriv.factors import FloatArray
from bnpriv.frameworks import Framework
from bnpriv.losses import Law, largest_shift
from bnpriv.mechanisms.base import Mechanism
from bnpriv.mechanisms.certificate import Certificate, Decision
from bnpriv.mechanisms.search import found_scale
from bnpriv.mechanisms.tight import noise_refusal
from bnpriv.noise import Gaussian, Laplace, Noise, NoNoise
from bnpriv.queries.base import Query
from bnpriv.quilts import markov_quilt

LEAST_MARGIN = 1e-9
"""A quilt whose influence comes closer than this to epsilon is not used."""

MOST_SETS = 20_000
"""Near sets that are tried; every one gives a valid scale, so stopping early is safe."""


@final
@dataclass(frozen=True, kw_only=True)
class MarkovQuiltMechanism(Mechanism):
    """Noise from the best Markov quilt for every protected attribute, model and pair of secrets.

    With delta above 0 a quilt may tell too much in rare states: the losses of quilt and noise are composed, and only
    what passes epsilon counts, up to delta.

    Parameters
    ----------
    common_quilt : bool
        Use one quilt per protected attribute for all models and pairs, as published; never less noise.
    noise : {"laplace", "gaussian"}
        Laplace noise for the 1-norm; Gaussian noise for the 2-norm, which needs delta above 0.
    large_delta : bool
        Waive the refusal of a delta of one over the number of records or more.

    Raises
    ------
    ParameterError
        If `noise` is neither.

    Notes
    -----
    Zhang, Ohrimenko, Cummings, "Attribute Privacy" (FAccT 2022), algorithm 3, with the optimal quilt of
    docs/claims/markov_quilt.md: for every protected attribute i, model and ordered pair, the least of
    D_K F / (epsilon - e(A minus K | i)) over the subsets K of the queried columns A; then the largest of these. With
    delta above 0 see docs/claims/approximate_quilt.md.

    Examples
    --------
    >>> import bnpriv as bp
    >>> query = bp.count(bp.col("height") > 180)
    >>> bp.MarkovQuiltMechanism().calibrate(bp.example("student"), query, epsilon=1.0).scale
    0.0
    """

    common_quilt: bool = False
    noise: Law = "laplace"
    large_delta: bool = False
    claim: ClassVar[str] = "markov_quilt.md"

    def __post_init__(self) -> None:
        checks.member("noise", self.noise, ("laplace", "gaussian"), error=ParameterError)

    def _refusal(self, framework: Framework, query: Query, epsilon: float, delta: float) -> Refusal | None:
        evidence = influences(framework)
        if isinstance(evidence, Refusal):
            return evidence
        if delta and self.noise == "gaussian" and isinstance(evidence, IntervalInfluences):
            return evidence.losses(query.columns, next(iter(evidence.secrets)))
        uncovered = evidence.covers(query.columns)
        return uncovered or noise_refusal(self.noise, framework, delta, large_delta=self.large_delta)

    def _calibrated(
        self, framework: Framework, query: Query, epsilon: float, delta: float
    ) -> tuple[Noise, Certificate, float]:
        evidence = influences(framework)
        if isinstance(evidence, Refusal):
            raise evidence.error()
        laplace = self.noise == "laplace"
        search = _Search(
            evidence=evidence,
            queried=query.columns,
            sensitivity=lambda near: evidence.sensitivity(query, near, 1 if laplace else 2),
            epsilon=epsilon,
            delta=delta,
            noise=self.noise,
            common=self.common_quilt,
        )
        found = (search.decide(name) for name in evidence.secrets)
        decisions = sorted(found, key=lambda decision: (-decision.scale, -decision.influence.upper))
        scale = found_scale(decisions[0].scale, epsilon, delta)
        dimension = query.dimension(framework.schema)
        approximate = "Approximate Markov quilt mechanism" if delta else "Markov quilt mechanism"
        certificate = Certificate(
            theorem=f"{approximate} for attributes (Zhang, Ohrimenko, Cummings 2022) with the optimal quilt",
            claim="approximate_quilt.md" if delta else self.claim,
            decisions=tuple(decisions),
            sensitivity=decisions[0].sensitivity,
            source=framework.source,
            assumptions=(*evidence.assumptions, *query.assumptions),
            dropped=_dropped(evidence),
            notes=tuple(dict.fromkeys(search.notes)),
            zero_noise_reason=None if scale else "; ".join(decision.text for decision in decisions),
        )
        spent = delta if scale or any(decision.excess for decision in decisions) else 0.0
        law = Laplace if laplace else Gaussian
        return (law(scale, dimension) if scale else NoNoise(dimension)), certificate, spent


@dataclass(kw_only=True)
class _Search:
    """The search for the best near set K among the subsets of the queried columns, by branch and bound.

    D_K grows with K, so sets come off a heap in the order of D_K; D_K over the shift that is private where nothing is
    told (epsilon, if delta = 0) is the least scale that K or any larger set can have, and the search ends when that
    passes the largest scale found so far.
    """

    evidence: Influences
    queried: frozenset[str]
    sensitivity: Callable[[frozenset[str]], Bound]
    epsilon: float
    delta: float
    noise: Law
    common: bool
    notes: list[str] = field(default_factory=list[str])
    _known: dict[frozenset[str], Bound] = field(default_factory=dict[frozenset[str], Bound])
    _shifts: dict[tuple[str, tuple[str, ...]], FloatArray] = field(
        default_factory=dict[tuple[str, tuple[str, ...]], FloatArray]
    )

    def decide(self, attribute: str) -> Decision:
        """Return the best near sets for one protected attribute, as the decision that needs the most noise."""
        none_near = self.evidence.influence(frozenset(), attribute)
        best = _Best.start(none_near.values)
        self._offer(best, self.queried, none_near)
        for near in self._candidates(attribute, best):
            influence = self._influence(near, attribute)
            if influence is not None:
                self._offer(best, near, influence)
        return self._decision(attribute, best)

    def _offer(self, best: _Best, near: frozenset[str], influence: Told) -> None:
        scale = self._scales(near, influence)
        if scale is None:
            return
        if self.common:
            scale = np.full(scale.shape, scale.max())
        best.offer(near, scale, influence.values)

    def _scales(self, near: frozenset[str], influence: Told) -> FloatArray | None:
        """Return the scale that `near` needs for every model and pair; None if its losses are too many to keep."""
        moved = self._sensitivity(near).upper
        if self.delta == 0:
            return scales(moved, influence.values, self.epsilon)
        key = (influence.protected, influence.frontier)
        if key not in self._shifts:
            losses = self._losses(influence)
            found = [] if losses is None else [losses.shifts(self.epsilon, self.delta, self.noise)]
            if self.noise == "laplace":  # what needs no delta is enough
                found.append(pure_shifts(influence.values, self.epsilon))
            if not found:
                return None
            self._shifts[key] = np.maximum.reduce(found)
        return approximate_scales(moved, self._shifts[key])

    def _losses(self, influence: Told) -> PrivacyLosses | None:
        """Return the losses of a frontier, or None if there are too many to keep or none are known."""
        try:
            losses = self.evidence.losses(frozenset(influence.frontier), influence.protected)
        except SizeError:
            self.notes.append("Of a quilt with too many losses to keep, the largest alone counts.")
            return None
        return None if isinstance(losses, Refusal) else losses

    @property
    def _most(self) -> float:
        return self.epsilon if self.delta == 0 else largest_shift(self.epsilon, self.delta, self.noise)

    def _candidates(self, attribute: str, best: _Best) -> Iterator[frozenset[str]]:
        start = self.evidence.driven(self.queried, attribute)
        free = sorted(self.queried - start)
        heap: list[tuple[float, int, tuple[int, ...], frozenset[str]]] = []
        heapq.heappush(heap, (self._sensitivity(start).upper, len(start), (), start))
        most = self._most
        for _ in range(MOST_SETS):
            if not heap or heap[0][0] / most > float(best.scale.max()):
                return
            _, _, added, near = heapq.heappop(heap)
            yield near
            for k in range(added[-1] + 1 if added else 0, len(free)):
                wider = near | {free[k]}
                heapq.heappush(heap, (self._sensitivity(wider).upper, len(wider), (*added, k), wider))
        self.notes.append(f"The search for a quilt stopped after {MOST_SETS:,} sets; a better one may exist.")

    def _sensitivity(self, near: frozenset[str]) -> Bound:
        if near not in self._known:
            self._known[near] = self.sensitivity(near)
        return self._known[near]

    def _influence(self, near: frozenset[str], attribute: str) -> Told | None:
        try:
            return self.evidence.influence(self.queried - near, attribute)
        except SizeError:
            self.notes.append("A quilt was passed over because its table would be too large.")
            return None

    def _decision(self, attribute: str, best: _Best) -> Decision:
        model, k, near = best.worst()
        influence = self.evidence.influence(self.queried - near, attribute)
        value, excess = float(influence.values[model, k]), None
        low = max(0.0, value - 2 * influence.error) if influence.kind == "exact" and np.isfinite(value) else 0.0
        if self.delta:
            value, excess = self._split(influence, model, k, noisy=best.scale[model, k] > 0)
            low = value
        return Decision(
            protected=attribute,
            pair=influence.pairs[k],
            model=model,
            quilt=markov_quilt(self.evidence.network, attribute, influence.frontier),
            queried_near=near,
            influence=Bound(low, value, influence.kind),
            sensitivity=self._sensitivity(near),
            scale=float(best.scale[model, k]),
            excess=excess,
        )

    def _split(self, influence: Told, model: int, k: int, *, noisy: bool) -> tuple[float, float]:
        """Return what the noise leaves of epsilon to the quilt, and by how much the quilt passes that."""
        shift = float(self._shifts[influence.protected, influence.frontier][model, k])
        left = max(0.0, self.epsilon - shift) if noisy and self.noise == "laplace" else self.epsilon
        losses = self._losses(influence)
        return left, 0.0 if losses is None else float(losses.excess(left)[model, k])


@dataclass(kw_only=True)
class _Best:
    """The least scale found so far for every model and ordered pair, each of shape (models, pairs).

    Pairs that are no constraint have told -inf and scale 0.
    """

    scale: FloatArray
    told: FloatArray
    chosen: NDArray[np.intp]
    tried: list[frozenset[str]]

    @classmethod
    def start(cls, values: FloatArray) -> _Best:
        free = np.isneginf(values)
        return cls(
            scale=np.where(free, 0.0, np.inf),
            told=np.where(free, -np.inf, 0.0),
            chosen=np.zeros(values.shape, dtype=np.intp),
            tried=[],
        )

    def offer(self, near: frozenset[str], scale: FloatArray, told: FloatArray) -> None:
        """Take `near` wherever it needs less noise than the best so far, or as much with fewer columns."""
        self.tried.append(near)
        sizes = np.array([len(columns) for columns in self.tried])
        better = (scale < self.scale) | ((scale == self.scale) & (len(near) < sizes[self.chosen]))
        self.scale[better] = scale[better]
        self.told[better] = told[better]
        self.chosen[better] = len(self.tried) - 1

    def worst(self) -> tuple[int, int, frozenset[str]]:
        """Return the model, pair and near set that need the most noise; among equals the most telling."""
        constrained = ~np.isneginf(self.told)
        most = (self.scale == self.scale[constrained].max()) & constrained
        place = int(np.argmax(np.where(most, self.told, -np.inf)))
        model, k = (int(x) for x in np.unravel_index(place, self.scale.shape))
        return model, k, self.tried[int(self.chosen[model, k])]


def scales(sensitivity: float, influence: FloatArray, epsilon: float) -> FloatArray:
    """Return sensitivity / (epsilon - influence), rounded up; inf where the quilt is not admissible.

    Without any change to hide (sensitivity 0) the scale is 0 as soon as the influence is at most epsilon. An influence
    of -inf marks a pair that is no constraint.
    """
    if sensitivity == 0:
        return np.where(influence <= epsilon, 0.0, np.inf)
    with np.errstate(divide="ignore", invalid="ignore"):
        margin = (epsilon - influence) * (1 - 2.0**-51)
        scale = sensitivity / margin * (1 + 2.0**-50)
    return np.where(np.isneginf(influence), 0.0, np.where(margin >= LEAST_MARGIN, scale, np.inf))


def pure_shifts(influence: FloatArray, epsilon: float) -> FloatArray:
    """Return what an influence leaves of epsilon, rounded down; -inf if nothing, inf where a pair is no constraint."""
    with np.errstate(invalid="ignore"):
        left = (epsilon - influence) * (1 - 2.0**-51)
    return np.where(np.isneginf(influence), np.inf, np.where(influence <= epsilon, left, -np.inf))


def approximate_scales(sensitivity: float, shifts: FloatArray) -> FloatArray:
    """Return sensitivity / shifts, rounded up; inf where the quilt is not admissible, which a shift of -inf marks.

    Without any change to hide (sensitivity 0) the scale is 0 as soon as the quilt alone is private.
    """
    if sensitivity == 0:
        return np.where(shifts >= 0, 0.0, np.inf)
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = sensitivity / shifts * (1 + 8 * UNIT_ROUNDOFF)
    return np.where(shifts >= LEAST_MARGIN, scale, np.inf)


def _dropped(evidence: Influences) -> tuple[str, ...]:
    return tuple(
        f"{name}: {pair} in model {model}, a secret has probability zero"
        for name in evidence.secrets
        for pair, model in evidence.influence(frozenset(), name).dropped
    )
