"""Entries of an accountant, and what releases tell together: least costs at the worst model and pair."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Literal, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from bnpriv.bound import KINDS, Bound, FloatArray, Kind, down, halved, up
from bnpriv.core.evidence.structural import Influences, influences
from bnpriv.core.gaussian_curve import gaussian_delta
from bnpriv.core.influence.base import Influence, PrivacyLosses
from bnpriv.core.mechanisms.base import Calibration
from bnpriv.core.mechanisms.certificate import Decision
from bnpriv.core.mechanisms.column import ColumnMechanism
from bnpriv.core.mechanisms.quilt import Best, Branches, independent_groups
from bnpriv.core.noise import ContinuousNoise, Gaussian, Laplace, is_none
from bnpriv.core.queries.asked import Weighted
from bnpriv.core.queries.base import GivenAnswer, Query
from bnpriv.core.queries.sensitivity import separate_columns
from bnpriv.core.secrets import Pair, SecretPair
from bnpriv.digest import digest
from bnpriv.errors import LedgerError, QueryError, Refusal, SizeError
from bnpriv.kind import notion_of
from bnpriv.services import service
from bnpriv.text import Json

# --------------------------------------------------------------------------------------------------
# Exact numbers of budgets: what a person types is what is meant.
# --------------------------------------------------------------------------------------------------


def typed(number: float) -> Fraction:
    """The shortest decimal that stands for a double: .1 is one tenth, not the double next to it.

    Examples
    --------
    >>> 3 * typed(0.1) == typed(0.3)
    True
    """
    return Fraction(repr(float(number)))


def rounded_up(number: Fraction) -> float:
    """The least double not below an exact number; infinite above the largest.

    Examples
    --------
    >>> rounded_up(Fraction(3, 10)), rounded_up(Fraction(1, 3)) >= Fraction(1, 3)
    (0.3, True)
    """
    try:
        nearest = number.numerator / number.denominator
    except OverflowError:
        return math.inf
    # .3 stands for three tenths, though the double itself is a little less
    if typed(nearest) == number:
        return nearest
    return nearest if Fraction(nearest) >= number else math.nextafter(nearest, math.inf)


# --------------------------------------------------------------------------------------------------
# Families of releases: which theorem counts a release beside others.
# --------------------------------------------------------------------------------------------------

ReleaseFamily = Literal["column", "quilt", "records", "own law"]
RELEASE_FAMILIES: tuple[ReleaseFamily, ...] = ("column", "quilt", "records", "own law")

ADDED: Mapping[frozenset[ReleaseFamily], str] = {
    frozenset({"column"}): "theorem 2a",
    frozenset({"column", "quilt"}): "theorem 2a",
    frozenset({"column", "own law"}): "theorem 2b",
    frozenset({"column", "records"}): "theorem 2a",
    frozenset({"quilt"}): "theorem 1",
    frozenset({"records"}): "theorem 4",
}
"""The theorem that counts two releases of such families together (docs/claims/accountant.md); all else is refused."""


JOINTLY = "Ask all questions at once, with bp.stack(...), or give the others noise that composes: ColumnMechanism."


def counted_as(calibration: Calibration) -> tuple[ReleaseFamily, str]:
    """The family that a calibration counts as, and why it counts by its own law alone, if it does.

    Examples
    --------
    >>> import bnpriv as bp
    >>> question = (bp.example("student"), bp.count(bp.col("height") > 180))
    >>> [
    ...     counted_as(each.calibrate(*question, epsilon=1.0))[0]
    ...     for each in (bp.MarkovQuiltMechanism(), bp.ColumnMechanism())
    ... ]
    ['quilt', 'column']
    """
    if isinstance(calibration.mechanism, ColumnMechanism):
        return "column", ""
    framework, query = calibration.framework, calibration.query
    quilts, reason = influences(framework), _uncounted(calibration)
    if isinstance(quilts, Influences):
        reason = quilts.no_quilts or reason or quilts.covers(query.columns)
        return ("own law", reason.found) if reason else ("quilt", "")
    # what a notion has no influences for may count record by record
    together = notion_of(framework).together(framework)
    if isinstance(together, Refusal):
        return "own law", quilts.found
    # records count by the query itself, which is stored as its text
    reason = reason or (UNSAID if _said_by(query) is None else together.covers(query))
    return ("own law", reason.found) if reason else ("records", "")


def _uncounted(calibration: Calibration) -> Refusal | None:
    """Why an answer does not count by its query and noise; None if it does."""
    if isinstance(calibration.query, GivenAnswer):
        return Refusal(
            required="noise counts by the columns that a query reads",
            found="distributions of an answer alone",
            remedy="Pass query=... and schema=... to the framework.",
        )
    if calibration.noise.accounted_noise() is None and not is_none(calibration.noise):
        return Refusal(
            required="noise that is added to an answer counts by its scale",
            found="a table of outputs, which is private for the declared distributions of this one answer alone",
            remedy="Use a mechanism that adds noise, such as TightMechanism.",
        )
    return None


UNSAID = Refusal(
    required="records count by a query that its text says",
    found="the caller's own function, or a query too long to be stored",
    remedy="Ask for counts, totals or means.",
)

# --------------------------------------------------------------------------------------------------
# A release as an accountant keeps it: facts that can be stored and read again.
# --------------------------------------------------------------------------------------------------

NOISES: tuple[ContinuousNoise | None, ...] = ("laplace", "gaussian", None)

MOST_QUERIES_KEPT = 256
"""The most queries parsed from their texts that are cached."""

Near = frozenset[str]

Name = TypeVar("Name")


@dataclass(frozen=True, kw_only=True, eq=False)
class Entry:
    """A recorded release, with everything that its cost depends on.

    It holds what a store keeps and nothing else, so that it counts the same before and after it was read again.

    Parameters
    ----------
    mechanism, text : str
        The mechanism and the query in words.
    columns : frozenset of str
        The columns that the query reads.
    noise : {"laplace", "gaussian"} or None
        What the noise counts as; None without noise, or where a number of the answer has none.
    scale : float
    weights : tuple of float
        Number j has noise of ``scale / weights[j]``; empty if all weights are 1.
    moved : float
        How far a change of all its columns moves the weighted answer, in the norm of the noise.
    steps : tuple of (str, float)
        The same for a change of each column alone, where the text does not say the query: it is the caller's own
        function, or too long to be read again. Empty where the text says it.
    family : {"column", "quilt", "own law"}
    epsilon, delta : Fraction
        Of its own guarantee, as they were typed.
    kind : {"exact", "certified", "estimate"}
    near : tuple of frozenset of str
        The near sets that its own calibration found best.
    alone : str
        Why it counts by its own law alone; "" if it does not.
    confidence : float or None
        With which confidence over draws from the model its own guarantee holds; None where it rests on no draws.
    record : tuple of (Fraction, Fraction) or None
        The (epsilon, delta) of differential privacy by which it counts, for tables that differ in one record; None of a
        release that counts by its query and noise.
    """

    mechanism: str
    text: str
    columns: Near
    noise: ContinuousNoise | None
    scale: float
    weights: tuple[float, ...] = ()
    moved: float
    steps: tuple[tuple[str, float], ...] = ()
    family: ReleaseFamily
    epsilon: Fraction
    delta: Fraction
    kind: Kind
    near: tuple[Near, ...] = ()
    alone: str = ""
    confidence: float | None = None
    record: tuple[Fraction, Fraction] | None = None

    def __post_init__(self) -> None:
        finite = (self.scale, *self.weights) if self.noise is not None else self.weights
        if not all(0 < each < math.inf for each in finite):
            raise ValueError("noise needs scales above 0")
        # only entries of this family are counted by query and noise, others by their declared epsilon
        if self.family != "quilt":
            return
        named = self.columns if self.query is None else self.query.columns
        if self.columns != named or (self.steps and self.columns != frozenset(name for name, _ in self.steps)):
            raise ValueError("a query has the columns that it reads")
        if not all(each < math.inf for each in (self.moved, *(step for _, step in self.steps))):
            raise ValueError("a release counts by how far its answer moves")

    @staticmethod
    def of(calibration: Calibration) -> Entry:
        """The entry of a calibration.

        Examples
        --------
        >>> import bnpriv as bp
        >>> query = bp.count(bp.col("height") > 180)
        >>> entry = Entry.of(bp.ColumnMechanism().calibrate(bp.example("student"), query, epsilon=0.1))
        >>> entry.family, entry.epsilon
        ('column', Fraction(1, 10))
        """
        family, alone = counted_as(calibration)
        # discrete Laplace noise counts as Laplace noise of its scale; which mechanism chose it does not matter
        noise = calibration.noise.accounted_noise()
        if min(calibration.noise.scales) == 0:  # what some numbers have hides nothing of the others
            noise = None
        evidence = influences(calibration.framework)
        query, weights = calibration.query, () if noise is None else noise.weights
        norm: Literal[1, 2] = 2 if isinstance(noise, Gaussian) else 1
        counted = Weighted(asked=query, weights=weights) if weights else query
        moved, steps = math.inf, tuple[tuple[str, float], ...]()
        if isinstance(evidence, Influences) and family == "quilt":
            moved = evidence.sensitivity(counted, query.columns, norm).upper
            # the text does not say this very query: what is stored instead is how far each column moves the answer
            if _said_by(query) is None:
                each = {name: evidence.sensitivity(counted, frozenset({name}), norm) for name in query.columns}
                steps = tuple(sorted((name, alone.upper) for name, alone in each.items()))
        return Entry(
            mechanism=str(calibration.mechanism),
            text=str(query),
            columns=query.columns,
            noise="laplace" if isinstance(noise, Laplace) else "gaussian" if isinstance(noise, Gaussian) else None,
            scale=0.0 if noise is None else noise.scale,
            weights=weights,
            moved=moved,
            steps=steps,
            family=family,
            epsilon=typed(calibration.guarantee.epsilon),
            delta=typed(calibration.guarantee.delta),
            kind=calibration.guarantee.kind,
            near=tuple(each.queried_near for each in calibration.certificate.decisions if isinstance(each, Decision)),
            alone=alone,
            confidence=calibration.guarantee.confidence,
        )

    @cached_property
    def query(self) -> Query | None:
        """The query, where its text determines it."""
        return None if self.steps else _said(self.text)

    @cached_property
    def counted(self) -> Query | None:
        """The weighted query: its sensitivity over the scale is what the noise lets through."""
        return Weighted(asked=self.query, weights=self.weights) if self.query and self.weights else self.query

    @cached_property
    def key(self) -> str:
        """A key that is equal for releases whose answers move alike."""
        if self.counted is None:
            return digest((self.text, self.weights, self.moved, self.steps, tuple(sorted(self.columns))))
        return digest((self.counted, self.noise))

    def moves(self, evidence: Influences, near: Near) -> float:
        """How far a change of near columns moves the weighted answer.

        Where the query is not known this is a bound: neither all columns together nor one after the other move further.
        """
        near = near & self.columns
        if not near:
            return 0.0
        if self.counted is not None:
            return evidence.sensitivity(self.counted, near, 2 if self.noise == "gaussian" else 1).upper
        steps = [step for name, step in self.steps if name in near]
        # neither all columns together move it further, nor one after the other (triangle inequality)
        return min(self.moved, steps[0] if len(steps) == 1 else up(math.fsum(steps))) if steps else self.moved

    @property
    def adds(self) -> bool:
        """Whether the columns of an unknown query move the answer as far together as one after the other."""
        return bool(self.steps) and sum(Fraction(step) for _, step in self.steps) <= Fraction(self.moved)

    def to_json(self) -> Json:
        """The entry as plain values; exact numbers as text."""
        steps: Json = {"steps": {name: step.hex() for name, step in self.steps}} if self.steps else {}
        record: Json = {} if self.record is None else {"record": list(map(str, self.record))}
        return {
            "mechanism": self.mechanism,
            "query": self.text,
            "columns": sorted(self.columns),
            "noise": self.noise,
            "scale": self.scale.hex(),
            "weights": [weight.hex() for weight in self.weights],
            "moved": self.moved.hex(),
            "family": self.family,
            "epsilon": str(self.epsilon),
            "delta": str(self.delta),
            "kind": self.kind,
            "near": [sorted(near) for near in self.near],
            "alone": self.alone,
            "confidence": None if self.confidence is None else self.confidence.hex(),
            **steps,
            **record,
        }

    @staticmethod
    def from_json(record: Mapping[str, object]) -> Entry:
        """Read an entry that `to_json` wrote.

        Earlier versions stored no steps: the largest change then counts for whatever part of the columns is near.

        Raises
        ------
        LedgerError
            If it is anything else.
        """
        try:
            noise = cast("ContinuousNoise | None", _one_of(record["noise"], NOISES))
            return Entry(
                mechanism=_text(record["mechanism"]),
                text=_text(record["query"]),
                columns=_names(record["columns"]),
                noise=noise,
                scale=_number(record["scale"]),
                weights=tuple(map(_number, cast("list[object]", record["weights"]))),
                moved=_number(record["moved"]),
                steps=_steps(record.get("steps", {})),
                family=_one_of(record["family"], RELEASE_FAMILIES),
                epsilon=_fraction(record["epsilon"]),
                delta=_fraction(record["delta"]),
                kind=_one_of(record["kind"], KINDS),
                near=tuple(map(_names, cast("list[object]", record["near"]))),
                alone=_text(record["alone"]),
                confidence=None if record["confidence"] is None else _number(record["confidence"]),
                record=_record(record.get("record")),
            )
        except (KeyError, TypeError, ValueError, ZeroDivisionError, OverflowError):
            raise LedgerError(
                "a stored release must be what was stored",
                found="a record that cannot be read",
                remedy="Do not edit the ledger; bnpriv ledger verify tells where it was changed.",
            ) from None


@lru_cache(maxsize=MOST_QUERIES_KEPT)
def _said(text: str) -> Query | None:
    """The query of which this is the exact text, or None."""
    try:
        query: Query = service("query.parse")(text)
    except QueryError:
        return None
    return query if str(query) == text else None


def _said_by(query: Query) -> Query | None:
    """The query as its text says it, or None where that is another one, or none."""
    said = _said(str(query))
    return said if said is not None and digest(said) == digest(query) else None


def _record(value: object) -> tuple[Fraction, Fraction] | None:
    if value is None:
        return None
    epsilon, delta = cast("list[object]", value)
    return _fraction(epsilon), _fraction(delta)


def _one_of(value: object, names: tuple[Name, ...]) -> Name:
    return names[names.index(cast(Name, value))]


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _names(value: object) -> Near:
    if not isinstance(value, list):
        raise TypeError
    return frozenset(map(_text, cast("list[object]", value)))


def _steps(value: object) -> tuple[tuple[str, float], ...]:
    if not isinstance(value, Mapping):
        raise TypeError
    return tuple(sorted((_text(name), _number(step)) for name, step in cast("Mapping[object, object]", value).items()))


def _number(value: object) -> float:
    found = float.fromhex(_text(value))
    if not found >= 0:
        raise ValueError
    return found


def _fraction(value: object) -> Fraction:
    found = Fraction(_text(value))
    if found < 0:
        raise ValueError
    return found


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
