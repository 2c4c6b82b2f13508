"""What is known of the steps of a chain: the noise that hides every value, and what the rest of its column tells."""

from __future__ import annotations

import math
from bisect import bisect, insort
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from operator import attrgetter
from typing import Protocol, cast

import numpy as np
from numpy.typing import NDArray

from bnpriv.bound import UNIT_ROUNDOFF, FloatArray
from bnpriv.checks import subset
from bnpriv.core.influence.base import LEAST_MARGIN, Influence, PureLosses, plain_text, worst_place
from bnpriv.core.secrets import SecretPair
from bnpriv.errors import NetworkError, Refusal
from bnpriv.kind import FurtherTable, kind_of
from bnpriv.kinds.chain.network import LEAST, MarkovChain
from bnpriv.text import name_text, number_text, times_text

# --------------------------------------------------------------------------------------------------
# What a step some way off tells about the state at a step: one factor to the left, one to the right.
# --------------------------------------------------------------------------------------------------

BLOCK = 2**22
"""Cells of a table of log ratios that are held at once."""


class Factors:
    """Log ratios between two states of a step, of what is seen some steps before or after it; remembers powers.

    Parameters
    ----------
    matrix : ndarray of shape (k, k)
        The transition matrix.
    """

    def __init__(self, matrix: FloatArray) -> None:
        self.matrix = matrix
        self.states = len(matrix)
        self._powers = [matrix]
        self._linked: list[NDArray[np.bool_]] = [matrix > 0]
        self._right: list[FloatArray] = []
        self._left: dict[tuple[int, bytes], FloatArray] = {}

    def error(self, distance: int) -> float:
        """Bound the rounding error of a log ratio of a power: sums of products of numbers that are not negative."""
        return 2 * UNIT_ROUNDOFF * (distance * (self.states + 2) + 8)

    def right(self, b: int) -> FloatArray:
        """Return max over z of log P^b(x, z) / P^b(x', z), of shape (x, x')."""
        while len(self._right) < b:
            self._right.append(self._ratios(len(self._right) + 1))
        return self._right[b - 1]

    def left(self, a: int, seen: NDArray[np.bool_]) -> FloatArray:
        """Return max over y in `seen` of log P^a(y, x) / P^a(y, x'), of shape (x, x')."""
        key = (a, seen.tobytes())
        if key not in self._left:
            self._left[key] = self._ratios(a, seen)
        return self._left[key]

    @cached_property
    def everywhere(self) -> NDArray[np.bool_]:
        """That every state may be seen."""
        return np.ones(self.states, dtype=np.bool_)

    def _power(self, distance: int) -> tuple[FloatArray, NDArray[np.bool_]]:
        while len(self._powers) < distance:
            self._powers.append(self._powers[-1] @ self.matrix)
            before = self._linked[-1]
            linked = before if before.all() else (before.astype(np.float64) @ (self.matrix > 0)) > 0
            self._linked.append(linked)
        return self._powers[distance - 1], self._linked[distance - 1]

    def _ratios(self, distance: int, seen: NDArray[np.bool_] | None = None) -> FloatArray:
        """What is told from a distance: to the right by columns, to the left by the rows in `seen`."""
        power, linked = self._power(distance)
        if bool(np.any(linked & (power < LEAST))):
            return np.full((self.states, self.states), np.inf)
        with np.errstate(divide="ignore"):
            logs = np.where(linked, np.log(power), -np.inf)
        return largest_ratios(logs if seen is None else logs.T[:, seen])


def largest_ratios(rows: FloatArray) -> FloatArray:
    """Return max over z of rows[x, z] - rows[x', z], where what x rules out does not count; inf where x' alone does.

    Examples
    --------
    >>> import numpy as np
    >>> largest_ratios(np.log([[0.5, 0.5], [0.25, 0.75]])).round(3).tolist()
    [[0.0, 0.693], [0.405, 0.0]]
    """
    k, z = rows.shape
    result = np.empty((k, k))
    step = max(1, BLOCK // max(1, k * z))
    with np.errstate(invalid="ignore"):
        for start in range(0, k, step):
            above = rows[start : start + step, np.newaxis, :]
            gaps = np.where(np.isneginf(above), -np.inf, above - rows[np.newaxis])
            result[start : start + step] = gaps.max(axis=2, initial=-np.inf)
    return result


# --------------------------------------------------------------------------------------------------
# What is known about a step of a chain: the odds of its states, and which states are possible before it.
# --------------------------------------------------------------------------------------------------

Mask = NDArray[np.bool_]

MOST_DISTANCE = 4096
"""Quilts are looked for up to so many steps away; more distant ones are not tried, which is safe."""

SETTLED = 1e-11
"""Laws of steps that stay within this of the stationary law, in logs, are treated as one."""

MOST_DISTINCT_STEPS = 20_000
"""Steps whose laws are told apart; later ones share what bounds them all."""

MOST_COMPARISONS = 2**28
"""Comparisons of entries of powers, states cubed for a step, after which steps from any start are not told apart."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Step:
    """One step, or several neighbouring ones that need not be told apart.

    Parameters
    ----------
    first, last : int
        Counted from 1.
    odds : ndarray of shape (x, x')
        Upper bounds of log P(x') - log P(x) at these steps, whatever the start may be; -inf where a pair is no
        constraint, inf where nothing is known.
    masks : sequence of ndarray of bool
        Which states may be possible at steps 1, 2, ...; the last entry stands for all later ones. Of several steps
        together each entry holds for all later ones too.
    error : float
        By how much `odds` can be too large.
    """

    first: int
    last: int
    odds: FloatArray
    masks: Sequence[Mask]
    error: float

    def seen(self, a: int) -> Mask:
        """Which states may be possible `a` steps before."""
        return self.masks[min(max(self.first - a, 1), len(self.masks)) - 1]


def steps(chain: MarkovChain, model: int, length: int, factors: Factors) -> Iterator[Step]:
    """Yield the steps of a chain of some length, settled ones together; `factors` are those of its matrix."""
    if chain.start == "any":
        yield from _from_any_start(chain, model, length, factors)
    elif chain.start == "stationary":
        yield _settled(chain.first(model), 1, length, stationary_error(len(chain.state_space)))
    else:
        yield from _moving(chain, model, length)


def _settled(law: FloatArray, first: int, last: int, error: float) -> Step:
    return Step(first=first, last=last, odds=_odds(law, law > 0, error), masks=[law > 0], error=2 * error)


def _moving(chain: MarkovChain, model: int, length: int) -> Iterator[Step]:
    """Yield the steps that need not be told apart, then the others: every 2^m-th, every 2^(m-1)-th, and so on.

    Neighbouring steps need much the same noise, so that those which are looked at late are quickly passed over.
    """
    k, matrix, target = len(chain.state_space), chain.matrix(model), chain.limit(model)
    laws, strayed, away = [chain.first(model)], -MOST_DISTANCE, np.inf
    masks = [laws[0] > 0]
    for step in range(1, min(length, MOST_DISTINCT_STEPS) + 1):
        law = laws[-1]
        if target is not None:
            # states that are left for good may still be seen by a quilt that reaches back to them
            strayed = step if bool(np.any(masks[-1] & (target == 0))) else strayed
            away = _away(law, target) if step - strayed > MOST_DISTANCE else np.inf
        if away <= SETTLED:
            break
        laws.append(law @ matrix)
        masks.append((masks[-1].astype(np.float64) @ (matrix > 0)) > 0)
    alone = min(len(laws) - (away <= SETTLED), length)
    if alone < length:
        rounding = len(laws) * (k + 8) * UNIT_ROUNDOFF
        if target is not None and np.isfinite(away):
            yield _settled(target, alone + 1, length, away + rounding + stationary_error(k))
        else:
            # nothing is known of these steps but which states they can have
            reached = _reached(matrix)
            odds = _unordered(reached[min(alone + 1, len(reached)) - 1])
            yield Step(first=alone + 1, last=length, odds=odds, masks=reached, error=np.inf)
    for step in _coarse_to_fine(alone):
        error = step * (k + 8) * UNIT_ROUNDOFF
        yield Step(
            first=step, last=step, odds=_odds(laws[step - 1], masks[step - 1], error), masks=masks, error=2 * error
        )


def _coarse_to_fine(count: int) -> Iterator[int]:
    """Yield 1, ..., count, each once: multiples of the largest power of two first.

    Examples
    --------
    >>> list(_coarse_to_fine(6))
    [4, 2, 6, 1, 3, 5]
    """
    stride = 1 << max(0, count.bit_length() - 1)
    yield from range(stride, count + 1, stride)
    while stride > 1:
        stride //= 2
        yield from range(stride, count + 1, 2 * stride)


def _from_any_start(chain: MarkovChain, model: int, length: int, factors: Factors) -> Iterator[Step]:
    """Yield the steps whose start is not known: the last, most numerous group first.

    P_i(x') / P_i(x) is at most its largest value over the starts in one state, and that never grows with i.
    """
    reached = _reached(chain.matrix(model))
    odds = _unordered(reached[0])
    alone: list[Step] = []
    most = _most_apart(chain, model, reached[-1])
    for step in range(1, length + 1):
        fresh = 1 < step <= most
        if fresh:
            odds = factors.left(step - 1, factors.everywhere).T + factors.error(step - 1)
        mask = reached[min(step, len(reached)) - 1]
        odds = np.where(np.isneginf(_unordered(mask)), -np.inf, odds)
        # how far the odds of a pair of states can differ between two starts: they lie between -odds' and odds
        counted = ~np.isneginf(odds)
        spread = float(np.max((odds + odds.T)[counted], initial=0.0))
        if step >= len(reached) and (step >= most or spread <= SETTLED):
            yield Step(first=step, last=length, odds=odds, masks=reached, error=spread)
            break
        error = 2 * factors.error(step - 1) if fresh else spread
        alone.append(Step(first=step, last=step, odds=odds, masks=reached, error=error))
    for place in _coarse_to_fine(len(alone)):
        yield alone[place - 1]


def _most_apart(chain: MarkovChain, model: int, lasting: Mask) -> int:
    """How many steps from any start are told apart.

    Without a limit that has all `lasting` states, some start rules out states for good: left quilts always tell all.
    """
    target = chain.limit(model)
    if target is None or not np.array_equal(lasting, target > 0):
        return 0
    return min(MOST_DISTINCT_STEPS, MOST_COMPARISONS // len(lasting) ** 3)


def _reached(matrix: FloatArray) -> list[Mask]:
    """Which states some start can lead to at steps 1, 2, ..., until they stay the same; they never grow."""
    masks = [np.ones(len(matrix), dtype=np.bool_)]
    while True:
        after = np.asarray((matrix[masks[-1]] > 0).any(axis=0), dtype=np.bool_)
        if np.array_equal(after, masks[-1]):
            return masks
        masks.append(after)


def _unordered(mask: Mask) -> FloatArray:
    """Return odds of which nothing is known: inf for every pair of possible states."""
    pairs = mask & mask[:, np.newaxis] & ~np.eye(len(mask), dtype=np.bool_)
    return np.where(pairs, np.inf, -np.inf)


def stationary_error(k: int) -> float:
    """Bound the relative error of a stationary law that is computed without subtraction (O'Cinneide 1993)."""
    return 16 * k**3 * UNIT_ROUNDOFF


def _away(law: FloatArray, target: FloatArray) -> float:
    """By how much the logs of two laws differ; this never grows from one step to the next."""
    if not np.array_equal(law > 0, target > 0):
        return np.inf
    inside = target > 0
    return float(np.max(np.abs(np.log(law[inside] / target[inside]))))


def _odds(law: FloatArray, mask: Mask, error: float) -> FloatArray:
    """Return upper bounds of log P(x') - log P(x), infinite where a probability has lost its digits."""
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(law)
        odds = logs[np.newaxis, :] - logs[:, np.newaxis] + 2 * error
    lost = mask & (law < LEAST)
    odds[lost | lost[:, np.newaxis]] = np.inf
    possible = mask & mask[:, np.newaxis]
    return np.where(possible & ~np.eye(len(law), dtype=np.bool_), odds, -np.inf)


# --------------------------------------------------------------------------------------------------
# The least noise that hides every single value of a chain: for every step the best quilt, over all steps the worst.
# --------------------------------------------------------------------------------------------------

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


# --------------------------------------------------------------------------------------------------
# A bound of the influence from the spectrum of the transition matrix: cheap, looser, for chains that mix.
# --------------------------------------------------------------------------------------------------

EIGENVALUE_MARGIN = 1e-10
"""Added to eigenvalues, with the error of the stationary law: far above the error of their computation."""


@dataclass(frozen=True, kw_only=True)
class SpectralBound:
    """Influences bounded by how fast a chain forgets where it was.

    Parameters
    ----------
    decay : float
        D_t = exp(-decay t) / least.
    least : float
        The smallest stationary probability.
    twice : bool
        Whether the left side counts twice, which it need not when the start is stationary.
    """

    decay: float
    least: float
    twice: bool

    @classmethod
    def of(cls, chain: MarkovChain, model: int, *, published: bool) -> SpectralBound:
        """The bound of a chain that is irreducible and aperiodic; `published` gives the form of the paper."""
        matrix = chain.matrix(model)
        law = chain.stationary[min(model, len(chain.stationary) - 1)]
        margin = EIGENVALUE_MARGIN + 4 * stationary_error(len(law))
        root = np.sqrt(law)
        balanced = root[:, np.newaxis] * matrix / root[np.newaxis, :]
        if bool(chain.is_reversible[min(model, len(chain.transition) - 1)]):
            second = _second((balanced + balanced.T) / 2, margin)
            decay = 1 - second if published else -math.log(second) if second > 0 else math.inf
        else:
            second = _second(balanced @ balanced.T, margin)
            decay = (1 - second) / 2 if published else -math.log(second) / 2 if second > 0 else math.inf
        twice = published or chain.start != "stationary"
        return cls(decay=max(decay, 0.0), least=float(law.min()) * (1 - margin), twice=twice)

    entries = 1
    """One: the bound is the same for all pairs of values."""

    def steps(self, length: int) -> Iterator[Step]:
        """Yield all steps at once: the bound does not depend on the step."""
        yield Step(first=1, last=length, odds=np.zeros((1, 1)), masks=[np.ones(1, dtype=np.bool_)], error=0.0)

    def right(self, step: Step, b: int) -> FloatArray:
        """The influence of the value `b` steps after."""
        return np.array([self._told(b)])

    def left(self, step: Step, a: int) -> FloatArray:
        """The influence of the value `a` steps before."""
        return np.array([(2 if self.twice else 1) * self._told(a)])

    def _told(self, distance: int) -> float:
        off = math.exp(-self.decay * distance) / self.least * (1 + EIGENVALUE_MARGIN)
        return math.inf if off >= 1 else (math.log1p(off) - math.log1p(-off)) * (1 + EIGENVALUE_MARGIN)


def spectral_refusal(chain: MarkovChain) -> Refusal | None:
    """Why a chain has no spectral bound, or None."""
    remedy = 'Use MarkovChainMechanism(influence="exact").'
    if not bool(chain.is_irreducible.all()):
        required = "the spectral bound needs every state to be reachable from every other"
        return Refusal(required=required, found="a reducible chain", remedy=remedy)
    if bool((chain.period > 1).any()):
        found = f"a chain of period {int(chain.period.max())}"
        return Refusal(required="the spectral bound needs a chain without a period", found=found, remedy=remedy)
    if any(chain.limit(model) is None for model in range(len(chain.transition))):
        required = "the spectral bound needs a stationary distribution without probabilities that are all but zero"
        return Refusal(required=required, found="a smaller one than doubles hold", remedy=remedy)
    return None


def _second(symmetric: FloatArray, margin: float) -> float:
    """The second largest absolute eigenvalue, rounded up."""
    ordered = np.sort(np.abs(np.linalg.eigvalsh(symmetric)))
    found = float(ordered[-2]) if len(ordered) > 1 else 0.0
    return min(1.0, found + margin)


# --------------------------------------------------------------------------------------------------
# What the rest of a chain's column tells about one value of it: all of it is in the values just before and after.
# --------------------------------------------------------------------------------------------------

KNOWN = 1e-9
"""Error of an influence in nats below which it is called exact."""

NO_CHAIN_CONDITIONALS = Refusal(
    required="the distribution of a column given a secret must be that of one value",
    found="a column of many values, which depend on each other",
    remedy="Use explain(), which names the values before and after that tell most.",
)


@dataclass(frozen=True, kw_only=True, eq=False)
class ChainContext:
    """What the rest of a chain tells about the values at some steps, at most.

    Parameters
    ----------
    first, last : int
        The steps, counted from 1, of a chain of `length` steps.
    length : int
    told : ndarray of shape (states, states)
        Upper bounds in nats for every ordered pair of states; -inf where a pair is no constraint.
    error : float
        By how much finite entries can be too large.
    sure : bool
        Whether infinite entries are so, and not for lost digits or for laws that are not known.
    """

    first: int
    last: int
    length: int
    told: FloatArray
    error: float
    sure: bool

    def __str__(self) -> str:
        of = f"of {self.length:,}"
        return f"step {self.first:,} {of}" if self.first == self.last else f"steps {self.first:,} to {self.last:,} {of}"


def chain_losses(influence: Influence) -> PureLosses:
    """What follows from the largest loss alone; how rare it is depends on the step."""
    return PureLosses(influence.values)


def explain_place(influence: Influence) -> str:
    """The steps at which most is told, which `details` holds, and about which two values."""
    if influence.details is None or influence.pair is None or not influence.frontier:
        return plain_text(influence)
    (name,) = influence.columns
    return (
        f"The rest of {name} moves the odds about one value of it by up to {times_text(influence.bound.upper)}: most "
        f"at {influence.details}, about {influence.pair}.\n"
        "Given the values just before and after, all others tell nothing more."
    )


def no_conditional(influence: Influence, column: str) -> Refusal:
    """Why there are no laws to compare."""
    return NO_CHAIN_CONDITIONALS


def chain_influence(
    network: MarkovChain, columns: Iterable[str], protected: str, pairs: Sequence[SecretPair]
) -> Influence:
    """What the other values of its column tell about one: the columns are that column itself."""
    asked = subset("columns", columns, network.attributes, error=NetworkError)
    network.require(protected)
    border = kind_of(network).frontier(network, protected, asked)
    places = [list(_places(network, model)) for model in range(network.models)]
    if not border:
        places = [[_silent(place) for place in found] for found in places]
    rows = [[_of_pair(network, pair, found) for pair in pairs] for found in places]
    values = np.array([[value for value, _ in row] for row in rows])
    values.flags.writeable = False
    error = max((place.error for found in places for place in found), default=0.0) if border else 0.0
    sure = all(place.sure for found in places for place in found) or not bool(np.isposinf(values).any())
    exact = sure and error <= KNOWN and all(pair.is_point for pair in pairs)
    possible = not bool(np.isneginf(values).all())
    model, k = worst_place(values)
    return Influence(
        columns=asked,
        protected=protected,
        frontier=border,
        pairs=tuple(pairs),
        values=values,
        error=error if exact else 0.0,
        kind="exact" if exact else "certified",
        pair=pairs[k] if possible else None,
        model=model if possible else 0,
        network=network,
        details=rows[model][k][1],
        how="exact, by the values just before and after" if exact else "a bound by the values just before and after",
    )


def _silent(place: ChainContext) -> ChainContext:
    told = np.where(np.isneginf(place.told), -np.inf, 0.0)
    return replace(place, told=told, error=0.0, sure=True)


def _of_pair(
    network: MarkovChain, pair: SecretPair, places: Sequence[ChainContext]
) -> tuple[float, ChainContext | None]:
    """Return the largest influence over the steps, and where; a set of states tells no more than some two of them."""
    states = network.states[network.column]
    cells = np.ix_(*([states.index(state) for state in side] for side in (pair.first, pair.second)))
    best: tuple[float, ChainContext | None] = -np.inf, None
    for place in places:
        value = float(place.told[cells].max())
        if value > best[0]:
            best = value, place
    return best


def _places(chain: MarkovChain, model: int) -> Iterator[ChainContext]:
    """Yield what the rest of the chain tells about its steps, those together that are not told apart."""
    exact = ExactInfluence(chain, model)
    matrix = chain.matrix(model)
    kept_digits = not bool(np.any((matrix > 0) & (matrix < LEAST)))
    for length in sorted(set(chain.length), reverse=True):
        for step in exact.steps(length):
            known = kept_digits and (chain.start == "any" or not bool(np.isposinf(step.odds).any()))
            for first, last in _alike(step, length):
                error = step.error + 4 * exact.factors.error(1)
                told = _told(exact, step, before=first > 1, after=last < length)
                yield ChainContext(first=first, last=last, length=length, told=told, error=error, sure=known)


def _alike(step: Step, length: int) -> list[tuple[int, int]]:
    """Return the steps that have values on both sides; of the ends of the chain those about which more is not told."""
    inner = max(step.first, 2), min(step.last, length - 1)
    if inner[0] <= inner[1]:
        return [inner]  # the same laws with one side missing tell no more
    return [(end, end) for end in dict.fromkeys((step.first, step.last))]


def _told(exact: ExactInfluence, step: Step, *, before: bool, after: bool) -> FloatArray:
    """Return what the values just before and after tell, for every ordered pair of states."""
    nothing = np.where(np.isneginf(step.odds), -np.inf, 0.0)
    left = exact.left(step, 1).reshape(nothing.shape) if before else nothing
    right = exact.right(step, 1).reshape(nothing.shape) if after else nothing
    both = together(cast(FloatArray, left), cast(FloatArray, right))
    return np.where(np.isneginf(nothing), -np.inf, np.maximum(both, 0.0))


# --------------------------------------------------------------------------------------------------
# What is known of chains only: what neighbouring values tell, and the noise at other epsilons.
# --------------------------------------------------------------------------------------------------

DISTANCES = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)
"""Distances of the values whose influence is shown."""

FORGOTTEN = 1e-6
"""Influences of more distant values than the first that tells less are not shown."""

NOISE_EPSILONS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
"""Budgets for which the noise is shown."""


def chain_tables(network: MarkovChain) -> tuple[FurtherTable, ...]:
    """What neighbouring values tell, and the noise at other epsilons."""
    exact = [ExactInfluence(network, model) for model in range(network.models)]
    return (_neighbours(network, exact), _noises(network, exact))


def _bounds(chain: MarkovChain, *, published: bool) -> list[SpectralBound]:
    if spectral_refusal(chain):
        return []
    return [SpectralBound.of(chain, model, published=published) for model in range(chain.models)]


def _neighbours(chain: MarkovChain, exact: list[ExactInfluence]) -> FurtherTable:
    """Return influences at a step in the middle, where both sides are there."""
    length = max(chain.length)
    middle = (length + 1) // 2
    bounds = _bounds(chain, published=False)
    rows: list[tuple[int, float, float]] = []
    for distance in DISTANCES:
        if distance >= middle or distance > length - middle:
            break
        told = max(_at(each, length, middle, distance) for each in exact)
        rows.append((distance, told, max((_at(each, length, middle, distance) for each in bounds), default=np.inf)))
        if told < FORGOTTEN:
            break
    return FurtherTable(
        title="What the values before and after tell about the one between",
        intro=(
            "A value is hidden together with its neighbours: the values some steps before and after it still tell "
            "something about it, in nats; the noise hides those between, with what is left of epsilon."
        ),
        header=("steps away", "exact", "spectral bound"),
        rows=tuple(rows),
    )


def _at(told: ExactInfluence | SpectralBound, length: int, place: int, distance: int) -> float:
    step = next(group for group in told.steps(length) if group.first <= place <= group.last)
    return max(0.0, float(together(told.left(step, distance), told.right(step, distance)).max()))


def _noises(chain: MarkovChain, exact: list[ExactInfluence]) -> FurtherTable:
    spectral, published = (_bounds(chain, published=form) for form in (False, True))
    rows: list[tuple[str | int | float, ...]] = []
    for epsilon in NOISE_EPSILONS:
        quilts = [quilt for told in exact if (quilt := chain_scale(chain.length, epsilon, told)) is not None]
        if not quilts:
            continue
        worst = max(quilts, key=lambda quilt: quilt.score)
        least = [_least_score(chain, epsilon, told) for told in (spectral, published)]
        rows.append((epsilon, worst.score, *least, worst.near, _sides(worst)))
    return FurtherTable(
        title="Noise per unit of sensitivity",
        intro="For how many records the noise must stand at other epsilons, at the step that needs the most.",
        header=("epsilon", "exact", "spectral", "as published", "values hidden", "quilt"),
        rows=tuple(rows),
        finding="".join(_finding(chain, float(row[1])) for row in rows if row[0] == 1.0),
    )


def _finding(chain: MarkovChain, score: float) -> str:
    column = name_text(chain.column)
    return f"One value of {column} hides behind noise for {number_text(score)} records at epsilon 1"


def _least_score(chain: MarkovChain, epsilon: float, told: list[SpectralBound]) -> float:
    found = [chain_scale(chain.length, epsilon, each) for each in told]
    return max((quilt.score for quilt in found if quilt is not None), default=np.inf)


def _sides(quilt: ChainQuilt) -> str:
    sides = [("before", quilt.before), ("after", quilt.after)]
    return " and ".join(f"{distance:,} {side}" for side, distance in sides if distance is not None) or "none"
