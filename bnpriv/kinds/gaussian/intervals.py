"""What answers tell of a normal number that lies in one of two intervals (docs/claims/normal_intervals.md)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from bnpriv.bound import UNIT_ROUNDOFF, FloatArray
from bnpriv.core.distributions import Normal
from bnpriv.core.gaussian_curve import NORMAL_LOG_ERROR

# --------------------------------------------------------------------------------------------------
# Integrals of exp(-c x - x^2 / 2), of which every probability of an interval and every mean of exponentials is made.
# --------------------------------------------------------------------------------------------------

ROOT = math.sqrt(math.pi / 2)

SPECIAL_ERROR = 64 * UNIT_ROUNDOFF
"""Relative error of erf, erfcx, exp and the quadrature of a short interval, nearby operations included."""

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(12)


def log_integral(c: float, width: float) -> tuple[float, float]:
    """The log of the integral of ``exp(-c x - x^2 / 2)`` over x from 0 to `width`, and how far it may be off.

    Parameters
    ----------
    c : float
    width : float
        Above 0, possibly infinite.

    Returns
    -------
    float, float

    Examples
    --------
    >>> round(log_integral(0.0, math.inf)[0], 12) == round(math.log(ROOT), 12)
    True
    """
    from scipy.special import erfcx, log_ndtr

    if c < 0 and -c >= width:  # from the other end of the interval the exponent falls
        found, error = log_integral(-c - width, width)
        tilt = width * (-c - width / 2)
        return tilt + found, error + 4 * UNIT_ROUNDOFF * abs(c) * width
    if c < 0:
        if math.isinf(width):
            whole = math.log(2 * ROOT) + float(log_ndtr(-c))
        else:
            whole = math.log(ROOT * (math.erf((c + width) / math.sqrt(2)) + math.erf(-c / math.sqrt(2))))
        return c * c / 2 + whole, SPECIAL_ERROR + 4 * UNIT_ROUNDOFF * (c * c + abs(whole))
    if width * (c + width) <= 1:
        x = width * (_NODES + 1) / 2
        mean = float(_WEIGHTS @ np.exp(-x * (c + x / 2))) / 2
        return math.log(width) + math.log(mean), SPECIAL_ERROR + 4 * UNIT_ROUNDOFF * abs(math.log(width))
    # the inverse Mills ratio at both ends; the second is at most 61 % of the first
    whole = ROOT * float(erfcx(c / math.sqrt(2)))
    if math.isfinite(width):
        whole -= math.exp(-width * (c + width / 2)) * ROOT * float(erfcx((c + width) / math.sqrt(2)))
    return math.log(whole), 4 * SPECIAL_ERROR + 4 * UNIT_ROUNDOFF * abs(math.log(whole))


# --------------------------------------------------------------------------------------------------
# The two intervals, in deviations of the secret.
# --------------------------------------------------------------------------------------------------

CUT_OFF_NATS = 50.0
"""Minus the log of a bound on the share of an unbounded interval that lies beyond its far end as it is counted."""

CUT_OFF_MASS = 1e-21

FALL = 100.0
"""The density is integrated as far as it falls by this many nats; the rest is counted in full."""

INTERVAL_CELLS = 3000
"""Cells of an interval, and as many of the stretch in which the noise varies."""

CURVE_REACH = 14.0
"""That stretch, in scales of the noise to either side."""


@dataclass(frozen=True, kw_only=True)
class NormalSide:
    """One of the two intervals.

    Parameters
    ----------
    low, high : float
        In deviations of the secret above its mean; infinite ones too.
    start, end : float
        The same less a point between the two intervals, without the rounding error of far ends.
    """

    low: float
    high: float
    start: float
    end: float

    @property
    def mirrored(self) -> NormalSide:
        """The interval of the negative number."""
        return NormalSide(low=-self.high, high=-self.low, start=-self.end, end=-self.start)

    @property
    def width(self) -> float:
        """How wide it is."""
        return self.end - self.start

    @property
    def anchored_low(self) -> bool:
        """Whether its low end is the one nearer to the mean."""
        return abs(self.low) <= abs(self.high)

    @property
    def log_mass(self) -> float:
        """The log of the integral of exp(-s^2 / 2) over it; 0 for a single value."""
        near = min(abs(self.low), abs(self.high))
        return 0.0 if self.width == 0 else log_integral(self._near, self.width)[0] - near * near / 2

    @property
    def _near(self) -> float:
        """The end nearer to the mean, as if it were the low one."""
        return self.low if self.anchored_low else -self.high

    def counted(self, drop: float) -> NormalSide:
        """The part of it where the density has fallen by at most `drop` nats."""
        if self.width == 0:
            return self
        far = math.hypot(max(0.0, self._near), math.sqrt(2 * drop))
        below, above = max(self.low, -far), min(self.high, far)
        # what is cut off is measured from an end that is finite
        start = self.start if below == self.low else self._relative(below)
        end = self.end if above == self.high else self._relative(above)
        return NormalSide(low=below, high=above, start=start, end=end)

    def _relative(self, place: float) -> float:
        return self.start + (place - self.low) if self.anchored_low else self.end + (place - self.high)

    def exponential_mean(self, tilt: float) -> tuple[float, float, float]:
        """The end nearer to the mean, and the log mean of exp(tilt (s - end)) over it, and its error."""
        place = self.start if self.anchored_low else self.end
        if self.width == 0:
            return place, 0.0, 0.0
        rise = tilt if self.anchored_low else -tilt
        (tilted, first), (plain, second) = (log_integral(self._near - each, self.width) for each in (rise, 0.0))
        return place, tilted - plain, first + second + UNIT_ROUNDOFF * abs(tilted)

    def off(self, tilt: float, shift: float, spread: float) -> float:
        """How far the log mean may be off if mean and deviation of the secret are, by `shift` and a share `spread`."""
        near, far = abs(self._near), abs(tilt)
        return min(self.width, far) * (shift + 3 * spread * near) + spread * min(self.width, near + far + 2) ** 2


@dataclass(frozen=True, kw_only=True)
class NormalIntervals:
    """A normal secret in one of two intervals, and an answer that moves with it; equal where the secret lies alike.

    Parameters
    ----------
    lower, upper : NormalSide
        The one below, and the one above; they meet in one point at most.
    rising : bool
        Whether the first secret of the pair is the one below.
    distance : float
        How many deviations of the secret apart the values are that the normal laws of the pair belong to.
    moves : ndarray of shape (d,)
        How far each number of the answer moves at most, clamped or not, when the secret grows by one deviation.
    shift, spread : float
        How far rounding may have taken the ends off, in deviations, and the deviation, as a share of it.
    """

    lower: NormalSide
    upper: NormalSide
    rising: bool
    distance: float
    moves: FloatArray = field(compare=False)
    shift: float = field(compare=False)
    spread: float = field(compare=False)

    def drawn(self, first: Normal, second: Normal, place: int, draws: int, random: np.random.Generator) -> FloatArray:
        """Draw answers under one of the two secrets of a pair.

        Parameters
        ----------
        first, second : Normal
            The laws of the pair, of the values that are the farthest apart.
        place : {0, 1}
            Which secret.
        draws : int
        random : Generator

        Returns
        -------
        ndarray of shape (draws, d)
        """
        from scipy.stats import truncnorm

        side = self.upper if self.rising == (place == 1) else self.lower
        values = np.full(draws, side.low)
        if side.width > 0:
            values = truncnorm.rvs(side.low, side.high, size=draws, random_state=random)
        # as a share of the way between the two farthest values, of which those at infinity are cut off
        low = self.lower.low if math.isfinite(self.lower.low) else self.lower.counted(CUT_OFF_NATS).low
        share = (values - low) / self.distance
        share = share if self.rising else 1 - share
        law = random.multivariate_normal(np.zeros(first.dimension), first.covariance, draws)
        return first.mean + np.outer(share, second.mean - first.mean) + law

    @property
    def least_mass(self) -> float:
        """The probability of the rarer of the two intervals; 0 where one is a single value."""
        sides = (self.lower, self.upper)
        return min(0.0 if side.width == 0 else math.exp(side.log_mass) / (2 * ROOT) for side in sides)

    def loss(self, scale: float) -> float:
        """The largest log ratio of the two densities of an answer with Laplace noise, rounded up.

        Parameters
        ----------
        scale : float
            Of the noise on every number of the answer.

        Returns
        -------
        float
            In nats. It holds for every answer that moves by no more than `moves`; infinite without noise.
        """
        if scale == 0:
            return math.inf
        return self._tilted(float(self.moves.sum()) / scale * (1 + 8 * self.moves.size * UNIT_ROUNDOFF))

    def _tilted(self, rate: float) -> float:
        """The larger log ratio of the means of exp(t s) over the intervals, for t = `rate` and t = -`rate`."""
        if not math.isfinite(rate):
            return math.inf
        return max(self._mean_ratio(rate), -self._mean_ratio(-rate), 0.0)

    def _mean_ratio(self, tilt: float) -> float:
        """The log ratio of the means of exp(tilt s) over the upper and the lower interval, off towards more."""
        (top, above, first), (bottom, below, second) = (
            side.exponential_mean(tilt) for side in (self.upper, self.lower)
        )
        apart = tilt * (top - bottom)
        error = first + second + 8 * UNIT_ROUNDOFF * (abs(apart) + abs(above) + abs(below))
        error += sum(side.off(tilt, self.shift, self.spread) for side in (self.upper, self.lower))
        return apart + above - below + math.copysign(error, tilt)

    def gaussian_delta(self, mu: float, epsilon: float) -> float:
        """The privacy curve of an answer with Gaussian noise, rounded up; both directions.

        Parameters
        ----------
        mu : float
            By how many deviations of the rest of the answer it moves when the secret moves by one of its own.
        epsilon : float

        Returns
        -------
        float
        """
        return 0.0 if mu == 0 else self.curve(Kernel(1 / mu, 0.0), epsilon)

    def laplace_delta(self, gap: float, deviation: float, scale: float, epsilon: float) -> float:
        """The privacy curve of one number with Laplace noise, rounded up; both directions.

        Parameters
        ----------
        gap : float
            By how much the number moves when the secret moves by one deviation, above 0.
        deviation : float
            Of the rest of the number, rounded down.
        scale : float
            Of the noise.
        epsilon : float

        Returns
        -------
        float
        """
        if self._tilted(gap / scale * (1 + 8 * UNIT_ROUNDOFF)) <= epsilon:
            return 0.0
        return self.curve(Kernel(deviation / gap * (1 - 2.0**-50), scale / gap * (1 - 2.0**-50)), epsilon)

    def curve(self, kernel: Kernel, epsilon: float) -> float:
        """The privacy curve of the secret, in its deviations, plus independent noise; rounded up, both directions."""
        found = 0.0
        for way, lower, upper in ((1, self.lower, self.upper), (-1, self.upper.mirrored, self.lower.mirrored)):
            # Laplace noise keeps the ratio below its limit
            if kernel.scale == 0 or way * self._mean_ratio(way / kernel.scale) > epsilon:
                found = max(found, _exceeded(kernel, upper, lower, epsilon, self.shift, self.spread))
        return found


# --------------------------------------------------------------------------------------------------
# The privacy curve of the secret plus independent noise whose density is log-concave.
#
# Whatever is integrated over an interval is then log-concave there: chords of its log bound it from below, and the
# chords of the neighbouring cells, drawn on, from above.
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Kernel:
    """A normal number plus an independent Laplace number, neither, or both; centred.

    Parameters
    ----------
    deviation, scale : float
        At least 0, one of them above.
    """

    deviation: float
    scale: float

    @property
    def size(self) -> float:
        """The larger of the two."""
        return max(self.deviation, self.scale)

    def log_density(self, x: FloatArray) -> tuple[FloatArray, float]:
        """The log of the density at some points, up to a constant, and the error of any of them."""
        if self._normal:
            found = -((x / self.deviation) ** 2) / 2
            return found, 8 * UNIT_ROUNDOFF * float(np.max(np.abs(found)))
        if self._laplace:
            found = -np.abs(x) / self.scale
            return found, 8 * UNIT_ROUNDOFF * float(np.max(np.abs(found)))
        near, far, error = self._parts(np.abs(x))
        return np.logaddexp(near, far), error

    def log_tail(self, x: FloatArray) -> tuple[FloatArray, float]:
        """The log of the probability of more than each of some numbers, and the error of any of them."""
        from scipy.special import erfcx, log_ndtr

        if self._normal:
            found = log_ndtr(-x / self.deviation)
            return found, NORMAL_LOG_ERROR * (2 + 2 * float(np.max(np.abs(found))))
        far = np.abs(x)
        if self._laplace:
            beyond, error = -far / self.scale - math.log(2), 8 * UNIT_ROUNDOFF * (2 + float(np.max(far)) / self.scale)
        else:
            near, _, error = self._parts(far)
            z, r = far / self.deviation, self.deviation / self.scale
            own = -z * z / 2 + np.log(ROOT * (erfcx(z / math.sqrt(2)) - erfcx((z + r) / math.sqrt(2)) / 2))
            beyond = np.logaddexp(own, near - math.log(2)) - math.log(2 * ROOT)
            size = np.abs(beyond) + z * z * np.exp(np.minimum(own - math.log(2 * ROOT) - beyond, 0.0))
            error = 4 * error + SPECIAL_ERROR * (4 + float(np.max(size)))
        return np.where(x >= 0, beyond, np.log1p(-np.exp(beyond))), error

    @property
    def _normal(self) -> bool:
        """Whether Laplace noise is too little to be counted."""
        return self.scale < self.deviation * 2.0**-20

    @property
    def _laplace(self) -> bool:
        """Whether the normal number is too little to be counted."""
        return self.deviation < self.scale * 2.0**-20

    def _parts(self, x: FloatArray) -> tuple[FloatArray, FloatArray, float]:
        """The logs of the two parts of the density at x >= 0, times a constant: that of the near side, and the other.

        They are phi(z) m(r - z) and phi(z) m(r + z): z = x / deviation, r = deviation / scale, m the Mills ratio.
        """
        from scipy.special import erfcx, log_ndtr

        z, r = x / self.deviation, self.deviation / self.scale
        beside = z < r
        inner = np.where(beside, r - z, 0.0)
        near = np.where(
            beside,
            -z * z / 2 + np.log(ROOT * erfcx(inner / math.sqrt(2))),
            math.log(2 * ROOT) + r * r / 2 - z * r + log_ndtr(np.where(beside, 0.0, z - r)),
        )
        far = -z * z / 2 + np.log(ROOT * erfcx((r + z) / math.sqrt(2)))
        # the far side's error counts as much as that side does
        size = np.where(beside, z * z, r * r + 2 * z * r) + z * z * np.exp(np.minimum(far - near, 0.0))
        return near, far, SPECIAL_ERROR * (4 + float(np.max(size)))


Logs = Callable[[FloatArray], tuple[FloatArray, float]]
"""Values of a log-concave function at some points, as logs, and the largest error of one."""


def _nodes(side: NormalSide, place: float, size: float, cells: int) -> FloatArray:
    """Where an interval is cut: evenly, more closely about `place`, and once beyond either end."""
    nodes = np.linspace(side.start, side.end, cells + 1)
    low, high = (min(max(place + way * CURVE_REACH * size, side.start), side.end) for way in (-1, 1))
    if 0 < high - low < side.width / 2:
        step = (high - low) / cells
        nodes = nodes[(nodes < low - step) | (nodes > high + step)]
        nodes = np.sort(np.concatenate((nodes, np.linspace(low, high, cells + 1))))
    return np.concatenate(([2 * nodes[0] - nodes[1]], nodes, [2 * nodes[-1] - nodes[-2]]))


def _integral(logs: Logs, side: NormalSide, place: float, size: float, cells: int) -> tuple[float, float]:
    """Bounds on the log of the integral of exp(-s^2 / 2) times a log-concave function of place - s over an interval."""
    if side.width == 0:
        found, error = logs(np.array([place - side.start]))
        return float(found[0]) - error, float(found[0]) + error
    nodes = _nodes(side, place, size, cells)
    # relative to the end that is nearer to the mean, whose distance from it has the least error
    near, at = (side.low, side.start) if side.anchored_low else (side.high, side.end)
    s = near + (nodes - at)
    found, error = logs(place - nodes)
    found = found - s * s / 2
    error += 4 * UNIT_ROUNDOFF * float(np.max(s * s) + np.max(np.abs(found)))
    widths, rises = np.diff(nodes), np.diff(found)
    slopes, inner = rises / widths, widths[1:-1]
    top = float(np.max(found[1:-1]))
    below = inner * _mean(found[1:-2] - top, rises[1:-1])
    with np.errstate(over="ignore"):
        ahead = inner * _mean(found[1:-2] - top, slopes[:-2] * inner) * np.exp(2 * error * (1 + inner / widths[:-2]))
        behind = inner * _mean(found[2:-1] - top, -slopes[2:] * inner) * np.exp(2 * error * (1 + inner / widths[2:]))
    low, high = float(below.sum()), float(np.minimum(ahead, behind).sum())
    rounding = error + 8 * UNIT_ROUNDOFF * (len(nodes) + abs(top))
    return top + math.log(low) - rounding, top + math.log(high) + rounding


def _mean(logs: FloatArray, rises: FloatArray) -> FloatArray:
    """The means of exponentials whose exponents rise evenly from `logs` by `rises`."""
    size = np.maximum(np.abs(rises), 1e-9)
    with np.errstate(over="ignore"):  # an infinite bound is a bound
        return np.exp(logs + np.maximum(rises, 0.0)) * -np.expm1(-size) / size


SEARCHED = 160
"""Cells of the integrals by which the threshold is found; what is found there is then bounded anew."""

MOST_THRESHOLDS = 6
"""Thresholds that are tried, each closer to the private side."""


def _exceeded(
    kernel: Kernel, upper: NormalSide, lower: NormalSide, epsilon: float, shift: float, spread: float
) -> float:
    """A bound on P(V > t | upper) - exp(epsilon) P(V > t | lower) at its largest, V the secret plus the kernel."""
    from scipy.optimize import brentq

    masses, sides = [side.log_mass for side in (upper, lower)], [side.counted(FALL) for side in (upper, lower)]
    far = max(abs(end) for side in sides for end in (side.low, side.high))
    # the density of the secret may be off by this much from one place to another
    off = 2 * (shift * far + 3 * spread * (far * far + 1)) + 64 * UNIT_ROUNDOFF * (far * far + 1)

    def both(logs: Logs, place: float, cells: int) -> list[tuple[float, float]]:
        found = [_integral(logs, side, place, kernel.size, cells) for side in sides]
        return [(low - mass, high - mass) for (low, high), mass in zip(found, masses, strict=True)]

    def ratio(place: float, aim: float = 0.0) -> float:
        # a chord is too low by a twelfth of what drawing it on is too high by half of
        (above, below) = (low + (high - low) / 6 for low, high in both(kernel.log_density, place, SEARCHED))
        return above - below - aim

    step, end = kernel.size + 2.0**-10 * min(1.0, *(side.width or 1.0 for side in sides)), 0.0
    begin = -step
    for _ in range(MOST_WIDENINGS):
        if ratio(begin) < epsilon:
            break
        begin, step = begin - step, 2 * step
    step = end - begin
    for _ in range(MOST_WIDENINGS):
        if ratio(end) > epsilon:
            break
        begin, end, step = end, end + step, 2 * step
    aim = epsilon
    for _ in range(MOST_THRESHOLDS):
        place = end
        if ratio(begin) < aim < ratio(end):
            place = brentq(ratio, begin, end, args=(aim,), xtol=1e-9 * kernel.size)
        (above, most), (least, below) = both(kernel.log_density, place, INTERVAL_CELLS)
        # the ratio is at least exp(low) there, and at most exp(high): the event is the worst one at that level
        low, high = above - below - 2 * off, most - least + 2 * off
        if high <= epsilon:
            (_, up), (down, _) = both(kernel.log_tail, place, INTERVAL_CELLS)
            caught = math.exp(min(up + off, 0.0)) + math.exp(1 - FALL)
            return max(0.0, caught - math.exp(low + down - off) * (1 - 2.0**-50)) * (1 + 2.0**-50)
        aim -= 2 * (high - epsilon) + 1e-12
    return 1.0


MOST_WIDENINGS = 60
"""Doublings of the stretch in which the threshold lies."""
