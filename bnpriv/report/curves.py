"""The noise of the Markov quilt mechanism as a function of epsilon, in a form that a page can recompute."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, combinations
from typing import final

from bnpriv.errors import Refusal, SizeError
from bnpriv.evidence.structural import Influences, influences
from bnpriv.frameworks.framework import Framework
from bnpriv.influence.losses import LEAST_MARGIN
from bnpriv.queries.base import Query
from bnpriv.secrets.pair import Pair

MOST_CURVE_SETS = 256
"""Near sets that are tried, over all protected attributes; with more than eight queried columns there are more."""

MOST_CANDIDATES = 100_000
"""Near sets times models times pairs of secrets."""

MOST_CURVES = 300
"""Curves that are kept; each is a few numbers in the page."""


@final
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


@final
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
    if isinstance(evidence, Refusal) or evidence.quilts is not None or evidence.covers(query.columns) is not None:
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
