"""What is known about a step of a chain: the odds of its states, and which states are possible before it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from bnpriv.bound import UNIT_ROUNDOFF
from bnpriv.factors import FloatArray
from bnpriv.networks import MarkovChain
from bnpriv.networks.chain import LEAST

Mask = NDArray[np.bool_]

MOST_DISTANCE = 4096
"""Quilts are looked for up to so many steps away; more distant ones are not tried, which is safe."""

SETTLED = 1e-11
"""Laws of steps that stay within this of the stationary law, in logs, are treated as one."""

LONGEST = 20_000
"""Steps whose laws are told apart; later ones share what bounds them all."""


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class Step:
    """One step, or several neighbouring ones that need not be told apart.

    Parameters
    ----------
    first, last : int
        Counted from 1.
    odds : ndarray of shape (x, x')
        Upper bounds of log P(x') - log P(x) at these steps; -inf where a pair is no constraint.
    masks : sequence of ndarray of bool
        Which states may be possible at steps 1, 2, ...; the last entry stands for all later ones.
    error : float
        By how much `odds` can be too large.
    unknown : bool
        Whether nothing is known of the laws of these steps; `odds` then only says which pairs count.
    """

    first: int
    last: int
    odds: FloatArray
    masks: Sequence[Mask]
    error: float
    unknown: bool = False

    def seen(self, a: int) -> Mask:
        """Return which states may be possible `a` steps before."""
        return self.masks[min(self.first - a, len(self.masks)) - 1] if self.first == self.last else self.masks[-1]


def steps(chain: MarkovChain, model: int, length: int) -> Iterator[Step]:
    """Yield the steps of a chain of some length, settled ones together."""
    k = len(chain.states)
    if chain.start == "any":
        yield _unknown(k, 1, length)
    elif chain.start == "stationary":
        yield _settled(chain.first(model), 1, length, stationary_error(k))
    else:
        yield from _moving(chain, model, length)


def _settled(law: FloatArray, first: int, last: int, error: float) -> Step:
    return Step(first=first, last=last, odds=_odds(law, law > 0, error), masks=[law > 0], error=2 * error)


def _moving(chain: MarkovChain, model: int, length: int) -> Iterator[Step]:
    """Yield the steps that need not be told apart, then the others: every 2^m-th, every 2^(m-1)-th, and so on.

    Neighbouring steps need much the same noise, so that those which are looked at late are quickly passed over.
    """
    k, matrix, target = len(chain.states), chain.matrix(model), chain.limit(model)
    laws, strayed, away = [chain.first(model)], -MOST_DISTANCE, np.inf
    masks = [laws[0] > 0]
    for step in range(1, min(length, LONGEST) + 1):
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
            yield _unknown(k, alone + 1, length)
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


def _unknown(k: int, first: int, last: int) -> Step:
    """Return steps of whose laws nothing is known."""
    odds = np.where(np.eye(k, dtype=np.bool_), -np.inf, 0.0)
    return Step(first=first, last=last, odds=odds, masks=[np.ones(k, dtype=np.bool_)], error=np.inf, unknown=True)


def stationary_error(k: int) -> float:
    """Bound the relative error of a stationary law that is computed without subtraction (O'Cinneide 1993)."""
    return 16 * k**3 * UNIT_ROUNDOFF


def _away(law: FloatArray, target: FloatArray) -> float:
    """Return by how much the logs of two laws differ; this never grows from one step to the next."""
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
