"""The Markov quilt mechanism: noise hides the columns near a secret, a quilt shields it from the others."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from bnpriv.bound import UNIT_ROUNDOFF, Bound, FloatArray
from bnpriv.core.evidence.structural import Influences, influences
from bnpriv.core.influence.base import LEAST_MARGIN, SHIFT_HALVINGS, Influence, PrivacyLosses, largest_shift
from bnpriv.core.influence.finite import AtLeast, TreeChoice, independent_parts
from bnpriv.core.influence.quilts import markov_quilt
from bnpriv.core.mechanisms.base import Mechanism, Search, found_scale, noise_of
from bnpriv.core.mechanisms.certificate import Certificate, Decision
from bnpriv.core.mechanisms.column import noise_refusal
from bnpriv.core.mechanisms.weights import Found
from bnpriv.core.networks.base import Network, driven_by, drivers
from bnpriv.core.noise import ContinuousNoise
from bnpriv.core.queries.base import Query
from bnpriv.core.queries.sensitivity import separate_columns
from bnpriv.core.secrets import SecretPair
from bnpriv.errors import Refusal, SizeError
from bnpriv.kind import kind_of

if TYPE_CHECKING:
    from bnpriv.core.frameworks.question import Framework

# --------------------------------------------------------------------------------------------------
# Scales of noise that quilts leave, and the best of them for every model and pair of secrets.
# --------------------------------------------------------------------------------------------------


def scales(sensitivity: float, influence: FloatArray, epsilon: float) -> FloatArray:
    """The scale sensitivity / (epsilon - influence), rounded up; inf where the quilt is not admissible.

    Without any change to hide (sensitivity 0) the scale is 0 as soon as the influence is at most epsilon. An influence
    of -inf marks a pair that is no constraint.
    """
    if sensitivity == 0:
        return np.where(influence <= epsilon, 0.0, np.inf)
    with np.errstate(divide="ignore", invalid="ignore"):
        # subtraction and division err by 2^-53 at most; the margins are larger, so that the scale is never too small
        margin = (epsilon - influence) * (1 - 2.0**-51)
        scale = sensitivity / margin * (1 + 2.0**-50)
    return np.where(np.isneginf(influence), 0.0, np.where(margin >= LEAST_MARGIN, scale, np.inf))


def pure_shifts(influence: FloatArray, epsilon: float) -> FloatArray:
    """The part of epsilon that an influence leaves, rounded down; -inf if none, inf where a pair is no constraint."""
    with np.errstate(invalid="ignore"):
        left = (epsilon - influence) * (1 - 2.0**-51)
    return np.where(np.isneginf(influence), np.inf, np.where(influence <= epsilon, left, -np.inf))


def approximate_scales(sensitivity: float, shifts: FloatArray) -> FloatArray:
    """The scale sensitivity / shifts, rounded up; inf where the quilt is not admissible (a shift of -inf).

    Without any change to hide (sensitivity 0) the scale is 0 as soon as the quilt alone is private.
    """
    if sensitivity == 0:
        return np.where(shifts >= 0, 0.0, np.inf)
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = sensitivity / shifts * (1 + 8 * UNIT_ROUNDOFF)
    return np.where(shifts >= LEAST_MARGIN, scale, np.inf)


@dataclass(kw_only=True)
class Best:
    """The least scale found so far for every model and ordered pair, each of shape (models, pairs).

    Pairs that are no constraint have told -inf and scale 0.
    """

    scale: FloatArray
    told: FloatArray
    chosen: NDArray[np.intp]
    tried: list[frozenset[str]]

    @classmethod
    def start(cls, values: FloatArray) -> Best:
        """Start with no set tried; `values` are the influences of nothing, -inf where a pair is no constraint."""
        free = np.isneginf(values)
        return cls(
            scale=np.where(free, 0.0, np.inf),
            told=np.where(free, -np.inf, 0.0),
            chosen=np.zeros(values.shape, dtype=np.intp),
            tried=[],
        )

    def offer(self, near: frozenset[str], scale: FloatArray, told: FloatArray) -> None:
        """Take `near` wherever it needs less noise than the best so far, or as much with fewer columns."""
        self.tried.append(near)
        sizes = np.array([len(columns) for columns in self.tried])
        better = (scale < self.scale) | ((scale == self.scale) & (len(near) < sizes[self.chosen]))
        self.scale[better] = scale[better]
        self.told[better] = told[better]
        self.chosen[better] = len(self.tried) - 1

    def worst(self) -> tuple[int, int, frozenset[str]]:
        """The model, pair and near set that need the most noise; among equals the most telling."""
        constrained = ~np.isneginf(self.told)
        most = (self.scale == self.scale[constrained].max()) & constrained
        place = int(np.argmax(np.where(most, self.told, -np.inf)))
        model, k = (int(x) for x in np.unravel_index(place, self.scale.shape))
        return model, k, self.tried[int(self.chosen[model, k])]


# --------------------------------------------------------------------------------------------------
# Branch and bound over near sets: which of them are worth trying.
# --------------------------------------------------------------------------------------------------

ColumnSet = frozenset[str]

IMPROVEMENT_TOLERANCE = 1e-11
"""Relative improvement that counts, so that sets that are equal but for rounding end the search."""

MOST_UNDECIDED = 64
"""The most undecided columns that are all considered for a bound."""


@dataclass(frozen=True, kw_only=True)
class Branches:
    """The tree of near sets for one model and pair of secrets, with a bound for every branch.

    A near set K has the scale D_K / (most - t), D_K how far its columns move the answer and t what the other queried
    columns tell. It is below a scale b if and only if ``D_K - b (most - t) < 0``; both terms are bounded from below by
    sums over blocks of columns.

    Parameters
    ----------
    network : Network
    attribute : str
        The protected attribute.
    queried : frozenset of str
    blocks : sequence of frozenset of str
        Blocks of columns whose sensitivities add.
    adds : bool
        Whether what independent columns tell adds: for pairs of single states and delta 0.
    told, moved : callable
        From columns to a lower bound of what they tell, and to how far they move the answer.
    """

    network: Network
    attribute: str
    queried: ColumnSet
    blocks: Sequence[ColumnSet]
    adds: bool
    told: Callable[[ColumnSet], float]
    moved: Callable[[ColumnSet], float]
    _known: dict[ColumnSet, float] = field(default_factory=dict[ColumnSet, float])

    def search(
        self,
        near: ColumnSet,
        far: ColumnSet,
        best: Callable[[], tuple[float, float] | None],
        attempt: Callable[[ColumnSet], bool],
        spend: Callable[[], bool],
    ) -> bool:
        """Search every near set that might improve on the best, the more promising ones first.

        Parameters
        ----------
        near, far : frozenset of str
            Columns that all near sets hold, and those that none does.
        best : callable
            The scale to improve on and what may be told if nothing moves; None where it is good enough.
        attempt : callable
            Looks at a near set once no column is left that would tell anything.
        spend : callable
            Takes the work for a branch. False from this or the other ends the search.

        Returns
        -------
        bool
            Whether the search came to its end.
        """
        todo = [(near, far)]
        while todo and (found := best()) is not None:
            if not spend():
                return False
            (near, far), (scale, most) = todo.pop(), found
            if not self._may_improve(near, far, scale, most):
                continue
            # columns that the far ones shield from the attribute tell nothing more, and stay far
            column = max(sorted(self._open(near, far)), key=lambda name: abs(self._gain(name, scale)), default=None)
            if column is not None:
                branches = [(near, far | {column}), (near | {column}, far)]
                todo += branches if self._gain(column, scale) > 0 else reversed(branches)
            elif not attempt(near):
                return False
        return True

    def _may_improve(self, near: ColumnSet, far: ColumnSet, scale: float, most: float) -> bool:
        """Whether a near set with `near` and nothing of `far` might have a scale below `scale`.

        With very many undecided columns only those that tell something by themselves are looked at: the bound holds for
        any subset of them.
        """
        least = self._least_moved(near)
        # the influences of independent groups add, so that each group has a bound of its own
        told = {group: self._told_by(far & group) for group in self._groups}
        margin = most - sum(told.values())
        if margin < -IMPROVEMENT_TOLERANCE * most or (least > 0 and margin < LEAST_MARGIN):
            return False
        if math.isinf(scale):
            return True
        undecided = self.queried - near - far
        undecided = undecided if len(undecided) <= MOST_UNDECIDED else self._open(near, far)
        more = sum(self._least_more(undecided & group, told[group], scale) for group in self._groups)
        return least - scale * margin + more < -IMPROVEMENT_TOLERANCE * scale * most

    def _open(self, near: ColumnSet, far: ColumnSet) -> ColumnSet:
        """The undecided columns that tell something by themselves, given the far ones."""
        border = self.network.graph.frontier(self.attribute, drivers(self.network, self.queried - near))
        covered = drivers(self.network, far)
        return driven_by(self.network, self.queried - near - far, frozenset(border) - covered)

    def _gain(self, column: str, scale: float) -> float:
        """The saving from taking a column near, to first order."""
        told = self._told_by(frozenset({column}))
        if math.isinf(told) or math.isinf(scale):
            return math.inf
        return scale * told - self.moved(frozenset({column}))

    @cached_property
    def _groups(self) -> tuple[ColumnSet, ...]:
        free = self.queried - driven_by(self.network, self.queried, {self.attribute})
        return independent_groups(self.network, self.attribute, free) if self.adds else (free,)

    @cached_property
    def _alone(self) -> dict[str, float]:
        """The movement of the answer by each column that is a block of its own."""
        return {name: self.moved(block) for block in self.blocks if len(block) == 1 for name in block}

    @cached_property
    def _overlap(self) -> float:
        """How far the sum over blocks may exceed the sensitivity, because each block is rounded up."""
        every = sum(self.moved(block & self.queried) for block in self.blocks)
        return max(0.0, every * (1 + 2.0**-40) - self.moved(self.queried))

    def _least_moved(self, near: ColumnSet) -> float:
        if len(self.blocks) == 1:
            return self.moved(near)
        parts = (near & block for block in self.blocks)
        return max(0.0, sum(self.moved(part) for part in parts if part) - self._overlap)

    def _told_by(self, columns: ColumnSet) -> float:
        if columns not in self._known:
            self._known[columns] = max(0.0, self.told(columns)) if columns else 0.0
        return self._known[columns]

    def _least_more(self, undecided: ColumnSet, told: float, scale: float) -> float:
        """The least that deciding the columns of a group adds to ``D_K - scale * (most - t)``.

        If some of them stay far, the group tells at least as much as the most telling of these does alone.
        """
        # by the most telling column that stays far: those that tell more are near, and cost what they move
        single = sorted(((self._told_by(frozenset({name})), name) for name in undecided), reverse=True)
        least, moved = math.inf, 0.0
        for alone, name in single:
            if alone <= told:
                break
            least = min(least, moved + scale * (alone - told))
            moved += self._alone.get(name, 0.0)
        return min(least, moved)


def independent_groups(network: Network, attribute: str, columns: ColumnSet) -> tuple[ColumnSet, ...]:
    """The columns in groups that are independent of each other given a single state of an attribute.

    What they tell about single states adds. Columns that depend on no attribute are in no group.
    """
    named = sorted(drivers(network, columns))
    groups: list[ColumnSet] = []
    for part in independent_parts(network.graph, attribute, named) if named else []:
        driven = driven_by(network, columns, part)
        joined = [group for group in groups if group & driven]
        groups = [group for group in groups if not group & driven] + [driven.union(*joined)]
    return tuple(groups)


# --------------------------------------------------------------------------------------------------
# The search for the least scale of one protected attribute, within a limit of work.
# --------------------------------------------------------------------------------------------------

MOST_SEARCH_CELLS = 2**28
"""The most table cells that a search may fill over all protected attributes: about eight seconds."""

SET_WORK = 2**15
"""Cost of trying a set, besides its tables, in cells."""

BRANCH_WORK = 2**13
"""Cost of looking at a branch, besides its tables, in cells."""

LOSS_WORK: Mapping[ContinuousNoise, int] = {"laplace": 3, "gaussian": 20}
"""Cost of one bisection step for a private shift, per cell of the losses, in cells."""

LARGE_WORK = 2**20
"""The size of an influence, in cells, from which a single assignment is tried first."""

WITNESS_WORK = 2**17
"""Cost of looking at one assignment, in cells."""

TREE_TOLERANCE = 1e-10
"""Relative to epsilon: a choice on a tree whose sum is closer than this is no improvement."""

NAME_WORK = 2**7
"""Cost that every attribute and every column adds to either, in cells."""


@dataclass(kw_only=True)
class QuiltSearch:
    """The search for the best near set K among the subsets of the queried columns, by branch and bound.

    Only the constraint (model and pair of secrets) that needs the most noise decides. The search therefore shows for
    one constraint after the other, always the one with the largest scale so far, that no set does better, until one is
    left that it cannot lower. Every set that was tried gives a valid scale, so stopping early is safe; it is told in
    `notes`.

    Parameters
    ----------
    evidence : Influences
    queried : frozenset of str
        The queried columns that the network models; independent ones stay far, and tell nothing.
    sensitivity : callable
        From near columns to how far they can move the answer.
    blocks : sequence of frozenset of str
        Queried columns in blocks whose sensitivities add.
    epsilon, delta : float
    noise : {"laplace", "gaussian"}
    common : bool
        Whether one set serves all models and pairs.
    most : int
        Cells that may be filled for one protected attribute.
    """

    evidence: Influences
    queried: frozenset[str]
    sensitivity: Callable[[frozenset[str]], Bound]
    blocks: tuple[frozenset[str], ...]
    epsilon: float
    delta: float
    noise: ContinuousNoise
    common: bool
    work_limit: int = MOST_SEARCH_CELLS
    notes: list[str] = field(default_factory=list[str])
    _work_left: int = 0
    _paid: set[tuple[str, frozenset[str]]] = field(default_factory=set[tuple[str, frozenset[str]]])
    _asked: set[tuple[str, tuple[str, ...]]] = field(default_factory=set[tuple[str, tuple[str, ...]]])
    _witnesses: dict[tuple[str, int, int], AtLeast] = field(default_factory=dict[tuple[str, int, int], AtLeast])
    _known: dict[frozenset[str], Bound] = field(default_factory=dict[frozenset[str], Bound])
    _shifts: dict[tuple[str, tuple[str, ...]], FloatArray] = field(
        default_factory=dict[tuple[str, tuple[str, ...]], FloatArray]
    )

    def decide(self, attribute: str) -> Decision:
        """The best near sets for one protected attribute, as the decision that needs the most noise."""
        self._work_left = self.work_limit
        none_near = self._influence(frozenset(), attribute)
        best = Best.start(none_near.values)
        # with these near nothing that is left tells of the attribute, so that every constraint has a finite scale to
        # start from; `_grow` starts from the other end
        # a small set of near columns without which the others tell nothing: always a valid choice
        near, network = self.evidence.driven(self.queried, attribute), self.evidence.network
        while border := network.graph.frontier(attribute, drivers(network, self.queried - near)):
            near |= driven_by(network, self.queried, border)
        self._offer(best, near, none_near)
        self._grow(best, attribute)
        self._take_groups(best, attribute)
        proven = 0.0
        # only the largest scale counts: a constraint that cannot be lowered proves that no smaller noise is enough
        while best.scale.max() > proven:
            model, k = self._target(best, attribute)
            if not self._improve(attribute, best, model, k, proven):
                self.notes.append(
                    f"The search for the least noise stopped at its limit of work, after {len(best.tried):,} sets of "
                    "columns: the scale is valid, but a smaller one may exist."
                )
                break
            proven = max(proven, float(best.scale[model, k]))
        return self._decision(attribute, best)

    def _grow(self, best: Best, attribute: str) -> None:
        """Try near sets that grow by the column with the most influence for its movement, while they may be best."""
        network, near = self.evidence.network, self.evidence.driven(self.queried, attribute)
        worth: dict[str, float] = {}
        # a set with sensitivity D needs a scale of D / epsilon at least: a larger D cannot lower the worst scale
        while self._work_left > self.work_limit // 2 and self._sensitivity(near).upper < self._most * best.scale.max():
            if not self._try(best, near, attribute):
                return
            border = network.graph.frontier(attribute, drivers(network, self.queried - near))
            open_ = driven_by(network, self.queried - near, border)
            worth |= {name: self._worth(frozenset({name}), attribute) for name in sorted(open_ - worth.keys())}
            if not open_:
                return
            near |= {max(sorted(open_), key=lambda name: worth[name])}

    def _take_groups(self, best: Best, attribute: str) -> None:
        """Try to take near whole groups of columns, those with the most influence for their movement first."""
        near = self.evidence.driven(self.queried, attribute)
        groups = independent_groups(self.evidence.network, attribute, self.queried - near)
        for group in sorted(groups, key=lambda group: (-self._worth(group, attribute), sorted(group))):
            near |= group
            hopeless = self._sensitivity(near).upper >= self._most * best.scale.max()
            if hopeless or self._work_left < self.work_limit // 2 or not self._try(best, near, attribute):
                return

    def _worth(self, columns: frozenset[str], attribute: str) -> float:
        """The influence of columns, at most, divided by how far they move the answer."""
        try:
            told = float(self._influence(columns, attribute).values.max())
        except SizeError:
            told = math.inf
        moved = self._sensitivity(columns).upper
        return told / moved if moved > 0 else math.inf

    def _target(self, best: Best, attribute: str) -> tuple[int, int]:
        """The model and pair whose scale is to be lowered; with a common set the most telling ones."""
        if not self.common:
            model, k, _ = best.worst()
            return model, k
        free = self.queried - self.evidence.driven(self.queried, attribute)
        told = sum(
            (np.maximum(self._told(frozenset({name}), attribute), 0.0) for name in sorted(free)),
            np.zeros(best.scale.shape),
        )
        places = np.where(np.isneginf(best.told), -np.inf, told)
        model, k = (int(place) for place in np.unravel_index(int(np.argmax(places)), places.shape))
        return model, k

    def _improve(self, attribute: str, best: Best, model: int, k: int, enough: float) -> bool:
        """Lower one scale as far as it goes, or to `enough`; False if that takes too much work."""
        if self._improve_on_tree(attribute, best, model, k, enough):
            return True
        pair, most = self.evidence.secrets[attribute][k], self._most
        branches = Branches(
            network=self.evidence.network,
            attribute=attribute,
            queried=self.queried,
            blocks=self.blocks,
            adds=self.delta == 0 and isinstance(pair, SecretPair) and pair.is_point,
            told=lambda columns: self._told_at(columns, attribute, model, k),
            moved=lambda columns: self._sensitivity(columns).upper,
        )
        return branches.search(
            self.evidence.driven(self.queried, attribute),
            frozenset(),
            lambda: (scale, most) if (scale := float(best.scale[model, k])) > enough else None,
            lambda near: self._try(best, near, attribute, (model, k)),
            lambda: self._spend(BRANCH_WORK),
        )

    def _improve_on_tree(self, attribute: str, best: Best, model: int, k: int, enough: float) -> bool:
        """Lower one scale as far as it goes, or to `enough`, where columns form a tree; False if that is not shown."""
        network, near = self.evidence.network, self.evidence.driven(self.queried, attribute)
        free = self.queried - near
        plain = all(drivers(network, {name}) == frozenset({name}) for name in free)
        if self.delta > 0 or not plain or any(len(block) > 1 for block in self.blocks):
            return False
        pair, moved = self.evidence.secrets[attribute][k], self._sensitivity(near).upper
        alone = {name: self._sensitivity(frozenset({name})).upper for name in free}
        twice = max(0.0, sum(alone.values()) + moved - self._sensitivity(self.queried).upper)  # rounding of the answer
        while (scale := float(best.scale[model, k])) > enough:
            if not math.isfinite(scale) or not self._spend(SET_WORK * len(free)):
                return False
            costs = {name: change / scale for name, change in alone.items()}
            choice: TreeChoice | None = kind_of(network).tree_choice(
                network, attribute, pair, model, costs, self.epsilon - moved / scale
            )
            if choice is None:
                return False
            if choice.total + (moved - twice) / scale >= self.epsilon * (1 - TREE_TOLERANCE):
                return True
            if not self._try(best, near | choice.hidden, attribute, (model, k)) or best.scale[model, k] >= scale:
                return False
        return True

    def _told_at(self, columns: frozenset[str], attribute: str, model: int, k: int) -> float:
        """A lower bound on what columns tell, from one assignment where the exact value takes much work."""
        if self._is_large(columns, attribute):
            return self._witnessed(columns, attribute, model, k)
        return float(self._told(columns, attribute)[model, k])

    def _is_large(self, columns: frozenset[str], attribute: str) -> bool:
        if self.delta > 0 or (attribute, self.evidence.border(columns, attribute)) in self._asked:
            return False
        return self.evidence.work(columns, attribute)[0] > LARGE_WORK

    def _witnessed(self, columns: frozenset[str], attribute: str, model: int, k: int) -> float:
        """What one assignment of the columns tells: one assignment per constraint, restricted to each set."""
        network, key = self.evidence.network, (attribute, model, k)
        if not self._spend(WITNESS_WORK):
            return -math.inf
        if key not in self._witnesses:
            free = drivers(network, self.queried - self.evidence.driven(self.queried, attribute))
            pair = self.evidence.secrets[attribute][k]
            self._witnesses[key] = kind_of(network).lower_bound(network, attribute, pair, model, free)
        return self._witnesses[key](drivers(network, columns))

    def _try(self, best: Best, near: frozenset[str], attribute: str, target: tuple[int, int] | None = None) -> bool:
        """Offer a near set unless it cannot lower the target's scale; False if no work is left for it."""
        far = self.queried - near
        if self._is_large(far, attribute):
            model, k = target or best.worst()[:2]
            told = np.full((1, 1), self._witnessed(far, attribute, model, k))
            # a lower bound on the influence bounds the scale from below: if that is no gain, the table need not be made
            if scales(self._sensitivity(near).upper, told, self.epsilon).max() >= best.scale[model, k]:
                return True
        if not self._pay(SET_WORK, self.queried - near, attribute):
            return False
        try:
            self._offer(best, near, self._influence(self.queried - near, attribute))
        except SizeError:
            self.notes.append("A quilt was passed over because its table would be too large.")
        return True

    def _told(self, columns: frozenset[str], attribute: str) -> FloatArray:
        """A lower bound on what columns tell, per model and pair; -inf where it takes too much work."""
        unknown = np.full((1, 1), -np.inf)
        if not self._pay(BRANCH_WORK, columns, attribute):
            return np.broadcast_to(unknown, self._influence(frozenset(), attribute).values.shape)
        try:
            influence = self._influence(columns, attribute)
        except SizeError:
            return np.broadcast_to(unknown, self._influence(frozenset(), attribute).values.shape)
        if self.delta > 0:
            shifts = self._shifts_of(influence)
            # with delta the share of the budget that the quilt takes plays the part of the influence
            return np.full(influence.values.shape, -np.inf) if shifts is None else self._most - shifts
        # certified values are upper bounds, and so no lower bound on what more columns tell
        return influence.values if influence.kind != "certified" else np.minimum(influence.values, 0.0)

    def _influence(self, columns: frozenset[str], attribute: str) -> Influence:
        """An influence, remembered as one that was asked for.

        Raises
        ------
        SizeError
            If its tables would be too large.
        """
        found = self.evidence.influence(columns, attribute)
        self._asked.add((attribute, found.frontier))
        return found

    def _spend(self, cells: int) -> bool:
        """Take work for a step and `cells` from what is left; False if that is not enough."""
        cells += NAME_WORK * (len(self.evidence.network.attributes) + len(self.queried))
        if cells > self._work_left:
            return False
        self._work_left -= cells
        return True

    def _pay(self, base: int, columns: frozenset[str], attribute: str) -> bool:
        """Take work for an influence, and its losses where they count; False if not enough is left."""
        key, cells = (attribute, columns), 0
        if key not in self._paid:
            cells, losses = self.evidence.work(columns, attribute)
            # cached influences are charged like all others, so that a search never depends on what was asked before
            cells = 0 if (attribute, self.evidence.border(columns, attribute)) in self._asked else cells
            cells += losses * SHIFT_HALVINGS * LOSS_WORK[self.noise] if self.delta > 0 else 0
        if not self._spend(base + cells):
            return False
        self._paid.add(key)
        return True

    def _offer(self, best: Best, near: frozenset[str], influence: Influence) -> None:
        """Take `near` where it needs less noise than before, unless its losses are too many to keep."""
        moved = self._sensitivity(near).upper
        if self.delta == 0:
            scale = scales(moved, influence.values, self.epsilon)
        else:
            shifts = self._shifts_of(influence)
            if shifts is None:
                return
            scale = approximate_scales(moved, shifts)
        if self.common:
            # a common set must serve every model and pair at once
            scale = np.full(scale.shape, scale.max())
        best.offer(near, scale, influence.values)

    def _shifts_of(self, influence: Influence) -> FloatArray | None:
        key = (influence.protected, influence.frontier)
        if key not in self._shifts:
            losses = self._losses(influence)
            found = [] if losses is None else [losses.shifts(self.epsilon, self.delta, self.noise)]
            if self.noise == "laplace":  # what needs no delta is enough
                found.append(pure_shifts(influence.values, self.epsilon))
            if not found:
                return None
            self._shifts[key] = np.maximum.reduce(found)
        return self._shifts[key]

    def _losses(self, influence: Influence) -> PrivacyLosses | None:
        """The losses of a frontier, or None if there are too many to keep or none are known."""
        losses = influence.losses
        if isinstance(losses, Refusal):
            self.notes.append(f"Of a quilt the largest loss alone counts: {losses.required}; found {losses.found}.")
            return None
        return losses

    @property
    def _most(self) -> float:
        return self.epsilon if self.delta == 0 else largest_shift(self.epsilon, self.delta, self.noise)

    def _sensitivity(self, near: frozenset[str]) -> Bound:
        if near not in self._known:
            self._known[near] = self.sensitivity(near)
        return self._known[near]

    def _decision(self, attribute: str, best: Best) -> Decision:
        model, k, near = best.worst()
        influence = self._influence(self.queried - near, attribute)
        value, excess = float(influence.values[model, k]), None
        low = max(0.0, value - 2 * influence.error) if influence.kind == "exact" and np.isfinite(value) else 0.0
        if self.delta:
            value, excess = self._split(influence, model, k, noisy=best.scale[model, k] > 0)
            low = value
        return Decision(
            protected=attribute,
            pair=influence.pairs[k],
            model=model,
            quilt=markov_quilt(self.evidence.network, attribute, influence.frontier),
            queried_near=near,
            influence=Bound(low, value, influence.kind),
            sensitivity=self._sensitivity(near),
            scale=float(best.scale[model, k]),
            excess=excess,
            models=self.evidence.network.models,
        )

    def _split(self, influence: Influence, model: int, k: int, *, noisy: bool) -> tuple[float, float]:
        """The part of epsilon that the noise leaves to the quilt, and how far the quilt exceeds it."""
        shift = float(self._shifts[influence.protected, influence.frontier][model, k])
        left = max(0.0, self.epsilon - shift) if noisy and self.noise == "laplace" else self.epsilon
        losses = self._losses(influence)
        passed = 0.0 if losses is None else float(losses.excess(left)[model, k])
        # an excess that underflows still needs delta: with 0 the guarantee would be called pure
        return left, max(passed, math.ulp(0.0)) if influence.values[model, k] > left and losses is not None else passed


# --------------------------------------------------------------------------------------------------
# The Markov quilt mechanism: noise hides the columns near a secret, a quilt shields it from the others.
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class MarkovQuiltMechanism(Mechanism):
    """Noise from the best Markov quilt for every protected attribute, model and pair of secrets.

    With delta above 0 a quilt may tell too much in rare states: the losses of quilt and noise are composed, and only
    what passes epsilon counts, up to delta.

    Parameters
    ----------
    common_quilt : bool
        Use one quilt per protected attribute for all models and pairs, as published; never less noise.
    noise : {"laplace", "gaussian"}
        Laplace noise for the 1-norm; Gaussian noise for the 2-norm, which needs delta above 0.
    large_delta : bool
        Waive the refusal of a delta of one over the number of records or more.
    weights : sequence of float, optional
        Of the parts of the answer, powers of two; None takes the best of three public shapes, as in `Mechanism`.

    Raises
    ------
    ParameterError
        If `noise` is neither.

    Notes
    -----
    Zhang, Ohrimenko, Cummings, "Attribute Privacy" (FAccT 2022), algorithm 3, with the optimal quilt of
    docs/claims/markov_quilt.md: for every protected attribute i, model and ordered pair, the least of
    D_K F / (epsilon - e(A minus K | i)) over the subsets K of the queried columns A; then the largest of these. With
    delta above 0 see docs/claims/approximate_quilt.md.

    Examples
    --------
    >>> import bnpriv as bp
    >>> query = bp.count(bp.col("height") > 180)
    >>> bp.MarkovQuiltMechanism().calibrate(bp.example("student"), query, epsilon=1.0).scale
    0.0
    """

    common_quilt: bool = False
    noise: ContinuousNoise = "laplace"
    large_delta: bool = False
    claim: ClassVar[str] = "markov_quilt.md"

    def _decide(self, framework: Framework, query: Query, epsilon: float, delta: float) -> Search | Refusal:
        evidence = influences(framework)
        if isinstance(evidence, Refusal):
            return evidence
        if evidence.no_quilts is not None:
            return evidence.no_quilts
        # Gaussian noise has no largest loss: it composes with all that columns tell, not with the most they tell
        if delta and self.noise == "gaussian":
            losses = evidence.influence(frozenset(), next(iter(evidence.secrets))).losses
            if isinstance(losses, Refusal):
                return losses
        refusal = evidence.covers(query.columns)
        refusal = refusal or noise_refusal(self.noise, framework, delta, large_delta=self.large_delta)
        return refusal or partial(self._search, evidence, framework, query, epsilon, delta)

    def _search(self, evidence: Influences, framework: Framework, query: Query, epsilon: float, delta: float) -> Found:
        norm = 1 if self.noise == "laplace" else 2
        # independent columns tell nothing about any secret, so that noise need not hide them
        queried = evidence.modelled(query.columns)
        separate = separate_columns(query, framework.schema, norm)
        search = QuiltSearch(
            evidence=evidence,
            queried=queried,
            sensitivity=lambda near: evidence.sensitivity(query, near, norm),
            blocks=tuple(block & queried for block in separate if block & queried),
            epsilon=epsilon,
            delta=delta,
            noise=self.noise,
            common=self.common_quilt,
            # each protected attribute gets its share of the work, so that none depends on the order
            work_limit=MOST_SEARCH_CELLS // len(evidence.secrets),
        )
        found = (search.decide(name) for name in evidence.secrets)
        # every attribute must be protected by the one noise: the largest scale decides
        decisions = sorted(found, key=lambda decision: (-decision.scale, -decision.influence.upper))
        scale = found_scale(decisions[0].scale, epsilon, delta)
        approximate = "Approximate Markov quilt mechanism" if delta else "Markov quilt mechanism"
        certificate = Certificate(
            theorem=f"{approximate} for attributes (Zhang, Ohrimenko, Cummings 2022) with the optimal quilt",
            claim="approximate_quilt.md" if delta else self.claim,
            decisions=tuple(decisions),
            sensitivity=decisions[0].sensitivity,
            source=framework.source,
            assumptions=(*evidence.assumptions, *query.assumptions),
            dropped=tuple(
                f"{name}: {pair} in model {model}, a secret has probability zero"
                for name in evidence.secrets
                for pair, model in evidence.influence(frozenset(), name).dropped
            ),
            notes=tuple(dict.fromkeys(search.notes)),
            zero_noise_reason=None if scale else "; ".join(decision.text for decision in decisions),
        )
        # without noise, and without a loss beyond epsilon, the guarantee is pure
        spent = delta if scale or any(decision.excess for decision in decisions) else 0.0
        return Found(noise_of(self.noise, scale, query.dimension(framework.schema)), certificate, spent)
