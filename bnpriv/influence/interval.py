"""Bounds of log ratios over all networks within intervals, from the vertices of the columns of their tables.

docs/claims/intervals.md has the proofs.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, final

import numpy as np
from numpy.typing import NDArray

from bnpriv.bound import UNIT_ROUNDOFF, FloatArray
from bnpriv.errors import SizeError
from bnpriv.influence.base import Influence, asked_columns, worst_place
from bnpriv.influence.choices import Choices, IntervalPart, choices_of, loosened, points_of
from bnpriv.influence.elimination import joint_law
from bnpriv.influence.ratios import independent_parts
from bnpriv.laws.base import log_sum_exp
from bnpriv.networks.discrete import DiscreteNetwork, IntervalNetwork
from bnpriv.networks.factors import FUNCTION_ERROR, LogTable
from bnpriv.secrets.states import SecretPair
from bnpriv.tables.schema import State

MOST_COMBINATIONS = 2**18
"""Combinations of vertices that are tried; beyond that sums of ends stand in."""

MOST_POINTS = 2**16
"""Combinations that cutting segments into pieces may lead to."""

MOST_COMBINATIONS_AT_ONCE = 2**13
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


def interval_influence(
    network: IntervalNetwork, columns: Iterable[str], protected: str, pairs: Sequence[SecretPair]
) -> Influence:
    """The influence over all members, for ordered `pairs`."""
    asked = asked_columns(network, columns, protected)
    border = network.graph.frontier(protected, asked)
    found = interval_bounds(network, protected, border, pairs)
    exact = found.exact and not network.missing
    values = np.where(np.isfinite(found.values), np.maximum(found.values + found.error, 0.0), found.values)
    values = values[np.newaxis]
    values.flags.writeable = False
    return Influence(
        columns=asked,
        protected=protected,
        frontier=border,
        pairs=tuple(pairs),
        values=values,
        error=found.error,
        kind="exact" if exact else "certified",
        pair=None if bool(np.isneginf(values).all()) else pairs[worst_place(values)[1]],
        model=0,
        network=network,
        how="exact" if exact else "a bound over all models within the intervals",
    )


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
    whole = IntervalPart(network=network, middle=middle, protected=protected, seen=border, points=False, most=most)
    found = _of_pairs(whole, pairs) if border else IntervalBounds(values=np.zeros(len(pairs)), error=0.0, exact=True)
    values = np.where(_possible(middle, protected, pairs), found.values, -np.inf)
    return IntervalBounds(values=values, error=found.error, exact=found.exact)


def _possible(middle: DiscreteNetwork, protected: str, pairs: Sequence[SecretPair]) -> NDArray[np.bool_]:
    """Return which pairs are a constraint for some member: then they are for the middle one."""
    prior, states = joint_law(middle, (protected,)).values[0], middle.states[protected]
    sides = [(_side(states, pair.first), _side(states, pair.second)) for pair in pairs]
    return np.array([all(np.isfinite(prior[side]).any() for side in both) for both in sides], dtype=np.bool_)


def _singles(pairs: Sequence[SecretPair]) -> tuple[SecretPair, ...]:
    every = (SecretPair(frozenset({a}), frozenset({b})) for pair in pairs for a in pair.first for b in pair.second)
    return tuple(dict.fromkeys(every))


def _points(whole: IntervalPart, pairs: Sequence[SecretPair]) -> IntervalBounds:
    """Return the bounds for pairs of single states: those of the independent parts add."""
    split = independent_parts(whole.network.graph, whole.protected, whole.seen)
    parts = [replace(whole, seen=part, points=True) for part in split]
    bounds = [_bounded(part, pairs) for part in parts]
    possible = _possible(whole.middle, whole.protected, pairs)
    total = np.sum([np.where(possible, bound.values, 0.0) for bound in bounds], axis=0)
    return IntervalBounds(
        values=np.where(possible, total, -np.inf),
        error=sum(bound.error for bound in bounds),
        exact=all(bound.exact for bound in bounds),
    )


def _of_pairs(whole: IntervalPart, pairs: Sequence[SecretPair]) -> IntervalBounds:
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


def _bounded(part: IntervalPart, pairs: Sequence[SecretPair]) -> IntervalBounds:
    """Return the bounds over combinations if they are not too many, and never more than sums of ends give."""
    found = _enumerated(part, pairs)
    if found is not None and found.exact:
        return found
    summed = _summed(part, pairs)
    if found is None:
        return summed
    values = np.minimum(found.values, summed.values)
    return IntervalBounds(values=values, error=max(found.error, summed.error), exact=False)


def _enumerated(part: IntervalPart, pairs: Sequence[SecretPair]) -> IntervalBounds | None:
    """Return the bounds over all combinations of vertices, or None if they are too many."""
    fitting = loosened(part)
    if fitting is None:
        return None
    try:
        points = points_of(fitting, MOST_POINTS)
        choices = sorted((choices_of(fitting, name, points) for name in fitting.listed), key=_joint_first)
        values, error = np.full(len(pairs), -np.inf), 0.0
        for upper, lower, prior in _tables(fitting, choices):
            values = np.maximum(values, _largest(fitting, pairs, upper, lower, prior.values, choices))
            error = max(error, _error(upper, prior), _error(lower, prior))
    except SizeError:
        return None
    exact = not fitting.loose and all(each.role != "lossy" or len(each.logs) == 1 for each in choices)
    return IntervalBounds(values=values, error=error, exact=exact)


def _joint_first(choices: Choices) -> bool:
    return choices.role != "joint"


def _tables(part: IntervalPart, choices: Sequence[Choices]) -> Iterator[tuple[LogTable, LogTable, LogTable]]:
    """Yield log P(protected, seen), from above and from below, and log P(protected) over combinations.

    They come in blocks of the same joint choice; the two bounds differ if tables are loose.
    """
    sizes = tuple(len(each.logs) for each in choices)
    block = math.prod(len(each.logs) for each in choices if _joint_first(each))
    total = math.prod(sizes)
    step = block * max(1, MOST_COMBINATIONS_AT_ONCE // block)
    loose = [{name: _ends_table(part, name, ends) for name in part.loose} for ends in ("upper", "lower")]
    for start in range(0, total, step):
        numbers = np.arange(start, min(start + step, total))
        tables = dict(part.middle.tables)
        for each, index in zip(choices, np.unravel_index(numbers, sizes) if sizes else (), strict=True):
            logs = each.logs[index] if len(each.logs) > 1 else each.logs
            axes = (each.name, *part.network.graph.parents[each.name])
            tables[each.name] = LogTable(axes=axes, values=logs, error=each.error)
        both = [_joint(part, tables | ends, len(numbers), part.seen) for ends in (loose if part.loose else loose[:1])]
        yield both[0], both[-1], _joint(part, tables, len(numbers), ())


def _joint(part: IntervalPart, tables: Mapping[str, LogTable], models: int, seen: tuple[str, ...]) -> LogTable:
    graph, states, level = part.network.graph, part.network.states, part.network.level
    network = DiscreteNetwork(graph=graph, states=states, tables=tables, level=level, models=models)
    table = joint_law(network, (part.protected, *seen), most_cells=MOST_TABLE)
    values = np.broadcast_to(table.values, (models, *table.values.shape[1:])).copy()
    return LogTable(axes=table.axes, values=values, error=table.error)


def _largest(
    part: IntervalPart,
    pairs: Sequence[SecretPair],
    upper: LogTable,
    lower: LogTable,
    prior: FloatArray,
    choices: Sequence[Choices],
) -> FloatArray:
    """Return for every pair the largest ratio: within a block the two probabilities are chosen apart, in pieces."""
    states = part.network.states[part.protected]
    sides = dict.fromkeys(side for pair in pairs for side in (pair.first, pair.second))
    most = {side: _best(upper, prior, _side(states, side), choices, np.maximum) for side in sides}
    least = {side: _best(lower, prior, _side(states, side), choices, np.minimum) for side in sides}
    return np.array([_difference(most[pair.first], least[pair.second]).max() for pair in pairs])


def _best(
    table: LogTable, prior: FloatArray, rows: NDArray[np.intp], choices: Sequence[Choices], better: np.ufunc
) -> FloatArray:
    """Return the best log P(seen | secret) over what is chosen apart, for every joint choice, piece and cell."""
    apart = [each for each in choices if _joint_first(each)]
    flat = table.values.reshape(*table.values.shape[:2], math.prod(table.values.shape[2:]))
    chance = log_sum_exp(prior[:, rows], 1)[:, np.newaxis]
    with np.errstate(invalid="ignore"):
        given = log_sum_exp(flat[:, rows], 1) - chance
    # where the secret has probability zero the combination is no constraint
    given = np.where(np.isneginf(chance), -np.inf if better is np.maximum else np.inf, given)
    sizes = (size for each in apart for size in each.sizes)
    in_pieces = [cut for each in apart for cut in each.in_pieces]
    return _over_pieces(given.reshape(-1, *sizes, given.shape[1]), in_pieces, better)


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


def _summed(part: IntervalPart, pairs: Sequence[SecretPair]) -> IntervalBounds:
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


def _joint_of_ends(part: IntervalPart, ends: Literal["lower", "upper"]) -> LogTable:
    """Return log sums of products of lower, or of upper, ends."""
    network = part.network
    tables = dict(part.middle.tables) | {name: _ends_table(part, name, ends) for name in part.varied}
    whole = DiscreteNetwork(graph=network.graph, states=network.states, tables=tables, level=network.level, models=1)
    return joint_law(whole, (part.protected, *part.seen))


def _ends_table(part: IntervalPart, name: str, ends: str) -> LogTable:
    network = part.network
    with np.errstate(divide="ignore"):
        logs = np.log((network.upper if ends == "upper" else network.lower)[name])[np.newaxis]
    finite = np.abs(logs[np.isfinite(logs)])
    error = UNIT_ROUNDOFF * (FUNCTION_ERROR * float(np.max(finite, initial=0.0)) + 16)
    return LogTable(axes=(name, *network.graph.parents[name]), values=logs, error=error)


def _others(logs: FloatArray) -> FloatArray:
    """Return for every cell the log of the sum of all other cells of its row."""
    edge = np.full((len(logs), 1), -np.inf)
    before = np.concatenate([edge, np.logaddexp.accumulate(logs, axis=1)[:, :-1]], axis=1)
    after = np.concatenate([np.logaddexp.accumulate(logs[:, ::-1], axis=1)[:, ::-1][:, 1:], edge], axis=1)
    return np.logaddexp(before, after)


def _side(states: Sequence[State], secret: frozenset[State]) -> NDArray[np.intp]:
    return np.array([k for k, state in enumerate(states) if state in secret], dtype=np.intp)
