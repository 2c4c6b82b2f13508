"""What releases tell together with delta: near sets and columns are fixed by the first release, before any answer."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from typing import final

import numpy as np
from numpy.typing import NDArray

from bnpriv.accounting.costs import Near, NoiseCosts
from bnpriv.accounting.entries import Entry
from bnpriv.accounting.exact import rounded_up
from bnpriv.bound import FloatArray, down, up
from bnpriv.divergences.gaussian import gaussian_delta
from bnpriv.errors import Refusal, SizeError
from bnpriv.evidence.structural import Influences
from bnpriv.influence.losses import PrivacyLosses
from bnpriv.mechanisms.quilt_branches import independent_groups

HALVINGS = 60
"""Steps of a search for the least epsilon."""

LARGEST_LEVEL = 1_000.0
"""No larger level is sought where single columns tell without bound."""


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class FixedSets:
    """What the first release fixes: the columns that may be queried, near sets, and how a delta is divided.

    Parameters
    ----------
    columns : frozenset of str
    near : tuple of (str, tuple of frozenset of str, ndarray of shape (models, pairs))
        For every protected attribute the near sets, and which of them each model and pair has.
    first : Entry
        The first release.
    tells : bool
        Whether the columns that stay far tell anything.
    """

    columns: Near
    near: tuple[tuple[str, tuple[Near, ...], NDArray[np.intp]], ...]
    first: Entry
    tells: bool

    def told(self, delta: Fraction) -> Fraction:
        """Return how much of a delta is for what the far columns tell; the rest is for noise.

        It depends on nothing that an answer tells: otherwise the two could not be added.
        """
        if not self.tells or not self.first.delta:
            return Fraction(0)
        own = min(self.first.delta, delta)
        return min(own, delta / 2) if self.first.noise == "gaussian" else max(own, delta / 2)


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class DeltaCosts:
    """The cost of the noise of releases, of which those with Gaussian noise have a delta.

    Parameters
    ----------
    laplace : NoiseCosts
        All others.
    gaussian : tuple of Entry
    spent : Fraction
        The sum of the deltas of these.
    """

    laplace: NoiseCosts
    gaussian: tuple[Entry, ...] = ()
    spent: Fraction = Fraction(0)
    _normal: dict[Near, tuple[int, float]] = field(default_factory=dict[Near, tuple[int, float]])

    def plus(self, entry: Entry) -> DeltaCosts:
        """Return the costs with those of one more release."""
        known = dict(self._normal)
        if entry.noise != "gaussian":
            return replace(self, laplace=self.laplace.plus(entry), _normal=known)
        return replace(self, gaussian=(*self.gaussian, entry), spent=self.spent + entry.delta, _normal=known)

    def cost(self, near: Near) -> float:
        """Return the epsilons of the noise that hides `near`, rounded up; infinite where something has no noise."""
        exact = self.laplace.cost(near & self.laplace.queried)
        counted, normal = self._normal.get(near, (0, 0.0))
        for entry in self.gaussian[counted:]:
            shift = up(entry.moves(self.laplace.evidence, near) / entry.scale, 4)
            normal = up(normal + gaussian_epsilon(shift, down(float(entry.delta))), 1)
        self._normal[near] = len(self.gaussian), normal
        return math.inf if exact is None else up(rounded_up(exact) + normal, 1)


def fixed_sets(evidence: Influences, first: Entry, columns: Near) -> FixedSets:
    """Return the sets that suit a first release best: for every model and pair the near set of the least epsilon.

    Columns that it does not read stay far, where they can: a later answer may go out without noise.
    """
    chosen: list[tuple[str, tuple[Near, ...], NDArray[np.intp]]] = []
    costs, delta = DeltaCosts(laplace=NoiseCosts(evidence=evidence)).plus(first), down(float(first.delta))
    told, tells = 0.0 if first.noise == "gaussian" else delta, False
    for name in evidence.secrets:
        driven = evidence.driven(columns, name)
        groups = independent_groups(evidence.network, name, first.columns - driven)
        tried = (*groups, *first.near, first.columns)
        sets = tuple(dict.fromkeys((driven, *(driven | near for near in tried))))
        totals = np.stack([epsilon_of(costs, name, columns, near, told) for near in sets])
        best = np.argmin(totals, axis=0)
        chosen.append((name, sets, best))
        tells = tells or any(_tells(evidence, name, columns - sets[int(k)], best == k) for k in np.unique(best))
    return FixedSets(columns=columns, near=tuple(chosen), first=first, tells=tells)


def _tells(evidence: Influences, attribute: str, far: Near, where: NDArray[np.bool_]) -> bool:
    try:
        return bool(np.any(evidence.influence(far, attribute).values[where] > 0))
    except SizeError:
        return True


def epsilon_with_delta(costs: DeltaCosts, fixed: FixedSets, told: Fraction, noise: Fraction) -> float:
    """Return the epsilon of all releases with the near sets that were fixed; infinite if there is none.

    Parameters
    ----------
    costs : DeltaCosts
        Of all releases.
    fixed : FixedSets
    told, noise : Fraction
        The delta for what the far columns tell, and that for noise.
    """
    if costs.spent > noise or not costs.laplace.queried <= fixed.columns:
        return math.inf
    if not all(entry.columns <= fixed.columns for entry in costs.gaussian):
        return math.inf
    worst = 0.0
    for name, sets, chosen in fixed.near:
        for k in np.unique(chosen):
            totals = epsilon_of(costs, name, fixed.columns, sets[int(k)], down(float(told)) if told else 0.0)
            worst = max(worst, float(np.max(totals[chosen == k])))
    return worst


def epsilon_of(costs: DeltaCosts, attribute: str, columns: Near, near: Near, told: float) -> FloatArray:
    """Return the epsilon of releases with one near set, of shape (models, pairs).

    Parameters
    ----------
    costs : DeltaCosts
    attribute : str
        The protected attribute.
    columns, near : frozenset of str
        The columns that may be queried, and those that noise hides.
    told : float
        The delta for what the other columns tell.
    """
    evidence = costs.laplace.evidence
    try:
        influence = evidence.influence(columns - near, attribute)
    except SizeError:
        return np.full(evidence.influence(frozenset(), attribute).values.shape, math.inf)
    pure = np.maximum(influence.values, 0.0)
    losses = influence.losses
    if told > 0 and not isinstance(losses, Refusal):
        pure = np.minimum(pure, _level(losses, float(pure.max(initial=0.0)), told))
    return np.where(np.isneginf(influence.values), 0.0, (pure + costs.cost(near)) * (1 + 2.0**-51))


def _level(losses: PrivacyLosses, most: float, delta: float) -> float:
    """Return the least level, up to `most`, at which what columns tell passes by delta at most, for all pairs."""
    low, high = 0.0, most if math.isfinite(most) else LARGEST_LEVEL
    if float(np.max(losses.excess(high), initial=0.0)) > delta:
        return most
    return _least(lambda level: float(np.max(losses.excess(level), initial=0.0)) <= delta, low, high)


@lru_cache(maxsize=2**14)
def gaussian_epsilon(mu: float, delta: float) -> float:
    """Return the least epsilon at which a shift of mu standard deviations has at most so much delta, rounded up.

    Examples
    --------
    >>> round(gaussian_epsilon(1.0, 1e-5), 4)
    4.3772
    """
    if mu == 0:
        return 0.0
    if delta <= 0 or not math.isfinite(mu):
        return math.inf
    if gaussian_delta(mu, 0.0) <= delta:
        return 0.0
    low, high = 0.0, 1.0
    while gaussian_delta(mu, high) > delta:
        low, high = high, 2 * high
        if high > 2.0**40:
            return math.inf
    return _least(lambda epsilon: gaussian_delta(mu, epsilon) <= delta, low, high)


def _least(holds: Callable[[float], bool], low: float, high: float) -> float:
    """The least number between two ends at which something holds that holds at the upper one, rounded up."""
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
