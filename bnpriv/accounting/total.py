"""What releases that count by quilts tell together: the least cost over near sets, at the worst model and pair."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction
from typing import final

import numpy as np

from bnpriv.accounting.costs import Near, NoiseCosts
from bnpriv.bound import Bound, FloatArray, Kind
from bnpriv.errors import SizeError
from bnpriv.evidence.structural import Influences
from bnpriv.influence.base import Influence
from bnpriv.mechanisms.quilt_branches import Branches, independent_groups
from bnpriv.mechanisms.quilt_scales import Best
from bnpriv.secrets.pair import Pair
from bnpriv.secrets.states import SecretPair

ROUGH = 1e-12
"""Relative error of totals that are sums of doubles."""

MOST_SETS = 20_000
"""Near sets and branches that are looked at for one protected attribute."""


@final
@dataclass(frozen=True, kw_only=True)
class Share:
    """What releases together tell about one protected attribute, at the pair and model where it is most.

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
        """Influence and noise together, exactly as they stand; None where nothing bounds them."""
        if self.noise is None or math.isinf(self.influence.upper):
            return None
        return Fraction(self.influence.upper) + self.noise

    @property
    def kind(self) -> Kind:
        """How well the influence is known."""
        return self.influence.kind


def shares_of(terms: NoiseCosts, start: Sequence[Share] = ()) -> tuple[Share, ...]:
    """Return for every protected attribute what all releases of `terms` tell about it, most first.

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
    """Branch and bound over near sets for one protected attribute, as for a mechanism with scale 1."""

    evidence: Influences
    terms: NoiseCosts
    attribute: str
    left: int = MOST_SETS
    rough: dict[Near, float] = field(default_factory=dict[Near, float])

    def share(self, start: Iterable[Near]) -> Share:
        """Return the best near set for the pair and model that need most."""
        driven = self.evidence.driven(self.terms.queried, self.attribute)
        best = Best.start(self._influence(frozenset()).values)
        for near in dict.fromkeys((*start, *self._natural(driven))):
            self._try(best, (near & self.terms.queried) | driven)
        proven, complete = -math.inf, True
        while complete and best.scale.max() > max(proven, 0.0) and not driven & self.terms.bare:
            model, k, _ = best.worst()
            complete = self._improve(best, model, k, driven)
            proven = max(proven, float(best.scale[model, k]))
        return self._share(best, complete=complete)

    def _natural(self, driven: Near) -> list[Near]:
        """Return near sets to begin with: as few columns as must be, then as many as may be, group by group."""
        may = self.terms.queried - self.terms.bare
        groups = independent_groups(self.evidence.network, self.attribute, may - driven)
        return [driven, *(driven | group for group in groups), may | driven]

    def _improve(self, best: Best, model: int, k: int, driven: Near) -> bool:
        """Lower one entry as far as it goes; return False if the work was too much."""
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
        """Offer a near set unless a column in it has no noise, or its influence takes too large tables."""
        if not near & self.terms.bare:
            with suppress(SizeError):
                values = self._influence(self.terms.queried - near).values
                total = np.where(np.isneginf(values), 0.0, np.maximum(values, 0.0) + self._rough(near))
                best.offer(near, total, values)
        return True

    def _told(self, columns: Near) -> FloatArray:
        """Return a lower bound of what columns tell, per model and pair."""
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
        """Return the share in exact numbers: the largest among the entries that rounding may have ordered wrongly."""
        if not best.tried:
            near = (self.terms.queried - self.terms.bare) | self.evidence.driven(self.terms.queried, self.attribute)
            return self._of(0, 0, near, self._influence(self.terms.queried - near), None, best, complete)
        highest = float(best.scale.max())
        constrained = ~np.isneginf(best.told)
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
