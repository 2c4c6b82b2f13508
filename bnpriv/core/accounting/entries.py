"""Entries of an accountant: the facts about a release from which its cost follows, and what adds to what."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Literal, TypeVar, cast

from bnpriv.bound import KINDS, Kind, up
from bnpriv.core.evidence.structural import Influences, influences
from bnpriv.core.mechanisms.base import Calibration
from bnpriv.core.mechanisms.certificate import Decision
from bnpriv.core.mechanisms.column import ColumnMechanism
from bnpriv.core.noise import ContinuousNoise, Gaussian, Laplace, is_none
from bnpriv.core.queries.asked import Weighted
from bnpriv.core.queries.base import GivenAnswer, Query
from bnpriv.digest import digest
from bnpriv.errors import LedgerError, QueryError, Refusal
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
