"""The rule for k records: secrets that are k apart differ by the sum of k records, whatever the others are.

What is proved of it is in docs/claims/k_fold.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from bnpriv.bound import UNIT_ROUNDOFF, FloatArray, up, weakest
from bnpriv.core.distributions import FUNCTION_ERROR, binomial_logs
from bnpriv.core.evidence.constraints import LawPair, RecordPair
from bnpriv.core.gaussian_curve import gaussian_excess, gaussian_mu
from bnpriv.core.mechanisms.base import least_scale
from bnpriv.core.transport import check_pairs, lengths, tolerance, w_infinity
from bnpriv.core.whole_numbers import sums_bound
from bnpriv.errors import SizeError

# --------------------------------------------------------------------------------------------------
# The privacy curve of many independent records, each nearly the same under both secrets.
#
# One record has the law (1 - t) C + t R1 under one secret and (1 - t) C + t R0 under the other. With Gaussian noise its
# curve is at most that of a mixture of two normal laws on the line, whose losses are put on a grid and added up over
# the records. What is proved, and why the grid only adds to the loss, is in docs/claims/k_fold.md.
# --------------------------------------------------------------------------------------------------


FINE = 48.0
"""Grid steps per standard deviation of the loss; a grid of twice as many is halved."""

MOST_LOSS_STEPS = 2000
"""The most steps of the first grid above a loss of 0."""

CUT = 1e-5
"""Share of delta that truncated tails of all records together may take; it counts in full."""

LARGEST_LOSS = 600.0
"""Larger losses of one record count as infinite: their exponentials are no doubles."""

LEAST_PART, LEAST_GAP = 1e-100, 1e-9
"""Smaller parts and gaps are raised to these, which tell more, so that losses stay doubles."""

LARGEST_GAP = 60.0
"""Beyond this gap, a record that differs is taken to reveal everything."""

LEAST_MASS = 1e-290
"""More than all masses together that underflow."""


@dataclass(frozen=True, kw_only=True, eq=False)
class LossMasses:
    """A law of privacy losses on a grid that is at least as bad as that of some records.

    Parameters
    ----------
    masses : ndarray of shape (K,)
        Of the losses ``(start + i) * step``.
    start : int
    step : float
        Above 0, in nats.
    infinite : float
        Mass of an infinite loss, at most.
    records : int
    error : float
        Largest relative error of a mass from rounding.
    """

    masses: FloatArray
    start: int
    step: float
    infinite: float
    records: int
    error: float

    def plus(self, other: LossMasses) -> LossMasses:
        """The losses of two independent groups of records together, on the same grid."""
        terms = min(len(self.masses), len(other.masses)) + 4
        return replace(
            self,
            masses=np.convolve(self.masses, other.masses),
            start=self.start + other.start,
            infinite=self.infinite + other.infinite,
            records=self.records + other.records,
            error=self.error + other.error + UNIT_ROUNDOFF * terms,
        )

    def trimmed(self, most: float) -> LossMasses:
        """Truncate tails of at most a given mass: the upper becomes infinite, the lower the least loss kept."""
        # both are moved upwards: that can only raise the divergence
        below = min(int(np.searchsorted(np.cumsum(self.masses), most)), len(self.masses) - 1)
        above = int(np.searchsorted(np.cumsum(self.masses[::-1]), most))
        last = max(below + 1, len(self.masses) - above)
        kept = self.masses[below:last].copy()
        kept[0] += float(np.sum(self.masses[:below]))
        return replace(
            self,
            masses=kept,
            start=self.start + below,
            infinite=self.infinite + float(np.sum(self.masses[last:])) * (1 + UNIT_ROUNDOFF * len(self.masses)),
            error=self.error + UNIT_ROUNDOFF * (below + 1),
        )

    def coarser(self) -> LossMasses:
        """Halve the grid: split each odd mass over its two neighbours, with its weight under both secrets kept."""
        padded = np.concatenate([np.zeros(self.start % 2), self.masses, np.zeros(2)])
        even, odd = padded[0 : len(padded) - 1 : 2], padded[1::2]
        # a mass halfway keeps its weight under the other secret if more than half of it goes to the upper loss
        up = odd / (1 + math.exp(-self.step)) * (1 + 8 * UNIT_ROUNDOFF)
        masses = np.append(even, 0.0)
        masses[:-1] += np.maximum(0.0, odd - up)
        masses[1:] += up
        return replace(
            self,
            masses=masses,
            start=(self.start - self.start % 2) // 2,
            step=2 * self.step,
            error=self.error + 4 * UNIT_ROUNDOFF,
        )

    def on(self, step: float) -> LossMasses:
        """The losses on a grid that is coarser by a power of two."""
        return self if self.step >= step else self.coarser().on(step)

    @property
    def deviation(self) -> float:
        """The standard deviation of the losses."""
        place, total = np.arange(len(self.masses)), max(float(self.masses.sum()), LEAST_MASS)
        mean = float(self.masses @ place) / total
        return self.step * math.sqrt(float(self.masses @ (place - mean) ** 2) / total)

    def delta(self, epsilon: float) -> float:
        """The hockey-stick divergence at `epsilon`, rounded up."""
        losses = self.step * (self.start + np.arange(len(self.masses)))
        # a loss is rounded relative to its own size
        above = (losses - epsilon) + 4 * UNIT_ROUNDOFF * (np.abs(losses) + epsilon)
        excess = float(self.masses @ -np.expm1(-np.maximum(above, 0.0)))
        error = self.error + UNIT_ROUNDOFF * (len(self.masses) + 8)
        return min(1.0, excess * math.exp(2 * error) + self.infinite * (1 + 1e-9) + LEAST_MASS)


def composed_delta(part: float, gap: float, records: int, epsilon: float, delta: float) -> float:
    """An upper bound on the curve of up to so many independent records, with Gaussian noise on each.

    Parameters
    ----------
    part : float
        How much of the law of a record may differ between the two secrets, above 0 and at most 1.
    gap : float
        How far a differing value may be from any other one, in standard deviations of the noise on one record.
    records : int
        At least 1.
    epsilon : float
        At least 0.
    delta : float
        The least bound of interest, above 0: tails far below it are counted in full.

    Returns
    -------
    float
        A delta for which both directions are (epsilon, delta)-private.

    Examples
    --------
    >>> from bnpriv.core.gaussian_curve import gaussian_delta
    >>> exact = gaussian_delta(0.5, 1.0)  # a record that always differs: 100 of them are one normal law
    >>> found = composed_delta(1.0, 0.05, 100, 1.0, 1e-3)
    >>> exact < found < 1.01 * exact
    True
    """
    if gap > LARGEST_GAP:
        return min(1.0, records * part * (1 + 4 * UNIT_ROUNDOFF))
    tail = CUT * delta / records
    one = _one(max(part, LEAST_PART), max(gap, LEAST_GAP), tail)
    # binary exponentiation: about 2 log2(records) convolutions, on grids that grow with the deviation
    total = one
    for bit in f"{records:b}"[1:]:
        total = total.plus(total)
        if bit == "1":
            total = total.plus(one.on(total.step))
        total = total.trimmed(tail * total.records)
        while total.deviation > 2 * FINE * total.step:
            total = total.coarser()
    return total.delta(epsilon)


def _one(part: float, gap: float, tail: float) -> LossMasses:
    """The losses of one record: above 0 those of the mixture, below 0 those in the other direction."""
    from scipy.special import ndtri

    furthest = max(gap - float(ndtri(min(0.5, tail / part))), -float(ndtri(min(0.5, tail))))
    highest = min(LARGEST_LOSS, float(_loss(part, gap, np.array(furthest))))
    step = max(_deviation(part, gap) / FINE, highest / MOST_LOSS_STEPS)
    ends = step * np.arange(math.ceil(highest / step) + 1, dtype=np.float64)
    above, above_error, other, other_error = _tails(part, gap, ends)
    p, q = -np.diff(above), -np.diff(other)
    p_error, q_error = above_error[:-1] + above_error[1:], other_error[:-1] + other_error[1:]
    # each cell is split between its ends with its weight under both secrets kept; errors go to the upper end
    upper = _parted(p + p_error, p + p_error - (q - q_error) * np.exp(ends[:-1]), -math.expm1(-step))
    lower = _parted(q + q_error, (q + q_error) - (p - p_error) * np.exp(-ends[1:]), -math.expm1(-step))
    masses = np.zeros(2 * len(ends) - 1)
    zero = len(ends) - 1
    masses[zero + 1 :] += upper
    masses[zero:-1] += p + p_error - upper
    masses[1 : zero + 1] += lower[::-1]
    masses[:zero] += (q + q_error - lower)[::-1]
    masses[zero] += max(0.0, 1 - above[0] - other[0]) + above_error[0] + other_error[0] + 4 * UNIT_ROUNDOFF
    masses[0] += other[-1] + other_error[-1]
    return LossMasses(
        masses=masses,
        start=-zero,
        step=step,
        infinite=float(above[-1] + above_error[-1]),
        records=1,
        error=8 * UNIT_ROUNDOFF,
    )


def _parted(cell: FloatArray, excess: FloatArray, width: float) -> FloatArray:
    """Split each cell's mass over two grid points, never lowering the loss: the share of the upper point."""
    # more mass at the upper point is the safe side
    room = 16 * UNIT_ROUNDOFF * cell
    return np.clip((excess + room) / width * (1 + 16 * UNIT_ROUNDOFF), 0.0, cell)


def _loss(part: float, gap: float, at: FloatArray) -> FloatArray:
    """The log ratio of the mixture of N(0, 1) and N(gap, 1) to N(0, 1), at points above gap / 2."""
    exponent = gap * at - gap * gap / 2
    near = np.log1p(part * np.expm1(np.minimum(exponent, 500.0)))
    return np.where(exponent > 500, math.log(part) + exponent, near)


def _deviation(part: float, gap: float) -> float:
    """Roughly the standard deviation of the loss of one record."""
    at = np.linspace(gap / 2, gap + 9, 400, dtype=np.float64)
    loss = _loss(part, gap, at)
    normal, moved = (np.exp(-0.5 * (at - centre) ** 2) / math.sqrt(2 * math.pi) for centre in (0.0, gap))
    density = (2 - part) * normal + part * moved
    return math.sqrt(float(np.sum(loss**2 * density)) * float(at[1] - at[0]))


def _tails(part: float, gap: float, losses: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """The probabilities of a larger loss under the mixture and under N(0, 1), each with an error bound."""
    from scipy.special import log_ndtr

    ratio = np.where(losses > 100, losses - math.log(part), np.log1p(np.expm1(np.minimum(losses, 100.0)) / part))
    at = ratio / gap + gap / 2
    tails: list[FloatArray] = []
    errors: list[FloatArray] = []
    for beyond in (at - gap, at):
        log = np.asarray(log_ndtr(-beyond), dtype=np.float64)
        tails.append(np.exp(log))
        # the place is rounded relative to its size, and a tail changes by at most 1 + |place| times as much
        errors.append(tails[-1] * UNIT_ROUNDOFF * (64 + 32 * np.abs(log) + 32 * (1 + np.abs(beyond)) * at))
    mixed = (1 - part) * tails[1] + part * tails[0]
    mixed_error = (1 - part) * errors[1] + part * errors[0] + 8 * UNIT_ROUNDOFF * mixed
    return mixed, mixed_error, tails[1], errors[1]


# --------------------------------------------------------------------------------------------------
# The rule for k records.
# --------------------------------------------------------------------------------------------------


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
            _furthest(points[more], record.second.points, norm), _furthest(points[less], record.first.points, norm)
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
    coupled: Coupled, curves: Sequence[Callable[[float], float]], epsilon: float, delta: float, rounding: float
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
