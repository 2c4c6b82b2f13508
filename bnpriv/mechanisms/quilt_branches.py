"""Which sets of near columns are worth trying: bounds for the search of the Markov quilt mechanism."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import final

from bnpriv.influence.losses import LEAST_MARGIN
from bnpriv.influence.ratios import independent_parts
from bnpriv.networks.base import Network
from bnpriv.networks.reading import driven_by, drivers

ColumnSet = frozenset[str]

IMPROVEMENT_TOLERANCE = 1e-11
"""Of the scale times epsilon: what an improvement must exceed, so that sets that are equal but for rounding end."""

MOST_UNDECIDED = 64
"""Columns that are all looked at for a bound."""


@final
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
        """Look at every near set that might improve on the best, the more promising ones first.

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
            # what the far columns shield from the attribute tells nothing more, and stays far
            column = max(sorted(self._open(near, far)), key=lambda name: abs(self._gain(name, scale)), default=None)
            if column is not None:
                branches = [(near, far | {column}), (near | {column}, far)]
                todo += branches if self._gain(column, scale) > 0 else reversed(branches)
            elif not attempt(near):
                return False
        return True

    def _may_improve(self, near: ColumnSet, far: ColumnSet, scale: float, most: float) -> bool:
        """Whether a set with `near` and nothing of `far` might have a scale below `scale`, where `most` may be told.

        Of very many columns only those are looked at that tell something by themselves: the bound holds for any.
        """
        least = self._least_moved(near)
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
        """Return what it saves to take a column near, to first order."""
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
        """Return how far columns that are blocks by themselves move the answer."""
        return {name: self.moved(block) for block in self.blocks if len(block) == 1 for name in block}

    @cached_property
    def _overlap(self) -> float:
        """Return by how much the sum over blocks may pass the sensitivity, because each block is rounded up."""
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
        """Return what deciding the columns of a group adds at least to ``D_K - scale * (most - t)``.

        If some of them stay far, the group tells at least as much as the most telling of these does alone.
        """
        single = sorted(((self._told_by(frozenset({name})), name) for name in undecided), reverse=True)
        least, moved = math.inf, 0.0
        for alone, name in single:
            if alone <= told:
                break
            least = min(least, moved + scale * (alone - told))
            moved += self._alone.get(name, 0.0)
        return min(least, moved)


def independent_groups(network: Network, attribute: str, columns: ColumnSet) -> tuple[ColumnSet, ...]:
    """Return columns in groups that are independent of each other given a single state of an attribute.

    What they tell about single states adds. Columns that depend on no attribute are in no group.
    """
    named = sorted(drivers(network, columns))
    groups: list[ColumnSet] = []
    for part in independent_parts(network.graph, attribute, named) if named else []:
        driven = driven_by(network, columns, part)
        joined = [group for group in groups if group & driven]
        groups = [group for group in groups if not group & driven] + [driven.union(*joined)]
    return tuple(groups)
