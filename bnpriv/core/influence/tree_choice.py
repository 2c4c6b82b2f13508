"""Which columns to hide on a tree, so that the cost of hiding plus the influence of the rest is least."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from bnpriv.bound import FloatArray
from bnpriv.core.influence.finite import joint_law
from bnpriv.core.networks.discrete import DiscreteNetwork
from bnpriv.core.secrets import Pair, SecretPair

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
