"""Bounds of log ratios over all networks within intervals, from the vertices of the columns of their tables.

docs/claims/intervals.md has the proofs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, final

import numpy as np
from numpy.typing import NDArray

from bnpriv.bound import UNIT_ROUNDOFF
from bnpriv.errors import SizeError
from bnpriv.factors import FUNCTION_ERROR, FloatArray, LogTable, log_sum_exp
from bnpriv.inference.choices import Choices, Part, choices_of, points_of
from bnpriv.inference.elimination import joint_law
from bnpriv.networks import DiscreteNetwork, IntervalNetwork, State
from bnpriv.ratios import independent_parts
from bnpriv.secrets import SecretPair

MOST_COMBINATIONS = 2**20
"""Combinations of vertices that are tried; beyond that sums of ends stand in."""

MOST_POINTS = 2**16
"""Combinations that cutting segments into pieces may lead to."""

MOST_AT_ONCE = 2**13
"""Combinations in one table, if those that belong together are fewer."""

MOST_TABLE = 2**24
"""Cells of a table over combinations."""


@final
@dataclass(frozen=True, kw_only=True)
class IntervalBounds:
    """Upper bounds of the influence over all members.

    Parameters
    ----------
    values : ndarray of shape (pairs,)
        -inf where a secret has probability zero in every member.
    error : float
        Bound on the rounding error of `values`, which is not added yet.
    exact : bool
        Whether the values are the least upper bounds, apart from rounding.
    """

    values: FloatArray
    error: float
    exact: bool


def interval_bounds(
    network: IntervalNetwork,
    protected: str,
    border: tuple[str, ...],
    pairs: Sequence[SecretPair],
    *,
    most_combinations: int | None = None,
) -> IntervalBounds:
    """Bound the influence of a frontier `border` for ordered `pairs` over all members.

    Up to `most_combinations` (`MOST_COMBINATIONS` by default) combinations of vertices are tried.

    Raises
    ------
    SizeError
        If even the table of sums of ends would pass the limit.
    """
    most = MOST_COMBINATIONS if most_combinations is None else most_combinations
    middle = network.middle()
    whole = Part(network=network, middle=middle, protected=protected, seen=border, points=False, most=most)
    found = _of_pairs(whole, pairs) if border else IntervalBounds(values=np.zeros(len(pairs)), error=0.0, exact=True)
    values = np.where(_possible(middle, protected, pairs), found.values, -np.inf)
    return IntervalBounds(values=values, error=found.error, exact=found.exact)


def _possible(middle: DiscreteNetwork, protected: str, pairs: Sequence[SecretPair]) -> NDArray[np.bool_]:
    """Return which pairs are a constraint for some member: then they are for the middle one."""
    prior, states = joint_law(middle, (protected,)).values[0], middle.states[protected]
    sides = [(_side(states, pair.first), _side(states, pair.second)) for pair in pairs]
    return np.array([all(np.isfinite(prior[side]).any() for side in both) for both in sides], dtype=np.bool_)


def _singles(pairs: Sequence[SecretPair]) -> tuple[SecretPair, ...]:
    """Return all pairs of single states, one of each side."""
    every = (SecretPair(frozenset({a}), frozenset({b})) for pair in pairs for a in pair.first for b in pair.second)
    return tuple(dict.fromkeys(every))


def _points(whole: Part, pairs: Sequence[SecretPair]) -> IntervalBounds:
    """Return the bounds for pairs of single states: those of the independent parts add."""
    split = independent_parts(whole.network.graph, whole.protected, whole.seen)
    parts = [replace(whole, seen=part, points=True) for part in split]
    bounds = [_enumerated(part, pairs) or _summed(part, pairs) for part in parts]
    possible = _possible(whole.middle, whole.protected, pairs)
    total = np.sum([np.where(possible, bound.values, 0.0) for bound in bounds], axis=0)
    return IntervalBounds(
        values=np.where(possible, total, -np.inf),
        error=sum(bound.error for bound in bounds),
        exact=all(bound.exact for bound in bounds),
    )


def _of_pairs(whole: Part, pairs: Sequence[SecretPair]) -> IntervalBounds:
    """Return the bounds for any pairs: a set of states tells no more than its most telling member."""
    singles = _singles(pairs)
    told = _points(whole, singles)
    each = dict(zip(singles, told.values, strict=True))
    values = np.array([max(each[single] for single in _singles([pair])) for pair in pairs])
    several = [k for k, pair in enumerate(pairs) if not pair.is_point]
    if not several:
        return IntervalBounds(values=values, error=told.error, exact=told.exact)
    mixed = _enumerated(whole, [pairs[k] for k in several])
    if mixed is None:
        return IntervalBounds(values=values, error=told.error, exact=False)
    values[several] = np.minimum(values[several], mixed.values)
    return IntervalBounds(values=values, error=max(told.error, mixed.error), exact=told.exact and mixed.exact)


def _enumerated(part: Part, pairs: Sequence[SecretPair]) -> IntervalBounds | None:
    """Return the bounds over all combinations of vertices, or None if they are too many."""
    try:
        points = points_of(part, MOST_POINTS)
        if points is None:
            return None
        choices = sorted((choices_of(part, name, points) for name in sorted(part.varied)), key=_joint_first)
        values, error = np.full(len(pairs), -np.inf), 0.0
        for logs, prior in _tables(part, choices):
            values = np.maximum(values, _largest(part, pairs, logs, prior.values, choices))
            error = max(error, _error(logs, prior))
    except SizeError:
        return None
    exact = all(each.role != "lossy" or len(each.logs) == 1 for each in choices)
    return IntervalBounds(values=values, error=error, exact=exact)


def _joint_first(choices: Choices) -> bool:
    return choices.role != "joint"


def _tables(part: Part, choices: Sequence[Choices]) -> Iterator[tuple[LogTable, LogTable]]:
    """Yield log P(protected, seen) and log P(protected) over combinations, in blocks of the same joint choice."""
    sizes = tuple(len(each.logs) for each in choices)
    block = math.prod(len(each.logs) for each in choices if _joint_first(each))
    total = math.prod(sizes)
    step = block * max(1, MOST_AT_ONCE // block)
    graph = part.network.graph
    for start in range(0, total, step):
        chosen = np.unravel_index(np.arange(start, min(start + step, total)), sizes)
        tables = dict(part.middle.tables)
        for each, index in zip(choices, chosen, strict=True):
            logs = each.logs[index] if len(each.logs) > 1 else each.logs
            tables[each.name] = LogTable(axes=(each.name, *graph.parents[each.name]), values=logs, error=each.error)
        models = len(chosen[0])
        network = DiscreteNetwork(
            graph=graph, states=part.network.states, tables=tables, level=part.network.level, models=models
        )
        joint = joint_law(network, (part.protected, *part.seen), most_cells=MOST_TABLE)
        logs = np.broadcast_to(joint.values, (models, *joint.values.shape[1:]))
        yield (
            LogTable(axes=joint.axes, values=logs.copy(), error=joint.error),
            joint_law(network, (part.protected,), most_cells=MOST_TABLE),
        )


def _largest(
    part: Part, pairs: Sequence[SecretPair], table: LogTable, prior: FloatArray, choices: Sequence[Choices]
) -> FloatArray:
    """Return for every pair the largest ratio: within a block the two probabilities are chosen apart, in pieces."""
    apart = [each for each in choices if _joint_first(each)]
    sizes = tuple(size for each in apart for size in each.sizes)
    in_pieces = tuple(cut for each in apart for cut in each.in_pieces)
    flat = table.values.reshape(*table.values.shape[:2], math.prod(table.values.shape[2:]))
    before = np.broadcast_to(prior, table.values.shape[:2])
    most: dict[frozenset[State], FloatArray] = {}
    least: dict[frozenset[State], FloatArray] = {}
    for side in dict.fromkeys(side for pair in pairs for side in (pair.first, pair.second)):
        rows = _side(part.network.states[part.protected], side)
        chance = log_sum_exp(before[:, rows], 1)[:, np.newaxis]
        with np.errstate(invalid="ignore"):
            given = log_sum_exp(flat[:, rows], 1) - chance
        # where the secret has probability zero the combination is no constraint
        above, below = np.where(np.isneginf(chance), -np.inf, given), np.where(np.isneginf(chance), np.inf, given)
        shape = (-1, *sizes, given.shape[1])
        most[side] = _over_pieces(above.reshape(shape), in_pieces, np.maximum)
        least[side] = _over_pieces(below.reshape(shape), in_pieces, np.minimum)
    return np.array([_difference(most[pair.first], least[pair.second]).max() for pair in pairs])


def _over_pieces(values: FloatArray, in_pieces: Sequence[bool], better: np.ufunc) -> FloatArray:
    """Return the best over each choice, or over the two ends of each piece, along the axes between first and last."""
    for axis, cut in reversed(list(enumerate(in_pieces, start=1))):
        ends = np.moveaxis(values, axis, 0)
        values = np.moveaxis(better(ends[:-1], ends[1:]), 0, axis) if cut else better.reduce(values, axis=axis)
    return values


def _difference(above: FloatArray, below: FloatArray) -> FloatArray:
    with np.errstate(invalid="ignore"):
        return np.where(np.isneginf(above), -np.inf, above - below)


def _error(table: LogTable, prior: LogTable) -> float:
    """Return a bound on the rounding error of a difference of two logs of conditional probabilities."""
    finite = table.values[np.isfinite(table.values)]
    largest = float(np.max(np.abs(finite), initial=0.0))
    return 2 * (table.error + prior.error) + UNIT_ROUNDOFF * (8 * largest + 8 * table.values.shape[1] + 64)


def _summed(part: Part, pairs: Sequence[SecretPair]) -> IntervalBounds:
    """Return bounds from sums of lower and of upper ends, which need no combinations."""
    lower, upper = _joint_of_ends(part, "lower"), _joint_of_ends(part, "upper")
    size = math.prod(lower.values.shape[2:])
    low, high = lower.values[0].reshape(-1, size), upper.values[0].reshape(-1, size)
    # Where both are nothing the difference is undefined, and replaced below.
    with np.errstate(invalid="ignore"):
        most = high - np.logaddexp(high, _others(low))
        least = low - np.logaddexp(low, _others(high))
        if part.protected not in part.varied:  # then its table is the same in both sums
            prior = joint_law(part.middle, (part.protected,)).values[0][:, np.newaxis]
            most, least = np.minimum(most, high - prior), np.maximum(least, low - prior)
    most[np.isneginf(high)] = -np.inf
    least[np.isneginf(low)] = -np.inf
    states = part.network.states[part.protected]
    values = [
        _difference(most[_side(states, pair.first)][0], least[_side(states, pair.second)][0]).max() for pair in pairs
    ]
    error = _error(lower, upper) + UNIT_ROUNDOFF * FUNCTION_ERROR * 4 * size
    return IntervalBounds(values=np.array(values), error=2 * error, exact=False)


def _joint_of_ends(part: Part, ends: Literal["lower", "upper"]) -> LogTable:
    """Return log sums of products of lower, or of upper, ends."""
    network = part.network
    tables = dict(part.middle.tables)
    for name in part.varied:
        with np.errstate(divide="ignore"):
            logs = np.log(getattr(network, ends)[name])[np.newaxis]
        finite = np.abs(logs[np.isfinite(logs)])
        error = UNIT_ROUNDOFF * (FUNCTION_ERROR * float(np.max(finite, initial=0.0)) + 16)
        tables[name] = LogTable(axes=(name, *network.graph.parents[name]), values=logs, error=error)
    whole = DiscreteNetwork(graph=network.graph, states=network.states, tables=tables, level=network.level, models=1)
    return joint_law(whole, (part.protected, *part.seen))


def _others(logs: FloatArray) -> FloatArray:
    """Return for every cell the log of the sum of all other cells of its row."""
    edge = np.full((len(logs), 1), -np.inf)
    before = np.concatenate([edge, np.logaddexp.accumulate(logs, axis=1)[:, :-1]], axis=1)
    after = np.concatenate([np.logaddexp.accumulate(logs[:, ::-1], axis=1)[:, ::-1][:, 1:], edge], axis=1)
    return np.logaddexp(before, after)


def _side(states: Sequence[State], secret: frozenset[State]) -> NDArray[np.intp]:
    """Return the positions of the states of a secret."""
    return np.array([k for k, state in enumerate(states) if state in secret], dtype=np.intp)
