"""Bounds of log ratios over all networks within intervals, from the vertices of the columns of their tables.

docs/claims/intervals.md has the proofs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal, final

import numpy as np
from numpy.typing import NDArray

from bnpriv.bound import UNIT_ROUNDOFF
from bnpriv.errors import SizeError
from bnpriv.factors import FUNCTION_ERROR, FloatArray, LogTable, log_sum_exp
from bnpriv.inference.elimination import joint_law
from bnpriv.networks import DiscreteNetwork, IntervalNetwork, State
from bnpriv.networks.interval import SAME_VERTEX, vertices
from bnpriv.ratios import independent_parts
from bnpriv.secrets import SecretPair

MOST_COMBINATIONS = 2**16
"""Combinations of vertices that are tried; beyond that sums of ends stand in."""

MOST_AT_ONCE = 2**12
"""Combinations in one table, if those that belong together are fewer."""

MOST_TABLE = 2**24
"""Cells of a table over combinations."""

Role = Literal["joint", "apart", "lossy"]
"""How a table's choices enter a ratio.

"joint": one choice for both probabilities. "apart": each choice touches one of the two only, so that they are chosen
apart without loss. "lossy": they touch both, and are chosen apart nevertheless, which gives an upper bound.
"""


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


@final
@dataclass(frozen=True, kw_only=True)
class _Choices:
    """The tables that one attribute may have; `logs` has a leading axis for them."""

    name: str
    logs: FloatArray
    error: float
    role: Role


@final
@dataclass(frozen=True, kw_only=True)
class _Part:
    """Attributes that are seen, with what of the network their law given the secrets depends on."""

    network: IntervalNetwork
    middle: DiscreteNetwork
    protected: str
    seen: tuple[str, ...]
    points: bool
    most: int

    @property
    def varied(self) -> frozenset[str]:
        """Return the attributes whose tables matter: the prior of a single state cancels if nothing above is seen."""
        graph = self.network.graph
        if not self.points:
            return graph.ancestral((*self.seen, self.protected))
        inside = _component(self, self.seen[0])
        return inside | {self.protected} if inside.intersection(graph.parents[self.protected]) else inside

    @property
    def above(self) -> frozenset[str]:
        """Return the protected attribute with its ancestors."""
        return self.network.graph.ancestral((self.protected,))


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
    whole = _Part(network=network, middle=middle, protected=protected, seen=border, points=False, most=most)
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


def _points(whole: _Part, pairs: Sequence[SecretPair]) -> IntervalBounds:
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


def _of_pairs(whole: _Part, pairs: Sequence[SecretPair]) -> IntervalBounds:
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


def _enumerated(part: _Part, pairs: Sequence[SecretPair]) -> IntervalBounds | None:
    """Return the bounds over all combinations of vertices, or None if they are too many."""
    if math.prod(_count(part, name) for name in part.varied) > part.most:
        return None
    choices = sorted((_choices(part, name) for name in sorted(part.varied)), key=lambda each: each.role != "joint")
    values, error = np.full(len(pairs), -np.inf), 0.0
    try:
        for logs, prior, size in _tables(part, choices):
            values = np.maximum(values, _largest(part, pairs, logs, prior.values, size))
            error = max(error, _error(logs, prior))
    except SizeError:
        return None
    exact = all(each.role != "lossy" or len(each.logs) == 1 for each in choices)
    return IntervalBounds(values=values, error=error, exact=exact)


def _tables(part: _Part, choices: Sequence[_Choices]) -> Iterator[tuple[LogTable, LogTable, int]]:
    """Yield log P(protected, seen) and log P(protected) over combinations, in blocks of the same joint choice."""
    sizes = tuple(len(each.logs) for each in choices)
    block = math.prod(len(each.logs) for each in choices if each.role != "joint")
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
            block,
        )


def _largest(part: _Part, pairs: Sequence[SecretPair], table: LogTable, prior: FloatArray, block: int) -> FloatArray:
    """Return for every pair the largest ratio: within a block the two probabilities are chosen apart."""
    logs = table.values.reshape(-1, block, table.values.shape[1], math.prod(table.values.shape[2:]))
    before = np.broadcast_to(prior, table.values.shape[:2]).reshape(logs.shape[:3])
    most: dict[frozenset[State], FloatArray] = {}
    least: dict[frozenset[State], FloatArray] = {}
    for side in dict.fromkeys(side for pair in pairs for side in (pair.first, pair.second)):
        rows = _side(part.network.states[part.protected], side)
        chance = log_sum_exp(before[:, :, rows], 2)[..., np.newaxis]
        with np.errstate(invalid="ignore"):
            given = log_sum_exp(logs[:, :, rows], 2) - chance
        # where the secret has probability zero the combination is no constraint
        most[side] = np.where(np.isneginf(chance), -np.inf, given).max(axis=1)
        least[side] = np.where(np.isneginf(chance), np.inf, given).min(axis=1)
    return np.array([_difference(most[pair.first], least[pair.second]).max() for pair in pairs])


def _difference(above: FloatArray, below: FloatArray) -> FloatArray:
    with np.errstate(invalid="ignore"):
        return np.where(np.isneginf(above), -np.inf, above - below)


def _error(table: LogTable, prior: LogTable) -> float:
    """Return a bound on the rounding error of a difference of two logs of conditional probabilities."""
    finite = table.values[np.isfinite(table.values)]
    largest = float(np.max(np.abs(finite), initial=0.0))
    return 2 * (table.error + prior.error) + UNIT_ROUNDOFF * (8 * largest + 8 * table.values.shape[1] + 64)


def _count(part: _Part, name: str) -> int:
    """Return how many tables an attribute may have, without making them."""
    try:
        return math.prod(max(len(row) for row in rows) for rows in _groups(part, name).values())
    except SizeError:
        return MOST_COMBINATIONS + 1


def _choices(part: _Part, name: str) -> _Choices:
    """Return the tables that an attribute may have: the product over groups of columns."""
    shape = part.network.upper[name].shape
    groups = _groups(part, name)
    sizes = [max(len(row) for row in rows) for rows in groups.values()]
    digits = np.unravel_index(np.arange(math.prod(sizes)), sizes)
    made = np.empty((len(digits[0]), *shape))
    for (key, rows), digit in zip(groups.items(), digits, strict=True):
        for place, row in zip(_places(part, name, key), rows, strict=True):
            made[(slice(None), slice(None), *place)] = row[digit % len(row)]
    with np.errstate(divide="ignore"):
        logs = np.log(made)
    finite = np.abs(logs[np.isfinite(logs)])
    error = UNIT_ROUNDOFF * (FUNCTION_ERROR * float(np.max(finite, initial=0.0)) + 16 * shape[0])
    return _Choices(name=name, logs=logs, error=error + (SAME_VERTEX if len(made) > 1 else 0.0), role=_role(part, name))


def _role(part: _Part, name: str) -> Role:
    if name in part.above:
        return "lossy"
    return "apart" if part.protected in part.network.graph.parents[name] else "joint"


def _groups(part: _Part, name: str) -> dict[tuple[int, ...], list[FloatArray]]:
    """Return the columns of a table in groups; each column with the values that it may have.

    Columns of one group belong to different cells of the result (other values of what is seen, or another single state
    of the protected attribute), so that one choice may serve them all.
    """
    above = name in part.above
    # of these attributes only the entries of one state enter a cell, and an entry has two ends
    by_entry = (name == part.protected and part.points) or (name in part.seen and not above)
    low, high = part.network.lower[name], part.network.upper[name]
    groups: dict[tuple[int, ...], list[FloatArray]] = {}
    for place in np.ndindex(low.shape[1:]):
        column = (slice(None), *place)
        ends = _ends if by_entry else _vertices
        values = ends(tuple(low[column].tolist()), tuple(high[column].tolist()))
        groups.setdefault(_key(part, name, place), []).append(values)
    return groups


def _key(part: _Part, name: str, place: tuple[int, ...]) -> tuple[int, ...]:
    """Return the states of those parents whose columns are chosen each by itself."""
    parents = part.network.graph.parents[name]
    if name in part.above:
        return place
    shared = {*part.seen, part.protected} if part.points else set(part.seen)
    return tuple(state for parent, state in zip(parents, place, strict=True) if parent not in shared)


def _places(part: _Part, name: str, key: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Return the columns of a group, in the order of `_groups`."""
    return [place for place in np.ndindex(part.network.upper[name].shape[1:]) if _key(part, name, place) == key]


@lru_cache(maxsize=2**14)
def _vertices(lower: tuple[float, ...], upper: tuple[float, ...]) -> FloatArray:
    return vertices(np.array(lower), np.array(upper))


def _ends(lower: tuple[float, ...], upper: tuple[float, ...]) -> FloatArray:
    return np.array([lower] if lower == upper else [lower, upper])


def _component(part: _Part, start: str) -> frozenset[str]:
    """Return what is connected with `start` in the moral graph without the protected attribute."""
    near = part.network.graph.moral((*part.seen, part.protected))
    reached, todo = {start}, [start]
    while todo:
        fresh = near[todo.pop()] - reached - {part.protected}
        reached |= fresh
        todo.extend(fresh)
    return frozenset(reached)


def _summed(part: _Part, pairs: Sequence[SecretPair]) -> IntervalBounds:
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


def _joint_of_ends(part: _Part, ends: Literal["lower", "upper"]) -> LogTable:
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
