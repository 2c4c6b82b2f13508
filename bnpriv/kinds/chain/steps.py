"""What is known about a step of a chain, and what a step some way off tells about it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from bnpriv.bound import UNIT_ROUNDOFF, FloatArray
from bnpriv.kinds.chain.network import LEAST, MarkovChain

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
