"""What the noise of releases costs, as a function of the columns that it hides."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import final

from bnpriv.accounting.entries import Entry, Near
from bnpriv.evidence.structural import Influences
from bnpriv.queries.sensitivity import separate_columns

RatedEntry = tuple[Entry, Fraction | None]


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class NoiseCosts:
    """The cost of the noise of all releases that count by quilts; one more release costs the same however many are in.

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
        """The terms with those of one more release."""
        rate = _rate(entry.scale) if entry.noise == "laplace" else None
        first, earlier = self.terms.get(entry.key, (entry, Fraction(0)))
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
        """Return what the noise costs that hides `near`, exactly; None where something has no noise."""
        if near & self.bare:
            return None
        if near not in self._costs:
            if self._last is not None and near in self._earlier:
                self._costs[near] = self._earlier[near] + self._cost(self._last, near)
            else:
                self._costs[near] = sum((self._cost(term, near) for term in self.terms.values()), Fraction(0))
        return self._costs[near]

    def rough(self, near: Near) -> float:
        """Return the cost as a double, rounded to nearest; infinite above the largest."""
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
        """What a term costs; near columns move no answer without noise, or nothing bounds it at all."""
        entry, rate = term
        return Fraction(0) if rate is None else rate * self._sensitivity(entry, near)

    def _sensitivity(self, entry: Entry, near: Near) -> Fraction:
        key = entry.key, near & entry.columns
        if key not in self._moved:
            self._moved[key] = Fraction(entry.moves(self.evidence, near))
        return self._moved[key]


def _joined(blocks: Iterable[Near], more: Iterable[Near]) -> tuple[Near, ...]:
    """Return blocks of which no two overlap."""
    found = list(blocks)
    for each in more:
        met = [block for block in found if block & each]
        found = [*(block for block in found if not block & each), each.union(*met)]
    return tuple(sorted(found, key=sorted))


def _rate(scale: float) -> Fraction:
    """Return one over a scale, rounded up to 90 binary digits: sums of such numbers stay short."""
    places = 90 + math.frexp(scale)[1]
    return Fraction(math.ceil(Fraction(2) ** places / Fraction(scale)), 1) / Fraction(2) ** places
