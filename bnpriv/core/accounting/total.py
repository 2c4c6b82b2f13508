"""What releases tell together: least costs over near sets and columns, at the worst model and pair."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from bnpriv.bound import Bound, FloatArray, Kind, down, halved, up
from bnpriv.core.accounting.entries import Entry, Near, rounded_up
from bnpriv.core.evidence.structural import Influences
from bnpriv.core.gaussian_curve import gaussian_delta
from bnpriv.core.influence.base import Influence, PrivacyLosses
from bnpriv.core.mechanisms.quilt import Best, Branches, independent_groups
from bnpriv.core.queries.sensitivity import separate_columns
from bnpriv.core.secrets import Pair, SecretPair
from bnpriv.errors import Refusal, SizeError

# --------------------------------------------------------------------------------------------------
# The cost of the noise of releases, as a function of the columns that it hides.
# --------------------------------------------------------------------------------------------------

RatedEntry = tuple[Entry, Fraction | None]


@dataclass(frozen=True, kw_only=True, eq=False)
class NoiseCosts:
    """The cost of the noise of all releases that count by quilts; adding one costs the same for any number.

    Parameters
    ----------
    evidence : Influences
    terms : mapping from str to (Entry, Fraction or None)
        For each query, by the key of its releases, one of them and the sum of one over the scale of each; None where
        one of them has no noise that counts.
    queried : frozenset of str
        All columns that are queried.
    bare : frozenset of str
        The columns that move an answer without noise: no noise hides them.
    blocks : tuple of frozenset of str
        Columns in blocks whose costs add, for every query.
    """

    evidence: Influences
    terms: Mapping[str, RatedEntry] = field(default_factory=dict[str, RatedEntry])
    queried: Near = frozenset()
    bare: Near = frozenset()
    blocks: tuple[Near, ...] = ()
    _last: RatedEntry | None = None
    _earlier: Mapping[Near, Fraction] = field(default_factory=dict[Near, Fraction])
    _costs: dict[Near, Fraction] = field(default_factory=dict[Near, Fraction])
    _moved: dict[tuple[str, Near], Fraction] = field(default_factory=dict[tuple[str, Near], Fraction])

    def plus(self, entry: Entry) -> NoiseCosts:
        """The costs with those of one more release."""
        rate = _rate(entry.scale) if entry.noise == "laplace" else None
        first, earlier = self.terms.get(entry.key, (entry, Fraction(0)))
        # an answer without noise can be read: whatever moves it must stay far
        open_columns = entry.columns if rate is None else frozenset[str]()
        return NoiseCosts(
            evidence=self.evidence,
            terms={**self.terms, entry.key: (first, None if rate is None or earlier is None else earlier + rate)},
            queried=self.queried | entry.columns,
            bare=self.bare.union(name for name in open_columns if self._sensitivity(entry, frozenset({name})) > 0),
            blocks=self.blocks if entry.key in self.terms else _joined(self.blocks, self._apart(entry)),
            _last=(entry, rate),
            _earlier=self._costs,
            _moved=self._moved,
        )

    def cost(self, near: Near) -> Fraction | None:
        """The exact cost of the noise that hides `near`; None where some release has no noise."""
        if near & self.bare:
            return None
        if near not in self._costs:
            # all earlier terms were summed before: only the newest is added
            if self._last is not None and near in self._earlier:
                self._costs[near] = self._earlier[near] + self._cost(self._last, near)
            else:
                self._costs[near] = sum((self._cost(term, near) for term in self.terms.values()), Fraction(0))
        return self._costs[near]

    def rough(self, near: Near) -> float:
        """The cost as a double, rounded to nearest; infinite above the largest."""
        cost = self.cost(near)
        try:
            return math.inf if cost is None else float(cost)
        except OverflowError:
            return math.inf

    def _apart(self, entry: Entry) -> Iterable[Near]:
        apart = () if entry.adds else (entry.columns,)
        if entry.counted is not None:
            apart = separate_columns(entry.counted, self.evidence.schema, 1)
        return (*(frozenset({name}) for name in entry.columns), *apart)

    def _cost(self, term: RatedEntry, near: Near) -> Fraction:
        """The cost of one term; without noise, near columns either move no answer or nothing bounds the cost."""
        entry, rate = term
        return Fraction(0) if rate is None else rate * self._sensitivity(entry, near)

    def _sensitivity(self, entry: Entry, near: Near) -> Fraction:
        key = entry.key, near & entry.columns
        if key not in self._moved:
            self._moved[key] = Fraction(entry.moves(self.evidence, near))
        return self._moved[key]


def _joined(blocks: Iterable[Near], more: Iterable[Near]) -> tuple[Near, ...]:
    """Blocks of columns, merged until no two overlap."""
    found = list(blocks)
    for each in more:
        met = [block for block in found if block & each]
        found = [*(block for block in found if not block & each), each.union(*met)]
    return tuple(sorted(found, key=sorted))


def _rate(scale: float) -> Fraction:
    """One over a scale, rounded up to 90 binary digits, so that sums of such numbers stay short."""
    places = 90 + math.frexp(scale)[1]
    return Fraction(math.ceil(Fraction(2) ** places / Fraction(scale)), 1) / Fraction(2) ** places


# --------------------------------------------------------------------------------------------------
# What releases that count by quilts tell together: the least cost over near sets, at the worst model and pair.
# --------------------------------------------------------------------------------------------------

ROUGH = 1e-12
"""Relative error of totals that are sums of doubles."""

MOST_SETS = 20_000
"""The most near sets and branches that are tried for one protected attribute."""


@dataclass(frozen=True, kw_only=True)
class Share:
    """What releases together tell about one protected attribute, at the worst pair and model.

    Parameters
    ----------
    protected : str
    pair : Pair
    model : int
    near : frozenset of str
        The columns that noise hides.
    influence : Bound
        What the other queried columns tell, in nats; paid once.
    noise : Fraction
        What the noise of all releases costs.
    tried : tuple of frozenset of str
        The near sets that are best for some pair and model, from which a later search starts.
    complete : bool
        Whether the search was finished: the total is then the least that follows from any quilt.
    """

    protected: str
    pair: Pair | None
    model: int
    near: Near
    influence: Bound
    noise: Fraction | None
    tried: tuple[Near, ...]
    complete: bool = True

    @property
    def total(self) -> Fraction | None:
        """Influence plus noise, exactly; None where nothing bounds them."""
        if self.noise is None or math.isinf(self.influence.upper):
            return None
        return Fraction(self.influence.upper) + self.noise

    @property
    def kind(self) -> Kind:
        """How well the influence is known."""
        return self.influence.kind


def shares_of(terms: NoiseCosts, start: Sequence[Share] = ()) -> tuple[Share, ...]:
    """What all releases of `terms` tell about every protected attribute, most first.

    Parameters
    ----------
    terms : NoiseCosts
    start : sequence of Share
        Those of fewer releases: their near sets are tried first.
    """
    before = {share.protected: share.tried for share in start}
    found = [
        _NearSearch(evidence=terms.evidence, terms=terms, attribute=name).share(before.get(name, ()))
        for name in terms.evidence.secrets
    ]
    return tuple(sorted(found, key=lambda share: math.inf if share.total is None else share.total, reverse=True))


@dataclass(kw_only=True)
class _NearSearch:
    """Branch and bound over near sets for one protected attribute, as in a mechanism with scale 1."""

    evidence: Influences
    terms: NoiseCosts
    attribute: str
    left: int = MOST_SETS
    rough: dict[Near, float] = field(default_factory=dict[Near, float])

    def share(self, start: Iterable[Near]) -> Share:
        """The best near set for the pair and model that need most."""
        driven = self.evidence.driven(self.terms.queried, self.attribute)
        best = Best.start(self._influence(frozenset()).values)
        # the near sets of the last total are valid for this one, and seldom far from the best
        # the first near sets to try: as few columns as must be near, then as many as may be, group by group
        may = self.terms.queried - self.terms.bare
        groups = independent_groups(self.evidence.network, self.attribute, may - driven)
        for near in dict.fromkeys((*start, driven, *(driven | group for group in groups), may | driven)):
            self._try(best, (near & self.terms.queried) | driven)
        proven, complete = -math.inf, True
        while complete and best.scale.max() > max(proven, 0.0) and not driven & self.terms.bare:
            model, k, _ = best.worst()
            complete = self._improve(best, model, k, driven)
            proven = max(proven, float(best.scale[model, k]))
        return self._share(best, complete=complete)

    def _improve(self, best: Best, model: int, k: int, driven: Near) -> bool:
        """Lower one entry as far as it goes; False if that takes too much work."""
        pair = self.evidence.secrets[self.attribute][k]
        branches = Branches(
            network=self.evidence.network,
            attribute=self.attribute,
            queried=self.terms.queried,
            blocks=self.terms.blocks if not self.terms.bare else (self.terms.queried,),
            adds=isinstance(pair, SecretPair) and pair.is_point,
            told=lambda columns: float(self._told(columns)[model, k]),
            moved=self._rough,
        )
        return branches.search(
            driven,
            self.terms.bare - driven,
            lambda: (1.0, min(float(best.scale[model, k]), 2.0**60)),
            lambda near: self._try(best, near),
            self._spend,
        )

    def _spend(self) -> bool:
        self.left -= 1
        return self.left >= 0

    def _try(self, best: Best, near: Near) -> bool:
        """Offer a near set, unless a column in it has no noise, or its influence takes too large tables."""
        if not near & self.terms.bare:
            with suppress(SizeError):
                values = self._influence(self.terms.queried - near).values
                total = np.where(np.isneginf(values), 0.0, np.maximum(values, 0.0) + self._rough(near))
                best.offer(near, total, values)
        return True

    def _told(self, columns: Near) -> FloatArray:
        """A lower bound on what columns tell, per model and pair."""
        try:
            influence = self._influence(columns)
        except SizeError:
            return np.full(self._influence(frozenset()).values.shape, -np.inf)
        return influence.values if influence.kind != "certified" else np.minimum(influence.values, 0.0)

    def _rough(self, near: Near) -> float:
        if near not in self.rough:
            self.rough[near] = self.terms.rough(near)
        return self.rough[near]

    def _influence(self, columns: Near) -> Influence:
        return self.evidence.influence(columns, self.attribute)

    def _share(self, best: Best, *, complete: bool) -> Share:
        """The share in exact numbers: the largest of those entries that rounding may have misordered."""
        if not best.tried:
            near = (self.terms.queried - self.terms.bare) | self.evidence.driven(self.terms.queried, self.attribute)
            return self._of(0, 0, near, self._influence(self.terms.queried - near), None, best, complete)
        highest = float(best.scale.max())
        constrained = ~np.isneginf(best.told)
        # doubles have ordered the entries; among those within their error exact fractions decide
        close = (best.scale >= highest * (1 - ROUGH)) & constrained
        places = np.argwhere(close) if math.isfinite(highest) else [best.worst()[:2]]
        found = [(int(model), int(k), best.tried[int(best.chosen[model, k])]) for model, k in places]
        shares = [
            self._of(model, k, near, self._influence(self.terms.queried - near), self.terms.cost(near), best, complete)
            for model, k, near in found
        ]
        return max(shares, key=lambda share: (math.inf if share.total is None else share.total, share.influence.upper))

    def _of(
        self, model: int, k: int, near: Near, influence: Influence, noise: Fraction | None, best: Best, complete: bool
    ) -> Share:
        told = max(0.0, float(influence.values[model, k]))
        low = max(0.0, told - 2 * influence.error) if influence.kind == "exact" and math.isfinite(told) else 0.0
        return Share(
            protected=self.attribute,
            pair=influence.pairs[k],
            model=model,
            near=near,
            influence=Bound(low, told, influence.kind),
            noise=noise,
            tried=tuple(best.tried[each] for each in sorted(set(best.chosen.ravel().tolist()))) if best.tried else (),
            complete=complete,
        )


# --------------------------------------------------------------------------------------------------
# What releases tell together with delta: near sets and columns are fixed by the first release.
# --------------------------------------------------------------------------------------------------

HALVINGS = 60
"""Bisection steps in the search for the least epsilon."""

LARGEST_LEVEL = 1_000.0
"""The highest level that is searched where single columns tell without bound."""


@dataclass(frozen=True, kw_only=True, eq=False)
class FixedSets:
    """What the first release fixes: the columns that may be queried, near sets, and how delta is divided.

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
        """The part of a delta for what the far columns tell; the rest is for noise.

        It must not depend on anything that an answer reveals: otherwise the two parts could not be added.
        """
        if not self.tells or not self.first.delta:
            return Fraction(0)
        # for Laplace noise all of the first delta is for the quilt, Gaussian noise needs some of it (accountant.md)
        own = min(self.first.delta, delta)
        return min(own, delta / 2) if self.first.noise == "gaussian" else max(own, delta / 2)


@dataclass(frozen=True, kw_only=True, eq=False)
class DeltaCosts:
    """The cost of the noise of releases, where those with Gaussian noise have a delta.

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
        """The costs with those of one more release."""
        known = dict(self._normal)
        if entry.noise != "gaussian":
            return replace(self, laplace=self.laplace.plus(entry), _normal=known)
        return replace(self, gaussian=(*self.gaussian, entry), spent=self.spent + entry.delta, _normal=known)

    def cost(self, near: Near) -> float:
        """The sum of epsilons of the noise that hides `near`, rounded up; infinite where something has no noise."""
        exact = self.laplace.cost(near & self.laplace.queried)
        counted, normal = self._normal.get(near, (0, 0.0))
        # plain sums: losses may be convolved only where all noise is fixed before any answer is seen
        for entry in self.gaussian[counted:]:
            shift = up(entry.moves(self.laplace.evidence, near) / entry.scale, 4)
            normal = up(normal + gaussian_epsilon(shift, down(float(entry.delta))), 1)
        self._normal[near] = len(self.gaussian), normal
        return math.inf if exact is None else up(rounded_up(exact) + normal, 1)


def fixed_sets(evidence: Influences, first: Entry, columns: Near) -> FixedSets:
    """The near sets that suit a first release best: for every model and pair the one of least epsilon.

    Columns that it does not read stay far where possible: a later answer may then go out without noise.
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
        # not known, so delta is set aside as if they told something
        return True


def epsilon_with_delta(costs: DeltaCosts, fixed: FixedSets, told: Fraction, noise: Fraction) -> float:
    """The epsilon of all releases with the near sets that were fixed; infinite if there is none.

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
    """The epsilon of releases with one near set, of shape (models, pairs).

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
    # what is told is paid once for all releases, the noise of each release comes on top
    pure = np.maximum(influence.values, 0.0)
    losses = influence.losses
    if told > 0 and not isinstance(losses, Refusal):
        pure = np.minimum(pure, _level(losses, float(pure.max(initial=0.0)), told))
    return np.where(np.isneginf(influence.values), 0.0, (pure + costs.cost(near)) * (1 + 2.0**-51))


def _level(losses: PrivacyLosses, most: float, delta: float) -> float:
    """The least level, up to `most`, that what columns tell exceeds by at most `delta`, for all pairs."""
    low, high = 0.0, most if math.isfinite(most) else LARGEST_LEVEL
    if float(np.max(losses.excess(high), initial=0.0)) > delta:
        return most
    return halved(low, high, lambda level: float(np.max(losses.excess(level), initial=0.0)) <= delta, HALVINGS)[1]


@lru_cache(maxsize=2**14)
def gaussian_epsilon(mu: float, delta: float) -> float:
    """The least epsilon at which a shift of mu standard deviations has at most this delta, rounded up.

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
    return halved(low, high, lambda epsilon: gaussian_delta(mu, epsilon) <= delta, HALVINGS)[1]
