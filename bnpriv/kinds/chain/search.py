"""The least noise that hides every single value of a chain: for every step the best quilt, over all steps the worst."""

from __future__ import annotations

import math
from bisect import bisect, insort
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Protocol

import numpy as np

from bnpriv.bound import UNIT_ROUNDOFF, FloatArray
from bnpriv.core.influence.losses import LEAST_MARGIN
from bnpriv.kinds.chain.network import MarkovChain
from bnpriv.kinds.chain.steps import MOST_DISTANCE, Factors, Step, steps

_step, _score = attrgetter("step"), attrgetter("score")

MOST_INFLUENCE_CELLS = 2**24
"""Entries of all influences to one side that are kept; with many states the farthest quilts are then not tried."""


@dataclass(frozen=True, kw_only=True)
class ChainQuilt:
    """What decides the noise for one step of a chain.

    Parameters
    ----------
    step : int
        Counted from 1, of a chain of `length` steps.
    length : int
    before, after : int or None
        The quilt is the values so many steps before and after; None where there is none on that side.
    influence : float
        What the quilt tells about the step's value, in nats, rounded up.
    near : int
        Number of steps that the noise must hide.
    score : float
        ``near / (epsilon - influence)``, rounded up.
    error : float
        By how much the influence can be too large because steps were not told apart.
    """

    step: int
    length: int
    before: int | None
    after: int | None
    influence: float
    near: int
    score: float
    error: float


class SideInfluence(Protocol):
    """Influences of the values before and after a step, one entry for each pair of the step's values.

    What both sides tell together is the largest entry of their sum; no entry that counts is below 0 in both.
    """

    def right(self, step: Step, b: int) -> FloatArray:
        """The influence of the value `b` steps after, as a vector; -inf for pairs that are no constraint."""
        ...

    def left(self, step: Step, a: int) -> FloatArray:
        """The influence of the value `a` steps before, as a vector."""
        ...

    @property
    def entries(self) -> int:
        """The length of these vectors."""
        ...

    def steps(self, length: int) -> Iterator[Step]:
        """Yield the steps of a chain of some length, those together that need not be told apart."""
        ...


class ExactInfluence:
    """Influences from powers of the transition matrix, up to rounding; for any start the largest over all starts.

    Parameters
    ----------
    chain : MarkovChain
    model : int
        The index in Theta.
    """

    def __init__(self, chain: MarkovChain, model: int) -> None:
        self._chain = chain
        self._model = model
        self.factors = Factors(chain.matrix(model))

    @property
    def entries(self) -> int:
        """The number of pairs of states."""
        return self.factors.states**2

    def steps(self, length: int) -> Iterator[Step]:
        """Yield the steps, settled ones together."""
        return steps(self._chain, self._model, length, self.factors)

    def right(self, step: Step, b: int) -> FloatArray:
        """The influence of the value `b` steps after."""
        ratios = self.factors.right(b) + self.factors.error(b)
        return np.where(np.isneginf(step.odds), -np.inf, ratios).ravel()

    def left(self, step: Step, a: int) -> FloatArray:
        """The influence of the value `a` steps before."""
        ratios = self.factors.left(a, step.seen(a)) + self.factors.error(a)
        # laws of this step are mixtures of rows of the power, so their odds are no larger than those of the rows
        both = together(ratios, np.minimum(step.odds, ratios.T))
        return np.where(np.isneginf(step.odds), -np.inf, both).ravel()


def chain_scale(lengths: Iterable[int], epsilon: float, influence: SideInfluence) -> ChainQuilt | None:
    """The step that needs the most noise per unit of sensitivity, with its best quilt; None if none needs any.

    Parameters
    ----------
    lengths : iterable of int
        Numbers of steps of independent chains of one model.
    epsilon : float
        Above 0.
    influence : SideInfluence
        The influences of that model.

    Notes
    -----
    Song, Wang, Chaudhuri, "Pufferfish Privacy Mechanisms for Correlated Data" (SIGMOD 2017), section 4; see
    docs/claims/markov_chain.md. A step with a quilt whose score is no larger than the largest so far is passed over.
    """
    worst: ChainQuilt | None = None
    for length in sorted(set(lengths), reverse=True):
        search = _StepSearch(influence=influence, epsilon=epsilon, length=length)
        for step in influence.steps(length):
            if bool(np.isneginf(step.odds).all()):
                continue
            middle = min(max((length + 1) // 2, step.first), step.last)
            looked_at = dict.fromkeys((middle, step.first, step.last))
            for place in looked_at:
                worst = search.worse(step, place, worst)
            assert worst is not None
            for place in search.unserved(step, worst):
                if place not in looked_at:
                    worst = search.worse(step, place, worst)
    return worst


@dataclass(frozen=True, kw_only=True)
class _StepSearch:
    """The search for the best quilt of a step in a chain of known length; remembers the best quilts by step."""

    influence: SideInfluence
    epsilon: float
    length: int
    _known: list[ChainQuilt] = field(default_factory=list[ChainQuilt])

    def worse(self, step: Step, place: int, worst: ChainQuilt | None) -> ChainQuilt:
        """Return `worst` if a known quilt, or a side of it, does as well here; else the worse of it and the best."""
        if worst is not None and any(self._serves(step, place, known, worst) for known in self._near(place, worst)):
            return worst
        found = self._best(step, place)
        insort(self._known, found, key=_step)
        return found if worst is None or found.score > worst.score else worst

    def _near(self, place: int, worst: ChainQuilt) -> tuple[ChainQuilt, ...]:
        """Return `worst` and the quilts of the nearest steps that were searched."""
        at = bisect(self._known, place, key=_step)
        return (worst, *self._known[max(0, at - 1) : at + 1])

    def _serves(self, step: Step, place: int, known: ChainQuilt, worst: ChainQuilt) -> bool:
        """Whether the quilt `known` of another step, as far as it fits, needs no more here than `worst`."""
        a = None if known.before is None or place == 1 else min(known.before, place - 1)
        b = None if known.after is None or place == self.length else min(known.after, self.length - place)
        sides = {(a, b), (None, b), (a, None)}
        return any(self._quilt(step, place, before, after).score <= worst.score for before, after in sides)

    def unserved(self, step: Step, worst: ChainQuilt) -> Iterator[int]:
        """Yield the places of a group of steps that the quilt of `worst` does not surely serve."""
        a, b = worst.before, worst.after
        if a is None and b is None and worst.length == self.length:
            return
        first, last = step.first, step.last
        if a is not None and b is not None and first <= self.length - b and last > a:
            inside = max(first, a + 1)
            if self._quilt(step, inside, a, b).score <= worst.score:
                yield from range(first, inside)
                yield from range(max(inside, self.length - b + 1), last + 1)
                return
        yield from range(first, last + 1)

    @property
    def _farthest(self) -> int:
        return min(MOST_DISTANCE, MOST_INFLUENCE_CELLS // self.influence.entries)

    def _best(self, step: Step, place: int) -> ChainQuilt:
        """The quilt with the least score."""
        best = self._quilt(step, place, None, None)
        before, after = min(place - 1, self._farthest), min(self.length - place, self._farthest)
        for b in range(1, after + 1):
            if (place + b - 1) / self.epsilon >= best.score:
                break
            best = min(best, self._quilt(step, place, None, b), key=_score)
        for a in range(1, before + 1):
            if (self.length - place + a) / self.epsilon >= best.score:
                break
            best = min(best, self._quilt(step, place, a, None), key=_score)
        return self._two_sided(step, place, before, after, best)

    def _two_sided(self, step: Step, place: int, before: int, after: int, best: ChainQuilt) -> ChainQuilt:
        """Go through the numbers of near steps, the fewest first, while they can still be better."""
        lefts, rights, entries = _Side(before), _Side(after), list[int]()
        for near in range(1, before + after if before and after else 1):
            if near / self.epsilon >= best.score:
                break
            if near <= before:
                lefts.vectors.append(self.influence.left(step, near))
            if near <= after:
                rights.vectors.append(self.influence.right(step, near))
            a, influence = _least(lefts, rights, entries, near)
            score = self._score(near, influence)
            if score < best.score:
                best = self._quilt(step, place, a, near + 1 - a)
        return best

    def _score(self, near: int, influence: float) -> float:
        margin = (self.epsilon - influence) * (1 - 4 * UNIT_ROUNDOFF)
        return near / margin * (1 + 4 * UNIT_ROUNDOFF) if margin >= LEAST_MARGIN else math.inf

    def _quilt(self, step: Step, place: int, a: int | None, b: int | None) -> ChainQuilt:
        near = (self.length if b is None else place + b - 1) - (0 if a is None else place - a)
        influence = 0.0
        if a is not None and b is not None:
            influence = _largest(together(self.influence.left(step, a), self.influence.right(step, b)))
        elif a is not None or b is not None:
            influence = _largest(self.influence.left(step, a) if a is not None else self.influence.right(step, b or 0))
        score = self._score(near, influence)
        return ChainQuilt(
            step=place,
            length=self.length,
            before=a,
            after=b,
            influence=influence,
            near=near,
            score=score,
            error=0.0 if a is None else step.error,
        )


def _least(lefts: _Side, rights: _Side, entries: list[int], near: int) -> tuple[int, float]:
    """Return the distance to the left that tells least with so many near steps, and what it then tells.

    Of the vectors of both sides a few `entries` alone decide most comparisons: they give a lower bound for every
    distance. The distance with the least bound is computed in full: either its largest entry is among those looked at,
    and no other distance is better, or it is added to them.
    """
    low, high = max(1, near + 1 - rights.most), min(near, lefts.most)
    while True:
        left = lefts.columns(low, high, entries)
        right = rights.columns(near + 1 - high, near + 1 - low, entries)[:, ::-1]
        bounds = together(left, right).max(axis=0, initial=-np.inf)
        a = low + int(np.argmin(bounds))
        both = together(lefts.vectors[a - 1], rights.vectors[near - a])
        entry = int(np.argmax(both))
        if entry in entries:
            return a, max(0.0, float(both[entry]))
        entries.append(entry)


class _Side:
    """Vectors of one side by distance, with some of their entries as rows of a table."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.vectors: list[FloatArray] = []
        self._rows: dict[int, FloatArray] = {}
        self._filled: dict[int, int] = {}

    def columns(self, low: int, high: int, entries: list[int]) -> FloatArray:
        """The chosen entries of the vectors at distances `low` to `high`, of shape (entries, distances)."""
        for entry in entries:
            row = self._rows.setdefault(entry, np.empty(self.most))
            start = self._filled.get(entry, 0)
            row[start : len(self.vectors)] = [vector[entry] for vector in self.vectors[start:]]
            self._filled[entry] = len(self.vectors)
        chosen = [self._rows[entry][low - 1 : high] for entry in entries]
        return np.array(chosen) if chosen else np.empty((0, high - low + 1))


def together(left: FloatArray, right: FloatArray) -> FloatArray:
    """What two sides tell together; inf where one tells all and the other has no such constraint.

    Examples
    --------
    >>> together(np.array([1.0, np.inf]), np.array([0.5, -np.inf])).tolist()
    [1.5, inf]
    """
    with np.errstate(invalid="ignore"):
        both = left + right
    return np.where(np.isnan(both), np.inf, both)


def _largest(ratios: FloatArray) -> float:
    return max(0.0, float(ratios.max()))
