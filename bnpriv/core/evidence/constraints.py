"""Law evidence: pairs of laws of an answer that a guarantee must keep close."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from bnpriv.bound import UNIT_ROUNDOFF, Bound, FloatArray, Kind, up
from bnpriv.core.distributions import Atoms, Normal
from bnpriv.core.transport import lengths, tolerance
from bnpriv.core.whole_numbers import WholeLaw, nearest_doubles, summed
from bnpriv.errors import Refusal

AnswerLaw = Atoms | Normal


def log_ratio(first: Atoms, second: Atoms) -> float:
    """The largest log ratio of the masses of two laws, rounded up; infinite if one law alone has an atom."""
    if not np.array_equal(first.points, second.points):
        return math.inf
    rounding = UNIT_ROUNDOFF * max(first.largest_log, second.largest_log)
    return up(float(np.max(np.abs(first.logs - second.logs))) + first.error + second.error + rounding)


@dataclass(frozen=True, kw_only=True)
class DrawFacts:
    """How two laws were learned from independent draws (docs/claims/draws.md).

    Parameters
    ----------
    draws : int
        Of each law.
    confidence : float or None
        That of the guarantees; None for estimates.
    moved : float
        How far apart, in the 1-norm, gathering nearby draws can have moved two answers, each by half of it at most.
    variance : float
        The larger mean square of such a move, to the mean of the draws that are gathered.
    drift : float
        How far rounding may have taken such a mean off.
    share : float
        How often the rarer of the two secrets came up among the draws; 1 where nothing had to be waited for.
    effective : float, optional
        How many independent draws those of a posterior are worth that lie in the rarer of the two secrets; None where
        parameters are not taken from draws.
    """

    draws: int
    confidence: float | None
    moved: float
    variance: float
    drift: float
    share: float = 1.0
    effective: float | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class Departure:
    """How far a table's clamped answers depart from two normal laws (docs/claims/normal_records.md).

    Parameters
    ----------
    mass : float
        Probability, under either secret, that some record is clamped; what is then released is not bounded.
    moves : ndarray of shape (d,)
        How far apart each number of the answers under two secrets of the pair is at most, if the tables are moved into
        each other record by record, clamped or not; before grids and doubles move them.
    """

    mass: float
    moves: FloatArray

    def farthest(self, norm: float) -> float:
        """The largest distance of two answers in the 1-norm or 2-norm, rounded up."""
        return up(float(lengths(self.moves[:, np.newaxis], norm)[0]), 2 * self.moves.size + 8)


class SecretIntervals(Protocol):
    """What is known of a secret in one of two intervals, and of an answer that moves with it."""

    @property
    def distance(self) -> float:
        """How many deviations of the secret apart the values are that the two laws belong to."""
        ...

    def loss(self, scale: float) -> float:
        """The largest log ratio of the answer's densities with Laplace noise on every number, rounded up."""
        ...

    def gaussian_delta(self, mu: float, epsilon: float) -> float:
        """The curve with Gaussian noise, for an answer that moves by `mu` deviations with one of the secret."""
        ...

    def laplace_delta(self, gap: float, deviation: float, scale: float, epsilon: float) -> float:
        """The curve of one number with Laplace noise, if it moves by `gap` with one deviation of the secret."""
        ...


@dataclass(frozen=True, kw_only=True, eq=False)
class LawPair:
    """The laws of the answer given the two secrets of a pair; both directions count.

    Parameters
    ----------
    pair : str
        The two secrets in words.
    first, second : Atoms or Normal
        In the unit of the answer.
    rounding : float
        By how much, in the 1-norm, two answers may be further apart than the atoms that stand for them; 0 where the
        atoms are the doubles that are released, one for one.
    distinct : bool, optional
        Whether different exact answers are different atoms although there is rounding.
    kind : {"exact", "certified", "estimate"}
    sampled : DrawFacts, optional
        How they were learned from draws; None for laws that were computed.
    departure : Departure, optional
        What the answers of a table owe to normal laws; None where the laws are those of the answer.
    intervals : SecretIntervals, optional
        How the secret lies in two intervals, where the laws are those under the two values that are the farthest apart.
    """

    pair: str
    first: AnswerLaw
    second: AnswerLaw
    rounding: float
    distinct: bool = False
    kind: Kind = "exact"
    sampled: DrawFacts | None = None
    departure: Departure | None = None
    intervals: SecretIntervals | None = None

    @property
    def free(self) -> bool:
        """Whether zero noise is possible: only where equal atoms are equal answers."""
        return self.rounding == 0 or self.distinct

    @cached_property
    def log_ratio(self) -> float:
        """What the answer tells without noise: the largest log ratio of its two laws, rounded up.

        Infinite for laws from draws, and where different answers may share an atom. Normal laws of the exact answer
        that are the same give the same law of whatever it is rounded to.
        """
        if self.sampled is not None or self.departure is not None:
            return math.inf
        first, second = self.first, self.second
        if isinstance(first, Atoms) and isinstance(second, Atoms):
            return log_ratio(first, second) if self.free else math.inf
        if isinstance(first, Atoms) or isinstance(second, Atoms):
            return math.inf
        same = np.array_equal(first.mean, second.mean) and np.array_equal(first.covariance, second.covariance)
        return 0.0 if same else math.inf

    @cached_property
    def tolerance(self) -> float:
        """The share of mass that distances between the two laws ignore, as in `bnpriv.core.transport`."""
        return tolerance(self.first, self.second)

    @cached_property
    def distances(self) -> dict[float, Bound]:
        """A cache of cheap bounds on the distance of the laws, by the norm."""
        return {}


MOST_APART = 2**51
"""Integers up to this one, over one denominator, are different doubles."""

LARGEST_NORMAL_DENOMINATOR = 2**900
"""One over this is still a double of full precision."""


@dataclass(frozen=True, kw_only=True, eq=False)
class RecordPair:
    """Two laws of what one record adds, and how many independent records change from one to the other.

    Parameters
    ----------
    pair : str
        The secrets that are furthest apart, in words.
    numerators : tuple of WholeLaw
        The two laws, of numerators over `denominators`.
    denominators : tuple of int
        One for each number of the answer, at least 1.
    distances : sequence of int
        How many records may change: positive, increasing.
    kind : {"exact", "certified", "estimate"}
    mixed : tuple of (WholeLaw, WholeLaw), optional
        The laws of all ways in which records of one table may change beside one another, this one among them; empty
        where all of them change in this way.
    """

    pair: str
    numerators: tuple[WholeLaw, WholeLaw]
    denominators: tuple[int, ...]
    distances: Sequence[int]
    kind: Kind
    mixed: tuple[tuple[WholeLaw, WholeLaw], ...] = ()

    @cached_property
    def ways(self) -> tuple[RecordPair, ...]:
        """One pair for each of the ways in which records may change beside one another."""
        return tuple(replace(self, numerators=laws, mixed=()) for laws in self.mixed) or (self,)

    @property
    def distance(self) -> int:
        """The largest number of records that change."""
        return self.distances[-1]

    @cached_property
    def log_ratio(self) -> float:
        """What the answer tells without noise, at most: one record's log ratio times the number that change.

        Of records that change in different ways it is that of the way that tells most.
        """
        if self.mixed:
            return max(way.log_ratio for way in self.ways)
        return up(self.distance * log_ratio(self.first, self.second)) if self.distinct else math.inf

    @cached_property
    def compared(self) -> dict[float, Sequence[LawPair] | None]:
        """A cache of the laws of the sums of records, by the rounding of the answer."""
        return {}

    @cached_property
    def first(self) -> Atoms:
        """The first law in the unit of the answer, rounded to doubles."""
        return self._rounded(self.numerators[0])

    @cached_property
    def second(self) -> Atoms:
        """The second law in the unit of the answer, rounded to doubles."""
        return self._rounded(self.numerators[1])

    @cached_property
    def distinct(self) -> bool:
        """Whether different exact numbers are different doubles; only then is zero noise possible."""
        if all(map(self._apart_as_doubles, range(len(self.denominators)))):
            return True
        both = [np.concatenate(parts) for parts in zip(*(law.columns for law in self.numerators), strict=True)]
        exact = WholeLaw.of(both, np.zeros(len(both[0])), 0.0).size
        doubles = np.concatenate([self.first.points, self.second.points])
        return len(np.unique(doubles, axis=0)) == exact

    def _apart_as_doubles(self, place: int) -> bool:
        """Whether fractions over one denominator are surely different doubles, as those of small numerators are.

        Two numerators up to N are apart by a share of 1 / N of the larger one; rounding moves each by 2**-53 of itself.
        """
        numerators = [law.columns[place] for law in self.numerators]
        small = all(int(np.abs(each).max()) <= MOST_APART for each in numerators)
        return small and self.denominators[place] <= LARGEST_NORMAL_DENOMINATOR

    def sums(self, records: int) -> RecordPair:
        """The pair of laws of what so many records add together, when they change as one.

        Raises
        ------
        SizeError
            If there are too many sums; found out before they are allocated.
        """
        first, second = (summed((law, records)) for law in self.numerators)
        return replace(self, numerators=(first, second), distances=(1,))

    def scaled(self, weights: Sequence[int]) -> RecordPair:
        """The pair with every output multiplied by a power of two, given by its exponent."""

        def both(laws: tuple[WholeLaw, WholeLaw]) -> tuple[WholeLaw, WholeLaw]:
            columns = ([*map(_doubled, law.columns, weights)] for law in laws)
            first, second = (replace(law, columns=tuple(each)) for law, each in zip(laws, columns, strict=True))
            return first, second

        below = tuple(d << max(0, -w) for d, w in zip(self.denominators, weights, strict=True))
        mixed = tuple(map(both, self.mixed))
        return replace(self, numerators=both(self.numerators), denominators=below, mixed=mixed)

    def _rounded(self, law: WholeLaw) -> Atoms:
        pairs = zip(law.columns, self.denominators, strict=True)
        columns = [nearest_doubles(column, denominator) for column, denominator in pairs]
        return Atoms.from_logs(np.stack(columns, axis=1), law.logs, law.error)


def _doubled(column: NDArray[Any], times: int) -> NDArray[Any]:
    """Integers shifted left by so many bits, in as many digits as that takes."""
    return column if times <= 0 else np.array([int(value) << times for value in column.tolist()], dtype=object)


@dataclass(frozen=True, kw_only=True, eq=False)
class Constraint:
    """What one protected attribute requires under one model: by the per-record rule, by exact laws, or either.

    Parameters
    ----------
    protected : str
        The protected attribute.
    model : int
        The index in Theta.
    record : RecordPair or None
        None where the answer is no sum of records that a secret changes one by one.
    pairs : sequence of LawPair, or Refusal
        The exact laws, or why they are not computed.
    served : frozenset of int, optional
        Which of the chosen pairs of secrets are possible under the model; None for all.
    """

    protected: str
    model: int
    record: RecordPair | None
    pairs: Sequence[LawPair] | Refusal
    served: frozenset[int] | None = None

    def left_to_hide(self, epsilon: float) -> Constraint | None:
        """The constraint without pairs that are already within epsilon; None where nothing is left to hide.

        A pair is left out if its largest log ratio is at most epsilon. Noise, or any other change of the answer, then
        keeps it alike (docs/claims/tight.md).
        """
        if self.record is not None and self.record.log_ratio <= epsilon:
            return None
        if isinstance(self.pairs, Refusal):
            return self
        # not <=, so that a pair of which nothing is known stays
        left = tuple(pair for pair in self.pairs if not pair.log_ratio <= epsilon)
        if len(left) == len(self.pairs):
            return self
        return replace(self, pairs=left) if left else None


class Laws(Protocol):
    """The laws of one query's answer under the secrets of a framework."""

    @property
    def dimension(self) -> int:
        """The number of outputs."""
        ...

    @property
    def rounding(self) -> float:
        """How far, in the 1-norm, rounding the answer to doubles can move two answers apart."""
        ...

    @property
    def dropped(self) -> tuple[str, ...]:
        """The pairs that are no constraint, with the reason."""
        ...

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What must hold outside the library."""
        ...

    @property
    def closed_form(self) -> bool:
        """Whether the laws have a closed form, which is as fast for a weighted answer."""
        ...

    def constraints(self) -> tuple[Constraint, ...]:
        """One constraint per protected attribute and model."""
        ...


class ComputedLaws(ABC):
    """Laws that are compared when their constraints are first asked for, and kept."""

    @property
    def closed_form(self) -> bool:
        """False where laws are worked out value by value, or drawn."""
        return False

    def constraints(self) -> tuple[Constraint, ...]:
        """One constraint per protected attribute and model; for a table, per two classes between which records move."""
        return self._constraints

    @cached_property
    def _constraints(self) -> tuple[Constraint, ...]:
        return tuple(self._compared())

    @abstractmethod
    def _compared(self) -> Iterable[Constraint]:
        """The constraints, worked out."""


# --------------------------------------------------------------------------------------------------
# The laws of a weighted answer: those of the answer, scaled.
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class WeightedLaws(ComputedLaws):
    """The laws of an answer whose outputs are multiplied by powers of two; atoms are scaled without rounding.

    Parameters
    ----------
    plain : Laws
        Those of the answer itself.
    weights : tuple of float
        At least 1.
    """

    plain: Laws
    weights: tuple[float, ...]

    @property
    def dimension(self) -> int:
        """The number of outputs."""
        return self.plain.dimension

    @property
    def rounding(self) -> float:
        """How far, in the 1-norm, rounding to doubles can move two weighted answers apart."""
        return self._stretched(self.plain.rounding)

    @property
    def dropped(self) -> tuple[str, ...]:
        """The pairs that are no constraint, with the reason."""
        return self.plain.dropped

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What must hold outside the library."""
        return self.plain.assumptions

    def _compared(self) -> Iterable[Constraint]:
        return map(self._constraint, self.plain.constraints())

    def _constraint(self, plain: Constraint) -> Constraint:
        record = plain.record
        if record is not None:
            record = record.scaled([math.frexp(weight)[1] - 1 for weight in self.weights])
        pairs: Sequence[LawPair] | Refusal = plain.pairs
        if not isinstance(pairs, Refusal):
            known: dict[int, AnswerLaw] = {}  # one law stands in many pairs
            pairs = tuple(self._pair(pair, known) for pair in pairs)
        return replace(plain, record=record, pairs=pairs)

    def _pair(self, plain: LawPair, known: dict[int, AnswerLaw]) -> LawPair:
        for law in (plain.first, plain.second):
            if id(law) not in known:
                known[id(law)] = law.weighted(self.weights)
        draws = plain.sampled
        if draws is not None:
            draws = replace(
                draws,
                moved=self._stretched(draws.moved),
                # a mean square grows by the square of a weight
                variance=self._stretched(self._stretched(draws.variance)),
                drift=self._stretched(draws.drift),
            )
        departure = plain.departure
        if departure is not None:
            departure = replace(departure, moves=departure.moves * np.array(self.weights))
        return replace(
            plain,
            first=known[id(plain.first)],
            second=known[id(plain.second)],
            rounding=self._stretched(plain.rounding),
            sampled=draws,
            departure=departure,
        )

    def _stretched(self, length: float) -> float:
        """A bound on a 1-norm after weighting: no output grows by more than the largest weight."""
        return length * max(self.weights)


def plain_laws(evidence: Laws) -> Laws:
    """The laws of the answer itself, whether its outputs are weighted or not."""
    return evidence.plain if isinstance(evidence, WeightedLaws) else evidence
