"""Moments of the privacy loss of two laws on the line with Gaussian noise, by a quadrature with a proved error.

The density of a mixture of normal laws is an entire function, and known without zeros around a point of the line as far
as the atoms, given that output, are close together. So Gauss-Legendre sums over short cells have an error that is
bounded by the size of the integrand on an ellipse around each cell (docs/claims/curves.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np

from bnpriv.bound import UNIT_ROUNDOFF, FloatArray
from bnpriv.errors import SizeError
from bnpriv.laws.atoms import Atoms

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


@final
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


@final
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


@final
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
        ends = self._ends()
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

    def _ends(self) -> tuple[float, float]:
        """Return where the integrand begins to fall on both sides, and some more."""
        p, q, a = self.first.means, self.second.means, 1 + self.power
        sides = [float(np.min(p)), float(np.min(q)), float(np.max(p)), float(np.max(q))]
        peaks = [a * side - self.power * other for side in sides for other in sides]
        return min(*sides, *peaks) - TAIL_REACH, max(*sides, *peaks) + TAIL_REACH

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
        values = np.where(small, one * _series(z, close), values)
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


def _series(z: float, x: FloatArray) -> FloatArray:
    """Return the size of exp(z x) - 1 + z (exp(-x) - 1) for small x, of x + exp(-x) - 1 where z is 0."""
    total: FloatArray = np.zeros_like(x)
    factor = 1.0
    for n in range(2, 8):
        factor *= n
        share = z**n + z * (-1) ** n if z else (-1.0) ** n
        total = total + share * x**n / factor
    return np.abs(total)
