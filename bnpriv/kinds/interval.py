"""Intervals of probabilities: bounds over all networks whose tables lie in them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from operator import attrgetter
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from bnpriv.bound import UNIT_ROUNDOFF, FloatArray
from bnpriv.checks import listing
from bnpriv.core.columns import State
from bnpriv.core.distributions import FUNCTION_ERROR, log_sum_exp
from bnpriv.core.influence.base import Influence, asked_columns, worst_place
from bnpriv.core.influence.finite import independent_parts, joint_law
from bnpriv.core.networks.discrete import SAME_VERTEX, DiscreteNetwork, IntervalNetwork, vertices
from bnpriv.core.networks.factors import LogTable
from bnpriv.core.secrets import SecretPair
from bnpriv.errors import Refusal, SizeError
from bnpriv.kind import NetworkKind, TableEnds
from bnpriv.text import Json

# --------------------------------------------------------------------------------------------------
# Which tables an attribute may have within intervals, as far as the law of what is observed tells them apart.
# --------------------------------------------------------------------------------------------------

ChoiceRole = Literal["joint", "apart", "lossy"]
"""How a table's choices enter a ratio of two probabilities.

"joint": one choice for both. "apart": each choice touches one of the two only, so that they are chosen apart without
loss. "lossy": they touch both, and are chosen apart nevertheless, which gives an upper bound.
"""

TableIndex = tuple[int, ...]

ColumnEnds = tuple[float, ...]
"""Lower or upper ends of a column of a table."""

MOST_COLUMNS_KEPT = 2**14
"""Columns whose vertices are kept with a network."""


@dataclass(frozen=True, kw_only=True)
class Choices:
    """The tables that one attribute may have.

    Parameters
    ----------
    name : str
    logs : ndarray
        The logs of the tables, with a leading axis for the choices: the product over groups of columns.
    error : float
        Bound on the error of `logs`.
    role : {"joint", "apart", "lossy"}
    sizes : tuple of int
        The number of choices for every group, whose product is the length of the leading axis.
    in_pieces : tuple of bool
        For every group whether its choices are points in their order on a segment, which can be cut into pieces there.
    """

    name: str
    logs: FloatArray
    error: float
    role: ChoiceRole
    sizes: tuple[int, ...]
    in_pieces: tuple[bool, ...]


@dataclass(frozen=True, kw_only=True)
class IntervalPart:
    """Attributes that are seen, with what of the network their law given the secrets depends on.

    Parameters
    ----------
    network : IntervalNetwork
    middle : DiscreteNetwork
        Its tables stand for those that do not matter.
    protected : str
    seen : tuple of str
        With `points` one of the parts of a frontier that are independent given `protected`.
    points : bool
        Whether secrets are single states.
    most : int
        Combinations that may be tried.
    loose : frozenset of str
        Attributes whose tables are not listed: sums of their lower and upper ends stand in.
    """

    network: IntervalNetwork
    middle: DiscreteNetwork
    protected: str
    seen: tuple[str, ...]
    points: bool
    most: int
    loose: frozenset[str] = frozenset()

    @property
    def listed(self) -> tuple[str, ...]:
        """The attributes whose tables are listed."""
        return tuple(sorted(self.varied - self.loose))

    @cached_property
    def varied(self) -> frozenset[str]:
        """The attributes whose tables matter: the prior of a single state cancels if nothing above is seen."""
        graph = self.network.graph
        if not self.points:
            return graph.ancestral((*self.seen, self.protected))
        inside = next(part for part in graph.parts(self.seen, self.protected) if self.seen[0] in part)
        return inside | {self.protected} if inside.intersection(graph.parents[self.protected]) else inside

    @cached_property
    def above(self) -> frozenset[str]:
        """The protected attribute with its ancestors."""
        return self.network.graph.ancestral((self.protected,))

    def role(self, name: str) -> ChoiceRole:
        """How the tables of an attribute enter a ratio."""
        if name in self.above:
            return "lossy"
        return "apart" if self.protected in self.network.graph.parents[name] else "joint"

    def columns(self, name: str) -> dict[TableIndex, list[tuple[TableIndex, FloatArray]]]:
        """The columns of a table in groups; each column with its place and the values that it may have.

        Columns of one group belong to different cells of the result (other values of what is seen, or another single
        state of the protected attribute), so that one choice may serve them all.
        """
        low, high = self.network.lower[name], self.network.upper[name]
        by_entry = self.by_entry(name)
        groups: dict[TableIndex, list[tuple[TableIndex, FloatArray]]] = {}
        for place in np.ndindex(low.shape[1:]):
            column = (slice(None), *place)
            lower, upper = tuple(low[column].tolist()), tuple(high[column].tolist())
            if by_entry:
                values = np.array([lower] if lower == upper else [lower, upper])
            else:
                values = _vertices(self.network, lower, upper)
            groups.setdefault(self._key(name, place), []).append((place, values))
        return groups

    def by_entry(self, name: str) -> bool:
        """Whether only the entry of one state enters a cell of the result, so that its two ends will do."""
        if name == self.protected:  # two states share one segment, which says more than the ends of each
            return self.points and len(self.network.states[name]) > 2
        return name in self.seen and name not in self.above

    def in_pieces(self, name: str, values: FloatArray) -> bool:
        """Whether the values of a column are the ends of a segment that is worth cutting."""
        return self.role(name) == "lossy" and not self.by_entry(name) and len(values) == 2

    def _key(self, name: str, place: TableIndex) -> TableIndex:
        """The states of those parents whose columns are chosen each by itself."""
        if name in self.above:
            return place
        shared = {*self.seen, self.protected} if self.points else set(self.seen)
        parents = self.network.graph.parents[name]
        return tuple(state for parent, state in zip(parents, place, strict=True) if parent not in shared)


MOST_PIECES = 32
"""Pieces into which a segment is cut at most."""


def loosened(part: IntervalPart) -> IntervalPart | None:
    """The part with as few attributes loose as keep the combinations to `part.most`; None if none do.

    The protected attribute and its ancestors are never loose.
    """
    counts = {name: _log_count(part, name) for name in part.listed}
    loose = part.loose
    for name in sorted(counts.keys() - part.above, key=lambda name: (-counts[name], name)):
        if _fits(part, counts):
            break
        loose |= {name}
        del counts[name]
    return replace(part, loose=loose) if _fits(part, counts) else None


def _fits(part: IntervalPart, counts: Mapping[str, float]) -> bool:
    return part.most > 0 and sum(counts.values()) <= math.log(part.most) + 1e-9


def _log_count(part: IntervalPart, name: str) -> float:
    """The log of the number of tables of an attribute; there may be very many."""
    try:
        return sum(math.log(_most(rows)) for rows in part.columns(name).values())
    except SizeError:
        return math.inf


def _most(rows: Sequence[tuple[TableIndex, FloatArray]]) -> int:
    return max(len(values) for _, values in rows)


def points_of(part: IntervalPart, most: int) -> int:
    """Return into how many points segments may be cut, so that there are at most `most` combinations, or two."""
    segments = sum(part.in_pieces(name, rows[0][1]) for name in part.listed for rows in part.columns(name).values())
    if not segments:
        return 2
    left = math.log(most) - sum(_log_count(part, name) for name in part.listed)
    return max(2, min(MOST_PIECES + 1, int(2 * math.exp(left / segments))))


def choices_of(part: IntervalPart, name: str, points: int) -> Choices:
    """The tables that an attribute may have; segments that enter with a loss are cut at `points` points."""
    shape, role = part.network.upper[name].shape, part.role(name)
    groups = list(part.columns(name).values())
    in_pieces = tuple(part.in_pieces(name, rows[0][1]) for rows in groups)
    if points > 2:
        groups = [
            [(place, _cut(values, points)) for place, values in rows] if cut else rows
            for rows, cut in zip(groups, in_pieces, strict=True)
        ]
    sizes = tuple(_most(rows) for rows in groups)
    digits = np.unravel_index(np.arange(math.prod(sizes)), sizes)
    made = np.empty((len(digits[0]), *shape))
    for rows, digit in zip(groups, digits, strict=True):
        for place, values in rows:
            made[(slice(None), slice(None), *place)] = values[digit % len(values)]
    with np.errstate(divide="ignore"):
        logs = np.log(made)
    finite = np.abs(logs[np.isfinite(logs)])
    error = UNIT_ROUNDOFF * (FUNCTION_ERROR * float(np.max(finite, initial=0.0)) + 16 * shape[0])
    error += SAME_VERTEX if len(made) > 1 else 0.0
    return Choices(name=name, logs=logs, error=error, role=role, sizes=sizes, in_pieces=in_pieces)


def _cut(values: FloatArray, points: int) -> FloatArray:
    """Points on the way between two columns."""
    share = np.linspace(0.0, 1.0, points)[:, np.newaxis]
    return (1 - share) * values[0] + share * values[1]


def _vertices(network: IntervalNetwork, lower: ColumnEnds, upper: ColumnEnds) -> FloatArray:
    """The vertices of a column; the network keeps them, as many parts share them."""
    kept: dict[tuple[ColumnEnds, ColumnEnds], FloatArray] = network.kept.table("vertices")
    if (lower, upper) in kept:
        return kept[lower, upper]
    found = vertices(np.array(lower), np.array(upper))
    if len(kept) < MOST_COLUMNS_KEPT:
        kept[lower, upper] = found
    return found


# --------------------------------------------------------------------------------------------------
# Bounds of log ratios over all networks within intervals, from the vertices of the columns of their tables.
#
# docs/claims/intervals.md has the proofs.
# --------------------------------------------------------------------------------------------------

MOST_COMBINATIONS = 2**18
"""Combinations of vertices that are tried; beyond that sums of ends stand in."""

MOST_POINTS = 2**16
"""Combinations that cutting segments into pieces may lead to."""

MOST_COMBINATIONS_AT_ONCE = 2**13
"""Combinations in one table, if those that belong together are fewer."""

MOST_TABLE = 2**24
"""Cells of a table over combinations."""


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


# --------------------------------------------------------------------------------------------------
# Networks whose probabilities lie within intervals: bounds hold for all members at once.
# --------------------------------------------------------------------------------------------------

NO_LOSSES = Refusal(
    required="delta above 0 needs exact tables",
    found="an interval for every probability",
    remedy="Ask for delta=0, or declare the models one by one.",
)
NO_INTERVAL_CONDITIONALS = Refusal(
    required="the distribution of a column given a secret needs exact tables",
    found="an interval for every probability",
    remedy="Choose one model within the intervals, for example network.middle().",
)


def _losses(influence: object) -> Refusal:
    """A bound of the largest loss says nothing of how rare it is."""
    return NO_LOSSES


def _conditional(influence: object, column: str) -> Refusal:
    return NO_INTERVAL_CONDITIONALS


def _assumptions(network: IntervalNetwork) -> tuple[str, ...]:
    within = "The distribution of the parameters is that of some model within the declared intervals."
    if not network.missing:
        return (within,)
    return (within, f"Rows without data may be any distribution: {listing(network.missing)}.")


def _ends(network: IntervalNetwork, model: int) -> TableEnds:
    return network.lower, network.upper, network.missing


def _is_deterministic(network: IntervalNetwork, name: str) -> bool:
    low, high = network.lower[name], network.upper[name]
    return bool(np.all((low == high) & ((low == 0) | (low == 1))))


def _stored(network: IntervalNetwork, names: Iterable[str], most: int) -> Json:
    """The ends of the tables that some columns and attributes depend on."""
    asked = set(names)
    driven = {name: list(above) for name, above in network.reading.columns.items() if name in asked}
    drivers = {node for name in asked for node in driven.get(name, [name])}.intersection(network.attributes)
    kept = network.graph.ancestral(tuple(drivers))
    nodes: dict[str, object] = {}
    size = 2 * sum(network.upper[name].size for name in kept)
    for name in sorted(kept) if size <= most else ():
        ends = {"lower": network.lower[name], "upper": network.upper[name]}
        told = {end: [float(each).hex() for each in table.ravel()] for end, table in ends.items()}
        nodes[name] = {"states": list(network.states[name]), "parents": list(network.graph.parents[name]), **told}
    return {"network": {"models": 1, "ends": True, "driven": driven, "size": size, "nodes": nodes}}


INTERVAL_KIND = NetworkKind(
    stored=_stored,
    by_intervals=True,
    models_text=attrgetter("models_text"),
    influence="bnpriv.kinds.interval:interval_influence",
    losses=_losses,
    conditional=_conditional,
    assumptions=_assumptions,
    table_ends=_ends,
    is_deterministic=_is_deterministic,
    section="bnpriv.io.framework_text:intervals_section",
)
