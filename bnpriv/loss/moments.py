"""The privacy loss with noise, set by set of outputs, and its moments over all orders."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, singledispatch

import numpy as np

from bnpriv.bound import UNIT_ROUNDOFF, Bound, FloatArray
from bnpriv.core.distributions import Atoms, log_sum_exp, magnitude
from bnpriv.core.noise import DiscreteLaplace, Gaussian, Laplace, NoNoise
from bnpriv.core.privacy_curves import LaplacePair, NormalMixture, common_logs, from_left, from_right, smoothing_error
from bnpriv.errors import LawError, Refusal, SizeError
from bnpriv.loss.views import LossCells, losses
from bnpriv.mechanisms.gaussian.laws import CELL_MASS_ERROR, LOG_RATIO_ERROR
from bnpriv.mechanisms.optimal.channel import Channel

# --------------------------------------------------------------------------------------------------
# The sets of outputs of two laws on the line with Gaussian noise: short steps, and a tail on either side.
#
# The slope of the log of a density is the mean of the atom given the output, less the output, over the variance. The
# mean rises with the output, so the two ends of a step bound the loss on it.
# --------------------------------------------------------------------------------------------------

LOSS_REACH = 12.0
"""Standard deviations beyond the outer atoms; tails lie further out."""

FINEST_STEPS, COARSEST_STEPS = 256, 8
"""Steps per standard deviation: as many as the number of atoms allows."""

MOST_LOSS_TERMS = 2**20
"""Steps times atoms."""


def gaussian_cells(first: Atoms, second: Atoms, scale: float) -> LossCells:
    """Return the sets of outputs with Gaussian noise.

    Parameters
    ----------
    first, second : Atoms
        On the line.
    scale : float
        Standard deviation, above 0.

    Raises
    ------
    SizeError
        If there are too many atoms, or atoms too far apart for the noise.
    """
    origin = float(min(first.support[0], second.support[0]))
    # in deviations, from the first atom on: far from 0 doubles are too coarse
    mixtures = [NormalMixture((law.support - origin) / scale, law.logs, 1.0) for law in (first, second)]
    low = -LOSS_REACH
    high = max(float(law.means[-1]) for law in mixtures) + LOSS_REACH
    atoms = first.size + second.size
    steps = min(float(FINEST_STEPS), MOST_LOSS_TERMS / ((high - low) * atoms))
    if not steps >= COARSEST_STEPS:
        raise SizeError(
            f"a privacy loss with Gaussian noise may take at most {MOST_LOSS_TERMS:,} terms",
            found=f"{(high - low) * COARSEST_STEPS * atoms:.3g} for {atoms:,} atoms",
            remedy="Use Laplace noise.",
        )
    ends = np.linspace(low, high, math.ceil((high - low) * steps) + 1)
    logs, means = zip(*(law.log_density(ends) for law in mixtures), strict=True)
    loss = logs[0] - logs[1]
    # a place is rounded by little of itself, which moves the normal law around it
    moved = 2 * UNIT_ROUNDOFF * (high - low) ** 2
    error = LOG_RATIO_ERROR * (1 + np.abs(logs[0]) + np.abs(logs[1])) + moved
    width = np.diff(ends)
    slack = LOG_RATIO_ERROR * (1 + np.abs(means[0]) + np.abs(means[1]))
    most = (means[0][1:] - means[1][:-1] + slack[1:]) * width
    least = (means[0][:-1] - means[1][1:] - slack[1:]) * width
    up, down = np.maximum(most, 0.0), np.minimum(least, 0.0)
    masses = [log_masses(law, ends) for law in mixtures]
    tails = tuple(_tail(mixtures, ends[k], loss[k], error[k], right=k != 0) for k in (0, -1))
    return LossCells(
        # the loss at the ends of all steps bounds the tails on one side where their slope has one sign
        low=np.concatenate(
            [[tails[0].low], np.maximum(loss[:-1] - error[:-1] + down, loss[1:] - error[1:] - up), [tails[1].low]]
        ),
        high=np.concatenate(
            [[tails[0].high], np.minimum(loss[:-1] + error[:-1] + up, loss[1:] + error[1:] - down), [tails[1].high]]
        ),
        first=masses[0],
        second=masses[1],
        error=max(first.error, second.error) + CELL_MASS_ERROR + moved,
        tails=tails,
    )


def farthest_order(first: Atoms, second: Atoms, scale: float, order: float) -> float:
    """Return what Renyi divergences of at least an order, divided by theirs, are at most.

    Parameters
    ----------
    first, second : Atoms
        On the line.
    scale : float
        Standard deviation.
    order : float
        Above 1.

    Notes
    -----
    docs/claims/curves.md: every atom is compared with that atom of the other law that serves best.
    """
    worst = -math.inf
    per_block = max(1, MOST_LOSS_TERMS // second.size)
    for start in range(0, first.size, per_block):
        far = (first.support[start : start + per_block, None] - second.support) / scale
        worst = max(worst, float(np.max(np.min(far**2 / 2 - second.logs / order, axis=1))))
    return worst * (1 + 2.0**-40)


def log_masses(mixture: NormalMixture, ends: FloatArray) -> FloatArray:
    """Return the logs of the masses below the first end, between neighbouring ones, and above the last.

    Parameters
    ----------
    mixture : NormalMixture
        Of variance 1.
    ends : ndarray of shape (K,)
        Increasing.
    """
    from scipy.special import log_ndtr

    z = ends[:, None] - mixture.means
    below, above = np.asarray(log_ndtr(z)), np.asarray(log_ndtr(-z))
    # on the side of an atom where both tails are small
    upper = z[:-1] + z[1:] > 0
    far, near = np.where(upper, above[:-1], below[1:]), np.where(upper, above[1:], below[:-1])
    with np.errstate(divide="ignore"):
        inside = far + np.log(-np.expm1(np.minimum(near - far, 0.0)))
    rows = np.concatenate([below[:1], inside, above[-1:]])
    return log_sum_exp(rows + mixture.logs, 1)


@dataclass(frozen=True, kw_only=True, eq=False)
class GaussianTail:
    """All outputs beyond an end, where the loss may grow or fall without bound, but no faster than a straight line.

    Parameters
    ----------
    means, logs : ndarray of shape (k,)
        Atoms of the first law, measured outwards from the end in standard deviations, and their log masses.
    low, high : float
        Bounds of the loss on the tail; infinite if it has none.
    start : (float, float)
        Bounds of the loss at the end.
    slopes : (float, float)
        Bounds of its slope outwards, per standard deviation.
    """

    means: FloatArray
    logs: FloatArray
    low: float
    high: float
    start: tuple[float, float]
    slopes: tuple[float, float]

    def log_moment(self, powers: FloatArray, *, up: bool) -> FloatArray:
        """Return bounds of the log of the mean of exp(power times the loss) on the tail, under the first law."""
        from scipy.special import log_ndtr

        larger = (powers > 0) == up
        start, slope = (np.where(larger, ends[1], ends[0]) for ends in (self.start, self.slopes))
        tilt = (powers * slope)[:, None]
        logs = self.logs + tilt * self.means + tilt**2 / 2 + np.asarray(log_ndtr(self.means + tilt))
        error = LOG_RATIO_ERROR * (
            1 + np.abs(powers * start) + np.max(np.abs(tilt * self.means), axis=1) + tilt[:, 0] ** 2
        )
        return powers * start + log_sum_exp(logs, 1) + (error if up else -error)


def _tail(mixtures: list[NormalMixture], end: float, loss: float, error: float, *, right: bool) -> GaussianTail:
    sign = 1.0 if right else -1.0
    first, second = (np.sort(sign * law.means) for law in mixtures)
    _, centres = zip(*(law.log_density(np.array([end])) for law in mixtures), strict=True)
    slack = LOG_RATIO_ERROR * (1 + abs(float(centres[0][0])) + abs(float(centres[1][0])))
    # given outputs further out, the atom is further out, and at most the outermost
    slopes = (
        sign * float(centres[0][0]) - float(second[-1]) - slack,
        float(first[-1]) - sign * float(centres[1][0]) + slack,
    )
    start = (loss - error, loss + error)
    return GaussianTail(
        means=sign * (mixtures[0].means - end),
        logs=mixtures[0].logs,
        low=start[0] if slopes[0] >= 0 else -math.inf,
        high=start[1] if slopes[1] <= 0 else math.inf,
        start=start,
        slopes=slopes,
    )


# --------------------------------------------------------------------------------------------------
# What orders beyond all that are tried, and powers near 0, can add to concentrated views of the privacy loss.
# --------------------------------------------------------------------------------------------------

LEAST_NEAR = 1e-5
"""Least power times spread of the loss below which its variance bounds."""


def beyond_orders(cells: LossCells, laws: tuple[Atoms, Atoms], scale: float | None, xi: float, order: float) -> float:
    """Return what Renyi divergences of at least an order, less xi and divided by theirs, are at most.

    Parameters
    ----------
    cells : LossCells
    laws : (Atoms, Atoms)
    scale : float or None
        Standard deviation of Gaussian noise; None where the loss is bounded.
    xi : float
        At least 0.
    order : float
        Above 1.
    """
    if scale is not None:
        return farthest_order(*laws, scale, order)
    return max(0.0, float(np.max(cells.most)) - xi) / order


def moments_beyond(cells: LossCells, laws: tuple[Atoms, Atoms], scale: float | None, power: float) -> float:
    """Return an upper bound of log E exp(power times the loss) for a power of size above 1.

    Its ratio to the square of the power falls as the size of the power grows.

    Parameters
    ----------
    cells, laws, scale
        As of `beyond_orders`.
    power : float
        Above 1 or below -1.
    """
    if scale is None:
        return max(0.0, float(np.max(power * cells.most)), float(np.max(power * cells.least)))
    if power > 0:
        return power * (1 + power) * farthest_order(*laws, scale, 1 + power)
    return -power * (-power - 1) * farthest_order(laws[1], laws[0], scale, -power)


def near_zero(cells: LossCells, mean: Bound) -> tuple[float, float]:
    """Return a power, and the largest variance of the loss under laws tilted by powers of at most that size.

    Parameters
    ----------
    cells : LossCells
    mean : Bound
        Of the loss.

    Returns
    -------
    (float, float)
        Infinite variance if the loss is infinite with some probability.
    """
    tailed = cells.bounded if cells.tails else np.ones(cells.first.shape, dtype=bool)
    masses, ends = np.exp(cells.first[tailed]), (cells.least[tailed], cells.most[tailed])
    spread = float(ends[1].max() - ends[0].min())
    if not math.isfinite(spread):
        return 1.0, math.inf
    centre = (mean.lower + mean.upper) / 2
    variance = float(masses @ np.max([(end - centre) ** 2 for end in ends], axis=0))
    # a larger power makes more of the variance, a smaller one more of the error of the mean
    lost = math.sqrt((mean.upper - mean.lower) * spread / variance) if variance > 0 else 0.0
    near = min(1.0, max(LEAST_NEAR, float(np.cbrt(cells.rounding)), lost))
    power = min(1.0, near / max(spread, 1e-300))
    for tail in cells.tails:
        # x^2 is at most 2 exp(|x|)
        for sign in (1.0, -1.0):
            most = tail.log_moment(np.array([sign, sign + power, sign - power]), up=True).max()
            variance += 2 * math.exp(min(700.0, float(most) + abs(centre)))
    return power, variance * math.exp(2 * power * spread) * (1 + 4 * cells.rounding)


def with_error(cells: LossCells, powers: FloatArray, *, up: bool) -> FloatArray:
    """Return bounds of log moments by power, with the error of masses: little of the moment where that is near 0.

    Parameters
    ----------
    cells : LossCells
    powers : ndarray of shape (m,)
    up : bool
        Whether the bounds are upper ones.
    """
    sizes, x = np.abs(powers), cells.rounding
    with np.errstate(invalid="ignore"):
        error = x * np.minimum(1 + 2 * sizes, 6 * sizes * (1 + sizes) * cells.largest_size) + 4 * x * x * sizes
    return cells.moments(powers, up=up) + (error if up else -error)


def without_largest(cells: LossCells, share: float) -> LossCells:
    """Return two laws given an event: all but outputs with the largest losses, of some probability under the first law.

    Parameters
    ----------
    cells : LossCells
    share : float
        That probability; of the last output that goes, a part may stay. Outputs with a loss below 0 all stay, so that
        under the second law the event is no less likely.
    """
    first, second = cells.outer
    loss = losses(first, second)
    order = np.argsort(-loss, kind="stable")
    first, second, loss = first[order], second[order], loss[order]
    masses = np.exp(first)
    before = np.cumsum(masses) - masses
    room = share * (1 - cells.rounding) - before
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        gone = np.where(masses > 0, np.clip(room / masses, 0.0, 1.0), 1.0)
        gone = np.where(loss > 0, gone, 0.0)
        kept: list[FloatArray] = [logs + np.log1p(-gone) for logs in (first, second)]
    kept = [np.where(gone == 1, -np.inf, logs) for logs in kept]
    sums = [np.logaddexp.reduce(logs) for logs in kept]
    return LossCells.of_masses(kept[0] - sums[0], kept[1] - sums[1], 2 * cells.rounding)


# --------------------------------------------------------------------------------------------------
# The sets of outputs of two laws with finitely many atoms, for every kind of noise.
# --------------------------------------------------------------------------------------------------

FEWEST_LOSS_CELLS, MOST_LOSS_CELLS = 2**11, 2**17
"""Sets of outputs that Laplace noise is cut into."""

LOSS_STEP = 2.0**-7
"""Steps of the loss, in nats, at which outputs with Laplace noise are cut; longer ones where that makes too many."""

MOST_WHOLE_OUTPUTS = 2**20
"""Whole numbers between the outer atoms."""

OTHER_NOISE = Refusal(
    required="the privacy loss is worked out for independent Laplace, Gaussian or whole-number noise, or a channel",
    found="noise with a shape of its own",
    remedy="Ask for the curve of a calibration of TightMechanism or WassersteinMechanism.",
)


@singledispatch
def loss_cells(noise: object, first: Atoms, second: Atoms) -> LossCells:
    """Return the sets of outputs of two laws of an answer behind some noise, with the privacy loss on each.

    Parameters
    ----------
    noise : Noise or Channel
    first, second : Atoms
        On the line; of any dimension without noise.

    Returns
    -------
    LossCells

    Raises
    ------
    RefusedError
        If nothing is known of such noise.
    LawError
        If there is noise and the laws are not on the line.
    SizeError
        If there are too many sets.

    Notes
    -----
    docs/claims/curves.md.

    Examples
    --------
    >>> cells = loss_cells(Laplace(1.0), Atoms([0.0], [1.0]), Atoms([1.0], [1.0]))
    >>> round(float(cells.high.max()), 6), round(float(cells.low.min()), 6)
    (1.0, -1.0)
    """
    raise OTHER_NOISE.error()


@loss_cells.register
def _(noise: NoNoise, first: Atoms, second: Atoms) -> LossCells:
    _, (p, q) = common_logs([first, second])
    return LossCells.of_masses(p, q, max(first.error, second.error))


@loss_cells.register
def _(noise: DiscreteLaplace, first: Atoms, second: Atoms) -> LossCells:
    """Cut into the whole numbers between the outer atoms, and all beyond them on either side."""
    pair, scale = line_pair(first, second), noise.scales[0]
    start, end = float(pair.atoms[0]), float(pair.atoms[-1])
    if not np.all(pair.atoms == np.rint(pair.atoms)):
        raise LawError("whole-number noise needs whole numbers", found="fractions", remedy="Use Laplace noise.")
    if end - start >= MOST_WHOLE_OUTPUTS:
        raise SizeError(
            f"the privacy loss is worked out for at most {MOST_WHOLE_OUTPUTS:,} outputs",
            found=f"{end - start + 1:,.0f}",
            remedy="Use Laplace noise, whose loss needs no list of outputs.",
        )
    whole = start + np.arange(int(end - start) + 1, dtype=np.float64)
    place = np.searchsorted(whole, pair.atoms)
    # P(k) = exp(-|k| / scale) (1 - r) / (1 + r) with r = exp(-1 / scale); all beyond an end is r / (1 - r) of it
    unit = math.log(-math.expm1(-1 / scale)) - math.log1p(math.exp(-1 / scale))
    tail = -1 / scale - math.log(-math.expm1(-1 / scale))
    laws: list[FloatArray] = []
    error = pair.error
    for masses in (pair.first, pair.second):
        logs = np.full(whole.shape, -math.inf)
        logs[place] = masses
        left, right = from_left(whole, logs, scale), from_right(whole, logs, scale)
        inner = np.logaddexp(left, np.append(right[1:] - 1 / scale, -math.inf))
        laws.append(np.concatenate([[right[0] + tail], inner, [left[-1] + tail]]) + unit)
        error = max(
            error, pair.error + float(smoothing_error(whole, logs, scale)) + UNIT_ROUNDOFF * 16 * (4 - unit + abs(tail))
        )
    return LossCells.of_masses(laws[0], laws[1], error)


@loss_cells.register
def _(noise: Laplace, first: Atoms, second: Atoms) -> LossCells:
    return laplace_cells(LaplaceSums.of(line_pair(first, second), noise.scales[0]))


@loss_cells.register
def _(noise: Gaussian, first: Atoms, second: Atoms) -> LossCells:
    line_pair(first, second)
    return gaussian_cells(first, second, noise.scales[0])


@loss_cells.register
def _(noise: Channel, first: Atoms, second: Atoms) -> LossCells:
    """Return the outputs of a channel, with the mass of each under the two laws of the exact answer."""
    line_pair(first, second)
    with np.errstate(divide="ignore"):
        rows = np.log(noise.numerators.astype(np.float64)) - math.log(noise.denominator)
    laws: list[FloatArray] = []
    for law in (first, second):
        places = [noise.place(value) for value in law.support.tolist()]
        laws.append(log_sum_exp(rows[places] + law.logs[:, None], 0))
    size = magnitude(rows) + max(magnitude(law.logs) for law in (first, second))
    rounding = UNIT_ROUNDOFF * (4 * max(first.size, second.size) + 8 * size + 64)
    return LossCells.of_masses(laws[0], laws[1], max(first.error, second.error) + rounding)


def line_pair(first: Atoms, second: Atoms) -> LaplacePair:
    """Return two laws over the union of their atoms; raise LawError for laws that are not on the line."""
    if first.dimension > 1 or second.dimension > 1:
        raise LawError(
            "with noise the privacy loss is worked out for one number",
            found=f"dimension {max(first.dimension, second.dimension)}",
            remedy="Ask for one number at a time.",
        )
    return LaplacePair.of(first, second)


@dataclass(frozen=True, kw_only=True, eq=False)
class LaplaceSums:
    """What two laws with Laplace noise weigh at their atoms: the same wherever outputs are cut.

    Parameters
    ----------
    gaps : ndarray of shape (K - 1,)
        Distances of neighbouring atoms, in scales.
    left, right : tuple of ndarray of shape (K,)
        For either law the logs of the sums from both sides, as `from_left` and `from_right` return them.
    losses : ndarray of shape (K,)
        The loss at every atom.
    losses_error : float
        A bound on the error of the losses.
    error : float
        A bound on the relative error of masses of sets, and of half of that of their losses.
    """

    gaps: FloatArray
    left: tuple[FloatArray, ...]
    right: tuple[FloatArray, ...]
    losses: FloatArray
    losses_error: float
    error: float

    @classmethod
    def of(cls, pair: LaplacePair, scale: float) -> LaplaceSums:
        """Add up what two laws weigh with noise of a scale above 0."""
        gaps, laws = np.diff(pair.atoms) / scale, (pair.first, pair.second)
        losses, error = pair.losses(scale)
        return cls(
            gaps=gaps,
            left=tuple(from_left(pair.atoms, logs, scale) for logs in laws),
            right=tuple(from_right(pair.atoms, logs, scale) for logs in laws),
            losses=losses,
            losses_error=error,
            error=error + UNIT_ROUNDOFF * (64 + 8 * float(np.max(gaps, initial=0.0))),
        )


def laplace_cells(sums: LaplaceSums, levels: tuple[float, ...] | None = None) -> LossCells:
    """Return the outputs with Laplace noise, cut where the loss has given values or passes multiples of a step.

    Parameters
    ----------
    sums : LaplaceSums
    levels : tuple of float, optional
        Where to cut; by default at multiples of a step.
    """
    gaps, left, right, losses = sums.gaps, sums.left, sums.right, sums.losses
    where, at = _cuts(losses, left, right, gaps, levels)
    # the two ends of every set, in scales from the atom on its left
    begin, last = at, np.diff(where, append=-1) != 0
    end = np.where(last, gaps[where], np.append(at[1:], 0.0)[: at.size])
    masses: list[FloatArray] = []
    ends: list[tuple[FloatArray, FloatArray]] = []
    for down, up in zip(left, right, strict=True):
        a, b, gap = down[:-1][where], up[1:][where], gaps[where]
        with np.errstate(divide="ignore"):
            width = np.log(-np.expm1(begin - end)) - math.log(2)
        inside = np.logaddexp(a - begin, b + end - gap) + width
        masses.append(np.concatenate([[up[0] - math.log(2)], inside, [down[-1] - math.log(2)]]))
        ends.append((np.logaddexp(a - begin, b + begin - gap), np.logaddexp(a - end, b + end - gap)))
    sides = [p - q for p, q in zip(*ends, strict=True)]
    outer = [losses[:1], losses[-1:]]
    low = np.concatenate([outer[0], np.minimum(*sides), outer[1]])
    high = np.concatenate([outer[0], np.maximum(*sides), outer[1]])
    kept = np.concatenate([[True], end > begin, [True]])
    return LossCells(low=low[kept], high=high[kept], first=masses[0][kept], second=masses[1][kept], error=sums.error)


def _cuts(
    losses: FloatArray,
    left: tuple[FloatArray, ...],
    right: tuple[FloatArray, ...],
    gaps: FloatArray,
    levels: tuple[float, ...] | None,
) -> tuple[np.ndarray[tuple[int], np.dtype[np.intp]], FloatArray]:
    """Return where sets begin: the gap between atoms, and how far in it, sorted; every gap begins with one."""
    low, high = np.minimum(losses[:-1], losses[1:]), np.maximum(losses[:-1], losses[1:])
    if levels is None:
        whole = float(np.sum(high - low))
        step = max(min(LOSS_STEP, whole / FEWEST_LOSS_CELLS), whole / MOST_LOSS_CELLS)
        counts = np.ceil((high - low) / step).astype(np.intp) if step > 0 else np.zeros(gaps.size, dtype=np.intp)
        where = np.repeat(np.arange(gaps.size), counts)
        nth = np.arange(where.size) - np.repeat(np.cumsum(counts) - counts, counts)
        level = low[where] + (nth + 0.5) * ((high - low) / np.maximum(counts, 1))[where]
    else:
        asked = np.asarray(levels, dtype=np.float64)
        where = np.repeat(np.arange(gaps.size), asked.size)
        level = np.tile(asked, gaps.size)
        crossed = (level > low[where]) & (level < high[where])
        where, level = where[crossed], level[crossed]
    a, c = (each[:-1][where] for each in left)
    b, d = (each[1:][where] for each in right)
    # exp(a - s) + exp(b + s - gap) is exp(level) times the same of the second law
    with np.errstate(invalid="ignore"):
        at = (gaps[where] + _log_difference(a, level + c) - _log_difference(level + d, b)) / 2
    at = np.clip(np.where(np.isnan(at), 0.0, at), 0.0, gaps[where])
    where = np.concatenate([np.arange(gaps.size), where])
    at = np.concatenate([np.zeros(gaps.size), at])
    order = np.lexsort((at, where))
    return where[order], at[order]


def _log_difference(one: FloatArray, other: FloatArray) -> FloatArray:
    """Return the log of the size of exp(one) - exp(other)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        high = np.maximum(one, other)
        return np.where(np.isneginf(high), -np.inf, high + np.log(-np.expm1(-np.abs(one - other))))


# --------------------------------------------------------------------------------------------------
# Largest values over all orders of moments of the privacy loss: zero-concentrated and mean-concentrated bounds.
# --------------------------------------------------------------------------------------------------

LogMoments = Callable[[FloatArray], FloatArray]
"""Log E exp(power times the loss) for many powers at once."""

Value = Callable[[FloatArray, FloatArray, bool], FloatArray]
"""What is to be largest, at some powers with bounds of their log moments: upper ones, or lower ones."""

FIRST_POWER, LAST_POWER = 1e-6, 1e9
"""Powers between which the largest value is looked for; beyond them bounds take over."""

MOST_CUTS, ORDERS_AT_START, MOST_POWERS = 24, 241, 20_000


def least_rho(
    low: LogMoments,
    high: LogMoments,
    xi: float,
    largest_order: float,
    beyond: Callable[[float], float],
    precision: float,
) -> tuple[float, float]:
    """Return bounds of the least rho with Renyi(a) <= xi + rho a for all orders a above 1, up to a largest one.

    Parameters
    ----------
    low, high : callable
        Lower and upper bounds of log moments by power, each convex and 0 at power 0.
    xi : float
        At least 0.
    largest_order : float
        Above 1, or infinite.
    beyond : callable
        What Renyi divergences of at least an order, divided by theirs, are at most.
    precision : float
        Relative gap of the two ends that is looked for.

    Returns
    -------
    (float, float)
        At least 0; infinite if no rho serves.
    """
    last = min(largest_order - 1, LAST_POWER)
    powers = np.geomspace(min(FIRST_POWER, last / 2), last, ORDERS_AT_START)

    def value(powers: FloatArray, at: FloatArray, _: bool) -> FloatArray:
        return (at / powers - xi) / (1 + powers)

    def above(left: FloatArray, right: FloatArray, at_left: FloatArray, at_right: FloatArray) -> FloatArray:
        slope = (at_right - at_left) / (right - left)
        a, b = slope - xi, np.maximum(slope * left - at_left, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            top = np.where(a > 0, (b + np.sqrt(b * b + np.maximum(a * b, 0.0))) / a, right)
        top = np.clip(np.nan_to_num(top, nan=0.0, posinf=math.inf), left, right)
        return np.max([(a - b / z) / (1 + z) for z in (left, top, right)], axis=0)

    least, most = _largest(value, above, (low, high), powers, precision)
    # below the first power divergences are at most what they are there
    first = float(high(powers[:1])[0]) / powers[0] - xi
    after = beyond(1 + last) if largest_order - 1 > last else 0.0
    return max(least, 0.0), max(most, float(first), after, 0.0)


def least_deviation(
    low: LogMoments,
    high: LogMoments,
    mean: tuple[float, float],
    near: tuple[float, float],
    beyond: Callable[[float], float],
    precision: float,
) -> tuple[float, float]:
    """Return bounds of the least t for which the loss less its mean is t-subgaussian.

    Parameters
    ----------
    low, high : callable
        Bounds of log moments by power, of either sign, each convex.
    mean : (float, float)
        Bounds of the mean loss.
    near : (float, float)
        A power above 0, and the largest variance of the loss tilted by powers of at most that size.
    beyond : callable
        An upper bound of the log moment at a large power of either sign, which falls against its square.
    precision : float
        Relative gap of the squares of the two ends that is looked for.
    """
    least, most = 0.0, near[1]
    if not math.isfinite(most):
        return math.inf, math.inf
    powers = np.geomspace(near[0], LAST_POWER * near[0], ORDERS_AT_START)
    for sign in (1.0, -1.0):
        centres = sorted((sign * mean[0], sign * mean[1]))
        found = _steepest(_signed(low, sign), _signed(high, sign), (centres[0], centres[1]), powers, precision)
        last = float(powers[-1])
        far = 2 * (beyond(sign * last) - min(centres[0], 0.0) * last) / last**2
        least, most = max(least, found[0]), max(most, found[1], far)
    return math.sqrt(least), math.sqrt(most)


def _signed(moments: LogMoments, sign: float) -> LogMoments:
    return lambda powers: moments(sign * powers)


def _steepest(
    low: LogMoments, high: LogMoments, centre: tuple[float, float], powers: FloatArray, precision: float
) -> tuple[float, float]:
    """Return the largest 2 (moment - power * centre) / power^2 over powers."""

    def value(powers: FloatArray, at: FloatArray, up: bool) -> FloatArray:
        return 2 * (at - centre[0 if up else 1] * powers) / powers**2

    def above(left: FloatArray, right: FloatArray, at_left: FloatArray, at_right: FloatArray) -> FloatArray:
        slope = (at_right - at_left) / (right - left)
        start, slope = at_left - slope * left, slope - centre[0]
        # 2 (start + slope z) / z^2 is largest at an end, or where z = -2 start / slope
        with np.errstate(divide="ignore", invalid="ignore"):
            top = np.nan_to_num(-2 * start / slope, nan=0.0, posinf=math.inf, neginf=0.0)
        places = (left, np.clip(top, left, right), right)
        return np.max([2 * (start + slope * z) / z**2 for z in places], axis=0)

    return _largest(value, above, (low, high), powers, precision)


def _largest(
    value: Value,
    above: Callable[[FloatArray, FloatArray, FloatArray, FloatArray], FloatArray],
    moments: tuple[LogMoments, LogMoments],
    powers: FloatArray,
    precision: float,
) -> tuple[float, float]:
    """Return the largest value at some powers, and a bound over all between; intervals that may hold more are cut."""
    low, high = moments
    least = float(np.max(value(powers, low(powers), False)))
    at = high(powers)
    most = float(np.max(value(powers, at, True)))
    if math.isinf(most):
        return least, most
    left, right, at_left, at_right = powers[:-1], powers[1:], at[:-1], at[1:]
    settled = most
    for _ in range(MOST_CUTS):
        bounds = above(left, right, at_left, at_right)
        kept = bounds > most + precision * abs(most)
        settled = max(settled, float(np.max(bounds[~kept], initial=-math.inf)))
        if not kept.any():
            return least, settled
        if 2 * int(kept.sum()) > MOST_POWERS:
            break
        left, right, at_left, at_right = left[kept], right[kept], at_left[kept], at_right[kept]
        middle = np.sqrt(left * right)
        at_middle = high(middle)
        least = max(least, float(np.max(value(middle, low(middle), False))))
        most = max(most, float(np.max(value(middle, at_middle, True))))
        left, right = np.concatenate([left, middle]), np.concatenate([middle, right])
        at_left, at_right = np.concatenate([at_left, at_middle]), np.concatenate([at_middle, at_right])
    return least, max(settled, float(np.max(above(left, right, at_left, at_right))))


# --------------------------------------------------------------------------------------------------
# Moments of the privacy loss of two laws on the line with Gaussian noise, by a quadrature with a proved error.
#
# The density of a mixture of normal laws is an entire function, and known without zeros around a point of the line as
# far as the atoms, given that output, are close together. So Gauss-Legendre sums over short cells have an error that
# is bounded by the size of the integrand on an ellipse around each cell (docs/claims/curves.md).
# --------------------------------------------------------------------------------------------------

CELL_POINTS = 24
"""Points of a Gauss-Legendre sum over a cell."""

ELLIPSE = 4.0
"""Sum of the half axes of the ellipse around a cell, in halves of the cell."""

WIDER, TALLER = (ELLIPSE + 1 / ELLIPSE) / 2, (ELLIPSE - 1 / ELLIPSE) / 2
"""The two half axes."""

TAIL_REACH = 40.0
"""Standard deviations beyond which the integrand falls by more than its largest slope can raise it."""

LEFT_OUT_BELOW = 90.0
"""Cells are left out, with their bound, where the integrand is below the largest by more, in nats."""

FINE_BELOW = 60.0
"""Cells are cut until the errors of their sums are below the largest integrand by more, in nats."""

MOST_ROUNDED = 20.0
"""What rounding may take from a log, in nats: well below what the errors of sums are below the integrand."""

LARGE_LOG = 1.0
"""Of a moment with a smaller log the difference from 1 is integrated, which then keeps its digits."""

MOST_MOMENT_TERMS = 2**26
"""Points times atoms: about two seconds."""

CELL_SUM_ERROR = math.log(64 / 15) - 2 * CELL_POINTS * math.log(ELLIPSE) - math.log1p(-(ELLIPSE**-2))
"""Log of the error of a sum over [-1, 1] for an integrand of size 1 on the ellipse (Trefethen, 2008, theorem 4.5)."""


def log_moment_bounds(first: Atoms, second: Atoms, scale: float, power: float) -> tuple[float, float]:
    """Return bounds of the log of the mean of exp(power times the loss) under the first law; at 0 of the mean loss.

    Parameters
    ----------
    first, second : Atoms
        On the line.
    scale : float
        Standard deviation of the noise, above 0.
    power : float
        Above -1.

    Raises
    ------
    SizeError
        If there are too many atoms, or atoms too far apart for the noise.

    Examples
    --------
    >>> low, high = log_moment_bounds(Atoms([0.0], [1.0]), Atoms([1.0], [1.0]), 0.5, 9.0)
    >>> low <= 180.0 <= high, high - low < 1e-9
    (True, True)
    """
    origin = float(min(first.support[0], second.support[0]))
    laws = [_Mixture((law.support - origin) / scale, law.logs) for law in (first, second)]
    masses = abs(power + 1) * first.error + abs(power) * second.error
    if power:
        low, high = _Integral(first=laws[0], second=laws[1], power=power, gain=False).log_bounds()
        if not (low > -LARGE_LOG and high < LARGE_LOG):
            return low - masses, high + masses
    sign = -1.0 if power < 0 else 1.0
    gained = _Integral(first=laws[0], second=laws[1], power=power, gain=True)
    least, most = (float(end) for end in gained.bounds())
    spread = gained.spread * (first.error + second.error)
    least, most = max(0.0, least - spread), most + spread
    if power == 0:
        return least, most
    if sign < 0:
        return math.log1p(-min(most, 1.0 - 2.0**-50)), math.log1p(-least)
    return math.log1p(least), math.log1p(most)


@dataclass(frozen=True, eq=False)
class _Mixture:
    """A mixture of normal laws of variance 1."""

    means: FloatArray
    logs: FloatArray

    def at(self, w: FloatArray) -> _Point:
        """Return the log of its density at some points, and what the atoms weigh given each."""
        exponents = self.logs - (w[:, None] - self.means) ** 2 / 2
        top = exponents.max(axis=1, keepdims=True)
        weights = np.exp(exponents - top)
        total = weights.sum(axis=1, keepdims=True)
        logs = (top + np.log(total))[:, 0] - math.log(2 * math.pi) / 2
        return _Point(mixture=self, w=w, logs=logs, weights=weights / total)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Point:
    """What is known of a mixture at some outputs.

    Parameters
    ----------
    mixture : _Mixture
    w, logs : ndarray of shape (K,)
    weights : ndarray of shape (K, atoms)
    """

    mixture: _Mixture
    w: FloatArray
    logs: FloatArray
    weights: FloatArray

    @cached_property
    def mean(self) -> FloatArray:
        """The mean of the atom given each output; it rises with the output."""
        return np.asarray(self.weights @ self.mixture.means)

    @property
    def error(self) -> FloatArray:
        """Bounds of the errors of the logs."""
        return UNIT_ROUNDOFF * (32 + 4 * self.mixture.means.size + 16 * np.abs(self.logs))


def _variance(left: _Point, right: _Point) -> FloatArray:
    """Return a bound of the variance of the atom given any output between pairs of them.

    The square of what an atom is above a number rises with the output, on average, and that of what it is below falls.
    """
    centre, means = (left.mean + right.mean) / 2, left.mixture.means
    away = means - centre[:, None]
    above = np.sum(right.weights * np.maximum(away, 0.0) ** 2, axis=1)
    below = np.sum(left.weights * np.minimum(away, 0.0) ** 2, axis=1)
    return (above + below) * (1 + 2.0**-20)


@dataclass(kw_only=True, eq=False)
class _Integral:
    """The integral of p^(1 + power) / q^power, or what that is above 1; at power 0 of the loss.

    With ``gain`` the integrand is that of a sign: p^(1 + power) / q^power - p - power (p - q), whose integral is the
    moment less 1, divided by the sign of the power; at power 0 p log(p / q) - p + q.
    """

    first: _Mixture
    second: _Mixture
    power: float
    gain: bool
    spread: float = 0.0
    _terms: int = 0

    def log_bounds(self) -> tuple[float, float]:
        """Return bounds of the log of the integral."""
        top, least, most = self._summed()
        with np.errstate(divide="ignore"):
            low, high = np.log(max(0.0, least)), np.log(most)
        return top + float(low), top + float(high)

    def bounds(self) -> tuple[float, float]:
        """Return bounds of the integral."""
        top, least, most = self._summed()
        size = math.exp(top)
        return least * size * (1 - 2.0**-50), most * size * (1 + 2.0**-50)

    def _summed(self) -> tuple[float, float, float]:
        """Return the log of a size, and the bounds of the integral over it."""
        # where the integrand begins to fall on both sides, and some more
        p, q, a = self.first.means, self.second.means, 1 + self.power
        sides = [float(np.min(p)), float(np.min(q)), float(np.max(p)), float(np.max(q))]
        peaks = [a * side - self.power * other for side in sides for other in sides]
        ends = min(*sides, *peaks) - TAIL_REACH, max(*sides, *peaks) + TAIL_REACH
        starts = np.linspace(*ends, 1 + max(2, min(64, math.ceil(ends[1] - ends[0]))))
        low, high = starts[:-1], starts[1:]
        done: list[tuple[FloatArray, FloatArray]] = []
        left_out: list[float] = []
        top = max(float(np.max(self._sizes(*self._at(np.asarray(starts))))), -math.inf)
        while low.size:
            middle, half = (low + high) / 2, (high - low) / 2
            before, after = self._at(middle - WIDER * half), self._at(middle + WIDER * half)
            top = max(top, float(np.max(self._sizes(*before))))
            most, rounded = self._largest(before, after), self._rounded(before, after)
            rare = most + rounded < top - LEFT_OUT_BELOW
            if np.any(rounded[~rare] > MOST_ROUNDED):
                raise SizeError(
                    "a mean of the privacy loss needs an order at which doubles hold the logs of its integrand",
                    found=f"order {1 + self.power:g}",
                    remedy="Ask for a smaller order.",
                )
            left_out += (most + rounded + np.log(2 * half))[rare].tolist()
            error = self._log_error(before, after, most, half)
            fine = ~rare & (error < top - FINE_BELOW)
            done.append((low[fine], high[fine]))
            left_out += (error + rounded)[fine].tolist()
            cut = ~rare & ~fine
            low, high = np.concatenate([low[cut], middle[cut]]), np.concatenate([middle[cut], high[cut]])
        left_out += self._outside(ends)
        low, high = (np.concatenate(each) for each in zip(*done, strict=True))
        least, most = self._gauss(low, high, top)
        lost = float(np.sum(np.exp(np.array(left_out) - top)))
        return top, least - lost, most + lost

    def _at(self, w: FloatArray) -> tuple[_Point, _Point]:
        self._terms += w.size * (self.first.means.size + self.second.means.size)
        if self._terms > MOST_MOMENT_TERMS:
            raise SizeError(
                f"a mean of the privacy loss with Gaussian noise may take at most {MOST_MOMENT_TERMS:,} terms",
                found=f"more, for {self.first.means.size + self.second.means.size:,} atoms",
                remedy="Ask for a smaller order, or use Laplace noise.",
            )
        return self.first.at(w), self.second.at(w)

    def _sizes(self, p: _Point, q: _Point) -> FloatArray:
        """Return the logs of the largest term of the integrand at some outputs."""
        moment = (1 + self.power) * p.logs - self.power * q.logs
        return np.maximum(np.maximum(p.logs, q.logs), moment) if self.gain else moment

    def _largest(self, before: tuple[_Point, _Point], after: tuple[_Point, _Point]) -> FloatArray:
        """Return upper bounds of the logs of the integrand's terms between pairs of outputs."""
        (p, q), (r, s) = before, after
        a, z = 1 + self.power, self.power
        # the slope of the moment's log, with the output added to it, is a M_p - z M_q, and both means rise
        near, far = (q, s) if z < 0 else (s, q)
        slopes = a * p.mean - z * near.mean, a * r.mean - z * far.mean
        moment = _top((a * p.logs - z * q.logs, a * r.logs - z * s.logs), p.w, r.w, *slopes)
        if not self.gain:
            return moment
        laws = (_top((one.logs, two.logs), p.w, r.w, one.mean, two.mean) for one, two in ((p, r), (q, s)))
        sides = [each + math.log1p(abs(z)) for each in laws]
        if z:
            terms = [moment, *sides]
        else:
            farthest = np.maximum(np.abs(p.logs - q.logs), np.abs(r.logs - s.logs))
            farthest = farthest + (r.w - p.w) * np.maximum(np.abs(p.mean - s.mean), np.abs(r.mean - q.mean))
            terms = [sides[0] + np.log1p(farthest + 2 * math.pi), *sides]
        return np.logaddexp.reduce(np.stack(terms), axis=0)

    def _rounded(self, before: tuple[_Point, _Point], after: tuple[_Point, _Point]) -> FloatArray:
        """Return what rounding may take from a bound of a log."""
        logs = np.maximum(*(p.error + q.error for p, q in (before, after)))
        far = float(max(self.first.means[-1], self.second.means[-1]))
        reach = np.maximum(np.abs(before[0].w), np.abs(after[0].w)) + far
        return (1 + abs(self.power)) * (logs + 8 * UNIT_ROUNDOFF * far * reach)

    def _log_error(
        self, before: tuple[_Point, _Point], after: tuple[_Point, _Point], most: FloatArray, half: FloatArray
    ) -> FloatArray:
        """Return the logs of bounds of the errors of sums over cells; infinite where a density may have a zero."""
        tall = TALLER * half
        spread = [_variance(one, two) * tall**2 / 2 for one, two in zip(before, after, strict=True)]
        clear = (spread[0] < 0.5) & (spread[1] < 0.5)
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            grown = tall**2 / 2 - max(self.power, 0.0) * np.log1p(-np.where(clear, spread[1], 0.0))
            if self.gain and not self.power:  # the loss turns with the distance of the means
                turned = tall * (np.abs(before[0].mean - after[1].mean) + np.abs(after[0].mean - before[1].mean))
                grown = grown + np.log1p(turned)
            found = most + grown + CELL_SUM_ERROR + np.log(half)
        return np.where(clear, found, np.inf)

    def _gauss(self, low: FloatArray, high: FloatArray, top: float) -> tuple[float, float]:
        """Return bounds of the sum over cells, over exp(top), rounding included."""
        places, shares = np.polynomial.legendre.leggauss(CELL_POINTS)
        least = most = self.spread = 0.0
        block = max(1, 2**18 // (CELL_POINTS * (self.first.means.size + self.second.means.size)))
        for start in range(0, low.size, block):
            middle, half = ((high + s * low)[start : start + block] / 2 for s in (1.0, -1.0))
            w = (middle[:, None] + half[:, None] * places).ravel()
            weights = (half[:, None] * shares).ravel()
            p, q = self._at(w)
            values, moved = self._values(p, q, top)
            least += float(weights @ values[0])
            most += float(weights @ values[1])
            self.spread += float(weights @ moved)
        summed = UNIT_ROUNDOFF * (low.size * CELL_POINTS + 64)
        self.spread *= math.exp(min(top, 700.0))
        return least * (1 - summed if least > 0 else 1 + summed), most * (1 + summed)

    def _values(self, p: _Point, q: _Point, top: float) -> tuple[tuple[FloatArray, FloatArray], FloatArray]:
        """Return bounds of the integrand over exp(top), and how much it moves with either log of a density."""
        a, z, reach = 1 + self.power, self.power, float(max(self.first.means[-1], self.second.means[-1]))
        # places of outputs and atoms are rounded by little of themselves
        moved = 8 * UNIT_ROUNDOFF * (np.abs(p.w) + reach)
        away = np.abs(p.w - p.mean) + np.abs(p.w - q.mean) + 1
        loss, wrong = p.logs - q.logs, p.error + q.error + moved * away
        if not self.gain:
            logs, off = a * p.logs - z * q.logs - top, (abs(a) + abs(z)) * wrong
            with np.errstate(over="ignore"):
                return (np.exp(logs - off), np.exp(logs + off)), np.exp(logs)
        one, other = np.exp(p.logs - top), np.exp(q.logs - top)
        moment = np.exp(a * p.logs - z * q.logs - top)
        small = np.maximum(abs(z), 1.0) * np.abs(loss) < 1e-2
        close = np.where(small, loss, 0.0)
        # moment and other, less one, each by the road on which it keeps its digits
        raised, ruled = _less_one(one, moment, z * loss), _less_one(one, other, -loss)
        if z:
            sign = math.copysign(1.0, z)
            values, slope = sign * (raised + z * ruled), abs(z) * np.abs(raised - ruled)
            second, terms = z * z * moment + abs(z) * other, np.abs(raised) + abs(z) * np.abs(ruled)
        else:
            values, slope = one * loss + ruled, np.abs(ruled)
            second, terms = other, one * np.abs(loss) + np.abs(ruled)
        # the size of exp(z x) - 1 + z (exp(-x) - 1) for small x, of x + exp(-x) - 1 where z is 0
        total: FloatArray = np.zeros_like(close)
        factor = 1.0
        for n in range(2, 8):
            factor *= n
            share = z**n + z * (-1) ** n if z else (-1.0) ** n
            total = total + share * close**n / factor
        values = np.where(small, one * np.abs(total), values)
        rough = UNIT_ROUNDOFF * np.where(small, 64 * np.abs(values), 64 * terms)
        # what the logs may be off by is small enough for twice the second derivative to bound the rest
        errors = np.where((1 + abs(z)) * wrong < 0.1, slope * wrong + 2 * second * wrong**2 + rough, np.inf)
        cut_off = np.where(small, np.abs(values) * np.abs(np.maximum(abs(z), 1.0) * loss) ** 6, 0.0)
        errors = errors + cut_off
        return (values - errors, values + errors), slope

    def _outside(self, ends: tuple[float, float]) -> list[float]:
        """Return the logs of bounds of the integrals beyond both ends, where every term falls by itself."""
        p, q = self._at(np.array(ends))
        sizes = self._sizes(p, q) + np.log1p(np.abs(p.logs - q.logs) + abs(ends[1] - ends[0])) + math.log(4)
        return (sizes + math.log(2 + 2 * abs(self.power)) - math.log(TAIL_REACH / 2)).tolist()


def _top(
    logs: tuple[FloatArray, FloatArray], low: FloatArray, high: FloatArray, least: FloatArray, most: FloatArray
) -> FloatArray:
    """Return the largest values on intervals of a function with given ends, of a slope between two less the place."""
    right, left = np.clip(most, low, high), np.clip(least, low, high)
    from_low = logs[0] + (right - low) * (most - (right + low) / 2)
    from_high = logs[1] - (high - left) * (least - (high + left) / 2)
    return np.minimum(from_low, from_high)


def _less_one(one: FloatArray, other: FloatArray, log: FloatArray) -> FloatArray:
    """Return other - one, where `log` is that of their ratio."""
    return np.where(np.abs(log) < 1, one * np.expm1(np.where(np.abs(log) < 1, log, 0.0)), other - one)
