"""The search for the queried columns that noise should hide, while a quilt shields the secret from the others."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from bnpriv.bound import Bound, FloatArray
from bnpriv.errors import Refusal, SizeError
from bnpriv.evidence.structural import Influences
from bnpriv.influence.base import Influence
from bnpriv.influence.losses import SHIFT_HALVINGS, PrivacyLosses, largest_shift
from bnpriv.influence.quilts import markov_quilt
from bnpriv.influence.tree_choice import TreeChoice
from bnpriv.influence.witness import AtLeast
from bnpriv.kind import kind_of
from bnpriv.mechanisms.certificate import Decision
from bnpriv.mechanisms.quilt_branches import Branches, independent_groups
from bnpriv.mechanisms.quilt_scales import Best, approximate_scales, pure_shifts, scales
from bnpriv.networks.reading import driven_by, drivers
from bnpriv.noise.continuous import ContinuousNoise
from bnpriv.secrets.states import SecretPair

MOST_SEARCH_CELLS = 2**28
"""Cells of tables that a search may fill, over all protected attributes: about eight seconds."""

SET_WORK = 2**15
"""What trying a set costs besides its tables, in cells."""

BRANCH_WORK = 2**13
"""What looking at a branch costs besides its tables, in cells."""

LOSS_WORK: Mapping[ContinuousNoise, int] = {"laplace": 3, "gaussian": 20}
"""What a step of the search for a private shift takes for a cell of the losses, in cells."""

LARGE_WORK = 2**20
"""Cells of an influence from which on one assignment is looked at first."""

WITNESS_WORK = 2**17
"""What a look at one assignment costs, in cells."""

TREE_TOLERANCE = 1e-10
"""Of epsilon: a choice on a tree whose sum is closer to it is no improvement."""

NAME_WORK = 2**7
"""What an attribute or a column adds to either, in cells."""


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
    most: int = MOST_SEARCH_CELLS
    notes: list[str] = field(default_factory=list[str])
    _left: int = 0
    _paid: set[tuple[str, frozenset[str]]] = field(default_factory=set[tuple[str, frozenset[str]]])
    _asked: set[tuple[str, tuple[str, ...]]] = field(default_factory=set[tuple[str, tuple[str, ...]]])
    _witnesses: dict[tuple[str, int, int], AtLeast] = field(default_factory=dict[tuple[str, int, int], AtLeast])
    _known: dict[frozenset[str], Bound] = field(default_factory=dict[frozenset[str], Bound])
    _shifts: dict[tuple[str, tuple[str, ...]], FloatArray] = field(
        default_factory=dict[tuple[str, tuple[str, ...]], FloatArray]
    )

    def decide(self, attribute: str) -> Decision:
        """Return the best near sets for one protected attribute, as the decision that needs the most noise."""
        self._left = self.most
        none_near = self._influence(frozenset(), attribute)
        best = Best.start(none_near.values)
        self._offer(best, self._all_near(attribute), none_near)
        self._grow(best, attribute)
        self._take_groups(best, attribute)
        proven = 0.0
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

    def _all_near(self, attribute: str) -> frozenset[str]:
        """Return near columns, no more than needed, without which the others tell nothing."""
        near, network = self.evidence.driven(self.queried, attribute), self.evidence.network
        while border := network.graph.frontier(attribute, drivers(network, self.queried - near)):
            near |= driven_by(network, self.queried, border)
        return near

    def _grow(self, best: Best, attribute: str) -> None:
        """Try near sets that grow by the column that tells most for what it moves, as long as they may be the best."""
        network, near = self.evidence.network, self.evidence.driven(self.queried, attribute)
        worth: dict[str, float] = {}
        while self._left > self.most // 2 and self._sensitivity(near).upper < self._most * best.scale.max():
            if not self._try(best, near, attribute):
                return
            border = network.graph.frontier(attribute, drivers(network, self.queried - near))
            open_ = driven_by(network, self.queried - near, border)
            worth |= {name: self._worth(frozenset({name}), attribute) for name in sorted(open_ - worth.keys())}
            if not open_:
                return
            near |= {max(sorted(open_), key=lambda name: worth[name])}

    def _take_groups(self, best: Best, attribute: str) -> None:
        """Try to take near all columns of the groups that tell most for what they move."""
        near = self.evidence.driven(self.queried, attribute)
        groups = independent_groups(self.evidence.network, attribute, self.queried - near)
        for group in sorted(groups, key=lambda group: (-self._worth(group, attribute), sorted(group))):
            near |= group
            hopeless = self._sensitivity(near).upper >= self._most * best.scale.max()
            if hopeless or self._left < self.most // 2 or not self._try(best, near, attribute):
                return

    def _worth(self, columns: frozenset[str], attribute: str) -> float:
        """Return how much columns tell at most, over how far they move the answer."""
        try:
            told = float(self._influence(columns, attribute).values.max())
        except SizeError:
            told = math.inf
        moved = self._sensitivity(columns).upper
        return told / moved if moved > 0 else math.inf

    def _target(self, best: Best, attribute: str) -> tuple[int, int]:
        """Return the model and pair whose scale is to be lowered; with a common set the most telling ones."""
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
        """Lower one scale as far as it goes, or to `enough`; return False if the work was too much."""
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
        """Return a lower bound of what columns tell, from one assignment where all of them take much work."""
        if self._is_large(columns, attribute):
            return self._witnessed(columns, attribute, model, k)
        return float(self._told(columns, attribute)[model, k])

    def _is_large(self, columns: frozenset[str], attribute: str) -> bool:
        if self.delta > 0 or (attribute, self.evidence.border(columns, attribute)) in self._asked:
            return False
        return self.evidence.work(columns, attribute)[0] > LARGE_WORK

    def _witnessed(self, columns: frozenset[str], attribute: str, model: int, k: int) -> float:
        """Return what one assignment of columns tells, the same for all sets but for what is left out of it."""
        network, key = self.evidence.network, (attribute, model, k)
        if not self._spend(WITNESS_WORK):
            return -math.inf
        if key not in self._witnesses:
            free = drivers(network, self.queried - self.evidence.driven(self.queried, attribute))
            pair = self.evidence.secrets[attribute][k]
            self._witnesses[key] = kind_of(network).lower_bound(network, attribute, pair, model, free)
        return self._witnesses[key](drivers(network, columns))

    def _try(self, best: Best, near: frozenset[str], attribute: str, target: tuple[int, int] | None = None) -> bool:
        """Offer a near set unless it cannot lower the target's scale; return False if there is no work left for it."""
        far = self.queried - near
        if self._is_large(far, attribute):
            model, k = target or best.worst()[:2]
            told = np.full((1, 1), self._witnessed(far, attribute, model, k))
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
        """Return a lower bound of what columns tell, per model and pair: -inf where it takes too much work."""
        unknown = np.full((1, 1), -np.inf)
        if not self._pay(BRANCH_WORK, columns, attribute):
            return np.broadcast_to(unknown, self._influence(frozenset(), attribute).values.shape)
        try:
            influence = self._influence(columns, attribute)
        except SizeError:
            return np.broadcast_to(unknown, self._influence(frozenset(), attribute).values.shape)
        if self.delta > 0:
            shifts = self._shifts_of(influence)
            return np.full(influence.values.shape, -np.inf) if shifts is None else self._most - shifts
        # a cheaper upper bound is no lower bound of what more columns tell
        return influence.values if influence.kind != "certified" else np.minimum(influence.values, 0.0)

    def _influence(self, columns: frozenset[str], attribute: str) -> Influence:
        """Return an influence, and remember that it was asked for.

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
        if cells > self._left:
            return False
        self._left -= cells
        return True

    def _pay(self, base: int, columns: frozenset[str], attribute: str) -> bool:
        """Take work for an influence, and for its losses where they count; False if that is not enough."""
        key, cells = (attribute, columns), 0
        if key not in self._paid:
            cells, losses = self.evidence.work(columns, attribute)
            # what the evidence knows from elsewhere counts like everything else, so that a search never depends on it
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
        """Return the losses of a frontier, or None if there are too many to keep or none are known."""
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
        """Return what the noise leaves of epsilon to the quilt, and by how much the quilt passes that."""
        shift = float(self._shifts[influence.protected, influence.frontier][model, k])
        left = max(0.0, self.epsilon - shift) if noisy and self.noise == "laplace" else self.epsilon
        losses = self._losses(influence)
        passed = 0.0 if losses is None else float(losses.excess(left)[model, k])
        # an excess below the least double is still one: without it the guarantee would be called pure
        return left, max(passed, math.ulp(0.0)) if influence.values[model, k] > left and losses is not None else passed
