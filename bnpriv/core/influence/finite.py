"""The influence in a network of tables, with the assignment that attains it, and which columns of a tree to hide."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate, chain, islice
from typing import cast

import numpy as np
from numpy.typing import NDArray

from bnpriv.bound import UNIT_ROUNDOFF, FloatArray
from bnpriv.core.columns import State
from bnpriv.core.distributions import log_sum_exp
from bnpriv.core.influence import base
from bnpriv.core.influence.base import MOST_LOSSES, Losses
from bnpriv.core.influence.largest_ratio import MOST_ASSIGNMENT_WORK, LargestRatios, largest_ratios
from bnpriv.core.influence.quilts import separators_of
from bnpriv.core.networks.discrete import DiscreteNetwork
from bnpriv.core.networks.factors import MOST_ELIMINATION_CELLS, MOST_TABLE_CELLS, LogTable, Size, elimination, marginal
from bnpriv.core.networks.graph import Graph
from bnpriv.core.secrets import Pair, SecretPair
from bnpriv.errors import SizeError
from bnpriv.services import service
from bnpriv.text import rough_text

# --------------------------------------------------------------------------------------------------
# Joint laws, by variable elimination on the pruned ancestral graph.
# --------------------------------------------------------------------------------------------------

MOST_CELLS_KEPT = 2**14
"""The most cells of a joint law that is cached with its network: parts of many questions share it."""

MOST_LAWS = 1024
"""The most joint laws that are cached with a network."""

MOST_SIZES = 2**14
"""The most sizes of joint laws that are cached with a network."""


def joint_law(network: DiscreteNetwork, attributes: Sequence[str], *, most_cells: int = MOST_TABLE_CELLS) -> LogTable:
    """The table of log P(attributes), with the axes in the order given.

    Attributes that are no ancestor of `attributes` sum to one and are left out.

    Raises
    ------
    SizeError
        If a table on the way would have more than `most_cells` cells, or all of them together too many.
    """
    kept: dict[tuple[str, ...], LogTable] = network.kept.table("joint laws")
    names = tuple(attributes)
    if most_cells != MOST_TABLE_CELLS:  # cached tables were made under the usual limit, which another may not allow
        return _joined(network, names, most_cells)
    if names not in kept:
        found = _joined(network, names, most_cells)
        if found.values.size > MOST_CELLS_KEPT or len(kept) >= MOST_LAWS:
            return found
        kept[names] = found
    return kept[names]


def _joined(network: DiscreteNetwork, names: tuple[str, ...], most_cells: int) -> LogTable:
    """The joint law of all models, each in its own graph."""
    found = [marginal(_needed(part, names), names, most_cells=most_cells) for part in network.parts]
    if len(found) == 1:
        return found[0]
    sizes = (part.models for part in network.parts)
    each = [np.broadcast_to(t.values, (n, *t.values.shape[1:])) for t, n in zip(found, sizes, strict=True)]
    return LogTable(axes=names, values=np.concatenate(each), error=max(table.error for table in found))


def joint_size(network: DiscreteNetwork, attributes: Sequence[str]) -> Size:
    """The sizes of the tables on the way to log P(attributes), without making them."""
    sizes: dict[tuple[str, ...], Size] = network.kept.table("sizes of joint laws")
    names = tuple(attributes)
    if names not in sizes:
        each = [elimination(_needed(part, names), names)[1] for part in network.parts]
        found = Size(max(size.largest for size in each), sum(size.work for size in each))
        if len(sizes) >= MOST_SIZES:
            return found
        sizes[names] = found
    return sizes[names]


def _needed(network: DiscreteNetwork, attributes: Sequence[str]) -> list[LogTable]:
    needed = network.graph.ancestral(attributes)
    return [network.tables[name] for name in network.attributes if name in needed]


# --------------------------------------------------------------------------------------------------
# Log ratios between two secrets, from the joint table of the protected attribute and the columns that are seen.
# --------------------------------------------------------------------------------------------------

MOST_SEPARATORS = 10
"""The most small separators that are considered where a part is too large for a table."""

MOST_SEPARATOR_WORK = 2**20
"""The most cells of the tables on the way to a separator's influence."""


MOST_RATIOS = 2**18
"""The most log ratios that are held at once, unless those of a single pair are more."""


def independent_parts(graph: Graph, protected: str, columns: Sequence[str]) -> list[tuple[str, ...]]:
    """Split `columns` into parts that are independent of each other given `protected`.

    They are the connected components of the moral graph of the ancestors once `protected` is deleted.
    """
    left = frozenset(columns)
    parts = (left & part for part in graph.parts(columns, protected))
    return sorted(tuple(sorted(part)) for part in parts if part)


@dataclass(frozen=True, kw_only=True)
class PartBound:
    """A bound on what a part of the frontier tells, where its own table would be too large (single states only).

    Branch and bound over its assignments comes first. Where that does not close, whatever separates the part from the
    protected attribute tells at least as much. Its parents, its children and their other parents do: what they tell is
    at most the sum of what the entries of their tables tell.

    Parameters
    ----------
    children : tuple of LogTable
        The tables of the children of the protected attribute that lead to the part, its axis first.
    above : LogTable or None
        The protected attribute's own table, if its parents lead to the part.
    separators : tuple of RatioTables
        Small separators whose tables are not too large.
    too_large : str
        How many cells the part's own tables would have, and how many they may.
    """

    children: tuple[LogTable, ...]
    above: LogTable | None
    separators: tuple[RatioTables, ...]
    searched: LargestRatios | None = None
    too_large: str = ""

    @classmethod
    def of(
        cls,
        network: DiscreteNetwork,
        protected: str,
        part: tuple[str, ...],
        most_work: int = MOST_ELIMINATION_CELLS,
        searched: LargestRatios | None = None,
    ) -> PartBound:
        """Collect the bounds of a part whose tables would have more than `most_work` cells."""
        size = joint_size(network, (protected, *part))
        if searched is not None and searched.is_exact:
            return cls(children=(), above=None, separators=(), searched=searched, too_large=size.text(most_work))
        graph = network.graph
        inside = next(each for each in graph.parts(part, protected) if part[0] in each)
        children = [name for name in sorted(inside) if protected in graph.parents[name]]
        axes = [(protected, *(axis for axis in network.tables[name].axes if axis != protected)) for name in children]
        tables = (
            LogTable(axes=order, values=network.tables[name].aligned(order), error=network.tables[name].error)
            for name, order in zip(children, axes, strict=True)
        )
        above = network.tables[protected] if inside.intersection(graph.parents[protected]) else None
        return cls(
            children=tuple(tables),
            above=above,
            separators=_separators(network, protected, part, most_work),
            searched=searched,
            too_large=size.text(most_work),
        )

    @property
    def is_exact(self) -> bool:
        """Whether the largest ratio itself was found, rather than a bound."""
        return self.searched is not None and self.searched.is_exact

    def ratios(self, tables: RatioTables, first: int, second: int) -> FloatArray:
        """An upper bound per model on the log ratio for two single states; `tables` supplies the prior."""
        found = [] if self.searched is None else [self.searched.upper[:, first, second]]
        if self.is_exact:
            return found[0]
        # in the ratio all tables cancel but those of the children and the one above (max_influence.md, statement 6)
        total = sum((_largest(table, first, second) for table in self.children), np.zeros(1))
        if self.above is not None:
            with np.errstate(invalid="ignore"):
                base = tables.prior.values[:, first] - tables.prior.values[:, second]
                total = total + _largest(self.above, first, second) - base
        total = np.where(np.isnan(total), np.inf, total)
        pair = SecretPair(frozenset({tables.states[first]}), frozenset({tables.states[second]}))
        apart = [each.ratios((pair,))[:, 0] + each.error for each in self.separators]
        # a separator tells no less than what is behind it: each of these is an upper bound by itself
        return np.minimum.reduce([np.asarray(each) for each in np.broadcast_arrays(total, *apart, *found)])

    @property
    def error(self) -> float:
        """A bound on the rounding error of the sums."""
        if self.searched is not None and self.searched.is_exact:
            return self.searched.error
        tables = self.children if self.above is None else (*self.children, self.above)
        return sum(2 * table.error + UNIT_ROUNDOFF * 8 * _finite(table) for table in tables) + 64 * UNIT_ROUNDOFF


def _separators(
    network: DiscreteNetwork, protected: str, part: tuple[str, ...], most_work: int
) -> tuple[RatioTables, ...]:
    """The tables of separators, cheapest first, as long as they are cheap enough together."""
    costs: list[tuple[int, tuple[str, ...]]] = []
    for names in islice(separators_of(network.graph, protected, part), MOST_SEPARATORS):
        split = independent_parts(network.graph, protected, sorted(names))
        sizes = [joint_size(network, (protected, *each)) for each in split]
        work = sum(size.work for size in sizes)
        if work <= min(MOST_SEPARATOR_WORK, most_work) and all(size.fits for size in sizes):
            costs.append((work, tuple(sorted(names))))
    spent = accumulate(work for work, _ in sorted(costs))
    cheap = [names for (_, names), work in zip(sorted(costs), spent, strict=True) if work <= MOST_SEPARATOR_WORK]
    return tuple(RatioTables.of(network, protected, names, ()) for names in cheap)


def _largest(table: LogTable, first: int, second: int) -> FloatArray:
    """The largest log ratio of two rows of a table per model, over the entries that the first row allows."""
    above, below = (table.values[:, state].reshape(table.values.shape[0], -1) for state in (first, second))
    return log_ratios(above, below).max(axis=1)


@dataclass(frozen=True, kw_only=True)
class RatioTables:
    """Tables of log P(protected, part), one for each independent part of a frontier.

    The parts are independent given a single state of the protected attribute, so that for pairs of single states the
    log ratios add; given a set of states they are not, and one table of the whole frontier is needed: `for_sets`,
    None when it would be too large. Of parts whose own tables would be too large the largest ratio is searched for, or
    bounded.
    """

    states: tuple[State, ...]
    prior: LogTable
    for_points: tuple[LogTable, ...]
    for_sets: tuple[LogTable, ...] | None
    bounded: tuple[PartBound, ...] = field(default=())

    @classmethod
    def of(
        cls,
        network: DiscreteNetwork,
        protected: str,
        border: tuple[str, ...],
        pairs: Sequence[SecretPair],
        most_work: int = MOST_ELIMINATION_CELLS,
    ) -> RatioTables:
        """Compute the tables of a frontier `border`, each from tables of at most `most_work` cells.

        Raises
        ------
        SizeError
            If even the law of the protected attribute itself takes a table that is too large.
        """
        prior = joint_law(network, (protected,))
        sides = _sides(network.states[protected], pairs)
        split = independent_parts(network.graph, protected, border)
        parts: list[LogTable] = []
        bounded: list[PartBound] = []
        for part in split:
            try:
                parts.append(_table(network, (protected, *part), most_work))
            except SizeError:
                found = largest_ratios(network, protected, part, prior, sides, min(MOST_ASSIGNMENT_WORK, most_work))
                bounded.append(PartBound.of(network, protected, part, most_work, found))
        whole: tuple[LogTable, ...] | None = None if bounded else tuple(parts)
        # given a set of states the parts depend on each other: one table of the whole frontier is needed
        if len(split) > 1 and not bounded and not all(pair.is_point for pair in pairs):
            try:
                whole = (_table(network, (protected, *border), most_work),)
            except SizeError:
                whole = None
        return cls(
            states=network.states[protected],
            prior=prior,
            for_points=tuple(parts),
            for_sets=whole,
            bounded=tuple(bounded),
        )

    @property
    def too_large(self) -> str:
        """The cells that the bounded parts' tables would have and may have, in words; empty if no part is bounded."""
        return " and ".join(dict.fromkeys(part.too_large for part in self.bounded))

    def tables(self, point: bool) -> tuple[LogTable, ...] | None:
        """The tables whose log ratios add up for pairs of single states, or others; None if they do not tell all."""
        return self.for_points if point and not self.bounded else self.for_sets

    def is_exact(self, pairs: Sequence[SecretPair]) -> bool:
        """Whether no bound stands in for an exact value in any of `pairs`."""
        found = all(part.is_exact for part in self.bounded)
        return all(found if pair.is_point else self.for_sets is not None for pair in pairs)

    def ratios(self, pairs: Sequence[SecretPair]) -> FloatArray:
        """The influence, of shape (models, pairs); -inf where a secret has probability zero."""
        if self.for_sets is None:
            # a mixture tells at most as much as the most telling pair of its members
            members = [
                [SecretPair(frozenset({a}), frozenset({b})) for a in pair.first for b in pair.second] for pair in pairs
            ]
            singles = {single: k for k, single in enumerate(dict.fromkeys(chain.from_iterable(members)))}
            told = self._summed(self.for_points, tuple(singles))
            return np.stack([told[:, [singles[single] for single in each]].max(axis=1) for each in members], axis=1)
        if self.for_sets == self.for_points:
            return self._summed(self.for_points, pairs)
        points = [pair.is_point for pair in pairs]
        return np.where(points, self._summed(self.for_points, pairs), self._summed(self.for_sets, pairs))

    def _summed(self, tables: Sequence[LogTable], pairs: Sequence[SecretPair]) -> FloatArray:
        # given one state the parts are independent: the largest sum of log ratios is the sum of the largest
        total = sum((self.largest(table, pairs) for table in tables), np.zeros((1, len(pairs))))
        for part in self.bounded:  # only for single states
            places = [(int(self.side(pair.first)[0]), int(self.side(pair.second)[0])) for pair in pairs]
            told = np.broadcast_arrays(*(part.ratios(self, first, second) for first, second in places))
            # both laws of a part sum to one, so that its largest log ratio is at least 0
            total = total + np.maximum(np.stack(told, axis=1), 0.0)
        return np.where(self.possible(pairs), total, -np.inf)

    def largest(self, table: LogTable, pairs: Sequence[SecretPair]) -> FloatArray:
        """The largest log ratio over the cells of one table, of shape (models, pairs); each secret is read once."""
        laws, first, second = self.given_secrets(table, pairs)
        step = max(1, MOST_RATIOS // (laws.shape[0] * laws.shape[2]))
        parts = (slice(k, k + step) for k in range(0, len(pairs), step))
        found = [log_ratios(laws[:, first[part]], laws[:, second[part]]).max(axis=2) for part in parts]
        return np.concatenate(found, axis=1)

    def given_secrets(
        self, table: LogTable, pairs: Sequence[SecretPair]
    ) -> tuple[FloatArray, NDArray[np.intp], NDArray[np.intp]]:
        """The values log P(cell | secret), of shape (models, secrets, cells), and which secrets the pairs have."""
        secrets, first, second = numbered(pairs)
        flat = table.values.reshape(*table.values.shape[:2], -1)
        return np.stack([self.given(flat, self.side(secret)) for secret, _ in secrets], axis=1), first, second

    def assignment(self, pair: SecretPair, model: int) -> dict[str, int]:
        """An assignment that attains the influence, by positions of states; empty if none is known."""
        if not self.is_exact((pair,)):
            return {}
        found: dict[str, int] = {}
        for table in self.for_points if pair.is_point else self.for_sets or ():
            laws, first, second = self.given_secrets(table, (pair,))
            ratio = log_ratios(laws[:, first], laws[:, second])
            cell = int(np.argmax(ratio[min(model, ratio.shape[0] - 1), 0]))
            index = np.unravel_index(cell, table.values.shape[2:])
            found |= {name: int(place) for name, place in zip(table.axes[1:], index, strict=True)}
        above, below = (int(self.side(secret)[0]) for secret in (pair.first, pair.second))
        for part in self.bounded if pair.is_point else ():
            if part.searched is not None:
                chosen = part.searched.chosen[model, above, below]
                found |= {name: int(place) for name, place in zip(part.searched.columns, chosen, strict=True)}
        return found

    def side(self, secret: frozenset[State]) -> NDArray[np.intp]:
        """The positions of a secret's states."""
        return np.array([k for k, state in enumerate(self.states) if state in secret], dtype=np.intp)

    def given(self, flat: FloatArray, side: NDArray[np.intp]) -> FloatArray:
        """The values log P(cell | secret), of shape (models, cells), from a table of shape (models, states, cells)."""
        with np.errstate(invalid="ignore"):
            if side.size == 1:  # a single state is summed over nothing
                return flat[:, side[0]] - self.prior.values[:, side]
            return log_sum_exp(flat[:, side], 1) - log_sum_exp(self.prior.values[:, side], 1)[:, np.newaxis]

    def possible(self, pairs: Sequence[SecretPair]) -> NDArray[np.bool_]:
        """Whether both secrets have a positive probability, of shape (models, pairs)."""
        secrets, first, second = numbered(pairs)
        never = np.isneginf(self.prior.values)
        possible = np.stack([~never[:, self.side(secret)].all(axis=1) for secret, _ in secrets], axis=1)
        return possible[:, first] & possible[:, second]

    @cached_property
    def error(self) -> float:
        """A bound on the rounding error of a sum of log ratios."""
        total = sum(part.error + 2 * self.prior.error for part in self.bounded)
        for table in dict.fromkeys((*self.for_points, *(self.for_sets or ()))):
            total += 2 * (table.error + self.prior.error)
            total += UNIT_ROUNDOFF * (8 * _finite(table) + 8 * table.values.shape[1] + 64)
        return total


def log_ratios(above: FloatArray, below: FloatArray) -> FloatArray:
    """The log ratios of two laws, cell by cell; -inf where the first is 0.

    Such cells leave no constraint: the reverse pair counts them.
    """
    with np.errstate(invalid="ignore"):
        return np.where(np.isneginf(above), -np.inf, above - below)


def numbered(
    pairs: Sequence[SecretPair],
) -> tuple[tuple[tuple[frozenset[State], bool], ...], NDArray[np.intp], NDArray[np.intp]]:
    """All secrets of some pairs, each once, and for every pair the numbers of its first and of its second.

    With every secret, whether both of its pair are single states.
    """
    number: dict[tuple[frozenset[State], bool], int] = {}
    sides = ((side, pair.is_point) for pair in pairs for side in (pair.first, pair.second))
    places = [number.setdefault(side, len(number)) for side in sides]
    both = np.array(places, dtype=np.intp).reshape(-1, 2)
    return tuple(number), both[:, 0], both[:, 1]


def _sides(states: Sequence[State], pairs: Sequence[SecretPair]) -> list[tuple[int, int]]:
    """All pairs of single states, by position, that some pair of secrets tells apart."""
    place = {state: k for k, state in enumerate(states)}
    return sorted({(place[a], place[b]) for pair in pairs for a in pair.first for b in pair.second})


def _table(network: DiscreteNetwork, names: tuple[str, ...], most_work: int) -> LogTable:
    """The joint law of `names`, unless its tables are too large.

    Raises
    ------
    SizeError
        If it takes tables of more than `most_work` cells, or more than the usual limits.
    """
    if most_work < MOST_ELIMINATION_CELLS:
        joint_size(network, names).check(names, most_work=most_work)
    return joint_law(network, names)


def _finite(table: LogTable) -> float:
    return float(np.max(np.abs(table.values[np.isfinite(table.values)]), initial=0.0))


# --------------------------------------------------------------------------------------------------
# Lower bounds on influences, from one assignment that tells much: cheap where tables are large.
# --------------------------------------------------------------------------------------------------

MOST_WITNESS_CELLS = 2**18
"""The most cells of all tables for the probability of one assignment."""

MOST_SWEEPS = 3
"""Number of passes in which every column is optimized again."""

AtLeast = Callable[[Iterable[str]], float]
"""Maps attributes to a lower bound on what they tell, in nats."""


def lower_bound(
    network: DiscreteNetwork, protected: str, pair: SecretPair, model: int, columns: Iterable[str]
) -> AtLeast:
    """Lower bounds on what subsets of some columns tell about one pair, under one model.

    Parameters
    ----------
    network : DiscreteNetwork
    protected : str
    pair : SecretPair
    model : int
    columns : iterable of str

    Returns
    -------
    callable
        From a subset of the columns to a lower bound of its influence, rounded down.
    """
    asked = network.graph.frontier(protected, columns)
    chosen: dict[str, int] = {}
    for name in asked:  # every column by itself
        ratios = _ratios(network, protected, pair, model, {}, name)
        if ratios is not None:
            chosen[name] = int(np.argmax(ratios))
    # coordinate ascent: any assignment gives a lower bound, so a local optimum is good enough
    for _ in range(MOST_SWEEPS if len(chosen) > 1 else 0):
        before = dict(chosen)
        for name in chosen:
            rest = {other: state for other, state in chosen.items() if other != name}
            ratios = _ratios(network, protected, pair, model, rest, name)
            if ratios is not None:
                chosen[name] = int(np.argmax(ratios))
        if chosen == before:
            break

    def told(some: Iterable[str]) -> float:
        seen = {name: chosen[name] for name in sorted(some) if name in chosen}
        if not seen:
            return 0.0
        name = next(iter(seen))
        ratios = _ratios(network, protected, pair, model, {k: v for k, v in seen.items() if k != name}, name)
        return 0.0 if ratios is None else max(0.0, float(ratios[seen[name]]))

    return told


def _ratios(
    network: DiscreteNetwork, protected: str, pair: SecretPair, model: int, given: Mapping[str, int], name: str
) -> FloatArray | None:
    """Lower bounds on the log ratios of an assignment with each state of one more column; None if unknown."""
    needed = network.graph.ancestral((protected, name, *given))
    pool = [_read(network.tables[each], model, given) for each in network.attributes if each in needed]
    keep = (protected, name)
    if elimination(pool, keep)[1].work > MOST_WITNESS_CELLS:
        return None
    table, prior = marginal(pool, keep), joint_law(network, (protected,))
    sides = [
        [k for k, state in enumerate(network.states[protected]) if state in side] for side in (pair.first, pair.second)
    ]
    row = prior.values[min(model, prior.values.shape[0] - 1)]
    if any(float(np.max(row[side])) == -np.inf for side in sides):
        return None  # the pair is no constraint
    above, below = (log_sum_exp(table.values[0][side], 0) - log_sum_exp(row[side], 0) for side in sides)
    finite = np.abs(table.values[np.isfinite(table.values)]).max(initial=1.0)
    # subtracted, not added: here the bound must not be too high
    error = 2 * (table.error + prior.error) + UNIT_ROUNDOFF * (16 * float(finite) + 8 * len(row) + 64)
    with np.errstate(invalid="ignore"):
        return np.where(np.isneginf(above), -np.inf, above - below - error)


def _read(table: LogTable, model: int, given: Mapping[str, int]) -> LogTable:
    """The table of one model at given states."""
    values = table.values[min(model, table.values.shape[0] - 1)]
    index = tuple(given.get(axis, slice(None)) for axis in table.axes)
    axes = tuple(axis for axis in table.axes if axis not in given)
    return LogTable(axes=axes, values=np.asarray(values[index])[np.newaxis], error=table.error)


def influence_losses(influence: base.Influence) -> Losses:
    """The privacy losses of every model and ordered pair; small tables are taken from the influence.

    Raises
    ------
    SizeError
        If there would be more than `MOST_LOSSES` cells.
    """
    network, pairs = cast(DiscreteNetwork, influence.network), cast("tuple[SecretPair, ...]", influence.pairs)
    if influence.details is None:
        return losses_of(network, influence.frontier, influence.protected, pairs)
    return losses_from(influence.details, pairs, network.models)


def explain_tables(influence: base.Influence) -> str:
    """The most telling assignment in words: its probabilities, the open paths, and the table rows."""
    if influence.pair is None or not influence.assignment:
        return base.bound_text(influence)
    network, pair = cast(DiscreteNetwork, influence.network), cast(SecretPair, influence.pair)
    return service("influence.explanation")(network, influence.protected, pair, influence.model, influence.assignment)


def finite_influence(
    network: DiscreteNetwork,
    columns: Iterable[str],
    protected: str,
    pairs: Sequence[SecretPair],
    *,
    most_work: int = MOST_ELIMINATION_CELLS,
) -> base.Influence:
    """The influence for ordered `pairs`, from tables of at most `most_work` cells each; see `max_influence`."""
    asked = base.asked_columns(network, columns, protected)
    # only the frontier counts: given it, the other columns are independent of the protected attribute
    border = network.graph.frontier(protected, asked)
    tables = RatioTables.of(network, protected, border, pairs, most_work)
    values = np.broadcast_to(tables.ratios(pairs), (network.models, len(pairs)))
    # rounded up by the error of all sums; never below 0, which the largest log ratio of two laws cannot be; an infinite
    # ratio comes from a declared zero, and is exact
    if border:
        values = np.where(np.isfinite(values), np.maximum(values + tables.error, 0.0), values)
    values.flags.writeable = False
    pair, model, assignment = _witness(network, pairs, values, tables)
    exact = tables.is_exact(pairs)
    kept = tables if exact and loss_cells(network, border, pairs) else None
    return base.Influence(
        columns=asked,
        protected=protected,
        frontier=border,
        pairs=tuple(pairs),
        values=values,
        error=tables.error if border else 0.0,
        kind="exact" if exact else "certified",
        pair=pair,
        model=model,
        assignment=assignment,
        network=network,
        details=kept,
        how="exact" if exact else "a bound: a table would be too large",
        too_large=tables.too_large,
    )


def influence_work(
    network: DiscreteNetwork, border: tuple[str, ...], protected: str, pairs: Sequence[SecretPair]
) -> tuple[int, int]:
    """The cells that the tables of an influence take, and the number of its losses (0 where these are not kept)."""
    return influence_cells(network, border, protected, pairs), loss_cells(network, border, pairs)


def budgeted_influence(
    network: DiscreteNetwork, border: tuple[str, ...], protected: str, pairs: Sequence[SecretPair], most_work: int
) -> tuple[base.Influence, int]:
    """An influence from tables of at most `most_work` cells each, and the cells that they have."""
    cells = influence_cells(network, border, protected, pairs, most_work)
    return finite_influence(network, border, protected, pairs, most_work=most_work), cells


def influence_cells(
    network: DiscreteNetwork,
    border: tuple[str, ...],
    protected: str,
    pairs: Sequence[SecretPair],
    most_work: int = MOST_ELIMINATION_CELLS,
) -> int:
    """The cells of the tables behind the influence of a frontier, those of their ratios included.

    A table that would be too large is not made; what bounds it has few cells.
    """
    parts = independent_parts(network.graph, protected, border)
    if not all(pair.is_point for pair in pairs) and len(parts) > 1:
        parts.append(border)
    total = 0
    for part in parts:
        size = joint_size(network, (protected, *part))
        if size.fits and size.work <= most_work:
            cells = network.models * math.prod(len(network.states[name]) for name in part)
            total += size.work + 2 * len(pairs) * cells
        else:
            total += min(MOST_ASSIGNMENT_WORK, most_work) + min(MOST_SEPARATOR_WORK, most_work)
    return total


def _witness(
    network: DiscreteNetwork, pairs: Sequence[SecretPair], values: FloatArray, tables: RatioTables
) -> tuple[SecretPair | None, int, dict[str, State]]:
    """The pair, model and assignment that attain the maximum."""
    if bool(np.isneginf(values).all()):
        return None, 0, {}
    model, k = base.worst_place(values)
    found = tables.assignment(pairs[k], model)
    assignment = {name: network.states[name][place] for name, place in found.items()}
    return pairs[k], model, assignment


def losses_of(network: DiscreteNetwork, border: Iterable[str], protected: str, pairs: Sequence[SecretPair]) -> Losses:
    """The privacy losses of a frontier for ordered `pairs`.

    Raises
    ------
    SizeError
        If there would be more than `MOST_LOSSES` cells, or a table would pass the limit.

    Notes
    -----
    Given a single secret state the parts of the frontier are independent, so that masses multiply and log ratios add.

    Examples
    --------
    >>> from bnpriv.core.secrets import all_pairs
    >>> network = DiscreteNetwork.from_tables(
    ...     {"income": [0.5, 0.5], "sat": [[1.0, 0.9], [0.0, 0.1]]},
    ...     states={"income": ["low", "high"], "sat": ["low", "high"]},
    ...     parents={"sat": ["income"]},
    ... )
    >>> losses_of(network, ("sat",), "income", all_pairs(["low", "high"])).excess(0.2).round(6).tolist()
    [[0.0, 0.1]]
    """
    names = tuple(border)
    if not loss_cells(network, names, pairs):
        raise _too_many(rough_text(_cells(network, names, pairs)))
    return losses_from(RatioTables.of(network, protected, names, pairs), pairs, network.models)


def losses_from(tables: RatioTables, pairs: Sequence[SecretPair], models: int) -> Losses:
    """The privacy losses of a frontier for ordered `pairs`, from its tables.

    Raises
    ------
    SizeError
        If there would be more than `MOST_LOSSES` cells.
    """
    sides, first, second = numbered(pairs)
    found = [_law(tables, secret, point, models * len(pairs)) for secret, point in sides]
    laws = np.stack([np.broadcast_to(law, (models, law.shape[1])) for law in found], axis=1)
    # ratios and masses are both rounded up, since a larger loss or a larger mass only raises the divergence
    masses = np.where(np.isneginf(laws), 0.0, np.exp(laws + tables.error + 2.0**-49))
    with np.errstate(invalid="ignore"):
        ratios = laws[:, first] - laws[:, second] + tables.error
    ratios[np.isneginf(laws)[:, first]] = 0.0
    return Losses(
        ratios=ratios,
        masses=masses[:, first],
        possible=np.broadcast_to(tables.possible(pairs), (models, len(pairs))),
    )


def loss_cells(network: DiscreteNetwork, border: Iterable[str], pairs: Sequence[SecretPair]) -> int:
    """The cells of the losses of a frontier over all models and pairs; 0 if they are too many to keep."""
    cells = _cells(network, border, pairs)
    return cells if cells <= MOST_LOSSES else 0


def _cells(network: DiscreteNetwork, border: Iterable[str], pairs: Sequence[SecretPair]) -> int:
    return network.models * len(pairs) * math.prod(len(network.states[name]) for name in border)


def _too_many(found: str) -> SizeError:
    return SizeError(
        f"the losses of all pairs and models may have at most {rough_text(MOST_LOSSES)} cells",
        found=found,
        remedy="Query fewer columns at once, protect fewer pairs, or ask for delta = 0.",
    )


def _law(tables: RatioTables, secret: frozenset[State], point: bool, rows: int) -> FloatArray:
    """The logs of P(cell | secret), of shape (models, cells of all parts together)."""
    parts = tables.tables(point)
    cells = math.prod(math.prod(table.values.shape[2:]) for table in parts or ())
    if parts is None or cells * rows > MOST_LOSSES:
        raise _too_many("a larger table" if parts is None else rough_text(cells * rows))
    law = np.zeros((1, 1))
    for table in parts:
        flat = table.values.reshape(*table.values.shape[:2], -1)
        law = _outer(law, tables.given(flat, tables.side(secret)))
    return law


def _outer(left: FloatArray, right: FloatArray) -> FloatArray:
    """The sums over all pairs of cells of two tables of shape (models, cells)."""
    both = left[:, :, np.newaxis] + right[:, np.newaxis, :]
    return both.reshape(both.shape[0], -1)


MOST_CHOICES = 2**20
"""The most combinations of the choices of two branches."""

COMPARED_AT_ONCE = 256
"""Number of choices that are compared with each other at once."""


@dataclass(frozen=True, kw_only=True)
class TreeChoice:
    """A set of columns to hide, and the least sum of its cost and the influence of the others.

    Parameters
    ----------
    hidden : frozenset of str
    total : float
        In nats; infinite where every choice is worse than the most that was allowed.
    """

    hidden: frozenset[str]
    total: float


def tree_choice(
    network: DiscreteNetwork, protected: str, pair: Pair, model: int, costs: Mapping[str, float], most: float
) -> TreeChoice | None:
    """The attributes that are best hidden from an observer of the others.

    Parameters
    ----------
    network : DiscreteNetwork
    protected : str
    pair : Pair
    model : int
    costs : mapping from str to float
        What it costs to hide an attribute, in nats, for all that are seen otherwise.
    most : float
        Choices with a larger sum do not count.

    Returns
    -------
    TreeChoice or None
        None where the attributes form no tree, one with more than one neighbour has not two states, the secrets are no
        single states, or there are too many choices.

    Notes
    -----
    docs/claims/markov_quilt.md, theorem 4. Doubles without bounds of their rounding: for searches, never for noise.
    """
    if not isinstance(pair, SecretPair) or not pair.is_point:
        return None
    moral = network.graph.moral((protected, *costs))
    total, hidden = 0.0, frozenset[str]()
    states = network.states[protected]
    sides = states.index(next(iter(pair.first))), states.index(next(iter(pair.second)))
    for part in network.graph.parts(tuple(costs), protected):
        inside = moral.subgraph((*part, protected))
        if part.isdisjoint(costs) or not inside.adj[protected]:
            continue
        if inside.number_of_edges() != len(part):
            return None
        branch = _Branch(network, protected, sides, model, costs, most, dict(inside.adjacency()))
        found = branch.best()
        if found is None:
            return None
        total, hidden = total + found.total, hidden | found.hidden
    return TreeChoice(hidden=hidden, total=total)


@dataclass(frozen=True, eq=False)
class _Choices:
    """Choices in a branch: their cost, what they tell about a node's two states either way, and what they hide."""

    cost: FloatArray
    told: FloatArray
    hidden: NDArray[np.object_]

    @classmethod
    def of(cls, cost: float, told: FloatArray, hidden: frozenset[str]) -> _Choices:
        """A single choice."""
        names = np.empty(1, dtype=object)
        names[0] = hidden
        return cls(np.array([cost]), told[np.newaxis], names)

    def beside(self, other: _Choices) -> _Choices:
        """The union of two sets of choices."""
        return _Choices(
            np.concatenate([self.cost, other.cost]),
            np.concatenate([self.told, other.told]),
            np.concatenate([self.hidden, other.hidden]),
        )

    def kept(self, rows: NDArray[np.intp]) -> _Choices:
        """Some of the choices."""
        return _Choices(self.cost[rows], self.told[rows], self.hidden[rows])


@dataclass(eq=False)
class _Branch:
    """One branch of a tree, seen from the protected attribute."""

    network: DiscreteNetwork
    protected: str
    sides: tuple[int, int]
    model: int
    costs: Mapping[str, float]
    most: float
    near: Mapping[str, Mapping[str, object]]
    above: dict[str, str] = field(default_factory=dict[str, str])
    laws: dict[str, FloatArray] = field(default_factory=dict[str, FloatArray])
    paid: dict[str, float] = field(default_factory=dict[str, float])

    def best(self) -> TreeChoice | None:
        """The best choice; None if some node has too many states, or there are too many choices."""
        order = self._order()
        if order is None:
            return None
        made: dict[str, _Choices] = {}
        # from the leaves inwards: whatever is told about a node depends on the branches behind it only
        for name in reversed(order):
            below = [made.pop(other) for other in self.near[name] if self.above.get(other) == name and other in made]
            hidden = frozenset({name}) & self.costs.keys()
            inner = _Choices.of(self.costs.get(name, 0.0), np.zeros(2), hidden)
            for each in below:
                joined = self._joined(inner, each, name)
                if joined is None:
                    return None
                inner = joined
            made[name] = self._seen(name, inner)
        (last,) = made.values()
        sums = last.cost + last.told[:, 0]
        if not sums.size:
            return TreeChoice(hidden=frozenset(), total=math.inf)
        place = int(np.argmin(sums))
        return TreeChoice(hidden=last.hidden[place], total=float(sums[place]))

    def _order(self) -> list[str] | None:
        """The nodes that matter, from the protected attribute outwards; None if one has too many states."""
        order, todo, paid = list[str](), [self.protected], self.paid
        paid[self.protected] = 0.0
        while todo:
            here = todo.pop()
            for name in sorted(self.near[here]):
                if name == self.above.get(here):
                    continue
                self.above[name] = here
                order.append(name)
                self.laws[name] = self._law(here, name)
                paid[name] = paid[here] + self.costs.get(name, 0.0)
                if len(self.near[name]) > 1 and paid[name] <= self.most:  # else it is never hidden
                    if len(self.network.states[name]) != 2:
                        return None
                    todo.append(name)
        return order

    def _law(self, here: str, name: str) -> FloatArray:
        """The array P(name | here) for the two states of `here` that count, of shape (2, states of name)."""
        table = joint_law(self.network, (here, name)).values
        rows: FloatArray = np.exp(table[min(self.model, table.shape[0] - 1)])
        sums: FloatArray = np.sum(rows, axis=1, keepdims=True)
        # an impossible state has no law, and must not count
        law: FloatArray = np.where(sums > 0, rows / np.where(sums > 0, sums, 1.0), 1 / rows.shape[1])
        return law[list(self.sides)] if here == self.protected else law

    def _seen(self, name: str, inner: _Choices) -> _Choices:
        """The choices of a node with everything behind it, and what they tell about the node in front."""
        law = self.laws[name]
        hidden = inner.kept(np.arange(len(inner.cost) if self.paid[name] <= self.most else 0))
        told = self._through(name, hidden.told) if law.shape[1] == 2 else np.zeros((len(hidden.cost), 2))
        found = _Choices(hidden.cost, told, hidden.hidden)
        if name in self.costs:
            with np.errstate(divide="ignore", invalid="ignore"):
                ratios = np.log(law[0]) - np.log(law[1])
            # a node that is seen shields what is behind it: nothing there needs to be hidden
            alone = np.array([_top(ratios), _top(-ratios)])
            found = found.beside(_Choices.of(0.0, alone, frozenset()))
        return self._pruned(found, self.above[name], self.paid[self.above[name]])

    def _through(self, name: str, told: FloatArray) -> FloatArray:
        """What is told about the node in front through a node of two states that `told` is known about."""
        law = self.laws[name]
        one = np.ones(len(told))
        ends = np.stack([np.stack([one, np.exp(-told[:, 0])]), np.stack([np.exp(-told[:, 1]), one])])
        masses = np.einsum("ys,esn->eyn", law, ends)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = np.log(masses[:, 0]) - np.log(masses[:, 1])
        return np.stack([np.fmax.reduce(ratios, axis=0), np.fmax.reduce(-ratios, axis=0)], axis=1)

    def _joined(self, left: _Choices, right: _Choices, name: str) -> _Choices | None:
        """All combinations of two sets of choices that may be best, or None if they are too many."""
        if len(left.cost) * len(right.cost) > MOST_CHOICES:
            return None
        cost = (left.cost[:, np.newaxis] + right.cost).ravel()
        told = (left.told[:, np.newaxis] + right.told[np.newaxis]).reshape(-1, 2)
        places = np.empty(len(cost), dtype=object)
        places[:] = range(len(cost))
        kept = self._pruned(_Choices(cost, told, places), name, self.paid[name] - self.costs.get(name, 0.0))
        for k, place in enumerate(kept.hidden):
            first, second = divmod(place, len(right.cost))
            kept.hidden[k] = left.hidden[first] | right.hidden[second]
        return kept

    def _pruned(self, choices: _Choices, here: str, paid: float) -> _Choices:
        """The choices that no other beats and that stay within the limit, given the cost `paid` in front."""
        told = choices.told
        while here != self.protected:
            told = self._through(here, told)
            here = self.above[here]
        enough = choices.cost + paid + np.maximum(told[:, 0], 0.0) <= self.most
        return undominated(choices.kept(np.flatnonzero(enough)))


def undominated(choices: _Choices) -> _Choices:
    """The choices on the Pareto front: no other costs no more and tells no more in both directions."""
    order = np.lexsort((choices.told[:, 1], choices.told[:, 0], choices.cost))
    sorted_ = choices.kept(order)
    kept: list[NDArray[np.intp]] = []
    front = np.zeros((0, 2))
    for start in range(0, len(order), COMPARED_AT_ONCE):
        rows = np.arange(start, min(start + COMPARED_AT_ONCE, len(order)))
        told = sorted_.told[rows]
        if len(front):
            place = np.searchsorted(front[:, 0], told[:, 0], side="right") - 1
            beaten = (place >= 0) & (front[np.maximum(place, 0), 1] <= told[:, 1])
            rows, told = rows[~beaten], told[~beaten]
        below = (told[:, np.newaxis] <= told[np.newaxis]).all(axis=2)
        beaten = np.triu(below, 1).any(axis=0)  # earlier ones cost no more
        rows, told = rows[~beaten], told[~beaten]
        kept.append(rows)
        front = np.concatenate([front, told])
        front = front[np.lexsort((front[:, 1], front[:, 0]))]
        least = np.minimum.accumulate(front[:, 1])
        front = front[np.concatenate([[True], least[1:] < least[:-1]])] if len(front) else front
    return sorted_.kept(np.concatenate(kept)) if kept else sorted_


def _top(ratios: FloatArray) -> float:
    """The largest log ratio; impossible states, which have none, are left out."""
    return float(np.fmax.reduce(ratios, initial=0.0))
