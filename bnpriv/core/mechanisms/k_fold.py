"""The rule for k records: secrets that are k apart differ by the sum of k records, whatever the others are.

What is proved of it is in docs/claims/k_fold.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np
from numpy.typing import NDArray

from bnpriv.bound import UNIT_ROUNDOFF, FloatArray, up, weakest
from bnpriv.core.composition import composed_delta
from bnpriv.core.distributions import FUNCTION_ERROR, binomial_logs
from bnpriv.core.evidence.constraints import LawPair, RecordPair
from bnpriv.core.gaussian_curve import gaussian_excess, gaussian_mu
from bnpriv.core.mechanisms.base import least_scale
from bnpriv.core.transport.distance import w_infinity
from bnpriv.core.transport.line import tolerance
from bnpriv.core.transport.space import check_pairs, lengths
from bnpriv.core.whole_numbers import sums_bound
from bnpriv.errors import SizeError

SUMS_RULE = "the sums of the records that change"
"""The name of the rule for laws of sums, in decisions."""

COUPLED_RULE = "what one record adds, once for every record that differs"
"""The name of the rule for the number of changing records that differ, in decisions."""

BOUNDED_RULE = "what one record adds, composed over the records that change"
"""The name of the rule for the composed curve of all changing records, in decisions."""

MOST_SUMS = 2**16
"""The most atoms of all sums of records that are compared."""

MOST_COUPLED = 2**20
"""The most records for which the law of the number of differing ones is computed."""

MOST_COORDINATES = 2**22
"""The most coordinates of differences of two values of a record; beyond that their bounding box is used."""

LEFT_OUT = 1e-6
"""Share of delta for improbable numbers of differing records; they count in full."""

BOUND_PRECISION = 1e-5
"""Relative precision of a scale from bounds that are less accurate than this."""


def sums_of_records(record: RecordPair, rounding: float) -> Sequence[LawPair] | None:
    """The two laws of what j records add, for every j that secrets can be apart, the largest j first.

    They are kept with the record, as mechanisms ask for them at every epsilon.

    Parameters
    ----------
    record : RecordPair
    rounding : float
        By how much, in the 1-norm, rounding can move two answers apart.

    Returns
    -------
    sequence of LawPair, or None
        None for several numbers, for records that change in different ways, and where there are too many sums.
    """
    if rounding not in record.compared:
        record.compared[rounding] = _sums(record, rounding)
    return record.compared[rounding]


def _sums(record: RecordPair, rounding: float) -> Sequence[LawPair] | None:
    # records that change in different ways add sums of several laws, more than can be gone through
    if record.mixed or record.first.dimension > 1 or _too_many_sums(record):
        return None
    try:
        sums = [record.sums(records) for records in reversed(record.distances)]
    except SizeError:
        return None
    return tuple(
        LawPair(
            pair=record.pair,
            first=both.first,
            second=both.second,
            rounding=rounding,
            distinct=both.distinct,
            kind=weakest(["certified", record.kind]),
        )
        for both in sums
    )


def _too_many_sums(record: RecordPair) -> bool:
    size, left = 0, len(record.distances)
    for records in reversed(record.distances):
        most = sums_bound(record.numerators, records)
        if size + left * most <= MOST_SUMS:  # fewer records have no more sums
            return False
        size, left = size + most, left - 1
        if size > MOST_SUMS:
            return True
    return False


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class Coupled:
    """Records whose two laws are coupled: a record adds the same under both secrets, except for a part.

    Parameters
    ----------
    part : float
        How probable it is, at most, that a record differs, in the best coupling.
    apart : float
        How far the two values of a differing record are apart, at most.
    reach : float
        How far a value of a differing record is from any value under the other secret, at most.
    records : int
        How many records may change.
    free : bool
        Whether there may be no noise.
    """

    part: float
    apart: float
    reach: float
    records: int
    free: bool

    @classmethod
    def of(cls, record: RecordPair, norm: int) -> Coupled:
        """Couple one record as far as its two laws allow; distances are in the 1-norm or the 2-norm."""
        if record.mixed:
            # fewer that differ, by less, are told apart no better
            found = [cls.of(way, norm) for way in record.ways]
            part, apart, reach = (max(getattr(each, what) for each in found) for what in ("part", "apart", "reach"))
            free = all(each.free for each in found)
            return cls(part=part, apart=apart, reach=reach, records=record.distance, free=free)
        points = np.unique(np.concatenate([record.first.points, record.second.points]), axis=0)
        first, second = (_logs_on(points, law.points, law.logs) for law in (record.first, record.second))
        error = record.first.error + record.second.error
        p, q = np.exp(first), np.exp(second)
        # the total variation of two laws is the least probability of differing in a coupling
        part = max(float(np.sum(np.maximum(a - b, 0.0))) for a, b in ((p, q), (q, p)))
        part += 2 * math.expm1(error) + UNIT_ROUNDOFF * (4 * FUNCTION_ERROR + 2 * len(points) + 8)
        # within the error of the masses either one may be the larger
        more, less = first >= second - error, second >= first - error
        more, less = more & np.isfinite(first), less & np.isfinite(second)
        reach = max(
            _furthest(points[more], record.second.points, norm),
            _furthest(points[less], record.first.points, norm),
        )
        return cls(
            part=min(1.0, part),
            apart=_furthest(points[more], points[less], norm),
            reach=reach,
            records=record.distance,
            free=record.distinct,
        )

    def moved(self, delta: float) -> float:
        """How far the sum moves at most, except with probability delta, which is above 0."""
        if self.records > MOST_COUPLED:
            return math.inf
        # summed from the small end, and rounded up: the tail must not be too small
        beyond = np.cumsum(self._chances[::-1])[::-1] * (1 + UNIT_ROUNDOFF * (self.records + 8))
        differing = int(np.count_nonzero(beyond[1:] > delta))
        return up(differing * self.apart)

    def coupled_curve(self, epsilon: float, delta: float) -> Callable[[float], float]:
        """The curve with Gaussian noise, averaged over the number of records that differ."""
        if self.records > MOST_COUPLED:
            return lambda scale: math.inf
        kept = np.flatnonzero(self._chances > LEFT_OUT * delta / self.records)
        chances = np.asarray(self._chances[kept], dtype=np.float64)
        rest = LEFT_OUT * delta * (1 + 1 / self.records)

        def loss(scale: float) -> float:
            if scale == 0:
                return float(np.sum(chances[kept > 0])) * (1 + UNIT_ROUNDOFF * len(kept)) + rest
            gaps = kept.astype(np.float64) * (self.apart / scale) * (1 + 4 * UNIT_ROUNDOFF)
            excess = float(chances @ gaussian_excess(gaps, np.array(epsilon)))
            return excess * (1 + UNIT_ROUNDOFF * (len(kept) + 8)) + rest

        return loss

    def composed_curve(self, epsilon: float, delta: float) -> Callable[[float], float]:
        """The curve with Gaussian noise, of which every record has its share."""

        def loss(scale: float) -> float:
            if scale == 0:
                return math.inf
            # noise of variance s^2 is a sum of k independent ones of variance s^2 / k, one for each record
            gap = self.reach * math.sqrt(self.records) / scale * (1 + 8 * UNIT_ROUNDOFF)
            return composed_delta(self.part, gap, self.records, epsilon, delta) if gap > 0 else 0.0

        return loss

    @cached_property
    def _chances(self) -> FloatArray:
        """The probabilities, rounded up, that so many records differ; exact where all or none do."""
        if self.part == 1:
            return np.append(np.zeros(self.records), 1.0)
        logs, error = binomial_logs(self.records, math.log(self.part), math.log1p(-self.part))
        error += UNIT_ROUNDOFF * FUNCTION_ERROR * (self.records + float(np.max(np.abs(logs))) + 1)
        return np.exp(logs) * math.exp(error) * (1 + UNIT_ROUNDOFF * FUNCTION_ERROR)


def gaussian_scale(
    coupled: Coupled,
    curves: Sequence[Callable[[float], float]],
    epsilon: float,
    delta: float,
    rounding: float,
) -> float:
    """A standard deviation at which the lowest of several bounds on the curve is at most delta."""

    def loss(scale: float) -> float:
        if scale == 0:
            return min(curve(0.0) for curve in curves) if coupled.free else math.inf
        # shifting an answer shifts a normal law by at most this in total variation, under both secrets
        moved = (1 + math.exp(min(epsilon, 700.0))) * rounding / scale
        return moved + min(curve(scale) for curve in curves) if moved < delta else math.inf

    guess = max(1e-9, coupled.records * coupled.part * coupled.reach)
    return least_scale(loss, delta, guess, BOUND_PRECISION)


def distance_scale(far: float, slack: float, rounding: float, epsilon: float, delta: float) -> float:
    """The standard deviation for a distance that all mass moves but a share `slack` (wasserstein.md)."""
    epsilon = epsilon + math.log1p(-slack) if slack < 1 else 0.0
    if not epsilon > 0:
        return math.inf
    return (far + rounding) * (1 + 8 * UNIT_ROUNDOFF) / gaussian_mu(epsilon, delta * (1 - slack))


def bounded_scale(record: RecordPair, epsilon: float, delta: float, rounding: float) -> float:
    """A standard deviation for any number of records and of outputs: the least of three bounds."""
    coupled = Coupled.of(record, 2)
    curves = [coupled.coupled_curve(epsilon, delta), coupled.composed_curve(epsilon, delta)]
    found = [gaussian_scale(coupled, curves, epsilon, delta, rounding)]
    try:
        check_pairs(record.first, record.second)
    except SizeError:
        return found[0]
    far = w_infinity(record.first, record.second, 2).upper * record.distance * (1 + UNIT_ROUNDOFF)
    if far > 0 or coupled.free:
        slack = record.distance * max(tolerance(way.first, way.second) for way in record.ways)
        found.append(distance_scale(far, slack, rounding, epsilon, delta))
    return min(found)


def _logs_on(points: FloatArray, atoms: FloatArray, logs: FloatArray) -> FloatArray:
    """The log masses of a law on sorted points that contain all of its atoms."""
    found = np.full(len(points), -math.inf)
    _, places = np.unique(np.concatenate([points, atoms]), axis=0, return_inverse=True)
    found[places.ravel()[len(points) :]] = logs
    return found


def _furthest(first: FloatArray, second: FloatArray, norm: int) -> float:
    """The largest distance between a point of one set and a point of another, rounded up."""
    sides: NDArray[np.float64]
    if first.shape[1] == 1 or first.size * len(second) > MOST_COORDINATES:
        sides = np.maximum(first.max(axis=0) - second.min(axis=0), second.max(axis=0) - first.min(axis=0))[None, :]
    else:
        sides = np.abs(first[:, None, :] - second[None, :, :]).reshape(-1, first.shape[1])
    return float(np.max(lengths(sides.T, norm))) * (1 + 4 * UNIT_ROUNDOFF * (first.shape[1] + 2))
